import math

import pytest

from eliciting.studies import (
    EVERY,
    FEEL,
    OPTIONS,
    VERIFY,
    WHICH,
    ask,
    everything,
    items,
    reading,
    replies,
    reply,
    study,
    tables,
)
from measurand.eliciting.accounts import rows
from measurand.eliciting.declared import Choice, Generative, Phrasing, RatingsRule, Retry, Text, Verification
from measurand.eliciting.engine import Failure, Proof
from measurand.eliciting.findings import findings
from measurand.eliciting.system import System
from measurand.result import Result

GOOD = '{"joy": 3, "fear": 0}'


def found_in(design, folder, **told):
    """Return the findings of a study that was asked, by id; each row that they point at must be there."""
    elicited, _ = ask(design, folder / "store", **told)
    arms = tables(elicited, folder / "tables")[0]
    numbers = rows(elicited, arms, replicates=100, confidence=0.95)
    found = findings(elicited, arms, numbers)
    there = [row.reference() for row in numbers]
    assert all(reference in there for finding in found for reference in finding.rows)
    assert all(finding.remedy for finding in found if finding.verdict in ("warn", "fail"))
    Result(numbers, {}, found).to_json()
    return {finding.id: finding for finding in found}


def test_a_whole_study_has_every_finding_once(tmp_path):
    found = found_in(everything(), tmp_path)
    assert list(found) == [
        "requests-answered",
        "engine-tested",
        "read-position",
        "bounds",
        "first-reply",
        "criteria-asked",
        "acquiescence",
    ]


# Answered


def test_a_study_that_was_answered_says_so(tmp_path):
    found = found_in(study(), tmp_path)["requests-answered"]
    assert found.verdict == "pass"
    assert "6" in found.statement


def test_what_is_left_is_counted_with_its_reasons(tmp_path):
    """T30, T38."""
    left = iter([reading(0.3, 0.1), Failure("time-out"), Failure("time-out"), Failure("busy")])
    found = found_in(study(n_items=2), tmp_path, read=lambda *_: next(left))["requests-answered"]
    assert found.verdict == "fail"
    assert "3 of 4" in found.statement
    assert found.statement.index("time-out") < found.statement.index("busy")


def test_an_attempt_that_is_still_to_be_made_is_a_request_without_an_answer(tmp_path):
    design = study(Generative([EVERY], retry=Retry(2)), n_items=1)
    told = found_in(design, tmp_path, generate=replies("no", Failure("busy")))
    assert told["requests-answered"].verdict == "fail"
    assert found_in(design, tmp_path, generate=replies(GOOD))["requests-answered"].verdict == "pass"


# Tested


def test_an_engine_that_failed_its_test_is_named(tmp_path):
    """T46, T59."""
    proof = Proof("cold_cached", False, "The prefix can't be shared.", 0.06, 1e-4)
    found = found_in(study(), tmp_path, proof=proof)
    assert found["engine-tested"].verdict == "fail"
    assert "S: The prefix can't be shared." in found["engine-tested"].statement
    assert "0.06" in found["engine-tested"].statement
    assert "S: The prefix can't be shared." in found["requests-answered"].statement


def test_an_engine_that_passed_tells_its_noise_floor(tmp_path):
    """T59."""
    found = found_in(study(), tmp_path, proof=Proof("cold_cached", True, "Fine.", 3e-6, 1e-4))["engine-tested"]
    assert found.verdict == "pass"
    assert "noise floor" in found.statement


def test_a_test_that_was_not_made_is_not_counted_as_passed(tmp_path):
    found = found_in(study(), tmp_path, proof=Proof("images", True, "Not tested: prompts about one item alone."))
    assert "0 of 0 tests passed. Not tested: images." in found["engine-tested"].statement


def test_an_untested_system_beside_a_tested_one_is_named(tmp_path):
    both = study(systems=[System("A", "fake", "a"), System("B", "fake", "b")])
    ask(study(systems=[System("A", "fake", "a")]), tmp_path / "store")
    found = found_in(both, tmp_path, asks=False)["engine-tested"]
    assert found.verdict == "undetermined"
    assert "asked of them now or before: B" in found.statement


def test_a_study_without_a_question_does_not_pass(tmp_path):
    found = found_in(study(criteria=[]), tmp_path)
    assert found["requests-answered"].verdict == "undetermined"
    assert found["criteria-asked"].verdict == "not_applicable"


def test_options_are_no_criteria(tmp_path):
    found = found_in(study(Choice(OPTIONS, [WHICH]), criteria=[]), tmp_path)
    assert found["criteria-asked"].verdict == "not_applicable"


def test_nothing_asked_is_no_passed_test(tmp_path):
    found = found_in(study(), tmp_path, asks=False)
    assert found["engine-tested"].verdict == "undetermined"
    assert "nothing was asked" in found["engine-tested"].statement
    assert found["requests-answered"].verdict == "fail"


