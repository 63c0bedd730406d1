"""Choices made from the data when alpha and beta are not passed."""
