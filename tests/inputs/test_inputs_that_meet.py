"""Inputs that are joined, multiplied or looked up with one another: what one must be follows from where they meet."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import nn

from modgraph.inputs.making import Inputs, make_inputs
from modgraph.inputs.pinned import pinned_dims
from modgraph.inputs.probe import Prober
from modgraph.inputs.specs import Candidate, TensorSpec
from modgraph.options import TraceOptions
from modgraph.tracing.basics.forward_signature import ForwardSignature

pytestmark = pytest.mark.needs_torch


def inferred(model: nn.Module) -> Inputs:
    """What was found, after torch has taken it."""
    inputs = make_inputs(model.eval(), [], None, TraceOptions())
    assert inputs.warning is None
    with torch.no_grad():
        model(*inputs.args, **inputs.kwargs)
    return inputs


def shapes(inputs: Inputs) -> dict[str, Any]:
    return {info.name: info.tensors[0].shape if info.tensors else None for info in inputs.infos}


class _Edges(nn.Module):
    """Messages of the two ends of an edge, and of what is known of the edge."""

    def __init__(self, edge_features: int, more: int = 0) -> None:
        super().__init__()
        self.embed = nn.Linear(5, 8)
        self.message = nn.Linear(16 + edge_features + more, 8)

    def messages(self, h: torch.Tensor, edges: torch.Tensor, *parts: torch.Tensor | None) -> torch.Tensor:
        row, col = edges
        there = [part for part in parts if part is not None]
        z: torch.Tensor = self.message(torch.cat([h[row], h[col], *there], dim=1))
        return z


class _Attributed(_Edges):
    def forward(self, h, edges, edge_attr):
        return self.messages(self.embed(h), edges, edge_attr)


class _Raw(_Edges):
    """Nothing but the joined tensor says how wide a node is."""

    def forward(self, x, edge_index):
        return self.messages(x, edge_index)


class _Optional(_Edges):
    """The node is wanted as it is as well, and what is left is for an input that may be left out."""

    def forward(self, h, edge_index, edge_attr=None):
        z = self.messages(h, edge_index, edge_attr)
        return z, self.keep(h)

    def __init__(self) -> None:
        super().__init__(3)
        self.keep = nn.Linear(8, 2)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (_Attributed(3), {"h": (8, 5), "edges": (2, 8), "edge_attr": (8, 3)}),
        (_Attributed(1), {"h": (8, 5), "edges": (2, 8), "edge_attr": (8, 1)}),
        (_Attributed(0), {"h": (8, 5), "edges": (2, 8), "edge_attr": None}),
        (_Raw(0), {"x": (8, 8), "edge_index": (2, 8)}),
        (_Optional(), {"h": (8, 8), "edge_index": (2, 8), "edge_attr": (8, 3)}),
    ],
)
def test_what_a_layer_leaves_room_for_is_what_an_edge_holds(model: nn.Module, expected: dict[str, Any]) -> None:
    assert shapes(inferred(model)) == expected


class _Recurrent(nn.Module):
    """A state that is joined with what was joined before, and multiplied with what comes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(6, 10, 3, padding=1)
        self.gate = nn.Conv2d(8 + 4 + 10 + 2, 8, 3, padding=1)

    def forward(self, net, context, corr, flow):
        motion = torch.cat([self.look(corr), flow], dim=1)
        x = torch.cat([context, motion], dim=1)
        return net * self.gate(torch.cat([net, x], dim=1))


def test_parts_of_parts_add_up_and_one_gives_what_another_needs() -> None:
    found = shapes(inferred(_Recurrent()))
    channels = {name: shape[1] for name, shape in found.items()}
    assert channels["corr"] == 6
    assert channels["net"] == 8  # a product says so
    assert channels["context"] + channels["flow"] == 4 + 2


class _Calendar(nn.Module):
    """Fields of a date, cast to what indexes a table each."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        super().__init__()
        self.value = nn.Linear(7, 4)
        self.fields = nn.ModuleList(nn.Embedding(count, 4) for count in rows)

    def forward(self, x: torch.Tensor, x_mark: torch.Tensor) -> torch.Tensor:
        fields = x_mark.long()
        z: torch.Tensor = self.value(x)
        for column, table in enumerate(self.fields):
            z = z + table(fields[:, :, column])
        return z


@pytest.mark.parametrize("rows", [(24, 7, 3), (2,), (12, 32)])
def test_floats_that_are_cast_to_indices_are_whole_numbers_below_the_tables(rows: tuple[int, ...]) -> None:
    inputs = inferred(_Calendar(rows))
    marks = dict(zip(("x", "x_mark"), inputs.args, strict=False))["x_mark"]
    assert marks.shape[-1] >= len(rows)
    assert marks.is_floating_point()
    assert bool((marks == marks.floor()).all())
    assert 0 <= float(marks.min()) <= float(marks.max()) < min(rows)


class _Drawn(nn.Module):
    """A picture out of noise and of the vector of its class; attention comes later."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(16, 8 * 4 * 4)
        self.gain = nn.Linear(12, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, z, y):
        h = self.start(z).view(z.size(0), -1, 4, 4)
        h = self.norm(h) * self.gain(y).view(y.size(0), -1, 1, 1)
        rows = h.flatten(2).transpose(1, 2)
        return self.attention(rows, rows, rows)


def test_noise_is_a_vector_for_each_row_and_a_label_may_be_one_too() -> None:
    assert shapes(inferred(_Drawn())) == {"z": (1, 16), "y": (1, 12)}


