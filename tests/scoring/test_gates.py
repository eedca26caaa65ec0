import numpy as np
import pandas as pd
import pytest

from gate_tables import asked, drawn, graded, long, statement, value, verdict
from measurand.data import read_answers, read_ratings
from measurand.data.items import read_items
from measurand.result import MeasurandError, Result
from measurand.scoring.gates import failed_systems, gates
from measurand.sentences import share

# ---- the result as a whole


def test_every_gate_gives_one_finding_and_a_passed_row_for_every_arm_to_be_scored():
    result = asked(long(drawn(0), system="A"), long(drawn(1), system="B"))
    ids = [finding.id for finding in result.findings]
    assert len(ids) == len(set(ids)) == 12
    for name in ids[:-1]:
        rows = result.select("gates", "passed", {"gate": name})
        assert [row.keys["system"] for row in rows] == ["A", "B"]
        assert all(row.estimate in (0, 1) or row.undefined for row in rows)


def test_what_a_finding_points_to_is_in_the_result():
    result = asked(long(np.ones((20, 3))), long(graded(), system="B", readout="verification", mass=0.4))
    for finding in result.findings:
        for reference in finding.rows:
            keys = {key: part for key, part in reference.items() if key not in ("analysis", "statistic")}
            assert result.select("gates", reference["statistic"], {"criterion": "", **keys}), reference


def test_the_result_survives_json_and_has_no_number_twice():
    result = asked(long(drawn(0), system="A"), long(graded(1), system="B", readout="verification", mass=0.97))
    assert Result.from_json(result.to_json()) == result
    identities = [(tuple(sorted(row.keys.items())), row.statistic) for row in result]
    assert len(identities) == len(set(identities))


def test_the_statement_names_four_of_the_worst_arms_and_how_many_more():
    frames = [long(np.full((6, 2), 3.0), system=f"S{i}") for i in range(6)]
    text = statement(asked(*frames, long(drawn(items=6, criteria=2), system="T")), "constant-answers")
    assert text.startswith("6 of 7 arms fail: ")
    assert text.count("throughout") == 4
    assert "and 2 more" in text


def test_failed_systems_lists_arms_by_their_keys():
    plain = long(drawn(0), system="A", readout="generative", phrasing="v1")
    constant = long(np.ones((60, 4)), system="B", readout="generative", phrasing="v1")
    failed = failed_systems(asked(plain, constant))
    assert list(failed) == [("B", "generative", "v1", "")]
    assert "constant-answers" in failed["B", "generative", "v1", ""]


def test_the_first_attempt_is_the_arm_and_the_last_a_variant_of_its_own():
    """T36: what was asked again is not the same as what was answered at once."""
    first = long(drawn(0), attempt=1)
    again = long(np.full((60, 4), 5.0), attempt=3)
    result = asked(first, long(drawn(3), attempt=2), again)
    failed = failed_systems(result)
    assert list(failed) == [("S", "", "", "attempt=last")]
    assert "constant-answers" in failed["S", "", "", "attempt=last"]


def test_other_protocols_are_other_arms():
    """T39: answers of two protocols are never pooled, and which is which is seen."""
    result = asked(long(drawn(0), protocol="x"), long(np.full((60, 4), 2.0), protocol="y"))
    assert {variant for _, _, _, variant in failed_systems(result)} == {"protocol=y"}
    passed = result.select("gates", "passed", {"gate": "coverage"})
    assert [row.keys["variant"] for row in passed] == ["protocol=x", "protocol=y"]


def test_order_of_rows_items_and_systems_changes_nothing():
    table = pd.concat([long(drawn(0), system="A"), long(graded(1), system="B", readout="verification")])
    mixed = table.sample(frac=1, random_state=3)
    assert asked(table) == asked(mixed)


