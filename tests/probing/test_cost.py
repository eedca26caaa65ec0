"""Token cost: identities, the second paper's numbers, known templates, what is missing, and the findings."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measurand.data import read_outputs
from measurand.probing.cost import cost
from measurand.probing.findings_cost import cost_findings
from measurand.result import MeasurandError, Result
from measurand.simulate import SimulatedSystem, simulate_outputs

TOGETHER = {"system": "", "net_of_template": "no"}


@pytest.fixture(scope="module")
def made():
    return simulate_outputs(n_items=300, truth_draws=0, seed=4)


@pytest.fixture(scope="module")
def result(made):
    return cost(made.outputs)


SIGN = "cost-sign-depends-on-unit"


def finding(result, name):
    return {one.id: one for one in cost_findings(result)}[name]


def paper(n=20):
    """Sources whose bytes per character and tokens per byte are those of the second paper."""
    frames = []
    for language, width, per_byte in (("Bangla", 2.64, 1.108), ("English", 1.0, 1.45), ("Hindi", 2.57, 1.557)):
        chars = np.arange(1, n + 1) * 100_000
        frame = pd.DataFrame({"item": [f"{language}{i}" for i in range(n)], "text": "😂", "language": language})
        tokens = np.rint(chars * width * per_byte).astype(int)
        frames.append(frame.assign(source_chars=chars, source_bytes=np.rint(chars * width), prompt_tokens=tokens))
    return pd.concat(frames, ignore_index=True)


# --- identities and published numbers ---------------------------------------------------------------------------------


def test_the_papers_tokens_per_byte_and_bytes_per_character_make_its_tokens_per_character():
    found = cost(paper())
    of = {"system": "", "language": "Bangla", "net_of_template": "no"}
    assert round(found.value("cost", "prompt_tokens", of | {"per": "byte"}), 3) == 1.108
    assert round(found.value("cost", "bytes_per_character", {"system": "", "language": "Bangla"}), 2) == 2.64
    assert round(found.value("cost", "prompt_tokens", of | {"per": "character"}), 2) == 2.93  # 1.108 x 2.64
    parity = {
        (language, per): found.value(
            "cost", "prompt_tokens_parity", TOGETHER | {"language": language, "per": per, "against": "English"}
        )
        for language in ("Bangla", "Hindi")
        for per in ("byte", "character")
    }
    assert round(parity["Bangla", "character"], 1) == 2.0
    assert parity["Bangla", "byte"] < 1 < parity["Hindi", "byte"]
    told = finding(found, "cost-sign-depends-on-unit")
    assert told.verdict == "fail"
    assert "Bangla is cheaper than English per byte (0.764 times" in told.statement
    assert "per code point (2.02 times" in told.statement
    assert "Hindi is dearer than English by every unit" in told.statement


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    chars = rng.integers(1, 200, n)
    frame = pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(n)],
            "text": [draw(st.sampled_from(["", "😂", "😂😂", "no"])) for _ in range(n)],
            "language": rng.choice(["en", "bn", ""], n),
            "source_chars": chars.astype(float),
            "source_bytes": (chars * rng.integers(1, 4, n)).astype(float),
            "prompt_tokens": rng.integers(0, 90, n).astype(float),
            "completion_tokens": rng.integers(0, 9, n).astype(float),
        }
    )
    for column in ("source_chars", "source_bytes", "prompt_tokens"):
        frame.loc[rng.random(n) < 0.2, column] = np.nan
    systems = pd.DataFrame({"system": ["A", "B"][: draw(st.integers(1, 2))]})
    return systems.merge(frame, how="cross")


@settings(max_examples=40)
@given(tables())
def test_tokens_per_character_are_tokens_per_byte_times_bytes_per_character_whatever_is_missing(table):
    found = cost(table)
    for row in found.select("cost", "prompt_tokens", {"per": "character", "net_of_template": "no"}):
        where = {key: row.keys.get(key, "") for key in ("system", "language")}
        per_byte = found.select("cost", "prompt_tokens", where | {"per": "byte", "net_of_template": "no"})[0]
        width = found.select("cost", "bytes_per_character", where | {"against": ""})[0]
        if row.undefined:
            assert per_byte.undefined
            continue
        assert row.estimate == pytest.approx(per_byte.estimate * width.estimate, rel=1e-12)
        assert row.n_items == per_byte.n_items == width.n_items


@settings(max_examples=25)
@given(tables(), st.randoms(use_true_random=False))
def test_every_number_has_a_name_of_its_own_an_interval_or_a_reason_and_does_not_depend_on_row_order(table, random):
    found = cost(table, seed=1)
    names = [json.dumps(row.reference(), sort_keys=True) for row in found]
    assert len(names) == len(set(names))
    for row in found:
        assert row.undefined or row.low is not None or row.note, row
        assert row.low is None or row.low <= row.estimate <= row.high, row
    assert Result.from_json(found.to_json()) == found
    cost_findings(found)
    order = list(range(len(table)))
    random.shuffle(order)
    again = {json.dumps(row.reference(), sort_keys=True): row for row in cost(table.iloc[order], seed=1)}
    for name, row in zip(names, found, strict=True):
        assert again[name].undefined == row.undefined
        for one, other in ((again[name].estimate, row.estimate), (again[name].high, row.high)):
            assert other is None or one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True), name


def test_the_same_seed_gives_the_same_bytes(made):
    quality = {"rating": {"S1": 1.0, "S2": 3.0, "S3": 2.0, "S4": 4.0}}
    one, two = (cost(made.outputs, quality=quality, seed=3).to_json() for _ in range(2))
    assert one == two


# --- intervals --------------------------------------------------------------------------------------------------------


def test_tokens_per_output_of_one_system_have_the_t_interval_of_a_mean(made, result):
    tokens = made.outputs.query("system == 'S2' and language == 'Bangla'")["prompt_tokens"]
    row = result.select("cost", "prompt_tokens", {"system": "S2", "language": "Bangla", "per": "output"})[0]
    low, high = stats.t.interval(0.95, len(tokens) - 1, tokens.mean(), stats.sem(tokens))
    assert (row.estimate, row.low, row.high) == pytest.approx((tokens.mean(), low, high), rel=1e-12)
    assert (row.unit, row.n_items, row.confidence) == ("item", 150, 0.95)


def test_outputs_to_one_item_do_not_count_as_independent(result):
    """All systems read the same texts: together they know no more of the texts' lengths than one does."""
    of = {"language": "English", "per": "byte", "net_of_template": "no"}
    together = result.select("cost", "prompt_tokens", of | {"system": ""})[0]
    alone = result.select("cost", "prompt_tokens", of | {"system": "S1"})[0]
    assert together.high - together.low > 0.8 * (alone.high - alone.low)


