"""What notebooks and terminals show of a result: a heading, findings by question, the first rows of each analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from measurand.keys import EXTRA, KEYS
from measurand.result.digits import show_estimate, show_interval, show_key, show_p
from measurand.result.rows import VERDICTS, Finding, Row, Verdict
from measurand.result.words import ANALYSIS, clean, default_title, kind_of, plural, shorten, worst_first

if TYPE_CHECKING:
    from measurand.result.table import Result

#: Characters of a name in a cell; remarks below a table.
_NAME: Final = 48
_MOST_NOTES: Final = 6
#: Analyses whose numbers figures are drawn from.
_DRAWN: Final = frozenset(
    (
        *("generalizability", "leave_one_rater_out", "ranks", "components", "length", "pairs", "raters", "style"),
        *("scores", "forced_choice", "elicitation", "acquiescence"),
        *("decodability", "leakage", "geometry", "plan"),
    )
)
#: Analyses that answer what most readers ask first, the first that is there: the data frame to begin with.
_USEFUL: Final = ("pairs", "scores", "forced_choice", "decodability", "elicitation", "plan", "power")
#: Who asks the questions that an analysis alone leaves open, by the kind of run.
_ASKED_BY: Final[Mapping[str, str]] = {
    "": "measurand.audit(ratings)",
    "probe": "measurand.probe(outputs)",
    "plan": "measurand.plan(ratings)",
    "scores": "measurand.score(answers, ratings)",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Findings that answer one question with one verdict, of one criterion or of several."""

    verdict: Verdict
    id: str
    question: str
    findings: Sequence[Finding]

    @property
    def whom(self) -> str:
        """Whom it concerns: the criteria, where they have names, or how many findings there are."""
        names = list(dict.fromkeys(shorten(one.criterion, _NAME) for one in self.findings if one.criterion))
        if not names:
            return f"{len(self.findings)} times" if len(self.findings) > 1 else ""
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return ", ".join(names[:4]) + more


