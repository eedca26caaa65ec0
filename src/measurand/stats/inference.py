"""Resampling, tests and multiplicity. The only place of the library that draws random numbers for inference."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Largest number of float64 values in one block of replicates; bounds memory, and the size of a block never changes
#: the draws.
_BLOCK = 2**18


class Number(NamedTuple):
    """A statistic, or the reason in words why it is undefined (then `value` is NaN)."""

    value: float
    undefined: str = ""


class Interval(NamedTuple):
    """Ends of an interval and the share of replicates in which the statistic was undefined."""

    low: float
    high: float
    undefined_share: float = 0.0


class Test(NamedTuple):
    """A test statistic with its degrees of freedom and two-sided p; NaN with a reason where it is undefined."""

    statistic: float
    df1: float
    df2: float
    p: float
    undefined: str = ""


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the random numbers of one named check, independent of every other check's.

    Parameters
    ----------
    seed : int
        The user's one seed.
    *names : str
        The analysis, the criterion and whatever else names the check. A new check leaves the others' draws alone.

    Examples
    --------
    >>> int(stream(7, "alpha").integers(100)) == int(stream(7, "alpha").integers(100))
    True
    """
    return np.random.default_rng(np.random.SeedSequence([seed, *(zlib.crc32(name.encode()) for name in names)]))


