"""Paths -> findings: which files are checked, under which settings, from the cache where nothing has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.config import Config, Configs
from modgraph.doors.reading import lies_in
from modgraph.errors import ConfigError
from modgraph.names import listed
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Failure, Outcome, Report
from modgraph.source.cache_home import analysing
from modgraph.source.files import (
    NOTEBOOK,
    Skipped,
    is_excluded,
    is_python,
    lies_in_none_of_ours,
    python_files,
    too_deep,
)
from modgraph.source.torch_place import TORCH, called_torch, holds_torch

if TYPE_CHECKING:
    from modgraph.findings import Finding
    from modgraph.rules.one_file import Checker

MOST_IMPORTS = 8
"""Of one file, that are told."""
POOL_FROM = 200
"""Files to be checked from which on several processes are started; below, starting them costs more than it spares."""


def check_paths(paths: Sequence[str], options: CheckOptions) -> Report:
    """Checks files and folders; what goes wrong with one file keeps no other from being checked.

    Raises:
        ConfigError: a configuration, or the name of a rule, cannot be used.
    """
    from modgraph.rules.one_file import ALWAYS_KEPT_FROM, Checker, undisturbed

    options = options._replace(folders=tuple(os.path.abspath(path) for path in paths if os.path.isdir(path)))
    for path in paths:
        analysing(os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)))
    report = Report()
    checker = Checker(options)
    wanted = list(find_files(paths, options, checker.configs, report))
    wanted = _with_settings(wanted, checker, paths, report)
    with undisturbed():
        known = checker.cached(wanted) if len(wanted) > ALWAYS_KEPT_FROM and options.fix == "no" else {}
        left = [each for each in wanted if each[1] not in known]
        jobs = options.jobs or (_cores() if len(left) > POOL_FROM else 1)
        if jobs > 1 and len(left) > 1:
            from modgraph.rules.pool import check_in_processes

            outcomes = check_in_processes(left, options, jobs)
        else:
            outcomes = {path: checker.check(shown, path, lookup=not known) for shown, path in left}
        checker.keep(outcomes)
    for shown, path in wanted:
        report.add(shown, known[path] if path in known else outcomes[path])
    report.findings.sort(key=_place)
    report.notices += _shadows(wanted, checker)
    if options.tells_imports:
        report.notices += _unfound(wanted, checker)
    return report


def _unfound(files: Sequence[tuple[str, str]], checker: Checker) -> list[str]:
    """By file, what it imports of which no file is read: of such classes nothing is known."""
    from modgraph.rules.unfound_imports import unfound

    found = [(shown, unfound(checker.settings(path).project, path)) for shown, path in files]
    return [f"{shown} imports what is not found: {listed(names, MOST_IMPORTS)}" for shown, names in found if names]


def _shadows(files: Sequence[tuple[str, str]], checker: Checker) -> list[str]:
    """What of the project is imported as torch, and what that means for the files that are no part of it."""
    one_of_each = {os.path.dirname(path): path for _, path in files}
    found: dict[str, str] = {}
    for path in one_of_each.values():
        for place in called_torch(checker.settings(path).project.roots_of(path).folders):
            folder = os.path.dirname(place)
            if not holds_torch(os.path.dirname(folder) if os.path.basename(folder) == TORCH else folder):
                found[place] = "called as PyTorch is, and is not: names of torch are taken for PyTorch's own"
            elif not lies_in(path, folder):
                found[place] = "taken for PyTorch: names of torch are what the files beside it say"
    return [f"{shown(place, place)} is {what}" for place, what in found.items()]


def _with_settings(
    files: Sequence[tuple[str, str]], checker: Checker, paths: Sequence[str], report: Report
) -> list[tuple[str, str]]:
    """The files whose configuration can be used; of the others it is said before any work.

    Raises:
        ConfigError: none can.
    """
    wrong: dict[str, ConfigError | None] = {}
    for _, path in files:
        folder = os.path.dirname(path)
        if folder not in wrong:
            wrong[folder] = None
            try:
                checker.settings(path)
            except ConfigError as error:
                wrong[folder] = error
    wanted: list[tuple[str, str]] = []
    for name, path in files:
        refused = wrong[os.path.dirname(path)]
        if refused is None:
            wanted.append((name, path))
        else:
            _refuse(name, refused, paths, report)
    return wanted


def _refuse(name: str, error: ConfigError, paths: Sequence[str], report: Report) -> None:
    """A file is not checked, and the others are; raises the error where its file governs all that is to be checked, or
    it is about the command line."""
    if error.file is None:
        raise error
    folder = os.path.dirname(os.path.abspath(error.file))
    if all(lies_in(os.path.abspath(given), folder) for given in paths):
        raise error
    report.refuse(name, shown(error.file, error.file), error)


def _place(finding: Finding) -> tuple[object, ...]:
    return (*finding.key, finding.message)


def find_files(
    paths: Sequence[str], options: CheckOptions, configs: Configs, report: Report
) -> Iterator[tuple[str, str]]:
    """(as it is shown, absolute) of each file to be checked, once, in the order of the paths given.

    What is named file by file is checked though it be excluded, unless that is to hold for it too. Paths that are not
    there, and files that are no Python, are failures of the report, notebooks a notice; it is told what was left out.
    """
    seen: set[str] = set()
    skipped = Skipped()
    notebooks = 0
    for given in paths:
        if os.path.isdir(given):
            found: Iterable[str] = python_files(os.path.normpath(given), skipped)
            named = False
        elif os.path.exists(given):
            found, named = (os.path.normpath(given),), True
        else:
            report.failures.append(Failure(given, "there is no such file or directory"))
            continue
        is_empty = True
        for each in found:
            is_empty = is_empty and each.endswith(NOTEBOOK)
            path = os.path.abspath(each)
            if path in seen:
                continue
            seen.add(path)
            config, error = _config(configs, path)
            if _is_left_out(path, config, named=named, options=options):
                report.excluded.append(path)
                continue
            if each.endswith(NOTEBOOK) and not named:
                notebooks += 1
            elif error is not None:
                _refuse(shown(each, path), error, paths, report)
            elif named and not is_python(each):
                _leave_out(shown(each, path), options.force_exclude or config.force_exclude, report)
            else:
                yield shown(each, path), path
        if is_empty and not named:
            report.empty.append(given)
    report.not_entered += skipped.not_entered
    _tell(skipped, options, configs, report)
    if notebooks:
        plural = "s are" if notebooks > 1 else " is"
        report.notices.append(f"{notebooks} notebook{plural} skipped: only files of Python are checked")


def _leave_out(name: str, is_listed: bool, report: Report) -> None:
    """A file that is no Python. `is_listed`: a program names the files, which may take more for Python than we do."""
    message = "is not checked: it is no file of Python, neither by its ending (.py, .pyi) nor by its first line (#!)"
    hint = "the text of any file is checked on standard input: modgraph check - < FILE"
    if name.endswith(NOTEBOOK):
        message = "is not checked: it is a notebook, and only files of Python are"
        hint = f"its code as a Python file: jupyter nbconvert --to script {name}"
    if is_listed:
        report.notices.append(f"{name} {message}")
    else:
        report.failures.append(Failure(name, message, hint))


def _config(configs: Configs, path: str) -> tuple[Config, ConfigError | None]:
    """What holds for a file; where that cannot be used, nothing but the options does."""
    try:
        return configs.of(path), None
    except ConfigError as error:
        return Config(file=error.file), error


def _tell(skipped: Skipped, options: CheckOptions, configs: Configs, report: Report) -> None:
    """Says what was met below folders and not looked at; not of what is excluded."""

    def is_wanted(met: str) -> bool:
        path = os.path.abspath(met)
        return not _is_left_out(path, _config(configs, path)[0], named=False, options=options)

    links = list(filter(is_wanted, dict.fromkeys(skipped.links)))
    if links:
        why = "leads out of the folder that is checked"
        if links[0] in skipped.misnamed:
            why = "leads to a file that is not called .py or .pyi"
        first = f"{shown(links[0], os.path.abspath(links[0]))} {why}"
        number = "1 link is skipped" if len(links) == 1 else f"{len(links)} links are skipped"
        name = "it" if len(links) == 1 else "one"
        others = "" if len(links) == 1 else ", and others are alike"
        report.notices.append(f"{number}: {first}{others}; name {name} to have what it leads to checked")
    for folder, why in dict(skipped.unreadable).items():
        if is_wanted(folder):
            place = shown(folder, os.path.abspath(folder))
            report.failures.append(Failure(place, f"the folder cannot be read, and nothing in it is checked: {why}"))
    deep = list(filter(is_wanted, dict.fromkeys(skipped.too_deep)))
    if deep:
        message = too_deep(len(deep), "checked")
        place = shown(deep[0], os.path.abspath(deep[0]))
        report.failures.append(Failure(place, message, "name it to have it checked, or exclude it (--exclude)"))
    if skipped.distrusted is not None:
        error = skipped.distrusted
        what_to_do = f" ({error.hint})" if error.hint else ""
        report.notices.append(f"what git ignores is checked too: {error.message}{what_to_do}")


def shown(given: str, path: str) -> str:
    """How a file is named in results: relative to the working directory where it lies below it."""
    here = os.path.join(os.getcwd(), "")
    return (path[len(here) :] if path.startswith(here) else given).replace(os.sep, "/")


def _is_left_out(path: str, config: Config, *, named: bool, options: CheckOptions) -> bool:
    if named and not (options.force_exclude or config.force_exclude):
        return False
    patterns = (*config.exclude, *options.exclude)
    if not named and not patterns:
        return False
    relative = os.path.relpath(path, config.folder)
    return is_excluded(relative, patterns) or (
        named and not relative.startswith("..") and lies_in_none_of_ours(relative)
    )


def check_source(text: str, filename: str, options: CheckOptions) -> Outcome:
    """Checks a text as if it stood in the file of that name, which need not be there.

    Raises:
        ConfigError: a configuration, or the name of a rule, cannot be used.
    """
    from modgraph.rules.one_file import Checker, undisturbed

    checker = Checker(options)
    path = os.path.abspath(filename)
    analysing(os.path.dirname(path))
    report = Report()
    if (
        os.path.lexists(path)
        and options.force_exclude
        and not list(find_files([filename], options, checker.configs, report))
    ):
        return Outcome([], text=text)
    with undisturbed():
        return checker.check_text(text, shown(filename, path), path)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
