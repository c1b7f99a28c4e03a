"""A strategy for the source of modules whose constructors do to themselves whatever Python and torch allow.

In `sources` everything is determined: nothing depends on the environment, on random numbers or on a tensor's values.
Names come from a small pool, so that they are aliased, replaced, moved between stores and deleted; much of it raises.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

PRELUDE = """
import copy, functools, itertools, math, os, random, time
from collections import OrderedDict
import torch
from torch import nn

def block(width, *more, act=nn.ReLU, **options):
    layers = [nn.Linear(width, width + 1, **options), act()]
    layers += [nn.Linear(size, size) for size in more]
    return nn.Sequential(*layers)

def maker(width):
    made = []
    def make(extra=1):
        nonlocal width
        width += extra
        made.append(width)
        return nn.Linear(len(made), width)
    return make

def tagged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return nn.Sequential(OrderedDict(inner=function(*args, **kwargs)))
    return inner

@tagged
def conv(width):
    return nn.Conv2d(1, width, 3, bias=width % 2 == 0)

def small(module):
    if len(list(module.modules())) > 30:
        raise ValueError("copies of copies have no end")
    return module

class Leaf(nn.Module):
    kind = nn.ReLU
    def __init__(self, n=3, bias=True, *, extra=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n, 2))
        if bias:
            self.bias = nn.Parameter(torch.zeros(n), requires_grad=False)
        else:
            self.register_parameter("bias", None)
        self.register_buffer("scale", torch.ones(n), persistent=bool(extra))
        self.act = self.kind() if n > 2 else None

class Wide(Leaf):
    kind = nn.Tanh
    def __init__(self, *args, **kwargs):
        self.early = 5
        super().__init__(*args, **kwargs)
        self.inner = Leaf(self.early)

class Mixin:
    def __init__(self, *args, width=2, **kwargs):
        super().__init__(*args, **kwargs)
        self.mixed = nn.Linear(width, width)

class Base(nn.Module):
    size = 3
    def __init__(self, depth=1):
        super().__init__()
        self.s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
        self.l = nn.ModuleList([nn.Linear(index, index) for index in range(1, depth + 2)])
        self.d = nn.ModuleDict({"x": nn.ReLU()})
        self.pl = nn.ParameterList([nn.Parameter(torch.zeros(2))])
        self.pd = nn.ParameterDict({"x": nn.Parameter(torch.zeros(1))})
        self.helper(self.size)
    def helper(self, width):
        self.a = nn.Linear(width, width)
        return self.a
    @property
    def total(self):
        return len(self._modules)
