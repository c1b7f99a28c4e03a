"""Which models of a tree are its roots: names are followed from file to file, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.errors import TargetError
from modgraph.source.tree_roots import TreeRoots, find_tree_roots

HEAD = "from torch import nn\n"
FILES = {
    "pkg/__init__.py": "",
    "pkg/parts.py": HEAD + "class Block(nn.Module):\n    def forward(self, x): return x\n"
    "class Tail(nn.Module):\n    def forward(self, x): return x\n",
    "pkg/base.py": HEAD + "class Base(nn.Module):\n    def helper(self): ...\n",
    "pkg/make.py": "from .parts import Block\ndef make_block(): return Block()\n",
    "pkg/net.py": HEAD + "from .base import Base\nfrom .make import make_block\nfrom . import parts\n"
    "class Net(Base):\n    def __init__(self):\n        super().__init__()\n        self.block = make_block()\n"
    "        self.tail = parts.Tail()\n    def forward(self, x): return x\n",
    "pkg/wide.py": HEAD + "class Wide(nn.Module):\n    def __init__(self, width): super().__init__()\n"
    "    def forward(self, x): return x\n"
    "class Unknown(nn.Module):\n    def __init__(self, config): super().__init__()\n    def forward(self, x): return x\n",
    "train.py": "from pkg.net import Net\nfrom pkg.wide import Wide\nmodel = Net()\nother = Wide(width=3)\n",
    "broken.py": "class Net(nn.Module:\n",
    "plain.py": "class Net: ...\n",
    "tests/old.py": HEAD + "class Old(nn.Module):\n    def forward(self, x): return x\n",
    ".venv/lib/far.py": HEAD + "class Far(nn.Module):\n    def forward(self, x): return x\n",
}


def tree(folder: Path, files: dict[str, str], **options: object) -> TreeRoots:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return find_tree_roots(folder, **options)  # type: ignore[arg-type]


def test_parts_bases_and_scripts_are_no_roots(tmp_path: Path):
    found = tree(tmp_path, FILES, exclude=("tests",))
    assert [target.text for target in found.targets] == ["pkg/net.py:Net", "pkg/wide.py:Wide(width=3)"]
    left_out = {one.place: one.reason for one in found.left_out}
    assert left_out.keys() == {"broken.py", "pkg/wide.py:Unknown"}
    assert "line 1" in left_out["broken.py"]
    assert left_out["pkg/wide.py:Unknown"] == "it needs arguments, and no call says which: config"


def test_models_that_use_each_other_are_all_roots(tmp_path: Path):
    one = HEAD + "class A(nn.Module):\n    def forward(self, x):\n        from b import B\n        return B()(x)\n"
    other = HEAD + "import a\nclass B(nn.Module):\n    def forward(self, x):\n        return a.A()(x)\n"
    found = tree(tmp_path, {"a.py": one.replace("    def", "    def", 1), "b.py": other})
    assert "b.py:B" in [target.text for target in found.targets]


def test_a_factory_in_another_file_is_the_way_to_build(tmp_path: Path):
    files = {
        "net.py": HEAD
        + "class Net(nn.Module):\n    def __init__(self, sizes): super().__init__()\n    def forward(self, x): return x\n",
        "build.py": "from net import Net\ndef sizes(): return [1]\ndef build() -> Net:\n    return Net(sizes())\n",
    }
    assert [target.text for target in tree(tmp_path, files).targets] == ["build.py:build"]


NEEDY = "class {0}(nn.Module):\n    def __init__(self, part): super().__init__()\n    def forward(self, x): return x\n"
EASY = "class {0}(nn.Module):\n    def forward(self, x): return x\n"


def named(found: TreeRoots) -> tuple[list[str], list[str]]:
    return [target.text for target in found.targets], [one.place for one in found.left_out]


def test_what_a_factory_hands_to_its_model_is_a_part(tmp_path: Path):
    factory = (
        "def big() -> Net:\n    return _net(Head)\ndef _net(kind):\n    net = Net(kind(Inner(1)))\n    return net\n"
    )
    text = HEAD + EASY.format("Head") + NEEDY.format("Inner") + EASY.format("Alone") + NEEDY.format("Net") + factory
    assert named(tree(tmp_path, {"net.py": text})) == (["net.py:Alone", "net.py:big"], [])


def test_a_factory_stands_for_what_it_gives_and_not_for_all_that_it_uses(tmp_path: Path):
    files = {
        "backbone.py": HEAD + EASY.format("Backbone"),
        "net.py": HEAD
        + "from backbone import Backbone\n"
        + NEEDY.format("Net")
        + "def build():\n    return Net(Backbone())\n",
        "lite.py": "from net import Net\nfrom backbone import Backbone\ndef lite():\n    return Net(Backbone())\n",
    }
    assert named(tree(tmp_path, files)) == (["backbone.py:Backbone", "net.py:build"], [])


def test_both_that_a_file_gives_are_roots(tmp_path: Path):
    text = (
        HEAD
        + EASY.format("A")
        + EASY.format("B")
        + "def a(): return A()\ndef b(kind):\n    return B() if kind else a()\n"
    )
    assert named(tree(tmp_path, {"net.py": text})) == (["net.py:A", "net.py:B"], [])


@pytest.mark.parametrize(
    ("constructor", "buildable"),
    [
        ("", False),
        ("def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)", False),
        ("def __init__(self, **kwargs): super().__init__(depth=2, **kwargs)", False),
        ("def __init__(self, *args): super().__init__(3, *args)", True),
        ("def __init__(self, **kwargs): super().__init__(part=3, **kwargs)", True),
        ("def __init__(self): super().__init__(3)", True),
        ("def __init__(self, *names): self.names = names", True),
    ],
)
def test_a_constructor_of_another_file_may_need_arguments(tmp_path: Path, constructor: str, buildable: bool):
    derived = (
        HEAD
        + f"from base import Base\nclass Net(Base):\n    {constructor or 'pass'}\n    def forward(self, x): return x\n"
    )
    base = HEAD + NEEDY.format("Base").replace("part)", "part, depth=1)").replace("forward", "helper")
    assert named(tree(tmp_path, {"base.py": base, "net.py": derived})) == (
        (["net.py:Net"], []) if buildable else ([], ["net.py:Net"])
    )
    factory = derived + "def build():\n    return Net(make())\n"
    if not buildable:
        assert named(tree(tmp_path, {"net.py": factory})) == (["net.py:build"], [])


def test_nothing_is_run(tmp_path: Path):
    tree(tmp_path, {"a.py": HEAD + "open(__file__ + '.ran', 'w')\nclass A(nn.Linear): ...\n"})
    assert not list(tmp_path.glob("*.ran"))


def test_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(TargetError, match="does not exist"):
        find_tree_roots(tmp_path / "nowhere")
