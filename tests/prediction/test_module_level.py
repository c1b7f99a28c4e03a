"""Models made at module level, and what the statements after them do; the same text run by Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

SCRIPTS = {
    "a loop that changes parameters, before a part is replaced": """
        net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
        for p in net.parameters():
            p.requires_grad = False
        net[0] = nn.Linear(2, 4)
        """,
    "loops inside loops, and a comprehension": """
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
        for m in net.modules():
            if isinstance(m, nn.Linear):
                for name, p in m.named_parameters():
                    if name == "bias":
                        p.requires_grad = False
        [p.requires_grad_(False) for p in net[0].parameters()]
        net[2] = nn.Identity()
        """,
    "functions that change what they are given": """
        def freeze(m):
            for p in m.parameters():
                p.requires_grad = False
        def grow(m, size):
            m.add_module("new", nn.Linear(size, 1))
        def init(m):
            if isinstance(m, nn.BatchNorm1d):
                m.weight.requires_grad = False
        def prepare(model):
            model.apply(init)
        net = nn.Sequential(nn.Linear(2, 2))
        freeze(net)
        net.append(nn.Linear(3, 3))
        grow(net, size=4)
        net.append(nn.BatchNorm1d(2))
        prepare(net)
        nn.utils.weight_norm(net[1])
        setattr(net, "last", nn.ReLU())
        """,
    "a training loop leaves the structure": """
        def train(model, batches):
            model.train()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for group in optimizer.param_groups:
                group["lr"] = 1
            for x in batches:
                loss = model(x).sum()
                loss.backward()
                optimizer.step()
        net = nn.Sequential(nn.Linear(2, 2))
        train(net, [torch.zeros(1, 2)])
        """,
    "names that exec binds in a dict": """
        names = {}
        exec("def made(n):\\n    return nn.Linear(n, n)\\nWIDTH = 6", {"nn": nn}, names)
        net = nn.Sequential(names["made"](names["WIDTH"]))
        """,
    "functions of one name, told apart by the class of what they are given": """
        from functools import singledispatch
        @singledispatch
        def make(x):
            raise TypeError
        @make.register(int)
        def _(x):
            return nn.Linear(x, x)
        @make.register(str)
        def _(x):
            return getattr(nn, x)()
        @make.register(list)
        @make.register(tuple)
        def _(x):
            return nn.Sequential(*map(make, x))
        net = make([3, "ReLU", (4, "Tanh")])
        """,
    "one instance per class, kept by the metaclass": """
        class Singleton(type):
            _instances = {}
            def __call__(cls, *args, **kwargs):
                if cls not in cls._instances:
                    cls._instances[cls] = super().__call__(*args, **kwargs)
                return cls._instances[cls]
        class Settings(metaclass=Singleton):
            def __init__(self, width=5):
                self.width = width
        SETTINGS = Settings(7)
        net = nn.Linear(Settings(9).width, Settings().width)
        """,
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_as_the_module_leaves_it(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(textwrap.dedent(text) + "Net = lambda: net\n")


def test_a_decorator_without_end_leaves_its_class_unknown(predict_source: Callable[..., Graph]) -> None:
    text = """
        def endless(cls):
            return endless(cls)
        @endless
        class Part(nn.Module):
            pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()
        """
    graph = predict_source(text)
    assert [(node.path, node.class_name) for node in graph.modules[1:]] == [("part", None)]
    assert any("calls inside each other" in problem.message for problem in graph.problems)


def test_what_is_set_at_a_path_that_is_not_known_may_stand_anywhere(predict_source: Callable[..., Graph]) -> None:
    text = """
        import os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
                self.b = nn.ReLU()
                name = os.environ.get("NAME", "a.1")
                parent = self.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], nn.SiLU())
                self.last = nn.Tanh()
        """
    known = {node.path: node.class_name for node in predict_source(text).modules if node.class_name}
    assert known == {"": "net.Net", "last": "torch.nn.modules.activation.Tanh"}


def test_a_module_of_torch_that_the_bundled_source_leaves_out_is_not_missing(predict_source):
    """Where torch is not installed, the model is run elsewhere."""
    graph = predict_source(
        """
        try:
            from torch.optim.swa_utils import AveragedModel
        except ImportError:
            AveragedModel = None

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                if AveragedModel is None:
                    self.old = nn.Linear(1, 1)
        """,
        with_torch=False,
    )
    assert not graph.complete
    assert "torch is not installed" in graph.problems[0].message
