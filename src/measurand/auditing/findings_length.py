"""Findings about length: does the order follow it, do ratings, do the raters differ, does the order survive it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from measurand.auditing.questions import ALPHA, PAPER, Rows, finding, undetermined, without_systems
from measurand.result import Finding, Key, Row, Verdict, show_number
from measurand.sentences import estimate_of, listed, percent, share, short, show_p, spread_of

#: R² and |rank correlation| between systems from which the estimate counts, and the R² that its lower limit must exceed
#: by itself.
EXPLAINED: Final = 0.5
FOLLOWED: Final = 0.7
EXPLAINED_FOR_SURE: Final = 0.25
#: Below so many systems an order says nothing about what it follows.
FEWEST_SYSTEMS: Final = 4
#: Standard deviation of the raters' slopes, as a share of their mean, that counts as large.
APART: Final = 0.5
#: Rank correlation from which the matched order is the raw one.
SAME_ORDER: Final = 0.8
#: Share of draws that must keep the first place for its change to be due to length, not to fewer comparisons.
KEPT: Final = 0.8
#: Share of a system's ratings whose output must be known.
ENOUGH_KNOWN: Final = 0.95
#: Overlap: share of all pairs of outputs that are equally long, and such pairs of each system.
ENOUGH_MATCHED: Final = 0.1
ENOUGH_PAIRS: Final = 30

_SECTION: Final = f"{PAPER}, section 5"
_MEDIATOR: Final = "Length is a mediator, and a longer output may be a better one: this is no proof of a bias."
_CONTROLLED: Final = (
    "Length is a mediator, and a longer output may be a better one: this is a controlled comparison of the outputs "
    "that happen to be equally long, no proof of a bias and not the order without one."
)
#: Models of single judgements: the usual one, that with slopes by rater, and that on which the verdict rests.
_USUAL, _RATERS, _FULL = "judgement", "judgement+rater_slope", "full+rater_slope"
_NAMES: Final = {
    "emoji": "emoji",
    "emoji_or_text": "emoji or what could be one",
    "non_ascii_grapheme": "graphemes that are not ASCII",
    "non_ascii_character": "characters that are not ASCII",
    "grapheme": "graphemes",
    "word": "words",
    "character": "characters",
    "byte": "bytes",
    "length": "the unit of the table",
}
_MATCH: Final = "Give lengths, or texts, of the rated outputs under the names of the ratings table."


def length_findings(rows: Rows) -> list[Finding]:
    """Return what the length of outputs says of one criterion; nothing where no lengths were looked at."""
    if not rows.all("length", "mean_length"):
        return []
    return [question(rows) for question in QUESTIONS]


def outputs_match(rows: Rows) -> Finding:
    """Say whether the outputs are those that were rated: systems and items of the same names."""
    name, question = "length-outputs", "Are the outputs those that were rated?"
    shares = rows.all("length", "share_with_length")
    unrated = rows.first("length", "n_systems_unrated")
    if early := without_systems(rows, name, question):
        return early
    if not shares:
        return undetermined(rows, name, question, unrated, _MATCH)
    absent = [row for row in shares if row.estimate == 0]
    partial = [row for row in shares if 0 < row.estimate < ENOUGH_KNOWN]
    where = [*absent, *partial, unrated]
    names = listed([str(row.keys["system"]) for row in absent])
    others = (
        f"; the outputs name {unrated.note}, which nobody rated" if unrated is not None and unrated.estimate else ""
    )
    if absent:
        statement = f"Of {len(shares)} rated systems {len(absent)} have no output of known length: {names}{others}."
        remedy = "Give systems and items the same names in both tables: the rest is said without these systems."
        return finding(rows, name, question, "fail", statement, remedy=remedy, where=where)
    if partial:
        least = min(partial, key=lambda row: row.estimate)
        statement = (
            f"Of {len(partial)} of {len(shares)} systems some ratings have no output of known length, most of "
            f"{least.keys['system']} ({share(1 - least.estimate)}){others}."
        )
        remedy = "Look for items that the outputs do not have, and for blank ones."
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where)
    statement = f"Every rated system has its outputs{others}."
    return finding(rows, name, question, "pass", statement, where=where)


def length_explains_order(rows: Rows) -> Finding:
    """Say whether the systems' mean ratings follow their mean lengths."""
    name, question = "length-explains-order", "Does the order of the systems follow the length of their outputs?"
    source = f"{_SECTION}; Bonett & Wright 2000"
    if early := _early(rows, name, question):
        return early
    r_squared, spearman = (_of(rows, statistic, "between_systems", unit="system") for statistic in _BETWEEN)
    slope = _of(rows, "slope", "between_systems", unit="system")
    n = len(_systems(rows))
    if n < FEWEST_SYSTEMS:
        statement = (
            f"Not determined: {n} systems have known lengths; of fewer than {FEWEST_SYSTEMS} no order says that."
        )
        return finding(rows, name, question, "undetermined", statement, where=[r_squared], source=source)
    if r_squared is None or spearman is None or slope is None:
        why = _of(rows, "r_squared", "between_systems")
        return undetermined(rows, name, question, why, "Rate systems whose outputs differ in length.", source)
    is_followed = r_squared.estimate >= EXPLAINED or abs(spearman.estimate) >= FOLLOWED
    rising = slope.estimate if r_squared.estimate >= EXPLAINED else spearman.estimate
    spread = f"{percent(r_squared.confidence)} interval {_shares(r_squared)}"
    spread = spread if r_squared.low is not None else "no interval: the systems lie on a line"
    statement = (
        f"Over {n} systems, mean length in {_unit(r_squared)} explains {share(r_squared.estimate)} of the variance of "
        f"mean ratings ({spread}); rank correlation {_correlation(spearman)} ({show_p(spearman.p)})"
    )
    where = [r_squared, spearman, slope]
    is_sure = r_squared.low is not None and r_squared.low > EXPLAINED_FOR_SURE
    is_ordered = spearman.p is not None and spearman.p < ALPHA and is_followed
    if is_sure or is_followed:
        statement += f"; longer outputs are rated {'higher' if rising > 0 else 'lower'}. {_MEDIATOR}"
    else:
        statement += "."
    remedy = (
        "Report the lengths, and the comparison at equal length (length-matched-order), beside the ranking. So few "
        "systems cannot tell length from whatever else they differ in."
    )
    if is_sure or is_ordered:
        return finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)
    if is_followed:
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    return finding(rows, name, question, "pass", statement, where=where, source=source)


