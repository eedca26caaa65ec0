"""What the terminal shows of a plan: the cheapest panels, a line for each criterion, or the facets of a design."""

from __future__ import annotations

import textwrap
from typing import Final

from measurand.reporting.answers import short_name
from measurand.reporting.plan_designs import in_words
from measurand.reporting.plan_view import Designed, Plan, cheapest, layout_words, panel_words
from measurand.reporting.scores_summary import table
from measurand.result import VERDICTS, Row, Verdict, show_interval
from measurand.result.digits import show_estimate
from measurand.result.words import MARK, WORD, called, counts, plural

#: Lines of a table.
_MOST: Final = 12
_SIZES: Final = "raters × items"


def plan_table(view: Plan, width: int) -> list[str]:
    """Return the table as lines of at most `width` columns; empty where there is nothing to show."""
    if not view.criteria:
        return []
    if view.formula:
        return _facets(view, width)
    if len(view.criteria) > 1:
        return _criteria(view, width)
    criterion = view.criteria[0]
    sure = {one.layout: one for one in view.designs(criterion, "lower_limit")}
    found = view.designs(criterion, "estimate")
    if not any(one.is_there for one in (*found, *sure.values())):
        return _same_cost(view, criterion, width)
    rows = []
    for one in found:
        other = sure.get(one.layout)
        rows.append(
            [layout_words(one.layout), _cost(one), _panel(one), *_number(one.coefficient), _cost(other), _panel(other)]
        )
    head = ["layout", "cost", _SIZES, view.letter, "interval", "to be sure", _SIZES]
    return table(head, rows, width, numbers=(1, 3, 4, 5))


def _same_cost(view: Plan, criterion: str, width: int) -> list[str]:
    """Return what the same money buys, where no panel reaches the target."""
    own = view.as_rated(criterion)
    rows = []
    for one in [*([] if own is None else [own]), *view.designs(criterion, "same_cost")]:
        if one.is_there:
            error = one.rows.get("error_variance")
            rows.append(
                [
                    layout_words(one.layout),
                    _cost(one),
                    panel_words(one),
                    "–" if error is None or error.undefined else show_estimate(error),
                    *_number(one.coefficient),
                ]
            )
    if not rows:
        return []
    return table(
        ["same money", "cost", "panel", "error variance", view.letter, "interval"], rows, width, numbers=(1, 3, 4, 5)
    )


def _cost(design: Designed | None) -> str:
    return "–" if design is None or not design.is_there else design.price


def _panel(design: Designed | None) -> str:
    """Return raters and items without the nouns, which the column's head has."""
    if design is None or not design.is_there:
        return ""
    raters, items, each = design.sizes
    of = {"rotating": f" of {items:,}", "nested": " own"}.get(design.layout, "")
    return f"{raters:,} × {each:,}{of}"


def _number(row: Row | None) -> tuple[str, str]:
    return ("–", "") if row is None or row.undefined else (show_estimate(row), show_interval(row))


def _criteria(view: Plan, width: int) -> list[str]:
    by: dict[str, dict[str, Verdict]] = {criterion: {} for criterion in view.criteria}
    for finding in view.result.findings:
        by.setdefault(finding.criterion, {})[finding.id] = finding.verdict
    asked = list(dict.fromkeys(finding.id for finding in view.result.findings))
    worst = sorted(view.criteria, key=lambda name: [-list(by[name].values()).count(verdict) for verdict in VERDICTS])
    rows = []
    for criterion in worst[:_MOST]:
        own = view.as_rated(criterion)
        best = cheapest(view.designs(criterion, "estimate"))
        sure = cheapest(view.designs(criterion, "lower_limit"))
        found = view.first(criterion, "power", "smallest_difference", {"unit": "item+rater"})
        rows.append(
            [
                called(criterion),
                " ".join(MARK[by[criterion][one]] if one in by[criterion] else " " for one in asked),
                _number(None if own is None else own.coefficient)[0],
                _cost(best),
                "" if best is None else in_words(best),
                _cost(sure),
                _number(found)[0],
            ]
        )
    head = ["criterion", "abcdefgh"[: len(asked)], f"{view.letter} now", "cost", "panel", "to be sure", "finds"]
    head[1] = " ".join(head[1])
    lines = table(head, rows, width, numbers=(2, 3, 5, 6))
    more = len(view.criteria) - _MOST
    lines += [f"… and {more} more criteria"] if more > 0 else []
    lines += [""] * bool(asked)
    for letter, question in zip("abcdefgh", asked, strict=False):
        number = counts([one for one in view.result.findings if one.id == question])
        said = ", ".join(f"{MARK[verdict]} {n} {WORD[verdict]}" for verdict, n in number.items())
        lines += textwrap.wrap(f"{letter}  {short_name(question):<22} {said}", width, subsequent_indent=" " * 6)
    return lines


def _facets(view: Plan, width: int) -> list[str]:
    criterion = view.criteria[0]
    if len(view.criteria) > 1:
        rows = [[called(name), *_number(view.first(name, "plan", "g"))] for name in view.criteria[:_MOST]]
        more = len(view.criteria) - _MOST
        lines = table(["criterion", "G", "interval"], rows, width, numbers=(1, 2))
        return lines + ([f"… and {more} more criteria"] if more > 0 else [])
    rows = []
    # What a search for sizes found has a target, or a basis of its own.
    own = [row for row in view.rows(criterion, "plan", "g") if row.keys.get("basis", "") in ("", "as_rated")]
    for row in own[:_MOST]:
        keys = {"at": row.keys["at"], "basis": row.keys.get("basis", ""), "target": ""}
        phi = view.first(criterion, "plan", "phi", keys)
        rows.append([str(row.keys["at"]).replace("=", " "), *_number(row), *_number(phi)])
    lines = table(["levels", "G", "interval", "Phi", "interval"], rows, width, numbers=(1, 2, 3, 4))
    shares = [row for row in view.rows(criterion, "plan", "error_share") if not row.undefined]
    shares.sort(key=lambda row: -row.estimate)
    if shares:
        parts = [[called(row.keys["component"]), f"{100 * row.estimate:.1f} %"] for row in shares[:_MOST]]
        lines += ["", *table(["component", "of the error"], parts, width, numbers=(1,))]
        lines += [f"… and {plural(len(shares) - _MOST, 'more component')}"] if len(shares) > _MOST else []
    return lines