def test_an_engine_without_a_test_for_replies_is_not_said_to_have_been_asked_nothing(tmp_path):
    found = found_in(study(Generative([EVERY])), tmp_path, generate=replies(GOOD))["engine-tested"]
    assert found.verdict == "undetermined"
    assert "nothing was asked" not in found.statement


# Read position


@pytest.mark.parametrize(("n_good", "verdict"), [(10, "pass"), (9, "pass"), (8, "warn"), (5, "warn"), (4, "fail")])
def test_a_likeliest_token_that_is_no_answer_is_found(tmp_path, n_good, verdict):
    """T01, T08, T25, T28: thresholds at .9 and .5; the token is named."""
    tops = iter([" Yes"] * n_good + ["<think>"] * (10 - n_good))
    design = study(items=items(5))
    found = found_in(design, tmp_path, read=lambda *_: reading(0.3, 0.1, top=next(tops), others=[("<think>", 0.5)]))[
        "read-position"
    ]
    assert found.verdict == verdict
    assert ("<think>" in found.statement) == (verdict != "pass")


def test_a_control_is_not_held_to_the_read_position(tmp_path):
    design = study(controls=("swapped",))
    assert found_in(design, tmp_path, read=lambda *_: reading(0.3, 0.1))["read-position"].verdict == "pass"


SAD = {"glad": ("very happy",), "sad": ("very sad",)}


@pytest.mark.parametrize(
    ("top", "others", "verdict"),
    [
        (" very", [(" very", 0.05), (" not", 0.04)], "pass"),
        ("\N{REPLACEMENT CHARACTER}", [(" not", 0.04)], "pass"),
        (" very", [(" very", 0.6), (" not", 0.04)], "fail"),
        (" neither", [(" neither", 0.6)], "fail"),
        (" neither", [(" neither", 0.04)], "fail"),
    ],
)
def test_the_beginning_of_an_answer_of_several_tokens_is_an_answer_where_it_goes_on_to_be_one(
    tmp_path, top, others, verdict
):
    """T08: " very" of "very happy", and a part of a character, have no label of their own."""
    design = study(Choice(SAD, [WHICH]))
    found = found_in(design, tmp_path, read=lambda *_: reading(0.5, 0.2, top=top, others=others))
    assert found["read-position"].verdict == verdict


# Bounds


def test_exact_probabilities_pass(tmp_path):
    assert found_in(study(), tmp_path)["bounds"].verdict == "pass"


def test_bounds_that_answer_everything_warn_and_those_that_do_not_fail(tmp_path):
    """X6: what could not be told is counted."""
    narrow = found_in(study(), tmp_path / "narrow", read=lambda *_: reading(0.6, 0.2, high=(0.6, 0.201)))["bounds"]
    assert narrow.verdict == "warn"
    wide = found_in(study(), tmp_path / "wide", read=lambda *_: reading(0.02, 0, high=(0.02, 0.01)))["bounds"]
    assert wide.verdict == "fail"
    assert "100 %" in wide.statement


def test_nothing_seen_at_all_is_not_called_exact(tmp_path):
    """X6, T66: an engine that shows nothing of either answer knows nothing exactly."""
    found = found_in(study(), tmp_path, read=lambda *_: reading(0, 0, high=(0.01, 0.01)))["bounds"]
    assert found.verdict == "fail"


def test_answers_without_any_probability_point_at_a_row_that_is_there(tmp_path):
    assert found_in(study(), tmp_path, read=lambda *_: reading(0, 0))["bounds"].verdict == "fail"


# Replies


@pytest.mark.parametrize(("n_good", "verdict"), [(20, "pass"), (19, "pass"), (18, "warn"), (10, "warn"), (9, "fail")])
def test_first_replies_that_are_not_accepted_are_found(tmp_path, n_good, verdict):
    """T37: thresholds at .95 and .5; retries do not hide what the first replies were."""
    said = [GOOD] * n_good + ["no"] * (20 - n_good) + [GOOD]
    design = study(Generative([EVERY], retry=Retry(2)), n_items=5, repeats=4)
    found = found_in(design, tmp_path, generate=replies(*said))["first-reply"]
    assert found.verdict == verdict
    assert ("not JSON" in found.statement) == (verdict != "pass")
    assert ("after up to 2 attempts 100 %" in found.statement) == (verdict != "pass")


def test_readings_that_failed_are_no_replies(tmp_path):
    """A verification of which nothing was answered has no first replies to be accepted or not."""
    found = found_in(study(), tmp_path, read=lambda *_: Failure("busy"))
    assert found["first-reply"].verdict == "not_applicable"
    assert found["read-position"].verdict == found["bounds"].verdict == "undetermined"
    assert "No answer came back" in found["read-position"].statement
    assert found["acquiescence"].verdict == "undetermined"


