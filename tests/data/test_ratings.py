import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand import audit
from measurand.auditing import agreement, agreement_pairs, design, raters
from measurand.data import Scale, panels, read_ratings
from measurand.data.faults import TableError
from measurand.data.names import natural_order
from measurand.result import MeasurandError
from strategies import LEVELS, crossed, ids, scales, tables

FEW = {"replicates": 100, "draws": 1000}


def table(**columns):
    return pd.DataFrame(columns)


def one_rater(ratings, **columns):
    """Return a table with an item for each rating, all by one rater."""
    return table(item=[f"i{k + 1}" for k in range(len(ratings))], rater="R1", rating=ratings, **columns)


def values(ratings):
    return ratings.frame["rating"].tolist()


# Ids


def test_whole_floating_numbers_lose_their_point_and_others_keep_it():
    assert list(read_ratings(one_rater([1, 2]).assign(item=[10.0, 2.0])).frame["item"]) == ["10", "2"]
    assert list(read_ratings(one_rater([1, 2]).assign(item=[1.5, 2.0])).frame["item"]) == ["1.5", "2.0"]


@pytest.mark.parametrize(
    "names",
    [np.array([2.0**53, 1.0]), np.array([1.0, -(2.0**60)]), np.array([2.0**24, 1.0], dtype=np.float32)],
    ids=["2^53", "-2^60", "2^24 in single precision"],
)
def test_ids_that_lost_digits_as_floating_numbers_are_refused(names):
    with pytest.raises(MeasurandError, match=r"column 'item'.*lost digits; keep ids as text"):
        read_ratings(one_rater([1, 2]).assign(item=names))


@pytest.mark.parametrize("pair", [("a", "a "), (" a", "a"), ("a\t", "a"), ("a\u00a0", "a")])
def test_ids_that_differ_only_by_spaces_are_refused(pair):
    with pytest.raises(MeasurandError, match=r"column 'item' has both .* which differ only by spaces"):
        read_ratings(one_rater([1, 2]).assign(item=list(pair)))


@pytest.mark.parametrize("role", ["item", "rater", "system", "criterion", "occasion"])
@pytest.mark.parametrize("blank", ["", "  ", None, math.nan])
def test_a_blank_id_is_refused_with_its_row(role, blank):
    frame = one_rater([1, 2, 3], system="S1", criterion="c", occasion="1").astype({role: object})
    frame.loc[1, role] = blank
    with pytest.raises(MeasurandError, match=f"column '{role}' is blank in data row 2"):
        read_ratings(frame)


def test_na_is_an_id_like_any_other():
    read = read_ratings(one_rater([1, 2, 3]).assign(item=["NA", "nan", "None"]))
    assert list(read.frame["item"]) == ["NA", "nan", "None"]


def test_names_come_in_natural_order():
    assert natural_order(["S10", "S2", "s1", "10", "2", "S2a"]) == ["2", "10", "S2", "S2a", "S10", "s1"]
    assert natural_order(["a01", "a1"]) == ["a01", "a1"]
    assert natural_order(["v1.10", "v1.9"]) == ["v1.9", "v1.10"]
    frame = table(item="i", rater=["R10", "R2", "R1"], rating=1)
    assert panels(frame)[0].raters == ["R1", "R2", "R10"]


@given(st.lists(ids, max_size=8, unique=True))
def test_natural_order_loses_nothing_and_does_not_depend_on_the_order_given(names):
    ordered = natural_order(names)
    assert sorted(ordered) == sorted(names)
    assert natural_order(names[::-1]) == ordered


# Ratings


def test_string_order_does_not_put_ten_below_two():
    """own: string order."""
    read = read_ratings(one_rater(["10", "2", "9"]))
    assert values(read) == [10.0, 2.0, 9.0]
    levels = read_ratings(one_rater(["10", "8", "9"]), labels=["8", "9", "10"])
    assert values(levels) == [10.0, 8.0, 9.0]


