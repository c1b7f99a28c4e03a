"""Names that hooks of a metaclass give, and names of a module that others replace: known, or unknown, never wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.graph.model import Graph


@pytest.mark.needs_torch
def test_what_a_metaclass_gives_for_missing_names(agrees: Callable[[str], Graph]):
    agrees("""
        class Meta(type):
            def __getattr__(cls, name):
                if name == "nothing":
                    raise AttributeError(name)
                return len(name)
        class Config(metaclass=Meta):
            own = 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(Config.hello, Config.own)
                self.b = nn.ReLU() if hasattr(Config, "nothing") else nn.Tanh()
        """)


def test_a_namespace_that_is_prepared_is_not_known(predict_source: Callable[..., Graph]):
    graph = predict_source("""
        class Doubling(dict):
            def __setitem__(self, key, value):
                super().__setitem__(key, value)
                super().__setitem__(key + "2", value)
        class Meta(type):
            @classmethod
            def __prepare__(meta, name, bases):
                return Doubling()
            def __new__(meta, name, bases, names):
                return super().__new__(meta, name, bases, dict(names))
        class Config(metaclass=Meta):
            w = 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(Config.w2, 1)
        """)
    assert graph.problems
    assert not any("cannot be built" in problem.message for problem in graph.problems)


REPLACED = {
    "a submodule of that name": (
        {"p/__init__.py": "sub = 4\n", "p/sub.py": "w = 3\n"},
        "import p\nimport p.sub",
        "p.sub",
    ),
    "another object in its place": (
        {"cfg.py": "import sys\nclass C:\n    W = 5\nsys.modules[__name__] = C()\nW = 1\n"},
        "import cfg",
        "cfg.W",
    ),
}


@pytest.mark.parametrize(("files", "imports", "used"), REPLACED.values(), ids=REPLACED)
def test_what_others_may_replace_is_not_known(
    predict_source: Callable[..., Graph], tmp_path: Path, files: dict[str, str], imports: str, used: str
):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    net = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear({used}, 1)\n"
    graph = predict_source(f"{imports}\n{net}", with_torch=False)
    assert graph.problems
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    assert all(parameter.shape != (1, 4) for node in graph.modules for parameter in node.parameters)


@pytest.mark.parametrize("importing", ["import side", "if big:\n            import side"])
def test_what_a_function_imports_takes_effect_when_it_runs(
    predict_source: Callable[..., Graph], tmp_path: Path, importing: str
):
    (tmp_path / "cfg.py").write_text("W = 2\n", encoding="utf-8")
    (tmp_path / "side.py").write_text("import cfg\ncfg.W = 7\n", encoding="utf-8")
    body = f"        self.a = nn.Linear(cfg.W, 1)\n        {importing}\n        self.b = nn.Linear(cfg.W, 1)\n"
    start = "import cfg\nclass Net(nn.Module):\n    def __init__(self, big=False):\n        super().__init__()\n"
    graph = predict_source(start + body, with_torch=False)
    shapes = {node.path: node.parameters[0].shape for node in graph.modules if node.parameters}
    assert shapes["a"] in ((1, 2), (1, None))
    assert shapes["b"] in ((1, 2 if "big" in importing else 7), (1, None))


def test_a_package_that_imports_its_submodule_first_keeps_what_it_binds(
    predict_source: Callable[..., Graph], tmp_path: Path
):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("from .block import block\n", encoding="utf-8")
    (tmp_path / "p/block.py").write_text("def block(n):\n    return n * 2\n", encoding="utf-8")
    text = "import p.block\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    graph = predict_source(f"{text}        self.a = nn.Linear(p.block(3), 1)\n", with_torch=False)
    assert [parameter.shape for node in graph.modules for parameter in node.parameters] == [(1, 6), (1,)]
