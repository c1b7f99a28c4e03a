"""Calls of a class in the other files of its project: training scripts, tests, examples, the nearest first.

Files are those of the model's folder, then of the folders around it up to the border of the project. What git ignores
is none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from modgraph.arguments.call_sites import CallSites, call_sites, names_of
from modgraph.arguments.callers import Provider, providers_of, use_sites
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.conditions import Way, together, ways_to
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.followed import followed, relative
from modgraph.arguments.importable import Importable
from modgraph.arguments.kept_answers import kept
from modgraph.arguments.passed_on import Calls, in_package, needs_a_caller, telling
from modgraph.arguments.project_files import ProjectFiles, script_of
from modgraph.names import last_name
from modgraph.prediction.calls_elsewhere import ReachedCall
from modgraph.prediction.domain.limits import MAX_ELSEWHERE_WORK
from modgraph.source.modules import finder_for
from modgraph.source.targets import Target

MAX_FOLLOWED = 8
"""Files with calls that are interpreted."""
MAX_WORK = 8_000_000
"""Units of work, of all of them together."""
MAX_WORK_BESIDE = 1_000_000
"""The same, where an answer is there."""
MAX_CALLS = 3
"""Calls that are taken."""
MAX_CALLERS_UP = 3
"""Steps from the functions in which calls stand to those that say what they are given."""


def calls_in_project(
    constructor: Constructor, files: ProjectFiles, lines: CommandLines, *, callers: bool, beside: bool
) -> Iterator[ReachedCall]:
    """The calls, in the order of the files: each file's first of which all arguments are known; where it has none, the
    first of which some are, the others `Unsaid`.

    Args:
        files: of the project.
        lines: those of the project.
        callers: where no file has a call of which all is known, the files that use the functions in which the calls
            stand are interpreted as well.
        beside: an answer is there, and a call counts only where all is known that it gives.
    """
    if constructor.target.file is not None:
        search = _Search(constructor, constructor.target.file, files, lines, beside=beside)
        yield from search.calls(MAX_CALLERS_UP if callers else 0)


_INSTANTIATES = "instantiate"


class _Read(NamedTuple):
    """What the text of one file says of calls."""

    telling: CallSites | None
    """Those that may say something where the file is followed."""
    provider: Provider | None
    """The functions in which they all stand."""
    ways: list[Way]


class _Search:
    """For the calls of one class."""

    def __init__(
        self, constructor: Constructor, model: Path, files: ProjectFiles, lines: CommandLines, *, beside: bool
    ) -> None:
        self._files = files
        self._beside = beside
        self._most_work = MAX_WORK_BESIDE if beside else MAX_WORK
        self._constructor = constructor
        self._target = constructor.target
        self._model = model
        self._importable = Importable(self._target, constructor.file.module, constructor.finder)
        self._lines = lines
        self._work = self._n_found = 0

    def calls(self, callers_up: int) -> Iterator[ReachedCall]:
        name = last_name(self._target.name)
        own = self._own(name)
        names, ways = {name}, own.ways
        providers = [] if own.provider is None else [own.provider]
        files = self._reading(name, [Provider(self._model, frozenset([name]))], names, own=False)
        for level in range(callers_up + 1):
            further: list[Way] = []
            for path, read in islice(files, MAX_FOLLOWED):
                providers += [read.provider] if read.provider is not None else []
                further += read.ways
                if read.telling is not None:
                    yield from self._in_file(path, read.telling, together(ways, read.ways), bare=level == 0)
                if self._is_over():
                    return
            if self._n_found or not providers:
                break
            names = {name for each in providers for name in each.names}
            files = self._reading(None, providers, names, own=True)
            providers, ways = [], together(ways, further)
        if callers_up and not self._n_found:
            yield from self._instantiated()

    def _instantiated(self) -> Iterator[ReachedCall]:
        """Of files that make objects of what a configuration names, where no file has the name of the class."""
        files = self._files.naming([_INSTANTIATES], own=False, in_strings=False)
        for file in islice(files, MAX_FOLLOWED):
            found = file.asked(_INSTANTIATES, lambda tree: call_sites(tree, _INSTANTIATES))
            if found is not None:
                yield from self._in_file(file.path, found, [], bare=False)
            if self._n_found or self._is_over():
                return

    def _own(self, name: str) -> _Read:
        """The model's own file, which is not followed once more."""
        tree = self._constructor.file.tree

        def read() -> _Read:
            sites = call_sites(tree, name)
            provider = None if sites is None else self._provider(self._model, tree, sites, of_class=True)
            return _Read(None, provider, ways_to(tree, {name}))

        question = ("calls of its own", name, str(self._model), self._beside)
        return kept(self._constructor.file.module.text, question, read)

    def _reading(
        self, name: str | None, providers: Sequence[Provider], names: set[str], *, own: bool
    ) -> Iterator[tuple[Path, _Read]]:
        """Of the files that have one of the names, those with sites, the nearest to the model first.

        Args:
            name: of the class, where it is the class that is called.
            providers: of what is used.
            own: the model's file is one of them.
        """
        for file in self._files.naming(names, own=own, in_strings=False):
            path, packaged = file.path, in_package(file.path)

            def read(tree: ast.Module, path: Path = path, packaged: bool = packaged) -> _Read | None:
                sites = (call_sites(tree, name) if name is not None else None) or use_sites(path, tree, providers)
                if sites is None:
                    return None
                calls = Calls(sites, of_class=name is not None, whole=self._beside)
                provider = self._provider(path, tree, sites, of_class=name is not None)
                ways = ways_to(tree, {each for one in names for each in names_of(tree, one)})
                return _Read(telling(tree, calls, packaged=packaged), provider, ways)

            question = ("calls", name, tuple(providers), frozenset(names), str(path), packaged, self._beside)
            found = file.asked(question, read)
            if found is not None:
                yield path, found

    def _is_over(self) -> bool:
        return self._work > self._most_work or self._n_found >= MAX_CALLS

    def _provider(self, path: Path, tree: ast.Module, sites: CallSites, *, of_class: bool) -> Provider | None:
        is_plain = needs_a_caller(tree, Calls(sites, of_class=of_class, whole=self._beside))
        return providers_of(path, tree, sites.scopes, is_plain=is_plain)

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
        left = max(0, self._most_work - self._work)
        once = left if self._beside else MAX_ELSEWHERE_WORK
        looked = followed(
            script, sites, self._constructor, name_of, self._lines, ways=ways, most=1, most_work=left, most_once=once
        )
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
