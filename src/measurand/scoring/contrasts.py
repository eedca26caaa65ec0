"""Paired differences on shared draws: systems, anchors, baselines, readouts, phrasings, attempts, controls, fits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from measurand.result import Key, Row
from measurand.scoring.anchors import anchor_kappa
from measurand.scoring.contenders import BINARIZED
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, kappa
from measurand.scoring.replicates import Store
from measurand.scoring.run import Run, Scope
from measurand.sentences import joined, short, too_few_raters
from measurand.stats.inference import FloatArray, holm
from measurand.stats.replicates import bootstrap_p, max_t

#: Scores under every tie rule and target, by the values of an arm's keys, the scope and the path.
Points = Mapping[tuple[tuple[Key, ...], Scope, Path], float]

#: Share of an arm's answers that must be to common items, or of the rated items that it must have answered, for it to
#: be set against others as it is.
COMMON: Final = 0.95

#: Level of tests. Where the smallest p that Holm can give a family is not below it, Holm gives way to max-T.
SIGNIFICANT: Final = 0.05

#: What may tell two arms of one system apart and is contrasted.
PROTOCOL_CONTRASTS: Final = ("readout", "phrasing", "prefill", "attempt", "control", "protocol")

_FEWER_ITEMS: Final = "a redrawn table has fewer different items, on which a calibration leaks more"
#: The method of an interval whose replicates were moved to the difference.
CENTRED: Final = "percentile bootstrap, refitted, replicates centred on the difference"

#: Readouts that are made from another one's stored answers.
DERIVED: Final = (BINARIZED, "double_centred")


@dataclass(frozen=True)
class Contrast:
    """A paired difference: its row, and the replicates behind it."""

    row: Row
    draws: FloatArray


def contrast_rows(run: Run, points: Points) -> list[Row]:
    """Return all paired differences of a run; `points` are those of `tables.sensitivity_points`."""
    rows: list[Row] = []
    for over in run.stores:
        rows += [one.row for one in system_contrasts(run, over)]
        rows += [one.row for one in anchor_contrasts(run, over)]
    rows += [one.row for one in protocol_contrasts(run)]
    rows += _matched(run)
    rows += matched_anchor_rows(run)
    rows += [one.row for one in _leakage(run)]
    rows += _ranges(run, points)
    return rows


def _difference(
    run: Run,
    keys: Mapping[str, Key],
    a: FloatArray,
    b: FloatArray,
    scope: Scope,
    over: str,
    note: str = "",
    *,
    is_centred: bool = False,
) -> Contrast:
    first, second = run.columns([a, b], scope, run.stores[over])
    values = first - second
    if is_centred:
        values, moved = _centred(values)
        note = joined(note, moved)
    undefined = "one of the two has no score here"
    n_items, n_raters = run.sample(scope)
    note = joined(note, _criteria_left_out(run, [a, b], scope, run.stores[over]))
    full = {**keys, **scope.keys}
    row = run.row("contrasts", full, "difference", values, over=over, n_items=n_items, undefined=undefined, note=note)
    if is_centred and row.low is not None:
        row = replace(row, method=CENTRED)
    test = bootstrap_p(float(values[0]), values[1:])
    if not test.undefined:
        row = replace(row, p=test.p, attainable_p=test.attainable_p)
    return Contrast(replace(row, n_raters=n_raters), values)


def _centred(values: FloatArray) -> tuple[FloatArray, str]:
    """Return a difference with its replicates moved so that their mean is the difference, and a note that says so."""
    known = values[1:][~np.isnan(values[1:])]
    if np.isnan(values[0]) or len(known) == 0:
        return values, ""
    mean = float(known.mean())
    moved = np.concatenate([values[:1], values[1:] - mean + values[0]])
    return moved, f"replicates, whose mean is {short(mean)}, are moved to the difference: {_FEWER_ITEMS}"


def _criteria_left_out(run: Run, series: Sequence[FloatArray], scope: Scope, store: Store) -> str:
    """Return how many criteria of a set a difference is over, where one of the two has no score on some of them."""
    if not scope.set:
        return ""
    of_set = run.chosen(scope.set, store)[0]
    is_known = of_set & ~np.any([np.isnan(one[0]) for one in series], axis=0)
    n, n_lost = int(is_known.sum()), int((of_set & ~is_known).sum())
    if n_lost == 0 or n == 0:
        return ""
    return f"over {n} of the set's {n + n_lost} criteria: on the others one of the two has no score"


def _adjusted(found: list[Contrast]) -> list[Contrast]:
    """Return contrasts of one family with their adjusted p, and the max-T p as rows of their own.

    Holm's, as long as it can get below .05: with n replicates no p is below 1 / (n + 1), times the size of the family.
    Beyond that the adjusted p is that of max-T, whose smallest value does not grow with the family.
    """
    if not found:
        return []
    p = np.array([np.nan if one.row.p is None else one.row.p for one in found])
    table = np.column_stack([one.draws for one in found])
    largest = max_t(table[0], table[1:])
    n_tests, n_draws = int((~np.isnan(p)).sum()), len(found[0].draws) - 1
    attainable = n_tests / (n_draws + 1)
    is_coarse = attainable >= SIGNIFICANT
    note = f"by max-T: with {n_draws} replicates Holm over {n_tests} cannot get below {attainable:.2g}"
    # Where no replicate has all differences there is no max-T; Holm then stands, and nothing is clear unadjusted.
    adjusted = np.where(np.isnan(largest), holm(p), largest) if is_coarse else holm(p)
    out = []
    for one, value, by_max_t in zip(found, adjusted, largest, strict=True):
        row = one.row if np.isnan(value) else replace(one.row, p_adjusted=float(value))
        if is_coarse and not np.isnan(by_max_t):
            row = replace(row, note=joined(row.note, note))
        out.append(Contrast(row, one.draws))
    if len(found) == 1:
        return out
    for one, value in zip(found, largest, strict=True):
        if not np.isnan(value):
            told = "the estimate is the p value adjusted by max-T over the family; a test has no interval"
            row = Row("contrasts", one.row.keys, "p_max_t", float(value), unit=one.row.unit, p=float(value), note=told)
            out.append(Contrast(replace(row, attainable_p=1 / len(one.draws)), one.draws))
    return out


def _families(run: Run) -> dict[tuple[str, str, str], list[int]]:
    """Return the arms that differ in their system alone, by the protocol that they share."""
    out: dict[tuple[str, str, str], list[int]] = {}
    for position, one in enumerate(run.contenders):
        key = (str(one.keys["readout"]), str(one.keys["phrasing"]), str(one.keys["variant"]))
        out.setdefault(key, []).append(position)
    return out


def _system_keys(run: Run, contrast: str, i: int, j: int) -> dict[str, Key]:
    a, b = run.contenders[i].keys, run.contenders[j].keys
    shared = {name: a[name] for name in ("readout", "phrasing", "variant")}
    path = run.path_keys(run.path, run.measure)
    return {"contrast": contrast, "of": run.measure.name, **shared, "a": a["system"], "b": b["system"], **path}


def _anchor_keys(run: Run, contrast: str, i: int, anchor: str) -> dict[str, Key]:
    of = run.contenders[i].keys
    return {"contrast": contrast, "of": run.measure.name, **of, "a": of["system"], "b": anchor, **run.path.keys}


def system_contrasts(run: Run, over: str) -> list[Contrast]:
    """Return the differences of every two systems under one protocol."""
    out: list[Contrast] = []
    store = run.stores[over]
    for members in _families(run).values():
        for scope in run.headlines:
            family = []
            for i, j in itertools.combinations(members, 2):
                keys = _system_keys(run, "system", i, j)
                family.append(_difference(run, keys, run.arm(i, store=store), run.arm(j, store=store), scope, over))
            out += _adjusted(family)
    return out


def anchor_contrasts(run: Run, over: str) -> list[Contrast]:
    """Return the difference of every arm from every anchor; only for quadratic kappa, which anchors are in."""
    if run.measure.name != "kappa_quadratic":
        return []
    out: list[Contrast] = []
    store = run.stores[over]
    for name in run.anchors:
        for members in _families(run).values():
            for scope in run.headlines:
                family = []
                for i in members:
                    keys = _anchor_keys(run, "anchor", i, name)
                    note = _whom(run, over)
                    a, b = run.arm(i, store=store), run.anchor(name, store=store)
                    family.append(_difference(run, keys, a, b, scope, over, note))
                out += _adjusted(family)
    return out


def protocol_pairs(run: Run) -> list[tuple[str, int, int]]:
    """Return the pairs of arms of one system that differ in one thing: its name, and the two arms."""
    out = []
    arms = [one.arm for one in run.contenders]
    for i, j in itertools.combinations(range(len(arms)), 2):
        a, b = arms[i], arms[j]
        if a is None or b is None or a.system != b.system:
            continue
        told = a.differs_from(b)
        if len(told) == 1 and told[0] in PROTOCOL_CONTRASTS:
            # The same way round for every system, whatever the order of its rows: plain first, then as they appear.
            order = ["", *(getattr(one, told[0]) for one in arms if one is not None)]
            is_turned = order.index(getattr(a, told[0])) > order.index(getattr(b, told[0]))
            out.append((told[0], j, i) if is_turned else (told[0], i, j))
    return [*out, *_across_readouts(run, out)]


def _across_readouts(run: Run, pairs: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return pairs of arms of readouts that share no wording, as asking and reading off do: the first arm of each."""
    arms = [one.arm for one in run.contenders]
    known = {
        frozenset((str(run.contenders[i].keys["readout"]), str(run.contenders[j].keys["readout"])))
        for what, i, j in pairs
        if what == "readout"
    }
    first: dict[str, dict[str, int]] = {}
    for place, arm in enumerate(arms):
        if arm is not None and arm.is_plain and arm.readout not in DERIVED:
            first.setdefault(arm.system, {}).setdefault(arm.readout, place)
    order = list(dict.fromkeys(arm.readout for arm in arms if arm is not None))
    out = []
    for of_system in first.values():
        for a, b in itertools.combinations(sorted(of_system, key=order.index), 2):
            if frozenset((a, b)) not in known:
                out.append(("readout", of_system[a], of_system[b]))
    return out


