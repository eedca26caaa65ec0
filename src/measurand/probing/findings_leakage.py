"""Findings about leakage: what row-wise splits share and gain, whether the winner changes, copies, named labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from measurand.probing.questions import Answer, Question, Rows, sentence
from measurand.result import Finding, Result, Row, Verdict
from measurand.sentences import listed, percent, share, short, show_p, spread_of

ALPHA: Final = 0.05
#: The ratio that findings speak of is the one next to this.
USUAL_RATIO: Final = 0.8
#: Macro-F1 that a leak must add, and be shown to add, to fail.
LEAST_OPTIMISM: Final = 0.005
#: Shares of items with a near-duplicate, and of outputs that name their label, above which a finding fails.
MOST_NEAR_DUPLICATE: Final = 0.01
MOST_NAMING: Final = 0.01
#: Share of outputs that name their label up to which it passes.
FEW_NAMING: Final = 0.001

PAPER: Final = "Sakhawat 2026, arXiv 2609.29445, section 9"
#: Difference of two scores up to which it is rounding.
_DUST: Final = 1e-12
_OTHER_WINNER: Final = (
    "How often the winner is another is told of pairs of a row-wise and a grouped split and, for what chance alone "
    "does, of two grouped and of two row-wise ones."
)
_CORRECTED: Final = f"{PAPER}; Nadeau & Bengio 2003"


class _Language(Rows):
    """The rows of one language."""

    def __init__(self, rows: Rows, name: str) -> None:
        super().__init__(row for row in rows if row.keys.get("language", "") == name)
        self.name = name
        ratios = [float(row.keys["ratio"]) for row in self.all("expected_share") if row.keys.get("ratio", "") != ""]
        self.ratio = min(ratios, key=lambda ratio: (abs(ratio - USUAL_RATIO), ratio), default=USUAL_RATIO)

    def here(self, statistic: str, system: str = "") -> Row | None:
        """Return a number at the usual ratio."""
        return self.first(statistic, {"ratio": self.ratio, "system": system})

    def of_all(self, statistic: str) -> Row | None:
        """Return the first number of that name, of all systems."""
        return self.first(statistic, {"system": ""})


def leakage_findings(result: Result) -> list[Finding]:
    """Return what the rows of `leakage` answer.

    Parameters
    ----------
    result : Result
        With analysis `leakage`.

    Returns
    -------
    list of Finding
        None without that analysis. With several languages a finding has the worst verdict among them, and tells each.

        - `row-split-leaks`: fail if a row-wise split scores at least `LEAST_OPTIMISM` more macro-F1 than a grouped one
          and the corrected resampled t has p < .05; warn if test rows share items with training and that is not shown;
          not applicable where neither items nor groups have several rows.
        - `leak-changes-winner`: pass if some system has the best mean score under both (of systems that tie as best one
          is enough); fail if none has, the leak is shown to gain the row-wise winner more (p < .05), and winners differ
          more often than by chance between two splits of either kind; warn otherwise.
        - `near-duplicate-items`: pass if no item has a near-duplicate under another id, warn up to
          `MOST_NEAR_DUPLICATE` of the items, fail above.
        - `outputs-name-the-label`: pass up to `FEW_NAMING` of the outputs; fail above `MOST_NAMING` if more outputs
          name their own label than another one; warn otherwise.
    """
    rows = Rows.of(result, "leakage")
    languages = [_Language(rows, name) for name in rows.values("language")]
    if not languages:
        return []
    return [
        question.over([replace(answer(language), about=language.name) for language in languages])
        for question, answer in _QUESTIONS
    ]


def _row_split_leaks(rows: _Language) -> Answer:
    expected, of_groups = rows.here("expected_share"), rows.here("expected_share_of_groups")
    if expected is None or expected.undefined:
        reason = expected.undefined if expected is not None else "the table has no rows"
        return Answer("not_applicable", f"{sentence(reason)}.", where=[expected])
    leaks = max(expected, of_groups or expected, key=lambda row: row.estimate)
    if leaks.estimate == 0:
        return Answer("not_applicable", "Each item has one row: a row-wise split shares none.", where=[expected])
    kept = "group" if of_groups is not None else "item"
    measured = rows.here("measured_share_of_groups" if leaks is of_groups else "measured_share")
    of_what = "group" if leaks is of_groups else "item"
    views = leaks.keys.get("views", "")
    common = (
        f"A row-wise split with {share(rows.ratio)} of the rows for training is expected to have the {of_what} of "
        f"{share(leaks.estimate)} of its test rows in training, too{f' ({views} rows an item)' if views != '' else ''}."
    )
    remedy = f"Split by {kept}, so that all its rows are on one side, and report that score."
    optimism = rows.here("optimism")
    where = [expected, measured, optimism, rows.here("macro_f1_row"), rows.here("macro_f1_grouped")]
    if optimism is None or optimism.undefined:
        reason = next((row.undefined for row in rows.all("optimism") if row.undefined), "nothing was decoded")
        return Answer("warn", f"What that does to scores is not measured: {reason}.", remedy, where, common=common)
    statement = ""
    row, clean = rows.here("macro_f1_row"), rows.here("macro_f1_grouped")
    if row is not None and clean is not None:
        test = ""
        if optimism.p is not None:
            interval = f"{percent(optimism.confidence)} interval {spread_of(optimism)}"
            test = f" ({interval}, corrected resampled t {show_p(optimism.p)})"
        statement = (
            f"A decoder of the label has macro-F1 {short(row.estimate)} on such splits and {short(clean.estimate)} on "
            f"splits by {kept}, a difference of {short(optimism.estimate)}{test}."
        )
    if optimism.p is not None and optimism.p < ALPHA and optimism.estimate >= LEAST_OPTIMISM:
        return Answer("fail", statement, remedy, where, common=common)
    statement = f"{statement} A gain of {LEAST_OPTIMISM:g} or more is not shown.".strip()
    return Answer("warn", statement, remedy, where, common=common)


def _leak_changes_winner(rows: _Language) -> Answer:
    changes = rows.here("winner_changes")
    if changes is None:
        has_scores = rows.here("macro_f1_row") is not None
        why = "There is one system." if has_scores else "No scores were compared: see row-split-leaks."
        return Answer("not_applicable", why, where=[rows.of_all("optimism")])
    if changes.undefined:
        return Answer("undetermined", f"Not determined: {changes.undefined}.", "Collect more items.", [changes])
    row_wise, grouped = _best(rows, "macro_f1_row"), _best(rows, "macro_f1_grouped")
    rho = rows.here("spearman_orders")
    often, by_chance, by_chance_row = (
        rows.here(name)
        for name in ("winner_changes_share", "winner_changes_by_chance", "winner_changes_by_chance_row_wise")
    )
    where = [changes, rho, often, by_chance, by_chance_row]
    told = []
    if rho is not None and not rho.undefined:
        told.append(f"Spearman's correlation of the two orders {short(rho.estimate)}")
    common = ""
    if often is not None and by_chance is not None and by_chance_row is not None:
        common = _OTHER_WINNER
        luck = f"{share(by_chance.estimate)} and {share(by_chance_row.estimate)}"
        told.append(f"another winner in {share(often.estimate)} of the pairs, by chance in {luck}")
    order = f" ({'; '.join(told)})" if told else ""
    if changes.estimate == 0:
        both = [name for name in row_wise if name in grouped]
        verb = "scores" if len(both) == 1 else "tie as"
        return Answer("pass", f"{listed(both)} {verb} best under both{order}.", where=where, common=common)
    gain = rows.here("optimism_between_winners")
    where.append(gain)
    statement = f"Best row-wise: {listed(row_wise)}; split by item or group: {listed(grouped)}{order}."
    if gain is not None and gain.p is not None:
        statement += (
            f" The first gains {short(gain.estimate)} more by the leak ({percent(gain.confidence)} interval "
            f"{spread_of(gain)}, {show_p(gain.p)})."
        )
    remedy = "Order the systems by grouped splits alone."
    # Both winners were chosen by the scores that the test is of; a leak must also do more than the luck of a split.
    chances = [row.estimate for row in (by_chance, by_chance_row) if row is not None]
    is_more = often is not None and often.estimate > max(chances, default=0.0)
    if is_more and gain is not None and gain.p is not None and gain.p < ALPHA and gain.estimate > 0:
        return Answer("fail", statement, remedy, where, common=common)
    remedy += " Name no winner: chance of the split can change it as well."
    return Answer("warn", f"{statement} That the leak does it is not shown.", remedy, where, common=common)


def _best(rows: _Language, statistic: str) -> list[str]:
    """Return the systems with the best mean score; scores that differ by rounding alone tie."""
    found = [row for row in rows.defined(statistic, {"ratio": rows.ratio}) if row.keys["system"]]
    top = max((row.estimate for row in found), default=0.0)
    return [str(row.keys["system"]) for row in found if row.estimate >= top - _DUST]


def _near_duplicate_items(rows: _Language) -> Answer:
    found, n, exact = (rows.of_all(name) for name in ("share_near_duplicate", "n_near_duplicate", "n_exact_duplicate"))
    if found is None or found.undefined:
        reason = found.undefined if found is not None else "there are no texts"
        return Answer("not_applicable", f"{sentence(reason)}.", where=[found])
    if n is None or exact is None or n.estimate == 0:
        return Answer("pass", f"None of {found.n_items} items has one.", where=[found])
    across = rows.here("share_near_duplicate_in_training")
    statement = (
        f"{n.estimate:g} of {found.n_items} items ({share(found.estimate)}) have one; for {exact.estimate:g} of them "
        "it is equal but for case, punctuation, white space and numbers."
    )
    if across is not None:
        statement += f" A split by item still puts one into training for {share(across.estimate)} of the test rows."
    remedy = (
        "Give near-duplicates one group (a column called group), or drop all but one; the settings of leakage list "
        "pairs."
    )
    verdict: Verdict = "fail" if found.estimate > MOST_NEAR_DUPLICATE else "warn"
    return Answer(verdict, statement, remedy, [found, n, exact, across])


def _outputs_name_the_label(rows: _Language) -> Answer:
    own, other = rows.of_all("share_naming_label"), rows.of_all("share_naming_other_label")
    if own is None or other is None:
        return Answer("not_applicable", "There are no texts with labels.")
    statement = sentence(
        f"{share(own.estimate)} of the outputs contain their label as a word ({percent(own.confidence)} interval "
        f"{share(own.low or 0.0)} to {share(own.high or 0.0)}), {share(other.estimate)} another label."
    )
    where = [own, other]
    if own.estimate <= FEW_NAMING:
        return Answer("pass", statement, where=where)
    by_system = [row for row in rows.all("share_naming_label") if row.keys.get("system", "") != ""]
    if worst := max(by_system, key=lambda row: row.estimate, default=None):
        statement += f" The most are {worst.keys['system']}'s: {share(worst.estimate)}."
        where.append(worst)
    remedy = "Decode from outputs without the labels' words, or say that decodability measures naming."
    verdict: Verdict = "fail" if own.estimate > MOST_NAMING and own.estimate > other.estimate else "warn"
    return Answer(verdict, statement, remedy, where)


_QUESTIONS: Final[Sequence[tuple[Question, Callable[[_Language], Answer]]]] = (
    (
        Question(
            "row-split-leaks",
            "Does a row-wise split share items between training and test, and does that raise scores?",
            _CORRECTED,
        ),
        _row_split_leaks,
    ),
    (
        Question(
            "leak-changes-winner",
            "Is the best system the same under row-wise and under grouped splits?",
            _CORRECTED,
        ),
        _leak_changes_winner,
    ),
    (
        Question(
            "near-duplicate-items",
            "Do items have near-duplicates under other ids?",
            "Chaudhuri, Ganti & Kaushik 2006",
        ),
        _near_duplicate_items,
    ),
    (
        Question("outputs-name-the-label", "Do outputs contain the label that is decoded from them?"),
        _outputs_name_the_label,
    ),
)
