"""Findings as workflow commands of GitHub Actions, which it shows beside the changed lines.

Source: docs.github.com, "Workflow commands for GitHub Actions", and the escaping of `@actions/core`.
"""

from __future__ import annotations

from modgraph.export.findings import FindingView
from modgraph.export.findings_text import place
from modgraph.findings import Finding

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """A line each."""
    return "".join(f"{_command(each)}\n" for each in view.findings)


def _command(finding: Finding) -> str:
    properties: dict[str, object] = {"title": f"modgraph ({finding.code})", "file": finding.file or ""}
    if finding.line is not None:
        properties["line"] = finding.line
        properties["endLine"] = finding.end_line or finding.line
        if finding.column is not None and finding.end_line in (None, finding.line):
            # Columns are refused where a finding goes over several lines.
            properties["col"] = finding.column
            properties["endColumn"] = max(finding.end_column or finding.column, finding.column)
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {given}::{_data(f'{place(finding)}: {finding.code} {finding.message}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
