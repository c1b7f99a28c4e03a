"""What to try next after a run that failed: candidates, the most promising first.

The strongest rule needs no wording: the first layer that received an input says what it wants of it. The others look at
the shapes that met where the run failed, at what the forward last asked of an input, and, last, at numbers in the
message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.guesses import STEPS, Guesser, name_class
from modgraph.inputs.levels import halved
from modgraph.inputs.probe import Attempt, Failure, Use
from modgraph.inputs.reasons import received_by
from modgraph.inputs.refusal import names_decided_on
from modgraph.inputs.sizes import larger, numbers, resized, shapes_said, sizes
from modgraph.inputs.specs import Candidate, GroupSpec, LiteralSpec, Place, Spec, TensorSpec, place_name
from modgraph.tracing.basics.failures import said

Repairs = Iterator[Candidate]


def repairs(attempt: Attempt, guesser: Guesser) -> Repairs:
    """Candidates that may get further than this one."""
    error = attempt.outcome.error
    yield from wishes(attempt, guesser)
    yield from _joined(attempt, guesser)
    yield from _structure(attempt, guesser, error)
    yield from _arguments(attempt, guesser, error)
    yield from _dtypes(attempt, guesser, error)
    yield from shapes_said(attempt)
    yield from sizes(attempt)
    yield from _dimensions(attempt, guesser, error)
    yield from larger(attempt)
    yield from numbers(attempt)
    yield from _by_name(attempt, guesser)


def wishes(attempt: Attempt, guesser: Guesser) -> Repairs:
    """Every input as the first layer that received it wants it: all at once, then one by one."""
    tensors = attempt.candidate.tensors()
    wanted: dict[Place, tuple[list[TensorSpec], str]] = {}
    for place, use in attempt.outcome.uses.items():
        options = _satisfying(tensors[place], use, guesser) if place in tensors else []
        if options:
            wanted[place] = (options, use.layer)
    if len(wanted) > 1:
        together = attempt.candidate
        for place, (options, layer) in wanted.items():
            together = together.replaced({place: options[0]}, received_by(place, layer), layer)
        yield together
    for place, (options, layer) in wanted.items():
        for option in options[:4]:
            yield attempt.candidate.replaced({place: option}, received_by(place, layer), layer)


def _satisfying(spec: TensorSpec, use: Use, guesser: Guesser) -> list[TensorSpec]:
    wish, seen = use.wish, use.seen
    if wish.met_by(seen.shape, seen.integral):
        return []
    if wish.integral and not spec.integral:
        shape = spec.shape if len(spec.shape) <= 2 and max(spec.shape, default=1) <= 64 else (guesser.batch, STEPS)
        whole = TensorSpec(shape, "int64", high=wish.bound)
        return [whole, replace(whole, shape=shape[:1])] if len(shape) > 1 else [whole]
    same = seen.origin is not None and seen.origin.same
    typed = spec
    if wish.integral is False and seen.integral and spec.integral:
        typed = TensorSpec(spec.shape, guesser.dtype)
    missing = (wish.ndim - len(seen.shape)) if wish.ndim is not None else 0
    if same:
        ndim = len(spec.shape) + missing
        needed = max((dim + 1 if dim >= 0 else -dim for dim in wish.sizes), default=0)
        if missing or needed > ndim:
            return [replace(typed, shape=guesser.shape(max(ndim, needed), wish.sizes))]
        if (
            wish.ndim is None
            and len(spec.shape) >= 4
            and spec.shape == guesser.shape(len(spec.shape), {1: spec.shape[1]})
        ):
            # It was taken for an image because the first layer of the model takes one; this layer takes rows.
            usual = [guesser.shape(2, wish.sizes), guesser.shape(3, wish.sizes)]
            return [replace(typed, shape=shape) for shape in (usual[::-1] if guesser.sequential else usual)]
        if wish.ndim is None and typed is not spec and guesser.sequential and len(spec.shape) == 2:
            # Two were right for indices; what they would have been made into has three.
            return [replace(typed, shape=guesser.shape(ndim, wish.sizes)) for ndim in (3, 2)]
        if wish.ndim is None and len(spec.shape) == 1 and -1 in wish.sizes:
            # A number per row was too few.
            return [replace(typed, shape=(*spec.shape, wish.sizes[-1])), replace(typed, shape=(wish.sizes[-1],))]
        sizes = list(spec.shape)
        for dim, (size, _) in wish.unmet_sizes(spec.shape).items():
            if len(sizes) >= 4 and dim and size in sizes[1:]:  # an image with its channels elsewhere
                sizes[sizes.index(size, 1)] = sizes[dim]
            sizes[dim] = size
        return [replace(typed, shape=tuple(sizes))]
    if missing:
        return [replace(typed, shape=shape) for shape in _other_ndim(spec.shape, len(spec.shape) + missing, guesser)]
    unmet = wish.unmet_sizes(seen.shape)
    options = [spec.shape]
    if wish.ndim is None and len(spec.shape) < len(seen.shape) <= 4 and -1 in wish.sizes:
        # `view(x.size(0), x.size(1), -1)` added dimensions that it lacked.
        return [replace(typed, shape=guesser.shape(len(seen.shape), wish.sizes))]
    for wanted, got in unmet.values():
        options = [changed for shape in options for changed in resized(shape, wanted, got)]
    return [replace(typed, shape=shape) for shape in options if shape != spec.shape or typed is not spec]


def _other_ndim(shape: tuple[int, ...], ndim: int, guesser: Guesser) -> list[tuple[int, ...]]:
    if ndim < 0 or ndim > 6:
        return []
    options = []
    if 0 < len(shape) - ndim < len(shape):
        dropped = shape[:1] + shape[1 + len(shape) - ndim :]
        options.append(dropped)
    elif ndim == len(shape) + 1 and len(shape) > 1:
        options.append((shape[0], STEPS, *shape[1:]))
    return list(dict.fromkeys([*options, guesser.shape(ndim)]))


def _structure(attempt: Attempt, guesser: Guesser, error: BaseException | None) -> Repairs:
    """An input that is no lone tensor: a mapping, an object with attributes, a tuple or list of tensors."""
    text = said(error)
    tensors = attempt.candidate.tensors()
    keyed = _indexed_by_text(attempt)
    attribute = re.search(r"'\w*(?:Tensor|Parameter)' object has no attribute '(\w+)'", text)
    asked = attempt.outcome.given.get(id(error.obj)) if attribute and isinstance(error, AttributeError) else None
    for place, spec in tensors.items():
        name = place_name(place)
        if keyed or (attribute and attribute[1] in ("keys", "items", "values", "get", "pop")):
            yield from _all_of_list(attempt, place, GroupSpec("dict"), "a mapping")
        elif attribute and asked in (None, place):
            yield from _all_of_list(attempt, place, GroupSpec("object"), "an object with attributes")
        count = _unpacked(text)
        iterated = attempt.outcome.looked == ("iterated", place)
        if count and iterated and count <= 8:
            for kind in ("tuple", "list"):
                group = GroupSpec(kind, tuple((index, _item(spec, guesser, place)) for index in range(count)))
                yield attempt.candidate.replaced({place: group}, f"{name}: unpacked into {count}")
        beyond = re.search(r"index (\d+)(?: is)? out of (?:bounds|range)", text)
        if beyond and _indexed_by_number(attempt) and int(beyond[1]) < 16 and spec.shape and spec.shape[0] <= 2:
            length = int(beyond[1]) + 1 + (place in attempt.outcome.from_end)  # the last one is another one
            yield attempt.candidate.replaced({place: _list_of(spec, length)}, f"{name}: a list")
        if iterated and not count and name_class(str(place[-1])) != "edge_index":
            for length in (4, 3, 2):
                items = _list_of(_item(spec, guesser, place), length)
                yield attempt.candidate.replaced({place: items}, f"{name}: iterated over")
    yield from _longer_groups(attempt, text)
    count, looked = _unpacked(text), attempt.outcome.looked
    if count and looked and looked[0] == "shape" and looked[1] in tensors:
        yield from _with_ndim(attempt, guesser, looked[1], count, f"its shape is unpacked into {count}")


def _all_of_list(attempt: Attempt, place: Place, group: GroupSpec, what: str) -> Repairs:
    """In place of one tensor; where it stands in a list, in place of all in it, and then alone."""
    beside = [other for other in attempt.candidate.tensors() if other[:-1] == place[:-1] and isinstance(place[-1], int)]
    if len(beside) > 1:
        names = ", ".join(map(place_name, beside))
        yield attempt.candidate.replaced(dict.fromkeys(beside, group), f"{names}: each {what}")
    yield attempt.candidate.replaced({place: group}, f"{place_name(place)}: {what}")


def _list_of(item: Spec, length: int) -> GroupSpec:
    """Images in it as a pyramid has them."""
    if isinstance(item, TensorSpec) and len(item.shape) == 4 and not item.integral and length > 2:
        return GroupSpec("list", tuple(enumerate(halved((item,) * length))))
    return GroupSpec("list", tuple((index, item) for index in range(length)))


def _item(spec: TensorSpec, guesser: Guesser, place: Place) -> Spec:
    made, _ = guesser.tensor(str(place[-1]))
    return made if isinstance(made, TensorSpec) else spec


def _longer_groups(attempt: Attempt, text: str) -> Repairs:
    count = _unpacked(text)
    if not count and "index out of range" not in text:
        return
    for name, entry in attempt.candidate.entries:
        if isinstance(entry, GroupSpec) and entry.kind in ("tuple", "list") and entry.items:
            length = count or len(entry.items) + 1
            items = tuple((index, entry.items[min(index, len(entry.items) - 1)][1]) for index in range(length))
            if length != len(entry.items) and length <= 16:
                yield attempt.candidate.replaced({(name,): GroupSpec(entry.kind, items)}, f"{name}: {length} items")


def _indexed_by_text(attempt: Attempt) -> bool:
    failures = attempt.outcome.failures
    return bool(failures) and failures[0].name == "__getitem__" and any(isinstance(v, str) for v in failures[0].other)


def _indexed_by_number(attempt: Attempt) -> bool:
    failures = attempt.outcome.failures
    return bool(failures) and failures[0].name == "__getitem__" and any(type(v) is int for v in failures[0].other)


def _unpacked(text: str) -> int | None:
    """How many values an unpacking wanted, by Python's own message."""
    match = re.search(r"(?:not enough|too many) values to unpack \(expected (?:at least )?(\d+)", text)
    return int(match[1]) if match else None


