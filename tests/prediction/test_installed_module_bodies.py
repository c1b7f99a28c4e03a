"""Names of an installed package, whose modules are not executed as a whole: what is claimed of one is what importing gives."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BODIES = {
    "a loop that fills two lists": """
        A = []
        B = [1]
        for each in (1, 2):
            A.append(each)
            B.append(each)
        B = B + [4]
        C = len(B)
        """,
    "a condition that counts and adds": """
        A = []
        N = 1
        if N:
            N += 1
            A.append(N)
        N = N + 5
        """,
    "an item taken out": "A = [1, 2, 3]\nN = A.pop()\nB = list(A)\n",
    "an iterator that is driven": "A = iter([5, 6])\nN = next(A)\nM = next(A)\n",
    "a default that is put in": 'A = {}\nB = A.setdefault("k", [])\nB.append(1)\nN = len(A)\n',
    "another name": "A = [1]\nB = A\nB.append(4)\nA.append(5)\n",
    "another name of an inner object": 'A = {"k": []}\nB = A["k"]\nB.append(3)\n',
    "an inner object made in one go": 'A = {}\nB = A["a"] = {}\nB["b"] = 1\n',
    "read before it is changed": "A = [1]\nA.append(2)\nN = len(A)\nB = list(A)\nA.append(5)\n",
    "an item read before it is changed": "A = [1]\nN = A[0]\nB = A[-1:]\nA[:1] = [7]\n",
    "changed in place before it is bound anew": "A = [4]\nA.insert(0, 3)\nB = list(A)\nA += [1]\nC = A\nA = [0]\n",
    "a function that adds": """
        A = [1]
        def add(value):
            A.append(value)
            return value
        N = add(9)
        M = add(8)
        add(7)
        L = len(A)
        """,
    "a function that binds anew": """
        A = [1]
        def make(value):
            global A
            A = [value]
            return value
        N = [make(each) for each in (1, 2)]
        """,
    "a comprehension beside a name that is asked for twice": "A = [i for i in range(3)]\nB = list(A)\nA[:1] = []\n",
    "another name whose statements add": """
        A = dict(a=1)
        B = dict(a=3, b=4)
        C = (A, B)
        for each in C:
            each.setdefault("z", each.get("a"))
        N = len(A)
        """,
    "names bound at once": "A = B = [1]\nN = len(A)\nB.append(2)\nM = len(A)\n",
}


def _claims(folder: Path, text: str, names: list[str]) -> dict[str, Any]:
    from modgraph.prediction.deep_stack import with_deep_stack
    from modgraph.prediction.entry import interpreter
    from modgraph.prediction.python.plain import plain

    (folder / "library.py").write_text(text, encoding="utf-8")
    machine = interpreter([str(folder), *sys.path])

    def found() -> dict[str, Any]:
        module = machine.resolve("library")
        return {name: plain(machine, machine.get_attribute(module, name)) for name in names}

    return with_deep_stack(found)


@pytest.mark.parametrize("order", [sorted, lambda names: sorted(names, reverse=True)], ids=["forwards", "backwards"])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BODIES.items()])
def test_what_is_claimed_is_what_importing_gives(
    body: str, order: Callable[[list[str]], list[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = textwrap.dedent(body)
    real: dict[str, Any] = {"__name__": "library"}
    exec(compile(text, "library.py", "exec", dont_inherit=True), real)
    names = order([name for name in real if name.isupper()])
    claims = _claims(folder, text, names)
    told = {name: claim[0] for name, claim in claims.items() if claim is not None}
    assert told == {name: real[name] for name in told}


def test_what_one_other_name_changes_below_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = (
        'A = dict(a=1)\nB = (A,)\nfor each in B:\n    each.setdefault("z", 2)\nF = False\nC = dict(f=F)\nC["g"] = 1\n'
    )
    assert _claims(folder, text, ["A", "F", "C"]) == {
        "A": ({"a": 1, "z": 2},),
        "F": (False,),
        "C": ({"f": False, "g": 1},),
    }


def test_what_only_reads_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = (
        "A = [1]\nA.append(2)\nN = len(A)\nA.append(5)\nB = {}\nfor each in A:\n    B[each] = N\nC = [i for i in A]\n"
    )
    claims = _claims(folder, text, ["N", "A", "B", "C"])
    assert claims == {"N": (2,), "A": ([1, 2, 5],), "B": ({1: 2, 2: 2, 5: 2},), "C": ([1, 2, 5],)}
