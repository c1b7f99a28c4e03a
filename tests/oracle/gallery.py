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
    write_file(DOCS / "gallery.md", "".join(parts))
    return 0


def _entry(folder: Path, name: str, title: str, said: str, target: str) -> str:
    svg = render(load(folder / f"{name}.json"), PictureOptions(), "svg")
    write_file(DOCS / "images" / f"{name}.svg", svg)
    heading = title[0].upper() + title[1:]
    return f"\n### {heading}\n\n`{target}`: {said}.\n\n![{heading}](images/{name}.svg)\n"


if __name__ == "__main__":
    raise SystemExit(main())
