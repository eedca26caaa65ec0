"""The length of every rated output: what it is counted in, and which ratings have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from measurand.data.outputs import Outputs
from measurand.data.panel import Panel
from measurand.data.text import LENGTH_UNITS, LengthUnit, lengths, main_unit
from measurand.result import Key, MeasurandError
from measurand.sentences import joined
from measurand.stats.inference import FloatArray, IntArray, Interval

#: What a length is counted in: a unit of text, or the table's own column of lengths.
UnitOfLength = LengthUnit | Literal["length"]
UNITS_OF_LENGTH: Final[tuple[UnitOfLength, ...]] = (*LENGTH_UNITS, *get_args(Literal["length"]))


@dataclass(frozen=True)
class CellLengths:
    """The known lengths of outputs.

    Parameters
    ----------
    unit : UnitOfLength
        What they are counted in.
    of : mapping
        (item, system) to length; outputs without a known one are left out.
    n_unknown : int
        Outputs whose text, or length, is blank.
    """

    unit: UnitOfLength
    of: Mapping[tuple[str, str], float]
    n_unknown: int


@dataclass(frozen=True)
class Measured:
    """The ratings of one criterion whose cells have a known length.

    Parameters
    ----------
    panel : Panel
        These ratings alone.
    length : ndarray, shape (n_ratings,)
        Length of the output that each rating concerns.
    unit : UnitOfLength
        What lengths are counted in.
    n_left_out : int
        Ratings of cells without a known length.
    known_share : mapping
        System to the share of its ratings whose output has a known length.
    """

    panel: Panel
    length: FloatArray
    unit: UnitOfLength
    n_left_out: int
    known_share: Mapping[str, float]

    def keys(self, **more: Key) -> dict[str, Key]:
        """Return the keys of a row: criterion, unit of length, and what else is given."""
        return {"criterion": self.panel.criterion, "unit_of_length": self.unit, **more}

    @property
    def of_cell(self) -> FloatArray:
        """Length of each cell, in the order of `Panel.cell`."""
        return self.length[self.panel.cell_start]

    @property
    def cell_system(self) -> IntArray:
        """System of each cell."""
        return self.panel.system[self.panel.cell_start]

    @property
    def is_whole(self) -> bool:
        """Whether all lengths are whole numbers."""
        return bool((self.length == np.floor(self.length)).all())


def cell_lengths(outputs: Outputs, unit: UnitOfLength | None) -> CellLengths:
    """Return the length of each output.

    Parameters
    ----------
    outputs : Outputs
        With texts, lengths, or both.
    unit : UnitOfLength or None
        None takes the table's own lengths where it has any, else what most texts consist of: emoji or words.

    Raises
    ------
    MeasurandError
        If there is no such unit, or the table lacks what it needs.
    """
    chosen = default_unit(outputs) if unit is None else unit
    if chosen not in UNITS_OF_LENGTH:
        raise MeasurandError(f"unit of length {chosen!r}; allowed are {', '.join(UNITS_OF_LENGTH)}")
    frame = outputs.frame
    if chosen == "length":
        if "length" not in outputs:
            raise MeasurandError("outputs: no column 'length'; name it with --length, or count units of their text")
        values = frame["length"].to_numpy(dtype=float)
    else:
        if "text" not in outputs:
            raise MeasurandError(f"outputs: no column 'text' whose {chosen}s could be counted; use the unit 'length'")
        values = lengths(frame["text"], chosen)
        # A blank text may be an output that nobody kept: whether it was empty is not known.
        values[(frame["text"].str.strip() == "").to_numpy()] = np.nan
    known = ~np.isnan(values)
    places = zip(frame["item"].to_numpy()[known], frame["system"].to_numpy()[known], strict=True)
    return CellLengths(chosen, dict(zip(places, values[known].tolist(), strict=True)), int((~known).sum()))


def default_unit(outputs: Outputs) -> UnitOfLength:
    """Return the unit for outputs of this kind; see `cell_lengths`.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.data.outputs import as_outputs
    >>> default_unit(as_outputs(pd.DataFrame({"item": [1, 2], "system": "S1", "text": ["😂😂", "🙂"]})))
    'emoji'
    """
    return "length" if "length" in outputs else main_unit(outputs.frame["text"])


def measured(panel: Panel, known: CellLengths) -> Measured:
    """Return the ratings of a panel whose cells have a known length."""
    of_cell = np.full(panel.n_cells, np.nan)
    for cell, start in enumerate(panel.cell_start):
        place = (panel.items[panel.item[start]], panel.systems[panel.system[start]])
        of_cell[cell] = known.of.get(place, np.nan)
    length = of_cell[panel.cell]
    kept = ~np.isnan(length)
    counts = np.bincount(panel.system, minlength=panel.n_systems)
    shares = np.bincount(panel.system, weights=kept, minlength=panel.n_systems) / np.maximum(counts, 1)
    known_share = dict(zip(panel.systems, shares.tolist(), strict=True))
    return Measured(_restricted(panel, kept), length[kept], known.unit, int((~kept).sum()), known_share)


def undefined_in(ends: Interval) -> str:
    """Return in how many replicates the statistic was undefined; blank if in none.

    Examples
    --------
    >>> undefined_in(Interval(0.0, 1.0, 0.25))
    'undefined in 25 % of the replicates'
    """
    return f"undefined in {100 * ends.undefined_share:.2g} % of the replicates" if ends.undefined_share else ""


def remarks(estimate: float, ends: Interval) -> str:
    """Return what a reader must know of an interval from replicates: undefined ones, no width, the estimate outside.

    Examples
    --------
    >>> remarks(0.97, Interval(-0.67, 0.89))
    'the interval leaves out its estimate, on which the replicates do not centre'
    """
    undefined = undefined_in(ends)
    if not ends.low <= ends.high:
        return undefined
    dust = 1e-12 * max(abs(estimate), 1e-300)
    is_outside = not ends.low - dust <= estimate <= ends.high + dust
    outside = "the interval leaves out its estimate, on which the replicates do not centre" if is_outside else ""
    return joined(undefined, "no width: the replicates agree" if ends.high - ends.low <= dust else "", outside)


def _restricted(panel: Panel, kept: npt.NDArray[np.bool_]) -> Panel:
    """Return the panel of some of the ratings; items, systems and raters without one are left out."""
    if kept.all():
        return panel
    items, item = _used(panel.items, panel.item[kept])
    systems, system = _used(panel.systems, panel.system[kept])
    raters, rater = _used(panel.raters, panel.rater[kept])
    return replace(
        panel,
        items=items,
        systems=systems,
        raters=raters,
        item=item,
        system=system,
        rater=rater,
        rating=panel.rating[kept],
        order=None if panel.order is None else panel.order[kept],
    )


def _used(names: Sequence[str], codes: IntArray) -> tuple[list[str], IntArray]:
    used, position = np.unique(codes, return_inverse=True)
    return [names[i] for i in used], position.astype(np.int64)
