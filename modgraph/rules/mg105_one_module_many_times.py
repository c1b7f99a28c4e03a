"""MG105: `[Block()] * n`: n times the same module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modgraph.findings import Fix
from modgraph.rules import flags
from modgraph.rules.edits import replace, source
from modgraph.rules.facts import Method
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.state import learns
from modgraph.rules.subject import Subject

_MEANT = ("shared", "share", "sharing", "tied", "tie_", "recurren", "universal", "same")
_APART = ("individual", "independent", "separate", "untied", "unshared", "distinct")
"""Words of an option that decides whether each place has a module of its own."""
_FUNCTIONS = frozenset(("act", "acts", "actfn", "activation", "activations", "nonlin", "nonlinear", "nonlinearity"))
"""Words of the name of an activation: made before and put between layers, it is a function, even if it learns."""


def find(subject: Subject) -> Iterator[Found]:
    for method in subject.facts.methods.values():
        for product in method.products:
            left = isinstance(product.left, (ast.List, ast.Tuple))
            sequence, times = (product.left, product.right) if left else (product.right, product.left)
            assert isinstance(sequence, (ast.List, ast.Tuple))
            name = _repeated(subject, method, sequence.elts, times)
            if name is not None:
                yield _found(product, name, ast.unparse(times), _fix(subject, method, product, sequence, times))
    for method in subject.facts.methods.values():
        yield from _in_comprehensions(subject, method)
        yield from _in_loops(subject, method)
    for method, call in subject.calls_of("repeat"):
        if subject.reads.path_of(call.func) != "itertools.repeat" or not call.args:
            continue
        if len(call.args) > 1:
            name = _repeated(subject, method, call.args[:1], call.args[1])
            if name is not None:
                yield _found(call, name, ast.unparse(call.args[1]), None)


def _in_comprehensions(subject: Subject, method: Method) -> Iterator[Found]:
    """`[block for _ in range(n)]`, of a module that was made before."""
    for node in method.comprehensions:
        bound = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
        times = _range(node.generators[0].iter) if len(node.generators) == 1 else None
        if times is None or not isinstance(node.elt, ast.Name) or node.elt.id in bound:
            continue
        name = _repeated(subject, method, [node.elt], times)
        if name is not None:
            yield _found(node, name, ast.unparse(times), None)


def _in_loops(subject: Subject, method: Method) -> Iterator[Found]:
    """`for _ in range(n): layers.append(block)`, of a module that was made before the loop."""
    for loop in method.loops:
        times = _range(loop.iter)
        for statement in loop.body if times is not None else ():
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
                continue
            element = call.args[0]
            if call.func.attr != "append" or not isinstance(element, ast.Name) or _is_bound_in(loop, element.id):
                continue
            name = _repeated(subject, method, [element], times) if times is not None else None
            if name is not None and times is not None:
                yield _found(call, name, ast.unparse(times), None)


def _range(node: ast.expr) -> ast.expr | None:
    """`n`, for `range(n)`."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    return node.args[0] if called and len(node.args) == 1 else None  # type: ignore[attr-defined]


def _is_bound_in(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load) for each in ast.walk(loop)
    )


def _found(node: ast.expr, name: str, times: str, fix: Fix | None) -> Found:
    shown = f"({times})" if " " in times else times
    return Found(
        node,
        f"one {name} {shown} times, not {shown} of them: all places share the parameters of one module; "
        f"write [{name}(...) for _ in range({times})]",
        fix=fix,
    )


def _repeated(subject: Subject, method: Method, elements: list[ast.expr], times: ast.expr) -> str | None:
    """Name of the class of which one module is repeated, where it has something to learn."""
    if not flags.is_count(subject, method, times):
        return None
    for element in elements:
        if _is_function(element):
            continue
        made = subject.reads.made(_by_default(method, element), method)
        if not made or not all(subject.reads.is_module_class(each.func) for each in made):
            continue
        if _is_meant(subject, method, element) or not subject.is_module:
            return None
        if all(learns(subject.reads, each) for each in made):
            return ast.unparse(made[0].func)
    return None


