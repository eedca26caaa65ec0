"""A run of a study's asking: the store, and beside it a folder with tables, protocol cards, numbers and a page."""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measurand.data.answers import read_answers
from measurand.data.read import read_table
from measurand.eliciting import accounts, findings
from measurand.eliciting.asking import Watch
from measurand.eliciting.cards import cards
from measurand.eliciting.declared import Design, Generative
from measurand.eliciting.engines import open_engine
from measurand.eliciting.run import Elicited, chosen
from measurand.eliciting.run import elicit as ask_all
from measurand.eliciting.tables import ANSWERS, OUTPUTS, REPLIES, Tables
from measurand.result import MeasurandError, Result
from measurand.result.notebook import lines_in_html
from measurand.result.words import plural
from measurand.scoring import gates
from measurand.scoring.gates import NOISE
from measurand.study import check_out, manifest, write_run

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from measurand.eliciting.engine import Engine
    from measurand.eliciting.system import System

#: Columns of the tables that hold numbers.
_NUMBERS: Final = frozenset(
    {
        "repeat",
        "attempt",
        "answer",
        "answer_low",
        "answer_high",
        "log_odds",
        "mass",
        "mass_high",
        "n_prompt",
        "n_cached",
        "n_completion",
        "n_reasoning",
        "seconds",
        "units",
        "attempts",
    }
)
#: Folders of a study's `out`: what engines said, and what is made of it.
STORE: Final = "store"
RUN: Final = "elicit"
PROTOCOL: Final = "protocol.json"
FEWEST_REPLICATES: Final = 100
#: Noise of a probability above which nothing is a decision any more.
MOST_NOISE: Final = 0.5


@dataclass(frozen=True, repr=False)
class Elicitation:
    """What a run of a study's asking made.

    Parameters
    ----------
    result : Result
        Its numbers and findings.
    elicited : Elicited
        What was asked of whom.
    folder : Path
        Where tables, protocol and page are.
    """

    result: Result
    elicited: Elicited
    folder: Path

    @property
    def is_complete(self) -> bool:
        """Whether every request has an answer."""
        return self.elicited.n_left == 0

    @property
    def answers(self) -> pd.DataFrame:
        """The answers table; empty where nothing but texts was asked for."""
        return self._table(ANSWERS)

    @property
    def replies(self) -> pd.DataFrame:
        """Every attempt at a generated reply; empty where none was asked for."""
        return self._table(REPLIES)

    @property
    def outputs(self) -> pd.DataFrame:
        """The free texts; empty where none were asked for."""
        return self._table(OUTPUTS)

    def _table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        path = self.folder / name
        if not path.is_file():
            return pd.DataFrame()
        table = read_table(path)
        for column in _NUMBERS & set(table.columns):
            table[column] = pd.to_numeric(table[column])
        return table

    def __str__(self) -> str:
        return f"{self.result}\n\n{chr(10).join(self._lines())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.result._repr_html_()}{lines_in_html(self._lines())}"

    def _lines(self) -> list[str]:
        """Return what is missing, and where tables and page are."""
        left = self.elicited.n_left
        told = [] if self.is_complete else [f"not complete: {plural(left, 'request')} without an answer; run it again"]
        tables = ", ".join(name for name in (ANSWERS, REPLIES, OUTPUTS) if (self.folder / name).is_file())
        told.append(f"folder: {self.folder}" + (f" ({tables})" if tables else ""))
        return [*told, f"page: {self.folder / 'report.html'}"]


def elicit(
    study: str | Path | Design,
    *,
    out: str | Path | None = None,
    systems: Sequence[str] = (),
    readouts: Sequence[str] = (),
    limit: int | None = None,
    asks: bool = True,
    watch: Watch = lambda _: None,
) -> Elicitation:
    """Ask the systems of a study what is not answered yet; safe to stop and start again.

    Parameters
    ----------
    study : path or Design
        A study file (see ``docs/study-file.md``), or a study made in Python.
    out : path or None
        The study's folder; None for the one that the file names. A `Design` names none.
    systems, readouts : sequence of str
        Which of the study's; empty for all.
    limit : int or None
        Only the first so many items; None for all.
    asks : bool
        Whether to ask at all; without, everything is made from what is stored.
    watch : callable
        Called with a `Progress` after every outcome.

    Returns
    -------
    Elicitation
        `result` (numbers and findings), `answers`, `replies`, `outputs` (data frames), `folder`.

    Raises
    ------
    MeasurandError
        Before the first request, if the study can't be asked, with the reasons; if the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from measurand.eliciting import Design, Item, System, Verification, verification_phrasings
    >>> design = Design(
    ...     items=[Item("1", "What a day!"), Item("2", "Oh no.")],
    ...     criteria=["joy", "fear"],
    ...     systems=[System("F", "fake")],
    ...     readouts=[Verification(verification_phrasings("sentence")[:1])],
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = elicit(design, out=folder)
    ...     run.answers[["item", "criterion", "status"]].values.tolist()
    [['1', 'joy', 'ok'], ['1', 'fear', 'ok'], ['2', 'joy', 'ok'], ['2', 'fear', 'ok']]
    """
    started = datetime.datetime.now(datetime.UTC)
    if isinstance(study, Design):
        if out is None:
            raise MeasurandError("a design names no folder; give one as out")
        design, title, folder = study, "Answers of systems", Path(out)
        sources: Sequence[Path] = ()
        settings: dict[str, Any] = {"seed": study.seed}
        made_from: dict[str, Any] = {}
    else:
        from measurand.study_file import read_study
        from measurand.study_steps import MADE_FROM, asked_from

        declared = read_study(Path(study))
        design, title, folder = declared.design(), declared.name, Path(out or declared.out)
        sources, settings = declared.sources, declared.resolved()
        part = {"systems": list(systems), "readouts": list(readouts), "limit": limit}
        made_from = {MADE_FROM: asked_from(declared, part=part)}
    return run_elicitation(
        chosen(design, systems=systems, readouts=readouts),
        folder,
        title=title,
        document=lambda: (
            manifest(
                sources,
                command="measurand.elicit",
                settings=settings | {"systems": list(systems), "readouts": list(readouts), "limit": limit},
                started=started,
            )
            | made_from
        ),
        limit=limit,
        asks=asks,
        watch=watch,
    )


