"""Prompts with a picture: what a model's processor makes of text and pixels, computed once for each picture."""

from __future__ import annotations

import io
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from measurand.eliciting.local.render_tokens import Ids, Tokens
from measurand.eliciting.prompt import Picture
from measurand.result import MeasurandError

if TYPE_CHECKING:
    from PIL import Image

#: How many pictures' pixels are kept.
_KEPT: Final = 4
#: What a processor returns besides what the model takes.
_NOT_FOR_THE_MODEL: Final = ("input_ids", "attention_mask", "labels")


def open_picture(picture: Picture) -> Image.Image:
    """Return a picture turned as its EXIF orientation says, in RGB.

    Parameters
    ----------
    picture : Picture
        The encoded file.

    Raises
    ------
    MeasurandError
        If the bytes are no picture, are cut short, or hold more than 8 bits of one channel, which would turn white.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    name = f"the picture with SHA-256 {picture.sha256[:12]}… ({picture.media_type}, {len(picture.data)} bytes)"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(picture.data)) as image:
                image.load()
                upright = ImageOps.exif_transpose(image)
                if upright.mode.startswith(("I", "F")):
                    raise MeasurandError(
                        f"{name} has pixels of type {upright.mode!r}, which RGB can't hold; save it with 8 bits"
                    )
                # Pillow warns where a palette with transparency goes to RGB in one step.
                return (upright.convert("RGBA") if "transparency" in upright.info else upright).convert("RGB")
    except (
        UnidentifiedImageError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
        OSError,
        SyntaxError,
        EOFError,
    ) as error:
        raise MeasurandError(f"{name} can't be read: {error}; replace the file") from error


@dataclass(frozen=True)
class Processed:
    """The ids of a text with a picture, the processor's other outputs, and which of them run along the ids."""

    ids: Ids
    inputs: Mapping[str, Any]
    along: tuple[str, ...]

    def cut(self, n: int) -> Processed:
        """Return it without the last `n` tokens."""
        if not n:
            return self
        inputs = {name: value[:, :-n] if name in self.along else value for name, value in self.inputs.items()}
        return Processed(self.ids[:-n], inputs, self.along)


@dataclass
class Pictures:
    """Runs a processor.

    A picture that several prompts show is processed for the first two of them. If the second's ids are then those of
    its text with the first's placeholders put in, so are the others', and only their texts are tokenised.

    Parameters
    ----------
    processor : processor of transformers
        The model's.
    tokens : Tokens
        Its tokenizer.
    model : str
        What error messages call it.
    """

    processor: Any
    tokens: Tokens
    model: str
    _kept: OrderedDict[str, tuple[Processed, Ids]] = field(default_factory=OrderedDict)
    _can_insert: bool | None = None

    @property
    def placeholder(self) -> str:
        """What stands for a picture in a text."""
        return str(getattr(self.processor, "image_token", None) or getattr(self.processor.tokenizer, "image_token", ""))

    @property
    def image_ids(self) -> frozenset[int]:
        """The token ids that the model replaces by a picture's features."""
        known = getattr(self.processor, "image_token_ids", None) or [getattr(self.processor, "image_token_id", None)]
        return frozenset(int(token) for token in known if token is not None)

    def process(self, text: str, picture: Picture) -> Processed:
        """Return the ids of a text that holds one placeholder, with the picture's pixels.

        Raises
        ------
        MeasurandError
            If the picture can't be read, or the processor refuses it.
        """
        kept = self._kept.get(picture.sha256)
        inserted = self._insert(text, *kept) if kept and self._can_insert is not False else None
        if inserted and self._can_insert:
            return inserted
        processed = self._run(text, picture)
        self._check_beginning(text, processed.ids)
        if kept and self._can_insert is None:
            self._can_insert = inserted is not None and _same(inserted, processed)
        elif expansion := self._expansion(text, processed):
            self._kept[picture.sha256] = (processed, expansion)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return processed

    def _run(self, text: str, picture: Picture) -> Processed:
        image = open_picture(picture)
        own_bos = {"add_special_tokens": False} if self.tokens.bos and text.startswith(self.tokens.bos) else {}
        try:
            with warnings.catch_warnings():
                # PaliGemma's processor hands tensors to numpy in a way that numpy 2 complains about.
                warnings.filterwarnings("ignore", "__array__ implementation doesn't accept a copy", DeprecationWarning)
                out = self.processor(text=[text], images=[[image]], return_tensors="pt", **own_bos)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, ImportError) as error:
            raise MeasurandError(
                f"{type(self.processor).__name__} of {self.model!r} refuses the picture with SHA-256 "
                f"{picture.sha256[:12]}… and the text {text[:80]!r}: {error}"
            ) from error
        ids = tuple(int(token) for token in out["input_ids"][0])
        inputs = {name: value for name, value in out.items() if name not in _NOT_FOR_THE_MODEL}
        along = tuple(name for name, value in inputs.items() if tuple(getattr(value, "shape", ())) == (1, len(ids)))
        return Processed(ids, inputs, along)

    def _check_beginning(self, text: str, ids: Ids) -> None:
        """Refuse ids that do not begin as the text does; its end is looked at with those of all prompts."""
        if parts := self._parts(text):
            # The last token before a placeholder may join with what the processor writes around the picture.
            before = parts[0][:-1]
            if ids[: len(before)] != before:
                raise MeasurandError(
                    f"{type(self.processor).__name__} of {self.model!r} begins the prompt {text[:60]!r} with "
                    f"{self.tokens.decode(ids[:24])!r}: it was cut or changed; shorten it"
                )

    def _parts(self, text: str) -> tuple[Ids, Ids] | None:
        """Return the ids before and behind the one placeholder of a text."""
        ids = self.tokens.encode(text)
        place = self.tokens.tokenise(self.placeholder)
        if len(place) != 1 or ids.count(place[0]) != 1:
            return None
        at = ids.index(place[0])
        return ids[:at], ids[at + 1 :]

    def _expansion(self, text: str, processed: Processed) -> Ids:
        """Return the ids that took the placeholder's place; none if the rest of the text changed, too."""
        if not (parts := self._parts(text)):
            return ()
        before, behind = parts
        ids = processed.ids
        expansion = ids[len(before) : len(ids) - len(behind)]
        return expansion if before + expansion + behind == ids else ()

    def _insert(self, text: str, like: Processed, expansion: Ids) -> Processed | None:
        """Return a text's ids with another's expansion put in, and values along them likewise."""
        import torch

        if not (parts := self._parts(text)):
            return None
        before, behind = parts
        start = next(at for at in range(len(like.ids)) if like.ids[at : at + len(expansion)] == expansion)
        inputs = dict(like.inputs)
        for name in like.along:
            values = like.inputs[name]
            outside = torch.cat([values[:, :start], values[:, start + len(expansion) :]], dim=1)[0].tolist()
            if len(set(outside)) != 1:
                return None
            filled = [values.new_full((1, len(part)), outside[0]) for part in (before, behind)]
            inputs[name] = torch.cat([filled[0], values[:, start : start + len(expansion)], filled[1]], dim=1)
        return Processed(before + expansion + behind, inputs, like.along)


def _same(a: Processed, b: Processed) -> bool:
    return (
        a.ids == b.ids
        and a.along == b.along
        and all(bool((a.inputs[name] == b.inputs[name]).all()) for name in a.along)
    )
