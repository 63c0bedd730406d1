"""Scores on the embedded UCI digits beside the quick answers of scikit-learn. Prints a Markdown
table.

python benchmarks/uci_digits.py
"""

import warnings
from functools import partial

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.datasets.uci_digits import PAPER_PARAMETERS
from rmgl.embedding.eigenvectors import unit_rows
from rmgl.embedding.labels import cluster_rows
from rmgl.metrics import clustering_accuracy
from rmgl.views.views import Views

SEEDS = range(20)


def concatenated(views):
    """Views scaled to [0, 1] by column, divided by their total standard deviation, side by side."""
    scaled = Views.of(views).scaled("minmax").matrices
    return np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in scaled])


def rmgl(views, **parameters):
    model = RMGL(10, random_state=0, n_jobs=-1, **parameters).fit(views)
    rows = unit_rows(model.embedding_) if model.automatic else model.embedding_
    return [cluster_rows(rows, 10, random_state=seed) for seed in SEEDS]


def spectral(views):
    X = concatenated(views)
    return [
        SpectralClustering(
            10, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
        ).fit_predict(X)
        for seed in SEEDS
    ]


def kmeans(views):
    X = concatenated(views)
    return [KMeans(10, n_init=10, random_state=seed).fit_predict(X) for seed in SEEDS]


METHODS = {
    "RMGL, the paper's parameters": partial(rmgl, **PAPER_PARAMETERS),
    "RMGL, defaults (no labels used)": rmgl,
    "scikit-learn `SpectralClustering`, 10 nearest neighbors, views concatenated": spectral,
    "scikit-learn `KMeans`, views concatenated": kmeans,
}


def main():
    data = load_uci_digits()
    print("| method | NMI | accuracy |\n|---|---|---|")
    for name, method in METHODS.items():
        labels = method(data.views)
        nmi = [normalized_mutual_info_score(data.target, found) for found in labels]
        accuracy = [clustering_accuracy(data.target, found) for found in labels]
        print(
            f"| {name} | {np.mean(nmi):.3f} +/- {np.std(nmi):.3f} | {np.mean(accuracy):.3f} "
            f"+/- {np.std(accuracy):.3f} |"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()
