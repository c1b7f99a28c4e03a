"""What a call gives and does: methods of modules and lists, functions of Python and torch."""

from __future__ import annotations

import ast

from modgraph.rules.declared.functions import (
    FUNCTIONS,
    Arguments,
    given_to,
    inside,
    parameters_of,
)
from modgraph.rules.declared.known_functions import (
    ADDING,
    ALIKE,
    COPYING,
    DATA_OF_MODULES,
    SAME,
    TAKING,
    TOUCHING,
)
from modgraph.rules.declared.sources import assigned, is_of_python
from modgraph.rules.declared.statements import Statements
from modgraph.rules.declared.values import (
    ANY,
    BUFFER,
    DATA,
    NONE,
    NOTHING,
    NUMBER,
    NUMBERS,
    ONLY_DATA,
    ONLY_NONE,
    ONLY_OPEN,
    OPEN,
    PARAMETER,
    Above,
    Atom,
    Bound,
    Box,
    Builtin,
    ClassOf,
    Code,
    Elsewhere,
    File,
    Frame,
    Given,
    Kind,
    Made,
    Text,
    Values,
    holds_modules,
)
from modgraph.source.dotted_names import dotted
from modgraph.source.module_classes import makes_no_modules
from modgraph.source.torch_names import CONTAINERS, torch_class


