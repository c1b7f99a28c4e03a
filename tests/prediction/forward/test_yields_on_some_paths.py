"""What a generator yields on some paths goes on to where its items go; torch runs each way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import PRELUDE, THREE_LAYERS, predicted

torch = pytest.importorskip("torch")
NET = (
    THREE_LAYERS
    + """
    def items(self, x, flag):
        {items}

    def forward(self, x, flag=False):
        {body}
"""
)
ITEMS = [
    "if flag: yield self.a(x)\n        yield self.b(x)",
    "if flag: yield self.a(x)\n        else: yield self.b(x)",
    "yield self.b(x)\n        if flag:\n            yield self.a(x)",
    "if flag: yield from (self.a(x), x)\n        yield self.b(x)",
    "if x.sum() > 0: yield self.a(x)\n        yield self.b(x)",
    "for _ in range(2):\n            if flag: yield self.a(x)\n        yield self.b(x)",
    "match flag:\n            case True: yield self.a(x)\n            case _: yield self.b(x)",
    "while flag:\n            yield self.a(x)\n            flag = False\n        yield self.b(x)",
]
BODIES = [
    "for y in self.items(x, flag): x = x + y\n        return self.c(x)",
    "return self.c(sum(self.items(x, flag)))",
    "return self.c(torch.stack(list(self.items(x, flag))).sum(0))",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("items", ITEMS)
def test_what_is_yielded_on_some_paths_goes_on(items: str, body: str, tmp_path: Path) -> None:
    text = NET.format(items=items, body=body)
    scope: dict[str, type] = {}
    exec(PRELUDE + text, scope)
    graph = predicted(tmp_path, text, ["2x4"])
    used: set[str] = set()
    for flag in (True, False):
        model = scope["Net"]()
        model(torch.ones(2, 4), flag).sum().backward()
        used |= {name for name in "ab" if getattr(model, name).weight.grad is not None}
    going = {graph.calls[int(each.producer[5:])].module for each in graph.edges if each.producer.startswith("call:")}
    assert used <= going
