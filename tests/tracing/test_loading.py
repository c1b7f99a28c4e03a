"""Targets become live models; what does not work is one message with the place it came from."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from modgraph.errors import ModgraphError, TargetError, TraceError, UnknownNameError
from modgraph.options import TraceOptions
from modgraph.source.inputs import InputSpec
from modgraph.source.targets import Ref, Target, parse_target
from modgraph.source.wire import decode, decode_input, decode_options, decode_target, encode, encode_fields
from modgraph.tracing.loading.models import LoadedModel, load_model

pytestmark = pytest.mark.needs_torch

CPU = TraceOptions()


@pytest.fixture(autouse=True)
def _restored_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(directory: Path, files: dict[str, str] | None = None, **named: str) -> None:
    for name, text in {**(files or {}), **named}.items():
        path = directory / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(text), "utf-8")


def load(directory: Path, text: str, options: TraceOptions = CPU) -> LoadedModel:
    return load_model(parse_target(text, cwd=directory, path=[str(directory)]), options)


NET = """
class Net(nn.Module):
    def __init__(self, width=4, depth: int = 1, act=nn.ReLU):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)], act())
    def forward(self, x):
        return self.layers(x)

class Outer:
    class Inner(nn.Module):
        pass

class Needs(nn.Module):
    def __init__(self, depth: int, name: str, *, rate: float):
        super().__init__()

def build(width=2):
    return Net(width)

def build_pair():
    return Net(3), "and more"

def build_nothing():
    return {"model": None}

net = Net(depth=2)
number = 3

class Config:
    pass

if __name__ == "__main__":
    raise RuntimeError("this is not a script")
