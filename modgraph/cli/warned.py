"""Warnings of one kind, told as the command tells everything else, and not as Python shows them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def told_by(tell: Callable[[str], None], kind: type[Warning]) -> Iterator[None]:
    """What is warned of in that kind goes to `tell`; all else is shown as before."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_or_tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, kind):
                tell(str(message))
            else:
                show(message, category, *place, **more)

        warnings.showwarning = show_or_tell
        yield
