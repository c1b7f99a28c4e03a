"""Bounds on gradients."""


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None): ...


def clip_grad_value_(parameters, clip_value, foreach=None): ...
