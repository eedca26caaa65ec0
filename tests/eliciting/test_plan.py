import pytest

from eliciting.studies import (
    EVERY,
    FEEL,
    TEXTS,
    VERIFY,
    Played,
    ask,
    everything,
    items,
    study,
)
from measurand.eliciting.declared import Generative, Item, Phrasing, Retry, Text, Verification
from measurand.eliciting.engine import Abilities, Decoding
from measurand.eliciting.fake import FakeEngine
from measurand.eliciting.plan import CHARACTERS, plan
from measurand.eliciting.requests import blocks, requests
from measurand.eliciting.system import Price, System


def planned(design, *, store=None, limit=None, **told):
    engines = [(system, Played(system, **told)) for system in design.systems]
    found = plan(design, engines, store=store, limit=limit)
    assert all(engine.n_asked == engine.n_proofs == 0 for _, engine in engines)
    return found


def test_requests_are_those_that_a_run_asks(tmp_path):
    design = everything(controls=("shuffled",), control_items=2, repeats=2)
    elicited, engines = ask(design, tmp_path)
    found = planned(design).estimates
    assert sum(one.n_requests for one in found) == elicited.asked[0].progress.total == engines["S"].n_asked
    assert [(one.control, one.readout, one.n_requests) for one in found] == [
        ("", "verification", 48),
        ("", "scale", 12),
        ("", "choice", 12),
        ("", "generative", 6),
        ("", "text", 6),
        ("shuffled", "verification", 32),
        ("shuffled", "scale", 8),
        ("shuffled", "choice", 8),
        ("shuffled", "generative", 4),
        ("shuffled", "text", 4),
    ]


@pytest.mark.parametrize("decoding", [Decoding(), Decoding(temperature=0.7), Decoding(temperature=None)])
def test_swapped_items_cost_what_a_run_asks_for_them(tmp_path, decoding):
    """They are other items' questions, asked once; only what is sampled is drawn anew for them."""
    design = study(Verification([VERIFY]), Text([FEEL], decoding=decoding), controls=("swapped",), repeats=2)
    _, engines = ask(design, tmp_path)
    assert sum(one.n_requests for one in planned(design).estimates) == engines["S"].n_asked
    assert planned(design, store=tmp_path).stored == {"S": (engines["S"].n_asked,) * 2}


def test_tokens_are_the_sum_over_all_requests():
    """The words of an item and of a question add up, so that the estimate is exact; 2 % are allowed elsewhere."""
    design = everything(controls=("shuffled",), repeats=2, n_items=5)
    engine = FakeEngine(design.systems[0])
    for estimate in planned(design).estimates:
        asked = [
            one.prompt
            for block in blocks(design)
            if block.control == estimate.control
            for one in requests(design, block)
            if one.readout.name == estimate.readout
        ]
        assert estimate.n_requests == len(asked)
        assert estimate.prompt_tokens == sum(map(engine.count, asked))
        assert estimate.is_counted


def test_the_words_of_an_item_inside_a_question_are_counted_with_it():
    design = study(Text([Phrasing("p", "How is {text} then?"), Phrasing("q", "{text}?")]), n_items=5)
    engine = FakeEngine(design.systems[0])
    total = sum(engine.count(one.prompt) for block in blocks(design) for one in requests(design, block))
    assert planned(design).estimates[0].prompt_tokens == pytest.approx(total, rel=0.02)


def test_without_a_tokenizer_four_characters_are_a_token():
    class Uncounted(FakeEngine):
        def count(self, _prompt):
            return None

    design = study(Text([FEEL]), n_items=1)
    (estimate,) = plan(design, [(design.systems[0], Uncounted(design.systems[0]))], store=None).estimates
    assert not estimate.is_counted
    assert estimate.prompt_tokens == -(-len(f"{TEXTS[0]}\n\n{FEEL.question}") // CHARACTERS)


def test_money_is_one_attempt_of_full_length_with_nothing_cached():
    system = System("S", "fake", price=Price(input=2, output=10, cached=0, per=100, currency="EUR"))
    design = study(Generative([EVERY], retry=Retry(4), decoding=Decoding(50)), systems=[system], n_items=2)
    (estimate,) = planned(design).estimates
    assert (estimate.completion_tokens, estimate.most_attempts, estimate.currency) == (100, 4, "EUR")
    assert estimate.cost == pytest.approx((estimate.prompt_tokens * 2 + 100 * 10) / 100, abs=1e-12)


def test_what_is_stored_is_told(tmp_path):
    design = study(Verification([VERIFY]), Generative([EVERY]))
    assert planned(design, store=tmp_path / "store").stored == {}
    with pytest.raises(KeyboardInterrupt):
        ask(design, tmp_path / "store", breaks_after=4)
    assert planned(design, store=tmp_path / "store").stored == {"S": (4, 9)}
    assert planned(study(criteria=["awe"]), store=tmp_path / "store").stored == {"S": (0, 3)}


def test_the_limit_holds():
    assert [one.n_requests for one in planned(study(n_items=5), limit=2).estimates] == [4]


def test_objections_are_told_and_not_raised():
    design = study(systems=[System("A", "fake"), System("B", "fake")])
    found = planned(design, abilities=Abilities("none"))
    assert [one.split(":")[0] for one in found.objections] == ["A", "B"]
    assert found.estimates
    marked = planned(design, objects=lambda prompt: "no" if prompt.shared == TEXTS[2] else "")
    assert marked.objections == ["A: no", "B: no"]


@pytest.mark.parametrize("more", [{"criteria": []}, {"items": [Item("a", "x")], "criteria": []}])
def test_a_readout_that_asks_nothing_is_planned_as_nothing(more):
    found = planned(study(Verification([VERIFY]), Text([FEEL]), **more)).estimates
    assert [one.readout for one in found if one.n_requests] == ["text"]


def test_every_system_is_planned_by_its_own_price():
    design = study(systems=[System("A", "fake", price=Price(1, 1)), System("B", "fake")], items=items(2))
    assert [(one.system, one.cost > 0) for one in planned(design).estimates] == [("A", True), ("B", False)]