def test_known_templates_and_rates_lie_in_their_intervals():
    hits, tries = [], 0
    for seed in range(12):
        made = simulate_outputs(n_items=200, n_raters=0, truth_draws=0, seed=seed)
        found = cost(made.outputs)
        for one in made.truth["systems"]:
            for tongue in one["languages"]:
                keys = {"system": one["name"], "language": tongue["language"], "per": "character"}
                template = found.select("cost", "template_tokens", keys)[0]
                rate = found.select("cost", "prompt_tokens", keys | {"net_of_template": "yes"})[0]
                hits += [
                    template.low <= one["template_tokens"] <= template.high,
                    rate.low <= tongue["tokens_per_character"] <= rate.high,
                ]
                tries += 2
    assert 0.88 < np.mean(hits) <= 0.99, (np.mean(hits), tries)


def test_the_template_of_all_systems_is_the_mean_of_theirs(made, result):
    keys = {"language": "English", "per": "character"}
    single = [result.value("cost", "template_tokens", keys | {"system": one}) for one in result_systems(result)]
    row = result.select("cost", "template_tokens", keys | {"system": ""})[0]
    assert row.estimate == pytest.approx(np.mean(single), rel=1e-12)
    assert row.note == "mean over 6 systems"
    assert row.low < np.mean([one["template_tokens"] for one in made.truth["systems"]]) < row.high


def result_systems(result):
    return sorted({str(row.keys["system"]) for row in result if row.keys.get("system")})


def test_texts_that_say_the_same_in_two_languages_pair_their_errors():
    rng = np.random.default_rng(3)
    n = 80
    chars = np.rint(np.exp(4 + 0.5 * rng.standard_normal(n)))
    frames = []
    for language, rate in (("English", 0.5), ("Bangla", 1.0)):
        frame = pd.DataFrame({"item": [f"{language}{i}" for i in range(n)], "text": "😂", "language": language})
        frames.append(
            frame.assign(parallel=[f"p{i}" for i in range(n)], source_chars=chars, prompt_tokens=chars * rate)
        )
    table = pd.concat(frames).assign(prompt_tokens=lambda t: np.rint(t["prompt_tokens"]))
    of = TOGETHER | {"language": "Bangla", "per": "output", "against": "English"}
    paired = cost(table).select("cost", "prompt_tokens_parity", of)[0]
    apart = cost(table.drop(columns="parallel")).select("cost", "prompt_tokens_parity", of)[0]
    assert (paired.unit, apart.unit) == ("parallel", "item")
    assert paired.estimate == apart.estimate == pytest.approx(2, rel=0.01)
    assert paired.high - paired.low < 0.05 * (apart.high - apart.low)


