"""A model without weights has the shapes of the real one, and costs no memory."""

from __future__ import annotations

import itertools
import resource
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

import modgraph
from modgraph.inputs.making import make_inputs
from modgraph.options import TraceOptions
from modgraph.source.targets import parse_target
from modgraph.tracing import trace_graph
from modgraph.tracing.faking import fake
from modgraph.tracing.loading.models import load_model

pytestmark = pytest.mark.needs_torch


class Tied(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)
        self.head = nn.Linear(width, 20, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.ones(width))
        self.plain = torch.arange(4)
        self.hidden = [nn.Linear(width, width)]
        self.table = {"shift": torch.zeros(width)}

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) * self.scale + self.table["shift"]
        return self.head(self.hidden[0](self.block(x)))


class ReadsValues(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [int(w.item()) for w in torch.linspace(2, 8, 4)]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def tensors_of(model: nn.Module) -> list[torch.Tensor]:
    return [*model.parameters(), *model.buffers()]


@pytest.mark.parametrize("kind", [Tied, ReadsValues])
def test_a_built_model_has_only_fake_tensors_and_keeps_names_and_ties(kind: type[nn.Module]) -> None:
    real = kind()
    mode = fake.new_mode()
    model = fake.build(kind, mode)

    assert all(isinstance(tensor, FakeTensor) for tensor in tensors_of(model))
    assert all(isinstance(parameter, nn.Parameter) for parameter in model.parameters())
    assert {name: (p.shape, p.dtype, p.device, p.requires_grad) for name, p in model.named_parameters()} == {
        name: (p.shape, p.dtype, p.device, p.requires_grad) for name, p in real.named_parameters()
    }
    if isinstance(model, Tied):
        assert model.head.weight is model.embed.weight
        assert isinstance(model.hidden[0].weight, FakeTensor)
        assert isinstance(model.plain, FakeTensor)
        assert isinstance(model.table["shift"], FakeTensor)


@pytest.mark.parametrize(
    ("kind", "real_input"), [(Tied, torch.ones(1, 8, dtype=torch.int64)), (ReadsValues, torch.zeros(1, 2))]
)
def test_calls_and_shapes_are_those_of_the_real_run(kind: type[nn.Module], real_input: torch.Tensor) -> None:
    options = TraceOptions(device="fake")
    mode = fake.new_mode()
    model = fake.build(kind, mode)
    inputs = make_inputs(model, [], None, options, fake_mode=mode)
    assert all(isinstance(argument, FakeTensor) for argument in inputs.args)
    with fake.running(mode):
        without = trace_graph(model, inputs.args, inputs.kwargs, options)
    real = trace_graph(kind(), (real_input,), {}, TraceOptions())

    assert without.problems == ()

    def seen(graph: Any) -> list[Any]:
        return [(call.module, [(t.shape, t.dtype) for t in call.outputs]) for call in graph.calls]

    def edges(graph: Any) -> list[Any]:
        named = {operation.id: (operation.name, operation.call) for operation in graph.operations}
        return sorted(str((named.get(e.producer, e.producer), named.get(e.consumer, e.consumer))) for e in graph.edges)

    assert seen(without) == seen(real)
    assert edges(without) == edges(real)


def test_a_fake_copy_leaves_the_model_alone() -> None:
    model = Tied()
    before = {id(tensor) for tensor in tensors_of(model)}
    mode = fake.new_mode()
    copied = fake.fake_copy(model, mode)

    assert {id(tensor) for tensor in tensors_of(model)} == before
    assert not any(isinstance(tensor, FakeTensor) for tensor in [*tensors_of(model), model.plain])
    assert copied.head.weight is copied.embed.weight
    assert copied.hidden[0] is not model.hidden[0]


BESIDE = nn.Linear(4, 4)


def test_real_modules_that_a_fake_copy_still_reaches_keep_their_memory() -> None:
    hidden, met = nn.Linear(4, 4), nn.BatchNorm1d(4)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.function = lambda x: hidden(x)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return met(BESIDE(self.function(x)))

    before = {id(tensor): tensor.detach().clone() for layer in (hidden, met, BESIDE) for tensor in tensors_of(layer)}
    graph = modgraph.trace(Net(), (torch.rand(2, 4),), device="fake", backward=True, mode="train")
    assert graph.complete
    for layer in (hidden, met, BESIDE):
        for tensor in tensors_of(layer):
            assert tensor.device.type == "cpu"
            assert torch.equal(tensor, before[id(tensor)])
            assert tensor.grad is None


@pytest.fixture(scope="module")
def llama() -> Any:
    """The model of the benchmark, whose sizes by default are those of 70 billion parameters."""
    return runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "fake_trace.py"))["Llama"]


def _without_weights(build: Any, shape: tuple[int, ...]) -> Any:
    mode = fake.new_mode()
    model = fake.build(build, mode)
    with fake.running(mode):
        return trace_graph(model, (torch.zeros(shape, dtype=torch.int64),), {}, TraceOptions(device="fake"))


