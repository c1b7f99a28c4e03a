"""Attributes that are private to a class: found and fixed as those of any other name, and named as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Outcome

CODE = """\
import torch
from torch import nn


class Base(nn.Module):
    __norm = None

    def __init__(self):
        super().__init__()
        self.__layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.__mean = torch.zeros(2)

    def forward(self, x):
        return self.__layers[0](x) - self.__mean


class Net(Base):
    def __init__(self):
        super().__init__()
        self.__norm = nn.LayerNorm(2)

    def forward(self, x):
        return self.__norm(super().forward(x))
"""


def checked(code: str, **options: Any) -> Outcome:
    made = CheckOptions(extend_select=("MG203",), isolated=True, write=False, cache=None, **options)
    return Checker(made).check_text(code, "net.py", "/nowhere/net.py")


def test_what_is_found_is_named_as_it_is_written():
    found = [(finding.code, finding.line) for finding in checked(CODE).findings]
    assert found == [("MG101", 10), ("MG203", 11)]  # `__norm` of Base is another name in Net
    for finding in checked(CODE).findings:
        assert "self.__" in finding.message
        assert "self._Base" not in finding.message


@pytest.mark.needs_torch
def test_a_fix_registers_the_name_that_the_class_reads():
    import torch

    fixed = checked(CODE, fix="unsafe").text
    assert fixed is not None
    namespace: dict[str, object] = {"__name__": "net"}
    exec(compile(fixed, "net.py", "exec"), namespace)
    net = namespace["Base"]()  # type: ignore[operator]
    assert net(torch.ones(1, 2)).shape == (1, 2)
    assert set(dict(net.named_children())) == {"_Base__layers"}
    assert set(dict(net.named_buffers())) == {"_Base__mean"}
