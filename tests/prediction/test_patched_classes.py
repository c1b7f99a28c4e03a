"""Attributes that a project sets on torch's own classes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from torch import nn

from modgraph.prediction import predict_graph
from modgraph.source.targets import parse_target

HEAD = """
import torch
from torch import nn


def helper(self):
    self.z = nn.Linear(4, 4)


"""
NET = """
class Net(nn.Module):
    def __init__(self{more}):
        super().__init__()
{body}
"""
FOLLOWED = {
    "a method that was not there": """
        if not hasattr(torch.nn.Module, "extra"):
            setattr(torch.nn.Module, "extra", helper)
        getattr(self, "extra")()
        self.b = nn.Linear(3, 3)
    """,
    "it is there for others too": """
        nn.Module.extra = helper
        self.b = nn.Linear(3, 3)
        self.b.extra()
    """,
    "a property, that goes again": """
        nn.Module.extra = property(lambda self: self.in_features)
        self.b = nn.Linear(3, 3)
        self.c = nn.Linear(self.b.extra, 2)
        del nn.Module.extra
        self.d = nn.Linear(2 if hasattr(self.b, "extra") else 1, 1)
    """,
    "a constructor": """
        before = nn.ReLU.__init__
        def init(self):
            before(self)
            self.a = nn.Linear(1, 1)
        nn.ReLU.__init__ = init
        self.b = nn.ReLU()
        nn.ReLU.__init__ = before
    """,
}


def predicted(tmp_path: Path, body: str, more: str = ""):
    text = HEAD + NET.format(more=more, body=textwrap.indent(textwrap.dedent(body), " " * 8))
    (tmp_path / "model.py").write_text(text)
    return text, predict_graph(parse_target(f"{tmp_path / 'model.py'}:Net"))


@pytest.mark.parametrize("body", FOLLOWED.values(), ids=FOLLOWED.keys())
def test_what_is_set_on_a_class_of_torch_is_found(tmp_path: Path, body: str) -> None:
    text, graph = predicted(tmp_path, body)
    names: dict[str, type[nn.Module]] = {}
    try:
        exec(text, names)
        real = names["Net"]()
    finally:
        if "extra" in vars(nn.Module):
            del nn.Module.extra
    assert [(module.path, module.class_name.rpartition(".")[2]) for module in graph.modules if module.path] == [
        (path, type(module).__name__) for path, module in real.named_modules() if path
    ]
    assert graph.complete


@pytest.mark.parametrize(
    ("more", "body"),
    [
        (", flag", "if flag:\n    nn.Module.extra = helper\nif hasattr(self, 'extra'):\n    self.extra()\n"),
        (", name", "setattr(nn.Module, name, helper)\nself.extra()\n"),
        ("", "torch.Tensor.__len__ = lambda self: 3\n"),
    ],
)
def test_what_may_be_set_is_not_known(tmp_path: Path, more: str, body: str) -> None:
    _, graph = predicted(tmp_path, body, more)
    assert not graph.complete
    assert not any("raises" in problem.message for problem in graph.problems)


def test_a_builtin_class_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot set 'extra' attribute of immutable type 'dict'"):
        dict.extra = 3  # type: ignore[attr-defined]
    _, graph = predicted(tmp_path, "dict.extra = 3")
    assert any("cannot set 'extra' attribute of immutable type 'dict'" in each.message for each in graph.problems)
