"""SARIF against a schema: what the standard (OASIS, SARIF 2.1.0) allows of the objects that are written, and no more.

The schema here is a small one of our own, of those objects alone. The whole one (2.1.0-rtm.4) was held by hand against logs
of all rules on a few hundred files, of none, and of files outside the working directory; docs/check.md has the figures.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.export.findings.formats import FindingView, render_findings
from modgraph.findings import Edit, Finding, Fix, Related
from modgraph.rules.registry import rules

jsonschema = pytest.importorskip("jsonschema")


def thing(required: str, **properties: Any) -> dict[str, Any]:
    """An object with these properties, of which some must be there."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def several(items: dict[str, Any], *, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


TEXT = {"type": "string"}
POSITION = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = thing("text", text=TEXT)
HELP = thing("text", text=TEXT, markdown=TEXT)
URI = {"type": "string", "pattern": r"^(?:file:///)?[^/ \\][!-~]*$"}
ARTIFACT = thing("uri", uri=URI, uriBaseId=TEXT)
REGION = thing("startLine", startLine=POSITION, startColumn=POSITION, endLine=POSITION, endColumn=POSITION)
PLACE = thing("artifactLocation", artifactLocation=ARTIFACT, region=REGION)
LOGICAL = thing("", fullyQualifiedName=TEXT, kind={"enum": ["member", "type"]})
LOCATION = thing("", physicalLocation=PLACE, logicalLocations=several(LOGICAL, least=1), message=MESSAGE)
REPLACEMENT = thing("deletedRegion", deletedRegion=REGION, insertedContent=MESSAGE)
CHANGE = thing("artifactLocation replacements", artifactLocation=ARTIFACT, replacements=several(REPLACEMENT, least=1))
FIX = thing("artifactChanges", description=MESSAGE, artifactChanges=several(CHANGE, least=1))
RESULT = thing(
    "message",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=several(LOCATION),
    relatedLocations=several(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    fixes=several(FIX),
)
RULE = thing(
    "id",
    id=TEXT,
    name=TEXT,
    shortDescription=HELP,
    fullDescription=HELP,
    help=HELP,
    defaultConfiguration=thing("", level=LEVEL),
    properties=thing("", tags={**several(TEXT), "uniqueItems": True}),
)
TOOL = thing("driver", driver=thing("name", name=TEXT, version=TEXT, rules=several(RULE)))
COLUMNS = {"enum": ["utf16CodeUnits", "unicodeCodePoints"]}
RUN = thing("tool", tool=TOOL, columnKind=COLUMNS, results=several(RESULT))
LOG = thing("version runs", **{"$schema": TEXT}, version={"const": "2.1.0"}, runs=several(RUN))


def log(*findings: Finding) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_findings(FindingView(findings, rules=rules()), "sarif"))
    jsonschema.Draft202012Validator(LOG).validate(found)
    return found


def of_rule(number: int, code: str, file: str) -> Finding:
    fix = Fix("fix it", (Edit(1, 0, 1, 0, "("), Edit(2, 4, 2, 4, ")"))) if number % 2 else None
    related = (Related(3, 1, "added here"),) if number % 3 else ()
    return Finding(
        code=code, severity=("info", "warning", "error")[number % 3], message="m", file=file, line=1, column=1,
        end_line=2, end_column=5, class_name="Net" if number % 4 else None, attribute="x" if number % 5 else None,
        related=related, fix=fix,
    )  # fmt: skip


def test_findings_of_all_rules_fit_the_schema():
    (run,) = log(*(of_rule(number, rule.code, "a b/é.py") for number, rule in enumerate(rules())))["runs"]
    assert len(run["results"]) == len(run["tool"]["driver"]["rules"]) == len(rules())
    assert log()["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("src/net.py", {"uri": "src/net.py", "uriBaseId": "%SRCROOT%"}),
        ("/home/ä b/net.py", {"uri": "file:///home/%C3%A4%20b/net.py"}),
        ("C:/work/net.py", {"uri": "file:///C:/work/net.py"}),
    ],
)
def test_a_base_stands_beside_relative_paths_alone(file: str, wanted: dict[str, str]):
    (result,) = log(of_rule(1, "MG101", file))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == wanted


def as_read(text: str) -> str:
    """What a reader shows, by sections 3.11.5 and 3.11.6; it takes a backslash before a backslash or a bracket away."""
    assert not re.search(r"(?<!\{)(?:\{\{)*\{\d+\}", text), "a placeholder"
    # A link for readers that look for a bracket without a backslash, as the one of Microsoft does; and for those that
    # take two backslashes for one.
    assert not re.search(r"(?<!\\)\[(?:\\\]|[^\]])+\]\(", text), "a link"
    assert not re.search(r"\[(?:\\.|[^\\\]])*\]\(", re.sub(r"\\[\\\[\]]", "", text)), "a link"
    assert not re.search(r"(?<!\\)(?:\\\\)*[\[\]]", text), "a bracket"
    return re.sub(r"(\\*)\\([\[\]])", lambda found: "\\" * (len(found[1]) // 2) + found[2], text).replace(
        "{{", "{").replace("}}", "}")  # fmt: skip


@given(st.text("[]{}()0\\ a:/", max_size=14))
def test_no_name_is_a_link_or_a_placeholder(text: str):
    for name in (text, f"[click](https://evil.example){text}", f"{{0}}{text}", f"\\[x\\](1){text}"):
        related, fix = (Related(3, 1, name),), Fix(name, (Edit(1, 0, 1, 0, "("),))
        finding = Finding(
            code="MG101", severity="error", message=name, file="a.py", line=1, column=1, related=related, fix=fix
        )
        (result,) = log(finding)["runs"][0]["results"]
        texts = [result["message"], result["relatedLocations"][0]["message"], result["fixes"][0]["description"]]
        assert [as_read(each["text"]) for each in texts] == [name] * 3
