"""The models of the gallery and of the checks of pictures: every sample, and models of a size that people publish.

    python tests/oracle/gallery_models.py FOLDER

writes the graph of each into FOLDER as JSON, those of torchvision without weights or activations in memory. What is
there already is kept, so that pictures can be drawn again without running the models.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from modgraph.api import analyze_target, find_targets, load
from modgraph.errors import ModgraphError
from modgraph.graph.model import Graph
from modgraph.options import Device, TraceOptions
from modgraph.source.inputs import parse_input

ROOT = Path(__file__).parents[2]
_PARTS = ("__init__.py", "config.py", "blocks.py")
SAMPLES = sorted(path for path in (ROOT / "samples").rglob("*.py") if path.name not in _PARTS)


@dataclass(frozen=True, slots=True)
class Shown:
    """One model: how its picture is called, what it is, and the inputs it is given."""

    name: str
    target: str
    title: str
    inputs: tuple[str, ...] = ()
    device: Device = "fake"


IMAGE = ("1x3x224x224",)
PUBLISHED = (
    Shown("resnet18", "torchvision.models:resnet18", "ResNet-18", IMAGE),
    Shown("googlenet", "torchvision.models:googlenet(init_weights=False)", "GoogLeNet", IMAGE),
    Shown("densenet121", "torchvision.models:densenet121", "DenseNet-121", IMAGE),
    Shown("swin_t", "torchvision.models:swin_t", "Swin Transformer, tiny", IMAGE),
    Shown("vit_b_16", "torchvision.models:vit_b_16", "Vision Transformer, base", IMAGE),
    Shown("lm_32", f"{ROOT}/samples/transformer_lm.py:TransformerLM(depth=32)", "a language model of 32 layers"),
    Shown("resnet152", "torchvision.models:resnet152", "ResNet-152", IMAGE),
    Shown("vit_h_14", "torchvision.models:vit_h_14", "Vision Transformer, huge", IMAGE),
)


def sample_models() -> list[Shown]:
    """Every root model of every sample, run on the CPU as a user would."""
    found = []
    for file in SAMPLES:
        for target in find_targets(str(file)):
            stem = file.parent.name if file.stem == "model" else file.stem
            name = stem if target.text.endswith(f"{file.name}:{target.name}") else f"{stem}_{target.name}"
            found.append(Shown(name, f"{file}:{target.name}", target.name, device="cpu"))
    stems = [shown.name for shown in found]
    return [
        shown if stems.count(shown.name) == 1 else Shown(f"{shown.name}_{shown.title}", *_rest(shown))
        for shown in found
    ]


def _rest(shown: Shown) -> tuple[str, str, tuple[str, ...], Device]:
    return shown.target, shown.title, shown.inputs, shown.device


def graph_of(shown: Shown, folder: Path) -> Graph:
    """The graph of one model; it is run once, and kept in `folder`."""
    kept = folder / f"{shown.name}.json"
    if kept.exists():
        return load(kept)
    (target,) = find_targets(shown.target)
    options = TraceOptions(device=shown.device)
    graph = analyze_target(target, specs=tuple(parse_input(text) for text in shown.inputs), options=options)
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(graph.to_json(), encoding="utf-8")
    return graph


def _said(shown: Shown, folder: Path) -> str:
    try:
        graph = graph_of(shown, folder)
    except ModgraphError as error:
        return f"{shown.name}: {error.message}"
    parts = (f"{len(graph.modules)} modules", f"{len(graph.calls)} calls", f"{len(graph.problems)} problems")
    return f"{shown.name}: {', '.join(parts)}"


def main() -> int:
    """Write the graph of every model."""
    folder = Path(sys.argv[1])
    for shown in (*sample_models(), *PUBLISHED):
        print(_said(shown, folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
