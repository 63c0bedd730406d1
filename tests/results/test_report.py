"""The report of a fit: each warning where its condition holds and nowhere else, and all that the
text says.
"""

import json
import re

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.embedding.eigenvectors import smallest_eigenvectors
from rmgl.layer import Layer
from rmgl.results.clusters import Refits
from rmgl.results.evidence import with_shares
from rmgl.results.findings import Finding, sentences
from rmgl.results.own_neighbors import Share
from rmgl.results.report import Report, ViewReport, eigengap
from rmgl.results.trust import Trust
from rmgl.results.weak_points import unconnected, unconnected_rows, weak_points
from rmgl.views.views import Views
from tests.conftest import planted_views


def view(name="rna", **changes):
    fields = {
        "scale": "root",
        "scale_reason": "no negative entries",
        "alpha": 2.0,
        "beta": 0.5,
        "edges_per_node": 10.0,
    }
    return ViewReport(
        **{
            "name": name,
            **fields,
            "weight": 0.5,
            "roughness": 0.1,
            "n_missing": 0,
            "n_empty": 0,
            **changes,
        }
    )


def report(*views, **changes):
    fields = {
        "n_rows": 100,
        "n_clusters": 4,
        "n_clusters_reason": "as requested",
        "automatic": True,
        "n_neighbors": 10,
        "consensus": True,
    }
    evidence = {
        "eigengap": 0.5,
        "within": 0.9,
        "exact": True,
        "kkt_residual": 1e-9,
        "converged": True,
    }
    return Report(
        **{**fields, **evidence, "views": list(views) or [view("rna"), view("protein")], **changes}
    )


def said(sentence, severity="warning"):
    """A finding as in reports of earlier versions."""
    return Finding("sentence", severity, words={"sentence": sentence})


def above(number):
    return float(np.nextafter(number, np.inf))


def test_good_evidence_gives_no_warning():
    assert weak_points(report(), smallest=20) == []


NOISY = (
    "view 'b' disagrees with the others .* it may be noise, or it may describe different clusters"
)
ALONE = (
    "view 'b' alone does not show these clusters: 30% of the nearest neighbors in this view are in "
    "the same cluster, compared with the 30% expected by chance"
)
A_PART = (
    r"view 'b' disagrees .* in part \(80% of the nearest .* 30% expected by chance\), but noise can "
    r"do that, too"
)
EDGES = "view 'b' has .* edges per node instead of 10, because no alpha gives that many"
SMALL = "the smallest cluster has"
ROUNDS = "the alternating optimization did not converge"
DOUBTS = {"rna": "it is exact only among its approximate candidates"}
INEXACT = (
    r"layers are not known to be exact \(rna: it is exact only among its approximate candidates\)"
)

