"""Findings about the systems: do they differ, is the ranking reliable, what would it take?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from measurand.auditing.questions import ALPHA, COMPLETE, PAPER, Rows, finding, undetermined, without_systems
from measurand.auditing.system_effect import is_at_boundary
from measurand.result import Finding, Key, Row, Verdict, show_number
from measurand.sentences import count, listed, percent, short, show_p, spread_of

_NO_RANKING: Final = (
    "Do not publish this ranking as a ranking of systems. Rate with more raters (see more-raters), or report that "
    "no difference was found."
)


def systems_differ(rows: Rows) -> Finding:
    """Say whether the systems differ once raters and items count as samples."""
    name, question = "systems-differ", "Do the systems differ, for raters and items of this kind?"
    source = f"{PAPER}, section 4.2; Clark 1973"
    if early := without_systems(rows, name, question):
        return early
    tests = {
        term: rows.first("system_test", "f", {"error_term": term}) for term in ("residual", "system:rater", "quasi_f")
    }
    both, raters, residual = tests["quasi_f"], tests["system:rater"], tests["residual"]
    if both is not None and both.p is not None and (raters is None or raters.p is None):
        # The raters agree about the systems throughout: the test with both random is the one that is left.
        statement = f"quasi-F = {short(both.estimate)} with items and raters random ({show_p(both.p)})"
        statement += "; against the raters' disagreement alone there is no test, since there is none."
        verdict: Verdict = "pass" if both.p < ALPHA else "fail"
        word = "Yes" if verdict == "pass" else "Not shown"
        return finding(rows, name, question, verdict, f"{word}: {statement}", where=[both, raters], source=source)
    if both is None or raters is None or both.p is None or raters.p is None:
        # Without a complete crossing the mixed models take the place of the mean squares.
        full, judgement = (_model(rows, model) for model in ("full", "judgement"))
        both, raters, residual = full, _model(rows, "judgement+system:rater"), judgement
        if both is not None and both.p is not None and raters is not None and is_at_boundary(raters, "system:rater"):
            return _collapsed(rows, name, question, both, raters, source)
    if both is None or raters is None or both.p is None or raters.p is None:
        return undetermined(rows, name, question, both, COMPLETE, source)
    usual = ""
    if residual is not None and residual.p is not None:
        of_model = bool(residual.keys.get("model"))
        against = "at the level of judgements" if of_model else "against the residual"
        usual = f" The usual test, {against}, gives F = {short(residual.estimate)} ({show_p(residual.p)})"
        leaves_out = (
            "leaves out that raters differ about systems" if of_model else "takes these raters and items as all"
        )
        usual += f", which {leaves_out}{'' if of_model else ' there are'}." if residual.p < ALPHA else "."
    shown = (
        f"F = {short(raters.estimate)} with {show_number(raters.df1)} and {show_number(raters.df2)} degrees of "
        f"freedom once raters count as a sample ({show_p(raters.p)}), {short(both.estimate)} once items do, too "
        f"({show_p(both.p)})."
    )
    where = [both, raters, residual]
    if both.p < ALPHA:
        return finding(rows, name, question, "pass", f"Yes: {shown}{usual}", where=where, source=source)
    if raters.p < ALPHA:
        remedy = "Claim the differences for these items only, or add items until the test with both random agrees."
        statement = f"For other raters, but not shown for other items: {shown}{usual}"
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    statement = f"Not shown: {shown}{usual}"
    return finding(rows, name, question, "fail", statement, remedy=_NO_RANKING, where=where, source=source)


def _collapsed(rows: Rows, name: str, question: str, full: Row, raters: Row, source: str) -> Finding:
    """Answer by the full model alone: the smaller one gives system:rater nothing, and so is the usual test.

    How often either finds a difference between equal systems stands in docs/findings.md: the full model keeps its level
    over all panels, not among those alone in which the smaller one collapses.
    """
    p = math.nan if full.p is None else full.p
    too = " This model estimates system:rater at 0, too." if is_at_boundary(full, "system:rater") else ""
    statement = (
        f"F = {short(full.estimate)} with {show_number(full.df1)} and {_degrees(full.df2)} degrees of freedom once "
        f"raters and items count as samples ({show_p(p)}, full mixed model).{too} The model with raters alone as a "
        "sample collapsed: it estimates system:rater at 0, so that its test is the usual one, at the level of "
        f"judgements (F = {short(raters.estimate)}, {show_p(raters.p)}), which leaves out that raters differ about "
        "systems."
    )
    where = [full, raters, _model(rows, "judgement")]
    if p < ALPHA:
        return finding(rows, name, question, "pass", f"Yes: {statement}", where=where, source=source)
    statement = f"Not shown: {statement}"
    return finding(rows, name, question, "fail", statement, remedy=_NO_RANKING, where=where, source=source)


def _degrees(df: float | None) -> str:
    return "–" if df is None else short(float(f"{df:.1f}"))


def _model(rows: Rows, model: str) -> Row | None:
    return rows.first("system_test", "f", {"error_term": "mixed_model", "model": model})


def ranking_reliable(rows: Rows) -> Finding:
    """Say whether G reaches its target at the panel's own size."""
    target = rows.target
    name = "ranking-reliable"
    question = f"Is G, the reliability of the ranking, at least {target:g} here?"
    source = f"Brennan 2001, chapter 4; {PAPER}, section 4.3"
    if early := without_systems(rows, name, question):
        return early
    g, plugin, null = rows.here("g", rows.unbiased), rows.here("g", "plugin"), rows.here("g_null", "plugin")
    if g is None or g.undefined or g.low is None:
        return undetermined(rows, name, question, rows.here("g", "reml") or g, COMPLETE, source)
    statement = (
        f"G = {show_number(g.estimate, width=(g.high or 0) - g.low)} ({percent(g.confidence)} interval {spread_of(g)} "
        f"over items, systems and raters of this kind) {_sized(rows)}."
    )
    component = rows.first("components", "variance", {"estimator": rows.unbiased, "component": "system"})
    if component is not None and component.estimate < 0:
        statement += (
            f" The unbiased system variance is negative ({short(component.estimate)}): the systems' means lie no "
            "further apart than error alone would put them."
        )
    if plugin is not None and null is not None and not plugin.undefined and not null.undefined:
        statement += (
            f" The plug-in, which takes the observed spread for the true one, would say {short(plugin.estimate)}; "
            f"if no system differed it would still say {show_number(float(f'{null.estimate:.2f}'))} on average."
        )
    where = [g, plugin, null, component]
    if g.low >= target:
        return finding(rows, name, question, "pass", statement, where=where, source=source)
    if g.estimate >= target:
        remedy = "The estimate reaches it, its lower limit does not: report the interval beside the ranking."
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    remedy = "Report the ranking as unreliable; see more-raters and more-items for what would help."
    return finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)


