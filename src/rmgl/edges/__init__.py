"""Edge stores: the pairs of nodes a layer may use, and everything a solver may ask about them."""

from rmgl.edges.all_pairs import AllPairs
from rmgl.edges.candidates import Candidates, resolve, state_candidates
from rmgl.edges.interface import Edges, Evaluation, Vector
from rmgl.edges.neighbours import NeighbourLists
from rmgl.edges.pair_list import PairList

__all__ = ["AllPairs", "Candidates", "Edges", "Evaluation", "NeighbourLists", "PairList", "Vector", "resolve", "state_candidates"]
