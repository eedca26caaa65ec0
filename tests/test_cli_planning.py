import json

import numpy as np
import pandas as pd
import pytest

from command_line import assert_one_message, runner
from measurand.result import Result
from measurand.simulate import simulate_panel

COMPONENTS = {
    "item": 0.3, "system": 0.3, "rater": 0.2, "item:system": 0.1, "item:rater": 0.1, "system:rater": 0.05,
    "residual": 0.5,
}  # fmt: skip
SMALL = ("--most-raters", 12, "--most-items", 80)
COSTS = ("--cost-rater", 20, "--cost-item", 1, "--cost-judgement", 0.1)


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    simulate_panel(n_items=20, n_systems=4, n_raters=6, components=COMPONENTS, seed=3).ratings.to_csv(path, index=False)
    return path


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.csv"
    labels = [("joy", "fear")[k % 2] for k in range(200)]
    pd.DataFrame({"item": [f"i{k + 1:02d}" for k in range(200)], "label": labels}).to_csv(path, index=False)
    return path


def test_a_plan_says_what_a_target_costs_and_what_a_difference_takes(run, ratings):
    ended = run("plan", ratings, "--target", 0.8, *COSTS, *SMALL, "--difference", 0.3)
    assert ended.status == 0
    for text in ("target-reachable", "layout-pays", "difference-detectable"):
        assert text in ended.out


def test_rows_come_as_json_and_as_csv_and_are_the_same_each_time(run, ratings):
    first, again = (run("plan", ratings, *COSTS, *SMALL, "--json") for _ in range(2))
    assert first.out == again.out
    result = Result.from_json(first.out)
    assert result.analyses == ["plan", "power"]
    assert result.settings["plan"]["cost_rater"] == 20
    lines = run("plan", ratings, *COSTS, *SMALL, "--csv").out.splitlines()
    assert len(lines) == len(result) + 1


def test_layouts_and_the_coefficient_can_be_chosen(run, ratings):
    ended = run("plan", ratings, *COSTS, *SMALL, "--layout", "nested", "--coefficient", "phi", "--json")
    result = Result.from_json(ended.out)
    assert {row.keys["layout"] for row in result["plan"]} == {"", "nested", "as_rated"}
    assert result.select("plan", "phi")


def test_the_level_of_measurement_is_said_as_in_an_audit(run, ratings):
    asked = ("plan", ratings, *COSTS, *SMALL, "--layout", "nested", "--json")
    result = Result.from_json(run(*asked, "--level", "interval").out)
    assert result.to_json() == run(*asked).out
    refused = run("plan", ratings, "--level", "ordinal", "--formula", "item x rater")
    assert_one_message(refused, "--level is for a panel")


def test_a_run_is_written_with_its_settings(run, ratings, tmp_path):
    out = tmp_path / "out"
    assert run("plan", ratings, *COSTS, *SMALL, "--out", out).status == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"report.html", "report.md", "results.json", "tables", "manifest.json"}
    assert {path.name for path in (out / "tables").iterdir()} == {"plan.csv", "power.csv"}
    settings = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["cost_judgement"] == 0.1
    assert settings["most_items"] == 80


def test_no_rater_gets_more_judgements_than_they_could_give(run, ratings, items, tmp_path):
    asked = ("plan", ratings, *COSTS, *SMALL, "--target", 0.6, "--most-per-rater", 40)
    result = Result.from_json(run(*asked, "--json").out)
    each = [row.keys["at_items_per_rater"] for row in result.select("plan", "cost") if row.keys["basis"] == "estimate"]
    assert each
    n_systems = result.value("plan", "n_systems")
    assert max(each) * n_systems <= 40
    sizes = ("--layout", "rotating", "--raters", 6, "--items-per-rater", 10, "--most-per-rater", 19)
    refused = run("plan", "--items", items, "--systems", "A1,B2", "--draw", tmp_path / "sample", *sizes)
    assert_one_message(refused, "10 items with 2 systems each are 20 judgements of a rater, and 19 are allowed")


