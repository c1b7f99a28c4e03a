"""Sets of text have another order in every run: what does not depend on it is predicted, what does is not."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

_SETTLED = [
    'len(sorted(filter(lambda name: "a" in name, names)))',
    "len(sorted(map(str.upper, names))[-1])",
    "len(sorted(x for x in filter(None, names))[0])",
    "len({*names, 'x'})",
    "len(set(map(len, names)))",
    "1 if {'alpha'} <= names else 2",
    "1 if names < names else 2",
    "len(sorted(names.union(['q'], {'r'}))[0])",
    "max(len(name) for name in names - {'alpha'})",
]


@pytest.mark.needs_torch
@pytest.mark.parametrize("size", _SETTLED)
def test_what_no_order_changes_is_predicted(agrees: Callable[[str], Graph], size: str) -> None:
    agrees(f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        names = {{"alpha", "beta", "gamma"}}
        self.a = nn.Linear({size}, 1)
""")


@pytest.mark.needs_torch
def test_a_list_made_of_a_set_may_grow(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                names = {"alpha", "beta", "gamma"}
                found = [name for name in names]
                found += ["z"]
                found.append("y")
                found.extend(["x"])
                self.a = nn.Linear(len(sorted(found)), 1)
        """
    )


@pytest.mark.parametrize("walk", ["filter(None, names)", "map(str.upper, names)"])
def test_the_first_of_them_is_not_known(predict_source: Callable[..., Graph], walk: str) -> None:
    graph = predict_source(
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                names = {{"alpha", "beta"}}
                self.a = nn.Linear(len(list({walk})[0]), 1)
        """
    )
    assert graph.modules[1].parameters[0].shape == (1, None)


def test_what_counts_its_calls_is_not_taken_for_settled(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                seen = []
                def number(name):
                    seen.append(name)
                    return f"{name}{len(seen)}"
                self.a = nn.Linear(len(sorted(map(number, {"alpha", "be"}))[0]), 1)
                self.b = nn.Linear(len(seen[0]), 1)
        """
    )
    assert graph.modules[2].parameters[0].shape == (1, None)


def test_what_is_unpacked_from_an_unknown_list_is_in_no_union(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self, groups):
                super().__init__()
                self.a = nn.Linear(len(set().union(*groups)), 1)
        """
    )
    assert graph.modules[1].parameters[0].shape == (1, None)


_IDLE = {
    "no turn does anything": """
        for name in names:
            if name not in known:
                known.append(name)
        """,
    "one turn counts": """
        known.remove("delta")
        for name in names:
            if name not in known:
                known.append(name)
        """,
    "calls of functions that do nothing": """
        def look(name):
            found = [name]
            return len(found)
        for name in names:
            if look(name) > 1:
                known.append(name)
        """,
    "a turn that says `continue`": """
        for name in names:
            if name in known:
                continue
            known.append(name)
        """,
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("loop", _IDLE.values(), ids=_IDLE)
def test_a_loop_in_which_one_turn_at_most_counts_is_predicted(agrees: Callable[[str], Graph], loop: str) -> None:
    body = textwrap.indent(textwrap.dedent(loop), " " * 16)
    agrees(
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                known = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
                names = set(known)
{body}
                self.a = nn.Linear(len(known[-1]), len(known))
        """
    )


_COUNTING = {
    "two turns count": """
        for name in names:
            if name in ("be", "delta"):
                known.append(name)
        """,
    "a turn counts after the one that counts": """
        for name in names:
            if name == "be" or (known and name == "delta"):
                known.append(name)
        """,
    "the last name": """
        for name in names:
            pass
        known.append(name)
        """,
    "a turn that ends the loop": """
        for name in names:
            if name in ("be", "delta"):
                break
        known.append(name)
        """,
    "an iterator that is used up": """
        rest = iter(["a", "bc", "def", "ghij", "klmno", "pqrstu"])
        for name in names:
            if len(next(rest)) == len(name):
                known.append(name)
        known.append("" if not known else known[0])
        """,
    "a turn that returns": """
        def first():
            for name in names:
                if len(name) > 4:
                    return name
        known.append(first())
        """,
}


@pytest.mark.parametrize("loop", _COUNTING.values(), ids=_COUNTING)
def test_a_loop_of_which_the_order_matters_is_not_known(predict_source: Callable[..., Graph], loop: str) -> None:
    body = textwrap.indent(textwrap.dedent(loop), " " * 16)
    graph = predict_source(
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                names = {{"a", "be", "gam", "delta", "epsilon", "zetazeta"}}
                known = []
{body}
                self.a = nn.Linear(len(known[0]), 1)
        """
    )
    assert graph.modules[1].parameters[0].shape == (1, None)


_DOUBTFUL = {
    "what an operation may raise": ("sock.gethostname()", "ValueError"),
    "what a call may raise": ("sock.gethostname()", "Exception"),
}


@pytest.mark.parametrize(("text", "error"), _DOUBTFUL.values(), ids=_DOUBTFUL)
def test_what_a_turn_may_raise_is_not_forgotten(predict_source: Callable[..., Graph], text: str, error: str) -> None:
    """The turns are tried one by one before they count."""
    graph = predict_source(
        f"""
        import socket as sock
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    for name in {{"a", "b"}}:
                        if name == "a":
                            number = int({text})
                except {error}:
                    self.extra = nn.Linear(1, 1)
        """
    )
    assert not graph.complete
    assert any("extra" in problem.message for problem in graph.problems)
