"""One traced run, from the first look at the model to the graph."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from modgraph.errors import RAISED_BY_OTHERS, ConfigError
from modgraph.graph.events import DoneEvent, ErrorEvent, Event, ProfiledEvent, StartEvent, VerifiedEvent, replay
from modgraph.graph.model import Graph, ModelInfo
from modgraph.options import TraceOptions
from modgraph.tracing.basics.failures import describe, is_interruption
from modgraph.tracing.basics.hooks import global_hooks, has_global_forward_hooks
from modgraph.tracing.basics.interruptions import kept_for_later, let_through
from modgraph.tracing.basics.patches import one_at_a_time
from modgraph.tracing.basics.sharding import place_in_world, unwrapped, user_class
from modgraph.tracing.basics.sites import stop_at
from modgraph.tracing.basics.tensors import model_input, quietly, tensors_in
from modgraph.tracing.measuring.profiling import Run, profiled
from modgraph.tracing.recording.arguments import Names
from modgraph.tracing.recording.backward import GradientHooks, leaves_of, loss_of, without_history
from modgraph.tracing.recording.calls import recorded_calls
from modgraph.tracing.recording.lazy import sized
from modgraph.tracing.recording.recipes import Recipes
from modgraph.tracing.recording.recorder import Recorder
from modgraph.tracing.recording.resharding import Gathered, gathers
from modgraph.tracing.recording.tree import Tree
from modgraph.tracing.recording.verification import verified
from modgraph.tracing.restoring.restore import Snapshot


def trace(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TraceOptions,
    *,
    info: ModelInfo | None = None,
    emit: Callable[[Event], None] | None = None,
) -> Graph:
    """See `modgraph.tracing.trace_graph`."""
    with kept_for_later(), one_at_a_time:
        return _traced(model, args, kwargs, options, info, emit)


def _traced(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TraceOptions,
    info: ModelInfo | None,
    emit: Callable[[Event], None] | None,
) -> Graph:
    events: list[Event] = []

    def pass_on(event: Event) -> None:
        events.append(event)
        if emit is not None:
            emit(event)

    _require_verifiable(model, options)
    with let_through():
        tree = Tree(model)
    pass_on(StartEvent(model=_model_info(model, args, kwargs, options, tree, info), modules=tuple(tree.nodes)))
    gradients = GradientHooks() if options.backward else None
    recorder = _recorder(tree, options, gradients, None if emit is None else pass_on)
    recipes = recorder.recipes
    snapshot = Snapshot((module for module, _ in tree.modules()), (args, kwargs))
    gathered = Gathered(module for module, _ in tree.modules())
    _tell_before_changes(recorder, snapshot)
    lost: list[BaseException] = []
    try:
        _run(model, args, kwargs, options, recorder, snapshot, gradients)
    finally:
        caught = list(recorder.refusals.told())
        with quietly():
            sized(recorder)
        if gradients is not None:
            gradients.remove()
        lost += [*gathered.put_back(failed=recorder.has_failed), *snapshot.restore()]
        modules, registered = [module for module, _ in tree.modules()], tree.registered_modules()
        paths = {id(module): path for module, path in tree.modules()}
        with quietly():
            recorder.close()
    for event in recorder.events():
        pass_on(event)
    for refusal in caught:
        pass_on(refusal)
    if lost:
        pass_on(ErrorEvent(message=f"a part of the model could not be put back as it was: {describe(lost[0])}"))
    if not recorder.has_failed and (options.verify or options.profile):
        as_it_was_run = functools.partial(
            _as_it_was_run, model, (args, kwargs), options, modules, registered, list(snapshot.written.values())
        )

        def run(mode: contextlib.AbstractContextManager[Any]) -> None:
            with as_it_was_run(), mode, let_through():
                model(*args, **kwargs)

        for event in _examined(replay([*events, DoneEvent()]), options, recipes, paths, modules, as_it_was_run, run):
            pass_on(event)
    pass_on(DoneEvent())
    return replay(events)


def _require_verifiable(model: nn.Module, options: TraceOptions) -> None:
    if options.verify and gathers(model):
        raise ConfigError(
            "a model whose parameters FSDP gathers cannot be verified: outside of its run they are not there",
            hint="verify the same model before it is sharded",
        )


def _recorder(
    tree: Tree, options: TraceOptions, gradients: GradientHooks | None, emit: Callable[[Event], None] | None
) -> Recorder:
    recorder = Recorder(
        tree,
        statistics=options.stats,
        emit=emit,
        on_exit=gradients.watch if gradients is not None else None,
        verify=options.verify,
    )
    recorder.observes_hooks = has_global_forward_hooks()
    return recorder


def _tell_before_changes(recorder: Recorder, snapshot: Snapshot) -> None:
    """What the recorder sees of what the run is about to change is kept, to be put back."""
    recorder.before_write = snapshot.before_write
    recorder.dataflow.on_constant = snapshot.keep_foreign
    recorder.before_backward = snapshot.before_backward
    recorder.on_new_module = snapshot.keep


@contextlib.contextmanager
def _as_it_was_run(
    model: nn.Module,
    arguments: Any,
    options: TraceOptions,
    modules: list[nn.Module],
    registered: list[nn.Module],
    written: list[torch.Tensor],
) -> Iterator[Snapshot]:
    """The model in the mode in which it was traced, without gradients; afterwards as it was.

    Args:
        written: what the traced run wrote into, and so will another, which nobody watches.
    """
    snapshot, gathered = Snapshot(modules, arguments), Gathered(modules)
    for tensor in written:
        snapshot.before_write(tensor)
    try:
        with torch.no_grad():
            _set_mode(model, options, registered)
            yield snapshot
    finally:
        gathered.put_back(failed=False)
        snapshot.restore()


def _examined(
    graph: Graph,
    options: TraceOptions,
    recipes: Recipes | None,
    paths: dict[int, str],
    modules: list[nn.Module],
    as_it_was_run: Callable[[], contextlib.AbstractContextManager[Snapshot]],
    run: Run,
) -> Iterator[Event]:
    """What further looks at the model that was traced bring: its steps run again, its calls measured."""
    if recipes is not None:
        with as_it_was_run() as snapshot, let_through():
            found = verified(graph, recipes, snapshot.before_write)
        yield VerifiedEvent(verification=found)
    if options.profile:
        cost = profiled(graph, run, paths, modules, device=options.device, counts_only=options.device == "fake")
        yield ProfiledEvent(profile=cost)


def _run(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TraceOptions,
    recorder: Recorder,
    snapshot: Snapshot,
    gradients: GradientHooks | None,
) -> None:
    """Run the model in its mode; what it raises is recorded, except that a person interrupts it."""
    grad = torch.enable_grad() if options.backward else torch.no_grad()
    try:
        with recorded_calls(recorder), grad:
            _set_mode(model, options, recorder.tree.registered_modules())
            with quietly():
                if gradients is not None:
                    args, kwargs = without_history((args, kwargs))
                recorder.register_parameters()
                _name_inputs(model, args, kwargs, recorder)
            with recorder.mode, let_through():
                result = model(*args, **kwargs)
            with quietly():
                recorder.outputs(result)
            if gradients is not None:
                _run_backward(result, recorder, snapshot, gradients)
    except BaseException as error:  # the door to the user's code: SystemExit too is a result of the run
        if is_interruption(error):
            raise
        recorder.failed(error)


stop_at.add(id(_run.__code__))


def _set_mode(model: nn.Module, options: TraceOptions, registered: list[nn.Module]) -> None:
    """Eval or train by the model's own method, which may keep parts as they are; nothing where it is so already."""
    training = options.mode == "train"
    if all(_is_training(module) is training for module in registered[: 1 if training else None]):
        return
    try:
        with let_through():
            model.train(training)
    except RAISED_BY_OTHERS:  # an own `train`, or modules without a hash: the flags say the same
        for module in registered:
            vars(module)["training"] = training


