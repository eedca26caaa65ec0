import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate_tables import QUICK, asked, drawn, graded, long, statement, value, verdict
from measurand.data import read_answers, read_ratings
from measurand.data.items import read_items
from measurand.data.scale import Scale
from measurand.scoring.gate_noise import NUMERICAL_NOISE
from measurand.scoring.gates import gates

# ---- constant answers and counts


def test_constant_answers_fail_and_constant_criteria_are_named():
    answer = drawn()
    assert verdict(asked(long(answer)), "constant-answers") == "pass"
    answer[:, 2] = 0
    result = asked(long(answer))
    assert verdict(result, "constant-answers") == "warn"
    assert "1 of 4 criteria: c02" in statement(result, "constant-answers")
    assert verdict(asked(long(np.full((9, 4), 2.0))), "constant-answers") == "fail"
    assert verdict(asked(long(drawn(items=1))), "constant-answers") == "undetermined"


def test_effective_number_is_the_exponential_of_the_entropy():
    answer = np.repeat([[1.0], [2.0], [3.0], [3.0]], 3, axis=0)
    result = gates(read_answers(long(answer)), **QUICK)
    of = {"gate": "constant-answers", "criterion": "c00"}
    shares = np.array([0.25, 0.25, 0.5])
    assert result.value("gates", "effective_number", of) == pytest.approx(np.prod(shares**-shares), abs=1e-12)
    assert result.value("gates", "n_distinct", of) == 3
    assert result.value("gates", "share_most_frequent", of) == 0.5


def always_25_of_40(items=80, seed=0):
    """Answers that always name the same 25 of 40 criteria, with values that vary, as published arms did."""
    answer = np.zeros((items, 40))
    answer[:, :25] = np.random.default_rng(seed).integers(1, 8, (items, 25))
    return answer


@pytest.mark.parametrize("left_out", [False, True])
def test_arms_that_always_name_the_same_25_criteria_fail_the_count_and_the_echo(left_out):
    """X4: as a model does that copies the prompt's example or whose retries end at a prescribed number."""
    answer = always_25_of_40()
    columns = {}
    if left_out:
        columns["status"] = np.where(answer == 0, "not_returned", "ok")
        answer = np.where(answer == 0, np.nan, answer)
    example = [f"c{place:02d}" for place in range(25)]
    result = asked(long(answer, readout="generative", **columns), example=example)
    assert verdict(result, "constant-counts") == "fail"
    assert value(result, "constant-counts", "mean_count") == 25
    assert value(result, "constant-counts", "sd_count") == 0
    assert verdict(result, "example-echo") == "fail"
    assert value(result, "example-echo", "jaccard_with_example") == 1
    assert value(result, "example-echo", "share_most_frequent_set") == 1


def test_counts_that_vary_pass():
    answer = drawn(criteria=10) * (np.random.default_rng(5).random((60, 10)) < 0.5)
    result = asked(long(answer))
    assert verdict(result, "constant-counts") == "pass"
    assert value(result, "constant-counts", "sd_count") == pytest.approx((answer != 0).sum(axis=1).std(ddof=1))


def test_counts_need_several_criteria_and_a_zero():
    assert verdict(asked(long(drawn(criteria=1))), "constant-counts") == "not_applicable"
    # On a scale from 1 to 5 every criterion is always there: a constant count says nothing.
    from_one = asked(long(1 + drawn(levels=5)))
    assert verdict(from_one, "constant-counts") == verdict(from_one, "example-echo") == "not_applicable"
    assert verdict(asked(long(np.array([[0.0, 1, 2]]))), "constant-counts") == "undetermined"


def test_a_scale_without_zero_settles_it_whatever_the_answers_are():
    answer = 1 + drawn(levels=5)
    answer[0, 0] = 0
    item, criterion = (index.ravel() for index in np.indices(answer.shape))
    ratings = pd.DataFrame(
        {"item": item, "criterion": criterion, "rater": "R", "rating": 1 + drawn(1, levels=5).ravel()}
    )
    ratings["item"] = "i" + ratings["item"].astype(str)
    ratings["criterion"] = "c0" + ratings["criterion"].astype(str)
    human = read_ratings(ratings, scale=Scale(1, 5, step=1))
    assert verdict(asked(long(answer), ratings=human), "constant-counts") == "not_applicable"


def test_of_probabilities_those_above_one_half_are_counted():
    probability = graded()
    result = asked(long(probability, readout="verification"))
    assert value(result, "constant-counts", "mean_count") == (probability > 0.5).sum(axis=1).mean()


# ---- duplicates


def test_answers_of_their_own_pass_and_copies_fail():
    assert verdict(asked(long(drawn())), "duplicated-answers") == "pass"
    ten = np.repeat(drawn(items=10, criteria=8), 6, axis=0)
    result = asked(long(ten))
    assert verdict(result, "duplicated-answers") == "fail"
    assert value(result, "duplicated-answers", "share_duplicated") == 1
    assert value(result, "duplicated-answers", "n_distinct_vectors") == 10


