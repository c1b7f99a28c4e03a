"""Text -> findings: the prefilter, the facts of each class, the rules, and the comments that silence them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.rules import false_comments, local_classes, suppressions
from modgraph.rules.containers import UNDECIDED
from modgraph.rules.edits import characters
from modgraph.rules.facts import ClassFacts, classes
from modgraph.rules.names import Project
from modgraph.rules.registry import SYNTAX_ERROR, UNUSED_IGNORE
from modgraph.rules.rule import Found, Rule
from modgraph.rules.subject import FileSubject, Subject
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.mangling import as_written, spell_private
from modgraph.source.module_classes import OF_NO_MODULES, makes_no_modules
from modgraph.source.refusing_text import TooMuchError
from modgraph.source.summaries import Summary, summarize

if TYPE_CHECKING:
    from modgraph.findings import Finding

_CLASS = re.compile(r"(?:^|\r)[ \t\f]*class\s+(\w+)\s*(?:\[[^(]{0,1000})?\(\s*([^)]*)", re.MULTILINE)
_TORCH = re.compile(r"\btorch\b|\bnn\b|Module\b|\bdef forward\b")
_BUILTIN_BASES = frozenset(dir(builtins)) | {"ABC", "Enum", "Flag", "Generic", "IntEnum", "NamedTuple", "Protocol"}
_BUILTIN_BASES |= {"StrEnum", "TestCase", "Thread", "TypedDict"}
"""Of classes that are no modules."""


def may_hold_modules(text: str) -> bool:
    """Whether a file is worth parsing: it has a class that speaks of torch, or whose base may be a module elsewhere."""
    if "class" not in text or _CLASS.search(text) is None:
        return False
    if _TORCH.search(text) is not None:
        return True
    if "self." not in text:
        return False
    found = [(match[1], match[2]) for match in _CLASS.finditer(text)]
    own = {name for name, _ in found}
    return any(_may_be_a_module(base, own) for _, bases in found for base in bases.split(","))


def _may_be_a_module(base: str, own: Collection[str]) -> bool:
    first, _, rest = re.split(r"[\[(]", base.strip(), maxsplit=1)[0].partition(".")
    if not first.isidentifier() or "=" in base:
        return False
    return not (first in own or first in OF_NO_MODULES or (rest or first) in _BUILTIN_BASES)


def check_text(
    text: str,
    shown: str,
    path: str,
    rules: Sequence[Rule],
    project: Project,
    ignored: Collection[str] = (),
    only: Collection[str] | None = None,
) -> list[Finding]:
    """The findings in a file, in order of place; `ignored` are codes that are not reported for it.

    Args:
        shown: the file as findings name it.
        path: absolute; need not exist, imports are looked up from there.
        only: qualified names of the classes that are looked at; None for all. Of comments that silence nothing it is
            said nothing then.
    """
    if only is not None:
        ignored = {*ignored, UNUSED_IGNORE}
    try:
        tree = parse(text)
        spell_private(tree, text)
        if not (may_hold_modules(text) or _may_be_found(text, rules)):
            return suppressions.apply(text, shown, (), rules, ignored)
        summary = summarize(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ValueError) and "null" not in str(error):
            raise
        if isinstance(error, TooMuchError) and not may_hold_modules(text):
            return []  # a table of data: there is nothing in it to check
        reported = SYNTAX_ERROR not in ignored and any(rule.code == SYNTAX_ERROR for rule in rules)
        return [syntax_error(error, shown)] if reported else []
    # What is raised from here on is a mistake of a rule, and says nothing of the file.
    project.add(path, summary, tree, text)
    file = FileSubject(path, shown, text, tree, summary, project)
    project.work_apart = 0
    found = list(_findings(file, [rule for rule in rules if rule.code not in ignored], only))
    found.sort(key=lambda finding: finding.key)
    return suppressions.apply(text, shown, found, rules, ignored, file.notes.get(UNDECIDED, ()))


def _may_be_found(text: str, rules: Iterable[Rule]) -> bool:
    """A rule that looks at whole files may find something in it."""
    return any(word in text for rule in rules if rule.find_in_file for word in rule.words)


def _findings(file: FileSubject, rules: Sequence[Rule], only: Collection[str] | None) -> Iterator[Finding]:
    for rule in rules if only is None else ():
        if rule.find_in_file is not None and (not rule.words or any(word in file.text for word in rule.words)):
            yield from (_finding(rule, found, file, None) for found in rule.find_in_file(file))
    for node, qualname in classes(file.tree):
        if only is not None and qualname not in only:
            continue
        bound = local_classes.told(file.tree, node) if "<locals>" in qualname else {}
        if not bound:
            yield from _of_class(file, node, qualname, rules)
            continue
        summary = local_classes.described(file.summary, bound)
        seen = file.seen_with(summary)
        with file.project.described(file.path, summary):
            found = list(_of_class(seen, node, qualname, rules))
        file.notes.setdefault(UNDECIDED, []).extend(seen.notes.get(UNDECIDED, ()))
        yield from found


def _of_class(file: FileSubject, node: ast.ClassDef, qualname: str, rules: Sequence[Rule]) -> Iterator[Finding]:
    if _is_surely_no_module(node, file.summary, file.project):
        return
    subject = Subject(file, ClassFacts(node, qualname))
    for rule in rules:
        for found in rule.find(subject):
            yield _finding(rule, found, file, subject.facts.qualname)


def _is_surely_no_module(node: ast.ClassDef, summary: Summary, project: Project) -> bool:
    """Told from the import statements alone."""
    for base in node.bases:
        text = dotted(base.value if isinstance(base, ast.Subscript) else base)
        if text is None:
            return False
        path = project.absolute(summary, text)
        if path is not None and makes_no_modules(path):
            continue
        if path is None and text in _BUILTIN_BASES and text not in summary.classes:
            continue
        return False
    return True


def _finding(rule: Rule, found: Found, file: FileSubject, qualname: str | None) -> Finding:
    from modgraph.findings import Finding

    lines = file.lines
    line, column, end_line, end_column = _span(found.node, lines)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=found.severity or rule.severity,
        message=as_written(found.message, qualname.split(".") if qualname else []),
        file=file.shown,
        line=line,
        column=column + 1,
        end_line=end_line,
        end_column=end_column + 1,
        class_name=qualname,
        attribute=found.attribute,
        related=found.related,
        fix=false_comments.named(found.fix, lines) if found.fix is not None else None,
    )


def _span(node: ast.AST, lines: Sequence[str]) -> tuple[int, int, int, int]:
    """Lines, and columns in characters; of what has a body, its header's first line."""
    line = getattr(node, "lineno", 1)
    column = characters(lines, line, getattr(node, "col_offset", 0))
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return line, column, line, len(lines[line - 1].split("#")[0].rstrip()) if line <= len(lines) else column
    end_line = getattr(node, "end_lineno", None) or line
    return line, column, end_line, characters(lines, end_line, getattr(node, "end_col_offset", None) or 0)


def syntax_error(error: BaseException, shown: str) -> Finding:
    """What is said of a file that cannot be read as Python."""
    from modgraph.findings import Finding

    line = max(getattr(error, "lineno", None) or 1, 1)
    column = max(getattr(error, "offset", None) or 1, 1)
    message = getattr(error, "msg", None) or str(error)
    if isinstance(error, (RecursionError, MemoryError)):
        message = "nested too deeply to be read"
    message = f"not checked: {message}" if isinstance(error, TooMuchError) else f"not valid Python: {message}"
    return Finding(
        code=SYNTAX_ERROR, name="syntax-error", severity="error", message=message, file=shown,
        line=line, column=column, end_line=line, end_column=column + 1,
    )  # fmt: skip
