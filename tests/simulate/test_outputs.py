"""Simulated outputs: what their truth says of emoji, labels, tokens and ratings is what is found in them."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import assert_one_message, runner
from measurand.data import read_outputs, read_ratings
from measurand.data.text import emoji, graphemes
from measurand.result import MeasurandError
from measurand.simulate import SimulatedLanguage, SimulatedSystem, default_systems, simulate_outputs
from measurand.simulate.outputs_model import common, dealt, expected_rating, of_labels, rate
from measurand.simulate.outputs_settings import EMOJI, FLAGS
from measurand.stats.inference import stream


@pytest.fixture(scope="module")
def made():
    return simulate_outputs(n_items=600, seed=11)


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def test_every_emoji_is_one_and_no_flag_is_among_the_others():
    assert all(emoji(one) == [one] for one in (*EMOJI, *FLAGS))
    assert len(set(EMOJI) | set(FLAGS)) == len(EMOJI) + len(FLAGS) == 60 + 676
    # Two flags that stand side by side are cut where they were joined.
    assert graphemes("".join(FLAGS[:5])) == list(FLAGS[:5])


def test_the_tables_are_ones_that_the_library_reads(made):
    outputs = read_outputs(made.outputs)
    assert (len(outputs), outputs.systems, outputs.languages) == (
        3600,
        ["S1", "S2", "S3", "S4", "S-long", "S-same"],
        ["Bangla", "English"],
    )
    ratings = read_ratings(made.ratings)
    assert len(ratings.frame) == 600 * 6 * 4
    assert set(made.ratings["rating"]) <= {1, 2, 3, 4, 5}
    assert json.loads(json.dumps(made.truth)) == made.truth


def test_the_same_seed_gives_the_same_tables_and_another_one_others():
    one, two, other = (simulate_outputs(n_items=40, truth_draws=1000, seed=seed) for seed in (5, 5, 6))
    assert one.outputs.equals(two.outputs)
    assert one.ratings.equals(two.ratings)
    assert one.truth == two.truth
    assert not one.outputs["text"].equals(other.outputs["text"])


def test_another_system_leaves_the_others_alone():
    systems = default_systems(4)
    few = simulate_outputs(n_items=40, systems=systems[:2], truth_draws=1000, seed=5)
    more = simulate_outputs(n_items=40, systems=systems, truth_draws=1000, seed=5)
    names = [one.name for one in systems[:2]]
    for a, b in ((few.outputs, more.outputs), (few.ratings, more.ratings)):
        assert a.equals(b[b["system"].isin(names)].reset_index(drop=True))
    assert few.truth["systems"] == more.truth["systems"][:2]


# --- emoji and labels -------------------------------------------------------------------------------------------------


def test_labels_have_their_shares_in_every_language_and_the_floor_is_the_papers(made):
    shares = made.outputs.drop_duplicates("item").groupby("language")["label"].value_counts(normalize=True)
    for language in ("Bangla", "English"):
        found = [shares[language][label] for label in made.truth["labels"]]
        assert found == pytest.approx(made.truth["label_shares"], abs=1 / 300)
    assert round(made.truth["floor"]["macro_f1"], 3) == 0.087


@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=8), st.integers(1, 500))
def test_dealt_labels_are_as_many_as_asked_and_within_one_of_their_shares(weights, n):
    shares = np.array(weights) / sum(weights)
    counts = np.bincount(dealt(shares, n), minlength=len(shares))
    assert counts.sum() == n
    assert (np.abs(counts - shares * n) < 1 + 1e-6).all()


def test_one_system_never_changes_and_is_at_the_floor_whatever_its_quality(made):
    same = made.outputs.loc[made.outputs["system"] == "S-same", "text"]
    assert set(same) == {"😂🙏✨"}
    about = {one["system"]: one for one in systems_of(made)}["S-same"]
    assert about["quality"] == max(one["quality"] for one in systems_of(made))
    assert {one["macro_f1"] for one in about["languages"]} == {made.truth["floor"]["macro_f1"]}


def systems_of(made):
    return [one | {"system": one["name"]} for one in made.truth["systems"]]


def test_lengths_and_signatures_are_those_of_the_truth(made):
    signature = {one["item"]: one["signature"] for one in made.truth["items"]}
    assert len(set(signature.values())) == 600
    for one in systems_of(made):
        if one["always"]:
            continue
        here = made.outputs[made.outputs["system"] == one["name"]]
        clusters = [graphemes(text) for text in here["text"]]
        counts = np.array([len(row) for row in clusters])
        assert counts.min() >= 1
        assert counts.max() <= 5
        assert abs(counts.mean() - one["length"]) < 4 * counts.std() / np.sqrt(600), one["name"]
        own = [
            [cluster == signature[item] for cluster in row] for item, row in zip(here["item"], clusters, strict=True)
        ]
        n = counts.sum()
        measured = sum(map(sum, own)) / n
        assert abs(measured - 0.15) < 4 * np.sqrt(0.15 * 0.85 / n), one["name"]
        others = [c for item, row in zip(here["item"], clusters, strict=True) for c in row if c != signature[item]]
        assert set(others) <= set(EMOJI)


def test_the_best_rule_gets_right_what_the_truth_says(made):
    """Read the texts back with the known distributions: an independent count of what is decodable."""
    for language, shift in (("English", 0.0), ("Bangla", 0.3)):
        given_label = of_labels(5, shift)
        for one in systems_of(made):
            if one["always"]:
                continue
            log = np.log(one["signal"] * given_label + (1 - one["signal"]) * common())
            here = made.outputs.query("system == @one['name'] and language == @language")
            right = []
            for text, label in zip(here["text"], here["label"], strict=True):
                seen = [EMOJI.index(c) for c in graphemes(text) if c in EMOJI]
                chosen = (log[:, seen].sum(axis=1) + np.log(made.truth["label_shares"])).argmax()
                right.append(made.truth["labels"][chosen] == label)
            truth = next(known for known in one["languages"] if known["language"] == language)
            error = np.sqrt(truth["accuracy"] * (1 - truth["accuracy"]) / len(right))
            assert abs(np.mean(right) - truth["accuracy"]) < 4 * error, (one["name"], language)
            assert made.truth["floor"]["macro_f1"] < truth["macro_f1"] < 1
            assert all(known < truth["accuracy"] + 0.01 for known in truth["transfer"].values())


def test_more_signal_and_more_length_are_more_decodable(made):
    best = {one["name"]: one["languages"][0]["macro_f1"] for one in systems_of(made)}
    assert best["S1"] > best["S2"] > best["S3"] > best["S4"] > best["S-same"]
    assert best["S-long"] > best["S3"] + 0.05  # as much signal, more emoji


def test_without_signal_nothing_is_decodable_and_with_signature_alone_neither():
    blind = [SimulatedSystem("A", signal=0.0), SimulatedSystem("B", signal=0.9)]
    made = simulate_outputs(systems=blind, languages=["English"], item_signature=1.0, truth_draws=5000)
    assert {one["languages"][0]["accuracy"] for one in systems_of(made)} == {0.278}
    texts = made.outputs.groupby("item")["text"].agg(lambda t: {c for text in t for c in graphemes(text)})
    assert all(len(seen) == 1 for seen in texts)


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_token_means_are_those_of_the_truth(made):
    for one in systems_of(made):
        here = made.outputs[made.outputs["system"] == one["name"]]
        for known in one["languages"]:
            rows = here[here["language"] == known["language"]]
            beyond = (
                rows["prompt_tokens"] - one["template_tokens"] - known["tokens_per_character"] * rows["source_chars"]
            )
            assert abs(beyond.mean()) < 4 * beyond.std() / np.sqrt(len(rows))
        visible = here["completion_tokens"] - here["reasoning_tokens"]
        length = here["text"].map(lambda text: len(graphemes(text)))
        beyond = visible - one["tokens_per_emoji"] * length
        assert abs(beyond.mean()) <= 4 * beyond.std() / np.sqrt(len(here))
        assert beyond.abs().max() < 1
        reasoning = here["reasoning_tokens"]
        assert abs(reasoning.mean() - one["reasoning_tokens"]) <= 4 * reasoning.std() / np.sqrt(len(here))


def test_sources_have_the_lengths_and_bytes_of_their_language_and_are_the_same_for_all_systems(made):
    source = made.outputs.groupby("item")[["source_chars", "source_bytes", "source_words"]].nunique()
    assert (source == 1).all(axis=None)
    one = made.outputs.drop_duplicates("item")
    sums = one.groupby("language")[["source_chars", "source_bytes"]].sum()
    width = sums["source_bytes"] / sums["source_chars"]
    assert width["English"] == 1
    assert width["Bangla"] == pytest.approx(2.64, abs=0.05)
    assert one.groupby("language")["source_chars"].mean()["Bangla"] == pytest.approx(60, rel=0.15)


# --- ratings ----------------------------------------------------------------------------------------------------------


def test_raters_slopes_on_length_are_those_of_the_truth(made):
    """Two-way demeaned least squares of each rater's ratings, by a route of its own."""
    table = made.ratings.merge(made.outputs[["item", "system", "text"]], on=["item", "system"])
    table["n"] = table["text"].map(lambda text: len(graphemes(text)))
    for known in made.truth["raters"]:
        here = table[table["rater"] == known["rater"]]
        x, y = (here.pivot(index="item", columns="system", values=name) for name in ("n", "rating"))
        x, y = ((v - v.mean()).sub((v - v.mean()).mean(axis=1), axis=0).to_numpy() for v in (x, y))
        slope = (x * y).sum() / (x * x).sum()
        error = np.sqrt(((x * (y - slope * x)).sum(axis=1) ** 2).sum()) / (x * x).sum()
        assert abs(slope - known["expected_slope"]) < 4 * error, known
        assert 0.8 * known["length_slope"] < known["expected_slope"] < known["length_slope"]