"""

NAMES = ("a", "b", "c", "s", "l", "d", "weight")
ERRORS = "(AttributeError, TypeError, KeyError, IndexError, ValueError, RuntimeError, NotImplementedError)"

MODULES = (
    "nn.Linear({n}, {m})",
    "nn.Linear({n}, {m}, bias=False)",
    "nn.ReLU()",
    "nn.BatchNorm1d({n}, affine={flag})",
    "Leaf({n})",
    "Leaf(n={n}, bias={flag}, extra={m})",
    "Wide({n}, {flag})",
    "block({n}, {m}, bias={flag})",
    "block({n}, *range({m}), act=functools.partial(nn.LeakyReLU, 0.1))",
    "conv({n})",
    "make()",
    "make(extra={n})",
    "nn.Sequential({module}, {module})",
    "nn.Sequential(OrderedDict([('p', {module}), ('q', {module})]))",
    "nn.Sequential(*[nn.Linear(k, k + {n}) for k in range(1, {m}) if k != 2])",
    "nn.ModuleList([{module}, {module}])",
    "nn.ModuleList([small({module})] * {n})",
    "nn.ModuleDict({{'x': {module}, 'y{n}': {module}}})",
    "copy.deepcopy(small({module}))",
    "copy.deepcopy(small(self.{name}))",
    "self.{name}",
    "getattr(self, '{name}', None)",
    "self.helper({n})",
    "super(Net, self).helper({n})",
    "(lambda k, *r: nn.Linear(k, len(r) + 1))({n}, {m}, 0)",
    "({module} if {condition} else {module})",
    "self.l[{index}]",
    "self.s[{index}]",
    "self.l[{index}:{m}]",
    "self.d['x']",
    "list(self.children())[{index}]",
    "next(iter(self.modules()))._modules['{name}']",
    "dict(self.named_children()).get('{name}')",
    "kept[{index}]",
    "last",
)
TENSORS = ("torch.zeros({n}, {m})", "torch.ones({n})", "torch.arange({m})", "torch.zeros({n}, 1).t()", "torch.zeros({n}).unsqueeze(0)", "torch.full(({n}, {m}), 0.5)", "torch.cat([torch.zeros({n}, 2), torch.ones({m}, 2)])", "torch.eye({n})[:, 0]", "torch.tensor([[1.0] * {n}])")  # fmt: skip
PARAMETERS = ("nn.Parameter({tensor})", "nn.Parameter(torch.zeros({n}), requires_grad={flag})", "self.a.weight", "self.weight", "self.pl[{index}]", "None")  # fmt: skip
CONDITIONS = ("{flag}", "n > {n}", "hasattr(self, '{name}')", "isinstance(getattr(self, '{name}', None), nn.Linear)", "len(self.l) > {n}", "'{name}' in self._modules", "self.total % 2", "not options", "'x' in self.d", "getattr(self, '{name}', None) is None", "flags.get('{name}', {flag})", "last is self.a", "{condition} and {condition}", "{condition} or not {condition}")  # fmt: skip

STATEMENTS = (
    "self.{name} = {module}",
    "self.{name} = {module}",
    "self.{name} = {module}",
    "self.{name} = None",
    "self.{name} = {parameter}",
    "self.{name} = {tensor}",
    "self.{name} = {n}",
    "self.{name} = [{module}, {module}]",
    "self.a, self.b = self.b, self.a",
    "self.{name}, *self.rest = ({module}, {n}, {m})",
    "self.{name} = self.c = {module}",
    "del self.{name}",
    "delattr(self, '{name}')",
    "setattr(self, f'{name}{{n}}', {module})",
    "setattr(self, '{name}' + str({n}), {parameter})",
    "self.add_module('{name}', {module})",
    "self.register_module('{name}_{{}}'.format({n}), {module})",
    "self.add_module('%s%d' % ('{name}', {n}), None)",
    "self.register_parameter('{name}', {parameter})",
    "self.register_buffer('{name}', {tensor}, persistent={flag})",
    "self.register_buffer('{name}', None)",
    "self._modules['{name}'] = {module}",
    "self._modules.pop('{name}', None)",
    "del self._parameters['{name}']",
    "self._buffers['{name}'] = {tensor}",
    "object.__setattr__(self, '{name}', {module})",
    "self.__dict__['hidden'] = {module}",
    "self.l.append({module})",
    "self.l.extend([{module}, {module}])",
    "self.l.insert({index}, {module})",
    "self.l[{index}] = {module}",
    "del self.l[{index}]",
    "del self.l[{index}:{m}]",
    "self.l += [{module}]",
    "self.l = self.l + [{module}]",
    "self.{name} = self.l.pop({index})",
    "self.s.append({module})",
    "self.s.add_module('{name}', {module})",
    "self.s[{index}] = {module}",
    "self.s.insert({index}, {module})",
    "self.s.extend([{module}])",
    "del self.s[{index}]",
    "self.s = self.s + nn.Sequential({module})",
    "self.s = small(self.s) * {n}",
    "self.s.pop({index})",
    "self.d['{name}'] = {module}",
    "self.d.update({{'{name}': {module}}})",
    "self.d.update([('z', {module})])",
    "last = self.d.pop('x')",
    "del self.d['{name}']",
    "self.d.clear()",
    "self.pl.append({parameter})",
    "self.pl.extend([{tensor}, {parameter}])",
    "self.pl[{index}] = {parameter}",
    "self.pd['{name}'] = {parameter}",
    "self.pd.update({{'{name}': {tensor}}})",
    "self.pd.pop('x')",
    "self.a.weight = {parameter}",
    "self.a.extra = {module}",
    "self.a.requires_grad_({flag})",
    "self.{name}.inner = {module}",
    "last = {module}",
    "kept.append({module})",
    "kept = kept[::-1]",
    "flags['{name}'] = {flag}",
    "n += {n}",
    "super(Base, self).__init__()",
    "self.apply(lambda module: setattr(module, 'seen', {n}))",
    "[self.add_module(f'g{{k}}', {module}) for k in range({n})]",
    "self.{name} = nn.ModuleList(kept)",
    "self.{name} = nn.Sequential(*kept)",
    "kept = [copy.deepcopy(small(last)) for _ in range({n})]",
    "if (size := len(kept)) < {n}: self.{name} = nn.Linear(size, {m})",
)
BLOCKS = (
    "if {condition}:\n{body}else:\n{body}",
    "if {condition}:\n{body}",
    "for k in range({n}):\n{body}",
    "for k, size in enumerate(({n}, {m}, 7)):\n    if k == {index}: continue\n    setattr(self, f'{name}{{k}}', nn.Linear(size, n))\n{body}",
    "for size in range({m}):\n    if size > {n}: break\n{body}else:\n{body}",
    "turns = list(range({n}))\nwhile turns:\n    turns.pop()\n{body}",
    "for name, child in list(self.named_children()):\n    self._modules[name] = nn.Sequential(child)\n{body}",
    "for key, child in zip(('{name}', 'u'), [{module}, {module}]):\n    setattr(self, key, child)\n",
    "def inner(k={n}, *args, **kwargs):\n    nonlocal last\n{body}    last = nn.Linear(k, 1 + len(args) + len(kwargs))\ninner(*range({m}), x={n})\n",
    "try:\n{body}except {errors}:\n{body}",
    "try:\n{body}except {errors} as error:\n    self.caught = nn.Linear({n}, 1)\nelse:\n{body}finally:\n    n += 1\n",
    "with torch.no_grad():\n{body}",
    "match n:\n    case {n} | {m}:\n        self.matched = {module}\n    case size if size > {n}:\n        last = nn.Linear({n}, {m})\n    case _:\n        pass\n",
)
UNKNOWABLE = (
    "if os.environ.get('NO_SUCH_NAME'):\n{body}else:\n{body}",
    "if random.random() > 2:\n{body}",
    "for k in range(int(os.environ.get('NO_SUCH_NAME', {n}))):\n{body}",
    "for size in os.environ.get('NO_SUCH_NAME', 'ab'):\n{body}    if size == 'b': break\n",
    "turns = [0] * int(os.environ.get('NO_SUCH_NAME', {n}))\nwhile turns:\n    turns.pop()\n{body}",
    "try:\n    if time.time() < 0: raise ValueError\n{body}except ValueError:\n{body}",
    "self.{name} = {module} if os.environ.get('NO_SUCH_NAME') else {module}\n",
    "setattr(self, os.environ.get('NO_SUCH_NAME', 'new'), {module})\n",
    "self.{name} = nn.Linear(int(os.environ.get('NO_SUCH_NAME', {n})), {m})\n",
    "self.l.extend({module} for _ in range(int(os.environ.get('NO_SUCH_NAME', {n}))))\n",
    "self.d.update({{key: {module} for key in os.environ.get('NO_SUCH_NAME', 'xy')}})\n",
    "kept = [{module} for _ in range(int(os.environ.get('NO_SUCH_NAME', {m})))]\n",
    "random.shuffle(kept)\n",
    "n = random.choice([{n}, {m}])\n",
)
"""What no reading can decide, with the answer that a run gets."""

APART = (
    "if os.environ.get('NO_SUCH_NAME'):\n    self.u{n} = {plain}\nelse:\n    self.u{m} = {plain}\n",
    "if random.random() < 2: self.u{n} = {plain}\n",
    "for k in range(int(os.environ.get('NO_SUCH_NAME', {n}))): setattr(self, f'u{{k}}', {plain})\n",
    "self.u{n} = {plain} if os.environ.get('NO_SUCH_NAME') else {plain}\n",
    "self.u{n} = nn.ModuleList([{plain} for _ in range(int(os.environ.get('NO_SUCH_NAME', {m})))])\n",
    "self.u{n} = nn.ModuleDict({{key: {plain} for key in os.environ.get('NO_SUCH_NAME', 'xy')}})\n",
    "self.u{n} = nn.Linear(int(os.environ.get('NO_SUCH_NAME', {n})), {m})\n",
    "self.u{n} = nn.Sequential(*([{plain}] * random.choice([{n}, {m}])))\n",
)
"""The same, of names that nothing else touches, and without effects on anything else."""
PLAIN = ("nn.Linear({n}, {m})", "nn.ReLU()", "Leaf({n})", "block({n}, {m})", "nn.Sequential({plain}, nn.Tanh())")
COUNTING = re.compile(r"children|total|modules\(\)|self\.apply|len\(list|super\(Base")
"""What looks at all that a module holds, and so at what is not known too."""

GUARDED = "try:\n    {statement}\nexcept {errors}:\n    pass\n"

_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
"""A doubled brace, or a place to be filled."""

_NESTED = {"module", "condition", "body", "plain"}

_number = st.integers(1, 4)
_index = st.integers(-2, 3)


class _Writer:
    """Fills templates with what hypothesis draws."""

    def __init__(self, draw: Any, extra: tuple[str, ...] = (), without: re.Pattern[str] | None = None) -> None:
        self.draw = draw
        self.left = 60
        self.extra = extra
        """Statements of which some stand among the others."""
        self.without = without
        """What no template may hold."""

    def one(self, templates: tuple[str, ...], depth: int) -> str:
        """One template, its places filled; below a few levels, only such as have nothing inside."""
        self.left -= 1
        if self.without is not None:
            templates = tuple(text for text in templates if not self.without.search(text))
        if depth > 3 or self.left < 0:
            templates = tuple(text for text in templates if not _NESTED & set(_PLACE.findall(text)))
        return self.fill(self.draw(st.sampled_from(templates)), depth)

    def fill(self, template: str, depth: int) -> str:
        def put(found: re.Match[str]) -> str:
            return self.place(found[1], depth + 1) if found[1] else found[0][0]

        return _PLACE.sub(put, template)

    def place(self, place: str, depth: int) -> str:
        kinds = {"module": MODULES, "tensor": TENSORS, "parameter": PARAMETERS, "condition": CONDITIONS, "plain": PLAIN}
        if place in kinds:
            return self.one(kinds[place], depth)
        if place in ("n", "m"):
            return str(self.draw(_number))
        if place == "index":
            return str(self.draw(_index))
        if place == "flag":
            return str(self.draw(st.booleans()))
        if place == "name":
            return self.draw(st.sampled_from(NAMES))
        if place == "errors":
            return ERRORS
        return "".join(f"    {line}\n" for line in self.body(depth, most=2).splitlines())

    def body(self, depth: int, most: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.draw(st.integers(1, most))))

    def statement(self, depth: int) -> str:
        kind = self.draw(st.integers(0, 9))
        if self.extra and kind > 6:
            return self.one(self.extra, depth)
        if kind < 2 and depth < 3 and self.left > 0:
            return self.one(BLOCKS, depth)
        statement = self.one(STATEMENTS, depth)
        if kind < 9:
            return GUARDED.replace("{statement}", statement).replace("{errors}", ERRORS)
        return statement + "\n"


def _indented(text: str) -> str:
    return "".join(f"        {line}\n" for line in text.splitlines())


@st.composite
def sources(draw: Any) -> str:
    """The text of a module with a class `Net` that is constructed without arguments."""
    return _module(_Writer(draw), draw)


@st.composite
def unknowable_sources(draw: Any) -> str:
    """The same, with conditions, counts and names that only a run can tell."""
    return _module(_Writer(draw, UNKNOWABLE), draw)


@st.composite
def partly_unknowable_sources(draw: Any) -> str:
    """The same, where all that only a run can tell is of names that begin with "u"."""
    return _module(_Writer(draw, APART, COUNTING), draw)


def _module(writer: _Writer, draw: Any) -> str:
    bases = draw(st.sampled_from(("Base", "Mixin, Base")))
    depth, width = draw(_number), draw(_number)
    keywords = f"width={width}, depth={depth}" if "Mixin" in bases else f"{depth}"
    helper = draw(st.booleans())
    text = PRELUDE + f"\nclass Net({bases}):\n    def __init__(self, n={width}, *args, flag=True, **options):\n"
    if draw(st.integers(0, 5)) == 0:
        text += _indented(writer.statement(3))
    text += _indented(f"super().__init__({keywords})\nlast, kept, flags, make = self.a, [], {{}}, maker(n)\n")
    text += _indented(writer.body(0, most=10))
    if helper:
        text += f"    def helper(self, width):\n        made = super().helper(width + {width})\n"
        text += f"        self.more = nn.Linear(width, {depth})\n        return made\n"
    return text
