"""What became of the requests, arm by arm: statuses, attempts, tokens, time, money, and the numbers that were read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from measurand.eliciting.answered import Answer, asks_about, unanswered
from measurand.eliciting.asking import cost_of
from measurand.eliciting.declared import Choice, Design, Text
from measurand.eliciting.labels import Labels
from measurand.eliciting.replies import Attempts
from measurand.eliciting.requests import Request
from measurand.result import Key
from measurand.stats.inference import FloatArray

if TYPE_CHECKING:
    from measurand.eliciting.run import Asked

_TOKENS = {
    "prompt_tokens": "n_prompt",
    "cached_tokens": "n_cached",
    "completion_tokens": "n_completion",
    "reasoning_tokens": "n_reasoning",
}
#: What stands for a part of a character.
_PART = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, order=True)
class ArmName:
    """One system under one readout, phrasing, prefill and control.

    Parameters
    ----------
    system, readout, phrasing, prefill, control : str
        What it is called.
    """

    system: str
    readout: str
    phrasing: str = ""
    prefill: str = ""
    control: str = ""

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of its rows, as scores and gates have them."""
        told = (("prefill", self.prefill), ("control", self.control))
        variant = ", ".join(f"{name}={value}" for name, value in told if value)
        return {"system": self.system, "readout": self.readout, "phrasing": self.phrasing, "variant": variant}


@dataclass
class Arm:
    """What was counted of one arm.

    Parameters
    ----------
    n_requests, n_answered : int
        Requests of the study, and those with a record; none for what is derived.
    status : counter
        Rows of the answers (or outputs) table by status; of several attempts, the last one's.
    spent : dict of str to float
        ``prompt_tokens``, ``cached_tokens``, ``completion_tokens``, ``reasoning_tokens``, ``seconds``, ``cost``; all
        attempts together. An answer that several requests share (an item shown in the place of another, systems that
        are the same) counts once, in the first arm.
    shared : int
        Answers whose tokens were counted before.
    unknown : counter
        Records in which the engine did not say a number of tokens.
    asked, accepted : counter
        Attempt to the number of requests that came to it, and of those accepted at it.
    is_asked : dict of str to bool
        Criterion to whether it was ever asked.
    log_odds : dict
        (repeat, item, criterion) to log-odds of a yes to the question as it was worded.
    middles : int
        How many of these are middles of bounds.
    items : set of str
        Items asked about.
    n_repeats : int
        How often each request was made.
    texts : dict
        (repeat, item) to the last free text.
    mass, width : list of float
        Of each reading.
    top_in : int
        Readings whose likeliest token is an answer, or begins a word of several tokens that is likelier than whatever
        is no answer.
    outside : counter
        Tokens outside the answer set to the sum of their probabilities.
    """

    n_requests: int = 0
    n_answered: int = 0
    status: Counter[str] = field(default_factory=Counter)
    spent: dict[str, float] = field(default_factory=dict)
    shared: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    asked: Counter[int] = field(default_factory=Counter)
    accepted: Counter[int] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    is_asked: dict[str, bool] = field(default_factory=dict)
    log_odds: dict[tuple[int, str, str], float] = field(default_factory=dict)
    answers: dict[tuple[int, str, str], float] = field(default_factory=dict)
    middles: int = 0
    items: set[str] = field(default_factory=set)
    n_repeats: int = 0
    texts: dict[tuple[int, str], str] = field(default_factory=dict)
    mass: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    top_in: int = 0
    outside: Counter[str] = field(default_factory=Counter)

    def table(self, repeat: int = 0) -> FloatArray:
        """Return the log-odds of one repeat, items by criteria, those items alone that have all of them."""
        items = list(dict.fromkeys(item for which, item, _ in self.log_odds if which == repeat))
        criteria = list(dict.fromkeys(criterion for _, _, criterion in self.log_odds))
        out = np.array(
            [[self.log_odds.get((repeat, item, criterion), math.nan) for criterion in criteria] for item in items]
        ).reshape(len(items), len(criteria))
        return np.asarray(out[np.isfinite(out).all(axis=1)])


