"""Projects of several files, one of which reads a text that nobody can tell: what is claimed of their `Net`, held against
what torch builds with each text.

Tests have it as the fixture `claims_of_project_that_fail` (conftest.py).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import parse_target

contradictions = runpy.run_path(str(Path(__file__).with_name("undecided.py")))["contradictions"]

_NET = """
from torch import nn
{head}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sure = nn.Linear(1, 1)
        {body}
"""


def net_text(head: str, body: str) -> str:
    """The text of a module with a `Net`: what stands before the class, and the end of its constructor."""
    return _NET.format(head=head, body=body)


TEXTS = ("", "1", "b")
"""What the file `x` holds, in turn: files that read it do not know."""


def claims_that_fail(folder: Path, files: Mapping[str, str], target: str = "net.py") -> list[tuple[Any, ...]]:
    """What the prediction claims with certainty of `Net`, and torch contradicts with one of the texts.

    Raises:
        AssertionError: `Net` is built with none of them.
    """
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return refuted(folder, predict_graph(parse_target(f"{folder / target}:Net")), target.removesuffix(".py"))


def refuted(folder: Path, graph: Graph, module: str) -> list[tuple[Any, ...]]:
    """What the graph claims, and torch contradicts with one of the texts."""
    failed: list[tuple[Any, ...]] = []
    built = 0
    for text in TEXTS:
        (folder / "x").write_text(text)
        with _imported_from(folder):
            try:
                model = importlib.import_module(module).Net()
            except Exception:
                continue
            built += 1
            failed.extend((text, *each) for each in contradictions(graph, model))
    assert built, "it is built with no text"
    return failed


@contextlib.contextmanager
def _imported_from(folder: Path) -> Iterator[None]:
    """Modules are imported from the folder, and are forgotten afterwards."""
    before, path, where, writes = dict(sys.modules), list(sys.path), Path.cwd(), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(where)
        sys.path[:], sys.dont_write_bytecode = path, writes
        sys.path_importer_cache.clear()
        for name in [each for each in sys.modules if each not in before]:
            if str(getattr(sys.modules[name], "__file__", None) or folder).startswith(str(folder)):
                del sys.modules[name]
