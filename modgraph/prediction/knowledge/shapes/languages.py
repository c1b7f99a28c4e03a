"""Rules of shapes as text.

    signature("torch.nn.functional.linear(input, weight, bias=None)", "*b i, o i, o? -> *b o")

A letter is a size, and the same letter the same size, else torch raises RuntimeError; `*b` is any number of sizes,
which broadcast where it stands at several arguments; a number is itself; `_` is not looked at; what ends in `?` may be
None.

    layer_shape(machine, module, "*b @normalized_shape -> same", given)

Of a layer, a name is an attribute of the module, and `@name` a tuple of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import NONE, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError, Size, joined
from modgraph.prediction.knowledge.tensors.elements import Shape, promoted
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.torch.parameters import TENSOR

Sizes = dict[str, Size]
Runs = dict[str, Shape | None]
"""By name of a `*b`: its sizes; None where not even their number is known."""


@dataclass(frozen=True)
class Part:
    """What stands between two commas."""

    tokens: tuple[str, ...]
    may_be_none: bool = False
    is_looked_at: bool = True

    @property
    def run(self) -> int | None:
        """The place of its `*b`."""
        return next((place for place, token in enumerate(self.tokens) if token.startswith("*")), None)


@dataclass(frozen=True)
class Pattern:
    """The text of a rule, read."""

    parts: tuple[Part, ...]
    result: Part

    def shape(self, given: Sequence[Shape | None], known: Mapping[str, Size] | None = None) -> Shape | None:
        """The shape of the result, of those of the arguments, as far as these are known.

        Raises:
            MisfitError: they do not fit.
        """
        sizes: Sizes = dict(known or {})
        runs: Runs = {}
        for part, shape in zip(self.parts, given, strict=False):
            if shape is not None and part.is_looked_at:
                _match(part, shape, sizes, runs, given)
            elif part.is_looked_at and part.run is not None:
                runs[part.tokens[part.run]] = None
        found: list[Size] = []
        for token in self.result.tokens:
            if not token.startswith("*"):
                found.append(int(token) if token.isdecimal() else sizes.get(token))
            elif (run := runs.get(token)) is None:
                return None
            else:
                found += run
        return tuple(found)


def read(text: str) -> Pattern:
    """The pattern of "*b i, o i, o? -> *b o"."""
    left, _, right = text.partition("->")
    return Pattern(tuple(map(_part, left.split(","))), _part(right))


def _part(text: str) -> Part:
    text = text.strip()
    return Part(tuple(text.removesuffix("?").split()), text.endswith("?"), text != "_")


def _match(part: Part, shape: Shape, sizes: Sizes, runs: Runs, given: Sequence[Shape | None]) -> None:
    place = part.run
    n_single = len(part.tokens) - (place is not None)
    if len(shape) < n_single or (place is None and len(shape) != n_single):
        raise MisfitError(f"shapes {_told(given)} do not fit")
    first = shape if place is None else shape[:place]
    last = () if place is None else shape[len(shape) - (n_single - place) :]
    if place is not None:
        name, inner = part.tokens[place], shape[place : len(shape) - (n_single - place)]
        before = runs.get(name, ())
        runs[name] = None if before is None else joined(before, inner)
    singles = [token for token in part.tokens if not token.startswith("*")]
    for token, size in zip(singles, (*first, *last), strict=True):
        wanted = int(token) if token.isdecimal() else sizes.get(token)
        if wanted is not None and size is not None and wanted != size:
            raise MisfitError(f"shapes {_told(given)} do not fit: {wanted} and {size}")
        sizes[token] = size if wanted is None else wanted


def _told(shapes: Sequence[Shape | None]) -> str:
    return " and ".join(
        str(tuple("?" if size is None else size for size in each)) for each in shapes if each is not None
    )


def signature(call: str, pattern: str, *, method: bool = False, dtype: str = "") -> None:
    """Registers a function that gives one tensor: its parameters, and their shapes in the same order.

    Args:
        method: of Tensor, too.
        dtype: the parameter whose dtype the result has, the first where none is named; "promoted" for what torch
            promotes all of them to.
    """
    name, _, inside = call.partition("(")
    names = [each.partition("=")[0].strip() for each in inside.rstrip(")").split(",")]
    read_pattern = read(pattern)
    registered = (name, f"{TENSOR}.{name.rpartition('.')[2]}") if method else (name,)
    models(*registered)(_function(names, read_pattern, dtype))


def _function(names: Sequence[str], pattern: Pattern, dtype: str) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        values = [arguments.get(place, name, NONE) for place, name in enumerate(names[: len(pattern.parts)])]
        tensors = [fitting.tensor(machine, value) for value in values]
        shape = fitting.fitted(machine, lambda: pattern.shape([each.shape for each in tensors]))
        there = [each for each, value in zip(tensors, values, strict=True) if value != NONE]
        if dtype == "promoted":
            kind = there[0].dtype if there else None
            for each in there[1:]:
                kind = promoted(kind, each.dtype)
        else:
            kind = tensors[names.index(dtype) if dtype else 0].dtype
        return fitting.result(machine, arguments, shape, kind, needs_any(there))

    return apply


def layer_shape(machine: Machine, module: Value, pattern: str, given: Shape | None) -> Shape | None:
    """The shape that a layer gives, of that of its input: "*b in_features -> *b out_features".

    Raises:
        Raised: RuntimeError, where the input does not fit.
    """
    left, _, right = pattern.partition("->")
    known: dict[str, Size] = {}
    tokens = [token for token in left.split() for token in _attributes(machine, module, token, known)]
    for token in right.split():
        _attributes(machine, module, token, known)
    text = " ".join(tokens)
    found = read(f"{text} -> {text if right.strip() == 'same' else right}")
    return fitting.fitted(machine, lambda: found.shape([given], known))


def _attributes(machine: Machine, module: Value, token: str, known: dict[str, Size]) -> list[str]:
    """The letters that stand for a token, and into `known` the sizes that the module has for them."""
    name = token.removeprefix("@")
    if token.startswith("*") or token.isdecimal() or token == "same":
        return [token]
    value = machine.find_attribute(module, name)
    if value is None:
        return [token if name == token else f"*{name}"]
    if name == token:
        known[name] = fitting.sizes(machine, value, 1)[0]
        return [name]
    length = fitting.length(machine, value)
    if length is None:
        return [f"*{name}"]
    letters = [f"{name}{place}" for place in range(length)]
    known.update(zip(letters, fitting.sizes(machine, value, length), strict=True))
    return letters
