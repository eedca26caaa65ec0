import itertools
import math

import numpy as np
import pytest

from eliciting.studies import (
    EVERY,
    FEEL,
    NEGATED,
    OPTIONS,
    RATE,
    VERIFY,
    WHICH,
    ask,
    items,
    reading,
    replies,
    reply,
    study,
    tables,
)
from measurand.eliciting.accounts import rows
from measurand.eliciting.arms import ArmName
from measurand.eliciting.declared import (
    Choice,
    Generative,
    Phrasing,
    RatingsRule,
    Retry,
    ScaleReading,
    Text,
    Verification,
)
from measurand.eliciting.engine import Failure, Proof
from measurand.eliciting.system import Price, System
from measurand.stats.acquiescence import shares

GOOD = '{"joy": 3, "fear": 0}'
PRICED = [System("S", "fake", "m", price=Price(input=2, output=10, cached=1, per=1))]


def accounts(design, folder, **told):
    """Return the numbers of a study that was asked: (analysis, readout, phrasing, variant, statistic) to row."""
    elicited, _ = ask(design, folder / "store", **told)
    arms = tables(elicited, folder / "tables")[0]
    found = rows(elicited, arms, replicates=200, confidence=0.95)
    keys = [(row.analysis, *map(str, row.keys.values()), row.statistic) for row in found]
    assert len(set(keys)) == len(keys)
    return {
        (row.analysis, *(str(row.keys[name]) for name in row.keys if name != "system"), row.statistic): row
        for row in found
    }


def values(found, analysis, *keys):
    return {
        key[-1]: row.estimate for key, row in found.items() if key[0] == analysis and key[1 : 1 + len(keys)] == keys
    }


# Coverage


def test_requests_answers_and_statuses_are_counted(tmp_path):
    """T38: invalid, refused and absent answers are disclosed beside the answered ones."""
    told = iter([reading(0.3, 0.1), reading(0, 0), Failure("no"), reading(0.3, 0.1)])
    found = accounts(study(n_items=2), tmp_path, read=lambda *_: next(told))
    counted = values(found, "elicitation", "verification", "does", "prefill=Answer:")
    assert counted["n_requests"] == 4
    assert counted["n_answered"] == 3
    assert (counted["n_ok"], counted["n_invalid"], counted["n_not_returned"]) == (2, 1, 1)
    assert counted["n_readings"] == 3


def test_a_choice_counts_requests_and_not_options(tmp_path):
    found = accounts(study(Choice(OPTIONS, [WHICH]), n_items=2), tmp_path, read=lambda *_: reading(0.2, 0.1, 0.1))
    counted = values(found, "elicitation", "choice", "which", "prefill=Answer:")
    assert (counted["n_requests"], counted["n_answered"], counted["n_readings"]) == (2, 2, 2)
    assert counted["n_ok"] == 6
    assert counted["prompt_tokens"] == 14


def test_mass_is_described_by_median_tail_and_least(tmp_path):
    """T01, X10: the mass is told, not divided away; a likeliest "not" is no no."""
    masses = [0.1, 0.2, 0.4, 0.8]
    told = iter([reading(mass / 2, mass / 2, top="not" if mass < 0.3 else " Yes") for mass in masses])
    found = accounts(study(n_items=2), tmp_path, read=lambda *_: next(told))
    counted = values(found, "elicitation", "verification", "does", "prefill=Answer:")
    assert counted["mass_median"] == pytest.approx(0.3, abs=1e-12)
    assert counted["mass_min"] == pytest.approx(0.1, abs=1e-12)
    assert counted["mass_p01"] == pytest.approx(0.1 + 0.03 * 0.1, abs=1e-12)
    assert counted["share_top_is_answer"] == 0.5


def test_tokens_outside_the_answers_are_named_with_their_mean_probability(tmp_path):
    """T01, T28, T29: what a system would rather say than an answer is told by name; two tokens of one text add up."""
    told = reading(0.3, 0.1, others=[("<think>", 0.4), ("'", 0.02), ("'", 0.01)])
    found = accounts(study(n_items=1), tmp_path, read=lambda *_: told)
    note = found["elicitation", "verification", "does", "prefill=Answer:", "n_readings"].note
    assert "'<think>' 0.4" in note
    assert '"\'" 0.03' in note


