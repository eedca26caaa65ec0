"""Gates: may the answers be scored? The matrix of arms and gates, the numbers of what fails, every number of a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from measurand.reporting import answers, cells
from measurand.reporting.blocks import Answer, Block, Cell, Column, Fold, Table, Terms, Text
from measurand.reporting.scores_cells import arm_cell
from measurand.reporting.scores_view import Arm, arm_of, arm_words
from measurand.reporting.view import View
from measurand.reporting.words import begin, joined
from measurand.result import VERDICTS, Finding, Result, Row, Verdict, show_number
from measurand.result.words import MARK, WORD, clean, plural, shorten

#: Gates that are about the control arms.
OF_CONTROLS: Final = ("control-health",)
_MOST_NAMED: Final = 4
_MOST_ARMS: Final = 60
_MOST_BESIDE_WORDS: Final = 4
#: Statistics that stand in the matrix, or have a column of their own.
_NOT_NUMBERS: Final = ("passed",)
#: Statistics whose names say too little as the head of a column.
_HEADINGS: Final = {
    "coverage": "Share answered",
    "share_items_complete": "Share of items with every answer",
    "share_repaired": "Share repaired",
    "n_without_row": "Questions without row",
    "mean_count": "Criteria said to be there, mean",
    "sd_count": "Criteria said to be there, standard deviation",
    "share_duplicated": "Share with answers of another item",
    "n_distinct_vectors": "Different answers to all criteria",
    "share_if_independent": "The same, if criteria were independent",
    "share_of_raters": "The same, among single raters",
    "share_on_items_of_raters": "The same, on the raters' items",
    "kappa_quadratic": "Quadratic kappa",
    "mean_shuffled": "Mean, items shuffled",
    "p_permutation": "p (permutation)",
    "p_below": "p (below)",
    "share_most_frequent_set": "Share of the most frequent set",
    "share_saturated": "Share at 0 or 1",
    "share_near_half": "Share next to one half",
    "mass_median": "Answer mass, median",
}
_SHOWN: Final[tuple[Verdict, ...]] = ("fail", "warn")


class Gates:
    """The rows and findings of gates, by gate and arm.

    Parameters
    ----------
    result : Result
        What `measurand gates` made, perhaps beside a scoring run.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.settings: Mapping[str, Any] = result.settings.get("gates", {})
        self.rows = [row for row in result.rows if row.analysis == "gates"]
        self.passed = {(str(row.keys["gate"]), arm_of(row)): row for row in self.rows if row.statistic == "passed"}
        self.names: list[str] = list(dict.fromkeys(str(row.keys["gate"]) for row in self.rows))
        self.arms: list[Arm] = list(dict.fromkeys(arm for _, arm in self.passed))
        self.findings = [one for one in result.findings if self._is_own(one)]
        # A gate that has no arm to judge has a finding alone.
        self.names += [one.id for one in self.findings if one.id not in self.names]

    def _is_own(self, finding: Finding) -> bool:
        if finding.rows:
            return all(ref.get("analysis") == "gates" for ref in finding.rows)
        return finding.id in self.names or finding.id in OF_CONTROLS

    def verdict(self, gate: str, arm: Arm) -> Verdict | None:
        """Return the verdict of a gate on an arm, None if it was not asked of it."""
        row = self.passed.get((gate, arm))
        if row is None:
            return None
        if row.undefined:
            return "not_applicable" if row.undefined.startswith("not applicable") else "undetermined"
        if row.estimate == 0:
            return "fail"
        return "warn" if row.note.startswith("warn: ") else "pass"

    def text(self, gate: str, arm: Arm) -> str:
        """Return what a gate says of an arm, its verdict left out."""
        row = self.passed.get((gate, arm))
        if row is None:
            return ""
        said = row.undefined or row.note
        for start in ("not applicable: ", "undetermined: ", "warn: ", "fail: "):
            said = said.removeprefix(start)
        return clean(said)

    @property
    def failing(self) -> dict[Arm, list[str]]:
        """The gates that each arm fails, for the arms that fail any."""
        out: dict[Arm, list[str]] = {}
        for (gate, arm), row in self.passed.items():
            if row.estimate == 0:
                out.setdefault(arm, []).append(gate)
        return out