def test_replies_that_were_never_given_are_neither_accepted_nor_refused(tmp_path):
    design = study(Generative([EVERY]), Text([FEEL]))
    assert found_in(design, tmp_path, generate=lambda *_: Failure("busy"))["first-reply"].verdict == "undetermined"


def test_the_worst_of_several_readouts_is_named(tmp_path):
    design = study(Generative([EVERY]), Generative([Phrasing("other", EVERY.question + "!")], name="second"))

    def told(prompt, _):
        return reply("no" if prompt.question.endswith("!") else GOOD)

    found = found_in(design, tmp_path, generate=told)["first-reply"]
    assert (found.verdict, "S (second, other)" in found.statement) == ("fail", True)


# Criteria

EXAMPLE = Phrasing("pairs", EVERY.question + "\n{example}")


def test_criteria_that_nobody_asked_about_are_found(tmp_path):
    design = study(Generative([EXAMPLE], RatingsRule(example=["joy"])))
    found = found_in(design, tmp_path, generate=replies('{"joy": 3}'))["criteria-asked"]
    assert found.verdict == "fail"
    assert "fear" in found.statement
    assert "no 0" in found.statement


def test_a_failure_or_an_unasked_rating_does_not_hide_a_criterion_that_nobody_asked_about(tmp_path):
    design = study(Generative([EXAMPLE], RatingsRule(example=["joy"])))
    said = replies('{"joy": 3}', Failure("busy"), '{"joy": 3, "fear": 1}')
    assert found_in(design, tmp_path, generate=said)["criteria-asked"].verdict == "fail"


def test_a_study_of_texts_asks_about_no_criteria(tmp_path):
    found = found_in(study(Text([FEEL]), criteria=[]), tmp_path)
    assert found["criteria-asked"].verdict == "not_applicable"
    assert found["acquiescence"].verdict == "not_applicable"


# Acquiescence


def told_by(effect_of_item):
    """Return readings whose log-odds are the item's, the question's, or both."""

    def told(prompt, _):
        i = [one.text for one in items(5)].index(prompt.shared)
        x = effect_of_item * (i - 2) + (1 - effect_of_item) * (4.0 if "joy" in prompt.question else -4.0)
        return reading(0.9 / (1 + math.exp(-x)), 0.9 / (1 + math.exp(x)))

    return told


def test_yes_to_everything_about_an_item_is_found(tmp_path):
    found = found_in(study(n_items=5), tmp_path, read=told_by(0.9))["acquiescence"]
    assert found.verdict == "warn"
    assert "double_centred" in found.remedy


def test_answers_that_depend_on_the_question_pass(tmp_path):
    """The twin."""
    assert found_in(study(n_items=5), tmp_path, read=told_by(0.1))["acquiescence"].verdict == "pass"


def test_two_questions_that_have_nothing_in_common_are_no_yes_to_everything(tmp_path):
    """Half of what is not the questions' own lies between items by chance alone; the twin has it by design."""
    joy, fear = [1, -1, 1, -1], [1, 1, -1, -1]

    def told(prompt, _, shared=0.0):
        i = [one.text for one in items(4)].index(prompt.shared)
        x = (joy if "joy" in prompt.question else fear)[i] * (1 - shared) + 2 * joy[i] * shared
        return reading(0.9 / (1 + math.exp(-x)), 0.9 / (1 + math.exp(x)))

    found = found_in(study(n_items=4), tmp_path / "apart", read=told)["acquiescence"]
    assert found.verdict == "pass"
    assert "50 % of the variation" in found.statement
    assert "50 % would be there" in found.statement
    twin = found_in(study(n_items=4), tmp_path / "twin", read=lambda *given: told(*given, shared=0.8))
    assert twin["acquiescence"].verdict == "warn"


def test_shares_that_cannot_be_told_are_not_called_a_readout_without_questions(tmp_path):
    """Answers within wide bounds have no log-odds: that is no study without several questions."""
    wide = found_in(study(), tmp_path / "wide", read=lambda *_: reading(0.02, 0, high=(0.02, 0.01)))["acquiescence"]
    assert wide.verdict == "undetermined"
    assert "0 items with all of 2 questions" in wide.statement
    assert found_in(study(criteria=["joy"]), tmp_path / "one")["acquiescence"].verdict == "not_applicable"


def test_several_systems_are_told_apart(tmp_path):
    design = study(Verification([VERIFY]), systems=[System("A", "fake", "a"), System("B", "fake", "b")])
    found = found_in(design, tmp_path)
    assert "12" in found["requests-answered"].statement
    assert len({row["system"] for row in found["acquiescence"].rows}) == 2
