"""The frame around the turns of a loop, or around a period of layers that comes over and over: `×N`."""

from __future__ import annotations

from dataclasses import replace

from modgraph.export.look.folding import Block, Unit, comes_again
from modgraph.export.look.labels import class_title, cut, cut_end, member_range
from modgraph.export.look.parts import Frame, Item, Mark
from modgraph.export.picture.framing import short_name
from modgraph.export.picture.rows import TOOLTIP_LENGTH, parameters_text
from modgraph.graph.loops import is_loop
from modgraph.graph.occurrences import Occurrence, Run


def turns_frame(run: Run, block: Block, items: tuple[Item, ...], id: str, costs: str | None = None) -> Frame:
    """The frame around `items`, which are drawn for all turns of `block`.

    `costs`: what all turns cost, where that is said instead of the number of parameters.
    """
    turns = len(block.members)
    if is_loop(block.members):
        return Frame(
            id=id,
            title="loop",
            detail=f"{turns} turns",
            items=items,
            level=0,
            copies=turns,
            loop=True,
            tooltip="a loop in forward: each turn is fed by the one before",
        )
    own = _own_modules(block)
    nodes = [run.index.modules[path] for path in own[0]]
    name = member_range(own[0][0], own[-1][-1])
    title = short_name(name, block.parent.occurrence.path) if block.parent is not None else name
    classes = list(dict.fromkeys(class_title(node.class_name) for node in nodes))
    said = ", ".join(classes) if len(classes) <= 2 else f"{len(nodes)} layers"
    numbers = parameters_text(run, *nodes) if costs is None else costs
    return Frame(
        id=id,
        title=cut(title),
        detail=" · ".join(part for part in (cut(said), numbers) if part),
        name=name,
        items=items,
        level=0,
        copies=turns,
        loop=True,
        tooltip=cut_end(f"{name} · {', '.join(classes)} · {turns} times, each fed by the one before", TOOLTIP_LENGTH),
    )


def turns_around(unit: Unit) -> int:
    """How many calls of one module a row stands for: those of the row itself, else the turns of the loop around it."""
    if len(unit.members) > 1 and not unit.shared:
        return len(unit.members) if comes_again(unit.members) else 1
    block: Block | None = unit.block
    while block is not None and (block.shared or not (len(block.members) > 1 and comes_again(block.members))):
        block = block.parent
    return 1 if block is None else len(block.members)


def calls_of_all(marks: tuple[Mark, ...], times: int) -> tuple[Mark, ...]:
    """`marks` of what is drawn once for several calls: "call 2 of 7" becomes "call 2 – 7 of 7"."""
    said = []
    for mark in marks:
        first, _, count = mark.note.partition(" of ")
        if mark.state == "again" and times > 1 and first.isdecimal() and int(first) + times - 1 <= int(count):
            mark = replace(mark, note=f"{first} – {int(first) + times - 1} of {count}")
        said.append(mark)
    return tuple(said)


def called_mark(run: Run, members: list[Occurrence]) -> Mark:
    """What is said of calls of one module that are drawn once, and of what is done once for each: "called 3 times"."""
    first, times = members[0], len(members)
    count = times if first.call is None else run.call_numbers.get(first.call.index, (1, times))[1]
    return Mark(state="called", note=f"{times} times" if count <= times else f"{times} of {count} times")


def _own_modules(block: Block) -> list[list[str]]:
    """By turn, the modules that are called in it and in no other."""
    called = [[step.path for step in turn.children if step.is_module] for turn in block.members]
    shared = set(called[0]) & set(called[-1])
    own = [list(dict.fromkeys(path for path in paths if path not in shared)) for paths in called]
    # The same modules in another order: none is a turn's own.
    return own if own[0] and own[-1] else called
