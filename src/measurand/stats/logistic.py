"""Many l2-penalised multinomial logistic regressions on the same rows, fitted together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.tfidf import FeatureStack

BoolArray = npt.NDArray[np.bool_]

#: A fit has converged where the length of its gradient is at most this. The penalty's curvature is 1: the slopes are
#: then hardly further than this from the optimum, and neither is what they add to the score of a row of length 1.
TOLERANCE: Final = 1e-6

#: The same as a share of the problem's weighted sums, near what rounding leaves; for penalties so weak that the
#: tolerance cannot be reached.
_RELATIVE: Final = 1e-12

#: Newton steps after which fits are given up, conjugate-gradient steps in each, halvings of a step.
_STEPS: Final = 200
_INNER: Final = 500
_HALVINGS: Final = 40

#: A Newton step is solved for up to this share of the gradient, and more exactly the smaller the gradient is.
_LOOSEST: Final = 0.1


class Weights(NamedTuple):
    """Slopes of shape (n_classes, n_features, n_problems) and intercepts of shape (n_classes, n_problems)."""

    slopes: FloatArray
    intercepts: FloatArray

    def of(self, problems: IntArray | BoolArray) -> Weights:
        """Return the weights of some of the problems."""
        return Weights(self.slopes[:, :, problems], self.intercepts[:, problems])

    def plus(self, other: Weights, factor: FloatArray) -> Weights:
        """Return self + factor x other, one factor for each problem."""
        return Weights(self.slopes + factor * other.slopes, self.intercepts + factor * other.intercepts)

    def dot(self, other: Weights) -> FloatArray:
        """Return the inner product in each problem, shape (n_problems,)."""
        intercepts = np.einsum("kb,kb->b", self.intercepts, other.intercepts)
        return np.asarray(np.einsum("kpb,kpb->b", self.slopes, other.slopes) + intercepts)


class Targets(NamedTuple):
    """What a stack of problems is fitted to: weights of rows that belong to classes, in sufficient form.

    Parameters
    ----------
    sums : Weights
        Slopes: the weighted sum of the features of each class's rows. Intercepts: the total weight of its rows; a
        class with 0 is absent.
    mass : ndarray, shape (n_rows, n_problems)
        Weight of each row over all classes.
    """

    sums: Weights
    mass: FloatArray

    @property
    def present(self) -> BoolArray:
        """Which classes have weight, shape (n_classes, n_problems)."""
        return np.asarray(self.sums.intercepts > 0)


def targets(features: FeatureStack, weight: FloatArray) -> Targets:
    """Return what problems are fitted to, from the weight of each row in each class (n_classes, n_rows, n_problems)."""
    slopes = np.stack([features.back(of_class) for of_class in weight])
    return Targets(Weights(slopes, weight.sum(axis=1)), weight.sum(axis=0))


def class_scores(features: FeatureStack, weights: Weights, present: BoolArray) -> FloatArray:
    """Return the score of each row in each class, (n_classes, n_rows, n_problems); -inf where a class is absent."""
    scores = np.stack([features.scores(slopes) for slopes in weights.slopes])
    scores += np.where(present, weights.intercepts, -np.inf)[:, None]
    return scores


def fit(features: FeatureStack, to: Targets, *, start: Weights | None = None) -> Weights:
    """Return the slopes and intercepts of every problem.

    Parameters
    ----------
    features : FeatureStack
        X_f of each problem f.
    to : Targets
        See `targets`; every problem has two classes or more.
    start : Weights, optional
        Where to start: one problem's, for all. The optimum is the same from everywhere; problems start from 0 that are
        better there.

    Returns
    -------
    Weights
        The minimum of 1/2 ||W||^2 + sum_i m_i ln sum_k exp(z_ik) - sum_ik y_ik z_ik, z = X W + b, with y_ik the weight
        of row i in class k and m_i its sum over classes; intercepts b are not penalised. The gradient there is no
        longer than `TOLERANCE`. Slopes and intercepts sum to 0 over the classes that are present; those of absent
        classes are 0.

    Raises
    ------
    ArithmeticError
        If a problem does not converge.

    Notes
    -----
    Newton's method. Steps are solved for by preconditioned conjugate gradients and halved where a whole one does not
    descend. All problems go in step, each with its own step sizes; one that has converged leaves the stack.

    References
    ----------
    Böhning (1992), Annals of the Institute of Statistical Mathematics 44, 197-200, for gradient and Hessian; Nocedal &
    Wright (2006), Numerical Optimization, 2nd edition, algorithms 5.3 and 7.1.
    """
    sums = to.sums
    out = Weights(np.zeros_like(sums.slopes), np.zeros_like(sums.intercepts))
    left = np.arange(sums.slopes.shape[2])
    state = _State.at(features, to, out if start is None else _shifted(start, to.present))
    if start is not None:
        state = state.or_better(_State.at(features, to, out))
    for _ in range(_STEPS):
        gradient = state.gradient()
        size = np.sqrt(gradient.dot(gradient))
        done = size <= np.maximum(TOLERANCE, _RELATIVE * state.scale)
        if done.any():
            out.slopes[:, :, left[done]], out.intercepts[:, left[done]] = state.weights.of(done)
            keep = np.flatnonzero(~done)
            left, state, gradient, size = left[keep], state.of(keep), gradient.of(keep), size[keep]
        if len(left) == 0:
            return out
        bound = np.maximum(size * np.minimum(_LOOSEST, np.sqrt(size / state.scale)), TOLERANCE / 3)
        state = state.moved(state.newton_step(gradient, bound), gradient)
    raise ArithmeticError(f"{len(left)} of {out.slopes.shape[2]} fits did not converge in {_STEPS} steps")


def _shifted(start: Weights, present: BoolArray) -> Weights:
    """Return one problem's weights for all problems, made to sum to 0 over each problem's classes."""
    return Weights(_centred(start.slopes, present), _centred(start.intercepts, present))


def _centred(values: FloatArray, present: BoolArray) -> FloatArray:
    """Return values (n_classes, ..., n_problems) less their mean over the classes that are present, 0 in the others."""
    shown = present if values.ndim == 2 else present[:, None]
    out = np.where(shown, values, 0.0)
    out -= out.sum(axis=0) / present.sum(axis=0)
    out *= shown
    return out


@dataclass(frozen=True)
class _State:
    """A stack of problems at one point: weights, class scores, class probabilities and the objective's value."""

    features: FeatureStack
    targets: Targets
    scale: FloatArray
    weights: Weights
    scores: FloatArray
    probability: FloatArray
    value: FloatArray

    @classmethod
    def at(cls, features: FeatureStack, to: Targets, weights: Weights) -> _State:
        scores = class_scores(features, weights, to.present)
        probability, value = _evaluated(scores, weights, to)
        return cls(features, to, np.sqrt(to.sums.dot(to.sums)), weights, scores, probability, value)

    def of(self, keep: IntArray) -> _State:
        return _State(
            self.features.of(keep),
            Targets(self.targets.sums.of(keep), self.targets.mass[:, keep]),
            self.scale[keep],
            self.weights.of(keep),
            self.scores[:, :, keep],
            self.probability[:, :, keep],
            self.value[keep],
        )

    def or_better(self, other: _State) -> _State:
        """Return, problem by problem, whichever point has the lower value."""
        take = other.value < self.value
        slopes = np.where(take, other.weights.slopes, self.weights.slopes)
        return replace(
            self,
            weights=Weights(slopes, np.where(take, other.weights.intercepts, self.weights.intercepts)),
            scores=np.where(take, other.scores, self.scores),
            probability=np.where(take, other.probability, self.probability),
            value=np.where(take, other.value, self.value),
        )

    def gradient(self) -> Weights:
        out = Weights(self.weights.slopes - self.targets.sums.slopes, -self.targets.sums.intercepts)
        for k, probability in enumerate(self.probability):
            expected = self.targets.mass * probability
            out.slopes[k] += self.features.back(expected)
            out.intercepts[k] += expected.sum(axis=0)
        return out

    def newton_step(self, gradient: Weights, bound: FloatArray) -> Weights:
        """Return the step that solves Hessian x step = -gradient, to a residual no longer than the bound."""
        expected = self.targets.mass * self.probability
        metric = _Metric.of(self.features, expected * (1 - self.probability), self.targets.present)
        step = Weights(np.zeros_like(gradient.slopes), np.zeros_like(gradient.intercepts))
        residual = Weights(-gradient.slopes, -gradient.intercepts)
        direction = scaled = metric.solve(residual)
        size = residual.dot(scaled)
        for _ in range(_INNER):
            active = np.sqrt(residual.dot(residual)) > bound
            if not active.any():
                break
            image = self._curvature(direction, expected)
            curve = direction.dot(image)
            active &= curve > 0
            if not active.any():
                break
            length = np.divide(size, curve, out=np.zeros_like(size), where=active)
            step, residual = step.plus(direction, length), residual.plus(image, -length)
            scaled = metric.solve(residual)
            new = residual.dot(scaled)
            direction = scaled.plus(direction, np.divide(new, size, out=np.zeros_like(size), where=active))
            size = new
        return step

    def _curvature(self, direction: Weights, expected: FloatArray) -> Weights:
        """Return the Hessian times a direction; `expected` are mass x probability."""
        mean = np.zeros_like(self.targets.mass)
        work = np.empty_like(mean)
        changes = []
        for k, slopes in enumerate(direction.slopes):
            changes.append(self.features.scores(slopes))
            changes[k] += direction.intercepts[k]
            mean += np.multiply(changes[k], self.probability[k], out=work)
        out = Weights(direction.slopes.copy(), np.empty_like(direction.intercepts))
        for k, change in enumerate(changes):
            change -= mean
            change *= expected[k]
            out.intercepts[k] = change.sum(axis=0)
            out.slopes[k] += self.features.back(change)
        return out

    def moved(self, step: Weights, gradient: Weights) -> _State:
        """Return the point after the step, halved in each problem until it descends."""
        change = np.stack([self.features.scores(slopes) for slopes in step.slopes])
        change += step.intercepts[:, None]
        slope = gradient.dot(step)
        factor = np.ones_like(slope)
        for _ in range(_HALVINGS):
            weights = self.weights.plus(step, factor)
            scores = self.scores + factor * change
            probability, value = _evaluated(scores, weights, self.targets)
            # Next to the optimum the value changes less than its rounding, and whole steps are right.
            high = value > self.value + 1e-4 * factor * slope + _RELATIVE * np.abs(self.value)
            if not high.any():
                break
            factor = np.where(high, factor / 2, factor)
        return replace(self, weights=weights, scores=scores, probability=probability, value=value)


