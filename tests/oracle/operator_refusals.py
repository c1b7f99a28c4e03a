"""What torch refuses, against what the prediction says of it, for every operator and layer of torch's own databases.

    python tests/oracle/operator_refusals.py [PATTERN ...] [--samples 3] [--show 3] [--json rows.jsonl]

Calls are those that torch's own tests expect to fail (`error_inputs`), and the sample inputs with one thing changed: a
dtype, a size, the number of dimensions, a number, a text. Torch is asked with several fills of the tensors; what it
refuses of some of them alone is passed over. The prediction is told shapes and dtypes, no elements, as in `forward`.

Of a call that torch refuses, the prediction *refuses* it too, leaves it *open* (a shape that is not known, or a
refusal that is said to be possible), or is *certain* that it runs, which is wrong. A call that torch takes and the
prediction refuses is *false*, and wrong as well; so is a refusal where no size is told.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
try:
    from operator_shapes import (
        Callee,
        Given,
        NotSaidError,
        Sample,
        _cloned,
        callees,
        database,
        form_of,
        is_open,
        predicted,
        said,
        samples,
    )
finally:
    sys.path.pop(0)

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.values import Value
from modgraph.prediction.entry import interpreter
from modgraph.prediction.interpreter import Interpreter

DTYPES = (torch.float32, torch.int64)
FAR = 17
"""No sample has so many dimensions, nor a size of so much."""
PATIENCE = 40
"""Changes of one sample."""
LONGEST = 10
"""Seconds for one call of torch."""
Fill = Callable[[torch.Tensor], Any]
FILLS: tuple[Fill, ...] = (lambda tensor: tensor, lambda tensor: tensor.fill_(1), lambda tensor: tensor.zero_())


# ---- one thing changed -------------------------------------------------------------------------------------------------


def changes(value: Any) -> Iterator[Any]:
    """What else may stand in the place of an argument."""
    if isinstance(value, torch.Tensor):
        yield from _of_tensor(value)
    elif isinstance(value, bool) or value is None or isinstance(value, (float, complex)):
        return
    elif isinstance(value, int):
        yield from (value + 1, FAR, -FAR)
    elif isinstance(value, str):
        yield "nonsense"
    elif type(value) in (tuple, list):
        yield from _of_items(value)


def _of_tensor(value: torch.Tensor) -> Iterator[torch.Tensor]:
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_complex():
        return
    plain = value.detach()
    yield from (plain.to(dtype) for dtype in (torch.int64, torch.float32, torch.float64) if dtype != value.dtype)
    yield plain.unsqueeze(0)
    if value.ndim:
        yield plain.new_zeros(value.shape[1:])
        for place in sorted({0, value.ndim - 1}):
            sizes = list(value.shape)
            for other in {sizes[place] + 1, 0} - {sizes[place]}:
                yield plain.new_zeros((*sizes[:place], other, *sizes[place + 1 :]))
    if value.ndim > 2:
        yield plain.new_zeros((value.shape[0], value.shape[1] + 1, *value.shape[2:]))


def _of_items(value: Any) -> Iterator[Any]:
    kind = type(value)
    if value:
        yield kind((*value, value[-1]))
        yield value[:-1]
    for place, each in enumerate(value):
        for other in changes(each):
            yield kind((*value[:place], other, *value[place + 1 :]))


def changed(sample: Sample) -> Iterator[Sample]:
    """The sample with one thing changed at a time, each argument in its turn."""
    positional, keywords = sample

    def at(place: int) -> Iterator[Sample]:
        for other in changes(positional[place]):
            yield (*positional[:place], other, *positional[place + 1 :]), keywords

    def under(name: str) -> Iterator[Sample]:
        for other in changes(keywords[name]):
            yield positional, {**keywords, name: other}

    ways = [*map(at, range(len(positional))), *map(under, keywords)]
    for several in itertools.zip_longest(*ways):
        yield from (each for each in several if each is not None)


def _filled(value: Any, fill: Fill) -> Any:
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        return fill(value)
    if type(value) in (tuple, list):
        return type(value)(_filled(each, fill) for each in value)
    return {name: _filled(each, fill) for name, each in value.items()} if isinstance(value, dict) else value


def is_refused(function: Callable[..., Any], sample: Sample) -> bool | None:
    """Torch refuses it; None where that is for the elements to say."""
    verdicts = set()
    for fill in FILLS:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            try:
                positional, keywords = _filled(_cloned(sample), fill)
                function(*positional, **keywords)
                verdicts.add(False)
            except Exception:
                verdicts.add(True)
        if len(verdicts) > 1:
            return None
    return verdicts.pop()


def verdicts_of_torch(calls: Sequence[tuple[Callable[..., Any], Sample]]) -> list[bool | None]:
    """`is_refused` of each, asked in a process of its own: some calls end it. Of these None."""
    found: list[bool | None] = []
    while len(found) < len(calls):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            for function, sample in calls[len(found) :]:
                signal.alarm(LONGEST)
                os.write(writing, _SAID[is_refused(function, sample)])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found += [_HEARD[each] for each in pipe.read()]
        os.waitpid(child, 0)
        found += [None] if len(found) < len(calls) else []
    return found


_SAID = {True: b"r", False: b"t", None: b"?"}
_HEARD = {said[0]: verdict for verdict, said in _SAID.items()}


# ---- counted -----------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One operator, called in one way, or one layer."""

    name: str
    refused: int = 0
    """Calls that torch refuses."""
    right: int = 0
    """Of these, predicted to be refused."""
    open: int = 0
    taken: int = 0
    """Calls that torch takes."""
    certain: list[str] = field(default_factory=list)
    """Refused, and said to run."""
    false: list[str] = field(default_factory=list)
    """Taken, and said to be refused."""

    def count(self, truth: bool, verdict: str, told: str) -> None:
        """Of one call."""
        if truth:
            self.refused += 1
            self.right += verdict.startswith("raises")
            self.open += verdict == "open"
            self.certain += [told] if verdict == "runs" else []
        else:
            self.taken += 1
            self.false += [f"{verdict} · {told}"] if verdict.startswith("raises") else []


