"""What do outputs cost, for each unit of what went in and came out, and does the answer depend on the unit?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.data.outputs import Outputs, as_outputs
from measurand.probing.bounds import within
from measurand.probing.cost_quality import cost_against_quality
from measurand.probing.cost_table import SOURCE, TOKENS, CostTable, Per, Tokens, cost_table
from measurand.result import Key, MeasurandError, Result, Row
from measurand.sentences import joined
from measurand.stats.inference import FloatArray
from measurand.stats.linearised import Linearised, interval, line, mean_of, quotient, ratio_of_sums

#: Names of the language that others are held against where none is named.
ENGLISH: Final = ("en", "eng", "english")
#: Units of the source, by which the sign of a comparison of languages may change.
UNITS: Final[tuple[Per, ...]] = tuple(SOURCE)
_PER: Final[dict[Tokens, tuple[Per, ...]]] = {
    "prompt_tokens": (*UNITS, "output"),
    "completion_tokens": (*UNITS, "output", "emitted_unit"),
    "reasoning_tokens": ("output", "emitted_unit"),
    "visible_tokens": ("output", "emitted_unit"),
    "total_tokens": ("output", "emitted_unit"),
}
_RATIO: Final = "ratio of sums, linearised"
_LINE: Final = "least squares, clustered"
_PARITY: Final = "ratio of two rates, linearised on the logarithm"
_WORDS: Final = "words of scripts without spaces, or of other morphology, are no common unit"
#: Replicates below which the intervals of lines are too narrow; those of ratios held with ten.
_SCARCE: Final = 50
_FEW: Final = "few items: in simulation 95 % intervals of such lines held 90 to 93 % of the time"
#: Width of an interval, as a share of the estimate, up to which it is rounding.
_DUST: Final = 1e-12


@dataclass(frozen=True)
class _Made:
    """An estimate on its way to a row."""

    estimate: Linearised
    n_items: int
    method: str
    note: str = ""


#: Statistic, per, net of template.
_Name = tuple[str, str, str]


def cost(
    outputs: Outputs | Any,
    *,
    base_language: str | None = None,
    unit: str = "emoji",
    quality: Mapping[str, Mapping[str, float]] | None = None,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Result:
    """Return tokens per byte, character, grapheme and word of source, per output and per emitted unit.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        With `prompt_tokens`, `completion_tokens` or both; sizes of sources come from `source_text`, and where that is
        blank or absent from `source_bytes`, `source_chars`, `source_graphemes`, `source_words`. See
        `measurand.read_outputs`.
    base_language : str or None
        The language that others are held against. None takes the first that is called en, eng or English, and else
        the one with most outputs; the settings say which.
    unit : str
        What an emitted unit is: emoji, emoji_or_text, non_ascii_grapheme, non_ascii_character, grapheme, word,
        character, byte, or length (the table's column). Without texts it is the table's length.
    quality : mapping or None
        Names of measures of quality, such as macro-F1 or mean rating, to system to value; see `cost_against_quality`.
    confidence : float
        Level of the intervals.
    replicates : int
        Random orders of the systems for permutation tests of more than eight systems.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `cost`, for each system and language and for all together (blank):

        - `prompt_tokens`, `completion_tokens`, `reasoning_tokens`, `visible_tokens` (completion less reasoning) and
          `total_tokens` (prompt and completion), `per` unit as the ratio of sums, `net_of_template` no;
        - `template_tokens` and, net of template, `prompt_tokens` per character and per byte: intercept and slope of
          the least-squares line of prompt tokens on the size of the source, within a language; `template_share` of the
          prompt tokens; `r_squared` of the line. For all systems together the mean over systems;
        - `bytes_per_character` of the sources whose prompt tokens are known, so that tokens per character are tokens
          per byte times it exactly; `emitted_units` per output; `reasoning_share` of the completion tokens;
        - each rate of prompt and completion tokens over the base language's: `prompt_tokens_parity`,
          `completion_tokens_parity`, `bytes_per_character_parity`, with `against` the base language. Above 1 it is the
          dearer one;
        - `…_spearman` with quality over systems.

    Raises
    ------
    MeasurandError
        If the base language is not there, a unit is unknown, or a quality is of no system of the table.

    Notes
    -----
    Intervals sum influences within items (within `group`, or `parallel`, where the table has it): outputs to one item
    share its text.

    References
    ----------
    Sakhawat 2026, arXiv 2609.29445, section 8. Petrov et al. (2023), Language Model Tokenizers Introduce Unfairness
    Between Languages, arXiv 2305.15425 (parity).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("abcd"), "text": "x", "language": ["en", "en", "bn", "bn"],
    ...                       "source_text": ["abcd", "ab", "কখ", "কখগ"], "prompt_tokens": [6, 4, 6, 8]})
    >>> found = cost(table, unit="character")
    >>> keys = {"system": "", "language": "bn", "net_of_template": "no"}
    >>> [round(found.value("cost", "prompt_tokens_parity", keys | {"per": per}), 3) for per in ("byte", "character")]
    [0.56, 1.68]
    """
    table = cost_table(as_outputs(outputs), unit)
    base, chosen_as = _base(table, base_language)
    rows = _absent(table)
    # All of one language together are that language, unless some items have none.
    is_one = len(table.languages) == 1 and bool((table.language >= 0).all())
    languages = [*([] if is_one else [""]), *table.languages]
    lines: dict[tuple[str, str, Per], _Lined] = {}
    for system in [*table.systems, ""]:  # all together last: its template is the mean of the systems'
        of: dict[str, dict[_Name, _Made]] = {}
        for language in languages:
            of[language] = _rates(table, system, language)
            if language or not table.languages:
                of[language] |= _template(table, system, language, lines)
            rows += _rows(of[language], {"system": system, "language": language}, table, confidence)
        if len(table.languages) > 1:
            for language in [one for one in table.languages if one != base]:
                keys: dict[str, Key] = {"system": system, "language": language, "against": base}
                rows += _parities(of[language], of[base], keys, table, confidence)
    settings = {
        "base_language": base,
        "base_language_chosen": chosen_as,
        "unit": unit,
        "replicate": table.cluster_unit,
        "confidence": confidence,
        "replicates": replicates,
        "seed": seed,
        "sizes_from": dict(table.read_from),
        "sizes_that_differ": dict(table.n_differ),
        "without_language": int((table.language < 0).sum()) if table.languages else 0,
        "without_units": int((table.sizes["emitted_unit"] == 0).sum()),
    }
    result = Result(rows, {"cost": settings})
    for name, values in (quality or {}).items():
        more = cost_against_quality(result, values, name=name, confidence=confidence, replicates=replicates, seed=seed)
        result = Result([*result.rows, *more.rows], {"cost": settings})
    return result


def _base(table: CostTable, asked: str | None) -> tuple[str, str]:
    """Return the language that others are held against, and how it was chosen."""
    if asked is not None:
        if asked not in table.languages:
            there = f"the table has {', '.join(table.languages[:12])}" if table.languages else "the table names none"
            raise MeasurandError(f"base_language is {asked!r}, and {there}; name one of them")
        return asked, "named"
    if len(table.languages) < 2:
        return "", "one language: nothing to compare"
    for language in table.languages:
        if language.casefold().replace("_", "-").split("-")[0] in ENGLISH:
            return language, "English where there is one"
    counts = np.bincount(table.language[table.language >= 0], minlength=len(table.languages))
    return table.languages[int(counts.argmax())], "most outputs"


def _absent(table: CostTable) -> list[Row]:
    """Return rows for what the table does not tell at all."""
    reasons: dict[tuple[str, str], str] = {}
    if not table.tokens:
        reasons["prompt_tokens", ""] = "the table has no prompt_tokens and no completion_tokens"
    elif "prompt_tokens" not in table.tokens:
        reasons["prompt_tokens", ""] = "the table has no prompt_tokens"
    elif "completion_tokens" not in table.tokens:
        reasons["completion_tokens", ""] = "the table has no completion_tokens"
    if "reasoning_tokens" not in table.tokens and "completion_tokens" in table.tokens:
        reasons["reasoning_tokens", ""] = "the table has no reasoning_tokens"
    for per, column in SOURCE.items():
        if per not in table.sizes and table.tokens:
            reasons["prompt_tokens", per] = f"the table has no source_text and no {column}"
    return [
        Row("cost", {"per": per, "net_of_template": "no"}, statistic, np.nan, undefined=reason)
        for (statistic, per), reason in reasons.items()
    ]


def _rates(table: CostTable, system: str, language: str) -> dict[_Name, _Made]:
    """Return the ratios of sums of one system and language."""
    here = table.rows(system, language)
    out: dict[_Name, _Made] = {}
    for name in TOKENS:
        if name not in table.tokens:
            continue
        for per in _PER[name]:
            if per in table.sizes:
                made = _ratio(table, here, table.tokens[name], table.sizes[per], f"{name} and size ({per})")
                out[name, per, "no"] = _unequal(made, table, name, system)
    if "character" in table.sizes and "byte" in table.sizes:
        known = here & ~np.isnan(table.tokens["prompt_tokens"]) if "prompt_tokens" in table.tokens else here
        out["bytes_per_character", "", ""] = _ratio(
            table, known, table.sizes["byte"], table.sizes["character"], "source_bytes and source_chars", counted=False
        )
    emitted = table.sizes["emitted_unit"]
    out["emitted_units", "output", ""] = _ratio(table, here, emitted, table.sizes["output"], "a length")
    if "reasoning_tokens" in table.tokens and "completion_tokens" in table.tokens:
        made = _ratio(
            table,
            here & ~np.isnan(table.tokens.get("visible_tokens", emitted)),
            table.tokens["reasoning_tokens"],
            table.tokens["completion_tokens"],
            "reasoning_tokens and completion_tokens",
        )
        out["reasoning_share", "", ""] = _unequal(made, table, "visible_tokens", system)
    return out


def _ratio(
    table: CostTable,
    here: npt.NDArray[np.bool_],
    above: FloatArray,
    below: FloatArray,
    needs: str,
    *,
    counted: bool = True,
) -> _Made:
    known = here & ~np.isnan(above) & ~np.isnan(below)
    n, n_left_out = int(known.sum()), int(here.sum()) - int(known.sum())
    found = ratio_of_sums(above[known], below[known], table.cluster[known])
    if found.undefined:
        reason = f"no output has {needs}" if n == 0 else "the units number 0: nothing to divide by"
        found = found._replace(undefined=reason)
    outputs = "output" if n_left_out == 1 else "outputs"
    note = f"{n_left_out} {outputs} without {needs} left out" if n_left_out and n and counted else ""
    return _Made(found, len(np.unique(table.item[known])), _RATIO, note)


def _unequal(made: _Made, table: CostTable, name: str, system: str) -> _Made:
    """Say where reasoning tokens are no part of completion tokens, so that what is visible is not known."""
    if name != "visible_tokens" or not table.not_part or (system and system not in table.not_part):
        return made
    odd = {one: n for one, n in table.not_part.items() if one == system or not system}
    n = sum(odd.values())
    outputs = "output" if n == 1 else "outputs"
    reason = f"reasoning_tokens exceed completion_tokens in {n} {outputs}: they are booked beside them, not within"
    if made.estimate.undefined:
        return _Made(made.estimate._replace(undefined=reason), made.n_items, made.method)
    left = f"left out {', '.join(map(repr, odd))}: {reason}"
    return _Made(made.estimate, made.n_items, made.method, left)


@dataclass(frozen=True)
class _Lined:
    template: Linearised
    slope: Linearised
    share: Linearised
    r_squared: float
    n_items: int
    note: str = ""


def _template(
    table: CostTable, system: str, language: str, lines: dict[tuple[str, str, Per], _Lined]
) -> dict[_Name, _Made]:
    """Return intercept, slope and share of the template in one language."""
    if "prompt_tokens" not in table.tokens:
        return {}
    out: dict[_Name, _Made] = {}
    sizes: tuple[Per, ...] = ("character", "byte")
    for per in sizes:
        if per not in table.sizes:
            continue
        if system or not table.systems:
            lined = _line(table, table.rows(system, language), per)
        else:
            lined = _mean_line([lines[one, language, per] for one in table.systems])
        lines[system, language, per] = lined
        made = {
            "template_tokens": lined.template,
            "template_share": lined.share,
        }
        for name, estimate in made.items():
            out[name, per, ""] = _Made(estimate, lined.n_items, _LINE, lined.note)
        out["prompt_tokens", per, "yes"] = _Made(lined.slope, lined.n_items, _LINE, lined.note)
        empty = np.empty(0)
        undefined = lined.slope.undefined or ("the prompt tokens do not vary" if np.isnan(lined.r_squared) else "")
        bare = Linearised(lined.r_squared, empty.astype(np.int64), empty, np.nan, undefined)
        out["r_squared", per, ""] = _Made(bare, lined.n_items, "", joined("descriptive: no interval", lined.note))
    return out


def _line(table: CostTable, here: npt.NDArray[np.bool_], per: Per) -> _Lined:
    y, x = table.tokens["prompt_tokens"], table.sizes[per]
    known = here & ~np.isnan(y) & ~np.isnan(x)
    cluster = table.cluster[known]
    n_items = len(np.unique(table.item[known]))
    intercept, slope, r_squared = line(x[known], y[known], cluster)
    if intercept.undefined:
        return _Lined(intercept, slope, slope, np.nan, n_items)
    mean = ratio_of_sums(y[known], np.ones(int(known.sum())), cluster)
    share = quotient(intercept, mean) if mean.value > 0 else slope._replace(value=np.nan, undefined="no prompt tokens")
    return _Lined(intercept, slope, share, r_squared, n_items)


def _mean_line(lined: list[_Lined]) -> _Lined:
    """Return the mean of systems' lines: with templates of their own they lie on no common one."""
    usable = [one for one in lined if not (one.slope.undefined or one.share.undefined)]
    if not usable:
        return lined[0]
    share = "" if len(usable) == len(lined) else f" of {len(lined)}"
    note = f"mean over {len(usable)}{share} systems" if len(lined) > 1 else ""
    return _Lined(
        mean_of([one.template for one in usable]),
        mean_of([one.slope for one in usable]),
        mean_of([one.share for one in usable]),
        float(np.mean([one.r_squared for one in usable])),
        max(one.n_items for one in usable),
        note,
    )


