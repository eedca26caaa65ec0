"""Is there an order, and what else moves a score as much? Spread, shares of variance, ranks; decisions about people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from measurand.reporting import cells, figures_spread
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Table, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores import rank_row
from measurand.reporting.scores_cells import ANCHOR_SHORT, arm_cell, difference, see, whole_range
from measurand.reporting.scores_criteria import MOST_AS_COLUMNS
from measurand.reporting.scores_view import Arm, Scores, arm_of, keys_of, protocol_words
from measurand.reporting.words import begin
from measurand.result import Row, show_number
from measurand.result.digits import show_rounded
from measurand.result.words import called, clean, plural

_MOST_OPEN: Final = 12
_ALPHA: Final = 0.05
_HALF: Final = 0.5
_HOLM: Final = "pairs_separated_holm"
_ERROR: Final = "; error included"
_TEST: Final = "alternative_annotator_test"
_PAIRS: Final = {
    "pairs_separated_marginal": "by intervals that do not overlap",
    "pairs_separated_paired": "by the paired interval",
    "pairs_separated_holm": "after Holm",
    "pairs_separated_max_t": "after max-T",
}


def spread(view: Scores) -> list[Block]:
    """Return how far systems lie apart beside how sure each score is, and what else moves a score."""
    parts = [
        Part(name, title, 3, blocks)
        for name, title, blocks in (
            ("spread-systems", "Spread between systems", _between(view)),
            ("spread-shares", "What the scores depend on", _shares(view)),
            ("spread-failed", "With and without the systems that fail gates", _without_failed(view)),
            ("spread-ranks", "Ranks with and without the unreliable criteria", _rank_changes(view)),
            ("spread-phrasings", "Phrasings, and the best of several", _phrasings(view)),
            ("spread-size", "Size", _size(view)),
            ("spread-agreement", "Agreement and performance", _performance(view)),
        )
        if blocks
    ]
    return list(parts)


def _here(view: Scores, statistic: str) -> list[Row]:
    """Return the rows of a statistic at the headline's scope."""
    name = view.main["set"] or view.main["criterion"]
    return [row for row in view.all("spread", statistic) if row.keys.get("set", "") == name]


def _between(view: Scores) -> list[Block]:
    found = _here(view, "sd_between_systems")
    if not found:
        return []
    remarks = Remarks()
    rows = []
    replicates = int(view.settings.get("replicates") or 0)
    is_cut = has_error = False
    for row in found:
        width, reliability, pairs = (
            view.beside(row, name) for name in ("median_interval_width", "reliability_of_scores", "n_pairs")
        )
        see(remarks, replace(row, note=row.note.replace(_ERROR, "")))
        has_error = has_error or _ERROR in row.note
        # So many pairs that none could be told apart after Holm, whatever the systems are.
        is_beyond = pairs is not None and pairs.estimate / max(replicates, 1) >= _ALPHA
        is_cut = is_cut or is_beyond
        rows.append(
            [
                Cell(_of(row)),
                cells.estimate(row),
                cells.plain(width, places=3),
                cells.plain(reliability, places=3),
                cells.plain(pairs),
                *(Cell("–") if is_beyond and name == _HOLM else cells.plain(view.beside(row, name)) for name in _PAIRS),
            ]
        )
    columns = [
        Column("Protocol"),
        Column("SD between systems", is_number=True),
        Column("Median width of an interval", is_number=True),
        Column("Reliability of the scores", is_number=True),
        Column("Pairs of systems", is_number=True),
        *(Column(f"Told apart {words}", is_number=True) for words in _PAIRS.values()),
    ]
    said = (
        "Where systems lie closer together than an interval is wide, a leaderboard shows an order that the data do "
        "not. Reliability is the variance between systems over itself plus the error of a system's place among them: "
        "1 is an order without error."
    )
    if has_error:
        remarks.say("SD: the standard deviation of the systems' scores as they are, their error included.")
    if is_cut:
        remarks.say(
            f"After Holm no pair of so many could be told apart with {plural(replicates, 'replicate')}: there max-T "
            "decides, or more replicates."
        )
    drawn = [] if figures_spread.missing_of_scores(view, "spread") else [Image(figures_spread.spread_of_scores(view))]
    return [Text(said), *drawn, without_empty("Spread of scores and pairs told apart", columns, rows, remarks.all())]


def _of(row: Row) -> str:
    of = clean(row.keys["of"])
    return "all" if of == "systems" else of


