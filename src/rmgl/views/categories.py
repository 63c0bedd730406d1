"""Weights of a table's categories relative to its numbers.

Numbers have a scale, their range. Categories, Booleans and two-valued numbers have none. The weight
of such a column depends on how well the other columns support it (`rmgl.views.halves`). It has full
weight if its reliability is at least 0.2 times the mean reliability of the table's columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rmgl.matrix import Matrix, as_dense
from rmgl.views.column_groups import column_groups
from rmgl.views.encoding import Encoding
from rmgl.views.halves import Halves, parts_by, sample_of
from rmgl.views.scaling import Scaler, fit_mixed


def fit_table(name: str, X: Matrix, encoding: Encoding) -> Scaler:
    """Fit the named scaler to an encoded table, including the weights of its categories."""
    scaler = fit_mixed(name, X, encoding)
    Y = as_dense(scaler(X[sample_of(X.shape[0])]))
    gaps = np.isnan(Y)
    groups = column_groups(Y, encoding)
    table = Halves(np.where(gaps, 0.0, Y), groups, gaps if gaps.any() else None)
    low, high = np.nanmin(Y, axis=0), np.nanmax(Y, axis=0)
    of_two = (gaps | (low == Y) | (high == Y)).all(axis=0)
    tested = np.unique(table.columns[(encoding.unmeasured | of_two)[table.varying]])
    if table.n_columns < 2 or not tested.size:
        return scaler
    reliability = table.of_columns(tested)
    of_columns = np.ones(table.n_columns)
    of_columns[tested] = parts_by(reliability[tested], float(reliability.mean()))
    parts = np.ones(X.shape[1])
    parts[table.varying] = of_columns[table.columns]
    return scaler if parts.min() == 1 else replace(scaler, parts=parts)
