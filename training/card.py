"""The model card: what the model is for, what it is not, what it learnt from, and what it does on new persons.

    python -m training.card FOLDER

reads `recipe.json`, `figures.json` and `log.jsonl` of a training, and writes `FOLDER/model/README.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training import wordings
from training.recipe import CRITERIA, EXAMPLE

_COUNTS = ("n_graded", "n_mixed", "vision_steps", "binding_steps", "language_steps")

_HEAD = """---
library_name: transformers
pipeline_tag: image-text-to-text
license: mit
---

# The pocket model ({variant})

An Idefics3 of {n_parameters} parameters that looks at drawn faces of {size} pixels. It answers yes/no questions about
{n_criteria} expressions ({criteria}) and rates all of them as JSON.

## Use

It shows, on a laptop and without a network, how the way of asking a model changes what a benchmark says of it: the same
weights read as P(yes) and as written ratings. It is an instrument of demonstrations and tests.

## Limits

- The faces are drawings by Measurand's own `simulate faces`; nothing here holds for photographs or for people.
- Raters are simulated. Their disagreement was declared, not observed.
- That reading and writing differ in it is by construction: it learnt from raters who disagree, and writes the likeliest
  rating. What the difference is in other models has to be measured on them.
- It knows its own questions, English, one picture a prompt, criteria in the order above, and, in the request for pairs,
  the example that names {example}.

## Training

{n_graded} graded and {n_mixed} mixed faces; {n_raters} raters, {raters_per_item} of them for each face. Every answer
that it learnt to say is one rater's. Of the drawn intensities it was shown none. Phase 1 ({vision_steps} steps): the
vision part predicts what raters say on average, through a head that was thrown away. Phase 2 ({binding_steps} steps):
pairs of short questions about a face, from which it is learnt what a question is about. Phase 3 ({language_steps}
steps): single raters' answers to {n_trained} wordings of yes/no questions, {direct_percent} % of them without `Answer:`
before the answer, and to two requests for ratings. Wordings kept from training: {kept_back}.

| | |
|---|---|
| seed | {seed} |
| faces and answers, SHA-256 | `{data_sha256}` |
| weights, SHA-256 | `{weights_sha256}` |
| CPU minutes | {minutes:.0f} |
| versions | {versions} |
"""


def write_card(folder: Path) -> Path:
    """Write the card of a training whose figures are there, and return its path."""
    facts = json.loads((folder / "recipe.json").read_text())
    figures = json.loads((folder / "figures.json").read_text())
    last = json.loads((folder / "log.jsonl").read_text().splitlines()[-1])
    recipe = facts["recipe"]
    weights = (folder / "model" / "model.safetensors").read_bytes()
    head = _HEAD.format(
        **{name: recipe[name] for name in ("variant", "n_raters", "raters_per_item", "seed")},
        **{name: f"{recipe[name]:,}" for name in _COUNTS},
        n_parameters=f"{len(weights) / 2e6:.1f} million",
        size=64,
        n_criteria=len(CRITERIA),
        criteria=", ".join(CRITERIA),
        example=", ".join(EXAMPLE),
        n_trained=len(wordings.TRAINED),
        direct_percent=round(100 * recipe["direct_share"]),
        kept_back="; ".join(f"“{one.question}”" for one in wordings.KEPT_BACK),
        data_sha256=facts["data_sha256"],
        weights_sha256=hashlib.sha256(weights).hexdigest(),
        minutes=last["cpu_seconds"] / 60,
        versions=", ".join(f"{name} {value}" for name, value in facts["versions"].items()),
    )
    file = folder / "model" / "README.md"
    file.write_text(head + _held_out(figures))
    return file


def _held_out(figures: Mapping[str, Any]) -> str:
    orders = figures["spearman"]
    names = list(orders)
    lines = [
        "",
        "## Figures on persons that it never saw",
        "",
        "Spearman's correlation of P(yes) behind `Answer:` with the drawn intensity: "
        f"{figures['n_graded']} graded faces of {figures['n_persons']} persons; * marks wordings kept from training.",
        "",
        "| expression | " + " | ".join(f"{one}{'*' * orders[one]['kept_back']}" for one in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    lines += [
        f"| {criterion} | " + " | ".join(_say(orders[one]["each"][criterion]) for one in names) + " |"
        for criterion in CRITERIA
    ]
    lines.append("| **mean** | " + " | ".join(f"**{_say(orders[one]['mean'])}**" for one in names) + " |")
    mass = figures["mass"]
    lines += [
        "",
        f"The criterion of the largest P(yes) is the drawn one in {figures['named']:.0%} of the faces above .5 "
        f"(guessing: {1 / len(CRITERIA):.0%}).",
        "",
        f"Mass of yes and no with `Answer:` {mass['prefill']['mean']:.4f} (least {mass['prefill']['least']:.4f}), "
        f"without {mass['none']['mean']:.4f}. Accepted replies: every criterion {figures['parsed_every']:.1%}, pairs "
        f"{figures['parsed_pairs']:.1%}.",
        "",
        f"Quadratic kappa with single raters of a new panel, mean over criteria, {figures['n_rated']} faces, 95 % "
        "interval over persons:",
        "",
        "| readout | kappa | interval | over the criteria of the pairs alone |",
        "|---|---|---|---|",
    ]
    for name, found in figures["kappa"].items():
        low, high = found["interval"]
        cells = [_say(found["mean"]), f"{_say(low)} to {_say(high)}", _say(found["mean_of_pairs"])]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _say(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and write the card."""
    parser = argparse.ArgumentParser(description="Write the model card of a training that was evaluated.")
    parser.add_argument("folder", type=Path)
    write_card(parser.parse_args(arguments).folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
