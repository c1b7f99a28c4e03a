"""Which models a file stands for."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from modgraph.errors import TargetError
from modgraph.source import roots as looking
from modgraph.source.roots import as_its_file_builds_it, find_roots, models_of
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
    ("body", "expected"),
    [("Net.__init__(self)", ["Net", "Wide"]), ("super(Net, self).__init__()", ["Net", "Wide"]),
     ("Net.__init__(self); self.inner = Net()", ["Wide"]), ("super().__init__(); self.inner = Net.small()", ["Wide"])],
)  # fmt: skip
def test_a_base_that_is_only_called_upon_is_no_part(roots, body, expected):
    assert (
        roots(f"""
        class Net(nn.Module):
            def __init__(self): super().__init__(); self.a = nn.Linear(2, 2)
            @classmethod
            def small(cls): return Net()
            def forward(self, x): return self.a(x)
        class Wide(Net):
            def __init__(self): {body}
    """)
        == expected
    )


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


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nosuch.package", "there is no module 'nosuch' here: it is not installed"),
        ("torch.nosuch", "there is no module 'torch.nosuch' with Python source"),
    ],
)
def test_a_missing_module_says_so(named, said):
    with pytest.raises(TargetError) as caught:
        find_roots(parse_target(named))
    assert caught.value.message.startswith(said)
    assert f"{named.replace('.', '/')}.py" in caught.value.hint


@pytest.mark.parametrize(
    "header",
    ["try:\n    from missing_of_tests import Base\nexcept ImportError:\n    Base = nn.Module\nclass Net(Base): pass",
     "M = torch.nn.Module\nclass Net(M): pass", "tn = torch.nn\nclass Net(tn.Linear): pass",
     "A = B = nn.Module\nclass Net(A): pass", "A, B = int, nn.Module\nclass Net(B): pass",
     "Base = nn.Module if torch else object\nclass Net(Base): pass",
     "Base: type = nn.Module\nclass Net(Base): pass", "from other import Base\nclass Net(Base): pass"],
)  # fmt: skip
def test_a_base_is_followed_through_assignments(roots, header):
    assert roots(header, other="import torch\nBase = torch.nn.Module") == ["Net"]


def test_names_assigned_in_a_circle_are_no_module(roots):
    with pytest.raises(TargetError, match=r"no nn\.Module"):
        roots("A = B\nB = A\nB = C\nC = A\nclass Net(A): pass")


@pytest.mark.parametrize(
    "header",
    ["for _ in [1]:", "while True:", "match 1:\n    case 1:", "if __name__ != '__main__':",
     "if __name__ == '__main__':\n    x = 1\nelse:", "with torch.no_grad():", "try:\n    pass\nfinally:"],
)  # fmt: skip
def test_a_class_inside_a_statement_that_importing_carries_out_is_a_root(roots, header):
    indent = "        " if "case" in header else "    "
    assert roots(f"{header}\n{indent}class Net(nn.Module): pass\n") == ["Net"]


def test_a_class_of_the_main_block_is_none(roots):
    assert roots("""
        class Net(nn.Module): pass
        if __name__ == "__main__":
            class Other(nn.Module): pass
    """) == ["Net"]


def test_a_nested_class_is_a_root_by_its_qualified_name(roots):
    assert roots("""
        class Models:
            class Base(nn.Module):
                def forward(self, x): raise NotImplementedError
            class Net(Base):
                def forward(self, x): return x
    """) == ["Models.Net"]


def test_a_class_nested_in_a_model_is_its_part_and_one_used_as_an_attribute_is_too(roots):
    assert roots("""
        class Parts:
            class Block(nn.Module): pass
        class Net(nn.Module):
            class Config: pass
            class Inner(nn.Module): pass
            def __init__(self):
                self.block, self.inner = Parts.Block(), self.Inner()
    """) == ["Net"]


def test_a_factory_of_a_local_class_is_a_root(roots):
    assert roots("""
        def build():
            class Inner(nn.Module): pass
            return Inner()
        def other():
            class Plain: pass
            return Plain()
    """) == ["build"]


def test_instances_assigned_together_are_roots_each(roots):
    assert roots("a, (b, c) = nn.Linear(1, 1), (nn.Linear(1, 1), 3)") == ["a", "b"]


@pytest.mark.parametrize(
    "base",
    ["class Base(nn.Module, abc.ABC):", "class Base(nn.Module, metaclass=abc.ABCMeta):", "class Base(nn.Module):"],
)
def test_a_class_with_abstract_methods_is_no_root(roots, base):
    assert roots(f"""
        import abc
        {base}
            @abc.abstractmethod
            def encode(self, x): ...
            def forward(self, x): return self.encode(x)
        class Net(Base):
            def encode(self, x): return x
    """) == ["Net"]


def test_a_base_that_cannot_be_found_is_named(roots):
    with pytest.raises(TargetError) as caught:
        roots("from missing_of_tests import Trainable\nclass Half(Trainable): pass\nclass Net(Half, object): pass")
    assert "nothing is known of Trainable, a base of class Half" in caught.value.hint


LOST = {
    "low": "import missing_of_tests as pl\n\nclass Low(pl.Trainable):\n    pass\n",
    "mid": "from low import Low\nclass Mid(Low): pass\n",
    "parts": "from torch import nn\nclass Block(nn.Module): pass\n",
}


def _found(folder: Path, text: str) -> list[Any]:
    for name, other in LOST.items():
        (folder / f"{name}.py").write_text(other)
    (folder / "model.py").write_text(dedent(text))
    return list(find_roots(parse_target("model.py", cwd=folder)))


@pytest.mark.parametrize("part", ["from torch import nn", "from parts import Block"])
def test_a_class_whose_base_is_lost_two_files_away_may_be_a_module(tmp_path: Path, part: str) -> None:
    made = part.rpartition(" ")[2].replace("nn", "nn.Linear(1, 1)").replace("Block", "Block()")
    (found,) = _found(
        tmp_path,
        f"""
        {part}
        from mid import Mid
        class Base(Mid):
            def __init__(self): self.a = {made}
        class Net(Base):
            def __init__(self): self.b = {made}
        """,
    )
    assert (found.name, found.doubtful) == ("Net", True)
    assert found.note == (
        "pl.Trainable (low.py:3), the base of Low, from which Net is derived, could not be found; Net is taken for an"
        " nn.Module"
    )


def test_a_class_that_makes_no_module_is_none_and_its_lost_base_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught:
        _found(tmp_path, "from mid import Mid\nclass Net(Mid): depth = 3")
    assert "nothing is known of pl.Trainable, a base of class Low (low.py:3), and Net is derived" in caught.value.hint


def test_a_model_of_the_file_counts_more_than_what_may_be_one(tmp_path: Path) -> None:
    found = _found(
        tmp_path,
        """
        from torch import nn
        from mid import Mid
        class Run(Mid):
            def __init__(self): self.net = nn.Linear(1, 1)
        class Net(nn.Module): pass
        """,
    )
    assert [target.name for target in found] == ["Net"]


def test_what_is_found_is_marked_as_found(tmp_path):
    (tmp_path / "model.py").write_text("from torch import nn\nclass Net(nn.Module): pass")
    (found,) = find_roots(parse_target("model.py", cwd=tmp_path))
    assert found.discovered
    assert not parse_target("model.py:Net", cwd=tmp_path).discovered


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("WIDTH, DEPTH = 32, 4\nif __name__ == '__main__':\n    net = Net(WIDTH, DEPTH)", "Net(32, 4)"),
        ("if __name__ == '__main__':\n    opt = {'width': 3}\n    net = Net(opt, 1)", "Net({'width': 3}, 1)"),
        ("W = 8\ndef main():\n    D = [W, W * 2]\n    net = Net(-W, D)\nmain()", "Net(-8, [8, 16])"),
        ("C = dict(a=3, b=(1, 2))\ndef main():\n    net = Net(**C)", "Net(a=3, b=(1, 2))"),
        ("C = {'w': 3}\ndef main(d=2):\n    net = Net(C['w'], d)", "Net(3, 2)"),
        ("def main():\n    net = Net(nn.ReLU, torch.nn.GELU)", "Net(torch.nn.ReLU, torch.nn.GELU)"),
        ("A = [1, 2]\nB = (*A, 3)\ndef main():\n    net = Net(*B)", "Net(1, 2, 3)"),
    ],
)
def test_arguments_of_a_call_are_followed_to_what_their_names_stand_for(roots, text, call):
    head = "class Net(nn.Module):\n    def __init__(self, a, b, c=0): pass\n"
    assert roots(head + text) == [call]


@pytest.mark.parametrize(
    "text",
    [
        "W = 1\nW = 2\ndef main(): Net(W, 1)",
        "W = {}\nW['a'] = 1\ndef main(): Net(W, 1)",
        "W = []\ndef main():\n    W.append(1)\n    Net(W, 1)",
        "W = 1\ndef more():\n    global W\n    W = 2\ndef main(): Net(W, 1)",
        "W = 1\ndef main(W): Net(W, 1)",
        "def main():\n    for i in range(3): Net(i, 1)",
        "W = W\ndef main(): Net(W, 1)",
        "W = 2 ** 99999999\ndef main(): Net(W, 1)",
        "W = [0] * 99999999\ndef main(): Net(W, 1)",
        "W = 1 / 0\ndef main(): Net(W, {[]: 1})",
        "W = open('x').read()\ndef main(): Net(W, 1)",
        "def main(): [Net(k, 1) for k in (1, 2)]",
    ],
)
def test_what_the_text_does_not_say_is_no_argument(roots, text):
    assert roots(f"class Net(nn.Module):\n    def __init__(self, a, b): pass\n{text}") == ["Net"]


def test_an_instance_stands_for_its_class_and_for_its_parts(roots):
    assert roots("""
        class Encoder(nn.Module):
            def __init__(self, width): pass
        class Pair(nn.Module):
            def __init__(self, one, other): pass
        class Other(nn.Module): pass
        one, other = Encoder(4), Encoder(width=8)
        model = Pair(one, other=other).to("cpu")
        model = model.eval()
    """) == ["Other", "model"]


def test_an_instance_that_may_not_exist_stands_for_nothing(roots):
    assert roots("""
        class Net(nn.Module): pass
        if torch.cuda.is_available():
            net = Net()
    """) == ["Net", "net"]


def test_a_function_that_gives_one_of_several_classes_stands_for_none(roots):
    assert roots("""
        class A(nn.Module): pass
        class B(nn.Module): pass
        def make(kind):
            if kind: return A()
            return B()
        model = make(1)
    """) == ["A", "B", "model"]


@pytest.mark.parametrize("raised", ["NotImplementedError", "NotImplementedError('write it')"])
def test_a_base_that_cannot_be_built_is_no_root(roots, raised):
    assert roots(f"""
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = self.make()
            def make(self): raise {raised}
            def other(self): raise {raised}
            def forward(self, x): return self.body(x)
        class Child(Base):
            def make(self): return nn.Linear(1, 1)
    """) == ["Child"]


def test_a_base_with_unwritten_methods_that_construction_does_not_need_is_a_root(roots):
    assert roots("""
        class Base(nn.Module):
            def __init__(self): super().__init__()
            def extra(self): raise NotImplementedError
            def forward(self, x): return x
        class Child(Base): pass
    """) == ["Base", "Child"]


def test_what_an_unknown_call_gives_is_a_candidate_where_nothing_else_is(roots):
    header = "import missing_of_tests, argparse\nparser = argparse.ArgumentParser()\nx = torch.ones(1)\n"
    assert roots(header + "model = missing_of_tests.create('net')") == ["model"]
    assert roots(header + "TABLE = {}\nmodel = TABLE['net'](3)") == ["model"]
    assert roots(header + "class Net(nn.Module): pass\nmodel = missing_of_tests.create('net')") == ["Net"]


def test_what_an_unknown_call_gives_is_a_candidate_beside_classes_that_need_arguments(roots):
    assert roots("""
        TABLE = {}
        class Net(nn.Module):
            def __init__(self, depth): pass
        def build(name): return TABLE[name](8)
        model = build("Net")
    """) == ["Net", "model"]


REGISTRIES = {
    "subclasses": """
        class Head(nn.Module):
            KINDS = {}
            def __init_subclass__(cls, kind=None, **options):
                super().__init_subclass__(**options)
                Head.KINDS[kind] = cls
            @classmethod
            def make(cls, kind):
                return cls.KINDS[kind]()
        class Deep(Head, kind="deep"):
            def __init__(self):
                Head.__init__(self)
        class Flat(Head, kind="flat"): pass
        def make(kind): return Head.make(kind)
    """,
    "decorator": """
        KINDS = {}
        def register(kind):
            def enter(cls):
                KINDS[kind] = cls
                return cls
            return enter
        @register("deep")
        class Deep(nn.Module): pass
        @register("flat")
        class Flat(nn.Module): pass
        def make(kind): return KINDS[kind]()
    """,
    "object": """
        HEADS = Registry()
        @HEADS.register("deep")
        class Deep(nn.Module): pass
        @HEADS.register()
        class Flat(nn.Module): pass
        def make(kind): return HEADS.build(kind)
    """,
}


@pytest.mark.parametrize("registry", REGISTRIES)
def test_what_is_made_through_a_registry_is_a_part(roots, registry):
    text = dedent(REGISTRIES[registry])
    found = roots(text)
    assert {"Deep", "Flat"} <= set(found)  # nothing uses the registry: they are models of their own
    user = """
        class Net(nn.Module):
            def __init__(self, kind="deep"):
                super().__init__()
                self.head = make(kind)
    """
    assert roots(text + dedent(user)) == ["Net"]


@pytest.mark.parametrize(
    ("below", "taken"),
    [
        ("def build(): return Net(4)\n", "build"),
        ("net = Net(4, act=nn.ReLU) if 0 else None\n", "Net(4, act=torch.nn.ReLU)"),
        ("def build(width): return Net(width)\n", "Net"),
    ],
)
def test_a_class_that_is_named_and_needs_arguments_is_built_as_its_file_does_it(tmp_path, below, taken):
    (tmp_path / "model.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, width, act=None): pass\n" + below
    )
    found = as_its_file_builds_it(parse_target("model.py:Net", cwd=tmp_path))
    assert found.text == f"model.py:{taken}"
    assert (found.note is None) == (taken == "Net")
    given = parse_target("model.py:Net(1)", cwd=tmp_path)
    assert as_its_file_builds_it(given) is given


@pytest.mark.parametrize("asked", ["pkg/__init__.py", "train.py", "scripts/train.py"])
def test_a_file_without_models_names_those_to_which_its_imports_lead(tmp_path, monkeypatch, asked):
    package = tmp_path / "pkg"
    (package / "models").mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    (package / "__init__.py").write_text("from .registry import build\nfrom . import models\n")
    (package / "registry.py").write_text("from torch.nn import Module\ndef build(): pass\n")
    (package / "models" / "__init__.py").write_text("from .net import Net\nfrom .losses import Loss\n")
    (package / "models" / "net.py").write_text("from torch import nn\nclass Net(nn.Module): pass\n")
    (package / "models" / "losses.py").write_text("class Loss: pass\n")
    (tmp_path / "train.py").write_text("import torch\nfrom pkg import build\ndef main(): build()\n")
    (tmp_path / "scripts" / "train.py").write_text("import helper\ndef main(): helper.net()\n")
    (tmp_path / "scripts" / "helper.py").write_text("from parts.net import Net as net\n")
    (tmp_path / "scripts" / "parts").mkdir()
    (tmp_path / "scripts" / "parts" / "net.py").write_text("from torch import nn\nclass Net(nn.Module): pass\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError) as caught:
        find_roots(parse_target(asked))
    named = "scripts/parts/net.py" if asked.startswith("scripts") else "pkg/models/net.py"
    assert caught.value.hint == f"it imports files that have some: {named}"
    assert find_roots(parse_target(named))


# ---- one process, many targets ---------------------------------------------------------------------------------------

BLOCK = "from torch import nn\nfrom other import Base\n\nclass Net(Base):\n    def __init__(self, width):\n        super().__init__()\n"


def named(folder: Path, name: str) -> tuple[Any, ...]:
    (target,) = models_of(parse_target(f"model.py:{name}", cwd=folder))
    return target.name, target.arguments


def test_a_file_is_read_again_when_it_or_what_it_imports_has_changed(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("from torch import nn\nBase = nn.Module\n", "utf-8")
    (tmp_path / "model.py").write_text(f"{BLOCK}\nnet = Net(3)\n", "utf-8")
    assert named(tmp_path, "Net") == ("Net", (3,))
    assert named(tmp_path, "Net") == ("Net", (3,))
    (tmp_path / "model.py").write_text(f"{BLOCK}\nnet = Net(4)\n", "utf-8")
    assert named(tmp_path, "Net") == ("Net", (4,))
    (tmp_path / "model.py").write_text(f"{BLOCK}\ndef tiny():\n    return Net(4)\n", "utf-8")
    assert named(tmp_path, "Net") == ("tiny", ())
    (tmp_path / "other.py").write_text("from torch import nn\nBase = object  # no more\n", "utf-8")
    assert named(tmp_path, "Net") == ("Net", (4,))


def test_classes_of_one_file_are_looked_for_in_one_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.py").write_text("from torch import nn\nBase = nn.Module\n", "utf-8")
    (tmp_path / "model.py").write_text(
        f"{BLOCK}\nclass Other(Net):\n    pass\n\nnet, other = Net(3), Other(5)\n", "utf-8"
    )
    assert named(tmp_path, "Net") == ("Net", (3,))
    monkeypatch.setattr(looking, "_tree_of", lambda module: pytest.fail("it is parsed again"))
    assert named(tmp_path, "Other") == ("Other", (5,))
