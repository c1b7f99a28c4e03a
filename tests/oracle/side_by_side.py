"""Draws every third of the sixty models with modgraph, torchview and TorchLens: to be judged blind, and for the gallery.

    python tests/oracle/side_by_side.py FOLDER [--keep GRAPHS] [--only WORD]   # all pictures, and letters for them
    python tests/oracle/side_by_side.py FOLDER --gallery                       # docs/images/beside from these

Needs torchvision, torchview, torchlens and Pillow, and Graphviz's `dot` on the PATH for the peers. Each draws with the options
that make its picture easiest to read of those that suit every model: modgraph with none, torchview with nested frames and rolled
repeats, TorchLens rolled, from top to bottom, and collapsed by its own measure.

`FOLDER/judge` holds a picture `NN.png` for each model, with its three in one row in an order that is drawn by lot, letters above them
and no word of who drew what; `FOLDER/key.json` says that. A picture is shown twice: fitted to a page, and the middle of it at the size
at which it is drawn.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import json
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import images

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
paper = importlib.import_module("paper_pictures")
TOOLS = ("modgraph", "torchview", "TorchLens")
STEP = 3
MOST_SECONDS = 300
"""That one picture may take."""
IN_GALLERY = (480, 620)
"""Pixels of one picture there."""
ON_PAGE = (900, 1250)
Image.MAX_IMAGE_PIXELS = None


def models() -> list[Any]:
    """Every third of the sixty, in their order."""
    every = itertools.chain.from_iterable(importlib.import_module("paper_models").GROUPS.values())
    return list(every)[::STEP]


def of_modgraph(shown: Any, keep: Path | None) -> bytes:
    return images.render(paper.graph_of(shown, keep), PictureOptions(), "png")


def live(shown: Any) -> tuple[Any, tuple[Any, ...]]:
    """The model on the CPU, and its inputs; those of a sample as modgraph makes them."""
    import torch

    if isinstance(shown.build, str) and shown.build.endswith(".py"):
        graph = paper.graph_of(shown, None)
        path = HERE.parents[1] / "samples" / shown.build
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        model = getattr(module, graph.model.class_name.rpartition(".")[2])().eval()
        tensors = [each for held in graph.model.inputs for each in held.tensors]
        return model, tuple(torch.zeros(each.shape, dtype=getattr(torch, each.dtype)) for each in tensors)
    return paper.model_of(shown, "cpu"), shown.inputs()


def of_torchview(model: Any, given: tuple[Any, ...]) -> bytes:
    import torchview

    data = given[0] if len(given) == 1 else list(given)
    graph = torchview.draw_graph(model, input_data=data, device="cpu", expand_nested=True, roll=True)
    dot = graph.visual_graph
    dot.graph_attr.update(size="", dpi="96")
    return bytes(dot.pipe(format="png"))


def of_torchlens(model: Any, given: tuple[Any, ...]) -> bytes:
    import torchlens

    trace = torchlens.trace(model, list(given) if len(given) > 1 else given[0])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "graph"
        trace.draw(
            vis_mode="rolled", collapse="auto", direction="topdown", vis_outpath=str(out), vis_save_only=True,
            vis_fileformat="png", dpi=96,
        )  # fmt: skip
        return next(Path(folder).glob("graph*.png")).read_bytes()


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} s")


def draw_all(shown: Any, folder: Path, keep: Path | None) -> None:
    """The pictures of one model, as far as they are not there; a text where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    made: tuple[Any, tuple[Any, ...]] | None = None
    for tool in TOOLS:
        file = folder / f"{paper.stem(shown)}-{tool}.png"
        if file.exists() or file.with_suffix(".txt").exists():
            continue
        try:
            signal.alarm(MOST_SECONDS)
            with contextlib.redirect_stdout(io.StringIO()):
                if tool == "modgraph":
                    file.write_bytes(of_modgraph(shown, keep))
                    continue
                made = made or live(shown)
                file.write_bytes((of_torchview if tool == "torchview" else of_torchlens)(*made))
        except Exception as error:  # of a peer too: what it says is what there is of it
            file.with_suffix(".txt").write_text(f"{type(error).__name__}: {error}")
            print(f"  {tool}: {type(error).__name__}: {str(error)[:200]}")
        finally:
            signal.alarm(0)


