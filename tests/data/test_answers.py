import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers
from measurand.data.answers import ANSWERED, STATUSES
from measurand.data.items import read_items, read_systems
from measurand.result import MeasurandError


def table(**columns):
    """Two answers of one system to two items; further columns, or others in their place."""
    frame = {"system": ["S", "S"], "item": ["a", "b"], "answer": [0.25, 3]}
    return pd.DataFrame(frame | columns)


def refusal(source, **settings):
    with pytest.raises(MeasurandError) as caught:
        read_answers(source, **settings)
    return str(caught.value)


# --- What is read -----------------------------------------------------------------------------------------------------


def test_system_item_and_answer_are_enough():
    found = read_answers(table())
    assert found.frame["answer"].tolist() == [0.25, 3]
    assert found.frame["status"].tolist() == ["ok", "ok"]
    assert found.criteria == [""]
    assert (len(found), found.systems, found.n_ignored, found.are_labels) == (2, ["S"], 0, False)


def test_ids_are_text_in_natural_order_and_other_columns_are_kept():
    frame = table(system=["S10", "S2"], item=["00", "0"], criterion=["fear", "awe"], batch=[7, 8])
    found = read_answers(frame)
    assert found.systems == ["S2", "S10"]
    assert found.frame["item"].tolist() == ["00", "0"]
    assert found.criteria == ["awe", "fear"]
    assert found.frame["batch"].tolist() == [7, 8]


def test_columns_may_have_names_of_their_own():
    frame = table().rename(columns={"system": "model", "item": "image", "answer": "p_yes"})
    found = read_answers(frame, system="model", item="image", answer="p_yes")
    assert found.frame["answer"].tolist() == [0.25, 3]
    assert (found.columns["system"], found.columns["criterion"]) == ("model", None)


def test_the_table_that_was_given_is_left_as_it_was():
    frame = table(status=["ok", "invalid"])
    before = frame.copy()
    read_answers(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_files_and_frames_read_alike(tmp_path):
    frame = table(criterion=["x", "x"], phrasing=["", "v2"], log_odds=[-1.0, 2.0])
    path = tmp_path / "answers.csv"
    frame.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_answers(path).frame, read_answers(frame).frame)


# --- Statuses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [one for one in STATUSES if one not in ANSWERED])
def test_a_reply_that_failed_has_no_answer_whatever_value_stands_there(status):
    """T30, T33, T35: a reply that could not be read was scored 0; here a 0 beside a failed status is no answer."""
    found = read_answers(table(answer=[0, 0], status=["ok", status]))
    assert found.frame["answer"].iloc[0] == 0
    assert np.isnan(found.frame["answer"].iloc[1])
    assert found.is_answered.tolist() == [True, False]
    assert found.n_ignored == 1


def test_a_repaired_answer_counts_and_is_told_apart():
    """T40: repairs are tolerated, and counted separately."""
    found = read_answers(table(status=["repaired", " OK "]))
    assert found.frame["status"].tolist() == ["repaired", "ok"]
    assert found.is_answered.all()


@pytest.mark.parametrize("blank", ["", None, np.nan, "N/A", "nan"])
def test_a_blank_answer_without_a_status_was_not_returned(blank):
    """T33: never a 0."""
    found = read_answers(table(answer=["1", blank]))
    assert found.frame["status"].tolist() == ["ok", "not_returned"]
    assert np.isnan(found.frame["answer"].iloc[1])


def test_an_unknown_status_is_refused_with_those_allowed():
    text = refusal(table(status=["ok", "failed"]))
    assert "status 'failed' in column 'status' at data row 2" in text
    assert ", ".join(STATUSES) in text


def test_a_status_that_promises_an_answer_needs_one():
    text = refusal(table(answer=["1", ""], status=["ok", "repaired"]))
    assert "data row 2 has status 'repaired' but no answer" in text
    assert "invalid, refused, truncated" in text


# --- Answers ----------------------------------------------------------------------------------------------------------