def test_repr_sorted_labels_do_not_change_agreement():
    """own: repr-sorted labels. Labels 8, 9, 10 in the order of their texts would be 10, 8, 9."""
    frame = table(item=list("aabbccdd"), rater=["R1", "R2"] * 4, rating=["8", "9", "10", "10", "9", "9", "8", "10"])
    by_text = agreement(read_ratings(frame, labels=["8", "9", "10"], level="ordinal"), replicates=100)
    shifted = frame.assign(rating=(frame["rating"].astype(int) - 7).astype(str))
    by_number = agreement(read_ratings(shifted, scale=Scale(1, 3, step=1, level="ordinal")), replicates=100)
    assert by_text.value("agreement", "alpha_ordinal") == pytest.approx(
        by_number.value("agreement", "alpha_ordinal"), rel=1e-12
    )


@pytest.mark.parametrize("ratings", [["Yes", "No"], ["yes", "minor", "no"], [True, False]])
def test_an_undeclared_order_is_refused(ratings):
    """own: refuse undeclared order."""
    with pytest.raises(MeasurandError, match=r"Declare the order of text ratings, lowest first \(labels=") as caught:
        read_ratings(one_rater(ratings))
    assert f"'{ratings[0]}' at data row 1" in str(caught.value)
    assert "level='nominal'" in str(caught.value)


@pytest.mark.parametrize(
    ("ratings", "labels", "expected"),
    [
        (["Yes", "No"], ["No", "Yes"], [1.0, 0.0]),
        (["yes", "minor", "no"], ["no", "minor", "yes"], [2.0, 1.0, 0.0]),
        ([True, False], ["False", "True"], [1.0, 0.0]),
        (["2", "1.0"], ["1", "2"], [2.0, 1.0]),
        ([2, 1], ["1", "2"], [2.0, 1.0]),
    ],
)
def test_a_declared_order_makes_them_ratings(ratings, labels, expected):
    assert values(read_ratings(one_rater(ratings), labels=labels)) == expected


def test_names_without_an_order_need_the_nominal_level():
    read = read_ratings(one_rater(["dog", "cat", "cat"]), level="nominal")
    assert read.categories[""] == ["cat", "dog"]
    assert values(read) == [1.0, 0.0, 0.0]
    assert panels(read)[0].has_numbers  # two categories: a share is a mean
    assert not panels(read_ratings(one_rater(["dog", "cat", "emu"]), level="nominal"))[0].has_numbers


@pytest.mark.parametrize("missing", ["", " ", "NA", "n/a", "NaN", "null", "None", None, math.nan, pd.NA])
def test_nan_is_no_category_and_blank_is_no_agreement(missing):
    """P09, P12 and own, NaN as category: what is missing is left out and counted, never a value to agree on."""
    frame = table(
        item=list("aabbccdd"),
        rater=["R1", "R2"] * 4,
        rating=pd.Series(["1", "1", "2", "2", "1", missing, missing, missing], dtype=object),
    )
    read = read_ratings(frame, level="nominal")
    assert read.n_blank == {"": 3}
    assert len(read) == 5
    result = agreement(read, replicates=100)
    assert result.value("agreement", "alpha_nominal", {"missing": ""}) == 1.0
    assert design(read).value("design", "n_blank") == 3


@pytest.mark.parametrize("column", [[1.0, math.nan], pd.array([1, None], dtype="Int64"), pd.array([1.0, None])])
def test_missing_numbers_are_counted_too(column):
    read = read_ratings(one_rater(column))
    assert values(read) == [1.0]
    assert read.n_blank == {"": 1}


def test_none_is_missing_unless_it_is_a_declared_label():
    frame = one_rater(["none", "minor", "N/A"])
    declared = read_ratings(frame, labels=["none", "minor"])
    assert values(declared) == [0.0, 1.0]
    assert declared.n_blank == {"": 1}
    assert read_ratings(frame, labels=["minor", "major"]).n_blank == {"": 2}


