import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import expit, logit

from eliciting.studies import (
    EVERY,
    NEGATED,
    OPTIONS,
    RATE,
    SCALE,
    VERIFY,
    WHICH,
    ask,
    asked_of,
    reading,
    reply,
    study,
    tables,
)
from measurand.data import read_answers
from measurand.data.scale import Scale
from measurand.eliciting.answered import WIDEST, of_reading, of_reply, unanswered
from measurand.eliciting.declared import Choice, Generative, Phrasing, RatingsRule, ScaleReading, Verification
from measurand.eliciting.ratings_reply import read_ratings_reply
from measurand.eliciting.records import reading_of, record_of, reply_of
from measurand.eliciting.requests import blocks, requests
from measurand.eliciting.system import System

INFINITE = math.inf
probabilities = st.floats(1e-12, 1.0)


def request_of(readout, **more):
    design = study(readout, n_items=1, **more)
    return next(iter(requests(design, blocks(design)[0])))


def answers(readout, outcome, **more):
    """Return the rows that an outcome makes, after its way through the store's record."""
    request = request_of(readout, **more)
    return list(of_reading(request, record_of(request, "k", outcome, system="S", attempt=1)))


def verified(outcome, *, negated=False):
    (found,) = answers(Verification([NEGATED if negated else VERIFY]), outcome)
    return found


# Verification


def test_verification_is_yes_over_yes_and_no():
    """T14: .3 of yes and .1 of no are .75, whatever the rest of the mass is; log-odds are log 3."""
    found = verified(reading(0.3, 0.1))
    assert found.value == pytest.approx(0.75, abs=1e-15)
    assert found.log_odds == pytest.approx(math.log(3), abs=1e-15)
    assert (found.low, found.high) == (found.value, found.value)
    assert found.mass == pytest.approx(0.4, abs=1e-15)
    assert found.mass_high == pytest.approx(0.4, abs=1e-15)
    assert (found.status, found.problem) == ("ok", "")


@given(probabilities, probabilities)
def test_log_odds_and_probability_say_the_same(yes, no):
    found = verified(reading(yes, no))
    assert found.value == pytest.approx(yes / (yes + no), abs=1e-12)
    assert found.log_odds == pytest.approx(math.log(yes) - math.log(no), abs=1e-12)
    assert found.value == expit(found.log_odds)


@given(probabilities, probabilities, st.floats(1.001, 50))
def test_a_likelier_yes_raises_the_answer_and_lowers_that_of_a_negated_wording(yes, no, factor):
    """T14: the sign is that of the label."""
    assert verified(reading(yes * factor, no)).log_odds > verified(reading(yes, no)).log_odds
    assert (
        verified(reading(yes * factor, no), negated=True).log_odds < verified(reading(yes, no), negated=True).log_odds
    )


@given(probabilities, probabilities)
def test_a_negated_wording_is_turned_round(yes, no):
    plain, turned = verified(reading(yes, no)), verified(reading(yes, no), negated=True)
    assert turned.value == pytest.approx(1 - plain.value, abs=1e-12)
    assert turned.log_odds == -plain.log_odds
    assert turned.mass == plain.mass


def test_what_is_tiny_keeps_its_log_odds_where_the_probability_cannot():
    found = verified(reading(1e-30, 0.9))
    assert found.log_odds == pytest.approx(math.log(1e-30 / 0.9), abs=1e-12)
    assert found.value > 0


def test_narrow_bounds_are_answered_by_their_middle():
    found = verified(reading(0.6, 0.2, high=(0.61, 0.205)))
    low, high = 0.6 / (0.6 + 0.205), 0.61 / (0.61 + 0.2)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert found.value == pytest.approx((low + high) / 2, abs=1e-12)
    assert found.log_odds == pytest.approx(logit((low + high) / 2), abs=1e-12)
    assert found.status == "ok"


def test_bounds_of_a_negated_wording_are_turned_round_and_not_only_swapped():
    plain = verified(reading(0.6, 0.2, high=(0.61, 0.205)))
    turned = verified(reading(0.6, 0.2, high=(0.61, 0.205)), negated=True)
    assert (turned.low, turned.high) == pytest.approx((1 - plain.high, 1 - plain.low), abs=1e-12)
    assert turned.value == pytest.approx(1 - plain.value, abs=1e-12)


