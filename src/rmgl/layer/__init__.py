"""The layer problem (P), its two solvers, and the `Layer` they return."""

from rmgl.layer.learn import SOLVERS, learn_layer, solve_certified, solve_layer
from rmgl.layer.problem import LayerProblem
from rmgl.layer.result import Layer

__all__ = ["SOLVERS", "Layer", "LayerProblem", "learn_layer", "solve_certified", "solve_layer"]
