"""A model's weights on this machine: which they are, and one pass through them."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from measurand.eliciting.local.render import transformers_library
from measurand.eliciting.local.weights import config_digest, weights_digest
from measurand.eliciting.system import System
from measurand.result import MeasurandError

#: Rows of the head's weights that are turned into float32 at a time.
_HEAD_ROWS: Final = 2**14
#: Weights up to which a model is asked on one thread. With 1.6 million on two cores, two threads were 13 % faster than
#: one where nothing else ran, and took ten times as long where something did.
_SMALL: Final = 10_000_000


@dataclass(frozen=True)
class Seen:
    """What one pass showed.

    Parameters
    ----------
    logits : torch.Tensor, shape (n_rows, n_vocabulary)
        Raw logits in float32 at the rows that were asked for, in the order of row and column.
    next_positions : tuple of int
        For each of these rows, the position that the model itself would give the token behind it.
    cache : object
        The cache that the pass filled; None without one.
    """

    logits: Any
    next_positions: tuple[int, ...]
    cache: Any


class LocalModel:
    """The weights of one system; nothing is loaded before the first pass.

    Parameters
    ----------
    system : System
        Model, revision, GGUF file, device and dtype.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.head_note = "float32 throughout" if system.dtype == "float32" else ""
        self._model: Any = None
        self._resting: list[tuple[Any, dict[str, Any], dict[str, Any]]] = []
        self._transform: Callable[[Any], Any] | None = None

    # ------------------------------------------------------------------------------------------------ identity
    def identity(self) -> dict[str, str]:
        """Return what determines the logits: hashes of weights and configuration, types, attention, versions."""
        told = {
            "engine": "transformers",
            "weights": self._digests[0],
            "config": self._digests[1],
            "gguf": self.system.gguf,
            "revision": self.system.revision,
            "dtype": self.system.dtype,
            "head_dtype": "float32",
            "attention": self.attention,
            "device": self.system.device.partition(":")[0],
            "torch": version("torch"),
            "transformers": version("transformers"),
        }
        return {key: value for key, value in told.items() if value}

    @cached_property
    def _digests(self) -> tuple[str, str]:
        with self._told():
            return weights_digest(self.system), config_digest(self.system)

    @cached_property
    def config(self) -> Any:
        """The model's configuration."""
        auto = transformers_library().AutoConfig
        with self._told():
            return auto.from_pretrained(self.system.model, **self._where())

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in words what can't be loaded."""
        from huggingface_hub.errors import StrictDataclassError

        try:
            yield
        except (OSError, ValueError, StrictDataclassError) as error:
            raise MeasurandError(
                f"system {self.system.name!r}: {self.system.model!r} can't be loaded ({error}); name a folder with "
                "config.json and safetensors, a folder and its GGUF file, or a hub name"
            ) from error

    @property
    def sees(self) -> bool:
        """Whether the configuration has a part for pictures."""
        return getattr(self.config, "vision_config", None) is not None

    @cached_property
    def attention(self) -> str:
        """The attention implementation: scaled dot products where the class has them."""
        mapping = transformers_library().models.auto.modeling_auto
        classes = (
            mapping.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING if self.sees else mapping.MODEL_FOR_CAUSAL_LM_MAPPING
        ).get(type(self.config), None)
        first = classes[0] if isinstance(classes, tuple | list) else classes
        return "sdpa" if getattr(first, "_supports_sdpa", True) else "eager"

    def _where(self) -> dict[str, Any]:
        where: dict[str, Any] = {"local_files_only": True} if Path(self.system.model).is_dir() else {}
        if self.system.revision:
            where["revision"] = self.system.revision
        if self.system.gguf:
            where["gguf_file"] = self.system.gguf
        return where

    # ------------------------------------------------------------------------------------------------- weights
    @property
    def model(self) -> Any:
        """The model itself, loaded when it is first asked for."""
        if self._model is None:
            self._model = self._load()
            self._resting = [
                (module, _loose(module), dict(module._buffers)) for _, module in self._model.named_modules()
            ]
        return self._model

    def _load(self) -> Any:
        transformers = transformers_library()
        import torch
        from transformers.utils import logging as _logging

        logging: Any = _logging

        if not torch.cuda.is_available() and self.system.device.startswith("cuda"):
            raise MeasurandError(f"device {self.system.device!r}: torch sees no such device here; say device = 'cpu'")
        auto = transformers.AutoModelForImageTextToText if self.sees else transformers.AutoModelForCausalLM
        shows_bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            with self._told():
                model = auto.from_pretrained(
                    self.system.model,
                    dtype=getattr(torch, self.system.dtype),
                    attn_implementation=self.attention,
                    **self._where(),
                )
        finally:
            if shows_bars:
                logging.enable_progress_bar()
        return model.to(self.system.device).eval()

    def close(self) -> None:
        """Let the weights go."""
        self._model, self._resting = None, []
        if self.system.device.startswith("cuda"):
            import torch

            torch.cuda.empty_cache()

    def rest(self) -> None:
        """Put back what passes leave behind on modules (position offsets of the last picture, say)."""
        for module, loose, buffers in self._resting:
            for name, value in _loose(module).items():
                if name not in loose:
                    delattr(module, name)
                elif value is not loose[name]:
                    setattr(module, name, loose[name])
            for name, buffer in buffers.items():
                if module._buffers.get(name) is not buffer:
                    module._buffers[name] = buffer

    # -------------------------------------------------------------------------------------------------- passes
    @cached_property
    def _taken(self) -> frozenset[str]:
        """What a pass can be given, by name."""
        return frozenset(inspect.signature(self.model.forward).parameters)

    def run(self, inputs: Mapping[str, Any], rows: Any, *, cache: Any = None) -> Seen:
        """Pass tokens through the model.

        Parameters
        ----------
        inputs : mapping of str to torch.Tensor
            What the model takes; `input_ids` of shape (n_batch, n_tokens) among it.
        rows : torch.Tensor of bool, shape (n_batch, n_tokens)
            Where logits are wanted; the head is computed there alone.
        cache : object
            A cache that the pass goes on from and fills; None for none, an empty one of `new_cache` to fill.
        """
        import torch

        model = self.model
        hidden: list[Any] = []
        positions: list[Any] = []
        rows = rows.to(self.system.device)

        def keep(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden.append(arguments[0][rows][None])
            return (hidden[-1], *arguments[1:])

        def look(_: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:  # noqa: ARG001
            positions.append(named.get("position_ids"))

        given = {name: _move(value, self.system.device) for name, value in inputs.items()}
        if "position_ids" not in self._taken:  # a model that counts from the mask; the self-test tells whether it does
            given.pop("position_ids", None)
        # The cache's name changed within one major version.
        filled = {} if cache is None else {"cache" if "cache" in self._taken else "past_key_values": cache}
        before = cache.get_seq_length() if cache is not None else 0
        with contextlib.ExitStack() as hooks, torch.inference_mode():
            hooks.callback(model.get_output_embeddings().register_forward_pre_hook(keep).remove)
            hooks.callback(model.get_decoder().register_forward_pre_hook(look, with_kwargs=True).remove)
            out = model(**given, **filled, use_cache=cache is not None)
            own = (out.logits[0] if hidden else out.logits[rows]).float()
            logits = self._float32_head(hidden[-1][0], own) if hidden and self.system.dtype != "float32" else own
        given_positions = next((found for found in positions if found is not None), None)
        if given_positions is None:
            following = rows.nonzero()[:, 1] + before + 1
        else:  # one axis, or one for each of time, height and width, whose largest counts
            widest = given_positions if given_positions.ndim == 2 else given_positions.amax(dim=0)
            following = widest.expand(*rows.shape)[rows] + 1
        return Seen(logits, tuple(following.tolist()), cache)

    @contextlib.contextmanager
    def few_threads(self) -> Iterator[None]:
        """Ask a small model on one thread: several gain little, and on a busy machine wait for each other."""
        import torch

        n = torch.get_num_threads()
        if n == 1 or not self._is_small:
            yield
            return
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(n)

    @cached_property
    def _is_small(self) -> bool:
        return self.system.device == "cpu" and sum(one.numel() for one in self.model.parameters()) <= _SMALL

    def new_cache(self, *, is_plain: bool) -> Any:
        """Return an empty cache: of full layers, which branches can share, or of the model's own kinds of layers."""
        transformers = transformers_library()
        return transformers.DynamicCache() if is_plain else transformers.DynamicCache(config=self.model.config)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all layers keep keys and values alone, and nothing that is overwritten as tokens come."""
        from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

        return all(
            type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in self.new_cache(is_plain=False).layers
        )

    # ---------------------------------------------------------------------------------------------------- head
    def recomputed(self, hidden: Any) -> Any:
        """Return float32 logits of final hidden states (n_rows, n_hidden), before any transform of the model's own."""
        import torch

        head = self.model.get_output_embeddings()
        weight, bias = head.weight, getattr(head, "bias", None)
        hidden = hidden.float()
        pieces = [hidden @ weight[start : start + _HEAD_ROWS].float().T for start in range(0, len(weight), _HEAD_ROWS)]
        logits = torch.cat(pieces, dim=-1)
        return logits if bias is None else logits + bias.float()

    def _float32_head(self, hidden: Any, own: Any) -> Any:
        """Return logits computed in float32, where they can be shown to be the model's own but for rounding."""
        if not len(own):
            return own
        if not self.head_note:
            self._transform, self.head_note = self._find_transform(hidden, own)
        return own if self._transform is None else self._transform(self.recomputed(hidden))

    def _find_transform(self, hidden: Any, own: Any) -> tuple[Callable[[Any], Any] | None, str]:
        import torch

        plain = self.recomputed(hidden)
        off = [((transform(plain) - own).abs(), name, transform) for name, transform in self._transforms()]
        # Small logits do not show a cap: where the two are as close, what the configuration names is believed.
        distances, name, transform = min(off, key=lambda one: float(one[0].mean()) * (1.0 if one[1] else 1.1))
        # Each of the model's logits is rounded once to its dtype, and the inner products may be summed in it.
        slack = 4 * float(torch.finfo(getattr(torch, self.system.dtype)).eps) * float(own.abs().max())
        if float(distances.max()) <= slack:
            return transform, f"float32 from the final hidden states{name}"
        return None, f"the model's own logits in {self.system.dtype}: recomputing them in float32 gave other ones"

    def _transforms(self) -> Iterator[tuple[str, Callable[[Any], Any]]]:
        """Yield what models do to logits behind the head, as their configurations name it."""
        text = self.model.config.get_text_config()
        yield "", lambda logits: logits
        if cap := getattr(text, "final_logit_softcapping", None):
            yield f", soft-capped at {cap}", lambda logits: (logits / cap).tanh() * cap
        if scale := getattr(text, "logit_scale", None):
            yield f", times {scale}", lambda logits: logits * scale
        if divisor := getattr(text, "logits_scaling", None):
            yield f", divided by {divisor}", lambda logits: logits / divisor


def shared(cache: Any, *, n_rows: int = 1) -> Any:
    """Return a cache of full layers that goes on from `cache` and leaves it as it is, for `n_rows` rows.

    A full layer grows by joining tensors into a new one, so that the prefix's own are never written to. Nothing is
    cropped afterwards: what cropping takes as its argument has changed between versions.
    """
    branch = copy.copy(cache)
    branch.layers = [copy.copy(layer) for layer in cache.layers]
    if n_rows > 1:
        for layer in branch.layers:
            layer.keys = layer.keys.expand(n_rows, -1, -1, -1)
            layer.values = layer.values.expand(n_rows, -1, -1, -1)
    return branch


def tokens(ids: Sequence[int]) -> Any:
    """Return one row of token ids."""
    import torch

    return torch.tensor([list(ids)], dtype=torch.long)


def _move(value: Any, device: str) -> Any:
    if isinstance(value, Mapping):
        return {key: inner.to(device) for key, inner in value.items()}
    return value.to(device) if hasattr(value, "to") else value


def _loose(module: Any) -> dict[str, Any]:
    """Return a module's tensors that are neither weights nor buffers, and what is None: where state can hide."""
    import torch

    return {
        name: value
        for name, value in vars(module).items()
        if value is None or isinstance(value, torch.Tensor)
        if name not in ("_parameters", "_buffers", "_modules")
    }