def _sized(rows: Rows) -> str:
    """Return the sizes that G rests on: a crossing, or so many ratings of each system."""
    n_systems = rows.size("n_systems")
    if rows.size("n_missing") == 0:
        return f"with {rows.size('n_items')} items and {rows.size('n_raters')} raters"
    each = rows.size("n_ratings") / n_systems
    return (
        f"as rated: about {show_number(round(each))} ratings of each system, on {rows.size('n_items')} items by "
        f"{rows.size('n_raters')} raters"
    )


def winner_stable(rows: Rows) -> Finding:
    """Say whether leaving out one rater changes the first place."""
    name, question = "winner-stable", "Is the winner the same without any one rater?"
    source = f"{PAPER}, section 4.4"
    if early := without_systems(rows, name, question):
        return early
    if rows.size("n_raters") == 1:
        statement = "There is one rater: without them nothing is left."
        return finding(rows, name, question, "undetermined", statement, remedy="Add raters.", source=source)
    boards: dict[str, list[Row]] = defaultdict(list)
    for row in rows.all("leave_one_rater_out", "rank"):
        boards[str(row.keys["left_out"])].append(row)
    if not boards:
        why = rows.first("leave_one_rater_out", "mean")
        return undetermined(rows, name, question, why, "Give ratings that have a mean.", source)
    first = {left: _winners(board) for left, board in boards.items()}
    whole = first.pop("")
    changed = {left: winners for left, winners in first.items() if winners != whole}
    means = "" if rows.size("n_missing") == 0 else " (means of the ratings that there are)"
    if len(whole) == rows.size("n_systems"):
        statement = "All systems have the same mean: there is no winner to be stable."
        return finding(rows, name, question, "undetermined", statement, where=boards[""][:4], source=source)
    leader = " and ".join(whole)
    rivals = list(dict.fromkeys(name for winners in changed.values() for name in winners if name not in whole))
    told_apart, tests = _of_leaders(rows, whole, rivals or _seconds(boards[""], whole))
    where = [row for row in boards[""] if row.estimate <= 1.5]
    if not changed:
        verb = "tie for first" if len(whole) > 1 else "stays first"
        statement = f"{leader} {verb} whichever of the {len(first)} raters is left out{means}."
        return finding(rows, name, question, "pass", statement + told_apart, where=[*where, *tests], source=source)
    shown = "; ".join(
        f"without {left} it is {'a tie of ' if len(winners) > 1 else ''}{' and '.join(winners)}"
        for left, winners in list(changed.items())[:5]
    )
    more = f"; and {len(changed) - 5} more raters change it" if len(changed) > 5 else ""
    leads = "tie for first" if len(whole) > 1 else "leads"
    statement = f"{leader} {leads} with all {len(first)} raters{means}, but loses first place: {shown}{more}."
    statement += told_apart
    remedy = (
        "Name no winner: the leaders are not told apart, and other raters or other items may put another of them first."
        if told_apart
        else "Name no winner: the first place is decided by who was asked to rate."
    )
    where += [row for left in changed for row in boards[left] if row.estimate <= 1.5]
    return finding(rows, name, question, "fail", statement, remedy=remedy, where=[*where[:12], *tests], source=source)


