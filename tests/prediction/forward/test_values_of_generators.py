"""What a generator returns, as `yield from` and StopIteration have it: followed as torch runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.traced import both, differences

pytestmark = pytest.mark.needs_torch
pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(8, 8) for _ in range(4))
    def inner(self, t):
        {inner}
    def forward(self, x):
        {body}
"""
INNER = [
    "yield self.a(t)\n        return t",
    "yield self.a(t)\n        return self.c(t)",
    "got = yield self.a(t)\n        return t if got is None else self.c(got)",
    "for m in (self.a, self.c):\n            t = m(t)\n            yield t\n        return t * 2",
    "try:\n            yield self.a(t)\n        finally:\n            t = self.c(t)\n        return t",
    "yield from (self.a(t), t)\n        return self.c(t)",
    "if t.shape[0] == 2:\n            yield t\n            return self.c(t)\n        return self.a(t)",
]
BODIES = {
    "yield from": """def outer():
            u = yield from self.inner(x)
            yield self.b(u)
        for y in outer():
            x = x + y
        return self.d(x)""",
    "returned on": """def outer():
            return (yield from self.inner(x))
        def outermost():
            u = yield from outer()
            yield self.b(u)
        for y in outermost():
            x = x * y
        return self.d(x)""",
    "StopIteration": """g = self.inner(x)
        try:
            while True:
                x = x + next(g)
        except StopIteration as e:
            x = self.b(e.value)
        try:
            next(g)
        except StopIteration as e:
            return self.d(x) if e.value is None else x""",
    "in a list": """def outer(found):
            found.append((yield from self.inner(x)))
        found = []
        for y in outer(found):
            x = x + self.d(y)
        return self.b(found[0]) + x""",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("inner", INNER)
def test_it_is_followed(inner: str, body: str, tmp_path: Path):
    predicted, real = both(tmp_path, NET.format(inner=inner, body=body), "2x8")

    assert predicted.problems or differences(predicted, real) == []


@pytest.mark.parametrize("body", list(BODIES.values())[:3], ids=list(BODIES)[:3])
def test_nothing_is_open(body: str, tmp_path: Path):
    predicted, _ = both(tmp_path, NET.format(inner=INNER[0], body=body), "2x8")

    assert predicted.problems == ()


@pytest.mark.parametrize("iterable", ["[self.a(x), self.c(x)]", "(self.a(x),)", "{0: x}", "range(2)", "iter([x])"])
def test_of_what_is_no_generator_it_is_none(iterable: str, tmp_path: Path):
    body = f"""def outer():
            u = yield from {iterable}
            yield self.b(x) if u is None else self.d(x)
        for y in outer():
            x = x * y
        return x"""
    predicted, real = both(tmp_path, NET.format(inner="yield t", body=body), "2x8")

    assert predicted.problems or differences(predicted, real) == []