class _Metric(NamedTuple):
    """An approximate inverse of the Hessian.

    Within a class, the diagonal for slopes on features centred by `mean`, which leaves hardly any covariance with the
    intercept. Then the mean over classes is taken off: nothing depends on it, so that gradient and steps have none,
    but the diagonal would bring it in, with its small curvature.

    Parameters
    ----------
    mean, diagonal : ndarray, shape (n_classes, n_features, n_problems)
        Means of the features with weights m p (1 - p), and the diagonal of the centred Hessian.
    total : ndarray, shape (n_classes, n_problems)
        Sum of those weights.
    present : ndarray of bool, shape (n_classes, n_problems)
        Classes with weight.
    """

    mean: FloatArray
    diagonal: FloatArray
    total: FloatArray
    present: BoolArray

    @classmethod
    def of(cls, features: FeatureStack, curve: FloatArray, present: BoolArray) -> _Metric:
        total = curve.sum(axis=1)
        total[total <= 0] = 1.0  # absent classes, and classes that are certain to the last digit
        mean = np.stack([features.back(one) for one in curve]) / total[:, None]
        squares = np.stack([features.back_squared(one) for one in curve])
        return cls(mean, 1 + np.maximum(squares - total[:, None] * mean**2, 0.0), total, present)

    def solve(self, residual: Weights) -> Weights:
        slopes = (residual.slopes - self.mean * residual.intercepts[:, None]) / self.diagonal
        intercepts = residual.intercepts / self.total - np.einsum("kpb,kpb->kb", self.mean, slopes)
        return Weights(_centred(slopes, self.present), _centred(intercepts, self.present))


def _evaluated(scores: FloatArray, weights: Weights, to: Targets) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of classes and the objective's value in each problem."""
    top = scores.max(axis=0)
    probability = np.exp(scores - top)
    total = probability.sum(axis=0)
    probability /= total
    top += np.log(total, out=total)
    value = 0.5 * np.einsum("kpb,kpb->b", weights.slopes, weights.slopes)
    return probability, value + np.einsum("nb,nb->b", to.mass, top) - to.sums.dot(weights)
