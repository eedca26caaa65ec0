"""Messages name options that there are: of the command that reads the table, and in Python arguments, not options."""

import ast
import re
from pathlib import Path

import pytest
import typer

import measurand
from command_line import assert_one_message, runner
from measurand import cli, cli_reading

SOURCE = Path(measurand.__file__).parent
COMMANDS = typer.main.get_command(cli.app).commands

#: The modules whose messages a reader of tables may show, beside those of reading files at all.
MODULES = {
    "ratings": ("ratings", "ratings_faults", "judged"),
    "outputs": ("outputs",),
    "answers": ("answers",),
    "items": ("items",),
}
#: Arguments that a message names by the column's role.
BY_ROLE = {
    "ratings": {"item", "rater", "rating", "system"},
    "outputs": set(),
    "answers": {"system", "item", "answer"},
    "items": {"item", "label"},
}
#: command: reader, what the command calls its arguments, arguments that its messages cannot name and why
READ = [
    ("audit", "ratings", cli_reading.OF_RATINGS, {}),
    ("audit", "outputs", cli_reading.OF_RATED_OUTPUTS, {}),
    ("check", "ratings", cli_reading.OF_RATINGS, {}),
    ("check", "answers", cli_reading.OF_CHECKED, {"answer": "read as answers for its column", "repeats": "first"}),
    ("check", "outputs", cli_reading.OF_CHECKED, {"text": "read as outputs for its column", "length": "as text"}),
    ("check", "items", cli_reading.OF_CHECKED, {"label": "never named"}),
    ("plan", "ratings", cli_reading.OF_RATINGS, {}),
    ("plan", "outputs", cli_reading.OF_RATED_OUTPUTS, {"length": "texts are asked for before"}),
    ("plan", "items", cli_reading.OF_ITEMS, {"label": "never named"}),
    ("score", "ratings", cli_reading.OF_RATINGS, {}),
    ("score", "answers", cli_reading.OF_ANSWERS, {}),
    ("score", "items", cli_reading.OF_ITEMS, {}),
    ("gates", "ratings", cli_reading.OF_RATINGS, {}),
    ("gates", "answers", cli_reading.OF_ANSWERS, {}),
    ("gates", "items", cli_reading.OF_ITEMS, {}),
    ("probe", "outputs", cli_reading.OF_OUTPUTS, {}),
    ("probe", "ratings", cli_reading.OF_PROBED_RATINGS, {}),
]
#: Whose messages and findings are those of which command.
PACKAGES = {"auditing": "audit", "scoring": "score", "probing": "probe", "planning": "plan"}


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def options_of(command):
    return {name for one in COMMANDS[command].params for name in [*one.opts, *one.secondary_opts]}


