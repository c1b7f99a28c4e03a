"""A run of `forward` that seems to come to its end, found in the text alone: of such a class nothing is said to fail.

MG301 to MG304 report what fails with every input and every argument. So one run that fits is enough to say nothing, and
it is looked for before the interpreter is loaded: of what is open, sizes are chosen so that they fit, and ways so that
they go on. Whatever is not understood here ends the search (`Unproved`), and the interpreter is asked.

It is no proof: sizes that are reckoned from an open one are chosen apart from it, and dtypes, devices and numbers are
not looked at. What is said to fail for one of these reasons alone is not found.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from modgraph.rules import plain_tensors
from modgraph.rules.plain_sizes import (
    LAYERS,
    Open,
    Tensor,
    Unproved,
    attempted,
    called_with,
    given_to,
    is_plain,
    of_layer,
    seen,
    settled,
    small,
    tensor,
    unproved,
)
from modgraph.rules.plain_values import (
    BUILTINS,
    OF_NUMBERS,
    Bound,
    Chain,
    Class,
    Ended,
    Frame,
    Function,
    Layer,
    Own,
    Path,
    Tests,
    bound_to,
    computed,
    decided,
    element,
    listed,
    members,
    of_dict,
    of_list,
    of_numbers,
    of_text,
    opposite,
    unpacked,
)
from modgraph.rules.subject import Subject
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import GIVING_ITSELF, torch_class

MAX_STEPS = 30_000
"""Expressions and statements of one class: some hundredths of a second."""
_ITEMS_OF_A_STEP = 16
MAX_CALLS = 30
"""Within one another."""


def runs_plainly(subject: Subject) -> bool:
    """Some run of the class's `forward` seems to come to its end."""
    noted = "a plain run"
    if noted not in subject.notes:
        subject.notes[noted] = _runs(subject)
    return bool(subject.notes[noted])


def _runs(subject: Subject) -> bool:
    return any(_runs_on(_Runner(subject, more), subject) for more in (0, 1))


def _runs_on(runner: _Runner, subject: Subject) -> bool:
    try:
        kind = Class(subject.facts.node, subject.file.path)
        model = runner.new(kind, [], {}, is_asked=True)
        forward = runner.method(kind, "forward")
        if forward is None or forward.node.args.vararg or forward.node.args.kwarg:
            return False
        runner.enter(forward, [model], {}, is_asked=True)
    except (Unproved, RecursionError, MemoryError):
        return False  # anything else is a mistake of ours, and is told as such
    return True


_KNOWN_TO_PYTHON = frozenset((*sys.stdlib_module_names, "torch", "numpy", "einops"))
_LIBRARIES = ("torch", "math", "numpy", "collections", "logging")
_WALKS = frozenset(("modules", "named_modules", "children", "named_children", "parameters", "named_parameters"))
_BUILTINS = frozenset((*BUILTINS, "getattr", "setattr", "isinstance"))
_ABOUT = frozenset(("training", "__class__", "__module__", "__name__"))
_HARMLESS = frozenset(("data", "requires_grad"))
_IGNORED = ("torch.nn.init.", "torch.manual_seed", "warnings.")
_WRAPPERS = frozenset(("weight_norm", "spectral_norm", "remove_weight_norm", "convert_sync_batchnorm"))
_OF_MACHINES = (
    "torch.cuda.",
    "torch.load",
    "torch.device",
    "torch.hub.",
    "torch.utils.model_zoo.",
    "torch.jit.is_",
    "logging.",
)
_SPECIAL = frozenset(("__getattr__", "__getattribute__", "__setattr__", "__new__", "_call_impl"))


