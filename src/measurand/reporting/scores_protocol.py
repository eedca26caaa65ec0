"""What was done: coverage and baselines, the protocol as a disclosure block, the words used, the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Table, Terms, Text
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores_cells import ANCHOR, BASELINE, arm_cell, path_words, redrawn, see
from measurand.reporting.scores_view import Scores, arm_of, is_control, keys_of
from measurand.reporting.words import STATISTIC, joined
from measurand.result import show_number
from measurand.result.words import clean, plural, shorten

POLICIES: Final[dict[str, str]] = {
    "exclude": "left out",
    "lowest": "as the lowest level",
    "wrong": "as far off as permitted (lower bound)",
    "right": "as the item's mean (upper bound)",
}
_NOT_GIVEN: Final = "not given"
_MOST_OPEN: Final = 15
#: Names that a line of the protocol lists.
_MOST_LISTED: Final = 40


def coverage(view: Scores) -> list[Block]:
    """Return what share of the questions was answered, and the score under each policy for the others."""
    found = view.all("coverage", "coverage")
    if not found:
        return []
    short = [row for row in found if row.undefined or row.estimate < 1]
    if not short:
        who, they = (f"all {len(found)} arms", "they were") if len(found) > 1 else ("the one arm", "it was")
        return [Text(f"Complete: {who} answered every rated question that {they} asked.")]
    rows = []
    for row in short:
        keys = {**keys_of(arm_of(row)), **view.main}
        shown = [cells.plain(view.find("coverage", view.statistic, {**keys, "policy": policy})) for policy in POLICIES]
        share = Cell("–") if row.undefined else Cell(f"{min(100 * row.estimate, 99.9):.1f}")
        rows.append(
            [arm_cell(arm_of(row), with_protocol=len(view.protocols) > 1), share, *shown, Cell(_counts(row.note))]
        )
    columns = [
        Column("System"),
        Column("Answered, %", is_number=True),
        *(Column(f"Score, missing {words}", is_number=True) for words in POLICIES.values()),
        Column("Questions"),
    ]
    said = (
        f"{len(short)} of {len(found)} arms left questions unanswered. What is missing is seldom missing at random: "
        "the columns say what the score would be if every missing answer were as named. Policies and bounds have no "
        "sampling error of their own."
    )
    table = without_empty("Scores under each policy for missing answers", columns, rows, [])
    return [Text(said), Fold(f"{len(rows)} arms", [table]) if len(rows) > _MOST_OPEN else table]


def _counts(note: str) -> str:
    found = re.match(r"[\d,]+ of [\d,]+", note)
    return found.group() if found else ""


def baselines(view: Scores) -> list[Block]:
    """Return what answers without a human or an item score on the same path."""
    found = [
        row
        for row in view.all("baselines", view.statistic)
        if {key: row.keys.get(key, "") for key in ("criterion", "set")} == view.main
    ]
    if not found:
        return []
    remarks = Remarks()
    own = [row for row in found if row.keys.get("system", "")]
    plain = [row for row in found if not row.keys.get("system", "")]
    for row in plain:
        see(remarks, row)
    rows = [
        [Cell(BASELINE.get(str(row.keys["baseline"]), clean(row.keys["baseline"]))), cells.estimate(row)]
        for row in plain
    ]
    name = STATISTIC.get(view.statistic, clean(view.statistic))
    blocks: list[Block] = [
        Text(
            "What needs no judgement goes through the same path as the systems; where it does not score about 0, the "
            "path itself makes the score."
        )
    ]
    if rows:
        columns = [Column("Baseline"), Column(name, is_number=True)]
        blocks.append(Table(f"Baselines, {redrawn(view.unit)}", columns, rows, remarks.all(4)))
    if own:
        each = [[arm_cell(arm_of(row), with_protocol=len(view.protocols) > 1), cells.estimate(row)] for row in own]
        table = Table("Own answers, dealt to other items", [Column("System"), Column(name, is_number=True)], each)
        blocks.append(Fold(f"Every system's own answers, dealt to other items ({len(own)})", [table]))
    return blocks


def protocol(view: Scores) -> list[Block]:
    """Return the disclosure block: what was asked, how it was read and scored, what was left out."""
    settings = view.settings
    arms = view.arms
    plain = [arm for arm in arms if not is_control(arm[1:])]

    def listed(values: Sequence[str]) -> str:
        names = [shorten(value, 40) for value in dict.fromkeys(values) if value]
        more = [f"{len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
        return joined(names[:_MOST_LISTED] + more) or _NOT_GIVEN

    variants = [part for arm in plain for part in arm[3].split(", ")]
    asked = [
        ("Wording of the question", listed([arm[2] for arm in plain])),
        ("How answers were read", listed([arm[1] for arm in plain])),
        ("Prefill", listed([part.removeprefix("prefill=") for part in variants if part.startswith("prefill=")])),
        ("Attempts", "first and last" if any("attempt=" in arm[3] for arm in arms) else _NOT_GIVEN),
        ("Control inputs", listed([arm[3] for arm in arms if "control=" in arm[3]])),
        ("Decoding, batch size, precision of log-probabilities", _NOT_GIVEN),
        ("Parser of replies", _NOT_GIVEN),
        ("Systems", listed([arm[0] for arm in plain])),
        ("Provider, identifier and date of each system; whether the item reached it", _NOT_GIVEN),
    ]
    pairs = asked + _scoring(view, settings) + _sizes(settings)
    return [
        Text(
            "Everything that another group needs to know to ask and score in the same way. What the tables do not say "
            f"is “{_NOT_GIVEN}”: state it where the scores are published."
        ),
        Terms([(name, clean(value)) for name, value in pairs if value]),
    ]


def _scoring(view: Scores, settings: Any) -> list[tuple[str, str]]:
    scales = dict.fromkeys(str(value) for value in settings.get("scale", {}).values())
    given = "; ".join(shorten(scale, 60) for scale in list(scales)[:4])
    more = f"; and {len(scales) - 4} more" if len(scales) > 4 else ""
    paths = "; ".join(path_words({"calibration": str(name)}) for name in settings.get("calibrate", []))
    out = [
        ("Scale", f"{given}{more}"),
        ("Statistics", joined([STATISTIC.get(name, name) for name in view.statistics])),
        ("Path of the headline", path_words(view.path)),
        ("Calibrations reported", paths),
        ("Anchors", "; ".join(ANCHOR.get(name, name) for name in view.anchors) or "none"),
        ("Baselines", "; ".join(BASELINE.get(name, name) for name in settings.get("baselines", [])) or "none"),
        ("Redrawn", "; ".join(redrawn(unit).removesuffix(" redrawn") for unit in view.units)),
        ("Level of the intervals", view.level.strip(" ()")),
    ]
    for name, key in (("Replicates", "replicates"), ("Seed", "seed")):
        if key in settings:
            out.append((name, show_number(settings[key])))
    if "folds" in settings:
        out.append(("Folds of held-out calibration", f"{settings['folds']}, dealt {settings['fold_repeats']} times"))
    if "epsilon" in settings:
        out.append(("Epsilon of the alternative annotator test", show_number(settings["epsilon"])))
    if settings.get("margin"):
        out.append(("Margin of equivalence", show_number(settings["margin"])))
    if view.has_sets:
        out.append(("Reliable criteria", f"interval alpha of {view.threshold:g} or more"))
    return out


def _sizes(settings: Any) -> list[tuple[str, str]]:
    out = []
    for name, key in (
        ("Items with ratings", "n_items"),
        ("Raters", "n_raters"),
        ("Criteria", "n_criteria"),
        ("Systems and arms", ""),
        ("Groups of items", "groups"),
    ):
        if not key:
            systems, arms = settings.get("n_systems"), settings.get("n_arms")
            if systems is not None:
                derived = "" if arms is None else f", {plural(arms, 'arm')} with derived ones"
                out.append((name, f"{plural(systems, 'system')}{derived}"))
        elif settings.get(key) is not None:
            out.append((name, show_number(settings[key])))
    left = [
        plural(settings[key], *words)
        for key, words in (
            ("items_without_answers", ("rated item without an answer", "rated items without an answer")),
            ("answered_items_without_ratings", ("answered item without ratings", "answered items without ratings")),
            ("values_ignored_for_status", ("value beside a failed status", "values beside a failed status")),
        )
        if settings.get(key)
    ]
    if names := settings.get("criteria_without_ratings"):
        left.append(f"{plural(len(names), 'criterion', 'criteria')} without ratings ({_few(names)})")
    if "items_without_answers" in settings:
        out.append(("Left out", joined(left) or "nothing"))
    return out


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(shorten(name, 30) for name in names[:6]) + more


WORDS: Final = (
    ("item", "what is shown to raters and systems: an image, a text, a task"),
    ("rater", "whoever gives the ratings: a person, or a model as judge"),
    ("system", "what a leaderboard ranks: a model with its settings"),
    ("criterion", "the quantity that is graded"),
    ("readout", "how an answer is taken from a system: generated, or read from its probabilities"),
    ("phrasing", "one wording of the question"),
    ("arm", "one system under one protocol: a readout, a phrasing, a prefill, an attempt"),
    ("anchor", "what people score on the same ratings: the human yardstick"),
    ("baseline", "a yardstick without a human or without an item"),
    ("calibration", "how answers become values of the scale, always with what it was fitted to"),
    ("quadratic kappa", "agreement beyond chance on a scale: 1 is perfect, 0 chance; far misses cost more than near"),
    ("alpha", "agreement of raters: 1 if they always agree, 0 if by chance"),
    ("interval", "the range that the data are compatible with, at the level stated; each says what was redrawn"),
    ("these raters, raters of this kind", "with the raters as they are; with raters redrawn as well"),
    ("p", "how often chance alone would give as large a difference; Holm and max-T account for making many tests"),
    ("miscalibration", "how much nearer to the ratings answers would be if each size of answer were put right"),
    ("gate", "a test of whether answers may be scored at all"),
)
METHODS: Final = (
    "Scores: quadratic kappa of a system's answers with the single ratings of every rater, pooled over raters per "
    "criterion and averaged over criteria (Cohen 1968, Psychological Bulletin 70; for values that are not levels its "
    "identity with Lin's concordance: Lin 1989, Biometrics 45).",
    "Rank calibration, reliable criteria, the pairwise anchor and the binarised control: Hallmen, Deuser, Kampa, "
    "Oswald & André 2026, arXiv 2610.08162; held-out fits, ties as blocks and the other anchors are this library's.",
    "Intervals: percentile bootstrap on one set of draws shared by systems, anchors and baselines; calibration, choice "
    "of criteria and selections are made anew in every replicate. Items and raters together: pigeonhole bootstrap "
    "(Owen 2007, Annals of Applied Statistics 1).",
    "Differences: two-sided bootstrap p on shared draws; Holm (1979, Scandinavian Journal of Statistics 6) and "
    "single-step max-T (Westfall & Young 1993; Romano & Wolf 2005, JASA 100) within a family.",
    "Agreement of raters: Krippendorff 2018, Content Analysis, chapter 12, interval metric.",
    "Reliability curves and the parts of the squared error: isotonic fit of mean ratings to answers (Dimitriadis, "
    "Gneiting & Jordan 2021, PNAS 118, e2016191118).",
    "The alternative annotator test: Calderon, Reichart & Dror 2025, arXiv 2501.10970. Equivalence: two one-sided "
    "tests (Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15).",
)
