"""Restricted maximum likelihood: the optimiser, and the test of fixed effects with Satterthwaite's degrees of freedom.

The same optimiser serves models of single ratings (`mixed.Model`) and of mean squares (`Balanced`): complete panels
have the mean squares as sufficient statistics, so that their likelihood is a sum over seven of them, at any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np

from measurand.stats.inference import FloatArray, Test, f_p
from measurand.stats.mixed import Model
from measurand.stats.variance import Anova, expectation_matrix

#: Steps of the optimiser, and the predicted change of the criterion below which it stops.
_MOST_STEPS: Final = 500
_TOLERANCE: Final = 1e-16
#: A component below this share of the largest one counts as zero.
_ZERO: Final = 1e-9
#: A residual below this share of the variance of the ratings means that there is none.
_NO_ERROR: Final = 1e-10

S = TypeVar("S", bound="HasCriterion")


class HasCriterion(Protocol):
    """An evaluation of the likelihood."""

    @property
    def criterion(self) -> float:
        """Minus twice the restricted log likelihood, up to a constant."""
        ...


class Likelihood(Protocol[S]):
    """A restricted likelihood in variance components; the last one is the residual's."""

    names: list[str]

    def evaluate(self, components: FloatArray) -> S:
        """Return the evaluation at given components."""
        ...

    def gradient(self, state: S) -> FloatArray:
        """Return the derivative of the criterion in each component."""
        ...

    def average_information(self, state: S) -> FloatArray:
        """Return a positive semidefinite stand-in for the Hessian of the criterion."""
        ...


@dataclass(frozen=True)
class Fit:
    """Estimated variance components.

    Parameters
    ----------
    components : mapping
        Term, and ``"residual"``, to variance in squared scale units; exactly 0 where the estimate lies on the boundary.
    criterion : float
        Minus twice the restricted log likelihood; comparable only between fits of one kind of model.
    n_steps : int
        Steps of the optimiser.
    """

    components: Mapping[str, float]
    criterion: float
    n_steps: int

    @property
    def at_boundary(self) -> list[str]:
        """The components estimated at 0."""
        return [name for name, value in self.components.items() if value == 0.0]

    @property
    def values(self) -> FloatArray:
        """The components as an array."""
        return np.array(list(self.components.values()))


def fit(model: Likelihood[S], *, total: float, start: Mapping[str, float] | None = None) -> Fit:
    """Return the restricted maximum likelihood estimates of a model.

    Parameters
    ----------
    model : Likelihood
        `mixed.Model` or `Balanced`.
    total : float
        Variance of the ratings, the unit of everything below.
    start : mapping or None
        Components to start from (unbiased estimates, say); None starts from equal shares.

    Returns
    -------
    Fit
        Components of 0 or more, by average-information steps with the components on the boundary held, halved until
        the criterion does not rise.

    Raises
    ------
    ValueError
        If the ratings do not vary, if the effects explain them without error, or if the criterion cannot be brought
        to its minimum.

    References
    ----------
    Gilmour, Thompson & Cullis (1995), Biometrics 51, 1440-1450; Patterson & Thompson (1971), Biometrika 58, 545-554.
    """
    if total <= 0:
        raise ValueError("no variation: all ratings are the same")
    share = total / len(model.names)
    values = np.array([max((start or {}).get(name, share), 0.02 * share) for name in model.names])
    state = model.evaluate(values)
    n_steps = 0
    while n_steps < _MOST_STEPS:
        n_steps += 1
        gradient = model.gradient(state)
        direction = _direction(model.average_information(state), gradient, values)
        if -float(gradient @ direction) < _TOLERANCE * max(1.0, abs(state.criterion)):
            break
        length = 1.0
        while length > 1e-8:
            # A wild step, of a start far off or of ratings without error, must not leave the range of numbers.
            trial = np.clip(values + length * direction, 0.0, 10 * max(float(values.max()), total))
            trial[-1] = max(trial[-1], 1e-3 * values[-1])
            small = trial < _ZERO * trial.max()
            small[-1] = False
            trial[small] = 0.0
            try:
                trial_state = model.evaluate(trial)
            except np.linalg.LinAlgError:  # so little error that rounding makes the covariance singular
                length /= 2
                continue
            if trial_state.criterion <= state.criterion + 1e-14 * abs(state.criterion):
                break
            length /= 2
        else:
            break
        values, state = trial, trial_state
        if values[-1] < _NO_ERROR * total:
            raise ValueError("the effects leave no error: the likelihood grows without bound")
    gradient = model.gradient(state)
    scale = np.maximum(values, 1e-6 * total)
    unsettled = float(np.where(values > 0, np.abs(gradient), np.maximum(-gradient, 0.0)) @ scale)
    if unsettled > 1e-4 and values[-1] < 1e-6 * total:
        raise ValueError("the effects leave no error: the likelihood grows without bound")
    if unsettled > 1e-4:
        raise ValueError(f"no minimum found: the gradient is still {unsettled:.2g} after {n_steps} steps")
    return Fit(dict(zip(model.names, map(float, values), strict=True)), state.criterion, n_steps)


