"""Texts that are nearly the same: equal after normalisation, or sharing most of their character 5-grams."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import regex
from scipy import sparse

from measurand.stats.inference import FloatArray, IntArray

#: Jaccard similarity of two sets of character 5-grams from which texts are near-duplicates.
LEAST_JACCARD: Final = 0.8
SHINGLE: Final = 5
#: A 5-gram that more texts than this share as one of their rarest is looked up among neighbours in length alone.
MOST_SHARING: Final = 64
_NEIGHBOURS: Final = 4
#: Pairs that are compared at a time; bounds memory.
_PAIRS: Final = 2**15

_NUMBER: Final = regex.compile(r"\p{N}+")
_BETWEEN: Final = regex.compile(r"[\p{P}\p{Z}\p{C}]+")


class NearDuplicates(NamedTuple):
    """Which texts are nearly the same.

    `text` is the distinct normalised text of each row (-1: nothing is left of it), `pairs` (n_pairs, 2) the distinct
    texts that are near-duplicates, first below second, with their `jaccard`; `n_capped` is the number of 5-grams that
    were not looked up in full, so that pairs may be missing where it is not 0.
    """

    text: IntArray
    pairs: IntArray
    jaccard: FloatArray
    n_capped: int

    @property
    def n_texts(self) -> int:
        """Number of distinct normalised texts."""
        return int(self.text.max(initial=-1)) + 1


def normalised(text: str) -> str:
    """Return a text without what copies differ in: case, form, punctuation, white space, numbers.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        NFKC, case folded; each number is 0, each run of punctuation, white space and controls one space.

    Examples
    --------
    >>> normalised("RT: It's  12,500 km?!"), normalised("...")
    ('rt it s 0 0 km', '')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return str(_BETWEEN.sub(" ", _NUMBER.sub("0", folded))).strip()


def near_duplicates(texts: Sequence[str], *, least: float = LEAST_JACCARD) -> NearDuplicates:
    """Return which texts are nearly the same.

    Parameters
    ----------
    texts : sequence of str, length n_rows
        Any texts.
    least : float
        Jaccard similarity of the sets of character 5-grams of two normalised texts, above 0 up to 1.

    Returns
    -------
    NearDuplicates
        Texts of less than five characters are compared whole. Time and memory grow with the number of 5-grams.

    Notes
    -----
    Two sets with a Jaccard similarity of t share at least t of the larger one. With all 5-grams in one order, from rare
    to common, they therefore share one among the first n - ⌈t n⌉ + 1 of each (prefix filtering), and only such pairs
    are compared, exactly. No pair is missed unless more than `MOST_SHARING` texts share so rare a 5-gram; then each is
    compared with its neighbours in length, and `n_capped` says so.

    References
    ----------
    Chaudhuri, Ganti & Kaushik (2006), A primitive operator for similarity joins in data cleaning, ICDE.

    Examples
    --------
    >>> found = near_duplicates(["The cat sat on the mat.", "the cat sat on the MAT", "The cat sat on the mats", "No"])
    >>> found.text.tolist(), found.pairs.tolist(), found.jaccard.round(3).tolist()
    ([0, 0, 1, 2], [[0, 1]], [0.947])
    """
    distinct: dict[str, int] = {}
    text = np.full(len(texts), -1, dtype=np.int64)
    for row, one in enumerate(texts):
        if short := normalised(one):
            text[row] = distinct.setdefault(short, len(distinct))
    sets = _shingles(list(distinct))
    size = np.diff(sets.indptr)
    n_capped, blocks = 0, []
    for block, n_new in _candidates(_prefixes(sets, size, least), size):
        n_capped += n_new
        smaller, larger = size[block].min(axis=1), size[block].max(axis=1)
        block = _distinct(block[smaller >= least * larger - 1e-9], len(distinct))
        for start in range(0, len(block), _PAIRS):
            part = block[start : start + _PAIRS]
            shared = np.asarray(sets[part[:, 0]].multiply(sets[part[:, 1]]).sum(axis=1)).ravel()
            jaccard = shared / (size[part].sum(axis=1) - shared)
            is_near = jaccard >= least - 1e-9
            blocks.append(np.column_stack([part[is_near], jaccard[is_near]]))
    found = np.concatenate(blocks) if blocks else np.empty((0, 3))
    # A pair that shares several rare 5-grams was found as often.
    _, once = np.unique(found[:, 0] * len(distinct) + found[:, 1], return_index=True)
    return NearDuplicates(text, found[once, :2].astype(np.int64), found[once, 2], n_capped)


