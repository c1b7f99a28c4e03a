"""Findings as SARIF 2.1.0, for code scanning. Source: the OASIS standard; what GitHub takes of it is in its docs."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from modgraph._version import __version__
from modgraph.doors.printing import json_text
from modgraph.export.findings.formats import Described, FindingView, fingerprints
from modgraph.findings import Edit, Finding, Related

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """One run, with the rules that found something."""
    used = {finding.code for finding in view.findings}
    rules = [rule for rule in view.rules if rule.code in used]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        _result(finding, fingerprint, numbers)
        for finding, fingerprint in zip(view.findings, fingerprints(view.findings), strict=True)
    ]
    driver = {
        "name": "modgraph",
        "version": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if view.unchecked or view.unknown:
        told = [_notification("error", file, message) for file, message in view.unchecked]
        told += [_notification("note", file, message) for file, message in view.unknown]
        run["invocations"] = [{"executionSuccessful": not view.unchecked, "toolExecutionNotifications": told}]
    return (
        json_text(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False))
        + "\n"
    )


def _notification(level: str, file: str, message: str) -> dict[str, Any]:
    """Of a file that was not checked, or not to its end (3.20.21)."""
    place = {"physicalLocation": {"artifactLocation": _artifact(file)}}
    return {"level": level, "message": _message(message), "locations": [place]}


def _rule(rule: Described) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": _message(rule.summary),
        "fullDescription": _message(rule.why.strip()),
        "help": {**_message(rule.why.strip()), "markdown": rule.why.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["pytorch", "correctness"]},
    }


def _result(finding: Finding, fingerprint: str, numbers: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(finding.file)}}
    if finding.line is not None:
        location["physicalLocation"]["region"] = _region(
            finding.line, finding.column or 1, finding.end_line or finding.line, finding.end_column
        )
    about = ".".join(part for part in (finding.class_name, finding.attribute) if part)
    if about:
        kind = "member" if finding.attribute else "type"
        location["logicalLocations"] = [{"fullyQualifiedName": about, "kind": kind}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": _message(finding.message),
        "locations": [location],
        "partialFingerprints": {"modgraph/v1": fingerprint},
    }
    if finding.code in numbers:
        result["ruleIndex"] = numbers[finding.code]
    if finding.related:
        result["relatedLocations"] = [_related(each, finding) for each in finding.related]
    if finding.fix is not None:
        change = {
            "artifactLocation": _artifact(finding.file),
            "replacements": [_replacement(edit) for edit in finding.fix.edits],
        }
        result["fixes"] = [{"description": _message(finding.fix.description), "artifactChanges": [change]}]
    return result


def _message(text: str) -> dict[str, str]:
    """A text as it is, whatever names are in it: `{0}` is a placeholder (3.11.5), `[text](target)` a link (3.11.6). A
    backslash before a bracket is doubled, so that it takes the one of the escape from no reader."""
    text = text.replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"(\\*)([\[\]])", r"\1\1\\\2", text)}


def _artifact(file: str | None) -> dict[str, str]:
    """Relative to the root of the repository, where modgraph is taken to have run; a file elsewhere by its whole path,
    which a base must not stand beside (3.4.4)."""
    path = quote((file or "").encode("utf-8", "surrogateescape"), safe="/")
    if (file or "").startswith("/"):
        return {"uri": f"file://{path}"}
    if path[1:].startswith("%3A/"):  # C:/...
        return {"uri": f"file:///{path[0]}:{path[4:]}"}
    return {"uri": path, "uriBaseId": "%SRCROOT%"}


def _region(line: int, column: int, end_line: int, end_column: int | None) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column or column}


def _related(related: Related, finding: Finding) -> dict[str, Any]:
    region = {"startLine": related.line, "startColumn": related.column}
    return {
        "message": _message(related.message),
        "physicalLocation": {"artifactLocation": _artifact(finding.file), "region": region},
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    region = _region(edit.line, edit.column + 1, edit.end_line, edit.end_column + 1)
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}
