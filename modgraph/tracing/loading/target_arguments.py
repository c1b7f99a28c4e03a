"""The arguments of a target as live objects: what an import path leads to, and what a class that was found makes."""

from __future__ import annotations

import importlib
from functools import reduce
from typing import Any

from modgraph.errors import TargetError
from modgraph.source.targets import Built, Ref, Unsaid


def resolve(argument: Any) -> Any:
    """`argument` with every `Ref` in it replaced by what it names, and every `Built` by the object.

    Raises:
        TargetError: nothing has that import path.
    """
    if isinstance(argument, Ref):
        return _import_object(argument.name)
    if isinstance(argument, Built):
        return _built(argument)
    if isinstance(argument, list | tuple | set | frozenset):
        return type(argument)(resolve(item) for item in argument)
    if isinstance(argument, dict):
        return {resolve(key): resolve(value) for key, value in argument.items()}
    return argument


def _import_object(name: str) -> Any:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                found = getattr(found, part)
        except AttributeError:
            break
        return found
    raise TargetError(f"the argument {name} cannot be found", hint="write a class as its import path: torch.nn.ReLU")


class UnsaidError(Exception):
    """The model asks for an attribute that the source which its arguments were found in does not say."""

    __module__ = "builtins"  # where it is shown to the user, whose code names no module of ours


def _built(built: Built) -> Any:
    """The object: of a call, or one whose attributes are set as the call had left them where it was found."""
    made_by = _import_object(built.name)
    if built.attributes is None:
        keywords = {name: resolve(value) for name, value in built.keywords}
        called = made_by(*map(resolve, built.positional), **keywords)
        for path, value in built.later:
            *names, last = path.split(".")
            setattr(reduce(getattr, names, called), last, resolve(value))
        return called
    unsaid = {name: value for name, value in built.attributes if isinstance(value, Unsaid)}
    kind: Any = _refusing(made_by, unsaid) if unsaid else made_by
    made: Any = kind.__new__(kind)
    if isinstance(made, dict):
        dict.update(made, map(resolve, built.positional))
    held = {name: resolve(value) for name, value in built.attributes if name not in unsaid}
    if hasattr(made, "__dict__"):
        made.__dict__.update(held)
    else:
        for name, value in held.items():
            object.__setattr__(made, name, value)
    return made


def _refusing(kind: type, unsaid: dict[str, Unsaid]) -> type:
    """The class, with attributes that raise where they are read: to lack them would mean something else."""

    def refuse(name: str, reason: str) -> property:
        def read(_: object) -> Any:
            raise UnsaidError(f"the value of {name!r} is not known where the arguments were found: {reason}")

        return property(read)

    refusing = {name: refuse(name, value.reason) for name, value in unsaid.items()}
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), {**names, **refusing})
