"""Findings as data: each kind has one sentence and is found somewhere, and names are shown as they
are.
"""

import json
from importlib.resources import files

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.page.words import choices, said, warnings_of
from rmgl.results.findings import SENTENCES, TOGETHER, Finding, sentences
from rmgl.results.notes import measurements
from rmgl.results.trust import Trust
from tests.conftest import planted_views

FINDERS = (
    "results/notes.py",
    "results/weak_points.py",
    "results/trust.py",
    "results/report.py",
    "results/evidence.py",
    "storage/earlier_models.py",
)


@pytest.fixture(scope="module")
def noisy():
    views, _ = planted_views()
    return RMGL(3, random_state=0).fit(
        {**views, "noise": np.random.default_rng(0).normal(size=(90, 3))}
    )


def test_every_kind_is_found_somewhere():
    code = "".join((files("rmgl") / name).read_text(encoding="utf-8") for name in FINDERS)
    assert [kind for kind in SENTENCES if f'"{kind}"' not in code] == []
    assert set(TOGETHER) <= set(SENTENCES)


def test_a_finding_carries_its_subject_and_its_numbers(noisy):
    found = {(finding.kind, finding.subject): finding for finding in noisy.report_.findings}
    weak = found["view disagrees", "noise"]
    assert (weak.severity, weak.numbers) == (
        "warning",
        {"roughness": noisy.view_roughness_[2], "weight": noisy.view_weights_[2]},
    )
    assert weak.sentence in noisy.report_.warnings
    assert found["few entities", ""].numbers == {"n": 90}
    assert found["second answer without a view", "noise"].numbers == {
        "agreement": noisy.report_.refits.without["noise"]
    }


def test_findings_are_part_of_the_plain_data(noisy):
    data = json.loads(json.dumps(noisy.report_.as_dict(), allow_nan=False))
    assert [Finding(**finding) for finding in data["findings"]] == noisy.report_.findings
    severities = {finding["severity"] for finding in data["findings"]}
    assert severities == {"note", "warning", "good", "advice"}


def test_all_findings_are_said_in_the_text(noisy):
    text = str(noisy.report_)
    for finding in noisy.report_.findings:
        sentence = finding.sentence
        assert sentence in text or sentence[0].upper() + sentence[1:] in text


def test_findings_that_follow_each_other_share_a_sentence():
    crossed = [
        Finding("table", "poor", view, words={"column": column})
        for view, column in (("a", "'er'"), ("b", "column 2"))
    ]
    few = Finding("few entities", "fair", numbers={"n": 3})
    assert Trust("poor", [*crossed, few]).reasons == [
        (
            "the clusters are the cross-tabulation of 'er' of view 'a' x column 2 of view 'b', and add "
            "nothing to it"
        ),
        few.sentence,
    ]
    assert sentences([]) == []


@pytest.mark.parametrize(
    "name", ["{weight}", "{0}", "100%", "it's", "Warning: ", "view  x", "same_day"]
)
def test_names_are_shown_as_they_are(name):
    assert repr(name) in Finding("view dominates", "poor", name, {"weight": 0.9}).sentence
    listed = sentences([Finding("layer not exact", "warning", name, words={"doubt": name})])
    assert listed == [f"layers are not known to be exact ({name}: {name})"]


def test_names_do_not_change_the_words_around_them(noisy):
    """The page shortened names in whole texts: a view named "s " took the spaces after every s."""
    views, _ = planted_views()
    model = RMGL(3, random_state=0).fit(dict(zip(("s ", "Inside"), views.values(), strict=True)))
    lines = choices(model.report_)
    assert "A consensus layer is learned from the concatenated views." in lines
    assert [line for line in lines if line.startswith("Scale: ")] == [
        f"Scale: {name}: {view.scale} ({view.scale_reason})."
        for name, view in zip(("s", "Inside"), model.report_.views, strict=True)
    ]
    assert sentences(measurements(model.report_)) == [
        line.replace("the 's' layer", "the 's ' layer") for line in lines[-3:]
    ]


def test_the_page_shortens_the_names_of_views(noisy):
    long = Finding("view dominates", "poor", "x" * 300, {"weight": 0.9})
    assert said([long])[0].count("x") < 50
    assert warnings_of(noisy.report_)[0].startswith(
        "View 'noise' alone does not show these clusters"
    )
