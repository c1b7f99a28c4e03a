"""What the target's module does to others when it is imported, and the prediction does not follow: said, with its line.

A hook for all registrations, another default dtype, `nn.Linear = Mine`, `settings.WIDTH = 9`: they hold whether a name
of the module is asked for or not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.prediction.code import names
from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.values import MODULE, Address, ClassValue, KnownClass, ModuleReference
from modgraph.prediction.knowledge.torch.modules import REGISTRATION_HOOKS, set_hook_on_all
from modgraph.prediction.knowledge.torch.registering import HOOKED
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import SourceModule
from modgraph.source.walking import children

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_DEFAULTS = ("set_default_dtype", "set_default_tensor_type")
"""torch's functions after which tensors are made of another dtype."""
_LAYERS = "torch.nn."
_OF_MODULES = (KnownClass(MODULE),)


_ATTRIBUTE_SET = re.compile(r"\.\s*[^\W\d]\w*[\s)]*(?::|[-+*/%@&|^<>]{0,3}=)")
"""What a text holds that assigns an attribute: most texts hold none, and need not be parsed."""


def tell(machine: Machine, source: SourceModule) -> None:
    """A problem for each such statement of the module."""
    for statement in source.index.body:
        if statement.kind in ("class", "function", "import"):
            continue
        text = "\n".join(source.lines[statement.first_line - 1 : statement.last_line])
        if any(f"{hook}(" in text for hook in REGISTRATION_HOOKS):
            machine.problem(HOOKED, None, SourceLocation(source.file, statement.first_line))
            set_hook_on_all(machine)
        elif _ATTRIBUTE_SET.search(text) or any(name in text for name in _DEFAULTS):
            for line, reason in _effects(machine, source, text):
                machine.problem(reason, None, SourceLocation(source.file, statement.first_line + line - 1))


def _effects(machine: Machine, source: SourceModule, text: str) -> Iterator[tuple[int, str]]:
    """Line within the text, and what the statement there does."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for target in attribute_targets(tree):
        if is_of_others(machine, source, target) and not _is_followed(machine, source, target):
            yield target.lineno, f"`{dotted(target)} = ...` changes what other modules see, which is not followed"
    for node in _outside_functions(tree):
        if is_default(node) and (is_installed(source) or _last(node) != "set_default_dtype"):
            yield (
                node.lineno,
                f"`{ast.unparse(node.func)}(...)` changes the dtype of what is made, which is not followed",
            )


def attribute_targets(tree: ast.AST) -> Iterator[ast.Attribute]:
    """What the statements assign to that is an attribute of a name; those in functions and classes left out."""
    for node in _outside_functions(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute):
                    yield target


def is_default(node: ast.AST) -> TypeGuard[ast.Call]:
    """A call after which tensors are made of another dtype."""
    return isinstance(node, ast.Call) and _last(node) in _DEFAULTS


def _last(call: ast.Call) -> str:
    return last_name(dotted(call.func) or "")


def _is_followed(machine: Machine, source: SourceModule, target: ast.Attribute) -> bool:
    """It is set on a module, or on a class that has nothing built in of that name: `import_effects.py` runs it."""
    if is_installed(source):
        return False
    first, *rest = (dotted(target.value) or "").split(".")
    owner = names.global_name(machine, source.name, first)
    for part in rest:
        owner = machine.find_attribute(owner, part) if owner is not None else None
    if isinstance(owner, ModuleReference):
        return True
    if isinstance(owner, ClassValue):
        known = any(registry.lookup(f"{cls.name}.{target.attr}") for cls in (owner, *_OF_MODULES))
        return not known and not target.attr.startswith("__")
    return isinstance(owner, Address)


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(child for child in reversed(children(node)) if not isinstance(child, _SCOPES))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def is_of_others(machine: Machine, source: SourceModule, target: ast.Attribute) -> bool:
    """Whether an attribute is one of torch's layers, or belongs to another module of the project."""
    name = dotted(target) or ""
    first, _, rest = name.partition(".")
    imported = source.index.imported.get(first)
    if imported is None:
        return False
    place = source.absolute(imported.module, imported.level)
    if imported.attribute is not None:
        place = f"{place}.{imported.attribute}"
    if place == "builtins":
        return True
    if place.partition(".")[0] == "torch":
        return f"{place}.{rest}".startswith(_LAYERS)
    module = machine.finder.source(place) or machine.finder.source(place.rpartition(".")[0])
    return module is not None and not is_installed(module)
