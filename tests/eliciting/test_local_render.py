"""Rendered prompts of look-alike chat templates on small tokenizers built here, of real processors, and of SmolLM2."""

import hashlib
import os

import pytest

from eliciting.look_alikes import TEMPLATES, tokenizer
from measurand.eliciting.answer_set import close
from measurand.eliciting.labels import Labels
from measurand.eliciting.local.render import Renderer
from measurand.eliciting.prompt import Prompt, Turn
from measurand.eliciting.system import System
from measurand.result import MeasurandError

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

#: The end of a prompt behind the question, by template, thinking and prefill.
GOLDEN = [
    ("chatml", "off", "", "<|im_end|>\n<|im_start|>assistant\n"),
    ("chatml", "off", "Answer:", "<|im_end|>\n<|im_start|>assistant\nAnswer:"),
    ("chatml", "off", "Answer: ", "<|im_end|>\n<|im_start|>assistant\nAnswer: "),
    ("chatml", "off", "Answer:\n", "<|im_end|>\n<|im_start|>assistant\nAnswer:\n"),
    ("headerless", "off", "", "<|im_end|>\n<|im_start|>assistant\n"),
    ("headerless", "off", "Answer:", "<|im_end|>\n<|im_start|>assistant\nAnswer:"),
    ("qwen3", "off", "", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"),
    ("qwen3", "off", "Answer:", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nAnswer:"),
    ("qwen3", "default", "Answer:", "<|im_end|>\n<|im_start|>assistant\nAnswer:"),
    ("opens", "off", "</think>\n\nAnswer:", "<|im_end|>\n<|im_start|>assistant\n<think>\n</think>\n\nAnswer:"),
    ("llama3", "off", "", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"),
    ("llama3", "off", "Answer: ", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nAnswer: "),
    ("mistral", "off", "", " [/INST]"),
    ("mistral", "off", "Answer:", " [/INST] Answer:"),
    ("mistral", "off", "Answer: ", " [/INST] Answer: "),
    ("gemma", "off", "", "<end_of_turn>\n<start_of_turn>model\n"),
    ("gemma", "off", "Answer: ", "<end_of_turn>\n<start_of_turn>model\nAnswer: "),
    ("channels", "off", "", "<|end|><|start|>assistant"),
    ("channels", "off", "Answer:", "<|end|><|start|>assistant<|channel|>final<|message|>Answer:"),
]
QUESTION = "Is it joy?"


@pytest.fixture
def renderer(tmp_path):
    """Make the renderer of a model whose tokenizer lies in a folder."""

    def make(template, *, kind="bytes", adds="", longest=None, thinking="off", options=None):
        made = tokenizer(kind, adds=adds)
        made.chat_template = TEMPLATES.get(template)
        made.model_max_length = longest or made.model_max_length
        made.save_pretrained(tmp_path)
        system = System("small", "transformers", model=str(tmp_path), thinking=thinking, template_options=options or {})
        return Renderer(system)

    return make


@pytest.mark.parametrize(("template", "thinking", "prefill", "tail"), GOLDEN)
def test_golden_tails(renderer, template, thinking, prefill, tail):
    """T16, T17, T18, T21, T23, T27, T28: turns begin as the template has them; prefills survive to the last blank."""
    rendered = renderer(template, thinking=thinking).render(Prompt(QUESTION, prefill=prefill))
    assert rendered.text.endswith(QUESTION + tail)
    assert not prefill or rendered.text.count(tail) == 1


@pytest.mark.parametrize("template", ["chatml", "llama3", "gemma", "qwen3", "mistral"])
def test_without_prefill_the_ids_are_those_of_transformers_itself(renderer, template):
    made = renderer(template)
    rendered = made.render(Prompt(QUESTION, shared="Look.", turns=[Turn("Maybe.", "Yes or no?")]))
    said = ["Look.\n\nIs it joy?", "Maybe.", "Yes or no?"]
    messages = [{"role": role, "content": text} for role, text in zip(["user", "assistant", "user"], said, strict=True)]
    reference = made.tokenizer.apply_chat_template(messages, add_generation_prompt=True, enable_thinking=False)
    assert rendered.ids == tuple(reference["input_ids"])


@pytest.mark.parametrize("template", ["chatml", "llama3", "gemma", "mistral"])
def test_a_plain_prefill_is_continued_as_transformers_does_it(renderer, template):
    """T21: what continue_final_message gives where it works."""
    made = renderer(template)
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Answer:"}]
    reference = made.tokenizer.apply_chat_template(messages, continue_final_message=True)
    assert made.render(Prompt(QUESTION, prefill="Answer:")).ids == tuple(reference["input_ids"])


def test_where_transformers_loses_a_blank_or_the_empty_reasoning_it_is_kept(renderer):
    """T17, T18, T27: the twins of the golden tails, by continue_final_message."""
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Answer: "}]
    trimmed = renderer("gemma").tokenizer.apply_chat_template(messages, continue_final_message=True, tokenize=False)
    assert trimmed.endswith("model\nAnswer:")
    made = renderer("qwen3")
    unthought = made.tokenizer.apply_chat_template(
        messages, continue_final_message=True, enable_thinking=False, tokenize=False
    )
    assert "<think>" not in unthought
    assert "leave out '<think>" in made.render(Prompt(QUESTION, prefill="Answer: ")).notes[0]


@pytest.mark.parametrize("prefill", [QUESTION, "measurand", "joy?", "Is it"])
def test_a_prefill_that_also_stands_in_the_question_is_not_mistaken_for_it(renderer, prefill):
    """T19: nothing is searched for in the text, so a repeated or final text is no trouble."""
    for template in ("chatml", "gemma", "mistral"):
        rendered = renderer(template).render(Prompt(f"measurand {QUESTION}", prefill=prefill))
        assert rendered.text.count(prefill) > 1
        assert rendered.text.endswith(prefill)


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
def test_the_vocabulary_keeps_the_blank_before_a_word(renderer, kind):
    """T02, T07: " yes" and "yes" are two tokens with two texts, whatever the decoder strips at a text's start."""
    made = renderer("chatml", kind=kind)
    said = " yes no" if kind == "pieces" else " Yes Answer"
    ids = made.tokenizer(f"A{said}", add_special_tokens=False)["input_ids"]
    texts = [made.vocabulary()[token] for token in ids]
    assert "".join(texts).removeprefix(" ") == f"A{said}"  # pieces begin a text with a blank of their own
    assert texts[-2:] == [f" {word}" for word in said.split()]
    assert made.decode(ids[-2:-1]) == (said.split()[0] if kind == "pieces" else texts[-2])
    assert all(made.vocabulary()[token] == "" for token in made.special_ids)


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
@pytest.mark.parametrize("prefill", ["", "A:", "A: ", "A:\n"])
def test_answers_close_behind_every_prefill(renderer, kind, prefill):
    """T05, T06: encoded behind the rendered prompt itself; what would change the prompt is left out by name."""
    made = renderer("chatml", kind=kind)
    rendered = made.render(Prompt(QUESTION, prefill=prefill))
    labels = Labels({"yes": ("yes",), "no": ("no",)})
    answers = close(labels, vocabulary=made.vocabulary(), encode=lambda text: made.encode_after(rendered, text))
    whole = tuple(made.tokenizer(rendered.text, add_special_tokens=False)["input_ids"])
    for form in labels.forms("yes"):
        after = tuple(made.tokenizer(rendered.text + form, add_special_tokens=False)["input_ids"])
        survives = after[: len(whole)] == whole
        assert made.encode_after(rendered, form) == (after[len(whole) :] if survives else None)
        assert survives == all(form != out.text for out in answers.left_out if "prompt's own" in out.reason)


def test_a_trailing_blank_that_would_merge_gives_no_ids(renderer):
    """T06, with its twin: behind "A:" a blank and a yes are one token, behind "A: " the prompt's blank would vanish."""
    made = renderer("chatml", kind="pieces")
    open_end, blank_end = (made.render(Prompt(QUESTION, prefill=prefill)) for prefill in ("A:", "A: "))
    assert made.encode_after(open_end, " yes") == (made.vocabulary().index(" yes"),)
    assert made.encode_after(blank_end, "yes") is None


@pytest.mark.parametrize("adds", ["", "<s> $A", "<s> $A </s>"])
@pytest.mark.parametrize("template", ["chatml", "llama3", "mistral"])
def test_there_is_one_bos_whoever_adds_it_and_nothing_behind_the_prompt(renderer, adds, template):
    """T73, T09: one BOS, by the template or else by the tokenizer; who it was is part of the identity."""
    made = renderer(template, adds=adds)
    ids = made.render(Prompt(QUESTION, prefill="Answer:")).ids
    by_template = template != "chatml"
    assert ids.count(made.tokenizer.bos_token_id) == int(bool(adds) or by_template)
    assert made.decode(ids).endswith("Answer:")
    who = "by the template" if by_template else "by the tokenizer" if adds else "is not used"
    assert made.identity()["bos"] == f"<s> {who}"
    if adds and by_template:  # the twin: tokenised as any text, it would be there twice
        assert made.tokenizer(made.render(Prompt(QUESTION)).text)["input_ids"][:2] == [made.tokenizer.bos_token_id] * 2


def test_a_template_with_two_bos_is_refused(renderer):
    """T73."""
    with pytest.raises(MeasurandError, match="2 times the token '<s>'"):
        renderer("two bos").render(Prompt(QUESTION))


@pytest.mark.parametrize("thinking", ["off", "default"])
def test_an_open_reasoning_block_is_refused_for_readings_alone(renderer, thinking):
    """T25: the next token would be the first of the reasoning, not an answer."""
    made = renderer("opens", thinking=thinking)
    for prefill in ("", "Answer:"):
        with pytest.raises(MeasurandError, match=r"open reasoning block \('<think>'"):
            made.render(Prompt(QUESTION, prefill=prefill))
    assert made.render(Prompt(QUESTION), may_reason=True).text.endswith("<think>\n")


def test_reasoning_that_stands_in_the_question_opens_nothing(renderer):
    rendered = renderer("chatml").render(Prompt("What does <think> mean?", prefill="Answer:"))
    assert rendered.text.endswith("Answer:")


@pytest.mark.parametrize(
    ("template", "statement"),
    [("qwen3", "off: the rendered text differs"), ("chatml", "off: neither"), ("deaf", "not verified: the template")],
)
def test_thinking_is_off_only_if_the_text_shows_it(renderer, template, statement):
    """T23, T27, T29: a switch that changes nothing is said to be unverified."""
    made = renderer(template)
    assert made.thinking.startswith(statement)
    assert made.identity()["thinking"] == made.thinking


def test_a_vocabulary_with_reasoning_and_a_template_without_a_switch_is_not_verified(renderer, tmp_path):
    """T29."""
    made = renderer("chatml")
    made.tokenizer.add_tokens(["<think>", "</think>"])
    made.tokenizer.save_pretrained(tmp_path)
    assert (
        Renderer(made.system).thinking == "not verified: the template has no switch, but the vocabulary has '<think>'"
    )


def test_thinking_off_and_an_option_that_switches_it_on_contradict(renderer):
    """T23."""
    with pytest.raises(MeasurandError, match='thinking = "default"'):
        renderer("qwen3", options={"enable_thinking": True}).render(Prompt(QUESTION))


@pytest.mark.parametrize("template", ["gemma", "mistral", "drops system"])
def test_a_system_message_that_the_template_refuses_or_drops_is_named(renderer, template):
    with pytest.raises(MeasurandError, match="system message"):
        renderer(template).render(Prompt(QUESTION, system="You rate faces."))
    assert "You rate faces." in renderer("chatml").render(Prompt(QUESTION, system="You rate faces.")).text


def test_a_model_without_template_is_asked_in_plain_text_only_if_that_is_said(renderer):
    """T15: whether there is a template is part of what is asked, and never changed in silence."""
    with pytest.raises(MeasurandError, match="plain = true"):
        renderer(None).render(Prompt(QUESTION))
    made = renderer(None, options={"plain": True}, adds="<s> $A")
    rendered = made.render(Prompt(QUESTION, shared="Look.", prefill="Answer:"))
    assert rendered.text == "Look.\n\nIs it joy?\nAnswer:"
    assert made.decode(rendered.ids) == f"<s>{rendered.text}"
    assert rendered.tail == "\nAnswer:"
    assert made.identity()["chat_template_sha256"] == "none: plain text"


def test_a_template_with_a_date_says_that_tomorrow_is_another_prompt(renderer):
    assert "day's date" in renderer("dated").render(Prompt(QUESTION)).notes[0]


def test_smollm2_from_its_gguf_file_gives_the_same_ids(smollm2, smollm2_gguf):
    """T15: where the tokenizer comes from makes no difference to ids and identity; the template does."""
    folder = Renderer(System("folder", "transformers", model=str(smollm2)))
    file = Renderer(System("file", "transformers", model=str(smollm2_gguf.parent), gguf=smollm2_gguf.name))
    prompt = Prompt(QUESTION, shared="Ünïcödé 😀\n\n  two  blanks", prefill="Answer:")
    assert folder.render(prompt).ids == file.render(prompt).ids
    assert folder.identity() == file.identity()
    assert folder.render(prompt).tail == "<|im_start|>assistant\nAnswer:"


def test_a_prompt_longer_than_the_model_is_refused_and_not_cut(renderer):
    longest = renderer("chatml").render(Prompt(QUESTION))
    assert renderer("chatml", longest=len(longest.ids)).render(Prompt(QUESTION)).ids == longest.ids
    with pytest.raises(MeasurandError, match=f"has {len(longest.ids)} tokens"):
        renderer("chatml", longest=len(longest.ids) - 1).render(Prompt(QUESTION))


def test_a_tokenizer_that_changes_the_prefill_is_refused(renderer, tmp_path):
    """T07: a normalizer that takes a trailing blank away makes another prompt."""
    from tokenizers import Tokenizer, normalizers

    made = renderer("chatml")
    made.tokenizer  # noqa: B018  (writes the folder)
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.normalizer = normalizers.Strip(left=False)
    backend.save(str(tmp_path / "tokenizer.json"))
    changed = Renderer(made.system)
    assert changed.render(Prompt(QUESTION, prefill="Answer:")).ids
    with pytest.raises(MeasurandError, match="did not survive"):
        changed.render(Prompt(QUESTION, prefill="Answer: "))


def test_objections_name_request_text_and_marker(renderer):
    """T41: a marker in a text would be read as one."""
    made = renderer("mistral")
    prompts = [
        Prompt(QUESTION, prefill="Answer:"),
        Prompt("Is [/INST] joy?", shared="A <b>bold</b> text of <image> kind."),
        Prompt(QUESTION, turns=[Turn("No.</s>", "Again.")]),
    ]
    found = made.objections(prompts)
    assert [line.split(", which")[0] for line in found] == [
        "request 2: the shared text holds '<image>'",
        "request 2: the question holds '[/INST]'",
        "request 3: the failed reply holds '</s>'",
    ]
    assert made.objections(prompts[:1]) == []


def test_a_fingerprint_is_of_the_ids(renderer):
    """T15: another blank is another prompt."""
    one, other = (renderer("chatml").render(Prompt(text)) for text in (QUESTION, "Is it joy ?"))
    assert one.fingerprint != other.fingerprint
    written = "\n" + ",".join(map(str, one.ids))
    assert one.fingerprint == hashlib.sha256(written.encode()).hexdigest()


def test_the_identity_tells_template_and_tokenizer_apart(renderer):
    """T15, T09."""
    one, other = renderer("chatml").identity(), renderer("llama3").identity()
    assert (
        one["tokenizer_sha256"]
        == other["tokenizer_sha256"]
        != renderer("chatml", adds="<s> $A").identity()["tokenizer_sha256"]
    )
    assert one["chat_template_sha256"] == hashlib.sha256(TEMPLATES["chatml"].encode()).hexdigest()
    assert one["chat_template_sha256"] != other["chat_template_sha256"]
    made = renderer("chatml")
    before = made.identity()
    made.render(Prompt(QUESTION))
    assert Renderer(made.system).identity() == before


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(MeasurandError, match="can't load"):
        Renderer(System("none", "transformers", model=str(tmp_path))).render(Prompt(QUESTION))
