"""An ONNX file that runs, made on the way of a trace: what is asked for, and what became of it.

The model lives where it is traced, and so is exported there. What comes back is a file, or the reason why there is
none; the structure of the graph is written in its place then, and the graph says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from modgraph.errors import RAISED_BY_OTHERS, ModgraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, Problem
from modgraph.options import OnnxOptions

CAPTURE = "modgraph.export.onnx.live:capture"
"""What the process of the trace calls."""
_MAX_MESSAGE = 1000


@dataclass(slots=True)
class Exporting:
    """One export.

    Args:
        name: of the file; of its weights, where these are beside it, with ".data" at its end.
        directory: an existing one, into which the files are put.
    """

    options: OnnxOptions
    name: str
    directory: Path
    report: Mapping[str, Any] | None = None
    """What `onnx_file.Report` says; None where there is no file."""
    error: str | None = None
    """Why there is none."""
    notes: list[str] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        """What the capture is told, as JSON values."""
        return {**asdict(self.options), "name": self.name}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were made, the model last; none where it could not be exported."""
        if self.report is None:
            return ()
        paths = (self.directory / f"{self.name}.data", self.directory / self.name)
        return tuple(path for path in paths if path.is_file())

    def settle(self, report: Any, error: str | None) -> None:
        """Take in what the capture has said. The user's code can have said it too."""
        if error is None and _is_report(report) and (self.directory / self.name).is_file():
            self.report = report
        else:
            self.error = error or "the export ended without a file"

    def capture_here(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], graph: Graph) -> None:
        """Export a live model in this process."""
        from modgraph.export.onnx.live import capture

        try:
            self.settle(capture(model, args, kwargs, self.directory, graph, self.settings), None)
        except ModgraphError as error:
            self.settle(None, error.message)
        except RAISED_BY_OTHERS as error:  # an exporter of torch may raise anything; the trace is told already
            self.settle(None, f"{type(error).__name__}: {error}"[:_MAX_MESSAGE])

    def noted(self, graph: Graph) -> Graph:
        """The graph, with a problem where less was written than was asked for."""
        problems = [Problem(stage="export", message=text[:_MAX_MESSAGE]) for text in self._shortcomings()]
        if not problems:
            return graph
        builder = GraphBuilder.of(graph)
        builder.problems.extend(problems)
        return builder.build()

    def _shortcomings(self) -> list[str]:
        if self.report is None:
            why = _UNKNOWN_TYPE.sub(_in_our_words, self.error or "the model did not run")
            return [f"the ONNX file shows the structure alone and cannot be run: {why}"]
        found = [str(note) for note in self.report.get("notes") or ()]
        if self.report.get("reason"):
            found.append(f"the ONNX file is flat, with the module on every node: {self.report['reason']}")
        return found


_UNKNOWN_TYPE = re.compile(
    r"(?:\w+: )*(?:Found <class '([^']+)'> in (\w+), which is not a known type"
    r"|Unsupported (input|output) type <class '([^']+)'>)\..*",
    re.DOTALL,
)
"""What torch says of an object that may hold tensors."""
_OWN = f"{__name__.partition('.')[0]}."


def _in_our_words(found: re.Match[str]) -> str:
    name, side = found[1] or found[4], found[2] or found[3]
    if name.startswith(_OWN):
        return (
            "forward is given one object whose attributes are the tensors, as its inputs were inferred, and"
            " torch.export takes tensors, and tuples, lists and dicts of them, alone"
        )
    does = "is given" if side == "input" else "returns"
    return (
        f"forward {does} a {name}, which torch.export does not take apart: put its tensors into a tuple or dict, or"
        " register the class (torch.utils._pytree.register_pytree_node)"
    )


def _is_report(report: Any) -> bool:
    if not isinstance(report, dict) or not isinstance(report.get("reason"), str | None):
        return False
    notes = report.get("notes") or []
    return isinstance(notes, list) and all(isinstance(note, str) for note in notes)
