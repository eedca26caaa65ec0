import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.eliciting import fake_answers
from measurand.eliciting.engine import Decoding, Failure, Reading, Reply
from measurand.eliciting.fake import FakeEngine, FakeOptions
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt, Turn
from measurand.eliciting.system import System
from measurand.result import MeasurandError

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
NUMERALS = Labels({str(k): (str(k),) for k in range(8)}, are_numerals=True)
OPTIONS = Labels({name: (name,) for name in ("joy", "fear", "anger")})
CRITERIA = ("joy", "fear", "anger", "awe", "pride", "shame")
JSON = "Rate this on\n- joy\n- fear of heights\n- awe\n\nScale: the whole numbers from 1 to 5. Reply in JSON."


def engine(name="S", **options):
    told = {"bad_share": 0, "refusal_share": 0} | options
    return FakeEngine(System(name, "fake", template_options=told))


def questions(n_items=1, words="Is there any {} in this image? Reply yes or no.", prefill="Answer:"):
    return [
        Prompt(words.format(criterion), "Look.", Picture(f"item {i}".encode(), "image/png"), prefill=prefill)
        for i in range(n_items)
        for criterion in CRITERIA
    ]


def readings(one, prompts, labels=YES_NO):
    found = dict(one.read(prompts, labels))
    assert sorted(found) == list(range(len(prompts)))
    return [found[i] for i in range(len(prompts))]


def replies(one, prompts, decoding=None):
    found = dict(one.generate(prompts, [decoding or Decoding()] * len(prompts)))
    return [found[i] for i in range(len(prompts))]


def log_odds(found):
    return np.array([one.low[0] - one.low[1] for one in found])


# The same everywhere


def test_an_answer_does_not_depend_on_order_batch_or_what_was_asked_before():
    prompts = questions(3)
    together = readings(engine(), prompts)
    assert readings(engine(), prompts[::-1])[::-1] == together
    one = engine()
    assert [readings(one, [prompt])[0] for prompt in prompts] == together
    asked = [replace(prompt, question=JSON + prompt.question) for prompt in prompts]
    assert replies(one, asked[::-1])[::-1] == replies(engine(), asked)


#: Says what the engine says.
ELSEWHERE = """
import sys
from measurand.eliciting.engine import Decoding
from measurand.eliciting.fake import FakeEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System
engine = FakeEngine(System("S", "fake", template_options={"bad_share": 0, "refusal_share": 0}))
found = list(engine.read([Prompt("Is it red?", prefill="Answer:")], Labels({"yes": ("yes",), "no": ("no",)})))
sys.stdout.write(repr(found) + repr(list(engine.generate([Prompt("An emoji")], [Decoding()]))))
"""


def test_an_answer_is_the_same_in_every_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    here = readings(engine(), [Prompt("Is it red?", prefill="Answer:")])
    assert repr(here[0]).encode() in found.pop()


def test_an_answer_is_the_same_on_every_machine_and_in_every_version():
    """The numbers are pinned: a change of them is a change of `version`."""
    [found] = readings(engine(), [Prompt("Is it red?", prefill="Answer:")])
    assert [round(value, 9) for value in (*found.low, found.mass_high)] == [-0.774868849, -0.679257502, 0.967757501]
    assert engine().identity()["version"] == "fake/1"


def test_it_says_that_it_is_a_fake_and_what_determines_its_answers():
    identity = engine().identity()
    assert identity["engine"] == "fake"
    assert identity["is_fake"].startswith("yes")
    assert "fake" in engine().abilities().notes["engine"]
    assert engine().tables([], YES_NO)["is_fake"] is True
    assert identity != engine("T").identity()
    assert identity != engine(bad_share=0.5).identity()
    # What failed is asked again, and must then be found under the same address.
    assert identity == engine(failure_share=0.5, delay_s=1.0, latency_s=2.0).identity()
    model = FakeEngine(System("T", "fake", model="S", template_options={"bad_share": 0, "refusal_share": 0}))
    assert model.identity() == identity
    assert readings(model, questions()) == readings(engine(), questions())


