"""The next sample: which items, which raters rate them in which order, and behind which letters the systems hide."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.data.items import read_items
from measurand.data.outputs import Outputs
from measurand.data.scale import Scale
from measurand.planning.assigning import Overlap, assign
from measurand.planning.designs import LAYOUTS, Design
from measurand.planning.lettering import letters, places
from measurand.planning.sampling import Drawn, stratified
from measurand.result import MeasurandError
from measurand.stats.inference import IntArray, stream

SCHEMA: Final = "measurand/sample/1"
#: What items are stratified by, where they have it.
STRATA: Final = ("label", "language")
#: Columns of the items, or of the outputs, that a sheet shows beside the output.
_SHOWN: Final = ("source_text", "text", "image")
#: Names that a column of the sheets has already.
RESERVED: Final = ("position", "rater", "item", "code", "source", "image", "output", "scale")
_CODES: Final = (
    "letters in rows of a Latin square that was drawn, dealt to items so that on each sheet systems have each letter "
    "about equally often; the same for all raters of an item"
)
_ORDER: Final = (
    "items in a random order of the rater's own, the systems of an item one after another, in rows of Latin squares "
    "that were drawn for the rater"
)


@dataclass(frozen=True)
class Sample:
    """A sample that is ready to be rated.

    Parameters
    ----------
    sheets : mapping
        Rater to what they fill in: columns `position`, `rater`, `item`, `code` and whatever there is to see (`source`,
        `image`, `output`), the `scale` if it was said, then a blank column for each criterion, or `rating`.
    key : pandas.DataFrame
        Columns `rater`, `position`, `item`, `code`, `system`: what the letters stand for.
    protocol : mapping
        How the sample was drawn (JSON values).
    """

    sheets: Mapping[str, pd.DataFrame]
    key: pd.DataFrame
    protocol: Mapping[str, Any]


def design_of(layout: str, *, n_raters: int, items_per_rater: int, per_item: int | None = None) -> Design:
    """Return the design of a sample from what each rater can do.

    Parameters
    ----------
    layout : {"crossed", "rotating", "nested"}
        See `measurand.planning.plan`.
    n_raters, items_per_rater : int
        Raters, and items that each of them rates.
    per_item : int or None
        Raters of each item in a rotating layout; None takes two. The other layouts settle it themselves.

    Raises
    ------
    MeasurandError
        Sizes that make no such layout.

    Examples
    --------
    >>> design_of("rotating", n_raters=12, items_per_rater=25, per_item=3).n_items
    100
    """
    if layout not in LAYOUTS:
        raise MeasurandError(f"layout {layout!r}; allowed are {', '.join(LAYOUTS)}")
    if n_raters < 2 or items_per_rater < 1:
        raise MeasurandError(f"{n_raters} raters with {items_per_rater} items each; it takes two raters and one item")
    settled = {"crossed": n_raters, "nested": 1}.get(layout, per_item or 2)
    if per_item is not None and per_item != settled:
        raise MeasurandError(
            f"{per_item} raters for an item; in a {layout} layout of {n_raters} raters it is {settled}"
        )
    if layout == "rotating" and not 2 <= settled < n_raters:
        raise MeasurandError(
            f"{settled} raters for an item out of {n_raters}; a rotating layout has from 2 to all but one of them"
        )
    work = n_raters * items_per_rater
    if work % settled:
        step = settled // int(np.gcd(settled, n_raters))
        lower = items_per_rater // step * step
        near = [size for size in (lower, lower + step) if size > 0]
        raise MeasurandError(
            f"{n_raters} raters with {items_per_rater} items each are {work} pieces of work, which items of {settled} "
            f"raters do not make up; give each rater {' or '.join(map(str, near))} items"
        )
    return Design(layout, n_raters, work // settled, settled)


def draw(
    items: Any,
    *,
    systems: Sequence[str],
    design: Design,
    outputs: Outputs | None = None,
    leave_out: Collection[str] = (),
    criteria: Sequence[str] = (),
    scale: Scale | Mapping[str, Scale] | None = None,
    most_per_rater: int | None = None,
    seed: int = 0,
) -> Sample:
    """Draw a sample of items and deal it out to raters, the systems blinded.

    Parameters
    ----------
    items : path or data frame
        Column `item`, and any of `label`, `language` (what the sample is stratified by), `text` and `image` (what
        raters see); see `measurand.read_items`.
    systems : sequence of str
        The systems to rate, two at least.
    design : Design
        Layout and sizes; see `design_of`.
    outputs : Outputs or None
        What the systems produced, shown to the raters. Items without an output of every system are not drawn.
    leave_out : collection of str
        Items that are not drawn, such as those rated before.
    criteria : sequence of str
        What is graded; each has a column of its own. None: one column, `rating`.
    scale : Scale, mapping or None
        Permitted ratings, of all criteria or by criterion; raters are told, and `measurand.planning.collect` checks
        what comes back. None: any.
    most_per_rater : int or None
        Judgements that one rater can give; a sheet is never longer. None for any number.
    seed : int
        The one seed.

    Returns
    -------
    Sample
        Sheets, key and protocol. The letters of systems differ between items, so that no rater can learn what stands
        behind one; all raters of an item see the same letters, so that they can be talked about. On a sheet each system
        has each letter, and stands at each place among those of its item, about equally often.

    Raises
    ------
    MeasurandError
        Fewer items than are needed, fewer than two systems, unequal shares, too few items to connect the raters, sheets
        that are longer than a rater can fill in.

    Examples
    --------
    >>> items = pd.DataFrame({"item": [f"i{k}" for k in range(9)], "label": ["joy", "fear", "awe"] * 3})
    >>> sample = draw(items, systems=["S1", "S2"], design=design_of("rotating", n_raters=3, items_per_rater=4))
    >>> sorted(sample.sheets), len(sample.key), sample.protocol["overlaps"]
    (['R1', 'R2', 'R3'], 24, {'fewest': 2, 'most': 2, 'connected': True})
    """
    names = list(dict.fromkeys(systems))
    if len(names) < 2:
        raise MeasurandError(f"{len(names)} system{'' if len(names) == 1 else 's'}; a ranking needs two")
    _check_criteria(criteria)
    scales = _scales(scale, criteria)
    _check_length(design, len(names), most_per_rater)
    table = read_items(items)
    shown = None if outputs is None else _texts(outputs, names)
    kinds = _kinds(table, outputs)
    eligible, left_out = _eligible(table["item"], names, shown, leave_out)
    chosen = np.flatnonzero(eligible)
    try:
        drawn = stratified(
            [tuple(kinds[name][at] for name in kinds) for at in chosen], design.n_items, stream(seed, "draw", "items")
        )
    except MeasurandError as error:
        told = ", ".join(f"{count:,} {why}" for why, count in left_out.items() if count)
        raise MeasurandError(f"{error}{f' ({told} left out)' if told else ''}; draw fewer, or add items") from error
    raters, overlap = assign(
        design.n_items, design.n_raters, design.per_item, stratum=drawn.stratum, rng=stream(seed, "draw", "raters")
    )
    rows = table.iloc[chosen[drawn.position]].reset_index(drop=True)
    found = letters(raters, design.n_raters, len(names), stream(seed, "draw", "codes"))
    codes = [[_letter(number) for number in of_item] for of_item in found.tolist()]
    sheets, keys = {}, []
    for number in range(design.n_raters):
        rater = f"R{number + 1:0{len(str(design.n_raters))}d}"
        order = _order(np.flatnonzero((raters == number).any(axis=1)), len(names), seed, rater)
        sheet, key = _sheet(rater, order, rows, names, codes, _seen(rows, outputs), shown)
        if told := in_words(scales):
            sheet["scale"] = told
        for column in criteria or ["rating"]:
            sheet[column] = ""
        sheets[rater] = sheet
        keys.append(key)
    protocol = _protocol(design, names, criteria, drawn, list(kinds), overlap, left_out, seed)
    protocol["scales"] = {name: one.to_dict() for name, one in scales.items()}
    return Sample(sheets, pd.concat(keys, ignore_index=True), protocol)


def in_words(scales: Mapping[str, Scale]) -> str:
    """Return the permitted ratings in words: of each criterion where they differ; blank where none were said.

    Examples
    --------
    >>> in_words({"tone": Scale(1, 5, step=1), "style": Scale(labels=["bad", "good"])})
    'tone: 1 to 5 in steps of 1; style: bad, good'
    >>> in_words({"tone": Scale(1, 5), "style": Scale(1, 5)})
    '1 to 5'
    """
    told = {name: one.describe() for name, one in scales.items()}
    if len(set(told.values())) < 2:
        return next(iter(told.values()), "")
    return "; ".join(f"{name}: {words}" for name, words in told.items())


def _scales(scale: Scale | Mapping[str, Scale] | None, criteria: Sequence[str]) -> dict[str, Scale]:
    """Return the scale of each column of ratings, those alone that were said."""
    if scale is None:
        return {}
    columns = list(criteria) or ["rating"]
    by = {"": scale} if isinstance(scale, Scale) else dict(scale)
    if unknown := [name for name in by if name and name not in columns]:
        raise MeasurandError(f"a scale of {unknown[0]!r}, which is not graded; graded are {', '.join(columns)}")
    found = {name: by.get(name, by.get("")) for name in columns}
    return {name: one for name, one in found.items() if one is not None}


def _check_criteria(criteria: Sequence[str]) -> None:
    for at, name in enumerate(criteria):
        if not name or name in RESERVED or name in criteria[:at]:
            raise MeasurandError(
                f"criterion {name!r}; criteria have names of their own, other than {', '.join(RESERVED)}"
            )


def _check_length(design: Design, n_systems: int, most: int | None) -> None:
    """Refuse sheets that are longer than a rater can fill in."""
    rows = design.items_per_rater * n_systems
    if most is None or rows <= most:
        return
    fits = most // n_systems
    remedy = (
        f"give each rater {fits} item{'' if fits == 1 else 's'} at most"
        if fits
        else f"{n_systems} judgements are one item with all systems: allow for as many, or rate fewer systems"
    )
    raise MeasurandError(
        f"{design.items_per_rater:,} items with {n_systems} systems each are {rows:,} judgements of a rater, and "
        f"{most:,} are allowed: {remedy}"
    )


def _texts(outputs: Outputs, systems: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return what each system said to each item."""
    if "text" not in outputs:
        raise MeasurandError("outputs: no column of texts, so that raters would have nothing to read; name it `text`")
    if absent := [name for name in systems if name not in set(outputs.frame["system"])]:
        raise MeasurandError(f"outputs: none of system {absent[0]!r}; there are {', '.join(outputs.systems[:12])}")
    frame = outputs.frame
    return dict(zip(zip(frame["item"], frame["system"], strict=True), frame["text"], strict=True))


