"""What `forward` of a class certainly fails with, whatever it is given: found once, for the rules MG301 to MG304.

Only this file and `interpretation.py` reach the interpreter, and only where a first look (`forward_looks.py`) has found
something in question.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from modgraph.findings import Related
from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.prediction.domain.events import Seen
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.values import NONE, OPEN, Address, Value
from modgraph.prediction.forward.faults import Fault, Story, certain_faults
from modgraph.prediction.interpreter import Interpreter
from modgraph.rules.changed_elsewhere import may_be_changed
from modgraph.rules.facts import attribute_of
from modgraph.rules.interpretation import MAX_WORK_APART, Interpreted
from modgraph.rules.missing_looks import elements_in_question, held_by, may_be_missing, set_elsewhere, uses
from modgraph.rules.rule import Found
from modgraph.rules.subject import Subject
from modgraph.source.targets import import_name

UNITS = 400_000
"""Of work, for following `forward` of one class once."""
_MISFITS = frozenset(("RuntimeError", "ValueError", "IndexError", "AssertionError"))
"""What torch raises of shapes."""
_OF_PYTHON = frozenset(("TypeError", "AttributeError", "KeyError", "IndexError"))
"""What Python, and containers of torch, raise of what is not there."""
_OF_OTHERS = re.compile(r"\bd?types?\b|floating point|\bleaf\b|complex")
"""Words of a refusal that is not for a shape."""
_INDEX = re.compile(r"index (-?\d+) is out of range")
_MOST_RELATED = 4
_TAKEN = {
    "in_features": ("features", -1),
    "input_size": ("features", -1),
    "embed_dim": ("features", -1),
    "in1_features": ("features", -1),
    "in_channels": ("channels", None),
    "num_features": ("channels", 1),
    "num_channels": ("channels", 1),
}
"""By attribute of a layer that says a size of what it takes: what that is, and where it stands; None: before what is
spatial."""


@dataclass(frozen=True)
class Told:
    """A fault as a rule reports it."""

    code: str
    found: Found


def told_fault(subject: Subject) -> Told | None:
    """The fault of a class's `forward`; None where it may run, or where that is not certain."""
    if "forward fault" not in subject.notes:
        subject.notes["forward fault"] = _told(subject)
    found: Told | None = subject.notes["forward fault"]
    return found


def _told(subject: Subject) -> Told | None:
    if not subject.is_module or subject.is_local:
        return None
    built = subject.interpreted_apart()
    report = _best_report(subject, built)
    if report is None:
        return None
    if not _is_for_all_arguments(subject, report):
        if report.code == "MG304" or not _has_defaults_alone(subject):
            return None
        report.when = f" of {subject.facts.node.name}()"
    noted = subject.file.notes.setdefault("forward faults", set())
    if (report.code, report.line) in noted:
        return None
    noted.add((report.code, report.line))
    return Told(report.code, report.found(subject))


def _best_report(subject: Subject, built: Interpreted | None) -> _Report | None:
    """Of the ways in which it fails, what says most: two sizes, of the usual way before others. A way that ends before
    the usual one does, as a layer does not take so many dimensions, is none that anybody goes."""
    faults = _faults_of(subject, built)
    as_far = [each for each in faults if _ends_as_far(each, faults[0])]
    reports = [_report(subject, built, fault) for fault in as_far] if built is not None else []
    known = [each for each in reports if each is not None]
    return max(known, key=lambda each: each.says_sizes) if known else None


def _ends_as_far(fault: Fault, usual: Fault) -> bool:
    """What it is refused by is what the usual way is refused by, or something behind."""
    one, other = fault.refusal, usual.refusal
    is_same = one is not None and other is not None and (one.module, one.operation) == (other.module, other.operation)
    return (is_same and fault.where == usual.where) or len(fault.events) >= len(usual.events)


def _faults_of(subject: Subject, built: Interpreted | None) -> list[Fault]:
    """Of a class that could be built."""
    project = subject.file.project
    units = min(UNITS, MAX_WORK_APART - project.work_apart)
    if built is None or built.failed or units <= 0:
        return []
    before = built.machine.work
    try:
        return certain_faults(built.machine, built.root, units)
    finally:
        project.work_apart += built.machine.work - before


