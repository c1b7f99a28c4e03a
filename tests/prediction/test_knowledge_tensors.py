"""Shape, dtype and, where known, elements of tensors that a constructor makes: the installed torch is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

EXPRESSIONS = """
torch.zeros(2, 3); torch.ones((2, 3)); torch.empty([4]); torch.zeros(()); torch.zeros(torch.Size([2])); torch.rand(1, 2); torch.randn(3, 1, 2)
torch.full((2, 2), 1.5); torch.full((2,), 3); torch.full((2,), True); torch.zeros(2, dtype=torch.long); torch.ones(1, dtype=torch.bool)
torch.arange(5); torch.arange(1, 7, 2); torch.arange(0, 1, 0.25); torch.arange(3.0); torch.arange(4, dtype=torch.float32); torch.arange(5, 0, -2)
torch.linspace(0, 1, 5); torch.linspace(0, 1, steps=3, dtype=torch.float64); torch.eye(3); torch.eye(2, 3); torch.randint(0, 5, (2, 3))
torch.tensor(3); torch.tensor(2.5); torch.tensor([1, 2]); torch.tensor([[1.0, 2], [3, 4]]); torch.tensor(True); torch.tensor([]); torch.tensor([1, 2], dtype=torch.float)
torch.as_tensor([1.5]); torch.randperm(4); torch.zeros_like(torch.ones(2, 3)); torch.ones_like(torch.arange(3), dtype=torch.float); torch.full_like(torch.ones(2), 7)
torch.ones(2).new_zeros(3, 4); torch.arange(2).new_ones((2,)); torch.ones(1).new_full((2, 2), 3.0); torch.Tensor(2, 3); torch.FloatTensor([1, 2]); torch.LongTensor(3)
torch.zeros(2, 3).view(3, 2); torch.zeros(2, 3).view(-1); torch.zeros(4, 6).reshape(2, -1, 3); torch.zeros(2, 3).flatten(); torch.zeros(2, 3, 4).flatten(1)
torch.zeros(2).unsqueeze(0); torch.zeros(2).unsqueeze(-1); torch.zeros(1, 2, 1).squeeze(); torch.zeros(1, 2, 1).squeeze(0); torch.zeros(1, 2).squeeze(1)
torch.zeros(2, 3, 4).permute(2, 0, 1); torch.zeros(2, 3, 4).permute((0, 2, 1)); torch.zeros(2, 3).t(); torch.zeros(2, 3).T; torch.zeros(2, 3, 4).transpose(1, 2); torch.zeros(2, 3, 4).mT
torch.zeros(1, 3).expand(4, -1); torch.zeros(2, 3).repeat(2, 1); torch.zeros(3).repeat(2, 2); torch.zeros(2, 3).repeat_interleave(2, dim=1); torch.zeros(3).repeat_interleave(2)
torch.cat([torch.zeros(2, 3), torch.zeros(4, 3)]); torch.cat((torch.zeros(2, 1), torch.zeros(2, 2)), dim=1); torch.stack([torch.zeros(2), torch.ones(2)]); torch.stack([torch.zeros(2)] * 3, -1)
torch.zeros(4, 2).chunk(2)[0]; torch.zeros(5, 2).split(2)[2]; torch.zeros(5, 2).split([1, 4])[1]; torch.zeros(3, 2).unbind(0)[1]; torch.chunk(torch.zeros(3, 7), 3, dim=1)[2]
torch.zeros(2, 3)[0]; torch.zeros(4, 3)[1:3]; torch.zeros(4, 3)[:, 0]; torch.zeros(4, 3)[:, None]; torch.zeros(2, 3, 4)[..., 1]; torch.zeros(6)[::2]; torch.zeros(4, 3)[-1, 1:]; torch.zeros(2)[None, :, None]
torch.zeros(2, 3) + torch.zeros(3); torch.zeros(2, 1) * torch.zeros(1, 4); torch.arange(3) + 1; torch.arange(3) * 0.5; torch.arange(3) / 2; torch.arange(3) // 2; 1 - torch.ones(2); 2 ** torch.arange(3); 10000 ** (torch.arange(0, 4, 2) / 4)
torch.arange(3).float() * torch.arange(3); torch.zeros(2, dtype=torch.half) + torch.zeros(2); torch.zeros(2) + torch.zeros((), dtype=torch.double); torch.arange(2) + torch.tensor(1.5); torch.ones(2, dtype=torch.int32) * torch.arange(2)
torch.arange(3) > 1; torch.zeros(2).eq(0); torch.zeros(2) == 0; torch.zeros(2, 1) != torch.ones(3); torch.diff(torch.tensor([1, 4, 9])); (torch.arange(4) % 2).bool(); ~torch.ones(2, dtype=torch.bool); -torch.arange(3); torch.ones(2, 2).bool() & torch.ones(2).bool()
torch.exp(torch.zeros(3)); torch.sin(torch.arange(3)); torch.zeros(2).sigmoid(); torch.sqrt(torch.tensor([4.0, 9.0])); torch.arange(3).abs(); torch.log(torch.arange(1, 3)); torch.ones(3).cumsum(0); torch.triu(torch.ones(3, 3), 1); torch.zeros(2).clamp(0, 1)
torch.zeros(2, 3).sum(); torch.arange(4).sum(); torch.zeros(2, 3).mean(1); torch.zeros(2, 3).sum(dim=0, keepdim=True); torch.zeros(2, 3).max(); torch.zeros(2, 3).max(1)[0]; torch.zeros(2, 3).argmax(1); torch.zeros(2, 3).std(-1); torch.ones(3).prod(); torch.zeros(2, 3, 4).mean((1, 2)); torch.zeros(2).norm(); torch.ones(2).any()
torch.zeros(2, 3) @ torch.zeros(3, 4); torch.zeros(5, 2, 3).matmul(torch.zeros(3, 4)); torch.zeros(3).dot(torch.zeros(3)); torch.outer(torch.zeros(2), torch.zeros(3)); torch.einsum("ij,jk->ik", torch.zeros(2, 3), torch.zeros(3, 4)); torch.bmm(torch.zeros(2, 3, 4), torch.zeros(2, 4, 5))
torch.zeros(2).half(); torch.zeros(2).to(torch.int64); torch.zeros(2).long(); torch.zeros(2).to("cpu").double(); torch.zeros(2).type(torch.int8); torch.zeros(2).clone(); torch.zeros(2).detach(); torch.zeros(2).contiguous(); torch.arange(2).type_as(torch.zeros(1)); torch.zeros(2).to(torch.arange(1))
torch.where(torch.ones(3, 1) > 0, torch.zeros(3, 2), torch.ones(2)); torch.maximum(torch.zeros(2), torch.ones(2)); torch.zeros(2, 3).masked_fill(torch.ones(2, 3).bool(), -1.0); torch.zeros(4, 3).flip(0); torch.roll(torch.zeros(4, 3), 1); torch.zeros(3, 4).narrow(1, 0, 2)
torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")[0]; torch.meshgrid([torch.arange(2), torch.arange(3)], indexing="xy")[1]; torch.stack(torch.meshgrid([torch.arange(2), torch.arange(3)], indexing="ij")).flatten(1); torch.hann_window(8); torch.zeros(5).topk(2)[1]; torch.zeros(4, 2).index_select(0, torch.tensor([0, 2]))
nn.Parameter(torch.ones(2)).to(torch.float16); nn.Parameter(torch.ones(2)).clone(); nn.Parameter(torch.ones(2)) * 0.1; nn.Parameter(torch.ones(2, 3)).data; nn.Linear(2, 3).weight.t(); torch.empty(2, 3).normal_(0, 1); nn.init.zeros_(torch.empty(4)); nn.init.trunc_normal_(torch.empty(2, 2), std=0.02)
"""


@pytest.mark.parametrize("line", EXPRESSIONS.strip().splitlines())
def test_shape_and_dtype_are_torchs(agrees: Callable[[str], Graph], line: str) -> None:
    body = "".join(
        f"        self.register_buffer('b{i}', ({expression.strip()}).detach())\n"
        for i, expression in enumerate(line.split(";"))
    )
    agrees(f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}")


VALUES = """
(torch.tensor([200, 5], dtype=torch.uint8) + torch.tensor([100, 3], dtype=torch.uint8)).tolist(), (torch.tensor([100], dtype=torch.int8) * 2).tolist(), (torch.tensor([2**31 - 1], dtype=torch.int32) + 1).tolist(), (torch.tensor([2**63 - 1]) + 1).tolist()
torch.tensor([300, -1, 70000]).to(torch.uint8).tolist(), torch.tensor([300, -1, 70000]).short().tolist(), (1 - torch.tensor([3], dtype=torch.uint8)).tolist(), (-torch.tensor([1], dtype=torch.uint8)).tolist(), torch.tensor([-1], dtype=torch.uint8).tolist(), torch.arange(250, 260).to(torch.uint8).tolist()
(torch.tensor([44], dtype=torch.uint8) == 300).tolist(), (torch.tensor([44], dtype=torch.uint8) < 300).tolist(), (torch.tensor([44], dtype=torch.uint8) // 300).tolist(), (torch.tensor([7], dtype=torch.uint8) % -3).tolist(), torch.tensor([-128], dtype=torch.int8).abs().tolist(), (torch.tensor([3], dtype=torch.int8) ** 50).tolist()
torch.fmod(torch.tensor([-7, 7]), 3).tolist(), torch.tensor([-7.5, 7.5]).fmod(-2).tolist(), torch.remainder(torch.tensor([-7, 7]), 3).tolist(), (torch.tensor([-7.5]) % 2).tolist(), torch.tensor([200], dtype=torch.uint8).sum().tolist()
[x.item() for x in torch.linspace(0, 0.1, 12)]
torch.linspace(0, 0.3, 24).tolist(), torch.linspace(0.0, 0.2, 7).tolist(), torch.linspace(0, 0, 3).tolist(), torch.linspace(1, 0, 4).tolist(), torch.linspace(0, 1, 1).tolist()
torch.arange(4).tolist(), torch.diff(torch.tensor([1, 4, 9])).int().tolist(), torch.arange(0, 1, 0.25).tolist(), torch.arange(3).sum().item(), torch.tensor([[1, 2], [3, 4]]).tolist(), (torch.arange(3) * 2 + 1).tolist()
torch.ones(2, 3).shape, torch.ones(2, 3).size(1), torch.ones(2, 3).size(), torch.ones(2, 3).numel(), torch.ones(2, 3).dim(), torch.ones(2, 3).ndim, len(torch.ones(2, 3)), torch.ones(2, 3).shape[-1]
tuple(torch.zeros(1, 2).shape) + (3,), torch.Size([2, 3]).numel(), torch.zeros(4, 5).shape[1:], list(torch.zeros(4, 5).shape), torch.ones(2, 3).shape == (2, 3)
[t.shape[0] for t in torch.zeros(5, 2).split(2)], [int(i) for i in torch.arange(3)], torch.tensor([3, 4]).prod().item(), int(torch.tensor(5)), float(torch.tensor(0.5)), bool(torch.tensor(1)), torch.tensor([1, 2])[1].item()
[round(x, 4) for x in (torch.arange(4).float() / 4).tolist()], torch.tensor([1, 2]).max().item(), torch.stack([torch.tensor(1), torch.tensor(2)]).tolist(), torch.eye(2).tolist(), torch.cat([torch.zeros(1), torch.ones(1)]).tolist()
torch.finfo(torch.float16).bits, torch.finfo(torch.float16).eps, torch.finfo(torch.float16).max, torch.finfo(torch.float16).min, torch.finfo(torch.float16).resolution, torch.finfo(torch.float16).smallest_normal, torch.finfo(torch.float16).tiny, torch.finfo(torch.float16).dtype
torch.finfo(torch.bfloat16).bits, torch.finfo(torch.bfloat16).eps, torch.finfo(torch.bfloat16).max, torch.finfo(torch.bfloat16).min, torch.finfo(torch.bfloat16).resolution, torch.finfo(torch.bfloat16).smallest_normal, torch.finfo(torch.bfloat16).tiny, torch.finfo(torch.bfloat16).dtype
torch.finfo(torch.float32).bits, torch.finfo(torch.float32).eps, torch.finfo(torch.float32).max, torch.finfo(torch.float32).min, torch.finfo(torch.float32).resolution, torch.finfo(torch.float32).smallest_normal, torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).dtype
torch.finfo(torch.float64).bits, torch.finfo(torch.float64).eps, torch.finfo(torch.float64).max, torch.finfo(torch.float64).min, torch.finfo(torch.float64).resolution, torch.finfo(torch.float64).smallest_normal, torch.finfo(torch.float64).tiny, torch.finfo(torch.float64).dtype
torch.finfo(torch.float8_e4m3fn).bits, torch.finfo(torch.float8_e4m3fn).eps, torch.finfo(torch.float8_e4m3fn).max, torch.finfo(torch.float8_e4m3fn).min, torch.finfo(torch.float8_e4m3fn).resolution, torch.finfo(torch.float8_e4m3fn).smallest_normal, torch.finfo(torch.float8_e4m3fn).tiny, torch.finfo(torch.float8_e4m3fn).dtype
torch.finfo(torch.float8_e5m2).bits, torch.finfo(torch.float8_e5m2).eps, torch.finfo(torch.float8_e5m2).max, torch.finfo(torch.float8_e5m2).min, torch.finfo(torch.float8_e5m2).resolution, torch.finfo(torch.float8_e5m2).smallest_normal, torch.finfo(torch.float8_e5m2).tiny, torch.finfo(torch.float8_e5m2).dtype
torch.finfo(torch.complex64).bits, torch.finfo(torch.complex64).eps, torch.finfo(torch.complex64).max, torch.finfo(torch.complex64).min, torch.finfo(torch.complex64).resolution, torch.finfo(torch.complex64).smallest_normal, torch.finfo(torch.complex64).tiny, torch.finfo(torch.complex64).dtype
torch.iinfo(torch.int8).bits, torch.iinfo(torch.int8).max, torch.iinfo(torch.int8).min, torch.iinfo(torch.int8).dtype, torch.iinfo(torch.uint8).bits, torch.iinfo(torch.uint8).max, torch.iinfo(torch.uint8).min, torch.iinfo(torch.uint8).dtype, torch.iinfo(torch.int64).bits, torch.iinfo(torch.int64).max, torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).dtype, torch.iinfo(torch.uint32).bits, torch.iinfo(torch.uint32).max, torch.iinfo(torch.uint32).min, torch.iinfo(torch.uint32).dtype
torch.finfo().max, torch.finfo(torch.zeros(2).half().dtype).min, torch.zeros(2).masked_fill(torch.zeros(2) > 0, torch.finfo(torch.float32).min).shape, -torch.finfo(torch.float16).max
torch.finfo(torch.float32) == torch.finfo(torch.float32), torch.finfo(torch.float32) != torch.finfo(torch.float32), torch.finfo(torch.float16) == torch.finfo(torch.bfloat16), torch.iinfo(torch.int8) == torch.iinfo(torch.int8), torch.iinfo(torch.int8) != torch.iinfo(torch.uint8), torch.finfo() == torch.finfo(torch.complex64), torch.finfo(torch.float32) == torch.iinfo(torch.int32)
torch.finfo(torch.float32) in (torch.finfo(torch.float32),), torch.iinfo(torch.int8) in [torch.iinfo(torch.int8)], torch.finfo(torch.float32) in {1: torch.finfo(torch.float64)}.values(), [torch.finfo()] == [torch.finfo()], [torch.finfo()].index(torch.finfo()), [torch.finfo()].count(torch.finfo()), torch.finfo() is torch.finfo(), torch.finfo(type=torch.float16).bits, torch.finfo() == 3, torch.finfo() != None
torch.zeros(2).dtype == torch.float32, torch.zeros(2).dtype is torch.float, torch.long == torch.int64, torch.arange(3).dtype == torch.float, torch.float16.is_floating_point, torch.int8.is_floating_point
torch.zeros(2).requires_grad, nn.Parameter(torch.zeros(2)).requires_grad, isinstance(nn.Parameter(torch.zeros(1)), torch.Tensor), isinstance(torch.zeros(1), nn.Parameter), torch.is_tensor(torch.zeros(1)), torch.is_tensor(3)
torch.device("cuda", 1).type, torch.device("cpu").type, torch.device("cuda:0").index, torch.zeros(1).device.type, torch.jit.is_scripting(), torch.is_grad_enabled(), nn.Linear(2, 3).weight.shape, nn.Conv2d(1, 2, 3).weight[0].numel()
"""


@pytest.mark.parametrize("line", VALUES.strip().splitlines())
def test_values_are_torchs(evaluated: Callable[[str], Any], line: str) -> None:
    prelude = "import torch\nfrom torch import nn\n"
    namespace: dict[str, Any] = {}
    exec(f"{prelude}RESULT = ({line})", namespace)
    assert evaluated(f"{prelude}RESULT = ({line})") == namespace["RESULT"]


@pytest.mark.parametrize(
    "expression",
    [
        "torch.rand(2).tolist()",
        "torch.zeros(2)[torch.rand(1) > 0.5]",
        "torch.load('x.pt')",
        "torch.get_rng_state()",
        "torch.linalg.svd(torch.zeros(2, 2))",
        "torch.fft.fft(torch.zeros(4))",
        "torch.nonzero(torch.rand(3)).shape",
    ],
)
def test_what_cannot_be_known_is_unknown(evaluated: Any, expression: str) -> None:
    assert evaluated(f"import torch\nRESULT = {expression}") is evaluated.UNKNOWN


@pytest.mark.parametrize(
    "expression",
    [
        "torch.zeros(2, 3).view(4, 2)",
        "torch.zeros(2, 3) + torch.zeros(4)",
        "torch.zeros(2, 3) @ torch.zeros(2, 3)",
        "torch.tensor(300, dtype=torch.uint8)",
        "torch.tensor([1, -129], dtype=torch.int8)",
        "torch.full((2,), 300, dtype=torch.uint8)",
        "torch.zeros(2, dtype=torch.uint8).fill_(300)",
        "torch.zeros(3).chunk(0)",
        "torch.zeros(3).split(0)",
        "torch.zeros(3).split(-1)",
        "torch.zeros(3)[1, 1]",
        "{torch.finfo(torch.float32)}",
        "{torch.iinfo(torch.int8): 1}",
        "hash(torch.finfo())",
        "{}.get(torch.finfo())",
        "torch.finfo(torch.float32, 3)",
        "torch.finfo(torch.float32, type=3)",
        "torch.finfo(dtype=torch.float32)",
        "torch.finfo('float32')",
        "torch.finfo(None)",
        "torch.finfo([torch.float32])",
        "torch.finfo(torch.ones(1))",
        "torch.iinfo()",
        "torch.iinfo(torch.int8, torch.int8)",
        "setattr(torch.finfo(), 'max', 3)",
        "setattr(torch.iinfo(torch.int8), 'other', 3)",
        "delattr(torch.finfo(), 'max')",
    ],
)
def test_what_torch_refuses_is_refused(predict_source: Callable[..., Graph], expression: str) -> None:
    import torch

    with pytest.raises((RuntimeError, IndexError, TypeError, AttributeError)):
        eval(expression, {"torch": torch})
    graph = predict_source(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = {expression}\n"
    )
    assert any("raises" in problem.message for problem in graph.problems)


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.no_grad()",
        "@torch.jit.ignore",
        "@torch.jit.export",
        "@torch.compiler.disable",
        "@torch.inference_mode()",
    ],
)
def test_decorators_of_torch_are_transparent(predict_source: Callable[..., Graph], decorator: str) -> None:
    graph = predict_source(f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.build()

            {decorator}
            def build(self):
                with torch.no_grad():
                    self.fc = nn.Linear(1, 1)
        """)
    assert [node.path for node in graph.modules] == ["", "fc"]
    assert graph.problems == ()
