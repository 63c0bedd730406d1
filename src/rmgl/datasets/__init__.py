"""Multi-view data to try things on."""

from rmgl.datasets.uci_digits import load_uci_digits

__all__ = ["load_uci_digits"]
