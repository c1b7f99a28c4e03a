"""The samples do what `facts.py` says of them, with torch as the judge: modgraph itself is not used here."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the samples are PyTorch models")
from torch import nn  # noqa: E402
from torch.nn.modules.module import register_module_forward_pre_hook  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

pytestmark = pytest.mark.needs_torch

SAMPLES = runpy.run_path(str(Path(__file__).with_name("facts.py")))["SAMPLES"]
MODELS = [(sample, model) for sample in SAMPLES for model in sample.models]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
each_model = pytest.mark.parametrize(
    ("sample", "model"), MODELS, ids=[f"{sample.file}:{model.target}" for sample, model in MODELS]
)

Importer = Callable[[str], ModuleType]


def make(module: ModuleType, target: str) -> nn.Module:
    """The live model of `target`: an instance, or what a class or factory gives for the arguments written there."""
    tree = ast.parse(target, mode="eval").body
    name = tree.func.id if isinstance(tree, ast.Call) else target
    value = getattr(module, name)
    if isinstance(value, nn.Module):
        return value.eval()
    args = [ast.literal_eval(node) for node in tree.args] if isinstance(tree, ast.Call) else []
    kwargs = {k.arg: ast.literal_eval(k.value) for k in tree.keywords} if isinstance(tree, ast.Call) else {}
    torch.default_generator.manual_seed(0)
    return value(*args, **kwargs).eval()


def make_inputs(model: Any) -> dict[str, torch.Tensor]:
    torch.default_generator.manual_seed(0)
    inputs = {}
    for item in model.inputs:
        dtype = getattr(torch, item.dtype)
        if dtype.is_floating_point:
            inputs[item.name] = torch.randn(item.shape, dtype=dtype)
        else:
            inputs[item.name] = torch.randint(item.high, item.shape, dtype=dtype)
    return inputs


@contextmanager
def called_modules() -> Iterator[list[nn.Module]]:
    """Every module whose call begins inside the block, in a tree or not."""
    seen: list[nn.Module] = []
    handle = register_module_forward_pre_hook(lambda module, _: seen.append(module))
    try:
        yield seen
    finally:
        handle.remove()


def run(model: Any, net: nn.Module) -> tuple[Any, list[nn.Module]]:
    """The result of one forward, and the modules called; the result is None where forward is known to raise."""
    with called_modules() as called, torch.no_grad():
        if model.fails_in is None:
            return net(**make_inputs(model)), called
        with pytest.raises(ValueError, match=re.escape(model.error)):
            net(**make_inputs(model))
    return None, called


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name))
    else:
        raise AssertionError(f"no test reads a result of type {type(value).__name__}")


def has_forward(module: nn.Module) -> bool:
    return not isinstance(module, (nn.ModuleList, nn.ModuleDict))


def test_every_file_of_the_folder_is_described(samples_folder: Path) -> None:
    parts = {"two_files/config.py", "two_files/blocks.py"}
    files = {path.relative_to(samples_folder).as_posix() for path in samples_folder.rglob("*.py")}
    assert files - parts == {sample.file for sample in SAMPLES}
    assert parts <= files


def test_readme_names_every_sample_and_no_other(samples_folder: Path) -> None:
    text = (samples_folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", text, flags=re.MULTILINE)
    assert [name for name, _ in rows] == [sample.file for sample in SAMPLES]
    assert all(name == link for name, link in rows)


def test_targets_and_inputs_in_the_readme_exist(samples_folder: Path) -> None:
    text = (samples_folder / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"(?<!/)samples/([\w/]+\.py)(?::(\w+))?", text)
    assert len(targets) >= len(SAMPLES)
    for file, name in targets:
        tree = ast.parse((samples_folder / file).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        assert not name or name in defined, f"{file}:{name}"


@each_sample
def test_a_sample_is_short_explains_itself_and_imports_only_torch(sample: Any, samples_folder: Path) -> None:
    text = (samples_folder / sample.file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert 20 <= len(text.splitlines()) <= 120
    assert len((ast.get_docstring(tree) or "").split("\n\n")) == 2
    beside = {path.stem for path in (samples_folder / sample.file).parent.glob("*.py")}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                package = name.split(".")[0]
                assert package in ("torch", "modgraph") or package in sys.stdlib_module_names or package in beside


@each_sample
def test_roots_are_what_no_other_model_of_the_file_contains(sample: Any, import_sample: Importer) -> None:
    module = import_sample(sample.file)
    own = [v for v in vars(module).values() if inspect.isclass(v) and v.__module__ == module.__name__]
    parts: set[type] = set()
    for model in sample.models:
        net = make(module, model.target)
        _, called = run(model, net)
        parts |= {type(inner) for inner in [*net.modules(), *called] if inner is not net}
    classes = [c.__name__ for c in own if issubclass(c, nn.Module) and c not in parts]
    instances = [name for name, value in vars(module).items() if isinstance(value, nn.Module)]
    assert (*classes, *instances) == sample.roots


@each_sample
def test_every_root_is_built_without_arguments_except_those_that_need_them(
    sample: Any, import_sample: Importer
) -> None:
    module = import_sample(sample.file)
    for name in sample.roots:
        if name in sample.needs_arguments:
            with pytest.raises(TypeError, match=r"missing .* required positional argument"):
                getattr(module, name)()
        else:
            assert isinstance(make(module, name), nn.Module)


@each_sample
def test_example_inputs_stand_where_the_facts_say_and_run(sample: Any, import_sample: Importer) -> None:
    module = import_sample(sample.file)
    assert hasattr(module, "example_inputs") == sample.example_inputs
    if sample.example_inputs:
        inputs = module.example_inputs() if callable(module.example_inputs) else module.example_inputs
        (model,) = sample.models
        assert [(tuple(x.shape), x.dtype) for x in inputs] == [(i.shape, getattr(torch, i.dtype)) for i in model.inputs]
        make(module, model.target)(*inputs)


@each_model
def test_model_has_its_class_and_its_input_names(sample: Any, model: Any, import_sample: Importer) -> None:
    net = make(import_sample(sample.file), model.target)
    assert type(net).__name__ == model.class_name
    parameters = inspect.signature(net.forward).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    assert required == [item.name for item in model.inputs]


@each_model
def test_output_shapes(sample: Any, model: Any, import_sample: Importer) -> None:
    result, _ = run(model, make(import_sample(sample.file), model.target))
    shapes = () if result is None else tuple(tuple(tensor.shape) for tensor in tensors_in(result))
    assert shapes == model.outputs


@each_model
def test_hidden_modules_are_called_and_in_no_tree(sample: Any, model: Any, import_sample: Importer) -> None:
    net = make(import_sample(sample.file), model.target)
    _, called = run(model, net)
    hidden = [eval(f"net.{path}", {"net": net}) for path in model.hidden]
    inside = {id(inner) for outer in hidden for inner in outer.modules()}
    registered = {id(inner) for inner in net.modules()}
    assert all(id(outer) in {id(m) for m in called} for outer in hidden)
    assert {id(m) for m in called} - registered == inside
    trained = {id(p) for p in net.parameters()}
    assert all(id(p) not in trained for outer in hidden for p in outer.parameters())


@each_model
def test_never_called_modules(sample: Any, model: Any, import_sample: Importer) -> None:
    net = make(import_sample(sample.file), model.target)
    _, called = run(model, net)
    seen = {id(module) for module in called}
    idle = {path for path, module in net.named_modules() if has_forward(module) and id(module) not in seen}
    by_data = {path for path in idle if path.startswith(tuple(model.called_by_data))} if model.called_by_data else set()
    assert idle - by_data == set(model.never_called)
    assert bool(by_data) == bool(model.called_by_data)


@each_model
def test_shared_instances_and_tied_parameters(sample: Any, model: Any, import_sample: Importer) -> None:
    net = make(import_sample(sample.file), model.target)
    first = {id(module): path for path, module in reversed(list(net.named_modules(remove_duplicate=False)))}
    names = [(path, first[id(module)]) for path, module in net.named_modules(remove_duplicate=False)]
    assert [(path, origin) for path, origin in names if path != origin] == list(model.aliases)

    owners: dict[int, str] = {}
    tied = []
    for path, module in net.named_modules():
        for name, parameter in module.named_parameters(prefix=path, recurse=False):
            origin = owners.setdefault(id(parameter), name)
            if origin != name:
                tied.append((name, origin))
    assert tied == list(model.tied)


@each_model
def test_input_specs_are_written_as_the_command_reads_them(sample: Any, model: Any) -> None:
    for item in model.inputs:
        assert re.fullmatch(r"\w+=\d+(x\d+)*(:int64)?", item.spec)


@each_model
def test_a_sample_is_small(sample: Any, model: Any, import_sample: Importer) -> None:
    net = make(import_sample(sample.file), model.target)
    with FlopCounterMode(display=False) as counter:
        run(model, net)
    assert sum(p.numel() for p in net.parameters()) < 12_000_000
    assert counter.get_total_flops() < 4_000_000_000  # ResNet-18 at 224×224, the largest, is about 3.6 billion


def test_the_failure_is_raised_in_the_module_that_the_facts_name(import_sample: Importer) -> None:
    sample, model = next((s, m) for s, m in MODELS if m.fails_in is not None)
    net = make(import_sample(sample.file), model.target)
    with called_modules() as called, pytest.raises(ValueError, match=re.escape(model.error)) as caught:
        net(**make_inputs(model))
    assert called[-1] is net.get_submodule(model.fails_in)
    assert len(called) > 4
    innermost = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (Path(innermost.filename).name, innermost.name) == (sample.file, "forward")


def test_resnet_is_the_classic_resnet18(import_sample: Importer) -> None:
    net = make(import_sample("resnet.py"), "ResNet")
    assert sum(p.numel() for p in net.parameters()) == 11_689_512  # as published for ResNet-18 with 1000 classes
    shortcuts = [path for path, _ in net.named_modules() if path.endswith(".downsample")]
    assert shortcuts == ["layer2.0.downsample", "layer3.0.downsample", "layer4.0.downsample"]


COMPARE_WITH_TORCHVISION = """
import sys
import torch

