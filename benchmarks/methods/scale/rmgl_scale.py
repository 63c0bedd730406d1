"""RMGL with alpha for about 20 edges a node and a light coupling, with seconds and peak memory of its stages and the certificates of its
layers. Weighing the views and a consensus layer, which come on top with the defaults, are not part of it."""

import threading
import time

ENVIRONMENT = "main"
PACKAGES = ["rmgl", "numba"]
WARM_UP_ROWS = 6000  # enough for lists of neighbors instead of all pairs


def cluster(views, n_clusters, seed, n_threads):
    import numpy as np

    from rmgl import RMGL
    from rmgl.model.defaults import default_alpha, default_beta

    with MemoryTrace() as trace:
        alpha = np.array([default_alpha(X) for X in views])
        beta = default_beta(alpha, len(views[0]), n_clusters)
        model = RMGL(n_clusters, alpha=alpha, beta=beta, scale="none", random_state=seed, n_jobs=n_threads).fit(views)
        end = time.perf_counter()
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "converged": bool(model.converged_),
        "eigen_residual": model.history_[-1]["eigen_residual"],
        "stages": model.seconds_,
        "memory_by_stage": peaks(trace.samples, stage_ends(model, end)),
        "layers": [certificate(layer) for layer in model.layers_],
    }


def certificate(layer):
    return {
        "name": layer.name,
        "exact": layer.exact,
        "candidates": layer.candidates,
        "recall": layer.recall,
        "kkt_residual": layer.kkt_residual,
        "gap": layer.gap,
        "edges_per_node": 2 * layer.n_edges / layer.n_nodes,
    }


class MemoryTrace:
    """Resident memory every 20 ms while it is entered: (time, bytes)."""

    def __enter__(self):
        self.samples = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        import resource

        with open("/proc/self/statm") as file:
            while not self._stop.wait(0.02):
                file.seek(0)
                self.samples.append((time.perf_counter(), resource.getpagesize() * int(file.read().split()[1])))


def stage_ends(model, end):
    """(time, stage) in their order, from the history of half steps; the first layers and embedding are one row of it."""
    began = end - model.seconds_["clustering"] - model.history_[-1]["seconds"]
    names = {"start": "layers", "layers": "layers", "embedding": "embedding"}
    return [(began, "neighbors"), *((began + row["seconds"], names[row["step"]]) for row in model.history_), (end, "clustering")]


def peaks(samples, ends):
    found = {}
    for moment, used in samples:
        stage = next((name for until, name in ends if moment <= until), "clustering")
        found[stage] = max(found.get(stage, 0), used)
    return found
