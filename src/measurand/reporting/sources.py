"""What the ratings of one criterion depend on: analysis of variance, tests of the systems, variance components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Table, Text
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import SOURCE, TEST, UNBIASED, begin, joined
from measurand.result import Key, Row
from measurand.result.digits import show_p, three_digits
from measurand.result.words import clean

#: The mixed models that only say something beside each other.
_JUDGEMENT: Final = ("mixed_model", "judgement")
_WITH_RATERS: Final = ("mixed_model", "judgement+system:rater")
_BOUNDARY: Final = "estimated at 0 (boundary)"


def system_tests(view: View, criterion: str) -> list[Block]:
    """Return the analysis of variance and the tests of the systems, from mean squares and from mixed models."""
    return [*_anova(view, criterion), *_tests(view.rows(criterion, "system_test", "f"))]


def _anova(view: View, criterion: str) -> list[Block]:
    ss = view.rows(criterion, "anova", "ss")
    if not ss:
        return []
    if all(row.undefined for row in ss):
        return [Text(f"The analysis of variance is not defined here: {clean(ss[0].undefined)}.")]
    remarks = Remarks()
    rows = []
    for row in ss:
        keys: dict[str, Key] = {"source": row.keys["source"]}
        of = [view.first(criterion, "anova", statistic, keys) for statistic in ("df", "ms")]
        part = view.first(criterion, "anova", "share", keys)
        source = str(row.keys["source"])
        if row.note:
            remarks.say(f"{clean(source)}: {row.note}.")
        rows.append(
            [Cell(SOURCE.get(source, clean(source))), cells.plain(row), *map(cells.plain, of), cells.share(part)]
        )
    columns = [
        Column("Source"),
        Column("Sum of squares", is_number=True),
        Column("df", is_number=True),
        Column("Mean square", is_number=True),
        Column("% of all squares", is_number=True),
    ]
    return [
        Text(
            "The analysis of variance splits the spread of all ratings by where it comes from. Two names with a colon "
            "are an interaction: system:rater is large if raters disagree about which systems are good."
        ),
        Table("Analysis of variance", columns, rows, remarks.all()),
    ]


def _tests(every: Sequence[Row]) -> list[Block]:
    if not every:
        return []
    by = {(str(row.keys["error_term"]), str(row.keys.get("model", ""))): row for row in every}
    if all(row.undefined for row in every):
        reasons = list(dict.fromkeys(row.undefined for row in every))
        return [Text(f"The systems cannot be tested here: {'; '.join(map(clean, reasons))}.")]
    shown = [key for key, row in by.items() if not row.undefined]
    # What takes every judgement as evidence never stands alone: its companion has a row even without a number.
    if _JUDGEMENT in shown and _WITH_RATERS not in shown:
        shown = [key for key in by if key in shown or key == _WITH_RATERS]
        if _WITH_RATERS not in by:
            shown.remove(_JUDGEMENT)
    remarks = Remarks()
    at_zero: dict[str, list[str]] = {}
    rows = []
    for key in shown:
        row = by[key]
        name = TEST.get(key, clean(" ".join(filter(None, key))))
        if row.undefined:
            remarks.say(f"{begin(name)}: {row.undefined}.")
        if _BOUNDARY in row.note:
            at_zero.setdefault(row.note[row.note.index(_BOUNDARY) :], []).append(name.split(" (", 1)[0])
        of = [cells.freedom(row.df1), cells.freedom(row.df2), Cell(show_p(row.p))]
        rows.append([Cell(name), Cell(three_digits(row.estimate)) if not row.undefined else cells.plain(row), *of])
    for note, models in at_zero.items():
        remarks.say(f"{begin(joined(models))}: {note}.")
    reasons_: dict[str, list[str]] = {}
    for key, row in by.items():
        if row.undefined and key not in shown:
            reasons_.setdefault(row.undefined, []).append(TEST.get(key, " ".join(key)).split(" (", 1)[0])
    for reason, names in reasons_.items():
        remarks.say(f"Not defined here: {joined(names)}: {reason}.")
    columns = [
        Column("Error term or model"),
        *(Column(name, is_number=True) for name in ("F", "df", "df of the error")),
    ]
    blocks: list[Block] = [
        Text(
            "F asks whether the systems differ by more than an error term. Which error term is right depends on whom "
            "the claim is about: against the residual, it is about exactly these raters and items; for a claim about "
            "other raters, system:rater must be the error; for other raters and other items, the quasi-F, which puts "
            "both errors together, or the full mixed model, which needs no complete crossing. A result that holds only "
            "against the residual, or only in the model of judgements, is one about this panel."
        )
    ]
    if _JUDGEMENT in shown:
        blocks.append(Text(_two_models(by[_JUDGEMENT], by[_WITH_RATERS])))
    table = Table("Tests of the systems", [*columns, Column("p", is_number=True)], rows, remarks.all())
    return [*blocks, table]


def _two_models(judgement: Row, with_raters: Row) -> str:
    """Return what the difference between the two models of judgements means, in their own numbers."""
    said = (
        "The model of judgements knows that raters are severe and items hard, but takes every judgement as new evidence"
        " about the systems, however few raters gave it. With system:rater it also knows that a rater may favour a "
        "system throughout, so that a rater counts once"
    )
    if with_raters.undefined:
        return f"{said}; that one cannot be had here, so that the first must not be read alone."
    if "system:rater" in with_raters.note.partition(f"{_BOUNDARY}: ")[2].split(", "):
        return (
            f"{said}. Here that model collapsed: it estimates system:rater at 0, so that its test is that of the first "
            "and says nothing of other raters. Read the full model."
        )
    numbers = (
        f"here F goes from {three_digits(judgement.estimate)} ({_p(judgement)}) to "
        f"{three_digits(with_raters.estimate)} ({_p(with_raters)})"
    )
    return f"{said}: {numbers}. What lies between the two is the raters' disagreement about systems."


def _p(row: Row) -> str:
    shown = show_p(row.p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def components(view: View, criterion: str) -> list[Block]:
    """Return the variance components, a row each: unbiased, and by REML with the systems random and fixed."""
    every = view.rows(criterion, "components", "variance")
    defined = view.defined(criterion, "components", "variance")
    if not every:
        return []
    if not defined:
        return view.undefined(criterion, "components")
    unbiased = view.unbiased(criterion, "components", "variance")
    by = {(str(row.keys["estimator"]), str(row.keys["component"])): row for row in defined}
    names = list(dict.fromkeys(name for of in (unbiased, "reml", "reml_fixed_system") for e, name in by if e == of))
    remarks = Remarks()
    notes: dict[str, list[str]] = {}
    outside: list[str] = []
    rows = []
    for name in names:
        row = by.get((unbiased, name))
        keys: dict[str, Key] = {"estimator": unbiased, "component": name}
        part = view.first(criterion, "components", "share", keys)
        if row is not None and (note := cells.split_coverage(row.note)[0]):
            notes.setdefault(note, []).append(name)
        remarks.hold(row, name)
        if row is not None and row.low is not None and row.high is not None and not row.low <= row.estimate <= row.high:
            outside.append(name)

        bounds = ""
        if row is not None and row.low is not None and row.high is not None:
            bounds = f"[{three_digits(row.low)}, {three_digits(row.high)}]"
        estimate = Cell("–") if row is None else Cell(three_digits(row.estimate), bounds)
        shown = [estimate, Cell("–") if part is None else cells.share(part)]
        for estimator in ("reml", "reml_fixed_system"):
            other = by.get((estimator, name))
            at_zero = other is not None and _BOUNDARY in other.note
            number = cells.plain(other) if other is None else Cell(three_digits(other.estimate))
            shown.append(Cell(number.text, "at the boundary" if at_zero else ""))
        rows.append([Cell(SOURCE.get(name, clean(name))), *shown])
    for note, of in notes.items():
        remarks.say(f"{joined(of)}: {note}.")
    if outside:
        remarks.say(
            f"{joined(outside)}: the estimate lies outside its interval, as can happen where a layout leaves little to "
            "estimate it from: read both with caution."
        )
    if any(_BOUNDARY in row.note for row in defined):
        remarks.say("REML cannot go below 0: a component at the boundary is one that it would estimate as 0 or less.")
    for said in (_part(view, criterion, by), *_reasons(view, criterion), *_confounded(view, criterion)):
        remarks.say(said) if said else None
    if any(estimator == "reml" and row.low is not None for (estimator, _), row in by.items()):
        fixed = any(estimator == "reml_fixed_system" for estimator, _ in by)
        more = "; with systems fixed it has none of its own" if fixed else ""
        remarks.say(f"REML's intervals are in tables/components.csv{more}.")
    columns = [
        Column("Component"),
        Column("Variance, unbiased", is_number=True),
        Column("Share, %", is_number=True),
        Column("REML", is_number=True),
        Column("REML, systems fixed", is_number=True),
    ]
    how = f", unbiased {UNBIASED[unbiased].split(',', 1)[0]}" if unbiased else ""
    random = next((row.unit for row in defined if row.unit), "item+system+rater").split("+")
    return [
        Text(
            "A variance component is how much one source makes single ratings differ, with that of the others taken "
            "out. Generalizability theory (G theory) builds on them: it treats items and raters as samples of all that "
            "could have been taken. The intervals are about "
            f"{joined([f'{name}s' for name in random])} of this kind, so that few raters make wide ones. Restricted "
            "maximum likelihood (REML) is what mixed-model programs report; it stands beside the unbiased estimates, "
            "which may be negative."
        ),
        without_empty(f"Variance components{how}", columns, rows, remarks.all()),
    ]


def _part(view: View, criterion: str, by: dict[tuple[str, str], Row]) -> str:
    """Return where unbiased and REML estimates lie furthest apart."""
    differences = view.defined(criterion, "components", "difference_from_reml")
    if not differences:
        return ""
    most = max(differences, key=lambda row: abs(row.estimate))
    name = str(most.keys["component"])
    pair = [by.get((str(most.keys["estimator"]), name)), by.get(("reml", name))]
    numbers = " against ".join(three_digits(row.estimate) for row in pair if row is not None)
    return (
        f"Unbiased and REML estimates lie furthest apart at {clean(name)}, by {three_digits(most.estimate)}"
        f"{f' ({numbers})' if numbers else ''}."
    )


def _reasons(view: View, criterion: str) -> list[str]:
    """Return what could not be estimated, a sentence for each reason."""
    said = []
    for reason, rows in view.why_not(criterion, "components", "variance").items():
        names = list(dict.fromkeys(clean(row.keys["estimator"]).replace("_", ", ", 1) for row in rows))
        said.append(f"No estimates by {joined(names).replace('_', ' ')}: {reason}.")
    return said


def _confounded(view: View, criterion: str) -> list[str]:
    lost = view.result.settings.get("components", {}).get("confounded", {}).get(criterion, {})
    return [
        f"This layout cannot tell {clean(a)} from {clean(b)}: the row of {clean(b)} holds both."
        for a, b in lost.items()
    ]