def test_an_unseen_no_is_bounded_and_never_one_minus_the_yes():
    """X6: .93 of yes and a no below the least of what was shown; 1 - P(yes) would be .07, a 0 would make it 1."""
    found = verified(reading(0.93, 0, high=(0.931, 0.001), mass_high=0.932))
    assert (found.low, found.high) == pytest.approx((0.93 / 0.931, 1.0), abs=1e-12)
    assert 0.93 < found.low < found.value < 1.0
    assert math.isfinite(found.log_odds)


@pytest.mark.parametrize(
    ("low", "high"), [((0.5, 0.3), (0.6, 0.45)), ((0, 0), (0.01, 0.01)), ((0.02, 0), (0.02, 0.01))]
)
def test_bounds_that_are_too_wide_are_no_answer(low, high):
    """X6, T12: half of the bounds' distance is no answer, nor is one half."""
    found = verified(reading(*low, high=high))
    assert found.status == "invalid"
    assert math.isnan(found.value)
    assert "only known to lie between" in found.problem
    assert found.high - found.low > WIDEST


def test_neither_yes_nor_no_is_no_answer():
    """T12, T66: without any mass there is nothing to divide."""
    found = verified(reading(0, 0))
    assert (found.status, found.problem) == ("invalid", "neither yes nor no was seen")
    assert math.isnan(found.value)
    assert found.mass == 0


@st.composite
def boxes(draw, n):
    pairs = [sorted(draw(st.tuples(st.floats(0, 1), st.floats(0, 1)))) for _ in range(n)]
    low, high = zip(*pairs, strict=True)
    inside = [a + draw(st.floats(0, 1)) * (b - a) for a, b in pairs]
    return low, high, inside


@given(boxes(2), st.booleans())
@example(((0.0, 0.0), (0.0, 1.0), [0.0, 1.0]), False)
def test_the_true_probability_is_always_inside_the_bounds_of_an_answer(box, negated):
    """X9."""
    low, high, (yes, no) = box
    assume(yes + no > 1e-9)
    found = verified(reading(*low, high=high), negated=negated)
    true = (no if negated else yes) / (yes + no)
    if not math.isnan(found.low):
        assert found.low - 1e-12 <= true <= found.high + 1e-12
    if found.status == "ok":
        assert abs(found.value - true) <= WIDEST / 2 + 1e-12
    else:
        assert math.isnan(found.value)


# Ratings read off numerals


def scaled(*outcome, scale=SCALE, **more):
    (found,) = answers(ScaleReading([RATE]), reading(*outcome, **more), scale=scale, criteria=["joy"])
    return found


def test_a_rating_is_the_expected_one_over_the_levels():
    """T01, T13: numerator and denominator are sums over the same levels; (.1 x 1 + .3 x 4) / .4."""
    found = scaled(0, 0.1, 0, 0, 0.3)
    assert found.value == pytest.approx(1.3 / 0.4, abs=1e-12)
    assert found.mass == pytest.approx(0.4, abs=1e-12)
    assert math.isnan(found.log_odds)


@given(st.lists(probabilities, min_size=3, max_size=3))
def test_a_rating_lies_on_the_scale(p):
    found = scaled(*p, scale={"": Scale(5, 7, step=1)})
    assert 5 <= found.value <= 7
    assert found.value == pytest.approx(math.fsum(v * q for v, q in zip((5, 6, 7), p, strict=True)) / sum(p), abs=1e-12)


def test_no_level_at_all_is_no_rating():
    """T12: filtered to nothing is an invalid row, not a division by zero, not 0."""
    found = scaled(0, 0, 0, 0, 0)
    assert (found.status, found.problem) == ("invalid", "no level of the scale was seen")
    assert math.isnan(found.value)


def test_what_is_too_wide_is_a_share_of_the_scale():
    low, high = (0.4, 0.1, 0, 0, 0), (0.4, 0.1, 0, 0, 0.02)
    narrow = scaled(*low, high=high)
    assert narrow.status == "ok"
    assert narrow.high - narrow.low < WIDEST * 4
    wide = scaled(*low, high=(0.4, 0.1, 0, 0, 0.1))
    assert wide.status == "invalid"
    assert math.isnan(wide.value)


# Choices


