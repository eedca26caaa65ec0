"""Ask all systems of a study: refuse what can't work, test each engine, ask what is not answered yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from measurand.eliciting.asking import Asker, Progress, Watch
from measurand.eliciting.declared import Design, Generative, Readout, Text
from measurand.eliciting.engine import Engine
from measurand.eliciting.engines import open_engine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.proving import Proven, known, labels_key, proved
from measurand.eliciting.requests import Block, attempt_of, blocks, is_graded, requests
from measurand.eliciting.store import Store
from measurand.eliciting.system import System
from measurand.result import MeasurandError

_MOST_OBJECTIONS: Final = 5


@dataclass(frozen=True)
class Asked:
    """What is known of one system after a run.

    Parameters
    ----------
    system : System
        Who was asked.
    proven : Proven
        What is known of its engine, as it was when answers were addressed.
    progress : Progress
        What was asked.
    stopped : str
        Why it could be asked no further; blank if it could.
    reasons : mapping of str to int
        Why requests failed, and how many.
    """

    system: System
    proven: Proven
    progress: Progress
    stopped: str = ""
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_left(self) -> int:
        """Requests without an answer."""
        return self.progress.total - self.progress.done


@dataclass(frozen=True)
class Elicited:
    """A study after a run: what was asked of whom, and where the answers lie.

    Parameters
    ----------
    design : Design
        The study, reduced to what was chosen.
    asked : sequence of Asked
        The systems.
    blocks : sequence of Block
        The items as they were shown.
    store : Path
        The folder of the store.
    healed : int
        Bytes of a torn last line that were cut off at the start.
    """

    design: Design
    asked: Sequence[Asked]
    blocks: Sequence[Block]
    store: Path
    healed: int = 0

    @property
    def n_left(self) -> int:
        """Requests without an answer."""
        return sum(one.n_left for one in self.asked)


def elicit(
    design: Design,
    folder: Path,
    *,
    limit: int | None = None,
    asks: bool = True,
    watch: Watch = lambda _: None,
    opened: Callable[[System], Engine] = open_engine,
) -> Elicited:
    """Ask every system of a study every question that its store does not answer yet.

    Parameters
    ----------
    design : Design
        The study.
    folder : Path
        The store's folder; made if it is not there.
    limit : int or None
        Only the first so many items; None for all.
    asks : bool
        Whether to ask at all; without, what is stored is counted.
    watch : callable
        Called with the progress after every outcome.
    opened : callable
        System to engine.

    Returns
    -------
    Elicited
        What is known of each system; the answers are in the store.

    Raises
    ------
    MeasurandError
        Before the first request, if any system's engine can't do what the study asks, a prompt would be read as
        something else, or another process is writing to the store.
    """
    shown = blocks(design, limit=limit)
    engines = [(system, opened(system)) for system in design.systems]
    try:
        _refuse(design, engines, shown)
        with Store.open(folder, is_writer=True) as store:
            asked = [
                _ask(design, system, engine, shown=shown, store=store, watch=watch, asks=asks)
                for system, engine in engines
            ]
            return Elicited(design, asked, shown, folder, store.healed)
    finally:
        for _, engine in engines:
            engine.close()


def _refuse(design: Design, engines: Sequence[tuple[System, Engine]], shown: Sequence[Block]) -> None:
    """Name everything that can't work before anything is spent."""
    objections = [
        f"{system.name}: {objection}"
        for system, engine in engines
        for objection in objections_to(design, engine, shown)
    ]
    if objections:
        more = len(objections) - _MOST_OBJECTIONS
        listing = "\n".join(f"  {one}" for one in objections[:_MOST_OBJECTIONS])
        raise MeasurandError(
            f"this study can't be asked; nothing was sent:\n{listing}" + (f"\n  and {more} more" if more > 0 else "")
        )


def objections_to(design: Design, engine: Engine, shown: Sequence[Block]) -> list[str]:
    """Return why a study can't be asked of an engine, without asking it.

    Every item's text is looked at, under the first question; every question and note, about the first item.
    """
    out = []
    graded = [readout.name for readout in design.readouts if is_graded(readout)]
    if graded and engine.abilities().distribution == "none":
        out.append(
            f"readout {graded[0]} needs the probabilities of tokens, which this engine does not show; leave it out, or "
            "ask the system through an engine that does"
        )
    grouped: dict[Any, tuple[Labels | None, list[Prompt]]] = {}
    for position, block in enumerate(shown):
        for request in requests(design, block):
            place = grouped.setdefault(labels_key(request.labels), (request.labels, []))
            place[1].append(request.prompt)
            if position:
                break
            if isinstance(request.readout, Generative | Text):
                # A note can hold what an engine would misread as well as a question can.
                place[1].append(attempt_of(request, request.readout.retry, ["reply"]).prompt)
    for labels, prompts in grouped.values():
        out += engine.objections(prompts, labels)
    return list(dict.fromkeys(out))


def _ask(
    design: Design,
    system: System,
    engine: Engine,
    *,
    shown: Sequence[Block],
    store: Store,
    watch: Watch,
    asks: bool,
) -> Asked:
    proven = known(store, engine)

    def asker_of(proven: Proven) -> Asker:
        return Asker(design, system, engine, proven=proven, store=store, watch=watch)

    asker = asker_of(proven)
    left = asker.count(shown)
    if left and asks:
        found = proved(design, engine, shown, store=store)
        if found.digest != proven.digest or found.takes_seed != proven.takes_seed:
            # What answers there is not what it was, or has only now said what it is: these are other addresses.
            asker = asker_of(found)
            left = asker.count(shown)
        proven = found
        watch(asker.progress)
        if failed := next((proof for proof in proven.proofs if not proof.passed), None):
            asker.stopped = failed.statement
        elif left:
            asker.ask(shown)
            asker.settle(shown)
    return Asked(system, proven, asker.progress, asker.stopped, dict(asker.reasons))


def chosen(design: Design, *, systems: Sequence[str] = (), readouts: Sequence[str] = ()) -> Design:
    """Return a study reduced to some systems and readouts; empty for all.

    Raises
    ------
    MeasurandError
        If the study has none of that name.
    """
    for what, wanted, there in (
        ("system", systems, [one.name for one in design.systems]),
        ("readout", readouts, [one.name for one in design.readouts]),
    ):
        if absent := [name for name in wanted if name not in there]:
            raise MeasurandError(f"the study has no {what} {absent[0]!r}; it has {', '.join(there)}")
    kept: list[Readout] = [one for one in design.readouts if not readouts or one.name in readouts]
    return replace(design, systems=[one for one in design.systems if not systems or one.name in systems], readouts=kept)