class Arms:
    """Counts rows as the tables are written.

    Parameters
    ----------
    design : Design
        The study.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self.of: dict[ArmName, Arm] = {}
        self._spent: set[bytes] = set()

    def _arm(self, asked: Asked, request: Request, readout: str) -> Arm:
        name = ArmName(asked.system.name, readout, request.phrasing, request.prefill, request.control)
        return self.of.setdefault(name, Arm())

    def count(
        self,
        asked: Asked,
        request: Request,
        answer: Answer,
        record: Mapping[str, Any] | None,
        readout: str,
    ) -> None:
        """Count one row of the answers table."""
        arm = self._arm(asked, request, readout)
        arm.items.add(request.item)
        arm.n_repeats = max(arm.n_repeats, request.repeat + 1)
        if not isinstance(request.readout, Choice):
            # Not by its status: a reply may rate what nobody asked about, and a request may have failed.
            arm.is_asked[answer.criterion] = asks_about(request, answer.criterion)
        if not math.isnan(answer.value):
            arm.answers[request.repeat, request.item, answer.criterion] = answer.value
        is_reading = request.labels is not None and readout == request.readout.name
        if not is_reading:
            if request.labels is not None:
                arm.status[answer.status] += 1
            return
        arm.status[answer.status] += 1
        if answer.problem:
            arm.problems[answer.problem.split(":")[0]] += 1
        # A choice makes a row of each option out of one request.
        is_first = request.criterion != "" or answer.criterion == next(
            iter(request.labels.names if request.labels else ())
        )
        if is_first:
            arm.n_requests += 1
        if record is None:
            return
        if math.isfinite(answer.log_odds):
            sign = -1.0 if request.negated else 1.0
            arm.log_odds[request.repeat, request.item, answer.criterion] = sign * answer.log_odds
            arm.middles += answer.low < answer.high
        arm.width.append(answer.high - answer.low)
        if is_first:
            arm.n_answered += 1
            arm.asked[1] += 1
            arm.accepted[1] += 1
            arm.mass.append(answer.mass)
            labels = request.labels
            arm.top_in += labels is not None and _is_answered_first(labels, record)
            for text, probability in record["others"]:
                # Two tokens may have one text: their probabilities add up.
                if not (labels and labels.begins(text)):
                    arm.outside[text] += probability
            self._spend(arm, asked, record)

    def count_attempts(self, asked: Asked, request: Request, tried: Attempts) -> None:
        """Count all attempts at one reply, and the rows that the last one makes."""
        arm = self._arm(asked, request, request.readout.name)
        arm.n_requests += 1
        arm.n_answered += bool(tried.made) and tried.pending is None
        for one in tried.made:
            arm.asked[one.number] += 1
            if one.read is not None and one.read.accepted:
                arm.accepted[one.number] += 1
            elif one.read is not None:
                arm.problems[getattr(one.read, "kind", "") or one.read.problem.split(":")[0]] += 1
            self._spend(arm, asked, one.record or {})
        last = tried.made[-1].read if tried.made else None
        if last is None:
            if isinstance(request.readout, Text):
                arm.status["not_returned"] += 1
            else:
                arm.status.update(answer.status for answer in unanswered(request, self._design.criteria))
        elif hasattr(last, "cells"):
            arm.status.update(cell.status for cell in last.cells.values())
        else:
            arm.status[last.status] += 1
        if isinstance(request.readout, Text) and last is not None:
            arm.texts[request.repeat, request.item] = str(getattr(last, "text", ""))

    def _spend(self, arm: Arm, asked: Asked, record: Mapping[str, Any]) -> None:
        address = bytes.fromhex(record["key"])[:16]
        if address in self._spent:
            arm.shared += 1
            return
        self._spent.add(address)
        spent = {name: float(record[column]) for name, column in _TOKENS.items() if record.get(column) is not None}
        # What was not told is unknown; cached and reasoning tokens only where the engine tells them of other requests.
        arm.unknown.update(name for name in _TOKENS if name not in spent)
        spent["seconds"] = float(record.get("seconds", 0.0))
        price = asked.system.price
        # A reading generates nothing that an engine must tell.
        is_told = "completion_tokens" in spent or record.get("kind") == "reading"
        if "prompt_tokens" in spent and is_told:
            spent["cost"] = cost_of(
                price,
                prompt=record["n_prompt"],
                cached=record.get("n_cached") or 0,
                completion=record.get("n_completion") or 0,
            )
        elif price.input or price.output:
            arm.unknown["cost"] += 1
        for name, value in spent.items():
            arm.spent[name] = arm.spent.get(name, 0.0) + value


def _is_answered_first(labels: Labels, record: Mapping[str, Any]) -> bool:
    """Whether the likeliest token is an answer.

    A token that begins a word of several tokens begins others, too, and a part of a character has no text: such a token
    is one if some answer is likelier than whatever is none.
    """
    top = str(record["top"])
    if labels.of(top) or labels.begins(top):
        return True
    start = top.lstrip().casefold()
    forms = (form.strip().casefold() for label in labels.names for form in labels.forms(label))
    if not start or not (_PART in start or any(form.startswith(start) for form in forms)):
        return False
    likeliest = max(record["low"], default=-math.inf)
    return likeliest > max((math.log(p) for _, p in record["others"] if p > 0), default=-math.inf)