def _has_defaults_alone(subject: Subject) -> bool:
    """It is built without arguments."""
    init = subject.facts.methods.get("__init__")
    return init is None or all(init.parameters.values())


def _is_for_all_arguments(subject: Subject, report: _Report) -> bool:
    """The same is found where nothing is known of the arguments of the class."""
    init = subject.facts.methods.get("__init__")
    if init is None or init.node.args.vararg or init.node.args.kwarg:
        return False
    if not any(init.parameters.values()):
        return True
    other = _best_report(subject, subject.interpreted_apart(openly=True))
    return other is not None and (other.code, other.line) == (report.code, report.line)


# ---- what is said ----------------------------------------------------------------------------------------------------


@dataclass
class _Report:
    """A fault in words."""

    code: str
    line: int
    message: str
    attribute: str | None = None
    related: list[Related] = field(default_factory=list)
    says_sizes: bool = True
    """Which sizes do not fit, or that no size is the matter."""
    when: str = ""
    """Of which instances, where not of all."""

    def found(self, subject: Subject) -> Found:
        node = _node_at(subject.file.tree, self.line, self.attribute) or subject.facts.node
        message = f"{self.message}; forward{self.when} fails with every input"
        return Found(node, message, self.attribute, tuple(self.related[:_MOST_RELATED]))


def _report(subject: Subject, built: Interpreted, fault: Fault) -> _Report | None:
    line = _line_in(subject, fault.where)
    if line is None or not fault.is_of_rule or fault.refusal is None or not fault.is_alone:
        return None
    teller = _Teller(subject, built.machine, built.root, fault, line)
    report = teller.report()
    if report is None or set_elsewhere(subject, {each.partition(".")[0] for each in teller.named}):
        return None
    return None if may_be_changed(subject) else report


def _line_in(subject: Subject, where: SourceLocation | None) -> int | None:
    """The line of a place in the file that is checked."""
    if where is None:
        return None
    path = Path(os.path.realpath(subject.file.path))
    root, _ = import_name(path)
    return where.line if os.path.join(root, where.file) == str(path) else None