def test_some_copies_warn():
    answer = drawn(items=100, criteria=8)
    answer[:30] = answer[30]
    result = asked(long(answer))
    assert value(result, "duplicated-answers", "share_duplicated") == 0.31
    assert verdict(result, "duplicated-answers") == "warn"


def test_few_binary_criteria_repeat_themselves_by_nature():
    result = asked(long(drawn(items=200, criteria=3, levels=2)))
    assert value(result, "duplicated-answers", "share_duplicated") == 1
    assert verdict(result, "duplicated-answers") == "not_applicable"


def test_one_criterion_has_no_vectors_and_constant_answers_are_one_vector():
    assert verdict(asked(long(drawn(criteria=1))), "duplicated-answers") == "not_applicable"
    assert verdict(asked(long(np.ones((8, 3)))), "duplicated-answers") == "fail"


def test_what_people_repeat_a_system_may_repeat():
    """Correlated criteria make duplicates that independent ones would not."""
    profile = np.random.default_rng(1).integers(0, 8, (12, 6)).astype(float)
    rng = np.random.default_rng(2)
    answer = profile[rng.integers(0, 12, 150)]
    rated = profile[rng.integers(0, 12, 150)]
    item, criterion = (index.ravel() for index in np.indices(rated.shape))
    ratings = pd.DataFrame({"item": item, "criterion": criterion, "rating": rated.ravel()})
    ratings["item"] = "i" + ratings["item"].astype(str)
    ratings["criterion"] = "c0" + ratings["criterion"].astype(str)
    human = read_ratings(pd.concat([ratings.assign(rater=name) for name in ("R1", "R2")]), scale=Scale(0, 7, step=1))
    assert verdict(asked(long(answer)), "duplicated-answers") == "fail"
    result = asked(long(answer), ratings=human)
    assert value(result, "duplicated-answers", "share_of_raters") == 1
    assert verdict(result, "duplicated-answers") == "pass"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=2, max_size=30))
def test_share_duplicated_is_what_counting_by_hand_gives(vectors):
    result = gates(read_answers(long(np.array(vectors, dtype=float))), **QUICK)
    expected = sum(vectors.count(one) > 1 for one in vectors) / len(vectors)
    assert value(result, "duplicated-answers", "share_duplicated") == pytest.approx(expected, abs=1e-12)


# ---- echo


def test_overlap_with_the_example_is_the_mean_jaccard_index():
    answer = drawn(criteria=6) * (np.random.default_rng(8).random((60, 6)) < 0.6)
    answer[0] = 0
    example = {1, 2, 4}
    expected = np.mean(
        [len(example & set(np.flatnonzero(row))) / len(example | set(np.flatnonzero(row))) for row in answer]
    )
    result = asked(long(answer), example=["c01", "c02", "c04"])
    assert value(result, "example-echo", "jaccard_with_example") == pytest.approx(expected, abs=1e-12)
    assert verdict(result, "example-echo") == "pass"


def test_overlap_of_three_quarters_warns():
    answer = np.zeros((40, 8))
    answer[:, :3] = 2
    answer[np.arange(40), 3 + np.arange(40) % 5] = 1
    result = asked(long(answer), example=["c00", "c01", "c02"])
    assert value(result, "example-echo", "jaccard_with_example") == 0.75
    assert verdict(result, "example-echo") == "warn"


def test_one_set_for_half_of_the_items_warns_without_an_example():
    answer = drawn(criteria=6) * (np.random.default_rng(8).random((60, 6)) < 0.5)
    answer[:31] = [3, 0, 0, 4, 0, 0]
    result = asked(long(answer))
    assert verdict(result, "example-echo") == "warn"
    assert "(c00, c03)" in statement(result, "example-echo")


def test_items_without_any_criterion_are_no_copies_of_a_set():
    answer = np.zeros((40, 6))
    answer[:5] = drawn(items=5, criteria=6)
    assert verdict(asked(long(answer)), "example-echo") == "pass"


def test_a_readout_that_asks_criterion_by_criterion_has_no_example():
    result = asked(long(graded(), readout="verification"), example=["c00"])
    assert not result.select("gates", "jaccard_with_example")


# ---- ties


def test_graded_answers_without_ties_pass_and_coarse_ones_warn():
    assert verdict(asked(long(graded(), readout="verification")), "tie-load") == "pass"
    coarse = np.round(graded(items=200) * 10) / 10
    result = asked(long(np.clip(coarse, 0.1, 0.9), readout="verification"))
    assert verdict(result, "tie-load") == "warn"
    keys = {"gate": "tie-load", "criterion": "c00"}
    assert result.value("gates", "share_tied", keys) == 1


