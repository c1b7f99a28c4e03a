"""torch.onnx's export of a live model, with the call of a module that each of its nodes came from.

The names that the exporter gives its metadata, and those of onnxscript's passes, change from version to version: all of
them stand in this file and in `onnx_translations.py`. It runs in the worker, as the model's own code does, or where a
live model is exported.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from modgraph.errors import RAISED_BY_OTHERS, ExportError, InputError
from modgraph.export.onnx.cut import SCOPE, Place, Scope, scope_text
from modgraph.export.onnx.regroup import WEIGHT
from modgraph.export.onnx.translations import translations
from modgraph.export.onnx.verify import without_paths
from modgraph.options import OnnxOptions
from modgraph.source.quiet import literal_value

if TYPE_CHECKING:
    import onnx_ir as ir

FX_NODE = "node"
"""`Node.meta` of the exporter: the node of the exported program."""
NAME_SCOPES = "pkg.torch.onnx.name_scopes"
CLASS_HIERARCHY = "pkg.torch.onnx.class_hierarchy"
"""`Node.metadata_props` of the exporter, Python literals; the last entry is the exported program's node."""
MODULE_STACK = "nn_module_stack"
"""`fx.Node.meta`: {"L__self__layer.0@1": ("layer.0", "package.Class")}."""
NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
"""Class of a stack entry that is no module."""

MAX_TEXT = 500
"""Characters kept of what the exporter says."""


@dataclass(slots=True)
class Attempt:
    """One rung of the ladder that failed."""

    rung: str
    why: str


@dataclass(slots=True)
class FlatModel:
    """The export as it came, simplified."""

    model: ir.Model
    rung: str
    parameters: set[str]
    """Names of the initialisers that are the model's own parameters and buffers."""
    buffers: set[str]
    """Those that are buffers."""
    mutated: tuple[str, ...]
    """Buffers that the run writes into: no output of the file says so."""
    attempts: list[Attempt] = field(default_factory=list)


def capture_flat(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: OnnxOptions
) -> FlatModel:
    """The model as a flat ONNX model whose nodes say inside which calls they ran.

    Raises:
        ExportError: no rung of the ladder led to a model; the error says why of each.
    """
    _require_packages()
    attempts: list[Attempt] = []
    for rung, context in LADDER:
        program = _attempt(rung, context(model), attempts, lambda: _exported(model, args, kwargs, options))
        if program is not None:
            return replace(_flat(program, rung, model), attempts=attempts)
    causes = _distinct(attempts)
    if len(causes) == 1:
        raise ExportError(causes[0].why)
    raise ExportError("; ".join(f"{attempt.rung}: {attempt.why}" for attempt in causes))


def _attempt(
    rung: str,
    context: contextlib.AbstractContextManager[None],
    attempts: list[Attempt],
    export: Callable[[], torch.onnx.ONNXProgram],
) -> torch.onnx.ONNXProgram | None:
    """What `export` gives; None, and an entry of `attempts`, where it fails."""
    try:
        with _quiet(), torch.no_grad(), context:
            return export()
    except InputError:
        raise  # what was asked for cannot be, whatever the rung
    except RAISED_BY_OTHERS as error:  # whatever the exporter raises is the reason for the next rung
        attempts.append(Attempt(rung, cause_of(error)))
        return None


