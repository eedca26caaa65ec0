"""What does the shape of a cloud of vectors say of an encoder, and what not?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.checks import check_level, check_seed
from measurand.data.outputs import Outputs
from measurand.data.vectors import Vectors, read_vector_items
from measurand.probing.geometry_cloud import clouds
from measurand.probing.geometry_probes import Probes, label_rows, language_rows
from measurand.probing.geometry_retrieval import NEIGHBOURS, retrieval_rows
from measurand.probing.geometry_shape import BLOCKS, Settings, shape_rows
from measurand.result import Key, MeasurandError, Result, Row
from measurand.stats.inference import FloatArray
from measurand.stats.rank_correlation import correlation

#: Encoders below which a correlation over them has no interval.
FEWEST_ENCODERS: Final = 4


def geometry(
    vectors: Sequence[Vectors],
    *,
    items: Outputs | Any = None,
    macro_f1: bool = True,
    n_folds: int = 5,
    penalty: float = 1.0,
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Result:
    """Return the geometry of vectors, what a linear classifier reads off them, and whether they align languages.

    Parameters
    ----------
    vectors : sequence of Vectors
        One for each encoder, see `measurand.data.vectors.read_vectors`.
    items : Outputs, path, data frame or None
        Columns `item` and any of `language`, `label`, `group` (what belongs together: kept in one fold, left out and
        redrawn together) and `parallel` (items of different languages that say the same share a value). Vectors of
        items that it does not have are left out and counted.
    macro_f1 : bool
        Whether a classifier of the labels is trained.
    n_folds : int
        Folds of the classifiers; items of one group, or that say the same, are never in two.
    penalty : float
        The classifiers' C: l2-penalised multinomial logistic regression with balanced classes.
    replicates : int
        Bootstrap replicates of the macro-F1.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `geometry`, for each encoder (`vectors`), over all items and by `language`:

        - `anisotropy`, the mean cosine of all pairs, with `centred` "no", "yes" (the mean of all vectors subtracted)
          and "per language" (that of their language), beside the `anisotropy_limit` -1/(n - 1) that centring makes;
          `mean_share` of the mean vector in the mean squared length;
        - `isoscore`, `participation_ratio` (each also `_unbiased`), `isoscore_limit`, `effective_rank`,
          `first_component_share` and `first_ten_components_share`: of the covariance, which centring does not change,
          so that `centred` is blank;
        - `fisher_ratio_trace`, `fisher_ratio_whitened` and `language_accuracy` beside `language_chance`: how well
          languages can be told apart, which is not how well they are aligned;
        - `probe_macro_f1` of the labels. Classifiers see vectors of length 1, with `centred` "yes" (of one language:
          "per language") after the mean was subtracted: where a large common mean leaves little of the length to
          differences, the penalty alone can keep a classifier from weak directions;
        - `precision_at_1` and `precision_at_1_csls` from `language` to `against`, undefined without parallel items.

        Over encoders `pearson_anisotropy_macro_f1`, of raw anisotropy with the macro-F1 of the classifier on vectors
        that are `centred` or not. Counts: `n_vectors`, `n_dimensions`, `n_zero`, `n_unknown`, `n_missing`.

    Raises
    ------
    MeasurandError
        If a setting is out of range, encoders share a name or have no item of the table, or an item has two
        counterparts in a language.

    References
    ----------
    Sakhawat 2026, arXiv 2609.29445, section 7. The parts name theirs.

    Examples
    --------
    >>> found = geometry([Vectors("cross", ("a", "b", "c", "d"), np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))])
    >>> round(found.value("geometry", "isoscore", {"vectors": "cross"}), 12)
    1.0
    """
    _check(n_folds, penalty, replicates, confidence, seed)
    if isinstance(items, Outputs):
        items = items.frame
    table = None if items is None else read_vector_items(items)
    probes = Probes(confidence, replicates, seed, n_folds, penalty)
    rows: list[Row] = []
    for cloud in clouds(vectors, table):
        rows += shape_rows(cloud, Settings(confidence, seed))
        rows += language_rows(cloud, probes)
        rows += label_rows(cloud, probes) if macro_f1 else []
        rows += retrieval_rows(cloud, confidence=confidence)
    if macro_f1:
        rows += _correlations(rows, confidence)
    settings = {
        "vectors": [one.name for one in vectors],
        "confidence": confidence,
        "seed": seed,
        "replicates": replicates,
        "macro_f1": macro_f1,
        "n_folds": n_folds,
        "penalty": penalty,
        "classifier": "l2 multinomial logistic regression, balanced classes, vectors of length 1",
        "csls_neighbours": NEIGHBOURS,
        "jackknife_blocks": BLOCKS,
    }
    return Result(rows, {"geometry": settings})


def _check(n_folds: int, penalty: float, replicates: int, confidence: float, seed: int) -> None:
    if not 0 < penalty < np.inf:
        raise MeasurandError(f"penalty {penalty}; give a finite number above 0 (C, larger is weaker)")
    if n_folds < 2:
        raise MeasurandError(f"n_folds {n_folds}; give 2 or more")
    if replicates < 1:
        raise MeasurandError(f"replicates {replicates}; give 1 or more")
    check_level(confidence)
    check_seed(seed)


def _correlations(rows: Sequence[Row], confidence: float) -> list[Row]:
    """Return how raw anisotropy goes with what a classifier reads, over encoders."""
    raw = {row.keys["vectors"]: row for row in rows if row.statistic == "anisotropy" and _is(row, "no")}
    out = []
    for centred in ("no", "yes"):
        scores = {row.keys["vectors"]: row for row in rows if row.statistic == "probe_macro_f1" and _is(row, centred)}
        both = [name for name, row in scores.items() if not row.undefined and not raw[name].undefined]
        x = np.array([raw[name].estimate for name in both])
        y = np.array([scores[name].estimate for name in both])
        out.append(_correlation(x, y, centred, confidence))
    return out


def _correlation(x: FloatArray, y: FloatArray, centred: str, confidence: float) -> Row:
    keys: dict[str, Key] = {"centred": centred}
    name, n = "pearson_anisotropy_macro_f1", len(x)
    if n < FEWEST_ENCODERS:
        reason = (
            f"{n} set{'s' * (n != 1)} of vectors with an anisotropy and a macro-F1; a correlation over them needs "
            f"{FEWEST_ENCODERS}"
        )
        return Row("geometry", keys, name, np.nan, undefined=reason)
    found = correlation(x, y, confidence=confidence)
    if found.undefined:
        return Row("geometry", keys, name, np.nan, undefined="the sets of vectors do not differ in one of the two")
    note = f"over {n} sets of vectors: few, so that the interval is wide and rests on normal scores"
    row = Row("geometry", keys, name, found.value, df2=n - 2, note=note)
    if found.no_interval:
        return replace(row, note=f"{note}; no interval: {found.no_interval}")
    ends: dict[str, Any] = {"low": found.low, "high": found.high, "confidence": confidence, "method": "Fisher's z"}
    return replace(row, unit="vectors", df1=1, p=found.p, **ends)


def _is(row: Row, centred: str) -> bool:
    return row.keys.get("language", "") == "" and row.keys.get("centred", "") == centred
