"""Which functions and classes of a project change what is not their own when they are called, by their syntax.

A class attribute, a `global`, an attribute of another module or of an object made at module level, `globals()`: what
they are is as the import of the modules leaves it, whether the name of the statement that calls them is asked for or
not. Functions are told apart by their last name alone, so that more may be found than there are; never fewer, but for
what is called through a name that no definition has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from modgraph.source.changed_objects import bound_by, root_name, stored_in
from modgraph.source.modules import BYTES_SEARCHED, SourceError, SourceModule
from modgraph.source.quiet import python_tree
from modgraph.source.walking import walk

_HINTS = re.compile(
    r"\bglobal\s|\b(?:setattr|delattr|exec|next|set_default_\w+)\(|\b(?:globals|vars|locals)\(\)|\bsys\.modules\b|\b__class__\b"
    r"|(?<![\w.])(?!self\b)[A-Za-z_]\w*(?:\([^()\n]*\))?(?:\.\w+)+\s*(?:[-+*/|&%@^]|//|\*\*|<<|>>)?=(?!=)"
)
"""What stands in the text of a module where one of its functions, or the module itself, may do so."""

_NAMESPACES = frozenset({"globals", "vars", "locals"})
_OF_A_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__", "__prepare__"})
_MAKING = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})
_HARMLESS = ("torch.backends", "os.environ", "sys.stdout", "sys.stderr", "warnings", "logging")
"""What is set there changes no model."""


UNITS_WALKED = 1
"""Units of work that each character takes of what is parsed and walked over."""

UNITS_OF_A_FUNCTION = 3
"""That each function takes of what was found."""


@dataclass
class Changers:
    """Names of functions and classes by what a call of them changes."""

    others: set[str] = field(default_factory=set)
    """Something that is neither theirs nor an argument."""
    arguments: set[str] = field(default_factory=set)
    """An argument."""


@dataclass
class Function:
    """What a call of one function does."""

    others: bool = False
    arguments: bool = False
    calls: set[str] = field(default_factory=set)
    hands_on: set[str] = field(default_factory=set)
    """Called with something that is not the function's own."""