def test_strict_makes_a_failing_finding_the_exit_status(run, ratings):
    asked = ("plan", ratings, "--target", 0.999, "--most-raters", 3, "--most-items", 5)
    assert run(*asked).status == 0
    assert run(*asked, "--strict").status == 1


def test_a_formula_plans_any_design(run, ratings):
    ended = run("plan", ratings, "--formula", "system x item x rater", "--at", "item=100,rater=10", "--json")
    result = Result.from_json(ended.out)
    sizes = [row.keys["at"] for row in result.select("plan", "g", {"target": ""})]
    assert sizes[:2] == ["item=20, rater=6", "item=100, rater=10"]
    assert result.findings[0].id == "facets-reliable"


GROUPED = ("--formula", "system x item x (rater:group)")


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """Ratings by raters within groups, one in seven of them missing."""
    rng = np.random.default_rng(4)
    rows = [
        (f"i{i}", f"S{s}", f"g{g}", f"r{g}{r}", round(s + rng.normal(), 2))
        for i in range(8) for s in range(4) for g in range(3) for r in range(3)
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("grouped") / "ratings.csv"
    table = pd.DataFrame(rows, columns=["item", "system", "group", "rater", "rating"])
    table[np.arange(len(table)) % 7 != 0].to_csv(path, index=False)
    return path


def test_groups_and_raters_have_prices_and_limits_of_their_own(run, grouped, tmp_path):
    costs = (
        "--cost",
        "rater=200,group=500",
        "--cost",
        "item=1,judgement=0.1",
        "--most",
        "group=5",
        "--least",
        "group=2",
    )
    out = tmp_path / "out"
    ended = run("plan", grouped, *GROUPED, *costs, "--target", 0.9, "--out", out, "--json")
    assert ended.status == 0
    result = Result.from_json(ended.out)
    (cost,) = result.select("plan", "cost", {"basis": "estimate"})
    sizes = {name: int(size) for name, size in (part.split("=") for part in cost.keys["at"].split(", "))}
    assert 2 <= sizes["group"] <= 5
    raters = sizes["rater"] * sizes["group"]
    expected = 200 * raters + 500 * sizes["group"] + sizes["item"] * (1 + 0.1 * 4 * raters)
    assert cost.estimate == pytest.approx(expected)
    assert result.select("plan", "share_rated")[0].estimate == pytest.approx(6 / 7, abs=0.01)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Cheapest sizes for G 0.9" in page
    assert "group 500" in page
    settings = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["costs"] == {"rater": 200, "group": 500, "item": 1, "judgement": 0.1}
    assert (settings["most"], settings["least"]) == ({"group": 5}, {"group": 2})


def test_costs_by_name_are_those_of_the_options_with_names_of_their_own(run, ratings):
    one = run("plan", ratings, *COSTS, *SMALL, "--layout", "nested", "--json")
    other = run("plan", ratings, "--cost", "rater=20,item=1,judgement=0.1", *SMALL, "--layout", "nested", "--json")
    assert one.out == other.out


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--cost", "group=3"], "--cost group: without --formula costs are of rater, item, judgement"),
        (["--cost", "rater=3", "--cost-rater", 4], "the cost of rater is given twice"),
        (["--most", "item=3"], "--at, --fixed, --most and --least go with --formula"),
        ([*GROUPED, "--most", "item=2.5"], "--most item=2.5; give a whole number"),
        ([*GROUPED, "--coefficient", "phi"], "with --formula the target is of G"),
        ([*GROUPED, "--cost", "judge=2"], "cost of 'judge'; costs are of item, rater, group, judgement"),
        ([*GROUPED, "--most-per-rater", 3], "at most 3 judgements of a rater, and each rates 4 levels of system"),
    ],
)
def test_costs_and_sizes_that_mean_nothing_are_refused(run, grouped, asked, said):
    assert_one_message(run("plan", grouped, *asked), said)