class _Related(nn.Module):
    """Matrices that say who sends to whom; of steps and fields only the product is wide enough."""

    def __init__(self) -> None:
        super().__init__()
        self.node = nn.Linear(20, 6)
        self.edge = nn.Linear(12, 3)

    def forward(self, inputs, senders, receivers):
        x = self.node(inputs.view(inputs.size(0), inputs.size(1), -1))
        edges = torch.cat([torch.matmul(senders, x), torch.matmul(receivers, x)], dim=2)
        return self.edge(edges), torch.matmul(receivers.t(), self.edge(edges))


def test_matrices_fit_what_they_are_multiplied_with() -> None:
    found = shapes(inferred(_Related()))
    assert found["inputs"][2:] == (20,)
    assert found["senders"][-1] == found["receivers"][-1] == found["inputs"][1]


class _Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x, factor):
        if factor != 1:
            x = nn.functional.interpolate(x, scale_factor=1 / factor)
        return self.conv(x)


class _Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x, n_parts):
        z = self.layer(x)
        return z.view(-1, n_parts, 4).sum(1)


@pytest.mark.parametrize(("model", "name"), [(_Scaled, "factor"), (_Counting, "n_parts")])
def test_what_is_decided_on_or_is_a_size_is_a_number(model: type[nn.Module], name: str) -> None:
    assert shapes(inferred(model()))[name] is None


class _Upwards(nn.Module):
    """From the last map of features to the first; the layers are in the order of their use."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.ModuleList([nn.Conv2d(64, 16, 1), nn.Conv2d(16 + 32, 16, 1), nn.Conv2d(16 + 8, 4, 1)])

    def forward(self, features):
        x = self.decoder[0](features[-1])
        for step, level in ((1, 1), (2, 0)):
            x = torch.cat([nn.functional.interpolate(x, scale_factor=2), features[level]], 1)
            x = self.decoder[step](x)
        return x


def test_a_list_that_is_read_from_its_end_holds_maps_of_falling_size() -> None:
    (info,) = inferred(_Upwards()).infos
    channels = [tensor.shape[1] for tensor in info.tensors]
    sides = [tensor.shape[-1] for tensor in info.tensors]
    assert channels == [8, 32, 64]
    assert [above // below for above, below in itertools.pairwise(sides)] == [2, 2]


class _Laid(nn.Module):
    """A mask of (batch, 1, steps)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(12, 4, 3, padding=1)

    def forward(self, x, x_mask):
        causal = torch.ones(x_mask.size(2), x_mask.size(2)).tril()
        return self.conv(x * x_mask) @ causal


def test_a_mask_with_a_dimension_of_channels_is_one_for_all_of_them() -> None:
    found = shapes(inferred(_Laid()))
    assert found["x"][1] == 12
    assert found["x_mask"] == (1, 1, found["x"][2])


class _Deep(nn.Module):
    """(batch, steps, nodes, fields), subscripted as such."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x.transpose(2, 1)[:, ::2, :, :])


def test_as_many_dimensions_as_are_subscripted() -> None:
    assert shapes(inferred(_Deep())) == {"x": (1, 8, 8, 4)}  # steps, as nothing here takes images


class _Noised(nn.Module):
    """Noise is laid over an image by a factor for each of the batch, as diffusion does."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(8, 4)
        self.weight = nn.Parameter(torch.zeros(6, 3, 3, 3))

    def forward(self, clean: torch.Tensor) -> torch.Tensor:
        share = self.time(torch.rand(clean.size(0), 8)).mean(1).view(-1, 1, 1, 1)
        return nn.functional.conv2d(share * clean + (1 - share) * torch.randn_like(clean), self.weight)


def test_what_is_broadcast_for_a_convolution_has_all_its_dimensions() -> None:
    shape = shapes(inferred(_Noised()))["clean"]
    assert len(shape) == 4
    assert shape[1] == 3


class _FixedLength(nn.Module):
    """The channels last: what is sought is the length, and the channels are settled."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(7, 4, 1)
        self.head = nn.Linear(4 * 24, 3)

    def forward(self, x):
        return self.head(self.conv(x.permute(0, 2, 1)).flatten(1))


def test_a_length_is_sought_where_the_channels_are_last() -> None:
    inputs = inferred(_FixedLength())
    assert shapes(inputs) == {"x": (1, 24, 7)}
    assert inputs.tries < 10  # nothing was tried with other channels


class _Paired(nn.Module):
    """Rows of two that are joined to four: the four are not those of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        rows = x.view(-1, 2)
        return self.layer(torch.cat([rows, rows], 1))


class _Called(nn.Module):
    """A comment that holds a call, not a shape."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, h, coord):
        # coord = move(h, coord)
        return self.layer(h) + self.layer(coord)


def test_the_arguments_of_a_call_in_a_comment_are_no_shape() -> None:
    assert shapes(inferred(_Called())) == {"h": (1, 6), "coord": (1, 6)}


@pytest.mark.parametrize(
    ("model", "shape", "expected"),
    [
        (_FixedLength, (1, 24, 7), {2}),
        (_FixedLength, (1, 7, 7), set()),  # either may be the channels
        (_Paired, (1, 4), set()),
        (_Called, (1, 6), {1}),
    ],
)
def test_only_a_size_that_a_layer_took_as_it_was_is_settled(
    model: type[nn.Module], shape: tuple[int, ...], expected: set[int]
) -> None:
    spec = TensorSpec(shape)
    names = [name for name in ("x", "h", "coord") if name in ForwardSignature.of(model()).parameters]
    outcome = Prober(model(), training=False).run(Candidate(tuple((name, spec) for name in names)))
    assert outcome.uses
    assert pinned_dims((names[0],), spec, outcome) == expected
