"""OpenAI-compatible servers: probed before they are asked, bounds where only the likeliest tokens are shown."""

from measurand.eliciting.http.engine import HttpEngine

__all__ = ["HttpEngine"]
