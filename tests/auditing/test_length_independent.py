"""The numbers about length once more, in plain numpy and scipy, from the tables alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from threadpoolctl import threadpool_limits

from measurand.auditing import length

N_ITEMS, N_SYSTEMS, N_RATERS = 14, 4, 4


@pytest.fixture(scope="module")
def tables():
    """Ratings in whole numbers with a slope of each rater, every seventh rating left out, and lengths."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 5, (N_ITEMS, N_SYSTEMS))
    slopes = np.array([0.5, 0.1, -0.2, 0.3])
    rating = 3 + rng.normal(0, 0.5, (N_ITEMS, 1, 1)) + np.array([0.3, 0.0, -0.2, 0.1])[:, None]
    rating = rating + slopes * (lengths[:, :, None] - 2.5) + rng.normal(0, 0.8, (N_ITEMS, N_SYSTEMS, N_RATERS))
    item, system, rater = np.indices(rating.shape).reshape(3, -1)
    ratings = pd.DataFrame(
        {
            "item": [f"i{i:02d}" for i in item],
            "system": [f"S{s}" for s in system],
            "rater": [f"R{r}" for r in rater],
            "rating": np.clip(rating.ravel().round(), 1, 5),
        }
    )
    ratings = ratings.drop(index=ratings.index[3::7])
    item, system = np.indices(lengths.shape).reshape(2, -1)
    outputs = pd.DataFrame(
        {"item": [f"i{i:02d}" for i in item], "system": [f"S{s}" for s in system], "length": lengths.ravel()}
    )
    return ratings, outputs


@pytest.fixture(scope="module")
def found(tables):
    return length(*tables, replicates=100, seed=5)


@pytest.fixture(scope="module")
def joined(tables):
    ratings, outputs = tables
    return ratings.merge(outputs, on=["item", "system"])


def one(result, statistic, *, unit=None, method=None, **keys):
    blank = {"rater": "", "system": "", "opponent": ""}
    rows = result.select("length", statistic, blank | keys)
    rows = [row for row in rows if unit in (None, row.unit) and (method is None or method in row.method)]
    assert len(rows) == 1, (statistic, keys, len(rows))
    return rows[0]


def means(joined, rater=None):
    """Return mean lengths of rated outputs, each once, and mean ratings."""
    here = joined if rater is None else joined[joined["rater"] == rater]
    y = here.groupby("system")["rating"].mean()
    x = here.drop_duplicates(["item", "system"]).groupby("system")["length"].mean()
    return x.to_numpy(), y.to_numpy()


@pytest.mark.parametrize("rater", [None, "R0", "R3"])
def test_between_systems_r_squared_spearman_and_slope_are_scipys(found, joined, rater):
    x, y = means(joined, rater)
    keys = {"model": "between_systems", "rater": rater or "", "unit": "system"}
    fitted = stats.linregress(x, y)
    row = one(found, "slope", **keys)
    half = stats.t.ppf(0.975, N_SYSTEMS - 2) * fitted.stderr
    assert (row.estimate, row.low, row.high) == pytest.approx((fitted.slope, fitted.slope - half, fitted.slope + half))
    assert row.p == pytest.approx(fitted.pvalue)
    by_fisher = one(found, "r_squared", method="Fisher", **keys)
    assert by_fisher.estimate == pytest.approx(fitted.rvalue**2)
    z, se = np.arctanh(fitted.rvalue), 1 / np.sqrt(N_SYSTEMS - 3)
    ends = np.tanh(z + stats.norm.ppf([0.025, 0.975]) * se)
    least = 0.0 if ends[0] < 0 < ends[1] else min(ends**2)
    assert (by_fisher.low, by_fisher.high) == pytest.approx((least, max(ends**2)))
    row = one(found, "spearman", **keys)
    assert row.estimate == pytest.approx(stats.spearmanr(x, y).statistic)
    every = [abs(stats.spearmanr(x, y[list(order)]).statistic) for order in itertools.permutations(range(N_SYSTEMS))]
    assert row.p == pytest.approx(np.mean(np.array(every) >= abs(row.estimate) - 1e-9))
    assert row.attainable_p == pytest.approx(np.mean(np.array(every) >= max(every) - 1e-9))


