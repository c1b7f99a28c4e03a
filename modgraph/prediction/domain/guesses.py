"""What a run takes its inputs for, where nobody has said it: such a guess decides no test of what they are."""

from __future__ import annotations

from collections.abc import Mapping

from modgraph.prediction.domain.values import Address, Value

OF_MAPPINGS = ("get", "items", "keys", "values", "pop", "popitem", "setdefault", "update")
"""What a mapping has, and a tensor has not; `values` only as sparse."""


class Guesses:
    """Those of one run."""

    def __init__(self) -> None:
        self.kinds: Mapping[Value, str] = {}
        """Inputs, by what they are taken for: where each stands ("batch['x']")."""
        self.mappings: frozenset[Value] = frozenset()
        """Mappings of which it is not known what they hold, or whether they hold anything."""
        self.doubted: set[str] = set()
        """Of which a test asked whether they are something else."""
        self.refusals: list[str] = []
        """Why Python or torch refused paths while others went on."""
        self.raised: set[str] = set()
        """What was raised on paths while others went on, by the program too."""

    def doubts(self, value: Value) -> bool:
        """It is only taken for what it is: a test of that may come out either way."""
        name = self.kinds.get(value) if isinstance(value, Address) and self.kinds else None
        if name is not None:
            self.doubted.add(name)
        return name is not None

    def lacks(self, value: Value, name: str) -> bool:
        """It is only taken for what has no such attribute: it is something else."""
        if name in OF_MAPPINGS or not self.doubts(value):
            return False
        self.refusals.append(f"it is nothing that lacks {name}")
        return True

    def may_be_empty(self, value: Value) -> bool:
        """Whether it holds anything is not known, whatever of it is."""
        return isinstance(value, Address) and value in self.mappings
