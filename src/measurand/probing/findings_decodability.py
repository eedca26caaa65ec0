"""What decodability answers: do outputs tell the label, of which systems more, and what does that rest on?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from measurand.probing.findings_decodability_crossing import and_ratings, label_schemes, transfers
from measurand.probing.findings_decodability_read import (
    PAPER,
    in_language,
    is_above,
    languages,
    score_rows,
    scored,
    system_of,
)
from measurand.probing.questions import MOST, Answer, Question, Rows, by_system, sentence
from measurand.result import Finding, Result, Row, Verdict, show_number
from measurand.sentences import listed, short, show_p, spread_of

#: Adjusted p below which the number of tokens tells the label.
ALPHA: Final = 0.05
#: Gain in macro-F1 of the last doubling of the training items from which a curve still rises.
RISING: Final = 0.01


def decodability_findings(result: Result) -> list[Finding]:
    """Return the findings of decodability, from its rows and those of its correlation with ratings.

    Parameters
    ----------
    result : Result
        With the analysis `decodability`, and `decodability_ratings` if there were ratings.

    Returns
    -------
    list of Finding
        ``decodable``: pass where every system's macro-F1 lies above that of permuted labels and that of the number of
        tokens alone, by the intervals of the paired differences; warn where some do, fail where none does.
        ``decodability-order``: pass where one system alone may be first in every language, fail where no two systems
        are told apart in any, else warn. ``count-leaks-label``: warn where a decoder of the number of tokens lies above
        the majority floor and above its own level with permuted labels, and its p, adjusted over all systems and
        languages, is below `ALPHA`; undetermined where no p could be. ``label-schemes``: pass where all languages
        have the same labels, warn where they were reduced to the shared ones, fail where scores across languages were
        refused. ``decodability-needs-data``: warn where the last doubling of the training items gained `RISING` or
        more, by an interval that is above 0. ``code-transfers``: pass where the mean loss from one language to another
        is at most `SMALL_LOSS` by its upper limit, fail where it is more by its lower limit, else warn.
        ``decodability-and-ratings``: pass where rho lies above 0 by the interval over systems (where the orders are the
        same: by p of a permutation), fail where it lies below 0, else undetermined. Empty where nothing was decoded.

    Examples
    --------
    >>> decodability_findings(Result([]))
    []
    """
    rows = Rows.of(result, "decodability")
    if not rows:
        return []
    questions = (_decodable, _order, _count_leaks, label_schemes, _needs_data, transfers)
    return [question(rows) for question in questions] + and_ratings(Rows.of(result, "decodability_ratings"))


def _by_language(
    asked: Question,
    rows: Rows,
    of: Callable[[Rows, str], Answer | None],
    *,
    remedies: Mapping[Verdict, str],
    lacking: str,
    is_shared: bool = False,
) -> Finding:
    """Return a finding with one sentence for each language."""
    known = languages(rows)
    answers = [answer for language in known if (answer := of(rows, language)) is not None]
    if answers:
        return asked.over(answers, is_shared=is_shared, remedies=remedies, more="The rows have {} more languages.")
    if known:
        return asked.answer("not_applicable", lacking)
    row = rows.first_undefined("macro_f1")
    reason = row.undefined if row is not None else "there is no score"
    remedy = "Give outputs to items of two labels or more."
    return asked.answer("undetermined", f"Not determined: {reason}.", remedy=remedy, where=[row])


def _told(verdict: Verdict, language: str, text: str, where: Sequence[Row]) -> Answer:
    """Return the answer for a language, whose name is told if it has one."""
    return Answer(verdict, sentence(f"{in_language(language)}{text}"), where=where)


def _decodable(rows: Rows) -> Finding:
    question = "Do the outputs tell the label, beyond chance and beyond their number of tokens?"
    remedy = (
        "Do not compare systems by decodability where they do not lie above the floors: look at what they write, at "
        "the unit of tokens, and at whether the labels belong to these items."
    )
    found = _by_language(
        Question("decodable", question, PAPER),
        rows,
        _decodable_in,
        remedies={"warn": remedy, "fail": remedy},
        lacking="Nothing was decoded.",
        is_shared=True,
    )
    return replace(found, statement=" ".join([found.statement, *_left_out(rows)]))


def _left_out(rows: Rows) -> list[str]:
    """Return the labels that were left out as too rare, and the languages that were not decoded."""
    rare = [row for row in rows.all("n_rare_label") if row.estimate]
    told = [f"{in_language(str(row.keys.get('language', '')))}{show_number(row.estimate)} {row.note}." for row in rare]
    if languages(rows):
        lost = [row for row in rows.all("macro_f1", {"control": "", "train": ""}) if row.undefined]
        told += [f"Not decoded: {row.keys.get('language', '')} ({row.undefined})." for row in lost]
    shown = [sentence(one) for one in told[:MOST]]
    return [*shown, f"The rows have {len(told) - MOST} more of these."] if len(told) > MOST else shown


def _decodable_in(rows: Rows, language: str) -> Answer:
    scores = by_system(score_rows(rows, language))
    floors = {
        floor: by_system(rows.all("excess", {"language": language, "control": floor, "against": ""}))
        for floor in ("permuted", "count")
    }
    is_over = {name: all(is_above(of.get(name)) for of in floors.values()) for name in scores}
    below = [row for name, row in scores.items() if not is_over[name]]
    permuted = rows.all("macro_f1", {"language": language, "control": "permuted", "seed": ""})
    chance = max((row.estimate for row in permuted), default=0.0)
    where = [of[name] for name in list(scores)[:MOST] for of in floors.values() if name in of]
    n, values = len(scores), [short(row.estimate) for row in scores.values()]
    spread = values[0] if n == 1 else f"{values[-1]} to {values[0]}"
    level = f"macro-F1 {spread}; permuted labels reach {short(chance)}"
    if not below:
        who = "the outputs lie" if n == 1 else f"all {n} systems lie"
        return _told("pass", language, f"{who} above both floors ({level}).", where)
    if len(below) == n:
        who = "the outputs do not lie" if n == 1 else f"none of {n} systems lies"
        return _told("fail", language, f"{who} above both floors ({level}).", where)
    verb = "does" if len(below) == 1 else "do"
    told = f"{n - len(below)} of {n} systems lie above both floors; {scored(below)} {verb} not ({level})."
    return _told("warn", language, told, where)


def _order(rows: Rows) -> Finding:
    return _by_language(
        Question("decodability-order", "Does decodability tell the systems apart?", PAPER),
        rows,
        _order_in,
        remedies={
            "warn": "Report tiers, not places: within the top set the order is not supported.",
            "fail": "Do not rank these systems by decodability; label more items, or collect outputs to more of them.",
        },
        lacking="There is one system: nothing to order.",
        is_shared=True,
    )


def _order_in(rows: Rows, language: str) -> Answer | None:
    scores = score_rows(rows, language)
    tiers = by_system(rows.all("tier", {"language": language}))
    top = {row.keys.get("system", "") for row in rows.all("in_top_set", {"language": language}) if row.estimate == 1}
    if len(scores) < 2 or not tiers:
        return None
    n_tiers = int(max(row.estimate for row in tiers.values()))
    leading = [row for row in scores if row.keys.get("system", "") in top]
    pairs = rows.all("difference", {"language": language, "control": ""})
    # Where decoders were trained again that is the test to go by: it counts what other training items would change.
    again = [row for row in pairs if row.p is not None and row.df2 is not None]
    tested = again or [row for row in pairs if row.p is not None]
    # The level at which ranks hold: the two rest on the same adjusted p.
    apart = sum(
        row.p_adjusted is not None and row.confidence is not None and row.p_adjusted < 1 - row.confidence
        for row in tested
    )
    how = "Holm, with decoders trained again" if again else "max-T, with decoders as they are"
    tail = f"{apart} of {len(tested)} pairs differ after {how}"
    where = [tiers[name] for name in list(by_system(scores))[:8] if name in tiers]
    if n_tiers == 1:
        return _told("fail", language, f"no order is left among {len(scores)} systems: {tail}.", where)
    first = f"{scored(leading)} alone may be first" if len(leading) == 1 else f"{scored(leading)} may all be first"
    verdict: Verdict = "pass" if len(leading) == 1 else "warn"
    return _told(verdict, language, f"there are {n_tiers} tiers and {first}: {tail}.", where)


def _count_leaks(rows: Rows) -> Finding:
    remedy = (
        "Compare systems on items with the same number of tokens, or report decodability above that of the number "
        "alone (excess in the rows of decodability)."
    )
    return _by_language(
        Question("count-leaks-label", "Does the number of tokens alone tell the label?", PAPER),
        rows,
        _count_leaks_in,
        remedies={"warn": remedy},
        lacking="There is no control of the number of tokens.",
    )


def _count_leaks_in(rows: Rows, language: str) -> Answer | None:
    excess = {
        floor: by_system(rows.all("excess", {"language": language, "control": "count", "against": floor}))
        for floor in ("majority", "count_permuted")
    }
    names = list(excess["majority"])
    if not names:
        return None
    tests = excess["count_permuted"]
    leaking = [
        name for name in names if all(is_above(of.get(name)) for of in excess.values()) and _is_told(tests[name])
    ]
    scores = by_system(rows.all("macro_f1", {"language": language, "control": "count", "seed": ""}))
    where = [of[name] for name in (leaking or names)[:MOST] for of in excess.values() if name in of]
    every = [row.attainable_p for row in rows.all("excess", {"control": "count", "against": "count_permuted"})]
    attainable = [one for one in every if one is not None]
    if attainable and len(attainable) * min(attainable) >= ALPHA:
        told = "so few orders of the labels are possible that no p could be below .05."
        return _told("undetermined", language, f"not determined: {told}", where)
    if not leaking:
        who = "no system" if len(names) > 1 else "not"
        most = short(max(row.estimate for row in scores.values()))
        told = f"{who} by more than chance: a decoder of the number of tokens reaches at most {most}."
        return _told("pass", language, told, where)
    by_chance = excess["count_permuted"]
    shown = listed(
        [
            f"{system_of(scores[name])} {short(scores[name].estimate)}, {short(by_chance[name].estimate)} "
            f"({spread_of(by_chance[name])}) above its level by chance, {show_p(by_chance[name].p_adjusted)} after Holm"
            for name in leaking
        ],
        most=MOST,
    )
    told = f"the number of tokens tells the label for {len(leaking)} of {len(names)} systems: {shown}."
    return _told("warn", language, told, where)


def _is_told(row: Row) -> bool:
    """Return whether the number of tokens tells the label beyond chance, all systems and languages considered."""
    return row.p_adjusted is not None and row.p_adjusted < ALPHA


def _needs_data(rows: Rows) -> Finding:
    remedy = (
        "Read these scores as lower bounds at this number of items, and compare systems, or outputs with vectors, at "
        "the same number only."
    )
    return _by_language(
        Question("decodability-needs-data", "Would more items to learn from raise the scores?", PAPER),
        rows,
        _needs_data_in,
        remedies={"warn": remedy},
        lacking="There is no learning curve that reaches from half of the items to all.",
    )


def _needs_data_in(rows: Rows, language: str) -> Answer | None:
    gains = rows.all("gain_of_doubling", {"language": language})
    if not gains:
        return None
    rising = [row for row in gains if is_above(row) and row.estimate >= RISING]
    largest = sorted(rising or gains, key=lambda row: -row.estimate)
    full = f"the last doubling, to {show_number(float(largest[0].keys['n_train']))} items,"
    if rising:
        shown = listed([f"{_control(row)} {short(row.estimate)} ({spread_of(row)})" for row in largest], most=MOST)
        return _told("warn", language, f"{full} still gained {shown}.", largest[:MOST])
    worst = largest[0]
    told = f"{full} raised no score by {RISING:g} or more beyond chance; the largest gain is {short(worst.estimate)} "
    return _told("pass", language, f"{told}({spread_of(worst)}).", [worst])


def _control(row: Row) -> str:
    control = str(row.keys.get("control", ""))
    return control if control.startswith("vectors:") else system_of(row)
