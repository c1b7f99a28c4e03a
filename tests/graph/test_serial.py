"""The JSON form: the fixed fields in their order, the same bytes, the schema, and clear errors for what is no graph."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import jsonschema
import pytest

from modgraph.errors import GraphError
from modgraph.graph import serial
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Finding,
    Gap,
    HookInfo,
    MissingWeights,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    Repeat,
    SourceLocation,
    Statistics,
    TensorInfo,
)

IMAGE = TensorInfo(name="x", shape=(1, 3), dtype="float32", device="cpu")
ON_EDGE = TensorInfo(name="", shape=(1, 3), dtype="float32")


def full_graph():
    """A graph in which every field says something."""
    statistics = Statistics(mean=0.5, std=math.inf, min=-math.inf, max=1.0, numel=3)
    builder = GraphBuilder(
        ModelInfo(
            name="Net",
            class_name="model.Net",
            target="model.py:Net",
            parameters=9,
            trainable_parameters=9,
            buffers=1,
            inputs=(ModelInput(name="x", tensors=(IMAGE,), literal="True", origin="inferred", rules=("first layer",)),),
            hooks=(HookInfo(kind="global_forward", name="pkg.log"),),
            mode="eval",
            device="cpu",
            missing_weights=(
                MissingWeights(source="net.pth", error="FileNotFoundError: net.pth", file="net.py", line=3),
            ),
        )
    )
    line = SourceLocation("model.py", 12)
    builder.modules.append(
        ModuleNode(path="", class_name="model.Net", predicted=True, observed=True, calls=(0,), source=line)
    )
    builder.modules.append(
        ModuleNode(
            path="fc",
            class_name="torch.nn.modules.linear.Linear",
            predicted=True,
            observed=True,
            registered=False,
            own_state_dict=True,
            extra_state=("get", "set"),
            unknown_arguments=("bias",),
            calls=(1,),
            repeat=Repeat(group="fc", count=2),
            parameters=(
                ParameterInfo(name="weight", shape=(3, 3), dtype="float32", trainable=True),
                ParameterInfo(name="tied", shape=(3, 3), dtype="float32", trainable=True, alias_of="fc.weight"),
            ),
            buffers=(
                BufferInfo(name="n", shape=(), dtype="int64", persistent=False),
                BufferInfo(name="m", shape=(), dtype="int64", persistent=False, alias_of="fc.n"),
            ),
            hooks=(HookInfo(kind="forward_pre", name="pkg.log"),),
            arguments={"in_features": 3, "norm": {"$ref": "torch.nn.ReLU"}},
            source=line,
        )
    )
    builder.modules.append(ModuleNode(path="fc2", class_name=None, predicted=True, observed=False, alias_of="fc"))
    builder.calls.append(Call(index=0, module="", parent=None, inputs=(IMAGE,), outputs=(IMAGE,)))
    builder.calls.append(
        Call(
            index=1,
            module="fc",
            parent=0,
            inputs=(dataclasses.replace(IMAGE, statistics=statistics),),
            source=line,
            error="ValueError: no",
            direct=True,
            recomputed=True,
        )
    )
    builder.operations.append(Operation(id="op:0", name="torch.add", call=0, source=line))
    builder.edges.append(Edge(producer="input:x", consumer="call:1", tensor=ON_EDGE))
    builder.edges.append(
        Edge(producer="call:1", consumer="op:0", tensor=dataclasses.replace(IMAGE, statistics=statistics))
    )
    builder.gaps.append(Gap(kind="item", call=1, source=line))
    builder.backward.append(BackwardRecord(module="fc", grad_inputs=(IMAGE,), call=1))
    builder.findings.append(Finding(code="MG101", message="hidden", file="model.py", line=12, module="fc"))
    builder.findings.append(
        Finding(
            code="MG122", message="hidden", name="stateless-module-container", severity="info", file="model.py", line=12,
            column=9, end_line=13, end_column=2, module="fc", class_name="Net", attribute="fc",
        )
    )  # fmt: skip
    builder.problems.append(Problem(stage="trace", message="stopped", module="fc", file="model.py", line=12))
    return builder.build()


def small_graph():
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules.append(ModuleNode(path="", class_name=None, predicted=True))
    return builder.build()


def closed(schema):
    """The schema, with every field that it does not name forbidden."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        return {**inner, "additionalProperties": False} if isinstance(schema.get("required"), list) else inner
    return [closed(entry) for entry in schema] if isinstance(schema, list) else schema


