"""Plots of a fitted model. Functions named `..._data` return the numbers, and functions named
`plot_...` draw them on an Axes and return it.

All of these functions take a fitted model. They do not show or save anything. Matplotlib (the
`plot` extra) is imported when a plot is drawn. The colors are colorblind-friendly, and clusters
are numbered, so plots can also be read in grayscale. With many entities, plots show a
sample or counts, and say so.
"""

from rmgl.plots.coclustering import Coclustering, coclustering_data, plot_coclustering
from rmgl.plots.drawing import COLORS
from rmgl.plots.embedding import draw_embedding, embedding_data, plot_embedding
from rmgl.plots.evidence import draw_number_of_clusters, plot_convergence, plot_number_of_clusters
from rmgl.plots.flows import Flows, flows_data, plot_flows
from rmgl.plots.heatmap import heatmap_data, plot_heatmap
from rmgl.plots.heatmap_drawing import HeatMap
from rmgl.plots.layers import draw_layers, layer_data, plot_layer
from rmgl.plots.resolutions import (
    Resolutions,
    draw_resolutions,
    plot_resolutions,
    resolutions_data,
)
from rmgl.plots.silhouettes import Silhouettes, plot_silhouettes, silhouettes_data
from rmgl.plots.survival import draw_survival, plot_survival, survival_data

__all__ = [
    "COLORS",
    "Coclustering",
    "Flows",
    "HeatMap",
    "Resolutions",
    "Silhouettes",
    "coclustering_data",
    "draw_embedding",
    "draw_layers",
    "draw_number_of_clusters",
    "draw_resolutions",
    "draw_survival",
    "embedding_data",
    "flows_data",
    "heatmap_data",
    "layer_data",
    "plot_coclustering",
    "plot_convergence",
    "plot_embedding",
    "plot_flows",
    "plot_heatmap",
    "plot_layer",
    "plot_number_of_clusters",
    "plot_resolutions",
    "plot_silhouettes",
    "plot_survival",
    "resolutions_data",
    "silhouettes_data",
    "survival_data",
]
