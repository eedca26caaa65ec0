"""Do ratings follow length? Planted effects, brute force, and real ratings with real lengths."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import audit, length
from measurand.data.outputs import read_outputs
from measurand.result import MeasurandError, Result

FEW = {"replicates": 200}


def made(n_items=40, n_systems=4, n_raters=3, *, slopes=(0.0, 0.0, 0.0), quality=(0.0,) * 4, seed=0, noise=0.7):
    """Return ratings that follow length by a slope of each rater, and the lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, (n_items, n_systems)) + np.arange(n_systems) // 2
    rating = 3 + np.array(slopes) * lengths[:, :, None] + np.array(quality)[:, None]
    rating = rating + rng.normal(0, 0.5, (n_items, 1, 1)) + noise * rng.normal(size=(n_items, n_systems, n_raters))
    item, system, rater = np.indices(rating.shape).reshape(3, -1)
    ratings = pd.DataFrame(
        {
            "item": [f"i{i:03d}" for i in item],
            "system": [f"S{s + 1}" for s in system],
            "rater": [f"R{r + 1}" for r in rater],
            "rating": rating.ravel().round(2),
        }
    )
    item, system = np.indices(lengths.shape).reshape(2, -1)
    outputs = pd.DataFrame(
        {"item": [f"i{i:03d}" for i in item], "system": [f"S{s + 1}" for s in system], "length": lengths.ravel()}
    )
    return ratings, outputs


def value(result, statistic, **keys):
    together = {"rater": "", "system": "", "opponent": ""}
    return result.value("length", statistic, together | keys)


# --- Between systems --------------------------------------------------------------------------------------------------


def test_between_systems_it_is_the_regression_of_mean_ratings_on_mean_lengths():
    ratings, outputs = made(quality=(0.0, 0.4, 0.1, 0.9))
    found = length(ratings, outputs, **FEW)
    x = outputs.groupby("system")["length"].mean()
    y = ratings.groupby("system")["rating"].mean()
    model = {"model": "between_systems"}
    assert value(found, "r_squared", **model) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert value(found, "slope", **model) == pytest.approx(np.polyfit(x, y, 1)[0])
    assert value(found, "spearman", **model) == pytest.approx(x.rank().corr(y.rank()))
    own = ratings[ratings.rater == "R2"].groupby("system")["rating"].mean()
    assert value(found, "spearman", rater="R2", **model) == pytest.approx(x.rank().corr(own.rank()))
    for name, row in x.items():
        assert value(found, "mean_length", system=name) == pytest.approx(row)


def test_intervals_over_systems_are_wider_than_those_over_items():
    ratings, outputs = made(quality=(0.0, 0.4, 0.1, 0.9))
    rows = length(ratings, outputs, **FEW).select("length", "spearman", {"model": "between_systems", "rater": ""})
    units = {row.unit: row for row in rows}
    assert set(units) == {"system", "item", "item+rater"}
    assert units["system"].high - units["system"].low > units["item"].high - units["item"].low
    assert units["system"].attainable_p == pytest.approx(2 / 24)
    assert "these systems" in units["item"].note
    assert "too narrow" in units["item+rater"].note
    assert len({row.estimate for row in rows}) == 1


def test_six_real_systems_are_ordered_against_their_length(shared):
    folder = shared / "data" / "simpeval_2022"
    found = length(folder / "ratings.csv", folder / "outputs.csv", **FEW)
    row = found.select("length", "spearman", {"model": "between_systems", "rater": ""})[0]
    assert row.estimate == pytest.approx(-0.657, abs=0.0005)
    assert (round(row.low, 2), round(row.high, 2)) == (-0.97, 0.43)
    assert found.settings["length"]["unit_of_length"] == "length"


# --- Judgements -------------------------------------------------------------------------------------------------------


def test_one_rater_who_follows_length_makes_no_slope_of_raters():
    ratings, outputs = made(slopes=(0.0, 0.0, 0.6), n_items=80)
    found = length(ratings, outputs, **FEW)
    usual, random = (
        found.select("length", "slope", {"model": model, "rater": ""})[0]
        for model in ("judgement", "judgement+rater_slope")
    )
    assert usual.p < 1e-6
    assert usual.low < 0.2 < usual.high
    assert random.p > 0.1
    assert random.low < usual.low
    assert random.df2 < 3
    assert value(found, "slope_sd_between_raters", model="judgement+rater_slope") == pytest.approx(0.35, abs=0.08)
    (test,) = found.select("length", "slopes_differ_f", {"model": "judgement"})
    assert test.p < 1e-6
    own = {row.keys.get("rater", ""): row for row in found.select("length", "slope", {"model": "judgement"})}
    assert own["R3"].low < 0.6 < own["R3"].high
    assert own["R3"].p_adjusted < 0.001 < own["R1"].p_adjusted
    (mean,) = found.select("length", "slope", {"model": "mean_of_raters"})
    assert mean.df2 == 2
    assert mean.estimate == pytest.approx(np.mean([own[name].estimate for name in ("R1", "R2", "R3")]))


