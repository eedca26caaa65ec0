"""Findings about the raters: do they agree, copy, drift, or choose what they rate?"""

from __future__ import annotations

import math

import numpy as np

from measurand.auditing.questions import (
    ALPHA,
    CORRELATION_GAP,
    DRIFT,
    FEWEST_FOR_STYLE,
    MISSINGNESS_EFFECT,
    MISSINGNESS_MARGIN,
    MISSINGNESS_P,
    MODAL_SHARE,
    MODAL_SHARE_OF_OTHERS,
    MOST_COPIED,
    PAPER,
    RELIABLE_AGREEMENT,
    Rows,
    finding,
    undetermined,
)
from measurand.result import Finding, Key, Row, Verdict, show_number
from measurand.sentences import estimate_of, percent, share, short, show_p, spread_of


def agreement(rows: Rows) -> Finding:
    """Say whether alpha at the declared level reaches what tentative conclusions need."""
    declared = str(rows.about["level"])
    level = declared if declared != "not declared" else "ordinal"
    name = "agreement"
    question = f"Is Krippendorff's alpha ({level}) at least {RELIABLE_AGREEMENT:g}?"
    source = "Krippendorff 2018, section 12.4: below .667 even tentative conclusions are not safe"
    found = rows.all("agreement", f"alpha_{level}", {"system": ""})
    row = next((one for one in found if one.unit == "item"), found[0] if found else None)
    if row is None or row.undefined:
        remedy = "Have at least two raters rate the same things, on a scale whose order is declared."
        return undetermined(rows, name, question, row, remedy, source)
    note = "" if declared == level else " No level of measurement was declared, so that the ordinal alpha is taken."
    iccs = rows.all("agreement", "icc_2_1", {"missing": "listwise", "system": ""})
    # Of its intervals the one that holds for other raters, too, where there is one.
    icc = next((one for one in iccs if one.method.startswith("generalised pivotal")), iccs[0] if iccs else None)
    extra = "" if icc is None or icc.undefined else f" ICC(2,1) = {_coefficient(icc)}."
    low = -math.inf if row.low is None else row.low
    over = "items redrawn, " if row.unit == "item" else "cells redrawn, "
    spread = (
        f" ({percent(row.confidence)} interval {spread_of(row)}, {over}these raters)" if row.low is not None else ""
    )
    width = (row.high or 0.0) - row.low if row.low is not None else None
    if row.low is None:
        spread = f" ({row.note.split('; ')[-1]})" if row.note else ""
    if any((one.p_adjusted or 1.0) < MISSINGNESS_P for one in rows.all("missingness", "difference")):
        note += " Which cells were rated again depended on their ratings (informative-missingness), and alpha with it."
    statement = f"Alpha ({level}) = {show_number(row.estimate, width=width)}{spread}.{extra}{note}"
    where = [row, icc]
    if row.estimate >= RELIABLE_AGREEMENT and low >= RELIABLE_AGREEMENT:
        return finding(rows, name, question, "pass", statement, where=where, source=source)
    if row.estimate >= RELIABLE_AGREEMENT:
        remedy = "The estimate reaches it, its lower limit does not: report the interval."
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    remedy = (
        "Single ratings carry little that raters share: sharpen the instructions, train raters on anchors, and report "
        "results for individual raters."
    )
    return finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)


def _coefficient(icc: Row) -> str:
    """Return a coefficient with its interval, if that is about other raters, too."""
    if not icc.method.startswith("generalised pivotal") or icc.low is None:
        return short(icc.estimate)
    return f"{estimate_of(icc)} ({percent(icc.confidence)} interval {spread_of(icc)}, other raters, too)"


