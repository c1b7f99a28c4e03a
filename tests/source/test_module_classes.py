"""One answer to whether a class is an `nn.Module`: the search for models, the check and the prediction give the same."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from modgraph.errors import TargetError
from modgraph.prediction import predict_graph
from modgraph.rules.names import Project
from modgraph.source import module_classes
from modgraph.source.bases import BaseResolver
from modgraph.source.modules import finder_for
from modgraph.source.targets import Target

FORWARD = "def forward(self, x): return x"
CLASSES = {
    "a base that is not there, and a forward": ("from absent import Base", f"class Net(Base):\n    {FORWARD}", True),
    "a base in a package that is not there": ("import absent as a", f"class Net(a.b.Base):\n    {FORWARD}", True),
    "a forward of a base": ("import absent", f"class Own(absent.Base):\n    {FORWARD}\nclass Net(Own): pass", True),
    "beside a module": ("import absent", "class Net(absent.Mixin, nn.Module): pass", True),
    "no forward": ("from absent import BaseModule", "class Net(BaseModule): pass", False),
    "a name that sounds like it": ("import absent", "class Net(absent.BaseModel): pass", False),
    "a forward that takes no instance": (
        "from absent import Function",
        f"class Net(Function):\n    @staticmethod\n    {FORWARD}",
        False,
    ),
    "an operator of torch": ("", f"class Net(torch.autograd.Function):\n    {FORWARD}", False),
    "a class of Python": ("import threading", f"class Net(threading.Thread):\n    {FORWARD}", False),
    "no base": ("", f"class Net:\n    {FORWARD}", False),
    "another framework": ("import absent", f"class Net(absent.Layer):\n    {FORWARD}", False),
}


@pytest.mark.parametrize("name", CLASSES)
def test_all_give_the_same_answer(tmp_path: Path, name: str) -> None:
    imports, classes, expected = CLASSES[name]
    torch = "" if name == "another framework" else "import torch\nfrom torch import nn\n"
    file = tmp_path / "asked.py"
    file.write_text(f"{torch}{imports}\n{classes}\ndef make():\n    return Net()\n", encoding="utf-8")
    finder = finder_for((str(tmp_path), *sys.path), str(tmp_path))
    source = finder.source("asked")
    assert source is not None
    assert BaseResolver(finder).is_module_class(source, "Net") is expected
    assert (Project().is_module(str(file), "Net") is True) is expected
    target = Target(text="asked:make", module="asked", name="make", search_path=(str(tmp_path), *sys.path))
    if expected:
        assert predict_graph(target).modules[0].class_name == "asked.Net"
    else:
        with pytest.raises(TargetError, match=r"an nn\.Module"):
            predict_graph(target)


def test_what_is_taken_for_a_module_is_said(tmp_path: Path) -> None:
    file = tmp_path / "asked.py"
    file.write_text(f"import torch\nfrom absent import Base\nclass Net(Base):\n    {FORWARD}\n", encoding="utf-8")
    project = Project()
    assert project.is_module(str(file), "Net")
    assert list(project.believed) == ["absent.Base"]
    project.believed = {}
    assert project.is_module(str(file), "Net")
    assert list(project.believed) == ["absent.Base"]


def test_packages_that_make_no_modules_are_pythons() -> None:
    assert module_classes.OF_NO_MODULES - sys.stdlib_module_names == {"numpy", "typing_extensions"}


@pytest.mark.needs_torch
def test_classes_of_torch_by_their_path() -> None:
    import torch
    from torch import nn

    paths = (*module_classes.MODULE_BASES, "torch.nn.Linear", "torch.autograd.Function", "torch.optim.Adam")
    for path in (*paths, "torch.utils.data.Dataset"):
        found: object = torch
        for part in path.split(".")[1:]:
            found = getattr(found, part)
        assert inspect.isclass(found)
        assert module_classes.of_path(path) is issubclass(found, nn.Module)
