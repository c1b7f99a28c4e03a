"""Calls of a class in the other files of its project: training scripts, tests, examples, the nearest first.

Files are those of the model's folder, then of the folders around it up to the border of the project. What git ignores
is none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from modgraph.arguments.call_sites import CallSites, call_sites, names_of
from modgraph.arguments.callers import Provider, providers_of, use_sites
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.conditions import Way, together, ways_to
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.followed import followed, relative
from modgraph.arguments.importable import Importable
from modgraph.arguments.project_files import ProjectFiles, script_of
from modgraph.names import last_name
from modgraph.prediction.calls_elsewhere import ReachedCall
from modgraph.source.modules import finder_for
from modgraph.source.targets import Target

MAX_FOLLOWED = 8
"""Files with calls that are interpreted."""
MAX_WORK = 8_000_000
"""Units of work, of all of them together."""
MAX_CALLS = 3
"""Calls that are taken."""
MAX_CALLERS_UP = 3
"""Steps from the functions in which calls stand to those that say what they are given."""


def calls_in_project(
    constructor: Constructor, files: ProjectFiles, lines: CommandLines, *, callers: bool
) -> Iterator[ReachedCall]:
    """The calls, in the order of the files: each file's first of which all arguments are known; where it has none, the
    first of which some are, the others `Unsaid`.

    Args:
        files: of the project.
        lines: those of the project.
        callers: where no file has a call of which all is known, the files that use the functions in which the calls
            stand are interpreted as well.
    """
    if constructor.target.file is not None:
        yield from _Search(constructor, constructor.target.file, files, lines).calls(MAX_CALLERS_UP if callers else 0)


_INSTANTIATES = "instantiate"
_Sites = tuple[Path, ast.Module, CallSites]


class _Search:
    """For the calls of one class."""

    def __init__(self, constructor: Constructor, model: Path, files: ProjectFiles, lines: CommandLines) -> None:
        self._files = files
        self._constructor = constructor
        self._target = constructor.target
        self._model = model
        self._importable = Importable(self._target, constructor.file.module, constructor.finder)
        self._lines = lines
        self._work = self._n_found = 0

    def calls(self, callers_up: int) -> Iterator[ReachedCall]:
        own = call_sites(self._constructor.file.tree, self._target.name)
        providers = [each for each in [self._provider(self._model, self._constructor.file.tree, own)] if each]
        name = last_name(self._target.name)
        ways, names = ways_to(self._constructor.file.tree, {name}), {name}
        of_class = [Provider(self._model, frozenset([name]))]
        sites: Iterable[_Sites] = self._sites(
            {name}, lambda path, tree: call_sites(tree, name) or use_sites(path, tree, of_class), own=False
        )
        for level in range(callers_up + 1):
            further: list[Way] = []
            for path, tree, found in islice(sites, MAX_FOLLOWED):
                provider = self._provider(path, tree, found)
                providers += [provider] if provider is not None else []
                here = ways_to(tree, {each for name in names for each in names_of(tree, name)})
                further += here
                yield from self._in_file(path, found, together(ways, here), bare=level == 0)
                if self._is_over():
                    return
            if self._n_found or not providers:
                break
            names = {name for each in providers for name in each.names}
            sites, providers, ways = self._users_of(providers, names), [], together(ways, further)
        if callers_up and not self._n_found:
            yield from self._instantiated()

    def _instantiated(self) -> Iterator[ReachedCall]:
        """Of files that make objects of what a configuration names, where no file has the name of the class."""
        for path, tree in islice(self._files.naming([_INSTANTIATES], own=False), MAX_FOLLOWED):
            found = call_sites(tree, _INSTANTIATES)
            if found is not None:
                yield from self._in_file(path, found, [], bare=False)
            if self._n_found or self._is_over():
                return

    def _users_of(self, providers: list[Provider], names: set[str]) -> Iterator[_Sites]:
        return self._sites(names, lambda path, tree: use_sites(path, tree, providers), own=True)

    def _sites(
        self, names: set[str], sites_in: Callable[[Path, ast.Module], CallSites | None], *, own: bool
    ) -> Iterator[_Sites]:
        """Of the files that have one of the names, those with sites, the nearest to the model first.

        Args:
            own: the model's file is one of them.
        """
        for path, tree in self._files.naming(names, own=own):
            sites = sites_in(path, tree)
            if sites is not None:
                yield path, tree, sites

    def _is_over(self) -> bool:
        return self._work > MAX_WORK or self._n_found >= MAX_CALLS

    def _provider(self, path: Path, tree: ast.Module, sites: CallSites | None) -> Provider | None:
        return providers_of(path, tree, sites.scopes) if sites is not None else None

    def _in_file(self, path: Path, sites: CallSites, ways: list[Way], *, bare: bool) -> Iterator[ReachedCall]:
        """Those of one file, as it is started without words; where that says not all, as the project starts it, and
        with the words that lead to the calls.

        Args:
            bare: the calls stand in this file, and not in a function that it calls.
        """
        script = script_of(path, self._target)
        if script is None:
            return
        finder = finder_for([str(script.root), *script.search_path], script.home)
        name_of = self._importable.named_in(finder)
        left = max(0, MAX_WORK - self._work)
        looked = followed(script, sites, self._constructor, name_of, self._lines, ways=ways, most=1, most_work=left)
        self._work += looked.work
        self._n_found += len(looked.found)
        for call in looked.found or looked.partly[:1]:
            shown = _shown(path, call.file, script, self._target)
            here = relative(str(path), self._target)
            says = (*([] if bare or shown == here else [here]), *call.with_files)
            yield replace(call, file=shown, with_files=says)


def _shown(path: Path, file: str, script: Target, target: Target) -> str:
    """The file of a call, as it lies to the model's."""
    return file if file != script.relative_file else relative(str(path), target)