def test_a_sample_goes_out_comes_back_and_is_audited(run, items, tmp_path):
    folder = tmp_path / "sample"
    sizes = ("--layout", "rotating", "--raters", 6, "--items-per-rater", 10)
    drawn = run("plan", "--items", items, "--systems", "A1,B2", "--draw", folder, *sizes)
    assert (drawn.status, drawn.out) == (0, "")
    assert "6 sheets in" in drawn.err
    assert "Keep from the raters" in drawn.err
    assert "Warning: the sheets hold no outputs" in drawn.err
    for path in (folder / "sheets").iterdir():
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
        sheet["rating"] = [str(1 + (len(item) + at) % 5) for at, item in enumerate(sheet["item"])]
        sheet.to_csv(path, index=False)
    back = run("plan", "--collect", folder)
    assert back.status == 0
    assert f"{120} rows, 0 of them blank" in back.err
    audited = run("audit", folder / "ratings.csv", "--order", "position", "--replicates", 100, "--json")
    assert Result.from_json(audited.out).value("design", "n_ratings") == 120
    protocol = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
    assert protocol["inputs"]["items"]["file"] == "items.csv"
    assert protocol["measurand"]


def test_with_ratings_the_cheapest_sure_panel_is_drawn_from_items_not_rated_yet(run, ratings, items, tmp_path):
    folder = tmp_path / "sample"
    ended = run("plan", ratings, *COSTS, *SMALL, "--target", 0.5, "--items", items, "--draw", folder, "--json")
    result = Result.from_json(ended.out)
    cheapest = result.select("plan", "cost", {"basis": "lower_limit"})[0].keys
    protocol = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
    assert protocol["layout"] == cheapest["layout"]
    assert protocol["n_raters"] == cheapest["at_raters"]
    assert protocol["n_items"] == cheapest["at_items"]
    assert protocol["left_out"]["rated before"] == 20
    assert protocol["systems"] == ["S1", "S2", "S3", "S4"]


def test_without_a_sure_panel_nothing_is_drawn_but_what_is_asked_for(run, ratings, items, tmp_path):
    asked = (
        "plan",
        ratings,
        *COSTS,
        *("--target", 0.95, "--most-raters", 4, "--most-items", 40),
        "--items",
        items,
        "--draw",
        tmp_path / "s",
    )
    refused = run(*asked)
    assert_one_message(refused, "nothing is drawn: no panel of this layout within 4 raters and 40 items does with")
    assert_one_message(refused, "--layout, --raters, --items-per-rater")
    assert run(*asked, "--layout", "crossed", "--raters", 2, "--items-per-rater", 5).status == 0


def test_a_scale_that_is_said_at_drawing_is_held_at_collecting(run, items, tmp_path):
    folder = tmp_path / "sample"
    sizes = ("--layout", "crossed", "--raters", 2, "--items-per-rater", 3, "--scale", "1:5:1", "--level", "ordinal")
    assert run("plan", "--items", items, "--systems", "A1,B2", "--draw", folder, *sizes).status == 0
    protocol = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
    assert protocol["scales"]["rating"]["level"] == "ordinal"
    assert_one_message(run("plan", "--collect", folder), "R1.csv, R2.csv are blank from top to bottom")
    for path in (folder / "sheets").iterdir():
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert set(sheet["scale"]) == {"1 to 5 in steps of 1"}
        sheet.assign(rating=["6", *["2"] * 5]).to_csv(path, index=False)
    assert_one_message(run("plan", "--collect", folder), "R1.csv, data row 1, rating: 6 is outside the scale")
    assert not (folder / "ratings.csv").exists()
    for path in (folder / "sheets").iterdir():
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
        sheet.assign(rating="2").to_csv(path, index=False)
    assert_one_message(run("plan", "--collect", folder, "--missing", "R1.csv=x"), "--missing FILE=TEXT")
    back = run("plan", "--collect", folder, "--decimal", "R1.csv=,")
    assert "Decimal commas were read in R1.csv" in back.err
    assert f"measurand audit {folder / 'ratings.csv'} --order position --scale 1:5:1 --level ordinal" in back.err
    assert_one_message(run("plan", "--blank-sheets"), "--blank-sheets is about sheets that came back")