def test_other_models_answer_otherwise():
    assert not np.isclose(log_odds(readings(engine(), questions())), log_odds(readings(engine("T"), questions()))).any()


# Readings


@given(
    st.text(),
    st.text(),
    st.text(max_size=5),
    st.sampled_from([YES_NO, NUMERALS, OPTIONS, Labels({"only": ("one", "two")})]),
    st.integers(1, 40),
)
@settings(max_examples=60)
def test_probabilities_are_a_distribution_and_bounds_hold_what_is_hidden(question, shared, prefill, labels, top_k):
    """X9: the true value is inside the bounds for every prompt and every number of tokens shown."""
    prompt = Prompt(question, shared, prefill=prefill)
    one = engine()
    tokens = fake_answers.tokens("S", prompt, labels, fingerprint=one.fingerprint(prompt))
    assert math.isclose(sum(p for _, _, p in tokens), 1.0, abs_tol=1e-12)
    assert all(p > 0 for _, _, p in tokens)
    assert all(labels.of(text) == label for label, text, _ in tokens)
    [exact] = readings(one, [prompt], labels)
    for name, low, high in zip(labels.names, exact.low, exact.high, strict=True):
        assert low == high
        assert math.isclose(math.exp(low), sum(p for label, _, p in tokens if label == name), abs_tol=1e-9)
    assert math.isclose(sum(map(math.exp, exact.low)), exact.mass_high, abs_tol=1e-9)
    assert exact.top == tokens[0][1]
    assert not any(labels.of(text) for text, _ in exact.others)
    assert [p for _, p in exact.others] == sorted((p for _, p in exact.others), reverse=True)
    system = System("S", "fake", template_options={"distribution": "top_k"}, top_logprobs=top_k)
    [bounded] = readings(FakeEngine(system), [prompt], labels)
    for low, value, high in zip(bounded.low, exact.low, bounded.high, strict=True):
        assert low <= value + 1e-9
        assert value <= high + 1e-9
    assert exact.mass_high <= bounded.mass_high + 1e-9


def test_of_one_shown_token_the_other_label_is_unseen_and_not_zero():
    """X6, T66: what was not shown has no lower bound, and a largest possible value."""
    system = System("S", "fake", template_options={"distribution": "top_k"}, top_logprobs=1)
    [found] = readings(FakeEngine(system), [Prompt("Is it red?", prefill="Answer:")])
    assert sorted(math.isinf(low) for low in found.low) == [False, True]
    assert all(math.isfinite(high) for high in found.high)
    assert FakeEngine(system).abilities().top_k == 1


def test_where_no_probabilities_are_shown_none_are_read():
    one = engine(distribution="none")
    assert "no probabilities" in one.objections(questions(), YES_NO)[0]
    assert one.objections(questions(), None) == []
    assert engine().objections(questions(), YES_NO) == []
    [(_, found)] = one.read(questions()[:1], YES_NO)
    assert isinstance(found, Failure)
    assert found.stops


def test_the_answers_hold_nearly_everything_behind_a_prefill_and_not_without():
    with_prefill = [one.mass_high for one in readings(engine(), questions(20))]
    without = [one.mass_high for one in readings(engine(), questions(20, prefill=""))]
    assert min(with_prefill) >= 0.9
    assert max(without) <= 0.6
    assert len(set(with_prefill)) > 100


def effects(words):
    table = log_odds(readings(engine(), questions(60, words))).reshape(60, len(CRITERIA))
    rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    return table, rest


def test_log_odds_have_an_item_effect_a_question_effect_and_a_rest():
    """Systems that say yes to everything are told by these parts: each is there, the item's is the largest."""
    table, rest = effects("Is there any {} in this image? Reply yes or no.")
    item, question = table.mean(axis=1).var(), table.mean(axis=0).var()
    assert item > rest.var() > 0.2
    assert question > 0.02
    assert np.abs(table).max() < 12


