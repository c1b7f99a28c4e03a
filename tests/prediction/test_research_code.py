"""Python as research code uses it around a model: each construct in its general form, with torch itself as the judge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

PREDICTED_AS_BUILT = {
    "a context manager runs its exit, and may swallow what is raised": """
        class Scope:
            def __init__(self, module):
                self.module = module
            def __enter__(self):
                self.module.inside = True
                return self
            def __exit__(self, kind, error, trace):
                self.module.inside = False
                self.module.left = nn.ReLU() if kind is ValueError else nn.Tanh()
                return True
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                with Scope(self) as scope:
                    self.a = nn.Linear(1, 1) if scope.module.inside else None
                    raise ValueError("swallowed")
                self.b = None if self.inside else nn.GELU()
        """,
    "a generator under contextmanager runs around the block": """
        from contextlib import contextmanager, nullcontext, suppress
        @contextmanager
        def dtype(wanted):
            before = torch.get_default_dtype()
            torch.set_default_dtype(wanted)
            try:
                yield wanted
            finally:
                torch.set_default_dtype(before)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                with dtype(torch.float16), nullcontext(3) as size:
                    self.half = nn.Linear(size, size)
                self.full = nn.Linear(2, 2)
                with suppress(KeyError, IndexError):
                    [][0]
                    self.never = nn.ReLU()
                for index in range(3):
                    with nullcontext():
                        if index == 1:
                            break
                        self.first = nn.Tanh()
        """,
    "a comprehension in the body of a class does not see its names": """
        size = 3
        class Net(nn.Module):
            size = 5
            sizes = [size for _ in range(2)]
            first = [each for each in range(size)]
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.sizes[0], len(self.first))
        """,
    "a metaclass answers isinstance and issubclass": """
        class Meta(type):
            def __instancecheck__(cls, value):
                return hasattr(value, "weight") or super().__instancecheck__(value)
            def __subclasscheck__(cls, other):
                return other.__name__.startswith("Lin") or super().__subclasscheck__(other)
        class Weighted(metaclass=Meta): pass
        class Other(Weighted): pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU() if isinstance(nn.Linear(1, 1), Weighted) else None
                self.b = nn.ReLU() if isinstance(nn.ReLU(), Weighted) else None
                self.c = nn.ReLU() if isinstance(Other(), Weighted) and issubclass(nn.Linear, Weighted) else None
                self.d = nn.ReLU() if issubclass(nn.ReLU, Weighted) else None
        """,
    "a method that is bound by hand": """
        import types
        def build(self, size):
            self.b = nn.Linear(size, 1)
            return self
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU()
                self.build = types.MethodType(build, self)
                self.build(3).forward = types.MethodType(lambda self, x: x, self)
        """,
    "texts that are laid out, and taken apart like a command": """
        import argparse, inspect, json, shlex, string, textwrap
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = json.loads(textwrap.dedent('''
                    {"a": 2}'''))
                base = argparse.ArgumentParser(add_help=False)
                base.add_argument("--width", type=int, default=1)
                base.set_defaults(depth=2)
                parser = argparse.ArgumentParser(parents=[base])
                args = parser.parse_args(shlex.split("--width 7"))
                self.a = nn.Linear(sizes["a"], args.width)
                self.b = nn.Linear(args.depth, len(inspect.cleandoc("  xy ")))
                self.c = nn.ModuleDict({string.ascii_lowercase[at]: nn.ReLU() for at in range(2)})
        """,
    "type(x) is functools.partial": """
        import functools
        class Net(nn.Module):
            def __init__(self, norm=functools.partial(nn.InstanceNorm2d, affine=False)):
                super().__init__()
                bias = norm.func == nn.InstanceNorm2d if type(norm) == functools.partial else False
                self.conv = nn.Conv2d(1, 2, 3, bias=bias)
        """,
    "a protocol is what has its methods and attributes": """
        from typing import Protocol, runtime_checkable
        @runtime_checkable
        class Builds(Protocol):
            width: int
            def build(self): ...
        class Maker:
            width = 2
            def build(self):
                return nn.Linear(self.width, 1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = Maker().build() if isinstance(Maker(), Builds) else None
                self.b = nn.ReLU() if not isinstance(self, Builds) else None
        """,
    "a metaclass changes, registers and numbers its classes": """
        class Meta(type):
            def __new__(mcs, name, bases, namespace, **options):
                layers = {key: value for key, value in namespace.items() if isinstance(value, tuple)}
                namespace["layers"] = layers
                return super().__new__(mcs, name, bases, namespace)
            def __init__(cls, name, bases, namespace):
                super().__init__(name, bases, namespace)
                cls.tag = name.lower()
            def __call__(cls, *args, **options):
                made = super().__call__(*args, **options)
                made.after()
                return made
            def __len__(cls):
                return len(cls.layers)
        class Base(nn.Module, metaclass=Meta):
            def __init__(self):
                super().__init__()
                for name, sizes in self.layers.items():
                    setattr(self, "made_" + name, nn.Linear(*sizes))
            def after(self):
                self.last = nn.ReLU()
        class Small(Base):
            one = (1, 2)
            two = (2, 3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.small = Small()
                self.add_module(Small.tag, nn.Linear(len(Small), 1))
                self.kind = nn.Tanh() if type(Small) is Meta and isinstance(Small, Meta) else None
        """,
    "a loop over an iterator shares it with its body": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = iter([1, 2, 3, 4])
                for size in sizes:
                    self.add_module(f"l{size}", nn.Linear(size, next(sizes)))
                rest = iter([5, 6, 7])
                for size in rest:
                    break
                self.rest = nn.ModuleList(nn.Linear(size, 1) for size in rest)
        """,
    "a generator without an end": """
        def numbers():
            n = 1
            while True:
                yield n
                n += 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                given = numbers()
                self.a = nn.Linear(next(given), next(given))
                self.b = nn.ModuleList(nn.Linear(n, 1) for n, _ in zip(numbers(), "ab"))
        """,
    "the fields of a dataclass by name": """
        from dataclasses import dataclass, field
        from functools import partial
        from typing import Any, ClassVar
        @dataclass
        class Base:
            width: int = 3
            kind: ClassVar[str] = "base"
            norm: Any = partial(nn.LayerNorm, eps=1e-6)
        @dataclass
        class Config(Base):
            make: Any = field(default_factory=lambda: partial(nn.Linear, bias=False))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config()
                self.names = nn.ModuleDict({name: nn.Identity() for name in Config.__dataclass_fields__})
                self.count = nn.Linear(len(config.__dataclass_fields__), 1)
                self.norm, self.fc = config.norm(config.width), config.make(1, 2)
        """,
    "members of an Enum with a constructor": """
        from enum import Enum
        class Kind(Enum):
            LINEAR = (nn.Linear, 3)
            BILINEAR = (nn.Bilinear, 4)
            def __init__(self, cls, size):
                self.cls = cls
                self.size = size
            def build(self):
                return self.cls(*[self.size] * (2 if self is Kind.LINEAR else 3))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({kind.name: kind.build() for kind in Kind})
        """,
    "named tuples: fields of the class, defaults set after": """
        from collections import namedtuple
        Block = namedtuple("Block", ["width", "depth", "act"])
        Block.__new__.__defaults__ = (None,) * len(Block._fields)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                block = Block(3)
                self.a = nn.Linear(block.width, len(block._fields)) if block.act is None else None
        """,
    "descriptors learn their name, slots refuse others": """
        class Positive:
            def __set_name__(self, owner, name):
                self.name = "_" + name
            def __get__(self, instance, cls=None):
                return self if instance is None else getattr(instance, self.name)
            def __set__(self, instance, value):
                setattr(instance, self.name, max(value, 1))
        class Pair:
            __slots__ = ("a", "b")
            def __init__(self, a, b):
                self.a, self.b = a, b
        class Net(nn.Module):
            width = Positive()
            def __init__(self):
                super().__init__()
                self.width = -4
                pair = Pair(self.width, 2)
                self.fc = nn.Linear(pair.a, pair.b)
                try:
                    pair.c = 3
                except AttributeError:
                    self.refused = nn.ReLU()
        """,
    "dicts whose entries are attributes": """
        class Linked(dict):
            def __init__(self, *args, **options):
                super().__init__(*args, **options)
                self.__dict__ = self
        class Dotted(dict):
            __getattr__ = dict.get
            __setattr__ = dict.__setitem__
            __delattr__ = dict.__delitem__
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                linked, dotted = Linked(a=1), Dotted(x=2)
                linked.b = 3
                dotted.y = 4
                self.a = nn.Linear(linked.a, linked["b"])
                self.x = nn.Linear(dotted.x, dotted["y"])
                del dotted.y
                self.gone = nn.ReLU() if dotted.y is None else None
        """,
    "a local name is not looked for outside before it is bound": """
        total = 3
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                def late(flag):
                    if flag:
                        total = 4
                    return total
                try:
                    late(False)
                except UnboundLocalError:
                    self.early = nn.ReLU()
                self.late = nn.Linear(late(True), 1)
                try:
                    raise KeyError("k")
                except KeyError as error:
                    self.caught = nn.Linear(len(error.args), 1)
                try:
                    error
                except NameError:
                    self.ended = nn.Tanh()
                self.comprehended = nn.Linear(sum([total for total in range(3)]), total_of())
        def total_of():
            return [total for _ in range(1)][0]
        """,
    "namespaces": """
        import argparse, json
        from types import SimpleNamespace, MappingProxyType
        fixed = MappingProxyType({"a": 1, "b": 2})
        given = argparse.Namespace(width=4, kind="gru")
        nested = json.loads('{"dims": [3, {"x": 4}], "drop": null}', object_hook=lambda entry: SimpleNamespace(**entry))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                options = SimpleNamespace(**fixed, more=SimpleNamespace(c=5))
                options.d = 6
                self.a = nn.Linear(options.more.c, options.d)
                self.b = nn.Linear(nested.dims[0], nested.dims[1].x) if nested.drop is None else None
                self.rnn = {"gru": nn.GRU, "lstm": nn.LSTM}[given.kind](given.width, len(vars(options)))
                self.c = nn.ReLU() if "width" in given and not hasattr(given, "depth") else None
                self.same = nn.Tanh() if SimpleNamespace(a=[1]) == SimpleNamespace(a=[1]) != options else None
        """,
    "a command line without arguments gives its defaults": """
        import argparse
        def parser():
            made = argparse.ArgumentParser()
            made.add_argument("--hidden-dim", "-d", type=int, default=32)
            group = made.add_argument_group("more")
            group.add_argument("--layers", nargs="+", type=int, default=[4, 5])
            made.add_argument("--no-bn", action="store_true")
            made.add_argument("--no-x", dest="x", action="store_false")
            made.add_argument("--width", type=int, default="7")
            made.add_argument("--nothing")
            made.set_defaults(extra=3)
            return made
        arguments = parser().parse_args([])
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(arguments.hidden_dim, arguments.width, bias=arguments.x)
                self.bn = None if arguments.no_bn else nn.BatchNorm1d(arguments.extra)
                for place, size in enumerate(arguments.layers):
                    setattr(self, f"l{place}", nn.Linear(size, size))
                self.none = nn.ReLU() if vars(arguments)["nothing"] is None else None
        """,
    "text that is evaluated": """
        import ast
        class Net(nn.Module):
            def __init__(self, sizes="[2, 3]", kind="Tanh"):
                super().__init__()
                names = {}
                exec("def made(n):\\n    return n + 1\\nWIDTH = 6", names)
                self.a = nn.ModuleList([nn.Linear(size, size) for size in eval(sizes)])
                self.b = eval(f"nn.{kind}")()
                for place in range(2):
                    exec(f"self.c{place} = nn.Linear({place + 1}, 1)")
                self.d = nn.Linear(names["made"](2), eval("n * 2", {"n": 3}))
                self.e = nn.Linear(*ast.literal_eval("(3, 4)"))
                try:
                    eval("1 +")
                except SyntaxError:
                    self.refused = nn.ReLU()
        """,
    "what a module of torch does not have": """
        class Own(nn.Module):
            pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = (getattr(nn, "Own", None) or globals()["Own"])()
                self.b = (getattr(nn, "Tanh", None) or globals()["Own"])()
        """,
    "functools remembers, and binds": """
        from functools import lru_cache, partialmethod
        @lru_cache(maxsize=None)
        def width(n):
            return 1 if n < 2 else width(n - 1) + width(n - 2)
        @lru_cache
        def shared(size):
            return nn.Linear(size, size)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = shared(2), shared(3), shared(2)
                self.d = nn.Linear(width(12), 1)
                self.wide(bias=False)
            def build(self, size, bias=True):
                self.built = nn.Linear(size, size, bias=bias)
            wide = partialmethod(build, 7)
        """,
    "a decorator that makes a constructor a partial method": """
        from functools import partialmethod
        def preset(**given):
            return lambda function: partialmethod(function, **given)
        class Sizes:
            @preset(width=3)
            def __init__(self, depth, width=1):
                self.depth, self.width = depth, width
        class Net(nn.Module):
            @preset(bias=False)
            def __init__(self, bias=True):
                super().__init__()
                sizes = Sizes(2)
                self.a = nn.Linear(sizes.depth, sizes.width, bias=bias)
        """,
    "patterns that are compiled, groups with names": """
        import re
        from itertools import groupby
        token = re.compile(r"(?P<kind>[a-z]+)(?P<size>\\d+)?")
        class Net(nn.Module):
            def __init__(self, spec="conv3_conv3_relu"):
                super().__init__()
                for kind, group in groupby(spec.split("_"), key=lambda part: token.match(part).group("kind")):
                    sizes = [token.match(part)["size"] for part in group]
                    made = [nn.Linear(int(size), 1) if size else nn.ReLU() for size in sizes]
                    self.add_module(kind, nn.ModuleList(made))
        """,
    "order by the < of objects, places by __index__": """
        class Level:
            def __init__(self, rank):
                self.rank = rank
            def __lt__(self, other):
                return self.rank < other.rank
            def __index__(self):
                return self.rank
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                levels = [Level(2), Level(0), Level(1)]
                self.a = nn.ModuleList(nn.Linear(level.rank + 1, 1) for level in sorted(levels))
                self.b = nn.Linear(max(levels).rank, [4, 5, 6][min(levels)])
                self.c = nn.ModuleDict(sorted({"b": nn.ReLU(), "a": nn.Tanh()}.items()))
        """,
    "signatures bound to arguments, frames that called": """
        import functools, inspect
        def kept(init):
            signature = inspect.signature(init)
            @functools.wraps(init)
            def inner(self, *args, **options):
                bound = signature.bind(self, *args, **options)
                bound.apply_defaults()
                init(self, *args, **options)
                self.count = nn.Linear(len(bound.arguments), bound.arguments["depth"])
            return inner
        class Saves:
            def save(self):
                names, _, _, values = inspect.getargvalues(inspect.currentframe().f_back)
                self.saved = {name: values[name] for name in names if name != "self"}
        class Net(nn.Module, Saves):
            @kept
            def __init__(self, width=3, *, depth=2):
                super().__init__()
                self.save()
                self.fc = nn.Linear(self.saved["width"], len(self.saved))
        """,
    "numbers out of numpy": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self, shape=(17, 2)):
                super().__init__()
                self.a = nn.Linear(np.array(shape).prod(), np.cumsum([1, 2])[-1].item())
                sizes, counts = np.unique(np.divide([8, 8, 16], 8) * 4, return_counts=True)
                self.b = nn.ModuleList(nn.Linear(int(a), int(b)) for a, b in zip(sizes, counts))
        """,
    "the version of torch": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                if int(torch.__version__.split(".")[0]) >= 2:
                    self.a = nn.ReLU()
                if torch.__version__ >= (1, 10) and torch.__version__ > "1.9.1":
                    self.b = nn.Tanh()
        """,
    "the version of torch, taken apart by a pattern": """
        import re
        class Version:
            _regex = re.compile(r"(?P<major>[0-9]+)[.](?P<minor>[0-9]+)")
            def __init__(self, text):
                self.key = tuple(map(int, self._regex.match(text).groups()))
            def __ge__(self, other):
                return self.key >= other.key
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                if Version(torch.__version__) >= Version("1.8"):
                    self.a = nn.ReLU()
                if int(re.split("[.]", torch.__version__)[0]) >= 2:
                    self.b = nn.Tanh()
        """,
    "tensors of places": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                weight = torch.ones(3)
                weight[1] = 5
                self.a = nn.Linear(int(weight.sum()), int(weight.argmax()) + 1)
                order = torch.arange(4).view(2, 2).t().reshape(-1)
                self.b = nn.ModuleList(nn.Linear(place + 1, 1) for place in order.tolist())
                angles = torch.outer(torch.arange(6), 1.0 / 10 ** (torch.arange(0, 8, 2) / 8))
                self.c = nn.Linear(int(angles[3, 0]), 1)
                self.register_buffer("polar", torch.polar(torch.ones_like(angles), angles))
                self.register_buffer("padded", F.pad(torch.ones(2, 3), (1, 0, 2, 2), value=1.0))
                self.register_buffer("upper", torch.triu_indices(4, 4))
                self.register_buffer("hot", F.one_hot(torch.tensor([0, 2])))
                self.register_buffer("top", torch.zeros(3, 4).max(dim=1).values)
                self.register_buffer("blocks", torch.block_diag(torch.eye(2), torch.eye(3)))
                self.register_buffer("bins", torch.bucketize(torch.arange(9), torch.linspace(0, 9, 4)))
                rates = torch.linspace(0, 0.2, 3)
                self.d = nn.ModuleList(nn.Dropout(rate.item()) if rate > 0 else nn.Identity() for rate in rates)
        """,
}

NOT_IN_THE_BUNDLE = (
    "the version of torch",
    "the version of torch, taken apart by a pattern",
    "what a module of torch does not have",
)
"""What is known of the installed torch alone."""


@pytest.mark.parametrize("construct", [name for name in PREDICTED_AS_BUILT if name not in NOT_IN_THE_BUNDLE])
def test_is_predicted_as_it_is_built(construct: str, agrees: Callable[[str], Graph]) -> None:
    agrees(PREDICTED_AS_BUILT[construct])


@pytest.mark.parametrize("construct", NOT_IN_THE_BUNDLE)
def test_is_known_of_the_installed_torch(construct: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(PREDICTED_AS_BUILT[construct])
    assert [node.path for node in graph.modules] == ["", "a", "b"]
    assert graph.problems == ()


UNKNOWN = {
    "a list that is shuffled": """
        import random
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = [1, 2, 3]
                random.shuffle(sizes)
                self.a = nn.ModuleList(nn.Linear(size, 1) for size in sizes)
        """,
    "an attribute of a name that is not known": """
        import os
        class Config:
            width = 1
            def __init__(self, **options):
                self.width = 4
                for name, value in options.items():
                    setattr(self, name, value)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config(**{name: 3 for name in ("width", "depth") if os.environ.get(name)})
                self.a = nn.ModuleList([nn.Linear(config.width, 1)])
        """,
    "a command line that has to give something": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("width", type=int)
        arguments = parser.parse_args()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList([nn.Linear(arguments.width, 1)])
        """,
}


