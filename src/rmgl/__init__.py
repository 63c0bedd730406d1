"""Rank-constrained multi-layer graph learning: one sparse graph layer per view, one common embedding, clusters."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmgl.estimator import RMGL
    from rmgl.layer import Layer, learn_layer

__all__ = ["RMGL", "Layer", "learn_layer"]
__version__ = _version("rmgl")

_HOMES = {"RMGL": "rmgl.estimator", "Layer": "rmgl.layer", "learn_layer": "rmgl.layer"}


def __getattr__(name: str):
    """Load a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rmgl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "datasets", "plots"])
