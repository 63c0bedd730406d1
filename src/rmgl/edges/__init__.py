"""Edge stores: the candidate pairs of a layer, and what a solver needs to compute over them."""

from rmgl.edges.all_pairs import AllPairs
from rmgl.edges.candidates import Candidates, find_candidates, resolve
from rmgl.edges.interface import ActivePairs, Costs, Edges, Evaluation, Vector
from rmgl.edges.neighborhoods import Neighborhoods
from rmgl.edges.pair_list import PairList

__all__ = [
    "ActivePairs",
    "AllPairs",
    "Candidates",
    "Costs",
    "Edges",
    "Evaluation",
    "Neighborhoods",
    "PairList",
    "Vector",
    "find_candidates",
    "resolve",
]
