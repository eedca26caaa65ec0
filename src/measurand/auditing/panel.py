"""The whole audit of a panel: every analysis in a fixed order, then the findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from measurand.auditing.agreement import agreement
from measurand.auditing.agreement_pairs import agreement_pairs
from measurand.auditing.components import PIVOT_DRAWS, components
from measurand.auditing.copies import copies
from measurand.auditing.design import design
from measurand.auditing.findings import findings
from measurand.auditing.generalizability import TARGETS, decision, generalizability
from measurand.auditing.leave_one_out import leave_one_block_out, leave_one_rater_out
from measurand.auditing.length import length
from measurand.auditing.length_cells import UnitOfLength
from measurand.auditing.missingness import missingness
from measurand.auditing.pairs import pairs
from measurand.auditing.ranks import ranks
from measurand.auditing.raters import raters
from measurand.auditing.style import style
from measurand.auditing.system_effect import system_test
from measurand.auditing.variance import anova
from measurand.checks import check_level, check_seed
from measurand.data.outputs import Outputs, as_outputs
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import MeasurandError, Result


def audit(
    ratings: Ratings | Sequence[Panel] | Any,
    *,
    replicates: int = 2000,
    draws: int = PIVOT_DRAWS,
    targets: Sequence[float] = TARGETS,
    confidence: float = 0.95,
    seed: int = 0,
    pigeonhole: int = 0,
    outputs: Outputs | Any = None,
    unit_of_length: UnitOfLength | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Find out whether ratings can rank the systems, why not, and what it would take.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        Who gave which rating to which system on which item; without systems the ratings concern the items themselves,
        and what needs systems is left out. A table with a column for each rater, with other names of columns, or with a
        scale is read by `measurand.read_ratings` first.
    replicates : int
        Bootstrap replicates of agreement coefficients, at least 100.
    draws : int
        Draws of generalised pivotal quantities, at least 1,000.
    targets : sequence of float
        Values of G that the decision study aims at; the findings speak of the first.
    confidence : float
        Level of all intervals.
    seed : int
        The one seed; same input and seed give the same bytes.
    pigeonhole : int
        Replicates of the pigeonhole bootstrap of system differences; 0 leaves it out.
    outputs : Outputs, path, data frame or None
        What the systems produced (`measurand.read_outputs`), to find identical outputs with identical ratings, and to
        find out whether ratings follow the length of outputs.
    unit_of_length : str or None
        What lengths of outputs are counted in; see `measurand.auditing.length`.
    progress : callable or None
        Told the name of each step, its number and how many there are.

    Returns
    -------
    Result
        All analyses, each also to be had by its own function, and the findings.

    Raises
    ------
    MeasurandError
        Of bad input; see `measurand.read_ratings`.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> result = audit(two_emojis_panel().ratings, replicates=100, draws=1000)
    >>> [f.verdict for f in result.findings if f.id == "systems-differ"]
    ['fail']
    """
    if replicates < 100:
        raise MeasurandError(f"{replicates} replicates; an interval needs at least 100, and 2,000 are the default")
    if draws < 1000:
        raise MeasurandError(f"{draws} draws; an interval needs at least 1,000, and {PIVOT_DRAWS:,} are the default")
    check_level(confidence)
    check_seed(seed)
    if not targets or not all(0 < target < 1 for target in targets):
        raise MeasurandError(f"targets {list(targets)}; give values of G between 0 and 1")
    found = panels(ratings)
    produced = None if outputs is None else as_outputs(outputs)
    steps: list[tuple[str, Callable[[], Result]]] = [
        ("design", lambda: design(found)),
        ("raters", lambda: raters(found, confidence=confidence)),
        ("agreement", lambda: agreement(found, replicates=replicates, confidence=confidence, seed=seed, draws=draws)),
        ("agreement of pairs", lambda: agreement_pairs(found, replicates=replicates, confidence=confidence, seed=seed)),
        ("analysis of variance", lambda: anova(found)),
        ("tests of the systems", lambda: system_test(found)),
        ("components", lambda: components(found, confidence=confidence, seed=seed, draws=draws)),
        ("generalizability", lambda: generalizability(found, confidence=confidence, seed=seed, draws=draws)),
        (
            "decision study",
            lambda: decision(found, targets=targets, confidence=confidence, seed=seed, draws=draws),
        ),
        ("pairs of systems", lambda: pairs(found, confidence=confidence, seed=seed, pigeonhole=pigeonhole)),
        ("ranks", lambda: ranks(found, replicates=replicates, confidence=confidence, seed=seed)),
        ("leave one rater out", lambda: leave_one_rater_out(found)),
        ("leave one block of items out", lambda: leave_one_block_out(found, seed=seed)),
        ("response style", lambda: style(found, confidence=confidence, seed=seed)),
        ("missingness", lambda: missingness(found, confidence=confidence)),
        ("copies", lambda: copies(found, outputs=produced)),
    ]
    if produced is not None:
        steps.append(
            (
                "length",
                lambda: length(
                    found, produced, unit=unit_of_length, replicates=replicates, confidence=confidence, seed=seed
                ),
            )
        )
    result = Result([])
    # One BLAS thread: the products are small, and sums must not depend on how many cores there are.
    with threadpool_limits(limits=1, user_api="blas"):
        for number, (name, step) in enumerate(steps, start=1):
            if progress is not None:
                progress(name, number, len(steps))
            result = result + step()
    return Result(result.rows, result.settings, findings(result, targets=targets))
