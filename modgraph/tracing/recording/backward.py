"""Gradients per call, by hooks on the tensors that calls took and returned.

Never by module hooks: a full backward hook puts a node around the module, on which in-place activations fail. What
could not be hooked is absent from the record; it is not zero.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

import torch
from torch.utils import _pytree as pytree

from modgraph.tracing.basics.tensors import Named, quietly, tensors_in

Observer = Callable[[int, str, str, torch.Tensor], None]
"""Is told of a gradient: call, "input" or "output", the tensor's name, the gradient."""


class GradientHooks:
    """Tensor hooks set while the model runs forward, removed at the end."""

    def __init__(self) -> None:
        self.observe: Observer | None = None
        self._handles: list[Any] = []
        self._views: list[tuple[torch.Tensor, int, str, Any]] = []
        """Held until `complete`: an in-place write into its base gives a view another place in autograd's graph."""
        self._inputs: list[tuple[Any, int, str]] = []
        self._lock = threading.Lock()

    def watch(self, call: int, inputs: list[Named], outputs: list[Named]) -> None:
        """A call has ended: hook what it returned, and remember what it took."""
        returned = False
        for name, tensor in outputs:
            if tensor.requires_grad:
                returned = True
                self._hook(tensor, call, "output", name)
                if tensor._is_view():
                    self._views.append((tensor, call, name, tensor.grad_fn))
        if returned:
            self._inputs += [(ref(tensor), call, name) for name, tensor in inputs if tensor.requires_grad]

    def _hook(self, tensor: torch.Tensor, call: int, side: str, name: str) -> None:
        def on_gradient(gradient: torch.Tensor) -> None:
            if self.observe is not None:
                with quietly(), self._lock:
                    self.observe(call, side, name, gradient)

        self._handles.append(tensor.register_hook(on_gradient))

    def complete(self, result: Any) -> None:
        """After forward: hook views that an in-place write has rebuilt, and inputs with one consumer only.

        A hook on an input sees the sum over all who used the tensor: a call's own share only where it has one user.
        """
        for view, call, name, made_by in self._views:
            if view.grad_fn is not made_by:
                self._hook(view, call, "output", name)
        users = _users(result)
        for reference, call, name in self._inputs:
            tensor = reference()
            if tensor is not None and users.get(_origin(tensor)) == 1:
                self._hook(tensor, call, "input", name)
        self._views.clear()
        self._inputs.clear()

    def remove(self) -> None:
        """Take every hook off."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _origin(tensor: torch.Tensor) -> tuple[Any, int]:
    """What autograd knows a tensor as: the node that made it (or gathers its gradient), and the output's number."""
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def _users(result: Any) -> dict[tuple[Any, int], int]:
    """How often each tensor was used on the way to `result`, in autograd's graph; iterative."""
    users: dict[tuple[Any, int], int] = {}
    pending = [tensor.grad_fn for _, tensor in tensors_in(result, "") if tensor.grad_fn is not None]
    visited = set(pending)
    while pending:
        node = pending.pop()
        for above, number in node.next_functions:
            if above is None:
                continue
            users[above, number] = users.get((above, number), 0) + 1
            if above not in visited:
                visited.add(above)
                pending.append(above)
    return users


def leaves_of(loss: torch.Tensor) -> list[torch.Tensor]:
    """Every tensor into whose `grad` a backward pass from `loss` adds; iterative."""
    leaves: list[torch.Tensor] = []
    pending = [loss.grad_fn]
    visited = set(pending)
    while pending:
        node = pending.pop()
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, torch.Tensor):
            leaves.append(leaf)
        for above, _ in node.next_functions if node is not None else ():
            if above is not None and above not in visited:
                visited.add(above)
                pending.append(above)
    return leaves


def without_history(arguments: Any) -> Any:
    """The same arguments, with the same values in place of each tensor that has a history of its own.

    A backward pass through that history would add gradients to the caller's tensors and free the graph behind them.

    Raises:
        ValueError: such a tensor stands where it cannot be replaced, in an object that torch cannot take apart.
    """
    made: dict[int, torch.Tensor] = {}

    def fresh(value: Any) -> Any:
        if issubclass(type(value), torch.Tensor) and value.grad_fn is not None:
            if id(value) not in made:
                made[id(value)] = _writable(value)
            return made[id(value)]
        return value

    if all(tensor.grad_fn is None for _, tensor in tensors_in(arguments, "")):
        return arguments
    arguments = pytree.tree_map(fresh, arguments)
    new = {id(tensor) for tensor in made.values()}
    if any(tensor.grad_fn is not None and id(tensor) not in new for _, tensor in tensors_in(arguments, "")):
        raise ValueError("no backward pass: an argument holds a tensor with a history of its own; detach it first")
    return arguments


def _writable(tensor: torch.Tensor) -> torch.Tensor:
    """The same values without a history, as what a leaf gives: into a leaf itself no model may write."""
    with torch.enable_grad():
        leaf = tensor.detach().requires_grad_()
        return leaf.clone()


def loss_of(result: Any) -> torch.Tensor | None:
    """The sum of all outputs that a gradient can flow back from; None if there is none."""
    parts = [
        (tensor.abs() if tensor.is_complex() else tensor).sum()
        for _, tensor in tensors_in(result, "output")
        if tensor.requires_grad and tensor.numel()
    ]
    if not parts:
        return None
    total = parts[0].double()
    for part in parts[1:]:
        total = total + part.double().to(total.device)
    return total