def _kinds(table: pd.DataFrame, outputs: Outputs | None) -> dict[str, list[str]]:
    """Return what each item is stratified by, from the items or else from the outputs."""
    found = {}
    for name in STRATA:
        if name in table:
            found[name] = ["" if pd.isna(value) else str(value).strip() for value in table[name]]
        elif outputs is not None and name in outputs:
            of_item = dict(zip(outputs.frame["item"], outputs.frame[name], strict=True))
            found[name] = [str(of_item.get(item, "")) for item in table["item"]]
    return found


def _eligible(
    items: pd.Series[Any],
    systems: Sequence[str],
    shown: Mapping[tuple[str, str], str] | None,
    leave_out: Collection[str],
) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], dict[str, int]]:
    rated = items.isin(list(leave_out)).to_numpy()
    whole = np.array([shown is None or all((item, name) in shown for name in systems) for item in items], dtype=bool)
    counts = {"rated before": int(rated.sum()), "without an output of every system": int((~rated & ~whole).sum())}
    return ~rated & whole, counts


def _letter(number: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    out = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        out = chr(ord("A") + rest) + out
    return out


def _order(items: IntArray, n_systems: int, seed: int, rater: str) -> list[tuple[int, int]]:
    rng = stream(seed, "draw", "order", rater)
    of_item = zip(rng.permutation(items).tolist(), places(len(items), n_systems, rng).tolist(), strict=True)
    return [(item, system) for item, systems in of_item for system in systems]


def _seen(rows: pd.DataFrame, outputs: Outputs | None) -> dict[str, list[str]]:
    """Return what raters see of each drawn item, by column of the sheet."""
    out = {}
    for name in _SHOWN:
        column = "image" if name == "image" else "source"
        if column in out:
            continue
        if name in rows:
            out[column] = ["" if pd.isna(value) else str(value) for value in rows[name]]
        elif name == "source_text" and outputs is not None and name in outputs:
            of_item = dict(zip(outputs.frame["item"], outputs.frame[name], strict=True))
            out[column] = [str(of_item[item]) for item in rows["item"]]
    return out


def _sheet(
    rater: str,
    order: Sequence[tuple[int, int]],
    rows: pd.DataFrame,
    systems: Sequence[str],
    codes: Sequence[Sequence[str]],
    seen: Mapping[str, Sequence[str]],
    shown: Mapping[tuple[str, str], str] | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one rater's sheet and the key to it."""
    items = [str(rows["item"].iloc[item]) for item, _ in order]
    position = list(range(1, len(order) + 1))
    code = [codes[item][system] for item, system in order]
    sheet = pd.DataFrame({"position": position, "rater": rater, "item": items})
    for column, values in seen.items():
        sheet[column] = [values[item] for item, _ in order]
    sheet["code"] = code
    if shown is not None:
        sheet["output"] = [shown[name, systems[system]] for name, (_, system) in zip(items, order, strict=True)]
    key = pd.DataFrame({"rater": rater, "position": position, "item": items, "code": code})
    key["system"] = [systems[system] for _, system in order]
    return sheet, key


def _protocol(
    design: Design,
    systems: Sequence[str],
    criteria: Sequence[str],
    drawn: Drawn,
    kinds: Sequence[str],
    overlap: Overlap,
    left_out: Mapping[str, int],
    seed: int,
) -> dict[str, Any]:
    strata = [
        dict(zip(kinds, one.values, strict=True)) | {"available": one.available, "drawn": one.drawn}
        for one in drawn.strata
    ]
    return {
        "schema": SCHEMA,
        "seed": seed,
        "layout": design.layout,
        "n_raters": design.n_raters,
        "n_items": design.n_items,
        "raters_per_item": design.per_item,
        "items_per_rater": design.items_per_rater,
        "systems": list(systems),
        "criteria": list(criteria),
        "strata": strata,
        "left_out": dict(left_out),
        "overlaps": {"fewest": overlap.fewest, "most": overlap.most, "connected": overlap.is_connected},
        "codes": _CODES,
        "order": _ORDER,
    }
