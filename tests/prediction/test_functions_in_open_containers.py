"""Functions that were put into containers of which not all is known: calling what is taken out may change what they lead to.

Each body is asked of Python with several arguments; what is claimed holds for each of them.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

import modgraph

pytestmark = pytest.mark.needs_torch

GIVEN = ([], ["a"], ["a", "b", "c"])
BODIES = {
    "a list that a loop fills": """
        for name in names:
            fs.append(count)
        for each in fs:
            each()
        """,
    "the last of them": """
        for name in names:
            fs.append(count)
        if fs:
            fs[-1]()
        """,
    "lambdas": """
        for name in names:
            fs.append(lambda: n.append(1))
        for each in fs:
            each()
        """,
    "in tuples": """
        for name in names:
            fs.append((name, count))
        for name, each in fs:
            each()
        """,
    "a mapping": """
        table = {}
        for name in names:
            table[name] = count
        for each in table.values():
            each()
        """,
    "a mapping that is asked for what is not known": """
        table = {"a": count, "b": idle}
        for name in names:
            table.get(name, idle)()
        """,
    "a branch that is not decided": """
        if names:
            fs.append(count)
        for each in fs:
            each()
        """,
    "bound methods": """
        class Counter:
            def count(self):
                n.append(1)
        counter = Counter()
        for name in names:
            fs.append(counter.count)
        for each in fs:
            each()
        """,
    "partial functions": """
        for name in names:
            fs.append(functools.partial(add, 1))
        for each in fs:
            each()
        """,
    "a name that is bound anew": """
        def more():
            nonlocal width
            width += 1
        for name in names:
            fs.append(more)
        for each in fs:
            each()
        """,
    "taken out by pop": """
        for name in names:
            fs.append(count)
        while fs:
            fs.pop()()
        """,
    "after something unknown changed the list": """
        for name in names:
            fs.append(count)
        fs.reverse()
        fs.extend(fs[:1])
        for each in list(fs):
            each()
        """,
    "a function that makes them": """
        def made(step):
            def run():
                n.append(step)
            return run
        for name in names:
            fs.append(made(name))
        for each in fs:
            each()
        """,
    "kept in an object": """
        class Holder:
            pass
        holder = Holder()
        holder.run = idle
        for name in names:
            holder.run = count
        holder.run()
        """,
    "mapped": """
        for name in names:
            fs.append(count)
        list(map(lambda each: each(), fs))
        """,
    "sorted by them": """
        for name in names:
            fs.append(count)
        sorted(fs, key=lambda each: each() or 0)
        """,
}
HEAD = """
import functools
from torch import nn

def idle():
    pass

class Net(nn.Module):
    def __init__(self, names):
        super().__init__()
        fs, n, width = [], [], 1
        def count():
            n.append(1)
        def add(item):
            n.append(item)
"""


@pytest.mark.parametrize("case", BODIES)
def test_what_they_lead_to_is_not_claimed(tmp_path: Path, case: str) -> None:
    file = tmp_path / "net.py"
    body = textwrap.indent(textwrap.dedent(BODIES[case]), " " * 8)
    text = f"{HEAD.lstrip()}{body}        self.fc = nn.Linear(2, len(n) + width)\n"
    file.write_text(text)
    graph = modgraph.predict(f"{file}:Net")
    claimed = {(each.name, each.shape) for node in graph.modules if node.path == "fc" for each in node.parameters}
    namespace: dict[str, type[nn.Module]] = {}
    exec(text, namespace)
    for names in GIVEN:
        net = namespace["Net"](list(names))
        real = {name: tuple(parameter.shape) for name, parameter in net.fc.named_parameters()}
        assert all(shape is None or None in shape or real[name] == shape for name, shape in claimed), names
    assert isinstance(net.fc.weight, torch.Tensor)


OF_MODULES = {
    "a function": "def run():\n    n.append(1)",
    "a name of the module": "def run():\n    global width\n    width = 2",
    "a lambda": "run = lambda: n.append(1)",
    "an object": "class Made:\n    def __call__(self):\n        n.append(1)\nrun = Made()",
    "a method": "class Made:\n    def count(self):\n        self.more = 2\nmade = Made()\nrun = made.count",
    "a method that sets what its class has": (
        "class Made:\n    more = 1\n    def count(self):\n        self.more = 2\nmade = Made()\nrun = made.count"
    ),
    "a method of a class": (
        "class Made:\n    more = 1\n    @classmethod\n    def count(cls):\n        cls.more = 2\nmade = Made\nrun = Made.count"
    ),
    "a static method": "class Made:\n    @staticmethod\n    def count():\n        n.append(1)\nrun = Made.count",
    "a class": "class Made:\n    def __init__(self):\n        n.append(1)\nrun = Made",
    "a class that counts": "class Made:\n    more = 1\n    def __init__(self):\n        Made.more = 2\nmade = run = Made",
}
WAYS = {
    "a list that a loop fills": "fs = []\nfor name in names:\n    fs.append(run)\nfor each in fs:\n    each()",
    "a mapping": "table = {'a': run}\nfor name in names:\n    table.get(name, idle)()",
    "a mapping that is asked": "table = {'a': run}\nif names == ['a']:\n    table[names[0]]()",
    "one of many": "fs = [run] + [lambda: None for _ in range(70)]\nfor name in names:\n    fs[len(name) - 1]()",
    "a name that is not known": (
        "class Some:\n    pass\nsome = Some()\nfor name in names:\n    setattr(some, name, run)\n    getattr(some, name)()"
    ),
}
MODULE = """
import os
from torch import nn

names = os.environ.get("NAMES_OF_A_TEST", "").split()
n, width, made = [], 1, None

def idle():
    pass

"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", OF_MODULES)
def test_nor_what_those_of_a_module_lead_to(tmp_path: Path, monkeypatch, case: str, way: str) -> None:
    file = tmp_path / "net.py"
    size = "len(n) + width + getattr(made, 'more', 0)"
    body = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(2, {size})\n"
    text = f"{MODULE.lstrip()}{OF_MODULES[case]}\n{WAYS[way]}\n\n{body}"
    file.write_text(text)
    graph = modgraph.predict(f"{file}:Net")
    claimed = {(each.name, each.shape) for node in graph.modules if node.path == "fc" for each in node.parameters}
    seen = set()
    for names in GIVEN:
        monkeypatch.setenv("NAMES_OF_A_TEST", " ".join(names))
        namespace: dict[str, type[nn.Module]] = {}
        exec(text, namespace)
        real = {name: tuple(each.shape) for name, each in namespace["Net"]().fc.named_parameters()}
        assert all(shape is None or None in shape or real[name] == shape for name, shape in claimed), names
        seen.add(real["weight"])
    assert len(seen) > 1
