"""A server that misbehaves in every way that servers do."""

import contextlib
import itertools
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from eliciting.servers import Response, completion, likeliest, serving
from measurand.eliciting.engine import Decoding, Failure, Reading, Reply
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt, Turn
from measurand.eliciting.system import System
from measurand.result import MeasurandError

pytest.importorskip("openai")

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
KEY = "sk-measurand-0123456789abcdef"
GOOD = completion(" yes", likeliest((" yes", 0.6), (" no", 0.3)))
PROMPTS = [Prompt(f"question {i}") for i in range(4)]


def engine(url, *, tries=3, **settings):
    settings = {"model": "m", "concurrency": 1, "timeout_s": 5.0, **settings}
    return HttpEngine(System("s", "openai", url=url, tries=tries, **settings), first_pause_s=0.02)


def read(script, prompts=PROMPTS[:1], **settings):
    """Outcomes of reading the prompts by position, and what the server was asked."""
    with serving(script) as server, contextlib.closing(engine(server.url, **settings)) as system:
        outcomes = dict(system.read(prompts, YES_NO))
    assert sorted(outcomes) == list(range(len(prompts)))
    return outcomes, server.asked


def first(*responses):
    """A script: these responses one after the other, the last one from then on."""
    return lambda _, number: responses[min(number, len(responses) - 1)]


# --- Trouble that passes ----------------------------------------------------------------------------------------------

PASSING = {
    "429": Response({"error": {"message": "slow down"}}, 429),
    "500": Response({"error": "oops"}, 500),
    "502 in HTML": Response(b"<html><body>Bad Gateway</body></html>", 502, {"Content-Type": "text/html"}),
    "503": Response(b"", 503),
    "408": Response(b"", 408),
    "late": Response(GOOD, delay_s=1.0),
    "cut": Response(GOOD, cut_after=40),
    "no bytes": Response(GOOD, cut_after=0),
    "no JSON": Response(b"yes"),
    "half JSON": Response(b'{"choices": [{"mess'),
    "HTML": Response(b"<html><title>Login</title></html>", headers={"Content-Type": "text/html"}),
    "a list": Response([1]),
    "200 with an error": Response({"error": {"message": "upstream failed"}}),
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again(trouble):
    outcomes, asked = read(first(trouble, Response(GOOD)), timeout_s=0.5 if trouble.delay_s else 5.0)
    assert isinstance(outcomes[0], Reading)
    assert len(asked) == 2
    assert asked[0].body == asked[1].body


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("429", "HTTP 429: slow down (3 tries)"),
        ("500", "HTTP 500: oops (3 tries)"),
        ("502 in HTML", "HTTP 502: Bad Gateway (3 tries)"),
        ("late", "no reply within 0.5 seconds (3 tries)"),
        ("cut", "broke off the connection"),
        ("no JSON", "the reply is no JSON: yes (3 tries)"),
        ("HTML", "the reply is no JSON: Login (3 tries)"),
        ("200 with an error", "upstream failed"),
    ],
)
def test_what_does_not_pass_is_a_failure_in_words_and_stops_nothing(trouble, words):
    timeout_s = 0.5 if trouble == "late" else 5.0
    outcomes, asked = read(first(PASSING[trouble]), PROMPTS[:2], timeout_s=timeout_s, concurrency=2)
    assert all(isinstance(outcome, Failure) and not outcome.stops for outcome in outcomes.values())
    assert words in outcomes[0].reason
    assert len(asked) == 6


def test_pauses_double_and_have_jitter():
    _, asked = read(first(PASSING["500"]), tries=4)
    pauses = [b.at - a.at for a, b in itertools.pairwise(asked)]
    for pause, planned in zip(pauses, (0.02, 0.04, 0.08), strict=True):
        assert planned / 2 <= pause < planned + 1.0