_SEVERAL = re.compile(r"\b([Aa]t least (two|three|[2-9])|[Bb]oth|[Aa]ll of)\b")


def _arguments(attempt: Attempt, guesser: Guesser, error: BaseException | None) -> Repairs:
    """A parameter that must be given after all, or must not."""
    text = said(error)
    given = {name for name, _ in attempt.candidate.entries}
    signature = guesser.signature
    for name in re.findall(r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)", text)[:1]:
        yield from _added(attempt, guesser, re.findall(r"'(\w+)'", name), "required further inside")
    absent = [name for name in signature.optional if name not in given]
    words = set(re.findall(r"[^\W\d]\w*", text))
    # What an inner module calls `tokens` may be what this one calls `target_tokens`.
    told = [name for name in absent if name in words] + [
        name for name in absent if name not in words and any("_" in w and name.endswith(f"_{w}") for w in words)
    ]
    together = list(_added(attempt, guesser, told, "named by the message")) if len(told) > 1 else []
    if _SEVERAL.search(text):
        yield from together
    yield from (made for name in told for made in _added(attempt, guesser, [name], "named by the message"))
    yield from together
    decided = [name for name in absent if name not in told and name in names_decided_on(error)]
    yield from (made for name in decided for made in _added(attempt, guesser, [name], "forward decides on it"))
    if "float" in text:
        for name, entry in attempt.candidate.entries:
            if isinstance(entry, LiteralSpec) and type(entry.value) is float and name in signature.required:
                number = TensorSpec((guesser.batch,), guesser.dtype)
                yield attempt.candidate.replaced({(name,): number}, f"{name}: a tensor")
    if "NoneType" in text or "None" in text:
        for name, entry in attempt.candidate.entries:
            if entry == LiteralSpec(None) and name in signature.required:
                yield attempt.candidate.replaced({(name,): guesser.generic(name)[0]}, f"{name}: None does not do")
        for name in absent[:8]:
            if signature.parameters[name].default is None:
                yield from _added(attempt, guesser, [name], "None does not do")
    unwanted = re.search(r"unexpected keyword argument '(\w+)'", text)
    if unwanted and unwanted[1] in given:
        yield attempt.candidate.without(unwanted[1])


