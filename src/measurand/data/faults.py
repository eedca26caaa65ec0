"""What is wrong with a table, in words that name arguments; the command line says the same and names its options."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from measurand.result import MeasurandError

#: A list that goes on, in an example.
MORE: Final = "…"
#: A word that no shell takes apart.
_PLAIN: Final = re.compile(r"[\w@%+=:,./…-]+")


class Setting(NamedTuple):
    r"""An argument of a function that reads a table, and what it could be.

    Parameters
    ----------
    name : str
        The argument.
    value : str or sequence of str
        What is suggested; blank where only the argument is named.

    Examples
    --------
    >>> str(Setting("rater", "Anna M.")), Setting("rater", "Anna M.").as_option("--answer-rater")
    ("rater='Anna M.'", "--answer-rater 'Anna M.'")
    >>> str(Setting("wide", ("R1", "R2", MORE))), Setting("wide", ("R1", "Müller, Anna")).as_option("--wide")
    ("wide=['R1', 'R2', …]", '--wide \'R1,"Müller, Anna"\'')
    >>> str(Setting("text")), Setting("text").as_option("--text")
    ('text=…', '--text')
    """

    name: str
    value: str | Sequence[str] = ""

    def __str__(self) -> str:
        """Say it as Python does."""
        if isinstance(self.value, str):
            return f"{self.name}={self.value!r}" if self.value else f"{self.name}=…"
        return f"{self.name}=[{', '.join(one if one == MORE else repr(one) for one in self.value)}]"

    def as_option(self, option: str) -> str:
        """Say it as a command line does."""
        if not self.value:
            return option
        text = self.value if isinstance(self.value, str) else as_list(self.value)
        return f"{option} {text if _PLAIN.fullmatch(text) else shlex.quote(text)}"


class TableError(MeasurandError):
    """A table that cannot be read as it was said to be.

    Parameters
    ----------
    message : str
        What was found, what is allowed, what to do.
    *settings : Setting
        The arguments that the message names, each as `str` says it.

    Examples
    --------
    >>> item = Setting("item", "Bild")
    >>> error = TableError(f"no column 'item'; name it, {item}", item)
    >>> str(error), error.in_options({"item": "--item"})
    ("no column 'item'; name it, item='Bild'", "no column 'item'; name it, --item Bild")
    """

    def __init__(self, message: str, *settings: Setting) -> None:
        super().__init__(message)
        self.settings = tuple(
            one if isinstance(one.value, str) else one._replace(value=tuple(one.value)) for one in settings
        )

    def in_options(self, options: Mapping[str, str]) -> str:
        """Return the message with the options of a command in place of arguments, by argument."""
        return self.said({one: one.as_option(options[one.name]) for one in self.settings if one.name in options})

    def said(self, words: Mapping[Setting, str]) -> str:
        """Return the message with other words in place of arguments, where there are any."""
        text = str(self)
        for one, said in words.items():
            text = text.replace(str(one), said)
        return text


def as_list(values: Sequence[str]) -> str:
    """Return texts as one list with commas, quoted where one holds a comma; what `from_list` takes apart.

    Examples
    --------
    >>> as_list(["Müller, Anna", "eve"]), from_list('"Müller, Anna", eve')
    ('"Müller, Anna",eve', ['Müller, Anna', 'eve'])
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow(values)
    return file.getvalue()


def from_list(text: str) -> list[str]:
    """Return the parts of a list with commas, as a row of CSV: a part with a comma stands in double quotes.

    Raises
    ------
    MeasurandError
        If a quote is left open.
    """
    if not text:
        return []
    try:
        (row,) = csv.reader([re.sub(r'"\s+(?=,|$)', '"', text)], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise MeasurandError(
            f"the list {text!r} cannot be taken apart; put a name with a comma in double quotes: '\"Müller, Anna\",eve'"
        ) from error
    return [part.strip() for part in row]
