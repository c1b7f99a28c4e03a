"""What importing the target's file does besides binding names is followed; the same files imported are the judge."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.prediction import entry

pytestmark = pytest.mark.needs_torch

CASES = {
    "a call sets an attribute of a class": """
class Net(nn.Module):
    width = 2
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, self.width)
def setup():
    Net.width = 5
setup()
""",
    "a call assigns a global": """
W = 2
def setup():
    global W
    W = 5
setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "a call of a call": """
class Cfg:
    w = 2
def inner():
    Cfg.w = 7
def setup():
    inner()
setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
""",
    "setattr in a call": """
class Cfg:
    w = 2
def setup(k, v):
    setattr(Cfg, k, v)
setup("w", 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
""",
    "the class is an argument": """
class Cfg:
    w = 2
def setup(c):
    c.w = 9
setup(Cfg)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
""",
    "an object made before": """
class Cfg:
    def __init__(self): self.w = 2
cfg = Cfg()
def setup():
    cfg.w = 6
setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, cfg.w)
""",
    "a method is replaced": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = self.make()
    def make(self): return nn.Linear(1, 2)
def patch():
    def make(self): return nn.Linear(1, 3)
    Net.make = make
patch()
""",
    "a function of another module": """
import conf
conf.setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, conf.Cfg.w)
#@ conf.py
class Cfg:
    w = 2
def setup():
    Cfg.w = 8
""",
    "another module calls its own": """
from conf import Cfg
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
#@ conf.py
class Cfg:
    w = 2
def setup():
    Cfg.w = 8
setup()
""",
    "below an if": """
class Cfg: w = 2
def setup(): Cfg.w = 5
if True:
    setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
""",
    "the result is kept": """
class Cfg: w = 2
def setup():
    Cfg.w = 5
    return 1
_ = setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.w)
""",
    "an instance made before counts": """
class Block(nn.Module):
    n = 0
    def __init__(self):
        super().__init__()
        Block.n += 1
        self.a = nn.Linear(1, Block.n)
first = Block()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
""",
    "one made after the model's class": """
class Block(nn.Module):
    n = 0
    def __init__(self):
        super().__init__()
        type(self).n += 1
        self.a = nn.Linear(1, self.n)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
probe = Block()
""",
    "a counter of itertools": """
import itertools
ids = itertools.count(1)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, next(ids))
first = Block()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
""",
    "the model itself was made before": """
class Net(nn.Module):
    n = 0
    def __init__(self):
        super().__init__()
        Net.n += 1
        self.a = nn.Linear(1, Net.n)
probe = Net()
""",
    "a function that counts": """
n = 0
def fresh():
    global n
    n += 1
    return n
A = fresh()
B = fresh()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, fresh())
""",
    "globals()[name] in a loop": """
for n in ("A", "B"):
    globals()[n] = type(n, (nn.Linear,), {})
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A(1, 2)
""",
    "vars()[name]": """
