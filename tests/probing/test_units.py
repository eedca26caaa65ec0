import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measurand.data.outputs import read_outputs
from measurand.data.text import LENGTH_UNITS
from measurand.probing.findings_units import units_findings
from measurand.probing.outputs import describe
from measurand.probing.units import units
from measurand.result import MeasurandError, Result

FAMILY = "👩‍👩‍👧"  # one emoji, five code points


def outputs(texts, **columns):
    """Outputs of each system to the items 0, 1, …; None is a missing one."""
    rows = [
        {"item": i, "system": system, "text": text} | {name: of_items[i] for name, of_items in columns.items()}
        for system, of_system in texts.items()
        for i, text in enumerate(of_system)
        if text is not None
    ]
    return pd.DataFrame(rows)


def verdicts(table, **options):
    return {found.id: found for found in units_findings(describe(table) + units(table, replicates=100, **options))}


# --- The table --------------------------------------------------------------------------------------------------------


def test_holes_and_blanks_are_counted_by_system_and_language():
    table = outputs(
        {"x": ["a", "", "b", "c"], "y": ["a", None, None, " \n"]},
        language=["en", "en", "bn", "bn"],
        label=["joy", "joy", "fear", ""],
        group=["g", "g", "h", ""],
    )
    found = describe(table)
    expected = {
        ("", ""): (4, 6, 2, 2),
        ("x", ""): (4, 4, 0, 1),
        ("y", ""): (4, 2, 2, 1),
        ("", "en"): (2, 3, 1, 1),
        ("y", "bn"): (2, 1, 1, 1),
    }
    for (system, language), counts in expected.items():
        keys = {"system": system, "language": language}
        names = ("n_items", "n_outputs", "n_missing", "n_empty")
        assert tuple(found.value("outputs", name, keys) for name in names) == counts
    of_all = {row.statistic: row.estimate for row in found if row.keys["system"] == row.keys["language"] == ""}
    assert of_all["complete"] == 0
    assert (of_all["n_systems"], of_all["n_languages"], of_all["n_labels"], of_all["n_groups"]) == (2, 2, 2, 2)
    assert (of_all["n_without_label"], of_all["n_without_group"], of_all["n_without_language"]) == (1, 1, 0)


def test_what_was_left_out_is_told():
    table = pd.DataFrame(
        {
            "item": list("abcc"),
            "text": "😂",
            "label": ["1|2", "1", "1", "1"],
            "repeat": [1, 1, 1, 2],
            "control": ["", "x", "", ""],
        }
    )
    found = describe(read_outputs(table, label_separator="|"))
    assert [found.value("outputs", f"n_{name}") for name in ("repeats", "controls", "many_labels")] == [1, 1, 1]
    assert found.value("outputs", "n_items") == 1
    assert found.value("outputs", "complete") == 1


def test_of_lengths_alone_a_blank_one_is_an_empty_output():
    found = describe(pd.DataFrame({"item": [1, 2, 3], "length": [0, None, 5]}))
    assert found.value("outputs", "n_empty") == 1


# --- Lengths ----------------------------------------------------------------------------------------------------------


def test_the_mean_has_the_t_interval_of_independent_outputs():
    texts = ["😂", "😂😂", "", "😂😂😂😂", "ok"]
    row = units(outputs({"x": texts}), replicates=100).select(
        "units", "mean", {"system": "x", "unit_of_length": "emoji"}
    )[0]
    lengths = np.array([1, 2, 0, 4, 0])
    expected = stats.t.interval(0.95, 4, lengths.mean(), stats.sem(lengths))
    assert row.estimate == pytest.approx(1.4, abs=1e-12)
    assert (row.low, row.high) == pytest.approx((max(expected[0], 0), expected[1]), abs=1e-12)
    assert (row.unit, row.n_items) == ("item", 5)
    assert row.note == "1 blank output has length 0"


def test_lengths_are_described_in_every_unit_by_hand():
    found = units(outputs({"x": [f"{FAMILY} ok", "❤", ""]}), replicates=100)
    totals = {unit: found.value("units", "total", {"system": "x", "unit_of_length": unit}) for unit in LENGTH_UNITS}
    assert totals == {
        "emoji": 1,
        "emoji_or_text": 2,
        "non_ascii_grapheme": 2,
        "non_ascii_character": 6,
        "grapheme": 5,
        "word": 1,
        "character": 9,
        "byte": 24,
    }
    without = {
        unit: found.value("units", "n_without", {"system": "x", "unit_of_length": unit}) for unit in LENGTH_UNITS
    }
    assert (without["emoji"], without["emoji_or_text"], without["grapheme"]) == (2, 1, 1)
    assert found.value("units", "sd", {"system": "x", "unit_of_length": "grapheme"}) == pytest.approx(
        np.std([4, 1, 0], ddof=1)
    )


