"""Names in the order in which people sort them, and names that are made of two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final


def natural_order(names: Sequence[str]) -> list[str]:
    """Sort names as people do: numbers inside them by size.

    Examples
    --------
    >>> natural_order(["S10", "S2", "S1"])
    ['S1', 'S2', 'S10']
    """

    def key(name: str) -> tuple[list[tuple[int, int, str]], str]:
        parts = [part for part in re.split(r"([0-9]+)", name) if part]
        # A number by its size: by how many digits it has, then digit by digit; Python reads no more than 4,300 of them.
        bare = [part.lstrip("0") if part[0] in "0123456789" else None for part in parts]
        return [(1, 0, p) if b is None else (0, len(b), b) for p, b in zip(parts, bare, strict=True)], name

    return sorted(names, key=key)


#: What stands between the two parts of a name.
_BETWEEN: Final = ("_", "-", ".", ":", "/", "|", " ")


def crossed_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first and the second parts of names that are every combination of two lists; else two empty lists.

    Parameters
    ----------
    names : sequence of str
        Different names.

    Examples
    --------
    >>> crossed_names(["red_ann", "red_ben", "blue_ann", "blue_ben"])
    (['red', 'blue'], ['ann', 'ben'])
    >>> crossed_names(["rater_1", "rater_2"])
    ([], [])
    """
    for mark in _BETWEEN:
        if not all(mark in name for name in names):
            continue
        for parts in ([name.partition(mark) for name in names], [name.rpartition(mark) for name in names]):
            first = list(dict.fromkeys(one for one, _, _ in parts))
            second = list(dict.fromkeys(other for _, _, other in parts))
            has_two = "" not in (*first, *second) and min(len(first), len(second)) > 1
            if has_two and len(names) == len(first) * len(second) == len({(one, other) for one, _, other in parts}):
                return first, second
    return [], []
