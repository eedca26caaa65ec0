"""The probe finds out what a server does; each ability is taken from a pretended server, and it must notice."""

import contextlib

import pytest

from eliciting.servers import Pretender, Response, completion, serving
from measurand.eliciting.engine import Decoding, Failure, Reply
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt
from measurand.eliciting.system import System

pytest.importorskip("openai")

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
RED, BLUE = Picture(b"red", "image/png"), Picture(b"blue", "image/png")
TEXTS = [Prompt(f"Is {thing} blue?", prefill="Answer:") for thing in ("the sky", "grass", "snow")]
PICTURES = [Prompt("Is it blue?", picture=picture, prefill="Answer:") for picture in (RED, BLUE)]


class Probed:
    """What a probe of a server found."""

    def __init__(self, script, prompts=TEXTS, labels=YES_NO, **settings):
        with serving(script) as server:
            system = System("s", "openai", model="m", url=server.url, tries=1, concurrency=4, **settings)
            with contextlib.closing(HttpEngine(system, first_pause_s=0.02)) as engine:
                self.proofs = {proof.check: proof for proof in engine.prove(prompts, labels)}
                self.n, self.bodies = len(server.asked), [one.body for one in server.asked]
                self.abilities, self.identity = engine.abilities(), engine.identity()
                self.reply = dict(engine.generate([TEXTS[0]], [Decoding(max_tokens=3)]))[0]
                self.reading = dict(engine.read([TEXTS[0]], YES_NO))[0]
                self.last = server.asked[-1].body

    @property
    def failed(self):
        return [check for check, proof in self.proofs.items() if not proof.passed]

    def says(self, check):
        return self.proofs[check].statement


# --- What works -------------------------------------------------------------------------------------------------------


def test_a_server_that_does_everything_passes_with_eight_requests():
    found = Probed(Pretender())
    assert found.failed == []
    assert list(found.proofs) == ["logprobs", "thinking", "cold_cached", "temperature", "prefill"]
    assert found.n == 8
    assert found.abilities.notes["requests"] == "the probe sent 8 requests"
    assert (found.abilities.distribution, found.abilities.top_k, found.abilities.prefill) == ("top_k", 20, True)
    assert found.abilities.images is None
    assert found.proofs["cold_cached"].value == 0
    assert "0 of 8 prompt tokens cached, then 7 of 8" in found.says("cold_cached")
    assert all(check in found.abilities.notes for check in found.proofs)


def test_a_server_that_sees_passes_with_three_requests_more():
    found = Probed(Pretender(), PICTURES)
    assert found.failed == []
    assert found.abilities.images is True
    assert found.says("images") == "the picture adds 4 tokens and changes the answer"
    assert found.n == 11


def test_what_the_server_says_it_is_is_part_of_the_identity():
    """T04, T67: another version of the server, or another model behind a router, is another system."""
    one, other = Probed(Pretender()), Probed(Pretender(fingerprint="fp-2"))
    assert one.identity["served_model"] == "served-model"
    assert one.identity["system_fingerprint"] == "fp-1"
    assert {name for name in one.identity if one.identity[name] != other.identity[name]} == {
        "system_fingerprint", "url",
    }  # fmt: skip


def test_a_probe_for_replies_asks_for_no_log_probabilities():
    found = Probed(Pretender(logprobs="refused"), labels=None)
    assert found.failed == []
    assert list(found.proofs) == ["replies", "prefill"]
    assert not any("logprobs" in body for body in found.bodies)
    pictures = Probed(Pretender(), PICTURES, labels=None)
    assert pictures.failed == []
    assert pictures.abilities.images is True


# --- Log-probabilities ------------------------------------------------------------------------------------------------


def test_null_log_probabilities_are_noticed():
    """T66, T67: accepted, and null; a router that drops the field looks the same."""
    found = Probed(Pretender(logprobs="null"))
    assert "logprobs" in found.failed
    assert found.abilities.distribution == "none"
    assert isinstance(found.reading, Failure)
    assert found.proofs["prefill"].passed  # the rest is looked at all the same


def test_refused_log_probabilities_are_told_from_other_refusals():
    """T68, T69: the model's own words, and what to do."""
    found = Probed(Pretender(logprobs="refused"))
    assert found.failed == ["logprobs"]
    assert "not supported by this model" in found.says("logprobs")
    assert found.abilities.distribution == "none"


def test_a_list_that_is_capped_is_asked_for_at_its_cap():
    """T02: fewer than asked; a capped list comes whole when no more is asked for, and is bounded as usual."""
    found = Probed(Pretender(n_top=5))
    assert "5 of 20" in found.says("logprobs")
    assert found.abilities.top_k == 5
    assert found.last["top_logprobs"] == 5
    with serving(Pretender(n_top=5)) as server:
        blind = HttpEngine(System("s", "openai", model="m", url=server.url))
        unknown = dict(blind.read([TEXTS[0]], YES_NO))[0]
    assert unknown.low == found.reading.low
    assert sum(unknown.high) >= sum(found.reading.high)