def test_a_share_has_wilson_s_interval():
    texts = ["😂"] * 17 + ["no"] * 3
    row = units(outputs({"x": texts}), replicates=100).select(
        "units", "share_without", {"system": "x", "unit_of_length": "emoji"}
    )[0]
    ends = stats.binomtest(3, 20).proportion_ci(method="wilson")
    assert (row.low, row.high) == pytest.approx((ends.low, ends.high), abs=1e-9)


def test_copied_outputs_of_a_group_widen_no_claim():
    """Ten copies of each item in one group say as much as one: the interval of the mean is that of the groups."""
    texts = ["😂" * n for n in (1, 2, 3, 5, 8)]
    alone = units(outputs({"x": texts}), replicates=100)
    copied = units(outputs({"x": texts * 10}, group=[f"g{i % 5}" for i in range(50)]), replicates=100)
    keys = {"system": "x", "unit_of_length": "emoji"}
    one, many = (found.select("units", "mean", keys)[0] for found in (alone, copied))
    assert (many.low, many.high) == pytest.approx((one.low, one.high), abs=1e-12)
    assert (many.unit, many.n_items) == ("group", 5)
    without = [
        found.select("units", "share_without", {**keys, "unit_of_length": "word"})[0] for found in (alone, copied)
    ]
    assert 0.3 < without[1].low < without[0].low  # that copies tell no more has to be found out from five groups
    assert without[1].high == without[0].high == 1


def test_one_item_has_no_interval_and_says_so():
    row = units(outputs({"x": ["😂"]}), replicates=100).select(
        "units", "mean", {"system": "x", "unit_of_length": "emoji"}
    )[0]
    assert (row.low, row.note) == (None, "one item: no interval")


def test_a_column_of_lengths_stands_beside_the_texts_or_alone():
    table = outputs({"x": ["😂", "😂"], "y": ["a", "b"]}).assign(length=[3, None, 5, 6])
    both = units(table, replicates=100)
    assert both.value("units", "mean", {"system": "x", "unit_of_length": "length"}) == 3
    assert both.select("units", "mean", {"system": "x", "unit_of_length": "length"})[0].note.startswith("one item")
    alone = units(table.drop(columns="text"), asked=(4, 5))
    assert {row.keys["unit_of_length"] for row in alone} == {"length"}
    assert alone.value("units", "rank", {"system": "y", "unit_of_length": "length"}) == 1
    assert alone.value("units", "n_below", {"system": "x"}) == 1
    assert {found.id: found.verdict for found in units_findings(alone)} == {
        "asked-range": "fail",
        "counting-unit": "not_applicable",
        "retry-rule": "not_applicable",
        "residue": "not_applicable",
    }


# --- Inflation and orders ---------------------------------------------------------------------------------------------


def test_inflation_is_of_sums_and_not_a_mean_of_ratios():
    found = units(outputs({"x": [FAMILY, "😂" * 9]}), replicates=200)
    keys = {"system": "x", "unit_of_length": "emoji", "against": "non_ascii_character"}
    assert found.value("units", "inflation", keys) == pytest.approx(14 / 10 - 1)
    row = found.select("units", "inflation", keys)[0]
    # Two items: a replicate has the first twice, both, or the second twice.
    assert (row.low, row.high) == pytest.approx((0, 4))


def test_the_inflation_of_one_system_does_not_depend_on_the_others():
    texts = {"x": [FAMILY, "😂", "👍🏽"] * 5, "y": ["😂", "", "❤️"] * 5}
    both, alone = units(outputs(texts), replicates=200), units(outputs({"x": texts["x"]}), replicates=200)
    keys = {"system": "x", "unit_of_length": "emoji"}
    assert both.select("units", "inflation", keys) == alone.select("units", "inflation", keys)


def test_without_any_unit_the_inflation_is_undefined():
    row = units(outputs({"x": ["no", "none"]}), replicates=100).select(
        "units", "inflation", {"unit_of_length": "emoji"}
    )[0]
    assert np.isnan(row.estimate)
    assert row.undefined == "no emoji in these outputs"