def test_tokens_time_and_money_are_sums_over_all_attempts(tmp_path):
    design = study(Generative([EVERY], retry=Retry(3)), n_items=1, systems=PRICED)
    found = accounts(design, tmp_path, generate=replies("no", GOOD))
    counted = values(found, "elicitation", "generative", "every", "")
    assert (counted["prompt_tokens"], counted["cached_tokens"], counted["completion_tokens"]) == (10, 2, 6)
    assert counted["cost"] == 2 * (4 * 2 + 1 * 1 + 3 * 10)


def test_an_answer_that_two_arms_share_is_paid_for_once(tmp_path):
    """The swapped control asks what other items were asked already; a system that is the same asks nothing anew."""
    same = [PRICED[0], System("T", "fake", "m", price=PRICED[0].price)]
    design = study(systems=same, controls=("swapped",))
    elicited, engines = ask(design, tmp_path / "store", read=lambda *_: reading(0.3, 0.1))
    arms = tables(elicited, tmp_path / "tables")[0]
    found = rows(elicited, arms, replicates=100, confidence=0.95)
    n_sent = sum(engine.n_asked for engine in engines.values())
    assert n_sent == 6
    assert sum(row.estimate for row in found if row.statistic == "prompt_tokens") == 7 * n_sent
    assert [row.estimate for row in found if row.statistic == "shared_answers"] == [6, 6, 6]


def test_statuses_of_an_arm_add_up_to_its_rows(tmp_path):
    """T38: also of derived readouts, which are never requested and have no requests."""
    left = itertools.count()

    def told(*_):
        return [reading(0.3, 0.1), reading(0, 0), Failure("no"), reading(0.2, 0.1, high=(0.9, 0.2))][next(left) % 4]

    design = study(Verification([VERIFY, NEGATED]), derived=("binarized", "double_centred"), n_items=3)
    elicited, _ = ask(design, tmp_path / "store", read=told)
    arms, table = tables(elicited, tmp_path / "tables")[:2]
    for name, arm in arms.of.items():
        made = [row for row in table if (row["readout"], row["phrasing"]) == (name.readout, name.phrasing)]
        assert sum(arm.status.values()) == len(made) == 6
        assert (arm.n_requests == 6) == (name.readout == "verification")


def test_a_reading_that_knows_nothing_is_no_accepted_attempt(tmp_path):
    found = accounts(study(), tmp_path, read=lambda *_: reading(0, 0))
    assert not any(key[0] == "attempts" for key in found)


def test_widths_are_told_where_only_the_likeliest_tokens_are_seen(tmp_path):
    exact = accounts(study(n_items=1), tmp_path / "exact", read=lambda *_: reading(0.6, 0.2))
    assert not any(key[-1].startswith("width") for key in exact)
    found = accounts(study(n_items=1), tmp_path / "top", read=lambda *_: reading(0.6, 0.2, high=(0.6, 0.21)))
    width = 0.75 - 0.6 / 0.81
    counted = values(found, "elicitation", "verification", "does", "prefill=Answer:")
    assert (counted["width_median"], counted["width_max"]) == pytest.approx((width, width), abs=1e-12)


def test_a_free_text_is_one_request_and_one_status_whatever_its_readout_is_called(tmp_path):
    design = study(Text([FEEL], name="emojis"), n_items=2)
    found = accounts(design, tmp_path, generate=lambda *_: Failure("no"))
    counted = values(found, "elicitation", "emojis", "feel", "")
    assert (counted["n_requests"], counted["n_answered"], counted["n_not_returned"]) == (2, 0, 2)


# Criteria that nobody asked about

EXAMPLE = Phrasing("pairs", EVERY.question + "\n{example}")


def test_criteria_that_the_example_does_not_name_are_named(tmp_path):
    design = study(Generative([EXAMPLE], RatingsRule(example=["joy"])), criteria=["joy", "fear", "awe"])
    found = accounts(design, tmp_path, generate=replies('{"joy": 3}'))
    row = found["elicitation", "generative", "pairs", "", "n_criteria_never_asked"]
    assert (row.estimate, row.note) == (2, "fear, awe")
    assert values(found, "elicitation", "generative", "pairs", "")["n_not_asked"] == 6


