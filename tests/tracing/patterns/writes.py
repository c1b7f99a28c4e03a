"""In place and aliasing: who wrote last what a tensor holds."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .notation import pattern


@pattern("a b", "input:x -> a -> __getitem__ -> add_\na, add_ -> b -> output:0")
def written_through_a_view_and_the_base_read(self, x):
    y = self.a(x)
    y[0].add_(1)
    return self.b(y)


@pattern("a b", "input:x -> a -> __getitem__, mul_ -> b -> output:0")
def base_written_and_an_old_view_read(self, x):
    y = self.a(x)
    view = y[0]
    y.mul_(2)
    return self.b(view)


@pattern("a b", "input:x -> a -> mul_ -> __getitem__ -> b -> output:0")
def base_written_before_the_view_is_taken(self, x):
    y = self.a(x)
    y.mul_(2)
    return self.b(y[0])


@pattern("a b", "input:x -> a -> __getitem__, __getitem__#2\n__getitem__#2 -> b -> output:0")
def one_row_written_and_another_read(self, x):
    y = self.a(x)
    first, second = y[0], y[1]
    first.zero_()
    return self.b(second)


@pattern(
    "a",
    "input:x -> a -> __getitem__ -> __setitem__ -> __getitem__#2 -> output:0\nzeros -> __setitem__",
)
def fresh_buffer_set_and_the_slot_read_back(self, x):
    buffer = torch.zeros(2, 4)
    buffer[0] = self.a(x)[0]
    return buffer[0]


@pattern(
    "a b",
    "input:x -> a -> __getitem__ -> __setitem__ -> __getitem__#2 -> b -> output:0\nzeros -> __setitem__",
)
def fresh_buffer_set_and_another_slot_read(self, x):
    """The buffer is what the last write made of it; that the slot is untouched need not be known."""
    buffer = torch.zeros(2, 4)
    buffer[0] = self.a(x)[0]
    return self.b(buffer[1])


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> __setitem__
    input:x -> b -> __getitem__#2 -> __setitem__#2
    zeros -> __setitem__ -> __setitem__#2 -> output:0""",
)
def fresh_buffer_filled_slot_by_slot(self, x):
    buffer = torch.zeros(2, 4)
    buffer[0] = self.a(x)[0]
    buffer[1] = self.b(x)[0]
    return buffer


@pattern("a b", "input:x -> a -> add -> b -> output:0")
def out_argument(self, x):
    out = torch.empty(2, 4)
    torch.add(self.a(x), 1, out=out)
    return self.b(out)


@pattern("a b", "input:x -> a, b -> add\na -> mul\nadd, mul -> add#2 -> output:0")
def out_argument_that_is_read_too(self, x):
    """What was made of it before stays what it was."""
    y, z = self.a(x), self.b(x)
    before = y * 2
    torch.add(y, z, out=y)
    return y + before


class DoublesInPlace(nn.Module):
    def forward(self, x):
        x.mul_(2)


class ZeroesARow(nn.Module):
    def forward(self, x):
        x[0].zero_()


@pattern("a m b", "input:x -> a -> m -> b -> output:0", parts={"m": DoublesInPlace})
def module_that_changes_its_input_and_returns_none(self, x):
    y = self.a(x)
    self.m(y)
    return self.b(y)


@pattern("a m b", "input:x -> a -> m -> b -> output:0", parts={"m": ZeroesARow})
def module_that_changes_a_part_of_its_input(self, x):
    y = self.a(x)
    self.m(y)
    return self.b(y)


@pattern(
    "a r",
    "input:x -> a -> r -> add -> output:0",
    parts={"r": lambda: nn.ReLU(inplace=True)},
)
def activation_in_place_and_both_names_used(self, x):
    y = self.a(x)
    return self.r(y) + y


@pattern("a b", "input:x -> a -> relu -> b -> output:0")
def functional_in_place(self, x):
    y = self.a(x)
    F.relu(y, inplace=True)
    return self.b(y)


