"""Whether what a target names takes the arguments that stand in it; an error with the signature where it does not."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.errors import TargetError
from modgraph.names import nearest
from modgraph.prediction.domain.definitions import Parameter
from modgraph.prediction.domain.values import FunctionValue
from modgraph.source.code_text import code_text
from modgraph.source.targets import Target

_STARS = {"varargs": "*", "varkw": "**"}
_MAX_NAMED = 12


def require_fitting(function: FunctionValue, n_bound: int, target: Target) -> None:
    """Nothing, if the arguments of `target` fit, or it has none: what it needs is predicted as unknown then.

    Args:
        n_bound: first parameters that are given already: 1 for the `self` of an `__init__`.

    Raises:
        TargetError: there are too many, one that there is no parameter for, or too few.
    """
    parameters = function.definition.parameters[n_bound:]
    kinds = {each.kind for each in parameters}
    places = [each.name for each in parameters if each.kind in ("positional", "normal")]
    named = [each.name for each in parameters if each.kind in ("normal", "keyword")]
    given = [name for name, _ in target.keywords]
    other = next((name for name in given if name not in named), None)
    twice = next((name for name in given if name in places[: len(target.arguments)]), None)
    if other is not None and "varkw" not in kinds:
        near = nearest(other, [name for name in named if name not in given])
        known = f"its arguments are {', '.join(named[:_MAX_NAMED])}" if named else "it takes no argument by name"
        hint = f"did you mean {near[0]}=?" if near else known
        raise _misfit(target, parameters, f"got an unexpected keyword argument {other!r}", hint)
    if len(target.arguments) > len(places) and "varargs" not in kinds:
        takes = str(len(places)) if places else "none"
        n_given = len(target.arguments)
        given_too = f"{n_given} {'is' if n_given == 1 else 'are'} given"
        why = f"too many positional arguments: it takes {takes}, and {given_too}"
        raise _misfit(target, parameters, why, None)
    if twice in named:
        raise _misfit(target, parameters, f"multiple values for argument {twice!r}", None)
    missing = [repr(name) for name in _missing(parameters, len(target.arguments), given)]
    if missing and (target.arguments or target.keywords):
        raise _misfit(target, parameters, f"missing {', '.join(missing)}", None)


def _missing(parameters: Sequence[Parameter], n_places: int, given: Sequence[str]) -> list[str]:
    """The parameters without a default that nothing is given for."""
    places = [each for each in parameters if each.kind in ("positional", "normal")]
    left = [*places[n_places:], *(each for each in parameters if each.kind == "keyword")]
    return [
        each.name for each in left if each.default is None and (each.kind == "positional" or each.name not in given)
    ]


def _misfit(target: Target, parameters: Sequence[Parameter], why: str, hint: str | None) -> TargetError:
    shown = f"{target.name}({signature_text(parameters)})"
    return TargetError(f"{shown} in {target.place} cannot be called like that: {why}", file=target.place, hint=hint)


def signature_text(parameters: Sequence[Parameter]) -> str:
    """The parameters as they are written: "d: int, *, depth=2"."""
    written: list[str] = []
    kinds = [each.kind for each in parameters]
    for place, parameter in enumerate(parameters):
        if parameter.kind != "positional" and "positional" in kinds[place - 1 : place]:
            written.append("/")
        if parameter.kind == "keyword" and "varargs" not in kinds and "keyword" not in kinds[:place]:
            written.append("*")
        written.append(_written(parameter))
    return ", ".join([*written, "/"] if kinds[-1:] == ["positional"] else written)


def _written(parameter: Parameter) -> str:
    text = _STARS.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not None:
        text += f": {code_text(parameter.annotation)}"
    if parameter.default is not None:
        text += (
            f" = {code_text(parameter.default)}"
            if parameter.annotation is not None
            else f"={code_text(parameter.default)}"
        )
    return text
