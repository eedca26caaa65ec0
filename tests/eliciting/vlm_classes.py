"""Small models of real vision-language classes: built from configurations, with weights large enough to matter.

Their answers mean nothing. What matters is that every token of picture and text moves them: a beginning that is shared
wrongly, or a picture that is taken for another, shows in the numbers.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

import torch
import transformers
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.utils import logging

#: Classes that need no torchvision, and those that do.
WITHOUT_TORCHVISION = ("llava", "idefics3", "gemma3", "paligemma")
WITH_TORCHVISION = ("smolvlm", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision", "internvl")

_SIZE = 64
_LEARNT = [
    "Is the face on this picture happy, sad, angry or calm? Answer yes or no.",
    "Answer: Yes. Answer: No. yes no Yes No YES NO",
    "User: how strong is it, from 0 to 7? Assistant: 1 2 3 4 5 6 7",
] * 20
_TEXT = {
    "vocab_size": 640,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_WITHOUT_HEAD_DIM = {name: value for name, value in _TEXT.items() if name != "head_dim"}
_VISION = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": _SIZE,
    "patch_size": 8,
}
_QWEN2_5_VISION = {"out_hidden_size": 64, "intermediate_size": 96, "window_size": 56, "fullatt_block_indexes": [1]}
_QWEN = {"image": "<|image_pad|>", "video": "<|video_pad|>", "start": "<|vision_start|>", "end": "<|vision_end|>"}


def save(kind: str, folder: Path, *, seed: int = 0, spread: float = 0.16) -> Path:
    """Build a model of a class with its processor, enlarge its weights and save it as a folder."""
    torch.manual_seed(seed)
    model, processor = _BUILDERS[kind]()
    _save(model, folder, spread)
    processor.save_pretrained(folder)
    return folder


def _save(model, folder, spread):
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim >= 2:
                weight.normal_(0, spread)
    model.generation_config.eos_token_id = 2
    logging.disable_progress_bar()
    model.eval().save_pretrained(folder)
    logging.enable_progress_bar()


def picture(seed: int = 0) -> bytes:
    """Return a drawn face as PNG, another for each seed."""
    image = Image.new("RGB", (96, 96), (40 * seed % 256, 180, 90))
    draw = ImageDraw.Draw(image)
    draw.ellipse((10, 10, 80, 80), fill=(250, 220, 80 + 30 * seed % 150))
    draw.arc((25, 30, 65, 65), 20 + 170 * (seed % 2), 160 + 170 * (seed % 2), fill=(0, 0, 0), width=3)
    stream = io.BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()


def image_of(data: bytes) -> Image.Image:
    """Return what `picture` drew."""
    return Image.open(io.BytesIO(data)).convert("RGB")


def _tokenizer(marks):
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=["<pad>", "<bos>", "<eos>", "<unk>", *marks.values()],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_LEARNT, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<pad>",  # noqa: S106
        bos_token="<bos>",  # noqa: S106
        eos_token="<eos>",  # noqa: S106
        unk_token="<unk>",  # noqa: S106
        additional_special_tokens=list(marks.values()),
        extra_special_tokens=marks,
    )


def _template(mark):
    return (
        "{% for message in messages %}{{ '\\n' + message['role'] + ': ' }}"
        "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
        "{% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}{{ '" + mark + "' }}{% else %}{{ part['text'] }}{% endif %}"
        "{% endfor %}{% endif %}{{ '<eos>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '\\nassistant: ' }}{% endif %}"
    )


def _images(name, **settings):
    """Return an image processor: the one without torchvision where there is one."""
    found = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)
    return found(**settings)


def _llava():
    tokenizer = _tokenizer({"image_token": "<image>"})
    processor = transformers.LlavaProcessor(
        image_processor=_images("SiglipImageProcessor", size={"height": _SIZE, "width": _SIZE}),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        chat_template=_template("<image>"),
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.SiglipVisionConfig(**_VISION, vision_use_head=False),
        text_config=transformers.LlamaConfig(**_TEXT),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        image_seq_length=64,
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def _idefics(name):
    marks = {
        "image_token": "<image>",
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }
    tokenizer = _tokenizer(marks)
    longest = {"longest_edge": _SIZE}
    images = _images(f"{name}ImageProcessor", size=longest, max_image_size=longest, do_image_splitting=False)
    videos = {}
    if name == "SmolVLM":
        videos = {"video_processor": transformers.SmolVLMVideoProcessor(size=longest, max_image_size=longest)}
    processor = getattr(transformers, f"{name}Processor")(
        image_processor=images, tokenizer=tokenizer, image_seq_len=16, chat_template=_template("<image>"), **videos
    )
    config = getattr(transformers, f"{name}Config")(
        vision_config=dict(_VISION),
        text_config=transformers.LlamaConfig(**_TEXT).to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    return getattr(transformers, f"{name}ForConditionalGeneration")(config), processor


def _gemma3():
    marks = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tokenizer = _tokenizer(marks)
    processor = transformers.Gemma3Processor(
        image_processor=_images("Gemma3ImageProcessor", size={"height": _SIZE, "width": _SIZE}),
        tokenizer=tokenizer,
        image_seq_length=16,
        chat_template=_template("<start_of_image>"),
    )
    number = tokenizer.convert_tokens_to_ids
    config = transformers.Gemma3Config(
        # The window is shorter than the prompts, and the two layers are of two kinds.
        text_config=transformers.Gemma3TextConfig(
            **_TEXT, sliding_window=24, query_pre_attn_scalar=16, layer_types=["sliding_attention", "full_attention"]
        ),
        vision_config=transformers.SiglipVisionConfig(**_VISION, vision_use_head=False),
        mm_tokens_per_image=16,
        image_token_index=number("<image_soft_token>"),
        boi_token_index=number("<start_of_image>"),
        eoi_token_index=number("<end_of_image>"),
    )
    return transformers.Gemma3ForConditionalGeneration(config), processor


def _paligemma():
    tokenizer = _tokenizer({"image_token": "<image>"})
    images = _images("SiglipImageProcessor", size={"height": _SIZE, "width": _SIZE})
    images.image_seq_length = 64
    processor = transformers.PaliGemmaProcessor(
        image_processor=images, tokenizer=tokenizer, chat_template=_template("<image>")
    )
    config = transformers.PaliGemmaConfig(
        text_config=transformers.GemmaConfig(**(_TEXT | {"vocab_size": 2048})),
        vision_config=transformers.SiglipVisionConfig(**_VISION, vision_use_head=False, projection_dim=64),
        projection_dim=64,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    return transformers.PaliGemmaForConditionalGeneration(config), processor


def _qwen(name, patch, vision, text):
    marks = {
        "image_token": _QWEN["image"],
        "video_token": _QWEN["video"],
        "vision_bos_token": _QWEN["start"],
        "vision_eos_token": _QWEN["end"],
    }
    tokenizer = _tokenizer(marks)
    images = _images(
        "Qwen2VLImageProcessor",
        min_pixels=(2 * patch) ** 2,
        max_pixels=(8 * patch) ** 2,
        patch_size=patch,
        merge_size=2,
        temporal_patch_size=2,
    )
    videos = getattr(transformers, "Qwen3VLVideoProcessor" if name == "Qwen3VL" else "Qwen2VLVideoProcessor")()
    processor = getattr(transformers, f"{name}Processor")(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=videos,
        chat_template=_template(_QWEN["start"] + _QWEN["image"] + _QWEN["end"]),
    )
    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in _QWEN.items()}
    return _qwen_model(name, patch, vision, text, ids), processor


def _qwen_model(name, patch, vision, text, ids):
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    config = getattr(transformers, f"{name}Config")(
        text_config={**text, "rope_parameters": rope | ({"mrope_interleaved": True} if name == "Qwen3VL" else {})},
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "num_heads": 4,
            "patch_size": patch,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            **vision,
        },
        image_token_id=ids["image"],
        video_token_id=ids["video"],
        vision_start_token_id=ids["start"],
        vision_end_token_id=ids["end"],
    )
    return getattr(transformers, f"{name}ForConditionalGeneration")(config)


def _qwen2_vl():
    return _qwen("Qwen2VL", 14, {"embed_dim": 64, "mlp_ratio": 2}, _WITHOUT_HEAD_DIM)


def _qwen2_5_vl():
    return _qwen("Qwen2_5_VL", 14, _QWEN2_5_VISION, _WITHOUT_HEAD_DIM)


def _qwen3_vl():
    vision = {
        "out_hidden_size": 64,
        "intermediate_size": 96,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0],
    }
    return _qwen("Qwen3VL", 16, vision, _TEXT)


def _llava_onevision():
    tokenizer = _tokenizer({"image_token": "<image>", "video_token": "<video>"})
    points = [[_SIZE, _SIZE], [_SIZE, 2 * _SIZE], [2 * _SIZE, _SIZE], [2 * _SIZE, 2 * _SIZE]]
    images = _images(
        "LlavaOnevisionImageProcessor", size={"height": _SIZE, "width": _SIZE}, image_grid_pinpoints=points
    )
    processor = transformers.LlavaOnevisionProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=transformers.LlavaOnevisionVideoProcessor(),
        num_image_tokens=64,
        vision_feature_select_strategy="full",
        chat_template=_template("<image>"),
    )
    config = transformers.LlavaOnevisionConfig(
        vision_config=transformers.SiglipVisionConfig(**_VISION, vision_use_head=False),
        text_config=transformers.Qwen2Config(**_WITHOUT_HEAD_DIM),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        image_grid_pinpoints=points,
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config), processor


def _internvl():
    marks = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = _tokenizer(marks)
    images = _images(
        "GotOcr2ImageProcessor",
        size={"height": _SIZE, "width": _SIZE},
        crop_to_patches=False,
        min_patches=1,
        max_patches=1,
    )
    processor = transformers.InternVLProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=transformers.InternVLVideoProcessor(),
        image_seq_length=16,
        chat_template=_template("<IMG_CONTEXT>"),
    )
    vision = _VISION | {"image_size": [_SIZE, _SIZE], "patch_size": [8, 8]}
    config = transformers.InternVLConfig(
        vision_config=transformers.InternVLVisionConfig(**vision),
        text_config=transformers.Qwen2Config(**_WITHOUT_HEAD_DIM),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=16,
        downsample_ratio=0.5,
        vision_feature_layer=-1,
    )
    return transformers.InternVLForConditionalGeneration(config), processor


_BUILDERS = {
    "llava": _llava,
    "idefics3": lambda: _idefics("Idefics3"),
    "smolvlm": lambda: _idefics("SmolVLM"),
    "gemma3": _gemma3,
    "paligemma": _paligemma,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "llava_onevision": _llava_onevision,
    "internvl": _internvl,
}


# ------------------------------------------------------------------------------------------- text alone

#: Classes of language models: plain, with a window, with states that are overwritten, with capped logits, with biases
#: that stand for positions.
TEXT_CLASSES = ("llama", "mistral", "lfm2", "gemma2", "bloom")


def save_text(kind: str, folder: Path, *, seed: int = 0, spread: float = 0.16, **changed) -> Path:
    """Build a small language model of a class with its tokenizer, enlarge its weights and save it as a folder."""
    torch.manual_seed(seed)
    settings = {
        "llama": ("LlamaForCausalLM", transformers.LlamaConfig, _TEXT),
        "mistral": ("MistralForCausalLM", transformers.MistralConfig, _TEXT | {"sliding_window": 12}),
        "gemma2": ("Gemma2ForCausalLM", transformers.Gemma2Config, _TEXT | {"sliding_window": 12}),
        "lfm2": (
            "Lfm2ForCausalLM",
            transformers.Lfm2Config,
            _WITHOUT_HEAD_DIM | {"layer_types": ["conv", "full_attention"], "conv_L_cache": 3},
        ),
        "bloom": ("BloomForCausalLM", transformers.BloomConfig, {"vocab_size": 640, "hidden_size": 64, "n_head": 4}),
    }
    name, config, given = settings[kind]
    model = getattr(transformers, name)(config(**(given | changed)))
    _save(model, folder, spread)
    tokenizer = _tokenizer({})
    tokenizer.chat_template = _template("")
    tokenizer.save_pretrained(folder)
    return folder


#: Token ids of `save_qwen_alone`.
QWEN_IDS = {"image": 10, "video": 11, "start": 12, "end": 13}


def save_qwen_alone(folder: Path, *, seed: int = 0, spread: float = 0.16) -> Path:
    """Save a small Qwen2.5-VL without its processor, which alone needs torchvision."""
    torch.manual_seed(seed)
    _save(_qwen_model("Qwen2_5_VL", 14, _QWEN2_5_VISION, _WITHOUT_HEAD_DIM, QWEN_IDS), folder, spread)
    return folder
