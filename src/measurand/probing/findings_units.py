"""Findings about the table of outputs and what its texts consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from measurand.probing.questions import Question, Rows
from measurand.probing.units_rows import OF_EMOJI
from measurand.result import Finding, Key, Result, Row, Verdict, show_number
from measurand.sentences import listed, percent, share

#: Largest difference between two systems' shares of missing and blank outputs.
MOST_UNEQUAL: Final = 0.01
#: Largest share of a system's outputs outside the range that was asked for.
MOST_OUTSIDE: Final = 0.01
#: Largest difference between two systems' inflations, and the largest inflation of a single system.
MOST_INFLATED: Final = 0.05
#: Largest share of a system's outputs that the retry rule lets pass without an emoji.
MOST_PASSING: Final = 0.01
#: Largest share of a system's outputs with something beside emoji.
MOST_RESIDUE: Final = 0.05
#: Outputs of which more than this share have no emoji are not meant to be emoji.
MOSTLY_WITHOUT: Final = 0.5

PAPER: Final = "Sakhawat 2026, arXiv 2609.29445"
_NAMES: Final[Mapping[str, str]] = {
    "emoji": "emoji",
    "emoji_or_text": "emoji, those shown as text among them",
    "non_ascii_grapheme": "graphemes beyond ASCII",
    "grapheme": "graphemes",
    "word": "words",
    "character": "code points",
    "byte": "bytes",
    "non_ascii_character": "code points beyond ASCII",
    "length": "units of length",
}
_NO_TEXTS: Final = "There are no texts in this table, only their lengths."


@dataclass(frozen=True)
class _Units:
    """The rows about units, and the unit that outputs are meant to consist of."""

    rows: Rows
    unit: str
    asked: Sequence[int] | None

    def whole(self, statistic: str, unit: str = "") -> Row | None:
        keys: dict[str, Key] = {"system": "", "language": "", "unit_of_length": unit or self.unit, "against": ""}
        return self.rows.first(statistic, keys)

    def worst(self, statistic: str, unit: str = "") -> Row | None:
        """Return the row of the system with the most, of all together where no system has a name."""
        keys: dict[str, Key] = {"language": "", "unit_of_length": unit or self.unit, "against": ""}
        rows = self.rows.defined(statistic, keys)
        named = [row for row in rows if row.keys.get("system", "")]
        return max(named or rows, key=lambda row: row.estimate, default=None)

    @property
    def lenient(self) -> str:
        """The unit with text presentation counted where there are such rows, else the unit itself."""
        return "emoji_or_text" if self.unit == "emoji" else self.unit


def units_findings(result: Result) -> list[Finding]:
    """Return what the rows of `outputs` and `units` say.

    Parameters
    ----------
    result : Result
        With the analysis `outputs`, the analysis `units`, or both.

    Returns
    -------
    list of Finding
        `outputs-complete` (pass: nothing missing or blank; fail: the systems' shares of it differ by more than
        `MOST_UNEQUAL`), `asked-range` (fail: above `MOST_OUTSIDE` of a system's outputs), `counting-unit` (fail:
        counting code points reverses the order of two systems beyond chance; warn: within chance, or the inflations
        differ by more than `MOST_INFLATED`), `retry-rule` (fail: the rule lets more than `MOST_PASSING` of a system's
        outputs pass without an emoji), `residue` (fail: above `MOST_RESIDUE` of a system's outputs have some). Between
        pass and fail lies warn. Of strict emoji a rule fails only where it does with text presentation counted, too.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.probing.outputs import describe
    >>> table = pd.DataFrame({"item": list("aab"), "system": list("xyx"), "text": "😂"})
    >>> units_findings(describe(table))[0].verdict
    'fail'
    """
    found: list[Finding] = []
    if "outputs" in result.analyses:
        found.append(_complete(result))
    if "units" in result.analyses:
        settings: Mapping[str, Any] = result.settings["units"]
        about = _Units(Rows.of(result, "units"), settings["unit"], settings["asked"])
        found += [check(about) for check in (_asked_range, _counting_unit, _retry_rule, _residue)]
    return found


def _complete(result: Result) -> Finding:
    asked = Question("outputs-complete", "Does every system have an output for every item?")

    def rows_of(statistic: str) -> list[Row]:
        return result.select("outputs", statistic, {"language": ""})

    missing, empty, n_items, n_outputs = map(rows_of, ("n_missing", "n_empty", "n_items", "n_outputs"))
    n_systems = int(result.value("outputs", "n_systems"))
    n_missing, n_empty = missing[0].estimate, empty[0].estimate
    sizes = f"{_things(n_items[0].estimate, 'item')} and {_things(n_systems, 'system')}"
    where = [missing[0], empty[0]]
    if n_missing == 0 and n_empty == 0:
        statement = f"Of {sizes} no output is missing and none is blank."
        return asked.answer("pass", statement, where=[*where, n_outputs[0]])
    shares = {
        str(of.keys["system"]): (of.estimate + blank.estimate) / items.estimate
        for of, blank, items in zip(missing[1:], empty[1:], n_items[1:], strict=True)
    }
    ordered = sorted(shares, key=lambda system: -shares[system])
    told = listed([f"{system} {share(shares[system])}" for system in ordered if shares[system] > 0])
    statement = (
        f"Of {sizes} {_are(n_missing, 'output')} missing and {_are(n_empty)} blank{f' ({told})' if told else ''}"
    )
    where += [*missing[1:5], *empty[1:5]]
    if max(shares.values(), default=0.0) - min(shares.values(), default=0.0) > MOST_UNEQUAL:
        statement += ": the systems are compared over different items."
        remedy = "Ask again for what is missing, or compare the systems over the items that all of them have."
        return asked.answer("fail", statement, remedy=remedy, where=where)
    remedy = "Say how many there are; a blank output counts as an output without any unit."
    return asked.answer("warn", f"{statement}.", remedy=remedy, where=where)


def _asked_range(about: _Units) -> Finding:
    asked = Question("asked-range", "Are the outputs as long as was asked for?")
    if about.asked is None:
        statement = "It is not known how long the outputs were meant to be."
        return asked.answer("not_applicable", statement, remedy="Give the range that was asked for.")
    outside, below, above = (about.whole(one) for one in ("share_outside", "n_below", "n_above"))
    worst, lenient = about.worst("share_outside"), about.worst("share_outside", about.lenient)
    if outside is None or below is None or above is None or worst is None or lenient is None:
        return asked.answer("undetermined", "There are no outputs whose length is known.")
    low, high = about.asked
    where = [outside, below, above, worst, lenient]
    if outside.estimate == 0:
        return asked.answer("pass", f"Every output has {low} to {high} {_NAMES[about.unit]}.", where=where)
    ends = ((below.estimate, f"fewer than {low}"), (above.estimate, f"more than {high}"))
    counts = " and ".join(f"{_things(n, 'output')} with {end}" for n, end in ends if n > 0)
    statement = f"{counts} {_NAMES[about.unit]}{_most(worst)}{_also(about, worst, lenient)}."
    verdict: Verdict = "fail" if lenient.estimate > MOST_OUTSIDE else "warn"
    remedy = "Check the length before a reply is accepted, and compare systems at equal length."
    return asked.answer(verdict, statement, remedy=remedy, where=where)


def _counting_unit(about: _Units) -> Finding:
    asked = Question(
        "counting-unit",
        "Does it matter whether code points or what readers see is counted?",
        f"Unicode Standard Annex #29; {PAPER}, appendix",
    )
    whole = about.rows.first("inflation", {"system": "", "language": "", "unit_of_length": about.unit})
    if early := _not_for(asked, about, whole is None, whole):
        return early
    if whole is None or whole.undefined:
        reason = whole.undefined if whole is not None else "it was not counted"
        return asked.answer("not_applicable", f"There is nothing to count: {reason}.", where=[whole])
    naive = str(whole.keys["against"])
    systems = [
        row
        for row in about.rows.all("inflation", {"language": "", "unit_of_length": about.unit, "against": naive})
        if row.keys["system"] and not row.undefined
    ]
    counted = f"Counting {_NAMES[naive]} in place of {_NAMES[about.unit]}"
    remedy = "Count grapheme clusters, and name the unit beside every length."
    if len(systems) < 2:
        verdict: Verdict = "warn" if whole.estimate > MOST_INFLATED else "pass"
        statement = f"{counted} makes lengths {_more(whole.estimate)}."
        return asked.answer(verdict, statement, remedy=_if(verdict, remedy), where=[whole])
    least, most = (pick(systems, key=lambda row: row.estimate) for pick in (min, max))
    statement = (
        f"{counted} makes lengths {_more(whole.estimate)} overall, from {_more(least.estimate)} "
        f"({least.keys['system']}) to {_more(most.estimate)} ({most.keys['system']})"
    )
    turned = [row for row in _in_languages(about, "n_reversed", naive) if row.estimate > 0]
    beyond = [row for row in _in_languages(about, "n_reversed_beyond_chance", naive) if row.estimate > 0]
    where = [whole, least, most, *(beyond or turned)[:4]]
    if beyond:
        statement += f". It reverses the order of {_pairs(beyond)}, more than chance explains."
        return asked.answer("fail", statement, remedy=remedy, where=where)
    if turned:
        statement += (
            f". It reverses the order of {_pairs(turned)}, which chance may explain: a difference is not shown in both "
            "units."
        )
        return asked.answer("warn", statement, remedy=remedy, where=where)
    statement += f"; the order of the {len(systems)} systems is the same."
    verdict = "warn" if most.estimate - least.estimate > MOST_INFLATED else "pass"
    return asked.answer(verdict, statement, remedy=_if(verdict, remedy), where=where)


def _retry_rule(about: _Units) -> Finding:
    asked = Question("retry-rule", "Does asking for any character above U+007F make sure of an emoji?", PAPER)
    passing, worst = about.whole("n_passing_without_emoji"), about.worst("share_passing_without_emoji")
    lenient = about.worst("share_passing_without_emoji", about.lenient)
    asked_again = about.whole("n_without", "non_ascii_character")
    if early := _not_for(asked, about, about.unit not in OF_EMOJI, passing):
        return early
    if passing is None or worst is None or lenient is None or asked_again is None:
        return asked.answer("undetermined", "There are no outputs.")
    where = [passing, asked_again, worst, lenient]
    again = f"The rule would ask {_things(asked_again.estimate, 'output')} again"
    if passing.estimate == 0:
        return asked.answer("pass", f"{again} and lets none without an emoji pass.", where=where)
    seen = f" ({passing.note})" if passing.note else ""
    statement = (
        f"{again} and lets {show_number(passing.estimate)} pass that have no emoji{seen}{_most(worst)}"
        f"{_also(about, worst, lenient)}."
    )
    verdict: Verdict = "fail" if lenient.estimate > MOST_PASSING else "warn"
    remedy = "Accept a reply by what it must hold: emoji, counted as grapheme clusters."
    return asked.answer(verdict, statement, remedy=remedy, where=where)


def _residue(about: _Units) -> Finding:
    asked = Question("residue", "Do the outputs hold anything but emoji?")
    whole, worst = about.whole("share_with_residue"), about.worst("share_with_residue")
    lenient = about.worst("share_with_residue", about.lenient)
    if early := _not_for(asked, about, about.unit not in OF_EMOJI, whole):
        return early
    if whole is None or worst is None or lenient is None:
        return asked.answer("undetermined", "There are no outputs.")
    where = [whole, worst, lenient]
    if whole.estimate == 0:
        return asked.answer("pass", "No output holds anything but emoji and white space.", where=where)
    seen = f" ({whole.note})" if whole.note else ""
    statement = (
        f"{share(whole.estimate)} of the outputs hold something beside {_NAMES[about.unit]}{seen}"
        f"{_most(worst)}{_also(about, worst, lenient)}."
    )
    verdict: Verdict = "fail" if lenient.estimate > MOST_RESIDUE else "warn"
    remedy = "Say whether it is left out before systems are compared; a decoder of emoji does not see it, a rater does."
    return asked.answer(verdict, statement, remedy=remedy, where=where)


def _not_for(asked: Question, about: _Units, is_other_unit: bool, row: Row | None) -> Finding | None:
    """Return the answer where outputs are no texts, are not meant to be emoji, or hardly ever hold one."""
    if about.unit == "length":
        return asked.answer("not_applicable", _NO_TEXTS)
    if is_other_unit:
        statement = f"The outputs are counted in {_NAMES[about.unit]}: the question is one about emoji and graphemes."
        return asked.answer("not_applicable", statement)
    without = about.whole("share_without", about.lenient)
    if about.unit in OF_EMOJI and without is not None and without.estimate > MOSTLY_WITHOUT:
        statement = f"{share(without.estimate)} of the outputs have no emoji: they are texts of another kind."
        remedy = "Name the unit that they are to be counted in."
        return asked.answer("not_applicable", statement, remedy=remedy, where=[without, row])
    return None


def _in_languages(about: _Units, statistic: str, naive: str) -> list[Row]:
    return about.rows.all(statistic, {"unit_of_length": about.unit, "against": naive})


def _pairs(rows: Sequence[Row]) -> str:
    """Return the pairs of systems that the rows name, with the language where it is one."""
    return listed(
        [f"{row.note}{f' in {language}' if (language := row.keys.get('language', '')) else ''}" for row in rows]
    )


def _most(worst: Row) -> str:
    """Return which system has the largest share, and its interval."""
    told = share(worst.estimate)
    if worst.low is not None and worst.high is not None:
        told += f"; {percent(worst.confidence)} interval {share(worst.low)} to {share(worst.high)}"
    system = worst.keys.get("system", "")
    return f", most often {system} ({told})" if system else f" ({told})"


def _also(about: _Units, worst: Row, lenient: Row) -> str:
    """Return what becomes of the worst share where text presentation counts as well."""
    if about.lenient == about.unit or lenient.estimate == worst.estimate:
        return ""
    return f"; of no system above {share(lenient.estimate)} once emoji that are shown as text count"


def _more(inflation: float) -> str:
    return f"{share(inflation)} longer" if inflation > 0 else "no longer"


def _are(n: float, name: str = "") -> str:
    """Return "no output is", "1 output is", "2 outputs are", or without the name "none is" and so on."""
    if n == 0:
        return f"no {name} is" if name else "none is"
    told = _things(n, name) if name else show_number(n)
    return f"{told} {'is' if n == 1 else 'are'}"


def _things(n: float, name: str) -> str:
    return f"{show_number(n)} {name}{'' if n == 1 else 's'}"


def _if(verdict: Verdict, remedy: str) -> str:
    return "" if verdict == "pass" else remedy
