"""Page, Markdown, screen and figures of an elicitation."""

import datetime
import json
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from html_page import Page
from measurand.data.scale import Scale
from measurand.eliciting.declared import Choice, Design, Generative, Item, Retry, Text, TextRule, Verification
from measurand.eliciting.engine import Decoding
from measurand.eliciting.system import Price, System
from measurand.eliciting.wordings import (
    choice_phrasings,
    generative_phrasings,
    text_phrasings,
    verification_phrasings,
)
from measurand.reporting import default_title, plot, render_html, render_markdown, render_summary
from measurand.reporting.answers import short_name
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.scores_view import arm_of
from measurand.result import Finding, MeasurandError, Result, Row
from measurand.result.words import kind_of
from measurand.study import manifest
from measurand.study_eliciting import run_elicitation

HOSTILE = [
    "<script>alert(1)</script>",
    "n" * 300,
    "$x^2$ | `a`",
    "نموذج عربي",
    "日本語\u202eのモデル",
    "{{ 7 * 7 }}\x07",
]
SECTIONS = [
    "findings", "asked", "attempts", "mass", "acquiescence", "repeats", "proofs", "gates",
    "undefined", "protocol", "cards",
    "words", "methods", "reproduce",
]  # fmt: skip
TEXTS = ["I won the prize!", "My dog died.", "He stole my bike.", "What a calm lake.", "No more rain.", "They left."]
FINDINGS = [
    "requests-answered", "engine-tested", "read-position", "bounds", "first-reply", "criteria-asked", "acquiescence",
]  # fmt: skip


def ran(folder, systems, readouts, **changes):
    items = [Item(f"i{n}", text) for n, text in enumerate(TEXTS)]
    design = Design(items, ["joy", "sadness", "anger"], systems, readouts, scale={"": Scale(0, 7, step=1)}, **changes)
    now = datetime.datetime.now(datetime.UTC)
    found = run_elicitation(
        design,
        folder,
        title="Asked",
        replicates=100,
        document=lambda: manifest([], command="measurand elicit study.toml", settings={}, started=now),
    )
    return found.result


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    rule = TextRule("emoji", 1, 5)
    return ran(
        tmp_path_factory.mktemp("whole"),
        [
            System("A", "fake", "m1", price=Price(1, 2)),
            System("B", "fake", "m2", template_options={"bad_share": 0.5}),
        ],
        [
            Verification(verification_phrasings("text"), prefills=("Answer:", "")),
            Generative(generative_phrasings("text")[:1], retry=Retry(3, "Only JSON, please.")),
            Choice({"joy": ("joy",), "sadness": ("sadness",)}, choice_phrasings("text")[:1], rotations=2),
            Text(text_phrasings("text", rule=rule)[:1], rule=rule, decoding=Decoding(50, 0.7)),
        ],
        repeats=2,
        controls=("swapped",),
        control_items=2,
        derived=("binarized", "double_centred"),
    )


@pytest.fixture(scope="module")
def one_arm(tmp_path_factory):
    readout = Verification(verification_phrasings("text")[:1], instructions="Read this:\nslowly.")
    return ran(tmp_path_factory.mktemp("one"), [System("only", "fake", "m")], [readout])


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """One system that fails its test, one with holes, one in order."""
    systems = [
        System("in order", "fake", "m1"),
        System("untested", "fake", "m2", template_options={"fails_proof": True}),
        System("with holes", "fake", "m3", template_options={"failure_share": 0.3}),
    ]
    readout = Verification(verification_phrasings("text")[:2])
    return ran(tmp_path_factory.mktemp("broken"), systems, [readout])


