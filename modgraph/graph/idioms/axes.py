"""Which dimension of a tensor is which, through steps that give values another shape.

A dimension is a row of atoms, the outermost first; each has a label that says where it is from, and a size. `view` cuts
and joins them, `transpose` changes their order. What cannot be followed for certain is None.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from modgraph.graph.idioms.flow import CASTS, DROPOUTS, PARTS, Flow, Step, words_of
from modgraph.graph.model import Edge, Shape

Size: TypeAlias = "int | str | None"
COPIED = "copied"
"""The label of what came by repeating."""


class Atom(NamedTuple):
    """A part of a dimension."""

    label: str
    size: Size


Axis = tuple[Atom, ...]
Layout = tuple[Axis, ...]

_RESHAPING = words_of("""view view_as reshape reshape_as flatten unflatten squeeze unsqueeze ravel atleast_1d""")
_SAME = (
    CASTS
    | DROPOUTS
    | words_of(
        """add sub mul div truediv neg masked_fill where clamp clamp_min clamp_max tanh norm softmax normalize roll
    nan_to_num rms_norm layer_norm module pow exp floordiv rsub"""
    )
)
_GROWING = frozenset(("expand", "expand_as", "broadcast_to", "repeat", "tile"))


def labelled(shape: Shape | None, label: Callable[[int], str]) -> Layout | None:
    """The dimensions of a tensor, each an atom of its own."""
    if shape is None:
        return None
    return tuple(() if size == 1 else (Atom(label(place), size),) for place, size in enumerate(shape))


def followed(flow: Flow, layout: Layout | None, path: Sequence[Edge]) -> Layout | None:
    """The layout of the last tensor of a path, of the first's: each edge goes into the step that makes the next."""
    for before, after in itertools.pairwise(path):
        step = flow.step(after.producer)
        if layout is None or step is None or len(layout) != len(before.tensor.shape or ()):
            return None
        layout = _advanced(step, layout, before, after)
    return layout


def _advanced(step: Step, layout: Layout, before: Edge, after: Edge) -> Layout | None:
    old, new = before.tensor.shape, after.tensor.shape
    if old is None or new is None:
        return None
    word = step.word
    if word in ("transpose", "swapaxes", "swapdims"):
        return _swapped(layout, step.arguments.get("dim0"), step.arguments.get("dim1"))
    if word in ("t", "T", "mT", "adjoint"):
        return _swapped(layout, -1, -2) if len(layout) == 2 or word in ("mT", "adjoint") else None
    if word == "permute":
        return _permuted(layout, step.arguments.get("dims"))
    if word == "movedim" or word == "moveaxis":
        return None
    if word in _RESHAPING or (word == "view" and step.node.startswith("call:")):
        return regrouped(layout, new)
    if word == "getitem":
        return _indexed(layout, step.arguments.get("key"), new)
    if word == "select":
        return _without(layout, step.arguments.get("dim"))
    if word == "unbind":
        return _without(layout, step.arguments.get("dim", 0))
    if word in PARTS or word == "narrow":
        return _cut(layout, step.arguments.get("dim", 0 if word in PARTS else None), new)
    if word in ("cat", "concat"):
        return _cut(layout, step.arguments.get("dim", 0), new)
    if word == "stack":
        return _stacked(layout, step.arguments.get("dim", 0), new)
    if word == "repeat_interleave":
        return _repeated(layout, step.arguments.get("dim"), old, new)
    if word == "view_as_complex":
        return layout[:-1]
    if word == "view_as_real":
        return (*layout, (Atom(layout[-1][0].label, 2),)) if layout and layout[-1] else None
    if word in _GROWING or word in _SAME:
        return _grown(layout, old, new)
    return None


def _place(dim: object, rank: int) -> int | None:
    if type(dim) is not int or not -rank <= dim < rank:
        return None
    return dim % rank


def _swapped(layout: Layout, one: object, other: object) -> Layout | None:
    first, second = _place(one, len(layout)), _place(other, len(layout))
    if first is None or second is None:
        return None
    axes = list(layout)
    axes[first], axes[second] = axes[second], axes[first]
    return tuple(axes)


def _permuted(layout: Layout, dims: object) -> Layout | None:
    places = [_place(each, len(layout)) for each in dims] if isinstance(dims, list) else []
    if len(places) != len(layout) or None in places:
        return None
    return tuple(layout[place] for place in places if place is not None)


def _without(layout: Layout, dim: object) -> Layout | None:
    place = _place(dim, len(layout))
    return None if place is None else (*layout[:place], *layout[place + 1 :])


def _part(axis: Axis, size: Size) -> Axis | None:
    """A part of a dimension, or one that others were put behind: it is no longer the same, and of the same origin."""
    if size == 1:
        return ()
    labels = {each.label for each in axis}
    if len(labels) > 1:
        return None
    return (Atom(labels.pop() if labels else COPIED, size),)


def _cut(layout: Layout, dim: object, new: Sequence[Size]) -> Layout | None:
    place = _place(dim, len(layout))
    if place is None or len(new) != len(layout):
        return None
    axis = _part(layout[place], new[place])
    return None if axis is None else (*layout[:place], axis, *layout[place + 1 :])


def _stacked(layout: Layout, dim: object, new: Sequence[Size]) -> Layout | None:
    place = _place(dim, len(layout) + 1)
    if place is None or len(new) != len(layout) + 1:
        return None
    beside = layout[place - 1] if place else ()
    label = beside[-1].label if beside else COPIED
    return (*layout[:place], (Atom(label, new[place]),), *layout[place:])


