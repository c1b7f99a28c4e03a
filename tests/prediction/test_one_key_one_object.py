"""Which objects are one, which values are one key and which are none, and what else Python and torch refuse. Torch,
running the same text, is the judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
NET = """
import collections, contextlib
from collections import Counter, OrderedDict, deque
def made(act="relu"):
    return nn.ReLU() if act is "relu" else nn.Tanh()
def join(*parts):
    return "".join(parts)
@contextlib.contextmanager
def guard():
    for _ in range(50):
        pass
    try:
        yield
    except ValueError:
        pass
@contextlib.contextmanager
def width(n):
    for _ in range(50):
        pass
    yield n
def refused(*calls):
    said = []
    for call in calls:
        try:
            call()
            said.append(1)
        except TypeError:
            said.append(2)
        except KeyError:
            said.append(3)
    return said
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        t = torch.zeros(2)
        KEY = [64]
{}
"""
LINEAR = "self.{0} = nn.Linear({0}, 1)"


def net(text: str) -> str:
    return NET.format("".join(f"        {line}\n" for line in text.split("\n")))


KNOWN = {
    "a literal that was passed along": 'self.a = made()\nself.b = made("relu")\nself.c = made("tanh")',
    "literals": 'act = "re" "lu"\nself.a = nn.ReLU() if act is "relu" else nn.Tanh()',
    "the same tuple": "x = (1, 2)\ny = x\nself.a = nn.ReLU() if y is x else nn.Tanh()",
    "the empty tuple": "self.a = nn.ReLU() if () is () else nn.Tanh()",
    "the guard runs the block": "with guard():\n    self.a = nn.Linear(1, 1)\nwith guard():\n    raise ValueError",
    "what the manager gives": "for k in range(4):\n    with width(k + 1) as w:\n        setattr(self, f'a{k}', nn.Linear(w, 1))",
    "numbers are one key": (
        "d = {2: 1}\nd.setdefault(2.0, 5)\nd.update({2.0: 7})\nself.a = nn.Linear(d.get(2.0), len(d))\n"
        "self.b = nn.Linear(d.pop(2.0), len(dict.fromkeys([1, True, 1.0])))"
    ),
    **{
        f"refused: {call}": f"for n in refused(lambda: {call}):\n    self.a = nn.Linear(n, 1)"
        for call in (
            *("{OrderedDict(): 1}", "{Counter(): 1}", "{dict().keys(): 1}", "{dict().items(): 1}"),
            *("{dict().values(): 1}", "{deque(): 1}", "{1: 1}.pop(KEY, 1)", "{64: 1}.get(KEY, 2)", "{}[KEY]"),
            *("KEY in {}", "KEY in {1}", "{1} in {1}", "{}.pop(KEY, 1)", "{}.setdefault(KEY)", "{1}.discard(KEY)"),
            *("{1}.add(KEY)", "set().discard({1})", "dict.fromkeys([KEY])", "dict([(KEY, 1)])", "{(1, KEY): 1}"),
            *("{frozenset(): 1}", "{nn.ReLU(): 1}", "{}.get(())", "{}.get(1)", "KEY in [1]"),
            *("torch.empty([True, 3])", "torch.empty([3, True])", "t.new_zeros(True)", "t.new_full([True], 1)"),
            *("torch.eye(True)", "torch.eye(3, True)", "torch.randint(5, [True])", "torch.randperm(True)"),
            *("torch.zeros(torch.Size([True]))", "torch.linspace(0, 1, True)", "torch.full([True], 1)"),
            *("t.new_ones((True,))", "t.new_empty([True])", "t.new_zeros(3, True)", "torch.hann_window(True)"),
        )
    },
}


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_like_torch(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(net(text))


UNKNOWN = {
    "a computed text": 'self.a = made(join("re", "lu"))',
    "computed after a literal": 'self.a = made()\nself.b = made()\nself.c = made(join("re", "lu"))',
    "bound methods": "self.a = nn.ReLU() if self.forward is self.forward else nn.Tanh()",
    "tuples": "self.a = nn.ReLU() if tuple([1, 2]) is (1, 2) else nn.Tanh()",
    "devices": "self.a = nn.ReLU() if torch.device('cpu') is torch.device('cpu') else nn.Tanh()",
}


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_be_two_objects_is_unknown(predict_source: Callable[..., Graph], text: str) -> None:
    assert not predict_source(net(text)).complete


@pytest.mark.parametrize("given", ["{}", "dict()", "OrderedDict()", "super().__prepare__(name, bases)"])
def test_a_namespace_that_is_prepared_empty_holds_nothing(agrees: Callable[[str], Graph], given: str) -> None:
    agrees(f"""
from collections import OrderedDict
class Meta(type):
    @classmethod
    def __prepare__(meta, name, bases, **rest):
        return {given}
class Config(metaclass=Meta):
    width = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(Config.width, getattr(Config, "depth", 2))
""")


@pytest.mark.parametrize(
    ("how", "known"),
    [
        ("from pk import build", True),
        ("import pk; build = pk.build", True),
        ("import pk.build; from pk import build", False),
        ("import pk, importlib; importlib.import_module('pk.build'); build = pk.build", False),
    ],
)
def test_a_submodule_that_nobody_imports_replaces_nothing(tmp_path: Path, how: str, known: bool) -> None:
    import modgraph

    package = tmp_path / "pk"
    package.mkdir()
    text = "from torch import nn\ndef resnet():\n    return nn.Linear(2, 3)\nbuild = resnet\n"
    (package / "__init__.py").write_text(text, encoding="utf-8")
    (package / "build.py").write_text("X = 1\n", encoding="utf-8")
    init = "    def __init__(self):\n        super().__init__()\n        self.a = build()\n"
    model = tmp_path / "model.py"
    model.write_text(f"{how}\nfrom torch import nn\nclass Net(nn.Module):\n{init}", encoding="utf-8")
    graph = modgraph.predict(f"{model}:Net")
    assert graph.complete is known


def test_a_name_that_was_deleted_through_globals_is_gone(agrees: Callable[[str], Graph]) -> None:
    agrees("""
t = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        del globals()["t"]
        self.a = nn.Linear(1 if "t" in globals() else 2, globals().get("t", 9))
        globals()["t"] = 7
        self.b = nn.Linear(t, 1 if "t" in globals() else 2)
""")
