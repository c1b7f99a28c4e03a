"""Findings as JUnit's XML, which most build servers show: a suite per file, a failed case per finding."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from modgraph.doors.printing import xml_text
from modgraph.export.findings.formats import NOT_CHECKED, FindingView
from modgraph.findings import Finding


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """All files that were checked; one in which nothing is found is a case that passed."""
    by_file: dict[str, list[Finding]] = {file: [] for file in view.files}
    for finding in view.findings:
        by_file.setdefault(finding.file or "", []).append(finding)
    told: dict[str, list[tuple[str, str]]] = {}
    for element, files in (("error", view.unchecked), ("skipped", view.unknown)):
        for file, message in files:
            by_file.setdefault(file, [])
            told.setdefault(file, []).append((element, message))
    cases = sum(max(1, len(found) + len(told.get(file, ()))) for file, found in by_file.items())
    failures = len(view.findings)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(f'<testsuites name="modgraph" tests="{cases}" failures="{failures}" errors="{len(view.unchecked)}">')
    for file, found in by_file.items():
        others = told.get(file, [])
        count = max(1, len(found) + len(others))
        errors = sum(element == "error" for element, _ in others)
        lines.append(
            f'  <testsuite name={_attribute(file)} tests="{count}" failures="{len(found)}" errors="{errors}" '
            f'skipped="{len(others) - errors}" package="modgraph">'
        )
        lines.extend(_case(each) for each in found)
        lines.extend(_not_done(file, *each) for each in others)
        if not found and not others:
            lines.append(f'    <testcase name="modgraph" classname={_attribute(file)} />')
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _case(finding: Finding) -> str:
    place = f"line {finding.line}, column {finding.column}: " if finding.line is not None else ""
    head = f"    <testcase name={_attribute(finding.code)} classname={_attribute(finding.file or '')}"
    place_of = f' line="{finding.line}" column="{finding.column}">' if finding.line is not None else ">"
    return (
        f"{head}{place_of}<failure message={_attribute(finding.message)} type={_attribute(finding.severity)}>"
        f"{_content(place + finding.message)}</failure></testcase>"
    )


def _not_done(file: str, element: str, message: str) -> str:
    head = f"    <testcase name={_attribute(NOT_CHECKED)} classname={_attribute(file)}>"
    return f"{head}<{element} message={_attribute(message)}>{_content(message)}</{element}></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(xml_text(text))


def _content(text: str) -> str:
    return escape(xml_text(text), {"\n": "&#10;"})