def _is_training(module: nn.Module) -> bool:
    """Its flag, past any property of the user's; a ScriptModule keeps it where `vars` does not show it."""
    if isinstance(module, torch.jit.ScriptModule):
        return bool(module.training)
    return bool(vars(module).get("training"))


def _run_backward(result: Any, recorder: Recorder, snapshot: Snapshot, gradients: GradientHooks) -> None:
    with quietly():
        loss = loss_of(result)
        if loss is None:
            return
        for leaf in leaves_of(loss):  # also those of the caller's that are no module's
            snapshot.keep_tensor(leaf)
        snapshot.set_gradients_aside()
        gradients.complete(result)
        gradients.observe = recorder.gradient
    recorder.in_backward = True
    try:
        with let_through():
            loss.backward()
    finally:
        recorder.in_backward = False
    with quietly():
        recorder.parameter_gradients()


def _name_inputs(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], recorder: Recorder) -> None:
    named: dict[int, tuple[torch.Tensor, str]] = {}
    for name, value in _named_arguments(model, args, kwargs):
        for place, tensor in tensors_in(value, name):
            named.setdefault(id(tensor), (tensor, place))
    for tensor, place in named.values():
        recorder.dataflow.bind(tensor, (f"input:{place}",))
    if recorder.recipes is not None:
        recorder.recipes.sources([(f"input:{place}", tensor) for tensor, place in named.values()])


def _named_arguments(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    names = Names(unwrapped(model))
    yield from ((names.of(position), value) for position, value in enumerate(args))
    yield from kwargs.items()


def _model_info(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TraceOptions,
    tree: Tree,
    info: ModelInfo | None,
) -> ModelInfo:
    kind = user_class(type(model))
    rank, world = place_in_world() or (None, None)
    with quietly():
        inputs = info.inputs if info is not None else ()
        if not inputs:
            inputs = tuple(model_input(name, value) for name, value in _named_arguments(model, args, kwargs))
        totals = tree.totals()
    if info is None:
        info = ModelInfo(name=kind.__name__, class_name=f"{kind.__module__}.{kind.__qualname__}", target=None)
    return replace(
        info,
        class_name=info.class_name or f"{kind.__module__}.{kind.__qualname__}",
        parameters=totals.parameters,
        trainable_parameters=totals.trainable,
        buffers=totals.buffers,
        inputs=inputs,
        hooks=global_hooks(),
        mode=options.mode,
        device=options.device,
        backward=options.backward,
        ranks=() if rank is None else (rank,),
        world_size=world,
    )