CASES = {
    "as rough as allowed": (report(view("a"), view("b", roughness=0.65)), 20, []),
    "rougher": (report(view("a"), view("b", roughness=above(0.65))), 20, [NOISY]),
    "one view of two agrees": (report(view("a", roughness=0.35), view("b", roughness=0.6)), 20, []),
    "rougher than its own neighbors": (
        report(view("a"), view("b", roughness=0.9, inside=Share(0.8, 0.3, 0.02))),
        20,
        [A_PART],
    ),
    "noise by its own neighbors": (
        report(view("a"), view("b", roughness=0.9, inside=Share(0.3, 0.3, 0.02))),
        20,
        [ALONE, NOISY],
    ),
    "alone without the clusters": (
        report(view("a"), view("b", inside=Share(0.3, 0.3, 0.02))),
        20,
        [ALONE],
    ),
    "alone with the clusters": (report(view("a"), view("b", inside=Share(0.4, 0.3, 0.02))), 20, []),
    "all noise": (report(view("b", roughness=0.9)), 20, [NOISY]),
    "roughness not measured": (
        report(view("a", roughness=None), view("b", roughness=None)),
        20,
        [],
    ),
    "a few edges less": (report(view("a"), view("b", edges_per_node=7.5)), 20, []),
    "many edges less": (report(view("a"), view("b", edges_per_node=7.4)), 20, [EDGES]),
    "a few edges more": (report(view("a"), view("b", edges_per_node=12.5)), 20, []),
    "many edges more": (report(view("a"), view("b", edges_per_node=12.6)), 20, [EDGES]),
    "edges that were given": (
        report(view("a"), view("b", edges_per_node=50.0), automatic=False),
        20,
        [],
    ),
    "few rows": (report(view("a"), view("b", edges_per_node=5.0), n_rows=30), 20, []),
    "just enough rows": (report(view("a"), view("b", edges_per_node=5.0), n_rows=31), 20, [EDGES]),
    "more than three twentieths of the mean": (report(), 4, []),
    "less than three twentieths": (report(), 3, [SMALL]),
    "three of few rows": (report(n_rows=20, n_neighbors=10), 3, []),
    "two of few rows": (report(n_rows=20, n_neighbors=10), 2, [SMALL]),
    "not converged": (report(converged=False), 20, [ROUNDS]),
    "not exact": (report(exact=False, doubts=DOUBTS), 20, [INEXACT]),
    "everything": (
        report(
            view("b", roughness=0.9, edges_per_node=1.0),
            eigengap=0.0,
            within=0.1,
            converged=False,
            exact=False,
            doubts=DOUBTS,
        ),
        1,
        [NOISY, EDGES, ROUNDS, INEXACT, SMALL],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_warning_has_its_condition(name):
    made, smallest, expected = CASES[name]
    found = sentences(weak_points(made, smallest))
    assert len(found) == len(expected)
    for sentence, pattern in zip(found, expected, strict=True):
        assert re.search(pattern, sentence)


def test_warnings_carry_their_numbers():
    made = report(
        view("x", roughness=0.812, weight=0.0345, edges_per_node=3.14), eigengap=0.012, within=0.456
    )
    text = "\n".join(sentences(weak_points(made, smallest=2)))
    for part in (
        "'x'",
        "roughness 0.81",
        "3.5%",
        "3.1 edges per node instead of 10",
        "2 members",
    ):
        assert part in text


# The text


def test_the_text_names_rows_views_clusters_and_reasons():
    text = str(
        report(
            view("rna", n_missing=7, n_empty=3),
            view("protein", scale="minmax", scale_reason="negative entries"),
        )
    )
    assert text.startswith("100 entities, 2 views, 4 clusters, as requested.\n")
    assert (
        "Scale: rna: root (no negative entries). 7 entities are missing from this view. 3 "
        "rows of zeros are treated as missing."
    ) in text
    assert "Scale: protein: minmax (negative entries).\n" in text
    assert text.count("missing") == 2


def test_the_text_has_one_line_of_numbers_for_every_view():
    text = str(
        report(
            view(
                "rna", alpha=1.25, beta=0.375, edges_per_node=9.96, weight=0.6254, roughness=0.0312
            ),
            view("p", roughness=None),
        )
    )
    lines = text.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("view "))
    assert lines[head].split() == [
        "view",
        "alpha",
        "beta",
        "edges/node",
        "weight",
        "roughness",
        "inside",
        "chance",
    ]
    assert lines[head + 1].split() == ["rna", "1.25", "0.375", "10.0", "0.625", "0.031"]
    assert lines[head + 2].split() == ["p", "2", "0.5", "10.0", "0.500"]


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("consensus", [True, False])
@pytest.mark.parametrize("n_views", [1, 2])
def test_the_text_says_how_parameters_came_about(automatic, consensus, n_views):
    text = str(
        report(*[view(f"v{m}") for m in range(n_views)], automatic=automatic, consensus=consensus)
    )
    assert ("alpha: chosen to give an average of 10 edges per node" in text) == automatic
    assert ("alpha, beta: set by you, or heuristic defaults" in text) == (not automatic)
    assert ("A consensus layer is learned from the concatenated views." in text) == (
        automatic and consensus
    )
    assert ("No consensus" in text) == (automatic and not consensus and n_views > 1)


def test_the_text_says_who_took_no_part():
    text = str(report(n_fragments=7, n_placed=20))
    assert "7 entities belong to fragments" in text
    assert (
        "20 entities are missing from a view. Each view separates only some of the clusters" in text
    )
    assert "learned without them, from the 80 other entities. They were placed afterwards" in text
    assert "fragments" not in str(report())
    assert "placed" not in str(report())


def test_the_text_says_how_uncertain_roughness_is():
    sentence = "There are few entities, so roughness has an uncertainty of about 0.04. The unc"
    assert sentence in str(report(uncertainty=0.0371))
    assert sentence not in str(report(uncertainty=0.0371, weighing="equal"))
    assert "There are few entities" not in str(report())


def test_the_text_says_in_its_second_line_how_far_to_trust_it():
    lines = str(
        report(trust=Trust("poor", [said("first", "poor"), said("second", "poor")]))
    ).splitlines()
    assert lines[1] == "Verdict: poor. First. Second."
    assert "Trust" not in str(report())


def test_the_text_gives_the_second_answers():
    text = str(report(refits=Refits(0.987, {"rna": 0.5, "protein": 1.0}, 0.25)))
    agreements = (
        "0.99 with a fifth of the entities left out, 0.50 with the 'rna' layer left out, 1.00 with the "
        "'protein' layer left out, 0.25 with only the nearest-neighbor graph."
    )
    how = "(1: identical; a refit without one layer keeps all others)"
    assert f"Agreement with quick refits {how}: {agreements}" in text
    assert "the nearest-neighbor graph alone" not in str(report(refits=Refits(0.987)))
    assert "quick refits" not in str(report())


def test_the_text_says_what_is_proved():
    good, bad = (
        str(report()),
        str(report(exact=False, converged=False, kkt_residual=3e-4, doubts=DOUBTS)),
    )
    assert (
        "Layers: exact solutions over all pairs, KKT residual 1e-09; the alternating "
        "optimization converged." in good
    )
    assert (
        "Layers: not known to be exact (rna: it is exact only among its approximate "
        "candidates), KKT residual 3e-04; "
        "the alternating optimization did not converge." in bad
    )


def test_the_text_gives_the_warnings_before_the_evidence():
    text = str(report(eigengap=0.123, within=0.456, weak_points=[said("first"), said("second")]))
    assert (
        "relative eigengap of 0.12 after eigenvalue 4; 46% of the edge weight inside clusters."
        in text
    )
    warned = text.index("\nWarning: first.\nWarning: second.\n")
    assert warned < text.index("relative eigengap")
    assert "Warning" not in str(report())


def plain(value):
    """Whether a value is of JSON's own types, not of types that look like them."""
    if isinstance(value, dict):
        return all(type(key) is str and plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.parametrize("parameters", [{}, {"alpha": 1.0, "beta": 2.0}, {"n_clusters": "auto"}])
def test_as_dict_is_json(parameters):
    made = (
        RMGL(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(planted_views()[0]).report_
    )
    data = made.as_dict()
    assert plain(data)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["n_clusters"] == 3
    views = [ViewReport(**{**item, "inside": Share(**item["inside"])}) for item in data["views"]]
    findings = [Finding(**item) for item in data.pop("findings")]
    assert findings == made.findings
    assert data.pop("warnings") == made.warnings
    assert data["trust"]["reasons"] == made.trust.reasons
    trust = Trust(
        data["trust"]["word"],
        [finding for finding in findings if finding.severity in ("good", "fair", "poor", "advice")],
    )
    weak = [finding for finding in findings if finding.severity == "warning"]
    parts = {
        "views": views,
        "trust": trust,
        "refits": Refits(**data["refits"]),
        "weak_points": weak,
    }
    assert Report(**{**data, **parts}) == made


def test_as_dict_is_a_copy():
    made = report()
    made.as_dict()["views"][0]["name"] = "changed"
    made.as_dict()["warnings"].append("changed")
    assert made == report()


# The evidence


def layer_of(adjacency, name="a"):
    W = sparse.csr_array(np.asarray(adjacency, dtype=float))
    numbers = {
        "alpha": 1.0,
        "kkt_residual": 0.0,
        "objective": 1.0,
        "lower_bound": 1.0,
        "n_iter": 1,
        "n_passes": 1.0,
    }
    return Layer(name, W, status="converged", potentials=np.zeros(W.shape[0]), **numbers)


def test_entities_without_an_edge_in_any_layer_that_counts():
    first = layer_of([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    second = layer_of([[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert unconnected([first, second], np.array([1.0, 1.0])).tolist() == [3]
    assert unconnected([first, second], np.array([1.0, 0.0])).tolist() == [2, 3]
    assert unconnected([first, second], np.array([0.0, 1.0])).tolist() == [0, 3]


def test_unconnected_rows_are_told_by_their_labels():
    index = np.array(["ann", "bob", "cid", "dee"], dtype=object)
    told = unconnected_rows(np.array([1, 3]), index).sentence
    assert "'bob'" in told
    assert told.endswith("and labeled arbitrarily; raise alpha")
    assert "1" in unconnected_rows(np.array([1]), None).sentence


def test_the_eigengap_is_that_of_the_laplacian(rng):
    W = rng.random((12, 12)) * (rng.random((12, 12)) < 0.6)
    W = np.triu(W, 1) + np.triu(W, 1).T
    values = np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W)
    for k in (1, 2, 5):
        found = eigengap(sparse.csr_array(W), smallest_eigenvectors(sparse.csr_array(W), k))
        assert found == pytest.approx((values[k] - values[k - 1]) / values[k], abs=1e-3)
    assert eigengap(sparse.csr_array(W), smallest_eigenvectors(sparse.csr_array(W), 12)) == 0.0


def test_a_report_of_a_fit_agrees_with_its_model():
    views, _ = planted_views()
    model = RMGL(3, random_state=0).fit(views)
    made = model.report_
    W = sum(
        b * layer.adjacency.toarray() for b, layer in zip(model.beta_, model.layers_, strict=True)
    )
    same = model.labels_[:, None] == model.labels_[None]
    # taken before the layers were guided
    assert made.within == pytest.approx(W[same].sum() / W.sum(), abs=0.05)
    for m, (row, layer) in enumerate(zip(made.views, model.layers_, strict=False)):
        assert (row.name, row.alpha, row.beta) == (layer.name, layer.alpha, model.beta_[m])
        assert row.edges_per_node == pytest.approx(np.count_nonzero(layer.adjacency.toarray()) / 90)
        assert (row.weight, row.roughness) == (model.view_weights_[m], model.view_roughness_[m])
    assert made.kkt_residual == max(layer.kkt_residual for layer in model.layers_)
    assert made.weak_points == weak_points(made, smallest=30) == []


def test_a_view_without_informative_edges_is_not_called_noise(rng):
    """All of its edges are between copies, and the roughness that was noted was 1."""
    labels = rng.integers(4, size=300)
    views = {
        "categories": np.eye(4)[labels],
        "numbers": 5 * np.eye(4)[labels] + rng.normal(size=(300, 4)),
    }
    model = RMGL(4, random_state=0).fit(views)
    assert np.isnan(model.view_roughness_).tolist() == [True, False]
    first = model.report_.views[0]
    assert first.roughness is None
    assert first.inside.found == 1.0
    assert not any(
        "noise" in warning or "disagrees with" in warning for warning in model.report_.warnings
    )


def evidence_of(views, kept, labels):
    return report(*with_shares(views, kept, labels))


def test_the_report_says_why_a_share_is_not_known(rng):
    kept = Views.of({"one": rng.normal(size=(700, 2)), "many": sparse.csr_array(np.eye(700))})
    made = evidence_of([view("one"), view("many")], kept, np.arange(700) % 2)
    assert [part.inside is None for part in made.views] == [False, True]
    assert "Inside: share of an entity's 12 nearest" in str(made)
    assert (
        "Inside is unknown for many: in this view, no entity has neighbors that can be distinguished"
        in str(made)
    )
    made = evidence_of([view("one"), view("many")], kept, np.zeros(700, dtype=int))
    assert "Inside is unknown for one: there is only one cluster" in str(made)
