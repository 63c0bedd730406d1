"""Rank-constrained multi-layer graph learning: one sparse graph layer per view, one common embedding, clusters."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmgl.estimator import RMGL
    from rmgl.layer import Layer, learn_layer

__all__ = ["RMGL", "Layer", "learn_layer"]
__version__ = _version("rmgl")

_HOMES = {"RMGL": "rmgl.estimator", "Layer": "rmgl.layer", "learn_layer": "rmgl.layer"}

_ROOMS = ("baselines", "datasets", "metrics", "plots")


def __getattr__(name: str):
    """Load a public name, or a module, when it is first asked for."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"rmgl.{name}")
    raise AttributeError(f"module 'rmgl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *_ROOMS])
