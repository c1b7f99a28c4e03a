"""Which classes are `nn.Module`s, by following their bases through imports; nothing is executed."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.errors import TargetError
from modgraph.source.index import Definition, ImportedName
from modgraph.source.module_classes import FORWARD, TORCH, is_taken, of_bases, of_path
from modgraph.source.modules import ModuleFinder, SourceModule

MODULE_CLASS = ("torch.nn.modules.module", "Module")
_MAX_STEPS = 64
"""Of imports and bases followed for one name; more is a cycle, or nothing a person wrote."""


MAX_STARS_FOLLOWED = 1_000_000
"""Star imports looked through for names, all together; a file of as many names as stars takes their product."""


@dataclass(frozen=True, slots=True)
class LostBase:
    """A base class of which nothing can be found."""

    base: str
    """As it is written."""
    of: str
    """The class whose base it is."""
    file: str
    line: int


class BaseResolver:
    """Answers whether a name, as seen in a module, is a class derived from `nn.Module`."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._known: dict[tuple[str, str], bool | None] = {}
        self._meant: dict[tuple[str, str, str], tuple[tuple[SourceModule, str], ...]] = {}
        self._stars: dict[str, tuple[SourceModule, ...]] = {}
        self._n_stars = 0

    def begin(self) -> None:
        """What was looked through so far does not count any more."""
        self._n_stars = 0

    def is_module_class(self, module: SourceModule, name: str) -> bool:
        """Whether the dotted `name` ("nn.Linear", "Net") in `module` is `nn.Module` or derived from it.

        Where a name is bound more than once (in the branches of a `try`), one that is counts. Of a class with a base
        that cannot be found (its package is not installed) `module_classes.py` decides.
        """
        return self._is_module(module, name, _MAX_STEPS) is True

    def definitions_of(self, module: SourceModule, name: str) -> tuple[tuple[SourceModule, str], ...]:
        """The modules that define what the dotted `name` may mean in `module`, and the name there."""
        return self._meanings(module, name, _MAX_STEPS)

    def unknown_bases(self, module: SourceModule, name: str, seen: set[str] | None = None) -> list[str]:
        """Bases of a class, or of its own bases in the module, of which nothing can be found; as written.

        Args:
            seen: classes that are not looked at again; those that are looked at are added.
        """
        unknown: dict[str, None] = {}
        seen = set() if seen is None else seen
        waiting = [name]
        while waiting:
            qualname = waiting.pop()
            definition = module.index.definitions.get(qualname)
            if qualname in seen or definition is None or definition.kind != "class":
                continue
            seen.add(qualname)
            for base in map(_plain, definition.bases):
                waiting.append(base)
                if not hasattr(builtins, base) and not self._meanings(module, base, _MAX_STEPS, qualname):
                    unknown[base] = None
        return list(unknown)

    def lost_base(self, module: SourceModule, name: str) -> LostBase | None:
        """The base of a class, or of one that it is derived from in any file, of which nothing can be found: it leaves
        open whether the class is an `nn.Module`. None where that is known."""
        seen: set[tuple[str, str]] = set()
        waiting = [(module, name, "")]
        while waiting:
            for home, qualname in self._meanings(*waiting[0][:2], _MAX_STEPS, waiting.pop(0)[2]):
                definition = home.index.definitions.get(qualname)
                if (home.name, qualname) in seen or definition is None or definition.kind != "class":
                    continue
                seen.add((home.name, qualname))
                for base in map(_plain, definition.bases):
                    if self._meanings(home, base, _MAX_STEPS, qualname):
                        waiting.append((home, base, qualname))
                    elif self._is_module(home, base, _MAX_STEPS, qualname) is None:
                        return LostBase(base, qualname, home.file, definition.line)
        return None

    def reaches_torch(self, module: SourceModule) -> bool:
        """A module imports torch, or one of the modules that it imports and that are found does."""
        homes = {module.absolute(each.module, each.level) for each in module.index.imports}
        others = (self._finder.readable(home) for home in sorted(homes))
        return imports_torch(module) or any(other is not None and imports_torch(other) for other in others)

    def _is_module(self, module: SourceModule, name: str, steps: int, inside: str = "") -> bool | None:
        """None where it is not known."""
        found = self._meanings(module, name, steps, inside)
        if not found:
            return False if hasattr(builtins, name) else of_path(_path_in(module, name))
        return of_bases(self._derives(home, qualname, steps) for home, qualname in found)

    def _derives(self, home: SourceModule, qualname: str, steps: int) -> bool | None:
        key = (home.name, qualname)
        if key == MODULE_CLASS:
            return True
        if key not in self._known:
            self._known[key] = False  # a class that is, by mistake, its own base is none
            definition = home.index.definitions.get(qualname)
            bases = definition.bases if definition is not None and definition.kind == "class" and steps > 0 else ()
            answer = of_bases(self._is_module(home, _plain(base), steps - 1, qualname) for base in bases)
            if answer is None and definition is not None:
                answer = is_taken(answer, _has_forward(definition), imports_torch(home)) or None
            self._known[key] = answer
        return self._known[key]

    def _meanings(
        self, module: SourceModule, name: str, steps: int, inside: str = ""
    ) -> tuple[tuple[SourceModule, str], ...]:
        """See `_find_meanings`; each name is looked up once, and one that leads back to itself means nothing."""
        key = (module.name, name, inside.rpartition(".")[0])
        if key not in self._meant:
            self._meant[key] = ()
            self._meant[key] = tuple(self._find_meanings(module, name, steps, inside))
        return self._meant[key]

    def _find_meanings(
        self, module: SourceModule, name: str, steps: int, inside: str
    ) -> Iterator[tuple[SourceModule, str]]:
        """The modules that define what the dotted `name` may mean in `module`, and the name there.

        Args:
            inside: qualified name of the class whose base it is; a nested one sees its neighbours first.
        """
        if steps <= 0:
            return
        outer = inside.rpartition(".")[0]
        if outer and f"{outer}.{name}" in module.index.definitions:
            yield module, f"{outer}.{name}"
            return
        if name in module.index.definitions:
            yield module, name
        first, _, rest = name.partition(".")
        for value in module.index.aliases.get(first, ()):
            yield from self._meanings(module, f"{value}.{rest}" if rest else value, steps - 1)
        named = module.index.imports_of.get(first, ())
        for imported in named:
            if imported.attribute != "*":
                yield from self._through(module, imported, rest, steps - 1)
        if named or name in module.index.definitions:
            return
        for source in self._starred(module):
            yield from self._meanings(source, name, steps - 1)

    def _starred(self, module: SourceModule) -> tuple[SourceModule, ...]:
        """The modules of which it imports all names; counted each time.

        Raises:
            TargetError: it is too many times.
        """
        if module.name not in self._stars:
            homes = dict.fromkeys(module.absolute(each.module, each.level) for each in module.index.star_imports)
            self._stars[module.name] = tuple(filter(None, map(self._finder.readable, homes)))
        found = self._stars[module.name]
        self._n_stars += len(found)
        if self._n_stars > MAX_STARS_FOLLOWED:
            message = f"looking for names behind star imports is given up after {MAX_STARS_FOLLOWED:,} of them"
            raise TargetError(message, file=module.file, hint="import the names, or fewer modules")
        return found

    def _through(
        self, module: SourceModule, imported: ImportedName, rest: str, steps: int
    ) -> Iterator[tuple[SourceModule, str]]:
        target = module.absolute(imported.module, imported.level)
        if imported.attribute is None:
            # `import a.b` binds a; `import a.b as c` binds a.b.
            dotted = f"{imported.name}.{rest}" if target.partition(".")[0] == imported.name else f"{target}.{rest}"
        else:
            dotted = ".".join(part for part in (target, imported.attribute, rest) if part)
        yield from self._absolute(dotted, steps)

    def _absolute(self, dotted: str, steps: int) -> Iterator[tuple[SourceModule, str]]:
        """What an absolute dotted name means: the longest prefix that is a module, and the rest looked up in it."""
        prefix = dotted
        while "." in prefix:
            prefix = prefix.rpartition(".")[0]
            source = self._finder.readable(prefix)
            if source is not None:
                yield from self._meanings(source, dotted[len(prefix) + 1 :], steps - 1)
                return


def _path_in(module: SourceModule, name: str) -> str:
    """The import path of a dotted name as the imports of the module say; the name itself where none binds it."""
    first, _, rest = name.partition(".")
    imported = module.index.imported.get(first)
    if imported is None:
        return name
    home = module.absolute(imported.module, imported.level)
    if imported.attribute is None and home.partition(".")[0] == first:
        return name
    return ".".join(part for part in (home, imported.attribute, rest) if part)


def _has_forward(definition: Definition) -> bool:
    methods = (each.definition for each in definition.body if each.kind == "function")
    return any(each is not None and each.name == FORWARD and "staticmethod" not in each.decorators for each in methods)


def imports_torch(module: SourceModule) -> bool:
    """It imports torch, or something of it."""
    return any(each.level == 0 and each.module.partition(".")[0] == TORCH for each in module.index.imports)


def _plain(base: str) -> str:
    """A base without its type arguments: "Base[int]" -> "Base"."""
    return base.partition("[")[0]