def test_text_that_is_no_number_is_refused_with_row_column_and_value():
    """T34: the first number in prose was taken."""
    text = refusal(table(answer=["0.5", "about 3"]))
    assert "'about 3' in column 'answer' at data row 2 is not a number" in text
    assert "missing='about 3'" in text
    assert "status" in text


def test_answers_may_have_decimal_commas_and_texts_that_stand_for_none():
    frame = table(answer=["0,25", "k.A."], mass=["0,5", "-"])
    read = read_answers(frame, decimal=",", missing=["k.a.", "-"]).frame
    assert read["answer"].tolist()[0] == 0.25
    assert read["status"].tolist() == ["ok", "not_returned"]
    assert read["mass"].tolist()[0] == 0.5
    with pytest.raises(MeasurandError, match=r"'0\.5' at data row 2 has a decimal point"):
        read_answers(table(answer=["0,25", "0.5"]), decimal=",")


@pytest.mark.parametrize("answer", [[0.5, np.inf], ["0.5", "inf"]])
def test_an_infinite_answer_is_refused(answer):
    text = refusal(table(answer=answer))
    assert "data row 2" in text
    assert "inf" in text


def test_answers_may_be_labels_of_their_criterions_scale():
    scale = {"x": Scale(labels=("none", "some", "much")), "y": Scale(0, 7, step=1)}
    frame = pd.DataFrame(
        {"system": "S", "item": ["a", "b", "a"], "criterion": ["x", "x", "y"], "answer": ["much", "none", "4"]}
    )
    values = read_answers(frame, scale=scale).frame["answer"].tolist()
    assert values == [scale["x"].convert("much"), scale["x"].convert("none"), 4]
    text = refusal(frame.assign(answer=["much", "lots", "4"]), scale=scale)
    assert "data row 2" in text
    assert "lots" in text


def test_names_of_classes_stay_text():
    found = read_answers(table(answer=[" fear ", ""], status=["ok", "refused"]), labels=True)
    assert found.are_labels
    assert found.frame["answer"].tolist() == ["fear", ""]


def test_a_label_that_looks_like_a_blank_is_a_label_if_the_scale_has_it():
    scale = {"": Scale(labels=("none", "some"))}
    found = read_answers(table(answer=["none", "some"]), scale=scale)
    assert found.frame["status"].tolist() == ["ok", "ok"]


# --- Columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["system", "item", "answer"])
def test_a_needed_column_that_is_absent_is_named(column):
    text = refusal(table().rename(columns={column: "other"}))
    assert f"no column '{column}'" in text
    assert f"for example {column}='other'" in text


def test_a_named_column_that_is_absent_is_refused_with_the_nearest():
    text = refusal(table(), answer="answr")
    assert "no column 'answr' for answer" in text
    assert "did you mean 'answer'?" in text


def test_a_blank_id_is_refused():
    assert "data row 2" in refusal(table(item=["a", ""]))


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("attempt", [1, "second"], "'second' at data row 2; give a whole number"),
        ("attempt", [1, 1.5], "1.5 at data row 2; give a whole number"),
        ("attempt", [1, None], "column 'attempt' is blank at data row 2"),
        ("mass", [0.5, "high"], "'high' at data row 2; give a number"),
        ("mass", [0.5, 1.1], "mass 1.1 at data row 2; the mass of all answers is a probability"),
        ("mass", [-0.1, 1], "mass -0.1 at data row 1"),
        ("log_odds", ["x", 1], "'x' at data row 1; give a number"),
    ],
)
def test_numbers_that_are_none_are_refused_with_row_and_value(column, values, said):
    assert said in refusal(table(**{column: values}))


def test_protocol_columns_are_text_and_blank_where_nothing_is_said():
    found = read_answers(table(prefill=["Answer:", None], control=[" blank ", ""]))
    assert found.frame["prefill"].tolist() == ["Answer:", ""]
    assert found.frame["control"].tolist() == ["blank", ""]


