"""Compiled loops, called kernels. In all of them

    t_ij = u_i + u_j - z_ij          a pair is *active* where t_ij > 0

They release the GIL and use one thread each; `first` and `stop` let threads share the rows. They
assume finite numbers (`fastmath`) and valid indices: check arguments before the call.
`tests/kernels/test_kernels.py` compares each kernel with the same computation in NumPy. Kernels are
loaded on first use, because the compiler loads slowly.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmgl.kernels.pair_loops import (
        add_to_dense,
        fill_distances,
        laplacian_block,
        laplacian_product,
        list_above,
        list_distances,
        list_excess,
        list_inner,
        pair_above,
        pair_excess,
        pair_inner,
        pair_localize,
        pair_product,
        pattern_product,
        sum_rows,
    )
    from rmgl.kernels.search_loops import insert, missing_pairs, offer, positive_entries

__all__ = [
    "add_to_dense",
    "fill_distances",
    "insert",
    "laplacian_block",
    "laplacian_product",
    "list_above",
    "list_distances",
    "list_excess",
    "list_inner",
    "missing_pairs",
    "offer",
    "pair_above",
    "pair_excess",
    "pair_inner",
    "pair_localize",
    "pair_product",
    "pattern_product",
    "positive_entries",
    "sum_rows",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from rmgl.kernels import pair_loops, search_loops

        loops = {**vars(pair_loops), **vars(search_loops)}
        globals().update((loop, loops[loop]) for loop in __all__)
        return loops[name]
