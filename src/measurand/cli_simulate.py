"""The commands that make synthetic data with known truth."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from measurand.cli_options import SeedOption, assignments, split

app = typer.Typer(help="Make synthetic data with known truth.", no_args_is_help=True, rich_markup_mode=None)


class PresetChoice(StrEnum):
    """Panels with published figures."""

    two_emojis = "two-emojis"


@app.command("panel")
def simulate_panel(
    out: Annotated[Path, typer.Option("--out", help="File for the ratings: .csv, .tsv, .jsonl or .parquet.")],
    items: Annotated[int, typer.Option("--items", min=1, help="Number of items.")] = 290,
    systems: Annotated[int, typer.Option("--systems", min=0, help="Number of systems; 0 for none.")] = 8,
    raters: Annotated[int, typer.Option("--raters", min=1, help="Number of raters.")] = 3,
    component: Annotated[
        list[str] | None,
        typer.Option(
            "--component",
            metavar="NAME=VARIANCE",
            help="Variance of item, system, rater, item:system, item:rater, system:rater or residual (repeatable).",
        ),
    ] = None,
    mean_square: Annotated[
        list[str] | None,
        typer.Option(
            "--mean-square", metavar="NAME=VALUE", help="Exact mean square, in place of components (repeatable)."
        ),
    ] = None,
    mean: Annotated[float, typer.Option("--mean", help="Grand mean.")] = 0.0,
    scale: Annotated[
        str,
        typer.Option("--scale", metavar="LOW:HIGH[:STEP]", help="Clip to this scale; with a step also round to it."),
    ] = "",
    severity: Annotated[
        list[float] | None, typer.Option("--severity", help="Shift of each rater in scale units (repeatable).")
    ] = None,
    missing: Annotated[float, typer.Option("--missing", help="Share of cells left out at random.")] = 0.0,
    preset: Annotated[
        PresetChoice | None, typer.Option("--preset", help="two-emojis: the 290 x 8 x 3 panel of that paper.")
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """A rating panel of prescribed variance components or mean squares; its truth is written beside it."""
    from measurand.data import Scale
    from measurand.folders import refuse_to_replace, write_recorded
    from measurand.simulate import PRESETS
    from measurand.simulate import simulate_panel as make
    from measurand.study import write_table

    truth = _truth_of(out)
    refuse_to_replace([out], truth)
    if preset is not None:
        panel = PRESETS[preset.value](seed=seed)
    else:
        panel = make(
            n_items=items,
            n_systems=systems,
            n_raters=raters,
            components=assignments(component, "--component") if component else None,
            mean_squares=assignments(mean_square, "--mean-square") if mean_square else None,
            mean=mean,
            scale=Scale.parse(scale) if scale else None,
            severities=severity or (),
            missing=missing,
            seed=seed,
        )
    write_recorded({out: lambda path: write_table(panel.ratings, path, out.name)}, truth, panel.truth)
    typer.echo(f"{len(panel.ratings):,} ratings: {out}; truth: {truth}", err=True)


def _truth_of(out: Path) -> Path:
    return out.with_name(out.name.split(".")[0] + ".truth.json")


class SimulatedReadoutChoice(StrEnum):
    """How simulated systems are read."""

    verification = "verification"
    generative = "generative"


@app.command("benchmark")
def simulate_benchmark(
    out: Annotated[Path, typer.Option("--out", help="Folder for answers, ratings, items and truth.")],
    items: Annotated[int, typer.Option("--items", min=1, help="Number of items.")] = 2500,
    criteria: Annotated[int, typer.Option("--criteria", min=1, help="Number of criteria.")] = 40,
    raters: Annotated[int, typer.Option("--raters", min=2, help="Number of raters.")] = 8,
    raters_per_item: Annotated[int, typer.Option("--raters-per-item", min=2, help="How many raters see an item.")] = 4,
    scale: Annotated[str, typer.Option("--scale", metavar="LOW:HIGH:STEP", help="The scale.")] = "0:7:1",
    reliability: Annotated[
        list[float] | None,
        typer.Option("--reliability", help="Pairwise kappa of each criterion (repeatable).", show_default="0 to .58"),
    ] = None,
    validity: Annotated[
        list[float] | None,
        typer.Option("--validity", help="Validity of each system (repeatable).", show_default="eleven, .98 to .58"),
    ] = None,
    readout: Annotated[
        list[SimulatedReadoutChoice] | None,
        typer.Option("--readout", help="How systems are read (repeatable).", show_default="verification"),
    ] = None,
    readout_noise: Annotated[float, typer.Option("--readout-noise", min=0.0, help="Noise of P(yes).")] = 0.3,
    severity: Annotated[float, typer.Option("--severity", min=0.0, help="Spread of raters' severities.")] = 0.2,
    groups: Annotated[int, typer.Option("--groups", min=0, help="Groups that items belong to; 0 for none.")] = 0,
    missing: Annotated[float, typer.Option("--missing", help="Share of generative replies that are lost.")] = 0.0,
    truth_items: Annotated[
        int, typer.Option("--truth-items", min=0, help="Items that population values are taken from; 0 for none.")
    ] = 0,
    seed: SeedOption = 0,
) -> None:
    """A benchmark of known truth: answers of systems, single ratings, and what each system is worth."""
    from measurand.data import Scale
    from measurand.folders import refuse_to_replace, write_recorded
    from measurand.simulate import simulate_benchmark as make
    from measurand.study import write_table

    truth = out / "truth.json"
    refuse_to_replace([out / name for name in ("answers.csv", "ratings.csv", "items.csv")], truth)
    given: dict[str, Any] = {}
    if reliability:
        given["reliabilities"] = tuple(reliability)
    if validity:
        given["validities"] = tuple(validity)
    if readout:
        given["readouts"] = tuple(one.value for one in readout)
    made = make(
        n_items=items,
        n_criteria=criteria,
        n_raters=raters,
        raters_per_item=raters_per_item,
        scale=Scale.parse(scale),
        readout_noise=readout_noise,
        severity_sd=severity,
        n_groups=groups,
        missing_answers=missing,
        truth_items=truth_items,
        seed=seed,
        **given,
    )
    tables = {"answers.csv": made.answers, "ratings.csv": made.ratings, "items.csv": made.items}
    files = {out / name: partial(write_table, frame, name=name) for name, frame in tables.items()}
    write_recorded(files, truth, made.truth)
    typer.echo(f"{len(made.answers):,} answers, {len(made.ratings):,} ratings: {out}", err=True)


class FacesChoice(StrEnum):
    """How many expressions a face has."""

    graded = "graded"
    mixed = "mixed"


@app.command("faces")
def simulate_faces(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures, items, truth and contact sheets.")],
    items: Annotated[int, typer.Option("--items", min=1, help="Number of pictures.")] = 300,
    persons: Annotated[int, typer.Option("--persons", min=1, help="Number of persons.")] = 40,
    kind: Annotated[
        FacesChoice, typer.Option("--kind", help="graded: one expression a face; mixed: one to three.")
    ] = FacesChoice.graded,
    expression: Annotated[
        list[str] | None,
        typer.Option("--expression", help="An expression to draw (repeatable).", show_default="twelve"),
    ] = None,
    held_out: Annotated[
        float, typer.Option("--held-out", help="Share of persons whose pictures are in the split test.")
    ] = 0.25,
    size: Annotated[int, typer.Option("--size", help="Width and height in pixels.")] = 64,
    seed: SeedOption = 0,
) -> None:
    """Drawn faces of known intensities of expressions; their truth is written beside them."""
    from measurand.simulate import simulate_faces as make

    given: dict[str, Any] = {"expressions": tuple(expression)} if expression else {}
    made = make(
        n_items=items, n_persons=persons, seed=seed, size=size, kind=kind.value, held_out=held_out, out=out, **given
    )
    n_test = int((made["split"] == "test").sum())
    typer.echo(f"{len(made):,} faces ({n_test:,} of persons held out): {out}", err=True)


@app.command("raters")
def simulate_raters(
    faces: Annotated[Path, typer.Argument(help="The truth.csv of simulated faces: items and their intensities.")],
    out: Annotated[Path, typer.Option("--out", help="File for the ratings: .csv, .tsv, .jsonl or .parquet.")],
    raters: Annotated[int, typer.Option("--raters", min=2, help="Number of raters.")] = 8,
    raters_per_item: Annotated[
        int, typer.Option("--raters-per-item", min=2, help="How many raters see an item; all of them: crossed.")
    ] = 4,
    scale: Annotated[str, typer.Option("--scale", metavar="LOW:HIGH:STEP", help="The scale.")] = "0:7:1",
    labels: Annotated[
        str, typer.Option("--labels", metavar="NO,YES", help="Yes/no answers in these words, in place of a scale.")
    ] = "",
    reliability: Annotated[
        list[str] | None,
        typer.Option(
            "--reliability",
            metavar="NAME=KAPPA",
            help="Pairwise kappa of an expression (repeatable).",
            show_default="the first paper's",
        ),
    ] = None,
    severity: Annotated[
        float, typer.Option("--severity", min=0.0, help="Spread of severities, share of scale.")
    ] = 0.05,
    drift: Annotated[float, typer.Option("--drift", min=0.0, help="Spread of drifts, share of scale.")] = 0.04,
    careless: Annotated[int, typer.Option("--careless", min=0, help="Raters who sometimes do not look.")] = 0,
    seed: SeedOption = 0,
) -> None:
    """Ratings of simulated faces by raters of known severity and noise; their truth is written beside them."""
    from measurand.data import Scale
    from measurand.folders import refuse_to_replace, write_recorded
    from measurand.simulate import simulate_raters as make
    from measurand.simulate.raters_settings import READOUT_PAPER
    from measurand.study import write_table

    truth = _truth_of(out)
    refuse_to_replace([out], truth)
    made = make(
        faces,
        n_raters=raters,
        raters_per_item=raters_per_item,
        scale=Scale(labels=split(labels)) if labels else Scale.parse(scale),
        reliabilities={**READOUT_PAPER, **assignments(reliability or [], "--reliability")},
        severity_sd=severity,
        drift_sd=drift,
        n_careless=careless,
        seed=seed,
    )
    write_recorded({out: lambda path: write_table(made.ratings, path, out.name)}, truth, made.truth)
    typer.echo(f"{len(made.ratings):,} ratings: {out}; truth: {truth}", err=True)


@app.command("outputs")
def simulate_outputs(
    out: Annotated[Path, typer.Option("--out", help="Folder for outputs, ratings and truth.")],
    items: Annotated[int, typer.Option("--items", min=10, help="Number of items.")] = 300,
    systems: Annotated[
        int, typer.Option("--systems", min=3, help="Number of systems; the last two are S-long and S-same.")
    ] = 6,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", help="English, Bangla or Hindi (repeatable).", show_default="English and Bangla"),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="A label of items (repeatable, 2 to 8).", show_default="five emotions"),
    ] = None,
    raters: Annotated[int, typer.Option("--raters", min=0, help="Number of raters; 0 for no ratings.")] = 4,
    length_slope: Annotated[
        list[float] | None,
        typer.Option(
            "--length-slope",
            help="What a rater adds for each emoji more (repeatable, one for each rater).",
            show_default=".4 to .1",
        ),
    ] = None,
    item_signature: Annotated[
        float, typer.Option("--item-signature", help="Share of emoji that are the item's own, in all systems.")
    ] = 0.15,
    truth_draws: Annotated[
        int, typer.Option("--truth-draws", min=0, help="Outputs drawn for what is decodable; 0 for none.")
    ] = 20_000,
    seed: SeedOption = 0,
) -> None:
    """Emoji outputs to labelled items, what they cost, and their ratings; the truth is written beside them."""
    from measurand.folders import refuse_to_replace, write_recorded
    from measurand.simulate import simulate_outputs as make
    from measurand.study import write_table

    truth = out / "truth.json"
    refuse_to_replace([out / "outputs.csv", *([out / "ratings.csv"] if raters else [])], truth)
    given: dict[str, Any] = {}
    if language:
        given["languages"] = tuple(language)
    if label:
        given["labels"] = tuple(label)
    if length_slope:
        given["length_slopes"] = tuple(length_slope)
    made = make(
        n_items=items,
        n_systems=systems,
        n_raters=raters,
        item_signature=item_signature,
        truth_draws=truth_draws,
        seed=seed,
        **given,
    )
    tables = {"outputs.csv": made.outputs, **({} if made.ratings is None else {"ratings.csv": made.ratings})}
    files = {out / name: partial(write_table, frame, name=name) for name, frame in tables.items()}
    write_recorded(files, truth, made.truth, ensure_ascii=False)
    n_ratings = 0 if made.ratings is None else len(made.ratings)
    typer.echo(f"{len(made.outputs):,} outputs, {n_ratings:,} ratings: {out}", err=True)