def test_blanks_are_counted_by_criterion():
    frame = one_rater(["1", "", "", "2"], criterion=["a", "a", "b", "b"])
    assert read_ratings(frame).n_blank == {"a": 1, "b": 1}


def test_ratings_that_are_all_blank_are_refused():
    with pytest.raises(MeasurandError, match="column 'rating' holds no rating: all 2 cells are blank or N/A"):
        read_ratings(one_rater(["", "N/A"]))
    frame = one_rater(["", "1"], criterion=["empty", "full"])
    with pytest.raises(MeasurandError, match="criterion 'empty' has no rating"):
        panels(read_ratings(frame))


def test_ratings_outside_the_scale_are_named_with_row_item_rater_and_what_is_allowed():
    frame = table(item=["a", "b", "c"], system=["S1"] * 3, rater=["R1", "R2", "R3"], rating=["3", "9", "0.5"])
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame, scale=Scale(0, 7, step=1))
    message = str(caught.value)
    assert "column 'rating': 2 ratings outside the scale (0 to 7 in steps of 1)" in message
    assert '\'9\' at data row 2 (item "b", system "S1", rater "R2")' in message
    assert '\'0.5\' at data row 3 (item "c", system "S1", rater "R3")' in message


def test_at_most_three_faults_are_spelled_out():
    with pytest.raises(MeasurandError, match=r"6 ratings outside.*; and 3 more\."):
        read_ratings(one_rater([9] * 6), scale=Scale(1, 5))


@pytest.mark.parametrize("rating", [math.inf, "inf", "-Infinity"])
@pytest.mark.parametrize("scale", [None, Scale(0, 7), Scale(0, 7, step=1)])
def test_an_infinite_rating_is_refused(rating, scale):
    with pytest.raises(MeasurandError, match=r"at data row 1") as caught:
        read_ratings(one_rater([rating, 1]), scale=scale)
    assert "any number" not in str(caught.value)  # "inf is outside: any number is allowed" says nothing


@pytest.mark.parametrize("scale", [None, Scale(0, 7)])
def test_decimal_commas_are_refused_in_words_that_say_so(scale):
    with pytest.raises(MeasurandError, match="comma") as caught:
        read_ratings(one_rater(["1,5", "2"]), scale=scale)
    assert "'1,5' at data row 1" in str(caught.value)
    assert "--labels" not in str(caught.value)


def test_text_on_a_numeric_scale_is_no_number_rather_than_too_high():
    with pytest.raises(MeasurandError, match="not a number"):
        read_ratings(one_rater(["yes", "1"]), scale=Scale(0, 2))


@pytest.mark.parametrize("rating", [1 + 2j, [1, 2], {"a": 1}], ids=["complex", "list", "dict"])
def test_what_is_no_rating_at_all_is_refused(rating):
    frame = one_rater([1, 2])
    frame["rating"] = pd.Series([rating, rating])
    with pytest.raises(MeasurandError, match="rating"):
        read_ratings(frame)


def test_a_scale_for_each_criterion():
    frame = one_rater(["3", "80"], criterion=["fluency", "overall"])
    read = read_ratings(frame, scale={"fluency": Scale(1, 5), "overall": Scale(0, 100)}, level="interval")
    assert read.scale("fluency") == Scale(1, 5, level="interval")
    with pytest.raises(MeasurandError, match=r"1 rating outside the scale \(1 to 5\): '80' at data row 2.*overall"):
        read_ratings(frame, scale=Scale(1, 5))
    assert read_ratings(frame, scale={"fluency": Scale(1, 5)}).scale("overall") == Scale()
    with pytest.raises(MeasurandError, match=r"outside the scale \(4 to 5\): '3' at data row 1"):
        read_ratings(frame, scale={"fluency": Scale(4, 5), "overall": Scale(0, 100)})
    with pytest.raises(MeasurandError, match=r"outside the scale \(0 to 9\): '80' at data row 2"):
        read_ratings(frame, scale={"": Scale(1, 5), "overall": Scale(0, 9)})