def _direction(information: FloatArray, gradient: FloatArray, values: FloatArray) -> FloatArray:
    """Return the step of the components that are free to move; those at 0 that would fall stay there."""
    direction = np.zeros(len(values))
    free = ~((values <= 0) & (gradient >= 0))
    while free.any():
        block = information[np.ix_(free, free)]
        # A little of the diagonal keeps nearly confounded components from steps without bound.
        block = block + 1e-10 * np.diag(np.diag(block) + 1e-300)
        direction[:] = 0.0
        direction[free] = -np.linalg.solve(block, gradient[free])
        falling = free & (values <= 0) & (direction < 0)
        if not falling.any():
            break
        free &= ~falling
    return direction


def hessian(model: Likelihood[S], values: FloatArray) -> FloatArray:
    """Return the observed Hessian of the criterion in the components above 0, by differences of the exact gradient."""
    free = np.flatnonzero(values > 0)
    out = np.zeros((len(free), len(free)))
    for row, k in enumerate(free):
        width = 1e-4 * values[k]
        sides = []
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[k] += sign * width
            sides.append(model.gradient(model.evaluate(moved))[free])
        out[row] = (sides[0] - sides[1]) / (2 * width)
    return np.asarray((out + out.T) / 2)


def _covariance_of_components(model: Likelihood[S], values: FloatArray) -> FloatArray | None:
    """Return the covariance of the estimated components above 0, None where the likelihood has no peak in them."""
    eigenvalues, vectors = np.linalg.eigh(hessian(model, values))
    if eigenvalues.min() <= 0:
        return None
    return np.asarray(2 * (vectors / eigenvalues) @ vectors.T)


def contrast_test(model: Model, found: Fit, contrasts: FloatArray) -> Test:
    """Return the F test that linear combinations of the fixed effects are all 0.

    Parameters
    ----------
    model, found
        The model of ratings and its fit; components on the boundary count as known.
    contrasts : ndarray, shape (n_contrasts, n_fixed)
        Rows of full rank.

    Returns
    -------
    Test
        F with Satterthwaite's denominator degrees of freedom, which join those of the orthogonal contrasts.

    References
    ----------
    Fai & Cornelius (1996), Journal of Statistical Computation and Simulation 54, 363-378; Kuznetsova, Brockhoff &
    Christensen (2017), Journal of Statistical Software 82(13).
    """
    _, covariance = model.fixed_effects(model.evaluate(found.values))
    _, rotation = np.linalg.eigh(contrasts @ covariance @ contrasts.T)
    each = contrast_estimates(model, found, rotation.T @ contrasts)
    if each is None:
        return Test(np.nan, len(contrasts), np.nan, np.nan, "the likelihood has no peak in the components")
    f = float(np.mean((each.estimate / each.standard_error) ** 2))
    df2 = _joined(each.df)
    return Test(f, len(contrasts), df2, f_p(f, len(contrasts), df2))


class Contrasts(NamedTuple):
    """Estimates of linear combinations of fixed effects, each with its own degrees of freedom."""

    estimate: FloatArray
    standard_error: FloatArray
    df: FloatArray