def test_code_points_reverse_an_order_beyond_chance_and_within_it():
    n = 30
    certain = outputs({"long": ["😂😂"] * n + ["😂"], "joined": [FAMILY] * n + ["😂😂"]})
    found = units(certain, replicates=100)
    keys = {"unit_of_length": "emoji", "against": "non_ascii_character"}
    assert found.value("units", "n_reversed", keys) == found.value("units", "n_reversed_beyond_chance", keys) == 1
    assert found.value("units", "kendall_tau_b", keys) == -1
    assert found.value("units", "n_changed", keys) == 2
    assert found.select("units", "n_reversed", keys)[0].note == "joined and long"
    noisy = outputs({"x": ["😂😂", "😂", "😂", "😂😂"], "y": ["😂", "😂😂", FAMILY, "😂"]})
    found = units(noisy, replicates=100)
    assert found.value("units", "n_reversed", keys) == 1
    assert found.value("units", "n_reversed_beyond_chance", keys) == 0


def test_ranks_and_tau_agree_with_an_independent_program():
    rng = np.random.default_rng(5)
    texts = {f"S{s}": ["😂" * a + FAMILY * b for a, b in rng.integers(0, 4, (12, 2))] for s in range(6)}
    found = units(outputs(texts), replicates=100)
    means = {
        unit: np.array([found.value("units", "mean", {"system": s, "unit_of_length": unit}) for s in texts])
        for unit in ("emoji", "non_ascii_character", "byte")
    }
    ranks = [found.value("units", "rank", {"system": s, "unit_of_length": "emoji"}) for s in texts]
    assert ranks == stats.rankdata(-means["emoji"].round(9)).tolist()
    for other in ("non_ascii_character", "byte"):
        tau = stats.kendalltau(means["emoji"].round(9), means[other].round(9)).statistic
        assert found.value("units", "kendall_tau_b", {"unit_of_length": "emoji", "against": other}) == pytest.approx(
            tau
        )


def test_systems_are_compared_over_the_items_that_both_have():
    table = outputs({"x": ["😂"] * 10 + [FAMILY] * 10, "y": ["😂😂"] * 10 + [None] * 10})
    found = units(table, replicates=100)
    keys = {"unit_of_length": "emoji", "against": "non_ascii_character"}
    # The means trade places by what y lacks; of the items that both have y is the longer one by either unit.
    assert found.value("units", "n_reversed", keys) == 1
    assert found.value("units", "n_reversed_beyond_chance", keys) == 0
    both = outputs({"x": ["😂"] * 4 + [FAMILY] * 16, "y": ["😂😂"] * 20, "z": ["😂😂"] * 10 + [None] * 10})
    row = units(both, replicates=100).select("units", "n_reversed_beyond_chance", keys)[0]
    assert (row.estimate, row.note) == (1, "x and y")


def test_a_difference_in_one_unit_alone_is_no_reversal():
    # As many emoji by both systems but for chance, and more code points by one.
    rng = np.random.default_rng(8)
    n_turned = n_beyond = 0
    for _ in range(30):
        first, second = ([pile * int(n) for n in rng.integers(1, 5, 40)] for pile in ("😂", FAMILY))
        found = units(outputs({"x": first, "y": second}), replicates=50)
        keys = {"unit_of_length": "emoji", "against": "non_ascii_character"}
        n_turned += found.value("units", "n_reversed", keys)
        n_beyond += found.value("units", "n_reversed_beyond_chance", keys)
    assert n_turned > 8
    assert n_beyond <= 3


# --- Contents ---------------------------------------------------------------------------------------------------------


def test_what_stands_beside_emoji_and_what_the_retry_rule_lets_pass():
    found = units(outputs({"x": ["😂 ok", "আমি", "plain", "❤", "“😂”", ""]}), replicates=100)

    def value(name, unit="emoji"):
        return found.value("units", name, {"system": "x", "unit_of_length": unit})

    assert value("residue_per_output") == pytest.approx((2 + 2 + 5 + 1 + 2) / 6)
    assert value("share_with_residue") == pytest.approx(5 / 6)
    assert value("share_with_residue", "emoji_or_text") == pytest.approx(4 / 6)
    assert value("n_without", "non_ascii_character") == 2
    assert value("n_passing_without_emoji") == 2
    assert value("n_passing_without_emoji", "emoji_or_text") == 1
    row = found.select("units", "n_passing_without_emoji", {"system": "x", "unit_of_length": "emoji"})[0]
    assert row.note == "for example “আমি”, “❤”"


