"""Steps that give back what they were given, and arguments of which only the shape is read."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .notation import lin, pattern

SAME = {"i": nn.Identity}


@pattern("a i b", "input:x -> a -> i -> b -> output:0", parts=SAME)
def identity_between(self, x):
    return self.b(self.i(self.a(x)))


@pattern("i a", "input:x -> i -> a -> output:0", parts=SAME)
def identity_of_the_input(self, x):
    return self.a(self.i(x))


@pattern("i", "input:x -> i -> output:0", parts=SAME)
def identity_alone(self, x):
    return self.i(x)


@pattern("b i", "input:x -> b, i -> add -> output:0", parts=SAME)
def identity_of_the_input_and_the_input_both_used(self, x):
    return self.b(x) + self.i(x)


@pattern("a b i", "input:x -> a -> b, i -> add -> output:0", parts=SAME)
def original_used_before_its_identity(self, x):
    y = self.a(x)
    return self.b(y) + self.i(y)


@pattern("a i b", "input:x -> a -> i -> add -> output:0\ni -> b -> add", parts=SAME)
def original_used_after_its_identity(self, x):
    """One object under two names: the last call that returned it wins."""
    y = self.a(x)
    same = self.i(y)
    return same + self.b(y)


@pattern("a i i b", "input:x -> a -> i -> i#2 -> b -> output:0", parts=SAME)
def identity_twice(self, x):
    return self.b(self.i(self.i(self.a(x))))


@pattern("a drop b", "input:x -> a -> drop -> b -> output:0", parts={"drop": nn.Dropout})
def dropout_in_eval(self, x):
    return self.b(self.drop(self.a(x)))


@pattern("a drop b", "input:x -> a -> drop -> b -> output:0", parts={"drop": nn.Dropout}, options={"mode": "train"})
def dropout_in_train(self, x):
    return self.b(self.drop(self.a(x)))


@pattern("a b", "input:x -> a -> b -> output:0")
def functional_dropout_in_eval(self, x):
    """It gives back the very tensor: no step."""
    return self.b(F.dropout(self.a(x), 0.5, self.training))


@pattern("a b", "input:x -> a -> b -> output:0")
def conversions_that_change_nothing(self, x):
    return self.b(self.a(x).to(torch.float32).to("cpu").float().contiguous().type(torch.float32))


@pattern("a b", "input:x -> a -> double -> to -> b -> output:0")
def conversions_that_change_something(self, x):
    return self.b(self.a(x).double().to(torch.float32))


@pattern("a b", "input:x -> a -> mul_\nmul_ -> b -> output:0")
def written_through_a_conversion_that_changes_nothing(self, x):
    y = self.a(x)
    y.contiguous().mul_(2)
    return self.b(y)


@pattern("a flat b", "input:x -> a -> flat -> b -> output:0", parts={"flat": nn.Flatten})
def flatten_of_what_is_flat(self, x):
    return self.b(self.flat(self.a(x)))


@pattern("a none b", "input:x -> a -> none -> b -> output:0", parts={"none": nn.Sequential})
def sequential_of_nothing(self, x):
    return self.b(self.none(self.a(x)))


class DropPath(nn.Module):
    def forward(self, x):
        return x * torch.rand(1) if self.training else x


@pattern("a drop b", "input:x -> a -> drop -> b -> output:0", parts={"drop": DropPath})
def module_that_is_off_in_eval(self, x):
    return self.b(self.drop(self.a(x)))


class RunsAndIgnores(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = lin()

    def forward(self, x):
        self.inner(x)
        return x


@pattern("a c(c.inner) b", "input:x -> a -> c.inner, b\nb -> output:0", parts={"c": RunsAndIgnores})
def container_that_returns_what_it_was_given(self, x):
    return self.b(self.c(self.a(x)))


@pattern("a b", "input:x -> a -> view -> b -> output:0")
def view_of_the_same_size_is_a_step(self, x):
    y = self.a(x)
    return self.b(y.view(y.shape))


@pattern(
    "a b",
    "input:x -> a, b\nb -> reshape_as -> add\nzeros_like -> add -> add#2\nb -> expand_as -> add#2 -> output:0",
)
def only_the_shape_is_read(self, x):
    y, z = self.a(x), self.b(x)
    return z.reshape_as(y) + torch.zeros_like(y) + z.expand_as(y)


@pattern("b a", "input:x -> a, b\na -> double\nb -> type_as -> output:0")
def only_the_dtype_is_read(self, x):
    return self.b(x).type_as(self.a(x).double())


@pattern(
    "a b",
    """input:x -> a, b
    a -> double -> float
    b -> view_as -> add
    full_like -> add
    add, new_zeros -> add#2 -> output:0""",
)
def more_of_which_only_the_shape_is_read(self, x):
    y, z = self.a(x), self.b(x)
    return z.view_as(y).to(y.double().float()) + torch.full_like(y, 3) + y.new_zeros(2, 4)


@pattern("a b", "input:x -> a, b\nb -> view -> mul -> output:0")
def sizes_are_numbers(self, x):
    y = self.a(x)
    return self.b(x).view(y.size(0), -1) * y.shape[-1]


@pattern("a b", "input:x -> a -> b -> output:0", parts=SAME)
def flags_asked_and_set(self, x):
    y = self.a(x)
    y.requires_grad_(False)
    assert y.dim() == 2
    assert y.is_floating_point()
    assert len(y) == 2
    assert y.device == x.device
    return self.b(y)
