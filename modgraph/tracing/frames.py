"""An open call of the run that is recorded."""

from __future__ import annotations

from torch import nn

from modgraph.tracing.recipes import Step
from modgraph.tracing.sites import Site
from modgraph.tracing.tensors import Named


class Frame:
    """One open call."""

    __slots__ = (
        *("awaits_call", "has_children", "has_operations", "index", "inputs", "module", "parent", "path"),
        *("recomputed", "site", "step", "versions"),
    )

    def __init__(
        self, module: nn.Module, path: str, parent: Frame | None, site: Site | None, inputs: list[Named]
    ) -> None:
        self.index = -1
        self.module = module
        self.path = path
        self.parent = parent
        self.site = site
        self.inputs = inputs
        self.versions: list[int] | None = None
        self.has_children = False
        """A call began inside: it is no leaf."""
        self.has_operations = False
        """An operation was recorded inside."""
        self.step: Step | None = None
        self.recomputed = False
        self.awaits_call = False
        """The class has a `__call__` of its own, and that of `Module` was not reached yet."""

    def has_written(self) -> bool:
        """Whether the call may have written into one of its inputs."""
        if self.versions is None:
            return True
        return any(tensor._version != before for (_, tensor), before in zip(self.inputs, self.versions, strict=True))
