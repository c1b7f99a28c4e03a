"""Checkpoints, transforms, compilers, scripts, threads; layouts and dtypes that are out of the ordinary."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .notation import lin, pattern


def two():
    return nn.Sequential(lin(), nn.Tanh())


CHECKPOINTED = "input:x -> s.0 -> s.1 -> b -> output:0"


@pattern("s(s.0 s.1) b", CHECKPOINTED, parts={"s": two})
def checkpoint_without_reentrance(self, x):
    return self.b(checkpoint(self.s, x, use_reentrant=False))


@pattern("s(s.0 s.1) b", CHECKPOINTED, parts={"s": two})
def checkpoint_with_reentrance(self, x):
    return self.b(checkpoint(self.s, x, use_reentrant=True))


AGAIN = "s(s.0 s.1) b again:s(again:s.0 again:s.1)"


@pattern(AGAIN, CHECKPOINTED, parts={"s": two}, options={"backward": True})
def recomputed_without_reentrance(self, x):
    return self.b(checkpoint(self.s, x, use_reentrant=False))


@pattern(
    AGAIN,
    CHECKPOINTED,
    args=lambda: (torch.rand(2, 4, requires_grad=True),),
    parts={"s": two},
    options={"backward": True},
)
def recomputed_with_reentrance(self, x):
    return self.b(checkpoint(self.s, x, use_reentrant=True))


@pattern("s.0 s.1 b", CHECKPOINTED, parts={"s": two})
def checkpoint_of_a_sequential_in_segments(self, x):
    return self.b(checkpoint_sequential(self.s, 2, x, use_reentrant=False))


@pattern("a b", "input:x -> a -> relu -> b -> output:0")
def autocast(self, x):
    with torch.autocast("cpu", torch.bfloat16):
        return self.b(torch.relu(self.a(x)))


@pattern("a b", "input:x -> a -> add_ -> __setitem__ -> b -> output:0")
def inference_mode(self, x):
    """Its tensors count no versions: what is written is told by names."""
    with torch.inference_mode():
        y = self.a(x)
        y.add_(1)
        y[0] = 0
        return self.b(y)


@pattern("a b", "input:x -> a -> b -> mul -> output:0")
def gradients_on_and_off(self, x):
    with torch.enable_grad():
        y = self.a(x)
    with torch.no_grad():
        return self.b(y) * 2


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@pattern("a b", "input:x -> a -> mul -> b -> output:0")
def autograd_function(self, x):
    return self.b(Double.apply(self.a(x)))


@pattern("a b", "input:x -> a -> mul -> b -> output:0", options={"backward": True})
def autograd_function_with_backward(self, x):
    return self.b(Double.apply(self.a(x)))


@pattern("a b", "input:x -> a -> view_as -> b -> output:0")
def autograd_function_that_returns_its_input(self, x):
    """torch itself makes a view, so that they are two."""
    return self.b(Same.apply(self.a(x)))


@pattern("a b", "input:x -> a -> mul_ -> b -> output:0")
def autograd_function_in_place(self, x):
    return self.b(InPlace.apply(self.a(x)))


@pattern(
    "a",
    "param:a.weight -> mul -> a\nparam:a.bias -> mul#2 -> a\ninput:x -> a -> output:0",
)
def functional_call(self, x):
    weights = {name: parameter * 2 for name, parameter in self.a.named_parameters()}
    return torch.func.functional_call(self.a, weights, (x,))


@pattern("a b", "input:x -> a -> b -> output:0", unproven="what ran inside vmap cannot be run by itself")
def vmap_over_a_module(self, x):
    return self.b(torch.vmap(self.a)(x))


@pattern(
    "a",
    """param:a.weight, param:b.weight -> stack -> detach -> a
    param:a.bias, param:b.bias -> stack#2 -> detach#2 -> a
    input:x -> a -> output:0""",
    unproven="what ran inside vmap cannot be run by itself",
)
def ensemble_by_vmap(self, x):
    parameters, buffers = torch.func.stack_module_state([self.a, self.b])

    def one(parameters, buffers, x):
        return torch.func.functional_call(self.a, (parameters, buffers), (x,))

    return torch.vmap(one, (0, 0, None))(parameters, buffers, x)


@pattern(
    "a b",
    "input:x -> a -> sum -> grad -> b -> output:0\ninput:x -> grad",
    unproven="what ran inside a transform cannot be run by itself",
)
def gradient_transform_in_forward(self, x):
    return self.b(torch.func.grad(lambda y: self.a(y).sum())(x))


@pattern(
    "a b",
    "input:x -> a -> sum -> grad -> b -> output:0\ninput:x -> grad",
    unproven="it goes back through what autograd remembers of the run",
)
def autograd_grad_in_forward(self, x):
    with torch.enable_grad():
        x.requires_grad_()
        (gradient,) = torch.autograd.grad(self.a(x).sum(), x)
    return self.b(gradient)


def compiled_in_place():
    made = two()
    made.compile(backend="eager")
    return made


@pattern("s(s.0 s.1) b", CHECKPOINTED, parts={"s": compiled_in_place})
def compiled_in_place_is_seen_through(self, x):
    return self.b(self.s(x))


@pattern(
    "s(s._orig_mod(s._orig_mod.0 s._orig_mod.1)) b",
    "input:x -> s._orig_mod.0 -> s._orig_mod.1 -> b -> output:0",
    parts={"s": lambda: torch.compile(two(), backend="eager")},
)
def compiled_wrapper_is_seen_through(self, x):
    return self.b(self.s(x))


@pattern("a b", "input:x -> a -> relu -> b -> output:0")
def compiled_function_is_seen_through(self, x):
    return self.b(torch.compile(torch.relu, backend="eager")(self.a(x)))


@pattern("s b", "input:x -> s -> b -> output:0", parts={"s": lambda: torch.jit.script(two())})
def scripted_module_is_a_leaf(self, x):
    return self.b(self.s(x))


@pattern("s b", "input:x -> s -> b -> output:0", parts={"s": lambda: torch.jit.trace(two(), torch.rand(2, 4))})
def jit_traced_module_is_a_leaf(self, x):
    return self.b(self.s(x))


@torch.jit.script
def scripted_double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pattern("a b", "input:x -> a -> scripted_double -> b -> output:0")
def scripted_function_is_an_operation(self, x):
    return self.b(scripted_double(self.a(x)))


@pattern(
    "a",
    "input:x -> sum -> gt\ninput:x -> a -> output:0",
    gaps="bool",
    fake="which branch runs is a value",
)
def cond(self, x):
    return torch.cond(x.sum() > 0, self.a, self.b, (x,))


@pattern(
    "a a",
    """input:x -> a -> a#2 -> output:0
    tensor -> lt
    tensor -> add -> lt#2
    add -> add#2 -> lt#3""",
    gaps="bool",
    fake="the number of turns is a value",
)
def while_loop(self, x):
    return torch.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, self.a(y)), (torch.tensor(0), x))[1]


