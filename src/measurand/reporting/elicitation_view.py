"""An elicitation's rows by arm, and its protocol cards: which arms were asked, and which of them need a look first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from measurand.reporting.scores_view import BINARIZED, Arm, arm_of, is_control
from measurand.result import Result, Row
from measurand.result.words import clean, shorten

#: Statuses of answers in the order in which they are told.
STATUSES: Final = ("ok", "repaired", "invalid", "truncated", "refused", "not_returned", "not_asked")
#: Of these, the statuses of answers that have a value.
USABLE: Final = ("ok", "repaired")
#: Counts of an arm that are no statuses.
_COUNTS: Final = ("n_requests", "n_answered", "n_readings", "n_criteria_never_asked")
#: Readouts that are made from stored answers and never asked.
_DERIVED: Final = (BINARIZED, "double_centred")
_ANALYSES: Final = ("elicitation", "attempts", "acquiescence", "repeats")
#: Where lines end in what was asked, as one line shows it.
_BREAK: Final = " ↵ "


class Elicitation:
    """The rows of an elicitation by arm, and what its protocol cards say.

    Parameters
    ----------
    result : Result
        What `measurand elicit` made.

    Examples
    --------
    >>> keys = {"system": "S", "readout": "text"}
    >>> view = Elicitation(Result([Row("elicitation", keys, "n_requests", 8.0)]))
    >>> view.arms, view.total("n_requests")
    ([('S', 'text', '', '')], 8.0)
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        settings: Mapping[str, Any] = result.settings.get("elicitation", {})
        protocol: Mapping[str, Any] = settings.get("protocol", {})
        self.study: Mapping[str, Any] = protocol.get("study", {})
        self.readouts: Sequence[Mapping[str, Any]] = protocol.get("readouts", ())
        self.cards: Sequence[Mapping[str, Any]] = protocol.get("systems", ())
        self._by: dict[tuple[str, Arm], dict[str, Row]] = {}
        self.attempts: dict[Arm, dict[int, dict[str, Row]]] = {}
        self.proofs: dict[tuple[str, str], dict[str, Row]] = {}
        for row in result.rows:
            if row.analysis == "attempts":
                by_attempt = self.attempts.setdefault(arm_of(row), {})
                by_attempt.setdefault(int(row.keys["attempt"]), {})[row.statistic] = row
            elif row.analysis == "proofs":
                key = (str(row.keys.get("system", "")), str(row.keys.get("check", "")))
                self.proofs.setdefault(key, {})[row.statistic] = row
            elif row.analysis in _ANALYSES:
                self._by.setdefault((row.analysis, arm_of(row)), {})[row.statistic] = row

    def row(self, arm: Arm, statistic: str, analysis: str = "elicitation") -> Row | None:
        """Return a row of an arm, None if it is not there."""
        return self._by.get((analysis, arm), {}).get(statistic)

    def number(self, arm: Arm, statistic: str) -> float | None:
        """Return a number of an arm's requests, None if it is not there."""
        row = self.row(arm, statistic)
        return None if row is None or row.undefined else row.estimate

    def of(self, analysis: str) -> list[Arm]:
        """Return the arms that an analysis has rows of."""
        return [arm for name, arm in self._by if name == analysis]

    @cached_property
    def derived(self) -> list[Arm]:
        """The arms that are made from the answers of others."""
        names = [name for name in _DERIVED if name not in {str(one.get("name")) for one in self.readouts}]
        return [arm for arm in self.of("elicitation") if arm[1] in names]

    @cached_property
    def controls(self) -> list[Arm]:
        """The arms that were asked about another item than the one they stand for."""
        return [arm for arm in self.of("elicitation") if is_control(arm[1:]) and arm not in set(self.derived)]

    @cached_property
    def arms(self) -> list[Arm]:
        """The arms that were asked, without controls."""
        others = {*self.derived, *self.controls}
        return [arm for arm in self.of("elicitation") if arm not in others]

    @cached_property
    def asked(self) -> list[Arm]:
        """The arms that were asked, controls last."""
        return [*self.arms, *self.controls]

    @cached_property
    def systems(self) -> list[str]:
        """The systems in the order of the cards, of the rows where there are no cards."""
        carded = [str(card.get("system", "")) for card in self.cards]
        return list(dict.fromkeys([*carded, *(arm[0] for arm in self.of("elicitation"))]))

    @cached_property
    def _of_system(self) -> dict[str, list[Arm]]:
        by: dict[str, list[Arm]] = {}
        for arm in self.asked:
            by.setdefault(arm[0], []).append(arm)
        return by

    def total(self, statistic: str, system: str | None = None) -> float | None:
        """Return the sum of a number over the arms that were asked, of one system or of all.

        None if no arm has it, or one has it and does not know it.
        """
        arms = self.asked if system is None else self._of_system.get(system, [])
        if any((row := self.row(arm, statistic)) is not None and row.undefined for arm in arms):
            return None
        found = [value for arm in arms if (value := self.number(arm, statistic)) is not None]
        return sum(found) if found else None

    def requests(self, system: str | None = None) -> tuple[int, int]:
        """Return how many requests a system (or all of them) has, those that are the same once, and how many answers.

        The cards tell; without them the arms, in which a request that several arms share counts for each.
        """
        told: list[Mapping[str, int]] = [
            card.get("requests", {}) for card in self.cards if system is None or card.get("system") == system
        ]
        if told and all(told):
            return sum(int(one["total"]) for one in told), sum(int(one["answered"]) for one in told)
        return int(self.total("n_requests", system) or 0), int(self.total("n_answered", system) or 0)

    def statuses(self, arm: Arm) -> dict[str, int]:
        """Return the number of answers of each status that an arm has."""
        found = self._by.get(("elicitation", arm), {})
        states = [name.removeprefix("n_") for name in found if name.startswith("n_") and name not in _COUNTS]
        known = [status for status in STATUSES if status in states]
        every = [*known, *(status for status in states if status not in known)]
        return {status: int(found[f"n_{status}"].estimate) for status in every if found[f"n_{status}"].estimate}

    def statuses_of(self, arms: Sequence[Arm]) -> dict[str, int]:
        """Return the number of answers of each status that arms have together."""
        counted: dict[str, int] = {}
        for arm in arms:
            for status, n in self.statuses(arm).items():
                counted[status] = counted.get(status, 0) + n
        return {status: counted[status] for status in [*STATUSES, *counted] if status in counted}

    def of_system(self, system: str) -> list[Arm]:
        """Return the arms of a system that were asked."""
        return self._of_system.get(system, [])

    def worst_first(self, arms: Sequence[Arm]) -> list[Arm]:
        """Return arms by what needs a look first: unanswered requests, answers without a value, little mass."""

        def place(arm: Arm) -> tuple[float, float, float]:
            n, answered = self.number(arm, "n_requests") or 1.0, self.number(arm, "n_answered") or 0.0
            states = self.statuses(arm)
            usable = sum(states.get(status, 0) for status in USABLE) / max(sum(states.values()), 1)
            mass = self.number(arm, "mass_median")
            return answered / n, usable, 1.0 if mass is None else mass

        return sorted(arms, key=place)

    def first_accepted(self, arm: Arm) -> float:
        """Return the share of an arm's first replies that were accepted, 1 where none was asked for."""
        row = self.attempts.get(arm, {}).get(1, {}).get("share_accepted")
        return 1.0 if row is None else row.estimate

    def currency(self, system: str | None = None) -> str:
        """Return the currency of the prices of a system (or of all), blank where one has none or they differ."""
        prices = [card.get("price", {}) for card in self.cards if system is None or card.get("system") == system]
        found = {
            str(price.get("currency", "")) if any(price.get(side) for side in ("input", "output", "cached")) else ""
            for price in prices
        }
        return found.pop() if len(found) == 1 else ""


def one_line(text: object, most: int = 2000) -> str:
    r"""Return a text that was sent as one line in which line breaks stay visible, shortened if it is very long.

    Examples
    --------
    >>> one_line("Rate:\n- joy")
    'Rate: ↵ - joy'
    """
    return shorten(_BREAK.join(str(text).splitlines()), most)


def status_words(counted: Mapping[str, int]) -> str:
    """Return counts of statuses in words.

    Examples
    --------
    >>> status_words({"ok": 1200, "not_returned": 3})
    '1,200 ok, 3 not returned'
    """
    return ", ".join(f"{n:,} {status.replace('_', ' ')}" for status, n in counted.items())


def checked(name: object) -> str:
    """Return the name of a test of an engine in words.

    Examples
    --------
    >>> checked("cold_cached")
    'cold cached'
    """
    return clean(name).replace("_", " ")
