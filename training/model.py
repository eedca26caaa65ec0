"""The model: a small Idefics3 with its processor, its own tokenizer and chat template, and weights that learn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from measurand.stats.inference import stream
from training import wordings
from training.data import Bytes
from training.recipe import CRITERIA, N_IMAGE_TOKENS, PATCH, SHUFFLE, SIZE, Recipe

MARKS: Final = {
    "image_token": "<image>",
    "fake_image_token": "<fake_token_around_image>",
    "global_image_token": "<global-img>",
    "end_of_utterance_token": "<end_of_utterance>",
}
BOS: Final = "<|start|>"
PAD: Final = "<|pad|>"
END: Final = MARKS["end_of_utterance_token"]
#: Tokens of a prompt at most: a request for pairs with its reply has some four hundred.
LONGEST: Final = 1024

#: Turns parted by the end of an utterance; a picture stands before the text of its turn, and a blank before a text.
CHAT_TEMPLATE: Final = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% if message['content'] is string %}{{ ' ' + message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ ' ' + part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)


def build_tokenizer(recipe: Recipe) -> Any:
    """Return a byte-level tokenizer that learnt its merges on the prompts and replies of the training alone."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[PAD, BOS, *MARKS.values()],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_corpus(), trainer)
    return _transformers().PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=END,
        padding_side="left",
        model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=dict(MARKS),
    )


def _corpus() -> Iterator[str]:
    rng = stream(0, "training", "corpus")
    for phrasing in (wordings.SHORT, *wordings.TRAINED):
        for criterion in CRITERIA:
            yield f" {wordings.question(phrasing, criterion)}"
            yield "\nAssistant: Answer: Yes\nAssistant: Answer: No\nAssistant: Yes\nSystem: User:"
    for phrasing in (wordings.EVERY, wordings.PAIRS):
        for _ in range(20):
            yield f" {wordings.request(phrasing)}"
            yield f" {wordings.ratings_reply(rng.integers(0, 8, len(CRITERIA)).tolist(), phrasing)}"


def build(recipe: Recipe) -> tuple[Any, Any]:
    """Return a model with weights as the recipe's seed draws them, and its processor."""
    transformers = _transformers()
    tokenizer = build_tokenizer(recipe)
    number = tokenizer.convert_tokens_to_ids
    edge = {"longest_edge": SIZE}
    processor = transformers.Idefics3Processor(
        image_processor=transformers.Idefics3ImageProcessorPil(
            size=edge, max_image_size=edge, do_image_splitting=False
        ),
        tokenizer=tokenizer,
        image_seq_len=N_IMAGE_TOKENS,
        chat_template=CHAT_TEMPLATE,
    )
    config = transformers.Idefics3Config(
        vision_config={
            "hidden_size": recipe.width,
            "intermediate_size": 2 * recipe.width,
            "num_hidden_layers": recipe.vision_layers,
            "num_attention_heads": recipe.heads,
            "image_size": SIZE,
            "patch_size": PATCH,
        },
        text_config=transformers.LlamaConfig(
            hidden_size=recipe.width,
            intermediate_size=2 * recipe.width,
            num_hidden_layers=recipe.language_layers,
            num_attention_heads=recipe.heads,
            num_key_value_heads=recipe.heads // 2,
            head_dim=recipe.width // recipe.heads,
            max_position_embeddings=LONGEST,
            vocab_size=len(tokenizer),
            pad_token_id=number(PAD),
            bos_token_id=number(BOS),
            eos_token_id=number(END),
            tie_word_embeddings=True,
        ).to_dict(),
        image_token_id=number(MARKS["image_token"]),
        scale_factor=SHUFFLE,
        pad_token_id=number(PAD),
        tie_word_embeddings=True,
    )
    model = transformers.Idefics3ForConditionalGeneration(config)
    model.generation_config.eos_token_id = number(END)
    model.generation_config.pad_token_id = number(PAD)
    initialise(model, seed=recipe.seed)
    return model, processor


def initialise(model: Any, *, seed: int) -> None:
    """Draw all weights anew: the usual spread of .02 is so small at this width that nothing is learnt.

    Matrices have 1 over the root of their inputs, half of it where a block's output joins the main path.
    """
    import torch
    from torch import nn

    rng = torch.Generator().manual_seed(int(stream(seed, "training", "weights").integers(2**31)))
    joins = ("out_proj", "fc2", "o_proj", "down_proj")
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim < 2:
                weights.fill_(0.0 if name.endswith("bias") else 1.0)
            elif "embed_tokens" in name or "lm_head" in name:
                nn.init.normal_(weights, 0, 0.06, generator=rng)
            elif "position_embedding" in name:
                nn.init.normal_(weights, 0, 0.5, generator=rng)
            else:
                spread = weights[0].numel() ** -0.5 * (0.5 if any(part in name for part in joins) else 1)
                nn.init.trunc_normal_(weights, 0, spread, -2 * spread, 2 * spread, generator=rng)


def pixels(shown: Bytes) -> Any:
    """Return pictures as the processor gives them to the model, shape (n, 3, SIZE, SIZE)."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(shown.transpose(0, 3, 1, 2))).float() / 127.5 - 1


def features(model: Any, shown: Any) -> Any:
    """Return the image tokens of pictures, shape (n, N_IMAGE_TOKENS, width)."""
    return model.model.connector(model.model.vision_model(shown).last_hidden_state)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    logging = _transformers().utils.logging
    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shows_bars:
            logging.enable_progress_bar()


def _transformers() -> Any:
    import transformers

    return transformers


def save(model: Any, processor: Any, folder: Path) -> None:
    """Write a folder that transformers' Auto classes load: weights of 16 bits, processor, template."""
    import copy

    import torch

    small = copy.deepcopy(model).to(torch.float16).eval()
    with _quiet():
        small.save_pretrained(folder)
    processor.save_pretrained(folder)


def load(folder: Path) -> Any:
    """Return a saved model in 32 bits."""
    import torch

    with _quiet():
        return _transformers().AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)


def load_weights(model: Any, folder: Path) -> None:
    """Put a saved model's weights into a model of the same sizes, in 32 bits."""
    model.load_state_dict(load(folder).state_dict())