def correlation_not_agreement(rows: Rows) -> Finding:
    """Say whether correlations promise more than agreement holds."""
    name = "correlation-not-agreement"
    question = f"Is the mean Pearson correlation more than {CORRELATION_GAP:g} above the mean pairwise alpha?"
    source = f"{PAPER}, section 4.1"
    pearson = {_pair(row): row for row in rows.all("agreement_pairs", "pearson") if not row.undefined}
    alpha = {_pair(row): row for row in rows.all("agreement_pairs", "alpha_ordinal") if not row.undefined}
    both = [pair for pair in pearson if pair in alpha]
    if not both:
        why = rows.first("agreement_pairs", "pearson")
        return undetermined(rows, name, question, why, "Have raters rate the same things.", source)
    r = float(np.mean([pearson[pair].estimate for pair in both]))
    a = float(np.mean([alpha[pair].estimate for pair in both]))
    pairs = f"{len(both)} pair{'s' if len(both) > 1 else ''} of raters"
    shown = f"of Pearson's r is {show_number(r, width=0.1)}, that of ordinal alpha {show_number(a, width=0.1)}"
    statement = f"The mean over {pairs} {shown}."
    where = [row for pair in both[:3] for row in (pearson[pair], alpha[pair])]
    if r - a <= CORRELATION_GAP:
        return finding(rows, name, question, "pass", statement, where=where, source=source)
    means = rows.all("raters", "mean")
    if means:
        lowest, highest = min(means, key=lambda m: m.estimate), max(means, key=lambda m: m.estimate)
        statement += (
            f" The raters use the scale differently: {lowest.keys['rater']} gives {short(lowest.estimate)} on "
            f"average, {highest.keys['rater']} {short(highest.estimate)}."
        )
    remedy = "Report alpha or ICC(2,1), not correlations: a correlation does not see that raters differ in severity."
    return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)


def _pair(row: Row) -> tuple[Key, Key]:
    return row.keys["rater_a"], row.keys["rater_b"]


def copied_ratings(rows: Rows) -> Finding:
    """Say whether raters carry identical vectors, or identical outputs identical ratings."""
    name, question = "copied-ratings", "Are ratings copied, by raters or because outputs are identical?"
    row, cells = rows.first("copies", "share_copied"), rows.first("copies", "share_copied_cells")
    if cells is not None and cells.estimate > 0:
        places = rows.all("copies", "n_identical_ratings")
        identical = rows.first("copies", "share_identical_outputs")
        beside = "" if identical is None else f" (the same output, whatever its ratings: {share(identical.estimate)})"
        statement = (
            f"{share(cells.estimate)} of the cells have the output and the ratings of another system's cell on "
            f"the item{beside}, such as those of {places[0].keys['system_a']} and {places[0].keys['system_b']} on item "
            f"{places[0].keys['item']}."
        )
        remedy = "Count such cells once: they are one output under two names, and no evidence that raters agree."
        verdict: Verdict = "warn" if cells.estimate <= MOST_COPIED else "fail"
        return finding(rows, name, question, verdict, statement, remedy=remedy, where=[cells, identical, *places[:3]])
    if row is None or row.undefined:
        return undetermined(rows, name, question, row, "")
    found = rows.all("copies", "n_identical")
    if row.estimate == 0:
        statement = "No two raters agree on so many cells in a row that a copy would be the likelier reason."
        return finding(rows, name, question, "pass", statement, where=[row])
    shown = "; ".join(
        f"{one.keys['rater_a']} and {one.keys['rater_b']} on {show_number(one.estimate)} common cells"
        for one in found[:3]
    )
    more = f"; and {len(found) - 3} more pairs" if len(found) > 3 else ""
    statement = (
        f"{show_number(100 * row.estimate)} % of the ratings come from raters with identical vectors: {shown}{more}."
    )
    remedy = "Find out how these ratings came about; until then count such raters as one."
    verdict = "warn" if row.estimate <= MOST_COPIED else "fail"
    return finding(rows, name, question, verdict, statement, remedy=remedy, where=[row, *found[:3]])


