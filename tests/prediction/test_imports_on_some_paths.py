"""Modules of the project that are imported on some paths only, or that may raise in the midst; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

FLAG = "open('x').read()"
REG = "R = {}\nN = 1\n"
M1 = "import reg\nreg.R['m1'] = 3\nreg.N += 1\n"
NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sure = nn.Linear(1, 1)
        {body}
"""
READ = """self.n = nn.Linear(reg.N, 2)
        for k in reg.R: self.add_module(k, nn.ReLU())"""


def _net(head: str, body: str = READ) -> str:
    return f"import reg\n{head}\n{NET.format(body=body)}"


CASES: dict[str, dict[str, str]] = {
    "an import under a flag": {"net.py": _net(f"if {FLAG}: import m1")},
    "an import by name under a flag": {"net.py": _net(f"import importlib\nif {FLAG}: importlib.import_module('m1')")},
    "an import by name after `and`": {"net.py": _net(f"{FLAG} and __import__('m1')")},
    "an import by name": {"net.py": _net("__import__('m1')")},
    "an import in a loop": {"net.py": _net(f"for c in {FLAG}: import m1")},
    "an import in a function": {"net.py": _net(f"def f():\n    import m1\nif {FLAG}: f()")},
    "an import in a constructor": {"net.py": _net("", f"if {FLAG}: import m1\n        {READ}")},
    "an import once more": {"net.py": _net(f"if {FLAG}: import m1\nreg.N += 5\nimport m1")},
    "an import once more in a constructor": {
        "net.py": _net(f"if {FLAG}: import m1", f"reg.N += 5\n        import m1\n        {READ}")
    },
    "one of two imports, and the first once more": {
        "net.py": _net(f"if {FLAG}:\n    import m1\nelse:\n    import m2\nimport m1"),
        "m2.py": "import reg\nreg.R['m2'] = 4\nreg.N += 10\nimport m1\n",
    },
    "an order of two imports": {
        "net.py": _net(f"if {FLAG}:\n    import m1\nimport m2\nimport m1"),
        "m2.py": "import reg\nreg.R['m2'] = 4\n",
    },
    "a submodule": {
        "net.py": _net(f"import pkg\nif {FLAG}: import pkg.m", "if hasattr(pkg, 'm'): self.a = nn.ReLU()"),
        "pkg/__init__.py": "",
        "pkg/m.py": "W = 3\n",
    },
    "a class that a module defines": {
        "net.py": _net(
            f"if {FLAG}: from m3 import A\nelse: from m4 import A\nimport m3", "self.a = A()\n" + " " * 8 + READ
        ),
        "m3.py": "import m1\nfrom torch import nn\nclass A(nn.Module):\n    W = 2\n    def __init__(self):\n"
        "        super().__init__()\n        self.l = nn.Linear(self.W, 1)\n",
        "m4.py": "from m3 import A as B\nclass A(B):\n    W = B.W + 1\n",
    },
    "names that a statement has bound are seen by what it imports": {
        "net.py": "import reg\nW = 1\ntry:\n    W = 4\n    import m5\nexcept ValueError:\n    pass\n"
        + NET.format(body="self.n = nn.Linear(m5.V, W)"),
        "m5.py": "import net\nV = net.W\nnet.W += 1\n",
    },
    "raise under a flag": {
        "net.py": _net(
            "try:\n    import lib\n    W = 3\nexcept Exception:\n    W = 4",
            f"self.w = nn.ReLU() if W == 3 else nn.GELU()\n        {READ}",
        ),
        "lib.py": f"import reg\nreg.R['a'] = 1\nif {FLAG}: raise ValueError\nreg.R['b'] = 2\n",
    },
    "assert in a constructor": {
        "net.py": _net(
            "",
            f"try:\n            import lib\n            self.ok = nn.ReLU()\n        except AssertionError:\n            self.bad = nn.ReLU()\n        {READ}",
        ),
        "lib.py": f"import reg\nreg.R['a'] = 1\nassert not {FLAG}\nreg.R['b'] = 2\n",
    },
    "a conversion": {
        "net.py": _net("try:\n    from lib import W\nexcept ValueError:\n    W = 4", "self.n = nn.Linear(W, 1)"),
        "lib.py": f"W = 2\nint({FLAG})\nW = 3\n",
    },
    "what has raised is imported again": {
        "net.py": _net(
            "try:\n    import lib\nexcept ValueError:\n    reg.ok = True\ntry:\n    import lib\nexcept ValueError: pass"
        ),
        "reg.py": REG + "ok = False\n",
        "lib.py": f"import reg\nreg.N += 1\nif {FLAG} and not reg.ok: raise ValueError\nreg.R['b'] = 2\n",
    },
    "what has certainly raised is imported again": {
        "net.py": _net("try:\n    import lib\nexcept ValueError:\n    reg.ok = True\nimport lib"),
        "reg.py": REG + "ok = False\n",
        "lib.py": "import reg\nreg.N += 1\nif not reg.ok: raise ValueError\nreg.R['b'] = 2\n",
    },
    "a module in the midst of another raises": {
        "net.py": _net("try:\n    import m6\nexcept ValueError:\n    reg.R['no'] = 1\nimport lib"),
        "m6.py": "import reg\nreg.R['m6'] = 1\nimport lib\nreg.R['m6b'] = 1\nif int(lib.F): raise ValueError\n",
        "lib.py": f"import reg\nreg.N += 1\nF = {FLAG} or '0'\n",
    },
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_what_is_claimed(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], files: dict[str, str]
) -> None:
    assert not claims_of_project_that_fail({"reg.py": REG, "m1.py": M1, **files})
