"""`Changes` and its parts: what differs between two graphs, old and new. Frozen, sorted, and the same for the same two.

What one of the graphs leaves open is never a difference: it stands in `undecided`. `reversed()` is what comparing the
new graph with the old one gives.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from modgraph.changes.weights import CheckpointChanges
from modgraph.doors.printing import json_text
from modgraph.graph.codec import encode
from modgraph.graph.model import Graph, Shape
from modgraph.names import natural

SCHEMA = "modgraph-diff/1"


class Absent(enum.Enum):
    """Stands for what one side does not have; in JSON the key is left out."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent.ABSENT

FieldKind = Literal[
    "class",
    "argument",
    "parameter",
    "buffer",
    "shape",
    "dtype",
    "trainable",
    "persistent",
    "tied",
    "registered",
    "same_as",
    "hooks",
    "order",
    "state_dict",
    "calls",
    "outputs",
    "output_dtypes",
    "operations",
    "forward_argument",
]
"""`parameter` and `buffer`: there is one more or less; `shape` to `tied` are of the tensor that `name` names; `order`:
of registration; `same_as`: the module that this one is another name of; `operations`: what its own `forward` does;
`forward_argument`: what `forward` takes, with the text of its default, "" for none."""


Forward = Literal["run", "predicted", "unknown"]
"""What calls, operations, shapes and dataflow of the two models are compared by: their runs, what their `forward` is
predicted to do, or nothing, as one of them lacks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One fact that differs: JSON values, or ABSENT. An argument that is ABSENT has its default (one of torch's
    own, or that the graph does not tell), or the class has no such argument."""

    kind: FieldKind
    name: str = ""
    """Of the argument, parameter or buffer; of operations, "call 2" where they are not those of the first call."""
    old: Any = ABSENT
    new: Any = ABSENT
    old_under: Any = ABSENT
    """Of calls and operations: what there is beside these under conditions."""
    new_under: Any = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtree:
    """A module that is on one side alone, with all below it that is so too."""

    path: str
    class_name: str | None
    modules: int = 1
    """Itself and those below it that are on this side alone."""
    parameters: int | None = None
    """Elements of their own parameters; None where one is not known."""
    in_total: int | None = 0
    """Of these, those that the model's total counts: none of what is hidden from registration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A module under another name or, of `moved`, in another parent; what is below it came along."""

    old: str
    new: str
    class_name: str | None
    """In the new graph."""
    modules: int = 1
    """Itself and those below it that came along."""
    in_total: int | None = 0
    """As that of `Changed`, where it is not changed too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A module that is on both sides, and differs."""

    old: str
    new: str
    old_class: str | None
    new_class: str | None
    fields: tuple[Field, ...]
    old_parameters: int | None = None
    """Elements of the parameters of it and of all below it; None where one is not known."""
    new_parameters: int | None = None
    in_total: int | None = 0
    """How many parameters more the model's total has by it: by its own, and those of what is below it that is not told
    of itself. With those of all that was added, removed, renamed and moved they sum up to what the total has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A figure of the whole model that differs."""

    name: Literal["parameters", "trainable_parameters", "buffers", "modules", "flops", "inputs", "mode", "run"]
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A way of data that is on one side alone, past what was added or removed, or in any case on one side alone."""

    side: Literal["old", "new"]
    """Its ends are named as they are there."""
    producer: str
    """ "layers.0.fc1", "layers.0.fc1 (call 2)", "torch.add in layers.0", "input x", "parameter w", "constant"."""
    consumer: str
    place: str = ""
    """Where it comes in, if that alone differs: "args[0]", "input1"."""
    past: tuple[str, ...] = ()
    """Steps between its ends that this side alone has, the first and the last with "…" between them where there are
    more; () where data goes straight."""
    under: str | None = None
    """The other side has it under this condition; "" where no test is named, None where it has it not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding that is on one side alone."""

    side: Literal["old", "new"]
    code: str
    message: str
    module: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A module whose class has methods of another text, where no run says what that does: it may be nothing."""

    old: str
    new: str
    class_name: str
    """In the new graph."""
    methods: tuple[str, ...]


