"""Pair stores: the candidate pairs of a layer, and what a solver needs to compute over them."""

from rmgl.edges.candidates import Candidates, find_candidates, resolve
from rmgl.edges.interface import ActivePairs, Costs, Evaluation, PairStore, Vector
from rmgl.edges.neighborhoods import Neighborhoods
from rmgl.edges.stores import AllPairs, PairList

__all__ = [
    "ActivePairs",
    "AllPairs",
    "Candidates",
    "Costs",
    "Evaluation",
    "Neighborhoods",
    "PairList",
    "PairStore",
    "Vector",
    "find_candidates",
    "resolve",
]
