"""What a trace costs: CPU time as a ratio to the bare forward.

One process, one thread, no gradients, batch 1. In each round the forward under the recorder, a whole trace and the other
tools run one after the other, a bare forward just before each; each is divided by that bare forward, and the median of
these ratios is printed. torchlens leaves torch's functions wrapped, and runs when all else is measured.

- *recorded*: the forward, with all that the recorder does while it runs: putting the patches on and taking them off,
  registering parameters, calls and operations with their tensors and call sites, letting go of the tensors.
- *whole trace*: `modgraph.trace(model, x)`: besides that reading the tree of modules with parameters, hooks and
  constructor arguments, keeping and restoring the model's state, and the finished graph.
- *torchinfo*, *torchview*, *torchlens*: one call of `summary`, `draw_graph` and `trace`.

Run as `python tests/benchmarks/trace_overhead.py [NAME ...] [--path DIR]`: the other tools are taken from DIR or left out.
"""

from __future__ import annotations

import argparse
import functools
import gc
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module

import torch
from torch import nn

import modgraph
from modgraph.tracing.basics.tensors import quietly
from modgraph.tracing.recording.calls import recorded_calls
from modgraph.tracing.recording.recorder import Recorder
from modgraph.tracing.recording.tree import Tree


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


class VitLayer(nn.Module):
    """A layer of a vision transformer as torchvision writes it: norm first, attention by `nn.MultiheadAttention`."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.attention = nn.MultiheadAttention(hidden, heads, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.norm2 = nn.LayerNorm(hidden)
        self.mlp = nn.Sequential(
            nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Dropout(0.0), nn.Linear(4 * hidden, hidden), nn.Dropout(0.0)
        )

    def forward(self, x):
        y = self.norm1(x)
        attended, _ = self.attention(y, y, y, need_weights=False)
        x = x + self.dropout(attended)
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """ViT-B/16."""

    def __init__(self, hidden: int = 768, layers: int = 12, heads: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.positions = nn.Parameter(torch.zeros(1, 197, hidden))
        self.layers = nn.Sequential(*[VitLayer(hidden, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


def vit_b_16() -> tuple[nn.Module, torch.Tensor]:
    return Vit(), torch.randn(1, 3, 224, 224)


def lstm() -> tuple[nn.Module, torch.Tensor]:
    return nn.LSTM(16, 32), torch.randn(8, 1, 16)


MODELS: dict[str, tuple[Callable[[], tuple[nn.Module, torch.Tensor]], int, float | None]] = {
    "lstm": (lstm, 40, None),
    "resnet50": (resnet50, 9, 1.2),
    "vit_b_16": (vit_b_16, 5, 1.2),
    "bert12": (bert12, 15, 1.7),
    "mlp1000": (mlp1000, 9, 3.0),
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


Tool = Callable[[nn.Module, torch.Tensor], object]


def whole_trace(model: nn.Module, x: torch.Tensor) -> object:
    return modgraph.trace(model, x)


def torchinfo(model: nn.Module, x: torch.Tensor) -> object:
    return import_module("torchinfo").summary(model, input_data=x, verbose=0)


def torchview(model: nn.Module, x: torch.Tensor) -> object:
    return import_module("torchview").draw_graph(model, input_data=x)


def torchlens(model: nn.Module, x: torch.Tensor) -> object:
    return import_module("torchlens").trace(model, x)


OTHERS: dict[str, Tool] = {"torchinfo": torchinfo, "torchview": torchview, "torchlens": torchlens}
LASTING = {"torchlens": 3}
"""Rounds of what leaves torch's functions wrapped, which costs whoever comes after it: it comes last of all."""


def ratios(model: nn.Module, x: torch.Tensor, rounds: int, others: dict[str, Tool]) -> dict[str, float]:
    """Median seconds of the bare forward, and the median ratio of each of the others to the bare one just before it."""
    found: dict[str, list[float]] = {}
    alternating = {"whole trace": whole_trace, **{name: others[name] for name in others if name not in LASTING}}
    with torch.no_grad():
        for number in range(-WARM, rounds):
            runs = {name: functools.partial(tool, model, x) for name, tool in alternating.items()}
            for name, run in {"recorded": recorded(model, x), **runs}.items():
                gc.collect()
                bare = min(timed(lambda: model(x)) for _ in range(2))  # the first one finds cold caches
                seconds = timed(run)
                if number >= 0:
                    found.setdefault("bare", []).append(bare)
                    found.setdefault(name, []).append(seconds / bare)
    return {name: statistics.median(values) for name, values in found.items()}


def lasting_ratio(model: nn.Module, x: torch.Tensor, bare: float, name: str) -> float:
    """Of one of `LASTING`, to a bare forward of before that took `bare` seconds."""
    with torch.no_grad():
        OTHERS[name](model, x)
        return statistics.median(timed(lambda: OTHERS[name](model, x)) for _ in range(LASTING[name])) / bare


WARM = 2
"""Rounds that do not count."""


def table(names: list[str], others: dict[str, Tool]) -> None:
    """Print the ratios of each model."""
    columns = ["recorded", "target", "whole trace", *others]
    models = {name: MODELS[name][0]() for name in names}
    found = {name: ratios(model.eval(), x, MODELS[name][1], others) for name, (model, x) in models.items()}
    for tool in LASTING.keys() & others.keys():
        for name, (model, x) in models.items():
            found[name][tool] = lasting_ratio(model, x, found[name]["bare"], tool)
    print("| model | bare forward, ms | " + " | ".join(columns) + " |")
    print("|---" * 2 + "|--:" * len(columns) + "|")
    for name in names:
        target = MODELS[name][2]
        cells = [
            f"{found[name][column]:.2f}" if column != "target" else f"≤ {target}" * bool(target) for column in columns
        ]
        print(f"| {name} | {found[name]['bare'] * 1e3:.2f} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--path", help="where the other tools are installed")
    parser.add_argument("--without", nargs="*", default=[], help="other tools that are left out")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    others: dict[str, Tool] = {}
    if arguments.path is not None:
        sys.path.append(arguments.path)
        others = {name: tool for name, tool in OTHERS.items() if name not in arguments.without}
    table(arguments.names, others)


if __name__ == "__main__":
    main()
