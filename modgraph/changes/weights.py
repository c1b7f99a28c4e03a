"""What becomes of the tensors of an old checkpoint: which reach the new model, and by what. `carrying.py` finds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from modgraph.names import natural

How = Literal["rename", "merge", "split", "transpose", "copy", "drop"]
"""`merge`: several become one, joined along dimension 0; `split`: one becomes several; `copy`: the new model has a
tensor under one name more, and asks for each; `drop`: the old one had it under one name more."""

_TURNED: dict[How, How] = {"merge": "split", "split": "merge", "copy": "drop", "drop": "copy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Tensors of the old checkpoint that are what the new model wants, once this is done to them."""

    how: How
    old: tuple[str, ...]
    """Their keys, in the order in which they are joined."""
    new: tuple[str, ...]
    """Of `drop`, the key under which the tensor arrives by itself."""
    sizes: tuple[int, ...] = ()
    """Of a merge or split: how long each part is along dimension 0."""
    named: bool = False
    """Of a merge or split: the order of the parts is that of their names in the name of the whole (q, k, v: qkv), not
    only that of their registration."""

    def reversed(self) -> Carried:
        """The same, from the new checkpoint to the old model."""
        return replace(self, how=_TURNED.get(self.how, self.how), old=self.new, new=self.old)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChanges:
    """What becomes of a checkpoint of the old model when it is loaded into the new one."""

    fits: bool | None = True
    """Whether `load_state_dict` takes it as it is, with `strict=True`; None where that is not known. Of a key that is
    another layer's now, it says nothing: see `StateChanges.misplaced`."""
    carried: tuple[Carried, ...] = ()
    """What explains a key that does not fit, or that is another layer's now; where two things would, none is here."""
    lost: tuple[str, ...] = ()
    """Keys of the old model that the new one does not take, and that nothing explains."""
    fresh: tuple[str, ...] = ()
    """Keys that the new model asks for, and for which nothing of the old one is known."""
    reshaped: tuple[str, ...] = ()
    """Keys of both, of another shape, which nothing explains."""
    undecided: bool = False
    """Whether one side leaves open which keys it has, or of what shape."""

    @property
    def renames(self) -> dict[str, str]:
        """Old key -> new key, of what is a rename alone."""
        return {each.old[0]: each.new[0] for each in self.carried if each.how == "rename"}

    @property
    def fits_renamed(self) -> bool | None:
        """Whether it is taken, and everything arrives, once its keys are renamed; None where that is not known."""
        if any(each.how != "rename" for each in self.carried):
            return False
        return self.fits_carried

    @property
    def fits_carried(self) -> bool | None:
        """The same, once all of `carried` is done."""
        if self.lost or self.fresh or self.reshaped:
            return False
        return None if self.undecided else True

    def reversed(self) -> CheckpointChanges:
        """The same of a checkpoint of the new model that is loaded into the old one."""
        return replace(
            self, carried=in_order(each.reversed() for each in self.carried), lost=self.fresh, fresh=self.lost
        )


def in_order(carried: Iterable[Carried]) -> tuple[Carried, ...]:
    """In the order of the old keys, numbers in them by size."""
    return tuple(sorted(carried, key=lambda each: (natural(each.old[0]), natural(each.new[0]), each.how)))
