"""A live model of the caller's, traced in the caller's process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from modgraph.errors import InputError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, ModelInfo, Problem
from modgraph.inputs.making import describe_arguments, make_inputs
from modgraph.options import TraceOptions
from modgraph.tracing.basics.forward_signature import ForwardSignature
from modgraph.tracing.basics.interruptions import kept_for_later, let_through
from modgraph.tracing.basics.members import tensors
from modgraph.tracing.basics.patches import one_at_a_time
from modgraph.tracing.basics.sharding import unwrapped, user_class
from modgraph.tracing.faking import fake
from modgraph.tracing.faking.caches import nothing_fake_remembered
from modgraph.tracing.loading.models import check_device, example_beside
from modgraph.tracing.restoring.restore import kept
from modgraph.tracing.run import trace

Then = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Graph], None]
"""Is called after the run, with what was run and its graph."""


def trace_live(
    model: nn.Module, args: Any, kwargs: Mapping[str, Any] | None, options: TraceOptions, then: Then | None = None
) -> Graph:
    """The graph of one run of `model`, which is left as it was.

    Args:
        args: positional arguments of `forward`: a tuple or list of them, or the only one. Where it is None and there
            are no keyword arguments, `example_inputs` beside the model's class are taken, else inputs are inferred.
        kwargs: keyword arguments of `forward`.

    Raises:
        InputError: `model` is no module.
        ModgraphError: the device is not there.
    """
    with kept_for_later(), one_at_a_time:
        return _traced(model, args, kwargs, options, then)


def _traced(
    model: nn.Module, args: Any, kwargs: Mapping[str, Any] | None, options: TraceOptions, then: Then | None
) -> Graph:
    if not isinstance(model, nn.Module):
        raise InputError(
            f"a live model is a torch.nn.Module, not {type(model).__name__}",
            hint="a class or function is analyzed by its target: modgraph.analyze('model.py:Net')",
        )
    check_device(options)
    if options.device == "fake":
        with kept(model), nothing_fake_remembered(made_here=True):  # a copy shares what cannot be copied
            return _run_fake(model, args, kwargs, options, then)
    if options.device == "cuda":
        _require_on_cuda(model)
    return _run(model, args, kwargs, options, then, None)


def _run_fake(
    model: nn.Module, args: Any, kwargs: Mapping[str, Any] | None, options: TraceOptions, then: Then | None
) -> Graph:
    mode = fake.new_mode()
    with let_through():
        copy = fake.fake_copy(model, mode)
    return _run(copy, args, kwargs, options, then, mode)


def _run(
    model: nn.Module, args: Any, kwargs: Mapping[str, Any] | None, options: TraceOptions, then: Then | None, mode: Any
) -> Graph:
    given, named = _as_tuple(args), dict(kwargs or {})
    warning = None
    if args is not None or named:
        signature = ForwardSignature.of(model)
        signature.require(given, named, model)
        given, named = fake.arguments_to_fake(given, named, mode)
        infos = describe_arguments(signature, given, named, "given")
    else:
        # A class made at run time may name a module that is no longer there, or never was.
        inner = unwrapped(model)
        with let_through():
            beside = example_beside(inner, sys.modules.get(user_class(type(inner)).__module__))
        inputs = make_inputs(model, (), beside, options, fake_mode=mode)
        given, named, infos, warning = inputs.args, inputs.kwargs, inputs.infos, inputs.warning
    kind = user_class(type(model))
    info = ModelInfo(name=kind.__name__, class_name=f"{kind.__module__}.{kind.__qualname__}", target=None, inputs=infos)
    with fake.running(mode):
        graph = trace(model, given, named, options, info=info)
        if then is not None:
            then(model, given, named, graph)
    if warning is None or graph.complete:
        return graph
    builder = GraphBuilder.of(graph)
    builder.problems.append(Problem(stage="trace", message=warning, module=""))
    return builder.build()


def _as_tuple(args: Any) -> tuple[Any, ...]:
    """A lone tensor, and whatever else is no tuple or list of arguments, is a tuple of one; None stands for none."""
    if args is None:
        return ()
    if isinstance(args, tuple | list):
        return tuple(args)
    return (args,)


def _require_on_cuda(model: nn.Module) -> None:
    """The model is the caller's: moving it would change it."""
    for tensor in tensors(model):
        if tensor.device.type != "cuda":
            raise InputError(
                f'device="cuda" was asked for, and the model is on {tensor.device}',
                hint='move it first: model.to("cuda"), and its inputs',
            )
        return
