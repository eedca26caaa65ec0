"""The answers table: what each system answered for each item and criterion, how it was read, and what became of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.faults import Setting, TableError
from measurand.data.marks import DecimalMark, Marks
from measurand.data.ratings import combine_codes, ids
from measurand.data.read import read_table
from measurand.data.scale import MISSING, Scale, as_number
from measurand.result import MeasurandError

Status = Literal["ok", "repaired", "not_asked", "not_returned", "invalid", "refused", "truncated"]

#: What became of a request. Only the first two carry an answer, and none of the others is ever a 0.
STATUSES: Final = get_args(Status)
ANSWERED: Final = ("ok", "repaired")

#: What tells one protocol from another; rows that differ in any of these are never pooled.
PROTOCOL: Final = ("readout", "phrasing", "protocol", "prefill", "control", "attempt")

Repeats = Literal["refuse", "first", "last", "mean"]

#: Columns that `measurand elicit` keeps about a request, and that tell no protocol.
_KEPT_BOOKS: Final = (
    "reply", "repeat", "problem", "answer_low", "answer_high", "mass_high", "top", "others", "identity",
    "key", "n_prompt", "n_cached", "n_completion", "seconds", "asked_at",
)  # fmt: skip

_IDS: Final = ("system", "item", "criterion")
_NUMBERS: Final = ("mass", "log_odds")
_TEXTS: Final = ("readout", "phrasing", "protocol", "prefill", "control")


@dataclass(frozen=True)
class Answers:
    """A checked table of answers.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each request: categorical `system`, `item` and, if there are any, `criterion`; `answer` (float, NaN
        where there is none; text where labels were read); `status`; the columns of `PROTOCOL` that the table has, as
        text (`attempt` as whole numbers); `mass`, `log_odds` as floats; whatever other columns the table had.
    columns : mapping
        Role to the column of the table that was read for it, None where there was none.
    n_ignored : int
        Rows with a value although their status says that there is no answer; the value is not used.
    are_labels : bool
        Whether `answer` holds names of classes.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["S1", "S1"], "item": ["a", "b"], "answer": [0.7, None],
    ...                       "status": ["ok", "refused"]})
    >>> answers = read_answers(table)  # a refusal is no number, and not 0
    >>> len(answers), answers.systems, answers.frame["answer"].isna().tolist()
    (2, ['S1'], [False, True])
    """

    frame: pd.DataFrame
    columns: Mapping[str, str | None] = field(default_factory=dict)
    n_ignored: int = 0
    are_labels: bool = False

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def systems(self) -> list[str]:
        """The systems in natural order."""
        return list(self.frame["system"].cat.categories)

    @property
    def criteria(self) -> list[str]:
        """The criteria in natural order; one blank name where the table has no such column."""
        return list(self.frame["criterion"].cat.categories) if "criterion" in self.frame else [""]

    @property
    def is_answered(self) -> npt.NDArray[np.bool_]:
        """Which rows carry an answer."""
        return self.frame["status"].isin(ANSWERED).to_numpy()


def read_answers(
    source: Any,
    *,
    system: str | None = None,
    item: str | None = None,
    answer: str | None = None,
    criterion: str | None = None,
    readout: str | None = None,
    phrasing: str | None = None,
    status: str | None = None,
    scale: Mapping[str, Scale] | None = None,
    labels: bool = False,
    repeats: Repeats = "refuse",
    delimiter: str | None = None,
    decimal: DecimalMark = ".",
    missing: Sequence[str] = (),
) -> Answers:
    """Read and check an answers table.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, JSON Lines, Parquet (also gzipped), pandas, or any frame that narwhals reads. Needed are `system`,
        `item`, `answer`, and `criterion` where there are several; all else is optional: `readout`, `phrasing`,
        `protocol`, `prefill`, `control` (``blank``, ``swapped``), `attempt` (1, 2, …), `repeat`, `status`, `mass`,
        `log_odds`, `reply`.
    system, item, answer, criterion, readout, phrasing, status : str or None
        The table's own names of these columns; None takes the column of that very name.
    scale : mapping of criterion to Scale, or None
        Turns answers that are labels of the scale into its numbers; answers are not held to the scale here.
    labels : bool
        Whether answers are names of classes (forced choice) and stay text.
    repeats : {"refuse", "first", "last", "mean"}
        What to do with several answers of one system under one protocol to one item and criterion, in row order.
    delimiter, decimal, missing
        How the file spells its cells, see `measurand.read_ratings`; here of answers, `mass`, `log_odds` and `attempt`.

    Returns
    -------
    Answers
        The checked table.

    Raises
    ------
    MeasurandError
        Absent columns, blank ids, unknown statuses, answers that are no numbers, and two answers to one question: with
        row, column and value. Rows count from 1, the header not counted.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["S", "S"], "item": [1, 2], "answer": ["0.25", ""]})
    >>> read_answers(table).frame[["answer", "status"]].values.tolist()
    [[0.25, 'ok'], [nan, 'not_returned']]
    """
    if repeats not in get_args(Repeats):
        raise MeasurandError(f"repeats {repeats!r}; allowed are {', '.join(get_args(Repeats))}")
    marks = Marks(delimiter, decimal, missing)
    table = read_table(source, delimiter=marks.delimiter)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    named = {
        "system": system,
        "item": item,
        "answer": answer,
        "criterion": criterion,
        "readout": readout,
        "phrasing": phrasing,
        "status": status,
    }
    named |= dict.fromkeys(("protocol", "prefill", "control", "attempt", "repeat", *_NUMBERS, "reply"))
    columns = _columns(table, named)
    out: dict[str, Any] = {role: ids(table[columns[role]], columns[role], 1) for role in _IDS if role in columns}
    for role in _TEXTS:
        if role in columns:
            out[role] = table[columns[role]].fillna("").astype(str).str.strip().to_numpy(dtype=object)
    for role in ("attempt", *_NUMBERS):
        if role in columns:
            spelled = marks.plain(table[columns[role]], columns[role])
            out[role] = numbers(spelled, columns[role], is_count=role == "attempt")
    if "mass" in out and (outside := ~np.isnan(out["mass"]) & ((out["mass"] < 0) | (out["mass"] > 1 + 1e-6))).any():
        row = int(outside.argmax())
        raise MeasurandError(
            f"answers: mass {out['mass'][row]:g} at data row {row + 1}; the mass of all answers is a probability"
        )
    of_scale = {label for one in (scale or {}).values() for label in one.labels}
    marks = Marks(missing=missing) if labels else marks
    given = marks.plain(table[columns["answer"]], columns["answer"], labels=of_scale)
    values, blank = _values(given, out, columns["answer"], scale or {}, labels=labels)
    states = _statuses(table[columns["status"]] if "status" in columns else None, blank, columns.get("status", ""))
    is_answered = np.isin(states, ANSWERED)
    ignored = int((~is_answered & ~blank).sum())
    out["answer"] = np.where(is_answered, values, "" if labels else np.nan)
    out["status"] = states
    frame = pd.DataFrame(out)
    taken = {*columns.values(), *out}
    for column in table.columns:
        if column not in taken:
            frame[column] = table[column].to_numpy()
    for role in ("repeat", "reply"):
        if role in columns:
            frame[role] = table[columns[role]].to_numpy()
    frame = _settle_repeats(frame, repeats, labels=labels)
    read = {role: columns.get(role) for role in named}
    return Answers(frame.reset_index(drop=True), read, ignored, labels)


def _columns(table: pd.DataFrame, named: Mapping[str, str | None]) -> dict[str, str]:
    available = list(table.columns)
    listing = ", ".join(repr(name) for name in available[:12])
    columns: dict[str, str] = {}
    for role, name in named.items():
        if name is not None and name not in available:
            close = difflib.get_close_matches(name, available, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TableError(f"answers: no column {name!r} for {role}; the table has {listing}{hint}")
        if name is not None or role in available:
            columns[role] = name or role
    if absent := [role for role in ("system", "item", "answer") if role not in columns]:
        free = [column for column in available if column not in columns.values()]
        one = Setting(absent[0], free[0] if free else "")
        raise TableError(
            f"answers: no column {absent[0]!r}; the table has {listing}. It needs system, item and answer, and "
            f"criterion where there are several; name the right one{', for example' if free else ''} {one}",
            one,
        )
    return columns


def numbers(column: pd.Series[Any], name: str, *, is_count: bool) -> npt.NDArray[np.float64]:
    """Return a column as numbers, NaN where it is blank, and refuse what is none, and counts that are not whole."""
    text = column.astype(object)
    blank = text.isna() | text.astype(str).str.strip().str.lower().isin(list(MISSING))
    values = np.asarray(pd.to_numeric(text.where(~blank), errors="coerce"), dtype=float)
    wrong = ~blank.to_numpy() & (np.isnan(values) | (is_count & (values != np.rint(values))))
    if wrong.any():
        row = int(wrong.argmax())
        what = "a whole number" if is_count else "a number"
        raise MeasurandError(f"answers: column {name!r} holds {text.iloc[row]!r} at data row {row + 1}; give {what}")
    if is_count and blank.any():
        raise MeasurandError(f"answers: column {name!r} is blank at data row {int(blank.to_numpy().argmax()) + 1}")
    return values


def _values(
    column: pd.Series[Any], out: Mapping[str, Any], name: str, scales: Mapping[str, Scale], *, labels: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return answers as numbers (as text where they are labels), and which are blank."""
    if not labels and pd.api.types.is_any_real_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        return _finite(numbers, np.isnan(numbers), column, name), np.isnan(numbers)
    codes, uniques = pd.factorize(column)
    texts = [str(value).strip() for value in uniques]
    of_scale = {label for one in scales.values() for label in one.labels}
    missing = np.array([text.lower() in MISSING and text not in of_scale for text in texts] + [True])
    blank = missing[codes]
    if labels:
        return np.array([*texts, ""], dtype=object)[codes], blank
    if scales and any(scale.labels for scale in scales.values()):
        return _by_labels(codes, texts, blank, out, scales, name), blank
    parsed = [None if missing[i] else as_number(text) for i, text in enumerate(texts)]
    if wrong := [i for i, number in enumerate(parsed) if number is None and not missing[i]]:
        row = int((codes == wrong[0]).argmax())
        one, scale = Setting("missing", texts[wrong[0]]), Setting("scale")
        raise TableError(
            f"answers: {texts[wrong[0]]!r} in column {name!r} at data row {row + 1} is not a number; give numbers, "
            f"declare the labels of the scale ({scale}), mark a failed reply by its status (invalid, refused, …), or "
            f"say that it stands for no answer: {one}",
            one,
            scale,
        )
    numbers = np.array([np.nan if number is None else number for number in parsed] + [np.nan])[codes]
    return _finite(numbers, blank, column, name), blank


