"""Whether the prediction of `forward` has every way that a run may go: one prediction against runs under all settings.

    python tests/oracle/forward_branches.py written torchvision timm transformers [--path FOLDER] [--json rows.jsonl]

Each model is predicted once, without being told its options: what the arguments of `forward` or of the constructor are,
whether it trains. Then torch runs it under every setting, with an ear on every call. A run is *covered* where some
arm of each branch, and some number of turns of each loop, gives its calls: path, nesting and order, all of them, and all
that is certain of the prediction. A run that is covered only by way of something of which the prediction says that it does not know
what it calls is *open*. "timm:resnet18" names one model.
"""

from __future__ import annotations

import collections
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modgraph.graph.model import Graph
from modgraph.prediction.answer.tree import _Tree
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.events import Either, Enter, Event, Leave, Lost, Repeat, every_event
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction, predict_target
from modgraph.prediction.forward.assumptions import USUAL, assumed_in
from modgraph.prediction.forward.predicting import Wanted, graph_with_forward
from modgraph.prediction.forward.running import AnyValue, Followed, Given, follow
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
try:
    import forward_branch_subjects
    import forward_calls
    import forward_models
    import model_rows
    from forward_calls import HIDDEN, Call
    from model_rows import ModelRow
finally:
    sys.path.remove(str(HERE))


# ---- what a run may be -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token:
    """A call of a run begins, or the call that began last ends."""

    path: str | None
    """None where it ends."""
    call: Call


