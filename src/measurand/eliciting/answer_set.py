"""The answer set closed by token ids: every sequence of tokens that spells an answer behind a rendered prompt."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from measurand.eliciting.labels import Labels
from measurand.result import MeasurandError

Ids = tuple[int, ...]


class Spelling(NamedTuple):
    """A sequence of tokens that spells a label.

    Parameters
    ----------
    text : str
        What it says.
    ids : tuple of int
        Its tokens, mostly one.
    kind : {"token", "encoded"}
        Whether it is a token of the vocabulary whose text is the label, or a spelling that was tokenised.
    """

    text: str
    ids: Ids
    kind: Literal["token", "encoded"]


class LeftOut(NamedTuple):
    """A spelling that does not count, with its tokens where it has some, and why."""

    label: str
    text: str
    ids: Ids
    reason: str


@dataclass(frozen=True)
class AnswerSet:
    """The sequences of tokens that spell each label; no two of them can be the start of one reply.

    Parameters
    ----------
    names : tuple of str
        The labels, in their order.
    spellings : tuple of tuple of Spelling
        Those of each label: none begins another of the same label, so that their probabilities add up.
    left_out : tuple of LeftOut
        What does not count.
    subtracted : mapping of ids to tuple of ids
        Numerals alone: to a sequence those of other labels that go on from it (1 and 10). The probability of a label is
        the sum over its sequences, each without the probabilities of what is named here:
        ``P(1) = P("1") - P("1", "0")``. Numbers outside the labels (15 where the labels end at 10) are not told apart
        from those that they begin with.
    """

    names: tuple[str, ...]
    spellings: tuple[tuple[Spelling, ...], ...]
    left_out: tuple[LeftOut, ...] = ()
    subtracted: Mapping[Ids, tuple[Ids, ...]] = field(default_factory=dict)

    @property
    def sequences(self) -> tuple[tuple[Ids, ...], ...]:
        """The token ids of each label's spellings, in the order of `names`."""
        return tuple(tuple(spelling.ids for spelling in spellings) for spellings in self.spellings)

    def table(self) -> list[dict[str, Any]]:
        """Return the set as JSON values.

        Returns
        -------
        list of dict
            A row for each spelling: `label`, `text`, `ids`, `kind` (``token``, ``encoded`` or ``left_out``),
            `subtracted` (sequences whose probabilities are taken off) and `reason` (why it is left out).
        """
        counted = [
            _row(name, spelling.text, spelling.ids, spelling.kind, subtracted=self.subtracted.get(spelling.ids, ()))
            for name, spellings in zip(self.names, self.spellings, strict=True)
            for spelling in spellings
        ]
        return counted + [_row(out.label, out.text, out.ids, "left_out", reason=out.reason) for out in self.left_out]


def _row(
    label: str, text: str, ids: Ids, kind: str, *, subtracted: Sequence[Ids] = (), reason: str = ""
) -> dict[str, Any]:
    return {
        "label": label,
        "text": text,
        "ids": list(ids),
        "kind": kind,
        "subtracted": [list(other) for other in subtracted],
        "reason": reason,
    }


def scan(labels: Labels, *, vocabulary: Sequence[str]) -> dict[str, Ids]:
    """Return the tokens that spell each label in whole, which are the same behind every prompt.

    Parameters
    ----------
    labels : Labels
        The answers.
    vocabulary : sequence of str, shape (n_tokens,)
        Text of each token id; blank for special tokens, which never count.

    Returns
    -------
    dict of str to tuple of int
        Label to token ids in rising order; empty where no single token spells it.

    Examples
    --------
    >>> scan(Labels({"yes": ("yes",), "no": ("no",)}), vocabulary=["no", " Yes", "not", "No.", "nope", "YES"])
    {'yes': (1, 5), 'no': (0, 3)}
    """
    # A label is looked for only in the tokens that begin as one of its words does, which are few.
    words = [word.strip().casefold() for words in labels.words.values() for word in words]
    beginnings = tuple({word.rstrip(string.punctuation) or word[:1] for word in words})
    found: dict[str, list[int]] = {name: [] for name in labels.names}
    for token, text in enumerate(vocabulary):
        if text.strip().casefold().startswith(beginnings) and (label := labels.of(text)):
            found[label].append(token)
    return {name: tuple(tokens) for name, tokens in found.items()}


