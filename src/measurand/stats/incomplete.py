"""Designs of any facets with holes or unequal nesting: what they can tell, and what each component adds to the error.

Components of such designs come from `measurand.stats.henderson`, their draws from `measurand.stats.effective`; both
take the random effects that `effects` makes of a formula. Everything is counted over cells that have a rating, so that
time and memory go with the ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from measurand.stats.facets import Formula, Projection
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.mixed import Term, indicator

#: Two directions of Henderson's equations differ if the smaller is above this share of the larger.
_TOLD_APART: Final = 1e-9
#: Components that take part in what the equations do not tell have at least this share of its largest entry.
_TAKES_PART: Final = 0.1
#: What rounding leaves of a weight that is 0.
_DUST: Final = 1e-12
#: Levels, the largest facet apart, up to which it is checked that differences of the object can be estimated.
_MOST_LEVELS: Final = 3_000


def effects(formula: Formula, levels: Mapping[str, IntArray]) -> list[Term]:
    """Return the random effects of a design, all but the residual.

    Parameters
    ----------
    formula : Formula
        The design.
    levels : mapping
        Facet to the level of each rating, shape (n,). A nested facet's levels may be numbered anew in each level of
        what it is nested in.

    Examples
    --------
    >>> formula = Formula.parse("system x (rater:group)")
    >>> levels = {"system": [0, 0, 0, 1, 1, 1], "rater": [0, 1, 0, 0, 1, 0], "group": [0, 0, 1, 0, 0, 1]}
    >>> made = effects(formula, {facet: np.array(level) for facet, level in levels.items()})
    >>> [(term.name, term.n_levels) for term in made]
    [('system', 2), ('group', 2), ('system:group', 4), ('rater:group', 3)]
    """
    out = []
    for members in formula.components[:-1]:
        out.append(Term(formula.name(members), joint([levels[facet] for facet in sorted(members)]), in_block=False))
    return out


def joint(columns: Sequence[IntArray]) -> IntArray:
    """Return one number from 0 on, without gaps, for each combination of levels that occurs."""
    out = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, out = np.unique(out * (int(code.max()) + 1) + code, return_inverse=True)
    return np.asarray(out, dtype=np.int64)


def inseparable(terms: Sequence[Term], equations: FloatArray) -> list[str]:
    """Return the components that the layout cannot tell apart, by name; empty if it can tell all of them.

    Parameters
    ----------
    terms : sequence of Term
        What `effects` gave.
    equations : ndarray
        What `measurand.stats.henderson.henderson_equations` gave.

    Notes
    -----
    Henderson's equations are singular: the components with a part in the null direction are named. The plainest case
    is that of two components with the same levels, such as the residual and an interaction of which no level has two
    ratings.

    Examples
    --------
    Each item was rated by one rater, so that items and items by raters are the same:

    >>> from measurand.stats.henderson import henderson_equations
    >>> item, rater, system = (np.array(one) for one in ([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1] * 2, [0, 1] * 4))
    >>> made = effects(Formula.parse("system x item x rater"), {"item": item, "rater": rater, "system": system})
    >>> inseparable(made, henderson_equations(made, 8))
    ['item', 'item:rater']
    """
    names = [*(term.name for term in terms), "residual"]
    same = _same_levels(terms)
    if same:
        return same
    matrix = equations / np.maximum(np.abs(equations).max(axis=1, keepdims=True), 1e-300)
    scale = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    _, values, directions = np.linalg.svd(matrix / scale)
    if values[-1] > _TOLD_APART * values[0]:
        return []
    null = np.abs(directions[-1])
    return [name for name, part in zip(names, null, strict=True) if part >= _TAKES_PART * null.max()]


def _same_levels(terms: Sequence[Term]) -> list[str]:
    """Return the first components that have the same levels: a rating that shares one shares the other."""
    seen: dict[bytes, str] = {}
    for term in sorted(terms, key=lambda one: one.n_levels):
        if term.n_levels == len(term.codes):
            return [term.name, "residual"]
        first = np.unique(term.codes, return_index=True)[1]
        key = np.asarray(first[term.codes], dtype=np.int64).tobytes()
        if key in seen:
            return [seen[key], term.name]
        seen[key] = term.name
    return []


class Apart(NamedTuple):
    """Objects whose differences the ratings cannot tell, and the facet of which they share no level; blank for several.

    `first` and `second` are two objects of different parts.
    """

    facet: str
    first: int
    second: int


def unconnected(formula: Formula, levels: Mapping[str, IntArray], object_of_measurement: str) -> Apart | None:
    """Return why differences between objects cannot be told from those of other facets; None where they can.

    Parameters
    ----------
    formula, levels
        As for `effects`; the object's levels are numbered from 0 without gaps.
    object_of_measurement : str
        The facet whose differences are wanted.

    Returns
    -------
    Apart or None
        A design is connected if all differences between objects can be estimated with the other facets' main effects
        in the model. First each facet is looked at alone, then all together, the latter unless there are more than
        3,000 levels apart from the largest facet.

    References
    ----------
    Searle (1987), Linear Models for Unbalanced Data, section 5.3 (connected data).

    Examples
    --------
    >>> levels = {"system": np.array([0, 1, 2, 3]), "item": np.array([0, 0, 1, 1])}
    >>> unconnected(Formula.parse("system x item"), levels, "system")
    Apart(facet='item', first=0, second=2)
    """
    inner = {facet for members in formula.within.values() for facet in members}
    own = levels[object_of_measurement]
    n_objects = int(own.max()) + 1
    facets = {}
    for facet in formula.facets:
        if facet == object_of_measurement or facet in inner or object_of_measurement in formula.within[facet]:
            continue
        code = joint([levels[facet], *(levels[outer] for outer in sorted(formula.within[facet]))])
        facets[facet] = code
        part = _parts(own, code, n_objects)
        if part.max() > 0:
            return Apart(facet, 0, int(np.argmax(part > 0)))
    if len(facets) < 2:
        return None
    others = list(facets.values())
    sizes = sorted([n_objects, *(int(code.max()) + 1 for code in others)])
    if sum(sizes[:-1]) > _MOST_LEVELS or _rank([own, *others]) - _rank(others) == n_objects - 1:
        return None
    return Apart("", 0, 1)


def _parts(own: IntArray, code: IntArray, n_objects: int) -> IntArray:
    """Return the part of each object: those that share a level, directly or through others, are one part."""
    from scipy.sparse.csgraph import connected_components

    n = int(code.max()) + 1
    size = n_objects + n
    graph = sparse.coo_array((np.ones(len(own)), (own, n_objects + code)), shape=(size, size))
    part = connected_components(graph, directed=False)[1][:n_objects]
    # Numbered by the first object of each.
    return np.asarray(np.unique(np.unique(part, return_index=True)[1][part], return_inverse=True)[1], dtype=np.int64)


def _rank(codes: Sequence[IntArray]) -> int:
    """Return the rank of the main effects of facets together; the largest, with orthogonal columns, is swept out."""
    ordered = sorted(codes, key=lambda code: -int(code.max()))
    largest = indicator(ordered[0], int(ordered[0].max()) + 1)
    if len(ordered) == 1:
        return int(largest.shape[1])
    rest = sparse.hstack([indicator(code, int(code.max()) + 1) for code in ordered[1:]], format="csr")
    counts = np.bincount(ordered[0]).astype(float)
    shared = largest.T @ rest
    swept = (rest.T @ rest).toarray() - (shared.T @ sparse.diags_array(1 / counts) @ shared).toarray()
    values = np.linalg.eigvalsh(swept)
    return int(largest.shape[1]) + int((values > 1e-9 * max(float(counts.max()), float(values[-1]))).sum())


def laid_out(
    formula: Formula, levels: Mapping[str, IntArray], *, object_of_measurement: str, fixed: Sequence[str] = ()
) -> Projection:
    """Return the weights of the components in the means of the objects as they were rated.

    Parameters
    ----------
    formula, levels
        As for `effects`.
    object_of_measurement, fixed
        As for `measurand.stats.facets.project`.

    Returns
    -------
    Projection
        With w_sl the share of object s's ratings in level l of a component's other facets: `absolute` is the mean over
        objects of Σ w_sl²; `relative` is the same of components that hold the object, and of others half the mean over
        pairs of objects of Σ (w_al - w_bl)², what two objects do not share. Of fixed facets the mean shares
        v_l make up the true scores, with Σ v_l², and only what differs from them is error. Of balanced data these are
        the weights of `project`.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 7.2 (unbalanced designs) and table 9.1; the example has his items
    within three heads, two, four and two, for eight persons each.

    Examples
    --------
    >>> formula = Formula.parse("person x (item:head)")
    >>> person, cell = np.divmod(np.arange(64), 8)
    >>> levels = {"person": person, "item": cell, "head": np.repeat([0, 1, 2], [2, 4, 2])[cell]}
    >>> weights = laid_out(formula, levels, object_of_measurement="person")
    >>> {name: round(weight, 3) for name, weight in weights.relative.items()}
    {'person:head': 0.375, 'residual': 0.125}
    """
    own = levels[object_of_measurement]
    n_objects = int(own.max()) + 1
    universe, relative, absolute = {}, {}, {}
    for members in formula.components:
        rest = members - {object_of_measurement}
        name = formula.name(members)
        each, common = _shares(own, [levels[facet] for facet in sorted(rest)], n_objects)
        apart = max(each - common, 0.0) if each - common > _DUST * each else 0.0
        holds_object, is_fixed = object_of_measurement in members, rest <= frozenset(fixed)
        if holds_object and is_fixed:
            universe[name] = common
        if is_fixed and apart == 0:
            continue
        absolute[name] = apart if is_fixed else each
        if holds_object:
            relative[name] = absolute[name]
        elif apart > 0:
            relative[name] = apart * n_objects / (n_objects - 1)
    return Projection(universe, relative, absolute)


def _shares(own: IntArray, columns: Sequence[IntArray], n_objects: int) -> tuple[float, float]:
    """Return the sum of squared shares in levels, as a mean over objects, and that of their mean shares."""
    if not columns:
        return 1.0, 1.0
    level = joint(columns)
    cells, counts = np.unique(level * n_objects + own, return_counts=True)
    share = counts / np.bincount(own, minlength=n_objects)[cells % n_objects]
    mean = np.bincount(cells // n_objects, weights=share) / n_objects
    return float((share**2).sum()) / n_objects, float((mean**2).sum())


def effective_sizes(formula: Formula, levels: Mapping[str, IntArray], object_of_measurement: str) -> dict[str, float]:
    """Return the effective number of levels of each facet, of a nested one within each level of what it is nested in.

    Returns
    -------
    dict
        Facet to number, the object left out: of a facet the inverse of the mean over objects of Σ w_sl², and of a
        nested facet that of its levels over that of what it is nested in. Of balanced data these are the sizes; with
        unequal shares they are less. Where objects were rated equally often this is a harmonic mean over objects.

    Examples
    --------
    >>> formula = Formula.parse("person x (item:head)")
    >>> person, cell = np.divmod(np.arange(64), 8)
    >>> levels = {"person": person, "item": cell, "head": np.repeat([0, 1, 2], [2, 4, 2])[cell]}
    >>> {facet: round(size, 3) for facet, size in effective_sizes(formula, levels, "person").items()}
    {'item': 3.0, 'head': 2.667}
    """
    own: IntArray = levels[object_of_measurement]
    n_objects = int(own.max()) + 1
    out: dict[str, float] = {}
    for facet in formula.facets:
        if facet == object_of_measurement:
            continue
        outer = sorted(formula.within[facet] - {object_of_measurement})
        whole, _ = _shares(own, [levels[facet], *(levels[one] for one in outer)], n_objects)
        within, _ = _shares(own, [levels[one] for one in outer], n_objects)
        out[facet] = within / whole
    return out