def test_outputs_whose_columns_have_other_names_can_be_drawn_from(run, items, tmp_path):
    outputs = tmp_path / "outputs.csv"
    names = pd.read_csv(items)["item"]
    rows = [(i, s, f"{i}!") for i in names for s in ("S1", "S2", "S3", "S4")]
    pd.DataFrame(rows, columns=["Bild", "Modell", "Antwort"]).to_csv(outputs, index=False)
    named = ("--output-item", "Bild", "--output-system", "Modell", "--text", "Antwort")
    sizes = ("--layout", "crossed", "--raters", 2, "--items-per-rater", 3)
    asked = ("plan", "--items", items, "--outputs", outputs, "--draw", tmp_path / "sample", *sizes)
    refused = run(*asked)
    assert refused.status == 2
    assert "--text" in refused.err or "--output-item" in refused.err
    assert run(*asked, *named).status == 0
    assert set(pd.read_csv(tmp_path / "sample" / "key.csv")["system"]) == {"S1", "S2", "S3", "S4"}


def test_systems_are_read_from_a_file_and_outputs_are_shown(run, items, tmp_path):
    systems, outputs = tmp_path / "systems.csv", tmp_path / "outputs.csv"
    pd.DataFrame({"system": ["A1", "B2"], "provider": ["x", "y"]}).to_csv(systems, index=False)
    names = pd.read_csv(items)["item"]
    pd.DataFrame(
        [(i, s, f"{i}!") for i in names for s in ("A1", "B2", "C3")], columns=["item", "system", "text"]
    ).to_csv(outputs, index=False)
    sizes = ("--layout", "nested", "--raters", 3, "--items-per-rater", 4, "--criteria", "tone,style")
    folder = tmp_path / "sample"
    ended = run("plan", "--items", items, "--systems", systems, "--outputs", outputs, "--draw", folder, *sizes, "-q")
    assert (ended.status, ended.err) == (0, "")
    sheet = pd.read_csv(folder / "sheets" / "R1.csv")
    assert list(sheet.columns) == ["position", "rater", "item", "code", "output", "tone", "style"]
    assert set(pd.read_csv(folder / "key.csv")["system"]) == {"A1", "B2"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "nothing to plan from"),
        (["RATINGS", "--json", "--csv"], "choose one"),
        (["RATINGS", "--target", 2], "target 2"),
        (["RATINGS", "--raters", 3], "say where it goes, --draw DIR"),
        (["RATINGS", "--at", "item=3"], "--at, --fixed, --most and --least go with --formula"),
        (["RATINGS", "--formula", "item"], "a design needs two facets"),
        (["RATINGS", "--formula", "item x rater", "--draw", "DIR"], "--formula plans another design"),
        (["RATINGS", "--draw", "DIR"], "--draw needs the items to draw from"),
        (["--draw", "DIR", "--items", "ITEMS", "--systems", "A,B"], "--draw needs --raters and --items-per-rater"),
        (
            ["--draw", "DIR", "--items", "ITEMS", "--systems", "A,B", "--raters", 3, "--items-per-rater", 4],
            "--draw needs one layout",
        ),
        (
            ["--draw", "DIR", "--items", "ITEMS", "--raters", 3, "--items-per-rater", 4, "--layout", "crossed"],
            "--draw needs the systems",
        ),
        (["--draw", "DIR", "--items", "ITEMS", "--out", "OUT"], "--out is for the numbers of a plan"),
        (["RATINGS", "--collect", "DIR"], "--collect reads the folder of a sample and nothing else"),
        (["--collect", "DIR"], "is no sample"),
        (["RATINGS", "--target", 0.99999, "--most-raters", 2, "--draw", "DIR", "--items", "ITEMS"], "Say what to draw"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_leaves_nothing(run, ratings, items, tmp_path, args, said):
    places = {"RATINGS": ratings, "ITEMS": items, "DIR": tmp_path / "sample", "OUT": tmp_path / "out"}
    assert_one_message(run("plan", *(places.get(arg, arg) if isinstance(arg, str) else arg for arg in args)), said)
    assert {path.name for path in tmp_path.iterdir()} == {"ratings.csv", "items.csv"}