def test_published_slopes_of_three_raters_show_nothing_for_others():
    # A line without error for each rater: the mean is .130 and its error .1044, as the slopes alone give.
    slopes = np.array([0.085, -0.024, 0.329])
    ratings, outputs = made(slopes=slopes, noise=1e-9, n_items=60)
    (mean,) = length(ratings, outputs, **FEW).select("length", "slope", {"model": "mean_of_raters"})
    assert mean.estimate == pytest.approx(0.130, abs=0.03)
    assert (mean.high - mean.estimate) / 4.302653 == pytest.approx(slopes.std(ddof=1) / math.sqrt(3), abs=0.005)
    assert mean.p > 0.2


def test_items_that_ask_for_length_do_not_count_within_items():
    ratings, outputs = made(n_items=60)
    offset = {f"i{k:03d}": k % 5 for k in range(60)}
    longer = outputs.assign(length=outputs["length"] + outputs["item"].map(offset))
    better = ratings.assign(rating=ratings["rating"] + ratings["item"].map(offset))
    found = length(better, longer, **FEW)
    plain = found.select("length", "slope", {"model": "judgement", "rater": "R1"})[0]
    within = found.select("length", "slope", {"model": "judgement_within_item", "rater": "R1"})[0]
    assert plain.estimate > 0.4
    assert abs(within.estimate) < 0.2


def test_systems_that_write_more_do_not_count_within_systems():
    ratings, outputs = made(n_items=60)
    extra = {"S1": 0, "S2": 2, "S3": 4, "S4": 6}
    longer = outputs.assign(length=outputs["length"] + outputs["system"].map(extra))
    better = ratings.assign(rating=ratings["rating"] + 0.5 * ratings["system"].map(extra))
    found = length(better, longer, **FEW)
    assert value(found, "slope", model="judgement+rater_slope") > 0.3
    assert abs(value(found, "slope", model="judgement+rater_slope_within_system")) < 0.15


# --- At equal length --------------------------------------------------------------------------------------------------


def brute_force(ratings, outputs, tolerance, *, of_means=False, ties="half"):
    """Return wins and comparisons of each system, and matched and possible pairs, by going through everything."""
    lengths = outputs.set_index(["item", "system"])["length"]
    table = ratings.pivot_table(index=["item", "system"], columns="rater", values="rating")
    wins, tried = dict.fromkeys(outputs["system"].unique(), 0.0), dict.fromkeys(outputs["system"].unique(), 0.0)
    matched = possible = 0
    for item, here in table.groupby("item"):
        for a, b in itertools.combinations(sorted(here.index.get_level_values("system")), 2):
            one, other = here.loc[(item, a)], here.loc[(item, b)]
            both = one.notna() & other.notna()
            if not both.any():
                continue
            possible += 1
            gap = abs(lengths[item, a] - lengths[item, b])
            if gap > tolerance * max(lengths[item, a], lengths[item, b]) + 1e-9:
                continue
            matched += 1
            differences = (one - other)[both]
            differences = [differences.mean()] if of_means else list(differences)
            for difference in differences:
                difference = 0.0 if abs(difference) < 1e-9 else difference
                if difference == 0 and ties == "dropped":
                    continue
                won = 0.5 if difference == 0 else float(difference > 0)
                for name, part in ((a, won), (b, 1 - won)):
                    wins[name] += part
                    tried[name] += 1
    return {name: wins[name] / tried[name] for name in wins if tried[name]}, matched, possible


