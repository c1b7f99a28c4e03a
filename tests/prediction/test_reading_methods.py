"""A table inside of an object, which a function is given under another name: methods that only read leave it known."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

import modgraph

TABLES = """
from collections.abc import MutableMapping

class Table(MutableMapping):
    common = {"wide": 8}

    def __init__(self):
        self.own = {}
        self.seen = []

    def __getitem__(self, key):
        if key in self.own:
            return self.own[key]
        return self.common[key]

    def __setitem__(self, key, value):
        self.own.update({key: value})

    def __delitem__(self, key):
        del self.own[key]

    def __iter__(self):
        return iter({**self.common, **self.own})

    def __len__(self):
        return len(self.common.keys() | self.own.keys())

    def again(self, key):
        return self.asked(key) if key == "never" else self[key]

    def fill(self, key):
        self.own[key] = 6
        return 6

    def asked(self, key):
        BODY

TABLE = Table()

def width(key, table=TABLE):
    return table.asked(key)
"""
READING = (
    *("return super().get(key, 4)", "return self[key] if key in self else 4", "return self.again(key)"),
    *("return self.own[key] if key in self.own else self.common[key]", "return self.get(key) or 4"),
    "if key not in self and key != 'eager':\n            raise KeyError(key)\n        return super().get(key, 4)",
)
WRITING = (
    *("self.own[key] = 5; return self[key]", "return self.fill(key)", "self[key] = 5; return self.own[key]"),
    *("self.own.update({key: 5}); return self[key]", "own = self.own; own[key] = 5; return self[key]"),
    *("return setattr(self, 'own', {key: 5}) or self[key]", "return (lambda x: x.fill(key))(self)"),
    *("self.seen.append(key); return self[key]", "return self.setdefault(key, 5)"),
)


def widths(folder: Path, body: str) -> tuple[list[int | None], list[int]]:
    """Of two layers: as they are predicted, and as Python has them."""
    packages = folder / "site-packages"  # of which only what is asked for is executed
    packages.mkdir()
    (packages / "tables.py").write_text(TABLES.replace("BODY", body))
    text = """
        from torch import nn
        from tables import width

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, width("wide"))
                self.b = nn.Linear(1, width("wide"))
        """
    (folder / "net.py").write_text(textwrap.dedent(text))
    graph = modgraph.predict(f"{folder}/net.py:Net", path=[str(folder), str(packages), *sys.path])
    shapes = [node.parameters[0].shape for node in graph.modules if node.path]
    names: dict[str, object] = {}
    exec(TABLES.replace("BODY", body), names)
    return [shape[0] if shape else None for shape in shapes], [names["width"]("wide") for _ in range(2)]  # type: ignore[operator]


@pytest.mark.parametrize("body", READING)
def test_what_only_reads_leaves_the_table_known(tmp_path: Path, body: str) -> None:
    predicted, real = widths(tmp_path, body)
    assert predicted == real


@pytest.mark.parametrize("body", WRITING)
def test_what_writes_is_not_said_falsely(tmp_path: Path, body: str) -> None:
    predicted, real = widths(tmp_path, body)
    assert all(mine is None or mine == other for mine, other in zip(predicted, real, strict=False))
