"""Warnings that point to the line of the caller, however deep inside the package they arise."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import sklearn

FOLDERS = tuple(f"{Path(file).parent}{os.sep}" for file in (Path(__file__).parent, Path(sklearn.__file__)))
"""The folders of this package, and of scikit-learn, whose methods call `fit`."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that is neither in this package nor in scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(FOLDERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
