"""What the layers of the installed torch have by name, written down as a table.

    python tests/oracle/torch_names.py [--check]

The prediction reads the table, `modgraph/prediction/knowledge/torch_names.txt`: a name that stands there, and that it
does not model, is not known, where any other is missing. Run it again where a torch is new. `--check` writes nothing, and
ends with status 1 if names are missing in the table; names of earlier versions stay there.

The table has a line for each class, of fields between tabs: its name, the names in its own namespace, and the names that
only an instance has and that the source which stands in for torch does not set. What it shares with a class that it is derived from stands with that class alone.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

TABLE = Path(__file__).parents[2] / "modgraph/prediction/knowledge/torch_names.txt"
STUBS = TABLE.parent / "torch_stubs"

_WAYS: tuple[tuple[Any, ...], ...] = ((), (4,), (2, 2), (4, 4), (4, 4, 1), (4, 4, 4), (4, 8, [2, 4]))
_MORE: tuple[tuple[Any, ...], ...] = (("LSTM", 4, 4), (4, 4, True, 4), (1, (2, 2)))

_WITH_DEVICES = {nn.DataParallel: {"dim", "device_ids", "output_device", "src_device_obj"}}
"""Names that an instance has on a machine with devices."""

Names = dict[str, tuple[set[str], set[str]]]


def layers() -> Iterator[type]:
    """The classes of torch.nn that are modules, and those that they are derived from."""
    found: dict[type, None] = {}
    for each in (getattr(nn, name) for name in sorted(dir(nn))):
        if isinstance(each, type) and issubclass(each, nn.Module):
            found.update(dict.fromkeys(base for base in reversed(each.__mro__) if _is_of_torch(base)))
    yield from found


def _is_of_torch(cls: type) -> bool:
    return cls.__module__.startswith("torch.")


def made(cls: type) -> nn.Module | None:
    """An instance; None where none of the usual arguments fit, as of an abstract class."""
    if cls is nn.TransformerEncoder or cls is nn.TransformerDecoder:
        layer = nn.TransformerEncoderLayer if cls is nn.TransformerEncoder else nn.TransformerDecoderLayer
        return cls(layer(4, 2, batch_first=True), 1)
    for way in (*_WAYS, *_MORE) if issubclass(cls, nn.Module) else ():
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cls(*way)
    return None


def asked() -> Names:
    """By the name of the class: names of its own namespace, and of its instance."""
    found: Names = {}
    for cls in layers():
        module = made(cls)
        above = [base for base in cls.__mro__[1:] if _is_of_torch(base)]
        held = set(vars(module)) if module is not None else set[str]()
        text = "".join(map(_stub, (cls, *above)))
        held = {
            name for name in held | _WITH_DEVICES.get(cls, set()) if not re.search(rf'self\.{name}\b|"{name}"', text)
        }
        for base in above:
            held -= found[_name(base)][1]
        own = set(vars(cls)).union(*(vars(base) for base in cls.__bases__ if not _is_of_torch(base)))
        found[_name(cls)] = (own, held)
    return found


def _stub(cls: type) -> str:
    """The source that stands in for the class: what its text sets is modelled, and may be known to be missing."""
    return (STUBS / f"{cls.__module__.replace('.', '/')}.py").read_text(encoding="utf-8")


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def written() -> Names:
    lines = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()] if TABLE.exists() else []
    return {name: (set(own.split()), set(held.split())) for name, own, held in lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__ or ""))
    parser.add_argument("--check", action="store_true")
    names, before = asked(), written()
    merged = {
        name: tuple(before.get(name, (set(), set()))[i] | names.get(name, (set(), set()))[i] for i in range(2))
        for name in {**before, **names}
    }
    text = "".join(
        f"{name}\t{' '.join(sorted(own))}\t{' '.join(sorted(held))}\n" for name, (own, held) in merged.items()
    )
    if parser.parse_args().check:
        return int(not TABLE.exists() or text != TABLE.read_text(encoding="utf-8"))
    TABLE.write_text(text, encoding="utf-8")
    print(f"torch {torch.__version__}: {len(merged)} classes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
