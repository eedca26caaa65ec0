"""The whole probe of outputs: every question in a fixed order, then the findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from threadpoolctl import threadpool_limits

from measurand.data.outputs import Outputs, as_outputs
from measurand.data.panel import panels
from measurand.data.text import TOKEN_UNITS, main_unit
from measurand.data.vectors import Vectors
from measurand.probing.cost import cost
from measurand.probing.cost_quality import cost_against_quality
from measurand.probing.decodability import PRESETS, decodability
from measurand.probing.decodability_ratings import decodability_ratings
from measurand.probing.findings import findings
from measurand.probing.findings_decodability_read import system_scores
from measurand.probing.geometry import geometry
from measurand.probing.leakage import leakage
from measurand.probing.outputs import describe
from measurand.probing.units import units
from measurand.result import MeasurandError, Result

#: The parts, in order, and about how long each takes beside the others.
PARTS: Final[Mapping[str, int]] = {"units": 2, "decodability": 24, "leakage": 8, "geometry": 4, "cost": 2}

#: What a decoder is made with where neither a preset nor the caller says.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "penalty": 4.0,
    "n_folds": 5,
    "n_seeds": 10,
    "replicates": 2000,
    "labels": "refuse",
}

Told = Callable[[str, int, int], None]


def probe(
    outputs: Outputs | Any,
    *,
    vectors: Vectors | Sequence[Vectors] = (),
    ratings: Any = None,
    token_unit: str | None = None,
    preset: str | None = None,
    labels: str | None = None,
    asked: tuple[int, int] | None = None,
    penalty: float | None = None,
    n_folds: int | None = None,
    n_seeds: int | None = None,
    replicates: int | None = None,
    refits: int = 40,
    repeats: int = 10,
    base_language: str | None = None,
    only: str | Sequence[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
    progress: Told | None = None,
) -> Result:
    """Find out what outputs say without a rater: units, decodability, leakage, geometry of vectors, cost of tokens.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        What each system produced (`measurand.read_outputs`). What needs a label, a language, tokens or vectors is left
        out where there are none, and a finding says what it lacks.
    vectors : Vectors or sequence of Vectors
        Vectors of the items (`measurand.read_vectors`), of one encoder or several.
    ratings : Ratings, path, data frame or None
        Ratings of the outputs, to hold decodability and cost against.
    token_unit : str or None
        What a decoder sees of an output; None takes emoji where most outputs consist of them, and else words.
    preset : str or None
        ``"ead"`` takes the second paper's decoder, where nothing else is named: graphemes beyond ASCII, rows as folds
        deal them, shared labels.
    labels : {"refuse", "shared"} or None
        Where languages have different labels: refuse what crosses languages, or keep the labels that all have. None
        refuses, or does as the preset says.
    asked : (int, int) or None
        The fewest and the most units that were asked for.
    penalty, n_folds, n_seeds, replicates, refits
        As for `measurand.probing.decodability`; None takes 4, 5, 10 and 2,000, or what the preset says.
    repeats : int
        Pairs of splits of the question of leakage.
    base_language : str or None
        The language that costs are compared with.
    only : str or sequence of str
        These parts alone, of ``units``, ``decodability``, ``leakage``, ``geometry``, ``cost``; empty for all.
    confidence, seed
        Level of intervals; the one seed.
    progress : callable or None
        Told the name of the work, how far it is, and how far there is to go.

    Returns
    -------
    Result
        All analyses, each also to be had by its own function of `measurand.probing`, and the findings.

    Raises
    ------
    MeasurandError
        Of bad input; see `measurand.read_outputs`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": range(40), "text": ["😀", "😢"] * 20, "label": ["joy", "sadness"] * 20})
    >>> found = probe(table, n_seeds=2, replicates=100, refits=0, only=["units", "decodability"])
    >>> [finding.verdict for finding in found.findings if finding.id == "decodable"]
    ['pass']
    """
    table = as_outputs(outputs)
    only = (only,) if isinstance(only, str) else tuple(only)
    vectors = (vectors,) if isinstance(vectors, Vectors) else tuple(vectors)
    if strange := [one for one in vectors if not isinstance(one, Vectors)]:
        kind = type(strange[0]).__name__
        raise MeasurandError(
            f"vectors holds a {kind}; give what measurand.read_vectors(path) returns, or a list of such"
        )
    _check(table, token_unit, preset, labels, only)
    if "geometry" in only and not vectors:
        raise MeasurandError("geometry is asked for, and there are no vectors; give them with --vectors NAME=FILE")
    unit = token_unit or (main_unit(table.frame["text"]) if "text" in table else "emoji")
    named = {
        "token_unit": token_unit,
        "penalty": penalty,
        "n_folds": n_folds,
        "n_seeds": n_seeds,
        "replicates": replicates,
        "labels": labels,
    }
    decoding: dict[str, Any] = {
        **_DEFAULTS,
        "token_unit": unit,
        **(PRESETS[preset] if preset is not None else {}),
        **{name: value for name, value in named.items() if value is not None},
    }
    level: dict[str, Any] = {"confidence": confidence, "seed": seed}
    redrawn: dict[str, Any] = {**level, "replicates": decoding["replicates"]}
    steps: dict[str, Callable[[Result], Result]] = {
        "units": lambda _: units(table, unit=unit, asked=asked, **redrawn),
        "decodability": lambda _: _decoded(
            table, vectors, ratings, {**decoding, "refits": refits, "progress": bar.within}, level
        ),
        "leakage": lambda _: leakage(
            table,
            token_unit=decoding["token_unit"],
            penalty=decoding["penalty"],
            repeats=repeats,
            progress=bar.within,
            **level,
        ),
        "geometry": lambda _: geometry(vectors, items=table, **redrawn) if vectors else Result([]),
        "cost": lambda found: _cost(table, found, ratings, base_language, unit, redrawn),
    }
    wanted = [name for name in steps if not only or name in only]
    bar = _Bar(progress, wanted)
    result = describe(table)
    # One BLAS thread: the products are small, and sums must not depend on how many cores there are.
    with threadpool_limits(limits=1, user_api="blas"):
        for name in wanted:
            bar.start(name)
            result = result + steps[name](result)
    return Result(result.rows, result.settings, findings(result, table, wanted))


def _decoded(
    table: Outputs,
    vectors: Sequence[Vectors],
    ratings: Any,
    decoding: Mapping[str, Any],
    level: Mapping[str, Any],
) -> Result:
    """Return what can be decoded, and how that goes with ratings; nothing without texts and labels."""
    if not ("text" in table and "label" in table):
        return Result([])
    named = {one.name: one for one in vectors} or None
    found = decodability(table, vectors=named, **decoding, **level)
    return found if ratings is None else found + decodability_ratings(found, ratings, **level)


def _cost(
    table: Outputs, result: Result, ratings: Any, base_language: str | None, unit: str, redrawn: Mapping[str, Any]
) -> Result:
    """Return what the outputs cost, and how that goes with what is known of the systems' quality."""
    found = cost(table, base_language=base_language, unit=unit, **redrawn)
    rows = list(found.rows)
    for name, language, quality in _qualities(result, ratings):
        rows += cost_against_quality(found, quality, name=name, language=language, **redrawn).rows
    return Result(rows, found.settings)


