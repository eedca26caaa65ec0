"""Vectors of items: every form of file comes out the same, nothing pickled is read, what is wrong is named."""

import io

import numpy as np
import pandas as pd
import pytest

from measurand import MeasurandError
from measurand.data.vectors import Vectors, read_vector_items, read_vectors

IDS = ("00001", "عنصر 😂", "=cmd()", "20241031124050492385")
VALUES = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 0.0], [3.0, 0.25]])


def same(found, dtype=np.float64, name="encoder"):
    assert found.name == name
    assert found.ids == IDS
    assert found.values.dtype == dtype
    assert np.asarray(found.values).tolist() == VALUES.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_archives_and_arrays_keep_their_precision(tmp_path, dtype):
    np.savez(tmp_path / "encoder.npz", vectors=VALUES.astype(dtype), ids=np.array(IDS))
    same(read_vectors(tmp_path / "encoder.npz"), dtype)
    np.save(tmp_path / "encoder.npy", VALUES.astype(dtype))
    same(read_vectors(tmp_path / "encoder.npy", ids=IDS), dtype)
    same(read_vectors(VALUES.astype(dtype), ids=np.array(IDS), name="encoder"), dtype)
    assert isinstance(read_vectors(tmp_path / "encoder.npy", ids=IDS).values, np.memmap)


@pytest.mark.parametrize("end", ["", "\n"])
def test_ids_stand_in_a_file_beside_an_array(tmp_path, end):
    np.save(tmp_path / "encoder.v1.npy", VALUES)
    (tmp_path / "encoder.v1.ids.txt").write_text("\n".join(IDS) + end, encoding="utf-8")
    same(read_vectors(tmp_path / "encoder.v1.npy"))
    (tmp_path / "encoder.v1.ids.txt").unlink()
    pd.DataFrame({"item": IDS}).to_csv(tmp_path / "encoder.v1.ids.csv", index=False)
    same(read_vectors(tmp_path / "encoder.v1.npy"))
    same(read_vectors(tmp_path / "encoder.v1.npy", ids=pd.DataFrame({"item": IDS, "label": "x"}), name="a"), name="a")


def test_tables_hold_a_list_in_a_cell_or_a_column_for_each_dimension(tmp_path):
    pytest.importorskip("pyarrow")
    lists = pd.DataFrame({"item": IDS, "vector": list(VALUES)})
    columns = pd.DataFrame(VALUES, columns=["d0", "d1"]).assign(item=IDS)
    for number, frame in enumerate((lists, columns)):
        frame.to_parquet(tmp_path / f"t{number}.parquet")
        same(read_vectors(tmp_path / f"t{number}.parquet", name="encoder"))
        same(read_vectors(frame, name="encoder"))
    whole = columns.assign(d0=[1, 0, 0, 3]).astype({"d0": int})[["item", "d0"]]
    assert read_vectors(whole).values.tolist() == [[1.0], [0.0], [0.0], [3.0]]


def test_whole_numbers_become_floating_point_ones():
    assert read_vectors(np.array([[1, -2]], dtype=np.int8), ids=["a"]).values.dtype == np.float64


def pickled(path):
    np.save(path, np.array([[{"a": 1}]], dtype=object), allow_pickle=True)


def pickled_ids(path):
    np.savez(path, vectors=VALUES, ids=np.array([*IDS[:3], None], dtype=object))


BROKEN = {
    "pickled array": ("v.npy", pickled, "Python objects, which are not read"),
    "pickled ids": ("v.npz", pickled_ids, "Python objects, which are not read"),
    "no ids": ("v.npy", lambda path: np.save(path, VALUES), r"no ids\. Give the items in a text file beside it"),
    "no vectors": (
        "v.npz",
        lambda path: np.savez(path, x=VALUES),
        r"no array 'vectors'; the archive holds 'x' \(4 x 2\)\. It needs",
    ),
    "not numpy": ("v.npy", lambda path: path.write_bytes(b"hello"), "not a readable NumPy file|Python objects"),
    "not an archive": ("v.npz", lambda path: path.write_bytes(b"PK\x03\x04oops"), "not a readable NumPy file"),
    "array called npz": ("v.npz", lambda path: path.write_bytes(npy_bytes()), "not an archive of arrays"),
    "empty": ("v.npy", lambda path: path.write_bytes(b""), "not a readable NumPy file"),
    "absent": ("v.npz", lambda _: None, "no such file"),
    "suffix": ("v.pt", lambda path: path.write_bytes(b""), r"the suffix '\.pt' is none of vectors"),
}


