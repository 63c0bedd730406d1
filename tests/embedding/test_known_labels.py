"""k-means that starts from known labels and keeps them."""

import numpy as np
from scipy.spatial.distance import cdist

from rmgl.embedding.labels import label_with_known


def test_labels_are_those_of_the_nearest_centers_in_the_end():
    """Points on a line, of which two near one end are known: the border between the classes moves
    from there to the middle.
    """
    rows = np.arange(31.0)[:, None]
    known = np.full(31, -1)
    known[0], known[2] = 0, 1
    labels = label_with_known(rows, np.zeros(31, dtype=np.intp), known, 2)
    centers = np.array([rows[labels == k].mean(axis=0) for k in range(2)])
    nearest = cdist(rows, centers).argmin(axis=1)
    np.testing.assert_array_equal(labels, np.where(known >= 0, known, nearest))
    assert 10 < np.count_nonzero(labels == 0) < 20  # from the known points alone it would be two


def test_rows_aside_get_labels_and_have_no_part_in_the_centers():
    """With the last point in its center, the third one would be nearer to the other class."""
    rows = np.array([0.0, 1.0, 9.0, 10.0, 100.0])[:, None]
    known, aside = np.array([0, -1, -1, 1, -1]), np.arange(5) == 4
    found = np.array([0, 1, 1, 1, 1])
    np.testing.assert_array_equal(label_with_known(rows, found, known, 2, aside), [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(label_with_known(rows, found, known, 2), [0, 0, 0, 1, 1])