@pattern("a b", "input:x -> a -> add_ -> mul_ -> b -> output:0")
def one_write_after_another(self, x):
    y = self.a(x)
    y.add_(1).mul_(2)
    return self.b(y)


@pattern(
    "b",
    "input:x -> copy_ -> add -> b -> output:0",
    parts={"state": lambda: torch.zeros(2, 4)},
)
def registered_buffer_copied_into_then_read(self, x):
    self.state.copy_(x)
    return self.b(self.state + 1)


@pattern(
    "a",
    "input:x -> mean -> add_\nparam:total -> add_\ninput:x -> a\na, add_ -> add -> output:0",
    parts={"total": lambda: torch.zeros(4)},
)
def registered_buffer_added_to_then_read(self, x):
    self.total.add_(x.mean(0))
    return self.a(x) + self.total


@pattern(
    "a",
    "param:steps -> add_\ninput:x -> a\na, add_ -> mul -> output:0",
    parts={"steps": lambda: torch.zeros(1)},
)
def counter_in_a_buffer(self, x):
    self.steps += 1
    return self.a(x) * self.steps


@pattern(
    "a b",
    "input:x -> a -> mul\nparam:state -> mul -> b -> output:0",
    parts={"state": lambda: torch.ones(2, 4)},
)
def buffer_replaced_by_another_tensor(self, x):
    self.state = self.a(x) * self.state
    return self.b(self.state)


@pattern("a b", "input:x -> a -> data -> b -> output:0")
def data_attribute(self, x):
    return self.b(self.a(x).data)


@pattern("a b", "input:x -> a -> data -> mul_\na, mul_ -> b -> output:0")
def written_through_data(self, x):
    y = self.a(x)
    y.data.mul_(2)
    return self.b(y)


@pattern("a b", "input:x -> a -> neg -> __set__ -> b -> output:0")
def data_replaced(self, x):
    """The old values of y are gone, nobody reads them."""
    y = self.a(x)
    y.data = -y
    return self.b(y)


@pattern("a b", "input:x -> a -> detach -> b -> output:0")
def detached(self, x):
    return self.b(self.a(x).detach())


@pattern("a b", "input:x -> a -> detach -> add_\na, add_ -> b -> output:0")
def written_through_what_is_detached(self, x):
    y = self.a(x)
    y.detach().add_(1)
    return self.b(y)


class TransposedWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(4, 4))

    def forward(self):
        return self.w.t()


@pattern("g", "input:x -> matmul\ng -> matmul -> output:0", parts={"g": TransposedWeight})
def module_that_returns_a_view_of_its_parameter(self, x):
    return x @ self.g()


@pattern(
    "g g",
    "input:x -> matmul -> matmul#2 -> output:0\ng -> matmul\ng#2 -> matmul#2",
    parts={"g": TransposedWeight},
)
def view_of_a_parameter_returned_twice(self, x):
    """Each is a tensor of its own, made by its own call."""
    return x @ self.g() @ self.g()


@pattern(
    "b",
    "param:a.weight -> t -> matmul\ninput:x -> matmul -> b -> matmul#2 -> output:0\nparam:a.weight -> matmul#2",
)
def view_of_a_parameter_and_the_parameter_itself(self, x):
    return self.b(x @ self.a.weight.t()) @ self.a.weight


@pattern(
    "a a",
    "input:x -> a -> a#2 -> output:0\nparam:a.weight -> mul_ -> a#2",
)
def weight_of_a_layer_written_between_its_calls(self, x):
    y = self.a(x)
    self.a.weight.mul_(2)
    return self.a(y)


@pattern(
    "b",
    "param:w -> clamp_ -> matmul -> b -> output:0\ninput:x -> matmul",
    parts={"w": lambda: nn.Parameter(torch.full((4, 4), 3.0))},
)
def parameter_clamped_before_use(self, x):
    with torch.no_grad():
        self.w.clamp_(max=1)
    return self.b(x @ self.w)


