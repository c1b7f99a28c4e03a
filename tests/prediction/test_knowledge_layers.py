"""Constructors that run a layer to learn a size: the shapes that forward gives, against the installed torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

LAYERS = """
nn.Conv2d(3, 8, 3), (1, 3, 17, 20); nn.Conv2d(3, 8, (3, 5), 2, 1, 2), (2, 3, 17, 20); nn.Conv2d(3, 4, 4, padding="same"), (1, 3, 9, 9); nn.Conv2d(3, 4, 4, padding="valid"), (1, 3, 9, 9); nn.Conv1d(2, 4, 5, 3), (2, 31); nn.Conv3d(1, 2, 3), (1, 1, 5, 6, 7)
nn.ConvTranspose2d(3, 8, 3, 2, 1, 1), (1, 3, 7, 9); nn.ConvTranspose1d(2, 4, 5, 3), (1, 2, 8)
nn.MaxPool2d(2), (1, 3, 7, 8); nn.MaxPool2d(3, 2, 1), (1, 3, 7, 8); nn.MaxPool2d(2, ceil_mode=True), (1, 3, 7, 9); nn.MaxPool2d(3, 2, 1, ceil_mode=True), (1, 3, 8, 9); nn.AvgPool2d(3, 2), (1, 3, 9, 8); nn.MaxPool1d(2), (1, 3, 9); nn.AvgPool1d(3), (1, 3, 9); nn.AvgPool3d(2), (1, 1, 4, 6, 8)
nn.AdaptiveAvgPool2d(1), (2, 3, 7, 8); nn.AdaptiveAvgPool2d((2, None)), (2, 3, 7, 8); nn.AdaptiveMaxPool1d(4), (2, 3, 9); nn.AdaptiveAvgPool3d((1, 2, 3)), (1, 1, 4, 5, 6)
nn.Linear(4, 7), (2, 3, 4); nn.Flatten(), (2, 3, 4, 5); nn.Flatten(0, 1), (2, 3, 4); nn.ReLU(), (2, 3); nn.BatchNorm2d(3), (2, 3, 4, 5); nn.LayerNorm(5), (2, 5); nn.Dropout(), (2, 3); nn.Identity(), (2, 3); nn.GroupNorm(1, 3), (2, 3, 4); nn.Softmax(-1), (2, 3)
nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (1, 3, 20, 20)
"""


@pytest.mark.parametrize("line", LAYERS.strip().splitlines())
def test_shape_of_what_comes_out(agrees: Callable[[str], Graph], line: str) -> None:
    cases = [case.rsplit(", (", 1) for case in line.split(";")]
    body = "".join(
        f"        self.register_buffer('b{i}', {layer.strip()}.eval()(torch.zeros(({shape})).detach())\n"
        for i, (layer, shape) in enumerate(cases)
    )
    agrees(f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}")


def test_flattened_size_from_a_dry_run(agrees: Callable[[str], Graph]) -> None:
    agrees("""
        class Net(nn.Module):
            def __init__(self, image=(3, 32, 32)):
                super().__init__()
                self.features = nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3))
                with torch.no_grad():
                    n = self.features(torch.zeros(1, *image)).view(1, -1).size(1)
                self.fc = nn.Linear(n, 10)
                self.head = nn.Linear(self._size(image), 2)

            def _size(self, image):
                x = torch.rand(1, *image)
                x = self.forward_features(x)
                return x.shape[1] * x.shape[2] * x.shape[3]

            def forward_features(self, x):
                return F.relu(self.features(x))
        """)


def test_wrong_channels_are_refused(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = nn.Linear(3, 4)(torch.zeros(1, 5))
        """)
    assert any("raises RuntimeError" in problem.message for problem in graph.problems)
