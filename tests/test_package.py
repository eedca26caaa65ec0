import ast
import doctest
import importlib
import inspect
import json
import subprocess
import sys
from importlib import metadata, resources

import pytest

import measurand

HEAVY = ("numpy", "scipy", "pandas", "narwhals", "matplotlib", "jinja2", "pyarrow", "threadpoolctl")
HEAVY += ("torch", "transformers", "openai")


def modules_after(code):
    """Return the heavy modules that a fresh interpreter has loaded after running some code."""
    check = f"\nimport sys, json\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]), file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + check], capture_output=True, text=True, check=True
    )
    return json.loads(ended.stderr.splitlines()[-1])


HELP = """
import sys
from measurand.cli import main
sys.argv = ["measurand", *{args!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
else:
    raise AssertionError("no help was shown")
"""


def test_importing_measurand_loads_nothing_heavy():
    assert modules_after("import measurand; assert measurand.__version__; assert dir(measurand)") == []


@pytest.mark.parametrize("args", [["--help"], ["audit", "--help"], ["simulate", "panel", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(args):
    assert modules_after(HELP.format(args=args)) == []


def test_a_result_is_read_without_anything_heavy():
    code = """
from measurand import Result, Row
result = Result([Row("design", {}, "n_items", 3)])
assert Result.from_json(result.to_json()) == result
str(result), result._repr_html_()
"""
    assert modules_after(code) == []


def test_an_audit_draws_nothing():
    code = """
import pandas as pd
from measurand import audit
audit(pd.DataFrame({"item": list("abab"), "rater": list("rrss"), "rating": [1, 2, 2, 3]}), replicates=100, draws=1000)
"""
    loaded = modules_after(code)
    assert "numpy" in loaded
    assert not {"matplotlib", "jinja2"} & set(loaded)


def test_the_heavy_modules_would_be_seen():
    assert modules_after("import pandas") >= ["numpy"]


def test_every_public_name_is_there_and_documented():
    assert measurand.__all__ == sorted(measurand.__all__)
    for name in measurand.__all__:
        thing = getattr(measurand, name)
        assert thing.__doc__, name
        assert thing.__module__.startswith("measurand"), name
    assert set(measurand.__all__) <= set(dir(measurand))
    assert {"audit", "read_ratings", "Scale", "Result", "report", "plot", "MeasurandError"} <= set(measurand.__all__)


def test_every_public_name_has_an_example_that_is_run():
    """What the tests of the modules run, as they take in every docstring: here, that there is something to run."""
    for name in measurand.__all__:
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(measurand, name)))
        assert any(one.want or "assert" in one.source for one in examples), name


def test_public_names_live_where_the_package_says():
    found = {name for names in measurand._HOME.values() for name in names}
    assert found == set(measurand.__all__)
    for module, names in measurand._HOME.items():
        for name in names:
            assert getattr(importlib.import_module(module), name) is getattr(measurand, name)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = measurand.nonsense
    assert not hasattr(measurand, "nonsense")


def test_an_error_is_a_value_error():
    assert issubclass(measurand.MeasurandError, ValueError)


def test_types_are_shipped():
    assert resources.files("measurand").joinpath("py.typed").is_file()


def test_the_version_is_that_of_the_distribution():
    assert metadata.version("measurand") == measurand.__version__


def test_dependencies_have_floors_and_no_ceilings():
    """P42: an upper bound in a library holds back everybody who shares its environment."""
    required = [line for line in metadata.requires("measurand") if "extra ==" not in line]
    assert len(required) >= 9
    for line in required:
        assert ">=" in line, line
        assert not any(mark in line.split(";")[0] for mark in ("<", "==", "~=", "!=")), line


def sources(folder=None):
    """Return the syntax tree of every module of the package."""
    out = {}
    for entry in (folder or resources.files("measurand")).iterdir():
        if entry.is_dir():
            out |= sources(entry)
        elif entry.name.endswith(".py"):
            out[str(entry)] = ast.parse(entry.read_text(encoding="utf-8"))
    return out


def test_no_module_prints_pickles_asks_the_network_or_draws_without_a_seed():
    trees = sources()
    assert len(trees) > 20
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "eval", "exec"), (name, node.lineno)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
                assert node.attr in ("Generator", "SeedSequence", "default_rng", "PCG64", "Philox"), (name, node.lineno)
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args, (name, node.lineno)
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                # Taking an address apart asks nobody.
                names = [one for one in names if one != "urllib.parse"]
                for banned in ("pickle", "random", "requests", "urllib", "socket", "http"):
                    assert banned not in [n.split(".")[0] for n in names], (name, node.lineno)


def test_the_command_is_installed():
    (entry,) = [e for e in metadata.distribution("measurand").entry_points if e.group == "console_scripts"]
    assert (entry.name, entry.value) == ("measurand", "measurand.cli:main")
    assert callable(entry.load())
