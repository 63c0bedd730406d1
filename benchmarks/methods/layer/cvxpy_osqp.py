"""CVXPY with the operator-splitting solver OSQP; `seconds` include stating the problem,
`solver_seconds` do not.

Its last step ("polish") solves for the edges it found, so that where those are right the answer is
exact to rounding. The first step size rho = 1 needs fewer iterations here than the default 0.1.
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