def test_a_scale_for_a_criterion_that_is_not_there_is_refused():
    frame = one_rater(["3", "4"], criterion=["fluency", "overall"])
    with pytest.raises(MeasurandError, match=r"criterion 'fluencey'.*it has 'fluency', 'overall'"):
        read_ratings(frame, scale={"fluencey": Scale(1, 5)})
    with pytest.raises(MeasurandError, match=r"'fluency'.*no criterion column|no column.*criterion"):
        read_ratings(one_rater(["3"]), scale={"fluency": Scale(1, 5)})


# Columns


def test_columns_are_mapped_and_extra_ones_kept():
    frame = table(image=["a", "b"], person=["R1", "R2"], score=[1, 2], model="S1", group=["g", "h"], note=["x", "y"])
    read = read_ratings(frame, item="image", rater="person", rating="score", system="model").frame
    assert list(read["item"]) == ["a", "b"]
    assert list(read["system"]) == ["S1", "S1"]
    assert list(read["note"]) == ["x", "y"]
    assert list(read["group"]) == ["g", "h"]


def test_extra_columns_stay_with_their_rows_when_blanks_are_left_out():
    read = read_ratings(one_rater(["1", "", "3"], note=["x", "y", "z"]))
    assert list(read.frame["note"]) == ["x", "z"]


def test_columns_named_by_numbers_are_columns():
    frame = pd.DataFrame([["a", "R1", 3]], columns=[0, 1, 2])
    assert values(read_ratings(frame, item="0", rater="1", rating="2")) == [3.0]


@pytest.mark.parametrize("role", ["item", "system", "rater", "rating", "criterion", "occasion"])
def test_a_column_that_is_named_but_absent_is_refused_with_the_nearest(role):
    frame = one_rater([1, 2], annotator="x")
    with pytest.raises(MeasurandError, match=f"no column 'anotator' for {role}; the table has .*did you mean 'annota"):
        read_ratings(frame, **{role: "anotator"})


@pytest.mark.parametrize("role", ["item", "rater", "rating"])
def test_a_column_that_is_needed_but_missing_is_refused_with_what_there_is(role):
    frame = one_rater([1, 2]).rename(columns={role: "other"})
    with pytest.raises(MeasurandError, match=f"no column '{role}'; the table has .*'other'.*{role}='other'"):
        read_ratings(frame)


def test_one_column_in_two_roles_is_refused():
    with pytest.raises(MeasurandError, match="column 'rater' is named both as item and as rater"):
        read_ratings(one_rater([1, 2]), item="rater")


def test_merged_gold_is_refused_because_individual_raters_are_the_unit():
    """P43."""
    with pytest.raises(MeasurandError, match="merged over raters cannot be audited: individual raters are the unit"):
        read_ratings(table(item=["a", "b"], gold=[1, 2]), rating="gold")


def test_orientation_is_never_guessed():
    """P05: a matrix without named columns is refused whichever way it lies."""
    matrix = pd.DataFrame(np.arange(12).reshape(3, 4) % 5, columns=["i1", "i2", "i3", "i4"])
    for frame in (matrix, matrix.T.rename(columns=str)):
        with pytest.raises(MeasurandError, match=r"no column 'item'; .* wide=\['R1', 'R2', …\]"):
            read_ratings(frame)
    with pytest.raises(MeasurandError, match="cannot read a ndarray"):
        read_ratings(matrix.to_numpy())


# Repeated cells


def test_a_repeated_cell_is_refused_with_both_rows_and_values():
    """own: duplicates averaged or kept first silently."""
    frame = table(item=list("aba"), system="S1", rater="R1", rating=[4, 3, 5])
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame)
    message = str(caught.value)
    assert 'data rows 1 and 3 (item "a", system "S1", rater "R1") hold 4 and 5' in message
    assert "Drop one of each, or say which counts by repeats=… (first, last or mean)." in message


