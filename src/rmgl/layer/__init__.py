"""The layer problem, its solvers, and the learned `Layer` with its certificate."""

from rmgl.layer.certified import SOLVERS, solve_certified, solve_layer
from rmgl.layer.learn import learn_layer
from rmgl.layer.problem import LayerProblem
from rmgl.layer.result import Layer, Origin, given_layer

__all__ = [
    "SOLVERS",
    "Layer",
    "LayerProblem",
    "Origin",
    "given_layer",
    "learn_layer",
    "solve_certified",
    "solve_layer",
]