def test_the_pause_that_a_server_asks_for_is_kept_by_all_requests():
    """429 with Retry-After: the others wait, too, and don't run into the same limit."""
    limit = Response({"error": "limit"}, 429, {"Retry-After": "0.4"})
    outcomes, asked = read(lambda _, number: limit if number == 0 else Response(GOOD), PROMPTS, concurrency=1)
    assert all(isinstance(outcome, Reading) for outcome in outcomes.values())
    assert asked[1].at - asked[0].at >= 0.4

    def script(_, number):
        return limit if number == 0 else Response(GOOD, delay_s=0.0 if number < 2 else 0.05)

    outcomes, asked = read(script, PROMPTS * 3, concurrency=2)
    assert all(isinstance(outcome, Reading) for outcome in outcomes.values())
    held = [one.at - asked[0].at for one in asked[3:]]  # the second worker's first ones may have left before
    assert min(held) >= 0.3


def test_a_pause_may_be_a_date():
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    _, asked = read(first(Response(b"", 503, {"Retry-After": at}), Response(GOOD)))
    assert 0.5 < asked[1].at - asked[0].at < 2.5


def test_nobody_waits_for_hours():
    outcomes, asked = read(first(Response({"error": "limit"}, 429, {"Retry-After": "7200"})))
    assert "asks for a pause of 7200 seconds" in outcomes[0].reason
    assert len(asked) == 1


# --- Trouble that stays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_prompt_fails_alone_and_is_not_sent_again(status):
    def script(asked, _):
        return Response({"error": {"message": "too long"}}, status) if "1" in asked.question else Response(GOOD)

    outcomes, asked = read(script, PROMPTS)
    assert outcomes[1] == Failure(f"HTTP {status}: too long")
    assert [type(outcomes[i]) for i in (0, 2, 3)] == [Reading] * 3
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (401, {"error": {"message": "wrong key"}}),
        (403, {"detail": "not yours"}),
        (404, {"error": {"message": "no model m"}}),
        (429, {"error": {"message": "no credit", "code": "insufficient_quota"}}),
    ],
)
def test_what_no_request_survives_stops_them_all(status, content):
    outcomes, asked = read(first(Response(content, status)), PROMPTS)
    assert all(outcome.stops for outcome in outcomes.values())
    assert outcomes[0].reason.startswith(f"HTTP {status}: ")
    assert outcomes[3].reason.startswith("not sent: ")
    assert len(asked) == 1


def test_a_dead_server_stops_everything():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    system = engine(f"http://127.0.0.1:{port}/v1", tries=2)
    outcomes = dict(system.read(PROMPTS, YES_NO))
    assert all(outcome.stops for outcome in outcomes.values())
    assert "could not be reached" in outcomes[0].reason


def test_long_messages_are_shortened():
    outcomes, _ = read(first(Response({"error": {"message": "word " * 1000}}, 400)))
    assert len(outcomes[0].reason) < 330