def _is_function(element: ast.expr) -> bool:
    return isinstance(element, ast.Name) and not _FUNCTIONS.isdisjoint(re.split(r"[_\d]+", element.id.lower()))


def _by_default(method: Method, element: ast.expr) -> ast.expr:
    """`Block(dim)`, for `block(dim)` where the argument `block` is a class by default."""
    if not isinstance(element, ast.Call) or not isinstance(element.func, ast.Name) or element.func.id in method.values:
        return element
    default = method.parameters.get(element.func.id)
    return ast.Call(default[0], element.args, element.keywords) if default else element


def _is_meant(subject: Subject, method: Method, element: ast.expr) -> bool:
    """A name says that the parameters are to be shared, or an option decides it: what would undo that is no help."""
    if any(_is_option(subject, method, element, *each) for each in _around(method, element)):
        return True
    names = [subject.facts.qualname, ast.unparse(element) if isinstance(element, ast.Name) else ""]
    for statement in method.assigns:
        if statement.lineno <= element.lineno <= (statement.end_lineno or statement.lineno):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names.extend(ast.unparse(target) for target in targets)
    return any(word in name.lower() for word in _MEANT for name in names)


def _around(method: Method, node: ast.AST) -> Iterator[tuple[ast.If | ast.IfExp, str]]:
    """(choice, the branch of it in which the node stands), from the inside out."""
    below: ast.AST = node
    each = method.parents.get(node)
    while each is not None and each is not method.node:
        if isinstance(each, ast.If):
            yield each, "body" if below in each.body else "orelse"
        elif isinstance(each, ast.IfExp):
            yield each, "body" if below is each.body else "orelse"
        below, each = each, method.parents.get(each)


def _is_option(subject: Subject, method: Method, element: ast.expr, choice: ast.If | ast.IfExp, branch: str) -> bool:
    """Its test speaks of sharing, or what it does otherwise makes a module of the class for each place."""
    words = {each.lower() for node in ast.walk(choice.test) for each in _words(node)}
    if any(word in each for each in words for word in (*_MEANT, *_APART)):
        return True
    made = {ast.unparse(each.func) for each in subject.reads.made(element, method)}
    return not made.isdisjoint(_made_in_turns(subject, choice, "orelse" if branch == "body" else "body"))


def _made_in_turns(subject: Subject, choice: ast.If | ast.IfExp, branch: str) -> set[str]:
    """What is called in loops and comprehensions of a branch, as it is written."""
    known: dict[tuple[int, str], set[str]] = subject.notes.setdefault("made in turns", {})
    key = (id(choice), branch)
    if key not in known:
        part = getattr(choice, branch)
        known[key] = {
            ast.unparse(call.func)
            for other in (part if isinstance(part, list) else [part])
            for turn in ast.walk(other)
            if isinstance(turn, (ast.For, ast.ListComp, ast.GeneratorExp))
            for call in ast.walk(turn)
            if isinstance(call, ast.Call)
        }
    return known[key]


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _fix(
    subject: Subject, method: Method, product: ast.BinOp, sequence: ast.List | ast.Tuple, times: ast.expr
) -> Fix | None:
    element = sequence.elts[0]
    if len(sequence.elts) != 1 or not isinstance(element, ast.Call) or _is_multiplied(method, product):
        return None
    if not _is_the_same_each_time(subject, method, element):
        return None
    written, number = source(subject, element), source(subject, times)
    if source(subject, product).count("#") > written.count("#") + number.count("#"):
        return None  # a comment would be lost
    names = {node.id for node in ast.walk(element) if isinstance(node, ast.Name)}
    variable = next(each for each in ("_", "_i", "_n", *(f"_{n}" for n in range(len(names)))) if each not in names)
    each = f"{written} for {variable} in range({number})"
    text = f"[{each}]" if isinstance(sequence, ast.List) else f"tuple({each})"
    return Fix("make a module for each place", (replace(subject, product, text),))