def parsed(path):
    """Return a module's tree without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        is_text = isinstance(body, list) and body and isinstance(body[0], ast.Expr)
        if is_text and isinstance(body[0].value, ast.Constant):
            body[0].value = ast.Constant(value=None)
    return tree


def texts(path):
    return [
        node.value for node in ast.walk(parsed(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def settings_named(module):
    """Return the arguments that a module's messages name."""
    calls = [
        node
        for node in ast.walk(parsed(SOURCE / "data" / f"{module}.py"))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Setting"
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


@pytest.mark.parametrize(("command", "reader", "names", "never"), READ)
def test_what_a_readers_messages_name_is_an_option_of_the_command(command, reader, names, never):
    named = set().union(*(settings_named(module) for module in (*MODULES[reader], "read"))) | BY_ROLE[reader]
    assert named
    assert named - set(never) <= set(names)
    assert {names[name] for name in named - set(never)} <= options_of(command)


@pytest.mark.parametrize("path", sorted((SOURCE / "data").glob("*.py")), ids=lambda path: path.stem)
def test_readers_of_tables_name_arguments_and_leave_options_to_the_command_line(path):
    assert not [text for text in texts(path) if re.search(r"(?<![\w-])--[a-z]", text)]


@pytest.mark.parametrize(("package", "command"), PACKAGES.items())
def test_every_option_in_a_message_or_a_finding_is_one_of_its_command(package, command):
    told = {
        (path.name, option)
        for path in (SOURCE / package).glob("*.py")
        for text in texts(path)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
    }
    assert {one for one in told if one[1] not in options_of(command)} == set()


@pytest.mark.parametrize("path", sorted(SOURCE.glob("cli*.py")), ids=lambda path: path.stem)
def test_every_option_that_the_command_line_speaks_of_is_one_of_some_command(path):
    there = set().union(*(options_of(name) for name in COMMANDS if not hasattr(COMMANDS[name], "commands")))
    simulations = COMMANDS["simulate"].commands.values()
    there |= {name for one in simulations for param in one.params for name in [*param.opts, *param.secondary_opts]}
    told = {option for text in texts(path) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert {one for one in told if one.rstrip("-") not in there} <= {"--cost", "--version", "--help"}


DRAWN = ("--layout", "crossed", "--raters", "2", "--items-per-rater", "2")
WIDE = "Bild,Anna,Bert\n1,3,4\n2,5,5\n3,1,2\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "r.csv"], "r.csv: no column 'item'; the table has 'Bild', 'Anna', 'Bert'"),
        (["audit", "r.csv"], "for example --item Bild; a table with a column for each rater is read with --wide R1,R2"),
        (["gates", "a.csv", "--ratings", "r.csv", "--item", "Bild"], "r.csv: no column 'rater'"),
        (["score", "s.csv", "r.csv", "--item", "Bild", "--wide", "Anna,Bert", "--scale", "1:5:1"], "--answer judged"),
        (["probe", "o.csv"], "o.csv: outputs: no column 'item'; the table has 'Nr', 'text'. Name the right one, for"),
        (["probe", "p.csv", "--ratings", "r.csv"], "for example --rating-item Bild"),
        (["audit", "g.csv", "--outputs", "o.csv"], "for example --output-item Nr"),
        (["plan", "--items", "r.csv", "--draw", "new", *DRAWN],
         "for example --item Bild"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_file_and_an_option_of_the_very_command(run, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    tables = {
        "r.csv": WIDE,
        "g.csv": "item,rater,rating\n1,A,1\n1,B,2\n2,A,2\n2,B,1\n",
        "a.csv": "system,item,answer\nS,1,3\nS,2,4\n",
        "s.csv": "system,Bild,judged\nS,1,3\nS,2,4\n",
        "o.csv": "Nr,text\n1,a\n2,b\n",
        "p.csv": "item,text\n1,a\n2,b\n",
    }
    for name, text in tables.items():
        Path(name).write_text(text, encoding="utf-8")
    assert_one_message(run(*arguments), said)
    assert not Path("new").exists()


def test_a_name_with_spaces_is_suggested_as_a_shell_needs_it(run, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("item,Anna M.,rating\n1,x,3\n2,x,4\n", encoding="utf-8")
    assert_one_message(run("audit", path), "for example --rater 'Anna M.'")


def test_gates_read_a_table_with_a_column_for_each_rater(run, tmp_path):
    (tmp_path / "r.csv").write_text(
        "item,Anna,Bert\n" + "".join(f"{i},{1 + i % 5},{1 + (i + i // 7) % 5}\n" for i in range(20)), encoding="utf-8"
    )
    (tmp_path / "a.csv").write_text(
        "system,item,answer\n" + "".join(f"S,{i},{1 + i % 5}\n" for i in range(20)), encoding="utf-8"
    )
    options = ("--wide", "Anna,Bert", "--scale", "1:5:1", "--level", "ordinal", "--json")
    ended = run("gates", tmp_path / "a.csv", "--ratings", tmp_path / "r.csv", *options, *FEW)
    assert ended.err == ""
    assert '"gates"' in ended.out


FEW = ("--permutations", 99, "--replicates", 100)
