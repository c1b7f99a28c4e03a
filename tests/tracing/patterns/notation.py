"""How a pattern is written down: a small model, and by hand what its trace has to say.

Calls, in order, children in parentheses, the root left out: "a block(block.0 block.1) a". A word before a path says more
of the call: "direct:a" (by its `forward`), "failed:a" (an exception left it), "again:a" (run again by the backward pass,
which has no call around it).
The root stands as "root" where it calls itself.

Edges, one chain per line: "input:x -> a -> mul, add -> output:0"; every name before an arrow leads to every name after
it. Names are those of calls (the module's path, "root"), of operations (the last part of their name), and the other ends
as they stand in a graph ("input:x", "param:w", "const:0", "output:0"); the second of a name is "mul#2". What is written
twice is there twice: two tensors that go the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Pattern:
    """A model, its arguments, and what is to be recorded of its run."""

    name: str
    build: Callable[[], nn.Module]
    calls: str
    edges: str
    args: Callable[[], tuple[Any, ...]]
    kwargs: Callable[[], dict[str, Any]]
    gaps: str = ""
    """Kinds of the gaps, in order."""
    fake: str = ""
    """Why its values decide, or why fake tensors cannot run it; empty where they give the same graph."""
    unproven: str = ""
    """Why its run cannot be repeated from the edges; empty where it is proven."""
    fails: str | None = None
    """Path of the module at which an exception leaves the model."""
    options: dict[str, Any] = field(default_factory=dict)
    fake_xfail: str = ""
    """What is wrong yet with its run under fake tensors."""

    def given(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        torch.default_generator.manual_seed(1)  # `torch.manual_seed` formats, and keeps, three stacks
        return self.args(), self.kwargs()

    def made(self) -> nn.Module:
        torch.default_generator.manual_seed(0)
        return self.build()


PATTERNS: list[Pattern] = []


def lin(width: int = 4) -> nn.Module:
    return nn.Linear(4, width)


def pattern(
    calls: str,
    edges: str,
    *,
    args: Callable[[], tuple[Any, ...]] = lambda: (torch.rand(2, 4),),
    kwargs: Callable[[], dict[str, Any]] = dict,
    parts: dict[str, Callable[[], Any]] | None = None,
    **more: Any,
) -> Callable[[Any], Any]:
    """Files the class below it; or the function, as the `forward` of a model with layers `a` and `b` and `parts`.

    Of the parts, those that are tensors become buffers.
    """

    def file(made: Any) -> Any:
        build = made if isinstance(made, type) else lambda: _model_of(made, {"a": lin, "b": lin, **(parts or {})})
        PATTERNS.append(Pattern(made.__name__, build, calls, edges, args, kwargs, **more))
        return made

    return file


def _model_of(forward: Callable[..., Any], parts: dict[str, Callable[[], Any]]) -> nn.Module:
    model: nn.Module = type(forward.__name__, (nn.Module,), {"forward": forward, "__module__": forward.__module__})()
    for name, make in parts.items():
        part = make()
        if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
            model.register_buffer(name, part)
        else:
            setattr(model, name, part)
    return model


# What was expected and what was recorded, in one form


def expected_calls(text: str) -> list[str]:
    """ "a block(block.0)" -> ["root", "root/a", "root/block", "root/block/block.0"]."""
    above, found = ["root"], ["root"]
    latest = "root"
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            above.append(latest)
        elif word == ")":
            above.pop()
        else:
            latest = word.rpartition(":")[2] if ":" in word else word
            found.append("/".join([*above, word]))
    return found


def recorded_calls(graph: Any) -> list[str]:
    found: list[str] = []
    above: list[list[str]] = []
    for call in graph.calls:
        way = above[call.parent] if call.parent is not None else ["root"] if call.recomputed else []
        name = call.module or "root"
        word = f"direct:{name}" if call.direct else name
        word = f"again:{name}" if call.recomputed else word
        is_innermost_failure = call.error is not None and call.parent is not None
        found.append("/".join([*way, f"failed:{name}" if is_innermost_failure else word]))
        above.append([*way, name])
    return found


def expected_edges(text: str) -> list[str]:
    return sorted(_chained(text))


def _chained(text: str) -> Iterator[str]:
    for line in text.splitlines():
        ends = [[name.strip() for name in end.split(", ")] for end in line.strip().split(" -> ")]
        for producers, consumers in pairwise(ends):
            for producer in producers:
                yield from (f"{producer} -> {consumer}" for consumer in consumers)


def differences(expected: list[str], recorded: list[str]) -> str:
    """Empty where both hold the same, however often and in whatever order."""
    missing, surplus = Counter(expected) - Counter(recorded), Counter(recorded) - Counter(expected)
    lines = [f"  not recorded: {edge}" for edge in sorted(missing.elements())]
    return "\n".join(lines + [f"  not expected: {edge}" for edge in sorted(surplus.elements())])
