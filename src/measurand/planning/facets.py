"""Which facets of a design carry the error, and how reliable would other numbers of their levels be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS, PIVOT_METHOD
from measurand.data.scale import Scale
from measurand.planning.balanced import Balanced, read_balanced
from measurand.planning.findings import facets_reliable
from measurand.planning.measured import check_confidence, check_draws
from measurand.result import Finding, Key, MeasurandError, Result, Row
from measurand.stats import facets as designs
from measurand.stats.inference import FloatArray, percentile_interval, stream
from measurand.stats.layouts import fitting, rounded_up
from measurand.stats.reliability import coefficient

#: Facets that a formula may have; with more, hundreds of thousands of cells are needed to tell their components apart.
MOST_FACETS: Final = 6


def facets(
    source: Any,
    *,
    formula: str,
    at: Sequence[Mapping[str, float]] = (),
    object_of_measurement: str = "system",
    fixed: Sequence[str] = (),
    target: float = 0.8,
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
        One rating a row, with a column for each facet. Balanced: every cell of the design has one rating.
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
        the error of differences at the design's own sizes); `g` and `phi` at the sizes in `at`; `levels_needed` of each
        random facet for G to reach the target, the others as they are, infinite where no number does. Estimator
        ``anova``, all facets random but the fixed ones. Finding `facets-reliable`.

    Raises
    ------
    MeasurandError
        A formula, object, facet or size that makes no design; cells without a rating or with two.

    References
    ----------
    Brennan (2001), Generalizability Theory, chapters 3 to 5.

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
    >>> for row in found.select("plan", "g"):
    ...     print(row.keys["at"], round(row.estimate, 2))
    item=4, occasion=2 0.64
    item=8, occasion=2 0.75
    """
    design = _parsed(formula, object_of_measurement, fixed)
    if not 0 < target < 1:
        raise MeasurandError(f"target {target:g}; give a coefficient above 0 and below 1")
    check_confidence(confidence)
    check_draws(draws, seed)
    read = read_balanced(
        source, design, columns=columns or {}, rating=rating, criterion=criterion, scale=scale, labels=labels
    )
    rows: list[Row] = []
    findings: list[Finding] = []
    for one in read:
        found = _Found(one, design, object_of_measurement, fixed, confidence, seed, draws)
        of_criterion = found.rows(at, target)
        rows += of_criterion
        findings.append(facets_reliable(of_criterion, one.criterion, target=target))
    settings = {
        "formula": str(design),
        "object": object_of_measurement,
        "fixed": list(fixed),
        "at": [dict(sizes) for sizes in at],
        "target": target,
        "confidence": confidence,
        "seed": seed,
        "draws": draws,
    }
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


