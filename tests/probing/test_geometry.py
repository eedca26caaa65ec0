"""What the geometry of vectors shows: offsets that vanish, languages that part, alignment that needs parallel items."""

import numpy as np
import pandas as pd
import pytest

from measurand import MeasurandError
from measurand.data.vectors import Vectors
from measurand.keys import KEYS
from measurand.probing.findings_geometry import geometry_findings
from measurand.probing.geometry import _correlation, geometry
from measurand.result import Result

FEW = {"replicates": 100}
LANGUAGES = ("bn", "en", "hi")


def made(
    n=90, d=12, *, offset=0.0, apart=1.0, signal=1.0, noise=1.0, nuisance=1.0, seed=0, name="encoder", parallel=False
):
    """Return vectors with a common offset, languages that lie apart, labels that can be read, and their items."""
    rng = np.random.default_rng(seed)
    language, label = np.arange(n) % 3, (np.arange(n) // 3) % 2
    content = rng.normal(size=(n // 3, d))[np.arange(n) // 3] if parallel else rng.normal(size=(n, d))
    x = content + noise * parallel * rng.normal(size=(n, d))
    x[:, 0] += signal * (2 * label - 1)
    x[:, 1:3] += apart * np.array([[0, 0], [3, 0], [0, 3]])[language]
    x[:, 3] += offset
    x[:, 4:8] *= nuisance
    items = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(n)],
            "language": np.array(LANGUAGES)[language],
            "label": np.array(["joy", "fear"])[label],
        }
    )
    if parallel:
        items["parallel"] = [f"p{k // 3}" for k in range(n)]
    return Vectors(name, tuple(items["item"]), x), items


def value(result, statistic, **keys):
    blank = dict.fromkeys(KEYS["geometry"], "")
    return result.value("geometry", statistic, {**blank, "vectors": "encoder", **keys})


def row(result, statistic, **keys):
    (found,) = result.select("geometry", statistic, keys)
    return found


def by_id(result):
    return {finding.id: finding for finding in geometry_findings(result)}


def test_no_two_numbers_share_a_name_and_each_has_an_interval_or_says_why_not():
    vectors, items = made(parallel=True)
    result = geometry([vectors, Vectors("b", vectors.ids, vectors.values[:, :5])], items=items, **FEW)
    names = [(one.statistic, *sorted(one.keys.items())) for one in result.rows]
    assert len(set(names)) == len(names)
    for one in result.rows:
        counts = one.statistic.startswith("n_") or one.statistic.endswith(("_limit", "_chance"))
        assert counts or one.undefined or one.low is not None or "no interval" in one.note, one
        if one.low is not None:
            assert one.low <= one.estimate <= one.high
            assert one.method
            assert one.unit
    assert Result.from_json(result.to_json()) == result


def test_the_same_vectors_and_seed_give_the_same_bytes():
    vectors, items = made()
    assert geometry([vectors], items=items, **FEW).to_json() == geometry([vectors], items=items, **FEW).to_json()


def test_vectors_alike_in_all_directions_have_isoscore_one_and_a_line_has_zero():
    cross = np.vstack([np.eye(4), -np.eye(4)])
    ids = tuple("abcdefgh")
    result = geometry([Vectors("cross", ids, cross), Vectors("line", ids, np.outer(np.arange(1.0, 9), np.ones(4)))])
    assert row(result, "isoscore", vectors="cross").estimate == pytest.approx(1)
    assert row(result, "isoscore", vectors="line").estimate == pytest.approx(0, abs=1e-12)
    assert row(result, "effective_rank", vectors="cross").estimate == pytest.approx(4)
    assert row(result, "effective_rank", vectors="line").estimate == pytest.approx(1, abs=1e-6)


def test_an_offset_makes_anisotropy_and_centring_takes_all_of_it():
    found = {}
    for offset in (0.0, 3.0, 30.0):
        vectors, items = made(offset=offset, apart=0)
        found[offset] = geometry([vectors], items=items, macro_f1=False)
    raw = [value(one, "anisotropy", centred="no") for one in found.values()]
    assert raw[0] < 0.05 < 0.3 < raw[1] < 0.9 < raw[2]
    centred = [value(one, "anisotropy", centred="yes") for one in found.values()]
    assert centred == pytest.approx([centred[0]] * 3, abs=1e-9)
    limit = value(found[0.0], "anisotropy_limit", centred="yes")
    assert limit == pytest.approx(-1 / 89)
    assert abs(centred[0] - limit) < 0.005
    assert [value(one, "isoscore") for one in found.values()] == pytest.approx([value(found[0.0], "isoscore")] * 3)


