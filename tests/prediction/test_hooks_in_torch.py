"""What methods of nn.Module call of the user's: hooks of state dicts, overridden `children` and `add_module`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

PREDICTED_AS_BUILT = {
    "a hook after loading": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
                self.register_load_state_dict_post_hook(lambda m, keys: setattr(m, "b", nn.ReLU()))
                self.load_state_dict(self.state_dict())
        """,
    "a hook of a state dict": """
        def hook(module, state_dict, prefix, meta):
            module.c = nn.Linear(3, 3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
                self._register_state_dict_hook(hook)
                self.state_dict()
        """,
    "a hook before a state dict": """
        def hook(module, prefix, keep):
            module.c = nn.Linear(3, 3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
                self.register_state_dict_pre_hook(hook)
                self.state_dict()
        """,
    "register_module calls add_module": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_module("a", nn.Linear(1, 1))
            def add_module(self, name, module):
                super().add_module(name + "_x", module)
        """,
    "apply asks for the children": """
        class B(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = [nn.Linear(1, 1)]
                self.a = nn.Linear(1, 1)
            def children(self):
                return iter(self.hidden)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.b = B()
                self.apply(self.init)
                self.c = self.b.hidden[0]
            def init(self, m):
                if isinstance(m, nn.Linear): m.e = nn.ReLU()
        """,
    "apply asks for the children by their names": """
        class B(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
            def named_children(self):
                return iter([])
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.b = B()
                self.apply(self.init)
            def init(self, m):
                if isinstance(m, nn.Linear): m.e = nn.ReLU()
        """,
    "train asks for the children": """
        class B(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Dropout()
            def children(self):
                return iter([])
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.b = B()
                self.eval()
                self.c = nn.ReLU() if self.b.a.training else nn.Tanh()
        """,
    "a hook before loading changes a copy": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
                self.register_load_state_dict_pre_hook(lambda m, sd, *a: sd.pop("x", None))
                self.load_state_dict({**self.state_dict(), "x": torch.ones(1)})
        """,
}


@pytest.mark.parametrize("name", PREDICTED_AS_BUILT)
def test_it_is_called(agrees: Callable[[str], Graph], name: str) -> None:
    assert not agrees(PREDICTED_AS_BUILT[name]).problems


def test_what_a_hook_may_have_allowed_is_told(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self._register_load_state_dict_pre_hook(self.grow)
        self.load_state_dict(self.state_dict())

    def grow(self, *args):
        self.b = nn.Linear(2, 2)
""")
    assert any("load_state_dict may raise RuntimeError" in problem.message for problem in graph.problems)
