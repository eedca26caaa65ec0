"""From tables and choices to a run: check what fits together, list what is to be computed, compute the replicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.data.answers import Answers, read_answers
from measurand.data.ratings import Ratings, as_ratings
from measurand.result import MeasurandError
from measurand.scoring.anchors import ANCHORS
from measurand.scoring.answered import Folds
from measurand.scoring.arms import split_arms
from measurand.scoring.contenders import BASELINES, BINARIZED, Contender, baseline, binarized, contenders
from measurand.scoring.field import Draws, Field, Over, field_of
from measurand.scoring.opponents import TargetOf
from measurand.scoring.paths import Aggregate, Calibration, Fit, Path
from measurand.scoring.replicates import Job, Store, replicate
from measurand.scoring.run import Run
from measurand.scoring.statistics import OF_ORDER, Measure, Positive
from measurand.stats.calibration import Ties
from measurand.stats.inference import stream

OVER: Final = ("item", "group", "rater", "item+rater", "group+rater")

Progress = Callable[[str, int, int], None]

#: Steps of a progress bar.
_STEPS: Final = 20


@dataclass(frozen=True)
class Choices:
    """What the user chose; `measurand.score` says what each means.

    Raises
    ------
    MeasurandError
        If a choice is none of those allowed.
    """

    statistics: Sequence[str]
    calibrate: Sequence[Calibration]
    fit: Fit
    target: TargetOf
    ties: Ties
    aggregate: Aggregate
    anchors: Sequence[str]
    baselines: Sequence[str]
    over: Sequence[Over]
    replicates: int
    reliable: float
    folds: int
    fold_repeats: int
    positive: Positive
    margin: float | None
    epsilon: float
    confidence: float
    seed: int

    def __post_init__(self) -> None:
        for name, chosen, allowed in (
            ("anchor", self.anchors, ANCHORS),
            ("baseline", self.baselines, BASELINES),
            ("over", self.over, OVER),
            ("calibrate", self.calibrate, ("rank", "none")),
        ):
            if wrong := [one for one in chosen if one not in allowed]:
                raise MeasurandError(f"{name} {wrong[0]!r}; allowed are {', '.join(allowed)}")
            if len(set(chosen)) < len(chosen):
                raise MeasurandError(f"{name} {', '.join(chosen)}: each may be named once")
        if not self.calibrate or not self.statistics:
            raise MeasurandError("name at least one calibration and one statistic")
        for number, low, high, what in (
            (self.reliable, -1.0, 1.0, "reliable"),
            (self.confidence, 0.5, 1.0, "confidence"),
            (self.epsilon, 0.0, 1.0, "epsilon"),
        ):
            if not low <= number <= high or (what == "confidence" and number >= 1):
                raise MeasurandError(f"{what} is {number:g}; give a number from {low:g} to {high:g}")
        if self.margin is not None and not self.margin > 0:
            raise MeasurandError(f"the margin of equivalence is {self.margin:g}; give a positive difference of kappa")
        if self.replicates < 100:
            raise MeasurandError(f"{self.replicates} replicates; give at least 100")
        if self.folds < 2 or self.fold_repeats < 1:
            raise MeasurandError(f"{self.folds} folds dealt {self.fold_repeats} times; give at least two folds, once")
        if self.seed < 0:
            raise MeasurandError(f"seed is {self.seed}; give 0 or above")

    @property
    def measures(self) -> list[Measure]:
        """The statistics."""
        return [Measure(name, self.positive) for name in self.statistics]

    @property
    def paths(self) -> list[Path]:
        """The paths, the headline's first; rank calibration with both fits, whose difference is what leaks."""
        ranked = Path("rank", self.fit, self.target, self.ties, self.aggregate)
        other = replace(ranked, fit="oracle" if self.fit == "held_out" else "held_out")
        found = {"rank": [ranked, other], "none": [ranked.uncalibrated()]}
        return [path for name in self.calibrate for path in found[name]]


