"""Edge stores: the pairs of nodes a layer may use, and everything a solver may ask about them."""

from rmgl.edges.all_pairs import AllPairs
from rmgl.edges.interface import Edges, Evaluation, Vector

__all__ = ["AllPairs", "Edges", "Evaluation", "Vector"]
