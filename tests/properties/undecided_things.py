"""Topics of generated functions: containers, functions, objects."""

from __future__ import annotations

import runpy
from pathlib import Path

Words = runpy.run_path(str(Path(__file__).with_name("undecided_words.py")))["Words"]

CONTAINERS = Words(
    start=("alias = acc",),
    expressions=(
        "acc[0]",
        "acc[-1]",
        "acc[{E}]",
        "acc.count(x)",
        "acc.index(x)",
        "next(iter(d.values()), 0)",
        "d.get(x, 1)",
        "list(d.values())[-1]",
        "d.popitem()[1]",
        "d.pop('k')",
        "d.pop(x, 0)",
        "acc.pop(0)",
        "acc.pop({E})",
        "len(set(acc))",
        "min(acc)",
        "sorted(acc)[0]",
        "max(acc, key=lambda v: -v)",
        "len(acc[1:])",
        "sum(acc[::2])",
        "len(alias)",
        "len(str(acc))",
        "len({**d, 'k': 1})",
        "int(acc == alias)",
        "int(alias is acc)",
    ),
    conditions=("acc", "d", "x in acc", "x in d", "acc == items", "alias is acc", "acc < items", "d == {'k': x}"),
    iterables=(
        "acc[:]",
        "list(d)",
        "sorted(acc)",
        "list(alias)",
        "acc[1:]",
        "acc[::-1]",
        "[*acc, *items]",
        "set(items)",
        "list(d.values())",
    ),
    statements=(
        "acc.insert({E}, x)",
        "acc.insert(0, {E})",
        "acc.remove({E})",
        "acc.pop({E})",
        "acc.sort()",
        "acc.sort(key=lambda v: -v)",
        "acc.reverse()",
        "acc.extend(list({I})[:2])",
        "acc[:1] = list({I})[:2]",
        "acc[1:] = [{E}]",
        "acc[{E}:] = [x]",
        "acc[0] = {E}",
        "acc[-1] += 1",
        "acc[{E}] = {E}",
        "del acc[:1]",
        "del acc[{E}]",
        "del acc[::2]",
        "acc += items",
        "acc = (acc * 2)[:4]",
        "acc = acc[:]",
        "acc = acc + [x]",
        "acc = []",
        "acc = alias",
        "alias = acc",
        "alias.append({E})",
        "alias.clear()",
        "x, *acc = [{E}, *acc[:2]]",
        "x, *acc = list({I})[:4]",
        "(x, y), acc = (y, x), acc[::-1]",
        "x, y = items",
        "x, y = y, {E}",
        "[x, *acc, y] = list({I})[:4]",
        "acc = [v for v in acc if v > x]",
        "d.update(k={E})",
        "d.update({{x: y}})",
        "d[x] = {E}",
        "d[{E}] = x",
        "d.setdefault(x, []).append(y)",
        "d.popitem()",
        "d.pop(x, None)",
        "d.clear()",
        "d |= {{x: 1}}",
        "d = {{v: v for v in {I}}}",
        "d = dict(zip(items, acc))",
        "d = dict(d)",
        "d = dict.fromkeys({I}, y)",
        "del d[x]",
    ),
    blocks=(
        "for a, b in zip(items, acc):\n    x = b\n    {L}",
        "for i, x in enumerate({I}):\n    y = i\n    {L}",
        "for k, v in list(d.items()):\n    del d[k]\n    {L}",
        "for k in d:\n    d[k] = {E}\n    {L}",
        "for v in acc:\n    if len(acc) > 5:\n        break\n    acc.append({E})\n    {L}",
        "for v in list(acc):\n    acc.remove(v)\n    {L}",
        "for i in range(len(acc)):\n    acc[i] = {E}\n    {L}",
        "while acc:\n    x = acc.pop()\n    {L}",
        "while len(acc) < 3:\n    acc.append({E})\n    if {C}:\n        break",
    ),
)

