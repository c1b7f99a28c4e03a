"""Sizes that are left open and that an operation refuses are told as conditions; torch is the judge of each size."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import modgraph
from tests.prediction.forward.judged import PRELUDE

pytestmark = pytest.mark.needs_torch

NET = """
class Net(nn.Module):
    def forward(self, {names}):
        return {body}
"""
OPERATIONS = {
    "torch.hstack([x, y])": "b x n; c x m",
    "torch.vstack([x, y])": "b x n; c x m",
    "torch.dstack([x, y])": "b x n; c x m",
    "torch.column_stack([x, y])": "b x n; c x m",
    "torch.stft(x, 16, 4, return_complex=True).abs()": "b x n",
    "torch.stft(x, 9, 4, return_complex=True, center=False).abs()": "b x n",
    "torch.stft(x, 12, return_complex=True, pad_mode='circular').abs()": "b x n",
    "torch.istft(torch.complex(x, x), 8, 4)": "b x 5 x n",
    "torch.istft(torch.complex(x, x), 8, 4, length=3)": "b x n x 4",
    "F.lp_pool1d(x, 2, 3)": "b x 1 x n",
    "F.lp_pool2d(x, 2, (3, 5))": "b x 1 x n x m",
    "F.interpolate(x, scale_factor=0.25)": "b x 1 x n x m",
    "F.interpolate(x, scale_factor=0.125, mode='bilinear')": "b x 1 x n x m",
    "nn.Upsample(scale_factor=0.5)(x)": "b x 1 x n",
    "torch.linalg.cross(x, x)": "b x n",
    "torch.cross(x, y, dim=0)": "b x n; c x n",
    "F.affine_grid(x, (4, 1, 5, 5))": "b x n x 3",
    "F.ctc_loss(x.log_softmax(2), torch.ones(2, 3).long(), torch.tensor([6, 6]), torch.tensor([2, 2]))": "n x b x 5",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 2, 1]))[0]": "n x b x 2",
    "rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [2, 4, 1], True, False))[0]": "b x n x 2",
    "rnn.pack_padded_sequence(x, [3, 2, 1]).data": "n x b x 2",
    "nn.GRU(2, 2)(rnn.pack_padded_sequence(x, [3, 2, 1]))[1]": "n x b x 2",
    "nn.GRU(2, 2)(rnn.pack_padded_sequence(x, [3, 2, 1]), y)[1]": "5 x 3 x 2; 1 x n x 2",
    "torch.linalg.lstsq(torch.eye(5), x)[0]": "n x m",
    "torch.linalg.solve(torch.eye(5), x)": "n x m",
    "torch.linalg.multi_dot([x, y, torch.ones(6, 2)])": "b x n; c x m",
    "torch.dist(x, y)": "b x n; b x m",
    "x.masked_select(y > 0)": "b x n; b x m",
    "F.poisson_nll_loss(x, y)": "b x n; b x m",
    "F.hinge_embedding_loss(x, y)": "b x n; b x m",
    "F.triplet_margin_loss(x, y, x)": "b x n; b x m",
    "F.triplet_margin_with_distance_loss(x, y, x)": "b x n; b x m",
    "F.triplet_margin_with_distance_loss(x[:, :1], x, y, swap=True)": "b x n; c x m",
    "F.triplet_margin_loss(x[:, :1], x, y)": "b x n; c x m",
    "F.gaussian_nll_loss(x, x, y.abs() + 1)": "b x n; c x m",
    "F.gaussian_nll_loss(x, x, y[0].abs() + 1, reduction='none')": "b x n; 1 x c",
    "F.multi_margin_loss(x, torch.zeros(3).long())": "b x n",
    "F.multi_margin_loss(torch.ones(x.shape[0], 3), y[0].long() - 1)": "b x 1; 1 x c",
    "F.multilabel_margin_loss(x, torch.zeros(2, 3).long())": "b x n",
    "F.multilabel_soft_margin_loss(x, y[0], reduction='none')": "b x n; 1 x m",
    "F.cosine_embedding_loss(x, x, torch.ones(7))": "b x n",
    "F.margin_ranking_loss(x, y, x)": "b x n; b x m",
    "x.as_strided((3, 4), (4, 1))": "b x n",
    "x.view(torch.float64)": "b x n",
}
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16)


@pytest.mark.parametrize("body", OPERATIONS)
def test_what_an_operation_refuses_is_told(body: str, tmp_path: Path) -> None:
    """Where all that is told holds, torch runs; where what is required does not, torch refuses."""
    specs = [each.strip() for each in OPERATIONS[body].split(";")]
    text = NET.format(names=", ".join("xy"[: len(specs)]), body=body)
    (tmp_path / "net.py").write_text(PRELUDE + "from torch.nn.utils import rnn\n" + text)
    found = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=specs)
    assert not found.problems
    required = [each for one in found.model.inputs for each in one.constraints]
    taken = [each for one in found.model.inputs for each in one.followed]
    assert required or taken
    space: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "rnn": nn.utils.rnn}
    exec(text, space)
    names = sorted(set(re.findall(r"\b[a-z]\b", OPERATIONS[body])) - {"x"})
    known = 0
    for numbers in itertools.islice(itertools.product(SIZES, repeat=len(names)), 0, None, 1 + 7 * (len(names) > 2)):
        sizes = dict(zip(names, numbers, strict=True))
        given = [torch.ones([int(sizes.get(part, part)) for part in spec.split(" x ")]) for spec in specs]
        try:
            space["Net"]()(*given)
            runs = True
        except (RuntimeError, ValueError, IndexError):
            runs = False
        holds = all(eval(each, {}, sizes) for each in required)
        known += holds and all(eval(each, {}, sizes) for each in taken)
        assert holds or not runs, sizes
        assert runs or not (holds and all(eval(each, {}, sizes) for each in taken)), sizes
    assert known
