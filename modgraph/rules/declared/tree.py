"""The tree that a class may have, in any configuration, and whether a name or pattern can be found in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import islice, product

from modgraph.rules.declared.following import Followed
from modgraph.rules.declared.torch_trees import INNER_CLASSES, children_of
from modgraph.rules.declared.values import (
    ANY,
    BUFFER,
    DATA,
    NOTHING,
    NUMBERS,
    ONLY_OPEN,
    OPEN,
    PARAMETER,
    Atom,
    Box,
    Kind,
    Made,
    Values,
)
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import CONTAINERS

MAX_DEPTH = 14
MAX_PATHS = 6_000
MAX_TEXTS = 60_000
_AGAIN = 2
"""How often one class may stand in itself, on a path that is tried."""


class OpenError(Exception):
    """The tree may hold what is not known."""


class Tree:
    """What a class may hold."""

    def __init__(self, followed: Followed, root: Kind) -> None:
        self.followed = followed
        self.root = root
        self.start = Made(root)
        self._boxes: frozenset[str] = frozenset()
        self._children: dict[Atom, dict[str, Values]] = {}

    # ---- the tree ----------------------------------------------------------------------------------------------------

    def children(self, atom: Atom) -> Mapping[str, Values]:
        """What may stand below it, by name; `#` in a name stands for digits, `?` is any name."""
        if atom not in self._children:
            found = dict(self._below(atom))
            for name, values in self.followed.anywhere.items() if isinstance(atom, (Made, Box)) else ():
                found[name] = found.get(name, NOTHING) | values
            self._children[atom] = {name: kept for name, values in found.items() if (kept := self._kept(values))}
        return self._children[atom]

    def _below(self, atom: Atom) -> Mapping[str, Values]:
        if isinstance(atom, Box) and atom.kind.startswith("Parameter"):
            return dict.fromkeys(self.followed.held.get(atom, {}), frozenset([PARAMETER]))
        if isinstance(atom, Box):
            return {name: self._as_items(values) for name, values in self.followed.held.get(atom, {}).items()}
        if not isinstance(atom, Made):
            return {}
        if atom.kind.torch is not None:
            found = dict(children_of(atom.kind.torch))
            for name, values in self.followed.stored.get(atom.kind, {}).items():
                found[name] = found.get(name, NOTHING) | values
            return found
        return self._of_class(atom.kind)

    def _of_class(self, kind: Kind) -> dict[str, Values]:
        found: dict[str, Values] = {}
        line = self.followed.sources.line(kind)[0]
        torch = next((each.torch for each in line if each.torch is not None), None)
        if torch is not None and torch not in CONTAINERS:
            found.update(children_of(torch))
        for name, values in self.followed.stored.get(kind, {}).items():
            if torch in CONTAINERS and (name == NUMBERS or ANY in name):
                values = self._as_items(values)
            if DATA in values and self._is_called(kind, name):
                values |= ONLY_OPEN
            found[name] = found.get(name, NOTHING) | values
        return found

    @staticmethod
    def _as_items(values: Values) -> Values:
        return values | ONLY_OPEN if DATA in values else values

    @cached_property
    def called(self) -> frozenset[tuple[Kind | None, str]]:
        """Attributes that methods of the classes that are reached call, or call the items of: with the class, of those
        on `self`; of what stands elsewhere, with None."""
        found: set[tuple[Kind | None, str]] = set()
        sources = self.followed.sources
        for each in {above for kind in self.followed.stored for above in self.followed.line(kind)}:
            text = sources.text(each.file) if each.file else None
            outside = text.imports.imports if text is not None else {}
            for node in sources.nodes(each):
                if text is not None and id(node) not in text.called:
                    text.called[id(node)] = tuple(called_in(node))
                for name in text.called[id(node)] if text is not None else ():
                    if name.count(".") == 1 and name.startswith("self."):
                        found.add((each, name[5:]))
                    elif name.partition(".")[0] not in outside:
                        found.add((None, name.rpartition(".")[2]))
        return frozenset(found)

    def _is_called(self, kind: Kind, name: str) -> bool:
        line = self.followed.line(kind)
        return (None, name) in self.called or any((each, name) in self.called for each in line)

    def _kept(self, values: Values) -> Values:
        """Those of which something stands in the tree."""
        found: set[Atom] = set()
        for value in values:
            if isinstance(value, Made):
                is_module = self.followed.sources.is_module(value.kind)
                if is_module is not False:
                    found.add(value if is_module else OPEN)
            elif isinstance(value, Box) or value in (OPEN, PARAMETER, BUFFER):
                found.add(value)
        return frozenset(found)

    # ---- classes -----------------------------------------------------------------------------------------------------

    def reached(self) -> tuple[frozenset[Kind], bool]:
        """The classes that may have instances in it, and whether there may be others."""
        seen = self._seen()
        self._boxes = frozenset(each.kind for each in seen if isinstance(each, Box))
        return frozenset(each.kind for each in seen if isinstance(each, Made)), OPEN in seen

    def _seen(self) -> set[Atom]:
        """Whatever stands in it."""
        seen: set[Atom] = set()
        pending: list[Atom] = [Made(self.root)]
        while pending:
            atom = pending.pop()
            if atom not in seen:
                seen.add(atom)
                for values in self.children(atom).values():
                    pending.extend(values)
        return seen

    def class_names(self) -> tuple[frozenset[str], bool]:
        """The names of these classes, torch's containers among them, and whether there may be others."""
        kinds, is_open = self.reached()
        of_torch = {above.torch for kind in kinds for above in self.followed.sources.line(kind)[0]}
        inner = frozenset[str]().union(*(INNER_CLASSES.get(name or "", ()) for name in of_torch))
        return frozenset(each.last for each in kinds) | self._boxes | inner, is_open

    def has_instance(self, of: Kind) -> bool:
        """Whether something in it may be of a class, or of one that derives from it.

        Raises:
            OpenError: it may be in a part that is not known, or the class is one of torch's, of which others derive.
        """
        kinds, is_open = self.reached()
        if any(of in self.followed.sources.line(each)[0] for each in kinds):
            return True
        if is_open or not of.file or any(not self.followed.sources.line(each)[1] for each in kinds):
            raise OpenError
        return False

    # ---- paths -------------------------------------------------------------------------------------------------------

    def has_path(self, pattern: str, anywhere: bool = False, is_glob: bool = False) -> bool:
        """Whether a path of names, with `*` for numbers, may be there; with `anywhere` also below a model in the tree,
        which is any module where the root has no base that asks for declarations. With `is_glob`, each name is a
        pattern as of names of files.

        Raises:
            OpenError: it may be in a part that is not known.
        """
        parts = pattern.split(".")
        starts: list[Atom] = [Made(self.root)]
        if anywhere:
            is_model = self.followed.is_framed if self.followed.is_framed(self.root) else bool
            starts += [Made(kind) for kind in self.reached()[0] if kind != self.root and is_model(kind)]
        is_open = False
        for start in starts:
            answer = self._walk(frozenset([start]), tuple(parts), _fits_glob if is_glob else _fits)
            if answer:
                return True
            is_open = is_open or answer is None
        if is_open or (anywhere and self.reached()[1]):
            raise OpenError
        return False

    def has_end(self, text: str) -> bool:
        """Whether a path may end with some names.

        Raises:
            OpenError: it may be in a part that is not known.
        """
        seen = self._seen()
        answers = [self._walk(frozenset([start]), tuple(text.split(".")), _fits_as_it_is) for start in seen]
        if any(answers):
            return True
        if OPEN in seen or None in answers:
            raise OpenError
        return False

    def _walk(self, values: Values, parts: tuple[str, ...], fits: Callable[[str, str], bool]) -> bool | None:
        """Whether a path leads on from these; None where that is not known."""
        if not parts:
            return bool(values - ONLY_OPEN) or (None if OPEN in values else False)
        is_open = OPEN in values
        for value in values:
            for name, below in self.children(value).items():
                if not fits(name, parts[0]):
                    continue
                answer = self._walk(below, parts[1:], fits)
                if answer and ANY not in name:
                    return True
                is_open = is_open or answer is not False
        return None if is_open else False

    def paths(self) -> Iterator[str]:
        """Every path of a module, a parameter or a buffer, `#` for digits.

        Raises:
            OpenError: there may be others.
        """
        yield from islice(self._paths(Made(self.root), "", {}), MAX_PATHS + 1)

    def _paths(self, atom: Atom, before: str, above: dict[Atom, int]) -> Iterator[str]:
        if above.get(atom, 0) > _AGAIN or len(above) > MAX_DEPTH:
            raise OpenError
        inside = {**above, atom: above.get(atom, 0) + 1}
        for name, values in self.children(atom).items():
            if ANY in name or OPEN in values:
                raise OpenError
            path = f"{before}.{name}" if before else name
            yield path
            for value in values:
                if isinstance(value, (Made, Box)):
                    yield from self._paths(value, path, inside)

    def matches(self, pattern: re.Pattern[str], how: str) -> bool:
        """Whether a regular expression may be found in a path.

        Raises:
            OpenError: it may be in a part that is not known.
        """
        numbers = sorted({*range(11), 12, 25, 100, *map(int, re.findall(r"\d{1,6}", pattern.pattern))})
        match = getattr(pattern, how)
        n_tried = 0
        for n_paths, path in enumerate(dict.fromkeys(self.paths())):
            parts = path.split(NUMBERS)
            for chosen in product(map(str, numbers), repeat=min(len(parts) - 1, 2)):
                ends = [*chosen, *["0"] * (len(parts) - 1 - len(chosen)), ""]
                n_tried += 1
                if match("".join(map("".join, zip(parts, ends, strict=True)))):
                    return True
            if n_tried > MAX_TEXTS * 10 or n_paths >= MAX_PATHS:
                raise OpenError
        return False


