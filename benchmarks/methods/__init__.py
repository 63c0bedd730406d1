"""Methods, one a file or one a variant in its table, found by listing the folders beside this file.

A file says what it runs in its docstring and in constants (see `Method`), and holds one function:

    cluster(views, n_clusters, seed, n_threads) -> labels, or a dict with `labels` and further
    fields learn(X, alpha, tol, theta) -> a dict with the dual vector `u` or the weights `W`, and
    further fields

With a table `VARIANTS`, its keys are the names of the methods, and the function gets one as a
further argument `variant`. Its imports are inside the function: the file is read in the main
environment and run in its own.
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
    """DATASETS: the only data sets it makes sense for."""
    slow: bool
    """SLOW: run only when asked for by name."""
    quick: bool
    """QUICK: part of `--quick`."""
    raw: bool
    """RAW: scales the views itself, so it gets them as they are."""
    ablation: bool
    """ABLATION: RMGL with one ingredient of its automatic choice switched off."""
    largest: int | None = None
    """LARGEST: the most rows, unless it is asked for by name."""
    variant: str | None = None
    """The key in VARIANTS."""


def find_methods(folder: str, only: tuple[str, ...] = (), quick: bool = False) -> list[Method]:
    """The methods in a folder: those in `only`, or all that are not slow, or the quick ones."""
    paths = (Path(__file__).parent / folder).glob("*.py")
    found = sorted(
        (method for path in paths for method in _read(path)), key=lambda method: method.name
    )
    unknown = set(only) - {method.name for method in found}
    if unknown:
        raise click.BadParameter(
            f"no method {', '.join(sorted(unknown))}; there are "
            f"{', '.join(method.name for method in found)}"
        )
    if only:
        return [method for method in found if method.name in only]
    return [method for method in found if not method.slow and (method.quick or not quick)]


def _read(path: Path) -> list[Method]:
    """The method in a file, or its variants."""
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
