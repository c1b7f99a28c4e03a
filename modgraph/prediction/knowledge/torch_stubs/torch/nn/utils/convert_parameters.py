"""Parameters as one vector."""


def parameters_to_vector(parameters): ...


def vector_to_parameters(vec, parameters): ...
