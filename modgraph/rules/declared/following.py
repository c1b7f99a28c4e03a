"""A constructor followed in every way at once: what may be stored under which name, whatever the arguments are.

No test is decided and no loop counted: all statements happen, in any order, as often as one likes. What is not found
so is not there in any configuration. Functions of which no source is read may do anything with what they are given.
"""

from __future__ import annotations

import ast

from modgraph.rules.declared.calling import Calls
from modgraph.rules.declared.functions import (
    FUNCTIONS,
    Arguments,
    builds,
    gives,
    locals_of,
    parameters_of,
)
from modgraph.rules.declared.sources import members_of
from modgraph.rules.declared.values import (
    ANY,
    DATA,
    NOTHING,
    NUMBERS,
    ONLY_DATA,
    ONLY_NONE,
    ONLY_OPEN,
    Atom,
    ClassOf,
    Code,
    Frame,
    Kind,
    Made,
    Values,
)

MAX_FRAMES = 1_200
MAX_FUNCTIONS = 500
MAX_CALLS = 6
"""Functions that call each other, from a constructor on."""
MAX_ROUNDS = 25


class TooMuchError(Exception):
    """It is more than may be followed."""


class Followed(Calls):
    """The classes that are reached from one, and what is stored on their instances."""

    most_frames = MAX_FRAMES
    most_functions = MAX_FUNCTIONS

    def follow(self, root: Kind, arguments: Arguments) -> None:
        """Raises TooMuchError."""
        try:
            self.make(root, arguments)
            for frame in list(self.frames.values()):
                for star in (frame.node.args.vararg, frame.node.args.kwarg):
                    if star is not None and frame.receiver == root:
                        self.put(frame.names, star.arg, ONLY_OPEN if star.annotation is not None else ONLY_DATA)
        except RecursionError as error:
            raise TooMuchError from error
        self.settle()
        self._follow_other_methods()

    def _follow_other_methods(self) -> None:
        """Whoever has the model may call what builds a part of it later: `configure_model`, `add_head`, `tie`. Of what
        such a method is given nothing is known, and it is taken to be no module unless it is called as one."""
        self.named = {kind: frozenset(names) for kind, names in self.stored.items()}
        for kind in [kind for kind in self.named if kind.file and self.sources.is_module(kind)]:
            for owner in self.line(kind):
                for node in self.sources.nodes(owner):
                    for member in members_of(node):
                        if isinstance(member, FUNCTIONS) and builds(member):
                            self._follow_later(owner, member, kind)
        self.settle()

    def _follow_later(self, owner: Kind, node: ast.FunctionDef | ast.AsyncFunctionDef, kind: Kind) -> None:
        code = self.code_at(owner.file, node, owner)
        self.depth = 0
        frame = None if (code, kind) in self.frames else self.frame_of(code, kind)
        if frame is not None:
            taken = parameters_of(node)
            self._bind(frame, Arguments(names=tuple((name, ONLY_DATA) for name in taken[1:])), kind)

    def settle(self) -> None:
        """Everything that is reached, until nothing is new. Raises TooMuchError."""
        try:
            for _ in range(MAX_ROUNDS):
                self.changed = False
                self.variables.clear()
                for frame in list(self.frames.values()):
                    if self.is_due(frame):
                        self._run(frame)
                if not self.changed and self.is_all:
                    return
                if not self.changed:
                    self.is_all = True
                    self.note_change("all")
        except RecursionError as error:
            raise TooMuchError from error
        raise TooMuchError

    def _run(self, frame: Frame) -> None:
        self.depth = frame.depth
        self.read, self.since = set(), self.clock
        if isinstance(frame.node, ast.Lambda):
            self.give_back(frame, self.value(frame.node.body, frame))
        else:
            self.execute(frame.node.body, frame)
        frame.ran, frame.read = self.since, self.read

    # ---- classes and functions ---------------------------------------------------------------------------------------

    def make(self, kind: Kind, arguments: Arguments) -> Values:
        """A class is called."""
        if kind not in self.stored:
            self.stored[kind] = {}
            self.changed = True
            is_whole = self.sources.line(kind)[1] or self.is_framed(kind)
            if not is_whole or any(self.found(kind, name) for name in ("__new__", "__setattr__")):
                self.store(Made(kind), ANY, ONLY_OPEN)
        made: Values = frozenset([Made(kind)])
        for owner, node in self.found(kind, "__init__"):
            if isinstance(node, FUNCTIONS):
                self.call(self.code_at(owner.file, node, owner), kind, arguments, bound=True)
                return made
        self._built_plainly(kind, arguments)
        return made

    def _built_plainly(self, kind: Kind, arguments: Arguments) -> None:
        """Of a class without a constructor of its own: fields of a data class, items of a container."""
        is_module = self.sources.is_module(kind)
        if is_module:
            self.torch_init(Made(kind), kind, arguments, NOTHING)
            return
        for each in self.line(kind):
            for node in self.sources.nodes(each):
                for member in node.body:
                    if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                        self.store(Made(kind), member.target.id, arguments.all | ONLY_DATA)
        self.store(Made(kind), NUMBERS, arguments.all)

    def call(self, code: Code, receiver: Kind | None, arguments: Arguments, bound: bool = False) -> Values:
        """A function is called: its parameters may be that, too."""
        frame = self.frame_of(code, receiver)
        if frame is None:
            self.hand_out(arguments.all)
            return ONLY_OPEN
        self._bind(frame, arguments, receiver if bound else None)
        self.read.add(("returned", id(frame)))
        return frame.returned

    def frame_of(self, code: Code, receiver: Kind | None) -> Frame | None:
        key = code, receiver
        if key in self.frames:
            return self.frames[key]
        node = self.nodes.get((code.file, code.line, code.column)) or self._function_at(code)
        if node is None:
            return None
        depth = 0 if getattr(node, "name", "") == "__init__" else self.depth + 1
        if depth and (depth > MAX_CALLS or len(self.frames) >= self.most_functions):
            self.read.add(("frame", *key))
            return None
        if len(self.frames) >= self.most_frames:
            raise TooMuchError
        around = self.frames.get(code.around) if code.around is not None else None
        frame = Frame(code, node, receiver, locals=locals_of(node), around=around, depth=depth)
        self.frames[key] = frame
        self.note_change("frame", *key)
        frame.returned = NOTHING if gives(node) else ONLY_NONE
        home = self.top_of(code.file)
        taken = node.args
        places = [*taken.posonlyargs, *taken.args]
        pairs = list(zip(reversed(places), reversed(taken.defaults), strict=False))
        pairs += [(a, d) for a, d in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if d is not None]
        for place, default in pairs:
            self.put(frame.names, place.arg, self.value(default, around or home))
        return frame

    def _function_at(self, code: Code) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        text = self.sources.text(code.file)
        return None if text is None else text.function_at(code.line, code.column)

    def _bind(self, frame: Frame, arguments: Arguments, receiver: Kind | None) -> None:
        taken = frame.node.args
        places = [each.arg for each in (*taken.posonlyargs, *taken.args)]
        given = list(arguments.places)
        if receiver is not None:
            given.insert(0, frozenset([self._receiver(frame, receiver)]))
        for name, values in zip(places, given, strict=False):
            self._give(frame, name, values)
        if taken.vararg is not None:
            self.put(frame.names, taken.vararg.arg, NOTHING.union(*given[len(places) :], arguments.more) | ONLY_DATA)
        known = {*places, *(each.arg for each in taken.kwonlyargs)}
        rest: Values = arguments.more
        for name, values in arguments.names:
            if name in known:
                self._give(frame, name, values)
            else:
                rest |= values
        if taken.kwarg is not None:
            self.put(frame.names, taken.kwarg.arg, rest | ONLY_DATA)
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
        self.put(frame.names, name, values)

    def _receiver(self, frame: Frame, receiver: Kind) -> Atom:
        names = {getattr(each, "id", "") for each in getattr(frame.node, "decorator_list", ())}
        is_class = "classmethod" in names or getattr(frame.node, "name", "") in ("__new__", "__init_subclass__")
        return ClassOf(receiver) if is_class else Made(receiver)
