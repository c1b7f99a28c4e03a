"""Texts of all processes brought to rank 0 within a time limit, however some of them end.

By the key-value store with which the processes found each other, and not by a collective operation: it needs no device,
it does not wait for who never comes, and it tells which one that is.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import time
import zlib
from typing import Any

import torch

from modgraph.errors import TraceError
from modgraph.tracing.basics.sharding import place_in_world

_PART = 4 << 20
"""Bytes of one value: the store takes 8 MiB at most."""
_SHORTEST = 0.05
"""Seconds in which what is there already is read, once the limit is over."""
_turns = itertools.count()


def is_initialised() -> bool:
    """Whether `torch.distributed` has a group of processes."""
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def gathered(text: str, timeout: float) -> tuple[dict[int, str], dict[int, str]] | None:
    """The texts of all processes by rank, and why that of a rank is not there; None on every rank but 0.

    Every process calls this equally often.

    Args:
        timeout: seconds that rank 0 waits for the others, all of them together.

    Raises:
        TraceError: the store cannot be reached: the process that holds it has ended.
    """
    rank, world = place_in_world() or (0, 1)
    store = torch.distributed.distributed_c10d._get_default_store()
    turn = f"modgraph/{next(_turns)}"
    if rank:
        _send(store, f"{turn}/{rank}", text)
        return None
    texts, reasons = {0: text}, {}
    end = time.monotonic() + timeout
    for other in range(1, world):
        left = max(end - time.monotonic(), _SHORTEST)
        found = _receive(store, f"{turn}/{other}", left)
        if found is None:
            reasons[other] = f"it sent no graph within {timeout:g} s; it has failed, or did not get so far"
        else:
            texts[other] = found
    return texts, reasons


def _send(store: Any, key: str, text: str) -> None:
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"))
    parts = [packed[start : start + _PART] for start in range(0, len(packed), _PART)]
    try:
        for number, part in enumerate(parts):
            store.set(f"{key}/{number}", part)
        store.set(key, str(len(parts)))  # last: who sees it finds all
    except RuntimeError as error:
        raise TraceError(f"the graph cannot be sent to rank 0, whose store is not there any more: {error}") from error


def _receive(store: Any, key: str, timeout: float) -> str | None:
    """The text, taken off the store; None where it does not come."""
    try:
        store.wait([key], datetime.timedelta(seconds=timeout))
        names = [f"{key}/{number}" for number in range(int(store.get(key)))]
        packed = b"".join(store.get(name) for name in names)
    except RuntimeError:  # torch's `DistStoreError` is one
        return None
    for name in (key, *names):
        with contextlib.suppress(RuntimeError, NotImplementedError):  # not every store can
            store.delete_key(name)
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")
