"""Protocol cards: for each system what it is, what its engine can do, what was sent to it, which tokens are answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from measurand.reporting.blocks import Block, Bullets, Cell, Column, Fold, Table, Terms, Text, name_cell
from measurand.reporting.cells import without_empty
from measurand.reporting.elicitation_counts import MOST_OPEN
from measurand.reporting.elicitation_readouts import MOST_ANSWERS, quoted
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.words import begin, joined
from measurand.result.words import called, clean, plural, shorten

#: Cards and their parts that a page holds; protocol.json has them all.
_MOST_CARDS: Final = 40
_MOST_FAILURES: Final = 12
_MOST_TABLES: Final = 12
_KNOWN: Final[dict[bool | None, str]] = {True: "yes", False: "no", None: "nobody has looked"}
_SHOWN_BY: Final = {
    "exact": "the probability of every token",
    "top_k": "the probabilities of the likeliest tokens alone",
    "none": "no probabilities",
}
#: What of an identity a card names in front, and how; all of it is folded below.
_IN_FRONT: Final = {
    "served_model": "Served as",
    "server": "Server",
    "gguf": "File",
    "dtype": "Type of the weights",
    "head_dtype": "Type of the rows that answers are read from",
    "attention": "Attention",
    "device": "Device",
    "bos": "Token that begins a prompt",
    "thinking": "Reasoning",
    "chat_template_sha256": "Chat template (SHA-256)",
    "template_options": "Template options",
    "is_fake": "Fake",
}


def cards(view: Elicitation) -> list[Block]:
    """Return a table of all systems, and a card for each of them."""
    if not view.cards:
        return []
    blocks: list[Block] = []
    if len(view.cards) > 1:
        table = _overview(view)
        n = len(view.cards)
        blocks.append(Fold(f"{n} systems at a glance", [table]) if n > MOST_OPEN else table)
    shown = view.cards[:_MOST_CARDS]
    for card in shown:
        name = called(shorten(card.get("system", ""), 60))
        how = " · ".join(part for part in (shorten(card.get("model", ""), 60), clean(card.get("engine", ""))) if part)
        stopped = " · stopped" if card.get("stopped") else ""
        blocks.append(Fold(f"{name}: {how}{stopped}", list(_card(card)), is_open=len(view.cards) == 1))
    if len(view.cards) > len(shown):
        blocks.append(Text(f"… and {len(view.cards) - len(shown)} more cards in protocol.json.", small=True))
    return blocks


def _overview(view: Elicitation) -> Table:
    rows = []
    for card in view.cards:
        proofs = card.get("proofs", ())
        passed = sum(bool(one.get("passed")) for one in proofs)
        abilities = card.get("abilities", {})
        requests = card.get("requests", {})
        top = abilities.get("top_k")
        kind = str(abilities.get("distribution", ""))
        rows.append(
            [
                name_cell(card.get("system", "")),
                Cell(shorten(card.get("model", ""), 40), title=clean(card.get("model", "")), is_name=True),
                Cell(clean(card.get("engine", ""))),
                Cell(clean(card.get("dtype", "")) or "–"),
                Cell({"exact": "every token", "top_k": f"likeliest {top}", "none": "none"}.get(kind, clean(kind))),
                Cell(f"{passed} of {len(proofs)}" if proofs else "none made"),
                Cell(f"{requests.get('answered', 0):,} of {requests.get('total', 0):,}"),
            ]
        )
    columns = [Column("System"), Column("Model"), Column("Engine"), Column("Precision"), Column("Probabilities")]
    columns += [Column("Tests passed"), Column("Requests answered")]
    return without_empty("Systems at a glance", columns, rows, [])


def _card(card: Mapping[str, Any]) -> Iterator[Block]:
    identity: Mapping[str, str] = card.get("identity", {})
    requests = card.get("requests", {})
    proofs = card.get("proofs", ())
    failed = [one for one in proofs if not one.get("passed")]
    tests = "none made"
    if proofs:
        tests = (
            f"{len(failed)} of {plural(len(proofs), 'test')} failed"
            if failed
            else f"{plural(len(proofs), 'test')} passed"
        )
    front = [(words, identity[key]) for key, words in _IN_FRONT.items() if identity.get(key) not in (None, "", "{}")]
    pairs = [
        ("Model", card.get("model", "")),
        ("Revision", card.get("revision", "")),
        ("Engine", card.get("engine", "")),
        ("Address", card.get("url", "")),
        ("Reasoning asked for", {"off": "off", "default": "as the template has it"}.get(card.get("thinking", ""), "")),
        *front,
        ("Requests answered", f"{requests.get('answered', 0):,} of {requests.get('total', 0):,}"),
        ("Tests of the engine", tests),
        ("Price", _price(card.get("price", {}))),
        ("Hash of everything that determines an answer", card.get("digest", "")),
    ]
    yield Terms([(clean(name), shorten(value, 300)) for name, value in pairs if value])
    if card.get("stopped"):
        yield Text(f"Nothing more could be asked: {shorten(card['stopped'], 600)}")
    if failures := card.get("failures", {}):
        ordered = sorted(failures.items(), key=lambda one: -one[1])
        told = [f"{n:,} times: {shorten(reason, 300)}" for reason, n in ordered[:_MOST_FAILURES]]
        more = [f"… and {len(ordered) - len(told)} more reasons"] if len(ordered) > len(told) else []
        yield Text("Requests without an answer:")
        yield Bullets([*told, *more])
    if failed:
        yield Bullets([f"{clean(one.get('check', ''))}: {shorten(one.get('statement', ''), 400)}" for one in failed])
    yield _abilities(card.get("abilities", {}))
    if decoding := card.get("decoding", {}):
        yield _sent(decoding)
    for readout, tables in card.get("answer_tokens", {}).items():
        yield Fold(f"Answer tokens of {shorten(readout, 60)}", list(_tokens(tables)))
    if identity:
        whole = [(clean(name), shorten(value, 300)) for name, value in identity.items()]
        yield Fold("Identity: everything but the prompt that determines an answer", [Terms(whole, is_code=True)])


def _price(price: Mapping[str, Any]) -> str:
    if not any(price.get(side) for side in ("input", "output", "cached")):
        return "none declared"
    told = [
        f"{price[side]:g} {words}"
        for side, words in (("input", "in"), ("cached", "in from a cache"), ("output", "out"))
        if price.get(side) is not None
    ]
    return f"{clean(price.get('currency', ''))} {', '.join(told)} for {price.get('per', 0):,} tokens"


def _abilities(abilities: Mapping[str, Any]) -> Table:
    notes = dict(abilities.get("notes", {}))
    kind = str(abilities.get("distribution", ""))
    shows = _SHOWN_BY.get(kind, clean(kind))
    if abilities.get("top_k") is not None:
        shows += f": {abilities['top_k']}"
    rows = [[Cell("Shows"), Cell(shows), Cell(shorten(notes.pop("distribution", notes.pop("logprobs", "")), 300))]]
    for name, words in (
        ("images", "Sees pictures"),
        ("prefill", "Continues a started turn"),
        ("seed", "Takes a seed"),
    ):
        rows.append([Cell(words), Cell(_KNOWN[abilities.get(name)]), Cell(shorten(notes.pop(name, ""), 300))])
    rows += [
        [Cell(begin(clean(name)).replace("_", " ")), Cell(""), Cell(shorten(note, 300))] for name, note in notes.items()
    ]
    columns = [Column("Ability"), Column("Found"), Column("In words")]
    return without_empty("What the engine can do, as found out", columns, rows, [])


def _sent(decoding: Mapping[str, Mapping[str, str]]) -> Table:
    settings = list(dict.fromkeys(name for of in decoding.values() for name in of))
    columns = [Column("Setting"), *(Column(shorten(readout, 30), is_name=True) for readout in decoding)]
    rows = [
        [Cell(clean(name)), *(Cell(shorten(of.get(name, ""), 200) or "–") for of in decoding.values())]
        for name in settings
    ]
    return Table("Decoding: what was sent", columns, rows)


def _tokens(tables: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Return one table for each answer set; contexts that share a set share the table."""
    by: dict[str, tuple[list[tuple[str, str, str]], list[str]]] = {}
    for one in tables:
        prefill = f"behind {quoted(one['prefill'])}" if one.get("prefill") else "without a prefill"
        for rows in _sets(one.get("answers", {})):
            by.setdefault(json.dumps(rows), (rows, []))[1].append(prefill)
    for rows, contexts in list(by.values())[:_MOST_TABLES]:
        where = joined(list(dict.fromkeys(contexts))[:_MOST_TABLES])
        cells_ = [[name_cell(label), Cell(spelled), Cell(left)] for label, spelled, left in rows[:MOST_ANSWERS]]
        more = [f"… and {len(rows) - len(cells_)} more answers in protocol.json."] if len(rows) > len(cells_) else []
        columns = [Column("Answer"), Column("Counted (token ids where they are visible)"), Column("Left out")]
        yield without_empty(begin(where), columns, cells_, more)
    if len(by) > _MOST_TABLES:
        yield Text(f"… and {len(by) - _MOST_TABLES} more answer sets in protocol.json.", small=True)


