"""A fit with the memory used by each stage and the certificate of each layer.

The callback of `fit` marks the end of each step. Memory used up to that point is assigned to the
stage of that step.
"""

import threading
import time

STAGES = {"start": "layers", "layers": "layers", "embedding": "embedding"}
"""Stages of the half steps of the alternation. The first layers and the first embedding are one
step. All other steps come earlier.
"""
SAMPLING_INTERVAL = 0.02


def fit(model, views):
    """Fit a model and return the fields of its row in the results, including the labels."""
    ends = []
    with MemoryTrace() as trace:
        began = time.perf_counter()
        model.fit(views, callback=lambda row: ends.append((row["step"], time.perf_counter())))
    return {
        "labels": model.labels_,
        "n_iter": model.n_iter_,
        "converged": bool(model.converged_),
        "eigen_residual": model.history_[-1]["eigen_residual"],
        "stages": model.seconds_,
        "steps": steps(ends, began),
        "memory_by_stage": peaks(trace.samples, ends),
        "layers": [certificate(layer) for layer in model.layers_],
    }


def steps(ends, began):
    """Return the seconds taken by each earlier step and by the alternation."""
    found = {}
    for step, moment in ends:
        name = "alternation" if step in STAGES else step
        found[name] = found.get(name, 0.0) + moment - began
        began = moment
    return found


def certificate(layer):
    return {
        "name": layer.name,
        "exact": layer.exact,
        "candidates": layer.candidates,
        "recall": layer.recall,
        "kkt_residual": layer.kkt_residual,
        "gap": layer.gap,
        "edges_per_node": 2 * layer.n_edges / layer.n_nodes,
        "n_passes": layer.n_passes,
    }


class MemoryTrace:
    """Resident memory, sampled every 20 ms inside the `with` block: (time, bytes)."""

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
            while not self._stop.wait(SAMPLING_INTERVAL):
                file.seek(0)
                self.samples.append(
                    (time.perf_counter(), resource.getpagesize() * int(file.read().split()[1]))
                )


def peaks(samples, ends):
    """Return the peak memory in each stage. The labels are found after the last step."""
    found = {}
    for moment, used in samples:
        step = next((step for step, until in ends if moment <= until), None)
        stage = "clustering" if step is None else STAGES.get(step, "neighbors")
        found[stage] = max(found.get(stage, 0), used)
    return found
