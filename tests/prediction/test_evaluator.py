"""The evaluator against Python itself: programs whose `result` must be what running them gives, and what stays unknown."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain import limits
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.values import Choice, Unknown
from modgraph.prediction.entry import begin, interpreter
from modgraph.prediction.python.text import to_python
from modgraph.source import nodes
from modgraph.source.lowering import lower


class Program:
    """Interpreted source; values by name."""

    def __init__(self, tmp_path, source: str, *, whole: bool = True) -> None:
        (tmp_path / "program.py").write_text(textwrap.dedent(source))
        self.machine = interpreter([str(tmp_path)])
        self.machine.strict = True
        if whole:
            with_deep_stack(self._begin)

    def _begin(self) -> None:
        source = self.machine.finder.source("program")
        assert source is not None
        begin(self.machine, source)

    def value(self, name: str = "result") -> Any:
        return with_deep_stack(lambda: self.machine.resolve(f"program.{name}"))

    def python(self, name: str = "result") -> Any:
        return to_python(self.machine, self.value(name))


def run(tmp_path, source: str, *, whole: bool = True) -> Program:
    """`whole`: executed from top to bottom, as a file of the user's; else its names are evaluated one by one."""
    return Program(tmp_path, source, whole=whole)


SAME_AS_PYTHON = {
    "arithmetic": "result = (7 // 2, 7 % -3, -7 // 2, 2 ** 10, 7 / 2, 1 << 4, 6 & 3, 6 | 1, 6 ^ 2, ~5, -3, +2, 1.5 + 2)",
    "comparisons": "result = [1 < 2 < 3, 3 > 2 > 2, 1 == 1.0 != 2, 'a' in 'cab', 4 not in [1, 2], None is None]",
    "and_or": "result = [0 or 'x', 1 and 'y', [] or {} or 3, '' and 1, not '']",
    "unpacking": "a, (b, *c), d = 1, (2, 3, 4), 5\n*e, f = 'xyz'\nresult = (a, b, c, d, e, f)",
    "slices": "x = list(range(10))\nresult = [x[2:5], x[::-2], x[-3:], (1, 2, 3)[1:], 'hello'[1:-1]]",
    "displays": "a = [1, *(2, 3)]\nresult = [a, (*a, 4), {'x': 1, **{'y': 2}}, len({1, 2, *a})]",
    "comprehensions": """
        result = [
            [i * j for i in range(3) if i for j in range(i)],
            {k: v for k, v in zip('ab', (1, 2))},
            sum(x for x in range(5)),
            sorted({x % 3 for x in range(9)}),
        ]
        """,
    "scopes": """
        x = 1
        def outer():
            x = 2
            def inner():
                nonlocal x
                x += 1
                return x
            inner()
            return x, [x for x in range(2)], x
        def set_global():
            global x
            x = 9
            return x
        result = (outer(), set_global())
        """,
    "closures_bind_late": "result = [f() for f in [lambda: i for i in range(3)]]",
    "defaults_bind_early": "result = [f() for f in [lambda i=i: i for i in range(3)]]",
    "arguments": """
        def f(a, b=2, /, c=3, *args, d, e=5, **kwargs):
            return (a, b, c, args, d, e, kwargs)
        result = [f(1, d=4), f(1, 2, 3, 4, 5, d=6, z=7), f(*[1, 2], **{'d': 3, 'c': 4})]
        """,
    "loops": """
        result = []
        for i in range(10):
            if i == 2:
                continue
            if i == 5:
                break
            result.append(i)
        else:
            result.append('else')
        n = 3
        while n:
            n -= 1
        else:
            result.append(n)
        """,
    "exceptions": """
        def f(kind):
            try:
                if kind == 0:
                    raise ValueError('v')
                if kind == 1:
                    return [][0]
                if kind == 2:
                    {}['k']
                return 'fine'
            except ValueError as error:
                return str(error)
            except (IndexError, TypeError):
                return 'index'
            except KeyError:
                return 'key'
            else:
                return 'else'
            finally:
                log.append(kind)
        log = []
        result = ([f(k) for k in range(4)], log)
        """,
    "fstrings": "w = 3.14159\nn = 'ab'\nresult = [f'{w:.2f}|{n!r:>6}|{{}}|{1 + 1}', f'{n}' 'c' f'{len(n):03d}', '%s-%d' % (n, 4)]",
    "generators": """
        def g(n):
            for i in range(n):
                yield i
            yield from 'xy'
        it = g(2)
        result = (next(it), list(it), next(it, 'end'))
        """,
    "walrus_in_comprehension": "result = [y for x in range(4) if (y := x * 2) > 2] + [y]",
    "match": """
        def f(x):
            match x:
                case 0 | 1:
                    return 'small'
                case [a, *rest]:
                    return (a, rest)
                case {'k': v, **others}:
                    return (v, others)
                case str() as s if s:
                    return s
                case _:
                    return None
        result = [f(1), f([1, 2, 3]), f({'k': 1, 'z': 2}), f('s'), f('')]
        """,
    "classes": """
        class A:
            count = 0
            def __init__(self, x): self.x = x; A.count += 1
            @property
            def double(self): return self.x * 2
            @double.setter
            def double(self, value): self.x = value // 2
            @classmethod
            def make(cls, x): return cls(x + 1)
            @staticmethod
            def plus(a, b): return a + b
            def __eq__(self, other): return self.x == other.x
            def __add__(self, other): return A(self.x + other.x)
            def __len__(self): return self.x
            def __getitem__(self, i): return i * self.x
        class B(A):
            def __init__(self, x): super().__init__(x * 10)
            def __getattr__(self, name): return name.upper()
        a, b = A(1), B.make(1)
        b.double = 50
        result = [a.double, b.x, A.count, A.plus(1, 2), a == A(1), (a + b).x, len(b), b[2], b.shout, bool(A(0)), isinstance(b, A)]
        """,
    "mro": """
        class A:
            def f(self): return ['A']
        class B(A):
            def f(self): return ['B'] + super().f()
        class C(A):
            def f(self): return ['C'] + super().f()
        class D(B, C):
            def f(self): return ['D'] + super(D, self).f()
        result = (D().f(), [c.__name__ for c in D.__mro__])
        """,
    "descriptors": """
        class Upper:
            def __init__(self, name): self.name = name
            def __get__(self, obj, owner): return obj.store[self.name] if obj else self.name
            def __set__(self, obj, value): obj.store[self.name] = value.upper()
        class A:
            x = Upper('x')
            def __init__(self): self.store = {}; self.x = 'abc'
        result = (A().x, A.x)
        """,
    "dataclasses": """
        from dataclasses import dataclass, field, asdict, replace
        @dataclass
        class Base:
            a: int
            b: list = field(default_factory=list)
        @dataclass
        class Child(Base):
            c: str = 'c'
            d: int = field(default=0, init=False)
            def __post_init__(self): self.d = self.a + 1
        x = Child(1, c='z')
        result = [asdict(x), replace(x, a=5).d, x == Child(1, [], 'z'), x.b is Child(1).b]
        """,
    "enums_and_namedtuples": """
        from enum import Enum, auto
        from collections import namedtuple
        from typing import NamedTuple
        class E(Enum):
            A = auto()
            B = auto()
        class P(NamedTuple):
            x: int
            y: int = 2
        Q = namedtuple('Q', 'a b', defaults=[3])
        result = [E.A.value, E(2).name, E['B'] is E.B, [e.name for e in E], P(1).y, P(1)._replace(y=9), Q(1).b, tuple(Q(1))]
        """,
    "decorators": """
        import functools
        def twice(times=2):
            def decorate(f):
                @functools.wraps(f)
                def inner(*args):
                    return f(*args) * times
                return inner
            return decorate
        REGISTRY = {}
        def register(name):
            def keep(f):
                REGISTRY[name] = f
                return f
            return keep
        @twice(3)
        def f(x): return x + 1
        @functools.lru_cache(None)
        def g(x): return x
        result = (f(1), f.__name__, g(4))
        """,
    "module_level_order": "x = 1\ny = x\nx = 2\nx += 1\ntable = {}\ntable['a'] = y\ntable.update(b=x)\nresult = (x, table)",
    "with": """
        class M:
            def __enter__(self): return 5
            def __exit__(self, *args): return False
        with M() as m:
            result = m
        """,
    "deep_nesting": "result = " + "(" * 60 + "1" + ")" * 60 + " + 1" * 400,
    "namespace_of_a_class": """
        class Base:
            size = 1
            def method(self): return 2
        class Derived(Base):
            depth: int = 3
            width: int
            def __init__(self): self.own = 4
            @staticmethod
            def made(): return 5
        names = Derived.__dict__
        result = ["__init__" in names, "method" in names, "depth" in names, "width" in names, "own" in names]
        result += [names.get("size", 6), names["depth"], Derived.made(), list(names["__annotations__"])]
        result += [key for key in names if not key.startswith("_")]
    """,
}


