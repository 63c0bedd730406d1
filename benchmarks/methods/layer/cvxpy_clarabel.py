"""CVXPY with the interior-point solver Clarabel; `seconds` includes setting up the
problem; `solver_seconds` does not.

Interior-point methods reach the boundary only in the limit: for a KKT residual of 1e-6, Clarabel's
own tolerances must be about 1e-12.
"""

ENVIRONMENT = "modern"
PACKAGES = ["cvxpy", "clarabel"]


def learn(X, alpha, tol, theta):
    from layer_program import solve

    accuracy = 1e-6 * tol
    return solve(
        X, alpha, solver="CLARABEL", tol_gap_abs=accuracy, tol_gap_rel=accuracy, tol_feas=accuracy
    )
