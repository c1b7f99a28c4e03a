"""Methods of a base that is not read call those of the class derived from it: what these change may be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
import ast, cmd, configparser, string, threading, unittest
from collections.abc import MutableMapping
from html.parser import HTMLParser
L = []
class Visitor(ast.NodeVisitor):
    n = 0
    def visit_Name(self, node):
        self.n += 1
        L.append(node.id)
class Derived(Visitor):
    def __init__(self, module): self.module = module
    def visit_Name(self, node):
        super().visit_Name(node)
        self.module.add_module(node.id, nn.ReLU())
class Parser(HTMLParser):
    def handle_starttag(self, tag, attrs): L.append(tag)
class Shell(cmd.Cmd):
    def do_x(self, arg): L.append(arg)
class Texts(string.Formatter):
    def get_value(self, *args):
        L.append(1)
        return 3
class Case(unittest.TestCase):
    def test_x(self): L.append(1)
class Settings(configparser.ConfigParser):
    def optionxform(self, option):
        L.append(1)
        return option
class User(collections.UserDict):
    def __setitem__(self, key, value):
        L.append(1)
        super().__setitem__(key, value)
class Table(MutableMapping):
    def __init__(self): self.held = {}
    def __setitem__(self, key, value):
        L.append(1)
        self.held[key] = value
    def __getitem__(self, key): return self.held[key]
    def __delitem__(self, key): L.append(self.held.pop(key))
    def __iter__(self): return iter(self.held)
    def __len__(self): return len(self.held)
"""
CALLS = (
    *(
        "Visitor().visit(ast.parse('a + b'))",
        "self.part = nn.Sequential(); Derived(self.part).visit(ast.parse('a + b'))",
        "Parser().feed('<a><b>')",
    ),
    *("v = Visitor(); v.generic_visit(ast.parse('a')); self.n = nn.Linear(v.n + 1, 1)", "Shell().onecmd('x')"),
    *("Texts().format('{a}')", "Case('test_x').run()", "Settings().read_string('[a]\\nb=1')", "User({1: 2})"),
    *("u = User(); u.update({5: 6}); u.setdefault(7, 8)", "t = Table(); t.update({5: 6}); t.setdefault(7, 8)"),
    "t = Table(); t[5] = 6; t.pop(5); t[7] = 8; t.clear()",
)


@pytest.mark.parametrize("call", CALLS)
def test_what_they_change_is_not_known(claims_that_fail: Callable[..., list[Any]], call: str) -> None:
    assert claims_that_fail(f"{call}\nself.a = nn.ModuleList([nn.ReLU() for _ in L])", HEADER) == []
