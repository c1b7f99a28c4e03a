"""Text -> findings: the prefilter, the facts of each class, the rules, and the comments that silence them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from modgraph.findings import Finding
from modgraph.rules import suppressions
from modgraph.rules.facts import ClassFacts, classes
from modgraph.rules.known import NO_MODULES
from modgraph.rules.names import Project
from modgraph.rules.registry import SYNTAX_ERROR
from modgraph.rules.rule import Found, Rule
from modgraph.rules.subject import FileSubject, Subject
from modgraph.source.summaries import Summary, summarize

_CLASS = re.compile(r"^[ \t]*class\s+\w+\s*\(", re.MULTILINE)
_TORCH = re.compile(r"\btorch\b|\bnn\b|Module\b|\bdef forward\b")


def check_text(
    text: str, shown: str, path: str, rules: Sequence[Rule], project: Project, ignored: Iterable[str] = ()
) -> list[Finding]:
    """The findings in a file, in order of place; `ignored` are codes that are not reported for it.

    Args:
        shown: the file as findings name it.
        path: absolute; need not exist, imports are looked up from there.
    """
    if not _CLASS.search(text) or not _TORCH.search(text):
        return suppressions.unused(text, shown, (), rules)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [_syntax_error(error, shown)]
    summary = summarize(tree)
    project.add(path, summary)
    file = FileSubject(path, shown, text, tree, summary, project)
    found = list(_findings(file, [rule for rule in rules if rule.code not in set(ignored)]))
    found.sort(key=lambda finding: finding.key)
    return suppressions.apply(text, shown, found, rules)


def _findings(file: FileSubject, rules: Sequence[Rule]) -> Iterator[Finding]:
    for node, qualname in classes(file.tree):
        if _is_surely_no_module(node, file.summary, file.project):
            continue
        subject = Subject(file, ClassFacts(node, qualname))
        for rule in rules:
            for found in rule.find(subject):
                yield _finding(rule, found, subject)


def _is_surely_no_module(node: ast.ClassDef, summary: Summary, project: Project) -> bool:
    """Told from the import statements alone."""
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        if not isinstance(name, (ast.Name, ast.Attribute)):
            return False
        text = ast.unparse(name)
        path = project.absolute(summary, text)
        if path is not None and path.partition(".")[0] in NO_MODULES:
            continue
        if path is None and text in _BUILTIN_BASES and text not in summary.classes:
            continue
        return False
    return True


_BUILTIN_BASES = frozenset(
    [
        "object",
        "Exception",
        "ValueError",
        "RuntimeError",
        "TypeError",
        "KeyError",
        "dict",
        "list",
        "str",
        "int",
        "tuple",
    ]
)


def _finding(rule: Rule, found: Found, subject: Subject) -> Finding:
    node = found.node
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    lines = subject.file.lines
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=found.message,
        file=subject.file.shown,
        line=line,
        column=_characters(lines, line, column) + 1,
        end_line=end_line,
        end_column=_characters(lines, end_line, end_column) + 1,
        class_name=subject.facts.qualname,
        attribute=found.attribute,
        related=found.related,
        fix=found.fix,
    )


def _characters(lines: Sequence[str], line: int, column: int) -> int:
    """A column of `ast`, which counts bytes of UTF-8, in characters."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return column if text.isascii() else len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))


def _syntax_error(error: BaseException, shown: str) -> Finding:
    line = getattr(error, "lineno", None) or 1
    column = getattr(error, "offset", None) or 1
    message = getattr(error, "msg", None) or str(error) or type(error).__name__
    return Finding(
        code=SYNTAX_ERROR, name="syntax-error", severity="error", message=f"not valid Python: {message}", file=shown,
        line=line, column=column, end_line=line, end_column=column + 1,
    )  # fmt: skip