# --- Several answers to one question ----------------------------------------------------------------------------------


def again(**columns):
    return table(item=["a", "a"], **columns)


def test_two_answers_to_one_question_are_refused_with_both_rows():
    text = refusal(again())
    assert "1 question answered twice under one protocol: data rows 1 and 2" in text
    assert 'item "a"' in text
    assert "by repeats=… (first, last or mean)" in text


def test_a_column_that_tells_the_two_apart_is_suggested_as_the_protocol():
    """T39: a protocol that differs must be visible."""
    assert "Column 'prompt' tells them apart: if it is the protocol, call it protocol." in refusal(
        again(prompt=["x", "y"])
    )


@pytest.mark.parametrize(
    ("column", "values"), [("phrasing", ["v1", "v2"]), ("attempt", [1, 2]), ("control", ["", "blank"])]
)
def test_answers_under_two_protocols_are_no_repeats(column, values):
    assert len(read_answers(again(**{column: values}))) == 2


@pytest.mark.parametrize(("repeats", "expected"), [("first", 0.25), ("last", 3), ("mean", 1.625)])
def test_repeats_count_as_the_user_says(repeats, expected):
    found = read_answers(again(), repeats=repeats)
    assert found.frame["answer"].tolist() == [expected]


@pytest.mark.parametrize("repeats", ["first", "last", "mean"])
def test_a_repeat_that_failed_does_not_take_the_place_of_one_that_answered(repeats):
    """T36: a parse error was never asked again, nor told."""
    for status, expected in ((["invalid", "ok"], 3), (["ok", "refused"], 0.25)):
        found = read_answers(again(status=status), repeats=repeats)
        assert found.frame["answer"].tolist() == [expected]
        assert found.frame["status"].tolist() == ["ok"]


def test_the_mean_of_repeats_holds_for_log_odds_and_mass_too():
    found = read_answers(again(log_odds=[1, 2], mass=[0.5, 0.7]), repeats="mean")
    assert found.frame[["log_odds", "mass"]].to_numpy().tolist() == [[1.5, 0.6]]


def test_classes_have_no_mean():
    assert "by repeats=… (first or last)" in refusal(again(answer=["x", "y"]), labels=True, repeats="mean")
    assert "repeats 'median'; allowed are refuse, first, last, mean" in refusal(again(), repeats="median")


# --- Items and systems ------------------------------------------------------------------------------------------------


def test_items_have_labels_and_groups_and_keep_what_else_they_have():
    found = read_items(
        pd.DataFrame({"image": [1, 2], "person": ["p", "q"], "age": [30, 40]}), item="image", group="person"
    )
    assert found.columns.tolist() == ["item", "group", "age"]
    assert found["item"].tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("frame", "settings", "said"),
    [
        ({"image": [1]}, {}, "no column 'item' for item; the table has 'image'"),
        ({"item": [1]}, {"label": "gold"}, "no column 'gold' for label"),
        ({"item": [1, 2, 1]}, {}, 'item "1" occurs twice (again at data row 3)'),
        ({"item": [1, 2], "label": ["x", ""]}, {}, "data row 2"),
    ],
)
def test_items_that_do_not_tell_each_item_once_are_refused(frame, settings, said):
    with pytest.raises(MeasurandError) as caught:
        read_items(pd.DataFrame(frame), **settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"name": ["S"]}, "no column 'system'"),
        ({"system": ["S", "S"]}, 'system "S" occurs twice'),
        ({"system": ["S", "T"], "parameters": [1e9, 0]}, "0 parameters at data row 2; give a positive number"),
        ({"system": ["S"], "parameters": ["4 B"]}, "'4 B' at data row 1; give a number"),
    ],
)
def test_systems_that_make_no_sense_are_refused(frame, said):
    with pytest.raises(MeasurandError) as caught:
        read_systems(pd.DataFrame(frame))
    assert said in str(caught.value)
