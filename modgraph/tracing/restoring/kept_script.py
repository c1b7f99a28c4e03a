"""What a run may change of a ScriptModule: it keeps tensors and attributes in C++, where `vars` shows none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

_ATTRIBUTE = re.compile(r'prim::(?:Get|Set)Attr\[name="(\w+)"\]')
_IN_PLACE = re.compile(r"\b\w+::(?:\w+_|__i\w+|set_data|_set_item)\(|\bout=")
"""An operator that writes into one of its arguments, in the text of a graph."""
_PLAIN = (bool, int, float, str, type(None))


class ScriptState:
    """What the outermost of a nest of ScriptModules holds, with those below it."""

    def __init__(self, module: Any) -> None:
        self.modules: list[Any] = list(module.modules())
        self._text = _text(module)
        self._names = list(dict.fromkeys(_ATTRIBUTE.findall(self._text or "")))
        self._writes = self._text is None or _IN_PLACE.search(self._text) is not None

    def tensors(self, module: Any) -> Iterator[tuple[str, torch.Tensor, bool]]:
        """The parameters, buffers and tensor attributes of one of them, by name; and whether the scripted code, which
        no mode sees, may write into them."""
        for name, parameter in module.named_parameters(recurse=False):
            yield name, parameter, self._writes
        for name, buffer in module.named_buffers(recurse=False):
            yield name, buffer, True
        for name, value in self._attributes(module):
            if isinstance(value, torch.Tensor):
                yield name, value, True

    def plain(self, module: Any) -> dict[str, Any]:
        """The numbers, texts and containers of such that the scripted code reads or writes, by name."""
        return {name: value for name, value in self._attributes(module) if _is_plain(value)}

    def _attributes(self, module: Any) -> Iterator[tuple[str, Any]]:
        known = {name for name, _ in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))}
        for name in self._names:
            if name not in known and name != "training" and module._c.hasattr(name):
                yield name, module._c.getattr(name)


def put_back_slot(module: Any, name: str, before: torch.Tensor) -> None:
    """Let `name` hold the tensor that it held."""
    if module._c.getattr(name) is not before:
        module._c.setattr(name, before)


def put_back_attributes(module: Any, before: dict[str, Any]) -> None:
    """Set what is not as it was."""
    for name, value in before.items():
        if module._c.getattr(name) != value:
            module._c.setattr(name, value)


def _text(module: Any) -> str | None:
    """The graphs of its methods, with those of all that they call; None where they cannot be had."""
    try:
        return "".join(str(module._c._get_method(name).inlined_graph) for name in module._c._method_names())
    except (RuntimeError, AttributeError):
        return None


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values())))
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
