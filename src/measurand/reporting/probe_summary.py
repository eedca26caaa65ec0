"""What the terminal shows of a probe: its systems by what their outputs tell, or the vectors where there are none."""

from __future__ import annotations

from typing import Final

from measurand.reporting.probe_outputs import main_unit
from measurand.reporting.probe_view import Probe, best_first, is_main
from measurand.reporting.scores_summary import table
from measurand.reporting.words import distinct, unit_of_length
from measurand.result import Key, Row, show_interval
from measurand.result.digits import show_estimate
from measurand.result.words import called, plural, shorten

#: Systems, and languages as columns, that a screen shows.
_MOST: Final = 8
_MOST_LANGUAGES: Final = 3
_NAME: Final = 20
_LONGEST: Final = 44


def probe_table(view: Probe, width: int) -> list[str]:
    """Return the systems with macro-F1 by language and mean length, as lines; else the vectors; else nothing."""
    scores = {
        (row.keys["system"], row.keys.get("language", "")): row
        for row in view.defined("decodability", "macro_f1")
        if is_main(row) and row.keys.get("system", "") != ""
    }
    unit = main_unit(view)
    lengths = {
        row.keys["system"]: row
        for row in view.defined("units", "mean", {"unit_of_length": unit, "language": ""})
        if row.keys.get("system", "") != ""
    }
    if not scores and not lengths:
        return _vectors(view, width)
    languages = list(dict.fromkeys(language for _, language in scores))
    shown = languages[:_MOST_LANGUAGES]
    board = best_first([row for (_, language), row in scores.items() if language == languages[0]] if scores else [])
    systems = [row.keys["system"] for row in board] or [
        row.keys["system"] for row in best_first(list(lengths.values()))
    ]
    # Names that differ late need room: then intervals go.
    wide = distinct(systems[:_MOST], _NAME, _LONGEST)
    with_intervals = len(shown) < 2 or (len(shown) == 2 and wide <= _NAME)
    ranks = {(system, language): _ranks(view, system, language) for system in systems[:_MOST] for language in shown}
    has_ranks = len(shown) < 3 and any(text != "–" for text in ranks.values())
    # Ranks of two languages take the room of the interval of the lengths.
    of_lengths = 1 + (with_intervals and not (has_ranks and len(shown) == 2))
    head = ["system"]
    for language in shown:
        head.append(f"macro-F1{f' {shorten(language, 10)}' if len(languages) > 1 else ''}")
        head += ["interval"] * with_intervals + ["rank"] * has_ranks
    head += [unit_of_length(unit), "interval"][:of_lengths] if lengths else []
    rows = []
    for system in systems[:_MOST]:
        line = [called(system)]
        for language in shown:
            line += _number(scores.get((system, language)))[: 1 + with_intervals]
            line += [ranks[system, language]] * has_ranks
        rows.append([*line, *(_number(lengths.get(system))[:of_lengths] if lengths else [])])
    lines = table(head, rows, width, numbers=range(1, len(head)))
    if len(systems) > _MOST:
        lines.append(f"… and {plural(len(systems) - _MOST, 'more system')}")
    if len(languages) > len(shown):
        lines.append(f"… and {plural(len(languages) - len(shown), 'more language')}")
    return lines


def _ranks(view: Probe, system: Key, language: Key) -> str:
    found = view.defined("decodability", "rank", {"system": system})
    row = next((row for row in found if row.keys.get("language", "") == language), None)
    if row is None or row.low is None or row.high is None:
        return "–"
    return f"{row.low:g}" if row.low == row.high else f"{row.low:g} to {row.high:g}"


def _vectors(view: Probe, width: int) -> list[str]:
    names = view.of("geometry", "vectors")
    rows = []
    for name in names[:_MOST]:
        of: dict[str, Key] = {"vectors": name}
        line = [called(name)]
        for centred in ("no", "yes"):
            row = view.get("geometry", "anisotropy", of | {"centred": centred})
            line.append("–" if row is None or row.undefined else f"{row.estimate:.3f}".replace("-", "−"))
        told = view.get("geometry", "language_accuracy", of | {"centred": "no"})
        line.append("–" if told is None or told.undefined else f"{100 * told.estimate:.1f} %")
        line.append(_number(view.get("geometry", "probe_macro_f1", of | {"centred": "no"}))[0])
        rows.append(line)
    if not rows:
        return []
    head = ["vectors of", "anisotropy", "centred", "language told", "macro-F1"]
    lines = table(head, rows, width, numbers=range(1, len(head)))
    return lines + ([f"… and {len(names) - _MOST} more"] if len(names) > _MOST else [])


def _number(row: Row | None) -> list[str]:
    return ["–", ""] if row is None or row.undefined else [show_estimate(row), show_interval(row)]