def _shares(view: Scores) -> list[Block]:
    found = _here(view, "share")
    if not found:
        return []
    remarks = Remarks()
    rows = []
    for row in found:
        see(remarks, row)
        if not row.undefined:
            rows.append([Cell(clean(row.keys["source"])), cells.share(row)])
    said = (
        "The table of scores, taken apart: which share of its variation systems make, and which the way of asking or "
        "reading makes."
    )
    if not rows:
        return [Text(said), *(Text(text, small=True) for text in remarks.all())]
    columns = [Column("Source"), Column("Share of the variation, %", is_number=True)]
    return [Text(said), Table("Shares of the variation of scores", columns, rows, remarks.all())]


def _without_failed(view: Scores) -> list[Block]:
    found = _here(view, "mean_of_systems")
    if not found:
        return []
    rows = []
    for row in found:
        kept, effect = (view.beside(row, name) for name in ("mean_without_failed", "effect_of_leaving_out"))
        note = "" if kept is None else clean(kept.note).removeprefix("without ")
        rows.append([Cell(_of(row)), Cell(note), cells.estimate(row), cells.estimate(kept), difference(effect)])
    columns = [
        Column("Protocol"),
        Column("Fails"),
        Column("Mean of all systems", is_number=True),
        Column("Mean without them", is_number=True),
        Column("What leaving them out does", is_number=True),
    ]
    said = "A system that fails a gate stays visible; leaving it out moves the mean, and this is by how much."
    return [Text(said), Table("Means with and without failing systems", columns, rows)]


def _rank_changes(view: Scores) -> list[Block]:
    found = view.all("spread", "n_rank_changes")
    if not found:
        return []
    told = []
    for row in found:
        largest = view.beside(row, "largest_rank_change")
        by = f", by up to {show_number(largest.estimate)}" if largest is not None and row.estimate else ""
        n = len(_ranked(view, row))
        told.append(f"{_of(row)}: {show_number(row.estimate)} of {plural(n, 'system')} change their rank{by}")
    blocks: list[Block] = [
        Text(
            "Ranks over all criteria against ranks over those that raters agree on: what changes was decided by "
            f"criteria that nobody measures well. {begin('; '.join(told))}."
        )
    ]
    for row in found:
        rows = []
        for arm in _ranked(view, row):
            shown = [_rank(rank_row(view, arm, scope)) for scope in ("all", "reliable")]
            keys = {"of": row.keys["of"], "system": arm[0], "set": "reliable", **view.path}
            change = view.find("spread", "rank_change", keys)
            rows.append([name_cell(arm[0]), *shown, _rank(change)])
        columns = [
            Column("System"),
            Column("Rank, all criteria", is_number=True),
            Column("Rank, reliable criteria", is_number=True),
            Column("Change", is_number=True),
        ]
        title = f"Ranks of each system, {_of(row)}"
        blocks.append(Fold(title, [Table(title, columns, rows)]))
    return blocks


def _ranked(view: Scores, row: Row) -> list[Arm]:
    arms = [
        arm
        for protocol, members in view.protocols.items()
        if (", ".join(part for part in protocol if part) or "systems") == row.keys["of"]
        for arm in members
    ]
    return view.ranked(arms)


