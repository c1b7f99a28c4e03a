"""`modgraph check [PATH...]`: looks for mistakes in models; what it finds, and what it fixed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from modgraph.cli.arguments import count
from modgraph.errors import ConfigError, ExitStatus, ModgraphError
from modgraph.names import plural

if TYPE_CHECKING:
    from modgraph.cli.console import Console
    from modgraph.findings import Finding
    from modgraph.rules.options import CheckOptions
    from modgraph.rules.outcomes import Outcome, Report
    from modgraph.rules.rule import Rule

FORMATS = ("text", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson")
_SEVERITIES = ("info", "warning", "error")
_FOR_PEOPLE = ("text", "concise")

_EPILOG = """\
examples:
  modgraph check src/
  modgraph check --fix --unsafe-fixes --diff model.py
  modgraph check --select ALL --format sarif -o findings.sarif
  modgraph check --explain MG101

A finding is silenced by `# modgraph: ignore[MG101] reason` on its line or above it.

exit status:
  0 nothing found   1 findings   2 a path or the configuration could not be used
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s [PATH...] [options]", _EPILOG
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders; - is standard input; default: .")
    what = parser.add_argument_group("rules")
    what.add_argument("--select", action="append", metavar="RULES", help="codes, names, prefixes of codes, or ALL")
    what.add_argument(
        "--extend-select", action="append", metavar="RULES", help="rules, in addition to the configuration"
    )
    what.add_argument("--ignore", action="append", metavar="RULES", help="rules to leave out")
    what.add_argument("--strict", action="store_true", help="also report what is only possible")
    what.add_argument(
        "--fail-on",
        choices=_SEVERITIES,
        default="warning",
        metavar="LEVEL",
        help="exit 1 for info, warning or error and above",
    )
    what.add_argument("--exit-zero", action="store_true", help="exit 0 whatever is found")
    what.add_argument("--baseline", metavar="FILE", help="do not report the findings in this file")
    what.add_argument("--write-baseline", metavar="FILE", help="write the present findings to this file")
    files = parser.add_argument_group("files and configuration")
    files.add_argument("--exclude", action="append", metavar="PATTERN", help="paths, in addition to the configuration")
    files.add_argument("--force-exclude", action="store_true", help="also exclude files named one by one")
    files.add_argument("--no-empty", action="store_true", help="exit 2 if there is nothing to check")
    files.add_argument("--stdin-filename", metavar="FILE", help="the file name to assume for -")
    files.add_argument("--config", action="append", metavar="FILE|KEY=VALUE", help="a file, or a key of it in TOML")
    files.add_argument("--isolated", action="store_true", help="read no configuration")
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument("--fix", action="store_true", help="make safe fixes, which change no behaviour")
    fixes.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: also the other fixes")
    fixes.add_argument("--diff", action="store_true", help="print what --fix would do; exit 1 if anything")
    fixes.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit 1 if anything was fixed")
    output = parser.add_argument_group("results")
    output.add_argument("--format", choices=FORMATS, metavar="NAME", help=", ".join(FORMATS))
    output.add_argument("-o", "--output", metavar="FILE", help="write the findings to this file")
    output.add_argument("--statistics", action="store_true", help="the number of findings of each rule")
    output.add_argument("--explain", metavar="CODE", help="a rule with examples; ALL for every rule")
    output.add_argument("--show-files", action="store_true", help="the files that would be checked")
    output.add_argument("--show-settings", action="store_true", help="the configurations that would be used")
    files.add_argument("--no-cache", action="store_true", help="use no cached findings, and cache none")
    files.add_argument("--cache-dir", metavar="DIR", help="where findings are cached")
    files.add_argument("-j", "--jobs", type=count, metavar="N", help="processes; default: as many as make it faster")


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Check, fix, report."""
    if arguments.explain is not None:
        return _explain(arguments, console)
    options = _options(arguments)
    paths = arguments.paths or ["."]
    if "-" in paths:
        return _check_input(arguments, options, console)
    if arguments.show_files or arguments.show_settings:
        from modgraph.cli.check_settings import show

        return show(paths, options, console, files=arguments.show_files)
    from modgraph.rules.paths import check_paths

    report = check_paths(paths, options._replace(tells_imports=console.verbose))
    for notice in report.notices:
        console.note(f"note: {notice}")
    if console.verbose:
        from modgraph.cli.check_settings import left_out

        for notice in left_out(report):
            console.note(f"note: {notice}")
    for file, number in report.untried.items():
        fixes = "1 fix is" if number == 1 else f"{number} fixes are"
        console.note(f"note: {file}: {fixes} not offered, as trying them takes too much work")
    if report.changes:
        from modgraph.cli.fixed import notes

        for notice in notes(report.changes):
            console.note(f"note: {notice}")
    status = max(_say_what_failed(report, console), _say_what_is_empty(report, console, fails=arguments.no_empty))
    if arguments.diff:
        return max(status, _diff(report, console, unsafe=arguments.unsafe_fixes))
    return max(status, _report(report, arguments, console))


def _say_what_failed(report: Report, console: Console) -> ExitStatus:
    """What could not be checked: a check of which that is not known is not clean. Of a class that is too much it is
    unknown what it holds, as of a base that is not found: that is told, and fails nothing."""
    for file, classes in report.cut.items():
        name, why = classes[0]
        more = f", and {len(classes) - 1} more" if classes[1:] else ""
        console.note(f"note: {file}: class {name!r} is not followed to its end: {why}{more}")
    for failure in report.failures:
        console.error(ModgraphError(failure.message, file=failure.file, hint=failure.hint))
        if console.debug and failure.trace:
            console.notes(failure.trace.rstrip())
    return ExitStatus.FAILED if report.failures else ExitStatus.OK


def _say_what_is_empty(report: Report, console: Console, *, fails: bool) -> ExitStatus:
    """Of folders without any file of Python: a wrong path must not pass for a clean one."""
    for folder in report.empty:
        message = f"there is no file of Python in {folder}: nothing was checked there"
        if fails:
            console.error(ModgraphError(message, hint="name another folder, or leave out --no-empty"))
        else:
            console.warning(message)
    is_all_excluded = not report.files and bool(report.excluded) and not report.failures
    if is_all_excluded:
        files = plural(len(report.excluded), "file")
        console.warning(f"all that was named is excluded ({files}): nothing was checked")
    return ExitStatus.FAILED if fails and (report.empty or is_all_excluded) else ExitStatus.OK


def _options(arguments: argparse.Namespace) -> CheckOptions:
    from modgraph.rules.options import CheckOptions

    if arguments.stdin_filename is not None and "-" not in arguments.paths:
        raise ConfigError("--stdin-filename is of no use without -", hint="modgraph check - --stdin-filename model.py")
    if arguments.write_baseline and (arguments.fix or arguments.diff or arguments.baseline):
        raise ConfigError("--write-baseline goes with neither --fix nor --diff nor --baseline")
    is_fixing = arguments.fix or arguments.diff
    return CheckOptions(
        select=None if arguments.select is None else _words(arguments.select),
        extend_select=_words(arguments.extend_select),
        ignore=_words(arguments.ignore),
        exclude=tuple(arguments.exclude or ()),
        force_exclude=arguments.force_exclude,
        isolated=arguments.isolated,
        config=tuple(arguments.config or ()),
        strict=arguments.strict,
        fix="no" if not is_fixing else "unsafe" if arguments.unsafe_fixes else "safe",
        write=not arguments.diff,
        cache=_cache(arguments),
        jobs=arguments.jobs,
    )


def _words(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(word.strip() for text in given or () for word in text.split(",") if word.strip())


def _cache(arguments: argparse.Namespace) -> str | None:
    """Where findings are kept; what the interpreter keeps of files goes there too."""
    if arguments.no_cache:
        os.environ["MODGRAPH_CACHE"] = "off"
    elif arguments.cache_dir:
        os.environ["MODGRAPH_CACHE"] = os.path.abspath(arguments.cache_dir)
    from modgraph.source.cache_home import cache_home

    return cache_home()


def _report(report: Report, arguments: argparse.Namespace, console: Console, text: str | None = None) -> ExitStatus:
    if arguments.write_baseline:
        return _write_baseline(report, arguments.write_baseline, console)
    findings, known = report.findings, 0
    file = arguments.baseline or _configured_baseline(arguments)
    if file is not None:
        from modgraph.rules.baseline import Baseline

        baseline = Baseline.read(file)
        findings = baseline.hide(findings)
        known = len(report.findings) - len(findings)
        for sentence in baseline.stale(report.findings, report.files):
            console.warning(f"{sentence}: the entry in {file} can go (--write-baseline)")
    _show(findings, report, arguments, console, known, text)
    if arguments.exit_zero:
        return ExitStatus.OK
    if arguments.exit_non_zero_on_fix and report.changes:
        return ExitStatus.PARTIAL
    return ExitStatus.PARTIAL if _fails(findings, arguments.fail_on) else ExitStatus.OK


def _fails(findings: Sequence[Finding], fail_on: str) -> bool:
    return any(_SEVERITIES.index(each.severity) >= _SEVERITIES.index(fail_on) for each in findings)


def _configured_baseline(arguments: argparse.Namespace) -> str | None:
    """Of the configuration that holds for the working directory."""
    from modgraph.config import Configs
    from modgraph.doors.borders import JSON_FILES, border_around

    configs = Configs(arguments.isolated, tuple(arguments.config or ()))
    config = configs.of(os.path.join(os.getcwd(), "-"))
    if config.baseline is None:
        return None
    file = os.path.join(config.folder, config.baseline)
    refusal = None if configs.names_baseline else border_around(config.folder).refusal(file, JSON_FILES)
    if refusal is not None:
        raise ConfigError(
            f"the baseline {config.baseline!r} {refusal}, and is not read",
            file=config.file,
            hint="name it on the command line, if it is meant: --baseline FILE",
        )
    return os.path.relpath(file)


def _write_baseline(report: Report, file: str, console: Console) -> ExitStatus:
    from modgraph.rules import baseline

    _write(file, baseline.text(file, report.findings))
    number = len(report.findings)
    are = "finding is" if number == 1 else "findings are"
    console.note(f"wrote {file}: {number} {are} known from now on")
    return ExitStatus.OK


def _show(
    findings: Sequence[Finding],
    report: Report,
    arguments: argparse.Namespace,
    console: Console,
    known: int,
    source: str | None,
) -> None:
    form = arguments.format or "text"
    if arguments.statistics:
        from modgraph.cli.check_settings import statistics

        text = statistics(findings, form)
    elif findings or form not in _FOR_PEOPLE:
        color = console.color and not arguments.output
        untried = [(file, f"{number} fixes not tried") for file, number in report.untried.items()]
        text = rendered(
            findings,
            report.files,
            form,
            color=color,
            text=source,
            notes=untried,
            unchecked=_unchecked(report),
            unknown=_unknown(report),
        )
    else:
        text = ""
    if arguments.output:
        _write(arguments.output, text)
    elif text:
        if form in _FOR_PEOPLE:
            console.result(text)
        else:
            console.document(text)
    if form in _FOR_PEOPLE and not console.quiet and (report.files or not report.failures):
        summary = _summary(findings, report, known)
        if arguments.output:
            console.note(summary)
        else:
            console.result(summary)


def rendered(
    findings: Sequence[Finding],
    files: Sequence[str],
    form: str,
    *,
    color: bool = False,
    text: str | None = None,
    notes: Sequence[tuple[str, str]] = (),
    unchecked: Sequence[tuple[str, str]] = (),
    unknown: Sequence[tuple[str, str]] = (),
) -> str:
    """Findings in a format; `text` is what they were found in, where that is no file. `notes` say of files which fixes
    were not tried, `unchecked` what was not checked, and `unknown` of which classes it is not known what they hold."""
    from modgraph.doors.reading import read as read_file
    from modgraph.export.findings.formats import FindingView, render_findings
    from modgraph.source.files import decode, lines_of

    def read(file: str) -> list[str]:
        if text is not None:
            return lines_of(text)
        try:
            return lines_of(decode(read_file(file)))
        except (OSError, SyntaxError):
            return []

    rules: Sequence[Rule] = ()
    if form == "sarif":
        from modgraph.rules.registry import rules as all_rules

        rules = all_rules()
    view = FindingView(
        findings, files=files, rules=rules, read=read, color=color, notes=notes, unchecked=unchecked, unknown=unknown
    )
    return render_findings(view, form)


def _unchecked(report: Report) -> list[tuple[str, str]]:
    """(file, why it is not checked, or not to its end), for programs that read the findings."""
    failures = [(each.file, each.message) for each in report.failures]
    failures += [(file, "is not checked: its configuration cannot be used") for file in report.unchecked]
    return failures


def _unknown(report: Report) -> list[tuple[str, str]]:
    """(file, which class is too much to be followed, and why), for the same."""
    return [
        (file, f"class {name!r} is not followed to its end: {why}")
        for file, classes in report.cut.items()
        for name, why in classes
    ]


def _summary(findings: Sequence[Finding], report: Report, known: int) -> str:
    failed = len({each.file for each in report.failures if not each.is_checked} & set(report.files))
    checked = len(report.files) - failed
    where = f"{checked} file{'' if checked == 1 else 's'}"
    fixed = sum(len(change.fixed) for change in report.changes)
    parts = [f"{len(findings)} finding{'' if len(findings) == 1 else 's'}" if findings else "nothing found"]
    counts = {name: sum(each.severity == name for each in findings) for name in reversed(_SEVERITIES)}
    if findings:
        parts[0] += f" ({', '.join(f'{number} {name}' for name, number in counts.items() if number)})"
    parts[0] += f" in {where}"
    if failed or report.unchecked:
        parts.append(f"{failed + len(report.unchecked)} not checked")
    cut = sum(map(len, report.cut.values()))
    if cut:
        parts.append(f"{cut} class{'' if cut == 1 else 'es'} not followed to {'its' if cut == 1 else 'their'} end")
    if report.unresolved:
        number = len(report.unresolved)
        whose = "whose classes are" if number == 1 else "the classes of which are"
        parts.append(f"{plural(number, 'base')} not found, {whose} not judged")
    if fixed:
        parts.append(f"{fixed} fixed")
    if report.taken_back:
        parts.append(f"{report.taken_back} fix{'' if report.taken_back == 1 else 'es'} taken back")
    untried = sum(report.untried.values())
    if untried:
        parts.append(f"{untried} fix{'' if untried == 1 else 'es'} not tried")
    if known:
        parts.append(f"{known} known from the baseline")
    safe = sum(each.fix is not None and each.fix.safe for each in findings)
    unsafe = sum(each.fix is not None and not each.fix.safe for each in findings)
    if safe:
        parts.append(f"{safe} can be fixed with --fix")
    if unsafe:
        parts.append(
            f"{unsafe} with --fix --unsafe-fixes" if safe else f"{unsafe} can be fixed with --fix --unsafe-fixes"
        )
    return "; ".join(parts)


def _diff(report: Report, console: Console, *, unsafe: bool) -> ExitStatus:
    """Prints what fixes would change."""
    for change in report.changes:
        _print_patch(_unified(change.file, change.before, change.after), change.file, console)
    number = len(report.changes)
    if not console.quiet:
        files = f"{number} file{'' if number == 1 else 's'}"
        left = sum(each.fix is not None for each in report.findings)
        more = f"; {left} more can be fixed with --unsafe-fixes" if left and not unsafe else ""
        console.note(f"{files} would be changed{more}" if number else f"nothing would be changed{more}")
    return ExitStatus.PARTIAL if number else ExitStatus.OK


def _unified(file: str, before: str, after: str) -> str:
    from difflib import unified_diff

    from modgraph.source.files import lines_of

    lines = unified_diff(lines_of(before), lines_of(after), f"{file}", f"{file}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _print_patch(patch: str, file: str, console: Console) -> None:
    """A patch for people and for `git apply`; not for the latter where a line would act on a terminal or in a log."""
    from modgraph.doors.printing import block

    lines = patch.replace("\r\n", "\n")
    if block(lines) == lines:
        console.document(patch)
    else:
        console.result(lines)
        console.note(f"note: {file} has characters that are not shown: this is no patch to apply; --fix fixes the file")


def _check_input(arguments: argparse.Namespace, options: CheckOptions, console: Console) -> ExitStatus:
    """Checks standard input; with --fix the fixed text is the result, and findings go to standard error."""
    from modgraph.rules.outcomes import Report
    from modgraph.rules.paths import check_source
    from modgraph.source.files import decode, encoding_of

    if len(arguments.paths) > 1:
        raise ConfigError("- is standard input, and goes with no other path")
    name = arguments.stdin_filename or "-"
    if sys.stdin is None:
        raise ConfigError("- is standard input, which is closed")
    data = sys.stdin.buffer.read()
    report = Report()
    try:
        text = decode(data)
        outcome = check_source(text, name, options)
    except SyntaxError as error:
        from modgraph.rules.check import syntax_error

        report.add(name, _of(syntax_error(error, name)))
        if arguments.fix:
            console.result_bytes(data)
        return _report(report, arguments, console)
    report.add(name, outcome)
    status = _say_what_failed(report, console)
    if arguments.diff:
        return max(status, _diff(report, console, unsafe=arguments.unsafe_fixes))
    if arguments.fix:
        console.result_bytes((outcome.text if outcome.text is not None else text).encode(encoding_of(data)))
        if outcome.findings:
            console.notes(rendered(outcome.findings, [name], "concise", text=outcome.text).rstrip("\n"))
        failed = _fails(outcome.findings, arguments.fail_on) or (arguments.exit_non_zero_on_fix and report.changes)
        return max(status, ExitStatus.PARTIAL if failed and not arguments.exit_zero else ExitStatus.OK)
    return max(status, _report(report, arguments, console, text))


def _of(finding: Finding) -> Outcome:
    from modgraph.rules.outcomes import Outcome

    return Outcome([finding])


def _explain(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    from modgraph.rules import explain
    from modgraph.rules.registry import meant, rules

    chosen = meant(arguments.explain)
    if arguments.format in ("json", "json-lines"):
        import json

        records = explain.records(chosen)
        from modgraph.doors.printing import json_text

        text = json_text(json.dumps({"rules": records}, indent=2, ensure_ascii=False))
        if arguments.format == "json-lines":
            text = "\n".join(json_text(json.dumps(each, ensure_ascii=False)) for each in records)
    else:
        text = explain.page(chosen) if chosen == rules() else explain.markdown(chosen)
    if arguments.output:
        _write(arguments.output, text)
    else:
        console.document(text)
    return ExitStatus.OK


def _write(file: str, text: str) -> None:
    from modgraph.export.files import write_file

    write_file(file, text)