def tokens_of(calls: Sequence[Call]) -> list[Token]:
    """Begins and ends of the calls, in order."""
    found: list[Token] = []
    running: list[Call] = []
    for call in calls:
        while len(running) > call.depth:
            found.append(Token(None, running.pop()))
        found.append(Token(call.path, call))
        running.append(call)
    while running:
        found.append(Token(None, running.pop()))
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run has been read, and which calls past `__call__` are open: no ear hears these."""

    at: int
    direct: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """What was met on the way to a place."""

    wrong: int = 0
    """Calls whose shapes are contradicted."""
    lost: int = 0
    """Times that something was passed of which it is not known what it calls."""
    right: int = 0
    unknown: int = 0
    first: str = ""
    """The first shape that is contradicted."""

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.wrong, self.lost, -self.right


Ways = dict[Place, Way]


class Matcher:
    """Reads a run along the events of a prediction, on every path of these at once."""

    def __init__(self, tokens: Sequence[Token], paths: Mapping[Address, str], registered: frozenset[str]) -> None:
        self.tokens = tokens
        self.paths = paths
        self.registered = registered
        self.furthest = 0

    def read(self, events: Iterable[Event], ways: Ways) -> Ways:
        """Where a run may be after these events, from where it may be before."""
        for event in events:
            if not ways:
                return ways
            if isinstance(event, Enter):
                ways = self._enter(event, ways)
            elif isinstance(event, Leave):
                ways = self._leave(event, ways)
            elif isinstance(event, Either):
                ways = _best([*self.read(event.first, ways).items(), *self.read(event.second, ways).items()])
            elif isinstance(event, Repeat):
                ways = self._repeat(event, ways)
            elif isinstance(event, Lost):
                ways = self._lost(ways)
        return ways

    def name_of(self, module: Address) -> str:
        path = self.paths.get(module, HIDDEN)
        return path if path in self.registered else HIDDEN

    def _enter(self, event: Enter, ways: Ways) -> Ways:
        path = self.name_of(event.module)
        found: Ways = {}
        for place, way in ways.items():
            if event.direct:
                found[Place(place.at, (*place.direct, True))] = way
            elif place.at < len(self.tokens) and self.tokens[place.at].path == path:
                found[Place(place.at + 1, (*place.direct, False))] = way
                self.furthest = max(self.furthest, place.at + 1)
        return found

    def _leave(self, event: Leave, ways: Ways) -> Ways:
        found: list[tuple[Place, Way]] = []
        for place, way in ways.items():
            if place.direct and place.direct[-1]:
                found.append((Place(place.at, place.direct[:-1]), way))
            elif place.at < len(self.tokens) and self.tokens[place.at].path is None:
                told = Call("", 0)
                if event.error is None and event.is_known:
                    told.shapes = dict(map(forward_calls._placed, event.outputs))
                ended = self.tokens[place.at].call
                if (event.error is None) != (ended.shapes is not None):
                    continue
                found.append((Place(place.at + 1, place.direct[:-1]), _compared(way, ended, told)))
                self.furthest = max(self.furthest, place.at + 1)
        return _best(found)

    def _repeat(self, event: Repeat, ways: Ways) -> Ways:
        found, turn = dict(ways), dict(ways)
        while turn:
            after = self.read(event.events, turn)
            turn = {place: way for place, way in after.items() if place not in found}
            found = _best([*found.items(), *after.items()])
        return found

    def _lost(self, ways: Ways) -> Ways:
        """Any calls that begin and end in the call that is open."""
        found: list[tuple[Place, Way]] = []
        for place, way in ways.items():
            passed = Way(way.wrong, way.lost + 1, way.right, way.unknown, way.first)
            depth, at = 0, place.at
            while True:
                if depth == 0:
                    found.append((Place(at, place.direct), passed if at > place.at else way))
                if at >= len(self.tokens):
                    break
                depth += 1 if self.tokens[at].path is not None else -1
                if depth < 0:
                    break
                at += 1
        return _best(found)


def _best(found: Iterable[tuple[Place, Way]]) -> Ways:
    best: Ways = {}
    for place, way in found:
        if place not in best or way.rank < best[place].rank:
            best[place] = way
    return best


def _compared(way: Way, real: Call, told: Call) -> Way:
    verdict = forward_calls.Verdict("")
    forward_calls._compare_shapes(real, told, verdict)
    return Way(
        way.wrong + verdict.wrong,
        way.lost,
        way.right + verdict.right,
        way.unknown + verdict.unknown,
        way.first or verdict.first,
    )


# ---- a run held against a prediction -----------------------------------------------------------------------------------

Stack = tuple[str, ...]
"""The path of a call, below those of the calls in which it runs."""


@dataclass
class Found:
    """What is right of one run."""

    kind: str
    """covered, open, missed (a call that no arm has), invented (something certain was not done)."""
    why: str = ""
    missed: int = 0
    invented: int = 0
    way: Way = field(default_factory=Way)


def judged(matcher: Matcher, followed: Followed, real: forward_calls.Run) -> Found:
    """Whether some way through a prediction is this run."""
    ends = matcher.read(followed.events, {Place(0): Way()})
    whole = len(matcher.tokens)
    reached = [way for place, way in ends.items() if place.at == whole]
    failure = followed.failure
    if failure is not None and (real.raised is None or not followed.is_refused):
        # As far as it goes: from there on it says that it does not know.
        if ends and not followed.is_refused:
            return Found("open", failure.reason, way=min(ends.values(), key=lambda way: way.rank))
        if not reached:
            return Found("missed", f"the prediction raises: {failure.reason}", missed=1)
    if reached:
        way = min(reached, key=lambda way: way.rank)
        return Found("open" if way.lost else "covered", _lost_reason(followed) if way.lost else way.first, way=way)
    told = set(_stacks_of(followed.events, matcher, only_certain=False))
    seen = collections.Counter(_stacks(matcher.tokens))
    missed = sum(number for stack, number in seen.items() if stack not in told)
    invented = collections.Counter(_stacks_of(followed.events, matcher, only_certain=True)) - seen
    where = matcher.tokens[matcher.furthest] if matcher.furthest < whole else None
    what = "the end" if where is None else f"the end of {where.call.path!r}" if where.path is None else repr(where.path)
    why = f"{what} does not come after {_before(matcher)}"
    if invented and not missed:
        return Found("invented", f"{next(iter(invented))} is certain, and was not called", invented=invented.total())
    return Found("missed", why, missed=max(missed, 1), invented=invented.total())


def _before(matcher: Matcher) -> str:
    names = [token.path for token in matcher.tokens[: matcher.furthest] if token.path is not None]
    return ", ".join(map(repr, names[-3:])) or "the beginning"


def _lost_reason(followed: Followed) -> str:
    return next((each.reason for each in every_event(followed.events) if isinstance(each, Lost)), "")


def _stacks(tokens: Iterable[Token]) -> list[Stack]:
    found: list[Stack] = []
    running: list[str] = []
    for token in tokens:
        if token.path is None:
            running.pop()
        else:
            running.append(token.path)
            found.append(tuple(running))
    return found


def _stacks_of(events: Iterable[Event], matcher: Matcher, only_certain: bool) -> list[Stack]:
    """Calls that a prediction has, on all its paths or on every one."""
    found: list[Stack] = []

    def walk(events: Iterable[Event], running: tuple[tuple[str, bool], ...]) -> tuple[tuple[str, bool], ...]:
        for event in events:
            if isinstance(event, Enter):
                running = (*running, (matcher.name_of(event.module), event.direct))
                if not event.direct:
                    found.append(tuple(path for path, direct in running if not direct))
            elif isinstance(event, Leave):
                running = running[:-1]
            elif isinstance(event, Either) and not only_certain:
                after = [walk(arm, running) for arm in (event.first, event.second)]
                running = max(after, key=len)
            elif isinstance(event, Repeat) and not only_certain:
                walk(event.events, running)
        return running

    walk(events, ())
    return found


# ---- the graph that a user is given ------------------------------------------------------------------------------------


def graph_faults(graph: Graph, runs: Sequence[tuple[bool, list[Stack]]], registered: frozenset[str]) -> list[str]:
    """Calls of runs that the graph has not, and calls that are certain there and that the usual run did not make."""
    calls = {call.index: call for call in graph.calls}
    told: list[Stack] = []
    certain: list[Stack] = []
    for call in graph.calls:
        if call.direct:
            continue
        stack: list[str] = []
        each = call
        while True:
            if not each.direct:
                stack.append(each.module if each.module in registered else HIDDEN)
            if each.parent is None:
                break
            each = calls[each.parent]
        told.append(tuple(reversed(stack)))
        if call.certain:
            certain.append(told[-1])
    is_open = any(problem.stage == "forward" for problem in graph.problems)
    known = set(told)
    faults: list[str] = []
    for is_usual, stacks in runs:
        if not is_open:
            faults += [f"the graph has no call of {stack[-1]!r}" for stack in stacks if stack not in known]
        if is_usual:
            invented = collections.Counter(certain) - collections.Counter(stacks)
            faults += [f"in the graph {stack[-1]!r} is certain, and was not called" for stack in invented]
    return list(dict.fromkeys(faults))


# ---- one model, in a process of its own --------------------------------------------------------------------------------


@dataclass
class Row(ModelRow):
    """Its `kind` is the worst of its runs: covered, open, missed, invented."""

    runs: int = 0
    covered: int = 0
    open: int = 0
    missed: int = 0
    """Calls that no arm has."""
    invented: int = 0
    """Calls that are certain, and were not made."""
    right: int = 0
    """Calls of which all shapes are."""
    unknown: int = 0
    wrong: int = 0
    in_graph: list[str] = field(default_factory=list)
    """What is wrong of the graph."""
    settings: list[list[str]] = field(default_factory=list)
    """Of each run that is not covered: the setting, the kind, why."""


_ORDER = ("invented", "missed", "open", "covered", "no run")


def one(library: str, name: str) -> Row:
    """The row of one model."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            branches = forward_branch_subjects.branches_of(library, name, Path(folder))
        except forward_models.NoSubjectError as error:
            return Row(library, name, "no run", str(error))
        runs = []
        for run in branches.runs:
            registered = frozenset(path for path, _ in run.subject.model.named_modules())
            runs.append((run, registered, forward_calls.real_run(run.subject)))
        model_rows.torch_has_run()
        return with_deep_stack(lambda: predicted(Row(library, name, "unbuilt"), branches, runs))


