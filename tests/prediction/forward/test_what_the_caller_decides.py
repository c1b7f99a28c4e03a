"""What decides how `forward` is run, and not what it is given: gradients, devices, tracing. Either both ways are told, or
what is taken for granted is. Torch runs both.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE, predicted

torch = pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        {body}
"""
GRADIENTS = [
    "torch.is_grad_enabled()",
    "x.requires_grad",
    "self.a(x).requires_grad",
    "(x * self.a.weight[0, 0]).requires_grad",
    "(x + 1).grad_fn is None",
    "x.grad_fn is None",
    "x.is_leaf",
    "torch.is_inference_mode_enabled()",
    "torch.is_grad_enabled() and not torch.jit.is_scripting()",
]
CALLERS: list[Callable[[], Any]] = [torch.no_grad, torch.inference_mode, torch.enable_grad, nullcontext]


def net(body: str) -> Any:
    scope: dict[str, Any] = {}
    exec(PRELUDE + NET.format(body=body), scope)
    return scope["Net"]().eval()


def called(model: Any, x: Any) -> list[str]:
    names = {each: name for name, each in model.named_modules()}
    found: list[str] = []
    hooks = [
        each.register_forward_pre_hook(lambda own, _: found.append(names[own])) for each in names if each is not model
    ]
    model(x)
    for each in hooks:
        each.remove()
    return found


def told(graph: Graph, certain: bool) -> list[str]:
    return [call.module for call in graph.calls if call.module and (call.certain or not certain)]


@pytest.mark.parametrize("test", GRADIENTS)
def test_both_ways_are_told_of_what_gradients_decide(test: str, tmp_path: Path) -> None:
    body = f"return self.a(x) if {test} else self.b(x)"
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    assert not graph.problems
    model, seen, leaf = net(body), set[str](), torch.ones(2, 4, requires_grad=True)
    for caller in CALLERS:
        for given in (torch.ones(2, 4), leaf, leaf * 1):
            with caller():
                ran = called(model, given)
            seen.add(ran[-1])
            rest = iter(ran)
            assert all(each in rest for each in told(graph, certain=True))
            assert set(ran) <= set(told(graph, certain=False))
    assert seen == {"a", "b"}


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad"])
@pytest.mark.parametrize(
    "test", ["torch.is_grad_enabled()", "self.a(x).requires_grad", "(x + self.a.bias).grad_fn is not None"]
)
def test_what_a_block_of_its_own_says_is_known(test: str, mode: str, tmp_path: Path) -> None:
    body = f"with torch.{mode}():\n            asked = {test}\n        return self.a(x) if asked else self.b(x)"
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    if test == "torch.is_grad_enabled()" or mode == "no_grad":  # else the caller may have entered inference mode
        assert told(graph, certain=True) == called(net(body), torch.ones(2, 4))
    assert set(called(net(body), torch.ones(2, 4))) <= set(told(graph, certain=False))


RECORDED = ["self.a(x).requires_grad", "torch.is_grad_enabled()", "torch.is_inference_mode_enabled()"]
_MODES = ("no_grad()", "enable_grad()", "inference_mode()", "inference_mode(False)")


@pytest.mark.parametrize("test", RECORDED)
@pytest.mark.parametrize("blocks", [*((one,) for one in _MODES), *((one, two) for one in _MODES for two in _MODES)])
def test_inference_mode_stays_behind_what_is_entered_in_it(blocks: tuple[str, ...], test: str, tmp_path: Path) -> None:
    line = ", ".join(f"torch.{each}" for each in blocks)
    body = f"with {line}:\n            asked = {test}\n        return self.a(x) if asked else self.b(x)"
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    model, given = net(body), torch.ones(2, 4)
    for caller in CALLERS:
        with caller():
            ran = called(model, given)
        rest = iter(ran)
        assert all(each in rest for each in told(graph, certain=True))
        assert set(ran) <= set(told(graph, certain=False))
    if blocks[-1].startswith("inference_mode"):
        assert told(graph, certain=True) == ran