def test_each_raters_slope_and_its_clustered_error_are_those_of_the_normal_equations(found, joined):
    for rater, here in joined.groupby("rater"):
        x = np.column_stack([np.ones(len(here)), here["length"]])
        bread = np.linalg.inv(x.T @ x)
        beta = bread @ x.T @ here["rating"]
        residual = here["rating"].to_numpy() - x @ beta
        items = here["item"].to_numpy()
        scores = np.array([x[items == i].T @ residual[items == i] for i in np.unique(items)])
        g = len(scores)
        error = np.sqrt(g / (g - 2) * (bread @ scores.T @ scores @ bread)[1, 1])
        row = one(found, "slope", model="judgement", rater=rater)
        half = stats.t.ppf(0.975, g - 2) * error
        assert (row.estimate, row.low, row.high) == pytest.approx((beta[1], beta[1] - half, beta[1] + half))
        assert row.p == pytest.approx(2 * stats.t.sf(abs(beta[1]) / error, g - 2))
    mean = one(found, "slope", model="mean_of_raters")
    slopes = [one(found, "slope", model="judgement", rater=f"R{r}").estimate for r in range(N_RATERS)]
    tested = stats.ttest_1samp(slopes, 0.0)
    assert (mean.estimate, mean.p) == pytest.approx((np.mean(slopes), tested.pvalue))
    assert (mean.low, mean.high) == pytest.approx(tuple(tested.confidence_interval(0.95)))


def negative_log_reml(variances, y, x, parts):
    """Return half of -2 times the restricted log-likelihood, the error's variance profiled out."""
    v = np.eye(len(y)) + sum(s * part for s, part in zip(variances, parts, strict=True))
    chol = np.linalg.cholesky(v)
    a, b = np.linalg.solve(chol, x), np.linalg.solve(chol, y)
    information = a.T @ a
    beta = np.linalg.solve(information, a.T @ b)
    free = len(y) - x.shape[1]
    sigma2 = float(((b - a @ beta) ** 2).sum()) / free
    log = 2 * np.log(np.diag(chol)).sum() + np.linalg.slogdet(information)[1] + free * np.log(sigma2)
    return 0.5 * log, beta, np.linalg.inv(information) * sigma2, sigma2


@pytest.mark.parametrize("model", ["judgement", "judgement+rater_slope"])
def test_mixed_models_have_the_slope_and_error_of_the_dense_restricted_likelihood(found, joined, model):
    y, raw = joined["rating"].to_numpy(), joined["length"].to_numpy(dtype=float)
    centred = (raw - raw.mean()) / raw.std()
    x = np.column_stack([np.ones(len(y)), centred])
    same = [(joined[name].to_numpy()[:, None] == joined[name].to_numpy()).astype(float) for name in ("item", "rater")]
    parts = [*same, same[1] * np.outer(centred, centred)] if "rater_slope" in model else same
    with threadpool_limits(1):  # many small factorisations
        best = optimize.minimize(
            lambda log: negative_log_reml(np.exp(log), y, x, parts)[0],
            np.log(np.full(len(parts), 0.3)),
            method="Nelder-Mead",
            options={"xatol": 1e-5, "fatol": 1e-10},
        )
    _, beta, covariance, sigma2 = negative_log_reml(np.exp(best.x), y, x, parts)
    row = one(found, "slope", model=model)
    assert row.estimate == pytest.approx(beta[1] / raw.std(), rel=1e-4)
    half = (row.high - row.low) / 2
    assert half / stats.t.ppf(0.975, row.df2) == pytest.approx(np.sqrt(covariance[1, 1]) / raw.std(), rel=1e-3)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(beta[1]) / np.sqrt(covariance[1, 1]), row.df2), rel=1e-2)
    if "rater_slope" in model:
        spread = one(found, "slope_sd_between_raters", model=model)
        assert spread.estimate == pytest.approx(np.sqrt(np.exp(best.x[2]) * sigma2) / raw.std(), rel=1e-3)


