"""The paper says what the stored results say, cites what its bibliography has, and has the length
and the sections that JOSS asks for.
"""

import re
import runpy

import pytest

from tests.declared import ROOT

PAPER = (ROOT / "paper.md").read_text(encoding="utf-8")
BODY = PAPER.split("---\n", 2)[2]
FIGURES = runpy.run_path(str(ROOT / "scripts" / "paper_figures.py"))


def test_the_tables_are_those_of_the_stored_results():
    """`python scripts/paper_figures.py --write` puts newer results into the paper."""
    assert FIGURES["tables"]() in PAPER
    assert FIGURES["with_tables"](PAPER) == PAPER


def test_means_are_those_of_the_rows():
    rows = [
        {"method": method, "dataset": dataset, "nmi": nmi}
        for place, method in enumerate(FIGURES["METHODS"])
        for dataset, nmi in (("a", 0.5 - place / 10), ("b", 0.1 + place / 10))
    ]
    rows.append({"method": "rmgl_defaults", "dataset": "not run by the others", "nmi": 1.0})
    lines = FIGURES["quality_table"](rows)
    assert "of 2 public" in lines[0]
    assert [line.split(" | ")[1:] for line in lines[4:]] == [
        ["0.300", "1 of 2 |"],
        ["0.300", "0 of 2 |"],
        ["0.300", "0 of 2 |"],
        ["0.300", "1 of 2 |"],
    ]


def test_other_numbers_are_not_measured():
    """No figure stands in the sentences, where nothing would compare it with the results."""
    without_tables = BODY.replace(FIGURES["tables"](), "")
    assert re.findall(r"\d+\.\d+|\d+ ?%", without_tables) == []


def test_citations_and_bibliography_match():
    cited = set(re.findall(r"@([a-z]+\d{4})", BODY))
    listed = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper.bib").read_text("utf-8"), re.MULTILINE)
    assert sorted(cited) == sorted(listed)


@pytest.mark.parametrize(
    "section",
    [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "AI usage disclosure",
        "References",
    ],
)
def test_it_has_the_sections_of_the_journal(section):
    assert f"\n# {section}\n" in BODY


def test_it_has_the_length_that_the_journal_asks_for():
    words = re.sub(
        r"<!--.*?-->|\$\$.*?\$\$|^\|.*$|^: .*$", " ", BODY, flags=re.DOTALL | re.MULTILINE
    )
    assert 750 <= len(words.split()) <= 1750
