"""Found together: which clusters reappear when a fifth of the entities are left out
=================================================================================

Do the clusters depend on this particular sample? ``plot_coclustering`` leaves out a random fifth of
the entities, clusters the others again, and repeats this several times. Each cell of the figure
shows the share of the draws in which two entities are in the same cluster. Dark blocks on the
diagonal are stable clusters. Shades outside the blocks show clusters that exchange entities. With
more than 2000 entities, or with ``by_cluster=True``, the figure shows the shares for pairs of
clusters as numbers.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rmgl import RMGL
from rmgl.datasets import load_uci_digits
from rmgl.plots import coclustering_data, plot_coclustering

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--quick", action="store_true", help="use only every fourth row")
parser.add_argument(
    "--output", type=Path, default=Path(__file__).parent / "output", help="folder for the figure"
)
args = parser.parse_args()
args.output.mkdir(parents=True, exist_ok=True)

data = load_uci_digits()
rows = slice(None, None, 4 if args.quick else 1)
views = {name: data.views[name][rows] for name in ("fou", "mor")}  # two weak views out of six
target = data.target[rows]
model = RMGL(n_clusters=10, random_state=0).fit(views)

found = coclustering_data(model, by_cluster=True)
names = [np.bincount(target[model.labels_ == cluster]).argmax() for cluster in range(10)]
for cluster, share in enumerate(np.diag(found.shares)):
    others = np.delete(np.arange(10), cluster)
    other = others[np.argmax(found.shares[cluster, others])]
    print(
        f"cluster {cluster} (mostly {names[cluster]}): two members are in the same cluster in "
        f"{share:.0%} of the draws, and a member is found together with a member of cluster "
        f"{other} (mostly {names[other]}) in {found.shares[cluster, other]:.0%}"
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 5.2), layout="constrained")
plot_coclustering(model, ax=left)
plot_coclustering(model, by_cluster=True, ax=right)
figure.savefig(args.output / "found_together.png", dpi=120)
print(f"Figure: {args.output / 'found_together.png'}")
