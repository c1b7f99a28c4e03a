"""`cls.__subclasses__()`: told where all derived classes stand in one file, and else not known."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph


@pytest.mark.needs_torch
def test_they_are_told_in_their_order_and_by_generation(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Backend:
            name = "none"

        class First(Backend):
            name = "abc"

        class Second(Backend):
            name = "de"

        class OfFirst(First):
            name = "fghij"

        class Other:
            pass

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                pending, found = Backend.__subclasses__(), []
                while pending:
                    kind = pending.pop()
                    pending += kind.__subclasses__()
                    found.append(kind)
                for number, kind in enumerate(found):
                    self.add_module(kind.__name__, nn.Linear(number + 1, len(kind.name)))
                self.none = nn.Linear(1 + len(Other.__subclasses__()), 1)
        """
    )


_ELSEWHERE = {
    "in a function": "def make():\n    class Third(Backend):\n        pass\n    return Third\nmake()\n",
    "under a test": "import os\nif os.environ.get('A'):\n    class Third(Backend):\n        pass\n",
    "made by a call": "Third = type('Third', (Backend,), {})\n",
    "of another name": "Same = Backend\nclass Third(Same):\n    pass\n",
    "below a class": "class Holder:\n    class Third(Backend):\n        pass\n",
}


@pytest.mark.parametrize("text", _ELSEWHERE.values(), ids=_ELSEWHERE)
def test_one_that_is_not_at_the_top_of_the_file(predict_source: Callable[..., Graph], text: str) -> None:
    graph = predict_source(
        "class Backend:\n    pass\nclass First(Backend):\n    pass\n"
        + text
        + textwrap.dedent(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.a = nn.Linear(len(Backend.__subclasses__()), 1)
            """
        )
    )
    assert graph.modules[1].parameters[0].shape == (1, None)


FILES = {
    "pack/__init__.py": "",
    "pack/base.py": "class Backend:\n    pass\nclass First(Backend):\n    pass\n",
    "net.py": (
        "from torch import nn\nfrom pack.base import Backend\n{then}\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(len(Backend.__subclasses__()), 1)\n"
    ),
}


@pytest.mark.parametrize(
    ("then", "more", "known"),
    [
        ("", {}, True),
        ("", {"pack/tests.py": "from pack.base import Backend\nprint(Backend.__subclasses__())\n"}, True),
        (
            "",
            {"pack/far/__init__.py": "", "pack/far/third.py": "from ..base import Backend as B\nclass C(B): pass\n"},
            False,
        ),
        ("import plugin", {"plugin.py": "import pack.base\nclass Third(pack.base.Backend):\n    pass\n"}, False),
        (
            "import one",
            {"one.py": "import two\n", "two.py": "from pack.base import *\nclass Third(Backend): pass\n"},
            False,
        ),
        ("class Third(Backend):\n    pass\n", {}, False),
        ("import one", {"one.py": "from pack.base import Backend\nSame = Backend\nclass C(Same): pass\n"}, False),
        ("import one", {"one.py": "from pack.base import Backend\nALL = {1: Backend}\nclass C(ALL[1]): pass\n"}, False),
        (
            "import one",
            {
                "one.py": "from pack.base import Backend as B\nimport two\n",
                "two.py": "import one\nclass C(one.B): pass\n",
            },
            False,
        ),
        (
            "import two",
            {
                "one.py": "import pack.base\nKind = pack.base.Backend\n",
                "two.py": "from one import Kind\nclass C(Kind): pass\n",
            },
            False,
        ),
        (
            "import one",
            {"one.py": "def f():\n    from pack.base import Backend as B\n    class C(B): pass\nf()\n"},
            False,
        ),
        ("import one", {"one.py": "class Backend: pass\nclass C(Backend): pass\n"}, True),
        (
            "import one",
            {
                "one.py": "import two\nfrom pack.base import Backend\ndef f():\n    layer = Backend()\n    return layer\n",
                "two.py": "import one\ndef g(layer):\n    return type(one if layer else two)\n",
            },
            True,
        ),
        (
            "import two",
            {
                "one.py": "from pack.base import Backend\nclass Holder:\n    Kind = Backend\n",
                "two.py": "from one import Holder\nclass C(Holder.Kind): pass\n",
            },
            False,
        ),
        (
            "import three",
            {
                "one.py": "import pack.base as base\n(Kind) = base.Backend\n",
                "two.py": "from one import *\n",
                "three.py": "from two import *\nclass C(Kind): pass\n",
            },
            False,
        ),
        (
            "import two",
            {
                "one.py": "def f():\n    global Kind\n    from pack.base import Backend as Kind\nf()\n",
                "two.py": "import one\nclass C(one.Kind): pass\n",
            },
            False,
        ),
    ],
)
def test_one_in_another_file(
    tmp_path: Path, then: str, more: dict[str, str], known: bool, run_code: Callable[..., Any]
) -> None:
    for name, text in {**FILES, "net.py": FILES["net.py"].replace("{then}", then), **more}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path}/net.py:Net", path=[str(tmp_path)])
    assert graph.modules[1].parameters[0].shape == (1, 1 if known else None)
    if known:
        command = "import sys, net; sys.stdout.write(str(net.Net().a.in_features))"
        run = run_code(command, cwd=tmp_path, capture_output=True, text=True)
        assert run.stdout == "1", run.stderr
