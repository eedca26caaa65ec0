"""What each output costs, and for what: tokens, sizes of sources, emitted units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from measurand.data.outputs import Outputs
from measurand.data.text import LENGTH_UNITS, LengthUnit, lengths
from measurand.result import MeasurandError
from measurand.stats.inference import FloatArray, IntArray

Tokens = Literal["prompt_tokens", "completion_tokens", "reasoning_tokens", "visible_tokens", "total_tokens"]
Per = Literal["byte", "character", "grapheme", "word", "output", "emitted_unit"]
TOKENS: Final[tuple[Tokens, ...]] = get_args(Tokens)
#: Sizes of a source and the column of the table that has each.
SOURCE: Final[dict[Per, str]] = {
    "byte": "source_bytes",
    "character": "source_chars",
    "grapheme": "source_graphemes",
    "word": "source_words",
}
#: What emitted units may be: units of text, or the table's own column.
EMITTED: Final = (*LENGTH_UNITS, "length")


@dataclass(frozen=True)
class CostTable:
    """Tokens and sizes of each output; NaN where they are not known.

    Parameters
    ----------
    systems, languages : sequence of str
        Names in natural order, blank ones left out.
    system, language : ndarray of int, shape (n_outputs,)
        Position of each output's system and language, -1 where it has none.
    item, cluster : ndarray of int, shape (n_outputs,)
        The item, and what counts as a replicate.
    tokens : mapping
        Each of `TOKENS` that the table has, to numbers of shape (n_outputs,).
    sizes : mapping
        Each of `Per` that the table has, to numbers of shape (n_outputs,).
    cluster_unit : str
        What a replicate is: item, group or parallel.
    read_from : mapping
        Each size to the columns that it was read from.
    n_differ : mapping
        Each size to the number of outputs where text and column do not agree; the text counts.
    not_part : mapping
        Systems whose reasoning tokens exceed their completion tokens, to the number of such outputs.
    """

    systems: Sequence[str]
    languages: Sequence[str]
    system: IntArray
    language: IntArray
    item: IntArray
    cluster: IntArray
    tokens: Mapping[Tokens, FloatArray]
    sizes: Mapping[Per, FloatArray]
    cluster_unit: str
    read_from: Mapping[str, str]
    n_differ: Mapping[str, int]
    not_part: Mapping[str, int]

    def rows(self, system: str, language: str) -> npt.NDArray[np.bool_]:
        """Return which outputs are of a system and a language; a blank name is all of them."""
        keep = np.ones(len(self.item), dtype=bool)
        if system:
            keep &= self.system == list(self.systems).index(system)
        if language:
            keep &= self.language == list(self.languages).index(language)
        return keep


def cost_table(outputs: Outputs, unit: str) -> CostTable:
    """Return tokens and sizes of outputs.

    Parameters
    ----------
    outputs : Outputs
        The outputs.
    unit : str
        What the emitted units are, one of `EMITTED`.

    Raises
    ------
    MeasurandError
        If there is no such unit, or the table lacks the column that it needs.
    """
    sizes, read_from, n_differ = _sizes(outputs)
    sizes["output"] = np.ones(len(outputs))
    sizes["emitted_unit"] = _emitted(outputs, unit)
    systems = [one for one in outputs.systems if one]
    languages = [one for one in outputs.languages if one]
    system = _positions(outputs, "system", systems)
    tokens, not_part = _tokens(outputs, system, systems)
    item = _codes(outputs.frame["item"].to_numpy(dtype=object))
    cluster, cluster_unit = _clusters(outputs, item)
    return CostTable(
        systems,
        languages,
        system,
        _positions(outputs, "language", languages),
        item,
        cluster,
        tokens,
        sizes,
        cluster_unit,
        read_from,
        n_differ,
        not_part,
    )


def _sizes(outputs: Outputs) -> tuple[dict[Per, FloatArray], dict[str, str], dict[str, int]]:
    """Return the sizes of the sources: of the texts where they are, and else from the columns."""
    sizes: dict[Per, FloatArray] = {}
    read_from: dict[str, str] = {}
    n_differ: dict[str, int] = {}
    texts = outputs.frame["source_text"].tolist() if "source_text" in outputs else []
    has_text = np.array([text != "" for text in texts], dtype=bool)
    units: dict[Per, LengthUnit] = {"byte": "byte", "character": "character", "grapheme": "grapheme", "word": "word"}
    for per, column in SOURCE.items():
        given = outputs.frame[column].to_numpy(dtype=float) if column in outputs else None
        if given is None and not has_text.any():
            continue
        read_from[per] = column if not has_text.any() else "source_text"
        if not has_text.any() or given is None:
            sizes[per] = np.where(has_text, lengths(texts, units[per]), np.nan) if given is None else given.copy()
            continue
        counted = lengths(texts, units[per])
        n_differ[per] = int((has_text & ~np.isnan(given) & (counted != given)).sum())
        sizes[per] = np.where(has_text, counted, given)
        if not has_text.all():
            read_from[per] = f"source_text, {column} where it is blank"
    if "byte" in sizes and "character" in sizes:
        # Both are known or neither: tokens per character are then tokens per byte times bytes per character exactly.
        unknown = np.isnan(sizes["byte"]) | np.isnan(sizes["character"])
        sizes["byte"][unknown] = sizes["character"][unknown] = np.nan
    return sizes, read_from, n_differ


def _emitted(outputs: Outputs, unit: str) -> FloatArray:
    if unit not in EMITTED:
        raise MeasurandError(f"unit {unit!r}; allowed are {', '.join(EMITTED)}")
    if unit == "length" or "text" not in outputs:
        if "length" not in outputs:
            raise MeasurandError("unit 'length' needs a column 'length', and the table has none; name it or count text")
        return np.asarray(outputs.frame["length"].to_numpy(dtype=float))
    known: dict[str, LengthUnit] = {str(one): one for one in LENGTH_UNITS}
    return lengths(outputs.frame["text"].tolist(), known[unit])


def _tokens(
    outputs: Outputs, system: IntArray, systems: Sequence[str]
) -> tuple[dict[Tokens, FloatArray], dict[str, int]]:
    """Return the counts of tokens, and those that follow from two of them."""
    tokens: dict[Tokens, FloatArray] = {}
    given: tuple[Tokens, ...] = ("prompt_tokens", "completion_tokens", "reasoning_tokens")
    for name in given:
        if name in outputs:
            tokens[name] = np.asarray(outputs.frame[name].to_numpy(dtype=float))
    not_part: dict[str, int] = {}
    if "completion_tokens" in tokens and "reasoning_tokens" in tokens:
        visible = tokens["completion_tokens"] - tokens["reasoning_tokens"]
        # Some accounts book reasoning beside the completion: then what is visible cannot be told by subtraction.
        for at in np.unique(system[visible < 0]):
            here = system == at
            not_part[systems[at] if at >= 0 else ""] = int((visible[here] < 0).sum())
            visible[here] = np.nan
        tokens["visible_tokens"] = visible
    if "prompt_tokens" in tokens and "completion_tokens" in tokens:
        tokens["total_tokens"] = tokens["prompt_tokens"] + tokens["completion_tokens"]
    return {name: tokens[name] for name in TOKENS if name in tokens}, not_part


def _clusters(outputs: Outputs, item: IntArray) -> tuple[IntArray, str]:
    """Return what counts as a replicate: the group, else the parallel text, else the item itself."""
    for role in ("group", "parallel"):
        if role in outputs and (outputs.frame[role] != "").any():
            names = outputs.frame[role].to_numpy(dtype=object)
            return _codes([(name, -1) if name else ("", at) for name, at in zip(names, item, strict=True)]), role
    return item, "item"


def _codes(values: Sequence[object] | npt.NDArray[np.object_]) -> IntArray:
    number: dict[object, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values], dtype=np.int64)


def _positions(outputs: Outputs, role: str, names: Sequence[str]) -> IntArray:
    if role not in outputs:
        return np.full(len(outputs), -1, dtype=np.int64)
    at = {name: position for position, name in enumerate(names)}
    return np.array([at.get(name, -1) for name in outputs.frame[role]], dtype=np.int64)
