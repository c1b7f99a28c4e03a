"""Which classes are `nn.Module`s, by following their bases through imports; nothing is executed."""

from __future__ import annotations

from modgraph.source.index import ImportedName
from modgraph.source.modules import ModuleFinder, SourceModule

MODULE_CLASS = ("torch.nn.modules.module", "Module")
_MAX_STEPS = 64
"""Of imports and bases followed for one name; more is a cycle, or nothing a person wrote."""


class BaseResolver:
    """Answers whether a name, as seen in a module, is a class derived from `nn.Module`."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._known: dict[tuple[str, str], bool] = {}

    def is_module_class(self, module: SourceModule, name: str) -> bool:
        """Whether the dotted `name` ("nn.Linear", "Net") in `module` is `nn.Module` or derived from it.

        A base that cannot be found (its package is not installed) counts by its name: one that ends in "Module" or
        "Model", as those of the common frameworks do.
        """
        return self._is_module(module, name, _MAX_STEPS)

    def _is_module(self, module: SourceModule, name: str, steps: int) -> bool:
        found = self._define(module, name, steps)
        if found is None:
            return name.endswith(("Module", "Model")) and "." in name
        home, qualname = found
        if (home.name, qualname) == MODULE_CLASS:
            return True
        key = (home.name, qualname)
        if key not in self._known:
            self._known[key] = False  # a class that is, by mistake, its own base is none
            definition = home.index.definitions.get(qualname)
            bases = definition.bases if definition is not None and definition.kind == "class" else ()
            self._known[key] = steps > 0 and any(self._is_module(home, _plain(base), steps - 1) for base in bases)
        return self._known[key]

    def _define(self, module: SourceModule, name: str, steps: int) -> tuple[SourceModule, str] | None:
        """The module that defines what the dotted `name` means in `module`, and the name there."""
        if steps <= 0:
            return None
        if name in module.index.definitions:
            return module, name
        first, _, rest = name.partition(".")
        for imported in module.index.imports:
            if imported.name == first and imported.attribute != "*":
                return self._through(module, imported, rest, steps - 1)
        for imported in module.index.star_imports:
            source = self._finder.source(module.absolute(imported.module, imported.level))
            if source is not None and (found := self._define(source, name, steps - 1)) is not None:
                return found
        return None

    def _through(
        self, module: SourceModule, imported: ImportedName, rest: str, steps: int
    ) -> tuple[SourceModule, str] | None:
        target = module.absolute(imported.module, imported.level)
        if imported.attribute is None:
            # `import a.b` binds a; `import a.b as c` binds a.b.
            dotted = f"{imported.name}.{rest}" if target.partition(".")[0] == imported.name else f"{target}.{rest}"
        else:
            dotted = ".".join(part for part in (target, imported.attribute, rest) if part)
        return self._absolute(dotted, steps)

    def _absolute(self, dotted: str, steps: int) -> tuple[SourceModule, str] | None:
        """What an absolute dotted name means: the longest prefix that is a module, and the rest looked up in it."""
        prefix = dotted
        while "." in prefix:
            prefix = prefix.rpartition(".")[0]
            source = self._finder.source(prefix)
            if source is not None:
                return self._define(source, dotted[len(prefix) + 1 :], steps - 1)
        return None


def _plain(base: str) -> str:
    """A base without its type arguments: "Base[int]" -> "Base"."""
    return base.partition("[")[0]
