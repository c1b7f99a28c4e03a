"""A key that a module's container lacks: what may have registered it is run, and it is looked for again.

What registers a thing names it: a decorator stands over the function or class of that name, or the key is written out.
So of all modules that are imported with the container, only the statements are run that mention the key, and use a
name that leads to the container; this is cheap enough for large installed packages. Where one of them cannot be
followed, it is not known whether the key is there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.code.import_order import imported_by, top_of
from modgraph.prediction.domain.limits import MAX_IMPORT_CHAIN, MAX_KEYED_STATEMENTS
from modgraph.prediction.domain.values import Address, ClassValue, Constant, FunctionValue, Unknown, Value
from modgraph.prediction.project import registries
from modgraph.prediction.project.reading_methods import reads_alone
from modgraph.prediction.project.side_effects import Effect
from modgraph.source import containers
from modgraph.source.index import Statement
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule, plain
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_WORD = re.compile(r"\w+")
_STORED = re.compile(r"\]\s*=(?!=)")
_READING = "|".join(sorted(containers.READING))
Home = tuple[str, str, str]
"""Module and name whose evaluation made a container; the attribute, where it stands in the body of a class."""


def look_again(machine: Machine, container: Address, key: Value, certain: bool = False) -> bool | Unknown:
    """Whether looking again may find the key: something has run that may have put it there. Unknown where what has run
    leaves that open. `certain`: the code fails where the key is missing, so it must have been registered by then."""
    base = machine.base
    home = base.homes.get(container.index)
    words = tuple(_WORD.findall(_text(key)))
    asked = (container.index, words)
    if (
        home is None
        or not words
        or (machine.module_depth and not (certain or machine.insistent))
        or asked in base.looking
    ):
        return False
    if asked not in base.looked_up:
        base.looking.add(asked)
        try:
            base.looked_up[asked] = _run_all(machine, home, words, container, key)
        finally:
            base.looking.discard(asked)
    return base.looked_up[asked]


def _text(key: Value) -> str:
    if isinstance(key, Constant):
        return key.value if isinstance(key.value, str) else ""
    if isinstance(key, (ClassValue, FunctionValue)):
        return last_name(key.name)
    return ""


def _run_all(machine: Machine, home: Home, words: tuple[str, ...], container: Address, key: Value) -> bool | Unknown:
    wanted = machine.modules.wanted.get(container.index)
    if wanted is None:
        wanted = machine.modules.wanted[container.index] = Wanted(machine, home, container)
    if wanted.renamed is not None:
        told = f"{wanted.name} is filled as {wanted.renamed}: whether it holds {_text(key)!r} is not known"
        return Unknown(Reached(told))
    if not wanted.may_be_filled:
        return False
    sources = _sources(machine, home) if wanted.has_writers else _asked(machine, home)
    found = _mentioning(machine, wanted, sources, words[0])
    if len(found) > MAX_KEYED_STATEMENTS:
        return Unknown(Reached(f"more than {MAX_KEYED_STATEMENTS} statements may register {_text(key)!r}"))
    why: Unknown | None = None
    for effect in found:
        if registries.is_running(machine, effect):
            continue
        registry = registries.Registry()
        registries.run_once(machine, effect, registry)
        item = machine.base.objects.get(container.index)
        if key in getattr(item, "entries", ()) or key in getattr(item, "items", ()):
            return True
        why = why or registry.lost
    return why or bool(found)


def _sources(machine: Machine, home: Home) -> Iterator[SourceModule]:
    """Modules of the container's package and of those from which is asked, as far as they are imported."""
    module = home[0]
    roots = dict.fromkeys([module, *machine.modules.roots, *(frame.module for frame in machine.frames[:1])])
    tops = set(map(top_of, roots))
    for root in roots:
        key = (module, root)
        if key not in machine.modules.beside:
            # What the container's own module brings is most of what any other one does, and is looked through once.
            known = machine.modules.beside[(module, module)].modules if root != module else ()
            machine.modules.beside[key] = imported_by(machine.finder, (root,), known)
        for name, source in machine.modules.beside[key].modules.items():
            if top_of(name) in tops:
                yield source


