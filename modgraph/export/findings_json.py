"""Findings as JSON: one document, or one object a line for programs that read them as they come."""

from __future__ import annotations

import json

from modgraph.doors.printing import json_text
from modgraph.export.findings import FindingView, record


def render(view: FindingView, name: str) -> str:
    """`{"findings": [...]}`, or with `json-lines` the findings alone."""
    records = [record(each) for each in view.findings]
    if name == "json-lines":
        return "".join(json_text(json.dumps(each, ensure_ascii=False)) + "\n" for each in records)
    return json_text(json.dumps({"findings": records}, indent=2, ensure_ascii=False)) + "\n"
