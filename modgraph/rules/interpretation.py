"""What a class holds once its constructor has run, by the interpreter of the prediction; arguments are not known.

Only this file of the rules reaches the interpreter, and with it libcst, and only where a class holds something
suspicious.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from modgraph.errors import ModgraphError
from modgraph.names import last_name
from modgraph.prediction.answer.limits_reached import limit_reached
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.entry import EVERYTHING, Prediction, predict_target
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.python import given_away
from modgraph.rules.fixing import Holdings
from modgraph.rules.long_comments import without_long_comments
from modgraph.rules.names import EnoughTried, Project, roots
from modgraph.rules.script_names import with_names_of_scripts
from modgraph.rules.state import TOLD_NOT_TO
from modgraph.source import torch_names
from modgraph.source.modules import ModuleFinder, Shared, SourceModule
from modgraph.source.targets import Target, import_name

MAX_HELD = 2_000
"""Values looked at below one attribute."""
MAX_KEPT = 12
"""End states kept for further questions."""
MAX_KEPT_OBJECTS = 200_000
"""Objects in those of them that are kept besides the latest."""
MAX_WORK = 6_000_000
"""Units of work of all interpretations for one file: the classes that follow are not interpreted, and it is said."""
MAX_WORK_OF_A_CLASS = 1_000_000
"""The same of one class: what is more is left unknown, and the others are still looked at."""
MAX_WORK_APART, MAX_WORK_OF_A_CLASS_APART = 2_000_000, 500_000
"""The same of those that are interpreted for what may be left unsaid: where it is spent, nothing is said."""
FREE_READING_APART = 1_000_000
"""Units for reading other files that do not count there: much of torch, and little of a large library."""
WORK_OF_A_CLASS = 3_000
"""Units that take as long as the beginning of each interpretation."""
MAX_HOLDINGS = 10_000
"""What classes hold, kept for the trials of fixes."""
MAX_MODULES = 200
MAX_SMALL_MODULES, MAX_SMALL_TEXT = 1_000, 4_000_000
"""Modules that are kept with what was parsed of them, between one interpretation and the next; more where their text is
small together, as to read them anew for each class takes the square of their number."""
MAX_TEXTS = 4
"""Texts whose indexes and trees are kept: a fix is tried on one while those before are still asked for."""
_CONTAINERS = (ListObject, DictObject, SetObject, IteratorObject)


@dataclass(frozen=True, slots=True)
class Held:
    """A module or parameter in a plain container."""

    place: str
    """Behind the attribute's name: "[0]", "['a']", "[...]" where the place is not known."""
    class_name: str
    """Import path; "" where it is not known."""
    registered: bool
    """It is, or may be, reached from the module through registration as well."""
    stateful: bool = True
    """It has parameters or buffers, or may have some."""
    modal: bool = False
    """What it does depends on `train()` and `eval()`, or may depend on it."""
    loses: bool = True
    """It certainly has a parameter or a buffer, or depends on the mode: something is lost if it is not registered."""
    given: bool = False
    """It came in as an argument, or was not made by the constructor."""
    made: tuple[str, int] | None = None
    """The file and line in which it is made."""


