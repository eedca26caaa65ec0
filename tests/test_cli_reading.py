"""Tables as German spreadsheets write them, read as declared: by every command, in study files, and verified alike."""

import json
from pathlib import Path

import pandas as pd
import pytest

import measurand as mz
from command_line import assert_one_message, runner
from measurand.study_file import StudyFileError, read_study
from measurand.study_scoring import Held
from measurand.study_verifying import verify
from small_study import write

FEW = ("--replicates", 100)
#: What a rater gave to each system on each item.
CELLS = [
    (f"i{i}", system, rater, 1 + (i * (2 + s) + r * i // 3 + s) % 4 + 0.5 * (i % 2))
    for i in range(12)
    for s, system in enumerate(("red", "blue", "green"))
    for r, rater in enumerate(("Anna", "Bert", "Müller, Eva"))
]


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def german(value):
    return "k.A." if value is None else f"{value:g}".replace(".", ",")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with one table in two spellings: plain.csv, and ratings.csv as a German spreadsheet saves it."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(CELLS, columns=["item", "system", "rater", "rating"])
    frame.loc[[3, 40], "rating"] = None
    frame.to_csv("plain.csv", index=False)
    lines = ["item;system;rater;rating"]
    values = [None if value != value else value for value in frame["rating"]]
    lines += [
        f"{item};{system};{rater};{german(value)}"
        for (item, system, rater, _), value in zip(CELLS, values, strict=True)
    ]
    Path("ratings.csv").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    return tmp_path


GERMAN = ("--delimiter", ";", "--decimal", ",", "--missing", "k.A.")


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", [("audit", *FEW, "--scale", "1:5"), ("plan",), ("check",)])
def test_a_declared_spelling_brings_the_numbers_of_the_plain_table(run, command):
    command, *options = command
    plain = run(command, "plain.csv", *options, "--json")
    spelled = run(command, "ratings.csv", *options, *GERMAN, "--json")
    assert spelled.status == plain.status == 0, spelled.err
    assert spelled.out == plain.out


@pytest.mark.usefixtures("place")
def test_what_was_not_declared_is_named_with_the_option_that_declares_it(run):
    assert_one_message(run("audit", "ratings.csv"), "ratings.csv: one column only", "say so, --delimiter ';'")
    half = ("audit", "ratings.csv", "--delimiter", "semicolon", "--scale", "1:5")
    assert_one_message(run(*half), "with a decimal comma: ", "commas are meant: --decimal ,", "such as --missing k.A.")
    Path("r.xlsx").write_bytes(b"PK")
    assert_one_message(run("audit", "r.xlsx"), "r.xlsx is a workbook", "--delimiter ';', --decimal ,")


@pytest.mark.usefixtures("place")
def test_a_run_says_how_its_table_was_spelled_and_is_verified_as_it_was_read(run):
    ended = run("audit", "ratings.csv", *FEW, "--scale", "1:5", *GERMAN, "--out", "audit")
    assert ended.status == 0, ended.err
    settings = json.loads(Path("audit/manifest.json").read_text(encoding="utf-8"))["settings"]
    assert {name: settings[name] for name in ("delimiter", "decimal", "missing")} == {
        "delimiter": {"all": [";"]},
        "decimal": {"all": [","]},
        "missing": {"all": ["k.A."]},
    }
    assert {check["state"] for check in json.loads(run("verify", "audit", "--json").out)} == {"same"}


@pytest.mark.usefixtures("place")
def test_one_file_alone_may_be_spelled_otherwise(run):
    wide = pd.DataFrame(CELLS, columns=["item", "system", "rater", "rating"])
    wide = wide[wide["system"] == "red"].pivot_table(index="item", columns="rater", values="rating").reset_index()
    wide.to_csv("plain_wide.csv", index=False)
    wide.to_csv("wide.csv", index=False, sep=";", decimal=",")
    answers = pd.DataFrame({"system": "S", "item": wide["item"], "answer": wide["Anna"] / 7 + 0.01})
    answers.to_csv("answers.csv", index=False)
    names = ("--wide", 'Anna,Bert,"Müller, Eva"', "--scale", "0:7:.5", *FEW, "--over", "item", "--folds", 2, "--json")
    plain = run("score", "answers.csv", "plain_wide.csv", *names)
    assert plain.status == 0, plain.err
    spelled = run("score", "answers.csv", "wide.csv", *names, "--delimiter", "wide.csv=;", "--decimal", "wide.csv=,")
    assert spelled.out == plain.out
    everywhere = run("score", "answers.csv", "wide.csv", *names, "--delimiter", "wide.csv=;", "--decimal", ",")
    assert_one_message(everywhere, "answers.csv", "has a decimal point, and decimal commas are declared")
    assert_one_message(
        run("score", "answers.csv", "wide.csv", *names, "--decimal", "other.csv=,"), "reads no other.csv"
    )


@pytest.mark.usefixtures("place")
def test_probe_reads_outputs_and_a_wide_table_of_ratings(run):
    items = [f"i{i}" for i in range(12)]
    Path("outputs.csv").write_text(
        "item;system;text;length\n" + "".join(f"{item};red;some text {item};2,5\n" for item in items)
    )
    Path("wide.csv").write_text("Nr,Anna,Bert\n" + "".join(f"{item},{1 + k % 5},3\n" for k, item in enumerate(items)))
    ended = run(
        "probe", "outputs.csv", "--only", "units", "--ratings", "wide.csv", "--rating-item", "Nr", "--wide",
        "Anna,Bert", "--scale", "1:5", "--delimiter", "outputs.csv=;", "--decimal", "outputs.csv=,", *FEW, "--json",
    )  # fmt: skip
    assert ended.status == 0, ended.err


def test_a_name_with_a_comma_is_given_in_quotes_as_in_a_row_of_csv(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text('item,Anna,"Müller, Eva"\n1,3,4\n2,4,4\n3,1,2\n', encoding="utf-8")
    ended = run("check", path, "--wide", 'Anna, "Müller, Eva"', "--json")
    assert json.loads(ended.out)["criteria"][""]["raters"] == 2
    assert_one_message(run("check", path, "--wide", 'Anna,"Müller'), "cannot be taken apart", "double quotes")
    assert_one_message(run("check", path, "--wide", "Anna,Müller"), "no column 'Müller' for a rater", "'Müller, Eva'")


def test_a_table_whose_columns_are_systems_and_raters_in_one_is_told_so_where_the_headline_stands(run, tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"{system}_{rater}" for system in ("red", "blue") for rater in ("ann", "ben", "eve")]
    rows = [f"{i}," + ",".join(str(1 + (i * (k + 2) + k) % 5) for k in range(6)) for i in range(12)]
    path.write_text("\n".join([",".join(["item", *names]), *rows]) + "\n", encoding="utf-8")
    wide = ("--wide", ",".join(names), "--scale", "1:5:1")
    told = "The 6 raters are called by every combination of 2 names with 3 (blue_ann, blue_ben, …)"
    ended = run("audit", path, *wide, *FEW)
    assert told in " ".join(ended.out.split())
    assert "There is nothing to rank here" not in ended.out
    assert told in run("check", path, *wide).out
    renamed = path.read_text(encoding="utf-8").replace("red_ann", "someone")
    path.write_text(renamed, encoding="utf-8")
    other = run("audit", path, "--wide", ",".join(["someone", *names[1:]]), "--scale", "1:5:1", *FEW)
    assert "There is nothing to rank here" in other.out


# Samples


OUTPUTS = "Bild;Modell;Antwort\n" + "".join(f"n{i};{m};text {i} {m}\n" for i in range(8) for m in ("red", "blue"))
DRAWN = ("--layout", "crossed", "--raters", 2, "--items-per-rater", 3)


@pytest.fixture
def drawn(run, tmp_path, monkeypatch):
    """A sample that was drawn from tables with headers of their own."""
    monkeypatch.chdir(tmp_path)
    Path("outputs.csv").write_text(OUTPUTS)
    Path("items.csv").write_text("Bild,label\n" + "".join(f"n{i},joy\n" for i in range(8)))
    names = ("--item", "Bild", "--output-system", "Modell", "--text", "Antwort", "--delimiter", "outputs.csv=;")
    ended = run("plan", "--items", "items.csv", "--outputs", "outputs.csv", *names, "--draw", "pilot", *DRAWN)
    assert ended.status == 0, ended.err
    return tmp_path / "pilot"


def test_a_sample_is_drawn_from_tables_with_headers_of_their_own(drawn):
    sheet = pd.read_csv(drawn / "sheets" / "R1.csv", dtype=str)
    assert len(sheet) == 6
    assert set(sheet["output"].str.split().str[2]) == {"red", "blue"}


@pytest.mark.parametrize("mark", [";", "\t"])
def test_sheets_may_come_back_with_what_a_spreadsheet_puts_between_cells(run, drawn, mark):
    for path in (drawn / "sheets").iterdir():
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
        sheet["rating"] = ["3,5", "k.A.", *["4"] * (len(sheet) - 2)]
        sheet.to_csv(path, index=False, sep=mark, encoding="utf-8-sig")
    ended = run("plan", "--collect", drawn, "--decimal", ",", "--missing", "k.A.")
    assert ended.status == 0, ended.err
    assert "12 rows, 2 of them blank" in ended.err
    ratings = pd.read_csv(drawn / "ratings.csv")
    assert sorted(ratings["rating"].dropna().unique()) == [3.5, 4.0]
    found = {check["name"]: check for check in json.loads(run("verify", drawn, "--json").out)}
    assert found["ratings"]["state"] == "same"
    assert found["ratings"]["what"] == "2 cells of the sheets count as missing in ratings.csv"


@pytest.mark.usefixtures("drawn")
def test_outputs_without_a_text_are_refused_with_the_option_that_plan_has(run):
    ended = run("plan", "--items", "items.csv", "--outputs", "items.csv", "--item", "Bild", "--draw", "new", *DRAWN)
    assert_one_message(ended, "no column 'text'", "Name the right one with --text")


# Study files


def spelled(folder, replace=()):
    """Write the small study, its ratings as a German spreadsheet saves them."""
    path = write(folder, replace=replace)
    text = (folder / "ratings.csv").read_text(encoding="utf-8").replace(",", ";").replace(";4\n", ";k.A.\n")
    (folder / "ratings.csv").write_text(text.replace(";3\n", ";3,0\n"), encoding="utf-8-sig")
    return path


MARKS = 'ratings = "ratings.csv"\ndelimiter = { ratings = ";" }\ndecimal = { ratings = "," }\nmissing = ["k.A."]\n'


def test_a_study_declares_how_its_tables_are_spelled(tmp_path):
    held = Held(read_study(spelled(tmp_path, replace=[('ratings = "ratings.csv"\n', MARKS)])))
    held.check()
    plain = Held(read_study(write(tmp_path / "plain")))
    kept = plain.ratings.frame["rating"] != 4
    assert held.ratings.frame["rating"].tolist() == plain.ratings.frame["rating"][kept].tolist()
    assert sum(held.ratings.n_blank.values()) == int((~kept).sum())
    assert held.study.resolved()["data"]["delimiter"] == {"ratings": ";"}


def test_a_study_that_does_not_declare_them_is_told_which_key_does(tmp_path):
    path = spelled(tmp_path)
    with pytest.raises(mz.MeasurandError, match=r'header has semicolons: .*\[data\] delimiter = ";"'):
        Held(read_study(path)).check()
    for wrong, said in (('delimiter = ";;"', "give one character"), ('decimal = ";"', "decimal")):
        path = spelled(tmp_path, replace=[('items = "items.csv"', f'items = "items.csv"\n{wrong}')])
        with pytest.raises(StudyFileError, match=said):
            read_study(path)


def test_a_study_with_declared_spellings_runs_and_is_verified(tmp_path):
    from measurand.study_running import run as run_study

    out = run_study(spelled(tmp_path, replace=[('ratings = "ratings.csv"\n', MARKS)])).folder.parent
    assert {check.state for check in verify(out)} == {"same"}