def test_the_text_of_a_small_graph():
    assert serial.to_json(small_graph()) == (
        "{\n"
        '  "schema": "modgraph/1",\n'
        '  "model": {\n'
        '    "name": "Net",\n'
        '    "class": null,\n'
        '    "target": null,\n'
        '    "parameters": null,\n'
        '    "trainable_parameters": null,\n'
        '    "buffers": null\n'
        "  },\n"
        '  "complete": true,\n'
        '  "problems": [],\n'
        '  "modules": [\n'
        "    {\n"
        '      "path": "",\n'
        '      "class": null,\n'
        '      "predicted": true,\n'
        '      "observed": null,\n'
        '      "registered": true,\n'
        '      "alias_of": null,\n'
        '      "calls": [],\n'
        '      "repeat": null,\n'
        '      "parameters": [],\n'
        '      "buffers": [],\n'
        '      "hooks": [],\n'
        '      "arguments": {},\n'
        '      "source": null\n'
        "    }\n"
        "  ],\n"
        '  "calls": [],\n'
        '  "operations": [],\n'
        '  "edges": [],\n'
        '  "backward": [],\n'
        '  "findings": []\n'
        "}\n"
    )


def test_records_that_fit_stand_on_one_line():
    lines = serial.to_json(full_graph()).splitlines()
    assert '    {"from": "input:x", "to": "call:1", "tensor": {"shape": [1, 3], "dtype": "float32"}},' in lines
    assert max(map(len, lines)) <= 121


def test_every_field_of_a_full_graph_stands_in_the_schema():
    document = json.loads(serial.to_json(full_graph()))
    schema = serial.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(closed(schema)).validate(document)


def test_the_fixed_fields_of_the_schema_are_always_written():
    document = json.loads(serial.to_json(full_graph()))
    schema = serial.schema()
    assert [key for key in document if key in schema["required"]] == schema["required"]
    module = schema["$defs"]["module"]
    assert list(document["modules"][0]) == module["required"]


def test_optional_fields_are_absent_where_they_say_nothing():
    document = json.loads(serial.to_json(small_graph()))
    assert "gaps" not in document
    assert set(document["model"]) == {"name", "class", "target", "parameters", "trainable_parameters", "buffers"}


def test_a_full_graph_comes_back(tmp_path: Path):
    graph = full_graph()
    path = tmp_path / "net.json"
    path.write_text(serial.to_json(graph), encoding="utf-8")
    assert serial.load(path) == graph


def test_statistics_that_are_no_number_come_back():
    nan = Statistics(mean=math.nan, std=None, min=-math.inf, max=math.inf, numel=0)
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules.append(ModuleNode(path="", class_name=None, observed=True, calls=(0,)))
    tensor = dataclasses.replace(IMAGE, statistics=nan)
    builder.calls.append(Call(index=0, module="", parent=None, outputs=(tensor,)))
    text = serial.to_json(builder.build())
    assert '"statistics": {"mean": "NaN", "std": null, "min": "-Infinity", "max": "Infinity", "numel": 0}' in text
    read = serial.from_json(text).calls[0].outputs[0].statistics
    assert math.isnan(read.mean)
    assert (read.std, read.min, read.max, read.numel) == (None, -math.inf, math.inf, 0)


class Config:
    def __repr__(self):
        return f"<Config at {id(self):#x}>"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ((1, 2), [1, 2]),
        (math.inf, {"$repr": "inf"}),
        ({1: 2}, {"$repr": "<dict>"}),
        (Config(), {"$repr": "<Config>"}),
        ([{"a": (None, True)}], [{"a": [None, True]}]),
    ],
)
def test_arguments_are_written_as_json_values_without_addresses(value, written):
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules.append(ModuleNode(path="", class_name=None, arguments={"value": value}))
    document = json.loads(serial.to_json(builder.build()))
    assert document["modules"][0]["arguments"] == {"value": written}


def test_text_beyond_ascii_is_readable_and_half_characters_are_escaped():
    builder = GraphBuilder(ModelInfo(name="Füße\udc80", class_name=None, target=None))
    builder.modules.append(ModuleNode(path="", class_name=None))
    graph = builder.build()
    text = serial.to_json(graph)
    assert "Füße\\udc80" in text
    text.encode("utf-8")
    assert serial.from_json(text) == graph