def _rows(of: Mapping[_Name, _Made], keys: Mapping[str, Key], table: CostTable, confidence: float) -> Iterator[Row]:
    """Yield the rows of estimates."""
    for (statistic, per, net), made in of.items():
        yield _row(statistic, {**keys, "per": per, "net_of_template": net}, made, table, confidence, is_ratio=False)


def _parities(
    of: Mapping[_Name, _Made], base: Mapping[_Name, _Made], keys: Mapping[str, Key], table: CostTable, confidence: float
) -> Iterator[Row]:
    """Yield a language's rates over those of the base language."""
    for (statistic, per, net), made in of.items():
        other = base.get((statistic, per, net))
        if other is None or statistic not in ("prompt_tokens", "completion_tokens", "bytes_per_character"):
            continue
        named = {**keys, "per": per, "net_of_template": net}
        if reason := _no_ratio(made, other, str(keys["language"]), str(keys["against"])):
            yield Row("cost", named, f"{statistic}_parity", np.nan, undefined=reason)
            continue
        note = joined(made.note, _WORDS if per == "word" else "", _unsure(made, other, confidence))
        both = _Made(quotient(made.estimate, other.estimate), made.n_items + other.n_items, _PARITY, note)
        yield _row(f"{statistic}_parity", named, both, table, confidence, is_ratio=True)


