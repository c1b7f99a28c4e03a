"""Findings as JSON: one document, or one object a line for programs that read them as they come."""

from __future__ import annotations

import json

from modgraph.doors.printing import json_text
from modgraph.export.findings.formats import FindingView, not_checked, record


def render(view: FindingView, name: str) -> str:
    """`{"findings": [...]}`, with `not_done` where something was not checked or tried; with `json-lines` a line for
    each of the findings, and of what was not checked."""
    records = [record(each) for each in view.findings]
    if name == "json-lines":
        lines = [*records, *map(record, not_checked(view))]
        return "".join(json_text(json.dumps(each, ensure_ascii=False)) + "\n" for each in lines)
    document: dict[str, object] = {"findings": records}
    not_done = [*view.unchecked, *view.unknown, *view.notes]
    if not_done:
        document["not_done"] = [{"file": file, "message": message} for file, message in not_done]
    return json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