def test_two_wordings_agree_on_what_is_asked_and_a_negated_one_turns_it_round():
    _, does = effects("Is there any {} in this image? Reply yes or no.")
    _, would = effects("Would people find {} here? Yes or no.")
    _, absent = effects("Is {} entirely absent from this image? Reply yes or no.")
    assert np.corrcoef(does.ravel(), would.ravel())[0, 1] > 0.7
    assert np.corrcoef(does.ravel(), absent.ravel())[0, 1] < -0.7


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Is there any joy in this picture?"},
        {"shared": "Look closely."},
        {"picture": Picture(b"another", "image/png")},
        {"picture": None},
        {"prefill": "Answer: "},
        {"system": "Be brief."},
        {"turns": (Turn("maybe", "yes or no"),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_changed_in_a_prompt_changes_fingerprint_and_answer(change):
    """T71: the picture's content is part of it, too."""
    prompt = questions()[0]
    other = replace(prompt, **change)
    assert engine().fingerprint(other) != engine().fingerprint(prompt)
    a, b = readings(engine(), [prompt, other])
    assert a.fingerprint == engine().fingerprint(prompt)
    assert abs(log_odds([a]) - log_odds([b]))[0] > 1e-6
    again = replace(prompt, picture=Picture(prompt.picture.data, "image/png"))
    assert readings(engine(), [again]) == [a]


def test_the_order_of_options_breaks_no_tie_and_numerals_have_one_peak():
    """T75: what is likely does not depend on which label is named first."""
    prompt = Prompt("Which is it?", prefill="Answer:")
    turned = Labels({name: OPTIONS.words[name] for name in reversed(OPTIONS.names)})
    [one], [other] = readings(engine(), [prompt], OPTIONS), readings(engine(), [prompt], turned)
    assert np.abs(np.array(one.low) - np.array(other.low[::-1])).max() < 1  # noise and mass of their own
    [scale] = readings(engine(), [prompt], NUMERALS)
    rises = np.diff(scale.low) > 0
    assert not (np.diff(rises.astype(int)) > 0).any()


def test_readings_count_words_and_say_the_time_they_were_told():
    prompt = Prompt("one two", "three", Picture(b"x", "image/png"), "four", "five", (Turn("six", "seven eight"),))
    [found] = readings(engine(latency_s=0.25), [prompt])
    assert engine().count(prompt) == 8 + 64
    assert (found.n_prompt, found.n_cached, found.n_completion, found.seconds) == (72, 0, 1, 0.25)


# Replies


def test_ratings_are_json_of_the_listed_criteria_on_the_scale_of_the_prompt():
    for i in range(30):
        [found] = replies(engine(), [Prompt(JSON, f"item {i}")])
        ratings = json.loads(found.text)
        assert list(ratings) == ["joy", "fear of heights", "awe"]
        assert all(isinstance(value, int) and 1 <= value <= 5 for value in ratings.values())
        assert found.finish == "stop"
    steps = JSON.replace("whole numbers from 1 to 5", "numbers from 0 to 2 in steps of 0.5")
    values = {v for i in range(30) for v in json.loads(replies(engine(), [Prompt(steps, f"{i}")])[0].text).values()}
    assert values == {0, 0.5, 1, 1.5, 2}


def test_a_request_for_exactly_so_many_ratings_is_met_by_the_examples_keys_without_zeros():
    question = (
        "Rate:\n- joy\n- awe\n- fear\n\nScale: the whole numbers from 0 to 3. JSON, exactly 2 pairs, as in\n"
        '{"joy": 1, "fear": 2}'
    )
    found = [json.loads(replies(engine(), [Prompt(question, f"{i}")])[0].text) for i in range(30)]
    assert {tuple(ratings) for ratings in found} == {("joy", "fear")}
    assert {value for ratings in found for value in ratings.values()} == {1, 2, 3}
    without = question.split("{")[0]
    assert list(json.loads(replies(engine(), [Prompt(without)])[0].text)) == ["joy", "awe"]


def test_ratings_and_log_odds_of_one_item_go_together():
    """A generated rating and P(yes) come from the same leaning, so that readouts can be compared in a dry run."""
    odds, ratings = [], []
    for i in range(60):
        shared = f"item {i}"
        prompts = [Prompt(f"Is there any {one} in this image?", shared, prefill="Answer:") for one in CRITERIA]
        odds += log_odds(readings(engine(), prompts)).tolist()
        listed = "\n".join(f"- {one}" for one in CRITERIA)
        text = replies(engine(), [Prompt(f"Rate in JSON:\n{listed}\n\nScale: from 0 to 7", shared)])[0].text
        ratings += [json.loads(text)[one] for one in CRITERIA]
    assert np.corrcoef(odds, ratings)[0, 1] > 0.4


def test_a_started_turn_is_continued():
    text = replies(engine(), [Prompt(JSON, prefill='{"joy"')])[0].text
    assert text.startswith(": ")
    json.loads('{"joy"' + text)


@pytest.mark.parametrize(("amount", "least", "most"), [("1 to 5 emojis", 1, 5), ("2 emojis", 2, 2), ("an emoji", 1, 3)])
def test_emojis_are_as_many_as_asked(amount, least, most):
    found = {len(replies(engine(), [Prompt(f"Say it in {amount}.", f"{i}")])[0].text) for i in range(60)}
    assert found == set(range(least, most + 1))
    assert all(ord(c) > 0x7F for c in replies(engine(), [Prompt(f"Say it in {amount}.")])[0].text)


def test_free_text_is_words_and_is_cut_by_length_and_stops():
    prompt = Prompt("Say it in 6 words.")
    [whole] = replies(engine(), [prompt])
    assert len(whole.text.split()) == whole.n_completion == 6
    [cut] = replies(engine(), [prompt], Decoding(max_tokens=2))
    assert (cut.text, cut.finish) == (" ".join(whole.text.split()[:2]), "length")
    stop = whole.text.split()[1]
    assert replies(engine(), [prompt], Decoding(stop=("zzz", stop)))[0].text == whole.text.split(stop)[0]


def test_declared_shares_of_replies_are_bad_refused_or_fail():
    """T30 and its like: replies that a parser must refuse come of every kind, and as often as told."""
    told = engine(bad_share=0.3, refusal_share=0.1, failure_share=0.05)
    prompts = [Prompt(JSON, f"item {i}") for i in range(2000)]
    found = replies(told, prompts)
    answered = [one for one in found if isinstance(one, Reply)]
    assert abs(1 - len(answered) / 2000 - 0.05) < 0.02
    assert abs(sum(one.finish == "refused" for one in answered) / len(answered) - 0.1) < 0.03
    whole = [one for one in replies(engine(), prompts) if isinstance(one, Reply)]
    good = {one.text for one in whole}
    bad = [one.text for one in answered if one.finish == "stop" and one.text not in good]
    assert abs(len(bad) / len(answered) - 0.3) < 0.04
    kinds = {
        "fence": lambda text: text.startswith("```"),
        "prose": lambda text: "{" not in text,
        "cut": lambda text: text.startswith("{") and not text.endswith("}"),
        "twice": lambda text: text.count('"joy"') == 2,
        "text": lambda text: '"high"' in text,
        "beyond": lambda text: '"joy": 7' in text,
        "absent": lambda text: text.endswith("}") and '"joy"' not in text,
    }
    for name, is_kind in kinds.items():
        assert sum(map(is_kind, bad)) > 30, name
    # The others are what they are without any fault.
    assert sum(a == b for a, b in zip(found, replies(engine(), prompts), strict=True)) > 1000


def test_a_forced_schema_leaves_no_malformed_reply():
    found = replies(engine(bad_share=1.0), [Prompt(JSON)] * 3, Decoding(json_schema={}))
    assert all(list(json.loads(one.text)) == ["joy", "fear of heights", "awe"] for one in found)
    with pytest.raises(ValueError, match=r"Expecting|Extra|char"):
        [json.loads(one.text) for one in replies(engine(bad_share=1.0), [Prompt(JSON, f"{i}") for i in range(30)])]


def test_the_likeliest_reply_ignores_the_seed_and_a_sampled_one_does_not():
    prompts = [Prompt("Say it in 5 emojis.")]
    texts = {replies(engine(), prompts, Decoding(temperature=0.0, seed=seed))[0].text for seed in range(5)}
    assert len(texts) == 1
    for temperature in (0.7, None):
        drawn = [replies(engine(), prompts, Decoding(temperature=temperature, seed=seed))[0].text for seed in range(5)]
        assert len(set(drawn)) == 5
    [note] = replies(engine(), [Prompt("Say it in 5 emojis.\n\nOnly emojis!")])
    assert note.text not in texts


def test_failures_depend_on_the_request_alone_and_answers_do_not_depend_on_them():
    """T72: started again without failures, what failed is answered and all else is as it was."""
    prompts = questions(50)
    failing = readings(engine(failure_share=0.2), prompts)
    assert failing == readings(engine(failure_share=0.2), prompts)
    assert abs(sum(isinstance(one, Failure) for one in failing) / len(prompts) - 0.2) < 0.08
    plain = readings(engine(), prompts)
    assert all(a == b for a, b in zip(failing, plain, strict=True) if isinstance(a, Reading))


def test_outcomes_come_in_another_order_than_asked():
    """Whoever takes the order of outcomes for that of prompts is found out."""
    prompts = questions(3)
    places = [i for i, _ in engine().read(prompts, YES_NO)]
    assert places != sorted(places)
    assert [i for i, _ in engine().generate(prompts, [Decoding()] * len(prompts))] == places


def test_a_delay_is_really_waited_for():
    started = time.monotonic()
    replies(engine(delay_s=0.02), questions()[:5])
    assert time.monotonic() - started >= 0.1


# Proofs and options


def test_it_is_tested_before_it_is_used_and_can_be_told_to_fail():
    [proof] = engine().prove(questions(), YES_NO)
    assert (proof.check, proof.passed, proof.value) == ("order", True, 0.0)
    assert [one.passed for one in engine(fails_proof=True).prove(questions(), YES_NO)] == [False, True]
    assert engine().prove(questions(), None) == []
    system = System("S", "fake", template_options={"distribution": "top_k"}, top_logprobs=1)
    assert FakeEngine(system).prove(questions(), YES_NO)[0].value == 0.0


def test_the_order_test_can_fail(monkeypatch):
    one = engine()
    plain, calls = one._reading, []

    def drifting(prompt, labels):
        calls.append(prompt)
        found = plain(prompt, labels)
        return replace(found, high=[value + 1e-3 * len(calls) for value in found.high])

    monkeypatch.setattr(one, "_reading", drifting)
    [proof] = one.prove(questions(), YES_NO)
    assert not proof.passed
    assert proof.value == pytest.approx(0.011)  # the prompt that was read first and last
    assert proof.limit == 1e-4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bad_shares": 0.1}, "template_options.bad_shares is not known; did you mean bad_share?"),
        ({"xyz": 1}, "xyz is not known; a fake engine has bad_share, delay_s"),
        ({"distribution": "all"}, "'all'; allowed are exact, top_k, none"),
        ({"bad_share": 1.5}, "1.5; allowed are numbers from 0 to 1"),
        ({"bad_share": "0.5"}, "'0.5'; allowed are numbers"),
        ({"refusal_share": True}, "True; allowed are numbers"),
        ({"failure_share": math.nan}, "nan; allowed"),
        ({"delay_s": -1}, "-1; allowed are numbers from 0 up"),
        ({"latency_s": math.inf}, "inf; allowed"),
        ({"fails_proof": "no"}, "'no'; allowed are true and false"),
        ({"bad_share": 0.7, "refusal_share": 0.4}, "more than 1 together"),
    ],
)
def test_options_that_it_does_not_know_are_refused(options, said):
    with pytest.raises(MeasurandError, match=r"system 'S'.*") as caught:
        FakeEngine(System("S", "fake", template_options=options))
    assert said in str(caught.value)


def test_the_options_are_those_documented():
    assert set(FakeOptions.__dataclass_fields__) == {
        "distribution",
        "bad_share",
        "refusal_share",
        "failure_share",
        "delay_s",
        "latency_s",
        "fails_proof",
    }
    assert all(name in FakeOptions.__doc__ for name in FakeOptions.__dataclass_fields__)
    assert engine().at_once() == System("S", "fake").concurrency
    engine().close()
