"""Predicted runs of `forward` against real ones: calls, nesting and shapes of outputs.

    python tests/oracle/forward_calls.py torchvision:121 timm:150 transformers:120 [--path FOLDER] [--json rows.jsonl]

So many models of each library are drawn, with a fixed seed. Each is built and run by torch, with an ear on every call, and
followed by the prediction, in a process of its own. A prediction is *exact* (all calls, in order and nesting), a *prefix*
(right as far as it goes; from there on it says that it does not know), or *wrong*. With `--json`, models that stand in
the file already are not run again.

Further names are those of `forward_beside.txt`, libraries that must be importable, and `files`, the classes of
`forward_files.txt`: FOLDER of `MODGRAPH_FORWARD_SOURCES=FOLDER` holds each repository at its commit, as `owner+name`.
"""

from __future__ import annotations

import collections
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import modgraph
from modgraph.prediction.answer.tree import _Tree
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.events import Either, Enter, Event, Leave, Lost, Operate, Repeat, Seen
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction, predict_target
from modgraph.prediction.forward.assumptions import USUAL, assumed_in
from modgraph.prediction.forward.predicting import Wanted, graph_with_forward
from modgraph.prediction.forward.running import Followed, follow
from modgraph.prediction.paths.recording import MAX_DEPTH
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
try:
    import forward_models
    import model_rows
    from model_rows import ModelRow
    from ways_of_data import missed_ways, ways
finally:
    sys.path.remove(str(HERE))

HIDDEN = "?"
"""Path of a module that is not registered."""
Shape = tuple[int | None, ...]


@dataclass
class Call:
    """A call of a module."""

    path: str
    depth: int
    shapes: dict[str, Shape | None] | None = None
    """Of the tensors that it gave, by where each stands in the result: "[0]", ".logits"; None before it has ended, or
    where it is not known what it gives."""


@dataclass
class Run:
    """Calls, as far as they are known."""

    calls: list[Call] = field(default_factory=list)
    open_reason: str | None = None
    """Why nothing is known from there on; None where all is told."""
    raised: str | None = None
    """What ended it."""


@dataclass
class Verdict:
    """What is right of a prediction."""

    kind: str
    right: int = 0
    """Calls of which all shapes are."""
    unknown: int = 0
    wrong: int = 0
    first: str = ""
    """The first thing that is wrong."""


# ---- what torch does ---------------------------------------------------------------------------------------------------


def real_run(subject: forward_models.Subject) -> Run:
    """The calls of a real run: every module there is is called through `Module.__call__`, its hooks inside of it."""
    modules = dict(subject.model.named_modules())  # kept, as one made in the run may else be where one was that is gone
    names = {id(module): name for name, module in modules.items()}
    found = Run()
    running: list[Call] = []
    original = torch.nn.Module.__call__

    def call(module: torch.nn.Module, *given: Any, **named: Any) -> Any:
        told = Call(names.get(id(module), HIDDEN), len(running))
        found.calls.append(told)
        running.append(told)
        try:
            result = original(module, *given, **named)
        finally:
            running.pop()
        told.shapes = dict(real_shapes(result))
        return result

    torch.nn.Module.__call__ = call  # type: ignore[assignment, method-assign]
    try:
        subject.model(*subject.positional, **subject.keywords)
    except Exception as error:
        found.raised = f"{type(error).__name__}: {error}"
    finally:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]
    return found


def real_shapes(value: Any, place: str = "", depth: int = 0) -> Iterable[tuple[str, Shape]]:
    """The tensors in what a module gives, by their place."""
    if isinstance(value, torch.Tensor):
        yield place, tuple(value.shape)
    elif depth > MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from real_shapes(each, f"{place}{_key(key)}", depth + 1)
    elif isinstance(value, (tuple, list)):
        for number, each in enumerate(value):
            yield from real_shapes(each, f"{place}[{number}]", depth + 1)
    elif hasattr(value, "__dict__") and not isinstance(value, (torch.nn.Module, type)):
        for name, each in vars(value).items():
            yield from real_shapes(each, f"{place}.{name}", depth + 1)


