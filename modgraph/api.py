"""The Python interface: a few lines each, calling the rooms in order. The command line calls the same functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.errors import ConfigError, InputError, Interrupted, ModgraphError, TargetError, TraceError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, Problem
from modgraph.graph.wrappers import seen_through
from modgraph.options import Device, Mode, TraceOptions
from modgraph.refusing import refuse, refuse_for_a_live_model, require_literals, require_module, target_text
from modgraph.watching import Watch, unwatched

if TYPE_CHECKING:
    import torch

    from modgraph.exporting import Exporting
    from modgraph.findings import Finding
    from modgraph.prediction.together import Together
    from modgraph.source.checkpoints import Checkpoint
    from modgraph.source.inputs import InputSpec
    from modgraph.source.targets import Target

_MAX_MESSAGE = 2000
"""Characters kept of what an exception says."""


def analyze(
    model: torch.nn.Module | str | os.PathLike[str],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    inputs: Sequence[str] = (),
    static: bool = False,
    device: Device = "cpu",
    mode: Mode = "eval",
    backward: bool = False,
    stats: bool = False,
    verify: bool = False,
    profile: bool = False,
    timeout: float | None = None,
    memory_limit: int | None = None,
    path: Sequence[str] | None = None,
    against: str | os.PathLike[str] | None = None,
) -> Graph:
    """Predict, trace and merge.

    Args:
        model: a live module, which is run in this process; or a target such as "model.py:Net" (or the path of a file),
            which is built and run in a process of its own.
        args: positional arguments of `forward`, for a live model; a lone tensor is taken as a tuple of one, and `()` is
            none at all. Where both `args` and `kwargs` are left out, inputs are inferred.
        kwargs: keyword arguments of `forward`.
        inputs: the same for a target, as on the command line: `["1x3x224x224", "mask=1x128:bool"]`.
        static: predict only; nothing is executed.
        device: "cpu", "cuda", or "fake", which allocates no weights and computes no values.
        mode: "eval" or "train".
        backward: run and record the backward pass too.
        stats: record mean, standard deviation, minimum and maximum of every tensor.
        verify: run the recorded graph again from its own edges; see `trace`.
        profile: count operations and time of every call, in further runs; see `trace`.
        timeout: seconds, for a target, and for reading a checkpoint.
        memory_limit: bytes, for a target, and for reading a checkpoint.
        path: where imports are looked up, for a target; by default the working directory and `sys.path`.
        against: a checkpoint with which the model's state dict is compared, by names and shapes: `.safetensors`, an
            `.index.json` of shards, or what `torch.load(weights_only=True)` reads, in a process of its own.

    Returns:
        The merged graph. What failed on the way is in its `problems`, what differs from the checkpoint in `checkpoint`.

    Raises:
        TargetError: the target does not exist, or names more than one model.
        InputError: `forward` does not accept these inputs, or the checkpoint cannot be read.
        ConfigError: an option has a value that it cannot have, or is of no use here.
    """
    options = TraceOptions(
        device=device,
        mode=mode,
        backward=backward,
        stats=stats,
        verify=verify,
        profile=profile,
        timeout=timeout,
        memory_limit=memory_limit,
    )
    if static:
        asked = options.changed(reading=against is not None)
        refuse("static=True, which runs nothing", asked, inputs=inputs, args=args is not None, kwargs=kwargs)
    checkpoint = None if against is None else read_checkpoint(against, options)
    if not isinstance(model, str | os.PathLike):
        refuse_for_a_live_model(timeout=timeout, memory_limit=memory_limit, inputs=inputs, path=path)
        return with_checkpoint(analyze_live(model, args, kwargs, static=static, options=options), checkpoint)
    graph = analyze_text(os.fspath(model), args, kwargs, inputs, path, static=static, options=options)
    return with_checkpoint(graph, checkpoint)


def predict(
    target: str | os.PathLike[str],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    path: Sequence[str] | None = None,
    against: str | os.PathLike[str] | None = None,
) -> Graph:
    """What the constructor will register, read from the source: torch is not imported and nothing of it is executed.

    Args:
        target: "package.module:Class" or "file.py:Class"; a factory function or a module-level instance likewise. A
            file alone, where it has one root model.
        args: positional arguments of the constructor: literals, or `Ref("torch.nn.ReLU")`.
        kwargs: keyword arguments of the constructor.
        path: where imports are looked up; by default `sys.path`.
        against: a checkpoint with which the predicted state dict is compared; see `analyze`.

    Raises:
        TargetError: the target does not exist, or names more than one model, or an argument is no literal.
        InputError: the checkpoint cannot be read.
    """
    from modgraph.prediction import predict_graph

    target = target_text(target)
    checkpoint = None if against is None else read_checkpoint(against, TraceOptions())
    found = _the_target(target, path, bare=not (args or kwargs))
    if args or kwargs:
        require_literals(args, kwargs or {})
        if found.called:
            raise TargetError(f"{target!r} has arguments already; give them there or as `args` and `kwargs`")
        found = found.named(found.name, tuple(args), tuple((kwargs or {}).items()), called=True)
    return with_checkpoint(_with_repeats(predict_graph(found)), checkpoint)


def trace(
    model: torch.nn.Module,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    device: Device = "cpu",
    mode: Mode = "eval",
    backward: bool = False,
    stats: bool = False,
    verify: bool = False,
    profile: bool = False,
    timeout: float | None = None,
) -> Graph:
    """What really runs: calls in order, shapes, dataflow. The model is left as it was.

    Args:
        model: a live module, run in this process.
        args: positional arguments of `forward`; a lone tensor is taken as a tuple of one, and `()` is none at all.
            Where both `args` and `kwargs` are left out, inputs are inferred.
        kwargs: keyword arguments of `forward`.
        verify: run the recorded graph again from its own edges, and compare what every step gives with what the run
            gave: `graph.verification` says what came of it.
        profile: run the model again to count the operations, seconds and bytes of every call: `graph.profile`.
        timeout: not for a live model, which nothing can stop; `analyze` takes it with a target.

    Returns:
        The graph; where `forward` raised, the part up to there and a problem that says so.

    Raises:
        InputError: no inputs were given and none could be inferred, or `forward` does not take those that were given.
        ConfigError: an option has a value that it cannot have, or is of no use here.
    """
    options = TraceOptions(
        device=device, mode=mode, backward=backward, stats=stats, verify=verify, profile=profile, timeout=timeout
    )
    refuse_for_a_live_model(timeout=timeout)
    return _with_repeats(_trace_live(model, args, kwargs, options))


def load(path: str | Path) -> Graph:
    """A graph that was saved as JSON, or what an ONNX file (`.onnx`) says of a model.

    Raises:
        GraphError: the file is no graph, or one of a later schema.
    """
    if Path(path).suffix.lower() == ".onnx":
        from modgraph.graph.onnx_reading import load_onnx

        return load_onnx(path)
    from modgraph.graph.serial import load as load_graph

    return load_graph(Path(path))


def check(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    isolated: bool = False,
    strict: bool = False,
) -> list[Finding]:
    """Mistakes in models, read from their source: nothing is imported or executed, and nothing is changed.

    Args:
        paths: files and folders.
        select: codes of rules, their names, beginnings of codes, or "ALL"; by default what the configuration says.
        ignore: rules that are not wanted.
        isolated: read no `[tool.modgraph]` of any pyproject.toml.
        strict: report what is possible too, not only what is certain.

    Returns:
        The findings, in the order of file and place.

    Raises:
        ConfigError: a path is not there or cannot be read, or a rule or a configuration cannot be used.
    """
    from modgraph.rules.options import CheckOptions
    from modgraph.rules.paths import check_paths
    from modgraph.source.cache_home import cache_home

    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    options = CheckOptions(
        select=None if select is None else tuple(select),
        ignore=tuple(ignore),
        isolated=isolated,
        strict=strict,
        cache=cache_home(),
    )
    report = check_paths([os.fspath(path) for path in given], options)
    for failure in report.failures:
        raise ConfigError(failure.message, file=failure.file, hint=failure.hint)
    return report.findings


def find_targets(
    text: str, *, path: Sequence[str] | None = None, bare: bool = True, cwd: Path | None = None
) -> tuple[Target, ...]:
    """The models that a target stands for: itself, or the root models of the file it names.

    Args:
        bare: there are no arguments but those in the text; so a class that needs some is built as its file does it.
        cwd: directory against which a relative file is read; by default the working directory.

    Raises:
        TargetError: there is no such file, or no model in it.
    """
    from modgraph.source.roots import models_of
    from modgraph.source.targets import parse_target

    return models_of(parse_target(text, path=path, cwd=cwd), bare=bare)


def analyze_target(
    target: Target,
    *,
    specs: Sequence[InputSpec] = (),
    options: TraceOptions,
    static: bool = False,
    watch: Watch = unwatched,
    exporting: Exporting | None = None,
    cwd: Path | None = None,
    together: Together | None = None,
) -> Graph:
    """Predict, trace and merge one target; see `analyze`.

    Args:
        cwd: where it runs; by default the working directory.
        exporting: an ONNX file that is to be made of the live model.
        together: what it shares with the other models of a command.

    Raises:
        TargetError: the target does not exist.
        InputError: `forward` does not accept the inputs given.
        Interrupted: Ctrl-C during the trace; holds the graph as far as it is known.
    """
    from modgraph.prediction import predict_graph

    def done(graph: Graph) -> Graph:
        graph = graph if exporting is None or static else exporting.noted(graph)
        return _with_repeats(_with_findings(graph, target))

    with watch("predict"):
        predicted = predict_graph(target, together)
    if static:
        return done(predicted)
    with watch("trace") as watcher:
        try:
            traced = _traced(target, specs, options, watcher, exporting, cwd)
        except (TargetError, InputError):
            raise
        except ModgraphError as error:
            return done(_without_trace(predicted, error))
        except Interrupted as stop:
            raise Interrupted(_until_interrupted(predicted, stop, target)) from None
        except Exception as error:  # a defect of ours must not cost what is known without a run
            return done(_without_trace(predicted, _defect("tracing", error)))
    with watch("merge"):
        try:
            return done(_merged(predicted, traced))
        except Exception as error:
            return done(_without_trace(predicted, _defect("merging", error)))


def _traced(
    target: Target,
    specs: Sequence[InputSpec],
    options: TraceOptions,
    watcher: Any,
    exporting: Exporting | None,
    cwd: Path | None,
) -> Graph:
    from modgraph.isolation import trace_in_process

    if exporting is None:
        return trace_in_process(target, specs, options, watcher=watcher, cwd=cwd).graph
    from modgraph.exporting import CAPTURE

    result = trace_in_process(
        target,
        specs,
        options,
        watcher=watcher,
        capture=CAPTURE,
        settings=exporting.settings,
        captured_into=exporting.directory,
        cwd=cwd,
    )
    exporting.settle(result.captured, result.capture_error)
    return result.graph


def _both(predicted: Graph, traced: Graph, target: Target) -> Graph:
    try:
        return _with_repeats(_with_findings(_merged(predicted, traced), target))
    except Exception as error:
        return _with_repeats(_with_findings(_without_trace(predicted, _defect("merging", error)), target))


def _until_interrupted(predicted: Graph, stop: Interrupted, target: Target) -> Graph:
    """The prediction, with what was recorded of a run until Ctrl-C."""
    if stop.graph is not None:
        return _both(predicted, stop.graph, target)
    return _with_repeats(_without_trace(predicted, stop.why or TraceError("the run was interrupted by Ctrl-C")))


def read_checkpoint(path: str | os.PathLike[str], options: TraceOptions) -> Checkpoint:
    """Names and shapes of the tensors in a checkpoint. What needs torch is read in a process of its own.

    Raises:
        InputError: it is not there, no checkpoint, cut off, or holds what could only be loaded by running code.
    """
    from modgraph.source.checkpoints import (
        Checkpoint,
        is_safetensors,
        read_safetensors,
        require_promised,
        require_readable_by_torch,
        shards_of,
    )

    file = Path(path)
    shards = shards_of(file)
    read_here = [shard for shard in shards if is_safetensors(shard)]
    others = [shard for shard in shards if not is_safetensors(shard)]
    for shard in others:
        require_readable_by_torch(shard)
    tables: dict[str, dict[str, tuple[int, ...] | str | None]] = {"": read_safetensors(read_here)} if read_here else {}
    if others:
        from modgraph.isolation import read_checkpoint_in_process

        for entry, tensors in read_checkpoint_in_process(others, options).items():
            tables.setdefault(entry, {}).update(tensors)
    require_promised(file, (key for table in tables.values() for key in table))
    return Checkpoint(file=file.name, tables=tables)


def with_checkpoint(graph: Graph, checkpoint: Checkpoint | None) -> Graph:
    """The graph, and what differs from the checkpoint if there is one."""
    if checkpoint is None:
        return graph
    from modgraph.checkpoint import compare

    return replace(graph, checkpoint=compare(graph, checkpoint))


def _defect(doing: str, error: Exception) -> ModgraphError:
    """What is said where modgraph itself fails, and goes on with what it has."""
    kind = type(error).__name__
    return TraceError(f"modgraph itself failed while {doing}: {kind}: {error}"[:_MAX_MESSAGE], cause=error)


def _merged(predicted: Graph, traced: Graph) -> Graph:
    from modgraph.merge import merge

    return merge(seen_through(predicted), seen_through(traced))


def _without_trace(predicted: Graph, error: ModgraphError) -> Graph:
    """The prediction, with the reason why there is no trace."""
    builder = GraphBuilder.of(predicted)
    paths = {node.path for node in predicted.modules}
    where = getattr(error, "module", None)
    module = where if where in paths else None
    builder.problems.append(
        Problem(stage="trace", message=error.message, module=module, file=error.file, line=error.line)
    )
    return builder.build()


def _with_findings(graph: Graph, target: Target) -> Graph:
    """The graph with what the check finds."""
    from modgraph.diagnosis import with_findings

    return with_findings(graph, target)


def _with_repeats(graph: Graph) -> Graph:
    from modgraph.graph.repeats import mark_repeats

    return mark_repeats(seen_through(graph))


def _the_target(text: str, path: Sequence[str] | None, *, bare: bool = True) -> Target:
    targets = find_targets(text, path=path, bare=bare)
    if len(targets) > 1:
        names = ", ".join(target.text for target in targets)
        raise TargetError(f"{text} has {len(targets)} models", hint=f"name one of them: {names}")
    return targets[0]


def analyze_text(
    text: str,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    inputs: Sequence[str],
    path: Sequence[str] | None,
    *,
    static: bool,
    options: TraceOptions,
    exporting: Exporting | None = None,
) -> Graph:
    if args is not None or kwargs:
        raise InputError(
            "a target is run in a process of its own, which tensors of this one do not reach",
            hint='give the inputs as text, inputs=["1x3x224x224"], or analyze a live model',
        )
    from modgraph.source.inputs import parse_input

    specs = tuple(parse_input(given) for given in inputs)
    return analyze_target(_the_target(text, path), specs=specs, options=options, static=static, exporting=exporting)


def analyze_live(
    model: torch.nn.Module,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    *,
    static: bool,
    options: TraceOptions,
    exporting: Exporting | None = None,
) -> Graph:
    from modgraph.prediction.live_models import predict_live

    require_module(model)
    from modgraph.tracing.sharding import unwrapped, user_class

    kind = user_class(type(unwrapped(model)))
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    predicted = predict_live(kind.__module__, kind.__qualname__, Path(file) if file else None)
    if static:
        return _with_repeats(predicted)
    predicted = _as_it_was_built(predicted)
    graph = _merged(predicted, _trace_live(model, args, kwargs, options, exporting))
    return _with_repeats(graph if exporting is None else exporting.noted(graph))


def _as_it_was_built(predicted: Graph) -> Graph:
    """The prediction without what a caller does to any model after its constructor: freeze it, convert it, move it."""
    return replace(
        predicted,
        modules=tuple(
            replace(
                node,
                parameters=tuple(replace(held, dtype=None, trainable=None) for held in node.parameters),
                buffers=tuple(replace(held, dtype=None) for held in node.buffers),
            )
            for node in predicted.modules
        ),
    )


def _trace_live(
    model: torch.nn.Module,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    options: TraceOptions,
    exporting: Exporting | None = None,
) -> Graph:
    from modgraph.live import trace_live

    return trace_live(model, args, kwargs, options, None if exporting is None else exporting.capture_here)
