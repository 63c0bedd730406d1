"""What is chosen from the data when alpha and beta are not given."""
