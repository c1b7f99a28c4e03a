"""The user's own hooks, which run as they would; and calls that an exception leaves."""

from __future__ import annotations

import torch
from torch import nn

from .notation import lin, pattern


def doubled(module, args):
    return (args[0] * 2,)


def plus_one(module, args, output):
    return output + 1


def in_place(module, args, output):
    output.mul_(2)


def hooked(*, pre=None, post=None, layer=lin, **how):
    made = layer()
    if pre is not None:
        made.register_forward_pre_hook(pre, **how)
    if post is not None:
        made.register_forward_hook(post, **how)
    return made


def two():
    return nn.Sequential(lin(), nn.Tanh())


# A leaf is one node, with its hooks; what they and it do inside stands among itself.


@pattern("h b", "input:x -> h -> b -> output:0\nmul -> linear", parts={"h": lambda: hooked(pre=doubled)})
def pre_hook_replaces_the_input(self, x):
    return self.b(self.h(x))


@pattern("h b", "input:x -> h -> b -> output:0\nlinear -> add", parts={"h": lambda: hooked(post=plus_one)})
def hook_replaces_the_output(self, x):
    return self.b(self.h(x))


@pattern("h b", "input:x -> h -> b -> output:0\nlinear -> mul_", parts={"h": lambda: hooked(post=in_place)})
def hook_changes_the_output_in_place(self, x):
    return self.b(self.h(x))


@pattern(
    "h b",
    "input:x -> h -> b -> output:0\nmul -> linear -> add",
    parts={"h": lambda: hooked(pre=doubled, post=plus_one)},
)
def both_hooks(self, x):
    return self.b(self.h(x))


@pattern(
    "h b",
    "input:x -> h -> b -> output:0\nmul -> linear",
    parts={"h": lambda: hooked(pre=lambda m, args, kwargs: (args, {"input": kwargs["input"] * 2}), with_kwargs=True)},
)
def pre_hook_with_keywords(self, x):
    return self.b(self.h(input=x))


@pattern(
    "s(s.0 s.1) b",
    "input:x -> mul -> s.0 -> s.1 -> add -> b -> output:0",
    parts={"s": lambda: hooked(pre=doubled, post=plus_one, layer=two)},
)
def hooks_of_a_container(self, x):
    """What they do are operations of the container, before and after its children."""
    return self.b(self.s(x))


@pattern("h b", "input:x -> h -> b -> output:0", parts={"h": lambda: hooked(post=lambda m, args, output: None)})
def hook_that_looks_on(self, x):
    return self.b(self.h(x))


def adapter():
    """As adapters are put beside a frozen layer: a hook that calls another module."""
    made, beside = lin(), lin()
    made.register_forward_hook(lambda module, args, output: output + beside(args[0]))
    made.beside = beside
    return made


@pattern(
    "h(h.beside) b",
    "param:h.weight, param:h.bias, input:x -> linear -> add -> b -> output:0\ninput:x -> h.beside -> add",
    parts={"h": adapter},
)
def hook_that_calls_another_module(self, x):
    """Which makes a container of the layer, and a step of its function."""
    return self.b(self.h(x))


@pattern(
    "a h b", "input:x -> a -> h -> b -> output:0", parts={"h": lambda: hooked(post=lambda m, args, output: args[0])}
)
def hook_that_gives_back_the_input(self, x):
    return self.b(self.h(self.a(x)))


def with_backward_hooks():
    made = lin()
    made.register_full_backward_hook(lambda module, inputs, outputs: None)
    made.weight.register_hook(lambda gradient: gradient)
    return made


@pattern(
    "h b",
    "input:x -> h -> b -> output:0\nlinear -> view_as",
    parts={"h": with_backward_hooks},
    options={"backward": True},
)
def backward_hooks(self, x):
    """torch passes what the layer gives through a function that returns it, and so makes a view."""
    return self.b(self.h(x))


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        torch.rand(1)
        raise ValueError("no good")


class RaisesInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.deep = lin(), Raises()

    def forward(self, x):
        return self.deep(self.a(x))


@pattern(
    "a failed:inner b",
    "input:x -> a -> inner\na -> mul -> b -> output:0",
    parts={"inner": Raises},
)
def exception_that_the_parent_catches(self, x):
    y = self.a(x)
    try:
        y = self.inner(y)
    except ValueError:
        y = y * 2
    return self.b(y)


@pattern(
    "failed:inner(inner.a failed:inner.deep) b",
    "input:x -> inner.a -> inner.deep\ninput:x -> b -> output:0",
    parts={"inner": RaisesInside},
)
def exception_caught_two_levels_up(self, x):
    try:
        return self.inner(x)
    except ValueError:
        return self.b(x)


@pattern(
    "a failed:inner(inner.a failed:inner.deep)",
    "input:x -> a -> inner.a -> inner.deep",
    parts={"inner": RaisesInside},
    fails="inner.deep",
)
def exception_that_escapes(self, x):
    """What was called so far, and the path at which it failed."""
    return self.b(self.inner(self.a(x)))


@pattern(
    "a failed:narrow",
    "input:x -> a -> narrow",
    parts={"narrow": lambda: nn.Linear(3, 3)},
    fails="narrow",
)
def shapes_that_do_not_fit(self, x):
    return self.narrow(self.a(x))


@pattern("a failed:h", "input:x -> a -> h", parts={"h": lambda: hooked(pre=_refuses)}, fails="h")
def pre_hook_that_raises(self, x):
    return self.b(self.h(self.a(x)))


def _refuses(module, args):
    raise LookupError("not today")


@pattern("a", "input:x -> a", fails="")
def root_that_raises(self, x):
    return self.a(x) + None