"""


@pytest.mark.parametrize(
    ("text", "layers"),
    [("Net", 2), ("Net(depth=3)", 4), ("build", 2), ("build_pair", 2), ("net", 3), ("Net(2, act=torch.nn.GELU)", 2)],
)
def test_a_class_a_function_and_an_instance_are_models(tmp_path: Path, text: str, layers: int) -> None:
    write(tmp_path, model=NET)
    loaded = load(tmp_path, f"model.py:{text}")
    assert len(loaded.model.layers) == layers
    assert loaded.info.class_name == "model.Net"
    assert loaded.info.target == f"model.py:{text}"


def test_a_reference_is_what_its_import_path_names(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    assert type(load(tmp_path, "model.py:Net(act=torch.nn.GELU)").model.layers[-1]) is nn.GELU


def test_a_nested_class_is_found_by_its_dotted_name(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    assert load(tmp_path, "model.py:Outer.Inner").info.class_name == "model.Outer.Inner"


@pytest.mark.parametrize(
    ("text", "said", "hinted"),
    [
        ("Nett", "no 'Nett'", "did you mean Net"),
        ("Zzzzz", "no 'Zzzzz'", "it has Net"),
        ("Outer.Innner", "Outer has no 'Innner'", "Inner"),
        ("Config", "Config in model.py is not an nn.Module", ""),
        ("number", "is an int", ""),
        ("net(3)", "is an instance", ""),
        ("build_nothing", "returned a dict", "name a class"),
        ("Net(colour=1)", "'colour'", "modgraph analyze 'model.py:Net()'"),
        ("Needs", "missing a required argument: 'depth'", "\"model.py:Needs(depth=1, name='...', rate=0.1)\""),
        ("Net(act=torch.nn.NoSuchLayer)", "torch.nn.NoSuchLayer", "import path"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_message(tmp_path: Path, text: str, said: str, hinted: str) -> None:
    write(tmp_path, model=NET)
    with pytest.raises(TargetError) as caught:
        load(tmp_path, f"model.py:{text}")
    assert said in caught.value.message
    assert hinted in (caught.value.hint or "")
    assert "\n" not in caught.value.message


def test_the_command_in_the_hint_works(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    with pytest.raises(TargetError) as caught:
        load(tmp_path, "model.py:Needs")
    assert caught.value.hint is not None
    (command,) = shlex.split(caught.value.hint.partition("modgraph analyze ")[2])
    assert load(tmp_path, command).info.class_name == "model.Needs"


@pytest.mark.parametrize(
    ("body", "said", "line"),
    [
        ("class Net(nn.Module):\n    def __init__(self):\n        helper()\ndef helper():\n    raise ValueError('bad')", "Net() raised ValueError: bad", 7),
        ("x = 1 / 0", "importing model.py raised ZeroDivisionError", 3),
        ("def f(:", "SyntaxError", 3),
        ("import sys\nsys.exit(2)", "called sys.exit(2)", 4),
        ("import no_such_package.inside", "needs no_such_package, which is not installed", 3),
        ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        nn.Linear('a', 'b')", "TypeError", 6),
    ],
)  # fmt: skip
def test_what_the_users_code_raises_is_told_with_its_own_line(tmp_path: Path, body: str, said: str, line: int) -> None:
    write(tmp_path, model=body)
    with pytest.raises(TraceError) as caught:
        load(tmp_path, "model.py:Net")
    assert said in caught.value.message
    assert (caught.value.file, caught.value.line) == ("model.py", line)
    assert caught.value.module is None


def test_relative_imports_and_packages_work(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__": "from .sub.net import Net",
            "pkg/sub/__init__": "",
            "pkg/sub/layers": "class Block(nn.Module):\n    pass",
            "pkg/sub/net": "from .layers import Block\nclass Net(Block):\n    pass",
        },
    )
    by_file, by_path = load(tmp_path, "pkg/sub/net.py:Net"), load(tmp_path, "pkg.sub.net:Net")
    assert type(by_file.model) is type(by_path.model)
    assert by_file.info.class_name == "pkg.sub.net.Net"


def test_files_beside_the_model_are_importable_and_the_file_is_registered(tmp_path: Path) -> None:
    write(
        tmp_path,
        helpers="width = 7",
        model="import helpers\nclass Net(nn.Linear):\n    def __init__(self):\n        super().__init__(helpers.width, 1)",
    )
    assert load(tmp_path, "model.py:Net").model.in_features == 7
    assert Path(str(sys.modules["model"].__file__)) == tmp_path / "model.py"


def test_a_file_named_like_a_module_in_use_does_not_replace_it(tmp_path: Path) -> None:
    import types

    write(tmp_path, types=NET)
    assert load(tmp_path, "types.py:Net").info.class_name == "types.Net"
    assert sys.modules["types"] is types


def test_a_second_file_of_the_same_name_is_another_module(tmp_path: Path) -> None:
    for name, width in (("a", 1), ("b", 2)):
        source = f"class Net(nn.Linear):\n    def __init__(self): super().__init__({width}, 1)"
        write(tmp_path, {f"{name}/model": source})
    widths = [load(tmp_path, f"{name}/model.py:Net").model.in_features for name in ("a", "b", "a")]
    assert widths == [1, 2, 1]


def test_an_unknown_module_is_a_target_error(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="there is no module no_such_module_of_tests"):
        load(tmp_path, "no_such_module_of_tests:Net")


def test_weights_are_the_same_every_time(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    first, second = (load(tmp_path, "model.py:Net").model.layers[0].weight for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    with pytest.raises(ModgraphError, match="--device cuda cannot be used"):
        load(tmp_path, "model.py:Net", TraceOptions(device="cuda"))


EXAMPLES: dict[str, tuple[str, Any]] = {
    "tensor": ("example_inputs = torch.zeros(2, 4)", ((2, 4), {})),
    "tuple": ("example_inputs = (torch.zeros(2, 4),)", ((2, 4), {})),
    "list": ("example_inputs = [torch.zeros(2, 4)]", ((2, 4), {})),
    "dict": ("example_inputs = {'x': torch.zeros(2, 4)}", (None, {"x": (2, 4)})),
    "pair": ("example_inputs = (torch.zeros(2, 4),), {'scale': 2}", ((2, 4), {"scale": 2})),
    "function": ("def example_inputs():\n    return torch.zeros(2, 4)", ((2, 4), {})),
    "of_the_model": ("def example_inputs(model):\n    return torch.zeros(2, model.width)", ((2, 4), {})),
    "by_class": ("example_inputs = {'Net': torch.zeros(2, 4), 'Other': None}", ((2, 4), {})),
    "static": ("Net.example_inputs = staticmethod(lambda: torch.zeros(2, 4))", ((2, 4), {})),
    "method": ("Net.example_inputs = lambda self: torch.zeros(2, self.width)", ((2, 4), {})),
    "attribute": ("Net.example_inputs = torch.zeros(2, 4)\nexample_inputs = torch.zeros(9)", ((2, 4), {})),
}
WITH_EXAMPLE = """
class Other(nn.Module):
    pass
class Net(nn.Module):
    width = 4
    def forward(self, x, scale=1):
        return x * scale
