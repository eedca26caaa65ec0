"""One scoring run: what was compared, its replicates, and how a series becomes a number with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.result import Key, Row
from measurand.scoring.answered import Folds
from measurand.scoring.contenders import Contender
from measurand.scoring.field import SETS, Field
from measurand.scoring.paths import Path
from measurand.scoring.replicates import ALPHA, Store
from measurand.scoring.statistics import OF_ORDER, Measure
from measurand.sentences import joined
from measurand.stats.inference import FloatArray, percentile_interval

#: With no more criteria than this each is contrasted on its own, too.
MOST_SINGLE: Final = 8
#: Below this many redrawn raters the bootstrap over raters is too narrow.
FEW_RATERS: Final = 20
FEW_ITEMS: Final = 20

#: Distance of the replicates' median from the estimate, in widths of the interval, from which a row tells of it.
_OFF_CENTRE: Final = 0.25

BOTH_COVERAGE: Final = (
    "in simulation (300 items, 8 raters of whom 4 saw an item) a 95 % interval of this kind held 98 to 100 % of the "
    "time, too wide"
)

NO_VARIATION: Final = "neither the answers nor the ratings vary"


@dataclass(frozen=True)
class Scope:
    """A criterion, or the mean over a set of criteria that is chosen in every replicate anew."""

    criterion: str = ""
    set: str = ""

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of a row."""
        return {"criterion": self.criterion, "set": self.set}


