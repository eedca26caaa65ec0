"""Regression heads on what a model sees: ratings predicted from its frozen image tokens, person by person left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from measurand.data.items import as_items
from measurand.data.ratings import Ratings, read_ratings
from measurand.data.scale import Scale
from measurand.eliciting.controls import picture_of
from measurand.eliciting.declared import Item
from measurand.eliciting.local.model import LocalModel
from measurand.eliciting.local.render import transformers_library
from measurand.eliciting.local.render_pictures import open_picture
from measurand.eliciting.system import System
from measurand.result import MeasurandError
from measurand.stats.inference import FloatArray, bootstrap, clusters, percentile_interval, stream
from measurand.stats.ranking import spearman
from measurand.stats.ridge import CrossFitted, cross_fitted, explained

#: How a picture's tokens become one row: their mean, or one behind the other.
Pool = Literal["mean", "flattened"]

READOUT: Final = "regression"
N_FOLDS: Final = 5

_BATCH: Final = 32
_CONFIDENCE: Final = 0.95


class Estimate(NamedTuple):
    """A number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


class Probe(NamedTuple):
    """How well mean ratings follow from features, in persons that were left out.

    Parameters
    ----------
    r2, spearman : ndarray, shape (n_criteria,)
        Of each criterion: the share of variation explained, and the rank correlation.
    mean_r2, mean_spearman : Estimate
        Their means over criteria.
    """

    r2: FloatArray
    spearman: FloatArray
    mean_r2: Estimate
    mean_spearman: Estimate


def image_tokens(model: Path, pictures: Sequence[Path]) -> FloatArray:
    """Return what a model's language part is shown of pictures: the output of its connector, frozen.

    Parameters
    ----------
    model : Path
        The folder of a model of the Idefics3 class.
    pictures : sequence of Path
        Image files.

    Returns
    -------
    ndarray, shape (n_pictures, n_tokens, width)
        Image tokens.

    Raises
    ------
    MeasurandError
        If the extra ``local`` is not installed, the model can't be loaded or is shown no pictures, or a file is none.
    """
    loaded = LocalModel(System("heads", "transformers", model=str(model)))
    if not loaded.sees:
        raise MeasurandError(f"{model} has no part for pictures; regression heads need one")
    import torch

    processor = transformers_library().AutoProcessor.from_pretrained(model, local_files_only=True).image_processor
    found = []
    for start in range(0, len(pictures), _BATCH):
        shown = [[open_picture(_picture(file))] for file in pictures[start : start + _BATCH]]
        inputs = processor(shown, return_tensors="pt")
        with torch.inference_mode():
            seen = loaded.model.get_image_features(
                inputs["pixel_values"], pixel_attention_mask=inputs["pixel_attention_mask"]
            )
        found.append(torch.stack(list(seen.pooler_output)).to(torch.float64).numpy())
    return np.concatenate(found)


def _picture(file: Path) -> Any:
    return picture_of(Item(file.name, picture=file))


def pooled(tokens: FloatArray, pool: Pool) -> FloatArray:
    """Return one row for each picture, of shape (n, width) for the mean and (n, n_tokens · width) for all of them.

    Examples
    --------
    >>> tokens = np.arange(8.0).reshape(1, 2, 4)
    >>> pooled(tokens, "mean").tolist(), pooled(tokens, "flattened").shape
    ([[2.0, 3.0, 4.0, 5.0]], (1, 8))
    """
    if pool not in get_args(Pool):
        raise MeasurandError(f"pool {pool!r}; allowed are {', '.join(get_args(Pool))}")
    return tokens.mean(axis=1) if pool == "mean" else tokens.reshape(len(tokens), -1)


