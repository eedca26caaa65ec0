"""How far each rater agrees with each system on each item: judgements of the systems, which can be audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from measurand.data.answers import Answers
from measurand.data.ratings import Ratings
from measurand.result import MeasurandError
from measurand.scoring.arms import Arm
from measurand.scoring.contenders import BINARIZED, Contender
from measurand.scoring.opponents import TargetOf
from measurand.scoring.paths import Calibration, Fit, calibrated_values
from measurand.scoring.prepare import Choices, Laid, lay_out, on_the_scale
from measurand.sentences import listed
from measurand.stats.calibration import Ties
from measurand.stats.inference import FloatArray


@dataclass(frozen=True)
class Judgements:
    """How far raters agree with systems.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `item`, `system`, `rater`, `rating` (from 0 to 1).
    arms : mapping of str to str
        For each system, the arm whose answers were taken, in words.
    n_without : mapping of str to int
        For each system, how many pairs of an item and a criterion that were rated have no answer of that arm.
    criteria : tuple of str
        The criteria that a judgement is the mean over: those that every system answered.
    """

    table: pd.DataFrame
    arms: Mapping[str, str]
    n_without: Mapping[str, int]
    criteria: tuple[str, ...]


def judgements(
    answers: Answers | Any,
    ratings: Ratings | Any,
    *,
    items: pd.DataFrame | None = None,
    raters: Sequence[str] = (),
    protocol: Mapping[str, str] | None = None,
    calibrate: Calibration = "rank",
    fit: Fit = "held_out",
    target: TargetOf = "ratings",
    ties: Ties = "block",
    folds: int = 5,
    fold_repeats: int = 2,
    seed: int = 0,
) -> Judgements:
    r"""Return how far each rater agrees with one answer of each system to each item, on average over criteria.

    Parameters
    ----------
    answers, ratings, items
        As for `measurand.score`.
    raters : sequence of str
        Whose agreement; empty for all.
    protocol : mapping of str to str
        Which answers of a system: any of `readout`, `phrasing`, `prefill`. A system that was not asked so gives those
        of its first arm. Empty for the protocol that most systems share, the first of several.
    calibrate, fit, target, ties, folds, fold_repeats, seed
        As for `measurand.score`: with the same values the answers on the scale are those that were scored.

    Returns
    -------
    Judgements
        A table that `measurand.read_ratings` reads on a scale from 0 to 1, and which arms it is about. Answers about
        one item are not independent of each other, so that an item has one judgement of a system by a rater: the mean
        over the criteria that the item was rated on and that every system answered at all. Where an answer to one of
        them, or the rater's rating, is missing there is no row: means over other criteria would be of other difficulty.

    Raises
    ------
    MeasurandError
        As for `measurand.score`, and if there is no such rater, no system that was asked so, a scale without bounds, no
        criterion that every system answered, or no item that a rater and a system both have whole.

    Notes
    -----
    An answer :math:`a` on the scale and a rating :math:`r` agree by :math:`1 - ((a - r) / w)^2`, :math:`w` the scale's
    width: the quadratic weight. Its mean is the observed agreement whose chance-corrected form is quadratic kappa. It
    is not corrected for chance itself: an answer that is the same for every item, of kappa 0, can have the highest.

    References
    ----------
    Cohen (1968), Weighted kappa, Psychological Bulletin 70, 213-220.

    Examples
    --------
    >>> from measurand.data import Scale, read_ratings
    >>> rows = [(i, r, (i * k) % 5) for i in range(40) for r, k in (("R1", 1), ("R2", 6))]
    >>> table = pd.DataFrame(rows, columns=["item", "rater", "rating"])
    >>> answers = pd.DataFrame({"system": "S", "item": range(40), "answer": [(i % 5) / 5 for i in range(40)]})
    >>> found = judgements(answers, read_ratings(table, scale=Scale(0, 4, step=1)), fit="oracle")
    >>> len(found.table), float(found.table["rating"].min()), found.arms
    (80, 1.0, {'S': ''})
    """
    choices = on_the_scale(
        calibrate=calibrate, fit=fit, target=target, ties=ties, folds=folds, fold_repeats=fold_repeats, seed=seed
    )
    laid = lay_out(answers, ratings, choices, items=items)
    field = laid.field
    chosen = _raters(field.raters, raters)
    arms = {one.system: (one, of) for one, of in _chosen(laid.contenders, protocol or {})}
    agreed = {name: _weights(contender, laid, choices, chosen) for name, (_, contender) in arms.items()}
    rated = np.stack([~np.isnan(one.ratings[:, chosen]).all(axis=1) for one in field.criteria])
    is_lacking = np.isnan(np.stack(list(agreed.values())))
    is_shared = np.array([not is_lacking[:, c].all(axis=(1, 2)).any() for c in range(len(field.criteria))])
    if not is_shared.any():
        raise MeasurandError("no criterion has answers of every system that these raters rated, too; name other arms")
    counted = rated & is_shared[:, None]
    n_counted = counted.sum(axis=0)[:, None].astype(np.float64)
    n_counted[n_counted == 0] = np.nan
    parts = []
    for (arm, _), weights in zip(arms.values(), agreed.values(), strict=True):
        # What is missing leaves its item without a mean.
        means = np.where(counted[:, :, None], weights, 0.0).sum(axis=0) / n_counted
        item, rater = np.nonzero(~np.isnan(means))
        parts.append(
            pd.DataFrame(
                {
                    "item": np.array(field.items, dtype=object)[item],
                    "system": arm.system,
                    "rater": np.array(field.raters, dtype=object)[chosen][rater],
                    "rating": means[item, rater],
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    if table.empty:
        raise MeasurandError(
            "no item has both an answer and a rating of one of these raters on each criterion that it was rated on; "
            "there is no agreement to audit"
        )
    n_without = {
        name: sum(
            int((np.isnan(one.values) & (of.count > 0)).sum())
            for one, of in zip(contender.answered, field.criteria, strict=True)
        )
        for name, (_, contender) in arms.items()
    }
    of_means = tuple(one.name for one, is_in in zip(field.criteria, is_shared, strict=True) if is_in)
    return Judgements(table, {name: _words(arm) for name, (arm, _) in arms.items()}, n_without, of_means)


def _weights(contender: Contender, laid: Laid, choices: Choices, chosen: Sequence[int]) -> FloatArray:
    """Return agreement, shape (n_criteria, n_items, n_raters); NaN where there is no answer or no rating."""
    found = []
    for answered, criterion in zip(contender.answered, laid.field.criteria, strict=True):
        bounds = criterion.scale.bounds
        if bounds is None:
            raise MeasurandError("agreement needs the scale's bounds; declare them ([scale] low, high)")
        values = calibrated_values(answered, criterion, choices.paths[0], laid.folds)
        found.append(1 - ((values[:, None] - criterion.ratings[:, chosen]) / (bounds[1] - bounds[0])) ** 2)
    return np.stack(found)


def _raters(there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    if absent := [name for name in wanted if name not in there]:
        raise MeasurandError(f"the ratings have no rater {absent[0]!r}; they have {listed(list(there), most=12)}")
    return [i for i, name in enumerate(there) if not wanted or name in wanted]


def _chosen(contenders: Sequence[Contender], protocol: Mapping[str, str]) -> list[tuple[Arm, Contender]]:
    """Return one arm of each system: of the protocol named, or that most systems share, or else its first."""
    plain = [(one.arm, one) for one in contenders if one.arm is not None and one.arm.is_plain]
    plain = [pair for pair in plain if pair[0].readout != BINARIZED] or plain
    if protocol:
        fits = {id(arm) for arm, _ in plain if all(getattr(arm, name) == value for name, value in protocol.items())}
        if not fits:
            told = ", ".join(f"{name} {value!r}" for name, value in protocol.items())
            there = list(dict.fromkeys(_words(arm) for arm, _ in plain))
            raise MeasurandError(f"no system was asked with {told}; there are the arms {listed(there, most=8)}")
    else:
        shared: dict[tuple[str, str, str], int] = {}
        for arm, _ in plain:
            shared[_protocol(arm)] = shared.get(_protocol(arm), 0) + 1
        most = max(shared, key=lambda one: shared[one])
        fits = {id(arm) for arm, _ in plain if _protocol(arm) == most}
    out: dict[str, tuple[Arm, Contender]] = {}
    for pair in [*(one for one in plain if id(one[0]) in fits), *plain]:
        out.setdefault(pair[0].system, pair)
    order = list(dict.fromkeys(arm.system for arm, _ in plain))
    return [out[name] for name in order]


def _protocol(arm: Arm) -> tuple[str, str, str]:
    return arm.readout, arm.phrasing, arm.variant


def _words(arm: Arm) -> str:
    return ", ".join(part for part in _protocol(arm) if part)
