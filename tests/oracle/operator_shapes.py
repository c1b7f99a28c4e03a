"""What the prediction says of every operator of torch, against what torch gives for the samples of its own database.

    python tests/oracle/operator_shapes.py [PATTERN ...] [--samples 8] [--json rows.jsonl] [-o docs/operators.md]

Each operator is called as a function of `torch`, as a method of Tensor and in place, with the sample inputs that torch's
own tests have for it, in four dtypes. What the interpreter gives is compared in kind, number, shape, dtype and elements.
Then again with less that is known: with no element, with no size, and with one argument at a time that nobody can tell.
Whatever is said then has to be true as well.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import json
import math
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.registry import lookup
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    Constant,
    Device,
    Dtype,
    KnownFunction,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.entry import interpreter
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import is_number, number_unknown

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
SMALL = 64
"""Tensors of so many elements are given to the prediction with them."""

Sample = tuple[tuple[Any, ...], dict[str, Any]]


class NotSaidError(Exception):
    """An argument has no counterpart among the values of the interpreter."""


def database() -> list[Any]:
    """The operators; torch's tests want a package that their samples do not use."""
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        with contextlib.suppress(ImportError):
            import expecttest as stand_in  # type: ignore[no-redef, import-not-found]
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
    # Each list of samples looks for the test of torch's that asks, and formats the stack for it; there is none here.
    common_utils.extract_test_fn = lambda: None
    return list(op_db)


# ---- what is called, and with what -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Callee:
    """One way to call an operator: "torch.add", "torch.Tensor.add", "torch.Tensor.add_"."""

    name: str
    known: bool
    """It is described below `knowledge`; else its source is read, or nothing is known."""

    @property
    def function(self) -> Callable[..., Any]:
        """Torch's own."""
        found: Any = torch
        for part in self.name.split(".")[1:]:
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    @property
    def in_place(self) -> bool:
        last = self.name.rpartition(".")[2]
        return self.name.startswith("torch.Tensor.") and last.endswith("_") and not last.endswith("__")


def callees(name: str) -> Iterator[Callee]:
    """All ways to call the operator of that name in the database."""
    for each in (f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_"):
        found: Any = torch
        for part in each.split(".")[1:]:
            found = getattr(found, part, None)
        if callable(found):
            qualified = each.replace("torch.Tensor", TENSOR)
            yield Callee(each, isinstance(lookup(qualified), KnownFunction))


def samples(operator: Any, dtype: torch.dtype, at_most: int) -> Iterator[Sample]:
    """The first sample inputs of that dtype, no two of them of the same form."""
    seen = set()
    try:
        for sample in itertools.islice(operator.sample_inputs("cpu", dtype), 40 * at_most):
            given = ((sample.input, *sample.args), dict(sample.kwargs))
            form = repr(form_of(given))
            if form not in seen:
                seen.add(form)
                yield given
            if len(seen) == at_most:
                return
    except Exception:
        return


def form_of(value: Any) -> Any:
    """What tells one sample from another: shapes and dtypes for tensors."""
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), str(value.dtype))
    if isinstance(value, (list, tuple)):
        return [form_of(each) for each in value]
    if isinstance(value, Mapping):
        return {key: form_of(each) for key, each in value.items()}
    return value if isinstance(value, (bool, int, float, complex, str, type(None))) else type(value)


# ---- the same as values of the interpreter ------------------------------------------------------------------------------


@dataclass
class Given:
    """How much of a sample is told."""

    elements: bool = True
    sizes: bool = True
    hidden: Any = None
    """Position or name of the one argument that is not told."""


