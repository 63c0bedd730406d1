"""A fitted model, told in words and numbers."""
