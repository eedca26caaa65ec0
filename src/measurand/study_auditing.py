"""The audits of a study: of its raters, and of whom their agreement makes win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from measurand.auditing import audit
from measurand.auditing.generalizability import TARGETS
from measurand.data import Outputs, Scale, read_outputs, read_ratings
from measurand.data.answers import Answers
from measurand.result import MeasurandError, Result, Row
from measurand.scoring.judgements import judgements
from measurand.study_file.steps import AuditTable
from measurand.study_scoring import Held, Told, choices, path_of, plain

#: The criterion under which the raters' agreement with systems is audited, beside those that they rated.
AGREEMENT: Final = "agreement with raters"
#: What the audit of agreement leaves out: habits of raters, which the audit of their ratings looks at.
_HABITS: Final = ("style", "missingness", "copies")
_OF_HABITS: Final = frozenset(
    {
        "correlation-not-agreement",
        "copied-ratings",
        "informative-missingness",
        "straight-lining",
        "severity-drift",
    }
)


def audited(held: Held, answers: Answers | None, *, told: Told | None) -> Result:
    """Return the audits that a study asks for, as one result.

    Parameters
    ----------
    held : Held
        The study and its ratings.
    answers : Answers or None
        All answers, where agreement with them is audited, too.
    told : callable or None
        Told of progress.

    Returns
    -------
    Result
        The audit of the ratings as they are; and under the criterion ``agreement with raters`` that of the raters'
        agreement with each system, item by item, as if they had rated the systems (`measurand.scoring.judgements`).
        The settings of the design say of each criterion which of the two it is (`object`).

    Raises
    ------
    MeasurandError
        As for `measurand.audit`; if a criterion has the name of the second audit, or there is nothing to agree with.
    """
    table = held.of_audit
    chosen = choices(held)
    settings = {
        "replicates": chosen["replicates"],
        "confidence": chosen["confidence"],
        "seed": chosen["seed"],
        "targets": TARGETS if table.target is None else _targets(table.target),
    }
    parts = []
    if "ratings" in table.objects:
        outputs = None if held.outputs is None else _outputs(held, held.outputs)
        found = audit(held.ratings, outputs=outputs, progress=told, **settings)
        parts.append(_named(found, "ratings", {}))
    if "agreement" in table.objects:
        if answers is None:
            raise MeasurandError("there are no answers that raters could agree with")
        if AGREEMENT in held.ratings.criteria:
            raise MeasurandError(f"a criterion is called {AGREEMENT!r}, as the audit of agreement is; rename it")
        parts.append(_of_agreement(held, table, answers, chosen, settings, told))
    return joined(parts)


def _outputs(held: Held, path: Path) -> Outputs:
    marks = held.study.tables.data.marks("outputs", path)
    return read_outputs(path, delimiter=marks.delimiter, decimal=marks.decimal, missing=marks.missing)


def _targets(target: float | list[float]) -> tuple[float, ...]:
    return (target,) if isinstance(target, float) else tuple(target)


def _of_agreement(
    held: Held,
    table: AuditTable,
    answers: Answers,
    chosen: Mapping[str, Any],
    settings: Mapping[str, Any],
    told: Told | None,
) -> Result:
    named = {name: getattr(table, name) for name in ("readout", "phrasing", "prefill")}
    found = judgements(
        plain(answers),
        held.ratings,
        items=held.groups,
        raters=table.raters or (),
        protocol={name: value for name, value in named.items() if value is not None},
        **path_of(chosen),
    )
    ratings = read_ratings(found.table.assign(criterion=AGREEMENT), scale={AGREEMENT: Scale(0, 1, level="interval")})
    result = audit(ratings, progress=told, **settings)
    kept = Result(
        [row for row in result.rows if row.analysis not in _HABITS],
        {name: one for name, one in result.settings.items() if name not in _HABITS},
        [one for one in result.findings if one.id not in _OF_HABITS],
    )
    about = {"arms": dict(found.arms), "n_without": dict(found.n_without), "over": list(found.criteria)}
    return _named(kept, "agreement", about)


def _named(result: Result, what: str, more: Mapping[str, Any]) -> Result:
    """Return an audit whose design says what it is of, and names its criterion where it has only one."""
    criteria = result.settings["design"]["criteria"]
    only = next(iter(criteria)) if len(criteria) == 1 else ""
    rows = [_with_criterion(row, only) for row in result.rows]
    about = {name: {**one, "object": what, **more} for name, one in criteria.items()}
    return Result(rows, {**result.settings, "design": {"criteria": about}}, result.findings)


def _with_criterion(row: Row, name: str) -> Row:
    if not name or row.analysis != "design" or row.keys.get("criterion", ""):
        return row
    return replace(row, keys={**row.keys, "criterion": name})


def joined(parts: list[Result]) -> Result:
    """Return several audits of different criteria as one result."""
    out = Result([])
    criteria: dict[str, Any] = {}
    for one in parts:
        out = out + one
        criteria |= one.settings["design"]["criteria"]
    return Result(out.rows, {**out.settings, "design": {"criteria": criteria}}, out.findings)