def _key(key: Any) -> str:
    """A name as a key is one as an attribute: some results have both."""
    return f".{key}" if isinstance(key, str) else f"[{key!r}]"


# ---- what is predicted -------------------------------------------------------------------------------------------------


def predicted_run(followed: Followed, paths: Mapping[Address, str], registered: set[str]) -> Run:
    """The calls of a run that was followed, up to the first thing that is not certain."""
    found = Run()
    running: list[tuple[Call, bool]] = []
    for event in followed.events:
        if isinstance(event, Enter):
            path = paths.get(event.module, HIDDEN)
            call = Call(path if path in registered else HIDDEN, sum(not direct for _, direct in running))
            if not event.direct:  # no hook sees one past `__call__`
                found.calls.append(call)
            running.append((call, event.direct))
        elif isinstance(event, Leave):
            call, _ = running.pop()
            if event.error is None and event.is_known:
                call.shapes = dict(map(_placed, event.outputs))
        elif _may_call(event):
            assert isinstance(event, (Either, Repeat, Lost))
            found.open_reason = f"{type(event).__name__.lower()}: {event.reason}{_at(event.where)}"
            return found
    if followed.failure is not None:
        reason = followed.failure.reason
        if reason.startswith("raises "):
            found.raised = reason.removeprefix("raises ") + _at(followed.failure.where)
        else:
            found.open_reason = f"ends: {reason}{_at(followed.failure.where)}"
    return found


def _may_call(event: Event) -> bool:
    """It may call modules, which ones is not certain."""
    if isinstance(event, Either):
        return any(map(_may_call, (*event.first, *event.second)))
    if isinstance(event, Repeat):
        return any(map(_may_call, event.events))
    return isinstance(event, (Enter, Lost))


def _placed(seen: Seen) -> tuple[str, Shape | None]:
    place = re.sub(r"\['(\w+)'\]", r".\1", seen.name.removeprefix("output"))
    return place, seen.shape


def _at(where: Any) -> str:
    return "" if where is None else f" ({where.file}:{where.line})"


def first_lost_shapes(followed: Followed) -> collections.Counter[str]:
    """Operations, and layers of torch, of which all inputs have a known shape, and an output has not."""
    found: collections.Counter[str] = collections.Counter()
    running: list[tuple[Enter, int]] = []
    calls = 0
    for event in followed.events:
        if isinstance(event, Enter):
            calls += 1
            running.append((event, calls))
        elif isinstance(event, Leave) and running:
            begun, number = running.pop()
            if number == calls and begun.is_layer and not _open(begun.inputs) and _open(event.outputs):
                module = followed.state.find(begun.module, ModuleObject)
                found[getattr(module.cls, "name", "?") if module is not None else "?"] += 1
        elif isinstance(event, Operate) and not _open(event.inputs) and _open(event.outputs):
            found[event.name] += 1
    return found


def _open(tensors: Sequence[Seen]) -> bool:
    return any(each.shape is None or None in each.shape for each in tensors)


# ---- compared ----------------------------------------------------------------------------------------------------------


def _kind(raised: str) -> str:
    """The class of an exception: "ValueError" of "builtins.ValueError: no"."""
    return raised.partition(":")[0].rpartition(".")[2]


def judged(want: Run, got: Run) -> Verdict:
    """What is right of a predicted run, held against a real one."""
    found = Verdict("prefix" if got.open_reason is not None else "exact")
    for number, (real, told) in enumerate(zip(want.calls, got.calls, strict=False)):
        if (real.path, real.depth) != (told.path, told.depth):
            found.kind = "wrong"
            found.first = f"call {number} is {told.path!r} in depth {told.depth}, not {real.path!r} in {real.depth}"
            return found
        _compare_shapes(real, told, found)
    if len(got.calls) > len(want.calls):
        return _wrong(found, f"{len(got.calls)} calls, not {len(want.calls)}")
    if got.raised is not None:
        if want.raised is None:
            return _wrong(found, f"raises {got.raised}")
        if _kind(got.raised) != _kind(want.raised):
            return _wrong(found, f"raises {got.raised}, not {want.raised}")
        if len(got.calls) != len(want.calls):
            return _wrong(found, f"raises after {len(got.calls)} calls, not after {len(want.calls)}")
    elif got.open_reason is None:
        if want.raised is not None:
            return _wrong(found, f"does not raise {want.raised}")
        if len(got.calls) != len(want.calls):
            return _wrong(found, f"{len(got.calls)} calls, not {len(want.calls)}")
    return found


