"""Findings as workflow commands of GitHub Actions, which it shows beside the changed lines.

Source: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from modgraph.doors.printing import workflow_command
from modgraph.export.findings.formats import FindingView, not_checked
from modgraph.export.findings.text import place
from modgraph.findings import Finding

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """A line each."""
    return "".join(f"{_command(each)}\n" for each in (*view.findings, *not_checked(view)))


def _command(finding: Finding) -> str:
    properties: dict[str, object] = {"title": f"modgraph ({finding.code})", "file": finding.file or ""}
    if finding.line is not None:
        properties["line"] = finding.line
        properties["endLine"] = finding.end_line or finding.line
        if finding.column is not None and finding.end_line in (None, finding.line):
            # Columns are refused where a finding goes over several lines.
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.end_column or finding.column, finding.column)
    return workflow_command(
        _COMMANDS[finding.severity], properties, f"{place(finding)}: {finding.code} {finding.message}"
    )
