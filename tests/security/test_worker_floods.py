"""Whatever is written into the pipe of a trace costs a bounded amount of memory, and makes a graph or an error of ours."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph import heard as heard_module
from modgraph import isolation
from modgraph.batch import tasks
from modgraph.doors import processes
from modgraph.doors.processes import running
from modgraph.errors import ModgraphError
from modgraph.export import render
from modgraph.exporting import Exporting
from modgraph.graph.model import Graph
from modgraph.graph.serial import from_json, to_json
from modgraph.heard import Heard, lines_of
from modgraph.options import OnnxOptions, TraceOptions

START = {
    "event": "start",
    "model": {"name": "Net", "class_name": "model.Net", "target": "model.py:Net"},
    "modules": [
        {"path": "", "class_name": "model.Net", "observed": True},
        {"path": "a", "class_name": "torch.nn.Linear", "observed": True, "parameters": [
            {"name": "weight", "shape": [4, 4], "dtype": "float32"}]},
        {"path": "a.b", "class_name": "torch.nn.Linear", "observed": True, "arguments": {"bias": False}},
    ],
}  # fmt: skip
TENSOR = {"name": "x", "shape": [1, 4], "dtype": "float32", "device": "cpu"}
STREAM: list[dict[str, Any]] = [
    START,
    {"event": "enter", "call": 0, "module": "", "inputs": [TENSOR], "flows": [{"producer": "input:x", "tensor": TENSOR}]},
    {"event": "enter", "call": 1, "module": "a", "parent": 0, "flows": [{"producer": "input:x", "tensor": TENSOR}],
     "source": {"file": "model.py", "line": 3}},
    {"event": "op", "index": 0, "name": "torch.add", "call": 1, "flows": [{"producer": "param:a.weight", "tensor": TENSOR}]},
    {"event": "exit", "call": 1, "outputs": [TENSOR]},
    {"event": "gap", "kind": "item", "call": 0},
    {"event": "grad", "call": 1, "side": "input", "tensor": TENSOR},
    {"event": "parameter_grad", "tensor": {**TENSOR, "name": "a.weight"}},
    {"event": "output", "name": "output", "flows": [{"producer": "op:0", "tensor": TENSOR}]},
    {"event": "verified", "verification": {"steps": 1, "repeated": 1, "identical": 0, "outputs": 1,
     "differences": [{"node": "op:0", "output": "output", "message": "other"}]}},
    {"event": "profiled", "profile": {"flops": 3, "seconds": 0.5, "calls": [{"call": 0, "flops": 3}], "not_counted": [["a", 1]]}},
    {"event": "exit", "call": 0, "outputs": [TENSOR]},
    {"event": "done"},
    {"end": True},
]  # fmt: skip


def told(messages: list[Any]) -> Graph:
    """The graph of a worker that says this and ends."""
    heard = Heard()
    for message in messages:
        heard.line(json.dumps(message) + "\n")
    return isolation._graph(heard, isolation._End(0, ""), TraceOptions())


def test_the_stream_itself_makes_a_complete_record() -> None:
    graph = told(STREAM)
    assert [call.module for call in graph.calls] == ["", "a"]
    assert graph.profile is not None
    assert graph.profile.not_counted == (("a", 1),)


# --- Lines -------------------------------------------------------------------------------------------------------


class Flood(io.RawIOBase):
    """A pipe that gives pieces without an end of line, and counts what it has given."""

    def __init__(self, pieces: int, end: bytes = b"") -> None:
        self.left, self.end = pieces, end

    def read1(self, size: int) -> bytes:
        if self.left == 0:
            end, self.end = self.end, b""
            return end
        self.left -= 1
        return b"x" * size


def test_a_line_without_an_end_is_never_held() -> None:
    flood = Flood(pieces=200, end=b'\n{"end": true}\n')
    held = [None if line is None else len(line) for line in lines_of(flood, most=3 << 20)]  # type: ignore[arg-type]
    assert held == [None, 14]
    assert list(lines_of(Flood(pieces=50), most=3 << 20)) == []  # type: ignore[arg-type]


@given(st.lists(st.binary(max_size=12), max_size=12), st.integers(0, 8))
def test_lines_are_those_of_the_stream_with_the_long_ones_left_out(pieces: list[bytes], most: int) -> None:
    class Pipe:
        def __init__(self) -> None:
            self.left = [piece for piece in pieces if piece]

        def read1(self, size: int) -> bytes:
            return self.left.pop(0) if self.left else b""

    *whole, rest = b"".join(pieces).split(b"\n")
    expected: list[bytes | None] = [line + b"\n" if len(line) <= most else None for line in whole]
    assert list(lines_of(Pipe(), most)) == expected + ([rest] if 0 < len(rest) <= most else [])  # type: ignore[arg-type]


def test_lines_that_are_too_long_are_counted_and_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_module, "MAX_LINE", 1000)
    heard = Heard()
    lines = [json.dumps(message).encode() for message in STREAM]
    lines.insert(3, b'{"warning": "' + b"x" * 5000 + b'"}')
    heard.listen(io.BytesIO(b"\n".join(lines) + b"\n"))
    assert heard.n_malformed == 1
    assert heard.closed.is_set()
    graph = isolation._graph(heard, isolation._End(0, ""), TraceOptions())
    assert len(graph.calls) == 2
    assert any("1 lines make no sense" in problem.message for problem in graph.problems)


FLOODS = {
    "events": STREAM[5],
    "warnings": {"warning": "x" * 100},
    "values in one": {"event": "exit", "call": 0, "outputs": [{**TENSOR, "shape": [1] * 1000}]},
    "wide characters": {"event": "error", "message": "x" * 1000 + "\U0001f600"},
    "modules": {"event": "module", "modules": [{"path": "a." * 4000 + "b", "class_name": None}]},
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_record_becomes_full_and_says_so(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_module, "MAX_RECORD", 200_000)
    heard = Heard()
    line = json.dumps(FLOODS[kind], ensure_ascii=False) + "\n"
    heard.line(json.dumps(STREAM[0]) + "\n")
    heard.line(json.dumps(STREAM[1]) + "\n")
    for _ in range(5000):
        heard.line(line)
    assert heard.full
    kept = len(heard.events) + len(heard.warnings)
    assert kept * len(line) <= 200_000 + len(line)


def test_what_makes_no_sense_costs_nothing() -> None:
    heard = Heard()
    for _ in range(2000):
        heard.line('{"event": "enter", "call": [[[[1]]]]}\n')
    assert (heard.n_malformed, heard._cost, heard.events) == (2000, 0, [])


def test_a_full_record_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_BOOTSTRAP", _fake(f"while True: say({json.dumps(STREAM[5])!r})"))
    monkeypatch.setattr(heard_module, "MAX_RECORD", 1 << 20)
    limits = isolation._Limits(None, None)
    heard, end = isolation._ask_once({}, tmp_path, limits, Heard())
    assert end.ended is not None
    assert "the record of the run was full" in end.ended
    assert "the record of the run was full" in isolation._graph(heard, end, TraceOptions()).problems[-1].message


def _fake(statements: str) -> str:
    """A worker that speaks the protocol and needs no torch."""
    return f"""