def renamed(result, systems, phrasings):
    """The same run under other names of systems and wordings, which stand in the cards' texts, too."""
    rows = [
        replace(row, keys=_renamed(_renamed(row.keys, "system", systems), "phrasing", phrasings)) for row in result.rows
    ]
    protocol = json.loads(json.dumps(result.settings["elicitation"]["protocol"]))
    for card in protocol["systems"]:
        card["system"] = systems.get(card["system"], card["system"])
        card["model"] = card["stopped"] = HOSTILE[0]
        card["failures"] = dict.fromkeys(HOSTILE, 2)
        card["identity"] |= {HOSTILE[0]: HOSTILE[1]}
    for readout in protocol["readouts"]:
        readout["system_message"] = readout["instructions"] = " ".join(HOSTILE) * 20
        for one in readout["phrasings"]:
            one["name"] = phrasings.get(one["name"], one["name"])
            one["question"] += HOSTILE[0]
    return Result(rows, {**result.settings, "elicitation": {"protocol": protocol}}, result.findings)


def _renamed(keys, key, names):
    return {**keys, key: names.get(keys[key], keys[key])} if key in keys else dict(keys)


@pytest.fixture(scope="module")
def hostile(whole):
    names = dict(zip(["does", "present", "would", "every"], HOSTILE[2:], strict=True))
    return renamed(whole, {"A": HOSTILE[0], "B": HOSTILE[1]}, names)


@pytest.fixture(scope="module")
def many(whole):
    """Two hundred systems of the same kind, twelve arms each."""
    systems = [f"vendor/model-{n:03d}-instruct" for n in range(200)]
    twelve = {*Elicitation(whole).of_system("B")[:12], ("B", "", "", "")}
    rows = [
        replace(row, keys={**row.keys, "system": name})
        for row in whole.rows
        if row.keys["system"] == "B" and arm_of(row) in twelve
        for name in systems
    ]
    protocol = json.loads(json.dumps(whole.settings["elicitation"]["protocol"]))
    protocol["systems"] = [{**protocol["systems"][1], "system": name} for name in systems]
    return Result(rows, {**whole.settings, "elicitation": {"protocol": protocol}}, whole.findings)


RUNS = ["whole", "one_arm", "broken", "hostile", "many"]


def page(result, **changes):
    return render_html(result, **({"title": "Asked", "reproduce": {"seed": "0"}} | changes))


@pytest.mark.parametrize("name", RUNS)
def test_pages_are_well_formed_and_self_contained(name, request):
    result = request.getfixturevalue(name)
    text = page(result)
    parsed = Page(text)
    assert parsed.faults == []
    assert parsed.open == []
    ids = parsed.all("id")
    assert len(ids) == len(set(ids))
    assert not {tag for tag, _ in parsed.elements} & {"img", "iframe", "link", "form"}
    assert {one[1:] for one in parsed.all("href") + parsed.all("xlink:href")} <= set(ids)
    assert len(text) < 2_500_000
    for finding in result.findings:
        assert " ".join(finding.statement.split()) in parsed.text


@pytest.mark.parametrize("name", ["whole", "broken"])
def test_same_bytes_after_a_round_trip(name, request):
    result = request.getfixturevalue(name)
    assert page(result) == page(Result.from_json(result.to_json()))


