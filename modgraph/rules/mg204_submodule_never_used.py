"""MG204: a submodule that nothing in its file uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Method, Store, attribute_of
from modgraph.rules.missing_looks import uses
from modgraph.rules.reading import local_values
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject, names_in

_OVER_ALL = frozenset(
    [
        "children",
        "modules",
        "named_children",
        "named_modules",
        "_modules",
        "__getattr__",
        "getattr",
        "get_submodule",
        "__dict__",
        "vars",
        "locals",
        "eval",
        "exec",
    ]
)
"""Ways to reach submodules without naming them."""


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    if "forward" not in facts.methods or not _stands_on_torch_alone(subject):
        return
    names = [name for name, stores in facts.stored.items() if len(stores) == 1 and stores[0].method.name == "__init__"]
    plainly_used = _plainly_used(subject)
    made = [name for name in names if name not in plainly_used and _makes_a_layer(subject, facts.stores_of(name)[0])]
    if not made:
        return
    if any(_is_used(subject, name) for name in _OVER_ALL) or not subject.is_module:
        return
    for name in made:
        if not _is_used(subject, name) and not _has_another_name(subject, facts.stores_of(name)[0]):
            yield Found(
                facts.stores_of(name)[0].statement,
                f"`self.{name}` is made and never used: it is not trained, and stays in the state dict",
                name,
            )


def _plainly_used(subject: Subject) -> set[str]:
    """Attributes that the class itself calls or goes through: for these the file need not be walked over."""
    return {name for method in subject.facts.methods.values() for _, name in uses(method)}


def _makes_a_layer(subject: Subject, store: Store) -> bool:
    """A module other than one that only hands its input on."""
    made = subject.reads.made(store.value, store.method)
    kinds = [subject.reads.torch_class(call.func) for call in made]
    return (
        bool(kinds) and any(kind != "Identity" for kind in kinds) and subject.reads.is_module(store.value, store.method)
    )


def _has_another_name(subject: Subject, store: Store) -> bool:
    """What it holds may be used by another name: `self.layers = nn.ModuleList(self.blocks)`."""
    method, value = store.method, store.value
    if value is None or (isinstance(store.statement, ast.Assign) and len(store.statement.targets) > 1):
        return True
    made_of, names = [value], set[str]()
    for part in made_of:  # grows
        for node in ast.walk(part):
            name = attribute_of(node, method.receiver)
            if name is not None and _may_hold(subject, name):
                return True
            if isinstance(node, ast.Name) and node.id not in names and subject.reads.may_hold_module(node, method):
                names.add(node.id)
                made_of += local_values(method, node.id)
    loaded = _loaded(subject, method)
    inside = {node for part in made_of for node in ast.walk(part)} if names & loaded.keys() else set()
    return any(node not in inside for name in names for node in loaded.get(name, ()))


def _loaded(subject: Subject, method: Method) -> dict[str, list[ast.Name]]:
    """By local name, where a method reads it otherwise than to fill what it holds."""
    notes = subject.file.notes
    key = f"loaded {id(method.node)}"
    if key not in notes:
        found: dict[str, list[ast.Name]] = {}
        for node in ast.walk(method.node):
            if not isinstance(node, ast.Name) or _is_changed_there(node, method.parents):
                continue
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        notes[key] = found
    loaded: dict[str, list[ast.Name]] = notes[key]
    return loaded


def _may_hold(subject: Subject, name: str) -> bool:
    facts = subject.facts
    stored = [(store.value, store.method) for store in facts.stored.get(name, ())]
    stored += [(value, change.method) for change in facts.changes if change.name == name for value in change.values]
    return any(value is None or subject.reads.may_hold_module(value, method) for value, method in stored)


def _is_changed_there(node: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """`layers.append(...)`, `layers[0] = ...`: it is filled, and not read."""
    above = parents.get(node)
    if isinstance(above, ast.Subscript):
        return isinstance(above.ctx, ast.Store)
    called = parents.get(above) if isinstance(above, ast.Attribute) else None
    return isinstance(called, ast.Call) and called.func is above and isinstance(parents.get(called), ast.Expr)


def _stands_on_torch_alone(subject: Subject) -> bool:
    """No base of its own that may use the submodule."""
    return all(subject.reads.torch_class(base) == "Module" for base in subject.facts.node.bases)


def _is_used(subject: Subject, name: str) -> bool:
    """Something of the file reads such an attribute: of this class, of another that does not store it, or of any object
    but `self`."""
    if name in _used(subject):
        return True
    own = subject.facts.node
    readers = subject.file.notes["names read on self"].get(name, ())
    return any(each is own or own.name in _spoken_of(each) or not stores for each, stores in readers)


def _spoken_of(node: ast.ClassDef) -> set[str]:
    return {name for base in node.bases for name in names_in(base)}


def _read_on_self(tree: ast.Module) -> tuple[dict[str, list[tuple[ast.ClassDef, bool]]], set[int]]:
    """By name of an attribute: the classes that read it on `self`, and whether they store it there too; and the ids of
    the nodes that read so. A class that derives from one of the file is taken for one that stores nothing."""
    found: dict[str, list[tuple[ast.ClassDef, bool]]] = {}
    nodes: set[int] = set()
    classes = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
    own = {each.name for each in classes}
    for each in classes:
        reads, stored = set[str](), set[str]()
        for function in each.body:
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not function.args.args:
                continue
            me = function.args.args[0].arg
            for node in ast.walk(function):
                name = attribute_of(node, me)
                if isinstance(node, ast.Attribute) and name is not None:
                    is_read = isinstance(node.ctx, ast.Load)
                    (reads if is_read else stored).add(name)
                    if is_read:
                        nodes.add(id(node))
                elif isinstance(node, ast.Call) and _asks_itself(node, me):
                    reads.add("getattr")
                    nodes.add(id(node.func))
        is_apart = not _spoken_of(each) & own
        for name in reads:
            is_its_own = name in stored or name in _OVER_ALL
            found.setdefault(name, []).append((each, is_apart and is_its_own))
    return found, nodes


def _asks_itself(call: ast.Call, me: str) -> bool:
    """`getattr(self, ...)`."""
    is_named = isinstance(call.func, ast.Name) and call.func.id == "getattr"
    return is_named and bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == me


def _used(subject: Subject) -> set[str]:
    """Names of attributes that the file reads otherwise than on `self`, and strings that may name one."""
    notes = subject.file.notes
    if "names used" not in notes:
        found: set[str] = set()
        notes["names read on self"], on_self = _read_on_self(subject.file.tree)
        for node in ast.walk(subject.file.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if id(node) not in on_self:
                    found.add(node.attr)
            elif isinstance(node, ast.Name) and node.id in _OVER_ALL and id(node) not in on_self:
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
                found.add(node.value)  # a path with dots is a key of a state dict, or leads to what is called anyway
        notes["names used"] = found
    used: set[str] = notes["names used"]
    return used


RULE = Rule(
    code="MG204",
    name="unused-submodule",
    severity="info",
    summary="A submodule is made in the constructor and nothing in the file uses it.",
    why="""\
Its parameters get no gradient; distributed training stops with an error on unused parameters. It may be left over
from an older version, or kept so that old checkpoints load: then say so in a comment that ignores this rule.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.body(x)
""",
            (7,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        blocks = [nn.Linear(8, 8) for _ in range(2)]
        self.blocks = blocks
        self.registered = nn.ModuleList(self.blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
            "the same modules under another name",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x
""",
            "used without being named",
        ),
        Valid(
            """\
from torch import nn

class Base(nn.Module):
    def forward(self, x):
        return self.head(x)

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)
""",
            "used by the base",
        ),
    ),
)
