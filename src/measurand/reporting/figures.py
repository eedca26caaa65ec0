"""Figures by name: which a result has the numbers for, and who draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from measurand.reporting import (
    figures_elicitation,
    figures_forced_choice,
    figures_geometry,
    figures_hasse,
    figures_outputs,
    figures_plan,
    figures_probe,
    figures_raters,
    figures_readouts,
    figures_reliability,
    figures_scores,
    figures_spread,
)
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.figures_components import components
from measurand.reporting.figures_decision import decision
from measurand.reporting.figures_length import length
from measurand.reporting.figures_ranks import rank_sets, ranks
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.plan_view import Plan
from measurand.reporting.probe_view import Probe
from measurand.reporting.scores_view import Scores
from measurand.reporting.svg import Plot
from measurand.reporting.view import View
from measurand.result import MeasurandError, Result
from measurand.result.words import shorten


def plot(result: Result, *, figure: str | None = None, criterion: str = "") -> Plot:
    """Draw one figure of a result.

    Parameters
    ----------
    result : Result
        A whole audit, a scoring run, a forced choice, an elicitation, or one of their analyses.
    figure : str or None
        Of an audit ``"decision"`` (G against the number of raters and of items), ``"ranks"`` (the board without each
        rater), ``"rank_sets"`` (the ranks that each system may have), ``"components"`` (what the ratings depend on),
        ``"length"`` (ratings and length, systems at equal length), ``"hasse"`` (who is shown to be better than whom),
        ``"resolution"`` (how wide intervals are beside the range of systems), ``"rater_style"`` or, with decodability
        in the result, ``"decodability_ratings"``; of a scoring run ``"scores"`` (systems and people), ``"criteria"``
        (scores beside agreement), ``"order"`` (which systems differ), ``"readouts"`` (each system under two),
        ``"binarized"`` (graded answers cut to yes and no), ``"spread"`` (between systems, beside the width of an
        interval) or ``"reliability"`` (mean rating by size of the answer); of a forced choice ``"accuracy"``; of an
        elicitation ``"mass"`` (answer mass by arm), ``"attempts"``
        (replies accepted by attempt) or ``"acquiescence"`` (what a yes depends on); of a probe ``"decodability"``,
        ``"learning"`` (curves), ``"leakage"`` (both kinds of split), ``"anisotropy"`` or ``"parity"`` (cost of
        languages); of a plan ``"front"`` (cost against reliability), ``"same_cost"`` (what layouts buy for it) or
        ``"error_shares"`` (of a design of other facets). None takes the first that the result has numbers for.
    criterion : str
        The criterion; needed where an audit has several. Figures of a scoring run are about all.

    Returns
    -------
    Plot
        The figure as SVG, with title and caption.

    Raises
    ------
    MeasurandError
        If the figure or the criterion is unknown or the numbers for it are not there; it says which figures the result
        can give.

    Examples
    --------
    >>> from measurand.result import Row
    >>> rows = [Row("components", {"estimator": "anova", "component": "item"}, "variance", 0.5, 0.2, 0.9)]
    >>> plot(Result(rows)).title
    'What the ratings depend on'
    """
    if figure in OF_RUNS or (figure is None and available_of_run(result)):
        return _of_run(result, figure or available_of_run(result)[0], criterion)
    view = View(result)
    if figure is not None and figure not in _FIGURES:
        raise MeasurandError(f"no figure {figure!r}; {_there_are(view)}")
    if not criterion and len(view.criteria) == 1:
        criterion = view.criteria[0]
    if criterion not in view.criteria:
        names = ", ".join(repr(shorten(name)) for name in view.criteria[:10])
        more = f" and {len(view.criteria) - 10} more" if len(view.criteria) > 10 else ""
        problem = f"no criterion {shorten(criterion)!r}" if criterion else "several criteria, and none is named"
        raise MeasurandError(f"{problem}; give criterion=, one of {names or 'none (the result has no rows)'}{more}")
    can = available(view, criterion)
    if figure is None:
        if not can:
            raise MeasurandError(f"this result has the numbers of no figure; {_why_none(view, criterion)}")
        return _FIGURES[can[0]][2](view, criterion)
    if figure not in can:
        others = f"this result can give {', '.join(can)}" if can else "this result can give no figure"
        raise MeasurandError(f"no figure {figure!r} here: {_missing(view, figure, criterion)}; {others}")
    return _FIGURES[figure][2](view, criterion)


def _there_are(view: View) -> str:
    """Say which figures a result can give, and which there are beside them."""
    can = available_of_run(view.result)
    can += [name for name in _FIGURES if any(not _missing(view, name, criterion) for criterion in view.criteria)]
    others = ", ".join(name for name in (*_FIGURES, *OF_RUNS) if name not in can)
    return f"this result can give {', '.join(can)}; of others there are {others}" if can else f"there are {others}"


def _why_none(view: View, criterion: str) -> str:
    """Say what the figures of an audit lack: of analyses that are there the reason, of others their names."""
    there = [name for name, (analysis, _, _) in _FIGURES.items() if analysis in view.result.analyses]
    needed = dict.fromkeys(analysis for name, (analysis, _, _) in _FIGURES.items() if name not in there)
    told = [f"{name}: {_missing(view, name, criterion)}" for name in there]
    told += [f"{'others' if told else 'figures'} are drawn from the analyses {', '.join(needed)}"] if needed else []
    return "; ".join(told)


def available_of_run(result: Result) -> list[str]:
    """Return the figures of a run that a result has the numbers for."""
    return [figure for figure in OF_RUNS if not _missing_of_run(result, figure)]


def _of_run(result: Result, figure: str, criterion: str) -> Plot:
    if why := _missing_of_run(result, figure):
        can = available_of_run(result)
        others = f"this result can give {', '.join(can)}" if can else "this result can give no figure of this kind"
        raise MeasurandError(f"no figure {figure!r} here: {why}; {others}")
    if figure == "accuracy":
        return figures_forced_choice.accuracy(Choices(result))
    if figure in _OF_ELICITATION:
        return _OF_ELICITATION[figure](Elicitation(result))
    if figure in _OF_PROBES:
        return _OF_PROBES[figure][0](Probe(result))
    if figure in _OF_PLANS:
        return _of_plan(Plan(result), figure, criterion)
    return _OF_SCORES[figure][0](Scores(result))


def _of_plan(view: Plan, figure: str, criterion: str) -> Plot:
    can = [name for name in view.criteria if not figures_plan.missing(view, figure, name)]
    if criterion not in can and (criterion or len(can) > 1):
        problem = f"no figure {figure!r} of criterion {shorten(criterion)!r}" if criterion else "several criteria"
        names = ", ".join(repr(shorten(name)) for name in can[:10])
        raise MeasurandError(f"{problem}; give criterion=, one of {names}")
    return _OF_PLANS[figure](view, criterion or can[0])


def _missing_of_run(result: Result, figure: str) -> str:
    if figure == "accuracy":
        return figures_forced_choice.missing(Choices(result))
    if figure in _OF_ELICITATION:
        return figures_elicitation.missing(Elicitation(result), figure)
    if figure in _OF_PROBES:
        return _OF_PROBES[figure][1](Probe(result), figure)
    if figure in _OF_PLANS:
        planned = Plan(result)
        why = [figures_plan.missing(planned, figure, name) for name in planned.criteria or [""]]
        return why[0] if all(why) else ""
    if "scores" not in result.analyses:
        return "it needs the analysis scores, which this result does not have"
    return _OF_SCORES[figure][1](Scores(result), figure)


def available(view: View, criterion: str) -> list[str]:
    """Return the figures that one criterion has the numbers for."""
    return [name for name in _FIGURES if not _missing(view, name, criterion)]


def _missing(view: View, figure: str, criterion: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    if figure in _MISSING:
        return _MISSING[figure](view, figure, criterion)
    analysis, statistic, _ = _FIGURES[figure]
    found = view.defined(criterion, analysis, statistic)
    if not found:
        why = view.reason(criterion, analysis)
        return why or f"it needs the analysis {analysis}, which this result does not have"
    if figure == "ranks" and not any(row.keys.get("left_out", "") for row in found):
        return "there is one rater, so that nobody can be left out"
    if figure == "decision" and len(found) < 3:
        return "it needs G at several numbers of raters or items"
    return ""


#: What each figure needs and who draws it, in the order in which `plot` looks for one that can be drawn.
_FIGURES: Final[dict[str, tuple[str, str, Callable[[View, str], Plot]]]] = {
    "decision": ("generalizability", "g", decision),
    "ranks": ("leave_one_rater_out", "rank", ranks),
    "rank_sets": ("ranks", "rank", rank_sets),
    "components": ("components", "variance", components),
    "length": ("length", "mean_rating", length),
    "hasse": ("ranks", "rank", figures_hasse.hasse),
    "resolution": ("pairs", "difference", figures_spread.resolution),
    "rater_style": ("raters", "mean", figures_raters.rater_style),
    "decodability_ratings": ("leave_one_rater_out", "mean", figures_spread.decodability_ratings),
}
#: Who says why a figure of an audit cannot be drawn, where it needs more than one statistic.
_MISSING: Final[dict[str, Callable[[View, str, str], str]]] = {
    "hasse": figures_hasse.missing,
    "resolution": figures_spread.missing,
    "rater_style": figures_raters.missing,
    "decodability_ratings": figures_spread.missing,
}
#: Figures of a scoring run, and all that are not about one criterion of an audit: who draws each, and who says why it
#: cannot be drawn.
_OF_SCORES: Final[dict[str, tuple[Callable[[Scores], Plot], Callable[[Scores, str], str]]]] = {
    "scores": (figures_scores.scores, figures_scores.missing),
    "criteria": (figures_scores.criteria, figures_scores.missing),
    "order": (figures_scores.order, figures_scores.missing),
    "readouts": (figures_readouts.readouts, figures_readouts.missing),
    "binarized": (figures_readouts.binarized, figures_readouts.missing),
    "spread": (figures_spread.spread_of_scores, figures_spread.missing_of_scores),
    "reliability": (figures_reliability.reliability, figures_reliability.missing),
}
_OF_ELICITATION: Final[dict[str, Callable[[Elicitation], Plot]]] = {
    "mass": figures_elicitation.mass,
    "attempts": figures_elicitation.attempts,
    "acquiescence": figures_elicitation.acquiescence,
}
#: Figures of a probe: who draws each, and who says why it cannot be drawn.
_OF_PROBES: Final[dict[str, tuple[Callable[[Probe], Plot], Callable[[Probe, str], str]]]] = {
    "decodability": (figures_probe.decodability, figures_probe.missing),
    "learning": (figures_probe.learning, figures_probe.missing),
    "leakage": (figures_outputs.leakage, figures_outputs.missing),
    "anisotropy": (figures_geometry.anisotropy, figures_geometry.missing),
    "parity": (figures_outputs.parity, figures_outputs.missing),
}
#: Figures of a plan: who draws each.
_OF_PLANS: Final[dict[str, Callable[[Plan, str], Plot]]] = {
    "front": figures_plan.front,
    "same_cost": figures_plan.same_cost,
    "error_shares": figures_plan.error_shares,
}
OF_RUNS: Final = (*_OF_SCORES, "accuracy", *_OF_ELICITATION, *_OF_PROBES, *_OF_PLANS)
