"""Values that a constructor computes with, evaluated; Python and torch, running the same text, are the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

PRELUDE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

SHAPES = {
    "recurrent layers": """
        out, (h, c) = nn.LSTM(3, 5, batch_first=True, bidirectional=True)(torch.zeros(2, 7, 3))
        flat, state = nn.GRU(3, 5, num_layers=2)(torch.zeros(7, 3))
        small = nn.LSTM(3, 5, proj_size=2)(torch.zeros(7, 2, 3))
        cells = nn.LSTMCell(3, 4)(torch.zeros(2, 3)), nn.GRUCell(3, 4)(torch.zeros(2, 3))
        FOUND = [out, h, c, flat, state, small[0], small[1][0], small[1][1], cells[0][1], cells[1]]
        """,
    "attention and transformers": """
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        out, weights = attention(torch.zeros(1, 10, 8), torch.zeros(1, 5, 8), torch.zeros(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2)
        FOUND = [out, weights, layer(torch.zeros(3, 1, 8)), nn.TransformerEncoder(layer, 2)(torch.zeros(3, 1, 8))]
        FOUND += [nn.Transformer(8, 2, 1, 1)(torch.zeros(4, 1, 8), torch.zeros(3, 1, 8))]
        FOUND += [nn.Bilinear(2, 3, 4)(torch.zeros(5, 2), torch.zeros(5, 3))]
        """,
    "what changes the resolution": """
        x = torch.zeros(2, 8, 10, 11)
        FOUND = [F.interpolate(x, scale_factor=0.5), F.interpolate(x, size=(3, 4)), F.interpolate(x, 6)]
        FOUND += [F.max_pool2d(x, 3, 2, ceil_mode=True), F.avg_pool2d(x, (2, 3)), F.adaptive_avg_pool2d(x, (None, 2))]
        FOUND += [F.unfold(x, 3, padding=1), nn.Unfold((2, 3), stride=2)(x), x.unfold(2, 3, 2)]
        FOUND += [nn.PixelShuffle(2)(x), nn.PixelUnshuffle(2)(x[..., :10]), nn.Upsample(scale_factor=2)(x)]
        FOUND += [nn.ZeroPad2d((1, 2, 3, 4))(x), nn.ReflectionPad2d(2)(x), nn.MaxPool2d(3, 2, 1, ceil_mode=True)(x)]
        """,
    "indices and masks": """
        x = torch.arange(12.0).view(3, 4)
        FOUND = [x[torch.tensor([0, 2])], x[:, [1, 1, 3]], x[torch.tensor([True, False, True])], x[x > 5]]
        FOUND += [torch.nonzero(torch.tensor([0, 1, 1])), torch.diag(torch.ones(3)), torch.diag(x, 1)]
        """,
    "bounds": """
        x = torch.arange(5)
        FOUND = [x.clamp(1, 3), x.clamp(max=2), x.clamp(0.5, 2.5), x.clamp_min(2), torch.clip(x.float(), 1, 2)]
        """,
    "tensors of sequences, not of sizes": """
        FOUND = [torch.Tensor((2.5, 3.5)), torch.Tensor([1, 2]), torch.Tensor(2, 3), torch.Tensor(torch.Size([2, 3]))]
        FOUND += [torch.Tensor((0.1, 0.2, 0.3)).view(3, 1, 1)]
        """,
    "state dicts": """
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        net.register_buffer("hidden", torch.zeros(1), persistent=False)
        saved = net.state_dict(prefix="p.")
        FOUND = list(saved.values())
        RESULT = [list(saved), len(net.state_dict()), saved["p.0.weight"].requires_grad]
        """,
}

VALUES = {
    "a command line written out": """
        import argparse
        p = argparse.ArgumentParser()
        p.add_argument("--lr", "-l", type=float, default=1.0)
        p.add_argument("--sizes", nargs="+", type=int, default=[1])
        p.add_argument("--no-bias", dest="bias", action="store_false")
        p.add_argument("--tag", action="append")
        p.add_argument("rest", nargs="*")
        given = p.parse_args("-l 2 --sizes 3 4 --no-bias --tag x --tag y".split())
        none, (known, others) = p.parse_args([]), p.parse_known_args(["--lr=3", "--zz", "word"])
        RESULT = [[n.lr, n.sizes, n.bias, n.tag, n.rest] for n in (given, none, known)] + [others]
        """,
    "a dataclass that a call makes": """
        from dataclasses import make_dataclass, field
        Made = make_dataclass("Made", [("u", int), ("v", int, field(default=5)), ("w", list, field(default_factory=list))])
        RESULT = [Made(3).u, Made(3).v, Made(1, v=2).v, Made(1).w]
        """,
    "regular expressions with flags": """
        import re
        pattern = re.compile(r"a (?P<n> \\d+ )  # comment", re.VERBOSE | re.I)
        RESULT = [bool(re.match("ABC", "abc", re.I)), bool(re.match("ABC", "abc", flags=re.I)), pattern.sub("-", "a1 A2")]
        RESULT += [pattern.search("xA12").group("n"), bool(re.match("ABC", "abc")), re.split("X", "1x2", flags=re.I)]
        """,
    "what has a format of its own, and what has none": """
        import enum
        class Number(enum.IntEnum):
            A = 7
        class Color(enum.Enum):
            A = "x"
        class Own:
            def __format__(self, spec): return "own " + spec
            def __str__(self): return "str"
            def __repr__(self): return "repr"
        def said(make):
            try:
                return make()
            except TypeError as error:
                return "TypeError: " + str(error)
        RESULT = [said(lambda: f"{[1, 2]:d}"), said(lambda: f"{(1,):>5}"), said(lambda: f"{ {1: 2}:5}"), said(lambda: f"{int:5}")]
        RESULT += [said(lambda: f"{torch.float32:>20}"), said(lambda: "{:d}".format([1])), said(lambda: format([1], "d"))]
        RESULT += [f"{Own():x}", f"{Own()}", f"{Own()!r}", f"{Own()!s:>5}", f"{Number.A:3d}", f"{Color.A:>9}"]
        RESULT += [f"{'ä'!a}", f"{['ä']!a:>12}", f"{[1]!r:>5}", f"{[1]=}"]
        """,
    "metaclasses of Python's own": """
        import abc, enum
        class Color(str, enum.Enum):
            RED = "red"
        class Abstract(abc.ABC): pass
        class Other(metaclass=abc.ABCMeta): pass
        class Derived(Other): pass
        RESULT = [isinstance(Color, enum.EnumMeta), type(Color) is type, isinstance(Abstract, abc.ABCMeta)]
        RESULT += [type(Derived) is abc.ABCMeta, type(Abstract).__name__, type(int) is type, isinstance(Color, type)]
        """,
    "annotations, as a decorator reads them": """
        class Spec:
            a: int
            b: int = 5
            def method(self): pass
        RESULT = [list(Spec.__annotations__), list(Spec.__dict__["__annotations__"])]
        RESULT += [name for name, value in vars(Spec).items() if not name.startswith("_") and not callable(value)]
        """,
    "a submodule whose name its package binds to a function": """
        import torch.nn.utils.spectral_norm as norm
        import torch.nn.modules.conv as conv
        RESULT = [callable(norm), callable(conv), conv.Conv2d is nn.Conv2d]
        """,
}


def executed(text: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "code"}
    exec(compile(text, "code.py", "exec", dont_inherit=True), namespace)
    return namespace["RESULT"]


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_shapes_and_dtypes(evaluated: Callable[[str], Any], text: str) -> None:
    text = PRELUDE + "RESULT = []\n" + textwrap.dedent(text)
    text += "RESULT += [(tuple(each.shape), str(each.dtype)) for each in FOUND]\n"
    assert evaluated(text) == executed(text)


@pytest.mark.parametrize("text", VALUES.values(), ids=VALUES.keys())
def test_values(evaluated: Callable[[str], Any], text: str) -> None:
    text = PRELUDE + textwrap.dedent(text)
    assert evaluated(text) == executed(text)
