"""What Algorithm 1 is to solve: candidate edges, distances, alpha and beta of every view, given or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.automatic.choose import Choice, Chooser, consensus_name
from rmgl.checks import expect
from rmgl.edges import AllPairs, Candidates, resolve, state_candidates
from rmgl.edges.approximate import pairs_among
from rmgl.edges.neighborhoods import require_list_memory
from rmgl.layer.learn import check_magnitudes
from rmgl.model.alternate import ViewProblem
from rmgl.model.defaults import default_alpha, default_beta
from rmgl.model.run import Run
from rmgl.running.threads import Check, Team
from rmgl.views.views import Views, per_view, positive_per_view

if TYPE_CHECKING:
    from rmgl.estimators.rmgl import RMGL


def state_problems(model: RMGL, views: Views, team: Team, random_state: np.random.RandomState, run: Run) -> Choice:
    """The problems of all views at a model's parameters."""
    names = views.names
    alpha = None if is_auto(model.alpha) else positive_per_view(model.alpha, names, "alpha")
    beta = None if is_auto(model.beta) else positive_per_view(model.beta, names, "beta", zero_allowed=True)
    if beta is not None and not beta.any():
        raise ValueError("beta is 0 for every view, so nothing defines the embedding: give at least one view a positive beta")
    given = zip(names, per_view(model.candidates, names, "candidates"), strict=True)
    asked = [pairs_among(name, c, views.rows(m), views.n_rows) for m, (name, c) in enumerate(given)]
    if alpha is None and beta is None:
        return choose_problems(model, views, asked, team, random_state, run)
    if is_auto(model.n_clusters):
        raise ValueError("n_clusters='auto' is part of the automatic choice: leave alpha and beta at 'auto', or give n_clusters")
    own = [views.own(m) for m in range(len(names))]
    if alpha is None:
        alpha = np.array(team(lambda X, check: default_alpha(X, model.n_neighbors), own))
    if beta is None:
        beta = np.full(len(names), default_beta(alpha, views.n_rows, model.n_clusters, model.n_neighbors))
    wanted = [resolve(X, a, c) for X, a, c in zip(own, alpha, asked, strict=True)]
    stores = Stores(views.n_rows, wanted, team)

    def state(m: int, check: Check) -> ViewProblem:
        name, a, b = names[m], float(alpha[m]), float(beta[m])

        def search() -> Candidates:
            return state_candidates(name, own[m], a, wanted[m], shared=stores.of(own[m].shape[0]), rows=team.rows, check=check)

        def unpack(packed: Any) -> Candidates:
            expect("the candidate pairs", packed, dict[str, Any])
            return Candidates.unpacked(packed, own[m], team.rows, check)

        pairs = (
            search()
            if isinstance(wanted[m], str) and wanted[m] == "all"
            else run.step(f"pairs-{m}", search, pack=Candidates.pack, unpack=unpack)
        )
        check_magnitudes(name, a, pairs.distances, b)
        return ViewProblem(name, pairs, a, b, None, views.rows(m), views.n_rows)

    return Choice(team(state, range(len(names))), model.n_clusters, beta / beta.sum())


def choose_problems(model: RMGL, views: Views, asked: list[Any], team: Team, random_state: np.random.RandomState, run: Run) -> Choice:
    """The same where nothing is given."""
    everywhere = model.candidates if isinstance(model.candidates, str | Integral) else "auto"
    wanted = {name: resolve(views.own(m), None, asked[m], model.n_neighbors) for m, name in enumerate(views.names)}
    if len(views.names) > 1:
        wanted[consensus_name(views.names)] = resolve(views.matrices[0], None, everywhere, model.n_neighbors)
    stores = Stores(views.n_rows, list(wanted.values()), team, copies=2)

    def search(name: str, X: Any, check: Check) -> Candidates:
        options: dict[str, Any] = {"local": True, "n_neighbors": model.n_neighbors, "rows": team.rows}
        return state_candidates(name, X, None, wanted[name], shared=stores.of(X.shape[0]), check=check, **options)

    given = None if is_auto(model.n_clusters) else model.n_clusters
    return Chooser(views, given, model.n_neighbors, search, team, random_state, run, model.solver).choose()


class Stores:
    """The stores of all pairs, which views with as many entities share; what would not fit into memory is refused at once."""

    def __init__(self, n_rows: int, wanted: Sequence[Any], team: Team, copies: int = 1) -> None:
        """`copies` is the number of vectors of distances a view."""
        self.team = team
        self.by_size = {n_rows: AllPairs(n_rows, team.rows)}
        n_dense = sum(isinstance(c, str) and c == "all" for c in wanted)
        if n_dense:
            self.by_size[n_rows].require_memory(copies * (n_dense + min(team.n_threads, n_dense)) + 2, f"{n_dense} view(s)")
        lengths = [c for c in wanted if isinstance(c, int)]
        if lengths:
            require_list_memory(n_rows, sum(lengths), f"{len(lengths)} view(s)")

    def of(self, n_rows: int) -> AllPairs:
        return self.by_size.setdefault(n_rows, AllPairs(n_rows, self.team.rows))


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
