"""What decodability answers across languages, and beside ratings."""

from __future__ import annotations

from typing import Final

from measurand.probing.findings_decodability_read import PAPER, in_language
from measurand.probing.questions import MOST, Question, Rows
from measurand.result import Finding, Row, Verdict, show_number
from measurand.sentences import listed, share, short, show_p, spread_of

#: p below which orders of systems that are the same, or opposite, are so beyond chance.
ALPHA: Final = 0.05
#: Loss in macro-F1 from one language to another that is taken for none.
SMALL_LOSS: Final = 0.05


def label_schemes(rows: Rows) -> Finding:
    """Say whether all languages have the same labels, and what was done where they have not."""
    asked = Question("label-schemes", "Do all languages have the same labels?", PAPER)
    shared = rows.first("n_shared_labels")
    if shared is None:
        return asked.answer("not_applicable", "There is one language: no labels are compared across languages.")
    refused = _refused(rows)
    left_out = [row for row in rows.all("n_other_label") if row.estimate]
    where = [shared, *left_out, *refused][:12]
    if refused:
        statement = (
            f"No: they share {show_number(shared.estimate)} labels ({shared.note}). Scores across languages with other "
            "labels are refused, and scores of one language are over its own."
        )
        remedy = (
            "Reduce all languages to the labels that they share (--shared-labels), and compare within a language only."
        )
        return asked.answer("fail", statement, remedy=remedy, where=where)
    if left_out:
        lost = listed([f"{show_number(row.estimate)} of {row.keys.get('language', '')}" for row in left_out], most=MOST)
        statement = (
            f"No, and all were reduced to the {show_number(shared.estimate)} labels that they share ({shared.note}): "
            f"items left out, {lost}."
        )
        remedy = "Say so beside every number, and do not compare statistics of labels between languages."
        return asked.answer("warn", statement, remedy=remedy, where=where)
    statement = f"Yes: the same {show_number(shared.estimate)} labels in every language."
    return asked.answer("pass", statement, where=where)


def transfers(rows: Rows) -> Finding:
    """Say what a decoder of one language loses on another."""
    asked = Question("code-transfers", "Do the same tokens stand for the same labels in every language?", PAPER)
    if not rows.all("n_shared_labels"):
        return asked.answer("not_applicable", "There is one language.")
    mean = rows.first("transfer_loss", {"train": "", "system": ""})
    if mean is None or mean.low is None or mean.high is None:
        refused = _refused(rows)
        reason = refused[0].undefined if refused else "no system has outputs in two languages"
        remedy = "Reduce the languages to their shared labels (--shared-labels)."
        return asked.answer("undetermined", f"Not determined: {reason}.", remedy=remedy, where=refused[:MOST])
    known = [row.estimate for row in rows.defined("vocabulary_coverage")]
    coverage = f", although it knows at least {share(min(known))} of the tokens" if known else ""
    lost = f"{short(mean.estimate)} macro-F1 ({spread_of(mean)})"
    if mean.high <= SMALL_LOSS:
        return asked.answer("pass", f"Yes: a decoder of another language loses {lost} on average.", where=[mean])
    verdict: Verdict = "fail" if mean.low > SMALL_LOSS else "warn"
    word = "No" if verdict == "fail" else "Not shown"
    statement = f"{word}: a decoder of another language loses {lost} on average{coverage}."
    remedy = "Read the tokens language by language: what they stand for in one does not carry over to another."
    return asked.answer(verdict, statement, remedy=remedy, where=[mean])


def _refused(rows: Rows) -> list[Row]:
    """Return the scores across languages that other labels leave undefined."""
    return [row for row in rows.all("macro_f1") if row.undefined and row.keys.get("train", "") != ""]


def and_ratings(rows: Rows) -> list[Finding]:
    """Return the finding of each criterion."""
    question = "Do systems whose outputs tell more of the labels get higher ratings?"
    asked = Question("decodability-and-ratings", question, PAPER)
    if not rows:
        return [asked.answer("not_applicable", "There are no ratings of these systems.")]
    criteria = dict.fromkeys(str(row.keys.get("criterion", "")) for row in rows.all("spearman"))
    return [_of_criterion(asked, rows, criterion) for criterion in criteria]


def _of_criterion(asked: Question, rows: Rows, criterion: str) -> Finding:
    overall = rows.all("spearman", {"criterion": criterion, "rater": ""})
    tested = [row for row in overall if row.p is not None]
    if not tested:
        reason = overall[0].undefined or "there are too few systems for an interval"
        statement = f"Not determined: {reason}."
        remedy = "Rate the systems whose outputs were decoded, four or more of them."
        return asked.answer("undetermined", statement, remedy=remedy, where=overall[:1], criterion=criterion)
    verdicts = {_of_interval(row) for row in tested}
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else "undetermined"
    shown = "; ".join(
        f"{in_language(str(row.keys.get('language', '')))}rho = {short(row.estimate)} ({_shown(row)})"
        for row in tested[:MOST]
    )
    raters = [row.estimate for row in rows.defined("spearman", {"criterion": criterion}) if row.keys.get("rater", "")]
    spread = f" Rater by rater it goes from {short(min(raters))} to {short(max(raters))}." if raters else ""
    word = {"pass": "Yes", "fail": "No, lower ones"}.get(verdict, "Not shown")
    n = [rows.first("n_systems", {**row.keys}) for row in tested[:1]]
    over = f", over {show_number(n[0].estimate)} systems" if n[0] is not None else ""
    statement = f"{word}: {shown}{over}.{spread}"
    remedy = (
        ""
        if verdict == "pass"
        else "Take this neither for nor against decodability before an audit of the ratings shows that they order the "
        "systems: a criterion that does not order them validates nothing."
    )
    return asked.answer(verdict, statement, remedy=remedy, where=tested[:MOST], criterion=criterion)


def _shown(row: Row) -> str:
    """Return the interval and p; of orders that are the same, p by permutation alone."""
    return f"{spread_of(row)}, {show_p(row.p)}" if row.low is not None else f"{show_p(row.p)} by permutation"


def _of_interval(row: Row) -> Verdict:
    if row.low is None and row.p is not None:
        beyond: Verdict = "pass" if row.estimate > 0 else "fail"
        return beyond if row.p < ALPHA else "undetermined"
    if row.low is not None and row.low > 0:
        return "pass"
    return "fail" if row.high is not None and row.high < 0 else "undetermined"