# --- tables as they come ----------------------------------------------------------------------------------------------


def test_sizes_come_from_the_texts_and_from_the_columns_where_there_is_none():
    table = pd.DataFrame(
        {
            "item": list("abc"),
            "text": "👍",
            "source_text": ["আমি ভালো", "hi 👩‍👩‍👧", ""],
            "source_chars": [8, 99, 4],
            "source_bytes": [22, np.nan, 4],
            "prompt_tokens": [10, 10, 10],
        }
    )
    found = cost(table)
    total = {"byte": 22 + 21 + 4, "character": 8 + 8 + 4}
    for per, size in total.items():
        keys = {"per": per, "net_of_template": "no"}
        assert found.value("cost", "prompt_tokens", keys) == pytest.approx(30 / size, rel=1e-12)
    graphemes = found.select("cost", "prompt_tokens", {"per": "grapheme", "net_of_template": "no"})[0]
    assert graphemes.n_items == 2
    assert "1 output without" in graphemes.note
    about = found.settings["cost"]
    assert about["sizes_that_differ"] == {"byte": 0, "character": 1}
    assert about["sizes_from"]["character"] == "source_text, source_chars where it is blank"


def test_what_the_table_does_not_have_is_said():
    bare = cost(pd.DataFrame({"item": ["a", "b"], "text": ["😂", "😂😂"]}))
    assert [row.statistic for row in bare if not row.undefined] == ["emitted_units"]
    assert bare.value("cost", "emitted_units") == 1.5
    assert (
        bare.select("cost", "prompt_tokens")[0].undefined == "the table has no prompt_tokens and no completion_tokens"
    )
    assert {one.verdict for one in cost_findings(bare)} == {"not_applicable"}


def test_reasoning_is_taken_from_completion_tokens_only_where_it_can_be_part_of_them():
    table = pd.DataFrame(
        {
            "item": ["a", "b"] * 2,
            "system": ["X", "X", "Y", "Y"],
            "text": "😂😂",
            "completion_tokens": [10, 14, 3, 5],
            "reasoning_tokens": [6, 8, 40, 2],
        }
    )
    found = cost(table)
    visible = {row.keys["system"]: row for row in found.select("cost", "visible_tokens", {"per": "emitted_unit"})}
    assert visible["X"].estimate == (4 + 6) / 4
    assert "exceed completion_tokens in 1 output:" in visible["Y"].undefined
    assert visible[""].estimate == visible["X"].estimate
    assert "left out 'Y'" in visible[""].note
    assert found.value("cost", "reasoning_share", {"system": "X"}) == 14 / 24
    (share,) = found.select("cost", "reasoning_share", {"system": "Y"})
    assert share.undefined


def test_items_without_a_language_count_where_all_are_together_and_nowhere_else(made):
    table = made.outputs.assign(language=made.outputs["language"].where(made.outputs["item"] > "I010", ""))
    found = cost(table)
    assert found.settings["cost"]["without_language"] == 60
    row = found.select("cost", "prompt_tokens", {"system": "S1", "language": "", "per": "output"})[0]
    assert row.n_items == 300
    english = found.select("cost", "prompt_tokens", {"system": "S1", "language": "English", "per": "output"})[0]
    assert english.n_items == 140


def test_one_language_and_items_without_one_are_told_apart(made):
    english = made.outputs[made.outputs["language"] == "English"]
    found = cost(english.assign(language=english["language"].where(english["item"] > "I010", "")))
    rows = found.select("cost", "prompt_tokens", {"system": "S1", "per": "output"})
    assert {row.keys["language"]: row.n_items for row in rows} == {"": 150, "English": 140}
    alone = cost(english).select("cost", "prompt_tokens", {"system": "S1", "per": "output"})
    assert {row.keys["language"]: row.n_items for row in alone} == {"English": 150}
    assert (
        finding(found, "reasoning-in-completion").verdict == finding(cost(english), "reasoning-in-completion").verdict
    )