def test_of_a_repeated_cell_the_column_that_tells_systems_apart_is_named_as_the_system_first():
    frame = table(item=list("aabb"), model=list("xyxy"), seen=range(4), rater="R1", rating=[4, 3, 5, 1])
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame)
    message = str(caught.value)
    assert "says whose output was graded, name it: system='model'; if it says what was graded" in message
    assert message.index("system='model'") < message.index("criterion='model'") < message.index("repeats=…")
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame.assign(system="S1", quality=list("xyxy")).drop(columns="model"))
    assert "system=" not in str(caught.value)
    assert "criterion='quality'" in str(caught.value)


def test_repeated_labels_are_shown_as_labels():
    frame = table(item=list("aa"), rater="R1", rating=["yes", "no"])
    with pytest.raises(MeasurandError, match="hold yes and no"):
        read_ratings(frame, labels=["no", "yes"])


def test_rows_of_a_table_with_blanks_keep_their_numbers():
    frame = table(item=list("baa"), rater="R1", rating=["", "4", "5"])
    with pytest.raises(MeasurandError, match="data rows 2 and 3"):
        read_ratings(frame)


def test_a_blank_beside_a_rating_is_no_repeat():
    assert values(read_ratings(table(item=list("aa"), rater="R1", rating=["", "5"]))) == [5.0]


@pytest.mark.parametrize(("repeats", "expected"), [("first", [4, 3]), ("last", [3, 5]), ("mean", [4.5, 3])])
def test_repeats_are_settled_as_declared(repeats, expected):
    frame = table(item=list("aba"), rater="R1", rating=[4, 3, 5])
    read = read_ratings(frame, repeats=repeats)
    assert values(read) == expected
    assert sorted(read.frame["item"]) == ["a", "b"]


@given(tables(n_systems=(0, 2), n_criteria=(0, 2)), st.permutations(range(3)))
@settings(max_examples=30)
def test_settling_keeps_one_rating_of_each_cell(frame, order):
    copies = pd.concat([frame.assign(rating=frame["rating"] + k) for k in order], ignore_index=True)
    for repeats, expected in (("first", order[0]), ("last", order[-1]), ("mean", 1)):
        read = read_ratings(copies, repeats=repeats)
        merged = read.frame.astype({c: str for c in frame.columns if c != "rating"}).merge(
            frame, on=[c for c in frame.columns if c != "rating"]
        )
        assert len(merged) == len(read) == len(frame)
        assert merged["rating_x"].tolist() == (merged["rating_y"] + expected).tolist()


def test_a_mean_of_names_is_refused():
    frame = table(item=list("aab"), rater="R1", rating=["dog", "cat", "emu"])
    with pytest.raises(MeasurandError, match="mean"):
        read_ratings(frame, level="nominal", repeats="mean")
    with pytest.raises(MeasurandError, match="mean"):
        read_ratings(frame.assign(rating=["1", "3", "2"]), level="nominal", repeats="mean")


def test_several_occasions_are_repeats_that_must_be_declared():
    frame = table(item=list("aa"), rater="R1", occasion=["1", "2"], rating=[4, 5])
    with pytest.raises(MeasurandError, match="on different occasions"):
        read_ratings(frame)
    assert values(read_ratings(frame, repeats="last")) == [5.0]
    assert values(read_ratings(frame.rename(columns={"occasion": "day"}), occasion="day", repeats="mean")) == [4.5]


def test_an_unknown_way_to_settle_is_refused():
    with pytest.raises(MeasurandError, match="repeats 'all'; allowed are refuse, first, last, mean"):
        read_ratings(one_rater([1]), repeats="all")


# Wide tables


def widen(frame):
    keys = [c for c in ("item", "system", "criterion") if c in frame]
    wide = frame.pivot(index=keys, columns="rater", values="rating").reset_index()
    return wide.rename_axis(columns=None), sorted(set(frame["rater"]))


