"""Documents on 20 topics as sparse word counts, in two views, each with a vocabulary of 50,000
words: RMGL compared with spectral clustering, as in `proportion`.

scikit-learn's SpectralClustering gets the sparse table of both views, scaled as RMGL scales them.
Each method uses one thread. The largest size is measured once.
"""

from dataclasses import replace

from benchmarks.documents import documents
from benchmarks.judge import Settings
from benchmarks.prepared import keep
from benchmarks.results import Results
from benchmarks.suite_proportion import take_turns

SIZES, QUICK_SIZES = (2000, 10_000), (500,)
REPEATED = 2000
"""Sizes with more rows are measured only once."""
WARM_UP_ROWS = 500
"""A small number: memory taken by the first call is not released, so the memory of the timed call
would look smaller.
"""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    for n in QUICK_SIZES if quick else SIZES:
        name = f"documents-{n}"
        if not datasets or name in datasets:
            chosen = replace(
                settings,
                repeats=settings.repeats if n <= REPEATED else 1,
                warm_up_rows=WARM_UP_ROWS,
            )
            take_turns(results, chosen, keep(results.path.parent, name, documents(n)), only)
