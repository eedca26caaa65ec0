"""Prompts with pictures through the real processor classes of transformers, made small."""

import io
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from eliciting.look_alikes import TEMPLATES, tokenizer
from measurand.eliciting.local.render import Renderer
from measurand.eliciting.local.render_pictures import open_picture
from measurand.eliciting.prompt import Picture, Prompt
from measurand.eliciting.system import System
from measurand.result import MeasurandError

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# PaliGemma's processor hands tensors to numpy in a way that numpy 2 complains about.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")

KINDS = ("llava", "idefics3", "gemma3", "paligemma")
RED, BLUE = (200, 30, 30), (30, 30, 200)


def processor_of(kind, pixels):
    size, longest = {"height": pixels, "width": pixels}, {"longest_edge": pixels}
    siglip = transformers.SiglipImageProcessorPil(size=size)
    if kind == "llava":
        made = tokenizer(named={"image_token": "<image>"})
        return transformers.LlavaProcessor(siglip, made, patch_size=8, vision_feature_select_strategy="full")
    if kind == "idefics3":
        named = {"image_token": "<image>", "fake_image_token": "<fake_token_around_image>"}
        named |= {"global_image_token": "<global-img>", "end_of_utterance_token": "<end_of_utterance>"}
        images = transformers.Idefics3ImageProcessorPil(size={"longest_edge": 2 * pixels}, max_image_size=longest)
        return transformers.Idefics3Processor(images, tokenizer(named=named), image_seq_len=4)
    if kind == "gemma3":
        made = tokenizer(named={"image_token": "<soft>", "boi_token": "<image>", "eoi_token": "</image>"})
        return transformers.Gemma3Processor(transformers.Gemma3ImageProcessorPil(size=size), made, image_seq_length=4)
    siglip.image_seq_length = 16
    return transformers.PaliGemmaProcessor(siglip, tokenizer(named={"image_token": "<image>"}))


@pytest.fixture
def renderer(tmp_path):
    """Make the renderer of a model with a processor of a kind."""

    def make(kind="llava", *, template="image", pixels=32, options=None):
        processor = processor_of(kind, pixels)
        processor.chat_template = TEMPLATES[template]
        processor.save_pretrained(tmp_path)
        return Renderer(System("seeing", "transformers", model=str(tmp_path), template_options=options or {}))

    return make


def picture(colour=RED, *, mode="RGB", size=(64, 48), form="PNG", **saved):
    data = io.BytesIO()
    Image.new(mode, size, colour).save(data, form, **saved)
    return Picture(data.getvalue(), f"image/{form.lower()}")


@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_pixels_are_the_processors_own(renderer, kind):
    """T42, T43, T44, T45: one run of placeholders, and every prompt as the processor itself would give it."""
    made = renderer(kind)
    for text in ("One?", "And two?", "A third, longer question?", "4"):
        rendered = made.render(Prompt(text, shared="Look.", picture=picture(), prefill="Answer:"))
        own = made.processor(text=[rendered.text], images=[[Image.new("RGB", (64, 48), RED)]], return_tensors="pt")
        n = len(rendered.ids)
        assert rendered.ids == tuple(own["input_ids"][0].tolist()[:n])
        assert n == own["input_ids"].shape[1] - (kind == "paligemma")  # its line end behind the prompt
        for name, value in rendered.inputs.items():
            assert torch.equal(value, own[name][:, :n] if name in rendered.along else own[name])
        assert made.decode(rendered.ids).endswith(f"Look.\n\n{text}</s>assistant: Answer:")
        assert rendered.n_pictures == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_span_runs_from_the_first_to_the_last_placeholder(renderer, kind):
    """T43, T45: counted on the ids, which a prompt that was split into crops shows, too."""
    rendered = renderer(kind).render(Prompt("One?", picture=picture()))
    image_id = {"gemma3": "<soft>"}.get(kind, "<image>")
    (span,) = rendered.spans
    places = [at for at, token in enumerate(rendered.ids) if token == tokenizer().convert_tokens_to_ids(image_id)]
    assert span == (places[0], places[-1] + 1)
    assert len(places) == {"llava": 16, "idefics3": 4 * (2 * 2 + 1), "gemma3": 4, "paligemma": 16}[kind]