def headline(view: Gates) -> str:
    """Return what was asked, in one line."""
    systems = len({arm[0] for arm in view.arms})
    beside = [
        words for key, words in (("ratings", "ratings"), ("labels", "labels"), ("example", "the prompt's example"))
        if view.settings.get(key)
    ]  # fmt: skip
    given = f"held against {joined(beside)}" if beside else "without ratings or labels"
    return f"{plural(systems, 'system')}, {plural(len(view.arms), 'arm')}; {plural(len(view.names), 'gate')}; {given}"


def lead(view: Gates) -> list[str]:
    """Return the verdict: how many arms may be scored, and which fail what."""
    if not view.arms:
        return []
    failing = view.failing
    if not failing:
        warned = [arm for arm in view.arms if any(view.verdict(gate, arm) == "warn" for gate in view.names)]
        said = f"No gate fails: all {plural(len(view.arms), 'arm')} may be scored."
        if len(view.arms) == 1:
            said = "No gate fails: the answers may be scored."
        return [said, f"{_number(len(warned), 'arm has', 'arms have')} warnings."] if warned else [said]
    named = [
        f"{shorten(arm_words(arm), 48)} ({', '.join(clean(gate) for gate in gates)})" for arm, gates in failing.items()
    ]
    more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return [
        f"{len(failing)} of {plural(len(view.arms), 'arm')} {'fails' if len(failing) == 1 else 'fail'} a gate: "
        f"{'; '.join(named[:_MOST_NAMED])}{more}.",
        "A score of such an arm measures something else than what was asked; it may be shown, but marked.",
    ]


def _number(n: int, singular: str, plural_form: str) -> str:
    return f"{n} {singular if n == 1 else plural_form}"


def gates(view: Gates, *, with_findings: bool, most: int = _MOST_ARMS) -> list[Block]:
    """Return the matrix and the numbers of every gate; with findings where no other section has them.

    Tables have the first `most` arms, the worst first where they are ordered.
    """
    if not view.arms:
        return []
    blocks: list[Block] = [
        Text(
            "May these answers be scored? Each arm is asked every gate that applies to it. "
            f"{_marks()}. An arm that fails stays visible in every table."
        ),
        _matrix(view, most),
    ]
    failed = _reasons(view, most)
    if failed is not None:
        blocks.append(failed)
    if with_findings and view.findings:
        blocks.append(Fold("Every gate: its question, answer and remedy", _answers(view)))
    blocks += [fold for gate in view.names if (fold := _details(view, gate, most)) is not None]
    return blocks


def _marks() -> str:
    words = {"fail": "fails", "warn": "a warning", "undetermined": "not determined", "pass": "passes"}
    told = [f"{MARK[verdict]} {words[verdict]}" for verdict in VERDICTS if verdict in words]
    return f"{', '.join(told)}, {MARK['not_applicable']} does not apply"


def _matrix(view: Gates, most: int) -> Table:
    """Return arms by gates; the gates that apply to no arm are named below."""
    asked = [gate for gate in view.names if any(_applies(view, gate, arm) for arm in view.arms)]
    idle = [gate for gate in view.names if gate not in asked]

    def place(arm: Arm) -> tuple[int, ...]:
        return tuple(-sum(view.verdict(gate, arm) == verdict for gate in asked) for verdict in VERDICTS[:3])

    rows = []
    for arm in sorted(view.arms, key=place)[:most]:
        shown = []
        for gate in asked:
            verdict = view.verdict(gate, arm)
            text = view.text(gate, arm)
            href = _anchor(gate) if verdict is not None else ""
            shown.append(Cell("" if verdict is None else MARK[verdict], title=text, href=href, verdict=verdict or ""))
        rows.append([arm_cell(arm, with_protocol=True), *shown])
    notes = []
    if len(view.arms) > most:
        notes.append(f"The first {most} of {len(view.arms)} arms, the worst first; all are in tables/gates.csv.")
    if idle:
        notes.append(f"Not shown, as they apply to no arm: {', '.join(answers.short_name(gate) for gate in idle)}.")
    return Table("Arms and gates", [Column("Arm"), *(Column(answers.as_head(gate)) for gate in asked)], rows, notes)


