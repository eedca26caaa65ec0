import hashlib
import json
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from measurand.eliciting import store as module
from measurand.eliciting.store import FILE, Store, key_of
from measurand.result import MeasurandError
from store_files import key, numbers, record, written

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(SPELLED := ["-inf", "inf", "nan", "\\-inf", "\\\\nan", "a\u2028b\r\n", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


# Keys


def test_a_key_is_the_hash_of_canonical_json():
    """The value is pinned: keys are the same in every version, process and machine, or nothing is found again."""
    parts = {"b": [1, 2.5, None, True, "ä😀"], "a": {"y": -0.1, "x": "1"}}
    text = '{"a":{"x":"1","y":-0.1},"b":[1,2.5,null,true,"\\u00e4\\ud83d\\ude00"]}'
    assert key_of(parts) == hashlib.sha256(text.encode()).hexdigest()
    assert key_of(parts).startswith("8f600aa1587a4afb")


PARTS = {
    "model": "m",
    "revision": "r1",
    "dtype": "float32",
    "engine": "transformers 5.24",
    "template": "t",
    "prompt_ids": [1, 2, 3],
    "picture": "9d94",
    "readout": "reading/1",
    "decoding": {"temperature": 0.7, "seed": None},
}


@pytest.mark.parametrize("name", PARTS)
def test_whatever_determines_an_answer_changes_its_key(name):
    """T70, T71: no answer of one model, revision, type or picture is ever served as another's."""
    assert key_of({**PARTS, name: "other"}) != key_of(PARTS)
    assert key_of({k: v for k, v in PARTS.items() if k != name}) != key_of(PARTS)
    assert key_of(dict(reversed(PARTS.items()))) == key_of(PARTS)


def test_numbers_truth_values_and_texts_are_never_the_same_key():
    values = [1, 1.0, True, "1", [1], None, {}, [], "", 0.1 + 0.2, 0.3]
    assert len({key_of({"x": value}) for value in values}) == len(values)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.randoms())
def test_the_order_of_names_makes_no_difference(parts, chance):
    parts = json.loads(json.dumps(parts).replace("Infinity", "1"))
    names = list(parts)
    chance.shuffle(names)
    assert key_of({name: parts[name] for name in names}) == key_of(parts)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "x.y is nan"),
        (-math.inf, "x.y is -inf"),
        (b"bytes", "x.y is a bytes"),
        ({1: 2}, "x.y has the name 1"),
        ({"z": [0, {2}]}, r"x.y.z\[1\] is a set"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_name(value, said):
    with pytest.raises(MeasurandError, match=said):
        key_of({"x": {"y": value}})


# What is written comes back


@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name not in ("key", "kind", "check")), JSON, max_size=4))
def test_every_json_value_comes_back_as_it_was(content):
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), record(0) | content)
        lines = path.read_bytes().split(b"\n")
        assert len(lines) == 2
        assert not lines[1]
        json.loads(lines[0], parse_constant=pytest.fail)  # strictly valid
        with Store.open(folder, is_writer=False) as store:
            found = store.get(key(0))
    assert found == record(0) | content
    assert str(found) == str(record(0) | content)  # 1 stays 1, 1.0 stays 1.0


def test_infinite_log_probabilities_come_back_as_numbers_and_texts_that_look_like_them_as_texts(tmp_path):
    """A reading's log-probability of a label that was not seen is -inf; a reply may say "-inf"."""
    values = [-math.inf, math.inf, "-inf", "inf", "nan", "\\-inf", "-infinite", -0.0]
    path = written(tmp_path, record(0, low=values, other=math.nan))
    with Store.open(tmp_path, is_writer=False) as store:
        found = store.get(key(0))
    assert found["low"] == values
    assert math.isnan(found["other"])
    assert '"low":["-inf","inf","\\\\-inf"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("n", [0, 4096, 50_000])
def test_a_record_of_any_length_comes_back(tmp_path, n):
    written(tmp_path, record(0, text="x" * n), record(1))
    with Store.open(tmp_path, is_writer=False) as store:
        assert [len(one.get("text", "")) for one in store.records(map(key, [0, 1]))] == [n, 0]


