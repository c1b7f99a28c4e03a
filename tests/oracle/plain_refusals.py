"""What torch refuses, against the look for a run that the check takes before it loads the interpreter.

    python tests/oracle/plain_refusals.py [PATTERN ...] [--samples 3] [--show 5]

A class whose `forward` does nothing but one call that torch refuses must not seem to run: a fault in it would never be
reported. Calls are those of `operator_refusals.py` (torch's own error inputs, and its samples with one thing changed),
written as text, for every function and layer that `modgraph/rules/plain_*.py` have a name of. What is refused for the
dtype is left out, as no rule reports it.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
try:
    from operator_refusals import PATIENCE, LayerCall, changed, parts, verdicts_of_torch
    from operator_shapes import Sample, callees, database, form_of, samples
finally:
    sys.path.pop(0)

from modgraph.rules import plain_tensors
from modgraph.rules.facts import ClassFacts
from modgraph.rules.names import Project
from modgraph.rules.plain_runs import runs_plainly
from modgraph.rules.plain_sizes import FUNCTIONS, LAYERS
from modgraph.rules.subject import FileSubject, Subject
from modgraph.source.integers import parse
from modgraph.source.summaries import summarize

HEAD = "import torch\nfrom torch import nn\n"
LARGEST = 10**6
"""Elements of a tensor."""
_OF_DTYPES = re.compile(r"\bd?types?\b|floating point|complex|[Ii]nteger|Long|Float|Int\b|[Bb]ool")


class NotWrittenError(Exception):
    """An argument that is not written as text."""


@dataclass
class Row:
    """One function or layer."""

    name: str
    refused: int = 0
    """Calls that torch refuses."""
    taken: int = 0
    seen: int = 0
    """Of those that it takes: which seem to run."""
    wrong: list[str] = field(default_factory=list)
    """Refused, and seem to run."""


def written(value: Any) -> str:
    """An argument as text; of a tensor, its shape is told alone.

    Raises:
        NotWrittenError: it is of another kind.
    """
    if type(value) is torch.Tensor and value.numel() <= LARGEST:
        return f"torch.zeros({tuple(value.shape)})"
    if type(value) in (tuple, list):
        each = ", ".join(map(written, value))
        return f"({each}{',' if len(value) == 1 else ''})" if type(value) is tuple else f"[{each}]"
    if value is None or type(value) in (bool, int, str) or (type(value) is float and abs(value) < float("inf")):
        return repr(value)
    raise NotWrittenError(type(value).__name__)


def arguments_of(sample: Sample) -> str:
    """As they stand in a call."""
    return ", ".join((*map(written, sample[0]), *(f"{name}={written(each)}" for name, each in sample[1].items())))


def seems_to_run(lines: Sequence[str], call: str) -> bool:
    """A class with these lines in its constructor and that one call."""
    text = HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "".join(f"        {line}\n" for line in lines) + f"    def forward(self):\n        return {call}\n"
    tree = parse(text)
    summary, project = summarize(tree), Project()
    project.add("/nowhere/net.py", summary, tree, text)
    file = FileSubject("/nowhere/net.py", "net.py", text, tree, summary, project)
    node = next(each for each in tree.body if isinstance(each, ast.ClassDef))
    return runs_plainly(Subject(file, ClassFacts(node, "Net")))


def count(
    row: Row, told: Sequence[tuple[Sequence[str], str]], calls: Sequence[tuple[Callable[..., Any], Sample]]
) -> None:
    """Of some calls, as text and for torch."""
    for (lines, call), truth in zip(told, verdicts_of_torch(calls), strict=True):
        if truth is None:
            continue
        runs = seems_to_run(lines, call)
        row.refused += truth
        row.taken += not truth
        row.seen += not truth and runs
        row.wrong += [" ".join((*lines, call))] if truth and runs else []


def _dtypes(sample: Sample) -> list[torch.dtype]:
    flat = [*sample[0], *sample[1].values()]
    inside = itertools.chain.from_iterable(each if isinstance(each, (tuple, list)) else (each,) for each in flat)
    return [each.dtype for each in inside if isinstance(each, torch.Tensor)]


def _of_one_dtype(sample: Sample) -> Iterator[Sample]:
    """The sample, and those with one thing changed that is no dtype."""
    yield sample
    dtypes = _dtypes(sample)
    for each in itertools.islice(changed(sample), PATIENCE):
        found = _dtypes(each)
        if found == dtypes or (len(found) != len(dtypes) and set(found) <= set(dtypes)):
            yield each


def _samples(operator: Any, at_most: int) -> Iterator[Sample]:
    try:
        for error in operator.error_inputs("cpu"):
            sample = error.sample_input
            if not _OF_DTYPES.search(error.error_regex):
                yield (sample.input, *sample.args), dict(sample.kwargs)
    except Exception:
        pass
    for sample in samples(operator, torch.float32, at_most):
        yield from _of_one_dtype(sample)


def is_named(name: str) -> bool:
    """The look has a name of such a function."""
    last = name.rpartition(".")[2].rstrip("_")
    return last in plain_tensors.NAMES or last.replace("_", "") in FUNCTIONS or last in plain_tensors.FUNCTIONS_ALONE


def of_functions(patterns: Sequence[str], at_most: int) -> Iterator[Row]:
    """A row for each function and method."""
    for operator in database():
        name = operator.name
        if not is_named(name) or (patterns and not any(fnmatchcase(name, each) for each in patterns)):
            continue
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {repr(form_of(sample)): sample for sample in _samples(operator, at_most)}
        for callee in callees(name):
            row, told, calls = Row(callee.name), [], []
            for sample in given.values():
                try:
                    arguments = arguments_of(sample)
                    if callee.name.startswith("torch.Tensor."):
                        rest = arguments_of((sample[0][1:], sample[1]))
                        call = f"({written(sample[0][0])}).{callee.name.rpartition('.')[2]}({rest})"
                    else:
                        call = f"{callee.name}({arguments})"
                except NotWrittenError:
                    continue
                told.append(((), call))
                calls.append((callee.function, sample))
            count(row, told, calls)
            yield row


def _layer_calls(info: Any, at_most: int) -> Iterator[LayerCall]:
    """What torch's tests expect to fail, and samples with one argument changed, of the layer or of its call."""
    name = info.module_cls.__name__
    if info.module_error_inputs_func is not None:
        for error in info.module_error_inputs_func(info, "cpu", torch.float32, False, False):
            if not _OF_DTYPES.search(error.error_regex):
                yield LayerCall(name, *parts(error.module_error_input), False)
    for sample in itertools.islice(info.module_inputs_func(info, "cpu", torch.float32, False, False), 3 * at_most):
        made, given = parts(sample)
        yield from (LayerCall(name, made, each, False) for each in _of_one_dtype(given))
        yield from (LayerCall(name, each, given, False) for each in itertools.islice(changed(made), PATIENCE))


