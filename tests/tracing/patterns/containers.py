"""Tensors inside other values, between modules and out of the model."""

from __future__ import annotations

from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import nn

from .notation import lin, pattern


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass
class Record:
    first: torch.Tensor
    rest: list


@dataclass
class Output(OrderedDict):
    """As mapping-like model outputs are: a dict whose entries are also fields."""

    logits: torch.Tensor = None
    hidden: tuple = None

    def __post_init__(self):
        for each in fields(self):
            if getattr(self, each.name) is not None:
                dict.__setitem__(self, each.name, getattr(self, each.name))


class Box:
    def __init__(self, value):
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Gives(nn.Module):
    """A leaf that returns two tensors inside something."""

    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap

    def forward(self, x):
        return self.wrap(x * 1, x * 2)


class Takes(nn.Module):
    """A leaf that takes two tensors out of something."""

    def __init__(self, unwrap):
        super().__init__()
        self.unwrap = unwrap

    def forward(self, given):
        first, second = self.unwrap(given)
        return first + second


BETWEEN = "input:x -> gives -> takes -> output:0\ngives -> takes"


def between(name, wrap, unwrap, edges=BETWEEN, **more):
    """A pattern of two leaves with a container between them: two tensors, so two edges."""

    def forward(self, x):
        return self.takes(self.gives(x))

    forward.__name__ = name
    parts = {"gives": lambda: Gives(wrap), "takes": lambda: Takes(unwrap)}
    pattern("gives takes", edges, parts=parts, **more)(forward)


between("tuple_between", lambda a, b: (a, b), tuple)
between("list_between", lambda a, b: [a, b], tuple)
between("dict_between", lambda a, b: {"p": a, 3: b}, lambda d: d.values())
between("named_tuple_between", Pair, tuple)
between("dataclass_between", lambda a, b: Record(a, [b]), lambda r: (r.first, r.rest[0]))
between("mapping_like_output_between", lambda a, b: Output(a, (b,)), lambda o: (o.logits, o.hidden[0]))
between("ragged_lists_between", lambda a, b: [[a], [], [[b], 1]], lambda r: (r[0][0], r[2][0][0]))
between("deque_between", lambda a, b: deque([a, b]), tuple)
between("user_dict_between", lambda a, b: UserDict(p=a, q=b), lambda d: d.values())
between("opaque_object_between", lambda a, b: Box((a, b)), lambda box: box.value)
between("slotted_object_between", lambda a, b: Slotted((a, b)), lambda box: box.value)
between("namespace_between", lambda a, b: SimpleNamespace(a=a, b=b), lambda n: (n.a, n.b))
# Only the operation inside the taker sees the tensors, which go one and the same way into one leaf.
between("function_between", lambda a, b: lambda: (a, b), lambda f: f(), "input:x -> gives -> takes -> output:0")
between("generator_between", lambda a, b: (t for t in (a, b)), tuple, "input:x -> gives -> takes -> output:0")


@pattern("a b", "input:x -> a -> output:p\ninput:x -> b -> output:q[1]")
def dict_returned(self, x):
    return {"p": self.a(x), "q": [None, self.b(x)]}


@pattern("a b", "input:x -> a -> output:first\ninput:x -> b -> output:rest[0]")
def dataclass_returned(self, x):
    return Record(self.a(x), [self.b(x)])


@pattern("a b", "input:x -> a -> output:logits\ninput:x -> b -> output:hidden[0]")
def mapping_like_output_returned(self, x):
    return Output(self.a(x), (self.b(x),))


@pattern("a b", "input:x -> a -> output:first\ninput:x -> b -> output:second")
def named_tuple_returned(self, x):
    return Pair(self.a(x), self.b(x))


@pattern("a b", "input:x -> a -> output:value[0]\ninput:x -> b -> output:value[1]")
def opaque_object_returned(self, x):
    return Box((self.a(x), self.b(x)))


@pattern("a b", "input:x -> a -> output:0[0]\ninput:x -> b -> output:2[1]")
def ragged_lists_returned(self, x):
    return [[self.a(x)], [], [7, self.b(x)]]


@pattern("a", "input:x -> a", unproven="it returns nothing to compare")
def nothing_returned(self, x):
    self.a(x)


@pattern("a", "input:x -> a -> sum", gaps="item", unproven="it returns no tensor")
def number_returned(self, x):
    return self.a(x).sum().item()


class Normally(nn.Module):
    def __init__(self):
        super().__init__()
        self.m, self.s = lin(), lin()

    def forward(self, x):
        return torch.distributions.Normal(self.m(x), self.s(x).exp(), validate_args=False)


@pattern(
    "d(d.m d.s) a",
    """input:x -> d.m, d.s
    d.s -> exp -> mul -> add
    normal_ -> mul
    d.m -> add -> a -> output:0""",
    parts={"d": Normally},
)
def distribution_sampled(self, x):
    """What has the right size already is not broadcast: the very tensors come back."""
    return self.a(self.d(x).rsample())


@pattern(
    "d(d.m d.s) a",
    "input:x -> d.m, d.s\nd.s -> exp\nd.m -> a -> output:0",
    parts={"d": Normally},
)
def mean_of_a_distribution(self, x):
    return self.a(self.d(x).mean)


