"""What would a wanted reliability take? The cheapest panel of each layout, by the estimate and with confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from measurand.auditing.components import PIVOT_DRAWS
from measurand.data.panel import Panel
from measurand.data.ratings import Ratings
from measurand.planning.designs import LAYOUTS, Bounds, Costs, checked
from measurand.planning.findings import layout_pays, target_reachable
from measurand.planning.measured import Measured, check_confidence, measured
from measurand.planning.reliable import SEARCHED, Asked, rows_of
from measurand.result import Finding, MeasurandError, Result, Row

MOST_RATERS: Final = 200
MOST_ITEMS: Final = 2_000


def plan(
    ratings: Ratings | Sequence[Panel] | Sequence[Measured] | Any,
    *,
    target: float = 0.8,
    cost_rater: float = 0.0,
    cost_item: float = 0.0,
    cost_judgement: float = 1.0,
    layouts: Sequence[str] = LAYOUTS,
    most_raters: int = MOST_RATERS,
    most_items: int = MOST_ITEMS,
    most_per_rater: int | None = None,
    coefficient: str = "g",
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = PIVOT_DRAWS,
) -> Result:
    """Return the cheapest panels that would rank the systems reliably.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        A first panel, complete or not, from which the components are estimated; see `measurand.read_ratings`.
    target : float
        The coefficient that is wanted, above 0 and below 1.
    cost_rater, cost_item, cost_judgement : float
        Of each rater, each item, and each rating of one system's output; any unit. The default counts judgements.
    layouts : sequence of str
        ``"crossed"``: every rater rates every item. ``"rotating"``: every item is rated by some of the raters.
        ``"nested"``: each rater has items of their own. Everybody rates all systems on an item, and equally many items.
    most_raters, most_items : int
        The largest panel that could be had.
    most_per_rater : int or None
        Judgements that one rater could give: no design asks for more. None for any number.
    coefficient : {"g", "phi"}
        G for differences between systems, Phi for their levels.
    confidence, seed, draws
        As for `measurand.auditing.components`.

    Returns
    -------
    Result
        Analysis `plan`, for every estimator of `measurand.generalizability`. A design is named by `layout`,
        `at_raters`, `at_items`, `at_items_per_rater`, and has `g` (or `phi`), `cost`, `n_judgements` and, where a
        target is asked for, `probability_reached`. `n_systems` are those of the panel. `basis` says why: ``as_rated``
        the panel itself; ``estimate`` the cheapest of its layout that reaches the target by the estimate;
        ``lower_limit`` the cheapest whose lower limit reaches it; ``same_cost`` the best of its layout for what the
        panel itself cost (with `error_variance`); ``front`` the cheapest of any layout for each of `LEVELS`, and of
        designs that cost the same the best, so that nothing is both cheaper and better. `cost_needed` is the cheapest
        cost that reaches the target, its interval over items, systems and raters of this kind; infinite where no
        design within bounds does. Findings `target-reachable` and `layout-pays`.

    Raises
    ------
    MeasurandError
        Targets, costs, layouts or bounds with which nothing can be planned.

    Notes
    -----
    Error variances are those of `measurand.stats.layouts`. All designs within bounds are tried, under the estimate and
    for ``lower_limit`` on all draws. Draws for designs are evenly spread on complete panels (at least `draws`, see
    `measurand.planning.draws`), so that seeds hardly differ; `probability_reached` has two standard errors of the
    drawing as its range, ``lower_limit`` is the cheapest design whose probability exceeds the level by as much, and the
    range of its cost runs from that of the cheapest design whose probability exceeds the level less two standard errors
    to its own. It ends at infinity where no design exceeds the level by two of them; the design is then the cheapest
    that exceeds it at all. The interval of `cost_needed` is over `searched_draws`, for each of which all numbers of
    raters are tried, and of raters for an item every number up to 20 and every tenth part more above. It ends at the
    price of the ``lower_limit`` design at the latest, which does in all draws within it. Rotating designs have two
    items for a rater at least, which connect all raters.

    References
    ----------
    Brennan (2001), Generalizability Theory, sections 4.1.3 and 7.2; Marcoulides and Goldstein (1990), Educational and
    Psychological Measurement 50, 761-768 (the least cost of a wanted coefficient).

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> found = plan(two_emojis_panel().ratings, cost_rater=20, cost_item=1, cost_judgement=0.1, draws=1000)
    >>> found.value("plan", "cost_needed", {"estimator": "anova", "layout": "rotating"})
    inf
    >>> cheapest = found.select("plan", "cost", {"estimator": "plugin", "basis": "estimate"})
    >>> [(row.keys["layout"], row.keys["at_raters"], row.keys["at_items"]) for row in cheapest]
    [('rotating', 42, 224), ('nested', 45, 495), ('crossed', 43, 75)]
    """
    if not 0 < target < 1:
        raise MeasurandError(f"target {target:g}; give a coefficient above 0 and below 1")
    if coefficient not in ("g", "phi"):
        raise MeasurandError(f"coefficient {coefficient!r}; allowed are g and phi")
    check_confidence(confidence)
    rows: list[Row] = []
    findings: list[Finding] = []
    checked(Costs(cost_rater, cost_item, cost_judgement, 2), layouts, Bounds(most_raters, most_items))
    for about in measured(ratings, seed=seed, draws=draws, is_absolute=coefficient == "phi"):
        panel = about.panel
        costs = Costs(cost_rater, cost_item, cost_judgement, panel.n_systems)
        bounds = Bounds(most_raters, most_items, most_per_rater, panel.n_systems)
        checked(costs, layouts, bounds)
        asked = Asked(coefficient, target, costs, tuple(dict.fromkeys(layouts)), bounds, confidence)
        of_panel = rows_of(about, asked)
        rows += of_panel
        reachable = target_reachable(of_panel, panel.criterion, target=target, of=coefficient, bounds=str(bounds))
        is_sure = reachable.verdict == "pass"
        findings += [reachable, layout_pays(of_panel, panel.criterion, target_is_sure=is_sure)]
    settings = {
        "target": target,
        "cost_rater": cost_rater,
        "cost_item": cost_item,
        "cost_judgement": cost_judgement,
        "layouts": list(dict.fromkeys(layouts)),
        "most_raters": most_raters,
        "most_items": most_items,
        "most_per_rater": most_per_rater,
        "coefficient": coefficient,
        "confidence": confidence,
        "seed": seed,
        "draws": draws,
        "searched_draws": SEARCHED,
    }
    return Result(rows, {"plan": settings}, findings)