@dataclass(frozen=True, slots=True)
class Shown:
    """The first rows of an analysis as a table.

    Parameters
    ----------
    title, same : str
        What it is; what all its rows share.
    columns : sequence of str
        The heads; those in `numbers` have their cells to the right.
    rows : sequence of sequences of str
        The cells, plain text.
    notes : sequence of str
        Why numbers are missing and what must be known of them; the last column has their numbers.
    n : int
        How many rows there are in all.
    """

    title: str
    same: str
    columns: Sequence[str]
    numbers: frozenset[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    n: int


def heading(result: Result) -> tuple[str, str]:
    """Return what a result is, and its size where the rows tell it.

    Examples
    --------
    >>> from measurand.result import Result
    >>> rows = [Row("ranks", {"system": name}, "rank", 1.0, n_items=290) for name in ("S1", "S2")]
    >>> heading(Result(rows))
    ('Ranks with their sets', '2 systems, 290 items')
    """
    there = result.analyses
    if not there and not result.findings:
        return "An empty result", ""
    if len(there) == 1 and not (kind_of(result) and result.findings):
        title = ANALYSIS[there[0]]
    elif kind_of(result) or "design" in there or not there:
        title = default_title(result)
    else:
        title = plural(len(there), "analysis", "analyses")
    design = {row.statistic: int(row.estimate) for row in result.rows if row.analysis == "design" and _is_whole(row)}
    named = {key: {str(row.keys.get(key, "")) for row in result.rows} - {""} for key in ("system", "criterion")}
    sizes = (
        (len(named["criterion"]) if len(named["criterion"]) > 1 else 0, "criterion", "criteria"),
        (design.get("n_systems") or len(named["system"]), "system", ""),
        (design.get("n_items", max((row.n_items or 0 for row in result.rows), default=0)), "item", ""),
        (design.get("n_raters", max((row.n_raters or 0 for row in result.rows), default=0)), "rater", ""),
        (design.get("n_ratings", 0), "rating", ""),
    )
    return title, ", ".join(plural(int(number), *words) for number, *words in sizes if number)


def _is_whole(row: Row) -> bool:
    """Whether a row of the design is about everything."""
    return not row.keys.get("criterion", "") and not row.undefined


def grouped(findings: Sequence[Finding]) -> list[Group]:
    """Return findings by question and verdict, the worst first."""
    by: dict[tuple[int, str], list[Finding]] = {}
    for one in worst_first(findings):
        by.setdefault((VERDICTS.index(one.verdict), one.id), []).append(one)
    return [Group(VERDICTS[at], name, found[0].question, found) for (at, name), found in by.items()]


def by_analysis(result: Result) -> dict[str, list[Row]]:
    """Return the rows by analysis, in order of computation."""
    rows: dict[str, list[Row]] = {name: [] for name in result.analyses}
    for row in result.rows:
        rows[row.analysis].append(row)
    return rows


def first_rows(analysis: str, rows: Sequence[Row], most: int) -> Shown:
    """Return the first rows of an analysis; what is the same in all of them stands once."""
    shown = rows[:most]
    keys = [key for key in KEYS[analysis] if len({row.keys.get(key, "") for row in rows}) > 1]
    numbers = {"estimate", "interval", "p", "p, adjusted"}
    notes = list(dict.fromkeys(remark for row in shown if (remark := _remark(row))))
    whole: list[tuple[str, list[str]]] = [
        *((key, [shorten(show_key(row.keys.get(key, "")), _NAME) for row in shown]) for key in keys),
        ("statistic", [shorten(row.statistic, _NAME) for row in shown]),
        ("estimate", [show_estimate(row) for row in shown]),
        ("interval", [show_interval(row) for row in shown]),
        ("p", ["" if row.p is None else show_p(row.p) for row in shown]),
        ("p, adjusted", ["" if row.p_adjusted is None else show_p(row.p_adjusted) for row in shown]),
        ("unit", ["" if "unit" in KEYS[analysis] else clean(row.unit) for row in shown]),
        *((name, [_yes_or_no(row.extra.get(name)) for row in shown]) for name in EXTRA.get(analysis, ())),
        ("note", [f"{notes.index(remark) + 1}" if (remark := _remark(row)) else "" for row in shown]),
    ]
    kept = [(head, cells) for head, cells in whole if head in ("statistic", "estimate") or any(cells)]
    same = [
        f"{key} {shorten(show_key(value), _NAME)}"
        for key in KEYS[analysis]
        if key not in keys and rows and (value := rows[0].keys.get(key, "")) != ""
    ]
    same += _of_intervals(shown)
    if len(notes) > _MOST_NOTES:
        notes = [*notes[:_MOST_NOTES], f"… {len(notes) - _MOST_NOTES} more in the column note of the data frame"]
    return Shown(
        ANALYSIS[analysis],
        ", ".join(same),
        [head for head, _ in kept],
        frozenset(numbers),
        list(zip(*(cells for _, cells in kept), strict=True)),
        notes,
        len(rows),
    )


def _of_intervals(rows: Sequence[Row]) -> list[str]:
    """Return the level of the intervals, and how they were made, where all have the same."""
    having = [row for row in rows if row.low is not None and row.high is not None]
    levels, methods = {row.confidence for row in having}, {clean(row.method) for row in having}
    if len(levels) != 1 or None in levels:
        return []
    level = f"{100 * (having[0].confidence or 0):g} % intervals"
    return [f"{level} ({method})" if len(methods) == 1 and (method := methods.pop()) else level]


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _remark(row: Row) -> str:
    """Return what a reader must know of a number: why it is missing, its note."""
    parts = [f"no number: {clean(row.undefined)}" if row.undefined else "", clean(row.note)]
    return "; ".join(filter(None, parts))


def sizes(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return how many numbers each analysis has, under the names that `to_frame` takes."""
    return ", ".join(f"{name} {len(found):,}" for name, found in rows.items())


def next_steps(result: Result) -> list[tuple[str, str]]:
    """Return what to call next, with what it does.

    Examples
    --------
    >>> from measurand.result import Result
    >>> for call, does in next_steps(Result([Row("ranks", {"system": "S1"}, "rank", 1.0)])):
    ...     print(call, does)
    result.to_frame("ranks") has all its numbers
    measurand.plot(result) draws them
    measurand.audit(ratings) answers questions with such numbers
    """
    there = result.analyses
    if not there:
        return []
    is_alone = len(there) == 1
    useful = next((name for name in _USEFUL if name in there), "")
    first = useful or max(there, key=lambda name: sum(row.analysis == name for row in result.rows))
    steps = [(f'result.to_frame("{first}")', "has all its numbers" if is_alone else "has all numbers of an analysis")]
    kind = kind_of(result)
    if _DRAWN & set(there):
        does = "draws them" if is_alone else "draws a figure"
        steps.append((f"measurand.plot(result{_criterion(result, kind)})", does))
    if result.findings:
        steps.append(('measurand.report(result, out="report.html")', "writes the page"))
    elif kind in _ASKED_BY:
        steps.append((_ASKED_BY[kind], "answers questions with such numbers"))
    return steps


def _criterion(result: Result, kind: str) -> str:
    """Return the argument that a figure of one of several criteria needs."""
    if kind not in ("", "plan"):
        return ""
    names = _distinct(str(row.keys.get("criterion", "")) for row in result.rows if row.analysis != "design")
    if len(names) < 2:
        return ""
    return f", criterion={names[0]!r}" if len(names[0]) <= _NAME else ", criterion=…"


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))
