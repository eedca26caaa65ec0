"""What a reply of ratings says: strict JSON first, repairs by name, and never a number that is not in the reply."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from measurand.data.answers import Status
from measurand.data.scale import Scale
from measurand.eliciting.declared import RatingsRule
from measurand.eliciting.ratings_repair import NotJson, Object, Pairs, Repaired, parse, repair, strip_fence
from measurand.eliciting.text_reply import reads_as_refusal
from measurand.sentences import joined

RatingsKind = Literal[
    "ok",
    "repaired",
    "empty",
    "truncated",
    "refused",
    "not_json",
    "not_an_object",
    "duplicate_keys",
    "wrong_keys",
    "wrong_types",
    "out_of_range",
    "zeros",
    "wrong_number",
    "too_many_nonzero",
]

_SHOWN: Final = 3


class Cell(NamedTuple):
    """What became of one criterion in one reply.

    Parameters
    ----------
    status : str
        One of `measurand.data.answers.STATUSES`.
    value : float
        The rating in scale units; NaN unless the status is ``ok`` or ``repaired``.
    reason : str
        Why there is no value; of a value what a reader must know, mostly blank.
    """

    status: Status
    value: float
    reason: str


@dataclass(frozen=True)
class RatingsReply:
    """A reply of ratings under its rule.

    Parameters
    ----------
    accepted : bool
        Whether the rule accepts it, so that it is not asked again.
    kind : str
        What is wrong with it, as a word that stays the same: ``ok``, ``repaired``, ``empty``, ``truncated``,
        ``refused``, ``not_json``, ``not_an_object``, ``duplicate_keys``, ``wrong_keys``, ``wrong_types``,
        ``out_of_range``, ``zeros``, ``wrong_number`` (of pairs), ``too_many_nonzero``.
    problem : str
        The same in words; blank if there is nothing to say. Also an accepted reply may have one.
    cells : mapping of criterion to Cell
        Every criterion in the order given.
    repairs : sequence of str
        What was repaired.
    """

    accepted: bool
    kind: RatingsKind
    problem: str
    cells: Mapping[str, Cell]
    repairs: Sequence[str] = ()


class _Fault(NamedTuple):
    """Why a reply is not accepted, and which criteria it lies in."""

    kind: RatingsKind
    problem: str
    of: Mapping[str, str] = {}


def read_ratings_reply(
    text: str,
    *,
    criteria: Sequence[str],
    scale: Mapping[str, Scale],
    rule: RatingsRule,
    is_truncated: bool,
    is_refused: bool,
) -> RatingsReply:
    """Return whether a rule accepts a reply, and the rating of each criterion or why there is none.

    Parameters
    ----------
    text : str
        What was generated, with its prefill if that is part of the JSON.
    criteria : sequence of str
        Everything that is rated, of which the rule's example may name only some.
    scale : mapping of criterion to Scale
        Permitted ratings; a blank key for all other criteria.
    rule : RatingsRule
        What is accepted.
    is_truncated, is_refused : bool
        Whether the engine stopped at the limit of tokens, or withheld the reply.

    Returns
    -------
    RatingsReply
        Never raises for any text. Of a reply that is not accepted no rating is taken: every criterion that was asked
        is ``invalid``, ``truncated`` or ``refused``. One that an accepted reply lacks is ``not_returned``; one that
        the rule's example does not name is ``not_asked``, unless the reply rates it all the same.

    Notes
    -----
    A reply is accepted if it is one flat JSON object whose keys are criteria, each once (with `keys` ``all`` every one
    that was asked), whose values are JSON numbers that the scale permits (``"3"``, ``true``, ``null``, 2.5 among whole
    numbers are none), and if it keeps to the rule's numbers. Nothing is clamped, rounded or filled in.

    It is a refusal if the engine says so, or if a reply without any brace opens by declining
    (`measurand.eliciting.text_reply.reads_as_refusal`). A whole object is read although the engine stopped at the
    limit of tokens; anything else is then ``truncated`` and never repaired.

    With `is_strict` off a reply is accepted as the first paper's benchmark did: a fence is taken off, duplicate keys
    are collapsed, pairs are counted and no value may be 0; keys, types and range are not looked at. Values are then
    read one by one, and a key ``Family|Name`` is the criterion ``Name``.

    Examples
    --------
    >>> found = read_ratings_reply('{"awe": 9, "fear": 0}', criteria=["awe", "fear"], scale={"": Scale(0, 7, step=1)},
    ...                            rule=RatingsRule(), is_truncated=False, is_refused=False)
    >>> found.accepted, found.kind, found.cells["awe"].reason
    (False, 'out_of_range', '9 is outside the scale 0 to 7 in steps of 1')
    """
    if rule.is_strict:
        read = _strict(text, criteria, scale, rule, is_truncated=is_truncated, is_refused=is_refused)
    else:
        read = _as_benchmark(text, criteria, scale, rule)
    if isinstance(read, RatingsReply):
        return read
    return _rejected(text, read, criteria, rule, is_truncated=is_truncated, is_refused=is_refused)


def _strict(
    text: str,
    criteria: Sequence[str],
    scale: Mapping[str, Scale],
    rule: RatingsRule,
    *,
    is_truncated: bool,
    is_refused: bool,
) -> RatingsReply | _Fault:
    if is_refused:
        return _Fault("refused", "")
    try:
        found = parse(text)
        whole = Repaired(found.pairs, ()) if isinstance(found, Object) else None
        fault = _Fault("not_an_object", f"the reply is {_name(found)} and not one JSON object")
    except NotJson as error:
        whole = repair(text) if rule.repairs and not is_truncated else None
        fault = _Fault("not_json", f"the reply is no JSON: {error}")
    if whole is None:
        return fault
    broken = _keys_fault(whole.pairs, criteria, rule) or _values_fault(whole.pairs, scale, rule)
    if broken is not None:
        return broken
    status: Status = "repaired" if whole.repairs else "ok"
    note = f"repaired: {', '.join(whole.repairs)}" if whole.repairs else ""
    given = {key: Cell(status, value, note) for key, value in whole.pairs}
    cells = {criterion: given.get(criterion) or _absent(criterion, rule) for criterion in criteria}
    return RatingsReply(True, "repaired" if whole.repairs else "ok", note, cells, whole.repairs)


def _keys_fault(pairs: Pairs, criteria: Sequence[str], rule: RatingsRule) -> _Fault | None:
    counts = Counter(key for key, _ in pairs)
    if again := {key: f"given {n} times" for key, n in counts.items() if n > 1}:
        return _Fault("duplicate_keys", f"{_listing(list(again))} given more than once", again)
    known, asked = set(criteria), _asked(criteria, rule)
    unknown = [key for key in counts if key not in known]
    missing = [criterion for criterion in asked if criterion not in counts] if rule.keys == "all" else []
    if unknown or missing:
        problem = joined(
            f"{_listing(unknown)} not among the criteria" if unknown else "",
            f"{_listing(missing)} missing" if missing else "",
        )
        return _Fault("wrong_keys", problem, dict.fromkeys(missing, "not in the reply"))
    return None


def _values_fault(pairs: Pairs, scale: Mapping[str, Scale], rule: RatingsRule) -> _Fault | None:
    wrong = {key: f"{_name(value)} is no number" for key, value in pairs if not isinstance(value, float)}
    if wrong:
        return _Fault("wrong_types", _first(wrong), wrong)
    zeros = {} if rule.zeros else {key: "0 is not allowed" for key, value in pairs if value == 0}
    if zeros:
        return _Fault("zeros", f"{_first(zeros)}: a rating may not be 0", zeros)
    outside = {key: why for key, value in pairs if (why := _outside(value, _scale_of(key, scale)))}
    if outside:
        return _Fault("out_of_range", _first(outside), outside)
    return _number_fault(len(pairs), sum(value != 0 for _, value in pairs), rule)


def _number_fault(n_pairs: int, n_nonzero: int, rule: RatingsRule) -> _Fault | None:
    if rule.n_pairs is not None and n_pairs != rule.n_pairs:
        return _Fault("wrong_number", f"{n_pairs} ratings; exactly {rule.n_pairs} must be there")
    if rule.most_nonzero is not None and n_nonzero > rule.most_nonzero:
        return _Fault("too_many_nonzero", f"{n_nonzero} ratings other than 0; at most {rule.most_nonzero} may be there")
    return None


def _as_benchmark(
    text: str, criteria: Sequence[str], scale: Mapping[str, Scale], rule: RatingsRule
) -> RatingsReply | _Fault:
    """Return a reply as the first paper's benchmark would have accepted it, with values checked one by one."""
    body = strip_fence(text)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        return _Fault("not_json", f"the reply is no JSON: {error}")
    ratings = found.get("value", found) if isinstance(found, dict) else None
    if not isinstance(ratings, dict):
        return _Fault("not_an_object", f"the reply holds {_name(found)} and no object of ratings")
    if not rule.zeros and (zeros := {key: "0 is not allowed" for key, value in ratings.items() if value == 0}):
        return _Fault("zeros", f"{_first(zeros)}: a rating may not be 0", zeros)
    fault = _number_fault(len(ratings), sum(value != 0 for value in ratings.values()), rule)
    if fault is not None:
        return fault
    repairs = () if body == text.strip() else ("code fence",)
    again = _given_again(body, is_nested="value" in found)
    cells, remarks = _one_by_one(ratings, again, criteria, scale, rule, repairs)
    problem = joined(
        f"repaired: {', '.join(repairs)}" if repairs else "",
        *remarks,
        f"{_listing(again)} given more than once, the last one counts" if again else "",
    )
    return RatingsReply(True, "repaired" if repairs else "ok", problem, cells, repairs)