def said(machine: Interpreter, value: Any, how: Given) -> Value:
    """The counterpart of an argument."""
    if isinstance(value, torch.Tensor):
        return machine.allocate(_tensor(value, how))
    if value is None or isinstance(value, (bool, int, float, complex, str)) or value is Ellipsis:
        return Constant(value)
    if isinstance(value, torch.dtype):
        return Dtype(str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return Device(str(value))
    if isinstance(value, slice):
        return SliceValue(*(said(machine, each, how) for each in (value.start, value.stop, value.step)))
    if type(value) in (tuple, torch.Size):
        return TupleValue(tuple(said(machine, each, how) for each in value))
    if type(value) is list:
        return machine.allocate(ListObject([said(machine, each, how) for each in value]))
    raise NotSaidError(type(value).__name__)


def _tensor(value: torch.Tensor, how: Given) -> TensorObject:
    if value.layout is not torch.strided or type(value) is not torch.Tensor or value.is_quantized or value.is_meta:
        raise NotSaidError("another kind of tensor")
    elements = None
    if how.elements and how.sizes and value.numel() <= SMALL and not value.is_complex():
        elements = tuple(value.flatten().tolist())
    return TensorObject(
        tuple(value.shape) if how.sizes else (None,) * value.ndim,
        str(value.dtype).removeprefix("torch."),
        requires_grad=value.requires_grad,
        elements=elements,
    )


# ---- compared -----------------------------------------------------------------------------------------------------------


def difference(machine: Interpreter, found: Value, real: Any) -> str | None:
    """What is wrong of a prediction; None where nothing is."""
    if isinstance(found, Unknown):
        several = real if isinstance(real, (list, tuple)) else (real,)
        is_wrong = is_number(found) and any(isinstance(each, torch.Tensor) for each in several)
        return f"a number that is not known ({found.reason}) for a tensor" if is_wrong else None
    if isinstance(found, Choice):
        wrong = [difference(machine, each, real) for each in found.alternatives]
        return wrong[0] if all(wrong) else None
    if isinstance(real, torch.Tensor):
        tensor = machine.state.find(found, TensorObject)
        return _of_tensor(tensor, real) if tensor is not None else f"{_name(machine, found)} for a tensor"
    if isinstance(real, (list, tuple)):
        return _of_items(machine, found, real)
    if real is None or isinstance(real, (bool, int, float, complex, str)):
        same = isinstance(found, Constant) and type(found.value) is type(real) and _close(found.value, real)
        return None if same else f"{_name(machine, found)} for {real!r}"
    return None


def _of_items(machine: Interpreter, found: Value, real: Sequence[Any]) -> str | None:
    listed = machine.state.find(found, ListObject)
    if listed is not None and listed.open is not None:
        return None
    items = listed.items if listed is not None else found.items if isinstance(found, TupleValue) else None
    if items is None:
        return f"{_name(machine, found)} for {len(real)} items"
    if len(items) != len(real):
        return f"{len(items)} items for {len(real)}"
    return next((wrong for pair in zip(items, real, strict=True) if (wrong := difference(machine, *pair))), None)


def _of_tensor(tensor: TensorObject, real: torch.Tensor) -> str | None:
    shape, dtype = tuple(real.shape), str(real.dtype).removeprefix("torch.")
    if tensor.shape is not None and (
        len(tensor.shape) != len(shape)
        or any(a is not None and a != b for a, b in zip(tensor.shape, shape, strict=True))
    ):
        return f"shape {tuple(tensor.shape)} for {shape}"
    if tensor.dtype is not None and tensor.dtype != dtype:
        return f"dtype {tensor.dtype} for {dtype}"
    if tensor.elements is not None and real.layout is torch.strided:
        elements = real.flatten().tolist()
        if len(elements) != len(tensor.elements) or not all(map(_close, tensor.elements, elements)):
            return f"elements {tensor.elements[:4]} for {elements[:4]}"
    return None


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        both_nan = math.isnan(left) and math.isnan(right)
        return left == right or both_nan or math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-6)
    return bool(left == right)


def _name(machine: Interpreter, value: Value) -> str:
    return type(machine.state.read(value)).__name__ if isinstance(value, Address) else repr(value)


def is_open(machine: Interpreter, found: Value) -> bool:
    """The prediction leaves a shape open."""
    if isinstance(found, (Unknown, Choice)):
        return True
    tensor = machine.state.find(found, TensorObject)
    if tensor is not None:
        return tensor.shape is None or None in tensor.shape
    return isinstance(found, TupleValue) and any(is_open(machine, each) for each in found.items)


# ---- the sweep ----------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One way to call one operator."""

    name: str
    known: bool
    calls: int = 0
    open: int = 0
    """Calls with everything told of which a shape stays unknown."""
    wrong: list[str] = field(default_factory=list)
    """What is wrong, with the arguments."""


def real_result(callee: Callee, sample: Sample) -> Any:
    """What torch gives.

    Raises:
        NotSaidError: it does not take the sample in this way.
    """
    positional, keywords = _cloned(sample)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return callee.function(*positional, **keywords)
    except Exception as error:
        raise NotSaidError(str(error)) from None


