import json
from dataclasses import replace

import pytest

from eliciting.studies import (
    EVERY,
    FEEL,
    OPTIONS,
    RATE,
    VERIFY,
    WHICH,
    Played,
    answers_in,
    ask,
    everything,
    items,
    lines_in,
    reading,
    renamed,
    study,
    tables,
)
from measurand.eliciting.declared import Choice, Generative, Item, Retry, ScaleReading, Text, TextRule, Verification
from measurand.eliciting.engine import Abilities, Decoding, Failure, Proof
from measurand.eliciting.fake import FakeEngine
from measurand.eliciting.run import chosen, elicit
from measurand.eliciting.store import Store
from measurand.eliciting.system import System
from measurand.eliciting.tables import Tables
from measurand.result import MeasurandError

RULE = TextRule("emoji", 1, 5, only=True)
BAD = System("S", "fake", "m", template_options={"bad_share": 0.4, "refusal_share": 0.1})


def whole(**more):
    """Return a study with every kind of readout, retries, sampling, controls and repeats."""
    return study(
        Verification([VERIFY], prefills=("Answer:", "")),
        ScaleReading([RATE]),
        Choice(OPTIONS, [WHICH], rotations=2),
        Generative([EVERY], retry=Retry(3, "Only JSON.")),
        Text([FEEL], rule=RULE, retry=Retry(2), decoding=Decoding(50, 0.7)),
        **{"systems": [BAD], "controls": ("swapped", "shuffled"), "repeats": 2, "derived": ("binarized",), **more},
    )


def written(elicited, folder):
    """Return the tables as text, their times aside."""
    tables(elicited, folder)
    out = {}
    rows = [{**row, "asked_at": "", "seconds": ""} for row in answers_in(folder)]
    out["answers"] = json.dumps(rows)
    for name in ("replies", "outputs"):
        out[name] = json.dumps(
            [{**row, "asked_at": "", "seconds": ""} for row in lines_in(folder / f"{name}.jsonl")], ensure_ascii=False
        )
    return out


# Killed and started again


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    elicited, engines = ask(whole(), folder / "store")
    out = written(elicited, folder / "tables")
    assert "not_returned" not in out["answers"] + out["outputs"]
    return out, engines["S"].n_asked


@pytest.mark.parametrize("every", [1, 7, 40])
def test_a_run_that_is_interrupted_again_and_again_ends_as_an_undisturbed_one(tmp_path, undisturbed, every):
    """T72: nothing lost, nothing asked twice, whatever the moment; also between the attempts at one reply."""
    expected, n_asked = undisturbed
    asked, runs = [], 0
    while True:
        runs += 1
        engines = []

        def opened(system, kept=engines):
            kept.append(Played(system, breaks_after=every * 10))
            return kept[0]

        try:
            elicited = elicit(whole(), tmp_path / "store", opened=opened)
        except KeyboardInterrupt:
            continue
        finally:
            asked.append(engines[0].n_asked)
            assert engines[0].is_closed
        break
    assert runs > 1 or every == 40
    assert sum(asked) == n_asked
    assert elicited.n_left == 0
    assert written(elicited, tmp_path / "tables") == expected


def test_an_engine_that_gives_outcomes_in_another_order_makes_the_same_tables(tmp_path, undisturbed):
    """The fake engine's own order is mixed; the one that plays back keeps the prompts' order."""
    elicited = elicit(whole(), tmp_path / "store", opened=FakeEngine)
    assert written(elicited, tmp_path / "tables") == undisturbed[0]


