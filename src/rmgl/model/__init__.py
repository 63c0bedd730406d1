"""Algorithm 1, the problem that it solves for given parameters, and the run it is part of, with its
checkpoint.
"""
