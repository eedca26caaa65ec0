"""Many questions about one item: what the shared beginning saves, in time and in memory.

SmolLM2-135M-Instruct in float32 on one thread is asked 40 criteria in 3 wordings about one text, so that all prompts
begin with the same 600 tokens. The engine's reading is timed beside one plain pass for each prompt and beside batches
of whole prompts, in alternation. Nothing here loads an array library in the parent: peaks are those of children.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from _common import RESULTS, arguments, clock, environment, markdown, spawn

QUESTION = "What does reading 120 questions about one item cost when their common beginning is computed once?"
N_COMMON = 600
N_CRITERIA = 40
GROWTH = (10, 20, 40, 80)
#: Prompts that the slow ways are given; their costs are scaled to all.
N_SLOW = 12
PAIRS = 3
LIMIT = 1e-4
GOAL = 10.0
PLAIN, BATCH = "one plain pass for each prompt", f"batches of {N_SLOW} whole prompts"
ROUTES = ("load", "packed", "expanded", "plain", "batch")
TEXT = (
    "Rain had emptied the market by noon. Only the baker's daughter stayed behind her table, counted what was left "
    "and listened to the water in the gutter. A dog that belonged to nobody lay down at her feet. "
)
WORDINGS = (
    "Does the person in this text feel {}? Answer yes or no.",
    "Read the text again: is there any sign of {} in it? Answer yes or no.",
    "Would most readers say that this text is about {}? Answer yes or no.",
)
KINDS = ("joy", "grief", "anger", "fear", "disgust", "surprise", "shame", "pride", "envy", "hope")
OBJECTS = ("", " of others", " at home", " and calm", " at night", " in public", " of her own", " and doubt")


def engine_of(folder: str) -> Any:
    """Return the engine, on one thread."""
    import torch

    from measurand.eliciting.local import LocalEngine
    from measurand.eliciting.system import System

    torch.set_num_threads(1)
    return LocalEngine(System("SmolLM2-135M-Instruct", "transformers", model=folder))


def prompts_of(engine: Any, n_criteria: int) -> list[Any]:
    """Return the prompts, criterion by criterion, on a text that makes their beginning `N_COMMON` tokens long."""
    from measurand.eliciting.prompt import Prompt

    criteria = [kind + of for of in OBJECTS for kind in KINDS][:n_criteria]

    def on(words: list[str]) -> list[Prompt]:
        questions = [wording.format(name) for name in criteria for wording in WORDINGS]
        return [Prompt(question, shared=" ".join(words), prefill="Answer:") for question in questions]

    words = (TEXT * 20).split()
    n_words = next(n for n in range(len(words), 0, -1) if tokens_of(engine, on(words[:n])[:3])["common"] <= N_COMMON)
    return on(words[:n_words])


def labels() -> Any:
    from measurand.eliciting.labels import Labels

    return Labels({"yes": ("yes",), "no": ("no",)})


def tokens_of(engine: Any, prompts: list[Any]) -> dict[str, int]:
    """Return how many tokens prompts have in common, in their endings, and in all."""
    from measurand.eliciting.local.prefix import Question, common

    rendered = [Question(engine._renderer.render(prompt)) for prompt in prompts]
    n = common(rendered)
    whole = sum(len(one.ids) for one in rendered)
    return {"common": n, "endings": whole - n * len(rendered), "whole": whole}


def plainly(engine: Any, prompts: list[Any]) -> list[float]:
    """Return the log-odds of the likeliest spellings by one pass of transformers for each prompt."""
    import torch

    model, out = engine._model.model, []
    for prompt in prompts:
        ids = torch.tensor([list(engine._renderer.render(prompt).ids)])
        with torch.inference_mode():
            logits = model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[0, -1].double()
        out.append(spelled(logits, engine, prompt))
    return out


def spelled(logits: Any, engine: Any, prompt: Any) -> float:
    """Return log-odds of the answers' spellings of one token."""
    answers = engine._answers(engine._renderer.render(prompt), labels())
    yes, no = ([ids[0] for ids in one if len(ids) == 1] for one in answers.sequences)
    return float(logits[yes].logsumexp(0) - logits[no].logsumexp(0))


