"""The command that plans a panel, draws it, and reads what comes back: `measurand plan`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from measurand.cli_choices import ConfidenceOption, CsvOption, JsonOption, StrictOption
from measurand.cli_drawing import (
    OutputColumns,
    OutputItemOption,
    OutputSystemOption,
    OutputTextOption,
    Pool,
    collect_sheets,
    read_pool,
    tell_drawn,
)
from measurand.cli_facets import MOST_ITEMS, MOST_RATERS, of_facets, of_panel, planned_facets, prices_of, usual, whole
from measurand.cli_options import (
    CriterionOption,
    ItemOption,
    LabelsOption,
    LevelOption,
    OccasionOption,
    OutOption,
    QuietOption,
    RaterOption,
    RatingOption,
    RepeatsChoice,
    RepeatsOption,
    ScaleOption,
    SeedOption,
    SystemOption,
    WideOption,
    assignments,
    command,
    progress,
    refuse,
    show,
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

if TYPE_CHECKING:
    from measurand.cli_options import LevelChoice
    from measurand.data import Outputs, Ratings, Scale
    from measurand.planning.designs import Design
    from measurand.result import Result


class LayoutChoice(StrEnum):
    """Who rates what."""

    crossed = "crossed"
    rotating = "rotating"
    nested = "nested"


class CoefficientChoice(StrEnum):
    """What is to be reliable: differences between systems, or their levels."""

    g = "g"
    phi = "phi"


def plan(
    ratings: Annotated[
        Path | None,
        typer.Argument(help="Ratings of a first panel: .csv, .tsv, .jsonl or .parquet; not needed to draw or collect."),
    ] = None,
    item: ItemOption = None,
    system: SystemOption = None,
    rater: RaterOption = None,
    rating: RatingOption = None,
    criterion: CriterionOption = None,
    occasion: OccasionOption = None,
    wide: WideOption = "",
    scale: ScaleOption = None,
    level: LevelOption = None,
    labels: LabelsOption = "",
    repeats: RepeatsOption = RepeatsChoice.refuse,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    target: Annotated[float, typer.Option("--target", help="G (or Phi) wanted of the ranking.")] = 0.8,
    coefficient: Annotated[
        CoefficientChoice, typer.Option("--coefficient", help="g: differences between systems; phi: their levels.")
    ] = CoefficientChoice.g,
    cost_rater: Annotated[float, typer.Option("--cost-rater", help="Cost of each rater.")] = 0.0,
    cost_item: Annotated[float, typer.Option("--cost-item", help="Cost of each item.")] = 0.0,
    cost_judgement: Annotated[
        float, typer.Option("--cost-judgement", help="Cost of each rating of one system's output.")
    ] = 1.0,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="rater=200,group=500,judgement=0.1",
            help="Costs by name (repeatable): of each level of a facet of --formula; a judgement costs 1 unless said.",
        ),
    ] = None,
    layout: Annotated[
        list[LayoutChoice] | None,
        typer.Option("--layout", help="Layouts to plan (repeatable); the one to draw.", show_default="all three"),
    ] = None,
    most_raters: Annotated[int, typer.Option("--most-raters", help="Raters that could be had.")] = MOST_RATERS,
    most_items: Annotated[int, typer.Option("--most-items", help="Items that could be had.")] = MOST_ITEMS,
    most_per_rater: Annotated[
        int | None,
        typer.Option("--most-per-rater", help="Judgements that one rater could give.", show_default="any number"),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--most",
            metavar="group=6,rater=10",
            help="Levels of facets that could be had, of a nested one within each; with --formula (repeatable).",
        ),
    ] = None,
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--least", metavar="group=2", help="Levels of facets that are wanted at least; with --formula (repeatable)."
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option("--difference", help="A difference between two systems that is to be found, in scale units."),
    ] = None,
    power: Annotated[float, typer.Option("--power", help="Probability with which it is to be found.")] = 0.8,
    alpha: Annotated[float, typer.Option("--alpha", help="Level of the test of one pair of systems.")] = 0.05,
    formula: Annotated[
        str,
        typer.Option("--formula", metavar="'system x item x (rater:group)'", help="Facets of another design."),
    ] = "",
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="item=100,rater=10", help="Sizes to project; with --formula (repeatable)."),
    ] = None,
    fixed: Annotated[
        str, typer.Option("--fixed", metavar="FACET,…", help="Facets that keep these very levels; with --formula.")
    ] = "",
    draw: Annotated[Path | None, typer.Option("--draw", help="New folder for the sheets of the next sample.")] = None,
    items: Annotated[
        Path | None,
        typer.Option("--items", help="Items to draw from: item, and label, language, text, image if known."),
    ] = None,
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            metavar="FILE|A,B,…",
            help="Systems to rate.",
            show_default="those of the outputs, or of the ratings",
        ),
    ] = "",
    outputs: Annotated[
        Path | None, typer.Option("--outputs", help="What the systems produced: item, system, text; shown to raters.")
    ] = None,
    output_item: OutputItemOption = None,
    output_system: OutputSystemOption = None,
    text: OutputTextOption = None,
    raters: Annotated[int | None, typer.Option("--raters", help="Raters of the sample.")] = None,
    items_per_rater: Annotated[
        int | None, typer.Option("--items-per-rater", help="Items that each of them rates.")
    ] = None,
    raters_per_item: Annotated[
        int | None,
        typer.Option("--raters-per-item", help="Raters of each item in a rotating layout.", show_default="2"),
    ] = None,
    criteria: Annotated[
        str, typer.Option("--criteria", metavar="A,B,…", help="What is graded, a column each.", show_default="rating")
    ] = "",
    rated_again: Annotated[
        bool, typer.Option("--rated-again", help="Draw also from the items that were rated already.")
    ] = False,
    collect: Annotated[
        Path | None,
        typer.Option("--collect", help="Folder of a sample whose sheets came back: writes its ratings.csv."),
    ] = None,
    blank_sheets: Annotated[
        bool, typer.Option("--blank-sheets", help="Collect also sheets that are blank from top to bottom.")
    ] = False,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    out: OutOption = None,
    title: Annotated[str, typer.Option("--title", help="Headline of the report.")] = "Plan of a panel",
    strict: StrictOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """What would a reliable ranking take: how many raters and items, in which layout, at what cost?

    Components come from the ratings of a first panel. Without costs, judgements are counted. --draw deals out the next
    sample as sheets for its raters, the systems blinded; --collect makes ratings of the sheets that came back.
    """
    started = datetime.datetime.now(datetime.UTC)
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    if collect is not None:
        if any(one is not None for one in (ratings, draw, items, outputs, out)):
            refuse("--collect reads the folder of a sample and nothing else")
        collect_sheets(collect, (delimiter, decimal, missing), blank_sheets=blank_sheets, quiet=quiet)
        return
    declared = Declared(delimiter, decimal, missing, [ratings, items, outputs, Path(systems) if systems else None])
    if blank_sheets:
        refuse("--blank-sheets is about sheets that came back; give it with --collect")
    if outputs is None and (output_item or output_system or text):
        refuse("--output-item, --output-system and --text are about the outputs; give them with --outputs")
    chosen = [one.value for one in layout] if layout else []
    if draw is None and any([items, outputs, raters, items_per_rater, raters_per_item, systems, criteria]):
        refuse("items, systems, outputs, raters and criteria are for a sample: say where it goes, --draw DIR")
    if draw is None and ratings is None:
        refuse("nothing to plan from: give the ratings of a first panel, or --draw DIR with --items")
    if out is not None and ratings is None:
        refuse("--out is for the numbers of a plan, which take ratings; a sample goes to --draw")
    if formula and draw is not None:
        refuse("--formula plans another design than --draw deals out: leave out one of them")
    if draw is not None:
        _check_draw(draw, items, has_ratings=ratings is not None, sizes=(raters, items_per_rater), layouts=chosen)
    if not formula and (at or fixed or most or least):
        refuse("--at, --fixed, --most and --least go with --formula; else --most-raters and --most-items")
    if formula and coefficient is CoefficientChoice.phi:
        refuse("--coefficient: with --formula the target is of G; Phi stands beside it")
    prices = prices_of(cost or [], {"rater": cost_rater, "item": cost_item, "judgement": cost_judgement})
    if formula and level is not None:
        refuse(
            "--level is for a panel of items, systems and raters; a design of other facets takes numbers as they are"
        )
    if out is not None:
        from measurand.study import check_out

        check_out(out)
    columns = {"item": item, "system": system, "rater": rater, "rating": rating, "criterion": criterion}
    asked: dict[str, Any] = {
        **({} if formula else of_panel(prices)),
        "layouts": chosen or ["crossed", "rotating", "nested"],
        "most_raters": most_raters,
        "most_items": most_items,
        "most_per_rater": most_per_rater,
    }
    result: Result | None = None
    table: Ratings | None = None
    settings: dict[str, Any] = {"wide": split(wide), "repeats": repeats.value, "target": target, "title": title}
    settings |= {"confidence": confidence, "seed": seed, **declared.settings}
    pool = None
    if draw is not None:
        named = OutputColumns(output_item, output_system, text, item, system)
        pool = read_pool(items, outputs, named, declared)
    if ratings is not None and formula:
        settings |= {"formula": formula, "fixed": split(fixed), "columns": columns, "costs": of_facets(prices)}
        settings |= {"at": [assignments(split(one), "--at") for one in at or []], "most_per_rater": most_per_rater}
        settings |= {"most": usual(most_raters, most_items) | whole(most or [], "--most")}
        settings |= {"least": whole(least or [], "--least")}
        with telling(ratings, OF_RATINGS):
            result = planned_facets(
                ratings, settings, marks=declared.of(ratings), scale=scale or [], labels=split(labels)
            )
    elif ratings is not None:
        table = read_declared_ratings(
            ratings,
            declared,
            item=item,
            system=system,
            rater=rater,
            rating=rating,
            criterion=criterion,
            occasion=occasion,
            wide=wide,
            scale=scale,
            level=level,
            labels=labels,
            repeats=repeats,
        )
        found = {"coefficient": coefficient.value, "difference": difference, "power": power, "alpha": alpha}
        settings |= found | asked
        settings["scale"] = {name: one.to_dict() for name, one in table.scales.items()}
        settings["columns"] = dict(table.columns)
        result = _planned(table, target, found, asked | {"confidence": confidence, "seed": seed}, quiet=quiet)
    if draw is not None and pool is not None:
        _draw(
            draw,
            pool,
            result=result,
            table=table,
            layouts=chosen,
            sizes=(raters, items_per_rater, raters_per_item),
            files={"ratings": ratings, "items": items, "outputs": outputs},
            systems=_systems(systems, pool.outputs, table, declared),
            criteria=split(criteria),
            scale=_scales(scale or [], level, split(labels), split(criteria), has_ratings=table is not None),
            rated_again=rated_again,
            most_per_rater=most_per_rater,
            delimiter=declared.delimiter,
            seed=seed,
            quiet=quiet,
        )
    if result is None:
        return
    if out is not None and ratings is not None:
        from measurand.study import manifest, write_run

        document = manifest([ratings], command=command(), settings=settings, started=started)
        write_run(result, out, title=title, document=document)
    show(result, as_json=as_json, as_csv=as_csv)
    if out is not None and not quiet:
        typer.echo(f"Report: {out / 'report.html'}", err=True)
    if strict and any(finding.verdict == "fail" for finding in result.findings):
        raise typer.Exit(1)


def _planned(table: Ratings, target: float, found: dict[str, Any], asked: dict[str, Any], *, quiet: bool) -> Result:
    from measurand.auditing.components import PIVOT_DRAWS
    from measurand.data import panels
    from measurand.planning import plan as run_plan
    from measurand.planning import power as run_power
    from measurand.planning.measured import measured
    from measurand.result import Result

    result = Result([])
    every = panels(table)
    with progress(quiet=quiet) as told:
        for number, panel in enumerate(every):
            if told is not None:
                told(panel.criterion or "planning", number, len(every))
            about = measured([panel], seed=asked["seed"], draws=PIVOT_DRAWS)
            result += run_plan(about, target=target, coefficient=found["coefficient"], **asked)
            result += run_power(
                about, difference=found["difference"], target=found["power"], alpha=found["alpha"], **asked
            )
    return result


def _check_draw(
    folder: Path,
    items: Path | None,
    *,
    has_ratings: bool,
    sizes: tuple[int | None, int | None],
    layouts: Sequence[str],
) -> None:
    """Refuse a sample that could not be drawn, before anything is planned."""
    from measurand.planning.sheets import check_folder

    check_folder(folder)
    if items is None:
        refuse("--draw needs the items to draw from: --items FILE")
    if sizes == (None, None) and has_ratings:
        return
    if None in sizes:
        refuse("--draw needs --raters and --items-per-rater, or ratings from which the cheapest sure panel follows")
    if len(layouts) != 1:
        refuse("--draw needs one layout: --layout crossed, rotating or nested")


def _draw(
    folder: Path,
    pool: Pool,
    *,
    result: Result | None,
    table: Ratings | None,
    layouts: Sequence[str],
    sizes: tuple[int | None, int | None, int | None],
    files: dict[str, Path | None],
    systems: list[str],
    criteria: Sequence[str],
    scale: dict[str, Scale] | None,
    rated_again: bool,
    most_per_rater: int | None,
    delimiter: str | None,
    seed: int,
    quiet: bool,
) -> None:
    from measurand.planning import draw, write_sample
    from measurand.study import sha256, version

    design = _design(result, layouts, sizes)
    rated = [] if table is None else list(table.frame["item"].cat.categories)
    sample = draw(
        pool.items,
        systems=systems,
        design=design,
        outputs=pool.outputs,
        leave_out=[] if rated_again else rated,
        criteria=criteria,
        scale=scale,
        most_per_rater=most_per_rater,
        seed=seed,
    )
    inputs = {name: {"file": path.name, "sha256": sha256(path)} for name, path in files.items() if path is not None}
    write_sample(sample, folder, about={"measurand": version(), "inputs": inputs}, delimiter=delimiter)
    if not quiet:
        tell_drawn(sample, design, folder)


def _design(result: Result | None, layouts: Sequence[str], sizes: tuple[int | None, int | None, int | None]) -> Design:
    """Return the design that was asked for, or else the cheapest that is sure to reach the target."""
    from measurand.planning import design_of

    n_raters, items_per_rater, per_item = sizes
    if n_raters is None and items_per_rater is None and result is not None:
        return _cheapest(result)
    return design_of(layouts[0], n_raters=n_raters or 0, items_per_rater=items_per_rater or 0, per_item=per_item)


def _cheapest(result: Result) -> Design:
    from measurand.planning.designs import Design

    rows = result.select("plan", "cost", {"basis": "lower_limit"})
    if len({row.keys["criterion"] for row in rows}) > 1:
        refuse("several criteria ask for several panels: say which to draw, --layout, --raters, --items-per-rater")
    found = [row for row in rows if not row.undefined]
    if not found:
        why = rows[0].undefined if rows else "nothing can be planned from these ratings"
        refuse(f"nothing is drawn: {why}. Say what to draw all the same: --layout, --raters, --items-per-rater")
    keys = found[0].keys
    n_raters, n_items, each = (int(keys[name]) for name in ("at_raters", "at_items", "at_items_per_rater"))
    return Design(str(keys["layout"]), n_raters, n_items, n_raters * each // n_items)


def _scales(
    scale: Sequence[str],
    level: LevelChoice | None,
    labels: Sequence[str],
    criteria: Sequence[str],
    *,
    has_ratings: bool,
) -> dict[str, Scale] | None:
    """Return the scales of a sample, as they were said; of ratings in front there may be more criteria."""
    from measurand.data import parse_scales
    from measurand.data.scale import scales_for

    if not (scale or level or labels):
        return None
    found = dict(scales_for(parse_scales(scale), None if level is None else level.value, labels))
    return {name: one for name, one in found.items() if not has_ratings or not name or name in criteria}


def _systems(given: str, shown: Outputs | None, table: Ratings | None, declared: Declared) -> list[str]:
    from measurand.data import read_systems

    if given and Path(given).is_file():
        return list(read_systems(given, delimiter=declared.of(Path(given)).delimiter)["system"])
    if given:
        return split(given)
    if shown is not None:
        return shown.systems
    if table is not None and "system" in table.frame:
        return list(table.frame["system"].cat.categories)
    refuse("--draw needs the systems: --systems A,B or a file, or --outputs")
    return []
