"""Inputs that only go together: sizes that say how many patches there are, and optional ones of which some must be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from modgraph.inputs.making import Inputs, make_inputs
from modgraph.options import TraceOptions


def inferred(model: nn.Module) -> Inputs:
    return make_inputs(model, [], None, TraceOptions())


def shapes(inputs: Inputs) -> dict[str, Any]:
    return {info.name: info.tensors[0].shape for info in inputs.infos}


class _Packed(nn.Module):
    """The patches of all images one after the other, four of which are merged into one."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Conv3d(3, 8, (2, 4, 4), (2, 4, 4))

    def forward(self, hidden_states: torch.Tensor, grid_thw: torch.Tensor) -> torch.Tensor:
        y = self.project(hidden_states.view(-1, 3, 2, 4, 4)).view(-1, 8)
        parts = zip(y.split(_counts(grid_thw)), grid_thw, strict=True)
        return torch.cat([part.view(h // 2, 2, w // 2, 2, 8) for part, (_, h, w) in parts])


def _counts(sizes: torch.Tensor) -> list[int]:
    return [int(count) for count in sizes.prod(1).tolist()]


class _Batched(nn.Module):
    """One row of patches per image, and the sizes under a name of which only the end says what it is."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(12, 8)

    def forward(self, patches: torch.Tensor, patch_hw: torch.Tensor) -> torch.Tensor:
        y = self.project(patches)
        batch, count, _ = y.shape
        for h, w in patch_hw.tolist():
            if h * w != count:
                raise ValueError("not as many patches as were announced")
        return y.view(batch, h, w, 8)


class _Cut(nn.Module):
    """An image, and how many patches it has once it is cut up; optional by the signature alone."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Conv2d(3, 8, 16, 16)

    def forward(self, pixel_values: torch.Tensor, target_sizes: torch.Tensor | None = None) -> torch.Tensor:
        """target_sizes: (batch_size, 2)."""
        y = self.project(pixel_values).flatten(2)
        assert target_sizes is not None, "NoneType"
        columns = sum((torch.arange(h * w) for h, w in target_sizes.tolist()), torch.zeros(()))
        return y + columns


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (_Packed, {"hidden_states": (16, 96), "grid_thw": (1, 3)}),
        (_Batched, {"patches": (1, 16, 12), "patch_hw": (1, 2)}),
        (_Cut, {"pixel_values": (1, 3, 224, 224), "target_sizes": (1, 2)}),
    ],
)
def test_sizes_say_how_many_patches_there_are(model: type[nn.Module], expected: dict[str, Any]) -> None:
    inputs = inferred(model())
    assert inputs.warning is None
    assert shapes(inputs) == expected


class _Language(nn.Module):
    default: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 4)
        self.languages = nn.Embedding(3, 4)

    def forward(self, ids: torch.Tensor, language_ids: torch.Tensor | None = None) -> torch.Tensor:
        if language_ids is None:
            if self.default is None:
                raise ValueError("unknown language")
            language_ids = torch.full_like(ids, self.default)
        z: torch.Tensor = self.words(ids) + self.languages(language_ids)
        return z


def test_an_optional_input_is_given_where_forward_raises_for_want_of_it() -> None:
    inputs = inferred(_Language())
    assert inputs.warning is None
    assert set(shapes(inputs)) == {"ids", "language_ids"}


class _Modalities(nn.Module):
    """Two of three, of which those that come first do not go together."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 4)
        self.hear = nn.Conv1d(1, 4, 200)
        self.see = nn.Conv2d(3, 4, 8, 8)

    def forward(self, input_ids: Any = None, frames: Any = None, waveform: Any = None) -> torch.Tensor:
        if sum(each is not None for each in (input_ids, frames, waveform)) < 2:
            raise ValueError("at least two of input_ids, frames and waveform must be given")
        if waveform is None or frames is None:
            return self.lost  # type: ignore[no-any-return]
        if frames.shape[-2:] != (48, 48):
            raise ValueError(f"frames of {frames.shape[-1]} pixels do not fit a model of 48")
        seen = self.see(frames.flatten(0, 1))
        z: torch.Tensor = self.words(input_ids).sum() + self.hear(waveform).sum() + seen.sum()
        return z


def test_several_optional_inputs_are_given_at_once_where_the_message_wants_several() -> None:
    inputs = inferred(_Modalities())
    assert inputs.warning is None
    found = shapes(inputs)
    assert set(found) == {"input_ids", "frames", "waveform"}
    assert found["frames"][-3:] == (3, 48, 48)


class _Lateral(nn.Module):
    """A layer for each of the maps that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(channels, 8, 1) for channels in (16, 32, 64))


