"""Do systems exceed people, is their order real, can one stand in for a rater, do trivial answers score nothing?"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import special

from measurand.result import Finding, Row, Verdict
from measurand.scoring.contrasts import SIGNIFICANT
from measurand.scoring.questions import NEAR_ZERO, Told, arm_named, finding, is_clear, named
from measurand.scoring.replicates import ALPHA
from measurand.sentences import estimate_of, short, spread_of, too_few_raters
from measurand.stats.inference import holm

_ARM = ("system", "readout", "phrasing", "variant")
#: Protocols that a statement tells one by one, the worst first.
_MOST_PROTOCOLS = 3
_ANCHOR_WORDS = {
    "pairwise": "agreement of one rater with another",
    "leave_one_out": "agreement of the other raters' mean with the rater left out",
    "leave_one_out_calibrated": "same mean calibrated as the systems are",
}
_BASELINE_WORDS = {
    "all_low": "the lowest level",
    "all_high": "the highest level",
    "uniform_random": "a random level",
    "criterion_mean": "the criterion's mean",
    "marginal": "a rating drawn from all",
}
#: Share of raters that a system must beat to stand in for one.
_HALF = 0.5


def exceeds_people(told: Told) -> Finding:
    """Say which systems exceed people, under which anchor, and whether of these raters or of raters of this kind.

    pass: some system exceeds the leave-one-out anchor over items and raters, and where systems are calibrated the mean
    of the others calibrated likewise (a calibrated system is spread as raters are, a mean of raters is not); warn: some
    exceeds an anchor, but not so; fail: none exceeds any. Five raters or fewer say nothing of raters of their kind.
    """
    name, question = "exceeds-people", "Does any system exceed people, under which anchor, and which people?"
    anchors = [one for one in _ANCHOR_WORDS if one in told.run.anchors]
    if not anchors or not told.arms:
        why = "no anchor was computed (--anchors pairwise, leave_one_out; statistic kappa_quadratic)"
        return finding(name, question, "undetermined", f"Not determined: {why}.")
    few = too_few_raters(told.run.field.n_raters)
    # Of raters of their kind nothing is said where these are too few, unless nothing else was redrawn.
    units = [unit for unit in told.run.stores if not few or "rater" not in unit] or list(told.run.stores)
    said: list[str] = []
    where: list[Row | None] = []
    best: set[tuple[str, bool]] = set()
    defined = False
    for anchor in anchors:
        row = next((one for one in told.all("anchors", "kappa_quadratic", {"anchor": anchor, **told.main})), None)
        if row is None or row.undefined:
            continue
        where.append(row)
        parts = []
        for unit in units:
            found = {i: told.contrast("anchor", i, anchor, unit) for i in told.arms}
            defined = defined or any(one is not None and not one.undefined for one in found.values())
            clear = [i for i, one in found.items() if one is not None and one.estimate > 0 and is_clear(one)]
            where += [found[i] for i in clear[:3]]
            if clear:
                best.add((anchor, "rater" in unit and not few))
            kind = "raters of this kind" if "rater" in unit and not few else "these raters"
            parts.append(f"{len(clear)} of {len(told.arms)} for {kind}")
        said.append(f"the {_ANCHOR_WORDS[anchor]} ({short(row.estimate)}): {', '.join(parts)}")
    if not defined:
        statement = "Not determined: no arm has a score, raters do not vary, or no item has two of them."
        return finding(name, question, "undetermined", statement, remedy="Have items rated by two raters or more.")
    top = _best(told)
    first = "" if top is None else f"The best, {top[0]}, scores {top[1]}. "
    statement = (
        f"{first}Arms above {'; above '.join(said)}; {told.scope}, adjusted for the number of comparisons."
        if told.scope
        else f"{first}Arms above {'; above '.join(said)}; adjusted for the number of comparisons."
    )
    hardest = "leave_one_out_calibrated" if told.run.path.calibration == "rank" else "leave_one_out"
    remedy = (
        "Name the anchor and the raters with the claim: a predictor of the consensus beats the agreement of two raters "
        "by construction, so that the mean of the other raters is the one to beat"
    )
    if hardest == "leave_one_out":
        remedy += "."
    else:
        remedy += ", calibrated as the systems are: calibration spreads answers as ratings are, and a mean is narrower."
        if hardest not in anchors:
            remedy += f" It was not asked for (--anchors {hardest})."
    if few:
        statement += f" {few[:1].upper()}{few[1:]}."
        remedy += " To speak of raters of their kind have six or more rate."
    elif not any("rater" in unit for unit in units):
        remedy += " For raters of this kind redraw raters, too: --over item --over item+rater."
    beaten = {("leave_one_out", True), (hardest, True)} <= best
    verdict: Verdict = "pass" if beaten else "warn" if best else "fail"
    return finding(name, question, verdict, statement, remedy=remedy, where=where)


def _best(told: Told) -> tuple[str, str] | None:
    rows = []
    for i in told.arms:
        keys = {**told.run.contenders[i].keys, **told.main, **told.run.path_keys(told.run.path, told.run.measure)}
        rows += [row for row in told.all("scores", told.run.measure.name, keys) if row.unit == told.run.over]
    # A mean over fewer criteria than the set has is no rival of one over all.
    rows = [row for row in rows if not row.undefined and "no score" not in row.note]
    if not rows:
        return None
    top = max(rows, key=lambda row: row.estimate)
    return arm_named(top.keys), f"{estimate_of(top)} ({spread_of(top)})" if top.low is not None else short(top.estimate)


def order_real(told: Told) -> Finding:
    """Say whether the systems' order is real: pairs told apart by paired tests, against marginal intervals.

    pass: every two neighbours differ (Holm over all pairs); warn: some pairs differ; fail: none does.
    """
    name, question = "order-real", "Is the order of the systems real?"
    families = [(words, members) for words, members in told.families if len(members) > 1]
    if not families:
        return finding(name, question, "not_applicable", "There is one system under each protocol, nothing to order.")
    told_of: list[tuple[Verdict, str]] = []
    said, where = [], []
    scope = told.main["set"] or told.main["criterion"]
    for words, members in families:
        keys = {"of": words or "systems", "set": scope}
        counts = {
            what: next(iter(told.all("spread", what, keys)), None)
            for what in (
                "n_pairs",
                "pairs_separated_holm",
                "pairs_separated_max_t",
                "pairs_separated_marginal",
                "sd_between_systems",
            )
        }
        n, holm, largest, marginal, sd = (counts[what] for what in counts)
        if n is not None and n.estimate / len(told.run.store[ALPHA]) >= SIGNIFICANT:
            holm = largest  # no pair of so many could be significant after Holm with these replicates
        width = next(iter(told.all("spread", "median_interval_width", keys)), None)
        if n is None or holm is None or marginal is None or sd is None or width is None:
            told_of.append(("undetermined", ""))
            continue
        where += [holm, marginal, sd, width]
        apart = _neighbours_differ(told, members)
        # A prefill may end with a colon of its own.
        head = f"{words}{'' if words.endswith(':') else ':'} " if len(families) > 1 else ""
        counted = (
            f"{head}{holm.estimate:.0f} of {n.estimate:.0f} pairs differ (paired, adjusted; {marginal.estimate:.0f} by "
            f"intervals that do not overlap); the systems' scores have a standard deviation of {short(sd.estimate)}, "
            f"the median interval is {short(width.estimate)} wide"
        )
        told_of.append(("pass" if apart else "warn" if holm.estimate else "fail", counted))
    order: list[Verdict] = ["fail", "warn", "undetermined", "pass"]
    told_of.sort(key=lambda one: order.index(one[0]))
    verdicts, every = [verdict for verdict, _ in told_of], [text for _, text in told_of if text]
    said += every[:_MOST_PROTOCOLS]
    if len(every) > len(said):
        said.append(f"{len(every) - len(said)} more protocols, none of them worse, in the tables")
    if not said:
        statement = "Not determined: some system has no score on the criteria that all share."
        return finding(name, question, "undetermined", statement)
    rows = told.all("contrasts", "difference", {**told.main, "contrast": "system_matched"})
    if rows:
        apart_too = sum(is_clear(row) for row in rows)
        said.append(
            f"of {len(rows)} compared on common items alone, as they answered different ones, {apart_too} differ"
        )
        where += rows[:3]
    verdict = verdicts[0]
    remedy = "Report tiers, or the pairs that differ, in place of ranks; more items narrow the intervals."
    return finding(
        name, question, verdict, f"{'; '.join(said)}.", remedy="" if verdict == "pass" else remedy, where=where
    )


def _neighbours_differ(told: Told, members: list[int]) -> bool:
    series = told.run.columns([told.run.arm(i) for i in members], told.run.main, told.run.store)
    ranked = sorted(range(len(members)), key=lambda i: -series[i][0])
    for a, b in itertools.pairwise(ranked):
        names = {told.system(members[a]), told.system(members[b])}
        keys = {name: told.run.contenders[members[a]].keys[name] for name in ("readout", "phrasing", "variant")}
        here = [
            row
            for contrast in ("system_matched", "system")
            for row in told.all("contrasts", "difference", {**keys, **told.main, "contrast": contrast})
            if {row.keys["a"], row.keys["b"]} == names and row.unit == told.run.over
        ]
        if not here or not is_clear(here[0]):
            return False
    return True


def baselines_near_zero(told: Told) -> Finding:
    """Say whether trivial answers score next to nothing on the same path.

    pass: no baseline's interval lies above 0.02, adjusted by Holm for the number of baselines; fail: one does.
    """
    name, question = "baselines-near-zero", "Do trivial answers score next to nothing on the same path?"
    if told.run.measure.name != "kappa_quadratic":
        return finding(name, question, "not_applicable", f"{told.run.measure.name} has no zero that chance defines.")
    rows = [row for row in told.all("baselines", told.run.measure.name, told.main) if not row.undefined]
    if not rows:
        return finding(name, question, "undetermined", "Not determined: no baseline was scored (--baselines).")
    # Of many draws at random some lie high by chance: the more baselines, the farther one has to.
    adjusted = holm(np.array([_chance_of(row) for row in rows]))
    limit = (1 - told.run.confidence) / 2
    high = [
        row for row, p in zip(rows, adjusted, strict=True) if row.low is not None and row.low > NEAR_ZERO and p < limit
    ]
    worst = max(rows, key=lambda row: abs(row.estimate))
    shown = f"{_baseline(worst)}{_of_system(worst)} at {estimate_of(worst)} ({spread_of(worst)})"
    if not high:
        statement = f"Yes: of {len(rows)} baselines the farthest from 0 is {shown}."
        return finding(name, question, "pass", statement, where=[worst])
    names = named([f"{_baseline(row)}{_of_system(row)} ({short(row.estimate)})" for row in high])
    statement = f"No: {names} score above {NEAR_ZERO:g} without an item, or without the right one."
    remedy = (
        "Find out what they pick up: the order of items under ties by index, a marginal that follows the items, items "
        "that repeat. Read every score as its distance from these."
    )
    return finding(name, question, "fail", statement, remedy=remedy, where=high[:4])


def _chance_of(row: Row) -> float:
    """Return the chance to lie so far above what is next to nothing, by the width of the interval; 1 below it."""
    if row.low is None or row.high is None or row.confidence is None or row.low <= NEAR_ZERO:
        return 1.0
    error = (row.high - row.low) / (2 * special.ndtri((1 + row.confidence) / 2))
    return float(special.ndtr((NEAR_ZERO - row.estimate) / error)) if error > 0 else 0.0


def _baseline(row: Row) -> str:
    name = str(row.keys["baseline"])
    return _BASELINE_WORDS.get(name, name)


def _of_system(row: Row) -> str:
    return f" answers of {arm_named(row.keys)}" if row.keys.get("system") else ""


def failed_systems(told: Told) -> Finding:
    """Say what leaving out the systems that failed a gate does to the mean of all.

    pass: none failed; warn: some did and leaving them out changes nothing clear; fail: it does.
    """
    name, question = "failed-systems", "Which systems failed a gate, and what does leaving them out change?"
    if told.run.excluded is None:
        return finding(name, question, "undetermined", "Not determined: the gates were not asked (--no-gates).")
    if not told.run.excluded:
        return finding(name, question, "pass", "No arm failed a gate.")
    names = [
        f"{arm_named(dict(zip(_ARM, key, strict=True)))}: {', '.join(gates)}"
        for key, gates in told.run.excluded.items()
    ]
    scope = told.main["set"] or told.main["criterion"]
    rows = told.all("spread", "effect_of_leaving_out", {"set": scope})
    if not rows:
        statement = f"Failed: {named(names, apart=True)}. No family of systems has both failed and passing ones."
        return finding(name, question, "warn", statement)
    worst = max(rows, key=lambda row: abs(row.estimate))
    is_moved = worst.low is not None and worst.high is not None and (worst.low > 0 or worst.high < 0)
    direction = "up" if worst.estimate > 0 else "down"
    of = f" under {worst.keys['of']}" if len(rows) > 1 or worst.keys["of"] != "systems" else ""
    statement = (
        f"Failed: {named(names, apart=True)}. Leaving {'it' if len(names) == 1 else 'them'} out moves the mean of "
        f"the systems{of} {direction}, by {estimate_of(worst)} ({spread_of(worst)})."
    )
    remedy = "Show both means, and which way leaving out goes; mend the protocol of what failed."
    verdict: Verdict = "fail" if is_moved else "warn"
    return finding(name, question, verdict, statement, remedy=remedy, where=rows[:3])


def stand_in(told: Told) -> Finding:
    """Say whether a system could stand in for a rater, by the alternative annotator test.

    Criteria on which one and the same answer to every item passes, too, say nothing and are left out. pass: some system
    passes on every other criterion; warn: some does on at least half of them; fail: none does.
    """
    name, question = "stand-in", "Could a system stand in for one of the raters?"
    source = "Calderon, Reichart & Dror 2025, arXiv 2501.10970"
    keys = {"decision": "alternative_annotator_test"}
    constant = [
        row for row in told.all("decisions", "winning_rate", {**keys, "anchor": "constant"}) if not row.undefined
    ]
    telling = {str(row.keys["criterion"]) for row in constant if row.estimate < _HALF}
    if not constant:
        statement = "Not determined: no item has two ratings."
        return finding(name, question, "undetermined", statement, source=source)
    if not telling:
        statement = (
            "Not determined: on every criterion the median rating, given to every item, beats half of the raters, too."
        )
        return finding(name, question, "undetermined", statement, where=constant[:4], source=source)
    shares: dict[str, tuple[float, list[Row]]] = {}
    for i in told.arms:
        one = told.run.contenders[i]
        rows = [
            row
            for row in told.all("decisions", "winning_rate", {**keys, **one.keys, "anchor": "", "rater": ""})
            if not row.undefined and str(row.keys["criterion"]) in telling
        ]
        if rows:
            shares[arm_named(one.keys)] = sum(row.estimate >= _HALF for row in rows) / len(telling), rows
    if not shares:
        statement = "Not determined: no item has an answer and two ratings."
        return finding(name, question, "undetermined", statement, source=source)
    best = max(shares.values(), key=lambda one: one[0])[0]
    tops = [words for words, (share, _) in shares.items() if share == best]
    n = len(telling)
    where = shares[tops[0]][1][:4]
    of = f"on {best * n:.0f} of {n} criteria" if n > 1 else ""
    statement = (
        f"{named(tops)} beat{'s' if len(tops) == 1 else ''} at least half of the raters {of}".rstrip()
        if best
        else f"None of {len(shares)} arms beats half of the raters on any criterion"
    ) + f" (epsilon {told.run.epsilon:g}, Benjamini-Yekutieli)."
    if len(telling) < len(constant):
        left = "1 criterion is" if len(constant) - n == 1 else f"{len(constant) - n} criteria are"
        statement += f" {left} left out, on which the median rating, given to every item, passes, too."
    verdict: Verdict = "pass" if best == 1 else "warn" if best >= _HALF else "fail"
    remedy = "" if verdict == "pass" else "Keep people on the criteria that no system passes."
    return finding(name, question, verdict, statement, remedy=remedy, where=where, source=source)