def close(
    labels: Labels,
    *,
    vocabulary: Sequence[str],
    encode: Callable[[str], Ids | None],
    scanned: Mapping[str, Ids] | None = None,
) -> AnswerSet:
    """Return every sequence of tokens that spells a label behind one rendered prompt.

    Parameters
    ----------
    labels : Labels
        The answers.
    vocabulary : sequence of str, shape (n_tokens,)
        Text of each token id; blank for special tokens, which never count.
    encode : callable
        Gives the token ids that follow when a text is written behind the prompt; None if the prompt's own last tokens
        would change.
    scanned : mapping of str to tuple of int, optional
        What `scan` found, to scan once for many prompts.

    Returns
    -------
    AnswerSet
        Disjoint sequences: within a label, one that another begins is already counted and left out.

    Raises
    ------
    MeasurandError
        If no sequence spells a label, or one of a label's is, or begins, one of another label. Of numerals only the
        same sequence is refused.

    Notes
    -----
    With sequences s of a label, P(label) = sum over s of P(s), P(s) = product over i of P(s_i | prompt, s_1 … s_(i-1)).
    Two different sequences of tokens with one text (``yes`` as one token and as ``y`` + ``es``) are different events
    and both count; of the sequences of several tokens only the tokenizer's own is counted.

    Examples
    --------
    >>> vocabulary = ["yes", "no", " yes", "N", "O"]
    >>> pieces = {"yes": (0,), "no": (1,), " yes": (2,), "NO": (3, 4)}
    >>> closed = close(Labels({"yes": ("yes",), "no": ("no",)}), vocabulary=vocabulary, encode=pieces.get)
    >>> closed.sequences
    (((0,), (2,)), ((1,), (3, 4)))
    """
    tokens = scan(labels, vocabulary=vocabulary) if scanned is None else scanned
    spellings: list[tuple[Spelling, ...]] = []
    left_out: list[LeftOut] = []
    for name in labels.names:
        candidates = [Spelling(vocabulary[token], (token,), "token") for token in tokens[name]]
        for form in labels.forms(name):
            ids = encode(form)
            if reason := _reason_against(ids, form, labels, vocabulary):
                left_out.append(LeftOut(name, form, ids or (), reason))
            elif ids:
                candidates.append(Spelling(form, ids, "encoded"))
        kept, extended = _prefix_free(candidates)
        if not kept:
            reasons = "; ".join(dict.fromkeys(f"{out.text!r}: {out.reason}" for out in left_out if out.label == name))
            raise MeasurandError(
                f"no tokens spell the answer {name!r} behind this prompt ({reasons}); "
                "use other words for it, or a prefill that does not end in the middle of a word or in a space"
            )
        spellings.append(kept)
        left_out += (
            LeftOut(name, longer.text, longer.ids, f"already counted with {shorter.text!r}")
            for longer, shorter in extended
        )
    owned = [(name, spelling) for name, kept in zip(labels.names, spellings, strict=True) for spelling in kept]
    subtracted = _extensions(owned) if labels.are_numerals else {}
    for first, second in _overlaps(owned):
        if not labels.are_numerals or first[1].ids == second[1].ids:
            raise MeasurandError(_overlap_message(first, second))
    return AnswerSet(labels.names, tuple(spellings), tuple(left_out), subtracted)


def _reason_against(ids: Ids | None, form: str, labels: Labels, vocabulary: Sequence[str]) -> str:
    """Say why a tokenised spelling does not count; blank if it does."""
    if ids is None:
        return "the prompt's own last tokens would change if it followed"
    if not ids:
        return "no token follows"
    pieces = [vocabulary[token] if token < len(vocabulary) else "" for token in ids]
    if not all(pieces):
        return "it needs a special token"
    text = "".join(pieces)
    # A token may hold a part of a character, whose text alone says nothing.
    if "\N{REPLACEMENT CHARACTER}" not in text and labels.of(text) != labels.of(form):
        return f"its tokens say {text!r}"
    return ""


def _prefix_free(candidates: Sequence[Spelling]) -> tuple[tuple[Spelling, ...], list[tuple[Spelling, Spelling]]]:
    """Keep the sequences that no other begins; give the others with the one that begins them."""
    kept: dict[Ids, Spelling] = {}
    extended = []
    for spelling in sorted(candidates, key=lambda spelling: (len(spelling.ids), spelling.kind != "token")):
        if spelling.ids in kept:
            continue
        starts = (kept[start] for n in range(1, len(spelling.ids)) if (start := spelling.ids[:n]) in kept)
        if shorter := next(starts, None):
            extended.append((spelling, shorter))
        else:
            kept[spelling.ids] = spelling
    return tuple(sorted(kept.values(), key=lambda spelling: (len(spelling.ids), spelling.ids))), extended


_Owned = tuple[str, Spelling]


def _overlaps(owned: Sequence[_Owned]) -> Iterator[tuple[_Owned, _Owned]]:
    """Give each two spellings of different labels of which the first is, or begins, the second."""
    by_ids: dict[Ids, list[_Owned]] = {}
    for name, spelling in owned:
        by_ids.setdefault(spelling.ids, []).append((name, spelling))
    for same in by_ids.values():
        yield from itertools.combinations(same, 2)
    for longer in owned:
        for n in range(1, len(longer[1].ids)):
            for shorter in by_ids.get(longer[1].ids[:n], ()):
                if shorter[0] != longer[0]:
                    yield shorter, longer


def _overlap_message(first: _Owned, second: _Owned) -> str:
    (name, shorter), (other, longer) = first, second
    relation = "are also" if shorter.ids == longer.ids else "begin"
    return (
        f"the tokens {list(shorter.ids)} of the answer {name!r} ({shorter.text!r}) {relation} those of {other!r} "
        f"({longer.text!r}, {list(longer.ids)}), so that a reply could count as both; "
        "use words that differ in their first token"
    )


def _extensions(owned: Sequence[_Owned]) -> dict[Ids, tuple[Ids, ...]]:
    """Give to each sequence those of other labels that go on from it, without those that go on from one of these."""
    longer_of: dict[Ids, set[Ids]] = {}
    for (_, shorter), (_, longer) in _overlaps(owned):
        longer_of.setdefault(shorter.ids, set()).add(longer.ids)
    return {
        ids: tuple(sorted(one for one in found if not any(one[:n] in found for n in range(1, len(one)))))
        for ids, found in sorted(longer_of.items())
    }