def npy_bytes():
    file = io.BytesIO()
    np.save(file, VALUES)
    return file.getvalue()


@pytest.mark.parametrize(("name", "write", "message"), BROKEN.values(), ids=BROKEN)
def test_files_that_cannot_be_read_are_refused_with_the_reason(tmp_path, name, write, message):
    write(tmp_path / name)
    with pytest.raises(MeasurandError, match=message):
        read_vectors(tmp_path / name)


WRONG = {
    "infinite": (np.where(VALUES == 2, np.inf, VALUES), IDS, r'dimension 2 of item "00001" \(row 1\) is inf'),
    "nan": (np.where(VALUES == 3, np.nan, VALUES), IDS, r"dimension 1 of item .* \(row 4\) is nan"),
    "twice": (VALUES, ("a", "b", "c", "b"), r'item "b" has rows 2 and 4'),
    "fewer ids": (VALUES, IDS[:3], "have 4 rows and 3 ids"),
    "flat": (VALUES[0], IDS[:2], "vectors 'vectors' are 2; expected a row"),
    "no dimensions": (VALUES[:, :0], IDS, "are 4 x 0"),
    "text": (VALUES.astype(str), IDS, "are of type <U"),
    "complex": (VALUES.astype(complex), IDS, "are of type complex128"),
    "no rows": (VALUES[:0], (), "have no rows"),
    "blank id": (VALUES, ("a", "b", " ", "d"), "column 'item' is blank in data row 3"),
    "no ids": (VALUES, None, "an array says nothing of items"),
}


@pytest.mark.parametrize(("values", "ids", "message"), WRONG.values(), ids=WRONG)
def test_arrays_that_are_no_vectors_of_items_are_refused_with_the_place(values, ids, message):
    with pytest.raises(MeasurandError, match=message):
        read_vectors(values, ids=ids)


TABLES = {
    "ragged": (
        pd.DataFrame({"item": ["a", "b"], "vector": [[1.0, 2], [1.0]]}),
        "vector of data row 2 has 1 number, that of data row 1 2",
    ),
    "blank cell": (pd.DataFrame({"item": ["a", "b"], "vector": [[1.0, 2], None]}), "vector of data row 2 has no list"),
    "text column": (pd.DataFrame({"item": ["a"], "d0": [1.0], "language": ["bn"]}), "'language' holds no numbers"),
    "no item": (pd.DataFrame({"d0": [1.0]}), "no column 'item'; the table has 'd0'"),
}


@pytest.mark.parametrize(("table", "message"), TABLES.values(), ids=TABLES)
def test_tables_that_are_no_vectors_of_items_are_refused(table, message):
    with pytest.raises(MeasurandError, match=message):
        read_vectors(table)


def test_a_nan_deep_in_a_large_file_is_found(monkeypatch):
    monkeypatch.setattr("measurand.data.vectors._BLOCK", 4)
    values = np.ones((9, 2))
    values[7, 1] = np.nan
    with pytest.raises(MeasurandError, match=r'dimension 2 of item "i7" \(row 8\)'):
        Vectors("v", tuple(f"i{k}" for k in range(9)), values)


def test_items_may_stand_in_several_rows_that_agree():
    table = pd.DataFrame({"item": [1, 1, 2], "system": ["x", "y", "x"], "label": ["joy", " joy", None]})
    assert read_vector_items(table).to_numpy().tolist() == [["1", "joy"], ["2", ""]]
    with pytest.raises(MeasurandError, match="item \"1\" has the labels 'joy' and 'fear'"):
        read_vector_items(table.assign(label=["joy", "fear", ""]))
    with pytest.raises(MeasurandError, match="no column 'item'"):
        read_vector_items(table[["label", "system"]])