@pytest.mark.parametrize("name", SAME_AS_PYTHON)
def test_same_as_python(name, tmp_path):
    source = textwrap.dedent(SAME_AS_PYTHON[name])
    real: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "program", "exec", dont_inherit=True), real)
    assert run(tmp_path, source).python() == real["result"]


RAISES = {
    "def f(a): pass\ndef go(): f()": "TypeError",
    "def f(a): pass\ndef go(): f(1, 2)": "TypeError",
    "def f(a): pass\ndef go(): f(1, a=2)": "TypeError",
    "def f(*, a): pass\ndef go(): f(a=1, b=2)": "TypeError",
    "def go(): return {}['x']": "KeyError",
    "def go(): return [1][3]": "IndexError",
    "def go(): return nothing_of_that_name": "NameError",
    "def go(): return 1 + 'a'": "TypeError",
    "def go(): return 1 / 0": "ZeroDivisionError",
    "def go(): a, b = 1, 2, 3": "ValueError",
    "def go(): assert 1 > 2, 'no'": "AssertionError",
    "class E(Exception): pass\ndef go(): raise E('x')": "program.E",
    "def go(): return (1).nothing": "AttributeError",
    "def go(): return 5()": "TypeError",
}


@pytest.mark.parametrize("source", RAISES)
def test_what_python_raises_is_raised(source, tmp_path):
    program = run(tmp_path, source)
    with pytest.raises(Raised) as caught:
        with_deep_stack(lambda: program.machine.call(program.value("go")))
    assert caught.value.name.removeprefix("builtins.") == RAISES[source]


