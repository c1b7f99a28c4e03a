"""A predicted run of `forward` held against several real ones: what is claimed must be true of each of them.

Claimed is: that a certain call happens, in that order and nesting; where nothing is left open, that no other does; what
goes out of it; that the model is built, and does not raise.
"""

from __future__ import annotations

import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import modgraph
from modgraph.graph.model import Call, Graph

PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
THREE_LAYERS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))
"""
"""The class of a model with layers `a`, `b` and `c` of four numbers each, up to the end of its constructor."""
NOT_REGISTERED = "?"
Tensors = list[tuple[Any, Any]]
"""Of each tensor the shape and dtype."""


@dataclass
class Ran:
    """One call of a real run, or one that is predicted."""

    path: str
    parent: int | None
    outputs: Tensors | None = None
    certain: bool = True


@dataclass
class Run:
    calls: list[Ran] = field(default_factory=list)
    error: str | None = None

    def keys(self) -> list[tuple[str, int]]:
        """Path and depth of each call."""
        return [(call.path, self._depth(call)) for call in self.calls]

    def _depth(self, call: Ran) -> int:
        return 0 if call.parent is None else 1 + self._depth(self.calls[call.parent])


def predicted(folder: Path, text: str, inputs: Sequence[str], name: str = "Net") -> Graph:
    """Asked of what `wrong` was asked of just now, it is that graph."""
    return _predicted(folder, text, tuple(inputs), name)


@lru_cache(maxsize=1)
def _predicted(folder: Path, text: str, inputs: tuple[str, ...], name: str) -> Graph:
    file = folder / "net.py"
    file.write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
    return modgraph.predict(f"{file}:{name}", inputs=list(inputs))


def wrong(folder: Path, text: str, inputs: Sequence[str] = ("2x3",)) -> list[str]:
    """What is claimed of a model falsely; nothing where all of it is true."""
    graph = predicted(folder, text, inputs)
    found: list[str] = []
    for fill in FILLS:
        real, registered = real_run(folder / "net.py", inputs, fill)
        found += _wrong_of_one(graph, real, registered)
    return list(dict.fromkeys(found))


def is_whole(graph: Graph) -> bool:
    """Nothing is left open: the calls are all there are."""
    return bool(graph.calls) and not graph.problems and all(call.certain for call in graph.calls)


def _wrong_of_one(graph: Graph, real: Run, registered: set[str]) -> list[str]:
    problems = [each for each in graph.problems if each.stage == "forward"]
    if any("raises " in each.message for each in problems):
        return [] if real.error is not None else [f"it runs, and is said to raise: {problems[0].message}"]
    told = _told(graph.calls, registered)
    if not problems and real.error is not None:
        return [f"it raises {real.error}"]
    if is_whole(graph):
        if told.keys() != real.keys():
            return [f"calls are {real.keys()}, not {told.keys()}"]
        pairs = list(zip(told.calls, real.calls, strict=True))
        return [text for ours, theirs in pairs if (text := _other_outputs(ours, theirs)) is not None]
    certain = [key for key, call in zip(told.keys(), told.calls, strict=True) if call.certain]
    rest: Iterator[tuple[str, int]] = iter(real.keys())
    missing = [key for key in certain if key not in rest]
    return [f"{missing} is not called in {real.keys()}"] if missing and real.error is None else []


def _told(calls: Sequence[Call], registered: set[str]) -> Run:
    kept = [call for call in calls if not call.direct]
    places = {call.index: place for place, call in enumerate(kept)}

    def parent(call: Call) -> int | None:
        above = call.parent
        while above is not None and above not in places:
            above = calls[above].parent
        return None if above is None else places[above]

    run = Run()
    for call in kept:
        path = call.module if call.module in registered else NOT_REGISTERED
        run.calls.append(Ran(path, parent(call), [(each.shape, each.dtype) for each in call.outputs], call.certain))
    return run


def _other_outputs(ours: Ran, theirs: Ran) -> str | None:
    told, real = ours.outputs or [], theirs.outputs
    if real is None or not told:
        return None
    if len(told) != len(real) or not all(map(_fits, told, real)):
        return f"{ours.path!r} gives {real}, not {told}"
    return None


def _fits(told: tuple[Any, Any], real: tuple[Any, Any]) -> bool:
    shape, dtype = told
    if shape is not None and len(shape) != len(real[0]):
        return False
    sizes = zip(shape or (), real[0], strict=False)
    return dtype in (None, real[1]) and all(size in (None, other) for size, other in sizes)


# ---- real runs ---------------------------------------------------------------------------------------------------------


FILLS: tuple[Callable[[Any], None], ...] = (
    lambda tensor: tensor.normal_() if tensor.is_floating_point() else None,
    lambda tensor: tensor.fill_(3),
    lambda tensor: tensor.zero_(),
)
"""What the inputs hold."""


def real_run(file: Path, inputs: Sequence[str], fill: Callable[[Any], None]) -> tuple[Run, set[str]]:
    """What torch does, and the paths that are registered before it."""
    import torch

    torch.default_generator.manual_seed(0)
    run = Run()
    with _left_as_it_was(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = types.ModuleType("net")
        sys.modules["net"] = module
        exec(_compiled(file.read_text("utf-8"), str(file)), vars(module))
        model = vars(module)["Net"]().eval()
        names: dict[int, str] = {}
        for name, each in model.named_modules():
            names.setdefault(id(each), name)
        given = [_tensor(each, fill) for each in inputs]
        with _listening(run, names):
            try:
                model(*given)
            except Exception as error:
                run.error = f"{type(error).__name__}: {error}"
    return run, set(names.values())


@lru_cache(maxsize=1)
def _compiled(text: str, file: str) -> CodeType:
    return compile(text, file, "exec")


def _tensor(text: str, fill: Callable[[Any], None]) -> Any:
    import torch

    shape, _, dtype = text.partition(":")
    sizes = [] if shape == "scalar" else [int(size) for size in shape.split("x")]
    tensor = torch.zeros(sizes, dtype=getattr(torch, dtype or "float32"))
    fill(tensor)
    return tensor


@contextmanager
def _listening(run: Run, names: Mapping[int, str]) -> Iterator[None]:
    import torch

    original = torch.nn.Module.__call__
    running: list[int] = []
    kept: list[Any] = []

    def call(module: Any, *given: Any, **named: Any) -> Any:
        kept.append(module)  # so that no other has its id
        told = Ran(names.get(id(module), NOT_REGISTERED), running[-1] if running else None)
        run.calls.append(told)
        running.append(len(run.calls) - 1)
        try:
            result = original(module, *given, **named)
        finally:
            running.pop()
        told.outputs = tensors_in(result)
        return result

    torch.nn.Module.__call__ = call  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]


@contextmanager
def _left_as_it_was() -> Iterator[None]:
    import torch

    module = torch.nn.modules.module
    kept = {name: dict(held) for name, held in vars(module).items() if name.startswith("_global") and held == {}}
    classes = {cls: dict(vars(cls)) for cls in (torch.nn.Linear, torch.nn.Module)}
    functions, dtype = dict(vars(torch.nn.functional)), torch.get_default_dtype()
    sys_modules = sys.modules.get("net")
    try:
        yield
    finally:
        for name in kept:
            getattr(module, name).clear()
        for cls, held in classes.items():
            for name, value in held.items():
                if vars(cls)[name] is not value:
                    setattr(cls, name, value)
        vars(torch.nn.functional).update(functions)
        torch.set_default_dtype(dtype)
        sys.modules.pop("net", None)
        if sys_modules is not None:
            sys.modules["net"] = sys_modules


def tensors_in(value: Any, depth: int = 0) -> Tensors:
    """Those in tuples, lists and dicts, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [(tuple(value.shape), str(value.dtype).removeprefix("torch."))]
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (tuple, list)) else ()
    return [found for each in inside for found in tensors_in(each, depth + 1)]
