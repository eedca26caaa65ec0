"""The jackknife over blocks: equal blocks give the t interval of a mean, too few give none."""

import numpy as np
import pytest
from scipy import stats

from measurand.stats.jackknife import jackknife_interval


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.random.default_rng(5).normal(size=9)
    without = (values.sum() - values) / 8
    found = jackknife_interval(np.append(values.mean(), without), np.arange(9), confidence=0.95)
    expected = stats.t.interval(0.95, 8, values.mean(), stats.sem(values))
    assert found[:2] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("without", [[1.0, np.nan, 2.0], [1.0, 2.0], [1.0]])
def test_a_block_without_which_there_is_no_number_or_two_blocks_leave_no_interval(without):
    assert np.isnan(jackknife_interval(np.array([1.0, *without]), np.arange(len(without)), confidence=0.95).low)