def _asked(machine: Machine, home: Home) -> list[SourceModule]:
    """Modules of the container's package of which something was asked before: a table that nothing in its own module
    fills is seldom filled at all, and not worth reading all others."""
    top = top_of(home[0])
    seen, known = machine.modules.asked.get(top, (0, []))
    new = [name for name in islice(machine.modules.namespaces, seen, None) if top_of(name) == top]
    sources = [*known, *filter(None, map(machine.finder.source, new))]
    machine.modules.asked[top] = (len(machine.modules.namespaces), sources)
    return sources


def _writes_to(name: str) -> re.Pattern[str]:
    """What begins a text that may change what bears the name."""
    return re.compile(rf"\b{name}\b\s*(?:\[|\.(?!(?:{_READING})\b)\w+\()")


def _is_written(writes: re.Pattern[str], text: str, reads: Callable[[str], bool] = lambda _: False) -> bool:
    """Where the text writes to a name, an item is stored or a method called that changes what bears it.

    Args:
        reads: whether the method of that name is known to change nothing.
    """
    stores = (match.start() for match in _STORED.finditer(text))
    stored = end = -1
    for match in writes.finditer(text):
        opened = match.end()
        if text[opened - 1] == "(":
            if reads(_WORD.findall(match[0])[-1]):
                continue
            return True
        while stored < opened:
            stored = next(stores, len(text))
        if end < opened:
            end = text.find("\n", opened) % (len(text) + 1)
        if stored < end:
            return True
    return False


_MAX_OTHERS = 30
"""Names under which a container is looked for; of more, it is taken to be filled under one."""
_MAX_LINE = 1_000
"""Characters before it that are looked at."""
_GIVEN = re.compile(r"(\w+)[ \t]*(?::[^=:()\n]*)?:?=(?!=)")
_ROW = re.compile(r"[ \t]*(?:for[ \t]+([\w, \t]+)[ \t]in[ \t]*[(\[]|([\w., \t]+,[\w., \t]+)=(?!=))")
_CALLED = re.compile(r"(\w+)\([^()\n]*$")


def _filled_as(name: str, text: str, reads: Callable[[str], bool]) -> str | None:
    """The other name, where a function has `other = name`, or is given it as `other`, and changes what bears that."""
    others = dict.fromkeys(_other_names(name, text))
    if len(others) > _MAX_OTHERS:
        return next(iter(others))
    return next((other for other in others if _is_written(_writes_to(other), text, reads)), None)


def _other_names(name: str, text: str) -> Iterator[str]:
    """What may bear the same container as a name, as far as single lines say it: those that are given it there, and
    parameters of functions that are called with it."""
    for match in re.finditer(rf"^(.*)(?<![\w.]){name}\b(?![ \t]*[\[(]|[ \t]*=(?!=)|\.(?!__setitem__))", text, re.M):
        before = match[1][-_MAX_LINE:]
        is_of_a_function = before[:1].isspace() or before.lstrip().startswith("def ")
        if is_of_a_function and "#" not in before:
            yield from _GIVEN.findall(before)
            row = _ROW.match(before)
            yield from re.findall(r"\w+", (row[1] or row[2]) if row else "")
        called = _CALLED.search(before)
        function = called and re.search(rf"^[ \t]*def[ \t]+{called[1]}\(([^()]*)\)", text, re.M)
        if function:
            yield from (each.split(":")[0].split("=")[0].strip(" *\t\n") for each in function[1].split(","))


