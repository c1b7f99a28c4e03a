"""What the target's module does to others when it is imported, and the prediction does not follow: said, with its line.

A hook for all registrations, another default dtype, `nn.Linear = Mine`, `settings.WIDTH = 9`: they hold whether a name
of the module is asked for or not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction.import_order import is_installed
from modgraph.prediction.knowledge.modules import HOOKED, REGISTRATION_HOOKS
from modgraph.source.dotted_names import dotted
from modgraph.source.modules import SourceModule
from modgraph.source.walking import children

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_DEFAULTS = ("set_default_dtype", "set_default_tensor_type")
"""torch's functions after which tensors are made of another dtype."""
_LAYERS = "torch.nn."


_ATTRIBUTE_SET = re.compile(r"\.\s*[^\W\d]\w*[\s)]*(?::|[-+*/%@&|^<>]{0,3}=)")
"""What a text holds that assigns an attribute: most texts hold none, and need not be parsed."""


def tell(machine: Interpreter, source: SourceModule) -> None:
    """A problem for each such statement of the module."""
    for statement in source.index.body:
        if statement.kind in ("class", "function", "import"):
            continue
        text = "\n".join(source.lines[statement.first_line - 1 : statement.last_line])
        if any(f"{hook}(" in text for hook in REGISTRATION_HOOKS):
            machine.problem(HOOKED, None, SourceLocation(source.file, statement.first_line))
        elif _ATTRIBUTE_SET.search(text) or any(name in text for name in _DEFAULTS):
            for line, reason in _effects(machine, source, text):
                machine.problem(reason, None, SourceLocation(source.file, statement.first_line + line - 1))


def _effects(machine: Interpreter, source: SourceModule, text: str) -> Iterator[tuple[int, str]]:
    """Line within the text, and what the statement there does."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in _outside_functions(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                name = dotted(target) if isinstance(target, ast.Attribute) else None
                if name is not None and _is_of_others(machine, source, name):
                    yield node.lineno, f"`{name} = ...` changes what other modules see, which is not followed"
        elif isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in _DEFAULTS:
            yield node.lineno, f"`{dotted(node.func)}(...)` changes the dtype of what is made, which is not followed"


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(child for child in reversed(children(node)) if not isinstance(child, _SCOPES))


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _is_of_others(machine: Interpreter, source: SourceModule, name: str) -> bool:
    """Whether an attribute is one of torch's layers, or belongs to another module of the project."""
    first, _, rest = name.partition(".")
    imported = source.index.imported.get(first)
    if imported is None:
        return False
    place = source.absolute(imported.module, imported.level)
    if imported.attribute is not None:
        place = f"{place}.{imported.attribute}"
    if place.partition(".")[0] == "torch":
        return f"{place}.{rest}".startswith(_LAYERS)
    module = machine.finder.source(place) or machine.finder.source(place.rpartition(".")[0])
    return module is not None and not is_installed(module)