UNKNOWN = "import os\nsomething = os.environ.get('X')\n"


def called(program: Program) -> Any:
    return with_deep_stack(lambda: program.machine.call(program.value("go")))


def test_a_branch_not_decided_keeps_what_both_arms_agree_on(tmp_path):
    source = UNKNOWN + textwrap.dedent(
        """
        def go():
            if something:
                a, b, c = 1, 2, [1, 2]
            else:
                a, b, c = 1, 3, [1, 2]
            return a, b, c
        """
    )
    program = run(tmp_path, source)
    result = called(program)
    assert to_python(program.machine, result.items[0]) == 1
    assert isinstance(result.items[1], Choice)
    assert to_python(program.machine, result.items[2]) == [1, 2]


def test_an_arm_that_raises_is_dropped(tmp_path):
    source = UNKNOWN + "def go():\n    if something:\n        raise ValueError\n    return 4\n"
    program = run(tmp_path, source)
    assert to_python(program.machine, called(program)) == 4


def test_returns_in_undecided_branches_are_a_choice(tmp_path):
    source = (
        UNKNOWN
        + "def go():\n    if something:\n        return 1\n    for i in range(3):\n        if something == i:\n            return 2\n    return 1\n"
    )
    result = called(run(tmp_path, source))
    assert isinstance(result, Choice)
    assert sorted(item.value for item in result.alternatives) == [1, 2]


def test_a_loop_of_unknown_length_opens_what_it_fills_and_forgets_what_it_counts(tmp_path):
    source = UNKNOWN + textwrap.dedent(
        """
        def go():
            found, table, n, kept = [0], {}, 0, 'kept'
            for x in something:
                found.append(x)
                table[x] = 1
                n += 1
            return found, table, n, kept
        """
    )
    program = run(tmp_path, source)
    found, table, count, kept = called(program).items
    listed = program.machine.state.find(found, ListObject)
    assert listed.open is not None
    assert to_python(program.machine, listed.items[0]) == 0
    assert program.machine.state.find(table, DictObject).open is not None
    assert isinstance(count, Unknown)
    assert kept.value == "kept"


