"""Copies of objects: what their classes say themselves about it, and what a copy shares with its original."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

HEAD = "import copy\n"


def net(*lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}"


OWN = """
class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(1, 2)
    def __deepcopy__(self, memo): return nn.ReLU()
class Again(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.l = n, nn.Linear(n, 2)
    def __deepcopy__(self, memo): return Again(self.n + 1)
class Parts(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.a, self.b = a, b
    def __deepcopy__(self, memo): return Parts(copy.deepcopy(self.a, memo), copy.deepcopy(self.b, memo))
"""
COPIES = {
    "a class that copies itself": "self.a = copy.deepcopy(Other())",
    "one inside another": "self.a = copy.deepcopy(nn.Sequential(Other(), Again(3)))",
    "the same twice in a list": "a = Again(1); self.l = nn.ModuleList(copy.deepcopy([a, a, Again(5)]))",
    "parts that are shared": "l = nn.Linear(1, 1); self.a = copy.deepcopy(Parts(l, l))",
    "the original stays": "self.a = Again(1); self.b = copy.deepcopy(self.a); self.c = copy.deepcopy(self.b)",
    "a memo for two": "l, memo = nn.Linear(1, 1), {}; self.a, self.b = copy.deepcopy(l, memo), copy.deepcopy(l, memo)",
    "torch's own": "self.a = copy.deepcopy(nn.TransformerEncoderLayer(4, 2, 8))",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", COPIES)
def test_a_deep_copy_is_what_its_class_makes_of_it(name: str, agrees: Callable[[str], Graph]) -> None:
    agrees(HEAD + OWN + net(COPIES[name]))


PICKLED = {
    "state": "def __getstate__(self): return {**self.__dict__, '_modules': {}}",
    "restored state": "def __setstate__(self, state): self.__dict__.update(state); self.b = nn.Linear(1, 1)",
    "reduced": "def __reduce__(self): return nn.ReLU, ()",
    "reduced by protocol": "def __reduce_ex__(self, protocol): return nn.Linear, (2, 2)",
}


@pytest.mark.parametrize("how", ["copy", "deepcopy"])
@pytest.mark.parametrize("name", PICKLED)
def test_what_a_class_puts_into_its_pickle_is_not_claimed(
    name: str, how: str, predict_source: Callable[..., Graph]
) -> None:
    part = f"class Part(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.ReLU()\n    {PICKLED[name]}\n"
    graph = predict_source(HEAD + part + net(f"self.a = copy.{how}(Part())"), with_torch=False)
    known = {node.path: node.class_name for node in graph.modules}
    assert known.get("a") is None
    assert "a.l" not in known
    assert graph.problems


@pytest.mark.parametrize("write", ["b.bias = None", "b.extra = nn.ReLU()", "b.weight = nn.Parameter(torch.ones(5, 5))"])
def test_what_a_shallow_copy_of_a_module_is_given_may_be_in_the_original(
    write: str, predict_source: Callable[..., Graph]
) -> None:
    graph = predict_source(HEAD + net("self.a = nn.Linear(2, 3)", "b = copy.copy(self.a)", write), with_torch=False)
    (a,) = [node for node in graph.modules if node.path == "a"]
    assert all(p.shape is None for p in a.parameters)
    assert [node.path for node in graph.modules if node.path.startswith("a.")] == ["a.?"]
