"""What came back of an elicitation's requests and what it took, arm by arm; tables of arms that stay readable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from measurand.reporting.blocks import Block, Cell, Column, Fold, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.elicitation_view import Elicitation, status_words
from measurand.reporting.scores_cells import arm_cell
from measurand.reporting.scores_view import Arm
from measurand.reporting.words import joined
from measurand.result import Row, show_number
from measurand.result.words import clean, plural, shorten
from measurand.sentences import share

#: Rows up to which a table stands open, that it shows of more, and that it ever holds.
MOST_OPEN: Final = 15
_MOST_AT_FIRST: Final = 8
MOST_ROWS: Final = 300
_LEAST_COST: Final = 0.0001
_SPENT: Final = {
    "prompt_tokens": "Tokens in",
    "cached_tokens": "of these cached",
    "completion_tokens": "Tokens out",
    "reasoning_tokens": "of these reasoning",
    "seconds": "Seconds",
}


def share_cell(value: float | None) -> Cell:
    """Return a share in percent."""
    return Cell("–" if value is None else share(value))


def folded(
    caption: str, arms: Sequence[Arm], made: Callable[[str, Sequence[Arm]], Table], first: Sequence[Arm], csv: str
) -> list[Block]:
    """Return a table of arms; of many, those that need a look first stand open and all are folded."""
    if not arms:
        return []
    if len(arms) <= MOST_OPEN:
        return [made(caption, arms)]
    whole = made(caption, arms[:MOST_ROWS])
    head = [made(f"{caption}: the {_MOST_AT_FIRST} of {len(arms):,} arms to look at first", first[:_MOST_AT_FIRST])]
    return [*(head if first else []), Fold(f"{caption}: {_of(arms, csv)}", [whole])]


def _of(arms: Sequence[Arm], csv: str = "elicitation") -> str:
    """Return how many arms a fold has, and where the others are."""
    more = f", the first {MOST_ROWS} here, all in tables/{csv}.csv" if len(arms) > MOST_ROWS else ""
    return f"{plural(len(arms), 'arm')}{more}"


def _mass_cell(value: float | None) -> Cell:
    return Cell("–" if value is None else show_number(float(f"{value:.3g}")))


def count(value: float | None) -> Cell:
    """Return a count, a dash where nobody counted."""
    return Cell("–" if value is None else f"{value:,.0f}")


def came_back(view: Elicitation, *, with_controls: bool = True) -> list[Block]:
    """Return requests, statuses and mass by arm, controls and derived readouts folded."""
    if not view.asked:
        return []
    said = (
        "An arm is one system under one readout, wording and prefill. Statuses count answers: one for each criterion "
        "(or option) of a request."
    )
    if any(view.row(arm, "mass_median") is not None for arm in view.asked):
        said += (
            " Mass is the probability of all permitted answers together where they were read; the last column tells "
            "for what share of the readings the likeliest token of all is one of them."
        )

    def made(caption: str, arms: Sequence[Arm]) -> Table:
        return _answers(view, caption, arms)

    blocks: list[Block] = [Text(said)]
    by_arm, at_engines = view.total("n_requests") or 0, view.requests()[0]
    if view.cards and by_arm > at_engines:
        said = f"The {by_arm:,.0f} requests of the arms are {at_engines:,} to the engines: what is the same to the "
        said += "letter is asked once and counts in every arm that it answers."
        blocks.append(Text(said, small=True))
    if len(view.systems) > 1 and len(view.arms) > MOST_OPEN:
        blocks.append(_by_system(view))
    blocks += folded("What came back", view.arms, made, view.worst_first(view.arms), "elicitation")
    name = "Controls, in which the item was replaced"
    if view.controls and with_controls:
        blocks.append(Fold(f"{name}: {_of(view.controls)}", [made(name, view.controls[:MOST_ROWS])]))
    elif view.controls:
        said = f"{name} ({plural(len(view.controls), 'arm')}), are in tables/elicitation.csv; the gates hold them "
        blocks.append(Text(f"{said}against the items themselves.", small=True))
    if view.derived:
        names = joined([clean(name) for name in dict.fromkeys(arm[1] for arm in view.derived)])
        said = f"Made from stored answers and never asked: {names} ({plural(len(view.derived), 'arm')}); their numbers "
        blocks.append(Text(f"{said}are in tables/elicitation.csv.", small=True))
    return blocks


def _answers(view: Elicitation, caption: str, arms: Sequence[Arm]) -> Table:
    remarks = Remarks()
    rows = []
    for arm in arms:
        never = view.row(arm, "n_criteria_never_asked")
        n_never = "" if never is None or not never.estimate else f"{never.estimate:,.0f}"
        widest = view.number(arm, "width_max")
        mass = [_mass_cell(view.number(arm, f"mass_{name}")) for name in ("median", "p01", "min")]
        rows.append(
            [
                arm_cell(arm, with_protocol=True),
                count(view.number(arm, "n_requests")),
                count(view.number(arm, "n_answered")),
                Cell(status_words(view.statuses(arm))),
                Cell(n_never, title=clean(never.note) if never is not None and n_never else ""),
                *mass,
                Cell("–" if widest is None else show_number(float(f"{widest:.2g}"))),
                _top(view.number(arm, "share_top_is_answer"), view.row(arm, "n_readings")),
            ]
        )
    columns = [
        Column("Arm"),
        Column("Requests", is_number=True),
        Column("Answered", is_number=True),
        Column("Answers by status"),
        Column("Criteria never asked", is_number=True),
        Column("Mass, median", is_number=True),
        Column("Mass, 1\u00a0%", is_number=True),
        Column("Mass, least", is_number=True),
        Column("Widest bounds", is_number=True, title="answer_high minus answer_low"),
        Column("Likeliest is an answer", is_number=True),
    ]
    return without_empty(caption, columns, rows, remarks.all())


def _top(value: float | None, readings: Row | None) -> Cell:
    return Cell(share_cell(value).text, title="" if readings is None else shorten(readings.note, 300))


def _by_system(view: Elicitation) -> Block:
    rows = []
    for system in view.systems[:MOST_ROWS]:
        arms = view.of_system(system)
        rows.append(
            [
                name_cell(system),
                count(view.total("n_requests", system)),
                count(view.total("n_answered", system)),
                Cell(status_words(view.statuses_of(arms))),
            ]
        )
    columns = [Column("System"), Column("Requests", is_number=True), Column("Answered", is_number=True)]
    caption = "By system, controls among them"
    made = Table(caption, [*columns, Column("Answers by status")], rows)
    return Fold(f"{caption}: {len(view.systems)} systems", [made]) if len(view.systems) > MOST_OPEN else made


def cost(value: float | None, currency: str) -> Cell:
    """Return an amount of money, a dash where no price was declared."""
    if value is None or not currency:
        return Cell("–")
    shown = f"{value:,.2f}" if value >= 1 else show_number(float(f"{value:.3g}"))
    if 0 < value < _LEAST_COST:
        shown = f"under {_LEAST_COST:.4f}"
    return Cell(f"{shown} {clean(currency)}")


def took(view: Elicitation, *, by_arm: bool = True) -> list[Block]:
    """Return tokens, time and money by system, and folded by arm."""
    spending = [arm for arm in view.asked if any(view.row(arm, name) is not None for name in _SPENT)]
    if not spending:
        return []
    remarks = Remarks()
    for arm in spending:
        for name in ("prompt_tokens", "completion_tokens"):
            row = view.row(arm, name)
            if row is not None and row.note:
                remarks.say("Where an engine did not say how many tokens there were, they are missing in the sums.")
    rows = [
        [
            name_cell(system),
            *(count(view.total(name, system)) for name in list(_SPENT)[:-1]),
            _seconds(view.total("seconds", system)),
            cost(view.total("cost", system), view.currency(system)),
        ]
        for system in view.systems[:MOST_ROWS]
    ]
    if len(view.systems) > 1:
        every = [*(count(view.total(name)) for name in list(_SPENT)[:-1]), _seconds(view.total("seconds"))]
        rows.append([Cell("All"), *every, cost(view.total("cost"), view.currency())])
    columns = [Column("System"), *(Column(words, is_number=True) for words in _SPENT.values())]
    columns.append(Column("Cost", is_number=True))
    caption = "What it took, all attempts together"
    said = Text(
        "Seconds are those of the requests added up: requests that ran at the same time count each. Cost is what the "
        "declared prices make of the tokens; it is left out where no price is declared.",
        small=True,
    )
    made = without_empty(caption, columns, rows, remarks.all())
    by_system: Block = Fold(f"{caption}: {len(view.systems)} systems", [made]) if len(rows) > MOST_OPEN else made
    if not by_arm:
        return [by_system, said]
    each = [
        [
            arm_cell(arm, with_protocol=True),
            *(count(view.number(arm, name)) for name in list(_SPENT)[:-1]),
            _seconds(view.number(arm, "seconds")),
            cost(view.number(arm, "cost"), view.currency(arm[0])),
        ]
        for arm in spending[:MOST_ROWS]
    ]
    of_arms = without_empty(f"{caption}, by arm", [Column("Arm"), *columns[1:]], each, [])
    return [by_system, said, Fold(f"{caption}, by arm: {_of(spending)}", [of_arms])]


def _seconds(value: float | None) -> Cell:
    return Cell("–" if value is None else show_number(float(f"{value:.3g}")))