@given(frame=tables(n_raters=(2, 4), n_criteria=(0, 2)), scale=scales(levels=(None, "ordinal", "interval")))
@settings(max_examples=25)
def test_wide_and_long_tables_give_the_same_audit(frame, scale):
    frame["rating"] = np.clip(frame["rating"], scale.low, scale.high)
    wide, names = widen(frame)
    if len(names) < 2:
        return
    long = audit(read_ratings(frame, scale=scale), **FEW)
    other = audit(read_ratings(wide, wide=names, scale=scale), **FEW)
    # What a long table lacks altogether is a blank cell in a wide one; all else is the same.
    blank = {("design", "n_blank")}
    for a, b in zip(long.rows, other.rows, strict=True):
        if (a.analysis, a.statistic) not in blank:
            assert a.to_dict() == b.to_dict()
    assert [f.to_dict() for f in long.findings] == [f.to_dict() for f in other.findings]


def test_wide_tables_keep_ids_systems_and_other_columns():
    frame = table(image=["00000", "b"], model=["S2", "S1"], A=["1", ""], B=["3", "4"], note=["x", "y"])
    read = read_ratings(frame, item="image", system="model", wide=["B", "A"])
    assert sorted(zip(read.frame["item"], read.frame["rater"], values(read), read.frame["note"], strict=True)) == [
        ("00000", "A", 1.0, "x"),
        ("00000", "B", 3.0, "x"),
        ("b", "B", 4.0, "y"),
    ]
    assert read.n_blank == {"": 1}


def test_wide_tables_of_text_and_numbers():
    frame = table(item=["a", "b"], A=["yes", "no"], B=["no", None])
    assert values(read_ratings(frame, wide=["A", "B"], labels=["no", "yes"])) == [1.0, 0.0, 0.0]
    mixed = table(item=["a", "b"], A=[1, 2], B=["3", "x"])
    with pytest.raises(MeasurandError, match=r"'x' at data row 2 .item .b., rater .B."):
        read_ratings(mixed, wide=["A", "B"])


def test_a_wide_fault_is_named_by_the_row_of_the_users_own_table():
    frame = table(item=["a", "b"], A=[1, 2], B=[3, 9], C=[1, 1])
    with pytest.raises(MeasurandError, match=r"'9' at data row 2 .item .b., rater .B."):
        read_ratings(frame, wide=["A", "B", "C"], scale=Scale(1, 5))
    with pytest.raises(MeasurandError, match="column 'item' is blank in data row 2"):
        read_ratings(frame.assign(item=["a", ""]), wide=["A", "B", "C"])
    with pytest.raises(MeasurandError, match="data rows 1 and 2"):
        read_ratings(frame.assign(item=["a", "a"]), wide=["A", "B", "C"])


@pytest.mark.parametrize(
    ("wide", "more", "said"),
    [
        (["A", "Z"], {}, "no column 'Z' for a rater; the table has 'item', 'A', 'B'"),
        (["A", "A"], {}, "named twice"),
        (["A"], {}, "one rater column, 'A'; a wide table needs at least two"),
        (["A", "B"], {"rating": "A"}, "rating='A' does not go with wide="),
        (["A", "B"], {"rater": "A"}, "rater='A' does not go with wide="),
        (["A", "item"], {}, "item"),
    ],
)
def test_contradicting_wide_declarations_are_refused(wide, more, said):
    with pytest.raises(MeasurandError, match=said):
        read_ratings(table(item=["a", "b"], A=[1, 2], B=[3, 4]), wide=wide, **more)


# What must not matter


@given(frame=tables(n_criteria=(0, 2)), data=st.data())
@settings(max_examples=20)
def test_the_order_of_rows_and_columns_does_not_matter(frame, data):
    level = data.draw(st.sampled_from(LEVELS))
    shuffled = frame.iloc[data.draw(st.permutations(range(len(frame))))]
    shuffled = shuffled[data.draw(st.permutations(list(frame.columns)))]
    one, other = (audit(read_ratings(made, level=level), **FEW) for made in (frame, shuffled))
    assert one.to_json() == other.to_json()