@pytest.mark.parametrize("second", [Failure("no"), '{"joy": 3, "fear": 2}'])
def test_neither_a_failure_nor_a_rating_that_nobody_asked_for_makes_a_criterion_asked(tmp_path, second):
    design = study(Generative([EXAMPLE], RatingsRule(example=["joy"])), n_items=2)
    found = accounts(design, tmp_path, generate=replies('{"joy": 3}', second))
    assert found["elicitation", "generative", "pairs", "", "n_criteria_never_asked"].estimate == 1


# Attempts


def test_acceptance_is_told_attempt_by_attempt(tmp_path):
    """T36, T37: three requests; accepted at the first, at the second, never."""
    told = [GOOD, "no", "no", GOOD, "no"]
    found = accounts(study(Generative([EVERY], retry=Retry(2))), tmp_path, generate=replies(*told))
    first = values(found, "attempts", "generative", "every", "", "1")
    second = values(found, "attempts", "generative", "every", "", "2")
    assert first == {"n_asked": 3, "n_accepted": 1, "share_accepted": pytest.approx(1 / 3)}
    assert second == {"n_asked": 2, "n_accepted": 1, "share_accepted": pytest.approx(2 / 3)}


def test_readings_that_were_never_taken_are_no_attempts(tmp_path):
    found = accounts(study(), tmp_path, read=lambda *_: Failure("no"))
    assert not any(key[0] == "attempts" for key in found)


# Tests of engines


def test_the_noise_floor_of_a_test_is_a_number(tmp_path):
    """T59: cold against cached, in log-odds, with its limit."""
    found = accounts(study(), tmp_path, proof=Proof("cold_cached", True, "Fine.", 3e-6, 1e-4))
    assert found["proofs", "cold_cached", "passed"].estimate == 1
    row = found["proofs", "cold_cached", "difference"]
    assert row.estimate == 3e-6
    assert "limit 0.0001" in row.note


# Acquiescence


def played(table, *, negates=None):
    """Return a reading of each question from a table of log-odds of yes, items by criteria."""

    def told(prompt, _):
        i = [one.text for one in items(3)].index(prompt.shared)
        q = ["joy" in prompt.question, "fear" in prompt.question].index(True)
        x = table[i][q] if "absent" not in prompt.question or negates is None else negates[i][q]
        return reading(0.8 / (1 + math.exp(-x)), 0.8 / (1 + math.exp(x)))

    return told


TABLE = [[2.0, -1.0], [0.5, 0.0], [-1.0, -2.5]]


def test_shares_of_item_and_question_are_those_of_the_log_odds(tmp_path):
    found = accounts(study(), tmp_path, read=played(TABLE))
    expected = shares(np.array(TABLE))[0]
    for name, value in zip(("share_item", "share_question", "share_rest"), expected, strict=True):
        row = found["acquiescence", "verification", "does", "prefill=Answer:", name]
        assert row.estimate == pytest.approx(value, abs=1e-9)
        assert row.low <= row.high
        assert row.n_items == 3


def test_a_negated_wording_is_taken_as_it_was_worded(tmp_path):
    """Yes to everything is an item's tendency also where a yes says that the criterion is absent."""
    yes = [[3.0, 3.0], [0.0, 0.1], [-2.0, -2.0]]
    found = accounts(study(Verification([VERIFY, NEGATED])), tmp_path, read=played(yes, negates=yes))
    one = values(found, "acquiescence", "verification", "does", "prefill=Answer:")
    other = values(found, "acquiescence", "verification", "absent", "prefill=Answer:")
    assert one["share_item"] == pytest.approx(other["share_item"], abs=1e-9)
    assert one["share_item"] > 0.99


def test_log_odds_are_kept_of_a_yes_to_the_question_as_it_was_worded(tmp_path):
    design = study(Verification([VERIFY, NEGATED]), n_items=1)
    elicited, _ = ask(design, tmp_path / "store", read=played([[2.0, -1.0]], negates=[[1.5, 0.5]]))
    arms = tables(elicited, tmp_path / "tables")[0]
    found = {name.phrasing: list(arm.log_odds.values()) for name, arm in arms.of.items()}
    assert found["does"] == pytest.approx([2.0, -1.0], abs=1e-9)
    assert found["absent"] == pytest.approx([1.5, 0.5], abs=1e-9)


