"""Statements of a module and what calls and decorators between them change: run in the order of the text, torch judges."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph

CASES = {
    "popped after a decorator": """
        MODELS = {}
        def register(c):
            MODELS[c.__name__] = 1
            return c
        @register
        class A: pass
        MODELS.pop("A", None)
        RESULT = dict(MODELS)
    """,
    "deleted after a decorator": """
        MODELS = {}
        def register(c):
            MODELS[c.__name__] = 1
            return c
        @register
        class A: pass
        del MODELS["A"]
        RESULT = list(MODELS)
    """,
    "discarded from a set": """
        S = set()
        def register(c):
            S.add(c.__name__)
            return c
        @register
        class A: pass
        S.discard("A")
        RESULT = len(S)
    """,
    "two on one line": """
        D = {}
        def add(k):
            D[k] = []
        add("a"); D["a"].append("b")
        RESULT = len(D["a"])
    """,
    "an item that a call made grows": """
        D = {}
        def add(k):
            D[k] = []
        add("a")
        D["a"].append("b")
        RESULT = len(D["a"])
    """,
    "a length is read": """
        D = {}
        def add(k, v):
            D[k] = v
        add("a", 3)
        D["n"] = len(D)
        RESULT = D["n"]
    """,
    "alias of what is registered": """
        MODELS = {}
        def register(c):
            MODELS[c.__name__] = 1
            return c
        @register
        class A: pass
        @register
        class B: pass
        MODELS["alias"] = MODELS["A"]
        RESULT = (list(MODELS), len(MODELS), list(MODELS.items()))
    """,
    "a call whose result is kept changes an entry": """
        CFG = {"d": 1}
        def load():
            CFG["d"] = 5
            return 3
        cfg = load()
        CFG["e"] = 4
        RESULT = (CFG["d"], CFG["e"], list(CFG))
    """,
    "a call gives the container": """
        CFG = {"d": 1}
        def load():
            CFG["x"] = 5
            return CFG
        cfg = load()
        CFG["e"] = 4
        RESULT = (CFG["d"], CFG["e"], list(CFG))
    """,
    "a list grows by both": """
        LAYERS = []
        def add(a, b):
            LAYERS.append((a, b))
        add(1, 2)
        LAYERS.append((3, 4))
        RESULT = LAYERS
    """,
    "a list is added to between calls": """
        LAYERS = []
        def add(a, b):
            LAYERS.append((a, b))
        add(1, 2)
        LAYERS += [(3, 4)]
        add(5, 6)
        RESULT = LAYERS
    """,
    "the registered class asked for first": """
        MODELS = {}
        def register(c):
            MODELS[c.__name__] = c
            return c
        MODELS["z"] = 0
        @register
        class A:
            n = 3
        MODELS["alias"] = MODELS["A"]
        @register
        class B:
            n = 4
        RESULT = (A.n, list(MODELS), MODELS["alias"].n)
    """,
    "an attribute reads what a call set": """
        class C:
            n = 1
            items = []
        def setup():
            C.n = 2
            C.m = 7
        setup()
        C.k = C.n + 1
        RESULT = (C.k)
    """,
    "an attribute is set again": """
        class C:
            n = 1
        def setup():
            C.n = 2
        setup()
        C.n = 3
        RESULT = (C.n)
    """,
    "a call counts what is added later": """
        class C:
            names = []
        def setup():
            C.items = len(C.names)
        setup()
        C.names.append("x")
        RESULT = C.items, len(C.names)
    """,
    "a call reads a name that is bound again": """
        N = 1
        class C: n = 0
        def setup():
            C.n = N
        setup()
        N = 2
        RESULT = C.n
    """,
    "calls before and after": """
        class C: n = 0
        def setup():
            C.n += 1
        setup()
        C.n = 5
        setup()
        RESULT = C.n
    """,
    "a call deletes": """
        class C: n = 0
        def setup():
            del C.n
        setup()
        C.n = 5
        RESULT = C.n
    """,
    "other attributes stay": """
        class C:
            n = 0
            m = 0
        def setup():
            C.n = 9
        setup()
        C.m = 5
        RESULT = C.n, C.m
    """,
    "an instance's attribute reads what a call set": """
        class Cfg: pass
        cfg = Cfg()
        cfg.w = 3
        def setup():
            cfg.w = 4
        setup()
        cfg.d = cfg.w * 2
        RESULT = cfg.d, cfg.w
    """,
    "an instance's other attribute": """
        class Cfg: pass
        cfg = Cfg()
        cfg.w = 3
        def setup():
            cfg.w = 4
        setup()
        cfg.d = 6
        RESULT = cfg.d, cfg.w
    """,
    "cleared between calls": """
        D = {"a": 1}
        def add(k):
            D[k] = len(D)
        D["b"] = 1
        add("c")
        D.clear()
        D["z"] = 1
        add("q")
        RESULT = D
    """,
    "a loop between calls": """
        D = {}
        def add(k):
            D[k] = k
            return k
        x = add("a")
        for k in ["b", "c"]:
            D[k] = x
        y = add("d")
        D.update(e=y)
        RESULT = D
    """,
    "a global bound anew after a call": """
        N = 1
        class C:
            n = 0
        def bump():
            global N
            N += 5
        bump()
        C.n = N
        N = N * 2
        bump()
        RESULT = C.n, N
    """,
    "an attribute of a function": """
        def f(): pass
        f.calls = 0
        def setup():
            f.calls += 3
        setup()
        f.calls *= 2
        RESULT = f.calls
    """,
    "a list of what was so far": """
        class C: n = 1
        def setup(): C.n = 4
        L = [C.n]
        setup()
        L.append(C.n)
        C.n = 8
        L.append(C.n)
        RESULT = L
    """,
    "a name made of itself between calls": """
        class C: n = 1
        def setup(): C.n += 4
        cfg = {"a": 1}
        setup()
        cfg["n"] = C.n
        C.n += 1
        cfg = dict(cfg, z=3)
        setup()
        RESULT = C.n, cfg
    """,
    "one name given the results of two calls": """
        class C: n = 1
        def setup():
            C.n += 4
            return C.n
        x = 1
        C.m = x
        x = setup()
        C.k = x
        x = setup()
        RESULT = C.n, C.m, C.k, x
    """,
    "a condition on what a call set": """
        import sys
        class C: n = 1
        def setup(m):
            C.n = m
        setup(2)
        if C.n == 2:
            C.n = 6
        else:
            C.n = 7
        RESULT = C.n
    """,
    "a registry of subclasses": """
        class Meta:
            registry = {}
            def __init_subclass__(cls):
                Meta.registry[cls.__name__] = cls
        class A(Meta): pass
        class B(Meta): pass
        Meta.registry["alias"] = A
        Meta.registry.pop("B")
        RESULT = list(Meta.registry), len(Meta.registry)
    """,
    "the registry is made anew of itself": """
        MODELS = {}
        def register(c):
            MODELS[c.__name__] = c.__name__
            return c
        @register
        class B: pass
        @register
        class A: pass
        MODELS = dict(sorted(MODELS.items()))
        RESULT = list(MODELS)
    """,
    "a list is read between a call and what is added": """
        L = []
        def add(x): L.append(x)
        add(1)
        x = len(L)
        L += [2]
        RESULT = x
    """,
}

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({str(RESULT).replace(".", "_"): nn.Identity()})
"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_in_the_order_of_the_text(agrees: Callable[[str], Graph], text: str):
    agrees(textwrap.dedent(text) + NET)


FILES = {
    "settings_x.py": """
        class C:
            n = 1
        class D:
            n = 1
        TABLE = {}
        def setup(n):
            C.n += n
            D.n = C.n
    """,
    "model_x.py": """
        from torch import nn
        from settings_x import C, D, TABLE, setup
        class E:
            n = 0
        def grow():
            E.n += C.n
        TABLE["first"] = len(TABLE)
        setup(3)
        E.n = C.n * 2
        import other_x
        TABLE["last"] = len(TABLE)
        C.m = C.n
        grow()
        E.n += 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(C.n, C.m)
                self.b = nn.Linear(D.n, E.n)
                for name, width in TABLE.items():
                    self.add_module(name, nn.Linear(1, 1 + width))
    """,
    "other_x.py": """
        from settings_x import C, TABLE, setup
        import model_x
        model_x.E.n += 5
        setup(10)
        TABLE["other"] = len(TABLE)
        C.n += 100
    """,
}


@pytest.mark.needs_torch
def test_imports_stand_in_the_order_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        import model_x  # type: ignore[import-not-found]

        made: Any = model_x.Net()
    finally:
        for name in FILES:
            sys.modules.pop(name.removesuffix(".py"), None)
    graph = modgraph.predict(f"{tmp_path / 'model_x.py'}:Net")
    shapes = {f"{n.path}.{p.name}": p.shape for n in graph.modules for p in n.parameters}
    assert shapes == {name: tuple(each.shape) for name, each in made.named_parameters()}
    assert graph.complete
