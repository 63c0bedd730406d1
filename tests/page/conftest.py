"""One small model with names that try to break out of the page."""

import numpy as np
import pytest

from rmgl import RMGL

HOSTILE = '<script>window.hacked = true</script>"\'><img src=x onerror="window.hacked = true">'
LONG = "x" * 10_000


@pytest.fixture(scope="session")
def digits_shown(digits):
    """Every eighth digit in three views; the number of clusters is chosen."""
    views = {
        HOSTILE: digits.views["pix"][::8],
        LONG: digits.views["fou"][::8],
        "mor": digits.views["mor"][::8],
    }
    return RMGL("auto", random_state=0).fit(views), views, digits.target[::8]


@pytest.fixture(scope="session")
def associations(digits_shown):
    """Columns that had no part in the fit, one with a hostile name and hostile values."""
    model, _, target = digits_shown
    rng = np.random.default_rng(0)
    table = {
        HOSTILE: np.where(target % 2, HOSTILE, "even"),
        LONG: np.where(target > 4, LONG, "small"),
        "noise": rng.normal(size=target.size),
        "constant": np.ones(target.size),
        "months": rng.exponential(30 / (1 + model.labels_)),
        "died": rng.random(target.size) < 0.7,
    }
    return model.associate(table, time="months", event="died")


@pytest.fixture(scope="session")
def given(digits_shown, associations):
    """What is given for the page: ids, feature names and columns, some of them hostile."""
    _, views, target = digits_shown
    ids = [f"digit-{row}" for row in range(len(target))]
    ids[7], ids[8], ids[9] = HOSTILE, LONG, "=1+1"
    names = {
        HOSTILE: [HOSTILE, *(f"pixel {c}" for c in range(1, 240))],
        "mor": [LONG, *(f"shape {c}" for c in range(1, 6))],
    }
    columns = {HOSTILE: np.where(target % 2, HOSTILE, "even"), "value": views["mor"][:, 0]}
    return {
        "ids": ids,
        "feature_names": names,
        "columns": columns,
        "views": views,
        "associations": associations,
    }


@pytest.fixture(scope="session")
def page(digits_shown, given, tmp_path_factory):
    """The page of the model."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    digits_shown[0].to_html(path, **given)
    return path
