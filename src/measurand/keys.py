"""Which keys identify a number of each analysis, and which columns its row has."""

from __future__ import annotations

from typing import Final

#: What tells apart the answers that are scored: `variant` names a prefill, control, attempt or protocol of its own.
_ARM: Final = ("system", "readout", "phrasing", "variant")
_CALIBRATION: Final = ("calibration", "fit", "target", "ties", "aggregate")

#: The keys that identify a number, per analysis. Other programs read these; a blank key means "all together".
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "study": ("step",),
    "design": ("criterion",),
    "raters": ("criterion", "rater"),
    "agreement": ("criterion", "system", "missing"),
    "agreement_pairs": ("criterion", "rater_a", "rater_b"),
    "anova": ("criterion", "source"),
    "system_test": ("criterion", "error_term", "model"),
    "components": ("criterion", "estimator", "component"),
    "generalizability": ("criterion", "estimator", "at_items", "at_raters"),
    "decision": ("criterion", "estimator", "target", "at_items", "at_raters"),
    "pairs": ("criterion", "system_a", "system_b", "unit"),
    "leave_one_rater_out": ("criterion", "left_out", "system"),
    "ranks": ("criterion", "system", "unit", "at_rank"),
    "leave_one_block_out": ("criterion", "left_out", "system"),
    "style": ("criterion", "rater"),
    "missingness": ("criterion", "rater", "rating"),
    "copies": ("criterion", "rater_a", "rater_b", "item", "system_a", "system_b"),
    "length": ("criterion", "system", "opponent", "rater", "model", "unit_of_length", "ties", "tolerance"),
    "outputs": ("system", "language"),
    "units": ("system", "language", "unit_of_length", "against"),
    "decodability": (
        "system",
        "language",
        "token_unit",
        "split",
        "seed",
        "control",
        "class",
        "n_train",
        "train",
        "test",
        "against",
    ),
    "decodability_ratings": ("criterion", "rater", "language", "token_unit", "system"),
    "leakage": ("language", "token_unit", "views", "ratio", "system"),
    "geometry": ("vectors", "language", "against", "centred"),
    "cost": ("system", "language", "per", "net_of_template", "against"),
    "scores": (*_ARM, "criterion", "set", *_CALIBRATION),
    "baselines": ("baseline", *_ARM, "criterion", "set", *_CALIBRATION),
    "anchors": ("anchor", "criterion", "set", *_CALIBRATION),
    "contrasts": ("contrast", "of", *_ARM, "a", "b", "criterion", "set", *_CALIBRATION),
    "criteria": ("criterion", "set", "threshold"),
    "coverage": (*_ARM, "criterion", "set", "policy"),
    "decisions": ("decision", *_ARM, "anchor", "rater", "criterion", "set", *_CALIBRATION),
    "spread": ("of", "source", "system", "set", *_CALIBRATION),
    "reliability_curve": (*_ARM, "criterion", "bin"),
    "forced_choice": (*_ARM, "group", "class", "ties", "margin"),
    "examples": ("kind", "item", "criterion", "rater", *_ARM),
    "gates": ("gate", *_ARM, "criterion"),
    "elicitation": _ARM,
    "attempts": (*_ARM, "attempt"),
    "proofs": ("system", "check"),
    "acquiescence": _ARM,
    "repeats": _ARM,
    "plan": (
        "criterion",
        "formula",
        "fixed",
        "component",
        "of",
        "layout",
        "estimator",
        "target",
        "basis",
        "at_raters",
        "at_items",
        "at_items_per_rater",
        "at",
    ),
    "power": (
        "criterion",
        "layout",
        "estimator",
        "unit",
        "difference",
        "target",
        "at_raters",
        "at_items",
        "at_items_per_rater",
    ),
}

#: The columns that every row may fill, in the order of tables.
COLUMNS: Final = (
    "statistic",
    "estimate",
    "low",
    "high",
    "confidence",
    "method",
    "unit",
    "n_items",
    "n_raters",
    "df1",
    "df2",
    "p",
    "p_adjusted",
    "attainable_p",
    "undefined",
    "note",
)
#: Columns of a single analysis beside the common ones.
EXTRA: Final[dict[str, tuple[str, ...]]] = {"pairs": ("same_sign_all_raters",)}

#: Keys that are numbers and may be unbounded; all others are names, also one that is spelled "inf".
NUMBER_KEYS: Final = (
    "target",
    "at_items",
    "at_raters",
    "at_items_per_rater",
    "difference",
    "threshold",
    "margin",
    "tolerance",
    "n_train",
    "views",
    "ratio",
)

NUMBERS: Final = ("estimate", "low", "high", "df1", "df2", "p", "p_adjusted", "attainable_p")
