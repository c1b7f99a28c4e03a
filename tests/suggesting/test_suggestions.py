"""What is proposed, judged by the models themselves: their classes, names and parameters as torch has them."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from torch import nn

import modgraph
from modgraph.errors import ConfigError
from modgraph.graph.serial import from_json, schema
from modgraph.graph.suggestions import SuggestedEntry, Suggestion

FILE = Path(__file__).with_name("models.py")
MODELS = runpy.run_path(str(FILE))
SHAPES: dict[str, Any] = {"Loose": [torch.zeros(2, 5, 16)], "Named": [torch.zeros(2, 16)]}
"""Inputs, where what is known depends on them."""
NAMES = ["Text", "Tied", "Chain", "Stages", "Attention", "Recurrent", "Derived", "Loose", "Named", "Shared", "Experts"]
LINEAR = (nn.Linear, MODELS["Turned"])
NORMS = (nn.LayerNorm, nn.BatchNorm2d, nn.GroupNorm)
TABLES = (nn.Embedding, nn.EmbeddingBag)


@cache
def graph_of(name: str) -> modgraph.Graph:
    inputs = SHAPES.get(name)
    specs = None if inputs is None else [f"x={'x'.join(map(str, inputs[0].shape))}"]
    return modgraph.analyze(f"{FILE}:{name}", static=True, inputs=specs)


@cache
def suggested(name: str) -> dict[str, Suggestion]:
    return {each.kind: each for each in modgraph.suggest(graph_of(name))}


@cache
def model_of(name: str) -> nn.Module:
    return MODELS[name]()


def entries(suggestion: Suggestion, role: str) -> list[SuggestedEntry]:
    return [each for each in suggestion.entries if each.role == role]


def pasted(suggestion: Suggestion) -> dict[str, Any]:
    """The lists in what is pasted."""
    found = {}
    for each in ast.parse(suggestion.paste).body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.List | ast.Constant):
            found[each.targets[0].id] = ast.literal_eval(each.value)  # type: ignore[attr-defined]
    return found


def blocks_of(name: str) -> list[str]:
    """Where the blocks are."""
    classes = {"Derived": nn.Sequential, "Attention": nn.TransformerEncoderLayer, "Stages": MODELS["Residual"]}
    cls = classes.get(name, (MODELS["Block"], MODELS["Part"], MODELS["Named"].Inner, MODELS["Expert"]))
    found = [path for path, module in model_of(name).named_modules() if isinstance(module, cls)]
    return [path for path in found if path != "blocks"] if name == "Derived" else found


def group_of(model: nn.Module, key: str) -> str:
    path, _, last = key.rpartition(".")
    module, parameter = model.get_submodule(path), model.get_parameter(key)
    if isinstance(module, TABLES):
        return "embeddings"
    if isinstance(module, NORMS) or parameter.dim() < 2 or last in ("token", "table"):
        return "no_decay"
    return "decay"


@pytest.mark.parametrize("name", NAMES)
def test_each_parameter_is_in_one_group(name: str):
    model, suggestion = model_of(name), suggested(name)["groups"]
    lists = pasted(suggestion)
    sizes: dict[str, int] = {}
    for key, parameter in model.named_parameters():
        fitting = [group for group, texts in lists.items() for text in texts if re.fullmatch(text, key)]
        assert fitting == [group_of(model, key)], key
        sizes[fitting[0]] = sizes.get(fitting[0], 0) + parameter.numel()
    told: dict[str, int] = {}
    for each in suggestion.entries:
        told[each.role] = told.get(each.role, 0) + (each.parameters or 0)
    assert told == sizes
    assert sum(each.count for each in suggestion.entries) == len(list(model.parameters()))
    for key in model.state_dict():
        is_parameter = key in dict(model.named_parameters(remove_duplicate=False))
        assert sum(bool(re.fullmatch(text, key)) for texts in lists.values() for text in texts) == is_parameter


@pytest.mark.parametrize("name", NAMES)
def test_target_modules_are_linear_layers_of_the_blocks(name: str):
    model, lists = model_of(name), pasted(suggested(name)["lora"])
    blocks = tuple(f"{path}." for path in blocks_of(name))
    targets = lists.get("target_modules", [])
    for path, module in model.named_modules():
        if isinstance(targets, str):  # PEFT takes it for a regular expression
            named = re.fullmatch(targets, path) is not None
        else:
            named = any(path == target or path.endswith(f".{target}") for target in targets)
        read = path.endswith("self_attn.out_proj")  # by MultiheadAttention, which never calls it
        assert named == (isinstance(module, LINEAR) and path.startswith(blocks) and not read), path
    heads = [path for path, module in model.named_modules() if isinstance(module, LINEAR) and path + "." not in blocks]
    heads = [path for path in heads if not path.startswith(blocks)]
    assert lists.get("modules_to_save", []) == (heads if targets else [])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_compiled_are_the_blocks(name: str):
    texts = pasted(suggested(name)["compile"]).get("blocks", [])
    matched = [path for path, _ in model_of(name).named_modules() if any(re.fullmatch(text, path) for text in texts)]
    assert matched == blocks_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_classes_to_shard_by_hold_what_is_told(name: str):
    model, suggestion = model_of(name), suggested(name)["fsdp"]
    for each in entries(suggestion, "block"):
        blocks = [module for module in model.modules() if type(module).__name__ == each.name]
        held = {id(parameter): parameter.numel() for block in blocks for parameter in block.parameters()}
        assert (each.count, each.parameters) == (len(blocks), sum(held.values()))
        assert f"{100 * sum(held.values()) / sum(p.numel() for p in model.parameters()):.1f} %" in each.note
    found = {each.name for each in entries(suggestion, "block")}
    assert found == {type(model.get_submodule(path)).__name__ for path in blocks_of(name)} - {"Sequential"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_quantized_fits(name: str):
    model, lists = model_of(name), pasted(suggested(name)["quantize"])
    tied = [parameter for _, parameter in model.named_parameters(remove_duplicate=False)]
    shared = {id(each) for each in tied if sum(other is each for other in tied) > 1 and name == "Tied"}
    blocks = tuple(f"{path}." for path in blocks_of(name))
    for path, module in model.named_modules():
        if not isinstance(module, nn.Linear):
            continue
        good = all(size % 16 == 0 for size in module.weight.shape) and id(module.weight) not in shared
        good = good and path.startswith(blocks) and not path.endswith("self_attn.out_proj")
        fitting = [which for which, texts in lists.items() for text in texts if re.fullmatch(text, path)]
        assert fitting == (["quantize"] if good else ["skip"] if lists else []), path


def suggested_of(folder: Path, block: str, purpose: str) -> Suggestion:
    """What is suggested for a model of three such blocks."""
    text = f"from torch import nn\n\n{block}\n\nclass Net(nn.Sequential):\n    def __init__(self):\n"
    text += "        super().__init__(*[Block() for _ in range(3)])\n"
    (folder / "net.py").write_text(text, encoding="utf-8")
    (found,) = modgraph.suggest(modgraph.predict(f"{folder}/net.py:Net"), [purpose])
    return found


def test_layers_of_other_reasons_are_told_apart(tmp_path: Path):
    block = "class Block(nn.Sequential):\n    def __init__(self):\n"
    block += "        super().__init__(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64))"
    found = suggested_of(tmp_path, block, "quantize")
    assert [each.where for each in entries(found, "layer")] == [("*.0",), ("*.2",)]


def test_what_is_left_is_told_in_its_number(tmp_path: Path):
    block = "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    block += "        self.a, self.b = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2)"
    assert suggested_of(tmp_path, block, "lora").notes == (
        "no repeated block holds a linear layer that is called",
        "*.a.out_proj, *.b.out_proj are read by MultiheadAttention and never called, so they are left out",
    )


def test_what_is_no_layer_is_told():
    notes = suggested("Loose")["lora"].notes
    assert (
        "parts.one.experts, parts.two.experts is a weight that no layer holds, which target_modules cannot name"
        in notes
    )
    assert any("fan_in_fan_out" in each for each in notes)
    assert not suggested("Loose")["lora"].unknown


def test_a_name_that_means_too_much_is_told_or_lengthened():
    assert [each.name for each in entries(suggested("Named")["lora"], "target")] == ["layer1.gate", "layer2.gate"]


def test_tied_weights_are_told():
    told = suggested("Tied")
    assert any("head.weight is tied to embedding.weight" in each for each in told["lora"].notes)
    assert any("both stay in the outermost unit" in each for each in told["fsdp"].notes)
    assert any("further name of tied ones" in each for each in told["groups"].notes)


def test_blocks_that_differ_in_their_number_alone_are_told():
    (text,) = suggested("Text")["compile"].entries
    assert text.note == "alike but for number: one compilation, unless forward reads that"
    notes = [each.note for each in suggested("Stages")["compile"].entries]
    assert notes == ["2 kinds, by layers, arguments or sizes: as many compilations, as a rule"]


OPEN = """
import os
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)
        for name in os.environ.get("EXTRA", "").split():
            setattr(self, name, nn.Linear(16, 16))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
