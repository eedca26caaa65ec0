"""How far off the origin do vectors lie, and in how many directions do they spread?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from measurand.probing.bounds import within
from measurand.probing.geometry_cloud import Cloud, unit_of
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats import geometry
from measurand.stats.inference import FloatArray, IntArray, stream
from measurand.stats.jackknife import blocks, jackknife_interval
from measurand.stats.separation import fisher_ratio, fisher_ratio_whitened

#: Blocks that the jackknife leaves out in turn, at most.
BLOCKS: Final = 100
JACKKNIFE: Final = "jackknife over blocks, t"
FEW_BLOCKS: Final = "no interval: fewer than three items or groups"
_SAME: Final = "the vectors do not differ"
_ONE_DIMENSION: Final = "the vectors have one dimension"
_MECHANICAL: Final = "centred vectors of one length have the anisotropy_limit whatever they are: no difference to read"
_GROWS: Final = (
    "grows with the number of vectors: compare at the same number; the interval is of the mean over samples of its size"
)
_HELD: Final = "it held in 88 to 100 % of simulated samples"
#: The level at which that was simulated.
_SIMULATED: Final = 0.95
_UNBIASED: Final = "numerator and denominator are unbiased, so that samples of different sizes compare"
_FIRST_ORDER: Final = "directions are held while blocks are left out, which errs to the wide side where vectors are few"


@dataclass(frozen=True)
class Settings:
    """What the intervals of geometry are made with."""

    confidence: float
    seed: int


def shape_rows(cloud: Cloud, settings: Settings) -> list[Row]:
    """Return the rows of one encoder's vectors, all together and by language."""
    rows = list(_sizes(cloud))
    for at, language in [(-1, ""), *enumerate(cloud.languages)]:
        member = cloud.language == at if language else np.ones(len(cloud), dtype=bool)
        if language and not member.any():
            rows.append(Row("geometry", _keys(cloud, language), "n_vectors", 0.0))
            continue
        rows += _Scope(cloud, language, np.flatnonzero(member), settings).rows()
    return rows + _fisher_rows(cloud, settings)


def _sizes(cloud: Cloud) -> Iterator[Row]:
    keys = _keys(cloud)
    for statistic, value, note in (
        ("n_dimensions", cloud.n_dimensions, ""),
        ("n_zero", cloud.n_zero, "vectors of length 0 have no direction and are left out"),
        ("n_unknown", cloud.n_unknown, "vectors of items that the table of items does not have are left out"),
        ("n_missing", cloud.n_missing, "items of the table that have no vector"),
    ):
        yield Row("geometry", keys, statistic, float(value), note=note if value else "")


class _Scope:
    """The vectors of one language, or all."""

    def __init__(self, cloud: Cloud, language: str, member: IntArray, settings: Settings) -> None:
        self.cloud, self.language, self.member, self.settings = cloud, language, member, settings
        self.points = geometry.compact(cloud.points[member] if language else cloud.points)
        self.block = blocks(cloud.cluster[member], most=BLOCKS, rng=stream(settings.seed, "geometry", "jackknife"))

    def rows(self) -> list[Row]:
        """Return all rows of it."""
        rows = [Row("geometry", _keys(self.cloud, self.language), "n_vectors", float(len(self.member)))]
        rows += self._anisotropy()
        share = geometry.mean_share(self.points, self.block)
        note = f"independent vectors around the origin have about 1/n = {1 / len(self.member):.2g}"
        rows.append(within(self._row("mean_share", share, centred="no", note=note), 0, 1))
        return rows + self._spread()

    def _anisotropy(self) -> list[Row]:
        n = len(self.member)
        own = "per language" if self.language else "yes"
        together = np.zeros(n, dtype=np.int64)
        rows = [self._row("anisotropy", geometry.anisotropy(self.points, self.block), centred="no")]
        about_own = geometry.anisotropy(self.points, self.block, about=together)
        rows.append(self._row("anisotropy", about_own, centred=own, note=_MECHANICAL))
        if self.language:
            rows.append(self._about_everything())
        elif self.cloud.languages:
            # A vector without a language is centred with the others that have none.
            by_language = geometry.anisotropy(self.points, self.block, about=self.cloud.language)
            rows.append(self._row("anisotropy", by_language, centred="per language", note=_MECHANICAL))
        limit = -1 / (n - 1) if n > 1 else np.nan
        undefined = "" if n > 1 else "a single vector"
        note = "-1 / (n - 1), known without the vectors"
        keys = _keys(self.cloud, self.language, own)
        return [*rows, Row("geometry", keys, "anisotropy_limit", limit, n_items=n, undefined=undefined, note=note)]

    def _about_everything(self) -> Row:
        """Return the anisotropy of a language about the mean of all vectors, those of other languages held."""
        cloud = self.cloud
        n_blocks = int(self.block.max()) + 1
        block = np.full(len(cloud), n_blocks, dtype=np.int64)
        block[self.member] = self.block
        is_member = np.zeros(len(cloud), dtype=bool)
        is_member[self.member] = True
        everything = np.zeros(len(cloud), dtype=np.int64)
        values = geometry.anisotropy(cloud.points, block, about=everything, member=is_member)
        note = "about the mean of all vectors: what is left says how far the language lies from the others"
        return self._row("anisotropy", values[: n_blocks + 1], centred="yes", note=note)

    def _spread(self) -> list[Row]:
        d, n = self.cloud.n_dimensions, len(self.member)
        found = geometry.moments(self.points, self.block)
        most = max(1, min(n - 1, d))
        grows = joined(_GROWS, _HELD if self.settings.confidence == _SIMULATED else "")
        plain = self._row("participation_ratio", geometry.participation_ratio(found), is_log=True, note=grows)
        free = geometry.participation_ratio(found, is_unbiased=True)
        unbiased = self._row("participation_ratio_unbiased", free, is_log=True, note=_UNBIASED)
        if n < 4:
            unbiased = replace(unbiased, undefined="fewer than four vectors")

        def as_isoscore(value: float | None) -> float | None:
            return None if value is None else float(geometry.isoscore(np.array(value), d))

        rows = [within(plain, 1, most), within(unbiased, 1, d)]
        for statistic, row, at_most in (("isoscore", plain, most), ("isoscore_unbiased", unbiased, d)):
            reason = _ONE_DIMENSION if d < 2 else row.undefined
            estimate = np.nan if reason else as_isoscore(row.estimate)
            low, high = (None, None) if reason else (as_isoscore(row.low), as_isoscore(row.high))
            changed: dict[str, Any] = {"estimate": estimate, "low": low, "high": high, "undefined": reason}
            made = replace(row, statistic=statistic, **changed)
            rows.append(made if reason else within(made, 0, (at_most - 1) / (d - 1)))
        limit = float(geometry.isoscore(np.array(geometry.isotropic_participation(n, d)), d)) if n > 1 else np.nan
        reason = _ONE_DIMENSION if d < 2 else "" if n > 1 else "a single vector"
        note = "the isoscore that Gaussian vectors, alike in all directions, have at this number of vectors"
        keys = _keys(self.cloud, self.language)
        rows.append(Row("geometry", keys, "isoscore_limit", limit, n_items=n, undefined=reason, note=note))
        spectrum = geometry.spectrum(self.points, self.block)
        if found.trace[0] == 0:
            spectrum = geometry.Spectrum(np.zeros_like(spectrum.variance))
        note = f"at most {min(n - 1, d)}, and grows with the number of vectors; {_FIRST_ORDER}"
        rank = geometry.effective_rank(spectrum) if found.trace[0] > 0 else np.full(len(spectrum.variance), np.nan)
        rows.append(within(self._row("effective_rank", rank, is_log=True, note=note), 1, most))
        for statistic, k in (("first_component_share", 1), ("first_ten_components_share", 10)):
            rows.append(within(self._row(statistic, geometry.leading_share(spectrum, k), note=_FIRST_ORDER), 0, 1))
        return rows

    def _row(
        self, statistic: str, values: FloatArray, *, centred: str = "", is_log: bool = False, note: str = ""
    ) -> Row:
        keys = _keys(self.cloud, self.language, centred)
        single = "a single vector" if len(self.member) < 2 else _SAME
        of: dict[str, Any] = {
            "unit": unit_of(self.cloud.cluster[self.member]),
            "settings": self.settings,
            "undefined": single,
        }
        row = _row(keys, statistic, values, self.block, is_log=is_log, note=note, **of)
        return within(row, -1, 1) if statistic == "anisotropy" else row


