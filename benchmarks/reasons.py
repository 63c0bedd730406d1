"""Why goals were missed, in words, by the text of the goal; the page shows those of goals that are missed at present."""

MANY_SMALL_STEPS = (
    "On up to some two thousand rows, spectral clustering computes one graph of neighbors and one embedding. A fit at the defaults learns "
    "a layer for each view and for all of them, each for several alpha, and computes an embedding for every step of the choice. From "
    "some 2500 rows on, ratios are near the goal or below it. Most sets were measured while another suite ran on the second core."
)

REASONS: dict[str, str] = {
    "Labels at the defaults in at most 3 times the time of spectral clustering, median over 18 sets, one thread": MANY_SMALL_STEPS,
    "The same in at most 6 times, worst of 18 sets": MANY_SMALL_STEPS,
    "The first fit where nothing is compiled yet, in at most 4 s": (
        "numba takes its time for each of the loops that a fit needs, and the two fits that are timed need those over all pairs and those "
        "over lists. A fit at the defaults (see *Starting up*) needs fewer. It was measured while another suite ran on the second core."
    ),
    "A million rows at the defaults in at most 45 minutes": (
        "The limit counts the products of all pairs of rows once, in the space of each view and of all views side by side; candidates are "
        "extended by further searches. Each space is searched by one thread: while the last of three is searched, the other thread waits."
    ),
}
