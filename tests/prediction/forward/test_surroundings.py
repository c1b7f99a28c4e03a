"""Models that the environment decides: what is usual is told, said once, and claimed nowhere. Torch runs each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import modgraph
from modgraph.export import render
from modgraph.graph.assumed import as_assumed, claimed_tree
from modgraph.graph.model import Graph
from modgraph.graph.state_dict import state_dict_of

PACKAGE = {
    "pack/__init__.py": "",
    "pack/flags.py": 'import os\nNEW = os.environ.get("PACK_NEW", "0") == "1"\n',
    "pack/models.py": """
import torch
from torch import nn
from pack.flags import NEW

class Old(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem, self.head = nn.Linear(4, width), nn.Linear(width, 2)

    def forward(self, x):
        x = self.stem(x)
        if x.sum() > 0:
            x = x.relu()
        return self.head(x)

class New(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, 3))

    def forward(self, x):
        return self.body(x)

def net(width=8):
    return New(width) if NEW else Old(width)

def chosen(width=8):
    cls = New if NEW else Old
    return cls(width)
""",
}
ROOTS = ("net", "chosen")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PACKAGE.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def predicted(folder: Path, name: str, inputs: list[str] | None = None) -> Graph:
    given = ["3x4"] if inputs is None else inputs
    return modgraph.predict(f"pack.models:{name}", path=[str(folder), *sys.path], inputs=given)


RUN = """
import json, sys, torch
from pack import models
model = getattr(models, sys.argv[1])()
names = {id(each): name for name, each in model.named_modules()}
found, original = [], torch.nn.Module.__call__
def call(module, *given, **named):
    told = [names[id(module)], None]
    found.append(told)
    result = original(module, *given, **named)
    told[1] = list(result.shape)
    return result
torch.nn.Module.__call__ = call
model.eval()(torch.ones(3, 4))
print(json.dumps({"calls": found, "modules": [[n, f"{type(m).__module__}.{type(m).__qualname__}"] for n, m in model.named_modules()],
                  "parameters": sum(p.numel() for p in model.parameters())}))
"""


@pytest.fixture
def real(run_code: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """real(NAME, VARIABLE="value"): what torch does where these variables are set."""

    def run(name: str, **environment: str) -> Any:
        usual = {variable: text for variable, text in os.environ.items() if variable != "PACK_NEW"}
        done = run_code(RUN, name, capture_output=True, text=True, cwd=folder, env={**usual, **environment})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ROOTS)
def test_the_usual_model_is_told(name: str, folder: Path, real: Callable[..., Any]) -> None:
    want = real(name)
    graph = predicted(folder, name)
    assert [[call.module, list(call.outputs[0].shape or ())] for call in graph.calls] == want["calls"]
    assert [[node.path, node.class_name] for node in graph.modules] == want["modules"]
    assert as_assumed(graph).model.parameters == want["parameters"]
    assert {("input:x", "call:1"), ("call:2", "output:0")} <= {(each.producer, each.consumer) for each in graph.edges}
    assert real(name, PACK_NEW="1")["modules"] != want["modules"]


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("inputs", [["3x4"], []])
def test_nothing_that_the_assumption_carries_is_claimed(name: str, inputs: list[str], folder: Path) -> None:
    graph = predicted(folder, name, inputs)
    assumed = graph.model.assumed
    assert assumed is not None
    assert (assumed.text, dict(assumed.environment), assumed.cuda) == ("no environment variable is set", {}, False)
    for each in (*graph.modules, *graph.calls, *graph.operations, *graph.edges):
        assert not each.certain
        assert each.condition is not None
    texts = {each.condition.text for each in graph.operations if each.condition is not None}
    assert texts == {assumed.text, "x.sum() > 0"}
    assert (graph.complete, graph.model.class_name, graph.model.parameters) == (False, None, None)
    (problem,) = graph.problems
    assert problem.message.startswith("the model is ")


def test_of_the_tree_alone_nothing_is_assumed(folder: Path) -> None:
    graph = modgraph.predict("pack.models:net", path=[str(folder), *sys.path], forward=False)
    assert [(node.path, node.class_name) for node in graph.modules] == [("", None)]
    assert graph.model.assumed is None


def test_a_tree_without_the_assumption_leaves_the_root_open(folder: Path) -> None:
    tree = claimed_tree(predicted(folder, "net"))
    assert [(node.path, node.class_name) for node in tree.modules] == [("", None)]
    assert tree.calls == ()


def test_keys_of_the_state_dict_are_not_certain(folder: Path) -> None:
    found = state_dict_of(predicted(folder, "net"))
    assert [(each.key, each.certain) for each in found.entries] == [
        *(("stem.weight", False), ("stem.bias", False), ("head.weight", False), ("head.bias", False))
    ]
    assert found.may_hold("body.0.weight")


def test_it_is_said_once(folder: Path) -> None:
    graph = predicted(folder, "net")
    for format in ("text", "dot", "mermaid", "markdown"):
        text = render(graph, format)
        assert isinstance(text, str)
        assert text.count("no environment variable is set") == 1, format
    page = render(graph, "html")
    assert isinstance(page, str)
    assert '"assumed":"no environment variable is set' in page


def test_the_file_is_valid_and_read_as_it_was_written(folder: Path) -> None:
    graph = predicted(folder, "net")
    document = json.loads(graph.to_json())
    schema = json.loads(resources.files("modgraph.graph").joinpath("modgraph-1.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert document["model"]["assumed"]["environment"] == {}
    assert document["modules"][1]["certain"] is False
    (folder / "net.json").write_text(graph.to_json(), encoding="utf-8")
    assert modgraph.load(folder / "net.json") == graph


@pytest.mark.needs_torch
@pytest.mark.parametrize("new", ["0", "1"])
def test_a_run_in_other_surroundings_contradicts_nothing(
    new: str, folder: Path, real: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACK_NEW", new)
    monkeypatch.chdir(folder)
    want = real("net", PACK_NEW=new)
    target = f"{folder / 'pack/models.py'}:net"
    graph = modgraph.analyze(target, inputs=["3x4"])
    assert graph.problems == ()
    assert [[node.path, node.class_name] for node in graph.modules] == want["modules"]
    assert [call.module for call in graph.calls if call.observed] == [path for path, _ in want["calls"]]
    assert graph.model.assumed is None


FAST = """
import os
from torch import nn
from elsewhere import unknown_function

