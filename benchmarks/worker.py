"""Run one method on one data set in a separate process, and record what happened. The judge
computes the scores.

This file needs only the standard library and numpy, because it also runs in environments without
rmgl:

    python -P worker.py FOLDER

FOLDER contains `job.json`; the worker adds `result.json`, and `result.npz` with the arrays that the
method returned.
"""

import importlib.util
import json
import os
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import numpy as np

# enough to get compiled code and lazy imports ready; a method may ask for a different number
WARM_UP_ROWS = 300
SAMPLING_INTERVAL = 0.02


def main(folder):
    job = json.loads((folder / "job.json").read_text())
    try:
        result, arrays = run(job)
    except Exception as error:
        result, arrays = {"error": type(error).__name__, "message": str(error)[:500]}, {}
    np.savez(folder / "result.npz", **arrays)
    # tolist converts numpy numbers and arrays
    (folder / "result.json").write_text(json.dumps(result, default=lambda value: value.tolist()))


def run(job):
    """Make the timed calls of a job; return `result` for JSON, and `arrays` by name."""
    method = load_method(job["method"])
    views = read_views(job["data"])
    call = caller(method, job["arguments"])
    warm_up_note = warm_up(
        call, views, job.get("warm_up_rows") or getattr(method, "WARM_UP_ROWS", WARM_UP_ROWS)
    )
    before = memory("VmRSS")
    with MemorySampler() as sampler:
        answers, seconds = timed(call, views, job["repeats"], job["budget"], job.get("seeds"))
    used = {"before": before, "peak": memory("VmHWM"), "sampled": sampler.peak}
    extra, arrays = split(answers[-1])
    extra["later"] = {name: elapsed(work, extra) for name, work in extra.pop("later", {}).items()}
    if job.get("seeds"):
        arrays["labels"] = np.stack(
            [
                arrays["labels"] if answer is answers[-1] else split(answer)[1]["labels"]
                for answer in answers
            ]
        )
    result = {
        "seconds": seconds,
        "memory": used,
        "warm_up": warm_up_note,
        "versions": versions(["numpy", "scipy", "scikit-learn", *getattr(method, "PACKAGES", ())]),
        "extra": extra,
    }
    return result, arrays


def read_views(path):
    """The views in a file: arrays `view_M`, or the parts of sparse rows: `view_M.data`, `.indices`,
    `.indptr` and `.shape`.
    """
    with np.load(path) as stored:
        names = dict.fromkeys(
            name.split(".")[0] for name in stored.files if name.startswith("view_")
        )
        return [
            stored[name] if name in stored.files else sparse_view(stored, name) for name in names
        ]


def sparse_view(stored, name):
    from scipy import sparse

    data, indices, indptr, shape = (
        stored[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def load_method(path):
    """Load a module from a file; code shared by methods is in `shared`, next to their folders."""
    shared = str(Path(path).parents[1] / "shared")
    if shared not in sys.path:
        sys.path.append(shared)
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    method = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(method)
    return method


def caller(method, arguments):
    """The call to be timed: `cluster` takes a list of views, and `learn` a single array."""
    if hasattr(method, "cluster"):
        return lambda views, **changed: method.cluster(views, **{**arguments, **changed})
    return lambda views: method.learn(views[0], **arguments)


def warm_up(call, views, n_rows):
    """Make one untimed call on some of the rows; it may fail if the method needs more rows."""
    n = views[0].shape[0]
    rows = (
        np.arange(n) if n_rows is None or n <= n_rows else np.linspace(0, n - 1, n_rows).astype(int)
    )
    try:
        call([X[rows] for X in views])
    except ModuleNotFoundError:
        raise
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"[:300]
    return f"{len(rows)} rows"


def elapsed(work, extra):
    """Do additional work, add the fields that it returns to `extra`, and return its seconds."""
    start = time.perf_counter()
    fields = work()
    seconds = time.perf_counter() - start
    extra.update(fields)
    return seconds


def timed(call, views, repeats, budget, seeds=None):
    """Call up to `repeats` times, with a different seed each time if there are `seeds`; stop once
    `budget` seconds are spent.
    """
    answers, seconds = [], []
    while len(seconds) < repeats and (not seconds or sum(seconds) < budget):
        # some methods write into their input
        given = [X.copy() for X in views] if repeats > 1 else views
        changed = {"seed": seeds[len(seconds)]} if seeds else {}
        start = time.perf_counter()
        answer = call(given, **changed)
        seconds.append(time.perf_counter() - start)
        answers = [*answers, answer] if seeds else [answer]
    return answers, seconds


def split(answer):
    """Split a method's answer into fields for JSON and arrays. The answer is either labels or a
    dict with labels, u, W or found neighbors, and any additional fields.

    The field `later` contains functions by name, which are called and timed at the end; they return
    additional fields.
    """
    answer = answer if isinstance(answer, dict) else {"labels": answer}
    arrays = {
        name: np.asarray(answer.pop(name)) for name in ("labels", "u", "found") if name in answer
    }
    W = answer.pop("W", None)
    if hasattr(W, "tocsr"):
        W = W.tocsr()
        arrays.update(W_data=W.data, W_indices=W.indices, W_indptr=W.indptr)
    elif W is not None:
        arrays["W"] = np.asarray(W)
    return answer, arrays


def memory(field):
    """Bytes from /proc/self/status, or None on systems without it. VmHWM is the peak of this
    process only; ru_maxrss would be inherited.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(
        (1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":")), None
    )


class MemorySampler:
    """Context manager that samples the resident memory. Unlike VmHWM, its peak does not include
    imports and warm-up.
    """

    def __enter__(self):
        self.peak = memory("VmRSS")
        self._stop = threading.Event()
        if self.peak is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self.peak is not None:
            self._thread.join()

    def _watch(self):
        page = os.sysconf("SC_PAGE_SIZE")
        with open("/proc/self/statm") as file:
            while not self._stop.wait(SAMPLING_INTERVAL):
                file.seek(0)
                self.peak = max(self.peak, page * int(file.read().split()[1]))


def versions(names):
    """Versions by name; for rmgl, that of the checkout, not of what is installed."""
    found = {}
    for name in names:
        try:
            found[name] = own_version() if name == "rmgl" else metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def own_version():
    from rmgl.version import __version__

    return __version__


if __name__ == "__main__":
    main(Path(sys.argv[1]))
