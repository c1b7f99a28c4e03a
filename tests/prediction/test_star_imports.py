"""Names that are imported from modules without source, all at once or one that may not be there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

NETS = {
    "all of modules that are compiled": """
        from math import *
        from itertools import *
        from os.path import *
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(floor(pi), int(sqrt(16)))
                self.b = nn.Linear(sum(chain([1], [2])), len(list(product([1, 2], [1]))))
                self.c = nn.Linear(len(join("a", "b")), int(pow(2, 3)))
        """,
    "a name that is certainly not there": """
        try:
            from math import nosuch
        except ImportError:
            V = 6
        try:
            from itertools import nosuch as other
            W = 2
        except ImportError:
            W = 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(V, W)
        """,
    "a name that nothing binds": """
        from math import *
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    self.a = nn.Linear(nosuch, 1)
                except NameError:
                    self.b = nn.ReLU()
        """,
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", NETS.values(), ids=NETS)
def test_what_the_table_of_standard_names_says_holds(agrees: Callable[[str], Graph], text: str):
    agrees(text)


@pytest.mark.parametrize("module", ["not_there_at_all", "math"])
def test_what_may_be_there_is_no_error(
    predict_source: Callable[..., Graph], module: str, monkeypatch: pytest.MonkeyPatch
):
    from modgraph.prediction.python import standard_names

    monkeypatch.setattr(standard_names, "_is_as_asked", lambda: False)  # another Python than the table is of
    graph = predict_source(f"""
        from {module} import *
        try:
            from math import perhaps
            V = 5
        except ImportError:
            V = 6
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(something, V)
                self.b = nn.Linear(len([1]), 2)
        """)
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    shapes = {node.path: [parameter.shape for parameter in node.parameters] for node in graph.modules}
    assert shapes["a"][0] == (None, None)
    assert shapes["b"] == [(2, 1), (2,)]
