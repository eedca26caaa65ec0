"""The published figures of the readout paper as a result, shown as any run's are: published numbers, not a run.

Writes report.html and report.md, and benchmark.md with the benchmark's own systems, beside itself: python
docs/readout-paper/make.py
"""

import json
from pathlib import Path

from measurand.reporting import render_pages
from measurand.result import Result, Row

HERE = Path(__file__).parent
TITLE = "Published figures: The Failure Is in the Readout (arXiv 2610.08162)"
MEAN = "mean of the eleven"
NO_INTERVAL = "published without an interval"


def published(*, of_benchmark: bool = False) -> Result:
    """Return the published figures as rows; an interval only where one was printed.

    The eleven models under two readouts, or the fourteen systems that the benchmark itself published, scored again.
    """
    given = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
    path, sample = given["path"], {"n_items": given["n_items"], "n_raters": given["n_raters"]}
    rows = []

    def add(analysis, keys, statistic, estimate, low=None, high=None):
        if low is None:
            rows.append(Row(analysis, keys, statistic, estimate, note=NO_INTERVAL, **sample))
            return
        method = "percentile bootstrap, refitted"
        rows.append(Row(analysis, keys, statistic, estimate, low, high, 0.95, method, "item", **sample))

    plain = {"calibration": "none", "fit": "", "target": "", "ties": "", "aggregate": "pooled"}
    for name, kappa, *_ in given["published_systems"] if of_benchmark else []:
        add("scores", {"system": name, "set": "reliable", **path}, "kappa_quadratic", kappa)
    models = [] if of_benchmark else given["models"]
    for one in models:
        for readout in ("verification", "generative"):
            keys = {"system": one["system"], "readout": readout, "set": "reliable", **path}
            ends = (one["low"], one["high"]) if readout == "verification" else (None, None)
            add("scores", keys, "kappa_quadratic", one[readout], *ends)
        keys = {"system": one["system"], "readout": "verification", "set": "reliable"}
        add("scores", {**keys, **plain}, "kappa_quadratic", one["uncalibrated"])
        add("scores", {**keys, **plain}, "average_precision", one["average_precision"])
    for name, (kappa,) in given["baselines"].items():
        add("baselines", {"baseline": name, "set": "reliable", **path}, "kappa_quadratic", kappa)
    for name, (kappa, low, high) in given["anchors"].items():
        add("anchors", {"anchor": "pairwise", "set": name, **plain}, "kappa_quadratic", kappa, low, high)
    for one in given["criteria"]:
        add("criteria", {"criterion": one["criterion"]}, "alpha_interval", one["alpha_interval"])
        keys = {"anchor": "pairwise", "criterion": one["criterion"], **plain}
        add("anchors", keys, "kappa_quadratic", one["pairwise"])
        if not of_benchmark:
            keys = {"system": MEAN, "readout": "verification", "criterion": one["criterion"], **path}
            add("scores", keys, "kappa_quadratic", one["mean_verification"])
    if of_benchmark:
        return _whole(rows, given, len(given["published_systems"]))
    for name, kappa in given["mean_of_eleven"].items():
        add("scores", {"system": MEAN, "readout": "verification", "set": name, **path}, "kappa_quadratic", kappa)
    for one in given["anchor_contrasts"]:
        keys = {"contrast": "anchor", "of": "kappa_quadratic", "system": one["system"], "readout": "verification"}
        keys |= {"a": one["system"], "b": one["anchor"], "set": "reliable", **path}
        add("contrasts", keys, "difference", one["estimate"], one["low"], one["high"])
    keys = {"contrast": "readout", "of": "kappa_quadratic", "a": "verification", "b": "generative", "set": "reliable"}
    gain = given["gain"]
    add("contrasts", {**keys, **path}, "difference", gain["estimate"], gain["low"], gain["high"])
    for readout, figures in given["spread"].items():
        keys = {"of": readout, "set": "reliable", **path}
        add("spread", keys, "sd_between_systems", figures["sd"])
        add("spread", keys, "median_interval_width", figures["width"])
    keys = {"of": "verification", "set": "reliable", **path}
    add("spread", keys, "n_pairs", given["pairs"]["n"])
    add("spread", keys, "pairs_separated_marginal", given["pairs"]["separated_marginal"])
    return _whole(rows, given, len(models))


def _whole(rows, given, n_systems):
    settings = {
        "path": "rank, oracle, target consensus, ties index, pooled",
        "scale": {"": given["scale"]},
        "reliable": 0.3,
        "n_items": given["n_items"],
        "n_raters": given["n_raters"],
        "n_criteria": len(given["criteria"]),
        "n_systems": n_systems,
        "over": ["item"],
    }
    names = dict.fromkeys(row.analysis for row in rows)
    found = Result(rows, {name: settings if name == "scores" else {} for name in names})
    # As a reader of results.json has it: every key there, blank where it says nothing.
    return Result.from_json(found.to_json())


if __name__ == "__main__":
    shown = {"source": json.loads((HERE / "published.json").read_text(encoding="utf-8"))["source"]}
    html, markdown = render_pages(published(), title=TITLE, reproduce=shown)
    (HERE / "report.html").write_text(html, encoding="utf-8", newline="\n")
    _, own = render_pages(published(of_benchmark=True), title=f"{TITLE}: the benchmark's own systems", reproduce=shown)
    (HERE / "benchmark.md").write_text(own, encoding="utf-8", newline="\n")
    (HERE / "report.md").write_text(markdown, encoding="utf-8", newline="\n")
