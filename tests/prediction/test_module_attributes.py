"""A module's own `__getattr__`, and names of Python's that a module may bind to something else; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.prediction.projects import net_text

pytestmark = pytest.mark.needs_torch

COUNTED = "n = 0\ndef __getattr__(name):\n    global n\n    n += 1\n    {0}return n\n"
NOT_SPECIAL = "if name.startswith('__'): raise AttributeError(name)\n    "
READ = "self.b = nn.Linear(lib.n + 1, a)"
PROGRAM = "W = 3\n{0}:\n    W = 5"
WIDTH = "self.a = nn.Linear(2, W)"


def _net(head: str, body: str = READ) -> dict[str, str]:
    return {"net.py": net_text(head, body)}


GETTERS = {
    "one that gives all": {**_net("from lib import a\nimport lib"), "lib.py": COUNTED.format("")},
    "one that refuses": {**_net("from lib import a\nimport lib"), "lib.py": COUNTED.format(NOT_SPECIAL)},
    "one that counts before": {
        **_net("import lib\nfrom lib import a\nfrom lib import b", "self.b = nn.Linear(lib.c, lib.n)\n        " + READ),
        "lib.py": "n = 0\ndef __getattr__(name):\n    global n\n    n += 1\n    if name == 'bad': raise AttributeError\n"
        "    return n\n",
    },
    "of a package": {**_net("from lib import a\nimport lib"), "lib/__init__.py": COUNTED.format(NOT_SPECIAL)},
    "in a constructor": {
        **_net("import lib", f"from lib import a\n        {READ}"),
        "lib.py": COUNTED.format(NOT_SPECIAL),
    },
    "that appends": {
        **_net("from lib import a\nfrom lib import b as c, R", "self.a = nn.Linear(len(R) + 1, c)"),
        "lib.py": "R = []\ndef __getattr__(name):\n    if name.startswith('__'): raise AttributeError\n"
        "    R.append(name)\n    return 4\n",
    },
}
REBOUND = {
    "TYPE_CHECKING of typing": _net("from typing import TYPE_CHECKING\n" + PROGRAM.format("if TYPE_CHECKING"), WIDTH),
    "TYPE_CHECKING of typing, dotted": _net("import typing as t\n" + PROGRAM.format("if t.TYPE_CHECKING"), WIDTH),
    "TYPE_CHECKING of the project": {
        **_net("from cfg import TYPE_CHECKING\n" + PROGRAM.format("if TYPE_CHECKING"), WIDTH),
        "cfg.py": "TYPE_CHECKING = True\n",
    },
    "TYPE_CHECKING of the project, dotted": {
        **_net("import cfg\n" + PROGRAM.format("if cfg.TYPE_CHECKING"), WIDTH),
        "cfg.py": "TYPE_CHECKING = True\n",
    },
    "TYPE_CHECKING of a star import": {
        **_net("from cfg import *\n" + PROGRAM.format("if TYPE_CHECKING"), WIDTH),
        "cfg.py": "TYPE_CHECKING = True\n",
    },
    "TYPE_CHECKING of a class": _net("class t: TYPE_CHECKING = True\n" + PROGRAM.format("if t.TYPE_CHECKING"), WIDTH),
    "__name__": _net(
        "__name__ = '__main__'\n" + PROGRAM.format("if __name__ == '__main__'") + "\n__name__ = 'net'", WIDTH
    ),
    "__name__ in globals": _net(
        "globals()['__name__'] = '__main__'\n" + PROGRAM.format("if __name__ == '__main__'") + "\n__name__ = 'net'",
        WIDTH,
    ),
}
CASES = {**GETTERS, **REBOUND}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_what_is_claimed(
    claims_of_project_that_fail: Callable[[dict[str, str]], list[Any]], files: dict[str, str]
) -> None:
    assert not claims_of_project_that_fail(files)
