"""Do splits share items, and what does that do to scores and to the order of systems?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from measurand.checks import check_level, check_seed
from measurand.data.outputs import Outputs, as_outputs
from measurand.data.text import TOKEN_UNITS, TokenUnit
from measurand.probing import leakage_orders, leakage_texts
from measurand.probing.leakage_rows import split_row
from measurand.probing.leakage_splits import (
    Protocol,
    Views,
    expected_in_fixed_sizes,
    split_rows,
    split_scores,
    views_of,
)
from measurand.result import Key, MeasurandError, Result, Row
from measurand.sentences import joined, short, show_p
from measurand.stats import leaked
from measurand.stats.folds import BoolArray
from measurand.stats.inference import FloatArray, IntArray, holm, t_test
from measurand.stats.resampled import Resampled, corrected_resampled_t, pooled_t_test

#: Shares of training rows.
RATIOS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
REPEATS: Final = 10

# Simulated: 400 or 1,500 items, 4 or 8 views, a leak of 0 to .22 macro-F1, 10 pairs of splits at ratio .8, 200 to 500
# tables of each kind, items redrawn. The two splits of a pair are drawn apart, so that much of the table they share
# cancels in their difference: the correction, made for two learners on one split, is wide for small leaks. The plain
# paired t covered 67 to 95 %. A score with a leak varies more with the table than its splits tell.
_SIMULATED: Final = 0.95
_COVERED: Final = {
    "macro_f1_row": "83 to 96 %",
    "macro_f1_grouped": "91 to 96 %",
    "optimism": "94 to 100 %",
}

#: What a gain relative to a score can be; scores lie in 0 to 1, and their differences in -1 to 1.
_POSSIBLE: Final = {"optimism_relative": (-1.0, np.inf)}

_TOO_FEW: Final = (
    "there are too few items, or groups of items, for two sides at this ratio; it takes two items at least"
)
_NO_TEST_ROWS: Final = "in some split a system has no test row: there are too few items for this share of training rows"
_NO_SPLIT_NOTE: Final = (
    "each row assigned on its own; near impossible for any table with many items, and silent on how much is shared: "
    "read expected_share"
)


@dataclass(frozen=True)
class _Made:
    """Splits at one ratio, their scores where there are any, and the sizes of the two sides."""

    ratio: float
    splits: Mapping[Protocol, BoolArray]
    scores: Mapping[Protocol, FloatArray] | None

    def corrected(self, values: FloatArray, *, confidence: float) -> Resampled:
        """Return the corrected t of values of these splits."""
        n_train = float(np.mean([made.mean() for made in self.splits.values()]))
        return corrected_resampled_t(values, n_train=n_train, n_test=1 - n_train, confidence=confidence)


def leakage(
    outputs: Outputs | Any,
    *,
    token_unit: TokenUnit = "emoji",  # noqa: S107 - no password
    penalty: float = 4.0,
    ratios: Sequence[float] = RATIOS,
    repeats: int = REPEATS,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Return how much row-wise splits share between training and test, and what scores gain by it.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        See `measurand.read_outputs`. The outputs of several systems to one item are views of it: rows of their own that
        share a label.
    token_unit : str
        What an output is cut into for the decoder of its label, see `measurand.data.text.tokens`.
    penalty : float
        C of the decoder, an l2-penalised multinomial logistic regression on TF-IDF with balanced classes.
    ratios : sequence of float
        Shares of training rows; the findings speak of the one next to .8.
    repeats : int
        Pairs of splits at each ratio, 2 or more.
    confidence : float
        Level of all intervals.
    seed : int
        The one seed.
    progress : callable or None
        Told the name of each step, its number and how many there are.

    Returns
    -------
    Result
        Analysis `leakage`, within each language.

        - At each `ratio`: `expected_share` of test rows whose item is also in training when each row is assigned on
          its own, `expected_share_fixed_size` for a stratified split of fixed sizes, `measured_share` of the splits
          that were made, and `log10_p_no_item_split`; where groups hold several items the first three also for groups
          (`…_of_groups`).
        - Where there are texts and labels: `macro_f1_row`, `macro_f1_grouped` (all rows of an item, or of a group
          where groups hold several items, on one side), `optimism` (their difference) and `optimism_relative`, of all
          systems and of each; with groups also `macro_f1_item` and `optimism_of_items` (what a split by item gains over
          one by group); and how the systems are ordered under both (`spearman_orders`, `kendall_tau_b_orders`,
          `winner_changes`, …).
        - Items with a near-duplicate under another id (`share_near_duplicate`, `n_near_duplicate`, `n_exact_duplicate`,
          `share_near_duplicate_in_training`); the settings list up to twenty pairs.
        - Outputs that contain their label as a word, or another label (`share_naming_label`,
          `share_naming_other_label`).

    Raises
    ------
    MeasurandError
        If a setting is out of range, or the table is (see `measurand.read_outputs`).

    References
    ----------
    Sakhawat (2026), arXiv 2609.29445, section 9; Nadeau & Bengio (2003), Machine Learning 52, 239-281.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [i for i in range(20) for _ in range(5)], "system": list("abcde") * 20,
    ...                       "length": 1})
    >>> found = leakage(table, ratios=[0.8])
    >>> round(found.value("leakage", "expected_share"), 6)
    0.9984
    """
    _check(token_unit, penalty, ratios, repeats, confidence, seed)
    table = as_outputs(outputs)
    languages = table.languages
    steps, rows = len(languages) * (len(ratios) + 1), []
    near: dict[str, list[list[str | float]]] = {}
    for number, language in enumerate(languages):
        views = views_of(table, language, token_unit=token_unit)
        made = []
        for step, ratio in enumerate(sorted(ratios), start=1):
            if progress is not None:
                progress(f"leakage at {ratio:g}", number * (len(ratios) + 1) + step, steps)
            made.append(_made(views, ratio, repeats, penalty, seed))
        rows += _of_table(views)
        for one in made:
            rows += _shares(views, one)
        rows += _scores(views, made, token_unit, confidence)
        if progress is not None:
            progress("near-duplicates", (number + 1) * (len(ratios) + 1), steps)
        clean = [(one.ratio, one.splits[views.protocols[-1]]) for one in made if one.splits]
        texts, near[language] = leakage_texts.near_duplicate_rows(views, clean)
        rows += texts
        rows += leakage_texts.naming_rows(views, confidence=confidence)
    settings = {
        "token_unit": token_unit,
        "penalty": penalty,
        "ratios": list(ratios),
        "repeats": repeats,
        "confidence": confidence,
        "seed": seed,
        "near_duplicates": near,
    }
    return Result(rows, {"leakage": settings})


