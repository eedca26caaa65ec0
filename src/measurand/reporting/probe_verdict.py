"""The verdict of a probe in up to three sentences: what can be told, what else matters, how many questions fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from measurand.reporting.probe_outputs import main_unit
from measurand.reporting.probe_view import Probe, best_first, is_main
from measurand.reporting.verdict import counted
from measurand.reporting.words import begin, joined, unit_of_length
from measurand.result import Finding, Key, Row, Verdict, show_interval
from measurand.result.digits import show_estimate
from measurand.result.words import called, plural, shorten

#: Letters of a name, and clauses of the second sentence.
_NAME: Final = 36
_MOST: Final = 3
_WORSE: Final[tuple[Verdict, ...]] = ("fail", "warn")
_LABELS: Final[dict[Verdict, str]] = {
    "pass": "The outputs tell the labels, beyond chance and beyond their length",
    "warn": "The outputs of some systems tell the labels, those of others not beyond chance and their length",
    "fail": "The outputs do not tell the labels beyond chance and their length",
}
_ORDER: Final[dict[Verdict, str]] = {
    "pass": "one system alone may be best{}",
    "warn": "systems differ{}, but which is best is open",
    "fail": "no order of the systems is shown{}",
}


_Findings = Mapping[str, Finding]


def headline(view: Probe) -> str:
    """Return what was looked at, in one line."""
    parts = []
    for name, noun in (
        ("n_items", "item"),
        ("n_systems", "system"),
        ("n_languages", "language"),
        ("n_labels", "label"),
        ("n_outputs", "output"),
    ):
        row = view.get("outputs", name)
        if row is not None and row.estimate:
            parts.append(plural(int(row.estimate), noun))
    vectors = view.of("geometry", "vectors")
    if vectors:
        parts.append(f"{len(vectors)} sets of vectors" if len(vectors) > 1 else "one set of vectors")
    return ", ".join(parts) or "Outputs."


def lead(view: Probe) -> list[str]:
    """Return the verdict in up to three sentences.

    The first says what can be told of the labels and of the order of systems; without labels, how long outputs are or
    how vectors lie. The second has up to three things that fail or warn, fails first. The last counts the verdicts.
    """
    by = {finding.id: finding for finding in view.result.findings}
    said = [first for first in (_decodable(view, by) or _lengths(view) or _vectors(view),) if first]
    told = [
        clause
        for verdict in _WORSE
        for name, clause_of in _CLAUSES.items()
        if name in by and by[name].verdict == verdict and (clause := clause_of(view, by))
    ]
    if told:
        said.append(f"{begin('; '.join(told[:_MOST]))}.")
    if view.result.findings:
        said.append(f"Of {plural(len(view.result.findings), 'question')}, {counted(view.result.findings)}.")
    return said


def _boards(view: Probe) -> dict[str, list[Row]]:
    """Return the scores of the systems by language, best first."""
    found: dict[str, list[Row]] = {}
    for row in view.defined("decodability", "macro_f1"):
        if is_main(row) and row.keys.get("system", "") != "":
            found.setdefault(str(row.keys.get("language", "")), []).append(row)
    return {language: best_first(rows) for language, rows in found.items()}


def _name(name: Key) -> str:
    return called(shorten(name, _NAME))


def _decodable(view: Probe, by: _Findings) -> str:
    boards = _boards(view)
    if not boards:
        return ""
    parts = []
    for language, rows in list(boards.items())[:2]:
        best, worst = rows[0], rows[-1]
        ends = show_estimate(best) if len(rows) == 1 else f"{show_estimate(worst)} to {show_estimate(best)}"
        who = f"{_name(best.keys['system'])}{' best' * (len(rows) > 1)}"
        parts.append(f"{ends} in {_name(language)} ({who})" if len(boards) > 1 else f"{ends} ({who})")
    more = f", {plural(len(boards) - 2, 'more language')}" if len(boards) > 2 else ""
    floor = f", where the largest class alone has {joined(_floors(view, boards))}" if _floors(view, boards) else ""
    verdict = by["decodable"].verdict if "decodable" in by else "not_applicable"
    start = _LABELS.get(verdict, "What the outputs tell of the labels")
    order = by["decodability-order"].verdict if "decodability-order" in by else "not_applicable"
    tail = f"; {_ORDER[order].format(' in every language' * (len(boards) > 1))}" if order in _ORDER else ""
    if order == "warn" and len(boards) > 1:
        tail = "; systems differ, but which is best is open in some language"
    return f"{start}: macro-F1 {', '.join(parts)}{more}{floor}{tail}."


def _floors(view: Probe, boards: dict[str, list[Row]]) -> list[str]:
    rows = view.defined("decodability", "macro_f1", {"control": "majority", "n_train": ""})
    shown = [row for row in rows if str(row.keys.get("language", "")) in list(boards)[:2]]
    return list(dict.fromkeys(f"{row.estimate:.3f}" for row in shown))


def _lengths(view: Probe) -> str:
    unit = main_unit(view)
    rows = best_first(
        [
            row
            for row in view.defined("units", "mean", {"unit_of_length": unit, "language": ""})
            if row.keys.get("system", "") != ""
        ]
    )
    if not rows:
        return ""
    told = f"{show_estimate(rows[0])} ({_name(rows[0].keys['system'])})"
    if len(rows) > 1:
        told = f"{show_estimate(rows[-1])} ({_name(rows[-1].keys['system'])}) to {told}"
    counted_ = "as the table gives it" if unit == "length" else f"counted as {unit_of_length(unit)}"
    return f"Outputs have a mean length, {counted_}, of {told}."


def _vectors(view: Probe) -> str:
    rows = best_first(
        [row for row in view.defined("geometry", "anisotropy", {"centred": "no"}) if not row.keys.get("language", "")]
    )
    if not rows:
        return ""
    told = f"{show_estimate(rows[0])} ({_name(rows[0].keys['vectors'])})"
    if len(rows) > 1:
        told = f"{show_estimate(rows[-1])} ({_name(rows[-1].keys['vectors'])}) to {told}"
    return f"The mean cosine of two vectors is {told}, before their mean is taken out."


def _optimism(view: Probe) -> Row | None:
    """Return the largest gain of row-wise splits over languages, at the ratio next to .8."""
    found = [row for row in view.defined("leakage", "optimism") if row.keys.get("system", "") == ""]
    if not found:
        return None
    usual = min({float(row.keys["ratio"]) for row in found}, key=lambda ratio: abs(ratio - 0.8))
    return max((row for row in found if float(row.keys["ratio"]) == usual), key=lambda row: row.estimate)


def _leak(view: Probe, by: _Findings) -> str:
    told = "splitting row by row puts items on both sides"
    row = _optimism(view)
    if row is None:
        return told
    gain = f"{show_estimate(row)} {show_interval(row)}".rstrip()
    if by["row-split-leaks"].verdict != "fail":
        told += f", though a gain of macro-F1 is not shown ({gain})"
    else:
        most = "up to " if len(view.of("leakage", "language")) > 1 else ""
        told += f" and adds {most}{gain} to macro-F1"
    changes = by.get("leak-changes-winner")
    return f"{told}, and makes another system the best" if changes is not None and changes.verdict == "fail" else told


def _sign(view: Probe, _: _Findings) -> str:
    rows = [
        row
        for row in view.defined("cost", "prompt_tokens_parity", {"system": "", "net_of_template": "no"})
        if row.keys.get("per", "") in _PER
    ]
    by: dict[Key, list[Row]] = {}
    for row in rows:
        by.setdefault(row.keys["language"], []).append(row)
    for language, found in by.items():
        low, high = min(found, key=lambda row: row.estimate), max(found, key=lambda row: row.estimate)
        if low.estimate < 1 < high.estimate:
            ends = [f"{show_estimate(one)} times per {_PER[str(one.keys['per'])]}" for one in (low, high)]
            base = _name(low.keys["against"])
            return f"whether {_name(language)} costs more tokens than {base} depends on the unit ({' and '.join(ends)})"
    return ""


_PER: Final = {"byte": "byte", "character": "code point", "grapheme": "grapheme", "word": "word"}


def _counting(view: Probe, _: _Findings) -> str:
    unit = main_unit(view)
    row = next(
        iter(view.defined("units", "inflation", {"system": "", "language": "", "unit_of_length": unit})),
        None,
    )
    if row is None:
        return ""
    # The code points that the finding speaks of: those beyond ASCII, and reversals that chance does not explain.
    of = {"unit_of_length": unit, "against": row.keys["against"]}
    reversed_ = view.rows("units", "n_reversed_beyond_chance", of)
    tail = ", and changes the order of systems" if any(one.estimate for one in reversed_) else ""
    share = f"{100 * row.estimate:.2g}"
    return f"counting code points in place of {unit_of_length(unit)} adds {share} % to lengths{tail}"


def _asked(view: Probe, _: _Findings) -> str:
    unit = main_unit(view)
    row = view.get("units", "share_outside", {"unit_of_length": unit})
    return f"{100 * row.estimate:.2g} % of the outputs are not as long as was asked for" if row is not None else ""


def _incomplete(_: Probe, by: _Findings) -> str:
    """Return that outputs are not there, where that is not the same for all systems."""
    return "systems lack outputs, some more than others" if by["outputs-complete"].verdict == "fail" else ""


def _reasoning(view: Probe, _: _Findings) -> str:
    row = next(iter(view.defined("cost", "reasoning_share", {"system": "", "language": ""})), None)
    return f"{100 * row.estimate:.2g} % of all completion tokens are reasoning that nobody sees" if row else ""


#: What is said of a finding that fails or warns, the most telling first.
_CLAUSES: Final[dict[str, Callable[[Probe, _Findings], str]]] = {
    "label-schemes": lambda *_: "languages have different labels, so that nothing is compared across them",
    "outputs-complete": _incomplete,
    "row-split-leaks": _leak,
    "cost-sign-depends-on-unit": _sign,
    "counting-unit": _counting,
    "asked-range": _asked,
    "code-transfers": lambda *_: "a decoder of one language loses in another: tokens stand for other labels there",
    "count-leaks-label": lambda *_: "the number of tokens alone tells something of the labels",
    "reasoning-in-completion": _reasoning,
    "anisotropy-is-offset": lambda *_: "differences in anisotropy are those of the mean vectors",
    "outputs-name-the-label": lambda *_: "outputs name their labels",
    "near-duplicate-items": lambda *_: "items have near-duplicates under other ids",
}
