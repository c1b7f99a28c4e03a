"""Packages that are not installed, and that a model's code imports without needing them for its architecture.

Research code imports what its plots, its logger and its dataset need beside the model. Where the import of a model
fails for want of such a package, it is imported anew, in a process of its own, with a placeholder for each that is
missing: everything of it can be named, and what is used raises `ModuleNotFoundError`. A statement that can do without
(`try: import x`) gets none. What the code decides by looking at a placeholder nobody knows, so such a graph is never
complete.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from modgraph.doors.reading import read
from modgraph.graph.events import ErrorEvent
from modgraph.source.files import decode
from modgraph.source.quiet import python_tree
from modgraph.tracing.basics.origins import is_installed, is_own
from modgraph.tracing.loading.own_modules import told_of

MAX_PACKAGES = 16
"""Packages that are stood in for, of one model."""
_FROZEN = "<frozen importlib"
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_TRIES = (ast.Try, ast.With, getattr(ast, "TryStar", ast.Try))


class Absent:
    """Something of a package that is not installed: it can be named, and nothing else."""

    __slots__ = ("_absent_name",)

    def __init__(self, name: str) -> None:
        self._absent_name = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__") or name == "_absent_name" or _by_modgraph():
            raise AttributeError(name)
        return _absent(f"{self._absent_name}.{name}")

    def __getitem__(self, key: object) -> Absent:
        """As annotations have it: `Float[Tensor, "batch width"]`."""
        return _absent(f"{self._absent_name}[...]")

    def __or__(self, other: object) -> Absent:
        return _absent(f"{self._absent_name} | ...")

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._absent_name}, which is not installed>"

    def _refused(self, *_given: object, **_named: object) -> NoReturn:
        package = self._absent_name.partition(".")[0]
        raise ModuleNotFoundError(f"{self._absent_name} is used, and {package} is not installed", name=package)

    __call__ = __mro_entries__ = __bool__ = __len__ = __iter__ = __contains__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refused
    __and__ = __rand__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __neg__ = __pos__ = __invert__ = _refused
    __int__ = __float__ = __index__ = __enter__ = __exit__ = __setitem__ = __delitem__ = __await__ = _refused


def _by_modgraph() -> bool:
    """What reads annotations of the model, to guess inputs say, finds nothing in one that is not there."""
    return sys._getframe(2).f_code.co_filename.startswith(_OWN)


@lru_cache(maxsize=4_096)
def _absent(name: str) -> Absent:
    return Absent(name)


class _AbsentModule(types.ModuleType):
    """The package, or a module of it."""

    def __getattr__(self, name: str) -> Absent:
        if name == "__all__":  # nobody knows what `from x import *` is to bring
            package = self.__name__.partition(".")[0]
            raise ModuleNotFoundError(f"all of {self.__name__} is wanted, and {package} is not installed", name=package)
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} is not installed: nobody knows its {name}")
        return _absent(f"{self.__name__}.{name}")


class Placeholders:
    """Inside, statements that import a package that is not installed get a placeholder, unless they can do without.

    Nothing is put into `sys.modules`, where others would take it for the package.

    Args:
        own: the package of the model itself, of which nothing is stood in for.
        root: the directory from which its project is imported.
    """

    def __init__(self, own: str, root: Path | None) -> None:
        self._own, self._root = own, root
        self._modules: dict[str, _AbsentModule] = {}
        self._undo = contextlib.ExitStack()
        self._is_built = False

    def built(self) -> None:
        """The model is built: installed packages, as the exporters, get no placeholders from here on."""
        self._is_built = True

    @property
    def packages(self) -> tuple[str, ...]:
        """Those that are stood in for, in the order of their imports."""
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self._modules))

    def __enter__(self) -> Placeholders:
        real = builtins.__import__

        def import_(
            name: str,
            globals: Mapping[str, object] | None = None,
            locals: Mapping[str, object] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> types.ModuleType:
            try:
                return real(name, globals, locals, fromlist, level)
            except ModuleNotFoundError as error:
                package = self.wanted(error)
                if level or package != name.partition(".")[0] or not self._stands_in(package):
                    raise
            return self._module(name if fromlist else name.partition(".")[0])

        builtins.__import__ = import_
        self._undo.callback(setattr, builtins, "__import__", real)
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def doubts(self) -> Iterator[ErrorEvent]:
        """What makes the graph less than complete."""
        if self._modules:
            are, them = ("is", "it") if len(self.packages) == 1 else ("are", "each")
            yield ErrorEvent(
                message=f"{', '.join(self.packages)} {are} not installed, and a placeholder stands for {them}: where"
                " the code looks at it, the model may be another"
            )

    def wanted(self, error: BaseException | None) -> str | None:
        """The package that is not installed and for want of which an import ended; None where something else kept it
        from that, or the package is one of the project itself."""
        package = _missing_package(error)
        is_own = package is not None and (package == self._own or told_of(package, self._root) is not None)
        return None if is_own else package

    def _stands_in(self, package: str) -> bool:
        is_known = package in self.packages or len(self.packages) < MAX_PACKAGES
        return is_known and not (self._is_built and _asked_by_installed()) and needed_by_statements()

    def _module(self, name: str) -> _AbsentModule:
        return self._modules.setdefault(name, _AbsentModule(name))


def _asked_by_installed() -> bool:
    """A file of an installed package, or of ours, imports it."""
    frame: types.FrameType | None = sys._getframe(3)
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(_FROZEN)):
        frame = frame.f_back
    return frame is not None and (is_own(frame.f_code.co_filename) or is_installed(frame.f_code.co_filename))


def needed_by_statements() -> bool:
    """Whether every statement of the imports that are under way needs what it imports: none is within a `try`."""
    frame: types.FrameType | None = sys._getframe(1)
    asking = {__file__, frame.f_code.co_filename if frame is not None else __file__}
    while frame is not None and (frame.f_code.co_filename in asking or frame.f_code.co_filename.startswith(_FROZEN)):
        frame = frame.f_back
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN) and file != __file__:
            return True
        if file != __file__ and not file.startswith(_FROZEN) and _is_guarded(file, frame.f_lineno):
            return False
        frame = frame.f_back
    return True


def _is_guarded(file: str, line: int) -> bool:
    """Whether a line stands where an exception may be handled; of a text that cannot be read nobody knows."""
    try:
        tree = python_tree(decode(read(file)))
    except (OSError, ValueError, LookupError, SyntaxError, RecursionError, MemoryError):
        return True
    return any(
        node.body[0].lineno <= line <= (node.body[-1].end_lineno or node.body[-1].lineno)
        for node in ast.walk(tree)
        if isinstance(node, _TRIES)
    )


def _missing_package(error: BaseException | None) -> str | None:
    """The package for whose absence an import ended; None where it did not."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    return package if package not in sys.modules else None
