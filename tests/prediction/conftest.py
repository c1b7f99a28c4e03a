"""Source text in, prediction out; and the same text run by the installed torch, described alike."""

from __future__ import annotations

import functools
import runpy
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import Target

PRELUDE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


@pytest.fixture
def predict_source(tmp_path: Path) -> Callable[..., Graph]:
    """predict_source(text, name="Net", with_torch=True): the graph; without torch, layers come from the bundled source."""

    def predict(text: str, name: str = "Net", *, with_torch: bool = True) -> Graph:
        file = tmp_path / "net.py"
        file.write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
        path = () if with_torch else (str(tmp_path),)
        target = Target(text=f"net.py:{name}", module="net", name=name, file=file, root=tmp_path, search_path=path)
        return predict_graph(target)

    return predict


@pytest.fixture
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """lower_limits(8): what one prediction may cost is an eighth; what is counted ends there in an eighth of the time, and
    what is not takes as long as ever."""
    from modgraph.prediction.domain import budget

    def lower(part: int) -> None:
        for name in ("MAX_STEPS", "MAX_WORK", "MAX_MADE_ITEMS", "MAX_COPIED_OBJECTS", "MAX_MADE_MODULES"):
            monkeypatch.setattr(budget, name, getattr(budget, name) // part)

    return lower


@pytest.fixture
def described() -> Callable[[Graph], list[tuple[Any, ...]]]:
    """Path, class, aliases, parameters and buffers of every module of a graph."""

    def describe(graph: Graph) -> list[tuple[Any, ...]]:
        return [
            (
                node.path,
                node.class_name,
                node.alias_of,
                node.registered,
                [(p.name, p.shape, p.dtype, p.trainable, p.alias_of) for p in node.parameters],
                [(b.name, b.shape, b.dtype, b.persistent, b.alias_of) for b in node.buffers],
            )
            for node in graph.modules
        ]

    return describe


@pytest.fixture
def agrees(
    predict_source: Callable[..., Graph], described: Callable[[Graph], list[tuple[Any, ...]]]
) -> Callable[[str], Graph]:
    """agrees(text): runs `Net()` of the text in torch, and fails unless it is predicted exactly, from either source."""
    pytest.importorskip("torch")
    from modgraph.tracing.recording.tree import Tree

    def compare(text: str) -> Graph:
        namespace: dict[str, Any] = {"__name__": "net"}
        exec(compile(PRELUDE + textwrap.dedent(text), "net.py", "exec", dont_inherit=True), namespace)
        tree = Tree(namespace["Net"]())
        observed = described(_Nodes(tree.nodes))  # type: ignore[arg-type]
        totals = tuple(tree.totals())
        for with_torch in (True, False):
            graph = predict_source(text, with_torch=with_torch)
            assert graph.problems == ()
            assert described(graph) == observed
            assert (graph.model.parameters, graph.model.trainable_parameters, graph.model.buffers) == totals
        return graph

    return compare


@pytest.fixture
def claims_that_fail(predict_source: Callable[..., Graph]) -> Callable[..., list[Any]]:
    """claims_that_fail(body, header=""): what is claimed of `Net(flag)` and does not hold for both values of the flag."""
    pytest.importorskip("torch")
    compare = _beside("undecided.py")["claims_that_fail"]
    return functools.partial(compare, predict_source)


@functools.cache
def _beside(name: str) -> dict[str, Any]:
    """What a file in this folder defines; compiled once, and not for each of a thousand tests."""
    return runpy.run_path(str(Path(__file__).with_name(name)))


class _Nodes:
    """Live nodes in a graph's clothes."""

    def __init__(self, modules: list[Any]) -> None:
        self.modules = modules


UNKNOWN = object()
"""What `evaluated` gives for a value that the interpreter does not know."""


@pytest.fixture
def evaluated(tmp_path: Path) -> Callable[[str], Any]:
    """evaluated(text): the interpreter's value of the name RESULT, as Python's own; UNKNOWN where it is not known.

    The text is executed as a file of the user's; its names are evaluated one by one where it raises."""
    from modgraph.prediction.deep_stack import with_deep_stack
    from modgraph.prediction.entry import begin, interpreter
    from modgraph.prediction.python.plain import plain

    def run(text: str) -> Any:
        (tmp_path / "code.py").write_text(textwrap.dedent(text), encoding="utf-8")
        machine = interpreter([str(tmp_path), *sys.path])

        def value() -> tuple[Any] | None:
            source = machine.finder.source("code")
            assert source is not None
            begin(machine, source)
            return plain(machine, machine.get_attribute(machine.resolve("code"), "RESULT"))

        found = with_deep_stack(value)
        return UNKNOWN if found is None else found[0]

    run.UNKNOWN = UNKNOWN  # type: ignore[attr-defined]
    return run


@pytest.fixture
def claims_of_project_that_fail(tmp_path: Path) -> Callable[[dict[str, str]], list[Any]]:
    """What is claimed of the `Net` of these files, and does not hold for each of the texts that a file may hold."""
    pytest.importorskip("torch")
    compare = _beside("projects.py")["claims_that_fail"]
    return functools.partial(compare, tmp_path)
