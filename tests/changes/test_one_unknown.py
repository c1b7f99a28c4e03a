"""Of a model with one argument that nobody knows, and the same model with it known: whatever it is, no difference is told."""

from __future__ import annotations

import pytest

import modgraph
from modgraph.changes import compare
from modgraph.changes.leeway import leeway_of
from modgraph.graph.model import Condition

HEAD = """import importlib
import math
import os
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn


def open_value():
    return getattr(importlib.import_module(os.environ["M"]), os.environ["V"])
"""

MODELS = {
    "rnn": (
        """
class Net(nn.Module):
    def __init__(self, vocab, dim, hidden, layers, bidirectional, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, layers, bidirectional=bidirectional, batch_first=True)
        self.out = nn.Linear(hidden * (2 if bidirectional else 1), classes)
    def forward(self, ids):
        x, (h, c) = self.rnn(self.emb(ids))
        return self.out(x.mean(1))
""",
        [["100", "7"], ["8", "4"], ["16", "5"], ["2", "1", "3"], ["True", "False"], ["3", "2"]],
    ),
    "vit": (
        """
class Block(nn.Module):
    def __init__(self, dim, heads, ratio, drop):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=drop, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * ratio), nn.GELU(), nn.Linear(dim * ratio, dim))
    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y)[0]
        return x + self.mlp(self.norm2(x))
class Net(nn.Module):
    def __init__(self, size, patch, dim, depth, heads, ratio, drop, cls, classes):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        n = (size // patch) ** 2
        self.cls = nn.Parameter(torch.zeros(1, 1, dim)) if cls else None
        self.pos = nn.Parameter(torch.zeros(1, n + (1 if cls else 0), dim))
        self.blocks = nn.ModuleList([Block(dim, heads, ratio, drop) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes) if classes > 0 else nn.Identity()
    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        if self.cls is not None:
            x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1)
        x = x + self.pos
        for b in self.blocks:
            x = b(x)
        x = self.norm(x)
        x = x[:, 0] if self.cls is not None else x.mean(1)
        return self.head(x)
""",
        [
            ["32", "64"],
            ["8", "16"],
            ["16", "32"],
            ["2", "0", "1", "3"],
            ["4", "2"],
            ["2", "4"],
            ["0.1", "0.0"],
            ["True", "False"],
            ["5", "0", "3"],
        ],
    ),
    "flags": (
        """
class Net(nn.Module):
    def __init__(self, dim, use_norm, residual, act, tie, scale):
        super().__init__()
        self.emb = nn.Embedding(20, dim)
        self.norm = nn.LayerNorm(dim) if use_norm else None
        self.residual = residual
        self.act = nn.GELU() if act == "gelu" else nn.ReLU()
        self.fc = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 20, bias=False)
        if tie:
            self.out.weight = self.emb.weight
        if scale:
            self.gamma = nn.Parameter(torch.ones(dim))
        self.scale = scale
    def forward(self, ids):
        x = self.emb(ids)
        y = self.fc(x)
        if self.norm is not None:
            y = self.norm(y)
        y = self.act(y)
        if self.scale:
            y = y * self.gamma
        if self.residual:
            y = x + y
        return self.out(y)
""",
        [["8", "4"], ["True", "False"], ["True", "False"], ["'gelu'", "'relu'"], ["True", "False"], ["True", "False"]],
    ),
    "unet": (
        """
class Double(nn.Module):
    def __init__(self, i, o, dropout):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU())
        self.drop = nn.Dropout2d(dropout) if dropout else nn.Identity()
    def forward(self, x):
        return self.drop(self.net(x))
class Net(nn.Module):
    def __init__(self, base, levels, dropout, up, classes):
        super().__init__()
        self.down = nn.ModuleList()
        self.ups = nn.ModuleList()
        c = 3
        for i in range(levels):
            self.down.append(Double(c, base * 2 ** i, dropout))
            c = base * 2 ** i
        for i in reversed(range(levels - 1)):
            self.ups.append(nn.ConvTranspose2d(c, base * 2 ** i, 2, 2) if up == "conv" else nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(c, base * 2 ** i, 1)))
            self.ups.append(Double(base * 2 ** (i + 1), base * 2 ** i, dropout))
            c = base * 2 ** i
        self.out = nn.Conv2d(c, classes, 1)
    def forward(self, x):
        skips = []
        for d in self.down[:-1]:
            x = d(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.down[-1](x)
        for i in range(0, len(self.ups), 2):
            x = self.ups[i](x)
            x = self.ups[i + 1](torch.cat([skips.pop(), x], 1))
        return self.out(x)
""",
        [["4", "2"], ["2", "1", "3"], ["0.1", "0.0"], ["'conv'", "'up'"], ["2", "1"]],
    ),
    "attention": (
        """
class Net(nn.Module):
    def __init__(self, dim, heads, qkv_bias, causal, max_len):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.causal = causal
        if causal:
            self.register_buffer("mask", torch.ones(max_len, max_len).tril(), persistent=False)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in (q, k, v))
        att = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        if self.causal:
            att = att.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = (att.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(y)
""",
        [["16", "8"], ["4", "2"], ["False", "True"], ["True", "False"], ["64", "32"]],
    ),
    "heads": (
        """
class Net(nn.Module):
    def __init__(self, dim, tasks, share, freeze):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(dim, n) for t, n in tasks.items()})
        self.second = self.trunk if share else nn.Linear(dim, dim)
        if freeze:
            for p in self.trunk.parameters():
                p.requires_grad = False
    def forward(self, x):
        x = self.second(self.trunk(x))
        return {t: h(x) for t, h in self.heads.items()}
""",
        [["8", "4"], ["{'a': 2, 'b': 3}", "{'a': 2}", "{}", "{'c': 4}"], ["True", "False"], ["True", "False"]],
    ),
    "quant": (
        """
class Net(nn.Module):
    def __init__(self, codes, dim, groups, kernel, factory):
        super().__init__()
        self.enc = nn.Conv1d(1, dim, kernel, stride=2, padding=kernel // 2, groups=1)
        self.gn = nn.GroupNorm(groups, dim)
        self.book = nn.Parameter(torch.randn(codes, dim))
        self.register_buffer("usage", torch.zeros(codes))
        self.dec = factory(dim, 1)
    def forward(self, x):
        z = self.gn(self.enc(x)).transpose(1, 2)
        d = torch.cdist(z, self.book[None])
        i = d.argmin(-1)
        q = F.embedding(i, self.book)
        return self.dec(z + (q - z).detach())
""",
        [
            ["32", "4"],
            ["8", "4"],
            ["2", "1"],
            ["3", "5"],
            ["nn.Linear", "(lambda a, b: nn.Sequential(nn.Linear(a, b), nn.Tanh()))"],
        ],
    ),
    "tagger": (
        """
class Net(nn.Module):
    def __init__(self, word_vocab, char_vocab, tagset, dim, hidden, layers):
        super().__init__()
        self.tagset = tagset
        self.words = nn.Embedding(len(word_vocab), dim)
        self.chars = nn.Embedding(len(char_vocab), dim)
        self.char_lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(dim + 2 * hidden, hidden, num_layers=layers, batch_first=True)
        self.out = nn.Linear(hidden, len(tagset))
        self.transitions = nn.Parameter(torch.randn(len(tagset), len(tagset)))
    def forward(self, words, chars):
        b, t, c = chars.shape
        ch = self.chars(chars.view(b * t, c))
        _, (h, _) = self.char_lstm(ch)
        ch = h.permute(1, 0, 2).reshape(b, t, -1)
        x, _ = self.lstm(torch.cat([self.words(words), ch], -1))
        return self.out(x.relu())
""",
        [
            ["list('abcde')", "list('ab')"],
            ["list('abc')", "list('a')"],
            ["['N', 'V']", "['N']"],
            ["8", "4"],
            ["12", "8"],
            ["2", "1", "3"],
        ],
    ),
    "split": (
        """
class Net(nn.Module):
    def __init__(self, dim, parts, eps, mode, n):
        super().__init__()
        self.parts = parts
        self.a = nn.Linear(dim, dim)
        self.b = nn.Linear(dim, dim)
        self.eps = eps
        self.mode = mode
        self.n = n
    def forward(self, x):
        y, z = self.a(x).split(self.parts, -1)
        if self.mode == "max":
            p = x.max(1).values
        elif self.mode == "mean":
            p = x.mean(1)
        else:
            p = x[:, 0]
        for _ in range(self.n):
            x = self.b(x).relu()
        return torch.cat([y, z], -1) * self.eps + x + p[:, None]
""",
        [
            ["8", "4"],
            ["[3, 5]", "[4, 4]", "[2, 2, 4]", "4", "1"],
            ["0.5", "2"],
            ["'mean'", "'max'", "'x'"],
            ["2", "0", "1", "3"],
        ],
    ),
    "cnn": (
        """
class Net(nn.Module):
    def __init__(self, width, depth, norm, classes):
        super().__init__()
        layers = []
        c = 3
        for i in range(depth):
            layers += [nn.Conv2d(c, width, 3, padding=1), norm(width), nn.ReLU()]
            c = width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)
    def forward(self, x):
        x = self.body(x)
        x = x.mean((2, 3))
        return self.head(x)
""",
        [
            ["8", "4"],
            ["2", "0", "1", "3"],
            [
                "nn.BatchNorm2d",
                "nn.InstanceNorm2d",
                "nn.Identity",
                "(lambda w: nn.GroupNorm(2, w))",
                "(lambda w: nn.Sequential(nn.BatchNorm2d(w), nn.Dropout(0.1)))",
            ],
            ["10", "3"],
        ],
    ),
    "moe": (
        """
class Net(nn.Module):
    def __init__(self, dim, experts, top, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim)) for _ in range(experts)])
        self.top = top
    def forward(self, x):
        w, idx = self.gate(x).softmax(-1).topk(self.top, -1)
        out = torch.stack([e(x) for e in self.experts], -1)
        return (out * w.sum(-1, keepdim=True).unsqueeze(-1)).sum(-1)
""",
        [["8", "4"], ["3", "1", "2", "4"], ["2", "1"], ["16", "8"]],
    ),
    "config": (
        """
class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.layers = nn.ModuleList()
        for i in range(cfg.depth):
            self.layers.append(nn.TransformerEncoderLayer(cfg.dim, cfg.heads, cfg.dim * 2, batch_first=True))
        self.norm = nn.LayerNorm(cfg.dim) if cfg.norm else nn.Identity()
        self.head = nn.Linear(cfg.dim, cfg.vocab)
        self.register_buffer("mask", torch.ones(cfg.length, cfg.length).tril())
    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
""",
        [
            [
                "SimpleNamespace(vocab=50, dim=8, depth=2, heads=2, norm=True, length=16)",
                "SimpleNamespace(vocab=50, dim=4, depth=1, heads=2, norm=False, length=16)",
                "SimpleNamespace(vocab=50, dim=4, depth=0, heads=2, norm=False, length=16)",
            ]
        ],
    ),
}
"""By name, the source of a class, and for each of its arguments some values that it may have."""


