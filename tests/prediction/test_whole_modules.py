"""Modules of the project are executed from top to bottom; Python is the judge of what they leave."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import parse_target

SCRIPTS = {
    "a class body fills a list": """
        REG = []
        class K:
            REG.append(1)
            for i in range(2):
                REG.append(i)
    """,
    "a container in a container": """
        REG = []
        ALL = {"r": REG}
        ALL["r"].append(3)
    """,
    "a default argument": """
        REG = []
        def f(x=REG.append(3)): pass
    """,
    "constructors": """
        REG = []
        class D:
            def __init__(self):
                REG.append(self)
        x = D()
        y = [D(), D()]
    """,
    "a decorator of a method": """
        REG = []
        def deco(f):
            REG.append(f)
            return f
        class R:
            @deco
            def m(self): pass
    """,
    "calls that are chained": """
        REG = []
        class R:
            @classmethod
            def add(cls, x):
                REG.append(x)
                return cls
        R.add(1).add(2)
    """,
    "attributes of a class that count, in their order": """
        import itertools
        ids = itertools.count(1)
        class K:
            A, B = next(ids), next(ids)
            C = [next(ids) for _ in range(2)]
        REG = [None] * K.C[-1]
    """,
    "instances that count, in a class": """
        class Spec:
            count = 0
            def __init__(self):
                Spec.count += 1
                self.n = Spec.count
        class K:
            a = Spec(); b = Spec()
            c = Spec()
        REG = [None] * (K.c.n * 2 + K.a.n)
    """,
    "__init_subclass__ sets an attribute of another class": """
        class C:
            width = 3
        class X:
            def __init_subclass__(cls):
                C.width = 5
        class Z(X): pass
        REG = [None] * C.width
    """,
    "a lambda sets an attribute": """
        class C:
            width = 3
        change = lambda: setattr(C, "width", 6)
        change()
        REG = [None] * C.width
    """,
    "a metaclass says how attributes are set": """
        class Doubles(type):
            def __setattr__(cls, name, value):
                super().__setattr__(name, value * 2)
        class C(metaclass=Doubles):
            width = 3
        C.width = 2
        REG = [None] * C.width
    """,
    "the names of the module, in their order": """
        def last(): pass
        class A: pass
        x = A()
        class B(A): pass
        REG = [each for name, each in list(globals().items()) if isinstance(each, type) and each.__name__ in "AB"]
        REG = [None] * (1 + (REG[0] is A))
    """,
    "os.path by its full name": """
        import os.path
        REG = [None] * len(os.path.join("a", "b"))
    """,
    "a default that its name is not any more": """
        W = 2
        def f(w=W):
            return w
        class K:
            act = 3
            def g(self, act=act, w=W):
                return act + w
        W = 7
        REG = [None] * (f() + K().g())
    """,
    "a default that is an attribute": """
        class Cfg:
            w = 2
        def f(w=Cfg.w):
            return w
        Cfg.w = 7
        REG = [None] * f()
    """,
    "an expression that begins with a text": """
        REG = [1]
        "relu" in REG or REG.append(2)
        "a b".split() and REG.append(3)
        class K:
            "doc" and REG.append(4)
    """,
    "tests that only begin as those of a script": """
        REG = []
        if __name__ == "__main__" or len(REG) == 0:
            REG.append(1)
        if __name__ == "main" + "s":
            REG.append(2)
        from typing import TYPE_CHECKING
        if TYPE_CHECKING is False:
            REG.append(3)
        TYPE_CHECKING = True
        if TYPE_CHECKING:
            REG.append(4)
    """,
    "a base that a function gives another value": """
        REG = []
        class First:
            n = 1
        class Second:
            n = 2
        A = First
        def change():
            global A
            A = Second
        class B(A): pass
        change()
        REG = [None] * B.n
    """,
    "a star import over names that are there": """
        pi, tau = 2, 3
        from math import *
        REG = [None] * (int(pi) + int(tau))
    """,
    "the name of an exception": """
        e = 5
        try:
            raise ValueError(3)
        except ValueError as e:
            pass
        REG = [None] * (1 if "e" in globals() else 2)
    """,
    "a training script": """
        part = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        for epoch in range(2):
            optimizer.zero_grad()
            part(torch.zeros(1, 2)).sum().backward()
            optimizer.step()
        REG = [part]
    """,
}
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = nn.Linear(len(REG) + 1, 1)
        self.parts = nn.ModuleList(each if isinstance(each, nn.Module) else nn.ReLU() for each in REG)
"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_what_python_leaves(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(textwrap.dedent(text) + NET)


def test_a_layer_is_replaced_by_setattr(predict_source: Callable[..., Graph]) -> None:
    text = """
        setattr(nn, "Linear", nn.Identity)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(1, 1)
        """
    found = [(node.path, node.class_name) for node in predict_source(text).modules[1:]]
    assert found == [("l", "torch.nn.modules.linear.Identity")]


def test_a_script_that_takes_too_long_is_evaluated_name_by_name(predict_source: Callable[..., Graph]) -> None:
    text = """
        total = 0
        while total < 10_000_000:
            total += 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(1, 1)
        """
    graph = predict_source(text)
    assert graph.complete
    assert [node.path for node in graph.modules] == ["", "l"]


FILES = {
    "a class that tells its base": {
        "base.py": "REG = []\nclass Base:\n    def __init_subclass__(cls): REG.append(cls)\n",
        "main.py": "import base\nclass A(base.Base): pass\nclass B(A): pass\nREG = base.REG\n",
    },
    "a name that another module gives another value": {
        "o.py": "def make():\n    return 1\n",
        "main.py": "from o import make\nimport o\no.make = lambda: 5\nREG = [None] * (make() + o.make())\n",
    },
    "a name that its own module gives another value": {
        "o.py": "W = 1\ndef grow():\n    global W\n    W += 3\n",
        "main.py": "from o import *\nfrom o import W as V\ngrow()\nimport o\nREG = [None] * (W + 10 * V + 100 * o.W)\n",
    },
    "a star import after names of its own": {
        "o.py": "W = 5\ndef f():\n    return 7\n",
        "main.py": "W = 2\ndef f():\n    return 1\nbefore = W\nfrom o import *\nREG = [None] * (W + f() + before)\n",
    },
    "an import that fails": {
        "o.py": "import no_such_library_here\n",
        "main.py": "try:\n    import o\n    REG = [1]\nexcept ImportError:\n    REG = [1, 2]\n",
    },
    "an import of a name that fails": {
        "o.py": "from os import no_such_name\nfrom torch import nn\n",
        "main.py": "try:\n    import o\n    REG = [1]\nexcept ImportError:\n    REG = [1, 2]\n",
    },
    "an import that does not fail": {
        "p.py": "from torch import nn\nW = 3\n",
        "o.py": "from os import path\nfrom p import W\nfrom torch.nn import Linear\n",
        "main.py": "try:\n    from o import W, Linear\n    REG = [Linear(1, 1)] * W\nexcept ImportError:\n    REG = [1, 2]\n",
    },
    "an import that fails after it has done something": {
        "reg.py": "REG = []\n",
        "o.py": "import reg\nreg.REG.append(1)\nraise ImportError('no')\n",
        "main.py": "from reg import REG\ntry:\n    import o\nexcept ImportError:\n    REG.append(2)\n",
    },
    "an assertion of what is imported": {
        "o.py": "def f():\n    return 1\nassert f() == 2\n",
        "main.py": "try:\n    from o import f\n    REG = [1]\nexcept AssertionError:\n    REG = [1, 2, 3]\n",
    },
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_what_python_leaves_of_several_files(
    tmp_path: Path, files: dict[str, str], run_code: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    net = "import torch\nfrom torch import nn\n" + files["main.py"] + NET
    (tmp_path / "main.py").write_text(net, encoding="utf-8")
    code = "from main import Net; n = Net(); print(n.sizes.in_features, len(n.parts))"
    done = run_code(code, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    size, parts = map(int, done.stdout.split())
    graph = predict_graph(parse_target("main.py:Net", cwd=tmp_path))
    assert graph.problems == ()
    found = {node.path: node for node in graph.modules}
    assert found["sizes"].parameters[0].shape == (1, size)
    assert sum(path.startswith("parts.") for path in found) == parts


def test_what_a_module_has_changed_before_it_failed_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "reg.py").write_text("REG = [1]\n", encoding="utf-8")
    deep = "x = " + "-" * 600 + "1\n"  # deeper than what is read
    (tmp_path / "late.py").write_text(f"import reg\nreg.REG.append(3)\n{deep}reg.REG.append(4)\n", encoding="utf-8")
    text = """
        from torch import nn
        import reg
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                import late
                self.l = nn.Linear(len(reg.REG), 1)
        """
    (tmp_path / "main.py").write_text(textwrap.dedent(text), encoding="utf-8")
    graph = predict_graph(parse_target("main.py:Net", cwd=tmp_path))
    (layer,) = (node for node in graph.modules if node.path == "l")
    assert layer.parameters[0].shape == (1, None)
    assert not graph.complete