def _wrong(found: Verdict, why: str) -> Verdict:
    found.kind = "wrong"
    found.first = found.first or why
    return found


def _compare_shapes(real: Call, told: Call, found: Verdict) -> None:
    if real.shapes is None:
        return
    if told.shapes is None:
        found.unknown += 1
        return
    wrong = [
        f"{real.path}{place} is {shape}, not {real.shapes.get(place)}"
        for place, shape in told.shapes.items()
        if not _fits(shape, real.shapes.get(place), place in real.shapes)
    ]
    if wrong:
        found.wrong += 1
        found.first = found.first or wrong[0]
    elif told.shapes.keys() == real.shapes.keys() and not any(s is None or None in s for s in told.shapes.values()):
        found.right += 1
    else:
        found.unknown += 1


def _fits(told: Shape | None, real: Shape | None, is_there: bool) -> bool:
    if not is_there or real is None:
        return False
    if told is None:
        return True
    return len(told) == len(real) and all(a is None or a == b for a, b in zip(told, real, strict=True))


# ---- one model, in a process of its own --------------------------------------------------------------------------------


@dataclass
class Row(ModelRow):
    """Its `kind` is exact, prefix or wrong, where a run was predicted."""

    calls: int = 0
    told: int = 0
    right: int = 0
    unknown: int = 0
    wrong: int = 0
    edges: int = 0
    """Ways of data between calls, through any operations, in a trace of the run."""
    edges_missed: int = 0
    edges_wrong: int = 0
    """Predicted, and not in the trace."""
    lost: dict[str, int] = field(default_factory=dict)
    """`first_lost_shapes`."""


