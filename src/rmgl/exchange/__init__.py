"""Data and results to and from other libraries: networkx, igraph, MuData and AnnData. Each is imported when it is first needed."""
