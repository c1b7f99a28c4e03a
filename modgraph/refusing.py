"""What the Python interface does not take, and why: said before anything is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from modgraph.errors import ConfigError, InputError, TargetError


def refuse(what: str, names: Sequence[str] = (), **values: Any) -> None:
    """Raises ConfigError where options were given that `what` makes no use of."""
    given = [*names, *(name for name, value in values.items() if value)]
    if given:
        are = "is" if len(given) == 1 else "are"
        raise ConfigError(f"{', '.join(given)} {are} of no use with {what}", hint="leave one of them out")


def refuse_for_a_live_model(**values: Any) -> None:
    """Raises ConfigError for what only a process of its own can be given."""
    given = [name for name, value in values.items() if value not in (None, ())]
    refuse("a live model, which runs in this process: give a target such as 'model.py:Net'", given)


def target_text(target: object) -> str:
    """The text of a target. Raises TargetError where it is none: a class, a live model."""
    if isinstance(target, str | os.PathLike):
        return os.fspath(target)
    what = f"the {type(target).__name__} {getattr(target, '__name__', '')}".rstrip()
    raise TargetError(
        f"a target is a text such as 'model.py:Net', and {what} is none",
        hint="a class is named by its file or import path; a live model is for modgraph.analyze(model)",
    )


def require_literals(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises TargetError for an argument that cannot be written down, as a module or an object of the user's."""
    from modgraph.source.wire import not_literal

    named = [*((f"argument {place}", value) for place, value in enumerate(args, 1)), *kwargs.items()]
    for name, value in named:
        why = not_literal(value)
        if why is not None:
            raise TargetError(
                f"{name} cannot be predicted with: {why}",
                hint='arguments are literals, or Ref("torch.nn.ReLU") for a class or function; for anything richer, '
                "predict a factory function, as file.py:build",
            )


def require_module(model: object) -> None:
    """Raises InputError where a live model is none."""
    torch = sys.modules.get("torch")  # where it was never imported, there is no module of its
    if torch is None or not isinstance(model, torch.nn.Module):
        raise InputError(
            f"a live model is a torch.nn.Module, not {type(model).__name__}",
            hint="a class or function is analyzed by its target: modgraph.analyze('model.py:Net')",
        )