def may_change(source: SourceModule) -> bool:
    """The module's text holds something with which others are changed."""
    source.spend_once("hints", len(source.text) // BYTES_SEARCHED)
    return source.facts.has(_HINTS)


def changers_in(sources: Sequence[SourceModule], read: dict[str, list[tuple[str, Function]]]) -> Changers:
    """Those of these modules, with all that call them.

    Args:
        read: by module, what was found in it; what is missing is added.
    """
    for source in sources:
        if source.name not in read:
            read[source.name] = _functions_of(source)
    if not sources:
        return Changers()
    functions = [each for source in sources for each in read[source.name]]
    sources[0].spend(len(functions) * UNITS_OF_A_FUNCTION)
    known = sources[-1].facts.changers
    # The number, too: of a text that is too long for what work is left, none are read.
    texts = [(source.facts, len(read[source.name])) for source in sources]
    if known is None or known[0] != texts:
        known = sources[-1].facts.changers = (texts, _closure(functions))
    found: Changers = known[1]
    return found


def _closure(functions: Sequence[tuple[str, Function]]) -> Changers:
    """Those that change something, with all that call them."""
    arguments = {name for name, each in functions if each.arguments}
    others = {name for name, each in functions if each.others or not each.hands_on.isdisjoint(arguments)}
    if others:
        callers: dict[str, list[str]] = {}
        for name, each in functions:
            for called in each.calls:
                callers.setdefault(called, []).append(name)
        pending = list(others)
        while pending:
            further = set(callers.pop(pending.pop(), ())) - others
            others |= further
            pending.extend(further)
    return Changers(others, arguments)


def is_effect(nodes: Iterable[ast.AST], changers: Changers) -> bool:
    """A statement of a module's body changes what no name that it binds or touches stands for."""
    parts = [part for node in nodes for part in _outside_functions(node)]
    function = _seen(parts, set(), None)
    return bool(function.others or function.calls & changers.others or function.hands_on & changers.arguments)


def _functions_of(source: SourceModule) -> list[tuple[str, Function]]:
    """Those of its text, walked over once for all who ask: each model of a file does."""
    try:
        source.spend_once("functions", len(source.text) * UNITS_WALKED)
    except SourceError:
        return []
    facts = source.facts
    if facts.functions is None:
        facts.functions = list(_functions(facts.text))
    found: list[tuple[str, Function]] = facts.functions
    return found


def _functions(text: str) -> Iterator[tuple[str, Function]]:
    """The functions of a module by name; a class stands for what makes its instances."""
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, owner = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                function = _function(child, owner is not None)
                yield child.name, function
                if owner is not None and child.name in _MAKING:
                    yield owner, function
            if isinstance(child, ast.ClassDef):
                bases = {name for base in child.bases if (name := last_name(base))}
                yield child.name, Function(calls=bases)
                pending.append((child, child.name))
            elif not isinstance(child, ast.expr):
                pending.append((child, owner))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, is_method: bool) -> Function:
    arguments = node.args
    places = [*arguments.posonlyargs, *arguments.args]
    given = {each.arg for each in (*places, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if each}
    first = places[0].arg if is_method and places else None
    decorators = {last_name(each) for each in node.decorator_list}
    if first is not None and "staticmethod" not in decorators:
        given.discard(first)
        if "classmethod" in decorators or node.name in _OF_A_CLASS or first == "cls":
            first = None
    own = set(given)
    shared: set[str] = set()
    parts = list(walk(node))
    for part in parts:
        if (name := bound_by(part)) is not None:
            own.add(name)
        elif isinstance(part, ast.Global):
            shared.update(part.names)
    if first is not None:
        own.add(first)
    found = _seen(parts, own - shared, given)
    found.others = found.others or bool(shared)
    return found


def _seen(parts: Iterable[ast.AST], own: set[str], given: set[str] | None) -> Function:
    """What these nodes do; at module level, where `given` is None, an attribute of a name is the name's own affair."""
    found = Function()
    for part in parts:
        if (changed := stored_in(part)) is not None:
            _note(found, changed, own, given)
        elif isinstance(part, ast.Call):
            name = last_name(part.func)
            if name in ("setattr", "delattr", "next") and part.args:
                _note(found, part.args[0], own, given)
            elif name == "exec" or (isinstance(part.func, ast.Attribute) and _is_namespace(part.func.value)):
                found.others = True
            elif name:
                found.calls.add(name)
                if any(root_name(each) not in own for each in _handed(part)):
                    found.hands_on.add(name)
    return found


def _note(found: Function, changed: ast.AST, own: set[str], given: set[str] | None) -> None:
    """An attribute or item of that expression is set."""
    base = root_name(changed)
    text = _dotted(changed)
    if any(text == each or text.startswith(each + ".") for each in _HARMLESS):
        return
    if _is_namespace(changed):
        found.others = True
    elif given is not None and (base is None or base not in own or "__class__" in text):
        found.others = found.others or base is not None or _is_type(changed)
    elif given is not None and base in given:
        found.arguments = True


def _is_namespace(node: ast.AST) -> bool:
    """`globals()`, or a module itself."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if _dotted(node) == "sys.modules":
            return True
        node = node.value
    return isinstance(node, ast.Call) and last_name(node.func) in _NAMESPACES and not node.args


def _is_type(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) and last_name(each.func) == "type" for each in ast.walk(node))


def _handed(call: ast.Call) -> Iterator[ast.AST]:
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        if root_name(argument) is not None:
            yield argument


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Lambda):
            pending.append(node.body)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))


def last_name(node: ast.AST) -> str:
    """`c` of a.b.c and of a.b.c(...)."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.value
    return ".".join([*([node.id] if isinstance(node, ast.Name) else []), *reversed(parts)])
