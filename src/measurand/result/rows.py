"""One number, one finding, and the error that everything raises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from measurand.keys import COLUMNS, EXTRA, KEYS, NUMBER_KEYS, NUMBERS

Key = str | int | float
Verdict = Literal["pass", "warn", "fail", "undetermined", "not_applicable"]
#: Verdicts from worst to least worrying: the order of every list of findings.
VERDICTS: Final[tuple[Verdict, ...]] = ("fail", "warn", "undetermined", "pass", "not_applicable")


class MeasurandError(ValueError):
    """What was found (row, column, value), what is allowed, what to do: all that bad input and wrong use raise.

    It is a `ValueError`, so that who catches those catches it.

    Examples
    --------
    >>> try:
    ...     Row("ranks", {"rater": "R1"}, "rank", 1.0)
    ... except MeasurandError as error:
    ...     print(error)
    ranks has the keys ('criterion', 'system', 'unit', 'at_rank'), not ['rater']
    """


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    Parameters
    ----------
    analysis : str
        The analysis that the number belongs to, one of `KEYS`.
    keys : mapping
        The values of the analysis' key columns; a key that is left out is blank.
    statistic : str
        The statistic's full name, e.g. ``"alpha_ordinal"``.
    estimate : float
        The number; NaN if it is undefined, and then `undefined` must say why.
    low, high : float or None
        Its interval. Infinite ends are allowed.
    confidence, method, unit
        The interval's level, how it was made, and what was resampled or counts as a replicate.
    n_items, n_raters : int or None
        The sample that the number rests on.
    df1, df2, p, p_adjusted, attainable_p
        Of a test; `attainable_p` where a permutation or sign test cannot go lower.
    undefined, note : str
        Why the number is missing; what a reader must know.
    extra : mapping
        Columns that only this analysis has (see `EXTRA`).

    Raises
    ------
    MeasurandError
        If there is no such analysis or no such key of it, or the estimate is NaN without a reason.

    Examples
    --------
    >>> row = Row("agreement", {"missing": "pairwise"}, "alpha_ordinal", 0.162, 0.131, 0.192, confidence=0.95)
    >>> row.reference()
    {'analysis': 'agreement', 'missing': 'pairwise', 'statistic': 'alpha_ordinal'}
    >>> Row("agreement", {}, "icc_2_1", math.nan, undefined="one rater per cell").to_dict()["undefined"]
    'one rater per cell'
    """

    analysis: str
    keys: Mapping[str, Key]
    statistic: str
    estimate: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    method: str = ""
    unit: str = ""
    n_items: int | None = None
    n_raters: int | None = None
    df1: float | None = None
    df2: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    attainable_p: float | None = None
    undefined: str = ""
    note: str = ""
    extra: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.analysis not in KEYS:
            raise MeasurandError(f"no analysis {self.analysis!r}; there are {', '.join(KEYS)}")
        if unknown := set(self.keys) - set(KEYS[self.analysis]):
            raise MeasurandError(f"{self.analysis} has the keys {KEYS[self.analysis]}, not {sorted(unknown)}")
        if math.isnan(self.estimate) and not self.undefined:
            raise MeasurandError(f"{self.analysis} {dict(self.keys)} {self.statistic} is NaN without a reason")
        # An end that is no number is none: JSON has no NaN, and a row read back must be the row that was written.
        for name in ("low", "high", "df1", "df2", "p", "p_adjusted", "attainable_p"):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                object.__setattr__(self, name, None)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values: blank columns left out, a missing number null, an unbounded one "inf"."""
        out: dict[str, Any] = {key: _jsonable(self.keys.get(key, "")) for key in KEYS[self.analysis]}
        for name in COLUMNS:
            value = getattr(self, name)
            if name == "estimate" or (value is not None and value != ""):
                out[name] = _jsonable(value)
        return out | dict(self.extra)

    def reference(self) -> dict[str, Key]:
        """Return what names the row in a finding: its analysis, its keys that are not blank, its statistic."""
        keys = {key: value for key, value in self.keys.items() if value != ""}
        return {"analysis": self.analysis, **keys, "statistic": self.statistic}

    @classmethod
    def from_dict(cls, analysis: str, values: Mapping[str, Any]) -> Row:
        """Rebuild a row from what `to_dict` gave."""
        fields: dict[str, Any] = {}
        for name in COLUMNS:
            if name in values:
                fields[name] = _number(values[name]) if name in NUMBERS else values[name]
        if fields.get("estimate") is None:
            fields["estimate"] = math.nan
        keys = {key: _key(key, values[key]) for key in KEYS[analysis]}
        extra = {name: values[name] for name in EXTRA.get(analysis, ()) if name in values}
        return cls(analysis=analysis, keys=keys, extra=extra, **fields)


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a question that a user has, with the numbers it rests on.

    Parameters
    ----------
    id : str
        The stable name of the question, e.g. ``"systems-differ"``.
    question, statement, remedy : str
        The question; the answer in one plain sentence with its numbers; what to do.
    verdict : {"pass", "warn", "fail", "undetermined", "not_applicable"}
        The answer under the documented rule.
    criterion : str
        The criterion concerned; blank where there is only one.
    rows : sequence of mappings
        Where the numbers are: analysis, keys, statistic.
    source : str
        The paper section or reference that the rule comes from.

    Examples
    --------
    >>> alpha = Row("agreement", {"missing": "pairwise"}, "alpha_ordinal", 0.162)
    >>> finding = Finding("agreement", "Do the raters agree?", "fail", "Alpha is 0.162.", rows=[alpha.reference()])
    >>> finding.verdict, finding.rows[0]["statistic"]
    ('fail', 'alpha_ordinal')
    >>> Finding.from_dict(finding.to_dict()) == finding
    True
    """

    id: str
    question: str
    verdict: Verdict
    statement: str
    remedy: str = ""
    criterion: str = ""
    rows: Sequence[Mapping[str, Key]] = ()
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "id": self.id,
            "criterion": self.criterion,
            "question": self.question,
            "verdict": self.verdict,
            "statement": self.statement,
            "remedy": self.remedy,
            "rows": [{k: _jsonable(v) for k, v in ref.items()} for ref in self.rows],
            "source": self.source,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Finding:
        """Rebuild a finding from what `to_dict` gave."""
        rows = [{k: _key(k, v) for k, v in reference.items()} for reference in values["rows"]]
        return cls(**{**values, "rows": rows})


def _jsonable(value: Any) -> Any:
    """Plain JSON: NaN is null, infinities are text, NumPy scalars are Python ones."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return value


def _number(value: Any) -> Any:
    return math.inf if value == "inf" else -math.inf if value == "-inf" else value


def _key(name: str, value: Any) -> Any:
    return _number(value) if name in NUMBER_KEYS else value
