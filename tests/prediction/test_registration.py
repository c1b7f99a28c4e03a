"""What assignment, deletion and the register methods do, against the installed torch; MODULE_FACTS, "Registration"."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

Agrees = Callable[[str], Graph]
Predict = Callable[..., Graph]


def net(body: str, before: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in inspect.cleandoc(body).splitlines())
    return f"{inspect.cleandoc(before)}\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n"


BODIES = {
    "order is that of first registration": """
        self.b = nn.ReLU()
        self.a = nn.Linear(2, 3)
        self.b = nn.GELU()
        """,
    "None keeps the slot": """
        self.a = nn.ReLU()
        self.b = nn.ReLU()
        self.a = None
        """,
    "None first is an attribute, a module later is at the end": """
        self.a = None
        self.b = nn.ReLU()
        self.a = nn.ReLU()
        """,
    "del and assign anew moves to the end": """
        self.a = nn.ReLU()
        self.b = nn.ReLU()
        del self.a
        self.a = nn.GELU()
        """,
    "parameter over module": """
        self.a = nn.ReLU()
        self.a = nn.Parameter(torch.zeros(2))
        """,
    "module over plain attribute": """
        self.a = 3
        self.a = nn.ReLU()
        """,
    "module over buffer": """
        self.register_buffer("a", torch.zeros(2), persistent=False)
        self.a = nn.ReLU()
        """,
    "None over parameter": """
        self.a = nn.Parameter(torch.zeros(2))
        self.a = None
        self.b = nn.Parameter(torch.zeros(2, 3))
        """,
    "tensor over buffer": """
        self.register_buffer("a", torch.zeros(2), persistent=False)
        self.a = torch.ones(3, 4)
        self.register_buffer("b", None)
        self.b = torch.ones(3, dtype=torch.int32)
        """,
    "buffer by assignment": """
        self.a = nn.Buffer(torch.zeros(2))
        self.b = nn.Buffer(torch.zeros(3), persistent=False)
        """,
    "buffer registered twice": """
        self.register_buffer("a", torch.zeros(2), persistent=False)
        self.register_buffer("a", torch.zeros(3))
        """,
    "plain tensor is nothing": """
        self.a = torch.zeros(2)
        self.b = nn.Parameter(torch.zeros(2)).data
        """,
    "parameter frozen": """
        self.a = nn.Parameter(torch.zeros(2), requires_grad=False)
        self.b = nn.Linear(2, 2)
        self.b.weight.requires_grad = False
        self.c = nn.Linear(2, 2)
        self.c.bias.requires_grad_(False)
        self.d = nn.Linear(2, 2).requires_grad_(False)
        """,
    "freezing in a loop": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        for p in self.a.parameters():
            p.requires_grad = False
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                p.requires_grad_(True)
        """,
    "add_module, register_module, setattr": """
        for i in range(2):
            self.add_module(f"conv{i}", nn.Conv2d(1, 1, i + 1))
            setattr(self, "act%d" % i, nn.ReLU())
        self.register_module("last", nn.Identity())
        self.add_module("empty", None)
        self.register_parameter("p", nn.Parameter(torch.zeros(3)))
        self.register_parameter("q", None)
        """,
    "through the store": """
        self._modules["a"] = nn.ReLU()
        self._modules["b"] = nn.Linear(1, 1)
        del self._modules["a"]
        self._parameters["p"] = nn.Parameter(torch.zeros(2))
        self._buffers["c"] = torch.zeros(2)
        self._modules.update({"x": nn.ReLU(), "y": None})
        """,
    "children read back from the store": """
        self.a = nn.ReLU()
        self.b = nn.GELU()
        self.names = nn.ModuleDict({f"{k}_": type(m)() for k, m in self._modules.items()})
        self.n = nn.Linear(len(self._modules), 1)
        """,
    "object.__setattr__ bypasses": """
        object.__setattr__(self, "a", nn.ReLU())
        """,
    "__dict__ bypasses": """
        self.__dict__["a"] = nn.ReLU()
        vars(self)["b"] = nn.Linear(2, 2)
        """,
    "second super().__init__() empties the stores": """
        self.a = nn.ReLU()
        self.register_buffer("b", torch.zeros(2))
        self.n = 3
        super().__init__()
        self.c = nn.Linear(self.n, 1)
        """,
    "the same instance under two names": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.b = self.a
        self.c = nn.Linear(2, 2)
        self.c.weight = self.a[0].weight
        """,
    "tied parameter": """
        self.embed = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight
        """,
    "list multiplication shares, comprehension does not": """
        self.a = nn.Sequential(*[nn.Linear(2, 2)] * 3)
        self.b = nn.Sequential(*[nn.Linear(2, 2) for _ in range(3)])
        """,
    "deepcopy is another tree with the same sharing inside": """
        import copy
        shared = nn.Linear(2, 2)
        self.a = nn.Sequential(shared, nn.ReLU(), shared)
        self.b = copy.deepcopy(self.a)
        self.c = copy.deepcopy(self.a[0])
        """,
    "self-reference": """
        self.a = nn.Linear(1, 1)
        self.a.inner = nn.ReLU()
        self.a.inner.outer = self.a
        """,
    "hidden in containers": """
        self.blocks = [nn.Linear(2, 2), nn.ReLU()]
        self.heads = {"a": nn.Linear(3, 3), 5: nn.Sequential(nn.ReLU())}
        self.pair = (nn.GELU(), [nn.Tanh()])
        """,
    "hidden in partial and closure": """
        from functools import partial
        inner = nn.Linear(2, 2)
        self.fn = partial(torch.add, other=nn.Linear(4, 4))
        self.call = lambda x: inner(x)
        """,
    "hidden list appended after assignment": """
        self.blocks = []
        for i in range(3):
            self.blocks.append(nn.Linear(i + 1, 2))
        """,
    "a list of what is registered hides nothing": """
        self.a = nn.Linear(1, 1)
        self.all = [self.a]
        """,
    "modes and conversions": """
        self.a = nn.Linear(2, 2).half()
        self.b = nn.Linear(2, 2).to(torch.float64).eval()
        self.c = nn.BatchNorm1d(2).to(dtype=torch.bfloat16)
        self.d = nn.Linear(2, 2).train(False).cpu().float()
        self.to("cpu")
        """,
    "apply": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
        def freeze(m):
            if isinstance(m, nn.Linear):
                m.bias = None
        self.apply(freeze)
        """,
    "get_submodule": """
        self.a = nn.Sequential(nn.Sequential(nn.Linear(2, 5)))
        self.b = nn.Linear(self.get_submodule("a.0.0").out_features, 1)
        self.p = self.get_parameter("a.0.0.weight")
        self.set_submodule("a.0.0", nn.ReLU())
        """,
    "iterating children, named_children, modules": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.b = nn.Linear(3, 3)
        self.n = nn.Linear(len(list(self.children())), len(list(self.modules())))
        for name, child in list(self.named_children()):
            if isinstance(child, nn.Linear):
                setattr(self, name, nn.Sequential(child, nn.ReLU()))
        """,
    "replacing layers recursively": """
        def swap(module):
            for name, child in module.named_children():
                if isinstance(child, nn.ReLU):
                    setattr(module, name, nn.GELU())
                else:
                    swap(child)
        self.a = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)), nn.ReLU())
        swap(self)
        """,
    "names with dots through setattr": """
        setattr(self, "a.b", nn.Linear(1, 1))
        """,
    "hasattr, getattr, delattr on registered names": """
        self.a = nn.Linear(1, 1)
        self.register_buffer("b", None)
        if hasattr(self, "a") and hasattr(self, "b") and not hasattr(self, "c"):
            self.d = getattr(self, "a", None)
        delattr(self, "a")
        self.e = nn.Linear(2, 2) if getattr(self, "a", None) is None else None
        """,
    "hooks register nothing": """
        self.a = nn.Linear(1, 1)
        self.handle = self.a.register_forward_hook(lambda m, i, o: None)
        self._register_load_state_dict_pre_hook(lambda *a: None)
        """,
    "lazy": """
        self.a = nn.LazyLinear(3)
        self.b = nn.LazyConv2d(4, 3, bias=False)
        self.c = nn.LazyBatchNorm2d()
        """,
    "old weight_norm and spectral_norm": """
        self.a = nn.utils.weight_norm(nn.Conv1d(2, 4, 3))
        self.b = nn.utils.weight_norm(nn.Linear(2, 4), dim=None)
        self.c = nn.utils.spectral_norm(nn.Conv2d(2, 4, 3))
        self.d = nn.utils.spectral_norm(nn.ConvTranspose2d(2, 4, 3))
        self.e = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 4)))
        """,
    "initialisation": """
        self.a = nn.Linear(2, 2)
        nn.init.xavier_uniform_(self.a.weight)
        nn.init.constant_(self.a.bias, 0.0)
        with torch.no_grad():
            self.a.weight.fill_(1.0)
        self.p = nn.Parameter(nn.init.normal_(torch.empty(3, 4), std=0.02))
        self.a.weight.data.normal_(0, 1)
        """,
    "bare module as a namespace": """
        self.a = nn.Module()
        self.a.b = nn.Linear(1, 2)
        self.a.p = nn.Parameter(torch.zeros(1))
        """,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_agrees_with_torch(agrees: Agrees, body: str) -> None:
    agrees(net(body))


CLASSES = {
    "cooperative inheritance": """
        class A(nn.Module):
            def __init__(self, n, **kwargs):
                super().__init__(**kwargs)
                self.a = nn.Linear(n, n)

        class B(nn.Module):
            def __init__(self, m):
                super().__init__()
                self.b = nn.Linear(m, m)

        class Net(A, B):
            def __init__(self):
                super().__init__(2, m=3)
                self.c = nn.ReLU()
        """,
    "call_super_init reaches the next class": """
        class Mixin:
            def __init__(self, m=3):
                self.width = m

        class Net(nn.Module, Mixin):
            call_super_init = True
            def __init__(self):
                super().__init__(m=5)
                self.fc = nn.Linear(self.width, 1)
        """,
    "no __init__ of its own": """
        class Base(nn.Module):
            def __init__(self, n=4):
                super().__init__()
                self.fc = nn.Linear(n, n)

        class Net(Base):
            pass
        """,
    "a property with a setter keeps what it is given": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.width = 3
                self.fc = nn.Linear(self._width, 1)

            @property
            def width(self):
                return self._width

            @width.setter
            def width(self, value):
                self._width = 2 * value
        """,
    "a __setattr__ of its own": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(1, 1)

            def __setattr__(self, name, value):
                if isinstance(value, nn.Linear):
                    name = name + "_wrapped"
                super().__setattr__(name, value)
        """,
    "modules on the class": """
        class Net(nn.Module):
            act = nn.ReLU()
            layers = [nn.Linear(1, 1)]

            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)
        """,
    "a plain object that holds modules": """
        class Holder:
            def __init__(self):
                self.inner = nn.Linear(3, 3)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.holder = Holder()
                self.config = {"holders": [Holder()]}
        """,
    "register_buffer overridden": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("a", torch.zeros(2))

            def register_buffer(self, name, tensor, persistent=True):
                super().register_buffer("my_" + name, tensor, persistent=False)
        """,
    "train overridden": """
        class Frozen(nn.Linear):
            def train(self, mode=True):
                super().train(mode)
                self.extra = nn.ReLU()
                return self

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Sequential(Frozen(1, 1))
                self.eval()
        """,
    "a subclass of Parameter's data": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                table = torch.zeros(5, 4)
                table[:, 0::2] = torch.sin(torch.arange(5).unsqueeze(1) * torch.ones(2))
                self.register_buffer("table", table.unsqueeze(0))
                self.p = nn.Parameter(torch.randn(1, 5, 4) * 0.02)
        """,
}


@pytest.mark.parametrize("text", CLASSES.values(), ids=CLASSES.keys())
def test_classes_agree_with_torch(agrees: Agrees, text: str) -> None:
    agrees(inspect.cleandoc(text) + "\n")


REFUSED = {
    "module before super().__init__()": ("self.a = nn.ReLU()\nsuper().__init__()", "AttributeError"),
    "parameter before super().__init__()": ("self.a = nn.Parameter(torch.zeros(1))", "AttributeError"),
    "buffer before super().__init__()": ("self.register_buffer('a', torch.zeros(1))", "AttributeError"),
    "int over module": ("super().__init__()\nself.a = nn.ReLU()\nself.a = 3", "TypeError"),
    "tensor over parameter": (
        "super().__init__()\nself.a = nn.Parameter(torch.zeros(1))\nself.a = torch.ones(1)",
        "TypeError",
    ),
    "module over parameter": (
        "super().__init__()\nself.a = nn.Parameter(torch.zeros(1))\nself.a = nn.ReLU()",
        "TypeError",
    ),
    "list over buffer": ("super().__init__()\nself.register_buffer('a', None)\nself.a = [1]", "TypeError"),
    "dot in a name": ("super().__init__()\nself.add_module('a.b', nn.ReLU())", "KeyError"),
    "empty name": ("super().__init__()\nself.add_module('', nn.ReLU())", "KeyError"),
    "name taken": ("super().__init__()\nself.a = 3\nself.add_module('a', nn.ReLU())", "KeyError"),
    "name of a method": ("super().__init__()\nself.register_buffer('forward', None)", "KeyError"),
    "parameter named like a class attribute": (
        "super().__init__()\nself.training_step = 1\nself.register_parameter('training_step', None)",
        "KeyError",
    ),
    "not a module": ("super().__init__()\nself.add_module('a', 3)", "TypeError"),
    "not a parameter": ("super().__init__()\nself.register_parameter('a', torch.zeros(1))", "TypeError"),
    "not a tensor": ("super().__init__()\nself.register_buffer('a', 1.0)", "TypeError"),
    "name not a str": ("super().__init__()\nself.add_module(1, nn.ReLU())", "TypeError"),
    "del of nothing": ("super().__init__()\ndel self.a", "AttributeError"),
    "submodule that is none": ("super().__init__()\nself.get_submodule('a.b')", "AttributeError"),
    "arguments to Module": ("super().__init__(3)", "TypeError"),
}


@pytest.mark.parametrize(("body", "error"), REFUSED.values(), ids=REFUSED.keys())
def test_what_torch_refuses_ends_the_prediction_there(predict_source: Predict, body: str, error: str) -> None:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"class Net(nn.Module):\n    def __init__(self):\n{lines}\n        self.after = nn.ReLU()\n"
    namespace: dict[str, object] = {}
    exec("import torch\nfrom torch import nn\n" + text, namespace)
    with pytest.raises(Exception) as caught:  # noqa: PT011  its class is what is compared
        namespace["Net"]()  # type: ignore[operator]
    assert caught.type.__name__ == error
    graph = predict_source(text)
    assert "after" not in [node.path for node in graph.modules]
    assert [problem.message for problem in graph.problems if f"raises {error}" in problem.message]


def test_plain_value_before_super_init_is_kept(predict_source: Predict) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self):
                self.width = 3
                super().__init__()
                self.fc = nn.Linear(self.width, 1)
        """)
    assert [(node.path, node.arguments) for node in graph.modules][1:] == [
        ("fc", {"in_features": 3, "out_features": 1})
    ]


