"""Arguments and choices of the commands about answers, and how they read their tables."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from measurand.cli_options import RepeatsChoice, refuse
from measurand.cli_reading import OF_ANSWERS, OF_ITEMS, Declared, telling

if TYPE_CHECKING:
    from measurand.data import Answers, Outputs, Ratings
    from measurand.data.marks import Marks

AnswersArgument = Annotated[
    Path,
    typer.Argument(help="Answers: columns system, item, answer, and criterion where there are several; else optional."),
]
AnswerOption = Annotated[str | None, typer.Option("--answer", help="Column with the answer.", show_default="answer")]
AnswerItemOption = Annotated[
    str | None, typer.Option("--answer-item", help="Column with the item in the answers.", show_default="as --item")
]
AnswerSystemOption = Annotated[
    str | None, typer.Option("--answer-system", help="Column with the system.", show_default="system")
]
AnswerCriterionOption = Annotated[
    str | None,
    typer.Option("--answer-criterion", help="Column with the criterion in the answers.", show_default="as --criterion"),
]
RatedSystemOption = Annotated[
    str | None,
    typer.Option(
        "--system",
        help="Column of the ratings with whose output was rated: each output is then an item, and systems are judges.",
    ),
]
AnswerRatedOption = Annotated[
    str | None,
    typer.Option(
        "--answer-rated", help="With --system: column of the answers with whose output was judged.", show_default="same"
    ),
]
AnswerRepeatsOption = Annotated[
    RepeatsChoice, typer.Option("--answer-repeats", help="Several answers to one question under one protocol.")
]
TruthOption = Annotated[
    Path | None,
    typer.Option("--truth", help="Items with the label that is true of each (item, label, group): forced choice."),
]
LabelOption = Annotated[
    str | None, typer.Option("--label", help="With --truth: column with the true label.", show_default="label")
]
ItemsOption = Annotated[
    Path | None, typer.Option("--items", help="Items with the group that is redrawn as a whole (item, group).")
]
ConfidenceOption = Annotated[float, typer.Option("--confidence", help="Level of all intervals.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with status 1 if a finding fails.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write results.json to stdout instead of the summary.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Write all rows as CSV to stdout instead of the summary.")]
ExampleOption = Annotated[
    str, typer.Option("--example", metavar="A,B,…", help="Criteria that the prompt's own example named.")
]
NoiseOption = Annotated[
    float, typer.Option("--noise", min=0.0, help="Numerical noise of a probability (bf16 batches: .031).")
]


class StatisticChoice(StrEnum):
    """Statistics of answers against ratings."""

    kappa_quadratic = "kappa_quadratic"
    kappa_linear = "kappa_linear"
    kappa_unweighted = "kappa_unweighted"
    spearman = "spearman"
    mean_absolute_error = "mean_absolute_error"
    average_precision = "average_precision"
    auroc = "auroc"


class CalibrateChoice(StrEnum):
    """Calibration of answers."""

    rank = "rank"
    none = "none"


class FitChoice(StrEnum):
    """Where a calibration takes its distribution from."""

    held_out = "held_out"
    oracle = "oracle"


class TargetChoice(StrEnum):
    """What distribution answers are given."""

    ratings = "ratings"
    consensus = "consensus"


class TiesChoice(StrEnum):
    """What equal answers are given."""

    block = "block"
    midrank = "midrank"
    by_index = "index"
    random = "random"


class ClassTiesChoice(StrEnum):
    """Who is chosen where several classes share the maximum."""

    shared = "split"
    undecided = "undecided"
    first = "first"


class AggregateChoice(StrEnum):
    """How pairs of answers and ratings become one number."""

    pooled = "pooled"
    identity = "identity"


class AnchorChoice(StrEnum):
    """Human yardsticks."""

    pairwise = "pairwise"
    leave_one_out = "leave_one_out"
    noise_ceiling = "noise_ceiling"
    rater_calibrated = "rater_calibrated"
    leave_one_out_calibrated = "leave_one_out_calibrated"


class BaselineChoice(StrEnum):
    """Yardsticks without a human or an item."""

    all_low = "all_low"
    all_high = "all_high"
    uniform_random = "uniform_random"
    criterion_mean = "criterion_mean"
    marginal = "marginal"
    shuffled = "shuffled"


class OverChoice(StrEnum):
    """What is redrawn."""

    item = "item"
    group = "group"
    rater = "rater"
    both = "item+rater"
    group_rater = "group+rater"


class PositiveChoice(StrEnum):
    """Which items are positive."""

    any = "any"
    majority = "majority"
    median = "median"


class LengthUnitChoice(StrEnum):
    """What lengths of outputs are counted in."""

    emoji = "emoji"
    emoji_or_text = "emoji_or_text"
    non_ascii_grapheme = "non_ascii_grapheme"
    non_ascii_character = "non_ascii_character"
    grapheme = "grapheme"
    word = "word"
    character = "character"
    byte = "byte"
    given = "length"


class ScorePresetChoice(StrEnum):
    """Protocols of papers."""

    readout_paper = "readout-paper"


class Rated(NamedTuple):
    """Whose outputs raters and systems graded: the ratings' column, and that of the answers."""

    system: str
    in_answers: str | None

    def answers(self, frame: Any, columns: dict[str, str | None]) -> Any:
        """Return answers in which each output is an item."""
        from measurand.data.judged import outputs_as_items

        own = _present(frame, columns)
        column = self.in_answers or self.system
        if column not in frame or column == (own["system"] or "system"):
            there = ", ".join(map(repr, list(frame.columns)[:12]))
            refuse(
                f"answers: no column {column!r} that says whose output was judged; the table has {there}. Name it with "
                "--answer-rated; the system of the answers is the judge (--answer-system)"
            )
        made = outputs_as_items(frame, item=own["item"] or "item", system=column)
        return made if "group" in frame else made.drop(columns="group")


