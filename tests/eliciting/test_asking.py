import math
from collections import Counter
from dataclasses import replace

import pytest

from eliciting.studies import (
    EVERY,
    FEEL,
    OPTIONS,
    VERIFY,
    WHICH,
    Played,
    ask,
    items,
    reading,
    replies,
    reply,
    study,
    tables,
)
from measurand.eliciting.asking import MOST_FAILURES, Progress, cost_of
from measurand.eliciting.declared import Choice, Generative, RatingsRule, Retry, Text, TextRule, Verification
from measurand.eliciting.engine import Decoding, Failure
from measurand.eliciting.prompt import Turn
from measurand.eliciting.run import elicit
from measurand.eliciting.store import Store
from measurand.eliciting.system import Price, System

GOOD = '{"joy": 3, "fear": 0}'
BAD = '{"joy": 9, "fear": 0}'


def generative(**more):
    return study(Generative([EVERY], **more), n_items=1)


def stored(folder):
    """Return the records of answers in a store, tests of engines left out."""
    with Store.open(folder, is_writer=False) as store:
        return [one for one in store.records(store.keys()) if one["kind"] != "proof"]


# Attempts


def test_the_first_accepted_reply_ends_the_attempts(tmp_path):
    """T35, T36: every reply is kept with its number; only what the rule accepts is an answer."""
    design = generative(retry=Retry(5, "Only JSON."))
    elicited, engines = ask(design, tmp_path / "store", generate=replies("no", BAD, GOOD, "never"))
    arms, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert [one["reply"] for one in said] == ["no", BAD, GOOD]
    assert [(one["attempt"], one["accepted"], one["status"]) for one in said] == [
        (1, False, "not_json"),
        (2, False, "out_of_range"),
        (3, True, "ok"),
    ]
    assert [(row["attempt"], row["criterion"], row["answer"]) for row in rows] == [
        ("1", "joy", ""),
        ("1", "fear", ""),
        ("2", "joy", ""),
        ("2", "fear", ""),
        ("3", "joy", "3.0"),
        ("3", "fear", "0.0"),
    ]
    assert {row["status"] for row in rows} == {"invalid", "ok"}
    assert elicited.n_left == 0
    (arm,) = arms.of.values()
    assert arm.asked == {1: 1, 2: 1, 3: 1}
    assert arm.accepted[3] == 1
    assert arm.status == {"ok": 2}
    assert len(engines["S"].generated) == 3


def test_attempts_that_are_used_up_leave_the_reply_unaccepted_and_nothing_to_ask(tmp_path):
    elicited, engines = ask(generative(retry=Retry(3)), tmp_path / "store", generate=replies("no"))
    _, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert len(said) == len(engines["S"].generated) == 3
    assert elicited.n_left == 0
    assert {row["status"] for row in rows} == {"invalid"}
    assert not any(row["answer"] for row in rows)


def test_later_attempts_say_the_note_and_nothing_of_the_failed_reply(tmp_path):
    _, engines = ask(generative(retry=Retry(3, "Only JSON.")), tmp_path, generate=replies("no"))
    first, second, third = (prompt for prompt, _ in engines["S"].generated)
    assert second.question == third.question == f"{first.question}\n\nOnly JSON."
    assert first.turns == second.turns == third.turns == ()


def test_later_attempts_may_show_all_failed_replies(tmp_path):
    _, engines = ask(generative(retry=Retry(3, "Only JSON.", shows_reply=True)), tmp_path, generate=replies("a", "b"))
    assert [prompt.turns for prompt, _ in engines["S"].generated] == [
        (),
        (Turn("a", "Only JSON."),),
        (Turn("a", "Only JSON."), Turn("b", "Only JSON.")),
    ]


def test_a_prefill_is_part_of_what_is_read(tmp_path):
    design = generative(prefill='{"joy": ')
    elicited, _ = ask(design, tmp_path / "store", generate=replies('3, "fear": 0}'))
    _, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert [row["answer"] for row in rows] == ["3.0", "0.0"]
    assert said[0]["reply"] == '3, "fear": 0}'


