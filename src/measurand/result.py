"""The one result type: rows of numbers, the settings that made them, and findings in words.

Every number of the library is a `Row`: an analysis, the keys that identify the number completely, the statistic, its
estimate, its interval and what was resampled for it. Rows hold full precision; rounding happens only on display.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from measurand.keys import COLUMNS, EXTRA, KEYS, NUMBER_KEYS, NUMBERS

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "measurand/results/1"

Key = str | int | float
Verdict = Literal["pass", "warn", "fail", "undetermined", "not_applicable"]


class MeasurandError(ValueError):
    """What was found (row, column, value), what is allowed, what to do."""


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


@dataclass(frozen=True)
class Result:
    """A tidy table of numbers, the settings that made it, and findings.

    Parameters
    ----------
    rows : sequence of Row
        All numbers, grouped by analysis in the order of computation.
    settings : mapping
        Analysis to its resolved settings (JSON values).
    findings : sequence of Finding
        What the numbers answer; empty for a single step.

    Examples
    --------
    >>> result = Result([Row("design", {}, "n_items", 290)], {"design": {}})
    >>> result.value("design", "n_items")
    290
    >>> Result.from_json(result.to_json()) == result
    True
    """

    rows: Sequence[Row]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    @property
    def analyses(self) -> list[str]:
        """The analyses in it, in order of computation."""
        return list(dict.fromkeys([row.analysis for row in self.rows] + list(self.settings)))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, analysis: str) -> Result:
        """Return one analysis alone, as a result of the same type."""
        if analysis not in self.analyses:
            raise MeasurandError(f"no analysis {analysis!r} here; there are {', '.join(self.analyses)}")
        rows = [row for row in self.rows if row.analysis == analysis]
        return Result(rows, {analysis: self.settings.get(analysis, {})})

    def __add__(self, other: Result) -> Result:
        return Result([*self.rows, *other.rows], {**self.settings, **other.settings}, [*self.findings, *other.findings])

    def select(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of one statistic whose keys have the given values (a key left out matches all)."""
        wanted = dict(keys or {})
        return [
            row
            for row in self.rows
            if row.analysis == analysis
            and row.statistic == statistic
            and all(row.keys.get(k, "") == v for k, v in wanted.items())
        ]

    def value(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> float:
        """Return the estimate of the only row that fits, and refuse where none or several different ones do."""
        found = {row.estimate for row in self.select(analysis, statistic, keys)}
        if len(found) != 1:
            raise MeasurandError(
                f"{len(found)} numbers fit {analysis} {statistic} {dict(keys or {})}; "
                + self._values_of_keys(analysis, statistic)
            )
        return found.pop()

    def _values_of_keys(self, analysis: str, statistic: str) -> str:
        """Say by which keys a number could be named."""
        if analysis not in self.analyses:
            return f"there are the analyses {', '.join(self.analyses)}"
        rows = [row for row in self.rows if row.analysis == analysis and row.statistic == statistic]
        if not rows:
            there = dict.fromkeys(row.statistic for row in self.rows if row.analysis == analysis)
            return f"{analysis} has {', '.join(there)}"
        told = []
        for key in KEYS[analysis]:
            values = list(dict.fromkeys(_show_key(row.keys.get(key, "")) or "blank" for row in rows))
            if len(values) > 1:
                more = f" and {len(values) - 6} more" if len(values) > 6 else ""
                told.append(f"{key} is {', '.join(values[:6])}{more}")
        return f"its keys: {'; '.join(told)}" if told else "name its keys"

    def to_frame(self, analysis: str | None = None) -> pd.DataFrame:
        """Return the rows as a data frame: key columns, then the columns of `COLUMNS`.

        Parameters
        ----------
        analysis : str or None
            One analysis alone, with its own key columns; None for all, with an `analysis` column in front.
        """
        import pandas as pd

        chosen = self.rows if analysis is None else self[analysis].rows
        names = [analysis] if analysis is not None else self.analyses
        keys = list(dict.fromkeys(key for name in names for key in KEYS[name]))
        extra = list(dict.fromkeys(column for name in names for column in EXTRA.get(name, ())))
        columns = [column for column in COLUMNS if column not in keys]
        records = [
            {"analysis": row.analysis}
            # What is resampled (unit) is a key of some and a column of all: one column in either case.
            | {column: getattr(row, column) for column in COLUMNS}
            | {key: row.keys.get(key, row.unit if key == "unit" else "") for key in keys}
            | {column: row.extra.get(column) for column in extra}
            for row in chosen
        ]
        frame = pd.DataFrame.from_records(records, columns=["analysis", *keys, *columns, *extra])
        for column in ("low", "high", "confidence", "n_items", "n_raters", "df1", "df2", "p", "p_adjusted"):
            frame[column] = pd.to_numeric(frame[column])
        frame["attainable_p"] = pd.to_numeric(frame["attainable_p"])
        return frame if analysis is None else frame.drop(columns="analysis")

    def to_dict(self) -> dict[str, Any]:
        """Return what `results.json` holds."""
        by_analysis: dict[str, list[dict[str, Any]]] = {name: [] for name in self.analyses}
        for row in self.rows:
            by_analysis[row.analysis].append(row.to_dict())
        return {
            "schema": SCHEMA,
            "results": {
                name: {"settings": dict(self.settings.get(name, {})), "rows": rows}
                for name, rows in by_analysis.items()
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the result as JSON text, and write it to `path` if one is given."""
        document = self.to_dict()
        # One row a line: the file stays readable and two runs can be compared line by line.
        parts = []
        for name, content in document["results"].items():
            rows = ",\n   ".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in content["rows"])
            body = f"[\n   {rows}\n  ]" if rows else "[]"
            settings = json.dumps(content["settings"], ensure_ascii=False, allow_nan=False)
            parts.append(f'  {json.dumps(name)}: {{"settings": {settings}, "rows": {body}}}')
        findings = ",\n  ".join(json.dumps(f, ensure_ascii=False, allow_nan=False) for f in document["findings"])
        results = ",\n".join(parts)
        text = (
            f'{{\n "schema": {json.dumps(SCHEMA)},\n "results": {{\n{results}\n }},\n'
            f' "findings": [{f"{chr(10)}  {findings}{chr(10)} " if findings else ""}]\n}}\n'
        )
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Result:
        """Rebuild a result from JSON text or from a `results.json` file.

        Raises
        ------
        MeasurandError
            If the text is not a result of this schema.
        """
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise MeasurandError(f"not JSON: {error}; expected a results.json of measurand") from error
        found = document.get("schema") if isinstance(document, dict) else None
        if found != SCHEMA:
            raise MeasurandError(f"schema {found!r}; this version reads {SCHEMA!r}: make the run again")
        try:
            results = document["results"]
            if unknown := [name for name in results if name not in KEYS]:
                raise MeasurandError(f"no analysis {unknown[0]!r}; there are {', '.join(KEYS)}")
            rows = [Row.from_dict(name, values) for name, content in results.items() for values in content["rows"]]
            settings = {name: content["settings"] for name, content in results.items()}
            findings = [Finding.from_dict(values) for values in document["findings"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise MeasurandError(f"not a whole result ({error}); make the run again") from error
        return cls(rows, settings, findings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        lines = [f"{f.verdict:>14}  {_of(f)}{f.id}: {f.statement}" for f in self.findings]
        for name in self.analyses:
            shown = self[name].rows
            lines.append(f"{name}: {len(shown)} rows")
            if not self.findings:
                lines += ["  " + "  ".join(filter(None, _cells(row))) for row in shown[:20]]
                lines += [f"  … {len(shown) - 20} more"] if len(shown) > 20 else []
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        if self.findings:
            items = "".join(
                f"<li><b>{f.verdict.replace('_', ' ')}</b> {html.escape(_of(f) + f.statement)}</li>"
                for f in self.findings
            )
            parts.append(f"<ul>{items}</ul>")
        for name in self.analyses:
            shown = self[name].rows
            head = "".join(f'<th scope="col">{c}</th>' for c in (*KEYS[name], "statistic", "estimate", "interval", ""))
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
                for row in shown[:50]
            )
            more = f"<p>… {len(shown) - 50} more rows: to_frame({name!r})</p>" if len(shown) > 50 else ""
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
            is_open = "" if self.findings else " open"
            parts.append(f"<details{is_open}><summary>{name}: {len(shown)} rows</summary>{table}</details>")
        return f'<div class="measurand">{"".join(parts)}</div>'


def show_number(value: float | None, *, width: float | None = None) -> str:
    """Return a number as people read it, with digits that fit the width of its interval.

    Parameters
    ----------
    value : float or None
        The number; None gives a dash.
    width : float or None
        The width of its interval; two digits of it decide how many places are shown. None shows four digits.

    Examples
    --------
    >>> show_number(0.336123, width=0.62), show_number(26.2), show_number(float("inf"))
    ('0.34', '26.2', '∞')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−") if width is None else f"{value:.{_places(width)}f}".replace("-", "−")
    if width is not None and 0 < width < math.inf:
        text = f"{value:.{_places(width)}f}"
    elif abs(value) < 1e-4:
        text = f"{value:.1e}"
    else:
        text = f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
    return text.replace("-", "−")


def show_interval(row: Row) -> str:
    """Return the interval of a row as text, blank where it has none."""
    if row.low is None or row.high is None:
        return ""
    width = None if _are_counts(row) else row.high - row.low
    return f"[{show_number(row.low, width=width)}, {show_number(row.high, width=width)}]"


def _are_counts(row: Row) -> bool:
    """Whether estimate and ends are whole numbers, as of raters needed or ranks: they have no decimal places."""
    ends = [end for end in (row.estimate, row.low, row.high) if end is not None and math.isfinite(end)]
    counts = ("raters_needed", "raters_needed_these_items", "items_needed", "rank")
    return row.statistic in counts and all(end == int(end) for end in ends)


def _places(width: float) -> int:
    if not 0 < width < math.inf:
        return 0
    return min(max(1 - math.floor(math.log10(width)), 0), 8)


def _cells(row: Row) -> list[str]:
    width = None if row.low is None or row.high is None or _are_counts(row) else row.high - row.low
    keys = [_show_key(row.keys.get(key, "")) for key in KEYS[row.analysis]]
    remark = row.undefined or (f"p {show_number(row.p)}" if row.p is not None else "")
    return [*keys, row.statistic, show_number(row.estimate, width=width), show_interval(row), remark]


def _show_key(value: Key) -> str:
    return "∞" if value == math.inf else str(value)


def _of(finding: Finding) -> str:
    return f"{finding.criterion}: " if finding.criterion else ""


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
