"""The commands that ask systems and look beforehand: elicit, check."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from measurand.cli_asking import asking_progress, in_lines, safe_to_stop, told_of_asking
from measurand.cli_choices import CsvOption, JsonOption
from measurand.cli_options import (
    CriterionOption,
    ItemOption,
    LabelsOption,
    LevelOption,
    OccasionOption,
    OrderOption,
    QuietOption,
    RaterOption,
    RatingOption,
    RepeatsChoice,
    RepeatsOption,
    ScaleOption,
    SystemOption,
    WideOption,
    command,
    printable,
    refuse,
    show,
)
from measurand.cli_reading import (
    OF_CHECKED,
    OF_RATINGS,
    DecimalOption,
    Declared,
    DelimiterOption,
    MissingOption,
    read_declared_ratings,
    telling,
)
from measurand.sentences import listed

if TYPE_CHECKING:
    from measurand.data import Ratings
    from measurand.data.marks import Marks
    from measurand.eliciting.plan import Plan
    from measurand.study_file import StudyFile

_MOST_LISTED: Final = 8

LimitOption = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Only the first N items.")]


def elicit(
    study: Annotated[Path, typer.Argument(help="The study file (.toml); docs/study-file.md lists its keys.")],
    system: Annotated[
        list[str] | None, typer.Option("--system", help="Only this system (repeatable).", show_default="all")
    ] = None,
    readout: Annotated[
        list[str] | None, typer.Option("--readout", help="Only this readout (repeatable).", show_default="all")
    ] = None,
    limit: LimitOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for answers and tables.", show_default="the study's own")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 1 if a finding fails.")] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask the systems of a study file. Safe to stop and start again: what is answered is never asked twice.

    Exit status 1 if requests remain without an answer, or a system failed the test of its engine.
    """
    import datetime

    from measurand.eliciting.run import chosen
    from measurand.study import manifest
    from measurand.study_eliciting import run_elicitation
    from measurand.study_file import read_study
    from measurand.study_steps import MADE_FROM, asked_from

    started = datetime.datetime.now(datetime.UTC)
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    with in_lines():
        declared = read_study(study)
        design = chosen(declared.design(), systems=system or (), readouts=readout or ())
        part = {"systems": system or [], "readouts": readout or [], "limit": limit}
        settings, made_from = declared.resolved() | part, asked_from(declared, part=part)
        if not quiet:
            for note in declared.notes:
                typer.echo(f"Note: {printable(note)}", err=True)
        with (
            safe_to_stop(),
            asking_progress(quiet=quiet, currencies={one.name: one.price.currency for one in design.systems}) as watch,
        ):
            run = run_elicitation(
                design,
                out or declared.out,
                title=declared.name,
                document=lambda: (
                    manifest(declared.sources, command=command(), settings=settings, started=started)
                    | {MADE_FROM: made_from}
                ),
                limit=limit,
                watch=watch,
            )
    show(run.result, as_json=as_json, as_csv=as_csv)
    if not quiet:
        for line in told_of_asking(run.elicited):
            typer.echo(line, err=True)
        typer.echo(f"Report: {run.folder / 'report.html'}", err=True)
    unfit = any(not proof.passed for one in run.elicited.asked for proof in one.proven.proofs)
    if not run.is_complete or unfit or (strict and any(one.verdict == "fail" for one in run.result.findings)):
        raise typer.Exit(1)


def check(
    table: Annotated[
        Path, typer.Argument(help="A study file (.toml), or a table of ratings, answers, outputs or items.")
    ],
    item: ItemOption = None,
    system: SystemOption = None,
    rater: RaterOption = None,
    rating: RatingOption = None,
    criterion: CriterionOption = None,
    occasion: OccasionOption = None,
    order: OrderOption = None,
    wide: WideOption = "",
    scale: ScaleOption = None,
    level: LevelOption = None,
    labels: LabelsOption = "",
    repeats: RepeatsOption = RepeatsChoice.refuse,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    limit: LimitOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Of a study: where its answers are.", show_default="the study's own")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write what was found as JSON to stdout.")] = False,
) -> None:
    """Validate a study file or a table, and spend nothing.

    Of a study: how many requests and tokens it is, what they may cost, what is answered already, and what can't work
    (exit status 1). Of a table: what it is and what its design can support.
    """
    if table.suffix.lower() == ".toml":
        with in_lines():
            found, fails = _check_study(table, out=out, limit=limit, as_json=as_json)
    else:
        if limit is not None or out is not None:
            refuse("--limit and --out are about a study file (.toml); leave them out")
        declared = Declared(delimiter, decimal, missing, [table])
        marks = declared.of(table)
        about_ratings = (rater, rating, occasion, order, wide or None, scale, level, labels or None)
        kind = "ratings" if any(one is not None for one in about_ratings) else _kind_of(table, marks, item, system)
        if kind == "ratings":
            read = read_declared_ratings(
                table,
                declared,
                item=item,
                system=system,
                rater=rater,
                rating=rating,
                criterion=criterion,
                occasion=occasion,
                order=order,
                wide=wide,
                scale=scale,
                level=level,
                labels=labels,
                repeats=repeats,
            )
            found, fails = _ratings(read, as_json=as_json), False
        else:
            found, fails = _check_table(
                table, kind, marks, item=item, system=system, criterion=criterion, as_json=as_json
            )
    typer.echo(json.dumps(found, indent=1, ensure_ascii=False) if as_json else "\n".join(found))
    if fails:
        raise typer.Exit(1)


