"""Small studies, and engines that play back what a test tells them to."""

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from measurand.data.scale import Scale
from measurand.eliciting.declared import Choice, Design, Generative, Item, Phrasing, ScaleReading, Text, Verification
from measurand.eliciting.engine import Abilities, Proof, Reading, Reply, labels_of_each
from measurand.eliciting.fake import FakeEngine
from measurand.eliciting.run import elicit
from measurand.eliciting.store import key_of
from measurand.eliciting.system import System
from measurand.eliciting.tables import Tables

SCALE = {"": Scale(0, 4, step=1)}
VERIFY = Phrasing("does", "Is there {criterion} in it? Yes or no.")
NEGATED = Phrasing("absent", "Is {criterion} absent from it? Yes or no.", negated=True)
RATE = Phrasing("rate", "Rate {criterion} on {scale}. Only the number.")
WHICH = Phrasing("which", "Which of these is it?\n{options}")
EVERY = Phrasing("every", "Rate it in JSON on each of\n{criteria}\n\nScale: {scale}.")
FEEL = Phrasing("feel", "Say how it feels in 1 to 5 emojis.")
OPTIONS = {"joy": ("joy",), "fear": ("fear",), "awe": ("awe",)}
TEXTS = ("I won the prize!", "My dog died.", "He stole my bike again.", "What a lovely calm lake.", "Nobody came.")


def items(n=3):
    return [Item(f"i{k + 1}", TEXTS[k]) for k in range(n)]


def study(*readouts, n_items=3, criteria=("joy", "fear"), systems=None, **more):
    """Return a small study; one verification of two criteria by one fake system unless told otherwise."""
    return Design(
        more.pop("items", None) or items(n_items),
        list(criteria),
        systems or [System("S", "fake", "m")],
        list(readouts) or [Verification([VERIFY])],
        **{"scale": SCALE, **more},
    )


def everything(**more):
    """Return a study with every kind of readout."""
    return study(
        Verification([VERIFY, NEGATED], prefills=("Answer:", "")),
        ScaleReading([RATE]),
        Choice(OPTIONS, [WHICH], rotations=2),
        Generative([EVERY]),
        Text([FEEL]),
        **more,
    )


class Played(FakeEngine):
    """A fake engine that counts what it is asked, and may be told what to say or to break off.

    Parameters
    ----------
    system : System
        As for the fake engine.
    read, generate : callable or None
        What comes of one prompt; None for the fake's own outcome.
    breaks_after : int or None
        Outcomes after which it is interrupted, as by Ctrl-C.
    """

    def __init__(
        self,
        system: System,
        *,
        read: Callable | None = None,
        generate: Callable | None = None,
        breaks_after: int | None = None,
        abilities: Abilities | None = None,
        proof: Proof | None = None,
        objects: Callable | None = None,
    ) -> None:
        super().__init__(system)
        self.of_reading, self.of_reply, self.breaks_after = read, generate, breaks_after
        self.told_abilities, self.proof, self.objects = abilities, proof, objects
        self.read_prompts, self.generated, self.n_proofs, self.is_closed = [], [], 0, False

    @property
    def n_asked(self) -> int:
        return len(self.read_prompts) + len(self.generated)

    def abilities(self):
        return self.told_abilities or super().abilities()

    def objections(self, prompts, labels):  # noqa: ARG002
        return [] if self.objects is None else [why for why in map(self.objects, prompts) if why]

    def prove(self, prompts, labels):
        self.n_proofs += 1
        return [self.proof] if self.proof else super().prove(prompts, labels)

    def _count_down(self):
        if self.breaks_after is not None:
            if self.breaks_after == 0:
                raise KeyboardInterrupt
            self.breaks_after -= 1

    def read(self, prompts, labels):
        for i, of in enumerate(labels_of_each(labels, len(prompts))):
            self._count_down()
            self.read_prompts.append((prompts[i], of))
            told = self.of_reading(prompts[i], of) if self.of_reading else None
            yield i, told or self._reading(prompts[i], of)

    def generate(self, prompts, decodings):
        for i in range(len(prompts)):
            self._count_down()
            self.generated.append((prompts[i], decodings[i]))
            told = self.of_reply(prompts[i], decodings[i]) if self.of_reply else None
            yield i, told or self._reply(prompts[i], decodings[i])

    def close(self):
        self.is_closed = True


def reading(*probabilities, high=None, mass_high=None, **more):
    """Return a reading of labels' probabilities; exact unless upper bounds are given."""
    high = probabilities if high is None else high
    return Reading(
        [math.log(p) if p else -math.inf for p in probabilities],
        [math.log(p) if p else -math.inf for p in high],
        min(sum(high), 1.0) if mass_high is None else mass_high,
        **{"others": [], "top": "yes", "fingerprint": key_of({}), "n_prompt": 7, "n_cached": 2, **more},
    )


def reply(text, finish="stop", **more):
    return Reply(text, finish, key_of({"reply": text}), **{"n_prompt": 5, "n_cached": 1, "n_completion": 3, **more})


def replies(*texts):
    """Return what plays back one reply after the other, the last one for ever."""
    left = list(texts)

    def of(_prompt, _decoding):
        told = left.pop(0) if len(left) > 1 else left[0]
        return reply(told) if isinstance(told, str) else told

    return of


def ask(design, folder, **told):
    """Ask a study of engines that play back; return it and the engines by system."""
    engines = {}
    run = {name: told.pop(name) for name in ("limit", "asks", "watch") if name in told}

    def opened(system):
        engines[system.name] = Played(system, **told)
        return engines[system.name]

    return elicit(design, Path(folder), opened=opened, **run), engines


def tables(elicited, folder):
    """Write the tables; return their counts, the rows of the answers, the replies and the outputs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = Tables(elicited)
    written.write(folder)
    return written.arms, answers_in(folder), lines_in(folder / "replies.jsonl"), lines_in(folder / "outputs.jsonl")


def answers_in(folder):
    path = Path(folder) / "answers.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines_in(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.is_file() else []


def asked_of(design, tmp_path, **told):
    """Ask a study and return the rows of its answers table."""
    elicited, _ = ask(design, tmp_path / "store", **told)
    return tables(elicited, tmp_path / "tables")[1]


def without_times(rows):
    return [{name: value for name, value in row.items() if name not in ("asked_at", "seconds")} for row in rows]


def renamed(design, **names):
    """Return a study whose systems are called otherwise."""
    return replace(design, systems=[replace(one, name=names.get(one.name, one.name)) for one in design.systems])
