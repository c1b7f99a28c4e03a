"""`modgraph check` where it is asked about itself: which files, which settings, how many findings of which rule."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from modgraph.cli.console import Console
from modgraph.doors.printing import printable
from modgraph.errors import ExitStatus, ModgraphError
from modgraph.findings import Finding
from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Report
from modgraph.rules.paths import find_files, shown


def show(paths: Sequence[str], options: CheckOptions, console: Console, *, files: bool) -> ExitStatus:
    """The files that would be checked; or the settings that hold for any of them, and what is left out."""
    report = Report()
    checker = Checker(options)
    found = list(find_files(paths, options, checker.configs, report))
    for notice in report.notices:
        console.note(f"note: {notice}")
    for failure in report.failures:
        console.error(ModgraphError(failure.message, file=failure.file))
    if files:
        console.result("".join(f"{printable(name)}\n" for name, _ in found))
    elif found or report.excluded or report.not_entered:
        console.result(_all_settings([path for _, path in found], report, checker))
    return ExitStatus.FAILED if report.failures else ExitStatus.OK


def left_out(report: Report) -> list[str]:
    """What was not looked at, as sentences."""
    said = []
    if number := len(report.excluded):
        said.append(f"{number} file{' is' if number == 1 else 's are'} excluded")
    if number := len(report.not_entered):
        names = ", ".join(_names_of_folders(report))
        said.append(f"{number} folder{' is' if number == 1 else 's are'} not looked into, by name: {names}")
    return said


def _names_of_folders(report: Report) -> list[str]:
    """Each name, with how many there are."""
    counts = Counter(os.path.basename(folder) for folder in report.not_entered)
    return [name if number == 1 else f"{name} ({number})" for name, number in sorted(counts.items())]


def _all_settings(checked: Sequence[str], report: Report, checker: Checker) -> str:
    """A block for each configuration: a file in a folder of the tree may switch rules off for what is below it. One
    that excludes all that it holds for is among them."""
    examples: dict[int, str] = {}
    counts: Counter[tuple[int, str]] = Counter()
    for what, paths in (("files", checked), ("excluded", report.excluded)):
        for path in paths:
            which = id(checker.configs.of(path))
            examples.setdefault(which, path)
            counts[which, what] += 1
    blocks = [
        _settings(path, checker, counts[which, "files"], counts[which, "excluded"]) for which, path in examples.items()
    ]
    if report.not_entered:
        blocks.append(f"not looked into = {', '.join(_names_of_folders(report))}\n")
    return "\n".join(blocks)


def _settings(path: str, checker: Checker, n_files: int, n_excluded: int) -> str:
    settings = checker.settings(path)
    config = settings.config
    lines = {
        "configuration": shown(config.file, config.file) if config.file else "none",
        "folder": shown(config.folder, config.folder) if config.file else "",
        "files": str(n_files),
        "excluded files": str(n_excluded),
        "rules": ", ".join(rule.code for rule in settings.rules),
        "exclude": ", ".join((*config.exclude, *checker.options.exclude)),
        "per-file-ignores": "; ".join(
            f"{pattern}: {', '.join(codes)}" for pattern, codes in config.per_file_ignores.items()
        ),
        "force-exclude": str(config.force_exclude or checker.options.force_exclude).lower(),
        "module-bases": ", ".join(config.module_bases),
        "hidden-names": ", ".join(config.hidden_names),
        "baseline": config.baseline or "",
        "strict": str(checker.options.strict).lower(),
        "cache": checker.options.cache or "off",
    }
    return "".join(f"{name} = {printable(value)}".rstrip() + "\n" for name, value in lines.items())


def statistics(findings: Sequence[Finding], form: str) -> str:
    """The number of findings of each rule, the most frequent first."""
    counts = Counter((each.code, each.name, each.severity) for each in findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if form == "json":
        import json

        records = [{"code": code, "name": name, "severity": severity, "count": n} for (code, name, severity), n in rows]
        return json.dumps({"statistics": records}, indent=2) + "\n"
    width = len(str(max(counts.values(), default=0)))
    return "".join(f"{number:{width}}  {code}  {name}\n" for (code, name, _), number in rows)
