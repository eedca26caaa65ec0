"""Arguments and choices of the commands about answers, and how they read their tables."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from measurand.cli_options import RepeatsChoice

if TYPE_CHECKING:
    from measurand.data import Answers, Outputs, Ratings

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


def read_graded(
    paths: list[Path], columns: dict[str, str | None], repeats: RepeatsChoice, table: Ratings | None
) -> Answers:
    """Read answers as numbers; several tables become one."""
    import pandas as pd

    from measurand.data import read_answers
    from measurand.data.read import read_table

    scale = None if table is None else table.scales
    if len(paths) == 1:
        frame = read_table(paths[0])
        return _answers(frame, _present(frame, columns), repeats, scale=scale)
    frames = []
    for path in paths:
        frame = read_table(path)
        named = {column: role for role, column in _present(frame, columns).items() if column is not None}
        frames.append(frame.rename(columns=named))
    return read_answers(pd.concat(frames, ignore_index=True), scale=scale, repeats=repeats.value)


def _answers(
    frame: Any, named: dict[str, str | None], repeats: RepeatsChoice, *, scale: Any = None, labels: bool = False
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
    )


def _present(frame: Any, columns: dict[str, str | None]) -> dict[str, str | None]:
    """Return the columns to read: a name that ratings have (--item) counts for answers only if they have it, too."""
    there = set(map(str, frame.columns))
    optional = ("item", "criterion")
    return {
        role: None if role in optional and name is not None and name not in there and role in there else name
        for role, name in columns.items()
    }


def read_choices(path: Path, columns: dict[str, str | None], repeats: RepeatsChoice) -> Answers:
    """Read answers as graded where every one is a number, and as names of classes where one is not."""
    from measurand.data.answers import hold_names
    from measurand.data.read import read_table

    frame = read_table(path)
    named = _present(frame, columns)
    labels = hold_names(frame, named["answer"] or "answer")
    return _answers(frame, named, repeats, labels=labels)


def read_rated(
    path: Path,
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

    frame = read_table(path)
    item, system = own_or_shared(frame, (own_item, item), (own_system, system))
    return read_outputs(frame, item=item, system=system, text=text, length=length)


def own_or_shared(frame: Any, *names: tuple[str | None, str | None]) -> list[str | None]:
    """Return for each column its own name, or that of the other table if this one has it, too."""
    there = set(map(str, frame.columns))
    return [own or (shared if shared in there else None) for own, shared in names]


def read_labels(path: Path, *, item: str | None, label: str | None) -> Any:
    """Read the labels of items; a name that answers have (--item) counts only if this table has it, too."""
    from measurand.data import read_items
    from measurand.data.read import read_table

    frame = read_table(path)
    there = set(map(str, frame.columns))
    return read_items(frame, item=item if item in there else "item", label=label)