def length_slope(rows: Rows) -> Finding:
    """Say whether single ratings follow length, for other raters, items and systems, too."""
    name, question = "length-slope", "Do ratings follow length, for raters, items and systems of this kind?"
    source = f"{_SECTION}; Barr, Levy, Scheepers & Tily 2013 (random slopes)"
    if early := _early(rows, name, question):
        return early
    usual, random, full = (_of(rows, "slope", model) for model in (_USUAL, _RATERS, _FULL))
    where = [full, random, usual]
    if usual is None or usual.p is None:
        return undetermined(rows, name, question, usual, "Rate outputs that differ in length.", source)
    said = f"the usual model, without random slopes, gives {_per(usual)} ({show_p(usual.p)})"
    if full is None or full.p is None:
        verdict, statement = _without_full(full, random, usual, said)
        remedy = "Add raters and items."
        return finding(rows, name, question, verdict, statement, remedy=remedy, where=where, source=source)
    found = f"{_per(full)} with slopes that differ by rater, and with systems and outputs random ({_tested(full)})"
    if full.p < ALPHA:
        statement = f"Yes, over raters, items and systems of this kind: {found}; {said}. {_MEDIATOR}"
        remedy = "Compare systems at equal length, too (length-matched-order), and report both orders."
        return finding(rows, name, question, "fail", statement, remedy=remedy, where=where, source=source)
    by_raters = random is not None and random.p is not None and random.p < ALPHA
    if by_raters and random is not None:
        statement = (
            f"For these systems and outputs, not shown for others: {_per(random)} with slopes that differ by rater "
            f"({_tested(random)}), but {_slope_tested(full)} with systems and outputs random, too. {_MEDIATOR}"
        )
        remedy = "Speak of these outputs alone: judgements of one output share whatever else makes it better or worse."
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    if usual.p < ALPHA:
        statement = (
            f"For these raters, not shown for others: {said}, but with slopes that differ by rater, and with systems "
            f"and outputs random, it is {_slope_tested(full)}. {_MEDIATOR}"
        )
        remedy = "Speak of these raters alone, or ask more raters: their slopes are the sample that counts."
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=source)
    return finding(rows, name, question, "pass", f"Not shown: {found}; {said}.", where=where, source=source)


