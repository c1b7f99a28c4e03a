"""Packages that are not installed, and that a model's module imports without needing anything of them to be built.

Research code imports what its plots, its logger and its dataset need beside the model. Such a package is stood in for
by a module of which everything can be named and nothing used: a call, a base class or a comparison raises
`ModuleNotFoundError`. What asks whether a package is there (`try: import x`, `find_spec("x")`) is told that it is not.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import os
import sys
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NoReturn

from modgraph.doors.reading import read
from modgraph.source.files import decode

MAX_PACKAGES = 16
"""Packages that are stood in for, of one model."""
_FROZEN = "<frozen importlib"
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_TYPING = (typing.__file__, "<frozen")


class Absent:
    """Something of a package that is not installed: it can be named, and nothing else."""

    __slots__ = ("_absent_name",)

    def __init__(self, name: str) -> None:
        self._absent_name = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__") or name == "_absent_name":
            raise AttributeError(name)
        if _is_asked(sys._getframe(1)):
            self._refused()
        return _absent(f"{self._absent_name}.{name}")

    def __getitem__(self, key: object) -> Absent:
        """As annotations have it: `Float[Tensor, "batch width"]`."""
        return _absent(f"{self._absent_name}[...]")

    def __or__(self, other: object) -> Absent:
        return _absent(f"{self._absent_name} | ...")

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        """Nothing is made by a package that is not there."""
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        """What reads annotations may compare them; the model may not, as nobody knows."""
        if other is self:
            return True
        if not sys._getframe(1).f_code.co_filename.startswith((_OWN, *_TYPING)):
            self._refused()
        return False

    def __hash__(self) -> int:
        return id(self)

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


def _is_asked(frame: types.FrameType) -> bool:
    """A function asks for the attribute, as `hasattr` does: what depends on the answer nobody knows."""
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and dis.opname[code[frame.f_lasti]].startswith(("CALL", "PRECALL"))


@lru_cache(maxsize=4_096)
def _absent(name: str) -> Absent:
    return Absent(name)


class _AbsentModule(types.ModuleType):
    """The package, or a module of it."""

    def __getattr__(self, name: str) -> Absent:
        if name == "__all__":  # nobody knows what `from x import *` is to bring
            package = self.__name__.partition(".")[0]
            raise ModuleNotFoundError(
                f"all of {self.__name__} is imported, and {package} is not installed", name=package
            )
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} is not installed: nobody knows its {name}")
        if _is_asked(sys._getframe(1)):
            package = self.__name__.partition(".")[0]
            raise ModuleNotFoundError(f"{package} is asked for {name}, and is not installed", name=package)
        return _absent(f"{self.__name__}.{name}")


@contextlib.contextmanager
def standing_in(packages: Collection[str]) -> Iterator[None]:
    """While it lasts, statements that import these packages get a placeholder, unless they can do without.

    Nothing is put into `sys.modules`, where others would take it for the package.
    """
    real = builtins.__import__

    def import_(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        package = name.partition(".")[0]
        if level == 0 and package in packages and package not in sys.modules and _needed_by_statements():
            return _AbsentModule(name if fromlist else package)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = import_
    try:
        yield
    finally:
        builtins.__import__ = real


def _needed_by_statements() -> bool:
    """Whether every statement of the imports that are under way needs what it imports: none is within a `try`."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OWN) and file != __file__:
            return True
        if file != __file__ and not file.startswith(_FROZEN) and _is_guarded(file, frame.f_lineno):
            return False
        frame = frame.f_back
    return True


def _is_guarded(file: str, line: int) -> bool:
    """Whether a line stands where an exception is handled; of a text that cannot be read nobody knows."""
    try:
        tree = ast.parse(decode(read(file)))
    except (OSError, ValueError, LookupError, SyntaxError, RecursionError, MemoryError):
        return True
    return any(
        first <= line <= last
        for node in ast.walk(tree)
        if isinstance(node, ast.Try | ast.With)
        for first, last in [_guarded_lines(node)]
    )


def _guarded_lines(node: ast.Try | ast.With) -> tuple[int, int]:
    """The first and the last line of a body whose exceptions somebody handles; (1, 0) where nobody does."""
    if isinstance(node, ast.Try) and not node.handlers:
        return 1, 0
    return node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno


def missing_package(error: BaseException) -> str | None:
    """The package for whose absence an import ended; None where it did not."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    return package if package not in sys.modules else None
