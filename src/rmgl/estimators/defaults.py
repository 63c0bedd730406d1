"""Parameter defaults shared by `RMGL` and the command line.

This module imports nothing, so the command line can print its help without delay.
"""

ALPHA = BETA = SCALE = "auto"
MISSING = "pairwise"
N_NEIGHBORS = 12
SOLVER = "newton"
TOL = 1e-6
MAX_ITER = 100
