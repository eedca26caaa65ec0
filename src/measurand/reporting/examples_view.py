"""Examples by what a page asks of them: their rows, and of the settings what may be shown."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from measurand.result import Result, Row

#: A picture is taken from a result only if it is one of ours: this long at most, and what it says that it is.
_MOST_OF_PICTURE: Final = 200_000
_PICTURE: Final = re.compile(r"data:image/(png|jpeg);base64,([A-Za-z0-9+/]+={0,2})")
_BEGINS: Final = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}
_CONTROL: Final = re.compile(r"(^|, )control=blank")


@dataclass
class Example:
    """The rows of one example."""

    kind: str
    item: str
    criterion: str
    rows: list[Row] = field(default_factory=list)

    def find(self, statistic: str, system: str, readout: str, *, is_blank: bool = False) -> Row | None:
        """Return what one system said under one readout."""
        for row in self.rows:
            if (
                row.statistic == statistic
                and (row.keys.get("system", ""), row.keys.get("readout", "")) == (system, readout)
                and bool(_CONTROL.search(str(row.keys.get("variant", "")))) == is_blank
            ):
                return row
        return None

    @property
    def ratings(self) -> list[Row]:
        """The single ratings."""
        return [row for row in self.rows if row.statistic == "rating"]

    @property
    def mean(self) -> float:
        """The mean rating."""
        return next((row.estimate for row in self.rows if row.statistic == "rating_mean"), float("nan"))

    @property
    def chosen(self) -> Row | None:
        """The number that the example was chosen for, None for one that was drawn."""
        return next((row for row in self.rows if row.statistic in ("disagreement", "least_mass")), None)


def examples_in(result: Result) -> list[Example]:
    """Return the examples of a result, in the order of its rows."""
    found: dict[tuple[str, str, str], Example] = {}
    for row in result.rows:
        if row.analysis == "examples":
            key = (str(row.keys["kind"]), str(row.keys["item"]), str(row.keys.get("criterion", "")))
            found.setdefault(key, Example(*key)).rows.append(row)
    return list(found.values())


def under(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping from the settings, empty where there is none."""
    found = settings.get(name, {})
    return found if isinstance(found, Mapping) else {}


def picture_of(uri: object) -> str:
    """Return a picture that may stand on the page, blank for anything else: a result may come from anywhere."""
    text = uri if isinstance(uri, str) and len(uri) <= _MOST_OF_PICTURE else ""
    found = _PICTURE.fullmatch(text)
    if found is None:
        return ""
    try:
        data = base64.b64decode(found.group(2), validate=True)
    except binascii.Error:
        return ""
    return text if data.startswith(_BEGINS[found.group(1)]) else ""


def ends_of(settings: Mapping[str, Any], criterion: str) -> tuple[float, float]:
    """Return the ends of a scale as the result has them; 0 and 1 where it has none."""
    ends = under(settings, "scale").get(criterion)
    if isinstance(ends, Sequence) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends):
        low, high = map(float, ends)
        if low < high:
            return low, high
    return 0.0, 1.0
