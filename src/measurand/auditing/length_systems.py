"""Between systems: does the order of the systems follow how long their outputs are?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import sparse

from measurand.auditing.length_cells import Measured, remarks
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats.inference import (
    FloatArray,
    IntArray,
    Interval,
    bootstrap,
    clusters,
    percentile_interval,
    stream,
    t_quantile,
    without_dust,
)
from measurand.stats.r_squared import fisher_interval, line, r_squared_interval, squared
from measurand.stats.rank_correlation import correlation, row_pearson, row_spearman

#: Random orders of a permutation test over more than eight systems.
ORDERS: Final = 9_999
#: Up to so many raters each one's own correlations get an interval over items.
MOST_RATERS_REDRAWN: Final = 20
#: Below this many raters an interval that redraws them says that it is too narrow.
FEW_RATERS: Final = 20
BETWEEN: Final = "between_systems"
_STATISTICS: Final = ("r_squared", "spearman", "slope")
_FEW: Final = "fewer than three systems: any two lie on a line"
_REFUSED: Final = "extended to the estimate, which is so small that every value is refused"
_SYSTEMS: Final = "over systems of this kind, of which there are {}; these items and raters"
_ITEMS: Final = "over items of this kind; these systems and raters"


class Sums:
    """Sums by item, from which every replicate's mean ratings and mean lengths are made."""

    def __init__(self, one: Measured) -> None:
        panel = one.panel
        self.n_systems, self.n_raters, self.n_items = panel.n_systems, panel.n_raters, panel.n_items
        column = panel.system * panel.n_raters + panel.rater
        width = panel.n_systems * panel.n_raters
        self._of_rating = [
            _by_item(panel.item, column, values, (panel.n_items, width))
            for values in (panel.rating, one.length, np.ones(len(panel.rating)))
        ]
        # A cell counts once, however many raters rated it.
        at = (panel.cell_item, one.cell_system)
        self._of_cell = [
            _by_item(*at, values, (panel.n_items, panel.n_systems)) for values in (one.of_cell, np.ones(panel.n_cells))
        ]
        self._largest = (float(one.length.max()), float(np.abs(panel.rating).max()))

    def whole(self, items: FloatArray, raters: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean lengths and mean ratings, shape (n_rows, n_systems), with items and maybe raters weighted."""
        rating, count = (self._raters(items, k) for k in (0, 2))
        weights = np.ones((len(items), self.n_raters)) if raters is None else raters
        rating, count = (np.einsum("bsr,br->bs", part, weights) for part in (rating, count))
        length, cells = (np.asarray(items @ part) for part in self._of_cell)
        return self._means(length, cells, rating, count)

    def each(self, items: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same of each rater's own cells, shape (n_rows, n_raters, n_systems)."""
        rating, length, count = (self._raters(items, k).swapaxes(1, 2) for k in range(3))
        return self._means(length, count, rating, count)

    def _raters(self, items: FloatArray, k: int) -> FloatArray:
        return np.asarray(items @ self._of_rating[k]).reshape(len(items), self.n_systems, self.n_raters)

    def _means(
        self, length: FloatArray, cells: FloatArray, rating: FloatArray, count: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y = length / cells, rating / count
        return without_dust(x, largest=self._largest[0]), without_dust(y, largest=self._largest[1])


def _by_item(item: IntArray, column: IntArray, values: FloatArray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((values, (item, column)), shape=shape)


def of_systems(one: Measured, *, confidence: float) -> list[Row]:
    """Return each system's mean length, with its interval over items, their spread, and its mean rating."""
    rows = []
    panel = one.panel
    for position, name in enumerate(panel.systems):
        lengths = one.of_cell[one.cell_system == position]
        ratings = panel.rating[panel.system == position]
        n = len(lengths)
        keys = one.keys(system=name)
        mean = float(lengths.mean())
        sample: dict[str, Any] = {"n_items": n, "note": "one output: no interval"}
        spread = float(lengths.std(ddof=1)) if n > 1 else np.nan
        if n > 1:
            half = t_quantile(n - 1, confidence) * spread / np.sqrt(n)
            sample = {"n_items": n, "low": mean - half, "high": mean + half, "confidence": confidence}
            sample |= {"method": "t over items", "unit": "item"}
            if half == 0:
                sample["note"] = "no width: all outputs have the same length"
        told: dict[str, Any] = {"n_items": n, "note": "descriptive: no interval"}
        rows += [
            Row("length", keys, "mean_length", mean, **sample),
            Row("length", keys, "sd_length", spread, undefined="" if n > 1 else "one output", **told),
            Row("length", keys, "mean_rating", float(ratings.mean()), n_raters=panel.n_raters, **told),
        ]
    return rows


def between_systems(one: Measured, *, replicates: int, confidence: float, seed: int) -> list[Row]:
    """Return how mean ratings follow mean lengths over systems, with all raters and with each.

    Parameters
    ----------
    one : Measured
        Ratings with lengths.
    replicates : int
        Bootstrap replicates of items, and of items and raters.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    list of Row
        With `model` ``between_systems``: `r_squared`, `spearman` and `slope` (scale units per unit of length) of the
        mean rating on the mean length. Each has an interval over systems, which says how little a few systems tell, and
        narrower ones over items, or items and raters, that take these systems for all there are.
    """
    sums = Sums(one)
    every = np.ones((1, sums.n_items))
    x, y = sums.whole(every)
    x_each, y_each = sums.each(every)
    boards = [("", x[0], y[0])]
    if sums.n_raters > 1:
        boards += [(name, x_each[0, k], y_each[0, k]) for k, name in enumerate(one.panel.raters)]
    defined = [~np.isnan(board[2]) for board in boards]
    redrawn = _redrawn(one, sums, defined, replicates, seed)
    rows: list[Row] = []
    for number, (rater, lengths, ratings) in enumerate(boards):
        board = _Board(one, rater, lengths[defined[number]], ratings[defined[number]], confidence, seed)
        rows += board.rows({unit: draws[number] for unit, draws in redrawn.items() if number in draws})
    return rows


def _redrawn(
    one: Measured, sums: Sums, defined: list[Any], replicates: int, seed: int
) -> dict[str, dict[int, FloatArray]]:
    """Return the replicates of the three statistics, by unit and by the number of the board."""
    if sums.n_items < 2:
        return {}
    n_items = np.arange(sums.n_items, dtype=np.int64)
    drawn = clusters(n_items, n_items, sums.n_items)
    criterion = one.panel.criterion
    of_each = len(defined) > 1 and sums.n_raters <= MOST_RATERS_REDRAWN

    def over_items(weights: FloatArray) -> FloatArray:
        out = [_statistics(*sums.whole(weights))]
        if of_each:
            x, y = sums.each(weights)
            out += [_statistics(x[:, k, keep], y[:, k, keep]) for k, keep in enumerate(defined[1:])]
        return np.stack(out, axis=1)

    items = bootstrap(
        over_items, drawn, n_replicates=replicates, rng=stream(seed, "length", criterion, BETWEEN, "item")
    )
    found = {"item": {number: items[:, number] for number in range(items.shape[1])}}
    if sums.n_raters > 1:
        of_raters = stream(seed, "length", criterion, BETWEEN, "rater")

        def over_both(weights: FloatArray) -> FloatArray:
            n = sums.n_raters
            raters = of_raters.multinomial(n, np.full(n, 1 / n), size=len(weights)).astype(np.float64)
            return _statistics(*sums.whole(weights, raters))

        rng = stream(seed, "length", criterion, BETWEEN, "item+rater")
        found["item+rater"] = {0: bootstrap(over_both, drawn, n_replicates=replicates, rng=rng)}
    return found


def _statistics(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return R², Spearman's correlation and the slope of each row's board."""
    r = row_pearson(x, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = r * y.std(axis=1) / x.std(axis=1)
    return np.stack([r**2, row_spearman(x, y), slope], axis=1)


class _Board:
    """The mean lengths and mean ratings of the systems, of all raters or of one."""

    def __init__(self, one: Measured, rater: str, x: FloatArray, y: FloatArray, confidence: float, seed: int) -> None:
        self._keys: dict[str, Key] = one.keys(model=BETWEEN) | ({"rater": rater} if rater else {})
        self._x, self._y, self._confidence = x, y, confidence
        self._sample: dict[str, Any] = {"n_items": one.panel.n_items, "n_raters": 1 if rater else one.panel.n_raters}
        self._rng = stream(seed, "length", one.panel.criterion, BETWEEN, "orders", rater)
        self._holes = "" if one.panel.is_complete else "means of the ratings that there are, whoever gave them"

    def rows(self, redrawn: dict[str, FloatArray]) -> list[Row]:
        """Return the rows of the three statistics, those over systems first."""
        n = len(self._x)
        if reason := self._fault():
            return [Row("length", self._keys, name, np.nan, undefined=reason, **self._sample) for name in _STATISTICS]
        estimates = _statistics(self._x[None, :], self._y[None, :])[0]
        r = float(row_pearson(self._x[None, :], self._y[None, :])[0])
        estimates[2] = line(self._x, self._y).slope  # one number, to the last digit, in every row of it
        rows = [*self._r_squared(r, n), self._spearman(), self._slope()]
        for unit, draws in redrawn.items():
            note = _ITEMS
            if unit == "item+rater":
                note = "over items and raters of this kind; these systems"
                if self._sample["n_raters"] < FEW_RATERS:
                    note += f"; too narrow: redrawing {self._sample['n_raters']} raters understates how raters differ"
            for name, estimate, column in zip(_STATISTICS, estimates, draws.T, strict=True):
                rows.append(self._drawn(name, float(estimate), column, unit, note))
        return rows

    def _fault(self) -> str:
        if len(self._x) < 3:
            return _FEW
        for values, what in ((self._x, "mean length"), (self._y, "mean rating")):
            if np.ptp(values) == 0:
                return f"all systems have the same {what}"
        return ""

    def _row(self, name: str, estimate: float, ends: Interval, note: str, **more: Any) -> Row:
        interval: dict[str, Any] = {}
        if ends.low == ends.low:
            interval = {"low": ends.low, "high": ends.high, "confidence": self._confidence}
        note = joined(note, self._holes)
        return Row("length", self._keys, name, estimate, note=note, **interval, **more, **self._sample)

    def _r_squared(self, r: float, n: int) -> list[Row]:
        over = _SYSTEMS.format(n)
        by_fisher = fisher_interval(r, n, confidence=self._confidence)
        exact = r_squared_interval(r * r, n, confidence=self._confidence)
        rows = []
        if by_fisher.low == by_fisher.low:
            method = "Fisher's z of the correlation, squared"
            rows.append(self._row("r_squared", r * r, squared(by_fisher), over, method=method, unit="system"))
        if exact.low == exact.low:
            note = over if exact.high > r * r else f"{over}; {_REFUSED}"
            method = "exact for random regressors (Muirhead 1982)"
            rows.append(self._row("r_squared", r * r, exact, note, method=method, unit="system"))
        if rows:
            return rows
        none = f"{over}; no interval: the systems lie on a line"
        return [self._row("r_squared", r * r, exact, none, method="least squares", unit="system")]

    def _spearman(self) -> Row:
        found = correlation(self._x, self._y, confidence=self._confidence, is_rank=True, n_draws=ORDERS, rng=self._rng)
        note = _SYSTEMS.format(len(self._x)) + (f"; no interval: {found.no_interval}" if found.no_interval else "")
        tested: dict[str, Any] = {"p": found.p, "attainable_p": found.attainable_p}
        method = "p by permutation" if found.no_interval else "Fisher's z, Bonett & Wright (2000); p by permutation"
        ends = Interval(found.low, found.high)
        return self._row("spearman", found.value, ends, note, method=method, unit="system", **tested)

    def _slope(self) -> Row:
        fitted = line(self._x, self._y)
        note = _SYSTEMS.format(len(self._x))
        if fitted.undefined:
            nothing = Interval(np.nan, np.nan)
            note += f"; no interval: {fitted.undefined}"
            return self._row("slope", fitted.slope, nothing, note, method="least squares", unit="system")
        half = t_quantile(fitted.df, self._confidence) * fitted.standard_error
        ends = Interval(fitted.slope - half, fitted.slope + half)
        more: dict[str, Any] = {"method": "least squares, t", "unit": "system", "df1": 1, "df2": fitted.df}
        return self._row("slope", fitted.slope, ends, note, p=fitted.p, **more)

    def _drawn(self, name: str, estimate: float, draws: FloatArray, unit: str, note: str) -> Row:
        ends = percentile_interval(draws, confidence=self._confidence)
        none = "" if ends.low == ends.low else "no interval: undefined in every replicate"
        note = joined(note, none or remarks(estimate, ends))
        return self._row(name, estimate, ends, note, method="percentile bootstrap", unit=unit)