def one(library: str, name: str) -> Row:
    """The row of one model."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subject = forward_models.subject_of(library, name, Path(folder))
        except forward_models.NoSubjectError as error:
            return Row(library, name, "no run", str(error))
        want = real_run(subject)
        if want.raised is not None and not subject.model.training and want.raised.startswith("NotImplementedError"):
            return Row(library, name, "no run", want.raised[:300])
        model_rows.torch_has_run()
        return with_deep_stack(lambda: _predicted(Row(library, name, "unbuilt"), subject, want))


def _predicted(row: Row, subject: forward_models.Subject, want: Run) -> Row:
    started = time.process_time()
    prediction = predict_target(parse_target(subject.target), assumed=assumed_in(USUAL))
    followed = follow(prediction, [parse_input(each) for each in subject.inputs])
    row.seconds = round(time.process_time() - started, 2)
    row.calls = len(want.calls)
    if followed is None:
        row.why = "unbuilt: " + (prediction.failure.reason if prediction.failure is not None else "no module")
        return row
    tree = _Tree(prediction)
    tree.grow(prediction.root)
    registered = {name for name, _ in subject.model.named_modules()}
    got = predicted_run(followed, tree.first_paths, registered)
    verdict = judged(want, got)
    row.kind, row.why = verdict.kind, verdict.first or got.open_reason or ""
    row.told, row.right, row.unknown, row.wrong = len(got.calls), verdict.right, verdict.unknown, verdict.wrong
    row.lost = dict(first_lost_shapes(followed).most_common(8))
    if row.kind == "exact" and want.raised is None and followed.is_whole:
        with tempfile.TemporaryDirectory() as folder:  # built anew: a run may leave what the next one takes from there
            _compare_edges(row, forward_models.subject_of(row.library, row.name, Path(folder)), prediction)
    return row


# ---- dataflow ----------------------------------------------------------------------------------------------------------


def _compare_edges(row: Row, subject: forward_models.Subject, prediction: Prediction) -> None:
    """Against a trace, which sees what each operation of torch is given."""
    wanted = Wanted([parse_input(each) for each in subject.inputs])
    predicted = graph_with_forward(prediction, parse_target(subject.target), wanted, lambda *_: prediction)
    traced = modgraph.trace(subject.model, subject.positional, subject.keywords)
    if not traced.complete:
        return
    told, real = ways(predicted), ways(traced)
    missed = missed_ways(traced, predicted)
    wrong = told - ways(traced, or_from=True)
    row.edges, row.edges_missed, row.edges_wrong = len(real), len(missed), len(wrong)
    if missed or wrong:
        print("missed", sorted(missed)[:5], "wrong", sorted(wrong)[:5], file=sys.stderr)


# ---- all of them -------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> list[str]:
    """The figures of each library."""
    lines = [
        "| library | models | exact | prefix | wrong | unbuilt | fault | no run | calls told | shapes right | unknown | wrong"
        " | edges | missed | wrong |",
        "|---|" + "--:|" * 14,
    ]
    for library in dict.fromkeys(row.library for row in rows):
        mine = [row for row in rows if row.library == library]
        kinds = collections.Counter(row.kind for row in mine)
        cells = [kinds[kind] for kind in ("exact", "prefix", "wrong", "unbuilt", "fault", "no run")]
        told, calls = sum(row.told for row in mine), sum(row.calls for row in mine)
        shapes = [sum(getattr(row, name) for row in mine) for name in ("right", "unknown", "wrong")]
        shapes += [sum(getattr(row, name) for row in mine) for name in ("edges", "edges_missed", "edges_wrong")]
        shown = [library, len(mine) - kinds["no run"], *cells, f"{told} of {calls}", *shapes]
        lines.append(f"| {' | '.join(map(str, shown))} |")
    times = [row.seconds for row in rows if row.seconds]
    if times:
        lines.append(f"\nseconds of a prediction: median {statistics.median(times):.1f}, longest {max(times):.1f}")
    return lines


def causes(rows: Sequence[Row]) -> list[str]:
    """Why calls are not known, and where shapes are lost first."""
    stops = collections.Counter(nameless(row.why) for row in rows if row.kind in ("prefix", "unbuilt", "fault"))
    lines = ["", "why calls are not known:", *(f"{number:5} {why}" for why, number in stops.most_common(40))]
    models: collections.Counter[str] = collections.Counter()
    for row in rows:
        models.update(row.lost.keys())
    lines += ["", "operations and layers that lose a shape, by models:"]
    lines += [f"{number:5} {name}" for name, number in models.most_common(40)]
    bad = [row for row in rows if row.kind == "wrong" or row.wrong]
    return [*lines, "", "wrong:", *(f"{row.library} {row.name}: {row.why}" for row in bad)]


def nameless(reason: str) -> str:
    """The text of a reason without places and quoted names, so that the same kind is one cause."""
    text = re.sub(r" \([^() ]+:\d+\)$", "", reason)
    return re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"", "…", text)[:110]


def drawn(wanted: str) -> Iterable[tuple[str, str]]:
    """The models of "timm:40", or one by name: "timm:resnet18"."""
    library, _, number = wanted.partition(":")
    if number and not number.isdecimal():
        return [(library, number)]
    names = forward_models.names_of(library)
    return [(library, name) for name in (names[: int(number)] if number else names)]


def main() -> int:
    output = "the table and the causes, for the page"
    options = model_rows.parser(__doc__, "torchvision:20, timm:40, timm:resnet18", output).parse_args()
    rows = model_rows.rows(options, Row, one, drawn)
    if rows is None:
        return 0
    print("\n".join([*table(rows), *causes(rows)]))
    if options.output is not None:
        told = "\n".join(causes(rows)).split("\nwrong:")[0].strip()
        options.output.write_text("\n".join([*table(rows), "", "```text", told, "```"]) + "\n", encoding="utf-8")
    return 1 if any(row.kind in ("wrong", "fault") or row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
