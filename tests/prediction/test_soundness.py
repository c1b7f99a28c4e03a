"""What is not decided is not claimed: each model is built with several values of its argument, which the prediction
does not know, and must be one that the prediction allows."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import IN_ANY_ORDER, Graph

pytestmark = pytest.mark.needs_torch

HEADER = """\
import contextlib
import torch
from torch import nn
CFG = {"n": 3}
class B(nn.Module):
    N = 3
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(CFG["n"], self.N)
N = 3
def rebind(n):
    global N
    if n:
        N = 5
class Other(nn.Linear):
    pass
class Adds:
    def __init__(self, owner, swallows=False):
        self.owner, self.swallows = owner, swallows
    def __enter__(self):
        return self
    def __exit__(self, *raised):
        self.owner.left = nn.ReLU()
        return self.swallows
def gives_none(function):
    pass
try:
    def raises(function):
        raise ValueError
    @raises
    def made():
        return nn.Linear(1, 1)
except ValueError:
    def made():
        return nn.ReLU()
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
"""

NUMBERS = (0, 1, 5)
TRUTHS = (False, True)
CALLS: tuple[Any, ...] = (lambda *_: None, lambda given: given() if callable(given) else None)


def _half(given: Any) -> None:
    given.half()


def _remove(given: Any) -> None:
    del given.a


def _change_dict(given: Any) -> None:
    given.update(a=9)


def _freeze(given: Any) -> None:
    given.requires_grad_(False)


def _set_attribute(given: Any) -> None:
    given.size = 7


CASES: dict[str, tuple[tuple[Any, ...], str]] = {
    "a module's dict changed between equal constructions": (
        (0,),
        "self.a = B(); self.b = B(); self.c = B(); CFG['n'] = 7; self.d = B()",
    ),
    "a class changed between equal constructions": (
        (0,),
        "self.a = B(); self.b = B(); self.c = B(); B.N = 7; self.d = B(); B.N = 3",
    ),
    "a global that one path assigns": (TRUTHS, "rebind(n); self.a = nn.Linear(N, 2)"),
    "an attribute of a class that one path assigns": (
        TRUTHS,
        """
        if n:
            B.N = 5
        self.a = nn.Linear(B.N, 2)
        B.N = 3
        """,
    ),
    "the length of one of two, of which one has none": (
        TRUTHS,
        """
        self.l = nn.ModuleList([nn.ReLU()])
        if n:
            self.l = nn.Linear(1, 1)
        try:
            self.a = nn.Linear(len(self.l), 2)
        except TypeError:
            self.b = nn.ReLU()
        """,
    ),
    "a name that one path alone has, assigned again": (
        TRUTHS,
        """
        if n:
            self.a = nn.ReLU()
        self.b = nn.ReLU()
        self.a = nn.Linear(1, 1)
        """,
    ),
    "a child that one path alone has refuses a tensor": (
        TRUTHS,
        """
        if n:
            self.a = nn.ReLU()
        try:
            self.a = torch.zeros(1)
        except TypeError:
            self.b = nn.ReLU()
        self.c = nn.ReLU()
        self.a = nn.Linear(1, 1)
        """,
    ),
    "a parameter that one path alone has refuses a module": (
        TRUTHS,
        """
        if n:
            self.a = nn.Parameter(torch.zeros(1))
        try:
            self.a = nn.Linear(1, 1)
        except TypeError:
            self.b = nn.ReLU()
        """,
    ),
    "a child that one path alone has, deleted": (
        TRUTHS,
        """
        if n:
            self.a = nn.ReLU()
        try:
            del self.a
        except AttributeError:
            self.b = nn.ReLU()
        """,
    ),
    "a list to which one path alone has added": (
        TRUTHS,
        """
        self.l = nn.ModuleList([nn.ReLU()])
        self.m = nn.ModuleList()
        if n:
            self.l.append(nn.ReLU())
            self.m.append(nn.ReLU())
        self.l.append(nn.Linear(1, 1))
        self.m.extend([nn.Linear(1, 1), nn.Linear(2, 2)])
        """,
    ),
    "a name registered in a loop and after it": (
        NUMBERS,
        """
        for _ in range(n):
            self.a = nn.ReLU()
        self.b = nn.ReLU()
        self.a = nn.Linear(1, 1)
        """,
    ),
    "two children that one path alone has": (
        TRUTHS,
        """
        self.a = nn.ReLU()
        if n:
            self.b, self.c = nn.ReLU(), nn.Linear(1, 1)
        self.d = nn.Tanh()
        self.e = list(self.children())[-3] if n else nn.ReLU()
        """,
    ),
    "a turn for a child that one path alone has": (
        TRUTHS,
        """
        self.a = nn.ReLU()
        if n:
            self.b = nn.ReLU()
        for name, child in list(self.named_children()):
            self._modules[name] = nn.Sequential(child)
        self.c = list(self.children())[-1]
        """,
    ),
    "a value set and set back where each time something may be raised": (
        (lambda _: None, lambda given: given if given is None else len(given), lambda given: len(given or ())),
        """
        self.size = 1
        try:
            n(None)
            self.size = 2
            n(self)
            self.size = 1
            n(None)
            self.a = nn.Linear(1, 1)
        except TypeError:
            self.b = nn.Linear(self.size, 1)
        """,
    ),
    "the second of two things that may be raised, inside what is called": (
        (lambda given: given, lambda given: given - 2, lambda given: 1 / (given - 2)),
        """
        try:
            for size in (1, 2, 3):
                self.add_module(f"a{size}", nn.Linear(size, 1))
                n(size)
        except ZeroDivisionError:
            self.b = nn.ReLU()
        """,
    ),
    "a name that one path binds": (
        TRUTHS,
        """
        if n:
            k = 1
        try:
            self.a = nn.Linear(k, 1)
        except NameError:
            self.b = nn.ReLU()
        """,
    ),
    "a class that one path replaces": (
        TRUTHS,
        """
        self.a = nn.Linear(2, 2)
        if n:
            self.a.__class__ = Other
        """,
    ),
    "two objects on one path, one on the other": (
        TRUTHS,
        """
        if n:
            a = nn.Sequential(); b = a
        else:
            a = nn.Sequential(); b = nn.Sequential()
        a.append(nn.Linear(1, 1)); b.append(nn.ReLU())
        self.a = a; self.b = b
        """,
    ),
    "values handed along a chain, turn by turn": (
        NUMBERS,
        """
        a = b = c = d = e = 8
        for _ in range(n):
            a = b; b = c; c = d; d = e; e = e * 2
        self.a = nn.Linear(a, 4)
        """,
    ),
    "a conversion inside a try": (
        ("x", "3"),
        """
        try:
            k = int(n); self.a = nn.Linear(2, 2)
        except ValueError:
            self.a = nn.ReLU()
        """,
    ),
    "an attribute inside a try": (
        (3, "x"),
        """
        try:
            k = n.upper(); self.a = nn.Linear(2, 2)
        except AttributeError:
            self.b = nn.ReLU()
        """,
    ),
    "an item inside a try": (
        ("a", "z"),
        """
        try:
            k = {"a": 1}[n]; self.a = nn.Linear(2, 2)
        except KeyError:
            self.b = nn.ReLU()
        """,
    ),
    "an assertion inside a try": (
        TRUTHS,
        """
        try:
            assert n
            self.a = nn.Linear(2, 2)
        except AssertionError:
            self.b = nn.ReLU()
        """,
    ),
    "a with that every path returns from": (
        TRUTHS,
        """
        with Adds(self):
            if n:
                return
            else:
                return
        """,
    ),
    "an exception that one path raises, suppressed": (
        TRUTHS,
        """
        with contextlib.suppress(ValueError):
            if n:
                raise ValueError
            self.a = nn.ReLU()
        self.b = nn.Tanh()
        """,
    ),
    "an exit that swallows or not": (
        TRUTHS,
        """
        try:
            with Adds(self, n):
                raise ValueError
            self.a = nn.ReLU()
        except ValueError:
            self.b = nn.Tanh()
        """,
    ),
    "a manager that is not known": (
        (contextlib.suppress(ValueError), contextlib.nullcontext()),
        """
        try:
            with n:
                raise ValueError
            self.a = nn.ReLU()
        except ValueError:
            self.b = nn.Tanh()
        """,
    ),
    "callbacks of an ExitStack": (
        (0,),
        """
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: self.add_module("b", nn.ReLU()))
            self.a = nn.Tanh()
        """,
    ),
    "a dict given away": ((len, _change_dict), "d = {'a': 1}; n(d); self.a = nn.Linear(d['a'], 1)"),
    "an object given away": (
        (id, _set_attribute),
        "o = Adds(self); o.size = 2; n(o); self.a = nn.Linear(o.size, 1)",
    ),
    "a parameter given away": ((id, _freeze), "self.p = nn.Parameter(torch.zeros(2)); n(self.p)"),
    "the model given away": ((id, _half, _remove), "self.a = nn.Linear(1, 1); self.b = nn.ReLU(); n(self)"),
    "a function given away that sets an attribute": (
        CALLS,
        """
        def add():
            self.a = nn.Linear(2, 2)
        self.b = nn.ReLU()
        n(add)
        """,
    ),
    "a function given away that fills a list": (
        CALLS,
        "l = nn.ModuleList(); n(lambda: l.append(nn.ReLU())); self.l = l",
    ),
    "one of two containers, by name": (
        TRUTHS,
        """
        self.a = nn.Sequential(nn.ReLU()); self.b = nn.Sequential(nn.ReLU())
        getattr(self, "a" if n else "b").append(nn.Tanh())
        """,
    ),
    "one of several children, by index": (
        (0, 1),
        "self.a = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 2)]); self.a[n].bias = None",
    ),
    "entries of a dict that one path adds": (
        TRUTHS,
        """
        d = {"a": 1}
        if n:
            d["b"] = 2
        self.l = nn.Linear(len(d), 2)
        self.k = nn.ModuleList([nn.Linear(1, 1) for _ in d])
        self.j = nn.ModuleDict({key: nn.ReLU() for key in d})
        f = {**d}
        self.i = nn.Linear(len(f.items()), len(sorted(d)))
        """,
    ),
    "an order that depends on the path": (
        TRUTHS,
        """
        if n:
            self.a = nn.ReLU(); self.b = nn.Tanh()
        else:
            self.b = nn.Tanh(); self.a = nn.ReLU()
        """,
    ),
    "a module or None": (
        TRUTHS,
        """
        self.a = nn.Linear(1, 1) if n else None
        self.b = nn.ReLU() if n else 5
        self.c = [nn.ReLU()] if n else nn.ReLU()
        self.d = nn.Parameter(torch.zeros(1)) if n else torch.zeros(1)
        self.register_buffer("e", torch.zeros(1) if n else None)
        if n:
            self.register_parameter("f", None)
        self.g = nn.ReLU()
        """,
    ),
    "a decorator that gives None": (
        (0,),
        """
        @gives_none
        def make():
            return nn.Linear(1, 1)
        try:
            self.a = make()
        except TypeError:
            self.b = nn.ReLU()
        """,
    ),
    "a decorator that raises": ((0,), "self.a = made()"),
    "parameters frozen up to a number": (
        (0, 1, 2),
        """
        self.a = nn.Linear(1, 1)
        for p in list(self.parameters())[:n]:
            p.requires_grad = False
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_torch_builds_is_what_may_be(name: str, predict_source: Callable[..., Graph]) -> None:
    values, body = CASES[name]
    text = HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    graph = predict_source(text)
    for value in values:
        assert _contradictions(graph, _built(text, value)) == []