def _require_packages() -> None:
    missing = [name for name in ("onnx", "onnx_ir", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise ExportError(f'exporting a model that runs needs {", ".join(missing)}: pip install "modgraph[onnx]"')


def _distinct(attempts: list[Attempt]) -> list[Attempt]:
    seen: dict[str, Attempt] = {}
    for attempt in attempts:
        seen.setdefault(attempt.why, attempt)
    return list(seen.values())


def cause_of(error: BaseException) -> str:
    """What began it: the message on top only says which step failed. No path of this machine is in it."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {without_paths(lines[0] if lines else '')}"[:MAX_TEXT]


def _exported(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: OnnxOptions
) -> torch.onnx.ONNXProgram:
    from modgraph.tracing.dynamic import export_inputs

    given = export_inputs(model, args, dict(kwargs), options.dynamic)
    program = torch.onnx.export(
        model,
        given.args,
        kwargs=given.kwargs,
        dynamo=True,
        optimize=False,
        verbose=False,
        dynamic_shapes=given.shapes,
        custom_translation_table=translations(),
    )
    if program is None or program.exported_program is None:
        raise ExportError("torch.onnx gave no program")
    return program


@contextlib.contextmanager
def _plainly(_model: torch.nn.Module) -> Iterator[None]:
    yield


@contextlib.contextmanager
def _attention_as_formulas(_model: torch.nn.Module) -> Iterator[None]:
    """Attention as the products it is made of: some of the fused forms have strides that cannot be exported."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH]):
        yield


@contextlib.contextmanager
def _with_switches(model: torch.nn.Module) -> Iterator[None]:
    """Configurations that choose between implementations of one and the same layer: the one made of plain operators."""
    changed: list[tuple[Any, str, Any]] = []
    try:
        for module in model.modules():
            config = getattr(module, "config", None)
            for name, plain in SWITCHES.items():
                current = getattr(config, name, None)
                if isinstance(current, str) and current != plain:
                    changed.append((config, name, current))
                    setattr(config, name, plain)
        with _attention_as_formulas(model):
            yield
    finally:
        for config, name, current in reversed(changed):
            setattr(config, name, current)


SWITCHES = {"_attn_implementation": "eager", "_experts_implementation": "batched_mm"}
"""Fields of a `config` that some libraries' modules share, and the value that only plain operators come of."""

LADDER: tuple[tuple[str, Callable[[torch.nn.Module], contextlib.AbstractContextManager[None]]], ...] = (
    ("plain", _plainly),
    ("attention as formulas", _attention_as_formulas),
    ("plain implementations", _with_switches),
)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's advice, which is about its own options."""
    names = ("torch.onnx", "torch.export", "torch.fx", "torch._dynamo", "onnxscript", "onnx_ir")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _flat(program: torch.onnx.ONNXProgram, rung: str, live: torch.nn.Module) -> FlatModel:
    import onnx_ir.passes.common as passes

    exported = program.exported_program
    assert exported is not None
    signature = exported.graph_signature
    stacks = {node.name: node.meta.get(MODULE_STACK) for node in exported.graph.nodes}
    model: ir.Model = program.model
    if model.functions:
        passes.InlinePass()(model)
    parameters, buffers = name_weights(model.graph, live)
    parameters |= {*signature.inputs_to_parameters.values(), *signature.inputs_to_buffers.values()}
    buffers |= set(signature.inputs_to_buffers.values())
    _without_values(model, parameters)
    scopes: dict[str, Scope] = {}
    for node in model.graph:
        scope = node_scope(node, stacks)
        if scope is None:
            continue
        node.metadata_props[SCOPE] = scope_text(scope)
        scopes.update((value.name, scope) for value in node.outputs if value.name)
    inputs = [(value, value.name) for value in model.graph.inputs]
    with _quiet():
        simplify(model, parameters)
    _complete_scopes(model.graph, scopes)
    _name_inputs(model.graph, inputs)
    _name_outputs(model.graph, exported)
    _strip(model)
    mutated = tuple(sorted(set(signature.buffers_to_mutate.values())))
    return FlatModel(model, rung, parameters, buffers, mutated)


def name_weights(graph: ir.Graph, live: torch.nn.Module) -> tuple[set[str], set[str]]:
    """Call the initialisers that hold parameters and buffers of `live` as `live` does, whatever the exporter says.

    Returns:
        The names of those initialisers, and which of them are buffers.
    """
    names: dict[Any, list[str]] = {}
    own_buffers = {name for name, _ in live.named_buffers(remove_duplicate=False)}
    for name, tensor in (
        *live.named_parameters(remove_duplicate=False),
        *live.named_buffers(remove_duplicate=False),
    ):
        names.setdefault(_identity(tensor), []).append(name)
    found = set()
    for said, value in list(graph.initializers.items()):
        tensor = getattr(value.const_value, "raw", None)
        known = names.get(_identity(tensor)) if isinstance(tensor, torch.Tensor) else None
        if known is None:
            continue
        free = [name for name in known if name not in graph.initializers]
        if said not in known and free:
            del graph.initializers[said]
            value.name = free[0]
            graph.initializers[free[0]] = value
        found.add(value.name or "")
    return found, found & own_buffers


def _identity(tensor: torch.Tensor) -> Any:
    """The same for two tensors that are one and the same memory, also where that holds no values."""
    try:
        storage = tensor.untyped_storage()._cdata
    except NotImplementedError:  # a layout without a storage
        return id(tensor)
    return storage, tensor.storage_offset(), tuple(tensor.shape), tensor.dtype


def _name_outputs(graph: ir.Graph, exported: torch.export.ExportedProgram) -> None:
    """Call the outputs after their places in what `forward` returns: "output", "output.1", "logits"."""
    import onnx_ir

    spec, given = exported.call_spec.out_spec, exported.graph_signature.user_outputs
    places = [place for place, what in enumerate(given) if isinstance(what, str)]
    if spec is None or spec.num_leaves != len(given) or len(places) != len(graph.outputs):
        return
    paths = [path for path, _ in _pytree.tree_flatten_with_path(_pytree.tree_unflatten(list(given), spec))[0]]
    taken = {value.name for value in (*graph.inputs, *graph.initializers.values())}
    for number, place in enumerate(places):
        name, value = output_name(paths[place]), graph.outputs[number]
        while name in taken:
            name = f"output.{name}"
        if value.producer() is None:  # a weight, whose name is its own
            node = onnx_ir.node("Identity", [value])
            node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
            graph.append(node)
            graph.outputs[number] = value = node.outputs[0]
        _give_name(graph, value, name)
        taken.add(name)


def _name_inputs(graph: ir.Graph, own: Sequence[tuple[ir.Value, str | None]]) -> None:
    """Give inputs their own names back: simplifying calls one that is an output too "x_orig"."""
    for value, name in own:
        if name:
            _give_name(graph, value, name)


def _give_name(graph: ir.Graph, value: ir.Value, name: str) -> None:
    """Call `value` so, and something else what a node inside made under that name: the names of those are nobody's."""
    if value.name == name:
        return
    made = {other.name: other for node in graph.all_nodes() for other in node.outputs if other.name}
    if name in made:
        taken = {*made, *graph.initializers, *(given.name for given in graph.inputs)}
        made[name].name = next(free for count in itertools.count(2) if (free := f"{name}_{count}") not in taken)
    value.name = name


def output_name(path: tuple[Any, ...]) -> str:
    """What a place in the result of `forward` is called."""
    name = re.sub(r"[^\w.]+", ".", _pytree.keystr(path)).strip(".")
    return name if name and not name[0].isdigit() else f"output.{name}".rstrip(".")


def _without_values(model: ir.Model, parameters: set[str]) -> None:
    """Make graph inputs of the parameters that have no values: fake and meta ones."""
    graph = model.graph
    for name, value in list(graph.initializers.items()):
        tensor = getattr(value.const_value, "raw", None)
        if not isinstance(tensor, torch.Tensor) or not is_hollow(tensor):
            continue
        if name not in parameters:
            raise ExportError(f"{name} is a tensor without values, and is neither a parameter nor a buffer")
        del graph.initializers[name]
        value.const_value = None
        value.metadata_props[WEIGHT] = "true"
        graph.inputs.append(value)


def is_hollow(tensor: torch.Tensor) -> bool:
    """Whether it has a shape and no values."""
    from torch._subclasses.fake_tensor import FakeTensor

    return tensor.device.type == "meta" or isinstance(tensor, FakeTensor)


def node_scope(node: ir.Node, stacks: Mapping[str, Any]) -> Scope | None:
    """The calls in which `node` ran, the model's own left out; None where nothing tells."""
    fx_node = node.meta.get(FX_NODE)
    stack = getattr(fx_node, "meta", {}).get(MODULE_STACK)
    names = _literal(node.metadata_props.get(NAME_SCOPES))
    if stack is None and names:
        stack = stacks.get(names[-1])
    if stack is not None:
        return places_of(stack)
    classes = _literal(node.metadata_props.get(CLASS_HIERARCHY))
    if not names or len(names) != len(classes):
        return None
    pairs = [(path_in_model(name), kind) for name, kind in zip(names, classes, strict=True)][:-1]
    return tuple(Place(name, 0, kind) for name, kind in pairs if name and not kind.endswith(NO_MODULE))


def path_in_model(path: str) -> str:
    """A path as the exporter gives it: the strict one begins at the bound `forward` that it was handed, so that the
    module "a" is "forward.__closure__[0].cell_contents.__self__.a" (torch 2.9 and later)."""
    return path.rpartition("__self__")[2].removeprefix(".") if "__self__" in path else path


def places_of(stack: Mapping[str, tuple[str, Any]]) -> Scope:
    """The module stack of a node of an exported program; its keys count the calls, which its values do not."""
    places = []
    for key, (path, kind) in stack.items():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        path = path_in_model(path)
        if not path or name.endswith(NO_MODULE):
            continue
        count = re.search(r"@(\d+)$", key)
        places.append(Place(path, int(count[1]) if count else 0, name))
    return tuple(places)


def _literal(text: str | None) -> list[str]:
    try:
        found = literal_value(text or "[]")
    except (ValueError, SyntaxError):
        return []
    return [str(entry) for entry in found] if isinstance(found, list) else []


def simplify(model: ir.Model, parameters: set[str]) -> None:
    """Fold what is constant without any parameter, and drop what nobody reads; nothing is joined across modules."""
    import onnx_ir.passes.common as passes
    from onnxscript.optimizer._constant_folding import FoldConstantsPass

    def should_fold(node: ir.Node) -> bool | None:
        if node.op_type in ("Shape", "Size"):
            return None
        reads = (value.name for value in node.inputs if value is not None)
        return False if any(name in parameters for name in reads) else None

    FoldConstantsPass(shape_inference=True, input_size_limit=8192, output_size_limit=8192, should_fold=should_fold)(
        model
    )
    passes.RemoveUnusedNodesPass()(model)
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    passes.LiftSubgraphInitializersToMainGraphPass()(model)
    passes.RemoveUnusedNodesPass()(model)
    passes.RemoveUnusedOpsetsPass()(model)
    passes.OutputFixPass()(model)
    passes.NameFixPass()(model)


def _complete_scopes(graph: ir.Graph, scopes: Mapping[str, Scope]) -> None:
    """Scopes for the nodes that simplifying made: of the value they give, else of who reads it."""
    for node in reversed(list(graph)):
        if SCOPE in node.metadata_props:
            continue
        known = [scopes[value.name] for value in node.outputs if value.name in scopes]
        if known:
            node.metadata_props[SCOPE] = scope_text(known[0])
            continue
        readers = [use.node.metadata_props.get(SCOPE) for value in node.outputs for use in value.uses()]
        node.metadata_props[SCOPE] = next((text for text in readers if text), "[]")


def _strip(model: ir.Model) -> None:
    """Leave nothing of the exporter's notes, which hold paths and source text of this machine."""
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    model.graph.doc_string = model.doc_string = None
    values = [*model.graph.inputs, *model.graph.initializers.values()]
    for node in model.graph.all_nodes():
        scope = node.metadata_props.get(SCOPE)
        node.metadata_props.clear()
        node.doc_string = None
        if scope is not None:
            node.metadata_props[SCOPE] = scope
        values.extend(node.outputs)
    for value in values:
        is_weight = value.metadata_props.get(WEIGHT)
        value.metadata_props.clear()
        if is_weight is not None:
            value.metadata_props[WEIGHT] = is_weight
