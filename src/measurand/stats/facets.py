"""Designs of any facets, crossed or nested, from a formula: components of balanced data and the error of other sizes.

`system x item x (rater:group)`: facets are crossed by `x`, and `a:b` says that each b has levels of a of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.stats.inference import FloatArray
from measurand.stats.variance import Anova, expectation_matrix

#: Facets come in this order in the names of components, others after them in the order of the formula.
_FIRST: Final = ("item", "system", "rater")
#: What components, or prices, are called that are no facet's.
_TAKEN: Final = ("residual", "judgement")
#: Largest relative rounding error that a sum of squares can owe to the size of the ratings themselves.
_ROUNDING: Final = 1e-24


@dataclass(frozen=True)
class Formula:
    """The facets of a design and what each is nested in.

    Parameters
    ----------
    facets : tuple of str
        In the order of the names of components.
    within : mapping
        Facet to the facets that it is nested in, directly or not; empty for a crossed one.
    """

    facets: tuple[str, ...]
    within: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula.

        Parameters
        ----------
        text : str
            Terms with `x`, `×` or `*` between them. A term is a facet, or facets with colons, the inner first:
            ``item``, ``rater:group``, ``rater:group:country``; parentheses around a term are as good as none.

        Raises
        ------
        ValueError
            If a term is no such thing, a facet occurs twice or is called residual or judgement, or there are fewer than
            two facets.

        Examples
        --------
        >>> formula = Formula.parse("system x item x (rater:group)")
        >>> formula.facets, sorted(formula.within["rater"])
        (('item', 'system', 'rater', 'group'), ['group'])
        >>> [formula.name(members) for members in formula.components]
        ['item', 'system', 'group', 'item:system', 'item:group', 'system:group', 'rater:group', 'item:system:group', \
'item:rater:group', 'system:rater:group', 'residual']
        """
        within: dict[str, frozenset[str]] = {}
        for term in re.split(r"\s+x(?=\s|$)\s*|\s*[×*]\s*", text.strip()):
            bare = term.strip()
            bare = bare[1:-1] if bare.startswith("(") and bare.endswith(")") else bare
            chain = [part.strip() for part in bare.split(":")]
            if any(not re.fullmatch(r"[^\W\d][\w .-]*", part) for part in chain):
                raise ValueError(f"{term.strip()!r} is no facet and no chain of nested facets such as rater:group")
            for position, facet in enumerate(chain):
                if facet in _TAKEN:
                    raise ValueError(f"no facet can be called {facet!r}, which names something else; rename its column")
                if facet in within:
                    raise ValueError(f"the facet {facet!r} occurs twice")
                within[facet] = frozenset(chain[position + 1 :])
        if len(within) < 2:
            raise ValueError("a design needs two facets, for example system x item x rater")
        ordered = [facet for facet in _FIRST if facet in within] + [facet for facet in within if facet not in _FIRST]
        return cls(tuple(ordered), {facet: within[facet] for facet in ordered})

    @property
    def components(self) -> list[frozenset[str]]:
        """The facets of each component, smallest first, the residual last: sets that hold what their members are in."""
        out = []
        for order in range(1, len(self.facets) + 1):
            for chosen in itertools.combinations(self.facets, order):
                members = frozenset(chosen)
                if all(self.within[facet] <= members for facet in members):
                    out.append(members)
        return out

    def name(self, members: frozenset[str]) -> str:
        """Return the name of a component: its facets with colons, ``"residual"`` where it has all of them."""
        if len(members) == len(self.facets):
            return "residual"
        return ":".join(facet for facet in self.facets if facet in members)

    def members(self, name: str) -> frozenset[str]:
        """Return the facets of a component, whatever their order in its name.

        Raises
        ------
        ValueError
            If the design has no such component.
        """
        found = frozenset(self.facets) if name == "residual" else frozenset(name.split(":"))
        if found not in self.components:
            there = ", ".join(self.name(members) for members in self.components)
            raise ValueError(f"no component {name!r}; this design has {there}")
        return found

    def __str__(self) -> str:
        terms = []
        inner = frozenset(facet for members in self.within.values() for facet in members)
        for facet in self.facets:
            if facet in inner:
                continue
            chain = [facet, *sorted(self.within[facet], key=lambda one: -len(self.within[one]))]
            terms.append(f"({':'.join(chain)})" if len(chain) > 1 else facet)
        return " x ".join(terms)


