"""The Python interface: a few lines each, calling the rooms in order. The command line calls the same functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.errors import (
    ConfigError,
    EndlessImportError,
    InputError,
    Interrupted,
    MissingArgumentsError,
    ModgraphError,
    TargetError,
    TraceError,
)
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import NOT_BUILT, Graph, Problem
from modgraph.graph.wrappers import seen_through
from modgraph.options import Device, Mode, TraceOptions
from modgraph.refusing import refuse, refuse_for_a_live_model, require_literals, require_module, target_text
from modgraph.source.targets import NOT_GIVEN
from modgraph.watching import Watch, unwatched

if TYPE_CHECKING:
    import torch

    from modgraph.arguments.choosing import Seek, Way
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
    assume: bool = True,
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
        assume: a class that needs arguments which nothing in its project says is given values that the names of its
            parameters suggest; `graph.model.arguments_from` says so.

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
        followed = isinstance(model, str | os.PathLike)  # of a live model only the tree is predicted
        asked = options.changed(reading=against is not None, but=("mode",) if followed else ())
        refuse("static=True, which runs nothing", asked, args=args is not None, kwargs=kwargs)
    checkpoint = None if against is None else read_checkpoint(against, options)
    if not isinstance(model, str | os.PathLike):
        refuse_for_a_live_model(timeout=timeout, memory_limit=memory_limit, inputs=inputs, path=path)
        return with_checkpoint(analyze_live(model, args, kwargs, static=static, options=options), checkpoint)
    from modgraph.loading import load_file
    from modgraph.source.kinds import saved_file

    kind = saved_file(os.fspath(model))
    if kind is not None:
        asked = options.changed(reading=against is not None)
        refuse(
            f"a {kind.called}, of which nothing is run",
            asked,
            inputs=inputs,
            args=args not in (None, ()),
            kwargs=kwargs,
        )
        return with_checkpoint(load_file(model, kind), checkpoint)
    graph = analyze_text(os.fspath(model), args, kwargs, inputs, path, static=static, options=options, assume=assume)
    return with_checkpoint(graph, checkpoint)


def predict(
    target: str | os.PathLike[str],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    path: Sequence[str] | None = None,
    against: str | os.PathLike[str] | None = None,
    assume: bool = False,
    inputs: Sequence[str] = (),
    forward: bool = True,
    mode: Mode = "eval",
) -> Graph:
    """What the constructor will register, read from the source: torch is not imported and nothing of it is executed.

    So is what `forward` does: its calls, operations, dataflow and shapes, for the inputs that are given, else for such
    as its signature and the first layers suggest.

    Args:
        target: "package.module:Class" or "file.py:Class"; a factory function or a module-level instance likewise. A
            file alone, where it has one root model.
        args: positional arguments of the constructor: literals, or `Ref("torch.nn.ReLU")`.
        kwargs: keyword arguments of the constructor.
        path: where imports are looked up; by default `sys.path`.
        against: a checkpoint with which the predicted state dict is compared; see `analyze`.
        assume: values that the names of parameters suggest, for a class that needs arguments which neither you nor its
            project give; else these are unknown.
        inputs: what `forward` is given: "1x3x224x224", "ids=batch x 128:int64", "flag=True".
        forward: False leaves `forward` out.
        mode: "eval" or "train": what `forward` is predicted for. What it does in the other mode alone is not certain.

    Raises:
        TargetError: the target does not exist, or names more than one model, or an argument is no literal.
        InputError: the checkpoint cannot be read, or an input is none.
        ConfigError: there is no such mode.
    """
    from modgraph.arguments.choosing import ways_to_build, with_origin
    from modgraph.cells import errors_in_cells, in_cells
    from modgraph.prediction import predict_graph
    from modgraph.source.input_groups import parse_inputs

    training = TraceOptions(mode=mode).mode == "train"
    specs = parse_inputs(inputs or ()) if forward else None
    target = target_text(target)
    checkpoint = None if against is None else read_checkpoint(against, TraceOptions())
    found = _the_target(target, path, bare=not (args or kwargs))
    if args or kwargs:
        require_literals(args, kwargs or {})
        if found.called:
            raise TargetError(f"{target!r} has arguments already; give them there or as `args` and `kwargs`")
        found = found.named(found.name, tuple(args), tuple((kwargs or {}).items()), called=True)
    with errors_in_cells(found):
        seek: Seek = "assumed" if assume else "found"
        way = next(ways_to_build(found, lambda each: predict_graph(each, inputs=specs, training=training), seek))
        graph = _with_repeats(with_origin(way.predicted, way))
        return with_checkpoint(in_cells(graph, found), checkpoint)


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
    """A graph that was saved as JSON; or what an ONNX file, a file of weights (`.safetensors`, `.pt`, `.gguf`, an index
    of shards), a TorchScript or an exported program says of a model. What a file is, its content tells; nothing of it
    is run or unpickled.

    Raises:
        GraphError: the file is no graph, or one of a later schema, or is damaged.
        TargetError: it is of a kind that is not read.
    """
    from modgraph.loading import load_file

    return load_file(path)


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
    from modgraph.cells import errors_in_cells
    from modgraph.source.roots import models_of
    from modgraph.source.targets import parse_target

    target = parse_target(text, path=path, cwd=cwd)
    with errors_in_cells(target):
        return models_of(target, bare=bare)


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
    runs: bool = False,
    seek: Seek = "assumed",
    forward: bool = True,
) -> Graph:
    """Predict, trace and merge one target; see `analyze`.

    Args:
        cwd: where it runs; by default the working directory.
        runs: a class that needs arguments which nothing says is an error, and not a prediction alone.
        seek: what such a class is given: "none" but what the target says; "found", what its project gives it;
            "called", also values that the names of its parameters suggest, where a call of it says the others;
            "assumed", as a last resort these alone.
        exporting: an ONNX file that is to be made of the live model.
        forward: what `forward` does is predicted too, for the inputs that are given, or that the run was given.
        together: what it shares with the other models of a command.

    Raises:
        TargetError: the target does not exist.
        MissingArgumentsError: with `runs`.
        InputError: `forward` does not accept the inputs given.
        Interrupted: Ctrl-C during the trace; holds the graph as far as it is known.
    """
    from modgraph.arguments.choosing import ways_to_build, with_origin
    from modgraph.cells import errors_in_cells, in_cells
    from modgraph.prediction import predict_graph

    def done(graph: Graph, way: Way) -> Graph:
        graph = graph if exporting is None or static else exporting.noted(graph)
        return in_cells(_with_repeats(_with_findings(with_origin(graph, way), target)), target)

    with watch("predict") as watcher, errors_in_cells(target):
        doing = None if watcher is None else watcher.doing
        followed = specs if static and forward else None
        training = options.mode == "train"
        ways = ways_to_build(target, lambda way: predict_graph(way, together, doing, followed, training), seek)
        first = next(ways)
    if static:
        return done(first.predicted, first)
    if target.code is not None and options == replace(options, device="cpu", stats=False, verify=False, profile=False):
        options = replace(options, device="fake")  # what a configuration says may be of any size
    with watch("trace") as watcher:

        def run(way: Way) -> Graph:
            with errors_in_cells(target), _imported_once(target, together):
                return _traced(way.target, specs, options, watcher, exporting, cwd, together)

        def is_final(error: ModgraphError) -> bool:
            return _is_of_the_command(error, specs, runs=runs)

        way, traced = _first_that_runs(target, first, ways, run, is_final)
        if not specs and exporting is None and isinstance(traced, Graph):
            way, traced = _whose_forward_ends(target, way, traced, ways, run)
    if isinstance(traced, ModgraphError):
        predicted = _with_calls(way, specs, together, training) if forward else way.predicted
        return done(_without_trace(predicted, traced), way)
    with watch("merge"):
        try:
            return done(_merged(_with_forward(way, traced, together) if forward else way.predicted, traced), way)
        except Exception as error:
            return done(_without_trace(way.predicted, _defect("merging", error)), way)


@contextmanager
def _imported_once(target: Target, together: Together | None) -> Iterator[None]:
    """A file that did not come to its end while it was imported is not imported once more for its next model.

    Raises:
        EndlessImportError: it is such a file.
    """
    endless = {} if together is None else together.endless
    if target.file in endless:
        known = endless[target.file]
        raise EndlessImportError(f"{target.place} is not imported once more: {known.message}", hint=known.hint)
    try:
        yield
    except EndlessImportError as error:
        if target.file is not None:
            endless[target.file] = error
        raise


def _with_calls(way: Way, specs: Sequence[InputSpec], together: Together | None, training: bool) -> Graph:
    """The prediction with what `forward` does with such inputs, as where nothing is run."""
    from modgraph.prediction import predict_graph

    return _predicted_anew(way, lambda: predict_graph(way.target, together, inputs=specs, training=training))


def _first_that_runs(
    target: Target,
    first: Way,
    others: Iterator[Way],
    run: Callable[[Way], Graph],
    is_final: Callable[[ModgraphError], bool],
) -> tuple[Way, Graph | ModgraphError]:
    """The first way to build a model that can be run, and its trace; where none can, the first one, and why it cannot.

    Args:
        is_final: whether a refusal is the answer to the command, and is raised.
    """
    refused: ModgraphError | None = None
    for way in chain((first,), others):
        traced = _run_or_refused(target, way, run)
        if isinstance(traced, Graph):
            return way, traced
        refused = refused or traced
        if not _is_of_building(traced, way.target):
            if is_final(traced):
                raise traced
            break
    if first.origin is None and refused is not None and is_final(refused):
        raise refused
    return first, refused or TraceError("nothing was run")


def _whose_forward_ends(
    target: Target, way: Way, traced: Graph, others: Iterator[Way], run: Callable[[Way], Graph]
) -> tuple[Way, Graph]:
    """Where no inputs were found with which `forward` comes to its end, the next arguments in source with which it
    does; otherwise what is there."""
    if not _fails(traced):
        return way, traced
    said = (each for each in others if each.origin is not None and each.origin.kind in ("call", "config"))
    for other in islice(said, _MOST_OTHERS):
        again = _run_or_refused(target, other, run)
        if isinstance(again, Graph) and not _fails(again):
            return other, again
    return way, traced


_MOST_OTHERS = 2
"""Further arguments with which a model is run whose forward fails with the first; each may cost a search for inputs."""


def _fails(traced: Graph) -> bool:
    return not traced.calls or traced.calls[0].error is not None


def _run_or_refused(target: Target, way: Way, run: Callable[[Way], Graph]) -> Graph | ModgraphError:
    """Its trace, or why there is none. A defect of ours must not cost what is known without a run."""
    from modgraph.arguments.choosing import with_origin

    try:
        return run(way)
    except ModgraphError as error:
        return error
    except Interrupted as stop:
        raise Interrupted(with_origin(_until_interrupted(way.predicted, stop, target), way)) from None
    except Exception as error:
        return _defect("tracing", error)


def _with_forward(way: Way, traced: Graph, together: Together | None) -> Graph:
    """The prediction, with what `forward` would do with the inputs of the run; without it where these are not tensors,
    lists of them and literals alone."""
    from modgraph.prediction import predict_graph
    from modgraph.source.inputs import specs_of

    specs = [specs_of(given) for given in traced.model.inputs]
    if not traced.calls or None in specs:
        return way.predicted
    known = [spec for each in specs for spec in each or ()]
    # First as it was run, so that what is certain there is matched with what ran; then the other ways.
    training = None if traced.model.mode is None else traced.model.mode == "train"
    return _predicted_anew(way, lambda: predict_graph(way.target, together, inputs=known, training=training))


def _predicted_anew(way: Way, predict: Callable[[], Graph]) -> Graph:
    """A defect of ours must not cost the prediction that is there."""
    try:
        return predict()
    except Exception:
        return way.predicted


def _is_of_the_command(error: ModgraphError, specs: Sequence[InputSpec], *, runs: bool) -> bool:
    """What was asked for is not there or does not fit, so that no graph answers it."""
    if isinstance(error, MissingArgumentsError):
        return runs
    return isinstance(error, TargetError) or (isinstance(error, InputError) and bool(specs))


def _is_of_building(error: ModgraphError, target: Target) -> bool:
    """With other arguments, the model may be built."""
    return any(text in error.message for text in (f"{target.name}(", "the argument"))


def _traced(
    target: Target,
    specs: Sequence[InputSpec],
    options: TraceOptions,
    watcher: Any,
    exporting: Exporting | None,
    cwd: Path | None,
    together: Together | None = None,
) -> Graph:
    from modgraph.isolation import trace_in_process

    needed_alone = {} if together is None else together.needed_alone
    capturing: dict[str, Any] = {}
    if exporting is not None:
        from modgraph.exporting import CAPTURE

        capturing = {"capture": CAPTURE, "settings": exporting.settings, "captured_into": exporting.directory}
    result = trace_in_process(
        target, specs, options, watcher=watcher, cwd=cwd, endless=needed_alone.get(target.file), **capturing
    )
    if result.endless is not None:
        needed_alone[target.file] = result.endless
    if exporting is not None:
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
    if file.suffix == ".gguf":
        return _gguf(file)
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


def _gguf(file: Path) -> Checkpoint:
    """Raises InputError as `read_checkpoint`."""
    from modgraph.graph.state_dict import state_dict_of
    from modgraph.loading import load_file
    from modgraph.source.checkpoints import Checkpoint, Tensors
    from modgraph.source.kinds import GGUF

    try:
        graph = load_file(file, GGUF)
    except ModgraphError as error:
        raise InputError(f"cannot read the checkpoint {file}: {error.message}", hint=error.hint) from error
    shapes = {entry.key: entry.shape for entry in state_dict_of(graph).entries}
    table: Tensors = {
        key: None if shape is None else tuple(size for size in shape if isinstance(size, int))
        for key, shape in shapes.items()
    }
    return Checkpoint(file=file.name, tables={"": table})


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
    if isinstance(error, MissingArgumentsError) and any(NOT_GIVEN in each.message for each in predicted.problems):
        return predicted  # the prediction says which are missing
    builder = GraphBuilder.of(predicted)
    builder.problems[:] = [each for each in builder.problems if not _is_foretold(each, error)]
    paths = {node.path for node in predicted.modules}
    where = getattr(error, "module", None)
    module = where if where in paths else None
    builder.problems.append(
        Problem(stage="trace", message=error.message, module=module, file=error.file, line=error.line)
    )
    return builder.build()


def _is_foretold(problem: Problem, error: ModgraphError) -> bool:
    """What ended the run is what the constructor was predicted to raise: one cause, told once."""
    raised = problem.message.removeprefix(f"{NOT_BUILT} raises ").partition(" (in ")[0]
    return raised != problem.message and error.message.endswith(f" raised {raised}")


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
        names = ", ".join(target.typed(target.model) for target in targets)
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
    assume: bool = True,
) -> Graph:
    if args is not None or kwargs:
        raise InputError(
            "a target is run in a process of its own, which tensors of this one do not reach",
            hint='give the inputs as text, inputs=["1x3x224x224"], or analyze a live model',
        )
    from modgraph.source.input_groups import parse_inputs

    specs = parse_inputs(inputs or ())
    target = _the_target(text, path)
    seek: Seek = "assumed" if assume else "found"
    return analyze_target(target, specs=specs, options=options, static=static, exporting=exporting, seek=seek)


def analyze_live(
    model: torch.nn.Module,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    *,
    static: bool,
    options: TraceOptions,
    exporting: Exporting | None = None,
) -> Graph:
    from modgraph.prediction.live_models import is_nothing, predict_live

    require_module(model)
    from modgraph.tracing.basics.sharding import unwrapped, user_class

    kind = user_class(type(unwrapped(model)))
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    predicted = predict_live(kind.__module__, kind.__qualname__, Path(file) if file else None)
    if static:
        return _with_repeats(predicted)
    graph = _trace_live(model, args, kwargs, options, exporting)
    if not is_nothing(predicted):
        graph = _merged(_as_it_was_built(predicted), graph)
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
