"""Which tokens count as which answer: labels with their spellings, compared as a whole and never by part of a word."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from measurand.result import MeasurandError

#: What may stand directly behind a word without making it another word, and what else in scripts beyond ASCII.
MARKS: Final = ".,!?:;"
OTHER_MARKS: Final = "。、，．！？：；।॥،؛؟۔"


@dataclass(frozen=True)
class Labels:
    """The answers that a readout looks for.

    Parameters
    ----------
    words : mapping of str to sequence of str
        Label to the words that mean it: ``{"yes": ("yes",), "no": ("no",)}``. Case, a leading space and punctuation
        behind it make no difference.
    are_numerals : bool
        Whether the words are numbers in digits. Then no punctuation may follow (``3.`` may begin ``3.5``), and a number
        that begins another (1 and 10) is told from it by what follows, not refused.

    Raises
    ------
    MeasurandError
        If a label has no word, or one word means two labels.

    Examples
    --------
    >>> labels = Labels({"yes": ("yes",), "no": ("no",)})
    >>> [labels.of(text) for text in ("Yes", " YES.", "no", "not", "yes/no")]
    ['yes', 'yes', 'no', '', '']
    """

    words: Mapping[str, Sequence[str]]
    are_numerals: bool = False

    def __post_init__(self) -> None:
        owner: dict[str, str] = {}
        for label, words in self.words.items():
            if not label or not words or not all(word.strip() for word in words):
                raise MeasurandError(f"answer {label!r} has no word that a system could say; give one")
            for word in words:
                other = owner.setdefault(self._bare(word), label)
                if other != label:
                    raise MeasurandError(
                        f"the word {word!r} means both {other!r} and {label!r}; an answer needs one meaning"
                    )

    def _bare(self, text: str) -> str:
        # One spelling of an accented letter is as good as the other.
        text = unicodedata.normalize("NFC", text.strip())
        return (text if self.are_numerals else text.rstrip(MARKS + OTHER_MARKS)).casefold()

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two sets of labels the same, as something that can be a key."""
        return tuple((label, tuple(words)) for label, words in self.words.items()), self.are_numerals

    @property
    def names(self) -> tuple[str, ...]:
        """The labels in the order given."""
        return tuple(self.words)

    def of(self, text: str) -> str:
        """Return the label that a token's text spells in whole, or a blank."""
        bare = self._bare(text)
        return (
            next((label for label, words in self.words.items() if bare in map(self._bare, words)), "") if bare else ""
        )

    def forms(self, label: str) -> tuple[str, ...]:
        """Return a label's spellings: as given, lower, capitalised, upper; each with and without a leading space.

        Letters with accents as one sign and as two.
        """
        written = [unicodedata.normalize(form, word) for word in self.words[label] for form in ("NFC", "NFD")]
        cases = dict.fromkeys(
            form for word in written for form in (word, word.lower(), word.capitalize(), word.upper())
        )
        return tuple(lead + form for form, lead in itertools.product(cases, ("", " ")))

    def begins(self, text: str) -> bool:
        """Whether a token's text begins a numeral that takes several tokens: a blank, or a digit of a longer number.

        Words are not looked at: a token that begins one begins others, too.

        Examples
        --------
        >>> labels = Labels({"7": ("7",), "10": ("10",)}, are_numerals=True)
        >>> labels.begins(" "), labels.begins("1"), labels.begins("a")
        (True, True, False)
        """
        return (
            self.are_numerals
            and bool(text)
            and any(form.startswith(text) for label in self.words for form in self.forms(label))
        )