@pytest.mark.parametrize("tolerance", [0.0, 0.25])
@pytest.mark.parametrize("ties", ["half", "dropped"])
def test_matched_win_rates_are_counted_as_brute_force_counts_them(tolerance, ties):
    ratings, outputs = made(quality=(0.0, 0.4, 0.1, 0.9))
    ratings["rating"] = ratings["rating"].round()
    ratings = ratings.sample(frac=0.8, random_state=1)
    found = length(ratings, outputs, tolerances=[tolerance], **FEW)
    for model, of_means in (("matched", False), ("panel_mean", True)):
        rates, matched, possible = brute_force(ratings, outputs, tolerance, of_means=of_means, ties=ties)
        for name, rate in rates.items():
            assert value(found, "win_rate_matched", model=model, ties=ties, system=name) == pytest.approx(rate)
    assert value(found, "n_matched") == matched
    assert value(found, "matched_share") == pytest.approx(matched / possible)


def test_a_win_rate_has_three_intervals_and_says_what_each_takes_for_a_sample():
    ratings, outputs = made(quality=(0.0, 0.4, 0.1, 0.9))
    rows = length(ratings, outputs, **FEW).select(
        "length", "win_rate_matched", {"model": "matched", "ties": "half", "system": "S4", "rater": ""}
    )
    assert [row.unit for row in rows] == ["comparison", "item", "rater"]
    assert "taken for independent" in rows[0].note
    assert "three" not in rows[2].note
    assert "there are 3" in rows[2].note
    for row in rows:
        assert row.low < row.estimate < row.high
        assert "no bias by itself" in row.note


def test_an_order_that_is_all_length_is_gone_at_equal_length():
    ratings, outputs = made(slopes=(0.8, 0.8, 0.8), n_items=150)
    found = length(ratings, outputs, **FEW)
    assert value(found, "r_squared", model="between_systems") > 0.9
    for name in ("S1", "S2", "S3", "S4"):
        assert value(found, "win_rate_matched", model="matched", ties="half", system=name) == pytest.approx(
            0.5, abs=0.1
        )
    keys = {"model": "matched", "ties": "half"}
    drawn = found.select("length", "spearman_drawn_raw", keys)[0]
    assert drawn.estimate > value(found, "spearman_matched_raw", **keys) - 0.3


def test_an_order_of_quality_stays_at_equal_length():
    ratings, outputs = made(quality=(1.2, 0.8, 0.4, 0.0), n_items=100)
    found = length(ratings, outputs, **FEW)
    assert value(found, "spearman_matched_raw", model="adjusted", ties="half") == 1
    assert value(found, "share_winner_kept", model="adjusted", ties="half") > 0.9
    first = found.select("length", "rank", {"model": "adjusted", "ties": "half", "system": "S1"})
    assert [row.estimate for row in first] == [1.0]


def test_lengths_that_are_seldom_equal_get_bands():
    ratings, outputs = made()
    whole = outputs.assign(length=outputs["length"] * 37 + outputs.index % 11)
    assert length(ratings, whole, **FEW).settings["length"]["tolerances"] == {"": [0.0, 0.05, 0.1, 0.2]}
    broken = outputs.assign(length=outputs["length"] + 0.25)
    assert length(ratings, broken, **FEW).settings["length"]["tolerances"] == {"": [0.05, 0.1, 0.2]}
    assert length(ratings, outputs, **FEW).settings["length"]["tolerances"] == {"": [0.0]}


@pytest.mark.parametrize("n_tied", [1, 2])
def test_what_draws_keep_does_not_depend_on_names(n_tied):
    ratings, outputs = made(n_items=10, quality=(0.3, 0.3, 0.0, 0.0), seed=3)
    ratings["rating"] = ratings["rating"].round()
    if n_tied == 2:  # the first two systems, and so their outputs, are one
        ratings = pd.concat([ratings[ratings.system != "S2"], ratings[ratings.system == "S1"].assign(system="S2")])
        outputs = pd.concat([outputs[outputs.system != "S2"], outputs[outputs.system == "S1"].assign(system="S2")])
    found = []
    for names in (("S1", "S2", "S3", "S4"), ("S4", "S3", "S2", "S1"), ("b", "a", "d", "c")):
        new = dict(zip(("S1", "S2", "S3", "S4"), names, strict=True))
        tables = (table.assign(system=table["system"].map(new)) for table in (ratings, outputs))
        result = length(*tables, **FEW)
        found.append(
            [value(result, name, model="adjusted", ties="half") for name in ("share_winner_kept", "spearman_drawn_raw")]
        )
    assert found[1] == pytest.approx(found[0], abs=1e-12)
    assert found[2] == pytest.approx(found[0], abs=1e-12)
    assert 0 < found[0][0] <= 1