def test_an_output_outside_the_range_is_counted_on_its_side():
    found = units(outputs({"x": ["", "😂", "😂" * 5, "😂" * 6, "❤"]}), asked=(1, 5), replicates=100)
    keys = {"system": "x", "unit_of_length": "emoji"}
    assert (found.value("units", "n_below", keys), found.value("units", "n_above", keys)) == (2, 1)
    assert found.value("units", "share_outside", keys) == pytest.approx(0.6)
    assert found.value("units", "n_below", {**keys, "unit_of_length": "emoji_or_text"}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "token"}, "unit 'token'; allowed are emoji"),
        ({"unit": "length"}, "unit 'length': the table has no column of lengths; allowed"),
        ({"asked": (5, 1)}, "asked for 5 to 1 units"),
        ({"asked": (-1, 1)}, "asked for -1 to 1 units"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(MeasurandError, match=message):
        units(outputs({"x": ["a"]}), **options)


# --- Whatever the table -----------------------------------------------------------------------------------------------

cells = st.one_of(st.none(), st.sampled_from(["", "😂", FAMILY, "ok", "❤", "=cmd()", "\n", "শুভ", "\ufe0f"]))


@settings(max_examples=10)
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=3), st.data())
def test_no_two_numbers_share_a_name_and_the_order_of_rows_says_nothing(cells_of_systems, data):
    texts = {f"S{s}": of_system for s, of_system in enumerate(cells_of_systems)}
    table = outputs(texts, language=["en", "bn", ""], group=["g", "", "g"])
    if len(table) == 0:
        return
    found = describe(table) + units(table, asked=(1, 5), replicates=50)
    names = [(row.analysis, *sorted(row.keys.items()), row.statistic) for row in found]
    assert len(set(names)) == len(names)
    assert Result.from_json(found.to_json()) == found
    shuffled = table.iloc[data.draw(st.permutations(range(len(table))))].reset_index(drop=True)
    again = describe(shuffled) + units(shuffled, asked=(1, 5), replicates=50)
    assert again.to_json() == found.to_json()
    for row in found:
        assert row.undefined or np.isfinite(row.estimate)
        assert row.low is None or row.low <= row.estimate + 1e-12
        assert row.high is None or row.high >= row.estimate - 1e-12
    assert len(units_findings(found)) == 5


def test_the_seed_changes_the_draws_alone():
    table = outputs({"x": [FAMILY, "😂", "👍🏽", "❤️"] * 9})
    one, same, other = (units(table, replicates=100, seed=seed) for seed in (1, 1, 2))
    assert one.to_json() == same.to_json()
    pairs = list(zip(one, other, strict=True))
    assert all(a.estimate == b.estimate for a, b in pairs)
    assert {a.statistic for a, b in pairs if a != b} == {"inflation"}


# --- Findings ---------------------------------------------------------------------------------------------------------


def test_emoji_as_they_should_be_pass_every_question():
    found = verdicts(outputs({"x": ["😂", "😂😂"], "y": ["🔥🔥", "🔥🔥🔥"]}), asked=(1, 5))
    assert {finding.verdict for finding in found.values()} == {"pass"}
    assert all(finding.statement.endswith(".") for finding in found.values())


