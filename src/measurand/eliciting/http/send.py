"""Sends requests to an OpenAI-compatible server: many at a time, within its limits, again where that can help."""

from __future__ import annotations

import email.utils
import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from measurand.eliciting.engine import Failure
from measurand.eliciting.system import System
from measurand.result import MeasurandError
from measurand.stats.inference import stream

#: Statuses after which the same request may succeed: waiting, conflict, too many, and every trouble of the server.
_AGAIN: Final = (408, 409, 425, 429)
#: Statuses after which no other request will succeed either.
_STOPS: Final = (401, 402, 403, 404)
#: Longest pause that a server may ask for before its request counts as failed.
_LONGEST_PAUSE_S: Final = 300.0
#: Shorter keys and query values are no secrets (``none``, ``v1``), and words of messages may contain them by chance.
_LEAST_SECRET: Final = 6
#: How often the reader of outcomes looks up whether it was all stopped (and some systems notice Ctrl-C only then).
_LOOK_UP_S: Final = 0.5
#: How long closing waits for connections that are being made.
_CONNECTING_S: Final = 0.1
#: Characters of a server's message that are kept.
_SHOWN: Final = 300


@dataclass(frozen=True)
class Sent:
    """What became of one request.

    Parameters
    ----------
    document : mapping
        The response's JSON object; empty where it failed.
    failure : Failure or None
        Why there is none.
    status : int
        The last HTTP status; 0 where no response came.
    server : str
        What the server calls itself in its header.
    seconds : float
        Duration of the try that succeeded.
    """

    document: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None
    status: int = 0
    server: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Try:
    """One try: what came, and if it failed whether and when to try again."""

    sent: Sent
    again: bool = False
    pause_s: float = 0.0
    is_dead: bool = False