@pattern(
    "a b",
    """input:x -> a -> unbind#2 -> copy_, copy_#2
    empty -> unbind
    empty, copy_, copy_#2 -> b -> output:0""",
)
def rows_copied_one_by_one(self, x):
    out = torch.empty(2, 4)
    for row, piece in zip(out.unbind(), self.a(x), strict=True):
        row.copy_(piece)
    return self.b(out)


@pattern(
    "a b",
    "input:x -> a -> __getitem__ -> __setitem__ -> b -> output:0\na -> __setitem__",
)
def rows_swapped_by_index_lists(self, x):
    y = self.a(x)
    y[[0, 1]] = y[[1, 0]]
    return self.b(y)


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> add_ -> __setitem__ -> b -> output:0
    a, add_ -> __setitem__""",
)
def augmented_assignment_to_an_item(self, x):
    """Python takes the item, adds to it in place, and sets what it has: the tensor has heard of it already."""
    y = self.a(x)
    y[0] += 1
    return self.b(y)


@pattern(
    "a b",
    """input:x -> a, b -> _foreach_add_
    _foreach_add_, _foreach_add_ -> sub -> output:0""",
)
def several_written_at_once(self, x):
    y, z = self.a(x), self.b(x)
    torch._foreach_add_([y, z], 1)
    return y - z


@pattern("a b", "input:x -> a -> max -> b -> output:0\nmax -> output:1")
def two_out_arguments(self, x):
    values, indices = torch.empty(4), torch.empty(4, dtype=torch.long)
    torch.max(self.a(x), 0, out=(values, indices))
    return self.b(values), indices


@pattern("a b", "input:x -> a -> mul -> b -> output:0")
def out_argument_that_is_given_its_size(self, x):
    out = torch.empty(0)
    torch.mul(self.a(x), 2, out=out)
    return self.b(out)


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> clone -> __setitem__ -> b -> output:0
    a -> __setitem__""",
)
def shifted_within_itself(self, x):
    y = self.a(x)
    y[:, 1:] = y[:, :-1].clone()
    return self.b(y)


@pattern("a b", "input:x -> a -> T -> mul_ -> mT -> b -> output:0", args=lambda: (torch.rand(4, 4),))
def written_by_a_transposed_name(self, x):
    return self.b(self.a(x).T.mul_(2).mT)


@pattern(
    "a b",
    "input:x -> a -> gt\ninput:x -> b\ngt, a, b -> where -> output:0",
)
def chosen_by_where(self, x):
    y = self.a(x)
    return torch.where(y > 0, y, self.b(x))


@pattern(
    "a b",
    "zeros -> index_put_ -> b -> output:0\nparam:index -> index_put_\ninput:x -> a -> index_put_",
    parts={"index": lambda: torch.tensor([0, 2])},
)
def put_at_an_index(self, x):
    out = torch.zeros(3, 4)
    out.index_put_((self.index,), self.a(x))
    return self.b(out)


@pattern("a b", "input:x -> a -> __getitem__\na, fill_ -> b -> output:0")
def part_filled_with_a_number(self, x):
    y = self.a(x)
    y[:, 0].fill_(3)
    return self.b(y)


@pattern("a b", "input:x -> a -> b -> output:0\na -> expand -> add -> output:1\nb -> add")
def expanded_view_of_what_is_used_again(self, x):
    y = self.a(x)
    z = self.b(y)
    return z, y.expand(2, 4) + z


@pattern(
    "a b",
    """input:x -> a -> split -> __getitem__ -> add_
    split -> add_
    a, add_ -> b -> output:0""",
)
def narrow_piece_written_from_the_wide_one(self, x):
    y = self.a(x)
    narrow, wide = torch.split(y, [1, 3], -1)
    narrow.add_(wide[:, :1])
    return self.b(y)


@pattern("a b", "input:x -> a -> b -> output:0")
def given_the_memory_of_another(self, x):
    """`set_` computes nothing: what is read is what `a` gave."""
    return self.b(torch.empty(0).set_(self.a(x)))


