"""A whole study: ask, score, audit, one page about all of it; what a step is made from decides whether it is made."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measurand.result import Result
from measurand.result.notebook import lines_in_html
from measurand.study import ASKED, asked_when, check_out, manifest, version, write_run
from measurand.study_steps import MADE_FROM, asked_from, changed, digest, hashes

if TYPE_CHECKING:
    from measurand.data.answers import Answers
    from measurand.eliciting.asking import Watch
    from measurand.eliciting.engine import Engine
    from measurand.eliciting.run import Elicited
    from measurand.eliciting.system import System
    from measurand.study_file import StudyFile
    from measurand.study_scoring import Held

#: The steps, each a folder of the study's `out`; what the asking keeps lies beside them in `store`.
ELICIT: Final = "elicit"
SCORE: Final = "score"
AUDIT: Final = "audit"
REPORT: Final = "report"
_ANSWERS: Final = "answers.csv"
_RESULTS: Final = "results.json"

Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Step:
    """What became of a step.

    Parameters
    ----------
    name : str
        ``elicit``, ``score``, ``audit`` or ``report``.
    state : {"made", "unchanged", "left out"}
        Whether it was made.
    why : str
        Why it was made, or left out.
    """

    name: str
    state: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.state}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, repr=False)
class StudyRun:
    """A study after its run.

    Parameters
    ----------
    result : Result
        All its numbers and findings.
    folder : Path
        Where its page is, `report.html`, with the numbers, `results.json`.
    is_complete : bool
        Whether every request has an answer and every engine passed its tests.
    steps : sequence of Step
        What was made, and what was there already.
    elicited : Elicited or None
        What was asked of whom; None where nothing had to be asked.
    """

    result: Result
    folder: Path
    is_complete: bool
    steps: Sequence[Step] = ()
    elicited: Elicited | None = None

    def __str__(self) -> str:
        return f"{self.result}\n\n{chr(10).join(self._lines())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.result._repr_html_()}{lines_in_html(self._lines())}"

    def _lines(self) -> list[str]:
        """Return what was made, what is missing, and where the page is."""
        told = [str(step) for step in self.steps]
        told += [] if self.is_complete else ["not complete: a request has no answer, or an engine failed its test"]
        return [*told, f"page: {self.folder / 'report.html'}"]


def run(
    study: str | Path,
    *,
    out: str | Path | None = None,
    title: str | None = None,
    command: str = "measurand.run",
    watch: Watch = lambda _: None,
    progress: Told | None = None,
    each: Callable[[Step], None] = lambda _: None,
    opened: Callable[[System], Engine] | None = None,
) -> StudyRun:
    r"""Ask, score, audit and report a study; safe to stop and start again, and nothing is done twice.

    Parameters
    ----------
    study : path
        A study file (see ``docs/study-file.md``).
    out : path or None
        The study's folder; None for the one that the file names.
    title : str or None
        Headline of the page; None for ``[report] title``, or else the study's name.
    command : str
        How the run was called, for the manifest.
    watch : callable
        Called with a `Progress` after every outcome of the asking.
    progress : callable or None
        Told, of the other steps, what is being computed, how many parts are done, and how many there are.
    each : callable
        Called with every step once it is over.
    opened : callable or None
        System to engine; None for the engine that the study names.

    Returns
    -------
    StudyRun
        `result` (all numbers and findings), `folder` (where the page is), `is_complete`, `steps`.

    Raises
    ------
    MeasurandError
        Before the first request, if the file or one of its tables can't be used, or the study can't be asked; later if
        answers and ratings do not fit each other, or a folder can't be written.

    Notes
    -----
    A step is left as it is where its folder is whole and what it was made from is what it would be made from now:
    measurand's version, the files' contents, and the settings that it reads. Of a step that is unchanged nothing is
    loaded: a study whose answers are all there is shown without its engines.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "items.csv").write_text("item,text\n" + "".join(f"{i},Day {i}\n" for i in range(12)))
    >>> rows = [f"{i},{rater},joy,{(i * k) % 5}" for i in range(12) for rater, k in (("A", 1), ("B", 2))]
    >>> _ = (folder / "ratings.csv").write_text("\n".join(["item,rater,criterion,rating", *rows]))
    >>> _ = (folder / "study.toml").write_text('''
    ... [study]
    ... name = "small"
    ... [data]
    ... items = "items.csv"
    ... ratings = "ratings.csv"
    ... [scale]
    ... low = 0
    ... high = 4
    ... step = 1
    ... [[system]]
    ... name = "S"
    ... engine = "fake"
    ... [elicit]
    ... readouts = ["verification"]
    ... phrasings = 1
    ... [score]
    ... resample = { n = 100 }
    ... ''')
    >>> print(*run(folder / "study.toml").steps, sep="\n")
    elicit: made (not made yet)
    score: made (not made yet)
    audit: made (not made yet)
    report: made (not made yet)
    >>> [step.state for step in run(folder / "study.toml").steps]
    ['unchanged', 'unchanged', 'unchanged', 'unchanged']
    """
    from measurand.study_file import read_study

    declared = read_study(Path(study))
    folder = Path(out) if out is not None else declared.out
    return _Run(declared, folder, title, command, watch, progress, each, opened).all()


@dataclass
class _Run:
    """One run of a study, step by step."""

    study: StudyFile
    out: Path
    title: str | None
    command: str
    watch: Watch
    progress: Told | None
    each: Callable[[Step], None]
    opened: Callable[[System], Engine] | None
    steps: list[Step] = field(default_factory=list)
    elicited: Elicited | None = None
    _known: dict[str, Result] = field(default_factory=dict)

    def all(self) -> StudyRun:
        """Make what has to be made, in order."""
        for name in (ELICIT, SCORE, AUDIT, REPORT):
            check_out(self.out / name)
        self.held.check()
        self._make_if(ELICIT, self._asked_from, self._elicit, why=self._lacks_answers())
        for name, made_from, make in (
            (SCORE, self._scored_from, self._score),
            (AUDIT, self._audited_from, self._audit),
        ):
            if reason := self._left_out(name):
                self._tell(Step(name, "left out", reason))
            else:
                self._make_if(name, made_from(), make)
        self._make_if(REPORT, self._reported_from(), self._report)
        found = self._of(REPORT)
        return StudyRun(found, self.out / REPORT, is_complete(self._asked), self.steps, self.elicited)

    def _make_if(
        self, name: str, made_from: Mapping[str, str], make: Callable[[Mapping[str, str]], None], *, why: str = ""
    ) -> None:
        reason = changed(self.out / name, made_from) or why
        if reason:
            make(made_from)
            self._known.pop(name, None)
        self._tell(Step(name, "made" if reason else "unchanged", reason))

    def _tell(self, step: Step) -> None:
        self.steps.append(step)
        self.each(step)

    @cached_property
    def held(self) -> Held:
        """What the answers are held against."""
        from measurand.study_scoring import Held

        return Held(self.study)

    # What there is

    def _of(self, name: str) -> Result:
        """Return what a step made, read once until it is made anew."""
        if name not in self._known:
            self._known[name] = Result.from_json(self.out / name / _RESULTS)
        return self._known[name]

    @property
    def _asked(self) -> Result:
        return self._of(ELICIT)

    @property
    def _table(self) -> Path:
        return self.out / ELICIT / _ANSWERS

    @cached_property
    def _answers(self) -> Answers:
        return self.held.answers(self._table)

    def _lacks_answers(self) -> str:
        """Return why a study must be asked although nothing changed; blank if everything is answered."""
        if not (self.out / ELICIT / _RESULTS).is_file():
            return "not made yet"
        return "" if is_complete(self._asked) else "not every request has an answer"

    def _left_out(self, name: str) -> str:
        if self.held.path is None:
            return "[data] names no ratings"
        needs_answers = name == SCORE or "agreement" in self.held.of_audit.objects
        if not needs_answers:
            return ""
        if "system" in self.held.ratings.frame:
            return "the ratings grade outputs of systems" if name == SCORE else ""
        if not (self._table.is_file() and has_answers(self._asked)) and not self.held.more:
            return "nothing was answered with a number"
        return ""

    # What the steps are made from

    @cached_property
    def _asked_from(self) -> dict[str, str]:
        return asked_from(self.study)

    @cached_property
    def _held_from(self) -> dict[str, str]:
        data = self.study.tables.data
        paths = {} if self.held.path is None else {"ratings": self.held.path}
        return {
            "measurand": version(),
            **hashes(paths | {"items": self.study.items.source}),
            "columns": digest(data.columns.model_dump(mode="json") | data.declared),
            "criteria": digest(list(self.study.criteria)),
            "scale": digest({name: one.to_dict() for name, one in self.study.scale.items()}),
            "seed": str(self.study.seed),
        }

    @cached_property
    def _answered_from(self) -> dict[str, str]:
        elicited = {"answers": self._table} if self._table.is_file() else {}
        more = {f"answers {name}": path for name, path in self.held.more.items()}
        return hashes(elicited | more) | {"readouts made of answers": digest(list(self.held.derived))}

    def _scored_from(self) -> dict[str, str]:
        from measurand.study_scoring import choices

        return {
            **self._held_from,
            **self._answered_from,
            "noise and example": digest(dict(self._asked.settings.get("gates", {}))),
            "how to score": digest(choices(self.held)),
            **({"controls": digest(self.held.controls)} if self.held.controls else {}),
        }

    def _calibrated_from(self) -> dict[str, str]:
        from measurand.study_scoring import choices, path_of

        return self._held_from | self._answered_from | {"calibration": digest(path_of(choices(self.held)))}

    def _audited_from(self) -> dict[str, str]:
        table, resample = self.held.of_audit, self.held.of_score.resample
        found = self._held_from | {"audit": digest([table.model_dump(mode="json"), resample.n, resample.level])}
        if self.held.outputs is not None:
            found |= hashes({"outputs": self.held.outputs})
        return found | (self._calibrated_from() if "agreement" in table.objects else {})

    def _reported_from(self) -> dict[str, str]:
        there = {f"results of {name}": self.out / name / _RESULTS for name in self._there()}
        n = self._n_examples()
        shown = {"items": self._asked_from["items"], **self._calibrated_from()} if n else {}
        return {
            "measurand": version(),
            **hashes(there),
            "title": digest(self._heading),
            "note": digest(self._note),
            "examples": digest([n, shown]),
        }

    # The steps

    def _elicit(self, made_from: Mapping[str, str]) -> None:
        from measurand.eliciting.engines import open_engine
        from measurand.study_eliciting import run_elicitation

        started = _now()
        found = run_elicitation(
            self.study.design(),
            self.out,
            title=self.study.name,
            document=lambda: self._document(self.study.sources, started, made_from),
            watch=self.watch,
            opened=self.opened or open_engine,
        )
        self.elicited = found.elicited

    def _score(self, made_from: Mapping[str, str]) -> None:
        from measurand.study_scoring import scored

        started = _now()
        found = scored(self.held, self._answers, self._asked, told=self.progress)
        self._write(SCORE, found, started, made_from)

    def _audit(self, made_from: Mapping[str, str]) -> None:
        from measurand.study_auditing import audited

        started = _now()
        needs_answers = "agreement" in self.held.of_audit.objects
        found = audited(self.held, self._answers if needs_answers else None, told=self.progress)
        self._write(AUDIT, found, started, made_from)

    def _report(self, made_from: Mapping[str, str]) -> None:
        from measurand.study_merging import merged

        started = _now()
        results = {name: self._of(name) for name in self._there()}
        n = self._n_examples()
        found = merged(self.study, results, note=self._note, examples=self._examples(n) if n else None)
        self._write(REPORT, found, started, made_from)

    def _examples(self, n: int) -> Result:
        from measurand.study_scoring import shown

        if self.progress is not None:
            self.progress("examples", 1, 2)
        return shown(self.held, self._answers, n)

    def _n_examples(self) -> int:
        """Return how many items the page shows: none where nothing was scored, or the items have no pictures."""
        has_pictures = any(path is not None for path in self.study.items.pictures)
        return self.held.of_report.examples if SCORE in self._there() and has_pictures else 0

    def _there(self) -> list[str]:
        left_out = {step.name for step in self.steps if step.state == "left out"}
        return [name for name in (ELICIT, SCORE, AUDIT) if name not in left_out]

    @property
    def _heading(self) -> str:
        return self.title or self.held.of_report.title or self.study.name

    @property
    def _note(self) -> str:
        return self.held.of_report.note or ""

    def _write(self, name: str, result: Result, started: datetime.datetime, made_from: Mapping[str, str]) -> None:
        sources = [*self.study.sources, self.study.items.source, *self.held.files]
        sources += [self._table] if self._table.is_file() else []
        document = self._document(list(dict.fromkeys(sources)), started, made_from)
        if name == REPORT:
            document |= {ASKED: asked_when(self.out / ELICIT)}
        heading = self._heading if name == REPORT else f"{self.study.name}: {name}"
        write_run(result, self.out / name, title=heading, document=document)

    def _document(
        self, sources: Sequence[Path], started: datetime.datetime, made_from: Mapping[str, str]
    ) -> dict[str, Any]:
        settings = self.study.resolved() | {"title": self._heading}
        found = manifest(sources, command=self.command, settings=settings, started=started)
        return found | {MADE_FROM: dict(made_from)}


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def is_complete(asked: Result) -> bool:
    """Return whether every request of an asking has an answer, and every engine passed its tests."""
    total = sum(row.estimate for row in asked.rows if (row.analysis, row.statistic) == ("elicitation", "n_requests"))
    done = sum(row.estimate for row in asked.rows if (row.analysis, row.statistic) == ("elicitation", "n_answered"))
    passed = all(row.estimate for row in asked.rows if (row.analysis, row.statistic) == ("proofs", "passed"))
    return done >= total and passed


def has_answers(asked: Result) -> bool:
    """Return whether an asking brought any answer that is a number."""
    there = ("n_ok", "n_repaired")
    return any(row.analysis == "elicitation" and row.statistic in there and row.estimate > 0 for row in asked.rows)
