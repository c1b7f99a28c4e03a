"""The ways to build a class that needs arguments, in the order in which they count, each with where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from modgraph.arguments.annotated import classes_with_fields, config_classes
from modgraph.arguments.assumed import assumed_values, suggested
from modgraph.arguments.calls_in_file import calls_in_file
from modgraph.arguments.calls_in_project import calls_in_project
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.config_files import config_files
from modgraph.arguments.constructor import Constructor, constructor_of
from modgraph.arguments.named_in_files import named_in_files
from modgraph.arguments.project_files import ProjectFiles
from modgraph.arguments.read_names import assumed_object
from modgraph.arguments.search_time import SearchOverError, limited
from modgraph.graph.model import ArgumentsFrom, OtherArguments
from modgraph.prediction.calls_elsewhere import ReachedCall
from modgraph.source.modules import finder_for
from modgraph.source.targets import Built, Target, Unsaid
from modgraph.source.territory import is_installed

MAX_SHOWN = 160
"""Characters of arguments that are shown."""
MAX_OTHERS = 3
"""Further calls that are named."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A target with arguments, and where they were found."""

    target: Target
    origin: ArgumentsFrom
    arguments: Mapping[str, Any]
    """By parameter name."""

    @property
    def key(self) -> str:
        """The same of two that give the same."""
        return repr(sorted(self.arguments.items()))

    def beside(self, others: tuple[Candidate, ...]) -> ArgumentsFrom:
        """Its origin, with those calls and configurations among the others that give something else."""
        told: list[OtherArguments] = []
        for other in others:
            text = ", ".join(_differing(self.arguments, other.arguments))
            place = other.origin
            is_defaults = place.kind == "config" and all(isinstance(each, Built) for each in other.arguments.values())
            is_said = place.kind == "call" or (place.kind == "config" and not is_defaults)
            if other is not self and is_said and text and place.file and place.line:
                told.append(OtherArguments(text=_cut(text), file=place.file, line=place.line))
        return replace(self.origin, others=tuple(told[:MAX_OTHERS]))


class Candidates(tuple[Candidate, ...]):
    """Those that were found."""

    is_cut = False
    """The search took too long, and was given up: there may be more."""
    is_brief = False
    """There may be more ways, which count where none of these builds it."""


def candidates(target: Target, *, assume: bool = True, needed: bool = True, brief: bool = False) -> Candidates:
    """The ways to build the class of a target that needs arguments and gives none; () of any other target.

    Args:
        assume: values that the names of parameters suggest count too, as the last.
        needed: a class that needs none is any other; else it is the only one, and what counts is what gives it some.
        brief: where a way is found, only others that say all are looked for, with little work.
    """
    if target.called and target.line is None:  # the user says them
        return Candidates()
    if (located := _located(target)) is not None:
        of_file = candidates(located, assume=assume, needed=needed, brief=brief)
        named = Candidates(replace(each, target=_as_named(each.target, target)) for each in of_file)
        named.is_cut, named.is_brief = of_file.is_cut, of_file.is_brief
        return named
    constructor = constructor_of(target)
    if constructor is None or not constructor.parameters or needed != bool(constructor.required):
        return Candidates()
    found, is_cut = list[Candidate](), False
    try:
        with limited():
            for candidate in _all(constructor, assume=assume, brief=brief):
                found.append(candidate)
    except SearchOverError:
        is_cut = True
    made = Candidates(found)
    made.is_cut = is_cut
    made.is_brief = brief and any(each.origin.kind != "assumed" for each in found)
    return made


def _all(constructor: Constructor, *, assume: bool, brief: bool) -> Iterator[Candidate]:
    partly: list[tuple[ReachedCall, tuple[str, ...]]] = []
    n_found = 0
    for each in _without_the_same(_found(constructor, partly, assume=assume, brief=brief)):
        n_found += 1
        yield each
    if assume and not (brief and n_found):
        partly.sort(key=lambda each: _n_unsaid(*each))
        last = (_of_partly(constructor, call, names) for call, names in partly)
        yield from _without_the_same(each for each in (*last, _assumed(constructor)) if each is not None)


def _n_unsaid(call: ReachedCall, names: tuple[str, ...]) -> int:
    return sum(isinstance(value, Unsaid) for value in call.values) + len(names)


def _located(target: Target) -> Target | None:
    """A target that names a module of a project, by its file; None of one that names a file, or a module of an
    installed package."""
    source = None if target.file is not None else finder_for(target.search_path, None).source(target.module)
    if source is None or any(is_installed(str(each)) for each in source.path.parents):
        return None
    file = source.path.resolve()
    n_names = target.module.count(".") + 1 + source.is_package
    root = file.parents[n_names - 1] if n_names <= len(file.parents) else file.parent
    return replace(target, text=f"{file.relative_to(root).as_posix()}:{target.model}", file=file, root=root)


