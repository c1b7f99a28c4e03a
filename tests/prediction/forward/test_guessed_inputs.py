"""What nobody has said of an input, and is only taken for a tensor or a mapping, decides no test; torch runs the rest."""

from __future__ import annotations

import types

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE

torch = pytest.importorskip("torch")

NET = """
from typing import Optional

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, {parameters}):
        {body}
"""
ROWS = torch.ones(2, 8)
A, B = "return self.a(batch['x'])", "return self.b(batch['x'])"
TESTED = {
    'batch["m"] == "a"': ["a", "b"],
    '"a" == batch["m"]': ["a", "b"],
    'batch["m"] is None': [None, ROWS],
    'isinstance(batch["m"], list)': [[1], ROWS],
    'isinstance(batch["m"], torch.Tensor)': [[1], ROWS],
    'torch.is_tensor(batch["m"])': [1, ROWS],
    'type(batch["m"]) is list': [[1], ROWS],
    'hasattr(batch["m"], "lower")': ["a", ROWS],
    'batch["m"] in ("seg", "det")': ["seg", "x"],
    'batch["m"] in {"seg": 1}': ["seg", "x"],
    'batch["m"]': [True, False],
}
"""By test, what may be there."""


def predicted(folder, parameters: str, *lines: str) -> tuple[Graph, type]:
    text = PRELUDE + NET.format(parameters=parameters, body="\n        ".join(lines))
    (folder / "net.py").write_text(text, encoding="utf-8")
    module = types.ModuleType("net")
    exec(text, vars(module))
    return modgraph.predict(f"{folder / 'net.py'}:Net"), module.Net


def called(model, *given) -> list[str]:
    found: list[str] = []
    for name, each in model.named_children():
        each.register_forward_hook(lambda *_, name=name: found.append(name))
    model(*given)
    return found


def holds(graph: Graph, net: type, *runs) -> None:
    """What is certain happened in each of the runs, and what happened was told."""
    assert graph.calls
    assert not graph.problems
    for given in runs:
        real = called(net(), *given)
        assert {call.module for call in graph.calls if call.certain and call.module} <= set(real)
        assert set(real) <= {call.module for call in graph.calls}


@pytest.mark.parametrize("test", TESTED)
def test_what_is_read_by_a_name_may_be_anything(tmp_path, test):
    found = predicted(tmp_path, "batch", f"if {test}: {A}", B)
    holds(*found, *([{"x": ROWS, "m": each}] for each in TESTED[test]))
    assert [each.tensors[0].shape for each in found[0].model.inputs] == [("batch", 8)]


@pytest.mark.parametrize("annotation", ["", ": Optional[torch.Tensor]"])
@pytest.mark.parametrize("test", [each for each in TESTED if "hasattr" not in each])
def test_an_argument_without_a_type_may_be_anything(tmp_path, test, annotation):
    found = predicted(
        tmp_path,
        f"x, m{annotation}",
        f"if {test.replace(chr(39), '')}: return self.a(x)".replace('batch["m"]', "m"),
        "return self.b(x)",
    )
    holds(*found, *([ROWS, each] for each in TESTED[test]))


def test_a_tensor_that_is_said_is_one(tmp_path):
    graph, net = predicted(tmp_path, "x, m: torch.Tensor", "if m is None: return self.a(x)", "return self.b(x)")
    assert [call.module for call in graph.calls if call.module] == called(net(), ROWS, ROWS)


@pytest.mark.parametrize(
    ("lines", "runs"),
    [
        (["if isinstance(batch, torch.Tensor): return self.b(batch)", A], [ROWS, {"x": ROWS}]),
        (["if isinstance(batch, (list, tuple)): return self.b(batch[0])", "return self.a(batch)"], [ROWS, [ROWS]]),
        (["if isinstance(batch, list): batch = torch.cat(batch)", "return self.a(batch)"], [ROWS, [ROWS]]),
        (["if isinstance(batch, dict): batch = batch['x']", "return self.a(batch)"], [ROWS, {"x": ROWS}]),
        (["return self.a(batch.rows)"], [types.SimpleNamespace(rows=ROWS)]),
    ],
)
def test_a_way_that_fails_only_by_the_guess_is_there(tmp_path, lines, runs):
    holds(*predicted(tmp_path, "batch", *lines), *([each] for each in runs))


@pytest.mark.parametrize("annotation", ["", ": dict"])
@pytest.mark.parametrize("test", ["not batch", "len(batch) == 0", "not len(batch)", "bool(batch) is False"])
def test_a_mapping_may_be_empty(tmp_path, test, annotation):
    found = predicted(tmp_path, f"batch{annotation}", f"if {test}: return self.b(torch.ones(2, 8))", A)
    holds(*found, [{}], [{"x": ROWS}])
    assert [each.tensors[0].shape for each in found[0].model.inputs] == [("batch", 8)]


def test_a_mapping_that_has_to_hold_something_is_read(tmp_path):
    holds(*predicted(tmp_path, "batch", "assert batch", A), [{"x": ROWS}])


BOTH = "return self.a(p['x']) + self.b(q['x'])"
BESIDE = {
    "a tensor behind it": ("batch, y", [A + " + self.b(y)"], [{"x": ROWS}, ROWS]),
    "a type": ("batch: dict, y: torch.Tensor", [A + " + self.b(y)"], [{"x": ROWS}, ROWS]),
    "two": ("p, q", [BOTH], [{"x": ROWS}, {"x": ROWS}]),
    "two of a type": ("p: dict, q: dict", [BOTH], [{"x": ROWS}, {"x": ROWS}]),
    "one for the other": (
        "p, q",
        ["y = self.b(q['x'])", "return self.a(p['x']) + y + q['z']"],
        [{"x": ROWS}, {"x": ROWS, "z": ROWS}],
    ),
    "by place alone": ("batch, /", [A], [{"x": ROWS}]),
    "taken out": ("batch", ["return self.a(batch.pop('x'))"], [{"x": ROWS}]),
    "its keys": ("batch", ["return [self.a(batch[each]) for each in batch.keys()]"], [{"x": ROWS}]),
    "what is got": (
        "batch: dict",
        ["x = batch.get('x')", "return self.b(torch.ones(2, 8)) if x is None else self.a(x)"],
        [{"x": ROWS}],
    ),
}


@pytest.mark.parametrize("case", BESIDE)
def test_a_mapping_is_found_wherever_it_stands(tmp_path, case):
    parameters, lines, given = BESIDE[case]
    holds(*predicted(tmp_path, parameters, *lines), given)


def test_what_the_inputs_are_taken_for_is_said(tmp_path):
    graph, _ = predicted(tmp_path, "batch, y", "batch['x']", "raise NotImplementedError('later')")
    assert graph.model.no_calls.message == (
        "raises NotImplementedError: later; y is taken for a tensor, batch is taken for a mapping of tensors, as nobody gave inputs"
    )
