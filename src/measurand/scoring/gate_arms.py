"""What the gates look at of each arm: its answers, what became of them, and what was stored beside them, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.answers import ANSWERED, STATUSES, Answers
from measurand.result import Key
from measurand.scoring import arms
from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

#: Readouts that give a graded number for the question whether a criterion is present, not a text with the answer in it.
GRADED: Final = ("verification", "decision", "choice")
#: Readouts without a reply to be read.
WITHOUT_REPLY: Final = (*GRADED, "binarized", "scale", "double_centred")

#: Answers in [0, 1] with no more values than this may be levels of a scale, unless their readout says otherwise.
MOST_LEVELS: Final = 20

# A question without a row (-1) finds the last entry: not answered.
_IS_ANSWERED: Final = np.array([*(status in ANSWERED for status in STATUSES), False])


@dataclass(frozen=True)
class Arm:
    """One system under one protocol, laid out by item and criterion.

    Parameters
    ----------
    of : arms.Arm
        Which arm it is.
    answer : ndarray, shape (n_items, n_criteria)
        Answers, NaN where there is none; where answers are names of classes their position among all names.
    status : ndarray of int, shape (n_items, n_criteria)
        Position among `STATUSES`; -1 where the table has no row.
    mass, log_odds : ndarray, shape (n_items, n_criteria), or None
        NaN where there is none; None without such a column, and where all of it is blank.
    reply : ndarray of object, shape (n_items, n_criteria), or None
        Texts, blank where there is none.
    trained : Trained or None
        What its system is a control of, None where that is no control.
    """

    of: arms.Arm
    answer: FloatArray
    status: IntArray
    mass: FloatArray | None = None
    log_odds: FloatArray | None = None
    reply: npt.NDArray[Any] | None = None
    trained: arms.Trained | None = None

    @property
    def readout(self) -> str:
        """How its answers were taken; blank where the table does not say."""
        return self.of.readout

    @property
    def control(self) -> str:
        """The control that it is, by its input or by its system's training; blank for an arm that is to be scored."""
        return self.of.control or ("trained" if self.trained is not None else "")

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of its rows."""
        return self.of.keys

    @property
    def name(self) -> str:
        """The arm as sentences name it."""
        parts = ", ".join(part for part in (self.of.readout, self.of.phrasing, self.of.variant) if part)
        return f"{self.of.system} ({parts})" if parts else self.of.system

    @property
    def is_answered(self) -> BoolArray:
        """Which questions carry an answer, shape (n_items, n_criteria)."""
        return np.asarray(_IS_ANSWERED[self.status])

    @property
    def is_asked(self) -> BoolArray:
        """Which questions have a row and were asked, shape (n_items, n_criteria)."""
        return np.asarray((self.status >= 0) & (self.status != STATUSES.index("not_asked")))

    @property
    def is_probability(self) -> bool:
        """Whether the answers are graded and lie in [0, 1]; without a named readout they must have many values."""
        known = self.answer[self.is_answered]
        if self.readout not in ("", *GRADED) or not len(known) or known.min() < 0 or known.max() > 1:
            return False
        return self.readout in GRADED or len(np.unique(known)) > MOST_LEVELS

    @property
    def has_replies(self) -> bool:
        """Whether the text of any reply is stored."""
        return self.reply is not None and any(self.reply[self.is_asked])

    def graded(self) -> FloatArray:
        """Return the answers in the finest unit that the table has: log-odds of all of them, else as they are."""
        if self.log_odds is None or np.isnan(self.log_odds[self.is_answered]).any():
            return self.answer
        return np.where(self.is_answered, self.log_odds, np.nan)


def laid_out(answers: Answers, names: list[str], trained: Mapping[str, arms.Trained]) -> list[Arm]:
    """Return all arms of a table.

    Parameters
    ----------
    answers : Answers
        The table.
    names : list of str
        Names of classes, where answers are such.
    trained : mapping of str to Trained
        Systems that are controls to what they are controls of.
    """
    frame = answers.frame
    n_items, n_criteria = len(frame["item"].cat.categories), len(answers.criteria)
    cell = frame["item"].cat.codes.to_numpy().astype(np.int64) * n_criteria
    if "criterion" in frame:
        cell = cell + frame["criterion"].cat.codes.to_numpy()
    if answers.are_labels:
        place = {name: float(i) for i, name in enumerate(names)}
        given = frame["answer"].map(place).to_numpy(dtype=float, na_value=np.nan)
        given = np.where(answers.is_answered, given, np.nan)
    else:
        given = frame["answer"].to_numpy(dtype=float)
    status = np.asarray(pd.Categorical(frame["status"], categories=list(STATUSES)).codes, dtype=np.int64)
    numbers = {name: frame[name].to_numpy(dtype=float) for name in ("mass", "log_odds") if name in frame}
    replies = frame["reply"].fillna("").astype(str).to_numpy(dtype=object) if "reply" in frame else None

    def laid(column: npt.NDArray[Any], rows: IntArray, blank: Any) -> npt.NDArray[Any]:
        out = np.full(n_items * n_criteria, blank, dtype=column.dtype)
        out[cell[rows]] = column[rows]
        return out.reshape(n_items, n_criteria)

    out = []
    for one in arms.split_arms(answers):
        beside = {name: laid(column, one.rows, np.nan) for name, column in numbers.items()}
        out.append(
            Arm(
                one,
                laid(given, one.rows, np.nan),
                laid(status, one.rows, -1),
                _unless_blank(beside.get("mass")),
                _unless_blank(beside.get("log_odds")),
                None if replies is None else laid(replies, one.rows, ""),
                trained.get(one.system),
            )
        )
    return out


def _unless_blank(column: FloatArray | None) -> FloatArray | None:
    return None if column is None or np.isnan(column).all() else column