def _added(attempt: Attempt, guesser: Guesser, names: list[str], why: str) -> Repairs:
    signature = guesser.signature
    changes: dict[Place, Spec] = {}
    for name in names:
        spec, _ = guesser.guess(name)
        if name in signature.parameters or signature.takes_any_keyword:
            changes[(name,)] = spec
        elif signature.takes_more_positional:
            changes[(f"args[{len(attempt.candidate.entries) + len(changes)}]",)] = spec
    if changes:
        yield attempt.candidate.replaced(changes, f"{', '.join(names)}: {why}")


_WANTS_INDICES = re.compile(
    r"ndices|index tensor|Long|long|tensors used as ind|scalar types?: .*(Int|Byte)|integer|an index", re.DOTALL
)


def _dtypes(attempt: Attempt, guesser: Guesser, error: BaseException | None) -> Repairs:
    """An input of another kind where the failing function got one of the inputs."""
    text = said(error)
    tensors = attempt.candidate.tensors()
    failing = {
        place
        for failure in attempt.outcome.failures[:1]
        for seen in failure.seen
        if seen.origin is not None and seen.origin.direct
        for place in seen.origin.places
    }
    for place in sorted(failing & tensors.keys(), key=str):
        spec, name = tensors[place], place_name(place)
        if not spec.integral and spec.dtype != "bool" and _WANTS_INDICES.search(text):
            shape = spec.shape if len(spec.shape) <= 2 else (guesser.batch, STEPS)
            yield attempt.candidate.replaced({place: TensorSpec(shape, "int64")}, f"{name}: used as indices")
        elif spec.integral and re.search(r"dtype|scalar type|float|Float|Half|Double", text):
            yield attempt.candidate.replaced({place: TensorSpec(spec.shape, guesser.dtype)}, f"{name}: not an index")
        if spec.dtype == "bool" and re.search(r"bool|Bool|dtype", text):
            for dtype in ("int64", guesser.dtype):
                yield attempt.candidate.replaced({place: replace(spec, dtype=dtype, low=1)}, f"{name}: a number")
        elif name_class(str(place[-1])) == "mask" and re.search(r"bool|Bool|dtype", text):
            yield attempt.candidate.replaced({place: TensorSpec(spec.shape, "bool")}, f"{name}: a mask")
    beyond = re.search(r"index (\d+) is out of bounds for dimension (\d+) with size (\d+)", text)
    index, dim, size = (int(number) for number in beyond.groups()) if beyond else (0, 0, -1)
    for place, spec in tensors.items():
        if dim < len(spec.shape) and spec.shape[dim] == size and not _indexed_by_number(attempt):
            shape = (*spec.shape[:dim], max(index + 1, STEPS), *spec.shape[dim + 1 :])
            yield attempt.candidate.replaced(
                {place: replace(spec, shape=shape)}, f"{place_name(place)}: indexed by another"
            )
    if re.search(r"index out of range|out of bounds|device-side assert", text):
        zeros = {place: replace(spec, low=0, high=1) for place, spec in tensors.items() if spec.integral}
        if zeros and any(attempt.candidate.tensors()[place] != spec for place, spec in zeros.items()):
            yield attempt.candidate.replaced(dict(zeros), "indices all zero")


