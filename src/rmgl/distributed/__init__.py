"""Rows and candidate pairs of views on Dask workers, and the exact search among them."""
