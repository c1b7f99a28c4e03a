"""The process of one task: analyzes one model and writes its files. Started by `tasks.py`, never imported by it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from modgraph.doors import temporary
from modgraph.doors.keeper import end_with
from modgraph.doors.reading import OWN_BYTES, read
from modgraph.doors.writing import make_folder, put
from modgraph.errors import RAISED_BY_OTHERS, ExportError, ModgraphError
from modgraph.graph.model import Graph

THUMBNAIL_DEPTH = 1
_MAX_REASON = 2000


def main(directory: str) -> None:
    """Do what `request.json` in `directory` asks for; `outcome.json` says what came of it."""
    end_with(os.getppid())
    place = Path(directory)
    make_folder(place / "folders")
    temporary.make_folders_in(place / "folders")
    request = json.loads(read(place / "request.json", OWN_BYTES))
    try:
        outcome = _analyzed(request, place)
    except ModgraphError as error:
        outcome = _failed(error.message if error.hint is None else f"{error.message} ({error.hint})")
    except RAISED_BY_OTHERS as error:  # a defect of ours costs this model, and no other
        outcome = _failed(f"modgraph itself failed: {type(error).__name__}: {error}")
    put(place / "outcome.json", json.dumps(outcome).encode("ascii"), below=place)


def _failed(reason: str) -> dict[str, Any]:
    return {"state": "failed", "reason": reason[:_MAX_REASON], "facts": {}}


def _analyzed(request: dict[str, Any], place: Path) -> dict[str, Any]:
    from modgraph.api import analyze_target
    from modgraph.exporting import Exporting
    from modgraph.options import OnnxOptions
    from modgraph.source.wire import decode_options, decode_target

    exporting = None
    if "onnx" in request["formats"] and not request["static"]:
        make_folder(place / "onnx")
        onnx = {**request["onnx"], "dynamic": tuple(request["onnx"]["dynamic"])}
        exporting = Exporting(OnnxOptions(**onnx), f"{request['stem']}.onnx", place / "onnx")
    graph = analyze_target(
        decode_target(request["target"]),
        options=decode_options(request["options"]),
        static=request["static"],
        exporting=exporting,
        seek=request["seek"],
        forward=request["forward"],
    )
    notes, thumbnail = _write(graph, request, place / "files", () if exporting is None else exporting.files)
    state, reason = _state(graph, static=request["static"])
    if notes and state == "complete":
        state, reason = "partial", notes[0]
    return {"state": state, "reason": reason, "facts": _facts(graph, thumbnail)}


def _write(
    graph: Graph, request: dict[str, Any], directory: Path, onnx: tuple[Path, ...]
) -> tuple[list[str], str | None]:
    """Every format and the thumbnail; which formats failed, and the name of the thumbnail if there is one."""
    from modgraph.export import PictureOptions, render, write, write_file

    picture = PictureOptions(**request["picture"])
    written = write(
        graph,
        request["formats"],
        directory,
        options=picture,
        asked=request["asked"],
        stem=request["stem"],
        ready={"onnx": onnx},
    )
    name = f"{request['stem']}.thumbnail.svg"
    try:
        content = render(graph, "svg", replace(picture, depth=THUMBNAIL_DEPTH))
        write_file(directory / name, content, below=directory)
    except ExportError:  # no Graphviz: the index has no pictures then
        return [error.message for error in written.failures], None
    return [error.message for error in written.failures], name


def _state(graph: Graph, *, static: bool) -> tuple[str, str | None]:
    """How far the model is known, and what is amiss first."""
    from modgraph.export.text.arguments import no_calls_line
    from modgraph.graph.index import GraphIndex

    problems = sorted(graph.problems, key=lambda problem: problem.stage != "trace")
    reason = problems[0].headline if problems else None
    if not static and not (graph.traced and GraphIndex(graph).run_finished):
        return "failed", reason or "the model did not run"
    unpredicted = no_calls_line(graph) if static else ""
    if graph.complete:
        return "complete", f"forward {unpredicted}" if unpredicted else None
    return "partial", reason


_FAILS = "fails with every input"
"""How a finding ends that says so of a class."""


def _fails(graph: Graph) -> bool:
    """The model's own `forward` is predicted to fail, or a finding says so of it, however its class is built."""
    own = [each.message for each in graph.findings if each.module == ""]
    return any(call.module == "" and call.error for call in graph.calls) or any(
        message.endswith(f"; forward {_FAILS}") for message in own
    )


def _facts(graph: Graph, thumbnail: str | None) -> dict[str, Any]:
    from modgraph.export.text.arguments import no_calls_line

    found = graph.model.arguments_from
    return {
        "traced": graph.traced,
        "forward": no_calls_line(graph) or None,
        "assumed": found.text if found is not None and found.assumed else None,
        "class": graph.model.class_name,
        "parameters": graph.model.parameters,
        "modules": len(graph.modules),
        "calls": sum(call.observed is not False for call in graph.calls) if graph.traced else None,
        "problems": [problem.headline for problem in graph.problems],
        "findings": [
            {
                "code": each.code,
                "message": each.message,
                "file": each.file,
                "line": each.line,
                "module": each.module,
            }
            for each in graph.findings
        ],
        "thumbnail": thumbnail,
        "fails": _fails(graph),
    }