def _dimensions(attempt: Attempt, guesser: Guesser, error: BaseException | None) -> Repairs:
    """Another number of dimensions: as an unpacked shape wants, or as an index that does not exist."""
    text = said(error)
    tensors = attempt.candidate.tensors()
    looked = attempt.outcome.looked
    direction = _too_few_or_many(text)
    if not direction:
        return
    suspects = [looked[1]] if looked and looked[0] == "shape" and "tuple index" in text else []
    wanted = re.search(r"must be (?:an? )?(\d)-?D", text)
    for failure in attempt.outcome.failures[:1]:
        # What layers have worked on has as many dimensions as they give.
        for seen in sorted(failure.seen, key=lambda seen: seen.origin is None or not seen.origin.direct):
            places = sorted(seen.origin.places, key=str) if seen.origin else []
            step = int(wanted[1]) - len(seen.shape) if wanted else direction[0]
            if len(direction) == 1 or (wanted and step):
                yield from _alike(attempt, [place for place in places if place in tensors], step)
            suspects += places
    for place in dict.fromkeys([*suspects, *tensors]):
        if place in tensors:
            ndim = len(tensors[place].shape)
            for step in direction:
                yield from _with_ndim(attempt, guesser, place, ndim + step, f"{abs(step)} dimension(s) more or less")


