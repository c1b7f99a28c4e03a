"""Which of the root models of a file it is about, and which are named in a note."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from modgraph.source.roots import find_roots
from modgraph.source.targets import parse_target

NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 2)
        def forward(self, x):
            return self.fc(x)
    """
LOSSES = {
    "by what forward takes": """
        class Focal(nn.Module):
            def forward(self, logits, targets):
                return F.cross_entropy(logits, targets)
        """,
    "by its name": """
        class DiceLoss(nn.Module):
            def __init__(self, eps=1.0):
                super().__init__()
                self.eps = eps
            def forward(self, a, b):
                return (a * b).sum() + self.eps
        """,
    "by its base": """
        class Weighted(nn.CrossEntropyLoss):
            def forward(self, a, b):
                return 2 * super().forward(a, b)
        """,
    "with a loss inside": """
        class Smoothing(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.criterion = nn.KLDivLoss()
            def forward(self, x, target):
                return self.criterion(x, target)
        """,
    "an instance of one of torch": "criterion = nn.CrossEntropyLoss()",
    "what only computes": """
        class Swish(nn.Module):
            def forward(self, x):
                return x * torch.sigmoid(x)
        """,
}


@pytest.fixture
def found(tmp_path: Path):
    def find(text: str) -> tuple[list[str], tuple[str, ...]]:
        header = "from enum import Enum\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        (tmp_path / "model.py").write_text(header + dedent(text))
        roots = find_roots(parse_target("model.py", cwd=tmp_path))
        assert all(not root.beside for root in roots[1:])
        return [root.name for root in roots], roots[0].beside

    return find


@pytest.mark.parametrize("kind", LOSSES)
def test_what_is_no_model_is_set_aside(found, kind: str) -> None:
    names, beside = found(dedent(LOSSES[kind]) + dedent(NET))
    assert names == ["Net"]
    assert len(beside) == 1
    assert beside[0] in LOSSES[kind]


@pytest.mark.parametrize("kind", LOSSES)
def test_alone_it_is_the_model(found, kind: str) -> None:
    names, beside = found(LOSSES[kind])
    assert len(names) == 1
    assert beside == ()


def test_a_model_that_computes_its_loss_is_a_model(found) -> None:
    names, _ = found(
        dedent("""
        class LM(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Embedding(8, 8)
            def forward(self, idx, targets=None):
                x = self.emb(idx)
                return x if targets is None else F.cross_entropy(x, targets)
        """)
        + dedent(NET)
    )
    assert names == ["LM", "Net"]


def test_classes_that_are_handed_to_a_model_are_its_parts(found) -> None:
    names, beside = found("""
        class Basic(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.conv = nn.Conv2d(n, n, 3)
        class Deep(Basic): pass
        class Act(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Parameter(torch.ones(1))
        class Net(nn.Module):
            def __init__(self, block, n, act=Act):
                super().__init__()
                self.parts = nn.Sequential(*[block(n) for _ in range(2)], act())
        def net18(n): return Net(Basic, n)
        def net50(n): return Net(block=Deep, n=n)
        """)
    assert names == ["Net"]
    assert beside == ("Deep",)  # Basic is the base of one, Act the default of another


def test_a_small_class_that_nothing_uses_is_set_aside_beside_a_large_model(found) -> None:
    text = """
        class Unused(nn.Module):
            def __init__(self, dim=4):
                super().__init__()
                self.conv = nn.Conv2d(dim, dim, 1)
            def forward(self, x): return self.conv(x)
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.Sequential(Block(), nn.ReLU(), nn.Linear(4, 4))
        """
    assert found(text) == (["Net"], ("Unused",))
    assert found(text + "    \n        def build(): return Unused(dim=8)\n")[0] == ["Unused", "Net"]


def test_two_models_stay_two(found) -> None:
    names, beside = found("""
        class Residual(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(4, 4, 3)
        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), Residual(), nn.Conv2d(4, 3, 3), nn.Tanh())
        class Discriminator(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten())
                self.head = nn.Linear(4, 1)
        """)
    assert names == ["Generator", "Discriminator"]
    assert beside == ()


def test_an_enumeration_is_no_model(found) -> None:
    assert found("class Mode(Enum):\n    A = 1\n" + dedent(NET)) == (["Net"], ())


def test_a_sequential_of_the_script_is_a_model(found) -> None:
    names, _ = found("layers = [nn.Linear(2, 2)]\nmodel = nn.Sequential(*layers)\n" + dedent(NET))
    assert names == ["Net", "model"]


def test_a_class_derived_from_the_model_is_no_small_part(found) -> None:
    names, beside = found("""
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
            def forward(self, x): return self.fc(x)
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 2), nn.Tanh())
            def forward(self, x): return self.body(x)
        class Local(Net):
            def __init__(self, *args, **kwargs):
                Net.__init__(self, *args, **kwargs)
                self.eval()
        class Unused(Block):
            pass
        """)
    assert names == ["Net", "Local"]
    assert beside == ("Unused",)


def test_a_model_that_is_given_its_parts_is_a_model(found) -> None:
    names, beside = found("""
        class Encoder(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.a, self.b, self.c = nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4)
            def forward(self, x): return self.c(self.b(self.a(x)))
        class Both(nn.Module):
            def __init__(self, encoder, decoder, device):
                super().__init__()
                self.encoder, self.device = encoder, device
                self.decoder = decoder
            def forward(self, x): return self.decoder(self.encoder(x))
        class Residual(nn.Module):
            def __init__(self, fn):
                super().__init__()
                self.fn = fn
            def forward(self, x): return x + self.fn(x)
        class Swish(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.beta = beta
            def forward(self, x): return x * torch.sigmoid(self.beta * x)
        """)
    assert names == ["Encoder", "Both"]
    assert sorted(beside) == ["Residual", "Swish"]
