"""Does a small model say yes to the sentence or to the question? Raw and double-centred answers of SmolLM2, offline.

    python benchmarks/acquiescence.py MODEL_FOLDER

Thirty sentences, five for each of six emotions, are asked about every emotion under five wordings, with and without a
prefill, through `measurand.eliciting`. The table says how far P(yes) tells the emotion of a sentence from the others,
before and after what each sentence and each question gets on average is taken out.
"""

from __future__ import annotations

import csv
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from measurand.eliciting import accounts
from measurand.eliciting.declared import Design, Item, Phrasing, Verification
from measurand.eliciting.run import elicit
from measurand.eliciting.system import System
from measurand.eliciting.tables import ANSWERS, Tables
from measurand.eliciting.wordings import verification_phrasings
from measurand.stats.ranking import auroc

HERE = Path(__file__).parent
#: The built-in wordings, and one in the manner of the first paper.
PHRASINGS = (
    Phrasing("express", "Does this sentence express {criterion}? Answer yes or no."),
    *verification_phrasings("sentence"),
)
SENTENCES: Mapping[str, tuple[str, ...]] = {
    "joy": (
        "We danced in the kitchen all evening and could not stop laughing.",
        "I passed the exam, and my sister hugged me until I could hardly breathe.",
        "The baby giggled for the first time today, and the whole house lit up.",
        "What a wonderful surprise, all my friends came to the party!",
        "The sun is out, school is over, and I feel on top of the world.",
    ),
    "sadness": (
        "Since the funeral I sit at the window and cry.",
        "She read his last letter again and wept without a sound.",
        "Nobody came to visit, and the old man ate his supper alone.",
        "I miss my grandmother so much that it hurts.",
        "They had to say goodbye to their dog, and the house is empty now.",
    ),
    "anger": (
        "He slammed the door and shouted that he had had enough of their lies.",
        "How dare they cut our wages and pay themselves a bonus!",
        "I am furious: this is the third time that they have cheated me.",
        "She clenched her fists when the bully laughed at her brother.",
        "Get out of my house this minute, and never speak to me like that again!",
    ),
    "fear": (
        "Footsteps followed me down the dark alley and I began to run.",
        "My hands shook when the plane suddenly dropped.",
        "The child hid under the bed, too scared to breathe.",
        "I cannot sleep, every noise could be the burglar coming back.",
        "They are terrified that the test will find a tumour.",
    ),
    "disgust": (
        "The fridge had been off for weeks and the smell of rotten meat made me gag.",
        "There was a hair in the soup and a fly on the spoon, and I pushed the plate away.",
        "He spat on the floor and wiped his nose on the curtain, it was revolting.",
        "Maggots crawled out of the bin and I nearly threw up.",
        "The toilet was so filthy that nobody wanted to touch the handle.",
    ),
    "surprise": (
        "I opened the box and could not believe my eyes, it was full of money.",
        "Out of nowhere my long-lost twin stood at the door.",
        "Nobody had expected it, but the smallest team won the cup.",
        "Wait, you two are married? Since when?",
        "The magician pulled the card from my own pocket, and my jaw dropped.",
    ),
}


def main() -> None:
    """Ask, and write the table."""
    items = [Item(f"{label}-{i}", text) for label, texts in SENTENCES.items() for i, text in enumerate(texts)]
    design = Design(
        items,
        list(SENTENCES),
        [System("SmolLM2-135M-Instruct", "transformers", sys.argv[1])],
        [Verification(PHRASINGS, prefills=("", "Answer:"), instructions="Sentence: {text}")],
        derived=["double_centred"],
    )
    with tempfile.TemporaryDirectory() as folder:
        elicited = elicit(design, Path(folder) / "store")
        tables = Tables(elicited)
        tables.write(Path(folder))
        rows = accounts.rows(elicited, tables.arms, replicates=2000, confidence=0.95)
        with (Path(folder) / ANSWERS).open(encoding="utf-8", newline="") as file:
            answers = list(csv.DictReader(file))
    lines = [
        "# Acquiescence of a small model\n",
        "`python benchmarks/acquiescence.py`: SmolLM2-135M-Instruct in float32, 30 sentences (five for each of six "
        "emotions) by six yes/no questions by five wordings by two prefills; "
        f"{platform.machine()}, Python {platform.python_version()}.\n",
        "AUC: how often the emotion of a sentence has a higher answer than one that is not its sentence's, pooled over "
        "all 180 pairs of sentence and emotion. Shares: of the sum of squares of log-odds, with 95 % intervals, "
        "sentences redrawn.\n",
        "| wording | prefill | mass, median | sentence | question | rest | AUC raw | AUC double-centred |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for phrasing in PHRASINGS:
        for prefill in ("", "Answer:"):
            variant = f"prefill={prefill}" if prefill else ""

            def of(statistic: str, phrasing: str = phrasing.name, variant: str = variant) -> str:
                wanted = {"readout": "verification", "phrasing": phrasing, "variant": variant}
                row = next(one for one in rows if one.statistic == statistic and wanted.items() <= one.keys.items())
                spread = "" if row.low is None or row.high is None else f" ({row.low:.2f} to {row.high:.2f})"
                return f"{row.estimate:.3f}{spread}"

            auc = [_auc(answers, readout, phrasing.name, prefill) for readout in ("verification", "double_centred")]
            shown = " | ".join(of(one) for one in ("mass_median", "share_item", "share_question", "share_rest"))
            name = phrasing.name + (" (negated)" if phrasing.negated else "")
            lines.append(f"| {name} | {prefill or 'none'} | {shown} | {auc[0]:.3f} | {auc[1]:.3f} |")
    text = "\n".join(lines) + "\n"
    (HERE / "results" / "acquiescence.md").write_text(text, encoding="utf-8")
    print(text)


def _auc(answers: list[dict[str, str]], readout: str, phrasing: str, prefill: str) -> float:
    own = [a for a in answers if (a["readout"], a["phrasing"], a["prefill"]) == (readout, phrasing, prefill)]
    values = np.array([float(a["log_odds"]) for a in own])
    truth = np.array([a["item"].startswith(a["criterion"]) for a in own])
    return float(auroc(values, truth, np.ones((1, len(values))))[0])


if __name__ == "__main__":
    main()
