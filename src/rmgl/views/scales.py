"""Well-known response scales in words, from low to high."""

from __future__ import annotations

from collections.abc import Collection

SCALES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("strongly disagree", "totally disagree", "completely disagree"),
        ("disagree",),
        ("neutral", "neither agree nor disagree", "undecided"),
        ("agree",),
        ("strongly agree", "totally agree", "completely agree"),
    ),
    (
        ("strongly disagree", "totally disagree", "completely disagree"),
        ("disagree",),
        ("somewhat disagree", "slightly disagree", "rather disagree"),
        ("neutral", "neither agree nor disagree", "undecided"),
        ("somewhat agree", "slightly agree", "rather agree"),
        ("agree",),
        ("strongly agree", "totally agree", "completely agree"),
    ),
    (("never",), ("rarely", "seldom"), ("sometimes",), ("often",), ("always",)),
    (("never",), ("rarely", "seldom"), ("sometimes",), ("often",), ("very often",)),
    (
        ("very dissatisfied",),
        ("dissatisfied", "somewhat dissatisfied"),
        ("neutral", "neither satisfied nor dissatisfied"),
        ("satisfied", "somewhat satisfied"),
        ("very satisfied",),
    ),
    (("very unlikely",), ("unlikely",), ("neutral",), ("likely",), ("very likely",)),
    (
        ("not at all important", "not important", "unimportant"),
        ("slightly important",),
        ("moderately important", "important"),
        ("very important",),
        ("extremely important",),
    ),
    (("very poor", "very bad"), ("poor", "bad"), ("fair",), ("good",), ("very good",)),
    (("poor",), ("fair",), ("good",), ("very good",), ("excellent",)),
    (("low",), ("medium", "moderate"), ("high",)),
    (("very low",), ("low",), ("medium", "moderate"), ("high",), ("very high",)),
    (("not at all",), ("a little", "slightly"), ("somewhat", "moderately"), ("very much",)),
)
"""Scales with the words for every level. The first scale that contains all responses is used."""
LEAST = 3
"""Minimum number of distinct responses needed to recognize a scale."""


def known_scale(answers: Collection[str]) -> tuple[str, ...] | None:
    """Return the levels of the scale that contains all responses, spelled like them.

    Returns None if no scale contains them, if there are fewer than three, or if a level is written
    in two ways.

    Examples
    --------
    >>> known_scale({"Often", "Never", "Rarely"})
    ('Never', 'Rarely', 'Sometimes', 'Often', 'Always')
    >>> known_scale({"often", "agree", "red"})
    """
    written = {" ".join(text.casefold().split()): text for text in answers}
    if len(answers) < LEAST or len(written) < len(answers):
        return None
    for scale in SCALES:
        used = [[word for word in words if word in written] for words in scale]
        if sum(map(len, used)) == len(written) and max(map(len, used)) == 1:
            capital = all(text[:1].isupper() for text in answers)
            return tuple(
                written[own[0]] if own else words[0].capitalize() if capital else words[0]
                for own, words in zip(used, scale, strict=True)
            )
    return None
