import csv
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.auditing import audit
from measurand.data import Scale, read_outputs, read_ratings
from measurand.data.marks import Marks
from measurand.planning import collect, design_of, draw, write_sample
from measurand.planning.sheets import as_it_was, collected, harmless
from measurand.result import MeasurandError

HOSTILE = ["=cmd()", "+1", "-2", "@x", "'quoted", "a\nb", 'say "x", y', "نظام", "😀", "00012", "20241031124050492385"]


def hostile_sample(criteria=()):
    items = pd.DataFrame({"item": HOSTILE, "label": HOSTILE, "text": HOSTILE})
    systems = ["=S()", "B\nC", "D"]
    outputs = read_outputs(
        pd.DataFrame([(i, s, f"={i}{s}") for i in HOSTILE for s in systems], columns=["item", "system", "text"])
    )
    design = design_of("crossed", n_raters=2, items_per_rater=len(HOSTILE))
    return draw(items, systems=systems, design=design, outputs=outputs, criteria=criteria)


def fill(folder, value=lambda row: str(1 + int(row["position"]) % 5), columns=("rating",)):
    """Fill in the sheets as raters would."""
    for path in sorted((folder / "sheets").iterdir()):
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
        for column in columns:
            sheet[column] = [value(row) for _, row in sheet.iterrows()]
        sheet.to_csv(path, index=False)


@pytest.fixture
def folder(tmp_path):
    out = tmp_path / "sample"
    write_sample(hostile_sample(), out, about={"measurand": "0", "inputs": {}})
    return out


@given(st.text())
def test_no_cell_is_a_formula_and_every_cell_finds_its_way_back(text):
    cell = harmless(text)
    assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r")
    assert as_it_was(cell) == text


def test_no_cell_of_any_file_begins_like_a_formula(folder):
    for path in [folder / "key.csv", *(folder / "sheets").iterdir()]:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), path


def test_systems_stand_in_key_and_protocol_alone(folder):
    for path in (folder / "sheets").iterdir():
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert not frame.drop(columns="output").isin(["=S()", "'=S()", "B\nC", "D"]).any().any()
    assert "=S()" in (folder / "key.csv").read_text(encoding="utf-8")


def test_what_comes_back_is_what_was_handed_out(folder):
    fill(folder)
    ratings = collect(folder)
    assert list(ratings.columns) == ["item", "system", "rater", "rating", "position"]
    assert set(ratings["item"]) == set(HOSTILE)
    assert set(ratings["system"]) == {"=S()", "B\nC", "D"}
    assert len(ratings) == 2 * 3 * len(HOSTILE)
    expected = [str(1 + int(position) % 5) for position in ratings["position"]]
    assert ratings["rating"].tolist() == expected


def test_a_sample_that_came_back_can_be_audited_with_its_order(folder):
    fill(folder)
    path, _, _ = collected(folder)
    table = read_ratings(path, order="position")
    assert len(table) == 66
    findings = {one.id: one.verdict for one in audit(table, replicates=100, draws=1000).findings}
    assert findings["severity-drift"] != "not_applicable"


def test_blank_ratings_stay_blank_and_are_counted(folder):
    fill(folder, lambda row: "" if row["position"] == "3" else "4")
    path, ratings, _ = collected(folder)
    assert (ratings["rating"] == "").sum() == 2
    assert read_ratings(path).n_blank[""] == 2


def test_a_sheet_that_is_blank_from_top_to_bottom_is_refused_unless_it_is_asked_for(folder):
    with pytest.raises(MeasurandError, match=r"R1.csv, R2.csv are blank from top to bottom"):
        collected(folder)
    assert not (folder / "ratings.csv").exists()
    blank = (folder / "sheets" / "R2.csv").read_bytes()
    fill(folder)
    (folder / "sheets" / "R2.csv").write_bytes(blank)
    with pytest.raises(MeasurandError, match=r"R2.csv is blank from top to bottom"):
        collected(folder)
    _, ratings, _ = collected(folder, blank_sheets=True)
    assert (ratings["rating"] == "").sum() == 33


@pytest.fixture
def scaled(tmp_path):
    """Return a sample that was drawn with a scale."""
    items = pd.DataFrame({"item": [f"i{k}" for k in range(3)], "text": "x"})
    design = design_of("crossed", n_raters=2, items_per_rater=3)
    sample = draw(items, systems=["A", "B"], design=design, scale=Scale(1, 5, step=1))
    write_sample(sample, tmp_path / "sample", about={})
    return tmp_path / "sample"


