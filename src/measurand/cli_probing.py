"""The command that asks what outputs say without a rater: `measurand probe`."""

from __future__ import annotations

import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from measurand.cli_choices import ConfidenceOption, CsvOption, JsonOption, StrictOption, own_or_shared
from measurand.cli_options import (
    CriterionOption,
    LabelsOption,
    LevelOption,
    OutOption,
    QuietOption,
    RaterOption,
    RatingOption,
    RepeatsChoice,
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
    OF_OUTPUTS,
    OF_PROBED_RATINGS,
    DecimalOption,
    Declared,
    DelimiterOption,
    MissingOption,
    telling,
)

if TYPE_CHECKING:
    from measurand.data import Ratings
    from measurand.data.marks import Marks
    from measurand.data.vectors import Vectors


class TokenUnitChoice(StrEnum):
    """What a decoder sees of an output."""

    emoji = "emoji"
    non_ascii_grapheme = "non_ascii_grapheme"
    word = "word"
    grapheme = "grapheme"
    character = "character"


class ProbePresetChoice(StrEnum):
    """Protocols of papers."""

    ead = "ead"


class PartChoice(StrEnum):
    """The questions that a probe asks."""

    units = "units"
    decodability = "decodability"
    leakage = "leakage"
    geometry = "geometry"
    cost = "cost"