@pattern("a b", "input:x -> a -> clone -> b -> output:0", fake="torch does not swap fake tensors")
def tensors_swapped(self, x):
    y, z = self.a(x).clone(), torch.zeros(2, 4)
    torch.utils.swap_tensors(y, z)
    return self.b(z)


@pattern("a b", "input:x -> a -> gt -> __setitem__ -> b -> output:0\na -> __setitem__")
def masked_assignment(self, x):
    y = self.a(x)
    y[y > 0] = 0
    return self.b(y)


@pattern(
    "a b",
    "param:index -> index_add_\ninput:x -> a -> index_add_\nzeros -> index_add_ -> b -> output:0",
    parts={"index": lambda: torch.tensor([2, 0])},
)
def added_at_an_index(self, x):
    return self.b(torch.zeros(3, 4).index_add_(0, self.index, self.a(x)))


@pattern(
    "a b",
    "param:index -> scatter_\ninput:x -> a -> scatter_\nzeros -> scatter_ -> b -> output:0",
    parts={"index": lambda: torch.zeros(2, 4, dtype=torch.long)},
)
def scattered(self, x):
    out = torch.zeros(3, 4)
    out.scatter_(0, self.index, self.a(x))
    return self.b(out)


@pattern(
    "a b",
    "input:x -> a -> view -> __getitem__\na, zero_ -> b -> output:0",
)
def view_of_a_view_overwritten(self, x):
    """What is filled with zeros was not read; the values of the rest are from `a`."""
    y = self.a(x)
    y.view(-1)[0:4].zero_()
    return self.b(y)


@pattern("a b", "input:x -> a -> reshape -> __setitem__\na, __setitem__ -> b -> output:0")
def written_through_a_reshaped_view(self, x):
    y = self.a(x)
    y.reshape(-1)[0] = 5
    return self.b(y)


@pattern("a b", "input:x -> a -> as_strided -> mul_\na, mul_ -> b -> output:0")
def written_through_overlapping_strides(self, x):
    y = self.a(x)
    y.as_strided((3,), (2,)).mul_(2)
    return self.b(y)


@pattern("a b", "input:x -> a -> permute -> b -> output:0\na -> add_ -> b", args=lambda: (torch.rand(4, 4),))
def permuted_view_read_after_the_base_was_written(self, x):
    y = self.a(x)
    turned = y.permute(1, 0)
    y += 1
    return self.b(turned)


@pattern(
    "a b",
    "input:x -> a -> t -> reshape -> view -> b -> add -> output:0\na -> add_ -> add",
    args=lambda: (torch.rand(4, 4),),
)
def reshape_that_copies_does_not_hear_of_later_writes(self, x):
    y = self.a(x)
    copied = y.t().reshape(16).view(4, 4)
    y += 1
    return self.b(copied) + y


@pattern("a b", "input:x -> a -> clone -> b -> add -> output:0\na -> add_ -> add")
def clone_does_not_hear_of_later_writes(self, x):
    y = self.a(x)
    kept = y.clone()
    y += 1
    return self.b(kept) + y


@pattern("a", "input:x -> mul_ -> a -> output:0")
def input_changed_in_place(self, x):
    return self.a(x.mul_(2))


@pattern("a", "input:x -> mul_ -> a -> add -> output:0\nmul_ -> add")
def input_changed_through_another_name(self, x):
    same = x
    same.mul_(2)
    return self.a(same) + x


@pattern("a b", "input:x -> a -> chunk -> mul_ -> cat\nchunk -> cat -> b -> output:0")
def one_of_two_halves_written(self, x):
    """The upper half is what the write made of it; the lower still what `chunk` gave."""
    upper, lower = self.a(x).chunk(2)
    upper.mul_(2)
    return self.b(torch.cat([upper, lower]))