try:
    torch.ops.torchvision.nms
except AttributeError:  # a wheel without its compiled part still builds models, once what it refers to is declared
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms", "roi_align", "deform_conv2d"):
        library.define(name + "(Tensor x) -> Tensor")
import torchvision

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import resnet

for ours, theirs in (
    (resnet.ResNet(), torchvision.models.resnet18()),
    (resnet.resnet34(), torchvision.models.resnet34()),
):
    names = [(k, type(m).__name__) for k, m in theirs.named_modules()]
    assert [(k, type(m).__name__) for k, m in ours.named_modules()] == names
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(1, 3, 64, 64)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))
"""


def test_resnet_gives_the_results_of_torchvisions_with_its_weights(samples_folder: Path) -> None:
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    done = subprocess.run(
        [sys.executable, "-c", COMPARE_WITH_TORCHVISION, str(samples_folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_data_decides_which_experts_run(import_sample: Importer) -> None:
    net = make(import_sample("moe.py"), "MoE")
    chosen = set()
    for seed in range(5):
        torch.default_generator.manual_seed(seed)
        with called_modules() as called, torch.no_grad():
            net(torch.randn(1, 3, 16))
        chosen.add(frozenset(i for i, expert in enumerate(net.moe.experts) if any(m is expert for m in called)))
    assert len(chosen) > 1
    assert all(1 < len(experts) < 7 for experts in chosen)


def test_experts_add_up_to_the_weighted_sum_over_the_chosen_ones(import_sample: Importer) -> None:
    layer = make(import_sample("moe.py"), "MoE").moe
    tokens = torch.randn(5, 16)
    weights, chosen = layer.router(tokens).softmax(-1).topk(2)
    weights = weights / weights.sum(-1, keepdim=True)
    expected = torch.stack(
        [
            sum(w * layer.experts[int(e)](token) for w, e in zip(ws, es, strict=True))
            for token, ws, es in zip(tokens, weights, chosen, strict=True)
        ]
    )
    torch.testing.assert_close(layer(tokens), expected)


def test_a_language_model_does_not_look_ahead(import_sample: Importer) -> None:
    net = make(import_sample("transformer_lm.py"), "TransformerLM")
    ids = torch.randint(256, (1, 16))
    later = ids.clone()
    later[0, -1] = (later[0, -1] + 1) % 256
    before, after = net(ids), net(later)
    torch.testing.assert_close(before[:, :-1], after[:, :-1])
    assert not torch.allclose(before[:, -1], after[:, -1])
    assert not any("mask" in key for key in net.state_dict())


def test_an_lstm_reads_on_from_the_state_it_returned(import_sample: Importer) -> None:
    net = make(import_sample("lstm_classifier.py"), "LSTMClassifier")
    logits, state = net(torch.randint(1000, (2, 6)))
    again, _ = net(torch.randint(1000, (2, 6)), state)
    assert again.shape == logits.shape


@pytest.mark.parametrize("with_marker", [True, False])
def test_import_of_side_effect_leaves_a_marker_only_where_one_is_asked_for(
    with_marker: bool, tmp_path: Path, samples_folder: Path
) -> None:
    marker = tmp_path / "marker.txt"
    environment = {k: v for k, v in os.environ.items() if k != "MODGRAPH_SAMPLE_MARKER"}
    if with_marker:
        environment["MODGRAPH_SAMPLE_MARKER"] = str(marker)
    folder = tmp_path / "samples"
    folder.mkdir()
    shutil.copy(samples_folder / "side_effect.py", folder)
    code = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(folder)!r}); import side_effect"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "side_effect.py: this line runs on import\n"
    assert marker.exists() == with_marker
    assert [each.name for each in folder.iterdir()] == ["side_effect.py"]