@pytest.mark.parametrize("name", RUNS)
def test_markdown_tables_hold_together(name, request):
    text = render_markdown(request.getfixturevalue(name), title="a|b", reproduce={"seed": "0"})
    outside_code = re.sub(r"(`+).*?\1", "", text)
    assert "<" not in outside_code
    width = 0
    for line in text.splitlines():
        n = len(re.findall(r"(?<!\\)\|", line))
        if line.startswith("|"):
            width = width or n
            assert n == width
        else:
            width = 0


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [60, 80])
def test_screens_fit(name, width, request):
    result = request.getfixturevalue(name)
    text = render_summary(result, width=width, color=False)
    lines = text.splitlines()
    assert len(lines) <= (60 if width < 80 else 48)
    assert max(min(len(line), cell_len(line)) for line in lines) <= width
    assert "\x1b" not in text
    coloured = render_summary(result, width=width, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


def test_sections_stand_in_order(whole, one_arm):
    def of(result):
        return [attrs["id"] for tag, attrs in Page(page(result)).elements if tag == "section" and "class" not in attrs]

    assert of(whole) == SECTIONS
    # Nothing was asked twice.
    assert of(one_arm) == [name for name in SECTIONS if name not in ("attempts", "repeats")]


def test_kind_title_and_words_of_findings(whole):
    assert kind_of(whole) == "elicitation"
    assert default_title(whole) == "Answers of systems"
    assert [one.id for one in whole.findings][: len(FINDINGS)] == FINDINGS
    assert short_name("read-position") == "read-position"
    assert short_name("first-reply") == "first-reply"


def test_numbers_of_the_page_are_the_rows(whole):
    keys = {"system": "A", "readout": "verification", "phrasing": "does", "variant": ""}
    row = whole.select("elicitation", "mass_median", keys)[0]
    shown = f"{row.estimate:.3g}"
    assert shown in _table(page(whole), "A", "verification, does")
    # Another number is another page.
    moved = [replace(one, estimate=0.123) if one == row else one for one in whole.rows]
    other = Result(moved, whole.settings, whole.findings)
    assert "0.123" in _table(page(other), "A", "verification, does")
    assert shown not in _table(page(other).split('id="gates"')[0], "A", "verification, does")


def _table(text, system, protocol):
    """Return the rows of one arm in all tables."""
    rows = re.findall(r"<tr>.*?</tr>", text, flags=re.DOTALL)
    return [row for row in rows if f"<bdi>{system}</bdi>" in row and f">{protocol}<" in row].__str__()


def test_the_lead_tells_what_failed_first(broken):
    text = Page(page(broken)).text
    total, answered = Elicitation(broken).requests()
    assert answered < total
    assert f"{total} requests to 3 systems: {answered} are answered and {total - answered} are not." in text
    assert "Fail: requests-answered, engine-tested" in text
    assert "1 of 2 tests failed" in text
    assert "Nothing more could be asked" in text


def test_a_run_in_order_says_so(whole):
    passing = [replace(one, verdict="pass") for one in whole.findings]
    text = Page(page(Result(whole.rows, whole.settings, passing))).text
    assert "all are answered. Nothing speaks against scoring these answers" in text


def test_the_screen_names_systems_with_holes_first(broken):
    lines = render_summary(broken, width=80, color=False).splitlines()
    table = lines[next(n for n, line in enumerate(lines) if line.startswith("system")) :]
    assert [line.split("  ")[0] for line in table[1:4]] == ["untested", "with holes", "in order"]


def test_controls_and_derived_readouts_are_no_arms_that_were_asked(whole):
    view = Elicitation(whole)
    assert {arm[1] for arm in view.derived} == {"binarized", "double_centred"}
    assert all("control=swapped" in arm[3] for arm in view.controls)
    assert view.controls
    assert not {*view.arms} & {*view.controls, *view.derived}
    rows = whole.select("elicitation", "n_requests")
    assert view.total("n_requests") == sum(row.estimate for row in rows if arm_of(row) not in view.derived)


def test_every_status_is_told(whole):
    view = Elicitation(whole)
    arm = view.arms[0]
    rows = [replace(row, statistic="n_truncated") if row == view.row(arm, "n_ok") else row for row in whole.rows]
    rows.append(Row("elicitation", view.row(arm, "n_ok").keys, "n_of_a_new_kind", 3.0))
    counted = Elicitation(Result(rows, whole.settings)).statuses(arm)
    assert counted == {"truncated": view.statuses(arm)["ok"], "of_a_new_kind": 3}
    assert f"{counted['truncated']} truncated, 3 of a new kind" in page(Result(rows, whole.settings, whole.findings))


def test_a_cost_without_a_price_is_no_zero(whole):
    view = Elicitation(whole)
    assert view.currency("A") == "USD"
    assert view.currency("B") == ""
    assert view.currency() == ""
    assert re.search(r"A +\S+ +\S+ +.* 0\.\d+ USD", render_summary(whole, width=100, color=False))


def test_criteria_that_were_never_asked_are_shown(whole):
    assert "Criteria never asked" not in page(whole)
    rows = [
        replace(row, estimate=2.0, note="joy, <anger>") if row.statistic == "n_criteria_never_asked" else row
        for row in whole.rows
    ]
    text = page(Result(rows, whole.settings, whole.findings))
    assert "Criteria never asked" in text
    assert 'title="joy, &lt;anger&gt;"' in text


def test_wordings_and_messages_stand_in_full(one_arm):
    text = Page(page(one_arm)).text
    for one in one_arm.settings["elicitation"]["protocol"]["readouts"][0]["phrasings"]:
        assert one["question"] in text
    assert "“Read this: ↵ slowly.”" in text
    assert "“Answer:”" in text


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        ({"by": "text", "n_top": 5, "labels": {"yes": {"forms": ["yes", " Yes"], "n_variants": 9}}}, '"yes", " Yes"'),
        ({"labels": {"Answer:": {"yes": ["yes"]}}, "is_fake": True}, '"yes"'),
        (
            {
                "…\nAnswer:": [
                    {"label": "yes", "text": " yes", "ids": [12, 7], "kind": "token", "subtracted": [], "reason": ""},
                    {"label": "yes", "text": "y", "ids": [3], "kind": "left_out", "subtracted": [], "reason": "short"},
                ]
            },
            '" yes" (12 7)',
        ),
    ],
)
def test_answer_tokens_of_every_engine_are_shown(one_arm, answers, shown):
    protocol = json.loads(json.dumps(one_arm.settings["elicitation"]["protocol"]))
    tables = [{"prefill": "Answer:", "answers": answers}, {"prefill": "", "answers": answers}]
    protocol["systems"][0]["answer_tokens"] = {"verification": tables}
    text = Page(page(Result(one_arm.rows, {"elicitation": {"protocol": protocol}}, one_arm.findings))).text
    # Both contexts have one set, which stands there once.
    assert "Behind “Answer:” and without a prefill" in text
    assert text.count(shown) == 1
    if "12 7" in shown:
        assert '"y" (3): short' in text


