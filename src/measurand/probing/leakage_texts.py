"""Do items share texts under different ids, and do outputs name their label?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from scipy import sparse

from measurand.data.text import words
from measurand.probing.leakage_splits import Views
from measurand.probing.near_duplicates import LEAST_JACCARD, SHINGLE, NearDuplicates, near_duplicates
from measurand.result import Key, Row
from measurand.sentences import joined, short
from measurand.stats.folds import BoolArray
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.proportion import share_interval

#: Median length in characters below which outputs are too short for equal ones to mean equal items.
FEWEST_CHARACTERS: Final = 20
MOST_EXAMPLES: Final = 20

Examples = list[list[str | float]]


def near_duplicate_rows(views: Views, splits: Sequence[tuple[float, BoolArray]]) -> tuple[list[Row], Examples]:
    """Return how many items have a near-duplicate under another id, and examples of such pairs.

    Parameters
    ----------
    views : Views
        The rows of one language.
    splits : sequence of (float, ndarray of bool, shape (repeats, n_rows))
        Ratios and training rows of splits that keep items whole.

    Returns
    -------
    (list of Row, list)
        `share_near_duplicate` and `n_near_duplicate` of items, `n_exact_duplicate` (equal after normalisation), and at
        each ratio `share_near_duplicate_in_training`, of test rows that have one in training though items stay on one
        side; pairs of item ids with their similarity. Undefined with a reason where there are no source texts and the
        outputs are too short.
    """
    keys: dict[str, Key] = {"language": views.language}
    what, texts, reason = _texts(views)
    if reason:
        return [Row("leakage", keys, "share_near_duplicate", np.nan, undefined=reason, n_items=views.n_items)], []
    found = near_duplicates(texts)
    has_exact, has_near = _has_other(found, views.item)
    n_exact, n_near = (len(np.unique(views.item[has])) for has in (has_exact, has_near))
    n_items = len(np.unique(views.item[found.text >= 0]))
    note = joined(
        f"{what} under another item id: equal but for case, punctuation, white space and numbers, or Jaccard of "
        f"character {SHINGLE}-grams {LEAST_JACCARD:g} or more; counted, no interval",
        f"{found.n_capped} common {SHINGLE}-grams were not looked up in full: pairs may be missing"
        if found.n_capped
        else "",
    )
    if n_items == 0:
        reason = f"every {what} is blank"
        return [Row("leakage", keys, "share_near_duplicate", np.nan, undefined=reason, n_items=views.n_items)], []
    rows = [
        Row("leakage", keys, "share_near_duplicate", n_near / n_items, note=note, n_items=n_items),
        Row("leakage", keys, "n_near_duplicate", n_near, note=note, n_items=n_items),
        Row("leakage", keys, "n_exact_duplicate", n_exact, note="of these, equal", n_items=n_items),
    ]
    for ratio, train in splits:
        shares = _in_training(found, train)
        of = "test rows of splits that keep items whole, with a near-duplicate in training; counted, no interval"
        name = "share_near_duplicate_in_training"
        rows.append(Row("leakage", keys | {"ratio": ratio}, name, float(shares.mean()), note=of, n_items=n_items))
    return rows, _examples(found, views)


def _texts(views: Views) -> tuple[str, list[str], str]:
    """Return what is compared, its text in each row, and why it is not compared."""
    if "source_text" in views.frame and (views.frame["source_text"].str.strip() != "").any():
        return "source text", views.frame["source_text"].tolist(), ""
    if "text" not in views.frame:
        return "", [], "there are neither source texts nor texts of outputs"
    texts = views.frame["text"]
    median = float(texts.str.len().median()) if len(texts) else 0.0
    if median < FEWEST_CHARACTERS:
        return (
            "",
            [],
            f"there are no source texts, and the outputs are too short to tell items apart (median {short(median)} "
            f"characters, {FEWEST_CHARACTERS} are needed)",
        )
    return "output", texts.tolist(), ""


def _has_other(found: NearDuplicates, item: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return of each row whether another item has an equal text, and whether one has an equal or similar one."""
    n, known = found.n_texts, found.text >= 0
    first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
    np.minimum.at(first, found.text[known], item[known])
    np.maximum.at(last, found.text[known], item[known])
    near_first, near_last = first.copy(), last.copy()
    for one, other in (found.pairs.T, found.pairs.T[::-1]):
        np.minimum.at(near_first, one, first[other])
        np.maximum.at(near_last, one, last[other])
    exact, near = np.zeros(len(item), dtype=bool), np.zeros(len(item), dtype=bool)
    text = found.text[known]
    exact[known] = (first[text] != item[known]) | (last[text] != item[known])
    near[known] = (near_first[text] != item[known]) | (near_last[text] != item[known])
    return exact, near