@pytest.mark.parametrize(
    ("languages", "base", "how"),
    [
        (["bn", "en-GB", "hi"], "en-GB", "English where there is one"),
        (["bn", "EN", "hi"], "EN", "English where there is one"),
        (["bn", "hi", "hi"], "hi", "most outputs"),
        (["bn", "bn", "bn"], "", "one language: nothing to compare"),
    ],
)
def test_the_base_language_is_english_or_the_most_frequent_and_the_settings_say_so(languages, base, how):
    table = pd.DataFrame({"item": list("abc"), "text": "x", "language": languages, "prompt_tokens": [1, 2, 3]})
    about = cost(table).settings["cost"]
    assert (about["base_language"], about["base_language_chosen"]) == (base, how)


def test_a_named_base_language_turns_the_ratios_around(made, result):
    turned = cost(made.outputs, base_language="Bangla")
    keys = TOGETHER | {"per": "byte"}
    one = result.value("cost", "prompt_tokens_parity", keys | {"language": "Bangla", "against": "English"})
    other = turned.value("cost", "prompt_tokens_parity", keys | {"language": "English", "against": "Bangla"})
    assert one * other == pytest.approx(1, rel=1e-12)


def test_wrong_use_is_refused_in_words(made):
    with pytest.raises(MeasurandError, match="base_language is 'French', and the table has Bangla, English"):
        cost(made.outputs, base_language="French")
    with pytest.raises(MeasurandError, match="unit 'tokens'; allowed are emoji"):
        cost(made.outputs, unit="tokens")
    with pytest.raises(MeasurandError, match="needs a column 'length'"):
        cost(made.outputs, unit="length")


def test_names_may_be_anything():
    names = ["=cmd()", "نظام", "a\nb", "🙂"]
    table = pd.DataFrame(
        {
            "item": np.repeat([f"i{i}" for i in range(6)], 4),
            "system": names * 6,
            "language": np.repeat(["<b>", "en"], 12),
            "text": "😂",
            "source_text": np.repeat(["a", "bb", "ccc", "ddd", "ee", "f"], 4),
            "prompt_tokens": np.arange(24) + 5,
            "completion_tokens": 3,
        }
    )
    found = cost(table, quality={"=1+1": dict(zip(names, (1.0, 2.0, 4.0, 3.0), strict=True))})
    assert set(result_systems(found)) == set(names)
    assert Result.from_json(found.to_json()) == found
    assert len(cost_findings(found)) == 4


def test_lengths_stand_in_for_texts():
    table = pd.DataFrame({"item": list("abcd"), "length": [1, 2, 3, 2], "completion_tokens": [2, 4, 6, 4]})
    row = cost(table).select("cost", "completion_tokens", {"per": "emitted_unit"})[0]
    assert (row.estimate, row.low, row.high) == (2, 2, 2)
    assert row.note == "the same in every output"


def test_published_outputs_have_the_emoji_and_bytes_that_they_have(shared):
    outputs = read_outputs(shared / "data" / "emoji_outputs" / "outputs.csv.gz")
    found = cost(outputs)
    means = {row.keys["system"]: row.estimate for row in found.select("cost", "emitted_units") if row.keys["system"]}
    assert sorted(round(one, 3) for one in means.values()) == [1.826, 2.977, 2.997, 2.998]
    frame = outputs.frame
    width = found.value("cost", "bytes_per_character", {"system": ""})
    assert width == pytest.approx(frame["source_bytes"].sum() / frame["source_chars"].sum(), rel=1e-12)


# --- findings ---------------------------------------------------------------------------------------------------------


def test_simulated_outputs_have_all_that_the_paper_found(result):
    told = {one.id: one for one in cost_findings(result)}
    assert {name: one.verdict for name, one in told.items()} == {
        "cost-sign-depends-on-unit": "fail",
        "template-in-ratios": "warn",
        "reasoning-in-completion": "warn",
        "cost-predicts-quality": "not_applicable",
    }
    assert "S4" in told["reasoning-in-completion"].statement
    for one in told.values():
        for reference in one.rows:
            keys = {name: value for name, value in reference.items() if name not in ("analysis", "statistic")}
            blank = {"system": "", "language": "", "per": "", "net_of_template": "", "against": ""}
            assert len(result.select("cost", reference["statistic"], blank | keys)) == 1


def test_a_language_that_is_dearer_by_every_unit_passes(made):
    table = made.outputs.copy()
    is_bangla = table["language"] == "Bangla"
    table.loc[is_bangla, "prompt_tokens"] *= 5
    told = finding(cost(table), "cost-sign-depends-on-unit")
    assert told.verdict == "pass"
    assert told.statement.startswith("Bangla is dearer than English by every unit of source")
    assert told.remedy == ""


