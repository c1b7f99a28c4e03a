"""Tensors, modules, iterators and paths through loops and exceptions that differ with a flag nobody can tell."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from modgraph.graph.model import IN_ANY_ORDER, Graph
from modgraph.graph.state_dict import state_dict_of

pytestmark = pytest.mark.needs_torch

HEADER = """
from torch.nn.utils import parametrize

class Scale(nn.Module):
    def forward(self, x):
        return x * 2

class Widened(nn.Module):
    def forward(self, x):
        return torch.cat([x, x])

class Block(nn.Module):
    width = 2

    def __init__(self, n=1):
        super().__init__()
        self.inner = nn.Linear(n, self.width)

class Other(nn.Module):
    def __init__(self, n=1):
        super().__init__()
        self.inner = nn.Linear(n, 2)

class Tag(nn.Module):
    def __init__(self, n):
        super().__init__()

class Marked(nn.Parameter):
    pass

class Plain(torch.Tensor):
    pass

class Reader(nn.Module):
    def __init__(self, what):
        super().__init__()
        if what.training:
            self.extra = nn.Linear(2, 2)

class ByTag(nn.Module):
    def __init__(self, tensor):
        super().__init__()
        if hasattr(tensor, "tag"):
            self.extra = nn.Linear(2, 2)

class ByDevice(nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.extra = nn.Linear(2, 2) if tensor.device.type == "meta" else nn.ReLU()

class Counted(nn.Module):
    made = 0

    def __init__(self):
        super().__init__()
        Counted.made += 1
        self.inner = nn.Linear(Counted.made, 1)

class Switch:
    on = False

class Switched(nn.Module):
    def __init__(self):
        super().__init__()
        if Switch.on:
            self.inner = nn.Linear(1, 1)
        Switch.on = False

class Config:
    def __init__(self, width):
        self.width = width

class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = nn.Linear(config.width, 1)

class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(2))

class Late(nn.Module):
    def __init__(self, go):
        if go:
            super().__init__()

class Gate(nn.Module):
    closed = False

    def __setattr__(self, name, value):
        if self.closed and isinstance(value, nn.Module):
            return
        super().__setattr__(name, value)

