"""Values that go where no torch function tells of them: an edge where it can be known, else a gap, never silence."""

import _thread
import copy
import io
import pickle

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.needs_torch
X = torch.rand(2, 4, generator=torch.Generator().manual_seed(0)) + 0.1


class Two(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def reaches_b(graph):
    after = {}
    for edge in graph.edges:
        after.setdefault(edge.producer, []).append(edge.consumer)
    goals = {f"call:{call.index}" for call in graph.calls if call.module == "b"}
    pending = [f"call:{call.index}" for call in graph.calls if call.module == "a"]
    seen = set()
    while pending:
        for end in after.get(pending.pop(), ()):
            if end in goals:
                return True
            if end.startswith("op:") and end not in seen:
                seen.add(end)
                pending.append(end)
    return False


def by_slice(self, x):
    count = self.a(x).abs().sum().long().clamp(4, 4)
    return self.b(x[:, :count])


def by_slice_of_a_lone_index(self, x):
    count = self.a(x).abs().sum().long().clamp(2, 2)
    return self.b(x[:count])


def by_copy(self, x):
    return self.b(copy.copy(self.a(x)))


def by_storage(self, x):
    return self.b(torch.empty(0).set_(self.a(x).untyped_storage(), 0, (2, 4)))


def by_set(self, x):
    return self.b(torch.empty(0).set_(self.a(x)))


def by_new_tensor(self, x):
    y = self.a(x)
    return self.b(y.new_tensor(y))


def by_imaginary_part(self, x):
    z = torch.zeros(2, 4, dtype=torch.complex64)
    z.imag = self.a(x)
    return self.b(z.imag)


def by_real_part(self, x):
    z = torch.zeros(2, 4, dtype=torch.complex64)
    z.real = self.a(x)
    return self.b(z.abs())


def by_gradient(self, x):
    z = torch.zeros(2, 4)
    z.grad = self.a(x)
    return self.b(z.grad)


def by_map(self, x):
    y = torch.zeros(2, 4)
    y.map_(self.a(x), lambda _, value: value)
    return self.b(y)


def by_nested_tensor(self, x):
    return self.b(torch.nested.nested_tensor([self.a(x), x]).unbind()[0])


def by_dlpack(self, x):
    return self.b(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(self.a(x))))


def by_functionalize(self, x):
    return self.b(torch.func.functionalize(lambda value: value * 2)(self.a(x)))


def by_swap(self, x):
    y, z = self.a(x).clone(), torch.zeros(2, 4)
    torch.utils.swap_tensors(y, z)
    return self.b(z)


def by_raw_thread(self, x):
    done, found = _thread.allocate_lock(), []
    done.acquire()

    def work():
        found.append(self.a(x) * 2)
        done.release()

    _thread.start_new_thread(work, ())
    done.acquire()
    return self.b(found[0])


@pytest.mark.parametrize(
    "forward",
    [
        by_slice,
        by_slice_of_a_lone_index,
        by_copy,
        by_storage,
        by_set,
        by_new_tensor,
        by_imaginary_part,
        by_real_part,
        by_gradient,
        by_map,
        by_nested_tensor,
        by_dlpack,
        by_functionalize,
        by_swap,
        by_raw_thread,
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_edge_where_it_can_be_known(traced, forward):
    assert reaches_b(traced(Two(forward), X))


def pickled(self, x):
    return self.b(pickle.loads(pickle.dumps(self.a(x))))


def saved(self, x):
    file = io.BytesIO()
    torch.save(self.a(x), file)
    file.seek(0)
    return self.b(torch.load(file))


def as_bytes(self, x):
    return self.b(x * len(self.a(x).untyped_storage().tolist()))


def as_text(self, x):
    return self.b(x * len(repr(self.a(x))))


def as_formatted_text(self, x):
    return self.b(x * float(f"{self.a(x).sum():.3f}"))


def by_address(self, x):
    return self.b(x * (self.a(x).data_ptr() > 0))


def unseen(self, x):
    y = self.a(x)
    with torch._C.DisableTorchFunction():
        y = y * 2
    return self.b(y)


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        (pickled, "storage"),
        (saved, "storage"),
        (as_bytes, "storage"),
        (as_text, "repr"),
        (as_formatted_text, "repr"),
        (by_address, "data_ptr"),
        (unseen, "disabled"),
        (by_dlpack, "dlpack"),
    ],
)
def test_else_a_gap(traced, forward, kind):
    assert kind in [gap.kind for gap in traced(Two(forward), X).gaps]


def test_a_layer_that_is_converted_by_swapping(traced):
    def forward(self, x):
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            self.b.double().float()
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)
        return self.b(self.a(x))

    assert reaches_b(traced(Two(forward), X))


def test_a_forward_that_looks_at_its_own_arguments(traced):
    import inspect

    class Curious(nn.Module):
        def forward(self, x, scale=2):
            assert inspect.getfullargspec(self.forward).args == ["self", "x", "scale"]
            return x * scale

    traced(Curious(), X)
