"""Whether a study of other sizes of a design's facets reaches its target, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from measurand.planning.findings import BRENNAN, SURE_TIMES, pick
from measurand.result import Finding, Row, Verdict
from measurand.sentences import money, percent, price, share, short


def sizes_reachable(rows: Sequence[Row], criterion: str, *, target: float, limits: str) -> Finding:
    """Return whether a study of other sizes reaches a target of G, by the rules of `target_reachable`."""
    name, question = "target-reachable", f"Would sizes within {limits} reach G {short(target)}?"

    def answer(verdict: Verdict, statement: str, remedy: str, where: Sequence[Row]) -> Finding:
        return Finding(
            name, question, verdict, statement, remedy, criterion, [row.reference() for row in where], BRENNAN
        )

    needed = pick(rows, "cost_needed", {})
    if not needed:
        return answer("undetermined", f"Not determined: {rows[0].undefined}.", "", rows[:1])
    (estimate,) = pick(rows, "cost", {"basis": "estimate"})
    (sure,) = pick(rows, "cost", {"basis": "lower_limit"})
    level = percent(needed[0].confidence)
    larger = (
        "Rate a larger first sample, with more levels of the facets that have few, before money is spent on this: the "
        "components are not known well enough to promise it."
    )
    if estimate.undefined and sure.undefined:
        remedy = (
            "More levels of these facets do not help within these bounds: widen them (`--most`), compare what differs "
            "more, or sharpen the instructions."
        )
        return answer("fail", f"It is not reached: {estimate.undefined}.", remedy, [estimate, needed[0]])
    cheap = f"G {short(target)} costs {money(estimate.estimate)} by the estimate ({sizes_in_words(estimate)})"
    chance = pick(rows, "probability_reached", dict(estimate.keys))
    if sure.undefined:
        statement = (
            f"{cheap}, but that reaches it in only {share(chance[0].estimate)} of what the first sample leaves "
            "possible, and no sizes within the bounds are sure to."
        )
        return answer("warn", statement, larger, [estimate, *chance, needed[0]])
    told = f"{price(sure)} to be sure of it with {level} confidence ({sizes_in_words(sure)})"
    if estimate.undefined:
        return answer("pass", f"G {short(target)} costs {told}.", "", [sure, needed[0]])
    statement = f"{cheap}, and {told}"
    of_sure = pick(rows, "probability_reached", dict(sure.keys))
    where = [sure, estimate, *of_sure, needed[0]]
    if math.isinf(sure.high or math.inf):
        statement += f"; whether these are sure is open, as the drawing leaves {share(of_sure[0].low or 0.0)} or more"
        return answer("warn", f"{statement}.", "Allow for more levels (`--most`).", where)
    if sure.estimate > SURE_TIMES * estimate.estimate:
        return answer("warn", f"{statement}, {short(sure.estimate / estimate.estimate)} times as much.", larger, where)
    return answer("pass", f"{statement}.", "", where)


def sizes_in_words(row: Row) -> str:
    """Return the sizes at which a row stands, as a sentence has them.

    Examples
    --------
    >>> sizes_in_words(Row("plan", {"at": "item=40, rater=3, group=2"}, "cost", 1.0))
    'item 40, rater 3, group 2'
    """
    return str(row.keys["at"]).replace("=", " ")