def test_saturated_probabilities_fail_unless_there_are_log_odds():
    log_odds = np.random.default_rng(0).normal(0, 20, (60, 4))
    probability = 1 / (1 + np.exp(-log_odds.astype(np.float32)))
    fails = asked(long(probability, readout="verification"))
    assert verdict(fails, "tie-load") == "fail"
    assert value(fails, "tie-load", "share_saturated") == np.mean((probability == 0) | (probability == 1))
    assert "no log-odds" in statement(fails, "tie-load")
    assert verdict(asked(long(probability, readout="verification", log_odds=log_odds)), "tie-load") == "pass"


def test_few_levels_tie_by_construction_unless_one_holds_nearly_all():
    result = asked(long(drawn(items=100), readout="generative"))
    assert verdict(result, "tie-load") == "pass"
    assert "by construction" in statement(result, "tie-load")
    answer = drawn(items=100)
    answer[:96, 1] = 0
    answer[96:, 1] = 1
    result = asked(long(answer, readout="generative"))
    assert verdict(result, "tie-load") == "warn"
    assert "c01" in statement(result, "tie-load")
    keys = {"gate": "tie-load", "criterion": "c01"}
    assert result.value("gates", "share_largest_block", keys) == 0.96


def test_tie_load_needs_two_answers():
    assert verdict(asked(long(drawn(items=1))), "tie-load") == "undetermined"


# ---- numerical noise


def yes_or_no(n):
    """Labels that are no criteria: what is said of an item is decided by whether its probability is above .5."""
    return read_items(pd.DataFrame({"item": [f"i{i}" for i in range(n)], "label": ["yes", "no"] * (n // 2)}))


def test_decisions_within_the_noise_of_one_half_are_counted():
    items = yes_or_no(50)
    probability = np.full((50, 2), 0.9)
    probability[:, 1] = np.linspace(0.1, 0.3, 50)
    assert verdict(asked(long(probability, readout="verification"), items=items), "numerical-noise") == "pass"
    probability[:8, 0] = 0.51
    result = asked(long(probability, readout="verification"), items=items)
    assert value(result, "numerical-noise", "share_near_half") == 0.08
    assert verdict(result, "numerical-noise") == "warn"
    probability[:30, 0] = 0.49
    assert verdict(asked(long(probability, readout="verification"), items=items), "numerical-noise") == "fail"
    narrow = asked(long(probability, readout="verification"), items=items, noise=0.001)
    assert verdict(narrow, "numerical-noise") == "pass"


def test_without_labels_nothing_is_decided_at_one_half_and_its_noise_warns_of_nothing():
    result = asked(long(np.full((50, 2), 0.5), readout="verification"))
    assert value(result, "numerical-noise", "share_near_half") == 1
    assert verdict(result, "numerical-noise") == "not_applicable"
    assert "without labels" in statement(result, "numerical-noise")


def test_the_remedy_of_noise_names_the_command_that_has_its_option():
    assert "(measurand score --truth, --class-margin)" in NUMERICAL_NOISE.remedy


def test_answers_that_are_no_probabilities_have_no_such_noise():
    assert verdict(asked(long(drawn()), items=yes_or_no(40)), "numerical-noise") == "not_applicable"


def test_levels_between_0_and_1_are_no_probabilities_unless_their_readout_says_so():
    items = yes_or_no(40)
    assert verdict(asked(long(drawn(levels=5) / 4), items=items), "numerical-noise") == "not_applicable"
    assert verdict(asked(long(drawn(levels=3) / 2, readout="decision"), items=items), "numerical-noise") == "fail"
    assert verdict(asked(long(graded()), items=items), "numerical-noise") == "pass"


def test_in_forced_choice_the_gap_of_the_two_highest_decides():
    """T75: what is decided by less than the noise must be seen."""
    rng = np.random.default_rng(0)
    probability = rng.uniform(0.1, 0.3, (40, 4))
    label = rng.integers(0, 4, 40)
    probability[np.arange(40), label] = 0.9
    probability[:10, :2] = [0.95, 0.96]
    items = read_items(pd.DataFrame({"item": [f"i{i}" for i in range(40)], "label": [f"c0{one}" for one in label]}))
    result = asked(long(probability, readout="verification"), items=items)
    assert value(result, "numerical-noise", "share_gap_within_noise") == 0.25
    assert verdict(result, "numerical-noise") == "fail"
    three = asked(long(probability, readout="verification").query("criterion != 'c03'"), items=items)
    top = np.sort(probability[:, :3], axis=1)
    expected = np.mean(top[:, 2] - top[:, 1] < 0.031)
    assert value(three, "numerical-noise", "share_gap_within_noise") == expected
    incomplete = long(probability, readout="verification")
    incomplete.loc[incomplete["criterion"] == "c03", "answer"] = np.nan
    assert verdict(asked(incomplete, items=items), "numerical-noise") == "undetermined"