def test_second_attempts_are_sampled_anew(tmp_path):
    design = generative(retry=Retry(3), decoding=Decoding(temperature=0.7))
    _, engines = ask(design, tmp_path, generate=replies("no"))
    seeds = [decoding.seed for _, decoding in engines["S"].generated]
    assert len(set(seeds)) == 3
    assert None not in seeds


def test_refused_and_truncated_replies_are_kept_apart(tmp_path):
    design = study(Generative([EVERY]), n_items=3)
    told = [reply("", "refused"), reply('{"joy": 3', "length"), reply("no")]
    elicited, _ = ask(design, tmp_path / "store", generate=replies(*told))
    arms, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert [row["status"] for row in rows[::2]] == ["refused", "truncated", "invalid"]
    assert [one["finish"] for one in said] == ["refused", "length", "stop"]
    assert next(iter(arms.of.values())).status == {"refused": 2, "truncated": 2, "invalid": 2}


def test_what_the_example_does_not_name_is_not_asked_and_no_zero(tmp_path):
    phrasing = replace(EVERY, question=EVERY.question + "\n{example}")
    design = study(Generative([phrasing], rule=RatingsRule(example=["joy"])), n_items=1)
    elicited, _ = ask(design, tmp_path / "store", generate=replies('{"joy": 3}'))
    _, rows, _, _ = tables(elicited, tmp_path / "tables")
    assert [(row["criterion"], row["answer"], row["status"]) for row in rows] == [
        ("joy", "3.0", "ok"),
        ("fear", "", "not_asked"),
    ]


def test_a_reply_is_read_anew_each_time_so_that_a_changed_rule_asks_only_what_it_refuses(tmp_path):
    design = study(Generative([EVERY], retry=Retry(2)), n_items=2)
    ask(design, tmp_path, generate=replies('{"joy": 3}', GOOD))
    loose = study(Generative([EVERY], RatingsRule(keys="any"), retry=Retry(2)), n_items=2)
    elicited, engines = ask(loose, tmp_path)
    assert engines["S"].generated == []
    assert elicited.n_left == 0
    strict = study(Generative([EVERY], RatingsRule(zeros=False), retry=Retry(2)), n_items=2)
    _, engines = ask(strict, tmp_path, generate=replies('{"joy": 3, "fear": 1}'))
    assert len(engines["S"].generated) == 1


def test_what_a_test_of_the_engine_finds_out_about_seeds_does_not_lose_the_replies(tmp_path):
    """Before it is tested an engine says what is known without asking; replies are addressed by that."""

    class Learns(Played):
        def abilities(self):
            return replace(super().abilities(), seed=True if self.n_proofs else None)

    design = study(Generative([EVERY], decoding=Decoding(temperature=0.7)), n_items=2)
    elicited = elicit(design, tmp_path / "store", opened=Learns)
    assert {row["status"] for row in tables(elicited, tmp_path / "tables")[1]} == {"ok"}
    assert elicit(design, tmp_path / "store", opened=Learns).asked[0].progress.stored == 2


# Texts


def test_a_free_text_goes_to_the_outputs_with_its_attempts(tmp_path):
    rule = TextRule("emoji", 1, 2, only=True)
    design = study(Text([FEEL], rule=rule, retry=Retry(3)), n_items=1, criteria=[])
    elicited, _ = ask(design, tmp_path / "store", generate=replies("Sure!", "😀😀😀", "😀"))
    _, rows, said, (output,) = tables(elicited, tmp_path / "tables")
    assert rows == []
    assert not (tmp_path / "tables" / "answers.csv").exists()
    assert len(said) == 3
    assert (output["text"], output["status"], output["attempts"], output["units"]) == ("😀", "ok", 3, 1)
    assert (output["completion_tokens"], output["completion_tokens_all_attempts"]) == (3, 9)
    assert (output["prompt_tokens"], output["prompt_tokens_all_attempts"]) == (5, 15)


