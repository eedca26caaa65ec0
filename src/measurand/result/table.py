"""The result: a tidy table of rows, the settings that made it, findings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measurand.keys import COLUMNS, EXTRA, KEYS
from measurand.result.digits import show_key
from measurand.result.notebook import in_html
from measurand.result.rows import Finding, Key, MeasurandError, Row
from measurand.result.terminal import in_text

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "measurand/results/1"


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
        """Return the estimate of the only row that fits.

        Refused where none or several different ones do, and where the number is undefined: the refusal has the reason.
        """
        rows = self.select(analysis, statistic, keys)
        found = {row.estimate for row in rows if not row.undefined}
        undefined = [row.undefined for row in rows if row.undefined]
        if undefined and not found:
            reasons = "; ".join(dict.fromkeys(undefined))
            raise MeasurandError(
                f"{analysis} {statistic} {dict(keys or {})} is undefined: {reasons}; "
                + self._values_of_keys(analysis, statistic)
            )
        if len(found) != 1 or undefined:
            raise MeasurandError(
                f"{len(found) + bool(undefined)} numbers fit {analysis} {statistic} {dict(keys or {})}; "
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
            values = list(dict.fromkeys(show_key(row.keys.get(key, "")) or "blank" for row in rows))
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

    __hash__ = None  # type: ignore[assignment]  # equal by its contents, which are lists: no key of a dict

    def __str__(self) -> str:
        return in_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_html(self)
