"""A question that a finding answers: the rows it rests on, an answer, and one finding of several answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from measurand.result import Finding, Key, Result, Row, Verdict

#: Languages, and systems of one language, that a statement names.
MOST: Final = 4
#: Verdicts, the worst first.
SEVERITY: Final[tuple[Verdict, ...]] = ("fail", "warn", "undetermined", "pass", "not_applicable")
_MISSING: Final = "the numbers that it needs are missing"


class Rows:
    """Rows of one analysis by statistic; a key that a row does not have is blank.

    Parameters
    ----------
    rows : iterable of Row
        In the order of the result.

    Examples
    --------
    >>> rows = Rows([Row("leakage", {"language": name}, "n_items", 9) for name in ("bn", "en")])
    >>> rows.values("language"), len(rows.all("n_items", {"language": "en"}))
    (['bn', 'en'], 1)
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        self._by: dict[str, list[Row]] = {}
        for row in self._rows:
            self._by.setdefault(row.statistic, []).append(row)

    @classmethod
    def of(cls, result: Result, analysis: str) -> Rows:
        """Return the rows of one analysis of a result."""
        return cls(row for row in result.rows if row.analysis == analysis)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of a statistic whose keys have the given values, whatever their other keys are."""
        wanted = (keys or {}).items()
        return [row for row in self._by.get(statistic, []) if all(row.keys.get(k, "") == v for k, v in wanted)]

    def defined(self, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return those of such rows that have a number."""
        return [row for row in self.all(statistic, keys) if not row.undefined]

    def first(self, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the first such row, None if there is none."""
        return next(iter(self.all(statistic, keys)), None)

    def first_defined(self, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the first such row that has a number, None if there is none."""
        return next(iter(self.defined(statistic, keys)), None)

    def first_undefined(self, *statistics: str) -> Row | None:
        """Return the first row of these statistics that says why it has no number, None if there is none."""
        return next((row for name in statistics for row in self.all(name) if row.undefined), None)

    def values(self, key: str) -> list[str]:
        """Return the values that a key has, in their order."""
        return list(dict.fromkeys(str(row.keys.get(key, "")) for row in self._rows))


def by_system(rows: Iterable[Row]) -> dict[str, Row]:
    """Return rows by the system that each is about; of several about one the last."""
    return {str(row.keys.get("system", "")): row for row in rows}


def why(row: Row | None) -> str:
    """Return why a row has no number, or that there is no such row."""
    return row.undefined if row is not None and row.undefined else _MISSING


def sentence(text: str) -> str:
    """Return a text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Answer:
    """The answer for one language, or one of several other things.

    Parameters
    ----------
    verdict : Verdict
        Its verdict.
    statement : str
        Whole sentences.
    remedy : str
        What to do about it.
    where : sequence of Row or None
        The rows it rests on; None is left out.
    about : str
        What it is about, told before the statement where answers differ; blank where the statement says so itself.
    common : str
        Whole sentences that stand before the statement. Where several answers have the same they are told once.
    """

    verdict: Verdict
    statement: str
    remedy: str = ""
    where: Sequence[Row | None] = ()
    about: str = ""
    common: str = ""

    @property
    def whole(self) -> str:
        """The statement with what stands before it."""
        return f"{self.common} {self.statement}" if self.common else self.statement


@dataclass(frozen=True)
class Question:
    """A question that a finding answers.

    Parameters
    ----------
    id, text : str
        The finding's stable name, and the question in words.
    source : str
        Where its rule comes from.

    Examples
    --------
    >>> asked = Question("residue", "Do the outputs hold anything but emoji?")
    >>> asked.over([Answer("pass", "No.", about="en"), Answer("warn", "Some.", about="bn")]).statement
    'bn: Some. en: No.'
    """

    id: str
    text: str
    source: str = ""

    def answer(
        self,
        verdict: Verdict,
        statement: str,
        *,
        remedy: str = "",
        where: Sequence[Row | None] = (),
        criterion: str = "",
    ) -> Finding:
        """Return the finding of one answer, with a reference to each row that it rests on."""
        references: list[dict[str, Key]] = []
        for row in where:
            if row is not None and row.reference() not in references:
                references.append(row.reference())
        return Finding(self.id, self.text, verdict, statement, remedy, criterion, references, self.source)

    def undetermined(self, row: Row | None, remedy: str) -> Finding:
        """Return the finding where a number is missing: why it is, if the row tells, and what would help."""
        return self.answer("undetermined", f"Not determined: {why(row)}.", remedy=remedy, where=[row])

    def over(
        self,
        answers: Sequence[Answer],
        *,
        is_shared: bool = False,
        remedies: Mapping[Verdict, str] | None = None,
        more: str = "{} more languages are in the rows.",
    ) -> Finding:
        """Return one finding of several answers, which tells the first `MOST` of them.

        Parameters
        ----------
        answers : sequence of Answer
            At least one.
        is_shared : bool
            Whether the verdict is the one that all have and else warn, rather than the worst one; the answers that
            have it are told first, rather than the worst ones.
        remedies : mapping of verdict to str
            What to do, where the answers of that verdict do not say it themselves.
        more : str
            What is said of answers that are not told, ``{}`` being their number.
        """
        verdicts = {one.verdict for one in answers}
        verdict = min(verdicts, key=SEVERITY.index)
        if is_shared:
            verdict = verdict if len(verdicts) == 1 else "warn"
            ordered = sorted(answers, key=lambda one: one.verdict != verdict)
        else:
            ordered = sorted(answers, key=lambda one: SEVERITY.index(one.verdict))
        told = ordered[:MOST]
        common = {one.common for one in answers if one.common}
        if len({one.whole for one in answers}) == 1:
            statements = [told[0].whole]
        else:
            # What several have in common is told once, before them.
            statements, is_told = (list(common), True) if len(common) == 1 else ([], False)
            said = [one.statement if is_told else one.whole for one in told]
            statements += [f"{one.about}: {text}" if one.about else text for one, text in zip(told, said, strict=True)]
            statements += [more.format(len(answers) - MOST)] if len(answers) > MOST else []
        own = dict.fromkeys(one.remedy for one in ordered if one.verdict == verdict and one.remedy)
        remedy = " ".join(own) or (remedies or {}).get(verdict, "")
        where = [row for one in told for row in one.where]
        return self.answer(verdict, " ".join(statements), remedy=remedy, where=where)
