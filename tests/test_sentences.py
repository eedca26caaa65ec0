"""Numbers as sentences and tables have them: a p next to a level of tests says on which side of it it lies."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measurand.result.digits import show_p as in_tables
from measurand.sentences import show_p


@given(st.floats(1e-4, 1), st.sampled_from((0.05, 0.01)))
@example(0.049975, 0.05)
@example(0.0500249, 0.05)
@example(0.00999999, 0.01)
def test_a_p_that_is_shown_lies_on_the_side_of_the_level_on_which_it_is(p, level):
    if abs(p - level) > 1e-9:
        assert (float(in_tables(p)) < level) == (p < level)
        assert float(in_tables(p)) != level
    assert show_p(p) == f"p = {in_tables(p)}"


@pytest.mark.parametrize(
    ("p", "shown"), [(0.05, "0.05"), (0.1 + 0.2 - 0.25, "0.05"), (0.051, "0.051"), (0.2496, "0.25")]
)
def test_a_p_at_a_level_and_one_far_from_it_have_two_digits(p, shown):
    assert in_tables(p) == shown
