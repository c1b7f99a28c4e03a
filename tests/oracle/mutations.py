"""Changes one number in a model, asks torch whether it still runs, and modgraph whether it sees where it fails.

    python tests/oracle/mutations.py [NAME ...] [--each 10] [--seed 0] [--groups own,samples,...] [--path DIR] [-v]

Of each model that torch runs as it stands, some whole numbers are changed, one at a time: arguments of calls, most of
them of constructors of layers, and of `view` and `reshape`, in lines that building and running it comes to. Torch
builds and runs each such mutant on a small input; where it raises, the right line is the deepest outside of torch in the
traceback. Then modgraph is asked twice, and runs nothing: the static prediction, which knows the input, and the
rules MG301 to MG304 of the check, which do not. Of what runs, and of the models as they stand, both must say nothing.

Models: those of `mutation_models.py` and `symbolic_models.py`, the samples of this repository, and of torchvision and
timm where they can be imported. DIR is put at the end of Python's path; libraries are changed in memory only.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import os
import random
import runpy
import sys
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.endings import RAISES
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.running import follow
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected
from modgraph.source.inputs import parse_input
from modgraph.source.modules import ModuleFinder, Shared
from modgraph.source.targets import parse_target

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
RULES = ("MG301", "MG302", "MG303", "MG304")


@dataclass(frozen=True)
class Model:
    """One that is changed."""

    group: str
    file: Path
    call: str
    """In the file: "Net", "Net(depth=2)", "resnet18"."""
    inputs: tuple[str, ...]
    module: str = ""
    """Under what name it is executed, of a library's."""

    @property
    def name(self) -> str:
        return f"{self.group}: {self.call}"


@dataclass(frozen=True)
class Site:
    """A number in the text."""

    line: int
    column: int
    end: int
    value: int


@dataclass
class Outcome:
    """How a model fails: where, and in what; all empty where it runs."""

    stage: str = ""
    """ "build", "run"."""
    line: int = 0
    error: str = ""
    file: str = ""
    """Name of the file of that line: a library's model may fail in another of its files."""


@dataclass
class Row:
    """One mutant, and what was said of it."""

    model: Model
    change: str
    truth: Outcome
    told: Outcome
    """By the prediction."""
    checked: list[int]
    """Lines in which the check reports it."""
    is_same_statement: bool = False
    """The prediction names another line of the right statement."""

    @property
    def verdict(self) -> str:
        """Of the prediction."""
        if not self.truth.stage:
            return "false alarm" if self.told.stage else "runs"
        if not self.told.stage:
            return "missed"
        told, truth = self.told, self.truth
        if (told.line, told.file, told.stage) == (truth.line, truth.file, truth.stage):
            return "right line"
        return "same statement" if self.is_same_statement else "other line"

    @property
    def of_check(self) -> str:
        if not self.truth.stage:
            return "false alarm" if self.checked else "runs"
        is_here = self.truth.file == self.model.file.name
        return (
            "right line" if is_here and self.truth.line in self.checked else "other line" if self.checked else "silent"
        )


# ---- models ----------------------------------------------------------------------------------------------------------

_SYMBOLIC = {
    "Perceptron": ("3x20",), "LeNet": ("2x1x32x32",), "Unet": ("2x3x32x32",), "PaddedUnet": ("2x3x33x35",),
    "Patches": ("2x3x32x32",), "Windows": ("2x3x64x64",), "Language": ("2x11:int64",), "Recurrent": ("2x11:int64",),
    "Waves": ("2x1x200",), "Volumes": ("2x2x8x16x16",), "Larger": ("2x3x16x16",), "Mixer": ("2x13x13x5",),
    "Halves": ("2x16x13x13",), "Pair": ("2x9:int64", "2x7:int64"), "Squares": ("2x1x12x12",),
}  # fmt: skip
_SAMPLES = {
    "resnet.py:ResNet": ("1x3x64x64",), "unet.py:UNet": ("1x3x32x32",), "mlp.py:MLP": ("2x1x28x28",),
    "transformer_lm.py:TransformerLM": ("1x16:int64",), "lstm_classifier.py:LSTMClassifier": ("2x12:int64",),
    "vae.py:VAE": ("2x1x28x28",), "vit.py:VisionTransformer": ("1x3x32x32",), "siamese.py:SiameseNet": None,
    "gan.py:Generator": None, "gan.py:Discriminator": None, "plain_list.py:PlainListNet": None,
    "never_called.py:SmallCNN": None, "side_effect.py:Autoencoder": None, "shared_layer.py:SharedLayers": None,
    "diffusion_unet_tiny.py:DiffusionUNet": None, "gnn.py:GCN": ("6x8", "6x6"), "distributed.py:Net": ("4x8",),
}  # fmt: skip
"""Without inputs: those that modgraph finds for it are the ones."""
_TORCHVISION = (
    "alexnet:alexnet", "vgg:vgg11_bn", "squeezenet:squeezenet1_1", "resnet:resnet18", "resnet:resnext50_32x4d",
    "densenet:densenet121", "googlenet:googlenet", "mobilenetv2:mobilenet_v2", "mobilenetv3:mobilenet_v3_small",
    "shufflenetv2:shufflenet_v2_x0_5", "mnasnet:mnasnet0_5", "efficientnet:efficientnet_b0", "convnext:convnext_tiny",
    "regnet:regnet_y_400mf", "swin_transformer:swin_t", "vision_transformer:vit_b_16",
)  # fmt: skip
_TIMM = (
    "vgg:vgg11", "xception:legacy_xception", "inception_v4:inception_v4", "mlp_mixer:mixer_s32_224",
    "convmixer:convmixer_768_32", "edgenext:edgenext_xx_small", "ghostnet:ghostnet_050", "hardcorenas:hardcorenas_a",
    "levit:levit_128s", "pit:pit_ti_224", "poolformer:poolformer_s12", "repghost:repghostnet_050",
    "selecsls:selecsls42b", "tresnet:tresnet_m", "visformer:visformer_tiny", "starnet:starnet_s1",
)  # fmt: skip