# --- The key ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "response",
    [
        Response({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401),
        Response({"error": {"message": f"headers: Authorization: Bearer {KEY}"}}, 400),
        Response(f"<html><body>key={KEY.replace('-', '%2D')} {KEY}</body></html>".encode(), 500),
        Response({"error": {"message": "x" * 285 + KEY}}, 400),
        Response({"error": {"message": f"upstream said {KEY}"}}),
        Response(f"not JSON {KEY}".encode()),
    ],
    ids=["401", "headers", "HTML", "at the cut", "200", "no JSON"],
)
def test_a_key_in_an_error_is_nowhere_to_be_found(response, monkeypatch, caplog):
    monkeypatch.setenv("MEASURAND_TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    outcomes, asked = read(first(response), tries=1, api_key_env="MEASURAND_TEST_KEY")
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"
    said = repr(outcomes) + caplog.text
    assert isinstance(outcomes[0], Failure)
    assert KEY not in said
    assert KEY[:12] not in said  # no half of it either
    assert caplog.text  # the transport has said something that could have held it


def test_a_key_in_a_reply_is_not_kept(monkeypatch):
    monkeypatch.setenv("MEASURAND_TEST_KEY", KEY)
    script = first(Response(completion(f"your key is {KEY}, bearer of good news")))
    with serving(script) as server:
        system = engine(server.url, api_key_env="MEASURAND_TEST_KEY")
        [(_, reply)] = system.generate(PROMPTS[:1], [Decoding()])
        assert reply.text == "your key is [key], bearer of good news"
        assert KEY not in repr(system.identity()) + repr(system.abilities())


def test_a_server_without_a_key_does_not_get_another_servers_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _, asked = read(first(Response(GOOD)))
    assert KEY not in repr(asked[0].headers)


@pytest.mark.parametrize(("value", "words"), [("", "is not set"), ("sk abc", "no key"), ("schlüssel-ä", "no key")])
def test_a_missing_or_broken_key_is_said_without_it(value, words, monkeypatch):
    monkeypatch.setenv("MEASURAND_TEST_KEY", value)
    system = engine("http://127.0.0.1:9/v1", api_key_env="MEASURAND_TEST_KEY")
    with pytest.raises(MeasurandError, match=words) as caught:
        list(system.read(PROMPTS[:1], YES_NO))
    assert "MEASURAND_TEST_KEY" in str(caught.value)
    assert not value or value not in str(caught.value)


def test_an_address_with_a_password_is_refused_without_repeating_it():
    with pytest.raises(MeasurandError, match="api_key_env") as caught:
        engine("http://me:secret-word@localhost:8000/v1")
    assert "secret-word" not in str(caught.value)


def test_the_query_of_an_address_is_sent_and_not_shown():
    with serving(first(Response(GOOD))) as server:
        system = engine(server.url + "?code=secret-word")
        assert [type(outcome) for _, outcome in system.read(PROMPTS[:1], YES_NO)] == [Reading]
        assert system.identity()["url"] == server.url


# --- Many at a time ---------------------------------------------------------------------------------------------------


def test_slow_answers_are_waited_for_together_and_come_as_they_are_ready():
    def script(asked, _):
        return Response(GOOD, delay_s=1.0 if asked.question == "question 0" else 0.3)

    prompts = [Prompt(f"question {i}") for i in range(8)]
    with serving(script) as server:
        system = engine(server.url, concurrency=8)
        list(system.read(prompts[1:2], YES_NO))  # the first request of all opens the client
        start = time.monotonic()
        order = [position for position, _ in system.read(prompts, YES_NO)]
        assert time.monotonic() - start < 2.5  # one by one: 3.1
        assert order[-1] == 0


def test_no_more_are_sent_at_a_time_than_declared():
    lock, busy, most = threading.Lock(), [0], [0]

    def script(*_):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.05)
        with lock:
            busy[0] -= 1
        return Response(GOOD)

    read(script, PROMPTS * 3, concurrency=3)
    assert most[0] == 3


def test_the_own_limit_of_the_rate_is_kept():
    _, asked = read(first(Response(GOOD)), PROMPTS, concurrency=4, requests_per_minute=600)
    times = sorted(one.at for one in asked)
    assert times[-1] - times[0] >= 0.28


def test_whoever_stops_listening_stops_the_sending_and_waits_for_nobody():
    with serving(lambda _, number: Response(GOOD, delay_s=0.0 if number == 0 else 3.0)) as server:
        system = engine(server.url, concurrency=2)
        outcomes = system.read(PROMPTS * 5, YES_NO)
        next(outcomes)
        start = time.monotonic()
        outcomes.close()
        assert time.monotonic() - start < 1.5
        time.sleep(0.2)  # what was on its way when the listener left has arrived by then
        n = len(server.asked)
        time.sleep(0.2)
        assert len(server.asked) == n <= 4


def test_closing_ends_a_reading_that_is_under_way():
    with serving(lambda _, number: Response(GOOD, delay_s=0.0 if number == 0 else 3.0)) as server:
        system = engine(server.url, concurrency=2)
        outcomes = system.read(PROMPTS * 5, YES_NO)
        next(outcomes)
        start = time.monotonic()
        system.close()
        assert len(list(outcomes)) < 19
        assert time.monotonic() - start < 6


