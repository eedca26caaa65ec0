"""Cost against quality over systems: rank correlations, their exact p, who is left out, and the finding."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measurand.probing.cost import cost
from measurand.probing.cost_quality import cost_against_quality
from measurand.probing.findings_cost import cost_findings
from measurand.result import MeasurandError, Result
from measurand.simulate import simulate_outputs


def finding(result, name):
    return {one.id: one for one in cost_findings(result)}[name]


def eight():
    """Eight systems with given completion tokens."""
    tokens = [3, 8, 1, 6, 2, 7, 5, 4]
    table = pd.DataFrame({"item": ["a", "b"] * 8, "system": np.repeat([f"S{i}" for i in range(8)], 2), "text": "😂"})
    return table.assign(completion_tokens=np.repeat(tokens, 2)), tokens


def test_a_rank_correlation_over_systems_has_scipys_value_its_exact_p_and_an_interval():
    table, tokens = eight()
    quality = {f"S{i}": one for i, one in enumerate([0.4, 0.5, 0.3, 0.9, 0.8, 0.7, 0.2, 0.1])}
    found = cost(table, quality={"macro-F1": quality})
    row = found.select("cost", "completion_tokens_spearman", {"per": "output", "against": "macro-F1"})[0]
    assert row.estimate == pytest.approx(stats.spearmanr(tokens, list(quality.values())).statistic, rel=1e-12)
    orders = np.array(list(itertools.permutations(stats.rankdata(tokens)))) - 4.5
    products = np.abs(orders @ (stats.rankdata(list(quality.values())) - 4.5))
    assert row.p == pytest.approx((products >= products[0] - 1e-9).mean(), rel=1e-12)
    assert row.attainable_p == pytest.approx(2 / 40320)
    assert row.low < row.estimate < row.high
    assert row.unit == "system"


def test_wholly_agreeing_orders_have_no_interval_and_say_so():
    table, tokens = eight()
    found = cost(table, quality={"q": {f"S{i}": -one for i, one in enumerate(tokens)}})
    row = found.select("cost", "completion_tokens_spearman", {"per": "output"})[0]
    assert row.estimate == -1
    assert row.low is None
    assert "the orders are the same, or opposite" in row.note
    told = finding(found, "cost-predicts-quality")
    assert told.verdict == "fail"
    assert "The dearer systems do worse in q" in told.statement


def test_quality_of_few_or_other_systems():
    table, _ = eight()
    few = cost(table, quality={"q": {"S1": 1.0, "S2": 2.0, "S3": 3.0}})
    row = few.select("cost", "completion_tokens_spearman", {"per": "output"})[0]
    assert row.undefined == "3 systems with cost and quality; a rank correlation says nothing below 4"
    assert finding(few, "cost-predicts-quality").verdict == "undetermined"
    some = cost(table, quality={"q": {f"S{i}": float(i) for i in range(5)}})
    assert "over 5 systems, 3 more without a quality" in some.select("cost", "completion_tokens_spearman")[0].note
    more = cost(table, quality={"q": {f"S{i}": float(i) for i in range(4, 11)}})
    note = more.select("cost", "completion_tokens_spearman")[0].note
    assert "over 4 systems, 4 more without a quality, 3 more without a cost" in note
    with pytest.raises(MeasurandError, match="quality of S9, and the outputs have S0, S1, S2, S3 and 4 more"):
        cost(table, quality={"q": {"S9": 1.0}})
    with pytest.raises(MeasurandError, match="give a finite number"):
        cost(table, quality={"q": {"S1": float("nan")}})


def test_quality_of_one_language_is_held_against_the_costs_in_it():
    made = simulate_outputs(n_items=60, truth_draws=0)
    result = cost(made.outputs)
    quality = {f"S{i}": float(i) for i in range(1, 5)}
    found = cost_against_quality(result, quality, name="macro-F1", language="Bangla")
    assert {row.keys["language"] for row in found} == {"Bangla"}
    tokens = made.outputs.query("language == 'Bangla'").groupby("system")["completion_tokens"].mean()
    row = found.select("cost", "completion_tokens_spearman", {"per": "output"})[0]
    expected = stats.spearmanr(tokens[list(quality)], list(quality.values())).statistic
    assert row.estimate == pytest.approx(expected, rel=1e-9)


def test_a_length_that_alone_goes_with_quality_is_a_warning():
    table, tokens = eight()
    table = table.assign(
        text=["😂" * tokens[i // 2] for i in range(16)], completion_tokens=[(i * 7) % 5 for i in range(16)]
    )
    told = finding(
        cost(table, quality={"mean rating": {f"S{i}": float(one) for i, one in enumerate(tokens)}}),
        "cost-predicts-quality",
    )
    assert told.verdict == "warn"
    assert "the number of emitted units does" in told.statement
    assert "longer outputs may be preferred" in told.statement


def lengths_with(quality, tokens):
    table, _ = eight()
    texts = np.repeat(["😂" * (i + 1) for i in range(8)], 2)
    return cost(table.assign(text=texts, completion_tokens=np.repeat(tokens, 2)), quality={"macro_f1": quality})


def test_tokens_per_emitted_unit_which_the_length_divides_decide_nothing():
    # The same tokens for any length: per emitted unit they fall with it, and so do not rise with what length brings.
    found = lengths_with({f"S{i}": float(i) for i in range(8)}, [10, 11, 10, 11, 10, 11, 10, 11])
    row = found.select("cost", "completion_tokens_spearman", {"per": "emitted_unit"})[0]
    assert row.estimate < -0.9
    assert row.p_adjusted < 0.05
    assert "by construction" in row.note
    told = finding(found, "cost-predicts-quality")
    assert told.verdict == "warn"
    assert "per emitted unit" not in told.statement
    assert all(reference.get("per", reference.get("keys", {}).get("per")) == "output" for reference in told.rows)


def test_shorter_outputs_that_do_better_are_called_shorter_and_names_are_words():
    found = lengths_with({f"S{i}": -float(i) for i in range(8)}, [10, 11, 10, 11, 10, 11, 10, 11])
    told = finding(found, "cost-predicts-quality").statement
    assert "shorter outputs may be preferred" in told
    assert "longer" not in told
    assert "macro-F1" in told
    assert "macro_f1" not in told
    assert "`" not in told


def test_one_system_is_one():
    table, _ = eight()
    row = cost(table, quality={"q": {"S1": 1.0}}).select("cost", "completion_tokens_spearman", {"per": "output"})[0]
    assert row.undefined == "1 system with cost and quality; a rank correlation says nothing below 4"


def test_each_language_of_a_measure_is_judged_by_its_own_rows():
    made = simulate_outputs(n_items=60, truth_draws=0)
    result = cost(made.outputs)
    quality = {f"S{i}": float(i) for i in range(1, 5)}
    rows = list(result.rows)
    for language in ("Bangla", "English"):
        rows += cost_against_quality(result, quality, name="macro_f1", language=language).rows
    told = finding(Result(rows, result.settings), "cost-predicts-quality").statement
    assert "macro-F1 in Bangla" in told
    assert "macro-F1 in English" in told
