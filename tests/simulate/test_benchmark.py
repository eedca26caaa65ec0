import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError
from measurand.simulate import benchmark_model as models
from measurand.simulate.benchmark import SimulatedBenchmark, simulate_benchmark
from measurand.simulate.benchmark_settings import spread_reliabilities
from measurand.simulate.benchmark_truth import anchor_kappas, calibrated_kappas, reference
from measurand.stats.association import kappa_quadratic

SMALL = {"n_items": 60, "n_criteria": 3, "reliabilities": (0.5, 0.3, 0.1), "validities": (0.9, 0.6)}
BOTH = ("verification", "generative")


def table(ratings, criterion):
    """Ratings of a criterion, shape (n_items, raters_per_item), in whatever order of raters."""
    one = ratings[ratings["criterion"] == criterion]
    return one["rating"].to_numpy().reshape(one["item"].nunique(), -1)


def kappa_of_tables(x, y, n_levels):
    """Quadratic kappa from the joint table and its margins, as 1 - observed / expected disagreement."""
    joint = np.zeros((n_levels, n_levels))
    np.add.at(joint, (x.astype(int), y.astype(int)), 1)
    joint /= joint.sum()
    squares = np.subtract.outer(np.arange(n_levels), np.arange(n_levels)) ** 2
    return 1 - (squares * joint).sum() / (squares * np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()


def pairwise_kappa(values, n_levels=8):
    """Pooled quadratic kappa of all ordered pairs of columns."""
    pairs = [(a, b) for a in range(values.shape[1]) for b in range(values.shape[1]) if a != b]
    x, y = (np.concatenate([values[:, pair[side]] for pair in pairs]) for side in (0, 1))
    return kappa_of_tables(x, y, n_levels)


def population(made):
    return pd.DataFrame(made.truth["population"])


def equal_draws(one, two, *, systems):
    """Whether the answers of some systems are the same draws in two benchmarks."""
    chosen = [frame.answers[frame.answers["system"].isin(systems)] for frame in (one, two)]
    return np.array_equal(chosen[0]["answer"], chosen[1]["answer"], equal_nan=True)


# --- tables ----------------------------------------------------------------------------------------------------------


def test_default_sizes_are_the_first_papers():
    made = simulate_benchmark()
    assert isinstance(made, SimulatedBenchmark)
    assert len(made.answers) == 11 * 2500 * 40
    assert len(made.ratings) == 2500 * 4 * 40
    assert made.items.columns.tolist() == ["item"]
    assert made.ratings["rater"].nunique() == 8
    assert made.answers.columns.tolist() == ["system", "item", "criterion", "readout", "answer", "status", "log_odds"]
    assert made.answers.memory_usage(deep=True).sum() < 50e6
    reliabilities = [one["reliability"] for one in made.truth["criteria"]]
    assert sum(value >= 0.3 for value in reliabilities) == 5
    assert 0 == min(reliabilities) < max(reliabilities) == 0.58
    named = (made.ratings["rating"] > 0).mean() * 40  # people named 8.14 of forty emotions above zero
    assert 5 < named < 10


def test_ids_are_padded_text_and_every_cell_is_there_once():
    made = simulate_benchmark(**SMALL, n_groups=7, readouts=BOTH)
    assert made.items["item"].tolist()[::59] == ["I01", "I60"]
    assert made.items["group"].unique().tolist() == [f"G{g}" for g in range(1, 8)]
    assert list(made.answers["criterion"].cat.categories) == ["C1", "C2", "C3"]
    assert list(made.answers["system"].cat.categories) == ["S1", "S2"]
    keys = ["system", "item", "criterion", "readout"]
    assert len(made.answers) == 2 * 60 * 3 * 2
    assert not made.answers.duplicated(keys).any()
    assert len(made.ratings) == 60 * 3 * 4
    assert not made.ratings.duplicated(["item", "criterion", "rater"]).any()
    assert set(made.answers["status"]) == {"ok"}


def test_the_same_raters_see_all_criteria_of_an_item_and_all_sets_occur():
    ratings = simulate_benchmark(n_items=3000, n_criteria=2, n_raters=5, raters_per_item=2).ratings
    per_item = ratings.groupby("item", observed=True)["rater"].agg(lambda raters: "".join(sorted(raters)))
    seen = [frozenset(one[i : i + 2] for i in range(0, 8, 2)) for one in per_item]
    assert {len(one) for one in seen} == {2}
    counts = pd.Series(seen).value_counts()
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    "scale", [Scale(0, 7, step=1), Scale(1, 5, step=0.5), Scale(-2, 2, step=1), Scale(0, 1, step=1)]
)
def test_ratings_and_named_numbers_are_on_the_scale(scale):
    made = simulate_benchmark(**SMALL, scale=scale, readouts=BOTH)
    checked = read_ratings(made.ratings, scale=scale)
    assert len(checked) == len(made.ratings)
    named = made.answers.loc[made.answers["readout"] == "generative", "answer"]
    assert scale.permitted(named.to_numpy()).all()
    assert named.min() == scale.bounds[0]
    assert made.ratings["rating"].max() == scale.bounds[1]


