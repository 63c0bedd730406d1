"""Documents with words and with links as networks, and multiplex networks without features.

The words come first, followed by one symmetric matrix for each network. The links of webkb lead to
pages outside the data set, so its networks weight each pair of pages by the number of pages that
both link to. Links used as features are all views as they are stored, including their diagonals:
without the diagonals, entities with no other links would have rows of zeros. Two multiplex networks
come with networkx: the karate club (who met, and who met in at least three places) and the women of
Davis (who met at the first and at the last seven events).
"""

from functools import partial

import numpy as np

from benchmarks.datasets import Dataset, stored
from benchmarks.judge import Settings
from benchmarks.labels import measure
from benchmarks.methods import find_methods
from benchmarks.prepared import keep
from benchmarks.results import Results

WORDS = {"texas": (0,), "webkb": (0,), "cora": (1,), "citeseer": (1,), "acm": (0,)}
LINKS = {"texas": (1,), "webkb": (1, 2), "cora": (0,), "citeseer": (0,), "acm": (1, 2, 3, 4)}
STRONG = 3
EVENTS = 7


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("networks", only, quick)
    for name in datasets or (*MULTIPLEX, *(("webkb",) if quick else WORDS)):
        try:
            data = MULTIPLEX[name]() if name in MULTIPLEX else documents(name)
        except (FileNotFoundError, ImportError) as error:
            print(f"{name} is left out: {error}")
            continue
        networks = keep(results.path.parent, f"networks-{name}", data)
        features = (
            networks
            if name in MULTIPLEX
            else keep(results.path.parent, f"{name}-raw", stored(name))
        )
        for method in methods:
            wanted = method.datasets is None or name in method.datasets
            if wanted and (name not in MULTIPLEX or method.name != "rmgl_words_alone"):
                chosen = features if method.name == "rmgl_links_as_features" else networks
                results.add(
                    partial(measure, method, chosen, settings), dataset=name, method=method.name
                )


def documents(name: str) -> Dataset:
    """Words, and links as symmetric matrices with zero diagonals."""
    data = stored(name)
    views = list(data.views.values())
    words = {f"words {place}": views[place] for place in WORDS[name]}
    return Dataset(
        name,
        {**words, **{f"links {place}": network(views[place]) for place in LINKS[name]}},
        data.target,
        "none",
    )


def network(X: np.ndarray) -> np.ndarray:
    """Symmetric weights: the links themselves, or, if they lead out of the data set, the number of
    shared links.
    """
    X = X.astype(np.float64) if X.shape[0] == X.shape[1] else X.astype(np.float64) @ X.T
    X = (X + X.T) / 2
    np.fill_diagonal(X, 0.0)
    return X


def karate() -> Dataset:
    import networkx as nx

    graph = nx.karate_club_graph()
    weights = nx.to_numpy_array(graph)
    target = np.array([int(graph.nodes[node]["club"] == "Officer") for node in graph])
    return Dataset(
        "karate",
        {"met": (weights > 0).astype(float), "often": weights * (weights >= STRONG)},
        target,
        "none",
    )


def women() -> Dataset:
    import networkx as nx
    from networkx.algorithms import bipartite

    graph = nx.davis_southern_women_graph()
    names, events = graph.graph["top"], graph.graph["bottom"]
    attended = bipartite.biadjacency_matrix(graph, names, events).toarray().astype(float)
    layers = {
        "first events": network(attended[:, :EVENTS].copy()),
        "last events": network(attended[:, EVENTS:].copy()),
    }
    return Dataset("women", layers, (np.arange(len(names)) >= len(names) // 2).astype(int), "none")


def layers_of(name: str) -> Dataset:
    """A data set whose views are all networks."""
    data = stored(name)
    views = {view: network(X) for view, X in data.views.items()}
    return Dataset(name, views, data.target, "none")


MULTIPLEX = {
    "karate": karate,
    "women": women,
    **{name: partial(layers_of, name) for name in ("seventh_sex", "lazega_office", "aucs")},
}
