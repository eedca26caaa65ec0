"""The command that asks whether answers may be scored: gates."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from measurand.cli_choices import (
    AnswerCriterionOption,
    AnswerItemOption,
    AnswerOption,
    AnswerRatedOption,
    AnswerRepeatsOption,
    AnswersArgument,
    AnswerSystemOption,
    ConfidenceOption,
    CsvOption,
    ExampleOption,
    JsonOption,
    LabelOption,
    NoiseOption,
    Rated,
    RatedSystemOption,
    TruthOption,
    grouped,
    read_choices,
    read_graded,
    read_labels,
    read_rated_ratings,
    refuse_outputs,
)
from measurand.cli_options import (
    CriterionOption,
    ItemOption,
    LabelsOption,
    LevelOption,
    OutOption,
    QuietOption,
    RaterOption,
    RatingOption,
    RepeatsChoice,
    RepeatsOption,
    ScaleOption,
    SeedOption,
    WideOption,
    progress,
    refuse,
    split,
)
from measurand.cli_reading import (
    OF_RATINGS,
    DecimalOption,
    Declared,
    DelimiterOption,
    MissingOption,
    read_declared_ratings,
    telling,
)
from measurand.cli_scoring import finish


def gates(
    answers: AnswersArgument,
    ratings: Annotated[
        Path | None, typer.Option("--ratings", help="Ratings of the same items, for input sensitivity and duplicates.")
    ] = None,
    truth: TruthOption = None,
    label: LabelOption = None,
    item: ItemOption = None,
    system: RatedSystemOption = None,
    rater: RaterOption = None,
    rating: RatingOption = None,
    criterion: CriterionOption = None,
    wide: WideOption = "",
    scale: ScaleOption = None,
    level: LevelOption = None,
    labels: LabelsOption = "",
    repeats: RepeatsOption = RepeatsChoice.refuse,
    answer: AnswerOption = None,
    answer_item: AnswerItemOption = None,
    answer_system: AnswerSystemOption = None,
    answer_criterion: AnswerCriterionOption = None,
    answer_rated: AnswerRatedOption = None,
    answer_repeats: AnswerRepeatsOption = RepeatsChoice.refuse,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    example: ExampleOption = "",
    noise: NoiseOption = 0.031,
    permutations: Annotated[int, typer.Option("--permutations", min=99, help="Shuffles of the items.")] = 999,
    replicates: Annotated[int, typer.Option("--replicates", min=100, help="Bootstrap replicates.")] = 2000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    title: Annotated[str, typer.Option("--title", help="Headline of the report.")] = "Gates",
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """May these answers be scored? Exit status 1 if a gate fails."""
    from measurand.scoring.gates import gates as run_gates
    from measurand.study import check_out

    started = datetime.datetime.now(datetime.UTC)
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    if answer_rated is not None and system is None:
        refuse("--answer-rated goes with --system, the ratings' column with whose output was rated")
    if system is not None and ratings is None:
        refuse("--system says whose output was rated, and there are no ratings; give them with --ratings")
    if system is not None and truth is not None:
        refuse("--system is about ratings of outputs and does not go with --truth; leave out one of them")
    if out is not None:
        check_out(out)
    columns = {
        "system": answer_system,
        "item": answer_item or item,
        "answer": answer,
        "criterion": answer_criterion or criterion,
    }
    inputs = [answers, *(path for path in (ratings, truth) if path is not None)]
    declared = Declared(delimiter, decimal, missing, inputs)
    table = None
    rated = None if system is None else Rated(system, answer_rated)
    if ratings is not None:
        frame = None
        if rated is not None:
            with telling(ratings, OF_RATINGS):
                frame = read_rated_ratings(ratings, rated, declared.of(ratings), item=item, items=None)
        table = read_declared_ratings(
            ratings,
            declared,
            item=item,
            rater=rater,
            rating=rating,
            criterion=criterion,
            wide=wide,
            scale=scale,
            level=level,
            labels=labels,
            repeats=repeats,
            frame=frame,
        )
        refuse_outputs(table, ratings)
    if truth is None:
        given = read_graded([answers], columns, answer_repeats, table, declared, rated)
    else:
        given = read_choices(answers, columns, answer_repeats, declared)
    about_items = None if truth is None else read_labels(truth, declared, item=columns["item"], label=label)
    if rated is not None and table is not None:
        about_items = grouped(table)
    with progress(quiet=quiet) as told:
        result = run_gates(
            given,
            ratings=table,
            items=about_items,
            example=split(example),
            noise=noise,
            permutations=permutations,
            replicates=replicates,
            confidence=confidence,
            seed=seed,
            progress=told,
        )
    settings = {
        "columns": columns,
        **({} if rated is None else {"rated": rated._asdict()}),
        **declared.settings,
        "example": split(example),
        "noise": noise,
        "permutations": permutations,
        "replicates": replicates,
        "confidence": confidence,
        "seed": seed,
        "title": title,
    }
    finish(result, inputs, settings, started, title=title, out=out, as_json=as_json, as_csv=as_csv, quiet=quiet)
    if any(finding.verdict == "fail" for finding in result.findings):
        raise typer.Exit(1)
