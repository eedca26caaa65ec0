"""Simulated outputs: emoji that say something of a label, tokens, and ratings, all with known truth."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.simulate import outputs_model as models
from measurand.simulate import outputs_settings as settings
from measurand.simulate.benchmark_settings import names_of
from measurand.simulate.outputs_settings import SimulatedLanguage, SimulatedSystem
from measurand.stats.inference import FloatArray, IntArray, stream

#: Middle of the scale from 1 to 5, and the number of emoji at which length adds nothing to a rating.
_MIDDLE: Final = 3.0
#: Standard deviations: of the logarithm of a source's length, and of its tokens for each character, as a share.
_LENGTH_SD: Final = 0.5
_DENSITY_SD: Final = 0.1
_REASONING_SD: Final = 0.6

_Draw = Callable[..., np.random.Generator]


@dataclass(frozen=True, eq=False)
class SimulatedOutputs:
    """Outputs, their ratings, and the truth that made them.

    Parameters
    ----------
    outputs : pandas.DataFrame
        Columns `item`, `system`, `text`, `label`, `language`, `source_chars`, `source_bytes`, `source_words`,
        `prompt_tokens`, `completion_tokens`, `reasoning_tokens`; one row for each item and system, in this order.
    ratings : pandas.DataFrame or None
        Columns `item`, `system`, `rater`, `rating` (1 to 5); every rater rates every output. None without raters.
    truth : dict
        JSON values:

        - the settings as asked for, by the names of `simulate_outputs`;
        - ``floor``: accuracy and macro-F1 of always saying the most frequent label;
        - ``systems``: for each one its settings; ``mean_rating``, the mean over its outputs and the raters of what a
          rating is on average over its noise; and ``languages``, with ``tokens_per_character`` and, if there are
          draws, ``accuracy``, ``accuracy_error``, ``macro_f1``, ``macro_f1_balanced`` of the rule that knows the
          distributions (see `outputs_model.decodable`) and ``transfer``: other language to the accuracy of the rule
          that knows that one's;
        - ``raters``: for each one ``rater``, ``severity``, ``length_slope``, ``system_effects`` and ``expected_slope``,
          the slope of the ratings' means over noise on the number of emoji within items and systems, which rounding
          and clipping make smaller than ``length_slope``;
        - ``items``: for each one ``item``, ``signature`` and ``effect`` on its ratings.
    """

    outputs: pd.DataFrame
    ratings: pd.DataFrame | None
    truth: dict[str, Any]


def simulate_outputs(
    *,
    n_items: int = 300,
    n_systems: int = 6,
    systems: Sequence[SimulatedSystem] | None = None,
    languages: Sequence[str | SimulatedLanguage] = ("English", "Bangla"),
    labels: Sequence[str] = ("anger", "fear", "joy", "love", "sadness"),
    label_shares: Sequence[float] | None = None,
    language_shift: float = 0.3,
    item_signature: float = 0.15,
    n_raters: int = 4,
    length_slopes: Sequence[float] | None = None,
    severity_sd: float = 0.3,
    item_sd: float = 0.4,
    system_rater_sd: float = 0.15,
    noise_sd: float = 0.7,
    truth_draws: int = 20_000,
    seed: int = 0,
) -> SimulatedOutputs:
    """Return outputs of systems to labelled items, what they cost and how they are rated, with known truth.

    Parameters
    ----------
    n_items : int
        Number of items, at least 10 for each language; they are dealt to the languages in equal parts.
    n_systems : int
        Number of systems, at least 3, made by `default_systems`. Of no account where `systems` is given.
    systems : sequence of SimulatedSystem or None
        The systems themselves.
    languages : sequence of str or SimulatedLanguage
        English, Bangla, Hindi, or languages of one's own.
    labels : sequence of str
        2 to 8 names.
    label_shares : sequence of float or None
        Share of the items of each language with each label, sum 1. None takes .278, .24, .2, .16, .122 for five
        labels and equal shares for other numbers.
    language_shift : float
        Share of a label's emoji that stand for the next label in every language but the first, 0 to 1.
    item_signature : float
        Probability that an emoji is the item's own flag: the same for all systems and unrelated to the label, 0 to 1.
        Outputs of one item share it, so that a split that parts them leaks; 676 items have flags of their own.
    n_raters : int
        Number of raters, 0 for no ratings.
    length_slopes : sequence of float or None
        What each rater adds to the opinion for each emoji more, in scale units. None spreads them from .4 to .1.
    severity_sd, item_sd, system_rater_sd, noise_sd : float
        Standard deviations of the rater's severity, the item, the rater's own opinion of a system, and the noise of a
        rating, in scale units.
    truth_draws : int
        Outputs to draw for the truth about decodability, at least 1,000; 0 for none.
    seed : int
        The one seed, 0 or above.

    Returns
    -------
    SimulatedOutputs
        Tables and truth. Items are ``I001``, …, raters ``R1``, …, padded with zeros to one width.

    Raises
    ------
    MeasurandError
        Sizes, shares or deviations out of their range; names that are there twice; an unknown language.

    Notes
    -----
    An output has 1 + Binomial(4, (length - 1) / 4) emoji. Each is, by itself, the item's flag with probability
    `item_signature`; otherwise it is drawn from the label's own distribution with probability `signal`, and else from
    the common one. Prompt tokens are template + token_factor · tokens_per_character · characters, with a deviation of
    10 % of the second term that is the item's and shared by all systems; visible completion tokens are
    tokens_per_emoji for each emoji. All are rounded up or down by chance, so that their means are these numbers
    exactly. Reasoning tokens are log-normal and part of the completion tokens.

    A rater's opinion is 3 + quality + length_slope · (number of emoji - 3) + item + severity + rater's own opinion of
    the system; the rating is opinion and noise, rounded and clipped to 1 to 5.

    Every block of random numbers has a stream of its own, so that another system leaves the draws of the others alone.

    Examples
    --------
    >>> made = simulate_outputs(n_items=20, truth_draws=0, seed=1)
    >>> made.outputs.shape, made.ratings.shape
    ((120, 11), (480, 4))
    >>> sorted(set(made.outputs.loc[made.outputs["system"] == "S-same", "text"]))
    ['😂🙏✨']
    """
    chosen = list(settings.default_systems(max(n_systems, 3)) if systems is None else systems)
    n_slopes = None if length_slopes is None else len(length_slopes)
    tongues = settings.languages_of(languages)
    settings.check_sizes(
        n_items, len(tongues), n_systems if systems is None else 3, n_raters, truth_draws, seed, n_slopes
    )
    settings.check_systems(chosen)
    shares = settings.shares_of(labels, label_shares)
    settings.check_shares(language_shift=language_shift, item_signature=item_signature)
    deviations = {
        "severity_sd": float(severity_sd),
        "item_sd": float(item_sd),
        "system_rater_sd": float(system_rater_sd),
        "noise_sd": float(noise_sd),
    }
    settings.check_deviations(**deviations)
    slopes = np.linspace(0.4, 0.1, n_raters) if length_slopes is None else np.asarray(length_slopes, dtype=float)
    draw = functools.partial(stream, seed, "simulate", "outputs")
    language = np.arange(n_items) * len(tongues) // n_items
    label = _labels(draw, language, shares)
    flag = draw("signature").permutation(len(settings.FLAGS))[np.arange(n_items) % len(settings.FLAGS)]
    given = [models.of_labels(len(labels), language_shift if at else 0.0) for at in range(len(tongues))]
    written = [_written(draw, one, label, language, given, item_signature, flag) for one in chosen]
    count = np.stack([n for _, n in written], axis=1)
    items = names_of("I", n_items)
    columns = {
        "item": np.repeat(np.array(items, dtype=object), len(chosen)),
        "system": np.tile(np.array([one.name for one in chosen], dtype=object), n_items),
        "text": np.array([texts for texts, _ in written], dtype=object).T.ravel(),
        "label": np.repeat(np.array(labels, dtype=object)[label], len(chosen)),
        "language": np.repeat(np.array([one.name for one in tongues], dtype=object)[language], len(chosen)),
    }
    outputs = pd.DataFrame(columns | _tokens(draw, chosen, tongues, language, count))
    truth: dict[str, Any] = {
        "n_items": int(n_items),
        "languages": [asdict(one) for one in tongues],
        "labels": list(labels),
        "label_shares": list(shares),
        "language_shift": float(language_shift),
        "item_signature": float(item_signature),
        "n_raters": int(n_raters),
        **deviations,
        "truth_draws": int(truth_draws),
        "seed": int(seed),
        "floor": {"accuracy": max(shares), "macro_f1": _floor(shares)},
        "systems": [
            asdict(one)
            | {"always": list(one.always)}
            | {"languages": _of_languages(draw, one, tongues, given, shares, item_signature, truth_draws)}
            for one in chosen
        ],
        "raters": [],
        "items": [{"item": name, "signature": settings.FLAGS[at]} for name, at in zip(items, flag, strict=True)],
    }
    ratings = _ratings(draw, truth, chosen, items, count, slopes) if n_raters else None
    return SimulatedOutputs(outputs, ratings, truth)


def _labels(draw: _Draw, language: IntArray, shares: Sequence[float]) -> IntArray:
    """Return the label of each item: in every language each has its share."""
    label = np.empty(len(language), dtype=np.int64)
    for at in np.unique(language):
        here = language == at
        label[here] = draw("label", str(at)).permutation(models.dealt(shares, int(here.sum())))
    return label


def _written(
    draw: _Draw,
    system: SimulatedSystem,
    label: IntArray,
    language: IntArray,
    given: Sequence[FloatArray],
    signature: float,
    flag: IntArray,
) -> tuple[list[str], IntArray]:
    """Return a system's texts and the number of emoji in each."""
    n = len(label)
    if system.always:
        return ["".join(system.always)] * n, np.full(n, len(system.always), dtype=np.int64)
    rng = draw("emoji", system.name)
    count = models.draw_counts(system.length, n, rng)
    is_flag = rng.random((n, settings.MOST_EMOJI)) < signature
    emoji = np.empty(is_flag.shape, dtype=np.int64)
    for at, one in enumerate(given):
        here = language == at
        emoji[here] = models.draw_emoji(_mixed(one, system.signal), label[here], rng)
    texts = [
        "".join(settings.FLAGS[flag[i]] if is_flag[i, t] else settings.EMOJI[emoji[i, t]] for t in range(count[i]))
        for i in range(n)
    ]
    return texts, count