@pattern("a b", "input:x -> a -> chunk -> mul_ -> cat\nchunk -> cat -> b -> output:0")
def one_of_two_halves_of_every_row_written(self, x):
    """The halves lie between each other in memory, and share none of it."""
    left, right = self.a(x).chunk(2, dim=-1)
    left.mul_(2)
    return self.b(torch.cat([left, right], -1))


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> add_
    a -> __getitem__#2 -> mul_
    a, add_, mul_ -> b -> output:0""",
)
def cell_written_then_columns_beside_it(self, x):
    """The second write lies beside the first and has not read it: what is read comes from both."""
    y = self.a(x)
    y[0, 2:].add_(1)
    y[:, :2].mul_(2)
    return self.b(y)


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> b -> output:0
    a -> __getitem__#2 -> mul_""",
    args=lambda: (torch.rand(2, 3, 4),),
    parts={"b": lambda: nn.Linear(2, 2)},
)
def columns_read_that_lie_between_what_was_written(self, x):
    y = self.a(x)
    left = y[:, :, :2]
    y[:, 1:, 2:].mul_(2)
    return self.b(left)


@pattern(
    "a b",
    """input:x -> a -> __getitem__ -> b -> output:0
    a -> transpose -> __getitem__#2 -> mul_ -> b""",
    args=lambda: (torch.rand(4, 4),),
)
def row_read_that_a_column_write_crosses(self, x):
    y = self.a(x)
    row = y[1]
    y.transpose(0, 1)[2].mul_(2)
    return self.b(row)


@pattern(
    "a b a b",
    """input:x -> a -> __setitem__
    param:cache -> __setitem__ -> __getitem__ -> sum -> b
    b -> a#2 -> __setitem__#2
    __setitem__ -> __setitem__#2 -> __getitem__#2 -> sum#2 -> b#2 -> output:0""",
    parts={"cache": lambda: torch.zeros(3, 2, 4)},
)
def kv_cache_written_and_read_step_by_step(self, x):
    for step in range(2):
        self.cache[step] = self.a(x)
        x = self.b(self.cache[: step + 1].sum(0))
    return x


@pattern(
    "a b a b",
    """input:x -> a -> copy_
    param:cache -> narrow
    param:cache, copy_ -> narrow#2 -> b -> __getitem__ -> a#2 -> copy_#2
    param:cache -> narrow#3
    param:cache, copy_, copy_#2 -> narrow#4 -> b#2 -> __getitem__#2 -> output:0""",
    parts={"cache": lambda: torch.zeros(2, 2, 4)},
)
def kv_cache_written_through_narrow(self, x):
    for step in range(2):
        self.cache.narrow(0, step, 1).copy_(self.a(x))
        x = self.b(self.cache.narrow(0, 0, step + 1))[-1]
    return x


@pattern(
    "a b",
    "input:x -> a -> cat -> b -> output:0\nparam:past -> cat",
    parts={"past": lambda: torch.zeros(3, 4)},
)
def kv_cache_grown_by_cat(self, x):
    self.past = torch.cat([self.past, self.a(x)])
    return self.b(self.past)


@pattern("a b", "input:x -> a -> add_\ninput:x -> b -> add_ -> output:0")
def accumulated_with_augmented_assignment(self, x):
    y = self.a(x)
    y += self.b(x)
    return y


@pattern("a b", "input:x -> a -> unsqueeze -> squeeze -> mul_\na, mul_ -> b -> output:0")
def written_through_two_views_of_the_same_size(self, x):
    y = self.a(x)
    y.unsqueeze(0).squeeze(0).mul_(2)
    return self.b(y)


@pattern("a b", "input:x -> a -> lerp_\ninput:x -> lerp_ -> b -> output:0")
def written_with_what_is_also_read(self, x):
    y = self.a(x)
    y.lerp_(x, 0.5)
    return self.b(y)


@pattern("a", "input:x -> a -> output:0\na -> output:1")
def one_tensor_returned_twice(self, x):
    """Each place is an output of its own."""
    y = self.a(x)
    return y, y


@pattern(
    "norm a", "input:x -> norm -> a -> output:0", parts={"norm": lambda: nn.BatchNorm1d(4)}, options={"mode": "train"}
)
def batch_norm_in_train_mode(self, x):
    """Its running statistics are its own buffers, written and put back."""
    return self.a(self.norm(x))
