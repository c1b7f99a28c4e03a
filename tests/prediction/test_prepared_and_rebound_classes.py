"""What `__prepare__` puts into a class, and `super` of a name that another class has taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

CASES = {
    "__prepare__": """
        class M(type):
            @classmethod
            def __prepare__(m, name, bases): return {"W": 4}
            def __init__(cls, name, bases, namespace):
                super().__init__(name, bases, namespace)
                cls.Z = len([each for each in namespace if not each.startswith("__")])
        class Net(nn.Module, metaclass=M):
            V = W + 1
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.W, self.V)
                self.b = nn.Linear(self.Z, 1)
    """,
    "__prepare__, inherited": """
        class M(type):
            @classmethod
            def __prepare__(m, name, bases): return {"W": len(name)}
        class Base(nn.Module, metaclass=M):
            pass
        class Net(Base):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.W, Base.W)
    """,
    "super of a name that is bound again": """
        class A(nn.Module):
            def __init__(self):
                super(A, self).__init__()
                self.x = nn.ReLU()
        B = A
        class A(nn.Module):
            def __init__(self):
                super().__init__()
                self.y = nn.ReLU()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    self.b = B()
                except TypeError:
                    self.c = nn.ReLU()
    """,
    "super of a subclass that has the name of its base": """
        class A(nn.Module):
            def __init__(self):
                super(A, self).__init__()
                self.x = nn.ReLU()
        Base = A
        class Net(Base):
            def __init__(self):
                super(Net, self).__init__()
                self.y = nn.ReLU()
    """,
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_torch_builds(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(text)
