"""The common embedding: eigenvectors of a weighted sum of layers, and the clusters that k-means finds in their rows."""