def probe(
    outputs: Annotated[
        Path,
        typer.Argument(help="Outputs: columns item, system, text; label, language, group, tokens and source if known."),
    ],
    item: Annotated[str | None, typer.Option("--item", help="Column with the item.", show_default="item")] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Column with the system.", show_default="system")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Column with the output.", show_default="text")] = None,
    length: Annotated[
        str | None, typer.Option("--length", help="Column with its length.", show_default="length")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Column with the item's label.", show_default="label")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Column with the item's language.", show_default="language")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", help="Column with what items belong to; kept on one side of a split.", show_default="group"
        ),
    ] = None,
    label_separator: Annotated[
        str,
        typer.Option("--label-separator", help="What stands between several labels; such items are left out."),
    ] = "",
    shared_labels: Annotated[
        bool, typer.Option("--shared-labels", help="Keep only the labels that all languages have.")
    ] = False,
    vectors: Annotated[
        list[str] | None,
        typer.Option("--vectors", metavar="NAME=FILE", help="Vectors of the items: .npz, .npy, Parquet (repeatable)."),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option("--parallel", help="Column that items of different languages share where they say the same."),
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option("--ratings", help="Ratings of the outputs: is what they rate what is decodable?")
    ] = None,
    rating_item: Annotated[
        str | None, typer.Option("--rating-item", help="Column of the ratings with the item.", show_default="as --item")
    ] = None,
    rating_system: Annotated[
        str | None,
        typer.Option("--rating-system", help="Column of the ratings with the system.", show_default="as --system"),
    ] = None,
    rater: RaterOption = None,
    rating: RatingOption = None,
    criterion: CriterionOption = None,
    scale: ScaleOption = None,
    level: LevelOption = None,
    labels: LabelsOption = "",
    wide: WideOption = "",
    rating_repeats: Annotated[
        RepeatsChoice, typer.Option("--rating-repeats", help="Several ratings of one cell by one rater (in row order).")
    ] = RepeatsChoice.refuse,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    asked: Annotated[
        str, typer.Option("--asked", metavar="LOW:HIGH", help="How many units were asked for, for example 1:5.")
    ] = "",
    token_unit: Annotated[
        TokenUnitChoice | None,
        typer.Option(
            "--token-unit",
            help="What a decoder sees. Paper: non_ascii_grapheme.",
            show_default="emoji where outputs are emoji, else word",
        ),
    ] = None,
    penalty: Annotated[
        float | None, typer.Option("--penalty", help="C of the logistic regression. Paper: 4.", show_default="4")
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Folds of cross-validation. Paper: 5.", show_default="5")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="How often folds are dealt. Paper: 10.", show_default="10")
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option("--replicates", min=100, help="Bootstrap replicates. Paper: 2000.", show_default="2000"),
    ] = None,
    refits: Annotated[
        int, typer.Option("--refits", min=0, help="Replicates in which the decoder is fitted anew; 0 for none.")
    ] = 40,
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="Repeated splits of the question of leakage.")] = 10,
    base_language: Annotated[
        str | None,
        typer.Option("--base-language", help="Language that costs are compared with.", show_default="English if there"),
    ] = None,
    only: Annotated[
        list[PartChoice] | None, typer.Option("--only", help="Ask this alone (repeatable).", show_default="everything")
    ] = None,
    preset: Annotated[
        ProbePresetChoice | None,
        typer.Option("--preset", help="ead: the second paper's decoder, where nothing else is named here."),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    title: Annotated[str, typer.Option("--title", help="Headline of the report.")] = "What outputs say",
    strict: StrictOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """What outputs say without a rater: units, decodability, leakage, geometry of vectors, cost of tokens.

    Columns item, system and text; what needs a label, a language, tokens or vectors says so where there are none.
    """
    from measurand.data import read_outputs
    from measurand.probing import probe as run_probe
    from measurand.study import check_out, manifest, write_run

    started = datetime.datetime.now(datetime.UTC)
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    if out is not None:
        check_out(out)
    declared = Declared(delimiter, decimal, missing, [outputs, ratings])
    marks = declared.of(outputs)
    with telling(outputs, OF_OUTPUTS):
        table = read_outputs(
            outputs,
            item=item,
            system=system,
            text=text,
            length=length,
            label=label,
            language=language,
            group=group,
            parallel=parallel,
            label_separator=label_separator,
            delimiter=marks.delimiter,
            decimal=marks.decimal,
            missing=marks.missing,
        )
    files = [_named(one) for one in vectors or []]
    chosen: dict[str, Any] = {
        "token_unit": None if token_unit is None else token_unit.value,
        "preset": None if preset is None else preset.value,
        "labels": "shared" if shared_labels else None,
        "asked": _range(asked),
        "penalty": penalty,
        "n_folds": folds,
        "n_seeds": seeds,
        "replicates": replicates,
        "refits": refits,
        "repeats": repeats,
        "base_language": base_language,
        "only": [one.value for one in only or []],
        "confidence": confidence,
        "seed": seed,
    }
    rated = None
    if ratings is not None:
        how = {"rater": rater, "rating": rating, "criterion": criterion, "wide": split(wide), "labels": split(labels)}
        how |= {"level": None if level is None else level.value, "repeats": rating_repeats.value}
        rated = _ratings(ratings, declared.of(ratings), (item, system), (rating_item, rating_system), scale, how)
    with progress(quiet=quiet) as told:
        result = run_probe(table, vectors=_read_vectors(files), ratings=rated, progress=told, **chosen)
    if out is not None:
        settings = {"columns": dict(table.columns), "title": title, **chosen, **declared.settings}
        inputs = [outputs, *([ratings] if ratings else []), *(path for _, path in files)]
        document = manifest(inputs, command=command(), settings=settings, started=started)
        write_run(result, out, title=title, document=document)
    show(result, as_json=as_json, as_csv=as_csv)
    if out is not None and not quiet:
        typer.echo(f"Report: {out / 'report.html'}", err=True)
    if strict and any(finding.verdict == "fail" for finding in result.findings):
        raise typer.Exit(1)


def _named(text: str) -> tuple[str, Path]:
    """Read NAME=FILE; a file alone is called by its stem."""
    name, found, path = text.partition("=")
    return (name, Path(path)) if found and name and path else (Path(text).stem, Path(text))


def _read_vectors(files: list[tuple[str, Path]]) -> list[Vectors]:
    from measurand.data.vectors import read_vectors

    names = [name for name, _ in files]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        refuse(f"--vectors names {twice[0]!r} twice; give each its own name, NAME=FILE")
    return [read_vectors(path, name=name) for name, path in files]


def _range(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    low, _, high = text.partition(":")
    if not (low.strip().isdigit() and high.strip().isdigit()) or int(low) > int(high):
        refuse(f"--asked {text!r}; write LOW:HIGH in whole numbers, for example 1:5")
    return int(low), int(high)


def _ratings(
    path: Path,
    marks: Marks,
    of_outputs: tuple[str | None, str | None],
    own: tuple[str | None, str | None],
    scale: list[str] | None,
    how: dict[str, Any],
) -> Ratings:
    """Read the ratings; names that the outputs have (--item, --system) count only if this table has them, too."""
    from measurand.data import parse_scales, read_ratings
    from measurand.data.read import read_table

    with telling(path, OF_PROBED_RATINGS):
        frame = read_table(path, delimiter=marks.delimiter)
        item, system = own_or_shared(frame, *zip(own, of_outputs, strict=True))
        return read_ratings(
            frame,
            item=item,
            system=system,
            scale=parse_scales(scale or []),
            decimal=marks.decimal,
            missing=marks.missing,
            **how,
        )