def _as_named(found: Target, target: Target) -> Target:
    """What was found of a file, for the module by whose name it was asked for."""
    return replace(found, text=f"{target.place}:{found.model}", file=None, root=None)


def _without_the_same(found: Iterable[Candidate]) -> Iterator[Candidate]:
    seen: set[str] = set()
    for each in found:
        if (key := each.key) not in seen:
            seen.add(key)
            yield each


def _found(
    constructor: Constructor, partly: list[tuple[ReachedCall, tuple[str, ...]]], *, assume: bool, brief: bool
) -> Iterator[Candidate]:
    """Those whose arguments are known; calls of which some are not go to `partly`, with what is assumed in them. A call
    that gives None for all that is needed says the least, and is the last."""
    empty: list[Candidate] = []
    if (config := _of_config(constructor)) is not None:
        yield config
    said, lacking = list[Candidate](), list[Candidate]()
    files = None if constructor.target.file is None else ProjectFiles(constructor.target.file)
    for call in _calls(constructor, files, said, beside=lambda: brief and bool(config or said)):
        filled = _with_fields(constructor, call) if assume else None
        if filled is not None or any(isinstance(value, Unsaid) for value in call.values):
            partly.append(filled or (call, ()))
            continue
        candidate = _of_call(constructor, call)
        if candidate is not None and constructor.required and _is_empty(constructor, candidate):
            empty.append(candidate)
        elif candidate is not None and not call.says_all:
            lacking.append(candidate)
        elif candidate is not None:
            said.append(candidate)
            yield candidate
    known = {name: Built(each.path) for name, each in config_classes(constructor).items()}
    for call in named_in_files(constructor, known, files) if files is not None else ():
        if any(isinstance(value, Unsaid) for value in call.values):
            partly.append((call, ()))
        elif (candidate := _of_call(constructor, call, "config")) is not None:
            yield candidate
    yield from _of_files(constructor, known)
    yield from lacking
    yield from empty


def _is_empty(constructor: Constructor, candidate: Candidate) -> bool:
    return all(candidate.arguments[each.arg] is None for each in constructor.required)


def _calls(
    constructor: Constructor, files: ProjectFiles | None, known: Sequence[Candidate], beside: Callable[[], bool]
) -> Iterator[ReachedCall]:
    """Of its file and its project; of those that call the callers only where nothing is known before."""
    lines = CommandLines()
    yield from calls_in_file(constructor, lines, beside=beside())
    if files is not None:
        yield from calls_in_project(constructor, files, lines, callers=not known, beside=beside())


def _of_config(constructor: Constructor) -> Candidate | None:
    """With the defaults of configuration classes for all that it needs."""
    classes = config_classes(constructor)
    if not classes or set(classes) != {each.arg for each in constructor.required}:
        return None
    first = next(iter(classes.values()))
    given = {name: Built(each.path) for name, each in classes.items()}
    origin = ArgumentsFrom(kind="config", text=shown_arguments(given), file=first.source.file, line=first.node.lineno)
    return Candidate(_with(constructor.target, (), given), origin, given)


def _of_files(constructor: Constructor, known: Mapping[str, Any]) -> Iterator[Candidate]:
    """With what the project's configuration files hold, and the defaults of configuration classes."""
    for each in config_files(constructor, known):
        text = ", ".join(f"{name}={each.arguments[name]!r}" for name in known)
        text = _cut(text and f"{text}, ") + ", ".join(name for name in each.arguments if name not in known)
        origin = ArgumentsFrom(kind="config", text=text, file=each.file)
        yield Candidate(_with(constructor.target, (), each.arguments), origin, each.arguments)


def _of_call(constructor: Constructor, call: ReachedCall, kind: Literal["call", "config"] = "call") -> Candidate | None:
    bound = constructor.bound(call.positional, call.keywords)
    if bound is None:
        return None
    target = _with(constructor.target, call.positional, dict(call.keywords))
    origin = ArgumentsFrom(
        kind=kind,
        text=shown_arguments(bound),
        file=call.file,
        line=call.line,
        started_by=call.started_by,
        with_files=call.with_files,
    )
    return Candidate(target, origin, bound)


def _with_fields(constructor: Constructor, call: ReachedCall) -> tuple[ReachedCall, tuple[str, ...]] | None:
    """The call, its objects made anew with values for the fields that it does not say, and the names of these; None
    where it says all, or nothing suggests one."""
    bound = constructor.bound(call.positional, call.keywords)
    if bound is None or any(name.startswith("*") for name in bound):
        return None
    given, names = dict(bound), list[str]()
    for parameter, (each, fields) in classes_with_fields(constructor).items():
        value = given.get(parameter)
        held = dict(value.attributes or ()) if isinstance(value, Built) else {}
        values = {field.arg: held.get(field.arg, Unsaid("")) for field in fields}
        lacking = [field for field in fields if isinstance(values[field.arg], Unsaid)]
        values.update({field.arg: suggested(field) for field in lacking})
        if None in [values[field.arg] for field in lacking]:
            return None
        if held and lacking:
            given[parameter] = Built(each.path, keywords=tuple(values.items()))
            names += [f"{parameter}.{field.arg}" for field in lacking]
    return (replace(call, positional=(), keywords=tuple(given.items())), tuple(names)) if names else None


