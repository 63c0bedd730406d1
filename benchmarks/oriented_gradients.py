"""Histograms of oriented gradients of many small images at once."""

import numpy as np
from numpy.typing import NDArray

ORIENTATIONS = 9
CELL = 7
BLOCK_OF_IMAGES = 2000


def oriented_gradients(images: NDArray) -> NDArray[np.float64]:
    """Nine unsigned orientations in cells of 7 x 7 pixels, in overlapping blocks of 2 x 2 cells,
    each scaled to length one.

    For images of 28 x 28 pixels: 4 x 4 cells, 3 x 3 blocks, and 324 numbers per image.
    """
    parts = [
        images[first : first + BLOCK_OF_IMAGES] for first in range(0, len(images), BLOCK_OF_IMAGES)
    ]
    return np.concatenate([_blocks(_cells(part)) for part in parts])


def _cells(images: NDArray) -> NDArray[np.float64]:
    """Gradient magnitude by cell and orientation, split linearly between the two nearest
    orientations.
    """
    down, right = np.gradient(images, axis=(1, 2))
    magnitude = np.hypot(down, right)
    place = np.mod(np.arctan2(down, right), np.pi) / np.pi * ORIENTATIONS
    lower = np.floor(place)
    n, height, width = images.shape
    rows, columns = height // CELL, width // CELL
    cell = (np.arange(height) // CELL)[:, None] * columns + np.arange(width) // CELL
    image_cell = np.arange(n)[:, None, None] * (rows * columns) + cell
    bins = np.zeros(n * rows * columns * ORIENTATIONS)
    for orientation, share in ((lower, lower + 1 - place), (lower + 1, place - lower)):
        index = image_cell * ORIENTATIONS + np.mod(orientation, ORIENTATIONS).astype(np.intp)
        bins += np.bincount(index.ravel(), (magnitude * share).ravel(), minlength=bins.size)
    return bins.reshape(n, rows, columns, ORIENTATIONS)


def _blocks(cells: NDArray) -> NDArray[np.float64]:
    corners = [
        cells[:, i : cells.shape[1] - 1 + i, j : cells.shape[2] - 1 + j]
        for i in (0, 1)
        for j in (0, 1)
    ]
    blocks = np.concatenate(corners, axis=-1)
    blocks /= np.linalg.norm(blocks, axis=-1, keepdims=True) + 1e-5
    return blocks.reshape(len(blocks), -1)