@pytest.mark.parametrize(
    "line",
    [
        "self.a(x).numpy()",
        "self.a.bias.numpy()",
        "self.a.weight.mul_(2)",
        "self.a.bias[0] = 3",
        "torch.add(self.a.bias, 1, out=x[0])",
    ],
)
def test_what_is_refused_with_gradients_alone_is_not_said_to_fail(line: str, tmp_path: Path) -> None:
    body = f"{line}\n        return self.b(x)"
    with torch.no_grad():
        net(body)(torch.ones(2, 4))
    assert not predicted(tmp_path, NET.format(body=body), ["2x4"]).problems


LAYERS = [
    "nn.Linear(4, 4)", "nn.Conv1d(2, 4, 1)", "nn.LayerNorm(4)", "nn.BatchNorm1d(4)", "nn.PReLU()", "nn.GRU(4, 4)",
    "nn.Sequential(nn.Linear(4, 4), nn.ReLU())", "nn.ReLU()", "nn.Linear(4, 4).requires_grad_(False)",
    "nn.MultiheadAttention(4, 1)", "nn.Embedding(9, 4)", "nn.EmbeddingBag(9, 4)", "nn.TransformerEncoderLayer(4, 1, 8)",
]  # fmt: skip
GIVEN_WITHOUT = ["torch.ones(2, 4)", "x.detach()", "x.data", "(x > 0).float()", "torch.zeros_like(x)"]


def given_to(layer: str, without: str) -> str:
    """The tensor that the layer gives of something that needs no gradient."""
    given = f"{without}.long()" if "Embedding" in layer else without
    if "Attention" in layer:
        return f"self.layer({given}, {given}, {given})[0]"
    return f"self.layer({given})" + ("[0]" if "GRU" in layer else "")


def with_layer(layer: str, body: str) -> str:
    made = f"\n        self.layer = {layer}\n\n    def forward"
    return NET.format(body=body).replace("\n\n    def forward", made)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("without", GIVEN_WITHOUT)
def test_parameters_of_a_layer_ask_for_gradients_whatever_it_is_given(layer: str, without: str, tmp_path: Path) -> None:
    body = f"z = {given_to(layer, without)}\n        return self.a(x) if z.requires_grad else self.b(x)"
    text = with_layer(layer, body)
    scope: dict[str, Any] = {}
    exec(PRELUDE + text, scope)
    graph = predicted(tmp_path, text, ["2x4"])
    assert not graph.problems
    for caller in (torch.no_grad, torch.enable_grad):
        with caller():
            ran = called(scope["Net"]().eval(), torch.ones(2, 4))
        rest = iter(ran)
        assert all(each in rest for each in told(graph, certain=True))
        assert ran[-1] in told(graph, certain=False)


@pytest.mark.parametrize(
    "line",
    [
        "self.layer(x.detach()).sum().backward()",
        "self.layer(x.detach()).detach_().numpy()",
        "assert self.layer(x.detach()).requires_grad",
        "z = torch.zeros(2, 4)\n        z += self.layer(z.clone())\n        z.mean().backward()",
        "z = self.layer(x.detach())\n        z.mul_(2)\n        z[0].sum().backward()",
        "torch.utils.checkpoint.checkpoint(self.layer, x.detach(), use_reentrant=False).sum().backward()",
    ],
)
def test_what_needs_the_gradients_of_a_layer_is_not_said_to_fail(line: str, tmp_path: Path) -> None:
    text = with_layer("nn.Linear(4, 4)", f"{line}\n        return self.b(x)")
    scope: dict[str, Any] = {}
    text = f"import torch.utils.checkpoint\n{text}"
    exec(PRELUDE + text, scope)
    scope["Net"]()(torch.ones(2, 4))
    assert not predicted(tmp_path, text, ["2x4"]).problems


def test_what_needs_gradients_that_nothing_has_is_said_to_fail(tmp_path: Path) -> None:
    text = with_layer("nn.Linear(4, 4).requires_grad_(False)", "self.layer(x.detach()).sum().backward()")
    scope: dict[str, Any] = {}
    exec(PRELUDE + text, scope)
    with pytest.raises(RuntimeError, match="does not require grad"):
        scope["Net"]()(torch.ones(2, 4))
    assert predicted(tmp_path, text, ["2x4"]).problems


