"""The functions by which weights are fetched and read, and whether an error is that of weights that are not there.

Which function raised it, the frames of the traceback tell: its own code stands there, by whatever name it was called.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

from modgraph.graph.model import MissingWeights
from modgraph.tracing.basics.failures import describe, is_interruption, without_places


@dataclass(frozen=True, slots=True)
class Door:
    """A function that brings weights."""

    module: str
    name: str
    kind: Literal["fetch", "hub", "load", "read"]
    """`fetch` puts a URL into a file; `hub` gives the path of a file of the Hugging Face hub; `load` gives what is read
    from a URL, `read` from a file."""
    source: str
    """The parameter that says which weights."""
    refused: tuple[type[BaseException], ...]
    """What it raises where they are not there. Anything else, of a file that is damaged say, is a fault of its own."""

    @property
    def function(self) -> Any:
        """The function; None where its module is not imported."""
        return getattr(sys.modules.get(self.module), self.name, None)


DOORS = (
    Door("torch.hub", "download_url_to_file", "fetch", "url", (Exception,)),
    Door("torch.hub", "load_state_dict_from_url", "load", "url", (OSError,)),
    Door("torch.serialization", "load", "read", "f", (FileNotFoundError,)),
    Door("huggingface_hub.file_download", "hf_hub_download", "hub", "filename", (Exception,)),
    Door("safetensors.torch", "load_file", "read", "filename", (FileNotFoundError,)),
)


def open_doors() -> list[str]:
    """The modules of those that are there to be called."""
    return [door.module for door in DOORS if door.function is not None]


def weights_behind(error: BaseException) -> MissingWeights | None:
    """The weights of which an error says that they are not there, itself or one that it was raised for; None of any
    other error."""
    codes = {_code(door.function): door for door in DOORS if door.function is not None}
    for each in _chain(error):
        for frame, _ in traceback.walk_tb(each.__traceback__):
            door = codes.get(frame.f_code)
            if door is None or not isinstance(each, door.refused) or is_interruption(each):
                continue
            given = frame.f_locals
            source = source_of(door, given)
            if source is not None:
                return MissingWeights(source=source, error=describe(each))
    return None


def source_of(door: Door, given: Any) -> str | None:
    """Which weights a function is asked for, by the names of its parameters; None where that is no text or path.

    A file of the hub counts where its name is one of weights: others are configurations and vocabularies.
    """
    source = given.get(door.source)
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    if not isinstance(text, str):
        return None
    if door.kind != "hub":
        return _shown(text)
    if os.path.splitext(text)[1].lower() not in _WEIGHTS or given.get("repo_type") not in (None, "model"):
        return None
    folder = f"{given.get('subfolder')}/" if given.get("subfolder") else ""
    revision = given.get("revision") or "main"
    return f"https://huggingface.co/{given.get('repo_id')}/resolve/{revision}/{folder}{text}"[:_MAX_SOURCE]


def _shown(source: str) -> str:
    """As it stands in a graph: of a URL neither who asks nor what follows the path, which may be a key."""
    scheme, mark, rest = source.partition("://")
    if not mark or not scheme.isalnum():
        return without_places(source)[:_MAX_SOURCE]
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{re.split(r'[?#;]', path)[0]}"[:_MAX_SOURCE]


_WEIGHTS = frozenset([".bin", ".ckpt", ".pkl", ".pt", ".pth", ".safetensors", ".tar", ".th"])
_MAX_SOURCE = 500


def _code(function: Any) -> CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that were being handled when it was raised, back to the first."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        pending += [each.__context__, each.__cause__]