# Looking beforehand


def _check_study(path: Path, *, out: Path | None, limit: int | None, as_json: bool) -> tuple[Any, bool]:
    from measurand.eliciting.engines import open_engine
    from measurand.eliciting.plan import plan
    from measurand.study_eliciting import STORE
    from measurand.study_file import read_study
    from measurand.study_scoring import Held

    study = read_study(path)
    study = replace(study, notes=[*study.notes, *Held(study).remarks()])
    design = study.design()
    folder = out or study.out
    engines = [(system, open_engine(system)) for system in design.systems]
    try:
        planned = plan(design, engines, store=folder / STORE, limit=limit)
    finally:
        for _, engine in engines:
            engine.close()
    if not as_json:
        return _planned(study, planned, folder, limit), bool(planned.objections)
    found = {
        "kind": "study",
        "name": study.name,
        "out": str(folder),
        "items": len(study.items) if limit is None else min(limit, len(study.items)),
        "criteria": len(study.criteria),
        "estimates": [asdict(one) for one in planned.estimates],
        "stored": {name: {"answered": done, "requests": of} for name, (done, of) in planned.stored.items()},
        "notes": list(study.notes),
        "objections": list(planned.objections),
    }
    return found, bool(planned.objections)


def _planned(study: StudyFile, planned: Plan, folder: Path, limit: int | None) -> list[str]:
    n_items = len(study.items) if limit is None else min(limit, len(study.items))
    counts = (
        (n_items, "item", "items"),
        (len(study.criteria), "criterion", "criteria"),
        (len(study.systems), "system", "systems"),
        (len(study.readouts), "readout", "readouts"),
    )
    sizes = ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in counts)
    lines = [f"{study.name}: {sizes}; answers go to {folder}"]
    head = ("system", "readout", "control", "requests", "prompt tokens", "reply tokens", "cost")
    cells = [
        (
            one.system,
            one.readout,
            one.control,
            f"{one.n_requests:,}",
            f"{'' if one.is_counted or not one.prompt_tokens else 'about '}{one.prompt_tokens:,}",
            f"at most {one.completion_tokens:,}" if one.completion_tokens else "",
            _money(one.cost, one.currency) if one.cost else "",
        )
        for one in planned.estimates
    ]
    lines += _columns([head, *cells], n_left=3)
    costs: dict[str, float] = {}
    for one in planned.estimates:
        costs[one.currency] = costs.get(one.currency, 0.0) + one.cost
    total = " + ".join(_money(cost, currency) for currency, cost in costs.items() if cost)
    n_requests = sum(one.n_requests for one in planned.estimates)
    # Where tokens were not counted, what they cost is no upper bound.
    much = "at most" if all(one.is_counted for one in planned.estimates) else "about"
    lines.append(f"Together {n_requests:,} requests" + (f", {much} {total}" if total else "") + "; time is not known")
    if any(not one.is_counted for one in planned.estimates):
        lines.append(
            "About: no tokenizer is at hand; four characters count as a token, and what the template adds and pictures "
            "are left out"
        )
    if shared := list(dict.fromkeys(one.control for one in planned.estimates if not one.n_requests)):
        lines.append(f"{', '.join(shared)}: the items' own requests, asked once and counted there")
    attempts = {one.readout: one.most_attempts for one in planned.estimates if one.most_attempts > 1}
    lines += [f"Counted is one attempt; {name} makes up to {most}" for name, most in attempts.items()]
    lines += [f"Answered already: {name}, {done:,} of {of:,}" for name, (done, of) in planned.stored.items()]
    lines += [
        f"Note: system {one.name}: the environment variable {one.api_key_env} is not set; set it before asking"
        for one in study.systems
        if one.api_key_env and not os.environ.get(one.api_key_env)
    ]
    lines += [f"Note: {note}" for note in study.notes]
    lines += [f"Can't be asked: {objection}" for objection in planned.objections]
    return [printable(line) for line in lines]


def _money(amount: float, currency: str) -> str:
    # What costs little costs something.
    return f"{currency} {max(amount, 0.01):,.2f}"