class _Zipped(_Lateral):
    def forward(self, features: list[torch.Tensor]) -> list[torch.Tensor]:
        return [layer(x) for layer, x in zip(self.lateral, features, strict=False)]


class _Counted(_Lateral):
    def forward(self, inputs: Any) -> list[torch.Tensor]:
        return [self.lateral[number](inputs[number]) for number in range(len(inputs))]


class _AsMany(_Lateral):
    def forward(self, maps: Any) -> torch.Tensor:
        assert len(maps) == len(self.lateral)
        below = self.lateral[-1](maps[-1])
        for layer, x in zip(reversed(self.lateral[:-1]), reversed(maps[:-1]), strict=True):
            below = layer(x) + nn.functional.interpolate(below, scale_factor=2)
        return below


class _Mapped(_Lateral):
    def forward(self, maps: dict[str, torch.Tensor]) -> torch.Tensor:
        *names, last = maps.keys()
        below = self.lateral[-1](maps[last])
        for number, name in reversed(list(enumerate(names))):
            below = self.lateral[number](maps[name]) + nn.functional.interpolate(below, scale_factor=2)
        return below


@pytest.mark.parametrize("model", [_Zipped, _Counted, _AsMany, _Mapped])
def test_a_list_has_an_item_for_each_layer_that_takes_one(model: type[nn.Module]) -> None:
    inputs = inferred(model())
    assert inputs.warning is None
    (info,) = inputs.infos
    assert [tensor.shape for tensor in info.tensors] == [(1, 16, 128, 128), (1, 32, 64, 64), (1, 64, 32, 32)]


class _Videos(nn.Module):
    """Several sizes have as many features in the end; rows of another image must not make up what one lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, 4, 3, (1, 2, 2), padding=1)
        self.pool = nn.MaxPool3d(8, 8)
        self.head = nn.Linear(4 * 2 * 7 * 7, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z: torch.Tensor = self.head(self.pool(self.conv(x)).view(-1, self.head.in_features))
        return z


class _Cut16(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 400, 160, window=torch.ones(400), return_complex=True).abs()


class _Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.widen = nn.Linear(32, 16)
        self.mix = nn.Conv2d(16, 16, 3, padding=1)


class _TokensHW(_Tokens):
    def forward(self, x, H, W):
        y = self.widen(x)
        batch, _, channels = y.shape
        return self.mix(y.transpose(1, 2).view(batch, channels, H, W))


class _TokensSize(_Tokens):
    def forward(self, x, x_size):
        h, w = x_size
        y = self.widen(x)
        batch, _, channels = y.shape
        return self.mix(y.transpose(1, 2).view(batch, channels, h, w))


class _Packs(nn.Module):
    """Images of any size, each by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(48, 8)

    def forward(self, images: list[torch.Tensor]) -> torch.Tensor:
        rows = []
        for image in images:
            channels, height, width = image.shape
            patches = image.reshape(channels, height // 4, 4, width // 4, 4).permute(1, 3, 0, 2, 4)
            rows.append(self.embed(patches.reshape(-1, channels * 16)))
        return torch.cat(rows)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (_Videos, (1, 3, 16, 112, 112)),
        (_Cut16, (1, 16000)),
        (_TokensHW, (1, 16, 32)),
        (_TokensSize, (1, 16, 32)),
        (_Packs, (3, 224, 224)),
    ],
)
def test_sizes_are_those_that_such_inputs_usually_have(model: type[nn.Module], expected: tuple[int, ...]) -> None:
    inputs = inferred(model())
    assert inputs.warning is None
    assert inputs.infos[0].tensors[0].shape == expected