def test_yes_to_a_statement_and_to_its_opposite_add_up_to_more_than_one(tmp_path):
    """Brute force: the mean over items of the mean over criteria of P(yes) + P(yes to the opposite) - 1."""
    opposite = [[1.0, 1.0], [0.5, 2.0], [-1.0, 0.0]]
    found = accounts(study(Verification([VERIFY, NEGATED])), tmp_path, read=played(TABLE, negates=opposite))

    def p(x):
        return 1 / (1 + math.exp(-x))

    expected = sum(sum(p(TABLE[i][q]) + p(opposite[i][q]) - 1 for q in (0, 1)) / 2 for i in range(3)) / 3
    row = found["acquiescence", "verification", "absent", "prefill=Answer:", "yes_excess"]
    assert row.estimate == pytest.approx(expected, abs=1e-9)
    assert row.low <= row.estimate <= row.high


def test_a_consistent_system_has_no_yes_excess(tmp_path):
    """The twin: who answers the opposite by the complement has an excess of 0."""
    opposite = [[-x for x in row] for row in TABLE]
    found = accounts(study(Verification([VERIFY, NEGATED])), tmp_path, read=played(TABLE, negates=opposite))
    assert found["acquiescence", "verification", "absent", "prefill=Answer:", "yes_excess"].estimate == pytest.approx(
        0, abs=1e-9
    )


def test_one_question_or_one_item_has_no_shares_and_says_why(tmp_path):
    for place, design in enumerate((study(criteria=["joy"]), study(n_items=1))):
        found = accounts(design, tmp_path / str(place))
        row = found["acquiescence", "verification", "does", "prefill=Answer:", "share_item"]
        assert math.isnan(row.estimate)
        assert "at least 2 of each" in row.undefined


def test_items_with_a_gap_are_left_out_of_the_shares_and_counted(tmp_path):
    place = itertools.count()
    whole = played(TABLE)
    found = accounts(study(), tmp_path, read=lambda *given: Failure("no") if next(place) == 5 else whole(*given))
    row = found["acquiescence", "verification", "does", "prefill=Answer:", "share_item"]
    assert row.n_items == 2
    assert row.estimate == pytest.approx(shares(np.array(TABLE[:2]))[0][0], abs=1e-9)


def test_what_shares_leave_out_stands_beside_them(tmp_path):
    """Items with a gap, questions that nobody answered within narrow bounds, and middles of bounds."""
    design = study(criteria=["joy", "fear", "awe"])

    def told(prompt, _):
        if "awe" in prompt.question:
            return reading(0.02, 0, high=(0.02, 0.01))
        if "fear" in prompt.question and prompt.shared.startswith("He stole"):
            return Failure("no")
        if "joy" in prompt.question:
            return reading(0.4, 0.2, high=(0.4, 0.21))
        return reading(0.2 if prompt.shared.startswith("I won") else 0.3, 0.3)

    found = accounts(design, tmp_path, read=told)
    note = found["acquiescence", "verification", "does", "prefill=Answer:", "share_item"].note
    assert "1 items without log-odds for every question are left out" in note
    assert "1 questions without any log-odds are left out" in note
    assert "3 of 5 log-odds are of middles of bounds" in note


def test_what_would_be_the_items_by_chance_is_told(tmp_path):
    found = accounts(study(), tmp_path, read=played(TABLE))
    row = found["acquiescence", "verification", "does", "prefill=Answer:", "share_item_if_independent"]
    assert row.estimate == pytest.approx(shares(np.array(TABLE))[0][2] / (2 - 1), abs=1e-9)


def test_a_verification_of_another_name_has_its_acquiescence_told(tmp_path):
    found = accounts(study(Verification([VERIFY], name="yes or no")), tmp_path, read=played(TABLE))
    assert ("acquiescence", "yes or no", "does", "prefill=Answer:", "share_item") in found


def test_readouts_without_yes_and_no_have_no_acquiescence(tmp_path):
    found = accounts(study(ScaleReading([RATE]), Choice(OPTIONS, [WHICH])), tmp_path)
    assert not any(key[0] == "acquiescence" for key in found)


# Repeats