def test_a_new_arm_leaves_the_numbers_of_the_others_alone():
    alone = asked(long(drawn(0), system="B"))
    both = asked(long(drawn(0), system="B"), long(drawn(1), system="A"))
    rows = [row for row in both if row.keys["system"] == "B"]
    assert [row for row in rows if row.statistic != "passed"] == [row for row in alone if row.statistic != "passed"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"noise": 1.0}, "noise 1.0"),
        ({"noise": -0.1}, "noise -0.1"),
        ({"permutations": 20}, "at least 99"),
        ({"replicates": 10}, "at least 100"),
        ({"confidence": 1.0}, "confidence 1.0"),
        ({"seed": -1}, "seed -1"),
        ({"example": "c00"}, "a sequence of criteria"),
        ({"example": ["c0"]}, "did you mean 'c0"),
        ({"example": ["zzz"]}, "they have 'c00'"),
    ],
)
def test_settings_out_of_range_are_refused_and_say_what_is_allowed(setting, message):
    with pytest.raises(MeasurandError, match=message.replace(".", r"\.")):
        asked(long(drawn()), **setting)


def test_ratings_and_labels_of_other_items_are_refused():
    answers = read_answers(long(drawn()))
    ratings = pd.DataFrame({"item": ["x"], "rater": ["R"], "criterion": ["c00"], "rating": [1]})
    with pytest.raises(MeasurandError, match='no item of the ratings \\(such as "x"\\) was answered'):
        gates(answers, ratings=read_ratings(ratings))
    with pytest.raises(MeasurandError, match="no criterion of the ratings"):
        gates(answers, ratings=read_ratings(ratings.assign(item="i0").drop(columns="criterion")))
    with pytest.raises(MeasurandError, match="they grade outputs of systems"):
        gates(answers, ratings=read_ratings(ratings.assign(item="i0", system="S")))
    with pytest.raises(MeasurandError, match="the items table has none of the 60 items"):
        gates(answers, items=read_items(pd.DataFrame({"item": ["x"], "label": ["c00"]})))


def test_progress_is_told_every_gate_once():
    seen = []
    asked(long(drawn()), progress=lambda name, number, n: seen.append((name, number, n)))
    assert [number for _, number, _ in seen] == list(range(1, 13))
    assert {n for _, _, n in seen} == {12}


@pytest.mark.parametrize(
    ("part", "shown"),
    [(0, "0 %"), (1e-5, "under .05 %"), (0.123456, "12.3 %"), (0.99999, "over 99.95 %"), (1, "100 %")],
)
def test_what_is_nearly_all_or_nothing_is_not_shown_as_such(part, shown):
    assert share(part) == shown


# ---- answer mass


@pytest.mark.parametrize(
    ("mass", "expected"),
    [
        ([0.97] * 240, "pass"),
        ([0.97] * 230 + [0.3] * 10, "warn"),  # the 1 % quantile is below one half
        ([0.7] * 240, "warn"),
        ([0.2] * 240, "fail"),
        ([2.7e-14] * 240, "fail"),
    ],
)
def test_mass_is_judged_by_median_and_lowest_percent(mass, expected):
    result = asked(long(graded(), readout="verification", mass=mass))
    assert verdict(result, "answer-mass") == expected
    assert value(result, "answer-mass", "mass_median") == np.median(mass)
    assert value(result, "answer-mass", "mass_q01") == np.quantile(mass, 0.01)
    assert value(result, "answer-mass", "mass_q05") == np.quantile(mass, 0.05)
    assert value(result, "answer-mass", "mass_min") == min(mass)
    assert value(result, "answer-mass", "n_flagged") == sum(one < 0.5 for one in mass)
    of_criterion = value(result, "answer-mass", "share_mass_below_half", criterion="c01")
    assert of_criterion == np.mean(np.array(mass).reshape(60, 4)[:, 1] < 0.5)


def test_verification_without_mass_is_undetermined_and_says_what_to_store():
    result = asked(long(graded(), readout="verification"))
    assert verdict(result, "answer-mass") == "undetermined"
    assert "store the probability of all yes and all no tokens" in statement(result, "answer-mass")


def test_readouts_without_mass_are_not_asked_for_it():
    assert verdict(asked(long(drawn(), readout="generative")), "answer-mass") == "not_applicable"
    assert verdict(asked(long(graded(), readout="decision")), "answer-mass") == "not_applicable"