def protocol_contrasts(run: Run) -> list[Contrast]:
    """Return the differences that a readout, phrasing, prefill, attempt or control makes within each system."""
    families: dict[tuple[str, ...], list[Contrast]] = {}
    for what, i, j in protocol_pairs(run):
        keys, note = _protocol_keys(run, what, i, j), _wordings(run, i, j)
        for scope in run.headlines:
            of_family = (what, str(keys["a"]), str(keys["b"]), str(scope))
            found = _difference(run, keys, run.arm(i), run.arm(j), scope, run.over, note)
            families.setdefault(of_family, []).append(found)
    return [one for family in families.values() for one in _adjusted(family)]


def _protocol_keys(run: Run, what: str, i: int, j: int) -> dict[str, Key]:
    a, b = run.contenders[i], run.contenders[j]
    shared: dict[str, Key] = {
        name: a.keys[name] if a.keys[name] == b.keys[name] else "" for name in ("system", "readout", "phrasing")
    }
    variants = {"" if one.arm is None else one.arm.variant_without(what) for one in (a, b)}
    shared["variant"] = variants.pop() if len(variants) == 1 else ""
    named = [str(getattr(one.arm, what)) or ("first" if what == "attempt" else "plain") for one in (a, b)]
    path = run.path_keys(run.path, run.measure)
    return {"contrast": what, "of": run.measure.name, **shared, "a": named[0], "b": named[1], **path}