def test_a_run_that_is_interrupted_leaves_a_table_of_what_there_is(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        ask(whole(), tmp_path / "store", breaks_after=15)
    elicited, engines = ask(whole(), tmp_path / "store", asks=False)
    assert engines["S"].n_asked == engines["S"].n_proofs == 0
    _, rows, _, _ = tables(elicited, tmp_path / "tables")
    answered = [row for row in rows if row["answer"]]
    assert 0 < len(answered) < len(rows)
    assert elicited.n_left == elicited.asked[0].progress.total - elicited.asked[0].progress.stored > 0
    assert {row["status"] for row in rows if not row["key"] and row["readout"] != "binarized"} == {"not_returned"}


def test_a_torn_last_line_is_healed_and_asked_again(tmp_path):
    design = study()
    ask(design, tmp_path)
    file = tmp_path / "answers.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    elicited, engines = ask(design, tmp_path)
    assert elicited.healed > 0
    assert engines["S"].n_asked == 1
    assert elicited.n_left == 0


# Nothing left to do


def test_nothing_left_to_do_is_success_and_asks_nothing_at_all(tmp_path):
    """T72: no request, no test of the engine, the same tables."""
    first, _ = ask(whole(), tmp_path / "store")
    again, engines = ask(whole(), tmp_path / "store")
    assert again.n_left == 0
    assert engines["S"].n_asked == 0
    assert engines["S"].n_proofs == 0
    assert again.asked[0].proven.proofs == first.asked[0].proven.proofs
    assert again.asked[0].proven.abilities == first.asked[0].proven.abilities
    assert json.dumps(again.asked[0].proven.tokens) == json.dumps(first.asked[0].proven.tokens)
    assert written(first, tmp_path / "a") == written(again, tmp_path / "b")
    assert (tmp_path / "a" / "answers.csv").read_bytes() == (tmp_path / "b" / "answers.csv").read_bytes()


# What is asked again


@pytest.mark.parametrize(
    "change",
    [
        study(Verification([replace(VERIFY, question="Is {criterion} there?")])),
        study(Verification([VERIFY], prefills=("So:",))),
        study(Verification([VERIFY], instructions="Look.")),
        study(Verification([VERIFY], message="You judge.")),
        study(Verification([VERIFY], no=("no", "nope"))),
        study(systems=[System("S", "fake", "m2")]),
        study(items=[Item(one.name, one.text + " ") for one in items()]),
    ],
)
def test_whatever_changes_the_question_is_asked_anew(tmp_path, change):
    """T70, T71: a changed prompt, model or answer set never reuses an old answer."""
    ask(study(), tmp_path)
    _, engines = ask(change, tmp_path)
    assert engines["S"].n_asked == 6


@pytest.mark.parametrize(
    "change",
    [
        renamed(study(), S="other"),
        study(Verification([replace(VERIFY, name="other")], name="yes or no")),
        study(items=[replace(one, name=f"{one.name}!") for one in items()]),
        study(seed=5),
        study(derived=("binarized",)),
        study(items=items()[::-1], criteria=["fear", "joy"]),
    ],
)
def test_what_only_names_or_orders_is_not_asked_again(tmp_path, change):
    ask(study(), tmp_path)
    elicited, engines = ask(change, tmp_path)
    assert [one.n_asked for one in engines.values()] == [0]
    assert elicited.n_left == 0


def test_more_items_criteria_phrasings_and_repeats_ask_only_what_is_new(tmp_path):
    ask(study(), tmp_path)
    for design, n in (
        (study(n_items=4), 2),
        (study(n_items=4, criteria=["joy", "fear", "awe"]), 4),
        (study(n_items=4, criteria=["joy", "fear", "awe"], repeats=2), 12),
        (study(Verification([VERIFY], prefills=("Answer:", "")), n_items=4, criteria=["joy", "fear", "awe"]), 12),
    ):
        _, engines = ask(design, tmp_path)
        assert engines["S"].n_asked == n


def test_options_in_another_order_are_another_choice(tmp_path):
    """A stored reading's numbers are in its labels' order: they must not change places with the declaration."""
    design = study(Choice(OPTIONS, [replace(WHICH, question="Joy, fear or awe? {text}")]), n_items=1)
    turned = study(
        Choice(dict(reversed(OPTIONS.items())), [replace(WHICH, question="Joy, fear or awe? {text}")]), n_items=1
    )

    def told(_, labels):
        return reading(*[{"joy": 0.6, "fear": 0.3, "awe": 0.05}[name] for name in labels.names])

    shares = []
    for place, one in enumerate((design, turned)):
        elicited, _ = ask(one, tmp_path / "store", read=told)
        _, rows, _, _ = tables(elicited, tmp_path / f"{place}")
        shares.append({row["criterion"]: float(row["answer"]) for row in rows})
    assert shares[1] == pytest.approx(shares[0])


def test_two_systems_that_are_the_same_model_share_answers(tmp_path):
    design = study(systems=[System("A", "fake", "m"), System("B", "fake", "m"), System("C", "fake", "m2")])
    elicited, engines = ask(design, tmp_path / "store")
    assert [engines[name].n_asked for name in "ABC"] == [6, 0, 6]
    assert [one.progress.done for one in elicited.asked] == [6, 6, 6]
    _, rows, _, _ = tables(elicited, tmp_path / "tables")
    by_system = {name: [row["answer"] for row in rows if row["system"] == name] for name in "ABC"}
    assert by_system["A"] == by_system["B"]
    assert by_system["A"] != by_system["C"]


# Refused before anything is sent


def refused(tmp_path, design, match, **told):
    with pytest.raises(MeasurandError, match=match):
        ask(design, tmp_path / "store", **told)
    assert not (tmp_path / "store").exists()


def test_objections_refuse_the_whole_study_before_anything_is_sent(tmp_path):
    """T41: the text of any item, and of any question, is looked at; all systems, before the first is asked."""
    marked = study(items=[*items(2), Item("i3", "a <image> b")], systems=[System("A", "fake"), System("B", "fake")])

    def objects(prompt):
        return "holds '<image>'" if "<image>" in prompt.text else ""

    refused(tmp_path, marked, "nothing was sent:\n  A: holds '<image>'\n  B: holds '<image>'", objects=objects)
    of_criterion = study(criteria=["joy", "<image>"])
    refused(tmp_path, of_criterion, "holds '<image>'", objects=objects)


def test_marks_in_what_a_control_shows_are_refused_too(tmp_path):
    def objects(prompt):
        return "upside down" if prompt.text.startswith("prize! the won I") else ""

    design = study(n_items=1, controls=("shuffled",))
    shown = []
    ask(design, tmp_path / "twin", read=lambda prompt, _: shown.append(prompt.shared))
    control = shown[-1]
    assert control != shown[0]
    refused(tmp_path, design, "told", objects=lambda prompt: "told" if prompt.shared == control else "")
    ask(design, tmp_path / "store", objects=objects)


@pytest.mark.parametrize("shows_reply", [True, False])
def test_marks_in_a_note_that_only_later_attempts_say_are_refused_beforehand(tmp_path, shows_reply):
    def objects(prompt):
        said = prompt.text + "".join(turn.note for turn in prompt.turns)
        return "holds '<image>'" if "<image>" in said else ""

    design = study(Generative([EVERY], retry=Retry(2, "Look at <image>.", shows_reply=shows_reply)))
    refused(tmp_path, design, "holds '<image>'", objects=objects)


def test_many_objections_are_counted_and_some_are_told(tmp_path):
    design = study(systems=[System(f"S{k}", "fake", "m") for k in range(8)])
    refused(tmp_path, design, "and 3 more", objects=lambda _: "no")


def test_an_engine_without_probabilities_cannot_be_asked_for_them(tmp_path):
    """T66, T68: refused beforehand, and never read from the text instead (T11)."""
    none = Abilities("none")
    refused(tmp_path, study(), "needs the probabilities of tokens", abilities=none)
    elicited, _ = ask(study(Generative([EVERY])), tmp_path / "other", abilities=none)
    assert elicited.n_left == 0


def test_engines_are_closed_also_when_a_study_is_refused(tmp_path):
    engines = []

    def opened(system):
        engines.append(Played(system, objects=lambda _: "no"))
        return engines[-1]

    with pytest.raises(MeasurandError):
        elicit(study(), tmp_path, opened=opened)
    assert [one.is_closed for one in engines] == [True]


def test_two_runs_at_once_in_one_store_are_refused(tmp_path):
    with (
        Store.open(tmp_path, is_writer=True),
        pytest.raises(MeasurandError, match="being written"),
    ):
        ask(study(), tmp_path)


# Tests of engines


def test_an_engine_that_fails_its_test_is_asked_nothing_and_others_go_on(tmp_path):
    """T46, T59: the test stops its system before anything is spent."""
    design = study(systems=[System("bad", "fake", template_options={"fails_proof": True}), System("good", "fake")])
    elicited, engines = ask(design, tmp_path)
    assert (engines["bad"].n_proofs, engines["bad"].n_asked) == (1, 0)
    assert engines["good"].n_asked == 6
    assert elicited.asked[0].stopped == "It was told to fail (fails_proof)."
    assert elicited.n_left == 6
    again, engines = ask(design, tmp_path)
    assert engines["bad"].n_proofs == 1
    assert engines["good"].n_proofs == 0
    assert again.n_left == 6


def test_an_engine_is_tested_on_the_studys_own_first_items_phrasings_and_prefills(tmp_path):
    tested = []

    class Seen(Played):
        def prove(self, prompts, labels):
            tested.append((prompts, labels))
            return super().prove(prompts, labels)

    elicit(everything(), tmp_path, opened=Seen)
    ((prompts, labels),) = tested
    assert labels.names == ("yes", "no")
    assert {prompt.shared for prompt in prompts} == {one.text for one in items(2)}
    assert {prompt.prefill for prompt in prompts} == {"Answer:", ""}
    assert len(prompts) <= 16


def test_a_proof_is_kept_with_what_it_found(tmp_path):
    proof = Proof("order", True, "Fine.", 1e-6, 1e-4)
    ask(study(), tmp_path, proof=proof)
    elicited, _ = ask(study(), tmp_path, asks=False)
    assert elicited.asked[0].proven.proofs == [proof]


@pytest.mark.parametrize(("second", "n_again"), [("v1", 0), ("v2", 6)])
def test_what_a_server_says_of_itself_only_when_asked_is_part_of_the_addresses(tmp_path, second, n_again):
    """T04, T70: the same server is found again without a request; another version's answers are not its own."""

    def serving(version):
        class Served(Played):
            def identity(self):
                return {**super().identity(), "server": version if self.n_proofs else ""}

        return Served

    first = elicit(study(), tmp_path / "store", opened=serving("v1"))
    assert first.n_left == 0
    engines = []

    def opened(system):
        engines.append(serving(second)(system))
        return engines[-1]

    # One more item: otherwise nothing is asked, and nobody learns that the server is another.
    again = elicit(study(n_items=4), tmp_path / "store", opened=opened)
    assert engines[0].n_asked == 2 + n_again
    assert again.n_left == 0
    rows = tables(again, tmp_path / "tables")[1]
    assert {row["status"] for row in rows} == {"ok"}
    assert len({row["identity"] for row in rows}) == 1
    assert again.asked[0].proven.identity["server"] == second


# Some of it


def test_the_limit_asks_the_first_items_alone(tmp_path):
    elicited, engines = ask(study(n_items=5), tmp_path, limit=2)
    assert engines["S"].n_asked == 4
    assert [block.item.name for block in elicited.blocks] == ["i1", "i2"]
    assert elicited.n_left == 0
    _, engines = ask(study(n_items=5), tmp_path)
    assert engines["S"].n_asked == 6


def test_some_systems_and_readouts_can_be_chosen(tmp_path):
    design = everything(systems=[System("A", "fake"), System("B", "fake")])
    part = chosen(design, systems=["B"], readouts=["choice"])
    assert [one.name for one in part.systems] == ["B"]
    assert [one.name for one in part.readouts] == ["choice"]
    assert chosen(design) == design
    elicited, _ = ask(part, tmp_path / "store")
    _, rows, _, _ = tables(elicited, tmp_path / "tables")
    assert {(row["system"], row["readout"]) for row in rows} == {("B", "choice")}


@pytest.mark.parametrize(
    ("choice", "match"), [({"systems": ["C"]}, "no system 'C'"), ({"readouts": ["text2"]}, "no readout 'text2'")]
)
def test_a_choice_of_what_there_is_not_is_refused(choice, match):
    with pytest.raises(MeasurandError, match=match):
        chosen(everything(), **choice)


def test_engines_that_stop_do_not_end_the_others(tmp_path):
    design = study(systems=[System("A", "fake", "a"), System("B", "fake", "b")])
    place = iter(range(100))
    elicited, _ = ask(
        design, tmp_path, read=lambda *_: Failure("gone", stops=True) if next(place) == 0 else reading(0.5, 0.2)
    )
    assert [one.stopped for one in elicited.asked] == ["gone", ""]
    assert [one.n_left for one in elicited.asked] == [6, 0]


def test_tables_of_a_store_need_no_engine_to_be_asked(tmp_path):
    """Readers read while nothing is open for writing; the tables are derived from the store alone."""
    elicited, _ = ask(study(), tmp_path / "store")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Tables(elicited).write(tmp_path / name)
    assert (tmp_path / "a" / "answers.csv").read_bytes() == (tmp_path / "b" / "answers.csv").read_bytes()
