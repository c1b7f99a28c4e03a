"""What is written, or taken out, under a key, index or name that is not known: nothing that it may have hit is claimed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

_WRITES = {
    "dict": 'd = {"a": 1, "b": 2}\nd[n] = 9\nsize = d["a"]',
    "dict, one of two keys": 'd = {"a": 1}\nd["a" if n else "c"] = 9\nsize = d["a"]',
    "list": "l = [1, 2]\nl[n] = 9\nsize = l[0]",
    "list, of lists": "l = [[1], [2]]\nl[n].append(3)\nsize = len(l[0])",
    "tuple, of lists": "t = ([1], [2])\nt[n].append(3)\nsize = len(t[0])",
    "sorted": "size = sorted([2, 1], reverse=bool(n))[0]",
    "object": "c = C()\nsetattr(c, n, 9)\nsize = c.own",
    "object, over its class": "c = C()\nsetattr(c, n, 9)\nsize = c.shared",
    "its __dict__": "c = C()\nc.__dict__[n] = 9\nsize = c.shared",
    "its vars": "c = C()\nvars(c).update({n: 9})\nsize = c.shared",
    "class": "setattr(C, n, 9)\nsize = C.shared",
    "removed from a dict": 'd = {"a": 1, "b": 2}\nd.pop(n)\nsize = d.get("a", 5)',
    "removed by one of two keys": 'd = {"a": 1, "b": 2}\ndel d["a" if n else "b"]\nsize = d.get("a", 5)',
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES.keys())
def test_what_may_have_been_hit_is_not_known(predict_source: Callable[..., Graph], write: str) -> None:
    body = "\n        ".join(write.splitlines())
    graph = predict_source(f"""
class C:
    shared = 1

    def __init__(self):
        self.own = 1


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        {body}
        self.a = nn.Linear(size, 1)
""")
    assert graph.modules[1].class_name == "torch.nn.modules.linear.Linear"
    assert graph.modules[1].parameters[0].shape == (1, None)
    assert graph.problems


def test_methods_of_a_class_stay_where_a_value_was_set(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class C:
            def size(self):
                return 4

        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                setattr(C, n, 9)
                self.a = nn.Linear(C().size(), 1)
        """
    )
    assert graph.modules[1].parameters[0].shape == (1, 4)


@pytest.mark.parametrize(
    "taken", ["self._modules.pop(n)", 'self._modules.pop("a" if n else "b")', "del self._modules[n]"]
)
def test_a_child_that_may_have_been_taken_out_is_not_claimed(predict_source: Callable[..., Graph], taken: str) -> None:
    graph = predict_source(
        f"""
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.a, self.b = nn.ReLU(), nn.Tanh()
                {taken}
        """
    )
    assert [node.class_name for node in graph.modules[1:]].count(None) == len(graph.modules) - 1


def test_an_entry_that_a_choice_of_keys_cannot_hit_stays(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                d = {"a": 1, "b": 2}
                d["a" if n else "c"] = 9
                self.b = nn.Linear(d["b"], 1)
        """
    )
    assert graph.problems == ()
    assert graph.modules[1].parameters[0].shape == (1, 2)
