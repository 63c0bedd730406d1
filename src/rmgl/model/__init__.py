"""Algorithm 1, and the problem that it solves for given parameters."""