def anova(array: FloatArray, formula: Formula) -> Anova:
    """Return the analysis of variance of balanced data of any design.

    Parameters
    ----------
    array : ndarray
        One axis for each facet, in the order of `formula.facets`; the axis of a nested facet numbers its levels anew
        within each combination of what it is nested in. No NaN, every axis of two levels at least.
    formula : Formula
        The design.

    Returns
    -------
    Anova
        Sums of squares and degrees of freedom of its components, by their names.

    Notes
    -----
    The effect of a component is its marginal mean less the effects of all components within it;
    SS = (product of the sizes not in it) Σ effect², df = its cells less the degrees of freedom within it and 1.

    References
    ----------
    Brennan (2001), Generalizability Theory, sections 3.2 and 3.3; the example is his table 3.2.

    Examples
    --------
    >>> rows = ["5937937594", "6345243894", "5735937584", "5733757783", "5753737763", "3531735565", "4534365566",
    ...     "5553737455", "6765245355", "7753755287", "3513515111", "3265324111"]
    >>> formula = Formula.parse("person x (rater:task)")
    >>> formula.facets
    ('rater', 'person', 'task')
    >>> array = np.array([[float(digit) for digit in row] for row in rows]).reshape(3, 4, 10).transpose(1, 2, 0)
    >>> {name: round(value, 4) for name, value in anova(array, formula).ms.items()}
    {'person': 10.2963, 'task': 24.1, 'rater:task': 8.8556, 'person:task': 4.6185, 'residual': 2.3802}
    """
    axis = {facet: position for position, facet in enumerate(formula.facets)}
    deviations = np.asarray(array, dtype=float)
    floor = _ROUNDING * deviations.size * float(np.abs(deviations).max()) ** 2
    deviations = deviations - deviations.mean()
    effects: dict[frozenset[str], FloatArray] = {}
    ss: dict[str, float] = {}
    df: dict[str, int] = {}
    for members in formula.components:
        outside = tuple(axis[facet] for facet in formula.facets if facet not in members)
        effect = deviations.mean(axis=outside, keepdims=True) if outside else deviations
        cells = int(effect.size)
        below = [one for one in effects if one < members]
        for one in below:
            effect = effect - effects[one]
        effects[members] = effect
        name = formula.name(members)
        total = float((effect**2).sum()) * deviations.size / cells
        ss[name] = total if total > floor else 0.0
        df[name] = cells - 1 - sum(df[formula.name(one)] for one in below)
    return Anova(formula.facets, tuple(deviations.shape), ss, df)


def components(table: Anova) -> dict[str, float]:
    """Return the unbiased components of the analysis of variance of a design; a negative one keeps its sign.

    Notes
    -----
    All facets random: E(MS_a) = Σ_{b ⊇ a} (product of the sizes not in b) σ²_b, solved for σ².

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.4.

    Examples
    --------
    >>> table = Anova(("i", "r"), (4, 3), {"i": 9.0, "r": 4.0, "residual": 6.0}, {"i": 3, "r": 2, "residual": 6})
    >>> {name: round(value, 4) for name, value in components(table).items()}
    {'i': 0.6667, 'r': 0.25, 'residual': 1.0}
    """
    mean_squares = np.array(list(table.ms.values()))
    values = np.linalg.solve(expectation_matrix(table), mean_squares)
    values[np.abs(values) < 1e-14 * np.abs(mean_squares).max(initial=0.0)] = 0.0
    return dict(zip(table.sources, map(float, values), strict=True))


