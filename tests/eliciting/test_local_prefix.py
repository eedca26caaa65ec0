"""Ways of reading behind a common beginning, on small models of real classes, against passes of transformers alone."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from eliciting import vlm_classes  # noqa: E402
from measurand.eliciting.local import prefix as local_prefix  # noqa: E402
from measurand.eliciting.local.model import LocalModel, shared, tokens  # noqa: E402
from measurand.eliciting.local.prefix import WAYS, Question, common, read  # noqa: E402
from measurand.eliciting.local.render import Rendered  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402


def question(ids, chains=((),), **more):
    return Question(Rendered(tuple(ids), "", "", "", **more), chains)


def questions(seed=0, *, n_common=21, lengths=(3, 9, 1, 6), chains=((),), vocabulary=400):
    rng = np.random.default_rng(seed)
    beginning = rng.integers(5, vocabulary, n_common).tolist()
    return [question(beginning + rng.integers(5, vocabulary, length).tolist(), chains) for length in lengths]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(kind):
        if kind not in made:
            made[kind] = vlm_classes.save_text(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return folder


@pytest.fixture(scope="module")
def models(folders):
    made = {}

    def model(kind):
        if kind not in made:
            made[kind] = LocalModel(System(kind, "transformers", model=str(folders(kind))))
        return made[kind]

    return model


@functools.cache
def loaded(folder, auto):
    return getattr(transformers, auto).from_pretrained(folder, dtype=torch.float32).eval()


def plainly(folder, ids):
    """Return the logits behind some ids as transformers alone gives them."""
    with torch.inference_mode():
        return loaded(folder, "AutoModelForCausalLM")(input_ids=torch.tensor([list(ids)])).logits[0, -1]


# ---------------------------------------------------------------------------------------- common beginning


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=5))
def test_the_common_beginning_leaves_each_prompt_a_token(prompts):
    n = common([question(ids) for ids in prompts])
    assert all(prompt[:n] == prompts[0][:n] for prompt in prompts)
    assert n <= min(map(len, prompts)) - 1
    longer = n + 1
    is_whole = longer > min(map(len, prompts)) - 1
    assert is_whole or any(prompt[:longer] != prompts[0][:longer] for prompt in prompts)


def test_nothing_is_shared_where_a_picture_is_not_wholly_common():
    with_picture = [question([1, 2, 9, 9, 3, k], spans=((2, 4),)) for k in (5, 6)]
    assert common(with_picture) == 5
    differ_before = [question([k, 2, 9, 9, 3, 5], spans=((2, 4),)) for k in (5, 6)]
    assert common(differ_before) == 0
    inside = [question([1, 2, 9, 9]), question([1, 2, 9, 8], spans=((2, 4),))]
    assert common(inside) == 0


# ------------------------------------------------------------------------------------------ ways are equal


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_logits_of_plain_passes(way, folders, models):
    """T47, T50, T51: suffixes of different lengths, neighbours or none."""
    asked = questions()
    found = dict(read(models("llama"), asked, way=way))
    assert sorted(found) == [0, 1, 2, 3]
    for i, one in enumerate(asked):
        np.testing.assert_allclose(found[i][0], plainly(folders("llama"), one.ids), atol=2e-5)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_reads_behind_the_beginnings_of_longer_spellings(way, folders, models):
    chains = ((), (7,), (7, 8), (30, 31, 32))
    chains = (*chains[:3], (30,), (30, 31), chains[3])
    asked = questions(1, lengths=(3, 5), chains=chains)
    found = dict(read(models("llama"), asked, way=way))
    for i, one in enumerate(asked):
        for k, chain in enumerate(chains):
            np.testing.assert_allclose(found[i][k], plainly(folders("llama"), one.ids + chain), atol=2e-5)


@pytest.mark.parametrize("kind", ["mistral", "gemma2"])
@pytest.mark.parametrize("way", ["packed", "expanded", "batch"])
def test_windows_shorter_than_the_prompts_are_kept(kind, way, folders, models):
    """Layers that look back 12 tokens only, in all layers or in every second one."""
    chains = ((), (7,))
    asked = questions(2, n_common=20, lengths=(3, 9, 14), chains=chains)
    found = dict(read(models(kind), asked, way=way))
    for i, one in enumerate(asked):
        for k, chain in enumerate(chains):
            np.testing.assert_allclose(found[i][k], plainly(folders(kind), one.ids + chain), atol=2e-5)


@pytest.mark.parametrize("way", ["expanded", "in_turn", "batch", "one_by_one"])
def test_positions_that_are_counted_from_the_mask_are_kept(way, folders, models):
    """T49: BLOOM takes no positions; padding on the right leaves those that it counts alone."""
    chains = ((), (7,))
    asked = questions(2, n_common=20, lengths=(3, 9, 14), chains=chains)
    found = dict(read(models("bloom"), asked, way=way))
    for i, one in enumerate(asked):
        for k, chain in enumerate(chains):
            np.testing.assert_allclose(found[i][k], plainly(folders("bloom"), one.ids + chain), atol=2e-5)


def test_states_that_are_overwritten_are_copied_for_each_ending(folders, models):
    """A model with convolutions: its cache can't be shared, and one ending must not change what the next one reads."""
    model = models("lfm2")
    assert not model.is_plain
    asked = questions(3, chains=((), (7,)))
    for way in ("in_turn", "one_by_one"):
        found = dict(read(model, asked, way=way))
        for i, one in enumerate(asked):
            np.testing.assert_allclose(found[i][0], plainly(folders("lfm2"), one.ids), atol=2e-5)
            np.testing.assert_allclose(found[i][1], plainly(folders("lfm2"), (*one.ids, 7)), atol=2e-5)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**16), order=st.permutations(range(5)))
