"""RMGL at its defaults with one ingredient of the automatic choice switched off."""

from contextlib import ExitStack
from unittest.mock import patch


def fit_predict(
    views,
    n_clusters,
    seed,
    n_threads,
    parameters=None,
    constants=None,
    local_scaling=True,
    floor=None,
    consensus=True,
    reference=None,
    unit_rows=True,
):
    from rmgl import RMGL
    from rmgl.automatic import choose as automatic
    from rmgl.edges import local_scaling as scaling
    from rmgl.estimators import rmgl as estimator
    from rmgl.model import problems

    with ExitStack() as changed:
        for name, value in (constants or {}).items():
            changed.enter_context(patch.object(automatic, name, value))
        if not local_scaling:
            plain = problems.state_candidates
            changed.enter_context(patch.object(problems, "state_candidates", lambda *given, local, **more: plain(*given, **more)))
        if floor is not None:
            changed.enter_context(patch.object(scaling, "FLOOR_SHARE", floor))
        if not consensus:
            changed.enter_context(patch.object(automatic.Chooser, "with_consensus", property(lambda chooser: False)))
        if reference == "consensus":
            changed.enter_context(patch.object(automatic, "REFERENCES", ("consensus",)))
        if not unit_rows:
            changed.enter_context(patch.object(estimator, "unit_rows", lambda rows: rows))
        return RMGL(n_clusters, random_state=seed, n_jobs=n_threads, **(parameters or {})).fit_predict(views)
