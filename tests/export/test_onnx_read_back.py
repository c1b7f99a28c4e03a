"""A graph that is read back from the ONNX of a run is that of the run: the trace is the judge, for many architectures.

What cannot survive is taken out of both sides by `facts_of`, each with its reason:

- operations: those of the file are ONNX's, those of a trace torch's; the ways of data are followed through both;
- constants: a file has them folded, where a trace names each tensor that was made outside;
- the inputs of calls: a function takes what its operators read, which may be computed further out, or not be read;
- weights that nobody reads: a file has no place for them, so only those of modules that were called are compared;
- outputs that nobody reads: a function has none for them (`h` and `c` of an LSTM);
- the name of an output: a file has one where the trace has a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import modgraph  # noqa: E402
from modgraph.graph.model import Graph  # noqa: E402
from tests.export.onnx_read_models import Between, Convolutions, Decoder, Gated, Perceptron, Recurrent, Several, Shared  # noqa: E402

pytestmark = [pytest.mark.needs_torch, pytest.mark.usefixtures("onnx_table")]


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "perceptron of 2 dimensions": (Perceptron, (torch.rand(2, 8),)),
    "perceptron of 3 dimensions": (Perceptron, (torch.rand(2, 5, 8),)),
    "perceptron of 4 dimensions": (Perceptron, (torch.rand(2, 3, 5, 8),)),
    "residual convolutions": (Convolutions, (torch.rand(2, 4, 6, 6),)),
    "transformer encoder": (encoder, (torch.rand(2, 5, 8),)),
    "decoder with a causal mask": (Decoder, (torch.randint(0, 11, (2, 6)),)),
    "lstm": (Recurrent, (torch.rand(2, 5, 4),)),
    "several inputs and outputs": (Several, (torch.rand(2, 4), torch.rand(2, 5))),
    "shared module": (Shared, (torch.rand(2, 4),)),
    "leaves of several operators": (Gated, (torch.rand(2, 4),)),
}


class Facts(NamedTuple):
    modules: list[Any]
    calls: list[Any]
    edges: set[tuple[str, str]]
    ends: list[Any]


def facts_of(graph: Graph) -> Facts:
    """What a run and its file have to agree in."""
    names = {f"output:{name}": f"output:{i}" for i, name in enumerate(outputs_of(graph))}
    edges = [(edge.producer, names.get(edge.consumer, edge.consumer)) for edge in graph.edges]
    return Facts(
        [
            (
                node.path,
                node.class_name,
                node.alias_of,
                node.calls,
                [(held.name, held.shape, held.alias_of) for held in node.parameters if node.calls],
            )
            for node in graph.modules
        ],
        [(call.module, call.parent, [tensor.shape for tensor in call.outputs][:1]) for call in graph.calls],
        ways(edges),
        [[(given.name, [t.shape for t in given.tensors]) for given in graph.model.inputs]],
    )


def outputs_of(graph: Graph) -> list[str]:
    ends = (edge.consumer.removeprefix("output:") for edge in graph.edges if edge.consumer.startswith("output:"))
    return list(dict.fromkeys(ends))


def ways(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """From whom to whom data goes, through any number of operations."""
    further: dict[str, list[str]] = defaultdict(list)
    for producer, consumer in edges:
        further[producer].append(consumer)
    found = set()
    for start in [end for end in further if not end.startswith(("op:", "const:"))]:
        pending, seen = [start], {start}
        while pending:
            for end in further[pending.pop()]:
                if not end.startswith("op:"):
                    found.add((start, end))
                elif end not in seen:
                    seen.add(end)
                    pending.append(end)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_file_of_a_run_has_its_modules_calls_shapes_and_dataflow(name, tmp_path):
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    traced = modgraph.trace(model, inputs)
    modgraph.export_onnx(model, tmp_path / "net.onnx", inputs)
    read = modgraph.load(tmp_path / "net.onnx")
    seen, expected = facts_of(read), facts_of(traced)
    assert seen.modules == expected.modules
    assert seen.calls == expected.calls
    assert seen.edges == expected.edges
    assert seen.ends == expected.ends
    assert not read.problems
    assert expected.edges


def test_what_a_file_does_not_tell_is_a_problem_of_the_graph(tmp_path):
    model = Between().eval()
    modgraph.export_onnx(model, tmp_path / "net.onnx", (torch.rand(2, 4),))
    read = modgraph.load(tmp_path / "net.onnx")
    assert [(call.module, [t.shape for t in call.outputs]) for call in read.calls] == [
        ("", [(2, 4)]),
        ("drop", [(2, 4)]),
    ]
    (problem,) = read.problems
    assert problem.message.endswith("does not say where in the dataflow a call without operators stood: drop")
    assert ways([(edge.producer, edge.consumer) for edge in read.edges]) == {("input:x", "output:output")}
