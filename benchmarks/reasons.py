"""Why goals are missed, by the text of the goal; the table of goals shows those that apply."""

SMALL_STEPS = (
    "Spectral clustering computes one neighbor graph and one embedding. A fit with the "
    "defaults learns a layer for each view and one for all views, each for several values of "
    "alpha, and computes an embedding for every step of the automatic choice. The ratio falls as "
    "the number of rows grows."
)
SEARCHES = (
    "The exact search compares all pairs of rows in each view and in the concatenated views, and "
    "additional searches then extend the candidates."
)
TASKS = (
    "Each search task takes a few tenths of a second, no matter how few rows it has, and a fit "
    "searches several times in each of three spaces."
)
VERDICTS = (
    "Stability and separation do not show whether clusters match the classes. Stable, separated "
    "clusters may follow another property of the entities, and some classes are found although "
    "refits that leave out entities disagree, above all with few entities per class."
)
NUMBERS = (
    "Several numbers often fit about equally well, and classes can be finer or coarser than the "
    "groups in the data, so RMGL reports a range. The range is right more often on complete data "
    "sets than on subsets, which have fewer entities per class."
)
SMALL_STUDIES = (
    "With 60 rows, the difference between the two methods varies between draws by more than the "
    "goal. It is largest on word counts and networks, and small where both methods find nearly all "
    "classes."
)
TIMES_SPECTRAL = "times the time of spectral clustering"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "1,000,000 rows with the defaults in at most 1500 s",
            "300,000 rows with the defaults in at most 240 s",
            "100,000 rows with the defaults in at most 50 s",
        ),
        SEARCHES,
    ),
    **dict.fromkeys(
        (
            f"MNIST, {n} rows in two views, in at most 0.3 times the time of scikit-learn"
            for n in ("30,000", "70,000")
        ),
        SEARCHES,
    ),
    "10,000 documents in two sparse views no slower than spectral clustering, one thread": SEARCHES,
    "1,000,000 rows with the defaults in at most 9 GiB": (
        "The candidate lists of all layers are in memory at the same time while RMGL learns the "
        "layers."
    ),
    "Fit of 100,000 rows by one Dask worker in at most 1.25 times the time of one thread": TASKS,
    f"Labels with the defaults in at most 3 {TIMES_SPECTRAL}, median over 18 sets, one thread": (
        SMALL_STEPS
    ),
    f"Labels with the defaults in at most 8 {TIMES_SPECTRAL}, worst of 18 sets, one thread": (
        SMALL_STEPS
    ),
    "The first fit, with nothing compiled yet, in at most 5 s": (
        "numba compiles every loop that a fit needs. The two timed fits need the loops over all "
        "pairs and the loops over lists; a fit with the defaults needs fewer loops."
    ),
    "Labels of 10,000 new rows, after a fit of 100,000 with the defaults, in at most 4 s": (
        "`predict` searches three spaces, of 16, 32 and 48 columns, and compares every product "
        "with the farthest neighbor found so far."
    ),
    "Fit of 100,000 rows by two Dask workers in at most 0.6 times the time of one": (
        "The workers share the searches, and the threads of the client share everything else "
        "except k-means and the steps between searches."
    ),
    **dict.fromkeys(
        (
            "Results rated fair better than poor ones by 0.2 in adjusted Rand index",
            "No result below 0.3 rated good",
            "No result above 0.8 rated poor",
        ),
        VERDICTS,
    ),
    **dict.fromkeys(
        (
            "Number of classes chosen for 11 of 18 data sets",
            "Number of classes in the range for 80% of them",
        ),
        NUMBERS,
    ),
    **dict.fromkeys(
        (
            "Small studies: mean NMI 0.05 above spectral clustering",
            "Small studies: no draw more than 0.05 below spectral clustering",
        ),
        SMALL_STUDIES,
    ),
}
