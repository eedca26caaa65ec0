"""Figures by name: which a result has the numbers for, and who draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from measurand.reporting import figures_elicitation, figures_forced_choice, figures_scores
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.figures_components import components
from measurand.reporting.figures_decision import decision
from measurand.reporting.figures_ranks import rank_sets, ranks
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.scores_view import Scores
from measurand.reporting.svg import Plot
from measurand.reporting.view import View
from measurand.reporting.words import shorten
from measurand.result import MeasurandError, Result


def plot(result: Result, *, figure: str | None = None, criterion: str = "") -> Plot:
    """Draw one figure of a result.

    Parameters
    ----------
    result : Result
        A whole audit, a scoring run, a forced choice, an elicitation, or one of their analyses.
    figure : str or None
        Of an audit ``"decision"`` (G against the number of raters and of items), ``"ranks"`` (the board without each
        rater), ``"rank_sets"`` (the ranks that each system may have) or ``"components"`` (what the ratings depend on);
        of a scoring run ``"scores"`` (systems and people), ``"criteria"`` (scores beside agreement) or ``"order"``
        (which systems differ); of a forced choice ``"accuracy"``; of an elicitation ``"mass"`` (answer mass by arm),
        ``"attempts"`` (replies accepted by attempt) or ``"acquiescence"`` (what a yes depends on). None takes the first
        that the result has numbers for.
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
        return _of_run(result, figure or available_of_run(result)[0])
    view = View(result)
    if not criterion and len(view.criteria) == 1:
        criterion = view.criteria[0]
    if criterion not in view.criteria:
        names = ", ".join(repr(shorten(name)) for name in view.criteria[:10])
        more = f" and {len(view.criteria) - 10} more" if len(view.criteria) > 10 else ""
        problem = f"no criterion {shorten(criterion)!r}" if criterion else "several criteria, and none is named"
        raise MeasurandError(f"{problem}; give criterion=, one of {names or 'none (the result has no rows)'}{more}")
    if figure is not None and figure not in _FIGURES:
        raise MeasurandError(f"no figure {figure!r}; there are {', '.join([*_FIGURES, *OF_RUNS])}")
    can = available(view, criterion)
    if figure is None:
        if not can:
            reasons = "; ".join(f"{name}: {_missing(view, name, criterion)}" for name in _FIGURES)
            raise MeasurandError(f"this result has the numbers of no figure ({reasons})")
        return _FIGURES[can[0]][2](view, criterion)
    if figure not in can:
        others = f"this result can give {', '.join(can)}" if can else "this result can give no figure"
        raise MeasurandError(f"no figure {figure!r} here: {_missing(view, figure, criterion)}; {others}")
    return _FIGURES[figure][2](view, criterion)


def available_of_run(result: Result) -> list[str]:
    """Return the figures of a run that a result has the numbers for."""
    return [figure for figure in OF_RUNS if not _missing_of_run(result, figure)]


def _of_run(result: Result, figure: str) -> Plot:
    if why := _missing_of_run(result, figure):
        can = available_of_run(result)
        others = f"this result can give {', '.join(can)}" if can else "this result can give no figure of this kind"
        raise MeasurandError(f"no figure {figure!r} here: {why}; {others}")
    if figure == "accuracy":
        return figures_forced_choice.accuracy(Choices(result))
    if figure in _OF_ELICITATION:
        return _OF_ELICITATION[figure](Elicitation(result))
    return _OF_SCORES[figure](Scores(result))


def _missing_of_run(result: Result, figure: str) -> str:
    if figure == "accuracy":
        return figures_forced_choice.missing(Choices(result))
    if figure in _OF_ELICITATION:
        return figures_elicitation.missing(Elicitation(result), figure)
    if "scores" not in result.analyses:
        return "it needs the analysis scores, which this result does not have"
    return figures_scores.missing(Scores(result), figure)


def available(view: View, criterion: str) -> list[str]:
    """Return the figures that one criterion has the numbers for."""
    return [name for name in _FIGURES if not _missing(view, name, criterion)]


def _missing(view: View, figure: str, criterion: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
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
}
#: Figures of a scoring run, and all that are not about one criterion of an audit.
_OF_SCORES: Final[dict[str, Callable[[Scores], Plot]]] = {
    "scores": figures_scores.scores,
    "criteria": figures_scores.criteria,
    "order": figures_scores.order,
}
_OF_ELICITATION: Final[dict[str, Callable[[Elicitation], Plot]]] = {
    "mass": figures_elicitation.mass,
    "attempts": figures_elicitation.attempts,
    "acquiescence": figures_elicitation.acquiescence,
}
OF_RUNS: Final = (*_OF_SCORES, "accuracy", *_OF_ELICITATION)
