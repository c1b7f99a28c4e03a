"""Hand-written models of every construct, predicted and really built: the trees, parameters and buffers must agree."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.values import NONE, ClassValue, KnownClass
from modgraph.prediction.entry import interpreter, predict_value

pytestmark = pytest.mark.needs_torch

HEADER = (
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nimport math, copy, functools, itertools\n"
)

MODELS: dict[str, str] = {
    "plain": """
        class Net(nn.Module):
            def __init__(self, width=4):
                super().__init__()
                self.a = nn.Linear(3, width)
                self.b, (self.c, *self.rest) = nn.ReLU(), (nn.Conv2d(1, width, 3), 1, 2)
                self.n = None
                self.a = nn.Linear(3, 2 * width, bias=False)
        """,
    "containers": """
        from collections import OrderedDict
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.seq = nn.Sequential(OrderedDict(one=nn.Linear(1, 2), two=nn.ReLU()))
                self.seq.add_module("three", nn.Linear(2, 3))
                self.list = nn.ModuleList(nn.Linear(i, i) for i in range(1, 4))
                self.list.append(nn.ReLU())
                self.list.insert(0, nn.Tanh())
                self.list += [nn.GELU()]
                del self.list[1]
                self.list[0] = nn.Sigmoid()
                self.dict = nn.ModuleDict({"x": nn.Linear(1, 1)})
                self.dict["y"] = nn.Linear(2, 2)
                self.dict.update({"z": nn.ReLU()})
                self.params = nn.ParameterList([nn.Parameter(torch.zeros(i)) for i in range(3)])
                self.sub = nn.Sequential(*self.seq[:2])
        """,
    "loops": """
        class Net(nn.Module):
            def __init__(self, sizes=(3, 5, 7)):
                super().__init__()
                previous = 1
                for index, size in enumerate(sizes):
                    if size == 5:
                        continue
                    setattr(self, f"fc{index}", nn.Linear(previous, size))
                    previous = size
                else:
                    self.last = nn.Linear(previous, 1)
                count = 0
                while True:
                    count += 1
                    if count > 3:
                        break
                    self.add_module("w%d" % count, nn.Linear(count, count))
                for a, b in zip(sizes[:-1], sizes[1:]):
                    self.register_parameter(f"p_{a}_{b}", nn.Parameter(torch.empty(a, b)))
        """,
    "inheritance": """
        class Base(nn.Module):
            kind = nn.ReLU
            def __init__(self, width, **options):
                super().__init__()
                self.body = self.make(width)
                self.act = self.kind(**options)
            def make(self, width):
                return nn.Linear(width, width)
        class Mixin:
            def __init__(self, *args, extra=2, **kwargs):
                super().__init__(*args, **kwargs)
                self.extra = nn.Linear(extra, extra)
        class Net(Mixin, Base):
            kind = nn.LeakyReLU
            def __init__(self, width=3):
                super().__init__(width, extra=5, negative_slope=0.2)
                self.head = nn.Linear(self.body[1].out_features, self.act.negative_slope > 0.1 and 2 or 1)
            def make(self, width):
                return nn.Sequential(super().make(width), super(Net, self).make(width + 1))
        """,
    "configs": """
        from dataclasses import dataclass, field
        from typing import NamedTuple
        from enum import Enum
        class Kind(Enum):
            A = "a"
            B = "b"
        class Stage(NamedTuple):
            width: int
            depth: int = 2
        @dataclass
        class Config:
            hidden: int = 8
            kind: Kind = Kind.A
            stages: list = field(default_factory=lambda: [Stage(4), Stage(8, 1)])
            derived: int = field(init=False)
            def __post_init__(self):
                self.derived = self.hidden * 2
            @property
            def half(self):
                return self.hidden // 2
        class Net(nn.Module):
            TABLE = {Kind.A: nn.ReLU, Kind.B: nn.GELU}
            def __init__(self, config=None):
                super().__init__()
                config = config or Config(hidden=6)
                self.config = config
                self.act = self.TABLE[config.kind]()
                self.a = nn.Linear(config.hidden, config.derived)
                self.b = nn.Linear(config.half, getattr(config, "missing", 9))
                self.c = nn.Linear(1, 1) if hasattr(config, "nothing") else nn.Linear(2, 2)
                for i, (width, depth) in enumerate(config.stages):
                    stage = [nn.Linear(width, width) for _ in range(depth)]
                    self.add_module(f"stage{i}", nn.Sequential(*stage))
                match config.kind:
                    case Kind.B:
                        self.m = nn.ReLU()
                    case Kind.A | None:
                        self.m = nn.Tanh()
        """,
    "functions": """
        def conv(i, o, *, norm=nn.BatchNorm2d, act=functools.partial(nn.ReLU, inplace=True)):
            def inner(k):
                nonlocal i
                layer = nn.Conv2d(i, o, k)
                i = o
                return layer
            return nn.Sequential(inner(3), inner(1), norm(o), act())
        def wrap(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return nn.Sequential(function(*args, **kwargs), nn.Identity())
            return inner
        @wrap
        def block(n):
            return nn.Linear(n, n)
        def widths():
            yield 1
            yield from (2, 3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.c = conv(3, 4)
                self.b = block(2)
                make = lambda n, m=2: nn.Linear(n, m)
                self.l = nn.ModuleList(map(make, widths()))
                self.d = copy.deepcopy(self.l)
                self.shared = self.l[0]
                self.many = nn.ModuleList([self.shared] * 2)
                options = dict(bias=False)
                self.k = nn.Linear(*(2, 3), **options)
                try:
                    self.t = nn.Linear(1, 2, nonsense=1)
                except TypeError as error:
                    self.t = nn.Tanh()
                finally:
                    self.f = nn.ReLU()
                try:
                    import a_package_that_is_not_there
                    self.i = nn.ReLU()
                except ImportError:
                    self.i = nn.GELU()
                with torch.no_grad():
                    self.w = nn.Parameter(torch.ones(2, 3) * 2)
                if (n := len(self.l)) == 3:
                    self.n = nn.Linear(n, n)
        """,
    "registration": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3, 1), persistent=False)
                self.register_buffer("std", torch.arange(4).float().unsqueeze(0))
                self.register_buffer("none", None)
                self.weight = nn.Parameter(torch.randn(2, 3), requires_grad=False)
                self.register_parameter("bias", None)
                self.x = nn.Linear(1, 1)
                self.y = nn.Linear(2, 2)
                del self.x
                self.x = nn.Linear(3, 3)
                self.y = None
                self._modules["direct"] = nn.ReLU()
                self.__dict__["hidden"] = nn.Linear(1, 1)
                object.__setattr__(self, "bypass", nn.Linear(1, 1))
                self.plain = [nn.Linear(1, 1)]
                self.tied = nn.Linear(4, 4, bias=False)
                self.tied.weight = nn.Parameter(torch.empty(5, 5))
                self.apply(self.init)
            def init(self, module):
                if isinstance(module, nn.Linear):
                    nn.init.xavier_uniform_(module.weight)
        """,
    "torch_layers": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.mha = nn.MultiheadAttention(8, 2, kdim=4, vdim=4, add_bias_kv=True)
                self.tr = nn.Transformer(8, 2, 2, 1, 16)
                self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
                self.gru = nn.GRU(3, 4, bias=False)
                self.bn = nn.BatchNorm2d(3, affine=False)
                self.gn = nn.GroupNorm(2, 4)
                self.ln = nn.LayerNorm([3, 4], bias=False)
                self.emb = nn.Embedding(10, 3, padding_idx=0)
                self.ct = nn.ConvTranspose2d(4, 6, 3, groups=2)
                self.bil = nn.Bilinear(2, 3, 4)
                self.pre = nn.PReLU(3)
                self.bag = nn.EmbeddingBag(4, 5)
                self.ada = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])
                self.cell = nn.LSTMCell(2, 3)
                self.inst = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
        """,
    "weird": """
        class Meta(type):
            pass
        class Plain(metaclass=Meta):
            count = 0
            def __init__(self):
                type(self).count += 1
            def __call__(self, n):
                return nn.Linear(n, n)
            def __getattr__(self, name):
                if name == "ghost":
                    return 7
                raise AttributeError(name)
        class Net(nn.Module):
            @staticmethod
            def s(n):
                return nn.Linear(n, 1)
            @classmethod
            def c(cls, n):
                return cls.s(n + 1)
            def __init__(self):
                super().__init__()
                plain = Plain()
                self.a = plain(plain.ghost)
                self.b = self.c(2)
                self.z = nn.Linear(len({1, 2, 3} | {4}), int("7", 8))
                for key, value in sorted({"q": 1, "p": 2}.items()):
                    setattr(self, key, nn.Linear(value, value))
                assert hasattr(self, "p"), "no"
                self.r = nn.Linear(round(2.6), math.ceil(2.1))
                a, b = divmod(17, 5)
                self.dm = nn.Linear(a, b)
                self.chain = nn.Sequential(*itertools.chain([nn.ReLU()], (nn.Tanh() for _ in "ab")))
                self.bools = nn.Linear(int(1 < 2 < 3), 3 if not False else 4)
                self.slices = nn.Linear([1, 2, 3][::-1][0], "abc".find("c") + 1)
        """,
}


def predicted(path: Path, name: str = "Net") -> list[tuple[Any, ...]]:
    machine = interpreter([str(path), *sys.path])
    machine.strict = True
    prediction = with_deep_stack(lambda: predict_value(machine, machine.resolve(f"model.{name}")))
    assert prediction.failure is None, prediction.failure
    found: list[tuple[Any, ...]] = []

    def shape(value: Any) -> Any:
        tensor = machine.state.find(value, TensorObject)
        return None if value == NONE else (tensor.shape if tensor else value)

    def walk(value: Any, prefix: str) -> None:
        module = machine.state.find(value, ModuleObject)
        if module is None:
            found.append((prefix, None if value == NONE else value))
            return
        assert isinstance(module.cls, (ClassValue, KnownClass))
        parameters = {key: shape(entry) for key, entry in module.parameters.items()}
        buffers = {key: (shape(entry), not module.non_persistent.get(key)) for key, entry in module.buffers.items()}
        found.append((prefix, module.cls.name, parameters, buffers))
        for key, child in module.modules.items():
            walk(child, f"{prefix}.{key}" if prefix else key)

    walk(prediction.root, "")
    return found


def real(path: Path, name: str = "Net") -> list[tuple[Any, ...]]:
    spec = importlib.util.spec_from_file_location("model", path / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["model"] = module
    try:
        spec.loader.exec_module(module)
        root = getattr(module, name)()
    finally:
        del sys.modules["model"]
    found: list[tuple[Any, ...]] = []

    def walk(value: Any, prefix: str) -> None:
        if value is None:
            found.append((prefix, None))
            return
        parameters = {key: None if p is None else tuple(p.shape) for key, p in value._parameters.items()}
        buffers = {
            key: (None if b is None else tuple(b.shape), key not in value._non_persistent_buffers_set)
            for key, b in value._buffers.items()
        }
        found.append((prefix, f"{type(value).__module__}.{type(value).__qualname__}", parameters, buffers))
        for key, child in value._modules.items():
            walk(child, f"{prefix}.{key}" if prefix else key)

    walk(root, "")
    return found


@pytest.mark.parametrize("name", MODELS)
def test_prediction_equals_what_torch_builds(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(MODELS[name]))
    assert predicted(tmp_path) == real(tmp_path)
