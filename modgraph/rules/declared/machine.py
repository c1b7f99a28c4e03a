"""What is known while a constructor is followed, and the floor that the others stand on."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping, Sequence, Set

from modgraph.rules.declared.functions import (
    NO_ARGUMENTS,
    Arguments,
)
from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.values import (
    ANY,
    BUFFER,
    DATA,
    NOTHING,
    ONLY_DATA,
    ONLY_OPEN,
    OPEN,
    PARAMETER,
    Above,
    Atom,
    Box,
    Code,
    Frame,
    FrameKey,
    Kind,
    Made,
    Values,
)
from modgraph.source.torch_names import CONTAINERS


class Machine:
    """The classes that are reached, and what is stored on their instances."""

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
        self.variables: dict[tuple[str, str], Values] = {}
        self.reading: set[tuple[str, str]] = set()
        self.variables_read: dict[tuple[str, str], tuple[Set[Hashable], int]] = {}
        """What each was reckoned from, and when."""
        self.nodes: dict[tuple[str, int, int], ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self.changed = False
        self.clock = 0
        """Changes so far."""
        self.changed_at: dict[Hashable, int] = {}
        """By cell, the last of them. A cell is what can be read and change by itself: an attribute of a class, a
        container, a name of a frame, what a frame returns, or whether there is one."""
        self.read: set[Hashable] = set()
        """The cells that are read by what is evaluated now."""
        self.since = 0
        """The oldest of the values that it is reckoned from is of that time."""
        self.depth = 0
        self.is_all = False
        """All that is stored has been seen: what is read and is not there comes from elsewhere."""
        self.tops: dict[str, Frame] = {}
        self.named: dict[Kind, frozenset[str]] | None = None
        """The names that there are once everything is built, while other methods are followed."""

    def give_back(self, frame: Frame, values: Values) -> None:
        if not values <= frame.returned:
            frame.returned |= values
            self.note_change("returned", id(frame))

    def note_change(self, *cell: Hashable) -> None:
        self.changed = True
        self.clock += 1
        self.changed_at[cell] = self.clock

    def put(self, into: dict[str, Values], name: str, values: Values, *cell: Hashable) -> None:
        """`cell`: what is changed, where that is not the name alone."""
        before = into.get(name, NOTHING)
        if name not in into or not values <= before:
            into[name] = before | values
            self.note_change(*(cell or (id(into), name)))

    def is_due(self, frame: Frame) -> bool:
        """Something that it was reckoned from has changed since: to run it again may say something new."""
        ran, changed_at = frame.ran, self.changed_at
        return ran < 0 or any(changed_at.get(cell, 0) > ran for cell in frame.read)

    def store(self, target: Atom, name: str, values: Values) -> None:
        """Something becomes an attribute, or an item, of an object."""
        if self.named is not None:
            values = self._kept_later(target, name, values)
            if not values:
                return
        if isinstance(target, Made):
            self._put_on(target.kind, name, values)
        elif isinstance(target, Box):
            self.put(self.held.setdefault(target, {}), name, values, target)
        elif isinstance(target, Above):
            self._put_on(target.receiver, name, values)
        elif (target is OPEN or target is DATA) and values - ONLY_DATA:
            self.put(self.anywhere, name, values, "anywhere", name)

    def _put_on(self, kind: Kind, name: str, values: Values) -> None:
        self.put(self.stored.setdefault(kind, {}), name, values, kind, ANY if ANY in name else name)

    def stored_openly(self, kind: Kind) -> Values:
        """What is stored under names that are not known, or not whole."""
        self.read.add((kind, ANY))
        return NOTHING.union(*(values for name, values in self.stored.get(kind, {}).items() if ANY in name))

    def stored_as(self, kind: Kind, name: str) -> Values | None:
        """What is stored under a name; None where nothing is."""
        self.read.add((kind, name))
        return self.stored.get(kind, {}).get(name)

    def held_in(self, box: Box) -> Mapping[str, Values]:
        self.read.add((box,))
        return self.held.get(box, {})

    def stored_anywhere(self, name: str) -> Values:
        self.read.add(("anywhere", name))
        return self.anywhere.get(name, NOTHING)

    def _kept_later(self, target: Atom, name: str, values: Values) -> Values:
        """What a method that is called later may add to the tree: a module that it makes, under whatever name; what is
        not known, under a new name alone."""
        made = frozenset(each for each in values if isinstance(each, (Made, Box)) or each in (PARAMETER, BUFFER))
        named = self.named or {}
        is_new = isinstance(target, Made) and ANY not in name and name not in named.get(target.kind, ())
        if not isinstance(target, (Made, Box)) or not is_new:
            return made
        return made | ONLY_DATA if values & {OPEN, DATA} else made

    def hand_out(self, values: Values, package: str = "") -> None:
        """It is given to code that nobody can read."""
        if self.named is not None:
            return
        for value in values:
            if isinstance(value, Made):
                self.touched.setdefault(value.kind, set()).add(package)
            if isinstance(value, (Made, Box)):
                self.store(value, ANY, ONLY_OPEN)

    def line(self, kind: Kind) -> Sequence[Kind]:
        """The classes of an instance that are followed."""
        line = self.sources.line(kind)[0]
        stop = next((at for at, each in enumerate(line) if each in self.introduced), len(line))
        return line[:stop]

    def is_framed(self, kind: Kind) -> bool:
        """Some base asks for declarations."""
        return len(self.line(kind)) < len(self.sources.line(kind)[0])

    def found(self, kind: Kind, name: str, after: Kind | None = None) -> list[tuple[Kind, ast.stmt]]:
        """The statements that define an attribute of instances, in the first class of the line that has any."""
        line = list(self.line(kind))
        if after is not None:
            line = line[line.index(after) + 1 :] if after in line else []
        for each in line:
            found = self.sources.own(each).get(name)
            if found:
                return [(each, node) for node in found]
        return []

    def code_at(
        self,
        file: str,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        owner: Kind | None = None,
        around: Frame | None = None,
    ) -> Code:
        code = Code(file, node.lineno, node.col_offset, owner, None if around is None else around.key)
        self.nodes[file, node.lineno, node.col_offset] = node
        return code

    def top_of(self, file: str) -> Frame:
        """The top of a file, where names are looked up."""
        if file not in self.tops:
            self.tops[file] = Frame(Code(file, 0, 0), ast.Lambda(args=NO_ARGUMENTS, body=ast.Constant(None)), None)
        return self.tops[file]

    def is_container(self, kind: Kind) -> bool:
        return any(each.torch in CONTAINERS for each in self.sources.line(kind)[0])

    # ---- what is done further up -------------------------------------------------------------------------------------

    def value(self, node: ast.expr, frame: Frame) -> Values:
        """What an expression may be."""
        raise NotImplementedError

    def texts(self, node: ast.expr, frame: Frame) -> Sequence[str]:
        """The names that an expression may be as the name of a child."""
        raise NotImplementedError

    def call(self, code: Code, receiver: Kind | None, arguments: Arguments, bound: bool = False) -> Values:
        """A function is called."""
        raise NotImplementedError

    def make(self, kind: Kind, arguments: Arguments) -> Values:
        """A class is called."""
        raise NotImplementedError

    def apply(self, called: Atom, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        """One thing that may be called."""
        raise NotImplementedError

    def call_of(self, node: ast.Call, frame: Frame) -> Values:
        """An expression that calls something."""
        raise NotImplementedError

    def assign(self, target: ast.expr, values: Values, frame: Frame) -> None:
        """Something is stored where an expression says."""
        raise NotImplementedError

    def add_to(self, node: ast.expr, values: Values, names: Sequence[str], frame: Frame) -> None:
        """Something is put into the container that an expression gives."""
        raise NotImplementedError

    def loop(self, target: ast.expr, over: ast.expr, frame: Frame) -> None:
        """Each name of a loop is what stands at its place."""
        raise NotImplementedError

    def known(self, found: Values | tuple[str, str]) -> Values:
        """What a name at the top of a file is, a variable by what is assigned to it."""
        raise NotImplementedError
