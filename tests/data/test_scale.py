import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data import Scale, parse_scales
from measurand.data.scale import MISSING, as_number, scales_for
from measurand.result import MeasurandError

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def test_bounds_and_steps_say_which_ratings_are_permitted():
    scale = Scale(1, 5, step=1, level="ordinal")
    assert scale.levels == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert scale.bounds == (1.0, 5.0)
    assert [value for value in (0, 1, 1.5, 5, 6, math.nan, math.inf) if scale.permits(value)] == [1, 5]
    assert scale.describe() == "1 to 5 in steps of 1"


def test_without_steps_every_value_between_the_bounds_is_permitted():
    scale = Scale(0, 100)
    assert scale.levels is None
    assert scale.permits(33.333)
    assert scale.permits(0)
    assert scale.permits(100)
    assert not scale.permits(100.0001)
    assert scale.describe() == "0 to 100"


def test_without_a_declaration_every_finite_number_is_permitted():
    scale = Scale()
    assert scale.levels is None
    assert scale.bounds is None
    assert scale.permits(-1e9)
    assert not scale.permits(math.inf)
    assert not scale.permits(math.nan)


def test_steps_that_have_no_exact_binary_form_are_met():
    scale = Scale.parse("0:1:.1")
    assert scale.permits(0.3)
    assert scale.permits(0.1 + 0.2)
    assert not scale.permits(0.35)
    assert scale.levels[-1] == 1.0
    assert len(scale.levels) == 11


@given(st.integers(-50, 50), st.integers(1, 60), st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0, 10.0]))
def test_every_level_of_a_scale_is_permitted_and_nothing_between(low, n_steps, step):
    scale = Scale(low, low + n_steps * step, step=step)
    levels = np.array(scale.levels)
    assert len(levels) == n_steps + 1
    assert scale.permitted(levels).all()
    assert not scale.permitted(levels[:-1] + step / 2).any()
    assert not scale.permitted(np.array([levels[0] - step, levels[-1] + step])).any()


def test_text_labels_are_numbered_in_the_declared_order():
    scale = Scale(labels=["no", "minor", "yes"], level="ordinal")
    assert [scale.convert(text) for text in ("yes", "minor", "no", " no ")] == [2.0, 1.0, 0.0, 0.0]
    assert scale.levels == (0.0, 1.0, 2.0)
    assert scale.bounds == (0.0, 2.0)
    assert scale.describe() == "no, minor, yes"


def test_labels_that_are_numbers_stand_for_these_numbers():
    scale = Scale(labels=["1", "2", "5"])
    assert scale.levels == (1.0, 2.0, 5.0)
    assert scale.convert("5.0") == 5.0
    with pytest.raises(MeasurandError, match="'3' is none of the labels 1, 2, 5"):
        scale.convert("3")


def test_labels_are_matched_exactly():
    with pytest.raises(MeasurandError, match="'yes' is none of the labels No, Yes"):
        Scale(labels=["No", "Yes"]).convert("yes")


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "N/A", "NaN", "null", "None", "#N/A", "<NA>"])
def test_blank_and_not_available_are_missing(text):
    assert Scale(1, 5).is_missing(text)