class Delegating(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

class Lazy:
    def __init__(self, width):
        self.width = width

    @functools.cached_property
    def double(self):
        return self.width * 2

REGISTRY = []

class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        REGISTRY.append(self)
        self.inner = nn.Linear(len(REGISTRY), 1)

@functools.lru_cache(maxsize=None)
def cached(n):
    return nn.Linear(n, 1)

def freeze(module):
    for p in module.parameters():
        p.requires_grad = False

def layers(n):
    for i in range(n):
        yield nn.Linear(i + 1, 1)

@contextlib.contextmanager
def entered(module):
    module.eval()
    yield module
    module.train()

@contextlib.contextmanager
def swallowing():
    try:
        yield
    except ValueError:
        pass

"""

CASES: dict[str, str] = {
    # Fields of tensors.
    "a buffer that is persistent on one path": """
        t = torch.zeros(3)
        self.b = nn.Buffer(t, persistent=False) if flag else nn.Buffer(t)
        """,
    "a buffer registered with persistent=flag": """
        self.register_buffer("b", torch.zeros(2), persistent=flag)
        """,
    "an nn.Buffer told not to be persistent afterwards": """
        b = nn.Buffer(torch.zeros(3))
        if flag:
            b.persistent = False
        self.b = b
        """,
    "an nn.Buffer with persistent=flag": """
        self.b = nn.Buffer(torch.zeros(3), persistent=flag)
        """,
    "a tensor that is a buffer on one path": """
        t = torch.zeros(3)
        if flag:
            t = nn.Buffer(t)
        self.t = t
        """,
    "a buffer registered by assignment or by name, once persistent": """
        if flag:
            self.b = nn.Buffer(torch.zeros(3))
        else:
            self.register_buffer("b", torch.zeros(3), persistent=False)
        """,
    "the device of a tensor made on two paths": """
        t = torch.zeros(2, device="meta") if flag else torch.zeros(2)
        if t.device.type == "meta":
            self.c = nn.Linear(2, 2)
        """,
    "the device of a parameter made on two paths": """
        if flag:
            p = nn.Parameter(torch.zeros(2, device="meta"))
        else:
            p = nn.Parameter(torch.zeros(2))
        self.p = p
        if self.p.is_meta:
            self.c = nn.Linear(2, 2)
        """,
    "the device of modules made alike": """
        m = nn.Linear(2, 2, device="meta") if flag else nn.Linear(2, 2)
        self.m = m
        self.c = ByDevice(m.weight)
        """,
    "a module moved to a device in place": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.to("meta")
        self.c = ByDevice(self.a.weight)
        """,
    "a buffer moved to a device with its module": """
        self.a = Holder()
        if flag:
            self.a.to("meta")
        self.c = ByDevice(self.a.b)
        """,
    "the device that a with statement sets": """
        with torch.device("meta") if flag else contextlib.nullcontext():
            t = torch.zeros(2)
        self.c = ByDevice(t)
        """,
    "a buffer whose device differs in a list": """
        tensors = [torch.zeros(2)]
        if flag:
            tensors[0] = torch.zeros(2, device="meta")
        for i, t in enumerate(tensors):
            setattr(self, f"c{i}", ByDevice(t))
        """,
    "an attribute set on a parameter in place": """
        self.p = nn.Parameter(torch.zeros(2))
        if flag:
            self.p.tag = True
        if hasattr(self.p, "tag"):
            self.c = nn.Linear(2, 2)
        """,
    "an attribute set on a tensor to other values in place": """
        t = torch.zeros(2)
        t.width = 2
        if flag:
            t.width = 3
        self.c = nn.Linear(t.width, 1)
        """,
    "an attribute of other name on tensors made alike": """
        if flag:
            t = torch.zeros(2)
            t.tag = 1
        else:
            t = torch.zeros(2)
            t.mark = 1
        self.c = ByTag(t)
        """,
    "an attribute of other name on parameters of modules made alike": """
        m = nn.Linear(2, 2)
        if flag:
            m = nn.Linear(2, 2)
            m.weight.tag = 1
        else:
            m = nn.Linear(2, 2)
            m.weight.mark = 1
        self.m = m
        self.c = ByTag(m.weight)
        """,
    "an attribute taken off a parameter": """
        self.p = nn.Parameter(torch.zeros(2))
        self.p.tag = 1
        if flag:
            del self.p.tag
        self.c = ByTag(self.p)
        """,
    "attributes set on parameters in a function": """
        def mark(module):
            for p in module.parameters():
                p.tag = 1
        self.a = nn.Linear(2, 2)
        if flag:
            mark(self.a)
        self.c = ByTag(self.a.bias)
        """,
    "elements filled in place": """
        t = torch.ones(1, dtype=torch.int64)
        if flag:
            t.fill_(3)
        self.c = nn.Linear(int(t[0]), 1)
        """,
    "elements set by an item": """
        sizes = torch.tensor([2, 3])
        if flag:
            sizes[1] = 5
        self.c = nn.Linear(*sizes.tolist())
        """,
    "elements of a whole changed through a view": """
        t = torch.zeros(4, dtype=torch.int64)
        v = t[:2]
        if flag:
            v.fill_(1)
        self.c = nn.Linear(int(t.sum()) + 1, 1)
        """,
    "a view taken of one tensor or the other": """
        a = torch.zeros(2, dtype=torch.int64)
        b = torch.zeros(2, dtype=torch.int64)
        v = a[:1] if flag else b[:1]
        v += 4
        self.a = nn.Linear(int(a[0]) + 1, 1)
        self.b = nn.Linear(int(b[0]) + 1, 1)
        """,
    "a tensor that shares memory with a buffer or is a clone": """
        self.register_buffer("b", torch.ones(1, dtype=torch.int64))
        t = self.b if flag else self.b.clone()
        t.add_(1)
        self.c = nn.Linear(int(self.b), 1)
        """,
    "detach or clone of a parameter, then written": """
        p = nn.Parameter(torch.ones(1))
        t = p.detach() if flag else p.detach().clone()
        t.fill_(4)
        self.c = nn.Linear(int(p.item()), 1)
        """,
    "how many elements arange gives": """
        self.heads = nn.ModuleList(nn.Linear(int(i) + 1, 1) for i in torch.arange(2 if flag else 3))
        """,
    "the dtype of a registered buffer": """
        t = torch.zeros(2)
        if flag:
            t = t.half()
        self.register_buffer("b", t)
        """,
    "a dtype read to choose a layer": """
        t = torch.zeros(2, dtype=torch.int64 if flag else torch.float32)
        self.c = nn.ReLU() if t.is_floating_point() else nn.GELU()
        """,
    "a dtype that only a default sets": """
        torch.set_default_dtype(torch.float64 if flag else torch.float32)
        self.c = nn.Linear(2, 2)
        torch.set_default_dtype(torch.float32)
        """,
    "a tensor that needs a gradient on one path": """
        t = torch.zeros(2)
        if flag:
            t.requires_grad_()
        self.p = nn.Parameter(t, requires_grad=t.requires_grad)
        """,
    "whether a tensor is a leaf": """
        t = torch.zeros(2, requires_grad=True)
        if flag:
            t = t * 2
        self.c = nn.ReLU() if t.is_leaf else nn.GELU()
        """,
    "whether a tensor computed in a block has a gradient": """
        p = nn.Parameter(torch.zeros(2))
        with torch.set_grad_enabled(flag):
            t = p * 2
        if t.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "gradients switched off by a manager on one path": """
        p = nn.Parameter(torch.zeros(2))
        with torch.no_grad() if flag else contextlib.nullcontext():
            t = p * 2
        if t.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "gradients left disabled": """
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(flag)
        if torch.is_grad_enabled():
            self.c = nn.Linear(2, 2)
        torch.set_grad_enabled(before)
        """,
    "a gradient set on a parameter": """
        self.p = nn.Parameter(torch.zeros(2))
        if flag:
            self.p.grad = torch.zeros(2)
        if self.p.grad is not None:
            self.c = nn.Linear(2, 2)
        """,
    "whether a tensor is contiguous": """
        t = torch.zeros(2, 2)
        if flag:
            t = t.t()
        self.c = nn.ReLU() if t.is_contiguous() else nn.GELU()
        """,
    "whether a tensor of one shape is sparse": """
        t = torch.zeros(2, 2).to_sparse() if flag else torch.zeros(2, 2)
        if t.is_sparse:
            self.c = nn.Linear(2, 2)
        """,
    "a tensor resized in place": """
        self.register_buffer("b", torch.zeros(2))
        if flag:
            self.b.resize_(5)
        """,
    "dimensions added to a tensor in place": """
        t = torch.zeros(2)
        if flag:
            t.unsqueeze_(0)
        self.register_buffer("b", t)
        self.c = nn.ModuleList(nn.ReLU() for _ in range(t.dim()))
        """,
    "the data of a parameter of another shape": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.weight.data = torch.zeros(3, 2)
        """,
    "a parameter of a subclass on one path": """
        self.p = Marked(torch.zeros(2)) if flag else nn.Parameter(torch.zeros(2))
        if isinstance(self.p, Marked):
            self.c = nn.Linear(2, 2)
        """,
    "the class of a parameter replaced in place": """
        self.p = nn.Parameter(torch.zeros(2))
        if flag:
            self.p.__class__ = Marked
        if type(self.p) is Marked:
            self.c = nn.Linear(2, 2)
        """,
    "a tensor of a subclass on one path": """
        t = torch.zeros(2)
        if flag:
            t = t.as_subclass(Plain)
        if isinstance(t, Plain):
            self.c = nn.Linear(2, 2)
        """,
    "a tensor that is a parameter on one path": """
        t = torch.zeros(2)
        self.t = nn.Parameter(t) if flag else t
        """,
    "the class of a tensor replaced by Parameter": """
        t = torch.zeros(2)
        if flag:
            t.__class__ = nn.Parameter
        self.t = t
        """,
    "a parameter that is lazy on one path": """
        self.p = nn.UninitializedParameter() if flag else nn.Parameter(torch.zeros(2))
        """,
    "a lazy parameter made real on one path": """
        self.p = nn.UninitializedParameter()
        if flag:
            self.p.materialize((2, 3))
        """,
    "a lazy parameter that is asked whether it is lazy": """
        self.p = nn.UninitializedParameter()
        if flag:
            self.p.materialize((2, 3))
        if not nn.parameter.is_lazy(self.p):
            self.c = nn.Linear(2, 2)
        """,
    "a lazy layer that has been called on one path": """
        self.a = nn.LazyLinear(3)
        if flag:
            self.a(torch.zeros(1, 2))
        """,
    "a lazy layer or a layer": """
        self.a = nn.LazyLinear(3) if flag else nn.Linear(2, 3)
        """,
    "a lazy buffer made real on one path": """
        self.register_buffer("b", nn.UninitializedBuffer())
        if flag:
            self.b.materialize((2,))
        """,
    "a tensor of few or of very many elements": """
        self.register_buffer("b", torch.zeros(3 if flag else 100000))
        self.c = nn.Linear(self.b.numel(), 1)
        """,
    "tensors that are the same by identity on one path": """
        a = torch.zeros(2)
        b = a if flag else torch.zeros(2)
        if a is b:
            self.c = nn.Linear(2, 2)
        """,
    # Parameters shared or replaced.
    "weights tied on one path": """
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        if flag:
            self.b.weight = self.a.weight
        """,
    "weights tied to one or the other": """
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.c = nn.Linear(2, 2)
        self.c.weight = self.a.weight if flag else self.b.weight
        """,
    "a tie that is asked for": """
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        if flag:
            self.b.weight = self.a.weight
        if self.b.weight is self.a.weight:
            self.c = nn.Linear(2, 2)
        """,
    "modules made alike of which one ties its weights": """
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        if flag:
            pair = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        else:
            pair = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
            pair[1].weight = pair[0].weight
        self.pair = pair
        """,
    "a tie undone on one path": """
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.b.weight = self.a.weight
        if flag:
            self.b.weight = nn.Parameter(self.a.weight.clone())
        """,
    "weights of two modules exchanged": """
        self.a = nn.Linear(2, 3)
        self.b = nn.Linear(2, 4)
        if flag:
            self.a.weight, self.b.weight = self.b.weight, self.a.weight
        """,
    "the whole store of parameters shared": """
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        if flag:
            self.b._parameters = self.a._parameters
        """,
    "a bias taken away or set to None": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.bias = None
        else:
            del self.a.bias
        """,
    "a bias registered as None or as a parameter": """
        self.register_parameter("bias", None if flag else nn.Parameter(torch.zeros(2)))
        if self.bias is None:
            self.c = nn.Linear(2, 2)
        """,
    "the order of two parameters": """
        for name in ("a", "b") if flag else ("b", "a"):
            self.register_parameter(name, nn.Parameter(torch.zeros(2)))
        """,
    "the order of a list of parameters": """
        p, q = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3))
        self.ps = nn.ParameterList([p, q] if flag else [q, p])
        """,
    "the order of a dict of parameters": """
        p, q = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3))
        self.ps = nn.ParameterDict({"p": p, "q": q} if flag else {"q": q, "p": p})
        self.first = nn.Linear(next(iter(self.ps.values())).shape[0], 1)
        """,
    "a parameter appended in place to a list of parameters": """
        self.ps = nn.ParameterList([nn.Parameter(torch.zeros(2))])
        if flag:
            self.ps.append(nn.Parameter(torch.zeros(3)))
        self.c = nn.Linear(len(self.ps), 1)
        """,
    "a parameter frozen through its module on one path": """
        self.a = nn.Linear(2, 2)
        if flag:
            freeze(self.a)
        if not self.a.weight.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "a parameter registered under another name on one path": """
        self.a = nn.Linear(2, 2)
        p = self.a.weight
        if flag:
            self.p = p
        else:
            self.q = p
        """,
    "a parameter that becomes a buffer": """
        self.w = nn.Parameter(torch.zeros(2))
        if flag:
            data = self.w.data
            del self.w
            self.register_buffer("w", data)
        """,
    # Modules.
    "the class of a child replaced": """
        self.a = Block(2)
        if flag:
            self.a.__class__ = Other
        if isinstance(self.a, Other):
            self.c = nn.Linear(2, 2)
        """,
    "the class of the module itself replaced": """
        if flag:
            self.__class__ = type("Special", (Net,), {})
        """,
    "the training flag set in place": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.eval()
        if self.a.training:
            self.c = nn.Linear(2, 2)
        """,
    "the training flag of modules made alike": """
        m = nn.Linear(2, 2).eval() if flag else nn.Linear(2, 2)
        self.m = m
        self.c = Reader(m)
        """,
    "the training flag of a child of a module": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
        if flag:
            self.a.train(False)
        self.c = Reader(self.a[1])
        """,
    "constructor arguments of modules otherwise alike": """
        self.a = Tag(1) if flag else Tag(2)
        """,
    "a constructor argument given on one path only": """
        if flag:
            m = Block()
        else:
            m = Block(n=1)
        self.m = m
        """,
    "an attribute read back from a layer": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.in_features = 5
        self.c = nn.Linear(self.a.in_features, 1)
        """,
    "an attribute of other name on modules made alike": """
        if flag:
            m = nn.ReLU()
            m.tag = 1
        else:
            m = nn.ReLU()
            m.mark = 1
        self.m = m
        self.c = ByTag(m)
        """,
    "an attribute taken off a module": """
        self.a = nn.ReLU()
        self.a.tag = 1
        if flag:
            delattr(self.a, "tag")
        self.c = ByTag(self.a)
        """,
    "a buffer's name added to those not persistent": """
        self.register_buffer("b", torch.zeros(2))
        if flag:
            self._non_persistent_buffers_set.add("b")
        """,
    "a buffer's name discarded from those not persistent": """
        self.register_buffer("b", torch.zeros(2), persistent=False)
        if flag:
            self._non_persistent_buffers_set.discard("b")
        """,
    "the set of names not persistent replaced": """
        self.a = Holder()
        self.a._non_persistent_buffers_set = {"b"} if flag else set()
        """,
    "a child's buffer made not persistent in a loop of unknown count": """
        self.a = Holder()
        for _ in range(int(flag)):
            self.a._non_persistent_buffers_set.add("b")
        """,
    "buffers made not persistent by a while loop": """
        self.register_buffer("b", torch.zeros(2))
        while flag:
            self._non_persistent_buffers_set.add("b")
            break
        """,
    "a buffer registered again in a loop, not persistent": """
        self.register_buffer("b", torch.zeros(2))
        for _ in [0] * int(flag):
            self.register_buffer("b", torch.zeros(2), persistent=False)
        """,
    "a buffer not persistent in modules made alike": """
        if flag:
            m = nn.Module()
            m.register_buffer("b", torch.zeros(2))
        else:
            m = nn.Module()
            m.register_buffer("b", torch.zeros(2), persistent=False)
        self.m = m
        """,
    "a hook that is registered on one path": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.register_forward_hook(lambda m, i, o: o)
        if len(self.a._forward_hooks) > 0:
            self.c = nn.Linear(2, 2)
        """,
    "a hook that is removed on one path": """
        self.a = nn.Linear(2, 2)
        handle = self.a.register_forward_pre_hook(lambda m, i: None)
        if flag:
            handle.remove()
        if not self.a._forward_pre_hooks:
            self.c = nn.Linear(2, 2)
        """,
    "a hook that changes the output, called": """
        self.a = nn.Identity()
        if flag:
            self.a.register_forward_hook(lambda m, i, o: torch.zeros(5))
        self.c = nn.Linear(self.a(torch.zeros(3)).shape[0], 1)
        """,
    "forward replaced on an instance": """
        self.a = nn.Identity()
        if flag:
            self.a.forward = lambda x: torch.zeros(5)
        self.c = nn.Linear(self.a(torch.zeros(3)).shape[0], 1)
        """,
    "forward of a class replaced": """
        before = Scale.forward
        if flag:
            Scale.forward = Widened.forward
        self.c = nn.Linear(Scale()(torch.zeros(3)).shape[0], 1)
        Scale.forward = before
        """,
    "whether forward stands in the instance": """
        self.a = nn.Identity()
        if flag:
            self.a.forward = self.a.forward
        if "forward" in self.a.__dict__:
            self.c = nn.Linear(2, 2)
        """,
    "a layer appended on one path": """
        self.layers = nn.ModuleList([nn.Linear(1, 1)])
        if flag:
            self.layers.append(nn.ReLU())
        self.c = nn.Linear(len(self.layers), 1)
        """,
    "a layer inserted at the front": """
        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.Tanh()])
        if flag:
            self.layers.insert(0, nn.ReLU())
        """,
    "a layer inserted at one place or another": """
        self.layers = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
        self.layers.insert(0 if flag else 2, nn.ReLU())
        """,
    "layers in order or reversed": """
        ls = [nn.Linear(1, 1), nn.ReLU(), nn.Tanh()]
        self.layers = nn.Sequential(*ls[:: 1 if flag else -1])
        """,
    "the order of layers in place reversed": """
        ls = [nn.Linear(1, 1), nn.ReLU()]
        if flag:
            ls.reverse()
        self.layers = nn.ModuleList(ls)
        """,
    "a layer popped": """
        self.layers = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
        if flag:
            self.layers.pop(0)
        self.c = type(self.layers[0])() if not isinstance(self.layers[0], nn.Linear) else nn.Identity()
        """,
    "a slice of a Sequential": """
        seq = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Tanh())
        self.layers = seq[1:] if flag else seq[:2]
        """,
    "an item of a Sequential replaced": """
        self.layers = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        if flag:
            self.layers[1] = nn.Tanh()
        if isinstance(self.layers[1], nn.Tanh):
            self.c = nn.Linear(2, 2)
        """,
    "an item deleted so that the others move up": """
        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(2, 1), nn.Linear(3, 1)])
        del self.layers[0 if flag else 1]
        self.c = nn.Linear(self.layers[1].in_features, 1)
        """,
    "the order of keys of a ModuleDict": """
        a, b = nn.Linear(1, 1), nn.ReLU()
        self.d = nn.ModuleDict({"a": a, "b": b} if flag else {"b": b, "a": a})
        self.first = nn.ReLU() if next(iter(self.d)) == "a" else nn.Tanh()
        """,
    "a ModuleDict updated on one path": """
        self.d = nn.ModuleDict({"a": nn.Linear(1, 1)})
        if flag:
            self.d.update({"a": nn.ReLU(), "b": nn.Tanh()})
        self.c = nn.Linear(len(self.d), 1)
        """,
    "a key of a ModuleDict popped and put back": """
        self.d = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
        if flag:
            self.d["a"] = self.d.pop("a")
        """,
    "a ModuleDict key decided by the flag": """
        self.d = nn.ModuleDict()
        self.d["x" if flag else "y"] = nn.Linear(1, 1)
        self.e = nn.ModuleDict()
        self.e[f"k{int(flag)}"] = nn.ReLU()
        """,
    "weight norm on one path": """
        self.a = nn.Linear(2, 2)
        if flag:
            nn.utils.weight_norm(self.a)
        """,
    "weight norm removed on one path": """
        self.a = nn.utils.weight_norm(nn.Linear(2, 2))
        if flag:
            nn.utils.remove_weight_norm(self.a)
        """,
    "weight norm over another dimension": """
        self.a = nn.utils.weight_norm(nn.Linear(2, 3), dim=0 if flag else 1)
        """,
    "spectral norm on one path": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a = nn.utils.spectral_norm(self.a)
        """,
    "a parametrization on one path": """
        self.a = nn.Linear(2, 2)
        if flag:
            parametrize.register_parametrization(self.a, "weight", Scale())
        """,
    "a parametrization of the weight or the bias": """
        self.a = nn.Linear(2, 2)
        parametrize.register_parametrization(self.a, "weight" if flag else "bias", Scale())
        """,
    "a parametrization removed on one path": """
        self.a = nn.Linear(2, 2)
        parametrize.register_parametrization(self.a, "weight", Scale())
        if flag:
            parametrize.remove_parametrizations(self.a, "weight")
        if parametrize.is_parametrized(self.a):
            self.c = nn.Linear(2, 2)
        """,
    "modules made alike of which one is parametrized": """
        def make():
            return nn.Linear(2, 2)
        self.a = nn.utils.parametrizations.weight_norm(make()) if flag else make()
        """,
    "a weight pruned on one path": """
        from torch.nn.utils import prune
        self.a = nn.Linear(2, 2)
        if flag:
            prune.identity(self.a, "weight")
        """,
    "the dtype that a module is moved to": """
        self.a = nn.Linear(2, 2)
        self.register_buffer("b", torch.zeros(2, dtype=torch.int64))
        if flag:
            self.half()
        """,
    "a module moved to a dtype that the flag gives": """
        self.a = nn.BatchNorm1d(2).to(torch.float64 if flag else torch.float16)
        """,
    "requires_grad_ of the flag": """
        self.a = nn.Linear(2, 2).requires_grad_(flag)
        """,
    "requires_grad_ of a child in a loop that breaks": """
        self.layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
        for layer in self.layers:
            layer.requires_grad_(False)
            if flag:
                break
        """,
    "what apply does to each module": """
        def visit(m):
            if flag:
                m.tag = 1
        self.a = nn.Linear(2, 2)
        self.apply(visit)
        self.c = ByTag(self.a)
        """,
    "a function that apply runs chosen by the flag": """
        def halve(m):
            if isinstance(m, nn.Linear):
                m.half()
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.apply(halve if flag else freeze)
        """,
    "a child deleted": """
        self.a = nn.Linear(2, 2)
        self.b = nn.ReLU()
        if flag:
            del self.a
        if hasattr(self, "a"):
            self.c = nn.Linear(2, 2)
        """,
    "a child deleted and put back": """
        self.a = nn.Linear(2, 2)
        self.b = nn.ReLU()
        if flag:
            a = self.a
            del self.a
            self.a = a
        """,
    "the store of children cleared": """
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        if flag:
            self.a._modules.clear()
        self.a.append(nn.Tanh())
        """,
    "the store of children replaced in another order": """
        self.a = nn.Linear(2, 2)
        self.b = nn.ReLU()
        if flag:
            self._modules = dict(reversed(list(self._modules.items())))
        """,
    "a child moved to the end of the store": """
        self.a = nn.Linear(2, 2)
        self.b = nn.ReLU()
        name = "a" if flag else "b"
        self._modules[name] = self._modules.pop(name)
        """,
    "a name given to add_module": """
        self.add_module("a" if flag else "b", nn.Linear(2, 2))
        """,
    "a name made with the flag and set by setattr": """
        for i in range(2):
            setattr(self, f"layer{i + int(flag)}", nn.Linear(i + 1, 1))
        """,
    "a child set to None": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a = None
        if self.a is not None:
            self.c = nn.Linear(2, 2)
        """,
    "None first, then a child or a plain value": """
        self.a = None
        if flag:
            self.a = nn.Linear(2, 2)
        else:
            self.a = 3
        """,
    "a plain attribute that hides a later child": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.__dict__["a"] = nn.Linear(5, 2)
        self.c = nn.Linear(self.a.in_features, 1)
        """,
    "a child that is hidden by object.__setattr__ on one path": """
        m = nn.Linear(2, 2)
        if flag:
            object.__setattr__(self, "m", m)
        else:
            self.m = m
        """,
    "what named_children finds": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.b = nn.ReLU()
        for name, child in list(self.named_children()):
            setattr(self, name + "_copy", copy.deepcopy(child))
        """,
    "children replaced in a walk over the tree": """
        self.a = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        for name, child in self.a.named_children():
            if isinstance(child, nn.ReLU) and flag:
                setattr(self.a, name, nn.Tanh())
        """,
    # Changes of one of two objects.
    "one of two children set to eval": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        (self.a if flag else self.b).eval()
        self.c = Reader(self.a)
        self.d = Reader(self.b)
        """,
    "one of two children frozen": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        m = self.a if flag else self.b
        m.requires_grad_(False)
        """,
    "one of two children of another dtype": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        getattr(self, "a" if flag else "b").double()
        """,
    "one of two children given a further child": """
        self.a, self.b = nn.Module(), nn.Module()
        (self.a if flag else self.b).add_module("x", nn.Linear(2, 2))
        """,
    "one of two children given a buffer that is not persistent": """
        self.a, self.b = Holder(), Holder()
        (self.a if flag else self.b).register_buffer("b", torch.zeros(2), persistent=False)
        """,
    "the set of one of two children changed": """
        self.a, self.b = Holder(), Holder()
        (self.a if flag else self.b)._non_persistent_buffers_set.add("b")
        """,
    "the class of one of two children replaced": """
        self.a, self.b = Block(), Block()
        m = self.a if flag else self.b
        m.__class__ = Other
        """,
    "the bias of one of two children deleted": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        m = self.a if flag else self.b
        del m.bias
        """,
    "a mark on one of two parameters": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        (self.a if flag else self.b).weight.tag = 1
        self.c, self.d = ByTag(self.a.weight), ByTag(self.b.weight)
        """,
    "a mark on one of two tensors": """
        a, b = torch.zeros(2), torch.zeros(2)
        (a if flag else b).tag = 1
        self.c, self.d = ByTag(a), ByTag(b)
        """,
    "one of two tensors filled": """
        a, b = torch.ones(1), torch.ones(1)
        (a if flag else b).fill_(2)
        self.c, self.d = nn.Linear(int(a), 1), nn.Linear(int(b), 1)
        """,
    "one of two parameters frozen by assignment": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        p = self.a.weight if flag else self.b.weight
        p.requires_grad = False
        """,
    "the data of one of two parameters": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        p = self.a.weight if flag else self.b.weight
        p.data = torch.zeros(7)
        """,
    "forward of one of two children replaced": """
        self.a, self.b = nn.Identity(), nn.Identity()
        (self.a if flag else self.b).forward = lambda x: torch.zeros(7)
        self.c = nn.Linear(self.a(torch.zeros(3)).shape[0], 1)
        """,
    "one of two children parametrized": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        parametrize.register_parametrization(self.a if flag else self.b, "weight", Scale())
        """,
    "weight norm of one of two children": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        nn.utils.weight_norm(self.a if flag else self.b)
        """,
    "one of two lazy parameters made real": """
        self.a, self.b = nn.UninitializedParameter(), nn.UninitializedParameter()
        (self.a if flag else self.b).materialize((2, 2))
        """,
    "one item of a ModuleList chosen by index": """
        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
        self.layers[int(flag)].eval().half()
        self.layers[int(flag)] = nn.ReLU()
        """,
    "one of two lists of layers grown": """
        self.a, self.b = nn.ModuleList(), nn.ModuleList()
        (self.a if flag else self.b).append(nn.Linear(1, 1))
        """,
    "one of two Sequentials shortened": """
        self.a = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        self.b = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        (self.a if flag else self.b).pop(-1)
        """,
    "one of two children moved to a device": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        (self.a if flag else self.b).to("meta")
        self.c, self.d = ByDevice(self.a.weight), ByDevice(self.b.weight)
        """,
    # Sharing and identity.
    "the same module under two names on one path": """
        self.a = nn.Linear(2, 2)
        self.b = self.a if flag else nn.Linear(2, 2)
        """,
    "an identity that is asked for": """
        a = nn.Linear(2, 2)
        b = a if flag else nn.Linear(2, 2)
        if a is b:
            self.c = nn.Linear(2, 2)
        """,
    "a module asked for in a list by identity": """
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        found = [a] if flag else [b]
        self.c = nn.ReLU() if a in found else nn.Tanh()
        """,
    "one module twice or two modules": """
        if flag:
            layers = [nn.Linear(2, 2)] * 2
        else:
            layers = [nn.Linear(2, 2) for _ in range(2)]
        self.layers = nn.ModuleList(layers)
        """,
    "a dict of one module twice or of two": """
        m = nn.ReLU()
        d = {"x": m, "y": m} if flag else {"x": nn.ReLU(), "y": nn.ReLU()}
        self.d = nn.ModuleDict(d)
        """,
    "pairs made alike of which one is the same twice": """
        if flag:
            m = nn.Linear(2, 2)
            pair = (m, m)
        else:
            pair = (nn.Linear(2, 2), nn.Linear(2, 2))
        self.first, self.second = pair
        """,
    "two modules made in either order": """
        if flag:
            a = nn.Linear(2, 2)
            b = nn.Linear(2, 2)
        else:
            b = nn.Linear(2, 2)
            a = nn.Linear(2, 2)
        self.a, self.b = a, b
        a.eval()
        self.c = Reader(self.b)
        """,
    "an item of a list that becomes another of its items": """
        layers = [nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)]
        if flag:
            layers[2] = layers[0]
        self.layers = nn.ModuleList(layers)
        """,
    "a module, a copy of it, or a deep copy": """
        self.a = nn.Linear(2, 2)
        self.b = copy.copy(self.a) if flag else copy.deepcopy(self.a)
        """,
    "a module or its deep copy": """
        self.a = nn.Sequential(nn.Linear(2, 2))
        self.b = self.a if flag else copy.deepcopy(self.a)
        self.b.append(nn.ReLU())
        """,
    "whether a cache gives what it gave before": """
        self.a = cached(2 if flag else 3)
        self.b = cached(3)
        """,
    "a cache that is cleared between": """
        self.a = cached(2)
        if flag:
            cached.cache_clear()
        self.b = cached(2)
        """,
    "a dict that keeps what was made": """
        made = {}
        self.a = made.setdefault("x", nn.Linear(2, 2))
        self.b = made.setdefault("x" if flag else "y", nn.Linear(2, 2))
        """,
    "modules seen by id": """
        a = nn.Linear(2, 2)
        seen = {id(a)}
        b = a if flag else nn.Linear(2, 2)
        if id(b) in seen:
            self.c = nn.Linear(2, 2)
        """,
    "a buffer shared by two modules on one path": """
        t = torch.zeros(2)
        self.register_buffer("a", t)
        self.register_buffer("b", t if flag else t.clone())
        """,
    "a list aliased or copied and then grown": """
        layers = [nn.Linear(1, 1)]
        more = layers if flag else list(layers)
        more.append(nn.ReLU())
        self.layers = nn.ModuleList(layers)
        """,
    "a Sequential unpacked or kept": """
        s = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        self.s = nn.Sequential(*s) if flag else s
        s.append(nn.Tanh())
        """,
    "a parent held by its child on one path": """
        self.a = nn.ReLU()
        if flag:
            object.__setattr__(self.a, "owner", self)
        if hasattr(self.a, "owner"):
            self.c = nn.Linear(2, 2)
        """,
    # Loops.
    "a loop of unknown count that makes layers": """
        self.layers = nn.ModuleList()
        for i in range(2 if flag else 3):
            self.layers.append(nn.Linear(i + 1, 1))
        """,
    "a width that a loop of unknown count doubles": """
        width = 1
        for _ in range(1 + int(flag)):
            width *= 2
        self.c = nn.Linear(width, 1)
        """,
    "a layer that the last turn leaves": """
        for i in range(1 + int(flag)):
            self.a = nn.Linear(i + 1, 1)
        """,
    "weights tied from turn to turn": """
        self.layers = nn.ModuleList()
        before = None
        for _ in range(1 + int(flag)):
            layer = nn.Linear(2, 2)
            if before is not None:
                layer.weight = before.weight
            self.layers.append(layer)
            before = layer
        """,
    "a training flag changed in a loop of unknown count": """
        self.a = nn.Linear(2, 2)
        for _ in range(int(flag)):
            self.a.eval()
        self.c = Reader(self.a)
        """,
    "a mark set in a loop of unknown count": """
        self.a = nn.Linear(2, 2)
        for _ in range(int(flag)):
            self.a.weight.tag = 1
        self.c = ByTag(self.a.weight)
        """,
    "a device changed in a loop of unknown count": """
        self.a = nn.Linear(2, 2)
        for _ in range(int(flag)):
            self.a.to("meta")
        self.c = ByDevice(self.a.weight)
        """,
    "the class of a child replaced in a loop of unknown count": """
        self.a = Block()
        for _ in range(int(flag)):
            self.a.__class__ = Other
        """,
    "the order of children turned in a loop of unknown count": """
        self.a = nn.Sequential(collections.OrderedDict(x=nn.ReLU(), y=nn.Tanh()))
        for _ in range(int(flag)):
            x = self.a.x
            del self.a.x
            self.a.x = x
        """,
    "the order of plain attributes turned in a loop of unknown count": """
        c = Config(1)
        c.depth = 2
        for _ in range(int(flag)):
            width = c.width
            del c.width
            c.width = width
        self.layers = nn.ModuleList(nn.Linear(value, 1) for value in vars(c).values())
        """,
    "the order of a dict turned in a loop of unknown count": """
        d = {"x": 1, "y": 2}
        for _ in range(int(flag)):
            d["x"] = d.pop("x")
        self.layers = nn.ModuleList(nn.Linear(value, 1) for value in d.values())
        """,
    "children exchanged in a loop of unknown count": """
        a, b = nn.Linear(1, 1), nn.Linear(2, 1)
        for _ in range(int(flag)):
            a, b = b, a
        self.a, self.b = a, b
        """,
    "a while loop that ends by the flag": """
        n = 0
        while True:
            setattr(self, f"l{n}", nn.Linear(n + 1, 1))
            n += 1
            if flag or n == 3:
                break
        """,
    "the else of a loop": """
        for i in range(2):
            if flag:
                break
        else:
            self.c = nn.Linear(2, 2)
        self.d = nn.Linear(i + 1, 1)
        """,
    "a loop that continues past a layer": """
        self.layers = nn.ModuleList()
        for i in range(3):
            if flag and i == 1:
                continue
            self.layers.append(nn.Linear(i + 1, 1))
        """,
    "an inner loop that breaks": """
        self.layers = nn.ModuleList()
        for i in range(2):
            for j in range(2):
                if flag and j:
                    break
                self.layers.append(nn.Linear(i + 1, j + 1))
        """,
    "an iterator advanced on one path": """
        it = iter([2, 3, 4])
        if flag:
            next(it)
        self.c = nn.Linear(next(it), 1)
        """,
    "an iterator advanced in a loop of unknown count": """
        it = iter([2, 3, 4])
        for _ in range(int(flag)):
            next(it)
        self.c = nn.Linear(next(it), 1)
        """,
    "an iterator of modules used up on one path": """
        it = iter([nn.ReLU(), nn.Tanh()])
        if flag:
            list(it)
        self.layers = nn.ModuleList(it)
        """,
    "a generator of layers advanced once": """
        g = layers(3)
        if flag:
            next(g)
        self.layers = nn.ModuleList(g)
        """,
    "a generator of layers of unknown count": """
        self.layers = nn.Sequential(*layers(2 if flag else 3))
        """,
    "a generator that is sent the width": """
        def grow():
            width = yield
            while True:
                width = yield nn.Linear(width, 1)
        g = grow()
        next(g)
        self.a = g.send(2 if flag else 3)
        self.b = g.send(4)
        """,
    "a generator closed on one path": """
        g = layers(2)
        self.a = next(g)
        if flag:
            g.close()
        self.b = next(g, None)
        """,
    "a count shared by two loops": """
        n = itertools.count(1)
        if flag:
            self.a = nn.Linear(next(n), 1)
        self.b = nn.Linear(next(n), 1)
        """,
    "a cycle of activations turned once": """
        acts = itertools.cycle([nn.ReLU, nn.Tanh])
        if flag:
            next(acts)
        self.layers = nn.Sequential(*[next(acts)() for _ in range(3)])
        """,
    "a zip whose parts are shared": """
        it = iter(range(1, 6))
        if flag:
            next(it)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(it, it))
        """,
    "a comprehension with a filter": """
        self.layers = nn.ModuleList([nn.Linear(i, 1) for i in (1, 2, 3) if i != 2 or flag])
        """,
    "a filter over names of a dict of layers": """
        d = {"a": nn.Linear(1, 1), "b": nn.ReLU()}
        self.d = nn.ModuleDict({k: v for k, v in d.items() if flag or k == "b"})
        """,
    "an accumulated width in a walrus": """
        width = 1
        self.layers = nn.ModuleList([nn.Linear(width, width := width * (2 if flag else 3)) for _ in range(2)])
        """,
    # Exceptions and ways out.
    "an exception between two children": """
        try:
            self.a = nn.Linear(1, 1)
            if flag:
                raise ValueError
            self.b = nn.ReLU()
        except ValueError:
            self.c = nn.Tanh()
        """,
    "a key that is not there": """
        try:
            cls = {True: nn.ReLU}[flag]
        except KeyError:
            cls = nn.Tanh
        self.a = cls()
        """,
    "a mark set before an exception": """
        self.a = nn.Linear(2, 2)
        try:
            if flag:
                self.a.eval()
                self.a.weight.tag = 1
                raise ValueError
        except ValueError:
            pass
        self.c, self.d = Reader(self.a), ByTag(self.a.weight)
        """,
    "a buffer registered before an exception in a function": """
        def build(m):
            m.register_buffer("b", torch.zeros(2), persistent=False)
            1 / int(flag)
            m.register_buffer("b", torch.zeros(2))
        self.a = nn.Module()
        try:
            build(self.a)
        except ZeroDivisionError:
            pass
        """,
    "what finally changes back": """
        self.a = nn.Linear(2, 2)
        try:
            if flag:
                self.a.eval()
                raise ValueError
        except ValueError:
            self.b = nn.ReLU()
        finally:
            self.c = Reader(self.a)
        """,
    "a return in a finally": """
        def build():
            try:
                if flag:
                    raise ValueError
                return nn.ReLU()
            finally:
                if flag:
                    return nn.Tanh()
        self.a = build()
        """,
    "suppressed exceptions": """
        with contextlib.suppress(KeyError):
            self.a = nn.Linear(1, 1)
            {True: 1}[flag]
            self.b = nn.ReLU()
        """,
    "an exception that a manager swallows": """
        with swallowing():
            self.a = nn.Linear(1, 1)
            if flag:
                raise ValueError
            self.a = nn.ReLU()
        """,
    "a manager that is entered on one path": """
        self.a = nn.Linear(2, 2)
        with entered(self.a) if flag else contextlib.nullcontext():
            self.c = Reader(self.a)
        self.d = Reader(self.a)
        """,
    "what an ExitStack runs at its end": """
        self.a = nn.Linear(2, 2)
        with contextlib.ExitStack() as stack:
            if flag:
                stack.callback(self.a.eval)
            self.b = Reader(self.a)
        self.c = Reader(self.a)
        """,
    "the else of a try": """
        try:
            [0][int(flag)]
        except IndexError:
            self.a = nn.ReLU()
        else:
            self.b = nn.Tanh()
        """,
    "an exception that carries a layer": """
        class Found(Exception):
            pass
        try:
            raise Found(nn.ReLU() if flag else nn.Tanh())
        except Found as e:
            self.a = e.args[0]
        """,
    "a match on the flag": """
        match flag:
            case True:
                self.a = nn.ReLU()
            case _:
                self.b = nn.Tanh()
        """,
    "an assertion that fails on one path": """
        self.a = nn.ReLU()
        try:
            assert flag, "no"
            self.b = nn.Tanh()
        except AssertionError as e:
            self.c = nn.Linear(len(str(e)), 1)
        """,
    "an early return": """
        self.a = nn.ReLU()
        if flag:
            return
        self.b = nn.Tanh()
        """,
    # Functions, methods, recursion and constructions that are remembered.
    "a recursion of unknown depth": """
        def nest(n):
            return nn.Sequential(nn.ReLU(), nest(n - 1)) if n else nn.Tanh()
        self.a = nest(1 if flag else 2)
        """,
    "a function that returns early": """
        def build(m):
            m.a = nn.ReLU()
            if flag:
                return m
            m.b = nn.Tanh()
            return m
        self.m = build(nn.Module())
        """,
    "a nonlocal count changed in a helper": """
        n = 1
        def bump():
            nonlocal n
            n += 1
        if flag:
            bump()
        self.c = nn.Linear(n, 1)
        """,
    "a default that is shared by calls": """
        def build(seen=[]):
            seen.append(1)
            return nn.Linear(len(seen), 1)
        if flag:
            build()
        self.c = build()
        """,
    "an attribute of a function": """
        def build():
            return nn.Linear(build.width, 1)
        build.width = 1
        if flag:
            build.width = 2
        self.c = build()
        """,
    "a method replaced on an instance": """
        def wide():
            return 5
        c = Config(2)
        c.size = lambda: 3
        if flag:
            c.size = wide
        self.c = nn.Linear(c.size(), 1)
        """,
    "a bound method of one of two modules": """
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        f = self.a.eval if flag else self.b.eval
        f()
        self.c, self.d = Reader(self.a), Reader(self.b)
        """,
    "a count of constructions changed by one of them": """
        if flag:
            Counted()
        self.a = Counted()
        self.b = Counted()
        """,
    "a switch that the constructor reads and turns off": """
        self.a = Switched()
        if flag:
            Switch.on = True
        self.b = Switched()
        self.c = Switched()
        """,
    "a class attribute changed between equal constructions": """
        self.a = Block(2)
        if flag:
            Block.width = 5
        self.b = Block(2)
        """,
    "a config changed between equal constructions": """
        config = Config(2)
        self.a = Configured(config)
        if flag:
            config.width = 3
        self.b = Configured(config)
        """,
    "equal configs of which one is changed": """
        one, two = Config(2), Config(2)
        (one if flag else two).width = 3
        self.a, self.b = Configured(one), Configured(two)
        """,
    "equal constructions from tensors that differ in their device": """
        t = torch.zeros(2)
        self.a = ByDevice(t)
        if flag:
            t = t.to("meta")
        self.b = ByDevice(t)
        """,
    "equal constructions from tensors that differ in a mark": """
        p, q = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
        self.a = ByTag(p)
        if flag:
            q.tag = 1
        self.b = ByTag(q)
        self.c = ByTag(p)
        """,
    "equal constructions from modules that differ in training": """
        m = nn.Linear(2, 2)
        for i in range(3):
            if i == 1 and flag:
                m.eval()
            setattr(self, f"r{i}", Reader(m))
        """,
    "equal constructions with another default dtype": """
        self.a = Block(2)
        if flag:
            torch.set_default_dtype(torch.float64)
        self.b = Block(2)
        torch.set_default_dtype(torch.float32)
        """,
    "equal constructions inside or outside a device": """
        class Made(nn.Module):
            def __init__(self):
                super().__init__()
                t = torch.zeros(1)
                if t.is_meta:
                    self.extra = nn.Linear(2, 2)
        self.a = Made()
        with torch.device("meta" if flag else "cpu"):
            self.b = Made()
        """,
    "a factory called through a dict by the flag": """
        self.a = {True: Block, False: Other}[flag](3)
        """,
    "a partial with the flag's width": """
        make = functools.partial(nn.Linear, 2 if flag else 3)
        self.a = make(1)
        self.b = make(out_features=2)
        """,
    # Stores, names and classes.
    "a constructor of Module that ran on one path": """
        m = Late(flag)
        try:
            m.inner = nn.Linear(1, 1)
        except AttributeError:
            self.c = nn.ReLU()
        """,
    "a module made without or with its constructor": """
        if flag:
            m = Late(True)
        else:
            m = Late(False)
        if hasattr(m, "training") and "_modules" in m.__dict__:
            self.c = nn.ReLU()
        """,
    "a __setattr__ that keeps children out": """
        self.a = Gate()
        self.a.x = nn.Linear(1, 1)
        if flag:
            self.a.closed = True
        self.a.y = nn.ReLU()
        """,
    "a __getattr__ that asks the inner module": """
        inner = nn.Linear(2, 2)
        self.a = Delegating(inner)
        if flag:
            self.a.in_features = 5
        self.c = nn.Linear(self.a.in_features, 1)
        """,
    "a slot of None that keeps a place in the order": """
        if flag:
            self.register_module("x", None)
        self.y = nn.ReLU()
        self.x = nn.Tanh()
        """,
    "a slot of None that makes a tensor a buffer": """
        if flag:
            self.register_buffer("b", None)
        self.b = torch.zeros(2)
        """,
    "a slot of None that is not persistent": """
        self.register_buffer("b", None, persistent=flag)
        self.b = torch.zeros(2)
        """,
    "a buffer deleted and registered again": """
        self.register_buffer("b", torch.zeros(2), persistent=False)
        if flag:
            del self.b
        self.b = torch.zeros(2)
        """,
    "a buffer replaced by a parameter": """
        self.register_buffer("b", torch.zeros(2))
        if flag:
            del self.b
            self.b = nn.Parameter(torch.zeros(2))
        """,
    "the set of names not persistent shared by two modules": """
        self.a, self.b = Holder(), Holder()
        if flag:
            self.b._non_persistent_buffers_set = self.a._non_persistent_buffers_set
        self.a._non_persistent_buffers_set.add("b")
        """,
    "the store of buffers shared by two modules": """
        self.a, self.b = Holder(), Holder()
        if flag:
            self.b._buffers = self.a._buffers
        self.b.register_buffer("more", torch.zeros(3))
        """,
    "a shallow or a deep copy given a parameter": """
        self.a = nn.ReLU()
        b = copy.copy(self.a) if flag else copy.deepcopy(self.a)
        b.register_parameter("p", nn.Parameter(torch.zeros(2)))
        """,
    "what a module is updated with": """
        self.a, b = nn.Linear(2, 2), nn.Linear(3, 3)
        if flag:
            self.a.__dict__.update(b.__dict__)
        """,
    "a parameter renamed in its store": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a._parameters["kernel"] = self.a._parameters.pop("weight")
        """,
    "a plain attribute replaced by a child": """
        self.x = 1
        if flag:
            self.x = nn.ReLU()
        if "x" in self.__dict__:
            self.c = nn.Tanh()
        """,
    "whether a ModuleList is empty": """
        self.layers = nn.ModuleList()
        if flag:
            self.layers.append(nn.ReLU())
        if self.layers:
            self.c = nn.Tanh()
        """,
    "a Sequential joined with another": """
        a = nn.Sequential(nn.ReLU())
        if flag:
            a += nn.Sequential(nn.Tanh())
        self.a = a
        self.b = a + nn.Sequential(nn.GELU())
        """,
    "a slice of layers deleted": """
        self.layers = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())
        if flag:
            del self.layers[1:]
        """,
    "a training flag that is assigned": """
        self.a = nn.ReLU()
        self.a.training = flag
        self.c = Reader(self.a)
        """,
    "a state loaded in place of the parameters": """
        self.a, b = nn.Linear(2, 2), nn.Linear(2, 2).double()
        if flag:
            self.a.load_state_dict(b.state_dict(), assign=True)
        """,
    "a class defined on either path": """
        if flag:
            class Local(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.x = nn.ReLU()
        else:
            class Local(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.y = nn.Tanh()
        self.a = Holder()
        self.a.child = Local()
        """,
    "classes made alike over another width": """
        def make(n):
            class Made(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = nn.Linear(n, 1)
            return Made
        cls = make(2) if flag else make(3)
        self.a = cls()
        """,
    "classes made alike, asked whether they are one": """
        def make():
            class Made(nn.Module):
                pass
            return Made
        one = make()
        two = one if flag else make()
        if isinstance(two(), one):
            self.c = nn.ReLU()
        """,
    "a class made by a call with other methods": """
        def grow(self):
            return nn.Linear(2, 1)
        def shrink(self):
            return nn.Linear(1, 2)
        cls = type("Made", (nn.Module,), {"layer": grow if flag else shrink})
        self.a = cls().layer()
        """,
    "the bases of a class": """
        class Made(Block if flag else Other):
            pass
        self.a = Made(3)
        """,
    "lambdas made alike over another name": """
        if flag:
            n = 2
            f = lambda: nn.Linear(n, 1)
        else:
            m = 3
            f = lambda: nn.Linear(m, 1)
        self.a = f()
        """,
    "a mixin of the class replaced": """
        class Wide(Block):
            width = 7
        self.a = Block()
        if flag:
            self.a.__class__ = Wide
        self.c = nn.Linear(self.a.width, 1)
        """,
    # Further tensors.
    "a parameter of a subclass without a constructor": """
        self.p = Marked(torch.zeros(2))
        self.q = nn.Linear(2, 2) if flag else None
        """,
    "the device of a parameter, as text": """
        p = nn.Parameter(torch.zeros(2, device="meta")) if flag else nn.Parameter(torch.zeros(2))
        if str(p.device) == "cpu":
            self.c = nn.Linear(2, 2)
        """,
    "the default device": """
        torch.set_default_device("meta" if flag else "cpu")
        t = torch.zeros(2)
        torch.set_default_device("cpu")
        self.c = ByDevice(t)
        """,
    "the device of what is computed": """
        t = torch.zeros(2)
        if flag:
            t = t.to("meta")
        u = t * 2
        self.c = ByDevice(u)
        """,
    "elements that init writes": """
        p = nn.Parameter(torch.zeros(1))
        nn.init.constant_(p, 2.0 if flag else 3.0)
        self.c = nn.Linear(int(p.item()), 1)
        """,
    "elements written through data": """
        p = nn.Parameter(torch.ones(2))
        if flag:
            p.data.fill_(4)
        self.c = nn.Linear(int(p[0].item()), 1)
        """,
    "elements written through an item of data": """
        p = nn.Parameter(torch.ones(2))
        if flag:
            p.data[0] = 4
        self.c = nn.Linear(int(p[0].item()), 1)
        """,
    "elements copied without gradients": """
        p = nn.Parameter(torch.ones(1))
        with torch.no_grad():
            if flag:
                p.copy_(torch.full((1,), 5.0))
        self.c = nn.Linear(int(p.item()), 1)
        """,
    "elements written through numpy": """
        t = torch.ones(1)
        if flag:
            t.numpy()[0] = 4
        self.c = nn.Linear(int(t.item()), 1)
        """,
    "two parameters exchanged by swap_tensors": """
        p, q = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3))
        if flag:
            torch.swap_tensors(p, q)
        self.p, self.q = p, q
        """,
    "a tensor set to the memory of another": """
        t = torch.zeros(2)
        if flag:
            t.set_(torch.zeros(5))
        self.register_buffer("b", t)
        """,
    "the dtype of a buffer's data": """
        self.register_buffer("b", torch.zeros(2))
        if flag:
            self.b = self.b.half()
        if self.b.dtype is torch.float16:
            self.c = nn.Linear(2, 2)
        """,
    "the dtype of a parameter through its module": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.weight.data = self.a.weight.data.half()
        """,
    "parameters frozen by their names": """
        self.a = nn.Linear(2, 2)
        for name, p in self.a.named_parameters():
            p.requires_grad = flag or "bias" in name
        """,
    "a parameter made with requires_grad of the flag": """
        self.p = nn.Parameter(torch.zeros(2), requires_grad=flag)
        """,
    "a tensor whose rank an unsqueeze changes": """
        t = torch.zeros(2, 3)
        t = t.unsqueeze(0) if flag else t
        self.norm = nn.LayerNorm(t.shape[-1])
        self.layers = nn.ModuleList(nn.Linear(n, 1) for n in t.shape)
        """,
    "a grad_fn asked for": """
        p = nn.Parameter(torch.zeros(2))
        t = p * 2 if flag else p
        if t.grad_fn is None:
            self.c = nn.Linear(2, 2)
        """,
    "a mark that a deep copy takes along": """
        self.a = nn.Linear(2, 2)
        if flag:
            self.a.weight.tag = 1
        self.b = copy.deepcopy(self.a)
        self.c = ByTag(self.b.weight)
        """,
    "a mark on a parameter that is then replaced": """
        self.a = nn.Linear(2, 2)
        self.a.weight.tag = 1
        if flag:
            self.a.weight = nn.Parameter(torch.zeros(2, 2))
        self.c = ByTag(self.a.weight)
        """,
    "a parametrized weight that is cached": """
        self.a = nn.Linear(2, 2)
        parametrize.register_parametrization(self.a, "weight", Scale())
        w = self.a.weight
        if flag:
            parametrize.remove_parametrizations(self.a, "weight", leave_parametrized=False)
        self.w = w if w is self.a.weight else nn.Parameter(torch.zeros(7))
        """,
    # Further loops, iterators and calls.
    "one layer appended again and again": """
        m = nn.Linear(1, 1)
        self.layers = nn.ModuleList()
        for _ in range(1 + int(flag)):
            self.layers.append(m)
        self.last = self.layers[-1]
        """,
    "a layer replaced in a loop that may not run": """
        m = first = nn.Linear(2, 2)
        for _ in range(int(flag)):
            m = nn.Linear(2, 2)
        self.a, self.b = first, m
        """,
    "a stack that grows while it is emptied": """
        stack = [1]
        self.layers = nn.ModuleList()
        while stack:
            n = stack.pop()
            self.layers.append(nn.Linear(n, 1))
            if flag and n < 3:
                stack.append(n + 1)
        """,
    "a generator that registers what it makes": """
        def build():
            self.a = nn.ReLU()
            yield
            self.b = nn.Tanh()
            yield
        g = build()
        next(g)
        if flag:
            next(g)
        """,
    "a generator whose finally registers": """
        def build():
            try:
                yield nn.ReLU()
            finally:
                self.c = nn.Tanh()
        g = build()
        self.a = next(g)
        if flag:
            g.close()
        self.g = g
        """,
    "a yield from one generator or another": """
        def build():
            yield from layers(1) if flag else layers(2)
            yield nn.ReLU()
        self.layers = nn.Sequential(*build())
        """,
    "one of two iterators advanced": """
        a, b = iter([1, 2, 3]), iter([1, 2, 3])
        it = a if flag else b
        next(it)
        self.a, self.b = nn.Linear(next(a), 1), nn.Linear(next(b), 1)
        """,
    "one of two iterators that tee gives": """
        a, b = itertools.tee([1, 2, 3])
        if flag:
            next(a)
        self.a, self.b = nn.Linear(next(a), 1), nn.Linear(next(b), 1)
        """,
    "a map whose function registers": """
        def build(i):
            setattr(self, f"l{i}", nn.Linear(i, 1))
        m = map(build, [1, 2])
        next(m)
        if flag:
            next(m)
        """,
    "an iterator over a list that grows meanwhile": """
        widths = [1, 2]
        it = iter(widths)
        if flag:
            widths.append(3)
        self.layers = nn.ModuleList(nn.Linear(n, 1) for n in it)
        """,
    "a StopIteration that ends a loop": """
        it = iter([1, 2, 3])
        if flag:
            next(it)
        self.layers = nn.ModuleList()
        while True:
            try:
                self.layers.append(nn.Linear(next(it), 1))
            except StopIteration:
                break
        """,
    "an exception in the middle of a loop": """
        self.layers = nn.ModuleList()
        try:
            for i in range(3):
                if flag and i == 1:
                    raise ValueError
                self.layers.append(nn.Linear(i + 1, 1))
        except ValueError:
            self.layers.append(nn.ReLU())
        """,
    "a cached property read before or after a change": """
        c = Lazy(1)
        if flag:
            c.double
        c.width = 3
        self.a = nn.Linear(c.double, 1)
        """,
    "a registry that constructions grow": """
        if flag:
            Registered()
        self.a = Registered()
        """,
    "a registry cleared between constructions": """
        self.a = Registered()
        if flag:
            REGISTRY.clear()
        self.b = Registered()
        """,
    "the order of evaluation by an and": """
        def build(name, module):
            setattr(self, name, module)
            return flag
        build("a", nn.ReLU()) and build("b", nn.Tanh())
        """,
    "arguments that are unpacked": """
        kw = {"bias": False}
        if flag:
            kw["dtype"] = torch.float64
        self.a = nn.Linear(2, 3, **kw)
        """,
    "a decorator applied on one path": """
        def twice(f):
            return lambda: nn.Sequential(f(), f())
        def build():
            return nn.ReLU()
        if flag:
            build = twice(build)
        self.a = build()
        """,
    "a recursion that remembers what it made": """
        made = {}
        def build(n):
            if n not in made:
                made[n] = nn.Sequential(nn.Linear(1, 1), *([build(n - 1)] if n else []))
            return made[n]
        if flag:
            made[0] = nn.Sequential(nn.ReLU())
        self.a = build(1)
        """,
    # Modules that nothing registers.
    "a plain list or a ModuleList": """
        layers = [nn.Linear(1, 1), nn.ReLU()]
        self.layers = layers if flag else nn.ModuleList(layers)
        """,
    "a plain list that grows": """
        self.layers = [nn.Linear(1, 1)]
        if flag:
            self.layers.append(nn.ReLU())
        """,
    "a plain list of one class or another": """
        self.layers = [nn.ReLU()] if flag else [nn.Tanh()]
        """,
    "a plain list emptied": """
        self.layers = [nn.Linear(1, 1), nn.ReLU()]
        if flag:
            self.layers.clear()
        """,
    "a plain dict whose key the flag gives": """
        self.table = {"x" if flag else "y": nn.Linear(1, 1)}
        """,
    "a tuple that holds the registered layer or another": """
        self.a = nn.Linear(1, 1)
        self.pair = (self.a if flag else nn.Linear(1, 1),)
        """,
    "a hidden layer of a helper object": """
        c = Config(2)
        if flag:
            c.layer = nn.Linear(1, 1)
        self.config = c
        """,
    "a hidden layer in a partial": """
        self.f = functools.partial(F.relu, nn.ReLU()) if flag else F.relu
        """,
    "a hidden layer in a closure": """
        layer = nn.ReLU() if flag else nn.Tanh()
        self.f = lambda x: layer(x)
        """,
    "a hidden layer of a class attribute": """
        if flag:
            type(self).shared = nn.ReLU()
        self.own = [nn.Tanh()]
        """,
    "a hidden list that a child registers on one path": """
        self.layers = [nn.Linear(1, 1)]
        if flag:
            self.child = nn.Sequential(*self.layers)
        """,
    "the device of what is made like another": """
        t = torch.zeros(2, device="meta") if flag else torch.zeros(2)
        self.a, self.b = ByDevice(torch.zeros_like(t)), ByDevice(t.new_ones(3))
        """,
    "the default device asked for": """
        torch.set_default_device("meta" if flag else "cpu")
        name = torch.get_default_device().type
        torch.set_default_device(None)
        self.c = nn.Linear(len(name), 1)
        """,
    "a device of the flag as a manager": """
        with torch.device("cpu"):
            with torch.device("meta" if flag else "cpu"):
                a = torch.zeros(2)
            b = torch.zeros(2)
        self.a, self.b = ByDevice(a), ByDevice(b)
        """,
    "a tensor made of numbers inside a device": """
        with torch.device("meta") if flag else contextlib.nullcontext():
            a, b = torch.tensor([1.0, 2.0]), torch.Tensor([1.0])
        self.a, self.b = ByDevice(a), ByDevice(b)
        """,
    "the device of the parameters of a layer": """
        with torch.device("meta" if flag else "cpu"):
            layer = nn.Linear(2, 2)
        self.c = ByDevice(layer.weight)
        """,
    "the device of a layer that is moved": """
        layer = nn.Linear(2, 2)
        if flag:
            layer.to("meta")
        self.c = ByDevice(layer.bias)
        """,
    "the device of tensors joined": """
        a = torch.zeros(2, device="meta" if flag else "cpu")
        self.c = ByDevice(torch.cat([a, a]))
        """,
    "whether a tensor is on the cpu": """
        t = torch.zeros(2, device="meta") if flag else torch.zeros(2)
        if t.is_cpu:
            self.c = nn.Linear(2, 2)
        """,
    "whether a transposed tensor is contiguous": """
        t = torch.zeros(2, 3)
        if flag:
            t = t.t()
        if t.is_contiguous():
            self.c = nn.Linear(2, 2)
        """,
    "a gradient that is detached in place": """
        p = nn.Parameter(torch.zeros(2))
        t = p * 2
        if flag:
            t.detach_()
        if t.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "whether what a function gives needs a gradient": """
        p = nn.Parameter(torch.zeros(2, 2), requires_grad=flag)
        for i, t in enumerate((p @ p, torch.where(p > 0, p, p), torch.maximum(p, p), p.argmax(), p.sum(), p.tanh())):
            if t.requires_grad:
                setattr(self, f"c{i}", nn.Linear(2, 2))
        """,
    "what is computed in a function that records nothing": """
        @torch.no_grad()
        def without(p):
            return p * 2

        def recorded(p):
            return p * 2
        t = (without if flag else recorded)(nn.Parameter(torch.zeros(2)))
        if t.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "a gradient that backward makes": """
        self.p = nn.Parameter(torch.zeros(2))
        if flag:
            self.p.sum().backward()
        if self.p.grad is None:
            self.c = nn.Linear(2, 2)
        """,
    "a tensor changed by an operator in place": """
        a = torch.full((1,), 6)
        b = a
        if flag:
            a //= 2
        self.c = nn.Linear(int(b[0]), 1)
        """,
    "a list changed by an operator in place, one of two": """
        a, b = [1], [1]
        c = a if flag else b
        c += [2]
        self.a, self.b = nn.Linear(len(a), 1), nn.Linear(len(b), 1)
        """,
    "elements written through a row of a row": """
        t = torch.ones(2, 2, dtype=torch.int64)
        if flag:
            t[0][1] = 5
        self.c = nn.Linear(int(t.sum()), 1)
        """,
    "elements written through a part of a split": """
        t = torch.ones(4, dtype=torch.int64)
        a, b = t.chunk(2)
        if flag:
            a.zero_()
        self.c = nn.Linear(int(t.sum()) + 1, 1)
        """,
    "elements of a view after the whole is written": """
        t = torch.ones(4, dtype=torch.int64)
        v = t.view(2, 2)
        if flag:
            t += 1
        self.c = nn.Linear(int(v.sum()), 1)
        """,
    "elements of a parameter made of a tensor that is written": """
        t = torch.ones(1)
        self.p = nn.Parameter(t)
        if flag:
            t.fill_(3)
        self.c = nn.Linear(int(self.p.item()), 1)
        """,
    "elements of a buffer after a state is loaded": """
        self.a = Holder()
        other = Holder()
        other.b.fill_(3)
        if flag:
            self.a.load_state_dict(other.state_dict())
        self.c = nn.Linear(int(self.a.b[0]) + 1, 1)
        """,
    "elements of what is given to out": """
        a, b = torch.ones(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)
        if flag:
            torch.add(a, a, out=b)
        self.c = nn.Linear(int(b[0]), 1)
        """,
    "elements changed by an activation in place": """
        t = -torch.ones(1)
        F.relu(t, inplace=flag)
        self.c = nn.Linear(int(t[0]) + 2, 1)
        """,
    "elements changed by a layer in place": """
        t = -torch.ones(1)
        nn.ReLU(inplace=flag)(t)
        self.c = nn.Linear(int(t[0]) + 2, 1)
        """,
    "elements of an array written through a tensor": """
        import numpy as np
        a = np.zeros(2)
        t = torch.from_numpy(a)
        if flag:
            t.fill_(3)
        self.c = nn.Linear(int(a[0]) + 1, 1)
        """,
    "elements of an array written through a part of it": """
        import numpy as np
        a = np.zeros(4)
        b = a[:2]
        if flag:
            b[0] = 3
        self.c = nn.Linear(int(a[0]) + 1, 1)
        """,
    "elements of a copy of a view": """
        t = torch.ones(2, dtype=torch.int64)
        v = copy.deepcopy(t[:1])
        if flag:
            v.fill_(4)
        self.c = nn.Linear(int(t.sum()) + int(v[0]), 1)
        """,
    "elements of two that share memory, copied together": """
        t = torch.ones(2, dtype=torch.int64)
        a, b = copy.deepcopy((t, t[:1]))
        if flag:
            b.fill_(4)
        self.c = nn.Linear(int(a.sum()), 1)
        """,
    "elements of a tensor written to by chance": """
        t = torch.ones(2, dtype=torch.int64)
        v = t[:1]
        torch.nn.init.constant_(v, 3) if flag else None
        self.c = nn.Linear(int(t.sum()), 1)
        """,
    "a tensor as another tensor": """
        t = torch.ones(2)
        u = torch.as_tensor(t)
        if flag:
            u.fill_(4)
        self.c = nn.Linear(int(t.sum()), 1)
        """,
    "a parameter of a subclass with a constructor": """
        class Scaled(nn.Parameter):
            def __init__(self, data):
                self.factor = 3
        self.p = Scaled(torch.zeros(2)) if flag else nn.Parameter(torch.zeros(2))
        self.c = nn.Linear(getattr(self.p, "factor", 1), 1)
        """,
    "a subclass of Tensor without a constructor": """
        t = Plain([1.0, 2.0]) if flag else torch.zeros(2)
        self.register_buffer("b", t)
        self.c = nn.Linear(2 if type(t) is Plain else 3, 1)
        """,
    "a hook before a module is called": """
        self.a = nn.Identity()
        handle = self.a.register_forward_pre_hook(lambda m, args: (torch.zeros(5),))
        if flag:
            handle.remove()
        self.c = nn.Linear(self.a(torch.zeros(3)).shape[0], 1)
        """,
    "a hook that keeps what it sees": """
        seen = []
        self.a = nn.Linear(3, 4)
        if flag:
            self.a.register_forward_hook(lambda m, i, o: seen.append(o))
        self.a(torch.zeros(2, 3))
        self.c = nn.Linear(len(seen) + 1, 1)
        """,
    "a hook with the arguments by name": """
        self.a = nn.Identity()
        if flag:
            self.a.register_forward_pre_hook(lambda m, args, kwargs: ((torch.zeros(5),), kwargs), with_kwargs=True)
        self.c = nn.Linear(self.a(torch.zeros(3)).shape[0], 1)
        """,
    "the dict of a module replaced by that of another": """
        self.a, b = nn.Linear(2, 2), nn.Linear(3, 3)
        if flag:
            self.a.__dict__ = b.__dict__
        """,
    "an nn.Buffer that is asked whether it is persistent": """
        b = nn.Buffer(torch.zeros(3), persistent=flag)
        self.c = nn.Linear(2 if b.persistent else 3, 1)
        """,
    "a lazy parameter of another dtype": """
        self.p = nn.UninitializedParameter()
        self.p.materialize((2, 3), dtype=torch.float64 if flag else torch.float32)
        """,
    "the default dtype": """
        torch.set_default_dtype(torch.float64 if flag else torch.float32)
        self.register_buffer("b", torch.zeros(2))
        torch.set_default_dtype(torch.float32)
        """,
    "a tensor copied by to": """
        t = torch.ones(1)
        u = t.to(torch.float32, copy=flag)
        u.fill_(3)
        self.c = nn.Linear(int(t[0]), 1)
        """,
    "a contiguous tensor, of a transposed one": """
        t = torch.ones(2, 2)
        u = (t.t() if flag else t).contiguous()
        u.fill_(3)
        self.c = nn.Linear(int(t[0, 0]), 1)
        """,
    "the stride of a tensor": """
        t = torch.zeros(2, 3)
        u = t.t() if flag else t
        self.c = nn.Linear(u.stride(0) if isinstance(u.stride(0), int) else 1, 1)
        """,
    "a gradient in a block of inference": """
        p = nn.Parameter(torch.zeros(2))
        with torch.inference_mode(mode=flag):
            t = p * 2
        if t.requires_grad:
            self.c = nn.Linear(2, 2)
        """,
    "a store of modules put into the dict of a module": """
        self.a = nn.Sequential(nn.Linear(2, 2))
        if flag:
            self.a.__dict__["_modules"] = {"x": nn.ReLU()}
        """,
    "an item deleted that a list may not have": """
        self.l = nn.ModuleList([nn.Linear(1, 1)])
        try:
            del self.l[int(str(int(flag)))]
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "an item replaced that a list may not have": """
        self.l = nn.ModuleList([nn.Linear(1, 1)])
        try:
            self.l[int(str(int(flag)))] = nn.ReLU()
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "an entry read that is there on one path": """
        self.d = nn.ModuleDict()
        if flag:
            self.d["b"] = nn.ReLU()
        try:
            self.d["b"]
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "an entry deleted that is there on one path": """
        self.d = nn.ModuleDict()
        if flag:
            self.d["b"] = nn.ReLU()
        try:
            del self.d["b"]
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "an entry taken under one of two keys": """
        self.d = nn.ModuleDict({"a": nn.ReLU()})
        try:
            self.d.pop("a" if flag else "z")
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "an entry deleted under a key that is not known, of an open dict": """
        self.d = nn.ModuleDict({"True": nn.ReLU()})
        if flag:
            self.d["b"] = nn.ReLU()
        try:
            del self.d[str(flag)]
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "a submodule under one of two paths": """
        self.a = nn.ReLU()
        try:
            self.get_submodule("a" if flag else "b")
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "a submodule under a path that is not known": """
        self.a = nn.ModuleList([nn.ReLU()])
        try:
            self.get_submodule(f"a.{int(flag)}")
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "a parameter under one of two paths": """
        self.a = nn.Linear(1, 1)
        try:
            self.get_parameter("a.weight" if flag else "b")
        except Exception:
            self.k = nn.Linear(4, 4)
        """,
    "both paths raise, each something else": """
        try:
            if flag:
                raise ValueError
            else:
                raise KeyError
        except ValueError:
            self.a = nn.ReLU()
        except KeyError:
            self.b = nn.Tanh()
        """,
}

MIXED = {
    "a key of a ModuleDict": """
        m = nn.ModuleDict()
        if flag:
            m["b"] = nn.ReLU()
        m["a"] = nn.Linear(1, 2)
        m["b"] = nn.Linear(2, 3)
        """,
    "a key of a ModuleDict, by update": """
        m = nn.ModuleDict()
        if flag:
            m.update({"b": nn.ReLU()})
        m.update({"a": nn.Linear(1, 2), "b": nn.Linear(2, 3)})
        """,
    "a layer of a Sequential": """
        m = nn.Sequential()
        if flag:
            m.add_module("b", nn.ReLU())
        m.add_module("a", nn.Linear(1, 2))
        m.add_module("b", nn.Linear(2, 3))
        """,
    "a child of a Module": """
        m = nn.Module()
        if flag:
            m.b = nn.ReLU()
        m.a = nn.Linear(1, 2)
        m.b = nn.Linear(2, 3)
        """,
    "a child of a class of the project": """
        m = Scale()
        if flag:
            m.b = nn.ReLU()
        m.a = nn.Linear(1, 2)
        m.b = nn.Linear(2, 3)
        """,
    "an entry of `_modules`": """
        m = Scale()
        if flag:
            m._modules["b"] = nn.ReLU()
        m._modules["a"] = nn.Linear(1, 2)
        m._modules["b"] = nn.Linear(2, 3)
        """,
    "children in two orders": """
        m = Scale()
        for name in ("a", "b") if flag else ("b", "a"):
            setattr(m, name, nn.Linear(1, 2) if name == "a" else nn.Linear(2, 3))
        """,
}
"""Of two children, `b` is put before `a` or behind it."""

READ = (
    "list(m.children())[0].in_features",
    "[name for name, _ in m.named_children()].index('b')",
    "list(m.modules())[1].in_features",
    "[name for name, _ in m.named_modules()].index('b')",
    "next(m.parameters()).shape[0]",
    "[name for name, _ in m.named_parameters()].index('b.weight')",
    "list(m.state_dict()).index('b.weight')",
    "list(m._modules).index('b')",
    "next(iter(m._modules.values())).in_features",
    "('b', 'a').index(m._modules.popitem()[0])",
    "len(m._modules) + m.a.in_features + m.b.in_features",
)

CASES |= {
    f"{what}, {place}": f"{textwrap.dedent(body)}self.c = nn.Linear({read} + 1, 1)\n"
    for what, body in MIXED.items()
    for place, read in enumerate(READ)
}

KEPT = {
    "the parameters of a Module": """
        m = nn.Module()
        if flag:
            m.b = nn.Parameter(torch.zeros(1))
        m.a = nn.Parameter(torch.zeros(2))
        m.b = nn.Parameter(torch.zeros(3))
        found = m.parameters
        """,
    "the buffers of a Module": """
        m = nn.Module()
        if flag:
            m.register_buffer("b", torch.zeros(1))
        m.register_buffer("a", torch.zeros(2))
        m.register_buffer("b", torch.zeros(3)) if not flag else setattr(m, "b", torch.zeros(3))
        found = m.buffers
        """,
    "a ParameterDict": """
        m = nn.ParameterDict()
        if flag:
            m["b"] = torch.zeros(1)
        m["a"] = torch.zeros(2)
        m["b"] = torch.zeros(3)
        found = m.values
        """,
}

CASES |= {
    f"{what} in an order that is not known, {place}": f"{textwrap.dedent(body)}self.c = nn.Linear({read} + 1, 1)\n"
    for what, body in KEPT.items()
    for place, read in enumerate(
        (
            "next(iter(found())).shape[0]",
            "list(found())[-1].numel()",
            "list(m.state_dict()).index('b')",
            "list(m.state_dict().values())[1].shape[0]",
            "(m.popitem()[1] if hasattr(m, 'popitem') else m.b).shape[0]",
        )
    )
}

SAVED = {
    "a bias that is taken away": "m = nn.Linear(3, 2)\nif flag:\n    m.bias = None\n",
    "a bias by an argument": "m = nn.Linear(3, 2, bias=bool(flag))\n",
    "affine by an argument": "m = nn.BatchNorm1d(2, affine=bool(flag))\n",
    "statistics that are taken away": "m = nn.BatchNorm1d(2)\nif flag:\n    m.running_mean = None\n",
    "a parameter or None": """m = nn.Linear(3, 2, bias=False)
