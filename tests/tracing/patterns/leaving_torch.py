"""Values that leave torch: an edge where it can be known, else a gap, never silence."""

from __future__ import annotations

import copy

import numpy as np
import torch

from .notation import pattern

NUMPY = "numpy reads values, which fake tensors have none of"


@pattern("a b", "input:x -> a -> b -> output:0", gaps="numpy", fake=NUMPY)
def numpy_round_trip_that_shares_memory(self, x):
    return self.b(torch.from_numpy(self.a(x).numpy()))


@pattern("a b", "input:x -> a\nconst:0 -> b -> output:0", gaps="numpy", fake=NUMPY)
def numpy_round_trip_with_arithmetic(self, x):
    return self.b(torch.from_numpy(self.a(x).numpy() * 2))


@pattern("a b", "input:x -> a\nas_tensor -> b -> output:0", gaps="numpy", fake=NUMPY)
def numpy_round_trip_through_asarray(self, x):
    return self.b(torch.as_tensor(np.asarray(self.a(x)) * 2))


@pattern(
    "a b",
    "input:x -> a -> b -> output:0",
    gaps="numpy",
    fake=NUMPY,
    unproven="numpy wrote into the memory, which no torch function tells",
)
def written_by_numpy(self, x):
    y = self.a(x)
    y.numpy()[0] = 5
    return self.b(y)


@pattern("a b", "input:x -> a -> detach\na -> b -> output:0", gaps="numpy", fake=NUMPY)
def numpy_view_of_a_part(self, x):
    """The memory is known to be that of the tensor that was exported, wherever in it the array begins."""
    array = self.a(x).detach().numpy()
    return self.b(torch.from_numpy(array[1:]))


@pattern("a b", "input:x -> a -> sum\na -> mul -> b -> output:0", gaps="item")
def item_as_a_factor(self, x):
    y = self.a(x)
    return self.b(y * y.sum().item())


@pattern("a b", "input:x -> a\ntensor -> b -> output:0", gaps="tolist", fake="tolist reads values")
def tolist_and_back(self, x):
    return self.b(torch.tensor(self.a(x).tolist()))


@pattern(
    "a b",
    "input:x -> a -> abs -> sum -> gt\na -> b -> output:0",
    gaps="bool",
    fake="the branch depends on a value",
)
def branch_on_data(self, x):
    y = self.a(x)
    if y.abs().sum() > 0:
        return self.b(y)
    return y


@pattern(
    "a a b",
    "input:x -> a -> a#2 -> b -> output:0\ninput:n -> add",
    args=lambda: (torch.rand(2, 4), torch.tensor(1)),
    gaps="int",
)
def loop_over_a_number_that_is_data(self, x, n):
    for _ in range(int(n + 1)):
        x = self.a(x)
    return self.b(x)


@pattern(
    "a a",
    """input:x -> a -> a#2 -> output:0
    input:n -> gt
    input:n -> sub -> gt#2
    sub -> sub#2 -> gt#3""",
    args=lambda: (torch.rand(2, 4), torch.tensor(2)),
    gaps="bool bool bool",
)
def while_loop_on_data(self, x, n):
    while n > 0:
        x, n = self.a(x), n - 1
    return x


@pattern("a b", "input:x -> a -> sum\na -> mul -> b -> output:0", gaps="float", fake="float reads a value")
def float_as_a_factor(self, x):
    y = self.a(x)
    return self.b(y * float(y.sum()))


@pattern(
    "a b",
    "input:x -> a -> argmax -> clamp\ninput:x -> __getitem__ -> b -> output:0\nclamp -> __getitem__",
    args=lambda: (torch.rand(2, 4),),
    fake="the size of what is sliced is a value",
)
def tensor_as_the_bound_of_a_slice(self, x):
    """torch itself reads the number, so that the edge is known."""
    count = self.a(x).argmax().clamp(2, 2)
    return self.b(x[:count])


@pattern("a b", "input:x -> a -> argmax -> remainder -> __getitem__ -> b -> output:0\ninput:x -> __getitem__")
def tensor_as_an_index(self, x):
    return self.b(x[self.a(x).argmax(-1) % 2])


@pattern("a b", "input:x -> a\ninput:x -> b -> output:0", gaps="repr")
def value_in_a_text(self, x):
    assert f"{self.a(x)}"
    return self.b(x)


@pattern("a b", "input:x -> a, b\nb -> output:0", gaps="equal", fake="equality depends on values")
def tensors_compared(self, x):
    y = self.a(x)
    return self.b(x) if not torch.equal(y, x) else y


@pattern("a b", "input:x -> a -> __deepcopy__ -> b -> output:0")
def deep_copied_tensor(self, x):
    return self.b(copy.deepcopy(self.a(x)))


@pattern("a b", "input:x -> a -> __deepcopy__ -> add -> output:0\ninput:x -> b -> __deepcopy__#2 -> add")
def deep_copied_list_of_tensors(self, x):
    """The copies know of each other only that they were made."""
    y, z = copy.deepcopy([self.a(x), self.b(x)])
    return y + z


@pattern("a b", "input:x -> a -> b -> output:0", gaps="dlpack", fake="dlpack reads memory")
def dlpack_round_trip(self, x):
    return self.b(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(self.a(x))))


@pattern("a b b", "input:x -> a -> unbind -> b, b#2\nb -> add -> add#2 -> output:0\nb#2 -> add#2")
def rows_of_a_tensor_one_by_one(self, x):
    return sum(self.b(row) for row in self.a(x))


@pattern("a b", "input:x -> a -> nonzero -> __getitem__ -> b -> output:0\ninput:x -> __getitem__")
def size_that_depends_on_values(self, x):
    """Under fake tensors the size is unknown, the flow is not."""
    return self.b(x[self.a(x).nonzero(as_tuple=True)[0]])
