"""Draws models twice, as predicted and as traced, and says what the two pictures do not have in common.

    python tests/oracle/static_pairs.py [resnet18 samples/vae.py:VAE ...] [-o pairs.md] [--lines 6]

What a picture has are its nodes with all that is written on them, its frames, and its arrows with their labels. Left out
is what says which half it is: the title, and that an arrow of a run may come from before what gave its tensor back. A
line that one picture alone has is told with its reason, as far as there is one: it depends on what no source decides, or
on a size that no source says.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import modgraph
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Item, Join, Pill, Tag
from modgraph.export.picture.choosing import picture_of
from modgraph.graph.model import Graph

ROOT = Path(__file__).parents[2]
MODELS = (
    *(
        "resnet18",
        "alexnet",
        "vgg11",
        "squeezenet1_0",
        "densenet121",
        "googlenet",
        "mobilenet_v2",
        "shufflenet_v2_x0_5",
    ),
    *("mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "convnext_tiny", "vit_b_16", "swin_t", "inception_v3"),
    *(
        "mlp:MLP",
        "vae:VAE",
        "unet:UNet",
        "vit:VisionTransformer",
        "siamese:SiameseNet",
        "lstm_classifier:LSTMClassifier",
        "moe:MoE",
    ),
    *(
        "transformer_lm:TransformerLM",
        "gan:Generator",
        "gan:Discriminator",
        "shared_layer:SharedLayers",
        "resnet:ResNet",
    ),
    *("never_called:SmallCNN", "diffusion_unet_tiny:DiffusionUNet", "side_effect:Autoencoder"),
)
"""Of torchvision, and `file:Class` of the samples."""


@dataclass(frozen=True)
class Pair:
    """Both pictures of one model, as lines."""

    name: str
    static: frozenset[str]
    traced: frozenset[str]
    error: str = ""

    @property
    def only(self) -> list[str]:
        """ "< ..." of the prediction alone, "> ..." of the run alone."""
        sides = (("<", self.static - self.traced), (">", self.traced - self.static))
        return [f"{sign} {line}" for sign, lines in sides for line in sorted(lines)]


def built(name: str) -> tuple[str, torch.nn.Module, tuple[Any, ...] | None]:
    """The target, the live model, and what it is given; None for what the trace finds."""
    file, _, kind = name.rpartition(":")
    torch.default_generator.manual_seed(0)
    random.seed(0)
    if file:
        path = Path(file) if file.endswith(".py") else ROOT / "samples" / f"{file}.py"
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return f"{path}:{kind}", getattr(module, kind)(), None
    import torchvision

    size = 299 if name == "inception_v3" else 224
    model = getattr(torchvision.models, name)(weights=None)
    return f"torchvision.models:{name}", model, (torch.zeros(1, 3, size, size),)


def pair_of(name: str) -> Pair:
    """Draws it twice."""
    target, model, given = built(name)
    traced = modgraph.trace(model.eval(), given)
    inputs = [
        f"{each.name}={'x'.join(map(str, tensor.shape or ())) or 'scalar'}:{tensor.dtype}"
        for each in traced.model.inputs
        for tensor in each.tensors
    ]
    static = modgraph.predict(target, inputs=inputs)
    return Pair(name, frozenset(lines_of(static)), frozenset(lines_of(traced)))


def lines_of(graph: Graph) -> Iterator[str]:
    """Nodes, frames and arrows of its picture."""
    picture = picture_of(graph, PictureOptions())
    names: dict[str, str] = {}
    for item in _everything(picture.items):
        text = _text(item)
        names[item.id] = f"{item.id}"
        yield text
    for arrow in picture.arrows:
        if arrow.kind == "order":
            continue  # it is not drawn
        kind = "- -" if arrow.kind == "conditional" else "---"
        label = f" [{arrow.label}]" if arrow.label else ""
        yield f"{names.get(arrow.tail, arrow.tail)} {kind}> {names.get(arrow.head, arrow.head)}{label}"


def _everything(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        if isinstance(item, Frame):
            yield from _everything(item.items)


def _text(item: Item) -> str:
    if isinstance(item, Frame):
        marks = "".join(f" ({mark.state} {mark.note})" for mark in item.marks)
        return f"frame {item.id}: {item.title} {item.detail} ×{item.copies}{marks}"
    if isinstance(item, Card):
        rows = [
            " ".join(
                filter(
                    None,
                    (
                        row.title,
                        row.detail,
                        row.path,
                        row.count,
                        f"×{row.copies}" if row.copies > 1 else "",
                        *(f"({mark.state} {mark.note})" for mark in row.marks),
                    ),
                )
            )
            for row in item.rows
        ]
        marks = "".join(f" ({mark.state} {mark.note})" for mark in item.marks)
        return f"card {item.id}: {' | '.join(rows)}{marks}"
    if isinstance(item, Pill):
        return f"pill {item.id}: {item.title} {item.detail}"
    if isinstance(item, Join):
        return f"join {item.id}: {item.sign}"
    assert isinstance(item, Tag)
    return f"tag {item.id}: {item.text}"


def reasons_of(pair: Pair) -> dict[str, str]:
    """Of each line that one picture alone has, why, as far as the lines say it; "" for no reason."""
    lines = {sign: {_key(line[2:]): line for line in pair.only if line[0] == sign} for sign in "<>"}
    found = {line: _own_reason(line, lines[">" if line[0] == "<" else "<"].get(_key(line[2:]))) for line in pair.only}
    for line, reason in found.items():
        other = lines[">" if line[0] == "<" else "<"].get(_key(line[2:]))
        if not reason and other is not None:
            found[line] = found[other]
    doubted = [line[2:] for line in pair.only if found[line] == DEPENDS]
    boxes = {_key(line) for line in doubted if "(conditional" in line}
    tails = {_key(line).partition(" --->")[0] for line in doubted if "- ->" in line}
    for line in pair.only:
        key = _key(line[2:])
        if found[line]:
            continue
        if any(end in boxes or any(end.startswith(f"{box}.") for box in boxes) for end in _ends(key)):
            found[line] = f"inside of what {DEPENDS}"
        elif any("output:" in each for each in doubted) and "output:" in line:
            found[line] = f"an output beside one that {DEPENDS}"
        elif "--->" in key and key.partition(" --->")[0] in tails:
            found[line] = f"the shape stands on the arrow that {DEPENDS}"
    return found


DEPENDS = "depends on what no source decides"


def _key(line: str) -> str:
    """What a line is of: a node by its id, an arrow by its ends."""
    kind, _, rest = line.partition(" ")
    if kind in ("card", "frame", "pill", "join", "tag"):
        return rest.partition(": ")[0].removeprefix("frame:")
    return line.partition(" [")[0].replace("- ->", "--->")


def _ends(key: str) -> list[str]:
    return [end.strip() for end in key.split("--->")]


def _own_reason(line: str, other: str | None) -> str:
    if line[0] == "<" and ("(conditional" in line or "- ->" in line):
        return DEPENDS
    if line[0] == "<" and ("?" in line or "(unknown" in line):
        return "a size that no source says"
    if line.startswith("< card") and other is not None and set(line[2:].split()) > set(other[2:].split()):
        return "an argument of the constructor that the instance does not keep"
    return ""


def table(pairs: Sequence[Pair]) -> Iterator[str]:
    yield "| model | lines | differing | why |"
    yield "| --- | --: | --: | --- |"
    for each in pairs:
        if each.error:
            yield f"| {each.name} | - | - | {each.error} |"
            continue
        reasons = reasons_of(each)
        said = Counter(reason or "**no reason**" for reason in reasons.values())
        why = "; ".join(f"{number} {reason}" for reason, number in said.most_common())
        yield f"| {each.name} | {len(each.traced)} | {len(each.only) or 'equal'} | {why} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--lines", type=int, default=6, help="differing lines that are shown of each model")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = []
    for name in arguments.models:
        try:
            pairs.append(pair_of(name))
        except Exception as error:
            pairs.append(Pair(name, frozenset(), frozenset(), f"{type(error).__name__}: {error}"[:80]))
        print(name, "error" if pairs[-1].error else len(pairs[-1].only), flush=True)
        for line in pairs[-1].only[: arguments.lines]:
            print(f"    {line[:200]}  ({reasons_of(pairs[-1])[line]})", flush=True)
    text = "\n".join(table(pairs)) + "\n"
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    print(text)
    return int(any("" in reasons_of(each).values() or each.error for each in pairs))


if __name__ == "__main__":
    sys.exit(main())
