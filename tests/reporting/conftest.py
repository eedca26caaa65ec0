"""Results to write pages from: small audits, one whose names try to break out, one of forty criteria."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import audit
from measurand.data import Scale, read_ratings
from measurand.result import Result

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "n" * 300,
    "👩🏽‍🚀 rocket",
    "نموذج عربي",
    "$x^2$ $\\frac{1}{0}",
    "two\nlines\tand | `pipe`",
    "'><svg/onload=alert(1)>",
    "\u202egnp.exe\x07",
    "{{ 7 * 7 }} {% raise %}",
]


def make(items, systems, raters, *, criterion="", missing=0.0, seed=1):
    rng = np.random.default_rng(seed)
    severity = dict(zip(raters, rng.normal(0, 0.7, len(raters)), strict=True))
    quality = dict(zip(systems, rng.normal(0, 0.5, len(systems)), strict=True))
    rows = []
    for item, system, rater in product(items, systems, raters):
        if rng.random() < missing:
            continue
        value = 3 + severity[rater] + quality[system] + rng.normal(0, 1)
        rating = int(np.clip(round(value), 1, 5))
        rows.append({"item": item, "system": system, "rater": rater, "rating": rating, "criterion": criterion})
    frame = pd.DataFrame(rows)
    return frame if criterion else frame.drop(columns="criterion")


def audited(frame, order=None):
    ratings = read_ratings(frame, scale=Scale.parse("1:5:1"), level="ordinal", order=order)
    return audit(ratings, replicates=100, draws=1000)


@pytest.fixture(scope="session")
def complete():
    return audited(make([f"i{n}" for n in range(12)], ["S1", "S2", "S3", "S4"], ["R1", "R2", "R3"]))


@pytest.fixture(scope="session")
def incomplete():
    return audited(make([f"i{n}" for n in range(12)], ["S1", "S2", "S3"], ["R1", "R2", "R3"], missing=0.15))


@pytest.fixture(scope="session")
def ordered():
    frame = make([f"i{n}" for n in range(12)], ["S1", "S2", "S3"], ["R1", "R2", "R3"], seed=3)
    shuffled = frame.sample(frac=1, random_state=1).assign(order=range(len(frame)))
    return audited(shuffled, order="order")


@pytest.fixture(scope="session")
def many_systems():
    # So alike that only their whole names tell them apart.
    systems = [f"vendor/model-{n:02d}-instruct" for n in range(24)]
    return audited(make([f"i{n}" for n in range(6)], systems, ["R1", "R2", "R3"], seed=4))


@pytest.fixture(scope="session")
def without_systems():
    frame = make([f"i{n}" for n in range(20)], ["S1"], ["R1", "R2", "R3"], missing=0.2, seed=5)
    return audited(frame.drop(columns="system"))


@pytest.fixture(scope="session")
def two_criteria():
    first = make([f"i{n}" for n in range(8)], ["S1", "S2", "S3"], ["R1", "R2", "R3"], criterion=HOSTILE[0])
    second = make([f"i{n}" for n in range(8)], ["S1", "S2", "S3"], ["R1", "R2", "R3"], criterion="fluency", seed=2)
    return audited(pd.concat([first, second]))


@pytest.fixture(scope="session")
def hostile():
    return audited(make([f"i{n}" for n in range(6)], HOSTILE, [f"{name} as rater" for name in HOSTILE[:5]]))


@pytest.fixture(scope="session")
def forty(complete):
    return spread(complete, [f"{HOSTILE[n % len(HOSTILE)]} {n}" for n in range(40)])


def spread(result, criteria):
    """The same audit under many criteria."""
    rows = [replace(row, keys={**row.keys, "criterion": name}) for name in criteria for row in result.rows]
    findings = [
        replace(finding, criterion=name, rows=[{**ref, "criterion": name} for ref in finding.rows])
        for name in criteria
        for finding in result.findings
    ]
    about = next(iter(result.settings["design"]["criteria"].values()))
    settings = {**result.settings, "design": {"criteria": dict.fromkeys(criteria, about)}}
    return Result(rows, settings, findings)
