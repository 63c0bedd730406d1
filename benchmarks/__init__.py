"""Benchmarks: data sets and methods as small files with one interface, and a single judge that does
all the measuring. See README.md.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
