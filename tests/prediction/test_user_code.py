"""What users write around their models: each case once was predicted wrongly, or blamed on the user's code."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

Predict = Callable[..., Graph]


def net(body: str, before: str = "") -> str:
    head = "\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return textwrap.dedent(before) + head + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"


ENUM = "import enum\n"
CLASSES = {
    "a metaclass that finishes what it makes": """
        class Meta(type):
            def __call__(cls, *args, **kwargs):
                made = super().__call__(*args, **kwargs)
                made.post()
                return made
        class Net(nn.Module, metaclass=Meta):
            def post(self):
                self.b = nn.Linear(1, 1)
        """,
    "an inherited metaclass that makes the instance by hand": """
        class Meta(type):
            def __call__(cls, *args):
                made = cls.__new__(cls)
                made.__init__(*args)
                made.last = nn.Linear(3, 3)
                return made
        class Base(nn.Module, metaclass=Meta):
            pass
        class Net(Base):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(2, 2)
        """,
    "__new__ that makes an instance of a subclass": """
        class Net(nn.Module):
            def __new__(cls, k=1):
                return super().__new__(Deep if cls is Net and k > 0 else cls)
            def __init__(self, k=1):
                super().__init__()
                self.a = nn.Linear(1, 1)
        class Deep(Net):
            def __init__(self, k=1):
                super().__init__(k)
                self.b = nn.Linear(k, 7)
        """,
    "__class_getitem__ that makes a class": """
        class Sized(nn.Module):
            width = 1
            def __class_getitem__(cls, width):
                return type(f"Sized{width}", (cls,), {"width": width})
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.width, 1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = Sized[5](), Sized()
        """,
    "aliases of an Enum": ENUM
    + net(
        """
        self.a = nn.Linear(len(Kind), len(Kind.__members__))
        self.b = nn.ModuleDict({kind.name: nn.Linear(kind.value, 1) for kind in Kind})
        self.c = nn.Linear(len(Kind.THIRD.name), 1 + (Kind.SECOND is Kind.THIRD))
        """,
        "class Kind(enum.Enum):\n    FIRST = 1\n    SECOND = 2\n    THIRD = 2\n",
    ),
    "an Enum on one line": ENUM
    + net("self.a = nn.Linear(len(Kind), Kind['B'].value + len(list(Kind)))", "class Kind(enum.Enum): A = 1; B = 2\n"),
    "numbers of an IntEnum": ENUM
    + net(
        "self.a = nn.Linear(Size.L, max(Size))\nself.b = nn.Linear(sum(Size), sorted(Size)[0])",
        "class Size(enum.IntEnum):\n    S = 3\n    L = 4\n",
    ),
    "flags": ENUM
    + net(
        """
        self.a = nn.Linear((Flag.A | Flag.C).value, len(Flag))
        self.b = nn.Linear(Flag.AB.value, 1 + (Flag.A in Flag.AB) + bool(Flag.A & Flag.B))
        self.c = nn.Linear((~Flag.A).value, (Mask.X | Mask.Y).value)
        self.d = nn.Linear(Mask.X | Mask.Y, (Mask.X | 2) + 0)
        """,
        """
        class Flag(enum.Flag):
            A = enum.auto()
            B = enum.auto()
            C = enum.auto()
            AB = A | B
        class Mask(enum.IntFlag):
            X = 1
            Y = 4
        """,
    ),
    "values that an Enum makes itself": ENUM
    + net(
        """
        self.a = nn.Linear(Plain.D.value, len(Plain))
        self.b = nn.Linear(len(Text.LONG), Named.ABC.value)
        self.c = nn.Linear(len(Called), Called.B.value)
        """,
        """
        class Plain(enum.Enum):
            A = enum.auto()
            C = 10
            D = enum.auto()
        class Text(str, enum.Enum):
            LONG = "yy"
        class Named(enum.Enum):
            def _generate_next_value_(name, start, count, last_values):
                return len(name) + 3
            ABC = enum.auto()
        Called = enum.Enum("Called", "A B C")
        """,
    ),
    "sets and dicts of objects with a hash of their own": net(
        """
        seen = {Key(), Key()}
        seen.add(Key(2))
        self.a = nn.Linear(len(seen), len(set([Key(1), Key(2), Key(1)])))
        self.b = nn.Linear({Key(): 1, Key(): 2}[Key()], len(seen | {Key(), Key(5)}))
        self.c = nn.Linear(len(seen - {Key(2)}), len({1, True, 1.0, 2}))
        """,
        """
        class Key:
            def __init__(self, value=1):
                self.value = value
            def __hash__(self):
                return 3
            def __eq__(self, other):
                return self.value == other.value
        """,
    ),
    "what a global statement assigned, through globals()": net(
        "setup()\nself.a = nn.Linear(globals().get('MADE', 4), 1)\nglobals()['LATER'] = 5\nself.b = nn.Linear(LATER, 1)",
        "def setup():\n    global MADE\n    MADE = 6\n",
    ),
    "the code and defaults of a function": net(
        "self.a = nn.Linear(f.__code__.co_argcount, len(f.__code__.co_varnames))\nself.b = nn.Linear(len(f.__defaults__), 1)",
        "def f(a, b, c=3):\n    pass\n",
    ),
    "YAML in the source": "import yaml\n"
    + net(
        """
        self.a = nn.Linear(CONFIG["hidden"], 8, bias=CONFIG["use_bias"])
        self.b = nn.ModuleList([nn.Linear(n, 1) for n in CONFIG["layers"]])
        self.c = nn.Linear(yaml.load("n: 0x10", Loader=yaml.SafeLoader)["n"], 1)
        """,
        'CONFIG = yaml.safe_load("hidden: 8\\nuse_bias: off\\nlayers: [8, 16]\\n")\n',
    ),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", CLASSES.values(), ids=CLASSES.keys())
def test_as_torch_makes_it(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(text)


@pytest.mark.needs_torch
def test_parametrisations_have_the_shapes_that_torch_gives_them(
    predict_source: Predict, described: Callable[[Any], list[tuple[Any, ...]]]
) -> None:
    import torch
    from torch import nn

    from modgraph.tracing.recording.tree import Tree

    text = net(
        """
        self.a = P.spectral_norm(nn.Linear(3, 4))
        self.b = P.spectral_norm(nn.ConvTranspose2d(3, 8, 3))
        self.c = P.weight_norm(nn.Conv2d(3, 4, 3))
        self.d = P.orthogonal(nn.Linear(3, 5))
        self.e = P.orthogonal(nn.Linear(3, 3), orthogonal_map="householder", use_trivialization=False)
        """,
        "import torch.nn.utils.parametrizations as P\n",
    )
    graph = predict_source(text)
    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "__name__": "net"}
    exec(text, namespace)
    live: Any = type("Nodes", (), {"modules": Tree(namespace["Net"]()).nodes})()
    assert graph.complete
    assert described(graph) == described(live)


def test_a_file_is_not_read(predict_source: Predict) -> None:
    body = 'with open("a.yaml") as file:\n    self.a = nn.Linear(yaml.safe_load(file)["d"], 1)'
    graph = predict_source("import yaml\n" + net(body))
    (problem,) = graph.problems
    assert problem.message == "the shape of parameter 'weight' of 'a' is not known: depends on open()"


@pytest.mark.parametrize(
    ("parameters", "call", "message"),
    [
        ("a=1, *, k=2, **rest", "f(4, 5)", "takes from 0 to 1 positional arguments but 2 were given"),
        ("a, b", "f(1, 2, 3)", "takes 2 positional arguments but 3 were given"),
        (
            "a, *, k",
            "f(1, 2, k=3)",
            "positional argument but 2 positional arguments (and 1 keyword-only argument) were",
        ),
        ("", "f(1)", "takes 0 positional arguments but 1 was given"),
    ],
)
def test_too_many_arguments_in_pythons_words(predict_source: Predict, parameters: str, call: str, message: str) -> None:
    before = f"def f({parameters}):\n    return 1\n"
    namespace: dict[str, Any] = {}
    exec(before, namespace)
    with pytest.raises(TypeError) as raised:
        eval(call, namespace)
    assert message in str(raised.value)
    (problem,) = predict_source(net(f"self.a = nn.Linear({call}, 1)", before)).problems
    assert problem.message.endswith(f"raises TypeError: {raised.value}")


def test_the_reason_why_a_shape_is_not_known_is_given(predict_source: Predict) -> None:
    body = (
        "n = random.randint(1, 5)\nself.a = nn.Linear(n, 3)\nself.p = nn.Parameter(torch.zeros(2, n))\n"
        "self.register_buffer('x', torch.zeros(n))\nself.register_buffer('y', torch.ones(n))"
    )
    (problem,) = predict_source("import random\n" + net(body)).problems
    assert problem.headline == "what random.randint gives is known only when it runs; 3 places depend on it"
    assert sorted(place.message for place in problem.places) == [
        "the shape of parameter 'p' of the model is not known",
        "the shape of parameter 'weight' of 'a' is not known",
        "the shapes of buffers 'x', 'y' of the model are not known",
    ]


def test_an_argument_that_is_not_given_is_said_with_the_signature(predict_source: Predict) -> None:
    text = """
        class Net(nn.Module):
            def __init__(self, width, depth=3, *, bias):
                super().__init__()
                self.a = nn.Linear(width, depth)
        """
    (problem,) = predict_source(text).problems
    assert problem.message.endswith("argument 'width' is not given: Net(width, depth=3, *, bias)")


def test_children_that_are_not_known_keep_their_names(predict_source: Predict) -> None:
    graph = predict_source(
        "import somewhere\n" + net("self.a = somewhere.A()\nself.b = nn.ReLU()\nself.c = somewhere.C()")
    )
    assert [(node.path, node.class_name is None) for node in graph.modules[1:]] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