def _cloned(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if type(value) in (tuple, list):
        return type(value)(_cloned(each) for each in value)
    return {key: _cloned(each) for key, each in value.items()} if isinstance(value, dict) else value


def ways(sample: Sample) -> Iterator[Given]:
    """Everything is told; no element; no size; all but one argument."""
    yield Given()
    yield Given(elements=False)
    yield Given(sizes=False)
    positional, keywords = sample
    for place in (*range(len(positional)), *keywords):
        if place != 0:
            yield Given(hidden=place)


def predicted(machine: Interpreter, callee: Callee, sample: Sample, how: Given) -> Value | str:
    """What the interpreter gives; a text where it refuses the call.

    Raises:
        NotSaidError: an argument has no counterpart.
    """
    machine.start()
    positional, keywords = sample

    def each(place: Any, value: Any) -> Value:
        if place != how.hidden or how.hidden is None:
            return said(machine, value, how)
        said(machine, value, how)
        is_number = value is None or isinstance(value, (bool, int, float, complex, str))
        return number_unknown(machine, "hidden") if is_number else machine.unknown("hidden")

    function: Value = machine.resolve("torch")
    for part in callee.name.split(".")[1:]:
        function = machine.get_attribute(function, part)
    given = [each(place, value) for place, value in enumerate(positional)]
    try:
        found = machine.call(function, given, {name: each(name, value) for name, value in keywords.items()})
    except Raised as raised:
        return f"raises {raised.message}"
    except LimitError:
        return machine.unknown("a limit")
    if isinstance(found, Unknown) and found.reason.startswith("internal error"):
        raise AssertionError(f"{callee.name}: {found.reason}")
    return given[0] if callee.in_place and given else found


def compare(machine: Interpreter, callee: Callee, given: Iterable[Sample]) -> Row:
    row = Row(callee.name, callee.known)
    for sample in given:
        try:
            real = real_result(callee, sample)
        except NotSaidError:
            continue
        for how in ways(sample):
            try:
                found = predicted(machine, callee, sample, how)
            except NotSaidError:
                break
            row.calls += 1
            wrong = found if isinstance(found, str) else difference(machine, found, real)
            if how == Given() and not isinstance(found, str):
                row.open += is_open(machine, found)
            if wrong:
                row.wrong.append(f"{wrong} · {_told(how)} · {form_of(sample)}")
    return row


def _told(how: Given) -> str:
    hidden = f"without argument {how.hidden!r}" if how.hidden is not None else "told all"
    return "no elements" if not how.elements else "no sizes" if not how.sizes else hidden


def sweep(
    patterns: Sequence[str], at_most: int, dtypes: Sequence[torch.dtype] = DTYPES, only_known: bool = False
) -> Iterator[Row]:
    """A row for each way to call each operator whose name matches, of those that take a sample."""
    machine = interpreter(sys.path)
    operators = collections.defaultdict(list)
    for operator in database():
        if not patterns or any(fnmatchcase(operator.name, pattern) for pattern in patterns):
            operators[operator.name].append(operator)
    for name, variants in operators.items():
        ways_to_call = [callee for callee in callees(name) if callee.known or not only_known]
        if not ways_to_call:
            continue
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken = [
                sample
                for operator in variants
                for dtype in dtypes
                if operator.supports_dtype(dtype, "cpu")
                for sample in samples(operator, dtype, at_most)
            ]
        for callee in ways_to_call:
            row = compare(machine, callee, taken)
            if row.calls:
                yield row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of operators in torch's database")
    parser.add_argument("--samples", type=int, default=8, help="of each operator and dtype (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a line for each way to call an operator")
    arguments = parser.parse_args()
    rows = with_deep_stack(lambda: list(sweep(arguments.patterns, arguments.samples)))
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(vars(row)) + "\n" for row in rows), encoding="utf-8")
    for row in rows:
        for wrong in row.wrong[:3]:
            print(f"{row.name}: {wrong}")
    for title, some in (("known", [r for r in rows if r.known]), ("others", [r for r in rows if not r.known])):
        wrong_rows = [row for row in some if row.wrong]
        print(
            f"{title}: {len(some)} ways to call, {sum(row.calls for row in some)} calls,"
            f" wrong {len(wrong_rows)} ways and {sum(len(row.wrong) for row in some)} calls,"
            f" open {sum(row.open for row in some)}"
        )
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
