"""Attaching parametrisations to tensors of a module."""


def cached(): ...


def is_parametrized(module, tensor_name=None): ...


def class_made_at_run_time(module): ...


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    return class_made_at_run_time(module)


def remove_parametrizations(module, tensor_name, leave_parametrized=True): ...
