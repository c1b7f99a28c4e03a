"""A call into an installed package that has nothing to do with torch has a part of the work of a prediction."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph

PARSER = """
def parse(text, depth=0):
    found = []
    while True:
        for mark in ("(", "[", "{", "<", "#"):
            if text.peek(mark):
                found.append(parse(text.rest(mark), depth + 1))
                break
            elif text.ends(mark):
                return found
        else:
            if text.more():
                found.append(text.next())
            else:
                return found
"""
NET = """
import os
from torch import nn
from template_parser import parse

class Net(nn.Module):
    def __init__(self, source=None):
        super().__init__()
        self.tree = parse(os.environ)
        self.layer = nn.Linear(2, 3)
"""


def test_what_takes_too_long_there_costs_its_own_value_alone(tmp_path: Path) -> None:
    packages, project = tmp_path / "site-packages", tmp_path / "project"
    packages.mkdir()
    project.mkdir()
    (packages / "template_parser.py").write_text(PARSER, encoding="utf-8")
    file = project / "net.py"
    file.write_text(NET, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", path=[str(project), str(packages)])
    layer = next((node for node in graph.modules if node.path == "layer"), None)
    assert layer is not None
    assert layer.class_name == "torch.nn.modules.linear.Linear"


OPTIONS = """
_known = {}

def register(name, value):
    table = _known
    table["shown." + name] = value

def get(name):
    if name not in _known:
        raise KeyError(f"no such option: {name}")
    return _known[name]

def two(a, b):
    return a + b
"""


@pytest.fixture
def with_options(tmp_path: Path) -> Callable[[str], modgraph.Graph]:
    def predict(body: str) -> modgraph.Graph:
        packages, project = tmp_path / "site-packages", tmp_path / "project"
        (packages / "settings").mkdir(parents=True)
        project.mkdir()
        (packages / "settings" / "__init__.py").write_text(
            "from settings import registered\nfrom settings.core import *\n"
        )
        (packages / "settings" / "core.py").write_text(OPTIONS, encoding="utf-8")
        (packages / "settings" / "registered.py").write_text(
            "from settings.core import register\nregister('width', 7)\n"
        )
        head = "import settings\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        file = project / "net.py"
        file.write_text(head + textwrap.indent("super().__init__()\n" + textwrap.dedent(body), " " * 8))
        return modgraph.predict(f"{file}:Net", path=[str(project), str(packages)])

    return predict


def test_what_importing_the_package_enters_into_its_tables_may_be_there(with_options) -> None:
    graph = with_options("""
        self.before = nn.Linear(2, 2)
        self.width = settings.get("shown.width")
        self.after = nn.Linear(2, 3)
        """)
    assert {"before", "after"} <= {node.path for node in graph.modules}
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    assert any("_known is filled as table" in problem.message for problem in graph.problems), graph.problems


def test_whether_its_failure_is_handled_is_not_known(with_options) -> None:
    graph = with_options("""
        try:
            settings.get("shown.width")
            self.one = nn.Linear(2, 2)
        except KeyError:
            self.other = nn.Linear(2, 3)
        """)
    assert not {node.path for node in graph.modules if node.path and node.class_name and node.certain}
    told = repr(graph.problems)
    assert "'one'" in told
    assert "'other'" in told


def test_a_wrong_number_of_arguments_fails_whatever_the_tables_hold(with_options) -> None:
    graph = with_options("settings.two(1)")
    assert any("cannot be built" in problem.message for problem in graph.problems)


FILLED = {
    "with a type": "    t: dict = TABLE\n    t['a'] = 1",
    "in a row": "    n, t = 1, TABLE\n    t['a'] = 1",
    "in brackets": "    t = (TABLE)\n    t['a'] = 1",
    "in a condition": "    if (t := TABLE) is not None:\n        t['a'] = 1",
    "in a loop": "    for t in (TABLE, {}):\n        t['a'] = 1",
    "where nothing is given": "    t = None\n    t = TABLE if t is None else t\n    t['a'] = 1",
    "by default": "    def put(t=TABLE):\n        t['a'] = 1\n    put()",
    "as a parameter": "    put(TABLE)\n\ndef put(t: dict):\n    t['a'] = 1",
    "by keyword": "    put(t=TABLE)\n\ndef put(*, t):\n    t.update(a=1)",
    "in an object": "    Kept().put()\n\nclass Kept:\n    def __init__(self):\n        self.t = TABLE\n    def put(self):\n        self.t['a'] = 1",
}


@pytest.mark.parametrize("name", FILLED)
def test_a_table_that_a_function_fills_under_another_name_may_hold_any_key(tmp_path: Path, name: str) -> None:
    text = f"TABLE = {{}}\n\ndef fill():\n{FILLED[name]}\n\nfill()\n"
    namespace: dict[str, dict[str, int]] = {}
    exec(text.replace("\n\nfill()\n", "\n"), namespace)
    eval("fill()", namespace)  # type: ignore[arg-type]
    assert namespace["TABLE"] == {"a": 1}
    package = tmp_path / "site-packages" / "settings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    file = tmp_path / "net.py"
    file.write_text(
        "import settings\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 3 if 'a' in settings.TABLE else 4)\n"
    )
    graph = modgraph.predict(f"{file}:Net", path=[str(tmp_path), str(package.parent)])
    (weight,) = [each for node in graph.modules for each in node.parameters if each.name == "weight"]
    assert weight.shape in (None, (3, 2), (None, 2))