_OF_FORWARD = ("number of calls", "operations ", "output shapes", "output dtypes", "way of data ", "what forward does")
"""They begin the `what` of such an `Undecided`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """Something that cannot be told, since `side` leaves it open."""

    old: str | None
    """Path of the module it is about; None where that side has none."""
    new: str | None
    what: str
    side: Literal["old", "new", "both"]
    reason: str = ""
    old_place: str | None = None
    """ "net.py:12": where the old side leaves it open; None where it does not, or that is not known."""
    new_place: str | None = None

    @property
    def path(self) -> str:
        """Where it is in the new graph, else in the old one."""
        return self.new if self.new is not None else self.old or ""

    @property
    def is_of_forward(self) -> bool:
        """Whether it is about what `forward` does, and not about what there is."""
        return self.what.startswith(_OF_FORWARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """What only one of the graphs says, or both of something else, so that it was left alone."""

    what: str
    """ "calls, shapes and dataflow"."""
    side: Literal["old", "new", "both"]
    reason: str
    """What is said of that side: "was not run"."""


def by_side(told: Iterable[NotCompared]) -> tuple[NotCompared, ...]:
    """In the same order, but of one thing what is said of the old graph comes first."""
    rows = list(told)
    first = {one.what: place for place, one in reversed(list(enumerate(rows)))}
    return tuple(sorted(rows, key=lambda one: (first[one.what], _SIDES.index(one.side))))


_SIDES = ("old", "new", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyShapes:
    """A key of both state dicts, with shapes that differ."""

    key: str
    old: Shape | None
    new: Shape | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanges:
    """What becomes of a checkpoint of the old model that is loaded into the new one, key by key."""

    kept: int = 0
    """Keys of both with the same shape, of modules that are the same on both sides."""
    missing: tuple[str, ...] = ()
    """The new model has them, an old checkpoint has not."""
    unexpected: tuple[str, ...] = ()
    """An old checkpoint has them, the new model has not."""
    mismatched: tuple[KeyShapes, ...] = ()
    misplaced: tuple[str, ...] = ()
    """Of both, and of one shape, but not of the same module: they would load without a word, into another layer."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Old key and new key of tensors that go under another name, with the same shape."""
    undecided: tuple[str, ...] = ()
    """Of one side alone or of unknown shape, where a graph leaves open what the model has; "blocks.?" is a place where
    there may be further keys."""

    @property
    def loads(self) -> bool | None:
        """Whether `load_state_dict` takes an old checkpoint, and every tensor reaches its own module; None where what
        is undecided may be what breaks it."""
        if self.missing or self.unexpected or self.mismatched or self.misplaced:
            return False
        return None if self.undecided else True

    @property
    def lost(self) -> tuple[str, ...]:
        """Keys of an old checkpoint that have no place in the new model under any name."""
        elsewhere = {old for old, _ in self.renamed}
        return tuple(key for key in self.unexpected if key not in elsewhere)

    @property
    def fresh(self) -> tuple[str, ...]:
        """Keys of the new model for which an old checkpoint has nothing under any name."""
        elsewhere = {new for _, new in self.renamed}
        return tuple(key for key in self.missing if key not in elsewhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two models."""

    name: str
    class_name: str | None
    target: str | None
    known_by: Literal["predicted", "traced", "predicted and traced", "nothing"]
    complete: bool
    modules: int
    parameters: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs between two graphs. False where nothing does.

    Example:
        changes = modgraph.diff("HEAD~1:model.py:Net", "model.py:Net")
        if changes:
            print(changes.to_text())
    """

    old: Side
    new: Side
    forward: Forward = "unknown"
    totals: tuple[Total, ...] = ()
    added: tuple[Subtree, ...] = ()
    removed: tuple[Subtree, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    moved: tuple[Renamed, ...] = ()
    changed: tuple[Changed, ...] = ()
    dataflow: tuple[Flow, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()
    """No difference: what these methods do is not known of their text."""
    state: StateChanges = field(default_factory=StateChanges)
    checkpoint: CheckpointChanges = field(default_factory=CheckpointChanges)
    undecided: tuple[Undecided, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()
    graphs: tuple[Graph, Graph] | None = field(default=None, compare=False, repr=False)
    pairs: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Old path and new path of every module that is on both sides."""

    def __repr__(self) -> str:
        """Names and counts: all that changed is what `to_text` and `to_json` give."""
        held = ("added", "removed", "renamed", "moved", "changed", "dataflow", "findings", "undecided")
        counts = [f"{len(found)} {name}" for name in held if (found := getattr(self, name))]
        return f"<Changes {self.old.name[:80]!r} -> {self.new.name[:80]!r}: {', '.join(counts) or 'none'}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: what `modgraph diff` prints, and the picture where it can be drawn and is small."""
        from modgraph.export.diff.formats import mime_bundle

        return mime_bundle(self, include, exclude)

    def __bool__(self) -> bool:
        parts = (self.added, self.removed, self.renamed, self.moved, self.changed, self.dataflow, self.findings)
        return any(parts) or any(total.name not in _SETTINGS for total in self.totals)

    def reversed(self) -> Changes:
        """The same, from the new graph to the old one."""
        return replace(
            _turned(self),
            old=self.new,
            new=self.old,
            added=self.removed,
            removed=self.added,
            state=replace(
                self.state,
                missing=self.state.unexpected,
                unexpected=self.state.missing,
                mismatched=tuple(replace(one, old=one.new, new=one.old) for one in self.state.mismatched),
                renamed=sorted_pairs((new, old) for old, new in self.state.renamed),
            ),
            checkpoint=self.checkpoint.reversed(),
            graphs=None if self.graphs is None else (self.graphs[1], self.graphs[0]),
            pairs=tuple((new, old) for old, new in self.pairs),
        )

    def to_json(self) -> str:
        """JSON text of schema `modgraph-diff/1`; the same two graphs give the same text."""
        document = {
            "schema": SCHEMA,
            "different": bool(self),
            "checkpoint_loads": self.state.loads,
            **{name: _json(getattr(self, name)) for name in _IN_JSON},
        }
        return json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"

    def to_text(self) -> str:
        """What `modgraph diff` prints."""
        from modgraph.export.diff.formats import render

        return render(self, "text")

    def save(self, path: str | Path) -> None:
        """Write it to `path` in the format that its suffix names: `.txt`, `.md`, `.json`, `.svg` or `.html`.

        Raises:
            ExportError: the suffix is no format, or what draws it is not installed.
        """
        from modgraph.export.diff.formats import save

        save(self, Path(path))


_SETTINGS = ("inputs", "mode")
"""Totals that say how the models were run: no difference of theirs."""
_IN_JSON = tuple(each.name for each in fields(Changes) if each.name not in ("graphs", "pairs"))
_T = TypeVar("_T")


def sorted_by_path(items: Iterable[_T]) -> tuple[_T, ...]:
    """In the order of their paths, numbers in them by size; of those with one path, in that of all they say."""
    return tuple(sorted(items, key=_order))


def _order(item: Any) -> tuple[Any, ...]:
    if isinstance(item, Flow):
        return (natural(item.consumer), natural(item.producer), item.side, natural(item.place), item.past)
    if isinstance(item, FindingChange):
        return (natural(item.module or ""), item.code, item.message, item.file or "", item.line or 0, item.side)
    if isinstance(item, Undecided):
        return (natural(item.path), item.what, item.side, item.reason)
    path = item.path if isinstance(item, Subtree) else item.new
    return (natural(path),)


def sorted_pairs(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of keys in the order of the first ones."""
    return tuple(sorted(pairs, key=lambda pair: (natural(pair[0]), natural(pair[1]))))


def _turned(changes: Changes) -> Changes:
    swap: dict[str, Any] = {"old": "new", "new": "old", "both": "both"}

    def back(items: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(replace(item, old=item.new, new=item.old) for item in items)

    changed = [
        replace(
            one,
            old=one.new,
            new=one.old,
            old_class=one.new_class,
            new_class=one.old_class,
            fields=tuple(
                replace(each, old_under=each.new_under, new_under=each.old_under) for each in back(one.fields)
            ),
            old_parameters=one.new_parameters,
            new_parameters=one.old_parameters,
            in_total=_negative(one.in_total),
        )
        for one in changes.changed
    ]
    return replace(
        changes,
        totals=back(changes.totals),
        renamed=sorted_by_path(_less(back(changes.renamed))),
        moved=sorted_by_path(_less(back(changes.moved))),
        rewritten=sorted_by_path(back(changes.rewritten)),
        changed=sorted_by_path(changed),
        not_compared=by_side(replace(one, side=swap[one.side]) for one in changes.not_compared),
        dataflow=sorted_by_path(replace(flow, side=swap[flow.side]) for flow in changes.dataflow),
        findings=sorted_by_path(replace(one, side=swap[one.side]) for one in changes.findings),
        undecided=sorted_by_path(
            replace(
                one,
                old=one.new,
                new=one.old,
                side=swap[one.side],
                old_place=one.new_place,
                new_place=one.old_place,
            )
            for one in changes.undecided
        ),
    )


def _less(items: Iterable[Renamed]) -> list[Renamed]:
    return [replace(one, in_total=_negative(one.in_total)) for one in items]


def _negative(number: int | None) -> int | None:
    return None if number is None else -number


def _json(value: Any) -> Any:
    """`value` as JSON; what is ABSENT is left out, and facts that hold their default are written all the same."""
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        pairs = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {name: _json(content) for name, content in pairs if content is not ABSENT}
    return encode(value)
