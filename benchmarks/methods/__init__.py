"""The methods, found by listing the folders next to this file: one per file, or one per variant.

The docstring and constants of a file say what it runs (see `Method`). It defines one function:

    cluster(views, n_clusters, seed, n_threads)
        -> labels, or a dict with `labels` and additional fields
    learn(X, alpha, tol, theta)
        -> a dict with the dual vector `u` or the weights `W`, and additional fields

If the file has a table `VARIANTS`, its keys are the names of the methods, and the function gets the
key as an additional argument `variant`. Imports are inside the function: the file is read in the
main environment but run in the environment it names.
"""

from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.worker import load_method

FLAGS = ("SLOW", "QUICK", "RAW", "ABLATION")


@dataclass(frozen=True)
class Method:
    name: str
    path: Path
    environment: str
    """ENVIRONMENT: "main", or a file in benchmarks/environments."""
    datasets: tuple[str, ...] | None
    """DATASETS: the only data sets for the method."""
    slow: bool
    """SLOW: runs only when named."""
    quick: bool
    """QUICK: part of `--quick`."""
    raw: bool
    """RAW: scales the views itself, so it gets them unscaled."""
    ablation: bool
    """ABLATION: RMGL with one ingredient of the automatic choices switched off."""
    largest: int | None = None
    """LARGEST: the maximum number of rows, unless the method is named."""
    variant: str | None = None
    """The key in VARIANTS."""


def find_methods(folder: str, only: tuple[str, ...] = (), quick: bool = False) -> list[Method]:
    """Return the methods in a folder: those in `only`, or all except slow ones, or quick ones."""
    paths = (Path(__file__).parent / folder).glob("*.py")
    found = sorted(
        (method for path in paths for method in _read(path)), key=lambda method: method.name
    )
    unknown = set(only) - {method.name for method in found}
    if unknown:
        raise click.BadParameter(
            f"no method {', '.join(sorted(unknown))}; the methods are "
            f"{', '.join(method.name for method in found)}"
        )
    if only:
        return [method for method in found if method.name in only]
    return [method for method in found if not method.slow and (method.quick or not quick)]


def _read(path: Path) -> list[Method]:
    """Return the method in a file, or its variants."""
    module = load_method(path)
    constant = vars(module).get
    flags = [constant(name, False) for name in FLAGS]
    variants = constant("VARIANTS") or [None]
    return [
        Method(
            variant or path.stem,
            path,
            module.ENVIRONMENT,
            constant("DATASETS"),
            *flags,
            constant("LARGEST"),
            variant,
        )
        for variant in variants
    ]
