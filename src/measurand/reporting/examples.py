"""Examples on a page: cards with a picture, what every rater gave and what every system answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from measurand.reporting.blocks import (
    SHAPES,
    Block,
    Card,
    Cards,
    Cell,
    Column,
    Fold,
    Line,
    Mark,
    Part,
    Section,
    Text,
    name_cell,
)
from measurand.reporting.examples_view import Example, ends_of, examples_in, picture_of, under
from measurand.reporting.words import joined
from measurand.result import Result, show_number
from measurand.result.words import called, clean, plural, shorten

#: Kinds of examples with their titles, in the order of the page.
_TITLES: Final = {
    "drawn": "From low to high ratings",
    "worst": "Where systems and people differ most",
    "control": "The item, and a blank in its place",
    "least_mass": "Least answer mass",
}
#: Systems and readouts that a card has room for, and raters that it names.
_MOST_SYSTEMS: Final = 12
_MOST_READOUTS: Final = len(SHAPES)
_MOST_RATERS: Final = 12
_MOST_CHARACTERS: Final = 280
#: The strip, in its own units: from mark to mark, from the upper edge to the first mark, the room for stacked ratings.
_APART: Final = 8.0
_ABOVE: Final = 5.0
_STACK: Final = 5.0
_NO_EVIDENCE: Final = (
    "Examples show what the numbers of this page are about; they are no evidence for them. The numbers rest on all "
    "items, and no conclusion can be drawn from so few."
)


def sections(result: Result) -> list[Section]:
    """Return the chapter of examples; none where a result has none.

    Parameters
    ----------
    result : Result
        With the analysis `examples`, whose settings hold pictures and texts.

    Examples
    --------
    >>> sections(Result([]))
    []
    """
    found = examples_in(result)
    if not found:
        return []
    settings = result.settings.get("examples", {})
    blocks: list[Block] = [Text(_NO_EVIDENCE), Text(_legend(settings, found), small=True)]
    for kind, title in _TITLES.items():
        cards = [one for one in found if one.kind == kind]
        if cards:
            made = _cards(cards, title, settings)
            inner: list[Block] = [Text(_how(kind, settings)), *made]
            is_long = kind == "least_mass"
            blocks += (
                [Fold(title, inner, id=f"examples-{kind}")] if is_long else [Part(f"examples-{kind}", title, 3, inner)]
            )
    return [Section("examples", "Examples", blocks)]


def _legend(settings: Mapping[str, Any], found: Sequence[Example]) -> str:
    path = clean(settings.get("path", ""))
    on_scale = "as they are" if path.startswith("uncalibrated") else f"on the scale of the ratings ({path})"
    said = (
        "On a strip, from the lowest to the highest rating there is, grey dots are single ratings and the thin line is "
        f"their mean; coloured marks are the answers, one shape for each readout. The larger numbers are answers "
        f"{on_scale}; below them is how far that is from the mean rating, and the answer as it was elicited."
    )
    left_out = settings.get("arms_left_out", 0)
    if left_out:
        said += (
            f" Of each system and readout the first wording and prefill is shown ({plural(left_out, 'arm')} left out)."
        )
    systems, readouts = _systems(found), _readouts(found)
    if len(systems) > _MOST_SYSTEMS:
        said += f" A card has room for {_MOST_SYSTEMS} of {len(systems)} systems; all are in tables/examples.csv."
    if len(readouts) > _MOST_READOUTS:
        said += f" It has room for {_MOST_READOUTS} of {len(readouts)} readouts."
    return said


def _how(kind: str, settings: Mapping[str, Any]) -> str:
    """Return how the examples of a kind were chosen."""
    seed = show_number(settings.get("seed", 0))
    return {
        "drawn": (
            f"Drawn by the seed ({seed}): of all {plural(settings.get('n_pairs', 0), 'pair')} of an item and a "
            "criterion, one from each of the scale's equally wide parts, by the mean rating, and once more from each "
            "where parts are empty; no item twice. High ratings are therefore shown more often than they occur."
        ),
        "worst": (
            "Looked for: the largest differences between an answer on the scale and the mean rating, relative to the "
            "range of the scale; no item twice, and no system or readout more often than its even share where that "
            "fills them. They are extreme by choice and say nothing about how often systems err."
        ),
        "control": (
            f"Drawn by the seed ({seed}) from the items that were also asked about with a blank in their place (a grey "
            "picture, or no text); of each the criterion that raters rated highest. Numbers are answers as elicited: "
            "to the item, and below to the blank and how far that is from the first. A system that looks at the item "
            "has reason to say something else without it."
        ),
        "least_mass": (
            "Looked for: the readings whose answers together had the least probability; no item twice, and no system "
            "more often than its even share where that fills them."
        ),
    }[kind]


def _systems(found: Sequence[Example]) -> list[str]:
    return list(
        dict.fromkeys(str(row.keys["system"]) for one in found for row in one.rows if row.keys.get("system", ""))
    )


def _readouts(found: Sequence[Example]) -> list[str]:
    rows = (row for one in found for row in one.rows if row.statistic == "answer")
    return list(dict.fromkeys(str(row.keys.get("readout", "")) for row in rows))


def _cards(found: Sequence[Example], title: str, settings: Mapping[str, Any]) -> list[Block]:
    """Return the cards of one kind, and what to say where there is no readout to show."""
    readouts = _readouts(found)[:_MOST_READOUTS]
    is_control = found[0].kind == "control"
    columns = [_column(name) for name in readouts]
    most = max(_most_equal(one) for one in found)
    height = (
        0
        if is_control
        else round(max(2 * _ABOVE + _APART * (len(readouts) - 1), 2 * _ABOVE + _STACK * min(most - 1, 5)))
    )
    cards = [_card(one, readouts, settings, height) for one in found]
    return [Cards(title, columns, cards, height)]


def _column(readout: str) -> Column:
    cell = name_cell(readout, 18, "answer")
    return Column(cell.text, is_number=True, title=cell.title, is_name=True)


def _card(one: Example, readouts: Sequence[str], settings: Mapping[str, Any], height: int) -> Card:
    chosen = one.chosen
    systems = _systems([one])
    of_chosen = "" if chosen is None else str(chosen.keys.get("system", ""))
    if len(systems) > _MOST_SYSTEMS:
        kept = systems[:_MOST_SYSTEMS]
        systems = kept if of_chosen in ("", *kept) else [*kept[:-1], of_chosen]
    is_control = one.kind == "control"
    ends = ends_of(settings, one.criterion)
    blank = [Cell("")] * len(readouts)
    lines = [] if is_control else [Line(Cell("Raters"), _of_raters(one, ends, height), blank)]
    for system in systems:
        cells = [_against_blank(one, system, name) if is_control else _answer(one, system, name) for name in readouts]
        marks = [] if is_control else _of_system(one, system, readouts, ends, height)
        lines.append(Line(name_cell(system, 22), marks, cells, system == of_chosen))
    picture = picture_of(under(settings, "pictures").get(one.item, ""))
    return Card(
        name_cell(one.item, 40),
        name_cell(one.criterion, 40, ""),
        picture,
        _alt(one),
        is_control,
        _texts(one, picture, settings),
        _raters(one),
        _remark(one),
        lines,
    )


def _texts(one: Example, picture: str, settings: Mapping[str, Any]) -> list[str]:
    text = clean(under(settings, "texts").get(one.item, ""))
    said = [text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"] if text else []
    if why := clean(under(settings, "left_out").get(one.item, "")):
        said.append(f"Its picture is left out: {why}.")
    return said if said or picture else ["Neither a picture nor a text of it is in the items table."]


def _alt(one: Example) -> str:
    of = f" of {shorten(one.criterion, 40)}" if one.criterion else ""
    return f"Item {shorten(one.item, 60)}; mean rating{of}: {_short(one.mean)} ({plural(len(one.ratings), 'rater')})"


def _raters(one: Example) -> str:
    """Return what raters gave, one by one where they are few."""
    given = one.ratings
    values = [row.estimate for row in given]
    if len(given) > _MOST_RATERS:
        told = f"{len(given)} raters, from {_short(min(values))} to {_short(max(values))}"
    else:
        told = joined([f"{shorten(called(row.keys.get('rater', '')), 16)} {_short(row.estimate)}" for row in given])
    return f"Ratings: {told}; mean {_short(one.mean)}."


def _remark(one: Example) -> str:
    chosen = one.chosen
    if chosen is None:
        return ""
    system, readout = str(chosen.keys.get("system", "")), str(chosen.keys.get("readout", ""))
    by = ", ".join(shorten(part, 40) for part in (system, readout) if part)
    if one.kind == "least_mass":
        return f"Here because of {by}: answer mass {_short(chosen.estimate)}."
    return f"Here because of {by}: a difference of {_percent(chosen.estimate)} of the scale's range."


def _answer(one: Example, system: str, readout: str) -> Cell:
    """Return an answer on the scale, how far it is from the mean rating, and what was said."""
    level, said = one.find("calibrated", system, readout), one.find("answer", system, readout)
    if level is None or said is None:
        return Cell("")
    if said.undefined:
        return Cell("–", clean(said.undefined))
    elicited = f"said\u00a0{_short(said.estimate)}"
    if level.undefined:
        return Cell("–", elicited, title=clean(level.undefined))
    far = one.find("difference", system, readout)
    small = elicited if far is None or far.undefined else f"{_signed(round(far.estimate, 2))} · {elicited}"
    return Cell(_short(round(level.estimate, 2)), small)


def _against_blank(one: Example, system: str, readout: str) -> Cell:
    """Return an answer to the item, and below the one to the blank."""
    said, blank = one.find("answer", system, readout), one.find("answer", system, readout, is_blank=True)
    if said is None or blank is None:
        return Cell("")
    other = f"blank: {clean(blank.undefined) if blank.undefined else _short(blank.estimate)}"
    if said.undefined:
        return Cell("–", f"{clean(said.undefined)}; {other}")
    far = one.find("blank_difference", system, readout)
    return Cell(_short(said.estimate), other if far is None or far.undefined else f"{other} ({_signed(-far.estimate)})")


def _place(value: float, ends: tuple[float, float]) -> float:
    return round(100 * min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0), 1)


def _most_equal(one: Example) -> int:
    values = [row.estimate for row in one.ratings]
    return max((values.count(value) for value in values), default=1)


def _of_raters(one: Example, ends: tuple[float, float], height: int) -> list[Mark]:
    """Return the ratings as dots, equal ones stacked, and their mean."""
    apart = min(_STACK, (height - 2 * _ABOVE) / max(_most_equal(one) - 1, 1))
    marks = [_mean(one, ends, height)]
    seen: dict[float, int] = {}
    for row in one.ratings:
        number = seen[row.estimate] = seen.get(row.estimate, -1) + 1
        marks.append(Mark(_place(row.estimate, ends), round(height - _ABOVE - apart * number, 1), "rating"))
    return marks


def _mean(one: Example, ends: tuple[float, float], height: int) -> Mark:
    return Mark(_place(one.mean, ends), height, "mean")


def _of_system(
    one: Example, system: str, readouts: Sequence[str], ends: tuple[float, float], height: int
) -> list[Mark]:
    """Return the answers of a system on the scale, each readout on its own height, and the mean rating."""
    marks = [_mean(one, ends, height)]
    for number, (name, shape) in enumerate(zip(readouts, SHAPES, strict=False)):
        level = one.find("calibrated", system, name)
        if level is not None and not level.undefined:
            marks.append(Mark(_place(level.estimate, ends), _ABOVE + _APART * number, shape))
    return marks


def _short(value: float) -> str:
    """Return a number with three digits, whole ones as they are."""
    return show_number(value if value == round(value) else float(f"{value:.3g}")) if value == value else "–"


def _signed(value: float) -> str:
    return f"+{_short(value)}" if value > 0 else _short(value) if value else "±0"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"
