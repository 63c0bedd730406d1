"""The integer types that loops over sparse matrices are compiled for.

SciPy stores row starts and column indices in 32 or in 64 bits, depending on its version and on how a matrix was made, and every combination
would be compiled on its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def loop_indices(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the row starts and column indices of a CSR matrix as loops take them: 64 bits for the starts, 32 for the columns."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
