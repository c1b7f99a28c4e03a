"""The root models of a whole tree: those that no other model of it uses as a part, and that can be built.

`roots.py` says what one file has; here names are followed from file to file. Nothing is executed.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from modgraph.doors.borders import project_folders
from modgraph.doors.reading import NOTEBOOK_BYTES, read
from modgraph.errors import ModgraphError, TargetError
from modgraph.names import last_name
from modgraph.source.bases import BaseResolver
from modgraph.source.dotted_names import dotted
from modgraph.source.files import NOTEBOOK, Skipped, is_excluded, python_files, too_deep
from modgraph.source.model_files import ModelFile
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule, finder_for
from modgraph.source.roots import as_file_builds, model_file, roots_in
from modgraph.source.source_roots import with_source_roots
from modgraph.source.syntax import FunctionNode, annotation_name, handed_on, required
from modgraph.source.targets import Target, file_target
from modgraph.source.usage import Looks, used_by_others

_Place = tuple[Path, str]
"""A file, and a top-level name in it."""
_LINK_REASON = "it is a link that leads out of the folder"
_NAME_REASON = "it is a link to a file that is not called .py or .pyi"
_NOTEBOOK_REASON = "notebooks are not taken with a folder; name it alone: modgraph analyze {}"
_MODEL_CLASS = re.compile(rb"\bclass \w+\([^()]*Module\b")
_MOST_SHOWN = 160
"""Characters of a signature."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A model, or a file, that is not analyzed."""

    place: str
    """ "pkg/net.py:Net", from the folder."""
    reason: str


@dataclass(frozen=True, slots=True)
class TreeRoots:
    """What there is in a tree."""

    targets: tuple[Target, ...]
    """In the order of the files, and of each file."""
    left_out: tuple[LeftOut, ...]
    n_files: int
    """Files of Python that were read."""
    problems: tuple[ModgraphError, ...] = ()
    """What could not be looked at."""
    assumed: frozenset[tuple[str, str]] = frozenset()
    """Texts and names of the targets of which nothing says any argument."""
    distrusted: ModgraphError | None = None
    """Why it is not known what git ignores."""


def find_tree_roots(
    folder: Path,
    *,
    exclude: Sequence[str] = (),
    static: bool = False,
    are_known: Callable[[Target], bool] = lambda _: False,
    are_assumed: Callable[[Target, bool], bool] = lambda _, __: False,
) -> TreeRoots:
    """The root models below a folder.

    Args:
        exclude: patterns of paths, as in [tool.modgraph].
        static: nothing will be run: a class counts as buildable where the arguments are known to a prediction alone.
        are_known: whether arguments are found elsewhere for a class that needs some which no text of the tree says.
        are_assumed: whether there are values to assume for one of which that is not so: for the arguments that no call
            of it says, or, where the second argument is true as its file has no other model, for all.

    Raises:
        TargetError: there is no such folder.
    """
    if not folder.is_dir():
        alone = f"; for the models of a file: modgraph analyze {shlex.quote(str(folder))}" if folder.is_file() else ""
        raise TargetError(
            f"{folder} is no folder" if folder.exists() else f"{folder} does not exist",
            hint=f"name the folder that holds the models: modgraph analyze --all .{alone}",
        )
    folder = Path(os.path.realpath(folder))
    return _Tree(folder, exclude).roots(static=static, are_known=are_known, are_assumed=are_assumed)


@dataclass(frozen=True, slots=True)
class _Read:
    """One file of the tree."""

    target: Target
    finder: ModuleFinder
    resolver: BaseResolver
    file: ModelFile

    @property
    def path(self) -> Path:
        return self.file.module.path