def test_shares_of_options_add_up_to_one_and_have_log_odds_of_their_own():
    found = answers(Choice(OPTIONS, [WHICH]), reading(0.4, 0.1, 0.1))
    assert [one.criterion for one in found] == ["joy", "fear", "awe"]
    assert [one.value for one in found] == pytest.approx([2 / 3, 1 / 6, 1 / 6], abs=1e-12)
    assert [one.log_odds for one in found] == pytest.approx([math.log(2), -math.log(5), -math.log(5)], abs=1e-12)
    assert [one.mass for one in found] == pytest.approx([0.6] * 3, abs=1e-12)


def test_equal_options_have_equal_shares_whatever_their_order():
    """T74, T75: nothing of the order decides a tie."""
    assert [one.value for one in answers(Choice(OPTIONS, [WHICH]), reading(0.2, 0.2, 0.2))] == pytest.approx(
        [1 / 3] * 3
    )


@given(boxes(3))
def test_no_share_of_an_option_is_above_one_or_without_log_odds(box):
    low, high, inside = box
    assume(1e-9 < sum(inside) <= 1)
    for one, p in zip(answers(Choice(OPTIONS, [WHICH]), reading(*low, high=high)), inside, strict=True):
        if one.status == "ok":
            assert 0 <= one.low <= one.value <= one.high <= 1
            assert abs(one.value - p / sum(inside)) <= WIDEST / 2 + 1e-12
            assert not math.isnan(one.log_odds)
        else:
            assert math.isnan(one.value)


def test_no_option_at_all_is_no_choice():
    found = answers(Choice(OPTIONS, [WHICH]), reading(0, 0, 0))
    assert [one.status for one in found] == ["invalid"] * 3
    assert {one.problem for one in found} == {"none of the options was seen"}


# Only the likeliest tokens


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10, 20])
def test_the_exact_answer_is_inside_the_bounds_that_the_likeliest_tokens_leave(tmp_path, k):
    """T02, X9: one fake model, asked once with every token shown and once with k; ratings and shares as well."""
    readouts = Verification([VERIFY, NEGATED], prefills=("Answer:", "")), ScaleReading([RATE]), Choice(OPTIONS, [WHICH])

    def rows_of(name, **options):
        system = System("S", "fake", "m", top_logprobs=k, template_options=options)
        return asked_of(study(*readouts, n_items=5, systems=[system]), tmp_path / name)

    bounded = rows_of("top_k", distribution="top_k")
    for exact, found in zip(rows_of("exact"), bounded, strict=True):
        true = float(exact["answer"])
        if found["answer_low"]:
            assert float(found["answer_low"]) - 1e-9 <= true <= float(found["answer_high"]) + 1e-9
        assert bool(found["answer"]) == (found["status"] == "ok")
        assert float(found["mass"]) - 1e-9 <= float(exact["mass"]) <= float(found["mass_high"]) + 1e-9
    n_known = sum(row["status"] == "ok" for row in bounded)
    assert (n_known == 0) if k == 1 else True
    assert (n_known == len(bounded)) if k == 20 else True


# Derived readouts


def derived(tmp_path, outcomes, *, which="binarized", **more):
    """Return the rows of a derived readout whose verification was read as told, question by question."""
    left = iter(outcomes)
    readout = more.pop("readout", None) or Verification([VERIFY])
    design = study(readout, n_items=more.pop("n_items", 1), derived=(which,), **more)
    rows = asked_of(design, tmp_path, read=lambda *_: next(left))
    assert len(read_answers(tmp_path / "tables" / "answers.csv").frame) == len(rows)
    return [row for row in rows if row["readout"] == which]


@pytest.mark.parametrize(
    ("outcome", "answer", "status"),
    [
        (reading(0.3, 0.1), "1.0", "ok"),
        (reading(0.1, 0.3), "0.0", "ok"),
        (reading(0.2, 0.2), "", "invalid"),
        (reading(0.3, 0.29, high=(0.305, 0.31)), "", "invalid"),
        (reading(0.3, 0.27, high=(0.305, 0.275)), "1.0", "ok"),
        (reading(0.5, 0.3, high=(0.6, 0.5)), "", "invalid"),
        (reading(0, 0), "", "invalid"),
    ],
)
def test_a_tie_and_bounds_on_both_sides_of_one_half_have_no_yes_or_no(tmp_path, outcome, answer, status):
    """T74, T75: a tie is no 0, no 1 and no coin; its twin beside it has a value."""
    (row,) = derived(tmp_path, [outcome], criteria=["joy"])
    assert (row["answer"], row["status"]) == (answer, status)
    assert status == "ok" or row["problem"]


