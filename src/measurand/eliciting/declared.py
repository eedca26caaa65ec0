"""What a study declares: readouts with their wordings and rules, controls, repeats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from measurand.data.scale import Scale
from measurand.eliciting.engine import Decoding
from measurand.eliciting.system import System
from measurand.result import MeasurandError

Control = Literal["blank", "swapped", "shuffled"]
CONTROLS: Final = get_args(Control)
#: What a name must not have: tables with it can't be read again.
_UNWRITABLE: Final = re.compile("[\r\0\ud800-\udfff]")
TextUnit = Literal["emoji", "grapheme", "word", "character"]


@dataclass(frozen=True)
class Phrasing:
    """One wording of a question.

    Parameters
    ----------
    name : str
        What the tables call it.
    question : str
        The text. `{criterion}` stands for the criterion, `{criteria}` for the list of all of them, `{scale}` for the
        scale in words, `{options}` for the options, `{example}` for an example of the reply, `{text}` for the item's
        text; whatever else is in braces stays as it is.
    negated : bool
        Whether a yes says that the criterion is absent. Its answers are turned round: they, too, are the probability
        that the criterion is there.
    """

    name: str
    question: str
    negated: bool = False


@dataclass(frozen=True)
class Retry:
    """What happens after a reply that the rule does not accept.

    Parameters
    ----------
    attempts : int
        Most attempts, the first one counted.
    note : str
        What is said from the second attempt on; blank to send the same request again.
    shows_reply : bool
        Whether the failed reply and the note are sent as turns of a conversation; otherwise every attempt starts anew
        with the note behind the question.
    """

    attempts: int = 1
    note: str = ""
    shows_reply: bool = False


@dataclass(frozen=True)
class RatingsRule:
    """Which generated ratings are accepted.

    Parameters
    ----------
    keys : {"all", "any"}
        Whether every criterion that was asked must be there; with ``any`` an absent one is `not_returned`.
    n_pairs : int or None
        Exactly so many ratings; None for any number.
    zeros : bool
        Whether a rating may be 0.
    most_nonzero : int or None
        At most so many ratings other than 0.
    is_strict : bool
        Whether keys, types, range and duplicates are checked before a reply is accepted. The first paper's benchmark
        counted pairs and looked for zeros, no more: with False a reply is accepted as it did, and values that are not
        permitted are invalid one by one.
    repairs : bool
        Whether a reply in a code fence, or with words around its JSON, is read all the same, under status `repaired`.
    example : sequence of str
        Criteria that the prompt's example names; where there is an example, all others are `not_asked`.
    """

    keys: Literal["all", "any"] = "all"
    n_pairs: int | None = None
    zeros: bool = True
    most_nonzero: int | None = None
    is_strict: bool = True
    repairs: bool = False
    example: Sequence[str] = ()


@dataclass(frozen=True)
class TextRule:
    """Which generated texts are accepted.

    Parameters
    ----------
    unit : {"emoji", "grapheme", "word", "character"}
        What is counted.
    least, most : int or None
        How many there must be and may be.
    only : bool
        Whether anything but these units (and space between them) is refused.
    beyond_ascii : bool
        The second paper's rule instead: accepted is whatever has a character above U+007F.
    """

    unit: TextUnit = "grapheme"
    least: int | None = 1
    most: int | None = None
    only: bool = False
    beyond_ascii: bool = False


@dataclass(frozen=True)
class Verification:
    """One yes/no question for each criterion, read as P(yes) at the first answer position.

    Parameters
    ----------
    phrasings : sequence of Phrasing
        Wordings, with `{criterion}`.
    prefills : sequence of str
        Starts of the answer's turn; a blank one for none. Several are several protocols.
    yes, no : sequence of str
        Words that mean yes and no.
    instructions : str
        What stands before the item's text, the same for all questions.
    message : str
        The system message.
    """

    phrasings: Sequence[Phrasing]
    prefills: Sequence[str] = ("Answer:",)
    yes: Sequence[str] = ("yes",)
    no: Sequence[str] = ("no",)
    instructions: str = ""
    message: str = ""
    name: str = "verification"


@dataclass(frozen=True)
class ScaleReading:
    """One question for each criterion, read as the expected rating over the probabilities of the scale's numerals."""

    phrasings: Sequence[Phrasing]
    prefills: Sequence[str] = ("Answer:",)
    instructions: str = ""
    message: str = ""
    name: str = "scale"