def _without_full(full: Row | None, random: Row | None, usual: Row, said: str) -> tuple[Verdict, str]:
    """Return verdict and statement where the model that the verdict rests on has no fit: it never fails, nor passes."""
    why = full.undefined if full is not None else "there is no model with systems and outputs random"
    statement = f"Not determined for other raters, items and systems ({why}); "
    if random is None or random.p is None:
        verdict: Verdict = "warn" if usual.p is not None and usual.p < ALPHA else "undetermined"
        return verdict, f"{statement}{said}. {_MEDIATOR}"
    verdict = "warn" if min(random.p, 1.0 if usual.p is None else usual.p) < ALPHA else "undetermined"
    statement += (
        f"with slopes that differ by rater, but judgements of one output taken for unrelated, it is {_per(random)} "
        f"({_tested(random)}); {said}. {_MEDIATOR}"
    )
    return verdict, statement


def length_raters_differ(rows: Rows) -> Finding:
    """Say whether the raters differ in how their ratings follow length."""
    name, question = "length-raters-differ", "Do the raters differ in how their ratings follow length?"
    if early := _early(rows, name, question):
        return early
    each = [r for r in rows.all("length", "slope", {"model": "judgement"}) if r.keys.get("rater") and not r.undefined]
    if rows.size("n_raters") == 1:
        statement = "There is one rater, who differs from nobody."
        return finding(rows, name, question, "not_applicable", statement, where=each, source=_SECTION)
    test, spread = (
        _of(rows, "slopes_differ_f", "judgement"),
        _of(rows, "slope_sd_between_raters", _RATERS),
    )
    mean = _of(rows, "slope", "mean_of_raters")
    if test is None or test.p is None or mean is None or mean.undefined:
        return undetermined(rows, name, question, test, "Rate more items, or outputs that differ in length.", _SECTION)
    low, high = min(each, key=lambda r: r.estimate), max(each, key=lambda r: r.estimate)
    statement = (
        f"Raters' slopes go from {estimate_of(low)} ({low.keys['rater']}) to {estimate_of(high)} "
        f"({high.keys['rater']}) scale points per {_one(low)}, {estimate_of(mean)} on average"
    )
    if spread is not None and not spread.undefined:
        statement += f", with a standard deviation of {estimate_of(spread)} between raters"
    statement += f"; the test that all have one slope gives {show_p(test.p)}."
    where = [test, spread, mean, low, high]
    far = spread is not None and not spread.undefined and spread.estimate >= APART * abs(mean.estimate)
    if test.p < ALPHA and (low.estimate < 0 < high.estimate or far):
        remedy = "Show the slopes by rater: a panel's mean hides whose ratings follow length."
        statement += f" {_MEDIATOR}"
        return finding(rows, name, question, "warn", statement, remedy=remedy, where=where, source=_SECTION)
    return finding(rows, name, question, "pass", statement, where=where, source=_SECTION)


