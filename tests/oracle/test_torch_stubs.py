"""The bundled torch source against the installed torch: the same classes, signatures, children, parameters, buffers.

The stubs are executed here on real tensors: each file becomes a module of a package of its own, in which only `Module`,
the containers and `Parameter` are torch's. What the prediction makes of them is tested beside the interpreter.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")
nn = torch.nn

STUBS = Path(__file__).parents[2] / "modgraph/prediction/knowledge/torch_stubs/torch"
PACKAGE = "torch_stubs_under_test"
REAL = ("module", "container")
"""Files whose classes carry no behaviour in the stubs: the interpreter knows it."""


def _execute(name: str) -> types.ModuleType:
    """The stub file `name` of torch/nn/modules, executed with its imports led to its siblings."""
    qualified = f"{PACKAGE}.{name}"
    if qualified in sys.modules:
        return sys.modules[qualified]
    text = (STUBS / f"nn/modules/{name}.py").read_text(encoding="utf-8")
    siblings = [file.stem for file in (STUBS / "nn/modules").glob("*.py") if file.stem not in (*REAL, "__init__")]
    for sibling in siblings:
        if f"from torch.nn.modules.{sibling} import" in text:
            _execute(sibling)
            text = text.replace(f"from torch.nn.modules.{sibling} import", f"from {PACKAGE}.{sibling} import")
    module = types.ModuleType(qualified)
    sys.modules[qualified] = module
    exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module", autouse=True)
def stub_package() -> Iterator[None]:
    sys.modules[PACKAGE] = types.ModuleType(PACKAGE)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def _real_classes() -> list[type[Any]]:
    """Every Module class defined in torch.nn.modules that has a public name, and those only used as a base or part."""
    names = [f"torch.nn.modules.{info.name}" for info in pkgutil.iter_modules(nn.modules.__path__)]
    found = [value for name in names for value in vars(importlib.import_module(name)).values()]
    classes = dict.fromkeys(value for value in found if isinstance(value, type) and issubclass(value, nn.Module))
    return [cls for cls in classes if cls.__module__ in names]


def _file_of(cls: type[Any]) -> str:
    return cls.__module__.rpartition(".")[2]


def _stub_of(cls: type[Any]) -> Any:
    return getattr(_execute(_file_of(cls)), cls.__name__)


IN_STUBS = [cls for cls in _real_classes() if _file_of(cls) not in REAL]


def test_every_public_module_class_is_there() -> None:
    public = {name for name, cls in vars(nn).items() if isinstance(cls, type) and issubclass(cls, nn.Module)}
    exported = (STUBS / "nn/modules/__init__.py").read_text(encoding="utf-8") + (STUBS / "nn/__init__.py").read_text()
    missing = sorted(name for name in public if f"import {name} as {name}\n" not in exported)
    assert missing == []


@pytest.mark.parametrize("name", REAL)
def test_names_of_module_and_containers_are_there(name: str) -> None:
    namespace: dict[str, Any] = {}
    text = (STUBS / f"nn/modules/{name}.py").read_text(encoding="utf-8")
    exec(compile(text, name, "exec"), namespace)
    for cls in _real_classes():
        if _file_of(cls) != name:
            continue
        stub = namespace[cls.__name__]
        public = {key for key, value in vars(cls).items() if inspect.isfunction(value) and not key.startswith("_")}
        assert sorted(public - set(dir(stub)) - {"extra_repr"}) == []
        for key, value in vars(stub).items():
            if inspect.isfunction(value) and key in vars(cls):
                assert _parameters_of(value) == _parameters_of(vars(cls)[key]), f"{cls.__name__}.{key}"


def _parameters_of(function: Any) -> list[tuple[str, Any, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in parameters]


@pytest.mark.parametrize("cls", IN_STUBS, ids=lambda cls: cls.__name__)
def test_signature_and_bases(cls: type[Any]) -> None:
    stub = _stub_of(cls)
    ours = [base.__name__ for base in stub.__mro__]
    theirs = [base.__name__ for base in cls.__mro__]
    assert ours == theirs
    if not cls.__name__.startswith("_Lazy"):
        assert _parameters_of(stub.__init__) == _parameters_of(cls.__init__)


@pytest.mark.parametrize("cls", IN_STUBS, ids=lambda cls: cls.__name__)
def test_signature_of_forward(cls: type[Any]) -> None:
    if "forward" not in vars(cls):
        return
    theirs = _parameters_of(vars(cls)["forward"])
    if any(kind is inspect.Parameter.VAR_POSITIONAL for _, kind, _ in theirs):
        return
    assert _parameters_of(_stub_of(cls).forward) == theirs


def _arguments() -> dict[str, list[tuple[Any, ...]]]:
    """Class name -> argument sets; a dict at the end of a set is its keywords."""
    table: dict[str, list[tuple[Any, ...]]] = {
        "Threshold": [(0.1, 2.0)],
        "Hardtanh": [(), (-2.0, 2.0), ({"min_value": -3, "max_value": 3},)],
        "MultiheadAttention": [
            (8, 2),
            (8, 2, {"bias": False, "batch_first": True}),
            (8, 2, {"add_bias_kv": True, "add_zero_attn": True, "dropout": 0.5}),
            (8, 2, {"kdim": 4}),
            (8, 2, {"vdim": 6, "dtype": torch.float64}),
            (8, 2, {"kdim": 8, "vdim": 8}),
        ],
        "PReLU": [(), (5,)],
        "AdaptiveLogSoftmaxWithLoss": [(8, 20, [5, 10]), (9, 30, (4, 7, 20), 2.0, True)],
        "Linear": [(3, 4), (3, 4, False), (0, 2), (3, 4, {"dtype": torch.float16})],
        "NonDynamicallyQuantizableLinear": [(3, 4)],
        "Bilinear": [(2, 3, 4), (2, 3, 4, False)],
        "LazyLinear": [(4,), (4, False)],
        "Identity": [(), (1, {"x": 2})],
        "Unflatten": [(1, (2, 3))],
        "Flatten": [(), (0,)],
        "Fold": [((4, 4), 2)],
        "Unfold": [(2,)],
        "LinearCrossEntropyLoss": [(4, 5), (4, 5, {"bias": True, "out_features": (2, 3)})],
        "LocalResponseNorm": [(2,)],
        "CrossMapLRN2d": [(2,)],
        "LayerNorm": [(4,), ((4, 5),), ([4],), (4, {"elementwise_affine": False}), (4, {"bias": False})],
        "RMSNorm": [(4,), ((4, 5),), (4, {"elementwise_affine": False})],
        "GroupNorm": [(2, 4), (2, 4, {"affine": False}), (2, 4, {"bias": False})],
        "PixelShuffle": [(2,)],
        "PixelUnshuffle": [(2,)],
        "ChannelShuffle": [(2,)],
        "RNNBase": [("LSTM", 2, 3), ("GRU", 2, 3)],
        "RNN": [(2, 3), (2, 3, 2, "relu"), (2, 3, {"nonlinearity": "relu", "bias": False})],
        "LSTM": [(2, 3), (2, 4, 2, {"bidirectional": True}), (2, 4, 2, {"proj_size": 3, "bidirectional": True})],
        "GRU": [(2, 3), (2, 3, 3, False, True), (2, 3, {"bidirectional": True})],
        "RNNCellBase": [(2, 3, True, 4), (2, 3, False, 2)],
        "RNNCell": [(2, 3), (2, 3, False, "relu")],
        "LSTMCell": [(2, 3)],
        "GRUCell": [(2, 3, {"bias": False})],
        "Embedding": [(3, 4), (3, 4, -1), (3, 4, 0), (3, 4, {"_freeze": True}), (3, 4, {"_weight": torch.ones(3, 4)})],
        "EmbeddingBag": [(3, 4), (3, 4, {"mode": "sum", "padding_idx": -1})],
        "TransformerEncoderLayer": [
            (8, 2),
            (8, 2, 16, 0.1, "gelu", {"bias": False}),
            (8, 2, {"activation": nn.Identity()}),
        ],
        "TransformerDecoderLayer": [(8, 2), (8, 2, 16, 0.1, "gelu", {"norm_first": True})],
        "Transformer": [
            (8, 2, 1, 2, 16),
            (8, 2, 1, 1, 16, {"batch_first": True}),
            (8, 2, 1, 1, 16, {"custom_encoder": nn.Identity()}),
        ],
        "FractionalMaxPool2d": [
            (2, (3, 3)),
            (2, {"output_ratio": 0.5}),
            (2, 3, {"_random_samples": torch.ones(1, 1, 2)}),
        ],
        "FractionalMaxPool3d": [(2, (3, 3, 3))],
        "Upsample": [(), ((2, 3),), (None, 2, "bilinear", True), (None, (2, 3))],
        "UpsamplingNearest2d": [(), (None, 2)],
        "UpsamplingBilinear2d": [(None, 2)],
        "SyncBatchNorm": [(4,)],
        "L1Loss": [(), (True,), (None, False)],
        "CrossEntropyLoss": [(), (torch.ones(3),), ({"label_smoothing": 0.1},)],
        "NLLLoss": [(torch.ones(3),)],
        "BCELoss": [(torch.ones(3),)],
        "BCEWithLogitsLoss": [(), ({"pos_weight": torch.ones(2)},)],
        "MultiMarginLoss": [(2, 0.5, torch.ones(2))],
        "TripletMarginWithDistanceLoss": [(), ({"distance_function": nn.CosineSimilarity()},)],
    }
    for dimensions in "123":
        n = int(dimensions)
        for lazy, channels in (("Lazy", (4,)), ("", (2, 4))):
            table[f"{lazy}Conv{n}d"] = [
                (*channels, 3),
                (*channels, (3,) * n, 1, "same", (2,) * n, {"bias": False}),
                (*channels, (3, 4, 5)[:n], (2,) * n, (1, 2, 3)[:n], {"padding_mode": "circular"}),
                (*channels, 4, {"padding": "same"}),
                (*channels, 4, {"padding": "valid"}),
            ]
            table[f"{lazy}ConvTranspose{n}d"] = [(*channels, 3), (*channels, 3, 2, 1, 1, 1 if lazy else 2, False)]
        table[f"Conv{n}d"].append((4, 8, 3, {"groups": 4}))
        for norm in ("BatchNorm", "InstanceNorm"):
            options: list[tuple[Any, ...]] = [
                ({},),
                ({"affine": False},),
                ({"affine": True, "track_running_stats": True},),
                ({"track_running_stats": False, "affine": True, "bias": False},),
            ]
            table[f"{norm}{n}d"] = [(4, *option) for option in options]
            table[f"Lazy{norm}{n}d"] = options
        for name in ("CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
            table[f"{name}{n}d"] = [(2,), (tuple(range(2 * n)),)]
        table[f"ConstantPad{n}d"] = [(2, 0.5)]
        for name in ("MaxPool", "AvgPool", "MaxUnpool"):
            table[f"{name}{n}d"] = [(2,), (3, 2, 1)]
        table[f"LPPool{n}d"] = [(2, 3), (2, 3, 2)]
        table[f"AdaptiveMaxPool{n}d"] = [(2,)]
        table[f"AdaptiveAvgPool{n}d"] = [((2, None, 3)[:n],)]
    return table


ARGUMENTS = _arguments()
ABSTRACT = {cls.__name__ for cls in IN_STUBS if cls.__name__.startswith("_")}
CASES = [
    (cls, arguments)
    for cls in IN_STUBS
    if cls.__name__ not in ABSTRACT | {"TransformerEncoder", "TransformerDecoder"}
    for arguments in ARGUMENTS.get(cls.__name__, [()])
]


def _make(cls: Any, arguments: tuple[Any, ...]) -> Any:
    keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
    return cls(*(arguments[:-1] if keywords or (arguments and arguments[-1] == {}) else arguments), **keywords)


def _tensor(tensor: Any) -> Any:
    if tensor is None:
        return None
    lazy = isinstance(tensor, nn.parameter.UninitializedTensorMixin)
    return (None if lazy else tuple(tensor.shape), tensor.dtype, tensor.requires_grad)


def _description(module: Any) -> Any:
    """All that the prediction reads of a built module, to be compared; children by class name."""
    return [
        (
            path,
            type(one).__name__,
            {name: _tensor(parameter) for name, parameter in one._parameters.items()},
            {name: _tensor(buffer) for name, buffer in one._buffers.items()},
            one._non_persistent_buffers_set,
            {name: value for name, value in vars(one).items() if not name.startswith("_") and _is_plain(value)},
        )
        for path, one in module.named_modules()
    ]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, str, tuple, list, type(None)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cls", "arguments"), CASES, ids=[cls.__name__ for cls, _ in CASES])
def test_constructed_alike(cls: type[Any], arguments: tuple[Any, ...]) -> None:
    stub, real = _make(_stub_of(cls), arguments), _make(cls, arguments)
    assert _description(stub) == _description(real)
    for name in ("_reversed_padding_repeated_twice", "_qkv_same_embed_dim"):
        if hasattr(real, name):
            assert tuple_of(getattr(stub, name)) == tuple_of(getattr(real, name))


def tuple_of(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["Encoder", "Decoder"])
def test_transformer_stacks(kind: str) -> None:
    def build(stack: Any, layer: Any) -> Any:
        return stack(layer(8, 2, 16), 3, nn.LayerNorm(8))

    real = build(getattr(nn, f"Transformer{kind}"), getattr(nn, f"Transformer{kind}Layer"))
    stubs = _execute("transformer")
    ours = _description(build(getattr(stubs, f"Transformer{kind}"), getattr(stubs, f"Transformer{kind}Layer")))
    assert ours == _description(real)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Conv2d", (3, 4, 3, {"groups": 2})),
        ("Conv2d", (4, 4, 3, {"stride": 2, "padding": "same"})),
        ("Conv2d", (4, 4, 3, {"padding": "full"})),
        ("Conv2d", (4, 4, 3, {"padding_mode": "mirror"})),
        ("ConvTranspose2d", (4, 4, 3, {"padding_mode": "circular"})),
        ("GroupNorm", (3, 4)),
        ("Dropout", (1.5,)),
        ("LSTM", (2, 3, {"proj_size": 3})),
        ("GRU", (2, 3, {"proj_size": 1})),
        ("RNN", (2, 3, {"nonlinearity": "gelu"})),
        ("LSTM", (2.0, 3)),
        ("LSTM", (2, 0)),
        ("LSTM", (2, 3, 1, 1)),
        ("MultiheadAttention", (8, 3)),
        ("MultiheadAttention", (0, 1)),
        ("Embedding", (3, 4, 3)),
        ("Embedding", (3, 4, {"_weight": torch.ones(4, 3)})),
        ("AdaptiveLogSoftmaxWithLoss", (8, 20, [10, 5])),
        ("AdaptiveLogSoftmaxWithLoss", (8, 20, [])),
        ("FractionalMaxPool2d", (2,)),
        ("FractionalMaxPool2d", (2, 2, 0.5)),
        ("TripletMarginLoss", (0,)),
        ("Hardtanh", (1, 1)),
        ("MultiMarginLoss", (3,)),
    ],
)
def test_what_torch_refuses_the_stub_refuses(name: str, arguments: tuple[Any, ...]) -> None:
    real = getattr(nn, name)
    for cls in (real, _stub_of(real)):
        with pytest.raises((ValueError, TypeError, AssertionError, NotImplementedError)) as caught:
            _make(cls, arguments)
        if cls is real:
            expected = caught.type
    assert caught.type is expected