def _is_multiplied(method: Method, product: ast.BinOp) -> bool:
    """`[layer] * 2 * 3`: the result would be repeated again."""
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and product in (node.left, node.right)
        for node in ast.walk(method.node)
    )


_PLAIN = frozenset(("abs", "bool", "dict", "float", "int", "len", "list", "max", "min", "round", "str", "sum", "tuple"))
"""Builtins that give the same each time."""


def _is_the_same_each_time(subject: Subject, method: Method, element: ast.Call) -> bool:
    """Made again it is an equal module with nothing of the first: what it is given does no more than give a value, and
    holds no module that is made elsewhere."""
    for node in ast.walk(element):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred, ast.Lambda)):
            return False
        if isinstance(node, ast.Name) and subject.reads.may_hold_module(node, method):
            return False
        if not isinstance(node, ast.Call) or subject.reads.is_module_class(node.func):
            continue
        if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN):
            return False
    return True


RULE = Rule(
    code="MG105",
    name="shared-by-multiplication",
    severity="warning",
    summary="`[layer] * n`, or a loop, repeats one module; all n places share its parameters.",
    why="""\
Multiplying a list repeats references. `nn.Sequential(*[Block()] * 12)` has twelve names in its state dict and the
parameters of one block; `parameters()` gives them once. `[block for _ in range(12)]`, and a loop that appends the same
block, come to the same. Nothing is raised.

Write a comprehension, `[Block() for _ in range(12)]`. Where the sharing is meant, as in a recurrent stack, call the
one module in a loop, or give it a name that says so (`shared_block`). Modules without parameters are not reported, nor
is one that was made before under the name of an activation (`act`), as one for all layers is usual there.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(8, 8)] * 3)
        self.heads = nn.ModuleList(depth * [nn.Linear(8, 2)])
""",
            (6, 7),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(8, 8) for _ in range(3)])
        self.heads = nn.ModuleList([nn.Linear(8, 2) for _ in range(depth)])
""",
        ),
        Invalid(
            """\
import itertools
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        layers = [nn.Linear(3, 8)]
        layers += [Block()] * depth
        self.body = nn.Sequential(*layers)
        self.tail = nn.ModuleList(itertools.repeat(Block(), 3))
""",
            (13, 15),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.Conv2d(8, 8, 3)
        self.body = nn.Sequential(*[layer] * 4)
""",
            (7,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        block = nn.Linear(8, 8)
        self.blocks = nn.ModuleList([block for _ in range(6)])
        self.rest = nn.ModuleList()
        for _ in range(depth):
            self.rest.append(block)
""",
            (7, 10),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        blocks = [nn.Linear(8, 8) for _ in range(depth)]
        self.blocks = nn.ModuleList([block for block in blocks])
        self.rest = nn.ModuleList()
        for _ in range(depth):
            block = nn.Linear(8, 8)
            self.rest.append(block)
        tied = nn.Linear(8, 8)
        self.again = nn.ModuleList([tied for _ in range(depth)])
""",
            "a module for each place, or a name that says what is meant",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(8, 8) for _ in range(depth)])
        self.sizes = [8] * depth
        self.activations = nn.ModuleList([nn.ReLU()] * depth)
""",
            "a module for each place; numbers; nothing to learn",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        shared_block = nn.Linear(8, 8)
        self.body = nn.Sequential(*[shared_block] * depth)
""",
            "the name says that it is meant",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        act = nn.PReLU(8)
        self.body = nn.Sequential(nn.Linear(8, 8), act)
        for _ in range(depth):
            self.body.append(nn.Linear(8, 8))
            self.body.append(act)
""",
            "one activation for all layers, made before under a name that says what it is",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.kinds = [nn.Linear] * 3
        self.body = nn.Sequential(*[kind(8, 8) for kind in self.kinds])
""",
            "the class is repeated, not a module",
        ),
    ),
)
