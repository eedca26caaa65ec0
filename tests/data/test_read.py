import gzip
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measurand.data import read_ratings
from measurand.data.read import read_table
from measurand.result import MeasurandError
from strategies import ids

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

IDS = ["00000", "20241031124050492385", "1e5", "1.0", "TRUE", "NA", "nan", "2024-01-02", "é", "-0", "=1+1", "null"]
TABLE = pd.DataFrame({"item": IDS, "rater": ["R1"] * len(IDS), "rating": ["3"] * len(IDS)})
HEADER = "item,rater,rating\n"


def write_jsonl(frame, path):
    lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
    path.write_text(lines, encoding="utf-8")


def write_gz(write):
    def written(frame, path):
        plain = path.with_suffix("")
        write(frame, plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))

    return written


def write_csv(frame, path):
    frame.to_csv(path, index=False)


def write_tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")


def write_parquet(frame, path):
    frame.to_parquet(path)


FORMS = {
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".tab": write_tsv,
    ".jsonl": write_jsonl,
    ".ndjson": write_jsonl,
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".csv.gz": write_gz(write_csv),
    ".tsv.gz": write_gz(write_tsv),
    ".jsonl.gz": write_gz(write_jsonl),
    ".CSV": write_csv,
}


@pytest.mark.parametrize("suffix", FORMS)
def test_ids_stay_text_in_every_file(suffix, tmp_path):
    path = tmp_path / f"ratings{suffix}"
    FORMS[suffix](TABLE, path)
    read = read_ratings(path)
    assert read.frame["item"].astype(object).tolist() == IDS
    assert read.frame["rating"].tolist() == [3.0] * len(IDS)


def test_ids_of_digits_in_json_stay_as_they_are_spelled(tmp_path):
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"item": 20241031124050492385, "rater": 1.0, "rating": 10}\n', encoding="utf-8")
    frame = read_ratings(path).frame
    assert frame["item"].astype(object).tolist() == ["20241031124050492385"]
    assert frame["rater"].astype(object).tolist() == ["1.0"]


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(TABLE, id="pandas"),
        pytest.param(TABLE.astype("string"), id="pandas-string"),
        pytest.param(TABLE.astype("category"), id="pandas-category"),
        pytest.param(TABLE.astype(object), id="pandas-object"),
        pytest.param(polars.DataFrame(TABLE.to_dict("list")), id="polars"),
        pytest.param(polars.DataFrame(TABLE.to_dict("list")).lazy(), id="polars-lazy"),
        pytest.param(polars.DataFrame(TABLE.to_dict("list")).cast(polars.Categorical), id="polars-categorical"),
        pytest.param(pyarrow.table(TABLE.to_dict("list")), id="arrow"),
    ],
)
def test_ids_stay_text_in_every_frame(frame):
    read = read_ratings(frame).frame
    assert read["item"].astype(object).tolist() == IDS
    assert read["rating"].tolist() == [3.0] * len(IDS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(names=st.lists(ids, min_size=1, max_size=6, unique=True), suffix=st.sampled_from([".csv", ".tsv", ".jsonl"]))
def test_any_id_survives_a_file(names, suffix, tmp_path):
    path = tmp_path / f"ratings{suffix}"
    FORMS[suffix](pd.DataFrame({"item": names, "rater": "R1", "rating": "1"}), path)
    assert read_ratings(path).frame["item"].astype(object).tolist() == names


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"item": [7, 2**60 + 1]}), polars.DataFrame({"item": [7, 2**60 + 1]})], ids=["pd", "pl"]
)
def test_ids_that_are_whole_numbers_are_spelled_in_full(frame):
    frame = pd.DataFrame({"item": frame["item"].to_numpy(), "rater": "R1", "rating": 1})
    assert read_ratings(frame).frame["item"].astype(object).tolist() == ["7", str(2**60 + 1)]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + "a,R1,1\n").encode())
    assert len(read_ratings(path)) == 1


def test_windows_line_ends_and_quoted_cells(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b'item,rater,rating\r\n"a, ""b""\r\nc",R1,1\r\nd,R1,2\r\n')
    assert read_ratings(path).frame["item"].astype(object).tolist() == ['a, "b"\r\nc', "d"]


def test_the_index_of_a_saved_frame_is_kept_under_a_name_of_its_own(tmp_path):
    path = tmp_path / "ratings.csv"
    pd.DataFrame({"item": ["a"], "rater": ["R1"], "rating": [1]}).to_csv(path)
    frame = read_table(path)
    assert frame["column_1"].tolist() == ["0"]
    assert read_ratings(path).frame["rating"].tolist() == [1.0]


