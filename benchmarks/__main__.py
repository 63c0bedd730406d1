"""python -m benchmarks environments | layer | fit | proportion | sparse | scale | quality |
practice | search | ... | report
"""

from pathlib import Path
from types import ModuleType

import click

from benchmarks import (
    environments,
    report,
    suite_cells,
    suite_complementary,
    suite_distributed,
    suite_eigen,
    suite_fit,
    suite_kernels,
    suite_known,
    suite_layer,
    suite_networks,
    suite_numbers,
    suite_practice,
    suite_proportion,
    suite_quality,
    suite_robustness,
    suite_scale,
    suite_search,
    suite_sensitivity,
    suite_sparse,
    suite_startup,
    suite_trust,
)
from benchmarks.judge import Settings
from benchmarks.results import Results

RESULTS = Path(__file__).parent / "results"


@click.group(help=__doc__)
def main() -> None:
    pass


def add_suite(name: str, suite: ModuleType, repeats: int, budget: float, timeout: float) -> None:
    """A command for a suite, with the options that all suites share."""

    @main.command(name, help=suite.__doc__)
    @click.option(
        "--quick", is_flag=True, help="A small part, for a first look; kept in a folder of its own."
    )
    @click.option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="A method to run (may be repeated); also runs slow ones.",
    )
    @click.option(
        "--dataset",
        "datasets",
        multiple=True,
        metavar="NAME",
        help="A data set, or a view of `layer` (may be repeated).",
    )
    @click.option(
        "--output", type=click.Path(path_type=Path), default=RESULTS, help="Folder of the results."
    )
    @click.option(
        "--timeout",
        type=float,
        default=timeout,
        show_default=True,
        help="Seconds for one method on one data set.",
    )
    @click.option(
        "--repeats",
        type=int,
        default=repeats,
        show_default=True,
        help="Most timed calls, of which the median is reported.",
    )
    @click.option(
        "--threads", type=int, help="Threads each method may use: 2 if not given, 1 with --quick."
    )
    @click.option("--force", is_flag=True, help="Measure again what has been measured.")
    @click.option(
        "--current",
        is_flag=True,
        help="Measure again what was measured before the package was last changed.",
    )
    def command(quick, only, datasets, output, timeout, repeats, threads, force, current) -> None:
        output = output / "quick" if quick else output
        settings = Settings(
            1 if quick else repeats, budget, timeout, threads or (1 if quick else 2)
        )
        suite.run(Results(output / f"{name}.json", force, current), settings, quick, only, datasets)


add_suite("layer", suite_layer, repeats=5, budget=20, timeout=600)
add_suite("fit", suite_fit, repeats=5, budget=30, timeout=600)
add_suite("proportion", suite_proportion, repeats=5, budget=0, timeout=600)
add_suite("sparse", suite_sparse, repeats=3, budget=0, timeout=3600)
add_suite("scale", suite_scale, repeats=1, budget=0, timeout=7200)
add_suite("quality", suite_quality, repeats=10, budget=45, timeout=240)
add_suite("complementary", suite_complementary, repeats=1, budget=0, timeout=240)
add_suite("robustness", suite_robustness, repeats=1, budget=0, timeout=240)
add_suite("practice", suite_practice, repeats=1, budget=0, timeout=600)
add_suite("cells", suite_cells, repeats=1, budget=0, timeout=600)
add_suite("networks", suite_networks, repeats=1, budget=0, timeout=900)
add_suite("known", suite_known, repeats=1, budget=0, timeout=600)
add_suite("search", suite_search, repeats=3, budget=20, timeout=600)
add_suite("distributed", suite_distributed, repeats=1, budget=0, timeout=7200)
add_suite("eigen", suite_eigen, repeats=3, budget=20, timeout=600)
add_suite("sensitivity", suite_sensitivity, repeats=1, budget=0, timeout=600)
add_suite("numbers", suite_numbers, repeats=1, budget=0, timeout=600)
add_suite("trust", suite_trust, repeats=1, budget=0, timeout=600)
add_suite("startup", suite_startup, repeats=5, budget=0, timeout=600)
add_suite("kernels", suite_kernels, repeats=15, budget=0, timeout=600)


@main.command("environments")
@click.argument("names", nargs=-1)
def make_environments(names: tuple[str, ...]) -> None:
    """Make the environments of the competitors in `.bench` (all of them, or NAMES)."""
    for name in names or environments.names():
        failed = environments.make(name)
        click.echo(f"{name}: " + (f"could not install {', '.join(failed)}" if failed else "ready"))


@main.command("report")
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True),
    default=RESULTS,
    help="Folder of the results.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=RESULTS / "report",
    help="Folder for tables and pictures.",
)
def make_report(results: Path, output: Path) -> None:
    """Tables (Markdown) and pictures (PNG) of the results there are."""
    click.echo(report.write(results, output))


if __name__ == "__main__":
    main()
