"""modgraph: the graph of a PyTorch model, predicted from its source and checked against a real run.

The public names are resolved on first use, so that `import modgraph` costs next to nothing and never imports torch.
Nor does it import anything else: `python -m modgraph` runs this file while modules are still looked for in the working
directory, where a stranger's `typing.py` may lie (`__main__.py` ends that).
"""

from modgraph._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from modgraph.api import analyze, check, load, predict, trace
    from modgraph.api_onnx import export_onnx
    from modgraph.api_ranks import merge_ranks
    from modgraph.batch.running import analyze_all
    from modgraph.changes.model import Changes
    from modgraph.diffing import diff
    from modgraph.errors import (
        ConfigError,
        ExportError,
        GraphError,
        InputError,
        ModgraphError,
        TargetError,
        TraceError,
    )
    from modgraph.findings import Finding
    from modgraph.graph.model import Graph
    from modgraph.source.targets import Ref
    from modgraph.suggesting import suggest

_HOMES = {
    **dict.fromkeys(("analyze", "check", "load", "predict", "trace"), "modgraph.api"),
    **dict.fromkeys(
        ("ConfigError", "ExportError", "GraphError", "InputError", "ModgraphError", "TargetError", "TraceError"),
        "modgraph.errors",
    ),
    "analyze_all": "modgraph.batch.running",
    "export_onnx": "modgraph.api_onnx",
    "Changes": "modgraph.changes.model",
    "Finding": "modgraph.finding",
    "Graph": "modgraph.graph.model",
    "Ref": "modgraph.source.targets",
    "diff": "modgraph.diffing",
    "merge_ranks": "modgraph.api_ranks",
    "suggest": "modgraph.suggesting",
}

__all__ = [
    "Changes",
    "ConfigError",
    "ExportError",
    "Finding",
    "Graph",
    "GraphError",
    "InputError",
    "ModgraphError",
    "Ref",
    "TargetError",
    "TraceError",
    "__version__",
    "analyze",
    "analyze_all",
    "check",
    "diff",
    "export_onnx",
    "load",
    "merge_ranks",
    "predict",
    "suggest",
    "trace",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'modgraph' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
