"""Small tokenizers and chat templates that behave as those of the model families do."""

CORPUS = [
    "Is it joy? Answer yes or no.",
    "Answer: Yes",
    "Answer: No",
    "The picture shows a face. 0 1 2 3 4 5 6 7 10",
] * 30
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>"]
SPECIAL += ["<|eot_id|>", "<start_of_turn>", "<end_of_turn>", "<image>", "<|start|>", "<|message|>"]
SPECIAL += ["<soft>", "</image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
SPECIAL += [f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)]

_CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
_ASKS = "{% if add_generation_prompt %}<|im_start|>assistant\n"
_OFF = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
TEMPLATES = {
    "chatml": _CHATML + _ASKS + "{% endif %}",
    "headerless": _CHATML,
    "qwen3": _CHATML + _ASKS + _OFF + "{% endif %}",
    "opens": _CHATML + _ASKS + "<think>\n{% endif %}",
    "deaf": "{# thinking #}" + _CHATML + _ASKS + "{% endif %}",
    "two bos": "<s> <s>" + _CHATML + _ASKS + "{% endif %}",
    "drops system": "{% for m in messages if m.role != 'system' %}{{ m.content }}\n{% endfor %}",
    "llama3": "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    "mistral": "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content }}</s>{% else %}{{ raise_exception('no such role') }}{% endif %}"
    "{% endfor %}",
    "gemma": "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    "channels": "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}"
    "<|message|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
    "dated": _CHATML + "{{ strftime_now('%Y') }}" + _ASKS + "{% endif %}",
    "image": "{% for m in messages %}{{ m.role }}:{% for part in m.content %}{% if part.type == 'image' %}<image>"
    "{% else %} {{ part.text }}{% endif %}{% endfor %}</s>{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}",
}
TEMPLATES["two images"] = TEMPLATES["image"].replace("<image>", "<image><image>")
TEMPLATES["doubled end"] = TEMPLATES["image"].replace("<image>", "<image></image>")
TEMPLATES["no image"] = TEMPLATES["image"].replace("<image>", "")


def tokenizer(kind="bytes", *, adds="", named=None):
    """Return a small tokenizer: of bytes (as GPT-2's) or of pieces with byte fallback (as Llama 2's).

    `adds` is what it puts around a text by itself; `named` are special tokens that a processor asks for by name.
    """
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    if kind == "bytes":
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        extra = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
        backend.train_from_iterator(
            CORPUS, trainers.BpeTrainer(vocab_size=450, show_progress=False, special_tokens=SPECIAL, **extra)
        )
    else:
        letters = [f"<0x{byte:02X}>" for byte in range(256)] + ["▁", *"yesnoAwr:.YN?I10"]
        merges = [("y", "e"), ("ye", "s"), ("▁", "yes"), ("n", "o"), ("▁", "no")]
        vocabulary = {piece: place for place, piece in enumerate([*SPECIAL, *letters, *("".join(m) for m in merges)])}
        backend = Tokenizer(models.BPE(vocabulary, merges, unk_token=SPECIAL[3], byte_fallback=True, fuse_unk=True))
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        pieces = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        backend.decoder = decoders.Sequence(pieces)
    if adds:
        ends = [(token, SPECIAL.index(token)) for token in ("<s>", "</s>")]
        backend.post_processor = processors.TemplateProcessing(single=adds, special_tokens=ends)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), SPECIAL, strict=False)),
        additional_special_tokens=SPECIAL,
        extra_special_tokens=named or {},
    )
