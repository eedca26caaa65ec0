"""Pivots of incomplete panels: mean squares that the panel is worth, with the degrees of freedom that it gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from measurand.stats.henderson import henderson_equations, henderson_sums
from measurand.stats.inference import FloatArray
from measurand.stats.mixed import Term, indicator

#: Panels simulated to learn the degrees of freedom: their relative error is about 5 %.
SIMULATED: Final = 1_000
_BLOCK: Final = 2**22


def expectation_matrix(terms: Sequence[Term]) -> FloatArray:
    """Return the matrix that turns components into effective expected mean squares.

    Parameters
    ----------
    terms : sequence of Term
        Random effects, named by their facets (``"item:rater"``).

    Returns
    -------
    ndarray, shape (n_terms + 1, n_terms + 1)
        Row a: 1 for the residual, and for each effect b that holds all facets of a the harmonic mean of the numbers
        of ratings of b's levels, which on a complete panel is the number itself, so that the rows are E(MS_a).
    """
    sizes = [len(t.codes) and t.n_levels / float((1 / np.bincount(t.codes)).sum()) for t in terms]
    facets = [frozenset(t.name.split(":")) for t in terms]
    matrix = np.zeros((len(terms) + 1, len(terms) + 1))
    matrix[:, -1] = 1.0
    for row, a in enumerate(facets):
        for column, b in enumerate(facets):
            if a <= b:
                matrix[row, column] = sizes[column]
    return matrix


def pivots(
    terms: Sequence[Term],
    unbiased: Mapping[str, float],
    truth: Mapping[str, float],
    *,
    n_draws: int,
    rng: np.random.Generator,
    simulated: int = SIMULATED,
    equations: FloatArray | None = None,
) -> dict[str, FloatArray]:
    """Return generalised pivotal quantities of the components of an incomplete panel.

    Parameters
    ----------
    terms : sequence of Term
        Random effects.
    unbiased : mapping
        Henderson's components, negative ones with their sign.
    truth : mapping
        Components of 0 or more (restricted maximum likelihood) from which panels of the same layout are simulated.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Random numbers.
    simulated : int
        Panels simulated to learn the degrees of freedom, whose relative error is √(2 / simulated).
    equations : ndarray or None
        What `henderson_equations` gave, if it is known already.

    Returns
    -------
    dict
        Term, and ``"residual"``, to draws.

    Raises
    ------
    ValueError
        If the unbiased components contradict each other so far that a mean square would not be positive.

    Notes
    -----
    The effective mean squares of `expectation_matrix` take the place of mean squares. Each counts as a scaled
    chi-square whose degrees of freedom, 2 mean² / variance (Satterthwaite), are those of its Henderson estimate over
    simulated panels; that they are independent is exact on complete panels only, where all of this is the ordinary
    generalised pivot.
    """
    names = [*(t.name for t in terms), "residual"]
    matrix = expectation_matrix(terms)
    if equations is None:
        equations = henderson_equations(terms, len(terms[0].codes))
    squares = matrix @ _simulated_components(terms, truth, equations, simulated, rng)
    degrees = 2 * squares.mean(axis=1) ** 2 / squares.var(axis=1)
    centre = matrix @ np.array([unbiased[name] for name in names])
    if (centre <= 0).any():
        raise ValueError("Henderson's estimates make an effective mean square 0 or negative in this layout")
    # Below a degree of freedom chi-squares come arbitrarily close to 0: bounded, so that draws stay numbers.
    chi_squares = np.maximum(rng.chisquare(degrees, size=(n_draws, len(names))), 1e-9 * degrees)
    expected = centre * degrees / chi_squares
    drawn = np.linalg.solve(matrix, expected.T)
    return dict(zip(names, drawn, strict=True))


def _simulated_components(
    terms: Sequence[Term],
    truth: Mapping[str, float],
    equations: FloatArray,
    simulated: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Henderson's components of simulated panels, shape (n_terms + 1, simulated)."""
    n = len(terms[0].codes)
    matrices = [indicator(t.codes, t.n_levels) for t in terms]
    out = []
    width = max(1, min(simulated, _BLOCK // n))
    for start in range(0, simulated, width):
        columns = min(width, simulated - start)
        ratings = np.sqrt(truth["residual"]) * rng.standard_normal((n, columns))
        for term, z in zip(terms, matrices, strict=True):
            if truth[term.name] > 0:
                ratings += z @ (np.sqrt(truth[term.name]) * rng.standard_normal((term.n_levels, columns)))
        out.append(np.linalg.solve(equations, henderson_sums(ratings, terms)))
    return np.concatenate(out, axis=1)
