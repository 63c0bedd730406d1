"""Convert model files of earlier format versions to the current one, before they are decoded.

Version 1 (rmgl 0.1) stored a second record of every layer, `FittedLayer`, in a `Placement` next to the `Layer`.
"""

from __future__ import annotations

from typing import Any

MOVED = {"nodes": "nodes", "members": "views", "factors": "factors", "scaling": "scaling"}
"""Fields of a `FittedLayer`, and their names in a `Layer` today."""


def upgraded(version: int, content: Any) -> Any:
    """Convert the JSON content of a model file of an earlier version to that of the current version."""
    parts = dict(content["dict"])
    attributes = dict(parts["attributes"]["dict"])
    placement = attributes.pop("_placement")["Placement"]
    attributes.pop("local_scaling_")
    n_views = len(placement["views"]["Views"]["names"]["tuple"])
    layers = [entry["Layer"] for entry in attributes["layers_"]]
    fitted = [entry["FittedLayer"] for entry in placement["layers"]["tuple"]]
    for place, (layer, other) in enumerate(zip(layers, fitted, strict=True)):
        layer.pop("n_components", None)
        layer.update({ours: other[theirs] for theirs, ours in MOVED.items()})
        layer["role"] = "view" if place < n_views else "consensus"
    attributes |= {"_views": placement["views"], "_scalers": placement["scalers"]}
    parts["attributes"] = {"dict": [list(item) for item in attributes.items()]}
    return {"dict": [list(item) for item in parts.items()]}
