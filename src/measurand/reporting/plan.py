"""The page of a plan: the verdict in words, and its chapters, for one criterion or for several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting import plan_designs, plan_facets
from measurand.reporting.blocks import Block, Bullets, Part, Section, Terms, Text
from measurand.reporting.plan_designs import in_words, over_criteria
from measurand.reporting.plan_view import Designed, Plan, cheapest
from measurand.reporting.words import begin, joined
from measurand.result import Row, show_interval, show_number
from measurand.result.digits import show_estimate
from measurand.result.words import called, clean, plural, shorten
from measurand.sentences import money, share, short, spread_of

#: Up to so many criteria have figures, and up to so many their own tables.
MOST_WITH_FIGURES: Final = 4
MOST_WITH_TABLES: Final = 8
_NAME: Final = 32
#: A share of the error that is not worth a word.
_NOTHING: Final = 0.005
_LEFT_OUT: Final = (
    f"With more than {MOST_WITH_TABLES} criteria the other tables and the figures are left out of this page: every "
    "number is in results.json and in tables/plan.csv and tables/power.csv."
)


def headline(view: Plan) -> str:
    """Return what was measured, what is wanted, and what it costs, in one line."""
    if not view.criteria:
        return "An empty plan."
    wanted = f"wanted: {view.wanted}"
    several = [f"{len(view.criteria)} criteria"] if len(view.criteria) > 1 else []
    if view.formula:
        at = next((row for name in view.criteria if (row := view.first(name, "plan", "g")) is not None), None)
        sizes = "" if at is None else f" ({clean(at.keys['at']).replace('=', ' ')})"
        return "; ".join([*several, f"{shorten(view.formula, 80)}{sizes}", wanted])
    if several:
        return "; ".join([*several, wanted, _costs(view)])
    items, raters = view.sample(view.criteria[0])
    sizes_ = ((items, "item"), (view.n_systems(view.criteria[0]), "system"), (raters, "rater"))
    rated = " × ".join(plural(size, noun) for size, noun in sizes_ if size)
    return "; ".join(part for part in (rated, wanted, _costs(view)) if part)


def _costs(view: Plan) -> str:
    if not view.is_priced:
        return "cost counted in judgements"
    told = [
        f"{show_number(cost)} {noun}"
        for key, noun in (("cost_rater", "a rater"), ("cost_item", "an item"), ("cost_judgement", "a judgement"))
        if (cost := float(view.asked(key, 0)))
    ]
    return f"costs: {', '.join(told)}"


def lead(view: Plan) -> list[str]:
    """Return the verdict in up to three sentences: what the target takes, how sure that is, what can be found."""
    if not view.criteria:
        return []
    if view.formula:
        return _of_facets(view)
    if len(view.criteria) > 1:
        return _of_many(view)
    criterion = view.criteria[0]
    if fault := view.fault(criterion):
        return [f"Nothing can be planned from these ratings ({clean(fault)})."]
    return [one for one in (_reached(view, criterion), _sure_of(view, criterion), _found(view, criterion)) if one]


def _reached(view: Plan, criterion: str) -> str:
    designs = view.designs(criterion, "estimate")
    if not designs:
        return ""
    estimate, sure = cheapest(designs), cheapest(view.designs(criterion, "lower_limit"))
    if estimate is not None and sure is not None:
        return (
            f"{view.wanted} costs {_price(estimate)} by the estimate ({in_words(estimate)}), and {_price(sure)} to be "
            f"sure of it with {view.confidence} confidence ({in_words(sure)})."
        )
    if estimate is not None:
        return (
            f"By the estimate {view.wanted} costs {_price(estimate)} ({in_words(estimate)}), but no layout within "
            f"{view.bounds} is sure to reach it."
        )
    if sure is not None:
        return f"To be sure of {view.wanted} costs {_price(sure)} ({in_words(sure)})."
    why = clean(designs[0].undefined).partition(": ")[2] or clean(designs[0].undefined)
    return f"No layout within {view.bounds} reaches {view.wanted} by the estimate: {why}."


def _price(design: Designed) -> str:
    return design.price


def _sure_of(view: Plan, criterion: str) -> str:
    """Return the range of the price, and what another layout would have bought for the same money."""
    needed, own = view.needed(criterion), view.as_rated(criterion)
    said = []
    if needed is not None and needed.low is not None and needed.high is not None:
        low, high = money(needed.low), money(needed.high)
        if math.isinf(needed.low):
            told = "would not do within the bounds, either"
        elif math.isinf(needed.high):
            told = f"would cost {low} or more, and perhaps nothing within the bounds would do"
        else:
            told = f"would cost {low} to {high}"
        said.append(
            f"a panel cut to the true components, could they be known beforehand, {told} ({view.confidence} range)"
        )
    before = None if own is None else own.rows.get("error_variance")
    others = [one for one in view.designs(criterion, "same_cost") if "error_variance" in one.rows]
    if own is not None and before is not None and before.estimate > 0 and others:
        verdict, layout = _of_layouts(view, criterion)
        named = [one for one in others if one.layout == layout]
        best = min(named or others, key=lambda one: one.rows["error_variance"].estimate)
        saved = max(1 - best.rows["error_variance"].estimate / before.estimate, 0.0)
        if saved < _NOTHING:
            bought = ", no panel of another layout would have less error"
        elif verdict == "pass":
            bought = f" no panel of another layout would have much less error ({share(saved)}: {in_words(best)})"
        else:
            bought = f", {in_words(best)}, would have {share(saved)} less error"
            if verdict == "undetermined":
                bought += " by the estimate, but fewer raters are not advised while the target is not sure"
        said.append(f"for what this panel cost ({_price(own)}){bought}")
    return f"{begin('; '.join(said))}." if said else ""


def _of_layouts(view: Plan, criterion: str) -> tuple[str, str]:
    """Return the verdict of the finding of layouts, and the layout that it speaks of beside the panel's own."""
    found = [one for one in view.result.findings if one.id == "layout-pays" and one.criterion == criterion]
    if not found:
        return "", ""
    layouts = [str(row.get("layout", "")) for row in found[0].rows]
    return found[0].verdict, layouts[1] if len(layouts) > 1 else ""


