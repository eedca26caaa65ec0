"""Emoji, languages, labels and systems of simulated outputs, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from measurand.result import MeasurandError
from measurand.simulate.benchmark_settings import names_of

#: Labels, and the emoji that are typical of each from the most frequent on. The first five are the default.
TYPICAL: Final[dict[str, tuple[str, ...]]] = {
    "anger": ("😠", "😡", "🤬", "👿", "💢", "👎"),
    "fear": ("😨", "😱", "😰", "👻", "😬", "🙈"),
    "joy": ("😂", "😄", "🎉", "😊", "🥳", "👏"),
    "love": ("😍", "🥰", "💕", "😘", "💖", "🌹"),
    "sadness": ("😢", "😭", "😞", "💔", "🥺", "🌧"),
    "surprise": ("😮", "😲", "🤯", "👀", "🙀", "💥"),
    "disgust": ("🤢", "🤮", "😖", "🦠", "🗑", "💩"),
    "neutral": ("😐", "🤔", "📰", "📌", "🕐", "💬"),
}
#: Emoji that are typical of nothing.
_OTHER: Final = ("✨", "🔥", "🙏", "💯", "🌟", "👍", "🙌", "💪", "🌈", "🎶", "📚", "🏠")
#: How often the typical emoji of a label stand for it, in their order.
TYPICAL_SHARES: Final = (0.3, 0.22, 0.16, 0.14, 0.1, 0.08)
#: Shares of five labels, of which the largest is the second paper's.
FIVE_SHARES: Final = (0.278, 0.24, 0.2, 0.16, 0.122)
#: What the system that never changes writes.
ALWAYS: Final = ("😂", "🙏", "✨")
FEWEST_EMOJI: Final = 1
MOST_EMOJI: Final = 5

# A pictograph that is shown as text by default takes U+FE0F, so that it is an emoji under every policy.
_AS_EMOJI: Final = {"🌧": "🌧️", "🗑": "🗑️"}
TYPICAL_EMOJI: Final = {label: tuple(_AS_EMOJI.get(one, one) for one in own) for label, own in TYPICAL.items()}
EMOJI: Final[tuple[str, ...]] = (*(one for own in TYPICAL_EMOJI.values() for one in own), *_OTHER)
#: Pairs of regional indicators: each is one emoji, and none of them is among `EMOJI`.
FLAGS: Final = tuple(chr(0x1F1E6 + a) + chr(0x1F1E6 + b) for a in range(26) for b in range(26))


@dataclass(frozen=True)
class SimulatedLanguage:
    """A language of the sources.

    Parameters
    ----------
    name : str
        Its name.
    characters : float
        Mean length of a source in characters, 10 or more.
    bytes_per_character : float
        UTF-8 bytes for each character, 1 to 3.
    tokens_per_character : float
        Prompt tokens for each character of source, before the system's own factor.
    """

    name: str
    characters: float
    bytes_per_character: float
    tokens_per_character: float


@dataclass(frozen=True)
class SimulatedSystem:
    """A system whose outputs are simulated.

    Parameters
    ----------
    name : str
        Its name.
    signal : float
        Probability that an emoji, if it is no signature, is drawn from the label's own distribution and not from the
        common one, 0 to 1.
    length : float
        Mean number of emoji, 1 to 5.
    quality : float
        What raters think of it apart from length, in scale units.
    template_tokens : int
        Prompt tokens that every item costs.
    token_factor : float
        What the language's tokens for each character are multiplied with: the system's tokenizer.
    tokens_per_emoji : float
        Completion tokens for each emoji.
    reasoning_tokens : float
        Mean reasoning tokens for each output; they are part of its completion tokens.
    always : tuple of str
        The emoji of every output, if it never changes; then signal and length are of no account.
    """

    name: str
    signal: float = 0.3
    length: float = 2.4
    quality: float = 0.0
    template_tokens: int = 45
    token_factor: float = 1.0
    tokens_per_emoji: float = 2.0
    reasoning_tokens: float = 0.0
    always: tuple[str, ...] = ()


#: Prompt tokens for each byte are fewer in Bangla than in English, for each character they are more.
LANGUAGES: Final[dict[str, SimulatedLanguage]] = {
    one.name: one
    for one in (
        SimulatedLanguage("English", 80.0, 1.0, 0.25),
        SimulatedLanguage("Bangla", 60.0, 2.64, 0.55),
        SimulatedLanguage("Hindi", 70.0, 2.55, 0.66),
    )
}


def default_systems(n: int) -> list[SimulatedSystem]:
    """Return n systems: all but the last two are ordinary, then one that writes more and one that never changes.

    Parameters
    ----------
    n : int
        At least 3.

    Returns
    -------
    list of SimulatedSystem
        ``S1``, ``S2``, … with signal from .6 down to .15 and an order of quality that is not the order of signal; the
        last of them spends reasoning tokens. ``S-long`` is middling but for its length, 4.2 emoji against 2.4, and
        ``S-same`` has the highest quality and always the same three emoji.
    """
    ordinary = n - 2
    systems = []
    for s in range(ordinary):
        share = s / max(ordinary - 1, 1)
        # Every other system from the top down, then the ones between: quality does not follow signal.
        place = (s * 2) % ordinary if ordinary % 2 else (s * 2) % ordinary + (s * 2) // ordinary
        systems.append(
            SimulatedSystem(
                names_of("S", ordinary)[s],
                signal=0.6 - 0.45 * share,
                quality=0.25 - 0.5 * place / max(ordinary - 1, 1),
                template_tokens=40 + 4 * s,
                token_factor=1.0 + 0.3 * share,
                tokens_per_emoji=1.6 + 1.2 * share,
                reasoning_tokens=290.0 if s == ordinary - 1 and ordinary > 1 else 0.0,
            )
        )
    return [
        *systems,
        SimulatedSystem("S-long", length=4.2),
        SimulatedSystem("S-same", signal=0.0, length=3.0, quality=0.5, always=ALWAYS),
    ]


def languages_of(languages: Sequence[str | SimulatedLanguage]) -> list[SimulatedLanguage]:
    """Return the languages asked for, the named ones looked up."""
    if isinstance(languages, str) or not languages:
        raise MeasurandError(f"languages is {languages!r}; give a sequence of at least one")
    found = []
    for one in languages:
        if isinstance(one, str):
            if one not in LANGUAGES:
                raise MeasurandError(f"language {one!r}; known are {', '.join(LANGUAGES)}. Give a SimulatedLanguage")
            one = LANGUAGES[one]
        _within(f"characters of {one.name}", one.characters, 10, math.inf)
        _within(f"bytes_per_character of {one.name}", one.bytes_per_character, 1, 3)
        _within(f"tokens_per_character of {one.name}", one.tokens_per_character, 0, math.inf)
        found.append(one)
    _distinct("languages", [one.name for one in found])
    return found


def shares_of(labels: Sequence[str], shares: Sequence[float] | None) -> tuple[float, ...]:
    """Return the share of each label, checked: they sum to 1."""
    if isinstance(labels, str) or not 2 <= len(labels) <= len(TYPICAL):
        raise MeasurandError(f"labels is {labels!r}; give 2 to {len(TYPICAL)} of them")
    _distinct("labels", labels)
    if shares is None:
        return FIVE_SHARES if len(labels) == len(FIVE_SHARES) else (1 / len(labels),) * len(labels)
    if len(shares) != len(labels) or not all(0 < one < 1 for one in shares) or abs(sum(shares) - 1) > 1e-6:
        raise MeasurandError(f"label_shares is {shares!r}; give one share for each of the {len(labels)} labels, sum 1")
    return tuple(float(one) for one in shares)


def check_systems(systems: Sequence[SimulatedSystem]) -> None:
    """Refuse systems whose numbers are out of their range."""
    if not systems:
        raise MeasurandError("systems is empty; give at least one")
    _distinct("systems", [one.name for one in systems])
    for one in systems:
        _within(f"signal of {one.name}", one.signal, 0, 1)
        _within(f"length of {one.name}", one.length, FEWEST_EMOJI, MOST_EMOJI)
        _within(f"quality of {one.name}", one.quality, -math.inf, math.inf)
        for name in ("template_tokens", "token_factor", "tokens_per_emoji", "reasoning_tokens"):
            _within(f"{name} of {one.name}", getattr(one, name), 0, math.inf)


def check_sizes(
    n_items: int, n_languages: int, n_systems: int, n_raters: int, truth_draws: int, seed: int, n_slopes: int | None
) -> None:
    """Refuse sizes that make no table."""
    if n_items < 10 * n_languages:
        raise MeasurandError(f"n_items is {n_items}; give at least 10 for each of the {n_languages} languages")
    if n_systems < 3:
        raise MeasurandError(f"n_systems is {n_systems}; give at least 3, or your own `systems`")
    if n_raters < 0 or (n_slopes is not None and n_slopes != n_raters):
        asked = f"{n_slopes} length_slopes for {n_raters} raters; give one for each"
        raise MeasurandError(f"n_raters is {n_raters}; give 0 for none, or more" if n_raters < 0 else asked)
    if truth_draws and truth_draws < 1000:
        raise MeasurandError(f"truth_draws is {truth_draws}; give 0 for none, or at least 1,000")
    if seed < 0:
        raise MeasurandError(f"seed is {seed}; give 0 or above")


def check_shares(**shares: float) -> None:
    """Refuse shares outside 0 to 1."""
    for name, value in shares.items():
        _within(name, value, 0, 1)


def check_deviations(**deviations: float) -> None:
    """Refuse negative and infinite standard deviations."""
    for name, value in deviations.items():
        _within(name, value, 0, math.inf)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not (low <= value <= high and math.isfinite(value)):
        allowed = f"{low:g} to {high:g}" if math.isfinite(high) else f"a finite number of {low:g} or more"
        raise MeasurandError(f"{name} is {value:g}; give {allowed}")


def _distinct(name: str, values: Sequence[str]) -> None:
    if again := [one for at, one in enumerate(values) if one in values[:at]]:
        raise MeasurandError(f"{name}: {again[0]!r} is there twice; give different ones")
