"""`modgraph check` where it is asked about itself: which files, which settings, how many findings of which rule."""

from __future__ import annotations

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
    """The files that would be checked, or the settings of the first of them."""
    report = Report()
    checker = Checker(options)
    found = list(find_files(paths, options, checker.configs, report))
    for failure in report.failures:
        console.error(ModgraphError(failure.message, file=failure.file))
    if files:
        console.result("".join(f"{printable(name)}\n" for name, _ in found))
    elif found:
        console.result(_settings(found[0][1], checker))
    return ExitStatus.FAILED if report.failures else ExitStatus.OK


def _settings(path: str, checker: Checker) -> str:
    settings = checker.settings(path)
    config = settings.config
    lines = {
        "configuration": shown(config.file, config.file) if config.file else "none",
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
