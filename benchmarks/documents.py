"""Documents on 20 topics, as sparse word counts in two views."""

import numpy as np
from scipy import sparse

from benchmarks.datasets import Dataset

N_TOPICS = 20
N_WORDS = 50_000
DRAWS = 110
"""Words drawn for each document; about 100 of them are distinct."""
OWN_WORDS = 2000
"""Number of words that a topic uses more often than other topics."""
OWN_SHARE = 0.25
"""Share of a document's words that are drawn from its topic's words; the others are drawn from all
words.
"""
FLATTENED = 10
"""The word of rank r is drawn in proportion to 1 / (r + FLATTENED)."""


def documents(n_rows: int, seed: int = 0) -> Dataset:
    """Two views with different words. Topics are equally frequent, and each view shows all."""
    random = np.random.default_rng(seed)
    target = random.integers(N_TOPICS, size=n_rows)
    views = {
        name: counts(target, np.random.default_rng((seed, place)))
        for place, name in enumerate(("first", "second"))
    }
    return Dataset("documents", views, target, "none")


def counts(target: np.ndarray, random: np.random.Generator) -> sparse.csr_array:
    """How often each word occurs in each document."""
    topics = np.stack([random.permutation(N_WORDS)[:OWN_WORDS] for _ in range(N_TOPICS)])
    shape = (len(target), DRAWS)
    own = topics[target[:, None], zipf(OWN_WORDS, shape, random)]
    words = np.where(random.random(shape) < OWN_SHARE, own, zipf(N_WORDS, shape, random))
    rows = np.repeat(np.arange(len(target)), DRAWS)
    found = sparse.csr_array(
        (np.ones(words.size), (rows, words.ravel())), shape=(len(target), N_WORDS)
    )
    found.sum_duplicates()
    return found


def zipf(n: int, shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    """Ranks below n, with Zipf-like frequencies."""
    cumulative = np.cumsum(1 / (np.arange(n) + FLATTENED))
    return np.searchsorted(cumulative, random.random(shape) * cumulative[-1])
