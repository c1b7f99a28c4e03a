"""What changed, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from modgraph.changes.model import Changes, Flow, NotCompared, Side, Undecided
from modgraph.export.diff.checkpoint import checkpoint_rows, checkpoint_verdict, every_key
from modgraph.export.diff.facts import name_of
from modgraph.export.diff.words import (
    SIGNS,
    Line,
    delta_text,
    effect_unknown,
    known_words,
    lines,
    places_of,
    rewritten_rows,
    total_text,
    undecided_places,
    under_text,
    verdict,
)
from modgraph.export.look.labels import cut_apart
from modgraph.export.text.table import Cell, Column, Pen, shortened, table

MOST_LINES = 12
"""Of each further section; the JSON has all."""
_COLUMNS = (
    Column(""),
    Column("module", shortest=16),
    Column("change", shortest=24, ample=48),
    Column("parameters", right=True),
)
_STYLES = {"removed": "red", "added": "green", "renamed": "cyan", "moved": "cyan", "changed": "yellow"}


def render(
    changes: Changes,
    *,
    width: int = 100,
    color: bool = False,
    unicode: bool = True,
    encoding: str = "ascii",
    of_checkpoints: bool = False,
) -> str:
    """All that differs, the weightiest first; at the end what cannot be told.

    Args:
        of_checkpoints: what becomes of a checkpoint, key by key, and nothing else.
    """
    pen = Pen(color=color, unicode=unicode, encoding=encoding)
    sides = cut_apart(_side(changes.old), _side(changes.new), 2 * (max(width, 40) - len("old  ")))
    written = [
        f"old  {sides[0]}",
        f"new  {sides[1]}",
        "",
        *textwrap.wrap(verdict(changes), max(width, 40), break_on_hyphens=False),
    ]
    text = [shortened(pen.plain(line), max(width, 40), pen) for line in written]
    if of_checkpoints:
        text[3:] = textwrap.wrap(
            pen.plain(checkpoint_verdict(changes.state)), max(width, 40), break_long_words=False, break_on_hyphens=False
        )
        return "\n".join([*text, *(f"  {pen.plain(row)}" for row in every_key(changes))]) + "\n"
    found = lines(changes)
    if found:
        text += ["", *table(_COLUMNS, [_cells(line) for line in found], max(width, 40), pen)]
    for title, rows in sections(changes):
        text += ["", pen.paint(pen.plain(title), "bold")]
        for row in limited(rows):
            text += textwrap.wrap(
                pen.plain(row),
                max(width, 40),
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(line.rstrip() for line in text) + "\n"


def _side(side: Side) -> str:
    plural = "" if side.parameters == 1 else "s"
    counted = "" if side.parameters is None else f"{side.parameters:,} parameter{plural}"
    partial = "" if side.complete else "partial"
    return " · ".join(filter(None, [side.name, side.target or "", known_words(side), counted, partial]))


def _cells(line: Line) -> tuple[Cell, ...]:
    style = _STYLES[line.sign]
    return (
        Cell(SIGNS[line.sign], style=style),
        Cell(line.place, style=style),
        Cell(line.words),
        Cell(delta_text(line.delta)),
    )


def sections(changes: Changes) -> Iterator[tuple[str, list[str]]]:
    """What follows the table, each with its title; none that is empty."""
    totals = [total_text(total.name, total.old, total.new) for total in changes.totals]
    flows = [flow_text(flow) for flow in changes.dataflow]
    findings = [
        f"{'+' if one.side == 'new' else '−'} {one.code} {name_of(one.module or '')}: {one.message}"
        for one in changes.findings
    ]
    parts = [
        ("totals", totals),
        (checkpoint_verdict(changes.state), list(checkpoint_rows(changes))),
        ("other ways of data", flows),
        ("findings", findings),
        (f"source changed; {effect_unknown(changes)}", rewritten_rows(changes)),
        ("cannot be told", undecided_rows(changes.undecided)),
        ("not compared", [_not_compared(one) for one in changes.not_compared]),
    ]
    for title, rows in parts:
        if rows or (changes and title == checkpoint_verdict(changes.state)):
            yield title, rows


def flow_text(flow: Flow) -> str:
    """ "+ a → b", "− a → (relu in the model) → b", "~ a → b: in the new model where `w <= 64`"."""
    sign = "~" if flow.under is not None else SIGNS["added" if flow.side == "new" else "removed"]
    steps = (flow.producer, *([f"({_between(flow.past)})"] if flow.past else ()), flow.consumer)
    text = f"{sign} {' → '.join(steps)}" + (f", as {flow.place}" if flow.place else "")
    if flow.under is None:
        return text
    return f"{text}: in the {'old' if flow.side == 'new' else 'new'} model {under_text(flow.under)}"


def _between(past: Sequence[str]) -> str:
    return " … ".join((past[0], past[-1])) if len(past) > 2 else ", ".join(past)


def _not_compared(one: NotCompared) -> str:
    models = "both models" if one.side == "both" else f"the {one.side} model"
    return f"{one.what}: {models} {one.reason}"


def undecided_rows(undecided: Sequence[Undecided]) -> list[str]:
    """What cannot be told, and why; what has one reason in one row."""
    return [_undecided_row(group) for group in undecided_places(undecided)]


def _undecided_row(group: Sequence[Undecided]) -> str:
    first = group[0]
    which = "both sides leave it" if first.side == "both" else f"the {first.side} side leaves it"
    written = " and ".join(places_of(first))
    at = f" in {written}" if written else ""
    because = f": {first.reason}" if first.reason else ""
    return f"{name_of(first.path)}: {', '.join(one.what for one in group)} ({which} open{at}{because})"


def limited(rows: Iterable[str], most: int = MOST_LINES) -> list[str]:
    """The first rows, and how many more there are."""
    listed = list(rows)
    if len(listed) <= most:
        return listed
    return [*listed[: most - 1], f"… {len(listed) - most + 1:,} more"]