class _Found:
    """The components of one criterion and what follows from them."""

    def __init__(
        self,
        one: Balanced,
        design: designs.Formula,
        object_: str,
        fixed: Sequence[str],
        confidence: float,
        seed: int,
        draws: int,
    ) -> None:
        self.one, self.design, self.object, self.fixed = one, design, object_, tuple(dict.fromkeys(fixed))
        self.confidence = confidence
        table = designs.anova(one.array, design)
        self.varies = sum(table.ss.values()) > 0
        if self.varies:
            values = designs.components(table)
            self.parts = {name: np.array(value) for name, value in values.items()}
            self.drawn = designs.pivots(table, n_draws=draws, rng=stream(seed, "facets", one.criterion))
        self.unit = "+".join(facet for facet in design.facets if facet not in self.fixed)

    def rows(self, at: Sequence[Mapping[str, float]], target: float) -> list[Row]:
        """Return every row of the criterion."""
        if not self.varies:
            reason = "no variation: all ratings are the same"
            return [Row("plan", self._keys(at=self._at(self.one.sizes)), "g", np.nan, undefined=reason)]
        rows = self._components()
        for sizes in [self.one.sizes, *(self._sizes(one) for one in at)]:
            rows += self._coefficients(sizes)
        for facet in self.design.facets:
            if facet != self.object and facet not in self.fixed:
                rows.append(self._needed(facet, target))
        return rows

    def _keys(self, **more: Key) -> dict[str, Key]:
        keys: dict[str, Key] = {"criterion": self.one.criterion, "formula": str(self.design), "estimator": "anova"}
        return keys | ({"fixed": ", ".join(self.fixed)} if self.fixed else {}) | more

    def _at(self, sizes: Mapping[str, float]) -> str:
        told = ((facet, sizes[facet]) for facet in self.design.facets if facet != self.object)
        return ", ".join(f"{facet}={size:g}" for facet, size in told)

    def _sizes(self, asked: Mapping[str, float]) -> dict[str, float]:
        for facet, size in asked.items():
            if facet not in self.design.facets or facet == self.object:
                others = ", ".join(one for one in self.design.facets if one != self.object)
                raise MeasurandError(f"at: no size of {facet!r} can be asked for; there are {others}")
            if not size >= 1:
                raise MeasurandError(f"at: {facet}={size:g}; give a number of levels of 1 or more")
            if facet in self.fixed and size != self.one.sizes[facet]:
                raise MeasurandError(
                    f"at: {facet} is fixed to its {self.one.sizes[facet]:g} levels, so that {size:g} cannot be had; "
                    "leave it out, or do not fix it"
                )
        return dict(self.one.sizes) | dict(asked)

    def _projected(self, sizes: Mapping[str, float]) -> designs.Projection:
        return designs.project(self.design, sizes, object_of_measurement=self.object, fixed=self.fixed)

    def _row(self, keys: dict[str, Key], statistic: str, value: float, drawn: FloatArray, note: str = "") -> Row:
        interval = percentile_interval(drawn, confidence=self.confidence)
        ends = (interval.low, interval.high, self.confidence, PIVOT_METHOD, self.unit)
        return Row("plan", keys, statistic, value, *ends, note=note)

    def _components(self) -> list[Row]:
        here = self._projected(self.one.sizes)
        error, drawn_error = (here.error(parts, absolute=False) for parts in (self.parts, self.drawn))
        rows = []
        for name, value in self.parts.items():
            keys = self._keys(component=name)
            note = "negative: kept as it is, and counts as 0 in errors" if value < 0 else ""
            rows.append(self._row(keys, "variance", float(value), self.drawn[name], note))
            weight = here.relative.get(name)
            if weight is None or not error > 0:
                continue
            with np.errstate(invalid="ignore", divide="ignore"):
                share, drawn = (
                    weight * np.maximum(parts[name], 0.0) / total
                    for parts, total in ((self.parts, error), (self.drawn, drawn_error))
                )
            rows.append(self._row(keys | {"at": self._at(self.one.sizes)}, "error_share", float(share), drawn))
        return rows

    def _coefficients(self, sizes: Mapping[str, float]) -> list[Row]:
        projected = self._projected(sizes)
        keys = self._keys(at=self._at(sizes))
        rows = []
        for statistic, absolute in (("g", False), ("phi", True)):
            value, drawn = (
                coefficient(projected.true_variance(parts), projected.error(parts, absolute=absolute))
                for parts in (self.parts, self.drawn)
            )
            if np.isnan(value):
                rows.append(Row("plan", keys, statistic, np.nan, undefined="neither objects nor errors vary"))
                continue
            lost = [name for name, part in self.parts.items() if part < 0]
            note = f"negative components count as 0: {', '.join(lost)}" if lost else ""
            rows.append(self._row(keys, statistic, float(value), drawn, note))
        return rows

    def _needed(self, facet: str, target: float) -> Row:
        """Return how many levels of one facet the target takes: the error is a + b / n in its number of levels."""
        one, many = (self._projected(dict(self.one.sizes) | {facet: size}) for size in (1.0, np.inf))
        value, drawn = (
            rounded_up(
                fitting(
                    one.error(parts, absolute=False) - many.error(parts, absolute=False),
                    np.maximum(one.true_variance(parts), 0.0) * (1 - target) / target
                    - many.error(parts, absolute=False),
                ),
                np.array(1.0),
            )
            for parts in (self.parts, self.drawn)
        )
        never = 100 * float(np.isinf(drawn).mean())
        note = f"no number suffices in {never:.0f} % of the draws; the other facets keep their sizes"
        return self._row(self._keys(component=facet, target=target), "levels_needed", float(value), drawn, note)