def test_verification_gives_graded_probabilities_of_its_log_odds():
    answers = simulate_benchmark(**SMALL).answers
    assert np.allclose(answers["answer"], 1 / (1 + np.exp(-answers["log_odds"])), rtol=1e-12)
    assert answers["answer"].nunique() == len(answers)


def test_a_generative_reply_names_the_strongest_criteria_only():
    many = {"n_items": 200, "n_criteria": 12, "prevalence": 0.5, "validities": (0.9,), "readouts": ("generative",)}
    free = simulate_benchmark(**many, n_named=12).answers["answer"].to_numpy().reshape(200, 12)
    forced = simulate_benchmark(**many, n_named=3).answers["answer"].to_numpy().reshape(200, 12)
    assert (free > 0).sum(axis=1).max() > 3
    assert (forced > 0).sum(axis=1).max() == 3
    assert ((forced == free) | (forced == 0)).all()
    assert (np.where(forced > 0, forced, 8).min(axis=1) >= np.where(forced > 0, 0, free).max(axis=1)).all()


def test_lost_replies_are_whole_invalid_and_no_zeros():
    made = simulate_benchmark(**SMALL, readouts=BOTH, missing_answers=0.25)
    generative = made.answers[made.answers["readout"] == "generative"]
    lost = generative["status"] == "invalid"
    assert generative["answer"].isna().equals(lost)
    by_reply = lost.groupby([generative["system"], generative["item"]], observed=True).mean()
    assert set(by_reply) == {0.0, 1.0}
    assert by_reply.groupby("system", observed=True).sum().tolist() == [15, 15]
    assert made.answers.loc[made.answers["readout"] == "verification", "answer"].notna().all()
    whole = simulate_benchmark(**SMALL, readouts=BOTH)
    assert np.array_equal(whole.answers["answer"][generative.index[~lost]], generative["answer"][~lost])


# --- latent truth ----------------------------------------------------------------------------------------------------


def test_zero_inflation_is_as_prescribed_in_intensities_and_ratings():
    n, prevalence = 20_000, (0.1, 0.3, 0.8)
    made = simulate_benchmark(
        n_items=n,
        n_criteria=3,
        reliabilities=(0.1, 0.3, 0.6),
        prevalence=prevalence,
        severity_sd=0.0,
        validities=(0.5,),
    )
    intensities = made.intensities["intensity"].to_numpy().reshape(n, 3)
    assert intensities.min() == 0
    assert intensities.max() <= 7
    for c, share in enumerate(prevalence):
        positive = intensities[:, c][intensities[:, c] > 0]
        assert abs(len(positive) / n - share) < 4 * math.sqrt(share * (1 - share) / n)
        # A density that falls linearly from 0 to 7 is a beta distribution with parameters 1 and 2.
        assert stats.kstest(positive / 7, stats.beta(1, 2).cdf).pvalue > 1e-4
        above = (table(made.ratings, f"C{c + 1}") > 0).mean()
        expected = share * (1 - 0.5 / 7) ** 2  # the others are below half a step
        assert abs(above - expected) < 4 * math.sqrt(expected / n)


def test_validity_is_the_correlation_of_signal_and_propensity():
    made = simulate_benchmark(
        n_items=20_000, n_criteria=1, reliabilities=(0.4,), validities=(0.9, 0.3, -0.5), readout_noise=0.0
    )
    for system, validity in zip(("S1", "S2", "S3"), (0.9, 0.3, -0.5), strict=True):
        odds = made.answers.loc[made.answers["system"] == system, "log_odds"]
        found = np.corrcoef(odds, made.intensities["propensity"])[0, 1]
        assert abs(found - validity) < 4 * (1 - validity**2) / math.sqrt(20_000)


