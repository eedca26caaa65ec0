"""Which class, and is it the right one? Forced choice against a label, with paired intervals over items or groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from measurand.checks import check_level, check_seed
from measurand.data.answers import Answers, as_answers
from measurand.data.items import as_items
from measurand.result import Key, MeasurandError, Result, Row
from measurand.scoring.forced_choice_arms import choosers, read_truth
from measurand.scoring.forced_choice_cells import Cell
from measurand.scoring.forced_choice_contrasts import contrasts, matched_accuracy, pairings
from measurand.scoring.forced_choice_findings import findings
from measurand.stats import classes
from measurand.stats.inference import FloatArray, bootstrap, clusters, stream

Over = Literal["item", "group"]
Progress = Callable[[str, int, int], None]


def forced_choice(
    answers: Answers | Sequence[Answers] | Any,
    items: pd.DataFrame | Any,
    *,
    ties: classes.Ties = "split",
    margin: float = 0.0,
    over: Over | None = None,
    by: str = "",
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Hold the class that each system chose against the label that is true of each item.

    Parameters
    ----------
    answers : Answers, or several
        One number for each item and class (`criterion` is the class; the highest number is the choice), or the name of
        the chosen class (read with ``labels=True``); several tables where systems were read in both ways.
    items : path or data frame
        As of `measurand.data.read_items`: `label`, perhaps `group`, and whatever else results are broken down by. One
        label for each item is enough, merged or posed: no agreement with people is claimed here.
    ties : {"split", "undecided", "first"}
        What several highest numbers mean: an equal share each; nothing, which is wrong; the class that stands first.
    margin : float
        Numbers up to this far below the highest count as tied with it, in units of the answers (for example what a
        probability changes from batch to batch). With a margin of 0 log-odds decide where the table has them.
    over : {"item", "group"} or None
        What is redrawn; None takes the group where the items table has one.
    by : str
        A column of the items table to break results down by; blank for none.
    replicates : int
        Bootstrap replicates, at least 100, shared by all systems: every difference is paired.
    confidence : float
        Level of all intervals.
    seed : int
        The one seed.
    progress : callable or None
        Told the name of each step, its number and how many there are.

    Returns
    -------
    Result
        Analysis `forced_choice`, in [0, 1] each: `accuracy`, in which an item without a usable answer is wrong;
        `accuracy_answered`, which leaves it out; `coverage`, the share of asked items that have one; `macro_f1`, `uar`
        (mean recall) and `recall` of every class; `recall_head` and `recall_tail`, the mean over the more frequent and
        the rarer half of the classes, undefined where the two are equally frequent at the cut; `chance` (1 over the
        classes offered) and `majority` (always the most frequent class). Of choices by the highest number:
        `share_tied` (equal highest numbers) and `share_within_margin`, of answered items; `accuracy_first` and
        `accuracy_last`, which let the order of the classes settle ties; `order_effect`, the largest change that this
        makes against an equal share. Analysis `contrasts`: paired differences of systems, readouts, phrasings,
        prefills, attempts, controls and protocols,
        with `p_adjusted` by Holm. Then the findings.

    Raises
    ------
    MeasurandError
        Of an unknown class, a truth without labels, tables without a common item, and settings out of range.

    Notes
    -----
    An item that has no row, or status ``not_asked``, is no part of the arm and counted in `n_not_asked`. Where several
    numbers make the choice and one of them is missing, the item is not answered: the missing one might have been the
    highest. A class that an arm was never asked for makes it a protocol of its own (variant ``classes=5 of 6``):
    items of that class are left out, chance is higher, and it is never compared with arms that were asked for all.

    References
    ----------
    Ebner, Riediger & Lindenberger (2010), Behavior Research Methods 42, 351-362: a person with twelve photographs is
    one unit. Miller (2024), arXiv 2411.00640, section 2.2.

    Examples
    --------
    >>> from measurand.data import read_answers, read_items
    >>> table = pd.DataFrame({"system": "S", "item": range(6), "answer": "neutral"})
    >>> truth = pd.DataFrame({"item": range(6), "label": ["anger", "disgust", "fear", "happiness", "neutral", "sad"]})
    >>> found = forced_choice(read_answers(table, labels=True), read_items(truth), replicates=100)
    >>> [round(found.value("forced_choice", name), 3) for name in ("accuracy", "macro_f1")]
    [0.167, 0.048]
    """
    _refuse_settings(ties, margin, replicates, confidence, seed)
    given = answers if isinstance(answers, list | tuple) else [answers]
    tables = [as_answers(one) for one in given]
    truth = read_truth(as_items(items), tables, over=over, by=by)
    tell = _told(progress)
    tell("choices", 1)
    found, n_foreign = choosers(tables, truth, ties=ties, margin=margin)
    pairs = pairings(found)
    cells = [Cell(arm, truth, position) for arm in found for position in range(-1, len(truth.levels))]

    def statistic(weights: FloatArray) -> FloatArray:
        """All numbers of all arms, then the accuracies of both sides of every pair on what both answered."""
        return np.column_stack([cell.statistics(weights) for cell in cells] + [matched_accuracy(found, pairs, weights)])

    tell("replicates", 2)
    drawn = clusters(truth.cluster, np.arange(len(truth.items)), len(truth.items))
    # One BLAS thread: sums must not depend on how many cores there are.
    with threadpool_limits(limits=1, user_api="blas"):
        estimates = statistic(np.ones((1, len(truth.items))))[0]
        rng = stream(seed, "forced_choice", truth.unit)
        draws = bootstrap(statistic, drawn, n_replicates=replicates, rng=rng)
    tell("contrasts", 3)
    starts = np.cumsum([0, *(len(cell.names) for cell in cells)])
    shown: dict[str, Key] = {"ties": ties, "margin": margin}
    rows: list[Row] = []
    for cell, start in zip(cells, starts, strict=False):
        columns = slice(start, start + len(cell.names))
        rows += cell.rows(estimates[columns], draws[:, columns], shown, confidence)
    per_arm = 1 + len(truth.levels)
    where = starts[np.arange(len(found)) * per_arm]
    compared = contrasts(
        found,
        pairs,
        estimates,
        draws,
        where=where,
        matched=int(starts[-1]),
        unit=truth.unit,
        n_units=drawn.n,
        confidence=confidence,
    )
    settings = {
        "ties": ties,
        "margin": margin,
        "over": truth.unit,
        "by": by,
        "replicates": replicates,
        "confidence": confidence,
        "seed": seed,
        "classes": truth.classes,
        "n_items": len(truth.items),
        "n_units": drawn.n,
        "n_answers_without_truth": n_foreign,
    }
    about: dict[str, dict[str, Any]] = {
        "forced_choice": settings,
        "contrasts": {
            "adjustment": "holm",
            "family": "one contrast and statistic; of systems also one readout, phrasing and variant",
            "replicates": replicates,
            "confidence": confidence,
            "seed": seed,
        },
    }
    told = findings(found, rows, compared, replicates=replicates)
    return Result([*rows, *(one.row for one in compared)], about, told)


def _told(progress: Progress | None) -> Callable[[str, int], None]:
    def tell(name: str, number: int) -> None:
        if progress is not None:
            progress(name, number, 3)

    return tell


def _refuse_settings(ties: str, margin: float, replicates: int, confidence: float, seed: int) -> None:
    if ties not in classes.TIES:
        raise MeasurandError(f"ties {ties!r}; the rules are {', '.join(classes.TIES)}")
    if not 0 <= margin < np.inf:
        raise MeasurandError(f"margin {margin}; give a number of 0 or more, in units of the answers")
    if replicates < 100:
        raise MeasurandError(f"{replicates} replicates; an interval needs at least 100, and 2,000 are the default")
    check_level(confidence)
    check_seed(seed)
