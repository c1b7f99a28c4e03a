"""`id(x)`: it tells objects apart, and is another number in every process."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph

HEAD = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b = [1], (1, 2)
        self.kept = {id(a): nn.ReLU(), id(b): nn.Tanh()}
"""
KNOWN = [
    "id(a) == id(a)",
    "id(a) != id(b)",
    "id(a) in {id(a), 3}",
    "id(a) in self.kept",
    "id([2]) not in self.kept",
    "bool(id(a))",
    "isinstance(id(a), int)",
]
OPEN = [
    "id(a) % 7 == 3",
    "id(a) < id(b)",
    "sorted([id(a), id(b)])[0] == id(a)",
    "max(id(a), id(b)) == id(b)",
    "str(id(a)) == '139'",
    "f'{id(a)}'.startswith('1')",
    "'%d' % id(a) == '3'",
    "hex(id(a)) == '0x7f'",
    "repr(id(b)).endswith('0')",
    "-id(a) == 3",
    "~id(a) > 3",
    "(id(a) >> 4) & 1",
    "int(id(a)) + 1 == 3",
    "divmod(id(a), 16)[1] == 0",
    "round(id(a)) == 3",
    "float(id(a)) == 3.0",
    "sum([id(a)]) == 3",
    "len(range(id(a))) == 3",
    "hash(id(a)) == 3",
    "[1, 2, 3][id(a) % 3] == 1",
    "(id(a), 1) < (id(b), 2)",
    "id(a).bit_length() == 3",
    "id(a.append) == id(a.clear)",
    "id(self.float) == id(self.half)",
]


def taken(tmp_path: Path, text: str) -> set[str]:
    file = tmp_path / "net.py"
    body = f"        if {text}:\n            self.yes = nn.ReLU()\n        else:\n            self.no = nn.ReLU()\n"
    file.write_text(HEAD.lstrip() + body)
    graph = modgraph.predict(f"{file}:Net")
    return {node.path for node in graph.modules if node.path in ("yes", "no") and node.class_name and node.certain}


@pytest.mark.parametrize("text", KNOWN)
def test_what_holds_in_every_process_is_known(tmp_path: Path, text: str) -> None:
    a, b = [1], (1, 2)

    class Self:
        kept = {id(a): 1, id(b): 2}  # noqa: RUF012

    real = eval(text, {"a": a, "b": b, "self": Self})
    assert taken(tmp_path, text) == {"yes" if real else "no"}


@pytest.mark.parametrize("text", OPEN)
def test_the_number_itself_is_not(tmp_path: Path, text: str) -> None:
    assert taken(tmp_path, text) == set()


def test_a_name_that_is_made_of_it_is_no_name(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(HEAD.lstrip() + "        self.add_module(f'part{id(a)}', nn.ReLU())\n")
    graph = modgraph.predict(f"{file}:Net")
    assert [node.path for node in graph.modules if node.class_name and "part" in node.path] == []
    assert not graph.complete


OF_SETS = [
    ("for k in {id(a)}: n += 1", {2}),
    ("for k in {id(a), id(c)}: n += 1", {3}),
    ("seen = set(); seen.add(id(a)); seen.add(id(a)); n += len(seen)", {2}),
    ("n += len(set(map(id, [a, c, a])))", {3}),
    ("n += id(a).real % 2", {1, 2}),
    ("n += id(a).numerator % 3", {1, 2, 3}),
    ("for k in {id(a), id(c)}: last = k\n        n += last in (id(a), id(c))", {2}),
    ("n += sorted([a, c], key=id)[0] is a", {1, 2}),
]


@pytest.mark.parametrize(("text", "real"), OF_SETS)
def test_what_is_done_with_sets_of_them_is_true_or_not_known(tmp_path: Path, text: str, real: set[int]) -> None:
    file = tmp_path / "net.py"
    lines = "        c, n = [2], 1\n" + "".join(f"        {each}\n" for each in text.split("\n        "))
    file.write_text(HEAD.lstrip() + lines + "        self.fc = nn.Linear(1, n)\n")
    graph = modgraph.predict(f"{file}:Net")
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    shapes = {held.shape for node in graph.modules if node.path == "fc" for held in node.parameters}
    claimed = {shape[0] for shape in shapes if shape and shape[0] is not None}
    assert not claimed or claimed == real, graph.problems
