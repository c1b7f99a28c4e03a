"""Optimizers: they hold parameters, and change their numbers alone."""


class Optimizer:
    def __init__(self, params, *args, **defaults):
        groups = list(params)
        if not groups or not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.defaults = defaults
        self.state = {}
        self.param_groups = [{**defaults, **group, "params": list(group["params"])} for group in groups]

    def step(self, closure=None):
        return None if closure is None else closure()

    def zero_grad(self, set_to_none=True):
        pass

    def add_param_group(self, param_group):
        self.param_groups.append({**self.defaults, **param_group})


class Adadelta(Optimizer):
    pass


class Adagrad(Optimizer):
    pass


class Adam(Optimizer):
    pass


class AdamW(Adam):
    pass


class Adamax(Optimizer):
    pass


class ASGD(Optimizer):
    pass


class LBFGS(Optimizer):
    pass


class NAdam(Optimizer):
    pass


class RAdam(Optimizer):
    pass


class RMSprop(Optimizer):
    pass


class Rprop(Optimizer):
    pass


class SGD(Optimizer):
    pass
