"""Lists of tensors of which each has a layer of its own: as many as a `ModuleList` has modules, each as one wants it.

`for layer, x in zip(self.lateral, features)` takes a list of any length, and leaves layers uncalled where it is short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch import nn

from modgraph.inputs.guesses import Guesser, layers_of, name_class
from modgraph.inputs.probe import Attempt, Outcome
from modgraph.inputs.specs import Candidate, GroupSpec, Spec, TensorSpec
from modgraph.tracing.basics.members import registered_modules

_MOST = 8
_WIDEST = 128
"""Side of the first of the images that become smaller by half from one to the next."""


@dataclass(frozen=True, slots=True)
class _Levels:
    paths: tuple[str, ...]
    specs: tuple[TensorSpec, ...]

    def is_part_idle(self, outcome: Outcome) -> bool:
        """Some of its modules were called in the run, and others were not."""
        called = [any(name == path or name.startswith(f"{path}.") for name in outcome.called) for path in self.paths]
        return any(called) and not all(called)


def one_for_each(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """A list in place of what was counted or iterated over last, where the run failed."""
    counted = attempt.outcome.counted
    if counted is not None:
        for levels in _levels(guesser):
            yield from _with_list(attempt.candidate, str(counted[0]), levels)
    empty = [name for name, entry in attempt.candidate.entries if entry == GroupSpec("dict")]
    for name in empty if attempt.outcome.error is not None else ():  # a mapping that was asked for nothing by name
        for levels in _levels(guesser):
            yield from _with_list(attempt.candidate, name, levels, kind="dict")


def longer_lists(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """The same of a run that came through, but left modules of a list uncalled."""
    for levels in _levels(guesser):
        if levels.is_part_idle(attempt.outcome):
            for name, entry in attempt.candidate.entries:
                if _may_be_a_list(name, entry):
                    yield from _with_list(attempt.candidate, name, levels)


def _may_be_a_list(name: str, entry: Spec) -> bool:
    if isinstance(entry, GroupSpec):
        return entry.kind in ("list", "tuple")
    return isinstance(entry, TensorSpec) and not entry.integral and name_class(name) in (None, "image", "state")


def _levels(guesser: Guesser) -> Iterator[_Levels]:
    for path, module in registered_modules(guesser.model):
        if not isinstance(module, nn.ModuleList) or not 2 <= len(module) <= _MOST:
            continue
        first = [next(layers_of(child), None) for child in module if child is not None]
        paths = tuple(f"{path}.{number}" if path else str(number) for number in range(len(module)))
        specs = tuple(guesser.for_layer(layer) for layer in first if layer is not None)
        if len(specs) == len(paths):
            yield _Levels(paths, specs)


def _with_list(candidate: Candidate, name: str, levels: _Levels, kind: str = "list") -> Iterator[Candidate]:
    rule = f"{name}: one for each of {levels.paths[0].rpartition('.')[0] or 'the modules'}"
    for specs in dict.fromkeys((halved(levels.specs), levels.specs)):
        items = tuple((str(number) if kind == "dict" else number, spec) for number, spec in enumerate(specs))
        yield candidate.replaced({(name,): GroupSpec(kind, items)}, rule)


def halved(specs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    """Images as a pyramid has them."""
    return tuple(
        replace(spec, shape=(*spec.shape[:2], *[max(1, _WIDEST >> level)] * 2)) if len(spec.shape) == 4 else spec
        for level, spec in enumerate(specs)
    )