def on_the_scale(
    *, calibrate: Calibration, fit: Fit, target: TargetOf, ties: Ties, folds: int, fold_repeats: int, seed: int
) -> Choices:
    """Return the choices of a run that scores nothing: those that decide what an answer is on the scale."""
    return Choices(
        statistics=("kappa_quadratic",),
        calibrate=(calibrate,),
        fit=fit,
        target=target,
        ties=ties,
        aggregate="pooled",
        anchors=(),
        baselines=(),
        over=(),
        replicates=100,
        reliable=0.0,
        folds=folds,
        fold_repeats=fold_repeats,
        positive="any",
        margin=None,
        epsilon=0.0,
        confidence=0.95,
        seed=seed,
    )


@dataclass(frozen=True)
class Laid:
    """Tables that fit each other, and what is to be computed on them."""

    rated: Ratings
    given: Answers
    field: Field
    contenders: Sequence[Contender]
    over: Sequence[Over]
    folds: Folds


def lay_out(answers: Answers | Any, ratings: Ratings | Any, choices: Choices, *, items: pd.DataFrame | None) -> Laid:
    """Read what is no table yet, and refuse what does not fit, before anything is computed."""
    rated = as_ratings(ratings)
    given = answers if isinstance(answers, Answers) else read_answers(answers, scale=rated.scales)
    if given.are_labels:
        raise MeasurandError("these answers are names of classes; score them against labels (--truth items.csv)")
    groups = None if items is None or "group" not in items else items.set_index("item")["group"]
    field = field_of(rated, groups=groups)
    found = contenders(given, split_arms(given), field)
    there = {(str(one.keys["system"]), str(one.keys["readout"])) for one in found}
    for one in list(found):
        cut = binarized(one, field)
        if cut is not None and (str(cut.keys["system"]), BINARIZED) not in there:
            found.append(cut)
    _check_scales(field, choices.paths)
    return Laid(rated, given, field, found, _over(choices, field), _folds(choices, field))


def compute(
    laid: Laid,
    choices: Choices,
    *,
    excluded: Mapping[tuple[str, ...], Sequence[str]] | None,
    progress: Progress | None,
    controls: Sequence[str] = (),
) -> tuple[Run, dict[str, Any]]:
    """Compute all replicates, and return the run with its resolved settings."""
    field, found, over = laid.field, laid.contenders, laid.over
    trivial = _baselines(choices, field, found)
    paths, measures = choices.paths, choices.measures
    stores: dict[str, Store] = {}
    for place, unit in enumerate(over):
        jobs = _jobs(choices, paths, measures, found, trivial, is_headline=place == 0)
        draws = Draws(field, unit, choices.replicates, choices.seed)
        stores[unit] = replicate(field, jobs, draws, laid.folds, progress=_told(progress, place, len(over)))
    run = Run(
        field,
        found,
        trivial,
        paths[0],
        paths,
        measures,
        choices.anchors if measures[0].name == "kappa_quadratic" else (),
        stores,
        laid.folds,
        choices.reliable,
        choices.confidence,
        choices.seed,
        choices.margin,
        choices.epsilon,
        excluded,
        frozenset(controls),
    )
    return run, _settings(choices, laid.rated, laid.given, field, over, run)


def _over(choices: Choices, field: Field) -> list[Over]:
    grouped = field.group is not None
    takes_raters = choices.statistics[0] == "kappa_quadratic"
    if choices.over:
        if not takes_raters and (wrong := [one for one in choices.over if "rater" in one]):
            raise MeasurandError(f"over {wrong[0]!r}, but {choices.statistics[0]} is for the raters at hand alone")
        if not grouped and (wrong := [one for one in choices.over if one.startswith("group")]):
            raise MeasurandError(f"over {wrong[0]!r}, but no item has a group; give a column group (--items items.csv)")
        return list(choices.over)
    units: list[Over] = ["group", "group+rater"] if grouped else ["item", "item+rater"]
    return units if takes_raters else units[:1]


