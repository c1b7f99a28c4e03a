"""Reduced programs of `test_undecided_flow.py` that were claimed to give what not every run of them gives."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch

_runs, _ways = (runpy.run_path(str(Path(__file__).with_name(f"undecided_{name}.py"))) for name in ("runs", "ways"))

HEADER = '''
class Odd:
    """Tells in a list how often it is asked."""

    made = 1

    def __init__(self, log, value):
        self.log = log
        self.value = value

    def __eq__(self, other):
        self.log.append(2)
        return self.value == other

    def __lt__(self, other):
        self.log.append(2)
        return self.value < other

    def __add__(self, other):
        self.log.append(2)
        return self.value + other

    __radd__ = __add__

    def __index__(self):
        self.log.append(2)
        return 1

    def __bool__(self):
        self.log.append(2)
        return True


class Quiet(Odd):
    def __bool__(self):
        return True

    @property
    def wide(self):
        self.log.append(4)
        return 1


class Undecided(Odd):
    def __bool__(self):
        self.log.append(2)
        return self.value > 1

    def __index__(self):
        return self.value


class Telling(Odd):
    def __getattr__(self, name):
        if name == "log":
            raise RuntimeError
        self.log.append(3)
        if name == "absent":
            raise AttributeError(name)
        return 4


class Swallowing:
    def __init__(self, swallows, log):
        self.swallows = swallows
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(2)
        return self.swallows


'''
HEADER += _ways["FAILING_AND_MANAGED"]


def _tried(expression: str) -> str:
    """A handler is run where it raises."""
    return f"try:\n    {expression}\nexcept Exception:\n    y = 7"


ASKED = (
    "odd in items",
    "odd in [x, number, 5]",
    "odd in [0, *items]",
    "(0, odd) == (number, 1)",
    "(0, odd) == (1, 1)",
    "[odd] == items",
    "odd in range(3)",
    "number == odd",
    "number > odd",
    "sorted([number, odd])",
    "sum(items, odd)",
    "items[odd]",
    "any([number, odd])",
    "all([number, odd])",
    "odd if (odd if flag else Quiet(acc, 1)) else 1",
    "0 <= number > odd",
    "0 <= number < (acc.append(1) or 3)",
    "items.count(odd)",
    "[5, number].remove(odd)",
)
"""What asks an object, or may."""

REFUSED = (
    "del acc[number]",
    "del d[number]",
    "acc.remove(number)",
    "acc[::number]",
    "[1, 2, 3][0:2:number]",
    "int('1' if flag else 'x')",
    "float('x' if flag else '1')",
    "int(str(flag))",
    "'abc'.split('' if flag else 'b')",
    "{1, 2}.remove(number)",
    "set(items).pop()",
    "(['a'] if flag else []).pop()",
    "({'k': 1} if flag else {}).popitem()",
)
"""What raises in some runs."""

CASES = {
    **{f"asked by {each}": _tried(each) for each in ASKED},
    **{f"refused: {each}": _tried(each) for each in REFUSED},
    "a generated manager in a stack": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, flag))
        """,
    "a generated manager in a stack whose block raises": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, flag))
            raise ValueError
        """,
    "a stack whose block may raise": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, True))
            if flag:
                raise ValueError
            x = 3
        """,
    "a stack of which one manager may raise when it is left": """
        with contextlib.ExitStack() as stack:
            y = stack.enter_context(managed(acc, True))
            stack.callback(acc.append, 3)
            stack.enter_context(Failing(flag))
            x = 3
        """,
    "an attribute that a stack keeps for itself": """
        try:
            x = len(contextlib.ExitStack()._exit_callbacks)
        except AttributeError:
            y = 7
        """,
    "a block that returns, inside a manager that may raise then": """
        def g():
            with managed(acc, True) as x:
                with Failing(flag):
                    return 1
            return 2
        x = g()
        """,
    "a block that returns or raises what the manager swallows": """
        def g():
            with managed(acc, True):
                if flag:
                    raise ValueError
                return 1
        x = g() or 5
        """,
    "a block that ends the loop or raises what the manager swallows": """
        for x in [4, 5]:
            with managed(acc, True):
                if flag:
                    raise ValueError
                break
        """,
    "an object that a loop asks in each turn": """
        told = Undecided(acc, number)
        while told:
            x += 1
            if x > 3:
                break
        """,
    "an object that is asked once by not": """
        told = Undecided(acc, number)
        if not told:
            x = 3
        """,
    "an object that is asked once by and": """
        told = Undecided(acc, 0)
        if told and flag:
            x = 3
        """,
    "an index that an object says, which is not known": """
        told = Undecided(acc, number)
        try:
            x = [3, 4][told]
        except IndexError:
            y = 7
        """,
    "an attribute of an object of which more is not known": """
        told = Telling(acc, 1)
        told.number = number
        told.number += 1
        try:
            x = told.absent
        except AttributeError:
            y = 7
        """,
    "one of two texts of which a function takes one": """
        import json
        try:
            json.loads("{}" if flag else "{")
        except ValueError:
            y = 7
        """,
    "a member of an enumeration under one of two names": """
        import enum
        class Kind(enum.Enum):
            A = 0
        try:
            x = Kind["A" if flag else "B"].value
        except KeyError:
            y = 7
        """,
    "all ways raise, each something else": """
        try:
            if flag:
                raise ValueError
            else:
                raise KeyError
        except ValueError:
            x = 3
        except KeyError:
            x = 4
        """,
    "all ways raise the same, and have done something else before": """
        try:
            if flag:
                acc.append(1)
                raise ValueError
            else:
                raise ValueError
        except ValueError:
            x = 3
        """,
    "an expression that raises on either way": """
        try:
            x = [1][3] if flag else {}["k"]
        except IndexError:
            x = 3
        except KeyError:
            x = 4
        """,
    "what an assertion says does something": """
        try:
            assert flag, acc.append(1)
        except AssertionError:
            y = 7
        """,
    "a generator that may raise inside its own try": """
        def made():
            nonlocal y
            try:
                if flag:
                    raise ValueError
                yield 1
                y = 4
            except ValueError:
                y = 7
            yield 2
        x = sum(made())
        """,
    "a generator that may raise behind a yield": """
        def made():
            nonlocal y
            try:
                yield 1
                if flag:
                    raise ValueError
                yield 3
            except ValueError:
                y = 7
            finally:
                acc.append(1)
        x = sum(made())
        """,
    "a generator that one of two handlers may go on": """
        def made():
            nonlocal y
            try:
                raise (ValueError if flag else KeyError)
            except ValueError:
                y = 7
                yield 1
            except KeyError:
                y = 8
                yield 1
        x = sum(made())
        """,
    "a generator whose manager may swallow": """
        def made():
            with Swallowing(flag, acc):
                yield 1
                raise ValueError
            yield 2
        try:
            x = sum(made())
        except ValueError:
            y = 7
        """,
    "a generator that may raise inside a manager that swallows": """
        def made():
            with Swallowing(True, acc):
                if flag:
                    raise ValueError
                yield 1
            yield 2
        x = len(list(made()))
        """,
    "an attribute that is there on some ways, and __getattr__": """
        told = Telling(acc, 1)
        if flag:
            del told.value
        x = told.value
        """,
    "an attribute that is there on some ways, and a __getattr__ that raises": """
        told = Telling(acc, 1)
        if flag:
            told.absent = 2
        try:
            x = told.absent
        except AttributeError:
            y = 7
        """,
    "a class attribute that is there on some ways, asked for with a default": """
        told = Telling(acc, 1)
        if flag:
            Telling.absent = 2
        x = getattr(told, "absent", 6)
        y = hasattr(told, "absent") + 1
        """,
    "another class on some ways": """
        if flag:
            odd.__class__ = Quiet
        x = getattr(odd, "wide", 5)
        """,
    "what reduces what is not known": """
        x = functools.reduce(lambda a, b: acc.append(b) or a + b, items, 0)
        """,
    "a key deleted on some ways and put back": """
        d["b"] = 1
        if flag:
            del d["b"]
        d["a"] = 2
        d["b"] = 3
        x = next(iter(d.values()))
        y = list(d.values())[-1]
        """,
    "an entry taken that is there on some ways": """
        if flag:
            d["k"] = 1
        try:
            d.popitem()
        except KeyError:
            y = 7
        """,
    "an item taken that is there on some ways": """
        acc.clear()
        if flag:
            acc.append(1)
        try:
            acc.pop()
        except IndexError:
            y = 7
        """,
    "a pattern of a key that is there on some ways": """
        if flag:
            d["k"] = 1
        match d:
            case {"k": v}:
                x = v + 5
            case _:
                y = 5
        """,
    "an iterator beside one that is not known": """
        a, b = iter([1, 2]), iter(items)
        x = len(list(zip(a, b)))
        y = next(a, 5)
        """,
    "an iterator behind one that is not known": """
        a, b = iter(items), iter([1, 2])
        x = len(list(zip(a, b)))
        y = next(b, 5)
        """,
    "an entry deleted that a loop of unknown length may have made": """
        for v in items:
            d["k"] = 1
        try:
            del d["k"]
        except LookupError:
            y = 7
        """,
    "a loop of unknown length whose turns leave objects behind": """
        class Point:
            def __init__(self, right):
                self.right = right
        p = Point(number)
        for v in items:
            try:
                match number:
                    case 0 | 1:
                        continue
                del p.right
            finally:
                x += len(acc)
                if flag:
                    pass
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in CASES.items()])
def test_what_is_claimed_holds_in_every_run(body: str, tmp_path: Path) -> None:
    lines = ["x, y, acc, d, odd = 1, 2, [5], {}, None", "odd = Odd(acc, 1)", *textwrap.dedent(body).strip().split("\n")]
    text = _runs["source"]([*lines, "return x, y, len(acc), len(d)"], HEADER)
    assert _runs["outcomes"](text)
    assert _runs["false_claims"](text, tmp_path) == []


FILLED = """
acc.clear()
kept, own, made = {1}, {}, deque()
class Held: pass
held = Held()
for v in items:
    d["k"] = 1
    acc.append(1)
    kept.add(2)
    made.append(1)
    own.setdefault("k", []).append(1)
    held.a = 1
    q = 1