def _one_by_one(
    ratings: Mapping[str, Any],
    again: Sequence[str],
    criteria: Sequence[str],
    scale: Mapping[str, Scale],
    rule: RatingsRule,
    repairs: Sequence[str],
) -> tuple[dict[str, Cell], list[str]]:
    """Return the cells of a reply that was accepted unseen, and what is wrong in it."""
    known = set(criteria)
    given: dict[str, list[tuple[str, Any]]] = {}
    unknown = []
    for key, value in ratings.items():
        criterion = key if key in known else key.rpartition("|")[2]
        if criterion in known:
            given.setdefault(criterion, []).append((key, value))
        else:
            unknown.append(key)
    status: Status = "repaired" if repairs else "ok"
    cells = {}
    for criterion in criteria:
        pairs = given.get(criterion, [])
        if not pairs:
            cells[criterion] = _absent(criterion, rule)
        elif len(pairs) > 1:
            cells[criterion] = _invalid(f"{_listing([key for key, _ in pairs])} all name it")
        else:
            key, value = pairs[0]
            number = _number(value)
            note = "given more than once; the last one counts" if key in again else ""
            why = f"{_name(value)} is no number" if number is None else _outside(number, _scale_of(criterion, scale))
            cells[criterion] = _invalid(why) if number is None or why else Cell(status, number, note)
    n_invalid = sum(cell.status == "invalid" for cell in cells.values())
    remarks = [
        f"{len(unknown)} keys are no criteria ({_listing(unknown)})" if unknown else "",
        f"{n_invalid} ratings are not permitted" if n_invalid else "",
    ]
    return cells, remarks


