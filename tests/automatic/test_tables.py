"""Tables of categories beside views with clusters: they must not decide on clusters of others."""

import numpy as np
import pandas as pd
import pytest

from rmgl import RMGL
from rmgl.automatic.consensus import incomplete_space
from rmgl.automatic.spaces import Spaces
from rmgl.metrics import normalized_mutual_info_score
from rmgl.views.halves import LEAST
from rmgl.views.views import Views


def survey(seed, n=600):
    """12 answers with four groups, and a table that knows nothing of them."""
    rng = np.random.default_rng(seed)
    target = rng.integers(4, size=n)
    means = 1.2 * rng.normal(size=(4, 12))
    answers = np.clip(np.round(3.5 + means[target] + rng.normal(size=(n, 12))), 1, 6)
    table = pd.DataFrame(
        {
            "gender": rng.choice(["female", "male"], n),
            "education": rng.choice(list("abcde"), n),
            "age": np.clip(np.round(10 + rng.gamma(6, 5, n)), 18, 80),
        }
    )
    questions = pd.DataFrame(answers, columns=[f"q{at}" for at in range(12)])
    return questions, table, target


def score(views, target):
    labels = RMGL(len(np.unique(target)), random_state=0).fit_predict(views)
    return normalized_mutual_info_score(target, labels)


def test_a_table_does_not_decide_on_the_groups_of_a_survey():
    drawn = [survey(seed) for seed in range(3)]
    alone = np.mean([score({"answers": q}, target) for q, _, target in drawn])
    assert alone > 0.8
    beside = np.mean([score({"answers": q, "table": t}, target) for q, t, target in drawn])
    assert beside > alone - 0.03
    together = np.mean([score({"all": q.join(t)}, target) for q, t, target in drawn])
    assert together > alone - 0.03
    coded = np.mean(
        [
            score({"answers": q, "table": t.apply(lambda x: pd.factorize(x)[0]).to_numpy(float)}, y)
            for q, t, y in drawn
        ]
    )
    assert coded > alone - 0.03


def test_the_report_says_that_the_columns_of_a_table_are_unrelated():
    questions, table, _ = survey(0)
    report = RMGL(4, random_state=0).fit({"answers": questions, "table": table}).report_
    said = [
        finding.subject for finding in report.weak_points if finding.kind == "columns unrelated"
    ]
    assert said == ["table"]
    assert report.views[0].reliability > 0.1
    assert report.views[1].reliability == 0
    assert "view 'table' has reduced weight" in str(report)


@pytest.mark.parametrize("n_columns", [2, 4])
@pytest.mark.parametrize("n_levels", [2, 12])
def test_a_table_that_knows_the_clusters_counts(n_columns, n_levels):
    """Categories that follow the clusters, up to a tenth of errors, are related to one another."""
    rng = np.random.default_rng(n_levels)
    target = rng.integers(4, size=400)
    noise = rng.normal(size=(400, 6))
    levels = rng.integers(n_levels, size=(n_columns, 4))
    levels[0] = np.arange(4) % n_levels
    levels[1] = np.arange(4) // 2
    codes = np.where(
        rng.random((400, n_columns)) < 0.1,
        rng.integers(n_levels, size=(400, n_columns)),
        levels[:, target].T,
    )
    table = pd.DataFrame(codes.astype(str), columns=[f"c{at}" for at in range(n_columns)])
    views = {"noise": noise, "table": table}
    parts = Spaces(Views.of(views).scaled("auto"), None).parts.tolist()
    if (n_columns, n_levels) == (2, 2):  # one column for each half of the clusters: unrelated
        assert parts == [1.0, 1.0]
    else:
        assert parts == [LEAST, 1.0]


def test_a_view_of_one_column_counts_as_unrelated_columns_do(rng):
    centers = 4 * rng.normal(size=(3, 5))
    X = centers[rng.integers(3, size=200)] + rng.normal(size=(200, 5))
    views = Views.of({"many": X, "one": rng.normal(size=(200, 1))}).scaled("auto")
    spaces = Spaces(views, None)
    assert spaces.parts.tolist() == [1.0, LEAST]
    variances = np.array([view.variance() for view in views])
    np.testing.assert_allclose(np.square(spaces.factors) * variances, spaces.parts)
    alone = Views.of({"one": rng.normal(size=(200, 1))})
    assert Spaces(alone, None).parts.tolist() == [1.0]


def test_where_no_view_is_reliable_all_count_alike(rng):
    views = Views.of({name: rng.normal(size=(200, 3)) for name in "ab"})
    assert Spaces(views, None).parts.tolist() == [1.0, 1.0]


def test_an_unreliable_view_that_is_missing_adds_its_part_of_a_distance(rng):
    centers = 4 * rng.normal(size=(3, 5))
    X = centers[rng.integers(3, size=100)] + rng.normal(size=(100, 5))
    observed = np.ones((100, 2), dtype=bool)
    observed[0, 1] = observed[1, 0] = False
    views = Views.of({"many": X, "noise": rng.normal(size=(100, 2))}, observed=observed)
    spaces = Spaces(views, None)
    found = incomplete_space(spaces).distances
    of_first = spaces.factors[0] ** 2 * ((X[0] - X[2]) ** 2).sum()
    assert found[0, 2] == pytest.approx(of_first + 2 * 0.7 * LEAST)
    assert found[0, 1] == pytest.approx(2 * 0.7 * (1 + LEAST))
