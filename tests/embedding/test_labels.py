"""Labels from the rows of an embedding: k-means, for many rows from a sample first."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from rmgl.embedding import labels as module
from rmgl.embedding.labels import cluster_rows


def rows_of(n, share=0.5):
    """Two clusters on a line, of which the second has a share of the rows, and the cluster of every
    row.
    """
    target = (np.arange(n) < share * n).astype(np.intp)
    return 5.0 * target[:, None] + np.random.default_rng(0).normal(size=(n, 1)), target


@pytest.mark.parametrize(
    ("n_rows", "seen"), [(50_000, [50_000]), (50_001, [50_000, 50_001, 50_001])]
)
def test_beyond_fifty_thousand_rows_a_sample_comes_first(n_rows, seen, monkeypatch):
    sizes, fit = [], KMeans.fit

    def counted(self, X, *args, **options):
        sizes.append(len(X))
        return fit(self, X, *args, **options)

    monkeypatch.setattr(KMeans, "fit", counted)
    rows, target = rows_of(n_rows)
    labels = cluster_rows(rows, 2, n_init=1, random_state=0)
    assert sizes == seen
    assert adjusted_rand_score(target, labels) > 0.9


def test_labels_from_a_sample_are_as_good_as_those_from_all_rows(monkeypatch):
    rows, _ = rows_of(3000, share=0.1)

    def spread(labels):
        return sum(
            np.square(rows[labels == k] - rows[labels == k].mean(axis=0)).sum() for k in range(2)
        )

    from_all = cluster_rows(rows, 2, n_init=5, random_state=0)
    monkeypatch.setattr(module, "SAMPLED_ROWS", 100)
    sampled = cluster_rows(rows, 2, n_init=5, random_state=0)
    assert spread(sampled) <= 1.001 * spread(from_all)
    np.testing.assert_array_equal(sampled, cluster_rows(rows, 2, n_init=5, random_state=0))