def test_items_of_a_group_share_the_stated_variance():
    made = simulate_benchmark(n_items=10_000, n_criteria=1, reliabilities=(0.4,), n_groups=1000, group_share=0.4)
    values = made.intensities["propensity"].to_numpy().reshape(1000, 10)
    assert made.items["group"].value_counts().unique().tolist() == [10]
    between = values.mean(axis=1).var(ddof=1) - values.var(axis=1, ddof=1).mean() / 10
    assert abs(between - 0.4) < 0.1
    assert abs(values.var() - 1) < 0.1


# --- reliabilities ---------------------------------------------------------------------------------------------------


@given(st.floats(0.0, 1.0), st.integers(2, 6))
def test_expected_kappa_of_a_median_split_is_sheppards_arcsine(noise, n_raters):
    found = models.expected_kappa(noise, np.zeros(1), np.zeros(n_raters))
    is_smooth = noise == 0 or noise > 0.003
    assert found == pytest.approx(2 * math.asin(1 - noise) / math.pi, abs=1e-9 if is_smooth else 5e-3)


def test_expected_kappa_is_that_of_the_joint_table_of_each_pair_of_raters():
    cuts, severities, noise = models.cuts(0.4, 3), np.array([-0.3, 0.1, 0.5]), 0.45
    tables = np.zeros((4, 4))
    edges = np.r_[-20.0, cuts, 20.0]
    normal = stats.multivariate_normal(cov=[[1, 1 - noise], [1 - noise, 1]])
    for a in range(3):
        for b in range(3):
            if a != b:
                cdf = np.array([[normal.cdf([x - severities[a], y - severities[b]]) for y in edges] for x in edges])
                tables += np.diff(np.diff(cdf, axis=0), axis=1) / 6
    squares = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    margins = np.outer(tables.sum(axis=1), tables.sum(axis=0))
    expected = 1 - (squares * tables).sum() / (squares * margins).sum()
    assert models.expected_kappa(noise, cuts, severities) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=25)
@given(st.floats(0.0, 0.9), st.floats(0.02, 0.98), st.integers(1, 10), st.floats(0.0, 0.15))
def test_solved_noise_gives_the_reliability(reliability, prevalence, n_steps, severity):
    cuts, severities = models.cuts(prevalence, n_steps), severity * np.array([-1.0, 0.0, 1.0])
    if models.expected_kappa(0.0, cuts, severities) < reliability:
        with pytest.raises(MeasurandError, match="not attainable"):
            models.solve_noise("C1", reliability, cuts, severities)
        return
    noise = models.solve_noise("C1", reliability, cuts, severities)
    assert models.expected_kappa(noise, cuts, severities) == pytest.approx(reliability, abs=1e-9)


def test_realised_pairwise_kappa_of_many_benchmarks_is_the_target():
    targets = (0.58, 0.46, 0.3, 0.1, 0.0)
    found = np.array(
        [
            [pairwise_kappa(table(made.ratings, f"C{c}")) for c in range(1, 6)]
            for made in (
                simulate_benchmark(n_criteria=5, reliabilities=targets, validities=(0.5,), seed=seed)
                for seed in range(12)
            )
        ]
    )
    error = found.std(axis=0, ddof=1)
    assert (error < 0.025).all()
    assert (np.abs(found.mean(axis=0) - targets) < 4 * error / math.sqrt(12)).all()
    assert (np.abs(found - targets) < 5 * error).all()


def test_reliability_hardly_changes_how_many_ratings_are_zero():
    made = simulate_benchmark(n_criteria=3, reliabilities=(0.0, 0.3, 0.7), prevalence=0.3, validities=(0.5,))
    shares = [(table(made.ratings, f"C{c}") == 0).mean() for c in (1, 2, 3)]
    assert max(shares) - min(shares) < 0.08  # severities differ by criterion; noise alone would change nothing


def test_a_reliability_of_one_needs_raters_alike():
    made = simulate_benchmark(n_items=50, n_criteria=1, reliabilities=(1.0,), severity_sd=0.0, validities=(0.5,))
    assert made.truth["criteria"][0]["noise"] == 0
    assert np.ptp(table(made.ratings, "C1"), axis=1).max() == 0


