import io
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from measurand.eliciting.controls import GREY, controlled, media_type, picture, picture_of
from measurand.eliciting.declared import CONTROLS, Item
from measurand.result import MeasurandError

#: Items of which many show the same.
ITEMS = st.lists(st.sampled_from(["one two", "two one", "three", "four five six"]), min_size=2, max_size=12).map(
    lambda texts: [Item(f"i{k}", text) for k, text in enumerate(texts)]
)
SEEDS = st.integers(0, 2**32 - 1)


def image(size=(7, 5), kind="PNG", colour=(10, 200, 30), **how):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind, **how)
    return file.getvalue()


def pixels(data):
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(opened.convert("RGB"))


def texts(n):
    return [Item(f"i{k}", f"word{k} of item {k}") for k in range(n)]


# Which items


@pytest.mark.parametrize("control", CONTROLS)
def test_drawn_items_stay_in_order_and_a_larger_draw_holds_the_smaller(control):
    items = texts(40)
    all_of_them = controlled(items, control, n=None, seed=3)
    assert [item for item, _ in all_of_them] == items
    assert controlled(items, control, n=40, seed=3) == controlled(items, control, n=99, seed=3) == all_of_them
    few, more = controlled(items, control, n=5, seed=3), controlled(items, control, n=12, seed=3)
    assert (len(few), len(more)) == (5, 12)
    assert [pair for pair in all_of_them if pair in more] == more
    assert [pair for pair in more if pair in few] == few


@pytest.mark.parametrize("control", CONTROLS)
def test_the_seed_alone_decides(control):
    items = texts(40)
    assert controlled(items, control, n=7, seed=3) == controlled(list(items), control, n=7, seed=3)
    draws = {tuple(item.name for item, _ in controlled(items, control, n=7, seed=seed)) for seed in range(20)}
    assert len(draws) == 20
    first = Counter(controlled(texts(10), control, n=1, seed=seed)[0][0].name for seed in range(300))
    assert min(first[f"i{k}"] for k in range(10)) > 10


@pytest.mark.parametrize("n", [0, -3])
def test_no_items_are_refused(n):
    with pytest.raises(MeasurandError, match=f"{n} items for the control 'blank'"):
        controlled(texts(3), "blank", n=n, seed=0)


def test_an_unknown_control_is_refused():
    with pytest.raises(MeasurandError, match="no control 'grey'; there are blank, swapped, shuffled"):
        controlled(texts(3), "grey", n=1, seed=0)


# Swapped


def alike(a, b):
    return (a.text, a.picture) == (b.text, b.picture)


@given(ITEMS, SEEDS)
def test_no_item_is_shown_itself_or_what_looks_like_it(items, seed):
    [(most, largest)] = Counter(item.text for item in items).most_common(1)
    if largest == len(items):
        with pytest.raises(MeasurandError, match=f"all {largest} items show the same"):
            controlled(items, "swapped", n=None, seed=seed)
        return
    pairs = controlled(items, "swapped", n=None, seed=seed)
    assert [item for item, _ in pairs] == items
    assert not any(alike(item, shown) for item, shown in pairs)
    assert all(shown in items for _, shown in pairs)
    if 2 * largest <= len(items):
        assert sorted(shown.name for _, shown in pairs) == sorted(item.name for item in items)  # each is shown once
    else:
        in_turn = Counter(shown.name for item, shown in pairs if item.text == most)
        assert max(in_turn.values()) - min(in_turn.values()) <= 1


@given(st.integers(2, 30), SEEDS)
def test_a_swap_of_different_items_is_a_permutation_without_fixed_points(n, seed):
    pairs = controlled(texts(n), "swapped", n=None, seed=seed)
    assert sorted(shown.name for _, shown in pairs) == sorted(item.name for item, _ in pairs)
    assert all(item.name != shown.name for item, shown in pairs)


def test_every_other_item_can_be_the_one_shown():
    shown = Counter(controlled(texts(5), "swapped", n=None, seed=seed)[2][1].name for seed in range(400))
    assert set(shown) == {"i0", "i1", "i3", "i4"}
    assert min(shown.values()) > 60


def test_a_swap_brings_text_and_picture_of_the_other_item():
    """T60, T61: items of one text and different pictures are told apart by the pictures' bytes."""
    items = [Item(f"i{k}", "the same", image(colour=(k, k, k))) for k in range(6)]
    for item, shown in controlled(items, "swapped", n=None, seed=1):
        assert shown in items
        assert shown.picture != item.picture


def test_a_single_item_cannot_be_swapped():
    with pytest.raises(MeasurandError, match="'i0' is the only item"):
        controlled(texts(1), "swapped", n=None, seed=0)


