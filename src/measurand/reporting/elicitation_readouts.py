"""What all systems were asked: items, criteria, every readout with its wordings; the words used, the references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from measurand.reporting.blocks import Block, Cell, Column, Fold, Part, Terms, Text, name_cell
from measurand.reporting.cells import without_empty
from measurand.reporting.elicitation_counts import MOST_OPEN
from measurand.reporting.elicitation_view import Elicitation, one_line
from measurand.reporting.words import begin, joined
from measurand.result import show_number
from measurand.result.words import called, clean, plural, shorten

_MOST_NAMED: Final = 60
MOST_ANSWERS: Final = 60


def shared(view: Elicitation) -> list[Block]:
    """Return what all systems of a study were asked: items, criteria, and every readout in full."""
    if not view.readouts and not view.study:
        return []
    study = view.study
    controls = [f"{clean(name)} ({plural(int(n), 'item')})" for name, n in study.get("controls", {}).items()]
    scale = [f"{clean(name)}: {clean(words)}" for name, words in study.get("scale", {}).items()]
    pairs = [
        ("Items", show_number(study.get("n_items", 0))),
        ("Criteria", _names(study.get("criteria", ()))),
        ("Permitted ratings", "; ".join(scale[:MOST_ANSWERS])),
        ("Times that the same is asked", show_number(study.get("repeats", 1))),
        ("Controls", joined(controls) or "none"),
        ("Made from the answers", joined([clean(name).replace("_", "-") for name in study.get("derived", ())])),
        ("Seed", show_number(study.get("seed", 0))),
    ]
    blocks: list[Block] = [
        Text(
            "Everything that a second laboratory needs to ask the same; protocol.json has it for machines, letter by "
            "letter. ↵ stands for a line break."
        ),
        Terms([(name, value) for name, value in pairs if value]),
    ]
    examples = {str(one.get("readout")): one for card in view.cards[:1] for one in card.get("example", ())}
    for number, readout in enumerate(view.readouts, start=1):
        name = str(readout.get("name"))
        parts = [*_readout(readout), *_example(examples.get(name))]
        blocks.append(Part(f"readout-{number}", f"Readout {called(shorten(name, 60))}", 3, parts))
    return blocks


def _names(names: Sequence[object]) -> str:
    shown = [shorten(name, 40) for name in names[:_MOST_NAMED]]
    return joined(shown + ([f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []))


def quoted(text: object) -> str:
    """Return a text that was sent between quotation marks, on one line; a word for none."""
    return f"“{one_line(text)}”" if str(text) else "none"


def _readout(readout: Mapping[str, Any]) -> Iterator[Block]:
    yield Text(f"{begin(clean(readout.get('read', '')))}. Version {clean(readout.get('version', ''))}.")
    wordings = [
        [
            name_cell(one.get("name", "")),
            Cell(one_line(one.get("question", ""))),
            Cell("yes means absent" if one.get("negated") else ""),
        ]
        for one in readout.get("phrasings", ())
    ]
    columns = [Column("Wording"), Column("Text"), Column("Negated")]
    table = without_empty("Wordings", columns, wordings, [])
    yield Fold(plural(len(wordings), "wording"), [table]) if len(wordings) > MOST_OPEN else table
    prefills = readout.get("prefills", [readout.get("prefill", "")])
    answers = readout.get("answers", {})
    told = [f"{shorten(label, 40)}: {_names(words)}" for label, words in list(answers.items())[:MOST_ANSWERS]]
    pairs = [
        ("Start of the answer's turn (prefill)", joined([quoted(one) for one in prefills])),
        ("Instructions before the item", quoted(readout.get("instructions", ""))),
        ("System message", quoted(readout.get("system_message", ""))),
        ("Answers", "; ".join(told)),
        ("Orders of the options", show_number(readout["orders"]) if "orders" in readout else ""),
        ("Accepted", _rule(readout["rule"]) if "rule" in readout else ""),
        ("Retries", _retry(readout["retry"]) if "retry" in readout else ""),
        ("Decoding as declared", _decoding(readout.get("decoding", {}))),
    ]
    yield Terms([(name, value) for name, value in pairs if value])


def _rule(rule: Mapping[str, Any]) -> str:
    """Return in words which replies are accepted.

    Examples
    --------
    >>> _rule({"unit": "grapheme", "least": 1}), _rule({"unit": "emoji", "least": 1, "most": 5, "only": True})
    ('at least 1 grapheme, whatever stands beside them', '1 to 5 emojis, and nothing else')
    """
    if "unit" in rule:
        if rule.get("beyond_ascii"):
            return "any reply with a character beyond ASCII (above U+007F)"
        least, most = rule.get("least"), rule.get("most")
        unit = clean(rule["unit"])
        much = f"{least} to {plural(most, unit)}" if least is not None and most is not None else ""
        much = much or (f"at least {plural(least, unit)}" if least is not None else "")
        much = much or (f"at most {plural(most, unit)}" if most is not None else f"any number of {unit}s")
        return f"{much}, {'and nothing else' if rule.get('only') else 'whatever stands beside them'}"
    n, most = rule.get("n_pairs"), rule.get("most_nonzero")
    example = rule.get("example", ())
    told = [
        "a rating of every criterion" if rule.get("keys") == "all" else "ratings of any of the criteria",
        f"exactly {plural(n, 'rating')}" if n is not None else "",
        "zeros allowed" if rule.get("zeros") else "no zeros",
        f"at most {plural(most, 'rating')} other than 0" if most is not None else "",
        "keys, types, range and duplicates are checked before a reply is accepted"
        if rule.get("is_strict")
        else "pairs are counted and zeros looked for, no more",
        "JSON in a code fence or among words is read, as repaired" if rule.get("repairs") else "nothing is repaired",
        f"the example names {_names(example)}, all others are not asked" if example else "",
    ]
    return "; ".join(part for part in told if part)


def _retry(retry: Mapping[str, Any]) -> str:
    n = int(retry.get("attempts", 1))
    if n == 1:
        return "none"
    note = retry.get("note", "")
    said = f"{quoted(note)} is said from the second one on" if note else "the same request is sent again"
    how = "with the failed reply shown" if retry.get("shows_reply") else "every attempt starts anew"
    return f"up to {n} attempts; {said}; {how}"


def _decoding(values: Mapping[str, Any]) -> str:
    told = [
        f"{clean(name)} {shorten(json.dumps(value, ensure_ascii=False), 200)}"
        for name, value in values.items()
        if value not in (None, [])
    ]
    return ", ".join(told)


def _example(example: Mapping[str, Any] | None) -> list[Block]:
    if example is None:
        return []
    pairs = [
        (words, one_line(example[key]))
        for key, words in (
            ("system", "System message"),
            ("picture", "Picture"),
            ("user", "User's message"),
            ("prefill", "Start of the answer's turn"),
        )
        if example.get(key)
    ]
    return [Fold("The messages of the first request", [Terms(pairs, is_code=True)])]


WORDS: Final = (
    ("readout", "how an answer is taken from a system: generated, or read from its probabilities"),
    (
        "wording, phrasing",
        "one text of a question; a negated one asks for the opposite, and its answers are turned round",
    ),
    ("prefill", "the start of the system's own turn, which it continues"),
    ("arm", "one system under one readout, wording, prefill and control"),
    ("answer mass", "the probability of all permitted answers together where the answer was read"),
    ("log-odds", "the logarithm of the probability of yes over that of no"),
    ("control", "an arm that was shown a blank or another item, so that its answers cannot be about the item"),
    ("not returned, not asked", "a reply left a criterion out; the prompt never named it. Neither is a 0"),
    ("bounds", "where an engine shows its likeliest tokens alone, a probability is known between two values"),
    ("acquiescence", "a tendency to say yes whatever is asked"),
    ("interval", "the range that the data are compatible with, at the level stated; each says what was redrawn"),
)
METHODS: Final = (
    "Verification: P(yes) over P(yes) + P(no) at the first answer position of one forward pass, tokens told apart by "
    "whole answers; answer mass, single-answer gap: Hallmen, Deuser, Kampa, Oswald & André 2026, arXiv 2610.08162, "
    "section 3.",
    "Shares of the variation of log-odds: sums of squares of items, of questions and of the rest, over their total; "
    "items with all answers; percentile bootstrap, items redrawn.",
    "Yes excess: mean over items of yes to a statement plus yes to its opposite, less 1; percentile bootstrap, items "
    "redrawn.",
    "All other numbers describe the requests of this run and have no sampling error of their own.",
)
