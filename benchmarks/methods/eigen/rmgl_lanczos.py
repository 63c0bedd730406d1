"""The eigenvectors of this package: components first, then `eigsh` on single vectors, then a search
for what it may have missed.
"""

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = None


def learn(edges, k, n_threads):
    from counted import counted_products
    from edge_lists import adjacency

    from rmgl.embedding.eigenvectors import smallest_eigenvectors
    from rmgl.running.threads import team_of

    with team_of(n_threads) as team, counted_products() as products:
        found = smallest_eigenvectors(adjacency(edges), k, in_parts=team.in_parts)
    return {"found": found.vectors, "n_products": sum(products) or None}
