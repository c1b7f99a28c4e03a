"""Generated constructors, predicted and run: the same paths, classes, order, aliases, parameters and buffers."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from modgraph.graph.model import Graph
from modgraph.graph.state_dict import state_dict_of
from modgraph.prediction import predict_graph
from modgraph.source.targets import Target

pytestmark = pytest.mark.needs_torch

_models = runpy.run_path(str(Path(__file__).with_name("generated_models.py")))
sources, unknowable_sources = _models["sources"], _models["unknowable_sources"]
partly_unknowable_sources = _models["partly_unknowable_sources"]

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
            dtype = str(tensor.dtype).removeprefix("torch.")
            rows.append((name, tuple(tensor.shape), last, None if alias or before == own else before, dtype))
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
            [(p.name, p.shape, p.trainable, None if node.alias_of else p.alias_of, p.dtype) for p in node.parameters],
            [(b.name, b.shape, b.persistent, None if node.alias_of else b.alias_of, b.dtype) for b in node.buffers],
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
    messages = [problem.message for problem in graph.open_places]
    if truth is None:
        kinds = [f"raises {cls.__name__}" for cls in type(real).__mro__[:-3]]  # UnboundLocalError is a NameError
        assert any(kind in message for kind in kinds for message in messages), (real, messages)
    else:
        assert messages == []
        assert claimed(graph) == truth
        assert [entry.key for entry in state_dict_of(graph).entries] == list(real.state_dict())


def _real(text: str) -> Described:
    """What is built of a text whose constructor raises nothing."""
    real = built(text)
    assume(not isinstance(real, Exception))
    try:
        return described(real)
    except RecursionError:
        assume(False)
        raise


def _is_open(path: str, graph: Graph) -> bool:
    """The prediction leaves open what stands at this path: above it something is not known, or may hold more."""
    places = [node.path for node in graph.modules if node.class_name is None]
    above = [place[:-1].rstrip(".") if place.endswith("?") else place for place in places]
    return any(place in ("", path) or path.startswith(f"{place}.") for place in above)


def _may_be_absent(path: str, graph: Graph) -> bool:
    """A problem of the module above says that the child is there on some paths only."""
    above, _, name = path.rpartition(".")
    told = f"may have a child {name!r}: "
    return any(problem.module == above and told in problem.message for problem in graph.open_places)


def sound(text: str, folder: Path) -> None:
    """Fails where something is claimed that is not there, or something there is neither claimed nor left open."""
    truth = _real(text)
    graph = predicted(text, folder, with_torch=len(text) % 2 == 0)
    there, claims = {row[0]: row for row in truth}, {row[0]: row for row in claimed(graph)}
    assert [path for path in there if path not in claims and not _is_open(path, graph)] == []
    for path, (_, name, alias, parameters, buffers) in claims.items():
        if name is None:
            assert path.endswith("?") or path in there or _may_be_absent(path, graph), path
            continue
        assert path in there, path
        real = there[path][2]
        assert name == there[path][1], path
        assert alias == real or (alias is None and real is not None and _is_open(real, graph)), path
        told = any(p.module == path for p in graph.open_places)
        for ours, theirs in ((parameters, there[path][3]), (buffers, there[path][4])):
            _compare_tensors(ours, theirs, told)
    placed = [path for path in claims if path in there and not _may_be_absent(path, graph)]  # these have no place yet
    assert placed == [path for path in there if path in placed]


def _compare_tensors(ours: list[Any], theirs: list[Any], told: bool) -> None:
    """What is known of each is right; only where a problem is told of the module may some be left out."""
    assert told or [row[0] for row in ours] == [row[0] for row in theirs]
    known = {row[0]: row for row in theirs}
    for name, shape, last, _, dtype in ours:
        if told and name not in known:
            continue
        assert shape is None or len(shape) == len(known[name][1]), name
        assert shape is None or all(a in (None, b) for a, b in zip(shape, known[name][1], strict=True)), name
        assert last in (None, known[name][2]), name
        assert dtype in (None, known[name][4]), name


def justified(text: str, folder: Path) -> None:
    """Fails where anything but the names that begin with "u" is not exactly what is built."""
    truth = _real(text)
    graph = predicted(text, folder, with_torch=len(text) % 2 == 0)
    settled = [row for row in claimed(graph) if not row[0].startswith(("u", "?")) and row[0]]
    assert settled == [row for row in truth if not row[0].startswith("u") and row[0]]
    assert all(not problem.module or problem.module.startswith("u") for problem in graph.open_places)


_often = settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "60")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@_often
@given(text=sources())
def test_the_prediction_is_what_torch_builds(text: str, tmp_path: Path) -> None:
    check(text, tmp_path)


@settings(_often, max_examples=_often.max_examples // 2)
@given(text=unknowable_sources())
def test_nothing_false_is_claimed_of_what_only_a_run_can_tell(text: str, tmp_path: Path) -> None:
    sound(text, tmp_path)


@settings(_often, max_examples=_often.max_examples // 2)
@given(text=partly_unknowable_sources())
def test_only_what_cannot_be_told_is_unknown(text: str, tmp_path: Path) -> None:
    justified(text, tmp_path)
