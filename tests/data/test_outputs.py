import gzip
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.outputs import COUNTS, as_outputs, read_outputs
from measurand.result import MeasurandError


def table(**columns):
    return pd.DataFrame({"item": ["a", "a", "b"], "system": ["x", "y", "x"], "text": ["1", "2", "3"]} | columns)


# --- What is read -----------------------------------------------------------------------------------------------------


def test_the_columns_are_read_by_their_names():
    found = read_outputs(table(label=["joy", "joy", "fear"], language="en", prompt_tokens=[5, None, 7]))
    assert list(found.frame.columns) == ["item", "system", "text", "label", "language", "prompt_tokens"]
    assert found.frame["prompt_tokens"].isna().tolist() == [False, True, False]
    assert found.columns["label"] == "label"
    assert found.systems == ["x", "y"]
    assert found.languages == ["en"]
    assert len(found) == 3


def test_other_names_are_mapped():
    frame = table().set_axis(["id", "model", "reply"], axis=1)
    found = read_outputs(frame, item="id", system="model", text="reply")
    assert found.frame.equals(read_outputs(table()).frame)
    assert found.columns == {"item": "id", "system": "model", "text": "reply"}


def test_ids_are_text_and_in_natural_order():
    frame = pd.DataFrame({"item": ["00", "0", "20241031124050492385"], "system": ["S10", "S9", "S1"], "text": "."})
    found = read_outputs(frame)
    assert found.frame["item"].tolist() == ["00", "0", "20241031124050492385"]
    assert found.systems == ["S1", "S9", "S10"]


def test_without_a_column_of_systems_there_is_one_that_has_no_name():
    found = read_outputs(pd.DataFrame({"item": [1, 2], "length": [3, 0]}))
    assert found.systems == [""]
    assert found.languages == [""]
    assert "text" not in found
    assert found.frame["length"].tolist() == [3.0, 0.0]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "csv.gz"])
def test_a_file_reads_as_the_frame_does(tmp_path, suffix):
    frame = table(text=["a,\t“b”", "=cmd()", "👩‍👧\nline"], label=["NA", "NA", "02"])
    path = tmp_path / f"outputs.{suffix}"
    if suffix == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")), encoding="utf-8")
    else:
        text = frame.to_csv(index=False, sep="\t" if suffix == "tsv" else ",")
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert read_outputs(path).frame.equals(read_outputs(frame).frame)


def test_blank_cells_stay_blank_and_words_for_nothing_stay_words():
    found = read_outputs(table(text=[None, "", "NA"], label=[" joy ", "joy", None], length=[None, " ", 2]))
    assert found.frame["text"].tolist() == ["", "", "NA"]
    assert found.frame["label"].tolist() == ["joy", "joy", ""]
    assert found.frame["length"].isna().tolist() == [True, True, False]


def test_one_system_and_one_language_can_be_taken_out():
    found = read_outputs(table(language=["en", "en", "bn"]))
    assert found.of(system="x")["item"].tolist() == ["a", "b"]
    assert found.of(language="en")["system"].tolist() == ["x", "y"]
    assert found.of(system="x", language="bn")["text"].tolist() == ["3"]
    assert len(found.of(system="z")) == 0


def test_what_is_checked_already_passes_through():
    found = read_outputs(table())
    assert as_outputs(found) is found
    assert as_outputs(table()).frame.equals(found.frame)


# --- What is left out -------------------------------------------------------------------------------------------------


def test_controls_and_later_repeats_are_left_out_and_counted():
    frame = pd.DataFrame(
        {
            "item": ["a", "a", "a", "b"],
            "system": "x",
            "text": ["second", "first", "of a control", "only"],
            "repeat": [2, 1, 1, 1],
            "control": ["", None, "shuffled", " "],
        }
    )
    found = read_outputs(frame)
    assert found.frame["text"].tolist() == ["first", "only"]
    assert (found.n_controls, found.n_repeats) == (1, 1)


def test_items_with_several_labels_are_left_out_where_a_separator_is_named():
    frame = table(label=["joy|fear", "joy|fear", "joy"])
    found = read_outputs(frame, label_separator="|")
    assert found.frame["item"].tolist() == ["b"]
    assert found.n_many_labels == 1
    assert read_outputs(frame).frame["label"].tolist() == ["joy|fear", "joy|fear", "joy"]


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (table().drop(columns="item"), {}, r"no column 'item'; .*Name the right one item=…"),
        (table().drop(columns="text"), {}, r"no column 'text' and none 'length'"),
        (table(), {"label": "emotion"}, r"no column 'emotion' for label; the table has 'item'"),
        (table(), {"label": "text"}, r"'text' is named both as text and as label"),
        (table(length=[1, -1, 2]), {}, r"'length' has '-1.*' at data row 2; give a number of 0 or more"),
        (table(length=["1", "two", "3"]), {}, r"'two' at data row 2"),
        (table(length=[1, float("inf"), 2]), {}, r"'inf' at data row 2"),
        (table(prompt_tokens=[1, 2, 2.5]), {}, r"'2.5' at data row 3; give a whole number"),
        (table(system=["x", "x", "x"]), {}, r'item "a" has two outputs of system "x" \(data row 2 is the second\)'),
        (
            table().drop(columns="system"),
            {},
            r'no column "system", and item "a" has two outputs \(data row 2 is the second\); name .* system=…',
        ),
        (table(label=["joy", "fear", "joy"]), {}, r"item \"a\" has the label 'joy' and, at data row 2, 'fear'"),
        (table(language=["en", "bn", "en"]), {}, r"has the language 'en' and"),
        (table(group=["g", "", "g"]), {}, r"has the group 'g' and"),
        (table(item=["a", None, "b"]), {}, r"'item' is blank in data row 2"),
        (table(system=["x", "", "x"]), {}, r"'system' is blank in data row 2"),
        (table(control=["blank"] * 3), {}, r"all 3 rows are outputs to controls"),
        (table(label=["a|b"] * 3), {"label_separator": "|"}, r"every item has several labels, with '\|'"),
        (table().head(0), {}, r"no rows"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(frame, options, message):
    with pytest.raises(MeasurandError, match=message):
        read_outputs(frame, **options)


def test_a_row_is_named_by_its_place_in_the_whole_table():
    frame = table(length=[1, 2, "x"], control=["blank", "", ""])
    with pytest.raises(MeasurandError, match="data row 3"):
        read_outputs(frame)


@pytest.mark.parametrize("column", COUNTS)
def test_each_count_is_whole_and_may_be_blank(column):
    assert read_outputs(table(**{column: [0, None, "12"]})).frame[column].tolist()[::2] == [0.0, 12.0]
    with pytest.raises(MeasurandError, match=column):
        read_outputs(table(**{column: [0.5, 1, 1]}))


@given(st.lists(st.text(max_size=12), min_size=1, max_size=8))
def test_any_text_comes_through_as_it_is(texts):
    frame = pd.DataFrame({"item": range(len(texts)), "text": texts})
    assert read_outputs(frame).frame["text"].tolist() == texts


def test_published_outputs_are_complete(shared):
    found = read_outputs(shared / "data" / "emoji_outputs" / "outputs.csv.gz")
    assert len(found) == 20156
    assert len(found.systems) == 4
    assert found.frame["item"].nunique() == 5039
    assert found.frame["label"].nunique() == 6
