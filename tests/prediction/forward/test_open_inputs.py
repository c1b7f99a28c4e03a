"""Inputs of `forward` with sizes left open, or not given at all: what is found of them, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modgraph.errors import InputError
from modgraph.export import render
from modgraph.graph.model import Graph
from modgraph.graph.serial import from_json, to_json
from modgraph.prediction import predict_graph
from modgraph.prediction.domain import budget
from modgraph.prediction.together import Together
from modgraph.source.inputs import InputSpec, parse_input
from modgraph.source.targets import parse_target

PRELUDE = """
import math
import torch
import torch.nn.functional as F
from torch import nn, Tensor
from jaxtyping import Float, Int

class Net(nn.Module):
"""


def predict(folder: Path, body: str, *inputs: str) -> Graph:
    lines = [f"    {line}" if line.strip() else line for line in body.strip("\n").splitlines()]
    (folder / "net.py").write_text(PRELUDE + "\n".join(lines) + "\n", encoding="utf-8")
    return predict_graph(parse_target(f"{folder / 'net.py'}:Net"), inputs=tuple(map(parse_input, inputs)))


def given(graph: Graph) -> dict[str, tuple[Any, str | None]]:
    return {each.name: (tensor.shape, tensor.dtype) for each in graph.model.inputs for tensor in each.tensors}


def constraints(graph: Graph) -> set[str]:
    return {text for each in graph.model.inputs for text in each.constraints}


def followed(graph: Graph) -> set[str]:
    return {text for each in graph.model.inputs for text in each.followed}


def outputs(graph: Graph) -> list[Any]:
    return [tensor.shape for tensor in graph.calls[0].outputs]


def init(*layers: str) -> str:
    """A constructor with these layers, as a, b, c."""
    made = "\n".join(f"    self.{name} = {layer}" for name, layer in zip("abc", layers, strict=False))
    return f"def __init__(self):\n    super().__init__()\n{made}\n"


CONV = init("nn.Conv2d(3, 8, 3, padding=1)")
FOUND = {
    "a convolution": (CONV + "def forward(self, x):\n    return self.a(x)", ("batch", 3, "h", "w")),
    "turned before": (
        CONV + "def forward(self, x):\n    return self.a(x.permute(0, 3, 1, 2))", ("batch", "h", "w", 3),
    ),
    "unpacked before": (
        CONV + "def forward(self, x):\n    b, c, h, w = x.shape\n    return self.a(x.view(b, c, h, w))",
        ("batch", 3, "h", "w"),
    ),
    "joined before": (
        CONV + "def forward(self, x):\n    b, t, c, h, w = x.shape\n    return self.a(x.view(b * t, c, h, w))",
        ("batch", "d1", 3, "h", "w"),
    ),
    "a dimension put in": (
        init("nn.Conv2d(1, 8, 3)") + "def forward(self, x):\n    return self.a(x.unsqueeze(1))", ("batch", "h", "w"),
    ),
    "a linear layer": (init("nn.Linear(7, 3)") + "def forward(self, x):\n    return self.a(x)", ("batch", 7)),
    "vectors in a row": (
        init("nn.Linear(7, 3)") + "def forward(self, x):\n    b, n, d = x.shape\n    return self.a(x)",
        ("batch", "length", 7),
    ),
    "a flat picture": (
        init("nn.Linear(784, 3)") + "def forward(self, x):\n    return self.a(x.flatten(1))", ("batch", 784),
    ),
    "channels in half": (
        init("nn.Conv2d(4, 8, 1)") + "def forward(self, x):\n    y, z = x.chunk(2, 1)\n    return self.a(y) + self.a(z)",
        ("batch", 8, "h", "w"),
    ),
    "sound": (init("nn.Conv1d(2, 4, 3)") + "def forward(self, x):\n    return self.a(x)", ("batch", 2, "length")),
    "a volume": (
        init("nn.Conv3d(2, 4, 3)") + "def forward(self, x):\n    return self.a(x)", ("batch", 2, "d", "h", "w"),
    ),
    "a recurrent layer": (
        init("nn.GRU(5, 4, batch_first=True)") + "def forward(self, x):\n    return self.a(x)[0]", ("batch", "length", 5),
    ),
    "a recurrent layer, time first": (
        init("nn.LSTM(5, 4)") + "def forward(self, x):\n    return self.a(x)[0]", ("length", "batch", 5),
    ),
    "functions": (
        "def __init__(self):\n    super().__init__()\n    self.w = nn.Parameter(torch.zeros(4, 6))\n"
        "def forward(self, x):\n    return F.linear(x, self.w)",
        ("batch", 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_the_shape_of_an_input_is_found(tmp_path: Path, case: str) -> None:
    body, expected = FOUND[case]
    graph = predict(tmp_path, body)
    ((shape, dtype),) = given(graph).values()
    assert dtype == "float32"
    assert shape == expected
    assert not graph.problems
    assert graph.model.inputs[0].origin == "symbols"


def test_the_shape_that_was_found_is_one_that_torch_takes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    sizes = {"batch": 2, "h": 9, "w": 8, "d": 7, "length": 11, "d1": 3}
    n_compared = 0
    for body, _ in FOUND.values():
        graph = predict(tmp_path, body)
        ((shape, _),) = given(graph).values()
        scope: dict[str, Any] = {}
        exec(PRELUDE.replace("from jaxtyping import Float, Int", "") + _indented(body), scope)
        result = scope["Net"]()(torch.zeros(_evaluated(shape, sizes)))
        (told,) = outputs(graph)
        if told is not None:
            assert _evaluated(told, sizes) == list(result.shape)
            n_compared += 1
    assert n_compared >= len(FOUND) - 1


TAKEN = {
    "a diagonal into a layer": init("nn.Linear(4, 8)") + "def forward(self, x):\n    return self.a(x.diagonal())",
    "a diagonal of pictures": init("nn.LayerNorm(4)") + "def forward(self, x):\n    return self.a(x.diagonal(0, 1, 2))",
    "bags": init("nn.EmbeddingBag(9, 8)") + "def forward(self, x):\n    return self.a(x)",
    "rows that are chosen": init("nn.Embedding(9, 8)")
    + "def forward(self, x):\n    return self.a(x) + self.a.weight[torch.arange(x.shape[1])]",
    "windows": init("nn.Unfold(2)", "nn.Embedding(9, 4)")
    + "def forward(self, x):\n    return self.a(x.transpose(1, 2))",
    "a pool and back": init("nn.Conv2d(3, 8, 3)")
    + "def forward(self, x):\n    y = F.max_pool2d(self.a(x), 2, return_indices=True)\n    return F.max_unpool2d(*y, 2)",
}


@pytest.mark.parametrize("case", TAKEN)
def test_an_input_that_was_found_is_taken_and_gives_what_is_told(tmp_path: Path, case: str) -> None:
    torch = pytest.importorskip("torch")
    graph = predict(tmp_path, TAKEN[case])
    ((shape, dtype),) = given(graph).values()
    (told,) = outputs(graph)
    if shape is None:
        return
    scope: dict[str, Any] = {}
    exec(PRELUDE.replace("from jaxtyping import Float, Int", "") + _indented(TAKEN[case]), scope)
    n_run = 0
    for batch, other, h, w in [(2, 5, 6, 8), (3, 6, 8, 10), (1, 9, 10, 6), (4, 4, 4, 4), (2, 10, 8, 8)]:
        sizes = {"batch": batch, "length": other, "d0": other, "d1": other, "d2": other, "h": h, "w": w}
        if all(eval(each, {}, sizes) for each in constraints(graph) | followed(graph)):
            result = scope["Net"]()(torch.zeros(_evaluated(shape, sizes), dtype=getattr(torch, dtype or "float32")))
            assert told is None or _evaluated(told, sizes) == list(result.shape)
            n_run += 1
    assert n_run


@pytest.mark.parametrize("case", ["Unfold(2)", "LayerNorm(4)", "Linear(4, 4)", "Conv1d(4, 4, 1)"])
def test_a_layer_is_not_found_to_take_whole_numbers(tmp_path: Path, case: str) -> None:
    graph = predict(
        tmp_path, init(f"nn.{case}") + "def forward(self, x):\n    return self.a(F.relu(x.long()))", "2x4x4x4"
    )
    refused = predict(tmp_path, init(f"nn.{case}") + "def forward(self, x):\n    return self.a(x)", "2x4x4x4:int64")
    for each in (graph, refused):
        assert [problem.message for problem in each.problems if "raises" in problem.message]


def _evaluated(shape: Any, sizes: dict[str, int]) -> list[int]:
    return [eval(size, {}, sizes) if isinstance(size, str) else size for size in shape]


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.splitlines())


def test_an_embedding_takes_whole_numbers(tmp_path: Path) -> None:
    body = init("nn.Embedding(10, 4)") + "def forward(self, ids):\n    return self.a(ids).mean(1)"
    graph = predict(tmp_path, body)
    assert given(graph) == {"ids": (("batch", "length"), "int64")}
    assert outputs(graph) == [("batch", 4)]


def test_a_size_that_the_code_asks_for_is_a_number(tmp_path: Path) -> None:
    body = CONV + "def forward(self, x):\n    assert x.shape[-1] == 224 and x.shape[-2] == 192\n    return self.a(x)"
    assert given(predict(tmp_path, body))["x"][0] == ("batch", 3, 192, 224)


def test_a_name_that_was_given_stays_and_has_a_constraint(tmp_path: Path) -> None:
    body = CONV + "def forward(self, x):\n    assert x.shape[-1] == 224\n    return self.a(x)"
    graph = predict(tmp_path, body, "x=batch x 3 x rows x columns")
    assert given(graph)["x"][0] == ("batch", 3, "rows", "columns")
    assert constraints(graph) == {"columns == 224"}
    assert outputs(graph) == [("batch", 8, "rows", "columns")]


def test_what_halves_and_doubles_says_what_divides(tmp_path: Path) -> None:
    body = CONV + (
        "def forward(self, x):\n    y = self.a(x)\n    z = F.max_pool2d(F.max_pool2d(y, 2), 2)\n"
        "    return y + F.interpolate(z, scale_factor=4)"
    )
    graph = predict(tmp_path, body)
    assert {"h % 4 == 0", "w % 4 == 0"} <= constraints(graph)
    assert outputs(graph) == [("batch", 8, "h", "w")]


LOST = {
    "range": "for _ in range(x.shape[2]):\n        y = y + 1",
    "list": "parts = [y] * x.shape[2]",
    "index": "y = [y + i for i in range(400)][x.shape[2]]",
    "split": "y = torch.cat(list(y.unbind(2)), -1)",
    "root": "y = y * int(math.sqrt(x.shape[2]))",
}


@pytest.mark.parametrize("case", LOST)
def test_where_a_size_is_made_a_number_that_is_what_was_followed(tmp_path: Path, case: str) -> None:
    body = CONV + f"def forward(self, x):\n    y = self.a(x)\n    {LOST[case]}\n    return y"
    graph = predict(tmp_path, body, "batch x 3 x h x w")
    size = 2 if case in ("range", "split") else 352  # a loop has few turns, as any number of them says the same
    assert f"h == {size}" in followed(graph), followed(graph)
    assert not any("w" in text for text in followed(graph))
    assert constraints(graph) == set()


LOOPS = {
    "range": "torch.stack([self.a(x[:, i]) for i in range(x.shape[1])])",
    "from one": "torch.stack([self.a(x[:, i]) for i in range(1, x.size(1))])",
    "in steps": "torch.stack([self.a(x[:, i]) for i in range(0, x.shape[1], 4)])",
    "backwards": "torch.stack([self.a(x[:, i]) for i in reversed(range(x.shape[1]))])",
    "length": "torch.stack([self.a(x.mean(2)[i]) for i in range(len(x))])",
    "rows": "torch.stack([self.a(row) for row in x])",
    "unbound": "torch.stack([self.a(row) for row in x.unbind(1)])",
    "split": "torch.cat([self.a(part) for part in x.split(1)])",
    "in parts": "torch.cat([self.a(part) for part in x.split(8, 1)])",
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_over_a_size_that_is_left_open_has_few_turns(tmp_path: Path, loop: str, named: bool) -> None:
    body = init("nn.Linear(8, 4)") + f"def forward(self, x):\n    return {LOOPS[loop]}"
    graph = predict(tmp_path, body, *["x=batch x t x 8"] * named)
    assert 1 <= sum(call.module == "a" for call in graph.calls) <= 2
    assert loop == "from one" or next(call.certain for call in graph.calls if call.module == "a")
    assert not any(type(size) is int and size > 16 for size in given(graph)["x"][0])


def test_a_size_that_only_a_long_loop_takes_stays(tmp_path: Path) -> None:
    body = init("nn.Conv1d(8, 4, 5)") + (
        "def forward(self, x):\n    y = self.a(x)\n    for _ in range(x.shape[2]):\n        y = y + 1\n    return y"
    )
    graph = predict(tmp_path, body, "x=batch x 8 x t")
    assert (constraints(graph), followed(graph)) == ({"t >= 5"}, {"t == 26"})


KEPT = {
    "dictionary": "y * {352: 1}.get(x.shape[2], 2)",
    "text": "f'{x.shape[2]} {x.shape}'",
    "message": "torch._assert(x.shape[0] > 0, f'of {x.shape[2]} rows')",
    "product": "math.prod(x.shape[2:])",
    "half": "int(x.shape[2] / 2)",
    "floor": "math.floor(x.shape[2] * 0.5)",
    "ceil": "math.ceil(x.shape[2] / 7)",
    "slice": "y[:, :, :, ::2]",
    "last": "y[:, :, -1]",
    "arange": "torch.arange(x.shape[2])",
    "isinstance": "isinstance(x.shape[2], int)",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_keeps_a_size_needs_no_constraint(tmp_path: Path, case: str) -> None:
    body = CONV + f"def forward(self, x):\n    y = self.a(x)\n    z = {KEPT[case]}\n    return y"
    graph = predict(tmp_path, body, "batch x 3 x h x w")
    assert constraints(graph) | followed(graph) == set()


def test_a_slice_is_as_long_as_python_has_it(tmp_path: Path) -> None:
    body = CONV + "def forward(self, x):\n    return self.a(x)[:, :, 3:, ::2]"
    graph = predict(tmp_path, body, "batch x 3 x h x w")
    assert outputs(graph) == [("batch", 8, "h - 3", "(w + 1) // 2")]
    assert followed(graph) == {"h >= 4"}


GIVEN_SIZES = {
    "F.interpolate(y, size=(h // 2, w))": ("batch", 8, "h // 2", "w"),
    "F.adaptive_avg_pool2d(y, (h // 2, w))": ("batch", 8, "h // 2", "w"),
    "F.pad(y, (0, -w % 7, 0, 1))": ("batch", 8, "h + 1", "7*((w + 6) // 7)"),
    "nn.ZeroPad2d((0, h % 2, 0, 1))(y)": ("batch", 8, "h + 1", "h % 2 + w"),
    "torch.einsum('bchw,bcxw->bhx', y, y)": ("batch", "h", "h"),
    "F.scaled_dot_product_attention(y, y, y)": ("batch", 8, "h", "w"),
    "torch.zeros(b, h // 3) + torch.zeros(h // 3)": ("batch", "h // 3"),
    "torch.zeros(b, 1, h) + torch.zeros(w, 1)": ("batch", "w", "h"),
}


@pytest.mark.parametrize("code", GIVEN_SIZES)
def test_a_size_that_a_function_is_given_stays_one(tmp_path: Path, code: str) -> None:
    body = CONV + f"def forward(self, x):\n    b, _, h, w = x.shape\n    y = self.a(x)\n    return {code}"
    graph = predict(tmp_path, body, "batch x 3 x h x w")
    (found,) = outputs(graph)
    for sizes in ({"batch": 2, "h": 9, "w": 8}, {"batch": 3, "h": 14, "w": 31}):
        assert _evaluated(found, sizes) == _evaluated(GIVEN_SIZES[code], sizes)
    assert not any("352" in text or "416" in text for text in constraints(graph)), constraints(graph)


def test_annotations_say_shapes(tmp_path: Path) -> None:
    body = init("nn.Linear(6, 3)") + (
        'def forward(self, x: Float[Tensor, "people places 6"], n: Int[Tensor, "people"], deep: int = 2):\n'
        "    return self.a(x) + n[:, None, None]"
    )
    graph = predict(tmp_path, body)
    assert given(graph) == {"x": (("people", "places", 6), "float32"), "n": (("people",), "int64")}
    assert outputs(graph) == [("people", "places", 3)]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("torch.LongTensor | None = None", (("batch", "length"), "int64")),
        ("Optional[Tensor] = None", (("batch", "length"), "int64")),
        ("'Tensor'", (("batch", "length"), "int64")),
        ('Int[Tensor, "*all n=5"]', (("all", 5), "int64")),
        ('None | Int[torch.Tensor, "b 4"] = None', (("b", 4), "int64")),
    ],
)
def test_the_first_of_all_optional_parameters_is_given(tmp_path: Path, annotation: str, expected: Any) -> None:
    body = init("nn.Embedding(10, 4)") + (
        f"def forward(self, ids: {annotation}, more=None):\n"
        "    if ids is None:\n        raise ValueError\n    return self.a(ids)"
    )
    assert given(predict(tmp_path, body)) == {"ids": expected}


def test_a_decorator_that_wraps_hides_no_parameters(tmp_path: Path) -> None:
    (tmp_path / "wrapping.py").write_text(
        "import functools\n\ndef wrapping(function):\n    @functools.wraps(function)\n"
        "    def run(self, *args, **kwargs):\n        return function(self, *args, **kwargs)\n    return run\n",
        encoding="utf-8",
    )
    body = "from wrapping import wrapping\n" + init("nn.Linear(5, 2)") + (
        "@wrapping\ndef forward(self, x, deep=False):\n    return self.a(x)"
    )  # fmt: skip
    graph = predict(tmp_path, body)
    assert given(graph) == {"x": (("batch", 5), "float32")}
    assert outputs(graph) == [("batch", 2)]


def test_a_parameter_that_is_no_tensor_is_not_known(tmp_path: Path) -> None:
    body = CONV + "def forward(self, x, deep: bool):\n    return self.a(x) if deep else x"
    graph = predict(tmp_path, body)
    assert given(graph) == {"x": (("batch", 3, "h", "w"), "float32")}
    assert [call.certain for call in graph.calls] == [True, False]


def test_two_inputs_have_one_batch_and_lengths_of_their_own(tmp_path: Path) -> None:
    body = init("nn.Embedding(10, 4)") + (
        "def forward(self, source, target):\n    return self.a(source).sum(1) + self.a(target).sum(1)"
    )
    assert given(predict(tmp_path, body)) == {
        "source": (("batch", "length"), "int64"),
        "target": (("batch", "target_length"), "int64"),
    }


def test_a_model_that_always_raises_is_not_tried_for_ever(tmp_path: Path) -> None:
    body = CONV + "def forward(self, x):\n    x = self.a(x)\n    raise ValueError(f'no {x.shape}')"
    assert predict(tmp_path, body).calls == ()
    graph = predict(tmp_path, body, "2x3x8x8")
    assert [call.module for call in graph.calls] == ["", "a"]
    assert graph.calls[0].error is not None


def test_a_run_needs_sizes(tmp_path: Path) -> None:
    import modgraph

    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text("from torch import nn\nclass Net(nn.Linear):\n    def __init__(self):\n"
                                     "        super().__init__(3, 4)\n", encoding="utf-8")  # fmt: skip
    with pytest.raises(InputError, match="leaves batch open, and a run needs sizes"):
        modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["batch x 3"])


def test_all_runs_of_one_model_share_their_units_of_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many inputs are tried, and the surroundings are taken for granted once: together that has one limit."""
    file = tmp_path / "net.py"
    file.write_text(
        "import os\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(6, 6)\n        self.flag = os.environ.get('FLAG')\n\n    def forward(self, x):\n"
        "        for turn in range(50):\n            for number in range(50):\n                x = x + number\n        if self.flag:\n            x = x * 2\n"
        "        return self.fc(x).view(7, -1)\n",
        encoding="utf-8",
    )
    target = parse_target(f"{file}:Net")

    def spent(inputs: tuple[InputSpec, ...] | None) -> int:
        together = Together(reads=False)
        before = together.left
        predict_graph(target, together, inputs=inputs)
        return before - together.left

    alone = spent(None)
    units = 300_000
    monkeypatch.setattr(budget, "MAX_FORWARD_WORK", units)
    assert units // 2 < spent(()) - alone < units + 50_000


