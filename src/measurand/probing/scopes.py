"""Which outputs are counted together: those of a system, of a language, of both, and all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measurand.data.outputs import Outputs
from measurand.result import Key

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scope:
    """Outputs that are counted together.

    Parameters
    ----------
    system, language : str
        Blank for all together, and where the table has no such column.
    rows : ndarray of bool, shape (n_outputs,)
        Which rows of the table these are.
    is_whole : bool
        Whether all systems are in it.
    """

    system: str
    language: str
    rows: BoolArray
    is_whole: bool

    @property
    def keys(self) -> Mapping[str, Key]:
        """The keys of a row about it."""
        return {"system": self.system, "language": self.language}


def languages(outputs: Outputs) -> list[str]:
    """Return "" for all languages together, then each; a single one is all together, a blank one has no name.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.data import read_outputs
    >>> table = pd.DataFrame({"item": [1, 2, 3], "text": "a", "language": ["bn", "en", ""]})
    >>> languages(read_outputs(table))
    ['', 'bn', 'en']
    """
    found = outputs.languages
    return ["", *filter(None, found)] if len(found) > 1 else [""]


def systems(outputs: Outputs) -> list[str]:
    """Return "" for all systems together, then each that has a name.

    Examples
    --------
    >>> import pandas as pd
    >>> from measurand.data import read_outputs
    >>> systems(read_outputs(pd.DataFrame({"item": 1, "system": ["S2", "S1"], "text": "a"})))
    ['', 'S1', 'S2']
    """
    return ["", *filter(None, outputs.systems)]


def scopes(outputs: Outputs) -> Iterator[Scope]:
    """Yield each system and all systems together, for all languages and for each; scopes without outputs, too."""
    frame = outputs.frame
    everything = np.ones(len(frame), dtype=bool)
    of_language = {name: (frame["language"] == name).to_numpy() if name else everything for name in languages(outputs)}
    for system in systems(outputs):
        of_system = (frame["system"] == system).to_numpy() if system else everything
        for language, rows in of_language.items():
            yield Scope(system, language, of_system & rows, is_whole=not system)
