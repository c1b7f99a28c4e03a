"""The columns of the table of modules, for a terminal, for CSV and for Markdown: what each says of a row."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from modgraph.errors import ConfigError
from modgraph.export.look.parts import State
from modgraph.export.text.run import duration, quantity
from modgraph.export.text.table import Cell, Column
from modgraph.export.text.tree import Row
from modgraph.graph.counts import Count
from modgraph.graph.model import Graph

Value = str | int | float | None
"""What stands in a field of CSV; None for nothing."""

NAME = Column("module", shortest=12, ample=36)
STATE_STYLES: dict[State, str] = {
    "failed": "bold red",
    "unregistered": "bold red",
    "runtime only": "magenta",
    "static only": "yellow",
    "never called": "yellow",
    "unseen": "yellow",
    "unknown": "yellow",
}


@dataclass(frozen=True)
class ModuleColumn:
    """One of them."""

    column: Column
    """How it is laid out; its title stands above it where people read."""
    text: Callable[[Row], str]
    value: Callable[[Row], Value]
    """For programs: a number in the unit that `heading` names."""
    heading: str = ""
    """Its title in CSV, where that is another."""
    style: str = ""


def _plain(column: Column, field: str, style: str = "") -> ModuleColumn:
    def said(row: Row) -> str:
        text: str = getattr(row, field)
        return text

    return ModuleColumn(column, said, said, style=style)


def _shapes(column: Column, field: str) -> ModuleColumn:
    shown = _plain(column, field)
    return replace(shown, value=lambda row: shown.text(row).replace("×", "x").replace("…", "..."))


def _state(row: Row) -> str:
    return " · ".join([*(remark.text for remark in row.remarks), *([row.inside] if row.inside else [])])


def _count(count: Count | None) -> Value:
    """A number; a lower bound as ">=9408", and "?" where nothing of it is known."""
    if count is None:
        return None
    if not count.partial:
        return count.known
    return f">={count.known}" if count.known else "?"


def flops_text(count: Count | None) -> str:
    """ "3.64 G", "≥ 3.64 G", "?"; "" for none."""
    if count is None or not (count.known or count.partial):
        return ""
    shown = quantity(count.known).rstrip()
    return (f"≥ {shown}" if count.known else "?") if count.partial else shown


def bytes_text(number: float | None) -> str:
    """ "1.5 MB", "-512 B"; "" where nobody knows."""
    return "" if number is None else f"{quantity(number)}B"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


_ALL = {
    "class": _plain(Column("class", shortest=10, ample=18, dropped=3), "class_name", "cyan"),
    "output": _shapes(Column("output", shortest=24, ample=24, dropped=1, sizes=True), "output"),
    "parameters": ModuleColumn(
        Column("parameters", right=True), lambda row: row.parameters.text, lambda row: _count(row.parameters)
    ),
    "calls": ModuleColumn(
        Column("calls", right=True, dropped=2),
        lambda row: row.calls,
        lambda row: int(row.calls) if row.calls.isdecimal() else row.calls or None,
    ),
    "state": ModuleColumn(Column("state", shortest=10, ample=30, at_end=True), _state, _state),
    "input": _shapes(Column("input", sizes=True), "input"),
    "arguments": _plain(Column("arguments", shortest=10, ample=24), "arguments"),
    "source": _plain(Column("source", shortest=12, ample=28), "source", "dim"),
    "flops": ModuleColumn(
        Column("flops", right=True), lambda row: flops_text(row.cost.flops), lambda row: _count(row.cost.flops)
    ),
    "time": ModuleColumn(
        Column("time", right=True),
        lambda row: "" if row.cost.seconds is None else duration(row.cost.seconds),
        lambda row: row.cost.seconds,
        heading="time_s",
    ),
    "memory": ModuleColumn(
        Column("memory", right=True, dropped=5),
        lambda row: bytes_text(row.cost.allocated),
        lambda row: row.cost.allocated,
        heading="memory_bytes",
    ),
    "tensors": _plain(Column("tensors", shortest=12, ample=40), "tensors"),
    "share": ModuleColumn(
        Column("% of params", right=True, dropped=4),
        lambda row: _percent(row.parameter_share),
        lambda row: row.parameter_share,
    ),
}
_SHARE_OF_TIME = ModuleColumn(
    Column("% of time", right=True, dropped=4), lambda row: _percent(row.time_share), lambda row: row.time_share
)
"""Where time was measured, `share` is that."""
COLUMNS = tuple(_ALL)
"""Their names: what may be said of a module beside its own."""
USUAL_COLUMNS = ("class", "output", "parameters", "calls", "state")
MEASURED_COLUMNS = ("class", "output", "parameters", "calls", "flops", "time", "share", "memory", "state")
"""Of a graph with a profile."""
STORED_COLUMNS = ("class", "tensors", "parameters", "state")
"""Of a graph that was read from a file of weights."""


def check_columns(names: Sequence[str]) -> None:
    """Raises ConfigError where one of `names` is no column; it names those there are."""
    for name in names:
        if name not in _ALL:
            near = difflib.get_close_matches(name.lower(), COLUMNS, n=1)
            hint = f"columns are {', '.join(COLUMNS)}"
            raise ConfigError(f"unknown column {name!r}", hint=f"did you mean {near[0]!r}? {hint}" if near else hint)


def columns_of(graph: Graph, names: Sequence[str], *, kept: bool = False) -> list[ModuleColumn]:
    """Those of `names`, by default those that are usual for such a graph.

    Args:
        kept: each is there whatever the width, and also where it is empty, as one is that was asked for.

    Raises:
        ConfigError: there is no such column.
    """
    check_columns(names)
    timed = graph.profile is not None and graph.profile.seconds is not None
    chosen = names or _usual(graph)
    found = []
    for name in chosen:
        shown = _ALL[name]
        heading = shown.heading or name
        if name == "share":
            shown, heading = (_SHARE_OF_TIME, "share_of_time") if timed else (shown, "share_of_parameters")
        if names or kept:
            shown = replace(shown, column=replace(shown.column, dropped=None, kept=True))
        found.append(replace(shown, heading=heading))
    return found


def _usual(graph: Graph) -> tuple[str, ...]:
    if graph.stored is not None:
        return STORED_COLUMNS
    return USUAL_COLUMNS if graph.profile is None else MEASURED_COLUMNS


def name_column(graph: Graph) -> Column:
    """The first. Beside many figures a name is cut less, and figures are left out sooner."""
    return NAME if graph.profile is None else replace(NAME, fair=22)


def cells(row: Row, columns: Sequence[ModuleColumn]) -> list[Cell]:
    """A row for a terminal, its name first."""
    style = STATE_STYLES.get(row.remarks[0].state, "") if row.remarks else ""
    name = Cell(row.name, lead=row.branches, style=style if row.branches else "bold")
    return [name, *(Cell(each.text(row), style=_style(each, style)) for each in columns)]


def _style(column: ModuleColumn, of_state: str) -> str:
    return (of_state or "dim") if column.column.title == "state" else column.style