def picture(file: Path, size: tuple[int, int]) -> Image.Image:
    """A picture fitted into `size` and never enlarged, on white; words where there is none."""
    sheet = Image.new("RGB", size, "white")
    if not file.exists():
        ImageDraw.Draw(sheet).text((10, 10), "no picture: " + file.with_suffix(".txt").read_text()[:60], fill="black")
        return sheet
    with Image.open(file) as found:
        whole = found.convert("RGBA")
    ground = Image.new("RGBA", whole.size, "white")
    ground.alpha_composite(whole)
    ground.thumbnail(size, Image.Resampling.LANCZOS)
    sheet.paste(ground.convert("RGB"), ((size[0] - ground.width) // 2, 0))
    return sheet


def middle(file: Path, size: tuple[int, int]) -> Image.Image:
    """The middle of a picture as it is drawn."""
    sheet = Image.new("RGB", size, "white")
    if file.exists():
        with Image.open(file) as found:
            whole = found.convert("RGBA")
        ground = Image.new("RGBA", whole.size, "white")
        ground.alpha_composite(whole)
        left, top = max((ground.width - size[0]) // 2, 0), max((ground.height - size[1]) // 2, 0)
        sheet.paste(ground.convert("RGB").crop((left, top, left + size[0], top + size[1])), (0, 0))
    return sheet


def lettered(shown: Any, folder: Path, tools: tuple[str, ...], file: Path) -> None:
    """The three of one model beside each other, each below its letter."""
    width, high, low = ON_PAGE[0], ON_PAGE[1], 500
    sheet = Image.new("RGB", (len(tools) * (width + 20), high + low + 80), "#cccccc")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(28)
    for at, (letter, tool) in enumerate(zip("ABC", tools, strict=True)):
        source = folder / f"{paper.stem(shown)}-{tool}.png"
        left = at * (width + 20) + 10
        pen.text((left, 4), letter, fill="black", font=font)
        sheet.paste(picture(source, ON_PAGE), (left, 40))
        sheet.paste(middle(source, (width, low)), (left, high + 60))
    file.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(file)


def in_gallery(shown: Any, folder: Path) -> None:
    """The three beside each other, small, in few colours."""
    width, height = IN_GALLERY
    sheet = Image.new("RGB", (len(TOOLS) * (width + 12) - 12, height + 24), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    for at, tool in enumerate(TOOLS):
        left = at * (width + 12)
        pen.text((left + 4, 2), tool, fill="#4B5563", font=font)
        sheet.paste(picture(folder / f"{paper.stem(shown)}-{tool}.png", IN_GALLERY), (left, 24))
    target = HERE.parents[1] / "docs" / "images" / "beside" / f"{paper.stem(shown).lower()}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    sheet.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


def main() -> int:
    """Draw, and mix."""
    signal.signal(signal.SIGALRM, _too_long)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="folder of graphs that are made once")
    parser.add_argument("--only", help="models whose name has this in it")
    parser.add_argument("--gallery", action="store_true", help="write docs/images/beside")
    asked = parser.parse_args()
    file = asked.folder / "key.json"
    key: dict[str, dict[str, str]] = json.loads(file.read_text()) if file.exists() else {}
    for number, shown in enumerate(models(), 1):
        tools = random.sample(TOOLS, len(TOOLS))
        if asked.only and asked.only.lower() not in shown.name.lower():
            continue
        if asked.gallery:
            in_gallery(shown, asked.folder)
            continue
        print(f"{number:2d} {shown.name}", flush=True)
        draw_all(shown, asked.folder, asked.keep)
        kept = key.setdefault(f"{number:02d}", dict(zip("ABC", tools, strict=True)))
        lettered(shown, asked.folder, tuple(kept.values()), asked.folder / "judge" / f"{number:02d}.png")
        file.write_text(json.dumps(key, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