def _found(view: Plan, criterion: str) -> str:
    least = view.first(criterion, "power", "smallest_difference", {"unit": "item+rater"})
    if least is None or least.undefined:
        return ""
    power = f"{100 * float(view.settings('power').get('power', 0.8)):g} %"
    ends = f" ({spread_of(least)})" if spread_of(least) else ""
    said = (
        f"Two systems must differ by {show_estimate(least)}{ends} for this panel to find it with "
        f"{power} power, items and raters being random"
    )
    designs = view.designs(criterion, "", analysis="power")
    if designs:
        difference = short(float(designs[0].keys["difference"]))
        best = cheapest(designs)
        if best is None:
            said += f"; no layout within {view.bounds} finds {difference}"
        else:
            said += f"; to find {difference} costs {_price(best)} by the estimate ({in_words(best)})"
    return f"{said}."


def _of_many(view: Plan) -> list[str]:
    """Return the verdict over several criteria."""
    names: dict[str, list[str]] = {"sure": [], "bet": [], "none": [], "open": []}
    costs: list[tuple[float, str]] = []
    for criterion in view.criteria:
        best = cheapest(view.designs(criterion, "estimate"))
        if best is not None:
            costs.append((best.cost or 0.0, criterion))
        if view.fault(criterion) or view.needed(criterion) is None:
            names["open"].append(criterion)
        elif cheapest(view.designs(criterion, "lower_limit")) is not None:
            names["sure"].append(criterion)
        else:
            names["none" if best is None else "bet"].append(criterion)
    said = []
    if view.settings("plan"):
        counted = [
            f"for {len(names[kind])} {words}"
            for kind, words in (("sure", "for sure"), ("bet", "by the estimate alone"), ("none", "not at all"))
            if names[kind]
        ]
        unplanned = f"; {len(names['open'])} cannot be planned" if names["open"] and counted else ""
        reached = f"a panel of at most {view.bounds} reaches {view.wanted} {joined(counted)}{unplanned}"
        said.append(f"Of {len(view.criteria)} criteria, {reached if counted else 'none can be planned'}.")
    if len(costs) > 1:
        (low, cheap), (high, dear) = min(costs), max(costs)
        said.append(f"By the estimate it costs from {money(low)} ({_name(cheap)}) to {money(high)} ({_name(dear)}).")
    elif costs:
        said.append(f"By the estimate it costs {money(costs[0][0])} for {_name(costs[0][1])}.")
    found = [
        (row.estimate, criterion)
        for criterion in view.criteria
        if (row := view.first(criterion, "power", "smallest_difference", {"unit": "item+rater"})) is not None
        and not row.undefined
    ]
    if found:
        (low, fine), (high, coarse) = min(found), max(found)
        said.append(
            f"The smallest difference between two systems that is found runs from {short(low)} ({_name(fine)}) to "
            f"{short(high)} ({_name(coarse)})."
        )
    return said