def by_way(engine: Any, prompts: list[Any], way: str) -> list[float]:
    """Return the same log-odds as the engine's ways read them."""
    from measurand.eliciting.local.prefix import Question, read

    questions = [Question(engine._renderer.render(prompt)) for prompt in prompts]
    found = {
        i: spelled(logits[0].double(), engine, prompts[i]) for i, logits in read(engine._model, questions, way=way)
    }
    return [found[i] for i in range(len(prompts))]


def whole(engine: Any, prompts: list[Any]) -> None:
    """Read as a study does: spellings of several tokens, others, fingerprints and all."""
    if len(list(engine.read(prompts, labels()))) != len(prompts):
        raise SystemExit("not every prompt was read")


def compare(folder: str) -> dict[str, Any]:
    """Time the ways in alternation and check that they agree."""
    engine = engine_of(folder)
    prompts = prompts_of(engine, N_CRITERIA)
    proofs = {proof.check: proof for proof in engine.prove(prompts[:3], labels())}
    few = prompts[:N_SLOW]
    expected = plainly(engine, few)
    off = {
        way: max(abs(a - b) for a, b in zip(expected, by_way(engine, few, way), strict=True))
        for way in ("packed", "expanded", "in_turn", "batch")
    }
    if max(off.values()) > LIMIT:
        raise SystemExit(f"the ways differ: {off}")
    timed = {
        PLAIN: lambda: plainly(engine, few),
        BATCH: lambda: by_way(engine, few, "batch"),
        "the engine (packed)": lambda: whole(engine, prompts),
        "packed, spellings of one token": lambda: by_way(engine, prompts, "packed"),
        "expanded, spellings of one token": lambda: by_way(engine, prompts, "expanded"),
    }
    costs: dict[str, list[Any]] = {name: [] for name in timed}
    whole(engine, prompts[:6])
    for _ in range(PAIRS):
        for name, work in timed.items():
            costs[name].append(clock(work))
    counted = tokens_of(engine, prompts)
    scale = {name: len(prompts) / N_SLOW if name in (PLAIN, BATCH) else 1.0 for name in timed}
    base = [cost.cpu * scale[PLAIN] for cost in costs[PLAIN]]
    rows = []
    for name, found in costs.items():
        cpu = [cost.cpu * scale[name] for cost in found]
        is_slow = name in (PLAIN, BATCH)
        rows.append(
            {
                "way": name,
                "prompts run": N_SLOW if is_slow else len(prompts),
                "tokens for all": counted["whole"] if is_slow else counted["common"] + counted["endings"],
                "CPU s for all": median(cpu),
                "wall s for all": median(cost.wall * scale[name] for cost in found),
                "times one by one": median(base) / median(cpu),
                "pair by pair": " ".join(f"{a / b:.1f}" for a, b in zip(base, cpu, strict=True)),
            }
        )
    limit = counted["whole"] / (counted["common"] + counted["endings"])
    differences = [{"way": way, "largest difference in log-odds": value} for way, value in off.items()]
    return {
        "rows": rows,
        "limit": limit,
        "tokens": counted,
        "differences": differences,
        "noise": proofs["cold_cached"].value,
        "way": engine.way,
        "growth": growth(engine),
    }


def growth(engine: Any) -> list[dict[str, Any]]:
    """Time the engine on more and more criteria."""
    rows = []
    for n in GROWTH:
        prompts = prompts_of(engine, n)
        counted = tokens_of(engine, prompts)
        cpu = median(clock(lambda prompts=prompts: whole(engine, prompts)).cpu for _ in range(PAIRS))
        limit = counted["whole"] / (counted["common"] + counted["endings"])
        rows.append(
            {"criteria": n, "prompts": len(prompts), "common tokens": counted["common"]}
            | {"ending tokens": counted["endings"], "limit by tokens": limit, "CPU s": cpu}
        )
    first = rows[0]
    for row in rows[1:]:
        added = row["ending tokens"] - first["ending tokens"]
        row["CPU ms per added ending token"] = 1000 * (row["CPU s"] - first["CPU s"]) / added
    return rows