class Asked:
    """An interpreter that is asked of one call after the other."""

    def __init__(self) -> None:
        self.machine = interpreter(sys.path)
        self.doubts = 0
        for name in ("may_refuse", "may_fail"):
            setattr(self.machine, name, self._heard(getattr(self.machine, name)))

    def _heard(self, says: Callable[..., None]) -> Callable[..., None]:
        def say(*names: str) -> None:
            self.doubts += 1
            says(*names)

        return say

    def can_say(self, sample: Sample) -> bool:
        """All arguments have a counterpart among the values of the interpreter."""
        self.machine.start()
        try:
            said(self.machine, [*sample[0], *sample[1].values()], Given())
        except NotSaidError:
            return False
        return True

    def verdict(self, ask: Callable[[Interpreter], Value | str]) -> str:
        """What the prediction says of a call: "raises ...", "open", "runs"."""
        self.doubts = 0
        found = ask(self.machine)
        if isinstance(found, str):
            return found
        return "open" if self.doubts or is_open(self.machine, found) else "runs"


# ---- operators ---------------------------------------------------------------------------------------------------------


def calls_of(operators: Iterable[Any], at_most: int) -> Iterator[Sample]:
    """Those that torch's tests expect to fail, and the samples with one thing changed."""
    seen = set()
    for operator in operators:
        for sample in itertools.chain(_failing(operator), _changed_samples(operator, at_most)):
            form = repr(form_of(sample))
            if form not in seen:
                seen.add(form)
                yield sample


def _failing(operator: Any) -> Iterator[Sample]:
    try:
        for error in operator.error_inputs("cpu"):
            sample = error.sample_input
            yield (sample.input, *sample.args), dict(sample.kwargs)
    except Exception:
        return


def _changed_samples(operator: Any, at_most: int) -> Iterator[Sample]:
    for dtype in DTYPES:
        if operator.supports_dtype(dtype, "cpu"):
            for sample in samples(operator, dtype, at_most):
                yield from itertools.islice(changed(sample), PATIENCE)


def of_callee(asked: Asked, callee: Callee, given: Iterable[Sample]) -> Row:
    row = Row(callee.name)
    sayable = [sample for sample in given if asked.can_say(sample)]
    truths = verdicts_of_torch([(callee.function, sample) for sample in sayable])
    for sample, truth in zip(sayable, truths, strict=True):
        if truth is None:
            continue
        for how in (Given(elements=False), *(() if truth else (Given(sizes=False),))):
            verdict = asked.verdict(lambda machine, how=how: predicted(machine, callee, sample, how))  # type: ignore[misc]  # noqa: B023
            row.count(truth, verdict, str(form_of(sample)) if how.sizes else f"no sizes · {form_of(sample)}")
    return row


def of_operators(asked: Asked, patterns: Sequence[str], at_most: int) -> Iterator[Row]:
    """A row for each way to call each operator whose name matches."""
    operators = collections.defaultdict(list)
    for operator in database():
        if operator.name.startswith("torch."):
            continue  # below torch.ops: no name of `torch`
        if not patterns or any(fnmatchcase(operator.name, pattern) for pattern in patterns):
            operators[operator.name].append(operator)
    for name, variants in operators.items():
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = list(calls_of(variants, at_most))
        for callee in callees(name):
            row = of_callee(asked, callee, given)
            if row.refused or row.taken:
                yield row


