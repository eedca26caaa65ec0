"""How a file spells its cells, as its user declares it: delimiter, decimal mark, what stands for a missing value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import pandas as pd

from measurand.data.faults import TableError
from measurand.data.scale import as_number
from measurand.result import MeasurandError

DecimalMark = Literal[".", ","]
_DECIMALS: Final = get_args(DecimalMark)
#: What a user may declare of a file.
MARKS: Final = ("delimiter", "decimal", "missing")
#: Delimiters in words.
MARK_NAMES: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@dataclass(frozen=True)
class Marks:
    """What stands between cells, before decimals, and for a missing value.

    Parameters
    ----------
    delimiter : str or None
        One character, or its name (`comma`, `semicolon`, `tab`, `bar`); None takes what the file's suffix says.
    decimal : {".", ","}
        The decimal mark of numbers. Where it is a comma a number with a point is refused: it would be read as another.
    missing : str or sequence of str
        Cells that stand for a missing number, beside blank and N/A; capitals and spaces around them do not count.

    Raises
    ------
    MeasurandError
        If it is none of these.
    """

    delimiter: str | None = None
    decimal: DecimalMark = "."
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        named = {name: mark for mark, name in MARK_NAMES.items()}
        mark = named.get(self.delimiter or "", self.delimiter)
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "\"'\r\n"):
            raise MeasurandError(
                f"delimiter {mark!r}; give one character such as ';', or its name: {', '.join(MARK_NAMES.values())}"
            )
        object.__setattr__(self, "delimiter", mark)
        if self.decimal not in _DECIMALS:
            raise MeasurandError(f"decimal {self.decimal!r}; allowed are a point, '.', and a comma, ','")
        texts = [self.missing] if isinstance(self.missing, str) else self.missing
        object.__setattr__(self, "missing", tuple(str(text).strip() for text in texts))

    def plain(
        self, column: pd.Series[Any], name: str, *, per_row: int = 1, labels: Collection[str] = ()
    ) -> pd.Series[Any]:
        """Return a column with points in its decimals, and blanks for what stands for a missing value.

        Parameters
        ----------
        column : pandas.Series
            Text or numbers.
        name : str
            What messages call it.
        per_row : int
            How many of its cells were one row of the file.
        labels : collection of str
            Texts that are values, and no numbers to be spelled anew.

        Raises
        ------
        TableError
            If decimals have a comma, and a number has a point; if a label was declared as missing.

        Examples
        --------
        >>> Marks(decimal=",", missing=["k.A."]).plain(pd.Series(["3,5", "4", "k.a."]), "x").tolist()
        ['3.5', '4', '']
        """
        if self.decimal == "." and not self.missing:
            return column
        gone = {text.lower() for text in self.missing}
        if both := [text for text in labels if text.lower() in gone]:
            raise TableError(f"{both[0]!r} is declared as a label of the scale and as missing; it can be one of them")
        if pd.api.types.is_any_real_numeric_dtype(column.dtype):
            values = [number for text in gone if (number := as_number(text)) is not None]
            return column.mask(column.isin(values)) if values else column
        codes, uniques = pd.factorize(column)
        spelled = np.array([*(self._spelled(value, gone, labels) for value in uniques), None], dtype=object)
        wrong = np.array([value is _POINT for value in spelled])[codes]
        if wrong.any():
            at = int(wrong.argmax())
            raise TableError(
                f"column {name!r}: {column.iloc[at]!r} at data row {at // per_row + 1} has a decimal point, and "
                "decimal commas are declared; write all decimals alike, or declare commas for the file alone that has "
                "them"
            )
        return pd.Series(spelled[codes], index=column.index, name=column.name)

    def _spelled(self, value: Any, gone: Collection[str], labels: Collection[str]) -> Any:
        text = value.strip() if isinstance(value, str) else None
        if text is None or text in labels:
            return value
        if text.lower() in gone:
            return ""
        if self.decimal == ",":
            if "," in text and "." not in text and as_number(text.replace(",", ".")) is not None:
                return text.replace(",", ".")
            if "." in text and as_number(text) is not None:
                return _POINT
        return value


#: A number that is not spelled as was declared.
_POINT: Final = object()