def _check(table: Outputs, token_unit: str | None, preset: str | None, labels: str | None, only: Sequence[str]) -> None:
    if token_unit is not None and token_unit not in TOKEN_UNITS:
        raise MeasurandError(f"token unit {token_unit!r}; allowed are {', '.join(TOKEN_UNITS)}")
    if preset is not None and preset not in PRESETS:
        raise MeasurandError(f"preset {preset!r}; there are {', '.join(PRESETS)}")
    if labels not in (None, "refuse", "shared"):
        raise MeasurandError(f"labels {labels!r}; allowed are refuse and shared")
    if unknown := [name for name in only if name not in PARTS]:
        raise MeasurandError(f"only {unknown[0]!r}; there are {', '.join(PARTS)}")
    if "decodability" in only and not ("text" in table and "label" in table):
        lacks = "text" if "text" not in table else "label"
        raise MeasurandError(f"decodability needs the column {lacks!r}, which the outputs do not have")


def _qualities(result: Result, ratings: Any) -> list[tuple[str, str, dict[str, float]]]:
    """Return what is known of how good the systems are: its name, the language it is of, and each system's value."""
    out = [("macro_f1", language, of) for (language, _), of in system_scores(result).items() if "" not in of]
    for panel in panels(ratings) if ratings is not None else []:
        if panel.n_systems < 2 or not panel.has_numbers:
            continue
        means = {name: float(panel.rating[panel.system == at].mean()) for at, name in enumerate(panel.systems)}
        out.append((f"mean rating of {panel.criterion}" if panel.criterion else "mean rating", "", means))
    return out


class _Bar:
    """Tells how far the parts are, and how far a part is within."""

    def __init__(self, progress: Told | None, wanted: Sequence[str]) -> None:
        self._progress, self._of = progress, sum(PARTS[name] for name in wanted)
        self._done = self._width = 0

    def start(self, name: str) -> None:
        """Tell that a part begins, and those before it are done."""
        self._done += self._width
        self._width = PARTS[name]
        self.within(name, 0, 1)

    def within(self, name: str, number: int, of: int) -> None:
        """Tell that so many of the steps of this part are done."""
        if self._progress is not None:
            self._progress(name, self._done + self._width * number // of, self._of)