def _in_training(found: NearDuplicates, train: BoolArray) -> FloatArray:
    """Return the share of test rows that have an equal or similar text in training, for each split."""
    n, known = found.n_texts, found.text >= 0
    ends = np.concatenate([found.pairs, found.pairs[:, ::-1]])
    similar = sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    out = np.zeros(len(train))
    for split, in_train in enumerate(train):
        there = np.bincount(found.text[known & in_train], minlength=n).astype(np.float64)
        has = (there + similar @ there) > 0
        test = found.text[~in_train]
        out[split] = (has[test] & (test >= 0)).mean()
    return out


def _examples(found: NearDuplicates, views: Views) -> Examples:
    """Return up to twenty pairs of items: equal texts first, then similar ones from the most similar down."""
    known = np.flatnonzero(found.text >= 0)
    ids = views.frame["item"].to_numpy()
    of_text: dict[int, dict[str, None]] = {}
    for row in known:
        names = of_text.setdefault(int(found.text[row]), {})
        if len(names) < 2:
            names[str(ids[row])] = None
    equal = [list(names) for names in of_text.values() if len(names) == 2]
    out: Examples = [[first, second, 1.0] for first, second in equal[:MOST_EXAMPLES]]
    for at in np.argsort(-found.jaccard, kind="stable"):
        if len(out) >= MOST_EXAMPLES:
            break
        first, second = (next(iter(of_text[int(text)])) for text in found.pairs[at])
        if first != second:
            out.append([first, second, float(found.jaccard[at])])
    return out


def naming_rows(views: Views, *, confidence: float) -> list[Row]:
    """Return how many outputs contain their label as a word, and how many another label.

    Parameters
    ----------
    views : Views
        The rows of one language.
    confidence : float
        Level of the intervals.

    Returns
    -------
    list of Row
        `share_naming_label` and `share_naming_other_label` of all systems and of each, with Wilson's interval; none
        where there is no text or no label.
    """
    if "text" not in views.frame or "label" not in views.frame or not any(views.classes):
        return []
    own, other = _named(views)
    rows = []
    for system, name in [(-1, ""), *enumerate(views.systems)] if len(views.systems) > 1 else [(-1, "")]:
        of = np.ones(len(own), dtype=bool) if system < 0 else views.system == system
        keys: dict[str, Key] = {"language": views.language, "system": name}
        for statistic, named in (("share_naming_label", own[of]), ("share_naming_other_label", other[of])):
            item = views.item[of]
            n = len(np.unique(item))
            note = "words compared without case"
            row = Row("leakage", keys, statistic, float(named.mean()), n_items=n, note=note)
            low, high, _ = share_interval(named.astype(float), item, confidence=confidence)
            if np.isnan(low):
                rows.append(replace(row, note=joined(note, "one item: no interval")))
                continue
            method = "Wilson" if n == len(named) else "Wilson, effective number of outputs"
            rows.append(replace(row, low=low, high=high, confidence=confidence, method=method, unit="item"))
    return rows


def _named(views: Views) -> tuple[BoolArray, BoolArray]:
    """Return whether each output contains its own label as words, and whether another."""
    labels = [_words(name) for name in views.classes]
    place, distinct = pd.factorize(views.frame["text"])
    contains = np.zeros((len(distinct), len(labels)), dtype=bool)
    for row, text in enumerate(distinct):
        said = _words(text)
        there = set(said)
        for column, label in enumerate(labels):
            if label and label[0] in there:
                contains[row, column] = any(said[at : at + len(label)] == label for at in range(len(said)))
            elif not label:  # a label without letters or digits, such as an emoji
                contains[row, column] = views.classes[column] in text
    found = contains[place]
    own = found[np.arange(len(found)), views.label]
    return own, found.sum(axis=1) > own


def _words(text: str) -> list[str]:
    return [word.casefold() for word in words(text)]