def _applies(view: Gates, gate: str, arm: Arm) -> bool:
    return view.verdict(gate, arm) not in (None, "not_applicable")


def _anchor(gate: str) -> str:
    return "gate-" + "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in gate)


def _reasons(view: Gates, most: int) -> Table | None:
    """Return what fails and what warns, with the numbers in words."""
    rows = []
    for verdict in _SHOWN:
        for gate in view.names:
            for arm in view.arms:
                if view.verdict(gate, arm) == verdict:
                    shown = f"{MARK[verdict]} {WORD[verdict]}"
                    cell = Cell(shown, href=_anchor(gate), verdict=verdict)
                    rows.append(
                        [arm_cell(arm, with_protocol=True), cell, Cell(clean(gate)), Cell(view.text(gate, arm))]
                    )
    if not rows:
        return None
    shown_rows = rows[:most]
    notes = [f"… and {len(rows) - len(shown_rows)} more in tables/gates.csv."] if len(rows) > len(shown_rows) else []
    columns = [Column("Arm"), Column("Verdict"), Column("Gate"), Column("Numbers")]
    return Table("What fails, and what warns", columns, shown_rows, notes)


def _answers(view: Gates) -> list[Block]:
    """Return the findings of the gates, their anchors told from those of a scoring run."""
    first = {finding.id: finding for finding in reversed(view.findings)}
    found = answers.findings(View(Result([], findings=list(first.values())[::-1])))
    return [_renamed(block) for block in found]


def _renamed(block: Block) -> Block:
    if isinstance(block, Answer):
        return replace(block, id=f"gate-{block.id}")
    if isinstance(block, Fold):
        return replace(block, blocks=[_renamed(one) for one in block.blocks])
    return block


def _details(view: Gates, gate: str, most: int) -> Fold | None:
    """Return the numbers of a gate: arms down, statistics across; those of single criteria are left to the table."""
    by: dict[Arm, dict[str, Row]] = {}
    n_single = 0
    for row in view.rows:
        if row.keys["gate"] != gate or row.statistic in _NOT_NUMBERS:
            continue
        if row.keys.get("criterion", ""):
            n_single += 1
            continue
        by.setdefault(arm_of(row), {})[row.statistic] = row
    statistics = list(dict.fromkeys(name for of in by.values() for name in of))
    nothing = [name for name in statistics if name.startswith("n_") and _is_nothing(by, name)]
    statistics = [name for name in statistics if name not in nothing]
    said: list[Block] = []
    arms = [arm for arm in view.arms if _applies(view, gate, arm)]
    if not arms and not any(view.verdict(gate, arm) is not None for arm in view.arms):
        return None
    # Beside many numbers a column of sentences would be a tower of words; the matrix has them as titles.
    has_words = len(statistics) <= _MOST_BESIDE_WORDS
    rows = []
    for arm in arms[:most]:
        verdict = view.verdict(gate, arm)
        mark = "" if verdict is None else f"{MARK[verdict]} {WORD[verdict]}"
        numbers = [_number_cell(by.get(arm, {}).get(name)) for name in statistics]
        words = [Cell(view.text(gate, arm))] if has_words else []
        rows.append([arm_cell(arm, with_protocol=True), Cell(mark), *numbers, *words])
    if rows:
        columns = [Column("Arm"), Column("Verdict")]
        columns += [Column(_heading(name), is_number=True) for name in statistics]
        notes = [f"0 for every arm: {', '.join(_heading(name).lower() for name in nothing)}."] if nothing else []
        columns += [Column("In words")] if has_words else []
        said.append(Table(f"Numbers of {clean(gate)}", columns, rows, notes))
    if n_single:
        said.append(Text(f"{plural(n_single, 'number')} of single criteria are in tables/gates.csv.", small=True))
    reasons = dict.fromkeys(view.text(gate, arm) for arm in view.arms if view.verdict(gate, arm) == "not_applicable")
    if reasons:
        said.append(Text(f"Does not apply where {'; where '.join(list(reasons)[:_MOST_NAMED])}.", small=True))
    number = {v: sum(view.verdict(gate, arm) == v for arm in view.arms) for v in VERDICTS}
    told = " · ".join(f"{MARK[v]} {n} {WORD[v]}" for v, n in number.items() if n)
    finding = next((one for one in view.findings if one.id == gate), None)
    if finding is not None:
        # What it says stands among the findings.
        said.insert(0, Text(clean(finding.question)))
    return Fold(f"{clean(gate)}: {told}", said, id=_anchor(gate))