def _alike(attempt: Attempt, places: list[Place], step: int) -> Repairs:
    """Inputs of which one tensor was made, all with so many dimensions less: those behind the first, or the first."""
    tensors = attempt.candidate.tensors()
    shapes = {tensors[place].shape for place in places}
    if step >= 0 or len({len(shape) for shape in shapes}) != 1 or any(len(shape) <= -step for shape in shapes):
        return
    names = ", ".join(map(place_name, places))
    for kept in (1, 0):  # the first dimension stays, or goes
        changes: dict[Place, Spec] = {}
        for place in places:
            shape = tensors[place].shape
            changes[place] = replace(tensors[place], shape=shape[:kept] + shape[kept - step :])
        yield attempt.candidate.replaced(changes, f"{names}: {-step} dimension(s) less")


def _joined(attempt: Attempt, guesser: Guesser) -> Repairs:
    """Inputs that are joined have as many dimensions as each other, and are of one kind."""
    tensors = attempt.candidate.tensors()
    for failure in attempt.outcome.failures[:1]:
        if failure.name not in ("cat", "concat", "concatenate"):
            continue
        ndim = max((len(seen.shape) for seen in failure.seen), default=0)
        for seen in failure.seen:
            places = (
                seen.origin.places if seen.origin and seen.origin.direct and len(seen.shape) < ndim else frozenset()
            )
            for place in sorted(places & tensors.keys(), key=str):
                shape = tensors[place].shape + (1,) * (ndim - len(seen.shape))
                changed = TensorSpec(shape, guesser.dtype)
                yield attempt.candidate.replaced({place: changed}, f"{place_name(place)}: joined with the others")
        yield from _as_rows(attempt, failure)


def _as_rows(attempt: Attempt, failure: Failure) -> Repairs:
    """A row in place of a sequence, of an input of which something was joined that others have as rows."""
    tensors = attempt.candidate.tensors()
    fewest = min((len(seen.shape) for seen in failure.seen), default=0)
    changes: dict[Place, Spec] = {}
    for seen in failure.seen:
        places = [place for place in (seen.origin.values if seen.origin else ()) if place in tensors]
        more = len(seen.shape) - fewest
        if more and fewest > 0 and len(places) == 1 and len(tensors[places[0]].shape) > more:
            spec = tensors[places[0]]
            changes[places[0]] = replace(spec, shape=(spec.shape[0], *spec.shape[1 + more :]))
    if changes:
        yield attempt.candidate.replaced(changes, f"{', '.join(map(place_name, changes))}: joined with rows")


