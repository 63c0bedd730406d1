"""Named data sets with one interface: `load(name, n_rows)`.

The digits are part of the package, and the mixture is generated; the others are files in
`../shared/data`, or in the folder that the environment variable RMGL_DATA names. If a file is
missing, `load` raises FileNotFoundError, and the suites skip the data set.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import ROOT
from benchmarks.oriented_gradients import oriented_gradients
from rmgl.datasets import fetch_coil20, load_uci_digits
from rmgl.views.views import Views

WORD_COUNTS = ("3sources", "ngs", "reuters600")
FIRST_FILES = (
    "100leaves",
    "3sources",
    "aloi10",
    "mfeat",
    "msrcv1_5v",
    "ngs",
    "orl_4v",
    "scene15",
    "snareseq",
)
LATER_FILES = (
    "citeseer",
    "cora",
    "acm",
    "webkb",
    "reuters600",
    "scicar_a549",
    "prokaryotic",
    "nutrimouse",
)
"""Data sets on which the first defaults failed."""
FILES = (*FIRST_FILES, *LATER_FILES)


@dataclass(frozen=True)
class Dataset:
    """Views of the same entities, and their classes, which are used for scoring only."""

    name: str
    views: dict[str, NDArray]
    target: NDArray
    scale: str = "minmax"
    """How every view is scaled before any method sees it: columns to [0, 1], rows to length one, or
    not at all.
    """

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.target))

    def scaled(self) -> "Dataset":
        views = Views.of(self.views).scaled(self.scale)
        return Dataset(
            self.name, dict(zip(views.names, views.matrices, strict=True)), self.target, "none"
        )


def load(name: str, n_rows: int | None = None) -> Dataset:
    """The data set `name`, or some of its rows."""
    if name in MADE_TO_SIZE:
        return MADE_TO_SIZE[name](n_rows)
    data = LOADERS[name]()
    return data if n_rows is None or n_rows >= len(data.target) else balanced(data, n_rows)


def balanced(data: Dataset, n_rows: int) -> Dataset:
    """The first rows of every class, in their original order."""
    classes = np.unique(data.target)
    share = n_rows // len(classes)
    rows = np.sort(np.concatenate([np.flatnonzero(data.target == c)[:share] for c in classes]))
    return Dataset(
        data.name, {name: X[rows] for name, X in data.views.items()}, data.target[rows], data.scale
    )


def find_file(name: str) -> Path:
    folder = Path(os.environ.get("RMGL_DATA", ROOT.parent / "shared" / "data"))
    path = folder / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path.name} in the data folder (set RMGL_DATA to the folder that "
            "contains it)"
        )
    return path


def digits() -> Dataset:
    data = load_uci_digits()
    return Dataset("digits", data.views, data.target)


def coil20() -> Dataset:
    data = fetch_coil20(images=find_file("coil20_images"), download=False)
    return Dataset("coil20", data.views, data.target)


def stored(name: str) -> Dataset:
    with np.load(find_file(name)) as file:
        views = {
            key: file[key].astype(np.float64)
            for key in sorted(file.files)
            if key.startswith("view_")
        }
        return Dataset(name, views, file["y"].ravel(), "unit" if name in WORD_COUNTS else "minmax")


def mnist(n_rows: int) -> Dataset:
    """Pixels from 0 to 1 and histograms of oriented gradients, in random order.

    Rows beyond the 70,000 images are interpolated between two images of the same digit, at 0.3 of
    the way from one to the other.
    """
    with np.load(find_file("mnist70k")) as file:
        rows = np.random.default_rng(0).permutation(70_000)[:n_rows]
        pixels, target = file["view_0"].reshape(70_000, -1)[rows], file["y"].ravel()[rows]
    pixels = pixels / np.float64(255)
    if n_rows > len(rows):
        pixels, target = with_mixed_rows(pixels, target, n_rows - len(rows))
    return Dataset(
        "mnist",
        {"pixels": pixels, "hog": oriented_gradients(pixels.reshape(-1, 28, 28))},
        target,
        "none",
    )


def with_mixed_rows(X: NDArray, target: NDArray, n_more: int) -> tuple[NDArray, NDArray]:
    """The rows, and `n_more` rows interpolated between two rows of the same class."""
    order = np.argsort(target, kind="stable")
    place = np.random.default_rng(1).permutation(len(order) - 1)
    place = place[target[order[place]] == target[order[place + 1]]][:n_more]
    one, other = order[place], order[place + 1]
    return np.concatenate([X, 0.7 * X[one] + 0.3 * X[other]]), np.concatenate([target, target[one]])


def mixture(n_rows: int, seed: int = 0, spread: float = 1.15) -> Dataset:
    """Gaussian mixture of 20 classes, observed in 16 and in 32 dimensions.

    In the first view, each coordinate of a center is drawn from N(0, spread^2). The second view
    uses spread / sqrt(2), which keeps classes equally far apart. Noise is drawn from N(0, 1). Each
    view merges two pairs of classes; the pairs differ between the views.
    """
    random = np.random.default_rng(seed)
    target = random.integers(20, size=n_rows)
    views = {}
    for name, dimension, merged in (("left", 16, (0, 2)), ("right", 32, (4, 6))):
        centers = np.random.default_rng((seed, dimension)).normal(
            scale=spread * np.sqrt(16 / dimension), size=(20, dimension)
        )
        for c in merged:
            centers[c + 1] = centers[c]
        views[name] = centers[target] + random.normal(size=(n_rows, dimension))
    return Dataset("mixture", views, target, "none")


def noise(n_rows: int) -> Dataset:
    """128 columns of Gaussian noise."""
    X = np.random.default_rng(0).normal(size=(n_rows, 128))
    return Dataset("noise", {"columns": X}, np.zeros(n_rows, dtype=int), "none")


MADE_TO_SIZE = {"mixture": mixture, "mnist": mnist, "noise": noise}
SHAPES = {"mixture": (16, 32), "mnist": (784, 324)}
"""Number of columns in each view."""
LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": digits,
    "coil20": coil20,
    **{name: partial(stored, name) for name in FILES},
}
