"""A class that needs arguments, predicted with those that its own file gives it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import modgraph

OPTIONS = """
import argparse
from elsewhere import cuda, load, run
from torch import nn

class Net(nn.Module):
    def __init__(self, options, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(options.width, options.width) for _ in range(depth)])

def parser():
    made = argparse.ArgumentParser()
    made.add_argument("--width", type=int, default=5)
    made.add_argument("--depth", type=int, default=3)
    return made
"""


def shapes(tmp_path: Path, text: str) -> list[tuple[int | None, ...] | None]:
    file = tmp_path / "script.py"
    file.write_text(OPTIONS + textwrap.dedent(text))
    graph = modgraph.predict(f"{file}:Net")
    return [held.shape for node in graph.modules for held in node.parameters if held.name == "weight"]


@pytest.mark.parametrize(
    "text",
    [
        """
        if __name__ == "__main__":
            options = parser().parse_args()
            data = load(options.width)
            net = Net(options, depth=options.depth).cuda()
            for batch in data:
                net(batch)
        """,
        """
        def main():
            options = parser().parse_args()
            run(Net(options, options.depth))

        if __name__ == "__main__":
            main()
        """,
        """
        def main():
            options = parser().parse_args()
            if cuda():
                run(Net(options, options.depth))
        """,
    ],
    ids=["in the script part", "in a function that it calls", "in a function"],
)
def test_options_are_at_their_defaults(tmp_path, text):
    assert shapes(tmp_path, text) == [(5, 5)] * 3


def test_a_call_that_is_not_reached_leaves_the_arguments_open(tmp_path):
    (tmp_path / "script.py").write_text(
        OPTIONS + "def main():\n    raise ValueError\n    run(Net(parser().parse_args(), 2))\n"
    )
    graph = modgraph.predict(f"{tmp_path / 'script.py'}:Net")
    assert not graph.complete
    assert "argument 'depth' is not given: Net(options, depth)" in "\n".join(p.message for p in graph.problems)


def test_what_else_the_caller_does_is_no_problem_of_the_model(tmp_path):
    (tmp_path / "script.py").write_text(
        OPTIONS + "def main():\n    while run(): pass\n    run(Net(parser().parse_args(), 2))\n"
    )
    assert modgraph.predict(f"{tmp_path / 'script.py'}:Net").complete
