"""Drawn faces of known expressions: items that a vision-language model can be asked about, and what is true of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from measurand.data.items import read_items
from measurand.result import MeasurandError
from measurand.simulate.faces_canvas import Pixels
from measurand.simulate.faces_drawing import draw_face
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.simulate.faces_folder import check_folder, write_faces
from measurand.simulate.faces_identities import Identity, draw_identity, draw_scene
from measurand.stats.inference import IntArray, stream

Kind = Literal["graded", "mixed"]

#: The expressions that are drawn where none are named; the other two are harder to tell apart from some of them.
USUAL: Final = tuple(EXPRESSIONS)[:12]

#: So that ids have one width whatever the number of items: then more of them leave the ids of the others alone.
_MOST_ITEMS: Final = 99_999
_MOST_PERSONS: Final = 9_999

_SIZES: Final = (16, 1024)

#: In a mixture the second and third expression reach at most this.
_SECONDARY: Final = 0.6

_SHEET_LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHEET_PERSONS: Final = 12
_SHEET_INTENSITY: Final = 0.8


def simulate_faces(
    *,
    n_items: int,
    n_persons: int,
    seed: int = 0,
    size: int = 64,
    kind: Kind = "graded",
    expressions: Sequence[str] = USUAL,
    held_out: float = 0.25,
    out: Path | str | None = None,
) -> pd.DataFrame:
    """Return the items table of drawn faces with the true intensity of every expression, and write the pictures.

    Parameters
    ----------
    n_items : int
        Number of pictures, 1 to 99,999.
    n_persons : int
        Number of persons, 1 to `n_items`; each has as many pictures as any other, or one less.
    seed : int
        The one seed, 0 or above.
    size : int
        Width and height of the pictures in pixels, 16 to 1,024. It changes no picture but in its sharpness and noise.
    kind : {"graded", "mixed"}
        ``graded``: one expression at an intensity drawn evenly from 0 to 1. ``mixed``: one to three expressions, the
        second and third at up to .6. In both, one picture in as many as there are expressions plus one is neutral.
    expressions : sequence of str
        Which expressions, of `EXPRESSIONS`.
    held_out : float
        Share of the persons whose pictures are in the split ``test``, 0 or more and below 1.
    out : path or None
        A folder for the pictures and tables, absent, empty, or one that this function wrote: it is written whole or not
        at all. None draws nothing.

    Returns
    -------
    pandas.DataFrame
        One row for each picture: `item` (``F00001``, …), `image` (the picture's path from the folder), `group` (the
        person, ``P0001``, …), `split` (``train`` or ``test``; a person is in one of them) and one column for each
        expression with its intensity, 0 to 1.

    Raises
    ------
    MeasurandError
        Numbers out of their range, unknown expressions, a folder that holds something else or can't be written.

    Notes
    -----
    Every picture, person and block of pictures has a stream of random numbers of its own. A picture depends on the
    seed, its own number, its person and its intensities, and not on how many pictures there are; with the same number
    of persons and the same expressions, more pictures leave the first ones as they are, to the byte.

    What is drawn are 33 action units (brows, lids, gaze, nose, mouth, teeth, tears, colour, the head's bearing), each
    moved in proportion to the intensity and clipped where a face ends. Persons differ in colours, shapes, hair,
    glasses, beard and in the face at rest; pictures in pose, place, light, background and noise. There is no text in
    them.

    The folder holds ``images/``, ``items.csv`` (item, image, group, split: what a study may see), ``truth.csv`` (item
    and intensities), ``faces.json`` (settings and versions), ``sheet-intensities.png`` (a row for each expression in
    the order of the columns, a column for each of 0, .25, .5, .75 and 1, and again for two more persons) and
    ``sheet-persons.png`` (a row for each of twelve persons, a column for each expression at .8).

    Examples
    --------
    >>> faces = simulate_faces(n_items=100, n_persons=10)
    >>> faces.columns[:6].tolist()
    ['item', 'image', 'group', 'split', 'amusement', 'elation']
    >>> faces["group"].value_counts().unique().tolist(), bool((faces[list(USUAL)] > 0).sum(axis=1).max() == 1)
    ([10], True)
    """
    _check(n_items, n_persons, seed, size, kind, expressions, held_out)
    if out is not None:
        check_folder(Path(out))
    person = _in_blocks(n_items, n_persons, seed, "person")
    main = _in_blocks(n_items, len(expressions) + 1, seed, "expression")
    intensities = np.zeros((n_items, len(expressions)))
    names = [f"F{k:05d}" for k in range(1, n_items + 1)]
    for k, name in enumerate(names):
        rng = stream(seed, "simulate", "faces", "intensity", name)
        strengths, n_more = rng.random(len(expressions)), int(rng.integers(3))
        if main[k] == len(expressions):
            continue
        intensities[k, main[k]] = strengths[main[k]]
        if kind == "mixed":
            others = [e for e in rng.permutation(len(expressions)).tolist() if e != main[k]][:n_more]
            intensities[k, others] = _SECONDARY * strengths[others]
    # Every so many persons one is held out: another number of persons leaves the others' split alone.
    is_test = np.floor(np.arange(1, n_persons + 1) * held_out) > np.floor(np.arange(n_persons) * held_out)
    faces = pd.DataFrame(
        {
            "item": names,
            "image": [f"images/{name}.png" for name in names],
            "group": [_person(p) for p in person],
            "split": np.where(is_test[person], "test", "train"),
            **{expression: intensities[:, e] for e, expression in enumerate(expressions)},
        }
    )
    if out is not None:
        settings = {
            "n_items": int(n_items),
            "n_persons": int(n_persons),
            "seed": int(seed),
            "size": int(size),
            "kind": kind,
            "expressions": list(expressions),
            "held_out": float(held_out),
        }
        sheets = {
            "sheet-intensities.png": intensity_sheet(expressions, seed=seed, size=size),
            "sheet-persons.png": person_sheet(expressions, seed=seed, size=size),
        }
        write_faces(Path(out), faces, face_pictures(faces, seed=seed, size=size), sheets, settings)
    return faces


def face_pictures(faces: pd.DataFrame | Path | str, *, seed: int = 0, size: int = 64) -> Iterator[Pixels]:
    """Yield the pictures of a table of faces, one at a time.

    Parameters
    ----------
    faces : pandas.DataFrame or path
        Columns `item`, `group` and expressions; such as `simulate_faces` returns. Intensities may have been changed:
        everything else in the pictures stays.
    seed : int
        The seed of that table.
    size : int
        Width and height in pixels.

    Yields
    ------
    ndarray of uint8, shape (size, size, 3)
        Red, green, blue.

    Raises
    ------
    MeasurandError
        Without persons or expressions, or with an intensity that is not from 0 to 1.

    Examples
    --------
    >>> faces = simulate_faces(n_items=3, n_persons=1, seed=7)
    >>> np.stack(list(face_pictures(faces, seed=7))).shape
    (3, 64, 64, 3)
    """
    table, intensities = read_intensities(faces)
    if "group" not in table:
        raise MeasurandError("the table of faces has no column 'group', which says whose face each is")
    columns = [str(column) for column in intensities]
    values = intensities.to_numpy(dtype=np.float64)
    persons: dict[str, Identity] = {}
    for k, (item, group) in enumerate(zip(table["item"], table["group"], strict=True)):
        who = persons.setdefault(group, _identity(seed, group))
        yield _picture(who, str(item), dict(zip(columns, values[k].tolist(), strict=True)), seed, size)


def read_intensities(faces: pd.DataFrame | Path | str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of faces, ids checked, and its columns of intensities, those of `EXPRESSIONS` that it has.

    Raises
    ------
    MeasurandError
        If there is no such column, or an intensity is not a number from 0 to 1.
    """
    table = read_items(faces)
    columns = [expression for expression in EXPRESSIONS if expression in table]
    if not columns:
        there = ", ".join(repr(column) for column in list(table)[:12])
        raise MeasurandError(
            f"the table has no intensities: it has {there}; it needs columns named after expressions "
            f"({', '.join(EXPRESSIONS)}), as in the truth.csv of simulated faces"
        )
    values = table[columns].apply(pd.to_numeric, errors="coerce")
    wrong = ~((values >= 0) & (values <= 1)).to_numpy()
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise MeasurandError(
            f'data row {row + 1} (item "{table["item"].iloc[row]}"): {columns[column]} is '
            f"{table[columns[column]].iloc[row]!r}; give an intensity from 0 to 1"
        )
    return table, values


def intensity_sheet(expressions: Sequence[str], *, seed: int, size: int) -> Pixels:
    """Return a contact sheet: a row for each expression, a column for each of five intensities, for three persons."""
    rows = []
    for expression in expressions:
        row = []
        for p in range(3):
            who = _identity(seed, _person(p))
            row += [
                _picture(who, f"sheet {expression} {p}", {expression: level}, seed, size) for level in _SHEET_LEVELS
            ]
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows)


