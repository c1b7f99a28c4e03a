"""A model whose forward changes one of everything that a model can reach.

A file of its own, as it is followed to what it imports when such a model is analysed. Load it by its path, under a name
in `sys.modules`.
"""

from __future__ import annotations

import builtins
import collections
import gc
import itertools
import logging
import os
import random
import signal
import sys
import threading
import types
import warnings
from typing import Any, ClassVar

import numpy
import torch
from torch import nn

COUNTER = 0
TABLE: dict[str, Any] = {"steps": []}
CACHE = torch.zeros(4)


class Hostile(nn.Module):
    """Has some of each: parameters, buffers in train mode, plain state."""

    kept_on_class: ClassVar[list[int]] = []
    count_on_class = 0

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
        self.register_buffer("scale", torch.ones(4))
        self.register_buffer("ema", torch.zeros(4), persistent=False)
        self.plain, self.steps, self.seen = torch.zeros(4), 0, collections.deque([1], maxlen=3)
        self.state = {"a": [1, {2}], "b": types.SimpleNamespace(n=1)}
        self.counts = collections.UserDict(n=1)
        self.numbers, self.generator = itertools.count(3), torch.Generator()
        self.array, self.python = numpy.zeros(3), random.Random(1)
        self.bound = self.state["a"].append

    def body(self, x: torch.Tensor) -> torch.Tensor:
        return self.spectral(self.norm(self.lin(x))) * self.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.change(x)
        return self.body(x)

    def change(self, x: torch.Tensor) -> None:
        pass


def counts_globally(self: Any, x: Any) -> None:
    global COUNTER
    COUNTER += 1
    TABLE["steps"].append(x)
    CACHE[1:].add_(1)


def writes_buffers(self: Any, x: Any) -> None:
    self.ema.mul_(0.9).add_(x.mean(0), alpha=0.1)
    self.scale.copy_(x[0])
    self.plain[1:].add_(3)
    self.lin.weight.data.add_(1)


def swaps_memory(self: Any, x: Any) -> None:
    self.scale.data = x[0].clone()
    self.ema.set_(torch.ones(4))
    self.plain.resize_(64).fill_(2)
    self.lin.bias.data = torch.zeros(4)


def changes_containers(self: Any, x: Any) -> None:
    self.steps += 1
    self.state["a"][1].add(7)
    self.state["b"].n += 1
    self.counts["n"] += 1
    self.seen.append(x)
    self.array[0] = next(self.numbers)
    self.new, self.python.x = x, self.python.random()
    torch.rand(1, generator=self.generator)
    self.bound(9)


def changes_the_tree(self: Any, x: Any) -> None:
    self.lin.weight.requires_grad_(False)
    self.lin.weight.grad = torch.ones(4, 4)
    self.norm.eval()
    self.extra = nn.Linear(4, 4)
    self.register_buffer("late", x)
    self.lin.register_forward_hook(lambda *_: None)
    self.lin.bias.register_hook(lambda gradient: gradient)
    nn.Module.__setattr__(self, "spectral", self._modules.pop("spectral"))


def changes_its_class(self: Any, x: Any) -> None:
    Hostile.count_on_class += 1
    Hostile.kept_on_class.append(1)
    Hostile.helper = lambda self: 1
    type(self).body = lambda self, x: self.lin(x)
    type(self).forward = lambda self, x: x


def changes_functions(self: Any, x: Any) -> None:
    changes_functions.calls = getattr(changes_functions, "calls", 0) + 1
    _collects(x)


def _collects(x: Any, cache: list[Any] = []) -> None:  # noqa: B006
    cache.append(x)


def _closure() -> Any:
    n = 0

    def counts(self: Any, x: Any) -> None:
        nonlocal n
        n += 1

    return counts


def sets_torch(self: Any, x: Any) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.use_deterministic_algorithms(True)
    torch.backends.mkldnn.set_flags(False)
    torch.set_float32_matmul_precision("medium")
    torch.autograd.set_detect_anomaly(True)
    torch.set_printoptions(precision=2)
    torch.set_grad_enabled(True)
    torch.set_grad_enabled(False)
    torch.manual_seed(5)


def enters_modes(self: Any, x: Any) -> None:
    torch.set_default_device("cpu")
    torch.autocast("cpu").__enter__()
    torch.utils._python_dispatch.TorchDispatchMode().__enter__()


def hooks_all_modules(self: Any, x: Any) -> None:
    nn.modules.module.register_module_forward_hook(lambda *_: None)
    nn.modules.module.register_module_parameter_registration_hook(lambda *_: None)


def sets_python(self: Any, x: Any) -> None:
    os.environ["MODGRAPH_TEST"] = "1"
    os.environ.pop("HOME", None)
    os.chdir("/")
    sys.path.insert(0, "/nowhere")
    sys.setrecursionlimit(5000)
    sys.setswitchinterval(0.02)
    random.seed(1)
    numpy.random.seed(1)
    warnings.simplefilter("ignore")
    logging.getLogger().setLevel(5)
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("torch").disabled = True
    gc.disable()
    gc.set_threshold(1)
    builtins.modgraph_was_here = 1
    signal.signal(signal.SIGTERM, lambda *_: None)
    sys.excepthook = print
    sys.setprofile(None)
    threading.settrace(lambda *_: None)
    sys.stderr = sys.__stderr__


CHANGES = {
    function.__name__: function
    for function in (
        counts_globally, writes_buffers, swaps_memory, changes_containers, changes_the_tree, changes_its_class,
        changes_functions, sets_torch, enters_modes, hooks_all_modules, sets_python,
    )
}  # fmt: skip
CHANGES["closure"] = _closure()


def model_with(change: Any, ending: str = "") -> Any:
    """A model of a class of its own that does `change` in forward, and ends in its middle by an exception or Ctrl-C."""

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        made = self.body(x)
        change(self, x)
        if ending == "raises":
            raise ValueError("in the middle")
        if ending == "exits":
            raise SystemExit(3)
        if ending == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
        return made * 2

    torch.default_generator.manual_seed(0)
    return type("Model", (Hostile,), {"forward": forward, "__module__": __name__})()