def test_other_columns_and_types_do_not_matter():
    frame = crossed()
    plain = audit(read_ratings(frame), **FEW)
    for other in (frame.assign(note="=1+1", group="g"), frame.astype(str), frame.astype("category")):
        assert audit(other, **FEW).to_json() == plain.to_json()


# The scale


def test_the_scale_is_never_inferred_from_the_sample():
    """P20: without a declared scale, what depends on it is undefined and says so."""
    frame = crossed(n_systems=0)
    for row in raters(frame):
        if row.statistic in ("share_lowest", "share_highest"):
            assert math.isnan(row.estimate)
            assert "scale" in row.undefined
    assert not raters(frame).select("raters", "levels_used")
    kappas = agreement_pairs(frame, replicates=100).select("agreement_pairs", "kappa_quadratic")
    assert len(kappas) == 3
    assert all(math.isnan(row.estimate) and "scale" in row.undefined for row in kappas)


def test_a_declared_scale_defines_what_depends_on_it():
    frame = crossed(n_systems=0)
    read = read_ratings(frame, scale=Scale(1, 5, step=1, level="ordinal"))
    kappas = agreement_pairs(read, replicates=100).select("agreement_pairs", "kappa_quadratic")
    assert all(math.isfinite(row.estimate) for row in kappas)
    used = raters(read).select("raters", "levels_used")
    assert [row.note for row in used] == ["of 5 on the scale"] * 3


def test_shares_are_of_the_declared_ends_not_of_the_lowest_rating_given():
    """P21: categories that nobody used belong to the scale all the same."""
    frame = table(item=list("abcd"), rater="R1", rating=[2, 3, 4, 4])
    result = raters(read_ratings(frame, scale=Scale(1, 4, step=1)))
    assert result.value("raters", "share_lowest") == 0.0
    assert result.value("raters", "share_highest") == 0.5


def test_unused_levels_do_not_move_what_rests_on_the_ratings_alone():
    """P21: alpha knows only the ratings, so that a wider scale leaves it where it is."""
    frame = crossed(n_systems=0)
    narrow, wide = (
        agreement(read_ratings(frame, scale=Scale(0, high, step=1, level="ordinal")), replicates=100)
        for high in (5, 50)
    )
    assert narrow.value("agreement", "alpha_ordinal") == wide.value("agreement", "alpha_ordinal")


# Criteria


def test_criteria_are_audited_one_by_one():
    a, b = crossed(seed=1), crossed(seed=2)
    both = pd.concat([a.assign(criterion="c10"), b.assign(criterion="c2")], ignore_index=True)
    read = read_ratings(both)
    assert read.criteria == ["c2", "c10"]
    together, alone = audit(read, **FEW), audit(b, **FEW)
    for statistic, missing in (("alpha_interval", ""), ("icc_2_1", "listwise")):
        keys = {"system": "", "missing": missing}
        assert together.value("agreement", statistic, keys | {"criterion": "c2"}) == alone.value(
            "agreement", statistic, keys
        )
    assert together.value("anova", "ss", {"criterion": "c2", "source": "system"}) == alone.value(
        "anova", "ss", {"source": "system"}
    )
    assert {f.criterion for f in together.findings} == {"c2", "c10"}


# Real tables


@pytest.mark.parametrize(
    ("path", "columns", "scale", "sizes"),
    [
        ("simpeval_2022/ratings.csv", {}, Scale(0, 100), (60, 6, 3, 1080)),
        ("face_morph/ratings.csv.gz", {"criterion": "category"}, Scale(0, 4, step=1), (150, 0, 20, 18_000)),
        ("epitome/ratings.csv", {}, Scale(0, 2, step=1), (50, 0, 7, 1050)),
        ("imagenhub_mask_guided/ratings.csv", {}, Scale(0, 1, step=0.5), (179, 4, 3, 4296)),
    ],
)
def test_public_tables_are_read_as_they_are(shared, path, columns, scale, sizes):
    read = read_ratings(shared / "data" / path, scale=scale, **columns)
    result = design(read)
    counts = ("n_items", "n_systems", "n_raters", "n_ratings")
    assert tuple(result.value("design", name, {"criterion": ""}) for name in counts) == sizes
    assert result.value("design", "n_missing", {"criterion": ""}) == 0