def _by_labels(
    codes: npt.NDArray[Any],
    texts: list[str],
    blank: npt.NDArray[np.bool_],
    out: Mapping[str, Any],
    scales: Mapping[str, Scale],
    name: str,
) -> npt.NDArray[np.float64]:
    """Return answers that may be labels of their criterion's scale."""
    criteria = out.get("criterion")
    values = np.full(len(codes), np.nan)
    names = [""] if criteria is None else list(criteria.cat.categories)
    for position, criterion in enumerate(names):
        here = ~blank & (True if criteria is None else criteria.cat.codes.to_numpy() == position)
        scale = scales.get(criterion) or scales.get("") or Scale()
        for code in np.unique(codes[here]):
            text = texts[code]
            number = None if text in scale.labels else as_number(text)
            try:
                value = scale.convert(text) if number is None else number
            except MeasurandError as error:
                row = int((here & (codes == code)).argmax())
                raise MeasurandError(f"answers: column {name!r}, data row {row + 1}: {error}") from error
            values[here & (codes == code)] = value
    return values


def _finite(
    numbers: npt.NDArray[np.float64], blank: npt.NDArray[np.bool_], column: pd.Series[Any], name: str
) -> npt.NDArray[np.float64]:
    wrong = ~blank & ~np.isfinite(numbers)
    if wrong.any():
        row = int(wrong.argmax())
        raise MeasurandError(
            f"answers: {column.iloc[row]!r} in column {name!r} at data row {row + 1} is no finite number; leave it "
            "blank and say why by its status"
        )
    return numbers