def _seconds(board: Sequence[Row], first: Sequence[str]) -> list[str]:
    """Return who comes next after the first place."""
    return _winners([row for row in board if row.keys["system"] not in first])


def _of_leaders(rows: Rows, whole: Sequence[str], rivals: Sequence[str]) -> tuple[str, list[Row]]:
    """Say which rivals the first place is not told apart from over items and raters, and by which tests."""
    found = [
        row
        for row in rows.all("pairs", "difference", {"unit": "item+rater"})
        if row.p_adjusted is not None and row.p_adjusted >= ALPHA and _is_between(row, whole, rivals)
    ]
    by: dict[frozenset[Key], Row] = {frozenset((row.keys["system_a"], row.keys["system_b"])): row for row in found}
    if not by:
        return "", []
    # Of several pairs the one that is the furthest apart: it speaks for the others.
    least = min(by.values(), key=lambda row: row.p_adjusted or 0.0)
    close = [name for name in rivals if any(name in pair for pair in by)]
    of = "" if len({show_p(row.p_adjusted) for row in by.values()}) == 1 else "the smallest "
    verb = "is" if len(whole) == 1 else "are"
    said = f" Over items and raters {listed(whole)} {verb} not told apart from {_or(close)}"
    return f"{said} ({of}{show_p(least.p_adjusted)} after Holm).", [least]


def _or(names: Sequence[str]) -> str:
    """Return names with a word before the last: "S3 or S2"."""
    return listed(names) if len(names) > 4 or len(names) < 2 else f"{', '.join(names[:-1])} or {names[-1]}"


def _is_between(row: Row, whole: Sequence[str], rivals: Sequence[str]) -> bool:
    a, b = str(row.keys["system_a"]), str(row.keys["system_b"])
    return (a in whole and b in rivals) or (b in whole and a in rivals)


def _winners(board: Sequence[Row]) -> list[str]:
    best = min((row.estimate for row in board if not math.isnan(row.estimate)), default=math.nan)
    return [str(row.keys["system"]) for row in board if row.estimate == best]


