"""Fixes on generated modules: afterwards torch has registered everything, the rest of the file is as it was, and a
second run changes nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.mending import mend
from modgraph.rules.names import Project
from modgraph.rules.registry import rules

pytestmark = pytest.mark.needs_torch

DEFAULT = [rule for rule in rules() if rule.default]
LAYERS = ("{nn}.Linear(2, 3)", "{nn}.Conv1d(1, 2, 1)", "{nn}.LayerNorm(4)", "Own(2)")
WRONG = {
    "list": "self.{name} = [{one}, {two}]",
    "comprehension": "self.{name} = [{one} for _ in range(2)]",
    "tuple": "self.{name} = ({one}, {two})",
    "dict": 'self.{name} = {{"a": {one}, "b": {two}}}',
    "filled": "self.{name} = []\n        for _ in range(2):\n            self.{name}.append({one})",
    "long": "self.{name} = [  # the first\n            {one},\n            {two},  # \u00fcber\n        ]",
    "parameters": "self.{name} = [{nn}.Parameter(torch.ones(2)), {nn}.Parameter(torch.ones(3))]",
    "cast": "self.{name} = {nn}.Parameter(torch.ones(2)) * 2.0",
    "repeated": "self.{name} = {nn}.Sequential(*[{one}] * 2)",
}
RIGHT = ("self.{name} = {nn}.ModuleList([{one}])", "self.{name} = {one}", "self.{name} = [1, 2]", "# nothing here")
IMPORTS = {"nn": "from torch import nn", "torch.nn": "import torch.nn", "layers": "import torch.nn as layers"}


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A file, and the names of the attributes that hide something in it."""
    nn = draw(st.sampled_from(sorted(IMPORTS)))
    lines = ["import torch", IMPORTS[nn], "", f"class Own({nn}.Module):", "    def __init__(self, n):"]
    lines += ["        super().__init__()", f"        self.inner = {nn}.Linear(n, n)", "", f"class Net({nn}.Module):"]
    lines += ["    def __init__(self):", '        """A net."""']
    late = draw(st.sampled_from(["first", "missing"]))
    lines += ["        super().__init__()"] if late == "first" else []
    lines += [f"        self.start = {nn}.Linear(2, 2)  # first"]
    wrong = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from([*sorted(WRONG), *RIGHT]), min_size=1, max_size=4))):
        words = {"nn": nn, "name": f"part{number}"}
        words["one"], words["two"] = (draw(st.sampled_from(LAYERS)).format(**words) for _ in range(2))
        lines.append("        " + WRONG.get(kind, kind).format(**words))
        if kind in WRONG:
            wrong.append(words["name"])
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""]), wrong


def tensors(model: Any, name: str) -> list[Any]:
    value = getattr(model, name)
    if hasattr(value, "parameters"):
        return list(value.parameters())
    return [value]


@settings(max_examples=25)
@given(sources())
def test_after_the_fixes_torch_has_registered_everything(generated: tuple[str, list[str]]):
    import torch

    source, wrong = generated
    path = Path(tempfile.gettempdir()) / "modgraph_generated_net.py"

    def check(text: str) -> list[Finding]:
        return check_text(text, path.name, str(path), DEFAULT, Project())

    mended = mend(source, check, unsafe=True)
    assert mended.left == ()
    assert mend(mended.text, check, unsafe=True).text == mended.text
    namespace: dict[str, Any] = {}
    exec(compile(mended.text, "net.py", "exec"), namespace)
    model = namespace["Net"]()
    registered = {id(each) for each in model.parameters()}
    for name in wrong:
        held = tensors(model, name)
        assert held
        assert {id(each) for each in held} <= registered
        assert all(isinstance(each, torch.nn.Parameter) for each in held)
    kept = [line for line in source.split("\n") if "self.part" not in line and line.strip() != "]"]
    after = iter(mended.text.split("\n"))
    assert all(line in after for line in kept)
