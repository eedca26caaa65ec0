"""Decisions about a system beside people: the alternative annotator test, equivalence and non-inferiority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from measurand.stats.inference import FloatArray, IntArray, percentile_interval, without_dust

BoolArray = npt.NDArray[np.bool_]
Alignment = Literal["rmse", "accuracy"]

#: How an answer or a rating can be held against the other ratings of its item.
ALIGNMENTS: Final[tuple[Alignment, ...]] = ("rmse", "accuracy")

#: Number of items below which the t test gives way to the signed-rank test, and share of raters that must be beaten.
_ENOUGH: Final = 30
_PASS: Final = 0.5


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """May the system stand in for a rater?

    Attributes
    ----------
    rho_system, rho_rater : ndarray, shape (n_raters,)
        Share of the items on which the system, or the rater, agrees with the other raters at least as well as its
        opponent does. Ties count for both, so that the two can sum to more than 1.
    method : tuple of str
        ``"t"``, ``"signed_rank"`` below thirty replicates, or ``"constant"`` where no replicate differs from another
        and the sign alone decides; blank where there is no test.
    statistic, df, p, p_adjusted : ndarray, shape (n_raters,)
        t, or the sum of the positive ranks (then df is NaN); one-sided p, raw and after Benjamini & Yekutieli.
    rejected : ndarray of bool, shape (n_raters,)
        Whether the adjusted p is at most q: the system is no worse than this rater by more than epsilon.
    n_items, n_replicates : ndarray of int, shape (n_raters,)
        Items that this rater and at least one other rated, and the clusters that they form (the items themselves
        where no clusters were given).
    undefined : tuple of str
        For each rater, why there is no test; blank where there is one.
    omega : float
        Winning rate: share of the tested raters that were rejected, in [0, 1]; NaN where none was tested.
    rho : float
        Average advantage probability: mean of `rho_system` over the tested raters, in [0, 1]; NaN likewise.
    passed : bool
        Whether omega is at least one half.
    why : str
        Why omega is undefined; blank where it is not.
    """

    rho_system: FloatArray
    rho_rater: FloatArray
    method: tuple[str, ...]
    statistic: FloatArray
    df: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    rejected: BoolArray
    n_items: IntArray
    n_replicates: IntArray
    undefined: tuple[str, ...]
    omega: float
    rho: float
    passed: bool
    why: str = ""


def alternative_annotator_test(
    answers: FloatArray,
    ratings: FloatArray,
    *,
    epsilon: float,
    alignment: Alignment,
    q: float = 0.05,
    cluster: IntArray | None = None,
) -> AlternativeAnnotatorTest:
    """Test whether a system agrees with the other raters about as well as each rater does.

    Parameters
    ----------
    answers : ndarray, shape (n_items,)
        The system's answers in scale units, or codes of classes; an item with NaN is left out.
    ratings : ndarray, shape (n_items, n_raters)
        Ratings in the same units or codes, NaN where a rater did not rate the item.
    epsilon : float
        How much less often than the rater the system may win, as a probability, because it costs less: .2 beside
        experts, .15 beside skilled raters and .1 beside a crowd in the publication.
    alignment : {"rmse", "accuracy"}
        Minus the root mean squared difference from the other raters of the item, or the share of them that are equal.
    q : float
        Rate of false discoveries over the raters.
    cluster : ndarray of int, shape (n_items,), optional
        What each item belongs to, such as the person on a photograph. The means of clusters are then the replicates,
        each counting the same.

    Returns
    -------
    AlternativeAnnotatorTest
        A rater who shares no item with another has no test.

    Raises
    ------
    ValueError
        If the alignment is unknown, or epsilon or q is no probability.

    Notes
    -----
    For rater j and the items i that j and at least one other rated: W_f = 1 where the system's alignment with the
    others is at least j's, W_h = 1 where j's is at least the system's, d = W_h - W_f. The null hypothesis is
    E W_f ≤ E W_h - ε. From thirty replicates on t = (mean d - ε) / (s / √n) with n - 1 degrees of freedom, lower tail;
    if all d are equal, p is 0 where they lie below ε and 1 otherwise. With fewer replicates the Wilcoxon signed-rank
    test of d - ε, lower tail, from its exact distribution given the ties; replicates equal to ε are left out.

    References
    ----------
    Calderon, Reichart & Dror (2025), arXiv 2501.10970, section 3.

    Examples
    --------
    >>> ratings = np.array([[1.0, 2.0, 1.0], [3.0, 3.0, 5.0], [4.0, 2.0, 4.0]])
    >>> test = alternative_annotator_test(np.array([1.0, 3.0, 4.0]), ratings, epsilon=0.2, alignment="rmse")
    >>> test.rho_system.tolist(), test.p.round(3).tolist(), test.omega
    ([1.0, 1.0, 1.0], [0.125, 0.125, 0.125], 0.0)
    """
    if alignment not in ALIGNMENTS:
        raise ValueError(f"the alignment is {alignment!r}; it is one of {', '.join(ALIGNMENTS)}")
    for name, value in (("epsilon", epsilon), ("q", q)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}; it is a probability, from 0 to 1")
    n_raters = ratings.shape[1]
    there = ~np.isnan(ratings) & ~np.isnan(answers)[:, None]
    n_items, n_replicates = np.zeros(n_raters, dtype=np.int64), np.zeros(n_raters, dtype=np.int64)
    rho = np.full((2, n_raters), np.nan)
    tests = [_Lower("", np.nan, np.nan, np.nan, "no item that this rater and another rated")] * n_raters
    for j in range(n_raters):
        mine = there[:, j] & (there.sum(axis=1) >= 2)
        n_items[j] = mine.sum()
        if n_items[j] == 0:
            continue
        others = np.where(there[mine], ratings[mine], np.nan)
        others[:, j] = np.nan
        system, rater = _alignments(answers[mine], ratings[mine, j], others, alignment)
        won = np.column_stack([system >= rater, rater >= system]).astype(np.float64)
        if cluster is not None:
            _, position, size = np.unique(cluster[mine], return_inverse=True, return_counts=True)
            won = np.column_stack([np.bincount(position, weights=side) / size for side in won.T])
        n_replicates[j] = len(won)
        rho[:, j] = won.mean(axis=0)
        tests[j] = _lower_test(won[:, 1] - won[:, 0], epsilon)
    method, statistic, df, p, undefined = zip(*tests, strict=True) if tests else ((),) * 5
    adjusted = benjamini_yekutieli(np.array(p, dtype=np.float64))
    tested = ~np.isnan(adjusted)
    rejected = tested & (np.nan_to_num(adjusted, nan=1.0) <= q)
    omega = float(rejected[tested].mean()) if tested.any() else np.nan
    return AlternativeAnnotatorTest(
        rho_system=rho[0],
        rho_rater=rho[1],
        method=method,
        statistic=np.array(statistic, dtype=np.float64),
        df=np.array(df, dtype=np.float64),
        p=np.array(p, dtype=np.float64),
        p_adjusted=adjusted,
        rejected=rejected,
        n_items=n_items,
        n_replicates=n_replicates,
        undefined=undefined,
        omega=omega,
        rho=float(rho[0, tested].mean()) if tested.any() else np.nan,
        passed=bool(tested.any() and omega >= _PASS),
        why="" if tested.any() else "no rater could be tested: the test needs two raters of an answered item",
    )


def benjamini_yekutieli(p: FloatArray) -> FloatArray:
    """Return p values adjusted for the false discovery rate under any dependence; NaN stays NaN and is no test.

    Parameters
    ----------
    p : ndarray, shape (n_tests,)
        Raw p values.

    Returns
    -------
    ndarray, shape (n_tests,)
        min over k ≥ i of min(1, c m p_(k) / k) with c = Σ_(k ≤ m) 1/k, in the order given.

    References
    ----------
    Benjamini & Yekutieli (2001), Annals of Statistics 29, 1165-1188, theorem 1.3.

    Examples
    --------
    >>> benjamini_yekutieli(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """
    out = np.full(len(p), np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    place = np.arange(1, len(order) + 1)
    scaled = p[order] * (len(order) * (1 / place).sum()) / place
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return out


class MarginTest(NamedTuple):
    """A decision about a difference and a margin.

    `low` and `high` are the ends of the 1 - 2 alpha percentile interval, `p` the bootstrap p value, `holds` the
    decision, `undefined_share` the share of draws without a difference, which are left out.
    """

    estimate: float
    low: float
    high: float
    p: float
    holds: bool
    undefined_share: float = 0.0
    undefined: str = ""


def equivalence(estimate: float, draws: FloatArray, *, margin: float, alpha: float = 0.05) -> MarginTest:
    """Decide whether a difference is smaller than a margin, by two one-sided tests on bootstrap draws.

    Parameters
    ----------
    estimate : float
        The difference in the sample.
    draws : ndarray, shape (n_draws,)
        The difference in bootstrap replicates, NaN where it is undefined.
    margin : float
        Differences below it in absolute value do not matter, in the unit of the difference.
    alpha : float
        Level of each one-sided test.

    Returns
    -------
    MarginTest
        Holds where the 1 - 2 alpha percentile interval lies inside (-margin, margin). p is the larger one of
        (1 + number of draws ≥ margin) / (1 + number of draws) and the same for draws ≤ -margin, never 0. Undefined
        without an estimate or draws. That it does not hold is no evidence of a difference.

    Raises
    ------
    ValueError
        If the margin is not positive, or alpha is not between 0 and one half.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.

    Examples
    --------
    >>> test = equivalence(0.0, np.linspace(-0.04, 0.04, 99), margin=0.05)
    >>> test.holds, test.p, round(test.low, 3), round(test.high, 3)
    (True, 0.01, -0.036, 0.036)
    """
    return _within(estimate, draws, margin, alpha, is_two_sided=True)


def non_inferiority(estimate: float, draws: FloatArray, *, margin: float, alpha: float = 0.05) -> MarginTest:
    """Decide whether a difference lies above minus a margin: the first of the two is not worse by as much.

    Parameters
    ----------
    estimate : float
        The difference in the sample, first minus second; higher is better.
    draws : ndarray, shape (n_draws,)
        The difference in bootstrap replicates, NaN where it is undefined.
    margin : float
        How much worse does not matter, in the unit of the difference.
    alpha : float
        Level of the one-sided test.

    Returns
    -------
    MarginTest
        Holds where the lower end of the 1 - 2 alpha percentile interval lies above -margin. p is (1 + number of
        draws ≤ -margin) / (1 + number of draws), never 0. Undefined without an estimate or draws.

    Raises
    ------
    ValueError
        If the margin is not positive, or alpha is not between 0 and one half.

    Examples
    --------
    >>> non_inferiority(0.3, np.linspace(-0.04, 0.64, 99), margin=0.05).holds
    True
    """
    return _within(estimate, draws, margin, alpha, is_two_sided=False)


def _within(estimate: float, draws: FloatArray, margin: float, alpha: float, *, is_two_sided: bool) -> MarginTest:
    if not margin > 0:
        raise ValueError(f"the margin is {margin}; it is larger than 0")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}; it lies between 0 and 0.5")
    defined = draws[~np.isnan(draws)]
    n = len(defined)
    if np.isnan(estimate) or n == 0:
        why = "the difference is undefined" if np.isnan(estimate) else "the difference is undefined in every replicate"
        return MarginTest(estimate, np.nan, np.nan, np.nan, False, 1.0 - n / max(len(draws), 1), why)
    interval = percentile_interval(draws, confidence=1 - 2 * alpha)
    beyond = [int((defined <= -margin).sum())]
    holds = interval.low > -margin
    if is_two_sided:
        beyond.append(int((defined >= margin).sum()))
        holds = holds and interval.high < margin
    p = (1 + max(beyond)) / (1 + n)
    return MarginTest(estimate, interval.low, interval.high, p, bool(holds), interval.undefined_share)


def _alignments(
    answer: FloatArray, rating: FloatArray, others: FloatArray, alignment: Alignment
) -> tuple[FloatArray, FloatArray]:
    """Alignment of the answer and of the rating with the same others, on each item; equal ones are equal exactly."""
    there = ~np.isnan(others)
    n = there.sum(axis=1)
    if alignment == "accuracy":
        system, rater = ((there & (others == one[:, None])).sum(axis=1) / n for one in (answer, rating))
        return system, rater
    distance = [np.where(there, others - one[:, None], 0.0) for one in (answer, rating)]
    system, rater = (-np.sqrt((one * one).sum(axis=1) / n) for one in distance)
    largest = float(max(np.abs(system).max(), np.abs(rater).max()))
    return without_dust(system, largest=largest), without_dust(rater, largest=largest)


class _Lower(NamedTuple):
    method: str
    statistic: float
    df: float
    p: float
    undefined: str = ""


def _lower_test(d: FloatArray, epsilon: float) -> _Lower:
    """Test that the mean of d lies below epsilon, against the null hypothesis that it does not."""
    n = len(d)
    if n < _ENOUGH:
        statistic, p = _signed_rank(without_dust(d - epsilon, largest=1.0))
        return _Lower("signed_rank", statistic, np.nan, p)
    error = float(d.std(ddof=1)) / np.sqrt(n)
    distance = float(d.mean()) - epsilon
    if error <= 1e-14:
        return _Lower("constant", np.nan, np.nan, 0.0 if distance < -1e-14 else 1.0)
    return _Lower("t", distance / error, n - 1, float(special.stdtr(n - 1, distance / error)))


def _signed_rank(x: FloatArray) -> tuple[float, float]:
    """Sum of the ranks of positive values and how often random signs make it no larger; zeros are left out."""
    x = x[x != 0]
    size = np.abs(x)
    # Twice the mid-ranks are whole numbers even with ties, so that all 2^n signs can be counted by their sums.
    twice = (size[:, None] > size).sum(axis=1) * 2 + (size[:, None] == size).sum(axis=1) + 1
    counts = np.ones(1)
    for rank in twice:
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer / 2
    positive = int(twice[x > 0].sum())
    return positive / 2, float(min(1.0, counts[: positive + 1].sum()))