def test_blank_lines_between_rows_are_no_rows(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "a,R1,1\n\nb,R1,2\n", encoding="utf-8")
    read = read_ratings(path)
    assert len(read) == 2
    assert read.n_blank == {"": 0}


GZIP = gzip.compress((HEADER + "".join(f"a{i},R1,{i % 5}\n" for i in range(1000))).encode())
BROKEN = bytearray(GZIP)
BROKEN[200] ^= 255

LONG = (
    r"data row 2 \(the header not counted; line 4 of the file\) has 4 cells, the header has 3 \('item', 'rater', "
    r"'rating'\); the row is 'b', 'R1', '2', '3'\. Quote the cell that contains a comma, or take the extra cell out"
)
#: name of the file, its bytes, what the message must say
BAD_FILES = {
    "empty": ("r.csv", b"", "empty"),
    "white": ("r.csv", b"\n\n", "empty"),
    "header only": ("r.csv", HEADER.encode(), "no rows; expected a header and at least one row below it"),
    "latin-1": ("r.csv", (HEADER + "é,R1,1\n").encode("latin-1"), "byte 0xe9 is not UTF-8; save the file as UTF-8"),
    "late latin-1": ("r.csv", (HEADER + "a,R1,1\n" * 9000 + "é,R1,1\n").encode("latin-1"), "byte 0xe9 is not UTF-8"),
    "UTF-16": ("r.csv", (HEADER + "a,R1,1\n").encode("utf-16"), "not UTF-8"),
    "UTF-16 without mark": ("r.csv", (HEADER + "a,R1,1\n").encode("utf-16-le"), "NUL"),
    "NUL in the header": ("r.csv", b"it\0em,rater,rating\na,R1,1\n", "NUL"),
    "NUL in an id": ("r.csv", (HEADER + "a\0b,R1,1\n").encode(), "NUL"),
    "NUL in a rating": ("r.csv", (HEADER + "a,R1,1\0\n").encode(), "NUL"),
    "all NUL": ("r.csv", bytes(64), "NUL"),
    "one column": ("r.csv", b"item\na\n", "one column only, 'item'"),
    "semicolons": (
        "r.csv",
        b"item;rater;rating\na;R1;1,5\n",
        "semicolons: if they stand between the cells, say so, delimiter=';'",
    ),
    "semicolons and a comma in a name": (
        "r.csv",
        b"item;system;M, Anna\na;S;3,5\n",
        "more semicolons .2. than commas .1.; if semicolons stand .* delimiter=';'",
    ),
    "semicolons and a quoted name": ("r.csv", b'item;system;"M, Anna"\na;S;3\n', "say so, delimiter=';'"),
    "tabs in csv": ("r.csv", b"item\trater\trating\na\tR1\t1\n", "tabs: .*delimiter='tab'"),
    "commas in tsv": ("r.tsv", (HEADER + "a,R1,1\n").encode(), "commas: .*delimiter=','"),
    "long row": ("r.csv", (HEADER + "a,R1,1\n\nb,R1,2,3\n").encode(), LONG),
    "long first row": ("r.csv", (HEADER + "a,R1,1,9\n").encode(), r"data row 1 \(.*; line 2 .*4 cells"),
    "two lines in a cell": (
        "r.csv",
        (HEADER + '"a\nb",R1,1\nc,R1,1,2\n').encode(),
        "data row 2 .*; line 4 of the file",
    ),
    "comma in a cell": ("r.tsv", b"item\trater\trating\na\tR\t1\t1\n", "Quote the cell that contains a tab"),
    "short row": (
        "r.csv",
        (HEADER + "a,R1,1\nb,R1\nc,R1,2\n").encode(),
        r"data row 2 .*has 2 cells, the header has 3 \('item'.*is 'b', 'R1'",
    ),
    "cut off": ("r.csv", (HEADER + "a,R1,1\nb,R").encode(), "data row 2 .*copy the file again if it was cut off"),
    "open quote": ("r.csv", (HEADER + 'a,"R1,1\nb,R1,2\n').encode(), "data row 1 .*close the quote that was left open"),
    "open quote in the header": ("r.csv", ('"' + HEADER + "a,R1,1\n" * 30_000).encode(), "quote"),
    "column twice": ("r.csv", b"item,rater,rating,rating\na,R1,1,2\n", "column 'rating' occurs twice"),
    "no gzip": ("r.csv.gz", (HEADER + "a,R1,1\n").encode(), "not a complete gzip file"),
    "cut gzip": ("r.csv.gz", GZIP[: len(GZIP) // 2], "not a complete gzip file"),
    "broken gzip": ("r.csv.gz", bytes(BROKEN), "not a complete gzip file"),
    "broken gzip of json": ("r.jsonl.gz", bytes(BROKEN), "not a complete gzip file"),
    "no parquet": ("r.parquet", (HEADER + "a,R1,1\n").encode(), "not a readable Parquet file"),
    "empty parquet": ("r.parquet", b"", "not a readable Parquet file"),
    "unknown suffix": ("r.dat", b"PK", r"the suffix '\.dat' is not known; give \.csv, \.tsv, \.jsonl or \.parquet"),
    "workbook": (
        "r.xlsx",
        b"PK",
        r"is a workbook; save its sheet .*: CSV UTF-8 \(\.csv\)\. .*delimiter=';', decimal=','",
    ),
    "json array": ("r.json", b"[]", r"the suffix '\.json' is not known"),
    "no suffix": ("ratings", HEADER.encode(), "has no suffix|the suffix is missing"),
    "empty json": ("r.jsonl", b"", "no rows"),
    "bad json": ("r.jsonl", b'{"item": "a", "rater": "R1", "rating": 1}\n{"item": \n', "line 2 is not JSON"),
    "list in json": ("r.jsonl", b"[1, 2]\n", "line 1 is a list; expected one object a line"),
    "nested json": ("r.jsonl", b'{"item": {"id": 1}, "rater": "R1", "rating": 1}\n', "line 1"),
    "list as rating": ("r.jsonl", b'{"item": "a", "rater": "R1", "rating": [1, 2]}\n', "line 1"),
    "key twice": ("r.jsonl", b'{"item": "a", "rater": "R1", "rating": 1, "rating": 5}\n', "line 1.*'rating'.*twice"),
    "half a character": ("r.jsonl", b'{"item": "\\ud83d", "rater": "R1", "rating": 1}\n', "line 1"),
    "deep json": ("r.jsonl", b"[" * 100_000, "line 1"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_with_its_name_and_what_to_do(case, tmp_path):
    name, content, said = BAD_FILES[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(MeasurandError, match=said) as caught:
        read_ratings(path)
    assert str(path) in str(caught.value)
    assert "\0" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(MeasurandError, match=re.escape(f"{tmp_path / 'absent.csv'}: no such file")):
        read_ratings(tmp_path / "absent.csv")
    with pytest.raises(MeasurandError, match=re.escape(f"{tmp_path} is a folder")):
        read_ratings(str(tmp_path))


def test_a_name_that_is_too_long_for_a_file_is_refused():
    with pytest.raises(MeasurandError):
        read_ratings("a" * 5000 + ".csv")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_without_permission_is_refused(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "a,R1,1\n", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(MeasurandError, match="cannot be read"):
        read_ratings(path)


def test_ids_of_any_length_are_read(tmp_path):
    path = tmp_path / "ratings.csv"
    digits = ["9" * 5000, "1" + "0" * 5000, "2"]
    path.write_text(HEADER + "".join(f"{name},R1,1\n" for name in digits), encoding="utf-8")
    assert list(read_ratings(path).frame["item"].cat.categories) == ["2", digits[0], digits[1]]
    path = tmp_path / "ratings.jsonl"
    path.write_text("".join(f'{{"item": {n}, "rater": "R1", "rating": 1}}\n' for n in digits), encoding="utf-8")
    assert list(read_ratings(path).frame["item"].cat.categories) == ["2", digits[0], digits[1]]


@pytest.mark.parametrize("source", [None, 3, [1, 2], {"item": ["a"]}, np.ones((3, 3))], ids=lambda s: type(s).__name__)
def test_what_is_no_table_is_refused(source):
    with pytest.raises(MeasurandError, match=f"cannot read a {type(source).__name__}; give a path or a data frame"):
        read_ratings(source)


def test_a_frame_without_rows_or_with_a_column_twice_is_refused():
    with pytest.raises(MeasurandError, match="the data frame: no rows"):
        read_ratings(TABLE.iloc[:0])
    with pytest.raises(MeasurandError, match="the data frame: no rows"):
        read_ratings(pd.DataFrame())
    twice = pd.DataFrame([["a", "b", "R1", 1]], columns=["item", "item", "rater", "rating"])
    with pytest.raises(MeasurandError, match="column 'item' occurs twice"):
        read_ratings(twice)


def test_a_frame_is_not_changed_by_reading_it():
    frame = pd.DataFrame({"item": [2, 1], "rater": ["a", "b"], "rating": ["N/A", "2"], 7: [1, 2]}, index=[5, 5])
    before = frame.copy(deep=True)
    read_ratings(frame)
    pd.testing.assert_frame_equal(frame, before)
