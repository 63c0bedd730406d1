"""Cluster MuData and AnnData objects, and plot the result, in the style of scanpy.

    import rmgl.scverse

    rmgl.scverse.cluster(mdata, n_clusters=8, key_added="rmgl")
    rmgl.scverse.plot(mdata, color="rmgl")

Scanpy can read what `cluster` writes: use `sc.pl.embedding(adata, "X_rmgl", color="rmgl")`,
`sc.tl.umap(adata, neighbors_key="rmgl")`, or the key of one layer, such as "rmgl_rna".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.estimators.rmgl import RMGL
from rmgl.storage.scverse import from_anndata, from_mudata, to_anndata, to_mudata

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cluster", "from_anndata", "from_mudata", "plot", "to_anndata", "to_mudata"]


def cluster(
    data: Any,
    n_clusters: int | str = "auto",
    *,
    key_added: str = "rmgl",
    views: Sequence[str] | Mapping[str, str] | None = None,
    rep: str | Mapping[str, str] | None = None,
    layer: str | Mapping[str, str] | None = None,
    **parameters: Any,
) -> RMGL:
    """Cluster the observations of a MuData or AnnData object, and store the result in it.

    `cluster` stores the labels in `obs[key_added]`, the outlier scores in
    `obs[f"{key_added}_outlier_score"]`, the embedding in `obsm[f"X_{key_added}"]`, the layer of
    each view in `obsp[f"{key_added}_{view}"]`, and the common graph in
    `obsp[f"{key_added}_connectivities"]`. The parameters, the view weights, the verdict and the
    report are in `uns[key_added]`.

    Parameters
    ----------
    data : MuData or AnnData
        The modalities of a MuData object are views. Pass RNA as raw counts (RMGL scales
        them), and normalize the other modalities as usual.
    n_clusters : int or "auto"
        "auto" chooses the number from the data.
    key_added : str
        Prefix for all entry names.
    views : list of str, or dict of view name to str, optional
        For a MuData object, the modalities to use (by default, all). For an AnnData object, the
        parts to use as views: "X", or names in `obsm` or `layers`.
    rep : str, or dict by modality, optional
        For a MuData object, the name in `obsm` to use instead of `X`, such as "X_pca".
    layer : str, or dict by modality, optional
        For a MuData object, the name in `layers` to use instead of `X`.
    **parameters
        Parameters of `RMGL`, such as `random_state`.

    Returns
    -------
    RMGL
        The fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> import rmgl.scverse
    >>> from anndata import AnnData
    >>> adata = AnnData(np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]))
    >>> model = rmgl.scverse.cluster(adata, n_clusters=2, views=["X"], random_state=0)
    >>> adata.obs["rmgl"].tolist()
    ['0', '0', '0', '1', '1', '1']
    """
    if hasattr(data, "mod"):
        found = from_mudata(data, rep=rep, layer=layer)
        if views is not None:
            found = found.of_views([place_of(name, found.names) for name in views]).checked(0)
    else:
        if rep is not None or layer is not None:
            raise ValueError(
                "rep= and layer= are only for MuData objects: for an AnnData object, pass its "
                "parts in views="
            )
        if views is None:
            raise ValueError(
                "an AnnData object is one table: pass the parts to use as views, such as "
                "views=['X', 'X_pca'], or views={'rna': 'X', 'protein': 'protein_expression'}"
            )
        found = from_anndata(data, views)
    model = RMGL(n_clusters, **parameters).fit(found)
    to_mudata(model, data, key=key_added)  # both have the same attributes
    return model


def place_of(name: str, modalities: Sequence[str]) -> int:
    """Return the position of a modality."""
    if name not in modalities:
        raise ValueError(f"views= names {name!r}, but the modalities are {list(modalities)}")
    return list(modalities).index(name)


def plot(
    data: Any,
    *,
    key: str = "rmgl",
    color: str | None = None,
    ax: Axes | None = None,
    method: str = "neighbors",
) -> Axes:
    """Plot the common embedding that `cluster` wrote, with one color per label.

    Parameters
    ----------
    data : MuData or AnnData
    key : str
        The `key_added` passed to `cluster`.
    color : str, optional
        Name of a label column in `obs`. By default, points are colored by cluster.
    ax : matplotlib Axes, optional
    method : {"neighbors", "tsne", "pca", "last"}
        As in `rmgl.plots.plot_embedding`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> import rmgl.scverse
    >>> from anndata import AnnData
    >>> adata = AnnData(np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]))
    >>> model = rmgl.scverse.cluster(adata, n_clusters=2, views=["X"], random_state=0)
    >>> rmgl.scverse.plot(adata).get_title()
    'Common embedding: rmgl'
    """
    from rmgl.plots import plot_embedding

    if f"X_{key}" not in data.obsm:
        raise ValueError(
            f"obsm has no {f'X_{key}'!r}: call rmgl.scverse.cluster(data, key_added={key!r}) first"
        )
    column = key if color is None else color
    if column not in data.obs:
        raise ValueError(f"obs has no column {column!r}: it has {list(data.obs.columns)}")
    labels = np.asarray(data.obs[column].astype(str))
    if all(label.isdecimal() for label in np.unique(labels)):
        labels = labels.astype(np.intp)  # in numeric order, with the cluster colors
    drawn = plot_embedding(np.asarray(data.obsm[f"X_{key}"]), labels, ax=ax, method=method)
    drawn.set_title(f"{drawn.get_title()}: {column}")
    return drawn
