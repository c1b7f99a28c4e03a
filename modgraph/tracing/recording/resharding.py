"""How FSDP gathers and frees parameters while a model runs: none of the model's own steps, and put back afterwards.

`fully_shard` gathers the parameters of a group before its forward, and `FullyShardedDataParallel` those of a row. For
the graph what was gathered is the parameter itself. All names here are torch's own, some of them private: one that a
release of torch does not have is left alone, and what it does is recorded like any other operation.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.basics.members import registered_modules
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.sharding import is_sharded
from modgraph.tracing.basics.tensors import quietly
from modgraph.tracing.recording.recorder import Recorder

_Methods = tuple[tuple[tuple[str, str], tuple[str, ...]], ...]
_GROUP = "torch.distributed.fsdp._fully_shard._fsdp_param_group", "FSDPParamGroup"
_ROW = "torch.distributed.fsdp._flat_param", "FlatParamHandle"
_MODULE = "torch.distributed.fsdp", "FSDPModule"
_WRAPPER = "torch.distributed.fsdp", "FullyShardedDataParallel"
_RUNTIME = "torch.distributed.fsdp._runtime_utils"

_GATHERING: _Methods = (
    (_GROUP, ("wait_for_unshard",)),
    (_ROW, ("unshard", "_use_unsharded_views")),
)
"""After these the modules hold the whole of their parameters."""
_OTHER: _Methods = (
    (_GROUP, ("lazy_init", "unshard", "reshard", "_register_post_backward_hook")),
    (_GROUP, ("pre_backward", "post_backward", "finalize_backward")),
    (_ROW, ("pre_unshard", "post_unshard", "reshard", "post_reshard", "init_flat_param_attributes")),
)
_OTHER_FUNCTIONS = (
    *("_lazy_init", "_pre_backward_hook", "_post_backward_hook", "_post_backward_reshard_only_hook"),
    *("_register_post_backward_hook", "_register_post_backward_reshard_only_hook", "_post_backward_final_callback"),
    *("_cast_buffers_to_dtype_and_device", "_reset_flat_param_grad_info_if_needed"),
)


def watch_sharding(recorder: Recorder, patches: Patches) -> None:
    """Record nothing of what FSDP does with parameters, and take what it gathers for the parameters."""
    for (module, name), methods in _GATHERING:
        owner = getattr(sys.modules.get(module), name, None)
        modules_of = _modules_of_group if name == _GROUP[1] else _modules_of_row
        for method in methods:
            _replace(recorder, patches, owner, method, modules_of)
    for (module, name), methods in _OTHER:
        for method in methods:
            _replace(recorder, patches, getattr(sys.modules.get(module), name, None), method, None)
    for function in _OTHER_FUNCTIONS:
        _replace(recorder, patches, sys.modules.get(_RUNTIME), function, None)


def _replace(
    recorder: Recorder,
    patches: Patches,
    owner: Any,
    name: str,
    modules_of: Callable[[Any], Iterable[nn.Module]] | None,
) -> None:
    original: Callable[..., Any] | None = vars(owner).get(name) if owner is not None else None
    if original is None:
        return

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        if recorder.is_outside() or recorder.is_quiet():
            return original(*args, **kwargs)
        with quietly():
            result = original(*args, **kwargs)
            if modules_of is not None:
                _take_gathered(recorder, modules_of(args[0]))
        return result

    patches.replace(owner, name, run)


def _take_gathered(recorder: Recorder, modules: Iterable[nn.Module]) -> None:
    """The whole of each parameter is from now on the parameter."""
    for module in modules:
        if id(module) in recorder.tree.known:
            for path, tensor in recorder.tree.take_again(module):
                recorder.dataflow.bind(tensor, (f"param:{path}",))


def _modules_of_group(group: Any) -> list[nn.Module]:
    infos = [parameter._module_info for parameter in group.fsdp_params]
    return _each_once(module for info in infos for module in (info.module, *info.shared_modules))


def _modules_of_row(handle: Any) -> list[nn.Module]:
    row = handle.flat_param
    return _each_once(info.module for info in (*row._param_infos, *row._shared_param_infos))


def _each_once(modules: Iterable[nn.Module]) -> list[nn.Module]:
    return list({id(module): module for module in modules}.values())


def gathers(model: nn.Module) -> bool:
    """Whether FSDP has parameters of it."""
    group, row = (getattr(sys.modules.get(module), name, None) for module, name in (_MODULE, _WRAPPER))
    kinds = tuple(kind for kind in (group, row) if kind is not None)
    return any(isinstance(module, kinds) for _, module in registered_modules(model))


class Gathered:
    """Which of the groups of `fully_shard` had their parameters spread before a run, to be so again afterwards."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        kind = getattr(sys.modules.get(_MODULE[0]), _MODULE[1], ())
        self._before = [(module, _is_spread(module)) for module in modules if kind and isinstance(module, kind)]

    def put_back(self, *, failed: bool) -> list[BaseException]:
        """Spread again what the run has gathered; to be called before the attributes are put back. Gives what went
        wrong.

        Args:
            failed: an exception left the model, on the way of which FSDP has stopped somewhere.
        """
        try:
            if failed and self._before and hasattr(self._before[0][0], "reset_iter_state"):
                self._before[0][0].reset_iter_state()
            for module, was_spread in self._before:
                if was_spread and not _is_spread(module):
                    module.reshard()
                elif not was_spread and _is_spread(module):
                    module.unshard()
        except RAISED_BY_OTHERS as error:
            return [error]
        return []


def _is_spread(module: Any) -> bool:
    """Whether the parameters of its own group are spread; True where it has none."""
    state = module._get_fsdp_state()
    groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
    for group in groups:
        for parameter in getattr(group, "fsdp_params", ()):
            info = parameter._module_info
            return is_sharded(getattr(info.module, info.param_name))
    return True
