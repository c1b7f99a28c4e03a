"""Patterns that are searched in whole texts of others take time in proportion to them, whatever is repeated there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from modgraph.doors import data
from modgraph.prediction.entry import predict_target  # which imports the parts in their order

from modgraph.prediction.code import import_order, namespaces, patched_names  # isort: skip
from modgraph.prediction.project import lookups, module_effects, mutation_summaries, namespace_stores  # isort: skip
from modgraph.prediction.python import naming_hooks  # isort: skip
from modgraph.rules import check, names
from modgraph.source import mangling, modules, nesting, parsed, refusing_text, tree_roots
from modgraph.source.modules import SourceModule

assert predict_target
SIZE = 60_000
SECONDS = 12
"""Of the processor: a text of that size takes milliseconds, and minutes where each place looks at the whole rest."""
SEARCHED_WHOLE = [
    data._DOTTED,
    import_order._IMPORT,
    import_order._BY_NAME,
    import_order._COMPUTED,
    import_order._OUTERMOST,
    import_order._LAZY,
    namespaces._REPLACES_ITSELF,
    namespaces._BINDERS,
    namespaces._DIRECT_BINDERS,
    patched_names._STORED,
    patched_names._QUOTED,
    lookups._STORED,
    module_effects._ATTRIBUTE_SET,
    mutation_summaries._HINTS,
    namespace_stores._MAY_STORE,
    naming_hooks._CALLED,
    check._CLASS,
    check._TORCH,
    names._DEFINED,
    names._NEXT,
    names._CONTAINER,
    names._MEMBER,
    mangling._PRIVATE,
    modules._WORD,
    modules._GLOBAL,
    modules._DEFINED,
    modules._BINDS_UNWRITTEN,
    nesting._TRIED,
    parsed._INDENTED_BY_FORM_FEED,
    refusing_text._TOKEN,
    refusing_text._IMPORT,
    tree_roots._MODEL_CLASS,
]
REPEATED = [
    *("import ", "from a import (", "from a import b \\\n", "patch ", "setattr('", "sys.modules[", "global ", "T["),
    *("a", "a.", "a(", ".a:", ". a ", "a = ", "a=[", "def a", "class A(", "\nclass A[", "__a", "_", "import_module("),
    *(" ", "\n", "\t", "\\\n", "(", "[", "'", "'a'.", "]", "#", "=", "return ", "@a.", "if ", "global \\\n"),
]


def _searched(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    if isinstance(pattern.pattern, bytes):
        return lambda text: sum(1 for _ in pattern.finditer(text.encode()))
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _lookup() -> Callable[[str], object]:
    wanted = lookups.Wanted.__new__(lookups.Wanted)
    wanted._writes = lookups._writes_to("T")
    return wanted.writes


READERS: dict[str, Callable[[str], object]] = {
    **{f"{pattern.pattern!r:.60}": _searched(pattern) for pattern in SEARCHED_WHOLE},
    "names that are patched": patched_names.in_text,
    "what is stored in a container": _lookup(),
    "imports": import_order._read_text,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_reading_a_text_takes_time_in_proportion(reader: Callable[[str], object]) -> None:
    began = time.process_time()
    for one in REPEATED:
        for before, after in (("", ""), ("\nT(a.b", "__")):
            reader(f"{before}{one * (SIZE // len(one))}{after}")
            assert time.process_time() - began < SECONDS, one


OLD = r"(?<!self)\.{0}\s*(?:=(?!=)|:[^=\n]+=)|setattr\([^\n]*['\"]{0}['\"]|patch[^\n]*\b{0}\b"


@pytest.mark.parametrize(
    "text",
    [
        "nn.ReLU = Mine\n",
        "nn.ReLU == Mine\n",
        "self.ReLU = Mine\n",
        "nn.ReLU\n",
        "nn.ReLU: type = Mine\n",
        "nn.ReLU: type\nx = 1\n",
        "nn.ReLU:= 1\n",
        "f(a.x: b, nn.ReLU: c = d)\n",
        "if nn.ReLU: x == 1\n",
        "setattr(nn, 'ReLU', Mine)\n",
        "setattr(nn, 'a'ReLU'b', Mine)\n",
        "setattr(nn,\n'ReLU', Mine)\n",
        "setattr(setattr, ReLU)\n",
        'with mock.patch("torch.nn.ReLU"):\n    pass\n',
        "patch(\n'ReLU')\n",
        "dispatch(a); b(ReLU)",
    ],
)
def test_names_that_are_patched_are_those_of_the_pattern(text: str) -> None:
    assert ("ReLU" in patched_names.in_text(text)) is (re.search(OLD.format("ReLU"), text) is not None)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("T[a] = 1", True),
        ("T [a][b]\n = 1", True),
        ("T[a] == 1", False),
        ("T[a\n] = 1", False),
        ("T[x]; U[y] = 1", True),
        ("U[y] = 1; T[x]", False),
        ("T.update(a)", True),
        ("T.get(a)", False),
        ("T[T[T[", False),
        ("T[a]\nU[b] = 1\nT[c] = 1", True),
    ],
)
def test_what_is_stored_in_a_container_stands_on_one_line(text: str, stored: bool) -> None:
    wanted = SimpleNamespace(_writes=lookups._writes_to("T"))
    assert lookups.Wanted.writes(wanted, text) is stored  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "private"),
    [("__a", True), ("__a__", False), ("___", False), ("____a_", True), ("x__a", False), ("__1", True), ("__", False)],
)
def test_private_names(text: str, private: bool) -> None:
    assert mangling.has_private(text) is private


def test_names_behind_def(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def a(x): pass\nasync def b (x): pass\nclass C:\n    def c(self): pass\n")
    source = SourceModule("m", tmp_path / "m.py", "m.py", False)
    assert source.facts.defined == {"a", "c"}
