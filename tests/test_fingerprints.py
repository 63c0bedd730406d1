"""Results on the bundled digits do not change unnoticed.

`scripts/fingerprints.py` compares bits, on one machine. Here numbers that all machines share are
compared with `data/fingerprints.json`, which `python -m tests.test_fingerprints` writes anew when a
change of results is wanted; the commit says why.
"""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from rmgl import RMGL

DATA = Path(__file__).parent / "data" / "fingerprints.json"
CASES = {
    name: (model, views, options)
    for name, model, views, options in runpy.run_path(
        str(Path(__file__).parents[1] / "scripts" / "fingerprints.py")
    )["embedded_cases"]()
}


def described(model, views):
    """Labels, and numbers that follow from everything a fit returns."""
    new = {name: X[::9] + 0.01 for name, X in views.items()}
    return {
        "labels": "".join(chr(ord("a") + label) for label in model.labels_),
        "eigenvalues": model.eigenvalues_.tolist(),
        "view_weights": model.view_weights_.tolist(),
        "alpha": model.alpha_.tolist(),
        "objectives": [layer.objective for layer in model.layers_],
        "edges_per_node": [layer.n_edges / layer.n_nodes for layer in model.layers_],
        "outlier_score": float(model.outlier_score_.sum()),
        "shares_of_new_rows": np.square(model.predict_proba(new)).sum(axis=1).tolist(),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_results_have_not_changed(name, tmp_path):
    model, views, options = CASES[name]
    model.fit(views, **options)
    found, expected = described(model, views), json.loads(DATA.read_text())[name]
    assert found.keys() == expected.keys()
    assert found["labels"] == expected["labels"]
    for key in found.keys() - {"labels"}:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-4, atol=1e-6, err_msg=key)
    model.save(tmp_path / "model.rmgl")
    assert described(RMGL.load(tmp_path / "model.rmgl"), views) == found  # to the last bit


if __name__ == "__main__":
    DATA.write_text(
        json.dumps(
            {name: described(m.fit(v, **o), v) for name, (m, v, o) in CASES.items()}, indent=1
        )
        + "\n"
    )
