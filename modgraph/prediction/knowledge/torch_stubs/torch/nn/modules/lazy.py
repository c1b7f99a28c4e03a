"""Modules whose parameters get their shape at the first forward."""


class LazyModuleMixin:
    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

    def has_uninitialized_params(self): ...

    def initialize_parameters(self, *args, **kwargs): ...
