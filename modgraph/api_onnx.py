"""`modgraph.export_onnx`: a model as an ONNX file that runs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.api import analyze_live, analyze_text
from modgraph.doors import temporary
from modgraph.errors import ExportWarning
from modgraph.graph.model import Graph
from modgraph.options import Dedup, Device, Leaf, Mode, OnnxOptions, TraceOptions, Weights
from modgraph.refusing import refuse_for_a_live_model

if TYPE_CHECKING:
    import torch


def export_onnx(
    model: torch.nn.Module | str | os.PathLike[str],
    file: str | os.PathLike[str],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    inputs: Sequence[str] = (),
    device: Device = "cpu",
    mode: Mode = "eval",
    timeout: float | None = None,
    memory_limit: int | None = None,
    path: Sequence[str] | None = None,
    weights: Weights = "embed",
    dynamic: Sequence[str] = (),
    dedup: Dedup = "shape",
    leaf: Leaf = "operator",
    depth: int | None = None,
) -> Graph:
    """Write a model as ONNX that runs and keeps its modules as functions; where that fails, its structure alone.

    A live model is run again beside its trace: by the exporter, on tensors without values, and to compare its results.

    Args:
        model: as for `analyze`; so are the arguments up to `path`. The export is counted in `timeout`.
        file: what is written; with `weights="external"` also a file of that name with ".data" at its end.
        weights: "embed" in the file, "external", or "none": they are inputs of the model then.
        dynamic: sizes that are left open: "ids:1=seq", or "batch" for dimension 0 of every input.
        dedup: which blocks share a function: those of equal "shape", of equal "structure", or "none".
        leaf: what a layer of one operator is: that "operator", or a "function" too.
        depth: how deep functions are nested.

    Returns:
        The graph of `analyze`. Where the file is less than it should be, its `problems` say why; where it is the
        structure alone, a warning (`ExportWarning`) says so too.

    Raises:
        ExportError: the file cannot be written, or onnx is not installed.
        ModgraphError: as from `analyze`.
    """
    from modgraph.export import put_files
    from modgraph.exporting import Exporting

    trace_options = TraceOptions(device=device, mode=mode, timeout=timeout, memory_limit=memory_limit)
    onnx_options = OnnxOptions(weights=weights, dynamic=tuple(dynamic), dedup=dedup, leaf=leaf, depth=depth)
    with temporary.folder() as directory:
        exporting = Exporting(onnx_options, Path(file).name, directory)
        if isinstance(model, str | os.PathLike):
            text = os.fspath(model)
            graph = analyze_text(
                text, args, kwargs, inputs, path, static=False, options=trace_options, exporting=exporting
            )
        else:
            refuse_for_a_live_model(timeout=timeout, memory_limit=memory_limit, inputs=inputs, path=path)
            graph = analyze_live(model, args, kwargs, static=False, options=trace_options, exporting=exporting)
        put_files(exporting.files, Path(file).parent, named=Path(file))
        if not exporting.files:
            _write_structure(graph, file)
    return graph


def _write_structure(graph: Graph, file: str | os.PathLike[str]) -> None:
    """Instead of a model that runs; the warnings stand where the caller of `export_onnx` called it."""
    from modgraph.export import render, write_file

    write_file(Path(file), render(graph, "onnx"))
    for problem in graph.problems:
        if problem.stage == "export":
            warnings.warn(f"{os.fspath(file)}: {problem.message}", ExportWarning, stacklevel=3)