def _repeated(layout: Layout, dim: object, old: Sequence[Size], new: Sequence[Size]) -> Layout | None:
    place = _place(dim, len(layout))
    if place is None or len(old) != len(new):
        return None
    size, more = old[place], new[place]
    if not isinstance(size, int) or not isinstance(more, int) or size < 1 or more % size:
        return None
    return (*layout[:place], (*layout[place], Atom(COPIED, more // size)), *layout[place + 1 :])


def _grown(layout: Layout, old: Sequence[Size], new: Sequence[Size]) -> Layout | None:
    """Dimensions of one element become longer, and further ones come in front."""
    more = len(new) - len(old)
    if more < 0:
        return None
    found: list[Axis] = [() if size == 1 else (Atom(COPIED, size),) for size in new[:more]]
    for axis, before, after in zip(layout, old, new[more:], strict=True):
        if before == after and before is not None:
            found.append(axis)
        elif before == 1:
            found.append((Atom(COPIED, after),))
        else:
            return None
    return tuple(found)


def _indexed(layout: Layout, key: object, new: Sequence[Size]) -> Layout | None:
    """By a key as operations tell it: "..., ::2"."""
    if not isinstance(key, str):
        return None
    parts = key.split(", ")
    used = sum(each not in ("...", "None") for each in parts)
    if "..." in parts:
        at = parts.index("...")
        parts[at : at + 1] = [":"] * (len(layout) - used)
    parts += [":"] * (len(layout) - sum(each != "None" for each in parts))
    found: list[Axis] = []
    left = list(layout)
    for part in parts:
        if part == "None":
            found.append(())
        elif not left:
            return None
        elif ":" not in part:
            left.pop(0)
        else:
            axis = left.pop(0)
            size = new[len(found)] if len(found) < len(new) else None
            cut = axis if part == ":" else _part(axis, size)
            if cut is None:
                return None
            found.append(cut)
    return tuple(found) if len(found) == len(new) else None


def regrouped(layout: Layout, new: Sequence[Size]) -> Layout | None:
    """The same elements in the same order, in other dimensions."""
    atoms = [each for axis in layout for each in axis]
    left: list[Axis] = []
    right: list[Axis] = []
    sizes = list(new)
    _match(atoms, sizes, left)
    _match_from_right(atoms, sizes, right)
    if len(sizes) == 1:
        middle: list[Axis] | None = [tuple(atoms)]
    elif len(atoms) == 1 and sizes:
        middle = [() if size == 1 else (Atom(atoms[0].label, size),) for size in sizes]
    else:
        middle = None if sizes or atoms else []
    return None if middle is None else (*left, *middle, *reversed(right))


def _match(atoms: list[Atom], sizes: list[Size], found: list[Axis]) -> None:
    """Takes from both what is the same, from the left."""
    while sizes:
        if sizes[0] == 1:
            found.append(())
        elif atoms and sizes[0] is not None and atoms[0].size == sizes[0]:
            found.append((atoms.pop(0),))
        else:
            return
        sizes.pop(0)


def _match_from_right(atoms: list[Atom], sizes: list[Size], found: list[Axis]) -> None:
    """Takes from both what goes into each other in numbers, from the right."""
    while sizes:
        wanted = sizes[-1]
        if wanted == 1:
            found.append(())
            sizes.pop()
            continue
        taken: list[Atom] = []
        rest = list(atoms)
        while isinstance(wanted, int) and wanted > 1 and rest and isinstance(size := rest[-1].size, int) and size > 0:
            if wanted % size == 0:
                taken.insert(0, rest.pop())
                wanted //= size
            elif size % wanted == 0:
                taken.insert(0, Atom(rest[-1].label, wanted))
                rest[-1] = Atom(rest[-1].label, size // wanted)
                wanted = 1
            else:
                return
        if wanted != 1:
            if not (rest and not taken and wanted is not None and rest[-1].size == wanted):
                return
            taken = [rest.pop()]
        atoms[:] = rest
        found.append(tuple(taken))
        sizes.pop()


def product(axes: Iterable[Axis], label: str) -> int | None:
    """How many elements all atoms of a label have together; None where a size is no number."""
    sizes = [each.size for axis in axes for each in axis if each.label == label]
    return math.prod(size for size in sizes if isinstance(size, int)) if all(type(s) is int for s in sizes) else None


def labels(axis: Axis) -> set[str]:
    """Where the parts of a dimension are from."""
    return {each.label for each in axis}


class Contraction(NamedTuple):
    """A product of two tensors that sums over what both have: letters for their dimensions, as `einsum` has them."""

    first: Edge
    second: Edge
    letters: tuple[str, str]
    result: str


_EQUATION = re.compile(r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]+)")


def contraction(flow: Flow, step: Step) -> Contraction | None:
    """What a product of two tensors sums over; None where the step is none, or not known to be one."""
    places = (1, 2) if step.word == "baddbmm" else (0, 1)
    if step.word not in ("matmul", "bmm", "baddbmm", "einsum", "mm") or step.node.startswith("call:"):
        return None
    first, second = (flow.operand(step.node, place) for place in places)
    if first is None or second is None or first.tensor.shape is None or second.tensor.shape is None:
        return None
    ranks = len(first.tensor.shape), len(second.tensor.shape)
    if step.word == "einsum":
        found = _EQUATION.fullmatch(str(step.arguments.get("equation", "")).replace(" ", ""))
        if (
            found is None
            or (len(found[1]), len(found[2])) != ranks
            or any(len(set(each)) < len(each) for each in found.groups())
        ):
            return None
        return Contraction(first, second, (found[1], found[2]), found[3])
    if min(ranks) < 2 or max(ranks) > 8:
        return None
    batch = "abcdef"[: max(ranks) - 2]
    mine, theirs = (batch[len(batch) - rank + 2 :] for rank in ranks)
    return Contraction(first, second, (f"{mine}xy", f"{theirs}yz"), f"{batch}xz")