def test_raters_and_items_that_agree_have_an_interval_with_a_width():
    ratings, outputs = made(n_items=8)
    ratings["rating"] = ratings["system"].map({"S1": 4, "S2": 3, "S3": 2, "S4": 1})
    outputs["length"] = 2
    result = length(ratings, outputs, **FEW)
    for statistic in ("win_rate_matched", "win_rate_adjusted"):
        rows = result.select("length", statistic, {"ties": "half", "system": "S1", "rater": ""})
        assert {row.unit for row in rows} >= {"item", "rater"}
        for row in rows:
            assert row.estimate == pytest.approx(1)
            assert row.low < 0.96
            assert row.low <= row.estimate <= row.high
            if row.unit in ("item", "rater"):
                assert "agree" in row.note
                assert "Wilson" in row.method


def test_outputs_that_are_better_for_other_reasons_are_no_slope_of_length_for_others():
    # Outputs differ beside their length: ten ratings of one output are no ten of its length.
    rng = np.random.default_rng(7)
    lengths = rng.integers(1, 5, (12, 4)).astype(float)
    cell = rng.normal(0, 0.6, (12, 4)) + 0.25 * (lengths - 2.5)
    rating = 3 + cell[:, :, None] + rng.normal(0, 0.3, (12, 4, 10))
    item, system, rater = np.indices(rating.shape).reshape(3, -1)
    ratings = pd.DataFrame({"item": item, "system": system, "rater": rater, "rating": rating.ravel()})
    item, system = np.indices(lengths.shape).reshape(2, -1)
    found = length(ratings, pd.DataFrame({"item": item, "system": system, "length": lengths.ravel()}), **FEW)
    slopes = {
        model: found.select("length", "slope", {"model": model, "rater": ""})[0]
        for model in ("judgement+rater_slope", "full+rater_slope")
    }
    widths = {model: one.high - one.low for model, one in slopes.items()}
    assert widths["full+rater_slope"] > 2 * widths["judgement+rater_slope"]
    assert "count as unrelated" in slopes["judgement+rater_slope"].note


def test_systems_on_a_line_have_one_r_squared_that_says_why_it_has_no_interval():
    ratings, outputs = made()
    outputs["length"] = outputs["system"].map({"S1": 1, "S2": 2, "S3": 3, "S4": 4})
    ratings["rating"] = ratings["system"].map({"S1": 1, "S2": 2, "S3": 3, "S4": 4})
    (row,) = [
        row
        for row in length(ratings, outputs, **FEW).select("length", "r_squared", {"rater": ""})
        if row.unit == "system"
    ]
    assert row.method
    assert "the systems lie on a line" in row.note


@pytest.mark.parametrize(
    ("systems", "change", "reason"),
    [
        (("S1", "S2"), {}, "two systems have a win rate"),
        (("S1", "S2", "S3"), {"rating": 3.0}, "at equal length all systems have the same win rate"),
    ],
)
def test_orders_without_a_correlation_say_why(systems, change, reason):
    ratings, outputs = made()
    ratings = ratings[ratings["system"].isin(systems)].assign(**change)
    found = audit(ratings, outputs=outputs[outputs["system"].isin(systems)], replicates=100, draws=1000)
    (finding,) = [f for f in found.findings if f.id == "length-matched-order"]
    assert finding.verdict == "undetermined"
    assert reason in finding.statement


def test_readers_get_no_messages_of_an_optimiser():
    ratings, outputs = made(n_items=12)
    lengths = outputs.set_index(["item", "system"])["length"]
    ratings["rating"] = [lengths[place] for place in zip(ratings["item"], ratings["system"], strict=True)]
    reasons = {row.undefined for row in length(ratings, outputs, **FEW) if row.undefined}
    assert any("no error is left" in reason for reason in reasons)
    assert not any(word in reason for reason in reasons for word in ("likelihood", "gradient", "matrix", "Matrix"))


# --- What is measured -------------------------------------------------------------------------------------------------

TEXTS = {
    "emoji": ["😂", "😂🙂", "🙂🙂🙂", "👍🏽👍🏽👍🏽👍🏽"],
    "word": ["yes", "yes it is", "=cmd() | x", "نعم هو كذلك\nand so on"],
}


