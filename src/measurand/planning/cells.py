"""Ratings of a design of any facets by their cells: one array where every cell has one, else the cells there are."""

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
from measurand.stats.incomplete import joint
from measurand.stats.inference import FloatArray, IntArray


class Cells(NamedTuple):
    """The ratings of one criterion.

    Parameters
    ----------
    criterion : str
        Which.
    rating : ndarray, shape (n,)
        Ratings in scale units.
    levels : mapping
        Facet to the level of each rating, from 0 without gaps; of a nested facet within each of what it is nested in.
    sizes : mapping
        Facet to its largest number of levels, of a nested one within each of what it is nested in.
    n_cells : int
        Cells that the design has: every combination of the levels of facets that are crossed.
    names : mapping
        Facet that is nested in nothing to the names of its levels.
    array : ndarray or None
        The ratings with an axis for each facet; None where cells are empty, or nested facets have unequal sizes.
    """

    criterion: str
    rating: FloatArray
    levels: Mapping[str, IntArray]
    sizes: Mapping[str, float]
    n_cells: int
    names: Mapping[str, Sequence[str]]
    array: FloatArray | None

    @property
    def missing(self) -> int:
        """How many cells have no rating."""
        return self.n_cells - len(self.rating)


def read_cells(
    source: Any,
    design: Formula,
    *,
    columns: Mapping[str, str],
    rating: str,
    criterion: str | None,
    scale: Scale | Mapping[str, Scale] | None,
    labels: Sequence[str],
) -> list[Cells]:
    """Return the ratings of each criterion of a table.

    Raises
    ------
    MeasurandError
        Absent columns; a facet of one level; a cell with two ratings; ratings that the scale does not have.
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
        names = {
            facet: [str(codes[facet].cat.categories[level]) for level in np.unique(levels[facet])]
            for facet in design.facets
            if not design.within[facet]
        }
        out.append(_celled(name, here["rating"].to_numpy(dtype=float), levels, names, rows, design))
    return out


def _celled(
    criterion: str,
    rating: FloatArray,
    levels: Mapping[str, IntArray],
    names: Mapping[str, Sequence[str]],
    rows: IntArray,
    design: Formula,
) -> Cells:
    about = f"criterion {criterion!r}: " if criterion else ""
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
    n_cells = _n_cells(levels, design)
    is_complete = len(rating) == n_cells == int(np.prod([float(size) for size in shape]))
    array = rating[order].reshape(shape) if is_complete else None
    shaped = {facet: float(n) for facet, n in sizes.items()}
    return Cells(criterion, rating, positions, shaped, n_cells, names, array)


def _n_cells(levels: Mapping[str, IntArray], design: Formula) -> int:
    """Return how many cells the design has: facets that are nested in one another count the combinations there are."""
    inner = {facet for members in design.within.values() for facet in members}
    total = 1
    for facet in design.facets:
        if facet not in inner:
            total *= int(joint([levels[facet], *(levels[outer] for outer in sorted(design.within[facet]))]).max()) + 1
    return total


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