def test_mean_ratings_are_those_of_the_truth_and_length_alone_lifts_a_system(made):
    found = made.ratings.groupby("system")["rating"].agg(["mean", "std", "size"])
    for one in systems_of(made):
        row = found.loc[one["name"]]
        assert abs(row["mean"] - one["mean_rating"]) < 4 * row["std"] / np.sqrt(row["size"])
    about = {one["name"]: one for one in systems_of(made)}
    assert about["S-long"]["quality"] < about["S1"]["quality"]
    long = simulate_outputs(n_items=600, seed=11, length_slopes=[0.0] * 4, truth_draws=0)
    without = {one["name"]: one["mean_rating"] for one in systems_of(long)}
    assert about["S-long"]["mean_rating"] - without["S-long"] > 0.2
    assert without["S1"] > without["S-long"]


def test_the_expectation_of_a_rating_is_the_mean_of_many():
    opinion = np.linspace(-1, 7, 9)
    drawn = rate(np.tile(opinion, (20_000, 1)), 0.7, stream(1, "test"))
    assert expected_rating(opinion, 0.7) == pytest.approx(drawn.mean(axis=0), abs=0.03)
    assert expected_rating(opinion, 0.0).tolist() == rate(opinion, 0.0, stream(1, "test")).tolist()


def test_length_that_never_varies_has_no_expected_slope():
    made = simulate_outputs(n_items=20, systems=[SimulatedSystem("A", length=5.0)], truth_draws=0)
    assert {one["expected_slope"] for one in made.truth["raters"]} == {None}