def read_rated_ratings(path: Path, rated: Rated, marks: Marks, *, item: str | None, items: Any) -> Any:
    """Read ratings of outputs as a frame in which each output is an item."""
    from measurand.data.judged import outputs_as_items
    from measurand.data.read import read_table

    frame = read_table(path, delimiter=marks.delimiter)
    groups = None if items is None or "group" not in items else items.set_index("item")["group"]
    return outputs_as_items(frame, item=item or "item", system=rated.system, groups=groups)


def grouped(table: Ratings) -> Any:
    """Return the outputs that were rated, each with the item that it belongs to."""
    frame = table.frame[["item", "group"]].drop_duplicates("item", ignore_index=True)
    return frame.assign(item=frame["item"].astype(str))


def refuse_outputs(table: Ratings, path: Path) -> None:
    """Refuse ratings of outputs where nobody said that systems judged these."""
    if "system" in table.frame:
        refuse(
            f"{path}: these ratings have systems: they grade outputs, which systems can answer as judges alone. If "
            "that is what they did, say so: --system names the ratings' column, --answer-rated that of the answers, "
            "and each output is an item. Else audit the systems that were rated (measurand audit), or drop the column "
            "if raters rated the items themselves"
        )


def read_graded(
    paths: list[Path],
    columns: dict[str, str | None],
    repeats: RepeatsChoice,
    table: Ratings | None,
    declared: Declared,
    rated: Rated | None = None,
) -> Answers:
    """Read answers as numbers; several tables become one."""
    import pandas as pd

    from measurand.data import read_answers
    from measurand.data.read import read_table

    scale = None if table is None else table.scales
    if len(paths) == 1:
        marks = declared.of(paths[0])
        with telling(paths[0], OF_ANSWERS):
            frame = read_table(paths[0], delimiter=marks.delimiter)
            frame = frame if rated is None else rated.answers(frame, columns)
            return _answers(frame, _present(frame, columns), repeats, marks, scale=scale)
    frames = []
    for path in paths:
        marks = declared.of(path)
        with telling(path, OF_ANSWERS):
            frame = read_table(path, delimiter=marks.delimiter)
            frame = frame if rated is None else rated.answers(frame, columns)
            named = {column: role for role, column in _present(frame, columns).items() if column is not None}
            frame = frame.rename(columns=named)
            # Each in its own spelling, so that together they have one.
            of_scale = {label for one in (scale or {}).values() for label in one.labels}
            for column in ("answer", "mass", "log_odds", "attempt"):
                if column in frame:
                    frame[column] = marks.plain(frame[column], column, labels=of_scale)
            frames.append(frame)
    with telling(paths, OF_ANSWERS):
        return read_answers(pd.concat(frames, ignore_index=True), scale=scale, repeats=repeats.value)


