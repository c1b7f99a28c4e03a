"""What `x[i, :, None, j]` gives, and what of it is refused, as torch has it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

import modgraph

pytestmark = pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
INDICES = {
    "i": torch.tensor([[1], [0]]),
    "j": torch.tensor([0, 1, 1]),
    "k": torch.tensor([2, -1, 0]),
    "n": torch.tensor(1),
    "m": torch.tensor([True, False]),
    "u": torch.tensor([1, 0], dtype=torch.uint8),
    "mm": torch.tensor([[True, False, True], [False, True, True]]),
}
SIZES = (2, 3, 2, 4)
PRELUDE = """\
import torch
from torch import nn

"""
KEYS = [
    "i",
    "j",
    "k",
    "n",
    "m",
    "u",
    "mm",
    ":",
    "1:",
    "::2",
    "None",
    "...",
    "0",
    "-1",
    "[1, 0]",
    "[0, 1, 1]",
    "range(2)",
]


def keys(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        key = ", ".join(draw.choices(KEYS, k=draw.randint(1, 5)))
        if any(name in key for name in "ijkmu[r") and key.count("...") < 2:
            found.setdefault(key)
    return list(found)


def really(key: str) -> torch.Size | Exception:
    try:
        return eval(f"x[{key}]", {"x": torch.zeros(SIZES), "torch": torch, **INDICES}).shape
    except IndexError as error:
        return error


TRIED = {key: really(key) for key in keys(500, 7)}
RUN = [key for key, what in TRIED.items() if isinstance(what, torch.Size)]
REFUSED = [key for key, what in TRIED.items() if isinstance(what, IndexError)]
INPUTS = [f"x={'x'.join(map(str, SIZES))}"] + [
    f"{name}={'x'.join(map(str, tensor.shape)) or 'scalar'}:{str(tensor.dtype).removeprefix('torch.')}"
    for name, tensor in INDICES.items()
]


def made_inside() -> str:
    """The indices as constants of `forward`, so that their elements are known."""
    return "\n        ".join(
        f"{name} = torch.tensor({tensor.tolist()}, dtype={tensor.dtype})" for name, tensor in INDICES.items()
    )


def test_both_kinds_were_drawn():
    assert len(RUN) > 100
    assert len(REFUSED) > 100


def test_shapes_of_what_runs(tmp_path: Path):
    text = PRELUDE + "\nclass Net(nn.Module):\n    def forward(self, x):\n        " + made_inside()
    text += "\n        return {\n" + "".join(f"            {key!r}: x[{key}],\n" for key in RUN) + "        }\n"
    (tmp_path / "net.py").write_text(text)
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=INPUTS[:1])
    assert graph.problems == ()
    told = {tensor.name.removeprefix("output[").removesuffix("]"): tensor.shape for tensor in graph.calls[0].outputs}
    shapes = {key: told[repr(key)] for key in RUN}
    assert {key: shape for key, shape in shapes.items() if shape is not None and shape != tuple(TRIED[key])} == {}
    unknown = [key for key, shape in shapes.items() if shape is None or None in shape]
    assert len(unknown) < len(RUN) / 10, unknown


def test_elements_that_are_not_known_leave_open_what_a_mask_takes(tmp_path: Path):
    text = PRELUDE + "\nclass Net(nn.Module):\n    def forward(self, x, i, j, k, m, u, mm):\n"
    some = [key for key in RUN if "n" not in key.replace("None", "").replace("range", "")]
    text += "        return {\n" + "".join(f"            {key!r}: x[{key}],\n" for key in some) + "        }\n"
    (tmp_path / "net.py").write_text(text)
    given = [each for each in INPUTS if not each.startswith("n=")]
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=given)
    assert graph.problems == ()
    told = {tensor.name.removeprefix("output[").removesuffix("]"): tensor.shape for tensor in graph.calls[0].outputs}
    for key in some:
        shape, real = told[repr(key)], TRIED[key]
        assert isinstance(real, torch.Size)
        if shape is not None:
            assert len(shape) == len(real), key
            assert all(size in (None, there) for size, there in zip(shape, real, strict=True)), (key, shape, real)
        if not any(name in key for name in "mu"):
            assert shape == tuple(real), key


@pytest.mark.parametrize("start", range(4))
def test_what_is_refused_and_what_runs_is_told_so(tmp_path: Path, start: int):
    some = [*REFUSED[start:80:4], *RUN[start:40:4]]
    text = PRELUDE
    for number, key in enumerate(some):
        text += f"\nclass Net{number}(nn.Module):\n    def forward(self, x):\n        {made_inside()}\n        return x[{key}]\n"
    (tmp_path / "net.py").write_text(text)
    for number, key in enumerate(some):
        graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net{number}", inputs=INPUTS[:1])
        error = graph.calls[0].error
        if isinstance(TRIED[key], torch.Size):
            assert error is None, (key, error)
        else:
            assert error is not None, (key, TRIED[key])
            assert error.startswith("IndexError"), (key, error)


def test_open_sizes_of_indices_are_those_of_what_is_taken(tmp_path: Path):
    (tmp_path / "net.py").write_text(
        PRELUDE
        + """
class Net(nn.Module):
    def forward(self, m):
        rows = torch.arange(m.shape[0])[:, None, None, None]
        columns = torch.arange(m.shape[1])[None, None, None, :]
        return m[rows, columns]
"""
    )
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["m=batch x n"])
    assert graph.calls[0].outputs[0].shape == ("batch", 1, 1, "n")
