"""Inputs are inferred for models nobody told us about; torch itself says whether they are accepted."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from modgraph import trace
from modgraph.errors import InputError, TraceError
from modgraph.inputs import probe, search
from modgraph.inputs.making import Inputs, bind_specs, make_inputs
from modgraph.inputs.search import MAX_TRIES
from modgraph.inputs.specs import TensorSpec
from modgraph.options import TraceOptions
from modgraph.source.inputs import parse_input
from modgraph.tracing.basics.forward_signature import ForwardSignature
from modgraph.tracing.loading.models import Example

pytestmark = pytest.mark.needs_torch

CPU = TraceOptions()


def _models() -> Iterator[Any]:
    for file in sorted((Path(__file__).parent / "models_inputs").glob("*.py")):
        name = f"models_inputs_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        for kind in module.MODELS:
            yield pytest.param(kind, module.INTENDED.get(kind.__name__, {}), id=kind.__name__)


def inferred(model: nn.Module, *specs: str, options: TraceOptions = CPU) -> Inputs:
    return make_inputs(model, [parse_input(text) for text in specs], None, options)


def shapes(inputs: Inputs) -> dict[str, Any]:
    return {info.name: info.tensors[0].shape for info in inputs.infos if info.tensors}


@pytest.mark.parametrize(("kind", "intended"), list(_models()))
def test_a_model_as_people_write_them_gets_inputs_that_it_accepts(
    kind: type[nn.Module], intended: dict[str, Any]
) -> None:
    torch.manual_seed(0)
    model = kind()
    inputs = inferred(model)

    assert inputs.warning is None
    assert inputs.tries <= MAX_TRIES
    assert {info.origin for info in inputs.infos} <= {"inferred"}
    with torch.no_grad():
        model.eval()(*inputs.args, **inputs.kwargs)
    assert {name: shape for name, shape in shapes(inputs).items() if name in intended} == intended


@pytest.mark.parametrize("bound", ["functions", "seconds"])
@pytest.mark.parametrize("parameters", [20, 20_000_000])  # its first run is a real one, or with fake tensors
def test_a_forward_that_never_ends_is_given_up_with_its_line(
    bound: str, parameters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.more = nn.Parameter(torch.zeros(parameters))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            while True:
                with contextlib.suppress(Exception):
                    x = self.layer(x)  # here

    if bound == "functions":
        monkeypatch.setattr(probe, "MAX_FUNCTIONS", 1000)
    else:
        monkeypatch.setattr(search, "MAX_SECONDS", 0.5)
    with pytest.raises(TraceError, match=r"forward had not ended after [0-9,]+ calls") as caught:
        inferred(Endless())
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert caught.value.line is not None
    assert lines[caught.value.line - 1].endswith("# here")


def test_the_model_and_the_random_state_are_left_as_they_were() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bn = nn.BatchNorm1d(4)
            self.frozen = nn.Linear(4, 4).eval()
            self.count = 0
            self.seen: list[Any] = []
            self.register_buffer("steps", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            self.seen.append(x)
            self.steps += 1
            return self.frozen(self.bn(x)) + torch.rand(1)

    model = Stateful()
    before = {name: (value, value.clone()) for name, value in model.state_dict(keep_vars=True).items()}
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()
    inferred(model)

    for name, value in model.state_dict(keep_vars=True).items():
        assert value is before[name][0]
        assert torch.equal(value, before[name][1])
    assert [module.training for module in model.modules()] == modes
    assert (model.count, model.seen) == (0, [])
    assert torch.equal(torch.get_rng_state(), state)
    assert "__call__" not in vars(nn.Module) or nn.Module.__call__ is nn.Module._wrapped_call_impl


class Attend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)

    def forward(self, ids: torch.Tensor, scale: torch.Tensor, flag: bool = False) -> torch.Tensor:
        return self.table(ids) * scale if not flag else self.table(ids)


def test_given_inputs_are_taken_and_the_missing_ones_inferred_beside_them() -> None:
    inputs = inferred(Attend(), "ids=2x7")

    assert shapes(inputs)["ids"] == (2, 7)
    assert [(info.name, info.origin) for info in inputs.infos] == [("ids", "given"), ("scale", "inferred")]
    Attend()(*inputs.args, **inputs.kwargs)


def test_indices_that_are_given_by_shape_alone_are_integers_within_the_table() -> None:
    inputs = inferred(Attend(), "3x9", "scale=1")

    ids = inputs.args[0]
    assert ids.dtype == torch.int64
    assert int(ids.max()) < 5
    assert inputs.args[1] == 1


def test_the_dtype_that_is_given_is_kept() -> None:
    inputs = inferred(nn.Linear(4, 2).double(), "2x4:float64")
    assert inputs.args[0].dtype == torch.float64


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["x=1x4"], "no input 'x'"),
        (["idx=1x4"], "did you mean ids?"),
        (["1x4", "1x4", "flag=True", "1x4"], "one too many"),
        (["ids=1x4", "ids=1x4"], "given twice"),
    ],
)
def test_a_wrong_input_is_one_message_with_the_signature_or_the_names(specs: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        inferred(Attend(), *specs)
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert "ids" in caught.value.message + str(caught.value.hint)


def test_keyword_inputs_reach_a_forward_that_takes_anything() -> None:
    class Open(nn.Module):
        def forward(self, **batch: torch.Tensor) -> torch.Tensor:
            return batch["left"] + batch["right"]

    inputs = inferred(Open(), "left=2x3", "right=2x3")
    assert inputs.args == ()
    assert sorted(inputs.kwargs) == ["left", "right"]


def test_example_inputs_come_before_inference() -> None:
    example = Example((torch.zeros(3, 4),), {})
    inputs = make_inputs(nn.Linear(4, 2), [], example, CPU)

    assert inputs.args[0] is example.args[0]
    assert [(info.name, info.origin, info.tensors[0].shape) for info in inputs.infos] == [
        ("input", "example_inputs", (3, 4))
    ]


def test_given_inputs_come_before_example_inputs() -> None:
    inputs = make_inputs(nn.Linear(4, 2), [parse_input("7x4")], Example((torch.zeros(3, 4),), {}), CPU)
    assert shapes(inputs) == {"input": (7, 4)}


def test_a_forward_that_always_raises_its_own_error_is_left_to_the_trace() -> None:
    class Unwritten(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("not implemented yet")

    inputs = inferred(Unwritten())
    assert inputs.warning is None
    assert shapes(inputs) == {"x": (1, 6)}


def test_a_model_that_no_input_fits_runs_with_the_first_guess_and_a_warning() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(6, 5)
            self.second = nn.Linear(7, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    inputs = inferred(Broken())
    assert inputs.args[0].shape[-1] == 6
    assert inputs.warning is not None
    assert "--input x=" in inputs.warning


def test_training_takes_a_batch_that_batch_normalisation_accepts() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    inputs = inferred(model, options=TraceOptions(mode="train"))
    assert inputs.args[0].shape == (2, 4)
    model.train()(*inputs.args)


def test_the_same_model_gets_the_same_values() -> None:
    first, second = (inferred(nn.Linear(4, 2)).args[0] for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, torch.zeros_like(first))


def test_a_model_that_cannot_be_copied_still_gets_inputs() -> None:
    class Uncopied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(2, 3, 3)
            self.generator = (n for n in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    model = Uncopied()
    weight = model.layer.weight
    inputs = inferred(model)
    assert inputs.args[0].shape[1] == 2
    assert model.layer.weight is weight
    model(*inputs.args)


def test_signatures_that_cannot_be_read_take_one_input() -> None:
    class Compiled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.forward = _Opaque(self.layer)

    inputs = inferred(Compiled())
    assert inputs.args[0].shape == (1, 3)


class _Opaque:
    __signature__ = "not a signature"

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer

    def __call__(self, *args: Any) -> Any:
        return self.layer(*args)


def test_values_reach_positional_only_and_keyword_only_parameters() -> None:
    class Kinds(nn.Module):
        def forward(self, a: Any, /, b: Any, *rest: Any, c: Any, **more: Any) -> None: ...

    signature = ForwardSignature.of(Kinds())
    args, kwargs = signature.split({"a": 1, "b": 2, "c": 3, "rest[0]": 4, "d": 5})
    assert (args, kwargs) == ((1, 2, 4), {"c": 3, "d": 5})
    assert signature.required == ["a", "b", "c"]


def test_a_vision_model_of_the_shelf_gets_a_usual_image(torchvision_models: Any) -> None:
    for name, side in (("squeezenet1_1", 224), ("shufflenet_v2_x0_5", 224), ("vit_b_16", 224), ("mnasnet0_5", 224)):
        inputs = make_inputs(torchvision_models.get_model(name, weights=None), [], None, CPU)
        assert inputs.tries == 1
        assert inputs.args[0].shape == (1, 3, side, side)


class Raising(nn.Module):
    """Raises on every input, at one line."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = 0
        self.layer = nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("kaboom")


