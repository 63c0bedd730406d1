"""Output of `rmgl doctor`: information for a bug report, and a self-test with small fits.

This module imports only the standard library. If a section or a check fails, its error is printed
and the others still run, so that a broken installation can be examined.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

from rmgl.version import __version__

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(;.*extra == ['\"](?P<extra>\w+)['\"])?")
FOR_DEVELOPERS = {"test", "bench", "dev", "docs", "release"}
"""Extras that users do not need."""
SETTINGS = ("NUMBA_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "VECLIB_", "SCIKIT_LEARN_DATA")
"""Prefixes of environment variables that affect speed, threads or caches."""
LARGEST_RESIDUAL = 1e-6
LARGEST_GAP = 1e-6


def examine(show: Callable[[str], None], *, tested: bool) -> bool:
    """Show the description and, if `tested`, run the self-test. Return whether it passed."""
    for line in description():
        show(line)
    if not tested:
        return True
    show("\nSelf-test")
    passed = True
    for is_right, line in self_test():
        show(line)
        passed = passed and is_right
    return passed


def description() -> Iterator[str]:
    """Yield lines about versions, optional packages, threads, memory and caches."""
    yield f"rmgl {__version__}, {short(Path(__file__).parents[1])}"
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    yield f"Python {python}, {platform.platform()}"
    for title, section in SECTIONS.items():
        yield ""
        yield title
        try:
            yield from (f"  {line}" for line in section())
        except Exception as error:  # the broken part is why a user runs this
            yield f"  unknown: {said(error)}"


def required() -> Iterator[str]:
    """Yield the packages that rmgl requires."""
    for name, extra in requirements():
        if extra is None:
            yield f"{name:16s} {installed(name)}"


def optional() -> Iterator[str]:
    """Yield the packages that extras install."""
    for name, extra in requirements():
        if extra is not None and extra not in FOR_DEVELOPERS and name != "rmgl":
            yield f"{name:16s} {installed(name):16s} ({extra})"


def threads() -> Iterator[str]:
    """Yield the number of cores, libraries with their own threads, and environment variables."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    yield f"cores            {cpu_count()} of {os.cpu_count()}"
    for library in threadpool_info():
        kind = library.get("architecture", "")
        yield (
            f"{library['internal_api']:16s} {library['version'] or ''} {kind}: "
            f"{library['num_threads']} threads"
        )
    for name in sorted(os.environ):
        if name.startswith(SETTINGS):
            yield f"{name}={short(os.environ[name])}"


def memory() -> Iterator[str]:
    """Yield the memory that this process can still use."""
    from rmgl.running.threads import amount, available_memory

    available = available_memory()
    yield "available        " + ("unknown" if available is None else amount(available))


def caches() -> Iterator[str]:
    """Yield the folders for compiled loops and downloaded data."""
    from rmgl import kernels
    from rmgl.running.threads import amount

    stats = getattr(kernels.laplacian_product, "stats", None)
    if stats is None or stats.cache_path is None:
        yield "compiled loops   not kept on disk"
    else:
        folder = Path(stats.cache_path)
        files = list(folder.glob("*.nb[ci]"))
        size = amount(sum(path.stat().st_size for path in files))
        written = "writable" if can_write(folder) else "not writable"
        yield f"compiled loops   {short(folder)}: {len(files)} files, {size}, {written}"
    # scikit-learn's `get_data_home` would create the folder
    home = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    yield f"data sets        {short(home)}"


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "Packages": required,
    "Optional packages": optional,
    "Threads": threads,
    "Memory": memory,
    "Caches": caches,
}


def self_test() -> Iterator[tuple[bool, str]]:
    """Run the checks. For each one, yield whether it passed and a line about it."""
    for name, check in CHECKS.items():
        began = perf_counter()
        try:
            found, passed = check(), True
        except Exception as error:
            found, passed = said(error), False
        seconds = perf_counter() - began
        yield passed, f"  {'ok    ' if passed else 'FAILED'} {name} ({seconds:.1f} s): {found}"


