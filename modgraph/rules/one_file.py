"""One file after the other: read, looked up, checked, fixed, written."""

from __future__ import annotations

import gc
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from modgraph.config import Config, Configs
from modgraph.doors.reading import SOURCE_BYTES, UnreadableError, irregular, read
from modgraph.errors import ConfigError
from modgraph.rules.check import check_text, syntax_error
from modgraph.rules.names import Costly, Project
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Change, Failure, Outcome
from modgraph.rules.registry import SYNTAX_ERROR, meant, selected
from modgraph.rules.rule import Rule
from modgraph.source.files import decode, encoding_of, is_excluded
from modgraph.source.quiet import python_tree
from modgraph.source.summaries import summarize

if TYPE_CHECKING:
    from modgraph.findings import Finding
    from modgraph.rules.fixing import Holdings, Look
    from modgraph.rules.results_cache import ResultsCache

MAX_BYTES = SOURCE_BYTES

ALWAYS_KEPT_FROM = 8
"""Files from which on all results are kept; of fewer, only where a class had to be interpreted."""


class Settings:
    """What holds for the files under one configuration."""

    def __init__(self, config: Config, options: CheckOptions) -> None:
        self.config = config
        select = config.select if options.select is None else options.select
        extend = (*config.extend_select, *options.extend_select) if options.select is None else options.extend_select
        for word in (*(options.select or ()), *options.extend_select, *options.ignore):
            meant(word)  # what is wrong there is wrong on the command line
        try:
            self.rules: Sequence[Rule] = selected(select, extend, (*config.ignore, *options.ignore))
            self._ignored = {
                pattern: frozenset(rule.code for word in words for rule in meant(word))
                for pattern, words in config.per_file_ignores.items()
            }
        except ConfigError as error:
            error.file = config.file
            raise
        self.project = Project(
            config.module_bases, hidden_names=config.hidden_names, strict=options.strict, folders=options.folders
        )
        codes = sorted(rule.code for rule in self.rules)
        self._text = repr((codes, config.module_bases, config.hidden_names, options.strict, options.folders))

    def ignored(self, path: str) -> frozenset[str]:
        """Codes that are not reported for a file."""
        found: frozenset[str] = frozenset()
        for pattern, codes in self._ignored.items():
            if is_excluded(os.path.relpath(path, self.config.folder), (pattern,)):
                found |= codes
        return found

    def text(self, path: str) -> str:
        """What findings in the file depend on beside files; the same text, the same findings."""
        return self._text + repr(sorted(self.ignored(path)))


