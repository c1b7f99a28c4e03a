"""Weight normalisation of the hook kind."""


def weight_norm(module, name="weight", dim=0): ...


def remove_weight_norm(module, name="weight"): ...
