"""The row of a number over repeated splits: its corrected interval and test, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from measurand.probing.bounds import within
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats.resampled import Resampled

CORRECTED: Final = "corrected resampled t (Nadeau & Bengio 2003)"


def split_row(
    keys: Mapping[str, Key],
    statistic: str,
    found: Resampled,
    *,
    confidence: float,
    n_items: int,
    note: str,
    covered: str = "",
    p_adjusted: float = np.nan,
    is_test: bool = True,
    possible: tuple[float, float] = (-1.0, 1.0),
) -> Row:
    """Return the row of a mean over splits.

    Parameters
    ----------
    keys, statistic, confidence, n_items, note
        As in `Row`.
    found : Resampled
        The mean with its interval and test of zero.
    covered : str
        What the interval covered in simulations; left out where there is no interval.
    p_adjusted : float
        NaN where it is of no family of tests.
    is_test : bool
        Whether a mean of zero is a hypothesis worth a p value; of a score it is not.
    possible : (float, float)
        The smallest and the largest value: the interval ends there, and the note says so.
    """
    if found.undefined:
        why = f"no interval: {found.undefined}"
        return Row("leakage", keys, statistic, found.mean, unit="split", n_items=n_items, note=joined(note, why))
    row = Row(
        "leakage",
        keys,
        statistic,
        found.mean,
        low=found.low,
        high=found.high,
        confidence=confidence,
        method=CORRECTED,
        unit="split",
        n_items=n_items,
        df1=1 if is_test else None,
        df2=found.df,
        p=found.p if is_test else None,
        p_adjusted=None if np.isnan(p_adjusted) else p_adjusted,
        note=joined(note, covered),
    )
    return within(row, *possible)
