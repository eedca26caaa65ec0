"""What the numbers of a panel audit answer: one function per finding, each from rows to a verdict in words.

The rules are those of the table "Findings" in the documentation; thresholds stand here and nowhere else.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from measurand.result import Finding, Key, Result, Row, Verdict, show_number

ALPHA: Final = 0.05
RELIABLE_AGREEMENT: Final = 0.667
CORRELATION_GAP: Final = 0.1
MOST_COPIED: Final = 0.01
MISSINGNESS_P: Final = 0.001
MISSINGNESS_EFFECT: Final = 0.2

_PAPER: Final = "Sakhawat 2026, arXiv 2609.29445"


class _Rows:
    """The rows of one criterion, by analysis and statistic."""

    def __init__(self, rows: Sequence[Row], criterion: str, about: Mapping[str, Any], target: float) -> None:
        self.criterion = criterion
        self.about = about
        self.target = target
        self._by: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            self._by[row.analysis, row.statistic].append(row)

    def all(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        wanted = (keys or {}).items()
        return [row for row in self._by[analysis, statistic] if all(row.keys.get(k, "") == v for k, v in wanted)]

    def first(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        found = self.all(analysis, statistic, keys)
        return found[0] if found else None

    def size(self, name: str) -> int:
        row = self.first("design", name)
        return int(row.estimate) if row else 0

    def here(self, statistic: str, estimator: str) -> Row | None:
        """G or Phi at the panel's own size."""
        keys: dict[str, Key] = {"estimator": estimator, "at_items": self.size("n_items")}
        return self.first("generalizability", statistic, keys | {"at_raters": self.size("n_raters")})

    @property
    def unbiased(self) -> str:
        """The unbiased estimator of this panel's components: anova where it is complete, henderson where not."""
        row = self.first("components", "variance", {"estimator": "henderson"})
        return "anova" if row is None else "henderson"


def findings(result: Result, *, targets: Sequence[float] = (0.8,)) -> list[Finding]:
    """Return the findings of a panel audit, criterion by criterion.

    Parameters
    ----------
    result : Result
        The analyses that `measurand.auditing.audit` makes.
    targets : sequence of float
        The values of G of the decision study; the findings speak of the first.

    Returns
    -------
    list of Finding
        Every question of the audit for every criterion; one that cannot be answered says what it lacks.
    """
    criteria: Mapping[str, Mapping[str, Any]] = result.settings["design"]["criteria"]
    by_criterion: dict[str, list[Row]] = defaultdict(list)
    for row in result.rows:
        name = str(row.keys.get("criterion", ""))
        if row.analysis == "design" and len(criteria) == 1:
            name = next(iter(criteria))
        by_criterion[name].append(row)
    out = []
    for criterion, about in criteria.items():
        rows = _Rows(by_criterion[criterion], criterion, about, targets[0])
        out += [question(rows) for question in _QUESTIONS]
    return out


def _finding(
    rows: _Rows,
    name: str,
    question: str,
    verdict: Verdict,
    statement: str,
    *,
    remedy: str = "",
    where: Sequence[Row | None] = (),
    source: str = "",
) -> Finding:
    references = [
        {"analysis": row.analysis, **{k: v for k, v in row.keys.items() if v != ""}, "statistic": row.statistic}
        for row in where
        if row is not None
    ]
    return Finding(name, question, verdict, statement, remedy, rows.criterion, references, source)


def _p(value: float | None) -> str:
    if value is None:
        return "p not defined"
    return "p < .0001" if value < 1e-4 else f"p = {show_number(float(f'{value:.2g}'))}"