def test_the_file_is_utf8_and_a_reply_is_kept_to_the_letter(tmp_path):
    """T36: every raw reply is stored as it came, so that it can be read again; T35: what it means is not stored."""
    text = '```json\n{"joy": 3,}\r\n```\u2028😀\x00\t"'
    path = written(tmp_path, record(0, "reply", text=text))
    assert "😀" in path.read_text(encoding="utf-8")
    with Store.open(tmp_path, is_writer=False) as store:
        assert store.get(key(0))["text"] == text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"key": "abc"}, "64 hexadecimal"),
        ({"key": None}, "64 hexadecimal"),
        ({"kind": "Reading"}, "small letters"),
        ({"kind": 'x","key":"'}, "small letters"),
        ({"check": 1}, "'check'"),
        ({"low": [1, b""]}, r"low\[1\] is a bytes"),
    ],
)
def test_what_is_no_record_is_refused_before_anything_is_written(tmp_path, wrong, said):
    with Store.open(tmp_path, is_writer=True) as store:
        with pytest.raises(MeasurandError, match=said):
            store.append(record(0) | wrong)
        assert store.path.read_bytes() == b""


def test_the_first_answer_stays_and_a_second_is_refused(tmp_path):
    path = written(tmp_path, record(0, text="first"))
    before = path.read_bytes()
    with Store.open(tmp_path, is_writer=True) as store:
        with pytest.raises(MeasurandError, match="never overwritten"):
            store.append(record(0, text="second"))
        assert store.get(key(0))["text"] == "first"
    assert path.read_bytes() == before


def test_failures_are_kept_but_are_no_answers(tmp_path):
    """T72: what failed is asked again when the study is started again, and then answered."""
    with Store.open(tmp_path, is_writer=True) as store:
        store.append(record(0, "failure", reason="429"))
        store.append(record(0, "failure", reason="500"))
        assert store.get(key(0)) is None
        assert key(0) not in store
        assert len(store) == 0
        store.append(record(0, "reply"))
        assert store.get(key(0))["kind"] == "reply"
    with Store.open(tmp_path, is_writer=False) as store:
        assert [one["reason"] for one in store.failures()] == ["429", "500"]
        assert list(store.keys()) == [key(0)]


def test_records_come_in_the_order_asked_and_an_absent_one_is_named(tmp_path):
    written(tmp_path, *map(record, range(5)))
    with Store.open(tmp_path, is_writer=False) as store:
        assert [one["number"] for one in store.records(map(key, [3, 0, 3, 4]))] == [3, 0, 3, 4]
        with pytest.raises(MeasurandError, match=key(7)):
            list(store.records([key(0), key(7)]))
        assert "no key" not in store
        assert 3 not in store


def test_joined_files_count_the_first_of_two_answers_and_say_how_many_there_were(tmp_path):
    path = written(tmp_path, record(0, text="first"), record(1))
    other = written(tmp_path / "other", record(0, text="second"), record(2))
    path.write_bytes(path.read_bytes() + other.read_bytes())
    with Store.open(tmp_path, is_writer=True) as store:
        assert store.n_repeated == 1
        assert [one["number"] for one in store.records(store.keys())] == [0, 1, 2]
        assert store.get(key(0))["text"] == "first"


# Torn and damaged files


class Kills(RuleBasedStateMachine):
    """A store against a dictionary, killed at any byte, opened again, read meanwhile."""

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp())
        self.told: dict[str, dict] = {}
        self.failed = 0
        self.number = 0
        self.store = Store.open(self.folder, is_writer=True)
        self.reader = Store.open(self.folder, is_writer=False)

    def teardown(self):
        self.store.close()
        self.reader.close()
        shutil.rmtree(self.folder)

    @rule(content=JSON)
    def answer(self, content):
        one = record(self.number, content=content)
        self.store.append(one)
        self.told[one["key"]] = one
        self.number += 1

    @rule(kind=st.sampled_from(["reading", "failure"]))
    def again(self, kind):
        one = record(0, kind)
        if kind == "failure":
            self.store.append(one)
            self.failed += 1
        elif one["key"] in self.told:
            with pytest.raises(MeasurandError):
                self.store.append(one)

    @rule()
    def restart(self):
        self.store.close()
        self.store = Store.open(self.folder, is_writer=True)
        assert self.store.healed == 0

    @precondition(lambda self: self.number)
    @rule(data=st.data())
    def kill_in_the_middle_of_a_line(self, data):
        """Leave a part of the line that was just being written, as a killed process does."""
        line = module.to_line(record(self.number, text="in flight"))
        part = data.draw(st.integers(0, len(line) - 1), label="bytes written")
        self.store.close()
        with self.store.path.open("ab") as file:
            file.write(line[:part])
        with Store.open(self.folder, is_writer=False) as reader:
            assert len(reader) == len(self.told)
        self.store = Store.open(self.folder, is_writer=True)
        assert self.store.healed == part

    @rule()
    def read(self):
        self.reader.refresh()
        assert {k: self.reader.get(k) for k in self.reader.keys()} == self.told  # noqa: SIM118
        assert len(list(self.reader.failures())) == self.failed

    @invariant()
    def the_writer_has_what_it_was_told(self):
        assert list(self.store.keys()) == list(self.told)
        assert list(self.store.records(self.told)) == list(self.told.values())