def test_a_text_that_was_never_accepted_is_kept_with_its_status(tmp_path):
    rule = TextRule("emoji", 1, 2, only=True)
    design = study(Text([FEEL], rule=rule, retry=Retry(2)), n_items=1)
    elicited, _ = ask(design, tmp_path / "store", generate=replies("Sure!"))
    _, _, _, (output,) = tables(elicited, tmp_path / "tables")
    assert (output["text"], output["status"]) == ("Sure!", "invalid")
    assert output["problem"]


def test_a_prefill_is_no_part_of_a_free_text(tmp_path):
    """It was said for the system; counted as its own it would pass or break the rule in its place."""
    rule = TextRule("emoji", 1, 1, only=True)
    design = study(Text([FEEL], rule=rule, prefill="😀 "), n_items=1)
    elicited, _ = ask(design, tmp_path / "store", generate=replies("😢"))
    (output,) = tables(elicited, tmp_path / "tables")[3]
    assert (output["text"], output["status"], output["units"]) == ("😢", "ok", 1)


# Failures


def test_a_failed_request_is_no_answer_and_is_asked_again_at_the_next_start(tmp_path):
    design = study(Verification([VERIFY]), Generative([EVERY]), n_items=1)

    def fails(*_):
        return Failure("time-out")

    elicited, _ = ask(design, tmp_path / "store", read=fails, generate=fails)
    _, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert said == []
    assert {row["status"] for row in rows} == {"not_returned"}
    assert not any(row["answer"] or row["key"] for row in rows)
    assert elicited.n_left == 3
    assert elicited.asked[0].reasons == {"time-out": 3}
    with Store.open(tmp_path / "store", is_writer=False) as store:
        assert [one["reason"] for one in store.failures()] == ["time-out"] * 3
    again, engines = ask(design, tmp_path / "store")
    assert engines["S"].n_asked == 3
    assert again.n_left == 0


def test_a_failed_second_attempt_leaves_the_request_unfinished(tmp_path):
    """The first reply alone, which the rule refused, is no answered request."""
    design = generative(retry=Retry(2))
    elicited, _ = ask(design, tmp_path / "store", generate=replies("no", Failure("time-out")))
    assert elicited.n_left == 1
    (arm,) = tables(elicited, tmp_path / "tables")[0].of.values()
    assert (arm.n_requests, arm.n_answered) == (1, 0)
    again, engines = ask(design, tmp_path / "store", generate=replies(GOOD))
    assert len(engines["S"].generated) == 1
    assert again.n_left == 0
    assert again.asked[0].progress.done == again.asked[0].progress.total == 1


def test_an_engine_that_always_fails_is_given_up(tmp_path):
    design = study(items=items(5) * 1, criteria=[f"c{k}" for k in range(20)])
    elicited, engines = ask(design, tmp_path, read=lambda *_: Failure("overloaded"))
    assert len(engines["S"].read_prompts) == MOST_FAILURES
    assert "25 requests failed one after the other, the last one: overloaded" in elicited.asked[0].stopped
    assert elicited.n_left == 100


def test_failures_with_answers_between_them_do_not_end_a_run(tmp_path):
    """The twin: one answer in 25 is enough to go on."""
    design = study(items=items(5), criteria=[f"c{k}" for k in range(20)])
    place = iter(range(1000))
    elicited, engines = ask(
        design, tmp_path, read=lambda *_: reading(0.5, 0.2) if next(place) % 25 == 24 else Failure("overloaded")
    )
    assert len(engines["S"].read_prompts) == 100
    assert elicited.asked[0].stopped == ""
    assert elicited.n_left == 96


def test_a_failure_that_says_so_ends_the_run_at_once(tmp_path):
    design = study(Verification([VERIFY]), Generative([EVERY]))
    elicited, engines = ask(design, tmp_path, read=lambda *_: Failure("wrong key", stops=True))
    assert engines["S"].n_asked == 1
    assert elicited.asked[0].stopped == "wrong key"


