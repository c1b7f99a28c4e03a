"""A first look at what `forward` uses and what is not there: submodules that are None, deleted or never set, and
elements that a container does not have.

By names and numbers alone: whether it fails, the interpreter says.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from modgraph.rules import members
from modgraph.rules.changed_elsewhere import may_be_joined
from modgraph.rules.facts import Method, Store, attribute_of
from modgraph.rules.forward_looks import Sizes, has_forward, run_methods
from modgraph.rules.subject import Subject
from modgraph.source.torch_names import MODULE_METHODS, OTHER_NAMES

_OF_MODULES = MODULE_METHODS | OTHER_NAMES
_GOING_THROUGH = frozenset(("enumerate", "zip", "reversed", "list", "tuple", "iter"))
_READING = frozenset(("len", "enumerate", "zip", "range", "reversed", "isinstance", "print", "list", "tuple", "iter"))
"""Functions that change nothing of a container that they are given."""


def is_something_missing(subject: Subject) -> bool:
    """What MG304 asks first."""
    return bool(may_be_missing(subject) or elements_in_question(subject))


# ---- submodules ------------------------------------------------------------------------------------------------------


def may_be_missing(subject: Subject) -> list[str]:
    """Attributes that `forward` calls, goes through or takes an element of, and that are None wherever they are stored,
    or are stored nowhere."""
    if "may be missing" not in subject.notes:
        subject.notes["may be missing"] = list(_missing(subject))
    found: list[str] = subject.notes["may be missing"]
    return found


def _missing(subject: Subject) -> Iterator[str]:
    facts = subject.facts
    if not has_forward(subject) or "__init__" not in facts.methods:
        return
    used: dict[str, None] = {}
    deleted = set(_deleted(subject))
    for method in run_methods(subject):
        for node, name in uses(method):
            if name in facts.methods or name in _OF_MODULES:
                continue
            stores = facts.stores_of(name)
            if name in deleted or not (_is_stored(stores) or (stores and _is_tested(method, node, name))):
                used[name] = None
    if used and stands_alone(subject):
        yield from (name for name in used if _is_absent(subject, name))


def uses(method: Method) -> Iterator[tuple[ast.expr, str]]:
    """Where a method calls an attribute of the object, one of its elements or a method of it, or goes through it: with
    the attribute's name."""
    for call in method.calls if method.receiver else ():
        name = held_by(call.func, method.receiver)
        if name is not None:
            yield call, name
    for over in method.iterated if method.receiver else ():
        pending = [over]
        while pending:
            each = pending.pop()
            name = attribute_of(each, method.receiver)
            if name is not None:
                yield over, name
            elif isinstance(each, ast.Call) and getattr(each.func, "id", "") in _GOING_THROUGH:
                pending += each.args


def held_by(node: ast.expr, receiver: str) -> str | None:
    """ "heads", for `self.heads`, `self.heads["a"]`, `self.heads.forward` and `self.heads[0].conv`."""
    while True:
        name = attribute_of(node, receiver)
        if name is not None:
            return name
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        node = node.value


def _is_tested(method: Method, node: ast.expr, name: str) -> bool:
    """It is used where it is not None alone: `if self.name is not None:`, `if self.name:`."""
    below: ast.AST = node
    while below in method.parents:
        around = method.parents[below]
        if isinstance(around, (ast.If, ast.IfExp)) and below is not around.test:
            body = around.body if isinstance(around.body, list) else [around.body]
            tests = around.test.values if isinstance(around.test, ast.BoolOp) else [around.test]
            is_and = not isinstance(around.test, ast.BoolOp) or isinstance(around.test.op, ast.And)
            if below in body and is_and and any(_says_there(each, method, name) for each in tests):
                return True
        below = around
    return False


def _says_there(test: ast.expr, method: Method, name: str) -> bool:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        other = test.comparators[0]
        return (
            attribute_of(test.left, method.receiver) == name and isinstance(other, ast.Constant) and other.value is None
        )
    return attribute_of(test, method.receiver) == name


def _deleted(subject: Subject) -> Iterator[str]:
    """Attributes that a method deletes."""
    for method in subject.facts.methods.values():
        for node in method.deletes if method.receiver else ():
            yield from filter(None, (attribute_of(each, method.receiver) for each in node.targets))


def _is_stored(stores: list[Store]) -> bool:
    return any(not (isinstance(each.value, ast.Constant) and each.value.value is None) for each in stores)