def regression_answers(
    model: Path,
    items: Any,
    ratings: Any,
    *,
    folder: Path,
    scale: Scale | None = None,
    system: str = "regression",
    pool: Pool = "flattened",
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> pd.DataFrame:
    """Return answers of ridge regressions from image tokens to mean ratings, each item's by a fit to other persons.

    Parameters
    ----------
    model : Path
        The folder of a model whose image tokens are the features; nothing of it is trained.
    items : path or data frame
        Columns `item`, `image` (a file, from `folder`) and `group` (the person).
    ratings : Ratings, path or data frame
        As for `read_ratings`. The mean over raters of each item and criterion is what is fitted.
    folder : Path
        Where the pictures are.
    scale : Scale or None
        The permitted ratings; answers beyond its ends are given as its ends. Not needed for checked `Ratings`.
    system : str
        What the answers table calls it.
    pool : {"mean", "flattened"}
        Features of a picture: the mean of its tokens, or all of them.
    n_folds : int
        Parts into which the persons are divided; each part is predicted by a fit to the others. The penalty is chosen
        for each part and criterion among the other persons, again by leaving persons out.
    seed : int
        The one seed.

    Returns
    -------
    pandas.DataFrame
        An answers table that `score` reads: `system`, `item`, `criterion`, `readout` (``regression``), `protocol`,
        `answer` in scale units, `status`, `fold` (of the item's person). Items that nobody rated are answered, too.

    Raises
    ------
    MeasurandError
        Absent columns, no item with both a picture and ratings, too few persons, and as for `image_tokens`.
    """
    table = as_items(items)
    if absent := [name for name in ("image", "group") if name not in table]:
        raise MeasurandError(
            f"items: no column {absent[0]!r}; heads need each item's image, and its group so that persons stay whole"
        )
    checked = ratings if isinstance(ratings, Ratings) else read_ratings(ratings, scale=scale)
    wanted = mean_ratings(checked, table["item"].tolist())
    features = pooled(image_tokens(model, [folder / str(image) for image in table["image"]]), pool)
    fitted = out_of_fold(features, wanted, table["group"].tolist(), n_folds=n_folds, seed=seed)
    frames = []
    for c, criterion in enumerate(checked.criteria):
        bounds = checked.scale(criterion).bounds
        answer = fitted.predicted[:, c]
        frame = pd.DataFrame(
            {
                "system": system,
                "item": table["item"],
                "criterion": criterion,
                "readout": READOUT,
                "protocol": f"ridge on {pool} image tokens, persons left out in {n_folds} parts",
                "answer": answer if bounds is None else answer.clip(*bounds),
                "status": "ok",
                "fold": fitted.fold + 1,
            }
        )
        frames.append(frame[~np.isnan(answer)])
    return pd.concat(frames, ignore_index=True)


def mean_ratings(ratings: Ratings, items: Sequence[str]) -> FloatArray:
    """Return mean ratings over raters, shape (n_items, n_criteria); NaN where nobody rated.

    Raises
    ------
    MeasurandError
        If none of the items was rated.
    """
    frame = ratings.frame
    wanted = np.full((len(items), len(ratings.criteria)), np.nan)
    for c, criterion in enumerate(ratings.criteria):
        own = frame[frame["criterion"] == criterion] if "criterion" in frame else frame
        means = own.groupby(own["item"].astype(str))["rating"].mean()
        wanted[:, c] = means.reindex(list(items)).to_numpy(dtype=np.float64)
    if np.isnan(wanted).all():
        rated = frame["item"].iloc[0] if len(frame) else "none at all"
        raise MeasurandError(f"none of the {len(items)} items was rated; ratings are of items such as {rated!r}")
    return wanted


def out_of_fold(
    features: FloatArray, wanted: FloatArray, groups: Sequence[str], *, n_folds: int = N_FOLDS, seed: int = 0
) -> CrossFitted:
    """Return `cross_fitted` predictions of mean ratings, persons being the clusters.

    Raises
    ------
    MeasurandError
        If there are too few persons.
    """
    cluster = pd.factorize(np.asarray(groups, dtype=object))[0]
    rng = stream(seed, "demo", "heads", "folds")
    try:
        # Matrices are small: threads that wait for each other take a hundred times as long where cores are shared.
        with threadpool_limits(limits=1, user_api="blas"):
            return cross_fitted(features, wanted, cluster, n_folds=n_folds, rng=rng)
    except ValueError as error:
        raise MeasurandError(f"{error}; give items of more persons (column group), or fewer folds") from error


def probe(
    features: FloatArray,
    wanted: FloatArray,
    groups: Sequence[str],
    *,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    n_replicates: int = 1000,
) -> Probe:
    """Say how well mean ratings follow from features, by ridge regressions that were fitted to other persons.

    Parameters
    ----------
    features : ndarray, shape (n_items, n_features)
        One row for each item.
    wanted : ndarray, shape (n_items, n_criteria)
        Mean ratings, all known.
    groups : sequence of str
        Each item's person.
    n_folds, seed : int
        As for `regression_answers`.
    n_replicates : int
        Bootstrap replicates, in which persons are redrawn with their predictions; nothing is fitted again.

    Returns
    -------
    Probe
        A criterion whose mean ratings do not vary is NaN and left out of the means.

    Raises
    ------
    MeasurandError
        If there are too few persons, or mean ratings are missing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(120, 5))
    >>> wanted = features[:, :2] + 0.3 * rng.normal(size=(120, 2))
    >>> found = probe(features, wanted, [f"P{k // 4}" for k in range(120)], n_replicates=200)
    >>> bool(found.mean_r2.low > 0.8), bool(found.r2[0] < 1), found.spearman.shape
    (True, True, (2,))
    """
    if np.isnan(wanted).any():
        raise MeasurandError("mean ratings are missing; leave out items and criteria that nobody rated")
    predicted = out_of_fold(features, wanted, groups, n_folds=n_folds, seed=seed).predicted
    n, n_criteria = wanted.shape

    def each(weights: FloatArray) -> FloatArray:
        columns = range(n_criteria)
        r2 = [explained(wanted[:, c], predicted[:, c], weights) for c in columns]
        orders = [spearman(predicted[:, c], wanted[:, c], weights) for c in columns]
        return np.stack([np.column_stack(r2), np.column_stack(orders)], axis=1)

    persons = clusters(pd.factorize(np.asarray(groups, dtype=object))[0], np.arange(n), n)
    r2, orders = each(persons.weights())[0]
    rng = stream(seed, "demo", "heads", "probe")
    with threadpool_limits(limits=1, user_api="blas"):
        draws = bootstrap(
            lambda weights: np.nanmean(each(weights), axis=2), persons, n_replicates=n_replicates, rng=rng
        )
    means = []
    for kind, values in enumerate((r2, orders)):
        spread = percentile_interval(draws[:, kind], confidence=_CONFIDENCE)
        means.append(Estimate(float(np.nanmean(values)), spread.low, spread.high))
    return Probe(r2, orders, means[0], means[1])