def _wordings(run: Run, i: int, j: int) -> str:
    """Return under which wordings two readouts are compared that share none; blank for all other pairs."""
    a, b = run.contenders[i].arm, run.contenders[j].arm
    if a is None or b is None or len(a.differs_from(b)) == 1:
        return ""
    told = [", ".join(part for part in (one.phrasing, one.variant) if part) or "plain" for one in (a, b)]
    return f"each readout under its own first wording: {told[0]} against {told[1]}"


def _matched(run: Run) -> list[Row]:
    """Return contrasts of arms again on the items that both answered, where what they answered differs.

    Of protocols of one system wherever it differs at all; of systems where less than `COMMON` of an arm's answers are
    to items that the other answered, too.
    """
    if run.measure.name != "kappa_quadratic":
        return []
    note = "both arms on the items that both answered"
    rows = []
    for what, i, j in protocol_pairs(run):
        masks, share = _common(run, i, j)
        if share < 1:
            first, second = _on_common(run, i, j, masks)
            keys = {**_protocol_keys(run, what, i, j), "contrast": f"{what}_matched"}
            said = joined(note, _wordings(run, i, j))
            rows += [_difference(run, keys, first, second, scope, run.over, said).row for scope in run.headlines]
    for members in _families(run).values():
        found: dict[Scope, list[Contrast]] = {scope: [] for scope in run.headlines}
        for i, j in itertools.combinations(members, 2):
            masks, share = _common(run, i, j)
            if share >= COMMON:
                continue
            first, second = _on_common(run, i, j, masks)
            keys = _system_keys(run, "system_matched", i, j)
            for scope in run.headlines:
                found[scope].append(_difference(run, keys, first, second, scope, run.over, note))
        rows += [one.row for family in found.values() for one in _adjusted(family)]
    return rows


def _common(run: Run, i: int, j: int) -> tuple[list[npt.NDArray[np.bool_]], float]:
    """Return the items that two arms both answered, and the smallest share that they are of either arm's."""
    pairs = list(zip(run.contenders[i].answered, run.contenders[j].answered, strict=True))
    masks = [~np.isnan(x.values) & ~np.isnan(y.values) for x, y in pairs]
    sizes = [max(len(x.present), len(y.present)) for x, y in pairs]
    shares = [mask.sum() / size for mask, size in zip(masks, sizes, strict=True) if size]
    return masks, float(min(shares, default=1.0))


