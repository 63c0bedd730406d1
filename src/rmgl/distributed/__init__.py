"""Rows of views on the workers of a Dask cluster, and the exact search for candidate pairs among them."""
