"""Small projects as public repositories have them: a model whose class wants arguments, and what says which."""

from __future__ import annotations

import textwrap
from pathlib import Path

_MINGPT = {
    "mingpt/__init__.py": "",
    "mingpt/utils.py": """
        class CfgNode:
            def __init__(self, **kwargs):
                self.__dict__.update(kwargs)

            def merge_from_dict(self, d):
                self.__dict__.update(d)
        """,
    "mingpt/model.py": """
        import torch
        from torch import nn
        from mingpt.utils import CfgNode as CN

        class Block(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.ln_1 = nn.LayerNorm(config.n_embd)
                self.mlp = nn.Linear(config.n_embd, config.n_embd)

            def forward(self, x):
                return x + self.mlp(self.ln_1(x))

        class GPT(nn.Module):
            @staticmethod
            def get_default_config():
                C = CN()
                C.model_type = "gpt"
                C.n_layer = None
                C.n_embd = None
                C.vocab_size = None
                return C

            def __init__(self, config):
                super().__init__()
                assert config.vocab_size is not None
                self.wte = nn.Embedding(config.vocab_size, config.n_embd)
                self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
                self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

            def forward(self, idx):
                x = self.wte(idx)
                for block in self.h:
                    x = block(x)
                return self.lm_head(x)
        """,
    "train.py": """
        import datasets_that_nobody_has
        from mingpt.model import GPT
        from mingpt.utils import CfgNode as CN

        def get_config():
            C = CN()
            C.seed = 3407
            C.work_dir = datasets_that_nobody_has.place()
            C.model = GPT.get_default_config()
            C.model.n_layer = 3
            C.model.n_embd = 24
            return C

        if __name__ == "__main__":
            config = get_config()
            open("MARKER", "w").write("executed")
            config.model.vocab_size = 50
            model = GPT(config.model)
            model.train()
        """,
}
_NANOGPT = {
    "model.py": """
        from dataclasses import dataclass
        from torch import nn

        @dataclass
        class GPTConfig:
            vocab_size: int = 64
            n_layer: int = 2
            n_embd: int = 16

        class GPT(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.config = config
                self.wte = nn.Embedding(config.vocab_size, config.n_embd)
                self.h = nn.ModuleList([nn.Linear(config.n_embd, config.n_embd) for _ in range(config.n_layer)])

            def forward(self, idx):
                x = self.wte(idx)
                for layer in self.h:
                    x = layer(x)
                return x
        """,
    "train.py": """
        import argparse
        from model import GPT, GPTConfig

        open("MARKER", "w").write("executed")
        parser = argparse.ArgumentParser()
        parser.add_argument("--n_layer", type=int, default=12)
        args = parser.parse_args()
        model_args = dict(n_layer=args.n_layer, n_embd=32)
        gptconf = GPTConfig(**model_args)
        model = GPT(gptconf)
        """,
}
_UNET = {
    "unet/__init__.py": "",
    "unet/unet_model.py": """
        from torch import nn

        class DoubleConv(nn.Module):
            def __init__(self, a, b):
                super().__init__()
                self.conv = nn.Conv2d(a, b, 3, padding=1)

            def forward(self, x):
                return self.conv(x)

        class UNet(nn.Module):
            def __init__(self, n_channels, n_classes, bilinear=False):
                super().__init__()
                self.n_channels = n_channels
                self.inc = DoubleConv(n_channels, 8)
                self.outc = nn.Conv2d(8, n_classes, 1)

            def forward(self, x):
                return self.outc(self.inc(x))
        """,
    "train.py": """
        import argparse
        from unet.unet_model import UNet

        def get_args():
            parser = argparse.ArgumentParser()
            parser.add_argument("--classes", "-c", type=int, default=2)
            parser.add_argument("--bilinear", action="store_true", default=False)
            return parser.parse_args()

        if __name__ == "__main__":
            args = get_args()
            model = UNet(n_channels=3, n_classes=args.classes, bilinear=args.bilinear)
            open("MARKER", "w").write("executed")
        """,
}
_VIT = {
    "vit.py": """
        import torch
        from torch import nn

        class ViT(nn.Module):
            def __init__(self, *, image_size, patch_size, num_classes, dim, depth):
                super().__init__()
                self.to_patch = nn.Conv2d(3, dim, patch_size, patch_size)
                self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])
                self.head = nn.Linear(dim, num_classes)

            def forward(self, img):
                x = self.to_patch(img).flatten(2).transpose(1, 2)
                for layer in self.layers:
                    x = layer(x)
                return self.head(x.mean(1))
        """,
    "tests/test_vit.py": """
        import torch
        from vit import ViT

        def test_vit():
            v = ViT(image_size=32, patch_size=8, num_classes=7, dim=24, depth=3)
            img = torch.randn(1, 3, 32, 32)
            assert v(img).shape == (1, 7)
        """,
}
_YAML = {
    "net.py": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.encoder = nn.Linear(cfg["width"], cfg["hidden"])
                self.head = nn.Linear(cfg["hidden"], cfg["classes"])

            def forward(self, x):
                return self.head(self.encoder(x))
        """,
    "config.yaml": """
        model:
          width: 12
          hidden: 20
          classes: 3
        """,
    "train.py": """
        import yaml
        from net import Net

        def main():
            with open("config.yaml") as f:
                config = yaml.safe_load(f)
            net = Net(config["model"])

        if __name__ == "__main__":
            main()
        """,
}
_GAN = {
    "dcgan.py": """
        import argparse
        import torch
        from torch import nn

        parser = argparse.ArgumentParser()
        parser.add_argument("--latent_dim", type=int, default=20)
        parser.add_argument("--channels", type=int, default=1)
        opt = parser.parse_args()

        class Generator(nn.Module):
            def __init__(self, latent_dim):
                super().__init__()
                self.l1 = nn.Linear(latent_dim, 16)
                self.out = nn.Linear(16, opt.channels)

            def forward(self, z):
                return self.out(self.l1(z))

        def main():
            generator = Generator(opt.latent_dim)
            if torch.cuda.is_available():
                generator.cuda()

        if __name__ == "__main__":
            main()
        """,
}
_PLAIN = {
    "net.py": """
        from torch import nn

        class Classifier(nn.Module):
            def __init__(self, in_channels, hidden_size: int, num_classes: int):
                super().__init__()
                self.conv = nn.Conv2d(in_channels, hidden_size, 3)
                self.head = nn.Linear(hidden_size, num_classes)

            def forward(self, x):
                return self.head(self.conv(x).mean((2, 3)))
        """,
}
_LOST = {
    "net.py": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, spec):
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.rest = nn.ModuleList(spec.layers())

            def forward(self, x):
                return self.first(x)
        """,
}
_ANNOTATED = {
    "pkg/__init__.py": "",
    "pkg/config.py": """
        class ModelArgs:
            def __init__(self, dim: int = 24, n_layers: int = 2):
                self.dim = dim
                self.n_layers = n_layers

            @property
            def hidden(self):
                return 2 * self.dim
        """,
    "pkg/transformer.py": """
        from typing import Optional
        from torch import nn
        from .config import ModelArgs

        class Transformer(nn.Module):
            def __init__(self, params: ModelArgs):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(params.dim, params.hidden) for _ in range(params.n_layers)])

            def forward(self, x):
                return [layer(x) for layer in self.layers]
        """,
}
_CONFLICT = {
    "net.py": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth, width=8):
                super().__init__()
                self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])

            def forward(self, x):
                return self.layers(x)
        """,
    "examples/demo.py": """
        from net import Net

        net = Net(12)
        """,
    "main.py": """
        from net import Net

        net = Net(depth=4, width=6)
        """,
}
PROJECTS = {
    "mingpt": _MINGPT,
    "nanogpt": _NANOGPT,
    "unet": _UNET,
    "vit": _VIT,
    "yaml": _YAML,
    "gan": _GAN,
    "plain": _PLAIN,
    "lost": _LOST,
    "annotated": _ANNOTATED,
    "conflict": _CONFLICT,
}
MODEL_FILES = {
    "mingpt": "mingpt/model.py",
    "nanogpt": "model.py",
    "unet": "unet/unet_model.py",
    "vit": "vit.py",
    "yaml": "net.py",
    "gan": "dcgan.py",
    "plain": "net.py",
    "lost": "net.py",
    "annotated": "pkg/transformer.py",
    "conflict": "net.py",
}

RUN = (
    "import os, runpy, sys\n"
    "del sys.argv[0]\n"
    "sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')\n"
)
"""For the fixture `run_code`: the script that is named, with the words behind it."""


def write(folder: Path, files: dict[str, str]) -> Path:
    """The files below a folder that is a repository of its own."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return folder
