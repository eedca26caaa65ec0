"""Whole runs against numbers of other implementations, of papers, and of the data's own authors.

The folder that MEASURAND_SHARED names holds them; without it these tests are skipped, each by its name.
"""

import copy
import importlib.util
import io
import json
import math
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from measurand import cli
from measurand.result import Result
from measurand.stats.inference import holm, t_p

CASES = ("panel290", "panel24", "simpeval_2022", "imagenhub_mask_guided", "emonet_binary")
#: Of forty criteria the intervals alone cost time, and no expected number is one.
FASTER = {"emonet_binary": ["--replicates", "100"]}


@pytest.fixture(scope="session")
def check_rows(shared):
    """The reviewers' own script, loaded from where it lies."""
    spec = importlib.util.spec_from_file_location("check_rows", shared / "tools" / "check_rows.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # It leaves its files open, and warnings are errors here: give it files that are read already.
    module.open = lambda path: io.StringIO(Path(path).read_text(encoding="utf-8"))
    return module


@pytest.fixture(scope="session")
def golden(shared):
    folder = shared / "golden"
    read = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("golden", "rows", "real")}
    return SimpleNamespace(**read)


@pytest.fixture(scope="session")
def ran(shared, golden, tmp_path_factory):
    """Run the command of a case once, in this process; return its results.json and the result in it."""
    done = {}

    def run(case):
        if case not in done:
            arguments = shlex.split(golden.rows[case]["command"])
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(shared)
                patch.setattr(sys, "argv", ["measurand", *arguments, *FASTER.get(case, []), "--quiet", "--json"])
                with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit) as end:
                    cli.app()
            assert not end.value.code
            path = tmp_path_factory.mktemp(case) / "results.json"
            path.write_text(out.getvalue(), encoding="utf-8")
            done[case] = SimpleNamespace(path=path, result=Result.from_json(path))
        return done[case]

    return run


@pytest.fixture
def panel290(ran):
    return ran("panel290").result


def value_of(golden, name, case="panel290"):
    return golden.golden[case][name]["value"]


# --- Whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_expected_row_and_finding_holds(case, ran, shared, check_rows, capsys):
    is_wrong = check_rows.main(ran(case).path, shared / "golden" / "rows.json", case)
    said = capsys.readouterr().out
    assert not is_wrong, said
    held, of = (int(word) for word in said.strip().splitlines()[-1].split() if word.isdigit())
    assert held == of > 0


def corrupt_f(document):
    rows = document["results"]["system_test"]["rows"]
    next(row for row in rows if row["error_term"] == "system:rater")["estimate"] += 0.001


def corrupt_verdict(document):
    next(f for f in document["findings"] if f["id"] == "systems-differ")["verdict"] = "pass"


def drop_a_row(document):
    rows = document["results"]["leave_one_rater_out"]["rows"]
    rows.remove(next(row for row in rows if row["left_out"] == "R2" and row["system"] == "S4"))


@pytest.mark.parametrize("corrupt", [corrupt_f, corrupt_verdict, drop_a_row])
def test_a_wrong_number_is_noticed(corrupt, ran, shared, check_rows, tmp_path, capsys):
    document = json.loads(ran("panel290").path.read_text(encoding="utf-8"))
    wrong = copy.deepcopy(document)
    corrupt(wrong)
    assert wrong != document
    path = tmp_path / "results.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    assert check_rows.main(path, shared / "golden" / "rows.json", "panel290")
    assert "expected" in (said := capsys.readouterr().out) or "no row" in said


@pytest.mark.parametrize("case", ["panel290", "simpeval_2022"])
def test_as_many_pairs_are_significant_as_were_counted(case, ran, golden):
    counts = golden.rows[case]["counts"]
    table = ran(case).result.to_frame("pairs").query("statistic == 'difference'")
    for unit in ("item", "rater"):
        here = table[table.unit == unit]
        assert len(here) == counts["pairs"]
        assert (here.p < 0.05).sum() == counts[f"{unit}_p05"]
        assert (here.p_adjusted < 0.05).sum() == counts[f"{unit}_holm05"]