def stands_alone(subject: Subject) -> bool:
    """Its bases are torch's own, and no class of the file is made of it."""
    if not all(subject.reads.torch_class(base) == "Module" for base in subject.facts.node.bases):
        return False
    if {"__getattr__", "__getattribute__"} & set(subject.facts.methods):
        return False
    return subject.facts.node.name not in subject.file.bases


def _is_absent(subject: Subject, name: str) -> bool:
    """No text of the file puts something there: `net.name = ...`, `setattr(net, "name", ...)`, a class to be joined."""
    member = members.member(subject.facts.node, name)
    if member is not None and not member.is_none:
        return False
    if set_elsewhere(subject, {name}) or name in subject.file.words:
        return False
    return not may_be_joined(subject, {name})


def set_elsewhere(subject: Subject, names: set[str]) -> bool:
    """Something else than the constructor stores one of these attributes: another method, a class made of this one,
    code that has an instance."""
    constructor = subject.facts.reached("__init__")
    own = {id(store.target) for name in names for store in subject.facts.stores_of(name) if store.method in constructor}
    return any(id(each) not in own for name in names for each in subject.file.stored_of(name, subject.facts.node))


# ---- elements --------------------------------------------------------------------------------------------------------


def elements_in_question(subject: Subject) -> list[str]:
    """Containers of torch from which `forward` takes an element that they may not have."""
    if "elements in question" not in subject.notes:
        subject.notes["elements in question"] = list(_in_question(subject))
    found: list[str] = subject.notes["elements in question"]
    return found


def _in_question(subject: Subject) -> Iterator[str]:
    facts = subject.facts
    if not has_forward(subject) or "__init__" not in facts.methods:
        return
    asked: dict[str, list[tuple[Method, ast.expr | None]]] = {}
    for method in run_methods(subject):
        for node, name in uses(method):
            if name in facts.stored:
                asked.setdefault(name, []).append((method, _element(node, method, name)))
    for name, places in asked.items():
        kind = _container(subject, name)
        if kind is None or not any(_is_doubtful(subject, name, kind, *place) for place in places):
            continue
        if stands_alone(subject) and not _is_filled_later(subject, name) and not set_elsewhere(subject, {name}):
            yield name


def _element(node: ast.expr, method: Method, name: str) -> ast.expr | None:
    """`i`, where `self.name[i]` or an element of it is called; None where the whole is gone through."""
    each = node.func if isinstance(node, ast.Call) else node
    while isinstance(each, (ast.Attribute, ast.Subscript)):
        if isinstance(each, ast.Subscript) and attribute_of(each.value, method.receiver) == name:
            return each.slice
        each = each.value
    return None


def _container(subject: Subject, name: str) -> str | None:
    """The class of torch that certainly makes what is stored."""
    stores = subject.facts.stores_of(name)
    made = stores[0].value if len(stores) == 1 else None
    kind = subject.reads.torch_class(made.func) if isinstance(made, ast.Call) else None
    return kind if kind in ("ModuleList", "Sequential", "ModuleDict") else None


def _is_doubtful(subject: Subject, name: str, kind: str, method: Method, element: ast.expr | None) -> bool:
    made = subject.facts.stores_of(name)[0].value
    assert isinstance(made, ast.Call)
    if element is None:
        return any(isinstance(each, ast.Constant) and each.value is None for each in _listed(made))
    if isinstance(element, ast.UnaryOp) and isinstance(element.op, ast.USub):
        element = element.operand
    if isinstance(element, ast.Constant):
        if isinstance(element.value, str):
            return kind == "ModuleDict" and not _texts(subject)[element.value]
        return type(element.value) is int and not _is_within(subject, name, made, element.value)
    if not isinstance(element, ast.Name):
        return False
    if kind == "ModuleDict":
        return _is_of_another_key(subject, method, element.id)
    return _is_of_another_number(subject, name, made, method, element.id)


def _listed(made: ast.Call) -> list[ast.expr]:
    """The elements, as far as they stand there."""
    first = made.args[0] if len(made.args) == 1 else None
    return first.elts if isinstance(first, (ast.List, ast.Tuple)) else list(made.args) if len(made.args) > 1 else []


