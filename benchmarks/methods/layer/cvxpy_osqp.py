"""CVXPY with the operator-splitting solver OSQP; `seconds` includes setting up the
problem; `solver_seconds` does not.

Its last step ("polish") solves for the weights of the edges it found. If these edges are right, the
solution is exact up to rounding. The initial step size rho = 1 needs fewer iterations here than the
default of 0.1.
"""

ENVIRONMENT = "modern"
PACKAGES = ["cvxpy", "osqp"]


def learn(X, alpha, tol, theta):
    from layer_program import solve

    accuracy = 1e-2 * tol
    return solve(
        X,
        alpha,
        solver="OSQP",
        eps_abs=accuracy,
        eps_rel=accuracy,
        rho=1.0,
        max_iter=1_000_000,
        polish=True,
    )
