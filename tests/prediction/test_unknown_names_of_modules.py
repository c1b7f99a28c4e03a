"""Names of a Python module that something unknown may have bound, replaced or deleted, or that may not be there; torch is
the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.prediction.projects import net_text

pytestmark = pytest.mark.needs_torch

LIB = """
W = 3
V = 4
def f(): return 2
class A: w = 1
"""
READ = "self.a = nn.Linear(lib.W, lib.f())"


def _net(head: str, body: str = READ) -> dict[str, str]:
    return {"net.py": net_text(f"import lib\nx = open('x').read()\n{head}", body)}


def _trying(read: str, error: str) -> str:
    return f"""try:
            {read}
            self.a = nn.ReLU()
        except {error}: self.b = nn.ReLU()"""


STORED = {
    "setattr": _net("setattr(lib, x and 'W' or 'V', 5)"),
    "setattr in a constructor": _net("", f"setattr(lib, x and 'W' or 'V', 5)\n        {READ}"),
    "setattr of a function": _net("setattr(lib, x and 'f' or 'g', lambda: 7)"),
    "setattr of another name": _net("setattr(lib, 'Q' + x, 5)", "self.a = nn.Linear(2, getattr(lib, 'Q', 3))"),
    "a new name is imported": _net("setattr(lib, 'Q' + x, 5)", _trying("from lib import Q", "ImportError")),
    "vars": _net("vars(lib)['W' + x] = 5"),
    "vars, one of several": _net("vars(lib)[{'': 'W', '1': 'V'}.get(x, 'U')] = 5"),
    "vars, updated": _net("vars(lib).update({'W' + x: 5})"),
    "vars, updated in a constructor": _net("", f"lib.__dict__.update({{'W' + x: 5}})\n        {READ}"),
    "delattr": _net("if x: delattr(lib, {'1': 'W', 'b': 'f'}[x])", _trying("lib.W", "AttributeError")),
    "delattr of a name not known": _net("delattr(lib, 'W' if not x else 'V')", _trying("lib.W", "AttributeError")),
    "delattr, later": _net(
        "delattr(lib, x.replace('1', 'V').replace('b', 'f') or 'W')", _trying("lib.W", "AttributeError")
    ),
    "globals": _net("W = 3\nglobals()[x and 'W' or 'V'] = 5", "self.a = nn.Linear(W, 1)"),
    "globals, in a function": _net("W = 3\ndef g(): globals()[x and 'W' or 'V'] = 5\ng()", "self.a = nn.Linear(W, 1)"),
}
EXECUTED = {
    "exec": _net("W = 1\nexec(x.replace('1', 'W=2').replace('b', 'W=3'))", "self.a = nn.Linear(W, 1)"),
    "exec of one of two texts": _net("W = 1\nexec('W = 2' if x else 'V = 2')", "self.a = nn.Linear(W, 1)"),
    "exec with globals": _net(
        "W = 1\nexec(x.replace('1', 'W=2') if x != 'b' else '', globals())", "self.a = nn.Linear(W, 1)"
    ),
    "exec in a function with globals": _net(
        "W = 1\ndef g(): exec(x.replace('1', 'W=2') if x != 'b' else '', globals())\ng()", "self.a = nn.Linear(W, 1)"
    ),
    "exec with the globals of another": _net("exec(x.replace('1', 'W=2') if x != 'b' else '', vars(lib))"),
    "exec of a function": _net(
        "def g(): return 1\nexec('def g(): return ' + (x and '2' or '3'))", "self.a = nn.Linear(g(), 1)"
    ),
}
MISSING = {
    "a name that is bound on some paths": _net("if x: W = 3", _trying("W", "NameError")),
    "a name that is deleted on some paths": _net("W = 3\nif x: del W", _trying("W", "NameError")),
    "a name that is imported": {
        **_net("", _trying("from lib import g", "ImportError")),
        "lib.py": "if open('x').read():\n    def g(): pass\n",
    },
    "an attribute": {**_net("", _trying("lib.g", "AttributeError")), "lib.py": "if open('x').read(): g = 3\n"},
    "a name that is deleted by others": _net("if x: del lib.W", _trying("from lib import W", "ImportError")),
    "a name that torch has not": _net("", _trying("from torch import no_such", "ImportError")),
    "a name that torch.nn has not": _net("", _trying("from torch.nn import NoSuch", "ImportError")),
    "a name that numpy has not": _net("", _trying("from numpy import no_such", "ImportError")),
    "an attribute that torch has not": _net("import torch", _trying("torch.no_such", "AttributeError")),
    "an attribute that numpy has not": _net("import numpy", _trying("numpy.no_such", "AttributeError")),
    "at module level": _net(
        "try:\n    from torch import no_such\n    K = 3\nexcept ImportError: K = 4", "self.a = nn.Linear(K, 1)"
    ),
}
CASES = {**STORED, **EXECUTED, **MISSING}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_what_is_claimed(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], files: dict[str, str]
) -> None:
    assert not claims_of_project_that_fail({"lib.py": LIB, **files})
