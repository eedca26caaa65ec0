"""Ask one system what is not answered yet, and store every outcome the moment it is there."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from measurand.eliciting.declared import Design, Generative, Text
from measurand.eliciting.engine import Engine, Failure, Reading, Reply
from measurand.eliciting.labels import Labels
from measurand.eliciting.proving import Proven
from measurand.eliciting.records import record_of
from measurand.eliciting.replies import Attempts, attempts, read_reply
from measurand.eliciting.requests import Block, Request, is_graded, requests
from measurand.eliciting.store import Store
from measurand.eliciting.system import Price, System

#: Failures in a row, without any answer between, after which a system counts as unreachable.
MOST_FAILURES: Final = 25
#: Batches of replies that are gathered before they are asked, so that second attempts fill batches, too.
_BATCHES: Final = 4
#: How far above 1 sums of probabilities may lie.
_ROUNDING: Final = 1e-3


@dataclass
class Progress:
    """How far a system is.

    Parameters
    ----------
    system : str
        The system.
    total : int
        Requests in all, first attempts counted alone.
    stored : int
        How many of them were answered before this start.
    asked, retried, failed : int
        Outcomes with an answer since; further attempts among them; outcomes without one.
    finished : int
        Requests of which nothing is left to ask since then: read, accepted, or out of attempts.
    tokens : counter
        Tokens since: ``prompt``, ``cached``, ``completion``.
    cost : float
        Money since, in the currency of the price.
    seconds : float
        Time since the first request.
    """

    system: str
    total: int = 0
    stored: int = 0
    asked: int = 0
    retried: int = 0
    failed: int = 0
    finished: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Requests of which nothing is left to ask."""
        return self.stored + self.finished

    @property
    def seconds_left(self) -> float | None:
        """Time left at the pace so far; None before there is one."""
        return self._left(self.seconds)

    @property
    def cost_left(self) -> float | None:
        """Money left at the cost so far; None before there is one."""
        return self._left(self.cost)

    def _left(self, spent: float) -> float | None:
        left = max(self.total - self.done - self.failed, 0)
        return None if self.finished <= 0 else spent / self.finished * left


Watch = Callable[[Progress], None]


def cost_of(price: Price, *, prompt: int, cached: int, completion: int) -> float:
    """Return what tokens cost; cached prompt tokens at their own price where there is one.

    Examples
    --------
    >>> cost_of(Price(input=2, output=10, cached=0.5, per=1000), prompt=1000, cached=400, completion=100)
    2.4
    """
    rate = price.input if price.cached is None else price.cached
    return ((prompt - cached) * price.input + cached * rate + completion * price.output) / price.per


def fault_of(reading: Reading, request: Request) -> str:
    """Return why a reading can be no answer (a model that overflowed gives NaN), blank if it can."""
    n_labels = len(request.labels.names) if request.labels else 0
    bounds = list(zip(reading.low, reading.high, strict=False))
    if not len(reading.low) == len(reading.high) == n_labels:
        return f"the engine gave {len(bounds)} probabilities for {n_labels} answers"
    if any(math.isnan(value) for value in (*reading.low, *reading.high, reading.mass_high)):
        return "the engine gave NaN for a probability: the model overflows in this precision"
    if any(low > high or high > _ROUNDING for low, high in bounds) or not 0 <= reading.mass_high <= 1 + _ROUNDING:
        return "the engine gave a probability above 1, or a lower bound above the upper one"
    return ""


