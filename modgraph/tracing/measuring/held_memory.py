"""How many bytes the tensors hold that torch's kernels have made, while they live: on any device, fake ones too."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.measuring.measured_calls import Measured


class HeldMemory:
    """Counts each storage once, from the kernel that made it to its end. Of a run in one thread: what several make at
    once is nobody's own."""

    def __init__(self) -> None:
        self._bytes = 0
        self._seen: set[int] = set()
        self._gone: deque[tuple[int, int]] = deque()
        """Storages that have ended, and their bytes: told wherever the last reference goes, in any thread."""

    def take(self, given: Any, result: Any) -> None:
        """A kernel has made `result` of what it was given; what lies in the memory of that is nothing new."""
        self._settle()
        before = {key for key, _, _ in _storages(given)}
        for key, size, storage in _storages(result):
            if key not in before and key not in self._seen:
                self._seen.add(key)
                self._bytes += size
                weakref.finalize(storage, self._gone.append, (key, size)).atexit = False

    def enter(self, call: Measured) -> None:
        """A call begins."""
        self._settle()
        call.held = self._bytes

    def leave(self, call: Measured) -> None:
        """It ends: what has become more in it is what it holds."""
        self._settle()
        call.allocated = self._bytes - call.held

    def _settle(self) -> None:
        while self._gone:
            key, size = self._gone.popleft()
            self._seen.discard(key)
            self._bytes -= size


def _storages(values: Any) -> Iterator[tuple[int, int, Any]]:
    """Of each tensor: what its storage is known by, its bytes, and itself."""
    for tensor in pytree.tree_leaves(values):
        if isinstance(tensor, torch.Tensor):
            try:
                storage = tensor.untyped_storage()
                yield storage._cdata, int(storage.nbytes()), storage
            except RAISED_BY_OTHERS:  # a sparse tensor, or one of a class of others, has none
                continue
