"""The root models of a file: what `modgraph analyze model.py` is about when it names nothing in it.

They are the `nn.Module` classes that no other class of the file uses as a part, and the module-level instances, which
stand for the classes they are built of. A class that cannot be built without arguments is built as the file itself does
it: by a factory function that needs none, or by a call whose arguments the text says.
"""

from __future__ import annotations

import ast
import contextlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace

from modgraph.errors import TargetError
from modgraph.names import listed
from modgraph.source.bases import BaseResolver, LostBase
from modgraph.source.integers import parse
from modgraph.source.main_models import set_aside
from modgraph.source.model_files import ModelFile
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule, finder_for
from modgraph.source.syntax import callable_bare
from modgraph.source.target_modules import module_of, not_there
from modgraph.source.targets import Target, references_in

_MAX_NAMED = 6
"""Names listed in a message."""


def models_of(target: Target, *, bare: bool = True) -> tuple[Target, ...]:
    """The models that a target stands for: itself, or the root models of the file or module it names.

    Args:
        bare: there are no arguments but its own; so a class that needs some is built as its file does it.

    Raises:
        TargetError: its file does not exist, or has no model in it.
    """
    if not target.name:
        return find_roots(target)
    return (as_its_file_builds_it(target) if bare else target,)


def find_roots(target: Target) -> tuple[Target, ...]:
    """The models of the file or module that `target` names, in the order of the file.

    Raises:
        TargetError: it does not exist, does not parse, or has no model in it.
    """
    finder = finder_for(target.search_path, target.home)
    file = model_file(target, finder, BaseResolver(finder))
    return roots_in(file, target, finder, main_only=True)


def model_file(target: Target, finder: ModuleFinder, resolver: BaseResolver) -> ModelFile:
    """The file that a target names, parsed.

    Raises:
        TargetError: it does not exist, or does not parse.
    """
    module = _source_of(target, finder)
    tree = _tree_of(module)
    module.index  # noqa: B018  # raises the error with its place
    return ModelFile(tree, module, resolver)


def roots_in(file: ModelFile, target: Target, finder: ModuleFinder, *, main_only: bool = False) -> tuple[Target, ...]:
    """`find_roots` of a file that is parsed already.

    Args:
        main_only: losses, and what else the file is not about, are left out where a model stands beside them; the
            first root names them.
    """
    instances = file.instances()
    stood_for = file.built_by(instances)
    classes = [name for name in file.root_classes() if name not in stood_for]
    whole = file.whole(instances)
    every = {**dict.fromkeys(classes), **{name: instances[name] for name in whole}}
    aside = set_aside(file, every) if main_only else {}
    roots = [_buildable(target, name, file) for name in classes if name not in aside]
    as_arguments = {value for root in roots for value in references_in((root.arguments, root.keywords))}
    roots = [root for root in roots if f"{root.module}.{root.name}" not in as_arguments]
    roots += [target.named(name) for name in whole if name not in aside]
    if not roots:
        roots = [target.named(name) for name, function in file.functions.items() if callable_bare(function)
                 and file.returns_module(function)]  # fmt: skip
    if not any(file.is_buildable(root) for root in roots):
        roots += [replace(target.named(name), doubtful=True) for name in file.open_instances()]
    if not roots:
        roots = [_possible(target, name, lost) for name, lost in file.open_classes().items()]
    if not roots:
        raise TargetError(
            f"{target.place} has no nn.Module", file=target.place, hint=_what_is_there(file, finder, target)
        )
    roots = [replace(root, discovered=True) for root in roots]
    return (replace(roots[0], beside=tuple(aside)), *roots[1:])


def _possible(target: Target, name: str, lost: LostBase) -> Target:
    """A class that may be an `nn.Module`, as nothing is known of a base."""
    of = f"{name}'s base" if lost.of == name else f"the base of {lost.of}, from which {name} is derived,"
    note = f"{lost.base} ({lost.file}:{lost.line}), {of} could not be found; {name} is taken for an nn.Module"
    return replace(target.named(name), doubtful=True, note=note)


def as_its_file_builds_it(target: Target) -> Target:
    """The target; of a class that needs arguments, named without any, the way in which its file builds it."""
    if target.called:
        return target
    found = file_of(target)
    return target if found is None else _buildable(target, target.name, found[0])


def file_of(target: Target) -> tuple[ModelFile, ModuleFinder] | None:
    """The parsed file in which a target's class stands, and what finds its imports; None where it is no class of it."""
    finder = finder_for(target.search_path, target.home)
    module = find_source(target, finder)
    try:
        definition = module.index.definitions.get(target.name) if module is not None else None
    except SourceError:  # said where it is predicted; there, the stack is deeper too
        return None
    if module is None or definition is None or definition.kind != "class":
        return None
    file = _kept_file(module, finder)
    return (file, finder) if target.name in file.classes else None