ENDLESS = {
    "x = 0\n    while True:\n        x += 1\n    return x": f"a loop of more than {limits.MAX_LOOP_ITERATIONS} turns",
    "return [i for i in range(10 ** 12)]": f"a loop of more than {limits.MAX_LOOP_ITERATIONS} turns",
    "return 'a' * 10 ** 12": f"larger than {limits.MAX_VALUE_SIZE}",
    "return 10 ** 10 ** 10": f"larger than {limits.MAX_VALUE_SIZE}",
    "return go() if something else 1": "recursion of go whose end is not known",
}


@pytest.mark.parametrize("body", ENDLESS)
def test_what_has_no_end_is_unknown_and_names_the_limit(body, tmp_path):
    program = run(tmp_path, UNKNOWN + f"def go():\n    {body}\n")
    result = called(program)
    listed = program.machine.state.find(result, ListObject)
    unknown = listed.open if listed is not None else result
    assert isinstance(unknown, Unknown)
    assert ENDLESS[body] in unknown.reason


def test_calls_inside_each_other_without_end_are_the_end_and_name_the_limit(tmp_path):
    program = run(tmp_path, "def go():\n    return go()\n")
    with pytest.raises(limits.TooDeepError, match=f"more than {limits.MAX_CALL_DEPTH} calls inside each other, at go"):
        called(program)


def test_imports_decide_on_whether_the_package_is_there(tmp_path):
    (tmp_path / "there.py").write_text("flag = 'there'")
    source = """
        try:
            import not_there
            first = True
        except ImportError:
            first = False
        try:
            from there import flag
        except ImportError:
            flag = None
        result = (first, flag)
        """
    assert run(tmp_path, source).python() == (False, "there")


def test_reexports_cycles_and_lazy_packages_are_followed(tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nfrom .a import *\nfrom . import b\nif TYPE_CHECKING:\n    from .lazy import late\n"
    )
    (package / "a.py").write_text("from . import b\n__all__ = ['one', '_two']\none = 1\n_two = 2\nthree = 3\n")
    (package / "b.py").write_text("from .a import one\nfour = one + 3\n")
    (package / "lazy.py").write_text("late = 5\n")
    text = "import pkg\nfrom pkg import one, _two, late\nresult = (one, _two, pkg.b.four, late)\n"
    program = run(tmp_path, text, whole=False)
    assert program.python() == (1, 2, 4, 5)


def test_equal_constructions_are_equal_but_not_the_same(tmp_path):
    source = """
        from torch import nn
        class Block(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.items = [n]
        def go():
            blocks = [Block(1) for _ in range(4)]
            blocks[3].items.append(2)
            return [b.items for b in blocks]
        """
    program = run(tmp_path, source)
    assert to_python(program.machine, called(program)) == [[1], [1], [1], [1, 2]]


def test_a_construction_that_counts_is_not_remembered(tmp_path):
    source = """
        from torch import nn
        seen = []
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                seen.append(len(seen))
                self.number = seen[-1]
        def go():
            return [Block().number for _ in range(4)]
        """
    program = run(tmp_path, source)
    assert to_python(program.machine, called(program)) == [0, 1, 2, 3]


def test_looking_into_the_namespace_of_a_class_parses_no_other_method(tmp_path):
    program = run(
        tmp_path,
        """
        class Spec:
            def first(self):
                return 1
            def second(self):
                return 2
        result = [Spec.__dict__.get("first") is None, "third" in Spec.__dict__]
        """,
    )
    assert program.python() == [False, False]
    parsed = program.machine.finder.source("program")._parsed.values()
    assert any(each.mentions("return 1") for each in parsed)
    assert not any(each.mentions("return 2") for each in parsed)


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("    if a: break\n", True),
        ("    with a: break\n", True),
        ("    match i:\n        case 1: break\n", True),
        ("    for j in y: break\n", False),
        ("    while j: break\n", False),
        ("    for j in y: pass\n    else: break\n", True),
        ("    def f():\n        for k in z: break\n", False),
        ("    pass\n", False),
    ],
)
def test_whose_break_it_is(body: str, ends: bool) -> None:
    from modgraph.prediction.code.control import _breaks

    (loop,) = lower(f"for i in x:\n{body}", False, None)
    assert isinstance(loop, nodes.For)
    assert _breaks(loop) is ends
