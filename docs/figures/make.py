"""Draw the figures of the README from simulated data, as `python docs/figures/make.py` writes them beside this file."""

from __future__ import annotations

from pathlib import Path

import measurand as mz
from measurand.reporting import Plot
from measurand.simulate import two_emojis_panel


def drawn() -> dict[str, Plot]:
    """Return each figure by the name of its file."""
    panel = mz.leave_one_rater_out(two_emojis_panel().ratings)
    bench = mz.simulate_benchmark(
        n_items=150,
        n_criteria=3,
        reliabilities=(0.6, 0.5, 0.1),
        validities=(0.95, 0.85, 0.7),
        readouts=("verification", "generative"),
        seed=3,
    )
    ratings = mz.read_ratings(bench.ratings, scale=mz.Scale(0, 7, step=1, level="interval"))
    scores = mz.score(bench.answers, ratings, replicates=200, over=("item",), seed=7)
    return {"ranks": mz.plot(panel, figure="ranks"), "scores": mz.plot(scores, figure="scores")}


if __name__ == "__main__":
    for name, plot in drawn().items():
        plot.save(Path(__file__).with_name(f"{name}.svg"))