def _check(
    token_unit: str, penalty: float, ratios: Sequence[float], repeats: int, confidence: float, seed: int
) -> None:
    if token_unit not in TOKEN_UNITS:
        raise MeasurandError(f"token unit {token_unit!r}; allowed are {', '.join(TOKEN_UNITS)}")
    if not 0 < penalty < np.inf:
        raise MeasurandError(f"penalty {penalty}; give a finite number above 0 (C, larger is weaker)")
    if not ratios or not all(0 < ratio < 1 for ratio in ratios) or len(set(ratios)) < len(ratios):
        raise MeasurandError(f"ratios {list(ratios)}; give distinct shares of training rows between 0 and 1")
    if repeats < 2:
        raise MeasurandError(f"{repeats} repeats; a test over splits needs at least 2, and {REPEATS} are the default")
    check_level(confidence)
    check_seed(seed)


def _made(views: Views, ratio: float, repeats: int, penalty: float, seed: int) -> _Made:
    if len(views.item) < 2 or views.n_items < 2 or (views.group is not None and views.group.max() < 1):
        return _Made(ratio, {}, None)
    splits = split_rows(views, ratio=ratio, repeats=repeats, seed=seed)
    if any(one.all(axis=1).any() or not one.any(axis=1).all() for one in splits.values()):
        return _Made(ratio, {}, None)
    can_score = not views.undefined and len(splits) > 1
    return _Made(ratio, splits, split_scores(views, splits, penalty=penalty) if can_score else None)