def test_a_picture_is_processed_twice_at_most_and_its_tensors_are_shared(renderer, monkeypatch):
    made, runs = renderer(), []
    image_processor = type(made.processor.image_processor)
    original = image_processor.__call__

    def counted(self, *args, **settings):
        runs.append(1)
        return original(self, *args, **settings)

    monkeypatch.setattr(image_processor, "__call__", counted)
    rendered = [made.render(Prompt(f"Is it {word}?", picture=picture())) for word in ("joy", "fear", "awe", "pain")]
    assert len(runs) == 2
    assert rendered[2].inputs["pixel_values"] is rendered[3].inputs["pixel_values"]
    assert not torch.equal(
        made.render(Prompt("?", picture=picture(BLUE))).inputs["pixel_values"], rendered[0].inputs["pixel_values"]
    )


def test_a_processor_whose_outputs_depend_on_the_text_is_run_for_every_prompt(renderer, monkeypatch):
    made = renderer()
    original = type(made.processor).__call__

    def with_lengths(self, **given):
        whole = original(self, **given)
        return {**whole, "lengths": torch.full_like(whole["input_ids"], whole["input_ids"].shape[1])}

    monkeypatch.setattr(type(made.processor), "__call__", with_lengths)
    for text in ("One?", "And two?", "A third, longer question?"):
        rendered = made.render(Prompt(text, picture=picture()))
        assert rendered.along == ("lengths",)
        assert set(rendered.inputs["lengths"][0].tolist()) == {len(rendered.ids)}


def test_the_picture_is_part_of_the_fingerprint(renderer):
    """T15, T45: the ids are the same, the prompts are not."""
    made = renderer()
    red, blue = (made.render(Prompt("Is it joy?", picture=picture(colour))) for colour in (RED, BLUE))
    assert red.ids == blue.ids
    assert red.fingerprint != blue.fingerprint


@pytest.mark.parametrize(("template", "n"), [("two images", 2), ("no image", 0)])
def test_a_template_with_too_many_or_no_placeholders_is_refused(renderer, template, n):
    """T42, T43, T45: a miscount would not crash but ask something else."""
    with pytest.raises(MeasurandError, match=f"has {n} placeholders '<image>' for one picture"):
        renderer(template=template).render(Prompt("Is it joy?", picture=picture()))


def test_a_placeholder_in_a_text_is_an_objection_and_refused(renderer):
    """T41, T42: with a picture and without one."""
    made = renderer()
    with_picture, without = Prompt("Is <image> joy?", picture=picture()), Prompt("Is <image> joy?")
    assert "holds '<image>'" in made.objections([with_picture])[0]
    with pytest.raises(MeasurandError, match="2 placeholders"):
        made.render(with_picture)
    with pytest.raises(MeasurandError, match="1 runs of image placeholders for 0 pictures"):
        made.render(without)


def test_a_doubled_marker_beside_a_picture_is_refused(renderer):
    """T44: template and processor both write it, and the positions behind it are wrong."""
    # Gemma 3's processor puts blank lines around its markers.
    with pytest.raises(MeasurandError, match="'</image>' beside a picture stands twice"):
        renderer("gemma3", template="doubled end").render(Prompt("Is it joy?", picture=picture()))
    assert renderer("gemma3").render(Prompt("Is it joy?", picture=picture())).n_pictures == 1


def test_two_runs_for_one_picture_are_refused(renderer, monkeypatch):
    """T45: a processor that shows a picture twice, with words between."""
    made = renderer("gemma3")
    once = made.processor.full_image_sequence
    monkeypatch.setattr(made.processor, "full_image_sequence", f"{once} and once more {once}")
    with pytest.raises(MeasurandError, match="2 runs of image placeholders for 1 pictures"):
        made.render(Prompt("Is it joy?", picture=picture()))


def test_a_processor_that_cuts_the_prompt_is_found_out(renderer, monkeypatch):
    """Without the check the prefill would be gone, and the model would answer all the same."""
    made = renderer()
    original = type(made.processor).__call__

    def cut(self, **given):
        return {
            name: value[:, :-3] if name == "input_ids" else value for name, value in original(self, **given).items()
        }

    monkeypatch.setattr(type(made.processor), "__call__", cut)
    with pytest.raises(MeasurandError, match="it was cut"):
        made.render(Prompt("Is it joy?", picture=picture(), prefill="Answer:"))