def test_a_tie_says_that_it_is_one(tmp_path):
    """T74."""
    rows = derived(tmp_path, [reading(0.2, 0.2), reading(0.3, 0.29, high=(0.305, 0.31))])
    assert rows[0]["problem"] == "exactly one half"
    assert "both sides of .5" in rows[1]["problem"]


def test_derived_answers_are_readouts_of_their_own_under_protocols_of_their_own(tmp_path):
    """T11: one estimand for each readout; a derived one never fills gaps of another."""
    design = study(derived=("binarized", "double_centred"))
    rows = asked_of(design, tmp_path)
    protocols = {row["readout"]: row["protocol"] for row in rows}
    assert set(protocols) == {"verification", "binarized", "double_centred"}
    assert len(set(protocols.values())) == 3
    assert protocols["binarized"].startswith(protocols["verification"])
    assert {row["answer"] for row in rows if row["readout"] == "binarized"} <= {"0.0", "1.0"}
    centred = [float(row["answer"]) for row in rows if row["readout"] == "double_centred"]
    assert sum(centred) == pytest.approx(0, abs=1e-9)


def test_a_verification_of_another_name_is_derived_from_all_the_same(tmp_path):
    rows = derived(tmp_path, [reading(0.3, 0.1)] * 2, readout=Verification([VERIFY], name="yes or no"))
    assert [row["answer"] for row in rows] == ["1.0", "1.0"]


def test_two_verifications_with_phrasings_of_one_name_are_centred_apart(tmp_path):
    one = Verification([VERIFY])
    other = Verification([VERIFY], instructions="Look closely.", name="closely")
    design = study(one, other, derived=("double_centred",))
    rows = asked_of(design, tmp_path)
    alone = asked_of(study(one, derived=("double_centred",)), tmp_path / "alone")
    centred = [row["answer"] for row in rows if row["readout"] == "double_centred"]
    assert len(centred) == 12
    assert centred[:6] == [row["answer"] for row in alone if row["readout"] == "double_centred"]


def test_infinite_log_odds_cannot_be_centred_and_say_so(tmp_path):
    """A system that gives no probability at all to one answer: P is 1, its log-odds have no difference to others."""
    told = [reading(0.9, 0), *[reading(0.3, 0.1)] * 8]
    rows = derived(tmp_path, told, which="double_centred", criteria=["joy", "fear", "awe"], n_items=3)
    assert [row["status"] for row in rows] == ["invalid"] + ["ok"] * 8
    assert "infinite" in rows[0]["problem"]
    assert rows[0]["answer"] == ""


@pytest.mark.parametrize("more", [{"n_items": 1}, {"n_items": 2, "criteria": ["joy"]}])
def test_one_item_or_one_question_is_not_centred_to_zero(tmp_path, more):
    """T11, T33: what is left of an only answer is 0 whatever it is, and no answer."""
    rows = derived(tmp_path, [reading(0.3, 0.1), reading(0.1, 0.4)], which="double_centred", **more)
    assert {(row["answer"], row["status"]) for row in rows} == {("", "invalid")}
    assert all("nothing beside it" in row["problem"] for row in rows)


def test_middles_of_bounds_are_not_centred_into_exact_numbers(tmp_path):
    """X9: one answer within bounds leaves none of the centred ones exact; the twin without bounds has its ends."""
    exact = [reading(0.3, 0.1), reading(0.1, 0.3), reading(0.2, 0.3), reading(0.4, 0.1)]
    told = [*exact[:3], reading(0.4, 0.1, high=(0.41, 0.11))]
    rows = derived(tmp_path / "bounded", told, which="double_centred", n_items=2)
    assert {row["status"] for row in rows} == {"ok"}
    assert {(row["answer_low"], row["answer_high"]) for row in rows} == {("", "")}
    assert all("1 middles of bounds among 4" in row["problem"] for row in rows)
    twin = derived(tmp_path / "exact", exact, which="double_centred", n_items=2)
    assert all(row["answer_low"] == row["answer"] == row["answer_high"] and not row["problem"] for row in twin)


# Replies