def length_matched_order(rows: Rows) -> Finding:
    """Say whether the order of the systems is the same at equal length."""
    name, question = "length-matched-order", "Is the order of the systems the same on one item at equal length?"
    if early := _early(rows, name, question):
        return early
    at = _headline(rows)
    rho = None if at is None else _of(rows, "spearman_matched_raw", "adjusted", unit="system", more=at)
    if at is None:
        every = rows.all("length", "win_rate_adjusted", {"model": "adjusted", "ties": "half"})
        why = next((row for row in every if row.undefined), None)
        remedy = "Rate more items, so that more outputs are equally long."
        return undetermined(rows, name, question, why, remedy, _SECTION)
    if rho is None:
        why = _of(rows, "spearman_matched_raw", "adjusted", more=at)
        return undetermined(rows, name, question, why, "Read the win rates at equal length themselves.", _SECTION)
    raw = rows.all("length", "rank", {"model": "raw"})
    matched = rows.all("length", "rank", {"model": "adjusted"} | at)
    kept = _of(rows, "share_winner_kept", "adjusted", more=at)
    overlap = _of(rows, "matched_share", "matched", more={"tolerance": at["tolerance"]})
    before, after = _first(raw), _first(matched)
    is_kept = bool({*before} & {*after})
    all_equal = overlap is not None and overlap.estimate == 1
    drawn = None if all_equal else _of(rows, "spearman_drawn_raw", "adjusted", more=at)
    n = _of(rows, "n_matched", "matched", more={"tolerance": at["tolerance"]})
    pairs = "" if n is None or overlap is None else f"{show_number(n.estimate)} pairs, {share(overlap.estimate)} of all"
    spread = f", {percent(rho.confidence)} interval {spread_of(rho)} over systems" if rho.low is not None else ""
    statement = (
        f"On one item at {_equal(at)} ({pairs}; ties half, opponents adjusted for) {_leads(before, after)}; rank "
        f"correlation with the raw order {_correlation(rho)}{spread}."
    )
    if drawn is not None and kept is not None and not drawn.undefined:
        statement += (
            f" As many pairs drawn whatever their lengths would give {short(drawn.estimate)} and keep the first place "
            f"in {share(kept.estimate)} of draws."
        )
    statement += f" {_CONTROLLED}"
    where = [rho, drawn, kept, overlap, *[r for r in (*raw, *matched) if r.keys["system"] in {*before, *after}]]
    by_chance = kept is not None and kept.estimate < KEPT and not all_equal
    if is_kept and rho.estimate >= SAME_ORDER:
        if not by_chance:
            return finding(rows, name, question, "pass", statement, where=where, source=_SECTION)
        statement = f"Not determined: so few pairs often change the first place, whatever their lengths. {statement}"
        remedy = "Rate more items: the same order from so few comparisons is no evidence that length does not matter."
        return finding(rows, name, question, "undetermined", statement, remedy=remedy, where=where, source=_SECTION)
    verdict: Verdict = "warn" if is_kept or by_chance or all_equal else "fail"
    remedy = "Report both orders, and name no winner that only one of them has."
    if all_equal:
        remedy += " Neither length nor few comparisons tell them apart: win rates count who is rated above whom, means "
        remedy += "also by how much."
    elif by_chance and not is_kept:
        remedy += (
            " As many comparisons of any length often change the first place, too: rate more items before blaming "
        )
        remedy += "length."
    return finding(rows, name, question, verdict, statement, remedy=remedy, where=where, source=_SECTION)


def _leads(before: Sequence[str], after: Sequence[str]) -> str:
    """Return who leads at equal length, against who leads by mean rating; a leader among the tied is no change."""
    still = [name for name in after if name in before]
    if not still:
        verb = "leads" if len(after) == 1 else "lead"
        return f"{listed(after)} {verb} in place of {listed(before)}"
    told = f"{listed(still)} still {'leads' if len(still) == 1 else 'lead'}"
    if beside := [name for name in after if name not in before]:
        told += f", tied with {listed(beside)}"
    if without := [name for name in before if name not in after]:
        told += f", no longer tied with {listed(without)}"
    return told


def length_overlap(rows: Rows) -> Finding:
    """Say whether enough outputs to one item are equally long."""
    name, question = "length-overlap", "Are enough outputs to one item equally long to be compared so?"
    if early := _early(rows, name, question):
        return early
    at = _headline(rows)
    shares = rows.all("length", "matched_share", {"system": "", "opponent": ""})
    if at is None:
        widest = shares[-1] if shares else None
        if widest is None or widest.undefined:
            return undetermined(rows, name, question, widest, _MORE, _SECTION)
        statement = (
            f"Not determined: {share(widest.estimate)} of the pairs of outputs to one item are equally long"
            f"{_within(widest)}, and they do not connect all systems."
        )
        return finding(rows, name, question, "undetermined", statement, remedy=_MORE, where=[widest], source=_SECTION)
    tolerance: dict[str, Key] = {"tolerance": at["tolerance"]}
    overlap = _of(rows, "matched_share", "matched", more=tolerance)
    each = [r for r in rows.all("length", "n_matched", {"model": "matched"} | tolerance) if r.keys.get("system")]
    if overlap is None or not each:
        return undetermined(rows, name, question, overlap, _MORE, _SECTION)
    few = [row for row in each if row.estimate < ENOUGH_PAIRS]
    never = [
        row
        for row in rows.all("length", "matched_share", {"model": "matched"} | tolerance)
        if row.keys.get("opponent") and row.estimate == 0
    ]
    least = min(each, key=lambda row: row.estimate)
    statement = (
        f"{share(overlap.estimate)} of the pairs of outputs to one item are equally long{_within(overlap)}; the "
        f"fewest, {show_number(least.estimate)}, are {least.keys['system']}'s"
    )
    none = "one pair of systems has none" if len(never) == 1 else f"{len(never)} pairs of systems have none"
    statement += f", and {none}." if never else "."
    where = [overlap, least, *few[:4], *never[:4]]
    if overlap.estimate >= ENOUGH_MATCHED and not few:
        return finding(rows, name, question, "pass", statement, where=where, source=_SECTION)
    return finding(rows, name, question, "warn", statement, remedy=_MORE, where=where, source=_SECTION)


