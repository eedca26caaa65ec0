"""The ratings table: who gave which rating to which system on which item, checked once and then trusted."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.faults import MORE, Setting, TableError
from measurand.data.marks import DecimalMark, Marks
from measurand.data.names import natural_order
from measurand.data.ratings_faults import fault_of
from measurand.data.read import read_table
from measurand.data.scale import Level, Scale, as_number, scales_for
from measurand.result import MeasurandError

Repeats = Literal["refuse", "first", "last", "mean"]

_ROLES = ("item", "system", "rater", "criterion", "occasion")
_REQUIRED = ("item", "rater", "rating")


@dataclass(frozen=True)
class Ratings:
    """A checked table of ratings.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each rating: categorical columns `item`, `rater` and, if there are any, `system` and `criterion`;
        a float column `rating`; whatever other columns the table had.
    scales : mapping
        Criterion to its `Scale`; the key "" serves all criteria that have none of their own.
    n_blank : mapping
        Criterion to the number of rows whose rating was blank or N/A; such rows are counted here and then left out.
    categories : mapping
        Criterion to the labels of a nominal scale that declares none; the ratings are their positions.
    columns : mapping
        Role to the column of the table that was read for it, None where there was none.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["a", "b", "a", "b"], "rater": ["ann", "ann", "ben", "ben"],
    ...                       "rating": [4, 5, 3, None]})
    >>> ratings = read_ratings(table, scale=Scale(1, 5, step=1))
    >>> len(ratings), ratings.criteria, ratings.n_blank
    (3, [''], {'': 1})
    """

    frame: pd.DataFrame
    scales: Mapping[str, Scale]
    n_blank: Mapping[str, int]
    categories: Mapping[str, Sequence[str]]
    columns: Mapping[str, str | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def criteria(self) -> list[str]:
        """The criteria in natural order; one blank name where the table has no such column."""
        if "criterion" not in self.frame:
            return [""]
        return list(self.frame["criterion"].cat.categories)

    def scale(self, criterion: str) -> Scale:
        """Return the scale of a criterion, an undeclared one where the user declared none."""
        return self.scales.get(criterion) or self.scales.get("") or Scale()


def read_ratings(
    source: Any,
    *,
    item: str | None = None,
    system: str | None = None,
    rater: str | None = None,
    rating: str | None = None,
    criterion: str | None = None,
    occasion: str | None = None,
    order: str | None = None,
    wide: Sequence[str] = (),
    scale: Scale | Mapping[str, Scale] | None = None,
    level: Level | None = None,
    labels: Sequence[str] = (),
    repeats: Repeats = "refuse",
    delimiter: str | None = None,
    decimal: DecimalMark = ".",
    missing: Sequence[str] = (),
) -> Ratings:
    """Read and check a ratings table.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, JSON Lines, Parquet (also gzipped), pandas, or any frame that narwhals reads.
    item, system, rater, rating, criterion, occasion : str or None
        The table's own names of these columns; None takes the column of that very name. `system`, `criterion` and
        `occasion` may be absent.
    order : str or None
        The column with the position at which a rater saw a cell (a number or a time stamp); where it is named, drift of
        severity and runs of equal ratings can be told. The order of rows is never taken for it.
    wide : sequence of str
        The columns that hold one rater each, for a table with a row for each item (and system); the other arguments
        then name the id columns.
    scale : Scale, mapping of criterion to Scale, or None
        The permitted ratings; never inferred from the sample.
    level : {"nominal", "ordinal", "interval", "ratio"} or None
        Level of measurement of scales that declare none.
    labels : sequence of str
        Text ratings in ascending order, in place of a scale.
    repeats : {"refuse", "first", "last", "mean"}
        What to do with several ratings of one cell by one rater (also on several occasions), in the order of the
        table's rows.
    delimiter : str or None
        What stands between the cells of a .csv or .tsv file, such as ``";"``; None takes a comma, and a tab in .tsv.
    decimal : {".", ","}
        The decimal mark of ratings. With a comma, a rating with a point is refused.
    missing : str or sequence of str
        Ratings that stand for none, such as ``"-"`` or ``"k.A."``, beside blank and N/A.

    Returns
    -------
    Ratings
        The checked table.

    Raises
    ------
    MeasurandError
        Named but absent columns, blank ids, repeated cells, ratings outside the scale or that are not numbers: with
        row, column, value, what is allowed and what to do. Rows count from 1, the header not counted.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["a", "a"], "rater": ["R1", "R2"], "rating": ["10", "2"]})
    >>> read_ratings(table).frame["rating"].tolist()
    [10.0, 2.0]
    """
    if repeats not in ("refuse", "first", "last", "mean"):
        raise MeasurandError(f"repeats {repeats!r}; allowed are refuse, first, last, mean")
    scales = scales_for(scale, level, labels)
    marks = Marks(delimiter, decimal, missing)
    table = read_table(source, delimiter=marks.delimiter)
    table = table.set_axis([str(column) for column in table.columns], axis=1)
    named = {
        "item": item,
        "system": system,
        "rater": rater,
        "rating": rating,
        "criterion": criterion,
        "occasion": occasion,
        "order": order,
    }
    per_row, own = 1, [column for column in table.columns if column not in wide]
    if wide:
        if isinstance(wide, str):
            raise MeasurandError(f"wide={wide!r}; give a sequence of column names")
        table, per_row = _lengthen(table, list(wide), named), len(wide)
        named |= {"rater": "rater", "rating": "rating"}
    columns = _columns(table, named, own, wide)
    out = {
        role: ids(table[column], column, per_row) for role, column in columns.items() if role not in ("rating", "order")
    }
    others = [c for c in table.columns if c not in columns.values() and c not in (*_ROLES, "rating", "order")]

    criteria = out.get("criterion")
    names = [""] if criteria is None else list(criteria.cat.categories)
    if unknown := sorted(set(scales) - set(names) - {""}):
        there = f"it has {_listing(names)}" if criteria is not None else "it has no criterion column"
        raise MeasurandError(
            f"a scale is declared for the criterion {unknown[0]!r}, which the table does not have; {there}"
        )
    labels_of_any = {label for one in scales.values() for label in one.labels}
    given = marks.plain(table[columns["rating"]], columns["rating"], per_row=per_row, labels=labels_of_any)
    values, blank, categories = _ratings_of(given, out, scales, columns["rating"], per_row)
    n_blank = {
        name: int((blank if criteria is None else blank & (criteria == name).to_numpy()).sum()) for name in names
    }
    frame = pd.DataFrame({**out, "rating": values}, copy=False)
    if "order" in columns:
        frame["order"] = _positions(table[columns["order"]], columns["order"], per_row)
    for column in others:
        frame[column] = table[column].to_numpy()
    if blank.any():
        frame = frame[~blank]
        for role in out:
            if role != "criterion":  # a criterion without any rating is kept, and said to be empty
                frame[role] = frame[role].cat.remove_unused_categories()
    if len(frame) == 0:
        raise MeasurandError(f"column {columns['rating']!r} holds no rating: all {len(table)} cells are blank or N/A")
    if repeats == "mean" and any(one.level == "nominal" for one in scales.values()):
        _settle_repeats(frame, "refuse", per_row, scales, categories, "first or last (names have no mean)")
    frame = _settle_repeats(frame, repeats, per_row, scales, categories)
    read = {role: columns.get(role) for role in named}
    return Ratings(frame.reset_index(drop=True), scales, n_blank, categories, read)


def as_ratings(ratings: Ratings | Any) -> Ratings:
    """Return checked ratings as they are, and read anything else with the default column names."""
    return ratings if isinstance(ratings, Ratings) else read_ratings(ratings)


def _columns(
    table: pd.DataFrame, named: Mapping[str, str | None], own: Sequence[str], wide: Sequence[str]
) -> dict[str, str]:
    """Return role to column, refusing what is named but absent and what is needed but missing.

    `own` are the columns of the table as it was given, those of its raters (`wide`) aside.
    """
    available = list(table.columns)
    there = _listing([*own, *wide])
    columns: dict[str, str] = {}
    for role, name in named.items():
        if name is not None and name not in available:
            close = difflib.get_close_matches(name, own, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TableError(f"no column {name!r} for {role}; the table has {there}{hint}")
        if name is not None:
            columns[role] = name
        elif role in available and role != "order":
            # A column that happens to be called order is no statement about presentation: it must be named.
            columns[role] = role
    if absent := [role for role in _REQUIRED if role not in columns]:
        role = absent[0]
        free = [column for column in own if column not in columns.values()]
        example = Setting(role, (free[-1] if role == "rating" else free[0]) if free else "")
        settings = [example]
        told = f"Name the right one, for example {example}" if free else f"Name the right one, {example}"
        if not wide:
            settings.append(Setting("wide", ("R1", "R2", MORE)))
            told += f"; a table with a column for each rater is read with {settings[-1]}"
        if role == "rater":
            told += "; ratings merged over raters cannot be audited: individual raters are the unit"
        raise TableError(f"no column {role!r}; the table has {there}. {told}", *settings)
    taken: dict[str, str] = {}
    for role, column in columns.items():
        if column in taken:
            raise MeasurandError(
                f"column {column!r} is named both as {taken[column]} and as {role}; each needs its own"
            )
        taken[column] = role
    return columns


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _lengthen(table: pd.DataFrame, raters: list[str], named: dict[str, str | None]) -> pd.DataFrame:
    """Turn a column for each rater into rows, in the order of the table's rows."""
    for name in raters:
        if name not in table.columns:
            close = difflib.get_close_matches(name, list(table.columns), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            whole = [one for one in map(str, table.columns) if "," in one and name in map(str.strip, one.split(","))]
            setting = Setting("wide", (whole[0] if whole else "", MORE))
            if whole:
                hint += f"; a name with a comma is quoted as one: {setting}"
            raise TableError(
                f"no column {name!r} for a rater; the table has {_listing(list(table.columns))}{hint}",
                *([setting] if whole else []),
            )
    if len(set(raters)) < len(raters):
        raise MeasurandError(f"a rater column is named twice in {_listing(raters)}")
    if len(raters) < 2:
        raise MeasurandError(f"one rater column, {raters[0]!r}; a wide table needs at least two")
    for role in ("rater", "rating"):
        if named[role] is not None:
            one, other = Setting(role, str(named[role])), Setting("wide")
            raise TableError(
                f"{one} does not go with {other}: there the columns {_listing(raters)} are the raters", one, other
            )
    keep = [c for c in table.columns if c not in raters and c not in ("rater", "rating")]
    long = table[keep].loc[table.index.repeat(len(raters))].reset_index(drop=True)
    long["rater"] = np.tile(np.array(raters, dtype=object), len(table))
    cells = table[raters].to_numpy(
        dtype=object if any(pd.api.types.is_object_dtype(dtype) for dtype in table[raters].dtypes) else None
    )
    long["rating"] = cells.ravel()
    return long


def ids(column: pd.Series[Any], name: str, per_row: int) -> pd.Series[Any]:
    """Return a column of ids as categorical text, without ever making one text for each row."""
    codes, uniques = pd.factorize(column)
    if (codes < 0).any():
        raise MeasurandError(
            f"column {name!r} is blank in data row {int((codes < 0).argmax()) // per_row + 1}; every rating needs it"
        )
    if len(uniques) and isinstance(uniques[0], float | np.floating):
        whole = [float(value).is_integer() for value in uniques]
        digits = np.finfo(np.asarray(uniques[:1]).dtype).nmant + 1
        if all(whole) and max(abs(float(value)) for value in uniques) >= 2**digits:
            raise MeasurandError(
                f"column {name!r} holds ids as floating-point numbers beyond 2^{digits}: they have lost digits; "
                "keep ids as text"
            )
        texts = [str(int(value)) if all(whole) else repr(float(value)) for value in uniques]
    else:
        texts = [str(value) for value in uniques]
    stripped: dict[str, str] = {}
    for text in texts:
        bare = text.strip()
        if not bare:
            at = int((codes == texts.index(text)).argmax()) // per_row + 1
            raise MeasurandError(f"column {name!r} is blank in data row {at}; every rating needs it")
        if stripped.setdefault(bare, text) != text:
            raise MeasurandError(
                f"column {name!r} has both {stripped[bare]!r} and {text!r}, which differ only by spaces; make them one"
            )
    distinct = sorted(set(texts)) if len(set(texts)) > 10_000 else natural_order(list(set(texts)))
    position = {text: i for i, text in enumerate(distinct)}
    mapped = np.array([position[text] for text in texts], dtype=np.int32)[codes]
    return pd.Series(pd.Categorical.from_codes(mapped, categories=pd.Index(distinct, dtype=object)), name=name)


def _positions(column: pd.Series[Any], name: str, per_row: int) -> npt.NDArray[np.float64]:
    """Return presentation order as ranks: numbers by size, time stamps by time."""
    given = pd.to_numeric(column, errors="coerce")
    if given.isna().any() and not pd.api.types.is_numeric_dtype(column.dtype):
        given = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    if given.isna().any():
        row = int(given.isna().to_numpy().argmax())
        raise MeasurandError(
            f"column {name!r}: {str(column.iloc[row])!r} at data row {row // per_row + 1} is no position; the order in "
            "which a rater saw the cells is given by numbers, or by time stamps like 2026-11-30T12:00:00"
        )
    return np.asarray(given.rank(method="dense").to_numpy(dtype=float))


def _ratings_of(
    column: pd.Series[Any],
    ids: Mapping[str, pd.Series[Any]],
    scales: Mapping[str, Scale],
    name: str,
    per_row: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], dict[str, Sequence[str]]]:
    """Return the ratings as numbers, where they are blank, and the categories of undeclared nominal scales."""
    criteria = ids.get("criterion")
    names = [""] if criteria is None else list(criteria.cat.categories)
    values = np.full(len(column), np.nan)
    blank = np.zeros(len(column), dtype=bool)
    categories: dict[str, Sequence[str]] = {}
    faults: list[tuple[int, str]] = []
    is_number = pd.api.types.is_any_real_numeric_dtype(column.dtype)
    codes, uniques = (None, None) if is_number else _factorized(column)
    numbers = column.to_numpy(dtype=float, na_value=np.nan) if is_number else None
    for position, criterion in enumerate(names):
        scale = scales.get(criterion) or scales.get("") or Scale()
        here = slice(None) if criteria is None else np.flatnonzero(criteria.cat.codes.to_numpy() == position)
        rows = np.arange(len(column))[here]
        if numbers is not None and not scale.labels:
            given = numbers[here]
            blank[rows] = np.isnan(given)
            values[rows] = given
            wrong = ~np.isnan(given) & ~scale.permitted(given)
            faults += [(int(row), f"{values[row]:g}") for row in rows[wrong]]
            continue
        if codes is None or uniques is None:
            codes, uniques = _factorized(column)
        used = np.unique(codes[here])
        texts = {int(code): _text(uniques[code]) for code in used if code >= 0}
        kept = {code: text for code, text in texts.items() if not scale.is_missing(text)}
        if scale.level == "nominal" and not scale.labels and any(as_number(text) is None for text in kept.values()):
            # Without a declared order the categories are only names; their positions serve as codes.
            categories[criterion] = natural_order(sorted({text.strip() for text in kept.values()}))
            scale = Scale(labels=categories[criterion], level="nominal") if len(categories[criterion]) > 1 else scale
        converted = np.full(len(uniques) + 1, np.nan)
        bad = np.zeros(len(uniques) + 1, dtype=bool)
        for code, text in kept.items():
            try:
                converted[code] = scale.convert(text) if len(categories.get(criterion, "..")) > 1 else 0.0
            except MeasurandError:
                bad[code] = True
            bad[code] |= not np.isfinite(converted[code])
        values[rows] = converted[codes[here]]
        faults += [(int(row), _text(uniques[codes[row]])) for row in rows[bad[codes[here]]]]
        blank[rows] = np.isnan(values[rows])
    if faults:
        raise fault_of(sorted(faults), ids, scales, name, criteria is not None, per_row)
    return values, blank, categories


