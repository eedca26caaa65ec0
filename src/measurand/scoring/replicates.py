"""The replicates of a scoring run: every arm, anchor and baseline on one shared set of draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import sparse

from measurand.scoring.anchors import anchor_kappa
from measurand.scoring.answered import Folds
from measurand.scoring.contenders import Contender
from measurand.scoring.field import Criterion, Draws, Field
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, kappa
from measurand.scoring.statistics import OF_ORDER, OF_POSITIVES, Measure, measured, positives
from measurand.stats import agreement
from measurand.stats.inference import FloatArray
from measurand.stats.ranking import prevalence

Progress = Callable[[str, int, int], None]

#: The series of each criterion's interval alpha, and of its share of positive items where a statistic asks for them.
ALPHA: Final = "alpha"
PREVALENCE: Final = "prevalence"


@dataclass(frozen=True)
class Job:
    """One series to compute: an arm or baseline, or an anchor, on a path and under a statistic.

    Parameters
    ----------
    name : tuple
        What identifies the series in the store.
    path : Path
        Calibration and aggregation.
    contender : Contender or None
        Whose answers; None for an anchor.
    anchor : str
        The anchor's name, blank for a contender.
    measure : Measure
        The statistic.
    """

    name: tuple[object, ...]
    path: Path
    contender: Contender | None = None
    anchor: str = ""
    measure: Measure = field(default_factory=lambda: Measure("kappa_quadratic"))

    def is_undefined(self, position: int) -> bool:
        """Whether answers to a criterion are no values of its scale and would be taken for such."""
        if self.contender is None or self.path.calibration != "none" or self.measure.name in OF_ORDER:
            return False
        return bool(self.contender.not_permitted[position])


@dataclass(frozen=True)
class Store:
    """Series of replicates, shape (1 + n_replicates, n_criteria); row 0 is the sample.

    Parameters
    ----------
    series : mapping
        Name of the job, or ``ALPHA``, to its series.
    draws : Draws
        What was redrawn.
    """

    series: Mapping[object, FloatArray]
    draws: Draws

    def __getitem__(self, name: object) -> FloatArray:
        return self.series[name]

    def __contains__(self, name: object) -> bool:
        return name in self.series


def replicate(on: Field, jobs: Sequence[Job], draws: Draws, folds: Folds, *, progress: Progress | None = None) -> Store:
    """Compute all series on the same draws, block by block of replicates.

    Parameters
    ----------
    on : Field
        Items, raters, ratings.
    jobs : sequence of Job
        What to compute.
    draws : Draws
        What is redrawn.
    folds : Folds
        For held-out calibration.
    progress : callable or None
        Told the name of the work, how many replicates are done, and how many there are.
    """
    n_rows = 1 + draws.n_replicates
    series: dict[object, FloatArray] = {job.name: np.full((n_rows, len(on.criteria)), np.nan) for job in jobs}
    series[ALPHA] = np.full((n_rows, len(on.criteria)), np.nan)
    alphas = [_Alpha.of(one) for one in on.criteria]
    finding = next((job.measure for job in jobs if job.measure.name in OF_POSITIVES), None)
    if finding is not None:
        series[PREVALENCE] = np.full((n_rows, len(on.criteria)), np.nan)
    for start, weights, raters in draws.blocks():
        here = slice(start, start + len(weights))
        for position, criterion in enumerate(on.criteria):
            opponents = Opponents(criterion, weights, raters)
            series[ALPHA][here, position] = alphas[position].values(weights)
            if finding is not None:
                rated = opponents.rated
                positive = positives(criterion, finding.positive)[rated]
                series[PREVALENCE][here, position] = prevalence(positive, weights[:, rated])
            for job in jobs:
                if job.is_undefined(position):
                    continue
                if job.contender is None:
                    found = anchor_kappa(job.anchor, opponents, job.path, folds)
                elif job.measure.name == "kappa_quadratic":
                    found = kappa(job.contender.answered[position], opponents, job.path, folds)
                else:
                    found = measured(job.measure, job.contender.answered[position], opponents, job.path, folds)
                series[job.name][here, position] = found
        if progress is not None:
            progress(f"replicates over {draws.over}", start + len(weights), n_rows)
    return Store(series, draws)


@dataclass(frozen=True)
class _Alpha:
    """Interval alpha of one criterion as a function of item weights; the raters stay."""

    patterns: agreement.Patterns
    membership: sparse.csr_array

    @classmethod
    def of(cls, criterion: Criterion) -> _Alpha:
        item, rater = np.nonzero(criterion.is_rated)
        rated, unit = np.unique(item, return_inverse=True)
        found = agreement.patterns(unit.astype(np.int64), criterion.ratings[item, rater], rater.astype(np.int64))
        rows = rated[found.unit]
        ones = np.ones(len(rows))
        shape = (len(criterion.count), found.n_patterns)
        return cls(found, sparse.csr_array((ones, (rows, found.of_unit)), shape=shape))

    def values(self, weights: FloatArray) -> FloatArray:
        if self.patterns.n_units == 0 or len(self.patterns.values) < 2:
            return np.full(len(weights), np.nan)
        return np.asarray(agreement.alphas(self.patterns, weights @ self.membership, ["interval"])["interval"])
