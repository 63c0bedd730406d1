"""Algorithm 1, its problem for given parameters, and the run with its checkpoint."""