def peak(folder: str, route: str) -> None:
    """Do one thing, so that the peak of the process is its."""
    engine = engine_of(folder)
    prompts = prompts_of(engine, N_CRITERIA)
    _ = engine._model.model
    if route == "plain":
        plainly(engine, prompts[:2])
    elif route == "batch":
        by_way(engine, prompts[:N_SLOW], "batch")
    elif route == "expanded":
        by_way(engine, prompts, "expanded")
    elif route == "packed":
        engine.prove(prompts[:3], labels())
        whole(engine, prompts)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child, folder, to = sys.argv[2:5]
        if child == "compare":
            Path(to).write_text(json.dumps(compare(folder)), encoding="utf-8")
        else:
            peak(folder, child)
        return
    options = arguments(
        __doc__,
        model={"type": str, "required": True, "help": "folder of SmolLM2-135M-Instruct"},
        out={"type": Path, "default": RESULTS / "prefix.md"},
    )
    with tempfile.TemporaryDirectory() as scratch:
        to, log = Path(scratch) / "found.json", Path(scratch) / "log"
        words = [sys.executable, __file__, "--child"]
        if spawn([*words, "compare", options.model, str(to)], log=log).status:
            sys.exit(log.read_text(errors="replace")[-2000:])
        found = json.loads(to.read_text(encoding="utf-8"))
        peaks = [{"what": r, "peak MiB": round(spawn([*words, r, options.model, "-"]).peak / 2**20)} for r in ROUTES]
    best = next(row for row in found["rows"] if row["way"].startswith("the engine"))
    growing = found["growth"]
    ratio = growing[-1]["CPU s"] / growing[0]["CPU s"]
    by_tokens = [row["common tokens"] + row["ending tokens"] for row in (growing[0], growing[-1])]
    tables = {
        f"{N_CRITERIA} criteria x {len(WORDINGS)} wordings, {found['tokens']['common']} common tokens": found["rows"],
        "Growth with the number of criteria (the engine)": growing,
        "Largest difference from plain passes": found["differences"],
        "Peak memory, a process of its own each": peaks,
        "Goals": [
            {
                "goal": "times one by one in CPU seconds, at least",
                "limit": GOAL,
                "measured": best["times one by one"],
                "met": best["times one by one"] >= GOAL,
            },
        ],
    }
    notes = [
        f"By tokens alone the ratio is {found['limit']:.1f}: all tokens of all prompts over the common ones once and "
        "the endings. Endings that begin alike are computed once up to where they part, and plain passes pay for each "
        "call, so that more is possible; the engine also reads spellings of several tokens, which cost tokens of their "
        "own.",
        f"{PLAIN[0].upper()}{PLAIN[1:]} and {BATCH} run {N_SLOW} of the prompts and are scaled; medians of {PAIRS} "
        "alternating rounds, one thread. The way that the self-test took: "
        f"{found['way']}; its noise floor {found['noise']:.1g} log-odds.",
        f"From {growing[0]['criteria']} to {growing[-1]['criteria']} criteria tokens grow "
        f"{by_tokens[1] / by_tokens[0]:.1f} times and CPU seconds {ratio:.1f} times.",
        "load: interpreter, libraries and weights alone; plain: two prompts.",
    ]
    result = {"name": "prefix", "question": QUESTION, **environment(), "tables": tables, "notes": notes}
    result["packages"] |= {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    print(markdown(result))
    versions = ", ".join(f"{name} {version}" for name, version in result["packages"].items())
    made = f"{result['date']}; {result['machine']}; Python {result['python']}; {versions}."
    options.out.write_text(f"{markdown(result)[1:]}\n{made}\n", encoding="utf-8")
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