def _mixed(given: FloatArray, signal: float) -> FloatArray:
    return signal * given + (1 - signal) * models.common()


def _tokens(
    draw: _Draw,
    systems: Sequence[SimulatedSystem],
    languages: Sequence[SimulatedLanguage],
    language: IntArray,
    count: IntArray,
) -> dict[str, IntArray]:
    """Return sizes of sources and numbers of tokens, one for each item and system."""
    rng, n = draw("source"), len(language)
    mean, width, rate = (
        np.array([getattr(one, name) for one in languages])[language]
        for name in ("characters", "bytes_per_character", "tokens_per_character")
    )
    drawn = np.exp(np.log(mean) - _LENGTH_SD**2 / 2 + _LENGTH_SD * rng.standard_normal(n))
    characters = np.maximum(np.rint(drawn), 5).astype(np.int64)
    # A character has one byte or three.
    n_bytes = characters + 2 * rng.binomial(characters, (width - 1) / 2)
    words = np.maximum(rng.binomial(characters, 1 / 6), 1)
    density = rate * np.maximum(1 + _DENSITY_SD * rng.standard_normal(n), 0.1)
    prompt, completion, reasoning = (np.empty(count.shape, dtype=np.int64) for _ in range(3))
    for s, one in enumerate(systems):
        rng = draw("tokens", one.name)
        prompt[:, s] = one.template_tokens + models.rounded(np.asarray(one.token_factor * density * characters), rng)
        spread = np.exp(_REASONING_SD * rng.standard_normal(n) - _REASONING_SD**2 / 2)
        reasoning[:, s] = models.rounded(np.asarray(one.reasoning_tokens * spread), rng)
        completion[:, s] = models.rounded(np.asarray(one.tokens_per_emoji * count[:, s]), rng) + reasoning[:, s]
    source = {"source_chars": characters, "source_bytes": n_bytes, "source_words": words}
    return {name: np.repeat(values, len(systems)) for name, values in source.items()} | {
        "prompt_tokens": prompt.ravel(),
        "completion_tokens": completion.ravel(),
        "reasoning_tokens": reasoning.ravel(),
    }