def of_text(text, rule=RatingsRule(), *, is_truncated=False, is_refused=False):  # noqa: B008
    read = read_ratings_reply(
        text, criteria=["joy", "fear"], scale=SCALE, rule=rule, is_truncated=is_truncated, is_refused=is_refused
    )
    return list(of_reply(read, ["joy", "fear"]))


@pytest.mark.parametrize(
    "text",
    [
        '{"joy": 9, "fear": 0}',
        '{"joy": "3", "fear": 0}',
        '{"joy": 3}',
        '{"joy": 3, "joy": 4, "fear": 0}',
        "3",
        "",
        "not excellent, 4 of 4",
        'Grade: {"joy": 3',
    ],
)
def test_a_reply_that_is_not_accepted_is_never_a_number(text):
    """T30, T33, T34, T35: no default, no first number in the prose, no 0."""
    rows = of_text(text)
    assert {row.status for row in rows} == {"invalid"}
    assert all(math.isnan(row.value) and math.isnan(row.low) and math.isnan(row.high) for row in rows)
    assert all(row.problem for row in rows)


def test_refused_and_truncated_replies_are_told_apart():
    assert {row.status for row in of_text('{"joy": 3', is_truncated=True)} == {"truncated"}
    assert {row.status for row in of_text("", is_refused=True)} == {"refused"}


def test_a_rating_has_no_width_and_no_mass():
    rows = of_text('{"joy": 3, "fear": 0}')
    assert [(row.value, row.low, row.high) for row in rows] == [(3, 3, 3), (0, 0, 0)]
    assert all(math.isnan(row.mass) and math.isnan(row.log_odds) for row in rows)


# Without an answer


def test_what_was_not_asked_has_rows_without_numbers():
    design_rows = list(unanswered(request_of(Choice(OPTIONS, [WHICH])), ["x"]))
    assert [row.criterion for row in design_rows] == ["joy", "fear", "awe"]
    (one,) = unanswered(request_of(Verification([VERIFY])), ["joy", "fear"])
    assert (one.criterion, one.status) == ("joy", "not_returned")
    assert math.isnan(one.value)


def test_what_an_example_does_not_name_is_not_asked_also_before_any_reply():
    rule = RatingsRule(example=["joy"])
    request = request_of(Generative([Phrasing("p", "{criteria} {example}")], rule=rule))
    rows = list(unanswered(request, ["joy", "fear"]))
    assert [row.status for row in rows] == ["not_returned", "not_asked"]


# Records


@pytest.mark.parametrize("outcome", [reading(0.3, 0, high=(0.4, 0.01), others=[("The", 0.25)], n_completion=1)])
def test_a_reading_comes_back_from_its_record_as_it_was(outcome):
    request = request_of(Verification([VERIFY]))
    assert reading_of(record_of(request, "k", outcome, system="S", attempt=1)) == outcome


def test_a_reply_comes_back_from_its_record_as_it_was():
    outcome = reply("{}", "length", reasoning="hm", n_reasoning=3, seconds=0.25)
    request = request_of(Generative([EVERY]))
    assert reply_of(record_of(request, "k", outcome, system="S", attempt=1)) == outcome


def test_a_record_says_in_words_what_it_answers():
    """T36."""
    request = request_of(Verification([VERIFY]))
    record = record_of(request, "k", reading(0.3, 0.1), system="S", attempt=1)
    assert record["asked"] == {
        "system": "S",
        "item": "i1",
        "control": "",
        "readout": "verification",
        "phrasing": "does",
        "prefill": "Answer:",
        "criterion": "joy",
        "repeat": 0,
        "attempt": 1,
    }
    assert record["kind"] == "reading"


def test_numbers_survive_store_and_table_to_the_last_digit(tmp_path):
    """Infinite bounds are stored as such; the table's numbers are the shortest exact ones."""
    told = reading(1 / 3, 1e-17, others=[("'", 1 / 7)])
    elicited, _ = ask(study(criteria=["joy"], n_items=1), tmp_path / "store", read=lambda *_: told)
    _, (row,), _, _ = tables(elicited, tmp_path / "tables")
    assert float(row["log_odds"]) == math.log(1 / 3) - math.log(1e-17)
    assert float(row["mass"]) == pytest.approx(1 / 3 + 1e-17, abs=1e-15)
    assert row["others"] == f'[["\'", {1 / 7!r}]]'
