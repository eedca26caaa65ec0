"""How far each rater agrees with each system on each item: judgements of the systems, which can be audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.data.answers import Answers
from measurand.data.ratings import Ratings
from measurand.result import MeasurandError
from measurand.scoring.arms import Arm
from measurand.scoring.contenders import BINARIZED, Contender
from measurand.scoring.opponents import TargetOf
from measurand.scoring.paths import Calibration, Fit, calibrated_values
from measurand.scoring.prepare import Choices, lay_out
from measurand.sentences import listed
from measurand.stats.calibration import Ties

#: What tells an item from the criterion that it was rated on, where there are several.
_BETWEEN: Final = " · "


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
    """

    table: pd.DataFrame
    arms: Mapping[str, str]
    n_without: Mapping[str, int]


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
    r"""Return how far each rater agrees with one answer of each system to each item and criterion.

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
        A table that `measurand.read_ratings` reads on a scale from 0 to 1, and which arms it is about. Of several
        criteria each pair of an item and a criterion is an item. What has no answer or no rating has no row.

    Raises
    ------
    MeasurandError
        As for `measurand.score`, and if there is no such rater, no system that was asked so, or a scale without bounds.

    Notes
    -----
    An answer :math:`a` on the scale and a rating :math:`r` agree by :math:`1 - ((a - r) / w)^2`, :math:`w` the scale's
    width: the quadratic weight. Its mean is the observed agreement whose chance-corrected form is quadratic kappa.

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
    choices = Choices(
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
    laid = lay_out(answers, ratings, choices, items=items)
    field = laid.field
    chosen = _raters(field.raters, raters)
    arms = {one.system: (one, of) for one, of in _chosen(laid.contenders, protocol or {})}
    parts = []
    n_without = dict.fromkeys(arms, 0)
    for system, (arm, contender) in arms.items():
        for answered, criterion in zip(contender.answered, field.criteria, strict=True):
            bounds = criterion.scale.bounds
            if bounds is None:
                raise MeasurandError("agreement needs the scale's bounds; declare them ([scale] low, high)")
            values = calibrated_values(answered, criterion, choices.paths[0], laid.folds)
            n_without[system] += int((np.isnan(values) & (criterion.count > 0)).sum())
            weights = 1 - ((values[:, None] - criterion.ratings[:, chosen]) / (bounds[1] - bounds[0])) ** 2
            item, rater = np.nonzero(~np.isnan(weights))
            names = np.array(field.items, dtype=object)[item]
            parts.append(
                pd.DataFrame(
                    {
                        "item": [f"{name}{_BETWEEN}{criterion.name}" if criterion.name else name for name in names],
                        "system": arm.system,
                        "rater": np.array(field.raters, dtype=object)[chosen][rater],
                        "rating": weights[item, rater],
                    }
                )
            )
    table = pd.concat(parts, ignore_index=True)
    if table.empty:
        raise MeasurandError("no item has both an answer and a rating of these raters; there is no agreement to audit")
    return Judgements(table, {name: _words(arm) for name, (arm, _) in arms.items()}, n_without)


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