"""


def test_what_is_open_is_told(tmp_path: Path):
    (tmp_path / "model.py").write_text(OPEN)
    found = modgraph.suggest(modgraph.predict(tmp_path / "model.py"))
    assert all("what else is in blocks.* is not known: names may be missing" in each.unknown for each in found)
    (compiled,) = (each.entries[0] for each in found if each.kind == "compile")
    assert compiled.note == "whether they are alike is not known"


def test_of_a_file_of_weights_the_layers_are_not_known(tmp_path: Path):
    model = model_of("Text")
    torch.save(model.state_dict(), tmp_path / "net.pt")
    found = {each.kind: each for each in modgraph.suggest(modgraph.load(tmp_path / "net.pt"))}
    assert (found["lora"].paste, found["fsdp"].paste, found["quantize"].paste) == ("", "", "")
    assert all(
        "the file names no classes: which layer holds a weight is not known" in each.unknown for each in found.values()
    )
    lists = pasted(found["groups"])
    for key, parameter in model.named_parameters():
        fitting = [group for group, texts in lists.items() for text in texts if re.fullmatch(text, key)]
        assert fitting == ["undecided" if parameter.dim() > 1 else "no_decay"]


def test_of_a_file_of_weights_no_buffer_is_a_parameter_and_no_matrix_a_vector(tmp_path: Path):
    """A file that tells neither: what torch's norms name as buffers is left out, and one row may well be multiplied."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 1), nn.InstanceNorm1d(4, affine=True))
    torch.save(dict(model.state_dict()), tmp_path / "net.pt")
    (found,) = (each for each in modgraph.suggest(modgraph.load(tmp_path / "net.pt")) if each.kind == "groups")
    lists = pasted(found)
    for key in model.state_dict():
        fitting = [group for group, texts in lists.items() for text in texts if re.fullmatch(text, key)]
        parameter = dict(model.named_parameters()).get(key)
        assert fitting == ([] if parameter is None else ["undecided" if parameter.dim() > 1 else "no_decay"]), key
    assert sum(each.count for each in found.entries) == len(list(model.parameters()))
    assert any("does not tell parameters from buffers" in each for each in found.unknown)