@pytest.mark.parametrize("criterion", ["SC", "PQ"])
def test_as_many_pairs_of_each_criterion_are_significant_as_were_counted(criterion, ran, golden):
    counts = golden.rows["imagenhub_mask_guided"]["counts"][criterion]
    table = ran("imagenhub_mask_guided").result.to_frame("pairs").query("statistic == 'difference'")
    for unit in ("item", "rater"):
        here = table[(table.unit == unit) & (table.criterion == criterion)]
        assert len(here) == counts["pairs"]
        assert (here.p < 0.05).sum() == counts[f"{unit}_p05"]
        assert (here.p_adjusted < 0.05).sum() == counts[f"{unit}_holm05"]


# --- Published by the data's authors ----------------------------------------------------------------------------------


def test_alphas_of_imagenhub_as_its_authors_published_them(shared, ran):
    published = pd.read_csv(shared / "data" / "imagenhub_mask_guided" / "published_agreement.csv")
    assert len(published) == 8
    result = ran("imagenhub_mask_guided").result
    for row in published.itertuples():
        ours = result.value("agreement", "alpha_ordinal", {"criterion": row.criterion, "system": row.system})
        assert round(ours, 2) == pytest.approx(row.alpha_ordinal, abs=1e-9), (row.criterion, row.system)


def test_counts_of_emonet_binary(ran, golden):
    expected = golden.real["emonet_binary"]
    result = ran("emonet_binary").result
    names = {"n_items": "images", "n_ratings": "ratings", "n_raters": "raters", "n_criteria": "emotions"}
    for ours, theirs in names.items():
        assert result.value("design", ours, {"criterion": ""}) == expected[theirs]
    table = result.to_frame("raters")
    sizes = table[table.statistic == "n_ratings"].groupby("rater")["estimate"].sum()
    assert sizes.to_dict() == expected["ratings_by_rater"]
    per_emotion = table.pivot_table(index=["rater", "criterion"], columns="statistic", values="estimate")
    true = (per_emotion["mean"] * per_emotion["n_ratings"]).groupby("rater").sum()
    assert round(true.sum()) == expected["true"]
    for rater, rate in expected["true_rate_by_rater"].items():
        assert true[rater] / sizes[rater] == pytest.approx(rate, abs=5e-7)


# --- panel290: the second paper's panel, from several implementations -------------------------------------------------


@pytest.mark.parametrize(("name", "source"), [("residual", "residual"), ("sr", "system:rater")])
def test_pairs_of_panel290_against_either_error_term(name, source, panel290, golden):
    # The published tests divide by one mean square of the crossing: our differences, mean squares and Holm give them.
    square = panel290.value("anova", "ms", {"source": source})
    df = panel290.value("anova", "df", {"source": source})
    rows = panel290.select("pairs", "difference", {"unit": "item"})
    assert [f"{r.keys['system_a']}-{r.keys['system_b']}" for r in rows] == value_of(golden, "pair order")
    t = np.array([row.estimate for row in rows]) / math.sqrt(2 * square / 870)
    p = np.array([t_p(one, df) for one in t])
    adjusted = holm(p)
    np.testing.assert_allclose(t, value_of(golden, f"28 pairwise {name} t"), atol=1e-6)
    np.testing.assert_allclose(p, value_of(golden, f"28 pairwise {name} p"), rtol=1e-6)
    np.testing.assert_allclose(adjusted, value_of(golden, f"28 pairwise {name} p_holm"), rtol=1e-6)
    assert (adjusted < 0.05).sum() == value_of(golden, f"28 pairwise {name} significant at Holm .05")


def test_pairs_over_items_and_raters_use_the_error_of_the_quasi_f(panel290, golden):
    squares = {s: panel290.value("anova", "ms", {"source": s}) for s in ("system:rater", "item:system", "residual")}
    error = squares["system:rater"] + squares["item:system"] - squares["residual"]
    df = value_of(golden, "quasi F Satterthwaite df")
    rows = panel290.select("pairs", "difference", {"unit": "item+rater"})
    assert len(rows) == 28
    for row in rows:
        assert row.df2 == pytest.approx(df, abs=1e-4)
        assert row.p == pytest.approx(t_p(row.estimate / math.sqrt(2 * error / 870), df), rel=1e-5)
        assert row.p_adjusted == 1.0


def test_raters_of_panel290_order_the_systems_against_each_other(panel290, golden):
    rows = panel290.select("agreement_pairs", "kendall_tau_b")
    assert [(r.keys["rater_a"], r.keys["rater_b"]) for r in rows] == [("R1", "R2"), ("R1", "R3"), ("R2", "R3")]
    np.testing.assert_allclose([row.estimate for row in rows], value_of(golden, "tau_b raters"), atol=1e-12)
    pearson = [row.estimate for row in panel290.select("agreement_pairs", "pearson")]
    np.testing.assert_allclose(pearson, value_of(golden, "pearson R1R2,R1R3,R2R3"), atol=1e-12)


