"""The common embedding: eigenvectors of a weighted sum of layers, and clusters of their rows."""
