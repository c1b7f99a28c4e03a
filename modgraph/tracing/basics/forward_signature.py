"""The parameters of a model's `forward`: which are required, and how values reach them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import nn

from modgraph.errors import RAISED_BY_OTHERS, InputError
from modgraph.tracing.basics.sharding import unwrapped

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def has_forward(model: nn.Module) -> bool:
    """Whether there is something to run: a class that defines none has the one of `nn.Module`, which raises."""
    model = unwrapped(model)
    # Not by `getattr`: of a script, `forward` is a descriptor that a class has no value of.
    own = "forward" in vars(model) or inspect.getattr_static(type(model), "forward") is not nn.Module.forward
    return own or type(model).__call__ is not nn.Module.__call__


@dataclass(frozen=True)
class ForwardSignature:
    """The signature of `forward`, without `self`."""

    parameters: Mapping[str, inspect.Parameter]
    forward: Callable[..., Any] | None
    """None where it cannot be inspected (compiled code)."""

    @property
    def known(self) -> bool:
        """Whether `forward` can be inspected."""
        return self.forward is not None

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """Annotations, evaluated where that is possible."""
        if self.forward is None:
            return {}
        try:
            return typing.get_type_hints(self.forward)
        except RAISED_BY_OTHERS:
            # An annotation may name what only a type checker imports.
            return {name: p.annotation for name, p in self.parameters.items() if p.annotation is not p.empty}

    @classmethod
    def of(cls, model: nn.Module) -> ForwardSignature:
        """The signature of `model.forward`; of anything at all where it cannot be read."""
        model = unwrapped(model)
        try:
            signature = inspect.signature(model.forward)
        except (TypeError, ValueError):
            anything = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
            return cls({"args": anything}, None)
        return cls(dict(signature.parameters), model.forward)

    @property
    def named(self) -> list[str]:
        """Parameters that can be given by name, in order."""
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [name for name, parameter in self.parameters.items() if parameter.kind not in variadic]

    @property
    def required(self) -> list[str]:
        """Parameters without a default, in order."""
        return [
            name
            for name, parameter in self.parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]

    @property
    def optional(self) -> list[str]:
        """Parameters with a default, in order."""
        return [name for name, parameter in self.parameters.items() if parameter.default is not parameter.empty]

    @property
    def positional(self) -> list[str]:
        """Parameters that can be given by position, in order."""
        return [name for name, parameter in self.parameters.items() if parameter.kind in _POSITIONAL]

    def variadic(self, kind: Any) -> str | None:
        """Name of the parameter `*args` or `**kwargs`, by its kind."""
        return next((name for name, parameter in self.parameters.items() if parameter.kind is kind), None)

    @property
    def takes_more_positional(self) -> bool:
        """There is `*args`."""
        return self.variadic(inspect.Parameter.VAR_POSITIONAL) is not None

    @property
    def takes_any_keyword(self) -> bool:
        """There is `**kwargs`."""
        return self.variadic(inspect.Parameter.VAR_KEYWORD) is not None

    def split(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Values by parameter name as positional and keyword arguments; "args[0]" is an item of `*args`."""
        remaining = dict(values)
        args = []
        for name in self.positional:
            if name not in remaining:
                break
            args.append(remaining.pop(name))
        extra = [name for name in remaining if "[" in name]
        args += [remaining.pop(name) for name in extra]
        return tuple(args), remaining

    def require(self, args: Sequence[Any], kwargs: Mapping[str, Any], model: nn.Module) -> None:
        """Nothing, where `forward` takes these arguments, or where something else may stand before it.

        Raises:
            InputError: it does not: says why, and what it takes.
        """
        hooks = vars(model).get("_forward_pre_hooks")
        if not self.known or hooks or type(model).__call__ is not nn.Module.__call__:
            return
        try:
            inspect.Signature(list(self.parameters.values())).bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"these arguments do not fit {self.text()}: {error}") from error

    def text(self) -> str:
        """ "forward(x, mask=None)": names and defaults."""
        if not self.known:
            return "forward(...)"
        bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in self.parameters.values()]
        return f"forward{inspect.Signature(bare)}"
