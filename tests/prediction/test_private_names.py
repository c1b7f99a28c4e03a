"""Names that Python spells otherwise than they are written: private ones, and letters that only look different."""

from __future__ import annotations

import ast
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.source import nodes
from modgraph.source.mangling import bound_as, mangle_syntax, mangled, spell_private
from modgraph.source.parsed import Parsed

NETS = {
    "an attribute of a module": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.__x = nn.Linear(1, 2)
                self.__y__ = nn.Linear(1, 2)
        """,
    "the same name in a base and in what derives from it": """
        class Base(nn.Module):
            __size = 2
            def __init__(self):
                super().__init__()
                self.__x = nn.Linear(1, self.__size)
                self.__build()
            def __build(self):
                self.a = nn.Linear(3, 4)
        class Net(Base):
            __size = 5
            def __init__(self):
                super().__init__()
                self.__x = nn.Linear(3, self.__size)
                self.z = self._Base__x
            def __build(self):
                self.a = nn.Linear(7, 8)
        """,
    "names, parameters and keyword arguments": """
        _Net__wide = 5
        def kinds(**given):
            return nn.ReLU() if "__a" in given else nn.Tanh()
        class Net(nn.Module):
            def __init__(self, __k=3):
                super().__init__()
                self.x = nn.Linear(__wide, __k)
                self.k = kinds(__a=1)
                class Inner:
                    __v = 3
                    def of(__self):
                        return __self.__v
                self.y = nn.Linear(Inner().of(), 1)
                self.z = nn.ReLU() if hasattr(Inner, "_Inner__v") else nn.Tanh()
        """,
    "what is asked for by a string": """
        class Net(nn.Module):
            __n = 4
            def __init__(self):
                super().__init__()
                self.__w = 8
                self.a = nn.Linear(getattr(self, "__w", 1), getattr(self, "_Net__w"))
                self.add_module("__q", nn.ReLU())
                del self.__w
                self.b = nn.ReLU() if hasattr(self, "_Net__w") else nn.Tanh()
                setattr(self, "__w", nn.ReLU())
        """,
    "classes of underscores, and before names": """
        class __(nn.Module):
            def __init__(self):
                super().__init__()
                self.__x = nn.Linear(1, 2)
        class __Net_(__):
            def __init__(self):
                super().__init__()
                self.__y = nn.Linear(1, 2)
        Net = __Net_
        """,
    "definitions and imports inside a class": """
        class Net(nn.Module):
            class __Part(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.__inner = nn.ReLU()
            import collections as __c
            def __init__(self):
                super().__init__()
                import math as __m
                def __half(__n):
                    return __n // 2
                self.part = self.__Part()
                self.a = nn.Linear(__half(8), __m.floor(2.5))
                self.b = nn.ReLU() if self.__c.OrderedDict(__x=1)["__x"] else nn.Tanh()
                self.c = nn.Linear(len(self.__Part.__name__), 1)
        """,
    "global names, handlers, comprehensions and patterns": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                global __made
                __made = 3
                try:
                    raise ValueError(2)
                except ValueError as __error:
                    self.a = nn.Linear(__error.args[0], _Net__made)
                self.b = nn.Linear(sum([__i for __i in range(4)]), (__w := 3) + __w)
                match {"k": 2, "l": 3}:
                    case {"k": __k, **__others}:
                        self.c = nn.Linear(__k, __others["l"])
                match [1, 2, 3]:
                    case [__first, *__rest]:
                        self.d = nn.Linear(__first, len(__rest))
        """,
    "slots and fields": """
        import dataclasses
        class Slotted:
            __slots__ = ("__x", "y")
            def __init__(self):
                self.__x = 4
            @property
            def x(self):
                return self.__x
        @dataclasses.dataclass
        class Config:
            __width: int = 3
            @property
            def width(self):
                return self.__width
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(Slotted().x, Config(_Config__width=7).width)
                self.b = nn.Linear(1, len(dataclasses.fields(Config)[0].name))
        """,
    "letters that only look different": """
        def size(**given):
            return given["fi"]
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.ﬁrst = nn.Linear(size(ﬁ=2), 1)
                ℌ = 3
                self.second = nn.Linear(H, 1)
                self.first2 = nn.Linear(self.first.in_features, 1)
        """,
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", NETS.values(), ids=NETS)
def test_names_are_predicted_as_python_spells_them(agrees: Callable[[str], Graph], text: str):
    agrees(text)


WRITTEN = """
class _Net:
    import __a, __a.b, __a.b as __c
    from __m import __y
    from __m.z import __w as __v
    @__deco
    def __f(self, __p, *__args, __k: __ann = 1, **__kw):
        self.__x = __p.__y__
        del self.__x
        f(__x=1, *__args)
        class B(A, __meta=2): __q = 1
        class __C: pass
        def __g(): return __x
        try: pass
        except E as __e: pass
        match __p:
            case [__m1, *__m2]: pass
            case {"a": __m3, **__m4}: pass
            case P(__at=1) as __m5: pass
            case __x.__y: pass
        global __gl
        __gl = lambda __l: [__i for __i in __l if (__u := __i)]
        f"{self.__x} {self.__d!r}"
    __ann2: int = 1
    class __I:
        class ____: __t = 1
        __x = 1
"""


def test_a_tree_holds_the_names_that_pythons_own_compiler_makes():
    code = compile(WRITTEN, "x.py", "exec", dont_inherit=True)
    tree = ast.parse(WRITTEN)
    mangle_syntax(tree)
    spelled = Parsed(WRITTEN.split("\n"), 1, "x.py").statements
    told = set(_names(code)) | {"__meta", "__at", "__x"}  # keyword arguments and attributes of patterns are constants
    for names in (_private(tree), set(_spelled(spelled))):
        private = {name for name in names if "__" in name.strip("_")} | {name for name in names if name[:2] == "__"}
        definitions = {"__f", "__C", "__g", "__I", "____"}
        assert private - definitions - {"__a", "__m", "__y__"} <= told
        assert {"_Net__x", "_Net__p", "_B__q", "_Net__d", "_Net__m4", "_I__x", "__t"} <= private


def _names(code: types.CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names(each)


def _private(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            found.update(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
    return {each for each in found if each.isidentifier()}


def _spelled(statements: nodes.Block) -> Iterator[str]:
    """Every name in the fields of nodes."""
    for statement in statements:
        for node in nodes.walk(statement):
            if isinstance(node, (nodes.FunctionDef, nodes.ClassDef)):
                yield node.bound
                continue
            values = [getattr(node, name) for name in type(node).fields if name not in type(node).nested]
            yield from (each for each in values if isinstance(each, str) and each.isidentifier())


@pytest.mark.parametrize("owner", ["Net", "_Net", "__Net_", "_", "__", "Ä"])
@pytest.mark.parametrize("name", ["__x", "__x__", "_x", "x", "__", "___", "__x_", "___x"])
def test_a_name_is_mangled_as_python_does(owner: str, name: str):
    space: dict[str, Any] = {}
    exec(textwrap.dedent(f"class {owner}:\n    {name} = 1\n"), space)
    assert mangled(name, owner) in vars(space[owner])


SPELLED = """\
import a.b, __c.d
from __e import f as __g


class Net(__e):
    __slots__ = ("__x",)

    @__f
    def __m(self, __a, b=lambda __y: __y):
        global __z
        return (
            self.__x,
            self
            .__w,
        )

    class __In:
        '''a text\n\nwith __x in it'''
        def n(self): return self.__v


def make():
    class Far:
        def n(self):
            match self:
                case {**__rest}:
                    return __rest
            return f"{self.__u}"
    return __q
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_only_what_stands_in_lines_with_private_names_is_walked_over(ends: str):
    text = SPELLED.replace("\n", ends)
    whole, part = ast.parse(text), ast.parse(text)
    mangle_syntax(whole)
    spell_private(part, text)
    assert ast.dump(part) == ast.dump(whole)
    kinds = (ast.ClassDef, ast.FunctionDef)
    names = [[bound_as(each) for each in ast.walk(tree) if isinstance(each, kinds)] for tree in (whole, part)]
    assert names[0] == names[1]
    assert "_Net__m" in names[0]