class _Teller:
    """Finds the words."""

    def __init__(self, subject: Subject, machine: Interpreter, root: Address, fault: Fault, line: int) -> None:
        assert fault.refusal is not None
        self.subject = subject
        self.fault = fault
        self.refusal = fault.refusal
        self.line = line
        self.root = root
        self.story = Story(machine, fault)
        self.paths = self.story.paths(root)
        node = subject.facts.node
        self.owner = "self" if node.lineno <= line <= (node.end_lineno or line) else node.name
        self.named: list[str] = []
        """Paths of the modules that are spoken of."""
        self.related: list[Related] = []

    def report(self) -> _Report | None:
        if self.refusal.is_binding or self._is_wrong_call():
            return self._of_arguments()
        if self.fault.name in _OF_PYTHON and not self.refusal.operation and not self.refusal.inputs:
            return self._of_missing() or self._of_elements()
        if (
            self.fault.name not in _MISFITS
            or _OF_OTHERS.search(self.fault.message)
            or not any(_is_known(each) for each in self.refusal.inputs)
        ):
            return None
        return self._of_operation() if self.refusal.operation else self._of_layer()

    # ---- modules -----------------------------------------------------------------------------------------------------

    def path(self, module: Address) -> str | None:
        path = self.paths.get(module)
        if path:
            self.named.append(path)
        return path

    def shown(self, module: Address) -> str:
        """ "`self.block.conv` (line 9)"."""
        path, kind = self.path(module), last_name(self.story.class_name(module))
        name = f"{self.owner}.{path}" if path else f"the {kind}"
        where = self.story.made_at(module)
        line = _line_in(self.subject, where)
        self._relate(line, f"{name} is made here: {kind}")
        if path and "." in path:
            first = path.partition(".")[0]
            holder = next((each for each, at in self.paths.items() if at == first), None)
            above = None if holder is None else _line_in(self.subject, self.story.made_at(holder))
            if above != line:
                self._relate(above, f"{self.owner}.{first} is made here")
        name = f"`{name}`" if path else name
        if where is None:
            return name
        return f"{name} (line {line})" if line is not None else f"{name} ({where.file}:{where.line})"

    def _relate(self, line: int | None, message: str) -> None:
        if line is not None and all(each.line != line or each.message != message for each in self.related):
            self.related.append(Related(line, 1, message))

    # ---- shapes ------------------------------------------------------------------------------------------------------

    def _of_layer(self) -> _Report | None:
        layer = self.refusal.module
        if layer is None or not self.story.class_name(layer).startswith("torch."):
            return None
        given = next(each for each in self.refusal.inputs if _is_known(each))
        code = "MG302" if self._is_next_in_sequential(layer, given) else "MG301"
        taken = self._taken(layer, given)
        shown = self.shown(layer)
        if taken is None:
            message = f"{shown} does not take a tensor of shape {_shape(given)}: {self.fault.message}"
        else:
            what, wanted, size = taken
            message = f"{shown} takes {wanted} {what} and is given {size}: a tensor of shape {_shape(given)}"
            maker = self.story.maker(given, size)
            message += f" from {self.shown(maker)}" if maker is not None else ""
        return replace(self._report_of(code, message, self.paths.get(layer)), says_sizes=taken is not None)

    def _report_of(self, code: str, message: str, path: str | None) -> _Report:
        return _Report(code, self.line, message, path or None, self.related)

    def _taken(self, layer: Address, given: Seen) -> tuple[str, int, int] | None:
        """What a layer takes, how many, and how many it is given."""
        shape = given.shape or ()
        for attribute, (what, place) in _TAKEN.items():
            wanted = self.story.number(layer, attribute)
            if wanted is None:
                continue
            rank = last_name(self.story.class_name(layer))[-2:-1]
            at = place if place is not None else -1 - int(rank) if rank.isdecimal() else None
            if at is None or not -len(shape) <= at < len(shape):
                continue
            size = shape[at]
            if size is not None and size != wanted:
                return what, wanted, size
        return None

    def _is_next_in_sequential(self, layer: Address, given: Seen) -> bool:
        """What the layer is given was made by one before it, in the same `nn.Sequential`."""
        calls = self.story.calls
        above = calls[calls.index(layer) - 1] if layer in calls and calls.index(layer) else None
        if above is None or self.story.class_name(above) != "torch.nn.modules.container.Sequential":
            return False
        return above in self.story.around(given)

    def _of_operation(self) -> _Report:
        inputs = [each for each in self.refusal.inputs if each.shape is not None]
        shapes = " and ".join(map(_shape, inputs))
        makers: dict[Address, None] = {}
        for each in inputs:
            for size in each.shape or ():
                maker = None if size is None else self.story.maker(each, size)
                if maker is not None:
                    makers[maker] = None
        message = (
            f"{_operation(self.refusal.operation)} does not take {'shapes' if len(inputs) > 1 else 'shape'} {shapes}"
        )
        message += f" ({self.fault.message})"
        if makers:
            message += f", from {' and '.join(self.shown(each) for each in makers)}"
        return replace(self._report_of("MG301", message, None), says_sizes=len(makers) > 1)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _is_wrong_call(self) -> bool:
        """A layer of torch was given too few or too many arguments."""
        module = self.refusal.module
        is_layer = module is not None and self.story.class_name(module).startswith("torch.")
        return is_layer and self.fault.name == "TypeError" and ".forward() " in self.fault.message

    def _of_arguments(self) -> _Report | None:
        module = self.refusal.module
        if module is None or module == self.root:
            return None
        message = f"{self.shown(module)} is called with arguments that it does not take: {self.fault.message}"
        return self._report_of("MG303", message, self.paths.get(module))

    def _of_missing(self) -> _Report | None:
        """A child that is None, or not there, is used."""
        if self.refusal.module != self.root or self.fault.name not in ("TypeError", "AttributeError"):
            return None
        names = set(may_be_missing(self.subject))
        for name, how in _used_at(self.subject, self.line):
            if name not in names:
                continue
            value = self.story.machine.find_attribute(self.root, name)
            self.named.append(name)
            if self.fault.name == "AttributeError" and f"'{name}'" in self.fault.message and value is None:
                message = f"`self.{name}` is {how}, and there is none: the constructor leaves no such attribute"
                return _Report("MG304", self.line, message, name, self._stores(name))
            if value == NONE and "'NoneType'" in self.fault.message:
                message = f"`self.{name}` is {how}, and is None"
                return _Report("MG304", self.line, message, name, self._stores(name))
        return None

    def _of_elements(self) -> _Report | None:
        """An element is taken of a container that does not have it, or that has None there."""
        if self.refusal.module != self.root:
            return None
        names = set(elements_in_question(self.subject))
        used = [name for name, _ in _used_at(self.subject, self.line) if name in names]
        if self.fault.name == "TypeError":  # an element that is None is called, by a name of its own perhaps
            used = used or [name for name in sorted(names) if NONE in self._elements(name).values()]
            used = [name for name in used if "'NoneType' object is not callable" in self.fault.message]
        for name in used:
            message = self._of_element(name)
            if message is not None:
                self.named.append(name)
                return _Report("MG304", self.line, f"{message} of `self.{name}`", name, self._stores(name))
        return None

    def _of_element(self, name: str) -> str | None:
        """What is wrong with the one that is taken."""
        elements, told = self._elements(name), self.fault.message
        if not elements:
            return None
        if self.fault.name == "KeyError":
            more = ", ..." if len(elements) > _MOST_RELATED else ""
            known = ", ".join(map(repr, list(elements)[:_MOST_RELATED])) + more
            return None if told.strip("'\"") in elements else f"{told} is none of the keys ({known})"
        if self.fault.name == "IndexError":
            at = _INDEX.fullmatch(told)
            is_beyond = at is not None and not -len(elements) <= int(at[1]) < len(elements)
            return f"{int(at[1])} is beyond the {len(elements)} elements" if at is not None and is_beyond else None
        return "None is called, which is an element" if NONE in elements.values() else None

    def _elements(self, name: str) -> Mapping[str, Value]:
        """By key, what a container of torch holds."""
        held = self.story.machine.find_attribute(self.root, name)
        found = self.story.state.find(held, ModuleObject) if isinstance(held, Address) else None
        is_whole = found is not None and found.open is None and OPEN not in found.modules
        return found.modules if found is not None and is_whole else {}

    def _stores(self, name: str) -> list[Related]:
        stores = self.subject.facts.stores_of(name)
        return [Related(each.statement.lineno, 1, f"self.{name} is set here") for each in stores]