vars()["W"] = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "setattr of the module": """
setattr(sys.modules[__name__], "W", 3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "an attribute of the module": """
sys.modules[__name__].W = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "exec": """
exec("W = 3")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "the model is made by exec": '''
exec("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 2)
""")
''',
    "the model is put into globals()": """
def make(w):
    class N(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(1, w)
    return N
globals()["Net"] = make(4)
""",
    "globals().update": """
globals().update({"W": 3})
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "names of another module": """
from lib import A
import lib
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A(1, 2)
        self.b = lib.B(1, 3)
#@ lib.py
from torch import nn
for n in ("A", "B"):
    globals()[n] = type(n, (nn.Linear,), {})
""",
    "globals() in a function": """
def reg(n, v):
    globals()[n] = v
reg("W", 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "a name that a statement binds too": """
W = 2
globals()["W"] = 4
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "the __dict__ of the module": """
sys.modules[__name__].__dict__["W"] = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, W)
""",
    "setattr of a name of the module": """
import lib
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = getattr(lib, "A")(1, 2) if hasattr(lib, "A") else nn.ReLU()
#@ lib.py
import sys
import textwrap
from torch import nn
m = sys.modules[__name__]
setattr(m, "A", nn.Linear)
""",
    "a layer is replaced": """
class Mine(nn.Module):
    def __init__(self, a, b): super().__init__(); self.p = nn.Parameter(torch.zeros(a, b))
nn.Linear = Mine
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 2)
""",
    "another default dtype": """
torch.set_default_dtype(torch.float64)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 2)
""",
    "a name of another module": """
import conf
conf.W = 9
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, conf.W)
#@ conf.py
W = 2
""",
    "a class of another module": """
from conf import Cfg
Cfg.W = 9
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, Cfg.W)
#@ conf.py
class Cfg:
    W = 2
""",
    "a method of a layer": """
nn.Linear.reset_parameters = lambda self: None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 2)
""",
    "a function put into torch": """
import torch.nn.functional as F
F.mine = lambda: 4
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, F.mine())
""",
    "what was bound before keeps its value": """
W = 2
A = W
class Cfg:
    w = W
def setup():
    global W
    W = 5
setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(A, W)
        self.b = nn.Linear(Cfg.w, W)
""",
    "a statement that changes its own class runs once": """
class Cfg:
    items = []
    n = 0
    @classmethod
    def add(cls):
        cls.n += 1
        cls.items.append(cls.n)
Cfg.add()
Cfg.add()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(len(Cfg.items), Cfg.n)
""",
    "a statement that changes a model runs once": """
def grow(net):
    net.total = len(net)
    net.add_module(str(len(net)), nn.Linear(1, 2))
Net = nn.Sequential(nn.ReLU())
grow(Net)
grow(Net)
""",
    "an import before a layer is replaced": """
from torch.nn import Linear
class Mine(nn.Module):
    def __init__(self, a, b):
        super().__init__()
nn.Linear = Mine
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Linear(1, 2)
        self.b = nn.Linear(1, 2)
""",
}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """imported(text): `Net` of the files, made by Python; what importing them does to torch is undone afterwards."""
    import torch

    monkeypatch.syspath_prepend(tmp_path)
    for owner, name in ((torch.nn, "Linear"), (torch.nn.Linear, "reset_parameters")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(torch.nn.functional, "mine", None, raising=False)

    def make(text: str) -> Any:
        first, *others = ("#@ net.py\nimport sys\nimport torch\nfrom torch import nn\n" + text).split("#@ ")[1:]
        for part in (first, *others):
            name, _, body = part.partition("\n")
            (tmp_path / name).write_text(body, encoding="utf-8")
            monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
        spec = importlib.util.spec_from_file_location("net", tmp_path / "net.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "net", module)
        dtype = torch.get_default_dtype()
        try:
            spec.loader.exec_module(module)
            return module.Net if isinstance(module.Net, torch.nn.Module) else module.Net()
        finally:
            torch.set_default_dtype(dtype)
            for other in others:
                sys.modules.pop(other.partition(".")[0], None)

    return make


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_as_the_import_leaves_it(
    imported: Callable[[str], Any], described: Callable[[Graph], list[tuple[Any, ...]]], tmp_path: Path, text: str
) -> None:
    from modgraph.tracing.recording.tree import Tree

    class Seen:
        modules = Tree(imported(text)).nodes

    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", path=[str(tmp_path), *sys.path])
    assert graph.problems == ()
    assert described(graph) == described(Seen)  # type: ignore[arg-type]


def test_what_is_not_followed_is_said_and_claims_no_error(predict_source: Callable[..., Graph]) -> None:
    text = """
        exec(open("names.txt").read())
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, WIDTH)
        """
    graph = predict_source(text)
    assert [node.class_name for node in graph.modules] == ["net.Net", "torch.nn.modules.linear.Linear"]
    assert ["open()" in problem.message for problem in graph.problems] == [True]


def test_a_name_that_is_nowhere_is_an_error(predict_source: Callable[..., Graph]) -> None:
    text = """
        globals()["OTHER"] = 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, WIDTH)
        """
    assert "name 'WIDTH' is not defined" in predict_source(text).problems[0].message


PATCHES = """
from unittest import mock
from unittest.mock import patch
class Mine(nn.Linear):
    pass
class Cfg:
    w = 2
D = {"w": 2}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with mock.patch.object(nn, "Linear", Mine):
            self.a = nn.Linear(1, 2)
        with patch("torch.nn.Linear", Mine), patch.object(Cfg, "w", 3), patch.dict(D, {"w": 4}, v=5):
            self.b = nn.Linear(Cfg.w, D["w"] + D["v"])
        try:
            with patch.object(Cfg, "w", new=6):
                raise ValueError
        except ValueError:
            self.c = nn.Linear(Cfg.w, len(D))
        patcher = patch.object(Cfg, "w", 7)
        patcher.start()
        self.d = nn.Linear(Cfg.w, 1)
        patcher.stop()
        self.e = nn.Linear(Cfg.w, D["w"])
"""


def test_what_mock_patches_holds_in_its_block(agrees: Callable[[str], Graph]) -> None:
    agrees(PATCHES)


def test_what_takes_too_long_leaves_the_prediction_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
from torch import nn
class Config:
    width = 2
def setup():
    for number in range(200):
        Config.width = number
setup()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 3)
"""
    (tmp_path / "model.py").write_text(source, "utf-8")
    monkeypatch.setattr(entry.whole_modules, "MAX_EXECUTED_WORK", 0)
    monkeypatch.setattr(entry.import_effects, "MAX_IMPORT_WORK", 100)
    graph = modgraph.predict(f"{tmp_path / 'model.py'}:Net")
    assert [node.class_name for node in graph.modules[1:]] == ["torch.nn.modules.linear.Linear"]
    (problem,) = graph.problems
    assert "is not followed to its end: more than" in problem.message


FILES = {
    "model.py": """
        from torch import nn
        from tables import KINDS
        from large import SHAPES
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name, kind in KINDS.items():
                    self.add_module(name, kind())
                self.shapes = nn.Sequential(*(nn.Linear(1, size) for size in SHAPES.values()))
        """,
    "tables.py": """
        from torch import nn
        KINDS = {"own": nn.ReLU}
        """,
    "large/__init__.py": """
        from large.shapes import SHAPES
        from large import other
        """,
    "large/shapes.py": "SHAPES = {0: 1}\n",
    "large/other.py": """
        from torch import nn
        from tables import KINDS
        from large.shapes import SHAPES
        KINDS["large"] = nn.GELU
        SHAPES[1] = 2
        """,
}


def test_what_importing_a_large_package_changes_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own tables are as their modules leave them, as of an installed one; what it does to others' leaves them open."""
    (tmp_path / "large").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")

    def predicted() -> tuple[list[str], list[str]]:
        graph = modgraph.predict(f"{tmp_path / 'model.py'}:Net", path=[str(tmp_path)])
        return [node.path for node in graph.modules[1:]], [problem.message for problem in graph.problems]

    assert predicted() == (["own", "large", "shapes", "shapes.0", "shapes.1"], [])
    monkeypatch.setattr("modgraph.prediction.code.import_order.MAX_FOLLOWED_TEXT", 100)
    paths, problems = predicted()
    assert paths == ["?", "shapes", "shapes.0"]
    assert "large/other.py may change KINDS, and is of a package of more than" in problems[0]
    (tmp_path / "large" / "other.py").write_text("from tables import KINDS\n\nALL = list(KINDS)\n" * 5, "utf-8")
    assert predicted() == (["own", "shapes", "shapes.0"], [])
