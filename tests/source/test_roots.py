"""Which models a file stands for."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from modgraph.errors import TargetError
from modgraph.source.roots import find_roots
from modgraph.source.targets import parse_target


@pytest.fixture
def roots(tmp_path: Path):
    def find(text: str, **others: str) -> list[str]:
        for name, other in others.items():
            (tmp_path / f"{name}.py").write_text(dedent(other))
        (tmp_path / "model.py").write_text("from torch import nn\nimport torch\n" + dedent(text))
        return [target.text.removeprefix("model.py:") for target in find_roots(parse_target("model.py", cwd=tmp_path))]

    return find


def test_a_part_of_another_class_is_no_root(roots):
    assert roots("""
        class Block(nn.Module): pass
        class Net(nn.Module):
            def __init__(self):
                self.block = Block()
    """) == ["Net"]


def test_a_part_used_through_a_function_and_a_table_is_no_root(roots):
    assert roots("""
        class Block(nn.Module): pass
        class Swish(nn.Module): pass
        ACTIVATIONS = {"swish": Swish}
        def make(): return nn.Sequential(Block())
        class Net(nn.Module):
            def __init__(self):
                self.net, self.act = make(), ACTIVATIONS["swish"]()
    """) == ["Net"]


def test_two_models_are_two_roots_in_the_order_of_the_file(roots):
    assert roots("class B(nn.Module): pass\nclass A(nn.Module): pass") == ["B", "A"]


def test_a_class_that_is_no_module_is_none(roots):
    assert roots("class Config: pass\nclass Net(nn.Module): pass") == ["Net"]


def test_a_class_that_uses_itself_is_a_root(roots):
    assert roots("""
        class Tree(nn.Module):
            def __init__(self, depth=3):
                self.child = Tree(depth - 1) if depth else None
    """) == ["Tree"]


def test_classes_that_use_each_other_are_both_roots(roots):
    assert roots("""
        class A(nn.Module):
            def __init__(self): self.b = B()
        class B(nn.Module):
            def __init__(self): self.a = A()
    """) == ["A", "B"]


def test_an_abstract_base_is_no_root_and_a_real_one_is(roots):
    assert roots("""
        class Abstract(nn.Module):
            def forward(self, x): raise NotImplementedError
        class Real(Abstract):
            def forward(self, x): return x
        class Special(Real): pass
    """) == ["Real", "Special"]


@pytest.mark.parametrize(
    "header",
    ["from torch.nn import Module as M\nclass Net(M): pass", "import torch.nn as tn\nclass Net(tn.Module): pass",
     "class Net(torch.nn.Sequential): pass", "from base import Base\nclass Net(Base): pass",
     "from again import *\nclass Net(Base[int]): pass"],
)  # fmt: skip
def test_bases_are_followed_through_imports(roots, header):
    assert roots(header, base="import torch.nn\nclass Base(torch.nn.Module): pass", again="from base import Base") == [
        "Net"
    ]


def test_module_level_instances_are_roots(roots):
    assert roots("""
        net = nn.Sequential(nn.Linear(1, 1)).eval()
        x = torch.ones(3)
        def make(): return nn.Linear(1, 1)
        made = make()
    """) == ["net", "made"]


def test_an_instance_of_the_main_block_is_none(roots):
    assert roots("""
        class Net(nn.Module): pass
        if __name__ == "__main__":
            model = Net()
    """) == ["Net"]


def test_a_class_that_needs_arguments_is_built_by_the_factory_that_needs_none(roots):
    assert roots("""
        class Net(nn.Module):
            def __init__(self, depth): pass
        def _make(depth):
            model = Net(depth)
            return model
        def small(): return _make(2)
        def large(): return _make(8)
    """) == ["small"]


def test_a_class_that_needs_arguments_is_built_as_the_file_calls_it(roots):
    assert roots("""
        class Net(nn.Module):
            def __init__(self, depth, width): pass
        if __name__ == "__main__":
            model = Net(depth, width=1)
            model = Net(4, width=16)
    """) == ["Net(4, width=16)"]


def test_a_class_that_needs_arguments_and_finds_none_is_itself(roots):
    assert roots("class Net(nn.Module):\n    def __init__(self, depth): pass") == ["Net"]


def test_factories_alone(roots):
    assert roots("def build(depth=2) -> nn.Module:\n    return nn.Linear(1, depth)\ndef other(): return 3") == ["build"]


def test_no_model_says_what_is_there(roots):
    with pytest.raises(TargetError) as caught:
        roots("class Config: pass\ndef helper(): pass")
    assert "no nn.Module" in caught.value.message
    assert "class Config, function helper" in caught.value.hint


def test_a_syntax_error_says_where(roots):
    with pytest.raises(TargetError) as caught:
        roots("class Net(nn.Module)\n    pass")
    assert (caught.value.file, caught.value.line) == ("model.py", 3)


def test_a_missing_module_says_so():
    with pytest.raises(TargetError, match=r"no module 'nosuch\.package'"):
        find_roots(parse_target("nosuch.package"))