def models(groups: Sequence[str]) -> Iterator[Model]:
    if "own" in groups:
        file = HERE / "mutation_models.py"
        inputs = runpy.run_path(str(file))["INPUTS"]
        yield from (Model("own", file, name, each) for name, each in inputs.items())
    if "symbolic" in groups:
        yield from (Model("symbolic", HERE / "symbolic_models.py", name, each) for name, each in _SYMBOLIC.items())
    if "samples" in groups:
        for target, given in _SAMPLES.items():
            file, _, call = target.partition(":")
            yield Model("samples", SAMPLES / file, call, given or _found_inputs(f"{SAMPLES / file}:{call}"))
    if "torchvision" in groups:
        _make_torchvision_importable()
        yield from _of_library("torchvision", _TORCHVISION)
    if "timm" in groups:
        _make_torchvision_importable()
        yield from _of_library("timm", _TIMM)


@cache
def _make_torchvision_importable() -> dict[str, Any]:
    """Its operators are declared for as long as these names are kept."""
    return runpy.run_path(str(HERE / "torchvision_shim" / "sitecustomize.py"))


def _of_library(library: str, names: Sequence[str]) -> Iterator[Model]:
    package = importlib.import_module(f"{library}.models")
    for name in names:
        short, _, call = name.partition(":")
        module = f"{library}.models.{short}"
        if importlib.util.find_spec(module) is None:
            continue
        size = 224
        if library == "timm":
            importlib.import_module(module)
            config = importlib.import_module("timm").get_pretrained_cfg(call)
            size = config.input_size[-1] if config is not None else 224
        else:
            package.get_model_builder(call)
        file = Path(importlib.import_module(module).__file__ or "")
        yield Model(library, file, call, (f"2x3x{size}x{size}",), module)


def _found_inputs(target: str) -> tuple[str, ...]:
    from modgraph.prediction import predict_graph

    found = predict_graph(parse_target(target), inputs=()).model.inputs
    sizes = {"batch": 2, "length": 9, "h": 32, "w": 32}
    specs = []
    for each in found:
        (tensor,) = each.tensors
        shape = "x".join(str(sizes.get(size, 16) if isinstance(size, str) else size) for size in tensor.shape or ())
        specs.append(f"{shape}:{tensor.dtype or 'float32'}")
    return tuple(specs)


# ---- torch -----------------------------------------------------------------------------------------------------------


_TORCH = f"{Path(torch.__file__).parent}{os.sep}"


def _tensor(spec: str) -> torch.Tensor:
    shape, _, dtype = spec.partition(":")
    return torch.ones(tuple(map(int, shape.split("x"))), dtype=getattr(torch, dtype or "float32"))


@contextlib.contextmanager
def _initialising_cheap() -> Iterator[None]:
    """What fills weights does nothing meanwhile: no shape depends on it."""
    names = ("kaiming_uniform_", "kaiming_normal_", "uniform_", "normal_", "trunc_normal_", "xavier_uniform_")
    before = {name: getattr(torch.nn.init, name) for name in names}
    try:
        for name in names:
            setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)
        yield
    finally:
        for name, function in before.items():
            setattr(torch.nn.init, name, function)


