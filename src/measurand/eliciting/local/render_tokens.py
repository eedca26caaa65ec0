"""A rendered text as token ids, and the checks of both: start, end, pictures, length."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from measurand.result import MeasurandError

Ids = tuple[int, ...]

#: How many line ends are tried as the place from which the end of a text can be tokenised alone.
_LINES: Final = 4
#: A special token so near to the end of a text (in characters) parts it well enough.
_NEAR: Final = 200
#: Most tokens that a processor may put behind a prompt (a line end, an end of text), which are cut off again.
_MOST_BEHIND: Final = 2
#: Most tokens of one character: its bytes.
_TOKENS_PER_CHARACTER: Final = 4
#: Texts whose ids are kept.
_MOST_KNOWN: Final = 4096


class Tokens:
    """Tokenises rendered texts with one tokenizer.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        The model's.
    model : str
        What error messages call it.
    """

    def __init__(self, tokenizer: Any, model: str) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._known: dict[tuple[str, bool], Ids] = {}
        self._single: dict[int, str] = {}
        self.bos: str = tokenizer.bos_token or ""

    def tokenise(self, text: str, *, as_is: bool = True) -> Ids:
        """Return the ids of a text, uncut; with what the tokenizer adds by itself if it is not taken `as_is`."""
        # One question about many pictures is one text.
        key = (text, as_is)
        if key not in self._known:
            out = self._tokenizer(text, add_special_tokens=not as_is, truncation=False, padding=False, verbose=False)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = tuple(int(token) for token in out["input_ids"])
        return self._known[key]

    def encode(self, text: str) -> Ids:
        """Return the ids of a whole prompt: with one BOS, the template's or else the tokenizer's."""
        ids = self.tokenise(text)
        return (self._bos_id, *ids) if self._needs_bos(text) else ids

    def _needs_bos(self, text: str) -> bool:
        return self.adds_bos and not text.startswith(self.bos)

    @cached_property
    def _bos_id(self) -> int:
        return int(self._tokenizer.bos_token_id)

    @cached_property
    def adds_bos(self) -> bool:
        """Whether the tokenizer puts a BOS before a text by itself."""
        return bool(self.bos) and self.tokenise("a", as_is=False)[:1] == (self._bos_id,)

    @cached_property
    def special(self) -> frozenset[str]:
        """The special tokens as they are written."""
        added = (token.content for token in self._tokenizer.added_tokens_decoder.values() if token.special)
        return frozenset(text for text in (*added, *self._tokenizer.all_special_tokens) if text)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(int(token) for token in self._tokenizer.convert_tokens_to_ids(sorted(self.special)))

    @cached_property
    def _special_pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.special, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The text of each token id behind another token, blank for special tokens."""
        # Alone, a token would lose the blank before its word with some decoders; behind another one it keeps it.
        anchor = next(ids[-1] for text in (":", "a", "0") if (ids := self.tokenise(text)))
        lead = len(self.decode((anchor,)))
        pairs = [[anchor, token] for token in range(len(self._tokenizer))]
        texts = self._tokenizer.batch_decode(pairs, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return tuple("" if token in self.special_ids else text[lead:] for token, text in enumerate(texts))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens by name."""
        if len(ids) == 1 and ids[0] in self._single:
            return self._single[ids[0]]
        text = str(self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
        if len(ids) == 1:
            self._single[ids[0]] = text
        return text

    def end(self, text: str, ids: Ids, *, placeholder: str = "") -> tuple[str, int]:
        """Return the end of a text that decides how it goes on, and how many tokens stand behind it in `ids`.

        Special tokens part a text for every tokenizer, so what stands before the last one has no say. Where there is
        none near, a line end mostly does the same. Either is taken only if its tokens are those that the whole text
        has. A `placeholder` of a picture was expanded in `ids`.

        Raises
        ------
        MeasurandError
            If no end of the text has the tokens that `ids` end with: it was cut, or something was put behind it.
        """
        for start in self._starts(text, placeholder):
            wanted = self.tokenise(text[start:])
            found = wanted[1:] if placeholder and text.startswith(placeholder, start) else wanted
            for n_behind in range(_MOST_BEHIND + 1):
                until = len(ids) - n_behind
                if found == ids[max(until - len(found), 0) : until] and not self._says_something(ids[until:]):
                    return text[start:], n_behind
        if self.encode(text) == ids:
            return text, 0
        raise MeasurandError(
            f"the prompt of {self._model!r} does not end in its text {text[-60:]!r} but in "
            f"{self.decode(ids[-24:])!r}: it was cut, or its processor puts something behind it; shorten it, or ask "
            "the model with another template"
        )

    def _says_something(self, ids: Ids) -> bool:
        text = self.decode(ids)
        return bool(text.replace(self._tokenizer.eos_token or " ", "").strip())

    def _starts(self, text: str, placeholder: str) -> list[int]:
        marks = [mark.start() for mark in self._special_pattern.finditer(text)][-1:]
        is_near = any(len(text) - mark <= _NEAR and not text.startswith(placeholder or " ", mark) for mark in marks)
        lines: list[int] = []
        before = len(text)
        while not is_near and len(lines) < _LINES and (before := text.rfind("\n", 0, before)) > 0:
            lines.append(before)
        return [line for line in lines if not marks or line > marks[0]] + marks

    def check_end(self, ids: Ids, prefill: str) -> None:
        """Refuse ids that do not say the prefill at their end, to the last blank."""
        found = self.decode(ids[-(_TOKENS_PER_CHARACTER * len(prefill) + 8) :])
        if not found.endswith(prefill):
            raise MeasurandError(
                f"the prefill {prefill!r} did not survive the tokenizer of {self._model!r}: the prompt ends in "
                f"{found[-len(prefill) - 20 :]!r}; use a prefill without trailing blanks and unusual characters"
            )

    def check_bos(self, ids: Ids, text: str) -> None:
        """Refuse a prompt with two BOS in a row, with more than its template wrote, or without one that it needs."""
        if not self.bos:
            return
        n, n_written = ids.count(self._bos_id), text.count(self.bos)
        doubled = re.search(rf"{re.escape(self.bos)}\s*{re.escape(self.bos)}", text)
        doubled_ids = any(pair == (self._bos_id, self._bos_id) for pair in itertools.pairwise(ids))
        if doubled or doubled_ids or n > max(n_written, 1):
            raise MeasurandError(
                f"the prompt of {self._model!r} has {n} times the token {self.bos!r} that begins a text, where its "
                f"template writes it {n_written} times and one begins a prompt ({self.decode(ids[:6])!r} …); "
                "take it out of the chat template, or set add_bos_token = false in tokenizer_config.json"
            )
        if not n and (self.adds_bos or n_written):
            raise MeasurandError(
                f"the prompt of {self._model!r} has no {self.bos!r} at its beginning, which its tokenizer puts there"
            )

    def check_length(self, ids: Ids) -> None:
        """Refuse a prompt that is longer than the tokenizer says the model takes."""
        longest = self._tokenizer.model_max_length
        if longest is not None and len(ids) > longest:
            raise MeasurandError(
                f"a prompt has {len(ids)} tokens, and {self._model!r} takes {longest} (model_max_length of its "
                "tokenizer); shorten the item or the instructions"
            )

    def spans(self, ids: Ids, image_ids: frozenset[int]) -> tuple[tuple[int, int], ...]:
        """Return the half-open ranges that hold a picture: runs of placeholders, parted by markers or blanks at most.

        Raises
        ------
        MeasurandError
            If a marker before or behind a picture is doubled.
        """
        spans: list[tuple[int, int]] = []
        for place, token in enumerate(ids):
            if token not in image_ids:
                continue
            if spans and all(self._is_filler(between) for between in ids[spans[-1][1] : place]):
                spans[-1] = (spans[-1][0], place + 1)
            else:
                spans.append((place, place + 1))
        for start, end in spans:
            for beside in (reversed(ids[:start]), iter(ids[end:])):
                markers = [token for token in itertools.takewhile(self._is_filler, beside) if token in self.special_ids]
                if doubled := [token for token, after in itertools.pairwise(markers) if token == after]:
                    raise MeasurandError(
                        f"the marker {self.decode(doubled[:1])!r} beside a picture stands twice in the prompt of "
                        f"{self._model!r}: template and processor both write it; take it out of the chat template"
                    )
        return tuple(spans)

    def _is_filler(self, token: int) -> bool:
        return token in self.special_ids or not self.decode((token,)).strip()
