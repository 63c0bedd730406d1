"""Dask workers that search among the rows of a fit, and place new rows."""