def _more_of(rows: Rows, what: str) -> Finding:
    """more-raters and more-items: reached already, a number with its range, or no number."""
    of_raters = what == "raters"
    other = "items" if of_raters else "raters"
    name, target = f"more-{what}", rows.target
    question = f"Would more {what}{'' if of_raters else ' alone'} reach G {target:g} at these {other}?"
    source = f"{PAPER}, section 4.3; Brennan 2001, section 4.1"
    if early := without_systems(rows, name, question):
        return early
    have = rows.size(f"n_{what}")
    keys: dict[str, Key] = {"target": target}
    needed = rows.first("decision", f"{what}_needed", keys | {"estimator": rows.unbiased})
    plugin = rows.first("decision", f"{what}_needed", keys | {"estimator": "plugin"})
    if needed is None or needed.undefined or needed.low is None or needed.high is None:
        reml = rows.first("decision", f"{what}_needed", keys | {"estimator": "reml"})
        return undetermined(rows, name, question, reml or needed, COMPLETE, source)
    spread = f"{count(needed.low)} to {count(needed.high)}" if math.isfinite(needed.low) else "none at either end"
    at = f"at {rows.size(f'n_{other}')} {other}"
    if rows.size("n_missing"):
        at += " if all rate all" if of_raters else " that all rate all"
    g = rows.here("g", rows.unbiased)
    tail = ""
    if plugin is not None and not plugin.undefined and plugin.estimate != needed.estimate:
        asked = "no number" if math.isinf(plugin.estimate) else show_number(plugin.estimate)
        lower = plugin.estimate < needed.estimate
        tail = f" The plug-in{', which books error as signal,' if lower else ''} would ask for {asked}."
    where = [needed, plugin]
    if math.isinf(needed.estimate):
        edge: dict[str, Key] = {"estimator": rows.unbiased, f"at_{what}": math.inf}
        limit = rows.first("generalizability", "g", edge)
        ceiling = (
            f" With infinitely many, G would still be {short(limit.estimate)}."
            if limit is not None and not limit.undefined
            else ""
        )
        component = rows.first("components", "variance", {"estimator": rows.unbiased, "component": "system:rater"})
        disagree = component is not None and component.estimate > 0
        saturates = (
            " Items saturate: what the raters disagree about does not average out over items."
            if not of_raters and disagree
            else ""
        )
        plugged = rows.first("generalizability", "g", {"estimator": "plugin", f"at_{what}": math.inf})
        if not of_raters and plugged is not None and not plugged.undefined:
            saturates += f" Even the plug-in would end at {short(plugged.estimate)}."
        where.append(plugged)
        statement = (
            f"No number of {what} is supported {at} ({percent(needed.confidence)} range: {spread})."
            f"{ceiling}{saturates}{tail}"
        )
        remedy = (
            "Collect a pilot with several more raters and audit again before planning: this panel cannot tell how many "
            "would be needed."
            if of_raters
            else "More items alone will not do it; see more-raters."
        )
        verdict: Verdict = "fail"
        return finding(rows, name, question, verdict, statement, remedy=remedy, where=[*where, limit], source=source)
    # A panel with holes has fewer ratings than its crossing: whether it is there already, its own G must say.
    reached = needed.estimate <= have and (rows.size("n_missing") == 0 or (g is not None and g.estimate >= target))
    if reached and needed.high <= have:
        statement = (
            f"Reached already {at}: by the estimate {show_number(needed.estimate)} would do "
            f"({percent(needed.confidence)} range: {spread}), {have} are there.{tail}"
        )
        return finding(rows, name, question, "pass", statement, where=[*where, g], source=source)
    if reached:
        statement = (
            f"Reached by the estimate {at}, but not for sure: the {percent(needed.confidence)} range goes from "
            f"{spread}, and {have} are there.{tail}"
        )
        remedy = (
            f"Report G with its interval. More {what} might not make sure of it: the range ends at never, for no "
            "number of them would do if the components lay at that end of it."
            if math.isinf(needed.high)
            else f"{count(needed.high)} {what} are enough even if the true number is at the upper end of the range; "
            "until then report G with its interval."
        )
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=[*where, g], source=source)
    statement = (
        f"Yes: {show_number(needed.estimate)} {what} {at} ({percent(needed.confidence)} range: {spread}), {have} are "
        f"there.{tail}"
    )
    limit_of_range = (
        "no number may be enough" if math.isinf(needed.high) else f"up to {count(needed.high)} may be needed"
    )
    remedy = f"Plan with the range, not with the number alone: {limit_of_range}."
    return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)


def more_raters(rows: Rows) -> Finding:
    """Say how many raters would reach the target, or that no number would."""
    return _more_of(rows, "raters")


def more_items(rows: Rows) -> Finding:
    """Say how many items would reach the target, or that they saturate."""
    return _more_of(rows, "items")


def panel_size(rows: Rows) -> Finding:
    """Say whether tests over this many raters can reach significance at all."""
    name, question = "panel-size", f"Can this panel's tests over raters reach p = {ALPHA:g}?"
    source = "Lehmann & Romano 2005, chapter 5; methods: attainable p of sign and permutation tests"
    if early := without_systems(rows, name, question):
        return early
    n = rows.size("n_raters")
    if n < 2:
        statement = "No: with one rater there is no test over raters at all."
        return finding(rows, name, question, "fail", statement, remedy="Add raters.", source=source)
    attainable = 2.0 ** (1 - n)
    where = rows.all("pairs", "p_sign", {"unit": "rater"})[:1]
    shown = f"with {n} raters the smallest p of a sign or permutation test is {show_number(attainable)}"
    if attainable < ALPHA:
        return finding(rows, name, question, "pass", f"Yes: {shown}.", where=where, source=source)
    statement = f"Only by a t test with {n - 1} degrees of freedom, which leans on normality: {shown}."
    remedy = "Six raters or more can reach it without assuming a distribution."
    return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