def _factorized(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    try:
        codes, uniques = pd.factorize(column)
    except TypeError as error:
        raise MeasurandError(f"column {column.name!r} holds lists or objects; a rating is one value") from error
    return codes, list(uniques)


def _text(value: Any) -> str:
    return str(value.item() if hasattr(value, "item") else value)


def _settle_repeats(
    frame: pd.DataFrame,
    repeats: Repeats,
    per_row: int,
    scales: Mapping[str, Scale],
    categories: Mapping[str, Sequence[str]],
    ways: str = "first, last or mean",
) -> pd.DataFrame:
    """Refuse or settle several ratings of one cell by one rater."""
    cell = [role for role in ("criterion", "item", "system", "rater") if role in frame]
    codes = [np.asarray(frame[role].cat.codes, dtype=np.int64) for role in cell]
    key = combine_codes(codes, [len(frame[role].cat.categories) for role in cell])
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    if again.size == 0:
        return frame
    if repeats == "refuse":
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        where = ", ".join(f'{role} "{frame[role].iloc[first]}"' for role in cell)
        criterion = str(frame["criterion"].iloc[first]) if "criterion" in frame else ""
        scale = scales.get(criterion) or scales.get("") or Scale()
        if len(named := categories.get(criterion, ())) > 1:
            scale = Scale(labels=named, level="nominal")
        a, b = (scale.spell(frame["rating"].iloc[row]) for row in (first, second))
        occasions = " (on different occasions)" if _differ(frame, first, second) else ""
        counted = Setting("repeats")
        told = f"Drop one of each, or say which counts by {counted} ({ways})."
        settings = [counted]
        if telling := _telling(frame, key, first, second):
            settings.append(Setting("criterion", telling))
            says = f"says what was graded, name it: {settings[-1]}"
            if "system" not in frame:
                settings.append(Setting("system", telling))
                says = f"says whose output was graded, name it: {settings[-1]}; if it {says}"
            told = f"If column {telling!r} {says}. If they are repeats, d{told[1:]}"
        raise TableError(
            f"{again.size} cell{'s' if again.size > 1 else ''} rated twice by one rater{occasions}: data rows "
            f"{int(frame.index[first]) // per_row + 1} and {int(frame.index[second]) // per_row + 1} ({where}) "
            f"hold {a} and {b}. {told}",
            *settings,
        )
    starts = np.r_[0, np.flatnonzero(np.diff(key[order])) + 1]
    if repeats == "mean":
        sums = np.add.reduceat(frame["rating"].to_numpy()[order], starts)
        sizes = np.diff(np.r_[starts, len(key)])
        kept = frame.iloc[order[starts]].copy()
        kept["rating"] = sums / sizes
        return kept.sort_index()
    ends = np.r_[starts[1:], len(key)] - 1
    return frame.iloc[np.sort(order[starts if repeats == "first" else ends])]


def _telling(frame: pd.DataFrame, key: npt.NDArray[np.int64], first: int, second: int) -> str:
    """Return the column that tells repeated cells apart, of several the one with the fewest values; blank for none."""
    columns = [
        column
        for column in frame.columns
        if column not in (*_ROLES, "rating", "order") and frame[column].iloc[first] != frame[column].iloc[second]
    ]
    left = {}
    for column in columns:
        codes, values = pd.factorize(frame[column])
        pairs = combine_codes([np.asarray(key), codes.astype(np.int64) + 1], [int(key.max()) + 1, len(values) + 1])
        left[column] = (len(pairs) - len(np.unique(pairs)), len(values))
    return str(min(left, key=lambda column: left[column])) if left else ""


def _differ(frame: pd.DataFrame, first: int, second: int) -> bool:
    return "occasion" in frame and frame["occasion"].iloc[first] != frame["occasion"].iloc[second]


def combine_codes(codes: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return one integer for each combination of codes, compacted where the product of sizes would overflow."""
    key, size = codes[0].astype(np.int64), sizes[0]
    for code, n in zip(codes[1:], sizes[1:], strict=True):
        if size * n > 2**62:
            distinct, key = np.unique(key, return_inverse=True)
            size = len(distinct)
        key, size = key * n + code, size * n
    return key