Kills.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestKills = Kills.TestCase


def test_a_file_cut_at_any_byte_keeps_every_whole_line_and_no_other(tmp_path):
    """T72: after a kill at any point everything that was written whole is there, once."""
    path = written(tmp_path, *[record(i, text="ä" * i) for i in range(4)])
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        n = whole[:cut].count(b"\n")
        assert numbers(tmp_path) == list(range(n))
        assert path.read_bytes() == whole[:cut]  # a reader heals nothing
        with Store.open(tmp_path, is_writer=True) as store:
            assert len(store) == n
            assert store.healed == cut - (whole[:cut].rfind(b"\n") + 1)
            store.append(record(9))
        assert numbers(tmp_path) == [*range(n), 9]


@pytest.mark.parametrize("tail", [b"\0" * 300, b"\0" * 300 + b"\n", b"{}\n", b'{"key":"'])
def test_what_a_power_cut_leaves_at_the_end_is_cut_off_and_reported(tmp_path, tail):
    path = written(tmp_path, record(0))
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert numbers(tmp_path) == [0]
    with Store.open(tmp_path, is_writer=True) as store:
        assert store.healed == len(tail)
    assert path.read_bytes() == whole
    path.write_bytes(tail)
    if tail.strip(b"\0\n") in (b"", b'{"key":"'):
        with Store.open(tmp_path, is_writer=True) as store:
            assert (len(store), store.healed) == (0, len(tail))


def test_a_changed_byte_anywhere_before_the_last_line_is_named_and_never_skipped(tmp_path):
    path = written(tmp_path, *map(record, range(3)))
    whole = path.read_bytes()
    starts = [0, *(i + 1 for i, byte in enumerate(whole) if byte == 10)]
    for place in range(starts[2] - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        line = whole[:place].count(b"\n")
        for is_writer in (False, True):
            with pytest.raises(MeasurandError) as caught:
                Store.open(tmp_path, is_writer=is_writer)
            assert f"line {line + 1} (from byte {starts[line]})" in str(caught.value)
            assert str(path) in str(caught.value)
        assert path.read_bytes() == damaged


@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed")
def test_the_repair_that_the_message_names_costs_one_answer(tmp_path):
    path = written(tmp_path, *map(record, range(5)))
    path.write_bytes(path.read_bytes().replace(b'"number":2', b'"number":7'))
    with pytest.raises(MeasurandError) as caught:
        Store.open(tmp_path, is_writer=True)
    command = str(caught.value).split("(")[-1].split(")")[0]
    assert command.startswith("sed ")
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    assert numbers(tmp_path) == [0, 1, 3, 4]


def test_another_programs_file_is_never_cut(tmp_path):
    for content in (b'{"item": 1, "answer": 0.5}\n', b"item,answer", b'{"item": 1}\n{"item": 2}\n'):
        (tmp_path / FILE).write_bytes(content)
        with pytest.raises(MeasurandError, match=r"no store|damaged"):
            Store.open(tmp_path, is_writer=True)
        assert (tmp_path / FILE).read_bytes() == content


def test_a_record_that_changed_while_the_store_was_open_is_not_served(tmp_path):
    path = written(tmp_path, record(0), record(1))
    with Store.open(tmp_path, is_writer=False) as store:
        first, second = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(second + first)
        with pytest.raises(MeasurandError, match="another answer is there"):
            store.get(key(0))
        path.write_bytes(first)
        with pytest.raises(MeasurandError, match="changed"):
            store.get(key(1))


def test_what_cannot_be_a_store_is_refused(tmp_path):
    with pytest.raises(MeasurandError, match=f"has no {FILE}"):
        Store.open(tmp_path / "absent", is_writer=False)
    assert not (tmp_path / "absent").exists()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(MeasurandError, match="not a folder"):
        Store.open(tmp_path / "file", is_writer=True)
    with pytest.raises(MeasurandError, match="cannot be opened"):
        Store.open(tmp_path / "file" / "below", is_writer=True)


def test_a_reader_adds_nothing_and_a_closed_store_says_so(tmp_path):
    path = written(tmp_path, record(0))
    with Store.open(tmp_path, is_writer=False) as store, pytest.raises(MeasurandError, match="opened to read"):
        store.append(record(1))
    store.close()
    with pytest.raises(MeasurandError, match="closed"):
        store.get(key(0))
    with Store.open(tmp_path, is_writer=True) as writer:
        pass
    with pytest.raises(MeasurandError, match="closed"):
        writer.append(record(1))
    assert len(path.read_bytes().splitlines()) == 1
