"""Which facets of a design carry the error, and how reliable would other numbers of their levels be?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS
from measurand.data.scale import Scale
from measurand.planning.cells import read_cells
from measurand.planning.findings import facets_reliable
from measurand.planning.findings_sizes import sizes_reachable
from measurand.planning.fitted import Fitted, fitted
from measurand.planning.measured import check_confidence, check_draws, off_centre
from measurand.planning.sized import AskedSizes, limits_of, settings_of, sized_rows
from measurand.planning.sizes import JUDGEMENT
from measurand.result import Finding, Key, MeasurandError, Result, Row
from measurand.sentences import joined
from measurand.stats import facets as designs
from measurand.stats.inference import FloatArray, percentile_interval
from measurand.stats.layouts import fitting, rounded_up
from measurand.stats.reliability import coefficient

#: Facets that a formula may have; with more, hundreds of thousands of cells are needed to tell their components apart.
MOST_FACETS: Final = 6
_EFFECTIVE: Final = "the mean over objects of the sums of their squared shares of ratings, inverted"


def facets(
    source: Any,
    *,
    formula: str,
    at: Sequence[Mapping[str, float]] = (),
    object_of_measurement: str = "system",
    fixed: Sequence[str] = (),
    target: float = 0.8,
    costs: Mapping[str, float] | None = None,
    least: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
    most_per_rater: int | None = None,
    columns: Mapping[str, str] | None = None,
    rating: str = "rating",
    criterion: str | None = None,
    scale: Scale | Mapping[str, Scale] | None = None,
    labels: Sequence[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = PIVOT_DRAWS,
) -> Result:
    """Return the components of a design of any facets, and the reliability of studies of other sizes.

    Parameters
    ----------
    source : path or data frame
        One rating a row, with a column for each facet; no cell has two. Cells may be empty, and nested facets may have
        more levels in one place than in another.
    formula : str
        Such as ``system x item x rater x phrasing`` or ``system x item x (rater:group)``; ``a:b`` says that each b has
        levels of a of its own.
    at : sequence of mapping
        Sizes of studies to project: facet to its number of levels, of a nested one within each of what it is nested
        in. A facet that is left out keeps the size that it has.
    object_of_measurement : str
        The facet whose differences are wanted.
    fixed : sequence of str
        Facets of which every later study would have these very levels.
    target : float
        The G that is wanted, above 0 and below 1.
    costs : mapping or None
        Facet to the cost of each of its levels, and ``"judgement"`` to that of each rating, any unit. A nested facet's
        levels are those of all it is nested in: raters of all groups. What is left out costs nothing; a judgement
        costs 1 unless it is named.
    least, most : mapping or None
        Facet to the smallest and largest number of its levels that are tried. Where they are left out: two items and
        raters and one of any other facet; 2,000 items, 200 raters and 20 of another (8 where there are several
        others).
    most_per_rater : int or None
        Ratings that one level of the facet ``rater`` could give; None for any number.
    columns : mapping or None
        Facet to its column, where the names differ.
    rating, criterion : str or None
        Columns of the rating, and of the criterion; None takes ``criterion`` if there is one.
    scale, labels
        As for `measurand.read_ratings`.
    confidence, seed, draws
        As for `measurand.auditing.components`.

    Returns
    -------
    Result
        Analysis `plan`, keys `formula` and `fixed`. `variance` and `error_share` of each `component` (what it adds to
        the error of differences at the design's own sizes); `g` and `phi` of the design itself (`basis` ``as_rated``)
        and of complete ones of the sizes in `at`; `levels_needed` of each random facet for G to reach the target, the
        others as they are, infinite where no number does. Estimator ``anova`` where every cell has a rating, else
        ``henderson``, all facets random but the fixed ones; then also `share_rated`, of all cells, and
        `effective_levels`, by which the design itself divides each component. The cheapest sizes of the random facets
        that reach the target, in a complete design, have `cost`, `n_judgements`, `g`, `phi` and `probability_reached`:
        `basis` ``estimate`` by the estimate, ``lower_limit`` with confidence, ``front`` for each of
        `measurand.planning.reliable.LEVELS` in place of the target; ``same_cost`` has the sizes of the least error for
        what the design itself cost. `cost_needed` is as in `measurand.planning.plan`. Findings `facets-reliable` and
        `target-reachable`.

    Raises
    ------
    MeasurandError
        A formula, object, facet or size that makes no design; two ratings in a cell; so many empty cells that
        differences of the object, or components, cannot be told.

    Notes
    -----
    Where cells are empty, intervals are those of incomplete panels: pivots on effective mean squares, with degrees of
    freedom from simulated tables of the same cells (`measurand.stats.effective`). Sizes that are not asked for are then
    effective numbers (`measurand.stats.incomplete.effective_sizes`).

    References
    ----------
    Brennan (2001), Generalizability Theory, chapters 3 to 5, 7; Henderson (1953), Biometrics 9, 226-252.

    Examples
    --------
    Brennan's synthetic data set 3, persons by items by occasions:

    >>> import pandas as pd
    >>> digits = ["2455442306", "6559346458", "7648546447", "5766675556",
    ...     "2655462656", "5747547658", "5557677658", "5756485436"]
    >>> table = pd.DataFrame(
    ...     [(p, k % 4, k // 4, int(digits[k][p])) for k in range(8) for p in range(10)],
    ...     columns=["person", "item", "occasion", "rating"])
    >>> sizes = [{"item": 8, "occasion": 2}]
    >>> found = facets(
    ...     table, formula="person x item x occasion", object_of_measurement="person", at=sizes, draws=1000)
    >>> for row in found.select("plan", "g")[:2]:
    ...     print(row.keys["at"], round(row.estimate, 2))
    item=4, occasion=2 0.64
    item=8, occasion=2 0.75
    """
    design = _parsed(formula, object_of_measurement, fixed)
    if not 0 < target < 1:
        raise MeasurandError(f"target {target:g}; give a coefficient above 0 and below 1")
    check_confidence(confidence)
    check_draws(draws, seed)
    asked = AskedSizes(
        target, {JUDGEMENT: 1.0} | dict(costs or {}), dict(least or {}), dict(most or {}), most_per_rater, confidence
    )
    limits = limits_of(design, object_of_measurement, fixed, asked)
    read = read_cells(
        source, design, columns=columns or {}, rating=rating, criterion=criterion, scale=scale, labels=labels
    )
    rows: list[Row] = []
    findings: list[Finding] = []
    for one in read:
        made = fitted(one, design, object_of_measurement=object_of_measurement, fixed=fixed, seed=seed, draws=draws)
        of_criterion = _Rows(made, confidence).rows(at, target)
        findings.append(facets_reliable(of_criterion, one.criterion, target=target))
        sizes = sized_rows(made, asked, limits) if made.parts else []
        findings.append(sizes_reachable(sizes or of_criterion, one.criterion, target=target, limits=str(limits)))
        rows += [*of_criterion, *sizes]
    settings = {
        "formula": str(design),
        "object": object_of_measurement,
        "fixed": list(fixed),
        "at": [dict(sizes) for sizes in at],
        "target": target,
        "confidence": confidence,
        "seed": seed,
        "draws": draws,
    } | settings_of(asked, limits)
    return Result(rows, {"plan": settings}, findings)


def _parsed(formula: str, object_of_measurement: str, fixed: Sequence[str]) -> designs.Formula:
    try:
        design = designs.Formula.parse(formula)
        designs.project(
            design, dict.fromkeys(design.facets, 2.0), object_of_measurement=object_of_measurement, fixed=fixed
        )
    except ValueError as error:
        raise MeasurandError(f"formula {formula!r}: {error}") from error
    if len(design.facets) > MOST_FACETS:
        raise MeasurandError(f"formula {formula!r} has {len(design.facets)} facets; at most {MOST_FACETS} are taken")
    if len(set(fixed)) == len(design.facets) - 1:
        raise MeasurandError(f"formula {formula!r}: with every facet fixed there is no error left; leave one random")
    return design


class _Rows:
    """The rows of one criterion."""

    def __init__(self, made: Fitted, confidence: float) -> None:
        self.made, self.confidence = made, confidence
        self.unit = "+".join(facet for facet in made.design.facets if facet not in made.fixed)

    def rows(self, at: Sequence[Mapping[str, float]], target: float) -> list[Row]:
        """Return every row."""
        made = self.made
        own: dict[str, Key] = {"at": made.told(made.sizes), "basis": "as_rated"}
        if not made.parts:
            reason = "no variation: all ratings are the same"
            return [Row("plan", made.keys(**own), "g", np.nan, undefined=reason)]
        rows = self._components(own)
        rows += self._coefficients(made.here, own)
        # Sizes that were asked for twice, or that the design has, are one number each.
        seen = {made.told(made.sizes)} if made.is_balanced else set()
        for one in at:
            sizes = self._sizes(one)
            if (told := made.told(sizes)) not in seen:
                rows += self._coefficients(made.projected(sizes), {"at": told})
            seen.add(told)
        rows += [self._needed(facet, target) for facet in made.random]
        return rows

    def _sizes(self, asked: Mapping[str, float]) -> dict[str, float]:
        made = self.made
        for facet, size in asked.items():
            if facet not in made.design.facets or facet == made.object_of_measurement:
                others = ", ".join(one for one in made.design.facets if one != made.object_of_measurement)
                raise MeasurandError(f"at: no size of {facet!r} can be asked for; there are {others}")
            if not (size >= 1 and float(size).is_integer()):
                raise MeasurandError(f"at: {facet}={size:g}; give a whole number of levels of 1 or more")
            if facet in made.fixed and size != made.sizes[facet]:
                raise MeasurandError(
                    f"at: {facet} is fixed to its {made.sizes[facet]:g} levels, so that {size:g} cannot be had; "
                    "leave it out, or do not fix it"
                )
        return dict(made.sizes) | dict(asked)

    def _row(self, keys: dict[str, Key], statistic: str, value: float, drawn: FloatArray, note: str = "") -> Row:
        interval = percentile_interval(drawn, confidence=self.confidence)
        ends = (interval.low, interval.high, self.confidence, self.made.method, self.unit)
        note = joined(note, self.made.held(statistic, self.confidence), off_centre(value, interval.low, interval.high))
        return Row("plan", keys, statistic, value, *ends, note=note)

    def _both(self, function: Callable[[Mapping[str, FloatArray]], FloatArray]) -> tuple[float, FloatArray]:
        """Return a function of the components at the estimate, and of their draws."""
        return float(function(self.made.parts)), function(self.made.drawn)

    def _components(self, own: dict[str, Key]) -> list[Row]:
        made = self.made
        rows = []
        if not made.is_balanced:
            n, cells = len(made.cells.rating), made.cells.n_cells
            note = f"{n:,} ratings in {cells:,} cells"
            rows.append(Row("plan", made.keys(**own), "share_rated", n / cells, note=note))
        for name, value in made.parts.items():
            keys = made.keys(component=name)
            note = "negative: kept as it is, and counts as 0 in errors" if value < 0 else ""
            rows.append(self._row(keys, "variance", *self._both(itemgetter(name)), note))
            weight = made.here.relative.get(name)
            if not made.is_balanced and name in made.here.absolute:
                levels = 1 / made.here.absolute[name]
                rows.append(Row("plan", keys | own, "effective_levels", levels, note=_EFFECTIVE))
            if weight is None or not made.here.error(made.parts, absolute=False) > 0:
                continue
            share = self._both(partial(_share, made.here, name))
            rows.append(self._row(keys | own, "error_share", *share))
        return rows

    def _coefficients(self, projected: designs.Projection, more: dict[str, Key]) -> list[Row]:
        made = self.made
        lost = [name for name, part in made.parts.items() if part < 0]
        note = f"negative components count as 0: {', '.join(lost)}" if lost else ""
        rows = []
        for statistic, absolute in (("g", False), ("phi", True)):
            value, drawn = self._both(partial(_coefficient, projected, absolute))
            keys = made.keys(**more)
            if np.isnan(value):
                rows.append(Row("plan", keys, statistic, np.nan, undefined="neither objects nor errors vary"))
            else:
                rows.append(self._row(keys, statistic, value, drawn, note))
        return rows

    def _needed(self, facet: str, target: float) -> Row:
        """Return how many levels of one facet the target takes: the error is a + b / n in its number of levels."""
        made = self.made
        one, many = (made.projected(dict(made.sizes) | {facet: size}) for size in (1.0, np.inf))

        def levels(parts: Mapping[str, FloatArray]) -> FloatArray:
            never = many.error(parts, absolute=False)
            room = np.maximum(one.true_variance(parts), 0.0) * (1 - target) / target - never
            return rounded_up(fitting(one.error(parts, absolute=False) - never, room), np.array(1.0))

        value, drawn = self._both(levels)
        others = "the other facets keep their sizes"
        if not made.is_balanced:
            others = "in a complete design; the other facets keep their effective sizes"
        note = f"no number suffices in {100 * float(np.isinf(drawn).mean()):.0f} % of the draws; {others}"
        return self._row(made.keys(component=facet, target=target), "levels_needed", value, drawn, note)


def _share(here: designs.Projection, name: str, parts: Mapping[str, FloatArray]) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(here.relative[name] * np.maximum(parts[name], 0.0) / here.error(parts, absolute=False))


def _coefficient(projected: designs.Projection, is_absolute: bool, parts: Mapping[str, FloatArray]) -> FloatArray:
    return coefficient(projected.true_variance(parts), projected.error(parts, absolute=is_absolute))