class Lazily(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = lin(), lin()

    def forward(self, x):
        for layer in (self.a, self.b):
            yield layer(x)


@pattern(
    "g g.a g.b",
    "input:x -> g, g.a, g.b\ng.a -> add -> add#2 -> output:0\ng.b -> add#2",
    parts={"g": Lazily},
)
def generator_whose_children_run_later(self, x):
    return sum(self.g(x))


@pattern(
    "lstm",
    """as_tensor -> _pack_padded_sequence
    input:x -> _pack_padded_sequence -> lstm -> _pad_packed_sequence -> output:0
    _pack_padded_sequence -> lstm -> _pad_packed_sequence""",
    args=lambda: (torch.rand(3, 2, 4),),
    parts={"lstm": lambda: nn.LSTM(4, 4)},
    fake="the batch sizes are values that the layer reads",
)
def packed_sequence(self, x):
    """Data and batch sizes go side by side, into the layer and out of it."""
    packed = nn.utils.rnn.pack_padded_sequence(x, [3, 2])
    out, _ = self.lstm(packed)
    return nn.utils.rnn.pad_packed_sequence(out)[0]


class Shape(nn.Module):
    def forward(self, x):
        return tuple(x.shape)


@pattern("shape a", "input:x -> shape\ninput:x -> a -> reshape -> output:0", parts={"shape": Shape})
def module_without_a_tensor_among_its_results(self, x):
    shape = self.shape(x)
    return self.a(x).reshape(shape)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 4)

    def forward(self, n):
        return self.table(torch.arange(n))


@pattern("a p(p.table)", "input:x -> a -> add\narange -> p.table -> add -> output:0", parts={"p": Positions})
def module_without_a_tensor_among_its_arguments(self, x):
    return self.a(x) + self.p(x.shape[0])


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = lin()

    def forward(self, *, value, scale=1):
        return self.a(value) * scale


@pattern("inner(inner.a)", "input:x -> inner.a -> mul -> output:0", parts={"inner": ByName})
def keyword_arguments_only(self, x):
    return self.inner(value=x, scale=2)


@pattern(
    "a b",
    "input:x -> a -> add\ninput:more['y'] -> b -> add -> output:0",
    kwargs=lambda: {"more": {"y": torch.rand(2, 4)}},
)
def model_given_a_dict_by_keyword(self, x, *, more):
    return self.a(x) + self.b(more["y"])


@pattern(
    "a",
    "input:x -> a -> add\ninput:rest[0] -> add -> add#2\ninput:extra -> add#2 -> output:0",
    args=lambda: (torch.rand(2, 4), torch.rand(2, 4)),
    kwargs=lambda: {"extra": torch.rand(2, 4)},
)
def variable_arguments(self, x, *rest, **options):
    return self.a(x) + rest[0] + options["extra"]


@pattern(
    "a b",
    "input:batch['x'] -> a -> add\ninput:batch['y'] -> b -> add -> output:0",
    args=lambda: ({"x": torch.rand(2, 4), "y": torch.rand(2, 4)},),
)
def batch_that_is_taken_apart(self, batch):
    """The caller's dict is as it was afterwards."""
    return self.a(batch.pop("x")) + self.b(batch.pop("y"))


@pattern(
    "a b",
    """input:x -> a, b
    a -> cat
    b -> cat#2
    input:past[0][0] -> cat -> output:0[0][0]
    input:past[0][1] -> cat#2 -> output:0[0][1]""",
    kwargs=lambda: {"past": [(torch.rand(3, 4), torch.rand(3, 4))]},
)
def past_keys_and_values_as_nested_tuples(self, x, past):
    keys, values = past[0]
    return ([(torch.cat([keys, self.a(x)]), torch.cat([values, self.b(x)]))],)


class Cache:
    def __init__(self):
        self.keys = []

    def update(self, new):
        self.keys.append(new)
        return torch.cat(self.keys)


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = lin()

    def forward(self, x, cache):
        return x + cache.update(self.key(x)).sum(0)


@pattern(
    "one(one.key) two(two.key)",
    """input:x -> one.key -> cat -> sum -> add
    input:x -> add -> two.key -> cat#2 -> sum#2 -> add#2 -> output:0
    one.key -> cat#2
    add -> add#2""",
    parts={"one": Attends, "two": Attends},
)
def cache_object_handed_from_layer_to_layer(self, x):
    cache = Cache()
    return self.two(self.one(x, cache), cache)


@pattern("s(s.a) b", "input:x -> s.a -> b -> output:0", parts={"s": lambda: SideChannel()})
def value_left_on_the_module(self, x):
    self.s(x)
    return self.b(self.s.last)


class SideChannel(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = lin()
        self.last = None

    def forward(self, x):
        self.last = self.a(x)


@pattern("side b", "input:x -> side -> b -> output:0", parts={"side": lambda: LeafSideChannel()})
def value_left_on_a_leaf(self, x):
    self.side(x)
    return self.b(self.side.last)


class LeafSideChannel(nn.Module):
    def forward(self, x):
        self.last = x * 2
