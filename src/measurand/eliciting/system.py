"""A system of a study: which model, where it runs, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EngineName = Literal["transformers", "openai", "fake"]


@dataclass(frozen=True)
class Price:
    """What tokens cost.

    Parameters
    ----------
    input, output : float
        Price of `per` tokens of the prompt and of the reply.
    cached : float or None
        Price of `per` prompt tokens that came from a cache; None for the price of `input`.
    currency : str
        ISO 4217 code.
    per : int
        Tokens that the prices are for.
    """

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    currency: str = "USD"
    per: int = 1_000_000


@dataclass(frozen=True)
class System:
    """One system: a model at a place, under settings that make its answers what they are.

    Parameters
    ----------
    name : str
        What the tables call it; unique in a study.
    engine : {"transformers", "openai", "fake"}
        Where it runs.
    model : str
        A folder or hub name (transformers), the model's name at the server (openai).
    revision : str
        Commit of a hub model; blank for a local folder.
    gguf : str
        Name of a GGUF file in the model's folder; blank for safetensors.
    url : str
        Base address of an OpenAI-compatible server (``http://localhost:8000/v1``).
    api_key_env : str
        Name of the environment variable with the key, never the key.
    device : str
        Device of torch.
    dtype : {"float32", "bfloat16", "float16"}
        Type of the weights; the rows of the head that answers are read from are computed in float32.
    tolerance : float or None
        Largest difference in log-odds that the self-test allows; None for 1e-4 in float32. Other types need one.
    thinking : {"off", "default"}
        Whether the template is told to leave out reasoning, which is verified on the rendered text.
    template_options : mapping
        Further variables of the chat template.
    concurrency : int
        Requests at a time (openai).
    timeout_s : float
        Longest wait for one request (openai).
    tries : int
        How often a request is sent before it counts as failed (openai): limits, server errors, time-outs.
    requests_per_minute : float or None
        Own limit of the rate of requests (openai).
    top_logprobs : int
        How many of the likeliest tokens to ask for (openai).
    prefill_style : {"auto", "trailing", "continue_final_message"}
        How a started turn is sent (openai): as a trailing assistant message alone, or with vLLM's and SGLang's fields.
    extra_body : mapping
        Further fields of each request (openai), as they are.
    price : Price
        What tokens cost.
    """

    name: str
    engine: EngineName
    model: str = ""
    revision: str = ""
    gguf: str = ""
    url: str = ""
    api_key_env: str = ""
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    tolerance: float | None = None
    thinking: Literal["off", "default"] = "off"
    template_options: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 8
    timeout_s: float = 60.0
    tries: int = 5
    requests_per_minute: float | None = None
    top_logprobs: int = 20
    prefill_style: Literal["auto", "trailing", "continue_final_message"] = "auto"
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    price: Price = Price()