# --- population ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25)
def test_population_statistics_are_those_of_plain_loops(seed, is_tied):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 5, size=(12, 3)).astype(float)
    seen = np.sort(rng.permuted(np.tile(np.arange(4), (12, 1)), axis=1)[:, :3], axis=1)
    answers = rng.integers(0, 4, 12).astype(float) if is_tied else rng.standard_normal(12)

    pooled = [sum(sorted(ratings.ravel())[3 * i : 3 * i + 3]) / 3 for i in range(12)]
    consensus = sorted(round(sum(row) / 3) for row in ratings.tolist())
    expected = []
    for target in (pooled, consensus):
        ranked = sorted(range(12), key=lambda i: answers[i])
        level = {i: np.mean([target[k] for k, j in enumerate(ranked) if answers[j] == answers[i]]) for i in range(12)}
        x, y = np.array([(level[i], rating) for i in range(12) for rating in ratings[i]]).T
        expected.append(kappa_quadratic(x, y, np.ones((1, len(x))))[0])
    assert calibrated_kappas(answers, reference(ratings)) == pytest.approx(expected, abs=1e-12)

    left = [(round((sum(row) - row[k]) / 2), row[k], seen[i, k]) for i, row in enumerate(ratings) for k in range(3)]
    x, y, who = np.array(left).T
    by_rater = [kappa_of_tables(x[who == rater], y[who == rater], 5) for rater in np.unique(who)]
    expected = [pairwise_kappa(ratings, 5), kappa_of_tables(x, y, 5), np.mean(by_rater)]
    assert anchor_kappas(ratings, seen) == pytest.approx(expected, abs=1e-12)


def test_constant_answers_score_exactly_zero():
    ratings = np.random.default_rng(1).integers(0, 8, size=(50, 4)).astype(float)
    assert calibrated_kappas(np.ones(50), reference(ratings)) == pytest.approx([0, 0], abs=1e-14)


def test_population_values_agree_with_the_reliability_and_with_an_integral():
    made = simulate_benchmark(
        n_items=50,
        n_criteria=2,
        reliabilities=(0.5, 0.2),
        severity_sd=0.0,
        validities=(0.9, 0.5),
        readout_noise=0.4,
        truth_items=100_000,
    )
    rows = population(made)
    pairwise = rows[(rows["anchor"] == "pairwise") & (rows["criterion"] != "")]
    assert (np.abs(pairwise["kappa_quadratic"] - np.array([0.5, 0.2])) < 4 * pairwise["error"]).all()
    # Without severities an answer calibrated to single ratings is one more view: two margins alike, known correlation.
    for c, one in enumerate(made.truth["criteria"]):
        for system, validity in (("S1", 0.9), ("S2", 0.5)):
            correlation = validity / math.sqrt(1 + 0.4**2) * math.sqrt(1 - one["noise"])
            expected = models.expected_kappa(1 - correlation, models.cuts(one["prevalence"], 7), np.zeros(2))
            row = rows[(rows["system"] == system) & (rows["criterion"] == f"C{c + 1}") & (rows["target"] == "ratings")]
            assert len(row) == 1
            assert abs(row["kappa_quadratic"].item() - expected) < 4 * row["error"].item()


def test_the_stated_monte_carlo_error_is_the_spread_over_seeds():
    found = []
    for seed in range(20):
        made = simulate_benchmark(
            n_items=2,
            n_criteria=1,
            reliabilities=(0.4,),
            severity_sd=0.0,
            validities=(0.8,),
            truth_items=10_000,
            seed=seed,
        )
        rows = population(made)
        found.append(rows[rows["set"] == "all"].set_index(["anchor", "target"])[["kappa_quadratic", "error"]])
    by_seed = pd.concat(found, keys=range(20))
    spread = by_seed["kappa_quadratic"].groupby(["anchor", "target"]).std()
    ratio = by_seed["error"].groupby(["anchor", "target"]).mean() / spread
    assert ratio.between(0.6, 1.7).all()


def test_order_of_anchors_and_of_the_ideal_predictor_at_the_published_reliability():
    """Two raters .456, a rater and the mean of the other three .546, the noise-free predictor .640."""
    made = simulate_benchmark(
        n_items=2,
        n_criteria=1,
        n_raters=4,
        reliabilities=(0.456,),
        severity_sd=0.0,
        validities=(1.0,),
        readout_noise=0.0,
        truth_items=100_000,
    )
    rows = population(made)
    rows = rows[rows["set"] == "all"].set_index(["anchor", "target"])["kappa_quadratic"]
    assert rows["", "ratings"] > rows["leave_one_out", ""] > rows["pairwise", ""]
    assert rows["pairwise", ""] == pytest.approx(0.456, abs=0.01)
    assert rows["leave_one_out", ""] == pytest.approx(0.546, abs=0.02)
    assert rows["", "ratings"] == pytest.approx(0.640, abs=0.03)
    assert rows["", "ratings"] < math.sqrt(0.456)  # the noise ceiling