def test_an_engine_that_gives_no_outcome_for_some_prompts_is_not_asked_for_ever(tmp_path):
    class Silent(Played):
        def read(self, prompts, labels):
            return (one for one in super().read(prompts, labels) if one[0] % 2 == 0)

        def generate(self, prompts, decodings):
            return (one for one in super().generate(prompts, decodings) if one[0] % 2 == 0)

    elicited = elicit(study(Verification([VERIFY]), Generative([EVERY])), tmp_path, opened=Silent)
    assert elicited.n_left == 3 + 1


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (replace(reading(0.3, 0.1), low=[math.nan, -2.0]), "NaN"),
        (replace(reading(0.3, 0.1), mass_high=math.nan), "NaN"),
        (reading(0.3, 0.1, 0.1), "3 probabilities for 2 answers"),
        (replace(reading(0.3, 0.1), low=[1.2, 2.3], high=[1.2, 2.3]), "above 1"),
        (reading(0.3, 0.1, mass_high=1.5), "above 1"),
        (reading(0.3, 0.1, high=(0.2, 0.1)), "lower bound above the upper"),
    ],
)
def test_what_can_be_no_probability_is_a_failure_and_is_never_stored_as_an_answer(tmp_path, outcome, reason):
    """T14, T64, X6: NaN of an overflow, a loss with its sign turned round, another number of labels."""
    elicited, _ = ask(study(n_items=1, criteria=["joy"]), tmp_path / "store", read=lambda *_: outcome)
    assert elicited.n_left == 1
    assert reason in next(iter(elicited.asked[0].reasons))
    assert stored(tmp_path / "store") == []
    (row,) = tables(elicited, tmp_path / "tables")[1]
    assert (row["status"], row["answer"], row["mass"]) == ("not_returned", "", "")


def test_a_sum_of_probabilities_may_miss_1_by_rounding(tmp_path):
    """The twin."""
    elicited, _ = ask(study(), tmp_path, read=lambda *_: reading(0.8, 0.2000001))
    assert elicited.n_left == 0


# Once


def test_requests_that_are_the_same_are_asked_once(tmp_path):
    """Swapped items are other items' questions; they cost nothing more, and their rows are there."""
    design = study(Verification([VERIFY]), Generative([EVERY]), Choice(OPTIONS, [WHICH]), controls=("swapped",))
    elicited, engines = ask(design, tmp_path / "store")
    assert engines["S"].n_asked == 3 * (2 + 1 + 1)
    assert elicited.asked[0].progress.total == elicited.asked[0].progress.done == 12
    _, rows, _, _ = tables(elicited, tmp_path / "tables")
    plain = {(row["item"], row["readout"], row["criterion"]): row["key"] for row in rows if not row["control"]}
    swapped = {(row["item"], row["readout"], row["criterion"]): row["key"] for row in rows if row["control"]}
    assert set(plain) == set(swapped)
    assert set(plain.values()) == set(swapped.values())
    assert all(plain[place] != swapped[place] for place in plain)


def test_a_blank_text_is_asked_once_for_all_items(tmp_path):
    design = study(controls=("blank",))
    elicited, engines = ask(design, tmp_path / "store")
    assert [prompt.shared for prompt, _ in engines["S"].read_prompts].count("") == 2
    rows = [row for row in tables(elicited, tmp_path / "tables")[1] if row["control"] == "blank"]
    assert len(rows) == 6
    assert len({row["answer"] for row in rows}) == 2


def test_repeats_of_the_very_same_request_are_asked_by_themselves(tmp_path):
    """T76: the repeat is the same prompt in another call, so that the engine can't answer it from the first."""
    design = study(repeats=3, n_items=1)
    _, engines = ask(design, tmp_path)
    prompts = Counter(prompt for prompt, _ in engines["S"].read_prompts)
    assert set(prompts.values()) == {3}
    assert [prompt.question for prompt, _ in engines["S"].read_prompts] == [
        prompt.question for prompt in dict.fromkeys(prompt for prompt, _ in engines["S"].read_prompts)
    ] * 3