def _columns(rows: Sequence[Sequence[str]], *, n_left: int) -> list[str]:
    """Return rows as lines with aligned columns, the first few to the left; a column without any entry is left out."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in kept}
    return [
        "  " + "  ".join(row[i].ljust(widths[i]) if i < n_left else row[i].rjust(widths[i]) for i in kept).rstrip()
        for row in rows
    ]


def _kind_of(path: Path, marks: Marks, item: str | None, system: str | None) -> str:
    """Return what a table is by its columns; what is none of the others is read as ratings, which says what lacks."""
    from measurand.data.read import read_table

    with telling(path, OF_RATINGS):
        columns = {str(column) for column in read_table(path, delimiter=marks.delimiter).columns}
    if {"rater", "rating"} & columns:
        return "ratings"
    has_item, has_system = (item or "item") in columns, (system or "system") in columns
    if has_item and has_system and "answer" in columns:
        return "answers"
    if has_item and has_system and "text" in columns:
        return "outputs"
    return "items" if has_item and not has_system and {"text", "image", "label"} & columns else "ratings"


def _ratings(table: Ratings, *, as_json: bool) -> Any:
    from measurand.auditing import design

    result = design(table)
    criteria, lines = {}, []
    for name, about in result.settings["design"]["criteria"].items():
        of_name: dict[str, str | int | float] = {"criterion": name if len(table.criteria) > 1 else ""}
        counts = {n: int(result.value("design", f"n_{n}", of_name)) for n in ("items", "systems", "raters", "ratings")}
        here = table.frame["rating"]
        if "criterion" in table.frame:
            here = here[table.frame["criterion"] == name]
        low, high, distinct = float(here.min()), float(here.max()), int(here.nunique())
        spell = table.scale(name).spell
        criteria[name] = {**about, **counts, "lowest": low, "highest": high, "different": distinct}
        lines.append(f"{name + ': ' if name else ''}{about['layout']}; scale {about['scale']}; level {about['level']}")
        lines.append("  " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
        lines.append(f"  ratings from {spell(low)} to {spell(high)}, {distinct:,} different values")
        lines += [f"  {limit}" for limit in about["limits"]]
    unused = [str(c) for c in table.frame.columns if c not in (*table.columns, "rating")]
    if unused:
        lines.append(f"Columns that take no part: {', '.join(unused)}")
    return {"kind": "ratings", "criteria": criteria, "unused_columns": unused} if as_json else lines


def _check_table(
    path: Path, kind: str, marks: Marks, *, item: str | None, system: str | None, criterion: str | None, as_json: bool
) -> tuple[Any, bool]:
    """Read a table of answers, outputs or items; give what it is, and whether anything is wrong with it."""
    from measurand.data import read_answers, read_items, read_outputs
    from measurand.data.answers import hold_names
    from measurand.data.read import read_table

    found: dict[str, Any] = {"kind": kind}
    problems: list[str] = []
    if kind == "answers":
        with telling(path, OF_CHECKED):
            whole = read_table(path, delimiter=marks.delimiter)
            labels = hold_names(whole.assign(answer=marks.plain(whole["answer"], "answer")), "answer")
            answers = read_answers(
                whole,
                item=item,
                system=system,
                criterion=criterion,
                labels=labels,
                repeats="first",
                decimal=marks.decimal,
                missing=marks.missing,
            )
        frame = answers.frame
        found |= {"rows": len(frame), "items": int(frame["item"].nunique()), "systems": answers.systems}
        found |= {"criteria": [name for name in answers.criteria if name]}
        found |= {"readouts": sorted(set(frame["readout"])) if "readout" in frame else []}
        found |= {"repeats": len(whole) - len(frame)}
        found |= {"status": {str(name): int(n) for name, n in frame["status"].value_counts().items()}}
        if answers.n_ignored:
            problems.append(f"{answers.n_ignored:,} rows have a value although their status says that there is none")
    elif kind == "outputs":
        with telling(path, OF_CHECKED):
            outputs = read_outputs(
                path,
                item=item,
                system=system,
                delimiter=marks.delimiter,
                decimal=marks.decimal,
                missing=marks.missing,
            )
        found |= {"rows": len(outputs), "items": int(outputs.frame["item"].nunique())}
        found |= {"systems": outputs.systems}
        blank = int((outputs.frame["text"].str.strip() == "").sum()) if "text" in outputs else 0
        problems += [f"{blank:,} outputs are blank"] if blank else []
    else:
        with telling(path, OF_CHECKED):
            items = read_items(path, item=item or "item", delimiter=marks.delimiter)
        found |= {"rows": len(items), "columns": [str(column) for column in items.columns]}
        for row, image in enumerate(items.get("image", ()), start=1):
            if image == image and str(image) and not (path.parent / str(image)).is_file():
                problems.append(f"data row {row}: no file {path.parent / str(image)}")
    if as_json:
        return found | {"problems": problems}, bool(problems)
    lines = [f"{kind}: {found.pop('rows'):,} rows" + (f", {found.pop('items'):,} items" if "items" in found else "")]
    for name, value in found.items():
        if name != "kind" and value:
            shown = [f"{key} {n:,}" for key, n in value.items()] if isinstance(value, dict) else value
            shown = [f"{shown:,}"] if isinstance(shown, int) else shown
            lines.append(f"  {name}: {listed(shown, most=_MOST_LISTED)}")
    more = len(problems) - _MOST_LISTED
    lines += [f"  {problem}" for problem in problems[:_MOST_LISTED]] + ([f"  and {more} more"] if more > 0 else [])
    return [printable(line) for line in lines], bool(problems)
