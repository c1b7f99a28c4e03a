"""numpy's numbers and arrays, gradients written in place, old names of torch: each with torch itself as the judge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

PREDICTED_AS_BUILT = {
    "a number out of numpy makes a tensor of double precision": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Parameter(torch.tensor(np.log(1 / 0.07)))
                self.b = nn.Parameter(torch.tensor(np.linspace(0, 1, 5)[2] * 2))
                self.c = nn.Parameter(torch.tensor([np.sqrt(2.0), 1.0]))
                self.d = nn.Parameter(torch.tensor(np.float64(1).item()))
                self.e = nn.Parameter(torch.ones(2) * np.float64(2))
                self.f = nn.Parameter(torch.full((2,), np.sqrt(2.0)))
                self.g = nn.Parameter(torch.tensor(np.float32(0.5)))
                self.h = nn.Parameter(torch.tensor(-np.mean([1, 2]) / np.float64(0)))
                self.i = nn.Linear(2, 1) if isinstance(np.exp(0), (float, np.floating)) else None
                self.j = nn.Parameter(torch.tensor(float(np.exp(0.0))))
        """,
    "a number out of numpy has its methods": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(np.sqrt(16.0).astype(int), int(np.sqrt(17.0).round()))
                self.b = nn.Linear(np.array([3, 4])[0].astype(np.int64), np.prod([2, 3]).item())
                self.c = nn.ModuleList(nn.Linear(w, 1) for w in np.linspace(4, 8, 3).astype(int))
                self.d = nn.Parameter(torch.tensor(np.int64(3).astype(float)))
                self.e = nn.ModuleDict({str(np.arange(3)[1]): nn.ReLU(), f"s{np.sqrt(4.0):.0f}": nn.ReLU()})
                self.f = nn.Linear(round(np.sqrt(16.0)), 1) if np.sqrt(4.0) == 2 else None
        """,
    "arrays keep the kind of numbers that numpy gives them": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("a", torch.from_numpy(np.sqrt(np.array([1, 2], dtype=np.float32))))
                self.register_buffer("b", torch.tensor(np.array([True, False])))
                self.register_buffer("c", torch.tensor(np.arange(3) / 2))
                self.register_buffer("d", torch.from_numpy(np.clip(np.array([1, 2], dtype=np.int32), 0, 1)))
                self.register_buffer("e", torch.tensor(np.array([1, 2]).mean()))
                self.register_buffer("g", torch.as_tensor(np.eye(3)))
                self.register_buffer("h", torch.as_tensor(np.eye(3), dtype=torch.float32))
                self.f = nn.Linear(int(np.array([1, 4]).mean() * 2), 1)
        """,
    "functions of two arrays work number by number": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(int(np.maximum([1, 5], [2, 1]).sum()), int(np.minimum(2 ** np.arange(4), 4).sum()))
                self.b = nn.Linear(int(np.add([[1, 2], [3, 4]], [1, 2])[0, 1]), int(np.sort([[3, 1], [2, 5]])[0, 1]))
        """,
    "arrays whose numbers are not known have a shape": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                noise = np.random.randn(6)
                offsets = np.concatenate([[0], np.cumsum([2, 3])])
                self.a = nn.Parameter(torch.zeros(int(offsets[-1]), 1))
                self.register_buffer("b", torch.from_numpy(np.append(np.abs(noise), 0.0)).float())
                self.register_buffer("c", torch.tensor(np.cumprod(1.0 - noise, axis=0)[:-1]))
                self.register_buffer("d", torch.from_numpy(np.concatenate([np.sin(noise), np.cos(noise)])))
                self.register_buffer("e", torch.from_numpy(np.stack(np.meshgrid(noise, noise[:2]), axis=0)))
                self.register_buffer("f", torch.from_numpy(np.einsum("m,d->md", noise, noise[:3])))
                self.register_buffer("g", torch.from_numpy(np.triu(np.ones((12, 12)), 1).T.copy()))
                self.register_buffer("h", torch.from_numpy(np.eye(3, dtype=np.float32)))
                self.i = nn.Linear(np.tril(np.identity(4)).shape[0], 1)
        """,
    "what is written into a tensor brings its gradient, but where none is recorded": """
        @torch.no_grad()
        def quietly(a, b):
            a.bias.data.copy_(b.bias)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 2)
                self.b = nn.Linear(1, 2).requires_grad_(False)
                self.b.weight.copy_(self.a.weight * 2)
                self.b.bias.copy_(self.a.bias.detach())
                self.c = nn.Linear(1, 2).requires_grad_(False)
                with torch.no_grad():
                    self.c.weight.copy_(self.a.weight)
                    with torch.enable_grad():
                        self.c.bias.add_(self.a.bias)
                self.d = nn.Linear(1, 2).requires_grad_(False)
                quietly(self.d, self.a)
                self.e = nn.ReLU() if torch.is_grad_enabled() else None
        """,
    "a Variable is a tensor": """
        from torch.autograd import Variable
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("a", Variable(torch.zeros(2, 3)))
                mean, std = map(Variable, (torch.zeros(3), torch.ones(3)))
                self.register_buffer("b", mean.data)
                self.c = nn.Parameter(Variable(std, requires_grad=True))
                self.d = nn.ReLU() if isinstance(torch.ones(1), Variable) and isinstance(self.c, Variable) else None
        """,
    "the parts of complex numbers": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                turns = torch.polar(torch.ones(4, 2), torch.zeros(4, 2))
                self.register_buffer("a", turns.real, persistent=False)
                self.register_buffer("b", turns.imag)
                self.register_buffer("c", torch.real(torch.ones(2)))
                self.register_buffer("d", torch.ones(2, dtype=torch.float64).real)
        """,
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("construct", list(PREDICTED_AS_BUILT))
def test_the_construct_is_predicted_as_torch_builds_it(construct: str, agrees: Callable[[str], Graph]) -> None:
    if "numpy" in PREDICTED_AS_BUILT[construct]:
        pytest.importorskip("numpy")
    agrees(PREDICTED_AS_BUILT[construct])