def test_answers_that_lack_their_mass_warn_and_are_counted():
    mass = np.full(240, 0.97)
    mass[:7] = np.nan
    result = asked(long(graded(), readout="verification", mass=mass))
    assert verdict(result, "answer-mass") == "warn"
    assert value(result, "answer-mass", "n_without_mass") == 7


# ---- coverage


def test_all_answered_passes():
    result = asked(long(drawn()))
    assert verdict(result, "coverage") == "pass"
    assert value(result, "coverage", "coverage") == 1


@pytest.mark.parametrize(("n_lost", "expected"), [(1, "warn"), (24, "warn"), (25, "fail"), (240, "fail")])
def test_replies_that_could_not_be_read_are_missing_with_a_reason_and_never_0(n_lost, expected):
    """T30, T33, T35: a parse failure is no answer, whatever was stored with it, and stays in the denominator (T38)."""
    status = ["invalid"] * n_lost + ["ok"] * (240 - n_lost)
    answer = drawn()
    answer.ravel()[:n_lost] = 0  # a parser's default must not come through
    result = asked(long(answer, status=status))
    assert verdict(result, "coverage") == expected
    assert value(result, "coverage", "n_invalid") == n_lost
    assert value(result, "coverage", "coverage") == pytest.approx(1 - n_lost / 240, abs=1e-12)
    assert f"{n_lost} invalid" in statement(result, "coverage")


def test_repaired_answers_count_as_answers_and_are_counted_apart():
    """T40."""
    result = asked(long(drawn(), status=["repaired"] * 60 + ["ok"] * 180))
    assert verdict(result, "coverage") == "pass"
    assert value(result, "coverage", "share_repaired") == 0.25
    assert "60 of them repaired" in statement(result, "coverage")


def test_what_was_not_asked_is_kept_apart():
    answer = drawn()
    answer[:, 3] = np.nan
    status = np.where(np.isnan(answer), "not_asked", "ok").ravel()
    result = asked(long(answer, status=status))
    assert verdict(result, "coverage") == "pass"
    assert value(result, "coverage", "n_not_asked") == 60
    assert value(result, "coverage", "share_items_complete") == 1


def test_nothing_asked_is_undetermined():
    result = asked(long(np.full((3, 2), np.nan), status="not_asked"))
    assert verdict(result, "coverage") == "undetermined"


def test_rows_that_are_not_there_are_told_where_others_were_asked():
    whole, holes = long(drawn(0), system="A"), long(drawn(1), system="B")
    holes = holes[~((holes["item"] == "i3") & (holes["criterion"] == "c01"))]
    result = asked(whole, holes[holes["item"] != "i5"])
    assert value(result, "coverage", "n_without_row", system="B") == 1
    assert value(result, "coverage", "n_items_without_row", system="B") == 1
    assert value(result, "coverage", "coverage", system="B") == pytest.approx(1 - 1 / 236, abs=1e-12)
    assert verdict(result, "coverage") == "warn"
    alone = asked(holes[holes["item"] != "i5"])  # nobody was asked: the design may be like that
    assert verdict(alone, "coverage") == "pass"


def test_of_arms_that_pass_alike_none_is_the_nearest_to_the_limit():
    alike = statement(asked(*(long(drawn(seed), system=f"S{seed}") for seed in range(3))), "coverage")
    assert alike == "All 3 arms pass, each alike: 100 % of 240 questions answered."
    mostly = drawn(1)
    mostly[:50] = 3.0
    unlike = statement(asked(long(drawn(0), system="A"), long(mostly, system="B")), "constant-answers")
    assert unlike.startswith("All 2 arms pass; nearest to the limit is B: ")


def test_what_a_gate_lacks_is_asked_for_and_nothing_is_said_of_answers_that_fail():
    probability = long(np.random.default_rng(0).random((60, 4)), system="P", readout="verification")
    finding = next(one for one in asked(probability).findings if one.id == "answer-mass")
    assert finding.verdict == "undetermined"
    assert finding.remedy == "Add what is missing, and ask this gate again."