Runs = Sequence[tuple[forward_branch_subjects.Run, frozenset[str], forward_calls.Run]]


def predicted(row: Row, branches: forward_branch_subjects.Branches, runs: Runs) -> Row:
    """The row with what is right of the prediction."""
    started = time.process_time()
    prediction = predict_target(parse_target(branches.target), assumed=assumed_in(USUAL))
    given: list[Given] = [*map(parse_input, branches.inputs), *map(AnyValue, branches.options)]
    training = None if len(branches.modes) > 1 else branches.modes[0]
    followed = follow(prediction, given, training, every_way=True)
    row.seconds = round(time.process_time() - started, 2)
    if followed is None:
        row.why = "unbuilt: " + (prediction.failure.reason if prediction.failure is not None else "no module")
        return row
    tree = _Tree(prediction)
    tree.grow(prediction.root)
    kinds = set()
    for run, registered, real in runs:
        if real.raised is not None:
            row.settings.append([run.text, "no run", real.raised[:200]])
            continue
        row.runs += 1
        found = judged(Matcher(tokens_of(real.calls), tree.possible_paths(), registered), followed, real)
        kinds.add(found.kind)
        _add(row, run.text, found)
    row.kind = next((kind for kind in _ORDER if kind in kinds), "no run")
    row.why = next((why for _, kind, why in row.settings if kind == row.kind), "")
    if row.runs:
        _judge_graph(row, branches, runs, prediction)
    return row


