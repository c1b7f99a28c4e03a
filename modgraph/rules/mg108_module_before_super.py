"""MG108: `super().__init__()` that is missing, comes too late, or comes twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from modgraph.findings import Edit, Fix
from modgraph.rules import initialising, super_calls
from modgraph.rules.edits import between, end_of, insert, newline, replace, start_of
from modgraph.rules.facts import Method
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.rules.templates import is_template


def find(subject: Subject) -> Iterator[Found]:
    init = subject.facts.methods.get("__init__")
    if init is None or not init.receiver or init.node.decorator_list or subject.facts.node.decorator_list:
        return
    initialised = [call for call in init.calls if initialising.may_initialise(subject, call, init)]
    forgotten = next((each for each in init.node.body if _is_not_called(each)), None)
    if forgotten is not None and len(initialised) == 1:
        yield from _uncalled(subject, forgotten)
        return
    only = initialised[0] if len(initialised) == 2 else None
    if only is not None and (why := super_calls.past_the_constructor(subject, init, only)):
        yield from _past(subject, init, only, why)
        return
    if not initialised:
        yield from _missing(subject, init)
        return
    statements = init.node.body
    top = [(n, each) for n, each in enumerate(statements) if _base_call(each) is not None]
    if not top:
        return
    yield from _late(subject, init, top[0][0], initialised)
    yield from _twice(subject, init, top)


def _base_call(statement: ast.stmt) -> ast.Call | None:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return call if isinstance(call, ast.Call) and initialising.is_base_init(call) else None


def _is_not_called(statement: ast.stmt) -> bool:
    """`super().__init__` alone, which only looks the method up, or `super()`, which does not even that."""
    if super_calls.is_alone(statement):
        return True
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Attribute) and initialising.is_super_init(ast.Call(value, [], []))


def _uncalled(subject: Subject, statement: ast.stmt) -> Iterator[Found]:
    if not _builds_itself(subject) or not subject.is_module:
        return
    is_alone = super_calls.is_alone(statement)
    missing = ".__init__()" if is_alone else "()"
    fix = (
        Fix("call it", (insert(end_of(subject, statement), missing),), safe=True) if _is_plain_module(subject) else None
    )
    what = ".__init__() is missing" if is_alone else "the parentheses are missing"
    yield Found(statement, f"super().__init__ is not called here, only looked up: {what}", fix=fix)


def _past(subject: Subject, init: Method, call: ast.Call, why: str) -> Iterator[Found]:
    """The one call that should run the constructor of `nn.Module` does not."""
    matters = " raises a" in why or _is_called_in_vain(subject, init)
    matters = matters or initialising.registering(subject, init, init.node.body) is not None
    if not matters or not _builds_itself(subject) or not subject.is_module:
        return
    right = replace(subject, call.func, "super().__init__")
    fix = Fix("write super().__init__()", (right,), safe=True) if _is_plain_module(subject) else None
    yield Found(call, f"{why}; write super().__init__()", fix=fix)


def _is_called_in_vain(subject: Subject, init: Method) -> bool:
    """Whoever calls an instance gets an AttributeError, as its hooks are not there: nothing else sets the object up,
    and it is no base for others, which might call the constructor of `nn.Module` themselves."""
    facts = subject.facts
    forward = facts.methods.get("forward")
    if forward is None or not forward.receiver or _is_to_be_written(forward):
        return False
    if "__call__" in facts.methods or subject.file.bases.get(facts.node.name) or subject.is_local:
        return False
    is_of_module = _is_plain_module(subject) or _is_of_the_file(subject)
    return is_of_module and not any("hooks" in name for name in facts.stored) and not init.functions


def _is_of_the_file(subject: Subject) -> bool:
    """It derives from `nn.Module` by classes of the file alone, each with one base; none sets an object up."""
    classes = {each.name: each for each in subject.file.tree.body if isinstance(each, ast.ClassDef)}
    node = subject.facts.node
    for _ in classes:
        if len(node.bases) != 1 or node.keywords or node.decorator_list:
            return False
        if subject.reads.torch_class(node.bases[0]) == "Module":
            return True
        base = node.bases[0]
        if not isinstance(base, ast.Name) or base.id not in classes or base.id in subject.file.summary.aliases:
            return False
        node = classes[base.id]
        text = ast.unparse(node)
        if "hooks" in text or any(name in text for name in _SETTING_UP):
            return False
    return False


_SETTING_UP = ("__call__", "__new__", "__setattr__", "__getattr__", "__init_subclass__", "__dict__")


def _is_to_be_written(method: Method) -> bool:
    """It has no body of its own: `pass`, `...`, `raise NotImplementedError`."""
    first = _first(method)
    return first is None or (isinstance(first, (ast.Pass, ast.Raise, ast.Expr)) and len(method.node.body) <= 2)


def _missing(subject: Subject, init: Method) -> Iterator[Found]:
    first = initialising.registering(subject, init, init.node.body)
    if first is None and _is_called_in_vain(subject, init) and _builds_itself(subject) and subject.is_module:
        message = "super().__init__() is never called: whoever calls an instance gets an AttributeError of nn.Module"
        yield Found(init.node, message, fix=_insertion(subject, init))
        return
    if first is None or not _builds_itself(subject) or not subject.is_module:
        return
    yield Found(
        first,
        "super().__init__() is never called: nn.Module raises here, since nothing can be registered before it",
        _attribute(first),
        fix=_insertion(subject, init),
    )


def _builds_itself(subject: Subject) -> bool:
    """Nothing else prepares the object: no `__new__`, metaclass or `__setattr__` of its own."""
    own = subject.facts
    return not own.node.keywords and not any(name in own.methods for name in ("__new__", "__setattr__"))


def _late(subject: Subject, init: Method, place: int, initialised: list[ast.Call]) -> Iterator[Found]:
    statements = init.node.body
    call = statements[place]
    if any((each.lineno, each.col_offset) < (call.lineno, call.col_offset) for each in initialised):
        return
    first = initialising.registering(subject, init, statements[:place])
    if first is None or not _builds_itself(subject) or not subject.is_module or is_template(subject.file):
        return
    yield Found(
        first,
        f"this comes before super().__init__() (line {call.lineno}): nn.Module raises here; call that first",
        _attribute(first),
        fix=_move(subject, init, call),
    )


def _twice(subject: Subject, init: Method, top: list[tuple[int, ast.stmt]]) -> Iterator[Found]:
    statements = init.node.body
    wiping = [(place, each) for place, each in top if _wipes(subject, each)]
    for (first, _), (second, statement) in pairwise(wiping):
        between_them = statements[first + 1 : second]
        lost = initialising.registering(subject, init, between_them)
        if lost is not None and subject.is_module:
            yield Found(
                statement,
                f"a second call of the base's constructor empties what is registered already (line {lost.lineno}); "
                "remove it",
                _attribute(lost),
                severity="warning",
            )


def _wipes(subject: Subject, statement: ast.stmt) -> bool:
    """It certainly comes to `nn.Module.__init__`."""
    call = _base_call(statement)
    if call is None:
        return False
    if initialising.is_module_init(subject, call):
        return True
    bases = subject.facts.node.bases
    return initialising.is_super_init(call) and len(bases) == 1 and subject.reads.torch_class(bases[0]) == "Module"


def _attribute(statement: ast.stmt) -> str | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return next((each.attr for each in targets if isinstance(each, ast.Attribute)), None)


# ---- fixes -----------------------------------------------------------------------------------------------------------


def _is_plain_module(subject: Subject) -> bool:
    """Its one base is `nn.Module`: the constructor needs no arguments."""
    bases = subject.facts.node.bases
    return len(bases) == 1 and subject.reads.torch_class(bases[0]) == "Module"


def _first(init: Method) -> ast.stmt | None:
    """The first statement behind the docstring."""
    body = init.node.body
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    rest = body[1:] if docstring and isinstance(body[0].value.value, str) else body  # type: ignore[attr-defined]
    return rest[0] if rest else None


def _insertion(subject: Subject, init: Method) -> Fix | None:
    first = _first(init)
    if first is None or not _is_plain_module(subject) or not _starts_line(subject, first):
        return None
    line, column = start_of(subject, first)
    text = f"super().__init__(){newline(subject)}{_indent(subject, line, column)}"
    return Fix("insert super().__init__()", (insert((line, column), text),), safe=True)


def _move(subject: Subject, init: Method, call: ast.stmt) -> Fix | None:
    """The call with its whole lines, to the front."""
    first = _first(init)
    if first is None or first is call or not _starts_line(subject, first) or not _is_alone(subject, call):
        return None
    made = call.value if isinstance(call, ast.Expr) else None
    assert isinstance(made, ast.Call)
    given = [*made.args, *(keyword.value for keyword in made.keywords)]
    names = {each.id for value in given for each in ast.walk(value) if isinstance(each, ast.Name)}
    if not names <= {*init.parameters, init.receiver} or names & set(init.values):
        return None
    if any(isinstance(each, ast.Attribute) and each.value for value in given for each in ast.walk(value)):
        return None
    line, column = start_of(subject, first)
    written = between(subject, start_of(subject, call), end_of(subject, call))
    text = f"{written}{newline(subject)}{_indent(subject, line, column)}"
    last = call.end_lineno or call.lineno
    removed = Edit(call.lineno, 0, last + 1, 0, "")
    return Fix("call super().__init__() first", (insert((line, column), text), removed), safe=_is_plain_module(subject))


def _indent(subject: Subject, line: int, column: int) -> str:
    return subject.file.lines[line - 1][:column]


def _starts_line(subject: Subject, statement: ast.stmt) -> bool:
    line, column = start_of(subject, statement)
    return not _indent(subject, line, column).strip()


def _is_alone(subject: Subject, statement: ast.stmt) -> bool:
    line, column = end_of(subject, statement)
    return _starts_line(subject, statement) and not subject.file.lines[line - 1][column:].strip()


RULE = Rule(
    code="MG108",
    name="registration-before-super",
    severity="error",
    summary="`super().__init__()` is missing, comes after the first submodule, or comes twice.",
    why="""\
