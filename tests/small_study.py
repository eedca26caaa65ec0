"""A small study of fake systems, and what became of its steps."""

import pytest

from measurand import reporting

STEPS = ("elicit", "score", "audit", "report")
N_ITEMS = 24
STUDY = """
[study]
name = "small"
seed = 3
[data]
items = "items.csv"
ratings = "ratings.csv"
criteria = ["joy", "fear"]
[scale]
low = 0
high = 4
step = 1
level = "interval"
[[system]]
name = "F"
engine = "fake"
[[system]]
name = "G"
engine = "fake"
model = "another"
[elicit]
readouts = ["verification", "generative", "binarized"]
phrasings = ["does", "present"]
controls = ["shuffled"]
control_items = 6
repeats = 2
[score]
baselines = ["all_low"]
resample = { over = "item", n = 100 }
[audit]
object = ["ratings", "agreement"]
raters = ["A", "B", "C"]
[report]
title = "A small study"
note = "Nothing of this is real."
"""
RATERS = ("A", "B", "C", "D")


def write(folder, *, replace=(), more=""):
    """Write a study of texts, its items and their ratings; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{i:02d},what a day number {i} it was,g{i // 2}" for i in range(N_ITEMS)]
    (folder / "items.csv").write_text("\n".join(["item,text,group", *rows]) + "\n", encoding="utf-8")
    ratings = [
        f"{i:02d},{rater},{criterion},{(i * (3 + k) + k // 2 * place + place) % 5}"
        for i in range(N_ITEMS)
        for k, rater in enumerate(RATERS)
        for place, criterion in enumerate(("joy", "fear"))
    ]
    (folder / "ratings.csv").write_text("\n".join(["item,rater,criterion,rating", *ratings]) + "\n", encoding="utf-8")
    text = STUDY + more
    for old, new in replace:
        assert old in text
        text = text.replace(old, new)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder / "study.toml"


def states(done):
    return {step.name: step.state for step in done.steps}


def made(done):
    return [step.name for step in done.steps if step.state == "made"]


def nobody(system):
    raise AssertionError(f"the engine of {system.name} was opened")


def results_of(out):
    return (out / "report" / "results.json").read_bytes()


@pytest.fixture
def plain_pages(monkeypatch):
    """Pages that cost nothing, where something else is the matter."""
    monkeypatch.setattr(reporting, "render_pages", lambda _result, *, title, reproduce: (title, f"{title} {reproduce}"))