@dataclass(slots=True)
class Interpreted:
    """The end state of a constructor."""

    machine: Interpreter
    root: Address
    open: bool
    """Further names may be registered that are not known."""
    failed: bool
    """The constructor certainly raises, or could not be followed to its end."""
    registered: frozenset[int] = frozenset()
    tuples: frozenset[str] = frozenset()
    """Attributes that the text says are tuples: where their length is not known, so is what the interpreter has."""
    _held: dict[str, list[Held]] = field(default_factory=dict)

    def told(self, tuples: frozenset[str]) -> Interpreted:
        """The same where so much is known: a tuple registers nothing."""
        found = Interpreted(self.machine, self.root, self.open, self.failed, tuples=tuples)
        found.registered = frozenset(_registered(self.machine, self.root, found.unknown_tuples()))
        return found

    def unknown_tuples(self) -> dict[str, Unknown]:
        """Those of them that the interpreter takes for what may be a module."""
        return {
            name: value
            for name, value in self.module.modules.items()
            if name in self.tuples and isinstance(value, Unknown) and name not in self.module.attributes
        }

    @property
    def module(self) -> ModuleObject:
        found = self.machine.state.find(self.root, ModuleObject)
        assert found is not None
        return found

    @property
    def learns(self) -> bool:
        """It certainly has parameters that its constructor made, itself or below."""
        for index in sorted(self.registered):
            found = self.machine.state.read(Address(index))
            if isinstance(found, TensorObject) and found.is_parameter:
                return True
        return False

    def containers(self) -> list[str]:
        """Attributes that certainly are plain containers."""
        return [name for name in self.module.attributes if self.container(name)]

    def is_unknown(self, name: str) -> bool:
        """Nothing is known of an attribute, or whether there is one."""
        value = self.attribute(name)
        return isinstance(value, Unknown) or (value is None and self.open)

    @property
    def names(self) -> frozenset[str]:
        """Of all that it holds: plain attributes, submodules, parameters and buffers."""
        module = self.module
        return frozenset((*module.attributes, *module.modules, *module.parameters, *module.buffers))

    def attribute(self, name: str) -> Value | None:
        """Of the instance's own `__dict__`; None where it has no such plain attribute."""
        return self.module.attributes.get(name)

    def container(self, name: str) -> str | None:
        """ "list", "tuple", "dict", ... where the attribute certainly is such a plain container."""
        return "tuple" if name in self.unknown_tuples() else _container(self.machine, self.attribute(name))

    def holds_only(self, name: str) -> bool:
        """Each element of the container under this name certainly is a module, or each a parameter: a container that
        registers takes it as it is."""
        value = self.attribute(name)
        if isinstance(value, TupleValue):
            items: list[Value] = list(value.items)
        else:
            found = self.machine.state.read(value) if isinstance(value, Address) else None
            if isinstance(found, ListObject):
                items = found.items
            elif isinstance(found, DictObject):
                items = list(found.entries.values())
            else:
                return False
            if found.open is not None:
                items = [*items, *(Address(index) for index in sorted(found.open.may_be))]
        return all(isinstance(each, Address) and self._held_at("", each) is not None for each in items)

    def modules_in(self, name: str) -> list[Held]:
        """The modules in a plain container that is kept under this name, none where it is something else."""
        return [held for held in self._in(name) if held.class_name != PARAMETER]

    def parameters_in(self, name: str) -> list[Held]:
        return [held for held in self._in(name) if held.class_name == PARAMETER]

    def _in(self, name: str) -> list[Held]:
        if name not in self._held:
            value = self.attribute(name)
            open_ended = self.unknown_tuples().get(name)
            if open_ended is not None:
                within = (Address(index) for index in sorted(open_ended.may_be))
                self._held[name] = [held for each in within for held in self._walk(each, "[...]")]
            else:
                self._held[name] = list(self._walk(value)) if _container(self.machine, value) else []
        return self._held[name]

    def _walk(self, value: Value | None, place: str = "") -> Iterator[Held]:
        seen: set[int] = set()
        pending: list[tuple[str, Value | None]] = [(place, value)]
        while pending and len(seen) < MAX_HELD:
            place, each = pending.pop()
            if isinstance(each, Address):
                if each.index in seen:
                    continue
                seen.add(each.index)
                held = self._held_at(place, each)
                if held is not None:
                    yield held
                    continue
            pending.extend(reversed(list(self._below(place, each))))

    def _held_at(self, place: str, address: Address) -> Held | None:
        found = self.machine.state.read(address)
        registered = address.index in self.registered
        if isinstance(found, ModuleObject):
            name = found.cls.name if isinstance(found.cls, (ClassValue, KnownClass)) else ""
            stateful, modal, loses = _states(self.machine, address)
            made = None if found.where is None else (os.path.basename(found.where.file), found.where.line)
            return Held(place, name, registered, stateful, modal, loses, found.where is None, made)
        if isinstance(found, TensorObject) and found.is_parameter:
            return Held(place, PARAMETER, registered)
        return None

    def _below(self, place: str, value: Value | None) -> Iterator[tuple[str, Value]]:
        if isinstance(value, TupleValue):
            yield from ((f"{place}[{n}]", item) for n, item in enumerate(value.items))
        elif isinstance(value, Choice):
            yield from ((place, item) for item in value.alternatives)
        elif isinstance(value, Unknown) and value.optional:
            yield from ((place, Address(index)) for index in sorted(value.may_be))
        elif isinstance(value, Address):
            found = self.machine.state.read(value)
            if isinstance(found, (ListObject, IteratorObject)):
                yield from ((f"{place}[{n}]", item) for n, item in enumerate(found.items))
            elif isinstance(found, DictObject):
                for key, item in found.entries.items():
                    yield f"{place}[{key.value!r}]" if isinstance(key, Constant) else f"{place}[...]", item
            elif isinstance(found, SetObject):
                yield from ((f"{place}{{...}}", item) for item in found.items)
            why = getattr(found, "open", None)
            if isinstance(why, Unknown) and isinstance(found, _CONTAINERS):
                yield from ((f"{place}[...]", Address(index)) for index in sorted(why.may_be))


