"""Write docs/results.md and its figures from what `rmgl reproduce all` wrote.

rmgl reproduce all -o results [--images ...]
python scripts/make_results_page.py results
"""

import json
import shutil
import sys
from pathlib import Path

from rmgl.experiments.grids import SC_GED_ROUNDS

DOCS = Path(__file__).parents[1] / "docs"

HEAD = """# The paper's experiments

Everything on this page was written by

    rmgl reproduce all -o results --images PATH     # PATH: the COIL-20 images; without --images they are downloaded
    python scripts/make_results_page.py results

A method's *tuned* score is the best mean NMI over its written grid, chosen with labels as in the paper; the *defaults* use no labels.
The grids are written below each table. SC-GED is stopped after {rounds} rounds, and its grid for the digits and COIL-20 is half as large, because
its fits are by far the longest; its defaults here have the same limit, and GD-MCCA's take the graph of the first view. RMGL's grid contains the
paper's beta, which its authors tuned with labels. `edges` is alpha itself (100, as in the paper) or, as `k=10`, the alpha at which a node with typical distances keeps about 10 neighbors; the paper's
beta are given for alpha = 100 and scaled with alpha. "kNN spectral" is scikit-learn's `SpectralClustering(affinity="nearest_neighbors")`
on the concatenated views, each divided by its total standard deviation: the paper leaves it out.
"""

SECTIONS = {
    "synthetic": ("Synthetic layers", ["figure1_synthetic"]),
    "uci": ("UCI handwritten digits", ["figure2_uci", "figure3_uci"]),
    "coil20": ("COIL-20", ["figure2_coil20"]),
}


def remarks(name: str, table: dict) -> str:
    """What a reader should see in the table, computed from it."""
    scores = {row["name"]: row["tuned"]["nmi_mean"] for row in table["rows"]}
    paper_methods = {
        k: v
        for k, v in scores.items()
        if k not in ("RMGL (Q)", "kNN spectral") and not k.startswith("RMGL layer")
    }
    rival = max(paper_methods, key=paper_methods.__getitem__)
    lead = scores["RMGL (Q)"] - paper_methods[rival]
    place = "as good as" if abs(lead) < 5e-4 else "above" if lead > 0 else "below"
    lines = [
        f"Tuned, RMGL's Q ({scores['RMGL (Q)']:.3f}) is {place} the best of the paper's "
        f"other methods ({rival}, {paper_methods[rival]:.3f}); "
        f"kNN spectral reaches {scores['kNN spectral']:.3f}."
    ]
    if name == "synthetic":
        perfect, unit = table["perfect"], table["unit_length"]
        lines.append(
            f"In {perfect['both']} of {perfect['draws']} draws RMGL has NMI 1 and every "
            "layer exactly four components. Eigenvectors enter with mean square "
            "one. Were they of length one, noise of variance 0.01 would be as large as the "
            "signal: a classifier that knows the class means exactly "
            f"then has mean NMI {unit['oracle_nmi']:.3f} and is perfect in "
            f"{unit['oracle_perfect_draws']} of {perfect['draws']} draws, tuned RMGL "
            f"{unit['rmgl_nmi']:.3f}. The paper does not say how it scaled them."
        )
    else:
        parts = [
            f"{paper['nmi_mean']:.3f} ({paper['parameters'].split(',')[0].removeprefix('scale=')})"
            for paper in table["paper_parameters"]
        ]
        lines.append(
            "The paper does not say how it scaled the views; its parameters give "
            f"{', '.join(parts)}."
        )
    return "\n\n".join(lines)


def main() -> None:
    source = Path(sys.argv[1])
    page = [HEAD.replace("{rounds}", str(SC_GED_ROUNDS))]
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    for name, (title, figures) in SECTIONS.items():
        if not (source / name / "table.json").is_file():
            raise SystemExit(f"{source / name} is missing: run `rmgl reproduce all` first")
        table = json.loads((source / name / "table.json").read_text())
        if table["quick"]:
            raise SystemExit(f"{source / name} is a quick trial: run it without --quick")
        page += [f"## {title}", "", remarks(name, table), ""]
        for figure in figures:
            shutil.copy(source / name / f"{figure}.png", DOCS / "images")
            page += [f"![{title}](images/{figure}.png)", ""]
        page.append((source / name / "table.md").read_text())
    (DOCS / "results.md").write_text("\n".join(page))
    print(DOCS / "results.md")


if __name__ == "__main__":
    main()
