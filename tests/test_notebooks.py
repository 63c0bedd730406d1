"""Every notebook in `examples/notebooks` runs, and what its text says about the results holds."""

import json
import re
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from rmgl.metrics import clustering_accuracy
from tests.declared import missing_with, packages
from tests.test_documents import BUILDERS

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
PARTS = ("**The question.**", "**The answer.**", "**The caveats.**")
pytestmark = pytest.mark.extended


def trust(model):
    return model.report_.trust.word


def survival_differs(names):
    model, alone, found = names["model"], names["rna_alone"], names["found"]
    assert (model.n_clusters_, alone.n_clusters_) == (3, 2)
    assert clustering_accuracy(names["subtype"], model.labels_) > 0.95
    assert (trust(model), trust(alone), trust(names["nothing"])) == ("good", "good", "poor")
    differing = {row.column for row in found if row.q_value <= 0.05}
    assert differing == {"survival (months, died)", "stage"}
    assert names["within"].rows[0].p_value < 0.05


def both_modalities_are_needed(names):
    model, finer, types = names["model"], names["finer"], names["types"][names["kind"]]
    assert (model.n_clusters_, finer.n_clusters_) == (5, 6)
    assert (trust(model), trust(names["rna"]), model.number_.confidence) == ("good", "good", "low")
    least, most = model.number_.range
    assert most - least > 2
    assert [level.n_clusters for level in model.hierarchy_] == [5]
    assert model.view_weights_[1] > 0.9
    assert (
        clustering_accuracy(types, model.labels_) < 0.95 < clustering_accuracy(types, finer.labels_)
    )
    assert sorted(map(trust, names["parts"].values())) == ["good", *["poor"] * 4]
    assert model.associate(names["cells"][["batch"]])["batch"].p_value > 0.05


def links_help(names):
    model, wrong = names["model"], names["wrong"].groupby(names["linked"], observed=True).mean()
    assert (model.n_clusters_, model.number_.confidence) == (5, "low")
    assert (trust(model), trust(names["words_alone"])) == ("fair", "poor")
    assert model.number_.range == (4, 5)
    assert model.number_.silhouette[list(model.number_.candidates).index(5)] < 0.8
    warned = [warning for warning in model.report_.warnings if "disagrees with" in warning]
    assert len(warned) == 2
    assert wrong.is_monotonic_decreasing


SAID = {
    "documents_and_links": links_help,
    "multi_omics_survival": survival_differs,
    "single_cells": both_modalities_are_needed,
}


def cells_of(path, kind):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def test_what_is_said_is_checked_for_every_notebook():
    assert [path.stem for path in NOTEBOOKS] == sorted(SAID)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_notebook_runs_and_tells_the_truth(path, monkeypatch, tmp_path, capsys):
    """In the environment that builds the site, without Jupyter."""
    for package in packages("docs") - BUILDERS:
        pytest.importorskip(package)
    # pandas may use pyarrow, if it was there when pandas was imported
    for package in missing_with("docs", "tables"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    import matplotlib.pyplot as plt
    from mudata import set_options

    names = {"__name__": "__main__"}
    # others may run beside it, and others may come after it
    with threadpool_limits(1), set_options(pull_on_update=False):
        for text in cells_of(path, "code"):
            exec(compile(text, path.name, "exec"), names)
        SAID[path.stem](names)
    plt.close("all")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_short_and_without_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert 10 <= len(cells) <= 15
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes)
    assert sum("thumbnail" in cell["metadata"].get("tags", []) for cell in codes) == 1
    text = "\n".join(cells_of(path, "markdown"))
    assert [text.count(part) for part in PARTS] == [1, 1, 1]
    assert text.index(PARTS[0]) < text.index(PARTS[1]) < text.index(PARTS[2])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_in_the_gallery_and_the_list(path):
    header = (FOLDER.parent / "GALLERY_HEADER.txt").read_text(encoding="utf-8")
    title = re.match("# (.*)\n", cells_of(path, "markdown")[0])[1]
    for place in (f"   /built/notebooks/{path.stem}\n", f"{path.stem}.png\n", f">{title}<"):
        assert place in header
    assert f"(notebooks/{path.name})" in (FOLDER.parent / "README.md").read_text(encoding="utf-8")
