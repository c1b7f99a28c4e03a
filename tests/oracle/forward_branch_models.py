"""Models whose `forward` goes several ways, each written in a few lines: `forward_branches.py` runs them all ways.

`WRITTEN` says of each what it is given, and what the prediction is not told: arguments of `forward`, arguments of the
constructor, the mode, the numbers in the input.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Branching:
    """One model, and its settings: every combination is run."""

    name: str
    """A class or function of this file."""
    inputs: tuple[str, ...] = ("2x4",)
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Arguments of `forward`, and what each may be."""
    built: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The same of the constructor: without defaults, so that the prediction knows none."""
    modes: tuple[bool, ...] = (False, True)
    """Whether it trains."""
    fills: tuple[float, ...] = (1.0,)
    """Of which numbers the inputs are full."""


FLAG = (False, True)
SIGNS = (1.0, -1.0)


class ReturnsFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x, return_features=False):
        x = self.body(x)
        if return_features:
            return x
        return self.head(x)


class ModeByText(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 5), nn.Linear(4, 6)

    def forward(self, x, mode="a"):
        if mode == "a":
            x = self.a(x)
        elif mode == "b":
            x = self.b(x)
        else:
            x = self.c(x)
        return x.relu()


class DataDecides(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.up, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        if x.sum() > 0:
            x = self.up(self.first(x))
        return self.head(x)


class LoopWithBreak(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        for step in self.steps:
            x = step(x)
            if x.mean() > 0.1:
                break
        else:
            x = self.steps[0](x)
        return self.head(x)


class LoopWithContinue(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.LayerNorm(4)

    def forward(self, x, skip=()):
        for number, step in enumerate(self.steps):
            if number in skip:
                continue
            x = self.norm(step(x))
        return x


class WhileData(nn.Module):
    def __init__(self):
        super().__init__()
        self.step, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        turns = 0
        while x.abs().sum() > 1 and turns < 3:
            x = self.step(x) * 0.1
            turns += 1
        return self.head(x)


class TurnsByArgument(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x, turns=2):
        for _ in range(turns):
            x = torch.tanh(self.cell(x))
        return self.head(x)


class TriesAndExcepts(nn.Module):
    def __init__(self):
        super().__init__()
        self.good, self.spare, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, key="good"):
        try:
            layer = {"good": self.good}[key]
            x = layer(x)
        except KeyError:
            x = self.spare(x)
        else:
            x = x + 1
        finally:
            x = self.last(x)
        return x


class RaisesInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.check, self.plain = Refusing(), nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.check(x)
        except ValueError:
            return self.plain(x)


class Refusing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.after = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x):
        y = self.inner(x)
        if x.min() < 0:
            raise ValueError("negative")
        return self.after(y)


class EarlyReturns(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, depth=3):
        x = self.a(x)
        if depth == 1:
            return x
        x = self.b(x)
        if depth == 2:
            return x
        return self.c(x)


class NestedConditions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(4, 4) for _ in range(4))

    def forward(self, x, wide=False, deep=False):
        if wide:
            if deep:
                x = self.a(self.b(x))
            else:
                x = self.a(x)
        elif deep or self.training:
            x = self.c(x)
        return self.d(x) if not (wide and deep) else x


class ChosenByIndex(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 5), nn.Sequential(nn.Linear(4, 5), nn.ReLU()), nn.Linear(4, 6)])

    def forward(self, x, which=0):
        return self.experts[which](x)


class ChosenByKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"cat": nn.Linear(4, 2), "dog": nn.Sequential(nn.Linear(4, 3), nn.ReLU())})

    def forward(self, x, task="cat"):
        return self.heads[task](x)


class ChosenByArgmax(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        return self.experts[int(self.gate(x).sum(0).argmax())](x)


class Trains(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.auxiliary = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        x = self.body(x)
        if self.training:
            return self.head(x), self.auxiliary(x)
        return self.head(x)


class TrainsBelow(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.norm = Trains(), nn.BatchNorm1d(2)

    def forward(self, x):
        found = self.inner(x)
        x = found[0] if isinstance(found, tuple) else found
        return self.norm(x)


class Flagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.use_b = False

    def forward(self, x):
        x = self.a(x)
        return self.b(x) if self.use_b else x


def flagged_later(use_b):
    model = Flagged()
    model.use_b = use_b
    return model


class Flags(nn.Module):
    def __init__(self, residual, norm):
        super().__init__()
        self.residual = residual
        self.norm_kind = norm
        self.body, self.short = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
        self.layer_norm, self.batch_norm = nn.LayerNorm(4), nn.BatchNorm1d(4)

    def forward(self, x):
        y = self.body(x)
        if self.residual:
            y = y + self.short(x)
        if self.norm_kind == "layer":
            y = self.layer_norm(y)
        elif self.norm_kind == "batch":
            y = self.batch_norm(y)
        return y


class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.step, self.stop = nn.Linear(4, 4), nn.Linear(4, 2)

    def descend(self, x, depth):
        if depth == 0:
            return self.stop(x)
        return self.descend(self.step(x), depth - 1)

    def forward(self, x, depth=2):
        return self.descend(x, depth)


class Tree(nn.Module):
    """Modules that call themselves down a tree."""

    def __init__(self, depth=2):
        super().__init__()
        self.value = nn.Linear(4, 4)
        self.left = Tree(depth - 1) if depth else None
        self.right = Tree(depth - 1) if depth else None

    def forward(self, x):
        x = self.value(x)
        if self.left is None:
            return x
        return self.left(x) if x.sum() > 0 else self.right(x)


class ExtraInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
        self.loss = nn.MSELoss()

    def forward(self, x, condition=None, target=None):
        x = self.own(x)
        if condition is not None:
            x = x + self.other(condition)
        if target is None:
            return {"out": x}
        return {"out": x, "loss": self.loss(x, target)}


class Collects(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.head = nn.Linear(4, 2)

    def forward(self, x, output_hidden_states=None, return_dict=None):
        kept = () if output_hidden_states else None
        for layer in self.layers:
            if output_hidden_states:
                kept = (*kept, x)
            x = layer(x)
        x = self.head(x)
        if not return_dict:
            return tuple(each for each in (x, kept) if each is not None)
        return {"logits": x, "hidden_states": kept}


class DropsLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            if self.training and torch.rand([]) < 0.5:
                continue
            x = layer(x)
        return x


class StopsAtLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 6), nn.Linear(6, 7))

    def forward(self, x, until=None):
        for name, layer in self.layers.named_children():
            x = layer(x)
            if name == until:
                return x
        return F.softmax(x, -1)


class WantsFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 16), nn.Linear(16, 32)])
        self.heads = nn.ModuleList([nn.Linear(8, 2), nn.Linear(16, 2), nn.Linear(32, 2)])

    def forward(self, x, levels=(2,)):
        found = []
        for number, stage in enumerate(self.stages):
            x = stage(x)
            if number in levels:
                found.append(self.heads[number](x))
        return found


class SwitchesMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 3), nn.Linear(3, 4)

    def encode(self, x):
        return self.enc(x)

    def decode(self, x):
        return self.dec(x)

    def reconstruct(self, x):
        return self.decode(self.encode(x))

    def forward(self, x, method="reconstruct"):
        return getattr(self, method)(x)


class ActsByTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.act, self.norm = nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4)

    def forward(self, x, order="act norm"):
        x = self.body(x)
        for name in order.split():
            x = getattr(self, name)(x)
        return x


class CachesResult(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x, use_cache=True, past=None):
        h = self.encode(x) if past is None else past
        out = self.head(h)
        return (out, h) if use_cache else out


class ShortCircuits(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.a, self.b = nn.Linear(4, 1), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, enabled=True):
        if enabled and self.gate(x).mean() > 0:
            return self.a(x)
        return self.b(x)


class ChecksGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.pair = nn.Linear(4, 1), nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        order = self.pair if self.gate(x).sum() > 0 else reversed(self.pair)
        for layer in order:
            x = layer(x)
        return x


class NestedLoops(nn.Module):
    def __init__(self):
        super().__init__()
        self.outer, self.inner, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x, outer=1, inner=2):
        for _ in range(outer):
            x = self.outer(x)
            for _ in range(inner):
                x = self.inner(x)
        return self.head(x)


class MatchesMode(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, mode="a"):
        match mode:
            case "a":
                return self.a(x)
            case "b" | "both":
                x = self.b(x)
                return self.a(x) if mode == "both" else x
            case _:
                return self.c(x)


class SetsOwnFlag(nn.Module):
    """The first call makes another of the second."""

    def __init__(self):
        super().__init__()
        self.start, self.body = nn.Linear(4, 4), nn.Linear(4, 4)
        self.is_warm = False

    def once(self, x, warm):
        if warm:
            self.is_warm = True
        if not self.is_warm:
            x = self.start(x)
        return self.body(x)

    def forward(self, x, warm=False):
        return self.once(self.once(x, warm), False)


class SuppressesErrors(nn.Module):
    def __init__(self):
        super().__init__()
        self.check, self.last = Refusing(), nn.Linear(4, 2)

    def forward(self, x):
        with contextlib.suppress(ValueError):
            x = self.check(x)
        return self.last(x)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.check, self.after = Refusing(), nn.Linear(4, 4)

    def forward(self, x):
        return self.after(self.check(x))


class CaughtFurtherUp(nn.Module):
    """What two calls deep is raised, in a loop."""

    def __init__(self):
        super().__init__()
        self.tries = nn.ModuleList(Outer() for _ in range(2))
        self.spare, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        for each in self.tries:
            try:
                x = each(x)
            except ValueError:  # noqa: PERF203
                x = self.spare(x)
                continue
            finally:
                x = x + 1
        return self.last(x)


class ChoosesLayer(nn.Module):
    """The module is chosen first, and called later."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 3)])

    def forward(self, x, second=False):
        layer = self.b if second else self.a
        x = layer(x)
        return self.heads[1 if x.mean() > 0 else 0](x)


