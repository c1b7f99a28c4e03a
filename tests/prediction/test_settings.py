"""What is set for a whole process, or a whole module: hooks, default dtypes, other names, lazy layers that have run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction.python.registration import GIVEN_MODULES


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    "value",
    [
        "torch.tensor(1.5)",
        "torch.arange(3) / 2",
        "torch.arange(0, 1, 0.5)",
        "torch.full((2,), 1.0)",
        "torch.linspace(0, 1, 3)",
        "torch.Tensor(2, 3)",
        "torch.Tensor([1, 2])",
        "torch.FloatTensor(2)",
    ],
)
def test_the_default_dtype_is_that_of_numbers(agrees: Callable[[str], Graph], value: str) -> None:
    agrees(f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.set_default_dtype(torch.bfloat16)
        self.register_buffer("a", {value})
        torch.set_default_dtype(torch.float32)
        self.register_buffer("b", {value})
""")


@pytest.mark.needs_torch
def test_a_name_that_stands_for_the_same_object(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Plain:
            size = 1
        Same = Plain
        Same.size = 4

        sizes = [1]
        others = sizes
        others.append(2)

        base = nn.Sequential(nn.Linear(1, 2))
        other = base
        other.append(nn.ReLU())
        third = other
        third.append(nn.Tanh())
        third[0].bias = None

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(Plain.size, len(sizes))
                self.b = nn.Linear(Same.size, len(others))
                self.c = base
                self.d = nn.ModuleList(third)
        """
    )


@pytest.mark.needs_torch
def test_a_size_below_zero_is_an_error(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    self.a = nn.Linear(-4, 1)
                except RuntimeError:
                    self.b = nn.ReLU()
                try:
                    torch.full((2, -1), 0)
                except RuntimeError:
                    self.c = nn.Linear(0, 1)
        """
    )


def test_loading_by_assignment_leaves_no_dtype_certain(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 2)
                self.a.load_state_dict(self.b.state_dict())
                self.b.load_state_dict({k: v.double() for k, v in self.a.state_dict().items()}, assign=True)
        """
    )
    first, second = graph.modules[1:3]
    assert [parameter.dtype for parameter in first.parameters] == ["float32", "float32"]
    assert "float32" not in [parameter.dtype for parameter in second.parameters]
    assert graph.problems


_HOOK = "nn.modules.module.register_module_module_registration_hook(lambda module, name, child: nn.Tanh())"


@pytest.mark.parametrize("where", ["module", "constructor"])
def test_a_hook_on_all_registrations_is_told(predict_source: Callable[..., Graph], where: str) -> None:
    graph = predict_source(f"""
{f"handle = {_HOOK}" if where == "module" else ""}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {_HOOK if where == "constructor" else "pass"}
        self.a = nn.ReLU()
""")
    assert {problem.module for problem in graph.open_places} == {""}  # its children, all of them
    assert "hook" in graph.problems[0].message


_HOOKS = {
    "module": "lambda module, name, child: nn.Linear(1, 1) if type(child) is nn.ReLU else None",
    "parameter": "lambda module, name, tensor: nn.Parameter(torch.zeros(7)) if name == 'bias' else None",
    "buffer": "lambda module, name, tensor: torch.zeros(7) if name == 'running_mean' else None",
}
_HOOKED = """
def remember(hook):
    HANDLES.append(hook)
HANDLES = []
{0}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sure = nn.Linear(1, 1)
        {1}
        self.a = nn.ReLU()
        self.b = nn.Linear(1, 1)
        self.c = nn.Sequential(nn.ReLU(), nn.BatchNorm1d(1))
        {2}
        self.d = nn.ReLU()
"""


@pytest.mark.parametrize("kind", _HOOKS)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("ends", [False, True])
def test_what_a_hook_on_all_registrations_replaces_is_not_claimed(
    predict_source: Callable[..., Graph], kind: str, place: int, ends: bool
) -> None:
    hook = f"remember(nn.modules.module.register_module_{kind}_registration_hook({_HOOKS[kind]}))"
    text = _HOOKED.format(*(hook if each == place else "pass" for each in (0, 1)), "HANDLES.pop().remove()" * ends)
    namespace: dict[str, Any] = {"__name__": "net"}
    try:
        exec("import torch\nfrom torch import nn\n" + text, namespace)
        model = namespace["Net"]()
    finally:
        for handle in namespace["HANDLES"]:
            handle.remove()
    real = dict(model.named_modules())
    for node in predict_source(text).modules:
        if node.class_name is None or node.path == "":
            continue
        assert type(real[node.path]).__name__ == node.class_name.rpartition(".")[2]
        tensors = {**dict(real[node.path]._parameters), **dict(real[node.path]._buffers)}
        for each in (*node.parameters, *node.buffers):
            assert each.shape == tuple(tensors[each.name].shape)


def test_a_hook_that_no_one_sets_is_no_problem(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(f"""
def unused():
    {_HOOK}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ReLU()
""")
    assert graph.problems == ()


_LAZY = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        self.b = nn.LazyLinear(3)
        self.c = nn.Linear(self.a(torch.zeros(1, 3, 8, 8)).shape[1], 1)
        self.d = nn.LazyLinear(5)
        self.d(torch.zeros(2, 6))
"""


@pytest.mark.needs_torch
def test_a_lazy_layer_that_has_run_is_the_layer_it_stood_for(
    predict_source: Callable[..., Graph], described: Callable[[Graph], list[tuple[object, ...]]]
) -> None:
    from modgraph.tracing.recording.tree import Tree

    namespace: dict[str, object] = {"__name__": "net"}
    exec("import torch\nfrom torch import nn\n" + _LAZY, namespace)
    graph, bundled = predict_source(_LAZY), predict_source(_LAZY, with_torch=False)
    real = Tree(namespace["Net"]())  # type: ignore[operator]
    observed = [(node.path, node.class_name, [p.shape for p in node.parameters]) for node in real.nodes]
    assert [(node.path, node.class_name, [p.shape for p in node.parameters]) for node in graph.modules] == observed
    assert [(node.path, node.class_name) for node in bundled.modules] == [each[:2] for each in observed]


@pytest.mark.needs_torch
def test_torch_keeps_given_modules_under_these_names_alone() -> None:
    from torch import nn

    kept: set[str] = set()
    for file in sorted((Path(str(nn.__file__)).parent / "modules").glob("*.py")):
        if file.name == "module.py":  # its hooks are no layers
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                kept.update(_kept_objects(node))
    assert kept == set(GIVEN_MODULES)


def _kept_objects(init: ast.FunctionDef) -> set[str]:
    """Attributes that a constructor sets to an argument which may be a module, as its annotation says."""
    given = [each for each in (*init.args.args, *init.args.kwonlyargs) if each.annotation is not None]
    words = {each.arg: ast.unparse(each.annotation) for each in given if each.annotation is not None}
    objects = {name for name, kind in words.items() if re.search("Module|Callable", kind) or name.startswith("custom_")}
    found: set[str] = set()
    for node in ast.walk(init):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if isinstance(target, ast.Attribute) and objects & used:
                found.add(target.attr)
    return found


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    "made",
    ["np.array([1.5, 2], dtype=np.float32)", "np.asarray([1, 2], dtype='float64')", "np.arange(3, dtype=np.float32)"],
)
def test_an_array_has_the_dtype_that_was_asked_for(agrees: Callable[[str], Graph], made: str) -> None:
    pytest.importorskip("numpy")
    agrees(f"""
import numpy as np
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.tensor({made}))
""")