def called_in(node: ast.ClassDef) -> Iterator[str]:
    """The dotted names of attributes that are called, or of which something that a loop takes out is."""
    loops: dict[str, list[str]] = {}
    names: list[str] = []
    for below in ast.walk(node):
        if isinstance(below, ast.Call) and isinstance(below.func, ast.Attribute):
            yield dotted(below.func) or f"?.{below.func.attr}"
        elif isinstance(below, ast.Call) and isinstance(below.func, ast.Name):
            names.append(below.func.id)
        elif isinstance(below, ast.Call) and isinstance(below.func, ast.Subscript):
            yield dotted(below.func.value) or "?"
        elif isinstance(below, (ast.For, ast.comprehension)):
            over = [dotted(each) for each in ast.walk(below.iter) if isinstance(each, ast.Attribute)]
            for target in ast.walk(below.target):
                if isinstance(target, ast.Name):
                    loops.setdefault(target.id, []).extend(each for each in over if each)
    for name in names:
        yield from loops.get(name, ())


@cache
def _fits(name: str, part: str) -> bool:
    """A name of the tree, `#` for digits, may be what a pattern says, `*` for digits."""
    if _fits_as_it_is(name, part):
        return True
    if "*" not in part or ANY in name:
        return "*" in part
    asked = re.compile("".join(r"[0-9]+" if each == "*" else re.escape(each) for each in part))
    return asked.fullmatch(name.replace(NUMBERS, "0")) is not None


@cache
def _fits_as_it_is(name: str, part: str) -> bool:
    """A name of the tree, `#` for digits and `?` for anything, may be a text."""
    own = "".join({NUMBERS: r"[0-9]+", ANY: ".*"}.get(each) or re.escape(each) for each in name)
    return name == part or re.fullmatch(own, part, re.DOTALL) is not None


@cache
def _fits_glob(name: str, part: str) -> bool:
    """A name of the tree, `#` for digits, may be what a pattern as of names of files says."""
    if ANY in name:
        return True
    numbers = {*map(str, range(20)), *re.findall(r"\d+", part), "100", "12345"}
    return any(fnmatchcase(name.replace(NUMBERS, each), part) for each in numbers)
