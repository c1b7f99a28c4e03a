"""What is taken for granted of a run that is followed, and what it asks Python for on its way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph, Surroundings
from modgraph.prediction.domain.assumed import NOTHING, Assumed
from modgraph.prediction.domain.events import Either, Enter, Lost, Repeat
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.assumptions import USUAL, assumed_in
from modgraph.prediction.forward.running import follow
from modgraph.source.inputs import parse_input
from modgraph.source.targets import Target

HERE = assumed_in(USUAL)
MODEL = """
import contextvars
import os
import torch
from torch import nn

held = contextvars.ContextVar("held", default=None)
other = contextvars.ContextVar("other")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.fused = {asked}

    def forward(self, x):
        {body}
        return self.second(x)
"""


def calls(folder: Path, body: str, asked: str = "None", assumed: Assumed = HERE) -> list[str]:
    """The calls that are certain, by name; "?" for anything that is not."""
    file = folder / "net.py"
    file.write_text(MODEL.format(asked=asked, body=textwrap.indent(textwrap.dedent(body), " " * 8).strip()), "utf-8")
    target = Target(text="net.py:Net", module="net", name="Net", file=file, root=folder, search_path=())
    prediction = predict_target(target, assumed=assumed)
    root = prediction.machine.state.find(prediction.root, ModuleObject)
    assert root is not None
    names = {address: name for name, address in root.modules.items()}
    followed = follow(prediction, [parse_input("2x3")])
    assert followed is not None
    assert followed.failure is None
    found = [names.get(each.module, "") if isinstance(each, Enter) else "?" for each in followed.events
             if isinstance(each, (Enter, Either, Repeat, Lost))]  # fmt: skip
    return found[1:]


FLAGS = [
    'os.environ.get("FUSED", "0") == "1"',
    'os.getenv("FUSED") is not None',
    '"FUSED" in os.environ',
    'bool(os.environ.get("FUSED"))',
    "torch.cuda.is_available()",
    "torch.cuda.device_count() > 0",
    "torch.jit.is_tracing() or torch.jit.is_scripting()",
    "torch.compiler.is_compiling()",
    "torch.cuda.is_current_stream_capturing()",
]


@pytest.mark.parametrize("flag", FLAGS)
def test_flag_is_taken_to_be_off(tmp_path: Path, flag: str) -> None:
    assert calls(tmp_path, "if self.fused: x = self.first(x)", flag) == ["second"]
    assert calls(tmp_path, f"if {flag}: x = self.first(x)") == ["second"]


@pytest.mark.parametrize("flag", FLAGS[:6])
def test_nothing_is_taken_for_granted_of_a_tree(tmp_path: Path, flag: str) -> None:
    assert calls(tmp_path, "if self.fused: x = self.first(x)", flag, NOTHING) == ["?", "second"]


def test_environment_is_as_it_is_said(tmp_path: Path) -> None:
    there = assumed_in(Surroundings(text="", environment={"FUSED": "1"}))
    for flag in FLAGS[:4]:
        assert calls(tmp_path, "if self.fused: x = self.first(x)", flag, there) == ["first", "second"]


def test_what_is_assumed_to_be_there_is_not_known(tmp_path: Path) -> None:
    with_cuda = assumed_in(Surroundings(text="", cuda=True))
    assert calls(tmp_path, "if torch.cuda.is_available(): x = self.first(x)", assumed=with_cuda) == ["?", "second"]


CONTEXTS = """
held.get() is None
other.get(None) is None
held.set(self) is not None and held.get() is self
[t := held.set(1), held.set(2), held.reset(t), held.get()][-1] is None
[t := held.set(1), u := held.set(2), held.reset(u), held.get()][-1] == 1
held.name == "held"
"""


@pytest.mark.parametrize("test", CONTEXTS.strip().splitlines())
def test_context_variable_holds_what_it_was_given(tmp_path: Path, test: str) -> None:
    assert calls(tmp_path, f"if not ({test}): x = self.first(x)") == ["second"]


def test_context_variable_without_a_value_raises(tmp_path: Path) -> None:
    body = """
    try:
        other.get()
    except LookupError:
        x = self.first(x)
    """
    assert calls(tmp_path, body) == ["first", "second"]


FUNCTIONS = """
def plain(self, x, *args, y=2, **kw):
    z = x + 1
    for i, (j, k) in enumerate(z): w = i
    with x as q: q += 1
    return w