class Checker:
    """Checks files in this process."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        self.configs = Configs(options.isolated, options.config)
        self._settings: dict[int, Settings] = {}
        self._cache: ResultsCache | None = None

    def settings(self, path: str) -> Settings:
        """Raises ConfigError where the configuration of the file cannot be used."""
        config = self.configs.of(path)
        key = id(config)  # configurations live as long as `configs`, which hands out one for many folders
        if key not in self._settings:
            self._settings[key] = Settings(config, self.options)
        return self._settings[key]

    # ---- kept from earlier runs --------------------------------------------------------------------------------------

    def cached(self, files: Iterable[tuple[str, str]]) -> dict[str, Outcome]:
        """What is known of files, by their absolute paths."""
        known: dict[str, Outcome] = {}
        cache = self._results()
        if cache is not None:
            for shown, path in files:
                findings = cache.get(path, shown, self.settings(path).text(path))
                if findings is not None:
                    known[path] = Outcome(findings, unresolved=cache.unresolved(path))
        return known

    def keep(self, outcomes: Mapping[str, Outcome]) -> None:
        """Keeps what was found for later runs, where it took some time."""
        worth = {path: found for path, found in outcomes.items() if found.depends is not None and found.change is None}
        if len(outcomes) <= ALWAYS_KEPT_FROM and "libcst" not in sys.modules:
            return
        cache = self._results() if worth else None
        if cache is None:
            return
        for path, found in worth.items():
            cache.put(path, self.settings(path).text(path), found.depends or (), found.findings, found.unresolved)
        cache.write()

    def _results(self) -> ResultsCache | None:
        if self._cache is None and self.options.cache is not None:
            from modgraph.rules.results_cache import ResultsCache

            self._cache = ResultsCache(self.options.cache)
        return self._cache

    # ---- one file ----------------------------------------------------------------------------------------------------

    def check(self, shown: str, path: str, *, lookup: bool = False) -> Outcome:
        """Checks one file, and fixes it if that is asked for. Says what went wrong, and raises nothing.

        Args:
            lookup: the findings may be in the cache, if the file has to be parsed for them.
        """
        try:
            return self._check(shown, path, lookup)
        except FileNotFoundError:  # it was there a moment ago
            return Outcome([])
        except OSError as error:
            return Outcome([], failure=Failure(shown, f"{shown} cannot be read: {error.strerror or error}"))
        except Exception as error:
            return Outcome([], failure=defect(shown, error))

    def _check(self, shown: str, path: str, lookup: bool) -> Outcome:
        try:
            data = read(path, MAX_BYTES)
        except UnreadableError as error:  # too large, or no file that has an end
            return Outcome([], failure=Failure(shown, f"{shown} is not checked: {error.strerror}", _help(path, shown)))
        try:
            text = decode(data)
        except SyntaxError as error:
            return self._unreadable(error, shown, path)
        outcome = self._looked_up(text, shown, path) if lookup else None
        if outcome is None:
            outcome = self.check_text(text, shown, path)
        if outcome.change is not None and self.options.write:
            failure = _write(path, outcome.change, encoding_of(data), data)
            if failure is not None:
                return self._unmended(text, shown, path)._replace(failure=failure, depends=None)
        return outcome

    def _unmended(self, text: str, shown: str, path: str) -> Outcome:
        """What is found in a text that stays as it is."""
        options = self.options
        self.options = options._replace(fix="no")
        try:
            return self.check_text(text, shown, path)
        finally:
            self.options = options

    def _looked_up(self, text: str, shown: str, path: str) -> Outcome | None:
        """The outcome, where it takes no interpretation or the cache has it: loading that costs as much as a check of
        one file in which nothing is suspicious."""
        if self.options.fix != "no" or self.options.cache is None:
            return None
        project = self.settings(path).project
        project.reluctant = True
        try:
            return self.check_text(text, shown, path)
        except Costly:
            return self.cached([(shown, path)]).get(path)
        finally:
            project.reluctant = False

    def check_text(self, text: str, shown: str, path: str) -> Outcome:
        """Checks a text that is, or might be, in that file; fixes it if that is asked for."""
        settings = self.settings(path)
        ignored = settings.ignored(path)
        project = settings.project
        project.read = {}
        project.work, project.trying = 0, False
        project.given_up, project.cut, project.unresolved = {}, {}, {}

        def check(source: str, only: frozenset[str] | None = None) -> list[Finding]:
            return check_text(source, shown, path, settings.rules, project, ignored, only)

        findings = check(text)
        failure = _too_much(shown, list(project.given_up)) if project.given_up else None
        cut = tuple((name, why) for name, why in project.cut.items() if name not in project.given_up)
        taken_back = untried = 0
        change: Change | None = None
        after = text
        tried = any(finding.fix is not None for finding in findings)
        if tried:
            from modgraph.rules.fixing import fix, offered

            look = looking(project, path)
            project.work, project.trying = 0, True
            if self.options.fix == "no":
                findings, untried = offered(text, check, findings, look, check)
            else:
                unsafe = self.options.fix == "unsafe"
                outcome = fix(text, check, unsafe=unsafe, found=findings, look=look, part=check)
                findings, after = list(outcome.left), outcome.text
                taken_back, untried = outcome.taken_back, outcome.untried
                change = Change(shown, text, after, outcome.fixed) if after != text else None
            tree = python_tree(after)
            project.add(path, summarize(tree), tree, after)
        is_fixing = self.options.fix != "no" and tried
        depends = None if is_fixing or failure or cut else tuple(each for each in project.read if each != path)
        unresolved = tuple(project.unresolved)
        return Outcome(findings, failure, change, after, depends, taken_back, untried, cut, unresolved)

    def _unreadable(self, error: SyntaxError, shown: str, path: str) -> Outcome:
        settings = self.settings(path)
        wanted = any(rule.code == SYNTAX_ERROR for rule in settings.rules)
        if not wanted or SYNTAX_ERROR in settings.ignored(path):
            return Outcome([], depends=())
        return Outcome([syntax_error(error, shown)], depends=())


def _too_much(shown: str, classes: Sequence[str]) -> Failure:
    """What is said of a file of which not all was looked at."""
    number = len(classes)
    which = f"class {classes[0]!r} was" if number == 1 else f"{number} classes from {classes[0]!r} on were"
    why = f"following its constructors takes too much work, and {which} not interpreted"
    what = f"{shown} is not checked to its end: {why}"
    return Failure(shown, what, "what was found so far is reported; smaller files are checked whole: split the file")


def looking(project: Project, path: str) -> Look:
    """What a class of a text holds: it is interpreted, once for each text."""

    def look(text: str, class_name: str) -> Holdings | None:
        if project.reluctant:
            raise Costly
        from modgraph.rules.interpretation import holdings

        return holdings(project, path, class_name, text)

    return look


@contextmanager
def undisturbed() -> Iterator[None]:
    """Fewer collections of garbage, as little of what a check makes goes in circles; no warnings about what is read."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _help(path: str, shown: str) -> str:
    """What to do about a file that is not read."""
    if irregular(path) is not None:
        return f"standard input is checked: modgraph check - < {shlex.quote(shown)}"
    return f"split the file, or leave it out: --exclude {shlex.quote(shown)}"


def defect(shown: str, error: BaseException) -> Failure:
    """What is said where modgraph itself fails on a file."""
    import traceback

    what = f"modgraph itself failed on this file: {type(error).__name__}: {error}"[:500]
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Failure(shown, what, "the other files were checked; --debug shows where", trace)


def _write(path: str, change: Change, encoding: str, before: bytes) -> Failure | None:
    """Puts the fixed text in the file's place, whole or not at all; a link stays one. Another name of the same file (a
    hard link) keeps the text that it had."""
    from modgraph.doors.writing import put

    try:
        after = change.after.encode(encoding)
        if read(path) != before:
            return Failure(
                change.file, f"{change.file} is not fixed: it has changed since it was read", is_checked=True
            )
        put(path, after)
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or error
        return Failure(change.file, f"{change.file} cannot be fixed: {why}", is_checked=True)
    return None
