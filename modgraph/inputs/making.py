"""The arguments that `forward` is run with: as the user gave them, as they stand beside the model, or inferred."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from modgraph.errors import InputError
from modgraph.graph.model import INFERRED_IN_VAIN, ModelInput
from modgraph.inputs.guesses import Guesser
from modgraph.inputs.probe import Outcome, Prober, home_of
from modgraph.inputs.reasons import told
from modgraph.inputs.search import Found, Search, with_bounds
from modgraph.inputs.specs import (
    Candidate,
    GroupSpec,
    LiteralSpec,
    Place,
    Spec,
    TensorSpec,
    make_tensor,
    make_value,
    spec_text,
)
from modgraph.options import TraceOptions
from modgraph.source.input_groups import Given, InputGroup, grouped
from modgraph.source.inputs import InputSpec, parse_input, require_sizes
from modgraph.tracing.basics.forward_signature import ForwardSignature, has_forward
from modgraph.tracing.basics.interruptions import kept_for_later
from modgraph.tracing.basics.patches import one_at_a_time
from modgraph.tracing.basics.tensors import Origin, model_input
from modgraph.tracing.faking import fake
from modgraph.tracing.faking.caches import nothing_fake_remembered
from modgraph.tracing.faking.value_decisions import decides_by_values
from modgraph.tracing.loading.models import Example
from modgraph.tracing.restoring.restore import kept


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments of one run, and what is recorded of them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    infos: tuple[ModelInput, ...]
    warning: str | None = None
    """Inputs were inferred, and no run of them came through; says what was tried and what to do."""
    by_values: bool = False
    """Without weights the run will stop where `forward` decides by values."""
    tries: int = 0
    """Runs that the inference took; 0 where nothing was inferred."""


def make_inputs(
    model: nn.Module,
    specs: Sequence[InputSpec],
    example: Example | None,
    options: TraceOptions,
    *,
    fake_mode: Any = None,
    probe: bool = True,
) -> Inputs:
    """The arguments to run `model` with.

    Inputs that the user gave come first, then `example_inputs`, then inference; required parameters that the user
    left out are inferred beside the given ones. The model is left as it was.

    Args:
        fake_mode: the mode that the model's tensors belong to, where it has no weights.
        probe: run candidates; without it, the first guess is taken untried.

    Raises:
        InputError: `forward` does not take an input that was given.
    """
    signature = ForwardSignature.of(model)
    if not specs and example is not None:
        args, kwargs = fake.arguments_to_fake(example.args, example.kwargs, fake_mode)
        device, _ = home_of(model)
        if device.type != "cpu":
            args, kwargs = pytree.tree_map(lambda leaf: _moved(leaf, device), (args, kwargs))
        return Inputs(args, kwargs, describe_arguments(signature, args, kwargs, "example_inputs"))
    require_sizes(specs)
    given = bind_specs(specs, signature)
    if not given and not has_forward(model):
        return Inputs((), {}, ())  # the run says what is amiss, and no input would change it
    return _infer(model, signature, given, options, fake_mode, probe)


def describe_arguments(
    signature: ForwardSignature, args: Sequence[Any], kwargs: dict[str, Any], origin: Origin
) -> tuple[ModelInput, ...]:
    """What is recorded of arguments that exist."""
    names = signature.positional
    extra = len(args) - len(names)
    names = [*names, *(f"args[{index}]" for index in range(max(0, extra)))]
    values = [*zip(names, args, strict=False), *kwargs.items()]
    return tuple(model_input(name, value, origin, ()) for name, value in values)


def bind_specs(given: Sequence[InputSpec], signature: ForwardSignature) -> dict[str, Given]:
    """Each spec under the parameter that it is for.

    Raises:
        InputError: `forward` has no such parameter, has it twice, or takes fewer.
    """
    bound: dict[str, Given] = {}
    texts = {spec.name: spec.text for spec in reversed(given)}
    named = {each.name: each for each in grouped(given) if each.name is not None}
    free = [name for name in signature.positional if name not in named]
    for position, spec in enumerate(spec for spec in given if spec.name is None):
        if position < len(free):
            bound[free[position]] = spec
        elif signature.takes_more_positional:
            bound[f"args[{position - len(free)}]"] = spec
        else:
            raise InputError(
                f"--input {spec.text} is one too many: the model takes {signature.text()}", hint=_accepted(signature)
            )
    for name, each in named.items():
        if name in bound:
            raise InputError(f"--input {texts[name]}: {name} is given twice", hint=_accepted(signature))
        if name not in signature.parameters and not signature.takes_any_keyword:
            near = difflib.get_close_matches(name, signature.parameters, n=1)
            told = f"; did you mean {near[0]}?" if near else ""
            raise InputError(
                f"--input {texts[name]}: the model has no input {name!r}{told} It takes {signature.text()}"
                if near
                else f"--input {texts[name]}: the model has no input {name!r}, it takes {signature.text()}",
                hint=_accepted(signature),
            )
        bound[name] = each
    return bound


def _accepted(signature: ForwardSignature) -> str | None:
    names = signature.named
    return f"name one of its inputs: {', '.join(f'--input {name}=...' for name in names[:6])}" if names else None


def _infer(
    model: nn.Module,
    signature: ForwardSignature,
    given: dict[str, Given],
    options: TraceOptions,
    mode: Any,
    probe: bool,
) -> Inputs:
    # Of the process as a whole: what is patched and put back meanwhile, and the generators.
    with kept_for_later(), one_at_a_time, kept(model), nothing_fake_remembered(made_here=mode is None):
        found, device = _found(
            Prober(model, training=options.mode == "train", mode=mode), model, signature, given, probe
        )
    return _made(found, signature, set(given), device, mode)


def _found(
    prober: Prober, model: nn.Module, signature: ForwardSignature, given: dict[str, Given], probe: bool
) -> tuple[Found, torch.device]:
    """What was found, of which nothing holds a tensor, and the device on which it ran."""
    leading = {spec.sizes[0] for each in given.values() for spec in _parts(each) if spec.sizes}
    if len(leading) == 1:
        (prober.batch,) = leading
    guesser = Guesser(model, signature, batch=prober.batch, dtype=prober.dtype)
    fixed: dict[str, Spec] = {name: _of_given(spec, prober.dtype) for name, spec in given.items()}
    first = _with_given(guesser.first(fixed), fixed, signature)
    all_given = bool(given) and len(fixed) == len(first.entries)
    # A run to look would make the user see what `forward` does to the world twice.
    told = all_given and not prober.weightless and not (guesser.embeds and any(map(_leaves_open, given.values())))
    if told or not probe:
        found = Found(first, Outcome(), 0, accepted=True)
    elif all_given:
        found = _only_look(prober, first, given)
    else:
        open_dtypes = {name for name, spec in given.items() if isinstance(spec, InputSpec) and spec.dtype is None}
        found = _Fixed(prober, guesser, fixed, open_dtypes).find(first)
    outcome = found.outcome
    outcome.output = None
    if outcome.error is not None:
        outcome.error = outcome.error.with_traceback(None)
        outcome.error.__context__ = outcome.error.__cause__ = None
    return found, prober.device


class _Fixed(Search):
    """A search that leaves what the user gave alone."""

    def __init__(self, prober: Prober, guesser: Guesser, fixed: dict[str, Spec], open_dtypes: set[str]) -> None:
        super().__init__(prober, guesser)
        self.fixed = fixed
        self.open = open_dtypes

    def _with_usual(self, attempt: Any) -> Any:
        for candidate in super()._with_usual(attempt):
            yield self._kept(candidate) if isinstance(candidate, Candidate) else candidate

    def _kept(self, candidate: Candidate) -> Candidate:
        """The same with what was given put back; a dtype that was left open may have changed."""
        entries = []
        for name, spec in candidate.entries:
            fixed = self.fixed.get(name, spec)
            if name in self.open and isinstance(spec, TensorSpec) and isinstance(fixed, TensorSpec):
                fixed = replace(spec, shape=fixed.shape)
            entries.append((name, fixed))
        return Candidate(tuple(entries), candidate.rules)


def _parts(given: Given) -> Iterator[InputSpec]:
    """What is given of one parameter: itself, or what stands in it."""
    if isinstance(given, InputSpec):
        yield given
    else:
        for each in given.items.values():
            yield from _parts(each)


def _of_given(spec: Given, dtype: str) -> Spec:
    if isinstance(spec, InputGroup):
        items = tuple((key, _of_given(each, dtype)) for key, each in spec.items.items())
        return GroupSpec("list" if spec.is_list else "record", items)
    if spec.shape is None:
        return LiteralSpec(spec.literal)
    return TensorSpec(spec.sizes, spec.dtype or dtype)


def _leaves_open(given: Given) -> bool:
    """The dtype, or which indices are valid, is still to be found out."""
    return any(spec.shape is not None and (spec.dtype is None or "int" in spec.dtype) for spec in _parts(given))


def _dtype_is_open(given: Given, place: Place) -> bool:
    spec = given.at(place[1:]) if isinstance(given, InputGroup) else given
    return isinstance(spec, InputSpec) and spec.dtype is None


def _with_given(first: Candidate, fixed: dict[str, Spec], signature: ForwardSignature) -> Candidate:
    kept = [*first.entries, *fixed.items()]
    order = {name: index for index, name in enumerate(signature.parameters)}
    return Candidate(tuple(sorted(kept, key=lambda entry: order.get(entry[0], len(order)))), first.rules)


def _only_look(prober: Prober, candidate: Candidate, given: dict[str, Given]) -> Found:
    """One run, to learn which indices are valid and whether a dtype that was left open must be integer."""
    outcome = prober.run(candidate)
    changes: dict[Place, Spec] = {}
    for place, spec in candidate.tensors().items():
        use = outcome.uses.get(place)
        if use and use.wish.integral and _dtype_is_open(given[str(place[0])], place):
            changes[place] = TensorSpec(spec.shape, "int64", high=use.wish.bound)
    if changes:
        candidate = candidate.replaced(changes, "its layer takes indices")
        outcome = prober.run(candidate)
    return Found(candidate, outcome, prober.tries, accepted=True)


def _made(found: Found, signature: ForwardSignature, given: set[str], device: torch.device, mode: Any) -> Inputs:
    candidate = with_bounds(found.candidate, found.outcome)
    counter = iter(range(1 << 20))

    def tensor(_: Place, spec: TensorSpec) -> torch.Tensor:
        return make_tensor(spec, device, seed=next(counter), fake=mode is not None)

    with fake.running(mode):
        values = {name: make_value(spec, (name,), tensor) for name, spec in candidate.entries}
    infos = []
    for name, value in values.items():
        origin: Origin = "given" if name in given else "inferred"
        rules = told(candidate, found.outcome, name, tried=found.tries > 0) if origin == "inferred" else ()
        infos.append(model_input(name, value, origin, rules))
    args, kwargs = signature.split(values)
    return Inputs(
        args,
        kwargs,
        tuple(infos),
        _warning(found, signature, given),
        by_values=found.outcome.by_values,
        tries=found.tries,
    )


def _warning(found: Found, signature: ForwardSignature, given: set[str]) -> str | None:
    error = found.outcome.error
    if found.accepted or found.own_error or error is None or decides_by_values(error):
        return None
    inferred = [name for name, _ in found.candidate.entries if name not in given]
    if not inferred:
        return None
    advice = _advice(found.candidate, given, signature)
    spent = f" in {found.seconds:g} s, which is all that is spent on it," if found.seconds else ","
    return (
        f"{INFERRED_IN_VAIN} {signature.text()} ran with none of {found.tries} tries{spent} of which this run"
        f" is the nearest: {found.candidate.text()}; {advice}"
    )


def _advice(candidate: Candidate, given: set[str], signature: ForwardSignature) -> str:
    """How to give the inputs that were inferred in vain, with the nearest candidate as the pattern."""
    open_entries = [(name, spec) for name, spec in candidate.entries if name not in given]
    pattern = _as_typed(open_entries, given, signature)
    if pattern is None:
        return "give them by a function example_inputs() beside the model, which returns the arguments of forward"
    return (
        f"give them, changed as needed, as in {pattern}; where it goes by values, write a function example_inputs()"
        " beside the model, which returns the arguments of forward"
    )


def _as_typed(entries: Sequence[tuple[str, Spec]], given: set[str], signature: ForwardSignature) -> str | None:
    """The options of a command that gives these; None where there is no such command.

    What `*args` takes has no name on the command line: it is given in its place, behind all that have one.
    """
    known = {*given, *(name for name, _ in entries)}
    written = []
    for name, spec in entries:
        if "[" in name and (isinstance(spec, GroupSpec) or not known.issuperset(signature.positional)):
            return None
        parts = [("", spec)] if "[" in name else list(_typed_parts(name, spec))
        for place, part in parts:
            text = f"{place}={spec_text(part)}" if place else spec_text(part)
            try:
                parse_input(text)
            except InputError:  # a value that is no literal
                return None
            written.append(f"--input {shlex.quote(text)}")
    return " ".join(written) or None


def _typed_parts(place: str, spec: Spec) -> Iterator[tuple[str, Spec]]:
    """Each value in it, with its place as it is typed; one that cannot be, as it is."""
    if not isinstance(spec, GroupSpec) or not spec.items or spec.kind == "tuple":
        yield place, spec
        return
    for key, item in spec.items:
        yield from _typed_parts(f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}", item)


def _moved(leaf: Any, device: torch.device) -> Any:
    return leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf
