"""A live module -> its `ModuleNode`s: the registered tree, the modules hidden from it, and those met during the run.

Every walk iterates, as a tree may be thousands deep, and compares modules by `is`: some have no hash, some are falsy.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modgraph.graph.model import BufferInfo, ModuleNode, ParameterInfo, SourceLocation
from modgraph.graph.paths import parameter_path
from modgraph.graph.torch_classes import torch_base
from modgraph.tracing.basics.hooks import extra_state_of, hooks_of, saves_its_own
from modgraph.tracing.basics.members import registered_modules
from modgraph.tracing.basics.parameters import parameters_of
from modgraph.tracing.basics.sharding import (
    FlatParameter,
    flat_parameters,
    in_original_order,
    is_row,
    sharding_of,
    user_class,
    wrappers_of,
)
from modgraph.tracing.basics.sites import class_location
from modgraph.tracing.basics.tensors import dtype_name, quietly, shape_of
from modgraph.tracing.recording.hidden import Walks

MAX_ALIASES = 20_000
"""Nodes listed under a second name; a few modules that share each other can have exponentially many."""
MAX_LITERAL = 64
"""Elements of a constructor argument that is a list or dict."""


class Totals(NamedTuple):
    """Numbers of elements; None where a lazy parameter has no size yet."""

    parameters: int | None
    trainable: int | None
    buffers: int


class Tree:
    """The modules of one model, by identity; holds a reference to each, so that none's `id` is used again."""

    def __init__(self, model: nn.Module) -> None:
        self.nodes: list[ModuleNode] = []
        self.known: dict[int, tuple[nn.Module, str]] = {}
        """Each module met, with its first path, by `id`."""
        self._walks = Walks()
        self._stores: dict[int, _Held] = {}
        self._ids: dict[int, list[tuple[str, list[int]]]] = {}
        self._taken: set[str] = set()
        self._unregistered: set[str] = set()
        self._tensor_paths: dict[int, tuple[torch.Tensor, str]] = {}
        self._fresh_tensors: list[tuple[str, torch.Tensor]] = []
        self._constructors: dict[type, Mapping[str, Any]] = {}
        self._classes: dict[type, SourceLocation | None] = {}
        self._fresh_classes: list[type] = []
        self._n_made: dict[str, int] = {}
        self._n_aliases = 0
        self._n_registered = 0
        self._flat: dict[int, list[FlatParameter]] = {}
        self._flat_paths: dict[tuple[int, int], str] = {}
        self._lazy: list[nn.Module] = []
        """Lazy modules that the run has given their sizes."""
        with quietly():
            self._flat = flat_parameters(module for _, module in registered_modules(model))
            self._grow(model, "", registered=True)

    def path_of(self, module: nn.Module) -> str | None:
        """First path of a known module."""
        known = self.known.get(id(module))
        return known[1] if known is not None else None

    def modules(self) -> list[tuple[nn.Module, str]]:
        """Every module known by now, once, with its first path."""
        return list(self.known.values())

    def has_its_tensors(self, module: nn.Module) -> bool:
        """Whether a known module still has the parameters, buffers and plain tensors that it was met with."""
        state = module.__dict__
        for store, before in self._ids[id(module)]:
            if list(map(id, state[store].values() if store else _plain_tensors(state))) != before:
                return False
        return True

    def tensors_of(self, module: nn.Module) -> list[torch.Tensor]:
        """The parameters, buffers and plain tensors that a known module was met with."""
        return [tensor for _, held in self._stores[id(module)] for _, tensor in held if tensor is not None]

    def take_again(self, module: nn.Module) -> list[tuple[str, torch.Tensor]]:
        """A known module was given other tensors in the place of its own, which are its own from now on: the whole of
        what is spread over processes. Gives its parameters by their paths."""
        held = self._stores[id(module)] = _held_tensors(module)
        self._ids[id(module)] = [(store, [id(tensor) for _, tensor in pairs]) for store, pairs in held]
        path = self.known[id(module)][1]
        names = {*_store(module, "_parameters"), *(flat.name for flat in self._flat.get(id(module), ()))}
        return [
            (parameter_path(path, name), tensor)
            for store, pairs in held
            for name, tensor in pairs
            if tensor is not None and store != "_buffers" and name in names
        ]

    def initialised(self, module: nn.Module) -> list[tuple[str, torch.Tensor]]:
        """A lazy module has its parameters and buffers now: gives them by their first paths."""
        if id(module) not in self.known:
            return []
        self._lazy.append(module)
        self.take_again(module)
        path = self.known[id(module)][1]
        return [
            (self._tensor_paths.setdefault(id(tensor), (tensor, parameter_path(path, name)))[1], tensor)
            for store in ("_parameters", "_buffers")
            for name, tensor in _store(module, store).items()
            if tensor is not None and not is_lazy(tensor)
        ]

    def sized(self) -> list[ModuleNode]:
        """The nodes of lazy modules that have been given their sizes, as they are now."""
        lazy = {self.known[id(module)][1]: module for module in self._lazy}
        found = []
        with quietly():
            for number, node in enumerate(self.nodes):
                module = lazy.get(node.alias_of or node.path)
                if module is not None:
                    now = self._node(module, node.path, node.registered, node.alias_of)
                    was = node.class_name if now.class_name != node.class_name else None
                    now = replace(now, made_in_forward=node.made_in_forward, lazy_class=was)
                    self.nodes[number] = now
                    found.append(now)
            self.new_tensors()
        return found

    def registered_modules(self) -> list[nn.Module]:
        """The modules of the registered tree, each once."""
        return [module for module, _ in self.modules()[: self._n_registered]]

    def discover(self, module: nn.Module, caller: nn.Module | None) -> tuple[list[ModuleNode], list[nn.Module]]:
        """A module that stood in no known place before the run, called by `caller`.

        It has the name under which `caller` registers it by now; else it is named by class and order:
        "encoder.<Linear>[0]". Gives the nodes and modules that are new with it.
        """
        below = (self.path_of(caller) if caller is not None else None) or ""
        start, n_known = len(self.nodes), len(self.known)
        with quietly():
            name = _name_registered(caller, module)
            path = f"{below}.{name}" if below and name else name
            if path is not None and path not in self._taken:
                self._grow(module, path, registered=True)
            else:
                self._grow(module, self._invented(module, below), registered=False)
        fresh = [replace(node, made_in_forward=True) for node in self.nodes[start:]]
        self.nodes[start:] = fresh
        latest = itertools.islice(reversed(self.known.values()), len(self.known) - n_known)
        return fresh, [found for found, _ in latest]

    def _invented(self, module: nn.Module, below: str) -> str:
        name = f"<{type(module).__name__}>"
        base = f"{below}.{name}" if below else name
        number = self._n_made[base] = self._n_made.get(base, -1) + 1
        return f"{base}[{number}]"

    def totals(self) -> Totals:
        """Elements of all registered tensors, as `parameters()` gives them: each once, however many names it has."""
        parameters = trainable = buffers = 0
        known = True
        counted: set[int] = set()
        modules = self.registered_modules()
        held = [(tensor, True) for module in modules for tensor in _store(module, "_parameters").values()]
        held += [(tensor, False) for module in modules for tensor in _store(module, "_buffers").values()]
        rows: dict[tuple[int, int], FlatParameter] = {}
        for module in modules:
            for flat in self._flat.get(id(module), ()):
                rows[id(flat.row), flat.position] = flat
                counted.update({id(flat.row), id(_store(module, "_parameters").get(flat.name))})
        parameters += sum(math.prod(flat.shape) for flat in rows.values())
        trainable += sum(math.prod(flat.shape) for flat in rows.values() if flat.trainable)
        for tensor, is_parameter in held:
            if tensor is None or id(tensor) in counted:
                continue
            counted.add(id(tensor))
            if is_lazy(tensor):
                known = known and not is_parameter
            elif is_parameter:
                parameters += tensor.numel()
                trainable += tensor.numel() if tensor.requires_grad else 0
            else:
                buffers += tensor.numel()
        return Totals(parameters, trainable, buffers) if known else Totals(None, None, buffers)

    def new_classes(self) -> list[type]:
        """Classes of modules met since the last time this was asked."""
        fresh, self._fresh_classes = self._fresh_classes, []
        return fresh

    def new_tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Parameters and buffers, each by its first path, met since the last time this was asked."""
        fresh, self._fresh_tensors = self._fresh_tensors, []
        return fresh

    def parameters(self) -> list[tuple[str, torch.Tensor]]:
        """Every parameter by its first path."""
        return [(path, tensor) for tensor, path in self._tensor_paths.values() if isinstance(tensor, nn.Parameter)]

    def release(self) -> None:
        """Let go of the modules and tensors; `nodes` stay."""
        self.known.clear()
        self._stores.clear()
        self._lazy.clear()
        self._ids.clear()
        self._walks = Walks()
        self._tensor_paths.clear()
        self._fresh_tensors.clear()
        self._classes.clear()
        self._constructors.clear()
        self._fresh_classes.clear()

    def _grow(self, module: nn.Module, path: str, *, registered: bool) -> None:
        """Add `module`, all that is registered below it, and what these hide."""
        added = self._add_subtree(module, path, registered)
        self._n_registered = self._n_registered or len(added)
        for holder, holder_path in added:  # grows while it is read: a hidden module may hide others
            for place, held in self._walks.held_modules(holder):
                where = f"{holder_path}.{place}" if holder_path else place
                known = self.path_of(held)
                if known is None:
                    added += self._add_subtree(held, where, registered=False)
                elif known in self._unregistered and known != where:
                    self._add_subtree(held, where, registered=False)

    def _add_subtree(self, module: nn.Module, path: str, registered: bool) -> list[tuple[nn.Module, str]]:
        """Add the module and its registered descendants, depth first; those that were not known are returned."""
        added: list[tuple[nn.Module, str]] = []
        pending: list[tuple[nn.Module | None, str, bool, frozenset[int] | None]] = [(module, path, registered, None)]
        while pending:
            child, where, is_registered, aliased = pending.pop()
            where = self._unique(where)
            if child is None:
                self.nodes.append(
                    ModuleNode(path=where, class_name="NoneType", observed=True, registered=is_registered)
                )
                continue
            first = self.path_of(child)
            if first is None:
                self.known[id(child)] = (child, where)
                added.append((child, where))
                held = self._stores[id(child)] = _held_tensors(child)
                self._ids[id(child)] = [(store, [id(tensor) for _, tensor in pairs]) for store, pairs in held]
                if is_registered:
                    self._walks.registered.add(id(child))
                else:
                    self._unregistered.add(where)
            else:
                self._n_aliases += 1
                if self._n_aliases > MAX_ALIASES:
                    continue
            self.nodes.append(self._node(child, where, is_registered, first))
            if aliased is not None and id(child) in aliased:
                continue  # a module below itself
            below = None if first is None and aliased is None else (aliased or frozenset()) | {id(child)}
            if first is not None and self._is_above(where, first):
                continue
            children = list(_store(child, "_modules").items())
            pending.extend(
                (grandchild, f"{where}.{name}" if where else str(name), True, below)
                for name, grandchild in reversed(children)
            )
        return added

    @staticmethod
    def _is_above(path: str, first: str) -> bool:
        """Whether `first` is the path of something above `path`."""
        return first == "" or path.startswith((f"{first}.", f"{first}["))

    def _unique(self, path: str) -> str:
        while path in self._taken:
            path += "'"
        self._taken.add(path)
        return path

    def _node(self, module: nn.Module, path: str, registered: bool, alias_of: str | None) -> ModuleNode:
        kind = user_class(type(module))
        if kind not in self._classes:
            self._classes[kind] = class_location(kind)
            self._constructors[kind] = _constructor_defaults(kind)
            self._fresh_classes.append(kind)
        return ModuleNode(
            path=path,
            class_name=f"{kind.__module__}.{kind.__qualname__}",
            observed=True,
            registered=registered,
            alias_of=alias_of,
            parameters=tuple(self._parameters(module, path)),
            buffers=tuple(self._buffers(module, path)),
            hooks=hooks_of(module),
            arguments=constructor_arguments(module, self._constructors[kind]),
            source=self._classes[kind],
            own_state_dict=saves_its_own(module),
            extra_state=extra_state_of(module),
            torch_base=torch_base([f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__]),
            wrappers=wrappers_of(type(module)),
        )

    def _parameters(self, module: nn.Module, path: str) -> Iterator[ParameterInfo]:
        registered = _store(module, "_parameters")
        flat = self._flat.get(id(module), ())
        laid_in_rows = {one.name for one in flat}
        yield from (
            self._flat_parameter(one, path) for one in in_original_order([name for name, _ in registered.items()], flat)
        )
        for name, parameter in registered.items():
            if parameter is not None and name not in laid_in_rows and not is_row(parameter):
                shape, dtype, alias_of = self._describe(parameter, path, name)
                yield ParameterInfo(
                    name=name,
                    shape=shape,
                    dtype=dtype,
                    trainable=parameter.requires_grad,
                    alias_of=alias_of,
                    sharding=sharding_of(parameter),
                )

    def _flat_parameter(self, flat: FlatParameter, path: str) -> ParameterInfo:
        full = parameter_path(path, flat.name)
        first = self._flat_paths.setdefault((id(flat.row), flat.position), full)
        return ParameterInfo(
            name=flat.name,
            shape=flat.shape,
            dtype=dtype_name(flat.dtype),
            trainable=flat.trainable,
            alias_of=None if first == full else first,
            sharding=flat.sharding,
        )

    def _buffers(self, module: nn.Module, path: str) -> Iterator[BufferInfo]:
        transient = module.__dict__.get("_non_persistent_buffers_set", ())
        for name, buffer in _store(module, "_buffers").items():
            if buffer is not None:
                shape, dtype, alias_of = self._describe(buffer, path, name)
                persistent = name not in transient
                spread = sharding_of(buffer)
                yield BufferInfo(
                    name=name, shape=shape, dtype=dtype, persistent=persistent, alias_of=alias_of, sharding=spread
                )

    def _describe(self, tensor: torch.Tensor, path: str, name: str) -> tuple[Any, str, str | None]:
        full = f"{path}.{name}" if path else name
        first = self._tensor_paths.setdefault(id(tensor), (tensor, full))[1]
        if first == full:
            self._fresh_tensors.append((full, tensor))
        shape = None if is_lazy(tensor) or tensor.is_nested else shape_of(tensor.shape)
        return shape, dtype_name(tensor.dtype), None if first == full else first


_Held = tuple[tuple[str, tuple[tuple[str, "torch.Tensor | None"], ...]], ...]
"""Names and tensors by the attribute that is their mapping; "" for those that are attributes themselves."""


def _held_tensors(module: nn.Module) -> _Held:
    held = [(store, tuple(_store(module, store).items())) for store in ("_parameters", "_buffers")]
    held.append(
        ("", tuple((name, value) for name, value in vars(module).items() if issubclass(type(value), torch.Tensor)))
    )
    return tuple(pair for pair in held if pair[1])


def _plain_tensors(state: dict[str, Any]) -> list[torch.Tensor]:
    return [value for value in state.values() if isinstance(value, torch.Tensor)]


def _name_registered(parent: nn.Module | None, module: nn.Module) -> str | None:
    """The name under which `parent` registers `module`."""
    children = _store(parent, "_modules") if parent is not None else {}
    return next((name for name, child in children.items() if child is module), None)


def _store(module: nn.Module, name: str) -> Any:
    """The mapping `_modules`, `_parameters` or `_buffers`; empty where `Module.__init__` has not run."""
    state = module.__dict__
    if "_actual_script_module" in state:  # of jit.trace: its own mappings are those of the script that it made
        state = vars(state["_actual_script_module"])
    store = state.get(name) or {}
    # By `items`: the mapping of a scripted module has no other way to go through it.
    if any(isinstance(key, str) and type(key) is not str for key, _ in store.items()):
        # A member of an Enum of strings: torch joins names as the text that it is, whatever it is shown as.
        return {str.__str__(key) if isinstance(key, str) else key: held for key, held in store.items()}
    return store


def constructor_arguments(module: nn.Module, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `__init__` that the instance still shows: attributes of the same name that hold plain literals.

    Those that equal the default are left out, as in the prediction. `defaults` are those of `__init__`, by parameter.
    A flag that is named for a tensor (`bias`) is told by whether there is one.
    """
    state = module.__dict__
    tensors = state.get("_parameters")
    found: dict[str, Any] = {}
    for name, default in defaults.items():
        if name in state and name not in _MODULE_STATE:
            literal = _literal(state[name])
            if literal is not _NOT_LITERAL and not _is_default(state[name], default):
                found[name] = literal
        elif isinstance(default, bool) and isinstance(tensors, dict) and name in tensors:
            is_there = tensors[name] is not None
            found |= {name: is_there} if is_there is not default else {}
    return found