def test_fields_that_are_not_known_are_left_alone():
    document = json.loads(serial.to_json(full_graph()))
    document["extra"] = {"a": 1}
    document["modules"][0]["note"] = "beside"
    assert serial.from_json(json.dumps(document)) == full_graph()


def edited(change) -> str:
    document = json.loads(serial.to_json(full_graph()))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("schema"), 'it has no "schema"'),
        (
            lambda d: d.update(schema="modgraph/2"),
            "schema 'modgraph/2', and this version of modgraph reads 'modgraph/1'",
        ),
        (lambda d: d.update(schema=1), "schema 1, and"),
        (lambda d: d.pop("edges"), "edges: this field is missing"),
        (lambda d: d.update(modules={}), "modules: expected a list, found an object"),
        (lambda d: d.update(modules=[]), 'a graph needs a root, the module with path ""'),
        (lambda d: d["modules"][1].update(calls="no"), 'modules[1].calls: expected a list of integers, found "no"'),
        (lambda d: d["modules"][1].update(calls=[True]), "modules[1].calls: expected a list of integers"),
        (lambda d: d["modules"][1].update(calls=[7]), "module 'fc' names call 7, of 2"),
        (lambda d: d["modules"][1].update(alias_of="no"), "'fc' is an alias of 'no', which does not exist"),
        (lambda d: d["modules"][0].update(predicted="yes"), "modules[0].predicted: expected true, false or null"),
        (lambda d: d["modules"].append(3), "modules[3]: expected an object, found 3"),
        (lambda d: d["modules"][1]["parameters"][0].update(shape=[1.5]), "modules[1].parameters[0].shape: expected"),
        (lambda d: d["calls"][0].pop("error"), "calls[0].error: this field is missing"),
        (lambda d: d["calls"][1].update(module="nowhere"), "call 1 names module 'nowhere', which does not exist"),
        (lambda d: d["calls"][1].update(parent=1), "call 1 names call 1 as its parent"),
        (lambda d: d["calls"][1]["inputs"][0]["statistics"].update(mean="big"), "calls[1].inputs[0].statistics.mean"),
        (lambda d: d["edges"][0].update({"to": "op:9"}), "an edge ends at 'op:9', which does not exist"),
        (lambda d: d["edges"][0].update({"from": "output:0"}), "'output:0' is no end of an edge"),
        (lambda d: d["problems"][0].update(stage="draw"), "problems[0].stage: expected one of"),
        (lambda d: d["model"].update(mode="test"), 'model.mode: expected one of "eval", "train", found "test"'),
        (lambda d: d["model"].update(name=None), "model.name: expected a text, found null"),
        (lambda d: d.update(complete=True), "complete: is true, and there are 1 problems"),
    ],
)
def test_what_is_no_graph_is_named(change, message: str):
    with pytest.raises(GraphError) as caught:
        serial.from_json(edited(change))
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "this is no JSON: Expecting value", 1),
        ('{\n  "schema": }', "this is no JSON: Expecting value", 2),
        ('{"schema": NaN}', "NaN is no JSON number", None),
        ("[]", "the document: expected an object, found the list []", None),
        ("[" * 100_000, "this graph is not read: it is nested too deeply", None),
    ],
)
def test_what_is_no_json_is_named(text: str, message: str, line):
    with pytest.raises(GraphError) as caught:
        serial.from_json(text)
    assert message in caught.value.message
    assert caught.value.line == line


def test_load_names_the_file(tmp_path: Path):
    missing = tmp_path / "net.json"
    with pytest.raises(GraphError, match="cannot read the graph: there is no such file") as caught:
        serial.load(missing)
    assert caught.value.file == str(missing)
    missing.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GraphError, match="not UTF-8") as caught:
        serial.load(str(missing))
    assert caught.value.file == str(missing)
    missing.write_text("{}")
    with pytest.raises(GraphError, match="has no") as caught:
        serial.load(missing)
    assert caught.value.file == str(missing)


def test_a_newer_schema_gives_a_hint():
    with pytest.raises(GraphError) as caught:
        serial.from_json('{"schema": "modgraph/7"}')
    assert "newer" in caught.value.hint