class _Runner:
    """Runs constructors and methods on what is known of values."""

    def __init__(self, subject: Subject, more: int) -> None:
        self.project = subject.file.project
        self.more = more
        """Dimensions of what a layer may be given in any number of them, beside the usual."""
        self.steps = self.depth = 0
        self.tests = Tests()
        self.found: dict[Any, Any] = {}
        """What was looked up once: names of modules, members of classes."""

    # ---- classes and functions ---------------------------------------------------------------------------------------

    def kept(self, key: Any, find: Callable[[], Any]) -> Any:
        """What is looked up once."""
        if key not in self.found:
            self.found[key] = find()
        return self.found[key]

    def bases(self, kind: Class) -> list[Class | str]:
        """Of one that derives from one class: from class to class, and the class of torch at the end."""
        found: list[Class | str] = self.kept(kind.node, lambda: list(self._bases(kind)))
        return found

    def _bases(self, kind: Class) -> Iterator[Class | str]:
        yield kind
        for _ in range(MAX_CALLS):
            if not kind.node.bases:
                yield "object"
                return
            if len(kind.node.bases) != 1 or kind.node.keywords:
                raise Unproved
            found = self.evaluate(kind.node.bases[0], Frame(kind.home))
            if isinstance(found, Path) and torch_class(found.path):
                yield torch_class(found.path) or ""
                return
            if not isinstance(found, Class):
                raise Unproved
            kind = found
            yield kind
        raise Unproved

    def members(self, kind: Class) -> dict[str, ast.stmt]:
        """What the body of a class binds, by name."""
        found: dict[str, ast.stmt] = self.kept((kind.node, "members"), lambda: members(kind.node))
        return found

    def method(self, kind: Class, name: str, after: Class | None = None) -> Function | None:
        """The first of that name; behind a class, where that is asked."""
        is_behind = after is None
        for each in self.bases(kind):
            if isinstance(each, str):
                return None
            node = self.members(each).get(name) if is_behind else None
            if node is not None:
                return Function(node, each.home, each) if isinstance(node, ast.FunctionDef) else None
            is_behind = is_behind or (after is not None and each.node is after.node)
        return None

    def new(self, kind: Class, places: list[Any], words: dict[str, Any], *, is_asked: bool = False) -> Own:
        base = ""
        for each in self.bases(kind):
            if isinstance(each, str):
                base = each
            elif self.members(each).keys() & _SPECIAL or (each.node.decorator_list and not is_asked):
                raise Unproved
        if base not in ("Module", "Sequential", "object") or (base != "object" and self.method(kind, "__call__")):
            raise Unproved
        made = Own(kind)
        init = self.method(kind, "__init__")
        if init is not None:
            self.enter(init, [made, *places], words, is_asked=is_asked)
        elif base == "Sequential":
            made.chain = _items(places)
        elif places or words:
            raise Unproved
        return made

    def enter(self, function: Function, places: list[Any], words: dict[str, Any], *, is_asked: bool = False) -> Any:
        """`is_asked`: what has no default may be anything."""
        node, arguments = function.node, function.node.args
        decorators = {self._decorator(each, function.home) for each in node.decorator_list} - {""}
        if (
            any(each is None or each not in ("staticmethod", "property") for each in decorators)
            or self.depth > MAX_CALLS
        ):
            raise Unproved
        if function.owner is not None and function.me is not None and "staticmethod" not in decorators:
            places = [function.me, *places]
        frame = Frame(function.home, function.owner, places[0] if places and function.owner is not None else None)
        if function.around is not None:
            self.spend(len(function.around.names))
            frame.names.update(function.around.names)
        given, defaults = bound_to(arguments, places, words)
        frame.names.update(given)
        for name, default in defaults.items():
            if default is not None:
                frame.names[name] = self.evaluate(default, Frame(function.home, function.owner))
            elif is_asked:
                frame.names[name] = Open(is_free=node.name == "__init__")
            else:
                raise Unproved
        self.depth += 1
        try:
            self.block(node.body, frame)
        except Ended as end:
            return end.value
        finally:
            self.depth -= 1
        return None

    def _decorator(self, node: ast.expr, home: str) -> str | None:
        """Its name; "" for one of torch, which calls the function as it is."""
        function = node.func if isinstance(node, ast.Call) else node
        return "" if (self.path(function, Frame(home)) or "").startswith("torch.") else dotted(node)

    # ---- statements --------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        for statement in body:
            self.spend(1)
            does = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if does is None:
                raise Unproved
            does(statement, frame)

    def _pass(self, node: ast.Pass, frame: Frame) -> None:
        pass

    def _assert(self, node: ast.Assert, frame: Frame) -> None:
        """What the source refuses is not reported."""

    def _return(self, node: ast.Return, frame: Frame) -> None:
        raise Ended("return", self.evaluate(node.value, frame) if node.value is not None else None)

    def _break(self, _: ast.Break, __: Frame) -> None:
        raise Ended("break")

    def _continue(self, _: ast.Continue, __: Frame) -> None:
        raise Ended("continue")

    def _expr(self, node: ast.Expr, frame: Frame) -> None:
        call = node.value
        if isinstance(call, ast.Constant):
            return  # a text that says something
        name = dotted(call.func) if isinstance(call, ast.Call) else None
        is_of_weights = name is not None and name.endswith("_") and (".weight." in name or ".bias." in name)
        if name == "print" or is_of_weights:
            return
        self.evaluate(call, frame)

    def _assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.evaluate(node.value, frame)
        for target in node.targets:
            self.store(target, value, frame)

    def _annassign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.store(node.target, self.evaluate(node.value, frame), frame)

    def _augassign(self, node: ast.AugAssign, frame: Frame) -> None:
        before, value = seen(self.evaluate(node.target, frame)), seen(self.evaluate(node.value, frame))
        if isinstance(before, (list, Chain)):
            if not isinstance(node.op, ast.Add):
                raise Unproved
            of_list(before if isinstance(before, list) else before.items, "extend", [value])
            return
        after = computed(node.op, before, value)
        if isinstance(before, Tensor):
            after = plain_tensors.changed("+=_", before, after)
        self.store(node.target, after, frame)

    def store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            holder = seen(self.evaluate(target.value, frame))
            if isinstance(holder, Own):
                holder.held[target.attr] = value
            elif isinstance(holder, Open) and holder.is_free:
                holder.parts[target.attr] = value
            elif isinstance(holder, Layer) and holder.given is not None:
                holder.given.known[target.attr] = value
            else:
                raise Unproved
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each, part in zip(target.elts, unpacked(value, len(target.elts)), strict=True):
                self.store(each, part, frame)
        elif isinstance(target, ast.Subscript):
            holder = seen(self.evaluate(target.value, frame))
            at = seen(self.evaluate(target.slice, frame))
            if isinstance(holder, (list, dict)):
                attempted(operator.setitem, holder, at.choose(0) if isinstance(at, Open) else at, value)
            elif isinstance(holder, Tensor):
                before = plain_tensors.indexed(holder, at)
                plain_tensors.changed("=_", before, plain_tensors.mixed(before, value))
            elif not isinstance(holder, Open):
                raise Unproved
        else:
            raise Unproved

    def _if(self, node: ast.If, frame: Frame) -> None:
        # Where either way may be gone: one that goes on.
        holds = self.holds(node.test, frame, not isinstance(node.body[-1], ast.Raise))
        self.block(node.body if holds else node.orelse, frame)

    def holds(self, test: ast.expr, frame: Frame, wanted: bool) -> bool:
        """Which way a test goes: the wanted one, where it may be either."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return not self.holds(test.operand, frame, not wanted)
        if isinstance(test, ast.BoolOp):
            is_or = isinstance(test.op, ast.Or)
            each = (self.holds(one, frame, wanted) for one in test.values)
            return any(each) if is_or else all(each)
        return decided(self.evaluate(test, frame), wanted)

    def _functiondef(self, node: ast.FunctionDef, frame: Frame) -> None:
        made = Function(node, frame.home, None)
        made.around = frame
        frame.names[node.name] = made

    def _with(self, node: ast.With, frame: Frame) -> None:
        for each in node.items:
            made = self.path(each.context_expr.func, frame) if isinstance(each.context_expr, ast.Call) else None
            if each.optional_vars is not None or made is None or not made.startswith("torch."):
                raise Unproved
        self.block(node.body, frame)

    def _for(self, node: ast.For, frame: Frame) -> None:
        if _sets_weights(node):
            return
        for item in listed(self.evaluate(node.iter, frame)):
            self.store(node.target, item, frame)
            try:
                self.block(node.body, frame)
            except Ended as end:
                if end.how == "return":
                    raise
                if end.how == "break":
                    return
        self.block(node.orelse, frame)

    # ---- expressions -------------------------------------------------------------------------------------------------

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise Unproved

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """Of no value that is large: what is done with it costs about the same."""
        does = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        value = small(does(node, frame)) if does is not None else unproved()
        self.spend(1 + (len(value) // _ITEMS_OF_A_STEP if isinstance(value, (str, list, tuple, dict)) else 0))
        return value

    def _of_constant(self, node: ast.Constant, _: Frame) -> Any:
        return unproved() if isinstance(node.value, (bytes, complex)) else node.value

    def _of_name(self, node: ast.Name, frame: Frame) -> Any:
        if node.id in frame.names:
            return frame.names[node.id]
        return self.kept((frame.home, node.id), lambda: self._global(node.id, frame.home))

    def _global(self, name: str, home: str) -> Any:
        summary = self.project.summary(home)
        if summary is None:
            raise Unproved
        stores = self.project.stores(home, name)
        if stores:
            only = stores[0] if len(stores) == 1 and name not in summary.imports else None
            is_plain_store = isinstance(only, ast.Assign) and isinstance(only.targets[0], ast.Name)
            return self.evaluate(only.value, Frame(home)) if is_plain_store else unproved()  # type: ignore[union-attr]
        path = self.project.absolute(summary, name) if name not in summary.classes else None
        if path is not None and path.partition(".")[0] in (*_LIBRARIES, "types"):
            return Path(path)
        if name in _BUILTINS and not {name} & (summary.classes.keys() | summary.functions | summary.imports.keys()):
            return Path(f"builtins.{name}")
        for where, found in self.project.homes(home, name):
            if not where:
                if name not in summary.imports:
                    continue  # a star import of which no file is found
                return Open(is_free=True) if found.partition(".")[0] not in _KNOWN_TO_PYTHON else unproved()
            made = self.project.class_node(where, found) or self.project.function(where, found)
            if isinstance(made, ast.ClassDef):
                return Class(made, where)
            return Function(made, where, None) if isinstance(made, ast.FunctionDef) else unproved()
        raise Unproved

    def _of_attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        return self.attribute(seen(self.evaluate(node.value, frame)), node.attr)

    def attribute(self, of: Any, name: str) -> Any:
        if isinstance(of, Open):
            return of.part(name)
        if isinstance(of, Path):
            path = f"{of.path}.{name}"
            if path in ("math.pi", "numpy.pi"):
                return math.pi
            return self.kept(path, lambda: Open(is_free=True)) if path == "torch.__version__" else Path(path)
        if isinstance(of, Tensor):
            found = plain_tensors.attribute(of, name)
            return Bound(of, name) if found is None else found
        if isinstance(of, Layer) and name != "forward" and name not in GIVING_ITSELF:
            return _made_with(of, name)
        if isinstance(of, (list, dict, Chain, Layer, str)):
            return Bound(of, name)
        return self._own(of, name) if isinstance(of, (Own, Class)) else unproved()

    def _own(self, of: Own | Class, name: str) -> Any:
        if isinstance(of, Own) and name in of.held:
            return of.held[name]
        kind = of.kind if isinstance(of, Own) else of
        if kind is None:
            raise Unproved
        found = self.method(kind, name)
        if found is not None:
            me = of if isinstance(of, Own) else None
            bound = Function(found.node, found.home, found.owner, me)
            is_property = any(dotted(each) == "property" for each in found.node.decorator_list)
            return self.enter(bound, [], {}) if is_property else bound
        for each in self.bases(kind):
            node = self.members(each).get(name) if isinstance(each, Class) else None
            if isinstance(each, Class) and isinstance(node, ast.Assign):
                is_whole = all(isinstance(target, ast.Name) for target in node.targets)
                return self.evaluate(node.value, Frame(each.home)) if is_whole else unproved()
            if node is not None:
                raise Unproved
        return Open(is_free=True) if name in _ABOUT else Bound(of, name)

    def _of_binop(self, node: ast.BinOp, frame: Frame) -> Any:
        return computed(node.op, seen(self.evaluate(node.left, frame)), seen(self.evaluate(node.right, frame)))

    def _of_unaryop(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = seen(self.evaluate(node.operand, frame))
        if isinstance(node.op, ast.Not):
            return opposite(value)
        if isinstance(value, (Open, Tensor)):
            return Open() if isinstance(value, Open) else value
        if not isinstance(value, (int, float)) or not isinstance(node.op, ast.USub):
            raise Unproved
        return -value

    def _of_compare(self, node: ast.Compare, frame: Frame) -> Any:
        if len(node.ops) != 1:
            raise Unproved
        left, right = self.evaluate(node.left, frame), self.evaluate(node.comparators[0], frame)
        return self.tests.compared(node.ops[0], left, right)

    def _of_boolop(self, node: ast.BoolOp, frame: Frame) -> Any:
        is_or, value = isinstance(node.op, ast.Or), None
        for each in node.values:
            value = self.evaluate(each, frame)
            if each is not node.values[-1] and decided(value, True) is is_or:
                break
        return value

    def _of_ifexp(self, node: ast.IfExp, frame: Frame) -> Any:
        return self.evaluate(node.body if self.holds(node.test, frame, True) else node.orelse, frame)

    def _of_list(self, node: ast.List | ast.Tuple, frame: Frame) -> Any:
        found: list[Any] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                found += self._spread(each.value, frame)
            else:
                found.append(self.evaluate(each, frame))
        return found

    def _spread(self, node: ast.expr, frame: Frame) -> list[Any]:
        """`*node`."""
        value = seen(self.evaluate(node, frame))
        return unproved() if isinstance(value, Open) else listed(value)

    def _of_tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        return tuple(self._of_list(node, frame))

    def _of_dict(self, node: ast.Dict, frame: Frame) -> Any:
        if any(key is None for key in node.keys):
            raise Unproved
        pairs = zip(node.keys, node.values, strict=True)
        found = {}
        for key, value in pairs:
            name = seen(self.evaluate(key, frame)) if key is not None else None
            found[name if isinstance(name, (str, int, float)) else unproved()] = self.evaluate(value, frame)
        return found

    def _of_joinedstr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        found = ""
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = seen(self.evaluate(each.value, frame))
                if isinstance(value, Open):
                    return Open()
                if each.format_spec is not None or each.conversion != -1 or not is_plain(value):
                    raise Unproved
                found = small(found + str(settled(value)))
            else:
                found = small(found + str(self.evaluate(each, frame)))
        return found

    def _of_listcomp(self, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Any:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise Unproved
        each, found = node.generators[0], []
        inner = Frame(frame.home, frame.owner, frame.me)
        self.spend(len(frame.names))
        inner.names.update(frame.names)
        for item in listed(self.evaluate(each.iter, frame)):
            self.store(each.target, item, inner)
            if all(self.holds(test, inner, True) for test in each.ifs):
                found.append(self.evaluate(node.elt, inner))
        return found

    _of_generatorexp = _of_listcomp

    def _of_subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        return element(self.evaluate(node.value, frame), self.evaluate(node.slice, frame))

    def _of_slice(self, node: ast.Slice, frame: Frame) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if each is None else seen(self.evaluate(each, frame)) for each in parts))

    # ---- calls -------------------------------------------------------------------------------------------------------

    def path(self, node: ast.expr, frame: Frame) -> str | None:
        """The import path of what is called, where its first name is none of the method's own."""
        name = dotted(node)
        summary = self.project.summary(frame.home)
        if name is None or summary is None or name.partition(".")[0] in frame.names:
            return None
        return self.project.absolute(summary, name)

    def _of_call(self, node: ast.Call, frame: Frame) -> Any:
        function = node.func
        path = self.path(function, frame) or ""
        if path.startswith(_IGNORED):
            return None
        if path.startswith(_OF_MACHINES):
            return self.kept((path, ast.dump(node)), lambda: Open(is_free=True))
        is_super = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call)
        if is_super and dotted(function.value.func) == "super":  # type: ignore[attr-defined]
            return self._super(function.attr, *self._given(node, frame), frame)  # type: ignore[attr-defined]
        called = seen(self.evaluate(function, frame))
        return self.call(called, *self._given(node, frame))

    def _given(self, node: ast.Call, frame: Frame) -> tuple[list[Any], dict[str, Any]]:
        places: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                places += self._spread(each.value, frame)
            else:
                places.append(self.evaluate(each, frame))
        words: dict[str, Any] = {}
        for word in node.keywords:
            value = seen(self.evaluate(word.value, frame))
            if word.arg is None and not isinstance(value, dict):
                raise Unproved
            words.update(value if word.arg is None else {word.arg: value})
        return places, words

    def _super(self, name: str, places: list[Any], words: dict[str, Any], frame: Frame) -> Any:
        me = frame.me
        if not isinstance(me, Own) or me.kind is None or frame.owner is None:
            raise Unproved
        found = self.method(me.kind, name, frame.owner)
        if found is not None:
            return self.enter(found, [me, *places], words)
        if name == "__init__" and list(self.bases(me.kind))[-1] == "Sequential":
            me.chain = _items(places)
        elif name == "forward" and me.chain is not None and len(places) == 1:
            return self.through(me.chain, places[0])
        elif name != "__init__" or places or words:
            raise Unproved
        return None

    def call(self, called: Any, places: list[Any], words: dict[str, Any]) -> Any:
        if isinstance(called, Open):
            return _of_open(called, places, words)
        if isinstance(called, Path):
            return self._of_path(called.path, places, words)
        if isinstance(called, Class):
            return self.new(called, places, words)
        if isinstance(called, Function):
            return self.enter(called, places, words)
        if isinstance(called, Bound):
            return self._bound(called.of, called.name, places, words)
        if isinstance(called, Own):
            kind = called.kind
            forward = None if kind is None else self.method(kind, "forward") or self.method(kind, "__call__")
            if forward is not None:
                return self.enter(forward, [called, *places], words)
            called = Chain(called.chain or [], called.chain is not None)
        if len(places) != 1 or words:
            raise Unproved
        if isinstance(called, Chain) and called.is_called:
            return self.through(called.items, places[0])
        if not isinstance(called, Layer) or called.given is None:
            raise Unproved
        return of_layer(called.kind, called.given, places[0], self.more)

    def through(self, items: Sequence[Any], value: Any) -> Any:
        for each in items:
            value = self.call(seen(each), [value], {})
        return value

    def _of_path(self, path: str, places: list[Any], words: dict[str, Any]) -> Any:
        kind = torch_class(path)
        if kind is not None:
            return _made(kind, places, words)
        package, _, name = path.rpartition(".")
        if package == "builtins":
            return self._builtin(name, places, words)
        if package in ("math", "numpy") and name in OF_NUMBERS:
            return of_numbers(name, places) if not words else unproved()
        if path == "collections.OrderedDict":
            return called_with(BUILTINS["dict"], places, words)
        if not places:
            return plain_tensors.call(name, places, words, is_method=False) if package == "torch" else unproved()
        if package == "numpy":
            return self._of_numpy(name, places)
        if path in ("torch.nn.Parameter", "torch.from_numpy", "torch.autograd.Variable"):
            return tensor(places[0])
        if path == "torch.tensor":
            return plain_tensors.of_numbers(places[0])
        if package.startswith(("torch.nn.utils", "torch.nn.SyncBatchNorm")) and name in _WRAPPERS:
            return places[0]
        if package in ("torch", "torch.nn.functional"):
            return plain_tensors.call(name, places, words, is_method=False)
        raise Unproved

    def _of_numpy(self, name: str, places: list[Any]) -> Any:
        if name == "array":
            return plain_tensors.of_numbers(places[0])
        return Tensor([places[0], places[0]]) if name == "eye" and len(places) == 1 else unproved()

    def _builtin(self, name: str, places: list[Any], words: dict[str, Any]) -> Any:
        if name in BUILTINS:
            return called_with(BUILTINS[name], places, words)
        if words or len(places) != (3 if name == "setattr" else 2):
            raise Unproved
        of, attribute = seen(places[0]), seen(places[1])
        if name == "isinstance":
            return self.tests.is_instance(of, attribute)
        if not isinstance(of, Own) or not isinstance(attribute, str):
            raise Unproved
        if name == "setattr":
            of.held[attribute] = places[2]
            return None
        if attribute not in of.held:
            raise Unproved
        return of.held[attribute]

    def _bound(self, of: Any, name: str, places: list[Any], words: dict[str, Any]) -> Any:
        if isinstance(of, Tensor):
            return plain_tensors.call(name, [of, *places], words, is_method=True)
        if isinstance(of, dict):
            return of_dict(of, name, places)
        if name == "forward" and isinstance(of, (Chain, Layer)):
            return self.call(of, places, words)
        if isinstance(of, str):
            return of_text(of, name, places)
        if name in _WALKS:
            return Open(is_free=True)
        if isinstance(of, (Chain, Layer)) and name in GIVING_ITSELF:
            return of
        if isinstance(of, (list, Chain)):
            return of_list(of if isinstance(of, list) else of.items, name, places)
        if not isinstance(of, Own):
            raise Unproved
        if name in ("state_dict", "load_state_dict", "apply"):
            return Open(is_free=True)
        if name in ("__setattr__", "add_module", "register_module", "register_buffer", "register_parameter"):
            return self._builtin("setattr", [of, *places[:2]], {})
        return of if name in GIVING_ITSELF else unproved()


