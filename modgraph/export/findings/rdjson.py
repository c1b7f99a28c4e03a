"""Findings in the format of reviewdog. Source: its `proto/rdf/reviewdog.proto`; columns count bytes there, and its
reporters post the message in a comment, which is Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from modgraph.doors.printing import json_text, markdown
from modgraph.export.findings.formats import FindingView, not_checked
from modgraph.findings import Edit, Finding

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """One `DiagnosticResult`."""
    result = {
        "source": {"name": "modgraph"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(each, view) for each in (*view.findings, *not_checked(view))],
    }
    return json_text(json.dumps(result, indent=2, ensure_ascii=False)) + "\n"


def _diagnostic(finding: Finding, view: FindingView) -> dict[str, Any]:
    file = finding.file
    found: dict[str, Any] = {
        "message": markdown(finding.message),
        "location": {"path": file or ""},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if finding.line is not None:
        end = (finding.end_line or finding.line, finding.end_column or finding.column or 1)
        start = (finding.line, finding.column or 1)
        found["location"]["range"] = {"start": _position(view, file, *start), "end": _position(view, file, *end)}
    if finding.fix is not None:
        found["suggestions"] = [_suggestion(finding.fix.edits, file, view)]
    return found


def _suggestion(edits: Sequence[Edit], file: str | None, view: FindingView) -> dict[str, Any]:
    """All edits as one: several suggestions would be several ways to fix it."""
    ordered = sorted(edits, key=lambda edit: (edit.line, edit.column))
    start = (ordered[0].line, ordered[0].column)
    text, place = "", start
    for edit in ordered:
        text += _between(view, file, place, (edit.line, edit.column)) + edit.text
        place = max(place, (edit.end_line, edit.end_column))
    begin = _position(view, file, start[0], start[1] + 1)
    return {"range": {"start": begin, "end": _position(view, file, place[0], place[1] + 1)}, "text": text}


def _between(view: FindingView, file: str | None, start: tuple[int, int], end: tuple[int, int]) -> str:
    lines = [view.line(file, number) for number in range(start[0], end[0] + 1)]
    if len(lines) <= 1:
        return lines[0][start[1] : end[1]] if lines else ""
    return "\n".join([lines[0][start[1] :], *lines[1:-1], lines[-1][: end[1]]])


def _position(view: FindingView, file: str | None, line: int, column: int) -> dict[str, int]:
    before = view.line(file, line)[: column - 1]
    return {"line": line, "column": column + len(before.encode("utf-8", "replace")) - len(before)}
