"""`measurand score`, `gates` and `simulate benchmark` as a user meets them."""

import json

import numpy as np
import pandas as pd
import pytest

import measurand
from command_line import assert_one_message, runner
from measurand import reporting
from measurand.result import Result

FEW = ("--replicates", "100", "--over", "item", "--quiet")
SCALE = ("--scale", "0:7:1")


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def plain_pages(monkeypatch):
    """Pages that cost nothing, where something else is the matter."""
    monkeypatch.setattr(reporting, "render_pages", lambda _result, *, title, reproduce: (title, f"{title} {reproduce}"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A simulated benchmark as files."""
    from measurand.simulate import simulate_benchmark

    folder = tmp_path_factory.mktemp("bench")
    made = simulate_benchmark(
        n_items=60,
        n_criteria=2,
        n_raters=4,
        raters_per_item=3,
        reliabilities=(0.6, 0.4),
        validities=(0.95, 0.5),
        readouts=("verification", "generative"),
        seed=3,
    )
    for name in ("answers", "ratings", "items"):
        getattr(made, name).to_csv(folder / f"{name}.csv", index=False)
    return folder


def score(run, bench, *args):
    return run("score", bench / "answers.csv", bench / "ratings.csv", *SCALE, *FEW, *args)


def test_a_benchmark_is_simulated_with_its_truth_and_can_be_scored(run, tmp_path):
    made = run("simulate", "benchmark", "--items", 40, "--criteria", 2, "--out", tmp_path / "bench")
    assert made.status == 0, made.err
    assert {path.name for path in (tmp_path / "bench").iterdir()} == {
        "answers.csv",
        "ratings.csv",
        "items.csv",
        "truth.json",
    }
    assert json.loads((tmp_path / "bench" / "truth.json").read_text(encoding="utf-8"))
    ended = score(run, tmp_path / "bench")
    assert ended.status == 0, ended.err


def test_score_shows_a_summary_and_writes_a_whole_run(run, bench, tmp_path):
    ended = score(run, bench, "--out", tmp_path / "out")
    assert ended.status == 0, ended.err
    assert "S1" in ended.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.html",
        "report.md",
        "results.json",
        "tables",
        "manifest.json",
    }
    result = Result.from_json(tmp_path / "out" / "results.json")
    assert {"scores", "anchors", "baselines", "contrasts", "criteria", "coverage", "decisions", "gates"} <= set(
        result.analyses
    )
    assert {"exceeds-people", "order-real", "readout-decides", "input-sensitivity"} <= {f.id for f in result.findings}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Scores against raters" in page
    assert "leave" in page


@pytest.mark.usefixtures("plain_pages")
def test_json_is_the_file_and_the_same_seed_gives_the_same_bytes(run, bench, tmp_path):
    first = score(run, bench, "--json", "--out", tmp_path / "a")
    again = score(run, bench, "--json", "--out", tmp_path / "b")
    assert first.out == again.out
    assert first.out == (tmp_path / "a" / "results.json").read_text(encoding="utf-8")
    other = score(run, bench, "--json", "--seed", 1)
    a, b = Result.from_json(first.out), Result.from_json(other.out)
    keys = {"system": "S1", "readout": "generative", "criterion": "C1", "calibration": "none"}
    assert a.value("scores", "kappa_quadratic", keys) == b.value("scores", "kappa_quadratic", keys)


def test_csv_holds_every_row(run, bench):
    ended = score(run, bench, "--csv", "--no-gates")
    rows = ended.out.splitlines()
    assert rows[0].startswith("analysis,")
    assert any(",leave_one_out," in row for row in rows)


@pytest.mark.usefixtures("plain_pages")
def test_the_papers_preset_takes_the_papers_choices_and_a_named_one_wins(run, bench, tmp_path):
    args = ("score", bench / "answers.csv", bench / "ratings.csv", *SCALE, "--quiet", "--no-gates")
    ended = run(*args, "--preset", "readout-paper", "--replicates", 100, "--ties", "block", "--out", tmp_path / "out")
    assert ended.status == 0, ended.err
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["fit"], settings["target"], settings["ties"]) == ("oracle", "consensus", "block")
    assert settings["anchors"] == ["pairwise"]
    assert settings["replicates"] == 100


def test_help_names_our_default_and_the_papers_for_every_switch(run):
    ended = run("score", "--help")
    text = " ".join(ended.out.split())
    for switch in ("--statistic", "--calibrate", "--fit", "--target", "--ties", "--aggregate", "--anchors", "--over"):
        at = text.index(f"{switch} ")
        told = text[at : at + 600]
        assert "Paper:" in told, switch
        assert "default:" in told, switch


def test_columns_of_other_names_are_mapped_in_both_tables(run, bench, tmp_path):
    answers = pd.read_csv(bench / "answers.csv").rename(
        columns={"item": "image", "criterion": "emotion", "answer": "p", "system": "model"}
    )
    ratings = pd.read_csv(bench / "ratings.csv").rename(columns={"item": "image", "criterion": "emotion"})
    answers.to_csv(tmp_path / "a.csv", index=False)
    ratings.to_csv(tmp_path / "r.csv", index=False)
    renamed = run(
        "score", tmp_path / "a.csv", tmp_path / "r.csv", "--item", "image", "--criterion", "emotion", "--answer", "p",
        "--answer-system", "model", *SCALE, *FEW, "--json",
    )  # fmt: skip
    assert renamed.status == 0, renamed.err
    assert Result.from_json(renamed.out) == Result.from_json(score(run, bench, "--json").out)


def test_several_answers_tables_are_scored_side_by_side(run, bench, tmp_path):
    answers = pd.read_csv(bench / "answers.csv")
    for readout in ("verification", "generative"):
        answers[answers.readout == readout].to_csv(tmp_path / f"{readout}.csv", index=False)
    ended = run(
        "score", tmp_path / "verification.csv", bench / "ratings.csv", "--with", tmp_path / "generative.csv", *SCALE,
        *FEW, "--json",
    )  # fmt: skip
    assert ended.status == 0, ended.err
    found = Result.from_json(ended.out)
    assert {row.keys["readout"] for row in found["scores"]} == {"verification", "generative", "binarized"}


def test_forced_choice_against_labels(run, tmp_path):
    rng = np.random.default_rng(1)
    classes = ["anger", "fear", "joy"]
    items = pd.DataFrame(
        {"item": range(60), "label": rng.choice(classes, 60), "group": [f"p{i // 6}" for i in range(60)]}
    )
    graded = [
        ("S", row.item, name, rng.uniform(0, 0.6) + 0.4 * (name == row.label))
        for row in items.itertuples()
        for name in classes
    ]
    pd.DataFrame(graded, columns=["system", "item", "criterion", "answer"]).assign(readout="verification").to_csv(
        tmp_path / "graded.csv", index=False
    )
    items.to_csv(tmp_path / "items.csv", index=False)
    said = items.assign(system="S", answer=np.where(rng.random(60) < 0.6, items.label, "joy"), readout="generative")
    said[["system", "item", "answer", "readout"]].to_csv(tmp_path / "said.csv", index=False)
    ended = run(
        "score", tmp_path / "graded.csv", "--truth", tmp_path / "items.csv", "--with", tmp_path / "said.csv",
        "--replicates", 100, "--quiet", "--json",
    )  # fmt: skip
    assert ended.status == 0, ended.err
    result = Result.from_json(ended.out)
    accuracy = [row for row in result["forced_choice"] if row.statistic == "accuracy" and row.unit == "group"]
    assert {row.keys["readout"] for row in accuracy} == {"verification", "generative"}
    assert {"forced-choice-order", "forced-choice-readout"} <= {finding.id for finding in result.findings}


def test_gates_exit_with_1_if_one_fails_and_with_0_if_none_does(run, bench, tmp_path):
    answers = pd.read_csv(bench / "answers.csv")
    good = answers[answers.readout == "generative"]
    good.to_csv(tmp_path / "good.csv", index=False)
    fine = run("gates", tmp_path / "good.csv", "--ratings", bench / "ratings.csv", *SCALE, "--quiet")
    assert fine.status == 0, fine.out
    good.assign(answer=3).to_csv(tmp_path / "constant.csv", index=False)
    failed = run("gates", tmp_path / "constant.csv", "--quiet", "--out", tmp_path / "out")
    assert failed.status == 1
    assert "constant" in failed.out
    assert (tmp_path / "out" / "report.html").exists()


def test_strict_makes_a_failing_finding_the_exit_status(run, bench, tmp_path):
    answers = pd.read_csv(bench / "answers.csv")
    rng = np.random.default_rng(0)
    answers["answer"] = rng.permutation(answers["answer"].to_numpy())
    answers.drop(columns="log_odds").to_csv(tmp_path / "blind.csv", index=False)
    args = ("score", tmp_path / "blind.csv", bench / "ratings.csv", *SCALE, *FEW)
    assert run(*args).status == 0
    assert run(*args, "--strict").status == 1


ANSWERS = "system,item,answer\nS,1,2\nS,2,3\n"
RATINGS = "item,rater,rating\n1,A,2\n1,B,3\n2,A,1\n2,B,1\n"


@pytest.mark.parametrize(
    ("answers", "ratings", "args", "said"),
    [
        (ANSWERS, "item,rater,rating\n1,gold,2\n2,gold,3\n", SCALE, ["one rater", "--truth"]),
        (ANSWERS, RATINGS, (), ["scale", "--scale"]),
        (ANSWERS, RATINGS, ("--scale", "0:7", "--target", "consensus"), ["no step", "0:7:1"]),
        ("item,answer\n1,2\n", RATINGS, SCALE, ["no column 'system'"]),
        ("system,item,answer\nS,9,2\n", RATINGS, SCALE, ["no item has both", '"9"', '"1"']),
        ("system,item,answer\nS,1,two\n", RATINGS, SCALE, ["'two'", "data row 1", "not a number"]),
        ("system,item,answer,status\nS,1,2,broken\n", RATINGS, SCALE, ["'broken'", "data row 1", "refused"]),
        ("system,item,answer\nS,1,2\nS,1,3\n", RATINGS, SCALE, ["data rows 1 and 2", "--answer-repeats"]),
        (ANSWERS, RATINGS, (*SCALE, "--over", "group"), ["no item has a group", "--items"]),
        (ANSWERS, RATINGS, (*SCALE, "--reliable", "3"), ["reliable is 3"]),
        (ANSWERS, "item,rater,rating,system\n1,A,2,X\n1,B,3,X\n", SCALE, ["these ratings have systems"]),
    ],
)  # fmt: skip
def test_bad_input_gets_one_message(run, tmp_path, answers, ratings, args, said):
    (tmp_path / "a.csv").write_text(answers, encoding="utf-8")
    (tmp_path / "r.csv").write_text(ratings, encoding="utf-8")
    ended = run("score", tmp_path / "a.csv", tmp_path / "r.csv", *args, "--out", tmp_path / "out", "--quiet")
    assert_one_message(ended, *said)
    assert not (tmp_path / "out").exists()


def test_what_is_about_ratings_is_refused_beside_labels_and_the_label_column_can_be_named(run, tmp_path):
    items = pd.DataFrame({"item": range(6), "class": ["a", "b"] * 3})
    items.to_csv(tmp_path / "items.csv", index=False)
    items.rename(columns={"class": "answer"}).assign(system="S").to_csv(tmp_path / "said.csv", index=False)
    args = ("score", tmp_path / "said.csv", "--truth", tmp_path / "items.csv", "--quiet", "--replicates", 100)
    assert_one_message(run(*args), "--label class")
    assert_one_message(run(*args, "--label", "class", "--scale", "0:7"), "--scale is about ratings")
    assert_one_message(run(*args, "--label", "class", "--over", "rater"), "no raters to redraw")
    ended = run(*args, "--label", "class", "--json")
    assert ended.status == 0, ended.err
    assert Result.from_json(ended.out).value("forced_choice", "accuracy", {"class": "", "group": ""}) == 1


def test_the_functions_take_files_and_frames(bench, tmp_path):
    gated = measurand.gates(bench / "answers.csv", permutations=99)
    assert gated.findings
    items = pd.DataFrame({"item": range(6), "label": ["a", "b"] * 3})
    items.to_csv(tmp_path / "items.csv", index=False)
    said = items.rename(columns={"label": "answer"}).assign(system="S")
    for truth in (items, tmp_path / "items.csv"):
        assert measurand.forced_choice(said, truth, replicates=100).value(
            "forced_choice", "accuracy", {"class": "", "group": ""}
        ) == 1  # fmt: skip


def test_ratings_and_labels_at_once_or_neither_are_refused(run, bench):
    assert_one_message(run("score", bench / "answers.csv", *SCALE), "--truth")
    both = run("score", bench / "answers.csv", bench / "ratings.csv", "--truth", bench / "items.csv")
    assert_one_message(both, "--truth")


# Models as judges of outputs


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Ratings of the outputs of two systems by three raters, and what two models said of the same outputs."""
    folder = tmp_path_factory.mktemp("judged")
    rng = np.random.default_rng(5)
    cells = [(f"i{i}", system) for i in range(30) for system in ("red", "blue")]
    worth = rng.integers(1, 6, len(cells))

    def graded(noise):
        return np.clip(worth + rng.integers(-noise, noise + 1, len(cells)), 1, 5)

    given = [pd.DataFrame(cells, columns=["item", "system"]).assign(rater=r, rating=graded(1)) for r in "abc"]
    said = [
        pd.DataFrame(cells, columns=["item", "of"]).assign(system=judge, answer=graded(noise))
        for judge, noise in (("J1", 1), ("J2", 3))
    ]
    pd.concat(given).to_csv(folder / "ratings.csv", index=False)
    pd.concat(said).to_csv(folder / "answers.csv", index=False)
    return folder


JUDGED = ("--scale", "1:5:1", "--replicates", 100, "--over", "group")


def test_models_that_judged_outputs_are_scored_as_if_each_output_were_an_item_of_its_items_group(run, judged, tmp_path):
    """One independent way: ids and groups made by hand."""
    tables = (judged / "answers.csv", judged / "ratings.csv")
    ended = run("score", *tables, *JUDGED, "--system", "system", "--answer-rated", "of", "--json")
    assert ended.status == 0, ended.err
    for name, system in (("ratings.csv", "system"), ("answers.csv", "of")):
        frame = pd.read_csv(judged / name)
        frame["item"] += "|" + frame[system]
        frame.drop(columns=system).to_csv(tmp_path / name, index=False)
    outputs = pd.read_csv(tmp_path / "ratings.csv")["item"].unique()
    groups = pd.DataFrame({"item": outputs, "group": [one.split("|")[0] for one in outputs]})
    groups.to_csv(tmp_path / "items.csv", index=False)
    answers, ratings, items = (tmp_path / f"{name}.csv" for name in ("answers", "ratings", "items"))
    by_hand = run("score", answers, ratings, *JUDGED, "--items", items, "--json")
    assert ended.out == by_hand.out
    assert '"J1"' in ended.out


def test_a_judge_is_not_taken_for_the_system_that_it_judged(run, judged):
    tables = (judged / "answers.csv", judged / "ratings.csv")
    assert_one_message(run("score", *tables, *JUDGED), "--system names the ratings' column")
    assert_one_message(run("score", *tables, *JUDGED, "--system", "system"), "--answer-rated", "the judge")
    assert_one_message(run("score", *tables, *JUDGED, "--answer-rated", "of"), "--answer-rated goes with --system")
    assert_one_message(run("gates", tables[0], "--system", "system"), "no ratings")


def test_gates_ask_judges_of_outputs_too(run, judged):
    ended = run(
        "gates", judged / "answers.csv", "--ratings", judged / "ratings.csv", "--scale", "1:5:1", "--system", "system",
        "--answer-rated", "of", "--permutations", 99, "--replicates", 100, "--json",
    )  # fmt: skip
    assert "J2" in ended.out, ended.err
