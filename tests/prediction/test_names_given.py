"""Names of children that are given as text, or as what is text too; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

ENUMS = """
        import enum
        class E(str, enum.Enum):
            A = "x"
            B = "y"
            C = "z"
        class Kind(str):
            pass
        """
NETS = {
    "registered": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module(E.A, nn.ReLU())
                self.register_module(E.B, nn.Tanh())
                self.register_buffer(E.C, torch.zeros(2), persistent=False)
                self.register_parameter("p", nn.Parameter(torch.zeros(3)))
                self.x.register_parameter(E.A, nn.Parameter(torch.zeros(3)))
        """,
    "set, asked for and deleted": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                setattr(self, E.A, nn.ReLU())
                setattr(self, E.B, nn.ReLU())
                delattr(self, E.B)
                self.a = nn.ReLU() if hasattr(self, E.A) and not hasattr(self, E.B) else nn.Tanh()
                self.b = nn.Sequential(getattr(self, E.A), getattr(self, E.C, nn.Tanh()))
                self._modules[E.C] = nn.ReLU()
        """,
    "keys of containers": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.d = nn.ModuleDict({E.A: nn.ReLU(), "y": nn.Tanh()})
                self.d[E.C] = nn.Sigmoid()
                self.a = self.d["x"]
                self.b = self.d.pop(E.B) if E.B in self.d else None
                self.p = nn.ParameterDict({E.A: torch.zeros(2)})
                self.p[E.B] = self.p[E.A]
                self.q = {"x": nn.ReLU, "y": nn.Tanh}[E.B]()
        """,
}


@pytest.mark.parametrize("text", NETS.values(), ids=NETS)
def test_members_of_enums_of_strings_are_text(agrees: Callable[[str], Graph], text: str):
    agrees(ENUMS + text)


def test_text_of_a_class_of_its_own_is_not_known(predict_source: Callable[..., Graph]):
    graph = predict_source(
        ENUMS
        + """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module(Kind("a"), nn.ReLU())
        """
    )
    assert graph.problems
    assert not any("cannot be built" in problem.message for problem in graph.problems)


def test_a_size_that_is_true_is_refused_where_torch_refuses_it(agrees: Callable[[str], Graph]):
    agrees("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name, sizes in (("a", (2, True)), ("b", (True, 2)), ("c", (False, True))):
                    try:
                        self.add_module(name, nn.Linear(*sizes))
                    except TypeError:
                        self.add_module(name, nn.ReLU())
                self.register_buffer("d", torch.zeros((2, True)))
        """)
