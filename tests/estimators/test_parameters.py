"""The table of kinds of parameters: what each kind accepts and refuses, and what the errors say."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.baselines import GDMCCA, SCGED, SCML
from rmgl.estimators.base import (
    ARRAY,
    BY_NAME,
    LIST,
    NAME,
    NOTHING,
    SEED,
    SPARSE,
    TRUTH_VALUE,
    VERBOSITY,
    check_parameters,
    is_sequence,
    number,
    one_of,
    shown,
    whole_number,
)

GRAPH = sparse.csr_array(np.eye(3))
NUMBERS = [1, 1.5, np.float64(2.0), np.float32(2.0), np.int32(3), Fraction(1, 3)]
TEXTS = ["", "auto"]
SEQUENCES = [[], [1, 2], (1, 2), range(3), np.arange(3), pd.Series([1.0]), pd.DataFrame({"a": [1]})]
DICTS = [{}, {"a": 1}]
TRUTH = [True, False, np.True_, np.False_]
ODD = [object(), 1j, Decimal("1.5"), lambda: None, {1, 2}, b"auto"]

KINDS = {
    "number": (
        number(),
        [*NUMBERS, -5, 0, -0.5],
        [*TEXTS, *SEQUENCES, *DICTS, *TRUTH, *ODD, None, float("nan"), np.float64("nan"), GRAPH],
    ),
    "number >= 0": (
        number(least=0),
        [*NUMBERS, 0, 0.0, -0.0, 5e-324],
        [-1, -5e-324, float("nan"), True, None, "1"],
    ),
    "number > 0": (
        number(above=0),
        [*NUMBERS, 5e-324],
        [0, 0.0, -0.0, -1, float("nan"), False, None, "1"],
    ),
    "whole number": (
        whole_number(),
        [0, -7, 10**30, np.int8(3), np.uint64(3)],
        [*TEXTS, *SEQUENCES, *DICTS, *TRUTH, *ODD, None, 1.0, np.float64(3), Fraction(3, 1), GRAPH],
    ),
    "whole number >= 2": (
        whole_number(least=2),
        [2, 3, np.int64(2)],
        [1, 0, -2, 2.0, True, "2", None],
    ),
    "one of": (
        one_of("newton", "dual-ascent"),
        ["newton", "dual-ascent", np.str_("newton")],
        ["", "Newton", "newton ", 1, None, ["newton"], b"newton"],
    ),
    "Boolean": (TRUTH_VALUE, TRUTH, [0, 1, 1.0, "True", None, [], np.array([True])]),
    "name": (NAME, [*TEXTS, np.str_("auto")], [None, 1, b"auto", ["auto"]]),
    "nothing": (NOTHING, [None], [0, False, "", "None", [], np.nan]),
    "list": (LIST, SEQUENCES, [*NUMBERS, *TEXTS, *DICTS, *TRUTH, *ODD, None, GRAPH, iter([1])]),
    "dict": (BY_NAME, DICTS, [*NUMBERS, *TEXTS, *SEQUENCES, *TRUTH, *ODD, None, GRAPH]),
    "sparse graph": (
        SPARSE,
        [GRAPH, GRAPH.tocoo(), sparse.csr_matrix((2, 2))],
        [np.eye(2), [1], None, "auto"],
    ),
    "array": (ARRAY, [*SEQUENCES, GRAPH], [*NUMBERS, *TEXTS, *DICTS, *TRUTH, None]),
    "verbosity": (VERBOSITY, [0, 1, 5, np.int64(2), *TRUTH], [-1, 1.0, "1", None, [1]]),
    "seed": (
        SEED,
        [None, 0, 7, 2**32 - 1, np.uint32(5), np.random, np.random.RandomState(0)],
        [-1, 2**32, 1.0, "0", True, False, np.True_, [0], np.random.default_rng(0), np.nan],
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_accepts_its_values_and_no_others(name):
    kind, right, wrong = KINDS[name]
    assert [value for value in right if not kind.accepts(value)] == []
    assert [value for value in wrong if kind.accepts(value)] == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (number(), "a number"),
        (number(least=0), "a number >= 0"),
        (number(above=0), "a number > 0"),
        (number(least=0.25), "a number >= 0.25"),
        (whole_number(), "a whole number"),
        (whole_number(least=2), "a whole number >= 2"),
        (one_of("a"), "'a'"),
        (one_of("a", "b", "c"), "'a', 'b', 'c'"),
    ],
)
def test_kinds_are_called_by_what_they_accept(kind, words):
    assert kind.words == words


def test_text_is_no_sequence_of_letters():
    assert not is_sequence("abc")
    assert not is_sequence(b"abc")
    assert is_sequence(["abc"])


# Errors


def test_the_error_names_parameter_owner_kinds_and_value():
    table = {"a": (number(least=0),), "b": (one_of("auto"), whole_number(least=1), NOTHING)}
    check_parameters("Thing", {"a": 0.0, "b": None, "c": object()}, table)
    with pytest.raises(
        ValueError,
        match=r"^The 'b' parameter of Thing must be 'auto', a whole number >= 1 or None\. Got 0 instead\.$",
    ):
        check_parameters("Thing", {"a": 0.0, "b": 0}, table)


def test_the_first_wrong_parameter_is_named():
    table = {"a": (NOTHING,), "b": (NOTHING,)}
    with pytest.raises(ValueError, match="The 'a' parameter"):
        check_parameters("Thing", {"b": 1, "a": 1}, table)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, "-1.0"),
        ("word", "'word'"),
        (None, "None"),
        (np.zeros((1000, 7)), "an array of shape (1000, 7)"),
        (np.zeros(3), "an array of shape (3,)"),
        (sparse.csr_array((400, 500)), "an array of shape (400, 500)"),
        ([1] * 1000, f"{repr([1] * 1000)[:60]}... (list)"),
        ("x" * 78, repr("x" * 78)),
        ("x" * 79, "'" + "x" * 59 + "... (str)"),
    ],
)
def test_values_in_messages_are_short(value, text):
    assert shown(value) == text
    assert len(shown(value)) <= 80


@pytest.mark.parametrize(
    "value",
    [
        np.random.default_rng(0).normal(size=(300, 40)),
        sparse.eye_array(1000),
        [np.zeros((50, 50))] * 20,
        {"a": [0.1] * 500},
    ],
)
def test_messages_about_large_values_fit_on_a_few_lines(value):
    with pytest.raises(
        ValueError, match="The 'tol' parameter of RMGL must be a number >= 0"
    ) as caught:
        RMGL(3, tol=value).fit([np.eye(5)])
    assert len(str(caught.value)) < 160


# Estimators


@pytest.mark.parametrize("estimator", [RMGL, SCML, SCGED, GDMCCA])
def test_every_parameter_has_its_kinds_and_its_default_is_one_of_them(estimator):
    parameters = estimator(3).get_params()
    assert set(estimator._allowed) == set(parameters)
    estimator(3)._check_parameters()


@pytest.mark.parametrize("estimator", [RMGL, SCML, SCGED, GDMCCA])
def test_no_parameter_accepts_just_anything(estimator):
    for name in estimator._allowed:
        with pytest.raises(
            ValueError,
            match=f"The {name!r} parameter of {estimator.__name__} must be .* Got <object object",
        ):
            estimator(**{"n_clusters": 3, name: object()})._check_parameters()


def test_the_constructor_refuses_nothing():
    assert RMGL(n_clusters="many", tol=None).get_params()["tol"] is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_clusters": 2.0},
            (
                "The 'n_clusters' parameter of RMGL must be 'auto' or a whole number >= 1. Got "
                "2.0 instead."
            ),
        ),
        (
            {"alpha": 0},
            (
                "The 'alpha' parameter of RMGL must be 'auto', a number > 0, a list or a "
                "dict. Got 0 instead."
            ),
        ),
        (
            {"components": 1},
            "The 'components' parameter of RMGL must be True or False. Got 1 instead.",
        ),
        (
            {"align": "left"},
            ("The 'align' parameter of RMGL must be 'outer', 'inner' or None. Got 'left' instead."),
        ),
        (
            {"max_iter": 0},
            "The 'max_iter' parameter of RMGL must be a whole number >= 1. Got 0 instead.",
        ),
        (
            {"random_state": -1},
            (
                "The 'random_state' parameter of RMGL must be a whole number >= 0, a numpy "
                "RandomState or None. Got -1 instead."
            ),
        ),
    ],
)
def test_messages_of_rmgl(parameters, message):
    with pytest.raises(ValueError, match="parameter of RMGL") as caught:
        RMGL(**{"n_clusters": 2, **parameters}).fit([np.eye(5)])
    assert str(caught.value) == message