def run_elicitation(
    design: Design,
    out: Path,
    *,
    title: str,
    document: Callable[[], Mapping[str, Any]],
    limit: int | None = None,
    asks: bool = True,
    replicates: int = 2000,
    confidence: float = 0.95,
    watch: Watch = lambda _: None,
    opened: Callable[[System], Engine] = open_engine,
) -> Elicitation:
    """Ask what is not answered yet, and write tables, protocol cards, numbers and a page from all that is.

    Parameters
    ----------
    design : Design
        The study.
    out : Path
        The study's folder: `store` in it keeps what engines said and is only ever added to, `elicit` is written anew.
    title : str
        Headline of the page.
    document : callable
        Returns the run's manifest (see `measurand.study.manifest`) once it is over.
    limit : int or None
        Only the first so many items; None for all.
    asks : bool
        Whether to ask at all; without, everything is made from what is stored.
    replicates : int
        Bootstrap replicates of intervals.
    confidence : float
        Level of intervals.
    watch : callable
        Called with the progress after every outcome.
    opened : callable
        System to engine.

    Returns
    -------
    Elicitation
        Numbers, findings, and where they are.

    Raises
    ------
    MeasurandError
        As for `measurand.eliciting.run.elicit`, and if the folder cannot be written.
    """
    if replicates < FEWEST_REPLICATES:
        raise MeasurandError(f"{replicates} replicates; an interval needs at least {FEWEST_REPLICATES}")
    folder = out / RUN
    check_out(folder)
    elicited = ask_all(design, out / STORE, limit=limit, asks=asks, watch=watch, opened=opened)
    with tempfile.TemporaryDirectory(prefix=f".{RUN}-", dir=out) as temporary:
        tables = Tables(elicited)
        written = tables.write(Path(temporary))
        rows = accounts.rows(elicited, tables.arms, replicates=replicates, confidence=confidence)
        card = cards(elicited)
        settings = {
            "elicitation": {"protocol": card, "replicates": replicates, "confidence": confidence},
            **{name: {} for name in ("attempts", "proofs", "acquiescence", "repeats")},
        }
        present = {row.analysis for row in rows} | {"elicitation"}
        found = findings.findings(elicited, tables.arms, rows)
        gated = _gates(elicited, Path(temporary) / ANSWERS, replicates=replicates, confidence=confidence)
        result = Result(
            [*rows, *gated.rows],
            {**{name: one for name, one in settings.items() if name in present}, **gated.settings},
            [*found, *gated.findings],
        )
        protocol = Path(temporary) / PROTOCOL
        protocol.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
        write_run(result, folder, title=title, document=document(), beside=[*written, protocol])
    return Elicitation(result, elicited, folder)


def _gates(elicited: Elicited, path: Path, *, replicates: int, confidence: float) -> Result:
    """Ask of what was answered whether it may be scored; of repeats the first, and nothing of what is derived."""
    if not path.is_file():
        return Result([])
    table, design = read_table(path), elicited.design
    asked = [readout.name for readout in design.readouts]
    answers = read_answers(table[(table["repeat"].astype(int) == 0) & table["readout"].isin(asked)])
    if not answers.is_answered.any():
        return Result([])
    examples = {tuple(one.rule.example) for one in design.readouts if isinstance(one, Generative)}
    example = next(iter(examples)) if len(examples) == 1 else ()
    # A probability moves by at most a quarter of what its log-odds move by.
    found = [proof.value / 4 for one in elicited.asked for proof in one.proven.proofs if proof.value is not None]
    return gates(
        answers,
        example=example,
        noise=min(max(found), MOST_NOISE) if found else NOISE,
        replicates=replicates,
        confidence=confidence,
        seed=design.seed,
    )
