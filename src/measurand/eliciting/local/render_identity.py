"""What the prompt ids and pixels depend on besides the prompt: classes, settings and hashes."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from measurand.eliciting.local.render_tokens import Tokens

#: What every call of a tokenizer sets anew, so that it says nothing about the tokenizer.
_SET_BY_CALLS: Final = ("padding", "truncation")


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _sha256_of_values(values: Any) -> str:
    return sha256(json.dumps(values, sort_keys=True, default=str))


def tokenizer_identity(tokenizer: Any) -> dict[str, str]:
    """Return a tokenizer's class and the hash of what it does: the same from a folder, a hub name and a GGUF file."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    known = (
        tokenizer.get_vocab()
        if backend is None
        else {name: value for name, value in json.loads(backend.to_str()).items() if name not in _SET_BY_CALLS}
    )
    return {
        "tokenizer": type(tokenizer).__name__,
        "tokenizer_sha256": _sha256_of_values([known, tokenizer.special_tokens_map]),
    }


def processor_identity(processor: Any) -> dict[str, str]:
    """Return the classes of a processor and of its image processor, its sizes and steps, and the hash of all of them.

    The same picture gives other pixels under another image processor class (on Pillow or on torchvision) or size.
    """
    import PIL

    images = processor.image_processor
    settings = {name: value for name, value in images.to_dict().items() if not name.startswith("_")}
    own = {name: value for name, value in vars(processor).items() if isinstance(value, str | int | float)}
    shown = {name: settings[name] for name in sorted(settings) if "size" in name or name.startswith("do_")}
    return {
        "processor": type(processor).__name__,
        "image_processor": type(images).__name__,
        "image_settings": json.dumps(shown, default=str),
        "processor_sha256": _sha256_of_values([settings, own]),
        "pillow": PIL.__version__,
    }


def bos_handling(tokens: Tokens, rendered: str) -> str:
    """Return the token that begins a prompt and who puts it there, in words."""
    if not tokens.bos:
        return "none"
    if rendered.startswith(tokens.bos):
        return f"{tokens.bos} by the template"
    return f"{tokens.bos} by the tokenizer" if tokens.adds_bos else f"{tokens.bos} is not used"
