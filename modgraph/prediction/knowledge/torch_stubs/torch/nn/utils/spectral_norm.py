"""Spectral normalisation of the hook kind."""


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None): ...


def remove_spectral_norm(module, name="weight"): ...