def _texts(subject: Subject) -> Counter[str]:
    """How often each str stands in the constructor and what it calls, and in the body of the class and of the file."""
    if "texts" not in subject.notes:
        nodes: list[ast.AST] = [each.node for each in subject.facts.reached("__init__")]
        nodes += subject.facts.body_assigns
        nodes += (each for each in subject.file.tree.body if isinstance(each, (ast.Assign, ast.AnnAssign)))
        subject.notes["texts"] = Counter(text for node in nodes for text in _strings(node))
    found: Counter[str] = subject.notes["texts"]
    return found


def _strings(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _is_of_another_key(subject: Subject, method: Method, key: str) -> bool:
    """A loop goes through texts, of which one stands nowhere else."""
    loops = [each for each in method.loops if key in (getattr(each.target, "id", ""), *_first_of(each.target))]
    over = loops[0].iter if len(loops) == 1 else None
    name = attribute_of(over, method.receiver) if over is not None else None
    stores = subject.facts.stores_of(name) if name is not None else []
    stored = stores[0].value if len(stores) == 1 else None
    listed = stored if name is not None else over
    if not isinstance(listed, (ast.List, ast.Tuple)):
        return False
    own = (
        Counter(_strings(listed))
        if name is not None and stores[0].method in subject.facts.reached("__init__")
        else Counter()
    )
    return any(_texts(subject)[text] <= own[text] for text in _strings(listed))


def _is_within(subject: Subject, name: str, made: ast.Call, at: int) -> bool:
    """There certainly are so many, or nothing says how many there are."""
    listed = _listed(made)
    if listed and not any(isinstance(each, ast.Starred) for each in listed):
        return at < len(listed) or any(change.name == name for change in subject.facts.changes)
    count = _count(made)
    return count is None or (isinstance(count, ast.Constant) and isinstance(count.value, int) and at < count.value)


def _count(made: ast.Call) -> ast.expr | None:
    """`n`, of `nn.ModuleList([layer() for _ in range(n)])`."""
    first = made.args[0] if len(made.args) == 1 else None
    first = first.value if isinstance(first, ast.Starred) else first
    is_each = isinstance(first, (ast.ListComp, ast.GeneratorExp)) and len(first.generators) == 1
    over = first.generators[0].iter if isinstance(first, (ast.ListComp, ast.GeneratorExp)) and is_each else None
    is_range = isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range" and len(over.args) == 1
    return over.args[0] if isinstance(over, ast.Call) and is_range else None


def _is_of_another_number(subject: Subject, name: str, made: ast.Call, method: Method, index: str) -> bool:
    """A loop counts to a number that may be known, and so may be how many elements there are: by other words."""
    loops = [each for each in method.loops if index in (getattr(each.target, "id", ""), *_first_of(each.target))]
    if len(loops) != 1 or any(change.name == name for change in subject.facts.changes):
        return False
    over = loops[0].iter
    if not isinstance(over, ast.Call) or getattr(over.func, "id", "") != "range" or len(over.args) != 1:
        return False
    times, count = over.args[0], _count(made)
    init = subject.facts.methods["__init__"]
    sizes = Sizes(subject)
    if not sizes.is_known(times, method):
        return False
    if count is None:
        listed = _listed(made)
        return bool(listed) and not (isinstance(times, ast.Constant) and times.value == len(listed))
    return ast.unparse(count) != ast.unparse(times) and sizes.is_known(count, init)


def _first_of(target: ast.expr) -> list[str]:
    return [getattr(target.elts[0], "id", "")] if isinstance(target, ast.Tuple) and target.elts else []


def _is_filled_later(subject: Subject, name: str) -> bool:
    """A method that the constructor does not call does more with it than to read it."""
    facts = subject.facts
    built = facts.reached("__init__")
    for method in facts.methods.values():
        if method in built or not method.receiver:
            continue
        for node, above in method.parents.items():
            if attribute_of(node, method.receiver) == name and not _is_read(node, above, method):
                return True
    return False


def _is_read(node: ast.AST, above: ast.AST, method: Method) -> bool:
    if isinstance(above, ast.Subscript):
        holder = method.parents.get(above)
        return isinstance(above.ctx, ast.Load) and not isinstance(holder, (ast.Assign, ast.AnnAssign, ast.NamedExpr))
    if isinstance(above, ast.Call):
        return above.func is node or getattr(above.func, "id", "") in _READING
    if isinstance(above, ast.Attribute):
        return above.attr in ("items", "values", "keys", "forward", "training")
    return isinstance(above, (ast.For, ast.comprehension, ast.Compare, ast.Starred, ast.If, ast.BoolOp))