def test_languages_that_lie_apart_are_seen_about_the_common_mean_and_not_about_their_own():
    vectors, items = made(apart=2.0)
    result = geometry([vectors], items=items, macro_f1=False)
    about_all, about_own = (value(result, "anisotropy", language="en", centred=c) for c in ("yes", "per language"))
    assert about_all > 0.3
    assert about_own == pytest.approx(-1 / 29, abs=0.02)
    assert value(result, "fisher_ratio_trace") > 0.3
    assert value(result, "language_accuracy", centred="no") > 0.9
    assert value(result, "language_chance") == pytest.approx(1 / 3)


def test_a_large_offset_hides_languages_from_a_penalised_classifier_until_the_mean_is_taken_out():
    vectors, items = made(n=300, offset=200.0, apart=1.2, nuisance=8.0)
    result = geometry([vectors], items=items, **FEW)
    raw, centred = (value(result, "language_accuracy", centred=c) for c in ("no", "yes"))
    assert raw < 0.7
    assert centred > raw + 0.1
    finding = by_id(result)["languages-separable"]
    assert finding.verdict == "warn"
    assert "Subtracting the mean first takes encoder" in finding.statement
    assert "Centre the vectors" in finding.remedy


def test_labels_are_not_read_where_items_that_say_the_same_are_held_out_together():
    # Nothing tells the label but which item it is: translations in both folds would give it away.
    rng = np.random.default_rng(0)
    n = 60
    content = np.repeat(rng.normal(size=(n, 200)), 3, axis=0)
    label = np.repeat(rng.permutation(np.arange(n) % 2), 3)
    items = pd.DataFrame(
        {"item": [f"i{k}" for k in range(3 * n)], "language": LANGUAGES * n, "label": label.astype(str)}
    )
    vectors = Vectors("encoder", tuple(items["item"]), content + 0.1 * rng.normal(size=content.shape))
    leaked = geometry([vectors], items=items, **FEW)
    held = geometry([vectors], items=items.assign(parallel=np.repeat(np.arange(n), 3)), **FEW)
    grouped = geometry([vectors], items=items.assign(group=np.repeat(np.arange(n), 3)), **FEW)
    assert value(leaked, "probe_macro_f1", centred="no") > 0.9
    assert value(held, "probe_macro_f1", centred="no") < 0.65
    assert value(grouped, "probe_macro_f1", centred="no") < 0.65
    assert row(held, "probe_macro_f1", centred="no", language="").unit == "group"
    assert row(held, "probe_macro_f1", centred="no", language="bn").unit == "item"


def test_alignment_is_refused_without_parallel_items_and_measured_with_them():
    vectors, items = made(parallel=True, noise=0.05, apart=0)
    aligned = geometry([vectors], items=items, macro_f1=False)
    assert len(aligned.select("geometry", "precision_at_1", {"centred": "no"})) == 6
    assert value(aligned, "precision_at_1", language="en", against="bn", centred="no") > 0.9
    assert by_id(aligned)["alignment-shown"].verdict == "pass"
    refused = geometry([vectors], items=items.drop(columns="parallel"), macro_f1=False)
    assert "alignment needs parallel items" in row(refused, "precision_at_1").undefined
    finding = by_id(refused)["alignment-shown"]
    assert finding.verdict == "undetermined"
    assert "column called parallel" in finding.remedy


def test_vectors_that_part_languages_perfectly_may_align_nothing():
    vectors, items = made(parallel=False, apart=5.0)
    items["parallel"] = [f"p{k // 3}" for k in range(len(items))]
    result = geometry([vectors], items=items, macro_f1=False)
    assert value(result, "language_accuracy", centred="no") > 0.95
    findings = by_id(result)
    assert findings["languages-separable"].verdict == "pass"
    assert "how well languages are aligned" in findings["languages-separable"].statement
    assert findings["alignment-shown"].verdict == "fail"


def test_taking_out_each_languages_mean_finds_counterparts_that_languages_apart_hide():
    vectors, items = made(parallel=True, noise=0.3, apart=4.0)
    result = geometry([vectors], items=items, macro_f1=False)
    keys = {"language": "bn", "against": "en"}
    assert value(result, "precision_at_1", **keys, centred="per language") > value(
        result, "precision_at_1", **keys, centred="no"
    )


