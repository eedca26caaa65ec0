"""What a system is asked: a prompt with its picture, as messages and not yet as tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


@dataclass(frozen=True)
class Picture:
    """An image as the file's bytes, which are what is sent and hashed.

    Parameters
    ----------
    data : bytes
        The encoded file.
    media_type : str
        What the bytes are (``image/png``), read off their first bytes and not off the file's name.
    """

    data: bytes
    media_type: str

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


class Turn(NamedTuple):
    """What a system replied, and what it was told then (a retry that shows the failed reply)."""

    reply: str
    note: str


@dataclass(frozen=True)
class Prompt:
    """One request as messages.

    The user's message is the picture, `shared`, a blank line and `question`, in this order: everything that the
    questions about one item have in common comes first, so that it can be computed once.

    Parameters
    ----------
    question : str
        What differs from request to request.
    shared : str
        Instructions and the item's text.
    picture : Picture or None
        The item's image.
    system : str
        The system message; blank for none.
    prefill : str
        The start of the system's own turn, which it continues (``Answer:``); blank for none.
    turns : sequence of Turn
        Failed replies and what was said to them, after the question.
    """

    question: str
    shared: str = ""
    picture: Picture | None = None
    system: str = ""
    prefill: str = ""
    turns: Sequence[Turn] = ()

    @property
    def text(self) -> str:
        """The text of the user's first message."""
        return "\n\n".join(part for part in (self.shared, self.question) if part)
