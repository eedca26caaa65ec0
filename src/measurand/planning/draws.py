"""Draws of a panel's components for designs, evenly spread where that can be done, and how exact shares of them are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.result import MeasurandError
from measurand.stats.inference import FloatArray, stream
from measurand.stats.variance import Anova, component_matrix

#: Independent sets of evenly spread draws; how far their shares differ tells the error of the mean share.
BATCHES: Final = 16
#: A share counts as above a level if it is by so many of its standard errors.
ERRORS: Final = 2.0
#: Facets whose chi-squares matter most come first: the first coordinates of the points are spread best.
_FIRST: Final = ("system", "system:rater", "residual", "item:system", "rater", "item", "item:rater")


class Share(NamedTuple):
    """A share of draws and its standard error, which is that of the drawing alone."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """What it surely exceeds."""
        return max(self.value - ERRORS * self.error, 0.0)

    @property
    def high(self) -> float:
        """What it surely does not reach."""
        return min(self.value + ERRORS * self.error, 1.0)


@dataclass(frozen=True)
class Draws:
    """Draws of the system variance and of the channels of the error.

    Parameters
    ----------
    system : ndarray, shape (n_draws,)
        System variance, negative draws with their sign.
    errors : mapping
        Draws of the channels, 0 or more.
    batches : int
        Into how many independent sets of equal size they fall, one after the other; 1 where every draw is independent.
    """

    system: FloatArray
    errors: Mapping[str, FloatArray]
    batches: int = 1

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.system)

    def first(self, n: int) -> Draws:
        """Return the first of them. So many of a set of evenly spread points are evenly spread, too."""
        return Draws(self.system[:n], {name: values[:n] for name, values in self.errors.items()})

    def share(self, reached: npt.NDArray[np.bool_]) -> Share:
        """Return the share of draws of which something is true.

        Examples
        --------
        >>> draws = Draws(np.zeros(8), {}, batches=4)
        >>> draws.share(np.array([True, True, True, False, True, True, True, False]))
        Share(value=0.75, error=0.14433756729740643)
        """
        value = float(reached.mean())
        if self.batches == 1:
            return Share(value, float(np.sqrt(value * (1 - value) / self.n)))
        by_batch = reached.reshape(self.batches, -1).mean(axis=1)
        return Share(value, float(by_batch.std(ddof=1) / np.sqrt(self.batches)))


def even_pivots(table: Anova, *, n_draws: int, seed: int, criterion: str) -> dict[str, FloatArray]:
    """Return pivots of the components of a complete panel whose chi-squares are spread evenly rather than at random.

    Parameters
    ----------
    table : Anova
        The analysis of variance.
    n_draws : int
        Draws wanted; as many are made as `BATCHES` sets of a power of two have, at least that many.
    seed : int
        The one seed.
    criterion : str
        Whose panel it is.

    Returns
    -------
    dict
        Source to draws, one batch after the other: those of `measurand.stats.variance.pivots` in distribution.

    Raises
    ------
    MeasurandError
        If there are more draws than the points have digits for.

    Notes
    -----
    Each batch is a Sobol sequence scrambled anew, turned into chi-squares by their quantiles. The share of draws in
    which a design reaches a target has about a fifth of the standard error that so many random draws give.

    References
    ----------
    Owen (1997), SIAM Journal on Numerical Analysis 34, 1884-1910; L'Ecuyer & Lemieux (2002), in Modeling Uncertainty,
    419-474 (the error from independent randomisations).

    Examples
    --------
    >>> parts = {"item": 9.0, "system": 6.0, "residual": 6.0}
    >>> table = Anova(("item", "system"), (4, 3), parts, {"item": 3, "system": 2, "residual": 6})
    >>> drawn = even_pivots(table, n_draws=4000, seed=1, criterion="")
    >>> len(drawn["system"]), round(float(np.median(drawn["residual"])), 3)
    (4096, 1.122)
    """
    from scipy.special import chdtri
    from scipy.stats import qmc

    per_batch = max(int(np.ceil(np.log2(n_draws / BATCHES))), 1)
    if per_batch > 30:
        raise MeasurandError(f"{n_draws:,} draws; at most {BATCHES * 2**30:,} can be made")
    sources = sorted(table.sources, key=_FIRST.index)
    rng = stream(seed, "even pivots", criterion)
    points = np.concatenate(
        [qmc.Sobol(len(sources), scramble=True, seed=rng).random_base2(per_batch) for _ in range(BATCHES)]
    )
    # A coordinate of 0, which has one chance in a thousand million, would be an infinite chi-square.
    points = np.maximum(points, 2.0**-31)
    place = {source: column for column, source in enumerate(sources)}
    expected = np.column_stack([table.ss[one] / chdtri(table.df[one], points[:, place[one]]) for one in table.sources])
    return dict(zip(table.sources, (expected @ component_matrix(table).T).T, strict=True))
