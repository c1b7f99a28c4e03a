"""What else in a file may change what a class is built of, or reads, before it is run: code that has an instance of it,
that sets what its constructor reads, classes made of it. Of a class of which something may be changed so it is not said
that it fails with every input.

By the look of the text, and rather too much: where nothing is changed, no more is lost than a finding.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from modgraph.rules.flow_in_file import INNER, Flow, Scope
from modgraph.rules.read_by_class import FUNCTIONS, Reading, at_the_top, bound_by, root_of
from modgraph.rules.subject import Subject
from modgraph.source import containers
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import torch_class

_STATE = frozenset(("weight", "bias", "running_mean", "running_var", "forward", "in_proj_weight", "in_proj_bias"))
"""What layers of torch read of themselves and what says their shapes."""
_ATTRIBUTES = frozenset(
    (
        *("in_features", "out_features", "in_channels", "out_channels", "num_features", "normalized_shape"),
        *("num_groups", "groups", "stride", "padding", "dilation", "kernel_size", "embed_dim", "num_heads"),
        *("input_size", "hidden_size", "batch_first", "bidirectional", "num_layers", "output_size", "affine"),
    )
)
"""The same, where these are names of much else: of what is known to be a module."""
_CHANGING = (
    containers.ADDING | containers.LIST | containers.DICT | containers.SET | frozenset(("__setitem__", "__delitem__"))
)
_RESIZING = frozenset(("resize_", "resize_as_", "set_", "t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_"))
_NAMING = frozenset(
    (
        *("setattr", "delattr", "__setattr__", "__delattr__", "add_module", "register_module", "set_submodule"),
        *("register_parameter", "register_buffer"),
    )
)
"""What is given a name to set."""
_HOOKS = ("register_forward_", "register_module_forward_", "register_parametrization")
_OF_FUNCTIONS = frozenset(("__defaults__", "__kwdefaults__", "__code__", "__closure__"))
_READING = frozenset(
    (
        *("get", "items", "keys", "values", "copy", "index", "count", "union", "intersection", "difference"),
        *("issubset", "issuperset", "isdisjoint", "to_dict", "__len__", "__contains__", "__getitem__"),
    )
)
_HARMLESS = frozenset(("print", "len", "str", "repr", "list", "tuple", "dict", "set", "sorted", "isinstance", "type"))
_OWN = frozenset(("__init__", "forward", "__module__", "__doc__", "__repr__", "__str__", "__slots__", "__len__"))
_SPECIAL = frozenset(("__getattr__", "__getattribute__", "__setattr__", "__call__", "__new__", "__getitem__"))


def may_be_changed(subject: Subject) -> bool:
    """Something else in the file may change what the class is built of, or what it reads."""
    noted = "changed elsewhere"
    if noted not in subject.notes:
        try:
            subject.notes[noted] = _Look(subject).finds()
        except RecursionError:
            subject.notes[noted] = True  # nothing is known of what stands so deep
    return bool(subject.notes[noted])


def may_be_joined(subject: Subject, names: set[str]) -> bool:
    """A class of the file that is no module defines one of these names: classes may be made of both."""
    return any(
        not _is_module(subject, each) and names & _defined(each)
        for each in ast.walk(subject.file.tree)
        if isinstance(each, ast.ClassDef)
    )


def _is_module(subject: Subject, node: ast.ClassDef) -> bool:
    return subject.file.project.is_module(subject.file.path, node.name) is True


def _defined(node: ast.ClassDef) -> set[str]:
    """What the body of a class binds."""
    found = {each.name for each in node.body if isinstance(each, (ast.ClassDef, *FUNCTIONS))}
    return found | {name for each in at_the_top(node.body) for name, _ in bound_by(each)}


class _Look:
    """At one file, for one class."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        file = subject.file
        imports = file.summary.imports
        torch = frozenset(name for name, (module, _, level) in imports.items() if not level and _is_torch(module))
        self.reading = Reading(file.tree, subject.facts.node, torch)
        self.heirs = list(self._heirs())
        self.held = frozenset(filter(self._is_held, self.reading.names - torch))
        made = frozenset(each.name for each in (subject.facts.node, *self.heirs))
        related = {id(each) for each in (*self.reading.classes, *self.heirs)}
        self.flow = Flow(file.tree, made, related, self.reading, self.held)

    def _heirs(self) -> Iterator[ast.ClassDef]:
        """The classes of the file that are made of it, by way of others too."""
        pending, seen = [self.subject.facts.node], set[int]()
        while pending:
            for each in self.subject.file.bases.get(pending.pop().name, ()):
                if id(each) not in seen:
                    seen.add(id(each))
                    pending.append(each)
                    yield each

    def _is_held(self, name: str) -> bool:
        """The value of a name can be changed without giving the name another."""
        imported = self.subject.file.summary.imports.get(name)
        if imported is not None:
            module, attribute, level = imported
            is_class = attribute[:1].isupper() and not attribute.isupper()
            return bool(level or module.partition(".")[0] not in sys.stdlib_module_names) and not is_class
        for each in self.reading.definitions.get(name, ()):
            if isinstance(each, ast.ClassDef):
                if not _is_module(self.subject, each):
                    return True
            elif isinstance(each, ast.expr) and not self._is_fixed(each):
                return True
        return False

    def _is_fixed(self, node: ast.expr) -> bool:
        """A value that nothing changes: a number, a text, a tuple of such."""
        if isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)):
            return False
        if isinstance(node, ast.Call):
            name = dotted(node.func) or ""
            return root_of(node) in self.reading.torch or name in ("int", "float", "str", "len", "bool", "tuple")
        return not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and all(
            self._is_fixed(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)
        )

    # ---- classes made of it ------------------------------------------------------------------------------------------

    def finds(self) -> bool:
        return (
            not self.flow.is_settled
            or any(self._overrides(each) for each in self.heirs)
            or any(self._changes(scope) for scope in self.flow.scopes)
        )

    def _overrides(self, heir: ast.ClassDef) -> bool:
        """A class that is made of it has something else under a name that it reads."""
        reads = (self.reading.attributes | _SPECIAL) - _OWN
        if reads & _defined(heir):
            return True
        for base in heir.bases:
            name = dotted(base) or ""
            found = self.reading.definitions.get(name, [])
            kinds = [each for each in found if isinstance(each, ast.ClassDef) and id(each) not in self.reading.seen]
            if any(reads & _defined(each) for each in kinds if each not in self.heirs):
                return True
            if not found and not torch_class(self.subject.file.project.absolute(self.subject.file.summary, name) or ""):
                return True
        return False

    # ---- other code --------------------------------------------------------------------------------------------------

    def _changes(self, scope: Scope) -> bool:
        """Something that is done there may change it; what is done when the file is imported, or the class is built and
        run, is known."""
        if scope.is_run and not scope.is_top:
            return False
        return any(self._is_change(node, scope) for node in scope.nodes)

    def _is_change(self, node: ast.AST, scope: Scope) -> bool:
        if isinstance(node, ast.Nonlocal):
            return any(self._is_of_helper(name, scope) for name in node.names)
        if isinstance(node, ast.Attribute):
            is_set = not isinstance(node.ctx, ast.Load) and self._sets_attribute(node, scope)
            return is_set or (node.attr in _OF_FUNCTIONS and not scope.is_top)
        if isinstance(node, ast.Subscript):
            return not isinstance(node.ctx, ast.Load) and self._sets_item(node, scope)
        if isinstance(node, ast.AugAssign):
            return self.flow.is_suspect(node.target, scope) and not isinstance(node.target, ast.Attribute)
        if isinstance(node, ast.Call):
            return self._calls(node, scope)
        return self._binds_again(node, scope)

    def _is_of_helper(self, name: str, scope: Scope) -> bool:
        """A variable of a function around this one, which the class calls."""
        home = self.flow.home_of(name, scope)
        return home is not scope and not home.is_top and id(home.node) in self.reading.seen

    def _binds_again(self, node: ast.AST, scope: Scope) -> bool:
        """A name at the top of the file that is read gets another value, from a function or in a script."""
        if isinstance(node, ast.Name):
            names = [node.id] if not isinstance(node.ctx, ast.Load) else []
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [(each.asname or each.name).partition(".")[0] for each in node.names]
        else:
            names = []
        if scope.is_script and isinstance(node, (ast.Import, ast.ImportFrom)):
            return False
        is_shared = scope.shared.__contains__ if not scope.is_script else self.reading.names.__contains__
        return any(is_shared(name) and name in self.reading.names for name in names)

    def _is_strange(self, holder: ast.expr, scope: Scope) -> bool:
        """The `self` of a class that has nothing to do with it."""
        owner = self.flow.owner_of(holder.id, scope) if isinstance(holder, ast.Name) else None
        return owner is not None and id(owner) not in self.flow.related

    def _names(self, name: str) -> bool:
        """It reads an attribute of that name, or a name."""
        return name in self.reading.attributes or name in _STATE or name in self.reading.names

    def _sets_attribute(self, node: ast.Attribute, scope: Scope) -> bool:
        holder, name, root = node.value, node.attr, root_of(node)
        if self._is_strange(holder, scope) or (scope.is_top and root in self.reading.top):
            return self.flow.is_suspect(holder, scope) and self._names(name)
        if root in self.reading.torch and self.flow.home_of(root, scope).is_top:
            return name in self.reading.of_torch or name in _STATE
        if name == "data":
            is_state = isinstance(holder, ast.Attribute) and self._names(holder.attr)
            return is_state or self.flow.is_suspect(holder, scope)
        is_known = name in _ATTRIBUTES or self.reading.is_open
        return self._names(name) or (is_known and self.flow.is_suspect(holder, scope))

    def _sets_item(self, node: ast.Subscript, scope: Scope) -> bool:
        holder = node.value
        if isinstance(holder, ast.Attribute) and holder.attr in INNER and not self._is_strange(holder.value, scope):
            return True
        return self.flow.is_suspect(holder, scope) or self._is_of_helper(root_of(holder), scope)

    def _calls(self, call: ast.Call, scope: Scope) -> bool:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        holder = function.value if isinstance(function, ast.Attribute) else None
        if name in _NAMING:
            return self._sets_by_name(call, holder, name, scope)
        if name.startswith(_HOOKS):
            return not (holder is not None and self._is_of_strange(holder, scope))
        if name == "exec" or self._is_mock(function, scope):
            return not scope.is_top
        if holder is None:
            return self._is_handed_away(call, scope)
        if name in _RESIZING:
            return self.flow.is_suspect(holder, scope) or bool(_STATE & _attributes(holder))
        if name in _CHANGING:
            return self.flow.is_suspect(holder, scope) or self._is_of_helper(root_of(holder), scope)
        is_own = name in self.flow.methods or name in _READING
        if isinstance(holder, ast.Name) and self.flow.is_held(holder.id, scope) and not is_own:
            return not self._is_import(holder.id) and not isinstance(self._value_of(holder.id), ast.ClassDef)
        return self._is_handed_away(call, scope)

    def _is_mock(self, function: ast.expr, scope: Scope) -> bool:
        """`patch(...)`, `mock.patch.object(...)`; `self.patch(x)` is a layer."""
        parts = (dotted(function) or "").split(".")
        return "patch" in parts and self.flow.owner_of(parts[0], scope) is None

    def _is_of_strange(self, holder: ast.expr, scope: Scope) -> bool:
        """Something on the `self` of another class."""
        root = root_of(holder)
        owner = self.flow.owner_of(root, scope) if root else None
        is_strange = owner is not None and id(owner) not in self.flow.related
        return is_strange and not self.flow.is_suspect(holder, scope)

    def _sets_by_name(self, call: ast.Call, holder: ast.expr | None, name: str, scope: Scope) -> bool:
        """`setattr(net, "fc", layer)`, `net.add_module("fc", layer)`, `object.__setattr__(net, "fc", layer)`."""
        given = list(call.args)
        is_holder_first = len(given) > (1 if name in ("delattr", "__delattr__") else 2)
        if (
            name in ("setattr", "delattr", "__setattr__", "__delattr__")
            and given
            and (holder is None or is_holder_first)
        ):
            holder = given.pop(0)
        if holder is None or self._is_strange(holder, scope):
            return False
        named = next(iter(given), next((each.value for each in call.keywords if each.arg in _OF_NAMES), None))
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            return any(self._names(each) for each in named.value.split(".")) or self.flow.is_suspect(holder, scope)
        is_given = isinstance(holder, ast.Name) and holder.id in self.flow.home_of(holder.id, scope).parameters
        return is_given or self.flow.is_suspect(holder, scope)

    def _is_import(self, name: str) -> bool:
        return name in self.subject.file.summary.imports

    def _value_of(self, name: str) -> ast.AST | None:
        return next(iter(self.reading.definitions.get(name, ())), None)

    def _is_handed_away(self, call: ast.Call, scope: Scope) -> bool:
        """A value that is read is given to a function of which no text is here."""
        name = dotted(call.func) or ""
        last = name.rpartition(".")[2]
        first = self.subject.file.summary.imports.get(name.partition(".")[0])
        is_library = first is not None and (_is_torch(first[0]) or first[0].partition(".")[0] in _STANDARD)
        if last in _HARMLESS or is_library or any(True for _ in self.flow.called(call)) or not name:
            return False
        if "." in name and first is None:
            return False  # a method of something else
        given = [*call.args, *(each.value for each in call.keywords)]
        return any(
            isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)) and self.flow.is_held(root_of(each), scope)
            for each in given
            if not isinstance(each, ast.Attribute) or self.reading.is_open
        )


_OF_NAMES = ("name", "target", "__name")
_STANDARD = sys.stdlib_module_names


def _is_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def _attributes(node: ast.expr) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
