"""The results of a study's steps as one: every number once, and nothing in it that depends on when or where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from measurand.result import MeasurandError, Result, Row
from measurand.study_file import StudyFile
from measurand.study_scoring import without_gates

#: What depends on how the asking went: how long it took, and what was shared between requests that went together.
_OF_ONE_START: Final = ("seconds", "cached_tokens")
_TIMES: Final = ("tested_at",)


def merged(
    study: StudyFile, results: Mapping[str, Result], *, note: str = "", examples: Result | None = None
) -> Result:
    """Return one result of all steps.

    Parameters
    ----------
    study : StudyFile
        The study.
    results : mapping of str to Result
        Step to what it made.
    note : str
        What the page says under its verdict.
    examples : Result or None
        Items with what was said of them.

    Returns
    -------
    Result
        All rows and findings. Gates stand in it once: those of the scores, which know the ratings; those of the asking
        where nothing was scored. Seconds, cached tokens, and the time and the folder of a model stay with the asking:
        the same answers and ratings give the same bytes wherever and whenever they are put together.

    Raises
    ------
    MeasurandError
        If two steps have a number of one name, which no study should get to.
    """
    asked = _without_times(study, results["elicit"])
    scored = results.get("score")
    parts = [asked if scored is None else without_gates(asked)]
    parts += [one for one in (scored, examples, results.get("audit")) if one is not None]
    parts.insert(0, _about(study, results, note))
    _refuse_twins(parts)
    out = Result([])
    for one in parts:
        out = out + one
    return out


def _about(study: StudyFile, results: Mapping[str, Result], note: str) -> Result:
    """Return how large each step is, with what the page says beside its numbers."""
    asked, scores = results["elicit"], results.get("score")
    arms = {tuple(row.keys.values()) for row in asked.rows if (row.analysis, row.statistic) == _REQUESTS}
    sizes = {
        "elicit": {
            "n_systems": len(study.systems),
            "n_items": len(study.items),
            "n_criteria": len(study.criteria),
            "n_readouts": len(study.readouts),
            "n_arms": len(arms),
        }
    }
    if scores is not None:
        names = ("n_systems", "n_items", "n_raters", "n_criteria", "n_arms")
        sizes["score"] = {name: scores.settings["scores"][name] for name in names}
    rows = [Row("study", {"step": step}, name, float(n)) for step, of in sizes.items() for name, n in of.items()]
    return Result(rows, {"study": {"name": study.name, "note": note}})


_REQUESTS: Final = ("elicitation", "n_requests")


def _without_times(study: StudyFile, asked: Result) -> Result:
    rows = [row for row in asked.rows if row.analysis != "elicitation" or row.statistic not in _OF_ONE_START]
    settings = dict(asked.settings)
    of_asking = dict(settings.get("elicitation", {}))
    if isinstance(protocol := of_asking.get("protocol"), Mapping):
        named = {system.name: table.model for system, table in zip(study.systems, study.tables.system, strict=True)}
        cards = [_card(card, named) for card in protocol.get("systems", ())]
        of_asking["protocol"] = {**protocol, "systems": cards}
        settings["elicitation"] = of_asking
    return Result(rows, settings, asked.findings)


def _card(card: Mapping[str, Any], named: Mapping[str, str | None]) -> dict[str, Any]:
    model = named.get(str(card.get("system", ""))) or card.get("model", "")
    return {name: one for name, one in card.items() if name not in _TIMES} | {"model": model}


def _refuse_twins(parts: Sequence[Result]) -> None:
    """Refuse numbers of two steps under one name: whoever looks one up would find either."""
    seen: dict[tuple[Any, ...], int] = {}
    for place, one in enumerate(parts):
        for row in one.rows:
            name = (row.analysis, tuple(sorted((key, value) for key, value in row.keys.items() if value != "")))
            if seen.setdefault((*name, row.statistic), place) != place:
                raise MeasurandError(
                    f"two steps have a number called {row.reference()}; this is a fault of measurand: each step is "
                    "whole in its own folder"
                )
