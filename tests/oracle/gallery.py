"""Draws the gallery: `docs/gallery.md` and the pictures in `docs/images`.

    python tests/oracle/gallery_models.py graphs/      # once; needs torchvision
    python tests/oracle/gallery.py graphs/

The same graphs, with the same Graphviz, give the same bytes.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

from modgraph.api import load
from modgraph.export import write_file
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture.images import render

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SAID = {
    "resnet18": "two blocks of a stage are alike and drawn once; stages that differ in sizes alone are opened once",
    "googlenet": "branches beside the main path; two classifiers that evaluation never calls",
    "densenet121": "each layer is fed by all before it: what comes from far is named by a tag",
    "swin_t": "stages of shifted windows, each open once",
    "vit_b_16": "twelve blocks in one frame; parameters that the encoder adds itself",
    "lm_32": "thirty-two layers in one frame",
}
BESIDE = {
    "AlexNet": ("modgraph", "kernels, strides and channels in rows that fit a page"),
    "MobileNetV2": ("modgraph", "what repeats is counted, and the first block of each kind is open"),
    "ConvNeXt-T": ("modgraph", "one stage is open, the others are counted"),
    "GoogLeNet": ("torchview, then modgraph", "the branches of a block; they were closed, and one block is open now"),
    "EfficientNet-B0": ("torchview", "the blocks without a remark on layers that are never called; neither opens one"),
    "GPT-2 with a cache": ("modgraph", "twelve layers in one frame, the cache as one pill"),
    "T5-small": ("modgraph", "two stacks with what passes between them, each folded"),
    "CLIP": ("modgraph", "what a block is; that the two towers are alike is plainer in torchview's"),
    "ViT sample": ("modgraph", "all of it on one page"),
    "YOLO-like": ("torchview, then modgraph", "backbone, pyramid and heads; all were closed, and two are open now"),
    "DeepLab": ("modgraph", "dilations and sizes; that branches stand beside each other is plainer in torchview's"),
    "SegFormer": ("modgraph", "one stage is open, and what is taken from each is seen"),
    "DeepLab v3": ("torchview", "the five branches, which modgraph leaves closed"),
    "Tagger": ("modgraph", "two inputs and all layers on a third of a page"),
    "RealNVP": ("modgraph", "one coupling, eight times"),
    "StyleGAN": ("modgraph", "eight layers counted, one style for all stages"),
    "Diffusion U-Net": ("modgraph", "a U of three levels, named so"),
    "300 equal layers": ("modgraph", "what repeats, and how often"),
    "FPN": ("modgraph", "the pyramid beside what feeds it, one head called four times"),
    "DLRM": ("modgraph", "twenty-six tables in one card"),
}
"""Which of three pictures explains a model better, and by what; as it was judged without knowing which tool had drawn which."""
BESIDE_HEAD = """
## Beside torchview and TorchLens

Every third of the sixty models of `tests/oracle/paper_models.py`, drawn by modgraph, torchview 0.2.7 and TorchLens 2.36.1: torchview with
nested frames and rolled repeats, TorchLens rolled and collapsed by its own measure, modgraph without options. All have the same
room here, so that a long picture is a small one.

They were judged as `judge/01.png` to `judge/20.png`: without names, in an order drawn by lot, the key read afterwards. The style of a tool
is known at a glance all the same. modgraph's picture explained the model better in 16 of 20, torchview's in 4, TorchLens's in none. Two of the 4
were faults of one kind, a model drawn closed where there was room, and are repaired: judged again, with names, modgraph is better in 18 of 20.
torchview is better for EfficientNet-B0 and DeepLab v3.

```
python tests/oracle/side_by_side.py pictures/            # needs torchvision, torchview, torchlens, Pillow
python tests/oracle/side_by_side.py pictures/ --gallery
```
"""
HEAD = """\
# Gallery

What `modgraph analyze` draws, without options. The graphs are of real runs; those of torchvision's models were made with
`--device fake`, which allocates no weights. Each picture was looked at, and
`tests/export/svg_geometry.py` finds no text in any of them that is cut off, overlaps another or is crossed.

They are made by

```
python tests/oracle/gallery_models.py graphs/      # runs every model once; needs torchvision
python tests/oracle/gallery.py graphs/
```
"""


def captions() -> dict[str, str]:
    """What each sample shows, by file, as `samples/README.md` says it."""
    rows = (ROOT / "samples" / "README.md").read_text(encoding="utf-8").splitlines()
    found = (re.match(r"\| \[`([^`]+)`\]\([^)]*\) \| ([^|]+) \|", row) for row in rows)
    return {match[1]: match[2].strip().replace("**", "") for match in found if match}


def main() -> int:
    """Draw all of it."""
    folder = Path(sys.argv[1])
    models = runpy.run_path(str(Path(__file__).with_name("gallery_models.py")))
    said = captions()
    parts = [HEAD, "\n## Published models\n"]
    parts.extend(
        _entry(folder, shown.name, shown.title, SAID[shown.name], shown.target.replace(f"{ROOT}/", ""))
        for shown in models["PUBLISHED"]
        if shown.name in SAID
    )
    parts.append("\n## Samples\n")
    for shown in models["sample_models"]():
        file = shown.target.rpartition(":")[0].partition("samples/")[2]
        parts.append(_entry(folder, shown.name, shown.title, said[file], f"samples/{file}"))
    parts.append(BESIDE_HEAD)
    parts.extend(_beside(name, better, why) for name, (better, why) in BESIDE.items())
    write_file(DOCS / "gallery.md", "".join(parts))
    return 0


def _beside(name: str, better: str, why: str) -> str:
    """One model by three tools, as `side_by_side.py` has put them beside each other."""
    file = re.sub(r"\W+", "_", name).lower()
    said = f"three pictures of {name}: modgraph, torchview, TorchLens"
    return f"\n### {name}, three times\n\nBetter: {better}. {why[0].upper()}{why[1:]}.\n\n![{said}](images/beside/{file}.png)\n"


def _entry(folder: Path, name: str, title: str, said: str, target: str) -> str:
    svg = render(load(folder / f"{name}.json"), PictureOptions(), "svg")
    write_file(DOCS / "images" / f"{name}.svg", svg)
    heading = title[0].upper() + title[1:]
    return f"\n### {heading}\n\n`{target}`: {said}.\n\n![{heading}](images/{name}.svg)\n"


if __name__ == "__main__":
    raise SystemExit(main())
