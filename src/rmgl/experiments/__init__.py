"""The experiments of the RMGL paper: `rmgl reproduce`."""