def _no_ratio(made: _Made, other: _Made, language: str, base: str) -> str:
    """Return why two rates have no ratio, blank where they have one."""
    for one, name in ((made, language), (other, base)):
        if one.estimate.undefined:
            return f"{name}: {one.estimate.undefined}"
        if one.estimate.value <= 0:
            return f"{name}: the rate is {one.estimate.value:.3g}, and only positive ones have a ratio"
    return ""


def _unsure(made: _Made, other: _Made, confidence: float) -> str:
    """Say where a rate of the ratio is not apart from 0, which makes the ratio's interval a guess."""
    ends = [interval(one.estimate, confidence=confidence).low for one in (made, other)]
    return "a rate's interval includes 0: the ratio's interval is a guess" if min(ends) <= 0 else ""


def _row(
    statistic: str, keys: Mapping[str, Key], made: _Made, table: CostTable, confidence: float, *, is_ratio: bool
) -> Row:
    estimate = made.estimate
    if np.isnan(estimate.value):
        return Row("cost", keys, statistic, np.nan, undefined=estimate.undefined, note=made.note)
    if not made.method:
        return Row("cost", keys, statistic, estimate.value, n_items=made.n_items, note=made.note)
    low, high, _ = interval(estimate, confidence=confidence, is_ratio=is_ratio)
    if np.isnan(low):
        note = joined(made.note, f"too few {table.cluster_unit}s for an interval")
        return Row("cost", keys, statistic, estimate.value, n_items=made.n_items, note=note)
    same = ""
    if high - low <= _DUST * abs(estimate.value):
        low = high = estimate.value
        same = "no output is off the line" if made.method == _LINE else "the same in every output"
    row = Row(
        "cost",
        keys,
        statistic,
        estimate.value,
        low,
        high,
        confidence,
        made.method,
        table.cluster_unit,
        made.n_items,
        note=joined(
            made.note, same, _FEW if made.method == _LINE and len(estimate.cluster) < _SCARCE and low < high else ""
        ),
    )
    # An intercept or a slope may come out negative; a ratio of sums of what is counted cannot.
    return within(row, 0.0, 1.0 if statistic == "reasoning_share" else np.inf) if made.method == _RATIO else row
