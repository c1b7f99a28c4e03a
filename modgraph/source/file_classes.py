"""The classes of one file: their bases in it, their methods, and which of them are there to be derived from."""

from __future__ import annotations

import ast
from functools import cached_property

from modgraph.names import last_name
from modgraph.source.syntax import (
    FunctionNode,
    assigned_names,
    callable_bare,
    is_constant,
    is_own_attribute,
    raises_not_implemented,
)
from modgraph.source.usage import Looks

_MAX_DEPTH = 20
"""Bases of bases that are looked at for a method."""


class FileClasses:
    """What the text of a file says of its classes; of each it is found out once."""

    def __init__(self, classes: dict[str, ast.ClassDef], looks: Looks) -> None:
        self.classes = classes
        """By qualified name: nested in each other too."""
        self._looks = looks
        self._bases_of: dict[str, list[str]] = {}
        self._missing: dict[tuple[str, int], frozenset[str]] = {}
        self._abc: dict[tuple[str, int], bool] = {}
        self._methods: dict[tuple[str, str, int], FunctionNode | None] = {}
        self._own_methods: dict[str, dict[str, FunctionNode]] = {}

    @cached_property
    def _derived_from(self) -> frozenset[str]:
        """Bases of classes of the file."""
        return frozenset(base for name in self.classes for base in self.bases_of(name))

    def _lineage(self, name: str) -> set[str]:
        """A class and its bases in the file."""
        found: set[str] = set()
        pending = [name]
        while pending:
            one = pending.pop()
            if one in self.classes and one not in found:
                found.add(one)
                bases = self.bases_of(one)
                self._looks.spend(1 + len(bases))
                pending.extend(bases)
        return found

    def is_abstract(self, name: str) -> bool:
        """A base of another class of the file that has no forward to run."""
        is_base = name in self._derived_from
        if self._unwritten(name) and (is_base or self._is_abc(name)):
            return True
        return is_base and (self.forward(name) is None or self._construction_is_unwritten(name))

    def _construction_is_unwritten(self, name: str) -> bool:
        """Building the class comes to a method that raises NotImplementedError alone."""
        pending, seen = ["__init__"], set()
        while pending:
            method = pending.pop()
            node = self.method_of(name, method)
            if node is None or method in seen:
                continue
            seen.add(method)
            self._looks.spend(len(node.body))
            if any(raises_not_implemented(statement) for statement in node.body):
                return True
            pending.extend(self._own_attributes(node))
        return False

    def _own_attributes(self, method: FunctionNode) -> list[str]:
        """The attributes of its own object that a method reads."""
        if method not in self._read_attributes:
            read = (inner.attr for inner in ast.walk(method) if is_own_attribute(inner, method))
            self._read_attributes[method] = list(dict.fromkeys(read))
        found = self._read_attributes[method]
        self._looks.spend(len(found))
        return found

    @cached_property
    def _read_attributes(self) -> dict[FunctionNode, list[str]]:
        return {}

    def bases_of(self, name: str) -> list[str]:
        """Bases of a class as written; of the file's own classes by their qualified names."""
        if name not in self._bases_of:
            outer = name.rpartition(".")[0]
            written = [ast.unparse(base) for base in self.classes[name].bases]
            self._bases_of[name] = [
                f"{outer}.{base}" if f"{outer}.{base}" in self.classes else base for base in written
            ]
        return self._bases_of[name]

    def _unwritten(self, name: str, depth: int = _MAX_DEPTH) -> frozenset[str]:
        """Abstract methods that a class, with its bases in the file, leaves for others to write."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return frozenset()
        key = (name, depth)
        if key not in self._missing:
            bases = self.bases_of(name)
            of_bases = [self._unwritten(base, depth - 1) for base in bases]
            self._looks.spend(1 + len(node.body) + sum(map(len, of_bases)))
            missing = set().union(*of_bases)
            for statement in node.body:
                if isinstance(statement, FunctionNode):
                    abstract = any("abstract" in ast.unparse(decorator) for decorator in statement.decorator_list)
                    (missing.add if abstract else missing.discard)(statement.name)
                elif isinstance(statement, ast.Assign | ast.AnnAssign):
                    missing.difference_update(assigned_names(statement))
            self._missing[key] = frozenset(missing)
        return self._missing[key]

    def _is_abc(self, name: str, depth: int = _MAX_DEPTH) -> bool:
        """Python itself refuses to build the class while methods are unwritten."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return False
        key = (name, depth)
        if key not in self._abc:
            bases = self.bases_of(name)
            self._looks.spend(1 + len(bases))
            metaclasses = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "metaclass"]
            named = any(last_name(written) in ("ABC", "ABCMeta") for written in bases + metaclasses)
            self._abc[key] = named or any(self._is_abc(base, depth - 1) for base in bases)
        return self._abc[key]

    def forward(self, name: str) -> FunctionNode | None:
        """`forward` of a class or of its bases in the file, where its body does more than raise or pass."""
        method = self.method_of(name, "forward")
        if method is None:
            return None
        real = [s for s in method.body if not isinstance(s, ast.Raise | ast.Pass) and not is_constant(s)]
        return method if real else None

    def method_of(self, name: str, method: str, depth: int = _MAX_DEPTH) -> FunctionNode | None:
        """A method of a class or of the nearest of its bases in the file."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return None
        if name not in self._own_methods:
            own = (each for each in reversed(node.body) if isinstance(each, FunctionNode))
            self._own_methods[name] = {each.name: each for each in own}
        if method in self._own_methods[name]:
            return self._own_methods[name][method]
        key = (name, method, depth)
        if key not in self._methods:
            bases = self.bases_of(name)
            self._looks.spend(1 + len(bases))
            inherited = (self.method_of(base, method, depth - 1) for base in bases)
            self._methods[key] = next((found for found in inherited if found is not None), None)
        return self._methods[key]

    def needs_arguments(self, name: str) -> bool:
        """Whether the class certainly cannot be built without arguments."""
        method = self.method_of(name, "__init__")
        return method is not None and not callable_bare(method, bound=1)