# Blank


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (640, 33)])
def test_a_blank_picture_is_an_even_grey_png_of_the_same_size(kind, size):
    item = Item("a", "some text", image(size, kind))
    [(original, shown)] = controlled([item], "blank", n=None, seed=0)
    assert original is item
    assert (shown.name, shown.text) == ("a", "")
    assert media_type(shown.picture, "x") == "image/png"
    found = pixels(shown.picture)
    assert found.shape == (size[1], size[0], 3)
    assert (found == GREY).all()
    assert not (pixels(item.picture) == GREY).all()  # the item's own picture would fail this


def test_a_picture_that_lies_on_its_side_is_blank_as_it_is_shown():
    exif = Image.Exif()
    exif[274] = 6
    [(_, shown)] = controlled([Item("a", picture=image((8, 3), "JPEG", exif=exif))], "blank", n=None, seed=0)
    assert pixels(shown.picture).shape == (8, 3, 3)
    exif[274] = 3
    [(_, shown)] = controlled([Item("a", picture=image((8, 3), "JPEG", exif=exif))], "blank", n=None, seed=0)
    assert pixels(shown.picture).shape == (3, 8, 3)


def test_a_blank_text_is_empty_and_nothing_cannot_be_blanked():
    assert [shown for _, shown in controlled([Item("a", "b c")], "blank", n=None, seed=0)] == [Item("a")]
    with pytest.raises(MeasurandError, match="item 'b' has neither text nor picture"):
        controlled([Item("a", "x"), Item("b", " ")], "blank", n=None, seed=0)


def test_a_picture_that_is_cut_off_is_named():
    with pytest.raises(MeasurandError, match="item 'a': the picture cannot be read"):
        controlled([Item("a", picture=image()[:20])], "blank", n=None, seed=0)
    with pytest.raises(MeasurandError, match="item 'a': no picture in PNG"):
        controlled([Item("a", picture=b"version https://git-lfs")], "blank", n=None, seed=0)


# Shuffled


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Z", "Cc"]), min_size=1, max_size=4), min_size=1),
    st.sampled_from([" ", "\n", "\t  "]),
    SEEDS,
)
def test_a_shuffled_text_has_the_same_words_and_spaces_in_another_order_where_there_is_one(words, space, seed):
    item = Item("a", space + space.join(words), image())
    [(_, shown)] = controlled([item], "shuffled", n=None, seed=seed)
    assert sorted(shown.text.split()) == sorted(item.text.split())
    assert shown.text.count(space) == item.text.count(space)
    assert len(shown.text) == len(item.text)
    assert (shown.text != item.text) == (len(set(item.text.split())) > 1)
    assert (shown.name, shown.picture) == (item.name, item.picture)


def test_all_orders_of_the_words_occur():
    found = Counter(controlled([Item("a", "a b c")], "shuffled", n=None, seed=seed)[0][1].text for seed in range(400))
    assert set(found) == {"a c b", "b a c", "b c a", "c a b", "c b a"}


def test_an_items_order_of_words_does_not_depend_on_the_other_items():
    alone = dict(controlled([Item("a", "a b c d e f")], "shuffled", n=None, seed=3))
    among = dict(controlled([*texts(9), Item("a", "a b c d e f")], "shuffled", n=None, seed=3))
    assert among.items() >= alone.items()
    other = controlled([Item("b", "a b c d e f")], "shuffled", n=None, seed=3)
    assert other[0][1].text != next(iter(alone.values())).text


def test_an_item_without_text_cannot_be_shuffled():
    with pytest.raises(MeasurandError, match="item 'b' has no text to shuffle"):
        controlled([Item("a", "x y"), Item("b", picture=image())], "shuffled", n=1, seed=0)


# What a file is


@pytest.mark.parametrize(
    ("kind", "told"),
    [("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "gif"), ("WEBP", "webp"), ("BMP", "bmp")],
)
def test_a_picture_is_what_its_bytes_are_and_not_what_it_is_called(kind, told):
    """The first paper's benchmark sent WebP files as image/png: the name and the header told what they were not."""
    data = image(kind=kind)
    assert media_type(data, "face.png") == f"image/{told}"
    found = picture(data, "face.png")
    assert (found.data, found.media_type) == (data, f"image/{told}")
    assert picture_of(Item("a", picture=data)) == found


def test_an_item_without_a_picture_has_none():
    assert picture_of(Item("a", "x")) is None
    with pytest.raises(MeasurandError, match="item 'a': no picture"):
        picture_of(Item("a", picture=b"x"))


@pytest.mark.parametrize(
    "data", [b"", b"<svg>", b"RIFF1234WAVE", b"\x89PNG", b"II*\x00", b"version https://git-lfs.github.com/spec/v1"]
)
def test_what_is_no_picture_is_refused_with_its_first_bytes(data):
    with pytest.raises(MeasurandError, match=r"items row 3: no picture in PNG, JPEG, GIF, WebP or BMP") as caught:
        media_type(data, "items row 3")
    assert (repr(data[:12]) if data else "it is empty") in str(caught.value)