QUESTIONS: Final[Sequence[Callable[[Rows], Finding]]] = (
    outputs_match,
    length_explains_order,
    length_slope,
    length_raters_differ,
    length_matched_order,
    length_overlap,
)
_BETWEEN: Final = ("r_squared", "spearman")
_MORE: Final = "Rate more items, or read the comparison at equal length as of these few outputs alone."


def _early(rows: Rows, name: str, question: str) -> Finding | None:
    """Return the answer where there are no systems, or no lengths of what was rated."""
    if none := without_systems(rows, name, question):
        return none
    if not _systems(rows):
        return undetermined(rows, name, question, rows.first("length", "mean_length"), _MATCH, _SECTION)
    return None


def _systems(rows: Rows) -> list[Row]:
    return [row for row in rows.all("length", "mean_length") if row.keys.get("system")]


def _of(rows: Rows, statistic: str, model: str, *, unit: str = "", more: Mapping[str, Key] | None = None) -> Row | None:
    """Return the row of all raters, systems and opponents together; with a unit only a defined one of that unit."""
    together: dict[str, Key] = {"model": model, "rater": "", "system": "", "opponent": ""}
    found = rows.all("length", statistic, together | dict(more or {}))
    if unit:
        found = [row for row in found if row.unit == unit and not row.undefined]
    return found[0] if found else None


def _headline(rows: Rows) -> dict[str, Key] | None:
    """Return ties and tolerance of the comparison that findings speak of.

    It is the narrowest band with enough overlap, else the widest, of those whose comparisons connect all systems.
    """
    usable: list[dict[str, Key]] = []
    for row in rows.all("length", "matched_share", {"system": "", "opponent": ""}):
        at: dict[str, Key] = {"ties": "half", "tolerance": row.keys["tolerance"]}
        rates = rows.all("length", "win_rate_adjusted", at)
        if not rates or any(rate.undefined for rate in rates):
            continue
        if row.estimate >= ENOUGH_MATCHED:
            return at
        usable.append(at)
    return usable[-1] if usable else None


def _first(ranks: Sequence[Row]) -> list[str]:
    best = min(row.estimate for row in ranks if not row.undefined)
    return [str(row.keys["system"]) for row in ranks if row.estimate == best]


def _slope(row: Row) -> str:
    return f"{estimate_of(row)} ({percent(row.confidence)} interval {spread_of(row)})"


def _correlation(row: Row) -> str:
    """Return a correlation with two decimals, as the limits of the verdicts have them, whatever its interval."""
    return show_number(row.estimate, width=0.1)


def _slope_tested(row: Row) -> str:
    tested = f"{percent(row.confidence)} interval {spread_of(row)}; {_tested(row)}"
    return f"{estimate_of(row)} ({tested})"


def _shares(row: Row) -> str:
    """Return an interval of shares in percent."""
    if row.low is None or row.high is None:
        return ""
    low, high = (float(f"{100 * end:.3g}") for end in (row.low, row.high))
    return f"{show_number(low, width=high - low)} to {show_number(high, width=high - low)} %"


def _per(row: Row) -> str:
    return f"{_slope(row)} scale points per {_one(row)}"


def _tested(row: Row) -> str:
    return f"{show_p(row.p)}, {short(float(f'{row.df2 or 0:.1f}'))} degrees of freedom"


def _unit(row: Row) -> str:
    name = str(row.keys["unit_of_length"])
    return _NAMES.get(name, name)


def _one(row: Row) -> str:
    """Return the unit of length in the singular."""
    name = str(row.keys["unit_of_length"])
    return {"length": "unit of length"}.get(name, name.replace("_", " "))


def _equal(at: Mapping[str, Key]) -> str:
    tolerance = float(at["tolerance"])
    return "equal length" if tolerance == 0 else f"lengths within {share(tolerance)} of the longer"


def _within(row: Row) -> str:
    tolerance = float(row.keys["tolerance"])
    return "" if tolerance == 0 else f" within {share(tolerance)} of the longer one"