m.register_parameter("bias", nn.Parameter(torch.zeros(2)) if flag else None)
""",
    "a buffer or None": """m = nn.Linear(3, 2, bias=False)
m.register_buffer("running_mean", None if flag else torch.zeros(2))
""",
    "a parameter of another shape": "m = nn.Linear(3, 2)\nif flag:\n    m.weight = nn.Parameter(torch.zeros(2, 4))\n",
    "tied weights": """m = nn.Module()
m.a, m.b = nn.Linear(2, 2), nn.Linear(2, 2)
if flag:
    m.b.weight = m.a.weight
""",
}
"""What is saved in a state dict, or is not."""

CASES |= {
    f"a state dict: {what}, {place}": f"{textwrap.dedent(body)}self.c = nn.Linear({read} + 1, 1)\n"
    for what, body in SAVED.items()
    for place, read in enumerate(
        (
            "len(m.state_dict())",
            "int('bias' in m.state_dict())",
            "int(any(key == 'running_mean' for key in m.state_dict()))",
            "sum(each.numel() for each in m.state_dict(keep_vars=True).values())",
            "m.state_dict().get('weight', torch.zeros(2, 5)).shape[-1]",
        )
    )
}

FALSE: dict[str, tuple[str, ...]] = {}
"""Cases that are answered falsely, by what is at fault."""


def _cases() -> Iterator[Any]:
    reasons = {name: reason for reason, names in FALSE.items() for name in names}
    assert reasons.keys() <= CASES.keys()
    for name, body in CASES.items():
        marks = [pytest.mark.xfail(strict=True, reason=reasons[name])] if name in reasons else []
        yield pytest.param(body, id=name, marks=marks)


@pytest.mark.parametrize("body", list(_cases()))
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body, HEADER) == []


_NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, flag):
        super().__init__()
"""