class BuildsList(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.mid, self.last = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x, relu=True, last=True):
        layers = [self.first]
        if relu:
            layers.append(self.mid)
        if last:
            layers += [self.last]
        for layer in layers:
            x = layer(x)
        return x


class SlicesLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.tail = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def forward(self, x, start=0, stop=None):
        for layer in self.layers[start:stop]:
            x = layer(x)
        return self.tail[:stop](x)


class ComprehendsLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({name: nn.Linear(4, 2) for name in "abc"})

    def forward(self, x, wanted=("a", "c")):
        found = [layer(x) for name, layer in self.layers.items() if name in wanted]
        return torch.cat(found, -1) if found else x


class LoopsForever(nn.Module):
    def __init__(self):
        super().__init__()
        self.step, self.check, self.end = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 2)

    def forward(self, x):
        turns = 0
        while True:
            x = self.step(x)
            turns += 1
            if turns >= 4 or self.check(x).mean() > 0.2:
                break
        return self.end(x)


class SearchesFirst(nn.Module):
    """Stops at the first of several that does."""

    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
        self.yes, self.no = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.yes(x) if any(gate(x).mean() > 0.3 for gate in self.gates) else self.no(x)


class ReturnsFromLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.exits = nn.ModuleList(Exit() for _ in range(3))
        self.last = nn.Linear(4, 2)

    def forward(self, x, confident=0.2):
        for each in self.exits:
            x, out = each(x)
            if out.max() > confident:
                return out
        return self.last(x)