def test_ctrl_c_ends_the_program_at_once():
    program = """
import sys
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System
engine = HttpEngine(System("s", "openai", model="m", url=sys.argv[1], concurrency=2, timeout_s=60.0))
list(engine.read([Prompt(str(i)) for i in range(50)], Labels({"yes": ("yes",)})))
"""
    with serving(lambda *_: Response(GOOD, delay_s=20.0)) as server:
        process = subprocess.Popen([sys.executable, "-c", program, server.url], stderr=subprocess.PIPE)
        for _ in range(300):
            if len(server.asked) == 2:
                break
            time.sleep(0.05)
        # The program waits for outcomes by now, and is not in the middle of starting its second request.
        time.sleep(0.5)
        start = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=10)
        assert time.monotonic() - start < 3
        assert b"KeyboardInterrupt" in said


def test_the_engine_can_be_used_again_after_it_was_stopped():
    with serving(first(Response(GOOD))) as server:
        system = engine(server.url)
        for _ in range(2):
            outcomes = system.read(PROMPTS, YES_NO)
            next(outcomes)
            outcomes.close()
        system.close()
        assert len(dict(system.read(PROMPTS, YES_NO))) == 4


# --- What is sent -----------------------------------------------------------------------------------------------------

PNG = Picture(b"\x89PNG\r\n\x1a\n-not-really", "image/png")
WEBP = Picture(b"RIFF....WEBPVP8L", "image/webp")


def test_a_reading_asks_for_one_token_at_no_temperature_without_any_grammar():
    """X1: a grammar would make the answers' mass 1."""
    _, asked = read(first(Response(GOOD)), [Prompt("q", prefill="Answer:")], top_logprobs=7)
    assert asked[0].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "Answer:"}],
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 7,
        "temperature": 0.0,
    }


def test_a_reply_is_asked_for_under_its_decoding_and_nothing_that_is_not_declared():
    decodings = [
        Decoding(max_tokens=5, temperature=None),
        Decoding(temperature=0.5, top_p=0.9, seed=3, stop=("\n",), json_schema={"type": "object"}),
    ]
    with serving(first(Response(GOOD))) as server:
        outcomes = dict(engine(server.url).generate(PROMPTS[:2], decodings))
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())
    bare, full = (one.body for one in server.asked)
    assert set(bare) == {"model", "messages", "max_tokens"}
    assert bare["max_tokens"] == 5
    assert (full["temperature"], full["top_p"], full["seed"], full["stop"]) == (0.5, 0.9, 3, ["\n"])
    assert full["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_a_picture_goes_as_what_it_is_in_the_standard_field_alone():
    """The benchmark's own notebook sent its pictures in a field of its own and called WebP a PNG."""
    _, asked = read(first(Response(GOOD)), [Prompt("q", shared="look", picture=WEBP, system="be good")])
    system, user = asked[0].body["messages"]
    assert system == {"role": "system", "content": "be good"}
    assert user["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,UklGRi4uLi5XRUJQVlA4TA=="}},
        {"type": "text", "text": "look\n\nq"},
    ]
    assert "files" not in asked[0].body


def test_failed_replies_and_notes_are_turns():
    _, asked = read(first(Response(GOOD)), [Prompt("q", turns=(Turn("bad", "again"),), prefill="Answer:")])
    assert [(m["role"], m["content"]) for m in asked[0].body["messages"]] == [
        ("user", "q"), ("assistant", "bad"), ("user", "again"), ("assistant", "Answer:"),
    ]  # fmt: skip