PARAMETER = "torch.nn.Parameter"


def interpret(project: Project, file: str, qualname: str, text: str, unknown: Iterable[str] = ()) -> Interpreted | None:
    """What a class holds after its constructor; None where that cannot be said at all. Asked again of the same text, as
    when fixes are tried, it is not interpreted again.

    Args:
        text: what the file is taken to hold: it may be being fixed, or come from standard input.
        unknown: parameters that are given something of which nothing is known, whatever their defaults.
    """
    text = _as_run(text)
    key = (file, qualname, text, tuple(unknown), tuple(project.believed))
    if key not in project.interpreted:
        if project.work > MAX_WORK:
            return _given_up(project, qualname)
        _make_room(project.interpreted)
        granted = (min(MAX_WORK - project.work, _of_a_class()), "a constructor and all that it calls")
        project.interpreted[key], work = _interpret(project, file, qualname, text, key[3], granted)
        project.work += work
        _keep_holdings(project, key)
    found: _Found = project.interpreted[key]
    project.read.update(found.files)
    if found.is_spent:
        return _given_up(project, qualname)
    if found.limit is not None:
        project.cut[qualname] = found.limit
    return found.state


def interpret_apart(
    project: Project, file: str, qualname: str, text: str, unknown: Iterable[str] = ()
) -> Interpreted | None:
    """The same for what may be left undone: with a share of work of its own, so that nothing is taken from what has to
    be said, and None where that is not enough."""
    text = _as_run(text)
    key = (file, qualname, text, tuple(unknown), tuple(project.believed))
    found: _Found | None = project.interpreted.get(key)
    if found is None:
        units = min(MAX_WORK_APART - project.work_apart, MAX_WORK_OF_A_CLASS_APART)
        if units <= 0:
            return None
        granted = (units, "classes whose forward is followed")
        found, work = _interpret(project, file, qualname, text, key[3], granted, FREE_READING_APART)
        project.work_apart += work
        if found.limit is not None or found.is_spent:
            return None
        _make_room(project.interpreted)
        project.interpreted[key] = found
        _keep_holdings(project, key)
    project.read.update(found.files)
    return None if found.is_spent or found.limit is not None else found.state


def _of_a_class() -> int:
    return min(MAX_WORK, MAX_WORK_OF_A_CLASS)


def _as_run(text: str) -> str:
    """What is interpreted in place of a text; of what comes out of it, it is the same again."""
    return with_names_of_scripts(without_long_comments(text))


def _keep_holdings(project: Project, key: tuple[Any, ...]) -> None:
    if len(project.holdings) >= MAX_HOLDINGS:
        project.holdings.clear()
    project.holdings[key] = _holdings(project.interpreted[key].state)


def _given_up(project: Project, qualname: str) -> Interpreted | None:
    if project.trying:
        raise EnoughTried
    project.given_up[qualname] = None
    return None


def _make_room(kept: dict[tuple[Any, ...], _Found]) -> None:
    """Forgets the oldest end states, of large ones at once: they stand in circles in which Python finds them late."""
    dropped = 0
    while kept and (len(kept) >= MAX_KEPT or sum(each.size for each in kept.values()) > MAX_KEPT_OBJECTS):
        dropped += kept.pop(next(iter(kept))).size
    if dropped > MAX_KEPT_OBJECTS // 2:
        gc.collect()


class _Found(NamedTuple):
    """What came of an interpretation, with the files that were read for it and the folders that were looked into; the
    limit that it reached, and whether it was that of all classes of a file."""

    state: Interpreted | None
    files: dict[str, None]
    limit: str | None = None
    is_spent: bool = False

    @property
    def size(self) -> int:
        return 0 if self.state is None else self.state.machine.base.next_index


def holdings(project: Project, file: str, qualname: str, text: str) -> Holdings | None:
    """What a class holds after its constructor, as far as a fix must leave it; None where that cannot be said. Kept
    for longer than the end state, which is large."""
    text = _as_run(text)
    key = (file, qualname, text, (), tuple(project.believed))
    if key not in project.holdings:
        interpret(project, file, qualname, text)
    return project.holdings.get(key)


def _holdings(state: Interpreted | None) -> Holdings | None:
    return None if state is None else Holdings(state.names, len(state.registered), state.failed)


