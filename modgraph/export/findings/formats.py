"""Findings as text: the formats there are, and findings in one of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from modgraph.findings import Finding, Fix, Severity

FINDING_FORMATS = {
    "text": "text",
    "concise": "text",
    "json": "json",
    "json-lines": "json",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "rdjson": "rdjson",
}
"""By name: the module that writes it."""


NOT_CHECKED = "not-checked"
"""What stands where the code of a rule would."""


class Described(Protocol):
    """A rule, as far as formats speak of it."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def why(self) -> str: ...


class FindingView:
    """What a format is given."""

    def __init__(
        self,
        findings: Sequence[Finding],
        *,
        files: Sequence[str] = (),
        rules: Sequence[Described] = (),
        read: Callable[[str], Sequence[str]] = lambda _file: (),
        color: bool = False,
        notes: Sequence[tuple[str, str]] = (),
        unchecked: Sequence[tuple[str, str]] = (),
        unknown: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.findings = findings
        self.files = files
        """All that were checked."""
        self.rules = rules
        self.color = color
        self.notes = notes
        """(file, what was not done with it), which keeps no finding from being told: fixes that were not tried."""
        self.unchecked = unchecked
        """(file, why it was not checked, or not to its end). Whatever is written says so: no findings are not none."""
        self.unknown = unknown
        """(file, of which of its classes it is not known what they hold, and why). It is told, and fails nothing."""
        self._read = read
        self._lines: dict[str, Sequence[str]] = {}

    def line(self, file: str | None, number: int | None) -> str:
        """A line of a file, without its end; "" where it cannot be had."""
        if file is None or number is None:
            return ""
        if file not in self._lines:
            self._lines[file] = self._read(file)
        lines = self._lines[file]
        return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""


def not_checked(view: FindingView) -> list[Finding]:
    """What was not checked, or is not known, as findings without a rule, for formats that have nothing else."""
    told: list[tuple[Severity, Sequence[tuple[str, str]]]] = [("error", view.unchecked), ("info", view.unknown)]
    return [
        Finding(code=NOT_CHECKED, name=NOT_CHECKED, severity=severity, message=message, file=file)
        for severity, files in told
        for file, message in files
    ]


def render_findings(view: FindingView, name: str) -> str:
    """The findings in a format of `FINDING_FORMATS`; "" where it says nothing of none."""
    module = importlib.import_module(f"modgraph.export.findings.{FINDING_FORMATS[name]}")
    rendered: str = module.render(view, name)
    return rendered


def record(finding: Finding) -> dict[str, Any]:
    """A finding as JSON values; columns are 1-based and counted in characters, ends exclusive."""
    found: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "class": finding.class_name,
        "attribute": finding.attribute,
        "fix": None if finding.fix is None else _fix(finding.fix),
    }
    related = [{"line": each.line, "column": each.column, "message": each.message} for each in finding.related]
    return {**found, "related": related}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {
            "line": edit.line,
            "column": edit.column + 1,
            "end_line": edit.end_line,
            "end_column": edit.end_column + 1,
            "text": edit.text,
        }
        for edit in fix.edits
    ]
    return {"description": fix.description, "applicability": "safe" if fix.safe else "unsafe", "edits": edits}


def fingerprints(findings: Sequence[Finding]) -> list[str]:
    """A name for each finding that stays when lines move: made of file, code, class, attribute, and which of several
    alike it is."""
    from hashlib import blake2b

    seen: dict[str, int] = {}
    names: list[str] = []
    for each in findings:
        what = "\0".join([each.file or "", each.code, each.class_name or "", each.attribute or ""])
        seen[what] = seen.get(what, 0) + 1
        names.append(blake2b(f"{what}\0{seen[what]}".encode("utf-8", "replace"), digest_size=16).hexdigest())
    return names
