"""Arms: one system under one protocol. Answers of different protocols are never pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from measurand.data.answers import Answers
from measurand.result import Key
from measurand.stats.inference import IntArray

#: What makes an arm a variant of the plain one, in the order in which a variant spells it.
_VARIANTS: Final = ("protocol", "prefill", "control", "attempt")
#: What names an arm of a system where its protocol need not.
_WITHOUT_PROTOCOL: Final = ("readout", "phrasing", "prefill", "control")


class Trained(NamedTuple):
    """A system that is a control by its training: which system it is a control of, and on which one both were trained.

    `base` is blank where that one is no system of the study.

    Examples
    --------
    >>> Trained(of="tuned", base="untuned")
    Trained(of='tuned', base='untuned')
    """

    of: str
    base: str = ""


@dataclass(frozen=True)
class Arm:
    """One system under one protocol.

    Parameters
    ----------
    system, readout, phrasing : str
        As the table has them; blank where it has no such column.
    protocol, prefill, control, attempt : str
        What else tells the arm from others of its system; `attempt` is blank for the first and ``last`` for the last.
    rows : ndarray of int
        Its rows of the answers table.
    """

    system: str
    readout: str
    phrasing: str
    rows: IntArray
    protocol: str = ""
    prefill: str = ""
    control: str = ""
    attempt: str = ""

    @property
    def variant(self) -> str:
        """The arm's variant in words, ``attempt=last, control=blank``; blank for the plain arm."""
        return self.variant_without("")

    def variant_without(self, what: str) -> str:
        """Return the variant in words but for one of its parts: what two arms share that differ in that part."""
        return ", ".join(f"{name}={value}" for name in _VARIANTS if name != what and (value := getattr(self, name)))

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of its rows in a result."""
        return {
            "system": self.system,
            "readout": self.readout,
            "phrasing": self.phrasing,
            "variant": self.variant,
        }

    @property
    def is_plain(self) -> bool:
        """Whether its answers are what the system said to the real input at the first attempt."""
        return not (self.control or self.attempt)

    def differs_from(self, other: Arm) -> list[str]:
        """Return the names of what tells two arms apart."""
        names = ("system", "readout", "phrasing", *_VARIANTS)
        return [name for name in names if getattr(self, name) != getattr(other, name)]

    def describe(self) -> str:
        """Return the arm in words."""
        return ", ".join(part for part in (self.system, self.readout, self.phrasing, self.variant) if part)


def split_arms(answers: Answers) -> list[Arm]:
    """Split a table of answers into arms, in natural order of systems and order of appearance within.

    Of several attempts at an item the first belongs to the plain arm and the last to the variant ``attempt=last``,
    which there is only where some item was tried again. The column `protocol` names an arm only where it tells arms
    apart: where answers of one readout, phrasing, prefill and control have several.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.data import read_answers
    >>> table = pd.DataFrame({"system": ["S"] * 3, "item": [1, 1, 2], "attempt": [1, 2, 1], "answer": [0, 1, 1]})
    >>> [(arm.variant, arm.rows.tolist()) for arm in split_arms(read_answers(table))]
    [('', [0, 2]), ('attempt=last', [1, 2])]
    """
    frame = answers.frame
    by = ["system", *(name for name in ("readout", "phrasing", "protocol", "prefill", "control") if name in frame)]
    several = _several_protocols(frame)
    arms: list[Arm] = []
    for names, rows in frame.groupby(by, sort=False, observed=True).indices.items():
        values = dict(zip(by, names if isinstance(names, tuple) else (names,), strict=True))
        positions = np.sort(np.asarray(rows, dtype=np.int64))
        told = {name: str(values.get(name, "")) for name in ("readout", "phrasing", "protocol", "prefill", "control")}
        if tuple(told[name] for name in _WITHOUT_PROTOCOL) not in several:
            told["protocol"] = ""
        system = str(values["system"])
        if "attempt" not in frame:
            arms.append(Arm(system=system, rows=positions, **told))
            continue
        first, last = _attempts(frame.iloc[positions])
        arms.append(Arm(system=system, rows=positions[first], **told))
        if not np.array_equal(first, last):
            arms.append(Arm(system=system, rows=positions[last], attempt="last", **told))
    place = {name: i for i, name in enumerate(answers.systems)}
    return sorted(arms, key=lambda arm: place[arm.system])


def _several_protocols(frame: pd.DataFrame) -> set[tuple[str, ...]]:
    """Return the readouts, phrasings, prefills and controls under which the table has more than one protocol."""
    if "protocol" not in frame:
        return set()
    told = pd.DataFrame({name: frame.get(name, "") for name in (*_WITHOUT_PROTOCOL, "protocol")})
    told = told.drop_duplicates()
    again = told.duplicated(list(_WITHOUT_PROTOCOL))
    return set(told.loc[again, list(_WITHOUT_PROTOCOL)].astype(str).itertuples(index=False, name=None))


def _attempts(frame: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Return the rows of each question's first and of its last attempt."""
    cell = ["item", *(["criterion"] if "criterion" in frame else [])]
    attempt = frame["attempt"].reset_index(drop=True)
    groups = attempt.groupby([frame[name].to_numpy() for name in cell], observed=True)
    first, last = groups.idxmin().to_numpy(), groups.idxmax().to_numpy()
    return np.sort(first).astype(np.int64), np.sort(last).astype(np.int64)