# ---- not known -------------------------------------------------------------------------------------------------------


def test_unknown_value_may_be_a_child(predict_source: Predict) -> None:
    graph = predict_source("""
        import somewhere

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU()
                self.encoder = somewhere.make()
                self.b = nn.ReLU()
        """)
    assert [node.path for node in graph.modules] == ["", "a", "encoder", "b"]
    assert [problem.line for problem in graph.problems] == [11]
    assert "'encoder'" in graph.problems[0].message


def test_unknown_number_is_no_child(predict_source: Predict) -> None:
    graph = predict_source("""
        import os

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rate = float(os.environ.get("RATE", 0))
                self.name = os.environ["NAME"]
                self.fc = nn.Linear(1, 1)
        """)
    assert [node.path for node in graph.modules] == ["", "fc"]
    assert graph.problems == ()


def test_unknown_over_a_child_stays_at_its_place(predict_source: Predict) -> None:
    graph = predict_source("""
        import somewhere

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU()
                self.b = nn.ReLU()
                self.a = somewhere.make()
        """)
    assert [(node.path, node.class_name) for node in graph.modules][1:] == [
        ("a", None),
        ("b", "torch.nn.modules.activation.ReLU"),
    ]


def test_unknown_name_is_one_wildcard(predict_source: Predict) -> None:
    graph = predict_source("""
        import os

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU()
                for name in os.listdir("."):
                    self.add_module(name, nn.Linear(1, 1))
        """)
    assert [node.path for node in graph.modules] == ["", "a", "?"]
    assert graph.model.parameters is None


