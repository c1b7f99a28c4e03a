"""Arguments are compared by what they are: a default given and a default left out are the same value."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.changes.model import Changes

NET = """\
import os
from torch import nn

class Block(nn.Module):
    def __init__(self, depth={default}, act=nn.ReLU):
        super().__init__()
        self.depth = depth
        self.body = nn.Sequential(*[nn.Linear(4, 4) for _ in range({body})])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block({given})
"""


@pytest.fixture(params=["targets", "files"])
def compared(request: pytest.FixtureRequest, tmp_path: Path):
    """What is told of two defaults, and of what is given: of sources, and of graphs that were saved."""

    def compare(old: tuple[str, str], new: tuple[str, str], body: str = "2") -> Changes:
        sides = []
        for name, (default, given) in (("old", old), ("new", new)):
            file = tmp_path / f"{name}.py"
            file.write_text(NET.format(default=default, given=given, body=body))
            sides.append(f"{file}:Net")
        if request.param == "files":
            for number, side in enumerate(sides):
                modgraph.predict(side).save(tmp_path / f"{number}.json")
            sides = [str(tmp_path / f"{number}.json") for number in range(2)]
        return modgraph.diff(*sides)

    return compare


def fields(changes: Changes) -> list[tuple[str, str, object, object]]:
    return [(one.new, field.name, field.old, field.new) for one in changes.changed for field in one.fields]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("2", "3"), ("3", "3")),
        (("3", ""), ("2", "3")),
        (("2", "depth=3"), ("3", "")),
        (("2", "3"), ("int(os.environ['N'])", "3")),
    ],
)
def test_one_value_is_no_difference_wherever_it_comes_from(compared, old, new):
    changes = compared(old, new, body="depth")
    assert fields(changes) == []
    assert not changes
    assert not changes.undecided


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        (("4", ""), ("8", ""), (4, 8)),
        (("4", "4"), ("8", ""), (4, 8)),
        (("4", ""), ("4", "8"), (4, 8)),
        (("1", ""), ("True", ""), (1, True)),
    ],
)
def test_another_value_is_one_wherever_it_comes_from(compared, old, new, values):
    changes = compared(old, new)
    assert fields(changes) == [("block", "depth", *values)]
    assert type(changes.changed[0].fields[0].new) is type(values[1])


def test_a_default_that_is_not_known_is_open(compared):
    changes = compared(("4", "4"), ("int(os.environ['N'])", ""))
    assert not changes
    (one,) = changes.undecided
    assert (one.new, one.what, one.side) == ("block", "argument depth", "new")


@pytest.mark.needs_torch
def test_the_tensors_of_torch_agree_that_nothing_changed(tmp_path, compared):
    compared(("2", "3"), ("3", "3"), body="depth")
    shapes = []
    for name in ("old", "new"):
        space: dict[str, object] = {"__name__": name}
        exec(compile((tmp_path / f"{name}.py").read_text(), name, "exec"), space)
        shapes.append({key: tensor.shape for key, tensor in space["Net"]().state_dict().items()})  # type: ignore[operator]
    assert shapes[0] == shapes[1]
