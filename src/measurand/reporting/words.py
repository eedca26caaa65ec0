"""How things are called and shown on a page: readable names, verdict marks, names from data made safe to show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from measurand.result import Key, show_number
from measurand.result.words import clean, shorten

STATISTIC: Final[dict[str, str]] = {
    "observed_agreement": "Observed agreement (share of equal pairs)",
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "alpha_ratio": "Krippendorff's alpha, ratio",
    "icc_1_1": "ICC(1,1): one rating, raters differ from cell to cell",
    "icc_2_1": "ICC(2,1): one rating, absolute agreement",
    "icc_3_1": "ICC(3,1): one rating, consistency",
    "icc_1_k": "ICC(1,k): mean of the panel, raters differ from cell to cell",
    "icc_2_k": "ICC(2,k): mean of the panel, absolute agreement",
    "icc_3_k": "ICC(3,k): mean of the panel, consistency",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kappa_quadratic": "Kappa, quadratic weights",
    "kappa_linear": "Kappa, linear weights",
    "kappa_unweighted": "Kappa, unweighted",
    "mean_absolute_error": "Mean absolute error",
    "average_precision": "Average precision",
    "auroc": "AUROC",
    "kendall_tau_b": "Kendall's tau-b of system means",
}
#: What varies, in words, for components and for sources of the analysis of variance.
SOURCE: Final[dict[str, str]] = {
    "item": "item: some items are rated higher than others",
    "system": "system: some systems are rated higher than others",
    "rater": "rater: some raters are more lenient than others",
    "item:system": "item:system: systems do better on some items than on others",
    "item:rater": "item:rater: raters differ about which items are good",
    "system:rater": "system:rater: raters differ about which systems are good",
    "residual": "residual: what is left, error included",
}
#: Tests of the systems, by error term and model: what counts as a sample.
TEST: Final[dict[tuple[str, str], str]] = {
    ("residual", ""): "residual (nothing counts as a sample)",
    ("system:rater", ""): "system:rater (raters are a sample)",
    ("item:system", ""): "item:system (items are a sample)",
    ("quasi_f", ""): "quasi-F (raters and items are samples)",
    ("mixed_model", "judgement"): "mixed model of judgements (each judgement is new evidence)",
    ("mixed_model", "judgement+system:rater"): "mixed model of judgements with system:rater (raters are a sample)",
    ("mixed_model", "full"): "full mixed model (raters and items are samples)",
}
ESTIMATOR: Final[dict[str, str]] = {
    "anova": "unbiased (anova)",
    "henderson": "unbiased (Henderson)",
    "plugin": "plug-in (observed spread)",
    "reml": "REML",
}
#: The estimators without bias, of complete and of incomplete panels, and where they come from.
UNBIASED: Final[dict[str, str]] = {
    "anova": "from mean squares of the complete crossing",
    "henderson": "by Henderson's method, which needs no complete crossing",
}
#: What is drawn anew in a comparison of systems; the view that speaks about systems in general comes first.
FACETS: Final[dict[str, str]] = {
    "item+rater": "items and raters random",
    "item": "items random, these raters",
    "rater": "raters random, these items",
}
#: Units of length as heads of columns.
UNIT_OF_LENGTH: Final[dict[str, str]] = {
    "emoji": "Emoji",
    "emoji_or_text": "Emoji with those shown as text",
    "non_ascii_grapheme": "Graphemes beyond ASCII",
    "non_ascii_character": "Code points beyond ASCII",
    "grapheme": "Graphemes",
    "word": "Words",
    "character": "Code points",
    "byte": "Bytes",
    "length": "Length as given",
}


def distinct(names: Iterable[object], most: int, limit: int) -> int:
    """Return to how many characters names can be shortened and still differ: at least `most`, at most `limit`.

    Examples
    --------
    >>> distinct(["vendor/model-01-instruct", "vendor/model-02-instruct"], 16, 40)
    24
    """
    whole = {clean(name) for name in names}
    longest = max(map(len, whole), default=0)
    for size in range(most, min(limit, longest) + 1):
        if len({shorten(name, size) for name in whole}) == len(whole):
            return size
    return max(most, min(limit, longest))


def show_count(value: float | None) -> str:
    """Return a number of raters or items; infinity means that no number suffices."""
    return "no number" if value == float("inf") else show_number(value)


def key_text(analysis: str, keys: dict[str, Key], statistic: str) -> str:
    """Return where a number is, in one line."""
    where = ", ".join(f"{key} {'∞' if value == float('inf') else shorten(value, 40)}" for key, value in keys.items())
    return f"{analysis} / {statistic}" + (f" ({where})" if where else "")


def joined(parts: list[str]) -> str:
    """Return parts as people list them.

    Examples
    --------
    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def begin(text: str) -> str:
    """Return text with a capital as its first letter.

    Examples
    --------
    >>> begin("items random, these raters")
    'Items random, these raters'
    """
    return text[:1].upper() + text[1:]


def unit_of_length(unit: Key) -> str:
    """Return a unit of length as a sentence has it.

    Examples
    --------
    >>> unit_of_length("non_ascii_grapheme")
    'graphemes beyond ASCII'
    """
    words = UNIT_OF_LENGTH.get(str(unit), clean(unit).replace("_", " "))
    return f"{words[:1].lower()}{words[1:]}"
