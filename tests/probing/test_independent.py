"""The numbers about outputs once more, in plain numpy, scipy and scikit-learn, from the tables alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from measurand.data import read_outputs
from measurand.data.vectors import Vectors
from measurand.probing.cost import cost
from measurand.probing.decodability import decodability
from measurand.probing.decodability_predict import Evidence, Protocol, out_of_fold
from measurand.probing.geometry import geometry
from measurand.probing.leakage import leakage
from measurand.probing.leakage_splits import split_rows, views_of
from measurand.probing.units import units
from measurand.simulate import simulate_outputs
from measurand.stats.classes import macro_f1
from measurand.stats.leaked import leaked_share_fixed_size

EMOJI = "😀😢😡🥰😱🤔👍🎉🔥💔🙏😎"


def sentences(n=60, n_systems=3, n_labels=3, *, signal=0.5, seed=0):
    """Return outputs of one to four emoji, some of which stand for the label."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, s in itertools.product(range(n), range(n_systems)):
        label = i % n_labels
        text = [
            EMOJI[2 * label + rng.integers(2)] if rng.random() < signal else EMOJI[rng.integers(12)]
            for _ in range(rng.integers(1, 5))
        ]
        rows.append((f"i{i:03d}", f"S{s}", "".join(text), f"L{label}"))
    return pd.DataFrame(rows, columns=["item", "system", "text", "label"])


def counts_of(texts):
    return np.array([[text.count(one) for one in EMOJI] for text in texts], dtype=float)