def test_what_is_no_distribution_is_noticed():
    """T65."""
    wrong = completion(" yes", [{"token": " yes", "logprob": 0.5, "bytes": None}])
    found = Probed(lambda *_: Response(wrong))
    assert "logprobs" in found.failed
    assert "which none can be" in found.says("logprobs")


# --- Temperature ------------------------------------------------------------------------------------------------------


def test_scaled_log_probabilities_are_noticed():
    """X2: SGLang divides by the temperature; readings at 0 would be another quantity."""
    found = Probed(Pretender(scales=True))
    assert "temperature" in found.failed
    assert "scaled" in found.says("temperature")


def test_scaling_that_spares_greedy_requests_is_said_and_permitted():
    """X2: at 0 they are those at 1, which is what a reading asks for."""
    found = Probed(Pretender(scales=True, greedy_is_raw=True))
    assert found.failed == []
    assert "at 0, which readings ask for" in found.says("temperature")


# --- The same again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tolerance", "passes"), [(None, True), (0.5, True), (0.1, False)])
def test_a_cached_prompt_is_compared_with_a_cold_one(tolerance, passes):
    """T58, T59, T76: the noise floor is reported, and refused above a declared tolerance."""
    found = Probed(Pretender(cache_noise=0.4), tolerance=tolerance)
    proof = found.proofs["cold_cached"]
    assert 0.1 < proof.value < 0.4  # only one of two spellings of no moves
    assert proof.limit == tolerance
    assert proof.passed is passes
    assert Probed(Pretender(), tolerance=tolerance).proofs["cold_cached"].passed


def test_a_prompt_that_the_server_knows_from_before_is_asked_without_its_cache():
    """T59: a server that is asked the second time has the whole study in its cache, and nothing would be cold."""
    with serving(Pretender(cache_noise=0.4)) as server:
        system = System("s", "openai", model="m", url=server.url)
        found = []
        for _ in range(2):
            with contextlib.closing(HttpEngine(system)) as engine:
                found.append(next(proof for proof in engine.prove(TEXTS, YES_NO) if proof.check == "cold_cached"))
        assert found[1].value == found[0].value > 0.1
        assert "(0 of 8 prompt tokens cached" in found[1].statement
        assert len(server.asked) == 8 + 9


def test_pictures_that_are_mixed_up_at_the_same_time_are_noticed():
    """T60, T61: the same text and another picture, at once."""
    mixed = Probed(Pretender(mixes_pictures=True), PICTURES, tolerance=1e-3)
    assert mixed.failed == ["cold_cached"]
    assert mixed.proofs["cold_cached"].value > 0.01
    assert Probed(Pretender(), PICTURES, tolerance=1e-3).failed == []


# --- Pictures ---------------------------------------------------------------------------------------------------------


def test_a_dropped_picture_is_noticed():
    """The benchmark's notebook sent its pictures in a field that no server reads."""
    found = Probed(Pretender(sees="dropped"), PICTURES)
    assert found.failed == ["images"]
    assert "dropped" in found.says("images")
    assert found.abilities.images is False
    assert "images" in Probed(Pretender(sees="dropped"), PICTURES, labels=None).failed


def test_a_picture_that_does_not_matter_is_noticed():
    """X4: two different pictures, and exactly the same answer."""
    found = Probed(Pretender(sees="blind"), PICTURES)
    assert found.failed == ["images"]
    assert "exactly the same answer" in found.says("images")
    assert Probed(Pretender(sees="blind"), PICTURES[:1]).failed == ["images"]  # beside an even grey one


def test_a_refused_picture_is_told_from_other_refusals():
    """T69."""

    def script(asked, number):
        if asked.picture:
            return Response({"error": {"message": "image input is not supported"}}, 400)
        return Pretender()(asked, number)

    found = Probed(script, PICTURES)
    assert found.failed == ["images"]
    assert "image input is not supported" in found.says("images")


# --- Prefill ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("continues", "words"),
    [("closed", "begins a turn of its own"), ("dropped", "as many tokens with it as without")],
)
def test_an_ignored_prefill_is_noticed(continues, words):
    found = Probed(Pretender(continues=continues))
    assert found.failed == ["prefill"]
    assert words in found.says("prefill")
    assert found.abilities.prefill is False


def test_a_style_that_works_is_found_and_used():
    """VLLM closes a trailing turn unless it is told to continue it."""
    found = Probed(Pretender(continues="continue_final_message"))
    assert found.failed == []
    assert found.last["continue_final_message"] is True
    assert '"prefill_style": "continue_final_message"' in found.identity["fields"]
    declared = Probed(Pretender(continues="continue_final_message"), prefill_style="trailing")
    assert declared.failed == ["prefill"]