def test_a_run_that_the_model_refuses_is_told_as_torch_raises_it(tmp_path: Path) -> None:
    graph = predict(
        tmp_path,
        init("nn.Linear(6, 5)", "nn.Linear(7, 5)") + "def forward(self, x):\n    return self.b(self.a(x))",
        "2x6",
    )
    (problem,) = [each for each in graph.problems if each.stage == "forward"]
    assert problem.message.startswith("raises RuntimeError: ")
    assert [call.error is not None and call.error.startswith("RuntimeError: ") for call in graph.calls] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if x.dim() != 3:\n        raise ValueError\n    return self.a(x.mean(-1))", ("batch", 6, "d2")),
        ("n = {4: 3}[x.ndim]\n    return self.a(x.flatten(2).mean(-1)) * n", ("batch", 6, "d2", "d3")),
    ],
)
def test_of_several_ranks_the_one_is_found_that_is_not_refused(
    tmp_path: Path, body: str, found: tuple[Any, ...]
) -> None:
    graph = predict(tmp_path, init("nn.Linear(6, 5)") + f"def forward(self, x):\n    {body}")
    assert given(graph)["x"][0] == found
    assert [call.module for call in graph.calls] == ["", "a"]


TWO = (
    init("nn.Linear(3, 8)")
    + "def forward(self, x, mask):\n    if x.shape[0] == x.shape[1]:\n        return x\n"
    + "    return self.a(x), mask.view(4, -1)"
)