def _fisher_rows(cloud: Cloud, settings: Settings) -> list[Row]:
    """Return how far apart the languages lie."""
    keys, known = _keys(cloud), np.flatnonzero(cloud.language >= 0)
    names = ("fisher_ratio_trace", "fisher_ratio_whitened")
    if not cloud.languages:
        reason = "the vectors are of fewer than two languages, as far as the items tell"
        return [Row("geometry", keys, name, np.nan, undefined=reason) for name in names]
    points = geometry.compact(cloud.points if len(known) == len(cloud) else cloud.points[known])
    _, group = np.unique(cloud.language[known], return_inverse=True)
    block = blocks(cloud.cluster[known], most=BLOCKS, rng=stream(settings.seed, "geometry", "jackknife"))
    n, k = len(known), int(group.max()) + 1
    expected = f"; about {(k - 1) / (n - k):.2g} if languages did not differ" if n > k else ""
    values = fisher_ratio(points, group, block)
    reason = "no vector differs from the mean of its language"
    note = f"tr S_B / tr S_W{expected}"
    trace = _row(
        keys,
        names[0],
        values,
        block,
        unit=unit_of(cloud.cluster[known]),
        settings=settings,
        undefined=reason,
        note=note,
    )
    trace = within(trace, 0)
    whitened = fisher_ratio_whitened(points, group, cloud.n_dimensions)
    if np.isnan(whitened.ratio):
        return [trace, Row("geometry", keys, names[1], np.nan, n_items=n, undefined=reason)]
    note = (
        f"tr(S⁻¹ S_B), S_W shrunk by {whitened.shrinkage:.3g} to a multiple of the identity; no interval: it is of "
        "these vectors and too large for others, see language_accuracy"
    )
    return [trace, Row("geometry", keys, names[1], whitened.ratio, n_items=n, note=note)]


def _row(
    keys: dict[str, Key],
    statistic: str,
    values: FloatArray,
    block: IntArray,
    *,
    unit: str,
    settings: Settings,
    undefined: str,
    is_log: bool = False,
    note: str = "",
) -> Row:
    """Return a row whose interval is the jackknife's, or says why there is none."""
    if np.isnan(values[0]):
        return Row("geometry", keys, statistic, np.nan, n_items=len(block), undefined=undefined)
    found = jackknife_interval(values, block, confidence=settings.confidence, is_logarithmic=is_log)
    row = Row("geometry", keys, statistic, float(values[0]), n_items=len(block), note=note)
    if np.isnan(found.low):
        few = FEW_BLOCKS if int(block.max()) < 2 else "no interval: without some block it is undefined"
        return replace(row, note=joined(note, few))
    ends: dict[str, Any] = {"low": found.low, "high": found.high, "confidence": settings.confidence}
    return replace(row, **ends, method=JACKKNIFE, unit=unit)


def _keys(cloud: Cloud, language: str = "", centred: str = "") -> dict[str, Key]:
    return {"vectors": cloud.name, "language": language, "centred": centred}
