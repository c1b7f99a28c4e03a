"""Problems that have one cause become one: `told_once`.

What a missing argument, a package that is not there or a variable of the environment leaves open is open in many
places. The cause is told once, with these places; a place that alone has its cause is told with it, as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from modgraph.graph.model import OpenPlace, Problem, SourceLocation
from modgraph.graph.paths import common_path
from modgraph.source.targets import NOT_GIVEN

_MAX_NAMED = 8
"""Arguments that are named."""


@dataclass(frozen=True)
class Told:
    """A problem of one place, and what is behind it."""

    problem: Problem
    cause: str = ""
    """What its message ends with; empty where nothing is behind it."""
    where: SourceLocation | None = None
    """The place of the cause."""


def told_once(found: Iterable[Told], paths: Container[str]) -> list[Problem]:
    """The problems, those of one cause joined, where the first of them stood; `paths` are those of all modules."""
    by_cause: dict[object, list[Told]] = {}
    for number, each in enumerate(found):
        joined = bool(each.cause) and each.problem.message.endswith(f": {each.cause}")
        by_cause.setdefault(_kind(each.cause) if joined else number, []).append(each)
    return [each[0].problem if len(each) == 1 else _joined(each, paths) for each in by_cause.values()]


_ARGUMENT = re.compile(rf"argument ('\w+') is ({NOT_GIVEN} .*)", re.DOTALL)


def _kind(cause: str) -> str:
    """What is the same of causes that are one: all arguments that a call lacks are."""
    argument = _ARGUMENT.fullmatch(cause)
    return cause if argument is None else argument[2]


def _said(causes: Sequence[str]) -> str:
    """One cause, as it stands alone."""
    arguments = [argument for cause in causes if (argument := _ARGUMENT.fullmatch(cause)) is not None]
    if len(arguments) > 1:
        names = [argument[1] for argument in arguments]
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        return f"arguments {', '.join(names[:_MAX_NAMED])}{more} are {arguments[0][2]}"
    return causes[0]


def _joined(found: Sequence[Told], paths: Container[str]) -> Problem:
    places = tuple(
        OpenPlace(
            message=problem.message.removesuffix(f": {cause}"),
            module=problem.module,
            file=problem.file,
            line=problem.line,
        )
        for problem, cause in ((each.problem, each.cause) for each in found)
    )
    where = next((each.where for each in found if each.where is not None), None)
    modules = [place.module for place in places if place.module is not None]
    return Problem(
        stage=found[0].problem.stage,
        message=_said(list(dict.fromkeys(each.cause for each in found))),
        module=common_path(modules, paths) if len(modules) == len(places) else None,
        file=places[0].file if where is None else where.file,
        line=places[0].line if where is None else where.line,
        places=places,
    )