def _is_nothing(by: Mapping[Arm, Mapping[str, Row]], statistic: str) -> bool:
    """Whether a count is 0 wherever there is one."""
    return all(of[statistic].estimate == 0 and not of[statistic].undefined for of in by.values() if statistic in of)


def _heading(statistic: str) -> str:
    if statistic in _HEADINGS:
        return _HEADINGS[statistic]
    return begin(statistic.removeprefix("n_").replace("_", " "))


def _number_cell(row: Row | None) -> Cell:
    return cells.plain(row) if row is None or row.low is None else cells.estimate(row)


def protocol(view: Gates) -> list[Block]:
    """Return the settings of the gates, and what they could not look at."""
    settings = view.settings
    pairs = [("Systems", joined(_few([arm[0] for arm in view.arms])))]
    pairs.append(("How answers were read", joined(_few([arm[1] for arm in view.arms])) or "not given"))
    pairs.append(("Wording of the question", joined(_few([arm[2] for arm in view.arms])) or "not given"))
    for name, key in (("Ratings", "ratings"), ("Labels", "labels")):
        if key in settings:
            pairs.append((name, "given" if settings[key] else "not given: gates that need them are undetermined"))
    if "example" in settings:
        pairs.append(("Criteria of the prompt's example", joined(_few(settings["example"])) or "not given"))
    for name, key in (
        ("Numerical noise of a probability", "noise"),
        ("Replicates", "replicates"),
        ("Shuffles of the items", "permutations"),
        ("Seed", "seed"),
    ):
        if key in settings:
            pairs.append((name, show_number(settings[key])))
    return [Terms([(name, clean(value)) for name, value in pairs])]


def _few(names: Sequence[str], most: int = 12) -> list[str]:
    found = [shorten(name, 40) for name in dict.fromkeys(names) if name]
    return found[:most] + ([f"{len(found) - most} more"] if len(found) > most else [])


METHODS: Final = (
    "Gates: answer mass and the single-answer gap as in Hallmen, Deuser, Kampa, Oswald & André 2026, arXiv 2610.08162, "
    "section 3; controls as in its appendix O; the other gates and all thresholds stand in docs/findings.md.",
    "Permutation tests: (1 + hits) / (1 + shuffles), Phipson & Smyth 2010, Statistical Applications in Genetics and "
    "Molecular Biology 9.",
)
WORDS: Final = (
    ("gate", "a test of whether answers may be scored at all, asked before anything is said about who is better"),
    ("arm", "one system under one protocol: a readout, a phrasing, a prefill, an attempt, a control"),
    ("readout", "how an answer is taken from a system: generated, or read from its probabilities"),
    ("answer mass", "the probability of all admissible answers together where the answer was read"),
    ("control", "an arm that was shown a blank or another item, so that its answers cannot be about the item"),
    ("undetermined", "the gate needs something that the table does not have; the finding says what"),
)
