"""Has the real Mermaid read what modgraph writes: every sample, large models, and names made to break it.

    npm install --prefix FOLDER mermaid@11 jsdom
    python tests/oracle/mermaid_check.py GRAPHS FOLDER

GRAPHS holds the graphs that `gallery_models.py` wrote, and gets their diagrams. Exit status 1 where one is refused, or
has another number of nodes than was written.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from modgraph.api import load
from modgraph.export import PictureOptions, render
from modgraph.graph.model import Graph

HARMFUL = runpy.run_path(str(Path(__file__).parents[1] / "export" / "conftest.py"))["harmful_net"]


def main() -> int:
    """Write the diagrams and have them read."""
    folder, node = Path(sys.argv[1]), sys.argv[2]
    written: dict[Path, int] = {}
    for graph_file in sorted(folder.glob("*.json")):
        written.update(_diagram(load(graph_file), graph_file.with_suffix(".mmd"), None))
    written.update(_diagram(HARMFUL().graph(), folder / "harmful.mmd", None))
    written.update(_diagram(HARMFUL().graph(), folder / "harmful-closed.mmd", PictureOptions(depth=0)))
    command = ["node", str(Path(__file__).with_name("mermaid_parse.mjs")), *map(str, written)]
    run = subprocess.run(command, env={**os.environ, "NODE_FOLDER": node}, capture_output=True, text=True, check=False)
    print(run.stdout.replace(f"{folder}{os.sep}", ""), run.stderr, sep="", end="")
    read = {line.partition(": ")[0]: line for line in run.stdout.splitlines()}
    wrong = [str(file) for file, nodes in written.items() if f" {nodes} nodes," not in read.get(str(file), "")]
    print(f"{len(written)} diagrams, {len(written) - len(wrong)} read as they were meant")
    return 1 if wrong or run.returncode else 0


def _diagram(graph: Graph, file: Path, options: PictureOptions | None) -> dict[Path, int]:
    text = str(render(graph, "mermaid", options))
    file.write_text(text, encoding="utf-8")
    return {file: len(re.findall(r"^ *n\d+[(\[]", text, re.MULTILINE))}


if __name__ == "__main__":
    raise SystemExit(main())
