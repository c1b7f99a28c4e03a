"""Depthwise-separable convolution: one convolution for each channel, then one over the channels alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from modgraph.graph.idioms.flow import ACTIVATIONS, CASTS, DROPOUTS, Flow, Step
from modgraph.graph.idioms.idiom import Idiom

_BETWEEN = frozenset(ACTIVATIONS) | CASTS | DROPOUTS | {"norm"}


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    for step in flow.steps(("conv",)):
        if step.module is not None and _kernel(step.arguments) == {1} and step.arguments.get("groups", 1) == 1:
            idiom = _separable(flow, step)
            if idiom is not None:
                yield idiom


def _kernel(arguments: Mapping[str, Any]) -> set[int]:
    """Its sizes; none where they are not known."""
    size = arguments.get("kernel_size")
    sizes = size if isinstance(size, list | tuple) else [size]
    known = [each for each in sizes if type(each) is int]
    return set(known) if len(known) == len(sizes) else set()


def _separable(flow: Flow, pointwise: Step) -> Idiom | None:
    edge = flow.only(pointwise.node)
    for _ in range(6):
        step = None if edge is None else flow.step(edge.producer)
        if step is None or {each.consumer for each in flow.out.get(step.node, ())} != {edge.consumer if edge else ""}:
            return None
        if step.word == "conv":
            break
        if step.word not in _BETWEEN:
            return None
        edge = flow.only(step.node) if step.node.startswith("call:") else flow.operand(step.node, 0)
    else:
        return None
    given, channels = step.arguments, step.arguments.get("in_channels")
    kernel = given.get("kernel_size")
    if type(channels) is not int or channels < 2 or given.get("groups", 1) != channels or _kernel(given) <= {1}:
        return None
    if given.get("out_channels") != channels or pointwise.arguments.get("in_channels") != channels:
        return None
    call = flow.around((step.node, pointwise.node))
    if call is None:
        return None
    rank = len((edge.tensor.shape if edge else None) or ()) - 2
    sizes = kernel if isinstance(kernel, list | tuple) else [kernel] * max(1, rank)
    return Idiom(
        kind="depthwise-separable convolution",
        detail="×".join(map(str, sizes)),
        module=flow.graph.calls[call].module,
        call=call,
        whole=flow.weighing(call) == {step.node, pointwise.node},
        members=(step.node, pointwise.node),
        facts={"channels": channels},
    )
