"""Two answers: who moves from which cluster to which
==================================================

What changes with another view, another number of clusters, or next year's data? ``plot_flows``
draws the clusters of a model on the left and another answer on the right, with bands as wide as the
number of entities that go from one to the other. The other answer may be another model, a former
one that was saved, or known classes. Entities are matched by their ids, so the two need not have
the same rows. Left picture: the clusters and the true digits. Right picture: what changes when two
views are left out.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import flows_data, plot_flows

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="every fourth row only")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the picture"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
step = 4 if args.quick else 1
ids = [f"image {row}" for row in range(0, 2000, step)]
views = {name: pd.DataFrame(X[::step], index=ids) for name, X in data.views.items()}
digits = pd.Series(data.target[::step], index=ids)
model = RMGL(n_clusters=10, random_state=0).fit(views)
fewer = RMGL(n_clusters=10, random_state=0).fit(
    {name: X.drop(ids[::10]) for name, X in views.items() if name not in ("fac", "pix")}
)  # without two views, and without a tenth of the images

for name, other in (("the true digits", digits), ("the model without fac and pix", fewer)):
    found = flows_data(model, other)
    moved = found.counts.sum() - found.counts.max(axis=1).sum()
    print(
        f"Agreement with {name} {found.agreement:.2f}; {moved} of {found.counts.sum()} images are "
        f"not where most of their cluster is; {found.n_only[0]} are only in the model."
    )
print(flows_data(model, digits).to_frame())

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.4), layout="constrained")
plot_flows(model, digits, names=("six views", "true digit"), ax=left)
plot_flows(model, fewer, names=("six views", "without fac and pix"), ax=right)
figure.savefig(args.output / "two_answers.png", dpi=120)
print(f"Picture: {args.output / 'two_answers.png'}")
