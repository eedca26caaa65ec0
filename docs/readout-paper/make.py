"""The published figures of the readout paper as a result, shown as any run's are: published numbers, not a run.

Writes report.html and report.md beside itself: python docs/readout-paper/make.py
"""

import json
from pathlib import Path

from measurand.reporting import render_pages
from measurand.result import Result, Row

HERE = Path(__file__).parent
TITLE = "Published figures: The Failure Is in the Readout (arXiv 2610.08162)"
NO_INTERVAL = "published without an interval"


def published() -> Result:
    """Return the published figures as rows; an interval only where one was printed."""
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
    for one in given["models"]:
        for readout in ("verification", "generative"):
            keys = {"system": one["system"], "readout": readout, "set": "reliable", **path}
            ends = (one["low"], one["high"]) if readout == "verification" else (None, None)
            add("scores", keys, "kappa_quadratic", one[readout], *ends)
        keys = {"system": one["system"], "readout": "verification", "set": "reliable"}
        add("scores", {**keys, **plain}, "kappa_quadratic", one["uncalibrated"])
        add("scores", {**keys, **plain}, "average_precision", one["average_precision"])
    for name, kappa, *_ in given["published_systems"]:
        add("scores", {"system": name, "readout": "published answers", "set": "reliable", **path}, "kappa_quadratic", kappa)
    for name, (kappa,) in given["baselines"].items():
        add("baselines", {"baseline": name, "set": "reliable", **path}, "kappa_quadratic", kappa)
    for name, (kappa, low, high) in given["anchors"].items():
        add("anchors", {"anchor": "pairwise", "set": name, **plain}, "kappa_quadratic", kappa, low, high)
    for one in given["criteria"]:
        add("criteria", {"criterion": one["criterion"]}, "alpha_interval", one["alpha_interval"])
        keys = {"anchor": "pairwise", "criterion": one["criterion"], **plain}
        add("anchors", keys, "kappa_quadratic", one["pairwise"])
        keys = {"system": "mean of eleven", "readout": "verification", "criterion": one["criterion"], **path}
        add("scores", keys, "kappa_quadratic", one["mean_verification"])
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
    settings = {
        "path": "rank, oracle, target consensus, ties index, pooled",
        "scale": {"": given["scale"]},
        "reliable": 0.3,
        **sample,
        "n_criteria": len(given["criteria"]),
        "n_systems": len(given["models"]) + len(given["published_systems"]),
        "over": ["item"],
        "source": given["source"],
    }
    names = dict.fromkeys(row.analysis for row in rows)
    return Result(rows, {name: settings if name == "scores" else {} for name in names})


if __name__ == "__main__":
    shown = {"source": json.loads((HERE / "published.json").read_text(encoding="utf-8"))["source"]}
    html, markdown = render_pages(published(), title=TITLE, reproduce=shown)
    (HERE / "report.html").write_text(html, encoding="utf-8", newline="\n")
    (HERE / "report.md").write_text(markdown, encoding="utf-8", newline="\n")