"""


@pytest.mark.parametrize("kind", EXAMPLES)
def test_example_inputs_beside_the_model(tmp_path: Path, kind: str) -> None:
    statements, (first, kwargs) = EXAMPLES[kind]
    write(tmp_path, model=WITH_EXAMPLE + statements)
    example = load(tmp_path, "model.py:Net").example
    assert example is not None
    assert (tuple(example.args[0].shape) if example.args else None) == first
    assert {name: tuple(v.shape) if isinstance(v, torch.Tensor) else v for name, v in example.kwargs.items()} == kwargs


def test_a_dict_that_forward_takes_whole_is_its_one_argument(tmp_path: Path) -> None:
    write(tmp_path, model="class Net(nn.Module):\n    def forward(self, batch): ...\nexample_inputs = {'image': 1}")
    example = load(tmp_path, "model.py:Net").example
    assert example is not None
    assert example.args == ({"image": 1},)


def test_a_model_that_the_dict_of_examples_does_not_name_has_none(tmp_path: Path) -> None:
    write(tmp_path, model=WITH_EXAMPLE + "example_inputs = {'Other': torch.zeros(1)}")
    assert load(tmp_path, "model.py:Net").example is None


def test_examples_that_raise_or_do_not_fit_are_one_message(tmp_path: Path) -> None:
    write(tmp_path, a=WITH_EXAMPLE + "def example_inputs():\n    raise OSError('gone')")
    write(tmp_path, b=WITH_EXAMPLE + "example_inputs = (1, 2, 3)")
    with pytest.raises(TraceError, match=r"example_inputs\(\) raised OSError: gone"):
        load(tmp_path, "a.py:Net")
    with pytest.raises(TraceError, match=r"example_inputs does not fit forward\(x, scale=1\)"):
        load(tmp_path, "b.py:Net")


LITERALS = [
    None, True, 3, -1.5, "é", b"\x00\xff", (1, (2,)), [1, [2]], {"a": (1,), 2: None}, {1, 2}, frozenset({3}), 1 + 2j,
    float("inf"), ..., Ref("torch.nn.ReLU"), [Ref("a.b"), {"k": Ref("c.d")}], {},
]  # fmt: skip


@pytest.mark.parametrize("value", LITERALS, ids=repr)
def test_literals_travel_as_json(value: Any) -> None:
    import json

    assert decode(json.loads(json.dumps(encode(value)))) == value


def test_a_request_travels_as_json(tmp_path: Path) -> None:
    write(tmp_path, model=NET)
    target = parse_target("model.py:Net(2, act=torch.nn.GELU)", cwd=tmp_path)
    spec = InputSpec(text="x=1x2", name="x", shape=(1, 2), dtype="float32")
    options = TraceOptions(device="fake", timeout=1.5)
    assert decode_target(encode_fields(target)) == target
    assert decode_input(encode_fields(spec)) == spec
    assert decode_options(encode_fields(options)) == options
    with pytest.raises(TypeError):
        encode_fields(Target(text="t", module="m", name="n", arguments=(object(),)))


def test_a_file_whose_ending_is_in_capitals_is_imported(tmp_path: Path) -> None:
    (tmp_path / "net.PY").write_text("from torch import nn\nclass Net(nn.Linear):\n    pass\n", "utf-8")
    loaded = load_model(parse_target("net.PY:Net(2, 3)", cwd=tmp_path), TraceOptions())
    assert type(loaded.model).__name__ == "Net"


def test_a_name_that_the_imported_module_does_not_have_is_an_error_of_its_own(tmp_path: Path) -> None:
    source = "from torch import nn\nif False:\n    class Old(nn.Linear):\n        pass\n"
    (tmp_path / "branch.py").write_text(source, "utf-8")
    with pytest.raises(UnknownNameError, match="no 'Old'"):
        load_model(parse_target("branch.py:Old", cwd=tmp_path), TraceOptions())


def test_an_exception_without_a_text_is_told_by_its_class(tmp_path: Path) -> None:
    source = "class Mute(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Mute\n"
    (tmp_path / "mute.py").write_text(source, "utf-8")
    with pytest.raises(TraceError, match=r"Mute: \(its text raised ZeroDivisionError\)") as caught:
        load_model(parse_target("mute.py:Net", cwd=tmp_path), TraceOptions())
    assert (caught.value.file, caught.value.line) == ("mute.py", 4)
