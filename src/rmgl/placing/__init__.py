"""Labels and embedding of new rows, from the fitted layers."""
