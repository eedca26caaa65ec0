"""How results are called wherever they are shown: verdicts, analyses, kinds of runs; text from data made safe."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from measurand.result.rows import VERDICTS, Finding, Key, Verdict

if TYPE_CHECKING:
    from measurand.result.table import Result

MARK: Final[dict[Verdict, str]] = {"fail": "✗", "warn": "!", "undetermined": "?", "pass": "✓", "not_applicable": "–"}
WORD: Final[dict[Verdict, str]] = {
    "fail": "fail",
    "warn": "warn",
    "undetermined": "undetermined",
    "pass": "pass",
    "not_applicable": "n/a",
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
#: Analyses of outputs, any of which makes a result a probe.
_OF_PROBES: Final = ("outputs", "units", "decodability", "leakage", "geometry", "cost")

_BIDI: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def kind_of(result: Result) -> str:
    """Return which kind of run a result is: study, probe, plan, scores, forced_choice, elicitation or gates.

    Blank is an audit.
    """
    there = result.analyses
    if "study" in there:
        return "study"
    if "design" in there:
        return ""
    if any(name in there for name in _OF_PROBES):
        return "probe"
    if "plan" in there or "power" in there:
        return "plan"
    return next((name for name in ("scores", "forced_choice", "elicitation", "gates") if name in there), "")


def default_title(result: Result) -> str:
    """Return the heading of a page by the kind of run.

    Examples
    --------
    >>> from measurand.result import Result, Row
    >>> default_title(Result([Row("gates", {"gate": "coverage"}, "coverage", 1.0)]))
    'Gates'
    """
    return {
        "study": "A study",
        "probe": "What outputs say",
        "plan": "Plan of a panel",
        "scores": "Scores against raters",
        "forced_choice": "Forced choice",
        "elicitation": "Answers of systems",
        "gates": "Gates",
    }.get(kind_of(result), "Audit of ratings")


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings from fail to not applicable, otherwise in their own order."""
    return sorted(findings, key=lambda finding: VERDICTS.index(finding.verdict))


def counts(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """Return the number of findings of each verdict that occurs, worst first."""
    found = Counter(finding.verdict for finding in findings)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


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


def cut(text: object, most: int) -> str:
    """Return cleaned text of at most `most` characters, cut at a word where it is longer.

    Examples
    --------
    >>> cut("Length is a mediator, and a longer output may be a better one.", 24)
    'Length is a mediator, …'
    """
    whole = clean(text)
    if len(whole) <= most:
        return whole
    head = whole[: most - 2]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head else head} …"


def called(name: Key, blank: str = "(blank)") -> str:
    """Return a name as text, with a word for a blank one."""
    return clean(name) or blank


def plural(count: int, singular: str, plural_form: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "rater"), plural(2310, "item")
    ('1 rater', '2,310 items')
    """
    return f"{count:,} {singular if count == 1 else plural_form or singular + 's'}"
