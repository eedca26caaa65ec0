"""The verdict of a scoring run in up to four sentences: people, order, readout, what else fails; from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from measurand.reporting.answers import short_name
from measurand.reporting.scores import counted, named
from measurand.reporting.scores_cells import ANCHOR_SHORT, CALIBRATED, against, redrawn
from measurand.reporting.scores_view import Arm, Protocol, Scores, Side, is_control, is_told_apart, protocol_words, side
from measurand.reporting.words import begin
from measurand.result import Row
from measurand.result.digits import show_estimate, show_rounded
from measurand.result.words import called, clean, plural, shorten

#: Protocols that the verdict tells apart.
_MOST_PROTOCOLS: Final = 3
#: Arms that fail gates and are named one by one, and gates that are named in place of more.
_MOST_ARMS: Final = 4
_MOST_GATES: Final = 3
#: What a finding that fails says, of those that no other sentence of the verdict is about.
_ALSO: Final = {
    "coverage-decides": "missing answers could change the result",
    "set-choice": "the choice of criteria decides",
    "calibration-leaks": "calibration has seen the ratings",
    "ties-decide": "the rule for ties decides",
    "phrasing-decides": "the wording decides",
    "baselines-near-zero": "trivial answers score",
    "stand-in": "no system could stand in for a rater",
}
_MOST_ALSO: Final = 3
_SIDES: Final[tuple[Side, ...]] = ("above", "below", "open")
_WHO: Final = {
    "pairwise": "the agreement of one rater with another",
    "leave_one_out": "that of a rater with the mean of the others",
    CALIBRATED: "that mean calibrated as the systems are",
}


def headline(view: Scores) -> str:
    """Return what was scored, in one line."""
    settings = view.settings
    parts = [
        plural(int(settings[key]), *words)
        for key, words in (
            ("n_systems", ("system",)),
            ("n_items", ("item",)),
            ("n_raters", ("rater",)),
            ("n_criteria", ("criterion", "criteria")),
        )
        if settings.get(key)
    ]
    if not parts:
        return plural(len({arm[0] for arm in view.arms}), "system")
    said = " × ".join(parts[:3]) + (f"; {parts[3]}" if len(view.criteria) > 1 else "")
    if len(view.criteria) == 1 and view.criteria[0]:
        said += f"; {called(shorten(view.criteria[0], 60))}"
    scales = dict.fromkeys(str(scale) for scale in settings.get("scale", {}).values())
    return f"{said}; scale {shorten(next(iter(scales)), 60)}" if len(scales) == 1 else said


def lead(view: Scores) -> list[str]:
    """Return the verdict: do systems exceed people, is the order real, is it the readout, and what else fails."""
    if not view.arms:
        return []
    return [sentence for sentence in (_people(view), _order(view), _readout(view), _also(view)) if sentence]


def _also(view: Scores) -> str:
    """Return which findings fail that the other sentences do not speak of, blank where none does."""
    failed = {finding.id for finding in view.result.findings if finding.verdict == "fail"}
    said = [words for name, words in _ALSO.items() if name in failed]
    more = [f"{len(said) - _MOST_ALSO} more"] if len(said) > _MOST_ALSO else []
    return f"What else fails: {', '.join([*said[:_MOST_ALSO], *more])}." if said else ""


def _people(view: Scores) -> str:
    protocols = _told_apart(view)
    said = []
    for place, protocol in enumerate(protocols):
        words = shorten(protocol_words(protocol, "plain"), 40)
        # A prefill may end with a colon of its own.
        words = f"“{words}”" if words.endswith(":") else words
        if len(protocols) == 1:
            text = begin(_of_protocol(view, protocol))
        elif place == 0:
            text = f"Under {words}: {_of_protocol(view, protocol)}"
        else:
            text = _briefly(view, protocol, words)
        said += [text] if _standings(view, protocol) else []
    if not said:
        ranked = view.ranked(view.protocols[protocols[0]])
        best = view.score(ranked[0])
        if best is None or best.undefined:
            return ""
        return (
            f"Best is {called(shorten(ranked[0][0]))} at {show_estimate(best)}; there is no anchor to hold it against."
        )
    more = len(view.plain) - len(protocols)
    others = f" ({plural(more, 'more protocol')} in the tables)" if more else ""
    claimed = any(of["above"] or of["below"] for one in protocols for of in _standings(view, one).values())
    why = f" {begin(view.too_few)}." if view.too_few and claimed else ""
    return f"{'. '.join(said)}{others}.{why}"


def _told_apart(view: Scores) -> list[Protocol]:
    """Return the protocols that the verdict tells apart: the first of each readout, or the first of the only one."""
    firsts = {protocol[0]: protocol for protocol in reversed(view.plain)}
    several = [protocol for protocol in view.plain if protocol in firsts.values()] if len(firsts) > 1 else view.plain
    return several[:_MOST_PROTOCOLS]


def _standings(view: Scores, protocol: Protocol) -> dict[str, dict[Side, list[Arm]]]:
    """Return for each anchor the arms of a protocol above it, below it, and not told from it."""
    out: dict[str, dict[Side, list[Arm]]] = {}
    for name in _named_anchors(view):
        sides = {arm: side(view.against(arm, name)) for arm in view.protocols[protocol]}
        if any(sides.values()):
            out[name] = {where: [arm for arm, one in sides.items() if one == where] for where in _SIDES}
    return out


def _of_protocol(view: Scores, protocol: Protocol) -> str:
    """Return how many systems of a protocol are above and below each anchor."""
    said: list[str] = []
    for name, of in _standings(view, protocol).items():
        above, below, n = of["above"], of["below"], sum(map(len, of.values()))
        # The clause before it, of the plain mean, has said who is counted.
        counts = f"{len(above) or 'none'}" if said and name == CALIBRATED and n > 1 else _number(above, n)
        text = f"{counts} above {_who(view, name)}"
        if above and view.wider:
            text += f", {_of_others(len(_for_others(view, above, name)), len(above))}"
        elif above:
            text += f" {view.for_whom}"
        if not above and below:
            text += f", {len(below)} below it" if n > 1 else ", but below it"
        said.append(text)
    return "; ".join(said)


def _briefly(view: Scores, protocol: Protocol, words: str) -> str:
    standings = _standings(view, protocol)
    if len(standings) > 1 and not any(of["above"] for of in standings.values()):
        return f"Under {words}: no system above {'either' if len(standings) == 2 else 'any of these'}"
    told = [
        f"{len(of['above'])} above {_WHO.get(name, ANCHOR_SHORT.get(name, name))}" for name, of in standings.items()
    ]
    return f"Under {words}: {', '.join(told)}"


def _named_anchors(view: Scores) -> list[str]:
    known = against(view) or view.anchors[:1]
    # The calibrated mean is named after the plain one, and decides.
    return [name for name in known if (row := view.anchor(name)) is not None and not row.undefined]


def _who(view: Scores, name: str) -> str:
    row = view.anchor(name)
    value = f" ({show_estimate(row)})" if row is not None else ""
    return f"{_WHO.get(name, ANCHOR_SHORT.get(name, name))}{value}"


def _for_others(view: Scores, arms: Sequence[Arm], name: str) -> list[Arm]:
    """Return the arms that are above an anchor with raters redrawn, too."""
    return [arm for arm in arms if side(view.against(arm, name, unit=view.wider)) == "above"]


def _number(above: Sequence[Arm], of: int) -> str:
    """Return how many systems score above something, as subject and verb."""
    if of == 1:
        return "the system scores" if above else "the system does not score"
    return f"{counted(len(above), of)} {'scores' if len(above) <= 1 else 'score'}"


def _of_others(n: int, of: int) -> str:
    if n == of:
        return "for these raters and for others of their kind"
    if n == 0:
        return f"for these raters; for others of their kind {'it is' if of == 1 else 'that is'} not shown"
    return f"for these raters, {n} of them for others of their kind, too"


def _order(view: Scores) -> str:
    protocol = view.plain[0]
    ranked = view.ranked(view.protocols[protocol])
    pairs = [(a, b) for place, a in enumerate(ranked) for b in ranked[place + 1 :]]
    rows = [row for a, b in pairs if (row := view.pair(protocol, a[0], b[0])[0]) is not None]
    if not rows:
        return ""
    n = sum(is_told_apart(row) for row in rows)
    of = plural(len(rows), "pair")
    how = f"paired, adjusted, {redrawn(view.unit)}"
    if n == len(rows):
        said = "The two systems differ" if n == 1 else f"The order of the systems is real: all {of} differ"
    elif n == 0:
        said = "No order of the systems is shown" + (f": none of {of} differs" if len(rows) > 1 else "")
    else:
        said = f"The order of the systems is real in part: {n} of {of} differ"
    spread = view.find(
        "spread",
        "sd_between_systems",
        {"of": protocol_words(protocol) or "systems", "set": view.main["set"] or view.main["criterion"], **view.path},
    )
    width = None if spread is None else view.beside(spread, "median_interval_width")
    said += f" ({how})"
    if spread is not None and width is not None and not spread.undefined and not width.undefined:
        said += f"; their scores' standard deviation is {_two(spread.estimate)}, the median interval "
        said += f"{_two(width.estimate)} wide"
    return f"{said}."


def _two(value: float) -> str:
    """Return a number with two digits, the last of which may be a zero."""
    return show_rounded(value, abs(value) or None)


def _readout(view: Scores) -> str:
    # What a readout changes in answers to a blank input is no property of how systems are read.
    every = view.contrasts("readout")
    found = [row for row in every if not row.undefined and not is_control(("", "", str(row.keys["variant"])))]
    real = [row for row in found if not _is_cut(row)]
    by_sides: dict[tuple[str, str], list[Row]] = {}
    for row in real or found:
        by_sides.setdefault((str(row.keys["a"]), str(row.keys["b"])), []).append(row)
    if not by_sides:
        return ""
    (a, b), rows = max(by_sides.items(), key=lambda one: len(one[1]))
    up, down = (sum(side(row) == where for row in rows) for where in ("above", "below"))
    gains = f"{up} of {len(rows)} score higher and {down} lower" if len(rows) > 1 else _one(up, down)
    control = "" if real else ", a control,"
    said = f"Read by {clean(a)} instead of {clean(b)}{control or ','} {gains}"
    return f"{said}{_shares(view)}."


def _is_cut(row: Row) -> bool:
    return any(is_control((str(row.keys[name]), "", "")) for name in ("a", "b"))


def _one(up: int, down: int) -> str:
    return "the system scores higher" if up else "the system scores lower" if down else "the system scores no different"


def _shares(view: Scores) -> str:
    name = view.main["set"] or view.main["criterion"]
    found = {
        str(row.keys["source"]): row.estimate
        for row in view.all("spread", "share")
        if row.keys.get("set", "") == name and not row.undefined
    }
    if "readout" not in found or "system" not in found:
        return ""
    return (
        f"; of the variation of all scores {100 * found['readout']:.0f} % is the readout's and "
        f"{100 * found['system']:.0f} % the systems'"
    )


def failing(view: Scores) -> str:
    """Return which arms fail gates, of many how many and which gates most; blank where none does or none was asked."""
    arms = [arm for arm in view.arms if arm in view.failed] or list(view.failed)
    if not arms:
        return ""
    if len(arms) <= _MOST_ARMS:
        return f"{plural(len(arms), 'arm')} {'fails' if len(arms) == 1 else 'fail'} gates: {named(arms)}."
    # A control that is made from stored answers is asked no gate.
    of = f" of {len(view.gated)}" if arms[0] in view.arms else ""
    said = f"{len(arms)}{of} arms (a system under one protocol each) fail gates"
    often = Counter(gate for arm in arms for gate in view.failed[arm] if gate).most_common(_MOST_GATES)
    most = ", ".join(f"{short_name(gate)} ({n})" for gate, n in often)
    return f"{said}; most often {most}." if most else f"{said}."