@pytest.mark.parametrize("construct", list(UNKNOWN))
def test_a_size_that_depends_on_it_is_unknown(construct: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(UNKNOWN[construct])
    assert "a.0" in [node.path for node in graph.modules]
    (first,) = [node for node in graph.modules if node.path == "a.0"]
    assert [parameter.shape for parameter in first.parameters] == [(1, None), (1,)]


def test_a_class_that_only_the_bundle_lacks_a_method_of_is_no_error(predict_source: Callable[..., Graph]) -> None:
    """Without torch its classes are known in part: what is missing there may be there."""
    text = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2)))
                self.b = nn.ReLU()
        """
    graph = predict_source(text, with_torch=False)
    assert not [problem.message for problem in graph.problems if "raises" in problem.message]
    assert "b" in [node.path for node in graph.modules]


POSSIBLY_REPLACED = {
    "a dict under keys that are not known": """
        import os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = {"a": 1}
                sizes.update({os.environ.get("NAME", "a"): 2})
                self.a = nn.ModuleList([nn.Linear(sizes["a"], 1)])
        """,
    "a child that a loop may have removed": """
        import os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList([nn.ReLU()])
                for _ in os.environ.get("NAME", ""):
                    self.a = None
                    del self.a
        """,
    "children counted from the end of a list of unknown length": """
        import os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList([nn.ReLU()])
                if os.environ.get("NAME"):
                    self.a.append(nn.Tanh())
                del self.a[-1]
        """,
    "a ModuleDict under keys that are not known": """
        import os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleDict({"0": nn.ReLU()})
                self.a.update({name: nn.Tanh() for name in os.environ.get("NAME", "0")})
        """,
}


@pytest.mark.parametrize("construct", list(POSSIBLY_REPLACED))
def test_what_may_have_been_replaced_is_not_claimed(construct: str, predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(POSSIBLY_REPLACED[construct])
    known = [node.path for node in graph.modules if node.class_name is not None and node.path.startswith("a.")]
    shapes = [p.shape for node in graph.modules if node.path == "a.0" for p in node.parameters if p.name == "weight"]
    assert known == [] or shapes == [(1, None)]
    assert graph.problems != ()


def test_an_insert_of_what_is_no_module_is_refused(agrees: Callable[[str], Graph]) -> None:
    agrees("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Sequential(nn.ReLU())
                try:
                    self.a.insert(0, [nn.Tanh()])
                except AssertionError:
                    self.b = nn.GELU()
        """)
