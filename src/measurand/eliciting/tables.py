"""The tables that a store's records amount to: answers, replies, outputs, in the order of the study."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from measurand.eliciting.answered import Answer, of_reading, of_reply, unanswered
from measurand.eliciting.arms import Arms
from measurand.eliciting.declared import Text, Verification
from measurand.eliciting.derived import derived_answers
from measurand.eliciting.ratings_reply import RatingsReply
from measurand.eliciting.replies import Attempt, Attempts, attempts
from measurand.eliciting.requests import Request, is_graded, protocol_of, requests
from measurand.eliciting.run import Asked, Elicited
from measurand.eliciting.store import Store

ANSWERS: Final = "answers.csv"
REPLIES: Final = "replies.jsonl"
OUTPUTS: Final = "outputs.jsonl"
#: A lone half of a surrogate pair, which a reply may hold and UTF-8 can't, becomes its escape, as JSON spells it.
_ESCAPES: Final = "backslashreplace"

#: The columns of the answers table. The last five say what a reading took; of a reply it stands in the replies.
COLUMNS: Final = (
    "system",
    "item",
    "criterion",
    "readout",
    "phrasing",
    "prefill",
    "control",
    "repeat",
    "attempt",
    "answer",
    "status",
    "problem",
    "answer_low",
    "answer_high",
    "log_odds",
    "mass",
    "mass_high",
    "top",
    "others",
    "protocol",
    "identity",
    "prompt",
    "key",
    "n_prompt",
    "n_cached",
    "n_completion",
    "seconds",
    "asked_at",
)


@dataclass(frozen=True)
class Line:
    """One row of the answers table with the request, the attempt and the record behind it."""

    asked: Asked
    request: Request
    attempt: int
    answer: Answer
    record: Mapping[str, Any] | None
    readout: str
    protocol: str

    def cells(self) -> dict[str, Any]:
        """Return the row's cells; blank ones left out."""
        request, answer, record = self.request, self.answer, self.record or {}
        is_reading = record.get("kind") == "reading" and self.readout == request.readout.name
        cells: dict[str, Any] = {
            "system": self.asked.system.name,
            "item": request.item,
            "criterion": answer.criterion,
            "readout": self.readout,
            "phrasing": request.phrasing,
            "prefill": request.prefill,
            "control": request.control,
            "repeat": request.repeat,
            "attempt": self.attempt,
            "answer": _number(answer.value),
            "status": answer.status,
            "problem": answer.problem,
            "answer_low": _number(answer.low),
            "answer_high": _number(answer.high),
            "log_odds": _number(answer.log_odds),
            "mass": _number(answer.mass),
            "mass_high": _number(answer.mass_high),
            "protocol": self.protocol,
            "identity": self.asked.proven.digest[:12],
        }
        if record:
            cells |= {"prompt": record["fingerprint"][:16], "key": record["key"]}
        if is_reading:
            # Somebody else's text goes in as JSON: quoted, it is no formula to a spreadsheet.
            cells |= {
                "top": json.dumps(record["top"], ensure_ascii=False),
                "others": json.dumps(record["others"], ensure_ascii=False),
                **{name: record[name] for name in ("n_prompt", "n_cached", "n_completion", "seconds")},
                "asked_at": record["at"],
            }
        return cells


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(float(value))


