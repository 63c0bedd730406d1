"""Compare RMGL with other packages, and write the pages about the results.

`all` runs every suite; each suite is also a separate command.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from benchmarks import (
    environments,
    report,
    suite_cells,
    suite_complementary,
    suite_distributed,
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
    suite_sparse,
    suite_startup,
    suite_trust,
)
from benchmarks.judge import Settings
from benchmarks.results import Results, is_dirty

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Suite:
    """A suite and its default settings."""

    module: ModuleType
    repeats: int
    budget: float
    timeout: float
    threads: int = 1

    @property
    def part(self) -> str:
        return "timing" if self.threads > 1 else "scores"


SUITES = {
    # suites that measure time: for an otherwise idle machine
    "kernels": Suite(suite_kernels, 15, 0, 600, threads=2),
    "startup": Suite(suite_startup, 3, 0, 600, threads=2),
    "search": Suite(suite_search, 3, 20, 600, threads=2),
    "layer": Suite(suite_layer, 3, 5, 45, threads=2),
    "practice": Suite(suite_practice, 1, 0, 600, threads=2),
    "proportion": Suite(suite_proportion, 3, 0, 600, threads=2),
    "sparse": Suite(suite_sparse, 3, 0, 1200, threads=2),
    "distributed": Suite(suite_distributed, 1, 0, 3600, threads=2),
    "scale": Suite(suite_scale, 1, 0, 7200, threads=2),
    # suites that measure scores
    "trust": Suite(suite_trust, 1, 0, 600),
    "complementary": Suite(suite_complementary, 1, 0, 240),
    "robustness": Suite(suite_robustness, 1, 0, 240),
    "known": Suite(suite_known, 1, 0, 600),
    "cells": Suite(suite_cells, 1, 0, 600),
    "networks": Suite(suite_networks, 1, 0, 600),
    "quality": Suite(suite_quality, 3, 15, 240),
    "numbers": Suite(suite_numbers, 1, 0, 600),
}


@click.group(help=__doc__)
def main() -> None:
    pass


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options shared by all commands that measure."""
    options = [
        click.option("--quick", is_flag=True, help="Measure a small part, in a separate folder."),
        click.option(
            "--output",
            type=click.Path(path_type=Path),
            default=RESULTS,
            help="Folder for the results.",
        ),
        click.option("--force", is_flag=True, help="Repeat measurements that already exist."),
        click.option("--allow-dirty", is_flag=True, help="Measure code with uncommitted changes."),
        click.option("--threads", type=int, help="Number of threads for each method."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def measure(
    name: str,
    quick: bool,
    output: Path,
    force: bool,
    allow_dirty: bool,
    threads: int | None,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
    **changed: Any,
) -> None:
    """Run one suite."""
    if is_dirty() and not (quick or allow_dirty):
        raise click.UsageError(
            "the code has uncommitted changes: commit them, or pass --allow-dirty"
        )
    suite = SUITES[name]
    settings = Settings(
        1 if quick else changed.get("repeats", suite.repeats),
        suite.budget,
        changed.get("timeout", suite.timeout),
        threads or (1 if quick else suite.threads),
    )
    path = (output / "quick" if quick else output) / f"{name}.json"
    results = Results(path, force, partly=bool(only or datasets))
    suite.module.run(results, settings, quick, only, datasets)


def add_suite(name: str, suite: Suite) -> None:
    """Add the command for one suite."""

    @main.command(name, help=suite.module.__doc__)
    @shared
    @click.option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="Run this method, even if it is slow (may be repeated).",
    )
    @click.option(
        "--dataset",
        "datasets",
        multiple=True,
        metavar="NAME",
        help="Run on this data set; for `layer`, on this view (may be repeated).",
    )
    @click.option(
        "--timeout",
        type=float,
        default=suite.timeout,
        show_default=True,
        help="Time limit in seconds for one method on one data set.",
    )
    @click.option(
        "--repeats",
        type=int,
        default=suite.repeats,
        show_default=True,
        help="Maximum number of timed calls; the median is reported.",
    )
    def command(**options: Any) -> None:
        measure(name, **options)


for _name, _suite in SUITES.items():
    add_suite(_name, _suite)


@main.command("all")
@shared
@click.option(
    "--part",
    type=click.Choice(["timing", "scores"]),
    help="Run only the suites that measure time, or only those that measure scores.",
)
def run_all(part: str | None, **options: Any) -> None:
    """Run all suites, starting with those that measure time.

    Each suite replaces its results file, unless the file has rows from the same commit. In that
    case, the run resumes.
    """
    for name, suite in SUITES.items():
        if part in (None, suite.part):
            click.echo(f"== {name}")
            measure(name, **options)


@main.command("environments")
@click.argument("names", nargs=-1)
def make_environments(names: tuple[str, ...]) -> None:
    """Create the environments for the other packages in `.bench` (all of them, or NAMES)."""
    for name in names or environments.names():
        failed = environments.make(name)
        click.echo(f"{name}: " + (f"could not install {', '.join(failed)}" if failed else "ready"))


@main.command("calibrate")
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True),
    default=RESULTS,
    help="Folder with the results.",
)
def calibrate(results: Path) -> None:
    """Write the package's calibration tables, based on the results of `trust` and `numbers`."""
    stored = report.read(results)
    suite_trust.write_calibration(list(stored["trust"]["rows"].values()))
    suite_numbers.write_calibration(list(stored["numbers"]["rows"].values()))


@main.command("report")
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True),
    default=RESULTS,
    help="Folder with the results.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=RESULTS / "report",
    help="Folder for tables and figures.",
)
def make_report(results: Path, output: Path) -> None:
    """Write tables (Markdown) and figures (PNG) of the results."""
    click.echo(report.write(results, output))


if __name__ == "__main__":
    main()
