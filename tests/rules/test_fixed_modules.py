"""Fixes on generated modules: afterwards torch has registered everything that is used as its containers can be, the
module does the same as before, the rest of the file is as it was, and a second run changes nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.fixing import fix
from modgraph.rules.names import Project
from modgraph.rules.one_file import looking
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
    "repeated list": "self.{name} = [{one}] * 2",
    "two targets": "self.{name}, self.size_{name} = [{one}, {two}], 3",
    "bare tuple": "self.{name} = {one}, {two}",
    "annotated": "self.{name}: list = [{one}, {two}]",
    "popped": "self.{name} = [{one}, {two}, {one}]; self.{name}.pop(0)",
}
LISTS = ("list", "comprehension", "filled", "long", "two targets", "annotated", "popped", "repeated list")
FINE = {
    **dict.fromkeys(
        (*LISTS, "tuple", "bare tuple"),
        (
            "[str(each) for each in self.{name}]",
            "len(self.{name})",
            "str(self.{name}[-1])",
            "self.{name}[0] in self.{name}",
            "1 if self.{name} and not self.{name} else 2",
            "[str(each) for _, each in zip('ab', self.{name})]",
            "[str(each) for each in reversed(self.{name})]",
        ),
    ),
    "dict": (
        "list(self.{name})",
        "[str(each) for each in self.{name}.values()]",
        "len(dict(self.{name}.items()))",
    ),
    "parameters": ("torch.cat(self.{name}).tolist()", "sum(each.sum() for each in self.{name}).item()"),
    "cast": ("self.{name}.tolist()", "(self.{name} + 1).sum().item()"),
}
BREAKING = {
    **dict.fromkeys(
        LISTS,
        (
            "len([1] + self.{name})",
            "self.{name}.count(0)",
            "isinstance(self.{name}, list)",
            "str(self.{name}.pop())",
            "len(self.{name} * 2)",
            "self.{name}.reverse()",
            "self.{name} == []",
            "str(sorted(self.{name}, key=str).pop(0)) + str(type(self.{name}))",
            "len((lambda each: each.copy())(self.{name}))",
            "type(getattr(self, '{name}')).__name__",
        ),
    ),
    "dict": (
        "str(self.{name}.get('a'))",
        "len(self.{name} | {{}})",
        "str(self.{name}.popitem())",
        "self.{name} == {{}}",
    ),
    "parameters": ("len([1] + self.{name})", "self.{name}.reverse()", "len(self.{name}.copy())"),
    "cast": ("self.{name}.mul_(2).tolist()",),
}
"""Ways to use an attribute: those that torch's containers know, and those that they do not."""  # fmt: skip
BESIDE = {"class attribute": "    {name} = None", "subclass": "    def cut(self):\n        self.{name} = []"}
"""What stands elsewhere in the class, or in one derived from it, and leaves a list a list."""
RIGHT = ("self.{name} = {nn}.ModuleList([{one}])", "self.{name} = {one}", "self.{name} = [1, 2]", "# nothing here")
IMPORTS = {"nn": "from torch import nn", "torch.nn": "import torch.nn", "layers": "import torch.nn as layers"}


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A file, and the names of the attributes that hide something in it: those to be fixed, those to be left."""
    nn = draw(st.sampled_from(sorted(IMPORTS)))
    lines = ["import torch", IMPORTS[nn], "", f"class Own({nn}.Module):", "    def __init__(self, n):"]
    lines += ["        super().__init__()", f"        self.inner = {nn}.Linear(n, n)", "", f"class Net({nn}.Module):"]
    head = len(lines)
    lines += ["    def __init__(self):", '        """A net."""']
    late = draw(st.sampled_from(["first", "missing"]))
    lines += ["        super().__init__()"] if late == "first" else []
    lines += [f"        self.start = {nn}.Linear(2, 2)  # first"]
    wrong, left, used, derived = [], [], [], []
    for number, kind in enumerate(draw(st.lists(st.sampled_from([*sorted(WRONG), *RIGHT]), min_size=1, max_size=4))):
        words = {"nn": nn, "name": f"part{number}"}
        words["one"], words["two"] = (draw(st.sampled_from(LAYERS)).format(**words) for _ in range(2))
        lines.append("        " + WRONG.get(kind, kind).format(**words))
        if kind not in WRONG:
            continue
        breaks = kind in BREAKING and draw(st.booleans())
        beside = draw(st.sampled_from([None, *BESIDE])) if breaks and kind != "cast" else None
        (left if breaks else wrong).append(words["name"])
        if beside is not None:
            (lines.insert(head, BESIDE[beside].format(**words)) if beside == "class attribute" else
             derived.append(BESIDE[beside].format(**words)))  # fmt: skip
        elif breaks or kind in FINE:
            used.append(draw(st.sampled_from((BREAKING if breaks else FINE)[kind])).format(**words))
    lines += ["", "    def forward(self):", "        return [", *(f"            {each}," for each in used), "        ]"]
    lines += ["", "class Derived(Net):", "    pass", *derived]
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""]), wrong, left


def built(text: str) -> Any:
    """The module, with the same random numbers each time."""
    import torch

    namespace: dict[str, Any] = {}
    exec(compile(text, "net.py", "exec"), namespace)
    torch.default_generator.manual_seed(0)
    return namespace["Derived"]()


def tensors(model: Any, name: str) -> list[Any]:
    value = getattr(model, name)
    if hasattr(value, "parameters"):
        return list(value.parameters())
    return [value]


_FOLDER = tempfile.TemporaryDirectory()
"""Nobody else's: what lies beside a file is looked at."""


@settings(max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "20")))
@given(sources())
def test_after_the_fixes_torch_has_registered_everything_and_does_the_same(
    generated: tuple[str, list[str], list[str]],
):
    import torch

    source, wrong, left = generated
    path = Path(_FOLDER.name) / "net.py"

    def check(text: str) -> list[Finding]:
        return check_text(text, path.name, str(path), DEFAULT, Project())

    outcome = fix(source, check, unsafe=True, look=looking(Project(), str(path)))
    assert {each.attribute for each in outcome.left if each.code != "MG105"} == set(left)
    assert not any(each.fix for each in outcome.left)
    assert fix(outcome.text, check, unsafe=True).text == outcome.text
    model = built(outcome.text)
    registered = {id(each) for each in model.parameters()}
    for name in wrong:
        held = tensors(model, name)
        assert held
        assert {id(each) for each in held} <= registered
        assert all(isinstance(each, torch.nn.Parameter) for each in held)
    if "super().__init__()\n        self.start" in source.replace("\r\n", "\n") and "] * 2" not in source:
        assert model() == built(source)()
    if hasattr(model, "cut"):
        model.cut()
    kept = [line for line in source.split("\n") if "self.part" not in line and line.strip() != "]"]
    after = iter(outcome.text.split("\n"))
    assert all(line in after for line in kept)
