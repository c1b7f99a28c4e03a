"""The JSON of a diff against its published schema, modgraph-diff/1."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from modgraph.changes.model import (
    Changed,
    Changes,
    Field,
    FieldKind,
    FindingChange,
    Flow,
    KeyShapes,
    NotCompared,
    Renamed,
    Rewritten,
    Side,
    StateChanges,
    Subtree,
    Total,
    Undecided,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "diff.json"
SCHEMA = json.loads(resources.files("modgraph.graph").joinpath("modgraph-diff-1.schema.json").read_text("utf-8"))


def closed(schema: Any) -> Any:
    """The schema, with every field that it does not name forbidden."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        return {**inner, "additionalProperties": False} if isinstance(schema.get("required"), list) else inner
    return [closed(entry) for entry in schema] if isinstance(schema, list) else schema


def full_changes() -> Changes:
    """One of everything that there can be."""
    side = Side(name="Net", class_name=None, target=None, known_by="traced", complete=True, modules=3, parameters=None)
    moved = (Renamed(old="a", new="b", class_name=None),)
    shapes = KeyShapes(key="fc.weight", old=(2, "n", None), new=None)
    return Changes(
        old=side,
        new=side,
        totals=tuple(Total(name=name, old=1, new=2) for name in ("parameters", "inputs", "run", "flops")),
        added=(Subtree(path="a", class_name=None),),
        removed=(Subtree(path="b", class_name="x.Y", parameters=3),),
        renamed=moved,
        moved=moved,
        changed=(
            Changed(
                old="fc",
                new="fc",
                old_class=None,
                new_class="x.Y",
                fields=tuple(Field(kind=kind, old=[1]) for kind in get_args(FieldKind)),
            ),
        ),
        dataflow=(Flow(side="old", producer="a", consumer="b"),),
        findings=(FindingChange(side="new", code="MG101", message="m"),),
        rewritten=(Rewritten(old="a", new="b", class_name="x.Y", methods=("forward",)),),
        state=StateChanges(
            missing=("a",), unexpected=("b",), mismatched=(shapes,), misplaced=("c",), renamed=(("a", "b"),)
        ),
        undecided=(Undecided(old=None, new="fc", what="class", side="both"),),
        not_compared=(NotCompared(what="calls", side="old", reason="was not run"),),
    )


def test_every_field_stands_in_the_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(closed(SCHEMA))
    validator.validate(json.loads(full_changes().to_json()))
    validator.validate(json.loads(GOLDEN.read_text("utf-8")))


def test_every_field_of_the_schema_is_written():
    document = json.loads(full_changes().to_json())
    assert list(document) == SCHEMA["required"]
    names = {
        "old": "side",
        "state": "state",
        "added": "subtree",
        "changed": "changed",
        "rewritten": "rewritten",
        "undecided": "undecided",
    }
    for name, kind in names.items():
        part = document[name][0] if isinstance(document[name], list) else document[name]
        assert list(part) == SCHEMA["$defs"][kind]["required"]


def test_the_kinds_of_facts_are_those_of_the_code():
    assert SCHEMA["$defs"]["field"]["properties"]["kind"]["enum"] == list(get_args(FieldKind))


@pytest.mark.parametrize("broken", [{"schema": "modgraph-diff/2"}, {"different": 1}, {"added": [{"path": "a"}]}])
def test_what_is_none_is_refused(broken: dict[str, Any]):
    document = {**json.loads(full_changes().to_json()), **broken}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)