# --- sizes and faults -------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    n_items=st.integers(30, 60),
    n_systems=st.integers(3, 12),
    languages=st.sampled_from([["English"], ["Hindi", "Bangla"], ["English", "Bangla", "Hindi"]]),
    n_labels=st.integers(2, 8),
    n_raters=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_tables_of_any_size_are_complete(n_items, n_systems, languages, n_labels, n_raters, seed):
    labels = [f"label {i}" for i in range(n_labels)]
    sizes = {"n_items": n_items, "n_systems": n_systems, "n_raters": n_raters}
    made = simulate_outputs(**sizes, languages=languages, labels=labels, truth_draws=0, seed=seed)
    assert len(made.outputs) == n_items * n_systems == len(made.outputs.drop_duplicates(["item", "system"]))
    assert set(made.outputs["language"]) == set(languages)
    assert set(made.outputs["label"]) <= set(labels)
    assert (made.outputs["text"] != "").all()
    assert (made.outputs["source_bytes"] >= made.outputs["source_chars"]).all()
    assert (made.outputs[["prompt_tokens", "completion_tokens", "reasoning_tokens"]] >= 0).all(axis=None)
    if n_raters:
        assert len(made.ratings) == n_items * n_systems * n_raters
    else:
        assert made.ratings is None
    assert {one["name"]: one["signal"] for one in made.truth["systems"]}["S-same"] == 0


