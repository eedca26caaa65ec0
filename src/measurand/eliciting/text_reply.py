"""What a free text says: whether the rule accepts it, and whether it is a refusal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from measurand.data import text as units
from measurand.data.answers import Status
from measurand.eliciting.declared import TextRule
from measurand.sentences import joined

TextKind = Literal["ok", "empty", "truncated", "refused", "too_few", "too_many", "other_text", "only_ascii"]

_PLURALS: Final = {"emoji": "emoji", "grapheme": "graphemes", "word": "words", "character": "characters"}

# The verbs are those of declining a task. "I can't see a picture" and "I can't tell" are answers of another kind (the
# picture may never have arrived), and stay invalid.
_REFUSAL: Final = re.compile(
    r"""
    \W{0,3}
    (?:(?:i\ am\ |i'm\ |we're\ )?(?:so\ |very\ |really\ )?(?:sorry|afraid)[,.;:!]?\ (?:but\ |that\ )?)?
    (?:as\ an?\ ai(?:\ [a-z]+){0,3},?\ )?
    (?:i|we)
    (?:
        (?:
            \ (?:can't|cannot|can\ not|could\ not|couldn't|won't|will\ not)
            | (?:'m|\ am|'re|\ are)\ (?:not\ able|unable|not\ allowed|not\ permitted)\ to
        )
        \ (?:help(?!\ but)|assist|comply|provide|rate|give|answer|fulfill?|evaluate|assess|judge|identify|analy[sz]e
            |discuss|engage|participate|continue\ with|support|do\ that|do\ this|offer|produce|generate)\b
        | (?:\ must|\ have\ to)?\ (?:decline|refuse)\b
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class TextReply:
    """A free reply under its rule.

    Parameters
    ----------
    accepted : bool
        Whether the rule accepts it, so that it is not asked again.
    status : str
        One of `measurand.data.answers.STATUSES`. Under the `beyond_ascii` rule a reply that was cut off or refused may
        be accepted all the same: that rule looks at characters alone, and the status tells what the reply is.
    kind : str
        What is wrong with it, as a word that stays the same: ``ok``, ``empty``, ``truncated``, ``refused``,
        ``too_few``, ``too_many``, ``other_text``, ``only_ascii``.
    problem : str
        The same in words; blank if there is nothing to say. Also an accepted reply may have one.
    n_units : int
        Its length in the rule's units.
    residue : str
        What is neither an emoji nor white space.
    text : str
        The reply without outer white space, otherwise as it was.
    """

    accepted: bool
    status: Status
    kind: TextKind
    problem: str
    n_units: int
    residue: str
    text: str


def read_text_reply(text: str, *, rule: TextRule, is_truncated: bool, is_refused: bool) -> TextReply:
    """Return whether a rule accepts a free reply, and how long it is.

    Parameters
    ----------
    text : str
        What was generated.
    rule : TextRule
        What is accepted.
    is_truncated, is_refused : bool
        Whether the engine stopped at the limit of tokens, or withheld the reply.

    Returns
    -------
    TextReply
        Never raises for any text. Nothing is taken out of the text but outer white space.

    Notes
    -----
    Under `beyond_ascii` a reply is accepted if any of its characters lies above U+007F, as in the second paper. This is
    no check for emoji: Bangla words, curly quotes and a variation selector alone pass it. Length and rest are counted
    all the same, and `kind` and `problem` say what the declared bounds find.

    Examples
    --------
    >>> found = read_text_reply("Sure! 😂😂", rule=TextRule("emoji", 1, 5, only=True), is_truncated=False,
    ...                         is_refused=False)
    >>> found.accepted, found.n_units, found.kind, found.residue
    (False, 2, 'other_text', 'Sure!')
    """
    kept = text.strip()
    n_units = units.count(kept, rule.unit)
    residue = units.residue(kept)
    kind, problem = _fault(kept, n_units, rule)
    status: Status = "ok" if kind == "ok" else "invalid"
    accepted = kind == "ok"
    if rule.beyond_ascii:
        accepted = not kept.isascii()
        status = "ok" if accepted else "invalid"
        if not accepted and kept:
            kind, problem = "only_ascii", joined("no character above U+007F", problem)
    if is_refused or (not accepted and reads_as_refusal(kept)):
        status, kind = "refused", "refused"
        problem = joined("the engine withheld the reply" if is_refused else "the reply declines to answer", problem)
    elif is_truncated:
        status, kind = "truncated", "truncated"
        problem = joined("the reply was cut off at the limit of tokens", problem)
    if status != "ok" and not rule.beyond_ascii:
        accepted = False
    return TextReply(accepted, status, kind, problem, n_units, residue, kept)


def reads_as_refusal(text: str) -> bool:
    """Tell whether a text opens by declining the task.

    Parameters
    ----------
    text : str
        A reply that could not be read otherwise.

    Returns
    -------
    bool
        True only where an English first-person sentence at the very start declines: an apology at most, then "I can't",
        "I won't", "I'm unable to" and the like, then a verb of doing the task (help, rate, provide, …). Everything else
        is not taken for a refusal, in any language: a wrong "invalid" costs less than a wrong "refused".

    Examples
    --------
    >>> reads_as_refusal("I’m sorry, but I can’t help with that."), reads_as_refusal("I can't see a picture.")
    (True, False)
    """
    head = " ".join(text[:300].replace("’", "'").split())
    return _REFUSAL.match(head) is not None


def _fault(text: str, n_units: int, rule: TextRule) -> tuple[TextKind, str]:
    """Return what the declared bounds find."""
    if not text:
        return "empty", "the reply is empty"
    counted = f"{n_units} {_PLURALS[rule.unit]}"
    if rule.least is not None and n_units < rule.least:
        return "too_few", f"{counted}; at least {rule.least} must be there"
    if rule.most is not None and n_units > rule.most:
        return "too_many", f"{counted}; at most {rule.most} may be there"
    if rule.only and rule.unit in ("emoji", "word") and (rest := units.residue(text, unit=rule.unit)):
        return "other_text", f"{rest[:40]!r} beside the {_PLURALS[rule.unit]}; nothing else may be there"
    return "ok", ""
