"""A scoring run by what a page asks of it: its main path and set, its arms by protocol, and every row by its keys."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal

from measurand.keys import KEYS
from measurand.result import Key, Result, Row
from measurand.result.words import called, clean
from measurand.sentences import too_few_raters

#: System, readout, phrasing, variant; and the last three, which systems that are compared share.
Arm = tuple[str, str, str, str]
Protocol = tuple[str, str, str]
Side = Literal["above", "below", "open", ""]

ARM_KEYS: Final = ("system", "readout", "phrasing", "variant")
PATH_KEYS: Final = ("calibration", "fit", "target", "ties", "aggregate")
#: The readout that is made from stored probabilities as a control.
BINARIZED: Final = "binarized"
#: Statistics of which less is better.
_OF_ERROR: Final = ("mean_absolute_error",)
#: The level of tests, as in the findings.
_ALPHA: Final = 0.05
_IS_CONTROL: Final = re.compile(r"(^|, )control=")
_IS_ATTEMPT: Final = re.compile(r"(^|, )attempt=")


class Scores:
    """The rows of a scoring run, found by their keys.

    Parameters
    ----------
    result : Result
        What `measurand score` made, perhaps with gates beside it.

    Examples
    --------
    >>> keys = {"system": "S", "set": "all", "calibration": "none", "aggregate": "pooled"}
    >>> view = Scores(Result([Row("scores", keys, "kappa_quadratic", 0.4, 0.3, 0.5, unit="item")]))
    >>> view.main, view.score(view.arms[0]).estimate
    ({'criterion': '', 'set': 'all'}, 0.4)
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.settings: Mapping[str, Any] = result.settings.get("scores", {})
        self._index: dict[tuple[str, str, tuple[Key, ...]], list[Row]] = defaultdict(list)
        self._by: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in result.rows:
            get = row.keys.get
            values = tuple([get(key, "") for key in KEYS[row.analysis]])
            self._index[row.analysis, row.statistic, values].append(row)
            self._by[row.analysis, row.statistic].append(row)
        self._by_kind: dict[str, dict[str, list[Row]]] = {}
        scores = [row for row in result.rows if row.analysis == "scores"]
        named = self.settings.get("statistics") or [row.statistic for row in scores[:1]]
        self.statistics: list[str] = list(named)
        self.statistic: str = self.statistics[0] if self.statistics else "kappa_quadratic"
        of_main = [row for row in scores if row.statistic == self.statistic]
        self.path: dict[str, Key] = {key: of_main[0].keys.get(key, "") if of_main else "" for key in PATH_KEYS}
        units = self.settings.get("over") or [row.unit for row in scores if row.unit]
        self.units: list[str] = list(dict.fromkeys(units))
        self.arms: list[Arm] = list(dict.fromkeys(arm_of(row) for row in scores))
        self.criteria: list[str] = list(
            dict.fromkeys(str(row.keys.get("criterion", "")) for row in of_main if not row.keys.get("set", ""))
        )
        self.has_sets = any(row.keys.get("set", "") for row in of_main)
        self.is_error = self.statistic in _OF_ERROR
        self.controls: set[str] = set(self.settings.get("controls", []))

    def all(self, analysis: str, statistic: str) -> list[Row]:
        """Return every row of a statistic."""
        return self._by.get((analysis, statistic), [])

    def find(self, analysis: str, statistic: str, keys: Mapping[str, Key], unit: str = "") -> Row | None:
        """Return the row with exactly these keys, over a unit where it has one; the headline's if none is named."""
        found = self._index.get((analysis, statistic, tuple(keys.get(key, "") for key in KEYS[analysis])), [])
        for wanted in (unit or self.unit, ""):
            for row in found:
                if row.unit == wanted:
                    return row
        return found[0] if found and not unit else None

    @property
    def unit(self) -> str:
        """What the headline's intervals redraw."""
        return self.units[0] if self.units else ""

    @cached_property
    def level(self) -> str:
        """The level of the intervals of scores, in brackets behind a blank; blank where they have none."""
        found = next((row.confidence for row in self.all("scores", self.statistic) if row.confidence), None)
        return "" if found is None else f" ({100 * found:g} %)"

    @property
    def both(self) -> str:
        """The unit that redraws raters beside items or groups, blank if there is none."""
        return next((unit for unit in self.units if unit.endswith("+rater")), "")

    @cached_property
    def too_few(self) -> str:
        """Why nothing is said of raters of the same kind as these, blank where something is."""
        return too_few_raters(self.settings.get("n_raters"))

    @property
    def wider(self) -> str:
        """The unit beside the headline's that decides what holds for raters of this kind; blank where nothing does."""
        return "" if self.too_few or self.both == self.unit else self.both

    @property
    def for_whom(self) -> str:
        """Whom a difference over the headline's unit holds for."""
        of_kind = "rater" in self.unit and not self.too_few
        return "for these raters and for others of their kind" if of_kind else "for these raters"

    @cached_property
    def main(self) -> dict[str, Key]:
        """The criterion or set that the headline is about: the only criterion, the reliable ones, or all."""
        if not self.has_sets:
            return {"criterion": self.criteria[0] if self.criteria else "", "set": ""}
        reliable = [row for row in self.all("scores", self.statistic) if row.keys.get("set", "") == "reliable"]
        return {"criterion": "", "set": "reliable" if any(not row.undefined for row in reliable) else "all"}

    @property
    def threshold(self) -> float:
        """Interval alpha from which a criterion is reliable."""
        return float(self.settings.get("reliable", 0.3))

    @cached_property
    def alphas(self) -> dict[str, Row]:
        """Interval alpha of each criterion."""
        return {str(row.keys["criterion"]): row for row in self.all("criteria", "alpha_interval")}

    @property
    def n_reliable(self) -> int:
        """Criteria whose alpha reaches the threshold."""
        return sum(row.estimate >= self.threshold for row in self.alphas.values())

    @cached_property
    def protocols(self) -> dict[Protocol, list[Arm]]:
        """The arms by what systems share, the headline's first, then others, then repeated attempts and controls.

        Systems that are controls by their training are in none: they are no contenders.
        """
        out: dict[Protocol, list[Arm]] = {}
        for arm in [arm for arm in self.arms if arm[0] not in self.controls] or self.arms:
            out.setdefault(arm[1:], []).append(arm)
        ordered = sorted(out, key=lambda protocol: (is_control(protocol), bool(_IS_ATTEMPT.search(protocol[2]))))
        if not ordered:
            return {}
        plain = [one for one in ordered if not is_control(one) and not _IS_ATTEMPT.search(one[2])]
        main = max(plain or ordered, key=lambda protocol: len(out[protocol]))
        return {protocol: out[protocol] for protocol in [main, *(one for one in ordered if one != main)]}

    def with_controls(self, protocol: Protocol) -> list[Arm]:
        """Return the arms of a protocol, and those of systems that are controls by their training."""
        members = self.protocols[protocol]
        return members + [arm for arm in self.arms if arm[1:] == protocol and arm not in members]

    @cached_property
    def plain(self) -> list[Protocol]:
        """Protocols that are no controls; all of them where every one is."""
        found = [protocol for protocol in self.protocols if not is_control(protocol)]
        return found or list(self.protocols)

    def score(
        self,
        arm: Arm,
        scope: Mapping[str, Key] | None = None,
        *,
        statistic: str = "",
        path: Mapping[str, Key] | None = None,
        unit: str = "",
    ) -> Row | None:
        """Return what an arm scores: on the headline's path, scope and statistic unless others are named."""
        keys = {
            **keys_of(arm),
            **(self.main if scope is None else scope),
            **(self.path if path is None else path),
        }
        return self.find("scores", statistic or self.statistic, keys, unit)

    def anchor(self, name: str, scope: Mapping[str, Key] | None = None, unit: str = "") -> Row | None:
        """Return an anchor, on whatever path it was computed."""
        at = self.main if scope is None else scope
        for path in self._paths_of_anchors.get(name, {}):
            keys = {"anchor": name, **at, **dict(zip(PATH_KEYS, path, strict=True))}
            row = self.find("anchors", "kappa_quadratic", keys, unit)
            if row is not None:
                return row
        return None

    @cached_property
    def _paths_of_anchors(self) -> dict[str, dict[tuple[Key, ...], None]]:
        out: dict[str, dict[tuple[Key, ...], None]] = {}
        for row in self.all("anchors", "kappa_quadratic"):
            path = tuple(row.keys.get(key, "") for key in PATH_KEYS)
            out.setdefault(str(row.keys["anchor"]), {}).setdefault(path)
        return out

    @cached_property
    def anchors(self) -> list[str]:
        """The anchors of the run."""
        return list(dict.fromkeys(str(row.keys["anchor"]) for row in self.all("anchors", "kappa_quadratic")))

    def against(
        self, arm: Arm, anchor: str, scope: Mapping[str, Key] | None = None, unit: str = "", statistic: str = ""
    ) -> Row | None:
        """Return the difference of an arm from an anchor (or a test of it: ``p_max_t``)."""
        keys: dict[str, Key] = {
            "contrast": "anchor",
            "of": self.statistic,
            **keys_of(arm),
            "a": arm[0],
            "b": anchor,
            **(self.main if scope is None else scope),
            **self.path,
        }
        return self.find("contrasts", statistic or "difference", keys, unit)

    def contrasts(self, kind: str, statistic: str = "difference") -> list[Row]:
        """Return the contrasts of one kind at the headline's scope, over the headline's unit where they have one."""
        if statistic not in self._by_kind:
            of_main: dict[str, list[Row]] = defaultdict(list)
            criterion, chosen = self.main["criterion"], self.main["set"]
            for row in self.all("contrasts", statistic):
                get = row.keys.get
                if row.unit in ("", self.unit) and get("criterion", "") == criterion and get("set", "") == chosen:
                    of_main[str(row.keys["contrast"])].append(row)
            self._by_kind[statistic] = of_main
        return list(self._by_kind[statistic].get(kind, []))

    def beside(self, row: Row, statistic: str = "", unit: str = "", **keys: Key) -> Row | None:
        """Return the row that differs from this one in what is named alone."""
        return self.find(row.analysis, statistic or row.statistic, {**row.keys, **keys}, unit)

    def pair(self, protocol: Protocol, a: str, b: str, unit: str = "") -> tuple[Row | None, bool]:
        """Return the contrast of two systems, and whether it stands the other way round (b minus a)."""
        for first, second, turned in ((a, b, False), (b, a, True)):
            keys: dict[str, Key] = {
                "contrast": "system",
                "of": self.statistic,
                **dict(zip(ARM_KEYS[1:], protocol, strict=True)),
                "a": first,
                "b": second,
                **self.main,
                **self.path,
            }
            row = self.find("contrasts", "difference", keys, unit)
            if row is not None:
                return row, turned
        return None, False

    def ranked(self, arms: Iterable[Arm], scope: Mapping[str, Key] | None = None) -> list[Arm]:
        """Return arms from best to worst; those without a score last."""

        def place(arm: Arm) -> tuple[bool, float]:
            row = self.score(arm, scope)
            if row is None or row.undefined:
                return True, 0.0
            return False, row.estimate if self.is_error else -row.estimate

        return sorted(arms, key=place)

    @cached_property
    def failed(self) -> dict[Arm, list[str]]:
        """The gates that each arm failed, where gates were asked; a name is blank where only the failing is known."""
        out: dict[Arm, list[str]] = {}
        for row in self.all("gates", "passed"):
            if row.estimate == 0:
                out.setdefault(arm_of(row), []).append(str(row.keys["gate"]))
        for keys in self.settings.get("excluded", []):
            system, readout, phrasing, variant = (str(value) for value in keys)
            out.setdefault((system, readout, phrasing, variant), [""])
        return out

    @cached_property
    def warned(self) -> dict[Arm, list[str]]:
        """The gates that warn of each arm."""
        out: dict[Arm, list[str]] = {}
        for row in self.all("gates", "passed"):
            if row.estimate == 1 and row.note.startswith("warn: "):
                out.setdefault(arm_of(row), []).append(str(row.keys["gate"]))
        return out

    @cached_property
    def gated(self) -> set[Arm]:
        """The arms that gates were asked of."""
        return {arm_of(row) for row in self.all("gates", "passed")} | set(self.failed)

    def scope_words(self) -> str:
        """Return what the headline is about, in words."""
        if not self.has_sets:
            return ""
        if self.main["set"] == "reliable":
            if self.n_reliable == 1:
                return (
                    f"on the one of {len(self.criteria)} criteria that raters agree on (interval alpha of "
                    f"{self.threshold:g} or more)"
                )
            return (
                f"mean over the {self.n_reliable} of {len(self.criteria)} criteria that raters agree on (interval "
                f"alpha of {self.threshold:g} or more)"
            )
        return f"mean over all {len(self.criteria)} criteria"