def informative_missingness(rows: Rows) -> Finding:
    """Say whether who rated a cell depends on what the others said of it."""
    name = "informative-missingness"
    question = "Does it depend on the others' ratings of a cell whether a rater rated it?"
    source = "Rubin 1976, Biometrika 63: ratings missing not at random"
    if rows.size("n_missing") == 0:
        return finding(rows, name, question, "not_applicable", "Nothing is missing.", source=source)
    tests = rows.all("missingness", "difference")
    effects = {
        (row.keys["rater"], row.keys.get("rating", "")): row
        for row in rows.all("missingness", "standardised_difference")
    }
    tested = [row for row in tests if row.p_adjusted is not None]
    if not tested:
        reason = tests[0] if tests else None
        remedy = "Have some cells rated by several raters."
        return undetermined(rows, name, question, reason, remedy, source)
    worst = min(tested, key=lambda row: (row.p_adjusted or 0.0, -abs(row.estimate)))
    effect = effects[worst.keys["rater"], worst.keys.get("rating", "")]
    p = worst.p_adjusted or 0.0
    size = abs(effect.estimate)
    direction = "higher" if worst.estimate > 0 else "lower"
    deviations = "without any overlap" if math.isinf(size) else f"{show_number(size, width=1.0)} standard deviations"
    difference = f"{short(abs(worst.estimate))} {direction}" if size >= 1e-9 else "no higher or lower"
    statement = (
        f"Where {worst.keys['rater']} rated, the others, each against their own mean, rate {difference} than where "
        f"they did not ({deviations}; {show_p(p)} after Holm over {len(tested)} comparisons)."
    )
    where = [worst, effect]
    if p >= ALPHA:
        return _no_sign_of_it(rows, name, question, statement, tested, where, source)
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
    return finding(rows, name, question, verdict, statement, remedy=remedy, where=where, source=source)


def _no_sign_of_it(
    rows: Rows, name: str, question: str, statement: str, tested: list[Row], where: list[Row], source: str
) -> Finding:
    """Answer where no difference is significant: pass if all intervals are narrow enough to mean that."""
    of_shares = any(row.keys.get("rating", "") for row in tested)
    ends = [0.0, 1.0] if of_shares else rows.about.get("range")
    margin = math.nan if ends is None else MISSINGNESS_MARGIN * (ends[1] - ends[0])
    what = "ratings" if str(rows.about.get("scale", "")).startswith("any ") else "scale"
    of = "" if of_shares else f" ({percent(MISSINGNESS_MARGIN)} of the range of the {what})"
    limit = f"±{short(margin)}{of}"
    widest = max(tested, key=_reach)
    # Rounding, as of a range that is 3 times .1, must not decide.
    if _reach(widest) <= margin * (1 + 1e-9):
        said = f"No sign of it: no difference is significant, and every interval lies within {limit}."
        return finding(rows, name, question, "pass", f"{said} {statement}", where=[*where, widest], source=source)
    missing = rows.size("n_missing")
    gone = f"{show_number(missing)} {'rating is' if missing == 1 else 'ratings are'} missing"
    rater = f"{percent(widest.confidence)} interval for {widest.keys['rater']}"
    if ends is not None and math.inf > _reach(widest) > ends[1] - ends[0]:
        # Its limits are no differences that ratings could have: they say that there is no more to say.
        said = (
            f"Not determined: {gone}, too few to tell, or too few of them in cells that others rated: the {rater} is "
            f"wider than the {what} allows."
        )
    else:
        interval = f"goes from {spread_of(widest)}" if widest.low is not None else "has no ends"
        within = "" if math.isnan(margin) else f", beyond {limit}"
        said = f"Not determined: no difference is significant, but the {rater} {interval}{within}; {gone}."
    remedy = "Report how many ratings are missing, of whom and why: too few are, or too few overlap, to see a pattern."
    where = [*where, widest]
    statement = f"{said} {statement}"
    return finding(rows, name, question, "undetermined", statement, remedy=remedy, where=where, source=source)


def _reach(row: Row) -> float:
    """Return how far from 0 the interval of a difference reaches."""
    return math.inf if row.low is None or row.high is None else max(abs(row.low), abs(row.high))