def person_sheet(expressions: Sequence[str], *, seed: int, size: int) -> Pixels:
    """Return a contact sheet: a row for each of twelve persons, a column for each expression, strong."""
    rows = []
    for p in range(_SHEET_PERSONS):
        who = _identity(seed, _person(p))
        row = [_picture(who, f"sheet {one} {p}", {one: _SHEET_INTENSITY}, seed, size) for one in expressions]
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows)


def _picture(who: Identity, item: str, intensities: Mapping[str, float], seed: int, size: int) -> Pixels:
    rng = stream(seed, "simulate", "faces", "scene", item)
    scene = draw_scene(rng)
    return draw_face(who, scene, intensities, rng.standard_normal((size, size, 3)))


def _identity(seed: int, group: str) -> Identity:
    return draw_identity(stream(seed, "simulate", "faces", "person", group))


def _person(p: int) -> str:
    return f"P{p + 1:04d}"


def _in_blocks(n: int, of: int, seed: int, name: str) -> IntArray:
    """Return n choices, each of which occurs once in every block of as many as there are, in random order."""
    blocks = [stream(seed, "simulate", "faces", name, str(block)).permutation(of) for block in range(-(-n // of))]
    return np.concatenate(blocks)[:n]


def _check(
    n_items: int, n_persons: int, seed: int, size: int, kind: str, expressions: Sequence[str], held_out: float
) -> None:
    """Refuse what makes no faces."""
    if not 1 <= n_items <= _MOST_ITEMS:
        raise MeasurandError(f"n_items is {n_items}; give 1 to {_MOST_ITEMS:,}")
    most = min(n_items, _MOST_PERSONS)
    if not 1 <= n_persons <= most:
        why = ", the number of pictures" if most == n_items else ""
        raise MeasurandError(f"n_persons is {n_persons}; give 1 to {most:,}{why}")
    if seed < 0:
        raise MeasurandError(f"seed is {seed}; give 0 or above")
    if not _SIZES[0] <= size <= _SIZES[1]:
        raise MeasurandError(f"size is {size}; give {_SIZES[0]} to {_SIZES[1]:,} pixels")
    if kind not in get_args(Kind):
        raise MeasurandError(f"kind {kind!r}; allowed are {', '.join(get_args(Kind))}")
    if not 0 <= held_out < 1:
        raise MeasurandError(f"held_out is {held_out:g}; give a share of the persons, 0 or more and below 1")
    if isinstance(expressions, str) or not expressions or len(set(expressions)) < len(expressions):
        raise MeasurandError(f"expressions is {expressions!r}; give a sequence of different names")
    if unknown := [one for one in expressions if one not in EXPRESSIONS]:
        raise MeasurandError(f"no expression {unknown[0]!r}; there are {', '.join(EXPRESSIONS)}")