def test_a_declared_style_and_further_fields_are_sent():
    settings = {"prefill_style": "continue_final_message", "extra_body": {"cache_prompt": False}}
    settings["template_options"] = {"enable_thinking": False}
    _, asked = read(first(Response(GOOD)), [Prompt("q", prefill="Answer:"), Prompt("q")], **settings)
    with_, without = (one.body for one in asked)
    assert with_["continue_final_message"] is True
    assert with_["add_generation_prompt"] is False
    assert "continue_final_message" not in without  # a blank prefill sends none
    assert with_["cache_prompt"] is False
    assert with_["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_fingerprint_tells_every_part_of_a_prompt_apart_and_nothing_else():
    system = engine("http://localhost:1/v1")
    base = Prompt("q", "shared", PNG, "system", "Answer:", (Turn("a", "b"),))
    other = [
        Prompt("Q", "shared", PNG, "system", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "Shared", PNG, "system", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "shared", WEBP, "system", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "shared", Picture(PNG.data, "image/webp"), "system", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "shared", None, "system", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "shared", PNG, "System", "Answer:", (Turn("a", "b"),)),
        Prompt("q", "shared", PNG, "system", "Answer: ", (Turn("a", "b"),)),
        Prompt("q", "shared", PNG, "system", "", (Turn("a", "b"), Turn("", ""))),
        Prompt("q", "shared", PNG, "system", "Answer:", (Turn("ab", ""),)),
    ]
    prints = [system.fingerprint(prompt) for prompt in (base, *other)]
    assert len(set(prints)) == len(prints)
    assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in prints)
    assert system.fingerprint(Prompt("q", "shared", Picture(PNG.data, "image/png"), "system", "Answer:",
                                     (Turn("a", "b"),))) == prints[0]  # fmt: skip
    outcomes, _ = read(first(Response(GOOD)), [base])
    assert outcomes[0].fingerprint == prints[0]


# --- Refused before anything is sent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": ""}, "base address"),
        ({"url": "localhost:8000"}, "base address"),
        ({"model": ""}, "names no model"),
        ({"extra_body": {"temperature": 1}}, "temperature"),
        ({"extra_body": {"response_format": {}}}, "response_format"),
        ({"top_logprobs": 0}, "top_logprobs"),
        ({"concurrency": 0}, "concurrency"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
    ],
)
def test_systems_that_cannot_work_are_refused(settings, words):
    with pytest.raises(MeasurandError, match=words):
        HttpEngine(System("s", "openai", **{"url": "http://localhost:1/v1", "model": "m", **settings}))


def test_a_forced_answer_is_no_reading():
    """X1: grammars and biases of the server are refused for readings, and are nobody's business in replies."""
    system = engine("http://localhost:1/v1", extra_body={"guided_choice": ["yes", "no"]})
    assert "guided_choice" in system.objections(PROMPTS, YES_NO)[0]
    assert system.objections(PROMPTS, None) == []


@pytest.mark.parametrize(
    "marker", ["<image>", "<|image_pad|>", "<|im_start|>", "<start_of_image>", "[INST]", "<think>"]
)
def test_marks_of_templates_in_texts_are_refused(marker):
    """T41: a criterion called `<image>` is a picture to the template."""
    system = engine("http://localhost:1/v1")
    objections = system.objections([Prompt(f"Is it {marker}?"), Prompt("q"), Prompt("q", system=marker)], YES_NO)
    assert [objection.split(" of ")[0] for objection in objections] == ["the question", "the system message"]
    assert all(repr(marker) in objection for objection in objections)
    assert system.objections([Prompt("Is 3 < 4, or is it > 4? [yes]")], YES_NO) == []


def test_a_word_that_begins_another_answer_is_refused():
    """Nobody sees from ` no` whether ` none` is meant; numbers are bounded instead."""
    system = engine("http://localhost:1/v1")
    words = Labels({"no": ("no",), "none": ("None",)})
    assert "'no' begins the answer 'none'" in system.objections(PROMPTS, words)[0]
    numbers = Labels({"1": ("1",), "10": ("10",)}, are_numerals=True)
    assert system.objections(PROMPTS, numbers) == system.objections(PROMPTS, YES_NO) == []


def test_nothing_is_asked_before_it_must_be():
    with serving(first(Response(GOOD))) as server:
        system = engine(server.url)
        system.identity(), system.abilities(), system.objections(PROMPTS, YES_NO), system.tables(PROMPTS, YES_NO)
        assert system.count(PROMPTS[0]) is None
        assert system.at_once() == 1
        system.close()
    assert server.asked == []


def test_tables_tell_which_texts_count():
    table = engine("http://localhost:1/v1").tables(PROMPTS, YES_NO)
    assert table["labels"]["yes"]["forms"] == list(YES_NO.forms("yes"))
    assert table["labels"]["no"]["n_variants"] == 47
