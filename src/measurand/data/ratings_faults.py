"""What is wrong with single ratings, told by cause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from measurand.data.faults import Setting, TableError
from measurand.data.names import natural_order
from measurand.data.scale import Scale, as_number

#: Ratings of one cause that a message shows.
_MOST_SHOWN: Final = 3
_DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9.]*,[0-9]+")


def fault_of(
    faults: list[tuple[int, str]],
    ids: Mapping[str, pd.Series[Any]],
    scales: Mapping[str, Scale],
    name: str,
    has_criteria: bool,
    per_row: int,
) -> TableError:
    """Return what is wrong with ratings, told by cause: decimal commas, words, numbers outside the scale."""
    row = faults[0][0]
    scale = scales.get(str(ids["criterion"].iloc[row]) if has_criteria else "") or scales.get("") or Scale()
    commas: list[tuple[int, str]] = []
    words: list[tuple[int, str]] = []
    outside: list[tuple[int, str]] = []
    for fault in faults:
        value = fault[1]
        is_word = not scale.labels and as_number(value) is None
        (commas if is_word and _DECIMAL_COMMA.fullmatch(value.strip()) else words if is_word else outside).append(fault)

    def shown(of_cause: list[tuple[int, str]]) -> str:
        told = "; ".join(
            f"{value!r} at data row {at // per_row + 1} ("
            + ", ".join(
                f'{role} "{ids[role].iloc[at]}"' for role in ("item", "system", "rater", "criterion") if role in ids
            )
            + ")"
            for at, value in of_cause[:_MOST_SHOWN]
        )
        more = len(of_cause) - _MOST_SHOWN
        return told + (f"; and {more:,} more" if more > 0 else "")

    parts: list[str] = []
    remedies: list[str] = []
    settings: list[Setting] = []
    if commas:
        settings.append(Setting("decimal", ","))
        parts.append(f"{_ratings_n(commas)} with a decimal comma: {shown(commas)}")
        remedies.append(f"Write decimal points, for example 1.5, or say that commas are meant: {settings[-1]}")
    if words:
        is_scale = scale.bounds is not None
        are = "is" if len(words) == 1 else "are"
        what = f"a number of the scale ({scale.describe()})" if is_scale else "a number"
        parts.append(f"{_ratings_n(words)} that {are} not {what}: {shown(words)}")
        found = natural_order(sorted({value.strip() for _, value in words}))[:6]
        if is_scale:
            settings.append(Setting("missing", found[0]))
            remedies.append(
                f"Mend or drop them, say that one of them stands for a missing rating, such as {settings[-1]}, or "
                "declare labels in place of the scale"
            )
        else:
            settings += [Setting("missing"), Setting("labels", found), Setting("level", "nominal")]
            remedies.append(
                f"Declare the order of text ratings, lowest first ({settings[-2]} if that is the order), or "
                f"{settings[-1]} if they have none; blank and N/A count as missing, and so does what you name: "
                f"{settings[-3]}"
            )
    if outside:
        parts.append(f"{_ratings_n(outside)} outside the scale ({scale.describe()}): {shown(outside)}")
        remedies.append("Mend or drop them, or declare the scale that was used")
    return TableError(f"column {name!r}: {'; '.join(parts)}. {'. '.join(remedies)}", *settings)


def _ratings_n(faults: list[tuple[int, str]]) -> str:
    return f"{len(faults):,} rating{'' if len(faults) == 1 else 's'}"