def test_the_correlation_over_encoders_has_the_published_p_and_says_that_they_are_few():
    # r = -.48 over five encoders has p = .41 (Sakhawat 2026, section 7).
    x = np.array([0.149, 0.150, 0.319, 0.574, 0.700])
    noise = np.array([1.0, -2.0, 1.5, 0.3, -0.8])
    centred = x - x.mean()
    noise -= noise.mean()
    noise -= centred * (noise @ centred) / (centred @ centred)
    y = -0.48 * centred / np.linalg.norm(centred) + np.sqrt(1 - 0.48**2) * noise / np.linalg.norm(noise)
    found = _correlation(x, y, "no", 0.95)
    assert found.estimate == pytest.approx(-0.48)
    assert round(found.p, 2) == 0.41
    assert (found.low, found.high) == pytest.approx((-0.9570, 0.6978), abs=1e-4)
    assert "over 5 sets of vectors: few" in found.note
    finding = by_id(Result([found]))["geometry-and-use"]
    assert finding.verdict == "undetermined"
    assert "5 encoders cannot tell" in finding.remedy
    assert "needs 4" in _correlation(x[:3], y[:3], "no", 0.95).undefined
    assert "no interval" in _correlation(x, x, "no", 0.95).note
    assert "do not differ" in _correlation(x, 0 * x, "no", 0.95).undefined


def test_the_findings_warn_of_raw_anisotropy_and_name_the_encoders():
    pairs = [made(offset=o, name=f"e{k}") for k, o in enumerate((0.0, 1.0, 3.0, 30.0))]
    result = geometry([one for one, _ in pairs], items=pairs[0][1], **FEW)
    findings = by_id(result)
    assert list(findings) == ["anisotropy-is-offset", "languages-separable", "alignment-shown", "geometry-and-use"]
    offset = findings["anisotropy-is-offset"]
    assert offset.verdict == "warn"
    assert "(e0) to" in offset.statement
    assert "−0.0112 whatever" in offset.statement
    assert "isoscore_unbiased is" in offset.remedy
    assert row(result, "pearson_anisotropy_macro_f1", centred="no").df2 == 2
    names = {(one.analysis, one.statistic) for one in result.rows}
    assert all((ref["analysis"], ref["statistic"]) in names for one in findings.values() for ref in one.rows)
    assert geometry_findings(Result([])) == []
    fewer = Vectors("fewer", pairs[0][0].ids[:60], pairs[0][0].values[:60])
    uneven = geometry([pairs[1][0], fewer], items=pairs[0][1], macro_f1=False)
    assert "not of the same number of items" in by_id(uneven)["anisotropy-is-offset"].statement


def test_vectors_without_items_have_a_shape_and_nothing_else():
    vectors, _ = made()
    result = geometry([vectors], **FEW)
    assert value(result, "n_vectors") == 90
    assert "fewer than two languages" in row(result, "language_accuracy").undefined
    assert row(result, "probe_macro_f1").undefined == "no item has a label"
    findings = by_id(result)
    assert findings["languages-separable"].verdict == findings["alignment-shown"].verdict == "not_applicable"


def test_what_is_left_out_is_counted():
    vectors, items = made()
    values = vectors.values.copy()
    values[5] = 0.0
    some = items.iloc[:80]
    more = pd.concat([some, pd.DataFrame({"item": ["x1", "x2"], "language": "bn", "label": "joy"})])
    result = geometry([Vectors("encoder", vectors.ids, values)], items=more, macro_f1=False)
    counts = {name: value(result, name) for name in ("n_vectors", "n_zero", "n_unknown", "n_missing")}
    assert counts == {"n_vectors": 79, "n_zero": 1, "n_unknown": 10, "n_missing": 2}
    kept = [k for k in range(80) if k != 5]
    alone = geometry([Vectors("encoder", tuple(some["item"].iloc[kept]), vectors.values[kept])], items=some)
    assert value(alone, "isoscore") == value(result, "isoscore")


def test_blank_languages_and_labels_belong_to_no_class():
    vectors, items = made()
    items.loc[:8, "language"] = ""
    items.loc[:19, "label"] = None
    result = geometry([vectors], items=items, **FEW)
    assert row(result, "language_accuracy", centred="no").n_items == 81
    assert row(result, "probe_macro_f1", centred="no", language="").n_items == 70
    assert row(result, "n_vectors", language="").estimate == 90


def odd_same():
    return Vectors("v", tuple("abcdef"), np.full((6, 3), 0.1))


ODD = {
    "one vector": Vectors("v", ("a",), np.ones((1, 3))),
    "two vectors": Vectors("v", ("a", "b"), np.eye(2)),
    "all the same": odd_same(),
    "one dimension": Vectors("v", tuple("abcdef"), np.arange(1.0, 7)[:, None]),
    "opposite": Vectors("v", tuple("abcd"), np.array([[1.0], [-1.0], [1.0], [-1.0]])),
    "tiny": Vectors("v", tuple("abcdef"), 1e-150 * np.random.default_rng(0).normal(size=(6, 3))),
    "hostile": Vectors("=cmd()\n😂", tuple("abcdef"), np.random.default_rng(0).normal(size=(6, 3))),
}


