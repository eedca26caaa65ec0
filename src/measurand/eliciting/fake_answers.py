"""What the fake engine says: numbers and texts made from hashes, the same in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from measurand.eliciting.engine import Decoding
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt

#: Standard deviations in log-odds: the item, the question, their rest, and what no declared part explains.
ITEM: Final = 0.7
QUESTION: Final = 1.5
REST: Final = 1.5
NOISE: Final = 0.3

#: Words that turn a question round. "No" is none of them: most questions end with "yes or no".
NEGATIONS: Final = frozenset({"absent", "lack", "lacking", "lacks", "missing", "neither", "never", "not", "without"})

_SHARES_OF_FORMS: Final = (0.7, 0.2, 0.07, 0.03)
_FILLERS: Final = ("The", "I", "It", "This", "Based", "\n", "**", "In", "A", "Well", "Looking", "There")
_N_FILLERS: Final = 30
_FALLS_BY: Final = 0.7
_WIDTH_OF_RATINGS: Final = 0.18

_WORD: Final = re.compile(r"[^\W\d_]+")
_LISTED: Final = re.compile(r"^- (.+?)\s*$", re.MULTILINE)
_RANGE: Final = re.compile(r"(-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)(?: in steps of (\d+(?:\.\d+)?))?")
_EXACTLY: Final = re.compile(r"exactly (\d+)", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"(\d+)(?: to (\d+))? (?:emoji|word)")
_EMOJI: Final = "😀😢😡😱😍🤔😴🥳🤢😐🌧🌞🔥💔🎉🐢"
_PLAIN: Final = ("quiet", "bright", "old", "warm", "crowded", "green", "distant", "soft", "broken", "calm")


def uniform(*names: str) -> float:
    """Return a number in [0, 1) that the names determine.

    Examples
    --------
    >>> uniform("a", "b") == uniform("a", "b") != uniform("ab", "")
    True
    """
    return int.from_bytes(_digest(names)[:6]) / 2**48


def normal(*names: str) -> float:
    """Return a number of mean 0 and variance 1, between -3 and 3, that the names determine."""
    digest = _digest(names)
    # The sum of three uniforms on [-1, 1): near enough to normal, and free of functions that differ between machines.
    return sum(int.from_bytes(digest[i : i + 6]) / 2**47 - 1.0 for i in (0, 6, 12))


def _digest(names: Sequence[str]) -> bytes:
    # Lengths in front keep ("ab", "") and ("a", "b") apart.
    return hashlib.sha256("".join(f"{len(name)}:{name}" for name in names).encode("utf-8", "surrogatepass")).digest()


def shown(prompt: Prompt) -> str:
    """Return what stands for the item of a prompt: its picture and the text that its questions share."""
    return f"{prompt.picture.sha256 if prompt.picture else ''} {prompt.shared}"


def leaning(model: str, item: str, text: str) -> tuple[float, float]:
    """Return how far a model leans to yes whatever is asked, and how far because of what is asked about this item.

    Each is a sum of main effects and of effects of words, so that the same words mean the same in every wording.
    """
    words = list(dict.fromkeys(_WORD.findall(text.casefold()))) or [""]
    each = len(words) ** -0.5
    bias = ITEM * normal(model, "item", item) + QUESTION * each * sum(normal(model, "word", word) for word in words)
    return bias, REST * each * sum(normal(model, "word", word, item) for word in words)


def tokens(model: str, prompt: Prompt, labels: Labels, *, fingerprint: str) -> list[tuple[str, str, float]]:
    """Return the whole next-token distribution: label (a blank for none), text and probability of each token.

    Two labels in words are taken as yes and no. Labels in numerals are likelier the nearer they are to the leaning;
    other labels have main effects of item and question of their own.
    """
    names = labels.names
    item = shown(prompt)
    bias, content = leaning(model, item, prompt.question)
    is_negated = not NEGATIONS.isdisjoint(_WORD.findall(prompt.question.casefold()))
    odds = bias + (-content if is_negated else content) + NOISE * normal(model, fingerprint, *names)
    if labels.are_numerals:
        place, last = logistic(odds), max(len(names) - 1, 1)
        weights = [math.exp(-(((k / last - place) / _WIDTH_OF_RATINGS) ** 2) / 2) for k in range(len(names))]
    elif len(names) == 2:
        weights = [logistic(odds), logistic(-odds)]
    else:
        weights = [
            math.exp(
                REST * normal(model, "label", name, item)
                + ITEM * normal(model, "label", name, prompt.question)
                + NOISE * normal(model, "label", name, fingerprint)
            )
            for name in names
        ]
    # Whoever continues a turn that has been started answers there; whoever begins one of its own often does not.
    draw = uniform(model, "mass", fingerprint, *names)
    mass = 0.9 + 0.099 * draw if prompt.prefill else 0.25 + 0.35 * draw
    out = []
    for name, weight in zip(names, weights, strict=True):
        forms = spellings(labels, name)
        of_forms = _SHARES_OF_FORMS[: len(forms)]
        out += [
            (name, form, mass * weight / sum(weights) * share / sum(of_forms))
            for form, share in zip(forms, of_forms, strict=True)
        ]
    fillers = [one for one in _FILLERS if not labels.of(one)] + [f"word{i}" for i in range(_N_FILLERS - len(_FILLERS))]
    falling = [_FALLS_BY**i for i in range(len(fillers))]
    out += [("", one, (1.0 - mass) * share / sum(falling)) for one, share in zip(fillers, falling, strict=True)]
    # Ties by text, never by the order of the labels.
    return sorted(out, key=lambda one: (-one[2], one[1]))


def spellings(labels: Labels, name: str) -> tuple[str, ...]:
    """Return the spellings of a label that have a probability."""
    return labels.forms(name)[: len(_SHARES_OF_FORMS)]


def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)) of a number that is not large."""
    return 1.0 / (1.0 + math.exp(-x))