class _Tree:
    def __init__(self, folder: Path, exclude: Sequence[str]) -> None:
        self.folder = folder
        self.left_out: list[LeftOut] = []
        self.n_files = 0
        here = [os.getcwd(), str(folder), *(entry for entry in sys.path if entry)]
        self._search_path = tuple(dict.fromkeys(here))
        self._paths: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}
        """With what the project of a folder is imported from."""
        self._readers: dict[tuple[object, ...], tuple[ModuleFinder, BaseResolver]] = {}
        self.files: dict[Path, _Read] = {}
        self._looks = Looks(str(folder))
        self._taken: dict[tuple[_Place, int, frozenset[str], int], bool | None] = {}
        self.skipped = Skipped()
        for name in python_files(str(folder), self.skipped):
            path = Path(name)
            if is_excluded(self._shown(path), exclude):
                continue
            if path.suffix == ".py":
                self.n_files += 1
                self._read(path)
            elif path.suffix == NOTEBOOK and _has_a_model(path):
                typed = shlex.quote(os.path.relpath(path))
                self.left_out.append(LeftOut(self._shown(path), _NOTEBOOK_REASON.format(typed)))
        for name in self.skipped.links:
            if not is_excluded(self._shown(Path(name)), exclude):
                reason = _NAME_REASON if name in self.skipped.misnamed else _LINK_REASON
                self.left_out.append(LeftOut(self._shown(Path(name)), reason))
        self.problems = [
            TargetError(
                f"the folder cannot be read, and nothing in it is analyzed: {why}", file=self._shown(Path(name))
            )
            for name, why in self.skipped.unreadable
            if not is_excluded(self._shown(Path(name)), exclude)
        ]
        deep = [shown for name in self.skipped.too_deep if not is_excluded(shown := self._shown(Path(name)), exclude)]
        if deep:
            self.problems.append(TargetError(too_deep(len(deep), "analyzed"), file=deep[0]))

    def _with_roots(self, search: tuple[str, ...], folder: str) -> tuple[str, ...]:
        key = search, folder
        if key not in self._paths:
            self._paths[key] = with_source_roots(search, folder)
        return self._paths[key]

    def _shown(self, path: Path) -> str:
        return os.path.relpath(path, self.folder).replace(os.sep, "/")

    def _read(self, path: Path) -> None:
        try:
            target = file_target(str(path), self._search_path, Path())
        except TargetError as error:  # it is gone meanwhile
            self.left_out.append(LeftOut(self._shown(path), error.message))
            return
        if target.file is None or not target.file.is_relative_to(self.folder):
            self.left_out.append(LeftOut(self._shown(path), _LINK_REASON))
            return
        home = str(target.file.parent)
        target = replace(target, search_path=self._with_roots(target.search_path, home))
        key = target.search_path, *project_folders(home)
        if key not in self._readers:
            finder = finder_for(target.search_path, target.home)
            self._readers[key] = finder, BaseResolver(finder)
        finder, resolver = self._readers[key]
        try:
            file = model_file(target, finder, resolver)
        except SourceError as error:
            line = f", line {error.line}" if error.line else ""
            self.left_out.append(LeftOut(self._shown(path), f"{error.message}{line}"))
            return
        self.files[file.module.path] = _Read(target, finder, resolver, file)

    def roots(
        self, *, static: bool, are_known: Callable[[Target], bool], are_assumed: Callable[[Target, bool], bool]
    ) -> TreeRoots:
        candidates = [(one, root) for one in self.files.values() for root in self._roots_of(one)]
        built: set[_Place] = set()
        found: list[Target] = []
        for one, root in candidates:
            if root.name not in one.file.classes:
                continue
            ready = self._with_arguments(one, root)
            if self._needs_arguments(one, ready, static=static) and not are_known(ready):
                continue
            built.add((one.path, root.name))
            found.append(ready)
        others = [
            (root, self._stands_for(one, root.name)) for one, root in candidates if root.name not in one.file.classes
        ]
        # What stands in the file of the class comes first.
        for root, made in sorted(others, key=lambda each: all(path != each[0].file for path, _ in each[1])):
            if made & built or (made and made <= self._used):
                continue
            built |= made
            found.append(root)
        handed = self._reached_by_any((target.file, target.name) for target in found if target.file)
        known = built | handed
        lacking = [
            (one, root)
            for one, root in candidates
            if root.name in one.file.classes and (one.path, root.name) not in known
        ]
        by_call, lacking = self._assumable(lacking, lambda target: are_assumed(target, False))
        found += by_call
        served = {target.file for target in found}
        others_there = [(one, root) for one, root in lacking if one.path in served]
        by_name, lacking = self._assumable(
            [(one, root) for one, root in lacking if one.path not in served], lambda target: are_assumed(target, True)
        )
        found += by_name
        for one, root in [*others_there, *lacking]:
            self.left_out.append(LeftOut(self._name(one, root), _needed(one.file, root.name)))
        order = {path: number for number, path in enumerate(self.files)}
        found.sort(key=lambda target: order[target.file or Path()])
        left_out = tuple(sorted(self.left_out, key=lambda each: each.place))
        return TreeRoots(
            tuple(found),
            left_out,
            self.n_files,
            tuple(self.problems),
            frozenset((target.text, target.model) for target in by_name),
            self.skipped.distrusted,
        )

    def _assumable(
        self, lacking: Iterable[tuple[_Read, Target]], are_assumed: Callable[[Target], bool]
    ) -> tuple[list[Target], list[tuple[_Read, Target]]]:
        """Of models that need arguments: those that can be built with assumed ones, and the others."""
        ready: list[Target] = []
        left: list[tuple[_Read, Target]] = []
        for one, root in lacking:
            target = self._with_arguments(one, root)
            if are_assumed(target):
                ready.append(target)
            else:
                left.append((one, root))
        return ready, left

    def _name(self, one: _Read, root: Target) -> str:
        return f"{self._shown(one.path)}:{root.model}"

    def _roots_of(self, one: _Read) -> Iterator[Target]:
        """The roots of one file that no model of another one uses."""
        try:
            roots = roots_in(one.file, one.target, one.finder)
        except TargetError:  # no model in it
            return
        parts = self._handed(one)
        for root in roots:
            place = (one.path, root.name)
            if root.doubtful or place in self._used or place in self._only_bases or root.name in parts:
                continue
            yield root

    def _needs_arguments(self, one: _Read, root: Target, *, static: bool) -> bool:
        if static and root.caller is not None:
            return False
        inherited = not root.called and root.name in one.file.classes and self._takes((one.path, root.name)) is True
        return inherited or not one.file.is_buildable(root)

    def _with_arguments(self, one: _Read, root: Target) -> Target:
        """The class as its file builds it where it needs arguments, or with those of the first call in another file."""
        if not self._needs_arguments(one, root, static=False):
            return root
        found = as_file_builds(one.target, root.name, one.file)
        if found.called or found.name != root.name:
            return replace(found, discovered=True)
        root = replace(found, discovered=True)
        for other in self.files.values():
            for name in self._names_for(other, (one.path, root.name)):
                known = other.file.known_call(name)
                if known is not None:
                    found = one.target.named(root.name, *known, called=True)
                    note = f"{root.name} needs arguments: taking those of a call in {self._shown(other.path)}"
                    return replace(found, note=note, discovered=True)
        return root

    def _names_for(self, other: _Read, place: _Place) -> list[str]:
        """What a file calls something of another one: "Net", "model.Net"."""
        last = last_name(place[1])
        if last not in other.file.module.words and not other.file.module.index.star_imports:
            return []
        return list(self._called_in(other).get(place, ()))

    def _called_in(self, other: _Read) -> Mapping[_Place, list[str]]:
        """By what is meant: the names by which a file calls it, in the order of a walk through it."""
        if other.path not in self._calls:
            found: dict[_Place, list[str]] = {}
            for name in dict.fromkeys(name for node in ast.walk(other.file.tree) if (name := _called(node))):
                for place in self._meant(other, name):
                    found.setdefault(place, []).append(name)
            self._calls[other.path] = found
        return self._calls[other.path]

    def _stands_for(self, one: _Read, name: str) -> set[_Place]:
        """The model classes that an instance, or what a factory gives, is made of, as far as names say; of a factory
        that says which class of its file it gives, that one."""
        given = self._given(one, name)
        if given:
            return given
        reached = self._reached((one.path, name))
        return {place for place in reached if place in self._classes}

    def _given(self, one: _Read, name: str) -> set[_Place]:
        """The model classes of the tree of which a function gives an instance, as it says itself."""
        found: set[_Place] = set()
        pending, seen = [name], {name}
        while pending:
            function = one.file.functions.get(pending.pop())
            if function is None:
                continue
            written = {dotted(call.func) for call in one.file.returned_calls(function.name)}
            self._looks.spend(1 + len(written))
            written.add(annotation_name(function.returns) if function.returns is not None else None)
            for each in written - {None} - seen:
                seen.add(str(each))
                pending.append(str(each))
                found |= {place for place in self._meant(one, str(each)) if place in self._classes}
        return found

    def _handed(self, one: _Read) -> set[str]:
        """Classes of a file that its factories hand to the models they build: parts, as if those built them."""
        given = {name: self._given(one, name) for name in one.file.functions}
        built = {name for places in given.values() for path, name in places if path == one.path}
        reached = {part for name, places in given.items() if places for part in one.file.reach(name)}
        return (reached & set(one.file.module_classes)) - built

    def _takes(
        self, place: _Place, n_given: int = 0, named: frozenset[str] = frozenset(), depth: int = 20
    ) -> bool | None:
        """Whether the constructor of a class, its own or that of a base in any file of the tree, needs more arguments
        than so many and those of these names; None where there is none in the tree."""
        key = (place, n_given, named, depth)
        if key not in self._taken:
            self._taken[key] = self._find_taken(place, n_given, named, depth)
        return self._taken[key]

    def _find_taken(self, place: _Place, n_given: int, named: frozenset[str], depth: int) -> bool | None:
        one = self.files[place[0]]
        node = one.file.classes.get(place[1])
        if node is None or depth == 0:
            return None
        self._looks.spend(1 + len(node.bases))
        method = next((each for each in node.body if isinstance(each, FunctionNode) and each.name == "__init__"), None)
        if method is not None:
            if required(method, 1 + n_given) - named:
                return True
            handed = handed_on(method)
            if handed is None:
                return False
            n_given, named = handed[0], named | handed[1]
        for base in (name for each in node.bases if (name := dotted(each))):
            for each in self._meant(one, base):
                if each != place and (taken := self._takes(each, n_given, named, depth - 1)) is not None:
                    return taken
        return None if method is None else False

    # --- who uses whom ---------------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> dict[_Place, None]:
        """Every model class."""
        return {(path, name): None for path, one in self.files.items() for name in one.file.module_classes}

    @cached_property
    def _used(self) -> set[_Place]:
        """Model classes that another model uses as a part; of those that use each other, none."""
        if not self._any_enters_its_own:
            return used_by_others(self._classes.keys(), self._uses)
        reached = {place: self._reached(place) for place in self._classes}
        return {
            part
            for user, parts in reached.items()
            for part in parts
            if part in reached and part != user and user not in reached[part]
        }

    @cached_property
    def _only_bases(self) -> set[_Place]:
        """Classes without a `forward` of which others, in other files, are derived."""
        found: set[_Place] = set()
        for path, one in self.files.items():
            for node in one.file.classes.values():
                for base in (name for each in node.bases if (name := dotted(each))):
                    found.update(place for place in self._meant(one, base) if place[0] != path)
        return {place for place in found if place in self._classes and not self.files[place[0]].file.forward(place[1])}

    def _reached(self, start: _Place) -> set[_Place]:
        """What a top-level name uses, also through other files."""
        return self._reached_by_any([start]) - {start}

    def _reached_by_any(self, starts: Iterable[_Place]) -> set[_Place]:
        """What any of some top-level names uses; of these themselves, what another or they themselves use."""
        seen: set[_Place] = set()
        pending = list(starts)
        while pending:
            place = pending.pop()
            if self._any_enters_its_own:
                path, name = place
                own = {(path, each) for each in {name, *self.files[path].file.reach(name)}} - seen
                new = own.union(*(self._outside(path).get(each, ()) for _, each in own)) - seen
                pending.extend(new - own)
                seen |= own
                self._looks.spend(1 + len(new))
            else:
                new = self._uses(place) - seen
                pending.extend(new)
                seen |= new
        return seen

    @cached_property
    def _any_enters_its_own(self) -> bool:
        return any(one.file.enters_its_own for one in self.files.values())

    def _uses(self, place: _Place) -> set[_Place]:
        """What a top-level name uses itself, in any file."""
        path, name = place
        used = {(path, each) for each in self.files[path].file.uses(name)}.union(self._outside(path).get(name, ()))
        self._looks.spend(1 + len(used))
        return used

    def _outside(self, path: Path) -> Mapping[str, set[_Place]]:
        """By top-level name of a file: what it uses of other files."""
        if path not in self._outsides:
            one = self.files[path]
            found: dict[str, set[_Place]] = {}
            for name, nodes in _bodies(one.file):
                written = {text for node in nodes for inner in ast.walk(node) if (text := _name_of(inner))}
                used = {place for text in written for place in self._meant(one, text)}
                found.setdefault(name, set()).update(place for place in used if place[0] != path)
            self._outsides[path] = found
        return self._outsides[path]

    @cached_property
    def _outsides(self) -> dict[Path, dict[str, set[_Place]]]:
        return {}

    def _meant(self, one: _Read, name: str) -> set[_Place]:
        """What a dotted name stands for, in the files of the tree."""
        module: SourceModule = one.file.module
        first = name.partition(".")[0]
        index = module.index
        if first not in index.definitions and not index.star_imports and first not in self._imported(one):
            return set()
        found = one.resolver.definitions_of(module, name)
        return {(home.path, qualname) for home, qualname in found if home.path in self.files}

    def _imported(self, one: _Read) -> frozenset[str]:
        path = one.path
        if path not in self._imports:
            self._imports[path] = frozenset(imported.name for imported in one.file.module.index.imports)
        return self._imports[path]

    @cached_property
    def _calls(self) -> dict[Path, Mapping[_Place, list[str]]]:
        return {}

    @cached_property
    def _imports(self) -> dict[Path, frozenset[str]]:
        return {}


def _has_a_model(notebook: Path) -> bool:
    """Whether the text of a notebook has a class that may be a model."""
    try:
        return _MODEL_CLASS.search(read(notebook, NOTEBOOK_BYTES)) is not None
    except OSError:
        return False


def _needed(file: ModelFile, name: str) -> str:
    method = file.method_of(name, "__init__")
    # What is written without `self`: a user has none to give.
    written = "" if method is None else _cut(ast.unparse(method.args).partition(", ")[2])
    written = f": {written}" if written else ""
    return f"it needs arguments, and no call says which{written}"


def _cut(text: str) -> str:
    """`text`, not longer than a line or two."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _name_of(node: ast.AST) -> str | None:
    return dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _called(node: ast.AST) -> str | None:
    return dotted(node.func) if isinstance(node, ast.Call) else None


def _bodies(file: ModelFile) -> Iterator[tuple[str, list[ast.AST]]]:
    """Top-level names with what stands in them; bases and decorators are no parts."""
    for name, node in file.classes.items():
        yield name, [part for part in node.body if not isinstance(part, ast.ClassDef)]
    for name, function in file.functions.items():
        yield name, [*function.body, function.args]
    for statement in file.statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, [statement.value]
