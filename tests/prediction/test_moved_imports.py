"""Projects that change where imports lead, or what a module is; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.prediction.projects import net_text

pytestmark = pytest.mark.needs_torch

M = "import reg\nreg.N += 1\nV = reg.N\n"
READ = "self.a = nn.Linear(V, 1)"
HERE = "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sub')"
TRY = "try:\n    from {0} import V\nexcept ImportError:\n    V = 9"


def _net(head: str, body: str = READ) -> dict[str, str]:
    own = f"self.n = nn.Linear(reg.N, 1)\n        {body}"
    return {"net.py": net_text(f"import reg, sys, os, importlib\n{head}", own)}


OTHER = {"sub/m.py": "V = 4\n"}
CASES: dict[str, dict[str, str]] = {
    "sys.path.insert": {**_net(f"sys.path.insert(0, {HERE})\nfrom m import V"), **OTHER},
    "sys.path.insert under a flag": {
        **_net(f"if open('x').read(): sys.path.insert(0, {HERE})\nimport m", "self.a = nn.Linear(m.V, 1)"),
        **OTHER,
    },
    "sys.path is replaced": {**_net(f"sys.path = [{HERE}, *sys.path]\nfrom m import V"), **OTHER},
    "what is only there": {**_net(f"sys.path.append({HERE})\n{TRY.format('mm')}"), "sub/mm.py": "V = 4\n"},
    "what is there too, and found later": {**_net(f"sys.path.append({HERE})\nfrom m import V"), **OTHER},
    "__path__": {
        **_net("from p.m import V"),
        "p/__init__.py": "import os\n__path__.insert(0, os.path.join(os.path.dirname(__file__), 'alt'))\n",
        "p/m.py": "V = 1\n",
        "p/alt/m.py": "V = 4\n",
    },
    "reload": _net("import m\nfrom m import V\nimportlib.reload(m)", f"{READ}\n        self.b = nn.Linear(m.V, 1)"),
    "reload in a constructor": _net("import m", "importlib.reload(m)\n        self.b = nn.Linear(m.V, reg.N)"),
    "del sys.modules": _net("import m\ndel sys.modules['m']\nimport m", "self.b = nn.Linear(m.V, 1)"),
    "sys.modules.pop": _net("import m\nsys.modules.pop('m')\nfrom m import V"),
    "None in sys.modules": _net(f"sys.modules['m'] = None\n{TRY.format('m')}"),
    "another in sys.modules": {**_net("import m2\nsys.modules['m'] = m2\nfrom m import V"), "m2.py": "V = 7\n"},
    "itself, by its name": {
        **_net("import m", "self.b = nn.Linear(m.V, 1)"),
        "m.py": "import sys\nclass O: V = 4\nV = 1\nsys.modules['m'] = O()\n",
    },
    "itself, in a function": {
        **_net("import m", "self.b = nn.Linear(m.V, 1)"),
        "m.py": "import sys\nclass O: V = 4\nV = 1\ndef f():\n    sys.modules[__name__] = O()\nf()\n",
    },
    "its class": {
        **_net("import m", "self.b = nn.Linear(m.V, m.Q)"),
        "m.py": """
            import sys, types
            V = 1
            class M(types.ModuleType):
                @property
                def V(self): return 6
                def __getattr__(self, name): return 7
            sys.modules[__name__].__class__ = M
        """,
    },
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_what_is_claimed(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], files: dict[str, str]
) -> None:
    assert not claims_of_project_that_fail({"reg.py": "N = 1\n", "m.py": M, **files})


def test_a_path_that_leads_to_no_other_module_leaves_all_known(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], predict_source: Callable[..., Any]
) -> None:
    text = "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport m\n"
    text += _net("", "self.b = nn.Linear(m.V, 1)")["net.py"]
    assert not claims_of_project_that_fail({"reg.py": "N = 1\n", "m.py": M, "net.py": text, "sub/other.py": ""})
    assert predict_source(text).complete