def _answers(
    frame: Any,
    named: dict[str, str | None],
    repeats: RepeatsChoice,
    marks: Marks,
    *,
    scale: Any = None,
    labels: bool = False,
) -> Answers:
    from measurand.data import read_answers

    return read_answers(
        frame,
        system=named["system"],
        item=named["item"],
        answer=named["answer"],
        criterion=named["criterion"],
        scale=scale,
        labels=labels,
        repeats=repeats.value,
        decimal=marks.decimal,
        missing=marks.missing,
    )


def _present(frame: Any, columns: dict[str, str | None]) -> dict[str, str | None]:
    """Return the columns to read: a name that ratings have (--item) counts for answers only if they have it, too."""
    there = set(map(str, frame.columns))
    optional = ("item", "criterion")
    return {
        role: None if role in optional and name is not None and name not in there and role in there else name
        for role, name in columns.items()
    }


def read_choices(path: Path, columns: dict[str, str | None], repeats: RepeatsChoice, declared: Declared) -> Answers:
    """Read answers as graded where every one is a number, and as names of classes where one is not."""
    from measurand.data.answers import hold_names
    from measurand.data.read import read_table

    marks = declared.of(path)
    with telling(path, OF_ANSWERS):
        frame = read_table(path, delimiter=marks.delimiter)
        named = _present(frame, columns)
        answer = named["answer"] or "answer"
        plain = frame.assign(**{answer: marks.plain(frame[answer], answer)}) if answer in frame else frame
        return _answers(frame, named, repeats, marks, labels=hold_names(plain, answer))


def read_rated(
    path: Path,
    marks: Marks,
    *,
    item: str | None,
    system: str | None,
    own_item: str | None,
    own_system: str | None,
    text: str | None,
    length: str | None,
) -> Outputs:
    """Read the outputs that were rated; a name that ratings have (--item) counts only if this table has it, too."""
    from measurand.data import read_outputs
    from measurand.data.read import read_table

    frame = read_table(path, delimiter=marks.delimiter)
    item, system = own_or_shared(frame, (own_item, item), (own_system, system))
    return read_outputs(
        frame, item=item, system=system, text=text, length=length, decimal=marks.decimal, missing=marks.missing
    )


def own_or_shared(frame: Any, *names: tuple[str | None, str | None]) -> list[str | None]:
    """Return for each column its own name, or that of the other table if this one has it, too."""
    there = set(map(str, frame.columns))
    return [own or (shared if shared in there else None) for own, shared in names]


def read_labels(path: Path, declared: Declared, *, item: str | None, label: str | None = None) -> Any:
    """Read the labels of items; a name that answers have (--item) counts only if this table has it, too."""
    from measurand.data import read_items
    from measurand.data.read import read_table

    with telling(path, OF_ITEMS):
        frame = read_table(path, delimiter=declared.of(path).delimiter)
        there = set(map(str, frame.columns))
        return read_items(frame, item=item if item in there else "item", label=label)
