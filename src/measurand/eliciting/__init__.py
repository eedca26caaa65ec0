"""Items to answers: systems are asked under declared readouts, and every answer proves how it was obtained."""

from measurand.eliciting.declared import (
    Choice,
    Design,
    Generative,
    Item,
    Phrasing,
    RatingsRule,
    Retry,
    ScaleReading,
    Text,
    TextRule,
    Verification,
)
from measurand.eliciting.engine import Decoding
from measurand.eliciting.presets import PRESETS, criteria_of, generative_preset, text_preset
from measurand.eliciting.system import Price, System
from measurand.eliciting.wordings import (
    choice_phrasings,
    generative_phrasings,
    scale_phrasings,
    text_phrasings,
    verification_phrasings,
)

__all__ = [
    "PRESETS",
    "Choice",
    "Decoding",
    "Design",
    "Generative",
    "Item",
    "Phrasing",
    "Price",
    "RatingsRule",
    "Retry",
    "ScaleReading",
    "System",
    "Text",
    "TextRule",
    "Verification",
    "choice_phrasings",
    "criteria_of",
    "generative_phrasings",
    "generative_preset",
    "scale_phrasings",
    "text_phrasings",
    "text_preset",
    "verification_phrasings",
]
