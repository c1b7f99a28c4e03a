"""Shapes predicted with sizes left open, evaluated at random sizes and held against torch on its meta device.

    python tests/oracle/symbolic_sizes.py [TARGET ...] [--sizes 10] [--seed 0] [--input SPEC] [--path DIR] [--json F]

Of each model, the inputs are found (or given by --input), `forward` is predicted once, and the conditions that come with
it are read: what the model requires (`constraints`), and what was followed besides. Then, for sizes that meet all of
them, torch has to make each certain call in its place, no other but those that are told as conditional, give each shape,
and refuse none; sizes that break what is required, and nothing else, torch has to refuse. A conditional call whose
condition speaks of sizes alone is made where it holds; of others either is right. Without targets: 15 small models beside
this file, and of torchvision and timm 45 and 25, where these can be imported.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import random
import re
import runpy
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from modgraph.graph.model import Call, Graph, ModelInput
from modgraph.prediction import predict_graph
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

HERE = Path(__file__).parent
TORCHVISION = (
    "alexnet:alexnet", "convnext:convnext_tiny", "densenet:densenet121", "efficientnet:efficientnet_b0",
    "googlenet:googlenet", "inception:inception_v3", "mnasnet:mnasnet0_5", "mobilenetv2:mobilenet_v2",
    "mobilenetv3:mobilenet_v3_small", "regnet:regnet_y_400mf", "resnet:resnet18", "resnet:resnext50_32x4d",
    "shufflenetv2:shufflenet_v2_x0_5", "squeezenet:squeezenet1_1", "swin_transformer:swin_t",
    "swin_transformer:swin_v2_t", "vgg:vgg11_bn", "vision_transformer:vit_b_16", "segmentation.fcn:fcn_resnet50",
    "video.resnet:r3d_18", "convnext:convnext_small", "densenet:densenet169", "efficientnet:efficientnet_b2",
    "efficientnet:efficientnet_v2_s", "maxvit:maxvit_t", "mnasnet:mnasnet1_0", "mobilenetv3:mobilenet_v3_large",
    "regnet:regnet_x_400mf", "regnet:regnet_x_800mf", "resnet:resnet34", "resnet:resnet50", "resnet:wide_resnet50_2",
    "segmentation.deeplabv3:deeplabv3_mobilenet_v3_large", "segmentation.deeplabv3:deeplabv3_resnet50",
    "segmentation.lraspp:lraspp_mobilenet_v3_large", "shufflenetv2:shufflenet_v2_x1_0", "squeezenet:squeezenet1_0",
    "swin_transformer:swin_s", "vgg:vgg11", "vgg:vgg16", "video.mvit:mvit_v2_s", "video.resnet:mc3_18",
    "video.resnet:r2plus1d_18", "video.s3d:s3d", "vision_transformer:vit_b_32",
)  # fmt: skip
TIMM = (
    "convmixer:convmixer_768_32", "convnext:convnext_atto", "cspnet:cspresnet50", "densenet:densenet121",
    "dla:dla34", "edgenext:edgenext_xx_small", "efficientnet:efficientnet_lite0", "ghostnet:ghostnet_050",
    "hardcorenas:hardcorenas_a", "hrnet:hrnet_w18_small", "inception_v4:inception_v4", "mlp_mixer:mixer_s32_224",
    "mobilenetv3:mobilenetv3_small_050", "metaformer:poolformer_s12", "regnet:regnetx_002", "byobnet:repvgg_a0",
    "resnet:resnet18", "resnet:seresnet50", "resnetv2:resnetv2_50", "rexnet:rexnet_100", "selecsls:selecsls42b",
    "vgg:vgg11", "vision_transformer:vit_tiny_patch16_224", "vovnet:ese_vovnet19b_dw", "xception:legacy_xception",
)  # fmt: skip
MOST_DRAWS = 20_000


@dataclass
class Row:
    """What came of one model."""

    target: str
    inputs: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    """What the model requires."""
    followed: list[str] = field(default_factory=list)
    verdict: str = ""
    """ "" where all was judged; else why nothing, or not all, was."""
    n_sizes: int = 0
    """At how many sizes it was judged."""
    right: int = 0
    unknown: int = 0
    wrong: int = 0
    refused: int = 0
    """Sizes that meet the constraints, and torch refuses."""
    other_calls: int = 0
    """Sizes at which torch calls other modules, or in another order."""
    conditional: int = 0
    """Calls that are told on a condition."""
    broken_refused: int = 0
    broken_taken: int = 0
    """Sizes that break what is required: torch refuses them, or takes them, which is a fault."""
    outside_refused: int = 0
    outside_differs: int = 0
    outside_same: int = 0
    """Sizes that meet what is required, and were not followed: torch refuses them, gives other shapes, or gives what was
    predicted."""
    example: str = ""
    """The first fault."""

    @property
    def is_faulty(self) -> bool:
        return bool(self.wrong or self.refused or self.other_calls or self.broken_taken)


# ---- sizes -----------------------------------------------------------------------------------------------------------


def symbols_of(inputs: Sequence[ModelInput]) -> list[str]:
    sizes = (size for each in inputs for tensor in each.tensors for size in tensor.shape or ())
    return list(dict.fromkeys(size for size in sizes if isinstance(size, str)))


def meets(constraints: Sequence[str], sizes: Mapping[str, int]) -> bool:
    try:
        return all(eval(each, {"__builtins__": {}}, dict(sizes)) for each in constraints)
    except ZeroDivisionError:
        return False


def draws(symbols: Sequence[str], constraints: Sequence[str], rng: random.Random) -> Iterator[dict[str, int]]:
    """Sizes of all kinds: small, large, multiples, those that stand in a constraint, and equal ones."""
    written = [int(each) for each in re.findall(r"(?<![\w.])\d+", " ".join(constraints))] or [1]

    def draw(name: str) -> int:
        if name == "batch":
            return rng.randint(1, 9) if rng.random() < 0.8 else max(1, min(64, rng.choice(written)))
        kind = rng.random()
        if kind < 0.1:
            return rng.randint(1, 12)
        if kind < 0.25:
            return rng.randint(1, 64)
        if kind < 0.5:
            return rng.randint(1, 400)
        if kind < 0.8:
            return rng.choice((2, 4, 8, 16, 32, 64)) * rng.randint(1, 12)
        return max(1, rng.choice(written) + rng.randint(-1, 2))

    for _ in range(MOST_DRAWS):
        found = {name: draw(name) for name in symbols}
        if rng.random() < 0.4:
            others = [name for name in symbols if name != "batch"]
            found.update(dict.fromkeys(others, draw("")))
        yield found


# ---- truth -----------------------------------------------------------------------------------------------------------

Calls = list[tuple[str, list[tuple[int, ...]] | None]]


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def true_calls(model: torch.nn.Module, kwargs: Mapping[str, Any]) -> Calls:
    """The calls of a run with the shapes that they give, in the order in which they begin."""
    names = {id(module): name for name, module in model.named_modules()}
    calls: Calls = []
    open_: list[int] = []

    def before(module: torch.nn.Module, _: Any) -> None:
        open_.append(len(calls))
        calls.append((names.get(id(module), "?"), None))

    def after(_: Any, __: Any, output: Any) -> None:
        place = open_.pop()
        calls[place] = (calls[place][0], [tuple(each.shape) for each in tensors_in(output)])

    hooks = torch.nn.modules.module
    handles = [hooks.register_module_forward_pre_hook(before), hooks.register_module_forward_hook(after)]
    try:
        with torch.no_grad():
            model(**kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def make(inputs: Sequence[ModelInput], sizes: Mapping[str, int]) -> dict[str, Any]:
    """The arguments of `forward`, by name.

    Raises:
        LookupError: the shape of one is not known.
    """
    made: dict[str, Any] = {}
    for each in inputs:
        if len(each.tensors) != 1 or each.tensors[0].shape is None:
            raise LookupError(each.name)
        tensor = each.tensors[0]
        shape = [value_of(size, sizes) for size in tensor.shape or ()]
        dtype = getattr(torch, tensor.dtype or "float32")
        made[each.name] = torch.zeros([size or 0 for size in shape], dtype=dtype, device="meta")
    return made


def value_of(size: int | str | None, sizes: Mapping[str, int]) -> int | None:
    return int(eval(size, {"__builtins__": {}}, dict(sizes))) if isinstance(size, str) else size


# ---- judging ---------------------------------------------------------------------------------------------------------


Aligned = list[tuple[Call, list[tuple[int, ...]] | None]]


def is_made(call: Call, sizes: Mapping[str, int]) -> bool | None:
    """Whether the call is made at these sizes; None where that is not said of sizes."""
    if call.certain:
        return True
    if call.condition is None or call.condition.text in ("self.training", "not self.training"):
        return None if call.condition is None else call.condition.text == "not self.training"
    try:
        return bool(eval(call.condition.text, {"__builtins__": {}}, dict(sizes)))
    except Exception:
        return None


def aligned(calls: Sequence[Call], truth: Calls, sizes: Mapping[str, int]) -> Aligned | None:
    """Each call that was made, with the predicted one that it is; None where one is missing, or there is another."""
    expected = [(call, made) for call in calls if (made := is_made(call, sizes)) is not False]
    if all(made for _, made in expected) and not any(call.may_repeat for call, _ in expected):
        if [call.module for call, _ in expected] != [name for name, _ in truth]:
            return None
        return [(call, shapes) for (call, _), (_, shapes) in zip(expected, truth, strict=True)]
    groups = _groups(expected)
    # ways[i][j]: from the group i on, what was made from j on can be told.
    ways = [[False] * (len(truth) + 1) for _ in range(len(groups) + 1)]
    ways[-1][-1] = True
    for i in range(len(groups) - 1, -1, -1):
        for j in range(len(truth), -1, -1):
            fits = j < len(truth) and truth[j][0] in groups[i].names
            goes_on = fits and ways[i if groups[i].repeats else i + 1][j + 1]
            ways[i][j] = goes_on or (groups[i].may_be_left_out and ways[i + 1][j])
    return _way(groups, truth, ways) if ways[0][0] else None


@dataclass
class _Group:
    """A call; or those of a loop of any number of turns, in any order."""

    calls: list[Call]
    may_be_left_out: bool
    repeats: bool

    @property
    def names(self) -> set[str]:
        return {call.module for call in self.calls}


def _groups(expected: Sequence[tuple[Call, bool | None]]) -> list[_Group]:
    groups: list[_Group] = []
    for call, made in expected:
        if call.may_repeat and groups and groups[-1].repeats:
            groups[-1].calls.append(call)
        else:
            groups.append(_Group([call], made is None or call.may_repeat, call.may_repeat))
    return groups


def _way(groups: Sequence[_Group], truth: Calls, ways: Sequence[Sequence[bool]]) -> Aligned:
    found: Aligned = []
    i = 0
    for j, (name, shapes) in enumerate(truth):
        while name not in groups[i].names or not ways[i if groups[i].repeats else i + 1][j + 1]:
            i += 1
        found.append((next(call for call in groups[i].calls if call.module == name), shapes))
        i += not groups[i].repeats
    return found


def compare(row: Row, calls: Aligned, sizes: Mapping[str, int]) -> bool:
    """Whether no shape is wrong; counted in the row. Of a call that is not certain other shapes may be given."""
    is_right = True
    for call, wanted in calls:
        shapes = [tensor.shape for tensor in call.outputs]
        is_open = is_made(call, sizes) is None
        if wanted is None or len(shapes) != len(wanted):
            row.unknown += 1
            continue
        for shape, true in zip(shapes, wanted, strict=True):
            found = None if shape is None else [value_of(size, sizes) for size in shape]
            if found is None or (None in found and len(found) == len(true)):
                is_same = found is None or all(a in (None, b) for a, b in zip(found, true, strict=True))
                row.unknown += is_same
            else:
                is_same = tuple(found) == true
                row.right += is_same
                row.unknown += is_open and not is_same
            if not is_same and not is_open:
                row.wrong += 1
                is_right = False
                row.example = row.example or f"{call.module or 'the model'} at {dict(sizes)}: {shape}, torch {true}"
    return is_right


def judge(target: str, model: torch.nn.Module, graph: Graph, n_sizes: int, seed: int) -> Row:
    """Evaluates what was predicted at so many sizes, at as many that break what is required, and at as many that were not
    followed."""
    inputs = graph.model.inputs
    row = Row(target)
    row.inputs = [
        f"{each.name}={[list(t.shape) if t.shape is not None else None for t in each.tensors]}" for each in inputs
    ]
    row.constraints = [text for each in inputs for text in each.constraints]
    row.followed = [text for each in inputs for text in each.followed]
    problems = [problem for problem in graph.problems if problem.stage == "forward"]
    if problems or not inputs:
        row.verdict = problems[0].message if problems else "forward was not followed"
        return row
    calls = [call for call in graph.calls if call.predicted and not call.direct]
    row.conditional = sum(not call.certain for call in calls)
    symbols, rng = symbols_of(inputs), random.Random(seed)
    judges = {"in": _at, "broken": _broken, "outside": _outside}
    left = {"in": n_sizes, "broken": n_sizes * bool(row.constraints), "outside": n_sizes * bool(row.followed)}
    for sizes in draws(symbols, [*row.constraints, *row.followed], rng):
        is_taken = meets(row.constraints, sizes)
        kind = "broken" if not is_taken else "in" if meets(row.followed, sizes) else "outside"
        if not any(left.values()):
            break
        if not left[kind]:
            continue
        try:
            given = make(inputs, sizes)
        except LookupError as error:
            row.verdict = f"the shape of {error} is not known"
            return row
        left[kind] -= 1
        judges[kind](row, model, calls, given, sizes)
        if not symbols:
            break
    row.n_sizes = n_sizes - left["in"]
    if row.n_sizes < (n_sizes if symbols else 1):
        row.verdict = f"met the constraints at {row.n_sizes} sizes only"
    return row


def _at(
    row: Row, model: torch.nn.Module, calls: Sequence[Call], given: Mapping[str, Any], sizes: Mapping[str, int]
) -> None:
    try:
        truth = true_calls(model, given)
    except Exception as error:
        row.refused += 1
        row.example = row.example or f"torch refuses {dict(sizes)}: {str(error).splitlines()[0]}"
        return
    found = aligned(calls, truth, sizes)
    if found is None:
        row.other_calls += 1
        row.example = row.example or f"{len(truth)} calls at {dict(sizes)}, {len(calls)} predicted"
        return
    compare(row, found, sizes)


def _broken(
    row: Row, model: torch.nn.Module, calls: Sequence[Call], given: Mapping[str, Any], sizes: Mapping[str, int]
) -> None:
    try:
        true_calls(model, given)
    except Exception:
        row.broken_refused += 1
        return
    row.broken_taken += 1
    not_met = [each for each in row.constraints if not meets([each], sizes)]
    row.example = row.example or f"torch takes {dict(sizes)}, which breaks {not_met}"


def _outside(
    row: Row, model: torch.nn.Module, calls: Sequence[Call], given: Mapping[str, Any], sizes: Mapping[str, int]
) -> None:
    try:
        truth = true_calls(model, given)
    except Exception:
        row.outside_refused += 1
        return
    found = aligned(calls, truth, sizes)
    try:
        is_same = found is not None and compare(Row(row.target), found, sizes)
    except ZeroDivisionError:
        is_same = False
    row.outside_same += is_same
    row.outside_differs += not is_same


# ---- the command -----------------------------------------------------------------------------------------------------


def build(target: str) -> torch.nn.Module:
    """What "package.module:call(...)" or "file.py:call(...)" gives, on the meta device."""
    place, _, call = target.partition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    call = call if call.endswith(")") else f"{call}()"
    try:
        with torch.device("meta"):
            model = eval(call, vars(module))
    except Exception:
        model = eval(call, vars(module)).to("meta")
    return model.eval()  # type: ignore[no-any-return]


def row_of(target: str, given: Sequence[str] = (), n_sizes: int = 10, seed: int = 0) -> Row:
    try:
        model = build(target)
    except Exception as error:
        return Row(target, verdict=f"torch cannot build it: {str(error).splitlines()[0]}")
    graph = predict_graph(parse_target(target), inputs=tuple(map(parse_input, given)))
    return judge(target, model, graph, n_sizes, seed)


_KEPT: list[Any] = []
"""What declares operators, for as long as they are called."""


def default_targets() -> list[str]:
    models = runpy.run_path(str(HERE / "symbolic_models.py"))["MODELS"]
    found = [f"{HERE / 'symbolic_models.py'}:{name}" for name in models]
    try:
        _KEPT.append(runpy.run_path(str(HERE / "torchvision_shim" / "sitecustomize.py")))
        importlib.import_module("torchvision")
    except ImportError:
        print("torchvision cannot be imported: its models are left out", file=sys.stderr)
        return found
    for name in TORCHVISION:
        place, _, call = name.partition(":")
        more = "init_weights=False" if call in ("googlenet", "inception_v3") else ""
        if place.startswith("segmentation."):
            more = "weights_backbone=None"
        found.append(f"torchvision.models.{place}:{call}({more})")
    if importlib.util.find_spec("timm") is None:
        print("timm cannot be imported: its models are left out", file=sys.stderr)
        return found
    return found + ["timm.models.{}:{}()".format(*name.split(":")) for name in TIMM]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--sizes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sys.path += arguments.path
    totals: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for target in arguments.targets or default_targets():
        row = row_of(target, arguments.input, arguments.sizes, arguments.seed)
        rows.append(asdict(row))
        name = target.rpartition(":")[2]
        print(
            f"{name:28} {row.n_sizes:3} sizes  {row.right:5} right {row.unknown:4} unknown {row.wrong:3} wrong", end=""
        )
        print(f" {row.refused:2} refused {row.other_calls:2} other calls", end="")
        print(
            f" {row.broken_taken:2} of {row.broken_refused + row.broken_taken:2} that break what is required run",
            end="",
        )
        print(f"  {'; '.join(row.constraints)}{' | ' * bool(row.followed)}{'; '.join(row.followed)}", flush=True)
        for text in (row.verdict, row.example):
            if text:
                print(f"{'':28} {text}", flush=True)
        for key in ("n_sizes", "right", "unknown", "wrong", "refused", "other_calls"):
            totals[key] += getattr(row, key)
        for key in ("conditional", "broken_refused", "broken_taken"):
            totals[key] += getattr(row, key)
        for key in ("outside_refused", "outside_differs", "outside_same"):
            totals[key] += getattr(row, key)
        totals["judged"] += not row.verdict
        totals["models"] += 1
    print(dict(totals))
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 1 if any(totals[key] for key in ("wrong", "refused", "other_calls", "broken_taken")) else 0


if __name__ == "__main__":
    raise SystemExit(main())
