"""Search the rows of a fit, and place new rows, on Dask workers."""