def _of_languages(
    draw: _Draw,
    system: SimulatedSystem,
    languages: Sequence[SimulatedLanguage],
    given: Sequence[FloatArray],
    shares: Sequence[float],
    signature: float,
    n: int,
) -> list[dict[str, Any]]:
    """Return the truth about a system in each language."""
    found = []
    for at, one in enumerate(languages):
        rate = system.token_factor * one.tokens_per_character
        about: dict[str, Any] = {"language": one.name, "tokens_per_character": rate}
        if system.always and n:
            floor = {"accuracy": max(shares), "accuracy_error": 0.0, "macro_f1": _floor(shares)}
            about |= floor | {"macro_f1_balanced": None, "transfer": {}}
        elif n:
            best = {}
            for other, read_as in enumerate(given):
                best[other] = models.decodable(
                    _mixed(given[at], system.signal),
                    _mixed(read_as, system.signal),
                    shares,
                    length=system.length,
                    signature=signature,
                    n=n,
                    rng=draw("truth", system.name, one.name),
                )
            about |= best[at]._asdict()
            about["transfer"] = {languages[other].name: known.accuracy for other, known in best.items() if other != at}
        found.append(about)
    return found


def _floor(shares: Sequence[float]) -> float:
    """Return the macro-F1 of always saying the most frequent label: that class alone has an F1, 2 π / (1 + π)."""
    return 2 * max(shares) / (1 + max(shares)) / len(shares)