def _sets_weights(node: ast.For) -> bool:
    """A loop over the modules or parameters of a model that calls none of them, and replaces nothing but data."""
    over = node.iter
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Attribute) or over.func.attr not in _WALKS:
        return False
    names = {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr not in _HARMLESS:
            return False
        called = each.func if isinstance(each, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in {*names, "setattr"}:
            return False
    return dotted(over.func.value) is not None


# ---- layers ----------------------------------------------------------------------------------------------------------


def _made(kind: str, places: list[Any], words: dict[str, Any]) -> Any:
    if kind in LAYERS:
        return Layer(kind, given_to(kind, places, words))
    if kind == "Module":
        return Own(None)
    if kind == "Sequential":
        return Chain(_items(places), True)
    if kind == "ModuleDict":
        return called_with(BUILTINS["dict"], places, {})
    if kind == "ModuleList":
        return Chain(listed(places[0]) if places else [], False)
    if kind == "TransformerEncoder" and places:
        return Chain([places[0]], True)
    return Layer(kind, None)


def _made_with(layer: Layer, name: str) -> Any:
    """An attribute of a layer."""
    if layer.given is None:
        raise Unproved
    value, rank = layer.given.need(name), LAYERS[layer.kind][0]
    return (value,) * rank if name in ("kernel_size", "stride", "dilation") and type(value) is int and rank else value


def _of_open(called: Open, places: list[Any], words: dict[str, Any]) -> Any:
    """A method of what may be a tensor; of a module that is not known, or of a library, what comes is open."""
    whence, name = called.whence or (None, None)
    if whence is not None and name in plain_tensors.NAMES and not (whence.is_free and whence.value is None):
        return plain_tensors.call(name, [whence, *places], words, is_method=True)
    return Open(is_free=True) if called.is_free else unproved()


def _items(places: list[Any]) -> list[Any]:
    """Of `nn.Sequential(...)`."""
    first = seen(places[0]) if len(places) == 1 else None
    return list(first.values()) if isinstance(first, dict) else list(places)
