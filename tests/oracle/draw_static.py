"""Draws the static graph of every sample and of every torchvision model builder, and has Graphviz read what was drawn.

    python tests/oracle/draw_static.py [--builders 10] [--pictures FOLDER] [-o drawn.md]

The builders are the public functions of `torchvision.models` that return a model, found in its sources; nothing is
imported. Looked at are: the DOT is drawn, Graphviz reads it, and where the graph leaves something open, the picture
marks it and the legend says so.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from modgraph.api import analyze_target, find_targets
from modgraph.errors import ModgraphError
from modgraph.export import render
from modgraph.graph.model import Graph
from modgraph.graph.paths import is_open_place
from modgraph.options import TraceOptions

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(path for path in (ROOT / "samples").rglob("*.py") if path.name not in ("__init__.py", "config.py"))
PARSED = (
    "import sys, pygraphviz; [pygraphviz.AGraph(string=open(name, encoding='utf-8').read()) for name in sys.argv[1:]]"
)
"""Run in a process of its own: Graphviz ends the process on some errors of syntax."""


@dataclass(frozen=True)
class Drawn:
    """One static graph and its DOT."""

    name: str
    graph: Graph
    dot: str

    @property
    def open_places(self) -> int:
        """Children of unknown type, and places where further ones may stand."""
        return sum(node.class_name is None for node in self.graph.modules)

    @property
    def marked(self) -> bool:
        """Where something is open, the picture says so, in place or in what it says of a folded part, and its legend."""
        return not self.open_places or ("unknown" in self.dot and "partial" in self.dot)


def drawn(target: str) -> list[Drawn]:
    """The static graphs of a target, drawn."""
    found = []
    for one in find_targets(target):
        graph = analyze_target(one, options=TraceOptions(), static=True)
        found.append(Drawn(one.text, graph, str(render(graph, "dot"))))
    return found


def torchvision_builders() -> list[str]:
    """Names of the functions that torchvision registers as builders of models."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return []
    folder = Path(spec.origin).parent / "models"
    return [name for file in sorted(folder.rglob("*.py")) for name in registered(file, folder)]


def registered(file: Path, folder: Path) -> Iterator[str]:
    module = ".".join(("torchvision.models", *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
    for node in ast.parse(file.read_bytes()).body:
        decorators = [ast.unparse(one) for one in getattr(node, "decorator_list", ())]
        if isinstance(node, ast.FunctionDef) and any(text.startswith("register_model") for text in decorators):
            yield f"{module}:{node.name}"


def unreadable(folder: Path) -> str:
    """What Graphviz says of DOT files that are wrong; "" where it reads them all."""
    files = sorted(map(str, folder.glob("*.dot")))
    done = subprocess.run([sys.executable, "-c", PARSED, *files], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr or f"Graphviz ended with status {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builders", type=int, help="only so many of torchvision's")
    parser.add_argument("--pictures", type=Path, default=Path("modgraph-out/static"), help="where the DOT files go")
    parser.add_argument("-o", "--output", type=Path, help="write the figures as a table into this file")
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    builders = torchvision_builders()[: options.builders]
    lines = [
        "| what | graphs | complete | with open places | all marked | modules | failed |",
        "|---|--:|--:|--:|---|--:|--:|",
    ]
    failures: list[str] = []
    for what, targets in (("samples", list(map(str, SAMPLES))), ("torchvision's builders", builders)):
        found: list[Drawn] = []
        before = len(failures)
        for target in targets:
            try:
                found += drawn(target)
            except ModgraphError as error:  # noqa: PERF203 - one that fails does not keep the others from being drawn
                failures.append(f"{target}: {error.message}")
        for one in found:
            name = "".join(letter if letter.isalnum() else "_" for letter in one.name)
            (options.pictures / f"{name}.dot").write_text(one.dot, "utf-8")
        complete, still_open = sum(one.graph.complete for one in found), sum(bool(one.open_places) for one in found)
        modules = sum(not is_open_place(node.path) for one in found for node in one.graph.modules)
        marked = "yes" if all(one.marked for one in found) else "no"
        lines.append(
            f"| {what} | {len(found)} | {complete} | {still_open} | {marked} | {modules:,} | {len(failures) - before} |"
        )
    complaint = unreadable(options.pictures)
    lines += ["", complaint or "Graphviz reads every one of them.", *failures]
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", "utf-8")
    sys.exit(1 if complaint or failures else 0)


if __name__ == "__main__":
    main()