NESTED = """\
from torch import nn

class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.up, self.down = nn.Linear(width, 64), nn.Linear(64, width)

class Around(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.router = nn.Linear(16, own)
        self.block = Block()

class Net(nn.Module):
    def __init__(self, own):
        super().__init__()
        self.layers = nn.ModuleList([Around(own) if number % 2 else Block() for number in range(6)])
        self.head = nn.Linear(16, 4)
"""


@pytest.mark.parametrize(("own", "named"), [(1, {"Block"}), (200, {"Block", "Around"})])
def test_of_blocks_inside_of_blocks_each_weight_is_in_one_unit(tmp_path: Path, own: int, named: set[str]):
    (tmp_path / "net.py").write_text(NESTED, "utf-8")
    model = runpy.run_path(str(tmp_path / "net.py"))["Net"](own)
    (found,) = (
        each for each in modgraph.suggest(modgraph.predict(f"{tmp_path / 'net.py'}:Net({own})")) if each.kind == "fsdp"
    )
    assert {each.name for each in entries(found, "block")} == named
    told = {each.name: each.parameters for each in found.entries}
    sizes = {
        name: sum(p.numel() for module in model.modules() if type(module).__name__ == name for p in module.parameters())
        for name in ("Block", "Around")
    }
    inner = sum(p.numel() for each in model.layers[1::2] for p in each.block.parameters())
    assert told == {
        "Block": sizes["Block"],
        "Around": sizes["Around"] - inner,
        "head": sum(p.numel() for p in model.head.parameters()),
    } | {key: told[key] for key in told if key.startswith("layers")}
    assert sum(told.values()) == sum(p.numel() for p in model.parameters()) or own == 1


@pytest.mark.parametrize("names", [("conv0_0", "conv0_1", "conv1_0"), ("up1_block", "up2_block", "up3_block")])
def test_blocks_whose_names_differ_in_any_number_are_one_series(tmp_path: Path, names: tuple[str, ...]):
    rows = "".join(f"        self.{name} = Block()\n" for name in names)
    head, _, _ = NESTED.partition("class Around")
    (tmp_path / "net.py").write_text(
        f"{head}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{rows}", "utf-8"
    )
    found = {each.kind: each for each in modgraph.suggest(modgraph.predict(f"{tmp_path / 'net.py'}:Net"))}
    texts = pasted(found["compile"])["blocks"]
    assert all(any(re.fullmatch(text, name) for text in texts) for name in names)


def test_the_json_holds_them():
    graph = graph_of("Text")
    assert "suggestions" not in json.loads(graph.to_json())
    asked = dataclasses.replace(graph, suggestions=modgraph.suggest(graph, ["lora", "groups"]))
    text = asked.to_json()
    jsonschema.validate(json.loads(text), schema())
    assert from_json(text) == asked
    assert [each["kind"] for each in json.loads(text)["suggestions"]] == ["lora", "groups"]


@pytest.mark.parametrize("kinds", [["lora", "other"], []])
def test_what_is_no_kind_is_refused(kinds: list[str]):
    with pytest.raises(ConfigError, match="suggest"):
        modgraph.suggest(graph_of("Text"), kinds)


def test_a_run_says_the_same_as_the_prediction():
    model = MODELS["Derived"]()
    run = modgraph.trace(model, (torch.zeros(2, 3, dtype=torch.int64),))
    said, told = modgraph.suggest(run), modgraph.suggest(graph_of("Derived"))
    assert [each.paste for each in said] == [each.paste for each in told]
    assert {node.path: node.torch_base for node in run.modules} == {
        node.path: node.torch_base for node in graph_of("Derived").modules
    }
