"""Parametrisations: each gives its module a class made at run time."""


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True): ...


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None): ...


def weight_norm(module, name="weight", dim=0): ...