def test_hostile_texts_are_shown_and_do_nothing(hostile):
    text = page(hostile, title="<script>alert(2)</script>")
    assert text.count("<script") == 1
    assert "\x07" not in text
    assert "\u202e" not in text
    parsed = Page(text)
    assert HOSTILE[0] in parsed.text
    assert "n" * 300 in " ".join(parsed.all("title"))
    assert "{{ 7 * 7 }}" in parsed.text


def test_many_systems_are_folded(many):
    text = page(many)
    opened = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    while (shorter := re.sub(r"<details(?:(?!<details).)*?</details>", "", opened, flags=re.DOTALL)) != opened:
        opened = shorter
    assert len(opened) < 150_000
    assert "model-150" not in opened
    assert "model-150" in text
    assert "and 160 more cards in protocol.json" in text


@pytest.mark.parametrize("figure", ["mass", "attempts", "acquiescence"])
def test_figures_are_drawn_from_the_result_alone(whole, hostile, many, figure):
    drawn = plot(whole, figure=figure)
    assert drawn.svg.startswith("<svg")
    assert drawn.svg == plot(Result.from_json(whole.to_json()), figure=figure).svg
    assert "<script" not in plot(hostile, figure=figure).svg
    assert len(plot(many, figure=figure).svg) < 150_000
    assert "Shown are the" in plot(many, figure=figure).caption


def test_figures_of_other_runs_are_refused_with_the_reason(one_arm):
    with pytest.raises(MeasurandError, match="needs the analysis attempts with more than one attempt"):
        plot(one_arm, figure="attempts")
    assert plot(one_arm).title == "Answer mass"


def test_a_result_without_cards_or_numbers_has_a_page():
    keys = {"system": "S", "readout": "text"}
    for result in (
        Result([Row("elicitation", keys, "n_requests", 3.0), Row("elicitation", keys, "n_answered", 2.0)]),
        Result([], {"elicitation": {}}, [Finding("bounds", "Are they?", "not_applicable", "None.")]),
        Result([Row("acquiescence", keys, "share_item", float("nan"), undefined="one item")], {"elicitation": {}}),
    ):
        assert Page(page(result)).faults == []
        assert render_summary(result, width=80, color=False)
        assert render_markdown(result, title="t", reproduce={})
