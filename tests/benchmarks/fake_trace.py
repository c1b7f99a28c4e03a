"""What a model too large for the machine costs: Llama 70B's shape, traced without weights on the command line's way.

Run as `python tests/benchmarks/fake_trace.py [LAYERS]`. It prints seconds of CPU and of the clock for the worker process
as a whole, the part of them after its imports, and the most memory that it ever held (VmHWM), each beside its target.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

SECONDS, MEGABYTES = 10.0, 1000.0
"""Targets: after imports, and for the whole worker."""


class RMSNorm(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x)


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    """Grouped queries: 64 heads share 8 keys and values."""

    def __init__(self, hidden: int, heads: int, shared: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, hidden // heads
        self.q_proj = nn.Linear(hidden, hidden, bias=False)
        self.k_proj = nn.Linear(hidden, shared * self.size, bias=False)
        self.v_proj = nn.Linear(hidden, shared * self.size, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, hidden = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.shared, self.size).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.shared, self.size).transpose(1, 2)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k = k.repeat_interleave(self.heads // self.shared, dim=1)
        v = v.repeat_interleave(self.heads // self.shared, dim=1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(attended.transpose(1, 2).reshape(batch, length, hidden))


class FeedForward(nn.Module):
    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, hidden: int, inner: int, heads: int, shared: int) -> None:
        super().__init__()
        self.input_norm = RMSNorm(hidden)
        self.attention = Attention(hidden, heads, shared)
        self.output_norm = RMSNorm(hidden)
        self.feed_forward = FeedForward(hidden, inner)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.input_norm(x), cos, sin)
        return x + self.feed_forward(self.output_norm(x))


class Llama(nn.Module):
    """Sizes of the 70B model: 70.6 billion parameters, 141 GB in half precision."""

    def __init__(self, layers: int = 80, hidden: int = 8192, inner: int = 28672, vocabulary: int = 128256) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Layer(hidden, inner, heads=64, shared=8) for _ in range(layers))
        self.norm = RMSNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.register_buffer("rates", 500000.0 ** (-torch.arange(0, hidden // 64, 2).float() / (hidden // 64)))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        angles = torch.outer(torch.arange(ids.shape[1], device=ids.device).float(), self.rates)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def main() -> None:
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    from modgraph.graph.events import StartEvent
    from modgraph.isolation import trace_in_process
    from modgraph.options import TraceOptions
    from modgraph.source.inputs import parse_input
    from modgraph.source.targets import parse_target

    target = parse_target(f"fake_trace.py:Llama({layers})", cwd=Path(__file__).parent)
    began, cpu_before = time.perf_counter(), _children()
    subprocess.run([sys.executable, "-c", _IMPORTS], check=True, cwd=Path(__file__).parents[2])
    imported, cpu_imports = time.perf_counter() - began, _children() - cpu_before
    began, cpu_before = time.perf_counter(), _children()
    built = []
    result = trace_in_process(
        target,
        [parse_input("ids=1x128:int64")],
        TraceOptions(device="fake"),
        on_event=lambda event: built.append(time.perf_counter()) if isinstance(event, StartEvent) else None,
    )
    whole, cpu = time.perf_counter() - began, _children() - cpu_before
    graph = result.graph
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"complete {graph.complete}  modules {len(graph.modules)}  calls {len(graph.calls)}  edges {len(graph.edges)}"
    )
    print(f"parameters {graph.model.parameters:,}")
    print(f"{'':22} {'clock s':>8} {'CPU s':>8}")
    print(f"{'worker':22} {whole:8.2f} {cpu:8.2f}")
    print(f"{'its imports':22} {imported:8.2f} {cpu_imports:8.2f}")
    print(f"{'after imports':22} {whole - imported:8.2f} {cpu - cpu_imports:8.2f}   target < {SECONDS}")
    print(f"{'graph from events':22} {began + whole - built[0]:8.2f}   from the model's being built to the end")
    print(f"{'memory (MB)':22} {memory:8.0f}            target < {MEGABYTES:.0f}")


_IMPORTS = (
    "import modgraph.worker, modgraph.tracing, modgraph.tracing.faking.fake, torch.fx.experimental.symbolic_shapes"
)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