def fitted(train, label):
    """Return the scikit-learn decoder of texts."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    return pipeline.make_pipeline(
        text.TfidfVectorizer(analyzer=list, sublinear_tf=True),
        linear.LogisticRegression(C=4, class_weight="balanced", max_iter=20_000, tol=1e-9),
    ).fit(train, label)


def score(true, predicted, classes):
    metrics = pytest.importorskip("sklearn.metrics")
    # What occurs on neither side is left out, as the label set is that of the table.
    there = [one for one in classes if one in set(true) | set(predicted)]
    return metrics.f1_score(true, predicted, labels=there, average="macro", zero_division=0)


def test_row_wise_and_grouped_splits_score_what_scikit_learn_scores_on_them():
    table = sentences(45, 3)
    result = leakage(table, ratios=[0.6], repeats=2, seed=4)
    views = views_of(read_outputs(table), "", token_unit="emoji")  # noqa: S106 - no password
    splits = split_rows(views, ratio=0.6, repeats=2, seed=4)
    text, label, system = (table[name].to_numpy() for name in ("text", "label", "system"))
    means = {}
    for protocol, trains in splits.items():
        found = []
        for train in trains:
            assert protocol == "row" or not set(table["item"][train]) & set(table["item"][~train])
            predicted = fitted(text[train], label[train]).predict(text[~train])
            true, of = label[~train], system[~train]
            by_system = [score(true[of == s], predicted[of == s], views.classes) for s in views.systems]
            found.append([score(true, predicted, views.classes), *by_system])
        means[protocol] = np.array(found)
    for at, name in enumerate(["", *views.systems]):
        keys = {"system": name}
        for protocol, statistic in (("row", "macro_f1_row"), ("item", "macro_f1_grouped")):
            assert result.value("leakage", statistic, keys) == pytest.approx(means[protocol][:, at].mean(), abs=1e-9)
        gain = means["row"][:, at] - means["item"][:, at]
        (row,) = result.select("leakage", "optimism", keys)
        error = np.sqrt((1 / 2 + 0.4 / 0.6) * gain.var(ddof=1))
        half = stats.t.ppf(0.975, 1) * error
        ends = np.clip([gain.mean() - half, gain.mean() + half], -1, 1)  # of a difference of shares
        assert (row.low, row.high) == pytest.approx(tuple(ends), rel=1e-6)
        assert row.p == pytest.approx(2 * stats.t.sf(abs(gain.mean()) / error, 1), rel=1e-6)


@pytest.mark.parametrize(
    ("views", "n_test"),
    [([[2, 0], [0, 2], [3, 0]], (2, 1)), ([[1], [2], [3]], (3,)), ([[1, 1], [2, 0], [0, 3]], (2, 2))],
)
def test_the_share_that_leaks_is_the_mean_over_all_splits_that_there_are(views, n_test):
    rows = [(item, stratum) for item, of in enumerate(views) for stratum, n in enumerate(of) for _ in range(n)]
    strata = [[at for at, row in enumerate(rows) if row[1] == one] for one in range(len(n_test))]
    shares = []
    for chosen in itertools.product(*[itertools.combinations(*both) for both in zip(strata, n_test, strict=True)]):
        test = {at for part in chosen for at in part}
        seen = {row[0] for at, row in enumerate(rows) if at not in test}
        shares.append(np.mean([rows[at][0] in seen for at in test]))
    assert leaked_share_fixed_size(np.array(views), np.array(n_test)) == pytest.approx(np.mean(shares))


def test_what_is_held_out_has_no_part_in_the_decoder_that_predicts_it():
    table = sentences(60, 1)
    label = np.unique(table["label"], return_inverse=True)[1].astype(np.int64)
    x = counts_of(table["text"])
    protocol = Protocol("emoji", 4.0, True, 5, 1, 100, 0, (), "refuse", "auto", 0.95, 0)
    fold = (np.arange(60) // 3 % 5)[None, :]

    def predicted(counts, labels):
        return out_of_fold(Evidence(sparse.csr_array(counts), "tfidf", 4.0), labels, fold, 3, protocol)[0]

    held = fold[0] == 2
    whole = predicted(x, label)
    turned = np.where(held, (label + 1) % 3, label)
    assert (predicted(x, turned)[held] == whole[held]).all()
    first = np.flatnonzero(held)[0]
    others = x.copy()
    others[held & (np.arange(60) != first)] = 7.0
    assert predicted(others, label)[first] == whole[first]
    assert (predicted(x, turned)[~held] != whole[~held]).any()


def test_floors_union_and_information_are_those_of_their_definitions():
    table = sentences(60, 2, signal=0.6)
    few = {"n_seeds": 2, "replicates": 50, "refits": 0, "learning_curve": ()}
    result = decodability(table, **few)
    n = table.drop_duplicates("item")["label"].value_counts(normalize=True).max()
    (majority,) = result.select("decodability", "macro_f1", {"control": "majority"})
    assert majority.estimate == pytest.approx(2 * n / (1 + n) / 3)
    both = table.groupby("item", as_index=False).agg({"text": "".join, "label": "first"})
    alone = decodability(both.assign(system="both"), **few)
    (union,) = result.select("decodability", "macro_f1", {"control": "union"})
    keys = {"system": "both", "control": "", "seed": ""}
    assert union.estimate == alone.select("decodability", "macro_f1", keys)[0].estimate
    # Copies of one system: each scores as it does alone, no difference, and the union of copies has the same tokens.
    one = table[table["system"] == "S0"]
    copies = decodability(pd.concat([one, one.assign(system="S9")]), **few)
    values = {row.estimate for row in copies.select("decodability", "macro_f1", {"seed": "", "control": ""})}
    assert len(values) == 1
    (difference,) = copies.select("decodability", "difference", {"system": "S0", "against": "S9"})
    assert (difference.estimate, difference.low, difference.high, difference.p) == (0, 0, 0, 1)


def test_macro_f1_of_any_table_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    for _ in range(20):
        true, chosen = rng.integers(0, 4, 25), rng.integers(0, 4, 25)
        counts = np.zeros((1, 4, 5))
        np.add.at(counts[0], (true, chosen), 1)
        there = sorted(set(true) | set(chosen))
        expected = metrics.f1_score(true, chosen, labels=there, average="macro", zero_division=0)
        assert macro_f1(counts).value[0] == pytest.approx(expected)


@pytest.fixture(scope="module")
def written():
    return simulate_outputs(n_items=60, truth_draws=0, n_raters=0, seed=8).outputs


def test_costs_are_sums_lines_and_quotients(written):
    result = cost(written, base_language="English")
    system = "S2"

    def value(statistic, **keys):
        (row,) = result.select("cost", statistic, {"system": system, "against": "", **keys})
        return row

    parts = {}
    for language in ("English", "Bangla"):
        here = written[(written["system"] == system) & (written["language"] == language)]
        prompt, size = here["prompt_tokens"].to_numpy(float), here["source_bytes"].to_numpy(float)
        rate = prompt.sum() / size.sum()
        row = value("prompt_tokens", language=language, per="byte", net_of_template="no")
        assert row.estimate == pytest.approx(rate)
        n = len(here)
        variance = n / (n - 1) * ((prompt - rate * size) ** 2).sum() / size.sum() ** 2
        half = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
        assert (row.low, row.high) == pytest.approx((rate - half, rate + half))
        parts[language] = rate, variance, n
        slope, template = np.polyfit(size, prompt, 1)
        without = np.array([np.polyfit(np.delete(size, i), np.delete(prompt, i), 1) for i in range(n)])
        error = np.sqrt((n - 1) / n * ((without - [slope, template]) ** 2).sum(axis=0))
        net = value("prompt_tokens", language=language, per="byte", net_of_template="yes")
        of_template = value("template_tokens", language=language, per="byte")
        assert (net.estimate, of_template.estimate) == pytest.approx((slope, template))
        t = stats.t.ppf(0.975, n - 2)
        assert (net.high - net.low, of_template.high - of_template.low) == pytest.approx(tuple(2 * t * error))
    (a, va, na), (b, vb, nb) = parts["Bangla"], parts["English"]
    row = value("prompt_tokens_parity", language="Bangla", against="English", per="byte", net_of_template="no")
    half = stats.t.ppf(0.975, min(na, nb) - 1) * np.sqrt(va / a**2 + vb / b**2)
    assert (row.estimate, row.low, row.high) == pytest.approx((a / b, a / b * np.exp(-half), a / b * np.exp(half)))


def test_lengths_and_inflation_are_counted_and_the_order_of_rows_means_nothing(written):
    result = units(written, replicates=50)
    counts = counts_of_characters(written["text"])
    system = (written["system"] == "S1").to_numpy()
    keys = {"system": "S1", "language": "", "against": ""}
    row = result.select("units", "mean", keys | {"unit_of_length": "character"})[0]
    assert row.estimate == pytest.approx(counts[system].mean())
    assert (row.low, row.high) == pytest.approx(
        stats.t.interval(0.95, system.sum() - 1, counts[system].mean(), stats.sem(counts[system]))
    )
    again = units(written.sample(frac=1, random_state=3), replicates=50)
    assert again.to_json() == result.to_json()


def counts_of_characters(texts):
    return np.array([sum(not one.isspace() for one in text) for text in texts], dtype=float)


def isoscore(x):
    """Return IsoScore step by step as its authors have it."""
    d = x.shape[1]
    variance = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    scaled = np.sqrt(d) * variance / np.linalg.norm(variance)
    defect = np.linalg.norm(scaled - 1) / np.sqrt(2 * (d - np.sqrt(d)))
    used = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    return (d * used - 1) / (d - 1)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (12, 20)])
def test_the_shape_of_vectors_is_that_of_pairs_and_eigenvalues(n, d):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, d)) * np.linspace(0.3, 2, d) + rng.normal(0, 0.4, d)
    language = np.array(["a", "b"])[np.arange(n) % 2]
    ids = tuple(map(str, range(n)))
    items = pd.DataFrame({"item": ids, "language": language, "parallel": [str(i // 2) for i in range(n)]})
    result = geometry([Vectors("v", ids, x)], items=items, macro_f1=False)

    def value(statistic, **keys):
        blank = {"language": "", "centred": "", "against": ""}
        (row,) = result.select("geometry", statistic, blank | keys)
        return row.estimate

    for centred, moved in (("no", x), ("yes", x - x.mean(axis=0))):
        unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        pairs = [unit[i] @ unit[j] for i, j in itertools.combinations(range(n), 2)]
        assert value("anisotropy", centred=centred) == pytest.approx(np.mean(pairs))
    assert value("anisotropy_limit", centred="yes") == pytest.approx(-1 / (n - 1))
    assert value("isoscore") == pytest.approx(isoscore(x))
    shares = np.linalg.eigvalsh(np.cov(x.T))
    shares = shares[shares > 1e-12] / shares.sum()
    assert value("effective_rank") == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))
    assert value("first_component_share") == pytest.approx(shares.max())
    assert value("participation_ratio") == pytest.approx(1 / (shares**2).sum())
    assert value("mean_share", centred="no") == pytest.approx((x.mean(axis=0) ** 2).sum() / (x**2).sum(axis=1).mean())
    means = np.array([x[language == one].mean(axis=0) for one in "ab"])
    within = sum(((x[language == one] - mean) ** 2).sum() for one, mean in zip("ab", means, strict=True))
    between = sum(
        (language == one).sum() * ((mean - x.mean(axis=0)) ** 2).sum() for one, mean in zip("ab", means, strict=True)
    )
    assert value("fisher_ratio_trace") == pytest.approx(between / within)
    first, second = x[language == "a"], x[language == "b"]
    near = [
        max(range(n // 2), key=lambda j, i=i: first[i] @ second[j] / np.linalg.norm(second[j])) for i in range(n // 2)
    ]
    hits = np.mean([j == i for i, j in enumerate(near)])
    assert value("precision_at_1", language="a", against="b", centred="no") == pytest.approx(hits)


def test_rescaled_and_turned_vectors_have_the_same_shape():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(25, 6)) + 0.5
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    ids = tuple(map(str, range(25)))
    plain, turned = (geometry([Vectors("v", ids, one)], macro_f1=False) for one in (x, 3 * x @ turn))
    for a, b in zip(plain.rows, turned.rows, strict=True):
        assert a.statistic == b.statistic
        assert b.estimate == pytest.approx(a.estimate, rel=1e-7, abs=1e-12, nan_ok=True), a.statistic