def test_order_of_validities_shows_in_the_population_and_in_the_sample():
    made = simulate_benchmark(
        n_criteria=2, reliabilities=(0.5, 0.3), validities=(0.95, 0.75, 0.5), readouts=BOTH, truth_items=20_000
    )
    rows = population(made)
    means = rows[(rows["set"] == "all") & (rows["system"] != "")].pivot_table(
        index=["readout", "target"], columns="system", values="kappa_quadratic"
    )
    assert (np.diff(means, axis=1) < -0.03).all()
    assert (means.loc["verification"] > means.loc["generative"]).all().all()
    verified = made.answers[made.answers["readout"] == "verification"]
    for criterion in ("C1", "C2"):
        ratings = reference(table(made.ratings, criterion))
        one = verified[verified["criterion"] == criterion]
        scores = [
            calibrated_kappas(group["answer"].to_numpy(), ratings) for _, group in one.groupby("system", observed=True)
        ]
        assert (np.diff(scores, axis=0) < 0).all()


def test_population_has_each_criterion_and_both_sets_and_is_json():
    made = simulate_benchmark(**SMALL, truth_items=10_000)
    rows = population(made)
    assert len(rows) == (3 + 2 * 2) * (3 + 2)  # three anchors, two systems with two targets; three criteria, two sets
    assert set(rows["set"]) == {"", "all", "reliable"}
    assert rows["error"].between(0, 0.03, inclusive="neither").all()
    wide = rows[rows["anchor"] == "pairwise"].set_index(["criterion", "set"])["kappa_quadratic"]
    assert wide["", "all"] == pytest.approx(wide[["C1", "C2", "C3"]].mean(), abs=1e-12)
    assert wide["", "reliable"] == pytest.approx(wide[["C1", "C2"]].mean(), abs=1e-12)
    assert json.loads(json.dumps(made.truth)) == made.truth
    assert simulate_benchmark(**SMALL).truth["population"] == []


# --- streams ---------------------------------------------------------------------------------------------------------


def test_one_seed_one_benchmark():
    one, two, other = (simulate_benchmark(**SMALL, readouts=BOTH, truth_items=10_000, seed=seed) for seed in (3, 3, 4))
    for name in ("answers", "ratings", "items", "intensities"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name))
    assert one.truth == two.truth
    assert not one.ratings["rating"].equals(other.ratings["rating"])
    assert not equal_draws(one, other, systems=["S1"])


def test_population_values_leave_the_benchmark_alone():
    one, two = (simulate_benchmark(**SMALL, truth_items=n) for n in (0, 10_000))
    pd.testing.assert_frame_equal(one.answers, two.answers)
    pd.testing.assert_frame_equal(one.ratings, two.ratings)


def test_another_system_or_readout_leaves_the_others_alone():
    one = simulate_benchmark(**SMALL, truth_items=10_000)
    more = simulate_benchmark(**{**SMALL, "validities": (0.9, 0.6, 0.7)}, truth_items=10_000)
    both = simulate_benchmark(**SMALL, readouts=BOTH)
    assert equal_draws(one, more, systems=["S1", "S2"])
    pd.testing.assert_frame_equal(one.ratings, more.ratings)
    pd.testing.assert_frame_equal(one.intensities, more.intensities)
    assert [row for row in more.truth["population"] if row["system"] != "S3"] == one.truth["population"]
    verified = both.answers[both.answers["readout"] == "verification"]
    assert np.array_equal(verified["answer"], one.answers["answer"])
    pd.testing.assert_frame_equal(one.ratings, both.ratings)


def test_a_tenth_system_changes_ids_and_no_draws():
    nine, ten = (simulate_benchmark(**{**SMALL, "validities": (0.5,) * n}) for n in (9, 10))
    assert equal_draws(nine, ten, systems=["S1", "S01"])