# How files spell


def test_faults_of_different_causes_are_told_apart():
    frame = one_rater(["6", "gut", "3,5", "4", "2,5"])
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame, scale=Scale(1, 5))
    message = str(caught.value)
    assert "2 ratings with a decimal comma: '3,5' at data row 3" in message
    assert "; 1 rating that is not a number of the scale (1 to 5): 'gut' at data row 2" in message
    assert "; 1 rating outside the scale (1 to 5): '6' at data row 1" in message
    assert "decimal=','" in message
    assert "missing='gut'" in message


def test_a_wide_table_without_its_ids_shows_its_own_columns_and_no_second_wide():
    frame = pd.DataFrame({"Bild": ["a", "b"], "Anna": ["1", "2"], "Bert": ["2", "2"]})
    with pytest.raises(MeasurandError) as caught:
        read_ratings(frame, wide=["Anna", "Bert"])
    assert str(caught.value) == (
        "no column 'item'; the table has 'Bild', 'Anna', 'Bert'. Name the right one, for example item='Bild'"
    )


def test_a_german_spreadsheet_is_read_as_declared(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes("Bild;Anna;Bert\n1;3,5;k.A.\n2;4;-\n3;2;1,5\n".encode("utf-8-sig"))
    read = read_ratings(
        path, item="Bild", wide=["Anna", "Bert"], delimiter=";", decimal=",", missing=["k.A.", "-"], scale=Scale(1, 5)
    )
    assert read.frame["rating"].tolist() == [3.5, 4.0, 2.0, 1.5]
    assert read.n_blank == {"": 2}


def test_a_mark_that_was_not_declared_is_never_taken_for_one(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("item;rater;rating\na;R1;1\n", encoding="utf-8")
    with pytest.raises(MeasurandError, match=r"header has semicolons: .*delimiter=';'"):
        read_ratings(path)
    with pytest.raises(MeasurandError, match="'-' at data row 1"):
        read_ratings(one_rater(["-", "3"]), scale=Scale(1, 5))
    assert len(read_ratings(one_rater(["-", "3"]), scale=Scale(1, 5), missing=["-"])) == 1


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"decimal": ";"}, "decimal ';'; allowed are"),
        ({"delimiter": ";;"}, "give one character"),
        ({"delimiter": ";"}, "the data frame has no delimiter"),
        ({"decimal": ","}, r"'3\.5' at data row 2 has a decimal point, and decimal commas are declared"),
        ({"missing": ["No"], "labels": ["no", "yes"]}, "'no' is declared as a label of the scale and as missing"),
    ],
)
def test_what_cannot_be_declared_of_a_table_is_refused(how, said):
    with pytest.raises(MeasurandError, match=said):
        read_ratings(one_rater(["1,5", "3.5"]), **how)


def test_numbers_of_a_frame_may_stand_for_missing_ratings():
    assert read_ratings(one_rater([1, 99, 3]), missing=["99"]).frame["rating"].tolist() == [1.0, 3.0]


def test_one_text_for_missing_ratings_is_as_good_as_a_list_of_one():
    table = pd.DataFrame({"item": ["a", "b"], "rater": "R", "rating": ["3", "k.A."]})
    assert read_ratings(table, missing="k.A.").n_blank == read_ratings(table, missing=["k.A."]).n_blank == {"": 1}


def test_a_name_with_a_comma_that_was_taken_apart_is_told_with_its_quotes():
    table = pd.DataFrame({"item": ["a"], "Müller, Anna": ["3"], "eve": ["4"]})
    with pytest.raises(TableError, match="a name with a comma is quoted as one") as refused:
        read_ratings(table, wide=["Müller", "Anna", "eve"])
    assert "--wide '\"Müller, Anna\",…'" in refused.value.in_options({"wide": "--wide"})
