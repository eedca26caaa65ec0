"""Findings about cost: does the unit decide who is dearer, what is no output, do dearer systems do better?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from measurand.probing.questions import MOST, Answer, Question, Rows, by_system, why
from measurand.result import Finding, Key, Result, Row, Verdict
from measurand.sentences import listed, share, short, show_p, spread_of

ALPHA: Final = 0.05
#: Share of the prompt tokens that is template, above which rates per character are no rates of the text.
MOST_TEMPLATE: Final = 0.2
#: Share of a system's completion tokens that is reasoning, from which on they are no measure of what it wrote.
LEAST_REASONING: Final = 0.01
#: Completion tokens per emitted unit over their median, from which on unreported reasoning is likely.
SUSPICIOUS: Final = 10.0

PAPER: Final = "Sakhawat 2026, arXiv 2609.29445, section 8"
_UNITS: Final = ("byte", "character", "grapheme", "word")
_QUALITY: Final = "_spearman"
_PER_UNIT: Final[Mapping[str, Key]] = {"per": "emitted_unit", "net_of_template": "no"}
_WRONG: Final[tuple[Verdict, ...]] = ("fail", "warn", "undetermined")
_SOURCES: Final = "Add source_text to the outputs, or source_bytes and source_chars."
#: Distance from 1 up to which a ratio is 1 but for rounding.
_DUST: Final = 1e-9
_MORE: Final = "{} more are in the rows."


class _Cost(Rows):
    """The rows of `cost`."""

    def __init__(self, result: Result) -> None:
        super().__init__(row for row in result.rows if row.analysis == "cost")
        self.base = str(result.settings.get("cost", {}).get("base_language", ""))
        named = [one for one in self.values("language") if one]
        #: Where all items are together: the blank language, or the only one.
        self.together = named[0] if named and not self.all("emitted_units", {"language": ""}) else ""
        self.named = named or [""]

    def why(self, *statistics: str) -> str:
        """Return why a statistic is undefined, the first reason that there is."""
        return why(self.first_undefined(*statistics))

    def by_system(self, statistic: str, keys: Mapping[str, Key] | None = None) -> dict[str, Row]:
        """Return the defined numbers of single systems, all items together."""
        found = self.defined(statistic, {"language": self.together, **(keys or {})})
        return by_system(row for row in found if row.keys.get("system"))


def cost_findings(result: Result) -> list[Finding]:
    """Return the findings about cost.

    Parameters
    ----------
    result : Result
        Of `measurand.probing.cost.cost`.

    Returns
    -------
    list of Finding
        ``cost-sign-depends-on-unit``
            Is a language cheaper than the base language by one unit of source and dearer by another? A side is called
            only where the interval of prompt tokens' parity leaves out 1. fail: cheaper by one unit and dearer by
            another; warn: on one side by some, and by another the estimate alone lies on the other side; pass: on one
            side by some and the estimates of all on that side, or the same by all; undetermined: a difference is shown
            by no unit. Units are byte, character, grapheme and word, with the template and net of it.
        ``template-in-ratios``
            How much of the prompt tokens is the template, which every item costs alike? warn: more than
            `MOST_TEMPLATE` in some language.
        ``reasoning-in-completion``
            Do completion tokens hold reasoning? fail: in some systems, and not all, at least `LEAST_REASONING` of them
            are, and who has the fewest per emitted unit is another system without it; warn: they are, but the first
            place stays, or reasoning is not reported and a system's completion tokens per emitted unit are more than
            `SUSPICIOUS` times the median; pass: otherwise.
        ``cost-predicts-quality``
            Do dearer systems do better? pass: shown by some count of tokens per output (Holm's p below `ALPHA`,
            positive); fail: shown that they do worse; warn: only the number of emitted units goes with quality;
            undetermined: nothing is shown. Tokens per emitted unit are no part of it: they are divided by the length.

    Examples
    --------
    >>> from measurand.probing.cost import cost
    >>> from measurand.simulate import simulate_outputs
    >>> found = cost_findings(cost(simulate_outputs(n_raters=0, truth_draws=0).outputs))
    >>> [(one.id, one.verdict) for one in found[:2]]
    [('cost-sign-depends-on-unit', 'fail'), ('template-in-ratios', 'warn')]
    """
    rows = _Cost(result)
    questions: Sequence[Callable[[_Cost], Finding]] = (_sign, _template, _reasoning, _quality)
    return [question(rows) for question in questions] if rows else []


def _sign(rows: _Cost) -> Finding:
    asked = Question("cost-sign-depends-on-unit", "Does the unit decide which language is the dearer one?", PAPER)
    others = [one for one in rows.named if one and one != rows.base]
    if not rows.base or not others:
        return asked.answer("not_applicable", "There is one language: nothing to compare.")
    if not rows.all("prompt_tokens_parity"):
        return asked.answer("not_applicable", f"Not applicable: {rows.why('prompt_tokens')}.")
    answers = [_sign_of(rows, language) for language in others]
    remedy = (
        "Say the unit with every price of a language: tokens per code point with the bytes per code point beside them, "
        "net of the template; for texts that say the same, tokens per text."
    )
    return asked.over(answers, remedies=dict.fromkeys(_WRONG, remedy), more=_MORE)


def _sign_of(rows: _Cost, language: str) -> Answer:
    keys: dict[str, Key] = {"system": "", "language": language, "against": rows.base}
    found = [
        row
        for net in ("no", "yes")
        for per in _UNITS
        if (row := rows.first_defined("prompt_tokens_parity", keys | {"per": per, "net_of_template": net})) is not None
    ]
    if len({row.keys["per"] for row in found}) < 2:
        known = f"known per {_unit(found[0])} alone" if found else "known by no unit"
        return Answer("undetermined", f"{language}: {known}; two units are needed.", _SOURCES, found)
    if not (sure := [row for row in found if _side(row)]):
        return _no_side(language, rows.base, found)
    if not _apart(sure):
        return _one_side(language, rows.base, found)
    gross = [row for row in sure if row.keys["net_of_template"] == "no"]
    net = [row for row in found if row.keys["net_of_template"] == "yes"]
    told = gross if _apart(gross) else sure
    low, high = ([row for row in told if (row.estimate < 1) == is_low] for is_low in (True, False))
    statement = f"In prompt tokens {language} is cheaper than {rows.base} {_told(low)} and dearer {_told(high)}"
    widths = [
        rows.first_defined("bytes_per_character", {"system": "", "language": one}) for one in (language, rows.base)
    ]
    if widths[0] is not None and widths[1] is not None:
        statement += (
            f"; it has {short(widths[0].estimate)} bytes per code point, {rows.base} {short(widths[1].estimate)}"
        )
    statement += "."
    if told is gross and net:
        statement += f" Net of the template: {listed([_rate(row) for row in net])}."
    return Answer("fail", statement, where=[*found, *widths])


def _no_side(language: str, base: str, found: Sequence[Row]) -> Answer:
    """Return the answer where no interval leaves out 1."""
    if all(row.low is not None and row.high is not None and row.high - row.low <= _DUST for row in found):
        return Answer(
            "pass", f"{language} and {base} cost the same prompt tokens by every unit of source.", where=found
        )
    statement = f"Between {language} and {base} no difference in prompt tokens is shown by any unit: {_told(found)}."
    return Answer("undetermined", statement, "Call neither language the dearer one: more items would tell.", found)


def _one_side(language: str, base: str, found: Sequence[Row]) -> Answer:
    """Return the answer where intervals leave out 1 on one side alone."""
    sure, open_ = ([row for row in found if bool(_side(row)) is one] for one in (True, False))
    word = "dearer" if _side(sure[0]) > 0 else "cheaper"
    if not open_:
        statement = f"{language} is {word} than {base} by every unit of source, in prompt tokens {_told(found)}."
        return Answer("pass", statement, where=found)
    statement = (
        f"In prompt tokens {language} is {word} than {base} {_told(sure)}; no difference is shown {_told(open_)}."
    )
    return Answer("warn" if _apart(found) else "pass", statement, where=found)


def _side(row: Row) -> int:
    """Return 1 where a language is dearer, -1 where it is cheaper, and 0 where the interval does not leave out 1."""
    if row.low is None or row.high is None:
        return 0
    return int(row.low > 1 + _DUST) - int(row.high < 1 - _DUST)


def _apart(found: Sequence[Row]) -> bool:
    """Whether some rates are below 1 and others above."""
    return any(row.estimate < 1 for row in found) and any(row.estimate > 1 for row in found)


def _rate(row: Row) -> str:
    return f"{short(row.estimate)} per {_unit(row)}"


def _unit(row: Row) -> str:
    """Return what the source is counted in, as readers have it."""
    return "code point" if row.keys["per"] == "character" else str(row.keys["per"])


def _told(found: Sequence[Row]) -> str:
    """Return rates with their units as a list: per byte (0.63 times, 0.59 to 0.68)."""
    parts = []
    for row in found:
        net = " net of the template" if row.keys["net_of_template"] == "yes" else ""
        spread = f", {spread_of(row)}" if row.low is not None else ""
        parts.append(f"per {_unit(row)}{net} ({short(row.estimate)} times{spread})")
    return listed(parts, most=3)


def _template(rows: _Cost) -> Finding:
    asked = Question("template-in-ratios", "How much of the prompt tokens is the template?", PAPER)
    if not rows.all("prompt_tokens", {"per": "output"}):
        return asked.answer("not_applicable", f"Not applicable: {rows.why('prompt_tokens')}.")
    found = [row for language in rows.named if (row := _share_of(rows, language)) is not None]
    if not found:
        if not rows.all("template_share"):
            statement = "Not determined: neither characters nor bytes of the sources are known."
            remedy = "Add source_text, or source_chars, to the outputs."
        else:
            statement = f"Not determined: {rows.why('template_share')}."
            remedy = "Ask for prompts of different lengths, or count the tokens of the prompt without a source."
        return asked.answer("undetermined", statement, remedy=remedy)
    found.sort(key=lambda row: -row.estimate)
    answers = [_template_of(rows, row) for row in found]
    remedy = (
        "Report tokens net of the template, or subtract the tokens of the prompt without a "
        "source: with it, languages and corpora of short texts look dear."
    )
    return asked.over(answers, remedies=dict.fromkeys(_WRONG, remedy), more=_MORE)


def _share_of(rows: _Cost, language: str) -> Row | None:
    keys: dict[str, Key] = {"system": "", "language": language}
    shares = (rows.first_defined("template_share", keys | {"per": per}) for per in ("character", "byte"))
    return next((row for row in shares if row is not None), None)


def _template_of(rows: _Cost, row: Row) -> Answer:
    keys: dict[str, Key] = {"system": "", "language": row.keys["language"], "per": row.keys["per"]}
    size = rows.first_defined("template_tokens", keys)
    gross, net = (rows.first_defined("prompt_tokens", keys | {"net_of_template": one}) for one in ("no", "yes"))
    of = f"{row.keys['language']}: " if row.keys["language"] else ""
    spread = f" ({share(row.low)} to {share(row.high)})" if row.low is not None and row.high is not None else ""
    statement = f"{of}{share(row.estimate)}{spread} of the prompt tokens are the template"
    if size is not None:
        statement += f", {short(size.estimate)} for every item"
    if gross is not None and net is not None:
        statement += (
            f"; tokens per {_unit(row)} are {short(gross.estimate)} with it and {short(net.estimate)} net of it"
        )
    verdict: Verdict = "warn" if row.estimate > MOST_TEMPLATE else "pass"
    return Answer(verdict, f"{statement}.", where=[row, size, gross, net])


def _reasoning(rows: _Cost) -> Finding:
    asked = Question("reasoning-in-completion", "Do the completion tokens hold reasoning, which is no output?", PAPER)
    completion = rows.by_system("completion_tokens", _PER_UNIT)
    if not rows.all("completion_tokens", {"per": "output", "net_of_template": "no"}):
        return asked.answer("not_applicable", f"Not applicable: {rows.why('completion_tokens', 'prompt_tokens')}.")
    shares = rows.by_system("reasoning_share")
    visible = rows.by_system("visible_tokens", _PER_UNIT)
    reasoning = {one: row for one, row in shares.items() if row.estimate >= LEAST_REASONING}
    remedy = "Compare systems on visible tokens, and report reasoning tokens apart: they are a setting of the system."
    if reasoning:
        most = max(reasoning.values(), key=lambda row: row.estimate)
        upto = "" if len(reasoning) == 1 else f" ({most.keys['system']})"
        statement = (
            f"In {len(reasoning)} of {_systems(len(shares))} ({listed(list(reasoning))}) completion tokens hold "
            f"reasoning, {'up to ' * bool(upto)}{share(most.estimate)} of them{upto}"
        )
        where: list[Row | None] = list(reasoning.values())
        both = [one for one in completion if one in visible]
        if len(both) > 1:
            last = max(both, key=lambda one: completion[one].estimate)
            where += [completion[last], visible[last]]
            statement += (
                f"; {last} has the most per emitted unit, {short(completion[last].estimate)}, of which "
                f"{short(visible[last].estimate)} are visible"
            )
            first, apart = (min(both, key=lambda one: table[one].estimate) for table in (completion, visible))
            if first != apart:
                where += [completion[first], visible[apart]]
                statement += f"; {first} has the fewest, but of visible ones {apart} has"
                return asked.answer("fail", f"{statement}.", remedy=remedy, where=where)
        return asked.answer("warn", f"{statement}.", remedy=remedy, where=where)
    odd = _suspicious({one: row for one, row in completion.items() if one not in shares})
    if odd:
        worst = max(odd, key=lambda row: row.estimate)
        statement = (
            f"Reasoning tokens of {listed([str(row.keys['system']) for row in odd])} are not known, and "
            f"{worst.keys['system']} has {short(worst.estimate)} completion tokens per emitted unit, more than "
            f"{SUSPICIOUS:g} times the median: reasoning is likely among them."
        )
        remedy = "Add reasoning_tokens from the bills or replies, or leave such systems out of comparisons of tokens."
        return asked.answer("warn", statement, remedy=remedy, where=odd)
    if not shares:
        statement = (
            f"Reasoning tokens are not reported, and no system is far above the others: {_range_of(completion)}."
        )
        return asked.answer("pass", statement, where=list(completion.values())[:MOST])
    unknown = [one for one in completion if one not in shares]
    rest = f" (not known of {listed(unknown)})" if unknown else ""
    statement = f"No system's completion tokens hold reasoning{rest}: {_range_of(completion)}."
    return asked.answer("pass", statement, where=list(shares.values())[:MOST])


def _systems(n: int) -> str:
    return f"{n} system{'' if n == 1 else 's'}"


def _suspicious(completion: dict[str, Row]) -> list[Row]:
    """Return systems far above the median of those whose reasoning is not known."""
    values = sorted(row.estimate for row in completion.values())
    if len(values) < 3:
        return []
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    return [row for row in completion.values() if row.estimate > SUSPICIOUS * middle]


def _range_of(completion: dict[str, Row]) -> str:
    values = [row.estimate for row in completion.values()]
    if not values:
        return "tokens per emitted unit are not known"
    if len(values) == 1:
        return f"{short(values[0])} tokens per emitted unit"
    return f"{short(min(values))} to {short(max(values))} tokens per emitted unit"


def _quality(rows: _Cost) -> Finding:
    asked = Question("cost-predicts-quality", "Do dearer systems do better?", PAPER)
    found = [row for row in rows if row.statistic.endswith(_QUALITY)]
    if not found:
        return asked.answer("not_applicable", "No measure of quality was given to hold costs against.")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((str(row.keys["against"]), str(row.keys.get("language", ""))), []).append(row)
    several = len({language for _, language in groups}) > 1
    answers = [
        _quality_of(of, f"{_in_words(name)}{f' in {language}' if several and language else ''}")
        for (name, language), of in groups.items()
    ]
    remedy = "With few systems a rank correlation is all but uninformative: show costs and quality of each system."
    return asked.over(answers, remedies=dict.fromkeys(_WRONG, remedy), more=_MORE)


def _quality_of(found: Sequence[Row], against: str) -> Answer:
    # Tokens per emitted unit are divided by the length, and so go with it whatever they cost.
    found = [row for row in found if row.keys["per"] == "output"]
    if not found:
        return Answer("undetermined", f"{against}: no cost of an output is known.")
    defined = [row for row in found if not row.undefined]
    if not defined:
        return Answer("undetermined", f"{against}: {found[0].undefined}.", where=found[:1])
    shown = [row for row in defined if row.p_adjusted is not None and row.p_adjusted < ALPHA]
    of_tokens = [row for row in shown if not row.statistic.startswith("emitted_units")]
    if of_tokens:
        row = max(of_tokens, key=lambda one: abs(one.estimate))
        word = "better" if row.estimate > 0 else "worse"
        statement = f"The dearer systems do {word} in {against}: {_correlated(row)}."
        return Answer("pass" if row.estimate > 0 else "fail", statement, where=defined)
    if shown:
        length = "longer" if shown[0].estimate > 0 else "shorter"
        statement = (
            f"No count of tokens is shown to go with {against}, but the number of emitted units does: "
            f"{_correlated(shown[0])}; {length} outputs may be preferred for their length (see the audit of length)."
        )
        return Answer("warn", statement, where=defined)
    row = max(defined, key=lambda one: abs(one.estimate))
    statement = f"No cost is shown to go with {against}; the strongest is {_correlated(row)}."
    return Answer("undetermined", statement, where=defined)


def _in_words(name: str) -> str:
    """Return the name of a measure of quality as a sentence has it."""
    return name.replace("`", "").replace("macro_f1", "macro-F1").replace("_", " ")


def _correlated(row: Row) -> str:
    what = row.statistic.removesuffix(_QUALITY).replace("_", " ")
    spread = f" ({spread_of(row)})" if row.low is not None else ""
    per = str(row.keys["per"]).replace("_", " ")
    return f"rank correlation {short(row.estimate)}{spread} with {what} per {per}, Holm's {show_p(row.p_adjusted)}"
