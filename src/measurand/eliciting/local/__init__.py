"""The transformers engine: answers read from the logits of a model that runs here."""

from measurand.eliciting.local.engine import LocalEngine

__all__ = ["LocalEngine"]
