"""Four published models, held against torch itself: tree, calls, shapes, and where residuals and branches join.

The judges are independent of modgraph: `named_modules()`, forward hooks, and torch.fx for the joins.
"""

from __future__ import annotations

import importlib
import json
import operator
import os
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[2]
SHIM = Path(__file__).parent / "torchvision_shim"
run_modgraph = runpy.run_path(str(ROOT / "tests/cli/conftest.py"))["run_modgraph"]

pytestmark = [pytest.mark.needs_torch, pytest.mark.usefixtures("torchvision_models")]

MODELS = ("resnet18", "googlenet", "vit_b_16", "densenet121")
FORETOLD = ("resnet18", "densenet121")


@cache
def graph_of(name: str) -> dict:
    """What `modgraph analyze torchvision.models:NAME` writes, with an input that it inferred itself."""
    with TemporaryDirectory() as folder:
        run = run_modgraph(
            "analyze", f"torchvision.models:{name}", "--format", "json", cwd=Path(folder),
            environment={"PYTHONPATH": f"{SHIM}{os.pathsep}{ROOT}"},
        )  # fmt: skip
        assert run.returncode in (0, 1), run.stderr
        return json.loads((Path(folder) / "modgraph-out" / f"{name}.json").read_text())


@cache
def model_of(name: str):
    models = importlib.import_module("torchvision.models")
    options = {"init_weights": False} if name == "googlenet" else {}  # the slow part, of no meaning for the structure
    return getattr(models, name)(**options).eval()


def module_class(module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


@pytest.mark.parametrize("name", MODELS)
def test_traced_tree_is_named_modules(name):
    real = [(path, module_class(module)) for path, module in model_of(name).named_modules(remove_duplicate=False)]
    assert [(m["path"], m["class"]) for m in graph_of(name)["modules"] if m["observed"]] == real


@pytest.mark.parametrize("name", FORETOLD)
def test_predicted_tree_is_named_modules(name):
    real = [(path, module_class(module)) for path, module in model_of(name).named_modules(remove_duplicate=False)]
    graph = graph_of(name)
    assert [(m["path"], m["class"]) for m in graph["modules"] if m["predicted"]] == real
    assert graph["complete"], graph["problems"]


@pytest.mark.parametrize("name", MODELS)
def test_calls_and_shapes_are_what_forward_hooks_see(name):
    import torch

    model, graph = model_of(name), graph_of(name)
    begun: list[str] = []
    seen: dict[str, list] = {}
    handles = []
    for path, module in model.named_modules():

        def before(_module, _args, path=path):
            begun.append(path)

        def after(_module, args, output, path=path):
            outputs = output if isinstance(output, tuple) else (output,)
            seen.setdefault(path, []).append((_shapes(args), _shapes(outputs)))

        handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    (entry,) = graph["model"]["inputs"]
    with torch.no_grad():
        model(torch.zeros(entry["tensors"][0]["shape"]))
    for handle in handles:
        handle.remove()
    ran = [call for call in graph["calls"] if call.get("observed") is not False]
    assert [call["module"] for call in ran] == begun
    recorded: dict[str, list] = {}
    for call in ran:
        inputs = [tuple(t["shape"]) for t in call["inputs"]]
        recorded.setdefault(call["module"], []).append((inputs, [tuple(t["shape"]) for t in call["outputs"]]))
    for path, calls in seen.items():
        for (args, outputs), (inputs, recorded_outputs) in zip(calls, recorded[path], strict=True):
            assert recorded_outputs == outputs, path
            assert inputs[: len(args)] == args, path  # keyword arguments, which the hook is not given, come behind


def _shapes(values) -> list[tuple[int, ...]]:
    """Of the tensors inside, lists and tuples opened."""
    import torch

    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(tuple(value.shape))
        elif isinstance(value, list | tuple):
            found += _shapes(value)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_addition_and_concatenation_joins_what_torch_fx_says(name):
    expected = _joins_of_fx(model_of(name))
    assert expected, "a model without joins would show nothing"
    assert _joins_of_graph(graph_of(name)) == expected


def _joins_of_fx(model) -> Counter:
    """(kind, what it joins) of every add and cat: modules by path, parameters and inputs by name, joins by kind."""
    import torch

    kinds = {operator.add: "add", operator.iadd: "add", torch.add: "add", torch.cat: "cat"}
    traced = torch.fx.symbolic_trace(model)

    def origins(node) -> list[str]:
        if node.op == "placeholder":
            return [f"input:{node.target}"]
        if node.op == "get_attr":
            return [f"param:{node.target}"]
        if node.op == "call_module":
            return [str(node.target)]
        if node.target in kinds:
            return [kinds[node.target]]
        return [origin for argument in node.all_input_nodes[:1] for origin in origins(argument)]

    joins = Counter()
    for node in traced.graph.nodes:
        kind = kinds.get(node.target) if node.op == "call_function" else None
        if kind and any(_holds_tensor(argument) for argument in node.all_input_nodes):
            joins[kind, tuple(sorted(origin for argument in node.all_input_nodes for origin in origins(argument)))] += 1
    return joins


def _holds_tensor(node) -> bool:
    """Not a number taken from a shape."""
    import operator as python

    return node.target not in (python.getitem, python.floordiv, getattr)


def _joins_of_graph(graph: dict) -> Counter:
    names = {operation["id"]: operation["name"].rpartition(".")[2].strip("_") for operation in graph["operations"]}
    incoming: dict[str, list[str]] = {}
    for edge in graph["edges"]:
        incoming.setdefault(edge["to"], []).append(edge["from"])

    def kind_of(end: str) -> str | None:
        return {"add": "add", "iadd": "add", "cat": "cat", "concat": "cat"}.get(names.get(end, ""))

    def origins(end: str) -> list[str]:
        if end.startswith("call:"):
            return [graph["calls"][int(end[5:])]["module"]]
        if not end.startswith("op:"):
            return [end]
        if kind := kind_of(end):
            return [kind]
        return [origin for producer in incoming.get(end, [])[:1] for origin in origins(producer)]

    joins = Counter()
    for operation in graph["operations"]:
        kind = kind_of(operation["id"])
        inside_leaf = operation["call"] is not None and f"call:{operation['call']}" in {e["to"] for e in graph["edges"]}
        if kind and not inside_leaf:
            producers = incoming.get(operation["id"], [])
            joins[kind, tuple(sorted(origin for producer in producers for origin in origins(producer)))] += 1
    return joins