@dataclass(frozen=True)
class Clusters:
    """What is redrawn with replacement, and the patterns that each redrawn cluster brings along.

    Clusters that bring the same patterns are of one type, and drawing n clusters with replacement is a multinomial
    draw over types. Binary and five-point panels have few types, so that a replicate costs no more than they do.

    Parameters
    ----------
    multiplicity : ndarray of int, shape (n_types,)
        Number of clusters of each type.
    membership : sparse array (n_types, n_patterns)
        How often one cluster of a type brings each pattern.
    """

    multiplicity: IntArray
    membership: sparse.csr_array

    @property
    def n(self) -> int:
        """Number of clusters."""
        return int(self.multiplicity.sum())

    def weights(self) -> FloatArray:
        """Return the pattern weights of the sample itself, shape (1, n_patterns)."""
        return np.asarray(self.multiplicity[None, :] @ self.membership, dtype=np.float64)

    def replicates(self, n_replicates: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield blocks of pattern weights, one row for each bootstrap replicate."""
        n_types, n_patterns = self.membership.shape
        rows = max(1, min(n_replicates, _BLOCK // max(n_types, n_patterns, 1)))
        for start in range(0, n_replicates, rows):
            drawn = _draw_types(self.multiplicity, min(rows, n_replicates - start), rng)
            yield np.asarray(drawn @ self.membership, dtype=np.float64)


def clusters(cluster: IntArray, pattern: IntArray, n_patterns: int) -> Clusters:
    """Return the clusters that units form.

    Parameters
    ----------
    cluster, pattern : ndarray of int, shape (n_units,)
        The cluster that each unit belongs to (any integers) and its pattern (0 to n_patterns - 1).
    n_patterns : int
        Number of patterns.
    """
    names, position = np.unique(cluster, return_inverse=True)
    if len(names) == len(cluster):  # every unit is a cluster of its own: the patterns are the types
        counts = np.bincount(pattern, minlength=n_patterns).astype(np.int64)
        return Clusters(counts, sparse.eye_array(n_patterns, format="csr"))
    ones = np.ones(len(cluster))
    membership = sparse.csr_array((ones, (position, pattern)), shape=(len(names), n_patterns))
    membership.sum_duplicates()
    return Clusters(np.ones(len(names), dtype=np.int64), membership)


def _draw_types(multiplicity: IntArray, rows: int, rng: np.random.Generator) -> FloatArray:
    """Return how often each type is drawn when as many clusters as there are are drawn with replacement."""
    n, n_types = int(multiplicity.sum()), len(multiplicity)
    if n_types * 8 <= n:
        return rng.multinomial(n, multiplicity / n, size=rows).astype(np.float64)
    drawn = rng.integers(0, n, size=(rows, n), dtype=np.int64)
    if n != n_types:
        drawn = np.repeat(np.arange(n_types), multiplicity)[drawn]
    drawn += (np.arange(rows) * n_types)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n_types).reshape(rows, n_types).astype(np.float64)


def bootstrap(
    statistic: Callable[[FloatArray], FloatArray], drawn: Clusters, *, n_replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Return bootstrap replicates of a statistic of pattern weights.

    Parameters
    ----------
    statistic : callable
        Takes weights (n_rows, n_patterns) and returns values (n_rows,) or (n_rows, n_statistics); the same function
        gives the estimate, so that point and interval can not part.
    drawn : Clusters
        What is redrawn.
    n_replicates : int
        Number of replicates.
    rng : numpy.random.Generator
        See `stream`.

    Returns
    -------
    ndarray, shape (n_replicates,) or (n_replicates, n_statistics)
        NaN where a replicate leaves the statistic undefined.
    """
    return np.concatenate([statistic(weights) for weights in drawn.replicates(n_replicates, rng)])


def percentile_interval(draws: FloatArray, *, confidence: float) -> Interval:
    """Return the central percentile interval of replicates, undefined ones left out and their share told.

    Examples
    --------
    >>> [round(end, 6) for end in percentile_interval(np.arange(101.0), confidence=0.9)]
    [5.0, 95.0, 0.0]
    """
    defined = draws[~np.isnan(draws)]
    share = 1.0 - len(defined) / len(draws)
    if len(defined) == 0:
        return Interval(np.nan, np.nan, share)
    tail = (1 - confidence) / 2
    # Infinite replicates are honest values here (no number of raters): an order statistic never mixes them up.
    ends = [tail, 1 - tail]
    if np.isinf(defined).any():
        low, high = np.quantile(defined, ends, method="inverted_cdf")
    else:
        low, high = np.quantile(defined, ends)
    return Interval(float(low), float(high), share)


def holm(p: FloatArray) -> FloatArray:
    """Return Holm's step-down adjusted p values; NaN stays NaN and does not count as a test.

    Parameters
    ----------
    p : ndarray, shape (n_tests,)
        Raw p values.

    Returns
    -------
    ndarray, shape (n_tests,)
        max over j ≤ i of min(1, (m - j + 1) p_(j)), in the order given.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    out = np.full(len(p), np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return out


def t_test(differences: FloatArray) -> Test:
    """Return the one-sample t test of mean zero.

    Parameters
    ----------
    differences : ndarray, shape (n,)
        Independent differences, one for each replicate of the unit.

    Returns
    -------
    Test
        t, df1 = 1, df2 = n - 1 and the two-sided p; undefined below two differences, or where none varies.

    Examples
    --------
    >>> round(t_test(np.array([1.0, 2.0, 3.0])).p, 4)
    0.0742
    """
    n = len(differences)
    if n < 2:
        return Test(np.nan, 1, np.nan, np.nan, f"{n} difference; a t test needs two")
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(n)
    if error <= 1e-14 * np.abs(differences).max(initial=0.0):
        return Test(np.nan, 1, n - 1, np.nan, "the differences do not vary")
    t = mean / error
    return Test(float(t), 1, n - 1, t_p(float(t), n - 1))


def t_p(t: float, df: float) -> float:
    """Return the two-sided p of Student's t."""
    return float(2 * special.stdtr(df, -abs(t)))


def t_quantile(df: float, confidence: float) -> float:
    """Return the factor of a two-sided t interval."""
    return float(special.stdtrit(df, (1 + confidence) / 2))


def f_p(f: float, df1: float, df2: float) -> float:
    """Return the upper tail of F."""
    return float(special.fdtrc(df1, df2, f))


def f_quantile(probability: float, df1: float, df2: float) -> float:
    """Return the F value below which the given probability lies."""
    return float(special.fdtri(df1, df2, probability))


#: Up to this many differences all sign patterns are enumerated.
_MOST_ENUMERATED: Final = 16


class Exact(NamedTuple):
    """The p value of an exact or Monte Carlo test and the smallest one that this sample could have given."""

    p: float
    attainable_p: float
    undefined: str = ""


def sign_test(differences: FloatArray) -> Exact:
    """Return the two-sided sign test; zero differences are left out.

    Examples
    --------
    >>> sign_test(np.array([0.2, 0.4, 0.1]))
    Exact(p=0.25, attainable_p=0.25, undefined='')
    """
    signs = np.sign(differences[differences != 0])
    n = len(signs)
    if n == 0:
        return Exact(np.nan, np.nan, "every difference is zero")
    fewer = min(int((signs > 0).sum()), int((signs < 0).sum()))
    return Exact(min(1.0, float(2 * special.bdtr(fewer, n, 0.5))), min(1.0, 2.0 ** (1 - n)))


def sign_flip_tests(differences: FloatArray, *, n_draws: int, rng: np.random.Generator) -> list[Exact]:
    """Return two-sided sign-flip permutation tests of mean zero, one for each column.

    Parameters
    ----------
    differences : ndarray, shape (n, n_tests)
        NaN where a unit has no difference in a column; such a unit is left out of that test.
    n_draws : int
        Number of random sign patterns where not all 2^n are enumerated (above sixteen units).
    rng : numpy.random.Generator
        See `stream`.

    Returns
    -------
    list of Exact
        Enumerated: the share of sign patterns with a mean at least as far from 0. Drawn: (1 + hits) / (1 + draws),
        never 0 (Phipson & Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9).

    Examples
    --------
    >>> sign_flip_tests(np.array([[1.0], [2.0], [3.0]]), n_draws=99, rng=stream(1))[0].p
    0.25
    """
    filled = np.nan_to_num(differences, nan=0.0)
    bar = np.abs(filled.sum(axis=0)) - 1e-10 * np.abs(filled).sum(axis=0)
    flippable = (filled != 0).sum(axis=0)  # a difference of 0 has no sign to flip
    shares = np.full(len(bar), np.nan)
    lowest = np.minimum(1.0, 2.0 ** (1.0 - flippable))
    few = flippable <= _MOST_ENUMERATED
    for column in np.flatnonzero(few & (flippable > 0)):
        values = filled[filled[:, column] != 0, column]
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        shares[column] = (np.abs(sums) >= bar[column]).mean()
    if not few.all():
        drawn, hits = filled[:, ~few], np.zeros(int((~few).sum()))
        rows = max(1, min(n_draws, _BLOCK // max(drawn.shape)))
        for start in range(0, n_draws, rows):
            flips = np.where(rng.random((min(rows, n_draws - start), len(drawn))) < 0.5, -1.0, 1.0)
            hits += (np.abs(flips @ drawn) >= bar[~few]).sum(axis=0)
        shares[~few] = (1 + hits) / (1 + n_draws)
        lowest[~few] = np.maximum(lowest[~few], 1 / (1 + n_draws))
    absent = np.asarray(np.isnan(differences).all(axis=0))
    return [
        Exact(np.nan, np.nan, "no difference")
        if absent[i]
        else Exact(np.nan, np.nan, "every difference is zero")
        if flippable[i] == 0
        else Exact(float(shares[i]), float(lowest[i]))
        for i in range(len(bar))
    ]


def longest_run(values: FloatArray) -> int:
    """Return the length of the longest run of equal neighbours.

    Examples
    --------
    >>> longest_run(np.array([1.0, 2, 2, 2, 1]))
    3
    """
    edges = np.flatnonzero(np.r_[True, np.diff(values) != 0, True])
    return int(np.diff(edges).max())


def run_test(values: FloatArray, *, n_draws: int, rng: np.random.Generator) -> float:
    """Return how often shuffled values have a run of equal neighbours at least as long, (1 + hits) / (1 + draws)."""
    n, length = len(values), longest_run(values) - 1
    if length == 0:
        return 1.0
    hits, rows = 0, max(1, _BLOCK // n)
    for start in range(0, n_draws, rows):
        drawn = np.array([rng.permutation(values) for _ in range(min(rows, n_draws - start))])
        # So many pairs of equal neighbours one behind the other make a run of one more.
        pairs = np.cumsum(np.pad(drawn[:, 1:] == drawn[:, :-1], ((0, 0), (1, 0))), axis=1)
        hits += int(((pairs[:, length:] - pairs[:, :-length]) == length).any(axis=1).sum())
    return (1 + hits) / (1 + n_draws)


def clopper_pearson_upper(hits: int, n: int, *, confidence: float) -> float:
    """Return the upper end of the two-sided exact interval of a share.

    Examples
    --------
    >>> round(clopper_pearson_upper(0, 10, confidence=0.95), 4)
    0.3085
    """
    if hits >= n:
        return 1.0
    return float(special.betaincinv(hits + 1, n - hits, (1 + confidence) / 2))


def without_dust(values: FloatArray, *, largest: float) -> FloatArray:
    """Return values rounded to twelve digits of the largest number they were made from, so that equal ones tie.

    Examples
    --------
    >>> without_dust(np.array([0.1 + 0.2, 0.3]), largest=1.0).tolist()
    [0.3, 0.3]
    """
    return np.round(values, 12 - int(np.ceil(np.log10(largest)))) if largest > 0 else values


def average_ranks(values: Sequence[float]) -> FloatArray:
    """Return ranks from the largest down, 1 is best and ties share the mean rank.

    Examples
    --------
    >>> average_ranks([0.3, 0.9, 0.3]).tolist()
    [2.5, 1.0, 2.5]
    """
    x = np.asarray(values, dtype=float)
    above = (x[None, :] > x[:, None]).sum(axis=1)
    equal = (x[None, :] == x[:, None]).sum(axis=1)
    return np.asarray(above + (equal + 1) / 2)