def _interpret(
    project: Project,
    file: str,
    qualname: str,
    text: str,
    unknown: Iterable[str],
    granted: tuple[int, str],
    free_reading: int = EVERYTHING,
) -> tuple[_Found, int]:
    """What is found, and the work that counts.

    Args:
        granted: units of work, and with whom they are shared.
        free_reading: units for reading other files that do not count.
    """
    path = Path(os.path.realpath(file))
    root, module = import_name(path)
    own = [folder for folder in roots(file).folders if folder != str(root)]
    target = Target(
        text=path.relative_to(root).as_posix(),
        module=module,
        name=qualname,
        keywords=tuple((name, Unknown("anything may be given", inert=True)) for name in unknown),
        file=path,
        root=root,
        search_path=(str(root), *own, *(entry for entry in project.path if entry)),
    )

    finders: list[ModuleFinder] = []

    def prepare(finder: ModuleFinder) -> None:
        finders.append(finder)
        finder.share(_shared(project, (*target.search_path, "", *project.territory(str(path)).project.folders)))
        _add_believed(finder, list(project.believed))

    state, limit, is_spent = None, None, False
    work = WORK_OF_A_CLASS
    try:
        prediction = predict_target(target, _module(project, target, text), prepare, granted, free_reading)
        machine = prediction.machine
        # A class that had as much as one may have has met a limit of its own.
        is_spent = granted[0] < _of_a_class() and machine.has_spent_what_is_shared
        limit, state = limit_reached(prediction), None if is_spent else _interpreted(prediction)
        # What is read of other files serves the next file too, and does not count for the first.
        work += machine.work - machine.unshared()
    except ModgraphError:
        pass
    depends = (each for finder in finders for each in (*finder.files_read, *finder.looked_in))
    return _Found(state, dict.fromkeys(depends), limit, is_spent), work


def _shared(project: Project, path: tuple[str, ...]) -> Shared:
    """What earlier interpretations on the same search path have read; forgotten where it has become much."""
    known: Shared | None = project.shared.get(path)
    if known is None or _is_much(known):
        project.shared.clear()
        known = project.shared[path] = Shared()
    return known


def _is_much(known: Shared) -> bool:
    modules = known.modules.values()
    if len(modules) <= MAX_MODULES:
        return False
    text = sum(len(each.text) for each in modules if "text" in vars(each))
    return len(modules) > MAX_SMALL_MODULES or text > MAX_SMALL_TEXT


def _module(project: Project, target: Target, text: str) -> SourceModule:
    """The module of a text that is checked: indexed once, for all its classes."""
    assert target.file is not None
    key = (target.module, text)
    if key not in project.texts:
        while len(project.texts) >= MAX_TEXTS:
            del project.texts[next(iter(project.texts))]
        source = SourceModule(target.module, target.file, target.relative_file, target.file.name == "__init__.py")
        source.text = text.replace("\r\n", "\n").replace("\r", "\n")
        project.texts[key] = source
    found: SourceModule = project.texts[key]
    return found


_STAND_IN = """\
import torch.nn
from {nowhere} import anything


class {name}(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return anything(name)
"""


def _add_believed(finder: ModuleFinder, paths: Iterable[str]) -> None:
    """Modules of which no file is found, with the classes in them that are taken for modules: so much is known of
    these, and nothing of their attributes."""
    texts: dict[str, str] = {}
    for path in paths:
        module, _, name = path.rpartition(".")
        if module and (module in texts or finder.find(module) is None):
            texts[module] = texts.get(module, "") + _STAND_IN.format(nowhere="_not_found", name=name)
            while "." in module:
                module = module.rpartition(".")[0]
                if finder.find(module) is None:
                    texts.setdefault(module, "")
    for module, text in sorted(texts.items()):
        file = f"{module.replace('.', '/')}.py"
        source = SourceModule(module, Path(file), file, is_package=True)
        source.text = text
        finder.add(source)


def _interpreted(prediction: Prediction) -> Interpreted | None:
    machine, root = prediction.machine, prediction.root
    if not isinstance(root, Address):
        return None
    module = machine.state.find(root, ModuleObject)
    if module is None:
        return None
    is_open = any(name == "?" for name in module.modules) or any(name == "?" for name in module.parameters)
    found = Interpreted(machine, root, is_open, prediction.failure is not None)
    found.registered = frozenset(_registered(machine, root))
    return found