def _keys(views: Views, **more: Key) -> dict[str, Key]:
    """Return the keys of a number; `views` is blank where items have different numbers of them."""
    n_views = views.n_views
    same: Key = int(n_views[0]) if len(n_views) and (n_views == n_views[0]).all() else ""
    return {"language": views.language, "views": same, **more}


def _of_table(views: Views) -> list[Row]:
    n_views, keys = views.n_views, _keys(views)
    numbers: dict[str, float] = {
        "n_items": views.n_items,
        "n_outputs": len(views.item),
        "n_without_label": views.n_without_label,
        "n_blank": views.n_blank,
    }
    if len(n_views):
        numbers |= {"mean_views": float(n_views.mean()), "most_views": int(n_views.max())}
    if views.group is not None:
        numbers["n_groups"] = int(views.group.max()) + 1
    return [Row("leakage", keys, name, value, n_items=views.n_items) for name, value in numbers.items()]


def _shares(views: Views, made: _Made) -> list[Row]:
    """Return what a row-wise split shares: expected and measured, of items and of groups."""
    keys, n_views = _keys(views, ratio=made.ratio), views.n_views
    if not made.splits:
        return [Row("leakage", keys, "expected_share", np.nan, undefined=_TOO_FEW, n_items=views.n_items)]
    equal = "" if keys["views"] != "" else f"mean over rows; items have {n_views.min()} to {n_views.max()} of them"
    rows = []
    of: list[tuple[str, str, IntArray, IntArray]] = [("", "item", views.item, n_views)]
    if views.group is not None:
        sizes = np.bincount(views.group).astype(np.int64)
        of.append(("_of_groups", "group", views.group, sizes))
    for suffix, what, cluster, sizes in of:
        train = made.splits["row"]
        measured = leaked.shared_share(cluster, train)
        fixed = expected_in_fixed_sizes(views, cluster, train)
        closed = f"closed form: test rows whose {what} has a training row, each row assigned on its own"
        hyper = "closed form: stratified row-wise split of the sizes that the measured splits have"
        spread = f"{short(measured.min())} to {short(measured.max())} over {len(measured)} row-wise splits"
        for name, value, note in (
            ("expected_share", leaked.leaked_share(sizes, ratio=made.ratio), joined(closed, "" if suffix else equal)),
            ("expected_share_fixed_size", fixed, hyper),
            ("measured_share", float(measured.mean()), f"{spread}; counted, no interval"),
        ):
            rows.append(Row("leakage", keys, name + suffix, value, note=note, n_items=views.n_items))
    if "item" in made.splits and "group" in made.splits and views.group is not None:
        by_item = leaked.shared_share(views.group, made.splits["item"])
        note = "test rows whose group has a training row although items stay on one side; counted, no interval"
        name = "measured_share_of_groups_by_item"
        rows.append(Row("leakage", keys, name, float(by_item.mean()), note=note, n_items=views.n_items))
    log10 = leaked.log10_p_no_item_split(n_views, ratio=made.ratio)
    rows.append(Row("leakage", keys, "log10_p_no_item_split", log10, note=_NO_SPLIT_NOTE, n_items=views.n_items))
    return rows


