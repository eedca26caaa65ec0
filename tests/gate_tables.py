"""Tables of answers for the gates, and what the gates said of them."""

import numpy as np
import pandas as pd

from measurand.data import read_answers
from measurand.scoring.gates import gates

QUICK = {"permutations": 99, "replicates": 100}


def long(values, *, system="S", **columns):
    """Answers of one arm from an array of items by criteria; NaN where there is no answer."""
    values = np.asarray(values, dtype=float)
    item, criterion = (index.ravel() for index in np.indices(values.shape))
    frame = pd.DataFrame(
        {
            "system": system,
            "item": [f"i{position}" for position in item],
            "criterion": [f"c{position:02d}" for position in criterion],
            "answer": values.ravel(),
        }
    )
    for name, column in columns.items():
        frame[name] = np.ravel(column) if np.ndim(column) else column
    return frame


def asked(*frames, **settings_of):
    return gates(read_answers(pd.concat(frames, ignore_index=True)), **(QUICK | settings_of))


def verdict(result, gate):
    return next(finding for finding in result.findings if finding.id == gate).verdict


def statement(result, gate):
    return next(finding for finding in result.findings if finding.id == gate).statement


def value(result, gate, statistic, **keys):
    return result.value("gates", statistic, {"gate": gate, "criterion": "", **keys})


def drawn(seed=0, items=60, criteria=4, levels=8):
    return np.random.default_rng(seed).integers(0, levels, (items, criteria)).astype(float)


def graded(seed=0, items=60, criteria=4):
    return np.random.default_rng(seed).uniform(0.02, 0.98, (items, criteria))
