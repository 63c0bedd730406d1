"""Rank-constrained multi-layer graph learning: one sparse graph layer per view, one common
embedding, and clusters.

`__all__` is the public interface, which `docs/api.md` describes. Everything else may change without
notice.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmgl import baselines, datasets, metrics, plots, scverse
    from rmgl.automatic.policy import Policy
    from rmgl.estimators.rmgl import RMGL
    from rmgl.layer import Layer, learn_layer
    from rmgl.storage.scverse import from_anndata, from_mudata, to_anndata, to_mudata
    from rmgl.version import __version__
    from rmgl.views.network import Network
    from rmgl.views.ordinal import ordinal
    from rmgl.views.precomputed import Precomputed

__all__ = [
    "RMGL",
    "Layer",
    "Network",
    "Policy",
    "Precomputed",
    "__version__",
    "baselines",
    "datasets",
    "from_anndata",
    "from_mudata",
    "learn_layer",
    "metrics",
    "ordinal",
    "plots",
    "scverse",
    "to_anndata",
    "to_mudata",
]

_HOMES = {
    "RMGL": "rmgl.estimators.rmgl",
    "Layer": "rmgl.layer",
    "Network": "rmgl.views.network",
    "Policy": "rmgl.automatic.policy",
    "Precomputed": "rmgl.views.precomputed",
    "__version__": "rmgl.version",
    "learn_layer": "rmgl.layer",
    "ordinal": "rmgl.views.ordinal",
    "from_mudata": "rmgl.storage.scverse",
    "from_anndata": "rmgl.storage.scverse",
    "to_mudata": "rmgl.storage.scverse",
    "to_anndata": "rmgl.storage.scverse",
}


def __getattr__(name: str) -> Any:
    """Load a public name or a module on first access."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"rmgl.{name}")
    raise AttributeError(f"module 'rmgl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