ARGUMENTS = [(name, place) for name, (_, values) in MODELS.items() for place in range(len(values))]


@pytest.mark.parametrize(("name", "place"), ARGUMENTS)
def test_with_an_argument_unknown_it_may_be_any_value(tmp_path, name, place):
    source, values = MODELS[name]
    first = [each[0] for each in values]
    given = {f"known_{number}": value for number, value in enumerate(values[place][:2])} | {"unknown": "open_value()"}
    makers = [
        f"def {maker}():\n    return Net({', '.join([*first[:place], value, *first[place + 1 :]])})\n"
        for maker, value in given.items()
    ]
    file = tmp_path / "model.py"
    file.write_text(HEAD + source + "\n\n" + "\n\n".join(makers), encoding="utf-8")
    graphs = {maker: modgraph.predict(f"{file}:{maker}") for maker in given}
    unknown = graphs.pop("unknown")
    for known in graphs.values():
        changes = compare(unknown, known)
        assert not changes, changes.to_text()
        assert changes.undecided
        assert {one.side for one in changes.undecided} == {"old"}
        assert not compare(known, unknown)


GIVEN = """
class Net(nn.Module):
    def __init__(self, tagset, pretrained, cfg):
        super().__init__()
        self.tagset = tagset
        self.words = nn.Embedding.from_pretrained(pretrained, freeze=cfg.freeze)
        self.rnn = nn.LSTM(pretrained.size(1), cfg.hidden, num_layers=cfg.layers, bidirectional=True)
        self.out = nn.Linear(2 * cfg.hidden, len(tagset))
    def forward(self, words):
        x, _ = self.rnn(self.words(words))
        return self.out(x)
def build():
    return Net(["N", "V"], torch.randn(100, 50), SimpleNamespace(freeze=True, hidden=32, layers=2))
"""