def _name(criterion: str) -> str:
    return called(shorten(criterion, _NAME))


def _of_facets(view: Plan) -> list[str]:
    """Return the verdict of a design of other facets; of several criteria that of the least reliable."""
    rows = [(row, name) for name in view.criteria if (row := view.first(name, "plan", "g")) is not None]
    known = [(row, name) for row, name in rows if not row.undefined]
    if not known:
        return [f"Nothing can be planned from these ratings ({clean(row.undefined)})." for row, _ in rows[:1]]
    g, criterion = min(known, key=lambda one: one[0].estimate)
    where = f"For {_name(criterion)}, the least reliable of {len(view.criteria)} criteria, " * (len(view.criteria) > 1)
    said = [begin(f"{where}G is {_ranged(g)} with this design's levels, where {view.wanted} is wanted.")]
    parts = sorted(view.rows(criterion, "plan", "error_share"), key=lambda row: -row.estimate)
    told = [f"{shorten(row.keys['component'], _NAME)} makes {share(row.estimate)}" for row in parts[:2] if row.estimate]
    if told:
        said.append(f"Of the error {joined(told)}.")
    sizes = plan_facets.sizes_of(g)
    needed = view.rows(criterion, "plan", "levels_needed")
    enough = [row for row in needed if not math.isinf(row.estimate)]
    ways = [_way(row, sizes) for row in enough if show_number(row.estimate) != sizes.get(str(row.keys["component"]))]
    if ways:
        target = float(view.asked("target", 0.8))
        is_sure = g.low is not None and g.low >= target
        start = "one facet alone would be enough" if g.estimate < target else "fewer levels of one facet would do"
        doubt = "" if is_sure or g.estimate < target else f", though the interval reaches below {view.wanted} even now"
        said.append(f"By the estimate {start}, the others as they are{doubt}: {'; '.join(ways)}.")
    elif needed and not enough:
        said.append(f"No single facet brings it to {view.wanted}, however many levels it has.")
    return said


def _way(row: Row, sizes: dict[str, str]) -> str:
    facet = str(row.keys["component"])
    return f"{shorten(facet, _NAME)} with {short(row.estimate)} in place of {sizes.get(facet, '–')}"


def _ranged(row: Row) -> str:
    return f"{show_estimate(row)} {show_interval(row)}".rstrip()


_Step = tuple[str, str, Callable[[Plan, str], list[Block]]]


def _steps(view: Plan, *, with_figures: bool) -> Sequence[_Step]:
    if view.formula:
        return (
            ("projections", "How reliable the design is, and would be", plan_facets.projections),
            ("levels", "What the target takes", plan_facets.levels),
            ("sizes", "What the target costs", plan_facets.sizes),
            (
                "components",
                "What the ratings depend on",
                lambda of, criterion: plan_facets.components(of, criterion, with_figure=with_figures),
            ),
        )
    return (
        ("designs", "What the target takes", plan_designs.designs),
        (
            "same-cost",
            "What the same money buys",
            lambda of, criterion: plan_designs.same_cost(of, criterion, with_figure=with_figures),
        ),
        (
            "front",
            "Cost against reliability",
            lambda of, criterion: plan_designs.front(of, criterion, with_figure=with_figures),
        ),
        ("power", "Which differences it finds", plan_designs.power),
    )


def sections(view: Plan) -> tuple[list[Section], list[Section]]:
    """Return the chapters before and after what is undefined, without the findings."""
    several = len(view.criteria) > 1
    steps = _steps(view, with_figures=len(view.criteria) <= MOST_WITH_FIGURES)
    first: list[Section] = []
    if several:
        blocks: list[Block] = [] if view.formula else [over_criteria(view)]
        if len(view.criteria) > MOST_WITH_TABLES:
            blocks.append(Text(_LEFT_OUT, small=True))
        first.append(Section("criteria", "Criterion by criterion", blocks))
    for name, title, step in steps:
        if not several:
            first += [Section(name, title, step(view, criterion)) for criterion in view.criteria]
        elif len(view.criteria) <= MOST_WITH_TABLES:
            parts = [
                Part(f"{name}-{number}", called(shorten(criterion, 80)), 3, found)
                for number, criterion in enumerate(view.criteria, start=1)
                if (found := step(view, criterion))
            ]
            first.append(Section(name, title, _once(parts)))
    words = _WORDS_OF_FACETS if view.formula else WORDS
    methods = _METHODS_OF_FACETS if view.formula else METHODS
    last = [
        Section("asked", "What was asked", _asked(view)),
        Section("words", "Words used", [Terms(words)]),
        Section("methods", "Methods and references", [Bullets(methods)]),
    ]
    return first, last