def test_unknown_size_is_null_in_the_shape(predict_source: Predict) -> None:
    graph = predict_source("""
        import os

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(int(os.environ["N"]), 10)
        """)
    (fc,) = graph.modules[1:]
    assert [(p.name, p.shape) for p in fc.parameters] == [("weight", (10, None)), ("bias", (10,))]
    assert [(problem.module, problem.stage) for problem in graph.open_places] == [("fc", "predict")]


def test_parametrisation_is_not_known_without_torch(predict_source: Predict) -> None:
    text = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.utils.parametrizations.weight_norm(nn.Linear(1, 1))
                self.b = nn.ReLU()
        """
    graph = predict_source(text, with_torch=False)
    assert [(node.path, node.class_name) for node in graph.modules][1:] == [
        ("a", None),
        ("a.?", None),
        ("b", "torch.nn.modules.activation.ReLU"),
    ]


def test_what_is_computed_from_an_unknown_is_a_number(predict_source: Predict) -> None:
    graph = predict_source("""
        import somewhere

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                width = somewhere.width()
                self.half = width // 2
                self.scale = width**-0.5
                self.label = f"{width}"
                self.is_wide = width > 8
                self.next = width + 1
                self.fc = nn.Linear(width, 1)
        """)
    assert [node.path for node in graph.modules] == ["", "fc"]


@pytest.mark.parametrize("with_torch", [True, False])
def test_unknown_option_of_a_layer_opens_nothing(predict_source: Predict, with_torch: bool) -> None:
    text = """
        import somewhere

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                x = somewhere.option()
                self.a = nn.Conv2d(x, 8, 3)
                self.b = nn.Dropout(x)
                self.c = nn.LayerNorm(8, eps=x)
                self.d = nn.Embedding(10, 4, padding_idx=x)
                self.e = nn.BatchNorm2d(x)
        """
    graph = predict_source(text, with_torch=with_torch)
    assert [node.path for node in graph.modules] == ["", "a", "b", "c", "d", "e"]
    assert graph.modules[1].parameters[0].shape == (8, None, 3, 3)


def test_without_torch_a_plain_module_saves_what_it_registers(predict_source: Callable[..., Graph]) -> None:
    text = """
    class Own(nn.Module):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            pass

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(1, 2)
            self.own = Own()
    """
    for with_torch in (True, False):
        graph = predict_source(text, with_torch=with_torch)
        assert [node.path for node in graph.modules if node.own_state_dict] == ["own"]


@pytest.mark.parametrize(
    "statement",
    [
        "self._modules.update(b=nn.Tanh())",
        "self._modules.update()",
        "self._modules.update({'a': nn.ReLU()}, b=nn.Tanh())",
        "self._modules.update([('a', nn.ReLU())])",
        "self._modules.update({}, {})",
        "self._modules.update([('a',)])",
        "self._modules.setdefault('a', nn.ReLU())",
        "self._modules.setdefault()",
        "self._modules.pop()",
        "self._modules.pop('a')",
        "self._modules.pop('a', None)",
        "self._modules.get()",
        "self._modules.clear(1)",
        "self._modules.__setitem__('a')",
        "self._modules.__getitem__()",
        "self.a = self._modules.update(b=nn.Tanh())",
    ],
)
def test_stores_are_called_as_a_dict_is(predict_source: Predict, agrees: Agrees, statement: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"from torch import nn\n{net(statement)}", namespace)
    refused = ""
    try:
        namespace["Net"]()
    except (TypeError, ValueError, KeyError) as error:
        refused = f"raises {type(error).__name__}"
    if not refused:
        agrees(net(statement))
    else:
        assert [refused in problem.message for problem in predict_source(net(statement)).problems] == [True]
