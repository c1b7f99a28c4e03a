"""What one parser takes and the other does not is unknown at its place, and ends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.source import lowering

BARE_EXCEPT_FIRST = """
from torch import nn

def helper():
    try:
        return 1
    except:
        return 2
    except ValueError:
        return 3

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(helper(), 2)
"""


def predicted(tmp_path: Path, text: str) -> modgraph.Graph:
    file = tmp_path / "model.py"
    file.write_text(text, "utf-8")
    return modgraph.predict(f"{file}:Net")


def shapes(graph: modgraph.Graph) -> dict[str, object]:
    return {module.path: module.parameters[0].shape for module in graph.modules if module.parameters}


def test_what_ast_accepts_and_libcst_refuses_is_unknown_where_it_is_used(tmp_path: Path):
    graph = predicted(tmp_path, BARE_EXCEPT_FIRST)
    assert shapes(graph) == {"a": (2, 2), "b": (2, None)}
    assert [problem.module for problem in graph.problems] == ["b"]


class PanicException(BaseException):
    """As the native parser's own is named and derived."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds"), MemoryError(), RecursionError()])
def test_a_parser_that_fails_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException):
    whole = lowering.cst.parse_module

    def parse(text: str) -> object:
        if "def helper" in text:
            raise error
        return whole(text)

    monkeypatch.setattr(lowering.cst, "parse_module", parse)
    graph = predicted(tmp_path, BARE_EXCEPT_FIRST.replace("    except:\n        return 2\n", ""))
    assert shapes(graph)["a"] == (2, 2)
    assert not graph.complete


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(0)])
def test_what_ends_the_process_is_not_taken_for_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    def parse(text: str) -> object:
        raise error

    monkeypatch.setattr(lowering.cst, "parse_module", parse)
    with pytest.raises(type(error)):
        predicted(tmp_path, BARE_EXCEPT_FIRST)