@pytest.mark.parametrize(
    "body",
    [
        "m = nn.ModuleDict({'a': nn.Linear(1, 2)})\nif flag:\n    m['b'] = nn.ReLU()\nm['b'] = nn.Linear(2, 3)\n",
        "m = nn.ModuleDict({'b': nn.ReLU(), 'a': nn.Linear(1, 2)})\nm['b'] = nn.Linear(2, 3)\n",
        "m = nn.Module()\nm.a = nn.Linear(1, 2)\nif flag:\n    m.a = nn.Linear(1, 2)\nm.b = nn.Linear(2, 3)\n",
    ],
)
def test_an_order_that_is_the_same_on_both_paths_is_known(body: str, predict_source: Callable[..., Graph]) -> None:
    read = "self.c = nn.Linear(list(m.children())[0].in_features, 1)\n"
    graph = predict_source(_NET + textwrap.indent(body + read, " " * 8))
    assert graph.complete, [each.message for each in graph.problems]


def test_children_whose_order_is_not_known_are_all_told(predict_source: Callable[..., Graph]) -> None:
    body = "if flag:\n    self.b = nn.ReLU()\nself.a = nn.Linear(1, 2)\nself.b = nn.Linear(2, 3)\n"
    graph = predict_source(_NET + textwrap.indent(body, " " * 8))
    assert {each.path: each.class_name for each in graph.modules if each.path in ("a", "b")} == dict.fromkeys(
        ("a", "b"), "torch.nn.modules.linear.Linear"
    )
    assert [IN_ANY_ORDER in each.message for each in graph.problems] == [True]
    assert not state_dict_of(graph).open_at