def of_layers(patterns: Sequence[str], at_most: int) -> Iterator[Row]:
    """A row for each layer."""
    database()
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = info.module_cls.__name__
        if name not in LAYERS or (patterns and not any(fnmatchcase(name, each) for each in patterns)):
            continue
        torch.manual_seed(0)
        row, told, calls = Row(f"torch.nn.{name}"), [], []
        for way in {repr(form_of((each.made, each.given))): each for each in _layer_calls(info, at_most)}.values():
            try:
                made = f"self.layer = nn.{name}({arguments_of(way.made)})"
                told.append(((made,), f"self.layer({arguments_of(way.given)})"))
            except NotWrittenError:
                continue
            calls.append((way.run, way.given))
        count(row, told, calls)
        yield row


def report(title: str, rows: Sequence[Row], show: int) -> None:
    """The rows with what is wrong, and what all come to."""
    for row in rows:
        if row.wrong:
            print(f"{row.name}: {len(row.wrong)} of {row.refused} refused seem to run")
            print("".join(f"    {told}\n" for told in row.wrong[:show]), end="")
    refused, wrong = sum(row.refused for row in rows), sum(len(row.wrong) for row in rows)
    taken, seen = sum(row.taken for row in rows), sum(row.seen for row in rows)
    print(f"{title}: {len(rows)} rows, torch refuses {refused}: {wrong} seem to run; takes {taken}: {seen} seem to run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of functions and layers")
    parser.add_argument("--samples", type=int, default=3, help="of each (default: %(default)s)")
    parser.add_argument("--show", type=int, default=5, help="calls told of each row (default: %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # so that a process can be forked
    found = [list(of(arguments.patterns, arguments.samples)) for of in (of_functions, of_layers)]
    for title, rows in zip(("functions", "layers"), found, strict=True):
        report(title, rows, arguments.show)
    return 1 if any(row.wrong for rows in found for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