# ---- layers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerCall:
    """A layer that is made and called."""

    name: str
    made: Sample
    given: Sample
    training: bool

    def run(self, *positional: Any, **keywords: Any) -> Any:
        cls = getattr(torch.nn, self.name)
        return cls(*self.made[0], **self.made[1]).train(self.training)(*positional, **keywords)

    def ask(self, machine: Interpreter, how: Given) -> Value | str:
        """What the prediction says.

        Raises:
            NotSaidError: an argument has no counterpart.
        """
        machine.start()
        machine.is_recording = True
        try:
            made = self._call(machine, machine.resolve(f"torch.nn.{self.name}"), self.made, Given())
            machine.call(machine.get_attribute(made, "train"), [said(machine, self.training, how)])
            return self._call(machine, made, self.given, how)
        except Raised as raised:
            return f"raises {raised.message}"
        except LimitError:
            return machine.unknown("a limit")
        finally:
            machine.is_recording = False
            machine.frames.clear()

    @staticmethod
    def _call(machine: Interpreter, function: Value, given: Sample, how: Given) -> Value:
        positional = [said(machine, each, how) for each in given[0]]
        return machine.call(function, positional, {name: said(machine, each, how) for name, each in given[1].items()})


def layer_calls(info: Any, at_most: int) -> Iterator[LayerCall]:
    """Of one layer: what torch's tests expect to fail, and the samples of its database with one thing changed."""
    name = info.module_cls.__name__
    for training in (True, False):
        if info.module_error_inputs_func is not None:
            for error in info.module_error_inputs_func(info, "cpu", torch.float32, False, training):
                made, given = parts(error.module_error_input)
                yield LayerCall(name, made, given, training)
        forms = set()
        for sample in info.module_inputs_func(info, "cpu", torch.float32, False, training):
            made, given = parts(sample)
            form = repr(form_of((made, given)))
            if form in forms or len(forms) == 3 * at_most:
                continue
            forms.add(form)
            yield LayerCall(name, made, given, training)
            for other in itertools.islice(changed(given), PATIENCE):
                yield LayerCall(name, made, other, training)


def parts(module_input: Any) -> tuple[Sample, Sample]:
    """What a layer is made with, and what it is given."""
    made, given = module_input.constructor_input, module_input.forward_input
    return (made.args, made.kwargs), ((given.args, given.kwargs) if given is not None else ((), {}))


def of_layers(asked: Asked, patterns: Sequence[str], at_most: int) -> Iterator[Row]:
    """A row for each layer whose name matches."""
    database()
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = info.module_cls.__name__
        if getattr(torch.nn, name, None) is not info.module_cls:
            continue
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        row = Row(f"torch.nn.{name}")
        torch.manual_seed(0)
        calls = list(_distinct(layer_calls(info, at_most)))
        truths = verdicts_of_torch([(call.run, call.given) for call in calls])
        for call, truth in zip(calls, truths, strict=True):
            if truth is not None:
                _of_layer_call(asked, call, truth, row)
        if row.refused or row.taken:
            yield row


def _distinct(calls: Iterable[LayerCall]) -> Iterator[LayerCall]:
    seen = set()
    for call in calls:
        form = repr(form_of((call.made, call.given, call.training)))
        if form not in seen:
            seen.add(form)
            yield call


def _of_layer_call(asked: Asked, call: LayerCall, truth: bool, row: Row) -> None:
    told = f"{'train' if call.training else 'eval'} · {form_of(call.made)} · {form_of(call.given)}"
    for how in (Given(elements=False), *(() if truth else (Given(sizes=False),))):
        try:
            verdict = asked.verdict(lambda machine, how=how: call.ask(machine, how))  # type: ignore[misc]
        except NotSaidError:
            return
        row.count(truth, verdict, told if how.sizes else f"no sizes · {told}")


# ---- printed -----------------------------------------------------------------------------------------------------------


def report(title: str, rows: Sequence[Row], show: int) -> None:
    """The operators with most that is wrong, and what all of them come to."""
    for row in sorted(rows, key=lambda row: (-len(row.false), -len(row.certain))):
        if row.certain or row.false:
            counts = f"refused {row.refused}, right {row.right}, open {row.open}, certain {len(row.certain)}"
            print(f"{row.name}: {counts}; taken {row.taken}, false {len(row.false)}")
            for told in [*row.false[:show], *row.certain[:show]]:
                print(f"    {told}")
    refused, right = sum(row.refused for row in rows), sum(row.right for row in rows)
    certain, false = sum(len(row.certain) for row in rows), sum(len(row.false) for row in rows)
    left_open, taken = sum(row.open for row in rows), sum(row.taken for row in rows)
    print(
        f"{title}: {len(rows)} rows, torch refuses {refused} calls: right {right}, open {left_open},"
        f" certain to run {certain}; takes {taken}: refused falsely {false}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of operators and layers")
    parser.add_argument("--samples", type=int, default=3, help="of each operator and dtype (default: %(default)s)")
    parser.add_argument("--show", type=int, default=3, help="calls told of each row (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a line for each row")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # so that a process can be forked
    asked = Asked()
    found = with_deep_stack(
        lambda: (
            list(of_operators(asked, arguments.patterns, arguments.samples)),
            list(of_layers(asked, arguments.patterns, arguments.samples)),
        )
    )
    if arguments.json:
        lines = (json.dumps(vars(row)) + "\n" for rows in found for row in rows)
        arguments.json.write_text("".join(lines), encoding="utf-8")
    for title, rows in zip(("operators", "layers"), found, strict=True):
        report(title, rows, arguments.show)
    return 1 if any(row.certain or row.false for rows in found for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