def test_a_forward_that_always_raises_its_own_error_is_left_alone_soon() -> None:
    inputs = inferred(Raising())
    assert inputs.tries <= 3
    assert inputs.warning is None
    assert shapes(inputs) == {"x": (1, 12)}


def test_a_raise_that_another_input_gets_past_is_got_past() -> None:
    class Strict(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 2, 3)
            self.size = 73

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            if image.shape[-1] == self.size:
                return self.conv(image)
            raise ValueError("bad size")

    inputs = inferred(Strict())
    assert shapes(inputs) == {"image": (1, 3, 73, 73)}


def test_a_search_keeps_its_limit_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impossible(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.linear = nn.Conv2d(3, 8, 3), nn.Linear(123457, 4)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.linear(self.conv(x).flatten(1)) + self.linear(self.conv(y).flatten(1))

    for limit in (4, 9, MAX_TRIES):
        monkeypatch.setattr("modgraph.inputs.search.MAX_TRIES", limit)
        inputs = inferred(Impossible())
        assert inputs.tries <= limit
        assert inputs.warning is not None


def test_a_search_keeps_its_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.1)
            return torch.nn.functional.linear(x, torch.zeros(3, 1234577))

    monkeypatch.setattr("modgraph.inputs.search.MAX_SECONDS", 0.25)
    assert inferred(Slow()).tries <= 4