def pivots(table: Anova, *, n_draws: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return generalised pivotal quantities of the components of a design, shape (n_draws,) each.

    Each expected mean square is drawn as SS / χ²_df, and the equations of `components` are solved.

    References
    ----------
    Weerahandi (1993), Journal of the American Statistical Association 88, 899-905.
    """
    expected = np.vstack([table.ss[name] / rng.chisquare(table.df[name], size=n_draws) for name in table.sources])
    drawn = np.linalg.solve(expectation_matrix(table), expected)
    return dict(zip(table.sources, drawn, strict=True))


@dataclass(frozen=True)
class Projection:
    """How the components of a design make up the true differences and the error of a study of other sizes.

    Parameters
    ----------
    universe, relative, absolute : mapping
        Component to its weight in the variance of true scores, in the error of differences, in that of levels.
    """

    universe: Mapping[str, float]
    relative: Mapping[str, float]
    absolute: Mapping[str, float]

    def true_variance(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        """Return the variance of the objects' true scores; negative components keep their sign."""
        return np.asarray(sum(weight * parts[name] for name, weight in self.universe.items()))

    def error(self, parts: Mapping[str, FloatArray], *, absolute: bool) -> FloatArray:
        """Return the error variance; negative components count as 0."""
        weights = self.absolute if absolute else self.relative
        total = np.zeros_like(next(iter(parts.values())), dtype=float)
        for name, weight in weights.items():
            total = total + weight * np.maximum(parts[name], 0.0)
        return total


def project(
    formula: Formula, sizes: Mapping[str, float], *, object_of_measurement: str, fixed: Sequence[str] = ()
) -> Projection:
    """Return the weights of the components in a study of given sizes.

    Parameters
    ----------
    formula : Formula
        The design.
    sizes : mapping
        Facet to its number of levels, of a nested one within each of what it is nested in; may be infinite. The
        object's own size is not used.
    object_of_measurement : str
        The facet whose differences are wanted; it is nested in nothing.
    fixed : sequence of str
        Facets whose levels are the very ones of every later study: interactions of the object with them are part of
        the true scores.

    Returns
    -------
    Projection
        A component's weight is the inverse product of the sizes of its facets, the object left out.

    Raises
    ------
    ValueError
        If the object or a fixed facet is none of the design, a size is missing or below 1, the object is nested or
        fixed, or a facet is fixed and what it is nested in is not: new groups have new raters.

    References
    ----------
    Brennan (2001), Generalizability Theory, sections 4.1 and 4.4 (fixed facets); the example is his table 3.2.

    Examples
    --------
    >>> formula = Formula.parse("person x (rater:task)")
    >>> parts = {"person": 0.4731, "task": 0.3252, "rater:task": 0.6475, "person:task": 0.5596, "residual": 2.3802}
    >>> arrays = {name: np.array(value) for name, value in parts.items()}
    >>> for fixed in ((), ("task",)):
    ...     found = project(formula, {"rater": 4, "task": 3}, object_of_measurement="person", fixed=fixed)
    ...     true = found.true_variance(arrays)
    ...     g, phi = (float(true / (true + found.error(arrays, absolute=absolute))) for absolute in (False, True))
    ...     print(round(g, 2), round(phi, 2))
    0.55 0.46
    0.77 0.72
    """
    for facet in (object_of_measurement, *fixed):
        if facet not in formula.facets:
            raise ValueError(f"no facet {facet!r}; this design has {', '.join(formula.facets)}")
    if formula.within[object_of_measurement]:
        raise ValueError(f"the object {object_of_measurement!r} is nested in others; what is ranked must be crossed")
    if object_of_measurement in fixed:
        raise ValueError(f"{object_of_measurement!r} is the object: its levels cannot be fixed")
    for facet in fixed:
        if free := sorted(formula.within[facet] - {object_of_measurement, *fixed}):
            raise ValueError(
                f"{facet!r} is nested in {free[0]!r}, of which a later study has other levels, and so other levels of "
                f"{facet!r}, too; fix {free[0]!r} as well, or neither"
            )
    universe, relative, absolute = {}, {}, {}
    for members in formula.components:
        rest = members - {object_of_measurement}
        if rest and not all(sizes.get(facet, 0) >= 1 for facet in rest):
            facet = sorted(facet for facet in rest if not sizes.get(facet, 0) >= 1)[0]
            raise ValueError(f"no size of {facet!r}, or one below 1; give its number of levels")
        weight = 1 / float(np.prod([sizes[facet] for facet in rest])) if rest else 1.0
        name = formula.name(members)
        is_fixed = rest <= frozenset(fixed)
        if object_of_measurement in members and is_fixed:
            universe[name] = weight
        elif not is_fixed:
            absolute[name] = weight
            if object_of_measurement in members:
                relative[name] = weight
    return Projection(universe, relative, absolute)
