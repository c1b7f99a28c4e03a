"""A constructor followed in every way at once: what may be stored under which name, whatever the arguments are.

No test is decided and no loop counted: all statements happen, in any order, as often as one likes. What is not found
so is not there in any configuration. Functions of which no source is read may do anything with what they are given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from modgraph.rules.declared.functions import (
    FUNCTIONS,
    NO_ARGUMENTS,
    Arguments,
    builds,
    constant,
    gives,
    inside,
    locals_of,
    owner_of,
    parameters_of,
)
from modgraph.rules.declared.known_functions import (
    ADDING,
    ALIKE,
    COPYING,
    DATA_OF_MODULES,
    REGISTRIES,
    SAME,
    TAKING,
    TOUCHING,
)
from modgraph.rules.declared.sources import Sources, assigned, is_of_python, members_of
from modgraph.rules.declared.torch_trees import children_of
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
    FrameKey,
    Given,
    Kind,
    Made,
    Plain,
    Text,
    Values,
    holds_modules,
)
from modgraph.source.module_classes import makes_no_modules
from modgraph.source.torch_names import CONTAINERS, torch_class

MAX_FRAMES = 1_200
MAX_FUNCTIONS = 500
MAX_CALLS = 6
"""Functions that call each other, from a constructor on."""
MAX_ROUNDS = 25
MAX_NAMES = 64
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_PROPERTY = ("property", "cached_property")


class TooMuchError(Exception):
    """It is more than may be followed."""


class Followed:
    """The classes that are reached from one, and what is stored on their instances."""

    def __init__(self, sources: Sources, introduced: frozenset[Kind]) -> None:
        self.sources = sources
        self.introduced = introduced
        """Classes that ask for declarations of those that derive from them: they, and what is above, name nothing."""
        self.stored: dict[Kind, dict[str, Values]] = {}
        self.held: dict[Box, dict[str, Values]] = {}
        self.anywhere: dict[str, Values] = {}
        """What is stored on objects of which nothing is known."""
        self.touched: dict[Kind, set[str]] = {}
        """By class: the packages whose functions are given an instance, and that nobody can read; "" for others."""
        self.frames: dict[FrameKey, Frame] = {}
        self._variables: dict[tuple[str, str], Values] = {}
        self._reading: set[tuple[str, str]] = set()
        self._nodes: dict[tuple[str, int, int], ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self._changed = False
        self._depth = 0
        self._is_all = False
        """All that is stored has been seen: what is read and is not there comes from elsewhere."""
        self._files: dict[str, Frame] = {}
        self._named: dict[Kind, frozenset[str]] | None = None
        """The names that there are once everything is built, while other methods are followed."""

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def follow(self, root: Kind, arguments: Arguments) -> None:
        """Raises TooMuchError."""
        try:
            self.make(root, arguments)
            for frame in list(self.frames.values()):
                for star in (frame.node.args.vararg, frame.node.args.kwarg):
                    if star is not None and frame.receiver == root:
                        self._put(frame.names, star.arg, ONLY_OPEN if star.annotation is not None else ONLY_DATA)
        except RecursionError as error:
            raise TooMuchError from error
        self.settle()
        self._follow_other_methods()

    def _follow_other_methods(self) -> None:
        """Whoever has the model may call what builds a part of it later: `configure_model`, `add_head`, `tie`. Of what
        such a method is given nothing is known, and it is taken to be no module unless it is called as one."""
        self._named = {kind: frozenset(names) for kind, names in self.stored.items()}
        for kind in [kind for kind in self._named if kind.file and self.sources.is_module(kind)]:
            for owner in self.line(kind):
                for node in self.sources.nodes(owner):
                    for member in members_of(node):
                        if isinstance(member, FUNCTIONS) and builds(member):
                            self._follow_later(owner, member, kind)
        self.settle()

    def _follow_later(self, owner: Kind, node: ast.FunctionDef | ast.AsyncFunctionDef, kind: Kind) -> None:
        code = self._code(owner.file, node, owner)
        self._depth = 0
        frame = None if (code, kind) in self.frames else self._frame(code, kind)
        if frame is not None:
            taken = parameters_of(node)
            self._bind(frame, Arguments(names=tuple((name, ONLY_DATA) for name in taken[1:])), kind)

    def settle(self) -> None:
        """Everything that is reached, until nothing is new. Raises TooMuchError."""
        try:
            for _ in range(MAX_ROUNDS):
                self._changed = False
                self._variables.clear()
                for frame in list(self.frames.values()):
                    self._run(frame)
                if not self._changed and self._is_all:
                    return
                self._is_all = self._is_all or not self._changed
        except RecursionError as error:
            raise TooMuchError from error
        raise TooMuchError

    def _run(self, frame: Frame) -> None:
        self._depth = frame.depth
        if isinstance(frame.node, ast.Lambda):
            self._return(frame, self.value(frame.node.body, frame))
        else:
            self.execute(frame.node.body, frame)

    def _return(self, frame: Frame, values: Values) -> None:
        if not values <= frame.returned:
            frame.returned |= values
            self._changed = True

    def _put(self, into: dict[str, Values], name: str, values: Values) -> None:
        before = into.get(name, NOTHING)
        if name not in into or not values <= before:
            into[name] = before | values
            self._changed = True

    def store(self, target: Atom, name: str, values: Values) -> None:
        """Something becomes an attribute, or an item, of an object."""
        if self._named is not None:
            values = self._kept_later(target, name, values)
            if not values:
                return
        if isinstance(target, Made):
            self._put(self.stored.setdefault(target.kind, {}), name, values)
        elif isinstance(target, Box):
            self._put(self.held.setdefault(target, {}), name, values)
        elif isinstance(target, Above):
            self._put(self.stored.setdefault(target.receiver, {}), name, values)
        elif (target is OPEN or target is DATA) and values - ONLY_DATA:
            self._put(self.anywhere, name, values)

    def _kept_later(self, target: Atom, name: str, values: Values) -> Values:
        """What a method that is called later may add to the tree: a module that it makes, under whatever name; what is
        not known, under a new name alone."""
        made = frozenset(each for each in values if isinstance(each, (Made, Box)) or each in (PARAMETER, BUFFER))
        named = self._named or {}
        is_new = isinstance(target, Made) and name != ANY and name not in named.get(target.kind, ())
        if not isinstance(target, (Made, Box)) or not is_new:
            return made
        return made | ONLY_DATA if values & {OPEN, DATA} else made

    def hand_out(self, values: Values, package: str = "") -> None:
        """It is given to code that nobody can read."""
        if self._named is not None:
            return
        for value in values:
            if isinstance(value, Made):
                self.touched.setdefault(value.kind, set()).add(package)
            if isinstance(value, (Made, Box)):
                self.store(value, ANY, ONLY_OPEN)

    # ---- classes -----------------------------------------------------------------------------------------------------

    def line(self, kind: Kind) -> Sequence[Kind]:
        """The classes of an instance that are followed."""
        line = self.sources.line(kind)[0]
        stop = next((at for at, each in enumerate(line) if each in self.introduced), len(line))
        return line[:stop]

    def is_framed(self, kind: Kind) -> bool:
        """Some base asks for declarations."""
        return len(self.line(kind)) < len(self.sources.line(kind)[0])

    def make(self, kind: Kind, arguments: Arguments) -> Values:
        """A class is called."""
        if kind not in self.stored:
            self.stored[kind] = {}
            self._changed = True
            is_whole = self.sources.line(kind)[1] or self.is_framed(kind)
            if not is_whole or any(self._found(kind, name) for name in ("__new__", "__setattr__")):
                self.store(Made(kind), ANY, ONLY_OPEN)
        made: Values = frozenset([Made(kind)])
        for owner, node in self._found(kind, "__init__"):
            if isinstance(node, FUNCTIONS):
                self.call(self._code(owner.file, node, owner), kind, arguments, bound=True)
                return made
        self._built_plainly(kind, arguments)
        return made

    def _built_plainly(self, kind: Kind, arguments: Arguments) -> None:
        """Of a class without a constructor of its own: fields of a data class, items of a container."""
        is_module = self.sources.is_module(kind)
        if is_module:
            self._torch_init(Made(kind), kind, arguments, NOTHING)
            return
        for each in self.line(kind):
            for node in self.sources.nodes(each):
                for member in node.body:
                    if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                        self.store(Made(kind), member.target.id, arguments.all | ONLY_DATA)
        self.store(Made(kind), NUMBERS, arguments.all)

    def _found(self, kind: Kind, name: str, after: Kind | None = None) -> list[tuple[Kind, ast.stmt]]:
        """The statements that define an attribute of instances, in the first class of the line that has any."""
        line = list(self.line(kind))
        if after is not None:
            line = line[line.index(after) + 1 :] if after in line else []
        for each in line:
            found = self.sources.own(each).get(name)
            if found:
                return [(each, node) for node in found]
        return []

    def _code(
        self,
        file: str,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        owner: Kind | None = None,
        around: Frame | None = None,
    ) -> Code:
        code = Code(file, node.lineno, node.col_offset, owner, None if around is None else around.key)
        self._nodes[file, node.lineno, node.col_offset] = node
        return code

    # ---- calls -------------------------------------------------------------------------------------------------------

    def call(self, code: Code, receiver: Kind | None, arguments: Arguments, bound: bool = False) -> Values:
        """A function is called: its parameters may be that, too."""
        frame = self._frame(code, receiver)
        if frame is None:
            self.hand_out(arguments.all)
            return ONLY_OPEN
        self._bind(frame, arguments, receiver if bound else None)
        return frame.returned

    def _frame(self, code: Code, receiver: Kind | None) -> Frame | None:
        key = code, receiver
        if key in self.frames:
            return self.frames[key]
        node = self._nodes.get((code.file, code.line, code.column)) or self._function_at(code)
        if node is None:
            return None
        depth = 0 if getattr(node, "name", "") == "__init__" else self._depth + 1
        if depth and (depth > MAX_CALLS or len(self.frames) >= MAX_FUNCTIONS):
            return None
        if len(self.frames) >= MAX_FRAMES:
            raise TooMuchError
        around = self.frames.get(code.around) if code.around is not None else None
        frame = Frame(code, node, receiver, locals=locals_of(node), around=around, depth=depth)
        self.frames[key] = frame
        self._changed = True
        frame.returned = NOTHING if gives(node) else ONLY_NONE
        home = self._file(code.file)
        taken = node.args
        places = [*taken.posonlyargs, *taken.args]
        pairs = list(zip(reversed(places), reversed(taken.defaults), strict=False))
        pairs += [(a, d) for a, d in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if d is not None]
        for place, default in pairs:
            self._put(frame.names, place.arg, self.value(default, around or home))
        return frame

    def _function_at(self, code: Code) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        text = self.sources.text(code.file)
        for nodes in text.functions.values() if text is not None else ():
            for node in nodes:
                if (node.lineno, node.col_offset) == (code.line, code.column):
                    return node
        return None

    def _bind(self, frame: Frame, arguments: Arguments, receiver: Kind | None) -> None:
        taken = frame.node.args
        places = [each.arg for each in (*taken.posonlyargs, *taken.args)]
        given = list(arguments.places)
        if receiver is not None:
            given.insert(0, frozenset([self._receiver(frame, receiver)]))
        for name, values in zip(places, given, strict=False):
            self._give(frame, name, values)
        if taken.vararg is not None:
            self._put(frame.names, taken.vararg.arg, NOTHING.union(*given[len(places) :], arguments.more) | ONLY_DATA)
        known = {*places, *(each.arg for each in taken.kwonlyargs)}
        rest: Values = arguments.more
        for name, values in arguments.names:
            if name in known:
                self._give(frame, name, values)
            else:
                rest |= values
        if taken.kwarg is not None:
            self._put(frame.names, taken.kwarg.arg, rest | ONLY_DATA)
        for name in known:
            if arguments.more and not (receiver is not None and places[:1] == [name]):
                self._give(frame, name, arguments.more)

    def _give(self, frame: Frame, name: str, values: Values) -> None:
        """An argument: what is not known of it, its annotation may say."""
        if DATA in values:
            taken = frame.node.args
            places = (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)
            annotation = next((each.annotation for each in places if each.arg == name), None)
            owner = frame.code.owner or Kind(frame.code.file, "")
            by_it = None if annotation is None else self.sources.by_annotation(owner, annotation)
            values = values if by_it is None else values - ONLY_DATA | by_it
        self._put(frame.names, name, values)

    def _receiver(self, frame: Frame, receiver: Kind) -> Atom:
        names = {getattr(each, "id", "") for each in getattr(frame.node, "decorator_list", ())}
        is_class = "classmethod" in names or getattr(frame.node, "name", "") in ("__new__", "__init_subclass__")
        return ClassOf(receiver) if is_class else Made(receiver)

    def _file(self, file: str) -> Frame:
        """The top of a file, where names are looked up."""
        if file not in self._files:
            self._files[file] = Frame(Code(file, 0, 0), ast.Lambda(args=NO_ARGUMENTS, body=ast.Constant(None)), None)
        return self._files[file]

    # ---- statements --------------------------------------------------------------------------------------------------

    def execute(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        for node in body:
            self._statement(node, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        if isinstance(node, FUNCTIONS):
            code = self._code(frame.code.file, node, frame.code.owner, frame)
            self._put(frame.names, node.name, frozenset([code]))
        elif isinstance(node, ast.ClassDef):
            self._put(frame.names, node.name, ONLY_OPEN)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, frame)
        elif isinstance(node, ast.Return):
            self._return(frame, self.value(node.value, frame) if node.value is not None else ONLY_NONE)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._loop(node.target, node.iter, frame)
            self.execute((*node.body, *node.orelse), frame)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                values = self.value(item.context_expr, frame)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, values, frame)
            self.execute(node.body, frame)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target, value in assigned(node):
                values = NOTHING if value is None else self.value(value, frame)
                if isinstance(node, ast.AugAssign):
                    self.add_to(target, values, [NUMBERS] if isinstance(node.op, ast.Add) else [ANY], frame)
                else:
                    self.assign(target, values, frame)
        else:
            self._compound(node, frame)

    def _compound(self, node: ast.AST, frame: Frame) -> None:
        """What is in a statement of another kind, in the order of the text."""
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.stmt):
                self._statement(each, frame)
            elif isinstance(each, ast.expr):
                self.value(each, frame)
            elif isinstance(each, (ast.ExceptHandler, ast.match_case)):
                self._compound(each, frame)

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                name, bound = (each.asname, (each.name, "", 0)) if each.asname else (
                    each.name.partition(".")[0], (each.name.partition(".")[0], "", 0))  # fmt: skip
            else:
                name, bound = each.asname or each.name, (node.module or "", each.name, node.level)
            self._put(frame.names, name, self._known(self.sources.imported(frame.code.file, bound)))

    def _loop(self, target: ast.expr, over: ast.expr, frame: Frame) -> None:
        """Each name of a loop is what stands at its place."""
        called = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        if isinstance(over, ast.Call) and called in ("enumerate", "zip") and isinstance(target, ast.Tuple):
            parts = [self.value(each, frame) for each in over.args]
            parts = [frozenset([NUMBER]), *parts] if called == "enumerate" else parts
            if len(parts) == len(target.elts) and not over.keywords:
                for place, values in zip(target.elts, parts, strict=True):
                    self.assign(place, self.items(values), frame)
                return
        self.assign(target, self.items(self.value(over, frame)), frame)

    def assign(self, target: ast.expr, values: Values, frame: Frame) -> None:
        """Something is stored where an expression says."""
        if isinstance(target, ast.Name):
            self._put(owner_of(frame, target.id).names, target.id, values)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self.assign(each, self.items(values), frame)
        elif isinstance(target, ast.Attribute):
            for base in self.value(target.value, frame):
                self.store(base, target.attr, values)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice, frame)
            self.add_to(target.value, values, self.texts(target.slice, frame), frame)

    def add_to(self, node: ast.expr, values: Values, names: Sequence[str], frame: Frame) -> None:
        """Something is put into the container that an expression gives."""
        found = self.value(node, frame)
        for base in found:
            if isinstance(base, Box) or (isinstance(base, Made) and self._is_container(base.kind)):
                for name in names:
                    self.store(base, name, values)
        if isinstance(node, ast.Attribute) and node.attr in REGISTRIES:  # self._modules["x"] = module
            for base in self.value(node.value, frame):
                for name in names:
                    self.store(base, name, values | (ONLY_OPEN if DATA in values else NOTHING))
            return
        if found and all(isinstance(base, Box) for base in found):
            return
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            owner = owner_of(frame, node.id)
            self._put(owner.names, node.id, values)
            if node.id in parameters_of(owner.node):
                self._put(owner.changed, node.id, values)
        elif isinstance(node, ast.Attribute):
            for base in self.value(node.value, frame):
                self.store(base, node.attr, values)

    def _is_container(self, kind: Kind) -> bool:
        return any(each.torch in CONTAINERS for each in self.sources.line(kind)[0])

    # ---- expressions -------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression may be."""
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, frame)
        if isinstance(node, ast.Attribute):
            return self.attribute(self.value(node.value, frame), node.attr)
        if isinstance(node, ast.Call):
            return self._call(node, frame)
        if isinstance(node, ast.Subscript):
            self.value(node.slice, frame)
            return self.items(self.value(node.value, frame), whole=isinstance(node.slice, ast.Slice))
        if isinstance(node, ast.Lambda):
            return frozenset([self._code(frame.code.file, node, frame.code.owner, frame)])
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node, frame)
        if isinstance(node, ast.NamedExpr):
            values = self.value(node.value, frame)
            self.assign(node.target, values, frame)
            return values
        return self._combined(node, frame)

    def _combined(self, node: ast.expr, frame: Frame) -> Values:
        below = [self.value(each, frame) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        if isinstance(node, ast.JoinedStr):
            return frozenset(Text(each) for each in self.texts(node, frame) if each != ANY) or ONLY_NONE
        if isinstance(node, ast.Compare):
            return ONLY_NONE
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            self._return(frame, NOTHING.union(*below))
            return ONLY_DATA
        if isinstance(node, ast.IfExp):
            return below[1] | below[2]
        found: Values = NOTHING.union(*below)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return frozenset(each for each in found if not isinstance(each, (Text, Plain)) or each is OPEN) or ONLY_NONE
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            return found or ONLY_NONE
        return found

    def _comprehension(self, node: ast.expr, frame: Frame) -> Values:
        assert isinstance(node, _COMPREHENSIONS)
        for each in node.generators:
            self._loop(each.target, each.iter, frame)
            for test in each.ifs:
                self.value(test, frame)
        if isinstance(node, ast.DictComp):
            return self.value(node.key, frame) | self.value(node.value, frame)
        return self.value(node.elt, frame)

    def _name(self, name: str, frame: Frame) -> Values:
        each: Frame | None = frame
        while each is not None:
            if name in each.locals or name in each.names:
                return each.names.get(name, NOTHING)
            each = each.around
        return self._known(self.sources.named(frame.code.file, name))

    def _known(self, found: Values | tuple[str, str]) -> Values:
        """What a name at the top of a file is, a variable by what is assigned to it."""
        if not isinstance(found, tuple):
            return found
        if found not in self._variables and found not in self._reading:
            self._reading.add(found)
            text = self.sources.text(found[0])
            assigned_ = text.variables.get(found[1], []) if text is not None else []
            home = self._file(found[0])
            parts = [ONLY_OPEN if each is None else self.value(each, home) for each in assigned_]
            is_empty = all(isinstance(each, (ast.Dict, ast.List)) and not ast.unparse(each)[2:] for each in assigned_)
            self._variables[found] = ONLY_OPEN if is_empty else NOTHING.union(*parts)
            self._reading.discard(found)
        return self._variables.get(found, NOTHING)

    def texts(self, node: ast.expr, frame: Frame) -> Sequence[str]:
        """The names that an expression may be as the name of a child."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return [str(node.value)]
        if isinstance(node, ast.JoinedStr):
            found = [""]
            for part in node.values:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                ends = self.texts(inner, frame) if isinstance(inner, ast.expr) else [ANY]
                found = [f"{head}{end}" for head in found for end in ends]
                if any(ANY in each for each in ends) or len(found) > MAX_NAMES:
                    return [ANY]
            return found
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "str" and len(node.args) == 1:
            return self.texts(node.args[0], frame)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            pairs = [(a, b) for a in self.texts(node.left, frame) for b in self.texts(node.right, frame)]
            return [ANY] if any(ANY in pair for pair in pairs) or len(pairs) > MAX_NAMES else [a + b for a, b in pairs]
        values = self.value(node, frame)
        names = [v.text if isinstance(v, Text) else NUMBERS if v is NUMBER else ANY for v in values]
        return [ANY] if ANY in names or not names or len(names) > MAX_NAMES else sorted(set(names))

    # ---- objects -----------------------------------------------------------------------------------------------------

    def items(self, values: Values, whole: bool = False) -> Values:
        """What is in it."""
        found: Values = NOTHING
        for value in values:
            if isinstance(value, Box):
                found = found.union(*self.held.get(value, {}).values())
                found |= frozenset([value]) if whole else NOTHING
            elif isinstance(value, Made):
                found |= self._item(value)
            elif isinstance(value, Given):
                found |= ONLY_DATA
            elif isinstance(value, Above):
                found |= self.stored.get(value.receiver, {}).get(NUMBERS, NOTHING)
            else:
                found |= frozenset([value])
        return found

    def _item(self, value: Made) -> Values:
        kind = value.kind
        method = self._found(kind, "__getitem__") or self._found(kind, "__iter__")
        held = self.stored.get(kind, {}).get(NUMBERS, NOTHING)
        for owner, node in method:
            if isinstance(node, FUNCTIONS):
                held |= self.call(self._code(owner.file, node, owner), kind, Arguments((ONLY_DATA,)), bound=True)
        # A list of instances is the same as the instances.
        return held | frozenset([value])

    def attribute(self, values: Values, name: str) -> Values:
        found: Values = NOTHING
        for value in values:
            found |= self._attribute(value, name)
        return found

    def _attribute(self, value: Atom, name: str) -> Values:
        if isinstance(value, Made):
            return self._of_instance(value.kind, name)
        if isinstance(value, ClassOf):
            return self._of_class(value.kind, name)
        if isinstance(value, Above):
            return self._above(value, name)
        if isinstance(value, File):
            return self._known(self.sources.below(value.file, name))
        if isinstance(value, Elsewhere):
            return frozenset([Elsewhere(f"{value.path}.{name}")])
        if isinstance(value, Given):
            return self.sources.field(value.kind, name)
        if isinstance(value, Box):
            held = self.held.get(value, {})
            return held.get(name, NOTHING) | held.get(ANY, NOTHING) or ONLY_NONE
        if value is NONE or value is NUMBER or isinstance(value, Text):
            return ONLY_NONE
        return ONLY_OPEN if value is OPEN else ONLY_DATA

    def _of_instance(self, kind: Kind, name: str) -> Values:
        if name == "__class__":
            return frozenset([ClassOf(kind)])
        if kind.torch is not None:
            own = children_of(kind.torch)
            held = self.stored.get(kind, {}).get(name, NOTHING) | own.get(name, NOTHING) | own.get(ANY, NOTHING)
            return held or self.anywhere.get(name, ONLY_NONE)
        stored = self.stored.get(kind, {})
        found = stored.get(name, NOTHING) | self.anywhere.get(name, NOTHING)
        for owner, node in self._found(kind, name):
            found |= self._member(owner, node, kind)
        if not found:
            found = stored.get(ANY, NOTHING)
        if not found and self._is_all:
            is_data = (
                not self.sources.is_module(kind) or name in ("config", "training") or self._is_stored_above(kind, name)
            )
            found = ONLY_DATA if is_data else ONLY_OPEN
        return found

    def _is_stored_above(self, kind: Kind, name: str) -> bool:
        """A class that is not followed assigns it."""
        line = self.sources.line(kind)[0]
        for each in line[len(self.line(kind)) :]:
            for _, node in self.sources.members(each, "__init__"):
                for below in ast.walk(node):
                    if isinstance(below, ast.Attribute) and below.attr == name and isinstance(below.ctx, ast.Store):
                        return True
        return False

    def _member(self, owner: Kind, node: ast.stmt, kind: Kind, is_class: bool = False) -> Values:
        """What stands in the body of a class under a name."""
        if isinstance(node, ast.ClassDef):
            return frozenset([ClassOf(Kind(owner.file, f"{owner.name}.{node.name}"))])
        if isinstance(node, FUNCTIONS):
            code = self._code(owner.file, node, owner)
            names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
            if "staticmethod" in names:
                return frozenset([code])
            if names & set(_PROPERTY) and not is_class:
                return self.call(code, kind, Arguments(), bound=True)
            return frozenset([Bound(code, kind, is_class and "classmethod" not in names)])
        found: Values = NOTHING
        for _, value in assigned(node):
            if value is not None:
                found |= self.value(value, self._file(owner.file))
        return found

    def _of_class(self, kind: Kind, name: str) -> Values:
        found: Values = NOTHING
        line = self.sources.line(kind)[0]  # methods of classes are followed in all of them
        for each in line:
            pairs = [(each, node) for node in self.sources.own(each).get(name, ())]
            for owner, node in pairs:
                found |= self._member(owner, node, kind, is_class=True)
            if pairs:
                break
        if found or name in ("__name__", "__module__", "__qualname__", "__doc__"):
            return found or ONLY_DATA
        is_data = self.sources.is_module(kind) is False
        return ONLY_DATA if is_data else ONLY_OPEN

    def _above(self, value: Above, name: str) -> Values:
        found: Values = NOTHING
        for owner, node in self._found(value.receiver, name, value.owner):
            found |= self._member(owner, node, value.receiver)
        return found

    # ---- calls of expressions ----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, frame: Frame) -> Values:
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
                self._registers(base, name, arguments, node, frame)
            methods = self._methods(base, name)
            for method in methods:
                found |= self.apply(method, arguments, node, frame)
            if not methods:
                found |= self._plain_method(base, name, arguments, node, frame)
        if name in ADDING:
            names = self.texts(node.args[0], frame) if name == "setdefault" and node.args else [NUMBERS]
            names = self._keys(node) if name == "update" else names
            self.add_to(function.value, arguments.all, names, frame)
        if name in TAKING:
            found |= self.items(values)
        return found

    def _methods(self, base: Atom, name: str) -> Values:
        """What is called, where source says it."""
        if isinstance(base, (Elsewhere, File, ClassOf)) or base is OPEN:
            return self._attribute(base, name)
        if isinstance(base, Above):
            return self._above(base, name)
        if isinstance(base, Made):
            stored = self.stored.get(base.kind, {})
            if self._found(base.kind, name) or name in stored:
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
        if self._registers(base, name, arguments, node, frame) or name in DATA_OF_MODULES:
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
            self._torch_init(made, base.receiver, arguments, frozenset(self._keys(node)))
            return ONLY_DATA
        if name in TAKING or name in ("__getattr__", "__getattribute__", "__iter__"):
            return self.stored.get(base.receiver, {}).get(NUMBERS, NOTHING) or ONLY_NONE
        self._registers(made, name, arguments, node, frame)
        if name in ADDING:
            self.store(made, NUMBERS, arguments.all)
        return ONLY_DATA

    def _torch_init(self, made: Made, kind: Kind, arguments: Arguments, names: frozenset[str] | Values) -> None:
        """The constructor of torch's, with what it is given by a class that derives from it."""
        torch = next((each.torch for each in self.sources.line(kind)[0] if each.torch is not None), None)
        if torch in CONTAINERS:
            for name in names or (NUMBERS,):
                self.store(made, str(name), arguments.all)
        elif torch != "Module" and torch is not None and holds_modules(arguments.all):
            self.hand_out(frozenset([made]))
        elif torch is None:  # a list or dict of Python's, or what nobody knows
            self.store(made, NUMBERS, arguments.all)

    def _registers(self, base: Atom, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> bool:
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

    def _keys(self, node: ast.Call) -> list[str]:
        """The names that children of a container get of what it is given."""
        given = node.args[0] if len(node.args) == 1 else None
        if isinstance(given, ast.Call) and given.args and ast.unparse(given.func).rpartition(".")[2] == "OrderedDict":
            given = given.args[0]
        if isinstance(given, ast.Dict):
            keys = given.keys
        elif (
            isinstance(given, (ast.List, ast.Tuple))
            and given.elts
            and all(isinstance(each, ast.Tuple) and len(each.elts) == 2 for each in given.elts)
        ):
            keys = [each.elts[0] for each in given.elts if isinstance(each, ast.Tuple)]
        else:
            return [ANY]
        names = [each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else ANY for each in keys]
        return names or [ANY]

    # ---- what is called ----------------------------------------------------------------------------------------------

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
            members = self._found(called.kind, "__call__")
            for owner, member in members:
                if isinstance(member, FUNCTIONS):
                    found |= self.call(self._code(owner.file, member, owner), called.kind, arguments, bound=True)
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
        names = self._names_in(node, frame) if is_dict or name == "Sequential" else [NUMBERS]
        names = [each for each in names if each != NUMBERS] or [ANY] if is_dict else names
        self.held.setdefault(box, {})
        for each in names if given else ():
            self.store(box, each, frozenset(v for v in given if not isinstance(v, (Text, Builtin))))
        return frozenset([box])

    def _names_in(self, node: ast.Call, frame: Frame) -> list[str]:
        """The names of children of a `Sequential` or `ModuleDict` that is made: keys, where it is given a dict."""
        given = node.args[0] if len(node.args) == 1 else None
        if given is None or isinstance(given, ast.Starred):
            return [NUMBERS] if node.args else [ANY]
        if isinstance(given, ast.Name) and given.id in frame.locals and given.id not in parameters_of(frame.node):
            return self._names_of_variable(given.id, frame)
        return [NUMBERS] if self._makes_a_module(given, frame) else self._keys(node)

    def _names_of_variable(self, name: str, frame: Frame) -> list[str]:
        """The same where it is given a variable, by what is stored in that."""
        found: list[str] = []
        for node in inside(frame.node):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                found += [ANY] if node.attr in ADDING else []
            for target, value in assigned(node) if isinstance(node, ast.stmt) else ():
                if isinstance(target, ast.Subscript) and getattr(target.value, "id", "") == name:
                    found += self.texts(target.slice, frame)
                elif not (isinstance(target, ast.Name) and target.id == name) or value is None:
                    found += [ANY] if name in {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} else []
                elif self._makes_a_module(value, frame):
                    found.append(NUMBERS)
                elif not (isinstance(value, ast.Call) and not value.args) and not isinstance(value, ast.Dict):
                    found.append(ANY)
                else:
                    found += (
                        self._keys(ast.Call(value, [value], [])) if isinstance(value, ast.Dict) and value.keys else []
                    )
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
            if name == ANY or NUMBERS in name:
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