def test_what_is_decided_stays_known(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = {"a": 1}
                try:
                    self.a = nn.Linear(sizes["a"], int("3"))
                    self.b = sizes["b"]
                except KeyError:
                    self.c = nn.ReLU()
                finally:
                    self.d = nn.Tanh()
                for p in list(self.parameters())[:1]:
                    p.requires_grad = False
                with torch.no_grad():
                    self.e = nn.Linear(1, 1) if sizes else None
        """
    )


def _built(text: str, value: Any) -> Any:
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec", dont_inherit=True), namespace)
    return namespace["Net"](value)


def _contradictions(graph: Graph, model: Any) -> list[Any]:
    """What the graph claims and the model has not, and what the model has and the graph leaves no place for."""
    real = dict(model.named_modules(remove_duplicate=False))
    nodes = {node.path: node for node in graph.modules if node.registered}
    claimed = {path: node for path, node in nodes.items() if node.class_name is not None}
    open_ = [path.removesuffix("?") if path.endswith("?") else f"{path}." for path in nodes if path not in claimed]
    told = {problem.module for problem in graph.open_places}
    found: list[Any] = [("invented", path) for path in claimed if path not in real]
    if None not in told:
        found += [("missing", path) for path in real if path not in nodes and not path.startswith(tuple(open_))]
    both = [path for path in claimed if path in real]
    in_any_order = {problem.module for problem in graph.open_places if IN_ANY_ORDER in problem.message}
    for above in {path.rpartition(".")[0] for path in both} - in_any_order:
        ours, theirs = ([each for each in paths if each.rpartition(".")[0] == above] for paths in (both, real))
        if ours != [each for each in theirs if each in both]:
            found.append(("order", ours))
    for path in both:
        module, node = real[path], claimed[path]
        if node.class_name.rpartition(".")[2] != type(module).__name__:
            found.append(("class", path, node.class_name))
        for kind, ours, theirs in (
            ("parameter", node.parameters, module._parameters),
            ("buffer", node.buffers, module._buffers),
        ):
            there = {name: tensor for name, tensor in theirs.items() if tensor is not None}
            found += [(kind, path, each) for each in ours if not _fits(each, there.get(each.name))]
            if path not in told and None not in told and [each.name for each in ours] != list(there):
                found.append((kind, path, list(there)))
    return found


def _fits(claim: Any, tensor: Any) -> bool:
    if tensor is None:
        return False
    dtype, trainable = str(tensor.dtype).removeprefix("torch."), getattr(claim, "trainable", None)
    shape = claim.shape is None or (
        len(claim.shape) == tensor.dim()
        and all(size in (None, real) for size, real in zip(claim.shape, tensor.shape, strict=True))
    )
    return shape and claim.dtype in (None, dtype) and trainable in (None, tensor.requires_grad)
