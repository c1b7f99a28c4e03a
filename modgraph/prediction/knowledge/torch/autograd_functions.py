"""What calls a function that it is given, and gives what that gives: `Function.apply`, `checkpoint`."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import constant, models
from modgraph.prediction.domain.values import (
    FALSE,
    Address,
    ClassMethod,
    ClassValue,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.plain import data_unknown

_FUNCTION = "torch.autograd.function.Function"
constant(f"{_FUNCTION}.apply", ClassMethod(KnownFunction(f"{_FUNCTION}.<apply>")))


@models(f"{_FUNCTION}.<apply>")
def apply(arguments: Arguments, machine: Machine) -> Value:
    """`forward` of the class, with a context, or with none where another method fills it."""
    cls, *given = arguments.positional
    function = machine.get_attribute(cls, "forward")
    if isinstance(function, Unknown):
        return machine.call(function, given, arguments.keywords, arguments.where, arguments.open)
    context = _context(machine)
    setup = machine.find_attribute(cls, "setup_context")
    if setup is None or isinstance(setup, KnownFunction) or _is_torchs(setup):
        given = [context, *given]
    return machine.call(function, given, arguments.keywords, arguments.where, arguments.open)


def _context(machine: Machine) -> Value:
    """An object of torch's own class, which holds what `forward` puts there; unknown without torch's source."""
    cls = machine.resolve(f"{_FUNCTION}Ctx")
    why = Unknown("what the context of a function of autograd holds is not followed", machine.where, inert=True)
    if not isinstance(cls, ClassValue):
        return why
    context = machine.call(cls)
    machine.set_attribute(context, "needs_input_grad", why)
    return context


def _is_torchs(setup: Value) -> bool:
    return getattr(getattr(setup, "definition", None), "module", "").startswith("torch.")


_OPTIONS = frozenset(("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop"))


@models("torch.utils.checkpoint.checkpoint")
def checkpoint(arguments: Arguments, machine: Machine) -> Value:
    """function(*args, **kwargs): what is computed again, is so in the backward pass."""
    if not arguments.positional:
        return data_unknown(machine, arguments.function, "which function is checkpointed is not known")
    function, *given = arguments.positional
    keywords = {name: value for name, value in arguments.keywords.items() if name not in _OPTIONS}
    found = machine.call(function, given, keywords, arguments.where, arguments.open)
    if arguments.keywords.get("use_reentrant") != FALSE:
        _as_given(machine, found, given)
    return found


def _as_given(machine: Machine, found: Value, given: Sequence[Value]) -> None:
    """Of what is run without gradients first: it needs one only where what is given does, which is not known here."""
    tensors = [machine.state.find(each, TensorObject) for each in given]
    if any(each is not None and each.requires_grad is True for each in tensors):
        return
    for each in found.items if isinstance(found, TupleValue) else (found,):
        tensor = machine.state.find(each, TensorObject)
        if isinstance(each, Address) and tensor is not None and tensor.requires_grad and not tensor.is_parameter:
            machine.state.change(each, TensorObject).requires_grad = None