def test_a_class_whose_arguments_are_not_given_is_not_another_one(tmp_path):
    (tmp_path / "one.py").write_text(HEAD + GIVEN.rpartition("def build")[0], encoding="utf-8")
    (tmp_path / "two.py").write_text(HEAD + GIVEN, encoding="utf-8")
    changes = compare(modgraph.predict(f"{tmp_path}/one.py:Net"), modgraph.predict(f"{tmp_path}/two.py:build"))
    assert not changes
    open_ = {(one.path, one.what, one.side) for one in changes.undecided}
    assert {
        ("tagset", "module", "old"),
        ("out", "output shapes", "old"),
        ("out", "way of data rnn → out", "old"),
    } <= open_


HELD = """
class Net(nn.Module):
    def __init__(self, hidden, layers):
        super().__init__()
        self.flag = open_value()
        self.a = nn.Linear(4, hidden)
        self.b = nn.Linear(hidden, hidden)
    def forward(self, x, mask=None):
        x = self.a(x)
        STEP
        return x.relu()
"""
TOLD = {
    "another operation": ("x = self.b(x)", "x = self.b(x).tanh()"),
    "one call more": ("x = self.b(x)", "x = self.b(self.b(x))"),
    "a call less": ("x = self.b(x)", "pass"),
    "another place": ("x = x - self.b(x)", "x = self.b(x) - x"),
    "what data decides": ("x = self.b(x)", "x = self.b(x) if x.sum() > 0 else x"),
    "what a size decides": ("x = self.b(x)", "x = self.b(x) if x.shape[0] > 4 else x"),
}


