"""A model whose module imports packages that are not installed, and needs nothing of them to be built."""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import sys
import sysconfig
import textwrap
import types
from pathlib import Path

import jsonschema
import pytest

import modgraph
from modgraph.errors import TraceError
from modgraph.export import render
from modgraph.export.text.summary import summary
from modgraph.graph.serial import schema
from modgraph.source.targets import parse_target
from modgraph.tracing.loading.importing import import_target
from modgraph.tracing.loading.placeholders import Placeholders

pytestmark = pytest.mark.needs_torch

NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)
            if FAST:
                self.fast = nn.Linear(4, 4)

        def forward(self, x):
            return self.first(x)
    """


def project(folder: Path, beginning: str, **others: str) -> Path:
    """A model in a folder of its own, whose module begins so; FAST where it does not say otherwise is False."""
    for name, text in others.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text).lstrip())
    file = folder / f"net_{abs(hash((str(folder), beginning)))}.py"
    head = "from torch import nn\nFAST = False\n" + textwrap.dedent(beginning)
    file.write_text(head + "\n\n" + textwrap.dedent(NET))
    return file


UNUSED = {
    "a module": "import absent_plots",
    "a module under another name": "import absent_plots.fine.lines as lines",
    "names": "from absent_plots.fine import line, curve as bent",
    "an annotation": "from absent_types import Float\ndef f(x: Float[nn.Module, 'b w']) -> Float | None: ...",
    "a default": "import absent_plots as p\ndef plot(x, style=p.styles.LINE): p.plot(x, style)",
    "a union": "from typing import Optional, Union\nimport absent_types as t\nA = Optional[t.A]\nB = Union[t.A, t.B, int]",
    "a field": "import dataclasses, absent_types as t\n@dataclasses.dataclass\nclass Config:\n    size: t.Size = None",
    "an instance": "import absent_plots as p\nFAST = isinstance(nn.ReLU(), p.Layer)",
    "a subclass": "import absent_plots as p\nFAST = issubclass(nn.ReLU, (p.Layer, str))",
    "two packages": "import absent_plots\nfrom absent_types import T",
}


def imported(file: Path) -> tuple[types.ModuleType, tuple[str, ...]]:
    """The module as it is imported where a package is missing, and the packages that a placeholder stands for."""
    target = parse_target(f"{file}:Net")
    with Placeholders(target.module, target.root) as placeholders:
        return import_target(target), placeholders.packages


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_not_used_may_be_missing(tmp_path, name):
    module, absent = imported(project(tmp_path, UNUSED[name]))
    assert [path for path, _ in module.Net().named_modules()] == ["", "first"]
    assert set(absent) == {each for each in ("absent_plots", "absent_types") if each in UNUSED[name]}


TOLD_APART = {
    "a guard": "try:\n    import absent_plots\n    FAST = True\nexcept ImportError:\n    pass",
    "a guard with a name": "try:\n    from absent_plots import plot\n    FAST = True\nexcept Exception:\n    pass",
    "suppressed": "import contextlib\nwith contextlib.suppress(ImportError):\n    import absent_plots\n    FAST = True",
    "a search": "import importlib.util\nFAST = importlib.util.find_spec('absent_plots') is not None",
    "another search": "import importlib\ntry:\n    importlib.import_module('absent_plots')\n    FAST = True\nexcept ImportError: pass",
    "loaded modules": "import sys\nFAST = 'absent_plots' in sys.modules",
    "a guard around a module that needs it": "try:\n    from kernels import fast\n    FAST = True\nexcept ImportError: pass",
}


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", TOLD_APART)
def test_what_asks_whether_a_package_is_there_is_told_that_it_is_not(tmp_path, name, before):
    """Also where a statement has got its placeholder."""
    needed = "import absent_plots"
    text = f"{needed}\n{TOLD_APART[name]}" if before else f"{TOLD_APART[name]}\n{needed}"
    needing = "import absent_plots\nfast = absent_plots.fast"
    module, absent = imported(project(tmp_path, text, kernels=needing))
    assert module.FAST is False
    assert absent == ("absent_plots",)


USED = {
    "a call": "import absent_plots\nabsent_plots.setup()",
    "a decorator": "from absent_plots import fast\n@fast\ndef f(): ...",
    "a base": "import absent_plots\nclass Layer(absent_plots.Layer): ...",
    "a base of the model": "import absent_plots\nBase = absent_plots.Module\nclass Other(Base, nn.Module): ...",
    "an order": "import absent_plots\nFAST = absent_plots.VERSION > 2",
    "truth": "import absent_plots\nFAST = bool(absent_plots.HAS)",
    "a test": "import absent_plots\nif absent_plots.HAS:\n    FAST = True",
    "not": "import absent_plots\nFAST = not absent_plots.HAS",
    "all of it": "from absent_plots import *",
    "walked": "import absent_plots\nfor each in absent_plots.ALL: FAST = True",
    "its length": "import absent_plots\nFAST = len(absent_plots.ALL) > 0",
    "within": "import absent_plots\nFAST = 'x' in absent_plots.ALL",
    "arithmetic": "import absent_plots\nN = absent_plots.N + 1",
    "arithmetic from the right": "import absent_plots\nN = 2 * absent_plots.N",
    "unpacked": "import absent_plots\nA, B = absent_plots.AB",
    "entered": "import absent_plots\nwith absent_plots.mode: ...",
}


@pytest.mark.parametrize("name", USED)
def test_what_is_used_has_to_be_there(tmp_path, name):
    file = project(tmp_path, USED[name])
    with pytest.raises(TraceError, match=r"absent_plots is not installed|needs absent_plots"):
        imported(file)


LOOKED_AT = {
    "version": "FAST = getattr(p, '__version__', '0') >= '2'",
    "an attribute": "FAST = hasattr(p, 'fast')",
    "identity": "FAST = p.FAST is True",
    "a key": "FAST = {'large': True}.get(p.MODE, False)",
    "a text": "FAST = f'{p.MODE}' == 'large'",
    "a refusal that is caught": "try:\n    FAST = p.init()\nexcept Exception:\n    FAST = False",
    "a module that is not there": "try:\n    import absent_plots.fast\n    FAST = True\nexcept ImportError: pass",
}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_where_a_placeholder_may_have_been_looked_at_the_graph_is_not_complete(tmp_path, name):
    target = parse_target(f"{project(tmp_path, 'import absent_plots as p' + chr(10) + LOOKED_AT[name])}:Net")
    with Placeholders(target.module, target.root) as placeholders:
        import_target(target)
    (doubt,) = placeholders.doubts()
    assert doubt.message.startswith("absent_plots is not installed")


def test_a_module_is_imported_once_in_the_process_that_runs_it(tmp_path):
    """What a failed import has left in other modules is not there."""
    registry = "import torch\nMADE = torch.zeros(1)\n"
    begun = "import registry\nregistry.MADE.add_(1)\nimport absent_plots\nFAST = int(registry.MADE) > 1"
    graph = modgraph.analyze(f"{project(tmp_path, begun, registry=registry)}:Net")
    assert [node.path for node in graph.modules if node.observed] == ["", "first"]


def test_what_uses_it_at_import_is_told_as_missing_where_the_model_needs_that(tmp_path):
    graph = modgraph.analyze(f"{project(tmp_path, USED['truth'])}:Net")
    assert not graph.traced
    assert any("and absent_plots is not installed" in each.message for each in graph.problems)
    assert graph.model.absent_packages == ()


def test_what_uses_it_at_import_is_left_out_where_the_model_does_not(tmp_path):
    graph = modgraph.analyze(f"{project(tmp_path, USED['a call'])}:Net")
    assert graph.traced
    assert not graph.complete
    assert graph.model.absent_packages == ("absent_plots",)
    assert [each.line for each in graph.model.left_out] == [4]


def test_an_annotation_of_forward_is_none(tmp_path):
    file = project(tmp_path, "import absent_types as t")
    file.write_text(file.read_text().replace("forward(self, x)", "forward(self, x: t.Float[t.Tensor, 'b 4'])"))
    graph = modgraph.analyze(f"{file}:Net")
    assert [call.module for call in graph.calls] == ["", "first"]


def test_what_runs_and_uses_it_says_so(tmp_path):
    file = project(tmp_path, "import absent_ops")
    file.write_text(file.read_text().replace("return self.first(x)", "return absent_ops.scan(self.first(x))"))
    graph = modgraph.analyze(f"{file}:Net")
    assert any("absent_ops.scan is used, and absent_ops is not installed" in each.message for each in graph.problems)
    assert {node.path for node in graph.modules if node.observed} == {"", "first"}


def test_modules_of_the_project_itself_are_not_stood_in_for(tmp_path):
    (tmp_path / "setup.py").write_text("open('made_version.py', 'w')\n")
    file = project(tmp_path, "import made_version")
    with pytest.raises(TraceError, match="a module of the project itself"):
        import_target(parse_target(f"{file}:Net", cwd=tmp_path))


def test_nothing_is_left_behind(tmp_path):
    before = builtins.__import__
    imported(project(tmp_path, "import absent_plots.fine"))
    assert builtins.__import__ is before
    assert not [name for name in sys.modules if name.startswith("absent_plots")]
    assert importlib.util.find_spec("absent_plots") is None
    with pytest.raises(ModuleNotFoundError):
        import absent_plots  # noqa: F401


def test_it_is_said(tmp_path):
    graph = modgraph.analyze(f"{project(tmp_path, 'import absent_plots')}:Net")
    assert graph.traced
    assert not graph.complete
    (problem,) = graph.problems
    assert problem.message.startswith("absent_plots is not installed, and a placeholder stands for it")
    assert "absent_plots is not installed" in summary(graph)
    assert "absent_plots is not installed" in render(graph, "dot")
    written = json.loads(render(graph, "json"))
    jsonschema.validate(written, schema())
    assert written["model"]["absent_packages"] == ["absent_plots"]
    (tmp_path / "graph.json").write_text(render(graph, "json"))
    assert modgraph.load(tmp_path / "graph.json").model.absent_packages == ("absent_plots",)


OURS = os.path.join(os.path.dirname(modgraph.__file__), "x.py")
INSTALLED = os.path.join(sysconfig.get_path("purelib"), "pkg", "mod.py")


def imported_from(file: str, placeholders: Placeholders) -> bool:
    """Whether a file that is run by one of ours gets a placeholder."""
    body = "try_import = lambda: __import__('absent_runtime')\n"
    inner: dict[str, object] = {}
    exec(compile(body, file, "exec"), inner)
    outer: dict[str, object] = {"run": inner["try_import"]}
    with placeholders:
        try:
            exec(compile("run()", OURS, "exec"), outer)
        except ModuleNotFoundError:
            return False
    return True


def test_installed_packages_get_none_once_the_model_is_built(tmp_path: Path) -> None:
    """As the exporter of torch, which looks for `onnxruntime` and does without."""
    own = str(tmp_path / "own.py")
    Path(own).write_text("try_import = lambda: __import__('absent_runtime')\n")
    before = [imported_from(file, Placeholders("net", tmp_path)) for file in (own, INSTALLED)]
    after = []
    for file in (own, INSTALLED, OURS):
        placeholders = Placeholders("net", tmp_path)
        placeholders.built()
        after.append(imported_from(file, placeholders))
    assert (before[0], after) == (True, [True, False, False])