class Exit(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.body(x)
        return x, self.head(x)


class SwapsModule(nn.Module):
    """Puts another module in the place of one, in `forward`."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))
        self.current = [self.a]

    def forward(self, x, swap=False):
        if swap:
            self.current[0] = self.b
        x = self.current[0](x)
        self.current[0] = self.a
        return self.current[0](x)


class CallsByHand(nn.Module):
    """`forward` called past `__call__`, and a method that trains alone calls."""

    def __init__(self):
        super().__init__()
        self.inner, self.loss = Trains(), nn.Linear(2, 1)

    def losses(self, out, extra):
        return self.loss(out), self.loss(extra)

    def forward(self, x):
        found = self.inner.forward(x)
        if not self.training:
            return found
        return self.losses(*found)


class ByShape(nn.Module):
    """Sizes decide, which are known; and one that is not."""

    def __init__(self):
        super().__init__()
        self.flat, self.deep, self.few = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.deep(x) if x.dim() == 3 else self.flat(x)
        rows = x[x[:, 0] > 0]
        if rows.shape[0] == 0:
            return x
        return self.few(rows)


class Yields(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def steps(self, x, skip_last):
        for number, layer in enumerate(self.layers):
            if skip_last and number == 2:
                return
            x = layer(x)
            yield x

    def forward(self, x, skip_last=False):
        return list(self.steps(x, skip_last))


class Optional(nn.Module):
    """Parts that may be None, and `or` between modules."""

    def __init__(self, norm, pool):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4) if norm else None
        self.pool = nn.AdaptiveAvgPool1d(2) if pool else nn.Identity()

    def forward(self, x):
        x = self.body(x)
        if self.norm is not None:
            x = self.norm(x)
        return self.pool(x)


class ModeOfPart(nn.Module):
    """One part stays in eval mode, whatever is said to the model."""

    def __init__(self):
        super().__init__()
        self.frozen, self.free = Trains(), Trains()

    def train(self, mode=True):
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, x):
        x = self.frozen(x)
        if isinstance(x, tuple):
            x = x[0]
        return x


class EitherTrains(nn.Module):
    """Of two parts that go another way in training, one is there."""

    def __init__(self, wrapped):
        super().__init__()
        self.part = nn.Sequential(nn.Linear(4, 4), Trains()) if wrapped else Trains()

    def forward(self, x):
        return self.part(x)


class SomeInRow(nn.Module):
    def __init__(self, relu):
        super().__init__()
        layers = [nn.Linear(4, 4)]
        if relu:
            layers.append(nn.ReLU())
        self.row = nn.Sequential(*layers)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.row(x))


class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.use = True

    def forward(self, x, **options):
        x = self.a(x)
        if options.get("more", self.use):
            x = self.b(x)
        if "again" in options:
            x = self.b(x)
        return x


WRITTEN: tuple[Branching, ...] = (
    Branching("ReturnsFeatures", options={"return_features": FLAG}),
    Branching("ModeByText", options={"mode": ("a", "b", "c")}),
    Branching("DataDecides", fills=SIGNS),
    Branching("LoopWithBreak", fills=(5.0, -5.0, 0.0, 50.0)),
    Branching("LoopWithContinue", options={"skip": ((), (0,), (0, 1, 2))}),
    Branching("WhileData", fills=(0.0, 5.0, 100.0)),
    Branching("TurnsByArgument", options={"turns": (0, 1, 4)}),
    Branching("TriesAndExcepts", options={"key": ("good", "bad")}),
    Branching("RaisesInside", fills=SIGNS),
    Branching("EarlyReturns", options={"depth": (1, 2, 3)}),
    Branching("NestedConditions", options={"wide": FLAG, "deep": FLAG}),
    Branching("ChosenByIndex", options={"which": (0, 1, 2, -1)}),
    Branching("ChosenByKey", options={"task": ("cat", "dog")}),
    Branching("ChosenByArgmax", fills=(1.0, -1.0, 7.0)),
    Branching("Trains"),
    Branching("TrainsBelow"),
    Branching("flagged_later", built={"use_b": FLAG}),
    Branching("Flags", built={"residual": FLAG, "norm": ("layer", "batch", None)}),
    Branching("Recursive", options={"depth": (0, 1, 3)}),
    Branching("Tree", fills=SIGNS),
    Branching("ExtraInput", options={"condition": (None, "2x4"), "target": (None, "2x4")}),
    Branching("Collects", options={"output_hidden_states": (None, True), "return_dict": (None, True, False)}),
    Branching("DropsLayers"),
    Branching("StopsAtLayer", options={"until": (None, "0", "2")}),
    Branching("WantsFeatures", options={"levels": ((2,), (0, 1), ())}),
    Branching("SwitchesMethod", options={"method": ("reconstruct", "encode")}),
    Branching("ActsByTable", options={"order": ("act norm", "norm", "")}),
    Branching("CachesResult", options={"use_cache": FLAG, "past": (None, "2x4")}),
    Branching("ShortCircuits", options={"enabled": FLAG}, fills=SIGNS),
    Branching("ChecksGate", fills=SIGNS),
    Branching("NestedLoops", options={"outer": (0, 1, 2), "inner": (0, 2)}),
    Branching("MatchesMode", options={"mode": ("a", "b", "both", "z")}),
    Branching("SetsOwnFlag", options={"warm": FLAG}),
    Branching("SuppressesErrors", fills=SIGNS),
    Branching("CaughtFurtherUp", fills=SIGNS),
    Branching("ChoosesLayer", options={"second": FLAG}, fills=SIGNS),
    Branching("BuildsList", options={"relu": FLAG, "last": FLAG}),
    Branching("SlicesLayers", options={"start": (0, 2), "stop": (None, 3)}),
    Branching("ComprehendsLayers", options={"wanted": (("a", "c"), (), ("b",))}),
    Branching("LoopsForever", fills=(1.0, -1.0, 9.0)),
    Branching("SearchesFirst", fills=(1.0, -1.0, 9.0)),
    Branching("ReturnsFromLoop", options={"confident": (0.2, 99.0, -99.0)}),
    Branching("SwapsModule", options={"swap": FLAG}),
    Branching("CallsByHand"),
    Branching("ByShape", fills=SIGNS),
    Branching("Yields", options={"skip_last": FLAG}),
    Branching("Optional", built={"norm": FLAG, "pool": FLAG}),
    Branching("ModeOfPart"),
    Branching("EitherTrains", built={"wrapped": FLAG}),
    Branching("SomeInRow", built={"relu": FLAG}),
    Branching("Decorated", options={"more": FLAG}),
)
