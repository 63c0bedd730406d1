"""Why goals were missed, in words, by the text of the goal; the page shows those of goals that are
missed at present.
"""

MANY_SMALL_STEPS = (
    "On up to some two thousand rows, spectral clustering computes one graph of neighbors "
    "and one embedding. A fit at the defaults learns "
    "a layer for each view and for all of them, each for several alpha, and computes an "
    "embedding for every step of the choice. From "
    "some 2500 rows on, ratios are near the goal or below it. Most sets were measured while "
    "another suite ran on the second core."
)

TASKS = (
    "The tasks of a search take some tenths of a second, however few rows they have, and a fit "
    "searches several times in each of three spaces."
)

COMPARED = (
    "The limit counts the products of all rows. Each of them is also compared with the "
    "farthest neighbor so far, and a new row has about a "
    "hundred neighbors, of which few get weight."
)

REASONS: dict[str, str] = {
    (
        "Labels at the defaults in at most 3 times the time of spectral clustering, median over "
        "18 sets, one thread"
    ): MANY_SMALL_STEPS,
    "The same in at most 6 times, worst of 18 sets": MANY_SMALL_STEPS,
    "The first fit where nothing is compiled yet, in at most 4 s": (
        "numba takes its time for each of the loops that a fit needs, and the two fits that "
        "are timed need those over all pairs and those "
        "over lists. A fit at the defaults (see *Starting up*) needs fewer."
    ),
    "A million rows at the defaults in at most 45 minutes": (
        "The limit counts the products of all pairs of rows once, in the space of each view "
        "and of all views side by side; candidates are "
        "extended by further searches. Each space is searched by one thread: while the last "
        "of three is searched, the other thread waits."
    ),
    "Eigenvectors as fast as scipy's `eigsh` (median over graphs)": (
        "The solver of this package is `eigsh`, and then a second search, for eigenvalues "
        "that the first may have missed: it meets every "
        "repeated eigenvalue from one starting vector."
    ),
    "10,000 new rows against 100,000 fitted at the defaults in at most 3 s": (
        f"There are three spaces to search, of 16, 32 and 48 columns. {COMPARED}"
    ),
    "The same, fitted with alpha and beta given": COMPARED,
    "Search of 30,000 rows by one Dask worker in at most 1.3 times the time of one thread": (
        "The search takes a second, and its tasks some tenths of a second in addition, "
        "however few rows they have."
    ),
    "Fit of 30,000 rows by one Dask worker in at most 1.3 times the time of one thread": TASKS,
    "Fit of 100,000 rows by one Dask worker in at most 1.25 times the time of one thread": TASKS,
    "Search of 100,000 rows by two workers 1.7 times as fast: in 0.588 of the time of one": (
        "It is nearly so: with two workers, blocks of rows are sent from one to the other "
        "(*moved*, in the table of *Dask workers*)."
    ),
    "Fit of 100,000 rows by two workers in at most 0.6 of the time of one": (
        "Workers share the searches, and threads of the client everything else, except k-means and "
        "the steps between searches."
    ),
}