try:
    OPERATION
    x = 5
except (LookupError, ValueError, AttributeError, NameError, StopIteration, TypeError):
    y = 7
"""
OPERATIONS = """
d["k"]|{**d}["k"]|dict(d)["k"]|del d["k"]|d.pop("k")|d.popitem()|d["k"] += 1|list(d)[0]|next(iter(d))|min(d)
OrderedDict(d)["k"]|defaultdict(list, d)["k"]|operator.getitem(d, "k")|operator.itemgetter("k")(d)|"{k}".format(**d)
acc[0]|acc[-1]|acc[0] = 3|del acc[0]|del acc[-1]|acc.pop()|acc.pop(0)|acc.remove(1)|acc.index(1)|acc[::0]|acc[0] += 1
a, b = acc|max(acc)|next(iter(acc))|acc[::2] = [1, 2]|acc[-2:] = [4]|tuple(acc)[0]|[*acc][0]|(acc + [])[0]|(acc * 2)[1]
(lambda a: a)(*acc)|(lambda k: k)(**d)|functools.reduce(operator.add, acc)|deque(acc)[0]|sorted(acc)[0]|acc.copy()[0]
dict(zip("k", acc))["k"]|list(enumerate(acc))[0]|[v for v in acc][0]|{v: v for v in acc}[1]|list(map(str, acc))[0]
kept.remove(2)|list(kept)[1]|kept.pop()|made[0]|made.popleft()|made.pop()|made.rotate(1)|del made[0]|made.remove(1)
own["k"]|own["k"][0]|held.a|del held.a|getattr(held, "a")|delattr(held, "a")|vars(held)["a"]|held.a += 1|q|del q|q += 1
match acc / case [a] / x = a + 6|match d / case {"k": a} / x = a + 6|match acc / case [a, b] / x = a + 6|statistics.mean(acc)|Counter(acc).most_common(1)[0]
itertools.islice(acc, acc[0])|acc.insert(acc[0], 1)|range(*acc)|heapq.heappop(acc)|bisect.insort(acc, acc[0])|"k"[len(acc):][0]
"""


@pytest.mark.parametrize("operation", [each for line in OPERATIONS.strip().split("\n") for each in line.split("|")])
def test_what_a_loop_of_unknown_length_has_filled_may_refuse(operation: str, tmp_path: Path) -> None:
    if operation.startswith("match "):
        subject, case, does = operation.split(" / ")
        operation = f"{subject}:\n        {case}:\n            {does}"
    start = ["x, y, acc, d, odd = 1, 2, [5], {}, None", "odd = Odd(acc, 1)"]
    lines = [*start, *FILLED.strip().replace("OPERATION", operation).split("\n"), "return x, y, 1, 1"]
    imports = "import bisect, functools, heapq, itertools, operator, statistics\n"
    imports += "from collections import Counter, OrderedDict, defaultdict, deque\n"
    text = _runs["source"](lines, imports + HEADER)
    assert _runs["outcomes"](text)
    assert _runs["false_claims"](text, tmp_path) == []