def sized(factor, *, bytes_=1.1):
    """Two languages of twelve items, the second with so many tokens per character and bytes per character."""
    rng = np.random.default_rng(1)
    n = 12
    chars = np.rint(np.exp(4 + 0.6 * rng.standard_normal(2 * n)))
    table = pd.DataFrame({"item": range(2 * n), "text": "😂", "language": ["en"] * n + ["xx"] * n})
    table = table.assign(
        source_chars=chars, source_bytes=np.where(table["language"] == "xx", np.rint(bytes_ * chars), chars)
    )
    rate = np.where(table["language"] == "xx", factor, 1.0) * np.exp(0.2 * rng.standard_normal(2 * n))
    sums = (chars * rate)[:n].sum() / chars[:n].sum(), (chars * rate)[n:].sum() / chars[n:].sum()
    rate[n:] *= factor * sums[0] / sums[1]
    return table.assign(prompt_tokens=np.rint(chars * rate * 50))


def test_a_side_that_estimates_alone_call_is_a_warning_and_is_not_called():
    told = finding(cost(sized(1.05, bytes_=2.0)), "cost-sign-depends-on-unit")
    assert told.verdict == "warn"
    assert "xx is cheaper than en per byte" in told.statement
    assert "; no difference is shown per code point" in told.statement
    assert "dearer" not in told.statement


def test_where_no_interval_leaves_out_one_no_side_is_called():
    told = finding(cost(sized(1.02)), "cost-sign-depends-on-unit")
    assert told.verdict == "undetermined"
    assert "Between xx and en no difference in prompt tokens is shown by any unit: per byte" in told.statement
    assert told.remedy == "Call neither language the dearer one: more items would tell."


def test_languages_that_cost_exactly_the_same_pass():
    table = pd.DataFrame({"item": range(20), "text": "😂", "language": ["en", "xx"] * 10})
    sizes = np.repeat([7, 9, 13, 4, 21, 5, 8, 30, 11, 6], 2)
    told = finding(cost(table.assign(source_chars=sizes, source_bytes=sizes, prompt_tokens=3 * sizes)), SIGN)
    assert (told.verdict, told.statement) == ("pass", "xx and en cost the same prompt tokens by every unit of source.")


def test_rates_of_what_is_counted_have_no_end_below_nothing_and_shares_none_above_one():
    tokens = np.array([400] + [1] * 11)
    table = pd.DataFrame({"item": range(12), "text": "😂", "completion_tokens": tokens, "reasoning_tokens": tokens - 1})
    found = [row for row in cost(table) if row.low is not None]
    assert any("cut at" in row.note for row in found)
    for row in found:
        assert 0 <= row.low <= row.estimate <= row.high
        assert row.high <= 1 or row.statistic != "reasoning_share"


def test_one_unit_alone_decides_nothing(made):
    table = made.outputs.drop(columns=["source_bytes", "source_words"])
    told = finding(cost(table), "cost-sign-depends-on-unit")
    assert (told.verdict, told.remedy) == (
        "undetermined",
        "Add source_text to the outputs, or source_bytes and source_chars.",
    )


def test_a_small_template_passes_and_sources_of_one_length_leave_it_open():
    small = SimulatedSystem("A", template_tokens=2, token_factor=4.0)
    made = simulate_outputs(systems=[small], n_raters=0, truth_draws=0)
    assert finding(cost(made.outputs), "template-in-ratios").verdict == "pass"
    alike = cost(made.outputs.assign(source_chars=50, source_bytes=60))
    told = finding(alike, "template-in-ratios")
    assert told.verdict == "undetermined"
    assert "the sizes do not vary" in told.statement


def test_reasoning_that_changes_who_is_cheapest_fails_and_unreported_reasoning_is_suspected():
    thinker = SimulatedSystem("T", tokens_per_emoji=1.0, reasoning_tokens=200.0)
    others = [SimulatedSystem(name, tokens_per_emoji=2.0) for name in "ABC"]
    outputs = simulate_outputs(systems=[thinker, *others], n_raters=0, truth_draws=0).outputs
    told = finding(cost(outputs), "reasoning-in-completion")
    assert told.verdict == "fail"
    assert "of visible ones T has" in told.statement
    hidden = finding(cost(outputs.drop(columns="reasoning_tokens")), "reasoning-in-completion")
    assert hidden.verdict == "warn"
    assert "Reasoning tokens of T are not known" in hidden.statement
    plain = outputs[outputs["system"] != "T"]
    assert finding(cost(plain), "reasoning-in-completion").verdict == "pass"
    unreported = finding(cost(plain.drop(columns="reasoning_tokens")), "reasoning-in-completion")
    assert unreported.verdict == "pass"
    assert unreported.statement.startswith("Reasoning tokens are not reported")