@pytest.mark.parametrize(
    ("texts", "options", "name", "verdict", "said"),
    [
        (
            {"x": ["😂"] * 99 + [None], "y": ["😂"] * 100},
            {},
            "outputs-complete",
            "warn",
            "1 output is missing and none is",
        ),
        ({"x": ["😂"] * 98 + [None, ""], "y": ["😂"] * 100}, {}, "outputs-complete", "fail", "(x 2 %)"),
        ({"x": ["😂"] * 3}, {}, "asked-range", "not_applicable", "not known how long"),
        ({"x": ["😂"] * 99 + ["no"]}, {"asked": (1, 5)}, "asked-range", "warn", "1 output with fewer than 1"),
        ({"x": ["😂"] * 98 + ["no"] * 2}, {"asked": (1, 5)}, "asked-range", "fail", "most often x (2 %"),
        ({"x": ["😂"] * 9 + ["😂" * 7]}, {"asked": (1, 5)}, "asked-range", "fail", "1 output with more than 5 emoji"),
        (
            {"x": ["😂"] * 9 + ["😂😂", "😂😂😂"]},
            {"asked": (2, 2)},
            "asked-range",
            "fail",
            "9 outputs with fewer than 2 and",
        ),
        (
            {"x": ["😂"] * 98 + ["❤"] * 2},
            {"asked": (1, 5)},
            "asked-range",
            "warn",
            "above 0 % once emoji that are shown",
        ),
        ({"x": ["😂"] * 9, "y": ["😂😂"] * 9}, {}, "counting-unit", "pass", "the order of the 2 systems is the same"),
        ({"x": ["👍🏽"] * 9, "y": ["😂😂😂"] * 9}, {}, "counting-unit", "warn", "100 % longer (x)"),
        ({"x": ["👍🏽"] * 9}, {}, "counting-unit", "warn", "100 % longer"),
        (
            {"x": [FAMILY] * 9, "y": ["😂😂"] * 9},
            {},
            "counting-unit",
            "fail",
            "reverses the order of x and y, more than",
        ),
        ({"x": ["ok"] * 9}, {}, "counting-unit", "not_applicable", "100 % of the outputs have no emoji"),
        ({"x": ["ok"] * 9}, {"unit": "word"}, "counting-unit", "not_applicable", "counted in words"),
        ({"x": ["ক্ষ"] * 9, "y": ["ok ok"] * 9}, {"unit": "grapheme"}, "counting-unit", "warn", "200 % longer (x)"),
        ({"x": ["😂"] * 99 + ["“"]}, {}, "retry-rule", "warn", "lets 1 pass that have no emoji (for example ““”)"),
        ({"x": ["😂"] * 9 + ["আমি"]}, {}, "retry-rule", "fail", "for example “আমি”"),
        ({"x": ["😂"] * 9 + ["❤"]}, {}, "retry-rule", "warn", "of no system above 0 %"),
        ({"x": ["😂"] * 9 + ["no"]}, {}, "retry-rule", "pass", "would ask 1 output again and lets none"),
        ({"x": ["😂"] * 99 + ["😂!"]}, {}, "residue", "warn", "1 % of the outputs hold something beside emoji"),
        ({"x": ["😂"] * 9 + ["😂 ok"]}, {}, "residue", "fail", "for example “ok”"),
        ({"x": ["ok"] * 9}, {"unit": "word"}, "residue", "not_applicable", "counted in words"),
    ],
)
def test_each_verdict_has_its_rule(texts, options, name, verdict, said):
    finding = verdicts(outputs(texts), **options)[name]
    assert (finding.verdict, said in finding.statement) == (verdict, True), finding.statement
    assert bool(finding.remedy) or verdict in ("pass", "not_applicable")


def test_a_reversal_in_one_language_fails_and_is_named():
    texts = {"x": [FAMILY] * 9 + ["😂😂"] * 20, "y": ["😂😂"] * 9 + ["😂"] * 20}
    finding = verdicts(outputs(texts, language=["bn"] * 9 + ["en"] * 20))["counting-unit"]
    assert finding.verdict == "fail"
    assert "x and y in bn" in finding.statement


def test_every_row_that_a_finding_names_is_there():
    table = outputs({"x": ["😂", "আমি", ""], "y": [FAMILY, None, "😂 ok"]})
    found = describe(table) + units(table, asked=(1, 2), replicates=100)
    for finding in units_findings(found):
        for reference in finding.rows:
            keys = {key: value for key, value in reference.items() if key not in ("analysis", "statistic")}
            assert found.select(reference["analysis"], reference["statistic"], keys)


# --- Published outputs ------------------------------------------------------------------------------------------------


def test_published_emoji_outputs_have_the_published_lengths(shared):
    table = read_outputs(shared / "data" / "emoji_outputs" / "outputs.csv.gz")
    found = units(table, asked=(1, 5), replicates=200)
    published = {
        "non_ascii_grapheme": (2.979, 2.999, 3.001, 1.920),
        "non_ascii_character": (3.695, 3.702, 3.773, 2.112),
        "emoji": (2.977, 2.997, 2.998, 1.826),
        "emoji_or_text": (2.977, 2.997, 3.000, 1.919),
    }
    order = ("gemma2-9b-instruct", "llama3.1-70b-instruct", "gpt-4o", "human_original")
    for unit, expected in published.items():
        means = [found.value("units", "mean", {"system": system, "unit_of_length": unit}) for system in order]
        assert means == pytest.approx(expected, abs=0.001)
    keys = {"unit_of_length": "non_ascii_grapheme"}
    assert [found.value("units", "n_without", {"system": system, **keys}) for system in order] == [47, 1, 1, 13]
    assert found.value("units", "n_reversed", {"unit_of_length": "emoji", "against": "non_ascii_character"}) == 0
    assert {finding.id: finding.verdict for finding in units_findings(describe(table) + found)} == {
        "outputs-complete": "warn",
        "asked-range": "fail",
        "counting-unit": "warn",
        "retry-rule": "warn",
        "residue": "warn",
    }
