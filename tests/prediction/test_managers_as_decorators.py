"""Functions under a `@contextmanager` that stands above their `def`: each call is made within it; generators that come
to their `yield` other than once."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

from modgraph.prediction import predict_graph
from modgraph.prediction.entry import predict_target
from modgraph.source.targets import parse_target

HEAD = """
from contextlib import contextmanager
from torch import nn

LOG = []


@contextmanager
def logged(number, fails=False):
    LOG.append(number)
    if fails:
        raise KeyError(number)
    try:
        yield number
    except ValueError:
        LOG.append(-1)
    finally:
        LOG.append(0)


"""
BODIES = {
    "a method": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        size = self.add(3)
        self.add(size)
        self.b = nn.Linear(len(LOG), sum(LOG))

    @logged(5)
    @logged(2)
    def add(self, n):
        self.add_module(f"m{n}", nn.Linear(n, len(LOG)))
        return n + 1
""",
    "what it raises is swallowed": """
@logged(1)
def build(k):
    if k:
        raise ValueError(k)
    return nn.Linear(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = build(1)
        self.b = build(0)
        self.c = nn.Linear(len(LOG), 4)
""",
    "what it raises is not swallowed": """
@logged(1)
def build():
    raise TypeError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            build()
        except TypeError:
            self.b = nn.Linear(2, len(LOG))
""",
    "the manager raises": """
@logged(1, fails=True)
def build():
    return nn.Linear(2, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            self.a = build()
        except KeyError:
            self.b = nn.Linear(2, len(LOG))
""",
    "it comes to another yield": """
@contextmanager
def twice():
    yield 1
    LOG.append(7)
    yield 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            with twice():
                self.a = nn.Linear(1, 1)
        except RuntimeError:
            self.b = nn.Linear(2, len(LOG))
        try:
            self.go()
        except RuntimeError:
            self.d = nn.Linear(2, 2)

    @twice()
    @twice()
    def go(self):
        self.c = nn.Linear(1, 1)
""",
    "it comes to another yield where it takes what is raised": """
@contextmanager
def again():
    try:
        yield 1
    except ValueError:
        yield 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            with again():
                self.a = nn.Linear(1, 1)
                raise ValueError
        except RuntimeError:
            self.b = nn.Linear(2, 2)
""",
    "it comes to none": """
@contextmanager
def never():
    LOG.append(1)
    return
    yield


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            with never():
                self.a = nn.Linear(1, 1)
        except RuntimeError:
            self.b = nn.Linear(2, len(LOG))
""",
    "it comes to one of two": """
@contextmanager
def either(flag):
    if flag:
        yield 1
    else:
        yield 2


class Net(nn.Module):
    def __init__(self, flag=1):
        super().__init__()
        with either(flag) as n:
            self.a = nn.Linear(1, n)
        with either(not flag) as n:
            self.b = nn.Linear(1, n)
""",
    "the constructor": """
class Net(nn.Module):
    @logged(3)
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, LOG[-1])
""",
    "it is entered again": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        kept = logged(2)
        with kept:
            self.a = nn.Linear(1, 1)
        try:
            with kept:
                self.b = nn.Linear(1, 1)
        except AttributeError:
            self.c = nn.Linear(1, len(LOG))
        try:
            kept(self.go)()
        except AttributeError:
            self.d = nn.Linear(1, len(LOG))

    def go(self):
        self.e = nn.Linear(1, 1)
""",
    "it is called, to decorate": """
def build(n):
    return nn.Linear(n, len(LOG))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        made = logged(2)(build)
        self.a = made(2)
        self.b = made(3)
""",
    "what is no manager": """
class Half:
    def __enter__(self):
        return self


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for k, each in enumerate((None, 3, "a", nn.ReLU(), Half(), [], object(), (1, 2))):
            try:
                with each:
                    self.a = nn.Linear(1, 1)
            except (TypeError, AttributeError):
                self.add_module(f"l{k}", nn.Linear(1, 1))
""",
    "an ExitStack gives what is raised to what it holds": """
from contextlib import ExitStack


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        LOG.append(2 if kind is None else 5)
        return False


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with ExitStack() as stack:
            stack.enter_context(Manager())
            self.a = nn.Linear(1, 1)
        self.b = nn.Linear(1, sum(LOG))
""",
    "a function that is handed on": """
@logged(4)
def build(n):
    return nn.Linear(n, n)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(map(build, (1, 2)))
        self.c = nn.Linear(len(LOG), 4)
""",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_calls_are_made_within_the_manager(tmp_path: Path, body: str) -> None:
    (tmp_path / "model.py").write_text(HEAD + body)
    names: dict[str, type[nn.Module]] = {}
    exec(HEAD + body, names)
    real = names["Net"]()
    graph = predict_graph(parse_target(f"{tmp_path / 'model.py'}:Net"))
    assert graph.complete, graph.problems
    assert {module.path for module in graph.modules} == {path for path, _ in real.named_modules()}
    shapes = {parameter: tuple(value.shape) for parameter, value in real.named_parameters()}
    said = {
        f"{module.path}.{each.name}": tuple(each.shape or ()) for module in graph.modules for each in module.parameters
    }
    assert said == shapes


def test_managers_that_each_come_to_two_yields_take_no_longer(tmp_path: Path) -> None:
    """A call was made twice within each of them: a million times."""
    text = "\n@contextmanager\ndef twice():\n    yield\n    yield\n\n\n" + "@twice()\n" * 20
    text += "def build():\n    return nn.Linear(1, 1)\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
    (tmp_path / "model.py").write_text(f"{HEAD}{text}        super().__init__()\n        self.a = build()\n")
    prediction = predict_target(parse_target(f"{tmp_path / 'model.py'}:Net"))
    assert prediction.machine.spent < 1_000
    assert "generator didn't stop" in str(prediction.failure)