def _rank(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return cells.estimate(row)
    return Cell(show_number(row.estimate), whole_range(row))


def _phrasings(view: Scores) -> list[Block]:
    found = _here(view, "range_over_phrasings")
    if not found:
        return []
    rows = []
    for row in found:
        best, corrected = (view.beside(row, name) for name in ("best_of_phrasings", "best_of_phrasings_corrected"))
        chosen = "" if best is None else clean(best.note).split(";", 1)[0]
        shown = [cells.plain(row), cells.estimate(best), cells.estimate(corrected), Cell(chosen)]
        rows.append([name_cell(row.keys["system"]), Cell(_of(row)), *shown])
    columns = [
        Column("System"),
        Column("Protocol"),
        Column("Range over phrasings", is_number=True),
        Column("Best of them", is_number=True),
        Column("Best, less what choosing adds", is_number=True),
        Column("Chosen"),
    ]
    said = (
        "Who reports the best of several wordings reports a choice made with the answers in hand. The corrected value "
        "takes off what choosing adds by chance."
    )
    mean = _here(view, "mean_range_over_phrasings")
    width = None if not mean else view.beside(mean[0], "mean_interval_width")
    if mean and width is not None:
        said += (
            f" On average phrasings lie {show_number(mean[0].estimate)} apart; an interval is "
            f"{show_number(width.estimate)} wide."
        )
    notes = ["The range of noisy scores is above 0 by noise alone; it has no interval."]
    table = without_empty("Phrasings", columns, rows, notes)
    return [Text(said), Fold(f"Phrasings ({len(rows)})", [table]) if len(rows) > _MOST_OPEN else table]


def _size(view: Scores) -> list[Block]:
    found = [row for row in _here(view, "spearman") if row.keys["source"] == "parameters"]
    if not found:
        return []
    defined = [row for row in found if not row.undefined]
    said = "Do larger systems score higher? Spearman's correlation of the number of parameters and the score."
    if not defined:
        return [Text(f"{said} Not defined here: {clean(found[0].undefined)}.")]
    rows = [
        [Cell(_of(row)), cells.plain(row), cells.p_value(row.p), Cell(clean(row.note).split(";", 1)[0])]
        for row in defined
    ]
    columns = [Column("Protocol"), Column("Spearman", is_number=True), Column("p", is_number=True), Column("Taken")]
    notes = ["p by permuting the systems: a handful of systems is no sample, and there is no interval."]
    return [Text(said), Table("Size and score", columns, rows, notes)]


def _performance(view: Scores) -> list[Block]:
    found = [row for row in view.all("spread", "spearman") if row.keys["source"] == "agreement"]
    defined = [row for row in found if not row.undefined]
    if not defined:
        return [Text(f"Not defined here: {clean(found[0].undefined)}.")] if found else []
    rows = [
        [name_cell(row.keys["system"]), Cell(_of(row)), cells.plain(row, places=2), cells.p_value(row.p)]
        for row in defined
    ]
    columns = [
        Column("System"),
        Column("Protocol"),
        Column("Spearman over criteria", is_number=True),
        Column("p", is_number=True),
    ]
    values = sorted(row.estimate for row in defined)
    said = (
        "Does a system do better on the criteria that raters agree about? Spearman's correlation, over the criteria, "
        f"of alpha and score: from {show_rounded(values[0], 0.1)} to {show_rounded(values[-1], 0.1)}, median "
        f"{show_rounded(median(values), 0.1)}. It must be above 0 for any system that reads what raters read, as "
        "disagreement bounds the score."
    )
    notes = [f"p by permuting the {len(view.criteria)} criteria; so few are no sample, and there is no interval."]
    table = Table("Agreement and performance", columns, rows, notes)
    return [Text(said), Fold(f"Of each system ({len(rows)})", [table])]


def decisions(view: Scores) -> list[Block]:
    """Return the decisions: may a system stand in for a rater, and is it as good as people within a margin."""
    parts = [
        Part(name, title, 3, blocks)
        for name, title, blocks in (
            ("decision-alternative", "In place of a rater: the alternative annotator test", _alternative(view)),
            ("decision-margin", "As good as people within a margin", _margin(view)),
        )
        if blocks
    ]
    return list(parts)


def _alternative(view: Scores) -> list[Block]:
    if not view.all("decisions", "winning_rate"):
        return []
    epsilon = show_number(float(view.settings.get("epsilon", 0.1)))
    said = (
        "Each rater in turn is left out, and the system and the rater are held against the others. The winning rate is "
        "the share of raters that the system beats with an advantage "
        f"epsilon of {epsilon}, after adjustment; it passes at one half (Calderon, Reichart & Dror 2025). The "
        "advantage probability is how often it agrees with the others at least as well as the rater left out does."
    )
    arms = [arm for protocol in view.plain for arm in view.ranked(view.protocols[protocol])]
    if len(view.criteria) == 1:
        rows = []
        for arm in arms:
            keys = {"decision": _TEST, **keys_of(arm), "criterion": view.criteria[0], **view.path}
            omega, rho = (view.find("decisions", name, keys) for name in ("winning_rate", "advantage_probability"))
            rows.append([_arm(view, arm), cells.plain(omega), _verdict(omega), cells.plain(rho)])
        columns = [
            Column("System"),
            Column("Winning rate", is_number=True),
            Column("At one half or more"),
            Column("Advantage probability", is_number=True),
        ]
        return [Text(said), without_empty("Alternative annotator test", columns, rows, [])]
    easy = _passed_by_the_median(view)
    hard = [criterion for criterion in view.criteria if criterion not in easy]
    if easy:
        told = "every criterion" if not hard else plural(len(easy), "criterion", "criteria")
        said += (
            f" On {told} the median rating, given to every item, passes, too: there the test tells nothing of a system"
            + (f", and the finding is about the other {len(hard)}." if hard else ".")
        )
    rows = []
    for arm in arms:
        keys = {"decision": _TEST, **keys_of(arm), "set": "all", **view.path}
        rates = [
            view.find("decisions", "winning_rate", {"decision": _TEST, **keys_of(arm), "criterion": one, **view.path})
            for one in hard
        ]
        passed = [rate.estimate >= _HALF for rate in rates if rate is not None and not rate.undefined]
        shown = Cell(f"{sum(passed)} of {len(passed)}" if passed else "–")
        rows.append([_arm(view, arm), shown, cells.share(view.find("decisions", "share_passed", keys))])
    columns = [
        Column("System"),
        Column("Passed, where the median rating does not" if easy else "Passed, criteria", is_number=True),
        Column(f"Passed, % of all {len(view.criteria)} criteria", is_number=True),
    ]
    table = without_empty("Alternative annotator test", columns, rows, [])
    blocks: list[Block] = [Text(said), Fold(f"{len(rows)} arms", [table]) if len(rows) > _MOST_OPEN else table]
    if len(view.criteria) <= MOST_AS_COLUMNS:
        blocks.append(Fold("Winning rates by criterion", [_by_criterion(view, arms)]))
    else:
        blocks.append(Text("Winning rates of each criterion and rater are in tables/decisions.csv.", small=True))
    return blocks


def _passed_by_the_median(view: Scores) -> list[str]:
    """Return the criteria on which one and the same answer to every item passes."""
    return [
        str(row.keys["criterion"])
        for row in view.all("decisions", "winning_rate")
        if row.keys.get("anchor") == "constant" and not row.undefined and row.estimate >= _HALF
    ]


def _by_criterion(view: Scores, arms: Sequence[Arm]) -> Table:
    rows = []
    for arm in arms:
        shown = []
        for criterion in view.criteria:
            keys = {"decision": _TEST, **keys_of(arm), "criterion": criterion, **view.path}
            omega, rho = (view.find("decisions", name, keys) for name in ("winning_rate", "advantage_probability"))
            cell = cells.plain(omega)
            small = f"advantage {show_number(round(rho.estimate, 3))}" if rho is not None and not rho.undefined else ""
            shown.append(Cell(cell.text, small, cell.title))
        rows.append([_arm(view, arm), *shown])
    columns = [Column("System"), *(name_column(called(criterion)) for criterion in view.criteria)]
    return Table("Winning rate, and advantage probability", columns, rows)


def _verdict(row: Row | None) -> Cell:
    return Cell("–") if row is None or row.undefined else Cell("yes" if row.estimate >= _HALF else "no")


def _margin(view: Scores) -> list[Block]:
    found = [
        row
        for row in view.all("decisions", "difference")
        if {key: row.keys.get(key, "") for key in ("criterion", "set")} == view.main
    ]
    if not found:
        return []
    margin = show_number(float(view.settings.get("margin") or 0))
    anchors = list(dict.fromkeys(str(row.keys["anchor"]) for row in found))
    rows = []
    for arm in dict.fromkeys(arm_of(row) for row in found):
        shown: list[Cell] = []
        for anchor in anchors:
            keys = {**keys_of(arm), "anchor": anchor, **view.main, **view.path}
            equal, not_worse = (
                view.find("decisions", "difference", {"decision": name, **keys})
                for name in ("equivalence", "non_inferiority")
            )
            shown += [difference(equal), _holds(equal), _holds(not_worse)]
        rows.append([_arm(view, arm), *shown])
    columns = [Column("System")]
    for anchor in anchors:
        short = ANCHOR_SHORT.get(anchor, clean(anchor))
        columns += [
            Column(f"Minus {short} (90 % interval)", is_number=True),
            Column("Equivalent"),
            Column("Not worse"),
        ]
    said = (
        f"Not to be told apart is not to be equal. Equivalent: the whole 90 % interval of the difference lies within "
        f"{margin} of 0; not worse: it lies above −{margin}. Both are for these raters."
    )
    table = without_empty(f"Equivalence within {margin}", columns, rows, [])
    return [Text(said), Fold(f"{len(rows)} arms", [table]) if len(rows) > _MOST_OPEN else table]


def _holds(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return Cell("–")
    return Cell("shown" if " holds" in row.note else "not shown", f"p {cells.p_value(row.p).text}")


def _arm(view: Scores, arm: Arm) -> Cell:
    return arm_cell(arm, with_protocol=len(view.plain) > 1 or bool(protocol_words(arm[1:])))
