"""What stands beside the units, what lies outside the range that was asked for, and what a retry rule lets pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.data.outputs import Outputs
from measurand.data.text import LengthUnit, count, graphemes, rest, shown
from measurand.probing.scopes import BoolArray, Scope
from measurand.probing.units_rows import ANALYSIS, OF_EMOJI, Lengths, mean_row, share_row
from measurand.result import Key, Row
from measurand.stats.inference import FloatArray

_N_EXAMPLES: Final = 3


@dataclass(frozen=True)
class Contents:
    """What outputs have beside emoji.

    Parameters
    ----------
    text : sequence of str
        The outputs.
    unit : str
        What counts as an emoji, one of `OF_EMOJI`.
    residue : sequence of str
        What each has beside its units and white space.
    n_residue : ndarray of float, shape (n_outputs,)
        The number of graphemes of it.
    passing : ndarray of bool, shape (n_outputs,)
        Whether it has a character above U+007F, but no emoji.
    """

    text: Sequence[str]
    unit: str
    residue: Sequence[str]
    n_residue: FloatArray
    passing: BoolArray


def read_contents(outputs: Outputs, unit: str) -> list[Contents]:
    """Return what outputs have beside emoji, for strict emoji also with text presentation counted.

    Nothing where they are not texts or not meant to be emoji.
    """
    if unit not in OF_EMOJI or "text" not in outputs:
        return []
    texts: list[str] = outputs.frame["text"].tolist()
    return [_contents(texts, policy) for policy in policies(unit)]


def policies(unit: str) -> list[str]:
    """Return the unit, and beside strict emoji those that are shown as text."""
    return ["emoji", "emoji_or_text"] if unit == "emoji" else [unit]


def _contents(texts: Sequence[str], unit: str) -> Contents:
    distinct = list(dict.fromkeys(texts))
    pieces = {text: _beside(text, unit) for text in distinct}
    # The rule is one for emoji, also where they are counted as graphemes that are not ASCII.
    policy: LengthUnit = "emoji_or_text" if unit == "emoji_or_text" else "emoji"
    passing = {text: not text.isascii() and count(text, policy) == 0 for text in distinct}
    return Contents(
        texts,
        unit,
        ["".join(pieces[text]) for text in texts],
        np.array([len(pieces[text]) for text in texts], dtype=float),
        np.array([passing[text] for text in texts], dtype=bool),
    )


def _beside(text: str, unit: str) -> list[str]:
    if unit == "non_ascii_grapheme":
        return [cluster for cluster in graphemes(text) if cluster.isascii() and not cluster.isspace()]
    return rest(text, text_presentation=unit == "emoji_or_text")


def contents_rows(counted: Lengths, contents: Contents, scope: Scope) -> list[Row]:
    """Return the rows about residue and about what the retry rule lets pass in one scope."""
    keys: dict[str, Key] = {**scope.keys, "unit_of_length": contents.unit}
    beside = np.flatnonzero(scope.rows & (contents.n_residue > 0)).tolist()
    passed = np.flatnonzero(scope.rows & contents.passing).tolist()
    residue = _examples([contents.residue[at] for at in beside])
    examples = _examples([contents.text[at] for at in passed])
    return [
        mean_row(counted, keys, "residue_per_output", contents.n_residue, scope.rows, "graphemes"),
        share_row(counted, keys, "share_with_residue", contents.n_residue > 0, scope.rows, residue),
        Row(ANALYSIS, keys, "n_passing_without_emoji", len(passed), note=examples),
        share_row(counted, keys, "share_passing_without_emoji", contents.passing, scope.rows),
    ]


def _examples(texts: Sequence[str]) -> str:
    """Return the commonest texts, quoted; of those that are as common the first by code points."""
    if not texts:
        return ""
    common = sorted(Counter(texts).items(), key=lambda pair: (-pair[1], pair[0]))[:_N_EXAMPLES]
    return "for example " + ", ".join(f"“{shown(text)}”" for text, _ in common)


def asked_rows(counted: Lengths, scope: Scope, *, unit: str, asked: tuple[int, int]) -> list[Row]:
    """Return how many outputs of one scope are shorter and longer than was asked for."""
    keys: dict[str, Key] = {**scope.keys, "unit_of_length": unit}
    length = counted.by_unit[unit]
    known = scope.rows & ~np.isnan(length)
    below, above = length < asked[0], length > asked[1]
    note = f"asked for: {asked[0]} to {asked[1]}"
    return [
        Row(ANALYSIS, keys, "n_below", int(below[known].sum()), note=note),
        Row(ANALYSIS, keys, "n_above", int(above[known].sum()), note=note),
        share_row(counted, keys, "share_outside", below | above, known, note),
    ]
