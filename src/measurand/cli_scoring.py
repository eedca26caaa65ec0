"""The command that scores answers: score."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from measurand.cli_choices import (
    AggregateChoice,
    AnchorChoice,
    AnswerCriterionOption,
    AnswerItemOption,
    AnswerOption,
    AnswerRatedOption,
    AnswerRepeatsOption,
    AnswersArgument,
    AnswerSystemOption,
    BaselineChoice,
    CalibrateChoice,
    ClassTiesChoice,
    ConfidenceOption,
    CsvOption,
    ExampleOption,
    FitChoice,
    ItemsOption,
    JsonOption,
    LabelOption,
    NoiseOption,
    OverChoice,
    PositiveChoice,
    Rated,
    RatedSystemOption,
    ScorePresetChoice,
    StatisticChoice,
    StrictOption,
    TargetChoice,
    TiesChoice,
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
    command,
    progress,
    refuse,
    show,
    split,
)
from measurand.cli_reading import (
    OF_ITEMS,
    OF_RATINGS,
    DecimalOption,
    Declared,
    DelimiterOption,
    MissingOption,
    read_declared_ratings,
    telling,
)

if TYPE_CHECKING:
    from measurand.result import Result


def score(
    answers: AnswersArgument,
    ratings: Annotated[
        Path | None, typer.Argument(help="Ratings of the same items by several raters: item, rater, rating, criterion.")
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
    more: Annotated[
        list[Path] | None, typer.Option("--with", help="Another answers table to score beside it (repeatable).")
    ] = None,
    items: ItemsOption = None,
    systems: Annotated[
        Path | None, typer.Option("--systems", help="Systems with their number of parameters (system, parameters).")
    ] = None,
    statistic: Annotated[
        list[StatisticChoice] | None,
        typer.Option(
            "--statistic",
            help="Repeatable; contrasts and findings are about the first. Paper: kappa_quadratic.",
            show_default="kappa_quadratic",
        ),
    ] = None,
    calibrate: Annotated[
        list[CalibrateChoice] | None,
        typer.Option(
            "--calibrate",
            help="Answers to levels of the scale; repeatable, the first is the headline's. Paper: rank.",
            show_default="rank, none",
        ),
    ] = None,
    fit: Annotated[
        FitChoice | None,
        typer.Option(
            "--fit",
            help="Fit calibration on other folds, or on the items it scores (an upper bound). Paper: oracle.",
            show_default="held_out",
        ),
    ] = None,
    target: Annotated[
        TargetChoice | None,
        typer.Option(
            "--target",
            help="Give answers the distribution of single ratings, or of rounded means. Paper: consensus.",
            show_default="ratings",
        ),
    ] = None,
    ties: Annotated[
        TiesChoice | None,
        typer.Option("--ties", help="What equal answers get; all four are shown. Paper: index.", show_default="block"),
    ] = None,
    aggregate: Annotated[
        AggregateChoice | None,
        typer.Option(
            "--aggregate",
            help="Pool all pairs of a criterion, or average over raters. Paper: pooled.",
            show_default="pooled",
        ),
    ] = None,
    anchors: Annotated[
        list[AnchorChoice] | None,
        typer.Option("--anchors", help="Human yardsticks (repeatable). Paper: pairwise.", show_default="all"),
    ] = None,
    baselines: Annotated[
        list[BaselineChoice] | None,
        typer.Option(
            "--baselines",
            help="Trivial yardsticks (repeatable). Paper: all but marginal, shuffled.",
            show_default="all",
        ),
    ] = None,
    over: Annotated[
        list[OverChoice] | None,
        typer.Option(
            "--over",
            help="What intervals redraw; repeatable, the first is the headline's. Paper: item.",
            show_default="item, item+rater; with groups group, group+rater",
        ),
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option("--replicates", min=100, help="Bootstrap replicates. Paper: 500.", show_default="2000"),
    ] = None,
    reliable: Annotated[
        float, typer.Option("--reliable", help="Interval alpha from which a criterion is reliable. Paper: .30.")
    ] = 0.30,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds of held-out calibration. Paper: 2.")] = 5,
    fold_repeats: Annotated[int, typer.Option("--fold-repeats", min=1, help="How often folds are dealt.")] = 2,
    positive: Annotated[
        PositiveChoice, typer.Option("--positive", help="Positive items of average precision and AUROC. Paper: any.")
    ] = PositiveChoice.any,
    equivalence: Annotated[
        float | None,
        typer.Option("--equivalence", help="Margin, in kappa, within which a system is as good as an anchor."),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", help="Of the alternative annotator test: .1 beside a crowd, .2 beside experts."),
    ] = 0.1,
    preset: Annotated[
        ScorePresetChoice | None, typer.Option("--preset", help="Choices of a paper, where none is named here.")
    ] = None,
    with_gates: Annotated[
        bool, typer.Option("--gates/--no-gates", help="Ask first whether the answers may be scored.")
    ] = True,
    example: ExampleOption = "",
    noise: NoiseOption = 0.031,
    class_ties: Annotated[
        ClassTiesChoice, typer.Option("--class-ties", help="With --truth: who is chosen among equal classes.")
    ] = ClassTiesChoice.shared,
    class_margin: Annotated[
        float, typer.Option("--class-margin", min=0.0, help="With --truth: gaps up to this count as ties.")
    ] = 0.0,
    by: Annotated[str, typer.Option("--by", help="With --truth: column of the items to break results down by.")] = "",
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    title: Annotated[
        str | None, typer.Option("--title", help="Headline of the report.", show_default="by the kind of run")
    ] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """Systems against each single rater, beside human anchors and trivial baselines; or against labels (--truth)."""
    from measurand.scoring.score import score as run_score
    from measurand.study import check_out

    started = datetime.datetime.now(datetime.UTC)
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    if (ratings is None) == (truth is None):
        refuse("give either a ratings table (score ANSWERS RATINGS) or labels (score ANSWERS --truth items.csv)")
    if truth is not None:
        of_ratings = {
            "--items": items,
            "--systems": systems,
            "--scale": scale,
            "--level": level,
            "--labels": labels,
            "--wide": wide,
            "--rater": rater,
            "--rating": rating,
            "--system": system,
            "--answer-rated": answer_rated,
            "--statistic": statistic,
            "--calibrate": calibrate,
            "--fit": fit,
            "--target": target,
            "--ties": ties,
            "--aggregate": aggregate,
            "--anchors": anchors,
            "--baselines": baselines,
            "--equivalence": equivalence,
            "--preset": preset,
        }
        if named := [name for name, value in of_ratings.items() if value]:
            refuse(f"{named[0]} is about ratings and does not go with --truth, where a label decides; leave it out")
    elif label is not None or by:
        refuse(f"{'--label' if label else '--by'} goes with --truth alone")
    if answer_rated is not None and system is None:
        refuse("--answer-rated goes with --system, the ratings' column with whose output was rated")
    if out is not None:
        check_out(out)
    if title is None:
        title = "Scores against raters" if truth is None else "Forced choice"
    columns = {
        "system": answer_system,
        "item": answer_item or item,
        "answer": answer,
        "criterion": answer_criterion or criterion,
    }
    inputs = [answers, *(more or []), *(path for path in (ratings, truth, items, systems) if path is not None)]
    declared = Declared(delimiter, decimal, missing, inputs)
    settings: dict[str, Any] = {"columns": columns, "seed": seed, "title": title, "confidence": confidence}
    settings |= declared.settings
    with progress(quiet=quiet) as told:
        if ratings is not None:
            rated = None if system is None else Rated(system, answer_rated)
            groups = None if items is None else read_labels(items, declared, item=item)
            frame = None
            if rated is not None:
                with telling(ratings, OF_RATINGS):
                    frame = read_rated_ratings(ratings, rated, declared.of(ratings), item=item, items=groups)
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
            given = read_graded([answers, *(more or [])], columns, answer_repeats, table, declared, rated)
            chosen = _choices(
                preset,
                {
                    "statistics": _values(statistic),
                    "calibrate": _values(calibrate),
                    "fit": None if fit is None else fit.value,
                    "target": None if target is None else target.value,
                    "ties": None if ties is None else ties.value,
                    "aggregate": None if aggregate is None else aggregate.value,
                    "anchors": _values(anchors),
                    "baselines": _values(baselines),
                    "over": _values(over),
                    "replicates": replicates,
                },
            ) | {
                "reliable": reliable,
                "folds": folds,
                "fold_repeats": fold_repeats,
                "positive": positive.value,
                "margin": equivalence,
                "epsilon": epsilon,
                "gates": with_gates,
                "example": split(example),
                "noise": noise,
                "confidence": confidence,
                "seed": seed,
            }
            result = run_score(
                given,
                table,
                items=groups if rated is None else grouped(table),
                systems=None if systems is None else _systems(systems, declared),
                progress=told,
                **chosen,
            )
            settings |= chosen | ({} if rated is None else {"rated": rated._asdict()})
        elif truth is not None:
            redrawn = _redrawn(_values(over))
            result = _choose(
                [answers, *(more or [])],
                truth,
                columns,
                answer_repeats,
                declared,
                {
                    "ties": class_ties.value,
                    "margin": class_margin,
                    "by": by,
                    "over": redrawn,
                    "replicates": replicates or 2000,
                    "confidence": confidence,
                    "seed": seed,
                },
                label=label,
                gating={"example": split(example), "noise": noise} if with_gates else None,
                told=told,
            )
            settings |= {"ties": class_ties.value, "margin": class_margin, "by": by, "over": redrawn}
            settings |= {"gates": with_gates, "label": label}
    finish(
        result,
        inputs,
        settings,
        started,
        title=title,
        out=out,
        as_json=as_json,
        as_csv=as_csv,
        quiet=quiet,
    )
    if strict and any(finding.verdict == "fail" for finding in result.findings):
        raise typer.Exit(1)


def _systems(path: Path, declared: Declared) -> Any:
    from measurand.data import read_systems

    marks = declared.of(path)
    with telling(path, OF_ITEMS):
        return read_systems(path, delimiter=marks.delimiter, decimal=marks.decimal, missing=marks.missing)


def _redrawn(over: tuple[str, ...] | None) -> str | None:
    """Return what forced choice redraws."""
    if over is None:
        return None
    if len(over) > 1 or "rater" in over[0]:
        refuse("with --truth there are no raters to redraw: give one --over, item or group")
    return over[0]


def _values(chosen: list[Any] | None) -> tuple[str, ...] | None:
    return None if not chosen else tuple(one.value for one in chosen)


def _choices(preset: ScorePresetChoice | None, named: dict[str, Any]) -> dict[str, Any]:
    """Return what was named on the command line, and for the rest what the preset says."""
    from measurand.scoring.score import PRESETS

    of_preset = {} if preset is None else PRESETS[preset.value]
    return dict(of_preset) | {name: value for name, value in named.items() if value is not None}


def _choose(
    paths: list[Path],
    truth: Path,
    columns: dict[str, str | None],
    repeats: RepeatsChoice,
    declared: Declared,
    chosen: dict[str, Any],
    *,
    label: str | None,
    gating: Any,
    told: Any,
) -> Result:
    from measurand.scoring.forced_choice import forced_choice
    from measurand.scoring.gates import gates as run_gates

    labels = read_labels(truth, declared, item=columns["item"], label=label)
    tables = [read_choices(path, columns, repeats, declared) for path in paths]
    result = forced_choice(tables, labels, progress=told, **chosen)
    if gating is not None:
        for one in tables:
            gated = run_gates(
                one, items=labels, confidence=chosen["confidence"], seed=chosen["seed"], progress=told, **gating
            )
            result = result + gated
    return result


def finish(
    result: Result,
    inputs: list[Path],
    settings: dict[str, Any],
    started: datetime.datetime,
    *,
    title: str,
    out: Path | None,
    as_json: bool,
    as_csv: bool,
    quiet: bool,
) -> None:
    """Write the run's folder where one is named, and show the result."""
    from measurand.study import manifest, write_run

    if out is not None:
        document = manifest(inputs, command=command(), settings=settings, started=started)
        write_run(result, out, title=title, document=document)
    show(result, as_json=as_json, as_csv=as_csv)
    if out is not None and not quiet:
        typer.echo(f"Report: {out / 'report.html'}", err=True)