def matched_anchor_rows(run: Run) -> list[Row]:
    """Return the difference of arms from anchors again on the arm's own items, where those are not nearly all."""
    if run.measure.name != "kappa_quadratic":
        return []
    families: dict[tuple[str, str, Scope], list[Contrast]] = {}
    for i, one in enumerate(run.contenders):
        pairs = list(zip(one.answered, run.field.criteria, strict=True))
        shares = [len(x.present) / max(int((of.count > 0).sum()), 1) for x, of in pairs if len(x.present)]
        if not shares or min(shares) >= COMMON or one.arm is None or not one.arm.is_plain:
            continue
        masks = [~np.isnan(x.values) for x in one.answered]
        for over, store in run.stores.items():
            for name in run.anchors:
                series = np.full(run.arm(i, store=store).shape, np.nan)
                for start, weights, raters in store.draws.blocks():
                    for position, of in enumerate(run.field.criteria):
                        opponents = Opponents(of, weights * masks[position], raters)
                        here = slice(start, start + len(weights))
                        series[here, position] = anchor_kappa(name, opponents, run.path, run.folds)
                keys = _anchor_keys(run, "anchor_matched", i, name)
                note = f"the anchor on the arm's own items; {_whom(run, over)}"
                own = run.arm(i, store=store)
                for scope in run.headlines:
                    found = _difference(run, keys, own, series, scope, over, note)
                    families.setdefault((over, name, scope), []).append(found)
    return [one.row for family in families.values() for one in _adjusted(family)]


def _whom(run: Run, over: str) -> str:
    if "rater" not in over:
        return "for these raters"
    return too_few_raters(run.field.n_raters) or "for raters of this kind"


def _on_common(run: Run, i: int, j: int, masks: Sequence[npt.NDArray[np.bool_]]) -> list[FloatArray]:
    """Return series of two arms on common items, on the draws of the run."""
    pair = [run.contenders[i].answered, run.contenders[j].answered]
    limited = [[one.only(mask) for one, mask in zip(of, masks, strict=True)] for of in pair]
    out = [np.full(run.arm(i).shape, np.nan) for _ in limited]
    for start, weights, raters in run.store.draws.blocks():
        here = slice(start, start + len(weights))
        for position, criterion in enumerate(run.field.criteria):
            opponents = Opponents(criterion, weights, raters)
            for series, of in zip(out, limited, strict=True):
                series[here, position] = kappa(of[position], opponents, run.path, run.folds)
    return out


def _leakage(run: Run) -> list[Contrast]:
    """Return what a calibration fitted to the very items that it scores adds: oracle minus held-out, paired.

    A redrawn table has fewer different items, and on fewer items a calibration leaks more: in simulation (60 and 150
    items) replicates centred on 1.6 to 2.5 times the leak. They are moved to the leak of the sample itself, for the
    interval as for the test; what is left is wide: 95 % intervals held the mean leak in all of 480 tables.
    """
    if run.path.calibration != "rank" or run.measure.name != "kappa_quadratic":
        return []
    oracle, held_out = (replace(run.path, fit=fit) for fit in ("oracle", "held_out"))
    if oracle not in run.paths or held_out not in run.paths:
        return []
    out: list[Contrast] = []
    for scope in run.headlines:
        family = []
        for i, one in enumerate(run.contenders):
            keys: dict[str, Key] = {
                "contrast": "fit",
                "of": run.measure.name,
                **one.keys,
                "a": "oracle",
                "b": "held_out",
                **run.path.keys,
                "fit": "",
            }
            a, b = run.arm(i, oracle), run.arm(i, held_out)
            family.append(_difference(run, keys, a, b, scope, run.over, is_centred=True))
        out += _adjusted(family)
    return out


def _ranges(run: Run, points: Points) -> list[Row]:
    """Return how far apart the tie rules, and the two targets, lie for each arm."""
    rows = []
    for one in run.contenders:
        for scope in run.headlines:
            for what, other in (("ties", "target"), ("target", "ties")):
                here = {
                    path: value
                    for (arm, of, path), value in points.items()
                    if arm == tuple(one.keys.values())
                    and of == scope
                    and getattr(path, other) == getattr(run.path, other)
                    and not np.isnan(value)
                }
                if len(here) < 2:
                    continue
                low, high = min(here, key=here.__getitem__), max(here, key=here.__getitem__)
                keys: dict[str, Key] = {
                    "contrast": what,
                    "of": run.measure.name,
                    **one.keys,
                    "a": getattr(high, what),
                    "b": getattr(low, what),
                    **scope.keys,
                    **run.path.keys,
                    what: "",
                }
                note = "the highest less the lowest of the choices; a range of choices has no sampling error of its own"
                rows.append(run.without_interval("contrasts", keys, "difference", here[high] - here[low], note=note))
    return rows