def test_none_is_a_rating_where_it_is_declared_as_one():
    scale = Scale(labels=["none", "minor", "major"])
    assert not scale.is_missing("none")
    assert scale.convert("none") == 0.0
    assert scale.is_missing("N/A")
    assert "none" in MISSING


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"low": 1}, "both bounds"),
        ({"high": 1}, "both bounds"),
        ({"low": 5, "high": 1}, "5:1; the low one must be below"),
        ({"low": 1, "high": 1}, "1:1; the low one must be below"),
        ({"low": 0, "high": math.inf}, "finite"),
        ({"low": math.nan, "high": 1}, "finite"),
        ({"step": 1}, "a step needs bounds"),
        ({"low": 0, "high": 1, "step": 0}, "above 0"),
        ({"low": 0, "high": 1, "step": -0.5}, "above 0"),
        ({"low": 0, "high": 1, "step": math.nan}, "above 0"),
        ({"low": 0, "high": 1, "step": 2}, "fit between the bounds"),
        ({"low": 0, "high": 1, "step": 0.3}, "does not lead from 0 to 1"),
        ({"level": "metric"}, "'metric'; allowed are nominal, ordinal, interval, ratio"),
        ({"low": -1, "high": 1, "level": "ratio"}, "ratio scale starts at 0"),
        ({"labels": ["a"]}, "at least two"),
        ({"labels": ["a", "b", "a"]}, "each may occur once"),
        ({"labels": ["a", " a"]}, "each may occur once"),
        ({"labels": ["1", "1.0"]}, "1, 1.0"),
        ({"labels": ["3", "2", "1"]}, "not in ascending order"),
        ({"labels": ["a", "b"], "low": 0, "high": 1}, "not both"),
        ({"labels": ["no", "yes", ""]}, "blank"),
        ({"labels": ["-1", "0", "1"], "level": "ratio"}, "ratio scale starts at 0"),
        ({"labels": "abc"}, "sequence"),
        ({"low": 0, "high": 1e300, "step": 1e-300}, "step"),
        ({"low": 0, "high": 1, "step": 1e-9}, "step"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(declared, said):
    with pytest.raises(MeasurandError, match=said):
        Scale(**declared)


def test_labels_in_any_order_are_fine_for_names():
    assert Scale(labels=["3", "1"], level="nominal").levels == (1.0, 3.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:5", Scale(1, 5)),
        ("0:1:.5", Scale(0, 1, step=0.5)),
        ("-2:2:1", Scale(-2, 2, step=1)),
        ("1e0:1e2", Scale(1, 100)),
    ],
)
def test_scales_are_read_from_text(text, expected):
    assert Scale.parse(text) == expected


@pytest.mark.parametrize("text", ["", "5", "1-5", "1:2:3:4", "a:b", "1:5:", "1,5:2", ":", "low:high"])
def test_a_text_of_another_form_is_refused_with_an_example(text):
    with pytest.raises(MeasurandError, match=r"write low:high or low:high:step, for example 1:5 or 0:1:\.5"):
        Scale.parse(text)


def test_scales_per_criterion():
    found = parse_scales(["fluency=1:5", "overall=0:100"], level="interval")
    assert found == {"fluency": Scale(1, 5, level="interval"), "overall": Scale(0, 100, level="interval")}


@pytest.mark.parametrize("name", ["a:b", "a=b", "ratio 1:2", "x=1:5", "=", "日本"])
def test_criteria_may_hold_colons_and_equals_signs(name):
    assert parse_scales([f"{name}=1:5:1"]) == {name: Scale(1, 5, step=1)}


def test_one_scale_serves_all_criteria_and_others_their_own():
    assert parse_scales([]) is None
    assert parse_scales(["1:5"]) == Scale(1, 5)
    assert parse_scales(["1:5", "overall=0:100"]) == {"": Scale(1, 5), "overall": Scale(0, 100)}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["1:5", "1:7"], "two scales for 'all criteria'"),
        (["a=1:5", "a=1:7"], "two scales for 'a'"),
        (["=1:5"], "no criterion before the equals sign"),
        (["a="], "write low:high"),
        (["a=b"], "write low:high"),
    ],
)
def test_contradicting_scales_are_refused(texts, said):
    with pytest.raises(MeasurandError, match=said):
        parse_scales(texts)


def test_a_level_fills_in_where_the_scale_declares_none():
    declared = {"a": Scale(1, 5), "b": Scale(1, 5, level="ordinal")}
    found = scales_for(declared, "interval", ())
    assert found["a"].level == "interval"
    assert found["b"].level == "ordinal"
    assert scales_for(None, "nominal", ())[""] == Scale(level="nominal")
    assert scales_for(None, "ordinal", ["no", "yes"])[""] == Scale(labels=["no", "yes"], level="ordinal")


def test_scale_and_labels_together_are_refused():
    with pytest.raises(MeasurandError, match="not both"):
        scales_for(Scale(1, 5), None, ["no", "yes"])


def test_a_scale_goes_into_json_as_plain_values():
    made = Scale(1, 5, step=1, level="ordinal").to_dict()
    assert made == {"low": 1.0, "high": 5.0, "step": 1.0, "level": "ordinal", "labels": []}
    assert Scale(**made) == Scale(1, 5, step=1, level="ordinal")


@pytest.mark.parametrize("text", ["1,5", "1_000", "", "1 000", "0x10", "½", "one", "1.000,5"])
def test_what_spells_no_number_is_none(text):
    assert as_number(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_survives_being_spelled(value):
    assert as_number(repr(value)) == value


def test_a_scale_with_a_decimal_comma_is_told_what_is_meant():
    with pytest.raises(MeasurandError, match=r"decimals have a point here: 1:5:0\.5"):
        Scale.parse("1:5:0,5")
