"""What the project has changed of Python and of packages, where a rule counts on how these are made."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from modgraph.tracing.loading.project_texts import is_of_project, is_project_file

_HOMES = (
    *("argparse", "codecs", "csv", "datetime", "fnmatch", "genericpath", "glob", "io", "json", "logging", "os"),
    *("pathlib", "posixpath", "ntpath", "time", "typing", "yaml"),
    *("torch", "torch.cuda", "torch.serialization", "torch.utils.cpp_extension", "torch.utils.data.dataset"),
    *("torch.autograd.grad_mode", "torch.utils._contextlib", "torch.nn.modules.module", "numpy.lib"),
)
_WITH_PARTS = ("json", "logging", "pathlib", "yaml", "numpy.lib")


@dataclass(frozen=True, slots=True)
class Patch:
    """A function of the project stands there."""

    module: str
    name: str
    """With its class."""

    @property
    def in_class(self) -> bool:
        """Whoever has an object of the class may run it."""
        return "." in self.name


class Patches:
    """What was found, once."""

    def __init__(self) -> None:
        self._found: list[Patch] | None = None
        self._files: dict[str, bool] = {}

    def of_classes(self) -> Patch | None:
        return next((each for each in self._all() if each.in_class), None)

    def below(self, function: Any) -> bool:
        """A function may call what was changed, as both are of one package."""
        root = (getattr(function, "__module__", None) or "").partition(".")[0]
        root = {"posixpath": "os", "ntpath": "os", "genericpath": "os"}.get(root, root)
        own = {"os": ("os", "posixpath", "ntpath", "genericpath")}.get(root, (root,))
        return any(each.module.partition(".")[0] in own and each.module != "torch" for each in self._all())

    def _all(self) -> Iterable[Patch]:
        if self._found is None:
            self._found = [*self._search()]
        return self._found

    def _search(self) -> Iterator[Patch]:
        for home, module in list(sys.modules.items()):
            is_read = home in _HOMES or home.startswith(tuple(f"{each}." for each in _WITH_PARTS))
            if not is_read or not isinstance(module, types.ModuleType):
                continue
            for name, value in list(vars(module).items()):
                if self._is_of_project(value):
                    yield Patch(home, name)
                elif isinstance(value, type) and str(value.__module__).partition(".")[0] == home.partition(".")[0]:
                    for part, held in list(vars(value).items()):
                        if self._is_of_project(held):
                            yield Patch(home, f"{name}.{part}")

    def _is_of_project(self, value: Any) -> bool:
        match value:
            case types.FunctionType():
                file = value.__code__.co_filename
                if file not in self._files:
                    self._files[file] = is_project_file(file)
                return self._files[file]
            case classmethod() | staticmethod() | types.MethodType():
                return self._is_of_project(value.__func__)
            case property():
                return any(self._is_of_project(each) for each in (value.fget, value.fset, value.fdel))
            case functools.partial():
                return self._is_of_project(value.func)
        return not isinstance(value, type | types.ModuleType) and is_of_project(type(value))
