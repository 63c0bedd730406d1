"""Label and embed new rows using the fitted layers."""
