"""What a plan answers: can the target be reached, does another layout pay, which difference can be found?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from measurand.planning.designs import own_items
from measurand.result import Finding, Key, Row, Verdict, show_number
from measurand.sentences import estimate_of, money, percent, price, share, short, spread_of

#: Share of the error variance that the best layout for the same money must save to be worth a word.
SAVING: Final = 0.2
#: Times what a target costs by the estimate that being sure of it may cost before the first panel is called too small.
SURE_TIMES: Final = 3.0
#: Raters with whom a sign or permutation test over raters can reach .05: 2^(1 - n), two-sided.
TESTED_RATERS: Final = 6
#: Powers above this are told as such.
_CERTAIN: Final = 0.999
#: Savings below this are no better layout.
_NOTHING: Final = 0.0005
JUDD: Final = "Judd, Westfall & Kenny (2017), Annual Review of Psychology 68, 601-625"
BRENNAN: Final = "Brennan (2001), Generalizability Theory, section 4.1.3"


def pick(rows: Sequence[Row], statistic: str, keys: Mapping[str, Key]) -> list[Row]:
    """Return the rows of a statistic whose keys have the given values."""
    wanted = keys.items()
    return [row for row in rows if row.statistic == statistic and all(row.keys.get(k, "") == v for k, v in wanted)]


def _unbiased(rows: Sequence[Row]) -> str:
    return next((str(row.keys["estimator"]) for row in rows if row.keys["estimator"] != "plugin"), "anova")


def design_in_words(keys: Mapping[str, Key]) -> str:
    """Return a design as a sentence has it."""
    raters, items, each = (int(keys.get(name, 0)) for name in ("at_raters", "at_items", "at_items_per_rater"))
    layout = keys["layout"]
    if layout == "crossed":
        return f"crossed, {show_number(raters)} raters who all rate {show_number(items)} items"
    if layout == "nested":
        return f"nested, {show_number(raters)} raters with {own_items(each)} each"
    return (
        f"rotating, {show_number(raters)} raters who rate {show_number(each)} of {show_number(items)} items each, "
        f"{show_number(raters * each // items)} raters for an item"
    )


def target_reachable(rows: Sequence[Row], criterion: str, *, target: float, of: str, bounds: str) -> Finding:
    """Return whether a panel within bounds reaches the target.

    Pass: with confidence, beyond two standard errors of the drawing, for no more than `SURE_TIMES` times what it costs
    by the estimate. Warn: dearer, open, or by the estimate alone. Fail: none does.
    """
    name, letter = "target-reachable", "G" if of == "g" else "Phi"
    question = f"Would a panel within {bounds} reach {letter} {short(target)}?"
    unbiased = _unbiased(rows)

    def answer(verdict: Verdict, statement: str, remedy: str, where: Sequence[Row]) -> Finding:
        return Finding(
            name, question, verdict, statement, remedy, criterion, [row.reference() for row in where], BRENNAN
        )

    (needed, *_) = pick(rows, "cost_needed", {"estimator": unbiased, "layout": ""})
    if needed.undefined:
        no_systems = needed.undefined.startswith("no systems")
        verdict: Verdict = "not_applicable" if no_systems else "undetermined"
        # Another panel of the same ratings would have no mean either.
        remedy = (
            ""
            if no_systems or needed.undefined.startswith("nominal")
            else "Rate a small panel of several systems, items and raters first."
        )
        return answer(verdict, f"Not determined: {needed.undefined}.", remedy, [needed])
    by_estimate = [row for row in pick(rows, "cost", {"estimator": unbiased, "basis": "estimate"}) if not row.undefined]
    sure = [row for row in pick(rows, "cost", {"estimator": unbiased, "basis": "lower_limit"}) if not row.undefined]
    level = percent(needed.confidence)
    if sure:
        return _sure(rows, sure, by_estimate, needed, f"{letter} {short(target)}", answer)
    if by_estimate:
        chance = pick(rows, "probability_reached", dict(by_estimate[0].keys))
        statement = (
            f"By the estimate {letter} {short(target)} costs {money(by_estimate[0].estimate)} "
            f"({level} range {_range_of(needed)}): {design_in_words(by_estimate[0].keys)}; but it is reached in only "
            f"{share(chance[0].estimate)} of what the first panel leaves possible, and no panel within {bounds} is "
            f"sure to reach it.{_of_nested(by_estimate[0])}{_of_few(by_estimate[0])}"
        )
        remedy = (
            "Rate a larger first panel, with more raters and systems above all, before money is spent on this: the "
            "components are not known well enough to promise it."
        )
        return answer("warn", statement, remedy, [by_estimate[0], *chance, needed])
    reason = pick(rows, "cost", {"estimator": unbiased, "basis": "estimate"})
    why = reason[0].undefined.partition(": ")[2] if reason else ""
    plugin = [row for row in pick(rows, "cost", {"estimator": "plugin", "basis": "estimate"}) if not row.undefined]
    beside = ""
    if plugin:
        beside = (
            f" The plug-in estimator, which takes the spread of the system means for differences between systems, "
            f"would promise it for {money(plugin[0].estimate)}."
        )
    least = needed.low
    left = ""
    if least is not None and math.isfinite(least):
        left = f" The {level} range of what it could cost runs from {money(least)} to no price at all."
    statement = f"No layout does: {why}.{left}{beside}"
    remedy = (
        "More raters or items of this kind do not help. Compare systems that differ more, sharpen the instructions, or "
        "rate a first panel that can show differences."
    )
    return answer("fail", statement, remedy, [*reason[:1], *plugin[:1], needed])


def _sure(
    rows: Sequence[Row],
    sure: Sequence[Row],
    by_estimate: Sequence[Row],
    needed: Row,
    wanted: str,
    answer: Callable[[Verdict, str, str, Sequence[Row]], Finding],
) -> Finding:
    """Return the answer where a panel is sure to reach the target: its price beside that by the estimate."""
    level = percent(needed.confidence)
    least = (1 + (needed.confidence or 0.95)) / 2
    chances = {id(row): pick(rows, "probability_reached", dict(row.keys))[0] for row in sure}
    firm = [row for row in sure if (chances[id(row)].low or 0.0) >= least]
    best = (firm or sure)[0]
    chance = chances[id(best)]
    where = [best, *by_estimate[:1], chance, needed]
    statement = f"{wanted} costs {price(best)} to be sure of it with {level} confidence ({design_in_words(best.keys)})"
    times = 1.0
    if by_estimate:
        estimate = by_estimate[0]
        times = best.estimate / estimate.estimate
        statement = (
            f"By the estimate {wanted} costs {money(estimate.estimate)} ({design_in_words(estimate.keys)}), and "
            f"{price(best)} to be sure of it with {level} confidence ({design_in_words(best.keys)}), "
            f"{short(times)} times as much: one panel must then do for nearly all that the first panel leaves possible"
        )
    if not firm:
        statement += (
            f". Whether it is sure is open: it reaches the target in {_percent(chance.estimate)} of the draws, "
            f"{_percent(least)} are asked, and the drawing leaves {_percent(chance.low)} to {_percent(chance.high)}"
        )
        remedy = "Take more draws (`draws` of `measurand.plan`), or allow for more raters and items."
        return answer("warn", f"{statement}.", remedy, where)
    if needed.low is not None and math.isfinite(needed.low):
        statement += (
            f". A panel cut to the true components, could they be known beforehand, would cost {_range_of(needed)} "
            f"({level} range)"
        )
    statement = f"{statement}.{_of_nested(best)}{_of_few(best)}"
    if times > SURE_TIMES:
        remedy = (
            "Rate a larger first panel, with more raters and systems above all, before money is spent on this: the "
            "better the components are known, the less it costs to be sure."
        )
        return answer("warn", statement, remedy, where)
    return answer("pass", statement, "", where)


def _percent(value: float | None) -> str:
    """Return a share that is close to another in percent, with two more digits than others."""
    return f"{100 * (value or 0.0):.3f} %"


def _range_of(needed: Row) -> str:
    """Return the range of a cost, whose end may be no price at all."""
    if needed.high is not None and needed.low is not None and math.isinf(needed.high):
        return f"{money(needed.low)} to no price at all"
    return f"{money(needed.low)} to {money(needed.high)}" if needed.low is not None and needed.high is not None else ""


def layout_pays(rows: Sequence[Row], criterion: str, *, target_is_sure: bool = True) -> Finding:
    """Return whether another layout would have bought less error for what the panel cost: warn from `SAVING` on.

    Where the target is not sure to be reached, more raters are asked for: then no layout with fewer of them than the
    panel has is advised, and the answer is undetermined if only such a one would save as much.
    """
    name, question = "layout-pays", "Would the same money have bought more in another layout?"
    unbiased = _unbiased(rows)
    own = pick(rows, "error_variance", {"estimator": unbiased, "basis": "as_rated"})
    others = pick(rows, "error_variance", {"estimator": unbiased, "basis": "same_cost"})
    if not own or not others or own[0].estimate == 0:
        undefined = [row for row in rows if row.undefined and row.statistic in ("cost_needed", "cost")]
        reason = undefined[0].undefined if undefined else "the ratings have no error to lessen"
        verdict: Verdict = "not_applicable" if reason.startswith("no systems") else "undetermined"
        return Finding(name, question, verdict, f"Not determined: {reason}.", "", criterion)
    best = min(others, key=lambda row: row.estimate)
    there = int(own[0].keys["at_raters"])
    if not target_is_sure and int(best.keys["at_raters"]) < there:
        as_many = [row for row in others if int(row.keys["at_raters"]) >= there]
        advised = min(as_many, key=lambda row: row.estimate, default=best)
        best = advised if 1 - advised.estimate / own[0].estimate >= SAVING else best
    saved = 1 - best.estimate / own[0].estimate
    coefficients = [
        row
        for row in rows
        if row.statistic in ("g", "phi")
        and row.keys["estimator"] == unbiased
        and row.keys["basis"] in ("as_rated", "same_cost")
        and row.keys["layout"] in ("as_rated", best.keys["layout"])
    ]
    where = [row.reference() for row in (own[0], best, *coefficients)]
    what = "differences between systems" if own[0].keys["of"] == "g" else "the systems' levels"
    if saved < SAVING:
        statement = (
            f"For the same cost no layout would lower the error variance of {what}, {short(own[0].estimate)}, by any "
            f"amount worth naming: the best is {design_in_words(best.keys)}."
            if saved < _NOTHING
            else f"For the same cost the best layout ({design_in_words(best.keys)}) would lower the error variance of "
            f"{what} by {share(saved)}, from {short(own[0].estimate)}."
        )
        return Finding(name, question, "pass", statement, "", criterion, where, BRENNAN)
    of_g = ""
    if len(coefficients) == 2 and not math.isnan(coefficients[1].estimate) and coefficients[1].estimate > 0:
        letter = "G" if coefficients[0].statistic == "g" else "Phi"
        of_g = f", and {letter} from {short(coefficients[0].estimate)} to {short(coefficients[1].estimate)}"
    statement = (
        f"For the same cost, another panel ({design_in_words(best.keys)}) would bring the error variance of {what} "
        f"from {short(own[0].estimate)} to {short(best.estimate)} ({share(saved)} less){of_g}.{_of_nested(best)}"
    )
    if not target_is_sure and int(best.keys["at_raters"]) < there:
        statement = (
            f"Not determined: {statement[0].lower()}{statement[1:]} But it has fewer raters than the "
            f"{there} that there are, from whom it is not known well enough what raters differ in: the target is not "
            "sure to be reached (target-reachable)."
        )
        remedy = (
            f"Keep {there} raters at least, follow target-reachable first, and ask about layouts again once it passes."
        )
        return Finding(name, question, "undetermined", statement, remedy, criterion, where, BRENNAN)
    remedy = f"{_direction(own[0], best)}; `measurand plan … --draw` deals them out.{_of_few(best)}"
    return Finding(name, question, "warn", statement, remedy, criterion, where, BRENNAN)


def _direction(own: Row, best: Row) -> str:
    """Return what to do to come from a panel to a better one for the same money."""
    raters, better = (int(row.keys["at_raters"]) for row in (own, best))
    before, after = (int(row.keys.get("at_items_per_rater", row.keys["at_items"])) for row in (own, best))
    each = f"each with {'fewer' if after < before else 'as many' if after == before else 'more'} items"
    if better > raters:
        return f"Spread the judgements over more raters, {each}"
    if better < raters:
        return f"Give the judgements to fewer raters, {each}"
    return "Keep the number of raters, and have each item rated by fewer of them, so that there are more items"


def _of_few(design: Row) -> str:
    """Say what a design of few raters is for, as the audit asks for more raters for another purpose."""
    if int(design.keys["at_raters"]) >= TESTED_RATERS:
        return ""
    return (
        " This is about how precise the means are; tests over raters that assume no distribution take "
        f"{TESTED_RATERS} of them at least (`panel-size` of the audit)."
    )


def _of_nested(design: Row) -> str:
    """Say what a nested design gives up."""
    if design.keys["layout"] != "nested":
        return ""
    return (
        " A nested panel gives no G again, and no test over items and raters: what items do to systems cannot be told "
        "from the residual in it."
    )


def difference_detectable(rows: Sequence[Row], criterion: str, *, difference: float | None, target: float) -> Finding:
    """Return whether the panel finds a difference; without one asked for, one as large as its best and worst lie apart.

    What lies apart are true systems: the expected range of so many by the unbiased system variance. Observed means lie
    further apart the more there are of them, whether systems differ or not. Where that variance is estimated at 0 or
    less the answer is no if not even the observed means lie so far apart, and undetermined otherwise.
    """
    name = "difference-detectable"
    question = (
        f"Could this panel find a difference of {short(difference)} between two systems?"
        if difference is not None
        else "Could this panel find a difference as large as that between its best and its worst system?"
    )
    smallest = pick(rows, "smallest_difference", {"unit": "item+rater"})
    if not smallest or smallest[0].undefined:
        reason = smallest[0].undefined if smallest else "the numbers that it needs are missing"
        verdict: Verdict = "not_applicable" if reason.startswith("no systems") else "undetermined"
        return Finding(name, question, verdict, f"Not determined: {reason}.", "", criterion, [], JUDD)
    least = smallest[0]
    size = (
        f"The smallest difference that it finds with {percent(target)} power is {estimate_of(least)} "
        f"({spread_of(least)}), items and raters being random"
    )
    by_item = pick(rows, "smallest_difference", {"unit": "item"})
    aside = f"; with these very raters it is {estimate_of(by_item[0])}" if by_item else ""
    if difference is None:
        return _of_leaderboard(rows, Finding(name, question, "undetermined", f"{size}{aside}", "", criterion, [], JUDD))
    power = pick(rows, "power", {"unit": "item+rater", "layout": "as_rated"})[0]
    designs = [row for row in pick(rows, "cost", {"difference": difference}) if not row.undefined]
    designs.sort(key=lambda row: row.estimate)
    found = "" if power.undefined else f"It finds it with a power {_of_power(power)}. "
    statement = f"{found}{size}{aside}."
    where = [row.reference() for row in (power, least, *by_item, *designs[:1])]
    if power.estimate >= target or power.undefined:
        return Finding(name, question, "pass", statement, "", criterion, where, JUDD)
    if designs:
        remedy = (
            f"It would take {design_in_words(designs[0].keys)}, at a cost of {money(designs[0].estimate)}."
            f"{_of_nested(designs[0])}"
        )
        return Finding(name, question, "warn", statement, remedy, criterion, where, JUDD)
    remedy = "No layout within the bounds finds it: allow for more raters and items, or look for larger differences."
    return Finding(name, question, "fail", statement, remedy, criterion, where, JUDD)


def _of_power(power: Row) -> str:
    """Return a power in words; what is next to certain is not called 1."""
    if power.estimate > _CERTAIN:
        return f"above {short(_CERTAIN)}"
    return f"of {estimate_of(power)} ({spread_of(power)})"


def _of_leaderboard(rows: Sequence[Row], known: Finding) -> Finding:
    """Return whether a panel finds a difference as large as its best and worst system truly lie apart."""
    (least,) = pick(rows, "smallest_difference", {"unit": "item+rater"})
    (true,), (observed,) = (pick(rows, name, {}) for name in ("true_span_of_systems", "span_of_systems"))
    by_item = pick(rows, "smallest_difference", {"unit": "item"})
    where = [row.reference() for row in (least, true, observed, *by_item)]
    remedy = "Ask for what it would take: `measurand plan … --difference D`."
    if not true.undefined:
        is_found = least.estimate <= true.estimate
        statement = (
            f"{known.statement}. By the estimate the best and the worst system lie {estimate_of(true)} apart "
            f"({spread_of(true)}); their observed means, errors and all, {short(observed.estimate)}."
        )
        return replace(
            known,
            verdict="pass" if is_found else "fail",
            statement=statement,
            remedy="" if is_found else remedy,
            rows=where,
        )
    if least.estimate > observed.estimate:
        statement = (
            f"{known.statement}. Not even the observed means, errors and all, lie so far apart: "
            f"{short(observed.estimate)} at most; {true.undefined}."
        )
        return replace(known, verdict="fail", statement=statement, remedy=remedy, rows=where)
    statement = (
        f"{known.statement}. The observed means lie up to {short(observed.estimate)} apart, which errors alone may do: "
        f"{true.undefined}."
    )
    return replace(known, statement=statement, remedy=remedy, rows=where)


def facets_reliable(rows: Sequence[Row], criterion: str, *, target: float) -> Finding:
    """Return whether a design reaches a target of G at its own sizes, what its error is made of, and what would."""
    name, question = "facets-reliable", f"Does this design reach G {short(target)}, and which facet costs it most?"
    g = next(row for row in rows if row.statistic == "g")
    if g.undefined:
        return Finding(name, question, "undetermined", f"Not determined: {g.undefined}.", "", criterion, [], BRENNAN)
    shares = sorted((row for row in rows if row.statistic == "error_share"), key=lambda row: -row.estimate)
    needed = sorted(pick(rows, "levels_needed", {}), key=lambda row: row.estimate)
    statement = f"G is {estimate_of(g)} ({spread_of(g)}) at {g.keys['at']}"
    if rated := pick(rows, "share_rated", {}):
        statement += f", effective numbers where {share(rated[0].estimate)} of the cells are rated"
    if shares:
        statement += f"; {shares[0].keys['component']} makes {share(shares[0].estimate)} of the error"
    verdict: Verdict = "pass" if (g.low or 0.0) >= target else "warn" if g.estimate >= target else "fail"
    remedy = ""
    if verdict != "pass":
        enough = [row for row in needed if not math.isinf(row.estimate) and row.estimate > 1]
        ways = [
            f"{estimate_of(row)} levels of {row.keys['component']} ({spread_of(row)})"
            for row in enough
            if row.estimate > _size(g, str(row.keys["component"]))
        ]
        remedy = (
            f"One of these alone would reach it: {', '.join(ways)}."
            if ways
            else "No single facet reaches it, however many levels it has: raise several, or compare what differs more."
            if verdict == "fail"
            else "The range still reaches below the target: more levels of the facet that costs most would narrow it."
        )
    where = [row.reference() for row in (g, *shares[:1], *needed)]
    return Finding(name, question, verdict, f"{statement}.", remedy, criterion, where, BRENNAN)


def _size(g: Row, facet: str) -> float:
    told = dict(part.split("=") for part in str(g.keys["at"]).split(", "))
    return float(told[facet])