def test_a_language_of_ones_own():
    tongue = SimulatedLanguage("Klingon", 100.0, 2.0, 0.7)
    made = simulate_outputs(n_items=40, languages=[tongue], n_raters=0, truth_draws=0)
    assert set(made.outputs["language"]) == {"Klingon"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n_items": 15}, "at least 10 for each of the 2 languages"),
        ({"n_systems": 2}, "at least 3"),
        ({"systems": []}, "at least one"),
        ({"systems": [SimulatedSystem("A"), SimulatedSystem("A")]}, "'A' is there twice"),
        ({"systems": [SimulatedSystem("A", signal=1.2)]}, "signal of A is 1.2; give 0 to 1"),
        ({"systems": [SimulatedSystem("A", length=6)]}, "length of A is 6; give 1 to 5"),
        ({"systems": [SimulatedSystem("A", token_factor=-1)]}, "token_factor of A"),
        ({"languages": ["French"]}, "known are English, Bangla, Hindi"),
        ({"languages": "English"}, "sequence"),
        ({"languages": [SimulatedLanguage("x", 50, 4.0, 0.3)]}, "bytes_per_character of x is 4"),
        ({"labels": ["joy"]}, "give 2 to 8"),
        ({"labels": ["joy", "joy"]}, "'joy' is there twice"),
        ({"label_shares": [0.5, 0.6]}, "one share for each of the 5 labels"),
        ({"item_signature": 1.5}, "item_signature is 1.5; give 0 to 1"),
        ({"language_shift": -1}, "language_shift"),
        ({"n_raters": -1}, "n_raters is -1"),
        ({"n_raters": 3, "length_slopes": [0.1]}, "1 length_slopes for 3 raters"),
        ({"noise_sd": -1}, "noise_sd is -1; give a finite number of 0 or more"),
        ({"truth_draws": 10}, "at least 1,000"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_makes_no_table_is_refused(asked, said):
    with pytest.raises(MeasurandError, match=said):
        simulate_outputs(**asked)


# --- the command ------------------------------------------------------------------------------------------------------

SMALL = ("--items", 40, "--truth-draws", 1000)


def test_the_command_writes_what_the_function_returns(run, tmp_path):
    out = tmp_path / "made"
    ended = run("simulate", "outputs", *SMALL, "--seed", 3, "--length-slope", 0.5, "--raters", 1, "--out", out)
    assert (ended.status, ended.out) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["outputs.csv", "ratings.csv", "truth.json"]
    made = simulate_outputs(n_items=40, truth_draws=1000, seed=3, length_slopes=[0.5], n_raters=1)
    assert pd.read_csv(out / "outputs.csv").equals(made.outputs.astype(pd.read_csv(out / "outputs.csv").dtypes))
    truth = json.loads((out / "truth.json").read_text(encoding="utf-8"))
    assert sorted(truth.pop("files")) == ["outputs.csv", "ratings.csv"]
    assert truth == made.truth


def test_the_command_without_raters_writes_no_ratings(run, tmp_path):
    out = tmp_path / "made"
    options = ("--raters", 0, "--language", "Hindi", "--label", "yes", "--label", "no", "--systems", 3)
    assert run("simulate", "outputs", *SMALL, *options, "--out", out).status == 0
    assert sorted(path.name for path in out.iterdir()) == ["outputs.csv", "truth.json"]
    table = read_outputs(out / "outputs.csv")
    assert (table.languages, table.systems) == (["Hindi"], ["S1", "S-long", "S-same"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--language", "French"), "known are English"),
        (("--item-signature", "2"), "item_signature"),
        (("--length-slope", "0.1"), "length_slopes"),
    ],
)
def test_a_refused_command_leaves_nothing_behind(run, tmp_path, options, said):
    assert_one_message(run("simulate", "outputs", *SMALL, *options, "--out", tmp_path / "made"), said)
    assert list(tmp_path.iterdir()) == []
