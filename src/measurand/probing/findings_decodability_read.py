"""The rows of decodability as findings read them, and scores as sentences have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from measurand.probing.questions import MOST, Rows, by_system
from measurand.result import Key, Result, Row
from measurand.sentences import listed, short

PAPER: Final = "Sakhawat 2026, arXiv 2609.29445, section 6"


#: Keys of a number that are blank where it is a system's own, over all seeds and items.
_OWN: Final[Mapping[str, Key]] = dict.fromkeys(("seed", "control", "class", "n_train", "train", "test", "against"), "")


def score_rows(rows: Rows, language: str) -> list[Row]:
    """Return the macro-F1 of each system of a language, the best first."""
    found = rows.defined("macro_f1", {**_OWN, "language": language})
    return sorted(by_system(reversed(found)).values(), key=lambda row: (-row.estimate, str(row.keys.get("system", ""))))


def system_scores(result: Result) -> dict[tuple[str, str], dict[str, float]]:
    """Return the macro-F1 of each system, by language and token unit."""
    out: dict[tuple[str, str], dict[str, float]] = {}
    for row in Rows.of(result, "decodability").defined("macro_f1", _OWN):
        group = (str(row.keys.get("language", "")), str(row.keys.get("token_unit", "")))
        out.setdefault(group, {})[str(row.keys.get("system", ""))] = row.estimate
    return out


def languages(rows: Rows) -> list[str]:
    """Return the languages that have scores."""
    names = dict.fromkeys(str(row.keys.get("language", "")) for row in rows.all("n_items"))
    return [name for name in names if score_rows(rows, name)]


def in_language(language: str) -> str:
    """Return the beginning of a sentence about a language, blank where it has no name."""
    return f"In {language} " if language else ""


def system_of(row: Row) -> str:
    """Return the name of a row's system."""
    return str(row.keys.get("system", "")) or "the outputs"


def scored(rows: Sequence[Row]) -> str:
    """Return systems with their scores."""
    return listed([f"{system_of(row)} {short(row.estimate)}" for row in rows], most=MOST)


def is_above(row: Row | None) -> bool:
    """Return whether a difference lies above 0 by its interval."""
    return row is not None and row.low is not None and row.low > 0