def test_another_criterion_leaves_the_others_alone():
    one = simulate_benchmark(**SMALL)
    more = simulate_benchmark(**{**SMALL, "n_criteria": 4, "reliabilities": (0.5, 0.3, 0.1, 0.2)})
    for name in ("answers", "ratings", "intensities"):
        frame = getattr(more, name)
        kept = frame[frame["criterion"] != "C4"].select_dtypes("number").reset_index(drop=True)
        pd.testing.assert_frame_equal(kept, getattr(one, name).select_dtypes("number"))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_items": 1}, "n_items is 1; give at least 2"),
        ({"n_criteria": 0}, "n_criteria is 0; give at least 1"),
        ({"n_raters": 1}, "n_raters is 1; give at least 2"),
        ({"raters_per_item": 9}, "raters_per_item is 9; give 2 to 8"),
        ({"raters_per_item": 1}, "raters_per_item is 1; give 2 to 8"),
        ({"n_groups": 61}, "n_groups is 61; give 0 for none, or up to 60"),
        ({"truth_items": 500}, "truth_items is 500; give 0 .* multiple of 20 from 10,000"),
        ({"truth_items": 10_001}, "truth_items is 10001"),
        ({"seed": -1}, "seed is -1; give 0 or above"),
        ({"severity_sd": -0.1}, "severity_sd is -0.1; give a finite"),
        ({"readout_noise": math.inf}, "readout_noise is inf; give a finite"),
        ({"generative_noise": math.nan}, "generative_noise is nan; give a finite"),
        ({"missing_answers": 1.0}, "missing_answers is 1; give a share of 0 or more and below 1"),
        ({"missing_answers": 0.1}, "missing_answers is 0.1, and only generative replies are lost"),
        ({"group_share": 1.5}, "group_share is 1.5; give a share from 0 to 1"),
        ({"n_named": 0}, "n_named is 0; give at least 1"),
        ({"validities": ()}, "validities is empty"),
        ({"validities": (0.5, 1.1)}, "validity 1.1 of system 2; give a correlation from -1 to 1"),
        ({"readouts": ()}, r"readouts is \(\); give a sequence"),
        ({"readouts": "verification"}, "readouts is 'verification'; give a sequence"),
        ({"readouts": ("generative", "generative")}, "give a sequence of different ones of verification, generative"),
        ({"readouts": ("binarized",)}, "readout 'binarized'; allowed are verification, generative"),
        ({"reliabilities": (0.5,)}, "1 reliabilities for 3 criteria; give one for each"),
        ({"reliabilities": (0.5, -0.02, 0.1)}, "reliability -0.02 of criterion 2; give a kappa from 0 to 1"),
        ({"reliabilities": (0.5, math.nan, 0.1)}, "reliability nan of criterion 2"),
        ({"prevalence": (0.5, 0.5)}, "2 prevalences for 3 criteria"),
        ({"prevalence": 0.0}, "prevalence 0 of criterion 1; give a share from .01 to .99"),
        ({"scale": Scale(0, 7)}, r"the scale \(0 to 7\) has no step"),
        ({"scale": Scale(labels=["no", "yes"])}, r"the scale \(no, yes\) has no step"),
        ({"scale": Scale(0, 1000, step=1)}, "the scale has 1,001 levels; declare a step with at most 101"),
    ],
)
def test_wrong_requests_are_refused_in_words(wrong, message):
    with pytest.raises(MeasurandError, match=message):
        simulate_benchmark(**{**SMALL, **wrong})


def test_an_unattainable_reliability_says_what_is_attainable():
    request = {**SMALL, "reliabilities": (0.5, 0.97, 0.1), "severity_sd": 0.6}
    with pytest.raises(MeasurandError, match=r"reliability 0\.97 of C2 is not attainable") as refused:
        simulate_benchmark(**request)
    most = float(str(refused.value).split("reach ")[1].split(";")[0])
    assert 0.3 < most < 0.97
    again = simulate_benchmark(
        **{**request, "reliabilities": (0.5, most, 0.1), "prevalence": (0.3, 0.12 + 0.55 * 0.97, 0.3)}
    )
    assert again.truth["criteria"][1]["noise"] < 0.01


@given(st.integers(1, 60))
def test_spread_reliabilities_are_as_many_as_asked_for_and_fall(n_criteria):
    values = spread_reliabilities(n_criteria)
    assert len(values) == n_criteria
    assert sorted(values, reverse=True) == list(values)
    assert all(0 <= value <= 0.58 for value in values)