@pytest.mark.parametrize("vectors", ODD.values(), ids=ODD)
@pytest.mark.parametrize("told", ["nothing", "languages", "one label"])
def test_odd_vectors_give_numbers_or_reasons(vectors, told):
    items = pd.DataFrame({"item": vectors.ids})
    if told == "languages":
        items = items.assign(language=[("bn", "en")[k % 2] for k in range(len(items))], label="joy", parallel="p")
        items["parallel"] = [f"p{k // 2}" for k in range(len(items))]
    if told == "one label":
        items = items.assign(label="joy")
    result = geometry([vectors], items=items, **FEW)
    assert all(np.isfinite(one.estimate) or one.undefined for one in result.rows)
    assert len(geometry_findings(result)) == 4
    assert Result.from_json(result.to_json()) == result


@pytest.mark.parametrize(("n", "d"), [(5, 2), (6, 3), (8, 5), (12, 30)])
def test_no_interval_ends_beyond_what_is_possible(n, d):
    n_cut, most = 0, min(n - 1, d)
    possible = {
        "anisotropy": (-1, 1),
        "mean_share": (0, 1),
        "participation_ratio": (1, most),
        "isoscore": (0, (most - 1) / (d - 1)),
        "effective_rank": (1, most),
        "first_component_share": (0, 1),
        "first_ten_components_share": (0, 1),
        "fisher_ratio_trace": (0, np.inf),
    }
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = rng.standard_t(2, size=(n, d))
        items = pd.DataFrame(
            {"item": [str(i) for i in range(n)], "language": ["aa", "bb"] * (n // 2) + ["aa"] * (n % 2)}
        )
        found = geometry([Vectors("v", tuple(items["item"]), values)], items=items, macro_f1=False)
        for one in found:
            if one.low is None or one.statistic not in possible or one.keys["language"]:
                continue
            least, largest = possible[one.statistic]
            assert least - 1e-9 <= one.low <= one.estimate <= one.high <= largest + 1e-9, one
            n_cut += "the interval is cut" in one.note
    assert n_cut > 0


def test_an_unbiased_estimate_beyond_its_range_says_so_and_no_remedy_quotes_it():
    for seed in range(40):
        values = np.random.default_rng(seed).normal(size=(6, 8)) + 3
        found = geometry([Vectors("v", tuple("abcdef"), values)], macro_f1=False)
        one = row(found, "isoscore_unbiased")
        if one.undefined or one.estimate <= 1:
            continue
        assert "outside what is possible (0 to 1)" in one.note
        remedy = by_id(found)["anisotropy-is-offset"].remedy
        assert "isoscore_unbiased is" not in remedy
        assert "That of v is outside 0 to 1" in remedy
        return
    pytest.fail("no sample had an estimate beyond the range")


def test_what_was_simulated_at_one_level_is_told_at_no_other():
    values = np.random.default_rng(1).normal(size=(20, 4))
    vectors = [Vectors("v", tuple(map(str, range(20))), values)]
    notes = [row(geometry(vectors, confidence=level), "participation_ratio").note for level in (0.95, 0.9)]
    assert ["simulated" in note for note in notes] == [True, False]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"penalty": np.inf}, "penalty inf"),
        ({"penalty": -1}, "penalty -1"),
        ({"n_folds": 1}, "n_folds 1"),
        ({"replicates": 0}, "replicates 0"),
        ({"confidence": 1.0}, "confidence 1.0"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_settings_out_of_range_are_refused(setting, message):
    with pytest.raises(MeasurandError, match=message):
        geometry([Vectors("v", ("a", "b"), np.eye(2))], **setting)


def test_vectors_and_items_that_do_not_fit_are_refused():
    vectors, items = made()
    with pytest.raises(MeasurandError, match="two sets of vectors are called 'encoder'"):
        geometry([vectors, vectors])
    with pytest.raises(MeasurandError, match="none of their 90 items is in the table"):
        geometry([vectors], items=items.assign(item=[f"x{k}" for k in range(90)]))
    with pytest.raises(MeasurandError, match='items "i0" and "i3" of language "bn" are both parallel to "p"'):
        geometry([vectors], items=items.assign(parallel="p"))
    with pytest.raises(MeasurandError, match="all have length 0"):
        geometry([Vectors("z", ("i0",), np.zeros((1, 2)))], items=items)


def test_stored_precision_does_not_change_the_numbers():
    vectors, items = made(d=8)
    single = Vectors("encoder", vectors.ids, vectors.values.astype(np.float32))
    double = Vectors("encoder", vectors.ids, single.values.astype(np.float64))
    found = [geometry([one], items=items, macro_f1=False) for one in (single, double)]
    assert value(found[0], "isoscore") == pytest.approx(value(found[1], "isoscore"), rel=1e-12)
    assert value(found[0], "anisotropy", centred="no") == pytest.approx(
        value(found[1], "anisotropy", centred="no"), rel=1e-12
    )