def straight_lining(rows: Rows) -> Finding:
    """Say whether a rater gives one value nearly throughout, or in runs that chance does not make."""
    name, question = "straight-lining", "Does a rater give one value nearly throughout, or in long runs?"
    source = "Krosnick 1991, Applied Cognitive Psychology 5: satisficing"
    modal = {str(row.keys["rater"]): row for row in rows.all("style", "share_modal")}
    sizes = {str(row.keys["rater"]): row.estimate for row in rows.all("raters", "n_ratings")}
    judged = [rater for rater in modal if sizes.get(rater, 0) >= FEWEST_FOR_STYLE]
    if not judged:
        statement = f"Not determined: no rater has {FEWEST_FOR_STYLE} ratings."
        return finding(rows, name, question, "undetermined", statement, source=source)
    flat = []
    for rater in judged:
        others = [modal[other].estimate for other in judged if other != rater]
        usual = sorted(others)[len(others) // 2] if others else 0.0
        if modal[rater].estimate >= MODAL_SHARE and usual < MODAL_SHARE_OF_OTHERS:
            flat.append(modal[rater])
    runs = [row for row in rows.all("style", "longest_run") if row.p_adjusted is not None and row.p_adjusted < ALPHA]
    ordered = any(not row.undefined for row in rows.all("style", "longest_run"))
    shown = [
        f"{row.keys['rater']} gives one value in {100 * row.estimate:.0f} % of "
        f"{show_number(sizes[str(row.keys['rater'])])} ratings"
        for row in flat[:3]
    ]
    shown += [
        f"{row.keys['rater']} gives one value {show_number(row.estimate)} times in a row ({show_p(row.p_adjusted)})"
        for row in runs[:3]
    ]
    where = [*flat[:6], *runs[:6]]
    if not where:
        tail = "" if ordered else " Runs could not be judged: no presentation order is named (--order)."
        everyone = [row for row in modal.values() if row.estimate == 1]
        if len(everyone) == len(modal):
            statement = "Every rater gives one value throughout: what was rated does not vary, or nobody looked."
            remedy = "Look at the ratings before anything else on this page."
            return finding(rows, name, question, "fail", statement, remedy=remedy, where=everyone[:6], source=source)
        statement = f"No rater stands out by giving one value nearly throughout.{tail}"
        return finding(rows, name, question, "pass", statement, where=list(modal.values())[:6], source=source)
    remedy = "Look at these raters' ratings, and audit again without them."
    verdict: Verdict = "fail" if flat else "warn"
    return finding(rows, name, question, verdict, "; ".join(shown) + ".", remedy=remedy, where=where, source=source)


def severity_drift(rows: Rows) -> Finding:
    """Say whether a rater grows more severe or lenient as they go."""
    name, question = "severity-drift", "Does a rater grow more severe or more lenient as they go?"
    source = "Leckie & Baird 2011, Journal of Educational Measurement 48, 399-418"
    drifts = rows.all("style", "drift")
    tested = [row for row in drifts if row.p_adjusted is not None]
    if not tested:
        remedy = "Name the column with the order in which each rater saw the cells: --order."
        return undetermined(rows, name, question, drifts[0] if drifts else None, remedy, source)
    spreads = [row.estimate for row in rows.all("raters", "sd") if not row.undefined]
    typical = float(np.median(spreads)) if spreads else math.nan
    worst = min(tested, key=lambda row: (row.p_adjusted or 0.0, -abs(row.estimate)))
    direction = "up" if worst.estimate > 0 else "down"
    statement = (
        f"{worst.keys['rater']} drifts {direction} by {short(abs(worst.estimate))} from first to last "
        f"({percent(worst.confidence)} interval {spread_of(worst)}, against the other raters; "
        f"{show_p(worst.p_adjusted)} after Holm over {len(tested)} raters)."
    )
    if (worst.p_adjusted or 0.0) >= ALPHA:
        statement = f"No sign of it: {statement}"
        return finding(rows, name, question, "pass", statement, where=[worst], source=source)
    large = [
        row
        for row in tested
        if row.p_adjusted is not None and row.p_adjusted < ALPHA and abs(row.estimate) > DRIFT * typical
    ]
    remedy = (
        "Randomise the order of cells for each rater, so that drift does not fall on particular systems. If it was "
        "random already, systems may be compared, and drift only adds to the error: plan shorter sessions, and show "
        "each rater some of the same cells early and late."
    )
    verdict: Verdict = "fail" if large else "warn"
    return finding(rows, name, question, verdict, statement, remedy=remedy, where=[worst, *large[:5]], source=source)
