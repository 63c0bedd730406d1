"""Multi-view data to try things on."""

from rmgl.datasets.complementary import make_complementary_layers
from rmgl.datasets.uci_digits import load_uci_digits

__all__ = ["load_uci_digits", "make_complementary_layers"]