def executed(model: Model, text: str) -> Callable[[], Any]:
    """The builder of a text, executed."""
    name = model.module or "mutated"
    space = types.ModuleType(name)
    space.__file__ = str(model.file)
    space.__package__ = name.rpartition(".")[0]
    known: dict[str, Any] = {}
    if model.group == "torchvision":  # a name is registered once
        known = importlib.import_module("torchvision.models._api").BUILTIN_MODELS
    kept, before = dict(known), sys.modules.get(name)
    known.clear()
    if not model.module:
        sys.modules[name] = space
    try:
        exec(compile(text, str(model.file), "exec"), space.__dict__)
    finally:
        known.clear()
        known.update(kept)
        if not model.module and before is None:
            del sys.modules[name]
    builder = space.__dict__[model.call]
    options = {"weights": None} if model.group == "torchvision" else {}
    return lambda: builder(**options)


def truth_of(model: Model, text: str) -> Outcome:
    """What torch makes of it."""
    stage = "build"
    try:
        with warnings.catch_warnings(), torch.no_grad(), _initialising_cheap():
            warnings.simplefilter("ignore")
            built = executed(model, text)().eval()
            stage = "run"
            built(*map(_tensor, model.inputs))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        outside = [each for each in frames if not each.filename.startswith((_TORCH, __file__))]
        told = f"{type(error).__name__}: {error}"[:160]
        if not outside:
            return Outcome(stage, 0, told)
        return Outcome(stage, outside[-1].lineno or 0, told, Path(outside[-1].filename).name)
    return Outcome()


def lines_reached(model: Model, text: str) -> set[int]:
    """Lines of the file that building and running it comes to."""
    return lines_run(model.file, lambda: truth_of(model, text))