@dataclass(frozen=True)
class Run:
    """Everything that a scoring run has computed.

    Parameters
    ----------
    field : Field
        What answers were scored against.
    contenders, baselines : sequences of Contender
        Arms, and trivial baselines.
    path : Path
        The path of the headline.
    paths : sequence of Path
        All paths that arms were scored on.
    measures : sequence of Measure
        The statistics; the first is the headline.
    anchors : sequence of str
        The anchors.
    stores : mapping
        What was redrawn to the series of its replicates; the first is the headline's.
    folds : Folds
        Folds of held-out calibration.
    threshold : float
        Interval alpha from which a criterion is reliable.
    confidence, seed, margin, epsilon
        Level of intervals, the one seed, margin of equivalence (None for none), and epsilon of the alternative
        annotator test.
    excluded : mapping or None
        Keys of arms that failed a gate to the gates that they failed; None where no gate was asked.
    controls : frozenset of str
        Systems that are controls by their training.
    """

    field: Field
    contenders: Sequence[Contender]
    baselines: Sequence[Contender]
    path: Path
    paths: Sequence[Path]
    measures: Sequence[Measure]
    anchors: Sequence[str]
    stores: Mapping[str, Store]
    folds: Folds
    threshold: float
    confidence: float
    seed: int
    margin: float | None
    epsilon: float
    excluded: Mapping[tuple[str, ...], Sequence[str]] | None
    controls: frozenset[str] = frozenset()

    @property
    def measure(self) -> Measure:
        """The statistic of the headline."""
        return self.measures[0]

    @property
    def over(self) -> str:
        """What the headline's intervals redraw."""
        return next(iter(self.stores))

    @property
    def store(self) -> Store:
        """The replicates of the headline."""
        return self.stores[self.over]

    def competes(self, one: Contender) -> bool:
        """Whether an arm is a system's own plain answers, and the system no control."""
        return one.arm is not None and one.arm.is_plain and one.arm.system not in self.controls

    @cached_property
    def scopes(self) -> list[Scope]:
        """All criteria, then the sets where there are several."""
        singles = [Scope(criterion=name) for name in self.field.names]
        return singles + ([Scope(set=name) for name in SETS] if len(singles) > 1 else [])

    @cached_property
    def headlines(self) -> list[Scope]:
        """What is contrasted: the sets, and each criterion where there are few."""
        sets = [scope for scope in self.scopes if scope.set]
        singles = [scope for scope in self.scopes if not scope.set]
        return singles if not sets else [*sets, *(singles if len(singles) <= MOST_SINGLE else [])]

    @property
    def main(self) -> Scope:
        """The scope that findings speak of: the reliable criteria, all where none is, or the only one."""
        if len(self.field.criteria) == 1:
            return self.scopes[0]
        return Scope(set="reliable" if self.chosen("reliable", self.store)[0].any() else "all")

    def chosen(self, name: str, store: Store, *, threshold: float | None = None) -> npt.NDArray[np.bool_]:
        """Return which criteria a set holds in each replicate, shape (1 + n_replicates, n_criteria)."""
        alpha = store[ALPHA]
        if name == "all":
            return np.ones(alpha.shape, dtype=bool)
        with np.errstate(invalid="ignore"):
            is_reliable = alpha >= (self.threshold if threshold is None else threshold)
        if name == "reliable_fixed":
            return np.broadcast_to(is_reliable[:1], alpha.shape)
        return np.asarray(is_reliable if name == "reliable" else ~is_reliable)

    def columns(self, series: Sequence[FloatArray], scope: Scope, store: Store) -> list[FloatArray]:
        """Return series of a scope, shape (1 + n_replicates,) each; of a set over the criteria that all have."""
        if not scope.set:
            position = self.field.names.index(scope.criterion)
            return [one[:, position] for one in series]
        mask = self.chosen(scope.set, store)
        for one in series:
            # A criterion that has no score at all is no part of the set; one that a replicate leaves without leaves
            # the replicate without a mean, which is told.
            mask = mask & ~np.isnan(one[0])
        return means(series, mask)

    def point(self, series: FloatArray, scope: Scope) -> float:
        """Return the number of a scope from one row of a series, (1, n_criteria): the sample alone."""
        if not scope.set:
            return float(series[0, self.field.names.index(scope.criterion)])
        return float(means([series], self.chosen(scope.set, self.store)[:1] & ~np.isnan(series))[0][0])

    def arm(self, position: int, path: Path | None = None, *, store: Store | None = None) -> FloatArray:
        """Return the series of an arm on a path, the headline's if none is given."""
        of = self.store if store is None else store
        return of["arm", position, path or self.path, self.measure.name]

    def anchor(self, name: str, *, store: Store | None = None) -> FloatArray:
        """Return the series of an anchor."""
        return (self.store if store is None else store)["anchor", name, self.path]

    def path_keys(self, path: Path, measure: Measure) -> dict[str, Key]:
        """Return the calibration keys of a row; statistics of order alone have none but the aggregation."""
        return path.uncalibrated().keys if measure.name in OF_ORDER else path.keys

    def row(
        self,
        analysis: str,
        keys: Mapping[str, Key],
        statistic: str,
        values: FloatArray,
        *,
        over: str,
        n_items: int | None = None,
        n_raters: int | None = None,
        undefined: str = "",
        note: str = "",
    ) -> Row:
        """Return a number with its percentile interval; row 0 of the values is the estimate."""
        estimate = float(values[0])
        sample: dict[str, Any] = {"n_items": n_items, "n_raters": n_raters}
        if np.isnan(estimate):
            reason = undefined or NO_VARIATION
            return Row(analysis, keys, statistic, np.nan, unit=over, undefined=reason, note=note, **sample)
        draws = values[1:]
        interval = percentile_interval(draws, confidence=self.confidence)
        if np.isnan(interval.low):
            return Row(
                analysis,
                keys,
                statistic,
                estimate,
                unit=over,
                note=joined(note, "no interval: no replicate is defined"),
                **sample,
            )
        centre = float(np.median(draws[~np.isnan(draws)]))
        if abs(centre - estimate) > _OFF_CENTRE * (interval.high - interval.low):
            note = joined(note, f"the replicates centre on {centre:.4g}: they repeat items, and choose and fit anew")
        if interval.undefined_share:
            note = joined(note, f"{100 * interval.undefined_share:.3g} % of the replicates are undefined and left out")
        return Row(
            analysis,
            keys,
            statistic,
            estimate,
            interval.low,
            interval.high,
            self.confidence,
            "percentile bootstrap, refitted",
            over,
            note=joined(note, self.warning(over)),
            **sample,
        )

    def sample(self, scope: Scope) -> tuple[int, int]:
        """Return how many items, and how many raters, a scope's numbers rest on."""
        if scope.set:
            return self.field.n_items, self.field.n_raters
        of = self.field.criteria[self.field.names.index(scope.criterion)]
        return int((of.count > 0).sum()), int(of.is_rated.any(axis=0).sum())

    def warning(self, over: str) -> str:
        """Return what a reader must know about intervals that redraw this."""
        n_raters = self.field.n_raters
        drawn = self.field.n_items
        if over.startswith("group") and self.field.group is not None:
            drawn = int(self.field.group.max()) + 1
        said = ""
        if "rater" in over and n_raters < FEW_RATERS:
            shrunk = 100 * (n_raters - 1) / n_raters
            said = f"with {n_raters} raters the variance that raters make comes out {shrunk:.0f} % as large as it is"
            if over != "rater":
                said = joined(said, BOTH_COVERAGE)
            if n_raters == 2:  # drawn both, or one alone, who has nobody to be held against
                said = "two raters make one pair, which cannot be redrawn"
        if over != "rater" and drawn < FEW_ITEMS:
            said = joined(said, f"{drawn} redrawn: the interval is too narrow")
        return said

    def without_interval(
        self, analysis: str, keys: Mapping[str, Key], statistic: str, estimate: float, *, note: str, undefined: str = ""
    ) -> Row:
        """Return a number that has no interval, and why."""
        if np.isnan(estimate):
            return Row(analysis, keys, statistic, np.nan, undefined=undefined or NO_VARIATION, note=note)
        return Row(analysis, keys, statistic, float(estimate), note=note)


def means(series: Sequence[FloatArray], mask: npt.NDArray[np.bool_]) -> list[FloatArray]:
    """Return means over the criteria that a mask holds, NaN where it holds none."""
    n = mask.sum(axis=1)
    return [
        np.divide(np.where(mask, one, 0.0).sum(axis=1), n, out=np.full(len(n), np.nan), where=n > 0) for one in series
    ]
