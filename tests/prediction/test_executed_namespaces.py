"""What star imports, vars() and dir() show of modules that are executed: what they hold by then, whatever their text says;
torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.prediction.projects import net_text

pytestmark = pytest.mark.needs_torch

FLAG = "open('x').read()"
B = "W = 6\nV = 7\n_X = 8\ndef _mk(): return 4\n"


def _net(head: str, body: str) -> str:
    return net_text(head, body)


BEFORE = "V = 1\n_X = 2\ndef _mk(): return 3\n"
STAR = _net(f"{BEFORE}from b import *", "self.a = nn.Linear(V, W)\n        self.b = nn.Linear(_mk(), _X)")
LISTED = {
    "remove": "__all__ = ['W', 'V']\n__all__.remove('V')",
    "append": "__all__ = ['W']\n__all__.append('_X')",
    "a comprehension": "__all__ = ['W', *[n for n in ('V', 'U') if n == 'V']]",
    "a comprehension over dir": "__all__ = [n for n in dir() if n == 'W']",
    "an if": "if len('abc') == 3: __all__ = ['W']\nelse: __all__ = ['W', 'V']",
    "an if under a flag": f"__all__ = ['W']\nif {FLAG}: __all__ += ['V']",
    "one of two under a flag": f"__all__ = ['W', 'V'] if {FLAG} else ['W']",
    "one of two tuples under a flag": f"if {FLAG}: __all__ = ('W', '_X')\nelse: __all__ = ('W',)",
    "a decorator": "__all__ = ['W']\ndef export(f):\n    __all__.append(f.__name__)\n    return f\n@export\ndef _mk(): return 5",
    "sorted": "__all__ = sorted({'W', '_mk'})",
    "a list of another": "import c\nfrom c import *\n__all__ = ['W']\n__all__ += c.__all__",
    "extend": "__all__ = ['W']\n__all__.extend(['_X', '_mk'])",
    "a name that only __getattr__ has": "del V\n__all__ = ['W', 'V']\ndef __getattr__(n):\n    if n == 'V': return 9\n    raise AttributeError(n)",
    "nothing": "",
}
CASES = {
    **{f"__all__: {name}": {"net.py": STAR, "b.py": f"{B}{text}\n"} for name, text in LISTED.items()},
    "__all__: changed from outside": {
        "net.py": _net(f"{BEFORE}import d\nfrom b import *", "self.a = nn.Linear(V, W)"),
        "b.py": f"{B}__all__ = ['W']\n",
        "d.py": "import b\nb.__all__.append('V')\n",
    },
    "__all__: set from outside": {
        "net.py": _net(f"{BEFORE}import d\nfrom b import *", "self.a = nn.Linear(V, W)"),
        "b.py": f"{B}__all__ = ['W']\n",
        "d.py": "import b\nb.__all__ = ['W', 'V']\n",
    },
    "__all__: changed later": {
        "net.py": _net(f"{BEFORE}from b import *\nimport b\nb.__all__.append('V')", "self.a = nn.Linear(V, W)"),
        "b.py": f"{B}__all__ = ['W']\n",
    },
    "__all__: bound again afterwards": {
        "net.py": _net(f"{BEFORE}from b import *\nV = 3", "self.a = nn.Linear(V, W)"),
        "b.py": f"{B}__all__ = ['W', 'V']\n__all__.append('_X')\n",
    },
    "__all__: a submodule": {
        "net.py": _net("from b import *", "self.a = nn.Linear(m.V, b_reg)\n").replace(
            "class Net", "from b import reg as b_reg\nclass Net"
        ),
        "b/__init__.py": "reg = 3\n__all__ = ['m']\n",
        "b/m.py": "import b\nb.reg += 1\nV = 2\n",
    },
    "a cycle": {
        "net.py": _net("import e\ndef late(): return 3\nfrom e import early", "self.a = nn.Linear(early, e.W)"),
        "e.py": "import net, sys\nW = 5 if 'late' in vars(net) else 6\nearly = 5 if 'late' in dir(sys.modules['net']) else 6\n",
    },
    "a cycle, later": {
        "net.py": _net("def late(): return 3\nimport e", "self.a = nn.Linear(e.W, 1)"),
        "e.py": "import net\nW = 5 if 'late' in vars(net) and 'Net' not in dir(net) else 6\n",
    },
    "a name that was deleted": {
        "net.py": _net("import b", "self.a = nn.Linear(2 if 'V' in dir(b) else 3, 2 if 'V' in vars(b) else 3)"),
        "b.py": f"{B}del V\n",
    },
    "a name that was not bound": {
        "net.py": _net("import b", "self.a = nn.Linear(2 if 'U' in dir(b) else 3, 2 if 'U' in vars(b) else 3)"),
        "b.py": f"{B}if not V: U = 2\n",
    },
    "a name that is bound on some paths": {
        "net.py": _net("import b", "self.a = nn.Linear(2 if 'U' in dir(b) else 3, 2 if 'U' in vars(b) else 3)"),
        "b.py": f"{B}if {FLAG}: U = 2\n",
    },
    "a name from outside": {
        "net.py": _net(
            "import b\nb.U = 4", "self.a = nn.Linear(2 if 'U' in dir(b) else 3, 2 if 'U' in vars(b) else 3)"
        ),
        "b.py": B,
    },
    "a name of a star import": {
        "net.py": _net("import b", "self.a = nn.Linear(2 if 'Y' in dir(b) else 3, 2 if 'Y' in vars(b) else 3)"),
        "b.py": f"{B}from c import *\n",
    },
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_what_is_claimed(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], files: dict[str, str]
) -> None:
    assert not claims_of_project_that_fail({"c.py": "__all__ = ['V', 'Y']\nV, Y = 8, 9\n", **files})