class Sender:
    """Sends the requests of one system.

    Parameters
    ----------
    system : System
        Address, key's variable, limits.
    seed : int
        Seed of the jitter of pauses, which no answer depends on.
    first_pause_s, longest_pause_s : float
        The pause before the second try, which doubles from try to try, and its upper limit.

    Raises
    ------
    MeasurandError
        If the address is missing or holds a password, or the extra `openai` is not installed.
    """

    def __init__(
        self, system: System, *, seed: int = 0, first_pause_s: float = 0.5, longest_pause_s: float = 60.0
    ) -> None:
        self._system, self._first, self._longest = system, first_pause_s, longest_pause_s
        self._rng = stream(seed, "http", system.name)
        self._lock, self._stops = threading.Lock(), set[threading.Event]()
        self._workers: list[threading.Thread] = []
        self._next_slot = 0.0
        self._client: Any = None
        self._secrets: tuple[str, ...] = ()
        self._key = ""
        self.n_requests = 0
        parts = urlsplit(system.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise MeasurandError(
                f"system {system.name!r} has the url {self.clean(_without_secrets(system.url))!r}; "
                "give the server's base address, such as http://localhost:8000/v1"
            )
        if parts.username or parts.password:
            raise MeasurandError(
                f"system {system.name!r}: the url {_without_secrets(system.url)!r} holds a user name or password; "
                "put the key into an environment variable and name that in api_key_env"
            )
        if system.concurrency < 1 or system.tries < 1 or system.timeout_s <= 0:
            raise MeasurandError(
                f"system {system.name!r}: concurrency {system.concurrency}, tries {system.tries}, timeout_s "
                f"{system.timeout_s}; the first two are at least 1, the last is above 0"
            )
        if system.requests_per_minute is not None and system.requests_per_minute <= 0:
            raise MeasurandError(
                f"system {system.name!r}: requests_per_minute {system.requests_per_minute}; leave it out for no limit"
            )

    @property
    def address(self) -> str:
        """The base address without user, password and query."""
        return _without_secrets(self._system.url)

    def clean(self, text: str) -> str:
        """Return a server's message without the key, in any of the forms in which it was sent."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return re.sub(r"(?i)\b(bearer\s+)[^\s\"',;<>]{16,}", r"\1[key]", text)

    def one(self, body: Mapping[str, Any], *, stop: threading.Event | None = None) -> Sent:
        """Send one request and wait for it; tried again as often as the system allows, until `stop` is set."""
        self._connect()
        stop = stop or threading.Event()
        outcome = self._try(body, stop)
        for attempt in range(1, self._system.tries):
            if outcome.sent.failure is None or not outcome.again:
                break
            with self._lock:
                jitter = self._rng.uniform(0.5, 1.0)
            pause = max(min(self._first * 2 ** (attempt - 1), self._longest) * jitter, outcome.pause_s)
            if stop.wait(pause):
                break
            outcome = self._try(body, stop)
        failure = outcome.sent.failure
        if failure is not None and outcome.again:
            tries = f" ({self._system.tries} tries)" if self._system.tries > 1 else ""
            failure = Failure(f"{failure.reason}{tries}", stops=failure.stops or outcome.is_dead)
        return Sent(outcome.sent.document, failure, outcome.sent.status, outcome.sent.server, outcome.sent.seconds)

    def many(self, n: int, body_of: Callable[[int], Mapping[str, Any]]) -> Iterator[tuple[int, Sent]]:
        """Send n requests, several at a time, and give each one's position and outcome as it comes.

        Bodies are made when their turn comes, so that pictures don't fill the memory. After a failure that stops
        everything the requests that were not sent yet fail for the same reason. Whoever stops listening (Ctrl-C) stops
        the sending; replies on their way are not waited for.
        """
        self._connect()
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[int, Sent | BaseException]] = queue.SimpleQueue()
        for position in range(n):
            waiting.put(position)
        stop, dead = threading.Event(), threading.Event()
        self._stops.add(stop)
        last: list[Failure] = []

        def work() -> None:
            while not stop.is_set():
                try:
                    position = waiting.get_nowait()
                except queue.Empty:
                    return
                if dead.is_set():
                    done.put((position, Sent(failure=Failure(f"not sent: {last[0].reason}", stops=True))))
                    continue
                try:
                    sent = self.one(body_of(position), stop=stop)
                except BaseException as error:  # noqa: BLE001 - it is raised where the results are read
                    if not stop.is_set():  # a client that was closed meanwhile is no error
                        done.put((position, error))
                    return
                if sent.failure is not None and sent.failure.stops:
                    last.append(sent.failure)
                    dead.set()
                done.put((position, sent))

        # Threads of a pool are joined when Python ends; these are not, and so Ctrl-C needn't wait for a slow server.
        for _ in range(min(self._system.concurrency, n)):
            worker = threading.Thread(target=work, daemon=True)
            self._workers.append(worker)
            worker.start()
        try:
            left = n
            while left:
                try:
                    position, outcome = done.get(timeout=_LOOK_UP_S)
                except queue.Empty:
                    if stop.is_set():  # closed meanwhile: nobody will send the rest
                        return
                    continue
                if isinstance(outcome, BaseException):
                    raise outcome
                left -= 1
                yield position, outcome
        finally:
            stop.set()
            self._stops.discard(stop)
            self._workers = [worker for worker in self._workers if worker.is_alive()]

    def close(self) -> None:
        """Stop what is still being sent and close the connections."""
        for stop in tuple(self._stops):
            stop.set()
        # A connection that is just being made is not the client's yet, which could not close it.
        until = time.monotonic() + _CONNECTING_S
        for worker in self._workers:
            worker.join(timeout=max(until - time.monotonic(), 0.0))
        self._workers.clear()
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connect(self) -> None:
        with self._lock:
            if self._client is not None:
                return
            openai = _openai()
            name, key = self._system.api_key_env, ""
            if name and not (key := os.environ.get(name, "").strip()):
                raise MeasurandError(
                    f"system {self._system.name!r}: the environment variable {name!r} is not set; "
                    "set it to the server's key, or leave api_key_env blank for a server without keys"
                )
            if not key.isascii() or not key.isprintable() or " " in key:
                raise MeasurandError(
                    f"system {self._system.name!r}: the environment variable {name!r} holds characters that no key "
                    "has (spaces, line breaks or letters beyond ASCII); set it to the key alone"
                )
            query = dict(parse_qsl(urlsplit(self._system.url).query))
            forms = {form for secret in (key, *query.values()) for form in (secret, quote(secret, safe=""))}
            forms |= {json.dumps(form)[1:-1] for form in forms}
            # The longest form first: a short one that is part of it would leave the rest standing.
            self._secrets = tuple(sorted((form for form in forms if len(form) >= _LEAST_SECRET), key=len, reverse=True))
            self._key = key
            self._client = openai.OpenAI(
                # Without a key of its own the SDK would send the one it finds in OPENAI_API_KEY, to any server.
                api_key=key or "none",
                base_url=self.address,
                default_query=query or None,
                timeout=self._system.timeout_s,
                max_retries=0,
            )

    def _wait_for_turn(self, stop: threading.Event) -> None:
        """Wait until the own limit of the rate, or a pause that the server asked for, permits the next request."""
        with self._lock:
            now = time.monotonic()
            at = max(self._next_slot, now)
            if self._system.requests_per_minute is not None:
                self._next_slot = at + 60.0 / self._system.requests_per_minute
        if at > now:
            stop.wait(at - now)

    def _hold(self, pause_s: float) -> None:
        with self._lock:
            self._next_slot = max(self._next_slot, time.monotonic() + pause_s)

    def _try(self, body: Mapping[str, Any], stop: threading.Event) -> _Try:
        openai = _openai()
        self._wait_for_turn(stop)
        client = self._client
        if stop.is_set() or client is None:
            return _Try(Sent(failure=Failure("not sent: the run was stopped")))
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        start = time.monotonic()
        with self._lock:
            self.n_requests += 1
        try:
            # The fields go through extra_body as they are: what the SDK would add or drop differs between versions.
            raw = client.chat.completions.with_raw_response.create(
                model=body["model"], messages=body["messages"], extra_body=rest
            )
        except openai.APITimeoutError as error:
            is_dead = "ConnectTimeout" in type(error.__cause__).__name__
            return self._failed(f"no reply within {self._system.timeout_s:g} seconds", again=True, is_dead=is_dead)
        except openai.APIStatusError as error:
            return self._refused(error)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            is_dead = "ConnectError" in type(cause).__name__
            what = "could not be reached" if is_dead else "broke off the connection"
            reason = f"the server {what}: {self._words(str(cause or error))}"
            return self._failed(reason, again=True, is_dead=is_dead)
        response, seconds = raw.http_response, time.monotonic() - start
        return self._parsed(response.text, response.status_code, response.headers.get("server", ""), seconds)

    def _parsed(self, text: str, status: int, server: str, seconds: float) -> _Try:
        try:
            # A reply stays as it is but for the key itself, which a server may repeat anywhere.
            document = json.loads(text.replace(self._key, "[key]") if len(self._key) >= _LEAST_SECRET else text)
        except json.JSONDecodeError:
            return self._failed(f"the reply is no JSON: {self._words(text)}", status=status, again=True)
        if isinstance(document, dict) and "choices" not in document and "error" in document:
            # Gateways put the failure of the server behind them into a response that says 200.
            return self._failed(f"the reply is an error: {self._words(text)}", status=status, again=True)
        if not isinstance(document, dict):
            return self._failed(f"the reply is no JSON object: {self._words(text)}", status=status, again=True)
        return _Try(Sent(document, None, status, server, seconds))

    def _refused(self, error: Any) -> _Try:
        """Tell apart what waiting helps, what concerns this prompt alone, and what ends everything."""
        status, words = int(error.status_code), self._words(error.response.text)
        reason = f"HTTP {status}: {words}" if words else f"HTTP {status}"
        if status == 429 and "insufficient_quota" in error.response.text:
            return self._failed(reason, status=status, stops=True)
        if status in _AGAIN or status >= 500:
            pause = _retry_after(error.response.headers)
            if pause > _LONGEST_PAUSE_S:
                return self._failed(f"{reason}; the server asks for a pause of {pause:.0f} seconds", status=status)
            if pause:
                self._hold(pause)
            return self._failed(reason, status=status, again=True, pause_s=pause)
        return self._failed(reason, status=status, stops=status in _STOPS)

    def _failed(
        self,
        reason: str,
        *,
        status: int = 0,
        again: bool = False,
        stops: bool = False,
        pause_s: float = 0.0,
        is_dead: bool = False,
    ) -> _Try:
        return _Try(Sent(failure=Failure(reason, stops), status=status), again, pause_s, is_dead)

    def _words(self, text: str) -> str:
        """A server's message in one short line: its own words out of JSON or HTML, without secrets."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            text = re.sub(r"(?is)<(script|style).*?</\1>|<[^>]+>", " ", text)
        else:
            text = _message(document)
        # Secrets go first: half a key at the cut would be found by no search.
        text = " ".join(self.clean(text).split())
        return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MeasurandError(
            'OpenAI-compatible servers need the extra "openai": pip install "measurand[openai]"'
        ) from error
    return openai


def _message(document: Any) -> str:
    """The words in an error's JSON, wherever this server puts them."""
    while isinstance(document, Mapping):
        found = next((document[name] for name in ("error", "message", "detail") if document.get(name)), None)
        if found is None:
            break
        document = found
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that the server asks to wait, as a number or a date; 0 where it says nothing that can be read."""
    given = headers.get("retry-after", "").strip()
    try:
        return max(float(given), 0.0)
    except ValueError:
        try:
            return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
        except ValueError:
            return 0.0


def _without_secrets(url: str) -> str:
    """An address without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
