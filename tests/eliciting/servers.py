"""Servers for the tests: one that misbehaves on order, llama.cpp's own, and transformers serve."""

import contextlib
import hashlib
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Response:
    """What the server says: a status, a JSON value or raw bytes; late, or broken off after some bytes."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_after: int | None = None


@dataclass
class Asked:
    """A request as it arrived."""

    body: dict[str, Any]
    headers: dict[str, str]
    at: float

    @property
    def question(self) -> str:
        """The text of the user's first message."""
        content = next(m["content"] for m in self.body["messages"] if m["role"] == "user")
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)

    @property
    def picture(self) -> str:
        """The picture's address, blank without one."""
        content = next(m["content"] for m in self.body["messages"] if m["role"] == "user")
        urls = [part["image_url"]["url"] for part in content if isinstance(part, dict) and "image_url" in part]
        return urls[0] if urls else ""

    @property
    def prefill(self) -> str:
        """The started turn, blank without one."""
        last = self.body["messages"][-1]
        return last["content"] if last["role"] == "assistant" else ""


Script = Callable[[Asked, int], Response]


@dataclass
class FaultServer:
    """A server on a free port that answers as a script says, and remembers what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextlib.contextmanager
def serving(script: Script) -> Iterator[FaultServer]:
    """Serve answers of a script, which is given the request and its number from 0."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body leave together; apart the second would wait for the first one's receipt

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(body, headers, time.monotonic())
            with lock:
                number = len(server.asked)
                server.asked.append(asked)
            response = script(asked, number)
            time.sleep(response.delay_s)
            content = response.content
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            # A client that gave up or was stopped has closed its end.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(response.status)
                for name, value in {"Content-Type": "application/json", **response.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: response.cut_after])
                if response.cut_after is not None:
                    self.close_connection = True

        def log_message(self, *args):
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *args):
            """Say nothing of clients that left."""

    http = Quiet(("127.0.0.1", 0), Handler)
    server = FaultServer(f"http://127.0.0.1:{http.server_port}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def likeliest(*tokens: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return entries of top_logprobs out of (text, probability) or (text, probability, id)."""
    entries = []
    for text, p, *identity in tokens:
        entry: dict[str, Any] = {"token": text, "logprob": math.log(p), "bytes": list(text.encode())}
        entries.append(entry | ({"id": identity[0]} if identity else {}))
    return entries


def completion(
    text: str = "yes",
    top: list[dict[str, Any]] | None = None,
    *,
    finish: str = "stop",
    usage: dict[str, Any] | None = None,
    further: tuple[list[dict[str, Any]], ...] = (),
    message: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a chat completion; `further` are the likeliest tokens at later positions."""
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **(message or {})},
    }
    if top is not None:
        content = [{**(entries[0] if entries else {}), "top_logprobs": entries} for entries in (top, *further)]
        choice["logprobs"] = {"content": content}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "served-model",
        "system_fingerprint": "fp-1",
        "choices": [choice],
        "usage": usage or {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
    }


@dataclass
class Pretender:
    """A small deterministic model behind a server, of which each ability can be taken away.

    Tokens of prompts are words. A reading's log-odds come from a hash of question, picture and prefill.
    """

    continues: str = "trailing"  # "trailing", "continue_final_message", "closed", "dropped"
    echoes: bool = False
    sees: str = "yes"  # "yes", "dropped" (no tokens), "blind" (tokens, but no difference)
    logprobs: str = "yes"  # "yes", "null", "refused"
    n_top: int = 20
    thinks: str = "no"  # "no", "template" (until told not to), "always"
    scales: bool = False
    greedy_is_raw: bool = False
    cache_noise: float = 0.0
    mixes_pictures: bool = False
    refuses_prefill: Callable[[str, dict[str, Any]], str] | None = None
    fingerprint: str = "fp-1"
    _seen: dict[str, int] = field(default_factory=dict)
    _busy: dict[str, str] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked, _number: int) -> Response:
        body = asked.body
        if self.logprobs == "refused" and body.get("logprobs"):
            return _error("logprobs are not supported by this model")
        if self.refuses_prefill and asked.prefill and (words := self.refuses_prefill(asked.prefill, body)):
            return _error(words)
        is_switched_off = body.get("chat_template_kwargs", {}).get("enable_thinking") is False
        thinks = self.thinks == "always" or (self.thinks == "template" and not is_switched_off)
        picture = "" if self.sees == "dropped" else asked.picture
        if self.mixes_pictures and picture:
            picture = self._mixed(asked)
        key = json.dumps([asked.question, picture and (self.sees == "blind" or picture), asked.prefill])
        with self._lock:
            times = self._seen[key] = self._seen.get(key, 0) + 1
        n, text = self._prompt(asked, bool(picture))
        times = 1 if body.get("cache_prompt") is False else times
        cached = n - 1 if times > 1 else 0
        usage = {"prompt_tokens": n, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
        top = self._top(key, times, body, thinks) if body.get("logprobs") and self.logprobs == "yes" else None
        response = completion(text, top, usage=usage) | {"system_fingerprint": self.fingerprint}
        return Response(response)

    def _mixed(self, asked: Asked) -> str:
        """The picture of whoever else asks at the same time, as a cache keyed by text alone would have it."""
        with self._lock:
            self._busy[str(id(asked))] = asked.picture
        time.sleep(0.1)
        with self._lock:
            others = [picture for picture in self._busy.values() if picture != asked.picture]
            picture = others[0] if others else asked.picture
        time.sleep(0.1)
        with self._lock:
            del self._busy[str(id(asked))]
        return picture

    def _prompt(self, asked: Asked, has_picture: bool) -> tuple[int, str]:
        n = 3 + len(asked.question.split()) + 4 * has_picture
        if not asked.prefill or self.continues == "dropped":
            return n, "Monday is first"
        n += len(asked.prefill.split())
        goes_on = self.continues == "trailing" or (
            self.continues == "continue_final_message" and asked.body.get("continue_final_message")
        )
        if not goes_on:
            return n + 5, "Monday is first"
        rest = "day, Thurs" if asked.prefill.endswith("Wednes") else " no"
        return n, (asked.prefill if self.echoes else "") + rest

    def _top(self, key: str, times: int, body: dict[str, Any], thinks: bool) -> list[dict[str, Any]]:
        drawn = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4]) / 2**32
        logits = [2.0, 2.0 + 4 * (drawn - 0.5), 1.0, 0.5] + [-0.3 * i for i in range(20)]
        logits[0] += self.cache_noise if times > 1 else 0.0
        texts = [" no", " yes", " No", " Yes"] + [f" w{i}" for i in range(20)]
        if thinks:
            logits, texts = [8.0, *logits], ["<think>", *texts]
        temperature = body["temperature"]
        if self.scales and not (self.greedy_is_raw and temperature == 0):
            logits = [logit / max(temperature, 0.25) for logit in logits]
        total = math.fsum(map(math.exp, logits))
        pairs = sorted(zip(texts, logits, strict=True), key=lambda pair: -pair[1])
        n = min(self.n_top, body["top_logprobs"])
        return likeliest(*((text, math.exp(logit) / total) for text, logit in pairs[:n]))


def _error(words: str) -> Response:
    return Response({"error": {"message": words, "type": "invalid_request_error"}}, 400)


# --- Real servers -----------------------------------------------------------------------------------------------------

#: llama.cpp's server inside a Python process; it ends when its standard input does, whatever becomes of the tests.
_LLAMA = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.warmup, params.n_threads_http = 4096, int(sys.argv[3]), False, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
sys.stdin.read()
"""


@contextlib.contextmanager
def llama_cpp(gguf: Path, *, n_parallel: int = 1) -> Iterator[str]:
    """Serve a GGUF file with llama.cpp's own server and give its base address."""
    port = _free_port()
    command = [sys.executable, "-c", _LLAMA, str(gguf), str(port), str(n_parallel)]
    with _running(command, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def transformers_serve(folder: Path) -> Iterator[str]:
    """Serve a folder with `transformers serve` and give its base address."""
    port = _free_port()
    start = "from transformers.cli.transformers import app; app()"
    options = ["serve", str(folder), "--device", "cpu", "--dtype", "float32", "--port", str(port)]
    command = [sys.executable, "-c", start, *options, "--host", "127.0.0.1"]
    with _running(command, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def _running(command: list[str], health: str) -> Iterator[None]:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "false"}
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=environment)
    try:
        for _ in range(1800):
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode} before it listened")
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(health, timeout=1).read()  # noqa: S310 - our own address
                break
            time.sleep(0.1)
        else:
            raise RuntimeError("the server did not listen within three minutes")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
