"""Do ratings follow length? Between systems, judgement by judgement, and on the same item at equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from measurand.auditing.findings_length import length_findings
from measurand.auditing.length_cells import CellLengths, Measured, UnitOfLength, cell_lengths, measured
from measurand.auditing.length_judgements import judgements
from measurand.auditing.length_matched import matched
from measurand.auditing.length_pairs import DRAWS, default_tolerances
from measurand.auditing.length_raters import by_rater
from measurand.auditing.length_systems import between_systems, of_systems
from measurand.auditing.questions import Rows
from measurand.data.names import natural_order
from measurand.data.outputs import Outputs, as_outputs
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Finding, Key, MeasurandError, Result, Row


def length(
    ratings: Ratings | Sequence[Panel] | Any,
    outputs: Outputs | Any,
    *,
    unit: UnitOfLength | None = None,
    tolerances: Sequence[float] | None = None,
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Result:
    """Return how ratings follow the length of what was rated.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`; with systems.
    outputs : Outputs, path or data frame
        What the systems produced, as texts or as lengths (`measurand.data.read_outputs`). Ratings of outputs that are
        not there, or blank, are left out and counted.
    unit : UnitOfLength or None
        What lengths are counted in: emoji, emoji_or_text, non_ascii_grapheme, non_ascii_character, grapheme, word,
        character, byte, or length (the table's own column). None takes the column where there is one, else emoji if
        more than half of the texts consist of emoji alone, else words; the settings say which.
    tolerances : sequence of float or None
        Differences of two lengths, as shares of the longer one, up to which outputs count as equally long. None takes
        0 where lengths are whole and at least a tenth of the pairs are equal, and otherwise bands of .05, .1 and .2
        (of whole lengths 0, too).
    replicates : int
        Bootstrap replicates, at least 100.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `length`. Of each system `share_with_length` of its ratings, `mean_length`, `sd_length`,
        `mean_rating`. Between systems (model ``between_systems``), with all raters and with each: `r_squared`,
        `spearman`, `slope` of the mean rating on the mean length. By judgement: `slope` under mixed models, the usual
        one beside those with random slopes by rater, and `slope_sd_between_raters`; each rater's `slope` and
        `spearman`; the mean of the raters' slopes
        (``mean_of_raters``) and the test that they are one, `slopes_differ_f`. On one item at equal length:
        `win_rate_matched`, `win_rate_adjusted` (against an average opponent), `rank`, `spearman_matched_raw`, and the
        overlap, `matched_share`. Which facets an interval generalises over stands in its row. Its findings are those
        about length of the whole audit.

    Raises
    ------
    MeasurandError
        Of bad input; see `measurand.data.read_outputs`.

    Notes
    -----
    Length may be part of what makes an output better. That ratings follow it is therefore no proof of a bias, nor is a
    comparison at equal length the ranking without one: it is a controlled comparison, on the outputs that happen to be
    equally long.

    References
    ----------
    Sakhawat 2026, "Two Emojis of Difference", arXiv 2609.29445, section 5.

    Examples
    --------
    >>> import pandas as pd
    >>> longer = {"S1": 5, "S2": 3, "S3": 1}
    >>> table = pd.DataFrame([(i, s, r) for i in range(12) for s in longer for r in ("R1", "R2")],
    ...                      columns=["item", "system", "rater"])
    >>> written = table.drop(columns="rater").drop_duplicates()
    >>> written["length"] = [longer[s] + i % 2 for s, i in zip(written["system"], written["item"])]
    >>> found = length(table.assign(rating=[longer[s] for s in table["system"]]), written, replicates=100)
    >>> found.value("length", "spearman", {"model": "between_systems", "rater": ""})
    1.0
    >>> [finding.verdict for finding in found.findings if finding.id == "length-outputs"]
    ['pass']
    """
    if replicates < 100:
        raise MeasurandError(f"{replicates} replicates; an interval needs at least 100, and 2,000 are the default")
    if tolerances is not None and (not tolerances or not all(0 <= tolerance < 1 for tolerance in tolerances)):
        raise MeasurandError(f"tolerances {list(tolerances)}; give shares of the longer length, from 0 to below 1")
    known = cell_lengths(as_outputs(outputs), unit)
    rows: list[Row] = []
    findings: list[Finding] = []
    bands: dict[str, list[float]] = {}
    for panel in panels(ratings):
        made = _of_panel(panel, known, tolerances, replicates, confidence, seed, bands)
        size = Row("design", {}, "n_systems", panel.n_systems)
        # They need nothing of the other analyses but how many systems there are.
        findings += length_findings(Rows([size, *made], panel.criterion, {}, 0.0))
        rows += made
    settings: dict[str, Any] = {
        "unit_of_length": known.unit,
        "unit_was_given": unit is not None,
        "outputs_of_unknown_length": known.n_unknown,
        "tolerances": bands,
        "ties": ["half", "dropped"],
        "replicates": replicates,
        "draws": DRAWS,
        "confidence": confidence,
        "seed": seed,
    }
    return Result(rows, {"length": settings}, findings)


def _of_panel(
    panel: Panel,
    known: CellLengths,
    tolerances: Sequence[float] | None,
    replicates: int,
    confidence: float,
    seed: int,
    bands: dict[str, list[float]],
) -> list[Row]:
    """Return the rows of one criterion, and note the tolerances that it was given."""
    keys: dict[str, Key] = {"criterion": panel.criterion, "unit_of_length": known.unit}
    if panel.n_systems == 0:
        return [_nothing(keys, "there are no systems: the ratings concern the items themselves")]
    one = measured(panel, known)
    left_out = Row(
        "length", keys, "n_ratings_left_out", one.n_left_out, note="ratings of outputs whose length is not known"
    )
    matches = [left_out, *_matches(one, known, keys)]
    if len(one.length) == 0:
        reason = "no output of the outputs table belongs to a rated cell: its items and systems have other names"
        return [*matches, _nothing(keys, reason)]
    if not panel.has_numbers:
        return [*matches, _nothing(keys, "nominal ratings of more than two categories have no mean")]
    chosen = default_tolerances(one) if tolerances is None else tuple(dict.fromkeys(map(float, tolerances)))
    bands[panel.criterion] = list(chosen)
    rows = [*matches, *of_systems(one, confidence=confidence)]
    rows += between_systems(one, replicates=replicates, confidence=confidence, seed=seed)
    rows += judgements(one, confidence=confidence)
    rows += by_rater(one, replicates=replicates, confidence=confidence, seed=seed)
    return rows + matched(one, chosen, replicates=replicates, confidence=confidence, seed=seed)


def _matches(one: Measured, known: CellLengths, keys: dict[str, Key]) -> list[Row]:
    """Return how much of each system's ratings has an output of known length, and which systems nobody rated."""
    note = "of the system's ratings, those whose output has a known length; counted, no interval"
    rows = [
        Row("length", keys | {"system": name}, "share_with_length", value, note=note)
        for name, value in one.known_share.items()
    ]
    unrated = natural_order([name for name in {system for _, system in known.of} if name not in one.known_share])
    return [*rows, Row("length", keys, "n_systems_unrated", len(unrated), note=", ".join(map(repr, unrated)))]


def _nothing(keys: dict[str, Key], reason: str) -> Row:
    return Row("length", keys, "mean_length", np.nan, undefined=reason)
