"""Where the files of a model go: one folder for each file of the tree, whatever it is called, and none for two."""

from __future__ import annotations

import hashlib
import re

_NOT_KEPT = re.compile(r'[%."*:<>?|\\]|[^ -\ud7ff\ue000-\U0010ffff]|\x7f')
"""What some file system, or a store of artifacts, does not take; the mark of what stands for it; and dots, since the
files in these folders have them."""
_LONGEST = 255
"""Bytes of a name."""


def folder_of(file: str) -> str:
    """The folder for the models of a file of the tree, relative to the output: "pkg/net" of "pkg/net.py".

    Different files have different folders, and no folder is called as the files of a model, the index or the manifest.
    """
    return "/".join(_component(part) for part in file.removesuffix(".py").split("/"))


def _component(name: str) -> str:
    kept = _NOT_KEPT.sub(_escaped, name)
    if len(kept.encode("utf-8")) <= _LONGEST:
        return kept
    start = kept.encode("utf-8")[: _LONGEST // 2].decode("utf-8", "ignore")
    return f"{start}%{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    # A byte that is no text is half of a pair of surrogates in a name.
    data = char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in data)
