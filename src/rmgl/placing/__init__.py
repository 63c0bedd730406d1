"""New rows, placed by the fitted layers."""
