"""What an elicitation answers: was everything asked, read where answers are, and what do the answers depend on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.eliciting.arms import Arm, ArmName, Arms
from measurand.eliciting.requests import is_graded
from measurand.eliciting.run import Elicited
from measurand.result import Finding, Key, Row, Verdict
from measurand.sentences import joined, listed, percent, share, short

#: Shares that pass, and below which a finding fails (thresholds of this library).
TOP_PASSES: Final = 0.9
TOP_FAILS: Final = 0.5
FIRST_PASSES: Final = 0.95
FIRST_FAILS: Final = 0.5
ITEM_WARNS: Final = 0.5
UNKNOWN_FAILS: Final = 0.05
_OURS: Final = "thresholds of this library"
_MOST_NAMED: Final = 4
_SEVERAL: Final = 2


def findings(elicited: Elicited, arms: Arms, rows: Sequence[Row]) -> list[Finding]:
    """Return the findings of an elicitation.

    Parameters
    ----------
    elicited : Elicited
        The study after a run.
    arms : Arms
        What was counted while its tables were written.
    rows : sequence of Row
        Its numbers.
    """
    return [
        _answered(elicited, arms),
        _proven(elicited, rows),
        _read_position(elicited, arms),
        _bounds(elicited, arms),
        _accepted(elicited, arms),
        _criteria(arms),
        _acquiescence(elicited, rows),
    ]


def _arm_words(name: ArmName) -> str:
    parts = (name.readout, name.phrasing, name.keys["variant"])
    return f"{name.system} ({', '.join(str(part) for part in parts if part)})"


def _references(names: Sequence[ArmName], statistic: str) -> list[dict[str, Key]]:
    return [Row("elicitation", name.keys, statistic, 0.0).reference() for name in names]


def _answered(elicited: Elicited, arms: Arms) -> Finding:
    total = sum(one.progress.total for one in elicited.asked)
    left = elicited.n_left
    names = [name for name, arm in arms.of.items() if arm.n_answered < arm.n_requests]
    if not total:
        return Finding(
            "requests-answered",
            "Was every request answered?",
            "undetermined",
            "Nothing was asked: no readout has a question about any item.",
            source="coverage",
        )
    if not left:
        n = len(elicited.asked)
        statement = f"All {total:,} requests to {n} {'system' if n == 1 else 'systems'} have an answer in the store."
        return Finding("requests-answered", "Was every request answered?", "pass", statement, source="coverage")
    why = [f"{one.system.name}: {one.stopped}" for one in elicited.asked if one.stopped]
    reasons: dict[str, int] = {}
    for one in elicited.asked:
        for reason, n in one.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + n
    why += [f"{n} times: {reason}" for reason, n in sorted(reasons.items(), key=lambda pair: -pair[1])]
    told = f" {_points(why)}." if why else ""
    return Finding(
        "requests-answered",
        "Was every request answered?",
        "fail",
        f"{left:,} of {total:,} requests have no answer.{told}",
        remedy="Start the same command again: it asks only what has no answer.",
        rows=_references(names[:_MOST_NAMED], "n_answered"),
        source="coverage",
    )


def _proven(elicited: Elicited, rows: Sequence[Row]) -> Finding:
    question = "Did the engines pass their tests before they were asked?"
    failed = [
        f"{one.system.name}: {proof.statement}"
        for one in elicited.asked
        for proof in one.proven.proofs
        if not proof.passed
    ]
    untested = [one.system.name for one in elicited.asked if not one.proven.proofs]
    where = [row.reference() for row in rows if row.analysis == "proofs" and row.statistic == "passed"]
    worst = max((row for row in rows if row.statistic == "difference"), key=lambda row: row.estimate, default=None)
    noise = (
        ""
        if worst is None
        else f" The largest difference of log-odds between ways of computing one answer is {short(worst.estimate)} "
        f"({worst.keys['system']}, {worst.keys['check']}): the noise floor."
    )
    if failed:
        remedy = "Do what the test says; nothing was asked of that system."
        return Finding(
            "engine-tested", question, "fail", _points(failed) + "." + noise, remedy, rows=where, source=_OURS
        )
    if untested and len(untested) == len(elicited.asked):
        return Finding(
            "engine-tested",
            question,
            "undetermined",
            "No engine was tested: nothing was asked."
            if all(one.progress.done == 0 for one in elicited.asked)
            else "The engines have no test for what was asked of them.",
            source=_OURS,
        )
    every = [proof for one in elicited.asked for proof in one.proven.proofs]
    skipped = [proof.check for proof in every if proof.statement.startswith("Not tested")]
    n = len(every) - len(skipped)
    said = f"{n} of {n} tests passed." + (f" Not tested: {listed(list(dict.fromkeys(skipped)))}." if skipped else "")
    if untested:
        said += f" Without a test, since nothing was asked of them now or before: {listed(untested)}."
    return Finding(
        "engine-tested", question, "undetermined" if untested else "pass", said + noise, rows=where, source=_OURS
    )


def _verdict(found: float, passes: float, fails: float) -> Verdict:
    return "pass" if found >= passes else "warn" if found >= fails else "fail"


def _nothing(finding: str, question: str, elicited: Elicited, *, reads: bool) -> Finding:
    """Say that there is nothing to judge: because nobody was to be asked, or because nobody has answered."""
    what = "reads token probabilities" if reads else "generates replies"
    if not any(is_graded(readout) == reads for readout in elicited.design.readouts):
        return Finding(finding, question, "not_applicable", f"No readout {what}.", source=_OURS)
    statement = f"No answer came back of any readout that {what}."
    return Finding(finding, question, "undetermined", statement, source=_OURS)


def _read_position(elicited: Elicited, arms: Arms) -> Finding:
    question = "Is the likeliest token at the read position an answer?"
    found = {name: arm for name, arm in arms.of.items() if arm.mass and not name.control}
    if not found:
        return _nothing("read-position", question, elicited, reads=True)
    of = {name: arm.top_in / len(arm.mass) for name, arm in found.items()}
    low = sorted((name for name in found if of[name] < TOP_PASSES), key=lambda name: of[name])
    verdict = _verdict(min(of.values()), TOP_PASSES, TOP_FAILS)
    if not low:
        least = min(of.values())
        of_readings = "all readings" if least == 1 else f"at least {share(least)} of the readings"
        statement = f"In {_all_arms(len(found))} it is, for {of_readings}."
        return Finding(
            "read-position",
            question,
            verdict,
            statement,
            rows=_references(list(found)[:_MOST_NAMED], "share_top_is_answer"),
            source=_OURS,
        )
    texts = [f"{_arm_words(name)} {share(of[name])}, otherwise mostly {_outside(found[name])}" for name in low]
    return Finding(
        "read-position",
        question,
        verdict,
        f"In {len(low)} of {len(found)} arms for less than {share(TOP_PASSES)} of the readings: {_points(texts)}.",
        remedy="Begin the answer for the system (prefill), switch reasoning off, or word the question so that it "
        "answers at once; P(yes) is a ratio of what little is left there.",
        rows=_references(low[:_MOST_NAMED], "share_top_is_answer"),
        source=_OURS,
    )


def _outside(arm: Arm) -> str:
    return " and ".join(repr(text) for text, _ in arm.outside.most_common(2)) or "nothing"


def _points(texts: Sequence[str]) -> str:
    """Return texts that have commas and stops of their own as a sentence has them, and how many more there are."""
    more = f"; and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return "; ".join(text.rstrip(".") for text in texts[:_MOST_NAMED]) + more


def _bounds(elicited: Elicited, arms: Arms) -> Finding:
    question = "Are the probabilities known exactly?"
    found = {name: arm for name, arm in arms.of.items() if arm.width}
    if not found:
        return _nothing("bounds", question, elicited, reads=True)
    wide = {name: arm for name, arm in found.items() if any(one > 0 or one != one for one in arm.width)}
    if not wide:
        return Finding("bounds", question, "pass", "Every token's probability was seen.", source="full vocabulary")
    unknown = {name: arm.status["invalid"] / max(sum(arm.status.values()), 1) for name, arm in wide.items()}
    worst = max(unknown, key=lambda name: unknown[name])
    verdict: Verdict = "fail" if unknown[worst] > UNKNOWN_FAILS else "warn"
    bounded = [name for name, arm in wide.items() if any(one > 0 for one in arm.width)]
    return Finding(
        "bounds",
        question,
        verdict,
        f"In {len(wide)} arms only within bounds, since the engine shows its likeliest tokens alone; in "
        f"{_arm_words(worst)} {share(unknown[worst])} of the answers could not be told.",
        remedy="Ask for more tokens (top_logprobs), or through an engine that shows the probability of every token. "
        "answer_low and answer_high in the table say what is known.",
        rows=_references(bounded[:_MOST_NAMED], "width_median") or _references([worst], "n_invalid"),
        source=_OURS,
    )


def _accepted(elicited: Elicited, arms: Arms) -> Finding:
    question = "Are first replies accepted?"
    found = {name: arm for name, arm in arms.of.items() if arm.asked and not arm.mass and not name.control}
    if not found:
        return _nothing("first-reply", question, elicited, reads=False)
    of = {name: arm.accepted[1] / arm.asked[1] for name, arm in found.items()}
    worst = min(of, key=lambda name: of[name])
    arm = found[worst]
    verdict = _verdict(of[worst], FIRST_PASSES, FIRST_FAILS)
    if verdict == "pass":
        replies = "all first replies" if of[worst] == 1 else f"at least {share(of[worst])} of the first replies"
        statement = f"In {_all_arms(len(found))} {replies} are accepted."
        return Finding(
            "first-reply",
            question,
            verdict,
            statement,
            rows=_references([worst], "n_answered"),
            source=_OURS,
        )
    last = max(arm.asked)
    ever = sum(arm.accepted.values()) / arm.asked[1]
    later = f", after up to {last} attempts {share(ever)}" if last > 1 else ""
    problems = joined(*(f"{_in_words(kind)} {n}" for kind, n in arm.problems.most_common(3)))
    return Finding(
        "first-reply",
        question,
        verdict,
        f"Fewest in {_arm_words(worst)}: {share(of[worst])} of the first replies{later}. Not accepted for: {problems}.",
        remedy="Attempts are rows of their own (column attempt): score the first ones and the last ones apart, since "
        "retries choose which answers count.",
        rows=_references([worst], "n_answered"),
        source=_OURS,
    )


def _criteria(arms: Arms) -> Finding:
    question = "Was every criterion asked?"
    never: dict[str, list[ArmName]] = {}
    for name, arm in arms.of.items():
        for criterion, is_asked in arm.is_asked.items():
            if not is_asked:
                never.setdefault(criterion, []).append(name)
    if not any(arm.is_asked for arm in arms.of.values()):
        return Finding(
            "criteria-asked", question, "not_applicable", "No readout asks about criteria.", source="readouts"
        )
    if not never:
        return Finding(
            "criteria-asked", question, "pass", "Every readout asks about every criterion.", source="readouts"
        )
    names = list(dict.fromkeys(name for found in never.values() for name in found))
    return Finding(
        "criteria-asked",
        question,
        "fail",
        f"{len(never)} criteria were never asked in {listed([_arm_words(name) for name in names])}: "
        f"{joined(*never)}. Their answers are not_asked, and no 0.",
        remedy="Name every criterion in the prompt, or leave those that it does not name out of the score.",
        rows=_references(names[:_MOST_NAMED], "n_criteria_never_asked"),
        source="Schuhmann et al. 2025, zero-shot prompt: its example names 25 of 40",
    )


def _in_words(kind: str) -> str:
    return kind.replace("not_json", "not JSON").replace("_", " ")


def _all_arms(n: int) -> str:
    return "the one arm" if n == 1 else f"all {n} arms"


def _acquiescence(elicited: Elicited, rows: Sequence[Row]) -> Finding:
    question = "Do yes and no depend on the question more than on the item alone?"
    plain = [
        row
        for row in rows
        if row.analysis == "acquiescence"
        and row.statistic == "share_item"
        and "control=" not in str(row.keys["variant"])
    ]
    found = [row for row in plain if not row.undefined]
    if not plain or len(elicited.design.criteria) < _SEVERAL:
        return Finding(
            "acquiescence",
            question,
            "not_applicable",
            "No readout asks several yes/no questions of an item.",
            source=_OURS,
        )
    if not found:
        statement = f"It can't be told: {_points(list(dict.fromkeys(row.undefined for row in plain)))}."
        where = [row.reference() for row in plain[:_MOST_NAMED]]
        return Finding("acquiescence", question, "undetermined", statement, rows=where, source=_OURS)
    chance = {tuple(row.keys.items()): row.estimate for row in rows if row.statistic == "share_item_if_independent"}
    beyond = {id(row): row.estimate - chance[tuple(row.keys.items())] for row in found}
    worst = max(found, key=lambda row: beyond[id(row)])
    name = ", ".join(str(worst.keys[key]) for key in ("system", "phrasing", "variant") if worst.keys[key])
    interval = ""
    if worst.low is not None and worst.high is not None:
        interval = (
            f" ({percent(worst.confidence or 0)} interval {share(worst.low)} to {share(worst.high)}, items redrawn)"
        )
    text = (
        f"What an item gets on all its questions together is most in {name}: {share(worst.estimate)} of the variation "
        f"of log-odds{interval}; {share(worst.estimate - beyond[id(worst)])} would be there if the answers about an "
        "item had nothing in common."
    )
    verdict: Verdict = "warn" if beyond[id(worst)] >= ITEM_WARNS else "pass"
    return Finding(
        "acquiescence",
        question,
        verdict,
        text,
        remedy=""
        if verdict == "pass"
        else "Score the double-centred answers beside the raw ones (readout double_centred): they keep what tells one "
        "question from another on one item.",
        rows=[row.reference() for row in [worst, *(row for row in found if row is not worst)][:_MOST_NAMED]],
        source=_OURS,
    )