def _sets(answers: Mapping[str, Any]) -> list[list[tuple[str, str, str]]]:
    """Return the answer sets that an engine told, each as label, counted spellings and those left out."""
    labels = answers.get("labels")
    if isinstance(labels, Mapping):
        # A set of texts, the same behind every prompt; or texts for each prefill.
        of_each = [labels] if answers.get("by") == "text" else list(labels.values())
        return [[(label, _spelled(forms), "") for label, forms in of.items()] for of in of_each]
    return [_of_rows(rows) for rows in answers.values() if isinstance(rows, Sequence) and not isinstance(rows, str)]


def _spelled(forms: Any) -> str:
    texts = forms.get("forms", ()) if isinstance(forms, Mapping) else forms
    return shorten(", ".join(json.dumps(str(text), ensure_ascii=False) for text in texts), 900)


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    counted: dict[str, list[str]] = {}
    left: dict[str, list[str]] = {}
    for row in rows:
        label = str(row.get("label", ""))
        text = json.dumps(str(row.get("text", "")), ensure_ascii=False)
        ids = " ".join(str(one) for one in row.get("ids", ()))
        counted.setdefault(label, [])
        if row.get("kind") == "left_out":
            left.setdefault(label, []).append(f"{text} ({ids}): {row.get('reason', '')}")
        else:
            less = ", less longer ones" if row.get("subtracted") else ""
            counted[label].append(f"{text} ({ids}{less})")
    return [
        (label, shorten(", ".join(found), 900), shorten("; ".join(left.get(label, ())), 600))
        for label, found in counted.items()
    ]
