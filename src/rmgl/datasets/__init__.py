"""Multi-view data sets: bundled, synthetic and downloaded."""

from rmgl.datasets.coil20 import fetch_coil20
from rmgl.datasets.complementary import make_complementary_layers, make_complementary_views
from rmgl.datasets.uci_digits import load_uci_digits

__all__ = [
    "fetch_coil20",
    "load_uci_digits",
    "make_complementary_layers",
    "make_complementary_views",
]
