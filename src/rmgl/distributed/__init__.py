"""Search the rows in a fit, and place new rows, on Dask workers."""
