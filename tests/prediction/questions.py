"""Questions that Python and the prediction are asked alike."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from modgraph.graph.model import Graph


def answers_to(predict: Callable[..., Graph], code: str, questions: list[str]) -> dict[str, tuple[bool, bool | None]]:
    """By question: what Python says, and what the prediction does; those that raise left out."""
    space: dict[str, Any] = {"__name__": "net"}
    exec(compile(code, "net.py", "exec", dont_inherit=True), space)
    truths: dict[str, bool] = {}
    for question in questions:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            truths[question] = bool(eval(question, space))
    body = "".join(f"        self.q{at} = nn.ReLU() if {each} else nn.Tanh()\n" for at, each in enumerate(truths))
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    graph = predict(code + net + body, with_torch=False)
    classes = {node.path: node.class_name for node in graph.modules}
    assert f"q{len(truths) - 1}" in classes, [problem.message for problem in graph.problems]
    said = {"ReLU": True, "Tanh": False}
    found = (said.get((classes.get(f"q{at}") or "").rpartition(".")[2]) for at in range(len(truths)))
    return {question: (truths[question], answer) for question, answer in zip(truths, found, strict=True)}