@pytest.mark.parametrize("names", ["batch x nodes", "batch x n_points", "length x seq", "h x height", "b x bs"])
def test_sizes_of_other_names_are_others(names: str, tmp_path: Path) -> None:
    """The way of which a test is told is that of two sizes, not of one."""
    graph = predict(tmp_path, TWO, f"x={names} x 3", "mask=4x2")
    first, second = names.split(" x ")
    assert [call.module for call in graph.calls] == ["", "a"]
    assert f"{first} != {second}" in followed(graph)


@pytest.mark.parametrize("inputs", [["mask=p x q", "r x s x 3"], ["r x s x 3", "p x q"], ["mask=p x q", "x=r x s x 3"]])
def test_constraints_stand_at_the_input_they_speak_of(inputs: list[str], tmp_path: Path) -> None:
    graph = predict(tmp_path, TWO, *inputs)
    told = {each.name: set(each.followed) for each in graph.model.inputs}
    assert told == {"x": {"r != s"}, "mask": {"(p*q) % 4 == 0"}}
    text = render(graph, "text")
    assert isinstance(text, str)
    assert "x = r×s×3 float32; followed where r != s\n" in text
    assert "mask = p×q float32; followed where (p*q) % 4 == 0\n" in text


def test_a_size_that_no_tensor_can_have_is_not_told(tmp_path: Path) -> None:
    """What a first layer takes is what an input is found to have; the graph can be read back all the same."""
    graph = predict(tmp_path, init("nn.Conv2d(4 * 10**60, 8, 3)") + "def forward(self, x):\n    return self.a(x)")
    assert from_json(to_json(graph)) == graph


MADE = [
    "class Kept(nn.Module):\n        def forward(self, x): return x\n    return Kept()(self.a(x))",
    "class Wide(nn.Linear): pass\n    return Wide(5, 3)(self.a(x))",
    "return type('Wide', (nn.Linear,), {})(5, 3)(self.a(x))",
    "class Wide(nn.Linear): pass\n    return Wide(4, 3)(x)",
]


@pytest.mark.parametrize("body", MADE)
def test_a_class_that_forward_makes_is_asked_what_its_layers_take(body: str, tmp_path: Path) -> None:
    graph = predict(tmp_path, init("nn.Linear(6, 5)") + f"def forward(self, x):\n    {body}")
    assert given(graph)["x"][0] == (("batch", 4) if "Wide(4" in body else ("batch", 6))
    assert graph.calls