@pytest.mark.parametrize("echoes", [True, False])
def test_a_prefill_that_the_server_repeats_is_no_part_of_replies(echoes):
    found = Probed(Pretender(echoes=echoes))
    assert found.failed == []
    assert isinstance(found.reply, Reply)
    assert found.reply.text == " no"


def test_a_second_probe_keeps_what_the_first_one_found():
    """A study has readouts with and without log-probabilities; each is looked at on its own."""
    with serving(Pretender(n_top=5, continues="continue_final_message")) as server:
        engine = HttpEngine(System("s", "openai", model="m", url=server.url))
        engine.prove(TEXTS, YES_NO)
        before = engine.identity(), engine.abilities().top_k
        engine.prove([Prompt("Tell a story.")], None)
        assert (engine.identity(), engine.abilities().top_k) == before
        assert engine.abilities().prefill is True
        assert {"logprobs", "replies", "prefill"} < set(engine.abilities().notes)


def test_studies_without_prefill_spend_nothing_on_it():
    found = Probed(Pretender(continues="dropped"), [Prompt("Is it blue?"), Prompt("Is it red?")])
    assert "prefill" not in found.proofs
    assert found.failed == []
    assert found.n == 5


def no_whitespace(prefill, _):
    return "final assistant content cannot end with trailing whitespace" if prefill != prefill.rstrip() else ""


@pytest.mark.parametrize("prefill", ["Answer: ", "Answer:\n", "Answer:\t"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_refused_prefill_is_a_matter_of_protocol(prefill, place):
    """T20, T22: nothing is stripped in silence; the study is told what the server refuses, wherever it comes up."""
    prompts = [Prompt("Is it blue?", prefill="Answer:"), Prompt("Is it red?", prefill="Answer:")]
    prompts[place] = Prompt("Is it blue?", prefill=prefill)
    found = Probed(Pretender(refuses_prefill=no_whitespace), prompts)
    assert found.failed == ["prefill"]
    assert found.abilities.prefill is False
    assert repr(prefill) in found.says("prefill")
    assert "trailing whitespace" in found.says("prefill")
    assert any(body["messages"][-1]["content"] == prefill for body in found.bodies)
    assert Probed(Pretender(), prompts).failed == []


def not_while_thinking(_, body):
    is_off = body.get("chat_template_kwargs", {}).get("enable_thinking") is False
    return "" if is_off else "Assistant response prefill is incompatible with enable_thinking."


def test_a_prefill_that_a_thinking_template_refuses_is_sent_with_thinking_off():
    """T23, T24."""
    found = Probed(Pretender(refuses_prefill=not_while_thinking))
    assert found.failed == []
    assert found.last["chat_template_kwargs"] == {"enable_thinking": False}
    declared = Probed(Pretender(refuses_prefill=not_while_thinking), thinking="default")
    assert declared.failed == ["prefill"]
    assert "incompatible with enable_thinking" in declared.says("prefill")


# --- Reasoning --------------------------------------------------------------------------------------------------------


def test_reasoning_that_can_be_turned_off_is_turned_off():
    """T29."""
    found = Probed(Pretender(thinks="template"))
    assert found.failed == []
    assert found.last["chat_template_kwargs"] == {"enable_thinking": False}
    assert "enable_thinking" in found.identity["fields"]
    assert "chat_template_kwargs" not in Probed(Pretender()).last


@pytest.mark.parametrize(("thinks", "thinking"), [("always", "off"), ("always", "default"), ("template", "default")])
def test_reasoning_at_the_read_position_is_refused(thinks, thinking):
    """T25, T29: the switch is ignored, or was not wanted: no answer stands there."""
    found = Probed(Pretender(thinks=thinks), thinking=thinking)
    assert found.failed == ["thinking"]
    assert "'<think>' has the probability 0.9" in found.says("thinking")


def test_reasoning_that_is_returned_apart_is_noticed():
    """T10, T29: the server cuts the tags off and returns what was between them."""
    hidden = completion(" yes", [{"token": " yes", "logprob": -0.1, "bytes": None}],
                        message={"reasoning_content": "Let me see"})  # fmt: skip
    found = Probed(lambda *_: Response(hidden), TEXTS[:1])
    assert "thinking" in found.failed


# --- Nothing works ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "check"),
    [
        (Response({"error": {"message": "wrong key"}}, 401), "reachable"),
        (Response(b"down", 503), "reachable"),
        (Response({"error": {"message": "bad request"}}, 400), "request"),
    ],
)
def test_a_server_that_refuses_everything_is_said_to(response, check):
    found = Probed(lambda *_: response)
    assert found.failed == [check]
    assert isinstance(found.reading, Failure)


def test_a_model_that_wants_another_name_for_its_limit_gets_it():
    def script(asked, number):
        if "max_tokens" in asked.body:
            words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return Response({"error": {"message": words}}, 400)
        return Pretender()(asked, number)

    found = Probed(script)
    assert found.failed == []
    assert found.last["max_completion_tokens"] == 1
