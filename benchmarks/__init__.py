"""Benchmarks: data sets and methods as small files with one interface, and one judge that alone
measures. See README.md.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