def _ratings(
    draw: _Draw,
    truth: dict[str, Any],
    systems: Sequence[SimulatedSystem],
    items: Sequence[str],
    count: IntArray,
    slopes: FloatArray,
) -> pd.DataFrame:
    """Return the ratings, and write into the truth what is true of raters, items and systems."""
    n_raters = len(slopes)
    raters = names_of("R", n_raters)
    effect = truth["item_sd"] * draw("item effect").standard_normal(len(items))
    severity = truth["severity_sd"] * draw("severity").standard_normal(n_raters)
    own = np.stack(
        [truth["system_rater_sd"] * draw("system:rater", one.name).standard_normal(n_raters) for one in systems]
    )
    quality = np.array([one.quality for one in systems])
    opinion = (
        _MIDDLE + (effect[:, None] + quality)[:, :, None] + severity + own + slopes * (count[:, :, None] - _MIDDLE)
    )
    rating = np.stack(
        [models.rate(opinion[:, s], truth["noise_sd"], draw("rating", one.name)) for s, one in enumerate(systems)],
        axis=1,
    )
    expected = models.expected_rating(opinion, truth["noise_sd"])
    for r, name in enumerate(raters):
        slope = models.slope_within(count.astype(float), expected[:, :, r])
        truth["raters"].append(
            {
                "rater": name,
                "severity": float(severity[r]),
                "length_slope": float(slopes[r]),
                "expected_slope": None if np.isnan(slope) else slope,
                "system_effects": {one.name: float(own[s, r]) for s, one in enumerate(systems)},
            }
        )
    for about, value in zip(truth["items"], effect, strict=True):
        about["effect"] = float(value)
    for s, about in enumerate(truth["systems"]):
        about["mean_rating"] = float(expected[:, s].mean())
    n_systems = len(systems)
    return pd.DataFrame(
        {
            "item": np.repeat(np.array(items, dtype=object), n_systems * n_raters),
            "system": np.tile(np.repeat(np.array([one.name for one in systems], dtype=object), n_raters), len(items)),
            "rater": np.tile(np.array(raters, dtype=object), len(items) * n_systems),
            "rating": rating.ravel(),
        }
    )
