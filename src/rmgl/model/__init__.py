"""Algorithm 1, the problem it solves, and the run with its checkpoint."""