def _is_known(seen: Seen) -> bool:
    return any(size is not None for size in seen.shape or ())


def _shape(seen: Seen) -> str:
    sizes = ["?" if size is None else str(size) for size in seen.shape or ()]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _operation(name: str) -> str:
    """As a reader knows it."""
    return name.replace("torch.nn.functional.", "F.") if name.startswith("torch.nn.") else name


def _used_at(subject: Subject, line: int) -> Iterator[tuple[str, str]]:
    """Attributes of self that are used in a line as submodules are, and how."""
    for method in subject.facts.methods.values():
        for node, name in uses(method):
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                is_called = isinstance(node, ast.Call) and attribute_of(node.func, method.receiver) == name
                is_part = isinstance(node, ast.Call) and held_by(node.func, method.receiver) == name
                yield name, "called" if is_called else "used" if is_part else "gone through"


def _node_at(tree: ast.AST, line: int, attribute: str | None) -> ast.AST | None:
    """The call at a line that speaks of an attribute, else the first expression that begins there, else the statement
    around it."""
    around: ast.AST | None = None
    begins: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            around = node if around is None or node.lineno >= around.lineno else around  # type: ignore[attr-defined]
        elif isinstance(node, ast.expr) and node.lineno == line:
            begins.append(node)
    for node in begins if attribute else ():
        last = (attribute or "").partition(".")[0]
        if isinstance(node, ast.Call) and any(_is_of(each, last) for each in ast.walk(node.func)):
            return node
    calls: Iterator[ast.expr] = (each for each in begins if isinstance(each, (ast.Call, ast.BinOp)))
    return next(calls, None) or around


def _is_of(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute
