"""Sizes that are left open: what a model requires of them is what it refuses; where a test on one leads elsewhere, both
ways are told. Torch is the judge, at sizes on both sides of each test."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE, predicted

DEPENDS = "depends on "
"""Begins the condition of what other sizes than those that were followed may lead to."""
VECTOR, SEQUENCE, PICTURE = "batch x 4", "batch x length x 4", "batch x 3 x h x w"


@dataclass
class Case:
    body: str
    spec: str
    sizes: Sequence[tuple[int, ...]]
    """Of the sizes that have names, in order."""
    layer: str = "nn.Linear(4, 4)"
    extra: str = ""


def of_vector(body: str, *sizes: int) -> Case:
    return Case(body, VECTOR, [(size,) for size in sizes])


def of_sequence(body: str, *sizes: int, extra: str = "") -> Case:
    return Case(body, SEQUENCE, [(2, size) for size in sizes], extra=extra)


def of_picture(body: str, *sizes: tuple[int, int]) -> Case:
    return Case(body, PICTURE, [(2, *each) for each in sizes], "nn.Conv2d(3, 3, 3, padding=1)")


CASES = {
    "if and else": of_vector("if x.shape[0] > 4:\n    return self.a(x)\nelse:\n    return self.b(x)", 2, 20),
    "if alone": of_vector("if len(x) > 4:\n    x = self.a(x)\nreturn self.b(x)", 2, 20),
    "early return": of_vector("if x.size(0) < 4:\n    return self.a(x)\nreturn self.b(x)", 2, 20),
    "three ways": of_vector(
        "n = x.size(0)\nif n > 8:\n    return self.a(x)\nelif n > 4:\n    return self.b(x)\nreturn self.c(x)", 2, 6, 20
    ),
    "expression": of_vector("return self.a(x) if x.shape[0] > 4 else self.b(x)", 2, 20),
    "flag": of_vector("big = x.shape[0] > 4\nx = self.c(x)\nif big:\n    x = self.a(x)\nreturn self.b(x)", 2, 20),
    "layer of two": of_vector("return (self.a if x.shape[0] > 4 else self.b)(x)", 2, 20),
    "one": of_vector("if x.shape[0] == 1:\n    x = self.a(x)\nreturn self.b(x)", 1, 7),
    "odd": of_vector("if x.shape[0] % 2:\n    x = self.a(x)\nreturn self.b(x)", 2, 7),
    "scripting": of_vector(
        "if not torch.jit.is_scripting() and x.shape[0] > 4:\n    x = self.a(x)\nreturn self.b(x)", 2, 20
    ),
    "caught": of_vector(
        "try:\n    if x.shape[0] > 4:\n        raise ValueError\n    x = self.a(x)\n"
        "except ValueError:\n    x = self.c(x)\nreturn self.b(x)",
        2,
        20,
    ),
    "assert": of_vector("assert x.shape[0] <= 64, f'got {x.shape}'\nreturn self.b(x)", 2, 65),
    "in parts": of_vector(
        "if x.shape[0] > 8:\n    return torch.cat([self.a(p) for p in x.split(8)])\nreturn self.b(x)", 2, 20
    ),
    "slice": of_sequence("return self.a(x[:, :10])", 3, 20),
    "root": of_sequence(
        "n = x.shape[1]\ns = int(math.sqrt(n))\nif s * s == n:\n    x = self.a(x)\nreturn self.b(x)", 16, 10
    ),
    "positions": of_sequence(
        "p = self.p\nif x.shape[1] != p.shape[1]:\n    x = self.c(x)\n"
        "    p = F.interpolate(p.transpose(1, 2), size=x.shape[1]).transpose(1, 2)\nreturn self.b(x + p)",
        16,
        10,
        extra="self.p = nn.Parameter(torch.zeros(1, 16, 4))",
    ),
    "padded": of_picture(
        "h, w = x.shape[-2:]\nif h % 2:\n    x = F.pad(x, (0, 0, 0, 1))\nif w % 2:\n    x = F.pad(x, (0, 1))\n"
        "return self.a(F.max_pool2d(x, 2))",
        (32, 32),
        (33, 7),
    ),
    "least": of_picture("return self.b(self.a(x)[:, :, : min(x.shape[2], 32)])", (64, 64), (16, 16)),
    "windows": of_picture(
        "B, C, H, W = x.shape\ni, j = (7 - H % 7) % 7, (7 - W % 7) % 7\n"
        "if i or j:\n    x = self.c(F.pad(x, (0, j, 0, i)))\n"
        "return self.a(x.view(B, C, (H + i) // 7, 7, (W + j) // 7, 7).permute(0, 2, 4, 1, 3, 5).reshape(-1, C, 7, 7))",
        (28, 28),
        (28, 30),
        (33, 28),
    ),
    "pool and double": of_picture(
        "y = F.interpolate(self.a(F.max_pool2d(x, 2)), scale_factor=2)\nreturn self.b(x + y)", (32, 32), (33, 32)
    ),
    "only if needed": of_picture(
        "y = F.interpolate(self.a(F.max_pool2d(x, 2)), scale_factor=2)\nif y.shape != x.shape:\n"
        "    y = self.c(F.interpolate(y, size=x.shape[-2:]))\nreturn self.b(x + y)",
        (32, 32),
        (33, 32),
        (32, 33),
    ),
    "while": of_picture(
        "while x.shape[2] > 64:\n    x = F.avg_pool2d(x, 2)\n    x = self.a(x)\nreturn self.b(x)", (40, 40), (300, 300)
    ),
    "portrait": of_picture(
        "if x.shape[2] > x.shape[3]:\n    x = self.a(x)\nelif x.shape[2] < x.shape[3]:\n    x = self.c(x)\nreturn self.b(x)",
        (20, 20),
        (30, 20),
        (20, 30),
    ),
    "one size": of_picture(
        "if x.shape[-2:] != (224, 224):\n    raise ValueError(f'size {x.shape}')\nreturn self.a(x)",
        (224, 224),
        (224, 225),
    ),
}


def source_of(case: Case) -> str:
    lines = [f"self.{name} = {case.layer}" for name in "abc"] + ([case.extra] if case.extra else [])
    init = textwrap.indent("\n".join(lines), " " * 8)
    body = textwrap.indent(case.body, " " * 8)
    return (
        "import math\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"{init}\n\n    def forward(self, x):\n{body}\n"
    )


def run(source: str, *args: Any, **kwargs: Any) -> Counter[str] | None:
    """How often each module is called; None where the model refuses."""
    import torch

    scope: dict[str, Any] = {}
    exec(PRELUDE + source, scope)
    model: torch.nn.Module = scope["Net"]().eval()
    seen: Counter[str] = Counter()

    def note(path: str) -> Callable[..., None]:
        return lambda *_: seen.update([path])

    for path, module in model.named_modules():
        module.register_forward_pre_hook(note(path))
    try:
        model(*args, **kwargs)
    except (RuntimeError, ValueError, AssertionError, ZeroDivisionError):
        return None
    return seen


def meets(texts: Sequence[str], sizes: dict[str, int]) -> bool:
    return all(eval(text, {}, dict(sizes)) for text in texts)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_a_requirement_is_what_torch_refuses_and_what_is_called_has_a_call(name: str, tmp_path: Path) -> None:
    import torch

    case = CASES[name]
    source = source_of(case)
    graph = predicted(tmp_path, source, [f"x={case.spec}"])
    (given,) = graph.model.inputs
    told = {call.module for call in graph.calls}
    certain = {call.module for call in graph.calls if call.certain}
    names = [each for each in case.spec.split(" x ") if not each.isdecimal()]
    for sizes in case.sizes:
        held = dict(zip(names, sizes, strict=True))
        shape = [held.get(each) or int(each) for each in case.spec.split(" x ")]
        seen = run(source, torch.zeros(shape))
        assert meets(given.constraints, held) == (seen is not None), (held, given)
        assert seen is None or set(seen) <= told, held
        assert seen is None or certain <= set(seen), held


def conditions(graph: Graph) -> dict[str, str | None]:
    return {call.module: None if call.condition is None else call.condition.text for call in graph.calls}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("if and else", {"": None, "a": "batch >= 5", "b": "batch <= 4"}),
        ("three ways", {"": None, "a": "batch >= 9", "b": "batch <= 8 and batch >= 5", "c": "batch <= 4"}),
        ("early return", {"": None, "b": "batch >= 4", "a": "batch <= 3"}),
        ("one", {"": None, "a": "batch == 1", "b": None}),
    ],
)
def test_each_way_has_its_condition(name: str, expected: dict[str, str | None], tmp_path: Path) -> None:
    case = CASES[name]
    graph = predicted(tmp_path, source_of(case), [f"x={case.spec}"])
    assert conditions(graph) == expected
    assert not graph.model.inputs[0].constraints
    assert not graph.problems
    lines = (tmp_path / "net.py").read_text("utf-8").splitlines()
    found = {call.condition.line for call in graph.calls if call.condition is not None}
    assert found
    assert all(re.search(r"if (x\.s|n >)", lines[(line or 0) - 1]) for line in found)


def test_a_size_that_is_said_goes_one_way(tmp_path: Path) -> None:
    graph = predicted(tmp_path, source_of(CASES["if and else"]), ["x=2x4"])
    assert conditions(graph) == {"": None, "b": None}


def test_what_was_not_reached_is_said_of_the_sizes_that_were_followed(tmp_path: Path) -> None:
    from modgraph.export.text.summary import summary

    body = (
        "for i in range(x.shape[1]):\n    y = self.a(x[:, i])\n    if i > 500:\n        y = self.c(y)\nreturn self.b(y)"
    )
    graph = predicted(tmp_path, source_of(of_sequence(body, 2)), ["x=batch x length x 4"])
    assert graph.model.inputs[0].followed == ("length == 2",)
    assert "never called where length == 2" in summary(graph)
    assert "; followed where length == 2" in summary(graph)


@pytest.mark.parametrize(
    "body",
    [
        "nn.Conv2d(3, 4, 7, 2), pool(3, 2, ceil_mode=True), pool(3, 2, ceil_mode=True), pool(3, 2, ceil_mode=True)",
        "nn.Conv2d(3, 4, 3, 2), pool(3, 2, ceil_mode=True), nn.Conv2d(4, 4, 3), pool(3, 2, 1, ceil_mode=True)",
        "nn.Conv2d(3, 4, 3), pool(2, 2, ceil_mode=True), nn.Conv2d(4, 4, 2), pool(2, 2, ceil_mode=True)",
    ],
)
def test_what_is_required_is_the_least_that_torch_takes(tmp_path: Path, body: str) -> None:
    """A condition may hold on several stretches of sizes, below each of which the model does the same until it refuses."""
    source = (
        f"pool = nn.MaxPool2d\n\nclass Net(nn.Sequential):\n    def __init__(self):\n        super().__init__({body})\n"
    )
    graph = predicted(tmp_path, PRELUDE + source, ["batch x 3 x h x 64"])
    names: dict[str, Any] = {}
    exec(PRELUDE + source, names)
    model = names["Net"]()
    refused = [size for size in range(1, 64) if not _runs(model, size)]
    assert graph.model.inputs[0].constraints == (f"h >= {max(refused) + 1}",)


def _runs(model: Any, height: int) -> bool:
    import torch

    try:
        model(torch.zeros(1, 3, height, 64))
    except RuntimeError:
        return False
    return True


TWO_SIZES = {
    "each has its way": "x = self.a(x) if x.shape[0] > 4 else self.b(x)\nreturn self.c(x) if x.shape[1] > 4 else x",
    "one inside the other": (
        "if x.shape[0] > 4:\n    return self.a(x) if x.shape[1] > 4 else self.b(x)\n"
        "return self.c(x) if x.shape[1] > 4 else x"
    ),
    "counted": "k = 0\nif x.shape[0] > 4:\n    k += 1\nif x.shape[1] > 4:\n    k += 1\nreturn [self.a, self.b, self.c][k](x)",
    "both": "p = x.shape[0] > 4\nq = x.shape[1] > 4\nif p and q:\n    x = self.a(x)\nreturn self.b(x)",
    "one of both": "if (x.shape[0] > 4) != (x.shape[1] > 4):\n    return self.a(x)\nreturn self.b(x)",
    "one of both is refused": "if (x.shape[0] > 4) != (x.shape[1] > 4):\n    raise ValueError\nreturn self.b(x)",
    "both are refused": "if x.shape[0] == 1 and x.shape[1] == 1:\n    raise ValueError\nreturn self.b(x)",
    "none is refused": "if x.shape[0] <= 4 and x.shape[1] <= 4:\n    raise ValueError\nreturn self.b(x)",
    "in one line": "if x.shape[0] < 3: raise ValueError\nelif x.shape[1] < 3: x = self.a(x)\nreturn self.b(x)",
    "in a helper": (
        "big = lambda n: n > 4\nif not big(x.shape[0]):\n    raise ValueError\nif big(x.shape[1]):\n    x = self.a(x)\n"
        "return self.b(x)"
    ),
    "in a loop": (
        "for i, n in enumerate(x.shape[:2]):\n    if n < 3:\n        if i == 0:\n            raise ValueError\n"
        "        x = self.a(x)\nreturn self.b(x)"
    ),
    "refused between": "if 12 < x.shape[0] < 20:\n    raise ValueError\nreturn self.a(x)",
    "refused between, another way": (
        "if x.shape[0] < 11:\n    if x.shape[0] > 3:\n        raise ValueError\n    return self.b(x)\nreturn self.a(x)"
    ),
    "refused but for one": "if x.shape[0] < 3:\n    if x.shape[1] != 9:\n        raise ValueError\n    x = self.b(x)\nreturn self.a(x)",
    "one of some": "assert x.shape[1] in (4, 8, 16)\nreturn self.a(x)",
    "way with a requirement": (
        "if x.shape[0] > 4:\n    x = self.a(x)\n    if x.shape[1] % 2:\n        raise ValueError\nreturn self.b(x)"
    ),
    "two with a requirement": (
        "if x.shape[1] > 16:\n    assert x.shape[1] % 4 == 0\n    return self.a(x)\n"
        "assert x.shape[1] % 2 == 0\nreturn self.b(x)"
    ),
    "three levels": (
        "if x.shape[0] > 4:\n    if x.shape[1] > 4:\n        return self.a(x) if x.shape[1] > 9 else self.b(x)\n"
        "    return self.c(x)\nreturn x"
    ),
    "equal between": "if x.shape[1] > 5:\n    return self.a(x)\nif x.shape[1] == 5:\n    return self.b(x)\nreturn self.c(x)",
    "not equal between": "if x.shape[1] >= 6:\n    return self.a(x)\nif x.shape[1] != 5:\n    return self.b(x)\nreturn self.c(x)",
    "loop over the least": "for i in range(min(x.shape[1], 3)):\n    x = [self.a, self.b, self.c][i](x)\nreturn x",
    "remainder": "q, r = divmod(x.shape[1], 8)\nif r:\n    q += 1\nfor _ in range(q):\n    x = self.a(x)\nreturn x",
    "spread": "return self.a(x + torch.zeros(1, 16, 4))",
    "part of a buffer": "return self.a(x + torch.zeros(1, 32, 4)[:, : x.shape[1]])",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", TWO_SIZES)
def test_what_is_told_of_two_sizes_holds_wherever_it_is_told(name: str, tmp_path: Path) -> None:
    import torch

    source = source_of(Case(TWO_SIZES[name], SEQUENCE, []))
    graph = predicted(tmp_path, source, [f"x={SEQUENCE}"])
    (given,) = graph.model.inputs
    for batch in (1, 2, 4, 5, 12, 13, 20):
        for length in (1, 2, 4, 5, 8, 9, 16, 17, 18, 33):
            held = {"batch": batch, "length": length}
            seen = run(source, torch.zeros(batch, length, 4))
            assert seen is None or meets(given.constraints, held), (held, given.constraints)
            if not meets((*given.constraints, *given.followed), held):
                continue
            texts = [(call.module, "True" if call.condition is None else call.condition.text) for call in graph.calls]
            told = Counter(module for module, text in texts if not text.startswith(DEPENDS) and meets((text,), held))
            perhaps = Counter(module for module, text in texts if text.startswith(DEPENDS))
            assert seen is not None
            assert told <= seen <= told + perhaps, held


@pytest.mark.parametrize(
    ("name", "constraints", "followed"),
    [
        ("one inside the other", (), ()),
        ("counted", (), ()),
        ("both", (), ()),
        ("in a helper", ("batch >= 5",), ()),
        ("part of a buffer", ("length <= 32",), ()),
        ("spread", (), ("length == 16",)),
    ],
)
def test_what_is_shown_for_all_sizes_is_no_condition(
    name: str, constraints: tuple[str, ...], followed: tuple[str, ...], tmp_path: Path
) -> None:
    graph = predicted(tmp_path, source_of(Case(TWO_SIZES[name], SEQUENCE, [])), [f"x={SEQUENCE}"])
    assert (graph.model.inputs[0].constraints, graph.model.inputs[0].followed) == (constraints, followed)


def test_what_other_arguments_lead_to_is_told_of_the_sizes_that_were_followed(tmp_path: Path) -> None:
    body = "if p is not None:\n    x = self.a(x) if x.shape[1] > 4 else self.c(x)\nreturn self.b(x)"
    source = source_of(of_sequence(body, 2)).replace("forward(self, x)", "forward(self, x, p=None)")
    graph = predicted(tmp_path, source, [f"x={SEQUENCE}"])
    (called,) = {call.module for call in graph.calls} & {"a", "c"}
    (given,) = graph.model.inputs
    assert given.followed == ({"a": "length >= 5", "c": "length <= 4"}[called],)


def test_operations_of_two_ways_are_of_their_lines(tmp_path: Path) -> None:
    body = "if x.shape[0] > 4:\n    x = torch.relu(torch.tanh(x))\nelse:\n    x = torch.tanh(torch.relu(x))\nreturn self.b(x)"
    graph = predicted(tmp_path, source_of(of_sequence(body, 2)), [f"x={SEQUENCE}"])
    found = Counter(each.condition.text for each in graph.operations if each.condition is not None)
    assert found == {"batch >= 5": 2, "batch <= 4": 2}


FAR_AWAY = {
    "one more": "if n > 518 and n % 14 == 0: x = self.a(x)",
    "one or another": "if n > 518 and n % 14 == 0: x = self.a(x)\nelse: x = self.c(x)",
    "but for some": "if n > 518 and n % 14 != 0: x = self.a(x)",
    "one inside the other": "if n > 518:\n    if n % 14 != 0: x = self.a(x)\n    else: x = self.c(x)",
    "the other way round": "if n % 64 == 33:\n    if n > 530: x = self.a(x)",
    "another shape": "if n > 518 and n % 14 == 0: x = x[:, :14]",
    "refused but for some": "if n > 518:\n    if n % 14 != 0: raise ValueError",
    "refused for some": "if n > 518 and n % 14 == 0: raise ValueError",
    "a stretch": "if 530 < n * 2 // 3 < 534: x = self.a(x)",
    "a quotient": "if n // 7 == 76: x = self.a(x)",
    "a square": "if n * n == 532 * 532: x = self.a(x)",
    "a long period": "if n > 518 and n % 100003 == 532: x = self.a(x)",
    "refused but for a few": "if n > 518 and n % 100003 != 532: raise ValueError",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", FAR_AWAY)
def test_what_is_told_holds_of_sizes_far_away(name: str, tmp_path: Path) -> None:
    import torch

    source = source_of(Case(f"n = x.shape[1]\n{FAR_AWAY[name]}\nreturn self.b(x)", SEQUENCE, []))
    graph = predicted(tmp_path, source, [f"x={SEQUENCE}"])
    (given,) = graph.model.inputs
    shape = graph.calls[0].outputs[0].shape
    assert shape is not None
    for length in (1, 225, 518, 519, 531, 532, 533, 539, 545, 546, 609, 798, 801):
        held = {"batch": 1, "length": length}
        seen = run(source, torch.zeros(1, length, 4))
        assert seen is None or meets(given.constraints, held), (held, given.constraints)
        if not meets((*given.constraints, *given.followed), held):
            continue
        told = Counter(
            call.module for call in graph.calls if call.condition is None or meets((call.condition.text,), held)
        )
        assert seen == told, held
        real = 14 if "shape" in name and length > 518 and length % 14 == 0 else length
        assert eval(str(shape[1]), {}, held) == real


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("body", "test"),
    [
        ("n = x.shape[0]\nif len([0] * n) == 4:\n    x = self.a(x)\nreturn self.b(x)", "len([0] * n) == 4"),
        ("n = 0\nwhile n < x.shape[0]:\n    n += 1\n    x = self.a(x)\nreturn self.b(x)", "n < x.shape[0]"),
    ],
)
def test_sizes_that_were_not_followed_are_not_spoken_of(body: str, test: str, tmp_path: Path) -> None:
    """What tells some sizes that were tried from others says nothing of those that were not."""
    import torch

    source = source_of(of_vector(body))
    graph = predicted(tmp_path, source, [f"x={VECTOR}"])
    texts = [call.condition.text for call in graph.calls if call.module == "a" and call.condition is not None]
    assert texts
    for text in texts:
        if text.startswith(DEPENDS) or "(" in text:
            assert test in text
            continue
        for batch in (1, 2, 3, 4, 5, 7, 12, 31):
            seen = run(source, torch.zeros(batch, 4))
            assert seen is not None
            assert not meets((text,), {"batch": batch}) or seen["a"]


def test_bounds_that_meet_are_one_size(tmp_path: Path) -> None:
    body = "n = 0\nwhile n < x.shape[0]:\n    n += 1\n    x = self.a(x)\nreturn x"
    (given,) = predicted(tmp_path, source_of(of_vector(body)), [f"x={VECTOR}"]).model.inputs
    assert given.followed == ("batch == 11",)


def test_many_sizes_that_are_asked_for_are_work(tmp_path: Path) -> None:
    """Of so many conditions, what tells one way from another is not looked for."""
    body = "if x.shape[0] in [k * k for k in range(120)]:\n    x = self.a(x)\nreturn self.b(x)"
    graph = predicted(tmp_path, source_of(of_vector(body)), [f"x={VECTOR}"])
    (call,) = (each for each in graph.calls if each.module == "a")
    assert call.condition is not None
    assert "x.shape[0] in" in call.condition.text
