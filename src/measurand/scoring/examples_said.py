"""What raters and systems said of every item: the ratings, and of each system and readout the answers of one arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from measurand.scoring.arms import Arm
from measurand.scoring.contenders import Contender
from measurand.scoring.paths import Path, calibrated_values
from measurand.scoring.prepare import Laid
from measurand.stats.inference import FloatArray

#: Readouts that are made from others and say nothing that those don't.
_DERIVED: Final = ("binarized", "double_centred")
#: The control in which a grey picture, or no text, stands for the item.
_BLANK: Final = "blank"
_NO_LEVEL: Final = "all its answers lie in one fold, which leaves no other one to calibrate by"

#: An item and a criterion, by their positions.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Told:
    """One answer as the table has it: its number (NaN without), what became of it, its answer mass (NaN unknown)."""

    value: float
    status: str
    mass: float


class Said:
    """What raters and systems said of every item.

    Parameters
    ----------
    laid : Laid
        Tables that fit each other.
    path : Path
        How answers become values of the scale.
    """

    def __init__(self, laid: Laid, path: Path) -> None:
        self.field = laid.field
        self._given, self._path, self._folds = laid.given, path, laid.folds
        every = [(one, one.arm) for one in laid.contenders if one.arm is not None]
        plain = [(one, arm) for one, arm in every if arm.is_plain and arm.readout not in _DERIVED]
        first: dict[tuple[str, str], tuple[Contender, Arm]] = {}
        for one, arm in plain:
            first.setdefault((arm.system, arm.readout), (one, arm))
        self._of = [one for one, _ in first.values()]
        self.arms = [arm for _, arm in first.values()]
        self.n_left_out = len(plain) - len(first)
        blank = {
            (a.system, a.readout, a.phrasing, a.prefill): a for _, a in every if a.control == _BLANK and not a.attempt
        }
        self.twins = [blank.get((arm.system, arm.readout, arm.phrasing, arm.prefill)) for arm in self.arms]

    @property
    def systems(self) -> list[str]:
        """The systems that are shown."""
        return list(dict.fromkeys(arm.system for arm in self.arms))

    @property
    def readouts(self) -> list[str]:
        """The readouts that are shown."""
        return list(dict.fromkeys(arm.readout for arm in self.arms))

    @cached_property
    def _means(self) -> list[FloatArray]:
        """Mean rating of each item, for each criterion."""
        out = []
        for of in self.field.criteria:
            # The shift added to the sum and not to the mean: the mean then is the plain one to the last digit.
            total = of.total + of.shift * of.count
            out.append(np.divide(total, of.count, out=np.full(len(total), np.nan), where=of.count > 0))
        return out

    def mean(self, pair: Pair) -> float:
        """Return the mean rating, NaN without any."""
        return float(self._means[pair[1]][pair[0]])

    def height(self, pair: Pair) -> float:
        """Return where the mean rating lies on its scale, from 0 to 1."""
        of = self.field.criteria[pair[1]]
        low, high = of.ends
        return (self.mean(pair) - of.shift - low) / (high - low)

    def ratings(self, pair: Pair) -> list[tuple[str, float]]:
        """Return who gave which rating."""
        item, criterion = pair
        of = self.field.criteria[criterion]
        found = of.ratings[item] + of.shift
        return [(name, float(value)) for name, value in zip(self.field.raters, found, strict=True) if value == value]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every item with every criterion that it was rated on and some arm was asked about."""
        if not self._of:
            return []
        n_criteria = len(self.field.criteria)
        asked = np.any([[one.is_asked[c] for c in range(n_criteria)] for one in self._of], axis=0)
        return [(int(item), int(criterion)) for criterion, item in np.argwhere(asked)]

    @cached_property
    def calibrated(self) -> list[list[FloatArray]]:
        """Value of each arm's answers on the scale: by arm, criterion, item; NaN where there is none."""
        out = []
        for one in self._of:
            values = []
            for answered, of, reason in zip(one.answered, self.field.criteria, one.not_permitted, strict=True):
                found = calibrated_values(answered, of, self._path, self._folds) + of.shift
                values.append(np.full_like(found, np.nan) if self._path.calibration == "none" and reason else found)
            out.append(values)
        return out

    def why_not_on_scale(self, arm: int, pair: Pair) -> str:
        """Return why an answer that there is has no value on the scale."""
        reason = self._of[arm].not_permitted[pair[1]]
        return reason if self._path.calibration == "none" and reason else _NO_LEVEL

    def told(self, arm: Arm) -> dict[Pair, Told]:
        """Return an arm's answers as the table has them."""
        if id(arm) not in self._told:
            self._told[id(arm)] = self._read(arm)
        return self._told[id(arm)]

    @cached_property
    def _told(self) -> dict[int, dict[Pair, Told]]:
        return {}

    def _read(self, arm: Arm) -> dict[Pair, Told]:
        frame = self._given.frame.iloc[arm.rows]
        place = {name: i for i, name in enumerate(self.field.items)}
        of_name = {name: i for i, name in enumerate(self.field.names)}
        names = frame["criterion"] if "criterion" in frame else [self.field.names[0]] * len(frame)
        masses = frame["mass"] if "mass" in frame else [np.nan] * len(frame)
        out = {}
        columns = (frame["item"], names, frame["answer"], frame["status"], masses)
        for item, criterion, value, status, mass in zip(*columns, strict=True):
            if item in place and criterion in of_name:
                out[place[item], of_name[criterion]] = Told(float(value), str(status), float(mass))
        return out
