"""What do frozen image tokens of the pocket model know of mean ratings? Ridge probes beside two floors.

    python benchmarks/probe.py TRAINING

TRAINING is the folder of a training, with `model/` and `recipe.json`. Faces are drawn for this alone; each has the mean
rating of eight simulated raters. The floors are the picture's own pixels (32 x 32) and the same vision part with the
weights that it had before any training.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from measurand import simulate_faces, simulate_raters
from measurand.data.ratings import read_ratings
from measurand.data.scale import Scale
from measurand.demo.heads import N_FOLDS, Estimate, image_tokens, mean_ratings, out_of_fold, pooled, probe
from measurand.stats.ranking import spearman

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

#: No training, validation or evaluation has these persons.
SEED = 611
SIZES = (104, 624)
FACES_PER_PERSON = 4
N_RATERS = 8


def pixels(files: list[Path]) -> np.ndarray:
    """Return pictures of 32 pixels as rows."""
    small = [Image.open(file).convert("RGB").resize((32, 32), Image.Resampling.BOX) for file in files]
    return np.stack([np.asarray(one, dtype=float).ravel() / 255 for one in small])


def untrained(training: Path, folder: Path) -> Path:
    """Save the model as the recipe's seed draws its weights."""
    from training.model import build, save
    from training.recipe import Recipe

    save(*build(Recipe(**json.loads((training / "recipe.json").read_text())["recipe"])), folder)
    return folder


def say(found: Estimate) -> str:
    """Return a number with its interval."""
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def graded(predicted: np.ndarray, drawn: np.ndarray) -> float:
    """Return the mean over expressions of the rank correlation with the drawn intensity, where it is drawn."""
    found = []
    for c in range(drawn.shape[1]):
        own = drawn[:, c] > 0
        found.append(spearman(predicted[own, c], drawn[own, c], np.ones((1, int(own.sum()))))[0])
    return float(np.mean(found))


def main(training: Path) -> None:
    """Fit every probe and write the table."""
    rows, each = [], []
    with tempfile.TemporaryDirectory() as folder:
        floor = untrained(training, Path(folder) / "untrained")
        for n in SIZES:
            out = Path(folder) / f"faces-{n}"
            faces = simulate_faces(n_items=n, n_persons=n // FACES_PER_PERSON, seed=SEED, held_out=0, out=out)
            scale = Scale(0, 7, step=1)
            made = simulate_raters(faces, scale=scale, n_raters=N_RATERS, raters_per_item=N_RATERS, seed=SEED)
            ratings = read_ratings(made.ratings, scale=scale)
            wanted = mean_ratings(ratings, faces["item"].tolist())
            files = [out / image for image in faces["image"]]
            trained, random = image_tokens(training / "model", files), image_tokens(floor, files)
            features = {
                "trained, all tokens": pooled(trained, "flattened"),
                "trained, mean token": pooled(trained, "mean"),
                "untrained, all tokens": pooled(random, "flattened"),
                "untrained, mean token": pooled(random, "mean"),
                "pixels, 32 x 32": pixels(files),
            }
            for name, x in features.items():
                persons = faces["group"].tolist()
                found = probe(x, wanted, persons, seed=SEED, n_replicates=500)
                drawn = faces[list(ratings.criteria)].to_numpy(dtype=float)
                order = graded(out_of_fold(x, wanted, persons, seed=SEED).predicted, drawn)
                numbers = f"{say(found.mean_r2)} | {say(found.mean_spearman)} | {order:.2f}"
                rows.append(f"| {n} | {name} | {x.shape[1]:,} | {numbers} |")
                if n == SIZES[-1]:
                    each.append((name, found))
    criteria = ratings.criteria
    text = [
        "# What frozen image tokens know of mean ratings",
        "",
        f"`python benchmarks/probe.py`: ridge regressions to the mean ratings of {N_RATERS} simulated raters on drawn "
        f"faces, {FACES_PER_PERSON} of a person, persons left out whole in {N_FOLDS} parts, the penalty chosen among "
        f"the other persons; {platform.machine()}, Python {platform.python_version()}. Of the pocket model nothing is "
        "trained here.",
        "",
        f"Means over {len(criteria)} expressions, with 95 % percentile intervals: persons redrawn, nothing fitted "
        "again. r2 is the share of variation that predictions explain out of fold; below 0, the mean would have been "
        "nearer. Raters disagree, so that no probe can reach 1. Most faces show nothing of most expressions, and their "
        "mean ratings are near each other by chance: that holds Spearman down over all faces. Graded: Spearman of "
        "predictions with the drawn intensity, among the faces on which an expression is drawn; few at the smaller "
        "size, no interval.",
        "",
        "| faces | features | of each picture | r2 | Spearman | graded |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        f"By expression, {SIZES[-1]} faces: r2, Spearman.",
        "",
        f"| expression | {' | '.join(name for name, _ in each)} |",
        "|---" * (len(each) + 1) + "|",
    ]
    for c, criterion in enumerate(criteria):
        cells = [f"{found.r2[c]:.2f}, {found.spearman[c]:.2f}" for _, found in each]
        text.append(f"| {criterion} | {' | '.join(cells)} |")
    (HERE / "results" / "probe.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
