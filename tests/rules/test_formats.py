"""Findings in every format: what each of them promises to the programs that read it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from modgraph.export.findings.formats import FINDING_FORMATS, FindingView, fingerprints, render_findings
from modgraph.findings import Edit, Finding, Fix, Related
from modgraph.rules.registry import rules

SOURCE = ["# é\n", "class Net:\n", "\tself.ö = [1, 2]\n", "\tself.ö.append(3)\n"]
FINDING = Finding(
    code="MG101",
    name="unregistered-module-container",
    severity="warning",
    message='50% of <these>, "x": y\nare \x07hidden',
    file="a b/é,x.py",
    line=3,
    column=2,
    end_line=3,
    end_column=17,
    class_name="Net",
    attribute="ö",
    related=(Related(4, 2, "added here"),),
    fix=Fix("wrap it", (Edit(3, 10, 3, 10, "List("), Edit(3, 16, 3, 16, ")"))),
)
LONG = Finding(code="MG108", severity="error", message="m", file="b.py", line=1, column=1, end_line=4, end_column=2)
WHOLE = Finding(code="MG122", severity="info", message="m", file="c.py")


def rendered(name: str, *findings: Finding, color: bool = False) -> str:
    files = ["a b/é,x.py", "b.py", "c.py", "clean.py"]
    view = FindingView(findings, files=files, rules=rules(), read=lambda _: SOURCE, color=color)
    return render_findings(view, name)


@pytest.mark.parametrize("name", FINDING_FORMATS)
def test_no_findings_are_an_answer_too(name):
    text = rendered(name)
    if name in ("json", "rdjson", "sarif", "gitlab"):
        json.loads(text)
    elif name == "junit":
        assert ElementTree.fromstring(text).get("failures") == "0"
    else:
        assert text == ""


def test_text_puts_carets_below_characters_and_shows_what_belongs_to_it():
    lines = rendered("text", FINDING).splitlines()
    assert lines[0] == 'warning[MG101] unregistered-module-container: 50% of <these>, "x": y\\nare \\x07hidden'
    assert lines[1] == "  --> a b/é,x.py:3:2"
    assert lines[2:] == [
        "  |",
        "1 | # é",
        "2 | class Net:",
        "3 | \tself.ö = [1, 2]",
        "  | \t^^^^^^^^^^^^^^^",
        "4 | \tself.ö.append(3)",
        "  | \t- added here",
        "help: wrap it (--fix --unsafe-fixes)",
        "",
    ]
    assert "\033[" in rendered("text", FINDING, color=True)
    assert rendered("text", WHOLE) == "info[MG122] m\n  --> c.py\n\n".replace("[MG122] m", "[MG122] m")


def test_concise_is_a_line_each():
    assert rendered("concise", FINDING, LONG).splitlines()[1] == "b.py:1:1: error: MG108 m"
    assert len(rendered("concise", FINDING, LONG).splitlines()) == 2


def test_json_has_the_promised_fields():
    (found,) = json.loads(rendered("json", FINDING))["findings"]
    assert {key: found[key] for key in ("code", "name", "severity", "file", "line", "column", "end_line", "end_column")} == {
        "code": "MG101", "name": "unregistered-module-container", "severity": "warning", "file": "a b/é,x.py",
        "line": 3, "column": 2, "end_line": 3, "end_column": 17,
    }  # fmt: skip
    assert (found["message"], found["class"], found["attribute"]) == (FINDING.message, "Net", "ö")
    assert found["fix"]["applicability"] == "unsafe"
    assert found["fix"]["edits"][0] == {"line": 3, "column": 11, "end_line": 3, "end_column": 11, "text": "List("}
    assert json.loads(rendered("json-lines", FINDING, LONG).splitlines()[0]) == found


def test_github_annotations_are_escaped():
    line, long = rendered("github", FINDING, LONG).splitlines()
    assert line == (
        "::warning title=modgraph (MG101),file=a b/é%2Cx.py,line=3,endLine=3,col=2,endColumn=17::"
        'a b/é,x.py:3:2: MG101 50%25 of <these>, "x": y%0Aare \\x07hidden'
    )
    assert long == "::error title=modgraph (MG108),file=b.py,line=1,endLine=4::b.py:1:1: MG108 m"
    assert rendered("github", WHOLE).startswith("::notice ")


def test_junit_is_xml_with_a_suite_per_file():
    tree = ElementTree.fromstring(rendered("junit", FINDING, LONG))
    assert {suite.get("name"): suite.get("failures") for suite in tree} == {
        "a b/é,x.py": "1", "b.py": "1", "c.py": "0", "clean.py": "0",
    }  # fmt: skip
    assert (tree.get("tests"), tree.get("failures")) == ("4", "2")
    failure = tree[0][0][0]
    assert "<these>" in failure.get("message")
    assert "\ufffdhidden" in failure.text


def test_gitlab_fingerprints_stay_when_lines_move():
    (issue,) = json.loads(rendered("gitlab", FINDING))
    assert {"description", "check_name", "fingerprint", "severity", "location"} == set(issue)
    assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert issue["location"] == {"path": "a b/é,x.py", "lines": {"begin": 3, "end": 3}}
    from dataclasses import replace

    moved = replace(FINDING, line=30, end_line=30, message="other words")
    assert fingerprints([FINDING]) == fingerprints([moved])
    assert len(set(fingerprints([FINDING, FINDING, LONG]))) == 3


def test_rdjson_counts_bytes_and_offers_one_suggestion():
    (found, _) = json.loads(rendered("rdjson", FINDING, LONG))["diagnostics"]
    assert found["location"]["range"] == {"start": {"line": 3, "column": 2}, "end": {"line": 3, "column": 18}}
    (suggestion,) = found["suggestions"]
    assert suggestion["text"] == "List([1, 2])"
    assert suggestion["range"] == {"start": {"line": 3, "column": 12}, "end": {"line": 3, "column": 18}}


def required(value: object, names: dict[str, type]) -> None:
    assert isinstance(value, dict)
    for name, kind in names.items():
        assert isinstance(value.get(name), kind), (name, value)


def test_sarif_has_what_the_standard_asks_for():
    """Sections 3.13 to 3.57 of SARIF 2.1.0: required properties, kinds of values, and what GitHub needs beside them."""
    log = json.loads(rendered("sarif", FINDING, LONG, WHOLE))
    required(log, {"version": str, "runs": list, "$schema": str})
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    required(run["tool"]["driver"], {"name": str, "rules": list, "version": str})
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    described = run["tool"]["driver"]["rules"]
    for rule in described:
        required(rule, {"id": str, "name": str})
        required(rule["shortDescription"], {"text": str})
        required(rule["help"], {"text": str, "markdown": str})
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in run["results"]:
        required(result["message"], {"text": str})
        assert result["level"] in ("none", "note", "warning", "error")
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        assert " " not in uri
        assert uri.isascii()
        region = location["physicalLocation"].get("region")
        assert region is None or (min(region.values()) >= 1 and region["endLine"] >= region["startLine"])
    first = run["results"][0]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%A9%2Cx.py"
    (fix,) = first["fixes"]
    required(fix["artifactChanges"][0], {"artifactLocation": dict, "replacements": list})
    for replacement in fix["artifactChanges"][0]["replacements"]:
        required(replacement, {"deletedRegion": dict, "insertedContent": dict})
    assert first["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 4, "startColumn": 2}