def _folds(choices: Choices, field: Field) -> Folds:
    group = field.group if field.group is not None else np.arange(field.n_items)
    n = int(group.max()) + 1
    if n < choices.folds:
        what = "groups" if field.group is not None else "items"
        raise MeasurandError(f"{n} {what} cannot be dealt to {choices.folds} folds; give fewer (--folds)")
    rng = stream(choices.seed, "score", "folds")
    return Folds.drawn(group, n=choices.folds, repeats=choices.fold_repeats, rng=rng)


def _check_scales(field: Field, paths: Sequence[Path]) -> None:
    needs_steps = any(path.target == "consensus" for path in paths)
    for one in field.criteria:
        told = f" of {one.name!r}" if one.name else ""
        if one.scale.bounds is None:
            raise MeasurandError(
                f"the scale{told} is not declared; it is never inferred: --scale LOW:HIGH[:STEP], or "
                "read_ratings(…, scale=Scale(low, high, step=…))"
            )
        if needs_steps and one.scale_levels is None:
            raise MeasurandError(
                f"target consensus rounds means to the scale's levels, and the scale{told} has no step; declare it, "
                f"for example --scale {one.scale.bounds[0]:g}:{one.scale.bounds[1]:g}:1, or take --target ratings"
            )


def _baselines(choices: Choices, field: Field, found: Sequence[Contender]) -> list[Contender]:
    out = []
    for name in choices.baselines:
        if name == "shuffled":
            plain = [one for one in found if one.arm is not None and one.arm.is_plain]
            out += [baseline(name, field, seed=choices.seed, of=one) for one in plain]
        else:
            out.append(baseline(name, field, seed=choices.seed))
    return out


def _jobs(
    choices: Choices,
    paths: Sequence[Path],
    measures: Sequence[Measure],
    found: Sequence[Contender],
    trivial: Sequence[Contender],
    *,
    is_headline: bool,
) -> list[Job]:
    """Return what is computed: all of it over the headline's unit, arms and anchors on its path over the others."""
    jobs = []
    for measure in measures if is_headline else measures[:1]:
        for path in paths if is_headline and measure.name not in OF_ORDER else paths[:1]:
            for place, one in enumerate(found):
                jobs.append(Job(("arm", place, path, measure.name), path, one, measure=measure))
    if is_headline:
        for place, one in enumerate(trivial):
            jobs.append(Job(("baseline", place, paths[0]), paths[0], one, measure=measures[0]))
    if measures[0].name == "kappa_quadratic":
        for name in choices.anchors:
            jobs.append(Job(("anchor", name, paths[0]), paths[0], anchor=name))
    return jobs


def _told(progress: Progress | None, place: int, of: int) -> Progress | None:
    if progress is None:
        return None
    tell = progress

    def scaled(name: str, number: int, total: int) -> None:
        tell(name, round(_STEPS * (place + number / total) / of), _STEPS)

    return scaled


def _settings(
    choices: Choices, rated: Ratings, given: Answers, field: Field, over: Sequence[Over], run: Run
) -> dict[str, Any]:
    names = set(field.items)
    answered = set(map(str, given.frame["item"].cat.categories))
    criteria = set(given.criteria) if "criterion" in given.frame else set()
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(choices).items()},
        "over": list(over),
        "path": run.path.describe(),
        "n_items": field.n_items,
        "n_raters": field.n_raters,
        "n_criteria": len(field.criteria),
        "n_systems": len(given.systems),
        "n_arms": len(run.contenders),
        "items_without_answers": len(names - answered),
        "answered_items_without_ratings": len(answered - names),
        "criteria_without_ratings": sorted(criteria - set(field.names)) if field.names != [""] else [],
        "values_ignored_for_status": given.n_ignored,
        "scale": {name: rated.scale(name).describe() for name in field.names},
        "groups": None if field.group is None else int(field.group.max()) + 1,
        "excluded": [list(key) for key in run.excluded or ()],
        **({"controls": [name for name in given.systems if name in run.controls]} if run.controls else {}),
    }
