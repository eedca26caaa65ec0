"""The shape of a cloud of vectors: how far off the origin it lies, in how many directions it spreads, what parts it.

Functions that take blocks return the statistic of all vectors first and then without each block in turn, for
`measurand.stats.jackknife`: point and interval come from one code path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, special

from measurand.stats.inference import FloatArray, IntArray

#: Vectors as they are stored: floating-point numbers of any width, computed with in 64 bits.
Points = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]

#: Numbers of one block of rows that are in memory in 64 bits.
_BLOCK: Final = 2**21
#: Variance, as a share of the mean squared length, up to which vectors are the same but for rounding.
_CONSTANT: Final = 1e-14


def compact(x: Points) -> Points:
    """Return the same points in no more dimensions than there are points.

    Parameters
    ----------
    x : ndarray, shape (n, n_dimensions)
        The vectors.

    Returns
    -------
    ndarray, shape (n, min(n, n_dimensions))
        `x` itself where there are no more dimensions than vectors; else its coordinates along orthonormal directions
        that span the vectors. All lengths, angles and distances, the origin included, stay what they are.

    Examples
    --------
    >>> compact(np.array([[3.0, 0.0, 4.0]])).round(12).tolist() in ([[5.0]], [[-5.0]])
    True
    """
    if x.shape[1] <= x.shape[0]:
        return x
    own = np.array(x.T, dtype=np.float64, order="F")  # a copy: it is overwritten
    (triangle,) = linalg.qr(own, mode="r", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle[: len(x)].T)


def lengths(x: Points) -> FloatArray:
    """Return the length of each vector.

    Examples
    --------
    >>> lengths(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    return np.concatenate([np.sqrt(np.einsum("ij,ij->i", piece, piece)) for _, piece in _pieces(x)])


def directions(x: Points, *, is_centred: bool = False) -> FloatArray:
    """Return vectors of length 1, optionally after their mean was subtracted; a vector without length stays 0.

    Examples
    --------
    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    out = np.asarray(x, dtype=np.float64) - (_mean(x) if is_centred else 0.0)
    length = lengths(out)
    out /= np.where(length > np.sqrt(_CONSTANT) * max(1e-150, float(lengths(x).max())), length, np.inf)[:, None]
    return out


def anisotropy(
    x: Points, block: IntArray, *, about: IntArray | None = None, member: BoolArray | None = None
) -> FloatArray:
    """Return the mean cosine of all pairs of vectors.

    Parameters
    ----------
    x : ndarray, shape (n, n_dimensions)
        The vectors, none of them of length 0.
    block : ndarray of int, shape (n,)
        The block that each vector belongs to.
    about : ndarray of int, shape (n,), or None
        None takes cosines about the origin. Otherwise the mean of the vectors of the same number is subtracted from
        each before it is given length 1, and without a block that mean is another: all the same number centres about
        the common mean, the number of its language about that of each language.
    member : ndarray of bool, shape (n,), or None
        The vectors between which cosines are taken; None takes all. The others count only in the means.

    Returns
    -------
    ndarray, shape (1 + n_blocks,)
        In [-1 / (n - 1), 1]; NaN with fewer than two vectors of some length (a vector at the mean has no direction).

    Notes
    -----
    (‖Σ u‖² - n) / (n (n - 1)) for the n vectors u of length 1, exactly, without a sample of pairs. If vectors are
    centred about their own mean and have equal lengths, Σ u = 0 and the value is -1 / (n - 1) whatever the vectors are.

    References
    ----------
    Ethayarajh (2019), How contextual are contextualized word representations?, EMNLP-IJCNLP, section 4.1.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> round(float(anisotropy(x, np.arange(3))[0]), 4)
    -0.3333
    """
    member = np.ones(len(x), dtype=bool) if member is None else member
    kept = _kept(block)
    if about is None:
        length = lengths(x)
        unit = np.where(member & (length > 0), 1 / np.where(length > 0, length, 1.0), 0.0)
        counts = kept.T @ (unit > 0)
        total = _sums(x, kept * unit[:, None])
        return _mean_cosine(np.einsum("gj,gj->g", total, total), counts)
    origin = _mean(x)
    classes = [np.flatnonzero(about == one) for one in np.unique(about)]
    squares = np.concatenate([np.einsum("ij,ij->i", piece, piece) for _, piece in _pieces(x, origin)])
    far = _CONSTANT * max(float(squares.max(initial=0.0)), float(origin @ origin))
    coefficient = np.zeros(kept.shape)
    counts = np.zeros(kept.shape[1])
    for rows in classes:
        here, n_here = kept[rows], kept[rows].sum(axis=0)
        means = _sums(x[rows], here, origin) / np.maximum(n_here, 1.0)[:, None]
        products = np.concatenate([piece @ means.T for _, piece in _pieces(x[rows], origin)])
        distance = squares[rows, None] - 2 * products + np.einsum("gj,gj->g", means, means)
        is_far = (here > 0) & (distance > far) & member[rows, None]
        unit = is_far / np.sqrt(np.where(is_far, distance, 1.0))
        # What is subtracted from the sum of directions is a multiple of the mean, that is of each vector in the mean.
        coefficient[rows] = unit - here * (unit.sum(axis=0) / np.maximum(n_here, 1.0))
        counts += is_far.sum(axis=0)
    total = np.zeros((kept.shape[1], x.shape[1]))
    for at, piece in _pieces(x, origin):
        total += coefficient[at].T @ piece
    return _mean_cosine(np.einsum("gj,gj->g", total, total), counts)


def mean_share(x: Points, block: IntArray) -> FloatArray:
    """Return the share of the mean squared length that the mean vector has.

    Parameters
    ----------
    x : ndarray, shape (n, n_dimensions)
        The vectors.
    block : ndarray of int, shape (n,)
        The block that each vector belongs to.

    Returns
    -------
    ndarray, shape (1 + n_blocks,)
        ‖mean‖² / mean of ‖x‖², in [0, 1]: 1 if all vectors are the same, about 1/n if they are independent around the
        origin. NaN if all are 0. With vectors of one length it is (1 + (n - 1) A) / n for their anisotropy A.

    Examples
    --------
    >>> mean_share(np.array([[1.0, 0.0], [0.0, 1.0]]), np.arange(2)).tolist()
    [0.5, 1.0, 1.0]
    """
    kept = _kept(block)
    n, sums, squares = kept.sum(axis=0), _sums(x, kept), kept.T @ lengths(x) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.einsum("gj,gj->g", sums, sums) / n / squares)


class Moments(NamedTuple):
    """What the sums of squares about the mean are made of, each of shape (1 + n_blocks,).

    `n` vectors; `trace` of their scatter matrix C = Σ (x - mean)(x - mean)ᵀ; `square`, the trace of C²; `fourth`, the
    sum of ‖x - mean‖⁴.
    """

    n: FloatArray
    trace: FloatArray
    square: FloatArray
    fourth: FloatArray


def moments(x: Points, block: IntArray) -> Moments:
    """Return traces of the scatter about the mean, of all vectors and without each block (whose mean is another).

    Parameters
    ----------
    x : ndarray, shape (n, n_dimensions)
        The vectors; see `compact` for those of more dimensions than vectors.
    block : ndarray of int, shape (n,)
        The block that each vector belongs to.

    Notes
    -----
    Leaving out a block b takes from Σ (x_i·x_j)² the pairs that touch it; the new mean m is taken out by tr C² =
    Σ (x_i·x_j)² - 2 n Σ (x_i·m)² + n² ‖m‖⁴. No matrix is made anew.

    Examples
    --------
    >>> moments(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]]), np.arange(4)).square[0].round(12)
    np.float64(68.0)
    """
    origin, kept = _mean(x), _kept(block)
    scatter = _scatter(x, origin)
    n = kept.sum(axis=0)
    sums = _sums(x, kept, origin)
    power, square, within = np.empty(len(x)), np.empty(len(x)), np.zeros(kept.shape[1])
    along = np.empty(kept.shape)
    for at, piece in _pieces(x, origin):
        power[at] = np.einsum("ij,ij->i", piece @ scatter, piece)
        square[at] = np.einsum("ij,ij->i", piece, piece)
        along[at] = piece @ sums.T
    for one in range(kept.shape[1] - 1):
        rows = np.asarray(x[block == one], dtype=np.float64) - origin
        within[one + 1] = np.square(rows @ rows.T).sum()
    left_out = 1.0 - kept
    pairs = power.sum() - 2 * (left_out.T @ power) + within
    far = np.einsum("gj,gj->g", sums, sums)
    safe = np.maximum(n, 1.0)
    trace = kept.T @ square - far / safe
    squared = pairs - 2 * np.einsum("ig,ig->g", kept, along**2) / safe + far**2 / safe**2
    distance = square[:, None] - 2 * along / safe + far / safe**2
    nothing = trace <= _CONSTANT * n * (square.max(initial=0.0) + origin @ origin)
    trace, squared = np.where(nothing, 0.0, trace), np.where(nothing, 0.0, squared)
    return Moments(n, trace, squared, np.einsum("ig,ig->g", kept, distance**2))


def participation_ratio(found: Moments, *, is_unbiased: bool = False) -> FloatArray:
    """Return in how many directions vectors spread: (Σ λ)² / Σ λ² of the eigenvalues of their covariance.

    Parameters
    ----------
    found : Moments
        See `moments`.
    is_unbiased : bool
        Whether numerator and denominator are replaced by their unbiased estimates, so that the ratio does not grow with
        the number of vectors; needs four vectors and may come out above the number of dimensions.

    Returns
    -------
    ndarray, shape (1 + n_blocks,)
        From 1 (a line) to the smaller of n - 1 and the number of dimensions (alike in all directions); NaN where the
        vectors do not differ.

    Notes
    -----
    The plain ratio of n vectors is biased: alike in all of d directions, Gaussian vectors have about
    (d (n - 1) + 2) / (n + d), not d.

    References
    ----------
    Unbiased traces: Himeno & Yamada (2014), Journal of Multivariate Analysis 130, 27-44, for any distribution.

    Examples
    --------
    >>> cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> participation_ratio(moments(cross, np.zeros(4, dtype=int)))[0].round(12)
    np.float64(2.0)
    """
    n = found.n
    with np.errstate(divide="ignore", invalid="ignore"):
        if not is_unbiased:
            return np.asarray(found.trace**2 / found.square)
        trace, square, fourth = found.trace / (n - 1), found.square / (n - 1) ** 2, found.fourth / (n - 1)
        above = 2 * square + (n**2 - 3 * n + 1) * trace**2 - n * fourth
        below = (n - 1) * (n - 2) * square + trace**2 - n * fourth
        return np.where((n >= 4) & (below > 0), above / below, np.nan)


def isoscore(participation: FloatArray, n_dimensions: int) -> FloatArray:
    """Return how evenly vectors fill their space: IsoScore.

    Parameters
    ----------
    participation : ndarray
        The participation ratio, see `participation_ratio`.
    n_dimensions : int
        Number of dimensions of the space, d.

    Returns
    -------
    ndarray
        (participation ratio - 1) / (d - 1): 0 on a line, 1 where all directions have the same variance; NaN in one
        dimension.

    Notes
    -----
    The definition takes the variances v along the principal directions, scales them to v̂ = √d v / ‖v‖, and from the
    defect δ = ‖v̂ - 1‖ / √(2 (d - √d)) computes φ = (d - δ² (d - √d))² / d² and ι = (d φ - 1) / (d - 1). Since
    ‖v̂ - 1‖² = 2 d - 2 √d Σ v / ‖v‖, d φ is (Σ v)² / Σ v², the participation ratio.

    References
    ----------
    Rudman, Gillman, Rayne & Eickhoff (2022), IsoScore: measuring the uniformity of embedding space utilization,
    Findings of ACL, algorithm 1.

    Examples
    --------
    >>> isoscore(np.array([1.0, 8.5, 16.0]), 16).tolist()
    [0.0, 0.5, 1.0]
    """
    if n_dimensions < 2:
        return np.full(np.shape(participation), np.nan)
    return np.asarray((participation - 1) / (n_dimensions - 1))


def isotropic_participation(n: int, n_dimensions: int) -> float:
    """Return the participation ratio that n Gaussian vectors have, alike in all directions, as a ratio of means.

    Examples
    --------
    >>> round(isotropic_participation(1202, 4096), 1)
    928.5
    """
    free = n - 1
    return (n_dimensions * free + 2) / (free + n_dimensions + 1)


class Spectrum(NamedTuple):
    """Variances along the principal directions, largest first, shape (1 + n_blocks, n_directions).

    Without a block they are those along the directions of all vectors: the eigenvalues to first order.
    """

    variance: FloatArray


def spectrum(x: Points, block: IntArray) -> Spectrum:
    """Return the variances (1/n) along the principal directions, of all vectors and without each block.

    Examples
    --------
    >>> spectrum(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]]), np.arange(4)).variance[0].tolist()
    [2.0, 0.5]
    """
    origin, kept = _mean(x), _kept(block)
    _, vectors = np.linalg.eigh(_scatter(x, origin))
    turned = vectors[:, ::-1]
    sums = np.zeros((kept.shape[1], x.shape[1]))
    for at, piece in _pieces(x, origin):
        sums += kept[at].T @ np.square(piece @ turned)
    return Spectrum(sums / np.maximum(kept.sum(axis=0), 1.0)[:, None])


def effective_rank(found: Spectrum) -> FloatArray:
    """Return the exponential of the entropy of the shares of variance along the principal directions.

    Parameters
    ----------
    found : Spectrum
        See `spectrum`.

    Returns
    -------
    ndarray, shape (1 + n_blocks,)
        From 1 to the smaller of n - 1 and the number of dimensions; NaN where the vectors do not differ. Never below
        the participation ratio, because small variances count for more.

    References
    ----------
    Roy & Vetterli (2007), The effective rank: a measure of effective dimensionality, EUSIPCO, definition 1, on the
    eigenvalues of the covariance (not on the singular values of the vectors).

    Examples
    --------
    >>> effective_rank(Spectrum(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))).round(12).tolist()
    [2.0, 1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = found.variance / found.variance.sum(axis=1, keepdims=True)
    return np.asarray(np.exp(special.entr(shares).sum(axis=1)))


def leading_share(found: Spectrum, n_directions: int) -> FloatArray:
    """Return the share of variance along the first principal directions; NaN where the vectors do not differ.

    Examples
    --------
    >>> leading_share(Spectrum(np.array([[3.0, 1.0, 0.0]])), 1).tolist()
    [0.75]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(found.variance[:, :n_directions].sum(axis=1) / found.variance.sum(axis=1))


def _pieces(x: Points, origin: FloatArray | float = 0.0) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows in 64 bits, about an origin."""
    step = max(1, _BLOCK // max(1, x.shape[1]))
    for start in range(0, len(x), step):
        at = slice(start, start + step)
        yield at, np.asarray(x[at], dtype=np.float64) - origin


def _mean(x: Points) -> FloatArray:
    return np.asarray(np.mean(x, axis=0, dtype=np.float64))


def _kept(block: IntArray) -> FloatArray:
    """Return 1 for rows that are in the sample and 0 for rows left out, shape (n, 1 + n_blocks)."""
    kept = np.ones((len(block), int(block.max(initial=-1)) + 2))
    kept[np.arange(len(block)), block + 1] = 0.0
    return kept


def _sums(x: Points, weight: FloatArray, origin: FloatArray | float = 0.0) -> FloatArray:
    """Return weighted sums of vectors, shape (n_columns of the weights, n_dimensions)."""
    out = np.zeros((weight.shape[1], x.shape[1]))
    for at, piece in _pieces(x, origin):
        out += weight[at].T @ piece
    return out


def _scatter(x: Points, origin: FloatArray) -> FloatArray:
    out = np.zeros((x.shape[1], x.shape[1]))
    for _, piece in _pieces(x, origin):
        out += piece.T @ piece
    return out


def _mean_cosine(square: FloatArray, n: FloatArray) -> FloatArray:
    """Return the mean cosine of pairs from the squared length of the sum of directions and their number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n >= 2, (square - n) / (n * (n - 1)), np.nan)
