"""A scoring run as one of more criteria and systems, for what only its size can show."""

import itertools
from dataclasses import replace

from measurand.result import Result


def enlarged(result, n_criteria, n_systems):
    """The same run as one of more criteria and systems: every row as often as there are of them."""
    of_scores = [row.keys for row in result.rows if row.analysis == "scores"]
    criteria = list(dict.fromkeys(keys["criterion"] for keys in of_scores if keys["criterion"]))
    systems = list(dict.fromkeys(keys["system"] for keys in of_scores))
    new = {one: [f"vendor/model-{n:03d}" for n in range(i, n_systems, len(systems))] for i, one in enumerate(systems)}
    named = {
        one: [f"criterion number {n:03d}" for n in range(i, n_criteria, len(criteria))]
        for i, one in enumerate(criteria)
    }
    pairs = list(itertools.combinations(sorted(itertools.chain(*new.values())), 2))
    rows = []
    for row in result.rows:
        keys = row.keys
        # A run of many criteria has contrasts over sets of them alone.
        if row.analysis == "contrasts" and keys["criterion"] and n_criteria > len(criteria):
            continue
        if str(keys.get("contrast", "")).startswith("system"):
            if (keys["a"], keys["b"]) == tuple(systems[:2]):
                rows += [replace(row, keys={**keys, "a": a, "b": b}) for a, b in pairs]
            continue
        own = keys.get("system", "")
        for criterion in named.get(keys.get("criterion", ""), [keys.get("criterion", "")]):
            for system in new.get(own, [own]):
                changed = {name: system for name in ("system", "a", "b") if own and keys.get(name) == own}
                if "criterion" in keys:
                    changed["criterion"] = criterion
                rows.append(replace(row, keys={**keys, **changed}))
    return Result(rows, result.settings, result.findings)
