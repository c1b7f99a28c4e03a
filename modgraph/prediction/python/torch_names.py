"""What the layers of torch have by name, modelled or not: a name that stands here is not known to be missing.

Source: `knowledge/torch_names.txt`, which `tests/oracle/torch_names.py` makes by asking torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.prediction.domain.values import MODULE, ClassValue, KnownClass, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_TABLE = Path(__file__).parents[1] / "knowledge/torch_names.txt"


def has(machine: Machine, cls: Value, name: str) -> bool:
    """A class of torch that a class is derived from has that name."""
    return any(name in _of_classes(each) for each in _of_torch(machine, cls))


def may_have(machine: Machine, cls: Value, name: str) -> bool:
    """The same of an instance. Code of torch that is interpreted sees what it has set so far."""
    if machine.frames and machine.frames[-1].module.startswith("torch."):
        return has(machine, cls, name)
    return any(name in _of_classes(each) or name in _of_instances(each) for each in _of_torch(machine, cls))


def held(machine: Machine, cls: Value) -> list[str]:
    """What the `__dict__` of an instance holds of a layer that it is derived from, and is not modelled."""
    return [name for each in _of_torch(machine, cls) if each != MODULE for name in _of_instances(each)]


def overrides(machine: Machine, cls: Value, name: str) -> bool:
    """A layer of torch that the class is derived from has a method of that name of its own."""
    return any(name in _of_classes(each) for each in _of_torch(machine, cls) if each != MODULE)


def _of_torch(machine: Machine, cls: Value) -> Iterator[str]:
    for base in machine.mro(cls):
        if isinstance(base, (ClassValue, KnownClass)) and base.name.startswith("torch."):
            yield base.name


def _of_classes(cls: str) -> frozenset[str]:
    return _table().get(cls, (frozenset(), frozenset()))[0]


def _of_instances(cls: str) -> frozenset[str]:
    return _table().get(cls, (frozenset(), frozenset()))[1]


@cache
def _table() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    lines = (line.split("\t") for line in _TABLE.read_text(encoding="utf-8").splitlines())
    return {name: (frozenset(own.split()), frozenset(inside.split())) for name, own, inside in lines}