def held(x):
    t = [1]; u = 2; v = 3
    f = lambda m: m + v
    return t, u, f
def inner(x, cap):
    n = 1
    def g(): return cap
    return g() + n
def gathering(x):
    a = 1
    b = [i + j for i in x for j in i]
    c = {i: [k for k in v] for i, v in b if (w := i)}
    d = [lambda: m for m in c]
    return a, sum(n for n in b)
def with_a_class(x):
    a = 1
    class Inner:
        b = a
        def gathering(self): c = 1
    d = 2
short = lambda x, *rest: [y for y in x]
class Net:
    def method(self, x, *, y=1):
        z = [u for u in x if not y]
        return super().method(z)
method = Net.method
"""


@pytest.mark.parametrize("name", ["plain", "held", "inner", "gathering", "with_a_class", "short", "method"])
def test_names_of_code_are_pythons(evaluated: Callable[[str], Any], name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(FUNCTIONS, namespace)
    assert evaluated(f"{FUNCTIONS}RESULT = {name}.__code__.co_varnames") == namespace[name].__code__.co_varnames


def test_version_is_that_of_the_folder_beside_the_package(tmp_path: Path) -> None:
    (tmp_path / "some_package-1.2.3+local.dist-info").mkdir()
    body = """
    import importlib.metadata
    if importlib.metadata.version("Some.Package") != "1.2.3+local": x = self.first(x)
    """
    assert calls(tmp_path, body) == ["second"]
    assert calls(tmp_path, body.replace("Some.", "another")) == ["?", "second"]


def test_packages_are_those_that_python_finds(tmp_path: Path) -> None:
    for folder, name, files in (
        (
            "some_package-1.2.dist-info",
            "Some.Package",
            {"RECORD": "some/gone.py,,\nsome/one.py,,\nalone.py,,\n_fast.so,,\na-1.pth,,\ngone/one.py,,\n"},
        ),
        ("other-2.0.dist-info", "other", {"top_level.txt": "another\n", "RECORD": "not_this/a.py,,\n"}),
        ("many-1.dist-info", "many", {"RECORD": "shared/a.py,,\n"}),
        ("more-1.dist-info", "more", {"RECORD": "shared/b.py,,\n"}),
    ):
        (tmp_path / folder).mkdir()
        for file, text in {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", **files}.items():
            (tmp_path / folder / file).write_text(text, encoding="utf-8")
    for file in ("some/one.py", "alone.py", "_fast.so", "a-1.pth", "not_this/a.py", "shared/a.py", "shared/b.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("", encoding="utf-8")
    command = "import importlib.metadata, json; print(json.dumps(importlib.metadata.packages_distributions()))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    real = json.loads(run.stdout)
    names = ["some", "alone", "_fast", "a-1", "another", "not_this", "gone", "absent"]
    body = f"""
    import importlib.metadata
    found = importlib.metadata.packages_distributions()
    if [found.get(each) for each in {names}] == {[real.get(each) for each in names]}:
        x = self.first(x)
    """
    assert sorted(real["shared"]) == ["many", "more"]
    assert calls(tmp_path, body) == ["first", "second"]
    assert calls(tmp_path, body.replace("if [found", "if found['shared'][0] == 'many' and [found")) == ["?", "second"]


def test_named_tuple_of_typing_extensions_is_one(tmp_path: Path) -> None:
    body = """
    from typing_extensions import NamedTuple
    class Pair(NamedTuple):
        layer: object
        number: int = 3
    pair = Pair(self.first)
    x = pair.layer(x) if pair.number == 3 else x
    """
    assert calls(tmp_path, body) == ["first", "second"]


@pytest.mark.needs_torch
def test_what_this_process_has_done_to_torch_is_no_part_of_it(
    predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    nn = pytest.importorskip("torch.nn")
    monkeypatch.setattr(nn.Module, "put_there", 1, raising=False)
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                if not hasattr(nn.Module, "put_there"):
                    self.a = nn.Linear(2, 2)
    """)
    assert "torch.nn" in sys.modules
    assert [node.path for node in graph.modules] == ["", "a"]
    assert graph.problems == ()
