import re

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.data import read_answers, read_ratings
from measurand.data.answers import STATUSES
from measurand.data.items import read_items
from measurand.data.scale import Scale
from measurand.result import MeasurandError, Result
from measurand.scoring.gates import failed_systems, gates

CLASSES = ("c0", "c1", "c2")
REPLIES = ("", "4", "c0 or c1", "c0", '{"c0": 3}')


@st.composite
def studies(draw):
    """Draw a small table of answers with everything that may be absent or odd, and ratings and items beside it."""
    sizes = [draw(st.integers(1, 2)), draw(st.integers(1, 9)), draw(st.integers(1, 3))]
    controls = draw(st.sampled_from([("",), ("", "blank"), ("blank",), ("", "swapped", "blank")]))
    attempts = draw(st.sampled_from([(1,), (1, 2)]))
    shape = (*sizes, len(controls), len(attempts))
    system, item, criterion, control, attempt = (index.ravel() for index in np.indices(shape))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = len(item)
    are_labels = sizes[2] == 1 and draw(st.booleans())
    answer = {
        "probability": rng.random(n),
        "whole": rng.integers(0, 4, n).astype(float),
        "constant": np.ones(n),
        "binary": rng.integers(0, 2, n).astype(float),
    }[draw(st.sampled_from(["probability", "whole", "constant", "binary"]))]
    table = pd.DataFrame(
        {
            "system": [f"S{i}" for i in system],
            "item": [f"i{i}" for i in item],
            "criterion": [f"c{i}" for i in criterion],
            "control": np.array(controls)[control],
            "attempt": np.array(attempts)[attempt],
            "answer": rng.choice(CLASSES, n) if are_labels else answer,
            "status": np.where(rng.random(n) < draw(st.sampled_from([0, 0.3, 1])), rng.choice(STATUSES, n), "ok"),
            "mass": rng.choice([np.nan, 0.1, 0.99], n),
            "log_odds": rng.normal(size=n),
            "reply": rng.choice(REPLIES, n),
            "readout": draw(st.sampled_from(["", "verification", "generative", "decision", "binarized"])),
        }
    )
    table = table[rng.random(n) >= draw(st.sampled_from([0, 0.3]))]
    for column in draw(st.sets(st.sampled_from(["mass", "log_odds", "reply", "control", "attempt"]))):
        table = (
            table[table[column] == table[column].iloc[0]] if column in ("control", "attempt") and len(table) else table
        )
        table = table.drop(columns=column)
    rated = pd.DataFrame(
        [(f"i{i}", f"c{c}", f"R{r}") for i in range(sizes[1]) for c in range(sizes[2]) for r in range(2)],
        columns=["item", "criterion", "rater"],
    ).assign(rating=lambda frame: rng.integers(0, 4, len(frame)))
    rated = rated[rng.random(len(rated)) < 0.8] if draw(st.booleans()) else rated[:0]
    items = pd.DataFrame({"item": [f"i{i}" for i in range(sizes[1])]})
    items["label"], items["group"] = rng.choice(CLASSES, sizes[1]), rng.choice(["a", "b"], sizes[1])
    return table, rated, items if draw(st.booleans()) else None, are_labels


@settings(max_examples=80)
@given(studies())
def test_every_table_is_judged_or_refused_in_words(drawn):
    table, rated, items, are_labels = drawn
    try:
        answers = read_answers(table, labels=are_labels)
        ratings = read_ratings(rated, scale=Scale(0, 3, step=1)) if len(rated) else None
        result = gates(
            answers,
            ratings=ratings,
            items=None if items is None else read_items(items),
            permutations=99,
            replicates=100,
        )
    except MeasurandError:
        return
    assert Result.from_json(result.to_json()) == result
    identities = [(tuple(sorted(row.keys.items())), row.statistic) for row in result]
    assert len(identities) == len(set(identities))
    assert len(result.findings) == 12
    for finding in result.findings:
        assert finding.statement.endswith(".")
        assert not re.search(r"\bnan\b|–", finding.statement)
        assert finding.remedy or finding.verdict in ("pass", "not_applicable")
        for reference in finding.rows:
            keys = {key: part for key, part in reference.items() if key not in ("analysis", "statistic")}
            assert result.select("gates", reference["statistic"], {"criterion": "", **keys})
    failing = {name for names in failed_systems(result).values() for name in names}
    assert {finding.id for finding in result.findings if finding.verdict == "fail"} <= failing
