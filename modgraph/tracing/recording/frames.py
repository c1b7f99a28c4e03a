"""An open call of the run that is recorded."""

from __future__ import annotations

import torch
from torch import nn

from modgraph.tracing.basics.sites import Site
from modgraph.tracing.basics.tensors import Named, version_of
from modgraph.tracing.recording.recipes import Step


class Frame:
    """One open call."""

    __slots__ = (
        *("awaits_call", "began", "has_children", "has_operations", "index", "inputs", "module", "own"),
        *("parent", "path", "recomputed", "site", "step", "versions"),
    )

    def __init__(
        self, module: nn.Module, path: str, parent: Frame | None, site: Site | None, inputs: list[Named]
    ) -> None:
        self.index = -1
        self.began = 0
        """When it did, in the time of the dataflow."""
        self.module = module
        self.path = path
        self.parent = parent
        self.site = site
        self.inputs = inputs
        self.versions: list[int] | None = None
        self.own: list[tuple[torch.Tensor, int | None]] = []
        """Tensors of the layer's own that it may write into past every torch function, with their versions before."""
        self.has_children = False
        """A call began inside: it is no leaf."""
        self.has_operations = False
        """An operation was recorded inside."""
        self.step: Step | None = None
        self.recomputed = False
        self.awaits_call = False
        """The class has a `__call__` of its own, and that of `Module` was not reached yet."""

    def is_one_step(self) -> bool:
        """Whether it stands in the dataflow for all that happens inside. Not so the model's own call where operations
        were seen in it: these are the steps then."""
        is_all = self.parent is None and not self.path and self.has_operations
        return not (self.has_children or self.recomputed or is_all)

    def own_written(self) -> list[torch.Tensor]:
        """Of the layer's own tensors, those that it has written into."""
        return [tensor for tensor, before in self.own if version_of(tensor) != before]

    def has_written(self) -> bool:
        """Whether the call may have written into one of its inputs."""
        if self.versions is None:
            return True
        return any(tensor._version != before for (_, tensor), before in zip(self.inputs, self.versions, strict=True))
