"""Topics of generated functions: managers, exceptions, generators, patterns."""

from __future__ import annotations

import runpy
from pathlib import Path

Words = runpy.run_path(str(Path(__file__).with_name("undecided_words.py")))["Words"]

FAILING_AND_MANAGED = """
class Failing:
    def __init__(self, fails, early=False):
        self.fails = fails
        self.early = early

    def __enter__(self):
        if self.early:
            raise KeyError(1)

    def __exit__(self, kind, error, trace):
        if self.fails:
            raise ValueError(2)


@contextlib.contextmanager
def managed(log, swallow):
    log.append(1)
    try:
        yield len(log)
    except ValueError:
        if not swallow:
            raise
        log.append(3)
    finally:
        log.append(2)
"""

MANAGERS = Words(
    header="""
class Guarded:
    def __init__(self, answer, log):
        self.answer = answer
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(2)
        return self.answer


class Picky:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return len(self.log)

    def __exit__(self, kind, error, trace):
        if kind is not None and issubclass(kind, ValueError):
            self.log.append(error.args[0] if error.args else 3)
            return True
"""
    + FAILING_AND_MANAGED
    + """

@contextlib.contextmanager
def after(log):
    yield 1
    log.append(1)
""",
    blocks=(
        "with Guarded(flag, acc):\n    {B}",
        "with Guarded({C}, acc) as g:\n    g.answer = {C}\n    {B}",
        "with Guarded(True, acc):\n    {B}",
        "with Picky(acc) as y:\n    {B}",
        "with Failing({C}):\n    {B}",
        "with Failing({C}, {C}):\n    {B}",
        "with managed(acc, {C}) as x:\n    {B}",
        "with managed(acc, True):\n    {B}",
        "with after(acc) as y:\n    {B}",
        "with Guarded({C}, acc), managed(acc, {C}):\n    {B}",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(managed(acc, {C}))\n    {B}",
        "with contextlib.ExitStack() as stack:\n    stack.callback(acc.append, {E})\n    {B}",
        "with contextlib.ExitStack() as stack:\n    for v in {I}:\n        stack.callback(acc.append, v)\n    {B}",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(Guarded({C}, acc))\n    if {C}:\n"
        "        stack.pop_all()\n    {B}",
        "with contextlib.nullcontext({E}) as x:\n    {B}",
        "try:\n    with Guarded({C}, acc):\n        {B}\nexcept {X}:\n    {B}\nelse:\n    {B}",
    ),
)

ERRORS = Words(
    header="""
class Failed(Exception):
    def __init__(self, value):
        super().__init__(value, 1)
        self.value = value


class Worse(Failed):
    pass


class Checked:
    def __init__(self, value):
        self.value = value
        if not value:
            raise Failed(3)

    def __eq__(self, other):
        if other == 1:
            raise ValueError(1)
        return self.value == other
""",
    expressions=("Checked({E}).value", "int(Checked({E}) == y)", "int('1' if flag else 'x')", "Failed(x).args[1]"),
    conditions=("Checked({E})", "Checked(x) == y"),
    statements=(
        "raise Failed({E})",
        "raise Worse(x) from None",
        "raise KeyError({E})",
        "raise StopIteration({E})",
        "raise (Failed if flag else Worse)(y)",
        "acc.append(Checked(x).value)",
    ),
    blocks=(
        "try:\n    {B}\nexcept Exception as e:\n    x = len(e.args)\n    {B}",
        "try:\n    {B}\nexcept (ValueError, KeyError) as e:\n    y = e.args[0]\n    {B}",
        "try:\n    {B}\nexcept {X} as e:\n    {B}\n    raise",
        "try:\n    {B}\nexcept {X} as e:\n    raise Failed({E}) from e",
        "try:\n    {B}\nexcept Failed as e:\n    x = e.value\n    {B}",
        "try:\n    {B}\nexcept Worse as e:\n    {B}\nexcept Failed as e:\n    y = e.args[0]",
        "try:\n    {B}\nexcept Exception as e:\n    x = int(isinstance(e, ValueError))\n    {B}",
        "try:\n    try:\n        {B}\n    except {X} as e:\n        raise Worse({E}) from e\nexcept Failed as e:\n"
        "    y = int(e.__cause__ is None)",
        "try:\n    raise ExceptionGroup('g', [ValueError(x), KeyError(y)])\nexcept* ValueError as e:\n"
        "    x = len(e.exceptions)\nexcept* {X}:\n    {N}",
        "try:\n    {B}\nexcept* {X}:\n    {N}\nelse:\n    {N}\nfinally:\n    {N}",
        "try:\n    {B}\nexcept BaseException:\n    {B}",
        "try:\n    {B}\nexcept (Failed if flag else KeyError):\n    {B}",
        "e = 1\ntry:\n    {B}\nexcept {X} as e:\n    {B}\ntry:\n    x = e\nexcept NameError:\n    {B}",
    ),
)