def test_a_model_of_llamas_shape_is_the_same_with_and_without_weights(llama: Any) -> None:
    def small() -> nn.Module:
        model: nn.Module = llama(2, 128, 96, 50)
        return model

    without = _without_weights(small, (1, 5))
    real = trace_graph(small().eval(), (torch.zeros(1, 5, dtype=torch.int64),), {}, TraceOptions())
    assert without.problems == ()
    for name in ("modules", "calls", "operations", "edges"):
        assert getattr(without, name) == getattr(real, name), name


def test_the_widths_of_seventy_billion_parameters_take_no_memory(llama: Any) -> None:
    layers, width, inner, words = 2, 8192, 28672, 128256
    graph = _without_weights(lambda: llama(layers), (1, 128))
    assert graph.problems == ()
    attention = 2 * width * width + 2 * width * (width // 8)
    layer = attention + 3 * width * inner + 2 * width
    assert graph.model.parameters == 2 * words * width + width + layers * layer
    of_a_layer = ("", "input_norm", "attention", *(f"attention.{name}_proj" for name in "qkvo"))
    of_a_layer += ("output_norm", "feed_forward", *(f"feed_forward.{name}_proj" for name in ("gate", "up", "down")))
    inside = [f"layers.{number}.{name}".rstrip(".") for number in range(layers) for name in of_a_layer]
    assert [call.module for call in graph.calls] == ["", "embedding", *inside, "norm", "head"]
    assert graph.calls[0].outputs[0].shape == (1, 128, words)


def test_a_model_larger_than_memory_is_built_and_traced(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "from torch import nn\n"
        "def build():\n"
        "    return nn.Sequential(*[nn.Linear(2**16, 2**16, bias=False) for _ in range(40)])\n",
        "utf-8",
    )
    options = TraceOptions(device="fake")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = list(sys.path)
    try:
        loaded = load_model(parse_target("model.py:build", cwd=tmp_path, path=[]), options)
    finally:
        sys.path[:] = path
    inputs = make_inputs(loaded.model, [], None, options, fake_mode=loaded.fake_mode)
    with fake.running(loaded.fake_mode):
        graph = trace_graph(loaded.model, inputs.args, inputs.kwargs, options, info=loaded.info)

    assert graph.complete
    assert graph.model.parameters == 40 * 2**32
    assert len(graph.calls) == 41
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_initialisation_is_back_after_a_build() -> None:
    before = nn.init.kaiming_uniform_
    fake.build(ReadsValues, fake.new_mode())
    assert nn.init.kaiming_uniform_ is before


def test_what_a_constructor_raises_comes_through() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            raise LookupError("no such layer")

    with pytest.raises(LookupError, match="no such layer"):
        fake.build(Broken, fake.new_mode())


def test_sizes_that_depend_on_values_are_unknown_not_an_error() -> None:
    mode = fake.new_mode()
    with fake.running(mode):
        found = torch.ones(4).nonzero()
    assert not isinstance(found.shape[0], int) or found.shape[0] >= 0
    assert found.shape[1] == 1


def raises(x: torch.Tensor) -> None:
    raise RuntimeError("of its own")


@pytest.mark.parametrize(
    ("ask", "is_said"),
    [
        (lambda x: float(x.sum()), True),
        (lambda x: 1 if x.sum() > 0 else 2, True),
        (lambda x: 1 if x.nonzero().shape[0] > 3 else 2, True),
        (lambda x: 1 if x.sum().item() > 3 else 2, True),
        (lambda x: range(int(x.sum().item())), True),
        (lambda x: x.numpy(), True),
        (lambda x: x.sum().item(), False),
        (raises, False),
        (lambda x: x.view(3), False),
    ],
)
def test_a_caught_question_for_values_is_a_problem(ask: Any, is_said: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(3):
                x = self.once(x)
            return self.a(x)

        def once(self, x: torch.Tensor) -> torch.Tensor:
            try:
                ask(x)
            except Exception:  # the model goes another way
                return self.b(x)
            return x

    graph = modgraph.trace(Net(), torch.ones(2, 4), device="fake")
    assert [problem.message.partition(":")[0] for problem in graph.problems] == [
        "without weights no value is known"
    ] * (is_said)
    assert all(problem.line for problem in graph.problems)
    assert modgraph.trace(Net(), torch.ones(2, 4)).problems == ()


def test_a_question_for_values_that_nobody_catches_is_told_once() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return x * 2 if x.sum() > 0 else x
            except RuntimeError as error:
                raise ValueError("no") from error

    graph = modgraph.trace(Net(), torch.ones(2, 4), device="fake")
    assert len(graph.problems) == 1
    assert graph.problems[0].message == "ValueError: no"


class BrokenAndLarge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1 << 28, 1 << 28, bias=False)
        raise ValueError("no such size")


def test_a_constructor_that_fails_is_not_said_to_lack_the_memory_that_was_spent_on_another_way_to_run_it() -> None:
    with pytest.raises(ValueError, match="no such size"):
        fake.build(BrokenAndLarge, fake.new_mode())


class Experts(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, 16, 32, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ends = torch.arange(2, 10, 2, dtype=torch.int32)
        return nn.functional.grouped_mm(x, self.weight, offs=ends)


@pytest.mark.skipif(not hasattr(nn.functional, "grouped_mm"), reason="this torch has no grouped product")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_operator_that_torch_describes_for_one_dtype_alone_has_its_shape_in_every_other(dtype: torch.dtype) -> None:
    mode = fake.new_mode()
    model = fake.build(lambda: Experts(dtype), mode)
    with fake.running(mode):
        made = model(torch.zeros(8, 16, dtype=dtype))
    real = Experts(dtype)(torch.zeros(8, 16, dtype=dtype))

    assert (made.shape, made.dtype, made.device) == (real.shape, real.dtype, real.device)


class Converts(nn.Module):
    """Parts of it are moved and converted while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner.to(torch.float32)(x)
        return self.inner.to(torch.float64)(x.double())


def test_a_part_that_is_converted_while_the_model_runs_is_converted_without_weights_too() -> None:
    mode = fake.new_mode()
    model = fake.build(Converts, mode)
    before = dict(model.named_parameters())
    with fake.running(mode), torch.no_grad():
        graph = trace_graph(model, (torch.empty(2, 4),), {}, TraceOptions(device="fake"))

    assert graph.problems == ()
    assert [call.outputs[0].dtype for call in graph.calls if call.module == "inner"] == ["float32", "float64"]
    assert list(before) == [name for name, _ in model.named_parameters()]
    assert nn.Module._apply.__qualname__ == "Module._apply"


class ReadsSizes(nn.Module):
    """Loops, branches and shapes by the values of masks and indices, none of which a weight has a part in."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.layer = nn.Linear(8, 8)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        ends = nn.functional.pad(mask.sum(-1).cumsum(0), (1, 0)).tolist()
        rows = self.embed(ids)[mask.bool()]
        table = torch.zeros(4, 4, dtype=torch.int64)
        table[1] = 3
        table[:, 2] += torch.arange(4)
        made = [self.layer(rows[a:b]) for a, b in itertools.pairwise(ends)]
        if table[1, 2] == 4:
            made.append(self.layer(torch.ones_like(rows)))
        return torch.cat(made)[: int(mask.new_ones(3).sum())]


def test_values_that_no_weight_has_a_part_in_are_known_without_weights() -> None:
    mode = fake.new_mode()
    model = fake.build(ReadsSizes, mode)
    options = TraceOptions(device="fake")
    inputs = make_inputs(model, [], None, options, fake_mode=mode)
    with fake.running(mode), torch.no_grad():
        graph = trace_graph(model, inputs.args, inputs.kwargs, options)
    real = trace_graph(ReadsSizes(), (torch.ones(1, 8).long(), torch.ones(1, 8).bool()), {}, TraceOptions())

    assert not inputs.by_values
    assert graph.problems == ()
    assert [(call.module, call.outputs[0].shape) for call in graph.calls] == [
        (call.module, call.outputs[0].shape) for call in real.calls
    ]


class ReadsWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.layer(x)
        written = torch.zeros(4)
        written.copy_(made[0])
        return made if written[0] > 0 else -made


def test_a_value_that_weights_take_part_in_is_not_known_though_it_was_written_over_one_that_is() -> None:
    mode = fake.new_mode()
    model = fake.build(ReadsWeights, mode)
    inputs = make_inputs(model, [], None, TraceOptions(device="fake"), fake_mode=mode)

    assert inputs.by_values


def test_values_are_not_reckoned_with_where_that_would_make_many_of_few() -> None:
    mode = fake.new_mode()
    with mode:
        steps = torch.arange(1 << 17)
        table = steps[:, None] * steps
        again = steps.repeat(1 << 14)

    assert table.shape == (1 << 17, 1 << 17)
    assert again.shape == (1 << 31,)
    assert steps.constant is not None
    assert int(steps[-1]) == (1 << 17) - 1


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        scale = sum(ids.flatten().tolist())
        return self.layer(x) * scale + sum(map(sum, self.layer(x).tolist()))


def test_a_list_of_many_unknown_numbers_is_not_begun() -> None:
    mode = fake.new_mode()
    model = fake.build(Lists, mode)
    with fake.running(mode), torch.no_grad():
        graph = trace_graph(
            model, (torch.empty(64, 64), torch.arange(100)), {}, TraceOptions(device="fake", verify=False)
        )

    assert [call.module for call in graph.calls] == ["", "layer", "layer"]
    assert "DataDependentOutputException" in graph.problems[0].message
