"""Score answers against individual raters: the whole run, from tables to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from threadpoolctl import threadpool_limits

from measurand.data.answers import Answers
from measurand.data.ratings import Ratings
from measurand.result import MeasurandError, Result
from measurand.scoring.anchors import ANCHORS
from measurand.scoring.contenders import BASELINES
from measurand.scoring.contrasts import contrast_rows
from measurand.scoring.coverage import coverage_rows
from measurand.scoring.decisions import decision_rows
from measurand.scoring.field import Over
from measurand.scoring.findings import findings
from measurand.scoring.gates import NOISE, failed_systems
from measurand.scoring.gates import gates as run_gates
from measurand.scoring.opponents import TargetOf
from measurand.scoring.paths import Aggregate, Calibration, Fit
from measurand.scoring.prepare import Choices, Progress, compute, lay_out
from measurand.scoring.reliability_curve import reliability_rows
from measurand.scoring.spread import spread_rows
from measurand.scoring.statistics import Positive
from measurand.scoring.tables import (
    anchor_rows,
    baseline_rows,
    criterion_rows,
    score_rows,
    sensitivity_points,
    sensitivity_rows,
)
from measurand.stats.calibration import Ties

#: What the first paper did, where it differs from our defaults.
PRESETS: Final[dict[str, dict[str, Any]]] = {
    "readout-paper": {
        "calibrate": ("rank",),
        "fit": "oracle",
        "target": "consensus",
        "ties": "index",
        "aggregate": "pooled",
        "anchors": ("pairwise",),
        "over": ("item",),
        "replicates": 500,
    }
}


def score(
    answers: Answers | Any,
    ratings: Ratings | Any,
    *,
    items: pd.DataFrame | None = None,
    systems: pd.DataFrame | None = None,
    statistics: Sequence[str] = ("kappa_quadratic",),
    calibrate: Sequence[Calibration] = ("rank", "none"),
    fit: Fit = "held_out",
    target: TargetOf = "ratings",
    ties: Ties = "block",
    aggregate: Aggregate = "pooled",
    anchors: Sequence[str] = tuple(ANCHORS),
    baselines: Sequence[str] = tuple(BASELINES),
    over: Sequence[Over] = (),
    replicates: int = 2000,
    reliable: float = 0.30,
    folds: int = 5,
    fold_repeats: int = 2,
    positive: Positive = "any",
    margin: float | None = None,
    epsilon: float = 0.1,
    gates: bool = True,
    example: Sequence[str] = (),
    noise: float = NOISE,
    excluded: Mapping[tuple[str, ...], Sequence[str]] | None = None,
    controls: Sequence[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Score the answers of systems against each individual rater, beside human anchors and trivial baselines.

    Parameters
    ----------
    answers : Answers, path or data frame
        See `measurand.read_answers`.
    ratings : Ratings, path or data frame
        Single ratings of the same items by several raters; see `measurand.read_ratings`, which reads a table with a
        column for each rater, with other names of columns, or with a scale.
    items : pandas.DataFrame or None
        Columns `item` and `group`: the groups that are redrawn as wholes; see `measurand.read_items`.
    systems : pandas.DataFrame or None
        Columns `system` and `parameters`; see `measurand.read_systems`.
    statistics : sequence of str
        Any of `measurand.scoring.statistics.STATISTICS`; contrasts and findings are about the first.
    calibrate : sequence of {"rank", "none"}
        Paths to report; the first is the headline's. ``none`` is undefined where answers are no values of the scale.
    fit : {"held_out", "oracle"}
        Where rank calibration takes its distribution from; the other one is computed, too, and their difference is
        what leaks. ``held_out`` needs no rating of the items that it scores; ``oracle`` is an upper bound.
    target : {"ratings", "consensus"}
        The distribution that answers are given: of single ratings, or of rounded means.
    ties : {"block", "midrank", "index", "random"}
        What equal answers are given.
    aggregate : {"pooled", "identity"}
        All pairs of a criterion together, or kappa rater by rater and then the mean.
    anchors, baselines : sequence of str
        Human yardsticks, and trivial ones, on the same path.
    over : sequence of {"item", "group", "rater", "item+rater", "group+rater"}
        What is redrawn; the first is the headline's. Blank takes items (groups where there are any), then items (or
        groups) and raters together, which is what a statement about raters of this kind needs.
    replicates : int
        Bootstrap replicates; calibration, set choice and selections are made anew in each.
    reliable : float
        Interval alpha from which a criterion is in the reliable set.
    folds, fold_repeats : int
        Folds of the held-out calibration, and how often they are dealt.
    positive : {"any", "majority", "median"}
        Which items are positive for average precision and AUROC.
    margin : float or None
        Margin of equivalence to the anchors; None tests none.
    epsilon : float
        Of the alternative annotator test.
    gates : bool
        Whether to ask first if the answers may be scored (`measurand.gates`, with `example` and `noise`); the arms that
        fail stay visible, and aggregates come with and without them.
    example : sequence of str
        Criteria that the prompt's own example named.
    noise : float
        Numerical noise of a probability.
    excluded : mapping or None
        Arms (system, readout, phrasing, variant) to take as failed, and for what, in place of what the gates find.
    controls : sequence of str
        Systems that are controls by their training: they are scored and contrasted, and count in no finding, spread
        or rank.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.
    progress : callable or None
        Told what is being computed, how many steps are done, and how many there are.

    Returns
    -------
    Result
        Analyses `scores`, `baselines`, `anchors`, `criteria`, `contrasts`, `coverage`, `decisions`, `spread`, `gates`,
        and the findings.

    Raises
    ------
    MeasurandError
        Tables that do not fit each other, one merged label in place of raters, unknown choices.

    References
    ----------
    Hallmen, Deuser, Kampa, Oswald & André (2026), arXiv 2610.08162.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     [(i, r, (i * k) % 5) for i in range(40) for r, k in (("R1", 1), ("R2", 1), ("R3", 6))],
    ...     columns=["item", "rater", "rating"],
    ... )
    >>> answers = pd.DataFrame({"system": "S", "item": range(40), "answer": [(i % 5) / 5 for i in range(40)]})
    >>> from measurand.data import Scale, read_ratings
    >>> ratings = read_ratings(table, scale=Scale(0, 4, step=1))
    >>> found = score(answers, ratings, calibrate=("rank",), fit="oracle", over=("item",), replicates=100)
    >>> round(found.value("scores", "kappa_quadratic", {"ties": "block", "fit": "oracle", "target": "ratings"}), 3)
    1.0
    """
    for name, value in (("statistics", statistics), ("calibrate", calibrate), ("anchors", anchors), ("over", over)):
        if isinstance(value, str):
            raise MeasurandError(f"{name}={value!r}; give a sequence of names, such as ({value!r},)")
    choices = Choices(
        statistics=tuple(statistics),
        calibrate=tuple(calibrate),
        fit=fit,
        target=target,
        ties=ties,
        aggregate=aggregate,
        anchors=tuple(anchors),
        baselines=tuple(baselines),
        over=tuple(over),
        replicates=replicates,
        reliable=reliable,
        folds=folds,
        fold_repeats=fold_repeats,
        positive=positive,
        margin=margin,
        epsilon=epsilon,
        confidence=confidence,
        seed=seed,
    )
    with threadpool_limits(limits=1, user_api="blas"):
        laid = lay_out(answers, ratings, choices, items=items)
        gated = Result([])
        if gates:
            gated = run_gates(
                laid.given,
                ratings=laid.rated,
                items=items,
                example=example,
                noise=noise,
                replicates=replicates,
                confidence=confidence,
                seed=seed,
                progress=progress,
            )
        failed = excluded
        if gates and excluded is None:
            failed = {tuple(arm): names for arm, names in failed_systems(gated).items()}
        run, settings = compute(laid, choices, excluded=failed, controls=controls, progress=progress)
        points = sensitivity_points(run)
        rows = [
            *score_rows(run),
            *sensitivity_rows(run, points),
            *baseline_rows(run),
            *anchor_rows(run),
            *criterion_rows(run),
            *contrast_rows(run, points),
            *coverage_rows(run),
            *decision_rows(run),
            *spread_rows(run, systems),
            *reliability_rows(run),
        ]
    names = dict.fromkeys(row.analysis for row in rows)
    result = Result(rows, {name: settings if name == "scores" else {} for name in names})
    return Result(rows, result.settings, findings(result, run)) + gated
