import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers, read_ratings
from measurand.result import MeasurandError
from measurand.scoring.arms import split_arms
from measurand.scoring.contenders import BASELINES, BINARIZED, baseline, binarized, contenders
from measurand.scoring.field import Draws, Field, field_of
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, kappa
from measurand.scoring.statistics import Measure, positives

SCALE = Scale(0, 7, step=1)


def arms_of(**columns):
    frame = pd.DataFrame({"system": "S", "item": ["a", "b"] * (len(next(iter(columns.values()))) // 2), "answer": 1})
    return split_arms(read_answers(frame.assign(**columns)))


def field(ratings, *, scale=SCALE, **columns):
    item, rater = np.indices(np.shape(ratings)).reshape(2, -1)
    frame = pd.DataFrame(
        {"item": [f"i{k}" for k in item], "rater": [f"R{k}" for k in rater], "rating": np.ravel(ratings)}
    )
    return field_of(read_ratings(frame.assign(**columns), scale=scale))


def set_on(on, answers, **columns):
    frame = pd.DataFrame({"system": "S", "item": [f"i{k}" for k in range(len(answers))], "answer": answers})
    given = read_answers(frame.assign(**columns))
    return contenders(given, split_arms(given), on)


RATINGS = np.array([[0.0, 1, 1], [2, 2, 3], [5, 6, 7], [0, 0, 0], [4, 3, 4], [7, 6, 5]])


# --- Arms -------------------------------------------------------------------------------------------------------------


def test_answers_of_two_protocols_are_two_arms():
    """T39: what differs in its protocol is never pooled."""
    for name in ("readout", "phrasing", "protocol", "prefill", "control"):
        arms = arms_of(**{name: ["x", "x", "y", "y"]})
        assert [arm.rows.tolist() for arm in arms] == [[0, 1], [2, 3]]
        assert arms[0].differs_from(arms[1]) == [name]


def test_a_variant_says_what_tells_an_arm_from_the_plain_one():
    plain, both = arms_of(prefill=["", "", "Answer:", "Answer:"], control=["", "", "blank", "blank"])
    assert (plain.variant, both.variant) == ("", "prefill=Answer:, control=blank")
    assert both.variant_without("control") == "prefill=Answer:"
    assert (plain.is_plain, both.is_plain) == (True, False)
    assert both.describe() == "S, prefill=Answer:, control=blank"


def test_the_first_attempt_is_the_plain_arm_and_the_last_a_variant():
    """T36: attempts at one question are kept apart."""
    plain, last = arms_of(attempt=[2, 1, 1, 3])
    assert plain.rows.tolist() == [1, 2]
    assert (last.rows.tolist(), last.variant, last.is_plain) == ([0, 3], "attempt=last", False)
    assert len(arms_of(attempt=[1, 1])) == 1


def test_systems_are_in_natural_order():
    frame = pd.DataFrame({"system": ["S10", "S2", "S1"], "item": "a", "answer": 1})
    assert [arm.system for arm in split_arms(read_answers(frame))] == ["S1", "S2", "S10"]


# --- What answers are scored against ----------------------------------------------------------------------------------


def test_one_merged_rater_is_refused_with_a_hint_to_forced_choice():
    """P43: a merged gold label has no single raters."""
    with pytest.raises(MeasurandError, match=r"one rater, 'R0': .*one merged label.*--truth items\.csv"):
        field([[1.0], [2.0]])


def test_names_without_an_order_are_refused():
    frame = pd.DataFrame(
        {"item": ["a", "a", "b", "b"], "rater": ["R", "Q"] * 2, "rating": ["joy", "fear", "awe", "joy"]}
    )
    ratings = read_ratings(frame, level="nominal")
    with pytest.raises(MeasurandError, match="names without an order"):
        field_of(ratings)


def test_ratings_of_outputs_are_refused():
    frame = pd.DataFrame({"item": "a", "system": ["x", "x"], "rater": ["R", "Q"], "rating": [1, 2]})
    with pytest.raises(MeasurandError, match="these ratings have systems"):
        field_of(read_ratings(frame))


def test_groups_must_name_every_item_once():
    ratings = read_ratings(pd.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["R", "Q"] * 2, "rating": 1}))
    with pytest.raises(MeasurandError, match='item "b" has ratings but no group'):
        field_of(ratings, groups=pd.Series({"a": "g"}))
    for groups, said in (
        ([1, 1, None, None], 'item "b" has ratings but no group'),
        ([1, 2, 3, 3], 'item "a" has two groups'),
    ):
        frame = ratings.frame.assign(group=groups)
        with pytest.raises(MeasurandError, match=said):
            field_of(read_ratings(frame))
    assert field_of(ratings, groups=pd.Series({"b": "g", "a": "h", "c": "h"})).group.tolist() == [0, 1]


def test_means_round_to_permitted_levels_halves_to_the_even_step_and_dust_decides_nothing():
    (one,) = field([[0, 1, 1], [2.0, 3, 2]], scale=Scale(0, 7, step=1)).criteria
    values = np.array([0.5, 1.5, 2.5, 0.5 + 1e-13, 1.5 - 1e-13, 9, -3, np.nan]) - one.shift
    assert (one.rounded(values) + one.shift)[:-1].tolist() == [0, 2, 2, 0, 2, 7, 0]
    (quarter,) = field([[0, 1, 1], [0.25, 0.5, 0]], scale=Scale(0, 1, step=0.25)).criteria
    assert (quarter.rounded(np.array([0.3, 0.9]) - quarter.shift) + quarter.shift).tolist() == [0.25, 1]


def test_replicates_draw_the_same_whatever_the_size_of_a_block(monkeypatch):
    groups = Field([f"i{k}" for k in range(12)], ["R", "Q", "P"], [], np.repeat(np.arange(4), 3))
    for over in ("item", "group", "rater", "item+rater", "group+rater"):
        found = []
        for size in (1, 40, 2**16):
            monkeypatch.setattr("measurand.scoring.field._BLOCK", size)
            blocks = list(Draws(groups, over, 30, 5).blocks())
            assert [start for start, _, _ in blocks] == np.cumsum([0, *(len(w) for _, w, _ in blocks[:-1])]).tolist()
            items = np.concatenate([w for _, w, _ in blocks])
            raters = None if "rater" not in over else np.concatenate([r for _, _, r in blocks])
            found.append((items, raters))
        for items, raters in found:
            assert (items[0] == 1).all()
            np.testing.assert_array_equal(items, found[0][0])
            if raters is not None:
                np.testing.assert_array_equal(raters, found[0][1])
                assert (raters.sum(axis=1) == 3).all()
            if over.startswith("group"):
                assert all((items[:, k] == items[:, k - k % 3]).all() for k in range(12))
            assert (items.sum(axis=1) == 12).all()


def test_systems_share_item_draws_over_items_and_over_items_and_raters():
    on = field(RATINGS)
    alone, both = (
        np.concatenate([w for _, w, _ in Draws(on, over, 20, 1).blocks()]) for over in ("item", "item+rater")
    )
    np.testing.assert_array_equal(alone, both)


# --- Contenders -------------------------------------------------------------------------------------------------------


def test_answers_to_items_without_ratings_are_no_answers_and_coverage_counts_what_was_asked():
    status = ["ok", "invalid", "ok", "not_asked", "ok", "ok", "ok"]
    (one,) = set_on(field(RATINGS), [1, 0, 2, 3, 4, 5, 6], status=status)
    assert one.n_answered == [4]
    assert one.n_asked == [5]
    assert one.coverage == pytest.approx(4 / 5)


def test_an_invalid_answer_of_0_is_not_a_0():
    """T33: an unparseable reply scored 0."""
    status = ["ok", "ok", "ok", "invalid", "ok", "ok"]
    (one,) = set_on(field(RATINGS), [1, 2, 6, 0, 4, 5], status=status)
    assert np.isnan(one.answered[0].values).tolist() == [False, False, False, True, False, False]


def test_answers_outside_the_scale_are_no_values_of_it():
    for answers, scale, said in (
        ([0.1, 0.2, 9, 1, 1, 1], SCALE, "answers such as 9 are outside the scale"),
        ([1, 2, 3, 4, 5, 6], None, "no scale is declared"),
        ([1, 2, 3, 4, 5, 6], SCALE, ""),
    ):
        (one,) = set_on(field(RATINGS, scale=scale), answers)
        assert said in one.not_permitted[0]
        assert bool(one.not_permitted[0]) == bool(said)


def test_log_odds_sort_probabilities_that_are_saturated():
    """Probabilities are exactly 1 from log-odds of 37 on; the model did not tie."""
    odds = np.array([-3.0, 0, 60, -5, 40, 50])
    answers = 1 / (1 + np.exp(-odds))
    (tied,) = set_on(field(RATINGS), answers)
    (one,) = set_on(field(RATINGS), answers, log_odds=odds)
    assert tied.answered[0].ordered.has_ties
    assert not one.answered[0].ordered.has_ties
    assert one.answered[0].ordered.order.tolist() == np.argsort(odds).tolist()
    (holes,) = set_on(field(RATINGS), answers, log_odds=np.r_[np.nan, odds[1:]])
    assert holes.answered[0].ordered.has_ties


def test_small_probabilities_do_not_tie_for_being_far_from_the_ratings():
    """1e-17 and 2e-17 less a shift of 3 are one number; answers are sorted as the table has them."""
    (one,) = set_on(field(RATINGS), np.array([3, 1, 2, 6, 5, 4]) * 1e-17)
    assert not one.answered[0].ordered.has_ties


@pytest.mark.parametrize(
    ("items", "criterion", "rated", "said"),
    [
        (["z0", "z1"], None, None, 'no item has both an answer and a rating: answers have "z0", ratings have "i0"'),
        (["i0", "i1"], "x", None, "the answers have criteria and the ratings have none"),
        (["i0", "i1"], "x", "y", 'no criterion has both answers and ratings: answers have "x", ratings have "y"'),
    ],
)
def test_answers_that_do_not_fit_the_ratings_are_refused(items, criterion, rated, said):
    columns = {} if rated is None else {"criterion": rated}
    on = field(RATINGS, **columns)
    frame = pd.DataFrame({"system": "S", "item": items, "answer": [1, 2]})
    given = read_answers(frame if criterion is None else frame.assign(criterion=criterion))
    with pytest.raises(MeasurandError, match=said):
        contenders(given, split_arms(given), on)


def test_answers_without_criteria_to_ratings_of_several_are_refused():
    on = field(RATINGS, criterion=["x", "y", "y"] * 6)
    with pytest.raises(MeasurandError, match="the ratings have 2 criteria and the answers no column criterion"):
        set_on(on, [1, 2, 3, 4, 5, 6])


def test_binarized_is_the_yes_or_no_of_probabilities_and_of_nothing_else():
    on = field(RATINGS)
    (one,) = set_on(on, [0.5, 0.51, 0.9, 0, np.nan, 1], readout="verification")
    cut = binarized(one, on)
    assert cut.keys["readout"] == BINARIZED
    found = cut.answered[0].values + on.criteria[0].shift
    np.testing.assert_array_equal(found, [0, 1, 1, 0, np.nan, 1])
    for answers, readout in (([0, 0, 1, 2, 1, 0], "verification"), ([0, 0.2, 0.9, 1, 1, 0], "generative")):
        assert binarized(set_on(on, answers, readout=readout)[0], on) is None


# --- Baselines --------------------------------------------------------------------------------------------------------


def test_baselines_are_what_they_say():
    ratings = RATINGS.copy()
    ratings[3] = np.nan
    on = Field([f"i{k}" for k in range(6)], ["R0", "R1", "R2"], field(RATINGS).criteria)
    on = Field(on.items, on.raters, [type(on.criteria[0])("", ratings - 3, 3.0, SCALE)])
    given = {name: baseline(name, on, seed=0).answered[0].values + 3 for name in BASELINES if name != "shuffled"}
    assert all(np.isnan(values[3]) and not np.isnan(np.delete(values, 3)).any() for values in given.values())
    rated = {name: np.delete(values, 3) for name, values in given.items()}
    assert set(rated["all_low"]) == {0}
    assert set(rated["all_high"]) == {7}
    assert rated["criterion_mean"] == pytest.approx(np.full(5, np.nanmean(ratings)))
    assert set(rated["uniform_random"]) <= set(range(8))
    assert set(rated["marginal"]) <= set(ratings[~np.isnan(ratings)])


def test_shuffled_deals_a_systems_own_answers_to_other_items():
    on = field(np.tile(RATINGS, (5, 1)))
    (one,) = set_on(on, np.arange(30) / 30, status=["invalid"] + ["ok"] * 29)
    found = baseline("shuffled", on, seed=0, of=one)
    assert found.keys["baseline"] == "shuffled"
    np.testing.assert_array_equal(found.answered[0].present, one.answered[0].present)
    before, after = (x.answered[0].values[x.answered[0].present] for x in (one, found))
    assert sorted(before) == sorted(after)
    assert not np.array_equal(before, after)


def test_an_unknown_baseline_is_refused():
    with pytest.raises(MeasurandError, match="baseline 'gold'; allowed are all_low, all_high"):
        baseline("gold", field(RATINGS), seed=0)


def test_constant_baselines_score_0_on_every_calibrated_path():
    on = field(np.tile(RATINGS, (5, 1)))
    opponents = Opponents(on.criteria[0], np.ones((1, 30)))
    for name in ("all_low", "all_high", "criterion_mean"):
        answered = baseline(name, on, seed=0).answered[0]
        for path in (Path("rank", "oracle"), Path("none", "", "", "")):
            assert kappa(answered, opponents, path, None)[0] == pytest.approx(0, abs=1e-14)


# --- Which items are positive -----------------------------------------------------------------------------------------


def test_positive_items_by_each_declared_rule():
    (one,) = field([[0.0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]]).criteria
    assert positives(one, "any").tolist() == [True, True, True, False]
    assert positives(one, "majority").tolist() == [False, False, True, False]
    assert positives(one, "median").tolist() == [False, True, True, False]
    (bare,) = field([[0.0, 1], [1, 1]], scale=None).criteria
    with pytest.raises(MeasurandError, match="needs the lowest level of the scale"):
        positives(bare, "any")
    with pytest.raises(MeasurandError, match="statistic 'f1'; allowed are kappa_quadratic"):
        Measure("f1")
    with pytest.raises(MeasurandError, match="positive 'most'; allowed are any, majority, median"):
        Measure("auroc", "most")