def sampled(decoding: Decoding) -> str:
    """Return what of a decoding makes a reply another one: nothing where the likeliest token is taken."""
    if decoding.temperature == 0.0:
        return ""
    return f"{decoding.temperature} {decoding.top_p} {decoding.seed}"


def reply(model: str, prompt: Prompt, draw: str, *, is_bad: bool) -> str:
    """Return the text of a reply: ratings where the prompt speaks of JSON, emojis or words where it does not.

    Parameters
    ----------
    model : str
        Who answers.
    prompt : Prompt
        The question. Criteria are its lines that begin with a hyphen; the scale is its first "1 to 7".
    draw : str
        What tells this reply from others to the same prompt.
    is_bad : bool
        Whether it goes against what was asked.
    """
    # The question first: the item's text may have lists and numbers of its own.
    text = prompt.question if "json" in prompt.question.casefold() else f"{prompt.question}\n{prompt.shared}"
    if "json" in text.casefold():
        ratings = _ratings(model, prompt, text, draw)
        return _spoilt(ratings, text, uniform(draw, "fault")) if is_bad else json.dumps(ratings, ensure_ascii=False)
    choices = _EMOJI if "emoji" in text.casefold() else _PLAIN
    if is_bad:
        return "Sure, here you go :)"
    amount = _AMOUNT.search(text)
    least, most = (int(amount[1]), int(amount[2] or amount[1])) if amount else (1, 3)
    n = least + int(uniform(draw, "amount") * (most - least + 1))
    return ("" if choices is _EMOJI else " ").join(choices[int(uniform(draw, str(i)) * len(choices))] for i in range(n))


def _ratings(model: str, prompt: Prompt, text: str, draw: str) -> dict[str, float]:
    low, high, step = _scale(text)
    steps = round((high - low) / step)
    out = {}
    for name in _criteria(text):
        bias, content = leaning(model, shown(prompt), name)
        place = logistic(bias + content + NOISE * normal(model, "rating", draw, name))
        value = low + step * min(int(place * (steps + 1)), steps)
        if value == 0 and _EXACTLY.search(text):
            # Who asks for so many ratings leaves out what is not there.
            value += step
        out[name] = int(value) if value == int(value) else round(value, 9)
    return out


def _criteria(text: str) -> list[str]:
    """Return what is to be rated; of "exactly 25" ratings, those of an example with 25, or else the first 25."""
    names = list(dict.fromkeys(_LISTED.findall(text)))
    example = _example(text)
    if exactly := _EXACTLY.search(text):
        n = int(exactly[1])
        return example if len(example) == n else names[:n]
    return names or example


def _example(text: str) -> list[str]:
    for start in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            continue
        return list(found)
    return []


def _scale(text: str) -> tuple[float, float, float]:
    found = _RANGE.search(text)
    low, high, step = (float(found[1]), float(found[2]), float(found[3] or 1)) if found else (0.0, 7.0, 1.0)
    return (low, high, step) if low < high and step > 0 else (0.0, 7.0, 1.0)


def _spoilt(ratings: Mapping[str, float], text: str, draw: float) -> str:
    """Return ratings with one of the faults that real replies have."""
    whole = json.dumps(ratings, ensure_ascii=False)
    first = next(iter(ratings), "rating")
    beyond = _scale(text)[1] + 2
    return (
        whole[: len(whole) // 2],
        "I would rate most of these rather low.",
        f"```json\n{whole}\n```",
        json.dumps({name: value for name, value in ratings.items() if name != first}, ensure_ascii=False),
        json.dumps({**ratings, first: int(beyond)}, ensure_ascii=False),
        json.dumps({**ratings, first: "high"}, ensure_ascii=False),
        whole[:-1] + f", {json.dumps(first, ensure_ascii=False)}: 1}}",
    )[int(draw * 7)]