GENERATORS = Words(
    header="""
def counted(log, items):
    total = 0
    try:
        for v in items:
            got = yield v
            if got:
                total += got
    except ValueError:
        yield 7
    finally:
        log.append(1)
    return total


def delegating(log, items):
    x = yield from counted(log, items)
    yield x


class Steps:
    def __init__(self, number):
        self.left = number

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left
""",
    start=("g, it, steps = counted(acc, items), iter(items), Steps(number)",),
    expressions=(
        "next(g, 0)",
        "next(it, 0)",
        "next(it)",
        "next(g)",
        "g.send({E})",
        "g.throw(ValueError)",
        "sum(g)",
        "sum(it)",
        "len(list(it))",
        "sum(delegating(acc, items))",
        "next(delegating(acc, items), 1)",
        "list(delegating(acc, [x, y]))[-1]",
        "next(steps, 1)",
        "sum(steps)",
        "max(it, default=2)",
        "len(dict.fromkeys(it))",
    ),
    conditions=("next(it, 0)", "x in it", "any(it)", "all(g)"),
    iterables=("it", "g", "steps", "counted(acc, items)", "delegating(acc, items)", "(a + b for a, b in zip(it, it))"),
    statements=(
        "g.close()",
        "it = iter({I})",
        "g = counted(acc, {I})",
        "acc.extend(it)",
        "a, *b = it",
        "steps.left = {E}",
        "steps = Steps(x)",
        "it = itertools.chain([x], it)",
        "it, other = itertools.tee(it)",
    ),
    blocks=(
        "try:\n    x = next(it)\nexcept StopIteration:\n    {B}",
        "try:\n    next(g)\n    g.send({E})\nexcept StopIteration as stop:\n    y = stop.value\n    {B}",
        "for v in it:\n    {L}\nelse:\n    {B}",
        "for v in g:\n    x = v\n    {L}",
        "for v in it:\n    x = next(it, {E})\n    {L}",
        "for v in itertools.islice(it, 2):\n    {L}",
        "while (v := next(it, None)) is not None:\n    x = v\n    {L}",
        "for v in steps:\n    {L}",
        "with contextlib.closing(g):\n    {B}",
    ),
)

PATTERNS = Words(
    header="""
class Point:
    __match_args__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right
""",
    start=("p = Point(x, number)",),
    expressions=("p.left", "p.right"),
    statements=("p.left = {E}", "p = Point({E}, {E})", "del p.right", "p = None"),
    blocks=(
        "match items:\n    case []:\n        {B}\n    case [a]:\n        x = a\n        {B}\n    case [a, *rest]:\n"
        "        y = len(rest)\n        {B}",
        "match items:\n    case [0, *_]:\n        {B}\n    case [*_, 1]:\n        {B}\n    case [x, y, _]:\n        {B}",
        "match acc:\n    case [x, *_]:\n        {B}\n    case _:\n        {B}",
        "match d:\n    case {{'k': v}}:\n        x = v\n        {B}\n    case _:\n        {B}",
        "match d:\n    case {{'k': 1, **rest}}:\n        x = len(rest)\n    case {{'k': (1 | 2) as y}}:\n        {B}",
        "match {E}:\n    case 1 | 2 as y:\n        {B}\n    case int():\n        {B}\n    case None:\n        {B}",
        "match {E}:\n    case x if x > 1:\n        {B}\n    case y if (y := y + 1) > 2:\n        {B}\n    case _:\n"
        "        {B}",
        "match p:\n    case Point(0, b):\n        y = b\n        {B}\n    case Point(a, 1):\n        x = a\n        {B}"
        "\n    case Point():\n        {B}\n    case _:\n        {B}",
        "match p:\n    case Point(left=1):\n        {B}\n    case Point(right=y):\n        {B}",
        "match (x, {E}):\n    case (0, b) | (b, 0):\n        y = b\n        {B}\n    case (a, b) if a == b:\n        {B}",
        "match flag:\n    case True:\n        {B}\n    case False:\n        {B}",
        "match (flag, {C}):\n    case (True, True):\n        {B}\n    case (True, _):\n        {B}\n    case (_, True):\n"
        "        {B}\n    case z:\n        {B}",
        "match number:\n    case 0 | 1:\n        {B}\n    case 3 if {C}:\n        {B}\n    case 3:\n        {B}",
    ),
)

TOPICS = {
    "managers": MANAGERS,
    "errors": ERRORS,
    "generators": GENERATORS,
    "patterns": PATTERNS,
}