def _is_default(value: Any, default: Any) -> bool:
    """Equal to the default, and of its type: 1 is neither True nor 1.0. `value` is a plain literal."""
    return type(value) is type(default) and bool(value == default)


def _constructor_defaults(kind: type) -> Mapping[str, Any]:
    return {name: default for name, _, default in parameters_of(kind.__init__)}  # type: ignore[misc]


_NOT_LITERAL = object()
_MODULE_STATE = frozenset(vars(nn.Module()))


def _literal(value: Any, depth: int = 0) -> Any:
    """`value` as a JSON value, or `_NOT_LITERAL`."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$repr": repr(value)}
    if issubclass(type(value), torch.dtype | torch.device):
        return {"$repr": str(value)}
    if issubclass(type(value), type | types.FunctionType | types.BuiltinFunctionType):
        return {"$ref": f"{value.__module__}.{value.__qualname__}"}
    if depth > 3:
        return _NOT_LITERAL
    if type(value) in (list, tuple, torch.Size) and len(value) <= MAX_LITERAL:
        items = [_literal(item, depth + 1) for item in value]
        return _NOT_LITERAL if any(item is _NOT_LITERAL for item in items) else items
    if type(value) is dict and len(value) <= MAX_LITERAL and all(type(key) is str for key in value):
        entries = {key: _literal(item, depth + 1) for key, item in value.items()}
        return _NOT_LITERAL if any(item is _NOT_LITERAL for item in entries.values()) else entries
    return _NOT_LITERAL
