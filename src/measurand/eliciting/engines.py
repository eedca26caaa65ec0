"""Which engine asks a system."""

from __future__ import annotations

from measurand.eliciting.engine import Engine
from measurand.eliciting.system import System
from measurand.result import MeasurandError


def open_engine(system: System) -> Engine:
    """Return the engine of a system; nothing is loaded or sent yet.

    Raises
    ------
    MeasurandError
        If there is no such engine, or the extra that it needs is not installed.
    """
    if system.engine == "transformers":
        from measurand.eliciting.local import LocalEngine

        return LocalEngine(system)
    if system.engine == "openai":
        from measurand.eliciting.http import HttpEngine

        return HttpEngine(system)
    if system.engine == "fake":
        from measurand.eliciting.fake import FakeEngine

        return FakeEngine(system)
    raise MeasurandError(f"system {system.name!r}: no engine {system.engine!r}; there are transformers, openai, fake")
