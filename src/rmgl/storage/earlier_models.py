"""Convert model files from earlier format versions to the current version before decoding.

Version 1 (rmgl 0.1) stored a second record of every layer, `FittedLayer`, in a `Placement` next to
the `Layer`. Up to version 2, reports held sentences instead of findings, `Views` had one list for
each property of the views (their matrices, missing rows and cells, encodings, relations), and
models had a list of the views' scalers. Now every view is one record with all its data.
"""

from __future__ import annotations

from typing import Any

MOVED = {"nodes": "nodes", "members": "views", "factors": "factors", "scaling": "scaling"}
"""Fields of a `FittedLayer`, with their current names in a `Layer`."""


def upgraded(version: int, content: Any) -> Any:
    """Convert the JSON content of an earlier model file to the current version."""
    parts = dict(content["dict"])
    attributes = dict(parts["attributes"]["dict"])
    if version < 2:
        attributes = with_one_record_of_layers(attributes)
    attributes = with_views(attributes)
    attributes["report_"] = {"Report": with_findings(attributes["report_"]["Report"])}
    parts["attributes"] = {"dict": [list(item) for item in attributes.items()]}
    return {"dict": [list(item) for item in parts.items()]}


def with_one_record_of_layers(attributes: dict[str, Any]) -> dict[str, Any]:
    """Convert version 1 attributes to version 2."""
    placement = attributes.pop("_placement")["Placement"]
    attributes.pop("local_scaling_")
    n_views = len(placement["views"]["Views"]["names"]["tuple"])
    layers = [entry["Layer"] for entry in attributes["layers_"]]
    fitted = [entry["FittedLayer"] for entry in placement["layers"]["tuple"]]
    for place, (layer, other) in enumerate(zip(layers, fitted, strict=True)):
        layer.pop("n_components", None)
        layer.update({ours: other[theirs] for theirs, ours in MOVED.items()})
        layer["role"] = "view" if place < n_views else "consensus"
    return attributes | {"_views": placement["views"], "_scalers": placement["scalers"]}


def with_views(attributes: dict[str, Any]) -> dict[str, Any]:
    """Convert version 2 attributes to version 3, with one record per view."""
    views = attributes["_views"]["Views"]
    names, scalers = views["names"]["tuple"], attributes.pop("_scalers")["tuple"]

    def of_each(field: str, missing: Any = None) -> list[Any]:
        return views.get(field, {"tuple": []})["tuple"] or [missing] * len(names)

    fields = ("matrices", "present", "columns", "gaps", "encodings", "relations")
    parts = zip(names, *map(of_each, fields), of_each("n_empty", 0), scalers, strict=True)
    records = {"tuple": [view_record(*part) for part in parts]}
    attributes["_views"] = {"Views": {"views": records, "index": views.get("index")}}
    return attributes


def view_record(
    name: Any,
    matrix: Any,
    present: Any,
    columns: Any,
    gaps: Any,
    encoding: Any,
    relation: Any,
    n_empty: Any,
    scaler: Any,
) -> dict[str, Any]:
    """Return the record of one view. In version 2, a relation says how to read square matrices."""
    view = {"name": name, "matrix": matrix, "entities": present}
    if relation is None:
        parts = {"columns": columns, "gaps": gaps, "encoding": encoding, "scaler": scaler}
        return {"FeatureView": view | parts | {"n_empty": n_empty}}
    said = relation["Relation"]
    if said["kind"] == "jaccard":
        return {"JaccardView": view | {"ones": said["rows"], "columns": columns}}
    kind, fields = "PrecomputedView", ["kind", "loops", "ceiling"]
    if said["kind"] == "network":
        kind, fields = "NetworkView", ["learn", "two_steps"]
    return {kind: view | {field: said[field] for field in fields if field in said}}


def with_findings(report: dict[str, Any]) -> dict[str, Any]:
    """Convert a version 2 report to version 3, with findings instead of sentences."""
    report = dict(report)
    report["weak_points"] = [
        finding("warning", sentence) for sentence in report.pop("warnings", [])
    ]
    if report.get("trust") is not None:
        trust = report["trust"]["Trust"]
        reasons = [finding(trust["word"], sentence) for sentence in trust["reasons"]]
        report["trust"] = {"Trust": {"word": trust["word"], "findings": reasons}}
    views = [entry["ViewReport"] for entry in report.get("views", [])]
    networks = ("network", "network, learned again")
    report["views"] = [
        {"ViewReport": view | {"is_network": view["scale"] in networks}} for view in views
    ]
    return report


def finding(severity: Any, sentence: Any) -> dict[str, Any]:
    """Convert a sentence to a finding."""
    words = {"dict": [["sentence", sentence]]}
    return {"Finding": {"kind": "sentence", "severity": severity, "words": words}}
