"""The components of a design of any facets with their draws and weights, whether every cell has a rating or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.auditing.components import EFFECTIVE_METHOD, PIVOT_METHOD
from measurand.planning.cells import Cells
from measurand.result import Key, MeasurandError
from measurand.sentences import listed, share
from measurand.stats import effective, incomplete
from measurand.stats import facets as designs
from measurand.stats.facets import Formula, Projection
from measurand.stats.henderson import henderson, henderson_equations
from measurand.stats.inference import FloatArray, stream
from measurand.stats.mixed import Term

#: The level whose coverage was simulated.
_SIMULATED: Final = 0.95
#: Ratings times components, over all tables simulated to learn degrees of freedom; bounds the time of large designs.
_WORK: Final = 4e8
_FEWEST_SIMULATED: Final = 200
#: Share of its expectation below which an effective mean square, which may fall below 0, is not let.
_LEAST_SQUARE: Final = 0.05
#: How often 95 % intervals held where cells are empty, lowest and highest of the designs that were simulated, in whole
#: percent; a test holds these against the table in benchmarks/coverage/.
HELD: Final[Mapping[str, tuple[int, int]]] = {"g": (94, 98), "phi": (90, 98), "variance": (93, 100)}
#: Components below this share of the largest are what rounding leaves.
_DUST: Final = 1e-12


@dataclass(frozen=True)
class Fitted:
    """What one criterion's ratings say of a design.

    Parameters
    ----------
    cells : Cells
        The ratings.
    design : Formula
        The design.
    object_of_measurement : str
        The facet whose differences are wanted.
    fixed : tuple of str
        Facets that keep these very levels.
    parts : mapping
        Component to its unbiased estimate; negative ones keep their sign. Empty where ratings do not vary.
    drawn : mapping
        Component to its draws; empty where ratings do not vary.
    estimator : str
        ``anova`` where every cell has a rating, ``henderson`` elsewhere.
    sizes : mapping
        Facet to the number of its levels, of a nested one within each; effective numbers where cells are empty.
    here : Projection
        The weights of the components in the objects' means as they were rated.
    method : str
        How intervals are made.
    """

    cells: Cells
    design: Formula
    object_of_measurement: str
    fixed: tuple[str, ...]
    parts: Mapping[str, FloatArray]
    drawn: Mapping[str, FloatArray]
    estimator: str
    sizes: Mapping[str, float]
    here: Projection
    method: str

    @property
    def is_balanced(self) -> bool:
        """Whether every cell has one rating, and nested facets have as many levels everywhere."""
        return self.cells.array is not None

    @property
    def n_objects(self) -> int:
        """How many objects are compared."""
        return int(self.cells.sizes[self.object_of_measurement])

    @property
    def random(self) -> list[str]:
        """The facets of which a later study would have other levels."""
        return [one for one in self.design.facets if one != self.object_of_measurement and one not in self.fixed]

    def keys(self, **more: Key) -> dict[str, Key]:
        """Return the keys of a row of this design."""
        keys: dict[str, Key] = {"criterion": self.cells.criterion, "formula": str(self.design)}
        return keys | {"estimator": self.estimator} | ({"fixed": ", ".join(self.fixed)} if self.fixed else {}) | more

    def told(self, sizes: Mapping[str, float]) -> str:
        """Return sizes as rows have them, effective ones with four digits."""
        told = ((facet, sizes[facet]) for facet in self.design.facets if facet != self.object_of_measurement)
        return ", ".join(
            f"{facet}={size:.0f}" if size == round(size) else f"{facet}={size:.4g}" for facet, size in told
        )

    def held(self, statistic: str, confidence: float) -> str:
        """Return how often intervals of a statistic held in simulation, for its note; blank where they keep it."""
        if self.is_balanced or statistic not in HELD or confidence != _SIMULATED:
            return ""
        low, high = HELD[statistic]
        return f"in simulation a 95 % interval of this kind held {low} to {high} % of the time"

    def projected(self, sizes: Mapping[str, float]) -> Projection:
        """Return the weights in a complete study of other sizes."""
        return designs.project(self.design, sizes, object_of_measurement=self.object_of_measurement, fixed=self.fixed)


def fitted(
    cells: Cells, design: Formula, *, object_of_measurement: str, fixed: Sequence[str], seed: int, draws: int
) -> Fitted:
    """Return the components of one criterion.

    Raises
    ------
    MeasurandError
        Where cells are empty: objects that are not connected, components that the cells do not tell apart.
    """
    kept = tuple(dict.fromkeys(fixed))
    rng = stream(seed, "facets", cells.criterion)
    if cells.array is not None:
        table = designs.anova(cells.array, design)
        varies = sum(table.ss.values()) > 0
        parts = {name: np.array(value) for name, value in designs.components(table).items()} if varies else {}
        drawn = designs.pivots(table, n_draws=draws, rng=rng) if varies else {}
        here = designs.project(design, cells.sizes, object_of_measurement=object_of_measurement, fixed=kept)
        return Fitted(
            cells, design, object_of_measurement, kept, parts, drawn, "anova", cells.sizes, here, PIVOT_METHOD
        )
    terms = incomplete.effects(design, cells.levels)
    equations = henderson_equations(terms, len(cells.rating))
    _check(cells, design, object_of_measurement, terms, equations)
    here = incomplete.laid_out(design, cells.levels, object_of_measurement=object_of_measurement, fixed=kept)
    effective_sizes = incomplete.effective_sizes(design, cells.levels, object_of_measurement)
    # A later study with the very same levels has all of them.
    sizes = dict(cells.sizes) | {facet: size for facet, size in effective_sizes.items() if facet not in kept}
    parts, drawn = {}, {}
    if np.ptp(cells.rating) > 0:
        parts = _cleared(henderson(cells.rating, terms, equations=equations))
        drawn = _drawn(terms, equations, parts, draws=draws, rng=rng)
    return Fitted(cells, design, object_of_measurement, kept, parts, drawn, "henderson", sizes, here, EFFECTIVE_METHOD)


def _cleared(values: Mapping[str, float]) -> dict[str, FloatArray]:
    """Return components without what rounding leaves of those that are 0."""
    largest = max(abs(value) for value in values.values())
    return {name: np.array(value if abs(value) > _DUST * largest else 0.0) for name, value in values.items()}


def _drawn(
    terms: Sequence[Term],
    equations: FloatArray,
    parts: Mapping[str, FloatArray],
    *,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    values = np.array([float(value) for value in parts.values()])
    # Degrees of freedom hang on the components' proportions; those that are negative are none.
    truth = np.maximum(values, 0.0)
    truth[-1] = max(truth[-1], _DUST * float(truth.max()))
    matrix = effective.expectation_matrix(terms)
    # Large effects leave their noise in the mean squares of small ones, which they may push below 0.
    squares = np.maximum(matrix @ values, _LEAST_SQUARE * (matrix @ truth))
    work = len(terms[0].codes) * len(terms)
    return effective.pivots(
        terms,
        dict(zip(parts, map(float, np.linalg.solve(matrix, squares)), strict=True)),
        dict(zip(parts, map(float, truth), strict=True)),
        n_draws=draws,
        rng=rng,
        simulated=int(np.clip(_WORK / work, _FEWEST_SIMULATED, effective.SIMULATED)),
        equations=equations,
    )


def _check(cells: Cells, design: Formula, object_: str, terms: Sequence[Term], equations: FloatArray) -> None:
    """Refuse designs with so many holes that they cannot answer."""
    about = f"criterion {cells.criterion!r}: " if cells.criterion else ""
    rated = (
        f"{about}{design} has {cells.n_cells:,} cells and {len(cells.rating):,} ratings "
        f"({share(len(cells.rating) / cells.n_cells)})"
    )
    apart = incomplete.unconnected(design, cells.levels, object_)
    if apart is not None:
        first, second = (cells.names[object_][at] for at in (apart.first, apart.second))
        if apart.facet:
            raise MeasurandError(
                f"{rated}: {object_} {first!r} and {object_} {second!r} share no {apart.facet}, directly or through "
                f"others, so that what sets them apart may be the {apart.facet}s; leave out one part, or have both "
                f"rated with the same {apart.facet}s"
            )
        raise MeasurandError(
            f"{rated}: what sets the levels of {object_} apart cannot be told from what sets those of other facets "
            "apart; leave out levels that are seldom rated, or a facet"
        )
    same = incomplete.inseparable(terms, equations)
    if same:
        raise MeasurandError(f"{rated}, which cannot tell {listed(same)} apart: {_remedy(same, design)}")


def _remedy(same: Sequence[str], design: Formula) -> str:
    """Return what to do about components that have the same levels."""
    if len(same) == 2:
        small, large = (design.members(name) for name in same)
        more = large - small
        if small < large and len(more) == 1 and len(small) == 1:
            (outer,), (inner,) = more, small
            return (
                f"each {inner} occurs with one {outer} alone. If that is the design, say that {inner} is nested, "
                f"({inner}:{outer}); else rate each {inner} with several {outer}s"
            )
        if same[1] == "residual":
            return (
                f"no level of {same[0]} has two ratings; rate each with several {_or(more)}s, or leave that facet out"
            )
    return "leave a facet out of the formula, or rate more cells"


def _or(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))
