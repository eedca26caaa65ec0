"""The rating scale: permitted values, their order and level. The only place where text becomes a rating."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from measurand.result import MeasurandError

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: Final = get_args(Level)

#: Texts that stand for "no rating" unless the scale declares one of them as a label.
MISSING: Final = frozenset({"", "na", "n/a", "nan", "null", "none", "#n/a", "<na>"})


#: More levels than this are no rating scale; without a step every value between the bounds is permitted.
MOST_LEVELS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Scale:
    """The permitted ratings of a criterion; declared by the user, never inferred from the sample.

    Parameters
    ----------
    low, high : float or None
        Bounds, inclusive, in scale units. None where only a level or labels are declared.
    step : float or None
        Distance of neighbouring permitted values, counted from `low`; None permits every value between the bounds.
    level : {"nominal", "ordinal", "interval", "ratio"} or None
        Level of measurement. None leaves undefined what depends on it.
    labels : sequence of str
        Text ratings in ascending order (for a nominal scale, in any order). Labels that are all numbers stand for
        these numbers; others for 0, 1, 2, …

    Raises
    ------
    MeasurandError
        If the declaration contradicts itself.

    Examples
    --------
    >>> Scale(1, 5, step=1, level="ordinal").levels
    (1.0, 2.0, 3.0, 4.0, 5.0)
    >>> Scale(labels=["no", "minor", "yes"], level="ordinal").convert("minor")
    1.0
    >>> Scale.parse("0:1:.5").step
    0.5
    """

    low: float | None = None
    high: float | None = None
    step: float | None = None
    level: Level | None = None
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.level is not None and self.level not in LEVELS:
            raise MeasurandError(f"level {self.level!r}; allowed are {', '.join(LEVELS)}")
        if (self.low is None) != (self.high is None):
            raise MeasurandError("a scale needs both bounds, low and high, or neither")
        if self.low is not None and self.high is not None:
            if not (math.isfinite(self.low) and math.isfinite(self.high)):
                raise MeasurandError(f"bounds {self.low}:{self.high}; both must be finite numbers")
            if self.low >= self.high:
                raise MeasurandError(f"bounds {self.low:g}:{self.high:g}; the low one must be below the high one")
            if self.level == "ratio" and self.low < 0:
                raise MeasurandError(f"a ratio scale starts at 0 or above, not at {self.low:g}")
        if self.step is not None:
            if self.low is None or self.high is None:
                raise MeasurandError("a step needs bounds: low:high:step")
            if not 0 < self.step <= (self.high - self.low) * (1 + 1e-9):
                raise MeasurandError(f"step {self.step:g}; it must be above 0 and fit between the bounds")
            steps = (self.high - self.low) / self.step
            if steps > MOST_LEVELS:
                raise MeasurandError(f"step {self.step:g} makes more than {MOST_LEVELS:,} levels; leave it out")
            if abs(steps - round(steps)) > 1e-9 * max(steps, 1.0):
                raise MeasurandError(
                    f"step {self.step:g} does not lead from {self.low:g} to {self.high:g}; declare bounds it reaches"
                )
        for name in ("low", "high", "step"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))
        if isinstance(self.labels, str):
            raise MeasurandError(f"labels {self.labels!r}; give a sequence of texts")
        object.__setattr__(self, "labels", tuple(str(label).strip() for label in self.labels))
        if self.labels:
            if self.low is not None:
                raise MeasurandError("declare labels or bounds, not both: labels are their own bounds")
            if len(set(self.labels)) < len(self.labels):
                raise MeasurandError(f"labels {', '.join(self.labels)}: each may occur once")
            if len(self.labels) < 2:
                raise MeasurandError(f"labels {self.labels[0]!r}: a scale needs at least two")
            if "" in self.labels:
                raise MeasurandError("a label is blank; blank cells are missing ratings, never a category")
            codes = self._codes()
            if len(set(codes.values())) < len(codes):
                raise MeasurandError(f"labels {', '.join(self.labels)}: two of them are the same number")
            if self.level == "ratio" and min(codes.values()) < 0:
                raise MeasurandError(f"a ratio scale starts at 0 or above, not at {min(codes.values()):g}")
            if self.level != "nominal" and sorted(codes.values()) != list(codes.values()):
                raise MeasurandError(f"labels {', '.join(self.labels)} are numbers, but not in ascending order")

    @classmethod
    def parse(cls, text: str, *, level: Level | None = None) -> Scale:
        """Read ``low:high`` or ``low:high:step``.

        Raises
        ------
        MeasurandError
            If the text has another form.
        """
        parts = text.split(":")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 3):
            points = text.replace(",", ".")
            meant = f"; decimals have a point here: {points}" if "," in text and _is_range(points) else ""
            raise MeasurandError(f"scale {text!r}; write low:high or low:high:step, for example 1:5 or 0:1:.5{meant}")
        return cls(numbers[0], numbers[1], step=numbers[2] if len(numbers) == 3 else None, level=level)

    @property
    def levels(self) -> tuple[float, ...] | None:
        """The permitted values in ascending order; None where every value between the bounds is permitted."""
        if self.labels:
            return tuple(sorted(self._codes().values()))
        if self.low is None or self.high is None or self.step is None:
            return None
        n_steps = round((self.high - self.low) / self.step)
        return tuple(min(self.low + i * self.step, self.high) for i in range(n_steps + 1))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The lowest and highest permitted value, None where none are declared."""
        if self.labels:
            codes = self._codes().values()
            return min(codes), max(codes)
        return None if self.low is None or self.high is None else (self.low, self.high)

    def is_missing(self, text: str) -> bool:
        """Tell whether a text stands for "no rating"."""
        return text.strip().lower() in MISSING and text.strip() not in self.labels

    def convert(self, text: str) -> float:
        """Return the rating that a text stands for.

        Raises
        ------
        MeasurandError
            If it is not a permitted rating; the message says what is.
        """
        text = text.strip()
        if self.labels:
            codes = self._codes()
            if text in codes:
                return codes[text]
            number = as_number(text)
            if number is not None and self._labels_are_numbers() and number in codes.values():
                return number  # "1.0" where the label is "1"
            raise MeasurandError(f"{text!r} is none of the labels {self.describe()}")
        number = as_number(text)
        if number is None:
            raise MeasurandError(f"{text!r} is not a number")
        if not self.permits(number):
            raise MeasurandError(f"{text} is outside the scale {self.describe()}")
        return number

    def spell(self, value: float) -> str:
        """Return a rating as its label, or as a number where there are no labels."""
        return next((label for label, code in self._codes().items() if code == value), f"{value:g}")

    def permits(self, value: float) -> bool:
        """Tell whether a number is a permitted rating."""
        return bool(self.permitted(np.array([value]))[0])

    def permitted(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Tell of each number whether it is a permitted rating."""
        if self.labels:
            return np.isin(values, list(self._codes().values()))
        if self.low is None or self.high is None:
            return np.isfinite(values)
        inside = (values >= self.low) & (values <= self.high)
        if self.step is None:
            return inside
        steps = (np.where(inside, values, self.low) - self.low) / self.step
        return inside & (np.abs(steps - np.rint(steps)) < 1e-6)

    def describe(self) -> str:
        """Return the permitted values in words."""
        if self.labels:
            return ", ".join(self.labels)
        if self.low is None or self.high is None:
            return "any finite number"
        return f"{self.low:g} to {self.high:g}" + (f" in steps of {self.step:g}" if self.step is not None else "")

    @property
    def declaration(self) -> str:
        """The bounds and the step as `parse` reads them; blank where there are none.

        Examples
        --------
        >>> Scale(0, 1, step=0.25).declaration
        '0:1:0.25'
        """
        given = [] if self.low is None or self.high is None else [self.low, self.high, self.step]
        return ":".join(repr(one).removesuffix(".0") for one in given if one is not None)

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as JSON values."""
        return {
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "level": self.level,
            "labels": list(self.labels),
        }

    def _labels_are_numbers(self) -> bool:
        numbers = [as_number(label) for label in self.labels]
        return all(number is not None and math.isfinite(number) for number in numbers)

    def _codes(self) -> dict[str, float]:
        if self._labels_are_numbers():
            return {label: float(label) for label in self.labels}
        return {label: float(i) for i, label in enumerate(self.labels)}


def _is_range(text: str) -> bool:
    parts = text.split(":")
    return len(parts) in (2, 3) and all(as_number(part) is not None for part in parts)


def as_number(text: str) -> float | None:
    """Return the number that a text spells, None if it spells none.

    Examples
    --------
    >>> as_number("10"), as_number("1,5"), as_number("1_000")
    (10.0, None, None)
    """
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def scales_for(
    scale: Scale | Mapping[str, Scale] | None, level: Level | None, labels: Sequence[str]
) -> Mapping[str, Scale]:
    """Return the scale of each criterion from what the user declared; the key "" serves all others.

    Parameters
    ----------
    scale : Scale, mapping or None
        One scale for all, or one per criterion.
    level : str or None
        Level of measurement for those scales that declare none.
    labels : sequence of str
        Ordered labels, in place of a scale.
    """
    if labels:
        if scale is not None:
            raise MeasurandError("declare a scale or labels, not both")
        return {"": Scale(labels=labels, level=level)}
    if scale is None:
        return {"": Scale(level=level)}
    declared = {"": scale} if isinstance(scale, Scale) else dict(scale)
    return {
        name: one if one.level is not None or level is None else Scale(one.low, one.high, one.step, level, one.labels)
        for name, one in declared.items()
    }


def parse_scales(texts: Sequence[str], *, level: Level | None = None) -> Scale | dict[str, Scale] | None:
    """Read ``1:5`` for all criteria, or ``fluency=1:5 overall=0:100`` for each.

    Examples
    --------
    >>> sorted(parse_scales(["fluency=1:5", "overall=0:100"]))
    ['fluency', 'overall']
    """
    if not texts:
        return None
    named = {}
    for text in texts:
        name, found, spec = text.rpartition("=")
        if found and not name:
            raise MeasurandError(f"scale {text!r}: no criterion before the equals sign; write criterion=low:high")
        if name in named:
            raise MeasurandError(f"two scales for {name or 'all criteria'!r}; one is allowed")
        named[name] = Scale.parse(spec, level=level)
    return named[""] if list(named) == [""] else named