def test_order_and_duplicates_make_no_difference(models, seed, order):
    asked = questions(seed, lengths=(2, 4, 7, 1))
    asked.append(asked[1])
    first = dict(read(models("llama"), asked, way="packed"))
    again = dict(read(models("llama"), [asked[i] for i in order], way="packed"))
    assert np.array_equal(first[1], first[4])
    for place, i in enumerate(order):
        np.testing.assert_allclose(again[place], first[i], atol=2e-5)


@pytest.mark.parametrize("way", WAYS)
def test_one_prompt_alone(way, folders, models):
    asked = questions(4, lengths=(5,))
    (found,) = dict(read(models("llama"), asked, way=way)).values()
    np.testing.assert_allclose(found[0], plainly(folders("llama"), asked[0].ids), atol=2e-5)


@pytest.mark.parametrize("way", ["packed", "expanded"])
def test_many_endings_go_in_blocks_and_the_beginning_stays_as_it_was(way, folders, models, monkeypatch):
    """X3: no cache is cropped; a beginning that one block has gone on from serves the next one unchanged."""
    monkeypatch.setattr(local_prefix, "PACKED_TOKENS", 8)
    monkeypatch.setattr(local_prefix, "BATCH_TOKENS", 60)
    asked = questions(5, lengths=(3, 4, 5, 2, 6, 1, 7), chains=((), (9,)))
    found = dict(read(models("llama"), asked, way=way))
    assert len(found) == 7
    for i, one in enumerate(asked):
        np.testing.assert_allclose(found[i][0], plainly(folders("llama"), one.ids), atol=2e-5)
        np.testing.assert_allclose(found[i][1], plainly(folders("llama"), (*one.ids, 9)), atol=2e-5)


def test_what_goes_on_from_a_cache_leaves_it_alone(models):
    """X3."""
    model = models("llama")
    cache = model.new_cache(is_plain=True)
    row = {"input_ids": tokens(range(5, 15))}
    model.run(row, torch.zeros(1, 10, dtype=torch.bool), cache=cache)
    before = [layer.keys.clone() for layer in cache.layers]
    model.run({"input_ids": tokens([3, 4]).expand(3, -1)}, torch.ones(3, 2).bool(), cache=shared(cache, n_rows=3))
    assert cache.get_seq_length() == 10
    assert all(torch.equal(a, layer.keys) for a, layer in zip(before, cache.layers, strict=True))


@pytest.mark.parametrize("way", ["expanded", "batch", "packed"])
@pytest.mark.parametrize("total", [32, 33, 34, 64, 65])
def test_no_padded_length_moves_an_answer(way, total, folders, models):
    """T46, T47, T49, T52: a longer neighbour pads a prompt to a length that leaves 1 by 32, among others."""
    asked = questions(6, n_common=20, lengths=(4, total - 20))
    found = dict(read(models("llama"), asked, way=way))
    np.testing.assert_allclose(found[0][0], plainly(folders("llama"), asked[0].ids), atol=2e-5)


