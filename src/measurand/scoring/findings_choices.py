"""Does the result rest on the readout, the calibration, ties, coverage, the choice of criteria, or the phrasing?"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from measurand.result import Finding, Row, Verdict
from measurand.scoring.questions import (
    LEAKAGE,
    PAPER,
    SETTLED,
    TIE_RANGE,
    Told,
    arm_named,
    finding,
    is_clear,
    named,
)
from measurand.sentences import estimate_of, short, spread_of


def readout_decides(told: Told) -> Finding:
    """Say whether the way of reading answers moves scores more than the system does.

    pass: no readout contrast is significant (Holm over systems); warn: some are; fail: and the median one is larger
    than the spread between systems under one readout.
    """
    name, question = "readout-decides", "Is it the readout: do scores depend on how answers are read?"
    # The yes or no derived from probabilities, controls and later attempts are shown, but decide nothing.
    plain = {
        (keys["system"], keys["readout"] or "plain", keys["phrasing"], keys["variant"])
        for keys in (told.run.contenders[i].keys for i in told.arms)
    }
    # Readouts that share no wording are compared under the first of each, and the row names none.
    plain |= {(system, readout, "", "") for system, readout, _, _ in plain}
    rows = [
        row
        for row in told.all("contrasts", "difference", {**told.main, "contrast": "readout"})
        if not row.undefined
        and all((row.keys["system"], row.keys[x], row.keys["phrasing"], row.keys["variant"]) in plain for x in "ab")
    ]
    if not rows:
        return finding(name, question, "not_applicable", "Every system was read in one way only.")
    by_pair: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_pair[str(row.keys["a"]), str(row.keys["b"])].append(row)
    families = {words or "systems" for words, _ in told.families}
    spreads = [
        row.estimate
        for row in told.all("spread", "sd_between_systems", {"set": _scope(told)})
        if row.keys["of"] in families and not row.undefined
    ]
    said, verdicts, where = [], [], []
    for (a, b), of_pair in by_pair.items():
        up = sum(is_clear(row) and row.estimate > 0 for row in of_pair)
        down = sum(is_clear(row) and row.estimate < 0 for row in of_pair)
        median = float(np.median([row.estimate for row in of_pair]))
        what = "systems" if len({row.keys["system"] for row in of_pair}) == len(of_pair) else "contrasts"
        said.append(
            f"{a} against {b}: {up} of {len(of_pair)} {what} higher, {down} lower, the median difference is "
            f"{short(median)}"
        )
        large = bool(spreads) and abs(median) > max(spreads)
        if spreads:
            said[-1] += (
                f", {'more' if large else 'no more'} than the standard deviation between systems under one readout "
                f"({short(max(spreads))})"
            )
        verdicts.append("pass" if not up + down else "fail" if large else "warn")
        where += of_pair[:2]
    shares = [
        row for row in told.all("spread", "share", {"set": _scope(told), "source": "readout"}) if not row.undefined
    ]
    if shares:
        said.append(f"the readout makes {100 * shares[0].estimate:.0f} % of the variation of scores")
        where.append(shares[0])
    verdict: Verdict = "fail" if "fail" in verdicts else "warn" if "warn" in verdicts else "pass"
    remedy = (
        ""
        if verdict == "pass"
        else "Report each readout as a protocol of its own, and never compare systems that were read differently."
    )
    return finding(name, question, verdict, f"{_capital('; '.join(said))}.", remedy=remedy, where=where)


def _scope(told: Told) -> str:
    return str(told.main["set"] or told.main["criterion"])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def calibration_leaks(told: Told) -> Finding:
    """Say how much a calibration gains by seeing the ratings that it is scored on.

    pass: the headline is held out, or no arm gains .005; warn: one does, and the headline is the oracle; fail: one
    gains .02, significantly, and the headline is the oracle.
    """
    name, question = "calibration-leaks", "Does the score rest on a calibration that has seen the ratings?"
    if told.run.path.calibration != "rank":
        return finding(name, question, "not_applicable", "Answers are scored as they are, without calibration.")
    rows = [row for row in _of_arms(told, "fit") if not row.undefined]
    if not rows:
        statement = "Not determined: oracle and held-out calibration were not both computed."
        return finding(name, question, "undetermined", statement)
    worst = max(rows, key=lambda row: row.estimate)
    is_oracle = told.run.path.fit == "oracle"
    answer = "Yes, the headline is the oracle" if is_oracle else "No, the headline is held-out"
    statement = (
        f"{answer}. Fitted to the very items that it scores (oracle), calibration adds at most {estimate_of(worst)} to "
        f"kappa ({spread_of(worst)}; {arm_named(worst.keys)}, of {_arms(len(rows))}), {told.scope}".rstrip(", ")
        + "."
    )
    verdict: Verdict = "pass"
    if is_oracle and worst.estimate >= LEAKAGE[0]:
        verdict = "fail" if worst.estimate >= LEAKAGE[1] and is_clear(worst) else "warn"
    remedy = "" if verdict == "pass" else "Report the held-out figure; call the oracle one an upper bound."
    return finding(name, question, verdict, statement, remedy=remedy, where=[worst])


def _arms(n: int) -> str:
    return "one arm" if n == 1 else f"{n} arms"


def _of_arms(told: Told, contrast: str) -> list[Row]:
    """Return a contrast of the arms that findings are about, on the main scope."""
    arms = {tuple(told.run.contenders[i].keys.values()) for i in told.arms}
    rows = told.all("contrasts", "difference", {**told.main, "contrast": contrast})
    return [row for row in rows if tuple(row.keys[key] for key in ("system", "readout", "phrasing", "variant")) in arms]


def ties_decide(told: Told) -> Finding:
    """Say how far the score moves with the rule for equal answers.

    pass: at most .01 for every arm; warn: at most .05; fail: above.
    """
    name, question = "ties-decide", "Does the score depend on what equal answers are given?"
    rows = _of_arms(told, "ties")
    if not rows:
        statement = "Ties matter to calibration, and there is none."
        return finding(name, question, "not_applicable", statement)
    worst = max(rows, key=lambda row: row.estimate)
    statement = (
        f"Over the four tie rules kappa moves by at most {short(worst.estimate)} ({arm_named(worst.keys)}: highest "
        f"under {worst.keys['a']}, lowest under {worst.keys['b']}); the headline uses {told.run.path.ties}."
    )
    derived = [row for row in told.all("contrasts", "difference", {**told.main, "contrast": "ties"}) if row not in rows]
    if derived:
        other = max(derived, key=lambda row: row.estimate)
        statement += f" Of yes-or-no answers it moves by up to {short(other.estimate)}."
    verdict: Verdict = (
        "pass" if worst.estimate <= TIE_RANGE[0] else "warn" if worst.estimate <= TIE_RANGE[1] else "fail"
    )
    remedy = "" if verdict == "pass" else "Name the tie rule with the number; store log-odds, which tie less."
    return finding(name, question, verdict, statement, remedy=remedy, where=[worst])


def coverage_decides(told: Told) -> Finding:
    """Say whether missing answers could change where systems stand against people.

    pass: every question was answered; warn: some were not, and no arm crosses the pairwise anchor between its bounds;
    fail: one does.
    """
    name, question = "coverage-decides", "Could the missing answers change the result?"
    arms = {tuple(told.run.contenders[i].keys.values()): i for i in told.arms}
    rows = {
        i: row
        for row in told.all("coverage", "coverage")
        if (i := arms.get(tuple(row.keys.get(key, "") for key in ("system", "readout", "phrasing", "variant"))))
        is not None
    }
    short_of = {i: row for i, row in rows.items() if not row.undefined and row.estimate < 1}
    if not short_of:
        return finding(
            name, question, "pass", "Every rated question that was asked has an answer.", where=list(rows.values())[:1]
        )
    anchor = next(iter(told.all("anchors", "kappa_quadratic", {"anchor": "pairwise", **told.main})), None)
    crossing = []
    for i in short_of:
        keys = {**told.run.contenders[i].keys, **told.main}
        ends = [
            row.estimate
            for policy in ("wrong", "right")
            for row in told.all("coverage", "kappa_quadratic", {**keys, "policy": policy})
        ]
        if anchor is not None and not anchor.undefined and len(ends) == 2 and ends[0] <= anchor.estimate <= ends[1]:
            crossing.append(told.system(i))
    worst = min(short_of.values(), key=lambda row: row.estimate)
    statement = (
        f"{len(short_of)} of {len(rows)} arms lack answers; the least covered is {arm_named(worst.keys)} with "
        f"{100 * worst.estimate:.1f} %."
    )
    if crossing:
        lie = "lies" if len(set(crossing)) == 1 else "lie"
        statement += (
            f" Between their bounds {named(crossing)} {lie} on either side of the agreement of one rater with another."
        )
    elif anchor is not None and not anchor.undefined:
        statement += " At neither bound does an arm change its side of the agreement of one rater with another."
    verdict: Verdict = "fail" if crossing else "warn"
    remedy = (
        "Show the bounds beside the score, compare arms on the items that both answered, and ask again what is missing."
    )
    return finding(name, question, verdict, statement, remedy=remedy, where=[worst, *list(short_of.values())[:3]])


def set_choice(told: Told) -> Finding:
    """Say whether the choice of reliable criteria is settled, and whether the result rests on it.

    pass: every criterion is in or out in 95 % of replicates; warn: some is not; fail: and the number of arms clearly
    above the pairwise anchor differs between the thresholds .1 below and .1 above the one chosen.
    """
    name, question = "set-choice", "Does the result rest on which criteria count as reliable?"
    if len(told.run.field.criteria) == 1:
        return finding(name, question, "not_applicable", "There is one criterion, nothing to choose.")
    rows = [row for row in told.all("criteria", "inclusion_share") if not row.undefined]
    if not told.run.chosen("reliable", told.run.store)[0].any():
        statement = f"No criterion has an interval alpha of {told.run.threshold:g}: results are over all criteria."
        remedy = "Measure before ranking: more raters, a clearer question, or a lower threshold, declared (--reliable)."
        return finding(name, question, "fail", statement, remedy=remedy, where=rows[:3])
    open_ones = [row for row in rows if 1 - SETTLED < row.estimate < SETTLED]
    counts = {
        round(float(row.keys["threshold"]), 3): row
        for row in told.all("criteria", "n_clearly_above_pairwise", {"set": "reliable"})
    }
    near = [row for threshold, row in counts.items() if abs(threshold - told.run.threshold) <= 0.1 + 1e-9]
    moves = len({row.estimate for row in near}) > 1
    n_in = int(told.run.chosen("reliable", told.run.store)[0].sum())
    statement = f"{n_in} of {len(rows)} criteria reach alpha {told.run.threshold:g}."
    if open_ones:
        told_of = [f"{row.keys['criterion']} (in {100 * row.estimate:.0f} % of replicates)" for row in open_ones]
        statement += f" Not settled: {named(told_of)}."
    else:
        statement += " Each is in or out in at least 95 % of the replicates."
    if near:
        spelled = ", ".join(f"{row.estimate:.0f} at {row.keys['threshold']:g}" for row in near)
        statement += f" Arms clearly above the agreement of one rater with another: {spelled}."
    verdict: Verdict = "pass" if not open_ones else "fail" if moves else "warn"
    remedy = (
        "" if verdict == "pass" else "Show the results over thresholds, and over all criteria, beside the headline."
    )
    return finding(name, question, verdict, statement, remedy=remedy, where=[*open_ones[:4], *near], source=PAPER)


def phrasing_decides(told: Told) -> Finding:
    """Say whether wording moves a score by more than its interval is wide.

    pass: the mean range over phrasings is below the mean interval width; fail: above.
    """
    name, question = "phrasing-decides", "Does the wording of the question move scores by more than sampling does?"
    keys = {"set": _scope(told)}
    ranges = next(iter(told.all("spread", "mean_range_over_phrasings", keys)), None)
    widths = next(iter(told.all("spread", "mean_interval_width", keys)), None)
    if ranges is None or widths is None:
        return finding(name, question, "not_applicable", "Every question was put in one wording only.")
    statement = (
        f"Over phrasings a score ranges by {short(ranges.estimate)} on average; its interval is "
        f"{short(widths.estimate)} wide on average."
    )
    verdict: Verdict = "pass" if ranges.estimate < widths.estimate else "fail"
    remedy = (
        "" if verdict == "pass" else "Report every phrasing, or their mean as a protocol of its own; never the best."
    )
    return finding(name, question, verdict, statement, remedy=remedy, where=[ranges, widths])
