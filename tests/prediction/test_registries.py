"""Containers that other statements fill when they are imported, against the installed torch."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import Target

pytestmark = pytest.mark.needs_torch

STYLES = {
    "a registry class with build(cfg)": """
        import inspect
        class Registry:
            def __init__(self, name, build_func=None, parent=None):
                self._name = name
                self._module_dict = dict()
                self._children = dict()
                self.build_func = build_func or build_from_cfg
            def __len__(self): return len(self._module_dict)
            def __contains__(self, key): return self.get(key) is not None
            @property
            def name(self): return self._name
            @property
            def module_dict(self): return self._module_dict
            def get(self, key):
                return self._module_dict.get(key)
            def build(self, *args, **kwargs):
                return self.build_func(*args, **kwargs, registry=self)
            def _register_module(self, module, module_name=None, force=False):
                if not inspect.isclass(module) and not inspect.isfunction(module):
                    raise TypeError(f"module must be a class or a function, but got {type(module)}")
                if module_name is None:
                    module_name = module.__name__
                if isinstance(module_name, str):
                    module_name = [module_name]
                for name in module_name:
                    if not force and name in self._module_dict:
                        raise KeyError(f"{name} is already registered in {self.name}")
                    self._module_dict[name] = module
            def register_module(self, name=None, force=False, module=None):
                if not isinstance(force, bool):
                    raise TypeError("force must be a boolean")
                if not (name is None or isinstance(name, str)):
                    raise TypeError("name")
                if module is not None:
                    self._register_module(module=module, module_name=name, force=force)
                    return module
                def _register(module):
                    self._register_module(module=module, module_name=name, force=force)
                    return module
                return _register
        def build_from_cfg(cfg, registry, default_args=None):
            if not isinstance(cfg, dict):
                raise TypeError(f"cfg must be a dict, but got {type(cfg)}")
            args = cfg.copy()
            if default_args is not None:
                for name, value in default_args.items():
                    args.setdefault(name, value)
            obj_type = args.pop("type")
            if isinstance(obj_type, str):
                obj_cls = registry.get(obj_type)
                if obj_cls is None:
                    raise KeyError(f"{obj_type} is not in the {registry.name} registry")
            elif inspect.isclass(obj_type):
                obj_cls = obj_type
            try:
                return obj_cls(**args)
            except Exception as e:
                raise type(e)(f"{obj_cls.__name__}: {e}")
        BACKBONES = Registry("backbone")
        HEADS = Registry("head")
        BACKBONES.register_module("Conv", module=nn.Conv2d)
        @HEADS.register_module()
        class Head(nn.Module):
            def __init__(self, ch, classes=10):
                super().__init__()
                self.fc = nn.Linear(ch, classes)
        class Net(nn.Module):
            def __init__(self, backbone=dict(type="Tiny", ch=8), head=dict(type="Head", ch=8)):
                super().__init__()
                self.backbone = BACKBONES.build(backbone)
                self.head = HEADS.build(head)
                self.c = BACKBONES.build(dict(type="Conv", in_channels=3, out_channels=4, kernel_size=1))
        @BACKBONES.register_module()
        class Tiny(nn.Module):
            def __init__(self, ch):
                super().__init__()
                self.conv = nn.Conv2d(3, ch, 3)
        """,
    "functions registered by name, counted and walked": """
        import sys
        from collections import defaultdict
        _model_entrypoints = {}
        _module_to_models = defaultdict(set)
        def register_model(fn):
            model_name = fn.__name__
            _model_entrypoints[model_name] = fn
            _module_to_models["x"].add(model_name)
            return fn
        def is_model(name): return name in _model_entrypoints
        def create_model(name, **kwargs):
            if not is_model(name):
                raise RuntimeError("Unknown model (%s)" % name)
            create_fn = _model_entrypoints[name]
            return create_fn(**kwargs)
        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.fc = nn.Linear(d, d)
        @register_model
        def small(**kw): return nn.Sequential(Block(4), Block(4))
        @register_model
        def large(depth=3, **kw): return nn.Sequential(*[Block(8) for _ in range(depth)])
        class Net(nn.Module):
            def __init__(self, name="large"):
                super().__init__()
                self.body = create_model(name, depth=2)
                self.n = len(_model_entrypoints)
                self.per = nn.ModuleDict({k: f() for k, f in _model_entrypoints.items()})
        """,
    "subclasses that register themselves": """
        class Base(nn.Module):
            registry = {}
            def __init_subclass__(cls, kind=None, **kw):
                super().__init_subclass__(**kw)
                cls.registry[kind or cls.__name__.lower()] = cls
        class Net(nn.Module):
            def __init__(self, kinds=("a", "beta")):
                super().__init__()
                self.parts = nn.ModuleList(Base.registry[k](4) for k in kinds)
                self.all = nn.ModuleList([c(2) for c in Base.registry.values()])
        class A(Base):
            def __init__(self, d):
                super().__init__()
                self.l = nn.Linear(d, d)
        class B(Base, kind="beta"):
            def __init__(self, d):
                super().__init__()
                self.l = nn.Linear(d, 2 * d)
        class C(B, kind="gamma"):
            pass
        """,
    "calls, loops and renamed decorators": """
        TABLE = {}
        ORDER = []
        def add(name, cls=None, **kw):
            def deco(c):
                TABLE[name] = (c, kw)
                ORDER.append(name)
                return c
            return deco if cls is None else deco(cls)
        class A(nn.Module):
            def __init__(self, d=2):
                super().__init__()
                self.a = nn.Linear(d, d)
        @add("bee", d=5)
        class B(nn.Module):
            def __init__(self, d=3):
                super().__init__()
                self.b = nn.Linear(d, d)
        add("ay", A, d=4)
        for width in (8, 16):
            add(f"lin{width}", nn.Linear, in_features=width, out_features=1)
        if True:
            add("act", nn.ReLU)
        register = add
        @register("cee")
        class C(B): pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name in ORDER:
                    cls, kw = TABLE[name]
                    self.add_module(name, cls(**kw))
                self.size = nn.Linear(len(TABLE), len(ORDER))
        @register("dee")
        class D(B): pass
        """,
    "class methods of a factory, and a dict with a method": """
        from typing import Callable, Dict, Type
        class Factory:
            _items: Dict[str, Type[nn.Module]] = {}
            @classmethod
            def register(cls, name: str) -> Callable:
                def inner(wrapped):
                    if name in cls._items:
                        raise ValueError(name)
                    cls._items[name] = wrapped
                    return wrapped
                return inner
            @classmethod
            def create(cls, name, **kw):
                if name not in cls._items:
                    raise ValueError(f"unknown {name}, have {sorted(cls._items)}")
                return cls._items[name](**kw)
        @Factory.register("enc")
        class Enc(nn.Module):
            def __init__(self, d=4):
                super().__init__()
                self.l = nn.TransformerEncoderLayer(d, 2)
        @Factory.register("net")
        class Net(nn.Module):
            def __init__(self, kind="enc"):
                super().__init__()
                self.e = Factory.create(kind, d=8)
                self.h = Factory.create("head")
        class Reg(dict):
            def register(self, k, v=None):
                if v is not None:
                    self[k] = v
                    return
                def f(v):
                    self[k] = v
                    return v
                return f
        R = Reg()
        R.register("a", nn.ReLU)
        @R.register("b")
        class Bb(nn.Module):
            def __init__(self):
                super().__init__()
                self.q = R["a"]()
        @Factory.register("head")
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.q = R["b"]()
                self.z = nn.Linear(len(R), 1)
        """,
    "two tables and one decorator": """
        MODELS, HEADS = {}, {}
        def register(registry, name=None):
            def wrap(obj):
                key = name if name is not None else obj.__name__
                if key in registry:
                    raise KeyError(f"{key} registered already")
                registry[key] = obj
                return obj
            return wrap
        @register(HEADS)
        class Lin(nn.Sequential):
            def __init__(self, d): super().__init__(nn.Linear(d, d), nn.ReLU())
        @register(MODELS, "net")
        class Net(nn.Module):
            def __init__(self, head="Lin"):
                super().__init__()
                self.h = HEADS[head](3)
                self.two = HEADS.get("conv", nn.Identity)()
                self.all = nn.ModuleList(HEADS[k](2) for k in sorted(HEADS))
        @register(HEADS, name="conv")
        def make_conv(d=4): return nn.Conv1d(d, d, 1)
        def build(name, **kw): return MODELS[name](**kw)
        """,
    "names of the module, functions by class": """
        import sys
        from enum import Enum
        from functools import partial, singledispatch
        class ConvBlock(nn.Module):
            def __init__(self, d=3):
                super().__init__()
                self.c = nn.Conv1d(d, d, 1)
        class LinBlock(nn.Module):
            def __init__(self, d=3):
                super().__init__()
                self.c = nn.Linear(d, d)
        BLOCKS = {n: c for n, c in globals().items() if isinstance(c, type) and issubclass(c, nn.Module) and c.__module__ == __name__}
        class Kind(Enum):
            CONV = ConvBlock
            LIN = LinBlock
        ACTS = {"relu": nn.ReLU, "leaky": partial(nn.LeakyReLU, 0.2), "none": nn.Identity}
        @singledispatch
        def make(cfg): return nn.Identity()
        @make.register
        def _(cfg: int): return nn.Linear(cfg, cfg)
        @make.register(str)
        def _(cfg): return ACTS[cfg]()
        class Net(nn.Module):
            def __init__(self, name="LinBlock", kind="CONV", act="leaky"):
                super().__init__()
                self.a = globals()[name](5)
                self.b = Kind[kind].value(2)
                self.c = ACTS[act]()
                self.d = globals()[name](7)
                self.e = getattr(nn, "GELU")()
                self.f = BLOCKS["ConvBlock"](4)
                self.g = make("relu")
        """,
}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_registry_holds_what_torch_finds_in_it(text: str, agrees: Callable[[str], Graph]) -> None:
    agrees(text)


PACKAGE = {
    "registry.py": """
        class Registry:
            def __init__(self, name):
                self._name = name
                self._obj_map = {}
            def _do_register(self, name, obj):
                assert name not in self._obj_map, f"{name} twice"
                self._obj_map[name] = obj
            def register(self, obj=None):
                if obj is None:
                    def deco(func_or_class):
                        self._do_register(func_or_class.__name__, func_or_class)
                        return func_or_class
                    return deco
                self._do_register(obj.__name__, obj)
            def get(self, name):
                ret = self._obj_map.get(name)
                if ret is None:
                    raise KeyError(f"No object named '{name}'")
                return ret
            def __contains__(self, n): return n in self._obj_map
            def __iter__(self): return iter(self._obj_map.items())
        BACKBONES = Registry("BACKBONE")
        NECKS = Registry("N")
        def build(name, *args): return BACKBONES.get(name)(*args)
        """,
    "backbones/__init__.py": """
        from . import resnet, vit as _vit
        from .necks import make_neck
        __all__ = ["resnet"]
        """,
    "backbones/resnet.py": """
        from torch import nn
        from ..registry import BACKBONES
        @BACKBONES.register()
        class ResNet(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.c = nn.Conv2d(3, d, 3)
        @BACKBONES.register()
        def build_wide(d):
            return ResNet(2 * d)
        """,
    "backbones/vit.py": """
        from torch import nn
        from shelf import registry
        class ViT(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.p = nn.Linear(d, d)
        registry.BACKBONES.register(ViT)
        """,
    "backbones/necks.py": """
        from torch import nn
        from shelf.registry import NECKS as REG
        def make_neck(): return REG.get("Neck")()
        @REG.register()
        class Neck(nn.Module):
            def __init__(self):
                super().__init__()
                self.n = nn.BatchNorm2d(3)
        """,
    "__init__.py": """
        from .registry import BACKBONES, build
        from .backbones import *
        from .model import Net
        """,
    "model.py": """
        from torch import nn
        from shelf import registry
        from .backbones import make_neck
        class Net(nn.Module):
            def __init__(self, names=("ResNet", "build_wide", "ViT")):
                super().__init__()
                self.b = nn.ModuleList(registry.build(n, 4) for n in names)
                self.neck = make_neck()
                self.every = nn.ModuleDict({k: f(2) for k, f in registry.BACKBONES})
        """,
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], Path]:
    """package(files): a package "shelf" with these files, importable."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / "shelf" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(inspect.cleandoc(text), encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        for module in [name for name in sys.modules if name.partition(".")[0] == "shelf"]:
            monkeypatch.delitem(sys.modules, module)
        return tmp_path

    return write


def compared(module: str) -> tuple[list[tuple[str, str | None]], list[tuple[str, str]]]:
    """Paths and classes of `Net` of that module: predicted, and live."""
    graph = predict_graph(Target(text=f"{module}:Net", module=module, name="Net", search_path=tuple(sys.path)))
    live = importlib.import_module(module).Net()
    return (
        [(node.path, node.class_name) for node in graph.modules],
        [
            (path, f"{type(child).__module__}.{type(child).__qualname__}")
            for path, child in live.named_modules(remove_duplicate=False)
        ],
    )


def test_classes_register_from_other_modules(package: Callable[[dict[str, str]], Path]) -> None:
    package(PACKAGE)
    predicted, live = compared("shelf.model")
    assert predicted == live


def test_plugins_found_by_listing_a_folder(package: Callable[[dict[str, str]], Path]) -> None:
    package(
        {
            "__init__.py": """
                REG = {}
                def register(cls):
                    REG[cls.__name__] = cls
                    return cls
                import importlib, os
                for file in sorted(os.listdir(os.path.dirname(__file__) + "/plugins")):
                    if file.endswith(".py"):
                        importlib.import_module("shelf.plugins." + file[:-3])
                """,
            "plugins/one.py": """
                from torch import nn
                from shelf import register
                @register
                class One(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.l = nn.Linear(1, 1)
                """,
            "plugins/__init__.py": "",
            "net.py": """
                from torch import nn
                from shelf import REG
                class Net(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.a = REG["One"]()
                """,
        }
    )
    predicted, live = compared("shelf.net")
    assert predicted == live


HOOKS = {
    "lambda": "module.__getattr__ = lambda name: getattr(target(), name)",
    "a function": "def find(name): return getattr(target(), name)\n    module.__getattr__ = find",
    "what a function gives": "def given():\n        def look(name): return getattr(target(), name)\n        return look\n"
    "    module.__getattr__ = given()",
    "none": "target()",
}


@pytest.mark.parametrize("way", HOOKS)
def test_an_import_in_a_hook_of_a_module_does_not_run(way: str, package: Callable[[dict[str, str]], Path]) -> None:
    hooked = f"""
REG = {{}}
def redirect(alias, name):
    import importlib, types
    module = types.ModuleType(alias)
    def target():
        return importlib.import_module("shelf.plugins." + name)
    {HOOKS[way]}
    return module
old = redirect("shelf.old", "one")
"""
    plugin = """
        from torch import nn
        from shelf import REG
        REG["One"] = nn.ReLU
        """
    net = """
        from torch import nn
        from shelf import REG
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = REG["One"]() if "One" in REG else nn.Linear(1, 1)
        """
    package({"__init__.py": hooked, "plugins/__init__.py": "", "plugins/one.py": plugin, "net.py": net})
    predicted, live = compared("shelf.net")
    assert predicted == live


def test_a_module_imported_inside_a_function_registers_then(package: Callable[[dict[str, str]], Path]) -> None:
    package(
        {
            "__init__.py": """
                REG = {}
                def build(name):
                    from shelf import late
                    return REG[name]()
                """,
            "late.py": """
                from torch import nn
                from shelf import REG
                REG["relu"] = nn.ReLU
                def register(cls):
                    REG[cls.__name__] = cls
                    return cls
                @register
                class Late(nn.Module):
                    pass
                """,
            "net.py": """
                from torch import nn
                from shelf import REG, build
                class Net(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.before = nn.Linear(1, 1) if "Late" in REG else nn.Identity()
                        self.late = build("Late")
                """,
        }
    )
    predicted, live = compared("shelf.net")
    assert predicted == live


def test_a_metaclass_fills_a_table(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Meta(type(nn.Module)):
            known = {}
            def __new__(mcs, name, bases, namespace):
                cls = super().__new__(mcs, name, bases, namespace)
                mcs.known[name] = cls
                return cls
        class Base(nn.Module, metaclass=Meta): pass
        class Part(Base): pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Meta.known["Part"]()
        """
    )


def test_a_name_that_nothing_registers_is_a_key_error(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        REG = {}
        def register(cls):
            REG[cls.__name__] = cls
            return cls
        @register
        class A(nn.Module): pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.b = REG["B"]()
        """
    )
    assert any("KeyError" in problem.message for problem in graph.problems)


def test_a_class_that_may_build_itself_is_cut_at_once(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        REG = {}
        def register(cls):
            REG[cls.__name__] = cls
            return cls
        def build(cfg):
            cfg = dict(cfg)
            return REG[cfg.pop("type")](**cfg)
        @register
        class A(nn.Module): pass
        @register
        class Net(nn.Module):
            def __init__(self, one, two, three):
                super().__init__()
                self.one = build(one)
                self.two = build(two)
                self.three = build(three)
        """
    )
    assert [node.path for node in graph.modules] == ["", "one", "two", "three"]
    (problem,) = graph.problems
    assert problem.message == "arguments 'one', 'two', 'three' are not given: Net(one, two, three)"
    assert [place.module for place in problem.places] == ["one", "two", "three"]


COMPILED = {
    "compile": "self.c = torch.compile(Part(), backend='eager')\n        self.inner = self.c.fc",
    "compile as a method": "self.c = Part()\n        self.c.compile(backend='eager')",
    "script": "self.c = torch.jit.script(Part())",
    "trace": "self.c = torch.jit.trace(Part(), torch.zeros(1, 3))",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", COMPILED.values(), ids=COMPILED)
def test_compiled_modules_are_what_torch_makes_them(
    line: str, predict_source: Callable[..., Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"""
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = nn.Sequential(nn.ReLU())
        self.none = None

    def forward(self, x):
        return self.act(self.fc(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {line}
"""
    file = tmp_path / "compiled_net.py"
    file.write_text("import torch\nfrom torch import nn\n" + text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "compiled_net", raising=False)
    live = importlib.import_module("compiled_net").Net()
    graph = predict_source(text)
    named = [(path, type(child).__qualname__) for path, child in live.named_modules(remove_duplicate=False)]
    found = [(node.path, (node.class_name or "").rpartition(".")[2]) for node in graph.modules]
    found = [entry for entry in found if entry[1] != "NoneType"]
    assert found == [(path, name.rpartition(".")[2]) for path, name in named]


def test_numpy_arrays_are_sizes(agrees: Callable[[str], Graph]) -> None:
    pytest.importorskip("numpy")
    agrees(
        """
        import numpy as np
        class Net(nn.Module):
            def __init__(self, sizes=np.array([13, 16, 8]), table=np.zeros((2, 5))):
                super().__init__()
                self.layers = nn.ModuleList()
                for i in range(0, sizes.size - 1):
                    layer = nn.Linear(int(sizes[i]), int(sizes[i + 1]))
                    weight = np.random.normal(0.0, np.sqrt(2 / (sizes[i] + 1)), size=(sizes[i + 1], sizes[i]))
                    layer.weight.data = torch.tensor(weight.astype(np.float32), requires_grad=True)
                    self.layers.append(layer)
                self.per = nn.ModuleList([nn.Embedding(int(n), table.shape[1]) for n in sizes])
                self.ends = nn.Linear(len(sizes), int((sizes * 2)[1:].sum()))
                self.rank = nn.Linear(table.ndim, table.size)
        """
    )


@pytest.mark.parametrize("name", ["json", "inspect", "typing"])
def test_a_file_named_like_a_module_of_python(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.py"
    file.write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, n: int = 3):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(n, n)\n",
        encoding="utf-8",
    )
    graph = predict_graph(Target(text=f"{name}.py:Net", module=name, name="Net", file=file, root=tmp_path))
    assert [node.path for node in graph.modules] == ["", "fc"]
    assert graph.complete


def test_a_parameter_annotated_as_a_number_opens_no_child(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self, n: int, name: str | None, part):
                super().__init__()
                self.n = n
                self.name = name
                self.part = part
        """
    )
    assert [node.path for node in graph.modules] == ["", "part"]
    assert [problem.message for problem in graph.problems] == [
        "the model may have a child 'part': argument 'part' is not given: Net(n, name, part)"
    ]


@pytest.mark.needs_torch
def test_classes_made_by_calls_are_registered(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """\
        class Part(nn.Module):
            table = {}
            def __init_subclass__(cls, **keywords):
                super().__init_subclass__()
                cls.table[cls.__name__ + keywords.get("suffix", "")] = cls
        class Meta(type):
            known = {}
            def __new__(meta, name, bases, namespace, key=None):
                cls = super().__new__(meta, name, bases, namespace)
                if key:
                    meta.known[key] = cls
                return cls
            def __init__(cls, name, bases, namespace, key=None):
                super().__init__(name, bases, namespace)
            def __len__(cls):
                return len(cls.known)
        class Base(nn.Module, metaclass=Meta): pass
        class Derived(Base, key="derived"): pass
        A = type("A", (Part,), {"k": 3})
        for n in (5, 6):
            type(f"D{n}", (Part,), {"k": n}, suffix="x")
        def make(n):
            return type(f"E{n}", (Part,), {"k": n})
        make(7)
        for n in "xy":
            Meta("Q" + n, (Base,), {}, key=n)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name, cls in Part.table.items():
                    self.add_module(name, nn.Linear(cls.k, 1))
                for name in Meta.known:
                    self.add_module(name, nn.Linear(len(Base), 1))
        """
    )


@pytest.mark.needs_torch
def test_decorators_of_a_class_body_fill_another_name_of_it(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """\
        from functools import singledispatchmethod
        class Net(nn.Module):
            TABLE, MADE = {}, []
            def register(name, table=TABLE):
                def decorate(function):
                    table[name] = function
                    return function
                return decorate
            @register("x")
            def make(self):
                return nn.ReLU()
            @register("y")
            def _(self):
                return nn.ELU()
            @MADE.append
            def last(self):
                return nn.Tanh()
            @singledispatchmethod
            def build(self, x):
                return nn.Identity()
            @build.register
            def _(self, x: int):
                return nn.Linear(x, x)
            @build.register(list)
            def _(self, x):
                return nn.Sequential(*map(self.build, x))
            @singledispatchmethod
            @classmethod
            def of(cls, x):
                return nn.Identity()
            @of.register(int)
            @classmethod
            def _(cls, x):
                return nn.Linear(1, x)
            def __init__(self):
                super().__init__()
                for name, function in self.TABLE.items():
                    self.add_module(name, function(self))
                self.l = nn.ModuleList(each(self) for each in self.MADE)
                self.a, self.b, self.c = self.build(3), self.build("3"), self.build([1, 2])
                self.d, self.e = Net.of(4), self.of("4")
        """
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="enum.member came with Python 3.11")
@pytest.mark.needs_torch
def test_what_marks_members_of_an_enum(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """\
        import enum
        class Act(enum.Enum):
            RELU = enum.member(nn.ReLU)
            ELU = enum.member(lambda: nn.ELU())
            TABLE = enum.nonmember({1: 2})
            @enum.member
            def GELU():
                return nn.GELU()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList(each.value() for each in Act)
                self.b = nn.Linear(len(Act), Act.TABLE[1])
        """
    )


STORE = """
from torch import nn

class Store:
    def __init__(self):
        self.components = {}
    def register(self, name):
        def add(function):
            self.components[name.upper()] = function
            return function
        return add
    def __getattr__(self, name):
        if name in self.components:
            return name
        return super().__getattribute__(name)

Norm = Store()

@Norm.register("batch")
def batch():
    return nn.BatchNorm1d
"""
USER = """
from torch import nn
from store import Norm

class Net(nn.Module):
    def __init__(self, norm=Norm.BATCH):
        super().__init__()
        self.norm = Norm.components[norm]()(3)
"""


@pytest.mark.parametrize("installed", [False, True])
def test_a_name_that_a_store_gives_is_found_where_a_default_asks_for_it(tmp_path: Path, installed: bool) -> None:
    """It is asked for at module level, where a table of an installed package is taken as its own module leaves it."""
    if installed:
        (tmp_path / "store-1.0.dist-info").mkdir()
    (tmp_path / "store.py").write_text(STORE, "utf-8")
    (tmp_path / "model.py").write_text(USER, "utf-8")
    graph = modgraph.predict(f"{tmp_path / 'model.py'}:Net", path=[str(tmp_path)])
    assert [(node.path, node.class_name) for node in graph.modules[1:]] == [
        ("norm", "torch.nn.modules.batchnorm.BatchNorm1d")
    ]
    assert graph.problems == ()
