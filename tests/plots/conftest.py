"""Models for pictures, and figures that are closed in the end."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rmgl import RMGL
from tests.results.test_hierarchy import two_levels


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def chosen_model():
    """Three distant groups of two clusters each; the number of clusters is chosen."""
    return RMGL("auto", random_state=0).fit(two_levels()[0])


@pytest.fixture(scope="session")
def overlapping_model():
    """Three clusters that overlap, so that some entities change places."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(3), (40, 30, 20))
    rows = np.array([[0.0, 0], [3, 0], [0, 3]])[target] + rng.normal(size=(90, 2))
    return RMGL(3, random_state=0).fit({"a": rows, "b": rows + 0.5 * rng.normal(size=(90, 2))})