def _once(parts: Sequence[Part]) -> list[Block]:
    """Return the parts of several criteria, their common first paragraph once above them."""
    texts = {block.text for part in parts for block in part.blocks[:1] if isinstance(block, Text)}
    if len(texts) != 1:
        return list(parts)
    return [Text(texts.pop()), *(replace(part, blocks=part.blocks[1:]) for part in parts)]


_ASKED: Final = (
    ("cost_rater", "Cost of a rater"),
    ("cost_item", "Cost of an item"),
    ("cost_judgement", "Cost of a judgement (one rating of one system's output)"),
    ("difference", "Difference to be found, in units of the scale"),
    ("power", "Power"),
    ("alpha", "Level of the test"),
    ("formula", "Design"),
    ("object", "Differences wanted between levels of"),
    ("fixed", "Facets that keep these very levels"),
)


def _asked(view: Plan) -> list[Block]:
    pairs = [(f"Wanted {view.letter}", show_number(float(view.asked("target", 0.8))))] if view.settings("plan") else []
    for key, name in _ASKED:
        value = view.asked(key)
        if isinstance(value, list):
            value = joined([shorten(one) for one in value])
        if value in (None, ""):
            continue
        pairs.append((name, show_number(value) if isinstance(value, int | float) else shorten(value, 120)))
    if view.asked("layouts"):
        pairs.append(("Layouts", joined([clean(one) for one in view.asked("layouts")])))
        pairs.append(("The largest panel that could be had", view.bounds))
    pairs.append(("Level of intervals", view.confidence))
    return [Terms(pairs)]


WORDS: Final = (
    ("crossed", "every rater rates every item"),
    ("rotating", "every item is rated by some of the raters, each rater has some of the items, shared with others"),
    ("nested", "each rater has items of their own; no item has two raters, so that raters cannot be compared on one"),
    ("judgement", "one rating of one system's output by one rater; everybody rates all systems on an item"),
    ("G", "the share of the spread of system means that would come back with other items and raters: 1 is no error"),
    ("Phi", "the same for the systems' levels: raters' severity and items' difficulty count as error, too"),
    (
        "by the estimate",
        "with components as they are estimated from the first ratings; the truth may lie on either side",
    ),
    ("to be sure", "with the lower end of the interval of G at the target or above"),
    ("reached in", "the share of what the first ratings leave possible in which a panel reaches the target"),
    ("power", "how often a test finds a difference that is there"),
    (
        "interval",
        "the range that the data are compatible with, at the level stated, for items, systems and raters alike",
    ),
)
METHODS: Final = (
    "Error variances: each component over the effective number of its levels, the inverse of the sum of squares of "
    "their shares in what is judged; Brennan 2001, Generalizability Theory, sections 4.1.3 and 7.2.",
    "Cheapest panels: all layouts and sizes within the bounds; Marcoulides & Goldstein 1990, Educational and "
    "Psychological Measurement 50, 761-768. Intervals and “reached in”: draws of generalised pivotal quantities of the "
    "components; Weerahandi 1993, Journal of the American Statistical Association 88, 899-905.",
    "Differences: √(2 × error variance), Satterthwaite's degrees of freedom, taken as known, the noncentral t "
    "distribution; Judd, Westfall & Kenny 2017, Annual Review of Psychology 68, 601-625. It is one comparison; a "
    "search through all pairs needs more.",
)
_WORDS_OF_FACETS: Final = (
    ("facet", "what varies in a design: items, raters, phrasings, occasions"),
    ("crossed (x), nested (a:b)", "a × b has every pair of levels; a:b says that each b has levels of a of its own"),
    ("component", "how much ratings vary with a facet, or with several jointly"),
    ("G", "the share of the spread of means that would come back with other levels of the facets: 1 is no error"),
    ("Phi", "the same for levels in place of differences: what shifts all alike counts as error, too"),
    ("interval", "the range that the data are compatible with, at the level stated, with new levels of every facet"),
)
_METHODS_OF_FACETS: Final = (
    "Components from expected mean squares where every cell has a rating, else by Henderson's first method (Henderson "
    "1953, Biometrics 9, 226-252), all facets random but those named as fixed; error of the design as it was rated and "
    "at other sizes: Brennan 2001, Generalizability Theory, chapters 3 to 5 and 7.",
    "Intervals: draws of generalised pivotal quantities of the mean squares; Weerahandi 1993, Journal of the American "
    "Statistical Association 88, 899-905.",
)