def lines_run(file: Path, run: Callable[[], object]) -> set[int]:
    """Lines of a file that something comes to."""
    found: set[int] = set()

    def trace(frame: types.FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != str(file):
            return None
        found.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return found


# ---- modgraph --------------------------------------------------------------------------------------------------------


class Asked:
    """What modgraph says, which keeps what it has read of other files."""

    def __init__(self) -> None:
        self.shared = Shared()
        self.rules = selected(list(RULES))
        self.projects: dict[Path, Project] = {}

    def told_of(self, model: Model, text: str) -> Outcome:
        """By the prediction, given the input."""
        call = f"{model.call}(weights=None)" if model.group == "torchvision" else model.call
        target = parse_target(f"{model.file}:{call}")

        def prepare(finder: ModuleFinder) -> None:
            finder.share(self.shared)

        prediction = predict_target(target, text, prepare)
        failure, stage = prediction.failure, "build"
        if failure is None:
            stage = "run"
            followed = with_deep_stack(lambda: follow(prediction, [parse_input(each) for each in model.inputs]))
            failure = None if followed is None else followed.failure
        if failure is None or not failure.reason.startswith(RAISES):
            return Outcome(error="" if failure is None else f"not known: {failure.reason}"[:160])
        where = failure.where
        if where is None:
            return Outcome(stage, 0, failure.reason[:160])
        return Outcome(stage, where.line, failure.reason[:160], Path(where.file).name)

    def checked_of(self, model: Model, text: str, classes: frozenset[str]) -> list[int]:
        """By the check, which knows no input."""
        project = self.projects.setdefault(model.file, Project())
        found = check_text(text, model.file.name, str(model.file), self.rules, project, only=classes)
        return [each.line or 0 for each in found]


# ---- changes ---------------------------------------------------------------------------------------------------------


def sites(text: str, lines: set[int]) -> list[Site]:
    """Whole numbers among the arguments of calls, also in tuples, lists and sums there."""
    found: dict[tuple[int, int], Site] = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or _called(node) in _NO_SIZES:
            continue
        pending: list[ast.AST] = [*node.args, *(each.value for each in node.keywords)]
        while pending:
            each = pending.pop()
            if isinstance(each, ast.Constant) and type(each.value) is int and each.lineno in lines:
                found[each.lineno, each.col_offset] = Site(
                    each.lineno, each.col_offset, each.end_col_offset or 0, each.value
                )
            elif isinstance(each, (ast.Tuple, ast.List)):
                pending += each.elts
            elif isinstance(each, ast.BinOp):
                pending += (each.left, each.right)
    return [found[place] for place in sorted(found)]


_NO_SIZES = frozenset(("dict", "partial", "print", "register_model", "len", "isinstance", "LayerScale"))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def changed(text: str, site: Site, value: int) -> str:
    lines = text.split("\n")
    line = lines[site.line - 1].encode()
    lines[site.line - 1] = (line[: site.column] + str(value).encode() + line[site.end :]).decode()
    return "\n".join(lines)


def other_value(value: int, rng: random.Random) -> int:
    near = [value + 1, value - 1, value * 2, value + 3, value // 2 if value > 1 else value + 2]
    return rng.choice([each for each in near if each != value and each >= 0])


def classes_of(text: str, call: str) -> frozenset[str]:
    """The class or function that is called, and all classes of the file whose names lead to one another from there."""
    nodes = {each.name: each for each in ast.parse(text).body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
    found: dict[str, None] = {}
    pending = [call]
    while pending:
        name = pending.pop()
        if name in nodes and name not in found:
            found[name] = None
            pending += [each.id for each in ast.walk(nodes[name]) if isinstance(each, ast.Name)]
    return frozenset(found)


def _statement_lines(text: str, line: int) -> tuple[int, int]:
    """The innermost statement around a line."""
    found = (line, line)
    for node in ast.walk(ast.parse(text)):
        is_simple = isinstance(node, ast.stmt) and not hasattr(node, "body")
        if is_simple and isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            found = (node.lineno, node.end_lineno or node.lineno)
    return found


@dataclass
class Sweep:
    """All that came of it."""

    rows: list[Row] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    """Models that torch does not run as they stand."""
    n_models: int = 0


def sweep(model: Model, asked: Asked, each: int, seed: int, into: Sweep) -> None:
    """Changes one model in a number of places."""
    text = model.file.read_text(encoding="utf-8")
    truth = truth_of(model, text)
    if truth.stage:
        into.unusable.append(f"{model.name}: {truth.error}")
        return
    into.n_models += 1
    classes = classes_of(text, model.call)
    into.rows.append(row_of(model, text, "as it stands", classes, asked))
    rng = random.Random(f"{seed} {model.name}")
    places = [(site, other_value(site.value, rng)) for site in sites(text, lines_reached(model, text))]
    for site, value in sorted(rng.sample(places, min(each, len(places))), key=lambda place: place[0].line):
        new = changed(text, site, value)
        into.rows.append(row_of(model, new, f"line {site.line}: {site.value} -> {value}", classes, asked))


def row_of(model: Model, text: str, change: str, classes: frozenset[str], asked: Asked) -> Row:
    truth, told = truth_of(model, text), asked.told_of(model, text)
    row = Row(model, change, truth, told, asked.checked_of(model, text, classes))
    first, last = _statement_lines(text, truth.line)
    is_here = told.file == truth.file == model.file.name
    row.is_same_statement = is_here and told.stage == truth.stage and first <= told.line <= last
    return row


# ---- report ----------------------------------------------------------------------------------------------------------


def report(found: Sweep, verbose: bool) -> Iterator[str]:
    rows = [row for row in found.rows if row.change != "as it stands"]
    columns = (
        "models",
        "mutants",
        "fail",
        "right line",
        "same statement",
        "other line",
        "missed",
        "run",
        "false alarms",
    )
    yield "| models | " + " | ".join(columns[1:]) + " | check: right line | other line | false alarms |"
    yield "| --- |" + " ---: |" * (len(columns) + 2)
    groups = list(dict.fromkeys(row.model.group for row in rows))
    for group in (*groups, ""):
        some = [row for row in rows if group in ("", row.model.group)]
        names = len({row.model.name for row in some})
        told, checked = Counter(row.verdict for row in some), Counter(row.of_check for row in some)
        fails = sum(bool(row.truth.stage) for row in some)
        numbers = [len(some), fails, *(told[each] for each in ("right line", "same statement", "other line", "missed"))]
        numbers += [told["runs"] + told["false alarm"], told["false alarm"]]
        numbers += [checked["right line"], checked["other line"], checked["false alarm"]]
        yield f"| {group or '**all**'} ({names}) | " + " | ".join(map(str, numbers)) + " |"
    standing = [row for row in found.rows if row.change == "as it stands"]
    alarms = [row for row in standing if row.told.stage or row.checked]
    yield f"As they stand: {len(standing)} models, {len(alarms)} false alarms."
    yield from (f"torch does not run {each}" for each in found.unusable)
    for row in found.rows:
        is_wrong = row.verdict not in ("right line", "runs") or row.of_check in ("false alarm", "other line")
        if is_wrong or verbose:
            yield f"{row.model.name}, {row.change}: {row.verdict} / check: {row.of_check} {row.checked}"
            yield f"    torch    {row.truth.stage} {row.truth.line} {row.truth.error}"
            yield f"    modgraph {row.told.stage} {row.told.line} {row.told.error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of models: those alone")
    parser.add_argument("--each", type=int, default=10, help="mutants of each model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--groups", default="own,symbolic,samples,torchvision,timm")
    parser.add_argument("--path", action="append", default=[], help="where libraries are")
    parser.add_argument("-v", action="store_true", help="every mutant")
    arguments = parser.parse_args()
    sys.path += arguments.path
    found, asked, start = Sweep(), Asked(), time.monotonic()
    for model in models(arguments.groups.split(",")):
        if not arguments.names or model.call in arguments.names:
            sweep(model, asked, arguments.each, arguments.seed, found)
            print(f"{time.monotonic() - start:6.0f} s  {model.name}", file=sys.stderr)
    print("\n".join(report(found, arguments.v)))
    return 1 if any("false alarm" in (row.verdict, row.of_check) for row in found.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