_MAX_KEPT = 4
_kept: dict[tuple[object, ...], tuple[ModelFile, ModuleFinder, dict[str, float]]] = {}
"""By where they lie and where names are looked up: the files of the latest targets, the finder that read what they
import, and when the directories that it looked in were changed."""


def _kept_file(module: SourceModule, finder: ModuleFinder) -> ModelFile:
    """The file of a module, parsed; as it was parsed for the target before, where nothing has changed since that it
    depends on."""
    key = (module.name, str(module.path), module.file, finder.place)
    found = _kept.pop(key, None)
    if found is not None and found[1].reads_the_same() and found[2] == _changes(found[1].looked_in):
        file, finder, _ = found
        file.begin()
    else:
        file = ModelFile(_tree_of(module), module, BaseResolver(finder))
    _kept[key] = (file, finder, _changes(finder.looked_in))
    while len(_kept) > _MAX_KEPT:
        del _kept[next(iter(_kept))]
    return file


def _changes(directories: Sequence[str]) -> dict[str, float]:
    """When each was last changed; without those that are not there."""
    found: dict[str, float] = {}
    for each in directories:
        with contextlib.suppress(OSError, ValueError):
            stat = os.stat(each)
            found[each] = max(
                stat.st_mtime_ns, stat.st_ctime_ns
            )  # another folder may have the time of the one it replaces
    return found


def _source_of(target: Target, finder: ModuleFinder) -> SourceModule:
    source = find_source(target, finder)
    if source is None:
        raise not_there(finder, target)
    return source


def _tree_of(module: SourceModule) -> ast.Module:
    """The file's tree; an empty one of a file that cannot be parsed here."""
    try:
        return parse(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def find_source(target: Target, finder: ModuleFinder) -> SourceModule | None:
    """The file or module of a target, which the finder knows from then on."""
    if target.file is None:
        return finder.source(target.module)
    module = module_of(target)
    finder.add(module)
    return module


def _buildable(target: Target, name: str, file: ModelFile) -> Target:
    """The class itself, or the way in which the file builds it where it needs arguments."""
    return as_file_builds(target, name, file) if file.needs_arguments(name) else target.named(name)


def as_file_builds(target: Target, name: str, file: ModelFile) -> Target:
    """A class that needs arguments, the way in which its file builds it; as it is where the file does not."""
    factories = file.factories_of(name)
    if factories:
        others = f"; others: {listed(factories[1:], _MAX_NAMED)}" if factories[1:] else ""
        return replace(target.named(factories[0]), note=f"{name} needs arguments: taking {factories[0]}(){others}")
    known = next(file.known_calls(name), None)
    if known is not None:
        (positional, keywords), line = known
        found = replace(target.named(name, positional, keywords, called=True), line=line)
        return replace(found, note=f"{name} needs arguments: taking those of a call in the file, {found.text}")
    return replace(target.named(name), caller=file.caller_of(name))


def _what_is_there(file: ModelFile, finder: ModuleFinder, target: Target) -> str:
    lost = file.lost_base()
    if lost is not None and lost[1].of != lost[0]:
        name, base_class = lost
        place = f"{base_class.file}:{base_class.line}"
        return (
            f"nothing is known of {base_class.base}, a base of class {base_class.of} ({place}), and {name} is derived"
            " from that: if it is installed beside modgraph and is an nn.Module, name the class:"
            f" {target.typed(name)}"
        )
    if (unknown := file.unknown_base()) is not None:
        name, base = unknown
        first = base.partition(".")[0]
        if first not in file.module.index.statements and not file.module.index.star_imports:
            return f"{base} is the base of class {name}, and the file binds no {first!r}: is an import missing?"
        return (
            f"nothing is known of {base}, a base of class {name}: if it is installed beside modgraph and is an"
            f" nn.Module, name the class: {target.typed(name)}"
        )
    handed_on = file.handed_on()
    if handed_on:
        shown = listed(handed_on, _MAX_NAMED)
        return f"it hands on {shown} from another file: name one of them, as in {target.typed(handed_on[0])}"
    beside = file.files_beside(finder)
    if beside and not file.classes:
        paths = [shlex.quote(os.path.relpath(each)) for each in beside]
        return f"it imports files that have some: {listed(paths, _MAX_NAMED)}"
    classes = [f"class {name}" for name in file.classes]
    functions = [f"function {name}" for name in file.functions]
    things = classes + functions
    if not things:
        return "it defines no class and no function"
    return (
        f"it has {listed(things, _MAX_NAMED)}; a model is a class derived from torch.nn.Module, or an instance of one;"
        " of a whole folder, --all FOLDER finds them"
    )