def test_leaving_out_a_rater_of_panel290_reorders_the_board(panel290, golden):
    rows = panel290.select("leave_one_rater_out", "kendall_tau_b")
    assert [row.keys["left_out"] for row in rows] == ["R1", "R2", "R3"]
    assert [round(row.estimate, 3) for row in rows] == [0.714, 0.357, 0.429]
    np.testing.assert_allclose(
        [row.estimate for row in rows], value_of(golden, "tau_b leave-one-rater-out"), atol=1e-12
    )
    for left_out, order in zip(
        ["", "R1", "R2", "R3"], [value_of(golden, "full_order"), *value_of(golden, "loro_order")], strict=True
    ):
        board = panel290.select("leave_one_rater_out", "rank", {"left_out": left_out})
        assert [row.keys["system"] for row in sorted(board, key=lambda row: row.estimate)] == order


def test_plug_in_g_of_panel290_at_other_sizes(panel290, golden):
    checked = 0
    for name, key in (("G_pop_by_items_3raters", "at_items"), ("G_pop_by_raters_290items", "at_raters")):
        for size, expected in value_of(golden, name).items():
            keys = {"estimator": "plugin", "at_items": 290, "at_raters": 3} | {key: int(size)}
            for row in panel290.select("generalizability", "g", keys):
                assert row.estimate == pytest.approx(expected, abs=1e-9)
                checked += 1
    assert checked >= 15
    keys = {"estimator": "plugin", "at_items": math.inf, "at_raters": 3}
    assert panel290.value("generalizability", "g", keys) == pytest.approx(value_of(golden, "G_pop_inf_3"), abs=1e-9)


def test_what_the_plug_in_says_of_panels_without_system_differences(panel290, golden):
    expected = value_of(golden, "G null simulation")
    keys = {"at_items": 290, "at_raters": 3}
    (plugin,) = panel290.select("generalizability", "g_null", keys | {"estimator": "plugin"})
    # Two simulations of 100,000 and 200,000 draws: their means differ by about .001, their ends by .002.
    assert plugin.estimate == pytest.approx(expected["mean_G_pop"], abs=0.003)
    assert plugin.low == pytest.approx(expected["q"][0], abs=0.006)
    assert plugin.high == pytest.approx(expected["q"][-1], abs=0.006)
    (unbiased,) = panel290.select("generalizability", "g_null", keys | {"estimator": "anova"})
    assert unbiased.estimate == pytest.approx(expected["mean_G_unbiased_truncated"], abs=0.005)


def test_generalised_pivots_of_panel290_reach_from_eight_raters_to_none(panel290, golden):
    (row,) = panel290.select("decision", "raters_needed", {"estimator": "anova", "target": 0.8})
    assert row.estimate == row.high == math.inf
    assert row.low == value_of(golden, "raters_for_G0.8_at_upper")
    (g,) = panel290.select("generalizability", "g", {"estimator": "anova", "at_items": 290, "at_raters": 3})
    np.testing.assert_allclose([g.low, g.high], value_of(golden, "G_random_ci95"), atol=0.02)


def test_mixed_models_of_panel24_as_other_programs_fit_them(ran, golden):
    result = ran("panel24").result
    interactions = ("item:system", "item:rater", "system:rater", "residual")
    for ours, theirs, names in (
        ("reml", "allrandom", ("item", "system", "rater", *interactions)),
        ("reml_fixed_system", "fixedsystem", ("item", "rater", *interactions)),
    ):
        for name in names:
            expected = value_of(golden, f"REML {theirs} {name.replace(':', ' x ')}", "panel24")
            value = result.value("components", "variance", {"estimator": ours, "component": name})
            assert value == pytest.approx(expected, abs=1e-3), (ours, name)
    for ours, theirs in (("full", "fixedsystem"), ("judgement", "judgement")):
        (row,) = result.select("system_test", "f", {"error_term": "mixed_model", "model": ours})
        assert row.estimate == pytest.approx(value_of(golden, f"REML {theirs} F", "panel24"), rel=1e-3)
        assert row.df2 == pytest.approx(value_of(golden, f"REML {theirs} dendf_satterthwaite", "panel24"), rel=5e-3)