def _too_few_or_many(text: str) -> tuple[int, ...]:
    """Steps by which the number of dimensions may be wrong, by what torch and Python say of it."""
    if short := re.search(r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)", text):
        return (int(short[1]) - int(short[2]),)
    if "too many values to unpack" in text:
        return (-1, -2)
    provided = re.search(r"number of sizes provided \((\d+)\).{0,80}dimensions in the tensor \((\d+)\)", text)
    if provided and int(provided[1]) < int(provided[2]):
        return (int(provided[1]) - int(provided[2]),)
    if "repeat dims can not be smaller" in text:
        return (-1,)
    expected = re.search(r"[Ee]xpected (\d)-?D.{0,60}?(?:got|shape).{0,20}?(\d)-?D", text)
    if expected:
        return (int(expected[1]) - int(expected[2]),)
    wanted = re.search(r"input\.dim\(\) = (\d+).{0,60}len\(dims\) = (\d+)", text)
    if wanted:
        return (int(wanted[2]) - int(wanted[1]),)
    if re.search(r"tuple index out of range|Dimension out of range|too many indices", text):
        return (1, 2)
    if re.search(r"\b\d-?D\b|[Dd]imension|\bdims?\b|dim\(\)|einsum|subscript|rank", text):
        return (1, -1, 2)
    return ()


def _with_ndim(attempt: Attempt, guesser: Guesser, place: Place, ndim: int, why: str) -> Repairs:
    spec = attempt.candidate.tensors()[place]
    if ndim < 0 or ndim == len(spec.shape):
        return
    shapes = [guesser.shape(ndim)]
    if 0 < ndim < len(spec.shape):
        shapes.insert(0, spec.shape[:1] + spec.shape[1 + len(spec.shape) - ndim :])
    use = attempt.outcome.uses.get(place)
    if use is not None and use.seen.origin is not None and use.seen.origin.same:
        shapes.insert(0, guesser.shape(ndim, {d: s for d, s in use.wish.sizes.items() if d < ndim}))
    if ndim > len(spec.shape) and len(spec.shape) == 2:
        shapes.insert(0, (spec.shape[0], STEPS, *spec.shape[1:])[:ndim] if ndim == 3 else guesser.shape(ndim))
    for shape in dict.fromkeys(shapes):
        yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, f"{place_name(place)}: {why}")


def _by_name(attempt: Attempt, guesser: Guesser) -> Repairs:
    """The usual other forms of an input, whatever the error was."""
    batch, dtype = guesser.batch, guesser.dtype
    for place, spec in attempt.candidate.tensors().items():
        kind, name = name_class(str(place[-1])), place_name(place)
        others: list[Spec] = []
        if kind == "mask":
            shapes = [(batch, STEPS), (STEPS, STEPS), (batch, 1, STEPS), (batch, 1, 1, STEPS), (batch, 1, STEPS, STEPS)]
            others = [TensorSpec(shape, spec.dtype, low=spec.low) for shape in shapes]
        elif spec.integral:
            others = [replace(spec, shape=(batch,)), replace(spec, shape=(batch, STEPS)), LiteralSpec(1)]
            others += [TensorSpec((batch,), dtype), TensorSpec((batch, 1), dtype), TensorSpec((batch, STEPS), dtype)]
        elif kind in ("step", "label", "lengths"):
            others = [TensorSpec((batch,), "int64"), LiteralSpec(1)]
        elif kind == "state":
            others = [LiteralSpec(None)]
        else:
            ndims = [n for n in (3, 4, 2, 5, 1) if n != len(spec.shape)]
            others = [TensorSpec(guesser.shape(n), dtype) for n in ndims]
            others += [TensorSpec((batch, STEPS), "int64"), TensorSpec((batch,), "int64")]
        for other in others:
            if other != spec:
                yield attempt.candidate.replaced({place: other}, f"{name}: another usual form")
