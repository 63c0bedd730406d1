"""Compiled loops, called kernels. In all of them

    t_ij = u_i + u_j - z_ij          a pair is *active* where t_ij > 0

They release the GIL and use one thread each; `first` and `stop` let threads share the rows. They assume finite numbers (`fastmath`)
and valid indices: check arguments before the call. `tests/test_kernels.py` compares each kernel with the same computation in NumPy.
"""

from rmgl.kernels.all_pairs import (
    count_above,
    fill_distances,
    fill_symmetric,
    pair_active,
    pair_excess,
    pair_inner,
    pair_localize,
    pair_product,
    repair_distances,
)
from rmgl.kernels.graph import add_to_dense, laplacian_recurrence, pattern_product, sum_rows
from rmgl.kernels.pair_list import distances_to, list_above, list_count, list_distances, list_excess, list_inner, list_localize
from rmgl.kernels.search import count_positive, drop_beyond, missing_pairs, offer, offer_tiles, positive_entries, scan_tiles

__all__ = [
    "add_to_dense",
    "count_above",
    "count_positive",
    "distances_to",
    "drop_beyond",
    "fill_distances",
    "fill_symmetric",
    "laplacian_recurrence",
    "list_above",
    "list_count",
    "list_distances",
    "list_excess",
    "list_inner",
    "list_localize",
    "missing_pairs",
    "offer",
    "offer_tiles",
    "pair_active",
    "pair_excess",
    "pair_inner",
    "pair_localize",
    "pair_product",
    "pattern_product",
    "positive_entries",
    "repair_distances",
    "scan_tiles",
    "sum_rows",
]