def arm_of(row: Row) -> Arm:
    """Return the arm that a row is about."""
    system, readout, phrasing, variant = (str(row.keys.get(key, "")) for key in ARM_KEYS)
    return system, readout, phrasing, variant


def keys_of(arm: Arm) -> dict[str, Key]:
    """Return an arm as key columns."""
    return dict(zip(ARM_KEYS, arm, strict=True))


def is_control(protocol: Protocol) -> bool:
    """Whether a protocol is a control: answers cut to yes and no, or a control input."""
    return protocol[0] == BINARIZED or bool(_IS_CONTROL.search(protocol[2]))


def protocol_words(protocol: Sequence[str], blank: str = "") -> str:
    """Return a protocol in words, those of a system alone left out."""
    return ", ".join(clean(part) for part in protocol if part) or blank


def arm_words(arm: Arm) -> str:
    """Return an arm in words.

    Examples
    --------
    >>> arm_words(("S1", "verification", "", "")), arm_words(("S1", "", "", ""))
    ('S1 (verification)', 'S1')
    """
    more = protocol_words(arm[1:])
    return f"{called(arm[0])} ({more})" if more else called(arm[0])


def side(row: Row | None) -> Side:
    """Return on which side of 0 a difference lies by its adjusted p, by its interval where it has no p; blank if none.

    Examples
    --------
    >>> keys = {"contrast": "anchor"}
    >>> side(Row("contrasts", keys, "difference", 0.1, 0.05, 0.15, p=0.01, p_adjusted=0.2))
    'open'
    """
    if row is None or row.undefined:
        return ""
    if row.p is not None:
        return "open" if not is_told_apart(row) else "above" if row.estimate > 0 else "below"
    if row.low is None or row.high is None:
        return ""
    return "above" if row.low > 0 else "below" if row.high < 0 else "open"


def is_told_apart(row: Row | None) -> bool:
    """Whether the p of a difference, adjusted where it was one of several, is below the usual level."""
    if row is None or row.p is None:
        return False
    return (row.p if row.p_adjusted is None else row.p_adjusted) < _ALPHA