def test_reading_at_the_end_of_the_row_would_read_padding(folders, models):
    """T52: the twin of what the ways do, read at the last column in place of the last token."""
    asked = questions(6, n_common=20, lengths=(4, 13))
    short = plainly(folders("llama"), asked[0].ids)
    padded = plainly(folders("llama"), asked[0].ids + (0,) * 9)
    assert (short - padded).abs().max() > 0.1
    found = dict(read(models("llama"), asked, way="batch"))
    assert (found[0][0] - short).abs().max() < 2e-5


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(5, 60), st.booleans())
def test_blocks_keep_every_number_once_and_their_bound(lengths, at_most, is_padded):
    found = list(local_prefix._blocks(lengths, at_most=at_most, is_padded=is_padded))
    assert list(itertools.chain(*found)) == list(range(len(lengths)))
    for block in found:
        inside = [lengths[i] for i in block]
        total = max(inside) * len(inside) if is_padded else sum(inside)
        assert len(block) == 1 or total <= at_most


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=6))
def test_a_tree_shows_each_token_what_leads_to_it_and_no_more(sequences):
    tree = local_prefix._Tree()
    ends = [tree.add(tuple(sequence)) for sequence in sequences]
    sees = tree.sees()
    for sequence, end in zip(sequences, ends, strict=True):
        seen = np.flatnonzero(sees[end])
        assert [tree.ids[place] for place in seen] == sequence
        assert [tree.depths[place] for place in seen] == list(range(len(sequence)))
    assert len(tree.ids) == len({tuple(s[:k]) for s in sequences for k in range(1, len(s) + 1)})


# ------------------------------------------------------------------------------- positions of several axes


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    """Qwen2.5-VL without its processor, which alone needs torchvision: pixels and ids are made by hand."""
    return vlm_classes.save_qwen_alone(tmp_path_factory.mktemp("qwen"))


def qwen_questions(seed, *, grid=(1, 4, 6), lengths=(2, 6), chains=((),)):
    rng = np.random.default_rng(seed)
    n_image = int(np.prod(grid)) // 4
    image = [vlm_classes.QWEN_IDS["start"], *[vlm_classes.QWEN_IDS["image"]] * n_image, vlm_classes.QWEN_IDS["end"]]
    beginning = [*rng.integers(20, 400, 4).tolist(), *image, *rng.integers(20, 400, 3).tolist()]
    pixels = torch.from_numpy(rng.normal(0, 1, (int(np.prod(grid)), 1176)).astype(np.float32))
    out = []
    for length in lengths:
        ids = beginning + rng.integers(20, 400, length).tolist()
        kinds = torch.tensor([[int(token == vlm_classes.QWEN_IDS["image"]) for token in ids]])
        inputs = {"pixel_values": pixels, "image_grid_thw": torch.tensor([grid]), "mm_token_type_ids": kinds}
        out.append(question(ids, chains, inputs=inputs, along=("mm_token_type_ids",), spans=((5, 5 + n_image),)))
    return out


def qwen_plainly(folder, one, chain=()):
    model = loaded(folder, "AutoModelForImageTextToText")
    inputs = dict(one.rendered.inputs)
    pad = torch.zeros(1, len(chain), dtype=torch.long)
    inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], pad], dim=1)
    with torch.inference_mode():
        return model(input_ids=torch.tensor([list(one.ids + chain)]), **inputs).logits[0, -1]


@pytest.mark.parametrize("way", WAYS)
def test_positions_of_three_axes_go_on_where_the_picture_left_them(way, qwen):
    """T62: the shift that a picture causes is taken from the pass that read it."""
    model = LocalModel(System("qwen", "transformers", model=str(qwen)))
    asked = qwen_questions(1, chains=((), (30,)))
    found = dict(read(model, asked, way=way))
    for i, one in enumerate(asked):
        np.testing.assert_allclose(found[i][0], qwen_plainly(qwen, one), atol=2e-5)
        np.testing.assert_allclose(found[i][1], qwen_plainly(qwen, one, (30,)), atol=2e-5)


def test_pictures_of_different_shapes_may_alternate(qwen):
    """T60, T62: the shift of one picture is not left for the next one, and its twin would be seen."""
    model = LocalModel(System("qwen", "transformers", model=str(qwen)))
    wide, high = qwen_questions(1, grid=(1, 4, 8)), qwen_questions(1, grid=(1, 8, 8))
    for asked in (wide, high, wide, high):
        found = dict(read(model, asked, way="packed"))
        for i, one in enumerate(asked):
            np.testing.assert_allclose(found[i][0], qwen_plainly(qwen, one), atol=2e-5)
    # The twin: positions as if the picture caused no shift.
    one = wide[0]
    n = common(wide)
    beginning = local_prefix._beginning(model, one, n, is_plain=True)
    assert beginning.next_positions[0] < n
    ending = {"input_ids": tokens(one.ids[n:]), "position_ids": (n + torch.arange(len(one.ids) - n))[None]}
    wrong = model.run(ending, local_prefix._at(1, len(one.ids) - n, [(0, len(one.ids) - n - 1)]), cache=beginning.cache)
    assert (wrong.logits[0] - qwen_plainly(qwen, one)).abs().max() > 100 * 2e-5
    model.rest()
    assert all(getattr(module, "rope_deltas", None) is None for module in model.model.modules())