def _statuses(column: pd.Series[Any] | None, blank: npt.NDArray[np.bool_], name: str) -> npt.NDArray[Any]:
    assumed = np.where(blank, "not_returned", "ok").astype(object)
    if column is None:
        return assumed
    codes, uniques = pd.factorize(column)
    texts = ["" if str(value).strip().lower() in MISSING else str(value).strip().lower() for value in uniques]
    if wrong := [text for text in texts if text and text not in STATUSES]:
        row = int((codes == texts.index(wrong[0])).argmax())
        raise MeasurandError(
            f"answers: status {wrong[0]!r} in column {name!r} at data row {row + 1}; allowed are {', '.join(STATUSES)}"
        )
    given = np.array([*texts, ""], dtype=object)[codes]
    states = np.where(given == "", assumed, given)
    hollow = blank & np.isin(states, ANSWERED)
    if hollow.any():
        row = int(hollow.argmax())
        raise MeasurandError(
            f"answers: data row {row + 1} has status {states[row]!r} but no answer; say what became of it: "
            f"{', '.join(one for one in STATUSES if one not in ANSWERED)}"
        )
    return states


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settle_repeats(frame: pd.DataFrame, repeats: Repeats, *, labels: bool) -> pd.DataFrame:
    """Refuse several answers to one question under one protocol, or make them one as the user said."""
    roles = [role for role in (*_IDS, *PROTOCOL) if role in frame]
    codes, sizes = [], []
    for role in roles:
        column = frame[role]
        code = column.cat.codes.to_numpy() if role in _IDS else pd.factorize(column)[0]
        codes.append(np.asarray(code, dtype=np.int64))
        sizes.append(int(codes[-1].max()) + 1)
    key = combine_codes(codes, sizes)
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    if again.size == 0:
        return frame
    if repeats == "refuse" or (repeats == "mean" and labels):
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        where = ", ".join(f'{role} "{_shown(frame[role].iloc[first])}"' for role in roles)
        differ = [str(column) for column in frame.columns if frame[column].iloc[first] != frame[column].iloc[second]]
        criterion, counted = Setting("criterion"), Setting("repeats")
        telling = [column for column in differ if column not in (*roles, "answer", "status", *_NUMBERS, *_KEPT_BOOKS)]
        hint = f" Column {telling[0]!r} tells them apart: if it is the protocol, call it protocol." if telling else ""
        if "repeat" in differ:
            hint = " They are repeats of the same request (column 'repeat')."
        if not hint and "criterion" not in frame:
            hint = f" If several quantities were asked, name their column: {criterion}."
        ways = "first or last" if labels else "first, last or mean"
        raise TableError(
            f"{again.size} question{'s' if again.size > 1 else ''} answered twice under one protocol: data rows "
            f"{first + 1} and {second + 1} ({where}). Drop one of each, or say which counts by {counted} "
            f"({ways}).{hint}",
            criterion,
            counted,
        )
    # Repeats that failed do not take the place of one that answered.
    answered = frame["status"].isin(ANSWERED).to_numpy()
    order = np.lexsort((np.arange(len(key)), ~answered if repeats != "last" else answered, key))
    starts = np.r_[0, np.flatnonzero(np.diff(key[order])) + 1]
    if repeats == "last":
        return frame.iloc[np.sort(order[np.r_[starts[1:], len(key)] - 1])]
    kept = frame.iloc[order[starts]].copy()
    if repeats == "mean":
        for name in ("answer", *(one for one in _NUMBERS if one in frame)):
            values = frame[name].to_numpy(dtype=float)[order]
            known = ~np.isnan(values)
            sums = np.add.reduceat(np.where(known, values, 0.0), starts)
            counts = np.add.reduceat(known.astype(float), starts)
            kept[name] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return kept.sort_index()


def hold_names(frame: pd.DataFrame, column: str) -> bool:
    """Tell whether a column of answers holds names of classes: some text that is neither a number nor missing.

    Examples
    --------
    >>> hold_names(pd.DataFrame({"answer": ["0.5", ""]}), "answer"), hold_names(pd.DataFrame({"a": ["joy"]}), "a")
    (False, True)
    """
    if column not in frame or pd.api.types.is_any_real_numeric_dtype(frame[column].dtype):
        return False
    texts = (str(one).strip() for one in pd.unique(frame[column]) if one is not None)
    return any(text.lower() not in MISSING and as_number(text) is None for text in texts)


def as_answers(answers: Answers | Any) -> Answers:
    """Return checked answers as they are; read anything else, as names of classes where an answer is no number."""
    if isinstance(answers, Answers):
        return answers
    frame = read_table(answers)
    return read_answers(frame, labels=hold_names(frame, "answer"))