def comparisons(joined):
    """Return [item, rater, winner or first of a tie, other, is tied] of all pairs of equal length."""
    out = []
    for (item, rater), cell in joined.groupby(["item", "rater"]):
        for a, b in itertools.combinations(cell.to_dict("records"), 2):
            if a["length"] == b["length"]:
                first, second = (a, b) if a["rating"] >= b["rating"] else (b, a)
                out.append((item, rater, first["system"], second["system"], a["rating"] == b["rating"]))
    return out


@pytest.mark.parametrize("ties", ["half", "dropped"])
def test_win_rates_and_their_intervals_are_those_of_the_comparisons_one_by_one(found, joined, ties):
    of = [c for c in comparisons(joined) if ties == "half" or not c[4]]
    names = sorted(joined["system"].unique())
    design, outcome = np.zeros((len(of), len(names))), np.zeros(len(of))
    for k, (_, _, first, second, tied) in enumerate(of):
        design[k, names.index(first)], design[k, names.index(second)] = 1.0, -1.0
        outcome[k] = 0.0 if tied else 0.5
    theta = np.linalg.lstsq(design, outcome, rcond=None)[0]  # the solution of least length, whose mean is 0
    for at, name in enumerate(names):
        here = [c for c in of if name in c[2:4]]
        points = np.array([0.5 if c[4] else float(c[2] == name) for c in here])
        keys = {"ties": ties, "tolerance": 0.0, "system": name}
        wilson = one(found, "win_rate_matched", model="matched", method="Wilson", **keys)
        assert wilson.estimate == pytest.approx(points.mean())
        z = stats.norm.ppf(0.975)
        for end in (wilson.low, wilson.high):  # where the score test is just refused
            gap = abs(points.mean() - end) / np.sqrt(end * (1 - end) / len(points)) if 0 < end < 1 else z
            assert gap == pytest.approx(z)
        raters = np.array([c[1] for c in here])
        sums = np.array([(points - points.mean())[raters == r].sum() for r in np.unique(raters)])
        g = len(sums)
        half = stats.t.ppf(0.975, g - 1) * np.sqrt(g / (g - 1) * (sums**2).sum()) / len(points)
        by_rater = one(found, "win_rate_matched", model="matched", unit="rater", **keys)
        assert (by_rater.low, by_rater.high) == pytest.approx(
            (max(points.mean() - half, 0), min(points.mean() + half, 1))
        )
        adjusted = one(found, "win_rate_adjusted", model="adjusted", unit="item", **keys)
        others = np.delete(theta, at).mean()
        assert adjusted.estimate == pytest.approx(0.5 + theta[at] - others)


def test_the_overlap_is_counted_over_outputs_and_not_over_ratings(found, joined):
    rated = joined.drop_duplicates(["item", "system", "rater"])
    possible, equal = set(), set()
    for (item, _), cell in rated.groupby(["item", "rater"]):
        for a, b in itertools.combinations(cell.sort_values("system").to_dict("records"), 2):
            possible.add((item, a["system"], b["system"]))
            if a["length"] == b["length"]:
                equal.add((item, a["system"], b["system"]))
    row = one(found, "matched_share", model="matched", tolerance=0.0)
    assert row.estimate == pytest.approx(len(equal) / len(possible))
    assert one(found, "n_matched", model="matched", tolerance=0.0).estimate == len(equal)
    of = comparisons(joined)
    assert one(found, "n_comparisons", model="matched", tolerance=0.0).estimate == len(of)
    assert one(found, "share_tied", model="matched", tolerance=0.0).estimate == pytest.approx(
        sum(c[4] for c in of) / len(of)
    )


def test_a_shift_of_all_ratings_moves_no_slope_and_no_order(tables, found):
    ratings, outputs = tables
    again = length(ratings.assign(rating=ratings["rating"] + 10), outputs, replicates=100, seed=5)
    for statistic in ("slope", "spearman", "r_squared", "win_rate_matched", "win_rate_adjusted", "slopes_differ_f"):
        for a, b in zip(found.select("length", statistic), again.select("length", statistic), strict=True):
            assert a.keys == b.keys
            assert b.estimate == pytest.approx(a.estimate, rel=1e-4, abs=1e-9, nan_ok=True), (statistic, a.keys)
