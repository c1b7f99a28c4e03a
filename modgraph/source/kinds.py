"""What a file or folder that somebody names is: told in this one place, from its content before its name.

What is said of kinds elsewhere (`--help`, the guide, the error for what is none of them) follows from `KINDS`.
"""

from __future__ import annotations

import os
import shlex
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from modgraph.doors import reading
from modgraph.doors.data import read_json
from modgraph.errors import MissingFileError, TargetError
from modgraph.source.checkpoints import INDEX_SUFFIX, MAX_HEADER

Reads = Literal["source", "graph", "weights", "program"]
"""What is made of a kind: a prediction and a trace of source; a graph that was saved; names and shapes of weights;
modules of an exported program."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing that a command can be pointed at."""

    example: str
    """As one writes it: "net.safetensors"."""
    called: str
    """With "a" or "an" in front of it: "safetensors file"."""
    reads: Reads
    endings: tuple[str, ...]
    said: str
    """What comes of it, for the guide."""


PYTHON = Kind("model.py", "Python file", "source", (".py",), "its root models; `model.py:Net` names one")
MODULE = Kind("pkg.net:Net", "Python module", "source", (), "the same through an import path")
NOTEBOOK = Kind(
    "net.ipynb",
    "notebook",
    "source",
    (".ipynb",),
    "the same, of its code cells; places are cell and line, and a trace runs only what the model needs",
)
CONFIG = Kind(
    "folder/",
    "folder with a config.json",
    "source",
    (),
    "the class that `architectures` or `_class_name` names, from an installed package, the project or the folder, "
    "built from the configuration; a trace builds it on fake tensors",
)
GRAPH = Kind("net.json", "graph", "graph", (".json",), "a graph that modgraph wrote, as it was saved")
ONNX = Kind("net.onnx", "ONNX file", "graph", (".onnx",), "its local functions as modules, its nodes as operations")
SAFETENSORS = Kind(
    "net.safetensors", "safetensors file", "weights", (".safetensors",), "the tree of its names: shapes, types, bytes"
)
TORCH = Kind(
    "net.pt",
    "checkpoint of PyTorch",
    "weights",
    (".pt", ".pth", ".ckpt", ".bin"),
    "the same, of a state dict or a checkpoint around one; of a whole pickled module also its classes",
)
LEGACY = Kind("old.pt", "pickle", "weights", (), "the same, as PyTorch wrote it before 1.6")
GGUF = Kind("net.gguf", "GGUF file", "weights", (".gguf",), "the same, with its quantized types and its metadata")
INDEX = Kind(
    "net.safetensors.index.json", "index of shards", "weights", (INDEX_SUFFIX,), "the same, of all shards together"
)
EXPORTED = Kind(
    "net.pt2",
    "exported program",
    "program",
    (".pt2",),
    "its modules, parameters, buffers and inputs (`torch.export.save`)",
)
TORCHSCRIPT = Kind(
    "script.pt", "TorchScript program", "program", (), "its modules with their classes, parameters and buffers"
)

KINDS = (
    PYTHON,
    MODULE,
    NOTEBOOK,
    CONFIG,
    GRAPH,
    ONNX,
    SAFETENSORS,
    TORCH,
    LEGACY,
    GGUF,
    INDEX,
    EXPORTED,
    TORCHSCRIPT,
)
"""All of them, in the order in which they are listed."""

FORMS = f"a target is {', '.join(kind.example for kind in KINDS)}; with arguments 'model.py:Net(depth=4)'"
"""For the error about what is none."""
SHORT = ", ".join(kind.example for kind in KINDS if kind not in (PYTHON, MODULE, LEGACY, INDEX, TORCHSCRIPT))
"""For `--help`, beside files and modules of Python; those left out are called as one that is there."""
READ = tuple(kind.example for kind in KINDS if kind.reads != "source")
"""Those that hold a graph already, or what makes one without a prediction."""
CONFIG_FILE = "config.json"

_BEGINNING = 65_536
_LEGACY_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LFS = b"version https://git-lfs"
_CONFIG_KEYS = frozenset(("architectures", "model_type", "_class_name", "auto_map"))
_OTHERS = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (of Keras, say)"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture"),
)


def kind_of(path: Path, shown: str | None = None) -> Kind:
    """What a file is.

    Args:
        shown: how the user wrote it.

    Raises:
        TargetError: it is of no kind that is read here; the message says what it is and what would help.
        OSError: it cannot be read.
    """
    shown = shown or str(path)
    name = path.name.lower()
    if name.endswith((*PYTHON.endings, ".pyw")):
        return PYTHON
    head = reading.beginning(path, _BEGINNING)
    found = _by_content(path, head, name, shown)
    if found is not None:
        return found
    by_name = next((kind for kind in KINDS if kind.endings and name.endswith(kind.endings)), None)
    if by_name is not None and by_name is not PYTHON:
        raise TargetError(f"{shown} is no {by_name.called}: {_what(head)}", hint=_hint(head, shown))
    raise TargetError(f"{shown} is not a Python file (its name does not end in .py), and {_what(head)}", hint=FORMS)