@pattern(
    "a b",
    "ones_like -> _make_dual\ninput:x -> _make_dual -> a -> _unpack_dual -> b -> output:0",
    unproven="what ran inside a transform cannot be run by itself",
)
def forward_mode_derivative(self, x):
    return self.b(torch.func.jvp(self.a, (x,), (torch.ones_like(x),))[1])


@pattern("a b", "input:x -> a, b -> add -> output:0")
def threads(self, x):
    found = {}
    for name in ("a", "b"):
        thread = threading.Thread(target=lambda name=name: found.update({name: getattr(self, name)(x)}))
        thread.start()
        thread.join()
    return found["a"] + found["b"]


@pattern("a b", "input:x -> a -> mul -> b -> output:0")
def thread_pool(self, x):
    with ThreadPoolExecutor(1) as pool:
        y = pool.submit(lambda: self.a(x) * 2).result()
        return pool.submit(self.b, y).result()


@pattern("a b", "input:x -> a -> b -> output:0")
def jit_fork(self, x):
    return self.b(torch.jit.wait(torch.jit.fork(self.a, x)))


class Clones(nn.Module):
    def forward(self, x):
        return x.clone()


ODD = {
    "bfloat16": lambda: torch.rand(2, 4).bfloat16(),
    "float64": lambda: torch.rand(2, 4).double(),
    "complex": lambda: torch.rand(2, 4, dtype=torch.complex64),
    "empty": lambda: torch.empty(0, 4),
    "scalar": lambda: torch.tensor(2.0),
    "sparse": lambda: torch.rand(2, 4).to_sparse(),
    "csr": lambda: torch.rand(2, 4).to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([torch.rand(2), torch.rand(3)]),
    "jagged": lambda: torch.nested.nested_tensor([torch.rand(2), torch.rand(3)], layout=torch.jagged),
    "quantised": lambda: torch.quantize_per_tensor(torch.rand(2, 4), 0.1, 0, torch.quint8),
    "boolean": lambda: torch.rand(2, 4) > 0.5,
}
NOT_FAKE = {"nested": "of strided nested tensors there are no fakes", "quantised": "nor of quantised ones"}