@pytest.mark.parametrize("unit", ["emoji", "word"])
def test_the_unit_is_what_the_texts_consist_of(unit):
    ratings, outputs = made()
    written = outputs.assign(text=[TEXTS[unit][k % 4] for k in range(len(outputs))]).drop(columns="length")
    found = length(ratings, written, **FEW)
    assert found.settings["length"]["unit_of_length"] == unit
    assert {row.keys["unit_of_length"] for row in found} == {unit}
    counts = [1, 2, 3, 4] if unit == "emoji" else [1, 3, 2, 6]
    mean = written.assign(n=[counts[k % 4] for k in range(len(written))]).groupby("system")["n"].mean()
    assert value(found, "mean_length", system="S2") == pytest.approx(mean["S2"])
    asked = length(ratings, written, unit="byte", **FEW)
    assert asked.settings["length"]["unit_of_length"] == "byte"


def test_outputs_that_are_blank_or_absent_leave_their_ratings_out_and_are_counted():
    ratings, outputs = made()
    outputs["length"] = outputs["length"].astype(float)
    outputs.loc[outputs["item"] == "i003", "length"] = np.nan
    found = length(ratings, outputs[outputs["item"] != "i004"], **FEW)
    assert value(found, "n_ratings_left_out") == 2 * 4 * 3
    assert found.settings["length"]["outputs_of_unknown_length"] == 4
    kept = ~ratings["item"].isin(["i003", "i004"])
    same = length(ratings[kept], outputs, **FEW)
    assert value(same, "slope", model="judgement") == value(found, "slope", model="judgement")
    text = outputs.assign(text=np.where(outputs["item"] == "i003", "  ", "😂😂"))
    assert length(ratings, text, unit="emoji", **FEW).settings["length"]["outputs_of_unknown_length"] == 4


def test_what_cannot_be_measured_is_refused():
    ratings, outputs = made(n_items=4)
    with pytest.raises(MeasurandError, match="no column 'text' whose words"):
        length(ratings, outputs, unit="word")
    with pytest.raises(MeasurandError, match="no column 'length'"):
        length(ratings, outputs.rename(columns={"length": "text"}), unit="length")
    with pytest.raises(MeasurandError, match="unit of length 'tokens'; allowed are emoji"):
        length(ratings, outputs, unit="tokens")
    with pytest.raises(MeasurandError, match="from 0 to below 1"):
        length(ratings, outputs, tolerances=[1.5])
    with pytest.raises(MeasurandError, match="at least 100"):
        length(ratings, outputs, replicates=10)


# --- The whole --------------------------------------------------------------------------------------------------------


def test_the_order_of_rows_does_not_matter_and_the_result_is_itself_again():
    ratings, outputs = made(n_items=12)
    one = length(ratings, outputs, **FEW)
    other = length(ratings.sample(frac=1, random_state=3), outputs.sample(frac=1, random_state=4), **FEW)
    same = one.to_json() == other.to_json()
    assert same
    same = Result.from_json(one.to_json()) == one
    assert same


def test_no_two_different_numbers_share_a_name():
    ratings, outputs = made(n_items=12)
    named = {}
    for row in length(ratings, outputs, tolerances=[0, 0.3], **FEW):
        name = tuple(sorted(row.reference().items(), key=str))
        assert named.setdefault(name, row.estimate) == row.estimate, name


def test_every_number_has_an_interval_or_says_why_not():
    ratings, outputs = made(n_items=12)
    counts = ("n_ratings_left_out", "n_systems_unrated", "n_possible", "n_matched", "n_comparisons")
    for row in length(ratings, outputs, **FEW):
        if row.low is None and not row.undefined and row.statistic not in counts:
            assert "no interval" in row.note, row


def test_an_audit_with_outputs_says_what_it_says_without_and_more():
    ratings, outputs = made(n_items=20)
    options = {"replicates": 100, "draws": 1000}
    without, with_them = audit(ratings, **options), audit(ratings, outputs=outputs, **options)
    assert "length" not in without.analyses
    # As texts, and told apart by yes or no: a difference of so many rows would take pytest minutes to show.
    same = Result([row for row in with_them if row.analysis != "length"]).to_json() == Result(without.rows).to_json()
    assert same
    asked = {f.id for f in with_them.findings} - {f.id for f in without.findings}
    assert asked == {
        "length-outputs",
        "length-explains-order",
        "length-slope",
        "length-raters-differ",
        "length-matched-order",
        "length-overlap",
    }
    assert [f for f in with_them.findings if f.id not in asked] == list(without.findings)
    alone = length(ratings, read_outputs(outputs), replicates=100)
    same = Result(alone.rows, alone.settings).to_json() == with_them["length"].to_json()
    assert same
    assert list(alone.findings) == [f for f in with_them.findings if f.id in asked]
