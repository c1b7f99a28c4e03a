"""What a trace costs: CPU time of a forward under the recorder as a ratio to the bare forward.

One process, one thread, interleaved rounds, batch 1, no gradients; the median of the rounds. Run as
`python tests/benchmarks/trace_overhead.py [NAME ...]`; each ratio is printed beside its target.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph
from modgraph.tracing.calls import recorded_calls
from modgraph.tracing.recorder import Recorder
from modgraph.tracing.tensors import quietly
from modgraph.tracing.tree import Tree


class Bottleneck(nn.Module):
    """A residual block as in ResNet-50."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != 4 * width:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


def resnet50() -> tuple[nn.Module, torch.Tensor]:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    channels = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    return nn.Sequential(*layers), torch.randn(1, 3, 224, 224)


class BertLayer(nn.Module):
    """Attention and feed-forward as BERT writes them: separate projections, plain matrix products."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)
        self.norm1 = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(0.1)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        attended = attended.transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.dropout(self.output(attended)))
        return self.norm2(x + self.dropout(self.down(self.act(self.up(x)))))


def bert12() -> tuple[nn.Module, torch.Tensor]:
    return nn.Sequential(*[BertLayer(256, 4) for _ in range(12)]), torch.randn(1, 64, 256)


class Mlp(nn.Module):
    """A thousand tiny layers: nothing but the cost of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(1000))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def mlp1000() -> tuple[nn.Module, torch.Tensor]:
    return Mlp(), torch.randn(1, 16)


def lstm() -> tuple[nn.Module, torch.Tensor]:
    return nn.LSTM(16, 32), torch.randn(8, 1, 16)


MODELS: dict[str, tuple[Callable[[], tuple[nn.Module, torch.Tensor]], int, float | None]] = {
    "mlp1000": (mlp1000, 25, 3.0),
    "bert12": (bert12, 25, 1.7),
    "resnet50": (resnet50, 9, 1.2),
    "lstm": (lstm, 200, None),
}


def timed(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def recorded(model: nn.Module, x: torch.Tensor) -> Callable[[], object]:
    """A forward under a fresh recorder, as a trace runs it, without what comes before and after."""
    recorder = Recorder(Tree(model))

    def run() -> object:
        with recorded_calls(recorder):
            with quietly():
                recorder.register_parameters()
                recorder.dataflow.bind(x, ("input:x",))
            with recorder.mode:
                result = model(x)
        recorder.dataflow.release()
        return result

    return run


def measured(model: nn.Module, x: torch.Tensor, rounds: int) -> tuple[float, float, float]:
    """Median seconds of the bare forward, of the recorded one, and of a whole trace with the graph at its end."""
    bare, under_recorder, whole = [], [], []
    with torch.no_grad():
        for number in range(rounds + 2):
            times = timed(lambda: model(x)), timed(recorded(model, x))
            if number % 5 == 0:
                whole.append(timed(lambda: trace_graph(model, (x,), {}, TraceOptions())))
            if number >= 2:
                bare.append(times[0])
                under_recorder.append(times[1])
    return statistics.median(bare), statistics.median(under_recorder), statistics.median(whole)


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'model':10} {'bare ms':>9} {'recorded':>9} {'target':>7} {'whole trace':>12}")
    for name in sys.argv[1:] or MODELS:
        build, rounds, target = MODELS[name]
        model, x = build()
        bare, under_recorder, whole = measured(model.eval(), x, rounds)
        print(f"{name:10} {bare * 1e3:9.2f} {under_recorder / bare:9.2f} {target or '':>7} {whole / bare:12.2f}")


if __name__ == "__main__":
    main()
