"""Killed at random moments and started again: nothing lost, nothing twice."""

import json
import sys

import pytest

from kills import killed_until_done, run, untimed, write_study

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills of that kind are POSIX")


def test_ten_kills_over_five_thousand_answers_leave_the_table_of_an_undisturbed_run(tmp_path):
    """T72: the final table equals an undisturbed run's, its time columns aside, and no answer was asked for twice."""
    run(write_study(tmp_path, out="whole", latency=0.0))
    torn = write_study(tmp_path, out="torn", latency=0.0005)
    store = tmp_path / "torn" / "store" / "answers.jsonl"
    found = killed_until_done(torn, store, kills=10, seed=1)
    assert found.kills == 10
    assert len(set(found.answers)) > 5
    expected = untimed(tmp_path / "whole" / "elicit" / "answers.csv")
    assert len(expected) > 5000
    assert untimed(tmp_path / "torn" / "elicit" / "answers.csv") == expected
    keys = [json.loads(line)["key"] for line in store.read_text(encoding="utf-8").splitlines()]
    proofs = [line for line in store.read_text(encoding="utf-8").splitlines() if '"kind":"proof"' in line]
    assert len(keys) == len(set(keys))
    other = (tmp_path / "whole" / "store" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(keys) - len(proofs) == len(other) - 1