def _registered(machine: Interpreter, root: Address, but: Collection[str] = ()) -> Iterator[int]:
    """Addresses of all modules and parameters that are, or may be, reached by registration. What is registered and not
    known may lead to all that was stored in what is not known.

    Args:
        but: names of the root that register nothing.
    """
    seen: set[int] = set()
    pending: list[Value] = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, Unknown):
            pending.extend(Address(index) for index in value.may_be)
            pending.extend(Address(index) for index in given_away.addresses(machine) - seen)
        elif isinstance(value, Address) and value.index not in seen:
            seen.add(value.index)
            yield value.index
            module = machine.state.find(value, ModuleObject)
            if module is not None:
                left_out = but if value == root else ()
                pending.extend(held for name, held in module.modules.items() if name not in left_out)
                pending.extend(module.parameters.values())


def _container(machine: Interpreter, value: Value | None) -> str | None:
    if isinstance(value, TupleValue):
        return "tuple" if value.cls is None else "named tuple"
    if isinstance(value, Choice):
        kinds = {_container(machine, each) for each in value.alternatives if not isinstance(each, Constant)}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(value, Unknown) and value.optional:
        kinds = {_container(machine, Address(index)) for index in value.may_be}
        return kinds.pop() if len(kinds) == 1 else None
    found = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(found, ListObject):
        return _last(found.cls) or "list"
    if isinstance(found, DictObject):
        return _last(found.cls) or "dict"
    return "set" if isinstance(found, SetObject) else None


def _last(cls: Value) -> str:
    name = cls.name if isinstance(cls, (ClassValue, KnownClass)) else ""
    return last_name(name)


def _states(machine: Interpreter, root: Address) -> tuple[bool, bool, bool]:
    """(stateful, modal, loses) of a module and all below it; for the first two what is not known counts as so."""
    stateful = modal = loses = False
    seen: set[int] = set()
    pending: list[tuple[Value, bool]] = [(root, True)]
    while pending:
        value, certain = pending.pop()
        if isinstance(value, Choice):
            pending.extend((each, False) for each in value.alternatives)
            continue
        module = machine.state.find(value, ModuleObject) if isinstance(value, Address) else None
        if module is None:
            stateful = stateful or isinstance(value, Unknown)
            continue
        assert isinstance(value, Address)
        if value.index in seen:
            continue
        seen.add(value.index)
        is_modal = _is_modal(machine, module.cls)
        stateful = stateful or _has_state(module)
        modal = modal or is_modal is not False
        loses = loses or (certain and (is_modal is True or _surely_has_state(module)))
        pending.extend((each, certain) for each in module.modules.values())
        # As many as something unknown says: as in a list of them.
        further = (module.open, module.modules.get(OPEN))
        for each in further:
            if isinstance(each, Unknown) and not each.optional:
                pending.extend((Address(index), certain) for index in sorted(each.may_be))
    return stateful, modal, loses


def _has_state(module: ModuleObject) -> bool:
    tensors: Iterable[Value] = (*module.parameters.values(), *module.buffers.values())
    if any(isinstance(each, (Address, Unknown, Choice)) for each in tensors):
        return True
    return not isinstance(module.cls, (ClassValue, KnownClass))


def _surely_has_state(module: ModuleObject) -> bool:
    """It has a parameter or buffer on all paths; so have those of torch's layers of which the number is not known."""
    tensors: Iterable[Value] = (*module.parameters.values(), *module.buffers.values())
    if any(isinstance(each, Address) for each in tensors):
        return True
    cls = module.cls
    made = torch_names.torch_class(cls.name) if isinstance(cls, (ClassValue, KnownClass)) else None
    return made in torch_names.LEARNING and made not in TOLD_NOT_TO


def _is_modal(machine: Interpreter, cls: Value) -> bool | None:
    """Its class, or a base that is not torch's, reads `training`; None where that is not known."""
    if not isinstance(cls, (ClassValue, KnownClass)):
        return None
    if torch_names.torch_class(cls.name):
        return torch_names.torch_class(cls.name) in torch_names.MODAL
    is_known = True
    for base in machine.mro(cls) if isinstance(cls, ClassValue) else ():
        if not isinstance(base, ClassValue):
            continue
        if torch_names.torch_class(base.name) in torch_names.MODAL:
            return True
        if base.name.startswith("torch."):
            continue
        found = machine.state.find(base.address, ClassObject)
        definition = found.definition if found is not None else None
        source = machine.finder.source(definition.module) if definition is not None and definition.entry else None
        if source is None or definition is None or definition.entry is None:
            is_known = False
            continue
        lines = source.text.splitlines()[definition.entry.line - 1 : definition.entry.last_line]
        if any("training" in line for line in lines):
            return True
    return False if is_known else None