def test_repeats_have_a_noise_floor(tmp_path):
    """T76: three repeats of four questions; the first repeat is what others are compared with."""
    noise = iter([0, 0, 0, 0.5, 0, -0.1])
    left = {}

    def told(prompt, _):
        x = next(noise) if prompt.shared.startswith("I won") else 0.0
        left.setdefault(prompt.question, []).append(x)
        return reading(0.8 / (1 + math.exp(-x)), 0.8 / (1 + math.exp(x)))

    found = accounts(study(repeats=3, n_items=2), tmp_path, read=told)
    counted = values(found, "repeats", "verification", "does", "prefill=Answer:")
    assert counted["largest_difference"] == pytest.approx(0.5, abs=1e-9)
    assert counted["mean_difference"] == pytest.approx(0.6 / 8, abs=1e-9)
    assert "8 answers to the very same request, in log-odds" in (
        found["repeats", "verification", "does", "prefill=Answer:", "mean_difference"].note
    )


def test_a_repeat_that_got_no_answer_is_told(tmp_path):
    """T38, T76: what is answered the first time alone, or the second time alone, is no agreement; never is never."""
    place = itertools.count()

    def told(*_):
        return reading(0, 0) if next(place) in (0, 6, 5, 7) else reading(0.3, 0.2)

    found = accounts(study(repeats=2, n_items=2), tmp_path, read=told)
    row = found["repeats", "verification", "does", "prefill=Answer:", "share_changed"]
    assert row.estimate == 0
    assert "2 more had an answer one time and none the other" in row.note


def test_a_system_that_repeats_itself_has_a_noise_floor_of_zero(tmp_path):
    """T76, the twin."""
    found = accounts(study(repeats=2), tmp_path, read=lambda *_: reading(0.3, 0.2))
    counted = values(found, "repeats", "verification", "does", "prefill=Answer:")
    assert counted == {"largest_difference": 0, "mean_difference": 0, "share_changed": 0}


def test_without_repeats_there_is_no_noise_floor(tmp_path):
    assert not any(key[0] == "repeats" for key in accounts(study(), tmp_path))


def test_repeats_of_ratings_are_compared_in_units_of_the_scale(tmp_path):
    design = study(Generative([EVERY]), n_items=1, repeats=2)
    found = accounts(design, tmp_path, generate=replies(GOOD, '{"joy": 1, "fear": 0}'))
    counted = values(found, "repeats", "generative", "every", "")
    assert counted == {"largest_difference": 2, "mean_difference": 1, "share_changed": 0.5}


# Arms


def test_controls_are_arms_under_the_names_that_scores_use(tmp_path):
    elicited, _ = ask(study(controls=("swapped", "shuffled")), tmp_path / "store")
    arms = tables(elicited, tmp_path / "tables")[0]
    assert [name.keys["variant"] for name in arms.of] == [
        "prefill=Answer:",
        "prefill=Answer:, control=swapped",
        "prefill=Answer:, control=shuffled",
    ]
    assert ArmName("S", "verification", "does", "Answer:", "swapped") in arms.of
    assert all(arm.n_requests == arm.n_answered == 6 for arm in arms.of.values())


def test_an_interval_is_the_same_every_time(tmp_path):
    one, other = (accounts(study(), tmp_path / name) for name in "ab")
    key = ("acquiescence", "verification", "does", "prefill=Answer:", "share_item")
    assert (one[key].low, one[key].high) == (other[key].low, other[key].high)


def test_texts_in_reply_to_the_same_request_are_compared(tmp_path):
    """T76: the second paper's generation was never repeated; here a share of texts that came out otherwise is a row."""
    told = iter(["🙂", "🙂", "😢", "🔥"])
    found = accounts(study(Text([FEEL]), repeats=2, n_items=2), tmp_path, generate=lambda *_: reply(next(told)))
    row = next(row for key, row in found.items() if key[0] == "repeats" and key[-1] == "share_changed")
    assert row.estimate == 0.5
    assert "2 texts" in row.note


def test_how_much_the_first_place_is_worth_is_told(tmp_path):
    """X7: an option's share where it is listed first against its share where it is not; balanced over all orders."""

    def first_twice(prompt, labels):
        first = prompt.question.split("\n")[1].removeprefix("- ")
        weights = [2 if name == first else 1 for name in labels.names]
        return reading(*(0.9 * one / sum(weights) for one in weights))

    choice = Choice(OPTIONS, [WHICH], rotations=len(OPTIONS))
    found = accounts(study(choice, n_items=3), tmp_path, read=first_twice)
    row = next(row for key, row in found.items() if key[-1] == "first_place_excess")
    n = len(OPTIONS)
    assert row.estimate == pytest.approx(2 / (n + 1) - 1 / (n + 1), abs=1e-12)
    assert row.unit == "item"
