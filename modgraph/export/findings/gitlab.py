"""Findings as a code quality report of GitLab. Source: docs.gitlab.com, "Code Quality report format".

A description is text there: nothing of Markdown is said of it, and an escape would be shown.
"""

from __future__ import annotations

import json

from modgraph.doors.printing import json_text
from modgraph.export.findings.formats import FindingView, fingerprints, not_checked

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def render(view: FindingView, name: str) -> str:  # noqa: ARG001
    """A list of issues; an empty one says that there are none."""
    told = [*view.findings, *not_checked(view)]
    issues = [
        {
            "description": f"{each.code}: {each.message}",
            "check_name": each.name or each.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[each.severity],
            "location": {
                "path": each.file or "",
                "lines": {"begin": each.line or 1, "end": each.end_line or each.line or 1},
            },
        }
        for each, fingerprint in zip(told, fingerprints(told), strict=True)
    ]
    return json_text(json.dumps(issues, indent=2, ensure_ascii=False)) + "\n"
