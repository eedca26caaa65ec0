"""How things are called and shown on a page: readable names, verdict marks, names from data made safe to show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from measurand.result import Key, Row, Verdict, show_number

#: Verdicts from worst to least worrying: the order of every list of findings.
VERDICTS: Final[tuple[Verdict, ...]] = ("fail", "warn", "undetermined", "pass", "not_applicable")
MARK: Final[dict[Verdict, str]] = {"fail": "✗", "warn": "!", "undetermined": "?", "pass": "✓", "not_applicable": "–"}
WORD: Final[dict[Verdict, str]] = {
    "fail": "fail",
    "warn": "warn",
    "undetermined": "undetermined",
    "pass": "pass",
    "not_applicable": "n/a",
}

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
#: Findings as the headings of a matrix.
FINDING: Final[dict[str, str]] = {
    "systems-differ": "systems differ",
    "ranking-reliable": "ranking reliable",
    "winner-stable": "winner stable",
    "more-raters": "more raters",
    "more-items": "more items",
    "agreement": "agreement",
    "correlation-not-agreement": "correlation ≠ agreement",
    "panel-size": "panel size",
    "copied-ratings": "copied ratings",
    "informative-missingness": "informative missingness",
    "straight-lining": "straight-lining",
    "severity-drift": "severity drift",
    "forced-choice-order": "order",
    "forced-choice-readout": "readout",
    "forced-choice-ties": "ties",
    "forced-choice-chance": "chance",
    "forced-choice-coverage": "coverage",
    "requests-answered": "requests answered",
    "engine-tested": "engines tested",
    "read-position": "read position",
    "bounds": "bounds",
    "first-reply": "first replies",
    "criteria-asked": "criteria asked",
    "acquiescence": "acquiescence",
    "length-outputs": "outputs match",
    "length-explains-order": "length and order",
    "length-slope": "length slope",
    "length-raters-differ": "raters and length",
    "length-matched-order": "order at equal length",
    "length-overlap": "overlap of lengths",
    "target-reachable": "target reachable",
    "layout-pays": "layout pays",
    "difference-detectable": "difference detectable",
    "facets-reliable": "facets reliable",
}
ANALYSIS: Final[dict[str, str]] = {
    "design": "Design",
    "raters": "Raters",
    "agreement": "Agreement",
    "agreement_pairs": "Pairs of raters",
    "anova": "Analysis of variance",
    "system_test": "Tests of the systems",
    "components": "Variance components",
    "generalizability": "G and Phi",
    "decision": "Decision study",
    "pairs": "Pairs of systems",
    "ranks": "Ranks with their sets",
    "leave_one_rater_out": "Boards without one rater",
    "leave_one_block_out": "Boards without one block of items",
    "style": "Response style",
    "missingness": "Missing ratings",
    "copies": "Copied ratings",
    "scores": "Scores",
    "baselines": "Baselines",
    "anchors": "Anchors",
    "contrasts": "Contrasts",
    "criteria": "Criteria",
    "coverage": "Coverage",
    "decisions": "Decisions",
    "spread": "Spread of scores",
    "reliability_curve": "Reliability curves",
    "forced_choice": "Forced choice",
    "examples": "Examples",
    "study": "The study",
    "gates": "Gates",
    "elicitation": "Answers and requests",
    "attempts": "Attempts",
    "proofs": "Tests of the engines",
    "acquiescence": "Acquiescence",
    "repeats": "Repeats",
    "length": "Length",
    "outputs": "Outputs",
    "units": "Units of text",
    "decodability": "Decodability",
    "decodability_ratings": "Decodability and ratings",
    "leakage": "Leakage",
    "geometry": "Geometry of vectors",
    "cost": "Cost",
    "plan": "Plan",
    "power": "Power",
}

_BIDI: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: object) -> str:
    r"""Return text from data on one line: white space collapsed, control characters and text-direction marks gone.

    Control characters break SVG and terminals, direction marks would turn the words around a name.

    Examples
    --------
    >>> clean("a\nb\x1b[31m")
    'a b�[31m'
    """
    joined = " ".join(_BIDI.sub("", str(text)).split())
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or ord(c) & 0xFFFE == 0xFFFE else c for c in joined
    )


def shorten(text: object, most: int = 32) -> str:
    """Return cleaned text of at most `most` characters, its middle left out (the ends of ids tell them apart).

    Examples
    --------
    >>> shorten("meta-llama/Llama-3.1-70B-Instruct-awq-int4", 20)
    'meta-llama/L…wq-int4'
    """
    whole = clean(text)
    if len(whole) <= most:
        return whole
    tail = (most - 1) * 2 // 5
    return f"{whole[: most - 1 - tail]}…{whole[len(whole) - tail :]}"


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


def called(name: Key, blank: str = "(blank)") -> str:
    """Return a name as text, with a word for a blank one."""
    return clean(name) or blank


def show_p(p: float | None) -> str:
    """Return a p value with two digits.

    Examples
    --------
    >>> show_p(0.000241), show_p(1e-9), show_p(None)
    ('0.00024', '< .0001', '–')
    """
    if p is None or p != p:
        return "–"
    if p < 1e-4:
        return "< .0001"
    return show_number(float(f"{p:.2g}"))


def show_count(value: float | None) -> str:
    """Return a number of raters or items; infinity means that no number suffices."""
    return "no number" if value == float("inf") else show_number(value)


def show_estimate(row: Row) -> str:
    """Return the estimate of a row with the digits that its interval supports."""
    width = None if row.low is None or row.high is None else row.high - row.low
    # An interval beside the estimate (of a statistic at its bound), or of no width, would ask for endless zeros.
    if (
        row.low is not None
        and row.high is not None
        and (row.low == row.high or not row.low <= row.estimate <= row.high)
    ):
        width = None
    return show_rounded(row.estimate, width)


def show_rounded(value: float, width: float | None) -> str:
    """Return a number with the digits of its interval; what rounds to 0 has no sign.

    Examples
    --------
    >>> show_rounded(-0.004, 1.6), show_rounded(-0.4, 1.6)
    ('0.0', '−0.4')
    """
    text = show_number(value, width=width)
    return text.removeprefix("−") if not text.strip("−0.") else text


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


def plural(count: int, singular: str, plural_form: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "rater"), plural(2310, "item")
    ('1 rater', '2,310 items')
    """
    return f"{count:,} {singular if count == 1 else plural_form or singular + 's'}"