def _shingles(texts: Sequence[str]) -> sparse.csr_array:
    """Return the set of 5-grams of each text, columns ordered from the rarest 5-gram to the commonest."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    characters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    n_windows = np.maximum(lengths - SHINGLE + 1, 1)
    row = np.repeat(np.arange(len(texts)), n_windows)
    start = np.arange(len(row)) - np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
    start += np.repeat(np.cumsum(lengths) - lengths, n_windows)
    end = np.repeat(np.cumsum(lengths), n_windows)
    code = np.zeros(len(row), dtype=np.uint64)
    for step in range(SHINGLE):  # a polynomial of the code points modulo 2^64; a short text's last factors are 0
        at = start + step
        inside = at < end
        code *= np.uint64(0x9E3779B97F4A7C15)
        code[inside] += characters[at[inside]] + np.uint64(1)
    _, column, n_rows = np.unique(code, return_inverse=True, return_counts=True)
    sets = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(texts), len(n_rows)))
    sets.sum_duplicates()
    n_texts = np.bincount(sets.indices, minlength=len(n_rows))
    place = np.empty(len(n_rows), dtype=np.int64)
    place[np.argsort(n_texts, kind="stable")] = np.arange(len(n_rows))
    ordered = sparse.csr_array((np.ones(sets.nnz), place[sets.indices], sets.indptr), shape=sets.shape)
    ordered.sort_indices()
    return ordered


def _prefixes(sets: sparse.csr_array, size: IntArray, least: float) -> sparse.csc_array:
    """Return the rarest 5-grams of each text, of which near-duplicates share at least one."""
    length = size - np.ceil(least * size - 1e-9).astype(np.int64) + 1
    row = np.repeat(np.arange(len(size)), size)
    kept = np.arange(sets.nnz) - np.repeat(sets.indptr[:-1], size) < np.repeat(length, size)
    return sparse.csc_array((np.ones(int(kept.sum())), (row[kept], sets.indices[kept])), shape=sets.shape)


def _candidates(prefixes: sparse.csc_array, size: IntArray) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """Yield pairs of texts that share a rare 5-gram, and how many 5-grams were not looked up in full."""
    n_sharing = np.diff(prefixes.indptr)
    for n in np.unique(n_sharing[n_sharing > 1]):
        columns = np.flatnonzero(n_sharing == n)
        is_capped = int(n > MOST_SHARING)
        if is_capped:
            first, second = (np.concatenate(ends) for ends in zip(*_neighbours(int(n)), strict=True))
        else:
            first, second = np.triu_indices(n, k=1)
        width = max(1, _PAIRS * 8 // len(first))
        for start in range(0, len(columns), width):
            part = columns[start : start + width]
            texts = prefixes.indices[prefixes.indptr[part][:, None] + np.arange(n)].astype(np.int64)
            if is_capped:
                texts = np.take_along_axis(texts, np.argsort(size[texts], axis=1, kind="stable"), axis=1)
            yield np.stack([texts[:, first].ravel(), texts[:, second].ravel()], axis=1), is_capped * len(part)


def _distinct(pairs: IntArray, n: int) -> IntArray:
    """Return each pair once, first below second."""
    code = np.unique(pairs.min(axis=1) * n + pairs.max(axis=1))
    return np.stack([code // n, code % n], axis=1)


def _neighbours(n: int) -> list[tuple[IntArray, IntArray]]:
    return [(np.arange(n - step), np.arange(step, n)) for step in range(1, min(_NEIGHBOURS, n - 1) + 1)]
