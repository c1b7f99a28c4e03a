"""The folders in which the commands of the pages run: what a page takes for granted (`model.py`, `net.pt`, `src/`).

As the test folders are no packages, load this file by its path: `runpy.run_path(path)`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

NET = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, act=nn.ReLU):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.act = act()

    def forward(self, x):
        return x + self.act(self.conv(x))


class Net(nn.Module):
    def __init__(self, depth=2, act=nn.ReLU):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, stride=4)
        self.blocks = nn.Sequential(*[Block(8, act) for _ in range(depth)])
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())
        self.head = nn.Linear(16, 10)

    def forward(self, x, mask=None):
        x = self.layer2(self.blocks(self.stem(x)))
        x = x if mask is None else x * mask
        return self.head(x.mean((2, 3)))
"""
TOKENS = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, words=100, width=16):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.body = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(2)])
        self.head = nn.Linear(width, words)

    def forward(self, ids, mask=None):
        x = self.body(self.embedding(ids))
        return self.head(x if mask is None else x * mask)
"""
UNREGISTERED = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
OLD = """\
from torch import nn


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x):
        return x + self.body(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.layers = nn.ModuleList([Block(8, 16) for _ in range(3)])
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
"""
NEW = OLD.replace("emb", "embedding").replace("Block(8, 16)", "Block(8, 32)").replace("BatchNorm1d", "LayerNorm")
CHECKPOINT = """\
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.fc = nn.Linear(4, 4)


class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.stem = nn.Linear(3, 4)
        self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
"""
ATTENTION = """\
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Attention(8)
        self.fc = nn.Linear(8, 2)
"""
FUSED = (
    ATTENTION.replace("        self.k = nn.Linear(width, width)\n        self.v = nn.Linear(width, width)\n", "")
    .replace("self.q = nn.Linear(width, width)", "self.qkv = nn.Linear(width, 3 * width)")
    .replace("self.out", "self.proj")
    .replace("self.fc", "self.head")
)
TORCHVISION = """\
from torch import nn


def resnet18():
    return nn.Sequential(nn.Conv2d(3, 8, 7, stride=8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
"""
"""In place of the library, whose import and model cost seconds; named as the page names it."""

PRELUDE = {
    "": "import torch\nimport modgraph\nfrom model import Net\nmodel = Net()\nx = torch.randn(1, 3, 64, 64)\nm = mask = torch.ones(1)\n",
    "tokens": "import torch\nimport modgraph\nfrom model import Net\nmodel = Net()\nids = torch.zeros(1, 16, dtype=torch.int64)\nmask = torch.ones(1)\n",
}
"""What a block of Python takes for granted, by the scene."""
PREPARE = {
    "": "import torch, modgraph\nfrom model import Net\ntorch.save(Net().state_dict(), 'net.pt')\n"
    "modgraph.predict('model.py:Net').save('net.json')\nmodgraph.predict('model.py:Net').save('modgraph-out/Net.json')\n",
    "checkpoint": "import torch\nfrom net import Net\nstate = Net(2).state_dict()\n"
    "state['stem.weight'] = torch.zeros(4, 5)\nstate['old.weight'] = state['old.bias'] = torch.zeros(1)\n"
    "torch.save(state, 'net.bin')\n"
    "import json, struct\n"
    "shapes = {f'attn.{name}.{kind}': size for name in ('q', 'k', 'v', 'out') for kind, size in (('weight', [8, 8]), ('bias', [8]))}\n"
    "shapes |= {'fc.weight': [2, 8], 'fc.bias': [2]}\n"
    "end, entries = 0, {}\n"
    "for key, size in shapes.items():\n"
    "    count = size[0] * (size[1:] or [1])[0]\n"
    "    entries[key] = {'dtype': 'U8', 'shape': size, 'data_offsets': [end, end + count]}\n"
    "    end += count\n"
    "text = json.dumps(entries).encode()\n"
    "open('old.safetensors', 'wb').write(struct.pack('<Q', len(text)) + text + bytes(end))\n",
}
"""What is run once in a scene's folder before the page's commands."""
SCENES = {
    ("README.md", "Before every commit"): "unregistered",
    ("README.md", "What changed"): "history",
    ("README.md", "In CI, and over whole repositories"): "configured",
    ("docs/check.md", "*"): "unregistered",
    ("docs/diff.md", "*"): "history",
    ("docs/onnx.md", "*"): "tokens",
    ("docs/checkpoints.md", "*"): "checkpoint",
    ("docs/tutorial.md", "*"): "empty",
}
"""Where a page's commands run, by page and heading ("*" is all of it); elsewhere in the scene ""."""


def scene_of(page: str, heading: str) -> str:
    """The name of the scene of a block."""
    return SCENES.get((page, heading), SCENES.get((page, "*"), ""))


def build(name: str, folder: Path) -> None:
    """Write the files of a scene."""
    for path, text in _files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if name != "empty":
        shutil.copytree(ROOT / "samples", folder / "samples", ignore=shutil.ignore_patterns("__pycache__"))
    if name in ("", "history", "configured"):
        known = name != ""
        _history(folder, OLD if known else NET, NEW if known else NET.replace("depth=2", "depth=3"))

    if name == "checkpoint":
        _history(folder, ATTENTION)
        git(folder, "tag", "v1.0")
        (folder / "model.py").write_text(FUSED, encoding="utf-8")
        git(folder, "commit", "-q", "-a", "-m", "One projection for q, k and v")


def _files(name: str) -> dict[str, str]:
    if name == "tokens":
        return {"model.py": TOKENS}
    if name == "unregistered":
        return {"model.py": UNREGISTERED, "train.py": "", "src/parts.py": UNREGISTERED}
    if name == "checkpoint":
        return {"net.py": CHECKPOINT}
    if name in ("empty", "history"):
        return {}
    if name == "configured":
        return {"pyproject.toml": '[tool.modgraph]\ntargets = ["model.py:Net"]\n', "src/small.py": UNREGISTERED}
    return {
        "README.md": "# Net\n\n<!-- modgraph: model.py:Net -->\n", "src/model.py": NET, "pkg/__init__.py": "", "pkg/models.py": NET, "package/__init__.py": "",
        "torchvision/__init__.py": "", "torchvision/models.py": TORCHVISION,
    }  # fmt: skip


def _history(folder: Path, *texts: str) -> None:
    """A repository with one commit for each text of model.py."""
    git(folder, "init", "-q", "-b", "main")
    for text in texts:
        (folder / "model.py").write_text(text, encoding="utf-8")
        git(folder, "add", "model.py")
        git(folder, "commit", "-q", "-m", "a step")


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, as nobody in particular."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"), "x@example.org"),
    }  # fmt: skip
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