class Asker:
    """Asks one system.

    Parameters
    ----------
    design : Design
        The study.
    system : System
        Who is asked.
    engine : Engine
        Where it runs.
    proven : Proven
        What is known of the engine.
    store : Store
        Where outcomes go; open for writing, if anything is asked.
    watch : callable
        Called with the progress after every outcome.
    """

    def __init__(
        self,
        design: Design,
        system: System,
        engine: Engine,
        *,
        proven: Proven,
        store: Store,
        watch: Watch,
    ) -> None:
        self._design = design
        self._system = system
        self._engine = engine
        self._identity = proven.digest
        self._store = store
        self._watch = watch
        self._started = 0.0
        self._in_a_row = 0
        self._takes_seed = proven.takes_seed
        self.progress = Progress(system.name)
        self.stopped = ""
        self.reasons: Counter[str] = Counter()

    def count(self, shown: Sequence[Block]) -> int:
        """Count all requests and those that are stored; return how many are left.

        Requests with one address are one: an item shown in the place of another is asked what it was asked itself. Of
        replies the readout tells, too: its rule may take one that another's refuses.
        """
        total, left = self._counted(shown)
        self.progress.total, self.progress.stored, self.progress.finished = total, total - left, 0
        return left

    def settle(self, shown: Sequence[Block]) -> None:
        """Count again what is left once all is asked: on the way, replies that several requests share count once."""
        total, left = self._counted(shown)
        self.progress.finished = total - left - self.progress.stored

    def _counted(self, shown: Sequence[Block]) -> tuple[int, int]:
        seen: set[tuple[bytes, str]] = set()
        left = 0
        for block in shown:
            for request in requests(self._design, block):
                key, is_pending = self._look_up(request)
                address = bytes.fromhex(key)[:16], "" if is_graded(request.readout) else request.readout.name
                if address not in seen:
                    seen.add(address)
                    left += is_pending
        return len(seen), left

    def _look_up(self, request: Request) -> tuple[str, bool]:
        """Return the address of a request's first attempt, and whether anything of it is left to ask."""
        if is_graded(request.readout):
            key = request.key(self._identity)
            return key, key not in self._store
        found = self._attempts(request)
        first = found.made[0] if found.made else found.pending
        return first.key if first else "", found.pending is not None

    def _attempts(self, request: Request) -> Attempts:
        return attempts(request, self._identity, self._store.get, design=self._design, takes_seed=self._takes_seed)

    def ask(self, shown: Sequence[Block]) -> None:
        """Ask everything that is not stored yet; an engine that can go no further ends it, with the reason kept."""
        self._started = time.monotonic()
        waiting: list[Request] = []
        size = max(1, self._engine.at_once()) * _BATCHES
        for block in shown:
            found = list(requests(self._design, block))
            self._read([one for one in found if is_graded(one.readout)])
            waiting += [one for one in found if not is_graded(one.readout)]
            if len(waiting) >= size:
                self._generate(waiting)
                waiting = []
            if self.stopped:
                return
        self._generate(waiting)

    def _read(self, asked: Sequence[Request]) -> None:
        """Read what is pending about one item together, whatever the readout; the very same request again by itself."""
        together: dict[int, dict[str, tuple[Request, Labels]]] = {}
        for request in asked:
            key = request.key(self._identity)
            if key not in self._store and request.labels is not None:
                together.setdefault(request.repeat, {})[key] = request, request.labels
        for group in together.values():
            if self.stopped:
                return
            keys, requested = list(group), [request for request, _ in group.values()]
            prompts, labels = [request.prompt for request in requested], [labels for _, labels in group.values()]
            for position, outcome in self._engine.read(prompts, labels):
                self._keep(requested[position], keys[position], outcome, attempt=1)
                if self.stopped:
                    break

    def _generate(self, asked: Sequence[Request]) -> None:
        """Generate replies in rounds: first attempts of all, second ones of those that the rule refused, and so on."""
        failed: set[str] = set()
        while not self.stopped:
            found = [self._attempts(request).pending for request in asked]
            pending = list({one.key: one for one in found if one is not None and one.key not in failed}.values())
            if not pending:
                return
            # Until there is a reply: an engine that gave no outcome at all would otherwise be asked for ever.
            failed.update(one.key for one in pending)
            prompts, decodings = [one.request.prompt for one in pending], [one.decoding for one in pending]
            for position, outcome in self._engine.generate(prompts, decodings):
                one = pending[position]
                self._keep(one.request, one.key, outcome, attempt=one.number)
                if not isinstance(outcome, Failure):
                    failed.discard(one.key)
                if self.stopped:
                    break

    def _keep(self, request: Request, key: str, outcome: Reading | Reply | Failure, *, attempt: int) -> None:
        progress = self.progress
        if isinstance(outcome, Reading) and (fault := fault_of(outcome, request)):
            outcome = Failure(fault)
        # Systems that are the same model share answers, and so do requests that are the same: one record is enough.
        record = record_of(request, key, outcome, system=self._system.name, attempt=attempt)
        if isinstance(outcome, Failure) or key not in self._store:
            self._store.append(record)
        if isinstance(outcome, Failure):
            progress.failed += 1
            self._in_a_row += 1
            self.reasons[outcome.reason] += 1
            if outcome.stops:
                self.stopped = outcome.reason
            elif self._in_a_row >= MOST_FAILURES:
                self.stopped = f"{self._in_a_row} requests failed one after the other, the last one: {outcome.reason}"
        else:
            self._in_a_row = 0
            progress.asked += 1
            progress.retried += attempt > 1
            readout = request.readout
            if not isinstance(readout, Generative | Text) or attempt >= readout.retry.attempts:
                progress.finished += 1
            else:
                progress.finished += read_reply(readout, record, design=self._design).accepted
            prompt, cached, completion = outcome.n_prompt or 0, outcome.n_cached or 0, outcome.n_completion or 0
            progress.tokens.update(prompt=prompt, cached=cached, completion=completion)
            progress.cost += cost_of(self._system.price, prompt=prompt, cached=cached, completion=completion)
        progress.seconds = time.monotonic() - self._started
        self._watch(progress)
