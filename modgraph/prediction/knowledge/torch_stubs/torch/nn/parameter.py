"""Tensors that a module registers when they are assigned to it."""


class Parameter:
    def __new__(cls, data=None, requires_grad=True): ...


class UninitializedParameter(Parameter):
    def __new__(cls, requires_grad=True, device=None, dtype=None): ...


class Buffer:
    def __new__(cls, data=None, *, persistent=True): ...


class UninitializedBuffer:
    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True, **kwargs): ...
