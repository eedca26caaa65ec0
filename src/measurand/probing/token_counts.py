"""How often each token occurs in each text, sparse."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import sparse

from measurand.data.text import TokenUnit, tokens


def token_counts(texts: Iterable[str], unit: TokenUnit) -> sparse.csr_array:
    """Return how often each token occurs in each text.

    Parameters
    ----------
    texts : iterable of str, length n_rows
        Any texts; one without a token has a row of zeros.
    unit : str
        What a text is cut into, see `measurand.data.text.tokens`.

    Returns
    -------
    sparse array (n_rows, n_tokens)
        Columns in the order of the tokens' code points; one column of zeros where there is no token at all.

    Examples
    --------
    >>> token_counts(["b a b", "", "a"], "word").toarray().tolist()
    [[1.0, 2.0], [0.0, 0.0], [1.0, 0.0]]
    """
    place, distinct = pd.factorize(np.array(list(texts), dtype=object))
    pieces = [tokens(text, unit) for text in distinct]
    names = sorted({token for piece in pieces for token in piece})
    column = {token: position for position, token in enumerate(names)}
    row = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
    at = np.array([column[token] for piece in pieces for token in piece], dtype=np.int64)
    found = sparse.csr_array((np.ones(len(at)), (row, at)), shape=(len(pieces), max(len(names), 1)))
    found.sum_duplicates()
    return sparse.csr_array(found[place])
