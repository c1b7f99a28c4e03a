"""A name that the body of a class annotates, and gives no value, is looked for once."""

from __future__ import annotations

from pathlib import Path

from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.entry import predict_target
from modgraph.source.targets import parse_target

BASE = """
from torch import nn
class Config:
    width = 8
class Base(nn.Module):
    config: Config
    {value}
    def __init__(self, config):
        super().__init__()
        self.config = config
"""
NET = """
from torch import nn
from installed_package.base import Base, Config
class Net(Base):
    def __init__(self):
        super().__init__(Config())
        for i in range({turns}):
            Base.turn = i
            self.add_module(f"layer{{i}}", nn.Linear(self.config.width, 2))
        self.add_module("last", nn.Linear(2, getattr(Base, "config", {otherwise})))
"""


def work_of(folder: Path, turns: int, value: str = "", otherwise: int = 3) -> tuple[int, list[int | None]]:
    package = folder / "site-packages" / "installed_package"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "base.py").write_text(BASE.format(value=value), encoding="utf-8")
    file = folder / "net.py"
    file.write_text(NET.format(turns=turns, otherwise=otherwise), encoding="utf-8")
    path = [str(folder), str(package.parent)]
    prediction = predict_target(parse_target(f"{file}:Net", path=path))
    root = prediction.machine.state.find(prediction.root, ModuleObject)
    assert root is not None
    assert list(root.modules) == [*(f"layer{i}" for i in range(turns)), "last"]
    last = prediction.machine.state.find(root.modules["last"], ModuleObject)
    assert last is not None
    given = dict(last.arguments)["out_features"]
    return prediction.machine.elsewhere, [getattr(given, "value", None)]


def test_its_statement_is_not_run_at_each_turn(tmp_path: Path) -> None:
    few, given = work_of(tmp_path / "few", 4)
    many, _ = work_of(tmp_path / "many", 40)
    assert many == few
    assert given == [3]


def test_one_that_is_given_a_value_below_has_it(tmp_path: Path) -> None:
    _, given = work_of(tmp_path, 2, "config = 5", otherwise=3)
    assert given == [5]