def known_views() -> tuple[dict[str, Any], Any]:
    """Return two views of three well-separated clusters, and the clusters."""
    import numpy as np

    random = np.random.default_rng(0)
    target = np.arange(240) % 3
    views = {}
    for name, width in (("first", 5), ("second", 8)):
        centers = 6 * np.linalg.qr(random.normal(size=(width, width)))[0][:3]
        views[name] = centers[target] + random.normal(size=(target.size, width)) / 2
    return views, target


def one_layer() -> str:
    """Check the certificate of one layer."""
    from rmgl import learn_layer

    layer = learn_layer(known_views()[0]["first"], alpha=1.0)
    expect(layer.exact, f"the layer is not exact: {layer.doubt}")
    expect(layer.kkt_residual <= LARGEST_RESIDUAL, f"KKT residual {layer.kkt_residual:.1e}")
    expect(layer.gap <= LARGEST_GAP, f"relative gap {layer.gap:.1e}")
    return f"KKT residual {layer.kkt_residual:.1e}, relative gap {layer.gap:.1e}"


def known_clusters() -> str:
    """Check that a fit with default parameters chooses the number of clusters and recovers them."""
    from rmgl import RMGL
    from rmgl.metrics import clustering_accuracy

    views, target = known_views()
    model = RMGL("auto", random_state=0).fit(views)
    accuracy = clustering_accuracy(target, model.labels_)
    expect(model.n_clusters_ == 3, f"{model.n_clusters_} clusters instead of 3")
    expect(accuracy == 1, f"accuracy {accuracy:.3f} instead of 1")
    return f"{model.n_clusters_} clusters, accuracy {accuracy:.3f}"


def same_bits() -> str:
    """Check that fits with one and two threads give the same embedding."""
    import numpy as np

    from rmgl import RMGL

    views = known_views()[0]
    one, two = (RMGL(3, random_state=0, n_jobs=n_jobs).fit(views).embedding_ for n_jobs in (1, 2))
    difference = float(np.abs(one - two).max())
    expect(difference == 0, f"the embeddings differ by up to {difference:.1e}")
    return "identical embeddings"


def saved_model() -> str:
    """Check that a saved model makes the same predictions once it is loaded."""
    import numpy as np

    from rmgl import RMGL

    views = known_views()[0]
    model = RMGL(3, random_state=0).fit({name: X[40:] for name, X in views.items()})
    new = {name: X[:40] for name, X in views.items()}
    with tempfile.TemporaryDirectory(prefix="rmgl-doctor-") as folder:
        model.save(Path(folder) / "model.rmgl")
        loaded = RMGL.load(Path(folder) / "model.rmgl")
    same = np.array_equal(model.predict_proba(new), loaded.predict_proba(new))
    expect(same, "the loaded model makes different predictions")
    return "the loaded model makes the same predictions"


CHECKS: dict[str, Callable[[], str]] = {
    "certificate of a layer": one_layer,
    "known clusters": known_clusters,
    "one and two threads": same_bits,
    "saved model": saved_model,
}


def expect(condition: bool, problem: str) -> None:
    """Raise an error that names the problem, unless the condition holds."""
    if not condition:
        raise RuntimeError(problem)


def requirements() -> Iterator[tuple[str, str | None]]:
    """Yield the packages that the installed rmgl requires, and the extra that each belongs to."""
    for requirement in metadata.requires("rmgl") or []:
        found = REQUIREMENT.match(requirement)
        if found is not None:
            yield found["name"], found["extra"]


def installed(package: str) -> str:
    """Return the version of a package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def can_write(folder: Path) -> bool:
    """Return whether a folder, or its nearest existing parent, is writable."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(existing, os.W_OK)


def short(path: str | Path) -> str:
    """Return a path without the user's name."""
    return str(path).replace(str(Path.home()), "~")


def said(error: Exception) -> str:
    """Return the type and message of an error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
