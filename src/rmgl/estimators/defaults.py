"""Defaults of parameters that `RMGL` and the command line share. Nothing is imported here, so the
command line can show them at once.
"""

ALPHA = BETA = SCALE = "auto"
MISSING = "pairwise"
N_NEIGHBORS = 12
SOLVER = "newton"
TOL = 1e-6
MAX_ITER = 100