import json, os, sys, time
pipe = int(sys.argv[3])
def say(line):
    os.write(pipe, line.encode() + b"\\n")
say({json.dumps(STREAM[0])!r})
say({json.dumps(STREAM[1])!r})
{statements}
"""


# --- Lies --------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, -1, 3, 10**9, 2**63, 10**400, -(2**70), 1.5, float("nan"), float("inf"), "", "a", "op:0", "op:99", "call:0",
    "call:1", "call:99", "call:x", "op:", "const:-1", "param:none", "input:", "output:", "\ud800", "a\nb", "\x1b[31m", "x" * 30_000,
    "a." * 9000, [], [[]], {}, {"a": {}}, [None], [1, "s", None], ["\ud800"], {"$repr": 3},
]  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found.extend(_places(inner, (*path, key)))
    return found


def _changed(stream: list[Any], path: tuple[Any, ...], value: Any) -> list[Any]:
    stream = json.loads(json.dumps(stream))
    if not path:
        return stream
    inner: Any = stream
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return stream


PLACES = _places(STREAM)


def holds(stream: list[Any]) -> None:
    """A graph that can be written in each format without torch, or an error of ours."""
    try:
        graph = told(stream)
    except ModgraphError:
        return
    assert from_json(to_json(graph)) == graph
    for kind in ("text", "dot", "mermaid"):
        try:
            content = render(graph, kind)
        except ModgraphError:
            continue
        (content if isinstance(content, str) else content.decode()).encode("utf-8")


@given(st.data())
def test_one_lie_at_any_place_makes_a_graph_or_an_error_of_ours(data: st.DataObject) -> None:
    holds(_changed(STREAM, data.draw(st.sampled_from(PLACES)), data.draw(st.sampled_from(VALUES))))


@given(
    st.lists(st.sampled_from(STREAM), max_size=25),
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), max_size=3),
)
def test_events_in_any_order_make_a_graph_or_an_error_of_ours(stream: list[Any], changes: list[Any]) -> None:
    mixed = [START, *stream]
    for path, value in changes:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            mixed = _changed(mixed, path, value)
    holds(mixed)


LIES = {
    "a call that jumps": [*STREAM[:2], {"event": "enter", "call": 10**9, "module": "a"}],
    "a parent that is the call itself": [*STREAM[:2], {"event": "enter", "call": 1, "module": "a", "parent": 1}],
    "a parent that comes later": [*STREAM[:2], {"event": "enter", "call": 1, "module": "a", "parent": 2}],
    "an alias of itself": [{**START, "modules": [*START["modules"], {"path": "c", "class_name": "x", "alias_of": "c"}]}],
    "a difference of nothing": [*STREAM[:9], {"event": "verified", "verification": {
        "steps": 1, "repeated": 1, "identical": 0, "differences": [{"node": "op:77", "output": "o", "message": "m"}]}}],
    "a difference of a call that never was": [*STREAM[:9], {"event": "verified", "verification": {
        "steps": 1, "repeated": 1, "identical": 0, "differences": [{"node": "call:77", "output": "o", "message": "m"}]}}],
    "an amendment that is nested deeply": [*STREAM[:2], {"event": "amended", "number": 1, "text": "[" * 100_000}],
    "an amendment of itself": [*STREAM[:2], {"event": "amended", "number": 2, "text": json.dumps({"event": "amended", "number": 2, "text": "{}"})}],
    "a producer of no number": [*STREAM[:2], {"event": "output", "name": "o", "flows": [{"producer": "call:²", "tensor": TENSOR}]}],
}  # fmt: skip


@pytest.mark.parametrize("kind", LIES)
def test_a_record_that_lies_is_cut_where_it_begins_to(kind: str) -> None:
    holds(LIES[kind])


@pytest.mark.parametrize("depth", [10, 5_000, 1_000_000])
def test_a_line_that_is_nested_deeply_is_counted(depth: int) -> None:
    heard = Heard()
    heard.line('{"event": "exit", "call": 0, "outputs": ' + "[" * depth + "]" * depth + "}\n")
    assert heard.n_malformed == 1


def test_a_checkpoint_that_lies_is_no_table() -> None:
    heard = Heard()
    for table in ({"a": {"w": [10**400]}}, {"a": {"w": [-1]}}, {"a": {"w": {}}}, {"a": [1]}, [1]):
        heard.line(json.dumps({"checkpoint": table}) + "\n")
    assert (heard.n_malformed, heard.checkpoint) == (5, None)
    heard.line(json.dumps({"checkpoint": {"": {"w": [2, 3], "n\ud800": "int"}}}) + "\n")
    assert heard.checkpoint == {"": {"w": [2, 3], "n?": "int"}}


REPORTS: list[Any] = [3, [], "x", {"notes": 3}, {"notes": [3]}, {"reason": 3}, {"notes": {"a": 1}}]


@pytest.mark.parametrize("report", REPORTS, ids=repr)
def test_an_export_that_lies_is_no_export(tmp_path: Path, report: Any) -> None:
    (tmp_path / "net.onnx").write_bytes(b"")
    exporting = Exporting(OnnxOptions(), "net.onnx", tmp_path)
    exporting.settle(report, None)
    assert exporting.files == ()
    assert any("cannot be run" in problem.message for problem in exporting.noted(told(STREAM)).problems)


# --- Files and output --------------------------------------------------------------------------------------------


def test_of_what_is_printed_the_end_is_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MAX_OUTPUT", 100)
    flood = "import os\nfor _ in range(300): os.write(1, b'x' * 65536)\nos.write(2, b'the end')"
    with running([sys.executable, "-c", flood]) as process:
        assert process.ended_within(60)
    assert process.output == "x" * 93 + "the end"
    assert len(process._tail) == 100


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_captured_files_are_files_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    captured = tmp_path / "captured"
    (captured / "inner").mkdir(parents=True)
    (captured / "model.onnx").write_bytes(b"1")
    (captured / "inner" / "a").write_bytes(b"2")
    (captured / "large").write_bytes(b"x" * 5000)
    (captured / "link").symlink_to(secret)
    (captured / "folder").symlink_to(tmp_path)
    os.mkfifo(captured / "pipe")
    monkeypatch.setattr(isolation, "_MAX_CAPTURED", 1000)
    assert isolation._files_in(captured) == {"model.onnx": b"1", "inner/a": b"2"}
    place = tmp_path / "place"
    place.mkdir()
    isolation._move_files(captured, place)
    assert sorted(path.name for path in place.iterdir()) == ["large", "model.onnx"]


OUTCOMES = {
    "nothing": b"",
    "no object": b"[]",
    "without fields": b"{}",
    "a state of its own": b'{"state": "fine", "reason": null, "facts": {}}',
    "a reason that is none": b'{"state": "complete", "reason": 3, "facts": {}}',
    "facts that are none": b'{"state": "complete", "reason": null, "facts": []}',
    "nested": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_an_outcome_that_lies_is_none(tmp_path: Path, kind: str) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "outcome.json").write_bytes(OUTCOMES[kind])
    assert tasks._told(tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
def test_an_outcome_whose_files_are_something_else_is_none(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "outcome.json").write_text('{"state": "complete", "reason": null, "facts": {}}')
    (tmp_path / "files" / "net.svg").write_text("<svg/>")
    told = tasks._told(tmp_path)
    assert told is not None
    assert dict(told.files) == {"net.svg": b"<svg/>"}
    monkeypatch.setattr(tasks, "MAX_BYTES", 1000)
    place = tmp_path / "files" / "other"
    if kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_bytes(b"x" * 1001)
    assert tasks._told(tmp_path) is None
