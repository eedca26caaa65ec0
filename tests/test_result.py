import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measurand.keys import NUMBER_KEYS
from measurand.result import (
    COLUMNS,
    KEYS,
    SCHEMA,
    Finding,
    MeasurandError,
    Result,
    Row,
    show_interval,
    show_number,
)
from measurand.result.digits import show_estimate


def same(a, b):
    """Equal, or both NaN, and of one kind: 1 is not "1" and inf is not "inf"."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return isinstance(a, str) == isinstance(b, str) and a == b


def assert_same_rows(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.analysis == b.analysis
        for key in KEYS[a.analysis]:
            assert same(a.keys.get(key, ""), b.keys.get(key, "")), key
        for column in COLUMNS:
            assert same(getattr(a, column), getattr(b, column)), column
        assert dict(a.extra) == dict(b.extra)


def row(estimate=1.0, **fields):
    return Row("raters", {"criterion": "", "rater": "R1"}, "mean", estimate, **fields)


any_float = st.floats(allow_nan=False)
optional = st.one_of(st.none(), any_float)
words = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def rows(draw):
    analysis = draw(st.sampled_from(sorted(KEYS)))
    keys = {}
    for key in KEYS[analysis]:
        number = st.one_of(st.integers(0, 2**40), st.floats(0.01, 0.99), st.just(math.inf))
        value = draw(st.one_of(st.none(), number if key in NUMBER_KEYS else words))
        if value is not None:
            keys[key] = value
    missing = draw(st.booleans())
    extra = {"same_sign_all_raters": draw(st.booleans())} if analysis == "pairs" and draw(st.booleans()) else {}
    return Row(
        analysis,
        keys,
        draw(words.filter(bool)),
        math.nan if missing else draw(any_float),
        low=draw(optional),
        high=draw(optional),
        confidence=draw(st.one_of(st.none(), st.floats(0.5, 0.999))),
        method=draw(words),
        unit=keys.get("unit", "") if "unit" in KEYS[analysis] else draw(words),
        n_items=draw(st.one_of(st.none(), st.integers(0, 2**40))),
        n_raters=draw(st.one_of(st.none(), st.integers(0, 2**40))),
        df1=draw(optional),
        df2=draw(optional),
        p=draw(optional),
        p_adjusted=draw(optional),
        attainable_p=draw(optional),
        undefined=draw(words.filter(bool)) if missing else "",
        note=draw(words),
        extra=extra,
    )


@given(st.lists(rows(), max_size=6))
@example([Row("decision", {"at_items": math.inf}, "raters_needed", math.inf, low=-math.inf)])
@example([row(math.nan, undefined="one rating")])
@example([row(0.1 + 0.2, low=5e-324, high=1.7976931348623157e308)])
@example([row(-0.0)])
def test_json_gives_back_every_number_exactly(made):
    result = Result(made)
    back = Result.from_json(result.to_json())
    grouped = [one for name in result.analyses for one in made if one.analysis == name]
    assert_same_rows(back.rows, grouped)
    assert back.to_json() == result.to_json()


@pytest.mark.parametrize("name", ["inf", "-inf", "nan", "null", "", "1", "∞", "<b>"])
def test_a_name_that_looks_like_a_number_stays_a_name(name):
    result = Result([Row("raters", {"rater": name}, "mean", 1.0)])
    assert Result.from_json(result.to_json()).rows[0].keys["rater"] == name
    assert str(Result.from_json(result.to_json())) == str(result)


def test_json_is_strict_and_says_why_a_number_is_missing():
    result = Result([row(math.nan, undefined="one rating"), row(math.inf, low=-math.inf, high=math.inf)])
    text = result.to_json()
    document = json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is no JSON"))
    assert document["schema"] == SCHEMA
    first, second = document["results"]["raters"]["rows"]
    assert first["estimate"] is None
    assert first["undefined"] == "one rating"
    assert (second["estimate"], second["low"], second["high"]) == ("inf", "-inf", "inf")
    assert "low" not in first  # what a row does not have is left out


def test_json_keeps_settings_and_findings():
    reference = {"analysis": "raters", "rater": "R1", "statistic": "mean"}
    finding = Finding("x", "Is it?", "warn", "It is “so” < & >.", "Mend it.", "fluency", [reference], "Brennan 2001")
    made = Result([row()], {"raters": {"confidence": 0.95, "seed": 0}, "design": {}}, [finding])
    back = Result.from_json(made.to_json())
    assert back == made
    assert back.settings == made.settings
    assert back.findings[0] == finding
    assert back.analyses == ["raters", "design"]


def test_a_finding_that_points_at_an_unbounded_row_still_does_after_json():
    unbounded = Row("decision", {"estimator": "anova", "at_items": math.inf}, "raters_needed", math.inf)
    reference = {"analysis": "decision", "at_items": math.inf, "statistic": "raters_needed"}
    back = Result.from_json(Result([unbounded], {}, [Finding("x", "?", "pass", "s", rows=[reference])]).to_json())
    found = dict(back.findings[0].rows[0])
    assert found["at_items"] == math.inf
    assert back.select("decision", "raters_needed", {"at_items": found["at_items"]})


def test_json_goes_to_a_file_and_comes_back(tmp_path):
    path = tmp_path / "results.json"
    result = Result([row(1 / 3)])
    text = result.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    assert Result.from_json(path) == result


def test_numpy_numbers_become_plain_ones():
    made = row(np.float64(0.25), n_items=np.int64(3), p=np.float32(0.5))
    assert json.loads(Result([made]).to_json())["results"]["raters"]["rows"][0]["n_items"] == 3
    assert Result.from_json(Result([made]).to_json()).rows[0].p == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", SCHEMA),
        ("null", SCHEMA),
        ("{}", SCHEMA),
        ('{"schema": "measurand/results/0"}', "'measurand/results/0'; this version reads 'measurand/results/1'"),
        (f'{{"schema": "{SCHEMA}"}}', "results"),
        (
            f'{{"schema": "{SCHEMA}", "results": {{"nonsense": {{"settings": {{}}, "rows": []}}}}, "findings": []}}',
            "nonsense",
        ),
        (
            f'{{"schema": "{SCHEMA}", "results": {{"design": {{"settings": {{}}, "rows": [{{"estimate": 1}}]}}}}, '
            '"findings": []}',
            "criterion",
        ),
    ],
)
def test_what_is_no_result_is_refused_in_words(text, said):
    with pytest.raises(MeasurandError, match=said):
        Result.from_json(text)


def test_a_missing_number_without_a_reason_in_json_is_refused():
    text = Result([row(math.nan, undefined="one rating")]).to_json().replace(', "undefined": "one rating"', "")
    with pytest.raises(MeasurandError, match="NaN without a reason"):
        Result.from_json(text)


def test_nan_without_a_reason_is_refused():
    with pytest.raises(MeasurandError, match="NaN without a reason"):
        row(math.nan)


def test_a_key_that_the_analysis_does_not_have_is_refused():
    with pytest.raises(MeasurandError, match="colour"):
        Row("raters", {"colour": "red"}, "mean", 1.0)


def test_an_analysis_that_does_not_exist_is_refused():
    with pytest.raises(MeasurandError, match="nonsense"):
        Row("nonsense", {}, "mean", 1.0)


def test_value_gives_the_only_number_and_refuses_a_choice():
    result = Result([row(1.0), Row("raters", {"rater": "R2"}, "mean", 2.0)])
    assert result.value("raters", "mean", {"rater": "R2"}) == 2.0
    with pytest.raises(MeasurandError, match="2 numbers fit raters mean"):
        result.value("raters", "mean")
    with pytest.raises(MeasurandError, match="0 numbers fit raters sd"):
        result.value("raters", "sd")


def test_two_intervals_of_one_estimate_are_one_value():
    result = Result([row(1.5, low=1.0, high=2.0, unit="item"), row(1.5, low=0.5, high=2.5, unit="item_cell")])
    assert result.value("raters", "mean") == 1.5
    assert len(result.select("raters", "mean")) == 2


def test_a_blank_key_and_a_key_left_out_are_the_same():
    result = Result([Row("raters", {"rater": "R1"}, "mean", 1.0)])
    assert result.value("raters", "mean", {"criterion": "", "rater": "R1"}) == 1.0


def test_one_analysis_alone_is_a_result_with_its_own_settings():
    result = Result([row(), Row("design", {}, "n_items", 3)], {"raters": {"a": 1}, "design": {}})
    assert result["raters"].analyses == ["raters"]
    assert result["raters"].settings == {"raters": {"a": 1}}
    assert len(result) == 2
    assert [one.statistic for one in result] == ["mean", "n_items"]
    with pytest.raises(MeasurandError, match="no analysis 'pairs' here; there are raters, design"):
        result["pairs"]


def test_results_add_up_in_order():
    left = Result([row()], {"raters": {}}, [Finding("a", "?", "pass", "s")])
    right = Result([Row("design", {}, "n_items", 3)], {"design": {}}, [Finding("b", "?", "fail", "s")])
    both = left + right
    assert both.analyses == ["raters", "design"]
    assert [finding.id for finding in both.findings] == ["a", "b"]


def test_equality_looks_at_every_number():
    assert Result([row(1.0)]) == Result([row(1.0)])
    assert Result([row(1.0)]) != Result([row(math.nextafter(1.0, 2.0))])
    assert Result([row(1.0)]) != "a result"


def test_frame_of_one_analysis_has_its_keys_then_the_common_columns():
    result = Result([row(0.5, low=0.1, p=0.01), Row("design", {}, "n_items", 3)])
    frame = result.to_frame("raters")
    assert list(frame.columns) == ["criterion", "rater", *COLUMNS]
    assert frame["estimate"].tolist() == [0.5]
    for column in ("low", "high", "p", "n_items", "attainable_p"):
        assert pd.api.types.is_numeric_dtype(frame[column]), column


def test_frame_of_all_has_the_analysis_in_front_and_every_key_once():
    pair = Row("pairs", {"system_a": "S1"}, "difference", 1.0, extra={"same_sign_all_raters": True})
    frame = Result([row(), pair]).to_frame()
    assert list(frame.columns)[:3] == ["analysis", "criterion", "rater"]
    assert list(frame.columns)[-1] == "same_sign_all_raters"
    assert frame["analysis"].tolist() == ["raters", "pairs"]
    assert bool(frame["same_sign_all_raters"].iloc[1]) is True
    assert frame["system_a"].tolist() == ["", "S1"]


def test_every_column_of_a_frame_has_a_name_of_its_own():
    pair = Row("pairs", {"system_a": "S1", "unit": "rater"}, "difference", 1.0, unit="rater")
    result = Result([row(1.0, unit="item"), pair])
    for frame in (result.to_frame(), result.to_frame("pairs")):
        assert frame.columns.is_unique, sorted(frame.columns[frame.columns.duplicated()])
    assert result.to_frame()["unit"].tolist() == ["item", "rater"]


def test_frame_of_an_analysis_without_rows_has_its_columns():
    frame = Result([], {"pairs": {}}).to_frame("pairs")
    assert len(frame) == 0
    others = [column for column in COLUMNS if column not in KEYS["pairs"]]
    assert list(frame.columns) == [*KEYS["pairs"], *others, "same_sign_all_raters"]


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        (None, None, "–"),
        (math.nan, None, "–"),
        (math.inf, None, "∞"),
        (-math.inf, None, "−∞"),
        (3.0, None, "3"),
        (-3.0, None, "−3"),
        (0.0, None, "0"),
        (6960.0, None, "6,960"),
        (0.336123, 0.62, "0.34"),
        (0.336123, 0.062, "0.336"),
        (3.0, 0.62, "3.00"),
        (26.2, None, "26.2"),
        (26.2, math.inf, "26.2"),
        (26.2, 0.0, "26.2"),
        (1234.5678, None, "1,235"),
        (9999.4, None, "9,999"),
        (9999.96, None, "10,000"),
        (12345.678, None, "12,346"),
        (0.000012, None, "1.2e−05"),
        (-0.5, 0.3, "−0.50"),
    ],
)
def test_numbers_are_shown_with_digits_that_fit(value, width, shown):
    assert show_number(value, width=width) == shown


@given(any_float, st.one_of(st.none(), st.floats(0, allow_nan=False)))
def test_no_number_is_shown_as_an_exponent_that_a_reader_must_decode(value, width):
    shown = show_number(value, width=width)
    assert shown
    assert "nan" not in shown
    if abs(value) >= 1e-4:
        assert "e" not in shown


def test_interval_is_blank_without_both_ends():
    assert show_interval(row(1.0, low=0.5)) == ""
    assert show_interval(row(1.0, low=0.5, high=1.5)) == "[0.5, 1.5]"
    assert show_interval(row(1.0, low=8.0, high=math.inf)) == "[8, ∞]"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.008084, 0.02955, "0.007"),  # beside its interval: as many digits as the limits
        (0.001, 0.002, "0.0075"),
        (1e-9, 2e-9, "0.007487"),  # far from a narrow one: no endless zeros
        (0.0074, 0.0074, "0.007487"),
    ],
)
def test_an_estimate_outside_its_interval_has_the_digits_of_the_limits(low, high, shown):
    assert show_estimate(Row("contrasts", {"contrast": "fit"}, "difference", 0.007487, low=low, high=high)) == shown


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (-0.46, -7.2, 6.3, "−0.5 [−7, 6]"),
        (0.0036, -0.4, 0.41, "0.004 [−0.40, 0.41]"),
        (0.04, -0.4, 0.41, "0.04 [−0.40, 0.41]"),
        (0.0, -0.4, 0.41, "0.00 [−0.40, 0.41]"),
        (-1e-16, -0.4, 0.41, "0.00 [−0.40, 0.41]"),
        (0.3, -3000.0, 2900.0, "0.3 [−3,000, 2,900]"),
    ],
)
def test_a_wide_interval_rounds_no_estimate_to_0(value, low, high, shown):
    one = Row("contrasts", {"contrast": "fit"}, "difference", value, low=low, high=high)
    assert f"{show_estimate(one)} {show_interval(one)}" == shown


def test_a_number_that_is_undefined_is_refused_with_its_reason_and_not_a_silent_nan():
    keys = {"criterion": "", "at_items": 2, "at_raters": 2}
    result = Result(
        [
            Row("generalizability", keys | {"estimator": "anova"}, "g", math.nan, undefined="cells are missing"),
            Row("generalizability", keys | {"estimator": "henderson"}, "g", 0.5),
        ]
    )
    with pytest.raises(MeasurandError, match=r"undefined: cells are missing; its keys: estimator is anova, henderson"):
        result.value("generalizability", "g", {"estimator": "anova"})
    assert result.value("generalizability", "g", {"estimator": "henderson"}) == 0.5