class Wanted:
    """A container, as statements lead to it."""

    def __init__(self, machine: Machine, home: Home, container: Address) -> None:
        self.module, self.name, attribute = home
        of_module = machine.modules.namespaces.get(self.module, {}).get(self.name)
        self.is_inside = not attribute and of_module != container
        """In an object of that name, whose methods may fill it."""
        self._writes = _writes_to(attribute or self.name)
        source = machine.finder.source(self.module)
        self.is_filled_at_home = source is not None and self.writes(source.text)
        is_followed = source is None or attribute or top_of(self.module) in sys.stdlib_module_names
        cls = machine.class_of(of_module) if self.is_inside and of_module is not None else None

        def reads(method: str) -> bool:
            return isinstance(cls, ClassValue) and reads_alone(machine, cls, method)

        self.renamed = None if is_followed or source is None else _filled_as(self.name, source.text, reads)
        """Another name by which a function of its module fills it, where that is no module of Python's own."""
        self.has_writers = self.is_filled_at_home or self.is_inside
        self.may_be_filled = self.is_filled_at_home or not attribute
        self._leading: dict[tuple[str, int], bool] = {}
        """Statements by module and line: whether they lead to the container."""
        self._definitions: dict[tuple[str, str], bool] = {}
        """The same of definitions, by module and name."""

    def writes(self, text: str) -> bool:
        """The text changes what bears the container's name."""
        return _is_written(self._writes, text)

    def is_led_to(self, finder: ModuleFinder, source: SourceModule, statement: Statement) -> bool:
        """The statement, or something that it uses, may fill the container."""
        key = (source.name, statement.first_line)
        if key not in self._leading:
            head = _head(source, statement)
            words = frozenset(_WORD.findall(head))
            self._leading[key] = self.writes(head) or any(self._is_behind(finder, source, word) for word in words)
        return self._leading[key]

    def _is_behind(self, finder: ModuleFinder, source: SourceModule, word: str) -> bool:
        """What a name of that module stands for may fill the container."""
        origin, name = _origin(finder, source, word)
        at_home = origin.name == self.module
        if at_home and name == self.name and self.is_inside:
            return True
        key = (origin.name, name)
        if key not in self._definitions:
            definition = origin.index.definitions.get(name)
            if definition is not None:
                text = _lines(origin, definition.first_line, definition.last_line)
                found = (at_home and self.is_filled_at_home) or self.writes(text)
            else:
                found = at_home and name == "" and (self.is_filled_at_home or self.is_inside)
            self._definitions[key] = found
        return self._definitions[key]


def _mentioning(machine: Machine, wanted: Wanted, sources: Iterable[SourceModule], word: str) -> list[Effect]:
    """The statements that may register something under a key that begins with that word, those that define it first."""
    word = plain(word)
    effects: list[tuple[bool, Effect]] = []
    for source in sources:
        if word in source.plain_words:
            if source.name not in machine.modules.heads:
                machine.modules.heads[source.name] = _heads(source)
            effects.extend(
                (word not in map(plain, statement.names), Effect(source, statement))
                for statement in machine.modules.heads[source.name].get(word, ())
                if wanted.is_led_to(machine.finder, source, statement)
            )
    return [effect for _, effect in sorted(effects, key=lambda entry: entry[0])]


def _heads(source: SourceModule) -> dict[str, list[Statement]]:
    """By each word of their heads: the statements that may put something into a container of another module."""
    found: dict[str, list[Statement]] = {}
    for statement in _statements(source):
        for word in dict.fromkeys(map(plain, _WORD.findall(_head(source, statement)))):
            found.setdefault(word, []).append(statement)
    return found


def _origin(finder: ModuleFinder, source: SourceModule, name: str) -> tuple[SourceModule, str]:
    """The module from which a name is imported, and what it is there, through modules that hand it on."""
    for _ in range(MAX_IMPORT_CHAIN):
        imported = source.index.imported.get(name)
        if imported is None:
            break
        module = source.absolute(imported.module, imported.level)
        attribute = imported.attribute
        inner = finder.source(module if attribute is None else f"{module}.{attribute}")
        if inner is not None:
            return inner, ""
        outer = finder.source(module)
        if outer is None or attribute is None or attribute == "*":
            break
        source, name = outer, attribute
    return source, name


def _statements(source: SourceModule) -> Iterator[Statement]:
    """Those that may put something into a container of another one."""
    try:
        body = source.index.body
    except SourceError:
        return
    for statement in body:
        if statement.definition is not None:
            if statement.definition.decorators or statement.definition.bases:
                yield statement
        elif statement.kind in ("expression", "compound") or statement.touched:
            yield statement


def _head(source: SourceModule, statement: Statement) -> str:
    """Its text; of a definition, what stands before the body."""
    definition = statement.definition
    last = statement.last_line if definition is None or definition.inline else definition.body_line - 1
    return _lines(source, statement.first_line, last)


def _lines(source: SourceModule, first: int, last: int) -> str:
    return "\n".join(source.lines[first - 1 : last])