def test_inputs_that_are_alike_stay_alike() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = nn.Linear(16, 16)

        def forward(self, q, k, v, bias):  # type: ignore[no-untyped-def]
            b, n, d = q.shape
            scores = self.proj(q).view(b, n, 4, -1).transpose(1, 2) @ k.view(b, -1, 4, d // 4).permute(0, 2, 3, 1)
            return (scores + bias).softmax(-1) @ v.view(b, -1, 4, d // 4).transpose(1, 2)

    found = shapes(inferred(Attention()))
    assert found["q"] == found["k"] == found["v"]
    assert len(found["q"]) == 3


def test_a_time_that_is_joined_with_floats_is_a_float() -> None:
    class Physics(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(2, 1)

        def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.net(torch.stack([t, y], -1))

    class Diffusion(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.time, self.net = nn.Embedding(10, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            return self.net(x) + self.time(t)

    assert {info.tensors[0].dtype for info in inferred(Physics()).infos} == {"float32"}
    assert [info.tensors[0].dtype for info in inferred(Diffusion()).infos] == ["float32", "int64"]


def test_inputs_that_were_given_in_full_are_not_tried_out() -> None:
    happened: list[int] = []

    class Loud(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            happened.append(1)
            return self.layer(x)

    inputs = inferred(Loud(), "1x4")
    assert happened == []
    assert inputs.infos[0].tensors[0].dtype == "float32"


class Wordless(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_exception_without_a_text_ends_no_search() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.dim() != 3:
                raise Wordless
            return self.layer(x)

    assert shapes(inferred(Net())) == {"x": (1, 8, 4)}


def test_a_module_without_a_hash_and_a_train_that_raises_are_no_obstacle() -> None:
    class Unhashable(nn.Linear):
        def __hash__(self) -> int:
            raise TypeError("no hash")

        def __eq__(self, other: object) -> bool:
            raise TypeError("no equality")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Unhashable(4, 4)

        def train(self, mode: bool = True) -> Net:
            raise RuntimeError("training is not for this one")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    inputs = inferred(Net())
    assert inputs.warning is None
    assert shapes(inputs) == {"x": (1, 4)}


def test_a_keyboard_interrupt_of_a_person_goes_through_and_one_of_the_model_does_not() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            inferred(Net())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        assert len(inferred(Net()).args) == 1
    finally:
        signal.signal(signal.SIGINT, before)


def test_inference_in_two_threads_leaves_the_call_of_modules_as_it_was() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.01)
            assert x.dim() == 3
            return self.layer(x)

    before, failures = nn.Module.__call__, []

    def work() -> None:
        for _ in range(5):
            inputs = inferred(Net())
            if shapes(inputs)["x"][-1] != 6 or inputs.warning:
                failures.append(inputs)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nn.Module.__call__ is before
    assert failures == []


def test_inference_leaves_the_generator_of_numpy_as_it_was() -> None:
    numpy = pytest.importorskip("numpy")

    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * numpy.random.rand()

    numpy.random.seed(3)
    expected = numpy.random.rand()
    numpy.random.seed(3)
    inferred(Net())
    assert numpy.random.rand() == expected


class _Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.LazyConv2d(4, 3)
        self.bn = nn.LazyBatchNorm2d()
        self.fc = nn.LazyLinear(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.fc(self.bn(self.conv(x)).mean((2, 3)))
        return y


def test_lazy_layers_get_an_input_and_stay_lazy() -> None:
    model = _Lazy()
    inputs = inferred(model)
    assert inputs.warning is None
    assert shapes(inputs) == {"x": (1, 3, 224, 224)}
    assert all(isinstance(p, nn.UninitializedParameter) for p in model.parameters())
    assert isinstance(model.bn.running_mean, nn.parameter.UninitializedBuffer)
    assert model(*inputs.args).shape == (1, 2)


def test_lazy_layers_beside_a_given_input() -> None:
    assert shapes(inferred(_Lazy(), "2x3x8x8")) == {"x": (2, 3, 8, 8)}


def test_inputs_that_were_given_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modgraph.inputs.guesses.Guesser.guess", None)
    assert shapes(inferred(_Lazy(), "2x3x8x8")) == {"x": (2, 3, 8, 8)}


class _Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, images: list[torch.Tensor]) -> torch.Tensor:
        y: torch.Tensor = self.conv(torch.stack(images))
        return y


def test_items_of_a_list_that_forward_stacks_have_no_batch_dimension() -> None:
    inputs = inferred(_Stacked())
    assert inputs.warning is None
    assert [tuple(image.shape) for image in inputs.args[0]] == [(3, 224, 224)] * 2


class _Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleDict({name: nn.Embedding(9, 4) for name in ("user_id", "country", "cat")})
        self.fc = nn.Linear(12, 2)

    def forward(self, feats: dict[str, torch.Tensor]) -> torch.Tensor:
        y: torch.Tensor = self.fc(torch.cat([table(feats[name]) for name, table in self.tables.items()], -1))
        return y


def test_items_of_a_dict_that_are_joined_have_one_index_per_row() -> None:
    inputs = inferred(_Tables())
    assert inputs.warning is None
    assert {name: tuple(ids.shape) for name, ids in inputs.args[0].items()} == dict.fromkeys(
        ("user_id", "country", "cat"), (1,)
    )


class _Impossible(nn.Module):
    def forward(self, x: Any, mask: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.relu(x) + mask.sum()
        return torch.linalg.cholesky(y[:, :, :, None, None] @ torch.zeros(91, 17))


class _ImpossibleList(nn.Module):
    def forward(self, x: list[torch.Tensor]) -> torch.Tensor:
        return torch.relu(x[0]) @ torch.zeros(91, 17, 3, 4) @ torch.zeros(5, 6)


class _ImpossibleBatch(nn.Module):
    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.relu(batch["image"]) @ torch.zeros(91, 17, 3, 4) @ torch.zeros(5, 6) + batch["label"]


def test_the_advice_for_what_is_in_a_list_or_dict_says_its_places() -> None:
    for model, place in ((_ImpossibleList(), "x[0]="), (_ImpossibleBatch(), "batch.image=")):
        warning = inferred(model).warning
        assert warning is not None
        assert place in warning


def test_the_advice_takes_the_nearest_candidate_as_its_pattern() -> None:
    warning = inferred(_Impossible()).warning
    assert warning is not None
    advice = warning.rpartition("as in ")[2].partition(";")[0]
    written = [parse_input(text) for text in advice.removeprefix("--input ").split(" --input ")]
    assert [spec.name for spec in written] == ["x", "mask"]


class _ImpossibleRest(nn.Module):
    def forward(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(xs[0][:, :, :, None, None] @ torch.zeros(91, 17))


class _ImpossibleBehind(nn.Module):
    def forward(self, x: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(x[:, :, None] @ more[0] @ torch.zeros(91, 17)) @ torch.zeros(5, 6)


class _ImpossibleWords(nn.Module):
    def forward(self, x: torch.Tensor, how: str, n: int, /, *, flag: bool) -> torch.Tensor:
        return torch.linalg.cholesky(x[:, :, None, None] @ torch.zeros(91, 17))


@pytest.mark.parametrize(
    "model", [_Impossible, _ImpossibleRest, _ImpossibleBehind, _ImpossibleWords, _ImpossibleList, _ImpossibleBatch]
)
def test_the_advice_is_taken_when_it_is_typed(model: type[nn.Module]) -> None:
    warning = inferred(model()).warning
    assert warning is not None
    if "as in " not in warning:
        assert "--input" not in warning
        return
    typed = shlex.split(warning.rpartition("as in ")[2].partition("; where it goes")[0])
    specs = [parse_input(text) for text in typed if text != "--input"]
    tried = inferred(model()).infos
    assert set(bind_specs(specs, ForwardSignature.of(model()))) == {re.sub(r"^\w+\[", "args[", i.name) for i in tried}


@pytest.mark.parametrize("spec", [(), (5,), (2, 3), (1, 2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_the_text_of_a_tensor_is_that_tensor_on_the_command_line(spec: tuple[int, ...], dtype: str) -> None:
    read = parse_input(TensorSpec(spec, dtype).text())
    assert (read.shape, read.dtype or "float32") == (spec, dtype)


def test_the_names_that_a_refusal_offers_are_taken() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor, *rest: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
            return x

    signature = ForwardSignature.of(Model())
    with pytest.raises(InputError) as caught:
        bind_specs([parse_input("y=1x3")], signature)
    offered = [text.removeprefix("--input ") for text in str(caught.value.hint).partition(": ")[2].split(", ")]
    assert set(bind_specs([parse_input(text) for text in offered], signature)) == {"x", "scale"}


class _WithoutForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 2)


class _CallsOneWithoutForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items = nn.ModuleList([nn.Linear(3, 2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.items(x)  # type: ignore[no-any-return]


def test_a_class_without_forward_is_told_so_and_nothing_of_inputs() -> None:
    graph = trace(_WithoutForward())
    (problem,) = graph.problems
    assert problem.message.startswith("_WithoutForward has no forward")
    assert "input" not in problem.message
    assert problem.file is not None
    assert problem.file.endswith("test_inputs.py")
    assert not graph.model.inputs
    inner = trace(_CallsOneWithoutForward(), torch.ones(1, 3)).problems[0]
    assert inner.message.startswith("ModuleList has no forward")
    assert (inner.module, inner.file) == ("items", problem.file)


class _ImpossibleTuple(nn.Module):
    def forward(self, x: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return torch.relu(x[0]) @ torch.zeros(91, 17, 3, 4) @ torch.zeros(5, 6)


def test_the_advice_for_a_tuple_is_a_function() -> None:
    warning = inferred(_ImpossibleTuple()).warning
    assert warning is not None
    assert "example_inputs()" in warning
    assert "--input" not in warning


class _Pixels(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 4, stride=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).flatten(2).transpose(1, 2)
        if y.shape[1] != 64:
            raise ValueError(f"{y.shape[1]} instead of 64")
        return y


def test_images_are_square_where_square_ones_are_accepted() -> None:
    assert shapes(inferred(_Pixels()))["x"] == (1, 3, 32, 32)


class _Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(6, 4, 4)

    def forward(self, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.conv(torch.cat([real, fake], 1))
        return y


def test_joined_images_share_the_channels_evenly() -> None:
    assert shapes(inferred(_Joined())) == {"real": (1, 3, 224, 224), "fake": (1, 3, 224, 224)}


class _StepsFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, src: torch.Tensor, src_padding_mask: torch.Tensor) -> torch.Tensor:
        x = self.embed(src)
        y: torch.Tensor = self.attention(x, x, x, key_padding_mask=src_padding_mask)[0]
        return y


def test_indices_have_their_steps_first_where_attention_wants_them_so() -> None:
    inputs = inferred(_StepsFirst())
    assert inputs.warning is None
    assert shapes(inputs) == {"src": (8, 1), "src_padding_mask": (1, 8)}


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 4)

    def forward(self, input_ids: Any = None, inputs_embeds: Any = None) -> torch.Tensor:
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("exactly one of input_ids or inputs_embeds")
        y: torch.Tensor = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        return y


class _Listens(nn.Module):
    main_input_name = "features"

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(5, 4, 3, stride=2), _Decoder()

    def forward(
        self, features: Any = None, mask: Any = None, decoder_input_ids: Any = None, decoder_inputs_embeds: Any = None
    ) -> torch.Tensor:
        heard = self.encoder(features).mean(-1)
        y: torch.Tensor = self.decoder(decoder_input_ids, decoder_inputs_embeds) + heard[:, None]
        return y


def test_what_an_inner_module_asks_for_is_given_by_the_name_that_it_has_outside() -> None:
    inputs = inferred(_Listens())
    assert inputs.warning is None
    assert shapes(inputs) == {"features": (1, 5, 64), "decoder_input_ids": (1, 8)}


class _Separates(nn.Module):
    """Only what its first layer makes is unpacked; the filters are none of torch's layers."""

    def __init__(self) -> None:
        super().__init__()
        self.masker = nn.Conv1d(16, 16, 1)
        self.filters = nn.Parameter(torch.randn(16, 1, 8))

    def forward(self, wav: torch.Tensor) -> torch.Tensor:
        """wav: one or more signals, with the time last."""
        heard = nn.functional.conv1d(wav.reshape(-1, 1, wav.shape[-1]), self.filters, stride=4)
        heard = heard.reshape(*wav.shape[:-1], *heard.shape[-2:])
        batch, filters, steps = heard.shape
        y: torch.Tensor = self.masker(heard).view(batch, filters * steps)
        return y


def test_an_input_has_as_many_dimensions_as_what_is_made_of_it_is_unpacked_into() -> None:
    inputs = inferred(_Separates())
    assert inputs.warning is None
    assert shapes(inputs)["wav"] == (1, 16000)


class _Hungry(nn.Module):
    """Attends from every pixel to every other."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).flatten(2)
        if y.shape[-1] > 4096 and not isinstance(y, FakeTensor):
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. can't allocate memory: 3 bytes")
        z: torch.Tensor = (y.transpose(1, 2) @ y) * time
        return z


def test_images_are_smaller_where_there_is_not_enough_memory() -> None:
    assert shapes(inferred(_Hungry()))["x"] == (1, 3, 64, 64)


class _Continuous(nn.Module):
    """The first guess is indices, of which it has none; what they are made into has steps."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(64, 4)
        self.project = nn.Linear(6, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(x)
        steps = {3: y.shape[1]}[y.dim()]
        z: torch.Tensor = self.attention(*[y + self.positions(torch.arange(steps))] * 3)[0]
        return z


def test_floats_in_place_of_indices_are_as_long_a_sequence() -> None:
    inputs = inferred(_Continuous())
    assert inputs.warning is None
    assert shapes(inputs)["x"] == (1, 8, 6)


class _Hears(nn.Module):
    """It says no where its positions do not fit what two layers made of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(6, 4, 3, padding=1), nn.Conv1d(4, 4, 3, stride=2, padding=1)
        self.register_buffer("positions", torch.zeros(150, 4))

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        x = self.second(self.first(mel)).permute(0, 2, 1)
        assert x.shape[1:] == self.positions.shape, "incorrect shape"
        y: torch.Tensor = x + self.positions
        return y


def test_a_length_is_found_that_fits_what_the_failing_line_compares_it_with() -> None:
    inputs = inferred(_Hears())
    assert inputs.warning is None
    assert shapes(inputs)["mel"] in {(1, 6, 300), (1, 6, 299)}


@functools.lru_cache(maxsize=8)
def _angles(steps: int) -> tuple[torch.Tensor, str]:
    return torch.arange(steps).float() / steps, "angles"


@functools.cache
def _scale(steps: int) -> torch.Tensor:
    return torch.full((1,), 1.0 / steps)


class _Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        z: torch.Tensor = y * _angles(y.shape[-1])[0] * _scale(y.shape[-1])
        return z


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_what_functions_remember_of_the_inference_is_nothing_fake(device: Any) -> None:
    kept = _scale(3)
    model = _Remembers()
    trace(model, device=device)

    assert type(model(torch.zeros(1, 3, 64))) is torch.Tensor
    assert type(kept) is torch.Tensor


def test_what_functions_remember_is_kept_where_nothing_of_it_is_fake() -> None:
    kept = _scale(5)
    inferred(_Separates())
    assert _scale(5) is kept


class _Grids(nn.Module):
    """How its rows lie on grids stands in an input, whose values it reckons with."""

    def __init__(self) -> None:
        super().__init__()
        self.merge = 2
        self.project = nn.Linear(6, 4)
        self.positions = nn.Embedding(30, 4)

    def forward(self, patches: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        """patches: (seq_len, 6), grid: (images, 3)."""
        y = self.project(patches)
        places = []
        for t, h, w in grid.tolist():
            blocks = torch.arange(h * w).reshape(h // self.merge, self.merge, w // self.merge, self.merge)
            places.append(blocks.flatten().repeat(t))
        z: torch.Tensor = y + self.positions(torch.cat(places))
        return z


def test_counts_are_large_enough_to_be_divided() -> None:
    inputs = inferred(_Grids())
    assert inputs.warning is None
    assert shapes(inputs) == {"patches": (8, 6), "grid": (1, 3)}