CLOSURES = Words(
    header="""
def deep(n, log):
    if n <= 0 or len(log) > 8:
        return 0
    log.append(n)
    return 1 + deep(n - 1, log)


def once(function):
    kept = []

    def inner(*given):
        if not kept:
            kept.append(function(*given))
        return kept[0]

    return inner


@once
def first(value):
    return value + 1


@functools.lru_cache(None)
def cached(value):
    TOTAL.append(value)
    return len(TOTAL)


def collect(value, into=[]):
    into.append(value)
    return len(into)


TOTAL = []
""",
    start=("fs = []",),
    expressions=(
        "functools.reduce(lambda a, b: a + b, {I}, {E})",
        "functools.reduce(max, {I})",
        "functools.partial(max, {E})(x)",
        "(lambda v: v + x)({E})",
        "(lambda v=x: v)()",
        "deep({E}, acc)",
        "first({E})",
        "cached({E})",
        "collect({E})",
        "sum(f() for f in fs)",
        "fs[-1]()",
        "fs.pop()()",
        "len(TOTAL)",
        "len(collect.__defaults__[0])",
    ),
    conditions=("fs", "first(x) > 1", "deep(x, acc)"),
    iterables=("[f() for f in fs]", "TOTAL[:3]"),
    statements=(
        "fs = [lambda: v for v in {I}]",
        "fs = [lambda v=v: v + x for v in {I}]",
        "fs.append(lambda: x)",
        "fs.append(lambda value={E}: value + y)",
        "fs.append(functools.partial(max, {E}, y))",
        "TOTAL.append({E})",
        "fs.append(acc.pop)",
    ),
    blocks=(
        "for i in {I}:\n    fs.append(lambda: i)\n    {L}",
        "def h(value={E}):\n    return value + x\nfs.append(h)\n{B}",
        "def count(step=1):\n    nonlocal x\n    x += step\n    return x\nfs.append(count)\ny = count({E})",
        "def rec(n):\n    nonlocal y\n    y += 1\n    if n > 0 and y < 9:\n        rec(n - 1)\n    {N}\n    return n\n"
        "x = rec({E})",
        "def lazy():\n    for v in {I}:\n        yield v + x\nlate = lazy()\nx = {E}\ny = sum(late)",
    ),
)

OBJECTS = Words(
    header="""
class Odd:
    made = 0
    shared = []

    def __init__(self, log, value):
        self.log = log
        self.value = value
        Odd.made += 1

    def __bool__(self):
        self.log.append(1)
        return self.value > 1

    def __len__(self):
        return abs(self.value) % 4

    def __eq__(self, other):
        self.log.append(2)
        return self.value == other

    def __lt__(self, other):
        self.value += 1
        return self.value < other

    def __iter__(self):
        self.log.append(3)
        return iter(range(min(self.value, 3)))

    def __contains__(self, item):
        self.value = item
        return item > 0

    def __getattr__(self, name):
        if name == "absent":
            raise AttributeError(name)
        return len(name)

    @property
    def wide(self):
        self.value += 1
        return self.value

    @wide.setter
    def wide(self, value):
        self.value = value * 2
        self.log.append(value)

    def __getitem__(self, key):
        if key > 2:
            raise IndexError(key)
        return self.value + key

    def __setitem__(self, key, value):
        self.log.append(key)

    def __call__(self):
        self.made += 1
        return self.made

    def __add__(self, other):
        return self.value + other

    def __index__(self):
        return self.value


class Quiet(Odd):
    made = 5

    def __eq__(self, other):
        return NotImplemented

    def __bool__(self):
        return True
""",
    start=("odd = Odd(acc, number)",),
    expressions=(
        "odd.wide",
        "odd.missing",
        "getattr(odd, 'absent', x)",
        "odd + {E}",
        "odd()",
        "odd[{E}]",
        "len(odd)",
        "sum(odd)",
        "Odd.made",
        "odd.made",
        "len(Odd.shared)",
        "int(hasattr(odd, 'absent'))",
        "odd.value",
        "[0, 1, 2, 3][odd]",
        "len(range(odd))",
        "type(odd).made",
        "int(isinstance(odd, Quiet))",
    ),
    conditions=(
        "odd",
        "not odd",
        "odd == x",
        "odd != y",
        "{E} in odd",
        "odd < {E}",
        "odd and flag",
        "odd or flag",
        "odd in [x, y]",
        "isinstance(odd, Quiet)",
        "1 < odd.value < 3",
    ),
    iterables=("odd", "list(odd)", "range(odd)", "vars(odd).values()"),
    statements=(
        "odd.value = {E}",
        "odd.wide = {E}",
        "odd.wide += 1",
        "odd = Odd(acc, {E})",
        "odd = Quiet(acc, {E})",
        "odd = Quiet(acc, x) if flag else odd",
        "odd.shared.append({E})",
        "Odd.shared = [x]",
        "odd.shared = []",
        "Odd.made += 1",
        "odd.made += 1",
        "del odd.value",
        "del odd.made",
        "setattr(odd, 'value', {E})",
        "setattr(odd, 'value' if flag else 'made', {E})",
        "odd[{E}] = 1",
        "odd[0] += 1",
        "odd.__class__ = Quiet",
        "Odd.__bool__ = lambda self: flag",
        "odd.extra = {E}",
        "vars(odd).update(value={E})",
    ),
    blocks=(
        "if odd.wide > 1:\n    {B}\nelse:\n    {B}",
        "for v in odd:\n    odd.value = v\n    {L}",
        "while odd < 4:\n    {L}",
        "try:\n    x = odd.absent\nexcept AttributeError:\n    {B}",
        "class Local(Odd):\n    made = {E}\n    if {C}:\n        made = 1\nodd = Local(acc, x)\n{B}",
    ),
)

TOPICS = {
    "containers": CONTAINERS,
    "closures": CLOSURES,
    "objects": OBJECTS,
}