def test_ratings_that_the_scale_does_not_have_are_named_with_sheet_and_row(scaled):
    given = {"1": "gut", "2": "6", "3": "k.A.", "4": ""}
    fill(scaled, lambda row: given.get(row["position"], "5") if row["rater"] == "R2" else "3")
    with pytest.raises(MeasurandError) as refused:
        collected(scaled)
    assert str(refused.value).startswith(
        "3 ratings that this sample does not permit: R2.csv, data row 1, rating: 'gut'"
    )
    assert "R2.csv, data row 2, rating: 6 is outside the scale 1 to 5 in steps of 1" in str(refused.value)
    assert not (scaled / "ratings.csv").exists()
    fill(scaled, lambda row: "k.A." if row["position"] == "3" else "4")
    assert (collect(scaled, Marks(missing=["k.A."]))["rating"] == "").sum() == 2


def test_raters_can_read_how_to_fill_in_a_sheet(scaled):
    text = (scaled / "README.txt").read_text(encoding="utf-8")
    assert "1 to 5 in steps of 1" in text
    assert "a blank is a missing rating, never a 0" in text
    assert "A" not in [word.strip(",.") for word in text.split()]


def test_another_raters_sheet_is_told(folder):
    fill(folder)
    one, other = (folder / "sheets" / name for name in ("R1.csv", "R2.csv"))
    one.write_bytes(other.read_bytes())
    with pytest.raises(MeasurandError, match="data row 1 is of the sheet of 'R2', and this is the place of 'R1'"):
        collect(folder)


def test_empty_rows_and_capitals_in_headers_are_no_fault(folder):
    fill(folder)
    before = collect(folder)
    blank = ["" for _ in range(9)]
    changed(
        folder,
        lambda s: pd.concat([s, pd.DataFrame([blank[: s.shape[1]]] * 2, columns=s.columns)]).rename(columns=str.title),
    )
    assert collect(folder).equals(before)


def test_two_columns_that_could_be_the_ratings_are_refused(folder):
    fill(folder)
    changed(folder, lambda s: s.rename(columns={"rating": "Rating"}).assign(RATING="9"))
    with pytest.raises(MeasurandError, match="columns 'Rating', 'RATING' may all be 'rating'"):
        collect(folder)
    changed(folder, lambda s: s.rename(columns={"Rating": "rating", "RATING": "rating "}))
    with pytest.raises(MeasurandError, match="columns 'rating', 'rating ' may all be 'rating'"):
        collect(folder)


@pytest.mark.parametrize(
    "change", [{"files": None}, {"files": {}}, {"criteria": "rating"}, {"criteria": [1]}, {"scales": []}]
)
def test_a_protocol_that_is_not_whole_is_refused(folder, change):
    path = folder / "protocol.json"
    document = json.loads(path.read_text(encoding="utf-8")) | change
    path.write_text(json.dumps({name: value for name, value in document.items() if value is not None}))
    with pytest.raises(MeasurandError, match="is not whole"):
        collect(folder)


def test_criteria_come_back_as_rows(tmp_path):
    out = tmp_path / "sample"
    write_sample(hostile_sample(["fluency", "=tone"]), out, about={})
    fill(out, columns=("fluency", "'=tone"))
    ratings = collect(out)
    assert set(ratings["criterion"]) == {"fluency", "=tone"}
    assert len(ratings) == 2 * 2 * 3 * len(HOSTILE)


def test_spreadsheets_may_sort_rows_rewrite_numbers_and_add_columns(folder):
    fill(folder)
    before = collect(folder)
    for path in (folder / "sheets").iterdir():
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False).sort_values("item")
        sheet["item"] = sheet["item"].replace({"00012": "12", "20241031124050492385": "2.02410311240505E+19"})
        sheet["item"] = sheet["item"].str.replace("'=", "=")
        sheet["position"] += ".0"
        sheet["comment"] = "x"
        sheet.to_csv(path, index=False)
    assert collect(folder).equals(before)


def changed(folder, change):
    path = folder / "sheets" / "R1.csv"
    change(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.drop(columns="rating"), "no column 'rating'"),
        (lambda s: s.iloc[1:], "no row with position 1; put it back"),
        (lambda s: pd.concat([s, s.iloc[:1]]), "position 1 stands in data rows 1 and 34"),
        (lambda s: s.assign(code=s["code"].tolist()[::-1]), "was handed out as"),
        (lambda s: s.assign(item=s["item"].tolist()[::-1]), "was handed out as"),
        (lambda s: s.assign(position=["x", *s["position"][1:]]), "'x' in data row 1 is no position"),
        (lambda s: s.assign(position=["99", *s["position"][1:]]), "'99' in data row 1 is no position"),
    ],
)
def test_rows_that_were_not_handed_out_are_refused_and_nothing_is_written(folder, change, said):
    fill(folder)
    changed(folder, change)
    with pytest.raises(MeasurandError, match=said):
        collected(folder)
    assert not (folder / "ratings.csv").exists()