def test_a_processor_that_cuts_the_beginning_is_found_out(renderer, monkeypatch):
    made = renderer()
    original = type(made.processor).__call__

    def cut(self, **given):
        whole = original(self, **given)
        return {name: value[:, 1:] if name == "input_ids" else value for name, value in whole.items()}

    monkeypatch.setattr(type(made.processor), "__call__", cut)
    with pytest.raises(MeasurandError, match="cut or changed"):
        made.render(Prompt("Is it joy?", system="You rate faces.", picture=picture()))


def test_a_template_for_texts_in_a_model_for_pictures_is_refused(renderer):
    """T07: the list of parts would be shown to the model as Python writes it."""
    with pytest.raises(MeasurandError, match="lists of parts"):
        renderer(template="chatml").render(Prompt("Is it joy?"))


def test_plain_text_begins_with_the_picture(renderer):
    rendered = renderer("paligemma", options={"plain": True}).render(Prompt("Joy?", picture=picture(), prefill="A:"))
    assert rendered.text == "<image>Joy?\nA:"
    assert rendered.spans == ((0, 16),)
    assert any("was cut off" in note for note in rendered.notes)


def test_a_model_for_texts_takes_no_picture(tmp_path):
    made = tokenizer()
    made.chat_template = TEMPLATES["chatml"]
    made.save_pretrained(tmp_path)
    with pytest.raises(MeasurandError, match="no image processor"):
        Renderer(System("text", "transformers", model=str(tmp_path))).render(Prompt("Joy?", picture=picture()))


def test_the_identity_shows_processor_class_and_sizes(renderer):
    """T57: another size or image processor gives other pixels, so it is another identity."""
    small, large = renderer(pixels=32).identity(), renderer(pixels=64).identity()
    assert small["image_processor"] == "SiglipImageProcessorPil"
    assert '"height": 32' in small["image_settings"]
    assert small["processor_sha256"] != large["processor_sha256"]
    assert small["tokenizer_sha256"] == large["tokenizer_sha256"]


def test_a_picture_is_turned_upright():
    turned = Image.Exif()
    turned[0x0112] = 6
    upright = open_picture(picture(size=(8, 4), form="JPEG", exif=turned))
    assert upright.size == (4, 8)
    assert upright.mode == "RGB"


@pytest.mark.parametrize(("mode", "colour"), [("L", 100), ("RGBA", (*RED, 128)), ("P", 3), ("1", 1), ("LA", (9, 9))])
def test_every_mode_of_8_bits_becomes_rgb(mode, colour):
    assert open_picture(picture(colour, mode=mode)).mode == "RGB"
    transparent = picture(3, mode="P", transparency=b"\x00\x10\x20\x30")
    assert open_picture(transparent).mode == "RGB"


def test_a_picture_of_16_bits_is_refused_and_not_turned_white():
    with pytest.raises(MeasurandError, match="save it with 8 bits"):
        open_picture(picture(60_000, mode="I;16"))


@pytest.mark.parametrize("data", [b"", b"no picture", picture().data[:60], picture(form="JPEG").data[:200]])
def test_broken_bytes_are_named(data):
    broken = Picture(data, "image/png")
    with pytest.raises(MeasurandError, match=f"{broken.sha256[:12]}.*can't be read"):
        open_picture(broken)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab ?\n<>", min_size=1, max_size=12), st.sampled_from(KINDS))
def test_putting_in_a_known_picture_equals_processing_it_anew(renderer, question, kind):
    """What saves the processor's work never changes an id."""
    made = renderer(kind)
    seen = [made.render(Prompt(text, picture=picture(), prefill="A:")) for text in ("One?", "Two?", question)]
    anew = renderer(kind).render(Prompt(question, picture=picture(), prefill="A:"))
    assert seen[-1].ids == anew.ids
    assert seen[-1].spans == anew.spans
    assert all(torch.equal(seen[-1].inputs[name], anew.inputs[name]) for name in anew.inputs)