def contrast_estimates(model: Model, found: Fit, contrasts: FloatArray) -> Contrasts | None:
    """Return linear combinations of the fixed effects with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    model, found
        The model of ratings and its fit; components on the boundary count as known.
    contrasts : ndarray, shape (n_contrasts, n_fixed)
        One combination in each row.

    Returns
    -------
    Contrasts or None
        df = 2 v² / (g'A g), with v the contrast's variance, g its gradient in the components and A their covariance;
        None where the likelihood has no peak in the components.

    References
    ----------
    Giesbrecht & Burns (1985), Biometrics 41, 477-486.
    """
    values = found.values
    of_components = _covariance_of_components(model, values)
    if of_components is None:
        return None
    state = model.evaluate(values)
    derivatives = model.derivatives_of_covariance(state)
    fixed, covariance = model.fixed_effects(state)
    variance = np.einsum("ci,ij,cj->c", contrasts, covariance, contrasts)
    free = np.flatnonzero(values > 0)
    slopes = np.array([np.einsum("ci,ij,cj->c", contrasts, derivatives[k], contrasts) for k in free])
    df = 2 * variance**2 / np.einsum("kc,kl,lc->c", slopes, of_components, slopes)
    return Contrasts(np.asarray(contrasts @ fixed), np.sqrt(variance), np.asarray(df))


def _joined(degrees: FloatArray) -> float:
    """Denominator degrees of freedom of an F whose independent parts have these."""
    if np.ptp(degrees) < 1e-8 * degrees.max():
        return float(degrees.mean())
    if (degrees <= 2).any():
        return 2.0
    expected = float((degrees / (degrees - 2)).sum())
    return 2 * expected / (expected - len(degrees))


@dataclass(frozen=True)
class BalancedState:
    """An evaluation of a balanced likelihood: criterion and expected mean squares."""

    criterion: float
    expected: FloatArray


class Balanced:
    """The likelihood of a completely crossed panel, from its mean squares.

    Parameters
    ----------
    table : Anova
        The analysis of variance.
    terms : sequence of str
        The random terms; those left out have a component of 0.
    fixed : sequence of str
        Sources with fixed effects, whose mean squares the restricted likelihood does not use.

    Notes
    -----
    Minus twice the restricted log likelihood is Σ_q df_q (log E(MS_q) + MS_q / E(MS_q)) up to a constant, over the
    sources that are not fixed.

    Raises
    ------
    ValueError
        If the mean squares of error alone are 0.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, section 6.6.
    """

    def __init__(self, table: Anova, terms: Sequence[str], fixed: Sequence[str] = ()) -> None:
        self.table = table
        self.names = [*terms, "residual"]
        kept = [i for i, source in enumerate(table.sources) if source not in fixed]
        columns = [table.sources.index(name) for name in self.names]
        self._matrix = expectation_matrix(table)[np.ix_(kept, columns)]
        self._ms = np.array([table.ms[table.sources[i]] for i in kept])
        self._df = np.array([table.df[table.sources[i]] for i in kept], dtype=float)
        # Mean squares that hold nothing but error must hold some, or the likelihood grows without bound.
        of_error = (self._matrix[:, :-1] == 0).all(axis=1)
        if of_error.any() and float(self._ms[of_error].max()) <= 1e-14 * float(self._ms.max()):
            raise ValueError("the effects leave no error: the likelihood grows without bound")

    def evaluate(self, components: FloatArray) -> BalancedState:
        """Return criterion and expected mean squares."""
        expected = self._matrix @ components
        criterion = float(self._df @ (np.log(expected) + self._ms / expected))
        return BalancedState(criterion, np.asarray(expected))

    def gradient(self, state: BalancedState) -> FloatArray:
        """Return the derivative of the criterion in each component."""
        slope = self._df * (1 / state.expected - self._ms / state.expected**2)
        return np.asarray(self._matrix.T @ slope)

    def average_information(self, state: BalancedState) -> FloatArray:
        """Return the mean of observed and expected Hessian of the criterion."""
        weight = self._df * self._ms / state.expected**3
        return np.asarray(self._matrix.T @ (weight[:, None] * self._matrix))

    def effect_test(self, found: Fit, effect: str) -> Test:
        """Return the F test of a fixed main effect with Satterthwaite's degrees of freedom.

        The error of the effect's mean square is what its expectation would be without the effect; its degrees of
        freedom come from the covariance of the estimated components.
        """
        values = found.values
        table = self.table
        row = table.sources.index(effect)
        columns = [table.sources.index(name) for name in self.names]
        weights = expectation_matrix(table)[row, columns]
        error = float(weights @ values)
        of_components = _covariance_of_components(self, values)
        if of_components is None:
            return Test(np.nan, table.df[effect], np.nan, np.nan, "the likelihood has no peak in the components")
        slope = weights[values > 0]
        df2 = 2 * error**2 / float(slope @ of_components @ slope)
        f = table.ms[effect] / error
        return Test(f, table.df[effect], df2, f_p(f, table.df[effect], df2))
