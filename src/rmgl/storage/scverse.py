"""Read views from MuData and AnnData objects, and write the result of a fit into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmgl.embedding.common_graph import weighted_sum
from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Floats, Indices, padded
from rmgl.results.report import Report
from rmgl.views.check_view import NUMBERS, check_view
from rmgl.views.features import FeatureView
from rmgl.views.views import Views

SHARED_VARIABLES = 1
"""Value of `MuData.axis` for modalities that share variables instead of observations."""


def from_mudata(
    mdata: Any,
    *,
    rep: str | Mapping[str, str] | None = None,
    layer: str | Mapping[str, str] | None = None,
) -> Views:
    """Convert the modalities of a MuData object to views for `RMGL.fit`.

    Observations that are missing from a modality are missing from its view.

    Parameters
    ----------
    mdata : MuData
        It is not modified.
    rep : str, or dict by modality, optional
        Name in `obsm` to use instead of `X`, such as "X_pca". Modalities that are not in the dict
        use `X`.
    layer : str, or dict by modality, optional
        Name in `layers` to use instead of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from anndata import AnnData
    >>> from mudata import MuData
    >>> from rmgl import from_mudata
    >>> rna = AnnData(np.eye(4), obs=pd.DataFrame(index=["a", "b", "c", "d"]))
    >>> protein = AnnData(np.ones((3, 2)), obs=pd.DataFrame(index=["d", "a", "b"]))
    >>> views = from_mudata(MuData({"rna": rna, "protein": protein}))
    >>> views.names, views.n_missing
    (('rna', 'protein'), (0, 1))
    """
    if not hasattr(mdata, "mod"):
        raise TypeError(
            f"from_mudata takes a MuData, but this is a {type(mdata).__name__}: use "
            "rmgl.from_anndata for an AnnData"
        )
    if getattr(mdata, "axis", 0) == SHARED_VARIABLES:
        raise ValueError(
            "the modalities of this MuData share variables (axis=1), but views share "
            "observations (axis=0): build it with axis=0"
        )
    modalities = dict(mdata.mod.items())
    if not modalities:
        raise ValueError(
            "this MuData has no modalities, but at least one is required: add one to its `mod`"
        )
    sources = choose_sources(list(modalities), rep, layer)
    of_modalities = []
    for name, adata in modalities.items():
        X = stored(adata, *sources[name], f"modality {name!r}")
        places = positions(mdata.obs_names, adata.obs_names, name)
        view = modality_view(name, X, places, mdata.n_obs)
        of_modalities.append(replace(view, columns=column_names(adata, sources[name])))
    views = Views(tuple(of_modalities), np.asarray(mdata.obs_names, dtype=object))
    views.check_entities(least=0)
    return views


def from_anndata(adata: Any, views: Sequence[str] | Mapping[str, str]) -> Views:
    """Convert parts of an AnnData object to views for `RMGL.fit`.

    Parameters
    ----------
    adata : AnnData
        It is not modified.
    views : list of str, or dict of view name to str
        The parts to use: "X", or names in `obsm` or `layers`.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from rmgl import from_anndata
    >>> adata = AnnData(np.eye(4), obsm={"protein": np.ones((4, 2))})
    >>> from_anndata(adata, {"rna": "X", "protein": "protein"}).names
    ('rna', 'protein')
    """
    if hasattr(adata, "mod"):
        raise TypeError("from_anndata takes an AnnData, but this is a MuData: use rmgl.from_mudata")
    if isinstance(views, str):
        raise TypeError(
            f"views={views!r} is a single name: pass a list of names, or a dict that maps view "
            "names to names"
        )
    if not isinstance(views, Mapping | Sequence):
        raise TypeError(
            f"views={views!r} is not a list of names or a dict of view name to name: name "
            "parts of the AnnData, such as ['X']"
        )
    named = list(views.items()) if isinstance(views, Mapping) else [(name, name) for name in views]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise ValueError(
            f"view names must differ, but they are {names}: name each part once, or pass a "
            "dict that maps view names to names"
        )
    sources = {name: find_source(adata, key) for name, key in named}
    parts = {name: stored(adata, *source, "this AnnData") for name, source in sources.items()}
    columns = [column_names(adata, source) for source in sources.values()]
    named_views = Views.of(parts, least=0).with_fields("columns", columns)
    return replace(named_views, index=np.asarray(adata.obs_names, dtype=object))


def to_mudata(model: Any, mdata: Any, *, key: str = "rmgl") -> None:
    """Store the result of a fit in a MuData.

    `obs[key]` gets the labels, `obs[f"{key}_outlier_score"]` the outlier scores, `obsm[f"X_{key}"]`
    the embedding, `obsp[f"{key}_{layer}"]` every layer, `obsp[f"{key}_connectivities"]` the common
    graph, `obsp[f"{key}_distances"]` the distances in the embedding along its edges, and `uns[key]`
    the parameters, the view weights, the verdict and the report. Scanpy recognizes the common graph
    and every layer as neighbor graphs: `sc.tl.umap(adata, neighbors_key="rmgl")`, or "rmgl_rna" for
    the "rna" layer.

    Parameters
    ----------
    model : RMGL
        A fitted model.
    mdata : MuData
        The MuData that was clustered, with its observations in the same order.
    key : str
        Prefix of the names of all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from mudata import MuData
    >>> from rmgl import RMGL, from_mudata, to_mudata
    >>> mdata = MuData({"rna": AnnData(np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]))})
    >>> to_mudata(RMGL(2, random_state=0).fit(from_mudata(mdata)), mdata)
    >>> mdata.obs["rmgl"].value_counts().tolist()
    [3, 3]
    """
    check_is_fitted(model)
    _write_into(model.fitted_, model.report_, model.get_params(), mdata, key)


def to_anndata(model: Any, adata: Any, *, key: str = "rmgl") -> None:
    """Store the result of a fit in the AnnData that was clustered, as `to_mudata` does.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from rmgl import RMGL, from_anndata, to_anndata
    >>> adata = AnnData(np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]))
    >>> to_anndata(RMGL(2, random_state=0).fit(from_anndata(adata, ["X"])), adata)
    >>> adata.obsm["X_rmgl"].shape
    (6, 2)
    """
    check_is_fitted(model)
    _write_into(model.fitted_, model.report_, model.get_params(), adata, key)


def choose_sources(names: Sequence[str], rep: Any, layer: Any) -> dict[str, tuple[str, str | None]]:
    """Return, for every modality, the attribute that holds its data and the name in it."""
    reps, layers = by_modality(rep, names, "rep"), by_modality(layer, names, "layer")
    both = [name for name in names if name in reps and name in layers]
    if both:
        raise ValueError(
            f"rep={reps[both[0]]!r} and layer={layers[both[0]]!r} are both given for "
            f"modality {both[0]!r}: use one of the two"
        )
    sources: dict[str, tuple[str, str | None]] = dict.fromkeys(names, ("X", None))
    sources |= {name: ("obsm", key) for name, key in reps.items()}
    return sources | {name: ("layers", key) for name, key in layers.items()}


def by_modality(value: Any, names: Sequence[str], parameter: str) -> dict[str, str]:
    """Return the value for each modality, from one value for all or a dict with some modalities."""
    if value is None:
        return {}
    if isinstance(value, str):
        return dict.fromkeys(names, value)
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{parameter} is a {type(value).__name__}, not a str or dict: pass one name, or "
            "a dict by modality"
        )
    unknown = [name for name in value if name not in names]
    if unknown:
        raise ValueError(
            f"{parameter} names unknown modalities {unknown}: the modalities are {list(names)}"
        )
    return {name: key for name, key in value.items() if key is not None}


def find_source(adata: Any, key: str) -> tuple[str, str | None]:
    """Return the attribute of an AnnData that contains this name, and the name."""
    if key == "X":
        return "X", None
    places = [place for place in ("obsm", "layers") if key in getattr(adata, place)]
    if len(places) == 1:
        return places[0], key
    if places:
        raise ValueError(
            f"{key!r} appears in both obsm and layers of this AnnData, but must be in only one "
            "of them: rename one"
        )
    layers = [name for name in adata.layers if name is not None]  # from anndata 0.13 on, None is X
    known = ["X", *adata.obsm, *layers]
    raise ValueError(f"this AnnData object has no {key!r}: use one of {known}")


def stored(adata: Any, place: str, key: str | None, owner: str) -> Any:
    """Return `X`, or the entry of `obsm` or `layers` with this name, read into memory."""
    if key is None:
        X = adata.X
        if X is None:
            raise ValueError(f"{owner} has no X: name an entry of its obsm or layers instead")
    else:
        entries = getattr(adata, place)
        if key not in entries:
            raise ValueError(
                f"{owner} has no {key!r} in {place}: it has {list(entries.keys())} there"
            )
        X = entries[key]
    return X.to_memory() if hasattr(X, "to_memory") else X


def column_names(adata: Any, source: tuple[str, str | None]) -> tuple[str, ...] | None:
    """Return the names of the variables, if they are the columns of the source."""
    return None if source[0] == "obsm" else tuple(map(str, adata.var_names))


def positions(all_names: Any, own_names: Any, name: str) -> Indices:
    """Return the positions of the observations of a modality among all observations."""
    for names, owner in ((all_names, "the MuData"), (own_names, f"modality {name!r}")):
        repeated = names[names.duplicated()]
        if len(repeated):
            raise ValueError(
                f"{owner} has the observation {repeated[0]!r} more than once: call "
                "obs_names_make_unique()"
            )
    places: Indices = all_names.get_indexer(own_names)
    if (places < 0).any():
        raise ValueError(
            f"observation {own_names[places < 0][0]!r} of modality {name!r} is not in the "
            "MuData: call update() on it"
        )
    return places


def modality_view(name: str, X: Any, places: Indices, n_rows: int) -> FeatureView:
    """Return the view of a modality, with a row for every observation."""
    checked = check_view(name, X, least=0, encoding=NUMBERS)
    if checked.entities is None and np.array_equal(places, np.arange(n_rows)):
        return checked
    seen = np.arange(places.size) if checked.entities is None else checked.entities
    seen = seen[np.argsort(places[seen])]
    rows = places[seen]
    gaps = None
    if checked.gaps is not None:
        gaps = np.zeros((n_rows, checked.gaps.shape[1]), dtype=bool)
        gaps[rows] = checked.gaps[seen]
    return FeatureView(
        name,
        padded(checked.matrix[seen], rows, n_rows),
        None if rows.size == n_rows else rows,
        gaps=gaps,
    )


def _write_into(
    model: FittedModel, report: Report, parameters: dict[str, Any], data: Any, key: str
) -> None:
    """Store the result of a fit in a MuData or AnnData, which have the same attributes."""
    import pandas as pd

    check_observations(model, data.obs_names)
    names = [str(label) for label in np.unique(model.labels)]
    data.obs[key] = pd.Categorical(model.labels.astype(str), categories=names)
    data.obs[f"{key}_outlier_score"] = model.outlier_score.copy()
    data.obsm[f"X_{key}"] = model.embedding.copy()
    common = sparse.csr_matrix(
        weighted_sum([x.adjacency for x in model.layers], model.beta.tolist())
    )
    data.obsp[f"{key}_connectivities"] = common / common.max()
    data.obsp[f"{key}_distances"] = lengths_of(common, model.embedding)
    for layer in model.layers:
        name = f"{key}_{without_slash(layer.name)}"
        data.obsp[name] = sparse.csr_matrix(layer.adjacency, copy=True)
        params = {"n_neighbors": model.parameters.n_neighbors}
        data.uns[name] = as_neighbors(key, params, name, f"{name}_distances")
    about = describe(model, report, parameters)
    graphs = (f"{key}_connectivities", f"{key}_distances")
    data.uns[key] = {**about, **as_neighbors(key, about["params"], *graphs)}


def lengths_of(graph: sparse.csr_matrix, embedding: Floats) -> sparse.csr_matrix:
    """Return the distances in the embedding along the edges of a graph."""
    edges = graph.tocoo()
    lengths = np.linalg.norm(embedding[edges.row] - embedding[edges.col], axis=1)
    return sparse.csr_matrix((lengths, (edges.row, edges.col)), shape=graph.shape)


def as_neighbors(
    key: str, params: dict[str, Any], connectivities: str, distances: str
) -> dict[str, Any]:
    """Return the entries that scanpy uses to find graphs in `obsp`, with their parameters.

    Scanpy uses `metric` as the metric of `X_{key}`. Layers have no distances.
    """
    of_views = {"metric_of_views": params["metric"]} if "metric" in params else {}
    read = {"method": "rmgl", "use_rep": f"X_{key}", "metric": "euclidean"}
    return {
        "connectivities_key": connectivities,
        "distances_key": distances,
        "params": {**params, **of_views, **read},
    }


def check_observations(model: FittedModel, obs_names: Any) -> None:
    """Raise a ValueError unless the rows of the model are the observations, in the same order."""
    if len(model.labels) != len(obs_names):
        raise ValueError(
            f"the model was fitted on {len(model.labels)} rows, but there are "
            f"{len(obs_names)} observations; fit a model on these observations"
        )
    if model.index is None:
        return
    ours, theirs = np.asarray(model.index).astype(str), np.asarray(obs_names).astype(str)
    differs = np.flatnonzero(ours != theirs)
    if differs.size:
        row = differs[0]
        raise ValueError(
            f"row {row} of the model is {str(ours[row])!r}, but observation {row} is "
            f"{str(theirs[row])!r}: "
            "fit the model on these observations, or put them in the order of model.index_"
        )


def describe(model: FittedModel, report: Report, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters, weights and report, in types that .h5ad and .h5mu files can store."""
    layers = [without_slash(layer.name) for layer in model.layers]
    views = map(without_slash, model.view_names)
    return {
        "params": writable(parameters),
        "n_clusters": int(model.n_clusters),
        "view_weights": dict(zip(views, model.view_weights.tolist(), strict=True)),
        "alpha": dict(zip(layers, model.alpha.tolist(), strict=True)),
        "beta": dict(zip(layers, model.beta.tolist(), strict=True)),
        "verdict": "unknown" if report.trust is None else report.trust.word,
        "report": str(report),
    }


def without_slash(name: str) -> str:
    """Return a name without slashes, which would create groups in a file."""
    return name.replace("/", "_")


def writable(value: Any) -> Any:
    """Convert a value to text, numbers, arrays and dicts without None. Others become their repr."""
    if isinstance(value, Mapping):
        return {
            without_slash(str(name)): writable(entry)
            for name, entry in value.items()
            if entry is not None
        }
    if isinstance(value, str | bool | int | float | np.number):
        return value
    if isinstance(value, list | tuple | np.ndarray) and all(
        isinstance(entry, str | int | float | np.number) for entry in value
    ):
        array = np.asarray(value)
        return array if array.dtype.kind in "biuf" else array.astype(str)
    return repr(value)
