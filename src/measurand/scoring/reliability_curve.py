"""Do graded answers mean what they say? Mean rating of answers of a size, and squared error taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import sparse

from measurand.result import Key, Row
from measurand.scoring.contenders import BINARIZED, PROBABILITY_READOUT, Contender
from measurand.scoring.field import Criterion, Draws
from measurand.scoring.run import MOST_SINGLE, Run
from measurand.sentences import joined
from measurand.stats.inference import FloatArray, IntArray, Interval, percentile_interval
from measurand.stats.isotonic import decomposed, isotonic, quantile_bins
from measurand.stats.linearised import Linearised, interval

#: The most bins of a curve, and the fewest answers that a bin holds on average.
MOST_BINS: Final = 10
FEWEST_IN_BIN: Final = 10
#: Below so many answers there is no curve and nothing is taken apart; below so many items the note warns.
FEWEST_ANSWERS: Final = 10
FEW_ITEMS: Final = 60

_PARTS: Final = {
    "squared_error": "of answers against mean ratings, both from 0 to 1; miscalibration - discrimination + uncertainty",
    "miscalibration": "what the best increasing map of the answers would save",
    "discrimination": "by how much the answers, so mapped, beat the mean rating",
    "uncertainty": "the variance of the mean ratings",
}
#: The parts that the map is in.
_FITTED: Final = ("miscalibration", "discrimination")
_LEANS: Final = "the map is fitted to these answers: leans upwards by up to {:.2g}, which the lower end allows for"
_FEW: Final = "few items: with 30 in simulation 95 % intervals of this kind held 86 to 100 % of the time"
_OF_BIN: Final = "what the bin holds: no interval"
_OF_MAP: Final = "mean in the bin of the best increasing map of all answers; no interval: that of the mean rating tells"
_ALL: Final = "all criteria together: how far their means lie apart counts as discrimination"


@dataclass(frozen=True)
class _Pairs:
    """Answers and mean ratings of items, both from 0 to 1, of one criterion or of several behind one another."""

    item: IntArray
    answer: FloatArray
    rating: FloatArray
    what: str


def reliability_rows(run: Run) -> list[Row]:
    """Return the reliability curve of every arm, and its squared error taken apart.

    Parameters
    ----------
    run : Run
        A computed run.

    Returns
    -------
    list of Row
        Analysis `reliability_curve`. By `bin` (at most `MOST_BINS`, of about equally many answers, equal answers in one
        bin; 1 the lowest): `mean_answer`, `mean_rating` with its interval, and `isotonic`, the mean in the bin of the
        best increasing map. Blank bin: `squared_error`, `miscalibration`, `discrimination`, `uncertainty`. Blank
        criterion: all together; curves of single criteria where there are few. Answers are probabilities as they are,
        or values of the scale rescaled to 0..1, as mean ratings are; arms whose answers are neither are undefined, and
        say why. Arms that repeat attempts, saw a control input or were cut to yes and no have no curve.

    Notes
    -----
    The interval of a mean rating redraws items, or groups where there are any, with bins held fixed. Those of the parts
    of the squared error are linearised, by the same clusters (see `measurand.stats.isotonic.decomposed`).

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), PNAS 118, e2016191118. Bröcker & Smith (2007), Increasing the reliability of
    reliability diagrams, Weather and Forecasting 22, 651-661 (bins and their intervals).
    """
    unit = "item" if run.field.group is None else "group"
    cluster = np.arange(run.field.n_items) if run.field.group is None else run.field.group
    rows: list[Row] = []
    curves: list[tuple[dict[str, Key], _Pairs, IntArray]] = []
    several = len(run.field.criteria) > 1
    for one in run.contenders:
        if one.arm is None or not one.arm.is_plain or one.arm.readout == BINARIZED:
            continue
        of_criteria: list[_Pairs] = []
        for position, criterion in enumerate(run.field.criteria):
            keys: dict[str, Key] = {**one.keys, "criterion": criterion.name, "bin": ""}
            pairs = _pairs(one, position, criterion)
            if isinstance(pairs, str):
                rows.append(Row("reliability_curve", keys, "squared_error", np.nan, undefined=pairs))
                continue
            of_criteria.append(pairs)
            rows += _parts(run, keys, pairs, cluster, unit)
            if len(run.field.criteria) <= MOST_SINGLE:
                curves.append((keys, pairs, _bins(pairs)))
        if several and of_criteria:
            keys = {**one.keys, "criterion": "", "bin": ""}
            pairs = _together(of_criteria)
            rows += _parts(run, keys, pairs, cluster, unit, note=_ALL)
            curves.append((keys, pairs, _bins(pairs)))
    return [*rows, *_curves(run, curves, unit)]


def _pairs(one: Contender, position: int, criterion: Criterion) -> _Pairs | str:
    """Return the answers to a criterion beside the mean ratings, or why they cannot be read as numbers of one scale."""
    answered = one.answered[position]
    present = answered.present
    if len(present) < FEWEST_ANSWERS:
        return f"{len(present)} answers; a curve needs {FEWEST_ANSWERS}"
    bounds = criterion.scale.bounds
    if bounds is None:
        return "no scale is declared (--scale)"
    low, high = bounds
    raw = answered.values[present] + criterion.shift
    rating = (criterion.consensus[present] + criterion.shift - low) / (high - low)
    is_probability = one.keys["readout"] == PROBABILITY_READOUT and bool(((raw >= 0) & (raw <= 1)).all())
    if not is_probability and one.not_permitted[position]:
        return one.not_permitted[position]
    answer = raw if is_probability else (raw - low) / (high - low)
    what = "probabilities as they are" if is_probability else "answers on the scale, from 0 to 1"
    return _Pairs(present.astype(np.int64), answer, rating, what)


def _together(parts: Sequence[_Pairs]) -> _Pairs:
    what = "; ".join(dict.fromkeys(part.what for part in parts))
    item, answer, rating = (np.concatenate([part[at] for part in map(_arrays, parts)]) for at in range(3))
    return _Pairs(item.astype(np.int64), answer, rating, what)


def _arrays(part: _Pairs) -> tuple[IntArray, FloatArray, FloatArray]:
    return part.item, part.answer, part.rating


def _bins(pairs: _Pairs) -> IntArray:
    most = min(MOST_BINS, max(len(pairs.answer) // FEWEST_IN_BIN, 1))
    return quantile_bins(pairs.answer, most)


def _parts(run: Run, keys: dict[str, Key], pairs: _Pairs, cluster: IntArray, unit: str, *, note: str = "") -> list[Row]:
    """Return the squared error and its parts."""
    found = decomposed(pairs.answer, pairs.rating, cluster[pairs.item])
    n_items, n_raters = len(np.unique(pairs.item)), _n_raters(run, keys)
    rows = []
    for statistic, words in _PARTS.items():
        part: Linearised = getattr(found, statistic)
        told = f"{words} ({pairs.what})" if statistic == "squared_error" else words
        low, high, _ = interval(part, confidence=run.confidence)
        if statistic in _FITTED:
            low -= found.optimism
            told = joined(told, "" if np.isnan(found.optimism) else _LEANS.format(found.optimism))
            told = joined(told, _FEW if n_items < FEW_ITEMS else "")
        if np.isnan(low):
            told = joined(told, "no interval: the map has a step for every answer, or all are of one group")
        # None of these is below 0, whatever its error.
        ends = Interval(max(low, 0.0), high) if not np.isnan(low) else Interval(np.nan, np.nan)
        row = Row("reliability_curve", keys, statistic, part.value, note=joined(told, note))
        row = _with_interval(row, ends, f"linearised, clustered by {unit}", unit, run.confidence)
        rows.append(replace(row, n_items=n_items, n_raters=n_raters))
    return rows


def _with_interval(row: Row, ends: Interval, method: str, unit: str, confidence: float) -> Row:
    if np.isnan(ends.low):
        return row
    return replace(row, low=ends.low, high=ends.high, confidence=confidence, method=method, unit=unit)


def _n_raters(run: Run, keys: dict[str, Key]) -> int:
    if keys["criterion"] == "" and len(run.field.criteria) > 1:
        return run.field.n_raters
    of = run.field.criteria[run.field.names.index(str(keys["criterion"]))]
    return int(of.is_rated.any(axis=0).sum())


def _curves(run: Run, curves: Sequence[tuple[dict[str, Key], _Pairs, IntArray]], unit: str) -> list[Row]:
    """Return the rows of all bins; their intervals come from one set of draws."""
    if not curves:
        return []
    first = np.cumsum([0, *(int(bins.max()) + 1 for _, _, bins in curves)])
    item = np.concatenate([pairs.item for _, pairs, _ in curves])
    column = np.concatenate([start + bins for start, (_, _, bins) in zip(first, curves, strict=False)])
    rating = np.concatenate([pairs.rating for _, pairs, _ in curves])
    shape = (run.field.n_items, int(first[-1]))
    sums, counts = (
        sparse.csr_array((values, (item, column)), shape=shape).T.tocsr() for values in (rating, np.ones(len(rating)))
    )
    draws = run.store.draws
    if draws.over != unit:
        draws = Draws(run.field, "item" if unit == "item" else "group", draws.n_replicates, run.seed)
    means = np.concatenate([_means(sums, counts, weights) for _, weights, _ in draws.blocks()])
    rows = []
    for start, (keys, pairs, bins) in zip(first, curves, strict=False):
        fitted = isotonic(pairs.answer, pairs.rating)
        for number in range(int(bins.max()) + 1):
            here = bins == number
            of_bin = {**keys, "bin": number + 1}
            rows += _of_bin(run, of_bin, pairs, here, fitted, means[:, int(start) + number], unit)
    return rows


def _means(sums: sparse.csr_array, counts: sparse.csr_array, weights: FloatArray) -> FloatArray:
    """Return the mean rating of every bin in every replicate, NaN where a replicate has nothing of it."""
    total, n = (np.asarray((one @ weights.T).T, dtype=np.float64) for one in (sums, counts))
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def _of_bin(
    run: Run,
    keys: dict[str, Key],
    pairs: _Pairs,
    here: np.ndarray[tuple[int], np.dtype[np.bool_]],
    fitted: FloatArray,
    means: FloatArray,
    unit: str,
) -> list[Row]:
    answers = pairs.answer[here]
    span = f"{len(answers)} answers from {answers.min():.4g} to {answers.max():.4g}"
    ends = percentile_interval(means[1:], confidence=run.confidence)
    lost = f"undefined in {100 * ends.undefined_share:.2g} % of the replicates" if ends.undefined_share else ""
    rating = Row("reliability_curve", keys, "mean_rating", float(pairs.rating[here].mean()), note=joined(span, lost))
    rows = [
        Row("reliability_curve", keys, "mean_answer", float(answers.mean()), note=_OF_BIN),
        _with_interval(rating, ends, "percentile bootstrap, bins fixed", unit, run.confidence),
        Row("reliability_curve", keys, "isotonic", float(fitted[here].mean()), note=_OF_MAP),
    ]
    n_items, n_raters = len(np.unique(pairs.item[here])), _n_raters(run, keys)
    return [replace(row, n_items=n_items, n_raters=n_raters) for row in rows]
