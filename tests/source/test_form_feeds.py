"""A form feed in an indentation is Python: what is before it does not count. libcst does not know that."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import modgraph
from modgraph.source.parsed import Parsed, without_form_feeds

BODIES = {
    "before a statement": "\f        self.a = nn.Linear(2, 3)",
    "after some spaces": "  \f        self.a = nn.Linear(2, 3)",
    "two of them": " \f  \f        self.a = nn.Linear(2, 3)",
    "on a line of its own": "\f\n        self.a = nn.Linear(2, 3)",
    "in brackets": "        self.a = nn.Linear(\n \f  2,\n\f 3)",
    "in a block": "        if True:\n  \f            self.a = nn.Linear(2, 3)\n\f        pass",
    "in a text": "        text = '''\n \f x\n\f'''\n   \f        self.a = nn.Linear(len(text) - 4, 3)",
    "before a comment": "  \f  # text\n        self.a = nn.Linear(2, 3)",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("before", ["", "\f", " \f"])
def test_a_form_feed_in_an_indentation_changes_nothing(tmp_path: Path, name: str, before: str) -> None:
    text = (
        "from torch import nn\nclass Net(nn.Module):\n"
        f"{before}    def __init__(self):\n        super().__init__()\n{BODIES[name]}\n"
    )
    file = tmp_path / "model.py"
    file.write_text(text)
    namespace: dict[str, object] = {}
    exec(text, namespace)
    live = namespace["Net"]()  # type: ignore[operator]
    graph = modgraph.predict(f"{file}:Net")
    assert graph.complete
    shapes = {(module.path, each.name): each.shape for module in graph.modules for each in module.parameters}
    assert shapes == {
        (path, each): tuple(parameter.shape)
        for path, module in live.named_modules()
        for each, parameter in module.named_parameters(recurse=False)
    }


def test_lines_keep_their_numbers_and_strings_their_text() -> None:
    text = "if a:\n  \f    b = '''\n \f'''\n \f    c()"
    lines = without_form_feeds(text.split("\n"))
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(text))
    assert len(lines) == 4
    (statement,) = Parsed(text.split("\n"), 7, "m.py").statements
    assert statement.body[1].value.func.value == "c"  # type: ignore[attr-defined]
