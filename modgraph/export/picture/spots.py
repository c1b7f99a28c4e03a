"""The nodes of a picture before they have their words: what is in them, and what they are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

from modgraph.export.look.folding import Block, Unit, kind_of_end
from modgraph.export.look.labels import cut, member_range
from modgraph.export.look.parts import Mark
from modgraph.export.picture.rows import path_below
from modgraph.graph.dataflow import operation_word


@dataclass(eq=False, slots=True)
class Spot:
    """One node, before it has its final words: the units in it, and the block around it."""

    units: list[Unit]
    block: Block
    id: str = ""
    number: int = -1
    marks: tuple[Mark, ...] = ()
    """Of a container that has no frame of its own."""
    branches: int = 0
    """It is so many cards that stand beside each other, as one."""

    @property
    def order(self) -> int:
        return self.units[0].order


_UNSAFE = re.compile(r"[^A-Za-z0-9._\-\[\]:]")


class Ids:
    """Names that are unique in one picture, made from paths, and safe in every format."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def make(self, text: str) -> str:
        safe = _UNSAFE.sub("_", text)
        if safe != text or len(safe) > 120:
            safe = f"{safe[:100]}~{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
        number = self._taken[safe] = self._taken.get(safe, 0) + 1
        return safe if number == 1 else f"{safe}~{number}"


def id_text(unit: Unit) -> str:
    """What the name of a node is made from."""
    occurrence = unit.occurrence
    if occurrence.operation is not None:
        word = operation_word(occurrence.operation.name)
        return f"{occurrence.path}.{word}" if occurrence.path else word
    if not occurrence.is_module:
        return occurrence.end or "data"
    return occurrence.path or "model"


_KEY = re.compile(r"\['([A-Za-z_]\w*)'\]")
"""Of a dict in what `forward` takes or returns: "aux['loss']"."""


def end_name(name: str) -> str:
    """ "aux.loss" for "aux['loss']"."""
    return _KEY.sub(r".\1", name)


def gathered_name(unit: Unit) -> str:
    """What inputs or outputs of one kind are called: "past_key_values"; "outputs" of those that have no names."""
    kind, _, name = kind_of_end(unit.occurrence.end or "").partition(":")
    return cut(end_name(name).strip("._[]'\" ")) or f"{kind}s"


def spot_name(spot: Spot) -> str:
    """What a tooltip calls a node."""
    unit = spot.units[-1]
    occurrence = unit.occurrence
    if unit.gathered:
        return f"{len(unit.members)} operations" if occurrence.operation is not None else gathered_name(unit)
    if spot.branches and spot.units[0].occurrence.is_module and occurrence.is_module:
        return member_range(spot.units[0].occurrence.path, occurrence.path)
    if occurrence.operation is not None:
        return operation_word(occurrence.operation.name)
    if not occurrence.is_module:
        return (occurrence.end or "").partition(":")[2] or "data"
    return occurrence.path or "model"


def name_from(source: Spot, user: Spot) -> str:
    """What a tag calls a source: the largest frame around it that the user is not in, else itself."""
    around: list[Block] = []
    block: Block | None = user.block
    while block is not None:
        around.append(block)
        block = block.parent
    outside: Block | None = None
    at = source.block
    while at not in around and at.parent is not None:
        outside, at = at, at.parent
    below = at.occurrence.path
    if outside is not None and not outside.occurrence.turn:
        return path_below(outside.occurrence.path, below)
    home = source.units[-1].occurrence.parent
    if home is not None and home.path != source.block.occurrence.path:
        return path_below(home.path, below)
    return path_below(spot_name(source), below)
