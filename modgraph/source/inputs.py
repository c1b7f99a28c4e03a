"""What the user says of `forward`'s inputs: "ids=1x128:int64" or "ids=batch x 128:int64" as an `InputSpec`."""

from __future__ import annotations

import difflib
import keyword
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from modgraph.errors import InputError
from modgraph.graph.model import ModelInput, TensorInfo
from modgraph.source.quiet import literal_value

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
    "complex64", "complex128",
)  # fmt: skip
_DTYPE_ALIASES = {
    "float": "float32", "double": "float64", "half": "float16", "fp32": "float32", "fp16": "float16",
    "bf16": "bfloat16", "long": "int64", "int": "int32", "short": "int16",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One input: a tensor by shape and dtype, or a literal."""

    text: str
    """As the user wrote it."""
    name: str | None = None
    """Parameter of `forward`; None for the next positional one."""
    place: tuple[str | int, ...] = ()
    """Of what stands in a dict or list that is given in parts: its keys and indices, ("boxes", 0)."""
    shape: tuple[int | str, ...] | None = None
    """Sizes, by name those that are left open. None for a literal; () for a tensor without dimensions."""
    dtype: str | None = None
    """torch's name without the prefix; None where the user left it open (float32, unless the model wants another)."""
    literal: Any = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that are numbers: all, of an input of a run."""
        return tuple(size for size in self.shape or () if isinstance(size, int))


_PART = r"""\.[^\W\d]\w*|\[\d+\]|\['[^']+'\]|\["[^"]+"\]|\[[^\W\d]\w*\]"""
_SPEC = re.compile(rf"(?:(?P<name>[^\W\d]\w*)(?P<place>(?:{_PART})*)=)?(?P<value>.*)\Z", re.DOTALL)
_TENSOR = re.compile(r"(?P<shape>\d+(?:[xX×]\d+)*|scalar)(?::(?:torch\.)?(?P<dtype>\w+))?\Z")
_OPEN = re.compile(
    r"(?P<shape>(?:\d+|[^\W\d]\w*)(?:(?:\s+[xX]\s+|\s*×\s*|(?<=\d)[xX](?=\d))(?:\d+|[^\W\d]\w*))*)"
    r"(?:\s*:\s*(?:torch\.)?(?P<dtype>\w+))?\Z"
)
"""Sizes of which some have names: " x " stands between two of them, as a name may have an x in it."""
_CLOSE = re.compile(r"(?P<shape>\w+)(?:\s*:\s*(?:torch\.)?(?P<dtype>\w+))?\Z")
"""Sizes with nothing between them but an x: "Bx3xHxW"."""
_MAY_BE_TWO = re.compile(r"[^\W\d_][xX][^\W\d_]")
"""A word that may as well be two sizes: "bxt"."""
_SIZE_WORDS = frozenset(
    (
        *(
            "batch",
            "bs",
            "batchsize",
            "batch_size",
            "seq",
            "seqlen",
            "seq_len",
            "len",
            "length",
            "time",
            "steps",
            "frames",
        ),
        *("channels", "height", "width", "depth", "dim", "features", "tokens", "points", "nodes", "heads", "samples"),
    )
)
"""Names of sizes, beside single letters, that are known where no spaces stand around the x."""
_BETWEEN = re.compile(r"\s+[xX]\s+|\s*×\s*|(?<=\d)[xX](?=\d)")
_HELP = (
    "write a tensor as 1x3x224x224, x=1x3x224x224 or ids=1x128:int64 (a number alone is a tensor when it has a dtype:"
    " n=5:float32; no dimension at all is scalar:float32), sizes that are left open by name, 'x=batch x 3 x h x w'"
    " or x=Bx3xHxW, what stands in a dict or list by its place, batch.image=2x3x32x32 or 'images[0]=3x32x32', and any"
    " other value as a Python literal: flag=True, 'mode=\"fast\"'"
)
_SPACES = "a name of a size may have an x in it: write spaces around the x between two sizes, as in {}"
_NAMED_OTHERWISE = {"true": "True", "false": "False", "none": "None", "null": "None"}
"""Values that other languages write so."""
_WORDS = re.compile(r"[^\W\d][\w./-]*(?: [\w./-]+)*")
"""What is likely to be meant as a text."""


def parse_input(text: object) -> InputSpec:
    """The input that `text` describes.

    Raises:
        InputError: it is no text, neither a shape nor a literal, has too many dimensions or levels, or its dtype
            is not one of torch's.
    """
    if not isinstance(text, str):
        raise InputError(f"an input is a text such as '1x3x224x224', and a {type(text).__name__} is none", hint=_HELP)
    spec = _parsed(text)
    if len(spec.place) > MAX_DEPTH:
        raise InputError(f"an input in parts has {MAX_DEPTH} levels at most, and {text[:40]!r}... {len(spec.place)}")
    if spec.shape is not None and len(spec.shape) > MAX_DIMENSIONS:
        raise InputError(
            f"a tensor has {MAX_DIMENSIONS} dimensions at most, and {text[:40]!r}... has {len(spec.shape)}"
        )
    return spec


MAX_DEPTH = 20
"""Of dicts and lists in each other that are given in parts."""
MAX_DIMENSIONS = 64
"""Of torch's tensors."""


def _parsed(text: str) -> InputSpec:
    match = _SPEC.match(text.strip())
    assert match is not None  # every text matches: the name is optional and the value is anything
    spec = _of_value(text, match["name"], match["value"].strip())
    parts = [part.strip(".[]").strip("'\"") for part in re.findall(_PART, match["place"] or "")]
    return replace(spec, place=tuple(int(part) if part.isdecimal() else part for part in parts))


def _of_value(text: str, name: str | None, value: str) -> InputSpec:
    tensor = _TENSOR.match(value)
    if tensor and (tensor["dtype"] or not value.isdecimal()):
        sizes = () if tensor["shape"] == "scalar" else tuple(int(size) for size in re.split("[xX×]", tensor["shape"]))
        return InputSpec(text=text, name=name, shape=sizes, dtype=_dtype(tensor["dtype"], text))
    close = _CLOSE.match(value)
    if close and (named := _close_sizes(close["shape"])):
        return InputSpec(text=text, name=name, shape=named, dtype=_dtype(close["dtype"], text))
    open_ = _OPEN.match(value)
    is_word = close is not None and bool(_MAY_BE_TWO.fullmatch(close["shape"]))
    if open_ and close and (len(_BETWEEN.split(open_["shape"])) > 1 or (is_word and open_["dtype"])):
        raise InputError(
            f"which sizes {text!r} has is not plain", hint=_SPACES.format(_typed(text, value, _with_spaces(value)))
        )
    if open_ and (open_["dtype"] or len(_BETWEEN.split(open_["shape"])) > 1):
        return InputSpec(text=text, name=name, shape=_sizes(open_["shape"], text), dtype=_dtype(open_["dtype"], text))
    try:
        literal = literal_value(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        is_close = re.fullmatch(r"[^\W_]+(?:[xX][^\W_]+)+", value) and re.search(r"\d|[A-Z]", value)
        numbers = re.findall(r"\d+", value)
        several = re.fullmatch(r"[\[(]\s*(.+?)\s*,?\s*[\])]", value)
        parts = re.split(r"\s*,\s*", several[1]) if several else []
        are_tensors = all(map(_TENSOR.match, parts)) and not all(map(str.isdecimal, parts))
        if name and are_tensors and (len(parts) > 1 or value[0] == "["):
            said = " ".join(f"--input {shlex.quote(f'{name}[{place}]={part}')}" for place, part in enumerate(parts))
            hint = f"tensors in a list are given one by one: {said}"
        elif len(numbers) > 1 and re.fullmatch(r"[\s\dxX×*,;()\[\]]+", value):
            hint = f"a tensor is written with an x between its sizes: {_named(name, numbers)}"
        elif is_close:
            hint = _SPACES.format(_typed(text, value, _with_spaces(value)))
        elif value.lower() in _NAMED_OTHERWISE:
            hint = f"as Python writes it: --input {_typed(text, value, _NAMED_OTHERWISE[value.lower()])}"
        elif _WORDS.fullmatch(value):
            typed = _typed(text, value, f'"{value}"')
            hint = f"a text is given in quotes, which the shell has to leave: --input {typed}"
        else:
            hint = _HELP
        raise InputError(f"{text!r} is no input", hint=hint) from None
    return InputSpec(text=text, name=name, literal=literal)


def as_tensor(spec: InputSpec) -> str | None:
    """How the tensor is written whose sizes a literal may be meant for, "x=1x3x32x32" for "x=(1, 3, 32, 32)"; None
    where it may not."""
    sizes = spec.literal
    if spec.shape is not None or not isinstance(sizes, (tuple, list)) or len(sizes) < 2:
        return None
    if not all(type(size) is int and size >= 0 for size in sizes):
        return None
    return _named(spec.name, [str(size) for size in sizes])


def _named(name: str | None, sizes: Iterable[str]) -> str:
    return (f"{name}=" if name else "") + "x".join(sizes)


def _typed(text: str, value: str, other: str) -> str:
    """The same input with another value, as a shell takes it."""
    return shlex.quote(f"{text.strip().removesuffix(value)}{other}")


def _close_sizes(shape: str) -> tuple[int | str, ...]:
    """Those of "Bx3xHxW", where each is a number, a letter or a word that sizes are called; none where one is not, or
    all may be one word: "exp"."""
    sizes = re.split("[xX]", shape)
    plain = all(size.isdecimal() or _is_letter(size) or size.lower() in _SIZE_WORDS for size in sizes)
    is_word = len(sizes) == 2 and all(map(_is_letter, sizes)) and not shape[0].isupper()
    return (
        tuple(int(size) if size.isdecimal() else size for size in sizes)
        if plain and len(sizes) > 1 and not is_word
        else ()
    )


def _is_letter(size: str) -> bool:
    return len(size) == 1 and size.isalpha()


def _with_spaces(shape: str) -> str:
    """As it may be meant: around each x that stands beside a number, or between others."""
    beside = re.sub(r"(?<=\w)[xX](?=\d)|(?<=\d)[xX](?=\w)", " x ", shape)
    return beside if beside != shape else re.sub("[xX]", " x ", shape)


def _sizes(shape: str, text: str) -> tuple[int | str, ...]:
    sizes = _BETWEEN.split(shape)
    for size in sizes:
        if keyword.iskeyword(size):
            raise InputError(f"{size!r} in {text!r} is a word of Python's own, and no name of a size", hint=_HELP)
    return tuple(int(size) if size.isdecimal() else size for size in sizes)


def require_sizes(specs: Iterable[InputSpec]) -> None:
    """Of the inputs of a run, which needs tensors.

    Raises:
        InputError: a size is left open.
    """
    for spec in specs:
        named = [size for size in spec.shape or () if isinstance(size, str)]
        if named:
            raise InputError(
                f"--input {spec.text} leaves {' and '.join(dict.fromkeys(named))} open, and a run needs sizes",
                hint="write numbers, as in 1x3x224x224, or predict without a run: --static",
            )


def _dtype(name: str | None, text: str) -> str | None:
    if name is None:
        return None
    dtype = _DTYPE_ALIASES.get(name, name)
    if dtype not in DTYPES:
        near = difflib.get_close_matches(dtype, DTYPES, n=1)
        raise InputError(
            f"{name!r} in {text!r} is no dtype" + (f"; did you mean {near[0]!r}?" if near else ""),
            hint=f"dtypes are {', '.join(DTYPES)}",
        )
    return dtype


def specs_of(given: ModelInput) -> list[InputSpec] | None:
    """An input that a run was given, as a user would say it; None where that cannot be said: of what a function of the
    user's has made, nobody knows what stands in it beside tensors."""
    if given.literal is not None:
        try:
            return [InputSpec(text=given.literal, name=given.name, literal=literal_value(given.literal))]
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    names = [tensor.name for tensor in given.tensors]
    is_list = names == [f"{given.name}[{place}]" for place in range(len(names))]
    is_said = given.origin == "given" or (given.origin == "inferred" and is_list)
    if not names or (names != [given.name] and not is_said):
        return None
    specs = [_spec_of(tensor, given.name) for tensor in given.tensors]
    return None if None in specs else [spec for spec in specs if spec is not None]


def _spec_of(tensor: TensorInfo, name: str) -> InputSpec | None:
    shape = tensor.shape
    place = _parsed(f"{tensor.name}=1")
    if place.name != name or shape is None or not all(isinstance(size, int) for size in shape):
        return None
    sizes = tuple(size for size in shape if isinstance(size, int))
    return InputSpec(text=tensor.name or name, name=name, place=place.place, shape=sizes, dtype=tensor.dtype)