def _of_partly(constructor: Constructor, call: ReachedCall, names: tuple[str, ...]) -> Candidate | None:
    """What the call says, and for what it does not say the default, or what the name suggests."""
    bound = constructor.bound(call.positional, call.keywords)
    if bound is None or any(name.startswith("*") for name in bound):
        return None
    said = {name: value for name, value in bound.items() if not isinstance(value, Unsaid)}
    values = assumed_values(constructor, frozenset(said))
    if values is None or not said:
        return None
    given = {name: said[name] if name in said else values[name] for name in bound if name in said or name in values}
    left = tuple(name for name in bound if name not in said and name not in values)
    origin = ArgumentsFrom(
        kind="assumed",
        text=shown_arguments(given),
        file=call.file,
        line=call.line,
        assumed=(*names, *(name for name in bound if name not in said)),
        left_at_default=left,
        started_by=call.started_by,
        with_files=call.with_files,
    )
    return Candidate(_with(constructor.target, (), given), origin, given)


def _assumed(constructor: Constructor) -> Candidate | None:
    configs = {name: Built(each.path) for name, each in config_classes(constructor).items()}
    wanted = [each for each in constructor.required if each.arg not in configs]
    values = {each.arg: value for each in wanted if (value := suggested(each)) is not None}
    fields = _of_fields(constructor)
    values.update({name: built for name, (built, _) in fields.items()})
    given: Mapping[str, Any] = {**configs, **values}
    names = [each for name in values for each in (fields[name][1] if name in fields else [name])]
    file = None
    if len(values) < len(wanted):  # the others may be read from a file
        found = next(config_files(constructor, given), None) if values else None
        if found is not None:
            given, file = found.arguments, found.file
        else:
            objects = _objects(constructor, [each.arg for each in wanted if each.arg not in values])
            given = {**given, **{name: value for name, (value, _) in objects.items()}}
            names += [each for _, read in objects.values() for each in read]
    if not names or any(each.arg not in given for each in constructor.required):
        return None
    given = {each.arg: given[each.arg] for each in constructor.required}
    origin = ArgumentsFrom(kind="assumed", text=shown_arguments(given), file=file, assumed=tuple(names))
    return Candidate(_with(constructor.target, (), given), origin, given)


def _objects(constructor: Constructor, parameters: Iterable[str]) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """By parameter: an object with what is read from it, where these names all suggest values, and these names."""
    found = {name: assumed_object(constructor, name) for name in parameters}
    return {name: each for name, each in found.items() if each is not None}


def _of_fields(constructor: Constructor) -> dict[str, tuple[Built, list[str]]]:
    """By parameter: an object of the class with which it is annotated, whose fields need values that their names all
    suggest, and these fields."""
    found: dict[str, tuple[Built, list[str]]] = {}
    for name, (each, fields) in classes_with_fields(constructor).items():
        values = [(field.arg, suggested(field)) for field in fields]
        if all(value is not None for _, value in values):
            found[name] = Built(each.path, keywords=tuple(values)), [f"{name}.{field}" for field, _ in values]
    return found


def _with(target: Target, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Target:
    """The target with these arguments. Its text has them where they can be written there."""
    named = target.named(target.name, positional, tuple(keywords.items()), called=True)
    bare = target.named(target.name).text
    written = not any(map(_holds_built, (*positional, *keywords.values()))) and len(named.text) <= MAX_SHOWN
    return replace(named, text=named.text if written else bare, discovered=target.discovered, doubtful=target.doubtful)


def _holds_built(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_built, (*value, *value.values())))
    return isinstance(value, Built) or (isinstance(value, list | tuple | set) and any(map(_holds_built, value)))


def shown_arguments(given: Mapping[str, Any]) -> str:
    """Short: "width=4, config=GPTConfig(n_layer=4, ...)"."""
    return _cut(", ".join(f"{name}={value!r}" for name, value in given.items()))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """What the second has that the first has not."""
    for name, value in other.items():
        mine = one.get(name)
        if isinstance(value, Built) and isinstance(mine, Built) and mine.attributes and value.attributes:
            before = dict(mine.attributes)
            yield from (f"{name}.{key}={each!r}" for key, each in value.attributes if before.get(key) != each)
        elif value != mine or type(value) is not type(mine):
            yield f"{name}={value!r}"
