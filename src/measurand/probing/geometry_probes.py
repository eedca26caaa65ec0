"""What a linear classifier reads off vectors: the language of an item, and its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.probing.geometry_cloud import Cloud, unit_of
from measurand.result import Key, Row
from measurand.stats.classes import confusion, macro_f1
from measurand.stats.decoding import decode
from measurand.stats.folds import stratified_folds
from measurand.stats.geometry import Points, directions
from measurand.stats.inference import FloatArray, IntArray, bootstrap, clusters, percentile_interval, stream
from measurand.stats.proportion import share_interval

_HELD: Final = "the classifiers are not trained again"
_AGAIN: Final = "the mean of all vectors was subtracted before they were given length 1"


@dataclass(frozen=True)
class Probes:
    """How the classifiers are trained and their numbers bounded."""

    confidence: float
    replicates: int
    seed: int
    n_folds: int
    penalty: float


def language_rows(cloud: Cloud, probes: Probes) -> list[Row]:
    """Return how often a linear classifier tells the language of items that it was not trained on."""
    keys = _keys(cloud)
    known = np.flatnonzero(cloud.language >= 0)
    names, label = np.unique(cloud.language[known], return_inverse=True)
    label, cluster = label.astype(np.int64), cloud.cluster[known]
    reason = "the vectors are of fewer than two languages, as far as the items tell"
    reason = reason if not cloud.languages else _too_few([cloud.languages[at] for at in names], label, cluster, probes)
    if reason:
        return [Row("geometry", _keys(cloud, centred="no"), "language_accuracy", np.nan, undefined=reason)]
    chance = float(np.bincount(label).max()) / len(label)
    rows = [Row("geometry", keys, "language_chance", chance, n_items=len(label), note="the commonest language's share")]
    for centred in ("no", "yes"):
        predicted = _out_of_fold(cloud.points[known], label, cluster, centred == "yes", "language", probes)
        hits = (predicted == label).astype(float)
        low, high, _ = share_interval(hits, cluster, confidence=probes.confidence)
        rows.append(
            Row(
                "geometry",
                _keys(cloud, centred=centred),
                "language_accuracy",
                float(hits.mean()),
                low,
                high,
                probes.confidence,
                "Wilson, for the effective number of items",
                unit_of(cluster),
                n_items=len(label),
                note=f"{_AGAIN}; {_HELD}" if centred == "yes" else _HELD,
            )
        )
    return rows


def label_rows(cloud: Cloud, probes: Probes) -> list[Row]:
    """Return the macro-F1 of a linear classifier of the items' labels, for all vectors and by language."""
    rows = []
    for at, language in [(-1, ""), *enumerate(cloud.languages)]:
        known = np.flatnonzero((cloud.label >= 0) & ((cloud.language == at) if language else True))
        names, label = np.unique(cloud.label[known], return_inverse=True)
        label, cluster = label.astype(np.int64), cloud.cluster[known]
        reason = "" if cloud.labels else "no item has a label"
        reason = reason or _too_few([cloud.labels[one] for one in names], label, cluster, probes)
        if reason:
            keys = _keys(cloud, language, "no")
            rows.append(Row("geometry", keys, "probe_macro_f1", np.nan, n_items=len(known), undefined=reason))
            continue
        for centred in ("no", "per language" if language else "yes"):
            predicted = _out_of_fold(cloud.points[known], label, cluster, centred != "no", "label", probes)
            rows.append(_macro_f1_row(_keys(cloud, language, centred), label, predicted, cluster, probes))
    return rows


def _macro_f1_row(keys: dict[str, Key], label: IntArray, predicted: IntArray, cluster: IntArray, probes: Probes) -> Row:
    n_classes = int(label.max()) + 1
    chosen, true = np.divmod(np.arange(n_classes**2), n_classes)
    membership = np.eye(n_classes)[chosen]

    def score(weights: FloatArray) -> FloatArray:
        return macro_f1(confusion(membership, true, weights)).value

    drawn = clusters(cluster, predicted * n_classes + label, n_classes**2)
    estimate = float(score(drawn.weights())[0])
    rng = stream(probes.seed, "geometry", "macro_f1")
    draws = bootstrap(score, drawn, n_replicates=probes.replicates, rng=rng)
    low, high, _ = percentile_interval(draws, confidence=probes.confidence)
    commonest = np.bincount(label).max() / len(label)
    floor = 2 * commonest / (1 + commonest) / n_classes
    note = f"always the commonest label: {floor:.3g}; {_HELD}"
    if low == high:
        note += "; the interval has no width because all predictions are right, or all wrong"
    return Row(
        "geometry",
        keys,
        "probe_macro_f1",
        estimate,
        low,
        high,
        probes.confidence,
        "percentile bootstrap of out-of-fold predictions",
        unit_of(cluster),
        n_items=len(label),
        note=note if keys["centred"] == "no" else f"{_AGAIN}; {note}",
    )


def _out_of_fold(
    points: Points, label: IntArray, cluster: IntArray, is_centred: bool, name: str, probes: Probes
) -> IntArray:
    """Return what classifiers trained on the other folds predict for each vector."""
    rng = stream(probes.seed, "geometry", name)
    fold = stratified_folds(label, n_folds=probes.n_folds, rng=rng, group=cluster)
    predicted = decode(
        directions(points, is_centred=is_centred),
        label,
        (fold != np.arange(probes.n_folds)[:, None]).astype(float),
        n_classes=int(label.max()) + 1,
        penalty=probes.penalty,
        features="dense",
    )
    return np.asarray(predicted[fold, np.arange(len(label))], dtype=np.int64)


def _too_few(names: list[str], label: IntArray, cluster: IntArray, probes: Probes) -> str:
    """Return why items cannot be classified, blank if they can."""
    if len(names) < 2:
        return "the items have one label" if names else "no item has a label"
    units = [len(np.unique(cluster[label == at])) for at in range(len(names))]
    fewest = int(np.argmin(units))
    if units[fewest] >= probes.n_folds:
        return ""
    return (
        f'{units[fewest]} independent items are "{names[fewest]}"; with {probes.n_folds} folds each kind needs '
        f"{probes.n_folds}"
    )


def _keys(cloud: Cloud, language: str = "", centred: str = "") -> dict[str, Key]:
    return {"vectors": cloud.name, "language": language, "centred": centred}
