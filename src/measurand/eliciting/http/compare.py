"""How two responses to the same question differ at their first position, and whether it is an answer's at all."""

from __future__ import annotations

import math
import re
from typing import Final

from measurand.eliciting.engine import Failure
from measurand.eliciting.http.read import Top, reading_of, top_of
from measurand.eliciting.http.send import Sent
from measurand.eliciting.labels import Labels

#: Tokens that open reasoning: <think>, [THINK], <|channel|>, <thought>, and the bracket alone where it is a token.
_REASONING: Final = re.compile(r"\s*(<\|?|[<\[◁]\S*(think|thought|reason|channel)\S*)\s*", re.IGNORECASE)


def opening(top: Top) -> tuple[str, float]:
    """Return the likeliest token that opens reasoning, blank for none, and the probability of all such tokens."""
    found = [token for token in top.tokens if token.text and _REASONING.fullmatch(token.text)]
    return (found[0].name if found else ""), math.fsum(math.exp(token.logprob) for token in found)


def moved_by(one: Sent, two: Sent) -> float | None:
    """Return the largest difference of a log-probability between two readings, over the tokens that both show.

    None where there are not two such tokens.
    """
    tops = _tops(one, two)
    if tops is None:
        return None
    moved = [abs(change) for change in _changes(*tops, n=len(tops[0].tokens))]
    return max(moved) if len(moved) > 1 else None


def log_odds_apart(one: Sent, two: Sent, labels: Labels) -> float | None:
    """Return by how much two readings differ in the labels' log-odds.

    Of several labels it is the largest difference of any two; where not two of them were seen it is that of the two
    likeliest tokens; None where these are not in both readings either.
    """
    tops = _tops(one, two)
    if tops is None:
        return None
    readings = [
        reading_of(sent.document, labels, n_asked=top.n_returned, fingerprint="", seconds=0.0)
        for sent, top in zip((one, two), tops, strict=True)
    ]
    a, b = ([] if isinstance(reading, Failure) else reading.low for reading in readings)
    moved = [y - x for x, y in zip(a, b, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(moved) < 2:
        moved = _changes(*tops, n=2)
    return max(moved) - min(moved) if len(moved) > 1 else None


def _tops(one: Sent, two: Sent) -> tuple[Top, Top] | None:
    if one.failure or two.failure:
        return None
    a, b = top_of(one.document), top_of(two.document)
    return None if isinstance(a, Failure) or isinstance(b, Failure) else (a, b)


def _changes(one: Top, two: Top, *, n: int) -> list[float]:
    """Changes of log-probability of the n likeliest tokens of the first, as far as the second shows them."""
    after = {(token.text, token.id): token.logprob for token in two.tokens}
    return [after[token.text, token.id] - token.logprob for token in one.tokens[:n] if (token.text, token.id) in after]