def _short(value: float) -> str:
    """Three digits: enough for a sentence; the row has them all."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return show_number(value)
    return show_number(float(f"{value:.3g}"))


def _count(value: float) -> str:
    return "never" if math.isinf(value) else show_number(value)


def _interval(row: Row) -> str:
    if row.low is None or row.high is None:
        return ""
    width = row.high - row.low
    return f"{show_number(row.low, width=width)} to {show_number(row.high, width=width)}"


def _percent(confidence: float | None) -> str:
    return f"{100 * (confidence or 0.95):g} %"


def _without_systems(rows: _Rows, name: str, question: str) -> Finding | None:
    if rows.size("n_systems") == 0:
        statement = "There are no systems in this table: the ratings concern the items themselves."
        return _finding(rows, name, question, "not_applicable", statement)
    if rows.size("n_systems") == 1:
        return _finding(rows, name, question, "not_applicable", "There is one system, so that nothing can be ranked.")
    return None


def _undetermined(rows: _Rows, name: str, question: str, row: Row | None, remedy: str, source: str = "") -> Finding:
    reason = row.undefined if row is not None and row.undefined else "the numbers that it needs are missing"
    statement = f"Not determined: {reason}."
    return _finding(rows, name, question, "undetermined", statement, remedy=remedy, where=[row], source=source)


_COMPLETE: Final = "Rate the cells that are missing, or audit the items and raters whose crossing is complete."


def _systems_differ(rows: _Rows) -> Finding:
    name, question = "systems-differ", "Do the systems differ, for raters and items of this kind?"
    source = f"{_PAPER}, section 4.2; Clark 1973"
    if early := _without_systems(rows, name, question):
        return early
    tests = {
        term: rows.first("system_test", "f", {"error_term": term}) for term in ("residual", "system:rater", "quasi_f")
    }
    both, raters, residual = tests["quasi_f"], tests["system:rater"], tests["residual"]
    if both is None or raters is None or both.p is None or raters.p is None:
        # Without a complete crossing the mixed models take the place of the mean squares.
        full, judgement = (_model(rows, model) for model in ("full", "judgement"))
        both, raters, residual = full, _model(rows, "judgement+system:rater"), judgement
    if both is None or raters is None or both.p is None or raters.p is None:
        return _undetermined(rows, name, question, both, _COMPLETE, source)
    usual = ""
    if residual is not None and residual.p is not None:
        against = "at the level of judgements" if residual.keys.get("model") else "against the residual"
        usual = f" The usual test, {against}, gives F = {_short(residual.estimate)} ({_p(residual.p)})"
        usual += ", which takes these raters and items as all there are." if residual.p < ALPHA else "."
    shown = (
        f"F = {_short(raters.estimate)} with {show_number(raters.df1)} and {show_number(raters.df2)} degrees of "
        f"freedom once raters count as a sample ({_p(raters.p)}), {_short(both.estimate)} once items do, too "
        f"({_p(both.p)})."
    )
    where = [both, raters, residual]
    if both.p < ALPHA:
        return _finding(rows, name, question, "pass", f"Yes: {shown}{usual}", where=where, source=source)
    if raters.p < ALPHA:
        remedy = "Claim the differences for these items only, or add items until the test with both random agrees."
        statement = f"For other raters, but not shown for other items: {shown}{usual}"
        return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    remedy = (
        "Do not publish this ranking as a ranking of systems. Rate with more raters (see more-raters), or report that "
        "no difference was found."
    )
    statement = f"Not shown: {shown}{usual}"
    return _finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)


def _model(rows: _Rows, model: str) -> Row | None:
    return rows.first("system_test", "f", {"error_term": "mixed_model", "model": model})


def _ranking_reliable(rows: _Rows) -> Finding:
    target = rows.target
    name = "ranking-reliable"
    question = f"Is G, the reliability of the ranking, at least {target:g} here?"
    source = f"Brennan 2001, chapter 4; {_PAPER}, section 4.3"
    if early := _without_systems(rows, name, question):
        return early
    g, plugin, null = rows.here("g", rows.unbiased), rows.here("g", "plugin"), rows.here("g_null", "plugin")
    if g is None or g.undefined or g.low is None:
        return _undetermined(rows, name, question, rows.here("g", "reml") or g, _COMPLETE, source)
    statement = (
        f"G = {show_number(g.estimate, width=(g.high or 0) - g.low)} ({_percent(g.confidence)} interval {_interval(g)} "
        f"over items, systems and raters of this kind) with {rows.size('n_items')} items and {rows.size('n_raters')} "
        "raters."
    )
    component = rows.first("components", "variance", {"estimator": rows.unbiased, "component": "system"})
    if component is not None and component.estimate < 0:
        statement += (
            f" The unbiased system variance is negative ({_short(component.estimate)}): the systems' means lie no "
            "further apart than error alone would put them."
        )
    if plugin is not None and null is not None and not plugin.undefined and not null.undefined:
        statement += (
            f" The plug-in, which takes the observed spread for the true one, would say {_short(plugin.estimate)}; "
            f"if no system differed it would still say {show_number(float(f'{null.estimate:.2f}'))} on average."
        )
    where = [g, plugin, null, component]
    if g.low >= target:
        return _finding(rows, name, question, "pass", statement, where=where, source=source)
    if g.estimate >= target:
        remedy = "The estimate reaches it, its lower limit does not: report the interval beside the ranking."
        return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    remedy = "Report the ranking as unreliable; see more-raters and more-items for what would help."
    return _finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)


def _winner_stable(rows: _Rows) -> Finding:
    name, question = "winner-stable", "Is the winner the same without any one rater?"
    source = f"{_PAPER}, section 4.4"
    if early := _without_systems(rows, name, question):
        return early
    if rows.size("n_raters") == 1:
        statement = "There is one rater: without them nothing is left."
        return _finding(rows, name, question, "undetermined", statement, remedy="Add raters.", source=source)
    boards: dict[str, list[Row]] = defaultdict(list)
    for row in rows.all("leave_one_rater_out", "rank"):
        boards[str(row.keys["left_out"])].append(row)
    if not boards:
        why = rows.first("leave_one_rater_out", "mean")
        return _undetermined(rows, name, question, why, "Give ratings that have a mean.", source)
    first = {left: _winners(board) for left, board in boards.items()}
    whole = first.pop("")
    changed = {left: winners for left, winners in first.items() if winners != whole}
    means = "" if rows.size("n_missing") == 0 else " (means of the ratings that there are)"
    leader = " and ".join(whole)
    where = [row for row in boards[""] if row.estimate <= 1.5]
    if not changed:
        verb = "ties for first" if len(whole) > 1 else "stays first"
        statement = f"{leader} {verb} whichever of the {len(first)} raters is left out{means}."
        return _finding(rows, name, question, "pass", statement, where=where, source=source)
    shown = "; ".join(f"without {left} it is {' and '.join(winners)}" for left, winners in list(changed.items())[:5])
    more = f"; and {len(changed) - 5} more raters change it" if len(changed) > 5 else ""
    statement = f"{leader} leads with all {len(first)} raters{means}, but not without each of them: {shown}{more}."
    remedy = "Name no winner: the first place is decided by who was asked to rate."
    where += [row for left in changed for row in boards[left] if row.estimate <= 1.5]
    return _finding(rows, name, question, "fail", statement, remedy=remedy, where=where[:12], source=source)


def _winners(board: Sequence[Row]) -> list[str]:
    best = min((row.estimate for row in board if not math.isnan(row.estimate)), default=math.nan)
    return [str(row.keys["system"]) for row in board if row.estimate == best]


def _more_of(rows: _Rows, what: str) -> Finding:
    """more-raters and more-items: reached already, a number with its range, or no number."""
    of_raters = what == "raters"
    other = "items" if of_raters else "raters"
    name, target = f"more-{what}", rows.target
    question = f"Would more {what}{'' if of_raters else ' alone'} reach G {target:g} at these {other}?"
    source = f"{_PAPER}, section 4.3; Brennan 2001, section 4.1"
    if early := _without_systems(rows, name, question):
        return early
    have = rows.size(f"n_{what}")
    keys: dict[str, Key] = {"target": target}
    needed = rows.first("decision", f"{what}_needed", keys | {"estimator": rows.unbiased})
    plugin = rows.first("decision", f"{what}_needed", keys | {"estimator": "plugin"})
    if needed is None or needed.undefined or needed.low is None or needed.high is None:
        reml = rows.first("decision", f"{what}_needed", keys | {"estimator": "reml"})
        return _undetermined(rows, name, question, reml or needed, _COMPLETE, source)
    spread = f"{_count(needed.low)} to {_count(needed.high)}" if math.isfinite(needed.low) else "none at either end"
    at = f"at {rows.size(f'n_{other}')} {other}"
    tail = ""
    if plugin is not None and not plugin.undefined and plugin.estimate != needed.estimate:
        asked = "no number" if math.isinf(plugin.estimate) else show_number(plugin.estimate)
        tail = f" The plug-in, which books error as signal, would ask for {asked}."
    where = [needed, plugin]
    if math.isinf(needed.estimate):
        edge: dict[str, Key] = {"estimator": rows.unbiased, f"at_{what}": math.inf}
        limit = rows.first("generalizability", "g", edge)
        ceiling = (
            f" With infinitely many, G would still be {_short(limit.estimate)}."
            if limit is not None and not limit.undefined
            else ""
        )
        saturates = (
            "" if of_raters else " Items saturate: what the raters disagree about does not average out over items."
        )
        plugged = rows.first("generalizability", "g", {"estimator": "plugin", f"at_{what}": math.inf})
        if not of_raters and plugged is not None and not plugged.undefined:
            saturates += f" Even the plug-in would end at {_short(plugged.estimate)}."
        statement = (
            f"No number of {what} is supported {at} ({_percent(needed.confidence)} range: {spread})."
            f"{ceiling}{saturates}{tail}"
        )
        remedy = (
            "Collect a pilot with several more raters and audit again before planning: this panel cannot tell how many "
            "would be needed."
            if of_raters
            else "Spend on raters, not on items."
        )
        verdict: Verdict = "fail"
        return _finding(rows, name, question, verdict, statement, remedy=remedy, where=[*where, limit], source=source)
    if needed.estimate <= have:
        g = rows.here("g", "anova")
        statement = (
            f"Reached already {at}: {show_number(needed.estimate)} would do ({_percent(needed.confidence)} range: "
            f"{spread}), {have} are there.{tail}"
        )
        return _finding(rows, name, question, "pass", statement, where=[*where, g], source=source)
    statement = (
        f"Yes: {show_number(needed.estimate)} {what} {at} ({_percent(needed.confidence)} range: {spread}), {have} are "
        f"there.{tail}"
    )
    remedy = f"Plan with the range, not with the number: {spread} {what}."
    return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)


def _more_raters(rows: _Rows) -> Finding:
    return _more_of(rows, "raters")


def _more_items(rows: _Rows) -> Finding:
    return _more_of(rows, "items")


def _agreement(rows: _Rows) -> Finding:
    declared = str(rows.about["level"])
    level = declared if declared != "not declared" else "ordinal"
    name = "agreement"
    question = f"Is Krippendorff's alpha ({level}) at least {RELIABLE_AGREEMENT:g}?"
    source = "Krippendorff 2018, section 12.4: below .667 even tentative conclusions are not safe"
    found = rows.all("agreement", f"alpha_{level}", {"system": ""})
    row = next((one for one in found if one.unit == "item"), found[0] if found else None)
    if row is None or row.undefined:
        remedy = "Have at least two raters rate the same things, on a scale whose order is declared."
        return _undetermined(rows, name, question, row, remedy, source)
    note = "" if declared == level else " No level of measurement was declared, so that the ordinal alpha is taken."
    icc = rows.first("agreement", "icc_2_1", {"missing": "listwise"})
    extra = f" ICC(2,1) = {_short(icc.estimate)}." if icc is not None and not icc.undefined else ""
    low = -math.inf if row.low is None else row.low
    spread = (
        f" ({_percent(row.confidence)} interval {_interval(row)}, items redrawn, these raters)"
        if row.low is not None
        else ""
    )
    width = (row.high or 0.0) - row.low if row.low is not None else None
    statement = f"Alpha ({level}) = {show_number(row.estimate, width=width)}{spread}.{extra}{note}"
    where = [row, icc]
    if row.estimate >= RELIABLE_AGREEMENT and low >= RELIABLE_AGREEMENT:
        return _finding(rows, name, question, "pass", statement, where=where, source=source)
    if row.estimate >= RELIABLE_AGREEMENT:
        remedy = "The estimate reaches it, its lower limit does not: report the interval."
        return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    remedy = (
        "Single ratings carry little that raters share: sharpen the instructions, train raters on anchors, and report "
        "results for individual raters."
    )
    return _finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)


def _correlation(rows: _Rows) -> Finding:
    name = "correlation-not-agreement"
    question = f"Is the mean Pearson correlation more than {CORRELATION_GAP:g} above the mean pairwise alpha?"
    source = f"{_PAPER}, section 4.1"
    pearson = {_pair(row): row for row in rows.all("agreement_pairs", "pearson") if not row.undefined}
    alpha = {_pair(row): row for row in rows.all("agreement_pairs", "alpha_ordinal") if not row.undefined}
    both = [pair for pair in pearson if pair in alpha]
    if not both:
        why = rows.first("agreement_pairs", "pearson")
        return _undetermined(rows, name, question, why, "Have raters rate the same things.", source)
    r = float(np.mean([pearson[pair].estimate for pair in both]))
    a = float(np.mean([alpha[pair].estimate for pair in both]))
    pairs = f"{len(both)} pair{'s' if len(both) > 1 else ''} of raters"
    shown = f"Pearson's r is {show_number(r, width=0.1)} on average, ordinal alpha {show_number(a, width=0.1)}"
    statement = f"Over {pairs} {shown}."
    where = [row for pair in both[:3] for row in (pearson[pair], alpha[pair])]
    if r - a <= CORRELATION_GAP:
        return _finding(rows, name, question, "pass", statement, where=where, source=source)
    means = rows.all("raters", "mean")
    if means:
        lowest, highest = min(means, key=lambda m: m.estimate), max(means, key=lambda m: m.estimate)
        statement += (
            f" The raters use the scale differently: {lowest.keys['rater']} gives {_short(lowest.estimate)} on "
            f"average, {highest.keys['rater']} {_short(highest.estimate)}."
        )
    remedy = "Report alpha or ICC(2,1), not correlations: a correlation does not see that raters differ in severity."
    return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)


def _pair(row: Row) -> tuple[Key, Key]:
    return row.keys["rater_a"], row.keys["rater_b"]


def _panel_size(rows: _Rows) -> Finding:
    name, question = "panel-size", f"Can this panel's tests over raters reach p = {ALPHA:g}?"
    source = "Lehmann & Romano 2005, chapter 5; methods: attainable p of sign and permutation tests"
    if early := _without_systems(rows, name, question):
        return early
    n = rows.size("n_raters")
    if n < 2:
        statement = "No: with one rater there is no test over raters at all."
        return _finding(rows, name, question, "fail", statement, remedy="Add raters.", source=source)
    attainable = 2.0 ** (1 - n)
    where = rows.all("pairs", "p_sign", {"unit": "rater"})[:1]
    shown = f"with {n} raters the smallest p of a sign or permutation test is {show_number(attainable)}"
    if attainable < ALPHA:
        return _finding(rows, name, question, "pass", f"Yes: {shown}.", where=where, source=source)
    statement = f"Only by a t test with {n - 1} degrees of freedom, which leans on normality: {shown}."
    remedy = "Six raters or more can reach it without assuming a distribution."
    return _finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)


def _copied(rows: _Rows) -> Finding:
    name, question = "copied-ratings", "Do raters carry copied ratings?"
    row = rows.first("copies", "share_copied")
    if row is None or row.undefined:
        return _undetermined(rows, name, question, row, "")
    found = rows.all("copies", "n_identical")
    if row.estimate == 0:
        statement = "No two raters gave identical ratings to everything that both rated."
        return _finding(rows, name, question, "pass", statement, where=[row])
    shown = "; ".join(
        f"{one.keys['rater_a']} and {one.keys['rater_b']} on {show_number(one.estimate)} common cells"
        for one in found[:3]
    )
    more = f"; and {len(found) - 3} more pairs" if len(found) > 3 else ""
    statement = (
        f"{show_number(100 * row.estimate)} % of the ratings come from raters with identical vectors: {shown}{more}."
    )
    remedy = "Find out how these ratings came about; until then count such raters as one."
    verdict: Verdict = "warn" if row.estimate <= MOST_COPIED else "fail"
    return _finding(rows, name, question, verdict, statement, remedy=remedy, where=[row, *found[:3]])


def _informative(rows: _Rows) -> Finding:
    name = "informative-missingness"
    question = "Does it depend on the others' ratings of a cell whether a rater rated it?"
    source = "Rubin 1976, Biometrika 63: ratings missing not at random"
    if rows.size("n_missing") == 0:
        return _finding(rows, name, question, "not_applicable", "Nothing is missing.", source=source)
    tests = rows.all("missingness", "difference")
    effects = {
        (row.keys["rater"], row.keys.get("rating", "")): row
        for row in rows.all("missingness", "standardised_difference")
    }
    tested = [row for row in tests if row.p_adjusted is not None]
    if not tested:
        reason = tests[0] if tests else None
        remedy = "Have some cells rated by several raters."
        return _undetermined(rows, name, question, reason, remedy, source)
    worst = min(tested, key=lambda row: (row.p_adjusted or 0.0, -abs(row.estimate)))
    effect = effects[worst.keys["rater"], worst.keys.get("rating", "")]
    p = worst.p_adjusted or 0.0
    size = abs(effect.estimate)
    direction = "higher" if worst.estimate > 0 else "lower"
    deviations = "without any overlap" if math.isinf(size) else f"{show_number(size, width=1.0)} standard deviations"
    statement = (
        f"Where {worst.keys['rater']} rated, the others' ratings are {_short(abs(worst.estimate))} {direction} than "
        f"where they did not ({deviations}; {_p(p)} after Holm over {len(tested)} comparisons)."
    )
    where = [worst, effect]
    if p >= ALPHA:
        statement = f"No sign of it: the largest difference is not significant. {statement}"
        return _finding(rows, name, question, "pass", statement, where=where, source=source)
    remedy = (
        "Who rates on seems to be decided by the ratings themselves. Agreement and means of the ratings that there are "
        "do not describe the cells that were left: report the design, or have a random part of the cells rated by all."
    )
    failed = any(
        (row.p_adjusted or 0.0) < MISSINGNESS_P
        and row.p_adjusted is not None
        and abs(effects[row.keys["rater"], row.keys.get("rating", "")].estimate) > MISSINGNESS_EFFECT
        for row in tested
    )
    verdict: Verdict = "fail" if failed else "warn"
    return _finding(rows, name, question, verdict, statement, remedy=remedy, where=where, source=source)


_QUESTIONS: Final[Sequence[Callable[[_Rows], Finding]]] = (
    _systems_differ,
    _ranking_reliable,
    _winner_stable,
    _more_raters,
    _more_items,
    _agreement,
    _correlation,
    _panel_size,
    _copied,
    _informative,
)