class Calls(Statements):
    """Calls of expressions, and what is called."""

    def call_of(self, node: ast.Call, frame: Frame) -> Values:
        arguments = self._arguments(node, frame)
        function = node.func
        if isinstance(function, ast.Attribute):
            values = self.value(function.value, frame)
            found = self._method(values, function, arguments, node, frame)
        else:
            found = NOTHING
            for each in self.value(function, frame):
                found |= self.apply(each, arguments, node, frame)
        self._given_back(node, function, frame)
        return found

    def _arguments(self, node: ast.Call, frame: Frame) -> Arguments:
        places = [self.value(each, frame) for each in node.args if not isinstance(each, ast.Starred)]
        more = [self.items(self.value(each.value, frame)) for each in node.args if isinstance(each, ast.Starred)]
        names: list[tuple[str, Values]] = []
        for each in node.keywords:
            values = self.value(each.value, frame)
            if each.arg is None:
                more.append(self.items(values))
            else:
                names.append((each.arg, values))
        cut = next((at for at, each in enumerate(node.args) if isinstance(each, ast.Starred)), None)
        if cut is not None:
            more += places[cut:]
            places = places[:cut]
        return Arguments(tuple(places), tuple(names), NOTHING.union(*more), tuple(node.args))

    def _given_back(self, node: ast.Call, function: ast.expr, frame: Frame) -> None:
        """A function has put something into a list that it was given."""
        for value in self.value(function, frame) if isinstance(function, (ast.Name, ast.Attribute)) else ():
            code = value.code if isinstance(value, Bound) else value
            if not isinstance(code, Code):
                continue
            receiver = value.receiver if isinstance(value, Bound) else frame.receiver if code.around else None
            called = self.frames.get((code, receiver))
            self.read.add(("frame", code, receiver) if called is None else ("changed", id(called)))
            if called is None or not called.changed:
                continue
            taken = parameters_of(called.node)[1 if isinstance(value, Bound) else 0 :]
            pairs = [*zip(taken, node.args, strict=False), *((each.arg, each.value) for each in node.keywords)]
            for name, given in pairs:
                if name in called.changed:
                    self.add_to(given, called.changed[name], [ANY], frame)

    def _method(
        self, values: Values, function: ast.Attribute, arguments: Arguments, node: ast.Call, frame: Frame
    ) -> Values:
        """`x.name(...)`, for each thing that x may be."""
        name = function.attr
        found: Values = NOTHING
        for base in values:
            if base is OPEN or base is DATA:
                self.registers(base, name, arguments, node, frame)
            methods = self._methods(base, name)
            for method in methods:
                found |= self.apply(method, arguments, node, frame)
            if not methods:
                found |= self._plain_method(base, name, arguments, node, frame)
        if name in ADDING:
            names = self.texts(node.args[0], frame) if name == "setdefault" and node.args else [NUMBERS]
            names = self.keys_of(node, frame) if name == "update" else names
            self.add_to(function.value, arguments.all, names, frame)
        if name in TAKING:
            found |= self.items(values)
        return found

    def _methods(self, base: Atom, name: str) -> Values:
        """What is called, where source says it."""
        if isinstance(base, (Elsewhere, File, ClassOf)) or base is OPEN:
            return self._attribute(base, name)
        if isinstance(base, Above):
            return self.above(base, name)
        if isinstance(base, Made) and (self.found(base.kind, name) or self.stored_as(base.kind, name) is not None):
            return self._of_instance(base.kind, name)
        return NOTHING

    def _plain_method(self, base: Atom, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        """A method that is torch's or Python's, or that of a class which is not followed."""
        if isinstance(base, Above):
            return self._super_method(base, name, arguments, node, frame)
        kind = base.kind if isinstance(base, Made) else None
        is_module = isinstance(base, Box) or (kind is not None and self.sources.is_module(kind) is not False)
        if not is_module:
            plain = ONLY_DATA if base is DATA or kind is not None or isinstance(base, Given) else ONLY_NONE
            return NOTHING if name in TAKING else plain | (arguments.all if name in ADDING else NOTHING)
        if self.registers(base, name, arguments, node, frame) or name in DATA_OF_MODULES:
            return ONLY_DATA
        if name in SAME:
            self._visit(arguments, node, frame)
            return frozenset([base])
        if name in ADDING or name in TAKING:
            return NOTHING
        given = frozenset(each for each in arguments.all if isinstance(each, (Made, Box)) and each != base)
        if given and name != "post_init":
            self.hand_out(frozenset([base]) | given)
        return ONLY_OPEN

    def _visit(self, arguments: Arguments, node: ast.Call, frame: Frame) -> None:
        """`apply(function)`: it is called with whatever is below."""
        for each in arguments.all:
            if isinstance(each, (Code, Bound)):
                self.apply(each, Arguments((ONLY_OPEN,)), node, frame)

    def _super_method(self, base: Above, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        made = Made(base.receiver)
        if name == "__init__":
            self.torch_init(made, base.receiver, arguments, frozenset(self.keys_of(node, frame)))
            return ONLY_DATA
        if name in TAKING or name in ("__getattr__", "__getattribute__", "__iter__"):
            return self.stored_as(base.receiver, NUMBERS) or ONLY_NONE
        self.registers(made, name, arguments, node, frame)
        if name in ADDING:
            self.store(made, NUMBERS, arguments.all)
        return ONLY_DATA

    def torch_init(self, made: Made, kind: Kind, arguments: Arguments, names: frozenset[str] | Values) -> None:
        """The constructor of torch's, with what it is given by a class that derives from it."""
        torch = next((each.torch for each in self.sources.line(kind)[0] if each.torch is not None), None)
        if torch in CONTAINERS:
            for name in names or (NUMBERS,):
                self.store(made, str(name), arguments.all)
        elif torch != "Module" and torch is not None and holds_modules(arguments.all):
            self.hand_out(frozenset([made]))
        elif torch is None:  # a list or dict of Python's, or what nobody knows
            self.store(made, NUMBERS, arguments.all)

    def registers(self, base: Atom, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> bool:
        """Methods of a module that give it a child, a parameter or a buffer under a name."""
        how = {
            "add_module": None,
            "register_module": None,
            "register_parameter": frozenset([PARAMETER]),
            "register_buffer": frozenset([BUFFER]),
            "set_submodule": None,
            "__setattr__": None,
        }
        if name not in how:
            return False
        given = [each.value for each in node.keywords if each.arg == "name"] or node.args
        values = how[name] or arguments.all
        if DATA in values and name != "__setattr__":  # torch takes nothing but modules there
            values |= ONLY_OPEN
        names = self.texts(given[0], frame) if given and name != "set_submodule" else [ANY]
        for each in names:
            self.store(base, each, frozenset(v for v in values if not isinstance(v, Text)))
        return True

    def keys_of(self, node: ast.Call, frame: Frame) -> list[str]:
        """The names that children of a container get of what it is given."""
        return self._keys(node.args[0], frame) if len(node.args) == 1 else [ANY]

    def _keys(self, given: ast.expr, frame: Frame) -> list[str]:
        """The keys of a dict, or the first of pairs, that stands there."""
        keys: list[ast.expr | None] = [None]
        if isinstance(given, ast.Call) and (dotted(given.func) or "").rpartition(".")[2] in ("OrderedDict", "dict"):
            named = [each.arg or ANY for each in given.keywords]
            return (self._keys(given.args[0], frame) if given.args else []) + named or [ANY]
        if isinstance(given, ast.Dict):
            keys = list(given.keys)
        elif isinstance(given, ast.DictComp):
            keys = [given.key]
        elif isinstance(given, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)):
            pairs = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given.elt]
            keys = [each.elts[0] if isinstance(each, ast.Tuple) and len(each.elts) == 2 else None for each in pairs]
        names = [name for key in keys for name in ([ANY] if key is None else self.texts(key, frame))]
        return list(dict.fromkeys(names)) or [ANY]

    def apply(self, called: Atom, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        """One thing that may be called."""
        if isinstance(called, ClassOf):
            return (
                self._of_torch(called.kind, arguments, node, frame)
                if called.kind.torch
                else self.make(called.kind, arguments)
            )
        if isinstance(called, Code):
            return self.call(called, frame.receiver if called.around else None, arguments)
        if isinstance(called, Bound):
            first = arguments.places[0] if called.is_class and arguments.places else NOTHING
            instances = [each.kind for each in first if isinstance(each, Made)]  # Base.__init__(self)
            calls = [self.call(called.code, kind, arguments, bound=False) for kind in instances]
            return (
                NOTHING.union(*calls)
                if calls
                else self.call(called.code, called.receiver, arguments, bound=not called.is_class)
            )
        if isinstance(called, Builtin):
            return self._builtin(called.name, arguments, node, frame)
        if isinstance(called, Elsewhere):
            return self._elsewhere(called.path, arguments, node, frame)
        if isinstance(called, Made):
            found: Values = NOTHING
            members = self.found(called.kind, "__call__")
            for owner, member in members:
                if isinstance(member, FUNCTIONS):
                    found |= self.call(self.code_at(owner.file, member, owner), called.kind, arguments, bound=True)
            return found if members else ONLY_DATA
        if called is OPEN:
            self.hand_out(arguments.all)
            return ONLY_OPEN
        return ONLY_NONE if called is NONE or called is NUMBER or isinstance(called, Text) else ONLY_DATA

    def _of_torch(self, kind: Kind, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        name = kind.torch
        if name not in CONTAINERS:
            return frozenset([Made(kind)])
        box = Box((frame.code.file, node.lineno, node.col_offset, frame.receiver), str(name))
        given = arguments.all
        is_dict = name in ("ModuleDict", "ParameterDict")
        names = self.names_in(node, frame, is_dict) if is_dict or name == "Sequential" else [NUMBERS]
        self.held.setdefault(box, {})
        for each in names if given else ():
            self.store(box, each, frozenset(v for v in given if not isinstance(v, (Text, Builtin))))
        return frozenset([box])

    def names_in(self, node: ast.Call, frame: Frame, is_dict: bool) -> list[str]:
        """The names of children of a `Sequential` or `ModuleDict` that is made: keys, where it is given a dict."""
        of_one = ANY if is_dict else NUMBERS
        given = node.args[0] if len(node.args) == 1 else None
        if given is None or isinstance(given, ast.Starred):
            return [of_one] if node.args else [ANY]
        if isinstance(given, ast.Name) and given.id in frame.locals and given.id not in parameters_of(frame.node):
            return self._names_of_variable(given.id, frame, of_one)
        return [of_one] if self._makes_a_module(given, frame) else self.keys_of(node, frame)

    def _names_of_variable(self, name: str, frame: Frame, of_one: str) -> list[str]:
        """The same where it is given a variable, by what is stored in that."""
        found: list[str] = []
        for node in inside(frame.node):
            if isinstance(node, ast.Call) and any(getattr(each, "id", "") == name for each in given_to(node)):
                found += [ANY] if any(map(_may_fill, self.value(node.func, frame))) else []
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                found += [ANY] if node.attr in ADDING else []
            for target, value in assigned(node) if isinstance(node, ast.stmt) else ():
                if isinstance(target, ast.Subscript) and getattr(target.value, "id", "") == name:
                    found += self.texts(target.slice, frame)
                elif not (isinstance(target, ast.Name) and target.id == name) or value is None:
                    found += [ANY] if name in {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} else []
                elif self._makes_a_module(value, frame):
                    found.append(of_one)
                elif not _is_empty(value):
                    found += self._keys(value, frame)
        return found or [ANY]

    def _makes_a_module(self, node: ast.expr, frame: Frame) -> bool:
        """A call certainly gives one module and no dict of them."""
        called = self.value(node.func, frame) if isinstance(node, ast.Call) else NOTHING
        return bool(called) and all(
            torch_class(v.path) is not None
            if isinstance(v, Elsewhere)
            else isinstance(v, ClassOf) and self.sources.is_module(v.kind)
            for v in called
        )

    def _builtin(self, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        if name == "super":
            owner = frame.code.owner
            return ONLY_OPEN if owner is None or frame.receiver is None else frozenset([Above(owner, frame.receiver)])
        if name == "range":
            return frozenset([NUMBER])
        if name in ("getattr", "setattr") and len(node.args) >= 2:
            return self._by_name(name, arguments, node, frame)
        if name == "type" and len(node.args) == 1:
            found = frozenset(ClassOf(each.kind) for each in arguments.all if isinstance(each, Made))
            return found or ONLY_DATA
        if name == "map" and node.args:
            below = Arguments(tuple(self.items(each) for each in arguments.places[1:]))
            return NOTHING.union(*(self.apply(each, below, node, frame) for each in arguments.places[0]))
        if name in ("vars", "globals", "locals", "eval", "exec", "__import__"):
            return ONLY_OPEN
        return self.items(arguments.all) or ONLY_NONE if name in ALIKE else ONLY_NONE

    def _by_name(self, how: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        """`getattr` and `setattr`."""
        names = self.texts(node.args[1], frame)
        if how == "setattr":
            for base in arguments.places[0]:
                for name in names:
                    self.store(base, name, arguments.places[2] if len(arguments.places) > 2 else ONLY_OPEN)
            return ONLY_DATA
        found: Values = arguments.places[2] if len(arguments.places) > 2 else NOTHING
        for name in names:
            if ANY in name or NUMBERS in name:
                is_data = all(each in (DATA, NONE) or isinstance(each, (Text, Given)) for each in arguments.places[0])
                found |= ONLY_DATA if is_data else ONLY_OPEN
            else:
                found |= self.attribute(arguments.places[0], name)
        return found

    def _elsewhere(self, path: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        """What an import path leads to is called."""
        if torch_class(path):
            return self._of_torch(Kind("", path), arguments, node, frame)
        last = path.rpartition(".")[2]
        if path.startswith("torch."):
            if last in ("Parameter", "UninitializedParameter"):
                return frozenset([PARAMETER])
            if last in ("Buffer", "UninitializedBuffer"):
                return frozenset([BUFFER])
            if path.startswith(TOUCHING):
                self.hand_out(arguments.all, "torch")
                return arguments.all | (ONLY_OPEN if holds_modules(arguments.all) else ONLY_NONE)
            return ONLY_NONE
        if last == "partial":
            for each in arguments.places[0] if arguments.places else ():
                self.apply(each, Arguments(arguments.places[1:], arguments.names, arguments.more), node, frame)
            return arguments.places[0] if arguments.places else ONLY_OPEN
        if path.startswith(COPYING):
            return self.items(arguments.all, whole=True) or ONLY_NONE
        if path.startswith(("importlib", "sys.")):
            return ONLY_OPEN
        if is_of_python(path) or makes_no_modules(path):
            return ONLY_NONE
        self.hand_out(arguments.all, path.partition(".")[0])
        return ONLY_OPEN


def _may_fill(called: Atom) -> bool:
    """It may put something into a dict that it is given."""
    return called is OPEN or called is DATA or isinstance(called, (Code, Bound, Made))


def _is_empty(node: ast.expr) -> bool:
    """A dict without anything in it: `{}`, `OrderedDict()`."""
    return not node.keys if isinstance(node, ast.Dict) else isinstance(node, ast.Call) and not node.args + node.keywords
