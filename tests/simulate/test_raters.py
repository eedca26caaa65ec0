"""Simulated raters of faces: they agree as far as was declared, differ as their truth says, and the audit finds it."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from command_line import assert_one_message, runner
from measurand.auditing import agreement, design, raters, style
from measurand.auditing.findings import findings
from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError
from measurand.simulate import EXPRESSIONS, simulate_faces, simulate_raters
from measurand.simulate.raters_model import draw_panel, expected_kappa, rated, solve_noise
from measurand.simulate.raters_settings import CONFUSIONS, READOUT_PAPER

SOME = ("elation", "anger", "fear", "contentment", "sourness")
INTERVAL = Scale(0, 7, step=1, level="interval")
YES_NO = Scale(labels=["no", "yes"])


@pytest.fixture(scope="module")
def faces():
    return simulate_faces(n_items=1200, n_persons=40, seed=1, expressions=SOME)


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def alphas(ratings):
    result = agreement(read_ratings(ratings, scale=INTERVAL), replicates=100)
    rows = [row for row in result.select("agreement", "alpha_interval") if row.unit == "item"]
    return {row.keys["criterion"]: row.estimate for row in rows}


def careless(made):
    return [one["rater"] for one in made.truth["raters"] if one["is_careless"]]


# --- agreement --------------------------------------------------------------------------------------------------------


def test_measured_alpha_is_the_declared_one_high_and_next_to_nothing(faces):
    made = simulate_raters(faces, seed=2)
    found = alphas(made.ratings)
    for one in made.truth["criteria"]:
        assert abs(found[one["criterion"]] - one["reliability"]) < 0.06, one
    assert found["elation"] > 0.5
    assert abs(found["sourness"]) < 0.1
    assert 0.1 < (made.ratings["rating"] > 0).mean() < 0.3  # the first paper's raters named 8.14 of forty


def test_other_reliabilities_are_declared_and_found(faces):
    found = alphas(simulate_raters(faces, reliabilities=dict.fromkeys(SOME, 0.4), seed=2).ratings)
    assert all(abs(value - 0.4) < 0.06 for value in found.values()), found


def test_expected_kappa_is_that_of_the_joint_tables_of_each_pair():
    """Against 1 - observed / expected disagreement of tables summed cell by cell."""
    panel = draw_panel(4, 0.1, 0.3, 0.0, 1, 3)
    values, weights, noise, cuts = np.array([0.0, 0.3, 0.9]), np.array([0.6, 0.3, 0.1]), 0.3, (np.arange(3) + 0.5) / 3
    careful = np.flatnonzero(~panel.is_careless)
    reserve = stats.norm.ppf(0.85)
    joint = np.zeros((4, 4))
    for value, weight in zip(values, weights, strict=True):
        levels = {}
        for r in careful:
            spread = noise * panel.noise_factors[r]
            centre = panel.gains[r] * value + panel.severities[r, 2] - reserve * spread
            above = np.r_[1.0, stats.norm.sf((cuts - centre) / spread), 0.0]
            levels[r] = -np.diff(above)
        for a in careful:
            for b in careful:
                if a != b:
                    joint += weight * np.outer(levels[a], levels[b]) / 6
    squares = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    kappa = 1 - (squares * joint).sum() / (squares * np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()
    assert expected_kappa(noise, values, weights, panel, 2, cuts) == pytest.approx(kappa, abs=1e-12)


@settings(max_examples=20)
@given(st.floats(0.05, 0.8), st.floats(0.05, 0.6), st.integers(0, 50))
def test_the_solved_noise_has_the_reliability(target, share, seed):
    panel = draw_panel(5, 0.02, 0.1, 0.0, 0, seed)
    perceived = np.r_[np.zeros(100), np.linspace(0.01, 1, max(2, round(share * 100)))]
    cuts = (np.arange(7) + 0.5) / 7
    noise = solve_noise("fear", target, perceived, panel, 0, cuts)
    rounded, counts = np.unique(perceived.round(3), return_counts=True)
    assert expected_kappa(noise, rounded, counts / counts.sum(), panel, 0, cuts) == pytest.approx(target, abs=1e-8)


def test_a_reliability_of_zero_is_ratings_that_say_nothing(faces):
    made = simulate_raters(faces, reliabilities={**READOUT_PAPER, "fear": 0.0}, confusions={}, severity_sd=0.0, seed=3)
    one = made.ratings[made.ratings["criterion"] == "fear"]
    truth = faces.set_index("item")["fear"]
    assert abs(stats.spearmanr(one["rating"], truth[one["item"]])[0]) < 0.06
    other = made.ratings[made.ratings["criterion"] == "elation"]
    assert stats.spearmanr(other["rating"], faces.set_index("item")["elation"][other["item"]])[0] > 0.3


def test_more_reliability_than_there_can_be_is_refused_with_what_can_be(faces):
    with pytest.raises(MeasurandError, match=r"reliability 1 of elation is not attainable.* at most 0\.\d+ is"):
        simulate_raters(faces, reliabilities={**READOUT_PAPER, "elation": 1.0})


def test_a_criterion_that_no_face_shows_is_refused(faces):
    with pytest.raises(MeasurandError, match="show the same of fear"):
        simulate_raters(faces.assign(fear=0.0))


# --- who the raters are -----------------------------------------------------------------------------------------------


def test_ratings_follow_what_was_drawn(faces):
    made = simulate_raters(faces, seed=2)
    shares = made.ratings.groupby(["criterion", "item"], observed=True)["rating"].mean()
    for criterion in ("elation", "anger", "fear"):
        shown = faces[faces[criterion] > 0]
        assert stats.spearmanr(shares[criterion][shown["item"]], shown[criterion])[0] > 0.6, criterion


def test_what_is_confused_is_seen_and_without_confusions_it_is_not():
    faces = simulate_faces(n_items=600, n_persons=10, expressions=("fear", "astonishment"), seed=1)
    astonished = faces.loc[faces["astonishment"] > 0.6, "item"]
    means = []
    for confusions in ({"fear": {"astonishment": 0.4}, "anger": {"fear": 0.2}}, {}):
        made = simulate_raters(faces, confusions=confusions, seed=2)
        asked = made.ratings[(made.ratings["criterion"] == "fear") & made.ratings["item"].isin(astonished)]
        means.append(asked["rating"].mean())
        assert made.truth["confusions"] == {one: confusions[one] for one in ("fear",) if one in confusions}
    assert means[0] > means[1] + 0.5


def test_severe_raters_rate_lower_as_their_truth_says(faces):
    made = simulate_raters(faces, raters_per_item=8, severity_sd=0.15, gain_sd=0.0, drift_sd=0.0, seed=2)
    means = made.ratings.groupby(["rater", "criterion"], observed=True)["rating"].mean()
    for criterion in ("elation", "anger"):
        severities = [one["severities"][criterion] for one in made.truth["raters"]]
        found = [means[one["rater"], criterion] for one in made.truth["raters"]]
        assert stats.spearmanr(severities, found)[0] > 0.9


def test_yes_is_said_to_the_same_views_from_a_raters_own_threshold_on(faces):
    graded = simulate_raters(faces, seed=2)
    answers = simulate_raters(faces, scale=YES_NO, seed=2)
    keys = ["item", "rater", "criterion", "order"]
    pd.testing.assert_frame_equal(graded.ratings[keys], answers.ratings[keys])
    assert set(answers.ratings["rating"]) == {"no", "yes"}
    table = graded.ratings.assign(yes=answers.ratings["rating"] == "yes")
    for one in graded.truth["raters"]:
        own = table[table["rater"] == one["rater"]]
        # The view is within half a level of the rating, so that the threshold parts ratings but for one level.
        assert own.loc[own["rating"] > 7 * one["threshold"] + 0.5, "yes"].all()
        assert not own.loc[own["rating"] < 7 * one["threshold"] - 0.5, "yes"].any()
    assert read_ratings(answers.ratings, scale=YES_NO).frame["rating"].mean() == table["yes"].mean()


def test_who_saw_what_in_which_order(faces):
    ratings = simulate_raters(faces, seed=2).ratings
    seen = ratings.drop_duplicates(["item", "rater"])
    assert (seen.groupby("item", observed=True).size() == 4).all()
    assert len(ratings) == len(seen) * 5
    assert (ratings.groupby(["item", "rater"], observed=True)["order"].nunique() == 1).all()
    for _, own in seen.groupby("rater", observed=True):
        assert sorted(own["order"]) == list(range(1, len(own) + 1))
        assert own["order"].tolist() != sorted(own["order"])
    crossed = simulate_raters(faces[:50], n_raters=3, raters_per_item=3, seed=2).ratings
    assert (crossed.groupby("item", observed=True)["rater"].nunique() == 3).all()


def test_the_same_seed_gives_the_same_ratings_and_other_items_leave_who_sees_one_alone(faces):
    one, two = simulate_raters(faces[:200], seed=2), simulate_raters(faces[:200], seed=2)
    pd.testing.assert_frame_equal(one.ratings, two.ratings)
    assert json.dumps(one.truth) == json.dumps(two.truth)
    assert not one.ratings["rating"].equals(simulate_raters(faces[:200], seed=3).ratings["rating"])
    fewer = simulate_raters(faces[50:200], seed=2, drift_sd=0.0).ratings.set_index(["item", "rater", "criterion"])
    whole = simulate_raters(faces[:200], seed=2, drift_sd=0.0).ratings.set_index(["item", "rater", "criterion"])
    assert fewer.index.isin(whole.index).all()
    # Their noise is solved for anew and hardly another, its draws are the same.
    assert (fewer["rating"] == whole["rating"].reindex(fewer.index)).mean() > 0.9


def test_a_rater_is_the_same_person_in_a_larger_panel():
    small, large = (draw_panel(n, 0.1, 0.1, 0.1, 0, 5) for n in (3, 7))
    for field in ("gains", "noise_factors", "thresholds", "drifts", "severities"):
        assert np.array_equal(getattr(small, field), getattr(large, field)[:3])


@settings(max_examples=20)
@given(st.sampled_from([(0, 7, 1.0), (1, 5, 0.5), (-2, 2, 1.0), (0, 100, 1.0)]), st.integers(0, 3))
def test_ratings_are_on_the_scale(bounds, n_careless):
    faces = simulate_faces(n_items=40, n_persons=4, expressions=("fear",))
    scale = Scale(bounds[0], bounds[1], step=bounds[2])
    made = simulate_raters(faces, scale=scale, n_raters=6, n_careless=n_careless, seed=n_careless)
    assert scale.permitted(made.ratings["rating"].to_numpy()).all()
    assert len(careless(made)) == n_careless
    assert read_ratings(made.ratings, scale=scale).frame["rating"].min() == bounds[0]


@given(st.lists(st.floats(-1, 2), min_size=2, max_size=20))
def test_a_higher_view_is_never_rated_lower(views):
    steps = rated(np.sort(views)[:, None, None], (np.arange(7) + 0.5) / 7).ravel()
    assert (np.diff(steps) >= 0).all()
    assert steps.tolist() == [int(np.clip(np.ceil(7 * view - 0.5), 0, 7)) for view in np.sort(views)]


# --- what the audit finds ---------------------------------------------------------------------------------------------


def verdicts(ratings, name):
    table = read_ratings(ratings, scale=INTERVAL, order="order")
    return [one for one in findings(design(table) + raters(table) + style(table)) if one.id == name]


def test_the_audit_finds_the_careless_rater_and_none_where_there_is_none(faces):
    few = faces.loc[:299, ["item", "elation"]]
    made = simulate_raters(few, n_careless=1, seed=3)
    (name,) = careless(made)
    (found,) = verdicts(made.ratings, "straight-lining")
    assert found.verdict == "warn"
    assert name in found.statement
    others = simulate_raters(few, seed=3)
    assert careless(others) == []
    (found,) = verdicts(others.ratings, "straight-lining")
    assert found.verdict == "pass"
    stretch = next(one["stretch"] for one in made.truth["raters"] if one["is_careless"])
    own = made.ratings[(made.ratings["rater"] == name)].sort_values("order")
    inside = own[own["order"].between(stretch["first"], stretch["last"])]
    assert set(inside["rating"]) == {stretch["rating"]} != {0.0}
    assert inside["item"].nunique() == round(0.25 * own["item"].nunique())


def test_a_careless_rater_lowers_agreement_and_leaves_that_of_the_others(faces):
    made = simulate_raters(faces[["item", "elation"]], n_careless=1, seed=2)
    others = made.ratings[~made.ratings["rater"].isin(careless(made))]
    assert abs(alphas(others)["elation"] - READOUT_PAPER["elation"]) < 0.06
    assert alphas(made.ratings)["elation"] < alphas(others)["elation"] - 0.03


def test_the_audit_finds_drift_and_none_where_there_is_none(faces):
    few = faces.loc[:299, ["item", "elation"]]
    (steady,) = verdicts(simulate_raters(few, drift_sd=0.0, seed=2).ratings, "severity-drift")
    assert steady.verdict == "pass"
    made = simulate_raters(few, drift_sd=0.4, seed=2)
    (drifting,) = verdicts(made.ratings, "severity-drift")
    assert drifting.verdict == "fail"
    largest = sorted(made.truth["raters"], key=lambda one: -abs(one["drift"]))[:3]
    assert any(one["rater"] in drifting.statement for one in largest)


# --- refusals and the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_raters": 1}, "n_raters is 1"),
        ({"raters_per_item": 1}, "2 to 8"),
        ({"raters_per_item": 9}, "2 to 8"),
        ({"n_careless": 7}, "at least two raters are careful"),
        ({"seed": -1}, "seed is -1"),
        ({"severity_sd": -0.1}, "severity_sd"),
        ({"drift_sd": np.inf}, "drift_sd"),
        ({"gain_sd": np.nan}, "gain_sd"),
        ({"scale": Scale(0, 7)}, "no step"),
        ({"scale": Scale(labels=["no", "some", "yes"])}, "3 labels"),
        ({"reliabilities": {"elation": 0.5}}, "no reliability for contentment, anger, fear, sourness"),
        ({"reliabilities": {**READOUT_PAPER, "joy": 0.5}}, "'joy'"),
        ({"reliabilities": {**READOUT_PAPER, "fear": 1.5}}, "reliability 1.5 of fear"),
        ({"confusions": {"fear": {"joy": 0.5}}}, "confusions of fear: no expression 'joy'"),
        ({"confusions": {"fear": {"fear": 0.5}}}, "another expression"),
        ({"confusions": {"fear": {"anger": 2.0}}}, "is 2"),
    ],
)
def test_wrong_settings_are_refused(faces, options, said):
    with pytest.raises(MeasurandError, match=said):
        simulate_raters(faces[:50], **options)


def test_the_papers_reliabilities_are_for_every_expression():
    assert set(READOUT_PAPER) == set(CONFUSIONS) == set(EXPRESSIONS)


def test_the_published_alphas_are_the_preset(shared):
    text = (shared / "methods.md").read_text(encoding="utf-8")
    cells = [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in line.split("|")]
    found = {}
    for name, value in itertools.pairwise(cells):
        short = name.rstrip("*").partition("/")[0].lower()
        if short in READOUT_PAPER and short not in found and value.startswith("."):
            found[short] = float(value)
    assert found == READOUT_PAPER


def test_the_command_writes_ratings_and_truth_that_can_be_read(run, tmp_path, faces):
    faces[:100].drop(columns=["image", "group", "split"]).to_csv(tmp_path / "truth.csv", index=False)
    out = tmp_path / "ratings.csv"
    args = ("simulate", "raters", tmp_path / "truth.csv", "--out", out, "--seed", 2)
    ended = run(*args, "--careless", 1, "--reliability", "fear=.5")
    assert ended.status == 0, ended.err
    assert ended.out == ""
    assert "2,000 ratings" in ended.err
    truth = json.loads((tmp_path / "ratings.truth.json").read_text(encoding="utf-8"))
    assert list(truth.pop("files")) == ["ratings.csv"]
    assert [one["reliability"] for one in truth["criteria"] if one["criterion"] == "fear"] == [0.5]
    table = read_ratings(out, scale=INTERVAL, order="order")
    made = simulate_raters(faces[:100], reliabilities={**READOUT_PAPER, "fear": 0.5}, n_careless=1, seed=2)
    assert truth == json.loads(json.dumps(made.truth))
    assert table.frame["rating"].tolist() == made.ratings["rating"].tolist()
    assert run(*args, "--labels", "no,yes").status == 0
    assert set(pd.read_csv(out)["rating"]) == {"no", "yes"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--reliability", "fear"], "name=number"),
        (["--reliability", "joy=.5"], "'joy'"),
        (["--raters-per-item", "9"], "2 to 8"),
        (["--scale", "0:7"], "no step"),
        (["--labels", "no"], "two"),
    ],
)
def test_a_refused_command_leaves_nothing_behind(run, tmp_path, faces, options, said):
    faces[:50].to_csv(tmp_path / "truth.csv", index=False)
    out = tmp_path / "new" / "ratings.csv"
    assert_one_message(run("simulate", "raters", tmp_path / "truth.csv", "--out", out, *options), said)
    assert [path.name for path in tmp_path.iterdir()] == ["truth.csv"]


def test_a_table_without_intensities_is_refused_by_the_command(run, tmp_path):
    (tmp_path / "items.csv").write_text("item,image\na,a.png\n", encoding="utf-8")
    ended = run("simulate", "raters", tmp_path / "items.csv", "--out", tmp_path / "ratings.csv")
    assert_one_message(ended, "no intensities", "truth.csv")
