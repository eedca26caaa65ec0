"""An elicitation: what was asked of whom, what came back and what it took; attempts, answer mass, acquiescence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells, figures_elicitation
from measurand.reporting.answers import short_name
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Section, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.elicitation_counts import (
    MOST_OPEN,
    MOST_ROWS,
    came_back,
    cost,
    count,
    folded,
    share_cell,
    took,
)
from measurand.reporting.elicitation_view import USABLE, Elicitation, checked, status_words
from measurand.reporting.figures_elicitation import SHARES
from measurand.reporting.scores_cells import arm_cell
from measurand.reporting.scores_summary import table
from measurand.reporting.scores_view import Arm
from measurand.reporting.words import begin, joined
from measurand.result import Verdict, show_number
from measurand.result.words import MARK, WORD, called, clean, plural, shorten, worst_first

#: Systems that a screen shows, and characters of a finding's statement that the lead repeats.
_MOST_ON_SCREEN: Final = 10
_TOLD: Final = 280


def headline(view: Elicitation) -> str:
    """Return what was asked, in one line."""
    n_systems = len(view.systems)
    parts = [plural(n_systems, "system")]
    if view.study:
        parts.append(plural(int(view.study.get("n_items", 0)), "item"))
        n = len(view.study.get("criteria", ()))
        parts += [plural(n, "criterion", "criteria")] if n else []
    readouts = [str(one.get("name")) for one in view.readouts] or list(dict.fromkeys(arm[1] for arm in view.asked))
    total, _ = view.requests()
    return f"{' × '.join(parts)}; {plural(len(readouts), 'readout')}; {plural(total, 'request')}"


def lead(view: Elicitation) -> list[str]:
    """Return the verdict in up to three sentences: what is answered, what failed first, what else to look at."""
    total, answered = view.requests()
    if not total:
        return ["Nothing was asked."]
    what = f"{plural(total, 'request')} to {plural(len(view.systems), 'system')}"
    said = [
        f"{begin(what)}: all are answered."
        if answered >= total
        else f"{begin(what)}: {answered:,} are answered and {total - answered:,} are not."
    ]
    findings = worst_first(view.result.findings)
    failing = [one for one in findings if one.verdict == "fail"]
    warned = [short_name(one.id) for one in findings if one.verdict == "warn"]
    if failing:
        names = joined([short_name(one.id) for one in failing])
        said.append(f"{'Fails' if len(failing) == 1 else 'Fail'}: {names}. {_statement(failing[0].statement)}")
    if warned:
        said.append(f"{'Warning' if len(warned) == 1 else 'Warnings'}: {joined(warned)}.")
    if findings and not failing and not warned:
        said.append("Nothing speaks against scoring these answers as far as the asking itself can tell.")
    return said


def _statement(text: str) -> str:
    whole = clean(text)
    return whole if len(whole) <= _TOLD else f"{whole[:_TOLD].rsplit(' ', 1)[0]} …"


def sections(view: Elicitation, *, brief: bool = False) -> list[Section]:
    """Return the chapters on what was asked and came back, without findings and protocol.

    Briefly, controls have no tables of their own, nor does every arm one of what it took.
    """
    blocks = [*came_back(view, with_controls=not brief), *took(view, by_arm=not brief)]
    return [
        Section("asked", "What was asked and what came back", blocks),
        Section("attempts", "Attempts", _attempts(view)),
        Section("mass", "Answer mass", _mass(view)),
        Section("acquiescence", "Does a yes follow the item or the question?", _acquiescence(view, brief=brief)),
        Section("repeats", "The same request again", _repeats(view)),
        Section("proofs", "Tests of the engines", _proofs(view)),
    ]


def _attempts(view: Elicitation) -> list[Block]:
    if not view.attempts:
        return []
    controls = set(view.controls)
    arms = sorted(view.attempts, key=lambda arm: (arm in controls, view.first_accepted(arm)))
    blocks: list[Block] = [
        Text(
            "A reply that its rule does not accept is asked for again where the study says so. Retries choose which "
            "answers count: score first and last attempts apart."
        )
    ]
    if figures_elicitation.with_attempts(view):
        blocks.append(Image(figures_elicitation.attempts(view)))

    def made(caption: str, shown: Sequence[Arm]) -> Table:
        rows = []
        for arm in shown:
            by = view.attempts[arm]
            for attempt in sorted(by):
                of = {name: row.estimate for name, row in by[attempt].items()}
                numbers = [count(of.get("n_asked")), count(of.get("n_accepted")), share_cell(of.get("share_accepted"))]
                rows.append([arm_cell(arm, with_protocol=True), Cell(f"{attempt}"), *numbers])
        columns = [Column("Arm"), Column("Attempt", is_number=True), Column("Asked", is_number=True)]
        columns += [Column("Accepted", is_number=True), Column("Accepted so far", is_number=True)]
        return Table(caption, columns, rows)

    return blocks + folded("Replies accepted by attempt", arms, made, arms, "attempts")


def _mass(view: Elicitation) -> list[Block]:
    if not figures_elicitation.with_mass(view):
        return []
    return [
        Text(
            "A probability of yes is the share that yes has of the answers' mass. Where the mass is small, the system "
            "was about to say something else, and the ratio rests on what little is left."
        ),
        Image(figures_elicitation.mass(view)),
    ]


def _acquiescence(view: Elicitation, *, brief: bool) -> list[Block]:
    arms = [arm for arm in view.of("acquiescence") if not brief or arm not in set(view.controls)]
    if not arms:
        return []
    known = figures_elicitation.with_shares(view)
    blocks: list[Block] = [
        Text(
            "A system may tend to say yes to whatever is asked about an item, or to a question whatever the item is. "
            "Only the rest of the variation tells criteria apart on one item. Yes to a statement and yes to its "
            "opposite should add up to 1; the excess over 1 is agreement with either."
        )
    ]
    if known:
        blocks.append(Image(figures_elicitation.acquiescence(view)))
    ordered = [*known, *(arm for arm in arms if arm not in set(known))]
    remarks = Remarks()

    def made(caption: str, shown: Sequence[Arm]) -> Table:
        rows = []
        for arm in shown:
            found = [view.row(arm, statistic, "acquiescence") for statistic in (*SHARES, "yes_excess")]
            shares = [cells.share(row, remarks) for row in found[:-1]]
            rows.append([arm_cell(arm, with_protocol=True), *shares, cells.estimate(found[-1], remarks)])
        columns = [Column("Arm"), *(Column(f"{begin(words)}, %", is_number=True) for words in SHARES.values())]
        columns.append(Column("Yes excess", is_number=True))
        return without_empty(caption, columns, rows, remarks.all(4))

    return blocks + folded("Shares of the variation of log-odds, items redrawn", ordered, made, known, "acquiescence")


def _repeats(view: Elicitation) -> list[Block]:
    arms = view.of("repeats")
    if not arms:
        return []

    def differ(arm: Arm) -> float:
        row = view.row(arm, "share_changed", "repeats")
        return 0.0 if row is None or row.undefined else row.estimate

    changed = sorted((arm for arm in arms if differ(arm)), key=lambda arm: -differ(arm))
    n_same = len(arms) - len(changed)
    if not changed:
        return [Text(f"Asked again, every request of {plural(len(arms), 'arm')} got the very same answer.")]
    said = "How far answers to the very same request differ, in log-odds where they were read from probabilities, "
    said += "in units of the answer otherwise."
    if n_same:
        said += f" In {plural(n_same, 'arm')} none differs; the others stand below."

    def made(caption: str, shown: Sequence[Arm]) -> Table:
        rows = []
        for arm in shown:
            found = {name: view.row(arm, name, "repeats") for name in ("mean_difference", "largest_difference")}
            rows.append(
                [
                    arm_cell(arm, with_protocol=True),
                    share_cell(differ(arm)),
                    *(cells.plain(row) for row in found.values()),
                    Cell(next((clean(row.note).partition(";")[0] for row in found.values() if row is not None), "")),
                ]
            )
        columns = [Column("Arm"), Column("Answers that changed", is_number=True)]
        columns += [Column("Mean difference", is_number=True), Column("Largest", is_number=True), Column("Of what")]
        return Table(caption, columns, rows)

    return [Text(said), *folded("Differences between repeats", changed, made, changed, "repeats")]


def _proofs(view: Elicitation) -> list[Block]:
    if not view.proofs:
        return []
    rows = []
    for (system, check), of in view.proofs.items():
        passed = of.get("passed")
        verdict: Verdict = "pass" if passed is not None and passed.estimate else "fail"
        difference = of.get("difference")
        value = "–" if difference is None else show_number(float(f"{difference.estimate:.2g}"))
        limit = "" if difference is None else clean(difference.note).rpartition("; ")[2]
        rows.append(
            (
                verdict,
                [
                    name_cell(system),
                    Cell(checked(check)),
                    Cell(f"{MARK[verdict]} {WORD[verdict]}", verdict=verdict),
                    Cell(value, limit),
                    Cell("" if passed is None else shorten(passed.note, 400)),
                ],
            )
        )
    failed = [row for verdict, row in rows if verdict == "fail"]
    columns = [Column("System"), Column("Test"), Column("Verdict")]
    columns += [Column("Difference of log-odds", is_number=True), Column("What was found")]
    said = Text(
        "Before anything is asked, every engine is tested on prompts of the study. The largest difference of log-odds "
        "between ways to compute one and the same answer is the noise floor of the probabilities."
    )
    if len(rows) <= MOST_OPEN:
        return [said, Table("Tests of the engines", columns, [row for _, row in rows])]
    blocks: list[Block] = [said]
    if failed:
        blocks.append(Table("Tests that fail", columns, failed[:MOST_OPEN]))
    shown = [row for _, row in rows[:MOST_ROWS]]
    more = "" if len(shown) == len(rows) else f", the first {len(shown)} here, all in tables/proofs.csv"
    summary = f"{plural(len(rows), 'test')} of {plural(len(view.systems), 'system')}{more}"
    return [*blocks, Fold(summary, [Table("Tests of the engines", columns, shown)])]


def systems_table(view: Elicitation, width: int) -> list[str]:
    """Return what came back and what it took, system by system, as lines of at most `width` columns."""
    counted_of = {name: view.requests(name) for name in view.systems}
    short = [name for name, (total, answered) in counted_of.items() if answered < total]
    ordered = [*short, *(name for name in view.systems if name not in set(short))]
    rows = []
    for system in ordered[:_MOST_ON_SCREEN]:
        counted = view.statuses_of(view.of_system(system))
        usable = sum(counted.get(status, 0) for status in USABLE)
        others = {status: n for status, n in counted.items() if status not in USABLE}
        tokens = [view.total(name, system) or 0.0 for name in ("prompt_tokens", "completion_tokens")]
        rows.append(
            [
                called(system),
                f"{counted_of[system][1]:,}/{counted_of[system][0]:,}",
                f"{usable:,}",
                status_words(others) or "–",
                f"{sum(tokens):,.0f}",
                cost(view.total("cost", system), view.currency(system)).text,
            ]
        )
    head = ["system", "answered", "usable answers", "others", "tokens", "cost"]
    if not rows:
        return []
    lines = table(head, rows, width, numbers=(1, 2, 4, 5))
    if len(view.systems) > len(rows):
        lines.append(f"… and {plural(len(view.systems) - len(rows), 'more system')}")
    return lines