for _kind, _make in ODD.items():

    def _forward(self, x):
        return self.i(self.c(x)), x.clone()

    _forward.__name__ = f"tensor_{_kind}"
    pattern(
        "c i",
        "input:x -> c -> i -> output:0\ninput:x -> clone#2 -> output:1",
        args=lambda make=_make: (make(),),
        parts={"c": Clones, "i": nn.Identity},
        fake=NOT_FAKE.get(_kind, ""),
    )(_forward)


@pattern(
    "a",
    "input:x -> _sparse_mm\ninput:y -> a -> _sparse_mm -> output:0",
    args=lambda: (torch.rand(2, 2).to_sparse(), torch.rand(2, 4)),
)
def sparse_times_dense(self, x, y):
    return torch.sparse.mm(x, self.a(y))


@pattern("a b", "input:x -> a -> complex -> abs -> b -> output:0\ninput:x -> complex")
def complex_numbers(self, x):
    return self.b(torch.complex(self.a(x), x).abs())


@pattern(
    "a b",
    "input:x -> a -> view -> view_as_complex -> real -> mul_\nview_as_complex, mul_ -> abs -> repeat -> b -> output:0",
    args=lambda: (torch.rand(4, 4),),
)
def real_part_written(self, x):
    z = torch.view_as_complex(self.a(x).view(4, 2, 2))
    z.real.mul_(2)
    return self.b(z.abs().repeat(1, 2))


@pattern(
    "a b",
    "input:x -> a -> quantize_per_tensor -> dequantize -> b -> output:0",
    fake="of quantised tensors there are no fakes",
)
def quantised_and_back(self, x):
    return self.b(torch.quantize_per_tensor(self.a(x), 0.1, 0, torch.quint8).dequantize())


@pattern("a b", "input:x -> a -> nested_tensor -> _nested_get_values -> b -> output:0\ninput:x -> nested_tensor")
def jagged_tensor_made_in_forward(self, x):
    return self.b(torch.nested.nested_tensor([self.a(x), x], layout=torch.jagged).values())


@pattern(
    "a",
    "input:x -> a -> __getitem__ -> sparse_coo_tensor -> matmul -> output:0\nparam:at -> sparse_coo_tensor\ninput:x -> matmul",
    parts={"at": lambda: torch.tensor([[0, 1], [1, 0]])},
)
def sparse_tensor_made_in_forward(self, x):
    return torch.sparse_coo_tensor(self.at, self.a(x)[:, 0], (2, 2)) @ x


class Tagged(torch.Tensor):
    """A subclass of the user's."""


@pattern(
    "a b",
    "input:x -> a -> tanh -> b -> output:0",
    args=lambda: (torch.rand(2, 4).as_subclass(Tagged),),
)
def tensor_subclass(self, x):
    return self.b(torch.tanh(self.a(x)))


@pattern("a b", "input:x -> a -> mul -> b -> output:0")
def under_another_function_mode(self, x):
    with torch.device("cpu"):
        return self.b(self.a(x) * 2)
