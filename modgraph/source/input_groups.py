"""Inputs of `forward` that hold several values: `batch.image=2x3x32x32` and `images[0]=3x32x32`, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from modgraph.errors import InputError
from modgraph.source.inputs import InputSpec, parse_input

_Spec = TypeVar("_Spec")


@dataclass(frozen=True, slots=True)
class InputGroup:
    """A dict, whose entries are its attributes too, or a list."""

    name: str
    """The parameter of `forward`; of one inside another, the whole place: "batch.boxes"."""
    items: Mapping[str | int, Given]
    """By key, or by index from 0 on."""

    @property
    def is_list(self) -> bool:
        """Its items have indices."""
        return 0 in self.items

    def at(self, place: Sequence[str | int]) -> Given:
        """What stands at a place in it."""
        found: Given = self
        for part in place:
            if not isinstance(found, InputGroup):
                break
            found = found.items[part]
        return found


Given: TypeAlias = InputSpec | InputGroup


def parse_inputs(texts: Iterable[object]) -> tuple[InputSpec, ...]:
    """The inputs that the texts describe.

    Raises:
        InputError: one of them is none, or they do not go together.
    """
    specs = tuple(map(parse_input, texts))
    grouped(specs)
    return specs


def grouped(specs: Iterable[_Spec]) -> list[_Spec | InputGroup]:
    """The inputs, those of one parameter as one, where its first part stands.

    Raises:
        InputError: a place is given twice, is both a value and holds others, or a list lacks one before it.
    """
    found: dict[object, list[_Spec]] = {}
    for number, spec in enumerate(specs):
        name = spec.name if isinstance(spec, InputSpec) else None
        found.setdefault(number if name is None else name, []).append(spec)
    together: list[_Spec | InputGroup] = []
    for same in found.values():
        parts = [each for each in same if isinstance(each, InputSpec)]
        group = _together(parts[0].name or "", parts) if parts else None
        together.append(group if isinstance(group, InputGroup) else same[0])
    return together


def _together(name: str, specs: Sequence[InputSpec]) -> Given:
    whole = [spec for spec in specs if not spec.place]
    if whole:
        if len(specs) == 1:
            return specs[0]
        raise InputError(f"--input {specs[-1].text}: {name} is given twice")
    inside: dict[str | int, list[InputSpec]] = {}
    for spec in specs:
        inside.setdefault(spec.place[0], []).append(replace(spec, place=spec.place[1:]))
    indices = sorted(key for key in inside if isinstance(key, int))
    if indices and len(indices) < len(inside):
        raise InputError(f"--input {specs[-1].text}: {name} is a list with indices, or a dict with keys, and not both")
    if indices != list(range(len(indices))):
        missing = next(i for i in range(len(indices) + 1) if i not in indices)
        raise InputError(
            f"--input {specs[-1].text}: {name} has no item {missing}",
            hint=f"give --input '{name}[{missing}]=...' as well",
        )
    keys: list[str | int] = [*indices] or list(inside)
    return InputGroup(name, {key: _together(_place(name, key), inside[key]) for key in keys})


def _place(name: str, key: str | int) -> str:
    return f"{name}[{key}]" if isinstance(key, int) else f"{name}.{key}"