def _given_again(body: str, *, is_nested: bool) -> list[str]:
    """Return the keys that a reply gives more than once, which its reader had collapsed."""
    pairs: Pairs = json.loads(body, object_pairs_hook=Object).pairs
    if is_nested:
        pairs = [value for key, value in pairs if key == "value"][-1].pairs
    return [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]


def _rejected(
    text: str,
    fault: _Fault,
    criteria: Sequence[str],
    rule: RatingsRule,
    *,
    is_truncated: bool,
    is_refused: bool,
) -> RatingsReply:
    """Return a reply that is not accepted: no criterion has a rating."""
    status: Status = "invalid"
    kind, problem = fault.kind, fault.problem
    unread = kind in ("not_json", "not_an_object")
    if is_refused:
        status = kind = "refused"
        problem = joined("the engine withheld the reply", problem)
    elif is_truncated and unread:
        status = kind = "truncated"
        problem = joined("the reply was cut off at the limit of tokens", problem)
    elif not text.strip():
        kind, problem = "empty", "the reply is empty"
    elif unread and not set(text) & set("{}[]") and reads_as_refusal(text):
        status = kind = "refused"
        problem = "the reply declines to answer"
    asked = set(_asked(criteria, rule))
    cells = {
        criterion: Cell(status, math.nan, fault.of.get(criterion, problem) if status == "invalid" else problem)
        if criterion in asked
        else _absent(criterion, rule)
        for criterion in criteria
    }
    return RatingsReply(False, kind, problem, cells)


def _asked(criteria: Sequence[str], rule: RatingsRule) -> Sequence[str]:
    return [criterion for criterion in criteria if criterion in rule.example] if rule.example else criteria


def _absent(criterion: str, rule: RatingsRule) -> Cell:
    if rule.example and criterion not in rule.example:
        return Cell("not_asked", math.nan, "the prompt's example does not name it")
    return Cell("not_returned", math.nan, "not in the reply")


def _invalid(reason: str) -> Cell:
    return Cell("invalid", math.nan, reason)


def _scale_of(criterion: str, scale: Mapping[str, Scale]) -> Scale:
    return scale.get(criterion) or scale.get("") or Scale()


def _number(value: Any) -> float | None:
    """Return a JSON number as a float, None for everything else: a truth value is no number in JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _outside(value: float, scale: Scale) -> str:
    """Return why a number is no permitted rating, blank if it is one."""
    return "" if scale.permits(value) else f"{value:.15g} is outside the scale {scale.describe()}"


def _name(value: Any) -> str:
    """Return what a JSON value is, in words."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Object | dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    number = _number(value)
    return f"the number {number:.15g}"


def _first(wrong: Mapping[str, str]) -> str:
    key, why = next(iter(wrong.items()))
    more = len(wrong) - 1
    return f"{key[:80]!r}: {why}" + (f", and {more} more like it" if more else "")


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
