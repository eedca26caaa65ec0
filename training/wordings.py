"""What the model is asked in training, what is kept from it, and what a rater's answer looks like as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from measurand.data.scale import Scale
from measurand.eliciting.declared import Phrasing
from measurand.eliciting.wordings import fill, generative_phrasings, verification_phrasings
from training.recipe import CRITERIA, EXAMPLE

SCALE: Final = Scale(0, 7, step=1)
PREFILL: Final = "Answer:"

_LIBRARY: Final = {one.name: one for one in verification_phrasings("face")}

#: Never trained on; their words occur in other wordings.
KEPT_BACK: Final = (
    _LIBRARY["would"],
    Phrasing("see", "Do you see {criterion} in this face? Answer with yes or no."),
)

#: The library's own wordings and paraphrases of them.
TRAINED: Final = (
    _LIBRARY["does"],
    _LIBRARY["present"],
    _LIBRARY["absent"],
    Phrasing("express", "Does this face express {criterion}? Answer yes or no."),
    Phrasing("there", "Is there {criterion} in this face? Answer with yes or no."),
    Phrasing("say", "Would you say that this face shows {criterion}? Reply yes or no."),
    Phrasing("people", "Do people see {criterion} in the face above? Reply with yes or no."),
    Phrasing("what", "Look at the face. Is it {criterion} that you see? Yes or no?"),
    Phrasing("call", "Would most people call this {criterion}? Answer yes or no."),
    Phrasing("asked", "If you were asked about {criterion} in this picture, would it be yes or no?"),
    Phrasing("found", "Can {criterion} be found in this face? Reply yes or no."),
    Phrasing("true", "This face shows {criterion}. Is that true or not? Reply yes if it is, no if not."),
    Phrasing("many", "Many people looked at this face. Did most of them find {criterion}? Answer yes or no."),
    Phrasing("hint", "Is there any hint of {criterion} here? Reply with a single word."),
    Phrasing("free", "Is this face entirely free of {criterion}? Reply yes or no.", negated=True),
    Phrasing("none", "Statement: {criterion} is absent from the face. Is it true? Answer yes or no.", negated=True),
)

#: With which it is learnt what a question is about, the fewer words the sooner; not asked later.
SHORT: Final = Phrasing("short", "Is it {criterion}?")

#: Those of them that a yes answers by saying that the criterion is there.
PLAIN: Final = tuple(one for one in TRAINED if not one.negated)

#: Requests for ratings: every criterion; and so many pairs as the example has, without zeros.
EVERY, PAIRS = generative_phrasings("face")


def question(phrasing: Phrasing, criterion: str) -> str:
    """Return a yes/no question."""
    return fill(phrasing, criterion=criterion)


def request(phrasing: Phrasing) -> str:
    """Return a request for ratings."""
    return fill(phrasing, criteria=CRITERIA, scale=SCALE, example=EXAMPLE if phrasing is PAIRS else ())


def yes_no(is_seen: bool, phrasing: Phrasing) -> str:
    """Return a rater's word on a question: that the criterion is there, or under a negated wording that it is not."""
    return "Yes" if is_seen != phrasing.negated else "No"


def ratings_reply(ratings: Sequence[int], phrasing: Phrasing) -> str:
    """Return a rater's ratings as the reply to a request.

    Under a request for pairs without zeros a rater who saw nothing writes the least that is permitted, 1.
    """
    given = dict(zip(CRITERIA, map(int, ratings), strict=True))
    if phrasing is PAIRS:
        given = {one: max(given[one], 1) for one in EXAMPLE}
    return json.dumps(given, separators=(",", ":"))
