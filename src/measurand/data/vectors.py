"""Vectors of items, such as embeddings: one row of numbers for each item, with the item's id."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.ratings import ids as ids_of
from measurand.data.read import read_table
from measurand.result import MeasurandError

#: What a table of items says of an item, if it says it.
ROLES: Final = ("language", "label", "group", "parallel")

#: Numbers of one block that is looked through at a time; a file that is read from disk never is in memory as a whole.
_BLOCK: Final = 2**22
_NEEDED: Final = (
    "It needs the array 'vectors' (a row of numbers for each item) and 'ids' (the items, as text); save it again as "
    "numpy.savez(path, vectors=..., ids=...)"
)
_IDS: Final = "Give the items in a text file beside it ({stem}.ids.txt, one a line; or {stem}.ids.csv, column item)"


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors that one encoder gave to items.

    Parameters
    ----------
    name : str
        What the vectors are called in results, for example the encoder.
    ids : tuple of str
        The item of each row.
    values : ndarray, shape (n_items, n_dimensions)
        Floating-point numbers as they were stored (16, 32 or 64 bits), all finite; may be mapped from disk.

    Raises
    ------
    MeasurandError
        If it is no table of numbers with one row for each id, an id is blank or occurs twice, or a number is not
        finite.

    Examples
    --------
    >>> Vectors("encoder", ("a", "b"), np.eye(2)).n_dimensions
    2
    """

    name: str
    ids: tuple[str, ...]
    values: npt.NDArray[np.floating[Any]] = field(repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] == 0:
            shape = " x ".join(map(str, self.values.shape)) or "a single number"
            raise MeasurandError(f"vectors {self.name!r} are {shape}; expected a row of numbers for each item")
        if len(self.ids) != len(self.values):
            raise MeasurandError(
                f"vectors {self.name!r} have {len(self.values)} rows and {len(self.ids)} ids; each row needs its own"
            )
        if len(self.ids) == 0:
            raise MeasurandError(f"vectors {self.name!r} have no rows")
        if len(set(self.ids)) < len(self.ids):
            first: dict[str, int] = {}
            for row, name in enumerate(self.ids, start=1):
                if first.setdefault(name, row) != row:
                    raise MeasurandError(
                        f'vectors {self.name!r}: item "{name}" has rows {first[name]} and {row}; an item has one vector'
                    )
        for start in range(0, len(self.values), step := max(1, _BLOCK // self.values.shape[1])):
            wrong = ~np.isfinite(self.values[start : start + step])
            if wrong.any():
                row, column = (int(at) for at in np.argwhere(wrong)[0])
                value = self.values[start + row, column]
                raise MeasurandError(
                    f'vectors {self.name!r}: dimension {column + 1} of item "{self.ids[start + row]}" (row '
                    f"{start + row + 1}) is {value}; all numbers are finite. Leave the row out if there is no vector"
                )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_dimensions(self) -> int:
        """How many numbers each vector has."""
        return int(self.values.shape[1])


def read_vectors(source: Any, *, ids: Any = None, name: str | None = None) -> Vectors:
    """Read and check vectors of items.

    Parameters
    ----------
    source : path, array or data frame
        `.npz` with the arrays `vectors` and `ids`; `.npy`, whose ids stand beside it or are given; Parquet or a data
        frame with a column `item` and either one list in each cell of a column `vector` or one column for each
        dimension; or an array. Nothing pickled is read.
    ids : sequence of str, table with a column item, or None
        The item of each row, where the source does not say.
    name : str or None
        What the vectors are called; None takes the file's name without its suffix.

    Returns
    -------
    Vectors
        A `.npy` file is mapped, not loaded. Whole numbers become 64-bit floating-point numbers.

    Raises
    ------
    MeasurandError
        If the file cannot be read, has no ids, or fails a check of `Vectors`.

    Examples
    --------
    >>> read_vectors(np.array([[1.0, 0.0], [0.6, 0.8]]), ids=["a", "b"], name="encoder")
    Vectors(name='encoder', ids=('a', 'b'))
    """
    given = None if ids is None else _ids(ids)
    if isinstance(source, str | Path):
        path = Path(source)
        called = name if name is not None else path.name.split(".")[0]
        kind = path.suffix.lower()
        if kind in (".npy", ".npz"):
            array, found = _load(path, is_archive=kind == ".npz")
            known = given or found or _beside(path)
            if known is None:
                raise MeasurandError(f"{path}: no ids. {_IDS.format(stem=path.with_suffix(''))}")
            return Vectors(called, known, _numbers(array, str(path)))
        if kind not in (".parquet", ".pq"):
            raise MeasurandError(f"{path}: the suffix {kind!r} is none of vectors; give .npz, .npy or .parquet")
        return _of_frame(read_table(path), called, given, str(path))
    called = name if name is not None else "vectors"
    if isinstance(source, np.ndarray | list | tuple):
        if given is None:
            raise MeasurandError(
                f"vectors {called!r}: an array says nothing of items; give their ids, one for each row"
            )
        return Vectors(called, given, _numbers(np.asarray(source), f"vectors {called!r}"))
    return _of_frame(read_table(source), called, given, f"vectors {called!r}")


def read_vector_items(source: Any) -> pd.DataFrame:
    """Read what a table says of items: their language, label, group, and what they are parallel to.

    Parameters
    ----------
    source : path or data frame
        A table with a column `item` and any of `ROLES`; an item may stand in several rows (one for each system, say) if
        they say the same of it.

    Returns
    -------
    pandas.DataFrame
        One row for each item, text columns `item` and those of `ROLES` that there are; blank cells are empty text.

    Raises
    ------
    MeasurandError
        If there is no column `item`, or two rows say different things of an item.

    Examples
    --------
    >>> read_vector_items(pd.DataFrame({"item": ["a", "a"], "language": ["bn", "bn"]})).to_numpy().tolist()
    [['a', 'bn']]
    """
    table = read_table(source)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    if "item" not in table.columns:
        there = ", ".join(map(repr, table.columns[:12]))
        raise MeasurandError(f"items of vectors: no column 'item'; the table has {there}")
    out: dict[str, Any] = {"item": ids_of(table["item"], "item", 1).astype(str).to_numpy(dtype=object)}
    for role in ROLES:
        if role in table.columns:
            cells = table[role].astype(object)
            out[role] = cells.where(cells.notna(), "").astype(str).str.strip().to_numpy(dtype=object)
    frame = pd.DataFrame(out).drop_duplicates(ignore_index=True)
    again = frame["item"].duplicated().to_numpy()
    if again.any():
        item = frame["item"].iloc[int(again.argmax())]
        told = frame[frame["item"] == item]
        role = next(role for role in frame.columns[1:] if len(set(told[role])) > 1)
        raise MeasurandError(
            f'items of vectors: item "{item}" has the {role}s {" and ".join(map(repr, told[role].unique()[:2]))}; '
            "an item has one"
        )
    return frame


def _load(path: Path, *, is_archive: bool) -> tuple[npt.NDArray[Any], tuple[str, ...] | None]:
    """Return the array of a NumPy file, and the ids of an archive that has them."""
    try:
        if not is_archive:
            return np.load(path, allow_pickle=False, mmap_mode="r"), None
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise MeasurandError(f"{path}: not an archive of arrays; save it with numpy.savez, or name it .npy")
            if "vectors" not in archive.files:
                raise MeasurandError(f"{path}: no array 'vectors'; the archive holds {_held(archive)}. {_NEEDED}")
            found = _ids(archive["ids"]) if "ids" in archive.files else None
            return archive["vectors"], found
    except FileNotFoundError as error:
        raise MeasurandError(f"{path}: no such file") from error
    except MeasurandError:
        raise
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error) or "objects in dtype" in str(error):
            raise MeasurandError(
                f"{path}: it holds Python objects, which are not read because reading them would run code; save numbers"
                " as a float array and ids as an array of text"
            ) from error
        raise MeasurandError(f"{path}: not a readable NumPy file ({' '.join(str(error).split())[:200]})") from error


def _held(archive: np.lib.npyio.NpzFile) -> str:
    """Return the arrays of an archive with their shapes, for a message."""
    told = []
    for name in archive.files[:8]:
        try:
            shape = " x ".join(map(str, archive[name].shape)) or "one value"
        except ValueError:  # Python objects, which are not read
            shape = "Python objects"
        told.append(f"{name!r} ({shape})")
    more = f" and {len(archive.files) - 8} more" if len(archive.files) > 8 else ""
    return ", ".join(told) + more if told else "nothing"


def _beside(path: Path) -> tuple[str, ...] | None:
    """Return the ids that stand in a file beside the vectors."""
    lines = path.with_suffix(".ids.txt")
    if lines.is_file():
        try:
            rows = lines.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise MeasurandError(f"{lines}: not UTF-8; save the file as UTF-8") from error
        return _ids(rows[:-1] if rows[-1] == "" else rows)
    table = path.with_suffix(".ids.csv")
    # A table of one column is no table elsewhere; here it is what one expects.
    return _ids(pd.read_csv(table, dtype=str, keep_default_na=False)) if table.is_file() else None


def _ids(source: Any) -> tuple[str, ...]:
    """Return ids as text from a sequence, an array, or a table with a column of items."""
    if isinstance(source, str | Path):
        source = read_table(source)
    if not isinstance(source, Sequence | np.ndarray | pd.Series):
        table = read_table(source)
        if "item" not in table.columns:
            raise MeasurandError(f"ids: no column 'item'; the table has {', '.join(map(repr, table.columns[:12]))}")
        source = table["item"]
    if isinstance(source, np.ndarray) and source.ndim != 1:
        raise MeasurandError(f"ids are an array of {source.ndim} dimensions; expected one id for each row")
    return tuple(ids_of(pd.Series(list(source), dtype=getattr(source, "dtype", None)), "item", 1).astype(str))


def _numbers(array: npt.NDArray[Any], where: str) -> npt.NDArray[np.floating[Any]]:
    """Return an array of numbers as floating-point ones, those that are left as they are."""
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return array
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    raise MeasurandError(f"{where}: the vectors are of type {array.dtype}; expected floating-point or whole numbers")


def _of_frame(table: pd.DataFrame, name: str, given: tuple[str, ...] | None, where: str) -> Vectors:
    """Return the vectors of a table: a list in each cell, or a column for each dimension."""
    table = table.set_axis([str(column) for column in table.columns], axis=1)
    if given is None:
        if "item" not in table.columns:
            there = ", ".join(map(repr, table.columns[:12]))
            raise MeasurandError(f"{where}: no column 'item'; the table has {there}")
        given = _ids(table["item"])
    table = table.drop(columns="item", errors="ignore")
    if "vector" in table.columns:
        cells = [np.asarray(cell) for cell in table["vector"]]
        shapes = [cell.shape for cell in cells]
        if odd := [row for row, shape in enumerate(shapes) if shape != shapes[0]]:
            size = shapes[odd[0]][0] if len(shapes[odd[0]]) == 1 else None
            found = "no list" if size is None else f"{size} number{'' if size == 1 else 's'}"
            raise MeasurandError(
                f"{where}: the vector of data row {odd[0] + 1} has {found}, that of data row 1 "
                f"{len(cells[0]) if shapes[0] else 'none'}; all have the same"
            )
        return Vectors(name, given, _numbers(np.stack(cells), where))
    if text := [column for column in table.columns if not pd.api.types.is_numeric_dtype(table[column])]:
        raise MeasurandError(
            f"{where}: column {text[0]!r} holds no numbers; expected `item` and a column for each dimension, or `item` "
            "and one column `vector` of lists"
        )
    return Vectors(name, given, _numbers(table.to_numpy(), where))