PLACES = [
    "x.is_cuda", "not x.is_cpu", "x.device.type == 'cuda'", "x.device.type != 'cpu'", "self.a.weight.is_cuda",
    "x.device != torch.device('cpu')", "str(x.device).startswith('cuda')", "x.device.index is not None",
    *(f"x.is_{kind}" for kind in ("meta", "mps", "xpu", "xla", "mtia")),
    *(f"x.device.type == {kind!r}" for kind in ("mps", "xpu", "meta", "hpu")),
    "x.device == torch.device('cuda:1')", "x.device == torch.device('cuda')", "x.device.index == 1",
    "x.type().startswith('torch.cuda')", "x.type() != 'torch.FloatTensor'", "torch.get_default_device().type == 'cuda'",
]  # fmt: skip
COMPILED = [
    "torch.compiler.is_compiling()", "torch.jit.is_scripting()", "torch.jit.is_tracing()", "torch.onnx.is_in_onnx_export()",
    "torch._dynamo.is_compiling()", "torch.jit.is_scripting() or torch.jit.is_tracing()",
]  # fmt: skip


@pytest.mark.parametrize("test", [*PLACES, *COMPILED])
def test_what_is_taken_for_granted_is_told(test: str, tmp_path: Path) -> None:
    body = f"return self.a(x) if {test} else self.b(x)"
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    assert told(graph, certain=True) == called(net(body), torch.ones(2, 4))
    assert graph.model.assumed is not None
    assert ("CPU" in graph.model.assumed.text) is (test in PLACES)
    assert ("traces" in graph.model.assumed.text) is (test in COMPILED)


@pytest.mark.parametrize(
    "body",
    [
        "return self.a(x) + torch.zeros(4, device=x.device)",
        "kind = x.device.type if x.device.type != 'mps' else 'cpu'\n        return self.a(x)",
        "if x.is_cuda:\n            pass\n        return self.a(x)",
        "if torch.jit.is_scripting():\n            assert x.shape[0] == 2\n        return self.a(x)",
    ],
)
def test_nothing_is_told_where_it_decides_nothing(body: str, tmp_path: Path) -> None:
    assert predicted(tmp_path, NET.format(body=body), ["2x4"]).model.assumed is None


OF_SHAPES = {
    "a shape": "y = self.b(x)\n        return y[:, :4] if x.is_cuda else y[:, :2]",
    "a dtype": "return self.b(x).to(torch.float16 if x.is_cuda else torch.float64)",
    "a size": "assert not x.is_cuda or x.shape[0] <= 16\n        return self.b(x)",
    "a refusal": "if x.is_mps:\n            raise RuntimeError('no')\n        return self.b(x)",
    "one of torch": "if x.device.type == 'xpu':\n            x.view(3, 5)\n        return self.b(x)",
}


@pytest.mark.parametrize("given", [["2x4"], []])
@pytest.mark.parametrize("case", OF_SHAPES)
def test_shapes_and_refusals_that_a_device_decides_are_told(case: str, given: list[str], tmp_path: Path) -> None:
    if case == "a size" and given:
        pytest.skip("two rows are taken on each device")
    graph = predicted(tmp_path, NET.format(body=OF_SHAPES[case]), given)
    assert graph.model.assumed is not None
    assert "CPU" in graph.model.assumed.text


@pytest.mark.parametrize(
    "body",
    [
        "x = x.view(x.shape[0] // 2, -1, 4)\n        return self.a(x.to(x.device)) + torch.ones(4, device=x.device)",
        "y = torch.arange(x.shape[0], device=x.device)\n        return self.a(x)[y]",
    ],
)
def test_nothing_is_told_of_open_sizes_where_a_device_decides_nothing(body: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET.format(body=body), [])
    assert graph.model.assumed is None
    assert told(graph, certain=True) == ["a"]


@pytest.mark.parametrize("test", ["x.is_pinned()", "x.is_shared()", "x.is_inference()", "torch.is_inference(x)"])
def test_both_ways_are_told_of_how_memory_was_come_by(test: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET.format(body=f"return self.a(x) if {test} else self.b(x)"), ["2x4"])
    assert not graph.problems
    assert (told(graph, certain=True), set(told(graph, certain=False))) == ([], {"a", "b"})


@pytest.mark.parametrize("name", ["cuda", "hip", "xpu"])
def test_how_torch_was_built_is_not_known(name: str, tmp_path: Path) -> None:
    body = f"return self.a(x) if torch.version.{name} is None else self.b(x)"
    assert told(predicted(tmp_path, NET.format(body=body), ["2x4"]), certain=True) == []