@pytest.mark.parametrize("name", TOLD)
def test_beside_what_is_unknown_a_difference_is_told(tmp_path, name):
    """Both sides leave the same open, as a class does whose arguments nobody gives."""
    graphs = []
    for number, step in enumerate(TOLD[name]):
        file = tmp_path / str(number) / "model.py"
        file.parent.mkdir()
        file.write_text(HEAD + HELD.replace("STEP", step), encoding="utf-8")
        graphs.append(modgraph.predict(f"{file}:Net"))
    assert compare(*graphs)
    assert compare(*reversed(graphs)) == compare(*graphs).reversed()


def test_what_a_setting_decides_that_nobody_knows_is_not_told(tmp_path):
    graphs = []
    for number, step in enumerate(("x = self.b(x)", "x = self.b(x) if self.flag else x")):
        file = tmp_path / str(number) / "model.py"
        file.parent.mkdir()
        file.write_text(HEAD + HELD.replace("STEP", step), encoding="utf-8")
        graphs.append(modgraph.predict(f"{file}:Net"))
    changes = compare(*graphs)
    assert not changes
    assert ("b", "number of calls", "new") in {(one.path, one.what, one.side) for one in changes.undecided}


OF_INPUTS = ["x.sum() > 0", "x is not None", "not x.any()", "h[0].mean() > self.t", "len(x) > 2", "self.training"]
OF_OTHERS = [
    "",
    "self.flag",
    "cfg.size > 3",
    "flag",
    "self.cfg.shape",
    "depends on x",
    "f(x)",
    "x is None or self.flag",
]


@pytest.mark.parametrize("text", [*OF_INPUTS, *OF_OTHERS])
def test_only_what_asks_the_inputs_is_known_to_go_both_ways(graph, text):
    tree = graph({"a": "nn.Linear(4, 4)"})
    leeway = leeway_of(tree)
    leeway.sizes = frozenset(["x"])
    assert leeway.is_open(Condition(text=text)) is (text in OF_OTHERS)


PARTS = {
    "which of two": ("self.b = self.a if open_value() else nn.Linear(4, 8)", "self.b = self.a", "x = self.b(x)"),
    "a child": ("if os.environ['B'] == '1':\n            self.b = nn.Linear(4, 4)", "pass", "pass"),
    "an operation": ("self.k = open_value()", "self.k = 'sum'", "x = getattr(x, self.k)(-1)"),
    "a dimension": ("self.k = open_value()", "self.k = -1", "x = torch.cat(x.chunk(2, self.k)[::-1], self.k)"),
    "a tensor's kind": (
        "self.b = nn.Parameter(torch.zeros(4, dtype=open_value()))",
        "self.b = nn.Parameter(torch.zeros(4))",
        "x = x + self.b",
    ),
    "whether it is kept": ("self.b = nn.Identity()\n        if open_value():\n            del self.b", "pass", "pass"),
}


@pytest.mark.parametrize("name", PARTS)
def test_with_a_part_unknown_it_may_be_what_the_other_has(tmp_path, name):
    unknown, known, step = PARTS[name]
    graphs = []
    for number, part in enumerate((unknown, known)):
        file = tmp_path / str(number) / "model.py"
        file.parent.mkdir()
        file.write_text(
            f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.a = nn.Linear(4, 8)\n        {part}\n    def forward(self, x):\n"
            f"        x = x.view(-1, 4)\n        {step}\n        return x\n",
            encoding="utf-8",
        )
        graphs.append(modgraph.predict(f"{file}:Net"))
    assert not compare(*graphs)
    assert not compare(*reversed(graphs))
