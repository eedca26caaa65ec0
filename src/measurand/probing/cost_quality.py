"""Does what a system costs go with how good it is? Rank correlations over systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from measurand.result import Key, MeasurandError, Result, Row
from measurand.sentences import joined, listed
from measurand.stats.inference import FloatArray, holm, stream
from measurand.stats.rank_correlation import correlation

#: Measures of cost that are held against quality: statistic and per.
MEASURES: Final = (
    ("total_tokens", "output"),
    ("completion_tokens", "output"),
    ("visible_tokens", "output"),
    ("total_tokens", "emitted_unit"),
    ("completion_tokens", "emitted_unit"),
    ("emitted_units", "output"),
)
_BY_LENGTH: Final = "divided by the length, and so goes with it by construction"
#: A rank correlation over fewer systems says nothing.
FEWEST: Final = 4


def cost_against_quality(
    result: Result,
    quality: Mapping[str, float],
    *,
    name: str,
    language: str = "",
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Result:
    """Return how the systems' costs and their quality go together.

    Parameters
    ----------
    result : Result
        Of `cost`.
    quality : mapping
        System to its quality, more is better: a mean rating, a macro-F1.
    name : str
        What the quality is called; it stands in the key `against`.
    language : str
        The language whose costs are taken; blank: all together, or the only one. A macro-F1 is of one language.
    confidence : float
        Level of the intervals.
    replicates : int
        Random orders of systems for the permutation test, where there are more than eight.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `cost`, rows `total_tokens_spearman`, `completion_tokens_spearman`, `visible_tokens_spearman` and
        `emitted_units_spearman` per output, total and completion also per emitted unit: Spearman's rank correlation
        over systems, its interval, the permutation p with Holm's adjustment over the rows per output (and over those
        per emitted unit), and the smallest p that so many systems could have given. Undefined below four systems.
        Tokens per emitted unit are divided by the length: they go with it by construction, and so with whatever goes
        with length. Whether dearer systems do better is read off the rows per output.

    Raises
    ------
    MeasurandError
        If the quality is of no system of the result, or not finite. Systems with a quality and no cost, or the reverse,
        are left out, and the note says how many.

    Notes
    -----
    The systems are what varies: costs and quality of each are taken as they are. The interval is Fisher's z with the
    standard error √((1 + ρ² / 2) / (n - 3)); for few systems it is approximate, and there is none at ρ = ±1.

    References
    ----------
    Bonett & Wright (2000), Sample size requirements for estimating Pearson, Kendall and Spearman correlations,
    Psychometrika 65, 23-28.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.probing.cost import cost
    >>> table = pd.DataFrame({"item": list("aaaabbbb"), "system": list("wxyz") * 2, "text": "😂",
    ...                       "completion_tokens": [1, 2, 3, 4] * 2})
    >>> found = cost_against_quality(cost(table), {"w": 4, "x": 3, "y": 2, "z": 1}, name="mean rating")
    >>> row = found.select("cost", "completion_tokens_spearman", {"per": "output"})[0]
    >>> round(row.estimate, 3), round(row.p, 4)
    (-1.0, 0.0833)
    """
    _check(result, quality)
    languages = list(dict.fromkeys(str(row.keys.get("language", "")) for row in result.rows if _is_rate(row)))
    if not language and len(languages) == 1:
        language = languages[0]
    rows = []
    for statistic, per in MEASURES:
        found = {
            str(row.keys["system"]): row.estimate
            for row in result.select("cost", statistic, {"language": language, "per": per, "against": ""})
            if row.keys.get("system") and not row.undefined
        }
        systems = [one for one in found if one in quality]
        if not found:
            continue
        keys: dict[str, Key] = {"language": language, "per": per, "against": name}
        if statistic != "emitted_units":
            keys["net_of_template"] = "no"
        counts = ((len(found) - len(systems), "quality"), (len(set(quality) - set(found)), "cost"))
        left_out = "".join(f", {number} more without a {what}" for number, what in counts if number)
        x, y = (np.array([values[one] for one in systems], dtype=float) for values in (found, quality))
        rows.append(_correlation(f"{statistic}_spearman", keys, x, y, left_out, confidence, replicates, seed))
    per_output, per_unit = ([row for row in rows if (row.keys["per"] == "output") is one] for one in (True, False))
    rows = [*_adjusted(per_output), *(replace(row, note=joined(row.note, _BY_LENGTH)) for row in _adjusted(per_unit))]
    return Result(rows, {"cost": dict(result.settings.get("cost", {}))})


def _adjusted(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with Holm's p over all of them."""
    adjusted = holm(np.array([np.nan if row.p is None else row.p for row in rows]))
    return [row if row.p is None else replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]


def _is_rate(row: Row) -> bool:
    return row.analysis == "cost" and bool(row.keys.get("system")) and not row.keys.get("against")


def _check(result: Result, quality: Mapping[str, float]) -> None:
    systems = {str(row.keys.get("system", "")) for row in result.rows if row.analysis == "cost"} - {""}
    if not systems & set(quality):
        there = f"the outputs have {listed(sorted(systems))}" if systems else "the outputs name no systems"
        raise MeasurandError(f"quality of {listed(sorted(quality))}, and {there}; give that of systems of this table")
    for system, value in quality.items():
        if not math.isfinite(value):
            raise MeasurandError(f"quality of {system!r} is {value}; give a finite number, or leave the system out")


def _correlation(
    statistic: str,
    keys: Mapping[str, Key],
    x: FloatArray,
    y: FloatArray,
    left_out: str,
    confidence: float,
    replicates: int,
    seed: int,
) -> Row:
    n = len(x)
    if n < FEWEST:
        reason = (
            f"{n} system{'' if n == 1 else 's'} with cost and quality; a rank correlation says nothing below {FEWEST}"
        )
        return Row("cost", keys, statistic, np.nan, undefined=reason)
    rng = stream(seed, "cost", statistic, *(str(keys.get(name, "")) for name in ("language", "per", "against")))
    found = correlation(x, y, confidence=confidence, is_rank=True, n_draws=replicates, rng=rng)
    if found.undefined:
        return Row("cost", keys, statistic, np.nan, undefined="the systems are all tied on one side")
    over = f"over {n} systems{left_out}"
    row = Row("cost", keys, statistic, found.value, unit="system", p=found.p, attainable_p=found.attainable_p)
    if found.no_interval:
        return replace(row, note=f"{over}; no interval: {found.no_interval}")
    return replace(
        row,
        low=found.low,
        high=found.high,
        confidence=confidence,
        method="Fisher's z, Bonett and Wright's standard error",
        note=f"{over}; few systems: the interval is approximate",
    )
