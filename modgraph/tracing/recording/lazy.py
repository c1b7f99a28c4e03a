"""Lazy modules, which take their sizes from what they are first given: making their parameters is no operation of the
model, and afterwards they are what they have become."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from modgraph.graph.events import SizedEvent
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.tensors import quietly

if TYPE_CHECKING:
    from modgraph.tracing.recording.recorder import Recorder

_INITIALISE = "initialize_parameters"


def watch_lazy(recorder: Recorder, patches: Patches, kind: type) -> None:
    """What a lazy class does to make its parameters is not recorded; who has them then is."""
    if not issubclass(kind, LazyModuleMixin):
        return
    for owner in kind.__mro__:
        original = vars(owner).get(_INITIALISE)
        if type(original) is types.FunctionType:
            patches.replace(owner, _INITIALISE, _initialising(recorder, original))


def _initialising(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    unseen = recorder.unseen(original)

    @functools.wraps(original)
    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.is_outside() or not issubclass(type(self), nn.Module):
            return original(self, *args, **kwargs)
        with quietly():
            was_lazy = _begins(recorder, self)
        result = unseen(self, *args, **kwargs)
        if was_lazy:
            with quietly():
                _ended(recorder, self)
        return result

    return initialize_parameters


def _begins(recorder: Recorder, module: Any) -> bool:
    """Keeps what is there and may be written into; whether the module has no sizes yet."""
    for each in module.modules():
        for store in ("_parameters", "_buffers"):
            for tensor in vars(each)[store].values():
                if tensor is not None and not is_lazy(tensor):
                    recorder.before_write(tensor)
    return bool(module.has_uninitialized_params())


def _ended(recorder: Recorder, module: Any) -> None:
    become = module.cls_to_become
    if become is not None:
        recorder.on_new_class(become)
    tensors = recorder.tree.initialised(module)
    for _, tensor in tensors:
        recorder.dataflow.forget(tensor)
    recorder.dataflow.register(tensors)
    if recorder.recipes is not None:
        recorder.recipes.made_on_the_way([(f"param:{path}", tensor) for path, tensor in tensors])


def sized(recorder: Recorder) -> None:
    """Says what the lazy modules are that the run has given sizes, before these are taken from them again."""
    nodes = recorder.tree.sized()
    if nodes:
        totals = recorder.tree.totals()
        recorder.say(
            SizedEvent(
                modules=tuple(nodes),
                parameters=totals.parameters,
                trainable_parameters=totals.trainable,
                buffers=totals.buffers,
            )
        )