def _add(row: Row, setting: str, found: Found) -> None:
    row.covered += found.kind == "covered"
    row.open += found.kind == "open"
    row.missed += found.missed
    row.invented += found.invented
    row.right += found.way.right
    row.unknown += found.way.unknown
    row.wrong += found.way.wrong
    if found.kind != "covered" or found.way.wrong:
        row.settings.append([setting, found.kind if not found.way.wrong else "wrong shape", found.why])


def _judge_graph(row: Row, branches: forward_branch_subjects.Branches, runs: Runs, prediction: Prediction) -> None:
    """The same of the graph: what is not told of `forward` there are its flags, so with other options it is not held
    against runs."""
    wanted = Wanted([parse_input(each) for each in branches.inputs])
    graph = graph_with_forward(prediction, parse_target(branches.target), wanted, lambda *_: prediction)
    registered = frozenset().union(*(each for _, each, _ in runs))
    held = [
        (run.is_usual, _stacks(tokens_of(real.calls)))
        for run, _, real in runs
        if real.raised is None and _is_of_graph(run.options)
    ]
    row.in_graph = graph_faults(graph, held, registered)[:20]


def _is_of_graph(options: Mapping[str, tuple[object, object]]) -> bool:
    """Every option is at its default, or is a flag."""
    return all(value == default or isinstance(default, bool) for value, default in options.values())


# ---- all of them -------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> list[str]:
    """The figures of each library."""
    kinds = ("covered", "open", "missed", "invented", "unbuilt", "fault")
    lines = [
        f"| library | models | {' | '.join(kinds)} | no run | runs | covered | open | calls missed | certain, not made "
        "| shapes right | unknown | wrong | faults in graphs |",
        "|---|" + "--:|" * 17,
    ]
    libraries = list(dict.fromkeys(row.library for row in rows))
    for library in [*libraries, *(["**all**"] if len(libraries) > 1 else [])]:
        mine = [row for row in rows if library in (row.library, "**all**")]
        number = collections.Counter(row.kind for row in mine)
        cells = [len(mine) - number["no run"], *(number[kind] for kind in (*kinds, "no run"))]
        cells += [sum(getattr(row, each) for row in mine) for each in ("runs", "covered", "open", "missed", "invented")]
        cells += [sum(getattr(row, each) for row in mine) for each in ("right", "unknown", "wrong")]
        cells.append(sum(len(row.in_graph) for row in mine))
        lines.append(f"| {library} | {' | '.join(f'{each:,}' for each in cells)} |")
    return lines


def causes(rows: Sequence[Row]) -> list[str]:
    """Why runs are only covered by what is not known, by models."""
    found: collections.Counter[str] = collections.Counter()
    for row in rows:
        whys = {why for _, kind, why in row.settings if kind == "open"}
        found.update({re.sub(r"(?<=…): .*", "", forward_calls.nameless(why)) for why in whys})
    lines = ["", "| why a run is open | models |", "|---|--:|"]
    return [*lines, *(f"| {why} | {number} |" for why, number in found.most_common(40))]


def faults(rows: Sequence[Row]) -> list[str]:
    """What is not covered, or wrong."""
    lines = ["", "not covered, or wrong:"]
    for row in rows:
        bad = [each for each in row.settings if each[1] in ("missed", "invented", "wrong shape")]
        lines += [f"{row.library} {row.name} ({setting}): {kind}: {why}" for setting, kind, why in bad[:4]]
        lines += [f"{row.library} {row.name}: {each}" for each in row.in_graph[:4]]
    return lines


def drawn(wanted: str) -> Iterable[tuple[str, str]]:
    """The models of "timm", or one by name: "timm:resnet18"."""
    library, _, name = wanted.partition(":")
    return [(library, name)] if name else [(library, each) for each in forward_branch_subjects.names_of(library)]


def main() -> int:
    output = "the tables, for `accuracy.py --branches`"
    options = model_rows.parser(__doc__, "written, torchvision, timm:resnet18", output).parse_args()
    rows = model_rows.rows(options, Row, one, drawn)
    if rows is None:
        return 0
    figures = "\n".join([*table(rows), *causes(rows)]) + "\n"
    if options.output is not None:
        options.output.write_text(figures, encoding="utf-8")
    print(figures, *faults(rows), sep="\n")
    return 1 if any(row.kind in ("missed", "invented", "fault") or row.wrong or row.in_graph for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