class Tables:
    """Writes the tables of a study and counts on the way.

    Parameters
    ----------
    elicited : Elicited
        The study after a run.
    """

    def __init__(self, elicited: Elicited) -> None:
        self._elicited = elicited
        self.arms = Arms(elicited.design)

    def write(self, folder: Path) -> list[Path]:
        """Write the tables into a folder; those that would be empty are left out.

        Returns
        -------
        list of Path
            The files written.
        """
        files = {name: folder / name for name in (ANSWERS, REPLIES, OUTPUTS)}
        with (
            Store.open(self._elicited.store, is_writer=False) as store,
            files[ANSWERS].open("w", encoding="utf-8", errors=_ESCAPES, newline="") as answers,
            files[REPLIES].open("w", encoding="utf-8", errors=_ESCAPES, newline="\n") as replies,
            files[OUTPUTS].open("w", encoding="utf-8", errors=_ESCAPES, newline="\n") as outputs,
        ):
            counts = dict.fromkeys(files, 0)
            writer = csv.writer(answers, lineterminator="\n")
            writer.writerow(COLUMNS)
            for asked in self._elicited.asked:
                for line in self._of_system(asked, store, replies, outputs, counts):
                    cells = line.cells()
                    writer.writerow([cells.get(name, "") for name in COLUMNS])
                    counts[ANSWERS] += 1
                    self.arms.count(line.asked, line.request, line.answer, line.record, line.readout)
        for name, n in counts.items():
            if not n:
                files.pop(name).unlink()
        return list(files.values())

    def _of_system(
        self, asked: Asked, store: Store, replies: TextIO, outputs: TextIO, counts: dict[str, int]
    ) -> Iterator[Line]:
        graded: list[tuple[Request, Answer]] = []
        protocols: dict[tuple[str, str, str], str] = {}
        for block in self._elicited.blocks:
            for request in requests(self._elicited.design, block):
                named = request.readout.name, request.phrasing, request.prefill
                if named not in protocols:
                    protocols[named] = protocol_of(
                        request, design=self._elicited.design, thinking=asked.system.thinking
                    )
                protocol = protocols[named]
                if is_graded(request.readout):
                    for answer, record in self._readings(request, asked, store):
                        if self._elicited.design.derived and isinstance(request.readout, Verification):
                            graded.append((request, answer))
                        yield Line(asked, request, 1, answer, record, request.readout.name, protocol)
                    continue
                tried = attempts(
                    request,
                    asked.proven.digest,
                    store.get,
                    design=self._elicited.design,
                    takes_seed=asked.proven.takes_seed,
                )
                self.arms.count_attempts(asked, request, tried)
                for one in tried.made:
                    replies.write(_json_line(_reply(asked, one, protocol)))
                    counts[REPLIES] += 1
                if isinstance(request.readout, Text):
                    outputs.write(_json_line(_output(asked, request, tried, protocol)))
                    counts[OUTPUTS] += 1
                else:
                    yield from self._ratings(asked, request, tried, protocol)
        for name, request, answer in derived_answers(graded, self._elicited.design):
            protocol = f"{protocols[request.readout.name, request.phrasing, request.prefill]}+{name}"
            yield Line(asked, request, 1, answer, None, name, protocol)

    def _readings(
        self, request: Request, asked: Asked, store: Store
    ) -> Iterator[tuple[Answer, Mapping[str, Any] | None]]:
        record = store.get(request.key(asked.proven.digest))
        found = of_reading(request, record) if record else unanswered(request, self._elicited.design.criteria)
        for answer in found:
            yield answer, record

    def _ratings(self, asked: Asked, request: Request, tried: Attempts, protocol: str) -> Iterator[Line]:
        criteria = self._elicited.design.criteria
        for one in tried.made:
            if isinstance(one.read, RatingsReply):
                for answer in of_reply(one.read, criteria):
                    yield Line(asked, request, one.number, answer, one.record, request.readout.name, protocol)
        if not tried.made:
            for answer in unanswered(request, criteria):
                yield Line(asked, request, 1, answer, None, request.readout.name, protocol)


def _json_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


def _reply(asked: Asked, one: Attempt, protocol: str) -> dict[str, Any]:
    """Return one attempt at a reply: what was said, and what became of it."""
    request, record, read = one.request, one.record or {}, one.read
    return {
        "system": asked.system.name,
        "item": request.item,
        "readout": request.readout.name,
        "phrasing": request.phrasing,
        "prefill": request.prefill,
        "control": request.control,
        "repeat": request.repeat,
        "attempt": one.number,
        "accepted": bool(read and read.accepted),
        "status": read.kind if isinstance(read, RatingsReply) else read.status if read else "",
        "problem": read.problem if read else "",
        "reply": record["text"],
        "reasoning": record["reasoning"],
        "finish": record["finish"],
        "seed": one.decoding.seed,
        "protocol": protocol,
        "identity": asked.proven.digest[:12],
        "prompt": record["fingerprint"][:16],
        "key": one.key,
        **{name: record[name] for name in ("n_prompt", "n_cached", "n_completion", "n_reasoning", "seconds")},
        "asked_at": record["at"],
    }


def _output(asked: Asked, request: Request, tried: Attempts, protocol: str) -> dict[str, Any]:
    """Return one row of the outputs table: the accepted reply, else the last one with its status."""
    last = tried.made[-1] if tried.made else None
    read = last.read if last else None
    record = (last.record if last else None) or {}
    tokens = [one.record or {} for one in tried.made]
    return {
        "item": request.item,
        "system": asked.system.name,
        "text": _whole(getattr(read, "text", "")),
        "status": getattr(read, "status", "not_returned") if read else "not_returned",
        "problem": read.problem if read else "not asked yet, or the request failed",
        "units": getattr(read, "n_units", None),
        "attempts": len(tried.made),
        "readout": request.readout.name,
        "phrasing": request.phrasing,
        "prefill": request.prefill,
        "control": request.control,
        "repeat": request.repeat,
        "prompt_tokens": record.get("n_prompt"),
        "completion_tokens": record.get("n_completion"),
        "reasoning_tokens": record.get("n_reasoning"),
        "prompt_tokens_all_attempts": _total(tokens, "n_prompt"),
        "completion_tokens_all_attempts": _total(tokens, "n_completion"),
        "protocol": protocol,
        "identity": asked.proven.digest[:12],
        "key": last.key if last else "",
        "seconds": record.get("seconds"),
        "asked_at": record.get("at", ""),
    }


def _whole(text: str) -> str:
    """Return a text with U+FFFD for each lone half of a surrogate pair: with one no reader takes the table."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _total(records: list[Mapping[str, Any]], name: str) -> int | None:
    known = [record[name] for record in records if record.get(name) is not None]
    return sum(known) if known else None
