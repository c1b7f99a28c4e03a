"""Paths -> findings: which files are checked, under which settings, from the cache where nothing has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.config import Config, Configs
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Failure, Outcome, Report
from modgraph.source.files import NOTEBOOK, is_excluded, lies_in_none_of_ours, python_files

if TYPE_CHECKING:
    from modgraph.findings import Finding

POOL_FROM = 200
"""Files to be checked from which on several processes are started; below, starting them costs more than it spares."""


def check_paths(paths: Sequence[str], options: CheckOptions) -> Report:
    """Checks files and folders; what goes wrong with one file keeps no other from being checked.

    Raises:
        ConfigError: a configuration, or the name of a rule, cannot be used.
    """
    from modgraph.rules.one_file import ALWAYS_KEPT_FROM, Checker, undisturbed

    report = Report()
    checker = Checker(options)
    wanted = list(find_files(paths, options, checker.configs, report))
    for path in {os.path.dirname(path): path for _, path in wanted}.values():
        checker.settings(path)  # a configuration that cannot be used is said before any work
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
    return report


def _place(finding: Finding) -> tuple[object, ...]:
    return (*finding.key, finding.message)


def find_files(
    paths: Sequence[str], options: CheckOptions, configs: Configs, report: Report
) -> Iterator[tuple[str, str]]:
    """(as it is shown, absolute) of each file to be checked, once, in the order of the paths given.

    What is named file by file is checked whatever its name is, and though it be excluded, unless that is to hold for
    it too. Paths that are not there are failures of the report, notebooks a notice.
    """
    seen: set[str] = set()
    leading_out: list[str] = []
    notebooks = 0
    for given in paths:
        if os.path.isdir(given):
            found: Iterable[str] = python_files(os.path.normpath(given), leading_out)
            named = False
        elif os.path.exists(given):
            found, named = (os.path.normpath(given),), True
        else:
            report.failures.append(Failure(given, "there is no such file or directory"))
            continue
        for each in found:
            path = os.path.abspath(each)
            if path in seen:
                continue
            seen.add(path)
            if _is_left_out(path, configs.of(path), named=named, options=options):
                continue
            if each.endswith(NOTEBOOK):
                notebooks += 1
            else:
                yield shown(each, path), path
    if leading_out:
        plural = "s are" if len(leading_out) > 1 else " is"
        report.notices.append(f"{len(leading_out)} link{plural} skipped: what is outside of the folder is not checked")
    if notebooks:
        plural = "s are" if notebooks > 1 else " is"
        report.notices.append(f"{notebooks} notebook{plural} skipped: only files of Python are checked")


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
