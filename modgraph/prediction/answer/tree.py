"""The final heap -> Graph: the registered tree depth first, then what its modules hide, each in registration order.

What is not known stands in the graph as such, with its problem: a child of a known name with an unknown class, whether
it certainly exists or only may, and one place ".?" per module under which further children may stand. Every walk
iterates: a tree may be thousands deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from modgraph.errors import TargetError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    IN_ANY_ORDER,
    MAY_HIDE,
    NOT_BUILT,
    BufferInfo,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    SourceLocation,
)
from modgraph.graph.torch_classes import torch_base
from modgraph.names import last_name
from modgraph.prediction.answer.argument_literals import (
    Defaults,
    Known,
    arguments_of,
    defaults_of,
    unknown_arguments,
)
from modgraph.prediction.answer.causes import Told, told_once
from modgraph.prediction.answer.hidden_modules import HeldModules
from modgraph.prediction.answer.totals import Totals
from modgraph.prediction.answer.wording import worded
from modgraph.prediction.domain.endings import attempt, is_ending, reason_of
from modgraph.prediction.domain.limits import MAX_NODES, MAX_PATH_TEXT, MAX_TENSOR_SIZE, MAX_TREE_WORK
from modgraph.prediction.domain.objects import ClassObject, ModuleObject, TensorObject
from modgraph.prediction.domain.points_to import objects_of
from modgraph.prediction.domain.values import NONE, OPEN, Address, Choice, ClassValue, KnownClass, Unknown, Value
from modgraph.prediction.knowledge.torch.state_dicts import extra_state_of, saves_its_own
from modgraph.prediction.paths.joining import description
from modgraph.prediction.python.orders import STORES
from modgraph.source.reached import root_of, telling

if TYPE_CHECKING:
    from modgraph.prediction.entry import Prediction
    from modgraph.source.targets import Target

MAX_ALIASES = 20_000
"""Nodes listed under a second name; a few modules that share each other can have exponentially many."""


UNITS_OF_A_NODE, CHARACTERS_OF_A_UNIT = 30, 10
"""Units of work that a node takes, and how much of its path is written in one."""


Extend: TypeAlias = Callable[[GraphBuilder, Mapping[Address, str], Mapping[Address, str]], None]
"""Adds to a graph that has its tree, given where each module stands first, or may stand, and each parameter and buffer
stands first."""


def build_graph(prediction: Prediction, target: Target, extend: Extend | None = None) -> Graph:
    """The graph of what a prediction left, `predicted=True` throughout.

    Raises:
        TargetError: what was asked for is certainly no module.
    """
    root = prediction.root
    if prediction.failure is None and not _may_be_module(prediction, root):
        cls = prediction.machine.class_of(root)
        kind = getattr(cls, "name", "a plain value")
        unknown = [base for base in prediction.machine.mro(cls) if isinstance(base, Unknown)]
        if unknown:
            raise TargetError(
                f"it is not known whether {kind}, which {target.text} gives, is an nn.Module: {unknown[0].reason}"
            )
        raise TargetError(
            f"{target.text} gives {kind.removeprefix('builtins.')}, not an nn.Module",
            hint="name a class, an instance, or a function that returns the model",
        )
    name = last_name(target.name)
    machine = prediction.machine
    machine.finish()
    try:
        return _graph(prediction, target, name, extend)
    except Exception as error:
        if machine.strict and not is_ending(error):
            raise
        return nothing_known(name, reason_of(error), class_name=None)


def nothing_known(name: str, reason: str, class_name: str | None) -> Graph:
    """A root of which nothing but the class may be known."""
    builder = GraphBuilder(ModelInfo(name=name, class_name=class_name, target=None))
    builder.modules = [
        ModuleNode(path="", class_name=class_name, predicted=True),
        ModuleNode(path="?", class_name=None, predicted=True),
    ]
    builder.problems = [Problem(stage="predict", message=reason, module="")]
    return builder.build()


def _graph(prediction: Prediction, target: Target, name: str, extend: Extend | None) -> Graph:
    tree = _Tree(prediction)
    tree.grow(prediction.root)
    tree.add_troubles()
    totals = Totals.of(tree.state, tree.registered)
    if tree.has_choices or any(node.class_name is None and node.registered for node in tree.nodes):
        totals = Totals(None, None, None)
    info = ModelInfo(
        name=name,
        class_name=tree.nodes[0].class_name,
        target=target.text,
        parameters=totals.parameters,
        trainable_parameters=totals.trainable,
        buffers=totals.buffers,
    )
    builder = GraphBuilder(info)
    builder.modules.extend(tree.nodes)
    builder.problems.extend(told_once(tree.found, {node.path for node in tree.nodes}))
    if extend is not None:
        extend(builder, tree.possible_paths(), tree.tensor_paths)
    return builder.build()


def _may_be_module(prediction: Prediction, value: Value) -> bool:
    if isinstance(value, (Unknown, Choice)):
        return not (isinstance(value, Unknown) and value.inert)
    return prediction.machine.state.find(value, ModuleObject) is not None


@dataclass
class _Entry:
    """One place still to be added."""

    value: Value
    path: str
    registered: bool
    parent: str | None
    above: tuple[Value, ...] = ()
    """Modules between the first alias and here, and choices of modules; one of them below itself ends the walk."""


@dataclass
class _Tree:
    """Nodes and problems, as they are found."""

    prediction: Prediction
    nodes: list[ModuleNode] = field(default_factory=list)
    found: list[Told] = field(default_factory=list)
    first_paths: dict[Address, str] = field(default_factory=dict)
    registered: list[Address] = field(default_factory=list)
    """Modules of the registered tree, each once: what the totals count."""

    def __post_init__(self) -> None:
        self.state = self.prediction.machine.state
        self.held = HeldModules(self.prediction.machine)
        self.tensor_paths: dict[Address, str] = {}
        self.taken: set[str] = set()
        self.places: dict[str, SourceLocation | None] = {}
        """By path of a module: where it is made, outside of torch."""
        self.known_arguments: Known = {}
        self.known_defaults: Defaults = {}
        self.unregistered: set[str] = set()
        self.n_aliases = 0
        self.path_text = 0
        self.has_choices = False
        """Of the registered tree: some modules may stand in it at another place too."""
        self.in_doubt: list[tuple[str, Unknown | Choice]] = []
        """Children of which it is not known which module they are, or whether there is one."""
        self.told: set[Problem] = set()
        self.doubts: set[tuple[str, str, SourceLocation | None]] = set()
        self.perhaps_registered: dict[Address, Unknown | Choice] = {}
        """Modules that one of several children may be, of which only what they have in common is told."""

    def grow(self, root: Value) -> None:
        """Add the root, all that is registered below it, and what these hide."""
        holders = self._add_subtree(_Entry(root, "", True, None))
        self.registered = list(holders)
        for holder in holders:  # grows while it is read: a hidden module may hide others
            above = self.first_paths[holder]
            for place, held, doubt in self.held.all_of(holder):
                where = f"{above}.{place}" if above else place
                known = None if held is None else self.first_paths.get(held)
                if known is not None and known not in self.unregistered:
                    continue
                if known is None and held is not None:
                    doubt = doubt or self.perhaps_registered.get(held)
                if held is None or doubt is not None:
                    self._add_doubt(above, place, doubt or Unknown("it is not known which"))
                elif known is None:
                    holders += self._add_subtree(_Entry(held, where, False, above))
                elif known != where:
                    self._add_subtree(_Entry(held, where, False, above))

    def possible_paths(self) -> Mapping[Address, str]:
        """Where each module stands first; of one that a child may be, and of those below it, where they then stand."""
        found: dict[Address, str] = {}
        for place, value in self.in_doubt:
            pending = [(Address(index), place) for index in sorted(objects_of((value,)))]
            while pending:
                address, path = pending.pop()
                module = self.state.find(address, ModuleObject)
                if module is None or address in found or address in self.first_paths:
                    continue
                found[address] = path
                pending += [
                    (child, f"{path}.{name}")
                    for name, child in module.modules.items()
                    if isinstance(child, Address) and name != OPEN
                ]
        return {**found, **self.first_paths}

    def _add_doubt(self, path: str, place: str, why: Unknown | Choice) -> None:
        """Modules that are hidden on some paths only: one problem for each module and reason."""
        if (path, why.reason, why.where) not in self.doubts:
            self.doubts.add((path, why.reason, why.where))
            where = repr(place) if place else "plain attributes"
            self._problem(f"{_shown(path)} {MAY_HIDE} {where}: {why.reason}", path, why)

    def _add_subtree(self, top: _Entry) -> list[Address]:
        """Add a module and its registered descendants, depth first; those that were not known are returned."""
        added: list[Address] = []
        pending = [top]
        while pending:
            entry = pending.pop()
            why = self._is_full(entry) if self.nodes else None
            if why is not None:
                self._leave_rest([entry, *reversed(pending)], why)
                break
            if isinstance(entry.value, (Unknown, Choice)) and not entry.path.endswith(OPEN):
                self.in_doubt.append((entry.path, entry.value))
            if entry.registered and isinstance(entry.value, (Unknown, Choice)):
                there = objects_of((entry.value,))
                self.perhaps_registered.update((Address(index), entry.value) for index in there)
            if isinstance(entry.value, Unknown) and (entry.value.optional or entry.path.endswith(OPEN)):
                self._add_open(entry)
                continue
            entry.path = self._unique(entry.path)
            if isinstance(entry.value, Choice) and isinstance(
                either := description(self.state, entry.value), ModuleObject
            ):
                self._add_either(entry, either)
                if entry.value not in entry.above:
                    pending.extend(reversed(list(self._children(either, entry.path, (*entry.above, entry.value)))))
                continue
            module = self.state.find(entry.value, ModuleObject)
            if module is None or not isinstance(entry.value, Address):
                self._add_unknown(entry)
                continue
            first = self.first_paths.get(entry.value)
            if first is None:
                self.first_paths[entry.value] = entry.path
                added.append(entry.value)
                if not entry.registered:
                    self.unregistered.add(entry.path)
            elif self._is_one_too_many():
                why = Unknown(f"more than {MAX_ALIASES} modules stand under further names")
                self._add_open(_Entry(why, f"{entry.parent}.{OPEN}" if entry.parent else OPEN, True, entry.parent))
                continue
            self._add_module(entry, module, first)
            if entry.value in entry.above or (first is not None and _is_above(entry.path, first)):
                continue  # a module below itself
            above = (*entry.above, entry.value) if first is not None or entry.above else ()
            pending.extend(reversed(list(self._children(module, entry.path, above))))
        return added

    def _children(self, module: ModuleObject, path: str, above: tuple[Value, ...]) -> Iterator[_Entry]:
        for name, child in module.modules.items():
            yield _Entry(child, f"{path}.{name}" if path else name, True, path, above)

    def _is_full(self, entry: _Entry) -> Unknown | None:
        """Why the tree ends before this place."""
        if len(self.nodes) >= MAX_NODES:
            return Unknown(f"more than {MAX_NODES} modules")
        self.path_text += len(entry.path)
        if self.path_text > MAX_PATH_TEXT:
            return Unknown(f"more than {MAX_PATH_TEXT} characters of paths")
        machine = self.prediction.machine
        machine.base.work += UNITS_OF_A_NODE + len(entry.path) // CHARACTERS_OF_A_UNIT
        return (
            Unknown(f"more than {MAX_TREE_WORK} units of work for the graph")
            if machine.work > machine.work_limit
            else None
        )

    def _leave_rest(self, pending: list[_Entry], why: Unknown) -> None:
        """The tree ends here: each module of which a child is still pending may have further ones."""
        for parent in dict.fromkeys(entry.parent for entry in pending if entry.registered):
            self._add_open(_Entry(why, f"{parent}.{OPEN}" if parent else OPEN, True, parent))
        for parent in dict.fromkeys(entry.parent for entry in pending if not entry.registered):
            self._add_doubt(parent or "", "", why)

    def _is_one_too_many(self) -> bool:
        self.n_aliases += 1
        return self.n_aliases > MAX_ALIASES

    def _unique(self, path: str) -> str:
        while path in self.taken:
            path += "'"
        self.taken.add(path)
        return path

    # ---- nodes -----------------------------------------------------------------------------------------------------

    def _add_module(self, entry: _Entry, module: ModuleObject, first: str | None) -> None:
        machine = self.prediction.machine
        name = module.cls.name if isinstance(module.cls, (ClassValue, KnownClass)) else None
        made = machine.state.find(module.cls.address, ClassObject) if isinstance(module.cls, ClassValue) else None
        if made is not None and not made.namespace.keys().isdisjoint(("__name__", "__qualname__")):
            name = None
        arguments, unknown = attempt(
            machine,
            lambda: (arguments_of(machine, module), unknown_arguments(machine, module, self.known_arguments)),
            lambda _: ({}, tuple(name for name, _ in module.arguments)),
        )
        defaults = attempt(machine, lambda: defaults_of(machine, module, self.known_defaults), lambda _: {})
        own = attempt(machine, lambda: saves_its_own(machine, module), lambda _: True)  # it may
        extra = attempt(machine, lambda: extra_state_of(machine, module), lambda _: None)
        node = ModuleNode(
            path=entry.path,
            class_name=name,
            predicted=True,
            registered=entry.registered,
            alias_of=first,
            parameters=tuple(self._parameters(module, entry.path)),
            buffers=tuple(self._buffers(module, entry.path)),
            arguments=arguments,
            unknown_arguments=unknown,
            defaults=defaults,
            source=_place_for_all(module.where),
            own_state_dict=own or extra is None,
            extra_state=extra or (),
            torch_base=self._torch_base(module),
        )
        self.nodes.append(node)
        self.places[entry.path] = node.source
        if first is not None:
            return
        if name is None and isinstance(module.cls, Unknown):
            self._problem(
                f"the class of {_shown(entry.path)} is not known: {module.cls.reason}", entry.path, module.cls
            )
        if module.mixed is not None and any(len(getattr(module, store)) > 1 for store in STORES):
            self._problem(f"{_shown(entry.path)} {IN_ANY_ORDER}: {module.mixed.reason}", entry.path, module.mixed)
        self._add_tensor_problems(node, module)

    def _torch_base(self, module: ModuleObject) -> str | None:
        """None also where a base before it is not known: that may be a layer as well."""
        names = []
        for base in self.prediction.machine.mro(module.cls):
            if not isinstance(base, (ClassValue, KnownClass)):
                break
            names.append(base.name)
        return torch_base(names)

    def _add_either(self, entry: _Entry, module: ModuleObject) -> None:
        """One of several modules of one class, which of them is not known."""
        assert isinstance(entry.value, Choice)
        self.has_choices = self.has_choices or entry.registered
        self._add_module(entry, module, None)
        count = len(entry.value.alternatives)
        what = f"{_shown(entry.path)} is one of {count} {self._alternatives(entry.value)}"
        self._problem(f"{what}: {entry.value.reason}", entry.path, entry.value)

    def _add_unknown(self, entry: _Entry) -> None:
        """A child that exists, but is None or not known."""
        if entry.value == NONE:
            node = ModuleNode(path=entry.path, class_name="NoneType", predicted=True, registered=entry.registered)
            self.nodes.append(node)
            return
        why = entry.value if isinstance(entry.value, (Unknown, Choice)) else Unknown("it is no module")
        self.nodes.append(
            ModuleNode(
                path=entry.path,
                class_name=None,
                predicted=True,
                registered=entry.registered,
                source=_place_for_all(why.where),
            )
        )
        names = self._alternatives(why)
        what = f"{_shown(entry.path)} is {names}" if names else f"what {_shown(entry.path)} is, is not known"
        self._problem(f"{what}: {why.reason}", entry.path, why)

    def _alternatives(self, value: Unknown | Choice) -> str:
        if not isinstance(value, Choice):
            return ""
        names = []
        for alternative in value.alternatives:
            cls = self.prediction.machine.class_of(alternative)
            names.append(last_name(str(getattr(cls, "name", "?"))))
        return " or ".join(dict.fromkeys(names))

    def _add_open(self, entry: _Entry) -> None:
        """A child that may be there, by its name; the place under which further ones may stand, once per module."""
        assert isinstance(entry.value, Unknown)
        parent = entry.parent or ""
        name = entry.path[len(parent) + 1 :] if parent else entry.path
        path = entry.path if name == OPEN else self._unique(entry.path)
        if name != OPEN or path not in self.taken:
            self.taken.add(path)
            self.nodes.append(
                ModuleNode(
                    path=path,
                    class_name=None,
                    predicted=True,
                    source=_place_for_all(entry.value.where),
                    registered=True,
                )
            )
        failure = self.prediction.failure
        if name == OPEN and not parent and entry.value == failure and failure.reason.startswith("raises "):
            self._problem(f"{NOT_BUILT} {failure.reason}", parent, entry.value)
        elif name == OPEN:
            self._problem(f"{_shown(parent)} may have further children: {entry.value.reason}", parent, entry.value)
        else:
            self._problem(f"{_shown(parent)} may have a child {name!r}: {entry.value.reason}", parent, entry.value)

    # ---- tensors ---------------------------------------------------------------------------------------------------

    def _parameters(self, module: ModuleObject, path: str) -> Iterator[ParameterInfo]:
        for name, value in module.parameters.items():
            if name == OPEN or _may_be_absent(value):
                continue
            tensor = self._tensor(value)
            alias_of = self._tensor_alias(value, path, name)
            shape = None if tensor.lazy or tensor.shape is None else tuple(tensor.shape)
            yield ParameterInfo(
                name=name, shape=shape, dtype=tensor.dtype, trainable=tensor.requires_grad, alias_of=alias_of
            )

    def _buffers(self, module: ModuleObject, path: str) -> Iterator[BufferInfo]:
        for name, value in module.buffers.items():
            if name == OPEN or _may_be_absent(value):
                continue
            tensor = self._tensor(value)
            transient = module.non_persistent.get(name, False)
            yield BufferInfo(
                name=name,
                shape=None if tensor.lazy or tensor.shape is None else tuple(tensor.shape),
                dtype=tensor.dtype,
                persistent=None if transient is None else not transient,
                alias_of=self._tensor_alias(value, path, name),
            )

    def _found(self, value: Value) -> TensorObject | None:
        tensor = self.state.find(value, TensorObject)
        if tensor is not None and any(size is not None and size > MAX_TENSOR_SIZE for size in tensor.shape or ()):
            tensor.shape, tensor.unsized = None, Unknown("a size does not fit into 64 bits", tensor.where)
        return tensor

    def _tensor(self, value: Value) -> TensorObject:
        """What is known of a parameter or buffer."""
        tensor = self._found(value)
        if tensor is None and isinstance(value, Choice):
            either = description(self.state, value)
            tensor = either if isinstance(either, TensorObject) else None
        return tensor or TensorObject(None, None, requires_grad=None)

    def _tensor_alias(self, value: Value, path: str, name: str) -> str | None:
        full = f"{path}.{name}" if path else name
        if not isinstance(value, Address):
            return None
        first = self.tensor_paths.setdefault(value, full)
        return None if first == full else first

    def _add_tensor_problems(self, node: ModuleNode, module: ModuleObject) -> None:
        """One problem for each store of a module in which something is not known."""
        for kind, store in (("parameter", module.parameters), ("buffer", module.buffers)):
            for name, value in store.items():
                if isinstance(value, (Unknown, Choice)):
                    what = f"further {kind}s" if name == OPEN else f"{kind} {name!r}"
                    message = f"what {_shown(node.path)} has as {what} is not known: {value.reason}"
                    self._problem(message, node.path, value)
                    break
            self._add_shape_problems(node, module, kind, store)
        unsure = next(
            (each.name for each in node.parameters if each.trainable is None and each.shape is not None), None
        )
        if unsure is not None:
            message = f"whether parameter {unsure!r} of {_shown(node.path)} is trainable is not known"
            self._problem(message, node.path, Unknown(message, module.where))
        unsure = next((buffer.name for buffer in node.buffers if buffer.persistent is None), None)
        if unsure is not None:
            message = f"whether buffer {unsure!r} of {_shown(node.path)} is persistent is not known"
            self._problem(message, node.path, Unknown(message, module.where))

    def _add_shape_problems(self, node: ModuleNode, module: ModuleObject, kind: str, store: dict[str, Value]) -> None:
        """One problem for all tensors of a store whose shapes are not known for the same reason."""
        found: dict[str, list[str]] = {}
        places: dict[str, SourceLocation | None] = {}
        causes: dict[str, str] = {}
        for name, value in store.items():
            tensor = self._found(value)
            if tensor is not None and not tensor.lazy and (tensor.shape is None or None in tensor.shape):
                why = getattr(tensor.shape, "why", None) or tensor.unsized or _given_unknown(module)
                reason = f": {why.reason}" if why is not None else ""
                found.setdefault(reason, []).append(repr(name))
                places.setdefault(reason, tensor.where or module.where)
                causes.setdefault(reason, "" if why is None else telling(why.reason, why.reason, where=why.where))
        for reason, names in found.items():
            which = f"shape of {kind} {names[0]}" if len(names) == 1 else f"shapes of {kind}s {', '.join(names)}"
            message = f"the {which} of {_shown(node.path)} {'is' if len(names) == 1 else 'are'} not known{reason}"
            self._problem(message, node.path, Unknown(causes[reason], places[reason]))

    # ---- problems --------------------------------------------------------------------------------------------------

    def add_troubles(self) -> None:
        """What the interpretation itself recorded, where it concerns a module of the tree or all of it."""
        problems = [each.problem for each in self.found]
        told = {(problem.message.rpartition(": ")[2], problem.line) for problem in problems}
        endings = {ending for problem in problems for ending in _endings(problem.message)}
        for trouble in self.state.problems:
            path = self.first_paths.get(trouble.address) if trouble.address is not None else None
            if trouble.address is not None and path is None:
                continue
            line = trouble.where.line if trouble.where is not None else None
            if (trouble.reason, line) not in told and trouble.reason not in endings:
                endings.update(_endings(trouble.reason))
                self._problem(trouble.reason, path, Unknown(trouble.reason, trouble.where))

    def _problem(self, message: str, module: str | None, why: Unknown | Choice) -> None:
        where = self._of_the_user(why.where, module)
        root, place = root_of(why.reason)
        place = place or why.where
        # What is told by itself is whole; what a place depends on is told as the line where it comes from.
        cause = root if message == root else worded(self.prediction.machine, root, place)
        if message.endswith(root):
            message = f"{message.removesuffix(root)}{cause}"
        problem = Problem(
            stage="predict",
            message=str(message),
            module=module,
            file=where.file if where is not None else None,
            line=where.line if where is not None and _place_for_all(where) is not None else None,
        )
        if problem not in self.told:
            self.told.add(problem)
            self.found.append(Told(problem, cause, _place_for_all(place)))

    def _of_the_user(self, where: SourceLocation | None, module: str | None) -> SourceLocation | None:
        """A place in torch's own source is told as that where the user makes the module in which it is."""
        if where is None or _place_for_all(where) is not None or module is None:
            return where
        around = (self.places.get(module[:end]) for end in range(len(module), -1, -1))
        return next((each for each in around if each is not None), where)


def _is_above(path: str, first: str) -> bool:
    """Whether `first` is the path of something above `path`."""
    return first == "" or path.startswith((f"{first}.", f"{first}["))


def _endings(message: str) -> Iterator[str]:
    """The message, and what of it follows each colon: each may be the reason that it gives."""
    parts = message.split(": ")
    return (": ".join(parts[place:]) for place in range(len(parts)))


def _given_unknown(module: ModuleObject) -> Unknown | Choice | None:
    """The first argument of its constructor that is not known."""
    return next((value for _, value in module.arguments if isinstance(value, (Unknown, Choice))), None)


def _may_be_absent(value: Value) -> bool:
    """Of what stands in a store of tensors: it is None, or it may be."""
    if isinstance(value, Choice):
        return NONE in value.alternatives
    return value == NONE or (isinstance(value, Unknown) and value.optional)


def _place_for_all(where: SourceLocation | None) -> SourceLocation | None:
    """A place with the same line for all; in torch it depends on the release, or is that of the source bundled here."""
    return None if where is None or where.file.startswith("torch/") else where


def _shown(path: str) -> str:
    return repr(path) if path else "the model"