@dataclass(frozen=True)
class Choice:
    """One question for each item: which of the options is it, read as the options' probabilities.

    Parameters
    ----------
    options : mapping of str to sequence of str
        Option to the words that mean it.
    rotations : int
        In how many orders the options are listed: 1 for the order given; each further one is the list rotated by one
        place, and a phrasing of its own.
    """

    options: Mapping[str, Sequence[str]]
    phrasings: Sequence[Phrasing]
    rotations: int = 1
    prefills: Sequence[str] = ("Answer:",)
    instructions: str = ""
    message: str = ""
    name: str = "choice"


@dataclass(frozen=True)
class Generative:
    """One request for each item; the reply is a JSON object of ratings of all criteria."""

    phrasings: Sequence[Phrasing]
    rule: RatingsRule = RatingsRule()
    retry: Retry = Retry()
    decoding: Decoding = field(default_factory=Decoding)
    prefill: str = ""
    instructions: str = ""
    message: str = ""
    name: str = "generative"


@dataclass(frozen=True)
class Text:
    """One request for each item; the reply is a free text, which goes to the outputs table."""

    phrasings: Sequence[Phrasing]
    rule: TextRule = TextRule()
    retry: Retry = Retry()
    decoding: Decoding = field(default_factory=Decoding)
    prefill: str = ""
    instructions: str = ""
    message: str = ""
    name: str = "text"


Readout = Verification | ScaleReading | Choice | Generative | Text
Graded = Verification | ScaleReading | Choice


@dataclass(frozen=True)
class Item:
    """One item as it is shown.

    Parameters
    ----------
    name : str
        The item's id.
    text : str
        Its text; blank for none.
    picture : bytes, Path or None
        Its image file: the bytes, or where they are; a file is read whenever it is shown, and not kept.
    """

    name: str
    text: str = ""
    picture: bytes | Path | None = None

    @property
    def image(self) -> bytes | None:
        """The bytes of its image, None where it has none.

        Raises
        ------
        MeasurandError
            If the file cannot be read.
        """
        if not isinstance(self.picture, Path):
            return self.picture
        try:
            return self.picture.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise MeasurandError(f"item {self.name!r}: {self.picture} cannot be read: {reason}") from error


@dataclass(frozen=True)
class Design:
    """Everything that is asked, of whom, and how.

    Parameters
    ----------
    items : sequence of Item
        What is shown, in the order of the items table.
    criteria : sequence of str
        What is asked about; empty for studies of free text or choices alone.
    systems : sequence of System
        Who is asked.
    readouts : sequence of Readout
        How answers are taken; every one of every system.
    scale : mapping of criterion to Scale
        Permitted ratings; a blank key for all criteria.
    repeats : int
        How often the very same request is asked.
    controls : sequence of {"blank", "swapped", "shuffled"}
        Arms in which the item is replaced: by an even grey picture (a blank text), by another item, by its own words in
        random order.
    control_items : int or None
        How many items the controls are asked about, drawn by the seed; None for all.
    seed : int
        The one seed: draws of control items, swaps, shuffles, sampling.
    derived : sequence of {"binarized", "double_centred"}
        Readouts that are made from verification and never asked.
    """

    items: Sequence[Item]
    criteria: Sequence[str]
    systems: Sequence[System]
    readouts: Sequence[Readout]
    scale: Mapping[str, Scale] = field(default_factory=dict)
    repeats: int = 1
    controls: Sequence[Control] = ()
    control_items: int | None = 50
    seed: int = 0
    derived: Sequence[Literal["binarized", "double_centred"]] = ()

    def __post_init__(self) -> None:
        for what, names in (
            ("item", [item.name for item in self.items]),
            ("criterion", list(self.criteria)),
            ("system", [system.name for system in self.systems]),
            ("readout", [*(readout.name for readout in self.readouts), *self.derived]),
        ):
            # Readers of tables take names that differ by outer space for one.
            bare = [name.strip() for name in names]
            if again := [name for i, name in enumerate(bare) if name in bare[:i]]:
                raise MeasurandError(
                    f"two {what}s are called {again[0]!r}; answers are told apart by name, so rename one"
                )
            if blank := [i for i, name in enumerate(names) if not name.strip()]:
                raise MeasurandError(f"{what} {blank[0] + 1} has a blank name; give it one")
            if odd := [name for name in names if _UNWRITABLE.search(name)]:
                raise MeasurandError(
                    f"the {what} {odd[0]!r} has a carriage return, a NUL or half a character in its name, with which "
                    "no table can be read again; take it out"
                )
        for readout in self.readouts:
            prefills = list(readout.prefills) if isinstance(readout, Graded) else []
            if again := [prefill for i, prefill in enumerate(prefills) if prefill in prefills[:i]]:
                raise MeasurandError(
                    f"readout {readout.name!r} has the prefill {again[0]!r} twice; leave one of them out"
                )