def _by_content(path: Path, head: bytes, name: str, shown: str) -> Kind | None:
    if head.startswith(b"GGUF"):
        return GGUF
    if head.startswith(b"PK\x03\x04"):
        return _archive(path, shown)
    if head.startswith(_LEGACY_MAGIC):
        return LEGACY
    if head[:1] == b"\x80" and head[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        return LEGACY
    if head[8:9] == b"{" and 2 <= struct.unpack("<Q", head[:8])[0] <= MAX_HEADER:
        return SAFETENSORS
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return _json(path, head, name)
    if name.endswith(ONNX.endings) and not head.startswith(_LFS):
        return ONNX
    # A message of protobuf whose first two fields are the version of the format and the name of what wrote it.
    if len(head) > 3 and head[0] == 0x08 and head[1] < 0x20 and head[2] in (0x12, 0x1A, 0x3A, 0x42):
        return ONNX
    return None


def _archive(path: Path, shown: str) -> Kind:
    from re import fullmatch

    from modgraph.doors.archives import Archive, ArchiveError  # slow to import

    try:
        names = Archive(path).names
    except ArchiveError as error:
        raise TargetError(f"{shown} cannot be read: {error}") from error
    if "constants.pkl" in names and "data.pkl" in names:
        return TORCHSCRIPT
    if "serialized_exported_program.json" in names or any(fullmatch(r"models/[^/]+\.json", name) for name in names):
        return EXPORTED
    if "data.pkl" in names:
        return TORCH
    inside = ", ".join(sorted(names)[:3])
    if names and all(name.endswith(".npy") for name in names):
        raise TargetError(f"{shown} is an archive of arrays of NumPy, which is not read", hint=FORMS)
    raise TargetError(
        f"{shown} is a zip archive that torch did not write" + (f": it holds {inside[:200]}" if inside else ""),
        hint="unpack it, and name a file in it",
    )


def _json(path: Path, head: bytes, name: str) -> Kind:
    """A notebook, an index of shards, the configuration of a model, or a graph, which also stands for any other."""
    if name.endswith(NOTEBOOK.endings):
        return NOTEBOOK
    if name.endswith(INDEX_SUFFIX):
        return INDEX
    if b'"modgraph/' in head[:200] or path.stat().st_size > reading.CONFIG_BYTES:
        return GRAPH
    try:
        keys: Any = read_json(reading.read(path, reading.CONFIG_BYTES))
    except ValueError:
        return GRAPH
    if not isinstance(keys, dict) or "schema" in keys:
        return GRAPH
    if "weight_map" in keys:
        return INDEX
    if "cells" in keys and "nbformat" in keys:
        return NOTEBOOK
    return CONFIG if _CONFIG_KEYS & keys.keys() else GRAPH


def _what(head: bytes) -> str:
    """What a file of no kind is, in words."""
    if not head:
        return "it is empty"
    if head.startswith(_LFS):
        return "it is a pointer of Git LFS, not the file itself"
    said = next((words for magic, words in _OTHERS if head.startswith(magic)), None)
    if said is not None:
        return f"it is {said}"
    text = head[:512].decode("utf-8", "replace")[:-1]
    plain = all(character.isprintable() or character.isspace() for character in text) and "\ufffd" not in text
    return "it is a text of another kind" if plain else "what is in it is of no kind that is known here"


def _hint(head: bytes, name: str) -> str:
    return f"fetch the file: git lfs pull --include {shlex.quote(name)}" if head.startswith(_LFS) else FORMS


def saved_file(text: str, cwd: Path | None = None) -> Kind | None:
    """What the file is that `text` names, where it is read as it is: a graph, weights, an exported program. None of
    source, whose models are predicted and traced, and of what is no file.

    Raises:
        MissingFileError: it is called as such a file is, and is not there.
        TargetError: it is of no kind that is read here, or cannot be read.
    """
    path = (cwd or Path.cwd()) / text
    try:
        is_file = os.path.isfile(path)
    except ValueError:
        return None
    if not is_file:
        if is_saved_name(text) and "\0" not in text and not os.path.lexists(path):
            raise MissingFileError(f"{text[:200]} does not exist", file=text[:200])
        return None
    if text.lower().endswith(PYTHON.endings):
        return None
    try:
        kind = kind_of(path, text)
    except OSError as error:
        raise TargetError(f"{text} cannot be read: {error.strerror or error}") from error
    return None if kind.reads == "source" else kind


_SAVED_ENDINGS = tuple(ending for kind in KINDS if kind.reads != "source" for ending in kind.endings)


def is_saved_name(text: str) -> bool:
    """Whether a file that is called so is read as it is, and is no source."""
    return text.lower().endswith(_SAVED_ENDINGS)
