"""Write docs/results.md and its figures from the output of `rmgl reproduce all`.

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

The following commands generated everything on this page:

    rmgl reproduce all -o results --images PATH     # PATH: the COIL-20 images; without --images they are downloaded
    python scripts/make_results_page.py results

The *tuned* score of a method is the best mean NMI over its grid, chosen with labels as in the paper. The *defaults* use no labels. On this page, RMGL's
*defaults* are not the defaults of the package, which choose everything from the data. Here, RMGL scales each view to [0, 1], sets alpha from the
distances in each view, and couples all views weakly with the same beta. [Quality](quality.md#nmi) lists the NMI of the package's defaults (`rmgl_defaults`) on COIL-20
(`coil20`) and the digits (`mfeat`).

The grids are listed below each table. SC-GED is stopped after {rounds} rounds, both in the grid search and with its defaults, and its grid for the digits and COIL-20
is half the usual size, because its fits take by far the longest. GD-MCCA's defaults use the graph of the first view. RMGL's grid contains the
paper's beta, which its authors tuned with labels. `edges` is alpha itself (100, as in the paper), or `k=10` for the alpha at which a node with typical distances has about 10 neighbors. The paper's values of
beta are for alpha = 100; here they are scaled with alpha. "kNN spectral" is scikit-learn's `SpectralClustering(affinity="nearest_neighbors")`
on the concatenated views, each divided by its total standard deviation. The paper does not include this method.
"""

SECTIONS = {
    "synthetic": ("Synthetic layers", ["figure1_synthetic"]),
    "uci": ("UCI handwritten digits", ["figure2_uci", "figure3_uci"]),
    "coil20": ("COIL-20", ["figure2_coil20"]),
}


def remarks(name: str, table: dict) -> str:
    """Return the main points of the table, computed from it."""
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
        f"When tuned, RMGL's Q ({scores['RMGL (Q)']:.3f}) is {place} the best of the paper's "
        f"other methods ({rival}, {paper_methods[rival]:.3f}); "
        f"kNN spectral reaches {scores['kNN spectral']:.3f}."
    ]
    if name == "synthetic":
        perfect, unit = table["perfect"], table["unit_length"]
        lines.append(
            f"In {perfect['both']} of {perfect['draws']} draws, RMGL has an NMI of 1, and every "
            "layer has exactly four components. The eigenvectors are scaled to a mean square "
            "of one. If they had length one, noise of variance 0.01 would be as large as the "
            "signal. A classifier that knows the class means exactly "
            f"would then have a mean NMI of {unit['oracle_nmi']:.3f} and be perfect in "
            f"{unit['oracle_perfect_draws']} of {perfect['draws']} draws; tuned RMGL would have "
            f"a mean NMI of {unit['rmgl_nmi']:.3f}. The paper does not say how it scaled the "
            "eigenvectors."
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