`nn.Module.__init__` makes the stores in which submodules, parameters and buffers are registered. Before it, assigning
one raises "cannot assign module before Module.__init__() call". A second call makes them anew: what was registered
between the two is lost without a word.

Where nothing is registered, the object is built, and raises an AttributeError as soon as it is called. That is said of
a class whose base is `nn.Module`, or a class of the same file.
`super(nn.Module, self)` begins behind `nn.Module`, and `super(Other, self)` raises a TypeError in a class that does not
derive from `Other`.

Make `super().__init__()` the first statement of the constructor.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        \"\"\"A net.\"\"\"
        self.body = nn.Linear(8, 8)
""",
            (6,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        \"\"\"A net.\"\"\"
        super().__init__()
        self.body = nn.Linear(8, 8)
""",
        ),
        Invalid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        self.width = width
        # the scale
        self.scale = nn.Parameter(torch.ones(width))
        super(Net, self).__init__()
        self.body = nn.Linear(8, 8)
""",
            (8,),
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super(Net, self).__init__()
        self.width = width
        # the scale
        self.scale = nn.Parameter(torch.ones(width))
        self.body = nn.Linear(8, 8)
""",
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        nn.Module.__init__(self)
        self.head = nn.Linear(8, 2)
""",
            (7,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super(nn.Module, self).__init__()
        self.fc = nn.Linear(8, 8)
""",
            (5,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
""",
        ),
        Invalid(
            """\
from torch import nn

class Scale(nn.Module):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x * self.factor

class Shift(nn.Module):
    def __init__(self, by):
        super(Scale, self).__init__()
        self.by = by
""",
            (4, 12),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__
        self.fc = nn.Linear(8, 8)
""",
            (5,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
""",
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class First(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.body = nn.Linear(8, 8)

class Second(First):
    def __init__(self):
        First.__init__(self)
        self.head = nn.Linear(8, 8)

class Third(nn.Module):
    def __init__(self):
        self._prepare()
        self.head = nn.Linear(8, 8)

    def _prepare(self):
        super().__init__()
""",
            "other spellings; another method does it",
        ),
        Valid(
            """\
from torch import nn

class Mixin:
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

class Net(Mixin, nn.Module):
    def __init__(self):
        Mixin.__init__(self)
        self.body = nn.Linear(8, 8)
""",
            "the mixin goes on to nn.Module",
        ),
        Valid(
            """\
import dataclasses
from torch import nn

@dataclasses.dataclass(eq=False)
class Net(nn.Module):
    width: int = 8

    def __post_init__(self):
        super().__init__()
        self.body = nn.Linear(self.width, self.width)

class Plain(nn.Module):
    def __init__(self, width):
        self.width = width
        super().__init__()
        self.body = nn.Linear(width, width)
""",
            "a generated constructor; a plain value may come first",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, quick):
        if quick:
            super().__init__()
        else:
            nn.Module.__init__(self)
        self.body = nn.Linear(8, 8)
""",
            "one of the two is called",
        ),
    ),
)
