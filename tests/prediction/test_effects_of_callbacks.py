"""What a function changes that is given to code which is not followed: names of its module, a closure, the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
import asyncio, bisect, functools, heapq, itertools, json, operator, re, timeit
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock
import numpy as np
from torch.utils._pytree import tree_map
LOG = []
COUNT = 0
class Config:
    width = 0
CONFIG = Config()
def widen(): CONFIG.width += 1
def append(*_): LOG.append(nn.ReLU())
def count(*_):
    global COUNT
    COUNT += 1
def configure(*_): widen()
class Adder:
    def __init__(self, f): self.f = f
    def add(self, n): self.f(n)
class Mapping(dict):
    def __init__(self, f):
        super().__init__()
        self.f = f
    def __missing__(self, key):
        self.f(key)
        return 1
async def within(f): f(1)
async def around(f): await within(f)
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass
"""

CALLS = {
    "re.sub": "re.sub('a', lambda m: f(m) or '', 'aa')",
    "object_pairs_hook": """json.loads('{"a": 1}', object_pairs_hook=f)""",
    "__call__": "f.__call__(1)",
    "cmp_to_key": "sorted([3, 1], key=functools.cmp_to_key(lambda a, b: f(a) or 1))",
    "nsmallest": "heapq.nsmallest(1, [3, 1], key=lambda a: f(a) or a)",
    "bisect": "bisect.bisect([1, 3], 2, key=lambda a: f(a) or a)",
    "filterfalse": "list(itertools.filterfalse(f, [1, 2]))",
    "iter": "list(iter(lambda: f(1), None))",
    "operator.call": "operator.call(f, 1)",
    "methodcaller": "operator.methodcaller('__call__', 1)(f)",
    "methodcaller of an object": "operator.methodcaller('add', 1)(Adder(f))",
    "a mapping": "'{x}'.format_map(Mapping(f))",
    "tree_map": "tree_map(f, [1, 2])",
    "apply_": "torch.ones(2).apply_(lambda a: f(a) or a)",
    "a thread": "ThreadPoolExecutor().submit(f, 1).result()",
    "threads": "list(ThreadPoolExecutor().map(f, [1, 2]))",
    "a mock": "Mock(side_effect=f)(1)",
    "timeit": "timeit.timeit(lambda: f(1), number=2)",
    "vectorize": "np.vectorize(lambda a: 1 if f(a) is None else 1)([1, 2])",
    "a coroutine": "asyncio.run(within(f))",
    "a coroutine within another": "asyncio.run(around(f))",
    "a coroutine that is driven": "drive(within(f))",
}

EFFECTS = {
    "an object of the module": ("append", "nn.Sequential(*LOG)"),
    "a name of the module": ("count", "nn.Sequential(*[nn.ReLU() for _ in range(COUNT)])"),
    "an attribute": ("configure", "nn.Sequential(*[nn.ReLU() for _ in range(CONFIG.width)])"),
    "a closure": ("lambda *_: log.append(nn.ReLU())", "nn.Sequential(*log)"),
    "a module": ("lambda *_: body.add_module(f'm{len(body._modules)}', nn.Linear(1, 1))", "body"),
}


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("call", CALLS)
def test_it_may_have_happened(claims_that_fail: Callable[..., list[Any]], call: str, effect: str) -> None:
    function, made = EFFECTS[effect]
    body = f"log = []\nbody = nn.Module()\nf = {function}\n{CALLS[call]}\nself.layers = {made}"
    assert claims_that_fail(body, HEADER) == []


SPECIAL = """
import bisect, collections, heapq, math
LOG = []
class Key:
    def __init__(self, n): self.n = n
    def hit(self, result):
        LOG.append(1)
        return result
    def __hash__(self): return self.hit(self.n)
    def __eq__(self, other): return self.hit(self is other)
    def __lt__(self, other): return self.hit(self.n < other.n)
    def __gt__(self, other): return self.hit(self.n > other.n)
    def __str__(self): return self.hit("s")
    def __repr__(self): return self.hit("r")
    def __format__(self, spec): return self.hit("f")
    def __index__(self): return self.hit(self.n)
    def __float__(self): return self.hit(float(self.n))
    def __bool__(self): return self.hit(True)
    def __len__(self): return self.hit(self.n)
    def __iter__(self): return self.hit(iter([1, 2]))
class Ending:
    def __del__(self): LOG.append(1)
"""

ASKING = """
{k: 1} | {k, 3} | d = {k: 1}; d[k] = 2; d[k]; k in d | s = set(); s.add(k); s.discard(k) | dict([(k, 1)]) | hash((k, 1))
dict.fromkeys([k]) | frozenset([k, k]) | collections.Counter([k, k]) | {x: 1 for x in [k, k]} | {k} | {Key(3)}
"{}".format(k) | "%s" % k | "%r %s" % (k, 3) | str([k]) | f"{k} {k!r} {[k]}" | ", ".join(map(str, [k])) | "{:>3}".format(k)
[1, 2, 3][k] | range(k) | [0] * k | float(k) | math.sqrt(k) | hex(k) | math.fsum([k, k]) | list(k) | tuple(k)
sorted([Key(3), Key(1), Key(2)]) | sorted([Key(i) for i in (5, 3, 8, 1, 9, 2)]) | [Key(3), Key(1)].sort() | sorted([3, 1], key=Key)
min(Key(3), Key(1), Key(2)) | max([Key(3), Key(1)]) | bisect.insort([Key(1), Key(3)], Key(2)) | heapq.heapify([Key(3), Key(1)])
any([0, k, k]) | all([k, 0, k]) | [k, Key(3)].count(k) | [Key(3), k, k].index(k) | [Key(3), k].remove(k) | k in [Key(1), k, k]
t = Ending(); del t | Ending() | t = Ending(); t = None
"""


@pytest.mark.parametrize("statement", [each.strip() for each in ASKING.replace("\n", "|").split("|") if each.strip()])
def test_special_methods_may_have_run(claims_that_fail: Callable[..., list[Any]], statement: str) -> None:
    body = f"k = Key(2)\n{statement}\nself.layers = nn.ModuleList(nn.ReLU() for _ in LOG)"
    assert claims_that_fail(body, SPECIAL) == []