def test_two_rules_for_one_wording_share_replies_and_are_both_asked_to_the_end(tmp_path):
    """The first rule takes the first reply; the other goes on from it and is no less unfinished for that."""
    strict = Generative([EVERY], RatingsRule(zeros=False), Retry(2), name="strict")
    design = study(Generative([EVERY], retry=Retry(2)), strict, n_items=1)
    elicited, engines = ask(design, tmp_path / "store", generate=replies(GOOD, Failure("time-out")))
    assert len(engines["S"].generated) == 2
    assert elicited.n_left == 1
    again, engines = ask(design, tmp_path / "store", generate=replies('{"joy": 3, "fear": 1}'))
    assert len(engines["S"].generated) == 1
    assert again.n_left == 0
    _, rows, _, _ = tables(again, tmp_path / "tables")
    assert [(row["readout"], row["attempt"]) for row in rows[::2]] == [
        ("generative", "1"),
        ("strict", "1"),
        ("strict", "2"),
    ]


# Progress and money


def test_progress_adds_up_to_what_was_asked(tmp_path):
    seen = []
    design = study(
        Verification([VERIFY]),
        Generative([EVERY], retry=Retry(2)),
        n_items=2,
        systems=[System("S", "fake", price=Price(input=2, output=10, cached=1, per=10))],
    )
    elicited, _ = ask(
        design,
        tmp_path,
        read=lambda *_: reading(0.5, 0.2),
        generate=replies(BAD, GOOD),
        watch=lambda progress: seen.append(replace(progress, tokens=Counter(progress.tokens))),
    )
    last = elicited.asked[0].progress
    assert (last.total, last.stored, last.asked, last.retried, last.failed) == (6, 0, 7, 1, 0)
    assert last.tokens == {"prompt": 4 * 7 + 3 * 5, "cached": 4 * 2 + 3, "completion": 9}
    # Readings: 5 new tokens at 2 and 2 cached at 1; replies: 4 at 2, 1 at 1, 3 at 10; all by tens.
    assert last.cost == pytest.approx((4 * 12 + 3 * 39) / 10, abs=1e-12)
    done = [one.done for one in seen]
    assert done == sorted(done)
    assert done[-1] == 6
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0
    assert seen[-1].cost_left == 0


def test_time_and_money_left_are_those_of_what_is_left():
    progress = Progress("S", total=100, stored=40, asked=12, retried=2, failed=10, finished=10, cost=5.0, seconds=20.0)
    assert progress.done == 50
    assert progress.seconds_left == pytest.approx(80.0)
    assert progress.cost_left == pytest.approx(20.0)


def test_cached_tokens_cost_the_full_price_unless_there_is_another():
    assert cost_of(Price(input=3, output=7, per=1), prompt=10, cached=4, completion=2) == 44
    assert cost_of(Price(input=3, output=7, cached=1, per=1), prompt=10, cached=4, completion=2) == 36


def test_tokens_that_an_engine_does_not_tell_are_unknown_and_not_zero(tmp_path):
    """T63: a sum says of how many requests it knows nothing."""
    told = reading(0.5, 0.2, n_prompt=None, n_cached=None)
    elicited, _ = ask(study(n_items=1), tmp_path / "store", read=lambda *_: told)
    arms, rows, _, _ = tables(elicited, tmp_path / "tables")
    (arm,) = arms.of.values()
    assert "prompt_tokens" not in arm.spent
    assert arm.unknown["prompt_tokens"] == 2
    assert {row["n_prompt"] for row in rows} == {""}


# Records


def test_every_outcome_is_in_the_store_the_moment_it_is_there(tmp_path):
    """T36: what was answered before an interruption is there after it."""
    design = study(n_items=3)
    with pytest.raises(KeyboardInterrupt):
        ask(design, tmp_path, breaks_after=4)
    found = stored(tmp_path)
    assert len(found) == 4
    assert [one["asked"]["item"] for one in found] == ["i1", "i1", "i2", "i2"]
    assert all(math.isfinite(value) for one in found for value in one["low"])