def test_a_missing_sheet_a_changed_key_and_a_strange_folder_are_refused(folder, tmp_path):
    (folder / "sheets" / "R2.csv").rename(tmp_path / "R2.csv")
    with pytest.raises(MeasurandError, match=r"R2.csv is missing: put the blank sheet back"):
        collect(folder)
    (tmp_path / "R2.csv").rename(folder / "sheets" / "R2.csv")
    text = (folder / "key.csv").read_text(encoding="utf-8")
    (folder / "key.csv").write_text(text.replace("R2,1,", "R2,1 ,"), encoding="utf-8")
    with pytest.raises(MeasurandError, match="is not the key that was written"):
        collect(folder)
    (folder / "key.csv").unlink()
    with pytest.raises(MeasurandError, match=r"key.csv is missing"):
        collect(folder)
    with pytest.raises(MeasurandError, match="is no sample"):
        collect(tmp_path)
    (tmp_path / "protocol.json").write_text('{"schema": "other"}')
    with pytest.raises(MeasurandError, match="is no protocol of a sample"):
        collect(tmp_path)


def test_nothing_is_ever_overwritten(folder, tmp_path):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(MeasurandError, match="never takes another's place"):
        write_sample(hostile_sample(), folder, about={})
    (tmp_path / "file").write_text("x")
    with pytest.raises(MeasurandError, match="never takes another's place"):
        write_sample(hostile_sample(), tmp_path / "file", about={})
    collected(folder, blank_sheets=True)
    with pytest.raises(MeasurandError, match="is not overwritten"):
        collected(folder)
    assert {path: path.read_bytes() for path in before} == before


def test_an_empty_folder_may_be_taken_and_a_failure_leaves_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    write_sample(hostile_sample(), tmp_path / "empty", about={})
    with pytest.raises(TypeError):
        write_sample(hostile_sample(), tmp_path / "broken", about={"what": {1, 2}})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty"]


def test_the_protocol_has_the_hash_of_every_file(folder):
    import hashlib

    files = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))["files"]
    assert set(files) == {"key.csv", "README.txt", "sheets/R1.csv", "sheets/R2.csv"}
    for name, digest in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def spelled(folder, comma, *, sep=","):
    """Fill in both sheets, that of R2 with these ratings."""
    fill(folder, lambda row: comma.get(row["position"], "3") if row["rater"] == "R2" else "4.5")
    path = folder / "sheets" / "R2.csv"
    pd.read_csv(path, dtype=str, keep_default_na=False).to_csv(path, index=False, sep=sep)


def test_each_sheet_may_have_its_own_decimal_mark(folder):
    spelled(folder, {"1": "4,5", "2": "1,000"})
    path, ratings, with_commas = collected(folder)
    assert with_commas == ["R2.csv"]
    assert set(ratings["rating"]) == {"4.5", "1.000", "3"}
    assert read_ratings(path).frame["rating"].max() == 4.5


def test_commas_that_could_be_either_and_mixed_marks_are_refused_with_the_sheet(folder):
    spelled(folder, {"1": "1,000"})
    with pytest.raises(MeasurandError, match=r"R2.csv, data row 1, rating: '1,000' .*--decimal R2.csv=,"):
        collect(folder)
    assert "1.000" in set(collect(folder, decimals={"R2.csv": ","})["rating"])
    spelled(folder, {"1": "4,5", "2": "4.5"})
    with pytest.raises(MeasurandError, match=r"R2.csv, data row 1, rating: '4,5' .*write them alike"):
        collect(folder)
    spelled(folder, {"1": "1,000"}, sep=";")
    assert "1.000" in set(collect(folder)["rating"])


def test_sheets_open_in_spreadsheets_with_the_declared_delimiter_and_come_back(tmp_path):
    out = tmp_path / "sample"
    write_sample(hostile_sample(), out, about={}, delimiter="|")
    assert (out / "sheets" / "R1.csv").read_bytes().startswith(b"\xef\xbb\xbfposition|rater|item")
    assert len(collect(out, blank_sheets=True)) == 66
    assert "CSV UTF-8" in (out / "README.txt").read_text(encoding="utf-8")


def test_raters_are_told_that_outputs_stand_elsewhere(tmp_path):
    items = pd.DataFrame({"item": ["a", "b"]})
    design = design_of("crossed", n_raters=2, items_per_rater=2)
    write_sample(draw(items, systems=["A", "B"], design=design), tmp_path / "without", about={})
    write_sample(hostile_sample(), tmp_path / "with", about={})
    told = [
        "The outputs are not in the sheet" in (tmp_path / name / "README.txt").read_text(encoding="utf-8")
        for name in ("without", "with")
    ]
    assert told == [True, False]
