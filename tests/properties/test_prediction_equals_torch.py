"""Generated constructors, predicted and run: the same paths, classes, order, aliases, parameters and buffers."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import Target

pytestmark = pytest.mark.needs_torch

sources = runpy.run_path(str(Path(__file__).with_name("generated_models.py")))["sources"]

MOST_NODES = 2_000
"""A few modules that share each other have exponentially many paths; the graph itself lists `MAX_ALIASES` of them."""

Described = list[tuple[Any, ...]]


def predicted(text: str, folder: Path, *, with_torch: bool) -> Graph:
    file = folder / "net.py"
    file.write_text(text, encoding="utf-8")
    path = tuple(sys.path) if with_torch else (str(folder),)
    return predict_graph(Target(text="net.py:Net", module="net", name="Net", file=file, root=folder, search_path=path))


def built(text: str) -> Any:
    """What the constructor makes, or the exception that it raises."""
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec"), namespace)
    try:
        return namespace["Net"]()
    except Exception as error:
        return error


def described(root: Any) -> Described:
    """Path, class, first path, parameters, buffers of every registered name, as torch's own stores have them.

    Raises:
        RecursionError: a module is below itself, or shared ones make more paths than are compared.
    """
    found: Described = []
    first_modules: dict[int, str] = {}
    first_tensors: dict[int, str] = {}

    def tensors(module: Any, store: str, path: str, alias: bool) -> list[tuple[Any, ...]]:
        rows = []
        for name, tensor in getattr(module, store).items():
            if tensor is None:
                continue
            own = f"{path}.{name}" if path else name
            before = first_tensors.setdefault(id(tensor), own)
            last = tensor.requires_grad if store == "_parameters" else name not in module._non_persistent_buffers_set
            rows.append((name, tuple(tensor.shape), last, None if alias or before == own else before))
        return rows

    def walk(module: Any, path: str) -> None:
        if module is None:
            found.append((path, "NoneType", None, [], []))
            return
        if len(found) > MOST_NODES:
            raise RecursionError
        before = first_modules.setdefault(id(module), path)
        alias = before != path
        name = f"{type(module).__module__}.{type(module).__qualname__}"
        parameters, buffers = (tensors(module, store, path, alias) for store in ("_parameters", "_buffers"))
        found.append((path, name, before if alias else None, parameters, buffers))
        for key, child in module._modules.items():
            walk(child, f"{path}.{key}" if path else key)

    walk(root, "")
    return found


def claimed(graph: Graph) -> Described:
    hidden = tuple(node.path for node in graph.modules if not node.registered)
    return [
        (
            node.path,
            node.class_name,
            node.alias_of,
            [(p.name, p.shape, p.trainable, None if node.alias_of else p.alias_of) for p in node.parameters],
            [(b.name, b.shape, b.persistent, None if node.alias_of else b.alias_of) for b in node.buffers],
        )
        for node in graph.modules
        if node.path not in hidden and not node.path.startswith(tuple(f"{path}." for path in hidden))
    ]


def check(text: str, folder: Path) -> None:
    """Fails unless what is predicted is what is built, or the exception that is raised."""
    real = built(text)
    try:
        truth = None if isinstance(real, Exception) else described(real)
    except RecursionError:
        assume(False)
    graph = predicted(text, folder, with_torch=len(text) % 2 == 0)  # from torch's source, or from what is bundled
    messages = [problem.message for problem in graph.problems]
    if truth is None:
        kinds = [f"raises {cls.__name__}" for cls in type(real).__mro__[:-3]]  # UnboundLocalError is a NameError
        assert any(kind in message for kind in kinds for message in messages), (real, messages)
    else:
        assert messages == []
        assert claimed(graph) == truth


@settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(text=sources())
def test_the_prediction_is_what_torch_builds(text: str, tmp_path: Path) -> None:
    check(text, tmp_path)
