"""A file that is cut says the same as the file that is parsed whole."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import modgraph
from modgraph.source.mangling import spell_private
from modgraph.source.outline import Outline, UncertainError
from modgraph.source.summaries import summarize

FILES = sorted(each for room in ("graph", "source") for each in Path(modgraph.__file__).parent.glob(f"{room}/*.py"))
LONG = "\n".join(f"x_{n} = {n}" for n in range(500))
DEFINED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def compared(text: str) -> int:
    """How many parts there are; each, and the summary, are what the whole tree has."""
    tree = ast.parse(text)
    spell_private(tree, text)
    outline, whole = Outline(text), summarize(tree)
    short = outline.summary()
    for name in whole.__slots__:
        assert getattr(short, name) == getattr(whole, name), name
    nodes = {each.name: each for each in tree.body if isinstance(each, DEFINED)}
    assert [part.name for part in outline.parts] == list(nodes)
    for part in outline.parts:
        one, other = (ast.dump(each, include_attributes=True) for each in (outline.node(part), nodes[part.name]))
        assert one == other
        assert outline.defined(part.name, is_class=part.is_class) is outline.node(part)
    return len(outline.parts)


def test_the_files_of_the_package_are_what_they_are_whole() -> None:
    n_parts = n_whole = 0
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        try:
            n_parts += compared(text)
        except UncertainError:
            n_whole += 1
    assert n_parts > 300
    assert n_whole < len(FILES) / 2


TEXTS = {
    "decorators": "@one\n@two(\n    3,\n)\n# why\nclass A(B[int], metaclass=M):\n    x = 1\n\n\n@three\nasync def f():\n    pass\n",
    "nested classes and forward": "class A(nn.Module):\n    class B(C):\n        def forward(self):\n            pass\n",
    "branches": "try:\n    import a\nexcept ImportError:\n    def g():\n        pass\n\n\ndef f():\n    pass\n",
    "heads over lines": "class A(\n    B,\n    C,  # one\n):\n    def f(\n        self,\n    ) -> int:\n        return 1\n\n\nx = A\n",
    "a class in a line": "class A: x = 1\nif x: pass\nclass B(A): pass\n",
    "private names": "class _A:\n    def f(self):\n        self.__x = __y\n\n\nclass B(_A):\n    __z = 1\n",
    "comments at the margin": "def f():\n    a = 1\n# not the end\n    return a\n\n\ndef g():\n    return 2\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_cut_is_what_it_is_whole(name: str) -> None:
    assert compared(f"{LONG}\n{TEXTS[name]}")


UNCERTAIN = {
    "a definition in a text": 'TEXT = """\ndef f():\n    pass\n"""\n',
    "a definition in a text of a function": 'def g():\n    """\nclass A:\n    """\n',
    "a definition in one of several texts": "def g():\n    '''\ndef f():\n    '''\n    return 1\n",
    "one name twice": "def f():\n    pass\n\n\ndef f():\n    return 1\n",
    "one name in a branch too": "if x:\n    def f():\n        pass\n\n\ndef f():\n    return 1\n",
    "no Python": "def f():\n    pass\n\n\nx = (\n",
    "a line that is gone on with": "def f():\n    return [\n1, 2]\n",
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_not_certain_is_parsed_whole(name: str) -> None:
    with pytest.raises(UncertainError):
        Outline(f"{LONG}\n{UNCERTAIN[name]}")