FAST = "PACK_FAST" in os.environ

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.slow, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x)
        if FAST:
            return unknown_function(x, self.last)
        return self.last(self.slow(x))
"""


def test_what_all_surroundings_have_is_claimed(tmp_path: Path) -> None:
    """Of a tree that is the same in all of them: what another way would not call is not certain."""
    (tmp_path / "net.py").write_text(FAST, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["3x4"])
    assert all(node.certain for node in graph.modules)
    assert [(call.module, call.certain) for call in graph.calls] == [
        *(("", True), ("first", True), ("slow", False), ("last", False))
    ]
    assert graph.model.assumed is not None
    assert {call.condition.text for call in graph.calls if call.condition is not None} == {graph.model.assumed.text}
    certain = {(each.producer, each.consumer) for each in graph.edges if each.certain}
    assert certain == {("input:x", "call:1")}
    assert [call.module for call in as_assumed(graph).calls if call.certain] == ["", "first", "slow", "last"]


def test_a_comparison_says_what_both_sides_assume(folder: Path) -> None:
    (folder / "pack/later.py").write_text(PACKAGE["pack/models.py"].replace("width, 2)", "width, 5)"), encoding="utf-8")
    path = [str(folder), *sys.path]
    later = modgraph.predict("pack.later:net", path=path, inputs=["3x4"])
    changes = modgraph.diff(predicted(folder, "net"), later)
    assert [each.old for each in changes.changed] == ["", "head"]
    assert changes.state.loads is None
    assert "other surroundings" in [each.what for each in changes.not_compared]


SETS = """
import os
from torch import nn

class Alone(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({name: nn.Linear(4, 4) for name in "abcde"})

    def forward(self, x):
        for name in set("abcde"):
            x = self.parts[name](x)
        return x

class Beside(Alone):
    def forward(self, x):
        if os.environ.get("HALF"):
            x = x.half()
        return super().forward(x)

class Sorted(Alone):
    def forward(self, x):
        for name in sorted(set("abcde")):
            x = self.parts[name](x)
        return x

class Each(Alone):
    def forward(self, x):
        x = self.parts[os.environ.get("PART", "c")](x)
        found = {}
        for name in set("ab"):
            found[name] = self.parts[name](x)
        return found["a"] + found["b"]
"""
IN_ORDER = "sets are walked in the order in which they were filled"


@pytest.mark.parametrize(
    ("name", "said"),
    [("Alone", IN_ORDER), ("Beside", f"no environment variable is set, {IN_ORDER}"), ("Sorted", None)],
)
def test_an_order_of_sets_that_decides_is_told(name: str, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "sets.py").write_text(SETS, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'sets.py'}:{name}", inputs=["2x4"])
    parts = [call for call in graph.calls if call.module.startswith("parts.")]
    assert [call.module for call in parts] == [f"parts.{each}" for each in "abcde"]
    assert {call.certain for call in parts} == {said is None}
    assert (graph.model.assumed and graph.model.assumed.text) == said


def test_an_order_of_sets_is_not_taken_for_granted_where_the_run_is_known_without_one(tmp_path: Path) -> None:
    (tmp_path / "sets.py").write_text(SETS, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'sets.py'}:Each", inputs=["2x4"])
    assert graph.model.assumed is not None
    assert graph.model.assumed.text == "no environment variable is set"
    parts = [call for call in graph.calls if call.module.startswith("parts.")]
    assert {call.module for call in parts} == {"parts.c", "parts.a", "parts.b"}
    assert [call.module for call in as_assumed(graph).calls if call.certain] == ["", "parts.c"]


TWINS = """
import os
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first
        if os.environ.get("APART"):
            self.first = nn.Linear(2, 3)

    def forward(self, x):
        return self.second(x) + self.first(x)
"""


def test_a_module_that_is_another_one_only_in_usual_surroundings_is_called(tmp_path: Path) -> None:
    (tmp_path / "twins.py").write_text(TWINS, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'twins.py'}:Net", inputs=["2x2"])
    second = next(node for node in graph.modules if node.path == "second")
    assert [call.module for call in graph.calls] == ["", "first", "first"]
    assert (second.alias_of, second.certain) == ("first", False)
    assert "never called" not in render(graph, "text")
