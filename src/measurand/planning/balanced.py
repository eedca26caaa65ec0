"""Ratings of a design of any facets as one array, or what its cells lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from measurand.data.ratings import combine_codes, ids, read_ratings
from measurand.data.read import read_table
from measurand.data.scale import Scale
from measurand.result import MeasurandError
from measurand.stats.facets import Formula
from measurand.stats.inference import FloatArray, IntArray


class Balanced(NamedTuple):
    """The ratings of one criterion: an axis for each facet, and how many levels each has (where it is nested, each)."""

    criterion: str
    array: FloatArray
    sizes: Mapping[str, float]


def read_balanced(
    source: Any,
    design: Formula,
    *,
    columns: Mapping[str, str],
    rating: str,
    criterion: str | None,
    scale: Scale | Mapping[str, Scale] | None,
    labels: Sequence[str],
) -> list[Balanced]:
    """Return the balanced array of each criterion of a table.

    Raises
    ------
    MeasurandError
        Absent columns; a facet of one level; a cell with no rating or with two; ratings that the scale does not have.
    """
    table = read_table(source)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    of_facets = {facet: columns.get(facet, facet) for facet in design.facets}
    if unknown := sorted(set(columns) - set(design.facets)):
        raise MeasurandError(f"{unknown[0]!r} is no facet of {design}; columns are named for its facets alone")
    named = of_facets | {"rating": rating} | ({} if criterion is None else {"criterion": criterion})
    there = ", ".join(map(repr, table.columns[:12]))
    for role, column in named.items():
        if column not in table.columns:
            raise MeasurandError(f"no column {column!r} for {role}; the table has {there}")
    codes = {facet: ids(table[column], column, 1) for facet, column in of_facets.items()}
    by_criterion = criterion if criterion is not None else "criterion" if "criterion" in table.columns else None
    # What is a rating is settled in one place: a row is an item of its own there, named by its cell.
    cells = [
        ", ".join(f"{facet} {code}" for facet, code in zip(codes, row, strict=True))
        for row in zip(*codes.values(), strict=True)
    ]
    plain = pd.DataFrame({"item": [f"{k + 1}: {cell}" for k, cell in enumerate(cells)], "rater": "design"})
    plain["rating"] = table[rating]
    plain["row"] = np.arange(len(table))
    if by_criterion is not None:
        plain["criterion"] = table[by_criterion]
    checked = read_ratings(plain, scale=scale, labels=labels)
    frame = checked.frame
    out = []
    for name in checked.criteria:
        here = frame if by_criterion is None else frame[frame["criterion"] == name]
        rows = here["row"].to_numpy(dtype=np.int64)
        levels = {facet: np.asarray(code.cat.codes, dtype=np.int64)[rows] for facet, code in codes.items()}
        about = f"criterion {name!r}: " if name else ""
        array, sizes = _arrayed(here["rating"].to_numpy(dtype=float), levels, rows, design, about)
        out.append(Balanced(name, array, sizes))
    return out


def _arrayed(
    rating: FloatArray, levels: Mapping[str, IntArray], rows: IntArray, design: Formula, about: str
) -> tuple[FloatArray, dict[str, float]]:
    positions, sizes = {}, {}
    for facet in design.facets:
        within = [levels[outer] for outer in design.facets if outer in design.within[facet]]
        positions[facet], sizes[facet] = _numbered(levels[facet], within)
        if sizes[facet] < 2:
            each = f" within each {', '.join(sorted(design.within[facet]))}" if within else ""
            raise MeasurandError(
                f"{about}one {facet}{each}: its variance cannot be told; give two levels or leave it out"
            )
    shape = tuple(sizes[facet] for facet in design.facets)
    cell = combine_codes([positions[facet] for facet in design.facets], shape)
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if again.size:
        first, second = (int(rows[order[again[0] + k]]) + 1 for k in (0, 1))
        raise MeasurandError(
            f"{about}data rows {first} and {second} rate the same cell of {design}; name the facet in which they "
            "differ in the formula, or keep one of them"
        )
    total = int(np.prod([float(size) for size in shape]))
    if len(rating) != total:
        raise MeasurandError(
            f"{about}{design} has {total:,} cells ({', '.join(f'{n} {f}' for f, n in sizes.items())}) and "
            f"{len(rating):,} ratings: it takes one in every cell. Leave out levels that lack some, or, where each "
            "level of one facet occurs with one level of another alone, say that it is nested: (rater:group)"
        )
    return rating[order].reshape(shape), {facet: float(size) for facet, size in sizes.items()}


def _numbered(level: IntArray, within: Sequence[IntArray]) -> tuple[IntArray, int]:
    """Return levels numbered from 0 within each combination of what they are nested in, and the largest number."""
    if not within:
        distinct, position = np.unique(level, return_inverse=True)
        return position.astype(np.int64), len(distinct)
    outer = combine_codes(list(within), [int(codes.max()) + 1 for codes in within])
    _, outer = np.unique(outer, return_inverse=True)
    pairs, position = np.unique(np.column_stack([outer, level]), axis=0, return_inverse=True)
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])
    number = (np.arange(len(pairs)) - first)[position.ravel()]
    return number.astype(np.int64), int(number.max()) + 1
