"""Draws sixty models and says how their pictures would look on paper: a Markdown table.

    python tests/oracle/paper_pictures.py [--keep FOLDER] [--pictures FOLDER] [--only WORD] [--default-only] [-o table.md]

By model: width and height in points, the smallest text when the picture is 6.5 inches wide, and when it is fitted to a text
block of 6.5 × 9 inches (what is smaller keeps its size), crossings of text (`tests/export/svg_geometry.py`) and ink: the share of the picture that cards,
circles and pills take. The columns beside are those of `--style paper --width 6.5in`. With `--keep` the graphs lie in FOLDER
and are not made again. `MODGRAPH_DOT=/usr/bin/dot` draws with another Graphviz. Models of torchvision are left out, and named, where it cannot be imported.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import re
import runpy
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modgraph.api import analyze_target, find_targets, load, trace
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import images
from modgraph.graph.model import Graph
from modgraph.options import TraceOptions
from modgraph.source.inputs import parse_input

HERE = Path(__file__).parent
BLOCK = (6.5 * 72, 9 * 72)
"""Of a page, in points."""
MOST_WIDTH = 3_000
geometry = runpy.run_path(str(HERE.parent / "export" / "svg_geometry.py"))


@dataclass(frozen=True, slots=True)
class Look:
    """What is measured of one picture."""

    width: float
    height: float
    wide: float
    """Points of the smallest text where the picture is as wide as the text block, or smaller."""
    text: float
    """The same where it is no higher either."""
    problems: tuple[str, ...]
    ink: float

    @property
    def cells(self) -> str:
        return f"{self.width:,.0f} | {self.height:,.0f} | {self.wide:.1f} | {self.text:.1f} | {len(self.problems)} | {self.ink:.0%}"


def look_at(svg: str) -> Look:
    """Measure a picture."""
    found = re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    assert found is not None
    width, height = float(found[1]), float(found[2])
    drawn = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', svg)
    assert drawn is not None
    inside = width / float(drawn[1])
    wide = min(1.0, BLOCK[0] / width) * inside
    scale = min(1.0, BLOCK[0] / width, BLOCK[1] / height) * inside
    sizes = [float(size) for size in re.findall(r'<text [^>]*font-size="([\d.]+)"[^>]*>[^<\s&]', svg)]
    least = min(sizes, default=0)
    return Look(width, height, least * wide, least * scale, tuple(geometry["problems"](svg)), geometry["ink"](svg))


def model_of(shown: Any, device: str) -> Any:
    """A live model; on `meta`, where what it does does not depend on values."""
    import torch

    with torch.device(device):
        if not isinstance(shown.build, str):
            return shown.build().eval()
        module, _, name = f"torchvision.models.{shown.build.partition(':')[2]}".rpartition(".")
        more = {"weights_backbone": None} if "detection" in module or "segmentation" in module else {}
        more |= {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return getattr(importlib.import_module(module), name)(weights=None, **more).eval()


def graph_of(shown: Any, keep: Path | None) -> Graph:
    """The graph of a model: of a run on fake tensors, of a sample as `modgraph analyze` makes it."""
    kept = keep / f"{stem(shown)}.json" if keep else None
    if kept is not None and kept.exists():
        return load(kept)
    if isinstance(shown.build, str) and shown.build.endswith(".py"):
        (target,) = find_targets(str(HERE.parents[1] / "samples" / shown.build))
        graph = analyze_target(target, specs=tuple(map(parse_input, shown.inputs())), options=TraceOptions())
    else:
        real = isinstance(shown.build, str) and "detection" in shown.build
        graph = trace(model_of(shown, "cpu" if real else "meta"), shown.inputs(), device="cpu" if real else "fake")
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(graph.to_json(), encoding="utf-8")
    return graph


def stem(shown: Any) -> str:
    """A name for a file."""
    return re.sub(r"\W+", "_", shown.name)


def drawn(shown: Any, graph: Graph, options: PictureOptions, folder: Path | None, end: str) -> Look:
    """One picture, measured; kept in `folder`."""
    svg = images.render(graph, options, "svg")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{stem(shown)}{end}.svg").write_bytes(svg)
    return look_at(svg.decode("utf-8"))


def paper_options() -> PictureOptions | None:
    """Those of `--style paper`."""
    with contextlib.suppress(TypeError):
        return PictureOptions(style="paper", width=BLOCK[0])
    return None


def summary(looks: list[Look], least: float) -> str:
    """What holds of all of them."""
    wide = sum(look.wide >= least - 0.05 for look in looks)
    big = sum(look.text >= least - 0.05 for look in looks)
    crossings = sum(len(look.problems) for look in looks)
    widest = max((look.width for look in looks), default=math.nan)
    clean = sum(not look.problems for look in looks)
    return (
        f"{wide} of {len(looks)} have text of {least:g} pt and more at 6.5 in, {big} in 6.5 × 9 in; {crossings} crossings, none in {clean}; "
        f"the widest is {widest:,.0f} pt"
    )


def main() -> int:
    """Draw, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="folder of graphs that are made once")
    parser.add_argument("--pictures", type=Path, help="folder in which the pictures are kept")
    parser.add_argument("--only", help="models whose name has this in it")
    parser.add_argument("--default-only", action="store_true", help="without --style paper")
    parser.add_argument("--problems", action="store_true", help="say what crosses what")
    parser.add_argument("-o", "--output", type=Path, help="write the table into this file")
    parser.add_argument("--wheel", action="store_true", help="draw with the Graphviz inside pygraphviz, not with `dot`")
    asked = parser.parse_args()
    if asked.wheel:
        images.find_engine = lambda: images.Engine(None)
    sys.path.insert(0, str(HERE))
    models = importlib.import_module("paper_models")
    paper = None if asked.default_only else paper_options()
    head = "| model | width pt | height pt | text at 6.5 in | in 6.5 × 9 in | crossings | ink |"
    rule = "|---|--:|--:|--:|--:|--:|--:|"
    lines = [head + (" paper: width | height | text at 6.5 in | in 6.5 × 9 in | crossings | ink |" if paper else "")]
    lines.append(rule + ("--:|--:|--:|--:|--:|--:|" if paper else ""))
    looks: dict[str, list[Look]] = {"": [], "-paper": []}
    said, skipped = [], []
    begun = time.monotonic()
    for group, shown_models in models.GROUPS.items():
        lines.append(f"| **{group}** |" + " |" * (12 if paper else 6))
        for shown in shown_models:
            if asked.only and asked.only.lower() not in shown.name.lower():
                continue
            try:
                graph = graph_of(shown, asked.keep)
            except (ImportError, RuntimeError, AttributeError) as error:
                skipped.append(f"{shown.name}: {str(error).splitlines()[0]}")
                continue
            cells = []
            for end, options in (("", PictureOptions()), ("-paper", paper)):
                if options is None:
                    continue
                look = drawn(shown, graph, options, asked.pictures, end)
                looks[end].append(look)
                cells.append(look.cells)
                said.extend(f"{shown.name}{end}: {problem}" for problem in look.problems)
            lines.append(f"| {shown.name} | {' | '.join(cells)} |")
    lines += ["", summary(looks[""], 6)]
    if paper:
        lines.append(f"paper: {summary(looks['-paper'], 7)}")
    lines += [f"skipped: {each}" for each in skipped]
    if asked.problems:
        lines += ["", *said]
    print("\n".join(lines))
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    if asked.output:
        asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
