"""The inventory of the user's own hooks, of every kind, named by the import path of their function."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from typing import Any

from torch import nn
from torch.nn.modules import module as torch_module

from modgraph.graph.model import HookInfo

_KINDS = (
    ("_forward_pre_hooks", "forward_pre"),
    ("_forward_hooks", "forward"),
    ("_backward_pre_hooks", "full_backward_pre"),
    ("_backward_hooks", "full_backward"),
    ("_state_dict_pre_hooks", "state_dict_pre"),
    ("_state_dict_hooks", "state_dict"),
    ("_load_state_dict_pre_hooks", "load_state_dict_pre"),
    ("_load_state_dict_post_hooks", "load_state_dict_post"),
)
_GLOBAL_KINDS = (
    ("_global_forward_pre_hooks", "global_forward_pre"),
    ("_global_forward_hooks", "global_forward"),
    ("_global_backward_pre_hooks", "global_full_backward_pre"),
    ("_global_backward_hooks", "global_full_backward"),
    ("_global_module_registration_hooks", "global_module_registration"),
    ("_global_parameter_registration_hooks", "global_parameter_registration"),
    ("_global_buffer_registration_hooks", "global_buffer_registration"),
)
_SAVING = ("state_dict", "_save_to_state_dict")
"""Methods of Module by which a class says for itself what is saved."""
_TORCH = ("torch.nn.", "torch.distributed.")
"""What torch's own layers and utilities set changes no key: a lazy layer's method, the hook of spectral_norm; what is
spread over processes is saved under the keys that it had."""
_INTERNAL = ("torch.nn.modules.", "torch.distributed.")
"""Hooks that torch's own layers set on themselves (a lazy layer does), or that spread a model over processes, are none
of the user's."""


def hooks_of(module: nn.Module) -> tuple[HookInfo, ...]:
    """The hooks set on one module and on its own parameters, by kind, in the order in which they run."""
    found: list[HookInfo] = []
    state = module.__dict__
    for attribute, kind in _KINDS:
        if _is_empty(state.get(attribute)):
            continue
        if attribute == "_backward_hooks" and state.get("_is_full_backward_hook") is False:
            kind = "backward"
        found += _named(state.get(attribute), kind)
    parameters = state.get("_parameters")
    for parameter in dict(parameters or {}).values() if isinstance(parameters, dict) else ():
        if parameter is not None and parameter._backward_hooks is not None:
            found += _named(parameter._backward_hooks, "tensor")
        if parameter is not None and parameter._post_accumulate_grad_hooks is not None:
            found += _named(parameter._post_accumulate_grad_hooks, "post_accumulate_grad")
    return tuple(found)


def saves_its_own(module: nn.Module) -> bool:
    """Whether its class, the instance or a hook changes what `state_dict` is made of."""
    state = module.__dict__
    kind = type(module)
    for name in _SAVING:
        method = getattr(kind, name, None)
        if name in state or (method is not getattr(nn.Module, name) and not _is_of_torch(method)):
            return True
    if _is_empty(state.get("_state_dict_pre_hooks")) and _is_empty(state.get("_state_dict_hooks")):
        return False
    hooks = [*_named(state.get("_state_dict_pre_hooks"), ""), *_named(state.get("_state_dict_hooks"), "")]
    return any(not hook.name.startswith(_TORCH) for hook in hooks)


def extra_state_of(module: nn.Module) -> tuple[str, ...]:
    """Which of `get_extra_state` and `set_extra_state` its class defines; torch asks the class alone."""
    cls, base = type(module), torch_module.Module
    return tuple(
        way
        for way in ("get", "set")
        if getattr(cls, f"{way}_extra_state", None) is not getattr(base, f"{way}_extra_state")
    )


def _is_of_torch(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).startswith(_TORCH)


def global_hooks() -> tuple[HookInfo, ...]:
    """Hooks set for all modules at once."""
    found: list[HookInfo] = []
    for attribute, kind in _GLOBAL_KINDS:
        if attribute == "_global_backward_hooks" and vars(torch_module).get("_global_is_full_backward_hook") is False:
            kind = "global_backward"
        found += _named(vars(torch_module).get(attribute), kind)
    return tuple(found)


def has_global_forward_hooks() -> bool:
    """Whether any module's call runs a hook that is set for all."""
    return any(vars(torch_module).get(attribute) for attribute, kind in _GLOBAL_KINDS if "registration" not in kind)


def _is_empty(hooks: Any) -> bool:
    return hooks is None or (type(hooks) in (OrderedDict, dict) and not hooks)


def _named(hooks: Any, kind: str) -> list[HookInfo]:
    if not isinstance(hooks, dict):
        return []
    names = [hook_name(hook) for hook in hooks.values()]
    return [HookInfo(kind=kind, name=name) for name in names if not name.startswith(_INTERNAL)]


def hook_name(hook: Any) -> str:
    """Import path of the function behind `hook`, through partials, wrappers and bound methods; else of its class."""
    for _ in range(32):
        if isinstance(hook, functools.partial):
            hook = hook.func
        elif type(hook).__name__ == "_WrappedHook" and type(hook).__module__.startswith("torch."):
            hook = hook.hook
        elif isinstance(hook, types.FunctionType) and "__wrapped__" in vars(hook):
            hook = vars(hook)["__wrapped__"]
        elif isinstance(hook, types.MethodType):
            hook = hook.__func__
        else:
            break
    named = hook if isinstance(hook, types.FunctionType | types.BuiltinFunctionType | type) else type(hook)
    return f"{named.__module__}.{named.__qualname__}"