def _scores(views: Views, made: Sequence[_Made], token_unit: TokenUnit, confidence: float) -> list[Row]:
    """Return what row-wise splits score above grouped ones, and the orders of the systems under both."""
    rows: list[Row] = []
    scored = [one for one in made if one.scores is not None]
    if not scored:
        one_row = "every item has one row: a split by item is a row-wise split"
        reason = views.undefined or (one_row if any(one.splits for one in made) else _TOO_FEW)
        keys = _keys(views, token_unit=token_unit)
        return [Row("leakage", keys, "optimism", np.nan, undefined=reason, n_items=views.n_items)]
    names = ["", *views.systems] if len(views.systems) > 1 else [""]
    p = np.array([[_p(one, views, at, confidence) for at in range(len(names))] for one in scored])
    # One family over the ratios of all systems together, and one over the systems at each ratio.
    over_ratios = holm(p[:, 0])
    for one, of_ratio, over_ratio in zip(scored, p, over_ratios, strict=True):
        adjusted = np.concatenate([[over_ratio], holm(of_ratio[1:])])
        for at, name in enumerate(names):
            keys = _keys(views, token_unit=token_unit, ratio=one.ratio, system=name)
            rows += _of_system(views, one, at, keys, float(adjusted[at]), confidence)
        if len(views.systems) > 1 and one.scores is not None:
            keys = _keys(views, token_unit=token_unit, ratio=one.ratio)
            of_row, clean = one.scores["row"][:, 1:], one.scores[views.protocols[-1]][:, 1:]
            if np.isnan(of_row + clean).any():
                missing = Row("leakage", keys, "winner_changes", np.nan, undefined=_NO_TEST_ROWS, n_items=views.n_items)
                rows.append(missing)
                continue
            rows += leakage_orders.order_rows(
                of_row,
                clean,
                views.systems,
                keys=keys,
                n_items=views.n_items,
                corrected=partial(one.corrected, confidence=confidence),
                confidence=confidence,
            )
    return rows


def _p(made: _Made, views: Views, at: int, confidence: float) -> float:
    row, clean = _pair(made, views, at)
    return made.corrected(row - clean, confidence=confidence).p


def _pair(made: _Made, views: Views, at: int) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the row-wise and of the cleanest splits, of all systems (0) or of one."""
    if made.scores is None:
        raise ValueError(views.undefined)
    return made.scores["row"][:, at], made.scores[views.protocols[-1]][:, at]


def _of_system(
    views: Views, made: _Made, at: int, keys: Mapping[str, Key], p_adjusted: float, confidence: float
) -> list[Row]:
    row, clean = _pair(made, views, at)
    kept = views.protocols[-1]
    if np.isnan(row + clean).any():
        names = ("macro_f1_row", "macro_f1_grouped", "optimism")
        return [Row("leakage", keys, name, np.nan, undefined=_NO_TEST_ROWS, n_items=views.n_items) for name in names]

    def number(name: str, values: FloatArray, note: str, *, adjusted: float = np.nan, is_test: bool = True) -> Row:
        is_known = name in _COVERED and at == 0 and confidence == _SIMULATED
        covered = f"95 % intervals covered {_COVERED[name]} of simulated tables" if is_known else ""
        return split_row(
            keys,
            name,
            made.corrected(values, confidence=confidence),
            confidence=confidence,
            n_items=views.n_items,
            note=note,
            covered=covered,
            p_adjusted=adjusted,
            is_test=is_test,
            possible=_POSSIBLE.get(name, (-1.0, 1.0) if is_test else (0.0, 1.0)),
        )

    n = len(row)
    plain, unpaired = t_test(row - clean), pooled_t_test(row, clean)
    without = (
        f"macro-F1 split by row minus split by {kept}, {n} pairs of splits. Without the correction: paired t "
        f"{show_p(plain.p if not plain.undefined else None)}, unpaired t (the paper's) "
        f"{show_p(unpaired.p if not unpaired.undefined else None)}"
    )
    rows = [
        number("macro_f1_row", row, f"mean over {n} splits by row", is_test=False),
        number("macro_f1_grouped", clean, f"mean over {n} splits by {kept}", is_test=False),
        number("optimism", row - clean, without, adjusted=p_adjusted),
    ]
    if (clean > 0).all():
        of = f"of the score split by {kept}, pair by pair"
        rows.append(number("optimism_relative", (row - clean) / clean, of, is_test=False))
    if made.scores is not None and "group" in made.scores and "item" in made.scores:
        item = made.scores["item"][:, at]
        rows += [
            number("macro_f1_item", item, f"mean over {n} splits by item", is_test=False),
            number("optimism_of_items", item - clean, "macro-F1 split by item minus split by group"),
        ]
    return rows
